/* SPDX-License-Identifier: MIT */
#include "block_sparse.h"

#include "blocks.h"

/*
 * An entry of the list. A block's number is k x columns of blocks + n: the block of y, which stays for an
 * entry without one; the column of o is a matter of its own for that reason.
 */
struct entry {
  int32_t block, column; /* column x 8 + flags */
};
enum { FIRST = 1, LAST = 2, EMPTY = 4, FLAG_BITS = 3, ENTRY_WORDS = 2 };

static struct {
  struct blocks_kept kept;
  int32_t columns; /* of blocks, of y */
} shared;

static const struct entry *entry_at(int32_t number) {
  return (const struct entry *)blocks_entry(&shared.kept, number, ENTRY_WORDS);
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = entry_at(g->id[1])->block / shared.columns;
}

static void y_map(const pl_grid *g, pl_index *b) {
  const int32_t block = entry_at(g->id[1])->block;
  b[0].start = block / shared.columns;
  b[1].start = block % shared.columns;
}

static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = entry_at(g->id[1])->column >> FLAG_BITS;
}

static void body(void) {
  const int32_t flags = entry_at(pl_program_id(1))->column;

  if (flags & EMPTY) {
    pl_fill(pl_output(0), 0);
    return;
  }
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), flags & FIRST ? PL_OVERWRITE : PL_ACCUMULATE);
  if (flags & LAST)
    pl_copy(pl_output(0), pl_scratch(0));
}

/* Nothing counts: no input is needed at all. */
static void zero_body(void) {
  pl_fill(pl_output(0), 0);
}

static void zero_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

/* Writes the list and returns its length; *active: blocks that count. */
static int32_t list_blocks(const int32_t *mask, int32_t depth, int32_t columns, struct entry *list,
                           int32_t *active) {
  int32_t entries = 0, last = -1; /* block that an entry without one leaves where it is */

  *active = 0;
  for (int32_t n = 0; n < columns && last < 0; n++)
    for (int32_t k = 0; k < depth && last < 0; k++)
      if (mask[k * columns + n] != 0)
        last = k * columns + n; /* the first one of the list */
  for (int32_t n = 0; n < columns; n++) {
    const int32_t begin = entries;
    for (int32_t k = 0; k < depth; k++)
      if (mask[k * columns + n] != 0) {
        last = k * columns + n;
        list[entries++] = (struct entry){last, n << FLAG_BITS};
      }
    *active += entries - begin;
    if (entries == begin) {
      list[entries++] = (struct entry){last, n << FLAG_BITS | EMPTY};
    } else {
      list[begin].column |= FIRST;
      list[entries - 1].column |= LAST;
    }
  }
  return entries;
}

static pl_status check(const pl_array *x, const pl_array *y, const pl_array *mask, const pl_array *o,
                       const struct matmul_blocks *blocks) {
  if (blocks->m <= 0 || blocks->n <= 0 || blocks->k <= 0)
    return pl_error(PL_ERROR_ARGUMENT, "block_sparse: blocks of %d x %d x %d; each must be at least 1",
                    (int)blocks->m, (int)blocks->n, (int)blocks->k);
  if (x->rank != 2 || y->rank != 2 || o->rank != 2 || x->shape[1] != y->shape[0] ||
      o->shape[0] != x->shape[0] || o->shape[1] != y->shape[1])
    return pl_error(PL_ERROR_SHAPE,
                    "block_sparse: x [M,K], y [K,N] and o [M,N] are needed; x has %d columns, y %d rows",
                    (int)x->shape[1], (int)y->shape[0]);
  const int32_t depth = pl_cdiv(y->shape[0], blocks->k), columns = pl_cdiv(y->shape[1], blocks->n);
  if (mask->rank != 2 || mask->dtype != PL_INT32 || mask->space != PL_HBM || mask->shape[0] != depth ||
      mask->shape[1] != columns)
    return pl_error(
        PL_ERROR_SHAPE,
        "block_sparse: y has %d x %d blocks of %d x %d; mask must be int32 [%d, %d] in HBM and is %s "
        "of rank %d [%d, %d]",
        (int)depth, (int)columns, (int)blocks->k, (int)blocks->n, (int)depth, (int)columns,
        pl_dtype_name(mask->dtype), (int)mask->rank, (int)mask->shape[0], (int)mask->shape[1]);
  return PL_OK;
}

pl_status kernel_block_sparse(pl_array x, pl_array y, pl_array mask, pl_array o,
                              const struct matmul_blocks *blocks) {
  pl_status status = check(&x, &y, &mask, &o, blocks);
  pl_array list;

  if (status != PL_OK)
    return status;
  const int32_t bm = blocks->m, bn = blocks->n, bk = blocks->k, rows = pl_cdiv(o.shape[0], bm),
                depth = mask.shape[0], columns = mask.shape[1];
  /* As long as it may get: the shape does not depend on the mask. */
  status = pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(depth * columns, ENTRY_WORDS), &list);
  if (status != PL_OK)
    return status;
  int32_t active;
  const int32_t entries = list_blocks(pl_hbm_pointer(&mask), depth, columns, pl_hbm_pointer(&list), &active);
  const uint64_t work = (uint64_t)(uint32_t)active * (uint32_t)bk * (uint32_t)bn * (uint32_t)o.shape[0];
  const uint64_t elements = (uint64_t)o.shape[0] * (uint32_t)o.shape[1];
  const pl_kernel kernel = {
      .name = "block_sparse",
      .body = body,
      .grid = PL_GRID(rows, pl_dyn(entries)),
      .dimension_semantics = {PL_PARALLEL, PL_ARBITRARY},
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(bm, bk), .map = x_map, .buffer_count = blocks->buffers,
                     .lookahead = blocks->lookahead),
             PL_SPEC(PL_DIMS(bk, bn), .map = y_map, .buffer_count = blocks->buffers,
                     .lookahead = blocks->lookahead)},
      .out = {PL_BUFFERED(blocks->buffers, o_map, bm, bn)},
      .scratch = {PL_ACC(x.dtype == PL_INT8 ? PL_INT32 : PL_F32, bm, bn)},
      .cost = {.macs = work, .vector_elements = elements},
  };
  const pl_kernel zero = {.name = "block_sparse zero",
                          .body = zero_body,
                          .grid = PL_GRID(rows, columns),
                          .out = {PL_BUFFERED(blocks->buffers, zero_map, bm, bn)},
                          .cost = {.vector_elements = elements}};
  shared.columns = columns;
  blocks_forget(&shared.kept);
  status = active != 0 ? pl_call(&kernel, PL_ARGS(list, x, y), PL_RESULTS(o))
                       : pl_call(&zero, (pl_arrays){NULL, 0}, PL_RESULTS(o));
  const pl_status freed = pl_free(&list);
  return status != PL_OK ? status : freed;
}
