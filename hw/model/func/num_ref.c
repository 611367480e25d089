/* SPDX-License-Identifier: MIT */
/* The numbers of the machine in integer arithmetic; see num_ref.h. */
#include "num_ref.h"

#define SIGN          UINT32_C(0x80000000)
#define FRACTION_BITS 23
#define EXPONENT_BIAS 127
#define MIN_EXPONENT  (-126)
#define MAX_EXPONENT  127

enum rounding { NEAREST_EVEN, TOWARD_ZERO };

/* A finite value that is not zero: (-1)^sign x significand x 2^exponent. */
struct finite {
  bool sign;
  int exponent;
  uint64_t significand;
};

static uint32_t sign_bit(bool sign) {
  return sign ? SIGN : 0;
}

static bool is_negative(uint32_t a) {
  return (a & SIGN) != 0;
}

static bool is_inf(uint32_t a) {
  return (a & ~SIGN) == NUM_INF_F32;
}

static bool is_zero(uint32_t a) {
  return (num_ref_flush(a) & ~SIGN) == 0;
}

bool num_ref_is_nan(uint32_t a) {
  return (a & ~SIGN) > NUM_INF_F32;
}

uint32_t num_ref_flush(uint32_t a) {
  return (a & NUM_INF_F32) == 0 ? a & SIGN : a;
}

static struct finite unpack(uint32_t a) {
  return (struct finite){
      .sign = is_negative(a),
      .exponent = (int)((a >> FRACTION_BITS) & 0xff) - EXPONENT_BIAS - FRACTION_BITS,
      .significand = (a & UINT32_C(0x7fffff)) | UINT32_C(0x800000),
  };
}

/* Divides by 2^shift, rounding; `shift` may be anything. */
static uint64_t shift_right_rounded(uint64_t value, int shift, enum rounding rounding) {
  if (shift <= 0)
    return value << -shift;
  if (shift > 64)
    return 0;
  uint64_t quotient = shift == 64 ? 0 : value >> shift;
  uint64_t remainder = shift == 64 ? value : value & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  if (rounding == TOWARD_ZERO || remainder < half)
    return quotient;
  if (remainder > half)
    return quotient + 1;
  return quotient + (quotient & 1);
}

/* Rounds to 24 bits with an unbounded exponent, then looks whether the exponent fits. */
static uint32_t pack(struct finite x, enum rounding rounding) {
  int width = 0;
  while (width < 64 && (x.significand >> width) != 0)
    width++;
  int shift = width - (FRACTION_BITS + 1);
  uint64_t significand = shift_right_rounded(x.significand, shift, rounding);
  int exponent = x.exponent + shift + FRACTION_BITS; /* of the leading bit */
  if (significand == UINT64_C(1) << (FRACTION_BITS + 1)) {
    significand >>= 1;
    exponent++;
  }
  if (exponent < MIN_EXPONENT)
    return sign_bit(x.sign);
  if (exponent > MAX_EXPONENT)
    return sign_bit(x.sign) | NUM_INF_F32;
  return sign_bit(x.sign) | (uint32_t)(exponent + EXPONENT_BIAS) << FRACTION_BITS |
         (uint32_t)(significand & UINT32_C(0x7fffff));
}

/* Sum of two finite values that are not zero. */
static uint32_t add_finite(struct finite x, struct finite y) {
  if (x.exponent < y.exponent) {
    struct finite t = x;
    x = y;
    y = t;
  }
  /*
   * 36 more bits below the larger operand. What is shifted out of the smaller one is kept as
   * one sticky bit, far below any position that decides a rounding.
   */
  const int guard = 36;
  int distance = x.exponent - y.exponent;
  int64_t larger = (int64_t)(x.significand << guard);
  int64_t smaller = (int64_t)(y.significand << guard);
  if (distance > 62)
    smaller = 1;
  else if (distance > 0)
    smaller = (smaller >> distance) | ((smaller & ((INT64_C(1) << distance) - 1)) != 0);
  int64_t sum = (x.sign ? -larger : larger) + (y.sign ? -smaller : smaller);
  if (sum == 0)
    return 0; /* x - x is +0 in nearest even */
  return pack((struct finite){.sign = sum < 0,
                              .exponent = x.exponent - guard,
                              .significand = (uint64_t)(sum < 0 ? -sum : sum)},
              NEAREST_EVEN);
}

uint32_t num_ref_add(uint32_t a, uint32_t b) {
  if (num_ref_is_nan(a) || num_ref_is_nan(b))
    return NUM_NAN_F32;
  if (is_inf(a) && is_inf(b))
    return a == b ? a : NUM_NAN_F32;
  if (is_inf(a))
    return a;
  if (is_inf(b))
    return b;
  if (is_zero(a) && is_zero(b))
    return a & b & SIGN;
  if (is_zero(a))
    return b;
  if (is_zero(b))
    return a;
  return add_finite(unpack(a), unpack(b));
}

uint32_t num_ref_sub(uint32_t a, uint32_t b) {
  return num_ref_add(a, b ^ SIGN);
}

uint32_t num_ref_mul(uint32_t a, uint32_t b) {
  bool sign = is_negative(a) != is_negative(b);
  if (num_ref_is_nan(a) || num_ref_is_nan(b))
    return NUM_NAN_F32;
  if ((is_inf(a) && is_zero(b)) || (is_zero(a) && is_inf(b)))
    return NUM_NAN_F32;
  if (is_inf(a) || is_inf(b))
    return sign_bit(sign) | NUM_INF_F32;
  if (is_zero(a) || is_zero(b))
    return sign_bit(sign);
  struct finite x = unpack(a), y = unpack(b);
  return pack((struct finite){.sign = sign,
                              .exponent = x.exponent + y.exponent,
                              .significand = x.significand * y.significand},
              NEAREST_EVEN);
}

uint32_t num_ref_mul_bf16(uint16_t a, uint16_t b) {
  return num_ref_mul(num_ref_from_bf16(a), num_ref_from_bf16(b));
}

/* Maps the values that are not NaN to integers of the same order, with -0 just below +0. */
static int64_t order(uint32_t a) {
  uint32_t magnitude = num_ref_flush(a) & ~SIGN;
  return is_negative(a) ? -(int64_t)magnitude - 1 : (int64_t)magnitude;
}

uint32_t num_ref_min(uint32_t a, uint32_t b) {
  if (num_ref_is_nan(a) || num_ref_is_nan(b))
    return NUM_NAN_F32;
  return num_ref_flush(order(a) <= order(b) ? a : b);
}

uint32_t num_ref_max(uint32_t a, uint32_t b) {
  if (num_ref_is_nan(a) || num_ref_is_nan(b))
    return NUM_NAN_F32;
  return num_ref_flush(order(a) >= order(b) ? a : b);
}

bool num_ref_eq(uint32_t a, uint32_t b) {
  if (num_ref_is_nan(a) || num_ref_is_nan(b))
    return false;
  return (is_zero(a) && is_zero(b)) || order(a) == order(b);
}

bool num_ref_lt(uint32_t a, uint32_t b) {
  if (num_ref_is_nan(a) || num_ref_is_nan(b) || num_ref_eq(a, b))
    return false;
  return order(a) < order(b);
}

bool num_ref_le(uint32_t a, uint32_t b) {
  return num_ref_lt(a, b) || num_ref_eq(a, b);
}

static int32_t to_i32(uint32_t a, enum rounding rounding) {
  if (num_ref_is_nan(a))
    return 0;
  if (is_zero(a))
    return 0;
  struct finite x = unpack(a);
  if (is_inf(a) || x.exponent > 8) /* at least 2^32 */
    return x.sign ? INT32_MIN : INT32_MAX;
  int64_t magnitude = (int64_t)shift_right_rounded(x.significand, -x.exponent, rounding);
  int64_t value = x.sign ? -magnitude : magnitude;
  if (value > INT32_MAX)
    return INT32_MAX;
  if (value < INT32_MIN)
    return INT32_MIN;
  return (int32_t)value;
}

int32_t num_ref_to_i32_rne(uint32_t a) {
  return to_i32(a, NEAREST_EVEN);
}

int32_t num_ref_to_i32_rtz(uint32_t a) {
  return to_i32(a, TOWARD_ZERO);
}

static uint32_t from_i32(int32_t a, enum rounding rounding) {
  if (a == 0)
    return 0;
  int64_t value = a;
  return pack((struct finite){.sign = value < 0,
                              .exponent = 0,
                              .significand = (uint64_t)(value < 0 ? -value : value)},
              rounding);
}

uint32_t num_ref_from_i32_rne(int32_t a) {
  return from_i32(a, NEAREST_EVEN);
}

uint32_t num_ref_from_i32_rtz(int32_t a) {
  return from_i32(a, TOWARD_ZERO);
}

uint32_t num_ref_from_bf16(uint16_t a) {
  return (uint32_t)a << 16;
}

static uint16_t to_bf16(uint32_t a, enum rounding rounding) {
  if (num_ref_is_nan(a))
    return NUM_NAN_BF16;
  /* Exponent and fraction are one number: a carry out of the fraction is the next binade. */
  return (uint16_t)shift_right_rounded(num_ref_flush(a), 16, rounding);
}

uint16_t num_ref_to_bf16_rne(uint32_t a) {
  return to_bf16(a, NEAREST_EVEN);
}

uint16_t num_ref_to_bf16_rtz(uint32_t a) {
  return to_bf16(a, TOWARD_ZERO);
}

int8_t num_ref_to_i8(int32_t a) {
  return (int8_t)(a > INT8_MAX ? INT8_MAX : a < INT8_MIN ? INT8_MIN : a);
}

uint8_t num_ref_to_u8(int32_t a) {
  return (uint8_t)(a > UINT8_MAX ? UINT8_MAX : a < 0 ? 0 : a);
}
