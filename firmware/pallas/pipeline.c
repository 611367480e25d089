/* SPDX-License-Identifier: MIT */
/*
 * The pipeline: which block is fetched when, into which buffer, and when a block is written back.
 *
 * B(s) is an operand's block at step s, n its number of buffers. A map is evaluated once a step, in
 * order, `lead` = max(n, 2) - 1 steps ahead: for steps 0 .. lead-1 before step 0, and for step s + lead
 * at the start of step s. An input with two buffers or more is fetched right then, if its block differs
 * from the one before; the buffer it goes to is free, because n buffers hold the runs of at most n
 * steps. `pending` remembers, a bit a step, where a new run begins; there the current buffer advances.
 * An output keeps in latches where the blocks of its next runs go; where a run ends it is written back.
 *
 * Nothing here waits for an engine. Commands carry their waits: a fetch for the last reader of its
 * buffer, a write-back for the writer of the block, and the body's commands for the fetch. The scalar
 * core stops only when a queue is full.
 *
 * The inline functions below are the hot path, and are compiled for a known rank: a step with two
 * fetches must cost less than 250 instructions.
 */
#include "internal.h"

#define HOT static inline __attribute__((always_inline))

static PL_COLD void fail_block_index(const struct pl_operand *op, const pl_grid *at) {
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

/*
 * Evaluates the map at the cursor. True if the block is another one than before; op->address and
 * op->ragged then describe it. A bad index is an error and no change.
 */
HOT bool evaluate(struct pl_operand *op, unsigned rank) {
  const pl_grid *at = &op->cursor->grid;
  uint32_t difference = 0, address = op->base;
  bool ragged = false;

  op->map(at, op->index);
#pragma GCC unroll 5
  for (unsigned d = 0; d < rank; d++)
    difference |= (uint32_t)op->index[d].start ^ (uint32_t)op->dim[d].last;
  if (difference == 0)
    return false;
#pragma GCC unroll 5
  for (unsigned d = 0; d < rank; d++) {
    struct pl_dim *dim = &op->dim[d];
    uint32_t index = (uint32_t)op->index[d].start;
    dim->last = (int32_t)index;
    if (PL_UNLIKELY(index >= dim->full)) {
      if (index >= dim->blocks) {
        fail_block_index(op, at);
        return false;
      }
      ragged = true;
    }
    address += index * dim->stride;
  }
  op->address = address;
  op->ragged = ragged;
  return true;
}

HOT void fetch(struct pl_context *c, struct pl_operand *op) {
  struct pl_queue *q = op->queue;
  struct pl_buffer *buffer = op->fill;

  op->copies++;
  if (PL_LIKELY(q->owner == op && op->group.readers == op->wait_readers && !op->ragged) &&
      (PL_LIKELY(q->issued != q->limit) || pl_room(c, q))) {
    const uintptr_t base = q->base;
    tpu_queue_put(base, TPU_DMA_SRC, op->address);
    tpu_queue_put(base, TPU_DMA_DST, buffer->address);
    tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(0), buffer->read_ticket[op->wait_queue]);
    tpu_queue_go(base, op->tag + c->step_tag);
    buffer->write_ticket = ++q->issued;
  } else {
    pl_fetch_slow(c, op);
  }
  op->fill = buffer->next;
}

HOT void write_back(struct pl_context *c, struct pl_operand *op) {
  struct pl_queue *q = op->queue;
  struct pl_buffer *buffer = op->view.buffer;
  const struct pl_latch *latch = op->latch;

  op->copies++;
  if (PL_LIKELY(q->owner == op && buffer->writer == op->wait_queue && !latch->ragged) &&
      (PL_LIKELY(q->issued != q->limit) || pl_room(c, q))) {
    const uintptr_t base = q->base;
    tpu_queue_put(base, TPU_DMA_SRC, buffer->address);
    tpu_queue_put(base, TPU_DMA_DST, latch->address);
    tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(0), buffer->write_ticket);
    tpu_queue_go(base, op->tag + c->step_tag);
    buffer->read_ticket[PL_WRITE_BACK_QUEUE] = ++q->issued;
  } else {
    pl_write_back_slow(c, op, latch);
  }
}

/* An output's block of a new run: where it will go. */
HOT void latch_block(struct pl_operand *op) {
  struct pl_latch *latch = op->latch_fill->next;
  op->latch_fill = latch;
  latch->address = op->address;
  latch->ragged = op->ragged;
  if (PL_UNLIKELY(op->ragged))
    for (unsigned d = 0; d < op->rank; d++)
      latch->index[d] = op->dim[d].last;
  visit(op);
}

HOT void step_fetched(struct pl_context *c, struct pl_operand *op, bool shift, uint32_t generation,
                      unsigned rank) {
  uint32_t pending = op->pending;
  if (shift) {
    if (pending & 1)
      op->view.buffer = op->view.buffer->next;
    pending >>= 1;
  }
  op->view.generation = generation;
  if (op->cursor->left != 0 && evaluate(op, rank)) {
    pending |= op->lead_bit;
    fetch(c, op);
  }
  op->pending = pending;
}

HOT void step_written(struct pl_operand *op, bool shift, uint32_t generation, unsigned rank) {
  uint32_t pending = op->pending;
  if (shift) {
    if (pending & 1) {
      op->view.buffer = op->view.buffer->next;
      op->latch = op->latch->next;
    }
    pending >>= 1;
  }
  op->view.generation = generation;
  if (op->cursor->left != 0 && evaluate(op, rank)) {
    pending |= op->lead_bit;
    latch_block(op);
  }
  op->pending = pending;
}

/* An input with one buffer, or an array used in place: what was evaluated a step ago begins now. */
static void step_followed(struct pl_context *c, struct pl_operand *op, bool shift, uint32_t generation) {
  op->view.generation = generation;
  if (!shift || (op->pending & 1)) {
    if (op->kind == PL_OPERAND_BLOCKED)
      fetch(c, op);
    else
      op->view.offset = op->address;
  }
  op->pending = 0;
  if (op->cursor->left != 0 && evaluate(op, op->rank))
    op->pending = 1;
}

/* The start of a step; `shift` is false in step 0, whose runs begin before it. */
HOT void begin_step(struct pl_context *c, struct pl_plan *plan, bool shift) {
  const uint32_t generation = ++c->generation;

  for (struct pl_operand **p = plan->fetched, **end = p + plan->fetched_count; p != end; p++)
    if (PL_LIKELY((*p)->rank == 2))
      step_fetched(c, *p, shift, generation, 2);
    else
      step_fetched(c, *p, shift, generation, (*p)->rank);
  for (struct pl_operand **p = plan->written, **end = p + plan->written_count; p != end; p++)
    if (PL_LIKELY((*p)->rank == 2))
      step_written(*p, shift, generation, 2);
    else
      step_written(*p, shift, generation, (*p)->rank);
  for (uint32_t i = 0; i < plan->followed_count; i++)
    step_followed(c, plan->followed[i], shift, generation);
}

HOT void advance(pl_grid *grid) {
  uint32_t d = grid->rank - 1;
  while (PL_UNLIKELY(++grid->id[d] == grid->extent[d]))
    grid->id[d--] = 0;
}

static void advance_cursors(struct pl_plan *plan) {
  for (struct pl_cursor *cursor = plan->cursor, *end = cursor + plan->cursors; cursor != end; cursor++)
    if (cursor->left != 0 && --cursor->left != 0)
      advance(&cursor->grid);
}

/* Blocks that never change: fetched once, before everything else. */
static void fetch_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = 0; i < plan->inputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->moves)
      fetch(c, op);
  }
}

/* Block 0 of an operand, whose map (if any) must say so at the first position. */
static void first_block(struct pl_operand *op, const pl_grid *origin) {
  op->address = op->base;
  op->ragged = false;
  for (unsigned d = 0; d < op->rank; d++) {
    op->index[d].start = 0;
    op->dim[d].last = 0;
    op->ragged |= op->dim[d].full == 0;
  }
  if (op->map != NULL && !op->moves) {
    op->map(origin, op->index);
    for (unsigned d = 0; d < op->rank; d++)
      if (op->index[d].start != 0)
        fail_block_index(op, origin);
  }
}

static void reset_operand(struct pl_operand *op, const pl_grid *origin) {
  op->pending = 0;
  op->copies = 0;
  if (op->output && op->kind == PL_OPERAND_BLOCKED)
    op->group.readers |= 1u << PL_WRITE_BACK_QUEUE;
  op->highest = 0;
  for (uint32_t i = 0; i < op->visited_words; i++)
    op->visited[i] = 0;
  if (op->kind == PL_OPERAND_BLOCKED) {
    op->view.buffer = op->fill = op->buffer;
    op->latch = op->latch_fill = op->latches;
  }
  first_block(op, origin);
  if (op->kind == PL_OPERAND_BLOCKED && op->output) {
    op->latch->address = op->address;
    op->latch->ragged = op->ragged;
    for (unsigned d = 0; d < op->rank; d++)
      op->latch->index[d] = 0;
  }
}

/*
 * An input's buffers have one writer for good, its channel: the hot path enters only the ticket. For the
 * same reason a group's readers are kept from call to call: a remembered dot enters only its ticket.
 */
static void reset_buffers(struct pl_context *c, struct pl_buffer *ring, uint32_t n, uint32_t writer) {
  for (uint32_t i = 0; ring != NULL && i < n; i++) {
    ring[i].writer = writer;
    if (writer != PL_NOBODY)
      ring[i].write_ticket = c->done[writer];
    for (unsigned r = 0; r < PL_QUEUES; r++)
      ring[i].read_ticket[r] = c->done[r];
  }
}

/* Everything that a call starts from; nothing of an earlier call is left. */
static void reset(struct pl_context *c, struct pl_plan *plan) {
  const uint32_t generation = ++c->generation;

  c->head.grid = plan->grid;
  c->head.grid.user = c->kernel->user;
  for (uint32_t i = 0; i < plan->cursors; i++) {
    plan->cursor[i].grid = c->head.grid;
    plan->cursor[i].left = plan->steps;
  }
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    reset_operand(op, &c->head.grid);
    reset_buffers(c, op->buffer, op->buffers,
                  op->kind == PL_OPERAND_BLOCKED && !op->output ? op->queue->number : (uint32_t)PL_NOBODY);
    op->view.generation = generation;
  }
  for (uint32_t i = 0; i < plan->scratches; i++) {
    struct pl_scratch *s = &plan->scratch[i];
    s->view.generation = generation;
    reset_buffers(c, s->buffer, s->buffers, PL_NOBODY);
  }
  for (uint32_t i = PL_FIRST_SEMAPHORE; i < PL_FIRST_SEMAPHORE + plan->semaphores; i++) {
    c->semaphore[i].started = c->semaphore[i].waited = 0;
    c->semaphore[i].queue = PL_NOBODY;
  }
}

/* Steps 0 .. lead-1 of every operand, step by step. */
static void prologue(struct pl_context *c, struct pl_plan *plan) {
  uint32_t longest = 0;

  for (uint32_t i = 0; i < plan->cursors; i++)
    if (plan->cursor[i].lead > longest)
      longest = plan->cursor[i].lead;
  for (uint32_t k = 0; k < longest && k < plan->steps; k++) {
    for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
      struct pl_operand *op = &plan->operand[i];
      if (!op->moves || k >= op->cursor->lead)
        continue;
      bool changed = evaluate(op, op->rank);
      if (c->status != PL_OK)
        return;
      c->step_tag = k - op->cursor->lead; /* a fetch's tag has the lead in it */
      if (k == 0) { /* the first block is a new one even if it is block 0, which `last` starts with */
        if (op->output && op->kind == PL_OPERAND_BLOCKED) {
          op->latch->address = op->address;
          op->latch->ragged = op->ragged;
          for (unsigned d = 0; d < op->rank; d++)
            op->latch->index[d] = op->dim[d].last;
          visit(op);
        } else if (!op->output && op->kind == PL_OPERAND_BLOCKED && op->buffers > 1) {
          fetch(c, op);
        }
      } else if (changed) {
        op->pending |= 1u << (k - 1);
        if (op->output && op->kind == PL_OPERAND_BLOCKED)
          latch_block(op);
        else if (op->kind == PL_OPERAND_BLOCKED)
          fetch(c, op);
      }
    }
    for (uint32_t i = 0; i < plan->cursors; i++) {
      struct pl_cursor *cursor = &plan->cursor[i];
      if (k < cursor->lead && cursor->left != 0 && --cursor->left != 0)
        advance(&cursor->grid);
    }
  }
  c->step_tag = 0;
}

/* Outputs whose block never changed. */
static void write_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = plan->inputs; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->moves)
      write_back(c, op);
  }
}

static inline void mark(struct pl_context *c, uint32_t kind, uint32_t value) {
  mmio_write32(c->mark, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

void pl_pipeline_run(struct pl_context *c, struct pl_plan *plan) {
  const uint32_t steps = plan->steps;
  void (*const body)(void) = c->kernel->body;
  uint32_t step = 0;

  c->step = c->step_tag = 0;
  reset(c, plan);
  if (c->status != PL_OK)
    return;
  fetch_constant(c, plan);
  prologue(c, plan);
  if (c->status != PL_OK)
    return;
  begin_step(c, plan, false);
  c->in_body = true;
  c->stats.setup = cpu_instret() - c->stats.setup;
  for (;;) {
    if (PL_UNLIKELY(c->status != PL_OK))
      return;
    mark(c, TPU_MARK_STEP, c->step_tag);
    body();
    mark(c, TPU_MARK_STEP_END, c->step_tag);
    if (PL_UNLIKELY(c->status != PL_OK))
      return;
    if (++step == steps)
      break;
    for (struct pl_operand **p = plan->written, **end = p + plan->written_count; p != end; p++)
      if ((*p)->pending & 1)
        write_back(c, *p);
    c->step = step;
    c->step_tag = step & 0x7fffff;
    advance(&c->head.grid);
    advance_cursors(plan);
    begin_step(c, plan, true);
  }
  c->stats.finish = cpu_instret();
  for (uint32_t i = 0; i < plan->written_count; i++)
    write_back(c, plan->written[i]);
  write_constant(c, plan);
}
