/* SPDX-License-Identifier: MIT */
/*
 * Temporaries for views in VMEM that the vector and matrix units cannot take as they are: rows that do not
 * begin where a row of lanes does, elements that are not neighbours, rows that are not evenly spaced. A DMA
 * copies the view to aligned memory behind what is in use, and back if it was written. A temporary lives
 * for one operation, and the next one's memory is ordered behind it like any other in a body.
 */
#include "internal.h"

bool pl_rows_aligned(const struct pl_view *v, uint32_t row) {
  const int last = v->rank - 1;

  if (v->space != PL_VMEM)
    return true;
  if (v->offset % row != 0 ||
      (last >= 0 && v->shape[last] > 1 && v->stride[last] != (int32_t)pl_dtype_bytes(v->dtype)))
    return false;
  for (int d = 0; d < last; d++)
    if (v->shape[d] > 1 && (uint32_t)v->stride[d] % row != 0)
      return false;
  return true;
}

struct pl_view *pl_temporary_make(struct pl_context *c, struct pl_temporary *t, const struct pl_view *v,
                                  const char *who) {
  uint64_t bytes;

  t->view = *v;
  t->view.flags = PL_VIEW_POOLED;
  t->view.buffer = &t->buffer;
  t->view.offset = 0;
  t->view.pitch = pl_row_pitch(PL_VMEM, v->dtype, v->rank > 0 ? v->shape[v->rank - 1] : 1);
  t->view.dot = &pl_no_dot;
  t->view.form = 0;
  pl_view_strides(&t->view);
  bytes = t->view.pitch;
  for (int d = 0; d + 1 < v->rank; d++)
    bytes *= (uint32_t)v->shape[d];
  bytes = (bytes + PL_ALIGN - 1) / PL_ALIGN * PL_ALIGN;
  if (bytes > pl_body_room(c, PL_VMEM)) {
    pl_fail(
        PL_ERROR_BUDGET,
        "%s: the view %pT %pS of %pV is not aligned to rows of lanes and needs a temporary of %lu bytes in "
        "VMEM; %u are free",
        who, v, v, v, (unsigned long)bytes, (unsigned)pl_body_room(c, PL_VMEM));
    return NULL;
  }
  pl_fresh_buffer(c, &t->buffer, &t->group, c->body_used[PL_VMEM]);
  c->last_inner = NULL; /* its memory is taken */
  c->body_used[PL_VMEM] += (uint32_t)bytes;
  return &t->view;
}

struct pl_view *pl_aligned(struct pl_context *c, struct pl_view *v, uint32_t row, struct pl_temporary *t,
                           const char *who) {
  struct pl_view *made;

  if (pl_rows_aligned(v, row))
    return v;
  made = pl_temporary_make(c, t, v, who);
  return made != NULL && pl_queue_copy(c, v, made) ? made : NULL;
}
