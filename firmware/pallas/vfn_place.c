/* SPDX-License-Identifier: MIT */
/*
 * Launches of vector functions that are looked at: refs are checked and brought to the form that the vector
 * unit takes, which is planes of aligned rows that share no memory; the program is found, and the command
 * over these refs becomes a record (vfn_launch.c).
 */
#include "vfn.h"

struct launch {
  pl_vector_fn *fn;
  struct vfn_key key;
  const struct vfn_program *program;
  struct pl_view *view[PL_MAX_VECTOR_REFS];  /* as given */
  struct pl_view *taken[PL_MAX_VECTOR_REFS]; /* it, or a temporary for it */
  struct pl_plane plane[PL_MAX_VECTOR_REFS];
  uint32_t temporary; /* bit i: ref i needs one */
  bool bounded;       /* to these rows and columns, the rest of the result stays */
  int32_t bound[2];
  int32_t rows, columns;
};

static bool check_counts(const struct pl_context *c, const pl_vector_fn *fn, uint32_t refs,
                         uint32_t scalars) {
  if (!c->params.value[TPU_PARAM_VPU_PRESENT]) {
    pl_fail(PL_ERROR_UNSUPPORTED, "%s: this configuration has no vector unit", fn->name);
    return false;
  }
  if (fn->refs == refs && fn->scalars == scalars && refs > 0 && refs <= PL_MAX_VECTOR_REFS &&
      scalars <= PL_MAX_VECTOR_SCALARS)
    return true;
  pl_fail(PL_ERROR_ARGUMENT, "%s: launched with %u refs and %u scalars, it has %u and %u; at most %d and %d",
          fn->name, (unsigned)refs, (unsigned)scalars, fn->refs, fn->scalars, PL_MAX_VECTOR_REFS,
          PL_MAX_VECTOR_SCALARS);
  return false;
}

static bool is_empty(const struct pl_view *v) {
  for (unsigned d = 0; d < v->rank; d++)
    if (v->shape[d] == 0)
      return true;
  return false;
}

static bool check_ref(struct pl_context *c, struct launch *l, unsigned i, pl_ref ref) {
  struct pl_view *const v = pl_use(c, ref);

  if (v == NULL)
    return false;
  l->view[i] = l->taken[i] = v;
  if (v->space != PL_VMEM && v->space != PL_ACC) {
    pl_fail(PL_ERROR_REF, "%s: %pV is in %pM; the vector unit reaches VMEM and ACC, use a copy", l->fn->name,
            v, v);
    return false;
  }
  const bool plane = pl_plane_of(v, &l->plane[i]);
  if (is_empty(v) || (!plane && v->space == PL_ACC)) {
    pl_fail(PL_ERROR_SHAPE, "%s: the rows of %pV are not evenly spaced, or it is empty", l->fn->name, v);
    return false;
  }
  if (!plane || !pl_rows_aligned(v, c->lanes * pl_dtype_bytes(v->dtype)))
    l->temporary |= 1u << i;
  else if (v->form == 0)
    (void)vfn_form(c, v);
  return true;
}

/* The shape, how each ref goes into it, and the program. */
static bool find_program(struct pl_context *c, struct launch *l) {
  if (l->fn->whole != NULL && !l->fn->whole->check(l->fn, l->taken, l->plane))
    return false;
  l->rows = l->columns = 0;
  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_plane *x = &l->plane[i];
    l->rows = x->rows > l->rows ? x->rows : l->rows;
    l->columns = x->columns > l->columns ? x->columns : l->columns;
  }
  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_view *v = l->taken[i];
    const struct pl_plane *x = &l->plane[i];
    if ((x->rows != l->rows && x->rows != 1) || (x->columns != l->columns && x->columns != 1)) {
      pl_fail(PL_ERROR_SHAPE, "%s: PL_REF(%u), %pV, is %pS; refs have %d rows of %d columns, or 1 of either",
              l->fn->name, i, v, v, (int)l->rows, (int)l->columns);
      return false;
    }
    struct vfn_side *side = &l->key.side[i];
    side->dtype = v->dtype;
    side->acc = v->space == PL_ACC;
    side->extent = (x->rows == 1 ? 1u * VFN_ONE_ROW : 0) | (x->columns == 1 ? 1u * VFN_ONE_COLUMN : 0);
    side->pitch =
        !side->acc && x->rows > 1 && x->pitch > 0 && x->pitch <= VFN_PITCH_MOST ? (uint16_t)x->pitch : 0;
  }
  const uint32_t rows = ((uint32_t)l->rows + 7) / 8,
                 columns = ((uint32_t)l->columns + c->lanes - 1) / c->lanes;
  const uint32_t along_rows = rows < 2                     ? 1
                              : rows < 16 && rows % 4 != 0 ? 2
                                                           : 3,
                 along_columns = columns < 2                        ? 1
                                 : columns < 16 && columns % 4 != 0 ? 2
                                                                    : 3;
  l->key.shape =
      (uint8_t)((l->rows == 1 ? VFN_SHAPE_ONE_ROW : 0) | (l->columns == 1 ? VFN_SHAPE_ONE_COLUMN : 0) |
                (l->rows % 8 != 0 ? VFN_SHAPE_RAGGED_ROWS : 0) |
                ((uint32_t)l->columns % c->lanes != 0 ? VFN_SHAPE_RAGGED_COLUMNS : 0) |
                along_rows << VFN_SHAPE_ROWS_SHIFT | along_columns << VFN_SHAPE_COLUMNS_SHIFT);
  l->program = vfn_find(c, &l->key);
  return l->program != NULL;
}

/* Stored refs: not read only, and no memory in common with another one but element by element. */
static bool check_stores(struct launch *l) {
  const uint32_t before = l->temporary;

  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_view *o = l->taken[i];
    if (!(l->program->stores >> i & 1))
      continue;
    if (l->view[i]->flags & PL_VIEW_READ_ONLY) {
      pl_fail(PL_ERROR_REF, "%s: %pV would be written", l->fn->name, o);
      return false;
    }
    for (unsigned k = 0; k < l->fn->refs; k++) {
      const struct pl_view *v = l->taken[k];
      if (k == i || v->buffer != o->buffer || !vfn_overlap(v, o))
        continue;
      if (v->space == PL_ACC || (l->program->stores >> k & 1)) {
        if (l->fn->whole != NULL)
          pl_fail(PL_ERROR_UNSUPPORTED,
                  "%s: a source and the result share a part of %pV in ACC; copy the source first",
                  l->fn->name, v);
        else
          pl_fail(PL_ERROR_UNSUPPORTED, "%s: PL_REF(%u) and PL_REF(%u) share a part of %pV; copy one first",
                  l->fn->name, i, k, v);
        return false;
      }
      l->temporary |= 1u << k;
    }
  }
  return l->temporary == before;
}

static void describe(const struct pl_context *c, const struct launch *l, struct vfn_record *r) {
  const struct vfn_program *p = l->program;
  const bool along_rows = p->mode != VFN_ROWS; /* groups */
  const bool rows_inner = p->mode == VFN_ELEMENTS || p->mode == VFN_ROWS;
  const int32_t lanes = (int32_t)c->lanes;
  const int32_t row_step = along_rows ? p->groups : 1, column_step = along_rows ? 1 : p->groups;
  const int32_t rows = ((l->rows + 7) / 8 + row_step - 1) / row_step,
                columns = ((l->columns + lanes - 1) / lanes + column_step - 1) / column_step;
  const int32_t inner = (rows_inner ? rows : columns) - p->peeled;

  r->fn = l->fn;
  r->generation = vfn_generation;
  r->counts = PL_VCOUNTS(l->fn->refs, l->fn->scalars);
  r->refs = l->fn->refs;
  r->scalars = l->fn->scalars;
  r->stores = p->stores;
  r->loads = p->loads;
  r->addresses = p->addresses;
  r->constants = p->constants;
  for (unsigned i = 0; i < p->constants; i++)
    r->constant[i] = p->constant[i];
  r->entry = p->entry;
  r->loop[0] = (uint32_t)(rows_inner ? columns : rows);
  r->loop[1] = (uint32_t)inner;
  r->edge = (rows_inner ? 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT : 1u << TPU_VPU_EDGE_COL_LEVEL_SHIFT) |
            (uint32_t)row_step << TPU_VPU_EDGE_ROW_STEP_SHIFT |
            (uint32_t)column_step << TPU_VPU_EDGE_COL_STEP_SHIFT;
  r->rows = (uint32_t)l->rows;
  r->columns = (uint32_t)l->columns;
  if (l->bounded) { /* what stays is as if it were read */
    r->rows = (uint32_t)l->bound[0];
    r->columns = (uint32_t)l->bound[1];
    r->loads |= p->stores;
  }
  for (unsigned i = 0; i < l->fn->refs; i++) {
    const struct pl_view *v = l->taken[i];
    const struct vfn_side *side = &p->key.side[i];
    r->form[i] = v->form;
    r->align[i] = (uint8_t)(side->acc ? 0 : c->lanes * pl_dtype_bytes((pl_dtype)side->dtype) - 1);
    const bool loaded = p->loads >> i & 1, stored = p->stores >> i & 1, apart = p->apart >> i & 1;
    r->ref[i].use = 0;
    if (!loaded && !stored)
      continue;
    const unsigned registers = apart ? p->groups : 1;
    r->ref[i].use = (loaded || side->acc ? (uint32_t)VFN_LOADED : 0) | (stored ? (uint32_t)VFN_STORED : 0) |
                    (stored && side->acc ? (uint32_t)VFN_TO_ACC : 0) | (registers - 1) << VFN_MORE;
    const bool one_row = side->extent & VFN_ONE_ROW, one_column = side->extent & VFN_ONE_COLUMN;
    const int32_t pitch = one_row ? 0 : l->plane[i].pitch;
    const int32_t tile =
        side->acc ? (int32_t)v->pitch : lanes * (int32_t)pl_dtype_bytes((pl_dtype)side->dtype);
    const int32_t down = 8 * pitch * row_step, across = one_column ? 0 : tile * column_step;
    const int32_t back = inner * (rows_inner ? down : across); /* what an inner loop adds */
    /* Instructions count from the middle one of the groups. */
    const int32_t first = along_rows && !apart && !side->acc ? p->groups / 2 * 8 * pitch : 0;
    r->ref[i].offset = (uint32_t)first;
    for (int32_t g = 0; g < (int32_t)registers; g++) {
      const unsigned k = p->areg[i] + (unsigned)g;
      r->offset[k] = (uint32_t)(first + g * (along_rows ? 8 * pitch : tile));
      r->pitch[k] = pitch;
      r->stride[k][0] = (rows_inner ? across : down) - back;
      r->stride[k][1] = rows_inner ? down : across;
      r->stride[k][2] = -back;
    }
  }
  if (l->fn->whole != NULL && l->fn->whole->describe != NULL)
    l->fn->whole->describe(r, l->taken);
}

static void queue_launch(struct pl_context *c, struct launch *l, const pl_scalar *scalars) {
  struct vfn_record local, *r = &local;
  pl_ref taken[PL_MAX_VECTOR_REFS];

  for (unsigned i = 0; i < l->fn->refs; i++)
    taken[i] = (pl_ref){l->taken[i], l->taken[i]->generation};
  if (l->temporary == 0 && !l->bounded)
    r = vfn_record_for(c, l->fn, taken);
  c->queue[TPU_QUEUE_VPU].owner = NULL;
  describe(c, l, r);
  vfn_queue(c, r, taken, scalars);
  if (r == &local)
    c->queue[TPU_QUEUE_VPU].owner = NULL;
  else
    l->fn->last = r;
}

/* Makes the temporaries that are wanted, and not those that there are. */
static bool make_temporaries(struct pl_context *c, struct launch *l, struct pl_temporary *temporary) {
  for (unsigned i = 0; i < l->fn->refs; i++)
    if ((l->temporary >> i & 1) && l->taken[i] == l->view[i]) {
      l->taken[i] = pl_temporary_make(c, &temporary[i], l->view[i], l->fn->name);
      if (l->taken[i] == NULL)
        return false;
      (void)pl_plane_of(l->taken[i], &l->plane[i]);
    }
  return true;
}

static PL_COLD void launch_temporaries(struct pl_context *c, struct launch *l, const pl_scalar *scalars) {
  struct pl_temporary temporary[PL_MAX_VECTOR_REFS];

  do
    if (!make_temporaries(c, l, temporary) || !find_program(c, l))
      return;
  while (!check_stores(l) && c->status == PL_OK);
  for (unsigned i = 0; i < l->fn->refs && c->status == PL_OK; i++)
    if (l->taken[i] != l->view[i] && ((l->program->loads >> i & 1) || l->bounded))
      (void)pl_queue_copy(c, l->view[i], l->taken[i]);
  if (c->status == PL_OK)
    queue_launch(c, l, scalars);
  for (unsigned i = 0; i < l->fn->refs && c->status == PL_OK; i++)
    if (l->taken[i] != l->view[i] && (l->program->stores >> i & 1))
      (void)pl_queue_copy(c, l->taken[i], l->view[i]);
}

static void look(struct pl_context *c, struct launch *l, const pl_ref *refs, const pl_scalar *scalars) {
  pl_vector_fn *const fn = l->fn;
  const uint32_t before = c->body_used[PL_VMEM];

  l->key.fn = fn;
  for (unsigned i = 0; i < fn->refs; i++)
    if (!check_ref(c, l, i, refs[i]))
      return;
  for (unsigned i = 0; i < fn->scalars; i++)
    if (scalars[i].ref.view != NULL && pl_use(c, scalars[i].ref) == NULL)
      return;
  if (l->temporary == 0 && !l->bounded && vfn_again(c, fn, refs, scalars))
    return;
  if (l->temporary == 0 && find_program(c, l) && check_stores(l))
    queue_launch(c, l, scalars);
  if (l->temporary != 0 && c->status == PL_OK)
    launch_temporaries(c, l, scalars);
  c->body_used[PL_VMEM] = before; /* what comes next in temporaries is ordered behind this */
}

void vfn_launch(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars,
                uint32_t counts) {
  struct launch l = {.fn = fn};

  if (c->status == PL_OK && check_counts(c, fn, counts & 0xffff, counts >> 16))
    look(c, &l, refs, scalars);
}

void vfn_launch_bounded(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, int32_t rows,
                        int32_t columns) {
  struct launch l = {.fn = fn, .bounded = true, .bound = {rows, columns}};

  if (c->status == PL_OK && check_counts(c, fn, fn->refs, 0))
    look(c, &l, refs, NULL);
}

pl_scalar pl_scalar_at(pl_ref ref, const int32_t *index, unsigned n) {
  const struct pl_view *const v = pl_use(pl_self(), ref);
  pl_scalar scalar = {.ref = PL_NO_REF};

  if (v == NULL)
    return scalar;
  if (v->space != PL_SMEM || (v->dtype != PL_F32 && v->dtype != PL_INT32))
    pl_fail(PL_ERROR_REF, "PL_SCALAR_AT: %pV is %pT in %pM; it must be f32 or int32 in SMEM", v, v, v);
  else if (pl_element(v, index, n, "PL_SCALAR_AT", &scalar.value))
    scalar.ref = ref;
  return scalar;
}
