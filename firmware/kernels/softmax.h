/* SPDX-License-Identifier: MIT */
/*
 * Softmax of each row: o = e^(x - max) / sum of e^(x - max).
 *
 * Dataflow. Blocks of whole rows, three stages (rows.h): the greatest of the row; powers and their sum;
 * products with the sum's reciprocal. A grid step does them on three blocks in one loop. x is fetched once
 * and o written once. Rows of more than 4096 columns are fetched twice, in blocks of columns.
 *
 * Position in the roofline. Four operations of the vector ALU for an element (max, multiply-add, add,
 * multiply): e^(x - max) is 2^(x log2(e) - max log2(e)), so that the scaling comes with the subtraction. With
 * f32 the port needs as long to fetch as the ALU to compute and as long to write; with bf16 the ALU is the
 * bound.
 *
 * Rounding. x log2(e) is rounded before max log2(e) is subtracted: a relative error of |x| 2^-23 at most,
 * which is what one in the last place of x would make. Elements of -infinity become 0; a row without any
 * other, and one with +infinity or NaN, becomes NaN. |x| up to 2.3e38.
 */
#ifndef KERNELS_SOFTMAX_H
#define KERNELS_SOFTMAX_H

#include "pallas.h"

/*
 * x, o [..., columns], f32 or bf16 each, in HBM, any number of columns; computed in f32. PL_ERROR_SHAPE,
 * PL_ERROR_ARGUMENT (not in HBM); others as pl_call().
 */
pl_status kernel_softmax(pl_array x, pl_array o);

#endif
