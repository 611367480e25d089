/* SPDX-License-Identifier: MIT */
/*
 * Instructions of the runtime: a grid step (from the body's return to the next body's entry, two inputs
 * that change, one output, interior blocks) plus queueing one dot; and a warm call's set-up and
 * tear-down. Counted with minstret, so that nothing of the machine's timing is in it.
 *
 * The kernel is a matmul that needs no data: what it computes does not matter here.
 */
#include "boot.h"
#include "mmio.h"
#include "pallas.h"

#include <stdio.h>

enum { STEPS = 64, BLOCK = 16 };

static uint32_t left_at, step_cost[STEPS], dot_cost[STEPS], steps;

static void body(void)
{
  const uint32_t entered = cpu_instret();
  pl_ref x = pl_input(0), y = pl_input(1), acc = pl_scratch(0);
  const unsigned mode = pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE;

  const uint32_t before = cpu_instret();
  pl_dot(acc, x, y, mode);
  const uint32_t after = cpu_instret();
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), acc);
  if (steps < STEPS) {
    step_cost[steps] = entered - left_at;
    dot_cost[steps] = after - before;
  }
  steps++;
  left_at = cpu_instret();
}

static void x_map(const pl_grid *g, pl_index *b)
{
  b[0].start = g->id[0];
  b[1].start = g->id[2];
}
static void y_map(const pl_grid *g, pl_index *b)
{
  b[0].start = g->id[2];
  b[1].start = g->id[1];
}
static void o_map(const pl_grid *g, pl_index *b)
{
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static int compare(const uint32_t *values, uint32_t n, uint32_t *median, uint32_t *most)
{
  uint32_t sorted[STEPS];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t j = i;
    for (; j > 0 && sorted[j - 1] > values[i]; j--)
      sorted[j] = sorted[j - 1];
    sorted[j] = values[i];
  }
  *median = sorted[n / 2];
  *most = sorted[n - 1];
  return 0;
}

int main(void)
{
  pl_array x = pl_hbm_array(0, PL_BF16, PL_SHAPE(64, 256));
  pl_array y = pl_hbm_array(1 << 20, PL_BF16, PL_SHAPE(256, 64));
  pl_array o = pl_hbm_array(2 << 20, PL_F32, PL_SHAPE(64, 64));
  const pl_kernel kernel = {
    .name = "step cost",
    .body = body,
    .grid = PL_GRID(2, 2, 16),
    .in = {PL_BLOCK(x_map, 32, BLOCK), PL_BLOCK(y_map, BLOCK, 32)},
    .out = {PL_BLOCK(o_map, 32, 32)},
    .scratch = {PL_ACC(PL_F32, 32, 32)},
  };
  pl_stats stats;
  uint32_t step, dot, most_step, most_dot;

  for (int call = 0; call < 3; call++) {
    steps = 0;
    if (pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)) != PL_OK) {
      printf("%s\n", pl_error_message());
      return BOOT_EXIT_KERNEL;
    }
    pl_get_stats(&stats);
    /* Steps 2..14 of the k loop: both inputs change, the output does not. */
    compare(step_cost + 3, 11, &step, &most_step);
    compare(dot_cost + 3, 11, &dot, &most_dot);
    printf("call %d (%s): %u cycles, %u instructions, set-up %u, tear-down %u, step %u (most %u), dot %u (most %u)\n",
           call, stats.plan_was_cached ? "warm" : "cold", (unsigned)stats.cycles, (unsigned)stats.instructions,
           (unsigned)stats.setup_instructions, (unsigned)stats.finish_instructions, (unsigned)step, (unsigned)most_step,
           (unsigned)dot, (unsigned)most_dot);
  }
  printf("FIGURE step_instructions %u instructions\n", (unsigned)(step + dot));
  printf("FIGURE call_setup_instructions %u instructions\n",
         (unsigned)(stats.setup_instructions + stats.finish_instructions));
  for (unsigned i = 1; i < steps && i < 34; i++)
    printf("%u:%u+%u ", i, (unsigned)step_cost[i], (unsigned)dot_cost[i]);
  printf("\n");
  return step + dot <= 250 && stats.setup_instructions + stats.finish_instructions <= 2600 ? BOOT_EXIT_OK
                                                                                            : BOOT_EXIT_FAILURE;
}
