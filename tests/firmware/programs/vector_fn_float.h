/* SPDX-License-Identifier: MIT */
/* Arrays of f32 for vector functions, and what is compared of them. */
#ifndef VECTOR_FN_FLOAT_H
#define VECTOR_FN_FLOAT_H

#include "vector_fn_check.h"

enum { ROWS = 64, COLUMNS = 128 };

static inline float *x_of(int i) {
  return (float *)pl_hbm_pointer(&x) + i;
}
static inline float *o_of(int i) {
  return (float *)pl_hbm_pointer(&o) + i;
}
static inline void check(const char *what, int i, bool good) {
  checks++;
  if (!good && failures++ < 10)
    printf("FAIL %s at %d\n", what, i);
}
static inline bool near(float a, float b, float relative) {
  const float d = a > b ? a - b : b - a, m = b < 0 ? -b : b;
  return d <= relative * m;
}
static inline void arrays(void) {
  x = pl_hbm_array(1 << 20, PL_F32, PL_SHAPE(ROWS, COLUMNS));
  o = pl_hbm_array(2 << 20, PL_F32, PL_SHAPE(ROWS, COLUMNS));
}
static inline void fill(float from, float step) {
  for (int i = 0; i < ROWS * COLUMNS; i++)
    *x_of(i) = from + step * (float)i;
}

#endif
