// SPDX-License-Identifier: MIT
//
// The operations of one lane, from docs/contract.md section 7, in host arithmetic with operands and
// results flushed by hand (ref_fp.h). Transcendental functions are those of the functional model (eup.h),
// which tests/unit/eup compares with exact values.
#pragma once
#include <cmath>
#include <cstdint>

#include "eup.h"
#include "ref_fp.h"
#include "tpu_regs.h"

inline bool ref_nan(uint32_t a) {
  return (a & 0x7fffffff) > 0x7f800000;
}

// Nearest even, then saturated; NaN gives 0. Doubles hold every f32 and every int32.
inline int32_t ref_f2i(uint32_t a, bool toward_zero) {
  if (ref_nan(a))
    return 0;
  const double x = ref_float(ref_flush(a));
  const double r = toward_zero ? std::trunc(x) : std::nearbyint(x);
  if (r >= 2147483647.0)
    return INT32_MAX;
  if (r <= -2147483648.0)
    return INT32_MIN;
  return int32_t(r);
}

inline uint32_t ref_i2f(int32_t a) {
  return ref_bits(float(a));
}

inline uint16_t ref_f2bf(uint32_t a) {
  if (ref_nan(a))
    return 0x7fc0;
  a = ref_flush(a);
  const uint32_t low = a & 0xffff;
  uint32_t high = a >> 16;
  if (low > 0x8000 || (low == 0x8000 && (high & 1)))
    ++high; // carries into the exponent, up to infinity
  return uint16_t(high);
}

inline uint32_t ref_minmax(uint32_t a, uint32_t b, bool max) {
  if (ref_nan(a) || ref_nan(b))
    return 0x7fc00000;
  a = ref_flush(a);
  b = ref_flush(b);
  const float x = ref_float(a), y = ref_float(b);
  if (x == y) { // equal, or zeros: -0 is the smaller
    const bool a_negative = a >> 31;
    return a_negative == max ? b : a;
  }
  return (x < y) == max ? b : a;
}

// float less than, with the order of max: -0 < +0.
inline bool ref_less(uint32_t a, uint32_t b) {
  a = ref_flush(a);
  b = ref_flush(b);
  const float x = ref_float(a), y = ref_float(b);
  return x < y || (x == y && (a >> 31) > (b >> 31));
}

inline uint32_t ref_bool(bool b) {
  return b ? 0xffffffff : 0;
}

// ALU operations other than CONST, IOTA_* and SELM. False: there is no such operation.
inline bool ref_alu(uint32_t op, uint32_t a, uint32_t b, uint32_t c, uint32_t &y) {
  const int32_t ia = int32_t(a), ib = int32_t(b);
  const float fa = ref_float(ref_flush(a)), fb = ref_float(ref_flush(b));
  switch (op) {
  case TPU_VOP_MOV:
    y = a;
    break;
  case TPU_VOP_SEL:
    y = c != 0 ? a : b;
    break;
  case TPU_VOP_EXP2:
    y = tpu_eup_step(TPU_EUP_STEP_EXP2, a);
    break;
  case TPU_VOP_LOG2:
    y = tpu_eup_step(TPU_EUP_STEP_LOG2, a);
    break;
  case TPU_VOP_RCP:
    y = tpu_eup_step(TPU_EUP_STEP_RCP, a);
    break;
  case TPU_VOP_RSQRT:
    y = tpu_eup_step(TPU_EUP_STEP_RSQRT, a);
    break;
  case TPU_VOP_TANH:
    y = tpu_eup_tanh(a);
    break;
  case TPU_VOP_SIGMOID:
    y = tpu_eup_sigmoid(a);
    break;
  case TPU_VOP_FADD:
    y = ref_add(a, b);
    break;
  case TPU_VOP_FSUB:
    y = ref_add(a, b ^ 0x80000000);
    break;
  case TPU_VOP_FMUL:
    y = ref_mul(a, b);
    break;
  case TPU_VOP_FMA:
    y = ref_add(ref_mul(a, b), c);
    break;
  case TPU_VOP_FMIN:
    y = ref_minmax(a, b, false);
    break;
  case TPU_VOP_FMAX:
    y = ref_minmax(a, b, true);
    break;
  case TPU_VOP_FEQ:
    y = ref_bool(fa == fb);
    break;
  case TPU_VOP_FNE:
    y = ref_bool(!(fa == fb));
    break;
  case TPU_VOP_FLT:
    y = ref_bool(fa < fb);
    break;
  case TPU_VOP_FLE:
    y = ref_bool(fa <= fb);
    break;
  case TPU_VOP_IADD:
    y = a + b;
    break;
  case TPU_VOP_ISUB:
    y = a - b;
    break;
  case TPU_VOP_IMUL:
    y = uint32_t(uint64_t(a) * b);
    break;
  case TPU_VOP_IMIN:
    y = ia < ib ? a : b;
    break;
  case TPU_VOP_IMAX:
    y = ia > ib ? a : b;
    break;
  case TPU_VOP_IEQ:
    y = ref_bool(a == b);
    break;
  case TPU_VOP_INE:
    y = ref_bool(a != b);
    break;
  case TPU_VOP_ILT:
    y = ref_bool(ia < ib);
    break;
  case TPU_VOP_ILE:
    y = ref_bool(ia <= ib);
    break;
  case TPU_VOP_ILTU:
    y = ref_bool(a < b);
    break;
  case TPU_VOP_AND:
    y = a & b;
    break;
  case TPU_VOP_OR:
    y = a | b;
    break;
  case TPU_VOP_XOR:
    y = a ^ b;
    break;
  case TPU_VOP_SHL:
    y = a << (b & 31);
    break;
  case TPU_VOP_SHR:
    y = a >> (b & 31);
    break;
  case TPU_VOP_SAR:
    y = uint32_t(ia >> (b & 31));
    break;
  case TPU_VOP_I2F:
    y = ref_i2f(ia);
    break;
  case TPU_VOP_F2I_RNE:
    y = uint32_t(ref_f2i(a, false));
    break;
  case TPU_VOP_F2I_RTZ:
    y = uint32_t(ref_f2i(a, true));
    break;
  case TPU_VOP_F2BF:
    y = uint32_t(ref_f2bf(a)) << 16;
    break;
  default:
    return false;
  }
  return true;
}

// ---- reductions; f is the operation's number in its group of eight ----

enum { kFSum, kFMin, kFMax, kFArg, kISum, kIMin, kIMax, kIArg };

inline uint32_t ref_identity(uint32_t f) {
  switch (f) {
  case kFSum:
    return 0x80000000;
  case kFMin:
    return 0x7f800000;
  case kFMax:
  case kFArg:
    return 0xff800000;
  case kISum:
    return 0;
  case kIMin:
    return 0x7fffffff;
  default:
    return 0x80000000;
  }
}

// n values, halves folded onto each other. Argmax is found by its definition, not by a tree: the
// first NaN if there is one, else the lowest index of the greatest value.
inline uint32_t ref_reduce(uint32_t f, const uint32_t *in, unsigned n) {
  if (f == kFArg || f == kIArg) {
    unsigned best = 0;
    for (unsigned i = 0; i < n; ++i) {
      if (f == kFArg && ref_nan(in[i]))
        return i;
      const bool greater = f == kFArg ? ref_less(in[best], in[i]) : int32_t(in[best]) < int32_t(in[i]);
      if (greater)
        best = i;
    }
    return best;
  }
  uint32_t x[16];
  for (unsigned i = 0; i < n; ++i)
    x[i] = in[i];
  static const uint32_t ops[] = {TPU_VOP_FADD, TPU_VOP_FMIN, TPU_VOP_FMAX, 0,
                                 TPU_VOP_IADD, TPU_VOP_IMIN, TPU_VOP_IMAX, 0};
  for (unsigned h = n / 2; h; h /= 2) {
    for (unsigned i = 0; i < h; ++i)
      ref_alu(ops[f], x[i], x[i + h], 0, x[i]);
  }
  return x[0];
}

// ---- types in memory ----

inline uint32_t widen(const uint8_t *p, uint32_t dtype, uint32_t itype) {
  switch (dtype) {
  case TPU_VMEM_DTYPE_W32:
    return p[0] | p[1] << 8 | p[2] << 16 | uint32_t(p[3]) << 24;
  case TPU_VMEM_DTYPE_BF16:
    return uint32_t(p[0] | p[1] << 8) << 16;
  case TPU_VMEM_DTYPE_INT8:
    return itype ? uint32_t(int8_t(*p)) : ref_i2f(int8_t(*p));
  default:
    return itype ? *p : ref_i2f(*p);
  }
}

inline void narrow(uint8_t *p, uint32_t x, uint32_t dtype, uint32_t itype) {
  if (dtype == TPU_VMEM_DTYPE_W32) {
    for (unsigned i = 0; i < 4; ++i)
      p[i] = uint8_t(x >> 8 * i);
  } else if (dtype == TPU_VMEM_DTYPE_BF16) {
    const uint16_t h = ref_f2bf(x);
    p[0] = uint8_t(h);
    p[1] = uint8_t(h >> 8);
  } else {
    int32_t v = itype ? int32_t(x) : ref_f2i(x, false);
    const int32_t low = dtype == TPU_VMEM_DTYPE_INT8 ? -128 : 0;
    const int32_t high = dtype == TPU_VMEM_DTYPE_INT8 ? 127 : 255;
    v = v < low ? low : v > high ? high : v;
    *p = uint8_t(v);
  }
}

// Threefry-2x32 with 20 rounds; both halves of the result combined.
inline uint32_t ref_random(uint32_t key0, uint32_t key1, uint32_t x0, uint32_t x1) {
  static const unsigned turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t k[3] = {key0, key1, key0 ^ key1 ^ 0x1bd11bda};
  x0 += k[0];
  x1 += k[1];
  for (uint32_t i = 1; i <= 5; ++i) {
    for (unsigned n : turns[(i + 1) % 2]) {
      x0 += x1;
      x1 = (x1 << n | x1 >> (32 - n)) ^ x0;
    }
    x0 += k[i % 3];
    x1 += k[(i + 1) % 3] + i;
  }
  return x0 ^ x1;
}
