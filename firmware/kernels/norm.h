/* SPDX-License-Identifier: MIT */
/*
 * Norms of each row, with parameters for each column:
 *   layer norm  o = (x - mean) / sqrt(mean of (x - mean)^2 + epsilon) scale + shift
 *   RMS norm    o = x / sqrt(mean of x^2 + epsilon) scale
 *
 * Dataflow. Blocks of whole rows (rows.h), one stage: the passes over a block (sum; distances from the mean
 * and their squares' sum; products) follow one another, two groups of 8 rows at a time, which share the loads
 * of the parameters. Distances stay in ACC as f32, and so do the parameters. x is fetched once and o written
 * once.
 *
 * Position in the roofline. Layer norm takes five operations of the vector ALU for an element (add; subtract,
 * multiply-add; multiply, multiply-add) and is bound by it; the variance comes from distances, not from a
 * difference of means, so that a large mean costs no digits. RMS norm takes three (multiply-add; two
 * products): with f32 the port is the bound, with bf16 the ALU.
 */
#ifndef KERNELS_NORM_H
#define KERNELS_NORM_H

#include "pallas.h"

/*
 * x, o [..., columns], scale and shift [columns]; f32 or bf16 each, computed in f32; x and o in HBM; any
 * number of columns. PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (not in HBM); others as pl_call().
 */
pl_status kernel_layer_norm(pl_array x, pl_array scale, pl_array shift, pl_array o, float epsilon);
pl_status kernel_rms_norm(pl_array x, pl_array scale, pl_array o, float epsilon);

#endif
