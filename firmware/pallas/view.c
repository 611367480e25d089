/* SPDX-License-Identifier: MIT */
/* Refs: which may be used when, and parts of them. */
#include "internal.h"

/* What PL_NO_REF and refs of operands that do not exist point to: never valid, never NULL. */
struct pl_view pl_nothing = {.dot = &pl_no_dot};
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

/* A view made by the current step of a pipeline around the running one. */
static bool in_outer_step(const struct pl_context *c, pl_ref ref) {
  for (const struct pl_frame *f = c->frame; f != NULL; f = f->outer)
    if (ref.view->scope == f->scope)
      return ref.view->step == f->step;
  return false;
}

/* In a map: no operation is for it. Whose map it is, pl_find_map() finds out. */
static PL_COLD void fail_in_map(struct pl_context *c, const char *who) {
  c->bad_map = true;
  if (c->mapping != NULL)
    pl_fail_operand(PL_ERROR_REF, c->mapping,
                    "its map calls %s; maps only compute, and read scalars (pl_prefetch, pl_get)", who);
  else
    pl_fail(PL_ERROR_REF, "a map calls %s; maps only compute, and read scalars (pl_prefetch, pl_get)", who);
}

bool pl_in_body(const char *who) {
  struct pl_context *c = pl_self();
  if (!c->in_body && c->plan != NULL && pl_recording == NULL)
    fail_in_map(c, who);
  else if (!c->in_body)
    pl_fail(PL_ERROR_REF, "%s outside a kernel body", who);
  return c->status == PL_OK;
}

static PL_COLD struct pl_view *outside_body(void) {
  pl_in_body("an operation");
  return NULL;
}

struct pl_view *pl_use(struct pl_context *c, pl_ref ref) {
  return c->in_body ? pl_look(c, ref) : outside_body();
}

struct pl_view *pl_look(struct pl_context *c, pl_ref ref) {
  if (c->status != PL_OK)
    return NULL;
  if (ref.view == NULL || ref.view == &pl_nothing) {
    pl_fail(PL_ERROR_REF, "an operation on no ref");
    return NULL;
  }
  if (!c->in_body && c->frame == NULL && ref.view->kind != PL_VIEW_PREFETCH)
    return outside_body();
  if ((ref.view->flags & PL_VIEW_POOLED) &&
      (ref.generation != ref.view->generation || (int32_t)(ref.generation - c->view_floor) <= 0 ||
       ((ref.view->step != c->step || ref.view->scope != c->scope) && !in_outer_step(c, ref)))) {
    pl_fail(PL_ERROR_REF,
            "a ref made by pl_at() and its like in another step or call, or before PL_MAX_VIEWS (%d) others, "
            "or by "
            "pl_run_scoped() that has ended, is used: make it where it is needed",
            PL_MAX_VIEWS);
    return NULL;
  }
  if (ref.generation != ref.view->generation) {
    pl_fail(PL_ERROR_REF, "a ref of %pV from another step is used: a block's ref is valid in its step only",
            ref.view);
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
  struct pl_view *view = pl_look(pl_self(), ref);
  if (view == NULL)
    return 0;
  if (dimension >= view->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "dimension %u of a ref of rank %u", dimension, (unsigned)view->rank);
    return 0;
  }
  return view->shape[dimension];
}

/* A new view like `view` but not the whole of its memory; refs to it are made with pl_view_ref(). */
static struct pl_view *derive(struct pl_context *c, const struct pl_view *view) {
  struct pl_view *part = pl_pooled_view(c);
  if (part != view)
    *part = *view;
  part->flags = (uint8_t)((view->flags | PL_VIEW_POOLED) & ~PL_VIEW_WHOLE);
  part->dot = &pl_no_dot;
  part->form = 0;
  part->generation = ++c->view_generation;
  part->step = c->step;
  part->scope = c->scope;
  return part;
}

static pl_ref ref_of(const struct pl_view *view) {
  return (pl_ref){(struct pl_view *)(uintptr_t)view, view->generation};
}

/* ---- pl_at ---- */

/* Moves a view's start along one dimension; false if ACC cannot start there. */
static bool move_start(struct pl_context *c, struct pl_view *part, unsigned d, const pl_slice *slice) {

  if (part->space != PL_ACC || d + 1 < part->rank) {
    part->offset += (uint32_t)slice->start * (uint32_t)part->stride[d];
    return true;
  }
  if ((uint32_t)slice->start % c->dim != 0 || slice->size == PL_SIZE_DROPPED || slice->stride > 1) {
    pl_fail(
        PL_ERROR_REF,
        "pl_at: dimension %u of %pV are columns in ACC: a part starts at a multiple of %u and has stride 1 "
        "(start %d, stride %d%s)",
        d, part, (unsigned)c->dim, (int)slice->start, (int)slice->stride,
        slice->size == PL_SIZE_DROPPED ? ", dropped: use PL_DS(i, 1)" : "");
    return false;
  }
  part->offset += (uint32_t)slice->start / c->dim * part->pitch;
  return true;
}

/* Elements that a slice takes of an extent; -1 with a sticky error if it reaches outside. */
static int32_t slice_size(const struct pl_view *view, unsigned d, const pl_slice *slice) {
  const int32_t extent = view->shape[d], stride = slice->stride == 0 ? 1 : slice->stride;
  int32_t size = slice->size;

  if (size == PL_SIZE_DROPPED)
    size = 1;
  else if (size == PL_SIZE_REST && stride > 0 && slice->start >= 0 && slice->start <= extent)
    size = extent == slice->start ? 0 : (extent - slice->start - 1) / stride + 1;
  if (stride > 0 && size >= 0 && slice->start >= 0 && slice->start <= extent &&
      (size == 0 || (int64_t)(size - 1) * stride < extent - slice->start))
    return size;
  pl_fail(
      PL_ERROR_REF,
      "pl_at: dimension %u of %pV has extent %d; start %d, size %d, stride %d is outside: elements 0 to %d "
      "are there, and strides are at least 1",
      d, view, (int)extent, (int)slice->start, (int)size, (int)stride, (int)extent - 1);
  return -1;
}

pl_ref pl_at_any(pl_ref ref, const pl_slice *slices, unsigned n) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_look(c, ref), *part;
  unsigned rank = 0;

  if (view == NULL || (slices == NULL && n != 0 && pl_is_null(slices, "pl_at")))
    return PL_NO_REF;
  if (n > view->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_at: %u slices of %pV, whose rank is %u", n, view, (unsigned)view->rank);
    return PL_NO_REF;
  }
  part = derive(c, view);
  for (unsigned d = 0; d < part->rank; d++) {
    static const pl_slice all = PL_ALL;
    const pl_slice *slice = d < n ? &slices[d] : &all;
    const int32_t size = slice_size(part, d, slice);
    if (size < 0 || !move_start(c, part, d, slice))
      return PL_NO_REF;
    if (slice->size == PL_SIZE_DROPPED)
      continue;
    part->shape[rank] = size;
    part->stride[rank++] = part->stride[d] * (slice->stride > 1 && size > 1 ? slice->stride : 1);
  }
  part->rank = (uint8_t)rank;
  return ref_of(part);
}

/* ---- other shapes and types of the same memory ---- */

static uint64_t elements(const int32_t *shape, unsigned rank) {
  uint64_t n = 1;
  for (unsigned d = 0; d < rank; d++)
    n *= (uint32_t)shape[d];
  return n;
}

/* Dimensions that follow one another without a gap, as one. */
struct run {
  uint32_t extent;
  int32_t stride;
  unsigned outermost; /* number of its outermost dimension */
};

/* From the innermost on. */
static unsigned runs_of(const struct pl_view *view, unsigned rank, struct run *run) {
  unsigned n = 0;
  for (unsigned d = rank; d-- > 0;) {
    const uint32_t extent = (uint32_t)view->shape[d];
    if (extent == 1)
      continue;
    if (n > 0 && view->stride[d] == run[n - 1].stride * (int32_t)run[n - 1].extent)
      run[n - 1].extent *= extent;
    else
      run[n++] = (struct run){.extent = extent, .stride = view->stride[d]};
    run[n - 1].outermost = d;
  }
  return n;
}

/*
 * Strides of another shape with as many elements: its dimensions share out the runs of the old one. The
 * columns of ACC stay what they are. -1, or the dimension before which there is a gap that is in the way.
 */
static int new_strides(const struct pl_view *view, const pl_shape *shape, int32_t *stride) {
  struct run run[PL_MAX_RANK];
  unsigned old_rank = view->rank, rank = shape->rank, at = 0;
  int32_t unit = (int32_t)pl_dtype_bytes(view->dtype);

  if (view->space == PL_ACC && old_rank > 0) {
    if (rank == 0 || shape->extent[rank - 1] != view->shape[old_rank - 1])
      return (int)old_rank - 1;
    stride[--rank] = 0;
    old_rank--;
    unit = 1;
  }
  const unsigned runs = runs_of(view, old_rank, run);
  uint32_t done = 1; /* of run `at` */
  for (unsigned d = rank; d-- > 0;) {
    const uint32_t extent = (uint32_t)shape->extent[d];
    stride[d] = unit;
    if (extent == 1)
      continue;
    if (at < runs && done == run[at].extent) {
      at++;
      done = 1;
    }
    if (at == runs || run[at].extent / done % extent != 0)
      return at < runs ? (int)run[at].outermost : 0;
    stride[d] = run[at].stride * (int32_t)done;
    done *= extent;
  }
  return -1;
}

pl_ref pl_reshape(pl_ref ref, pl_shape shape) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_look(c, ref), *part;
  int32_t stride[PL_MAX_RANK];
  int gap;

  if (view == NULL)
    return PL_NO_REF;
  if (shape.rank > PL_MAX_RANK) {
    pl_fail(PL_ERROR_LIMIT, "pl_reshape: rank %u is more than PL_MAX_RANK (%d)", (unsigned)shape.rank,
            PL_MAX_RANK);
    return PL_NO_REF;
  }
  for (unsigned d = 0; d < shape.rank; d++)
    if (shape.extent[d] <= 0 || elements(shape.extent, shape.rank) != elements(view->shape, view->rank)) {
      pl_fail(PL_ERROR_SHAPE, "pl_reshape: %pV %pS has %u elements, %pE has %u", view, view,
              (unsigned)elements(view->shape, view->rank), &shape,
              (unsigned)elements(shape.extent, shape.rank));
      return PL_NO_REF;
    }
  gap = new_strides(view, &shape, stride);
  if (gap >= 0) {
    pl_fail(PL_ERROR_REF,
            "pl_reshape: %pV %pS cannot be seen as %pE: in %pM there is a gap before each element of "
            "dimension %d; "
            "copy it first",
            view, view, &shape, view, gap);
    return PL_NO_REF;
  }
  part = derive(c, view);
  part->rank = shape.rank;
  for (unsigned d = 0; d < shape.rank; d++) {
    part->shape[d] = shape.extent[d];
    part->stride[d] = stride[d];
  }
  return ref_of(part);
}

pl_ref pl_squeeze(pl_ref ref, unsigned dimension) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_look(c, ref);

  if (view == NULL)
    return PL_NO_REF;
  if (dimension >= view->rank || view->shape[dimension] != 1 ||
      (view->space == PL_ACC && dimension + 1 == view->rank)) {
    pl_fail(PL_ERROR_SHAPE, "pl_squeeze: dimension %u of %pV %pS%s", dimension, view, view,
            dimension >= view->rank       ? ", whose rank is less"
            : view->shape[dimension] != 1 ? " has not extent 1"
                                          : " are columns in ACC");
    return PL_NO_REF;
  }
  view = derive(c, view);
  view->rank--;
  for (unsigned d = dimension; d < view->rank; d++) {
    view->shape[d] = view->shape[d + 1];
    view->stride[d] = view->stride[d + 1];
  }
  return ref_of(view);
}

pl_ref pl_bitcast(pl_ref ref, pl_dtype dtype) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_look(c, ref);

  if (view == NULL)
    return PL_NO_REF;
  const int32_t from = (int32_t)pl_dtype_bytes(view->dtype), to = (int32_t)pl_dtype_bytes(dtype);
  const unsigned last = view->rank - 1u;
  if (to == 0) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_bitcast: there is no dtype %u", (unsigned)dtype);
    return PL_NO_REF;
  }
  bool fits = view->space != PL_SEMAPHORE;
  if (fits && from != to)
    fits = view->space != PL_ACC && view->rank > 0 &&
           (view->shape[last] == 1 || view->stride[last] == from) && view->shape[last] * from % to == 0 &&
           view->offset % (uint32_t)to == 0;
  for (unsigned d = 0; fits && d < last && to > from; d++)
    fits = view->shape[d] <= 1 || view->stride[d] % to == 0;
  if (!fits) {
    pl_fail(PL_ERROR_SHAPE,
            "pl_bitcast: %pV %pD as %s: elements must be neighbours, and rows begin at and "
            "be multiples of %d bytes",
            view, view, pl_dtype_name(dtype), (int)to);
    return PL_NO_REF;
  }
  view = derive(c, view);
  view->dtype = (uint8_t)dtype;
  if (from != to) {
    view->shape[last] = view->shape[last] * from / to;
    view->stride[last] = to;
  }
  return ref_of(view);
}

uint32_t pl_ref_rank(pl_ref ref) {
  const struct pl_view *view = pl_look(pl_self(), ref);
  return view != NULL ? view->rank : 0;
}

pl_dtype pl_ref_dtype(pl_ref ref) {
  const struct pl_view *view = pl_look(pl_self(), ref);
  return view != NULL ? (pl_dtype)view->dtype : PL_F32;
}
