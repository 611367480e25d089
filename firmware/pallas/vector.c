/* SPDX-License-Identifier: MIT */
/*
 * Whole-ref vector operations: one command each. A program is made for an operation and the dtypes,
 * spaces and broadcasts of its refs, loaded once, and found again; shapes, pitches and addresses are
 * the command's.
 *
 * An elementwise program walks column tiles (loop 0) and groups of up to four VREGs of rows (loop 1).
 * Groups are interleaved, so that a group is loaded while the one before it is stored:
 *
 *   load 0, load 1, compute 0, store 0, load 2, compute 1, store 1, ...
 *
 * Every memory operand in VMEM has an address register a group; one in ACC needs one only, because its
 * rows are one row apart and the distance fits into the instruction.
 */
#include "internal.h"

#ifndef TPU_HOST /* fields are checked where the runtime is tested: on the host */
#define TPU_VASM_CHECK(condition) ((void)(condition))
#endif
#include "vpu_asm.h"

enum operation {
  OP_COPY = 1,
  OP_ADD,
  OP_RELU,      /* max(x, 0) */
  OP_BIAS_RELU, /* max(x + bias, 0) */
  OP_FILL,
  OP_ARGMAX,
};

/* How a source's elements relate to the result's. */
enum broadcast { FULL = 0, ROW = 1, COLUMN = 2, ELEMENT = 3 };

/* A memory operand of a program. */
struct side {
  uint8_t dtype;
  bool acc;
  uint8_t broadcast; /* enum broadcast */
};

/* What makes one program another than the next. */
struct signature {
  uint8_t operation, groups, sources;
  struct side side[1 + PL_VECTOR_SOURCES]; /* result, sources */
};

enum { MAX_INSTRUCTIONS = 72 };

struct program {
  uint64_t word[MAX_INSTRUCTIONS];
  uint32_t count;
  uint8_t areg[1 + PL_VECTOR_SOURCES]; /* first address register of each operand */
  uint8_t aregs;
};

/* Registers: a group has seven of its own from 4 on, 0..3 are for all. */
enum { V_ROW = 0, V_ZERO = 1, V_BEST = 2, V_INDEX = 3 };
static unsigned v_source(unsigned group, unsigned source) {
  return 4 + 7 * group + source;
}
static unsigned v_result(unsigned group) {
  return 4 + 7 * group + 2;
}

static bool is_float(unsigned dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

static void emit(struct program *p, uint64_t word) {
  if (p->count < MAX_INSTRUCTIONS)
    p->word[p->count] = word;
  p->count++;
}

static enum tpu_vmem_dtype memory_dtype(unsigned dtype) {
  static const uint8_t map[] = {TPU_VMEM_DTYPE_W32, TPU_VMEM_DTYPE_BF16, TPU_VMEM_DTYPE_W32,
                                TPU_VMEM_DTYPE_INT8, TPU_VMEM_DTYPE_UINT8};
  return (enum tpu_vmem_dtype)map[dtype];
}

static bool one_register(const struct side *side) {
  return side->acc || side->broadcast == ROW || side->broadcast == ELEMENT;
}

static struct tpu_vasm_memory memory_of(const struct program *p, const struct signature *s, unsigned operand,
                                        unsigned group) {
  const struct side *side = &s->side[operand];
  struct tpu_vasm_memory m = {
      .areg = p->areg[operand] + (one_register(side) ? 0u : group),
      .offset = side->acc && side->broadcast == FULL ? (int)(8 * group) : 0,
      .dtype = memory_dtype(side->dtype),
      .i32 = !is_float(side->dtype),
      .column = side->broadcast == COLUMN || side->broadcast == ELEMENT,
      .acc = side->acc,
      .masked = true,
      .rgrp = group,
  };
  return m;
}

/* Int to a narrower int: wrap, as a cast does; the store would saturate. */
static void emit_wrap(struct program *p, unsigned v, unsigned dtype, unsigned from) {
  if (dtype == PL_INT8 && from != PL_INT8) {
    emit(p, tpu_vasm_op(TPU_VOP_SHL, v, TPU_V(v), TPU_S(1), TPU_V(0)));
    emit(p, tpu_vasm_op(TPU_VOP_SAR, v, TPU_V(v), TPU_S(1), TPU_V(0)));
  } else if (dtype == PL_UINT8 && from != PL_UINT8) {
    emit(p, tpu_vasm_op(TPU_VOP_AND, v, TPU_V(v), TPU_S(2), TPU_V(0)));
  }
}

/* Converts the register of a source to the register type of the result. */
static void emit_convert(struct program *p, unsigned vd, unsigned v, unsigned to, unsigned from) {
  if (is_float(from) && !is_float(to))
    emit(p, tpu_vasm_op(TPU_VOP_F2I_RTZ, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (!is_float(from) && is_float(to))
    emit(p, tpu_vasm_op(TPU_VOP_I2F, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
  else if (vd != v)
    emit(p, tpu_vasm_op(TPU_VOP_MOV, vd, TPU_V(v), TPU_V(0), TPU_V(0)));
}

static void emit_load(struct program *p, const struct signature *s, unsigned group) {
  for (unsigned i = 0; i < s->sources; i++) {
    const unsigned b = s->side[1 + i].broadcast;
    if (b == FULL || b == COLUMN)
      emit(p, tpu_vasm_ld(v_source(group, i), memory_of(p, s, 1 + i, group)));
  }
}

/* Computes a group's result; returns the operand that is stored. */
static tpu_vasm_source emit_compute(struct program *p, const struct signature *s, unsigned group) {
  const struct side *result = &s->side[0], *x = &s->side[1], *b = &s->side[2];
  const unsigned v = v_result(group), vx = v_source(group, 0);
  const unsigned vb = b->broadcast == ROW || b->broadcast == ELEMENT ? V_ROW : v_source(group, 1);
  const bool real = is_float(x->dtype);
  unsigned at = vx;

  if (s->operation == OP_FILL)
    return TPU_S(0);
  if (s->operation == OP_ADD || s->operation == OP_BIAS_RELU) {
    emit(p, tpu_vasm_op(real ? TPU_VOP_FADD : TPU_VOP_IADD, v, TPU_V(vx), TPU_V(vb), TPU_V(0)));
    at = v;
  }
  if (s->operation == OP_RELU || s->operation == OP_BIAS_RELU) {
    emit(p, tpu_vasm_op(real ? TPU_VOP_FMAX : TPU_VOP_IMAX, v, TPU_V(at), TPU_V(V_ZERO), TPU_V(0)));
    at = v;
  }
  if (is_float(result->dtype) != real) {
    emit_convert(p, v, at, result->dtype, x->dtype);
    at = v;
  } else if (!real) {
    const unsigned from = s->operation == OP_COPY || s->operation == OP_RELU ? x->dtype : PL_INT32;
    if ((result->dtype == PL_INT8 || result->dtype == PL_UINT8) && from != result->dtype) {
      emit_convert(p, v, at, result->dtype, x->dtype);
      emit_wrap(p, v, result->dtype, from);
      at = v;
    }
  }
  return TPU_V(at);
}

static void emit_elementwise(struct program *p, const struct signature *s) {
  if (s->operation == OP_RELU || s->operation == OP_BIAS_RELU)
    emit(p, tpu_vasm_const(V_ZERO, 0));
  const uint32_t loop0 = p->count;
  emit(p, 0);
  for (unsigned i = 0; i < s->sources; i++)
    if (s->side[1 + i].broadcast == ROW || s->side[1 + i].broadcast == ELEMENT) {
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
static void emit_argmax(struct program *p, const struct signature *s) {
  enum { V_X = 4, V_MAX, V_AT, V_TAKE, V_NAN, V_WAS, V_BASE };
  const bool real = is_float(s->side[1].dtype);
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
  struct signature signature;
  uint32_t entry;
} loaded[PL_MAX_PROGRAMS];
static uint32_t loaded_count, loaded_words;
static uint32_t loaded_generation = 1; /* records of another generation are stale */

static bool same_signature(const struct signature *a, const struct signature *b) {
  if (a->operation != b->operation || a->groups != b->groups || a->sources != b->sources)
    return false;
  for (unsigned i = 0; i <= a->sources; i++)
    if (a->side[i].dtype != b->side[i].dtype || a->side[i].acc != b->side[i].acc ||
        a->side[i].broadcast != b->side[i].broadcast)
      return false;
  return true;
}

/* Gives operands their address registers; the groups are as many as the eight registers allow. */
static void assign_registers(struct signature *s, struct program *p, uint32_t row_groups) {
  const unsigned most = s->operation == OP_ARGMAX || row_groups < 2 ? 1 : row_groups < 4 ? 2 : 4;
  for (s->groups = (uint8_t)most;; s->groups /= 2) {
    p->aregs = 0;
    for (unsigned i = 0; i <= s->sources; i++) {
      p->areg[i] = p->aregs;
      p->aregs = (uint8_t)(p->aregs + (one_register(&s->side[i]) ? 1 : s->groups));
    }
    if (p->aregs <= PL_VECTOR_ADDRESSES)
      return;
  }
}

/* Finds or loads the program; false with a sticky error if that is not possible. */
static bool load_program(struct pl_context *c, const struct signature *s, struct program *p,
                         uint32_t *entry) {
  for (uint32_t i = 0; i < loaded_count; i++)
    if (same_signature(&loaded[i].signature, s)) {
      *entry = loaded[i].entry;
      return true;
    }
  p->count = 0;
  if (s->operation == OP_ARGMAX)
    emit_argmax(p, s);
  else
    emit_elementwise(p, s);
  const uint32_t room = c->params.value[TPU_PARAM_VPU_PROGRAM];
  if (p->count > MAX_INSTRUCTIONS || p->count > room) {
    pl_fail(PL_ERROR_UNSUPPORTED, "a vector program of %u instructions; there is room for %u",
            (unsigned)p->count, (unsigned)(room < MAX_INSTRUCTIONS ? room : MAX_INSTRUCTIONS));
    return false;
  }
  if (loaded_count == PL_MAX_PROGRAMS || p->count > room - loaded_words) {
    /* Full: start again, when no command runs any of the old ones. */
    if (!pl_wait_ticket(c, TPU_QUEUE_VPU, c->queue[TPU_QUEUE_VPU].issued))
      return false;
    loaded_count = loaded_words = 0;
    loaded_generation++;
  }
  (void)!tpu_ctrl_load_program(&c->ctrl, loaded_words, p->word, p->count);
  loaded[loaded_count].signature = *s;
  loaded[loaded_count].entry = *entry = loaded_words;
  loaded_count++;
  loaded_words += p->count;
  return true;
}

/* ---- shapes ---- */

/* A ref as rows of columns: leading dimensions are folded into rows. */
struct plane {
  int32_t rows, columns, pitch;
};

static bool plane_of(const struct pl_view *v, struct plane *plane) {
  plane->columns = v->rank > 0 ? v->shape[v->rank - 1] : 1;
  plane->rows = 1;
  plane->pitch = v->rank > 1 ? v->stride[v->rank - 2] : 0;
  for (int d = v->rank - 2; d >= 0; d--) {
    if (v->shape[d] != 1 && plane->rows != 1 && v->stride[d] != plane->pitch * plane->rows)
      return false; /* a part of a block whose rows do not follow one another evenly */
    if (plane->rows == 1)
      plane->pitch = v->stride[d];
    plane->rows *= v->shape[d];
  }
  return plane->rows > 0 && plane->columns > 0;
}

static const char *operation_name(unsigned operation) {
  static const char *const names[] = {"?", "pl_copy", "pl_add", "pl_relu", "pl_relu", "pl_fill", "pl_argmax"};
  return names[operation];
}

static pl_status check_ref(unsigned operation, const struct pl_view *v, bool written, struct plane *plane) {
  const uint32_t row = pl_context.lanes * pl_dtype_bytes(v->dtype);
  char name[24];

  if (v->space != PL_VMEM && v->space != PL_ACC)
    return pl_fail(PL_ERROR_REF, "%s: %s is in %s; the vector unit reaches VMEM and ACC, use a copy",
                   operation_name(operation), pl_view_name(v, name), pl_space_name(v->space));
  if (written && (v->flags & PL_VIEW_READ_ONLY))
    return pl_fail(PL_ERROR_REF, "%s: %s would be written", operation_name(operation), pl_view_name(v, name));
  if (!plane_of(v, plane))
    return pl_fail(PL_ERROR_SHAPE, "%s: the rows of %s are not evenly spaced, or it is empty",
                   operation_name(operation), pl_view_name(v, name));
  if (v->space == PL_VMEM && (v->offset % row != 0 || (plane->rows > 1 && (uint32_t)plane->pitch % row != 0)))
    return pl_fail(PL_ERROR_REF, "%s: %s starts at byte %u of its block; rows must be multiples of %u bytes",
                   operation_name(operation), pl_view_name(v, name), (unsigned)v->offset, (unsigned)row);
  return PL_OK;
}

static pl_status fail_shapes(unsigned operation, const struct pl_view *result, const struct pl_view *source) {
  char a[64], b[64];
  pl_shape_text(source->shape, source->rank, a);
  pl_shape_text(result->shape, result->rank, b);
  return pl_fail(PL_ERROR_SHAPE, "%s: %s %s does not go into %s %s", operation_name(operation),
                 pl_dtype_name(source->dtype), a, pl_dtype_name(result->dtype), b);
}

/* ---- a command ---- */

struct call {
  unsigned operation;
  struct pl_view *view[1 + PL_VECTOR_SOURCES];
  struct plane plane[1 + PL_VECTOR_SOURCES];
  unsigned sources;
  uint32_t scalar;
};

static void set_address(struct pl_vector_record *r, unsigned areg, unsigned operand, uint32_t offset,
                        int32_t pitch, int32_t stride0, int32_t stride1) {
  r->operand[areg] = (uint8_t)operand;
  r->offset[areg] = offset;
  r->pitch[areg] = pitch;
  r->stride[areg][0] = stride0;
  r->stride[areg][1] = stride1;
  r->stride[areg][2] = 0;
}

static int32_t tile_step(const struct pl_view *v) {
  return v->space == PL_ACC ? (int32_t)v->pitch : (int32_t)(pl_context.lanes * pl_dtype_bytes(v->dtype));
}

static void describe_elementwise(struct pl_vector_record *r, const struct call *call,
                                 const struct signature *s, const struct program *p) {
  const struct plane *o = &call->plane[0];
  const uint32_t lanes = pl_context.lanes, step = 8u * s->groups;
  const int32_t passes = (int32_t)(((uint32_t)o->rows + step - 1) / step);

  r->loop[0] = ((uint32_t)o->columns + lanes - 1) / lanes;
  r->loop[1] = (uint32_t)passes;
  r->edge = 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | 0u << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            (uint32_t)s->groups << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  for (unsigned i = 0; i <= s->sources; i++) {
    const struct side *side = &s->side[i];
    const int32_t pitch = call->plane[i].pitch, down = (int32_t)step * pitch,
                  across = tile_step(call->view[i]);
    switch (side->broadcast) {
    case ROW:
      set_address(r, p->areg[i], i, 0, 0, across, 0);
      break;
    case ELEMENT:
      set_address(r, p->areg[i], i, 0, 0, 0, 0);
      break;
    default:
      for (unsigned g = 0; g < (one_register(side) ? 1u : s->groups); g++)
        set_address(r, p->areg[i] + g, i, (uint32_t)(8 * (int32_t)g * pitch), pitch,
                    (side->broadcast == COLUMN ? 0 : across) - passes * down, down);
    }
  }
}

static void describe_argmax(struct pl_vector_record *r, const struct call *call, const struct program *p) {
  const struct plane *x = &call->plane[1], *o = &call->plane[0];
  const uint32_t lanes = pl_context.lanes;
  const int32_t tiles = (int32_t)(((uint32_t)x->columns + lanes - 1) / lanes),
                across = tile_step(call->view[1]);
  /* One index a row: down a column, or along a row. */
  const int32_t next = o->rows == x->rows && o->columns == 1 ? o->pitch : (int32_t)sizeof(int32_t);

  r->loop[0] = ((uint32_t)x->rows + 7) / 8;
  r->loop[1] = (uint32_t)tiles;
  r->edge = 0u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | 1u << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            1u << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  r->rows = (uint32_t)x->rows;
  r->columns = (uint32_t)x->columns;
  set_address(r, p->areg[1], 1, 0, x->pitch, 8 * x->pitch - tiles * across, across);
  set_address(r, p->areg[0], 0, 0, next, 8 * next, 0);
}

static bool make_record(struct pl_context *c, struct pl_vector_record *r, const struct call *call,
                        struct signature *s) {
  struct program p;

  s->operation = (uint8_t)call->operation;
  s->sources = (uint8_t)call->sources;
  const uint32_t rows = (uint32_t)call->plane[call->operation == OP_ARGMAX ? 1 : 0].rows;
  assign_registers(s, &p, (rows + 7) / 8);
  if (!load_program(c, s, &p, &r->entry))
    return false;
  r->addresses = p.aregs;
  r->rows = (uint32_t)call->plane[0].rows;
  r->columns = (uint32_t)call->plane[0].columns;
  if (call->operation == OP_ARGMAX)
    describe_argmax(r, call, &p);
  else
    describe_elementwise(r, call, s, &p);
  r->operation = call->operation;
  r->programs = loaded_generation;
  for (unsigned i = 0; i < PL_VECTOR_SOURCES; i++)
    r->source[i] = i < call->sources ? call->view[1 + i] : NULL;
  return true;
}

static void stage_record(const struct pl_context *c, const struct pl_queue *q,
                         const struct pl_vector_record *r) {
  tpu_queue_put(q->base, TPU_VPU_ENTRY, r->entry);
  tpu_queue_put(q->base, TPU_VPU_LOOP(0), r->loop[0]);
  tpu_queue_put(q->base, TPU_VPU_LOOP(1), r->loop[1]);
  tpu_queue_put(q->base, TPU_VPU_EDGE, r->edge);
  tpu_queue_put(q->base, TPU_VPU_VALID_ROWS, r->rows);
  tpu_queue_put(q->base, TPU_VPU_VALID_COLS, r->columns);
  tpu_queue_put(q->base, TPU_VPU_SCALAR(0), c->lanes);
  tpu_queue_put(q->base, TPU_VPU_SCALAR(1), 24);
  tpu_queue_put(q->base, TPU_VPU_SCALAR(2), 255);
  for (unsigned i = 0; i < r->addresses; i++) {
    tpu_queue_put(q->base, TPU_VPU_PITCH(i), (uint32_t)r->pitch[i]);
    tpu_queue_put(q->base, TPU_VPU_STRIDE(3 * i), (uint32_t)r->stride[i][0]);
    tpu_queue_put(q->base, TPU_VPU_STRIDE(3 * i + 1), (uint32_t)r->stride[i][1]);
  }
}

static void queue_command(struct pl_context *c, const struct call *call, const struct pl_vector_record *r) {
  struct pl_queue *q = &c->queue[TPU_QUEUE_VPU];
  struct pl_view *const result = call->view[0];
  struct pl_buffer *sources[PL_VECTOR_SOURCES];
  struct pl_deps deps = {0};
  uint32_t address[1 + PL_VECTOR_SOURCES];
  bool in_place = false;

  for (unsigned i = 0; i < call->sources; i++) {
    sources[i] = call->view[1 + i]->buffer;
    address[1 + i] = sources[i]->address + call->view[1 + i]->offset;
    pl_read_deps(&deps, sources[i], TPU_QUEUE_VPU);
    in_place = in_place || sources[i]->group == result->buffer->group;
  }
  if (result->space == PL_ACC && (result->flags & PL_VIEW_WHOLE) && !in_place)
    result->buffer = result->buffer->next; /* a fresh accumulator, if there are two */
  address[0] = result->buffer->address + result->offset;
  pl_write_deps(&deps, result->buffer, TPU_QUEUE_VPU);

  if (q->owner != r)
    stage_record(c, q, r);
  for (unsigned i = 0; i < r->addresses; i++)
    tpu_queue_put(q->base, TPU_VPU_ADDR(i), address[r->operand[i]] + r->offset[i]);
  if (call->operation == OP_FILL)
    tpu_queue_put(q->base, TPU_VPU_SCALAR(0), call->scalar);
  q->owner = result->flags & PL_VIEW_POOLED ? NULL : r;
  if (!pl_issue(c, q, &deps, 0, PL_TAG(PL_TAG_VECTOR, result->index) + c->step))
    return;
  for (unsigned i = 0; i < call->sources; i++)
    pl_has_read(sources[i], q);
  pl_has_written(c, result->buffer, q);
  if (result->space == PL_ACC) /* a dot's third wait is for the vector unit, whatever it did */
    pl_has_read(result->buffer, q);
}

static bool record_fits(const struct pl_vector_record *r, const struct call *call) {
  if (r->operation != call->operation || r->programs != loaded_generation)
    return false;
  for (unsigned i = 0; i < call->sources; i++)
    if (r->source[i] != call->view[1 + i] || (call->view[1 + i]->flags & PL_VIEW_POOLED))
      return false;
  return true;
}

static void run(struct pl_context *c, struct call *call, struct signature *s) {
  struct pl_vector_record local, *r = call->view[0]->vector;

  if (!c->params.value[TPU_PARAM_VPU_PRESENT]) {
    pl_fail(PL_ERROR_UNSUPPORTED, "%s: this configuration has no vector unit",
            operation_name(call->operation));
    return;
  }
  for (unsigned i = 0; i <= call->sources; i++) {
    s->side[i].dtype = call->view[i]->dtype;
    s->side[i].acc = call->view[i]->space == PL_ACC;
  }
  if (r == NULL)
    r = &local;
  if (r == &local || !record_fits(r, call)) {
    c->queue[TPU_QUEUE_VPU].owner = NULL;
    if (!make_record(c, r, call, s))
      return;
  }
  queue_command(c, call, r);
}

/* Sources of an elementwise operation: the first has the result's shape, a second one may be narrower. */
static pl_status check_elementwise(struct call *call, struct signature *s) {
  for (unsigned i = 0; i <= call->sources; i++)
    if (check_ref(call->operation, call->view[i], i == 0, &call->plane[i]) != PL_OK)
      return pl_context.status;
  const struct plane *o = &call->plane[0];
  for (unsigned i = 1; i <= call->sources; i++) {
    const struct plane *x = &call->plane[i];
    if (x->rows == o->rows && x->columns == o->columns)
      s->side[i].broadcast = FULL;
    else if (i == 2 && x->rows == 1 && x->columns == o->columns)
      s->side[i].broadcast = ROW;
    else if (i == 2 && x->rows == o->rows && x->columns == 1)
      s->side[i].broadcast = COLUMN;
    else if (i == 2 && x->rows == 1 && x->columns == 1)
      s->side[i].broadcast = ELEMENT;
    else
      return fail_shapes(call->operation, call->view[0], call->view[i]);
    if (s->side[i].broadcast == FULL && x->rows == 1 && i == 2)
      s->side[i].broadcast = ROW; /* one row only: the same, and loaded once */
  }
  return PL_OK;
}

static void elementwise(unsigned operation, pl_ref o, pl_ref a, const pl_ref *b) {
  struct pl_context *c = pl_self();
  struct call call = {.operation = operation, .sources = b != NULL ? 2 : 1};
  struct signature s = {0};

  call.view[0] = pl_use(c, o);
  call.view[1] = pl_use(c, a);
  if (b != NULL)
    call.view[2] = pl_use(c, *b);
  if (call.view[0] == NULL || call.view[1] == NULL || (b != NULL && call.view[2] == NULL) ||
      check_elementwise(&call, &s) != PL_OK)
    return;
  if (b != NULL && is_float(call.view[1]->dtype) != is_float(call.view[2]->dtype)) {
    pl_fail(PL_ERROR_SHAPE, "%s: %s and %s; cast one with pl_copy", operation_name(operation),
            pl_dtype_name(call.view[1]->dtype), pl_dtype_name(call.view[2]->dtype));
    return;
  }
  run(c, &call, &s);
}

void pl_add(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(OP_ADD, o, a, &b);
}

void pl_relu(pl_ref o, pl_ref x, pl_ref bias) {
  if (bias.view == &pl_nothing)
    elementwise(OP_RELU, o, x, NULL);
  else
    elementwise(OP_BIAS_RELU, o, x, &bias);
}

void pl_copy(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();
  struct pl_view *dst = pl_use(c, o), *src = pl_use(c, x);

  if (dst == NULL || src == NULL)
    return;
  if ((dst->space == PL_VMEM || dst->space == PL_ACC) && (src->space == PL_VMEM || src->space == PL_ACC))
    elementwise(OP_COPY, o, x, NULL);
  else
    pl_sync_copy(x, o);
}

void pl_fill(pl_ref o, uint32_t value) {
  struct pl_context *c = pl_self();
  struct call call = {.operation = OP_FILL, .scalar = value};
  struct signature s = {0};

  call.view[0] = pl_use(c, o);
  if (call.view[0] != NULL && check_ref(OP_FILL, call.view[0], true, &call.plane[0]) == PL_OK)
    run(c, &call, &s);
}

void pl_argmax(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();
  struct call call = {.operation = OP_ARGMAX, .sources = 1};
  struct signature s = {0};

  call.view[0] = pl_use(c, o);
  call.view[1] = pl_use(c, x);
  if (call.view[0] == NULL || call.view[1] == NULL)
    return;
  if (check_ref(OP_ARGMAX, call.view[0], true, &call.plane[0]) != PL_OK ||
      check_ref(OP_ARGMAX, call.view[1], false, &call.plane[1]) != PL_OK)
    return;
  const struct plane *to = &call.plane[0], *from = &call.plane[1];
  if (call.view[0]->dtype != PL_INT32 || call.view[0]->space != PL_VMEM ||
      !((to->rows == from->rows && to->columns == 1) || (to->rows == 1 && to->columns == from->rows))) {
    pl_fail(PL_ERROR_SHAPE,
            "pl_argmax: the result must be int32 in VMEM with one element for each of %d rows",
            (int)from->rows);
    return;
  }
  run(c, &call, &s);
}
