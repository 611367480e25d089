/* SPDX-License-Identifier: MIT */
#include "softmax.h"

#include "rows.h"
#include "tuned.h"

#define LOG2_E 1.44269504088896341f

enum { MINUS_INFINITY = (int)0xff800000u };
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
  pl_v most = pl_vbits_float(pl_vconst_int(MINUS_INFINITY)), sum = pl_vzero(), shift = sum, scale = sum;

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
      before = pl_vmul(pl_vload(POWER), scale);
    if (which & POWERS) {
      sum = pl_vadd(sum, power);
      pl_vstore(POWER, power);
    }
    if (which & QUOTIENTS)
      pl_vstore(ROWS_O, before);
  }
  if (which & GREATEST)
    pl_vstore(SHIFT, pl_vmul(pl_vmax_lanes(most), pl_vconst(-LOG2_E)));
  if (which & POWERS)
    pl_vstore(SUM, pl_vsum_lanes(sum));
}

#define STAGES(name_, which_)                                                                                \
  PL_VECTOR_FN(name_, 6, 0) {                                                                                \
    stages(which_);                                                                                          \
  }
STAGES(softmax_all, GREATEST | POWERS | QUOTIENTS)
STAGES(softmax_begin, GREATEST)
STAGES(softmax_begin_two, GREATEST | POWERS)
STAGES(softmax_middle, POWERS)
STAGES(softmax_end_two, POWERS | QUOTIENTS)
STAGES(softmax_end, QUOTIENTS)

/* ---- rows that do not fit ---- */

#define WIDE_MOST PL_REF(2)         /* of the columns so far */
#define WIDE_SUM  PL_REF(3)         /* of their powers, with that one as the greatest */
enum { LOWEST = (int)0xfe967699u }; /* -1e38: the difference of two such is 0, and not NaN as of infinities */

static pl_v power_of(pl_v x, pl_v most) {
  return pl_vexp2(pl_vfma(x, pl_vconst(LOG2_E), pl_vmul(most, pl_vconst(-LOG2_E))));
}

PL_VECTOR_FN(softmax_wide_sums, 4, 1) {
  pl_v most = pl_vbits_float(pl_vconst_int(LOWEST)), sum = pl_vzero();

  PL_FOR_LANES(&most) most = pl_vmax(most, pl_vload(ROWS_X));
  const pl_v before = pl_vload(WIDE_MOST), now = pl_vmax(before, pl_vmax_lanes(most));
  PL_FOR_LANES(&sum) sum = pl_vadd(sum, power_of(pl_vload(ROWS_X), now));
  pl_vstore(WIDE_SUM, pl_vfma(pl_vload(WIDE_SUM), power_of(before, now), pl_vsum_lanes(sum)));
  pl_vstore(WIDE_MOST, now);
}

PL_VECTOR_FN(softmax_wide_quotients, 4, 1) {
  const pl_v most = pl_vload(WIDE_MOST), scale = pl_vrecip(pl_vload(WIDE_SUM));

  PL_FOR_LANES() pl_vstore(ROWS_O, pl_vmul(power_of(pl_vload(ROWS_X), most), scale));
}

pl_status kernel_softmax(pl_array x, pl_array o) {
  static const struct rows_wide wide = {.passes = 2,
                                        .states = 2,
                                        .operations = 5,
                                        .start = {(uint32_t)LOWEST, 0},
                                        .pad = (uint32_t)MINUS_INFINITY,
                                        .pass = {softmax_wide_sums, softmax_wide_quotients}};
  static const struct rows_kernel kernel = {
      .name = "softmax",
      .tuned = TUNED_SOFTMAX,
      .stages = 3,
      .accumulators = 2,
      .step = {{softmax_begin, softmax_begin_two, softmax_all},
               {NULL, softmax_middle, softmax_end_two},
               {NULL, NULL, softmax_end}},
      .wide = &wide,
      .least_rows = 8,
      .operations = 4,
  };
  return rows_call(&kernel, &x, NULL, NULL, &o);
}
