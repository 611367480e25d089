/* SPDX-License-Identifier: MIT */
/*
 * Rotary position embedding: every head's element i < D/2 and element i + D/2 are a point that is turned by
 * an angle of its own at each position t.
 *
 *   o[h][t][i]       = x[h][t][i] cos[t][i]       - x[h][t][i + D/2] sin[t][i]
 *   o[h][t][i + D/2] = x[h][t][i + D/2] cos[t][i] + x[h][t][i] sin[t][i]
 *
 * Dataflow. The halves of rows are arrays of their own, [H,T,D/2] with the pitch of x, one between the rows
 * of the other: two inputs, two outputs, so that any even D has aligned halves in VMEM and a step makes no
 * parts. The grid goes over blocks of positions and, inside, heads: a block of cos and sin is fetched once
 * for all heads. One vector function reads both halves and writes both.
 *
 * Position in the roofline. Six operations a pair: 3/16 cycles an element for the vector unit; for the port
 * 1/8 in bf16, so the vector unit is the bound, and 1/4 in f32, where the port is.
 * HBM traffic: x and o once, cos and sin once.
 */
#ifndef KERNELS_ROTARY_H
#define KERNELS_ROTARY_H

#include "pallas.h"

/*
 * x and o [H,T,D], f32 or bf16, D even; cosine and sine [T,D/2], f32 or bf16; in HBM. Computed in f32. o may
 * be x. rows: positions of a block, 0 for as many as make it 32 KiB. PL_ERROR_SHAPE, PL_ERROR_ARGUMENT;
 * others as pl_call().
 */
pl_status kernel_rotary(pl_array x, pl_array cosine, pl_array sine, pl_array o, int32_t rows);

#endif
