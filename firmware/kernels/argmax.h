/* SPDX-License-Identifier: MIT */
/*
 * Where the largest element of each row is: the first one of equals, and the first NaN if there is one.
 *
 * Dataflow. A block of whole rows; one pass over it in which each lane keeps its largest element and that
 * one's column, then the lanes are compared.
 *
 * Position in the roofline. 8 operations of the vector ALU an element of f32 and bf16, because NaN counts, 4
 * of int32, against 1/4 of a cycle for fetching an f32: bound by the vector unit, int32 by both alike.
 */
#ifndef KERNELS_ARGMAX_H
#define KERNELS_ARGMAX_H

#include "pallas.h"

/*
 * x [M,N] f32, bf16 or int32; indices int32 [M]; in HBM. rows: of a block, 0 for as many as make it 32 KiB.
 * PL_ERROR_SHAPE, PL_ERROR_ARGUMENT; others as pl_call(), of which PL_ERROR_BUDGET says that a block of whole
 * rows does not fit.
 */
pl_status kernel_argmax(pl_array x, pl_array indices, int32_t rows);

#endif
