/* SPDX-License-Identifier: MIT */
/* Arrays of integers for vector functions, and what is compared of them. */
#ifndef VECTOR_FN_INT_H
#define VECTOR_FN_INT_H

#include "vector_fn_check.h"

static inline void check(const char *what, int i, int32_t got, int32_t want) {
  checks++;
  if (got != want && failures++ < 10)
    printf("FAIL %s at %d: %d, should be %d\n", what, i, (int)got, (int)want);
}
static inline void run(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {.name = name, .body = body, .scratch = {PL_SMEM(PL_INT32, 4)}};
  call(&kernel);
}
static inline int8_t *x8(int i) {
  return (int8_t *)pl_hbm_pointer(&x) + i;
}
static inline int32_t *x32(int i) {
  return (int32_t *)pl_hbm_pointer(&x) + i;
}
static inline int32_t *o32(int i) {
  return (int32_t *)pl_hbm_pointer(&o) + i;
}
/* From int32, or from bytes. */
static inline void arrays(pl_dtype from, pl_dtype to, int32_t rows, int32_t columns) {
  x = pl_hbm_array(1 << 20, from, PL_SHAPE(rows, columns));
  o = pl_hbm_array(2 << 20, to, PL_SHAPE(rows, columns));
  memset(pl_hbm_pointer(&o), 0x55, (size_t)rows * (size_t)columns * 4);
  if (from == PL_INT32)
    for (int i = 0; i < rows * columns; i++)
      *x32(i) = i * 7 % 101 - 50;
  else
    for (int i = 0; i < rows * columns; i++)
      *x8(i) = (int8_t)(i * 7);
}

/* Arithmetic of int32, recorded and in C. */
static inline pl_v mix_of(pl_v v) {
  const pl_v one = pl_vconst_int(1);
  v = pl_vadd(pl_vshl(v, one), pl_vand(v, one));
  return pl_vselect(pl_vlt(v, pl_vconst_int(20)), pl_vneg(v), pl_vxor(v, pl_vconst_int(255)));
}
static inline int32_t mixed(int32_t v) {
  v = v * 2 + (v & 1);
  return v < 20 ? -v : v ^ 255;
}

#endif
