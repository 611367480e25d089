/* SPDX-License-Identifier: MIT */
#include "argmax.h"

#include "blocks.h"

enum { BLOCK_BYTES = 32 << 10 };

static void body(void) {
  pl_argmax(pl_output(0), pl_input(0));
}

static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

pl_status kernel_argmax(pl_array x, pl_array indices, int32_t rows) {
  if (x.rank != 2 || indices.rank != 1 || indices.shape[0] != x.shape[0] || indices.dtype != PL_INT32 ||
      (x.dtype != PL_F32 && x.dtype != PL_BF16 && x.dtype != PL_INT32))
    return pl_error(
        PL_ERROR_SHAPE,
        "argmax: f32, bf16 or int32 [M,N] and int32 [M] are needed; x is %s of rank %d with %d rows, "
        "indices %s of rank %d with %d",
        pl_dtype_name(x.dtype), (int)x.rank, (int)x.shape[0], pl_dtype_name(indices.dtype), (int)indices.rank,
        (int)indices.shape[0]);
  const pl_status status = blocks_rows(
      "argmax", &rows, BLOCK_BYTES / (int32_t)pl_dtype_bytes((pl_dtype)x.dtype) / x.shape[1], 8, x.shape[0]);
  if (status != PL_OK)
    return status;
  const uint32_t operations = x.dtype == PL_INT32 ? 4 : 8;
  const pl_kernel kernel = {
      .name = "argmax",
      .body = body,
      .grid = PL_GRID(pl_cdiv(x.shape[0], rows)),
      .dimension_semantics = {PL_PARALLEL},
      .in = {PL_BLOCK(rows_map, rows, x.shape[1])},
      .out = {PL_BLOCK(rows_map, rows)},
      .cost = {.vector_elements = (uint64_t)x.shape[0] * (uint32_t)x.shape[1] * operations},
  };
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(indices));
}
