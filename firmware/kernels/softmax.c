/* SPDX-License-Identifier: MIT */
#include "softmax.h"

#include "rows.h"
#include "tuned.h"

#define LOG2_E 1.44269504088896341f

enum { GREATEST = 1, POWERS = 2, QUOTIENTS = 4 };
/* Blocks of the ring by stage; columns between the stages. */
#define RING(stage) PL_REF(2 + (stage))
#define SHIFT       PL_REF(5) /* -max log2(e) */
#define SCALE       PL_REF(6) /* 1 / sum */

/* The order of instructions is the one of the source: between the power and its sum is other work. */
static void stages(unsigned which) {
  pl_v most = pl_vbits_float(pl_vconst_int(0xff800000u)), sum = pl_vzero();
  const pl_v shift = which & POWERS ? pl_vload(SHIFT) : sum,
             scale = which & QUOTIENTS ? pl_vload(SCALE) : sum;

  PL_FOR_LANES(&most, &sum) {
    pl_v power = sum;
    if (which & POWERS)
      power = pl_vexp2(pl_vfma(pl_vload(RING(1)), pl_vconst(LOG2_E), shift));
    if (which & GREATEST) {
      const pl_v x = pl_vload(ROWS_X);
      most = pl_vmax(most, x);
      pl_vstore(RING(0), x);
    }
    if (which & QUOTIENTS)
      pl_vstore(ROWS_O, pl_vmul(pl_vload(RING(2)), scale));
    if (which & POWERS) {
      sum = pl_vadd(sum, power);
      pl_vstore(RING(1), power);
    }
  }
  if (which & GREATEST)
    pl_vstore(SHIFT, pl_vmul(pl_vmax_lanes(most), pl_vconst(-LOG2_E)));
  if (which & POWERS)
    pl_vstore(SCALE, pl_vrecip(pl_vsum_lanes(sum)));
}

#define STEP(name_, which_)                                                                                  \
  PL_VECTOR_FN(name_, 7, 0) {                                                                                \
    stages(which_);                                                                                          \
  }
STEP(softmax_1, 1)
STEP(softmax_2, 2)
STEP(softmax_12, 3)
STEP(softmax_3, 4)
STEP(softmax_23, 6)
STEP(softmax_123, 7)

pl_status kernel_softmax(pl_array x, pl_array o) {
  static const struct rows_kernel kernel = {
      .name = "softmax",
      .tuned = TUNED_SOFTMAX,
      .stages = 3,
      .accumulators = 3,
      .step = {NULL, softmax_1, softmax_2, softmax_12, softmax_3, NULL, softmax_23, softmax_123},
      .least_rows = 8,
      .operations = 4,
  };
  return rows_call(&kernel, &x, NULL, NULL, &o);
}
