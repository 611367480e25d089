/* SPDX-License-Identifier: MIT */
/*
 * Product with a matrix that is zero in whole blocks: o[M,N] = x[M,K] . y[K,N], where a mask says which
 * blocks of y count. A block whose mask is 0 is neither fetched nor multiplied, whatever it holds.
 *
 * Dataflow: output-stationary. The list of the blocks that count, column of blocks by column of blocks, is
 * made from the mask and is the scalar prefetch argument; the grid is (rows of blocks, list) with a run-time
 * length. A column of blocks without any that counts has one entry, which writes zeros and leaves the inputs'
 * blocks where they are.
 *
 * Position in the roofline. That of the dense product with the blocks that count: an entry costs bk bn / 256
 * x max(bm, 17) cycles of the matrix unit and (bm bk + bk bn) x element size / 16 of the port, at least some
 * 1700 instructions of the scalar core. Blocks of 128 in bf16 are bound by the matrix unit (8192 to 4096).
 * HBM traffic: x's and y's block once an entry (x's stays if two in a row need the same), o once.
 */
#ifndef KERNELS_BLOCK_SPARSE_H
#define KERNELS_BLOCK_SPARSE_H

#include "matmul.h"

/*
 * Arrays in HBM, row-major; mask: int32 [ceil(K / blocks.k), ceil(N / blocks.n)], read by the scalar core.
 * Types and any shapes as kernel_matmul(). PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (blocks); others as pl_call().
 */
pl_status kernel_block_sparse(pl_array x, pl_array y, pl_array mask, pl_array o,
                              const struct matmul_blocks *blocks);

#endif
