/* SPDX-License-Identifier: MIT */
/* Blocks at the edge, outside, and come back to; where an output's blocks go. */
#include "pipeline.h"

void pl_fail_block_index(const struct pl_operand *op, const pl_grid *at) {
  char block[64], shape[64], index[64];
  int32_t values[PL_MAX_RANK], blocks[PL_MAX_RANK], array[PL_MAX_RANK];
  bool elements = true; /* would every index be right if it were an element offset? */

  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    values[d] = op->index[d].start;
    blocks[d] = dim->block;
    array[d] = dim->extent;
    elements = elements && values[d] >= 0 && values[d] % dim->block == 0 && values[d] < dim->extent;
  }
  pl_shape_text(values, op->rank, index);
  pl_shape_text(blocks, op->rank, block);
  pl_shape_text(array, op->rank, shape);
  pl_fail_operand(PL_ERROR_BLOCK_INDEX, op, "its map returned block %s at grid position ", index);
  pl_message_add("(");
  for (unsigned d = 0; d < at->rank; d++)
    pl_message_add(d ? ", %d" : "%d", (int)at->id[d]);
  pl_message_add("), outside the array %s of blocks %s", shape, block);
  if (elements)
    pl_message_add("; did you mean the block index, not the element offset?");
}

/* Remembers that an output's block begins a run; false if it was left before. */
static bool visit(struct pl_operand *op) {
  uint32_t block = 0;
  char text[64];
  int32_t index[PL_MAX_RANK];

  for (unsigned d = 0; d < op->rank; d++) {
    index[d] = op->dim[d].last;
    block = block * op->dim[d].blocks + (uint32_t)index[d];
  }
  if (op->visited != NULL) {
    if (!(op->visited[block / 32] >> block % 32 & 1)) {
      op->visited[block / 32] |= 1u << block % 32;
      return true;
    }
    pl_shape_text(index, op->rank, text);
    pl_fail_operand(PL_ERROR_REVISIT, op, "block %s is come back to after it was written back", text);
    return false;
  }
  if (block >= op->highest) {
    op->highest = block + 1;
    return true;
  }
  pl_shape_text(index, op->rank, text);
  pl_fail_operand(
      PL_ERROR_REVISIT, op,
      "block %s comes after a later one; with more than PL_MAX_REVISIT_BLOCKS (%d) blocks only an "
      "ascending order can be checked",
      text, PL_MAX_REVISIT_BLOCKS);
  return false;
}

/* One dimension of `evaluate` that lies at the edge or outside. */
bool pl_edge_index(const struct pl_operand *op, const pl_grid *at, unsigned d) {
  if ((uint32_t)op->index[d].start < op->dim[d].blocks)
    return true;
  pl_fail_block_index(op, at);
  return false;
}

/* Keeps where an output's block goes that was just evaluated. */
void pl_latch_into(struct pl_latch *latch, struct pl_operand *op) {
  latch->address = op->address;
  latch->ragged = false;
  for (unsigned d = 0; d < op->rank; d++) {
    latch->index[d] = op->dim[d].last;
    latch->ragged |= (uint32_t)op->dim[d].last >= op->dim[d].full;
  }
  visit(op);
}

void pl_latch_block(struct pl_operand *op, uint32_t first) {
  op->latch_fill = op->latch_fill->next;
  op->latch_fill->first = first;
  pl_latch_into(op->latch_fill, op);
}
