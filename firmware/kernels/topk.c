/* SPDX-License-Identifier: MIT */
#include "topk.h"

#include "blocks.h"

enum { BLOCK_BYTES = 32 << 10, KEYS = 0, LAST_KEY, LAST_COLUMN };

/* An integer in the order of the f32 whose bits it is made of, and back: it is its own inverse. */
static pl_v key_of(pl_v bits) {
  const pl_v sign = pl_vsar(bits, pl_vconst_int(31));
  return pl_vxor(bits, pl_vand(sign, pl_vconst_int(0x7fffffff)));
}

/* The least integer stays free: it stands for "nothing". */
PL_VECTOR_FN(make_keys, 2, 0) {
  const pl_v key = key_of(pl_vbits_int(pl_vload(PL_REF(0))));
  pl_vstore(PL_REF(1), pl_vmax(key, pl_vconst_int(INT32_MIN + 1)));
}

PL_VECTOR_FN(begin, 2, 0) {
  pl_vstore(PL_REF(0), pl_vconst_int(INT32_MAX));
  pl_vstore(PL_REF(1), pl_vconst_int(-1));
}

/*
 * Keys, last key, last column: the next ones. Left are the elements with a lesser key, or the same and a
 * higher column. `all`: the least integer may be a key, too.
 */
static void find(bool all) {
  const pl_v last = pl_vload(PL_REF(1)), last_column = pl_vload(PL_REF(2));
  const pl_v none = pl_vconst_int(INT32_MIN), nowhere = pl_vconst_int(INT32_MAX);
  pl_v most = none, at = nowhere;

  PL_FOR_LANES(&most, &at) {
    const pl_v key = pl_vload(PL_REF(0)), column = pl_viota_columns();
    const pl_v left = all ? pl_vor(pl_vlt(key, last), pl_vand(pl_veq(key, last), pl_vlt(last_column, column)))
                          : pl_vle(key, pl_vadd(last, pl_vle(column, last_column)));
    const pl_v candidate = pl_vselect(left, key, none);
    pl_v better = pl_vlt(most, candidate);
    if (all)
      better = pl_vor(better, pl_vand(left, pl_veq(at, nowhere)));
    most = pl_vmax(most, candidate);
    at = pl_vselect(better, column, at);
  }
  const pl_v key = pl_vmax_lanes(most);
  pl_vstore(PL_REF(1), key);
  pl_vstore(PL_REF(2), pl_vmin_lanes(pl_vselect(pl_veq(most, key), at, nowhere)));
}
PL_VECTOR_FN(find_key, 3, 0) {
  find(false);
}
PL_VECTOR_FN(find_int, 3, 0) {
  find(true);
}

/* Values, indices, key, column; the number of the pass, whose column of the results this is. */
static void place(bool is_float) {
  const pl_v here = pl_veq(pl_viota_columns(), pl_vscalar(0)), key = pl_vload(PL_REF(2));
  const pl_v value = is_float ? pl_vbits_float(key_of(key)) : key;
  pl_vstore(PL_REF(0), pl_vselect(here, value, pl_vload(PL_REF(0))));
  pl_vstore(PL_REF(1), pl_vselect(here, pl_vload(PL_REF(3)), pl_vload(PL_REF(1))));
}
PL_VECTOR_FN(place_float, 4, 1) {
  place(true);
}
PL_VECTOR_FN(place_int, 4, 1) {
  place(false);
}

static void body(void) {
  const pl_ref x = pl_input(0), values = pl_output(0), indices = pl_output(1), key = pl_scratch(LAST_KEY),
               column = pl_scratch(LAST_COLUMN);
  const bool is_float = pl_ref_dtype(x) != PL_INT32;
  const pl_ref keys = is_float ? pl_scratch(KEYS) : x;

  if (is_float)
    pl_vrun(make_keys, PL_REFS(x, keys), PL_NO_SCALARS);
  pl_vrun(begin, PL_REFS(key, column), PL_NO_SCALARS);
  for (int32_t pass = 0; pass < pl_ref_extent(values, 1); pass++) {
    pl_vrun(is_float ? find_key : find_int, PL_REFS(keys, key, column), PL_NO_SCALARS);
    pl_vrun(is_float ? place_float : place_int, PL_REFS(values, indices, key, column),
            PL_SCALARS(pl_int(pass)));
  }
}

static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

pl_status kernel_topk(pl_array x, pl_array values, pl_array indices, int32_t rows) {
  if (x.rank != 2 || values.rank != 2 || indices.rank != 2 || values.shape[0] != x.shape[0] ||
      indices.shape[0] != x.shape[0] || values.shape[1] != indices.shape[1])
    return pl_error(
        PL_ERROR_SHAPE,
        "topk: x [M,N], values [M,k] and indices [M,k] are needed; x has %d rows, values %d of %d, "
        "indices %d of %d",
        (int)x.shape[0], (int)values.shape[0], (int)values.shape[1], (int)indices.shape[0],
        (int)indices.shape[1]);
  if ((x.dtype != PL_F32 && x.dtype != PL_BF16 && x.dtype != PL_INT32) || values.dtype != x.dtype ||
      indices.dtype != PL_INT32)
    return pl_error(PL_ERROR_SHAPE,
                    "topk: x is %s, values %s, indices %s; f32, bf16 or int32, the same, and int32 are right",
                    pl_dtype_name(x.dtype), pl_dtype_name(values.dtype), pl_dtype_name(indices.dtype));
  const int32_t columns = x.shape[1], k = values.shape[1];
  if (k > columns)
    return pl_error(PL_ERROR_ARGUMENT, "topk: %d of %d columns; 1 to %d are right", (int)k, (int)columns,
                    (int)columns);
  const pl_status status = blocks_rows("topk", &rows, BLOCK_BYTES / 4 / columns, 8, x.shape[0]);
  if (status != PL_OK)
    return status;
  const bool is_float = x.dtype != PL_INT32;
  const pl_kernel kernel = {
      .name = "topk",
      .body = body,
      .grid = PL_GRID(pl_cdiv(x.shape[0], rows)),
      .dimension_semantics = {PL_PARALLEL},
      .in = {PL_BLOCK(rows_map, rows, columns)},
      .out = {PL_BLOCK(rows_map, rows, k), PL_BLOCK(rows_map, rows, k)},
      .scratch = {PL_VMEM(PL_INT32, is_float ? rows : 1, is_float ? columns : 1), PL_VMEM(PL_INT32, rows, 1),
                  PL_VMEM(PL_INT32, rows, 1)},
      .cost = {.vector_elements = (uint64_t)x.shape[0] * (uint32_t)columns * (uint32_t)(8 * k + 5)},
  };
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(values, indices));
}
