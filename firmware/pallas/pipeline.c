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
#include "pipeline.h"

void pl_fetch_looking(struct pl_context *c, struct pl_operand *op) {
  struct pl_queue *const q = op->queue;
  if (q->owner == op && pl_room(c, q)) /* it only looked full */
    fetch_words(op, q, op->fill, q->issued);
  else
    pl_fetch_slow(c, op);
}

bool pl_evaluate_any(struct pl_operand *op, const pl_grid *at) {
  return PL_LIKELY(op->rank == 2 && !op->general) ? evaluate(op, at, 2) : pl_evaluate_general(op, at);
}

HOT void write_back_words(struct pl_operand *op, struct pl_queue *q, struct pl_buffer *buffer,
                          const struct pl_latch *latch) {
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

void pl_write_back(struct pl_context *c, struct pl_operand *op) {
  struct pl_queue *const q = op->queue;
  struct pl_buffer *const buffer = op->view.buffer;
  struct pl_latch *const latch = op->latch;

  if (PL_LIKELY(q->owner == op && buffer->writer == op->wait_queue && !latch->ragged &&
                (q->issued != q->limit || pl_room(c, q))))
    write_back_words(op, q, buffer, latch);
  else
    pl_write_back_slow(c, op, latch);
}

/*
 * The start of a step for an input. at, first: position and number of the step that is looked at ahead;
 * at is NULL if there is none any more. rank: of the array, and there is one; or 0 if the operand may be of
 * any kind.
 */
HOT void step_fetched(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first,
                      uint32_t step, uint32_t generation, unsigned rank) {
  struct pl_buffer *const next = op->view.buffer->next;
  if (next->first == step)
    op->view.buffer = next;
  op->view.generation = generation;
  if (rank != 0 ? evaluate(op, at, rank) : at != NULL && pl_evaluate_any(op, at))
    fetch(c, op, first);
}

/* For an output: if its run ended with the step before, the block is written back. */
HOT void step_written(struct pl_context *c, struct pl_operand *op, const pl_grid *at, uint32_t first,
                      uint32_t step, uint32_t generation, unsigned rank) {
  struct pl_latch *const next = op->latch->next;
  if (next->first == step) {
    pl_write_back(c, op);
    op->view.buffer = op->view.buffer->next;
    op->latch = next;
  }
  op->view.generation = generation;
  if (rank != 0 ? evaluate(op, at, rank) : at != NULL && pl_evaluate_any(op, at))
    pl_latch_block(op, first);
}

static inline const pl_grid *ahead(const struct pl_operand *op) {
  return op->cursor->left != 0 ? &op->cursor->grid : NULL;
}

/* An input with one buffer, or an array used in place: what was evaluated a step ago begins now. */
static void step_followed(struct pl_context *c, struct pl_operand *op, uint32_t step, uint32_t generation) {
  op->view.generation = generation;
  if (step == 0 || op->pending) {
    if (op->kind == PL_OPERAND_BLOCKED)
      fetch(c, op, step);
    else
      op->view.offset = op->address;
  }
  op->pending = op->cursor->left != 0 && pl_evaluate_any(op, &op->cursor->grid);
}

/* The start of a step. */
static void begin_step(struct pl_context *c, struct pl_plan *plan, uint32_t step, uint32_t generation) {
  struct pl_operand *op;

  for (op = plan->fetched; op != NULL; op = op->next)
    step_fetched(c, op, ahead(op), step + op->cursor->lead, step, generation, 0);
  for (op = plan->ahead; op != NULL; op = op->next)
    pl_lookahead_step(c, op, step, generation);
  for (op = plan->written; op != NULL; op = op->next)
    step_written(c, op, ahead(op), step + op->cursor->lead, step, generation, 0);
  for (op = plan->loaded; op != NULL; op = op->next)
    pl_loaded_step(c, op, ahead(op), step + op->cursor->lead, step, generation);
  for (op = plan->followed; op != NULL; op = op->next)
    if (op->moves)
      step_followed(c, op, step, generation);
    else if (step != 0)
      pl_check_constant(op, &c->head.grid);
}

/* The same for a plain plan that still looks ahead, with everything known that can be. */
HOT void begin_plain_step(struct pl_context *c, struct pl_plan *plan, const pl_grid *at, uint32_t first,
                          uint32_t step, uint32_t generation) {
  struct pl_operand *op;

  for (op = plan->fetched; op != NULL; op = op->next)
    step_fetched(c, op, at, first, step, generation, 2);
  for (op = plan->written; op != NULL; op = op->next)
    step_written(c, op, at, first, step, generation, 2);
}

static void advance_cursors(struct pl_plan *plan) {
  for (struct pl_cursor *cursor = plan->cursor, *end = cursor + plan->cursors; cursor != end; cursor++)
    if (cursor->left != 0 && --cursor->left != 0)
      advance(&cursor->grid);
}

/* Outputs whose block never changed. */
static void write_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = plan->inputs; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->moves)
      pl_write_back(c, op);
  }
}

static inline void mark(struct pl_context *c, uint32_t kind, uint32_t value) {
  mmio_write32(c->mark, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

/* Everything in front of the first body is done. */
static PL_COLD void first_body(struct pl_context *c) {
  c->in_prologue = false;
  if (c->frame == NULL)
    c->stats.setup = cpu_instret() - c->stats.setup;
}

/*
 * If the error is that a map called an operation: whose map was it? Maps are functions of the position, so
 * that they can be asked again, this time one by one.
 */
PL_COLD void pl_find_map(struct pl_context *c, struct pl_plan *plan) {
  c->in_body = false;
  c->status = PL_OK;
  for (uint32_t i = 0; i < plan->inputs + plan->outputs && c->status == PL_OK; i++) {
    struct pl_operand *op = &plan->operand[i];
    c->mapping = op;
    if (op->map != NULL)
      op->map(op->moves ? &op->cursor->grid : &c->head.grid, op->index);
  }
  c->mapping = NULL;
  (void)pl_in_body("an operation"); /* it was none of them, this time */
  c->bad_map = false;
  c->in_body = PL_IN_BODY;
}

/*
 * Steps until the last body returned or something failed. A failure closes the hot paths, so that it need
 * be looked at only once a step. The ids of the grid and of the cursor are one behind at first.
 */
HOT void run_steps(struct pl_context *c, struct pl_plan *plan, const bool plain) {
  const uint32_t steps = plan->steps, lead = plain && plan->cursors != 0 ? plan->cursor->lead : steps;
  const uint32_t evaluated = steps > lead ? steps - lead : 0; /* steps that look ahead */
  void (*const body)(void) = c->kernel->body;
  const uint32_t last =
      c->head.grid.rank != 0 ? c->head.grid.rank - 1 : 0; /* a grid of rank 0 has one step */
  int32_t *const id = &c->head.grid.id[last];
  pl_grid *const at = &plan->cursor->grid;
  int32_t *const at_id = &at->id[last];
  const bool shuffled = !plain && (pl_debug_flags & PL_DEBUG_SHUFFLE) != 0;
  uint32_t step = 0, generation = c->generation;

  if (!shuffled)
    --*id;
  if (plain)
    --*at_id;
  for (;;) {
    c->step = step;
    c->in_body = false;
    generation++;
    if (!plain && PL_UNLIKELY(shuffled)) {
      if (step != 0)
        advance(&c->head.grid);
    } else if (++*id == id[PL_MAX_GRID]) {
      pl_carry(id);
    }
    if (plain && PL_LIKELY(step < evaluated)) {
      if (++*at_id == at_id[PL_MAX_GRID])
        pl_carry(at_id);
      begin_plain_step(c, plan, at, step + lead, step, generation);
    } else {
      if (plain || step != 0)
        advance_cursors(plan);
      begin_step(c, plan, step, generation);
      if (!plain && PL_UNLIKELY(pl_debug_flags & PL_DEBUG_POISON))
        pl_poison_outputs(c, plan, step);
    }
    c->in_body = PL_IN_BODY;
    if (PL_UNLIKELY(c->status != PL_OK))
      break;
    if (PL_UNLIKELY(step == 0))
      first_body(c);
    mark(c, TPU_MARK_STEP, step);
    body();
    mark(c, TPU_MARK_STEP_END, step);
    if (PL_UNLIKELY(++step == steps))
      break;
  }
  if ((int32_t)(generation - c->generation) > 0) /* pipelines in the body have used some, too */
    c->generation = generation;
}

static void run_plain(struct pl_context *c, struct pl_plan *plan) {
  run_steps(c, plan, true);
}
static void run_any(struct pl_context *c, struct pl_plan *plan) {
  run_steps(c, plan, false);
}

void pl_pipeline_run(struct pl_context *c, struct pl_plan *plan) {
  c->step = 0;
  c->in_prologue = true;
  pl_reset(c, plan);
  if (c->status != PL_OK)
    return;
  const bool poison = (pl_debug_flags & PL_DEBUG_POISON) != 0;
  if (PL_UNLIKELY(poison))
    pl_poison_scratch(c, plan);
  c->in_body = false;
  pl_prologue(c, plan);
  c->in_body = PL_IN_BODY;
  if (PL_UNLIKELY(c->bad_map))
    pl_find_map(c, plan);
  if (PL_UNLIKELY(c->kernel->prologue != NULL) && c->status == PL_OK)
    c->kernel->prologue();
  if (c->status != PL_OK)
    return;
  const bool plain = plan->plain && !(pl_debug_flags & (PL_DEBUG_POISON | PL_DEBUG_SHUFFLE));
  if (plain && plan->cursors != 0 && plan->cursor->left != 0)
    plan->cursor->left = 0; /* the plain loop knows by its step whether there is more to look at */
  if (plain)
    run_plain(c, plan);
  else
    run_any(c, plan);
  if (PL_UNLIKELY(c->bad_map))
    pl_find_map(c, plan);
  if (c->frame == NULL)
    c->stats.finish = cpu_instret();
  if (c->status != PL_OK)
    return;
  for (struct pl_operand *op = plan->written; op != NULL; op = op->next)
    pl_write_back(c, op);
  for (struct pl_operand *op = plan->loaded; op != NULL; op = op->next)
    pl_write_back(c, op);
  write_constant(c, plan);
}
