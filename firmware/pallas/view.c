/* SPDX-License-Identifier: MIT */
/* Refs: which may be used when, and parts of them. */
#include "internal.h"

/* What PL_NO_REF and refs of operands that do not exist point to: never valid, never NULL. */
struct pl_view pl_nothing = {.dot = &pl_no_dot, .vector = NULL};
struct pl_dot_record pl_no_dot;

pl_ref pl_no_operand(const char *kind, int n, uint32_t count) {
  if (count == 0 && pl_context.plan == NULL)
    pl_fail(PL_ERROR_ARGUMENT, "pl_%s(%d) outside a kernel body", kind, n);
  else
    pl_fail(PL_ERROR_ARGUMENT, "pl_%s(%d): the kernel has %u", kind, n, (unsigned)count);
  return PL_NO_REF;
}

int32_t pl_no_axis(int axis) {
  pl_fail(PL_ERROR_ARGUMENT, "grid axis %d: the grid has %u", axis, (unsigned)pl_context.head.grid.rank);
  return 0;
}

struct pl_view *pl_use(struct pl_context *c, pl_ref ref) {
  char name[24];
  if (c->status != PL_OK)
    return NULL;
  if (!c->in_body) {
    pl_fail(PL_ERROR_REF, "an operation outside a kernel body");
    return NULL;
  }
  if (ref.view == NULL || ref.view == &pl_nothing) {
    pl_fail(PL_ERROR_REF, "an operation on no ref");
    return NULL;
  }
  if ((ref.view->flags & PL_VIEW_POOLED) &&
      (ref.generation != ref.view->generation || ref.view->step != c->step)) {
    pl_fail(PL_ERROR_REF,
            "a ref made by pl_at() in another step, or before PL_MAX_VIEWS (%d) others, is used: make it "
            "where it is "
            "needed",
            PL_MAX_VIEWS);
    return NULL;
  }
  if (ref.generation != ref.view->generation) {
    pl_fail(PL_ERROR_REF, "a ref of %s from another step is used: a block's ref is valid in its step only",
            pl_view_name(ref.view, name));
    return NULL;
  }
  return ref.view;
}

void pl_view_strides(struct pl_view *view) {
  uint32_t stride = view->space == PL_ACC ? 1 : view->pitch;
  for (int d = view->rank - 2; d >= 0; d--) {
    view->stride[d] = (int32_t)stride;
    stride *= (uint32_t)view->shape[d];
  }
  if (view->rank > 0)
    view->stride[view->rank - 1] = view->space == PL_ACC ? 0 : (int32_t)pl_dtype_bytes(view->dtype);
}

int32_t pl_ref_extent(pl_ref ref, unsigned dimension) {
  struct pl_view *view = pl_use(pl_self(), ref);
  if (view == NULL)
    return 0;
  if (dimension >= view->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "dimension %u of a ref of rank %u", dimension, (unsigned)view->rank);
    return 0;
  }
  return view->shape[dimension];
}

/* The oldest view of the pool: its refs end here, which their generation shows. */
static struct pl_view *pooled_view(struct pl_context *c) {
  struct pl_view *view = &c->views[c->next_view];
  c->next_view = (c->next_view + 1) % PL_MAX_VIEWS;
  return view;
}

/* Moves a view's start along one dimension; false if ACC cannot start there. */
static bool move_start(struct pl_context *c, struct pl_view *part, unsigned d, int32_t start) {
  if (part->space != PL_ACC || d + 1 < part->rank) {
    part->offset += (uint32_t)start * (uint32_t)part->stride[d];
    return true;
  }
  if ((uint32_t)start % c->dim != 0) {
    pl_fail(PL_ERROR_REF, "pl_at: a part of an ACC ref starts at column %d, which is no multiple of %u",
            (int)start, (unsigned)c->dim);
    return false;
  }
  part->offset += (uint32_t)start / c->dim * part->pitch;
  return true;
}

pl_ref pl_at_slices(pl_ref ref, const pl_slice *slices, unsigned n) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_use(c, ref), *part;
  char name[24];

  if (view == NULL)
    return PL_NO_REF;
  if (n > view->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_at: %u slices of %s, whose rank is %u", n, pl_view_name(view, name),
            (unsigned)view->rank);
    return PL_NO_REF;
  }
  part = pooled_view(c);
  if (part != view)
    *part = *view;
  part->flags = (uint8_t)((view->flags | PL_VIEW_POOLED) & ~PL_VIEW_WHOLE);
  part->dot = &pl_no_dot;
  part->vector = NULL;
  part->generation = ++c->view_generation;
  part->step = c->step;
  for (unsigned d = 0; d < n; d++) {
    const int32_t extent = part->shape[d];
    int32_t size = slices[d].size < 0 ? extent - slices[d].start : slices[d].size;
    if (slices[d].start < 0 || size < 0 || slices[d].start > extent || size > extent - slices[d].start) {
      pl_fail(PL_ERROR_REF, "pl_at: dimension %u of %s has extent %d; start %d, size %d is outside", d,
              pl_view_name(part, name), (int)extent, (int)slices[d].start, (int)size);
      return PL_NO_REF;
    }
    if (!move_start(c, part, d, slices[d].start))
      return PL_NO_REF;
    part->shape[d] = size;
  }
  return (pl_ref){part, part->generation};
}
