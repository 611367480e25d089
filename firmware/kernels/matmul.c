/* SPDX-License-Identifier: MIT */
#include "matmul.h"

#include "tuned.h"

static void body(void) {
  pl_ref x = pl_input(0), y = pl_input(1), o = pl_output(0), acc = pl_scratch(0);

  pl_dot(acc, x, y, pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(o, acc);
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[2];
}

static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2];
  b[1].start = g->id[1];
}

static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static struct matmul_blocks chosen_blocks(const pl_array *x, const pl_array *y) {
  const uint16_t *tuned = tuned_find(TUNED_MATMUL, x->dtype, PL_SHAPE(x->shape[0], y->shape[1], x->shape[1]));

  if (tuned == NULL)
    return (struct matmul_blocks){matmul_default(128, x->shape[0], MATMUL_ROW_TILE),
                                  matmul_default(128, y->shape[1], MATMUL_TILE),
                                  matmul_default(128, x->shape[1], MATMUL_TILE), 2, false};
  return (struct matmul_blocks){tuned[0], tuned[1], tuned[2], (uint8_t)tuned[3], tuned[4] != 0};
}

pl_status kernel_matmul(pl_array x, pl_array y, pl_array o, const struct matmul_blocks *blocks) {
  if (x.rank != 2 || y.rank != 2 || o.rank != 2 || x.shape[1] != y.shape[0] || o.shape[0] != x.shape[0] ||
      o.shape[1] != y.shape[1])
    return pl_error(PL_ERROR_SHAPE,
                    "matmul: x [M,K], y [K,N] and o [M,N] are needed; x has %d columns, y %d rows",
                    (int)x.shape[1], (int)y.shape[0]);
  const struct matmul_blocks b = blocks != NULL ? *blocks : chosen_blocks(&x, &y);
  const int32_t bm = b.m, bn = b.n, bk = b.k;
  if (bm <= 0 || bn <= 0 || bk <= 0)
    return pl_error(PL_ERROR_ARGUMENT, "matmul: blocks of %d x %d x %d; each must be at least 1", (int)bm,
                    (int)bn, (int)bk);
  const pl_kernel kernel = {
      .name = "matmul",
      .body = body,
      .grid = PL_GRID(pl_cdiv(o.shape[0], bm), pl_cdiv(o.shape[1], bn), pl_cdiv(x.shape[1], bk)),
      .dimension_semantics = {PL_PARALLEL, PL_PARALLEL, PL_ARBITRARY},
      .in = {PL_SPEC(PL_DIMS(bm, bk), .map = x_map, .buffer_count = b.buffers, .lookahead = b.lookahead),
             PL_SPEC(PL_DIMS(bk, bn), .map = y_map, .buffer_count = b.buffers, .lookahead = b.lookahead)},
      .out = {PL_BUFFERED(b.buffers, o_map, bm, bn)},
      .scratch = {PL_ACC(x.dtype == PL_INT8 ? PL_INT32 : PL_F32, bm, bn)},
      .cost = {.dot = {bm, bn, bk}, .vector_elements = (uint64_t)o.shape[0] * (uint32_t)o.shape[1]},
  };
  return pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}
