/* SPDX-License-Identifier: MIT */
/*
 * Parts of refs, pl_at(), where they are made in every step: rows and columns of a ref of rank 2 that lie
 * inside, every n-th row, or of one matrix of a ref of rank 3. All other parts, and all errors, are in
 * view.c. And the pool of views, which begins anew with every step: so a body that makes the same parts in
 * every step finds each in the place of the step before, where all but its address is there already.
 */
#include "internal.h"

static struct pl_view views[PL_MAX_VIEWS];

/* Rank and flags in pl_view.nature, whose bytes are in little-endian order. */
#define NATURE(rank, flags) ((uint32_t)(rank) << 16 | (uint32_t)(flags) << 24)

struct pl_view *pl_pooled_view(struct pl_context *c) {
  uint32_t place = c->next_view;
  if (c->view_step != c->step &&
      c->frame == NULL) { /* in an inner pipeline, views of the outer step are used */
    c->view_step = c->step;
    place = 0;
  }
  c->next_view = place + sizeof views[0] == sizeof views ? 0 : place + sizeof views[0];
  return (struct pl_view *)((uint8_t *)views + place);
}

/*
 * Elements of a slice; negative if it reaches outside, drops its dimension, or has a stride and that may not
 * be, or fewer than two elements.
 */
static inline int32_t size_of(const pl_slice *slice, int32_t extent, bool may_stride) {
  const uint32_t left = (uint32_t)extent - (uint32_t)slice->start, stride = (uint32_t)slice->stride;
  if ((uint32_t)slice->start > (uint32_t)extent)
    return -1;
  if (stride > 1)
    return may_stride && slice->size > 1 && (uint64_t)((uint32_t)slice->size - 1) * stride < left
               ? slice->size
               : -1;
  if (slice->size == PL_SIZE_REST)
    return (int32_t)left;
  return (uint32_t)slice->size <= left ? slice->size : -1;
}

pl_ref pl_at_slices(pl_ref ref, const pl_slice *slices, unsigned n) {
  struct pl_context *const c = pl_self();
  const struct pl_view *const v = ref.view;

  if (PL_UNLIKELY(slices == NULL || !c->in_body || c->status != PL_OK || !pl_usable(c, ref)))
    return pl_at_any(ref, slices, n);
  const pl_slice *slice = slices;
  const int32_t *shape = v->shape, *stride = v->stride;
  uint32_t offset = v->offset, left = n;
  if (v->rank == 3 && n != 0 && slice->size == PL_SIZE_DROPPED &&
      (uint32_t)slice->start < (uint32_t)shape[0]) {
    offset += (uint32_t)slice->start * (uint32_t)stride[0];
    slice++, shape++, stride++, left--;
  } else if (PL_UNLIKELY(v->rank != 2)) {
    return pl_at_any(ref, slices, n);
  }
  int32_t rows = shape[0], columns = shape[1], down = stride[0];
  const int32_t across = stride[1];
  if (left > 0) {
    rows = size_of(slice, rows, true);
    if (slice->stride > 1)
      down = (int32_t)((uint32_t)down * (uint32_t)slice->stride);
    offset += (uint32_t)slice->start * (uint32_t)stride[0];
  }
  if (left > 1) {
    columns = size_of(&slice[1], columns, false);
    if (v->space == PL_ACC && slice[1].start != 0)
      columns = -1;
    offset += (uint32_t)slice[1].start * (uint32_t)across;
  }
  if (PL_UNLIKELY((rows | columns) < 0 || left > 2))
    return pl_at_any(ref, slices, n);
  /* The pool's oldest view may be this one: everything is read before anything is written. */
  struct pl_buffer *const buffer = v->buffer;
  const uint32_t origin = v->origin, pitch = v->pitch,
                 nature =
                     (v->nature & ~(NATURE(0xff, 0) | NATURE(0, PL_VIEW_WHOLE))) | NATURE(2, PL_VIEW_POOLED);
  struct pl_view *const part = pl_pooled_view(c);
  const uint32_t generation = ++c->view_generation;
  part->generation = generation;
  part->buffer = buffer;
  part->offset = offset;
  part->origin = origin;
  part->step = c->step;
  part->scope = c->scope;
  if (part->nature != nature || part->pitch != pitch || part->shape[0] != rows || part->shape[1] != columns ||
      part->stride[0] != down || part->stride[1] != across) {
    part->nature = nature;
    part->pitch = pitch;
    part->shape[0] = rows;
    part->shape[1] = columns;
    part->stride[0] = down;
    part->stride[1] = across;
    part->dot = &pl_no_dot;
    part->form = 0; /* another one than in the step before */
  }
  return (pl_ref){part, generation};
}
