/* SPDX-License-Identifier: MIT */
/*
 * Vector programs: made for an operation and the dtypes, spaces and broadcasts of its refs, loaded once,
 * and found again.
 *
 * An elementwise program walks column tiles (loop 0) and groups of up to four VREGs of rows (loop 1).
 * Groups are interleaved, so that a group is loaded while the one before it is stored:
 *
 *   load 0, load 1, compute 0, store 0, load 2, compute 1, store 1, ...
 *
 * Every memory operand in VMEM has an address register a group; one in ACC needs one only, because its
 * rows are one row apart and the distance fits into the instruction.
 */
#include "vector.h"

#ifndef TPU_HOST /* fields are checked where the runtime is tested: on the host */
#define TPU_VASM_CHECK(condition) ((void)(condition))
#endif
#include "vpu_asm.h"

/* Registers: a group has seven of its own from 4 on, 0..3 are for all. */
enum { V_ROW = 0, V_ZERO = 1, V_BEST = 2, V_INDEX = 3 };
static unsigned v_source(unsigned group, unsigned source) {
  return 4 + 7 * group + source;
}
static unsigned v_result(unsigned group) {
  return 4 + 7 * group + 2;
}

bool pl_is_float(unsigned dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

static void emit(struct pl_program *p, uint64_t word) {
  if (p->count < PL_MAX_INSTRUCTIONS)
    p->word[p->count] = word;
  p->count++;
}

static enum tpu_vmem_dtype memory_dtype(unsigned dtype) {
  static const uint8_t map[] = {TPU_VMEM_DTYPE_W32, TPU_VMEM_DTYPE_BF16, TPU_VMEM_DTYPE_W32,
                                TPU_VMEM_DTYPE_INT8, TPU_VMEM_DTYPE_UINT8};
  return (enum tpu_vmem_dtype)map[dtype];
}

bool pl_one_register(const struct pl_side *side) {
  return side->acc || side->broadcast == PL_BROADCAST_ROW || side->broadcast == PL_BROADCAST_ELEMENT;
}

static struct tpu_vasm_memory memory_of(const struct pl_program *p, const struct pl_signature *s,
                                        unsigned operand, unsigned group) {
  const struct pl_side *side = &s->side[operand];
  struct tpu_vasm_memory m = {
      .areg = p->areg[operand] + (pl_one_register(side) ? 0u : group),
      .offset = side->acc && side->broadcast == PL_BROADCAST_FULL ? (int)(8 * group) : 0,
      .dtype = memory_dtype(side->dtype),
      .i32 = !pl_is_float(side->dtype),
      .column = side->broadcast == PL_BROADCAST_COLUMN || side->broadcast == PL_BROADCAST_ELEMENT,
      .acc = side->acc,
      .masked = true,
      .rgrp = group,
  };
  return m;
}

/* Int to a narrower int: wrap, as a cast does; the store would saturate. */
static void emit_wrap(struct pl_program *p, unsigned v, unsigned dtype, unsigned from) {
  if (dtype == PL_INT8 && from != PL_INT8) {
    emit(p, tpu_vasm_op(TPU_VOP_SHL, v, TPU_V(v), TPU_S(1), TPU_V(0)));
    emit(p, tpu_vasm_op(TPU_VOP_SAR, v, TPU_V(v), TPU_S(1), TPU_V(0)));
  } else if (dtype == PL_UINT8 && from != PL_UINT8) {
    emit(p, tpu_vasm_op(TPU_VOP_AND, v, TPU_V(v), TPU_S(2), TPU_V(0)));
  }
}

/* Converts the register of a source to the register type of the result. */
static void emit_convert(struct pl_program *p, unsigned vd, unsigned v, unsigned to, unsigned from) {
  if (pl_is_float(from) && !pl_is_float(to))
    emit(p, tpu_vasm_op(TPU_VOP_F2I_RTZ, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (!pl_is_float(from) && pl_is_float(to))
    emit(p, tpu_vasm_op(TPU_VOP_I2F, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (vd != v)
    emit(p, tpu_vasm_op(TPU_VOP_MOV, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
}

static void emit_load(struct pl_program *p, const struct pl_signature *s, unsigned group) {
  for (unsigned i = 0; i < s->sources; i++) {
    const unsigned b = s->side[1 + i].broadcast;
    if (b == PL_BROADCAST_FULL || b == PL_BROADCAST_COLUMN)
      emit(p, tpu_vasm_ld(v_source(group, i), memory_of(p, s, 1 + i, group)));
  }
}

/* Computes a group's result; returns the operand that is stored. */
static tpu_vasm_source emit_compute(struct pl_program *p, const struct pl_signature *s, unsigned group) {
  const struct pl_side *result = &s->side[0], *x = &s->side[1], *b = &s->side[2];
  const unsigned v = v_result(group), vx = v_source(group, 0);
  const unsigned vb =
      b->broadcast == PL_BROADCAST_ROW || b->broadcast == PL_BROADCAST_ELEMENT ? V_ROW : v_source(group, 1);
  const bool real = pl_is_float(x->dtype);
  unsigned at = vx;

  if (s->operation == PL_OP_FILL)
    return TPU_S(0);
  if (s->operation == PL_OP_ADD || s->operation == PL_OP_BIAS_RELU) {
    emit(p, tpu_vasm_op(real ? TPU_VOP_FADD : TPU_VOP_IADD, v, TPU_V(vx), TPU_V(vb), TPU_V(0)));
    at = v;
  }
  if (s->operation == PL_OP_RELU || s->operation == PL_OP_BIAS_RELU) {
    emit(p, tpu_vasm_op(real ? TPU_VOP_FMAX : TPU_VOP_IMAX, v, TPU_V(at), TPU_V(V_ZERO), TPU_V(0)));
    at = v;
  }
  if (pl_is_float(result->dtype) != real) {
    emit_convert(p, v, at, result->dtype, x->dtype);
    at = v;
  } else if (!real) {
    const unsigned from = s->operation == PL_OP_COPY || s->operation == PL_OP_RELU ? x->dtype : PL_INT32;
    if ((result->dtype == PL_INT8 || result->dtype == PL_UINT8) && from != result->dtype) {
      emit_convert(p, v, at, result->dtype, x->dtype);
      emit_wrap(p, v, result->dtype, from);
      at = v;
    }
  }
  return TPU_V(at);
}

static void emit_elementwise(struct pl_program *p, const struct pl_signature *s) {
  if (s->operation == PL_OP_RELU || s->operation == PL_OP_BIAS_RELU)
    emit(p, tpu_vasm_const(V_ZERO, 0));
  const uint32_t loop0 = p->count;
  emit(p, 0);
  for (unsigned i = 0; i < s->sources; i++)
    if (s->side[1 + i].broadcast == PL_BROADCAST_ROW || s->side[1 + i].broadcast == PL_BROADCAST_ELEMENT) {
      struct tpu_vasm_memory m = memory_of(p, s, 1 + i, 0);
      m.masked = false; /* outside loop 1 the row mask means nothing; lanes past the end are padding */
      emit(p, tpu_vasm_ld(V_ROW, m));
    }
  const uint32_t loop1 = p->count;
  emit(p, 0);
  emit_load(p, s, 0);
  for (unsigned g = 0; g < s->groups; g++) {
    if (g + 1u < s->groups)
      emit_load(p, s, g + 1);
    tpu_vasm_source value = emit_compute(p, s, g);
    emit(p, tpu_vasm_st(value, memory_of(p, s, 0, g)));
  }
  emit(p, tpu_vasm_end(1));
  emit(p, tpu_vasm_end(0));
  p->word[loop0] = tpu_vasm_loop(0, p->count);
  p->word[loop1] = tpu_vasm_loop(1, p->count - 1);
  emit(p, tpu_vasm_halt());
}

/*
 * Rows in loop 0, column tiles in loop 1. Best value and index are carried; a tile's best is taken if
 * it is greater, or if it is NaN and none was before. The index is stored with every tile, the last
 * one stays.
 */
static void emit_argmax(struct pl_program *p, const struct pl_signature *s) {
  enum { V_X = 4, V_MAX, V_AT, V_TAKE, V_NAN, V_WAS, V_BASE };
  const bool real = pl_is_float(s->side[1].dtype);
  struct tpu_vasm_memory load = memory_of(p, s, 1, 0), store = memory_of(p, s, 0, 0);
  const struct tpu_vasm_mask mask = {.masked = true};

  load.fill = TPU_FILL_MIN;
  store.column = true;
  emit(p, 0);
  emit(p, tpu_vasm_const(V_BEST, real ? 0xff800000u : 0x80000000u));
  emit(p, tpu_vasm_const(V_INDEX, 0));
  emit(p, tpu_vasm_const(V_BASE, 0));
  const uint32_t loop1 = p->count;
  emit(p, 0);
  emit(p, tpu_vasm_ld(V_X, load));
  emit(p, tpu_vasm_reduce(real ? TPU_VOP_RL_FMAX : TPU_VOP_RL_IMAX, V_MAX, TPU_V(V_X), mask));
  emit(p, tpu_vasm_reduce(real ? TPU_VOP_RL_FARGMAX : TPU_VOP_RL_IARGMAX, V_AT, TPU_V(V_X), mask));
  emit(p, tpu_vasm_op(TPU_VOP_IADD, V_AT, TPU_V(V_AT), TPU_V(V_BASE), TPU_V(0)));
  emit(p, tpu_vasm_op(real ? TPU_VOP_FLT : TPU_VOP_ILT, V_TAKE, TPU_V(V_BEST), TPU_V(V_MAX), TPU_V(0)));
  if (real) {
    emit(p, tpu_vasm_op(TPU_VOP_FNE, V_NAN, TPU_V(V_MAX), TPU_V(V_MAX), TPU_V(0)));
    emit(p, tpu_vasm_op(TPU_VOP_FEQ, V_WAS, TPU_V(V_BEST), TPU_V(V_BEST), TPU_V(0)));
    emit(p, tpu_vasm_op(TPU_VOP_AND, V_NAN, TPU_V(V_NAN), TPU_V(V_WAS), TPU_V(0)));
    emit(p, tpu_vasm_op(TPU_VOP_OR, V_TAKE, TPU_V(V_TAKE), TPU_V(V_NAN), TPU_V(0)));
  }
  emit(p, tpu_vasm_op(TPU_VOP_SEL, V_BEST, TPU_V(V_MAX), TPU_V(V_BEST), TPU_V(V_TAKE)));
  emit(p, tpu_vasm_op(TPU_VOP_SEL, V_INDEX, TPU_V(V_AT), TPU_V(V_INDEX), TPU_V(V_TAKE)));
  emit(p, tpu_vasm_op(TPU_VOP_IADD, V_BASE, TPU_V(V_BASE), TPU_S(0), TPU_V(0)));
  emit(p, tpu_vasm_st(TPU_V(V_INDEX), store));
  emit(p, tpu_vasm_end(1));
  emit(p, tpu_vasm_end(0));
  p->word[0] = tpu_vasm_loop(0, p->count);
  p->word[loop1] = tpu_vasm_loop(1, p->count - 1);
  emit(p, tpu_vasm_halt());
}

/* ---- the program memory ---- */

static struct {
  struct pl_signature signature;
  uint32_t entry;
} loaded[PL_MAX_PROGRAMS];
static uint32_t loaded_count, loaded_words;
uint32_t pl_programs_generation = 1; /* records of another generation are stale */

static bool same_signature(const struct pl_signature *a, const struct pl_signature *b) {
  if (a->operation != b->operation || a->groups != b->groups || a->sources != b->sources)
    return false;
  for (unsigned i = 0; i <= a->sources; i++)
    if (a->side[i].dtype != b->side[i].dtype || a->side[i].acc != b->side[i].acc ||
        a->side[i].broadcast != b->side[i].broadcast)
      return false;
  return true;
}

/* Gives operands their address registers; the groups are as many as the eight registers allow. */
void pl_assign_registers(struct pl_signature *s, struct pl_program *p, uint32_t row_groups) {
  const unsigned most = s->operation == PL_OP_ARGMAX || row_groups < 2 ? 1 : row_groups < 4 ? 2 : 4;
  for (s->groups = (uint8_t)most;; s->groups /= 2) {
    p->aregs = 0;
    for (unsigned i = 0; i <= s->sources; i++) {
      p->areg[i] = p->aregs;
      p->aregs = (uint8_t)(p->aregs + (pl_one_register(&s->side[i]) ? 1 : s->groups));
    }
    if (p->aregs <= PL_VECTOR_ADDRESSES)
      return;
  }
}

/* Finds or loads the program; false with a sticky error if that is not possible. */
bool pl_load_program(struct pl_context *c, const struct pl_signature *s, struct pl_program *p,
                     uint32_t *entry) {
  for (uint32_t i = 0; i < loaded_count; i++)
    if (same_signature(&loaded[i].signature, s)) {
      *entry = loaded[i].entry;
      return true;
    }
  p->count = 0;
  if (s->operation == PL_OP_ARGMAX)
    emit_argmax(p, s);
  else
    emit_elementwise(p, s);
  const uint32_t room = c->params.value[TPU_PARAM_VPU_PROGRAM];
  if (p->count > PL_MAX_INSTRUCTIONS || p->count > room) {
    pl_fail(PL_ERROR_UNSUPPORTED, "a vector program of %u instructions; there is room for %u",
            (unsigned)p->count, (unsigned)(room < PL_MAX_INSTRUCTIONS ? room : PL_MAX_INSTRUCTIONS));
    return false;
  }
  if (loaded_count == PL_MAX_PROGRAMS || p->count > room - loaded_words) {
    /* Full: start again, when no command runs any of the old ones. */
    if (!pl_wait_ticket(c, TPU_QUEUE_VPU, c->queue[TPU_QUEUE_VPU].issued))
      return false;
    loaded_count = loaded_words = 0;
    pl_programs_generation++;
  }
  (void)!tpu_ctrl_load_program(&c->ctrl, loaded_words, p->word, p->count);
  loaded[loaded_count].signature = *s;
  loaded[loaded_count].entry = *entry = loaded_words;
  loaded_count++;
  loaded_words += p->count;
  return true;
}
