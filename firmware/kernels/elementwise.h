/* SPDX-License-Identifier: MIT */
/*
 * The smallest kernels there are: the sum of two arrays, and an array of its own indices.
 *
 * Dataflow. Blocks of whole rows, each fetched, added and written back once; with two buffers an operand the
 * port is always at work, and the vector unit a third of the time.
 *
 * Position in the roofline. Bound by the port: an addition fetches two elements for the one it writes, iota
 * only writes. One operation of the vector ALU an element.
 */
#ifndef KERNELS_ELEMENTWISE_H
#define KERNELS_ELEMENTWISE_H

#include "pallas.h"

/*
 * o = x + y. All [M,N], of one dtype (f32, bf16, int32), in HBM; o may be x or y, if these
 * are apart. rows: of a block, 0 for as
 * many as make it 16 KiB. int32 wraps around; bf16 is added in f32 and rounded. PL_ERROR_SHAPE,
 * PL_ERROR_ARGUMENT; others as pl_call().
 */
pl_status kernel_add(pl_array x, pl_array y, pl_array o, int32_t rows);

/*
 * o[m][n] = m if dimension is 0, n if it is 1. o int32 [M,N] in HBM; rows as above. PL_ERROR_SHAPE,
 * PL_ERROR_ARGUMENT; others as pl_call().
 */
pl_status kernel_iota(pl_array o, int32_t dimension, int32_t rows);

#endif
