/* SPDX-License-Identifier: MIT */
/*
 * Grouped matrix product, as a mixture of experts needs it: the rows of x are sorted by group, and each
 * group has a matrix of its own. o[rows of g] = x[rows of g] . y[g] for all g.
 *
 * Dataflow. A group is cut into tiles of at most `m` rows, as even as possible, that never reach into
 * another group: nothing is masked, computed twice or come back to, and no row is padded. The list of
 * tiles (group, first row, rows) is made from the sizes and is the scalar prefetch argument; the grid is
 * (tiles, columns of o, K) with a run-time number of tiles. x comes in PL_BOUNDED windows, once a tile if K
 * is one block; y in blocks with lookahead; every block of o goes from ACC through VMEM to HBM once.
 *
 * Position in the roofline. A tile of r rows costs the matrix unit max(r, 17) cycles for each 16 x 16
 * weights and the port 2 x 16 x 16 / 16 = 32 cycles (bf16) for fetching these weights: below 32 rows a
 * tile is bound by the port, above it by the matrix unit. So tiles of both kinds take turns: one that is
 * bound by the port follows when those before it have left enough time for its weights, as far as buffers can
 * hold them. Whatever order the groups come in, the port's time hides behind the matrix unit's.
 * HBM traffic: y once a tile, x once a tile and, if K has several blocks, once more for each further
 * block of columns; o once.
 */
#ifndef KERNELS_GMM_H
#define KERNELS_GMM_H

#include "pallas.h"

/* Largest tile (rows), block of columns, block of K; buffers of y's blocks (0: 3). */
struct gmm_blocks {
  int32_t m, n, k;
  uint8_t buffers;
};

/*
 * blocks: NULL for what was tuned for G x M x K x N (tuned.h), or else 96 x 128 x K (256 at most) and 5
 * buffers. x [M,K], y [G,K,N], o [M,N], sizes int32 [G] in HBM, where the scalar core reads them: sizes[g] >=
 * 0 rows belong to group g, in order, and together at most M; rows of o behind them keep what they hold. bf16
 * by bf16 to bf16 or f32, int8 by int8 to int32. Any M, K, N, G and blocks that fit on the chip.
 * PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (blocks, sizes: the message has the group); others as pl_call().
 */
pl_status kernel_gmm(pl_array x, pl_array y, pl_array sizes, pl_array o, const struct gmm_blocks *blocks);

/*
 * Products of a batch of which each has its own number of rows, known at run time only: x [B,M,K], y [B,K,N]
 * or [K,N] for all, o [B,M,N], rows int32 [B]. Rows rows[b] .. M - 1 of x[b] are not looked at, and those of
 * o[b] keep what they hold. The same tiles and order as above; types, blocks and errors likewise.
 */
pl_status kernel_ragged_matmul(pl_array x, pl_array y, pl_array rows, pl_array o,
                               const struct gmm_blocks *blocks);

#endif
