/* SPDX-License-Identifier: MIT */
/*
 * step02_copies: guide, step 2: index maps decide what is copied, and when.
 *
 * o[i][j] = x[i] + y[j] in 4 x 4 blocks: x has a block for each block row, y one for each block column.
 */
#include "step.h"

enum { BLOCKS = 4, ROWS = 8, COLUMNS = 128 };

/* [maps] */
static void body(void) {
  pl_ref o = pl_output(0);
  pl_broadcast(o, pl_input(0)); /* (8, 1) to (8, 128) */
  pl_add(o, o, pl_input(1));    /* + (1, 128) */
}

/* Grid (i, j), the last dimension runs fastest: j = 0, 1, 2, 3 for i = 0, then for i = 1, ... */
static void by_i(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}
static void by_j(const pl_grid *g, pl_index *b) {
  b[0].start = 0;
  b[1].start = g->id[1];
}
static void by_i_and_j(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static const pl_kernel rows_first = {
    .name = "rows first",
    .body = body,
    .grid = PL_GRID(BLOCKS, BLOCKS),
    .in = {PL_BLOCK(by_i, ROWS, 1), PL_BLOCK(by_j, 1, COLUMNS)},
    .out = {PL_BLOCK(by_i_and_j, ROWS, COLUMNS)},
};
/* [end] */

/* [others] */
/* Grid (j, i): the same blocks, column by column. */
static void by_slow(const pl_grid *g, pl_index *b) {
  b[0].start = 0;
  b[1].start = g->id[0];
}
static void by_fast(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
  b[1].start = 0;
}
static void by_fast_and_slow(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
  b[1].start = g->id[0];
}

static const pl_kernel columns_first = {
    .name = "columns first",
    .body = body,
    .grid = PL_GRID(BLOCKS, BLOCKS),
    .in = {PL_BLOCK(by_fast, ROWS, 1), PL_BLOCK(by_slow, 1, COLUMNS)},
    .out = {PL_BLOCK(by_fast_and_slow, ROWS, COLUMNS)},
};

/* x whole: fetched once, before step 0; the body takes the part that it needs. */
static void body_whole(void) {
  pl_ref o = pl_output(0);
  pl_broadcast(o, pl_at(pl_input(0), PL_DS(pl_program_id(0) * ROWS, ROWS)));
  pl_add(o, o, pl_input(1));
}

static const pl_kernel whole = {
    .name = "x whole",
    .body = body_whole,
    .grid = PL_GRID(BLOCKS, BLOCKS),
    .in = {PL_WHOLE, PL_BLOCK(by_j, 1, COLUMNS)},
    .out = {PL_BLOCK(by_i_and_j, ROWS, COLUMNS)},
};
/* [end] */

static void run(const pl_kernel *kernel, pl_array x, pl_array y, pl_array o, const uint32_t copies[3]) {
  const int32_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y), n = BLOCKS * COLUMNS;
  int32_t *po = pl_hbm_pointer(&o);

  for (int32_t i = 0; i < BLOCKS * ROWS * n; i++)
    po[i] = -1;
  step_must(pl_call(kernel, PL_ARGS(x, y), PL_RESULTS(o)));
  for (int32_t i = 0; i < BLOCKS * ROWS * n; i++)
    step_equal("element", i, po[i], px[i / n] + py[i % n]);

  const pl_stats stats = step_stats();
  printf("%-14s copies: x %2u, y %2u, o %2u\n", kernel->name, (unsigned)stats.copies[0],
         (unsigned)stats.copies[1], (unsigned)stats.copies[2]);
  for (int i = 0; i < 3; i++)
    step_equal("copies of operand", i, (int32_t)stats.copies[i], (int32_t)copies[i]);
}

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, 1));
  pl_array y = step_array(PL_INT32, PL_SHAPE(1, BLOCKS * COLUMNS));
  pl_array o = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, BLOCKS * COLUMNS));
  int32_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y);

  for (int32_t i = 0; i < BLOCKS * ROWS; i++)
    px[i] = 1000 * i;
  for (int32_t j = 0; j < BLOCKS * COLUMNS; j++)
    py[j] = j;
  run(&rows_first, x, y, o, (const uint32_t[]){4, 16, 16});
  run(&columns_first, x, y, o, (const uint32_t[]){16, 4, 16});
  run(&whole, x, y, o, (const uint32_t[]){1, 16, 16});
  return BOOT_EXIT_OK;
}
