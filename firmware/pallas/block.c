/* SPDX-License-Identifier: MIT */
/* Blocks at the edge, outside, and come back to; where an output's blocks go. */
#include "pipeline.h"

void pl_add_position(const pl_grid *at) {
  pl_message_add(" at grid position (");
  for (unsigned d = 0; d < at->rank; d++)
    pl_message_add(d ? ", %d" : "%d", (int)at->id[d]);
  pl_message_add(")");
}

/* "block [1, 2] at grid position (3) of the array [..]" and what would be right in every dimension. */
void pl_fail_block_index(const struct pl_operand *op, const pl_grid *at) {
  pl_shape index = {.rank = op->rank}, block = index, array = index;
  int32_t *const values = index.extent;
  bool elements = !op->general; /* would every index be right if it were an element offset? */

  if (pl_context.status != PL_OK) /* the first error's text is complete */
    return;
  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    values[d] = op->index[d].start;
    block.extent[d] = dim->block;
    array.extent[d] = dim->extent;
    elements = elements && values[d] >= 0 && values[d] % dim->block == 0 && values[d] < dim->extent;
  }
  pl_fail_operand(PL_ERROR_BLOCK_INDEX, op, "its map returned block %pE", &index);
  pl_add_position(at);
  pl_message_add(", outside the array %pE of blocks %pE", &array, &block);
  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    if ((uint32_t)values[d] >= dim->blocks)
      pl_message_add("; dimension %u: %s %d, 0 to %d are right", d,
                     dim->kind == PL_BLOCKED ? "block" : "element", (int)values[d], (int)dim->blocks - 1);
    else if (dim->kind == PL_BOUNDED && (op->index[d].size < 0 || op->index[d].size > dim->block ||
                                         op->index[d].size > dim->extent - values[d]))
      pl_message_add("; dimension %u: size %d from element %d, 0 to %d are right", d, (int)op->index[d].size,
                     (int)values[d],
                     (int)(dim->extent - values[d] < dim->block ? dim->extent - values[d] : dim->block));
  }
  if (elements)
    pl_message_add("; did you mean the block index, not the element offset?");
}

bool pl_evaluate_general(struct pl_operand *op, const pl_grid *at) {
  bool changed = op->listed, edge = false; /* what a list says may have changed */
  uint32_t address = op->address;

  op->map(at, op->index);
  if (op->listed && !pl_take_list(op, at))
    return false;
  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    const int32_t start = op->index[d].start, size = op->index[d].size;
    if ((uint32_t)start >= dim->blocks ||
        (dim->kind == PL_BOUNDED && (size < 0 || size > dim->block || size > dim->extent - start))) {
      pl_fail_block_index(op, at);
      return false;
    }
  }
  for (unsigned d = 0; d < op->rank; d++) {
    struct pl_dim *dim = &op->dim[d];
    const int32_t start = op->index[d].start;
    edge = edge || (uint32_t)start >= dim->full;
    changed = changed || start != dim->last || (dim->kind == PL_BOUNDED && op->index[d].size != dim->size);
    address += (uint32_t)(start - dim->last) * dim->stride;
    dim->last = start;
    dim->size = op->index[d].size;
  }
  op->address = address;
  if (edge && op->queue != NULL && op->queue->owner == op)
    op->queue->owner = NULL; /* the hot way of a copy does not look for edges */
  return changed;
}

bool pl_valid_part(const struct pl_operand *op, int32_t valid[PL_MAX_RANK]) {
  bool ragged = op->split; /* needs what is valid in any case */

  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    int32_t left = dim->size;
    if (dim->kind < PL_BOUNDED) {
      left = dim->extent - (dim->kind == PL_ELEMENT ? dim->last : dim->last * dim->block);
      if (left > dim->block)
        left = dim->block;
      if (left < 0)
        left = 0; /* ELEMENT: all of it is padding */
    }
    valid[d] = left;
    ragged = ragged || left != dim->block;
  }
  return ragged;
}

/* A block that was left is come back to, or may have been. */
static PL_COLD void fail_revisit(const struct pl_operand *op) {
  pl_shape index = {.rank = op->rank};

  for (unsigned d = 0; d < op->rank; d++)
    index.extent[d] = op->dim[d].last;
  if (op->visited != NULL)
    pl_fail_operand(
        PL_ERROR_REVISIT, op,
        "block %pE is come back to after it was written back; revisit_any or inout would load it again",
        &index);
  else
    pl_fail_operand(PL_ERROR_REVISIT, op,
                    "block %pE comes after a later one; with more than PL_MAX_REVISIT_BLOCKS (%d) blocks and "
                    "PL_MAX_REVISIT_STEPS (%d) steps only an ascending order can be checked",
                    &index, PL_MAX_REVISIT_BLOCKS, PL_MAX_REVISIT_STEPS);
}

/* The same with a table of the blocks begun so far, as many as steps at most, by their numbers. */
static PL_COLD bool was_in_table(struct pl_operand *op) {
  uint64_t number = 1; /* 0 is an empty place */

  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    number = number * dim->blocks + (uint32_t)dim->last;
    if (dim->kind == PL_BOUNDED)
      number = number * ((uint32_t)dim->block + 1) + (uint32_t)dim->size;
  }
  const uint32_t low = (uint32_t)number, high = (uint32_t)(number >> 32), last = op->visited_words / 2 - 1;
  for (uint32_t i = (low ^ high) * 0x9e3779b1u >> 16;; i++) {
    uint32_t *place = &op->visited[(i & last) * 2];
    if (place[0] == low && place[1] == high)
      return true;
    if ((place[0] | place[1]) == 0) {
      place[0] = low;
      place[1] = high;
      return false;
    }
  }
}

/* Remembers that an output's block begins a run; true if one did before (or may have, with too many blocks).
 */
static bool was_visited(struct pl_operand *op) {
  uint32_t block = 0;

  if (PL_UNLIKELY(op->table) && op->visited != NULL)
    return was_in_table(op);
  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    block = block * dim->blocks + (uint32_t)dim->last;
    if (dim->kind == PL_BOUNDED)
      block = block * ((uint32_t)dim->block + 1) + (uint32_t)dim->size;
  }
  if (op->visited != NULL) {
    const uint32_t bit = 1u << block % 32;
    const bool visited = (op->visited[block / 32] & bit) != 0;
    op->visited[block / 32] |= bit;
    return visited;
  }
  if (block < op->highest) /* of a shuffled grid nothing is known then */
    return !(pl_debug_flags & PL_DEBUG_SHUFFLE);
  op->highest = block + 1;
  return false;
}

/* One dimension of `evaluate` that lies at the edge or outside. */
bool pl_edge_index(const struct pl_operand *op, const pl_grid *at, unsigned d) {
  if ((uint32_t)op->index[d].start < op->dim[d].blocks)
    return true;
  pl_fail_block_index(op, at);
  return false;
}

void pl_keep_place(struct pl_latch *latch, const struct pl_operand *op) {
  pl_valid_part(op, latch->valid);
  for (unsigned d = 0; d < op->rank; d++) {
    const struct pl_dim *dim = &op->dim[d];
    const bool elements = dim->kind == PL_ELEMENT || dim->kind == PL_BOUNDED;
    latch->start[d] = elements ? dim->last : dim->last * dim->block;
  }
}

/* Of a block that may not be whole. */
static bool look_at_edge(const struct pl_operand *op, struct pl_latch *latch) {
  latch->cut = pl_valid_part(op, latch->valid);
  latch->list = op->list;
  return latch->cut || op->listed;
}

void pl_latch_into(struct pl_latch *latch, struct pl_operand *op) {
  bool ragged = op->careful;

  latch->address = op->address;
  for (unsigned d = 0; d < op->rank; d++)
    ragged |= (uint32_t)op->dim[d].last >= op->dim[d].full;
  latch->ragged = ragged && look_at_edge(op, latch);
  latch->load = op->inout;
  if (PL_UNLIKELY(op->keeps_place))
    pl_keep_place(latch, op);
  if (op->inout || (latch->ragged && (op->listed || pl_is_empty(op, latch->valid))))
    return; /* any block may come back, or nothing of it is written */
  if (PL_LIKELY(!was_visited(op)))
    return;
  latch->load = op->revisit;
  if (!op->revisit)
    fail_revisit(op);
}

void pl_latch_block(struct pl_operand *op, uint32_t first) {
  const struct pl_latch *const ended = op->latch_fill;
  op->latch_fill = op->latch_fill->next;
  op->latch_fill->first = first;
  pl_latch_into(op->latch_fill, op);
  if (PL_UNLIKELY(op->alias != NULL))
    pl_alias_run(op, ended, first);
}
