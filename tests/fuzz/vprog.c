/* SPDX-License-Identifier: MIT */
/*
 * Random vector programs that stay inside given ranges.
 *
 * The program is made first, with address registers for reading and for writing; its control flow depends on
 * nothing but the loop counts, so walking it once gives the exact extent of every address register, from
 * which the start address follows. Instructions on registers come from the generator of the vector unit's own
 * test.
 */
#include "stream.h"

#include <string.h>

#include "../unit/vpu/vpu_random.h"

#define READERS 4u /* address registers 0..3 read, 4..7 write */

struct extent {
  int64_t low, high; /* of accesses, high exclusive, in bytes or rows */
};

/* ---- control flow -----------------------------------------------------------------------------------------
 */

static uint32_t bits_of(uint64_t instruction, uint32_t shift, uint64_t mask) {
  return (uint32_t)((instruction & mask) >> shift);
}

#define BITS(instruction, field) bits_of(instruction, TPU_VINSTR_##field##_SHIFT, TPU_VINSTR_##field##_MASK)

static uint32_t arg(const struct vpu_random *x, uint32_t reg) {
  return x->args[(reg - TPU_QUEUE_ARGS) / 4];
}

static uint32_t element_bytes(const struct vpu_random *x, uint32_t k) {
  static const uint32_t sizes[] = {4, 2, 1, 1};
  return x->use[k].acc ? 1 : sizes[x->use[k].dtype];
}

/* What one access covers from its address on. */
static uint32_t access_bytes(const struct vpu_random *x, uint32_t k) {
  if (x->use[k].acc)
    return 1;
  return element_bytes(x, k) * (x->use[k].column ? 1 : x->config->lanes);
}

static void touch(const struct vpu_random *x, uint64_t instruction, const int64_t *addr, struct extent *e) {
  uint32_t k = BITS(instruction, AREG);
  int64_t first = addr[k] + (int16_t)BITS(instruction, OFFSET);
  int64_t last = first + 7 * (int64_t)(int32_t)arg(x, TPU_VPU_PITCH(k));
  int64_t low = first < last ? first : last, high = (first < last ? last : first) + access_bytes(x, k);
  e[k].low = low < e[k].low ? low : e[k].low;
  e[k].high = high > e[k].high ? high : e[k].high;
}

/* Walks the program with all start addresses 0. */
static void walk(const struct vpu_random *x, struct extent *e) {
  int64_t addr[8] = {0};
  uint32_t start[3] = {0}, iteration[3] = {0};
  for (int k = 0; k < 8; k++)
    e[k] = (struct extent){0, 0};
  for (uint32_t pc = arg(x, TPU_VPU_ENTRY);;) {
    uint64_t w = x->program[pc++];
    uint32_t op = BITS(w, OP), level = BITS(w, AREG) & 3;
    if (op == TPU_VOP_HALT)
      return;
    if (op == TPU_VOP_LOOP) {
      start[level] = pc;
      iteration[level] = 0;
      if (arg(x, TPU_VPU_LOOP(level)) == 0)
        pc = BITS(w, OFFSET);
    } else if (op == TPU_VOP_END) {
      for (uint32_t k = 0; k < 8; k++)
        addr[k] += (int32_t)arg(x, TPU_VPU_STRIDE(3 * k + level));
      if (++iteration[level] < arg(x, TPU_VPU_LOOP(level)))
        pc = start[level];
    } else if (op == TPU_VOP_LD || op == TPU_VOP_ST) {
      touch(x, w, addr, e);
    }
  }
}

/* ---- the program ------------------------------------------------------------------------------------------
 */

static struct tpu_vasm_memory operand(struct vpu_random *x, bool load) {
  uint32_t k = vpu_random_below(x, READERS) + (load ? 0 : READERS);
  uint32_t unit = access_bytes(x, k);
  return (struct tpu_vasm_memory){.areg = k,
                                  .offset = ((int)vpu_random_below(x, 5) - 2) * (int)unit,
                                  .dtype = x->use[k].dtype,
                                  .i32 = x->use[k].i32,
                                  .column = x->use[k].column,
                                  .acc = x->use[k].acc,
                                  .masked = vpu_random_below(x, 2),
                                  .fill = load ? (enum tpu_fill)vpu_random_below(x, 4) : TPU_FILL_ZERO,
                                  .rgrp = vpu_random_below(x, 4),
                                  .cgrp = vpu_random_below(x, 8)};
}

static void block(struct vpu_random *x, unsigned depth) {
  for (unsigned n = 1 + vpu_random_below(x, 6); n > 0 && x->body > 0; n--) {
    x->body--;
    unsigned level = vpu_random_below(x, 3), begin = x->pc;
    uint32_t kind = vpu_random_below(x, 10);
    if (kind == 0 && depth < 3 && !x->looping[level]) {
      x->looping[level] = true;
      x->pc++;
      block(x, depth + 1);
      vpu_random_emit(x, tpu_vasm_end(level));
      x->program[begin] = tpu_vasm_loop(level, x->pc);
      x->looping[level] = false;
    } else if (kind <= 2) {
      vpu_random_emit(x, tpu_vasm_st(vpu_random_source(x), operand(x, false)));
    } else if (kind <= 4) {
      vpu_random_emit(x, tpu_vasm_ld(vpu_random_below(x, 32), operand(x, true)));
    } else {
      vpu_random_emit(x, vpu_random_register_op(x, vpu_random_below(x, 32)));
    }
  }
}

/* Every VREG gets a value; a few instructions, so that programs stay short. */
static void set_registers(struct vpu_random *x) {
  for (unsigned v = 0; v < 32; v++) {
    struct tpu_vasm_mask position = {false, vpu_random_below(x, 4), vpu_random_below(x, 8)};
    switch (vpu_random_below(x, 4)) {
    case 0:
      vpu_random_emit(x, tpu_vasm_const(v, f32_random(x->r)));
      break;
    case 1:
      vpu_random_emit(x, tpu_vasm_iota_lane(v, position));
      break;
    default:
      vpu_random_emit(x, tpu_vasm_ld(v, operand(x, true)));
    }
  }
}

/* ---- addresses --------------------------------------------------------------------------------------------
 */

static void choose_use(struct vpu_random *x, uint32_t k) {
  bool acc = x->use[k].acc = vpu_random_below(x, 4) == 0;
  x->use[k].column = vpu_random_below(x, 4) == 0;
  x->use[k].dtype = acc ? TPU_VMEM_DTYPE_W32 : (enum tpu_vmem_dtype)vpu_random_below(x, 4);
  x->use[k].i32 = x->use[k].dtype != TPU_VMEM_DTYPE_BF16 && vpu_random_below(x, 2);
}

static void choose_strides(struct vpu_random *x, uint32_t k, bool still) {
  uint32_t unit = access_bytes(x, k);
  vpu_random_arg(x, TPU_VPU_PITCH(k), (still ? 1 : vpu_random_below(x, 8) - 2) * unit);
  for (uint32_t level = 0; level < 3; level++)
    vpu_random_arg(x, TPU_VPU_STRIDE(3 * k + level), still ? 0 : (vpu_random_below(x, 9) - 4) * unit);
}

/* Start addresses so that everything lies inside; address registers that reach too far stand still. */
static void place(struct vpu_random *x, const struct vpu_ranges *ranges) {
  struct extent e[8];
  walk(x, e);
  for (uint32_t k = 0; k < 8; k++) {
    uint32_t room = x->use[k].acc ? ranges->acc_rows : ranges->vmem_bytes;
    if (e[k].high - e[k].low > room)
      choose_strides(x, k, true);
  }
  walk(x, e);
  for (uint32_t k = 0; k < 8; k++) {
    bool acc = x->use[k].acc, writes = k >= READERS;
    uint32_t room = acc ? ranges->acc_rows : ranges->vmem_bytes, unit = access_bytes(x, k);
    uint32_t base = acc ? (writes ? ranges->write_acc : ranges->read_acc)
                        : (writes ? ranges->write_vmem : ranges->read_vmem);
    uint32_t slack = (uint32_t)(room - (e[k].high - e[k].low)) / unit;
    vpu_random_arg(x, TPU_VPU_ADDR(k), (uint32_t)(base - e[k].low) + vpu_random_below(x, slack + 1) * unit);
  }
}

static void choose_arguments(struct vpu_random *x, const struct vpu_ranges *ranges) {
  uint32_t from_smem = vpu_random_below(x, 2) ? 0 : vpu_random_below(x, 256);
  for (uint32_t level = 0; level < 3; level++)
    vpu_random_arg(x, TPU_VPU_LOOP(level), vpu_random_below(x, 4));
  vpu_random_arg(x, TPU_VPU_EDGE,
                 vpu_random_below(x, 16) | vpu_random_below(x, 4) << 8 | vpu_random_below(x, 4) << 16);
  vpu_random_arg(x, TPU_VPU_VALID_ROWS, vpu_random_below(x, 60));
  vpu_random_arg(x, TPU_VPU_VALID_COLS, vpu_random_below(x, 6 * x->config->lanes));
  vpu_random_arg(x, TPU_VPU_SCALAR_MODE, from_smem);
  for (uint32_t k = 0; k < 8; k++) {
    uint32_t address = ranges->smem + 4 * vpu_random_below(x, ranges->smem_bytes / 4);
    vpu_random_arg(x, TPU_VPU_SCALAR(k), from_smem >> k & 1 ? address : f32_random(x->r));
    choose_use(x, k);
    choose_strides(x, k, false);
  }
}

void make_vector_command(struct check_random *r, const struct tpu_config *config,
                         const struct vpu_ranges *ranges, uint64_t *program, uint32_t *length,
                         uint32_t *args) {
  static struct vpu_random x;
  x = (struct vpu_random){.r = r, .config = config, .body = 4 + check_random_below(r, 20), .pc = *length};
  choose_arguments(&x, ranges);
  vpu_random_arg(&x, TPU_VPU_ENTRY, x.pc);
  set_registers(&x);
  while (x.body > 0)
    block(&x, 0);
  vpu_random_emit(&x, tpu_vasm_halt());
  place(&x, ranges);
  memcpy(program + *length, x.program + *length, (x.pc - *length) * sizeof *program);
  *length = x.pc;
  memcpy(args, x.args, sizeof x.args);
}
