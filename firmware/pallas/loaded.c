/* SPDX-License-Identifier: MIT */
/*
 * Outputs whose blocks are read, too: INOUT operands, whose every block is loaded before its first step, and
 * those with revisit_any, which load a block that was written back before.
 *
 * Such an operand is fetched like an input, lead steps ahead, and written back like an output, in one ring of
 * buffers. What is new is that the two meet in memory. A block that an unfinished earlier run still has
 * (blocks 0, 1, 0 with three buffers) must not be loaded before that run's write-back: the load is put
 * off until the write-back is queued, and waits for it. That is early enough, because an earlier run ends
 * before the later one begins. Loads of other blocks go on meanwhile. Every load also waits for the
 * operand's latest write-back: mostly that is the one of its own buffer, for which it waits anyway.
 */
#include "pipeline.h"

/* Loads the block of a latch into its buffer. */
static void load(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch) {
  struct pl_queue *const q = op->load_queue;
  struct pl_deps deps;
  bool empty;

  if (PL_UNLIKELY(op->split)) {
    pl_load_parts(c, op, latch);
    return;
  }
  if (!pl_stage_fetch(q, op, latch->ragged ? latch->valid : NULL, &empty))
    return;
  tpu_queue_put(q->base, TPU_DMA_SRC, latch->address);
  tpu_queue_put(q->base, TPU_DMA_DST, latch->buffer->address);
  deps.mask = 0;
  pl_write_deps(&deps, latch->buffer, q->number);
  pl_depend(&deps, PL_WRITE_BACK_QUEUE, op->flushed);
  if (!pl_issue(c, q, &deps, 0, op->load_tag))
    return;
  op->load_tag += !empty;
  pl_has_written(c, latch->buffer, q);
}

/* The latest unfinished run before this latch that has a part of its block; NULL: none. */
static struct pl_latch *in_the_way(struct pl_operand *op, const struct pl_latch *latch) {
  struct pl_latch *found = NULL;

  if (op->buffers == 1)
    return op->latch; /* there is no other buffer to load into */
  for (struct pl_latch *l = op->latch; l != latch; l = l->next)
    if (pl_latches_overlap(op, l, latch))
      found = l;
  return found;
}

void pl_load_first(struct pl_context *c, struct pl_operand *op) {
  op->latch->buffer = op->view.buffer;
  if (op->latch->load)
    load(c, op, op->latch);
}

void pl_load_ahead(struct pl_context *c, struct pl_operand *op, uint32_t first) {
  pl_latch_block(op, first);
  struct pl_latch *const latch = op->latch_fill;
  op->fill = latch->buffer = op->fill->next;
  if (!latch->load || c->status != PL_OK)
    return;
  latch->after = in_the_way(op, latch);
  if (latch->after == NULL)
    load(c, op, latch);
}

void pl_loaded_step(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first,
                    uint32_t step, uint32_t generation) {
  struct pl_latch *const done = op->latch, *const next = done->next;

  if (next->first == step) {
    pl_write_back(c, op);
    op->flushed = op->queue->issued;
    op->view.buffer = op->view.buffer->next;
    op->latch = next;
    for (struct pl_latch *l = done; l != op->latch_fill;) {
      l = l->next;
      if (l->after != done)
        continue;
      l->after = NULL;
      load(c, op, l);
    }
  }
  op->view.generation = generation;
  if (at != NULL && pl_evaluate_any(op, at))
    pl_load_ahead(c, op, first);
}

/* ---- inputs with lookahead ---- */

/*
 * The cursor of such an operand runs by itself: from step to step until it finds another block, which is
 * fetched into the next free buffer; then on, as long as buffers are free.
 */
void pl_fetch_run(struct pl_context *c, struct pl_operand *op) {
  struct pl_cursor *const cursor = op->cursor;

  while (cursor->left != 0) {
    const uint32_t step = c->plan->steps - cursor->left;
    const bool changed = pl_evaluate_any(op, &cursor->grid) || step == 0;
    if (c->status != PL_OK)
      return;
    if (--cursor->left != 0)
      advance(&cursor->grid);
    if (changed) {
      fetch(c, op, step);
      op->free--;
      return;
    }
  }
}

void pl_lookahead_step(struct pl_context *c, struct pl_operand *op, uint32_t step, uint32_t generation) {
  struct pl_buffer *const next = op->view.buffer->next;

  if (next->first == step) {
    op->view.buffer = next;
    op->free++;
  }
  op->view.generation = generation;
  while (op->free != 0 && op->cursor->left != 0 && c->status == PL_OK)
    pl_fetch_run(c, op);
}
