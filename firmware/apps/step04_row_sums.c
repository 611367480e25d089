/* SPDX-License-Identifier: MIT */
/*
 * step04_row_sums: guide, step 4: a sum that grows over the steps of an ARBITRARY dimension.
 */
#include "step.h"

enum { ROWS = 64, COLUMNS = 1024, BM = 16, BN = 128 };

/* [kernel] */
static void body(void) {
  pl_ref x = pl_input(0), sums = pl_output(0), acc = pl_scratch(0);

  if (pl_program_id(1) == 0)
    pl_copy(acc, x);
  else
    pl_add(acc, acc, x);
  if (pl_program_id(1) == pl_num_programs(1) - 1)
    pl_reduce_sum(sums, acc, PL_OVER_COLUMNS);
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}
static void sums_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0]; /* the same block for all of dimension 1 */
  b[1].start = 0;
}

static const pl_kernel kernel = {
    .name = "row sums",
    .body = body,
    .grid = PL_GRID(ROWS / BM, COLUMNS / BN),
    .dimension_semantics = {PL_PARALLEL, PL_ARBITRARY},
    .in = {PL_BLOCK(x_map, BM, BN)},
    .out = {PL_BLOCK(sums_map, BM, 1)},
    .scratch = {PL_VMEM(PL_INT32, BM, BN)},
};
/* [end] */

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)), sums = step_array(PL_INT32, PL_SHAPE(ROWS, 1));
  int32_t *px = pl_hbm_pointer(&x);
  const int32_t *ps = pl_hbm_pointer(&sums);

  for (int32_t i = 0; i < ROWS * COLUMNS; i++)
    px[i] = i % 1009 - 500;
  step_must(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(sums)));
  for (int32_t i = 0; i < ROWS; i++) {
    int32_t want = 0;
    for (int32_t j = 0; j < COLUMNS; j++)
      want += px[i * COLUMNS + j];
    step_equal("row", i, ps[i], want);
  }
  const pl_stats stats = step_stats();
  printf("%d row sums right: %d %d %d ...\n", ROWS, (int)ps[0], (int)ps[1], (int)ps[2]);
  printf("%u steps; copies: x %u, sums %u\n", (unsigned)stats.steps, (unsigned)stats.copies[0],
         (unsigned)stats.copies[1]);
  step_equal("write-backs:", 0, (int32_t)stats.copies[1], ROWS / BM);
  return BOOT_EXIT_OK;
}
