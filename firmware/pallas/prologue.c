/* SPDX-License-Identifier: MIT */
/* What comes before step 0: a clean start, blocks that never change, and the first look ahead. */
#include "pipeline.h"

void pl_check_constant(struct pl_operand *op, const pl_grid *at) {
  op->map(at, op->index);
  for (unsigned d = 0; d < op->rank; d++)
    if (op->index[d].start != 0)
      pl_fail_block_index(op, at);
}

/* In line it would be as quick only for the few operands that are fetched once. */
static __attribute__((noinline)) void fetch_once(struct pl_context *c, struct pl_operand *op) {
  fetch(c, op, 0);
}

/* Blocks that never change: fetched once, before everything else. Maps may read the first ones. */
static void fetch_constant(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = 0; i < plan->prefetches; i++)
    if (!plan->prefetch[i].empty) {
      fetch_once(c, &plan->prefetch[i]);
      if (plan->prefetch[i].resident != NULL) /* the body may write the array, if it is an output too */
        pl_has_read(plan->prefetch[i].resident, plan->prefetch[i].queue);
    }
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->moves)
      continue;
    if (op->map != NULL)
      pl_check_constant(op, &plan->grid);
    if (op->kind == PL_OPERAND_BLOCKED && !op->output)
      fetch_once(c, op);
    else if (op->kind == PL_OPERAND_BLOCKED && op->inout)
      pl_load_first(c, op);
  }
}

static void first_block(struct pl_operand *op) {
  op->address = op->base;
  for (unsigned d = 0; d < op->rank; d++) {
    op->dim[d].last = 0;
    op->dim[d].size = 0;
  }
}

static void reset_loaded(struct pl_operand *op) {
  op->load_tag &= ~PL_TAG_NUMBER;
  op->flushed = op->queue->issued; /* nothing in this call */
  for (uint32_t i = 0; i < (op->buffers > 2 ? op->buffers : 2); i++)
    op->latches[i].after = NULL;
}

/* Tickets of earlier calls need no reset: they are reached, and waiting for them costs nothing. */
static void reset_operand(struct pl_operand *op) {
  op->tag &= ~PL_TAG_NUMBER;
  first_block(op);
  if (op->kind != PL_OPERAND_BLOCKED)
    return;
  op->view.buffer = op->fill = op->buffer;
  for (uint32_t i = 0; i < op->buffers; i++)
    op->buffer[i].first = PL_NO_STEP;
  op->free = op->buffers;
  op->fetched = op->queue->issued; /* nothing in this call */
  op->skip = op->prefetched;
  if (op->prefetched != 0 && op->queue->owner == op)
    op->queue->owner = NULL; /* the hot path leaves nothing out */
  if (!op->output)
    return;
  if (PL_UNLIKELY(op->keeps_place))
    reset_loaded(op);
  op->highest = 0;
  for (uint32_t i = 0; i < op->visited_words; i++)
    op->visited[i] = 0;
  op->latch = op->latch_fill = op->latches;
  for (uint32_t i = 0; i < (op->buffers > 2 ? op->buffers : 2); i++)
    op->latches[i].first = PL_NO_STEP;
  op->latch->first = 0;
  if (!op->moves)
    pl_latch_into(op->latch, op);
}

static PL_COLD void reset_semaphores(struct pl_context *c, const struct pl_plan *plan) {
  for (uint32_t i = plan->first_semaphore; i < plan->first_semaphore + plan->semaphores; i++) {
    pl_semaphores[i].started = pl_semaphores[i].waited = 0;
    pl_semaphores[i].queue = PL_NOBODY;
    pl_semaphores[i].use = ++c->view_generation;
  }
}

/* Everything that a call starts from. */
void pl_reset(struct pl_context *c, struct pl_plan *plan) {
  const uint32_t generation = ++c->generation;

  plan->grid.user = c->kernel->user;
  if (PL_UNLIKELY(pl_debug_flags & PL_DEBUG_SHUFFLE))
    pl_shuffle_first(&plan->grid);
  c->head.grid = plan->grid;
  for (uint32_t i = 0; i < plan->cursors; i++) {
    plan->cursor[i].grid = plan->grid;
    plan->cursor[i].left = plan->steps;
  }
  for (struct pl_operand *op = plan->ahead; op != NULL; op = op->next) {
    op->cursor->grid = plan->grid;
    op->cursor->left = plan->steps;
  }
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    reset_operand(&plan->operand[i]);
    plan->operand[i].view.generation = generation;
  }
  for (uint32_t i = 0; i < plan->scratches; i++)
    plan->scratch[i].view.generation = generation;
  for (uint32_t i = 0; i < plan->prefetches; i++) {
    reset_operand(&plan->prefetch[i]);
    plan->prefetch[i].view.generation = generation;
  }
  if (plan->semaphores != 0)
    reset_semaphores(c, plan);
}

/* Evaluates step k of an operand before step 0. */
static void look_ahead(struct pl_context *c, struct pl_operand *op, uint32_t k) {
  if (op->lookahead) {
    if (k + 1 < op->buffers)
      pl_fetch_run(c, op);
    return;
  }
  const bool changed = pl_evaluate_any(op, &op->cursor->grid);
  const bool blocked = op->kind == PL_OPERAND_BLOCKED;

  if (c->status != PL_OK || (k > 0 && !changed))
    return; /* at k = 0 the block is new even if it is block 0, which `last` starts with */
  if (blocked && op->output && k == 0) {
    pl_latch_into(op->latch, op);
    if (op->inout)
      pl_load_first(c, op);
    else
      op->latch->buffer = op->view.buffer;
  } else if (blocked && (op->inout || op->revisit))
    pl_load_ahead(c, op, k);
  else if (blocked && op->output)
    pl_latch_block(op, k);
  else if (blocked && op->buffers > 1)
    fetch(c, op, k);
}

/* Steps 0 .. lead-1 of every operand, step by step. */
void pl_prologue(struct pl_context *c, struct pl_plan *plan) {
  uint32_t longest = 0;

  fetch_constant(c, plan);
  for (uint32_t i = 0; i < plan->cursors; i++)
    if (plan->cursor[i].lead > longest)
      longest = plan->cursor[i].lead;
  for (struct pl_operand *op = plan->ahead; op != NULL; op = op->next)
    if (op->cursor->lead > longest)
      longest = op->cursor->lead;
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
