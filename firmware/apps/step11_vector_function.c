/* SPDX-License-Identifier: MIT */
/*
 * step11_vector_function: guide, step 11: many operations on a block as one command, written by you.
 */
#include "step.h"

enum { ROWS = 64, COLUMNS = 300, BLOCK = 16, MOST = 6 };

/* [whole] */
/* o = x w + b, not below 0 and not above 6: four commands, each loads and stores the whole block. */
static void whole_refs(void) {
  pl_ref x = pl_input(0), w = pl_input(1), b = pl_input(2), o = pl_output(0);
  pl_ref least = pl_scratch(0), most = pl_scratch(1);

  if (pl_program_id(0) == 0) {
    pl_fill(least, pl_float_bits(0));
    pl_fill(most, pl_float_bits(MOST));
  }
  pl_mul(o, x, w);
  pl_add(o, o, b);
  pl_max(o, o, least);
  pl_min(o, o, most);
}
/* [end] */

/* [fused] */
PL_VECTOR_FN(clamped, 4 /* refs */, 1 /* scalar */) {
  pl_v x = pl_vload(PL_REF(0)), w = pl_vload(PL_REF(1)), b = pl_vload(PL_REF(2));

  pl_vstore(PL_REF(3), pl_vmin(pl_vmax(pl_vfma(x, w, b), pl_vzero()), pl_vscalar(0)));
}

static void fused(void) {
  pl_vrun(clamped, PL_REFS(pl_input(0), pl_input(1), pl_input(2), pl_output(0)), PL_SCALARS(pl_float(MOST)));
}
/* [end] */

/* [rows] */
/* How far each element is behind the largest of its row, and the sum of that over the row. */
PL_VECTOR_FN(behind, 3, 0) {
  pl_v most = pl_vconst(-1e30f), sum = pl_vzero();

  PL_FOR_LANES(&most) {
    most = pl_vmax(most, pl_vload(PL_REF(0)));
  }
  most = pl_vmax_lanes(most);
  PL_FOR_LANES(&sum) {
    pl_v distance = pl_vsub(most, pl_vload(PL_REF(0)));
    sum = pl_vadd(sum, distance);
    pl_vstore(PL_REF(1), distance);
  }
  pl_vstore(PL_REF(2), pl_vsum_lanes(sum));
}

static void rows_body(void) {
  pl_vrun(behind, PL_REFS(pl_input(0), pl_output(0), pl_output(1)), PL_NO_SCALARS);
}
/* [end] */

/* [wrong] */
/* Wrong: the step of the recording would be in the program for good. */
PL_VECTOR_FN(baked_in, 2, 0) {
  pl_v x = pl_vload(PL_REF(0));

  pl_vstore(PL_REF(1), pl_program_id(0) == 0 ? pl_vzero() : x);
}

static void wrong_body(void) {
  pl_vrun(baked_in, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
/* [end] */

static void by_rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* Three inputs, the last two of which never change. */
static const pl_kernel of_four = {
    .name = "four operations",
    .body = whole_refs,
    .grid = PL_GRID(ROWS / BLOCK),
    .in = {PL_BLOCK(by_rows, BLOCK, COLUMNS), PL_WHOLE, PL_WHOLE},
    .out = {PL_BLOCK(by_rows, BLOCK, COLUMNS)},
    .scratch = {PL_VMEM(PL_F32, 1, COLUMNS), PL_VMEM(PL_F32, 1, COLUMNS)},
};
static const pl_kernel of_one = {
    .name = "one vector function",
    .body = fused,
    .grid = PL_GRID(ROWS / BLOCK),
    .in = {PL_BLOCK(by_rows, BLOCK, COLUMNS), PL_WHOLE, PL_WHOLE},
    .out = {PL_BLOCK(by_rows, BLOCK, COLUMNS)},
};
static const pl_kernel row_pass = {
    .name = "row pass",
    .body = rows_body,
    .grid = PL_GRID(ROWS / BLOCK),
    .in = {PL_BLOCK(by_rows, BLOCK, COLUMNS)},
    .out = {PL_BLOCK(by_rows, BLOCK, COLUMNS), PL_BLOCK(by_rows, BLOCK, 1)},
};
static const pl_kernel wrong = {
    .name = "wrong",
    .body = wrong_body,
    .grid = PL_GRID(ROWS / BLOCK),
    .in = {PL_BLOCK(by_rows, BLOCK, COLUMNS)},
    .out = {PL_BLOCK(by_rows, BLOCK, COLUMNS)},
};

/* Twice, because the first call makes the plan and records. */
static void call(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  for (int i = 0; i < 2; i++)
    step_must(pl_call(kernel, args, results));
  printf("%s: %u cycles\n", kernel->name, (unsigned)step_stats().cycles);
}

/* Whole numbers, which f32 has exactly. */
static int32_t x_at(int32_t row, int32_t column) {
  return (row * COLUMNS + column) % 23 - 11 - row % 7 * 3;
}
static int32_t w_at(int32_t column) {
  return column % 3;
}
static int32_t b_at(int32_t column) {
  return column % 5;
}

static void check_clamped(const int32_t *o) {
  for (int32_t i = 0; i < ROWS * COLUMNS; i++) {
    const int32_t y = x_at(i / COLUMNS, i % COLUMNS) * w_at(i % COLUMNS) + b_at(i % COLUMNS);
    step_equal("element", i, o[i], step_f32(y < 0 ? 0 : y > MOST ? MOST : y));
  }
}

static void check_rows(const int32_t *o, const int32_t *sums) {
  for (int32_t r = 0; r < ROWS; r++) {
    int32_t most = x_at(r, 0), sum = 0;
    for (int32_t c = 1; c < COLUMNS; c++)
      most = x_at(r, c) > most ? x_at(r, c) : most;
    for (int32_t c = 0; c < COLUMNS; c++) {
      step_equal("distance", r * COLUMNS + c, o[r * COLUMNS + c], step_f32(most - x_at(r, c)));
      sum += most - x_at(r, c);
    }
    step_equal("sum", r, sums[r], step_f32(sum));
  }
}

int main(void) {
  pl_array x = step_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)), o = step_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
           w = step_array(PL_F32, PL_SHAPE(1, COLUMNS)), b = step_array(PL_F32, PL_SHAPE(1, COLUMNS)),
           sums = step_array(PL_F32, PL_SHAPE(ROWS, 1));
  int32_t *px = pl_hbm_pointer(&x), *pw = pl_hbm_pointer(&w), *pb = pl_hbm_pointer(&b);

  for (int32_t i = 0; i < ROWS * COLUMNS; i++)
    px[i] = step_f32(x_at(i / COLUMNS, i % COLUMNS));
  for (int32_t i = 0; i < COLUMNS; i++) {
    pw[i] = step_f32(w_at(i));
    pb[i] = step_f32(b_at(i));
  }
  call(&of_four, PL_ARGS(x, w, b), PL_RESULTS(o));
  check_clamped(pl_hbm_pointer(&o));
  call(&of_one, PL_ARGS(x, w, b), PL_RESULTS(o));
  check_clamped(pl_hbm_pointer(&o));
  call(&row_pass, PL_ARGS(x), PL_RESULTS(o, sums));
  check_rows(pl_hbm_pointer(&o), pl_hbm_pointer(&sums));
  const pl_status status = pl_call(&wrong, PL_ARGS(x), PL_RESULTS(o));
  printf("\nPL_%s: %s\n", pl_status_name(status), pl_error_message());
  step_equal("status", 0, (int32_t)status, PL_ERROR_ARGUMENT);
  return BOOT_EXIT_OK;
}
