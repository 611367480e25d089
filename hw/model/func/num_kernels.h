/* SPDX-License-Identifier: MIT */
/*
 * One element of each num_vec loop, as inline functions without branches, so that the compiler's
 * vectoriser takes them. Only valid inside num_env_enter()/num_env_leave(); see num.h. Private to
 * num.c, mxu.c and vpu.c.
 */
#ifndef TPU_FUNC_NUM_KERNELS_H
#define TPU_FUNC_NUM_KERNELS_H

#include "num.h"

static inline float num_float(uint32_t bits) {
  union {
    uint32_t u;
    float f;
  } x = {.u = bits};
  return x.f;
}

static inline uint32_t num_bits(float value) {
  union {
    float f;
    uint32_t u;
  } x = {.f = value};
  return x.u;
}

/* All ones if the condition holds. */
static inline uint32_t num_mask(int condition) {
  return 0u - (uint32_t)(condition != 0);
}

static inline uint32_t num_pick(uint32_t mask, uint32_t yes, uint32_t no) {
  return (yes & mask) | (no & ~mask);
}

static inline uint32_t num_flush_bits(uint32_t a) {
  return (a & NUM_INF_F32) == 0 ? a & UINT32_C(0x80000000) : a;
}

/* An operand as the machine reads it: nothing to do where the host flushes. */
static inline float num_in(uint32_t a) {
#if NUM_HOST_FLUSHES
  return num_float(a);
#else
  return num_float(num_flush_bits(a));
#endif
}

/* A result of an addition, whose tiny results are always exact. */
static inline uint32_t num_out(float r) {
  uint32_t bits = num_bits(r);
#if !NUM_HOST_FLUSHES
  bits = num_flush_bits(bits);
#endif
  return r != r ? NUM_NAN_F32 : bits;
}

/* Steps of a chain of additions: as num_add1 and num_mul1, but a NaN keeps the host's bits until num_out().
 */
static inline float num_chain_flush(float r) {
#if NUM_HOST_FLUSHES
  return r;
#else
  return num_float(num_flush_bits(num_bits(r)));
#endif
}

static inline float num_chain_add(float a, float b) {
  return num_chain_flush(a + b);
}

/* Operands with at most 8 significant bits and no subnormals: the product needs no rounding. */
static inline float num_chain_mul_bf16(float a, float b) {
  return num_chain_flush(a * b);
}

static inline uint32_t num_add1(uint32_t a, uint32_t b) {
  return num_out(num_in(a) + num_in(b));
}

static inline uint32_t num_sub1(uint32_t a, uint32_t b) {
  return num_out(num_in(a) - num_in(b));
}

static inline uint32_t num_mul1(uint32_t a, uint32_t b) {
  float x = num_in(a), y = num_in(b);
  uint32_t r = num_out(x * y);
#if !NUM_HOST_FLUSHES
  /*
   * IEEE rounds a tiny product on the subnormal grid, which is coarser than 24 bits just below
   * the smallest normal number, and can reach that number where our rule gives zero. The
   * double product is exact; what is below the midpoint of the finer grid is tiny.
   */
  double exact = (double)x * (double)y;
  exact = exact < 0 ? -exact : exact;
  int tiny = (r & UINT32_C(0x7fffffff)) == UINT32_C(0x00800000) && exact < 0x1.ffffffp-127;
  r = tiny ? r & UINT32_C(0x80000000) : r;
#endif
  return r;
}

static inline int num_nan1(uint32_t a) {
  return (a & UINT32_C(0x7fffffff)) > NUM_INF_F32;
}

/* Integers in the order of the values, -0 just below +0; NaNs are dealt with by the caller. */
static inline int32_t num_order1(uint32_t a) {
  uint32_t flushed = num_flush_bits(a);
  return (int32_t)(flushed ^ ((uint32_t)((int32_t)flushed >> 31) & UINT32_C(0x7fffffff)));
}

static inline uint32_t num_min1(uint32_t a, uint32_t b) {
  uint32_t r = num_order1(a) <= num_order1(b) ? num_flush_bits(a) : num_flush_bits(b);
  return num_nan1(a) | num_nan1(b) ? NUM_NAN_F32 : r;
}

static inline uint32_t num_max1(uint32_t a, uint32_t b) {
  uint32_t r = num_order1(a) >= num_order1(b) ? num_flush_bits(a) : num_flush_bits(b);
  return num_nan1(a) | num_nan1(b) ? NUM_NAN_F32 : r;
}

static inline uint32_t num_eq1(uint32_t a, uint32_t b) {
  return num_mask(num_in(a) == num_in(b));
}

static inline uint32_t num_lt1(uint32_t a, uint32_t b) {
  return num_mask(num_in(a) < num_in(b));
}

static inline uint32_t num_le1(uint32_t a, uint32_t b) {
  return num_mask(num_in(a) <= num_in(b));
}

/* `x` is integral, or any fraction is to be dropped. */
static inline uint32_t num_integral_to_i32(float x) {
  float inside = x >= -0x1p31f && x < 0x1p31f ? x : 0.0f; /* a NaN is outside */
  uint32_t r = (uint32_t)(int32_t)inside;
  r = x >= 0x1p31f ? UINT32_C(0x7fffffff) : r;
  return x < -0x1p31f ? UINT32_C(0x80000000) : r;
}

static inline uint32_t num_to_i32_rtz1(uint32_t a) {
  return num_integral_to_i32(num_in(a));
}

static inline uint32_t num_to_i32_rne1(uint32_t a) {
  /* Adding 2^23 leaves no room for a fraction, so that the addition rounds it away. */
  float x = num_in(a);
  float big = num_float((a & UINT32_C(0x80000000)) | num_bits(0x1p23f));
  float magnitude = num_float(a & UINT32_C(0x7fffffff));
  float rounded = (x + big) - big;
  return num_integral_to_i32(magnitude < 0x1p23f ? rounded : x);
}

static inline uint32_t num_from_i32_rne1(uint32_t a) {
  return num_bits((float)(int32_t)a);
}

static inline uint32_t num_from_bf16_1(uint16_t a) {
  return (uint32_t)a << 16;
}

static inline uint16_t num_to_bf16_rne1(uint32_t a) {
  uint32_t x = num_flush_bits(a);
  uint32_t r = (x + UINT32_C(0x7fff) + ((x >> 16) & 1)) >> 16;
  return (uint16_t)(num_nan1(a) ? NUM_NAN_BF16 : r);
}

static inline uint16_t num_to_bf16_rtz1(uint32_t a) {
  uint32_t r = num_flush_bits(a) >> 16;
  return (uint16_t)(num_nan1(a) ? NUM_NAN_BF16 : r);
}

static inline int32_t num_clamp1(uint32_t a, int32_t low, int32_t high) {
  int32_t x = (int32_t)a;
  x = x < low ? low : x;
  return x > high ? high : x;
}

#endif
