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

#include "emit.h"

/* Registers: a group has seven of its own from 4 on, 0..3 are for all. */
enum { V_ZERO = 3 };
/* A source with one row or one element. */
static unsigned v_row(unsigned source) {
  return source;
}
static unsigned v_source(unsigned group, unsigned source) {
  return PL_V_SOURCE + PL_V_GROUP * group + source;
}
static unsigned v_result(unsigned group) {
  return PL_V_RESULT + PL_V_GROUP * group;
}

bool pl_is_float(unsigned dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

void pl_emit(struct pl_program *p, uint64_t word) {
  if (p->count < PL_MAX_INSTRUCTIONS)
    p->word[p->count] = word;
  p->count++;
}

enum tpu_vmem_dtype pl_memory_dtype(unsigned dtype) {
  static const uint8_t map[] = {TPU_VMEM_DTYPE_W32, TPU_VMEM_DTYPE_BF16, TPU_VMEM_DTYPE_W32,
                                TPU_VMEM_DTYPE_INT8, TPU_VMEM_DTYPE_UINT8};
  return (enum tpu_vmem_dtype)map[dtype];
}

bool pl_one_register(const struct pl_side *side) {
  return side->acc || side->broadcast == PL_BROADCAST_ROW || side->broadcast == PL_BROADCAST_ELEMENT;
}

struct tpu_vasm_memory pl_memory_of(const struct pl_program *p, const struct pl_signature *s,
                                    unsigned operand, unsigned group) {
  const struct pl_side *side = &s->side[operand];
  struct tpu_vasm_memory m = {
      .areg = p->areg[operand] + (pl_one_register(side) ? 0u : group),
      .offset = side->acc && (side->broadcast == PL_BROADCAST_FULL || side->broadcast == PL_BROADCAST_COLUMN)
                    ? (int)(8 * group)
                    : 0,
      .dtype = pl_memory_dtype(side->dtype),
      .i32 = !pl_is_float(side->dtype),
      .column = side->broadcast == PL_BROADCAST_COLUMN || side->broadcast == PL_BROADCAST_ELEMENT,
      .acc = side->acc,
      .masked = true,
      .rgrp = group,
  };
  return m;
}

/* Int to a narrower int: wrap, as a cast does; the store would saturate. */
void pl_emit_wrap(struct pl_program *p, unsigned v, unsigned dtype, unsigned from) {
  if (dtype == PL_INT8 && from != PL_INT8) {
    pl_emit(p, tpu_vasm_op(TPU_VOP_SHL, v, TPU_V(v), TPU_S(1), TPU_V(0)));
    pl_emit(p, tpu_vasm_op(TPU_VOP_SAR, v, TPU_V(v), TPU_S(1), TPU_V(0)));
  } else if (dtype == PL_UINT8 && from != PL_UINT8) {
    pl_emit(p, tpu_vasm_op(TPU_VOP_AND, v, TPU_V(v), TPU_S(2), TPU_V(0)));
  }
}

/* Converts the register of a source to the register type of the result. */
void pl_emit_convert(struct pl_program *p, unsigned vd, unsigned v, unsigned to, unsigned from) {
  if (pl_is_float(from) && !pl_is_float(to))
    pl_emit(p, tpu_vasm_op(TPU_VOP_F2I_RTZ, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (!pl_is_float(from) && pl_is_float(to))
    pl_emit(p, tpu_vasm_op(TPU_VOP_I2F, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (vd != v)
    pl_emit(p, tpu_vasm_op(TPU_VOP_MOV, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
}

static void emit_load(struct pl_program *p, const struct pl_signature *s, unsigned group) {
  for (unsigned i = 0; i < s->sources; i++) {
    const unsigned b = s->side[1 + i].broadcast;
    if (b == PL_BROADCAST_FULL || b == PL_BROADCAST_COLUMN)
      pl_emit(p, tpu_vasm_ld(v_source(group, i), pl_memory_of(p, s, 1 + i, group)));
  }
}

static bool one_row(const struct pl_side *side) {
  return side->broadcast == PL_BROADCAST_ROW || side->broadcast == PL_BROADCAST_ELEMENT;
}

static tpu_vasm_source operand(const struct pl_signature *s, unsigned group, unsigned source) {
  return TPU_V(one_row(&s->side[1 + source]) ? v_row(source) : v_source(group, source));
}

static bool needs_zero(const struct pl_signature *s) {
  return s->operation == PL_OP_RELU || s->operation == PL_OP_BIAS_RELU ||
         (s->operation >= PL_OP_LESS && s->operation <= PL_OP_NOT_EQUAL);
}

/* The vector operation of two sources. */
static enum tpu_vop binary(unsigned operation, bool real) {
  static const uint8_t ops[][2] = {
      [PL_OP_ADD] = {TPU_VOP_IADD, TPU_VOP_FADD},      [PL_OP_SUB] = {TPU_VOP_ISUB, TPU_VOP_FSUB},
      [PL_OP_MUL] = {TPU_VOP_IMUL, TPU_VOP_FMUL},      [PL_OP_MAX] = {TPU_VOP_IMAX, TPU_VOP_FMAX},
      [PL_OP_MIN] = {TPU_VOP_IMIN, TPU_VOP_FMIN},      [PL_OP_LESS] = {TPU_VOP_ILT, TPU_VOP_FLT},
      [PL_OP_LESS_EQUAL] = {TPU_VOP_ILE, TPU_VOP_FLE}, [PL_OP_EQUAL] = {TPU_VOP_IEQ, TPU_VOP_FEQ},
      [PL_OP_NOT_EQUAL] = {TPU_VOP_INE, TPU_VOP_FNE},  [PL_OP_BIAS_RELU] = {TPU_VOP_IADD, TPU_VOP_FADD}};
  return operation < sizeof ops / sizeof ops[0] ? (enum tpu_vop)ops[operation][real] : (enum tpu_vop)0;
}

/* Computes a group's result; returns the operand that is stored. */
static tpu_vasm_source emit_compute(struct pl_program *p, const struct pl_signature *s, unsigned group) {
  const struct pl_side *result = &s->side[0], *x = &s->side[1];
  const unsigned op = s->operation, v = v_result(group);
  const tpu_vasm_source none = TPU_V(0), zero = TPU_V(V_ZERO), a = operand(s, group, 0),
                        b = operand(s, group, 1);
  bool real = s->sources > 0 && pl_is_float(x->dtype);
  tpu_vasm_source at = a;

  if (op == PL_OP_FILL)
    return TPU_S(0);
  if (op == PL_OP_IOTA_ROWS || op == PL_OP_IOTA_COLUMNS) {
    const struct tpu_vasm_mask position = {.rgrp = group};
    pl_emit(p, op == PL_OP_IOTA_ROWS ? tpu_vasm_iota_sub(v, position)
                                     : tpu_vasm_iota_lane(v, (struct tpu_vasm_mask){0}));
    at = TPU_V(v);
  }
  if (op == PL_OP_WHERE) {
    pl_emit(p, tpu_vasm_op(TPU_VOP_SEL, v, a, b, operand(s, group, 2)));
    at = TPU_V(v);
  } else if (binary(op, real) != 0) {
    pl_emit(p, tpu_vasm_op(binary(op, real), v, a, b, none));
    at = TPU_V(v);
  }
  if (op == PL_OP_RELU || op == PL_OP_BIAS_RELU) {
    pl_emit(p, tpu_vasm_op(real ? TPU_VOP_FMAX : TPU_VOP_IMAX, v, at, zero, none));
    at = TPU_V(v);
  }
  if (op >= PL_OP_LESS && op <= PL_OP_NOT_EQUAL) { /* -1 or 0 */
    pl_emit(p, tpu_vasm_op(TPU_VOP_ISUB, v, zero, at, none));
    real = false;
  }
  if (pl_is_float(result->dtype) != real) {
    pl_emit_convert(p, v, at.number, result->dtype, real ? PL_F32 : PL_INT32);
    return TPU_V(v);
  }
  const unsigned from = op == PL_OP_COPY || op == PL_OP_RELU ? x->dtype : PL_INT32;
  if (!real && pl_dtype_bytes(result->dtype) == 1 && from != result->dtype) {
    pl_emit_convert(p, v, at.number, PL_INT32, PL_INT32);
    pl_emit_wrap(p, v, result->dtype, from);
    at = TPU_V(v);
  }
  return at;
}

void pl_emit_elementwise(struct pl_program *p, const struct pl_signature *s, pl_emit_compute *compute) {
  if (needs_zero(s))
    pl_emit(p, tpu_vasm_const(V_ZERO, 0));
  const uint32_t loop0 = p->count;
  pl_emit(p, 0);
  for (unsigned i = 0; i < s->sources; i++)
    if (one_row(&s->side[1 + i])) {
      struct tpu_vasm_memory m = pl_memory_of(p, s, 1 + i, 0);
      m.masked = false; /* outside loop 1 the row mask means nothing; lanes past the end are padding */
      pl_emit(p, tpu_vasm_ld(v_row(i), m));
    }
  const uint32_t loop1 = p->count;
  pl_emit(p, 0);
  emit_load(p, s, 0);
  for (unsigned g = 0; g < s->groups; g++) {
    if (g + 1u < s->groups)
      emit_load(p, s, g + 1);
    tpu_vasm_source value = compute(p, s, g);
    pl_emit(p, tpu_vasm_st(value, pl_memory_of(p, s, 0, g)));
  }
  pl_emit(p, tpu_vasm_end(1));
  pl_emit(p, tpu_vasm_end(0));
  p->word[loop0] = tpu_vasm_loop(0, p->count);
  p->word[loop1] = tpu_vasm_loop(1, p->count - 1);
  pl_emit(p, tpu_vasm_halt());
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
  const unsigned most = s->groups != 0                                   ? s->groups
                        : s->operation >= PL_OP_ARGMAX || row_groups < 2 ? 1
                        : row_groups < 4                                 ? 2
                                                                         : 4;
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
                     uint32_t *entry, const struct pl_vector_maker *maker) {
  for (uint32_t i = 0; i < loaded_count; i++)
    if (same_signature(&loaded[i].signature, s)) {
      *entry = loaded[i].entry;
      return true;
    }
  p->count = 0;
  if (maker != NULL)
    maker->emit(p, s);
  else if (s->operation == PL_OP_ARGMAX)
    pl_emit_argmax(p, s);
  else if (s->operation >= PL_OP_REDUCE)
    pl_emit_reduce(p, s);
  else
    pl_emit_elementwise(p, s, emit_compute);
  const uint32_t room = pl_program_room(c);
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
  for (uint32_t i = 0; i < p->count;
       i++) /* where a loop of no iteration goes on: counted from the memory's start */
    if ((p->word[i] & TPU_VINSTR_OP_MASK) == TPU_VOP_LOOP)
      p->word[i] += (uint64_t)loaded_words << TPU_VINSTR_OFFSET_SHIFT;
  (void)!tpu_ctrl_load_program(&c->ctrl, loaded_words, p->word, p->count);
  loaded[loaded_count].signature = *s;
  loaded[loaded_count].entry = *entry = loaded_words;
  loaded_count++;
  loaded_words += p->count;
  return true;
}
