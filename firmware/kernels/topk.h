/* SPDX-License-Identifier: MIT */
/*
 * The k largest elements of each row and their columns, in descending order; of equals the one with the lower
 * column comes first.
 *
 * Dataflow. A block of whole rows; k passes over it, each of which finds the largest element behind the last
 * one in the order (key, column). A pass reads and writes nothing but two numbers a row: elements are never
 * taken out of the block. Floats are compared as integer keys, made once, whose order is that of the floats:
 * -0 before 0, and NaNs with a clear sign bit before infinity.
 *
 * Position in the roofline. About 8 operations an element and pass (13 for int32, whose least value needs
 * care): (8 k + 5) / 16 cycles an element against 1/4 for fetching an f32. Always bound by the vector unit.
 * HBM traffic: x once, results once.
 */
#ifndef KERNELS_TOPK_H
#define KERNELS_TOPK_H

#include "pallas.h"

/*
 * x [M,N] f32, bf16 or int32; values [M,k] of x's dtype, indices int32 [M,k], 1 <= k <= N; in HBM. rows: of
 * a block, 0 for as many as make it 32 KiB. PL_ERROR_SHAPE, PL_ERROR_ARGUMENT; others as pl_call(), of which
 * PL_ERROR_BUDGET says that a block of whole rows does not fit.
 */
pl_status kernel_topk(pl_array x, pl_array values, pl_array indices, int32_t rows);

#endif
