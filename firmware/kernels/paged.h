/* SPDX-License-Identifier: MIT */
/*
 * Paged attention for decoding: one new query a sequence and head, against keys and values that lie in pages,
 * which a table of each sequence lists.
 *
 * Layout. A page holds the keys (values) of all heads of some positions: [pages, G, page, D], so that one
 * fetch of consecutive memory brings them all. H query heads, H / G of which share a head of keys and values.
 *
 * Dataflow. A step is a page of a sequence; which one its maps read in the table, a scalar prefetch argument.
 * The scores of all query heads against all keys of the page are one product, S[H, G page] = q . k^T; of that
 * a query head needs only the columns of its own head of keys. The others are masked: the matrix unit, which
 * has time, computes G times what is needed, and the scalar core queues one product instead of G. Softmax
 * goes from page to page as in flash attention, and P . V and the update of o lag a step behind, so that
 * neither the port nor the matrix unit waits for the vector unit. A sequence that ends inside a page takes a
 * product for each head of values there.
 *
 * Position in the roofline. A step moves 4 G page D bytes and takes 2 H G page D / 256 cycles of the matrix
 * unit: with up to 32 query heads the port is the bound, which is what decoding is about.
 */
#ifndef KERNELS_PAGED_H
#define KERNELS_PAGED_H

#include "pallas.h"

/*
 * q, o [B,H,D], k, v [P,G,page,D], bf16 (o bf16 or f32), H a multiple of G; table int32 [B,N], the pages of
 * sequence b in order; lengths int32 [B], 1 .. N page positions. What lies behind a sequence's length, in its
 * last page or in the table, does not count, whatever it is; of what counts, an infinity or NaN spoils all
 * heads of the sequence. scale: of the scores, greater than 0; 0: 1 / sqrt(D). All in
 * HBM; table and lengths must fit into SMEM together.
 * PL_ERROR_SHAPE, PL_ERROR_ARGUMENT (a length, a page: the message has the sequence); others as pl_call().
 */
pl_status kernel_paged_attention(pl_array q, pl_array k, pl_array v, pl_array table, pl_array lengths,
                                 pl_array o, float scale);

#endif
