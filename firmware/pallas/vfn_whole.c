/* SPDX-License-Identifier: MIT */
/*
 * Whole-ref operations: each is a vector function whose body looks up, while it is recorded, which operation
 * it is for and what dtypes its refs have. The result is ref 0.
 *
 * They are checked by rules of their own, so that messages speak of the operation, its result and its
 * sources. One element a row may lie along a row of the result, too: it is seen as a column then, whose rows
 * are one element apart.
 */
#include "vfn_whole.h"

enum operation {
  COPY,
  BROADCAST,
  ADD,
  SUB,
  MUL,
  MAX,
  MIN,
  LESS,
  LESS_EQUAL,
  EQUAL,
  NOT_EQUAL,
  RELU,      /* max(x, 0) */
  BIAS_RELU, /* max(x + bias, 0) */
  WHERE,     /* sources a, b, mask */
  FILL,
  IOTA_ROWS,
  IOTA_COLUMNS,
  ARGMAX,
  REDUCE, /* + enum reducer + 3 x enum pl_reduction: the last nine */
};
enum reducer { SUM, MOST, LEAST };

/* ---- checks ---- */

pl_status vfn_fail_shapes(const pl_vector_fn *fn, const struct pl_view *result,
                          const struct pl_view *source) {
  return pl_fail(PL_ERROR_SHAPE, "%s: %pT %pS does not go into %pT %pS", fn->name, source, source, result,
                 result);
}

static bool check_elementwise(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  const struct pl_plane *const o = &plane[0];

  for (unsigned i = 1; i < fn->refs; i++) {
    const struct pl_plane *const x = &plane[i];
    const bool may = (fn->narrow >> i & 1) != 0;
    if ((x->rows != o->rows && !(may && x->rows == 1)) ||
        (x->columns != o->columns && !(may && x->columns == 1))) {
      vfn_fail_shapes(fn, view[0], view[i]);
      return false;
    }
  }
  return true;
}

const struct vfn_whole vfn_elementwise = {check_elementwise, NULL, NULL};

/* Operations on two sources or more: one register type, and an int mask. */
static bool check_sources(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  if (!check_elementwise(fn, view, plane))
    return false;
  if (pl_is_float(view[1]->dtype) != pl_is_float(view[2]->dtype))
    pl_fail(PL_ERROR_SHAPE, "%s: %pT and %pT; cast one with pl_copy", fn->name, view[1], view[2]);
  else if (fn->refs > 3 && pl_is_float(view[3]->dtype))
    pl_fail(PL_ERROR_SHAPE, "%s: the mask is %pT; it must be int32, int8 or uint8", fn->name, view[3]);
  return pl_context.status == PL_OK;
}

static bool check_reduction(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane) {
  struct pl_plane *const to = &plane[0], *const from = &plane[1];
  const unsigned over =
      fn->operation == ARGMAX ? (unsigned)PL_OVER_COLUMNS : (fn->operation - (unsigned)REDUCE) / 3;
  const bool column = to->rows == from->rows && to->columns == 1;
  const bool row = to->rows == 1 && to->columns == from->rows && view[0]->space == PL_VMEM;

  if (fn->operation == ARGMAX &&
      (view[0]->dtype != PL_INT32 || view[0]->space != PL_VMEM || !(column || row))) {
    pl_fail(PL_ERROR_SHAPE, "%s: the result must be int32 in VMEM with one element for each of %d rows",
            fn->name, (int)from->rows);
    return false;
  }
  if (!(over == PL_OVER_COLUMNS ? column || row
        : over == PL_OVER_ROWS  ? to->rows == 1 && to->columns == from->columns
                                : to->rows == 1 && to->columns == 1)) {
    vfn_fail_shapes(fn, view[0], view[1]);
    pl_message_add("; the result of a reduction of %d rows of %d columns has %d rows and %d columns",
                   (int)from->rows, (int)from->columns, over == PL_OVER_COLUMNS ? (int)from->rows : 1,
                   over == PL_OVER_ROWS ? (int)from->columns : 1);
    return false;
  }
  if (over == PL_OVER_COLUMNS && !column)
    *to = (struct pl_plane){to->columns, 1, (int32_t)pl_dtype_bytes(view[0]->dtype)};
  return true;
}

static const struct vfn_whole of_sources = {check_sources, NULL, NULL},
                              reduction = {check_reduction, NULL, NULL};

/* ---- bodies ---- */

/* Int to a narrower int wraps, as casts do; the store would saturate. */
static pl_v wrap(pl_v v, unsigned to, unsigned from) {
  if (to == PL_INT8 && from != PL_INT8)
    return pl_vsar(pl_vshl(v, pl_vconst_int(24)), pl_vconst_int(24));
  return to == PL_UINT8 && from != PL_UINT8 ? pl_vand(v, pl_vconst_int(255)) : v;
}

void vfn_store_cast(pl_v v, unsigned from) {
  const unsigned to = vfn_recording.key->side[0].dtype;
  if (pl_is_float(from) != pl_is_float(to))
    v = pl_is_float(from) ? pl_vint_rtz(v) : pl_vfloat(v);
  else
    v = wrap(v, to, from);
  pl_vstore(PL_REF(0), v);
}

static void record_elementwise(void) {
  static const uint32_t codes[] = {
      [ADD] = PL_VOP(FADD, IADD, PL_VOP_SAME),      [SUB] = PL_VOP(FSUB, ISUB, PL_VOP_SAME),
      [MUL] = PL_VOP(FMUL, IMUL, PL_VOP_SAME),      [MAX] = PL_VOP(FMAX, IMAX, PL_VOP_SAME),
      [MIN] = PL_VOP(FMIN, IMIN, PL_VOP_SAME),      [LESS] = PL_VOP(FLT, ILT, PL_V_INT),
      [LESS_EQUAL] = PL_VOP(FLE, ILE, PL_V_INT),    [EQUAL] = PL_VOP(FEQ, IEQ, PL_V_INT),
      [NOT_EQUAL] = PL_VOP(FNE, INE, PL_V_INT),     [RELU] = 0,
      [BIAS_RELU] = PL_VOP(FADD, IADD, PL_VOP_SAME)};
  const struct vfn_key *const key = vfn_recording.key;
  const unsigned operation = key->fn->operation, dtype = key->side[1].dtype;
  const pl_v x = pl_vload(PL_REF(1)), y = key->fn->refs > 2 ? pl_vload(PL_REF(2)) : PL_VNONE;
  /* Ints are computed as int32. */
  const unsigned wide = pl_is_float(dtype) ? (unsigned)PL_F32 : (unsigned)PL_INT32;

  if (operation == WHERE) {
    vfn_store_cast(pl_vselect(pl_vload(PL_REF(3)), x, y), wide);
    return;
  }
  const pl_v v =
      operation < sizeof codes / sizeof codes[0] && codes[operation] != 0 ? PL_V2(codes[operation], x, y) : x;
  if (operation >= LESS && operation <= NOT_EQUAL) { /* all bits or none: those of 1 stay */
    const bool real = pl_is_float(key->side[0].dtype);
    const pl_v one = pl_vand(v, pl_vconst_int(real ? 0x3f800000 : 1));
    pl_vstore(PL_REF(0), real ? pl_vbits_float(one) : one);
  } else if (operation == RELU || operation == BIAS_RELU)
    vfn_store_cast(pl_vmax(v, pl_vzero()), operation == RELU ? dtype : wide);
  else
    vfn_store_cast(v, operation < ADD ? dtype : wide);
}

static void record_fill(void) {
  pl_vstore(PL_REF(0), pl_vscalar(0));
}

static void record_iota(void) {
  vfn_store_cast(vfn_recording.key->fn->operation == IOTA_ROWS ? pl_viota_rows() : pl_viota_columns(),
                 PL_INT32);
}

/*
 * Whole registers are combined first, tile after tile in ascending order, and lanes or sublanes at the end,
 * in the order of docs/contract.md, section 6. What lies outside the shape is loaded as the neutral element.
 */
static void record_reduction(void) {
  static const uint32_t combine[] = {PL_VOP(FADD, IADD, PL_VOP_SAME), PL_VOP(FMAX, IMAX, PL_VOP_SAME),
                                     PL_VOP(FMIN, IMIN, PL_VOP_SAME)};
  static const uint32_t lanes[] = {PL_VOP(RL_FSUM, RL_ISUM, PL_VOP_SAME),
                                   PL_VOP(RL_FMAX, RL_IMAX, PL_VOP_SAME),
                                   PL_VOP(RL_FMIN, RL_IMIN, PL_VOP_SAME)};
  static const uint32_t rows[] = {PL_VOP(RS_FSUM, RS_ISUM, PL_VOP_SAME),
                                  PL_VOP(RS_FMAX, RS_IMAX, PL_VOP_SAME),
                                  PL_VOP(RS_FMIN, RS_IMIN, PL_VOP_SAME)};
  static const uint32_t neutral[3][2] = {{0, 0}, {0x80000000u, 0xff800000u}, {0x7fffffffu, 0x7f800000u}};
  static const uint8_t fill[] = {PL_VFILL_ZERO, PL_VFILL_MIN, PL_VFILL_MAX};
  const struct vfn_key *const key = vfn_recording.key;
  const bool real = pl_is_float(key->side[1].dtype);
  const unsigned operation = key->fn->operation - (unsigned)REDUCE, kind = operation % 3,
                 over = operation / 3;
  pl_v v = pl_vrecord_const(neutral[kind][real], real ? PL_V_FLOAT : PL_V_INT, __LINE__);

  vfn_recording.neutral = true;
  if (over == PL_OVER_COLUMNS) {
    PL_FOR_LANES(&v) v = PL_V2(combine[kind], v, pl_vload_fill(PL_REF(1), fill[kind]));
  } else if (over == PL_OVER_ROWS) {
    PL_FOR_ROWS(&v) v = PL_V2(combine[kind], v, pl_vload_fill(PL_REF(1), fill[kind]));
  } else {
    PL_FOR_ROWS(&v) {
      PL_FOR_LANES(&v) v = PL_V2(combine[kind], v, pl_vload_fill(PL_REF(1), fill[kind]));
    }
  }
  if (over != PL_OVER_ROWS)
    v = PL_V1(lanes[kind], v);
  if (over != PL_OVER_COLUMNS)
    v = PL_V1(rows[kind], v);
  vfn_store_cast(v, real ? PL_F32 : PL_INT32);
}

/*
 * Each lane carries its best value and that one's column: a value is taken if it is greater, or if it is NaN
 * and none was before. Behind the columns the first lane of those with the row's best has it. Lanes outside
 * the shape never take any.
 */
static void record_argmax(void) {
  const bool real = pl_is_float(vfn_recording.key->side[1].dtype);
  pl_v best = pl_vrecord_const(real ? 0xff800000u : 0x80000000u, real ? PL_V_FLOAT : PL_V_INT, __LINE__);
  pl_v index = pl_vconst_int(0);

  vfn_recording.neutral = true;
  PL_FOR_LANES(&best, &index) {
    const pl_v x = pl_vload_fill(PL_REF(1), PL_VFILL_MIN);
    pl_v take = pl_vlt(best, x);
    if (real)
      take = pl_vor(take, pl_vand(pl_vne(x, x), pl_veq(best, best)));
    best = pl_vselect(take, x, best);
    index = pl_vselect(take, pl_viota_columns(), index);
  }
  pl_v first = pl_veq(best, pl_vmax_lanes(best));
  if (real)
    first = pl_vor(first, pl_vne(best, best));
  pl_vstore(PL_REF(0), pl_vmin_lanes(pl_vselect(first, index, pl_vconst_int(INT32_MAX))));
}

/* ---- operations ---- */

/* One object each, so that a program has the bodies and rules of what it uses only. */
#define OPERATION(operation_, name_, body_, refs_, narrow_, whole_)                                          \
  {                                                                                                          \
    .name = (name_), .body = (body_), .refs = (refs_), .scalars = (operation_) == FILL,                      \
    .operation = (operation_), .narrow = (narrow_), .whole = &(whole_),                                      \
  }

/* The function comes last, so that those below are three instructions each. */
static __attribute__((noinline)) void binary(pl_ref o, pl_ref a, pl_ref b, pl_vector_fn *fn) {
  pl_vrun(fn, PL_REFS(o, a, b), PL_NO_SCALARS);
}
static __attribute__((noinline)) void unary(pl_ref o, pl_ref x, pl_vector_fn *fn) {
  pl_vrun(fn, PL_REFS(o, x), PL_NO_SCALARS);
}

#define BINARY(name_, operation_)                                                                            \
  static pl_vector_fn name_##_fn = OPERATION(operation_, #name_, record_elementwise, 3, 1 << 2, of_sources); \
  void name_(pl_ref o, pl_ref a, pl_ref b) {                                                                 \
    binary(o, a, b, &name_##_fn);                                                                            \
  }
BINARY(pl_add, ADD)
BINARY(pl_sub, SUB)
BINARY(pl_mul, MUL)
BINARY(pl_max, MAX)
BINARY(pl_min, MIN)
BINARY(pl_less, LESS)
BINARY(pl_less_equal, LESS_EQUAL)
BINARY(pl_equal, EQUAL)
BINARY(pl_not_equal, NOT_EQUAL)

#define REDUCTION(name_, kind_)                                                                              \
  static pl_vector_fn name_##_fn[] = {                                                                       \
      OPERATION(REDUCE + (kind_), #name_, record_reduction, 2, 0, reduction),                                \
      OPERATION(REDUCE + (kind_) + 3, #name_, record_reduction, 2, 0, reduction),                            \
      OPERATION(REDUCE + (kind_) + 6, #name_, record_reduction, 2, 0, reduction)};                           \
  void name_(pl_ref o, pl_ref x, enum pl_reduction over) {                                                   \
    unary(o, x, &name_##_fn[over]);                                                                          \
  }
REDUCTION(pl_reduce_sum, SUM)
REDUCTION(pl_reduce_max, MOST)
REDUCTION(pl_reduce_min, LEAST)

void pl_argmax(pl_ref o, pl_ref x) {
  static pl_vector_fn fn = OPERATION(ARGMAX, "pl_argmax", record_argmax, 2, 0, reduction);
  unary(o, x, &fn);
}

void pl_relu(pl_ref o, pl_ref x, pl_ref bias) {
  static pl_vector_fn plain = OPERATION(RELU, "pl_relu", record_elementwise, 2, 0, vfn_elementwise),
                      biased = OPERATION(BIAS_RELU, "pl_relu", record_elementwise, 3, 1 << 2, of_sources);
  if (bias.view == &pl_nothing)
    unary(o, x, &plain);
  else
    binary(o, x, bias, &biased);
}

void pl_where(pl_ref o, pl_ref mask, pl_ref a, pl_ref b) {
  static pl_vector_fn fn = OPERATION(WHERE, "pl_where", record_elementwise, 4, 7 << 1, of_sources);
  pl_vrun(&fn, PL_REFS(o, a, b, mask), PL_NO_SCALARS);
}

void pl_store_masked(pl_ref o, pl_ref x, pl_ref mask) {
  pl_where(o, mask, x, o);
}

static pl_vector_fn copy = OPERATION(COPY, "pl_copy", record_elementwise, 2, 0, vfn_elementwise);

void pl_store_bounded(pl_ref o, pl_ref x, int32_t rows, int32_t columns) {
  struct pl_context *const c = pl_self();
  const struct pl_view *const v = pl_use(c, o);
  struct pl_plane plane;

  if (v == NULL)
    return;
  (void)pl_plane_of(v, &plane);
  if (rows < 0 || columns < 0 || rows > plane.rows || columns > plane.columns)
    pl_fail(PL_ERROR_ARGUMENT, "pl_store_bounded: %d rows and %d columns; there are 0 to %d and 0 to %d",
            (int)rows, (int)columns, (int)plane.rows, (int)plane.columns);
  else if (rows > 0 && columns > 0)
    vfn_launch_bounded(c, &copy, (const pl_ref[]){o, x}, rows, columns);
}

void pl_broadcast(pl_ref o, pl_ref x) {
  static pl_vector_fn fn =
      OPERATION(BROADCAST, "pl_broadcast", record_elementwise, 2, 1 << 1, vfn_elementwise);
  unary(o, x, &fn);
}

static inline bool has_vector_unit(pl_ref ref) {
  return ref.view != NULL && (ref.view->space == PL_VMEM || ref.view->space == PL_ACC);
}

void pl_copy(pl_ref o, pl_ref x) {
  struct pl_context *const c = pl_self();

  if (PL_LIKELY(has_vector_unit(o) && has_vector_unit(x)))
    unary(o, x, &copy);
  else if (pl_use(c, o) != NULL && pl_use(c, x) != NULL)
    pl_sync_copy(x, o);
}

void pl_fill(pl_ref o, uint32_t value) {
  static pl_vector_fn fn = OPERATION(FILL, "pl_fill", record_fill, 1, 0, vfn_elementwise);
  pl_vrun(&fn, PL_REFS(o), PL_SCALARS(pl_int((int32_t)value)));
}

void pl_fill_view(struct pl_context *c, struct pl_view *view, uint32_t value) {
  const bool in_body = c->in_body;
  c->in_body = true;
  pl_fill((pl_ref){view, view->generation}, value);
  c->in_body = in_body;
}

void pl_iota(pl_ref o, unsigned dimension) {
  static pl_vector_fn columns = OPERATION(IOTA_COLUMNS, "pl_iota", record_iota, 1, 0, vfn_elementwise),
                      rows = OPERATION(IOTA_ROWS, "pl_iota", record_iota, 1, 0, vfn_elementwise);
  const struct pl_view *const view = pl_use(pl_self(), o);
  int32_t outer = 1;

  if (view == NULL)
    return;
  for (int d = 0; d + 2 < view->rank; d++)
    outer *= view->shape[d];
  if (dimension < view->rank && dimension + 1u == view->rank)
    pl_vrun(&columns, PL_REFS(o), PL_NO_SCALARS);
  else if (dimension + 2u == view->rank && outer == 1)
    pl_vrun(&rows, PL_REFS(o), PL_NO_SCALARS);
  else
    pl_fail(PL_ERROR_ARGUMENT,
            "pl_iota: dimension %u of %pS; it must be the last, or the last but one with only extents of 1 "
            "before",
            dimension, view);
}
