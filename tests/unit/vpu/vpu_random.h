/* SPDX-License-Identifier: MIT */
/*
 * Random vector commands: a program and the staged words that go with it. Most run to their end and touch
 * every memory, type, mask and loop; some fail in every way the contract knows. No VREG is read before it is
 * written.
 */
#ifndef TESTS_UNIT_VPU_RANDOM_H
#define TESTS_UNIT_VPU_RANDOM_H

#include "../check.h"
#include "../num/f32_values.h"
#include "tpu_configs.h"
#include "vpu_asm.h"

#define VPU_RANDOM_PROGRAM 1024
#define VPU_RANDOM_BODY    40 /* instructions beside those that set the VREGs */

struct vpu_random {
  uint64_t program[VPU_RANDOM_PROGRAM];
  uint32_t args[TPU_VPU_ARG_WORDS];
  /* while it is made */
  struct check_random *r;
  const struct tpu_config *config;
  unsigned pc, body;
  bool looping[3];
  struct {
    bool acc, column, i32;
    enum tpu_vmem_dtype dtype;
  } use[8]; /* what an address register is made for */
};

static inline uint32_t vpu_random_below(struct vpu_random *x, uint32_t bound) {
  return check_random_below(x->r, bound);
}

static inline void vpu_random_arg(struct vpu_random *x, uint32_t reg, uint32_t value) {
  x->args[(reg - TPU_QUEUE_ARGS) / 4] = value;
}

static inline void vpu_random_emit(struct vpu_random *x, uint64_t instruction) {
  x->program[x->pc++] = instruction;
}

/* An address register with a type, and a base from which all its accesses stay inside; or now and then not.
 */
static inline void vpu_random_address(struct vpu_random *x, uint32_t k) {
  static const uint32_t sizes[] = {4, 2, 1, 1};
  bool acc = x->use[k].acc = vpu_random_below(x, 4) == 0;
  x->use[k].column = vpu_random_below(x, 4) == 0;
  x->use[k].i32 = vpu_random_below(x, 2);
  x->use[k].dtype = acc ? TPU_VMEM_DTYPE_W32 : (enum tpu_vmem_dtype)vpu_random_below(x, 4);
  if (x->use[k].dtype == TPU_VMEM_DTYPE_BF16)
    x->use[k].i32 = false;
  uint32_t unit = acc ? 1 : sizes[x->use[k].dtype] * (x->use[k].column ? 1 : x->config->lanes);
  uint32_t extent = acc ? x->config->acc_rows : x->config->vmem_bytes / unit;
  uint32_t pitch = vpu_random_below(x, 12) - 2; /* units; also negative and 0 */
  uint32_t base = extent / 4 + vpu_random_below(x, extent / 2);
  if (vpu_random_below(x, 60) == 0)
    base = vpu_random_below(x, 2) ? vpu_random_below(x, 40) : extent - vpu_random_below(x, 40);
  base *= unit;
  if (vpu_random_below(x, 150) == 0)
    base += 1 + vpu_random_below(x, 3);
  vpu_random_arg(x, TPU_VPU_ADDR(k), base);
  vpu_random_arg(x, TPU_VPU_PITCH(k), pitch * unit);
  for (uint32_t level = 0; level < 3; level++)
    vpu_random_arg(x, TPU_VPU_STRIDE(3 * k + level), (vpu_random_below(x, 17) - 5) * unit);
}

static inline void vpu_random_args(struct vpu_random *x) {
  for (uint32_t level = 0; level < 3; level++)
    vpu_random_arg(x, TPU_VPU_LOOP(level), vpu_random_below(x, 5));
  vpu_random_arg(x, TPU_VPU_EDGE,
                 vpu_random_below(x, 16) | vpu_random_below(x, 4) << 8 | vpu_random_below(x, 4) << 16);
  vpu_random_arg(x, TPU_VPU_VALID_ROWS,
                 vpu_random_below(x, 8) ? vpu_random_below(x, 60) : check_random32(x->r));
  vpu_random_arg(x, TPU_VPU_VALID_COLS,
                 vpu_random_below(x, 8) ? vpu_random_below(x, 6 * x->config->lanes) : check_random32(x->r));
  uint32_t from_smem = vpu_random_below(x, 3) ? 0 : vpu_random_below(x, 256);
  vpu_random_arg(x, TPU_VPU_SCALAR_MODE, from_smem);
  for (uint32_t k = 0; k < 8; k++) {
    uint32_t address = 4 * vpu_random_below(x, x->config->smem_bytes / 4);
    if (vpu_random_below(x, 200) == 0)
      address = vpu_random_below(x, 2) ? address + 2 : x->config->smem_bytes + 4 * vpu_random_below(x, 9);
    vpu_random_arg(x, TPU_VPU_SCALAR(k), from_smem >> k & 1 ? address : f32_random(x->r));
    vpu_random_address(x, k);
  }
}

static inline tpu_vasm_source vpu_random_source(struct vpu_random *x) {
  return vpu_random_below(x, 6) == 0 ? TPU_S(vpu_random_below(x, 8)) : TPU_V(vpu_random_below(x, 32));
}

static inline struct tpu_vasm_memory vpu_random_memory(struct vpu_random *x, bool load) {
  uint32_t k = vpu_random_below(x, 8);
  uint32_t unit = x->use[k].acc ? 1 : x->use[k].dtype == TPU_VMEM_DTYPE_W32 ? 4 : 2;
  if (!x->use[k].column && !x->use[k].acc)
    unit = x->config->lanes * 4;
  return (struct tpu_vasm_memory){.areg = k,
                                  .offset = ((int)vpu_random_below(x, 9) - 4) * (int)unit,
                                  .dtype = x->use[k].dtype,
                                  .i32 = x->use[k].i32,
                                  .column = x->use[k].column,
                                  .acc = x->use[k].acc,
                                  .masked = vpu_random_below(x, 2),
                                  .fill = load ? (enum tpu_fill)vpu_random_below(x, 4) : TPU_FILL_ZERO,
                                  .rgrp = vpu_random_below(x, 4),
                                  .cgrp = vpu_random_below(x, 8)};
}

static inline uint64_t vpu_random_cross(struct vpu_random *x, unsigned vd) {
  struct tpu_vasm_mask position = {false, vpu_random_below(x, 4), vpu_random_below(x, 8)};
  tpu_vasm_source a = vpu_random_source(x);
  uint32_t pick = vpu_random_below(x, 8);
  if (pick == 0)
    return tpu_vasm_rand(vd, vpu_random_below(x, 8), vpu_random_below(x, 8), (int)vpu_random_below(x, 9) - 1,
                         position);
  if (pick <= 2) {
    if (x->config->lanes == 16) { /* pairs */
      vd &= ~1u;
      a.number &= a.scalar ? 0xff : 0xfe;
    }
    return tpu_vasm_transpose(vd, a);
  }
  enum tpu_vop op = (enum tpu_vop)(TPU_VOP_ROT_LANE + vpu_random_below(x, 4));
  return vpu_random_below(x, 3) == 0 ? tpu_vasm_move_by_scalar(op, vd, a, vpu_random_below(x, 8))
                                     : tpu_vasm_move(op, vd, a, vpu_random_below(x, 32));
}

static inline uint64_t vpu_random_register_op(struct vpu_random *x, unsigned vd) {
  static const enum tpu_vop ops[] = {
      TPU_VOP_MOV,  TPU_VOP_SEL,  TPU_VOP_FADD, TPU_VOP_FSUB, TPU_VOP_FMUL, TPU_VOP_FMA,     TPU_VOP_FMIN,
      TPU_VOP_FMAX, TPU_VOP_FEQ,  TPU_VOP_FNE,  TPU_VOP_FLT,  TPU_VOP_FLE,  TPU_VOP_IADD,    TPU_VOP_ISUB,
      TPU_VOP_IMUL, TPU_VOP_IMIN, TPU_VOP_IMAX, TPU_VOP_IEQ,  TPU_VOP_INE,  TPU_VOP_ILT,     TPU_VOP_ILE,
      TPU_VOP_ILTU, TPU_VOP_AND,  TPU_VOP_OR,   TPU_VOP_XOR,  TPU_VOP_SHL,  TPU_VOP_SHR,     TPU_VOP_SAR,
      TPU_VOP_I2F,  TPU_VOP_F2BF, TPU_VOP_FADD, TPU_VOP_FMA,  TPU_VOP_FMUL, TPU_VOP_F2I_RNE, TPU_VOP_F2I_RTZ,
  };
  struct tpu_vasm_mask mask = {vpu_random_below(x, 2), vpu_random_below(x, 4), vpu_random_below(x, 8)};
  tpu_vasm_source a = vpu_random_source(x), b = vpu_random_source(x), c = vpu_random_source(x);
  switch (vpu_random_below(x, 12)) {
  case 10:
    return vpu_random_cross(x, vd);
  case 11:
    return tpu_vasm_op((enum tpu_vop)(TPU_VOP_EXP2 + vpu_random_below(x, 6)), vd, a, b, c);
  case 0:
  case 1:
    return tpu_vasm_reduce((enum tpu_vop)(TPU_VOP_RL_FSUM + vpu_random_below(x, 16)), vd, a, mask);
  case 2:
    return tpu_vasm_selm(vd, a, b, mask);
  default:
    return tpu_vasm_op(ops[vpu_random_below(x, sizeof ops / sizeof ops[0])], vd, a, b, c);
  }
}

/* Gives a VREG a first value. */
static inline void vpu_random_set(struct vpu_random *x, unsigned vd) {
  struct tpu_vasm_mask position = {false, vpu_random_below(x, 4), vpu_random_below(x, 8)};
  switch (vpu_random_below(x, 6)) {
  case 0:
    vpu_random_emit(x, tpu_vasm_const(vd, f32_random(x->r)));
    break;
  case 1:
    vpu_random_emit(x, tpu_vasm_iota_lane(vd, position));
    break;
  case 2:
    vpu_random_emit(x, tpu_vasm_iota_sub(vd, position));
    break;
  default:
    vpu_random_emit(x, tpu_vasm_ld(vd, vpu_random_memory(x, true)));
    break;
  }
}

/* Instructions that the contract calls illegal. */
static inline uint64_t vpu_random_illegal(struct vpu_random *x) {
  static const uint8_t unknown[] = {3, 7, 10, 22, 42, 58, 70, 84, 117, 127, 134, 143, 145, 200, 255};
  switch (vpu_random_below(x, 6)) {
  case 4: /* a key that is no scalar; an odd VREG of a pair */
    return vpu_random_below(x, 2) ? TPU_VASM_FIELD(OP, TPU_VOP_RAND) | TPU_VASM_FIELD(BSEL, 1)
                                  : tpu_vasm_transpose(1, TPU_V(2));
  case 0:
    return TPU_VASM_FIELD(OP, TPU_VOP_LOOP) | TPU_VASM_FIELD(AREG, 3);
  case 1:
    return TPU_VASM_FIELD(OP, TPU_VOP_END) | TPU_VASM_FIELD(AREG, 3);
  case 2:
    return tpu_vasm_ld(0, (struct tpu_vasm_memory){.dtype = TPU_VMEM_DTYPE_BF16}) | TPU_VASM_FIELD(ITYPE, 1);
  case 3:
    return tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.acc = true}) |
           TPU_VASM_FIELD(DTYPE, 1 + vpu_random_below(x, 3));
  default:
    return (check_random64(x->r) & ~(uint64_t)0xff) | unknown[vpu_random_below(x, sizeof unknown)];
  }
}

static inline void vpu_random_block(struct vpu_random *x, unsigned depth) {
  for (unsigned n = 1 + vpu_random_below(x, 8); n > 0 && x->body > 0; n--) {
    x->body--;
    unsigned level = vpu_random_below(x, 3), begin = x->pc;
    uint32_t kind = vpu_random_below(x, 12);
    if (kind == 0 && depth < 3 && (!x->looping[level] || vpu_random_below(x, 40) == 0)) {
      bool was = x->looping[level];
      x->looping[level] = true;
      x->pc++;
      vpu_random_block(x, depth + 1);
      vpu_random_emit(x, tpu_vasm_end(level));
      x->program[begin] = tpu_vasm_loop(level, x->pc);
      x->looping[level] = was;
    } else if (kind <= 2) {
      vpu_random_emit(x, tpu_vasm_st(vpu_random_source(x), vpu_random_memory(x, false)));
    } else if (kind <= 4) {
      vpu_random_emit(x, tpu_vasm_ld(vpu_random_below(x, 32), vpu_random_memory(x, true)));
    } else if (kind == 5 && vpu_random_below(x, 40) == 0) {
      vpu_random_emit(x, vpu_random_illegal(x));
    } else {
      vpu_random_emit(x, vpu_random_register_op(x, vpu_random_below(x, 32)));
    }
  }
}

static inline void vpu_random_command(struct vpu_random *x, struct check_random *r,
                                      const struct tpu_config *config) {
  *x = (struct vpu_random){.r = r, .config = config, .body = VPU_RANDOM_BODY};
  vpu_random_args(x);
  uint32_t most = VPU_RANDOM_PROGRAM - 32 - 2 * VPU_RANDOM_BODY;
  x->pc = vpu_random_below(x, most);
  vpu_random_arg(x, TPU_VPU_ENTRY, x->pc);
  for (unsigned v = 0; v < 32; v++)
    vpu_random_set(x, v);
  while (x->body > 0)
    vpu_random_block(x, 0);
  uint32_t ending = vpu_random_below(x, 40);
  if (ending == 0) { /* past the end of the program memory, by an empty loop's jump or without HALT */
    vpu_random_arg(x, TPU_VPU_LOOP(0), 0);
    vpu_random_emit(x, tpu_vasm_loop(0, VPU_RANDOM_PROGRAM - 1 + vpu_random_below(x, 3)));
    x->program[VPU_RANDOM_PROGRAM - 1] = tpu_vasm_const(0, 1);
  } else {
    vpu_random_emit(x, ending == 1 ? tpu_vasm_end(vpu_random_below(x, 3)) : tpu_vasm_halt());
  }
}

#endif
