/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include "blocks.h"
#include "device.h"

enum { BLOCK_BYTES = 128 << 10, COMBINED = 3 /* refs that one launch takes */ };

/* What maps and body need of a call. */
struct call {
  struct pool pool;
  int32_t rows, columns, channels, out_rows, out_columns;
  int32_t wide, across; /* pixels of a line, and of its results */
  pl_vector_fn *two;    /* two rows of the result at once; NULL: there is no function for it */
};

/* PL_REF(0) = all others, combined. */
static void combine(bool most, unsigned n) {
  pl_v v = pl_vload(PL_REF(1));
  for (unsigned i = 2; i <= n; i++)
    v = most ? pl_vmax(v, pl_vload(PL_REF(i))) : pl_vadd(v, pl_vload(PL_REF(i)));
  pl_vstore(PL_REF(0), v);
}
PL_VECTOR_FN(most1, 2, 0) {
  combine(true, 1);
}
PL_VECTOR_FN(most2, 3, 0) {
  combine(true, 2);
}
PL_VECTOR_FN(most3, 4, 0) {
  combine(true, 3);
}
PL_VECTOR_FN(sum1, 2, 0) {
  combine(false, 1);
}
PL_VECTOR_FN(sum2, 3, 0) {
  combine(false, 2);
}
PL_VECTOR_FN(sum3, 4, 0) {
  combine(false, 3);
}
PL_VECTOR_FN(scale, 2, 1) {
  pl_vstore(PL_REF(0), pl_vmul(pl_vload(PL_REF(1)), pl_vscalar(0)));
}

/*
 * Two rows of the result at once, PL_REF(0) and PL_REF(1), from window + stride rows: those that are of both
 * windows are loaded once.
 */
static void combine_two(bool most, unsigned window, unsigned stride) {
  pl_v v[2];
  for (unsigned i = 0; i < window + stride; i++) {
    const pl_v x = pl_vload(PL_REF(2 + i));
    for (unsigned k = 0; k < 2; k++)
      if (i == k * stride)
        v[k] = x;
      else if (i > k * stride && i < k * stride + window)
        v[k] = most ? pl_vmax(v[k], x) : pl_vadd(v[k], x);
  }
  pl_vstore(PL_REF(0), v[0]);
  pl_vstore(PL_REF(1), v[1]);
}
/* The windows and strides that there are functions for. */
PL_VECTOR_FN(most_2_2, 6, 0) {
  combine_two(true, 2, 2);
}
PL_VECTOR_FN(most_3_1, 6, 0) {
  combine_two(true, 3, 1);
}
PL_VECTOR_FN(most_3_2, 7, 0) {
  combine_two(true, 3, 2);
}
PL_VECTOR_FN(sum_2_2, 6, 0) {
  combine_two(false, 2, 2);
}
PL_VECTOR_FN(sum_3_1, 6, 0) {
  combine_two(false, 3, 1);
}
PL_VECTOR_FN(sum_3_2, 7, 0) {
  combine_two(false, 3, 2);
}
static pl_vector_fn *two_rows(const struct pool *pool) {
  pl_vector_fn *const fns[2][3] = {{sum_2_2, sum_3_1, sum_3_2}, {most_2_2, most_3_1, most_3_2}};
  static const uint8_t window[] = {2, 3, 3}, stride[] = {2, 1, 2};
  for (unsigned i = 0; i < 3; i++)
    if (pool->window[0] == window[i] && pool->stride[0] == stride[i])
      return fns[pool->kind == POOL_MAX][i];
  return NULL;
}

/* n parts of a ref: part i has `rows` rows, first + i x step and on, `stride` apart. */
struct parts {
  pl_ref ref;
  int32_t first, step, n;
  int32_t rows, stride;
};

static pl_ref part_of(const struct parts *parts, int32_t i) {
  return pl_at(parts->ref, PL_DS_STRIDED(parts->first + i * parts->step, parts->rows, parts->stride));
}

/* o = all parts combined: a launch for the first few, and more that add to it. */
static void combine_parts(bool most, pl_ref o, const struct parts *parts) {
  pl_vector_fn *const fns[2][COMBINED] = {{sum1, sum2, sum3}, {most1, most2, most3}};
  pl_ref list[COMBINED + 1];

  list[0] = o;
  for (int32_t taken = 0; taken < parts->n;) {
    uint32_t refs = 1;
    if (taken > 0)
      list[refs++] = o;
    while (taken < parts->n && refs <= COMBINED)
      list[refs++] = part_of(parts, taken++);
    pl_vrun(fns[most][refs - 2], (pl_refs){list, refs}, PL_NO_SCALARS);
  }
}

/* As pl_fill() takes it. */
static uint32_t least_of(pl_dtype dtype) {
  return dtype == PL_INT8 ? (uint32_t)INT8_MIN : dtype == PL_UINT8 ? 0 : pl_float_bits(-__builtin_inff());
}

/* Rows of x that the windows of a row of the result reach: first and behind the last. */
static void reach(const struct call *call, int32_t row, int32_t *first, int32_t *end) {
  const int32_t start = row * call->pool.stride[0] - call->pool.padding[0],
                behind = start + call->pool.window[0];
  *first = start < 0 ? 0 : start;
  *end = behind < call->rows ? behind : call->rows;
}

static int32_t last_row(const struct call *call, int32_t first) {
  const int32_t last = first + call->pool.rows - 1;
  return last < call->out_rows ? last : call->out_rows - 1;
}

static void x_map(const pl_grid *g, pl_index *b) {
  const struct call *const call = g->user;
  const int32_t row = g->id[1] * call->pool.rows;
  int32_t first, end, unused;

  reach(call, row, &first, &unused);
  reach(call, last_row(call, row), &unused, &end);
  b[0].start = g->id[0];
  b[1].start = first * call->columns;
  b[1].size = (end - first) * call->columns;
}

static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

/* Row r of the result's lines, without padding. */
static pl_ref line_of(const struct call *call, int32_t r) {
  return pl_at(pl_scratch(0), PL_DS(r * call->wide + call->pool.padding[1], call->columns));
}

/* Lines of x, one below the other, from the rows of the windows of `rows` rows of the result. */
static void combine_rows(const struct call *call, int32_t row, int32_t rows) {
  const bool most = call->pool.kind == POOL_MAX;
  const int32_t columns = call->columns, window = call->pool.window[0], both = window + call->pool.stride[0];
  int32_t origin, first, end, last, unused;

  reach(call, row, &origin, &end);
  for (int32_t r = 0; r < rows; r++) {
    reach(call, row + r, &first, &end);
    struct parts down = {pl_input(0), (first - origin) * columns, columns, end - first, columns, 1};
    if (call->two != NULL && r + 1 < rows && down.n == window) {
      reach(call, row + r + 1, &unused, &last);
      if (last - first == both) {
        pl_ref list[PL_MAX_VECTOR_REFS];
        list[0] = line_of(call, r);
        list[1] = line_of(call, r + 1);
        for (int32_t i = 0; i < both; i++)
          list[2 + i] = part_of(&down, i);
        pl_vrun(call->two, (pl_refs){list, 2 + (uint32_t)both}, PL_NO_SCALARS);
        r++;
        continue;
      }
    }
    combine_parts(most, line_of(call, r), &down);
  }
}

/*
 * Scratch 0: lines of x with their padding, combined over the window's rows; 1, averages: the sums. A line
 * has `across` times as many pixels as the stride, so that pixel i of all lines' results begins at pixel i x
 * stride: the results behind a line's last one are of no use, and not written back.
 */
static void body(void) {
  const struct call *const call = pl_user();
  const struct pool *const pool = &call->pool;
  const bool most = pool->kind == POOL_MAX;
  const int32_t row = pl_program_id(1) * pool->rows, rows = last_row(call, row) + 1 - row,
                pixels = (rows - 1) * call->across + call->out_columns;
  const pl_ref lines = pl_scratch(0);

  if (row == 0 && pl_program_id(0) == 0)
    pl_fill(lines, most ? least_of(pl_ref_dtype(lines)) : 0);
  combine_rows(call, row, rows);
  const struct parts across = {lines, 0, 1, pool->window[1], pixels, pool->stride[1]};
  const pl_ref o =
      pl_at(pl_reshape(pl_output(0), PL_SHAPE(pool->rows * call->across, call->channels)), PL_DS(0, pixels));
  if (most) {
    combine_parts(true, o, &across);
    return;
  }
  const pl_ref sum = pl_at(pl_scratch(1), PL_DS(0, pixels));
  combine_parts(false, sum, &across);
  pl_vrun(scale, PL_REFS(o, sum), PL_SCALARS(pl_float(1.0f / (float)(pool->window[0] * pool->window[1]))));
}

/* ---- arguments ---- */

static int32_t result_of(const struct pool *pool, int axis, int32_t extent) {
  const int32_t room = extent + 2 * pool->padding[axis] - pool->window[axis];
  return room < 0 ? 0 : room / pool->stride[axis] + 1;
}

static pl_status check(const pl_array *x, const pl_array *o, const struct pool *pool) {
  for (int axis = 0; axis < 2; axis++)
    if (pool->window[axis] < 1 || pool->stride[axis] < 1 || pool->padding[axis] < 0 ||
        pool->padding[axis] >= pool->window[axis])
      return pl_error(
          PL_ERROR_ARGUMENT,
          "pool: window %d, stride %d, padding %d of %s; at least 1, at least 1, and 0 to window - "
          "1 are right",
          (int)pool->window[axis], (int)pool->stride[axis], (int)pool->padding[axis],
          axis == 0 ? "rows" : "columns");
  if (x->rank != 4 || o->rank != 4)
    return pl_error(PL_ERROR_SHAPE, "pool: x [N,H,W,C] and o [N,OH,OW,C] are needed; ranks are %d and %d",
                    x->rank, o->rank);
  const int32_t rows = result_of(pool, 0, x->shape[1]), columns = result_of(pool, 1, x->shape[2]);
  if (rows == 0 || columns == 0 || o->shape[0] != x->shape[0] || o->shape[1] != rows ||
      o->shape[2] != columns || o->shape[3] != x->shape[3])
    return pl_error(PL_ERROR_SHAPE,
                    "pool: x is %d x %d x %d x %d, o %d x %d x %d x %d; with this window o has %d rows of %d "
                    "columns, and x's images and channels",
                    (int)x->shape[0], (int)x->shape[1], (int)x->shape[2], (int)x->shape[3], (int)o->shape[0],
                    (int)o->shape[1], (int)o->shape[2], (int)o->shape[3], (int)rows, (int)columns);
  if (o->dtype != x->dtype || x->dtype == PL_INT32 || (pool->kind != POOL_MAX && !pl_is_float(x->dtype)))
    return pl_error(PL_ERROR_SHAPE, "pool: x is %s, o %s; the same, %s, are right", pl_dtype_name(x->dtype),
                    pl_dtype_name(o->dtype),
                    pool->kind == POOL_MAX ? "f32, bf16, int8 or uint8" : "f32 or bf16");
  return PL_OK;
}

/* Rows of x that the windows of so many rows of the result reach. */
static int32_t reached_by(const struct call *call, int32_t rows) {
  const int32_t reached = (rows - 1) * call->pool.stride[0] + call->pool.window[0];
  return reached < call->rows ? reached : call->rows;
}

/* As many as make x's block BLOCK_BYTES without what blocks share, and everything fit. */
static int32_t default_rows(const struct call *call, pl_dtype dtype) {
  const int32_t lanes = (int32_t)boot_params.value[TPU_PARAM_LANES], bytes = (int32_t)pl_dtype_bytes(dtype),
                pixel = pl_cdiv(call->channels, lanes) * lanes,
                room = (int32_t)boot_params.value[TPU_PARAM_VMEM_BYTES] / 8 * 7 / pixel;
  const bool most = call->pool.kind == POOL_MAX;
  int32_t rows = BLOCK_BYTES / bytes / (call->pool.stride[0] * call->columns * pixel);

  for (; rows > 1; rows--) {
    const int32_t x = reached_by(call, rows) * call->columns, o = rows * call->across,
                  lines = rows * call->wide;
    if (2 * (x + o) * bytes + (most ? lines * bytes : (lines + o) * 4) <= room)
      break;
  }
  return rows;
}

pl_status kernel_pool(pl_array x, pl_array o, const struct pool *pool) {
  pl_status status = check(&x, &o, pool);

  if (status != PL_OK)
    return status;
  const int32_t images = x.shape[0], columns = x.shape[2], channels = x.shape[3], stride = pool->stride[1];
  const bool most = pool->kind == POOL_MAX;
  struct call call = {.pool = *pool,
                      .rows = x.shape[1],
                      .columns = columns,
                      .channels = channels,
                      .out_rows = o.shape[1],
                      .out_columns = o.shape[2]};
  const int32_t used = (call.out_columns - 1) * stride + pool->window[1], filled = columns + pool->padding[1];
  call.across = pl_cdiv(used > filled ? used : filled, stride);
  call.wide = call.across * stride;
  call.two = two_rows(&call.pool);
  status = blocks_rows("pool", &call.pool.rows, default_rows(&call, x.dtype), 1, call.out_rows);
  if (status != PL_OK)
    return status;
  const int32_t reached = reached_by(&call, call.pool.rows),
                loaded = pool->window[0] + (call.two != NULL ? pool->stride[0] : pool->window[0]);
  /* Rows one behind the other: pixels. */
  x.rank = 3;
  x.shape[1] *= columns;
  x.shape[2] = channels;
  const pl_kernel kernel = {
      .name = "pool",
      .body = body,
      .grid = PL_GRID(images, pl_cdiv(call.out_rows, call.pool.rows)),
      .in = {PL_SPEC(PL_DIMS(1, reached * columns, channels), .map = x_map, .kind = {PL_SQUEEZED, PL_BOUNDED},
                     .fill = PL_FILL_UNSPECIFIED)},
      .out = {PL_SPEC(PL_DIMS(1, call.pool.rows, call.across, channels), .map = o_map,
                      .kind = {PL_SQUEEZED})},
      .scratch = {PL_VMEM(most ? x.dtype : PL_F32, call.pool.rows * call.wide, channels),
                  PL_VMEM(PL_F32, most ? 1 : call.pool.rows * call.across, most ? 1 : channels)},
      .user = &call,
      .cost = {.vector_elements = (uint64_t)images * (uint32_t)call.out_rows * (uint32_t)channels *
                                  (uint32_t)(columns * loaded / 2 + call.out_columns * pool->window[1]),
               .instructions =
                   (uint64_t)(uint32_t)images *
                   (uint32_t)(1100 * pl_cdiv(call.out_rows, call.pool.rows) + 1200 * call.out_rows)},
  };
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}
