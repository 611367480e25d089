/* SPDX-License-Identifier: MIT */
/*
 * step01_vector_add: guide, step 1: a body, a grid, and blocks that come and go by themselves.
 */
#include "step.h"

enum { ROWS = 64, COLUMNS = 128, BLOCK = 8 };

/* [kernel] */
static void add(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0]; /* block number along the rows */
  b[1].start = 0;        /* block number along the columns */
}

static const pl_kernel kernel = {
    .name = "add",
    .body = add,
    .grid = PL_GRID(ROWS / BLOCK),
    .in = {PL_BLOCK(rows, BLOCK, COLUMNS), PL_BLOCK(rows, BLOCK, COLUMNS)},
    .out = {PL_BLOCK(rows, BLOCK, COLUMNS)},
};
/* [end] */

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  pl_array y = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  pl_array o = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  int32_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y);
  const int32_t *po = pl_hbm_pointer(&o);

  for (int32_t i = 0; i < ROWS * COLUMNS; i++) {
    px[i] = 3 * i;
    py[i] = 1000 - i;
  }
  /* [call] */
  step_must(pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)));
  /* [end] */
  const pl_stats first = step_stats();
  for (int32_t i = 0; i < ROWS * COLUMNS; i++)
    step_equal("element", i, po[i], px[i] + py[i]);
  printf("%d elements right\n", ROWS * COLUMNS);

  step_must(pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)));
  const pl_stats again = step_stats();
  for (int n = 0; n < 3; n++)
    step_equal("copies of operand", n, (int32_t)again.copies[n], ROWS / BLOCK);
  printf("%u steps; copies: x %u, y %u, o %u\n", (unsigned)again.steps, (unsigned)again.copies[0],
         (unsigned)again.copies[1], (unsigned)again.copies[2]);
  printf("first call, which makes the plan: %u cycles\n", (unsigned)first.cycles);
  printf("second call: %u cycles\n", (unsigned)again.cycles);
  return BOOT_EXIT_OK;
}
