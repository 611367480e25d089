/* SPDX-License-Identifier: MIT */
/*
 * Arithmetic of the transcendental pipe, one element at a time, in integers: docs/contract.md, section 7,
 * says what it promises, hw/eup/README.md how it works. rtl/vpu/tpu_vpu_eup*.sv computes the same step by
 * step.
 *
 * A step is one trip through the pipe: f32 in, f32 out. SIGMOID and TANH are two: sigmoid(x) =
 * RCP(1 + 2^(-x log2 e)), and tanh(x) = 1 - 2 RCP(1 + 2^(2x log2 e)), or for |x| < 1 a table of tanh(x) / x.
 * All steps are monotonic, so what is made of them is.
 *
 * Inline, so that a loop over one operation becomes vector code; also read by tests/rtl/vpu, which is C++.
 */
#ifndef TPU_FUNC_EUP_H
#define TPU_FUNC_EUP_H

#include <stdint.h>

#include "tpu_eup_table.h"

enum tpu_eup_step {
  TPU_EUP_STEP_EXP2,
  TPU_EUP_STEP_LOG2,
  TPU_EUP_STEP_RCP,
  TPU_EUP_STEP_RSQRT,
  TPU_EUP_STEP_SIGMOID1, /* 1 + 2^(-a log2 e) */
  TPU_EUP_STEP_TANH1,    /* |a| < 1: tanh(a); else 1 + 2^(2|a| log2 e) with a's sign */
  TPU_EUP_STEP_TANH2     /* |a| < 1: a; else 1 - 2 / |a| with a's sign */
};

#define TPU_EUP_NAN  UINT32_C(0x7fc00000)
#define TPU_EUP_INF  UINT32_C(0x7f800000)
#define TPU_EUP_ONE  UINT32_C(0x3f800000)
#define TPU_EUP_SIGN UINT32_C(0x80000000)

/* x >> n; n may be anything from 0 on. */
static inline uint32_t tpu_eup_shift(uint32_t x, uint32_t n) {
  return n < 32 ? x >> n : 0;
}

/* Zeros above the leading one of x, as five conditional shifts; *y = x with its leading one in bit 31. */
static inline uint32_t tpu_eup_normalise(uint32_t x, uint32_t *y) {
  uint32_t n = 0;
  for (uint32_t k = 16; k > 0; k /= 2) {
    uint32_t up = x >> (32 - k) == 0;
    x = up ? x << k : x;
    n += up ? k : 0;
  }
  *y = x;
  return n;
}

/* t x 2^-30 x 2^(exponent - 127), rounded to nearest (ties up), as an f32 without a sign. */
static inline uint32_t tpu_eup_round(uint32_t t, int32_t exponent) {
  uint32_t x;
  int32_t e = exponent + 1 - (int32_t)tpu_eup_normalise(t, &x);
  uint32_t significand = (x >> 8) + (x >> 7 & 1); /* up to 2^24 */
  e += (int32_t)(significand >> 24);
  uint32_t bits = (uint32_t)e << 23 | (significand & 0x7fffff);
  bits = e >= 255 ? TPU_EUP_INF : bits;
  return e <= 0 || t == 0 ? 0 : bits;
}

/* The quadratic of row `base` + z[24:18] at z[17:0], 28 bits after the point. */
static inline uint32_t tpu_eup_interpolate(uint32_t base, uint32_t z) {
  const struct tpu_eup_row *row = &tpu_eup_table[base + (z >> 18 & 127)];
  uint32_t d = z & 0x3ffff;
  uint32_t slope = row->c1 + (uint32_t)(row->c2 * (int32_t)(d >> 2) >> 16);
  uint32_t line = (uint32_t)((uint64_t)slope * d >> 18);
  return base == TPU_EUP_EXP2 ? row->c0 + line : row->c0 - line;
}

/* |a|, or |a| log2(e), or 2|a| log2(e), with 25 bits after the point; less than 128. */
static inline uint32_t tpu_eup_fixed(enum tpu_eup_step step, int scale, uint32_t a) {
  uint32_t e = a >> 23 & 255, significand = (a & 0x7fffff) | 0x800000;
  if (!scale)
    return tpu_eup_shift(significand << 8, 133 - e);
  uint32_t x = (uint32_t)((uint64_t)significand * TPU_EUP_LOG2E >> 24);
  uint32_t at = step == TPU_EUP_STEP_TANH1 ? 131 : 132;
  return e > at ? x << 1 : tpu_eup_shift(x, at - e);
}

/* 2^y, or with `plus_one` 1 + 2^y, for y = +-fixed. */
static inline uint32_t tpu_eup_power(uint32_t fixed, int negative, int plus_one) {
  uint32_t z = negative ? 0 - fixed : fixed;
  int32_t e = (int32_t)(z >> 25) + (negative && z != 0 ? -1 : 127);
  uint32_t t = tpu_eup_interpolate(TPU_EUP_EXP2, z) << 2;
  if (!plus_one)
    return tpu_eup_round(t, e);
  if (e >= 127)
    return tpu_eup_round(t + tpu_eup_shift(UINT32_C(1) << 30, (uint32_t)e - 127), e);
  return tpu_eup_round((UINT32_C(1) << 30) + tpu_eup_shift(t, 127 - (uint32_t)e), 127);
}

/* log2 of a positive number, with its sign. With m near 1: e + (m - 1) x (log2(m) / (m - 1)). */
static inline uint32_t tpu_eup_log2(uint32_t a) {
  uint32_t fraction = a & 0x7fffff, high = fraction >> 22, zeros = 0, n;
  int32_t e = (int32_t)(a >> 23) - 127 + (int32_t)high;
  uint32_t distance = high ? 0x800000 - fraction : fraction << 1; /* |m - 1| x 2^24 */
  n = distance;
  if (e == 0) {
    zeros = tpu_eup_normalise(distance << 8, &n);
    n >>= 8;
  }
  uint32_t p = tpu_eup_interpolate(TPU_EUP_LOG2, fraction << 2);
  uint32_t q = (uint32_t)((uint64_t)n * p >> 21); /* 31 bits after the point */
  uint32_t whole = e < 0 ? 0 - (uint32_t)e : (uint32_t)e;
  int add = (e < 0) == (int)high;
  uint32_t sign = (e < 0 || (e == 0 && high)) ? TPU_EUP_SIGN : 0;
  if (e == 0)
    return (sign | tpu_eup_round(q, 126 - (int32_t)zeros)) & (distance == 0 ? 0 : ~UINT32_C(0));
  uint32_t low = whole == 1 ? q >> 2 : q >> 6, t = whole == 1 ? UINT32_C(1) << 29 : whole << 25;
  return sign | tpu_eup_round(add ? t + low : t - low, whole == 1 ? 128 : 132);
}

static inline uint32_t tpu_eup_rcp(uint32_t a) {
  return tpu_eup_round(tpu_eup_interpolate(TPU_EUP_RCP, (a & 0x7fffff) << 2) << 2,
                       254 - (int32_t)(a >> 23 & 255));
}

static inline uint32_t tpu_eup_rsqrt(uint32_t a) {
  uint32_t e = a >> 23;
  uint32_t base = e & 1 ? TPU_EUP_RSQRT1 : TPU_EUP_RSQRT2;
  return tpu_eup_round(tpu_eup_interpolate(base, (a & 0x7fffff) << 2) << 2, (int32_t)(382 - e) >> 1);
}

static inline uint32_t tpu_eup_tanh_small(uint32_t a) {
  uint32_t p = tpu_eup_interpolate(TPU_EUP_TANH, tpu_eup_fixed(TPU_EUP_STEP_TANH1, 0, a));
  uint64_t significand = (a & 0x7fffff) | 0x800000;
  return tpu_eup_round((uint32_t)(significand * p >> 21), (int32_t)(a >> 23 & 255));
}

static inline uint32_t tpu_eup_tanh_large(uint32_t a) {
  uint32_t p = tpu_eup_interpolate(TPU_EUP_RCP, (a & 0x7fffff) << 2);
  return tpu_eup_round((UINT32_C(1) << 30) - tpu_eup_shift(p << 3, (a >> 23 & 255) - 127), 127);
}

/* One trip. */
static inline uint32_t tpu_eup_step(enum tpu_eup_step step, uint32_t a) {
  uint32_t sign = a & TPU_EUP_SIGN, magnitude = a & ~TPU_EUP_SIGN, e = magnitude >> 23;
  int negative = sign != 0;
  if (magnitude > TPU_EUP_INF)
    return TPU_EUP_NAN;
  switch (step) {
  case TPU_EUP_STEP_EXP2:
    if (e >= 134)
      return negative ? 0 : TPU_EUP_INF;
    return tpu_eup_power(tpu_eup_fixed(step, 0, a), negative, 0);
  case TPU_EUP_STEP_LOG2:
    if (e == 0)
      return TPU_EUP_INF | TPU_EUP_SIGN;
    return negative ? TPU_EUP_NAN : e == 255 ? TPU_EUP_INF : tpu_eup_log2(a);
  case TPU_EUP_STEP_RCP:
    return sign | (e == 0 ? TPU_EUP_INF : e == 255 ? 0 : tpu_eup_rcp(a));
  case TPU_EUP_STEP_RSQRT:
    if (e == 0)
      return sign | TPU_EUP_INF;
    return negative ? TPU_EUP_NAN : e == 255 ? 0 : tpu_eup_rsqrt(a);
  case TPU_EUP_STEP_SIGMOID1:
    if (e >= 134 || (e == 133 && (magnitude | 0x800000) % 0x1000000 >= TPU_EUP_SIGMOID_FULL))
      return negative ? TPU_EUP_INF : TPU_EUP_ONE;
    return tpu_eup_power(tpu_eup_fixed(step, 1, a), !negative, 1);
  case TPU_EUP_STEP_TANH1:
    if (e == 0)
      return sign;
    if (e >= 131)
      return sign | TPU_EUP_INF;
    return sign | (e < 127 ? tpu_eup_tanh_small(a) : tpu_eup_power(tpu_eup_fixed(step, 1, a), 0, 1));
  default:
    return e < 127 ? a : sign | (e == 255 ? TPU_EUP_ONE : tpu_eup_tanh_large(a));
  }
}

static inline uint32_t tpu_eup_sigmoid(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_RCP, tpu_eup_step(TPU_EUP_STEP_SIGMOID1, a));
}

static inline uint32_t tpu_eup_tanh(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_TANH2, tpu_eup_step(TPU_EUP_STEP_TANH1, a));
}

#endif
