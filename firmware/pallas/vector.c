/* SPDX-License-Identifier: MIT */
/* Whole-ref vector operations: one command each. */
#include "vector.h"

/*
 * Which sources may be narrower than the result, as bits: a mask of pl_where() and b of the others; with
 * pl_broadcast() its only one.
 */
static pl_status check_shapes(struct pl_vector_call *call, struct pl_signature *s, unsigned narrow) {
  const struct pl_plane *o = &call->plane[0];
  for (unsigned i = 1; i <= call->sources; i++) {
    const struct pl_plane *x = &call->plane[i];
    const bool may = (narrow >> i & 1) != 0;
    if (x->rows == o->rows && x->columns == o->columns) /* one row only: the same as one, and loaded once */
      s->side[i].broadcast = may && x->rows == 1 ? PL_BROADCAST_ROW : PL_BROADCAST_FULL;
    else if (may && x->rows == 1 && x->columns == o->columns)
      s->side[i].broadcast = PL_BROADCAST_ROW;
    else if (may && x->rows == o->rows && x->columns == 1)
      s->side[i].broadcast = PL_BROADCAST_COLUMN;
    else if (may && x->rows == 1 && x->columns == 1)
      s->side[i].broadcast = PL_BROADCAST_ELEMENT;
    else
      return pl_fail_shapes(call->operation, call->view[0], call->view[i]);
  }
  return PL_OK;
}

void pl_vector_begin(struct pl_vector_call *call, unsigned operation, unsigned sources) {
  call->maker = NULL;
  call->operation = operation;
  call->sources = sources;
  call->scalar = 0;
  call->keeps = call->bounded = false;
  call->written = NULL;
}

PL_COLD void pl_vector_elementwise(struct pl_vector_call *call, const pl_ref *refs, unsigned narrow) {
  struct pl_context *c = pl_self();
  struct pl_signature s = {0};

  if (!pl_vector_take(c, call, refs) || check_shapes(call, &s, narrow) != PL_OK)
    return;
  if (call->maker == NULL && call->sources >= 2 &&
      pl_is_float(call->view[1]->dtype) != pl_is_float(call->view[2]->dtype)) {
    pl_fail(PL_ERROR_SHAPE, "%s: %s and %s; cast one with pl_copy", pl_operation_name(call->operation),
            pl_dtype_name(call->view[1]->dtype), pl_dtype_name(call->view[2]->dtype));
    return;
  }
  if (call->sources == 3 && pl_is_float(call->view[3]->dtype)) {
    pl_fail(PL_ERROR_SHAPE, "%s: the mask is %s; it must be int32, int8 or uint8",
            pl_operation_name(call->operation), pl_dtype_name(call->view[3]->dtype));
    return;
  }
  pl_vector_run(c, call, &s);
}

/* One or two sources; the operation comes last, so that the functions below are two instructions each. */
static __attribute__((noinline)) void elementwise(pl_ref o, pl_ref a, pl_ref b, unsigned operation) {
  const unsigned sources = operation == PL_OP_COPY || operation == PL_OP_RELU ? 1 : 2;
  if (pl_vector_again(pl_self(), operation, o, a, sources == 2 ? &b : NULL, 0))
    return;
  const pl_ref refs[3] = {o, a, b};
  struct pl_vector_call call;
  pl_vector_begin(&call, operation, sources);
  pl_vector_elementwise(&call, refs, 1u << 2);
}

void pl_add(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_ADD);
}
void pl_sub(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_SUB);
}
void pl_mul(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_MUL);
}
void pl_max(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_MAX);
}
void pl_min(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_MIN);
}
void pl_less(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_LESS);
}
void pl_less_equal(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_LESS_EQUAL);
}
void pl_equal(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_EQUAL);
}
void pl_not_equal(pl_ref o, pl_ref a, pl_ref b) {
  elementwise(o, a, b, PL_OP_NOT_EQUAL);
}

void pl_relu(pl_ref o, pl_ref x, pl_ref bias) {
  elementwise(o, x, bias, bias.view == &pl_nothing ? PL_OP_RELU : PL_OP_BIAS_RELU);
}

void pl_where(pl_ref o, pl_ref mask, pl_ref a, pl_ref b) {
  const pl_ref refs[] = {o, a, b, mask};
  struct pl_vector_call call;
  pl_vector_begin(&call, PL_OP_WHERE, 3);
  pl_vector_elementwise(&call, refs, 7u << 1);
}

void pl_store_masked(pl_ref o, pl_ref x, pl_ref mask) {
  pl_where(o, mask, x, o);
}

void pl_store_bounded(pl_ref o, pl_ref x, int32_t rows, int32_t columns) {
  struct pl_context *c = pl_self();
  const pl_ref refs[] = {o, x};
  struct pl_vector_call call;
  struct pl_view *v = pl_use(c, o);
  struct pl_plane plane;

  if (v == NULL)
    return;
  const uint8_t whole = v->flags & PL_VIEW_WHOLE;
  pl_vector_begin(&call, PL_OP_COPY, 1);
  call.keeps = call.bounded = true;
  call.rows = rows;
  call.columns = columns;
  (void)pl_plane_of(v, &plane);
  if (rows < 0 || columns < 0 || rows > plane.rows || columns > plane.columns)
    pl_fail(PL_ERROR_ARGUMENT, "pl_store_bounded: %d rows and %d columns; there are 0 to %d and 0 to %d",
            (int)rows, (int)columns, (int)plane.rows, (int)plane.columns);
  else if (rows > 0 && columns > 0) {
    v->flags &=
        (uint8_t)~PL_VIEW_WHOLE; /* what is not stored to must not stay behind in another accumulator */
    pl_vector_elementwise(&call, refs, 0);
    v->flags |= whole;
  }
}

void pl_broadcast(pl_ref o, pl_ref x) {
  const pl_ref refs[] = {o, x};
  struct pl_vector_call call;
  pl_vector_begin(&call, PL_OP_COPY, 1);
  pl_vector_elementwise(&call, refs, 1u << 1);
}

void pl_copy(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();

  if (pl_vector_again(c, PL_OP_COPY, o, x, NULL, 0))
    return;
  struct pl_view *dst = pl_use(c, o), *src = pl_use(c, x);
  if (dst == NULL || src == NULL)
    return;
  if ((dst->space == PL_VMEM || dst->space == PL_ACC) && (src->space == PL_VMEM || src->space == PL_ACC))
    elementwise(o, x, PL_NO_REF, PL_OP_COPY);
  else
    pl_sync_copy(x, o);
}

/* A result and no source. */
static void generate(unsigned operation, struct pl_view *view, uint32_t value) {
  struct pl_context *c = pl_self();
  struct pl_vector_call call;
  struct pl_signature s = {0};
  const uint32_t before = c->body_used[PL_VMEM];

  pl_vector_begin(&call, operation, 0);
  call.view[0] = view;
  call.scalar = value;
  if (pl_vector_place(c, &call, 0) == PL_OK)
    pl_vector_run(c, &call, &s);
  c->body_used[PL_VMEM] = before;
}

void pl_fill_view(struct pl_context *c, struct pl_view *view, uint32_t value) {
  (void)c;
  generate(PL_OP_FILL, view, value);
}

void pl_fill(pl_ref o, uint32_t value) {
  struct pl_context *c = pl_self();

  if (pl_vector_again(c, PL_OP_FILL, o, PL_NO_REF, NULL, value))
    return;
  struct pl_view *view = pl_use(c, o);
  if (view != NULL)
    generate(PL_OP_FILL, view, value);
}

void pl_iota(pl_ref o, unsigned dimension) {
  struct pl_view *view = pl_use(pl_self(), o);
  char shape[64];
  int32_t outer = 1;

  if (view == NULL)
    return;
  for (int d = 0; d + 2 < view->rank; d++)
    outer *= view->shape[d];
  if (dimension < view->rank && dimension + 1u == view->rank)
    generate(PL_OP_IOTA_COLUMNS, view, 0);
  else if (dimension + 2u == view->rank && outer == 1)
    generate(PL_OP_IOTA_ROWS, view, 0);
  else {
    pl_shape_text(view->shape, view->rank, shape);
    pl_fail(
        PL_ERROR_ARGUMENT,
        "pl_iota: dimension %u of %s; it must be the last, or the last but one with only extents of 1 before",
        dimension, shape);
  }
}

/* Argmax and reductions. */
static __attribute__((noinline)) void reduce(pl_ref o, pl_ref x, unsigned operation) {
  struct pl_context *c = pl_self();
  struct pl_vector_call call;
  struct pl_signature s = {0};
  const pl_ref refs[2] = {o, x};

  if (pl_vector_again(c, operation, o, x, NULL, 0))
    return;
  pl_vector_begin(&call, operation, 1);
  if (!pl_vector_take(c, &call, refs))
    return;
  const struct pl_plane *to = &call.plane[0], *from = &call.plane[1];
  const struct pl_view *v = call.view[0];
  const bool column = to->rows == from->rows && to->columns == 1;
  const bool row = to->rows == 1 && to->columns == from->rows && v->space == PL_VMEM;
  if (operation == PL_OP_ARGMAX) {
    if (v->dtype != PL_INT32 || v->space != PL_VMEM || !(column || row)) {
      pl_fail(PL_ERROR_SHAPE,
              "pl_argmax: the result must be int32 in VMEM with one element for each of %d rows",
              (int)from->rows);
      return;
    }
  } else {
    const unsigned over = (operation - PL_OP_REDUCE) / 3;
    if (!(over == PL_OVER_COLUMNS ? column || row
          : over == PL_OVER_ROWS  ? to->rows == 1 && to->columns == from->columns
                                  : to->rows == 1 && to->columns == 1)) {
      pl_fail_shapes(operation, v, call.view[1]);
      pl_message_add("; the result of a reduction of %d rows of %d columns has %d rows and %d columns",
                     (int)from->rows, (int)from->columns, over == PL_OVER_COLUMNS ? (int)from->rows : 1,
                     over == PL_OVER_ROWS ? (int)from->columns : 1);
      return;
    }
  }
  pl_vector_run(c, &call, &s);
}

void pl_argmax(pl_ref o, pl_ref x) {
  reduce(o, x, PL_OP_ARGMAX);
}
void pl_reduce_sum(pl_ref o, pl_ref x, enum pl_reduction over) {
  reduce(o, x, PL_OP_REDUCE + PL_REDUCE_SUM + 3 * (unsigned)over);
}
void pl_reduce_max(pl_ref o, pl_ref x, enum pl_reduction over) {
  reduce(o, x, PL_OP_REDUCE + PL_REDUCE_MAX + 3 * (unsigned)over);
}
void pl_reduce_min(pl_ref o, pl_ref x, enum pl_reduction over) {
  reduce(o, x, PL_OP_REDUCE + PL_REDUCE_MIN + 3 * (unsigned)over);
}
