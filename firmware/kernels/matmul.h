/* SPDX-License-Identifier: MIT */
/*
 * Tiled matrix product, output-stationary: o[M,N] = x[M,K] . y[K,N], accumulated over K in ACC.
 *
 * bf16 x bf16 with f32 accumulation into bf16 or f32; int8 x int8 with int32 accumulation into int32. f32
 * operands are rounded to bf16 (in more passes: matmul_general.h).
 * HBM traffic: x once per column of blocks, y once per row of blocks, o once.
 */
#ifndef KERNELS_MATMUL_H
#define KERNELS_MATMUL_H

#include "pallas.h"

/* Block shape, buffers of the inputs and the output (0: 2), lookahead of the inputs. */
struct matmul_blocks {
  int32_t m, n, k;
  uint8_t buffers;
  bool lookahead;
};

/* A default block: `most`, or the whole extent in whole tiles if that is less. */
static inline int32_t matmul_default(int32_t most, int32_t extent, int32_t tile) {
  const int32_t whole = pl_cdiv(extent, tile) * tile;
  return whole > 0 && whole < most ? whole : most;
}
enum { MATMUL_ROW_TILE = 8, MATMUL_TILE = 16 }; /* of rows; of columns and K */

/*
 * blocks: NULL for what was tuned for this shape (tuned.h), or else 128 x 128 x 128, less where the shape is,
 * and two buffers. Arrays
 * in HBM (or on the chip: then used in place), row-major. PL_ERROR_SHAPE if the shapes or dtypes do not fit;
 * other errors as pl_call().
 */
pl_status kernel_matmul(pl_array x, pl_array y, pl_array o, const struct matmul_blocks *blocks);

#endif
