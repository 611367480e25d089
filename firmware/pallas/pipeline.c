/* SPDX-License-Identifier: MIT */
/*
 * The pipeline: which block is fetched when, into which buffer, and when a block is written back.
 *
 * B(s) is an operand's block at step s, n its number of buffers. A map is evaluated once a step, in
 * order, `lead` = max(n, 2) - 1 steps ahead: for steps 0 .. lead-1 before step 0, and for step s + lead
 * at the start of step s. An input with two buffers or more is fetched right then, if its block differs
 * from the one before; the buffer it goes to is free, because n buffers hold the runs of at most n
 * steps. A buffer knows the step with which the run begins that it holds: there it becomes the current
 * one. An output keeps in latches where the blocks of its next runs go and when they begin; there the
 * block of the run before is written back.
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

/* One dimension of `evaluate` that lies at the edge or outside. */
static PL_COLD bool edge_index(const struct pl_operand *op, const pl_grid *at, unsigned d)
{
  if ((uint32_t)op->index[d].start < op->dim[d].blocks)
    return true;
  fail_block_index(op, at);
  return false;
}

/*
 * Evaluates the map at the cursor. True if the block is another one than before; op->address is then
 * its address. Blocks do not overlap, so another block has another address. A bad index is an error and
 * no change. A block at the edge takes the channel's words away from the operand: the hot path of a
 * fetch need not look for edges then.
 */
HOT bool evaluate(struct pl_operand *op, const pl_grid *at, unsigned rank)
{
  const uint32_t before = op->address;
  uint32_t address = before;

  op->map(at, op->index);
#pragma GCC unroll 5
  for (unsigned d = 0; d < rank; d++) {
    struct pl_dim *dim = &op->dim[d];
    const uint32_t index = (uint32_t)op->index[d].start, last = (uint32_t)dim->last;
    if (index != last) {
      if (PL_UNLIKELY(index >= dim->full)) {
        if (!edge_index(op, at, d))
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
HOT void fetch_words(struct pl_operand *op, struct pl_queue *q, struct pl_buffer *buffer, uint32_t issued)
{
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

static PL_COLD void fetch_looking(struct pl_context *c, struct pl_operand *op)
{
  struct pl_queue *const q = op->queue;
  if (q->owner == op && pl_room(c, q)) /* it only looked full */
    fetch_words(op, q, op->fill, q->issued);
  else
    pl_fetch_slow(c, op);
}

/* Fetches the block evaluated last, for the run that begins with this step. */
HOT void fetch(struct pl_context *c, struct pl_operand *op, uint32_t first)
{
  struct pl_queue *const q = op->queue;
  struct pl_buffer *const buffer = op->fill;
  const uint32_t issued = q->issued;

  buffer->first = first;
  if (PL_UNLIKELY(q->owner != op || issued == q->limit))
    fetch_looking(c, op);
  else
    fetch_words(op, q, buffer, issued);
  op->fill = buffer->next;
}

HOT void write_back_words(struct pl_operand *op, struct pl_queue *q, struct pl_buffer *buffer,
                          const struct pl_latch *latch)
{
  const uintptr_t base = q->base;
  const uint32_t tag = op->tag, ticket = q->issued + 1;

  op->tag = tag + 1;
  tpu_queue_put(base, TPU_DMA_SRC, buffer->address);
  tpu_queue_put(base, TPU_DMA_DST, latch->address);
  tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(0), buffer->write_ticket);
  tpu_queue_go(base, tag);
  q->issued = ticket;
  buffer->read_ticket[PL_WRITE_BACK_QUEUE] = ticket;
}

/* Writes the current block back. */
static void write_back(struct pl_context *c, struct pl_operand *op)
{
  struct pl_queue *const q = op->queue;
  struct pl_buffer *const buffer = op->view.buffer;
  const struct pl_latch *const latch = op->latch;

  if (PL_LIKELY(q->owner == op && buffer->writer == op->wait_queue && !latch->ragged &&
                (q->issued != q->limit || pl_room(c, q))))
    write_back_words(op, q, buffer, latch);
  else
    pl_write_back_slow(c, op, latch);
}

/* Keeps where an output's block goes that was just evaluated. */
static void latch_into(struct pl_latch *latch, struct pl_operand *op)
{
  latch->address = op->address;
  latch->ragged = false;
  for (unsigned d = 0; d < op->rank; d++) {
    latch->index[d] = op->dim[d].last;
    latch->ragged |= (uint32_t)op->dim[d].last >= op->dim[d].full;
  }
  visit(op);
}

static void latch_block(struct pl_operand *op, uint32_t first)
{
  op->latch_fill = op->latch_fill->next;
  op->latch_fill->first = first;
  latch_into(op->latch_fill, op);
}

/*
 * The start of a step for an input. at, first: position and number of the step that is looked at ahead;
 * at is NULL if there is none any more.
 */
HOT void step_fetched(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first, uint32_t step,
                      uint32_t generation, unsigned rank)
{
  struct pl_buffer *const next = op->view.buffer->next;
  if (next->first == step)
    op->view.buffer = next;
  op->view.generation = generation;
  if (at != NULL && evaluate(op, at, rank))
    fetch(c, op, first);
}

/* For an output: if its run ended with the step before, the block is written back. */
HOT void step_written(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first, uint32_t step,
                      uint32_t generation, unsigned rank)
{
  struct pl_latch *const next = op->latch->next;
  if (next->first == step) {
    write_back(c, op);
    op->view.buffer = op->view.buffer->next;
    op->latch = next;
  }
  op->view.generation = generation;
  if (at != NULL && evaluate(op, at, rank))
    latch_block(op, first);
}

static inline const pl_grid *ahead(const struct pl_operand *op)
{
  return op->cursor->left != 0 ? &op->cursor->grid : NULL;
}

/* An input with one buffer, or an array used in place: what was evaluated a step ago begins now. */
static void step_followed(struct pl_context *c, struct pl_operand *op, uint32_t step, uint32_t generation)
{
  op->view.generation = generation;
  if (step == 0 || op->pending) {
    if (op->kind == PL_OPERAND_BLOCKED)
      fetch(c, op, step);
    else
      op->view.offset = op->address;
  }
  op->pending = op->cursor->left != 0 && evaluate(op, &op->cursor->grid, op->rank);
}

/* The start of a step. */
static void begin_step(struct pl_context *c, struct pl_plan *plan, uint32_t step, uint32_t generation)
{
  struct pl_operand *op;

  for (op = plan->fetched; op != NULL; op = op->next)
    step_fetched(c, op, ahead(op), step + op->cursor->lead, step, generation, op->rank);
  for (op = plan->written; op != NULL; op = op->next)
    step_written(c, op, ahead(op), step + op->cursor->lead, step, generation, op->rank);
  for (op = plan->followed; op != NULL; op = op->next)
    step_followed(c, op, step, generation);
}

/* The same for a plain plan that still looks ahead, with everything known that can be. */
HOT void begin_plain_step(struct pl_context *c, struct pl_plan *plan, const pl_grid *at, uint32_t first, uint32_t step,
                          uint32_t generation)
{
  struct pl_operand *op;

  for (op = plan->fetched; op != NULL; op = op->next)
    step_fetched(c, op, at, first, step, generation, 2);
  for (op = plan->written; op != NULL; op = op->next)
    step_written(c, op, at, first, step, generation, 2);
}

_Static_assert(offsetof(pl_grid, extent) - offsetof(pl_grid, id) == PL_MAX_GRID * sizeof(int32_t),
               "an extent is PL_MAX_GRID behind its id");

/* The carry of a position whose last id has reached its extent. */
static void carry(int32_t *id)
{
  do
    *id-- = 0;
  while (++*id == id[PL_MAX_GRID]);
}

static inline void advance(pl_grid *grid)
{
  int32_t *id = &grid->id[grid->rank - 1];
  if (++*id == id[PL_MAX_GRID])
    carry(id);
}

static void advance_cursors(struct pl_plan *plan)
{
  for (struct pl_cursor *cursor = plan->cursor, *end = cursor + plan->cursors; cursor != end; cursor++)
    if (cursor->left != 0 && --cursor->left != 0)
      advance(&cursor->grid);
}

/* Blocks that never change: fetched once, before everything else. */
static void fetch_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = 0; i < plan->inputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->moves)
      fetch(c, op, 0);
  }
}

/* Block 0 of an operand, whose map (if any) must say so if it is the only one. */
static void first_block(struct pl_operand *op, const pl_grid *origin)
{
  op->address = op->base;
  for (unsigned d = 0; d < op->rank; d++) {
    op->index[d].start = 0;
    op->dim[d].last = 0;
  }
  if (op->map != NULL && !op->moves) {
    op->map(origin, op->index);
    for (unsigned d = 0; d < op->rank; d++)
      if (op->index[d].start != 0)
        fail_block_index(op, origin);
  }
}

/* Tickets of earlier calls need no reset: they are reached, and waiting for them costs nothing. */
static void reset_operand(struct pl_operand *op, const pl_grid *origin)
{
  op->tag &= ~PL_TAG_NUMBER;
  first_block(op, origin);
  if (op->kind != PL_OPERAND_BLOCKED)
    return;
  op->view.buffer = op->fill = op->buffer;
  for (uint32_t i = 0; i < op->buffers; i++)
    op->buffer[i].first = PL_NO_STEP;
  if (!op->output)
    return;
  op->highest = 0;
  for (uint32_t i = 0; i < op->visited_words; i++)
    op->visited[i] = 0;
  op->latch = op->latch_fill = op->latches;
  for (uint32_t i = 0; i < (op->buffers > 2 ? op->buffers : 2); i++)
    op->latches[i].first = PL_NO_STEP;
  if (!op->moves)
    latch_into(op->latch, op);
}

/* Everything that a call starts from. */
static void reset(struct pl_context *c, struct pl_plan *plan)
{
  const uint32_t generation = ++c->generation;

  plan->grid.user = c->kernel->user;
  c->head.grid = plan->grid;
  for (uint32_t i = 0; i < plan->cursors; i++) {
    plan->cursor[i].grid = plan->grid;
    plan->cursor[i].left = plan->steps;
  }
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    reset_operand(&plan->operand[i], &plan->grid);
    plan->operand[i].view.generation = generation;
  }
  for (uint32_t i = 0; i < plan->scratches; i++)
    plan->scratch[i].view.generation = generation;
  for (uint32_t i = PL_FIRST_SEMAPHORE; i < PL_FIRST_SEMAPHORE + plan->semaphores; i++) {
    c->semaphore[i].started = c->semaphore[i].waited = 0;
    c->semaphore[i].queue = PL_NOBODY;
  }
}

/* Evaluates step k of an operand before step 0. */
static void look_ahead(struct pl_context *c, struct pl_operand *op, uint32_t k)
{
  const bool changed = evaluate(op, &op->cursor->grid, op->rank);
  const bool blocked = op->kind == PL_OPERAND_BLOCKED;

  if (c->status != PL_OK || (k > 0 && !changed))
    return; /* at k = 0 the block is new even if it is block 0, which `last` starts with */
  if (blocked && op->output)
    k > 0 ? latch_block(op, k) : latch_into(op->latch, op);
  else if (blocked && op->buffers > 1)
    fetch(c, op, k);
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
      if (op->moves && k < op->cursor->lead)
        look_ahead(c, op, k);
      if (c->status != PL_OK)
        return;
    }
    for (uint32_t i = 0; i < plan->cursors; i++) {
      struct pl_cursor *cursor = &plan->cursor[i];
      if (k < cursor->lead && cursor->left != 0 && --cursor->left != 0)
        advance(&cursor->grid);
    }
  }
}

/* Outputs whose block never changed. */
static void write_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = plan->inputs; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->moves)
      write_back(c, op);
  }
}

static inline void mark(struct pl_context *c, uint32_t kind, uint32_t value)
{
  mmio_write32(c->mark, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

/*
 * Steps from the first body on, until the last one returned or something failed. A failure closes the
 * hot paths, so that it need be looked at only once a step.
 */
HOT void run_steps(struct pl_context *c, struct pl_plan *plan, const bool plain)
{
  const uint32_t steps = plan->steps, lead = plain && plan->cursors != 0 ? plan->cursor->lead : steps;
  const uint32_t evaluated = steps > lead ? steps - lead : 0; /* steps that look ahead */
  void (*const body)(void) = c->kernel->body;
  const uint32_t last = c->head.grid.rank != 0 ? c->head.grid.rank - 1 : 0; /* a grid of rank 0 has one step */
  int32_t *const id = &c->head.grid.id[last];
  pl_grid *const at = &plan->cursor->grid;
  int32_t *const at_id = &at->id[last];
  uint32_t step = 0, generation = c->generation;

  for (;;) {
    mark(c, TPU_MARK_STEP, step);
    body();
    mark(c, TPU_MARK_STEP_END, step);
    if (PL_UNLIKELY(++step == steps))
      break;
    c->step = step;
    generation++;
    if (++*id == id[PL_MAX_GRID])
      carry(id);
    if (plain && PL_LIKELY(step < evaluated)) {
      if (++*at_id == at_id[PL_MAX_GRID])
        carry(at_id);
      begin_plain_step(c, plan, at, step + lead, step, generation);
    } else {
      advance_cursors(plan);
      begin_step(c, plan, step, generation);
    }
    if (PL_UNLIKELY(c->status != PL_OK))
      break;
  }
  c->generation = generation;
}

static void run_plain(struct pl_context *c, struct pl_plan *plan) { run_steps(c, plan, true); }
static void run_any(struct pl_context *c, struct pl_plan *plan) { run_steps(c, plan, false); }

void pl_pipeline_run(struct pl_context *c, struct pl_plan *plan)
{
  c->step = 0;
  reset(c, plan);
  if (c->status != PL_OK)
    return;
  fetch_constant(c, plan);
  prologue(c, plan);
  if (c->status != PL_OK)
    return;
  begin_step(c, plan, 0, ++c->generation);
  if (c->status != PL_OK)
    return;
  if (plan->plain && plan->cursors != 0 && plan->cursor->left != 0)
    plan->cursor->left = 0; /* the plain loop knows by its step whether there is more to look at */
  c->in_body = true;
  c->stats.setup = cpu_instret() - c->stats.setup;
  if (plan->plain)
    run_plain(c, plan);
  else
    run_any(c, plan);
  c->stats.finish = cpu_instret();
  if (c->status != PL_OK)
    return;
  for (struct pl_operand *op = plan->written; op != NULL; op = op->next)
    write_back(c, op);
  write_constant(c, plan);
}
