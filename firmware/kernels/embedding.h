/* SPDX-License-Identifier: MIT */
/*
 * Lookup of embeddings and its gradient: rows of a table by a list of ids.
 *
 *   kernel_embedding:       out[i] = table[ids[i]]
 *   kernel_embedding_grad:  table_grad[ids[i]] += grad[i], one after the other in the order of i
 *
 * Dataflow. The ids go in parts of 2048, half of SMEM: a call each, whose scalar prefetch argument is the
 * part. A lookup's input is a block by a list (PL_INDIRECT): one DMA command gathers the rows of a step,
 * ahead of it as always, and no id passes the scalar core; the body copies them to the block of out, which
 * the pipeline writes back meanwhile. The gradient's input is blocks of grad in order; the body adds them to
 * table_grad in HBM with pl_scatter_add(), which gathers, adds and scatters up to 64 rows at a time, each row
 * once however often it is named. Rows that are too wide go in blocks of columns, all ids for one after the
 * other.
 *
 * Position in the roofline. Neither computes: the port is the bound. A lookup takes each row in and out, both
 * directions at once, row bytes / 16 cycles, or two cycles an id if that is more (rows of less than 32
 * bytes). HBM traffic: ids once (for each block of columns the list in SMEM again), ids' rows of table once,
 * out once.
 * The gradient takes two rows in (grad, table_grad) and one out, row bytes / 8 cycles, but what it does with
 * 64 rows comes one after the other: it waits for the gather, the scatter and the scalar core, which looks
 * for repetitions. Rows of 512 bytes take 2.5 times what the port needs.
 */
#ifndef KERNELS_EMBEDDING_H
#define KERNELS_EMBEDDING_H

#include "pallas.h"

/*
 * ids int32 [N], of any length, also 0; table [R,D] of any dtype; out [N,D] of table's; in HBM. out shares no
 * memory with the others. PL_ERROR_SHAPE; PL_ERROR_ARGUMENT, for arrays elsewhere and for an id that is no
 * row, whose place and value are told: of out, some rows before it may be written then. Others as pl_call().
 */
pl_status kernel_embedding(pl_array ids, pl_array table, pl_array out);

/*
 * ids int32 [N], of any length, also 0; grad [N,D] and table_grad [R,D], both f32 or both bf16; in HBM.
 * table_grad is read and written; it starts as what the caller has put there. Each addition rounds to the
 * dtype. PL_ERROR_SHAPE; PL_ERROR_ARGUMENT, for arrays elsewhere and for an id that is no row: all ids are
 * looked at first, and table_grad is as before. Others as pl_call().
 */
pl_status kernel_embedding_grad(pl_array ids, pl_array grad, pl_array table_grad);

#endif
