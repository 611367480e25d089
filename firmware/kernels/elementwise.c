/* SPDX-License-Identifier: MIT */
#include "elementwise.h"

#include "blocks.h"

enum { BLOCK_BYTES = 16 << 10 };

static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

static void add_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}

/* Row and column of a block's elements; rows are counted from the block's first one. */
PL_VECTOR_FN(row_numbers, 1, 1) {
  pl_vstore(PL_REF(0), pl_vadd(pl_viota_rows(), pl_vscalar(0)));
}
PL_VECTOR_FN(column_numbers, 1, 0) {
  pl_vstore(PL_REF(0), pl_viota_columns());
}

static void rows_body(void) {
  const pl_ref o = pl_output(0);
  pl_vrun(row_numbers, PL_REFS(o), PL_SCALARS(pl_int(pl_program_id(0) * pl_ref_extent(o, 0))));
}
static void columns_body(void) {
  pl_vrun(column_numbers, PL_REFS(pl_output(0)), PL_NO_SCALARS);
}

/* Rows of a block of that many bytes. */
static pl_status choose_rows(const char *name, const pl_array *o, int32_t *rows) {
  return blocks_rows(name, rows, BLOCK_BYTES / (int32_t)pl_dtype_bytes((pl_dtype)o->dtype) / o->shape[1], 1,
                     o->shape[0]);
}

static bool same_kind(const pl_array *a, const pl_array *o) {
  return a->rank == 2 && a->dtype == o->dtype && a->shape[0] == o->shape[0] && a->shape[1] == o->shape[1];
}

static bool same_memory(const pl_array *a, const pl_array *o) {
  return a->space == o->space && a->address == o->address;
}

pl_status kernel_add(pl_array x, pl_array y, pl_array o, int32_t rows) {
  if (o.rank != 2 || (o.dtype != PL_F32 && o.dtype != PL_BF16 && o.dtype != PL_INT32) || !same_kind(&x, &o) ||
      !same_kind(&y, &o))
    return pl_error(
        PL_ERROR_SHAPE,
        "add: three arrays of one shape [M,N] and dtype, f32, bf16 or int32, are needed; x has rank "
        "%d, %d rows of %d %s, y %d, %d of %d %s, o %d, %d of %d %s",
        (int)x.rank, (int)x.shape[0], (int)x.shape[1], pl_dtype_name(x.dtype), (int)y.rank, (int)y.shape[0],
        (int)y.shape[1], pl_dtype_name(y.dtype), (int)o.rank, (int)o.shape[0], (int)o.shape[1],
        pl_dtype_name(o.dtype));
  const pl_status status = choose_rows("add", &o, &rows);
  if (status != PL_OK)
    return status;
  const pl_block_spec *const block = PL_BLOCK(rows_map, rows, o.shape[1]);
  pl_block_spec output = *block;
  output.alias = same_memory(&x, &o) ? PL_ALIAS(0) : same_memory(&y, &o) ? PL_ALIAS(1) : 0;
  const pl_kernel kernel = {
      .name = "add",
      .body = add_body,
      .grid = PL_GRID(pl_cdiv(o.shape[0], rows)),
      .dimension_semantics = {PL_PARALLEL},
      .in = {block, block},
      .out = {&output},
      .cost = {.vector_elements = (uint64_t)o.shape[0] * (uint32_t)o.shape[1]},
  };
  return pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

pl_status kernel_iota(pl_array o, int32_t dimension, int32_t rows) {
  if (o.rank != 2 || o.dtype != PL_INT32)
    return pl_error(PL_ERROR_SHAPE, "iota: o is %s of rank %d; int32 [M,N] is needed", pl_dtype_name(o.dtype),
                    (int)o.rank);
  if (dimension != 0 && dimension != 1)
    return pl_error(PL_ERROR_ARGUMENT, "iota: dimension %d of o; 0 and 1 are right", (int)dimension);
  const pl_status status = choose_rows("iota", &o, &rows);
  if (status != PL_OK)
    return status;
  const pl_kernel kernel = {
      .name = "iota",
      .body = dimension == 0 ? rows_body : columns_body,
      .grid = PL_GRID(pl_cdiv(o.shape[0], rows)),
      .dimension_semantics = {PL_PARALLEL},
      .out = {PL_BLOCK(rows_map, rows, o.shape[1])},
      .cost = {.vector_elements = (uint64_t)o.shape[0] * (uint32_t)o.shape[1]},
  };
  return pl_call(&kernel, (pl_arrays){NULL, 0}, PL_RESULTS(o));
}
