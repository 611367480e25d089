/* SPDX-License-Identifier: MIT */
/* The inline parts of the pipeline (pipeline.c says how it works), and what its files share. */
#ifndef PALLAS_PIPELINE_H
#define PALLAS_PIPELINE_H

#include "internal.h"

#define HOT static inline __attribute__((always_inline))

/* ---- block.c ---- */
PL_COLD void pl_fail_block_index(const struct pl_operand *op, const pl_grid *at);
/* " at grid position (1, 2)", added to a message. */
PL_COLD void pl_add_position(const pl_grid *at);
/* One dimension of evaluate() that lies at the edge (true) or outside (an error). */
PL_COLD bool pl_edge_index(const struct pl_operand *op, const pl_grid *at, unsigned d);
/* evaluate() for any rank and any kinds of dimensions. */
bool pl_evaluate_general(struct pl_operand *op, const pl_grid *at);
/* No element is inside. */
static inline __attribute__((always_inline)) bool pl_is_empty(const struct pl_operand *op,
                                                              const int32_t *valid) {
  for (unsigned d = 0; d < op->rank; d++)
    if (valid[d] == 0)
      return true;
  return false;
}
/* Keeps where an output's block goes that was just evaluated. */
void pl_latch_into(struct pl_latch *latch, struct pl_operand *op);
/* Where the block evaluated last lies in the array, for comparison with others. */
void pl_keep_place(struct pl_latch *latch, const struct pl_operand *op);
/* Of two latches with start and valid. */
static inline bool pl_latches_overlap(const struct pl_operand *op, const struct pl_latch *a,
                                      const struct pl_latch *b) {
  for (unsigned d = 0; d < op->rank; d++)
    if (a->start[d] >= b->start[d] + b->valid[d] || b->start[d] >= a->start[d] + a->valid[d])
      return false;
  return true;
}
/* The same in the next latch, for the run that begins with this step. */
void pl_latch_block(struct pl_operand *op, uint32_t first);

/* ---- indirect.c ---- */
/*
 * Takes the list that the map has just named as the operand's: index[].size becomes its length, index[].start
 * 0. False with a sticky error.
 */
bool pl_take_list(struct pl_operand *op, const pl_grid *at);
/*
 * Adds to the message whose list has an entry outside the array, by the tag of the copy that found it, in
 * which step, and at which position, if that can be told.
 */
PL_COLD void pl_add_entry(struct pl_context *c, uint32_t tag, int32_t entry, int32_t value);
/* Stages what the next command of a queue needs of a list, and what it waits for; enters it as a reader. */
void pl_stage_list(const struct pl_queue *q, const struct pl_operand *op, const struct pl_list *list,
                   struct pl_deps *deps);

/* ---- pipeline.c ---- */
/* A fetch whose queue looked full or has other words staged. */
PL_COLD void pl_fetch_looking(struct pl_context *c, struct pl_operand *op);
/* After a failure, outside a body: names the operand if its map called an operation. */
PL_COLD void pl_find_map(struct pl_context *c, struct pl_plan *plan);
/* Writes the current block back. */
void pl_write_back(struct pl_context *c, struct pl_operand *op);

/* ---- loaded.c ---- */
/* Loads the block of the first run, which is in the latch. */
void pl_load_first(struct pl_context *c, struct pl_operand *op);
/* Latches the block evaluated last, and loads it or says when. */
void pl_load_ahead(struct pl_context *c, struct pl_operand *op, uint32_t first);
/* The start of a step for an output that is loaded; arguments as of step_fetched(). */
void pl_loaded_step(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first,
                    uint32_t step, uint32_t generation);
/* Looks for the next run of an input with lookahead, and fetches its block into a free buffer. */
void pl_fetch_run(struct pl_context *c, struct pl_operand *op);
void pl_lookahead_step(struct pl_context *c, struct pl_operand *op, uint32_t step, uint32_t generation);

/* ---- alias.c ---- */
/* A fetch of an aliased input: remembers its place, adds what it waits for, and fails if it is too early. */
void pl_alias_fetch(struct pl_operand *in, struct pl_buffer *buffer, struct pl_deps *deps);
/* What a write-back of an aliased output waits for. */
void pl_alias_write_back(struct pl_operand *out, struct pl_deps *deps);
/* A copy of an aliased operand was queued. */
void pl_alias_queued(struct pl_context *c, struct pl_operand *op);
/* A run of an aliased output has ended, and another begins with step first. */
void pl_alias_run(const struct pl_operand *out, const struct pl_latch *ended, uint32_t first);

/* ---- transfer.c ---- */
/*
 * Stages all words of a fetch but its addresses; the channel has no owner then. valid: of a ragged block,
 * else NULL. False if there is nothing to do. empty: it moves nothing, and only fills.
 */
bool pl_stage_fetch(struct pl_queue *q, const struct pl_operand *op, const int32_t *valid, bool *empty);
/* Loads the block of a latch, if blocks take several commands. */
void pl_load_parts(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch);

/* The quicker of the two. */
bool pl_evaluate_any(struct pl_operand *op, const pl_grid *at);

/* ---- prologue.c ---- */
/* The map of an operand with one block must say so in every step. */
void pl_check_constant(struct pl_operand *op, const pl_grid *at);
/* Everything that a call starts from. */
void pl_reset(struct pl_context *c, struct pl_plan *plan);
/* Blocks that never change, then steps 0 .. lead-1 of every operand, step by step. */
void pl_prologue(struct pl_context *c, struct pl_plan *plan);

/*
 * Evaluates the map at the cursor. True if the block is another one than before; op->address is then
 * its address. Blocks do not overlap, so another block has another address. A bad index is an error and
 * no change. A block at the edge takes the channel's words away from the operand: the hot path of a
 * fetch need not look for edges then.
 */
HOT bool evaluate(struct pl_operand *op, const pl_grid *at, unsigned rank) {
  const uint32_t before = op->address;
  uint32_t address = before;

  op->map(at, op->index);
#pragma GCC unroll 5
  for (unsigned d = 0; d < rank; d++) {
    struct pl_dim *dim = &op->dim[d];
    const uint32_t index = (uint32_t)op->index[d].start, last = (uint32_t)dim->last;
    if (index != last) {
      if (PL_UNLIKELY(index >= dim->full)) {
        if (!pl_edge_index(op, at, d))
          return false;
        if (op->queue != NULL && op->queue->owner == op)
          op->queue->owner = NULL;
      }
      dim->last = (int32_t)index;
      address += (index - last) * dim->stride;
    }
  }
  op->address = address;
  return address != before;
}

/* The hot way: source, destination, one wait amount, GO. */
HOT void fetch_words(struct pl_operand *op, struct pl_queue *q, struct pl_buffer *buffer, uint32_t issued) {
  const uintptr_t base = q->base;
  const uint32_t tag = op->tag, ticket = issued + 1;

  op->tag = tag + 1;
  tpu_queue_put(base, TPU_DMA_SRC, op->address);
  tpu_queue_put(base, TPU_DMA_DST, buffer->address);
  tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(0), *(const uint32_t *)((const uint8_t *)buffer + op->wait_offset));
  tpu_queue_go(base, tag);
  q->issued = ticket;
  buffer->write_ticket = ticket;
}

/* Fetches the block evaluated last, for the run that begins with this step. */
HOT void fetch(struct pl_context *c, struct pl_operand *op, uint32_t first) {
  struct pl_queue *const q = op->queue;
  struct pl_buffer *const buffer = op->fill;
  const uint32_t issued = q->issued;

  buffer->first = first;
  if (PL_UNLIKELY(q->owner != op || issued == q->limit))
    pl_fetch_looking(c, op);
  else
    fetch_words(op, q, buffer, issued);
  op->fill = buffer->next;
}

_Static_assert(offsetof(pl_grid, extent) - offsetof(pl_grid, id) == PL_MAX_GRID * sizeof(int32_t),
               "an extent is PL_MAX_GRID behind its id");

/* The carry of a position whose last id has reached its extent. */
static inline void pl_carry(int32_t *id) {
  do
    *id-- = 0;
  while (++*id == id[PL_MAX_GRID]);
}

/* ---- shuffle.c ---- */
/* With PL_DEBUG_SHUFFLE: the first position of the running kernel's grid, and the one behind another. */
PL_COLD void pl_shuffle_first(pl_grid *grid);
PL_COLD void pl_shuffle_next(pl_grid *grid);

static inline void advance(pl_grid *grid) {
  if (PL_UNLIKELY(pl_debug_flags & PL_DEBUG_SHUFFLE)) {
    pl_shuffle_next(grid);
    return;
  }
  int32_t *id = &grid->id[grid->rank - 1];
  if (++*id == id[PL_MAX_GRID])
    pl_carry(id);
}

#endif
