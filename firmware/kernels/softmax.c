/* SPDX-License-Identifier: MIT */
#include "softmax.h"

#include "rows.h"
#include "tuned.h"

#define LOG2_E 1.44269504088896341f

enum { GREATEST = 1, POWERS = 2, QUOTIENTS = 4 }; /* stages */
#define VALUES PL_REF(2)                          /* x as f32, from the first stage to the second */
#define POWER  PL_REF(3)                          /* from the second to the third */
#define SHIFT  PL_REF(4)                          /* -max log2(e) */
#define SUM    PL_REF(5)

/*
 * In the order of the source: what a stage leaves is read before the stage ahead of it overwrites it with its
 * next block, and a power has the time of another operation before it is added.
 */
static void stages(unsigned which) {
  pl_v most = pl_vbits_float(pl_vconst_int(0xff800000u)), sum = pl_vzero(), shift = sum, scale = sum;

  if (which & POWERS)
    shift = pl_vload(SHIFT);
  if (which & QUOTIENTS)
    scale = pl_vrecip(pl_vload(SUM));
  PL_FOR_LANES(&most, &sum) {
    pl_v power = sum, before = sum;
    if (which & POWERS)
      power = pl_vexp2(pl_vfma(pl_vload(VALUES), pl_vconst(LOG2_E), shift));
    if (which & GREATEST) {
      const pl_v x = pl_vload(ROWS_X);
      most = pl_vmax(most, x);
      pl_vstore(VALUES, x);
    }
    if (which & QUOTIENTS)
      before = pl_vload(POWER);
    if (which & POWERS) {
      sum = pl_vadd(sum, power);
      pl_vstore(POWER, power);
    }
    if (which & QUOTIENTS)
      pl_vstore(ROWS_O, pl_vmul(before, scale));
  }
  if (which & GREATEST)
    pl_vstore(SHIFT, pl_vmul(pl_vmax_lanes(most), pl_vconst(-LOG2_E)));
  if (which & POWERS)
    pl_vstore(SUM, pl_vsum_lanes(sum));
}

PL_VECTOR_FN(softmax_step, 6, 0) {
  stages(GREATEST | POWERS | QUOTIENTS);
}

PL_VECTOR_FN(softmax_last, 6, 0) {
  stages(QUOTIENTS);
}

pl_status kernel_softmax(pl_array x, pl_array o) {
  static const struct rows_kernel kernel = {
      .name = "softmax",
      .tuned = TUNED_SOFTMAX,
      .stages = 3,
      .accumulators = 2,
      .step = softmax_step,
      .last = softmax_last,
      .least_rows = 8,
      .operations = 4,
  };
  return rows_call(&kernel, &x, NULL, NULL, &o);
}
