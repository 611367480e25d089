/* SPDX-License-Identifier: MIT */
/*
 * The refs of a vector operation: what they are called in messages, and how they come to the form that the
 * unit takes, which is planes of aligned rows.
 */
#include "vector.h"

bool pl_plane_of(const struct pl_view *v, struct pl_plane *plane) {
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

const char *pl_operation_name(unsigned operation) {
  static const char *const names[] = {"?",
                                      "pl_copy",
                                      "pl_add",
                                      "pl_sub",
                                      "pl_mul",
                                      "pl_max",
                                      "pl_min",
                                      "pl_less",
                                      "pl_less_equal",
                                      "pl_equal",
                                      "pl_not_equal",
                                      "pl_relu",
                                      "pl_relu",
                                      "pl_where",
                                      "pl_stochastic_round",
                                      "pl_fill",
                                      "pl_iota",
                                      "pl_iota",
                                      "pl_random_bits",
                                      "pl_argmax",
                                      "pl_transpose"};
  static const char *const reductions[] = {"pl_reduce_sum", "pl_reduce_max", "pl_reduce_min"};
  return operation < PL_OP_REDUCE ? names[operation] : reductions[(operation - PL_OP_REDUCE) % 3];
}

uint32_t pl_view_span(const struct pl_view *v) {
  uint32_t bytes = v->space == PL_ACC ? 1 : pl_dtype_bytes(v->dtype);
  for (unsigned d = 0; d < v->rank; d++)
    bytes += (uint32_t)(v->shape[d] - 1) * (uint32_t)v->stride[d];
  if (v->space == PL_ACC && v->rank > 0)
    bytes += (uint32_t)(v->shape[v->rank - 1] - 1) / pl_context.dim * v->pitch;
  return bytes;
}

/*
 * A source that shares memory with the result, other than element by element: tiles that are written would
 * be read again as sources of later ones.
 */
static bool overlaps(const struct pl_vector_call *call, unsigned i) {
  const struct pl_view *v = call->view[i], *o = call->view[0];
  bool same = v->offset == o->offset && v->rank == o->rank;

  if (i == 0 || v->buffer != o->buffer || call->written != NULL)
    return false; /* a temporary result is written back behind everything */
  for (unsigned d = 0; d < v->rank && same; d++)
    same = v->shape[d] == o->shape[d] && v->stride[d] == o->stride[d];
  return !(same && v->dtype == o->dtype && call->operation < PL_OP_ARGMAX) &&
         v->offset < o->offset + pl_view_span(o) && o->offset < v->offset + pl_view_span(v);
}

/*
 * Checks operand i and brings it to the form that the vector unit takes: a plane of aligned rows, in a
 * temporary if need be.
 */
pl_status pl_vector_place(struct pl_context *c, struct pl_vector_call *call, unsigned i) {
  struct pl_view *v = call->view[i];
  const char *const who = pl_operation_name(call->operation);
  char name[24];

  if (v->space != PL_VMEM && v->space != PL_ACC)
    return pl_fail(PL_ERROR_REF, "%s: %s is in %s; the vector unit reaches VMEM and ACC, use a copy", who,
                   pl_view_name(v, name), pl_space_name(v->space));
  if (i == 0 && (v->flags & PL_VIEW_READ_ONLY))
    return pl_fail(PL_ERROR_REF, "%s: %s would be written", who, pl_view_name(v, name));
  const bool plane = pl_plane_of(v, &call->plane[i]);
  if (pl_view_is_empty(v) || (!plane && v->space == PL_ACC))
    return pl_fail(PL_ERROR_SHAPE, "%s: the rows of %s are not evenly spaced, or it is empty", who,
                   pl_view_name(v, name));
  const bool overlap = overlaps(call, i);
  if (overlap && v->space == PL_ACC)
    return pl_fail(PL_ERROR_UNSUPPORTED,
                   "%s: a source and the result share a part of %s in ACC; copy the source first", who,
                   pl_view_name(v, name));
  if (plane && !overlap && pl_rows_aligned(v, c->lanes * pl_dtype_bytes(v->dtype)))
    return PL_OK;
  struct pl_view *made = pl_temporary_make(c, &call->temporary[i], v, who);
  if (made == NULL || ((i > 0 || call->keeps) && !pl_queue_copy(c, v, made)))
    return c->status;
  if (i == 0)
    call->written = v;
  call->view[i] = made;
  pl_plane_of(made, &call->plane[i]);
  return PL_OK;
}

pl_status pl_fail_shapes(unsigned operation, const struct pl_view *result, const struct pl_view *source) {
  char a[64], b[64];
  pl_shape_text(source->shape, source->rank, a);
  pl_shape_text(result->shape, result->rank, b);
  return pl_fail(PL_ERROR_SHAPE, "%s: %s %s does not go into %s %s", pl_operation_name(operation),
                 pl_dtype_name(source->dtype), a, pl_dtype_name(result->dtype), b);
}

/* Takes the refs of a call, result first, in the form that the vector unit wants. */
bool pl_vector_take(struct pl_context *c, struct pl_vector_call *call, const pl_ref *refs) {
  const uint32_t before = c->body_used[PL_VMEM];
  bool ok = true;

  for (unsigned i = 0; i <= call->sources && ok; i++)
    ok = (call->view[i] = pl_use(c, refs[i])) != NULL;
  for (unsigned i = 0; i <= call->sources && ok; i++)
    ok = pl_vector_place(c, call, i) == PL_OK;
  c->body_used[PL_VMEM] = before; /* what comes next in temporaries is ordered behind this */
  return ok;
}
