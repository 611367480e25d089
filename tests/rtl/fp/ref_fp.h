// SPDX-License-Identifier: MIT
//
// Reference arithmetic for testbenches, independent of the RTL: the host's IEEE operations on
// operands that were flushed by hand, and a result that is flushed by hand. It needs no
// control-register tricks, so it is the same on every host; build with -ffp-contract=off and
// without -ffast-math.

#ifndef PEPLOS_TESTS_REF_FP_H
#define PEPLOS_TESTS_REF_FP_H

#include <cmath>
#include <cstdint>
#include <cstring>

static inline float ref_float(uint32_t bits) {
  float f;
  std::memcpy(&f, &bits, 4);
  return f;
}

static inline uint32_t ref_bits(float f) {
  uint32_t b;
  std::memcpy(&b, &f, 4);
  return b;
}

// Subnormal to zero of the same sign.
static inline uint32_t ref_flush(uint32_t b) {
  return (b & 0x7f800000u) == 0 ? b & 0x80000000u : b;
}

static inline uint32_t ref_canon(uint32_t b) {
  return (b & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : ref_flush(b);
}

// A sum in the subnormal range is exact, so flushing before or after rounding is the same.
static inline uint32_t ref_add(uint32_t a, uint32_t b) {
  volatile float s = ref_float(ref_flush(a)) + ref_float(ref_flush(b));
  return ref_canon(ref_bits(s));
}

// The product of two f32 is exact in double. Below the normal range it is scaled up by a power of
// two, rounded there (that is: with unbounded exponent), and flushed unless that reached 2^-126.
static inline uint32_t ref_mul(uint32_t a, uint32_t b) {
  const double p = (double)ref_float(ref_flush(a)) * (double)ref_float(ref_flush(b));
  const double min_normal = std::ldexp(1.0, -126);
  if (p != 0 && std::fabs(p) < min_normal) {
    const float up = (float)std::ldexp(p, 200);
    const uint32_t sign = p < 0 ? 0x80000000u : 0;
    return sign | (std::fabs((double)up) >= std::ldexp(min_normal, 200) ? 0x00800000u : 0);
  }
  return ref_canon(ref_bits((float)p));
}

static inline uint32_t ref_bf16_mul(uint16_t a, uint16_t b) {
  return ref_mul((uint32_t)a << 16, (uint32_t)b << 16);
}

#endif
