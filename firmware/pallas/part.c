/* SPDX-License-Identifier: MIT */
/*
 * Parts of refs, pl_at(), where they are made in every step: rows and columns of a ref of rank 2 that lie
 * inside, without strides. All other parts, and all errors, are in view.c. And the pool of views.
 */
#include "internal.h"

static struct pl_view views[PL_MAX_VIEWS];

struct pl_view *pl_pooled_view(struct pl_context *c) {
  struct pl_view *const view = &views[c->next_view];
  const uint32_t next = c->next_view + 1;
  c->next_view = next == PL_MAX_VIEWS ? 0 : next;
  return view;
}

/* Elements of a slice; negative if it reaches outside, has a stride or drops its dimension. */
static inline int32_t plain_size(const pl_slice *slice, int32_t extent) {
  const uint32_t left = (uint32_t)extent - (uint32_t)slice->start;
  if ((uint32_t)slice->start > (uint32_t)extent || (uint32_t)slice->stride > 1)
    return -1;
  if (slice->size == PL_SIZE_REST)
    return (int32_t)left;
  return (uint32_t)slice->size <= left ? slice->size : -1;
}

pl_ref pl_at_slices(pl_ref ref, const pl_slice *slices, unsigned n) {
  struct pl_context *const c = pl_self();
  const struct pl_view *const v = ref.view;

  if (PL_UNLIKELY(n - 1 > 1 || slices == NULL || !c->in_body || c->status != PL_OK || !pl_usable(c, ref) ||
                  v->rank != 2))
    return pl_at_any(ref, slices, n);
  const int32_t rows = plain_size(&slices[0], v->shape[0]);
  const int32_t columns = n == 2 ? plain_size(&slices[1], v->shape[1]) : v->shape[1];
  const int32_t row = slices[0].start, column = n == 2 ? slices[1].start : 0;
  if (PL_UNLIKELY((rows | columns) < 0 || (v->space == PL_ACC && column != 0)))
    return pl_at_any(ref, slices, n);
  /* The pool's oldest view may be this one: everything is read before anything is written. */
  const struct pl_view whole = *v;
  struct pl_view *const part = pl_pooled_view(c);
  const uint32_t generation = ++c->view_generation;
  part->generation = generation;
  part->buffer = whole.buffer;
  part->offset =
      whole.offset + (uint32_t)row * (uint32_t)whole.stride[0] + (uint32_t)column * (uint32_t)whole.stride[1];
  part->space = whole.space;
  part->dtype = whole.dtype;
  part->rank = 2;
  part->flags = (uint8_t)((whole.flags | PL_VIEW_POOLED) & ~PL_VIEW_WHOLE);
  part->index = whole.index;
  part->kind = whole.kind;
  part->semaphores = whole.semaphores;
  part->step = c->step;
  part->scope = c->scope;
  part->pitch = whole.pitch;
  part->shape[0] = rows;
  part->shape[1] = columns;
  part->stride[0] = whole.stride[0];
  part->stride[1] = whole.stride[1];
  part->dot = &pl_no_dot;
  part->vector = NULL;
  part->form = 0;
  return (pl_ref){part, generation};
}
