/* SPDX-License-Identifier: MIT */
/*
 * step09_emit_pipeline: guide, step 9: a kernel without a grid that runs two pipelines of its own.
 *
 * o = x - (largest element of each column): one pass over x to find them, one to subtract them. What the
 * first pass finds stays in VMEM for the second.
 */
#include "step.h"
#include "tpu_regs.h"

enum { ROWS = 128, COLUMNS = 256, BLOCK = 16 };

/* [kernel] */
struct outer {
  pl_ref running, top; /* the outer kernel's scratch */
};

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static void find(void) {
  const struct outer *outer = pl_user();

  if (pl_program_id(0) == 0)
    pl_copy(outer->running, pl_input(0));
  else
    pl_max(outer->running, outer->running, pl_input(0));
}

static void subtract(void) {
  const struct outer *outer = pl_user();

  pl_sub(pl_output(0), pl_input(0), outer->top);
}

static void body(void) {
  struct outer outer = {pl_scratch(0), pl_scratch(1)};
  const pl_kernel first = {.name = "find",
                           .body = find,
                           .user = &outer,
                           .grid = PL_GRID(ROWS / BLOCK),
                           .in = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  const pl_kernel second = {.name = "subtract",
                            .body = subtract,
                            .user = &outer,
                            .grid = PL_GRID(ROWS / BLOCK),
                            .in = {PL_BLOCK(rows, BLOCK, COLUMNS)},
                            .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};

  pl_emit_pipeline(&first, PL_REFS(pl_arg(0)), (pl_refs){NULL, 0});
  pl_reduce_max(outer.top, outer.running, PL_OVER_ROWS);
  pl_emit_pipeline(&second, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
}

static const pl_kernel kernel = {
    .name = "less the largest",
    .body = body,
    .scratch = {PL_VMEM(PL_INT32, BLOCK, COLUMNS), PL_VMEM(PL_INT32, 1, COLUMNS)},
};
/* [end] */

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
           o = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  int32_t *px = pl_hbm_pointer(&x);
  const int32_t *po = pl_hbm_pointer(&o);

  for (int32_t i = 0; i < ROWS * COLUMNS; i++)
    px[i] = (i * 7919) % 100003 - 50000;
  /* [call] */
  step_must(pl_kernel_call(&kernel, PL_ARGS(x, o)));
  /* [end] */
  step_must(pl_kernel_call(&kernel, PL_ARGS(x, o))); /* warm */
  for (int32_t j = 0; j < COLUMNS; j++) {
    int32_t top = px[j];
    for (int32_t i = 1; i < ROWS; i++)
      top = px[i * COLUMNS + j] > top ? px[i * COLUMNS + j] : top;
    for (int32_t i = 0; i < ROWS; i++)
      step_equal("element", i * COLUMNS + j, po[i * COLUMNS + j], px[i * COLUMNS + j] - top);
  }
  const pl_stats stats = step_stats();
  uint64_t bytes = 0;
  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA3; q++)
    bytes += stats.queue[q].bytes;
  printf("%d elements right, two pipelines in one call\n", ROWS * COLUMNS);
  printf("moved %u bytes: x twice, o once\n", (unsigned)bytes);
  printf("call: %u cycles\n", (unsigned)stats.cycles);
  step_equal("bytes", 0, (int32_t)bytes, 3 * ROWS * COLUMNS * 4);
  return BOOT_EXIT_OK;
}
