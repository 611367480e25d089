/* SPDX-License-Identifier: MIT */
/*
 * Roll, transpose, random bits, stochastic rounding.
 *
 * A transposition walks the source in tiles as wide as the lanes, column tiles in loop 0, rows in loop 1. The
 * command's mask is the source's; the result's would be another one, so that all of a tile is stored, and a
 * result that does not end with a tile is made in a temporary with room for it.
 */
#include "emit.h"

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
  char a[64], b[64];
  pl_shape_text(x->shape, x->rank, a);
  pl_shape_text(o->shape, o->rank, b);
  pl_fail(PL_ERROR_SHAPE, "%s: %s %s does not go into %s %s; %s", who, pl_dtype_name(x->dtype), a,
          pl_dtype_name(o->dtype), b, rule);
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

static void emit_transpose(struct pl_program *p, const struct pl_signature *s) {
  enum { V_FROM = 4, V_TO = 6 };
  struct tpu_vasm_memory store = {0};

  pl_emit(p, 0);
  pl_emit(p, 0);
  for (unsigned g = 0; g < s->groups; g++)
    pl_emit(p, tpu_vasm_ld(V_FROM + g, pl_memory_of(p, s, 1, g)));
  pl_emit(p, tpu_vasm_transpose(V_TO, TPU_V(V_FROM)));
  for (unsigned g = 0; g < s->groups; g++) {
    store = pl_memory_of(p, s, 0, g);
    store.masked = false;
    pl_emit(p, tpu_vasm_st(TPU_V(V_TO + g), store));
  }
  if (pl_context.lanes <
      8) { /* the lower tile goes beside the upper one; what is below both is written next */
    pl_emit(p, tpu_vasm_move(TPU_VOP_ROT_SUB, V_TO, TPU_V(V_TO), 4));
    store.offset = (int)(4 * pl_dtype_bytes(s->side[0].dtype));
    pl_emit(p, tpu_vasm_st(TPU_V(V_TO), store));
  }
  pl_emit(p, tpu_vasm_end(1));
  pl_emit(p, tpu_vasm_end(0));
  p->word[0] = tpu_vasm_loop(0, p->count);
  p->word[1] = tpu_vasm_loop(1, p->count - 1);
  pl_emit(p, tpu_vasm_halt());
}

static void describe_transpose(struct pl_vector_record *r, const struct pl_vector_call *call,
                               const struct pl_program *p) {
  const struct pl_plane *x = &call->plane[1], *o = &call->plane[0];
  const int32_t lanes = (int32_t)pl_context.lanes, step = tile_rows();
  const int32_t size = (int32_t)pl_dtype_bytes(call->view[0]->dtype);
  const int32_t passes = up(x->rows, step) / step, down = step * x->pitch, along = step * size;
  const int32_t across = call->view[1]->space == PL_ACC ? (int32_t)call->view[1]->pitch : lanes * size;

  r->loop[0] = (uint32_t)(up(x->columns, lanes) / lanes);
  r->loop[1] = (uint32_t)passes;
  r->edge = 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | 0u << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            (uint32_t)(step / 8) << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  r->rows = (uint32_t)x->rows;
  r->columns = (uint32_t)x->columns;
  for (int32_t g = 0; g < step / 8; g++) {
    pl_set_address(r, p->areg[0] + (unsigned)g, 0, (uint32_t)(8 * g * o->pitch), o->pitch,
                   lanes * o->pitch - passes * along, along);
    if (g == 0 || call->view[1]->space != PL_ACC)
      pl_set_address(r, p->areg[1] + (unsigned)g, 1, (uint32_t)(8 * g * x->pitch), x->pitch,
                     across - passes * down, down);
  }
}

static const struct pl_vector_maker transposer = {emit_transpose, describe_transpose};

/* Puts the result where whole tiles fit. */
static bool make_room(struct pl_context *c, struct pl_vector_call *call) {
  struct pl_view *v = call->view[0], padded = *v;
  const int32_t lanes = (int32_t)c->lanes, rows = up(v->shape[0], lanes),
                columns = up(v->shape[1], tile_rows());

  if (lanes >= 8 && rows == v->shape[0] && columns == v->shape[1])
    return true;
  padded.shape[0] = rows + (lanes < 8 ? lanes : 0);
  padded.shape[1] = columns;
  struct pl_view *made = pl_temporary_make(c, &call->temporary[0], &padded, "pl_transpose");
  if (made == NULL)
    return false;
  made->shape[0] = v->shape[0];
  made->shape[1] = v->shape[1];
  if (call->written == NULL)
    call->written = v;
  call->view[0] = made;
  return pl_plane_of(made, &call->plane[0]);
}

void pl_transpose(pl_ref o, pl_ref x) {
  struct pl_context *c = pl_self();
  struct pl_vector_call call;
  struct pl_signature s = {0};

  if (pl_vector_again(c, PL_OP_TRANSPOSE, o, x, NULL, 0))
    return;
  struct pl_view *to = pl_use(c, o), *from = pl_use(c, x);
  if (to == NULL || from == NULL)
    return;
  if (!is_pair(to, from, true)) {
    fail_pair("pl_transpose", to, from, "rank 2, equal dtypes, and the extents exchanged");
  } else if (to->space == PL_ACC) {
    pl_fail(PL_ERROR_UNSUPPORTED, "pl_transpose: the result is in ACC; it must be in VMEM");
  } else {
    const uint32_t before = c->body_used[PL_VMEM];
    pl_vector_begin(&call, PL_OP_TRANSPOSE, 1);
    call.maker = &transposer;
    s.groups = (uint8_t)(tile_rows() / 8);
    call.view[0] = to;
    call.view[1] = from;
    if (pl_vector_place(c, &call, 0) == PL_OK && pl_vector_place(c, &call, 1) == PL_OK && make_room(c, &call))
      pl_vector_run(c, &call, &s);
    c->body_used[PL_VMEM] = before;
  }
}

/* ---- random bits ---- */

/* Key and position of the first element are scalars 3 to 6. */
static tpu_vasm_source compute_random(struct pl_program *p, const struct pl_signature *s, unsigned group) {
  const unsigned v = PL_V_RESULT + PL_V_GROUP * group;
  (void)s;
  pl_emit(p, tpu_vasm_rand(v, 3, 4, 5, (struct tpu_vasm_mask){.rgrp = group}));
  return TPU_V(v);
}

static void emit_random(struct pl_program *p, const struct pl_signature *s) {
  pl_emit_elementwise(p, s, compute_random);
}

static const struct pl_vector_maker randomiser = {emit_random, NULL};

void pl_random_bits(pl_ref o, const uint32_t key[2], uint32_t row, uint32_t column) {
  struct pl_context *c = pl_self();
  struct pl_view *view = pl_use(c, o);
  const uint32_t scalars[4] = {key[0], key[1], row, column}, before = c->body_used[PL_VMEM];
  struct pl_vector_call call;
  struct pl_signature s = {0};

  if (view == NULL)
    return;
  if (view->dtype != PL_INT32) {
    pl_fail(PL_ERROR_SHAPE, "pl_random_bits: the result is %s; it must be int32", pl_dtype_name(view->dtype));
    return;
  }
  for (unsigned i = 0; i < 4; i++) /* whole-ref operations stage no others than these and 0 to 2 */
    tpu_queue_put(c->queue[TPU_QUEUE_VPU].base, TPU_VPU_SCALAR(3 + i), scalars[i]);
  if (pl_vector_again(c, PL_OP_RANDOM, o, PL_NO_REF, NULL, 0))
    return;
  c->queue[TPU_QUEUE_VPU].owner = NULL; /* a vector function's scalars are gone */
  pl_vector_begin(&call, PL_OP_RANDOM, 0);
  call.maker = &randomiser;
  call.view[0] = view;
  if (pl_vector_place(c, &call, 0) == PL_OK)
    pl_vector_run(c, &call, &s);
  c->body_used[PL_VMEM] = before;
}

/* ---- stochastic rounding ---- */

enum { V_LOW = 0, V_HIGH = 1 }; /* constants, for all groups */

static tpu_vasm_source compute_stochastic(struct pl_program *p, const struct pl_signature *s,
                                          unsigned group) {
  const unsigned x = PL_V_SOURCE + PL_V_GROUP * group, v = PL_V_RESULT + PL_V_GROUP * group, finite = v + 1;
  (void)s;
  pl_emit(p, tpu_vasm_and(v, TPU_V(x + 1), TPU_V(V_LOW)));
  pl_emit(p, tpu_vasm_iadd(v, TPU_V(x), TPU_V(v)));
  pl_emit(p, tpu_vasm_and(v, TPU_V(v), TPU_V(V_HIGH)));
  pl_emit(p, tpu_vasm_fsub(finite, TPU_V(x), TPU_V(x))); /* else NaN */
  pl_emit(p, tpu_vasm_feq(finite, TPU_V(finite), TPU_V(finite)));
  pl_emit(p, tpu_vasm_sel(v, TPU_V(v), TPU_V(x), TPU_V(finite)));
  return TPU_V(v);
}

static void emit_stochastic(struct pl_program *p, const struct pl_signature *s) {
  pl_emit(p, tpu_vasm_const(V_LOW, 0xffff));
  pl_emit(p, tpu_vasm_const(V_HIGH, 0xffff0000u));
  pl_emit_elementwise(p, s, compute_stochastic);
}

static const struct pl_vector_maker rounder = {emit_stochastic, NULL};

void pl_stochastic_round(pl_ref o, pl_ref x, pl_ref bits) {
  struct pl_context *c = pl_self();
  const pl_ref refs[3] = {o, x, bits};
  struct pl_vector_call call;

  if (pl_vector_again(c, PL_OP_STOCHASTIC_ROUND, o, x, &bits, 0))
    return;
  const struct pl_view *to = pl_use(c, o), *from = pl_use(c, x), *random = pl_use(c, bits);
  if (to == NULL || from == NULL || random == NULL)
    return;
  if (to->dtype != PL_BF16 || from->dtype != PL_F32 || random->dtype != PL_INT32) {
    pl_fail(PL_ERROR_SHAPE, "pl_stochastic_round: %s with bits %s to %s; it is f32 with bits int32 to bf16",
            pl_dtype_name(from->dtype), pl_dtype_name(random->dtype), pl_dtype_name(to->dtype));
    return;
  }
  pl_vector_begin(&call, PL_OP_STOCHASTIC_ROUND, 2);
  call.maker = &rounder;
  pl_vector_elementwise(&call, refs, 0);
}
