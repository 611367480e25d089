/* SPDX-License-Identifier: MIT */
/*
 * What happens to a product on its way out: from ACC to a block of the result in one vector command, while
 * the matrix unit is at the next block.
 *
 * Every combination of parts is a vector function of its own, recorded when it is first launched, so that a
 * part that is not asked for costs nothing. Per element, in f32:
 *
 *   v = sum (int32 sums as f32) x scale + bias;  v = activation(v);  v = v + residual
 *   o = v (bf16: nearest even), or, if o is int8, v x quantise rounded to nearest even and saturated
 *
 * and per row, before o is rounded, the sum of v and of v x v: what a norm needs that comes next.
 *
 * GELU is the tanh form, 0.5 v (1 + tanh(sqrt(2 / pi) (v + 0.044715 v^3))), computed as the same thing
 * v x sigmoid(2 sqrt(2 / pi) (v + 0.044715 v^3)): two operations less. SiLU is v x sigmoid(v).
 */
#ifndef KERNELS_EPILOGUE_H
#define KERNELS_EPILOGUE_H

#include "pallas.h"

enum matmul_activation { MATMUL_LINEAR = 0, MATMUL_RELU, MATMUL_GELU, MATMUL_SILU };

/*
 * Parts that are NULL (0, MATMUL_LINEAR) are left out. scale and bias: f32 or bf16 [M or 1, N or 1].
 * residual: f32 or bf16 [M,N], with a batch [B,M,N]. row_sums, row_squares: f32 [M,1], with a batch [B,M,1],
 * written; both or none. quantise: for o int8; 0 counts as 1.
 */
struct matmul_epilogue {
  const pl_array *scale, *bias, *residual;
  const pl_array *row_sums, *row_squares;
  float quantise;
  uint8_t activation; /* enum matmul_activation */
};

/* The parts of an epilogue as bits: which vector function it is. 0: none, a plain copy. */
enum epilogue_parts {
  EPILOGUE_SCALE = 1,
  EPILOGUE_BIAS = 2,
  EPILOGUE_RESIDUAL = 4,
  EPILOGUE_ROWS = 8,      /* row_sums and row_squares */
  EPILOGUE_INT_SUMS = 16, /* of an int8 product */
  EPILOGUE_QUANTISE = 32,
  EPILOGUE_EDGE =
      64, /* the last block of a row has columns behind the row's end, which do not count in its sums */
  EPILOGUE_ACTIVATION_SHIFT = 7
};

/* Parts for sums and results of these dtypes; an error if they do not go together. */
pl_status epilogue_parts(const struct matmul_epilogue *e, pl_dtype sum, pl_dtype result, unsigned *parts);
/*
 * In a body: runs it. refs: the sums, o, then those that the parts need, in the order scale, bias, residual,
 * row_sums, row_squares. For sums of rows: first: no earlier block of the row has added to them; columns:
 * those of the block that are inside the row.
 */
void epilogue_run(unsigned parts, const struct matmul_epilogue *e, const pl_ref *refs, bool first,
                  int32_t columns);

#endif
