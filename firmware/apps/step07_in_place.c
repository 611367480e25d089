/* SPDX-License-Identifier: MIT */
/*
 * step07_in_place: guide, step 7: outputs that share an input's memory, and outputs that are read, too.
 */
#include "step.h"

enum { BLOCKS = 8, BINS = 3, ROWS = 8, COLUMNS = 128, SIZE = ROWS * COLUMNS };

static void in_order(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

/* [alias] */
static void odd(const pl_grid *g, pl_index *b) {
  b[0].start = 2 * g->id[0] + 1;
  b[1].start = 0;
}

static void doubled(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

/* The output is input 0's memory: blocks that the grid does not visit keep what they hold. */
static const pl_kernel every_second = {
    .name = "every second",
    .body = doubled,
    .grid = PL_GRID(BLOCKS / 2),
    .in = {PL_BLOCK(odd, ROWS, COLUMNS)},
    .out = {PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = odd, .alias = PL_ALIAS(0))},
};
/* [end] */

/* [inout] */
static void by_bin(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]);
  b[1].start = 0;
}

static void add_to_bin(void) {
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

/* bins[bin[i]] += x[i]: the grid leaves a bin and comes back to it. */
static const pl_kernel sort_in = {
    .name = "sort in",
    .body = add_to_bin,
    .grid = PL_GRID(BLOCKS),
    .num_scalar_prefetch = 1,
    .in = {PL_BLOCK(in_order, ROWS, COLUMNS)},
    .out = {PL_INOUT(by_bin, ROWS, COLUMNS)},
};
/* [end] */

int main(void) {
  static const int32_t bin[BLOCKS] = {0, 1, 0, 0, 2, 1, 1, 0};
  pl_array x = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  pl_array bins = step_array(PL_INT32, PL_SHAPE(BINS * ROWS, COLUMNS));
  pl_array table = step_array(PL_INT32, PL_SHAPE(BLOCKS));
  int32_t *px = pl_hbm_pointer(&x), *pb = pl_hbm_pointer(&bins), *pt = pl_hbm_pointer(&table);

  for (int32_t i = 0; i < BLOCKS * SIZE; i++)
    px[i] = i + 1;
  step_must(pl_call(&every_second, PL_ARGS(x), PL_RESULTS(x)));
  for (int32_t i = 0; i < BLOCKS * SIZE; i++)
    step_equal("element of x", i, px[i], (i / SIZE) % 2 == 1 ? 2 * (i + 1) : i + 1);
  pl_stats stats = step_stats();
  printf("alias: %u of %d blocks doubled in place, the rest is as it was\n", (unsigned)stats.copies[1],
         BLOCKS);

  for (int32_t i = 0; i < BLOCKS; i++)
    pt[i] = bin[i];
  for (int32_t i = 0; i < BINS * SIZE; i++)
    pb[i] = 1000000 * (i / SIZE);
  step_must(pl_call(&sort_in, PL_ARGS(table, x), PL_RESULTS(bins)));
  for (int32_t i = 0; i < BINS * SIZE; i++) {
    int32_t want = 1000000 * (i / SIZE);
    for (int32_t k = 0; k < BLOCKS; k++)
      want += bin[k] == i / SIZE ? px[k * SIZE + i % SIZE] : 0;
    step_equal("element of bins", i, pb[i], want);
  }
  stats = step_stats();
  printf("inout: bins 0 1 0 0 2 1 1 0: %u loads, %u write-backs\n", (unsigned)stats.reloads[0],
         (unsigned)stats.copies[1]);
  step_equal("loads:", 0, (int32_t)stats.reloads[0], 6);
  step_equal("write-backs:", 0, (int32_t)stats.copies[1], 6);
  return BOOT_EXIT_OK;
}
