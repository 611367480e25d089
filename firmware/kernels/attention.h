/* SPDX-License-Identifier: MIT */
/* What the attention kernels share: the scale of scores, and the sum of weighted values from block to block.
 */
#ifndef KERNELS_ATTENTION_H
#define KERNELS_ATTENTION_H

#include "pallas.h"

/* Weights are powers of two: scores are scaled by log2(e), too. */
#define ATTENTION_LOG2_E 1.44269504088896341f

/* For vector functions: minus infinity, the score of what must not be attended to. */
static inline pl_v attention_never(void) {
  return pl_vbits_float(pl_vconst_int((int32_t)0xff800000));
}

/*
 * The scale as a scalar of vector functions: `scale`, or 1 / sqrt(columns) if that is 0. PL_ERROR_ARGUMENT if
 * it is not a finite number above 0; `kernel` is its name in the message.
 */
pl_status attention_scale(const char *kernel, float scale, int32_t columns, pl_scalar *scalar);

/*
 * After a block's product with the values: O = alpha O + product. The first block's product is O already, and
 * behind the last block o = O / total.
 */
struct attention_update {
  bool first, last;
  pl_ref o;            /* the result, for the last block */
  pl_ref sum, product; /* in ACC: O, which the first block's product is in; the product of others */
  pl_ref alpha, total; /* a column: what O is to be multiplied with; the sum of the weights */
};
void attention_update(const struct attention_update *u);

#endif
