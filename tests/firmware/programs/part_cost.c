/* SPDX-License-Identifier: MIT */
/*
 * Instructions that parts of refs cost the scalar core, and products and copies that are queued with fresh
 * parts, beside those of whole refs.
 */
#include "cost.h"

enum { STEPS = 12, ROWS = 32, COLUMNS = 64, DEPTH = 32 };

static struct cost at = {"part", 150, 0}, at_rows = {"part.rows", 150, 0}, dot = {"dot", 70, 0},
                   dot_parts = {"dot.parts", 450, 0}, copy = {"copy", 380, 0},
                   copy_acc = {"copy.acc", 340, 0}, copy_parts = {"copy.parts", 2100, 0};

static void body(void) {
  const pl_ref x = pl_input(0), a = pl_input(1), b = pl_input(2), o = pl_output(0), acc = pl_scratch(0);
  pl_ref xs, os;
  /* Of run-time values, as parts in bodies mostly are. */
  const int32_t rows = ROWS / 2 + 8 * (pl_program_id(0) & 1);

  COST(at, xs = pl_at(x, PL_DS(8, rows), PL_DS(16, 32)));
  COST(at_rows, os = pl_at(o, PL_DS(8, rows)));
  os = pl_at(os, PL_ALL, PL_DS(0, 32));
  pl_copy(o, x);
  COST(copy, pl_copy(o, x));
  COST(copy_parts, pl_copy(os, xs));
  pl_dot(acc, a, b, PL_OVERWRITE);
  COST(dot, pl_dot(acc, a, b, PL_ACCUMULATE));
  pl_copy(o, acc);
  COST(copy_acc, pl_copy(o, acc));
  const pl_ref acc_rows = pl_at(acc, PL_DS(0, rows)), a_rows = pl_at(a, PL_DS(0, rows));
  COST(dot_parts, pl_dot(acc_rows, a_rows, b, PL_ACCUMULATE));
}

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

int main(void) {
  const pl_array x = pl_hbm_array(1 << 20, PL_F32, PL_SHAPE(STEPS * ROWS, COLUMNS)),
                 a = pl_hbm_array(2 << 20, PL_BF16, PL_SHAPE(STEPS * ROWS, DEPTH)),
                 b = pl_hbm_array(3 << 20, PL_BF16, PL_SHAPE(DEPTH, COLUMNS)),
                 o = pl_hbm_array(4 << 20, PL_F32, PL_SHAPE(STEPS * ROWS, COLUMNS));
  const pl_kernel kernel = {.name = "part cost",
                            .body = body,
                            .grid = PL_GRID(STEPS),
                            .in = {PL_BLOCK(row_map, ROWS, COLUMNS), PL_BLOCK(row_map, ROWS, DEPTH)},
                            .out = {PL_BLOCK(row_map, ROWS, COLUMNS)},
                            .scratch = {PL_ACC(PL_F32, ROWS, COLUMNS)}};

  for (int call = 0; call < 2; call++)
    if (pl_call(&kernel, PL_ARGS(x, a, b), PL_RESULTS(o)) != PL_OK) {
      printf("part_cost: %s\n", pl_error_message());
      return BOOT_EXIT_KERNEL;
    }
  const struct cost costs[] = {at, at_rows, dot, dot_parts, copy, copy_acc, copy_parts};
  return cost_report(costs, sizeof costs / sizeof costs[0]);
}
