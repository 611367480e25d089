/* SPDX-License-Identifier: MIT */
/*
 * The reference of attention kernels, in whole numbers: q, k and v are small ones and the scale is ln 2, so
 * that weights are powers of two, relative to the greatest of the row.
 */
#ifndef TESTS_KERNELS_ATTENTION_CHECK_H
#define TESTS_KERNELS_ATTENTION_CHECK_H

#include "check.h"

#include <stdio.h>

enum { MAX_KEYS = 300, WEIGHT_BITS = 22, OUT_BITS = 16 };
#define LN2 0.693147180559945309f

/* Small whole numbers, as bytes for the reference and as bf16 for the kernel. */
struct operand {
  pl_array bytes, bf16;
};

static inline struct operand operand(int32_t heads, int32_t rows, int32_t columns, int32_t most) {
  const struct operand x = {check_array(PL_INT8, PL_SHAPE(heads, rows, columns), -most, most),
                            check_array(PL_BF16, PL_SHAPE(heads, rows, columns), 0, 0)};
  const int8_t *at = pl_hbm_pointer(&x.bytes);
  for (int32_t i = 0; i < heads * rows * columns; i++)
    if (at[i] != 0)
      check_put(&x.bf16, i, at[i]);
  return x;
}

/* A float in units of 2^-OUT_BITS, cut off; far outside becomes a number that is wrong for sure. */
static inline int32_t fixed(uint32_t bits) {
  const int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 127 - 23 + OUT_BITS;
  const int32_t magnitude = (int32_t)(bits & 0x7fffff) | 0x800000;
  const int32_t value = exponent > 7     ? INT32_MAX
                        : exponent >= 0  ? magnitude << exponent
                        : exponent > -31 ? magnitude >> -exponent
                                         : 0;
  return bits >> 31 ? -value : value;
}

static inline int32_t got(const pl_array *o, int32_t i) {
  const void *const at = pl_hbm_pointer(o);
  return fixed(o->dtype == PL_F32 ? ((const uint32_t *)at)[i] : (uint32_t)((const uint16_t *)at)[i] << 16);
}

/* mean / sum in units of 2^-OUT_BITS, cut off; bit by bit, because RAM has no room for a division of 64 bits.
 */
static inline int32_t ratio(int64_t mean, uint32_t sum) {
  uint64_t left = (uint64_t)(mean < 0 ? -mean : mean) << OUT_BITS;
  int32_t value = 0;

  for (int bit = 24; bit >= 0; bit--)
    if (left >= (uint64_t)sum << bit) {
      left -= (uint64_t)sum << bit;
      value |= 1 << bit;
    }
  return mean < 0 ? -value : value;
}

/* Weights of row r of a head, the greatest one 2^WEIGHT_BITS; their sum. */
static inline uint32_t weights_of(const int8_t *q, const int8_t *k, int32_t keys, int32_t columns,
                                  uint32_t *weight) {
  int32_t score[MAX_KEYS], most = INT32_MIN;
  uint32_t sum = 0;

  for (int32_t c = 0; c < keys; c++) {
    score[c] = 0;
    for (int32_t i = 0; i < columns; i++)
      score[c] += q[i] * k[c * columns + i];
    most = score[c] > most ? score[c] : most;
  }
  for (int32_t c = 0; c < keys; c++) {
    weight[c] = most - score[c] > WEIGHT_BITS ? 0 : 1u << (WEIGHT_BITS - (most - score[c]));
    sum += weight[c];
  }
  return sum;
}

/* Whether element i of o is mean / sum: `columns` weights, values from `value` on, `step` apart. */
static inline bool right_mean(const char *what, const pl_array *o, int32_t i, const uint32_t *weight,
                              uint32_t sum, int32_t keys, const int8_t *value, int32_t step) {
  int64_t mean = 0;
  for (int32_t c = 0; c < keys; c++)
    mean += (int64_t)weight[c] * value[c * step];
  const int32_t want = ratio(mean, sum), have = got(o, i);
  const int32_t size = want < 0 ? -want : want, off = have < want ? want - have : have - want;
  /* f32: sums of scaled scores and of weights; bf16: half a unit in the last place. */
  if (off <= 16 + (size >> 14) + (o->dtype == PL_BF16 ? size >> 8 : 0))
    return true;
  printf("%s: element %d is %d, not %d, in units of 2^-%d\n", what, (int)i, (int)have, (int)want, OUT_BITS);
  return false;
}

#endif
