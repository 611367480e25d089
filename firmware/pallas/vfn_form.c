/* SPDX-License-Identifier: MIT */
/*
 * Forms of views: numbers for what vector functions have to know of a ref beside its address, which is type,
 * space, rows, columns and pitch. A part that is made anew in every step finds the number of the step before
 * in a table, so that nothing else need be looked at.
 */
#include "vfn.h"

PL_COLD bool pl_plane_of(const struct pl_view *v, struct pl_plane *plane) {
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

enum { FORMS = 24 };

/* By hash, from there on the next free entry. Numbers are never given again. */
static struct form {
  uint32_t number; /* 0: free */
  int32_t rows, columns, pitch;
  uint32_t tile; /* rows of ACC from column tile to column tile */
  uint32_t kind; /* dtype, space, read only */
} forms[FORMS];
static uint32_t last_form;

static uint32_t find(const struct form *wanted) {
  uint32_t at =
      ((uint32_t)wanted->rows * 5 + (uint32_t)wanted->columns + (uint32_t)wanted->pitch / 32 + wanted->kind) %
      FORMS;

  for (uint32_t i = 0; i < FORMS; i++, at = at + 1 < FORMS ? at + 1 : 0) {
    const struct form *f = &forms[at];
    if (f->rows == wanted->rows && f->columns == wanted->columns && f->pitch == wanted->pitch &&
        f->kind == wanted->kind && f->tile == wanted->tile)
      return f->number;
    if (f->number == 0)
      break;
    if (i == FORMS - 1) /* all are taken: one gives way */
      at = last_form % FORMS;
  }
  forms[at] = *wanted;
  return forms[at].number = ++last_form;
}

/* Gives up if the view is not of the vector unit's memories or has no evenly spaced rows. */
static PL_COLD bool fold(const struct pl_view *v, struct form *f) {
  struct pl_plane plane;
  if (!pl_plane_of(v, &plane))
    return false;
  f->rows = plane.rows;
  f->columns = plane.columns;
  f->pitch = plane.pitch;
  return true;
}

uint32_t vfn_form(const struct pl_context *c, struct pl_view *v) {
  static const uint8_t sizes[] = {4, 2, 4, 1, 1};
  const uint32_t bytes = sizes[v->dtype], rank = v->rank;
  struct form f = {.rows = v->shape[0],
                   .columns = v->shape[1],
                   .pitch = v->stride[0],
                   .kind =
                       v->dtype | (uint32_t)v->space << 8 | (uint32_t)(v->flags & PL_VIEW_READ_ONLY) << 16};

  if (rank != 2 ? !fold(v, &f) : f.rows <= 0 || f.columns <= 0)
    return 0;
  if (f.rows == 1)
    f.pitch = 0;
  if (v->space == PL_ACC)
    f.tile = v->pitch;
  else if (v->space != PL_VMEM || ((uint32_t)f.pitch & (c->lanes * bytes - 1)) != 0 ||
           (f.columns > 1 && v->stride[rank - 1] != (int32_t)bytes))
    return 0; /* not rows of lanes */
  return v->form = find(&f);
}

/* The bytes (rows in ACC) from a view's first element to behind its last. */
static uint32_t span_of(const struct pl_view *v) {
  uint32_t bytes = v->space == PL_ACC ? 1 : pl_dtype_bytes(v->dtype);
  for (unsigned d = 0; d < v->rank; d++)
    bytes += (uint32_t)(v->shape[d] - 1) * (uint32_t)v->stride[d];
  if (v->space == PL_ACC && v->rank > 0)
    bytes += (uint32_t)(v->shape[v->rank - 1] - 1) / pl_context.dim * v->pitch;
  return bytes;
}

bool vfn_overlap(const struct pl_view *a, const struct pl_view *b) {
  return !(a->offset == b->offset && a->form == b->form && a->form != 0) &&
         a->offset < b->offset + span_of(b) && b->offset < a->offset + span_of(a) &&
         (a->space == PL_ACC || pl_share_elements(a, b));
}
