/* SPDX-License-Identifier: MIT */
/*
 * Whole-ref vector operations: one command each. Shapes are checked and turned into loops, pitches and
 * strides once; a record of the result's view keeps them for the next time (vector_queue.c).
 */
#include "vector.h"

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
                                 const struct pl_signature *s, const struct pl_program *p) {
  const struct plane *o = &call->plane[0];
  const uint32_t lanes = pl_context.lanes, step = 8u * s->groups;
  const int32_t passes = (int32_t)(((uint32_t)o->rows + step - 1) / step);

  r->loop[0] = ((uint32_t)o->columns + lanes - 1) / lanes;
  r->loop[1] = (uint32_t)passes;
  r->edge = 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | 0u << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            (uint32_t)s->groups << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  for (unsigned i = 0; i <= s->sources; i++) {
    const struct pl_side *side = &s->side[i];
    const int32_t pitch = call->plane[i].pitch, down = (int32_t)step * pitch,
                  across = tile_step(call->view[i]);
    switch (side->broadcast) {
    case PL_BROADCAST_ROW:
      set_address(r, p->areg[i], i, 0, 0, across, 0);
      break;
    case PL_BROADCAST_ELEMENT:
      set_address(r, p->areg[i], i, 0, 0, 0, 0);
      break;
    default:
      for (unsigned g = 0; g < (pl_one_register(side) ? 1u : s->groups); g++)
        set_address(r, p->areg[i] + g, i, (uint32_t)(8 * (int32_t)g * pitch), pitch,
                    (side->broadcast == PL_BROADCAST_COLUMN ? 0 : across) - passes * down, down);
    }
  }
}

static void describe_argmax(struct pl_vector_record *r, const struct call *call, const struct pl_program *p) {
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
                        struct pl_signature *s) {
  struct pl_program p;

  s->operation = (uint8_t)call->operation;
  s->sources = (uint8_t)call->sources;
  const uint32_t rows = (uint32_t)call->plane[call->operation == PL_OP_ARGMAX ? 1 : 0].rows;
  pl_assign_registers(s, &p, (rows + 7) / 8);
  if (!pl_load_program(c, s, &p, &r->entry))
    return false;
  r->addresses = p.aregs;
  r->rows = (uint32_t)call->plane[0].rows;
  r->columns = (uint32_t)call->plane[0].columns;
  if (call->operation == PL_OP_ARGMAX)
    describe_argmax(r, call, &p);
  else
    describe_elementwise(r, call, s, &p);
  r->operation = (uint8_t)call->operation;
  r->sources = (uint8_t)call->sources;
  r->programs = pl_programs_generation;
  for (unsigned i = 0; i < PL_VECTOR_SOURCES; i++)
    r->source[i] =
        i < call->sources && !(call->view[1 + i]->flags & PL_VIEW_POOLED) ? call->view[1 + i] : NULL;
  return true;
}

static void run(struct pl_context *c, struct call *call, struct pl_signature *s) {
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
  c->queue[TPU_QUEUE_VPU].owner = NULL;
  if (make_record(c, r, call, s))
    pl_vector_queue(c, r, call->view, call->scalar);
}

/* Sources of an elementwise operation: the first has the result's shape, a second one may be narrower. */
static pl_status check_elementwise(struct call *call, struct pl_signature *s) {
  for (unsigned i = 0; i <= call->sources; i++)
    if (check_ref(call->operation, call->view[i], i == 0, &call->plane[i]) != PL_OK)
      return pl_context.status;
  const struct plane *o = &call->plane[0];
  for (unsigned i = 1; i <= call->sources; i++) {
    const struct plane *x = &call->plane[i];
    if (x->rows == o->rows && x->columns == o->columns)
      s->side[i].broadcast = PL_BROADCAST_FULL;
    else if (i == 2 && x->rows == 1 && x->columns == o->columns)
      s->side[i].broadcast = PL_BROADCAST_ROW;
    else if (i == 2 && x->rows == o->rows && x->columns == 1)
      s->side[i].broadcast = PL_BROADCAST_COLUMN;
    else if (i == 2 && x->rows == 1 && x->columns == 1)
      s->side[i].broadcast = PL_BROADCAST_ELEMENT;
    else
      return fail_shapes(call->operation, call->view[0], call->view[i]);
    if (s->side[i].broadcast == PL_BROADCAST_FULL && x->rows == 1 && i == 2)
      s->side[i].broadcast = PL_BROADCAST_ROW; /* one row only: the same, and loaded once */
  }
  return PL_OK;
}

static void elementwise(unsigned operation, pl_ref o, pl_ref a, const pl_ref *b) {
  struct pl_context *c = pl_self();
  struct call call = {.operation = operation, .sources = b != NULL ? 2 : 1};
  struct pl_signature s = {0};

  if (pl_vector_again(c, operation, o, a, b, 0))
    return;
  call.view[0] = pl_use(c, o);
  call.view[1] = pl_use(c, a);
  if (b != NULL)
    call.view[2] = pl_use(c, *b);
  if (call.view[0] == NULL || call.view[1] == NULL || (b != NULL && call.view[2] == NULL) ||
      check_elementwise(&call, &s) != PL_OK)
    return;
  if (b != NULL && pl_is_float(call.view[1]->dtype) != pl_is_float(call.view[2]->dtype)) {
    pl_fail(PL_ERROR_SHAPE, "%s: %s and %s; cast one with pl_copy", operation_name(operation),
            pl_dtype_name(call.view[1]->dtype), pl_dtype_name(call.view[2]->dtype));
    return;
  }
  run(c, &call, &s);
}

void pl_add(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(PL_OP_ADD, o, a, &b);
}

void pl_relu(pl_ref o, pl_ref x, pl_ref bias) {
  if (bias.view == &pl_nothing)
    elementwise(PL_OP_RELU, o, x, NULL);
  else
    elementwise(PL_OP_BIAS_RELU, o, x, &bias);
}

void pl_copy(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();

  if (pl_vector_again(c, PL_OP_COPY, o, x, NULL, 0))
    return;
  struct pl_view *dst = pl_use(c, o), *src = pl_use(c, x);
  if (dst == NULL || src == NULL)
    return;
  if ((dst->space == PL_VMEM || dst->space == PL_ACC) && (src->space == PL_VMEM || src->space == PL_ACC))
    elementwise(PL_OP_COPY, o, x, NULL);
  else
    pl_sync_copy(x, o);
}

void pl_fill_view(struct pl_context *c, struct pl_view *view, uint32_t value) {
  struct call call = {.operation = PL_OP_FILL, .view = {view}, .scalar = value};
  struct pl_signature s = {0};

  if (check_ref(PL_OP_FILL, view, true, &call.plane[0]) == PL_OK)
    run(c, &call, &s);
}

void pl_fill(pl_ref o, uint32_t value) {
  struct pl_context *c = pl_self();

  if (pl_vector_again(c, PL_OP_FILL, o, PL_NO_REF, NULL, value))
    return;
  struct pl_view *view = pl_use(c, o);
  if (view != NULL)
    pl_fill_view(c, view, value);
}

void pl_argmax(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();
  struct call call = {.operation = PL_OP_ARGMAX, .sources = 1};
  struct pl_signature s = {0};

  if (pl_vector_again(c, PL_OP_ARGMAX, o, x, NULL, 0))
    return;
  call.view[0] = pl_use(c, o);
  call.view[1] = pl_use(c, x);
  if (call.view[0] == NULL || call.view[1] == NULL)
    return;
  if (check_ref(PL_OP_ARGMAX, call.view[0], true, &call.plane[0]) != PL_OK ||
      check_ref(PL_OP_ARGMAX, call.view[1], false, &call.plane[1]) != PL_OK)
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
