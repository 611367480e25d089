/* SPDX-License-Identifier: MIT */
#include "norm.h"

#include "rows.h"
#include "tuned.h"

enum { PER_COLUMN, EPSILON, INSIDE }; /* scalars; the last one with wide rows */
#define SCALE ROWS_PARAMETER(0)
#define SHIFT ROWS_PARAMETER(1)

/* 1 / sqrt(mean of the squares + epsilon), from their sum. */
static pl_v inverse_root(pl_v squares) {
  return pl_vrsqrt(pl_vfma(squares, pl_vscalar(PER_COLUMN), pl_vscalar(EPSILON)));
}

/* ---- layer norm ---- */

#define DISTANCES PL_REF(4)

PL_VECTOR_FN(layer_norm_rows, 5, 2) {
  pl_v sum = pl_vzero(), squares = pl_vzero();

  PL_FOR_LANES(&sum) sum = pl_vadd(sum, pl_vload(ROWS_X));
  const pl_v mean = pl_vmul(pl_vsum_lanes(sum), pl_vscalar(PER_COLUMN));
  PL_FOR_LANES(&squares) {
    const pl_v distance = pl_vsub(pl_vload(ROWS_X), mean);
    squares = pl_vfma(distance, distance, squares);
    pl_vstore(DISTANCES, distance);
  }
  const pl_v inverse = inverse_root(pl_vsum_lanes(squares));
  PL_FOR_LANES()
  pl_vstore(ROWS_O, pl_vfma(pl_vmul(pl_vload(DISTANCES), inverse), pl_vload(SCALE), pl_vload(SHIFT)));
}

/* What blocks of columns add to a sum, a column. */
static void add_sum(pl_vref state, pl_v lanes) {
  pl_vstore(state, pl_vadd(pl_vload(state), pl_vsum_lanes(lanes)));
}

#define WIDE_SUM     PL_REF(4)
#define WIDE_SQUARES PL_REF(5)

PL_VECTOR_FN(layer_norm_wide_sum, 6, 3) {
  pl_v sum = pl_vzero();

  PL_FOR_LANES(&sum) sum = pl_vadd(sum, pl_vload(ROWS_X));
  add_sum(WIDE_SUM, sum);
}

PL_VECTOR_FN(layer_norm_wide_squares, 6, 3) {
  const pl_v mean = pl_vmul(pl_vload(WIDE_SUM), pl_vscalar(PER_COLUMN));
  pl_v squares = pl_vzero();

  PL_FOR_LANES(&squares) {
    const pl_v inside = pl_vlt(pl_viota_columns(), pl_vscalar(INSIDE)),
               distance = pl_vselect(inside, pl_vsub(pl_vload(ROWS_X), mean), pl_vzero());
    squares = pl_vfma(distance, distance, squares);
  }
  add_sum(WIDE_SQUARES, squares);
}

PL_VECTOR_FN(layer_norm_wide_result, 6, 3) {
  const pl_v mean = pl_vmul(pl_vload(WIDE_SUM), pl_vscalar(PER_COLUMN)),
             inverse = inverse_root(pl_vload(WIDE_SQUARES));

  PL_FOR_LANES() {
    const pl_v distance = pl_vsub(pl_vload(ROWS_X), mean);
    pl_vstore(ROWS_O, pl_vfma(pl_vmul(distance, inverse), pl_vload(SCALE), pl_vload(SHIFT)));
  }
}

/* ---- RMS norm ---- */

PL_VECTOR_FN(rms_norm_rows, 3, 2) {
  pl_v squares = pl_vzero();

  PL_FOR_LANES(&squares) {
    const pl_v x = pl_vload(ROWS_X);
    squares = pl_vfma(x, x, squares);
  }
  const pl_v inverse = inverse_root(pl_vsum_lanes(squares));
  PL_FOR_LANES() pl_vstore(ROWS_O, pl_vmul(pl_vmul(pl_vload(ROWS_X), inverse), pl_vload(SCALE)));
}

#define RMS_WIDE_SQUARES PL_REF(3)

PL_VECTOR_FN(rms_norm_wide_squares, 4, 3) {
  pl_v squares = pl_vzero();

  PL_FOR_LANES(&squares) {
    const pl_v x = pl_vload(ROWS_X);
    squares = pl_vfma(x, x, squares);
  }
  add_sum(RMS_WIDE_SQUARES, squares);
}

PL_VECTOR_FN(rms_norm_wide_result, 4, 3) {
  const pl_v inverse = inverse_root(pl_vload(RMS_WIDE_SQUARES));

  PL_FOR_LANES() pl_vstore(ROWS_O, pl_vmul(pl_vmul(pl_vload(ROWS_X), inverse), pl_vload(SCALE)));
}

/* 1 / n as f32, rounded to nearest. */
static pl_scalar inverse(uint32_t n) {
  uint32_t exponent = 0;

  while (n >> exponent > 1)
    exponent++;
  const uint32_t mantissa = (uint32_t)(((1ull << (25 + exponent)) / n + 1) >> 1); /* 2^23 to 2^24 */
  return (pl_scalar){.value = ((126 - exponent) << 23) + (mantissa - (1u << 23))};
}

static pl_status call(const struct rows_kernel *kernel, const pl_array *x, const pl_array *const *parameter,
                      const pl_array *o, float epsilon) {
  const bool empty = x->rank == 0 || x->shape[x->rank - 1] <= 0; /* which rows_call() finds */
  const pl_scalar scalars[] = {inverse(empty ? 1 : (uint32_t)x->shape[x->rank - 1]), pl_float(epsilon)};
  return rows_call(kernel, x, parameter, scalars, o);
}

pl_status kernel_layer_norm(pl_array x, pl_array scale, pl_array shift, pl_array o, float epsilon) {
  static const struct rows_wide wide = {
      .passes = 3,
      .states = 2,
      .operations = 8,
      .pass = {layer_norm_wide_sum, layer_norm_wide_squares, layer_norm_wide_result}};
  static const struct rows_kernel kernel = {
      .name = "layer_norm",
      .tuned = TUNED_LAYER_NORM,
      .stages = 1,
      .accumulators = 1,
      .step = {{layer_norm_rows}},
      .wide = &wide,
      .least_rows = 16,
      .operations = 5,
      .parameters = 2,
      .parameter_name = {"scale", "shift"},
      .scalars = 2,
  };
  return call(&kernel, &x, (const pl_array *const[]){&scale, &shift}, &o, epsilon);
}

pl_status kernel_rms_norm(pl_array x, pl_array scale, pl_array o, float epsilon) {
  static const struct rows_wide wide = {
      .passes = 2, .states = 1, .operations = 3, .pass = {rms_norm_wide_squares, rms_norm_wide_result}};
  static const struct rows_kernel kernel = {
      .name = "rms_norm",
      .tuned = TUNED_RMS_NORM,
      .stages = 1,
      .step = {{rms_norm_rows}},
      .wide = &wide,
      .least_rows = 16,
      .operations = 3,
      .parameters = 1,
      .parameter_name = {"scale"},
      .scalars = 2,
  };
  return call(&kernel, &x, (const pl_array *const[]){&scale}, &o, epsilon);
}
