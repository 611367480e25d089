/* SPDX-License-Identifier: MIT */
/*
 * Roll, transpose, random bits, stochastic rounding.
 *
 * A transposition is written as a program, for what takes pairs of registers cannot be recorded. It walks the
 * source in tiles as wide as the lanes, column tiles in loop 0, rows in loop 1. The command's mask is the
 * source's; the result's would be another one, so that all of a tile is stored, and a result that does not
 * end with a tile is made in a temporary with room for it.
 */
#include "emit.h"
#include "vfn_whole.h"

static int32_t up(int32_t n, int32_t to) {
  return (n + to - 1) / to * to;
}

/* Rows of the source in a tile: 16, 8, or 8 with 4 lanes, which hold two tiles of 4 x 4. */
static int32_t tile_rows(void) {
  return pl_context.lanes > 8 ? (int32_t)pl_context.lanes : 8;
}

static bool is_pair(const struct pl_view *o, const struct pl_view *x, bool transposed) {
  if (o->dtype != x->dtype || o->rank != x->rank || (transposed && o->rank != 2))
    return false;
  for (unsigned d = 0; d < o->rank; d++)
    if (o->shape[d] != x->shape[transposed ? 1 - d : d])
      return false;
  return true;
}

static PL_COLD void fail_pair(const char *who, const struct pl_view *o, const struct pl_view *x,
                              const char *rule) {
  pl_fail(PL_ERROR_SHAPE, "%s: %pT %pS does not go into %pT %pS; %s", who, x, x, o, o, rule);
}

/* ---- roll ---- */

/* `size` elements of a dimension, from one place to another. */
static void move(pl_ref o, pl_ref x, unsigned dimension, int32_t to, int32_t from, int32_t size) {
  pl_slice slices[2][PL_MAX_RANK];

  if (size == 0)
    return;
  for (unsigned d = 0; d < dimension; d++)
    slices[0][d] = slices[1][d] = PL_ALL;
  slices[0][dimension] = PL_DS(to, size);
  slices[1][dimension] = PL_DS(from, size);
  pl_sync_copy(pl_at_slices(x, slices[1], dimension + 1), pl_at_slices(o, slices[0], dimension + 1));
}

void pl_roll(pl_ref o, pl_ref x, int32_t shift, unsigned dimension) {
  struct pl_context *c = pl_self();
  const struct pl_view *to = pl_use(c, o), *from = pl_use(c, x);

  if (to == NULL || from == NULL)
    return;
  if (!is_pair(to, from, false)) {
    fail_pair("pl_roll", to, from, "shapes and dtypes must be equal");
  } else if (dimension >= to->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_roll: dimension %u; the rank is %u", dimension, (unsigned)to->rank);
  } else if (to->shape[dimension] > 0) {
    const int32_t n = to->shape[dimension];
    shift %= n;
    shift += shift < 0 ? n : 0;
    move(o, x, dimension, shift, 0, n - shift);
    move(o, x, dimension, 0, n - shift, shift);
  }
}

/* ---- transpose ---- */

static bool check_transpose(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  if (!is_pair(view[0], view[1], true))
    fail_pair(fn->name, view[0], view[1], "rank 2, equal dtypes, and the extents exchanged");
  else if (view[0]->space == PL_ACC)
    pl_fail(PL_ERROR_UNSUPPORTED, "pl_transpose: the result is in ACC; it must be in VMEM");
  plane[0] = plane[1]; /* as it is walked over */
  return pl_context.status == PL_OK;
}

static void make_transpose(struct pl_context *c, struct vfn_program *p, bool write) {
  enum { V_FROM = 0, V_TO = 2 };
  const unsigned groups = (unsigned)tile_rows() / 8;
  const struct vfn_side *const to = &p->key.side[0], *const from = &p->key.side[1];
  struct tpu_vasm_memory load = {.dtype = vfn_memory_dtype(from->dtype),
                                 .i32 = !pl_is_float(from->dtype),
                                 .acc = from->acc,
                                 .masked = true},
                         store = {.dtype = vfn_memory_dtype(to->dtype), .i32 = !pl_is_float(to->dtype)};
  uint64_t word[12];
  unsigned n = 2;

  for (unsigned g = 0; g < groups; g++) {
    load.areg = groups + (from->acc ? 0 : g);
    load.offset = from->acc ? (int)(8 * g) : 0;
    load.rgrp = g;
    word[n++] = tpu_vasm_ld(V_FROM + g, load);
  }
  word[n++] = tpu_vasm_transpose(V_TO, TPU_V(V_FROM));
  for (unsigned g = 0; g < groups; g++) {
    store.areg = g;
    word[n++] = tpu_vasm_st(TPU_V(V_TO + g), store);
  }
  if (c->lanes < 8) { /* the lower tile goes beside the upper one; what is below both is written next */
    word[n++] = tpu_vasm_move(TPU_VOP_ROT_SUB, V_TO, TPU_V(V_TO), 4);
    store.offset = (int)(4 * pl_dtype_bytes((pl_dtype)to->dtype));
    word[n++] = tpu_vasm_st(TPU_V(V_TO), store);
  }
  word[n++] = tpu_vasm_end(1);
  word[n++] = tpu_vasm_end(0);
  word[0] = tpu_vasm_loop(0, p->entry + n);
  word[1] = tpu_vasm_loop(1, p->entry + n - 1);
  word[n++] = tpu_vasm_halt();
  for (unsigned i = 0; write && i < n; i++)
    vfn_put_word(c, p, i, word[i]);
  p->words = (uint16_t)n;
  p->matters = p->constants = p->inner = 0;
  p->mode = VFN_ELEMENTS;
  p->groups = (uint8_t)groups;
  p->peeled = false;
  p->stores = 1;
  p->loads = 2;
  p->apart = groups == 1 ? 0 : from->acc ? 1 : 3;
  p->areg[0] = 0;
  p->areg[1] = (uint8_t)groups;
  p->addresses = (uint8_t)(groups + (from->acc ? 1 : groups));
}

/* The rows of the source are the columns of the result. */
static void describe_transpose(struct vfn_record *r, struct pl_view *const *view) {
  const int32_t pitch = view[0]->stride[0],
                along = tile_rows() * (int32_t)pl_dtype_bytes((pl_dtype)view[0]->dtype);

  for (int32_t g = 0; g < tile_rows() / 8; g++) {
    r->offset[g] = (uint32_t)(8 * g * pitch);
    r->pitch[g] = pitch;
    r->stride[g][0] = (int32_t)pl_context.lanes * pitch - (int32_t)r->loop[1] * along;
    r->stride[g][1] = along;
  }
}

static const struct vfn_whole transposition = {check_transpose, make_transpose, describe_transpose};
static pl_vector_fn transpose = {.name = "pl_transpose", .refs = 2, .whole = &transposition};

/* Through a temporary with room for whole tiles, which shares no memory with the source either. */
static PL_COLD void transpose_apart(struct pl_context *c, struct pl_view *o, pl_ref x) {
  const int32_t lanes = (int32_t)c->lanes;
  const uint32_t before = c->body_used[PL_VMEM];
  struct pl_temporary temporary;
  struct pl_view padded = *o;

  padded.shape[0] = up(o->shape[0], lanes) + (lanes < 8 ? lanes : 0);
  padded.shape[1] = up(o->shape[1], tile_rows());
  struct pl_view *const made = pl_temporary_make(c, &temporary, &padded, transpose.name);
  if (made == NULL)
    return;
  made->shape[0] = o->shape[0];
  made->shape[1] = o->shape[1];
  made->step = c->step;
  made->scope = c->scope;
  made->generation = ++c->view_generation;
  pl_vrun(&transpose, PL_REFS((pl_ref){made, made->generation}, x), PL_NO_SCALARS);
  if (c->status == PL_OK)
    pl_queue_copy(c, made, o);
  c->body_used[PL_VMEM] = before;
}

void pl_transpose(pl_ref o, pl_ref x) {
  struct pl_context *const c = pl_self();
  struct pl_view *const to = o.view, *const from = x.view;

  if (pl_usable(c, o) && pl_usable(c, x) && c->in_body && c->status == PL_OK && is_pair(to, from, true) &&
      to->space == PL_VMEM && !(to->flags & PL_VIEW_READ_ONLY) && to->shape[0] > 0 && to->shape[1] > 0 &&
      (c->lanes < 8 || to->shape[0] % (int32_t)c->lanes != 0 || to->shape[1] % tile_rows() != 0 ||
       to->buffer == from->buffer))
    transpose_apart(c, to, x);
  else
    pl_vrun(&transpose, PL_REFS(o, x), PL_NO_SCALARS);
}

/* ---- random bits ---- */

static bool check_random(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  (void)plane;
  if (view[0]->dtype != PL_INT32)
    pl_fail(PL_ERROR_SHAPE, "%s: the result is %pT; it must be int32", fn->name, view[0]);
  return pl_context.status == PL_OK;
}

/* Key, and position of the first element. */
static void record_random(void) {
  pl_vstore(PL_REF(0), pl_vrandom(0, 2));
}

static const struct vfn_whole randomness = {check_random, NULL, NULL};

void pl_random_bits(pl_ref o, const uint32_t key[2], uint32_t row, uint32_t column) {
  static pl_vector_fn fn = {
      .name = "pl_random_bits", .body = record_random, .refs = 1, .scalars = 4, .whole = &randomness};
  pl_vrun(&fn, PL_REFS(o),
          PL_SCALARS(pl_int((int32_t)key[0]), pl_int((int32_t)key[1]), pl_int((int32_t)row),
                     pl_int((int32_t)column)));
}

/* ---- stochastic rounding ---- */

static bool check_stochastic(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  if (view[0]->dtype == PL_BF16 && view[1]->dtype == PL_F32 && view[2]->dtype == PL_INT32)
    return vfn_elementwise.check(fn, view, plane);
  pl_fail(PL_ERROR_SHAPE, "%s: %pT with bits %pT to %pT; it is f32 with bits int32 to bf16", fn->name,
          view[1], view[2], view[0]);
  return false;
}

static void record_stochastic(void) {
  const pl_v x = pl_vload(PL_REF(1)), low = pl_vand(pl_vload(PL_REF(2)), pl_vconst_int(0xffff)),
             v = pl_vand(pl_vadd(pl_vbits_int(x), low), pl_vconst_int(0xffff0000u)),
             zero = pl_vsub(x, x); /* else NaN */
  pl_vstore(PL_REF(0), pl_vselect(pl_veq(zero, zero), pl_vbits_float(v), x));
}

static const struct vfn_whole stochastic = {check_stochastic, NULL, NULL};

void pl_stochastic_round(pl_ref o, pl_ref x, pl_ref bits) {
  static pl_vector_fn fn = {
      .name = "pl_stochastic_round", .body = record_stochastic, .refs = 3, .whole = &stochastic};
  pl_vrun(&fn, PL_REFS(o, x, bits), PL_NO_SCALARS);
}
