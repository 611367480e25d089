/* SPDX-License-Identifier: MIT */
/*
 * What the operations of vector functions compute, on one tile at a time, written from docs/contract.md with
 * the host's own f32 arithmetic; the transcendental functions are the model's, which has tests of its own.
 */
#ifndef TESTS_UNIT_PALLAS_VFN_VALUE_H
#define TESTS_UNIT_PALLAS_VFN_VALUE_H

#include "eup.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { TILE_ROWS = 8, TILE_MAX_LANES = 16 };
/* Bits of f32 or int32. */
struct tile {
  uint32_t e[TILE_ROWS][TILE_MAX_LANES];
};

static inline float value_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}
static inline uint32_t value_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return bits;
}
static inline bool value_is_nan(uint32_t x) {
  return (x & 0x7fffffff) > 0x7f800000;
}
/* Subnormals are zeros. */
static inline uint32_t value_flush(uint32_t x) {
  return (x & 0x7f800000) == 0 ? x & 0x80000000 : x;
}
static inline double value_double(uint32_t x) {
  return (double)value_float(value_flush(x));
}
/* Of an exact or nearly exact result. */
static inline uint32_t value_round(double x) {
  const uint32_t bits = value_bits((float)x);
  return value_is_nan(bits) ? 0x7fc00000 : value_flush(bits);
}
static inline uint32_t value_add(uint32_t a, uint32_t b) {
  /* f32 addition of the host: the sum of two doubles need not be exact. */
  const uint32_t bits = value_bits(value_float(value_flush(a)) + value_float(value_flush(b)));
  return value_is_nan(bits) ? 0x7fc00000 : value_flush(bits);
}
static inline uint32_t value_mul(uint32_t a, uint32_t b) {
  return value_round(value_double(a) * value_double(b));
}
/* In the order -infinity .. -0, +0 .. infinity. */
static inline int64_t value_key(uint32_t x) {
  x = value_flush(x);
  return x >> 31 ? -1 - (int64_t)(x & 0x7fffffff) : (int64_t)x;
}
static inline uint32_t value_min(uint32_t a, uint32_t b) {
  if (value_is_nan(a) || value_is_nan(b))
    return 0x7fc00000;
  return value_flush(value_key(a) <= value_key(b) ? a : b);
}
static inline uint32_t value_max(uint32_t a, uint32_t b) {
  if (value_is_nan(a) || value_is_nan(b))
    return 0x7fc00000;
  return value_flush(value_key(a) >= value_key(b) ? a : b);
}
/* Bits of bf16, nearest even. */
static inline uint32_t value_bf16(uint32_t x) {
  if (value_is_nan(x))
    return 0x7fc0;
  x = value_flush(x);
  const uint32_t y = (x + 0x7fff + (x >> 16 & 1)) >> 16;
  return (y & 0x7f80) == 0 ? y & 0x8000 : y;
}
static inline int64_t value_integer(uint32_t x, bool nearest, int64_t low, int64_t high) {
  if (value_is_nan(x))
    return 0;
  const double d = nearest ? nearbyint(value_double(x)) : trunc(value_double(x));
  return d <= (double)low ? low : d >= (double)high ? high : (int64_t)d;
}
static inline int64_t value_clamp(int64_t x, int64_t low, int64_t high) {
  return x < low ? low : x > high ? high : x;
}
static inline uint32_t value_random(uint32_t k0, uint32_t k1, uint32_t x0, uint32_t x1) {
  static const uint8_t turn[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t key[3] = {k0, k1, k0 ^ k1 ^ 0x1bd11bda};
  x0 += k0;
  x1 += k1;
  for (uint32_t i = 1; i <= 5; i++) {
    for (unsigned k = 0; k < 4; k++) {
      const unsigned n = turn[(i + 1) % 2][k];
      x0 += x1;
      x1 = (x1 << n | x1 >> (32 - n)) ^ x0;
    }
    x0 += key[i % 3];
    x1 += key[(i + 1) % 3] + i;
  }
  return x0 ^ x1;
}

/* One operation of up to three operands on bits; `real` is the type of a and b. */
enum value_op {
  VALUE_ADD,
  VALUE_SUB,
  VALUE_MUL,
  VALUE_MIN,
  VALUE_MAX,
  VALUE_EQ,
  VALUE_NE,
  VALUE_LT,
  VALUE_LE,
  VALUE_GT,
  VALUE_GE,
  VALUE_SELECT,
  VALUE_NEG, /* from here on one operand but for FMA */
  VALUE_FMA,
  VALUE_ABS,
  VALUE_BF16,
  VALUE_RNE,
  VALUE_RTZ,
  VALUE_EXP2,
  VALUE_LOG2,
  VALUE_RECIP,
  VALUE_RSQRT,
  VALUE_TANH,
  VALUE_SIGMOID,
  VALUE_TO_INT, /* the bits */
  VALUE_AND,    /* from here on of int32 */
  VALUE_OR,
  VALUE_XOR,
  VALUE_SHL,
  VALUE_SHR,
  VALUE_SAR,
  VALUE_LTU,
  VALUE_FLOAT,
  VALUE_TO_FLOAT, /* the bits */
  VALUE_OPS
};

static inline uint32_t value_compute_float(enum value_op op, uint32_t a, uint32_t b, uint32_t c) {
  const bool ordered = !value_is_nan(a) && !value_is_nan(b);
  const double x = value_double(a), y = value_double(b);
  switch (op) {
  case VALUE_ADD:
    return value_add(a, b);
  case VALUE_SUB:
    return value_add(a, value_is_nan(b) ? b : b ^ 0x80000000);
  case VALUE_MUL:
    return value_mul(a, b);
  case VALUE_MIN:
    return value_min(a, b);
  case VALUE_MAX:
    return value_max(a, b);
  case VALUE_EQ:
    return -(uint32_t)(ordered && x == y);
  case VALUE_NE:
    return -(uint32_t) !(ordered && x == y);
  case VALUE_LT:
    return -(uint32_t)(ordered && x < y);
  case VALUE_LE:
    return -(uint32_t)(ordered && x <= y);
  case VALUE_GT:
    return -(uint32_t)(ordered && x > y);
  case VALUE_GE:
    return -(uint32_t)(ordered && x >= y);
  case VALUE_NEG:
    return value_add(0x80000000, value_is_nan(a) ? a : a ^ 0x80000000);
  case VALUE_FMA:
    return value_add(value_mul(a, b), c);
  case VALUE_ABS:
    return a & 0x7fffffff;
  case VALUE_BF16:
    return value_bf16(a) << 16;
  case VALUE_RNE:
  case VALUE_RTZ:
    return (uint32_t)value_integer(a, op == VALUE_RNE, INT32_MIN, INT32_MAX);
  case VALUE_EXP2:
    return tpu_eup_step(TPU_EUP_STEP_EXP2, a);
  case VALUE_LOG2:
    return tpu_eup_step(TPU_EUP_STEP_LOG2, a);
  case VALUE_RECIP:
    return tpu_eup_step(TPU_EUP_STEP_RCP, a);
  case VALUE_RSQRT:
    return tpu_eup_step(TPU_EUP_STEP_RSQRT, a);
  case VALUE_TANH:
    return tpu_eup_tanh(a);
  case VALUE_SIGMOID:
    return tpu_eup_sigmoid(a);
  default:
    return a;
  }
}

static inline uint32_t value_compute_int(enum value_op op, uint32_t a, uint32_t b) {
  const int32_t x = (int32_t)a, y = (int32_t)b;
  switch (op) {
  case VALUE_ADD:
    return a + b;
  case VALUE_SUB:
    return a - b;
  case VALUE_MUL:
    return a * b;
  case VALUE_MIN:
    return x < y ? a : b;
  case VALUE_MAX:
    return x > y ? a : b;
  case VALUE_EQ:
    return -(uint32_t)(x == y);
  case VALUE_NE:
    return -(uint32_t)(x != y);
  case VALUE_LT:
    return -(uint32_t)(x < y);
  case VALUE_LE:
    return -(uint32_t)(x <= y);
  case VALUE_GT:
    return -(uint32_t)(x > y);
  case VALUE_GE:
    return -(uint32_t)(x >= y);
  case VALUE_NEG:
    return -a;
  case VALUE_AND:
    return a & b;
  case VALUE_OR:
    return a | b;
  case VALUE_XOR:
    return a ^ b;
  case VALUE_SHL:
    return a << (b & 31);
  case VALUE_SHR:
    return a >> (b & 31);
  case VALUE_SAR:
    return (uint32_t)((int64_t)x >> (b & 31));
  case VALUE_LTU:
    return -(uint32_t)(a < b);
  case VALUE_FLOAT:
    return value_bits((float)x);
  default:
    return a;
  }
}

/* Reductions: the identity of lanes (rows) that do not count, and x op y. */
enum value_reduction { VALUE_SUM, VALUE_LEAST, VALUE_GREATEST, VALUE_ARGMAX };

static inline uint32_t value_identity(enum value_reduction op, bool real) {
  switch (op) {
  case VALUE_SUM:
    return real ? 0x80000000 : 0;
  case VALUE_LEAST:
    return real ? 0x7f800000 : 0x7fffffff;
  default:
    return real ? 0xff800000 : 0x80000000;
  }
}

/* n values, n a power of two, to one. */
static inline uint32_t value_reduce(enum value_reduction op, bool real, uint32_t *x, unsigned n) {
  uint32_t at[TILE_MAX_LANES];
  for (unsigned i = 0; i < n; i++)
    at[i] = i;
  for (unsigned h = n / 2; h > 0; h /= 2)
    for (unsigned i = 0; i < h; i++) {
      const uint32_t a = x[i], b = x[i + h];
      if (op != VALUE_ARGMAX) {
        static const enum value_op ops[] = {VALUE_ADD, VALUE_MIN, VALUE_MAX};
        x[i] = real ? value_compute_float(ops[op], a, b, 0) : value_compute_int(ops[op], a, b);
        continue;
      }
      const bool a_nan = real && value_is_nan(a), b_nan = real && value_is_nan(b);
      const int64_t ka = real ? value_key(a) : (int32_t)a, kb = real ? value_key(b) : (int32_t)b;
      const bool right = (b_nan && !a_nan) || (!a_nan && !b_nan && kb > ka);
      const bool equal = (a_nan && b_nan) || (!a_nan && !b_nan && ka == kb);
      if (right || (equal && at[i + h] < at[i])) {
        x[i] = b;
        at[i] = at[i + h];
      }
    }
  return op == VALUE_ARGMAX ? at[0] : x[0];
}

#endif
