/* SPDX-License-Identifier: MIT */
/*
 * Launches of vector functions: refs are brought to the form that the vector unit takes, the program is
 * found, and one command goes over all tiles.
 */
#include "vector.h"
#include "vfn.h"

struct launch {
  const pl_vector_fn *fn;
  struct vfn_key key;
  const struct vfn_program *program;
  struct pl_view *view[PL_MAX_VECTOR_REFS];
  struct pl_plane plane[PL_MAX_VECTOR_REFS];
  int32_t rows, columns;
};

static bool check_counts(const pl_vector_fn *fn, uint32_t refs, uint32_t scalars) {
  if (fn->refs == refs && fn->scalars == scalars && refs > 0 && refs <= PL_MAX_VECTOR_REFS &&
      scalars <= PL_MAX_VECTOR_SCALARS)
    return true;
  pl_fail(PL_ERROR_ARGUMENT,
          "vector function %s: launched with %u refs and %u scalars, it has %u and %u; at most %d and %d",
          fn->name, (unsigned)refs, (unsigned)scalars, fn->refs, fn->scalars, PL_MAX_VECTOR_REFS,
          PL_MAX_VECTOR_SCALARS);
  return false;
}

/* The shape, and how each ref's goes into it. */
static bool find_shape(struct pl_context *c, struct launch *l) {
  char text[64], name[24];

  l->rows = l->columns = 0;
  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_plane *x = &l->plane[i];
    l->rows = x->rows > l->rows ? x->rows : l->rows;
    l->columns = x->columns > l->columns ? x->columns : l->columns;
  }
  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_view *v = l->view[i];
    const struct pl_plane *x = &l->plane[i];
    if ((x->rows != l->rows && x->rows != 1) || (x->columns != l->columns && x->columns != 1)) {
      pl_shape_text(v->shape, v->rank, text);
      pl_fail(PL_ERROR_SHAPE,
              "vector function %s: PL_REF(%u), %s, is %s; refs have %d rows of %d columns, or 1 of either",
              l->fn->name, i, pl_view_name(v, name), text, (int)l->rows, (int)l->columns);
      return false;
    }
    struct vfn_side *side = &l->key.side[i];
    side->dtype = v->dtype;
    side->acc = v->space == PL_ACC;
    side->extent = (x->rows == 1 ? VFN_ONE_ROW : 0) | (x->columns == 1 ? VFN_ONE_COLUMN : 0);
    side->pitch =
        !side->acc && x->rows > 1 && x->pitch > 0 && x->pitch <= VFN_PITCH_MOST ? (uint32_t)x->pitch : 0;
  }
  const uint32_t rows = ((uint32_t)l->rows + 7) / 8,
                 columns = ((uint32_t)l->columns + c->lanes - 1) / c->lanes;
  const uint32_t along_rows = rows < 2                     ? 1
                              : rows < 16 && rows % 4 != 0 ? 2
                                                           : 3,
                 along_columns = columns < 2                        ? 1
                                 : columns < 16 && columns % 4 != 0 ? 2
                                                                    : 3;
  l->key.shape = (l->rows == 1 ? VFN_SHAPE_ONE_ROW : 0) | (l->columns == 1 ? VFN_SHAPE_ONE_COLUMN : 0) |
                 (l->rows % 8 != 0 ? VFN_SHAPE_RAGGED_ROWS : 0) |
                 ((uint32_t)l->columns % c->lanes != 0 ? VFN_SHAPE_RAGGED_COLUMNS : 0) |
                 along_rows << VFN_SHAPE_ROWS_SHIFT | along_columns << VFN_SHAPE_COLUMNS_SHIFT;
  return true;
}

static void stage(const struct pl_context *c, const struct launch *l, const uint32_t *address) {
  const struct vfn_program *p = l->program;
  const uintptr_t base = c->queue[TPU_QUEUE_VPU].base;
  const bool along_rows = p->mode != VFN_ROWS; /* groups */
  const bool rows_inner = p->mode == VFN_ELEMENTS || p->mode == VFN_ROWS;
  const int32_t row_step = along_rows ? p->groups : 1, column_step = along_rows ? 1 : p->groups;
  const int32_t rows = ((l->rows + 7) / 8 + row_step - 1) / row_step,
                columns = ((l->columns + (int32_t)c->lanes - 1) / (int32_t)c->lanes + column_step - 1) /
                          column_step;
  const int32_t inner = (rows_inner ? rows : columns) - p->peeled;

  tpu_queue_put(base, TPU_VPU_ENTRY, p->entry);
  tpu_queue_put(base, TPU_VPU_LOOP(0), (uint32_t)(rows_inner ? columns : rows));
  tpu_queue_put(base, TPU_VPU_LOOP(1), (uint32_t)inner);
  tpu_queue_put(base, TPU_VPU_LOOP(2), 1);
  tpu_queue_put(base, TPU_VPU_EDGE,
                (rows_inner ? 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT : 1u << TPU_VPU_EDGE_COL_LEVEL_SHIFT) |
                    (uint32_t)row_step << TPU_VPU_EDGE_ROW_STEP_SHIFT |
                    (uint32_t)column_step << TPU_VPU_EDGE_COL_STEP_SHIFT);
  tpu_queue_put(base, TPU_VPU_VALID_ROWS, (uint32_t)l->rows);
  tpu_queue_put(base, TPU_VPU_VALID_COLS, (uint32_t)l->columns);
  for (unsigned i = 0; i < p->constants; i++)
    tpu_queue_put(base, TPU_VPU_SCALAR(PL_MAX_VECTOR_SCALARS - p->constants + i), p->constant[i]);
  for (unsigned i = 0; i < l->fn->refs; i++) {
    if (!((p->loads | p->stores) >> i & 1))
      continue;
    const struct vfn_side *side = &p->key.side[i];
    const bool one_row = side->extent & VFN_ONE_ROW, one_column = side->extent & VFN_ONE_COLUMN;
    const int32_t pitch = one_row ? 0 : l->plane[i].pitch;
    const int32_t tile =
        side->acc ? (int32_t)l->view[i]->pitch : (int32_t)(c->lanes * pl_dtype_bytes(side->dtype));
    const int32_t down = 8 * pitch * row_step, across = one_column ? 0 : tile * column_step;
    const int32_t back = inner * (rows_inner ? down : across); /* what an inner loop adds */
    const bool apart = p->apart >> i & 1;
    uint32_t at = address[i];
    if (along_rows && !apart && !side->acc)
      at += (uint32_t)(p->groups / 2 * 8 * pitch); /* where the instructions count from */
    for (unsigned g = 0; g < (apart ? p->groups : 1u); g++) {
      const unsigned r = p->areg[i] + g;
      tpu_queue_put(base, TPU_VPU_ADDR(r), at + g * (uint32_t)(along_rows ? 8 * pitch : tile));
      tpu_queue_put(base, TPU_VPU_PITCH(r), (uint32_t)pitch);
      tpu_queue_put(
          base, TPU_VPU_STRIDE(3 * r),
          (uint32_t)((rows_inner ? across : down) - (p->inner > 0 || p->mode == VFN_ELEMENTS ? back : 0)));
      tpu_queue_put(base, TPU_VPU_STRIDE(3 * r + 1), (uint32_t)(rows_inner ? down : across));
      tpu_queue_put(base, TPU_VPU_STRIDE(3 * r + 2), (uint32_t)-back);
    }
  }
}

pl_scalar pl_scalar_at(pl_ref ref, const int32_t *index, unsigned n) {
  const pl_scalar none = {.ref = PL_NO_REF};
  const struct pl_view *v = pl_use(pl_self(), ref);
  uint32_t offset = 0;

  if (v == NULL)
    return none;
  if (v->space != PL_SMEM || pl_dtype_bytes(v->dtype) != 4 || n != v->rank) {
    pl_fail(PL_ERROR_REF,
            "PL_SCALAR_AT: %u indices into a ref of rank %u, %s in %s; f32 or int32 in SMEM is right", n,
            v->rank, pl_dtype_name(v->dtype), pl_space_name(v->space));
    return none;
  }
  for (unsigned d = 0; d < n; d++) {
    if (index[d] < 0 || index[d] >= v->shape[d]) {
      pl_fail(PL_ERROR_REF, "PL_SCALAR_AT: index %d of dimension %u, which has %d", (int)index[d], d,
              (int)v->shape[d]);
      return none;
    }
    offset += (uint32_t)index[d] * (uint32_t)v->stride[d];
  }
  return (pl_scalar){.value = offset, .ref = ref};
}

static bool stage_scalars(struct pl_context *c, const pl_vector_fn *fn, const pl_scalar *scalar,
                          struct pl_deps *deps) {
  const uintptr_t base = c->queue[TPU_QUEUE_VPU].base;
  uint32_t mode = 0;

  for (unsigned i = 0; i < fn->scalars; i++) {
    uint32_t value = scalar[i].value;
    if (scalar[i].ref.view != NULL) {
      const struct pl_view *v = pl_use(c, scalar[i].ref);
      if (v == NULL)
        return false;
      mode |= 1u << i;
      value += v->buffer->address + v->offset;
      pl_read_deps(deps, v->buffer, TPU_QUEUE_VPU);
    }
    tpu_queue_put(base, TPU_VPU_SCALAR(i), value);
  }
  tpu_queue_put(base, TPU_VPU_SCALAR_MODE, mode);
  return true;
}

static void queue(struct pl_context *c, const struct launch *l, const pl_scalar *scalar) {
  struct pl_queue *const q = &c->queue[TPU_QUEUE_VPU];
  const struct vfn_program *p = l->program;
  struct pl_buffer *buffer[PL_MAX_VECTOR_REFS];
  uint32_t address[PL_MAX_VECTOR_REFS];
  struct pl_deps deps = {.mask = 0};

  for (unsigned i = 0; i < l->fn->refs; i++)
    if (p->loads >> i & 1) {
      buffer[i] = l->view[i]->buffer;
      pl_read_deps(&deps, buffer[i], TPU_QUEUE_VPU);
    }
  for (unsigned i = 0; i < l->fn->refs; i++) {
    struct pl_view *const v = l->view[i];
    if (p->stores >> i & 1) {
      bool shared = false;
      for (unsigned k = 0; k < l->fn->refs; k++)
        shared = shared || ((p->loads >> k & 1) && l->view[k]->buffer->group == v->buffer->group);
      if (v->space == PL_ACC && (v->flags & PL_VIEW_WHOLE) && !shared)
        v->buffer = v->buffer->next; /* a fresh accumulator, if there are two */
      buffer[i] = v->buffer;
      pl_write_deps(&deps, buffer[i], TPU_QUEUE_VPU);
    }
    address[i] = v->buffer->address + v->offset;
  }
  q->owner = NULL;
  stage(c, l, address);
  if (!stage_scalars(c, l->fn, scalar, &deps))
    return;
  unsigned result = 0;
  while (!(p->stores >> result & 1))
    result++;
  const bool issued = pl_issue(c, q, &deps, 0, PL_TAG(PL_TAG_VECTOR, l->view[result]->index) + c->step);
  tpu_queue_put(q->base, TPU_VPU_SCALAR_MODE, 0);
  if (!issued)
    return;
  for (unsigned i = 0; i < l->fn->refs; i++) {
    if ((p->loads >> i & 1) || ((p->stores >> i & 1) && l->view[i]->space == PL_ACC))
      pl_has_read(buffer[i], q);
    if (p->stores >> i & 1)
      pl_has_written(c, buffer[i], q);
  }
  for (unsigned i = 0; i < l->fn->scalars; i++)
    if (scalar[i].ref.view != NULL)
      pl_has_read(scalar[i].ref.view->buffer, q);
}

void pl_vrun(const pl_vector_fn *fn, pl_refs refs, pl_scalars scalars) {
  struct pl_context *c = pl_self();
  struct launch l = {.fn = fn, .key.fn = fn};

  if (c->status != PL_OK || !check_counts(fn, refs.count, scalars.count))
    return;
  for (unsigned i = 0; i < fn->refs; i++) {
    l.view[i] = pl_use(c, refs.ref[i]);
    if (l.view[i] == NULL || !pl_plane_of(l.view[i], &l.plane[i]))
      return;
  }
  if (!find_shape(c, &l) || (l.program = vfn_find(c, &l.key)) == NULL)
    return;
  queue(c, &l, scalars.scalar);
}
