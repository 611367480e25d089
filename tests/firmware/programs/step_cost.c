/* SPDX-License-Identifier: MIT */
/*
 * Instructions of the runtime, counted with minstret, so that nothing of the machine's timing is in
 * them: a grid step, from the body's return to its next entry, with two inputs that change, one output
 * that does not, interior blocks; queueing one dot; a warm call's set-up and tear-down.
 *
 * The kernel is a matmul of whatever HBM holds: what it computes does not matter here.
 */
#include "boot.h"
#include "mmio.h"
#include "pallas.h"

#include <stdio.h>

enum { STEPS = 64, K_STEPS = 16, BLOCK = 32 };

static uint32_t step_cost[STEPS], dot_cost[STEPS], steps;
uint32_t step_cost_entered, step_cost_left;
void step_cost_work(void);

/*
 * The body in assembly, so that the counter is read as its first instruction and just before its end,
 * and nothing of a compiler's prologue is counted.
 */
enum { BEHIND_COUNTER = 3 /* from one reading to the next: csrr, sw and ret are the body's own */ };
__attribute__((naked)) static void body(void) {
  __asm__ volatile("csrr t0, minstret\n"
                   "la t1, step_cost_entered\n"
                   "sw t0, 0(t1)\n"
                   "addi sp, sp, -16\n"
                   "sw ra, 12(sp)\n"
                   "call step_cost_work\n"
                   "lw ra, 12(sp)\n"
                   "addi sp, sp, 16\n"
                   "la t1, step_cost_left\n"
                   "csrr t0, minstret\n"
                   "sw t0, 0(t1)\n"
                   "ret\n");
}

void step_cost_work(void) {
  pl_ref x = pl_input(0), y = pl_input(1), acc = pl_scratch(0);
  const unsigned mode = pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE;

  if (steps < STEPS)
    step_cost[steps] = step_cost_entered - step_cost_left - BEHIND_COUNTER;
  const uint32_t before = cpu_instret();
  pl_dot(acc, x, y, mode);
  const uint32_t after = cpu_instret();
  if (steps < STEPS)
    dot_cost[steps] = after - before - 1;
  steps++;
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), acc);
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[2];
}
static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2];
  b[1].start = g->id[1];
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

/* Median of the steps inside the k loops: there both inputs change and the output does not. */
static uint32_t median(const uint32_t *values) {
  uint32_t sorted[STEPS], n = 0;
  for (uint32_t i = 0; i < STEPS && i < steps; i++) {
    if (i % K_STEPS < 2 || i % K_STEPS == K_STEPS - 1)
      continue;
    uint32_t j = n++;
    for (; j > 0 && sorted[j - 1] > values[i]; j--)
      sorted[j] = sorted[j - 1];
    sorted[j] = values[i];
  }
  return sorted[n / 2];
}

int main(void) {
  pl_array x = pl_hbm_array(0, PL_BF16, PL_SHAPE(2 * BLOCK, K_STEPS * BLOCK));
  pl_array y = pl_hbm_array(1 << 20, PL_BF16, PL_SHAPE(K_STEPS * BLOCK, 2 * BLOCK));
  pl_array o = pl_hbm_array(2 << 20, PL_F32, PL_SHAPE(2 * BLOCK, 2 * BLOCK));
  const pl_kernel kernel = {
      .name = "step cost",
      .body = body,
      .grid = PL_GRID(2, 2, K_STEPS),
      .in = {PL_BLOCK(x_map, BLOCK, BLOCK), PL_BLOCK(y_map, BLOCK, BLOCK)},
      .out = {PL_BLOCK(o_map, BLOCK, BLOCK)},
      .scratch = {PL_ACC(PL_F32, BLOCK, BLOCK)},
  };
  pl_stats stats;

  for (int call = 0; call < 3; call++) {
    steps = 0;
    if (pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)) != PL_OK) {
      printf("%s\n", pl_error_message());
      return BOOT_EXIT_KERNEL;
    }
    pl_get_stats(&stats);
    printf("call %d (%s): %u cycles, set-up %u, tear-down %u, step %u, dot %u instructions\n", call,
           stats.plan_was_cached ? "warm" : "cold", (unsigned)stats.cycles,
           (unsigned)stats.setup_instructions, (unsigned)stats.finish_instructions,
           (unsigned)median(step_cost), (unsigned)median(dot_cost));
  }
  const uint32_t step = median(step_cost) + median(dot_cost);
  const uint32_t setup = stats.setup_instructions + stats.finish_instructions;
  printf("FIGURE step_instructions %u instructions\n", (unsigned)step);
  printf("FIGURE call_setup_instructions %u instructions\n", (unsigned)setup);
  return step <= 250 && setup <= 2600 ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}
