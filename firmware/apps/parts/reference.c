/* SPDX-License-Identifier: MIT */
#include "reference.h"

int32_t reference_fixed(uint32_t f32_bits) {
  const int32_t exponent = (int32_t)(f32_bits >> 23 & 0xff) - 127 - 23 + 20;
  const uint32_t mantissa = (f32_bits & 0x7fffff) | 0x800000;
  const uint32_t value = exponent < -23 ? 0
                         : exponent < 0 ? mantissa >> -exponent
                         : exponent < 8 ? mantissa << exponent
                                        : INT32_MAX;
  return f32_bits >> 31 ? -(int32_t)value : (int32_t)value;
}

int32_t reference_multiply(int32_t a, int32_t b) {
  return (int32_t)((int64_t)a * b >> 20);
}

/* With 30 bits behind the point. */
static uint32_t multiply30(uint32_t a, uint32_t b) {
  return (uint32_t)((uint64_t)a * b >> 30);
}

/* e^-x, x >= 0, with 30 bits behind the point: the series for x / 256, squared eight times. */
static uint32_t decay(uint32_t x) {
  const uint32_t one = 1u << 30, part = x << 2;
  uint32_t value = one;

  if (x >= 32u << 20)
    return 0;
  for (uint32_t n = 6; n > 0; n--)
    value = one - multiply30(part, value) / n;
  for (int i = 0; i < 8; i++)
    value = multiply30(value, value);
  return value;
}

/* With 30 bits behind the point. */
static uint32_t sigmoid(int32_t x) {
  const uint32_t e = decay(x < 0 ? 0u - (uint32_t)x : (uint32_t)x);
  const uint32_t value = (uint32_t)((UINT64_C(1) << 60) / ((1u << 30) + e));
  return x < 0 ? multiply30(e, value) : value;
}

int32_t reference_silu(int32_t x) {
  return (int32_t)((int64_t)x * sigmoid(x) >> 30);
}

int32_t reference_gelu(int32_t x) {
  if (x > 12 * REFERENCE_ONE ||
      x < -12 * REFERENCE_ONE) /* where the cube leaves the range, nothing changes any more */
    return x > 0 ? x : 0;
  /* 0.5 (1 + tanh u) = sigmoid(2u); 2 sqrt(2 / pi) = 1673277, 0.044715 = 46887 parts of 2^20 */
  const int32_t cube = reference_multiply(reference_multiply(x, x), x);
  const int32_t u = reference_multiply(1673277, x + reference_multiply(46887, cube));
  return (int32_t)((int64_t)x * sigmoid(u) >> 30);
}
