/* SPDX-License-Identifier: MIT */
/*
 * Pooling: the largest element, or the average, of a window that is moved over rows and columns of images.
 *
 * Layout [N,H,W,C]: channels are the lanes, so that a window is whole rows of VMEM, never lanes of one.
 *
 * Dataflow. The grid goes over images and blocks of rows of the result; a step fetches the rows of x that its
 * windows reach (PL_BOUNDED: fewer at the edges). Rows of windows are combined first, into lines, element by
 * element; then, of all lines at once, every stride-th pixel from each column of the window. A window of h x
 * w costs h - 1 operations an element of a line and w - 1 one of the result, not h w. For the usual windows
 * (2 rows every 2; 3 every 1 or 2) two lines are made at a time, so that rows that both need are loaded once;
 * for others, and at the upper and lower edge, one by one.
 *
 * Position in the roofline. Bound by fetching x but for large windows. Where windows of neighbouring blocks
 * overlap, those rows of x are fetched twice: blocks are as large as the chip's memory allows.
 */
#ifndef KERNELS_POOL_H
#define KERNELS_POOL_H

#include "pallas.h"

enum pool_kind { POOL_MAX, POOL_AVERAGE };

struct pool {
  enum pool_kind kind;
  int32_t window[2], stride[2]; /* rows, columns */
  /* Rows above and below, columns left and right; less than the window. They count as 0 in averages. */
  int32_t padding[2];
  int32_t rows; /* of the result in a block; 0: as many as make x's block 128 KiB, if there is room */
};

/*
 * x [N,H,W,C], o [N,OH,OW,C] of the same dtype, OH = (H + 2 padding - window) / stride + 1 rounded down, OW
 * likewise; in HBM. Largest: f32, bf16, int8, uint8, NaN if one is; average: f32, bf16, summed in f32.
 * PL_ERROR_SHAPE, PL_ERROR_ARGUMENT; others as pl_call().
 */
pl_status kernel_pool(pl_array x, pl_array o, const struct pool *pool);

#endif
