/* SPDX-License-Identifier: MIT */
/*
 * Flash attention, forward: o = softmax(scale q . k^T) v for every head, without the scores ever leaving the
 * chip.
 *
 * Dataflow. Queries are worked on in blocks, and for each of them keys and values go by in blocks of their
 * own. What a step does:
 *
 *   matrix unit    S = Q . K^T of this block        P . V of the block before
 *   vector unit    softmax of this block, which     O = alpha O + P . V of the block before,
 *                  runs under that P . V            which runs under the next Q . K^T
 *
 * So the matrix unit never waits for the softmax of what it has just computed. V's map and that of the
 * result lag a step behind; the call has one step more than there are blocks, and goes from one block of
 * queries, and from one head, to the next without a gap. Scores S, weights P and alpha are there twice. The
 * softmax keeps, for each row, the greatest score so far, and the sum of the weights relative to it; when the
 * greatest one grows, alpha = exp2(old - new) puts right what was summed before. The division by the sum
 * comes once, with the last block's update and the rounding of the result. Statistics, scores and sums are
 * f32.
 *
 * Causal: row r attends to the columns 0 .. r. A list of steps has only the blocks that contain such columns:
 * what lies above the diagonal is neither fetched nor computed, in the block on the diagonal not even the
 * columns behind the last row's (as far as they are a multiple of LANES), and only there is a mask applied.
 *
 * Position in the roofline. A step of Mq queries and Mk keys takes 2 Mq Mk D / 256 cycles of the matrix unit
 * and moves 2 x 2 Mk D bytes, Mk D / 4 cycles of the port: below Mq = 32 rows the port is the bound. The
 * vector unit needs about 29 cycles for 8 rows and 16 columns of scores, and 16 for as many elements of O,
 * which is less than the matrix unit's time for D = 32 or more.
 */
#ifndef KERNELS_FLASH_H
#define KERNELS_FLASH_H

#include "pallas.h"

/*
 * All zero: not causal, scale 1 / sqrt(D), blocks that were tuned for H x Mq x Mk x D (tuned.h) or else suit
 * the head.
 */
struct flash_options {
  bool causal;
  float scale;   /* of the scores, greater than 0 */
  int32_t q, kv; /* rows of a block of queries and of one of keys and values */
};

/*
 * q, o [H,Mq,D], k, v [G,Mk,D], H a multiple of G: head h attends with keys and values of head h / (H / G).
 * q, k, v bf16; o bf16 or f32; all in HBM. Any Mq, Mk and D whose blocks fit on the chip; causal counts
 * rows and columns from 0. PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (scale, blocks); others as pl_call().
 */
pl_status kernel_flash(pl_array q, pl_array k, pl_array v, pl_array o, const struct flash_options *options);

/* The multiply-accumulates of such a call that are not skipped. */
uint64_t kernel_flash_macs(pl_array q, pl_array k, const struct flash_options *options);

#endif
