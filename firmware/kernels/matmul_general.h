/* SPDX-License-Identifier: MIT */
/*
 * Matrix products with choices: order of the loops, transposed right operand, batch, epilogue.
 *
 *   o[b] = epilogue(x[b] . y[b])      bf16 x bf16 with f32 sums, int8 x int8 with int32 sums
 *
 * f32 operands are rounded to bf16, or split into two or three bf16 parts on the chip: three or six products
 * then give 16 or 24 bits (pl_dot). A block's parts are made by the vector unit before its products.
 *
 * The order of the loops, outermost first, decides what stays on the chip and so the HBM traffic. An operand
 * stays as long as its own indices do: x [M,K] comes N / n times if the loop over N is outside one of its own
 * that has several blocks, otherwise once; likewise y. With a K that is one block (blocks.k = K) M-N-K keeps
 * x and N-M-K keeps y, and with blocks.n = N as well the whole of y stays ("weights resident"). With K in the
 * middle the sums of all blocks of the innermost loop are in ACC at a time: M-K-N reads x once whatever K is,
 * N-K-M y. Every block of o is written once in all orders. matmul_traffic() says the bytes; docs/kernels.md
 * has a table.
 *
 * Position in the roofline: docs/kernels.md. The epilogue of a block runs under the next block's product.
 */
#ifndef KERNELS_MATMUL_GENERAL_H
#define KERNELS_MATMUL_GENERAL_H

#include "epilogue.h"
#include "matmul.h"

enum matmul_order { MATMUL_MNK = 0, MATMUL_NMK, MATMUL_MKN, MATMUL_NKM, MATMUL_ORDERS };

struct matmul_options {
  struct matmul_blocks blocks; /* 0, 0, 0: tuned for M x N x K (tuned.h; then the order, too), or 128,
                                  for K of f32 64, less where the shape is, and 2 buffers */
  uint8_t order;               /* enum matmul_order; a batch is outside of all */
  bool transposed;             /* y is [N,K] */
  uint8_t precision;           /* of f32 operands: 0 (bf16), PL_PRECISION_HIGH or PL_PRECISION_HIGHEST */
  struct matmul_epilogue epilogue;
};

/*
 * x [M,K], y [K,N], o [M,N], or x [B,M,K], y [B,K,N] or [K,N] (then for all of the batch), o [B,M,N];
 * row-major, in HBM or on the chip. o: bf16 or f32 (bf16 or f32 operands), int32 (int8 operands, no
 * epilogue); with an epilogue f32, bf16 or int8 from either. Any sizes and blocks that fit on the chip.
 * PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (blocks, order, precision, epilogue), PL_ERROR_LIMIT (sums of too many
 * blocks); others as pl_call(). Sums of rows need N inside M: M-N-K or M-K-N.
 */
pl_status kernel_matmul_general(pl_array x, pl_array y, pl_array o, const struct matmul_options *options);

/* Bytes that such a call moves between HBM and the chip, fill at the edges included. */
struct matmul_traffic {
  uint64_t x, y, epilogue, o; /* epilogue: what it reads and writes beside o */
};
pl_status matmul_traffic(pl_array x, pl_array y, pl_array o, const struct matmul_options *options,
                         struct matmul_traffic *traffic);

#endif
