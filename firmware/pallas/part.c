/* SPDX-License-Identifier: MIT */
/*
 * Parts of refs, pl_at(), where they are made in every step: rows and columns of a ref of rank 2 that lie
 * inside, every n-th row, or of one matrix of a ref of rank 3. All other parts, and all errors, are in
 * view.c. And the pool of views, which begins anew with every step: so a body that makes the same parts in
 * every step finds each in the place of the step before, where all but its address is there already.
 */
#include "internal.h"

static struct pl_view views[PL_MAX_VIEWS];

struct pl_view *pl_pooled_view(struct pl_context *c) {
  uint32_t number = c->next_view;
  if (c->view_step != c->step &&
      c->frame == NULL) { /* in an inner pipeline, views of the outer step are used */
    c->view_step = c->step;
    number = 0;
  }
  c->next_view = number + 1 == PL_MAX_VIEWS ? 0 : number + 1;
  return &views[number];
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

/* The same of one with a stride and at least two elements. */
static inline int32_t strided_size(const pl_slice *slice, int32_t extent) {
  const uint32_t left = (uint32_t)extent - (uint32_t)slice->start;
  return (uint32_t)slice->start < (uint32_t)extent && slice->stride > 0 && slice->size > 1 &&
                 (uint64_t)((uint32_t)slice->size - 1) * (uint32_t)slice->stride < left
             ? slice->size
             : -1;
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
    if (slice->stride > 1) {
      rows = strided_size(slice, rows);
      down = (int32_t)((uint32_t)down * (uint32_t)slice->stride);
    } else {
      rows = plain_size(slice, rows);
    }
    offset += (uint32_t)slice->start * (uint32_t)stride[0];
  }
  if (left > 1) {
    columns = plain_size(&slice[1], columns);
    if (v->space == PL_ACC && slice[1].start != 0)
      columns = -1;
    offset += (uint32_t)slice[1].start * (uint32_t)across;
  }
  if (PL_UNLIKELY((rows | columns) < 0 || left > 2))
    return pl_at_any(ref, slices, n);
  /* The pool's oldest view may be this one: everything is read before anything is written. */
  struct pl_buffer *const buffer = v->buffer;
  const uint32_t nature = v->nature, pitch = v->pitch;
  const uint8_t flags = (uint8_t)((v->flags | PL_VIEW_POOLED) & ~PL_VIEW_WHOLE), index = v->index,
                kind = v->kind;
  const uint16_t semaphores = v->semaphores;
  struct pl_view *const part = pl_pooled_view(c);
  const uint32_t generation = ++c->view_generation, before = part->nature;
  part->generation = generation;
  part->buffer = buffer;
  part->offset = offset;
  part->nature = nature;
  part->rank = 2;
  part->flags = flags;
  part->index = index;
  part->kind = kind;
  part->semaphores = semaphores;
  part->step = c->step;
  part->scope = c->scope;
  part->dot = &pl_no_dot;
  part->vector = NULL;
  if (before != part->nature || part->pitch != pitch || part->shape[0] != rows || part->shape[1] != columns ||
      part->stride[0] != down || part->stride[1] != across) {
    part->pitch = pitch;
    part->shape[0] = rows;
    part->shape[1] = columns;
    part->stride[0] = down;
    part->stride[1] = across;
    part->form = 0; /* another one than in the step before */
  }
  return (pl_ref){part, generation};
}
