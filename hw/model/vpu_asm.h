/* SPDX-License-Identifier: MIT */
/*
 * Builders for vector instructions: one function a form, for firmware, models, tests and tools.
 *
 * A builder returns the 64-bit word for the program memory and checks that every field fits; what an
 * instruction does is in docs/contract.md section 6. Fields that an instruction does not use are 0.
 *
 *   program[n++] = tpu_vasm_ld(1, (struct tpu_vasm_memory){.areg = 0, .dtype = TPU_VMEM_DTYPE_BF16});
 *   program[n++] = tpu_vasm_fmul(2, TPU_V(1), TPU_S(0));
 *   program[n++] = tpu_vasm_st(TPU_V(2), (struct tpu_vasm_memory){.areg = 1});
 *   program[n++] = tpu_vasm_halt();
 *
 * TPU_VASM_CHECK(condition) may be defined before the include; the default is assert().
 */
#ifndef TPU_VPU_ASM_H
#define TPU_VPU_ASM_H

#include <stdbool.h>
#include <stdint.h>

#include "tpu_regs.h"

#ifndef TPU_VASM_CHECK
#include <assert.h>
#define TPU_VASM_CHECK(condition) assert(condition)
#endif

/* A source operand: a VREG, or a scalar argument in every lane. */
typedef struct {
  uint8_t number;
  bool scalar;
} tpu_vasm_source;

#define TPU_V(n) ((tpu_vasm_source){.number = (uint8_t)(n), .scalar = false})
#define TPU_S(n) ((tpu_vasm_source){.number = (uint8_t)(n), .scalar = true})

/* Memory operand of a load or a store. Zero is: address register 0, W32 in VMEM, a row, no mask. */
struct tpu_vasm_memory {
  unsigned areg;             /* address register 0..7 */
  int offset;                /* added to the address: bytes, or rows of ACC; -32768..32767 */
  enum tpu_vmem_dtype dtype; /* type in memory */
  bool i32;                  /* register type int32 instead of f32 */
  bool column;               /* one element a sublane */
  bool acc;                  /* ACC instead of VMEM */
  bool masked;               /* apply the mask M of the row and column group */
  enum tpu_fill fill;        /* loads: value of masked lanes */
  unsigned rgrp, cgrp;       /* row group 0..3, column group 0..7 */
};

/* Mask of a reduction, or position of an iota or a selection by mask. */
struct tpu_vasm_mask {
  bool masked;
  unsigned rgrp, cgrp;
};

/* ---- fields ---- */

static inline uint64_t tpu_vasm_field(uint64_t value, unsigned shift, uint64_t mask) {
  TPU_VASM_CHECK(((value << shift) & ~mask) == 0 && (value << shift) >> shift == value);
  return value << shift;
}

#define TPU_VASM_FIELD(name, value)                                                                          \
  tpu_vasm_field((uint64_t)(value), TPU_VINSTR_##name##_SHIFT, TPU_VINSTR_##name##_MASK)

static inline uint64_t tpu_vasm_vd(unsigned vd) {
  return TPU_VASM_FIELD(VD, vd);
}

static inline uint64_t tpu_vasm_a(tpu_vasm_source a) {
  TPU_VASM_CHECK(!a.scalar || a.number < TPU_VPU_SCALAR_COUNT);
  return TPU_VASM_FIELD(VA, a.number) | TPU_VASM_FIELD(ASEL, a.scalar);
}

static inline uint64_t tpu_vasm_b(tpu_vasm_source b) {
  TPU_VASM_CHECK(!b.scalar || b.number < TPU_VPU_SCALAR_COUNT);
  return TPU_VASM_FIELD(VB, b.number) | TPU_VASM_FIELD(BSEL, b.scalar);
}

static inline uint64_t tpu_vasm_c(tpu_vasm_source c) {
  TPU_VASM_CHECK(!c.scalar || c.number < TPU_VPU_SCALAR_COUNT);
  return TPU_VASM_FIELD(VC, c.number) | TPU_VASM_FIELD(CSEL, c.scalar);
}

static inline uint64_t tpu_vasm_memory(struct tpu_vasm_memory m) {
  TPU_VASM_CHECK(m.offset >= INT16_MIN && m.offset <= INT16_MAX);
  TPU_VASM_CHECK(!m.acc || m.dtype == TPU_VMEM_DTYPE_W32);
  TPU_VASM_CHECK(m.dtype != TPU_VMEM_DTYPE_BF16 || !m.i32);
  return TPU_VASM_FIELD(AREG, m.areg) | TPU_VASM_FIELD(OFFSET, (uint16_t)m.offset) |
         TPU_VASM_FIELD(DTYPE, m.dtype) | TPU_VASM_FIELD(ITYPE, m.i32) | TPU_VASM_FIELD(COL, m.column) |
         TPU_VASM_FIELD(ACC, m.acc) | TPU_VASM_FIELD(MASKED, m.masked) | TPU_VASM_FIELD(FILL, m.fill) |
         TPU_VASM_FIELD(RGRP, m.rgrp) | TPU_VASM_FIELD(CGRP, m.cgrp);
}

static inline uint64_t tpu_vasm_mask(struct tpu_vasm_mask m) {
  return TPU_VASM_FIELD(MASKED, m.masked) | TPU_VASM_FIELD(RGRP, m.rgrp) | TPU_VASM_FIELD(CGRP, m.cgrp);
}

/* ---- control ---- */

static inline uint64_t tpu_vasm_halt(void) {
  return TPU_VASM_FIELD(OP, TPU_VOP_HALT);
}

/* Begins loop `level` (0..2); `target` is the instruction to go to if the command's count is 0. */
static inline uint64_t tpu_vasm_loop(unsigned level, unsigned target) {
  TPU_VASM_CHECK(level < TPU_VPU_LOOP_COUNT);
  return TPU_VASM_FIELD(OP, TPU_VOP_LOOP) | TPU_VASM_FIELD(AREG, level) | TPU_VASM_FIELD(OFFSET, target);
}

static inline uint64_t tpu_vasm_end(unsigned level) {
  TPU_VASM_CHECK(level < TPU_VPU_LOOP_COUNT);
  return TPU_VASM_FIELD(OP, TPU_VOP_END) | TPU_VASM_FIELD(AREG, level);
}

/* ---- memory ---- */

static inline uint64_t tpu_vasm_ld(unsigned vd, struct tpu_vasm_memory memory) {
  return TPU_VASM_FIELD(OP, TPU_VOP_LD) | tpu_vasm_vd(vd) | tpu_vasm_memory(memory);
}

static inline uint64_t tpu_vasm_st(tpu_vasm_source a, struct tpu_vasm_memory memory) {
  TPU_VASM_CHECK(memory.fill == TPU_FILL_ZERO);
  return TPU_VASM_FIELD(OP, TPU_VOP_ST) | tpu_vasm_a(a) | tpu_vasm_memory(memory);
}

/* ---- everything in registers ---- */

/* Every lane the same 32 bits. */
static inline uint64_t tpu_vasm_const(unsigned vd, uint32_t value) {
  return TPU_VASM_FIELD(OP, TPU_VOP_CONST) | tpu_vasm_vd(vd) | (uint64_t)value << 32;
}

/* Any operation with up to three sources and no other field; unused sources are TPU_V(0). */
static inline uint64_t tpu_vasm_op(enum tpu_vop op, unsigned vd, tpu_vasm_source a, tpu_vasm_source b,
                                   tpu_vasm_source c) {
  return TPU_VASM_FIELD(OP, op) | tpu_vasm_vd(vd) | tpu_vasm_a(a) | tpu_vasm_b(b) | tpu_vasm_c(c);
}

/* A reduction over lanes or sublanes: TPU_VOP_RL_* and TPU_VOP_RS_*. */
static inline uint64_t tpu_vasm_reduce(enum tpu_vop op, unsigned vd, tpu_vasm_source a,
                                       struct tpu_vasm_mask mask) {
  TPU_VASM_CHECK(op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_RS_IARGMAX);
  return TPU_VASM_FIELD(OP, op) | tpu_vasm_vd(vd) | tpu_vasm_a(a) | tpu_vasm_mask(mask);
}

/* vd = M ? a : b; `masked` of the position is ignored. */
static inline uint64_t tpu_vasm_selm(unsigned vd, tpu_vasm_source a, tpu_vasm_source b,
                                     struct tpu_vasm_mask position) {
  return tpu_vasm_op(TPU_VOP_SELM, vd, a, b, TPU_V(0)) | TPU_VASM_FIELD(RGRP, position.rgrp) |
         TPU_VASM_FIELD(CGRP, position.cgrp);
}

static inline uint64_t tpu_vasm_iota_lane(unsigned vd, struct tpu_vasm_mask position) {
  return TPU_VASM_FIELD(OP, TPU_VOP_IOTA_LANE) | tpu_vasm_vd(vd) | TPU_VASM_FIELD(CGRP, position.cgrp);
}

static inline uint64_t tpu_vasm_iota_sub(unsigned vd, struct tpu_vasm_mask position) {
  return TPU_VASM_FIELD(OP, TPU_VOP_IOTA_SUB) | tpu_vasm_vd(vd) | TPU_VASM_FIELD(RGRP, position.rgrp);
}

/* ---- across lanes ---- */

/* ROT_LANE, ROT_SUB, BC_LANE, BC_SUB by n (0..31), or by a scalar argument. */
static inline uint64_t tpu_vasm_move(enum tpu_vop op, unsigned vd, tpu_vasm_source a, unsigned n) {
  TPU_VASM_CHECK(op >= TPU_VOP_ROT_LANE && op <= TPU_VOP_BC_SUB);
  return TPU_VASM_FIELD(OP, op) | tpu_vasm_vd(vd) | tpu_vasm_a(a) | TPU_VASM_FIELD(VB, n);
}

static inline uint64_t tpu_vasm_move_by_scalar(enum tpu_vop op, unsigned vd, tpu_vasm_source a,
                                               unsigned scalar) {
  TPU_VASM_CHECK(op >= TPU_VOP_ROT_LANE && op <= TPU_VOP_BC_SUB);
  return TPU_VASM_FIELD(OP, op) | tpu_vasm_vd(vd) | tpu_vasm_a(a) | tpu_vasm_b(TPU_S(scalar));
}

/* Tiles of LANES x LANES words; with 16 lanes vd and a are pairs of VREGs, even numbers. */
static inline uint64_t tpu_vasm_transpose(unsigned vd, tpu_vasm_source a) {
  return TPU_VASM_FIELD(OP, TPU_VOP_TRANSPOSE) | tpu_vasm_vd(vd) | tpu_vasm_a(a);
}

/* Random bits of the key in two scalar arguments; with offset >= 0 the scalar arguments `offset` and (offset
 * + 1) mod 8 are added to the row and the column number. */
static inline uint64_t tpu_vasm_rand(unsigned vd, unsigned key0, unsigned key1, int offset,
                                     struct tpu_vasm_mask position) {
  return TPU_VASM_FIELD(OP, TPU_VOP_RAND) | tpu_vasm_vd(vd) | tpu_vasm_a(TPU_S(key0)) |
         tpu_vasm_b(TPU_S(key1)) | (offset < 0 ? 0 : tpu_vasm_c(TPU_S((unsigned)offset))) |
         TPU_VASM_FIELD(RGRP, position.rgrp) | TPU_VASM_FIELD(CGRP, position.cgrp);
}

#define TPU_VASM_UNARY(name, op)                                                                             \
  static inline uint64_t tpu_vasm_##name(unsigned vd, tpu_vasm_source a) {                                   \
    return tpu_vasm_op(TPU_VOP_##op, vd, a, TPU_V(0), TPU_V(0));                                             \
  }
#define TPU_VASM_BINARY(name, op)                                                                            \
  static inline uint64_t tpu_vasm_##name(unsigned vd, tpu_vasm_source a, tpu_vasm_source b) {                \
    return tpu_vasm_op(TPU_VOP_##op, vd, a, b, TPU_V(0));                                                    \
  }
#define TPU_VASM_TERNARY(name, op)                                                                           \
  static inline uint64_t tpu_vasm_##name(unsigned vd, tpu_vasm_source a, tpu_vasm_source b,                  \
                                         tpu_vasm_source c) {                                                \
    return tpu_vasm_op(TPU_VOP_##op, vd, a, b, c);                                                           \
  }

TPU_VASM_UNARY(mov, MOV)
TPU_VASM_UNARY(i2f, I2F)
TPU_VASM_UNARY(f2i_rne, F2I_RNE)
TPU_VASM_UNARY(f2i_rtz, F2I_RTZ)
TPU_VASM_UNARY(f2bf, F2BF)
TPU_VASM_UNARY(exp2, EXP2)
TPU_VASM_UNARY(log2, LOG2)
TPU_VASM_UNARY(rcp, RCP)
TPU_VASM_UNARY(rsqrt, RSQRT)
TPU_VASM_UNARY(tanh, TANH)
TPU_VASM_UNARY(sigmoid, SIGMOID)
TPU_VASM_BINARY(fadd, FADD)
TPU_VASM_BINARY(fsub, FSUB)
TPU_VASM_BINARY(fmul, FMUL)
TPU_VASM_BINARY(fmin, FMIN)
TPU_VASM_BINARY(fmax, FMAX)
TPU_VASM_BINARY(feq, FEQ)
TPU_VASM_BINARY(fne, FNE)
TPU_VASM_BINARY(flt, FLT)
TPU_VASM_BINARY(fle, FLE)
TPU_VASM_BINARY(iadd, IADD)
TPU_VASM_BINARY(isub, ISUB)
TPU_VASM_BINARY(imul, IMUL)
TPU_VASM_BINARY(imin, IMIN)
TPU_VASM_BINARY(imax, IMAX)
TPU_VASM_BINARY(ieq, IEQ)
TPU_VASM_BINARY(ine, INE)
TPU_VASM_BINARY(ilt, ILT)
TPU_VASM_BINARY(ile, ILE)
TPU_VASM_BINARY(iltu, ILTU)
TPU_VASM_BINARY(and, AND)
TPU_VASM_BINARY(or, OR)
TPU_VASM_BINARY(xor, XOR)
TPU_VASM_BINARY(shl, SHL)
TPU_VASM_BINARY(shr, SHR)
TPU_VASM_BINARY(sar, SAR)
TPU_VASM_TERNARY(fma, FMA)
TPU_VASM_TERNARY(sel, SEL)

#endif
