/* SPDX-License-Identifier: MIT */
/*
 * step06_prefetch: guide, step 6: a map that reads a table decides at run time which blocks are fetched.
 */
#include "step.h"

enum { BLOCKS = 16, ROWS = 8, COLUMNS = 128, MOST = 32 };

/* [kernel] */
static void body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void from_table(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]);
  b[1].start = 0;
}
static void in_order(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static pl_status gather(pl_array table, pl_array x, pl_array o, int32_t n) {
  const pl_kernel kernel = {
      .name = "gather",
      .body = body,
      .grid = PL_GRID(PL_DYN(n)),
      .num_scalar_prefetch = 1,
      .in = {PL_BLOCK(from_table, ROWS, COLUMNS)},
      .out = {PL_BLOCK(in_order, ROWS, COLUMNS)},
  };
  return pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}
/* [end] */

/* [list] */
/* Not blocks but single rows: the map gives a list of their numbers, here eight entries of the table. */
static void rows_of_list(const pl_grid *g, pl_index *b) {
  b[0].list = pl_at(pl_prefetch(0), PL_DS(g->id[0] * ROWS, ROWS));
  b[1].start = 0;
}

static pl_status gather_rows(pl_array table, pl_array x, pl_array o) {
  const pl_kernel kernel = {
      .name = "gather rows",
      .body = body,
      .grid = PL_GRID(MOST / ROWS),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = rows_of_list, .kind = {PL_INDIRECT})},
      .out = {PL_BLOCK(in_order, ROWS, COLUMNS)},
  };
  return pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}
/* [end] */

static void run(pl_array table, pl_array x, pl_array o, const int32_t *blocks, int32_t n) {
  int32_t *pt = pl_hbm_pointer(&table), runs = 0;
  const int32_t *px = pl_hbm_pointer(&x), *po = pl_hbm_pointer(&o), size = ROWS * COLUMNS;

  printf("blocks");
  for (int32_t i = 0; i < n; i++) {
    pt[i] = blocks[i];
    runs += i == 0 || blocks[i] != blocks[i - 1];
    printf(" %d", (int)blocks[i]);
  }
  step_must(gather(table, x, o, n));
  const pl_stats stats = step_stats();
  printf("%s: %u steps, %u fetches, plan %s\n", n == 0 ? " none" : "", (unsigned)stats.steps,
         (unsigned)stats.copies[0], stats.plan_was_cached ? "from the call before" : "made");
  for (int32_t i = 0; i < n * size; i++)
    step_equal("element", i, po[i], px[blocks[i / size] * size + i % size]);
  step_equal("fetches of call with steps:", n, (int32_t)stats.copies[0], runs);
}

static void run_rows(pl_array table, pl_array x, pl_array o) {
  int32_t *pt = pl_hbm_pointer(&table);
  const int32_t *px = pl_hbm_pointer(&x), *po = pl_hbm_pointer(&o);

  printf("rows");
  for (int32_t i = 0; i < MOST; i++) {
    pt[i] = i * i * 5 % (BLOCKS * ROWS);
    printf(" %d", (int)pt[i]);
  }
  step_must(gather_rows(table, x, o));
  printf(": %u fetches\n", (unsigned)step_stats().copies[0]);
  for (int32_t i = 0; i < MOST * COLUMNS; i++)
    step_equal("element", i, po[i], px[pt[i / COLUMNS] * COLUMNS + i % COLUMNS]);
}

int main(void) {
  pl_array table = step_array(PL_INT32, PL_SHAPE(MOST));
  pl_array x = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  pl_array o = step_array(PL_INT32, PL_SHAPE(MOST * ROWS, COLUMNS));
  int32_t *px = pl_hbm_pointer(&x);

  for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
    px[i] = i;
  run(table, x, o, (const int32_t[]){3, 15, 0, 7, 1}, 5);
  run(table, x, o, (const int32_t[]){3, 3, 3, 7, 0, 0, 12, 5, 5, 3}, 10);
  run(table, x, o, NULL, 0);
  run_rows(table, x, o);
  return BOOT_EXIT_OK;
}
