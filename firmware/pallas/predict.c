/* SPDX-License-Identifier: MIT */
/*
 * What a call will do, without running it. The plan is the one that the call will use, and the maps are
 * walked over the whole grid by the pipeline's own evaluation, so that copies and bytes are those of the
 * run; only scalar prefetch arguments are really copied, because maps read them.
 *
 * Time is a model: predict_time.c.
 */
#include "predict.h"

enum { ROW_OF_LIST = 2 }; /* cycles that the DMA takes at least for a row by a list */

/*
 * Rows that follow one another make one. A row takes the beats of the port that it touches: for rows that
 * begin anywhere at multiples of g bytes these are (row + port - g) / port on average, g a power of two up to
 * port.
 */
struct pl_moved pl_moved_of(const struct pl_operand *op) {
  const uint32_t port = pl_context.params.value[TPU_PARAM_HBM_PORT_BYTES];
  struct pl_moved m = {.whole = pl_dtype_bytes(op->dtype)};
  int32_t valid[PL_MAX_RANK];
  const bool ragged = pl_valid_part(op, valid);
  uint32_t row = m.whole, rows = 1, begins = port;
  bool joined = true;

  m.part = m.whole;
  m.ragged = ragged;
  m.empty = ragged && pl_is_empty(op, valid);
  for (int d = op->rank - 1; d >= 0; d--) {
    const uint32_t here = (uint32_t)(ragged ? valid[d] : op->dim[d].block);
    const bool listed = op->dim[d].kind == PL_INDIRECT;
    if (joined && !listed) {
      row *= here;
    } else {
      rows *= here;
      begins |= op->dim[d].memory;
    }
    joined = joined && !listed && here == (uint32_t)op->dim[d].extent;
    m.whole *= (uint32_t)op->dim[d].block;
    m.part *= here;
  }
  m.cycles = (rows * (row + port - (begins & -begins)) + port - 1) / port;
  if (op->listed && m.cycles < ROW_OF_LIST * rows)
    m.cycles = ROW_OF_LIST * rows;
  if (!op->output && !op->unfilled)
    m.cycles += (m.whole - m.part + port - 1) / port; /* what is filled holds up what comes behind */
  return m;
}

static void count_in(pl_prediction *p, const struct pl_operand *op) {
  const struct pl_moved m = pl_moved_of(op);
  const bool poison = (pl_debug_flags & PL_DEBUG_POISON) != 0;
  p->bytes_in += op->unfilled && !poison ? m.part : m.whole;
  p->dma_in += m.cycles;
}

static void count_block(pl_prediction *p, struct pl_operand *op, uint32_t *copies) {
  if (!op->output) {
    *copies += !pl_moved_of(op).empty;
    count_in(p, op);
    return;
  }
  if (op->moves) /* the only block of another is in its latch already */
    pl_latch_into(op->latch, op);
  if (op->latch->load)
    count_in(p, op);
  const struct pl_moved m = pl_moved_of(op);
  if (m.empty)
    return;
  ++*copies;
  p->bytes_out += m.part;
  p->dma_out += m.cycles;
}

/* All blocks of an operand, in the order of the grid. */
static void walk_operand(struct pl_context *c, pl_prediction *p, struct pl_operand *op, uint32_t *copies) {
  pl_grid at = c->head.grid;

  if (op->kind != PL_OPERAND_BLOCKED)
    return;
  if (!op->moves) {
    count_block(p, op, copies);
    return;
  }
  for (uint32_t step = 0; step < p->steps && c->status == PL_OK; step++) {
    if (pl_evaluate_any(op, &at) || step == 0)
      count_block(p, op, copies);
    if (step + 1 < p->steps)
      advance(&at);
  }
}

/* What each would need alone, and which of them needs longest. */
static void predict_alone(const struct pl_context *c, pl_prediction *p) {
  const pl_cost_estimate *cost = &c->kernel->cost;
  const int32_t dim = (int32_t)c->dim;
  const uint32_t rows = (uint32_t)(cost->dot[0] > dim ? cost->dot[0] : dim + 1),
                 tiles = (uint32_t)(pl_cdiv(cost->dot[1], dim) * pl_cdiv(cost->dot[2], dim));

  p->mxu = (cost->macs + c->dim * c->dim - 1) / (c->dim * c->dim) + (uint64_t)p->steps * rows * tiles;
  p->vpu = (cost->vector_elements + c->lanes - 1) / c->lanes;
}

static void name_bottleneck(pl_prediction *p) {
  const struct {
    uint64_t cycles;
    enum pl_bottleneck bound;
  } of[] = {{p->mxu, PL_BOUND_MXU},
            {p->vpu, PL_BOUND_VPU},
            {p->dma_in, PL_BOUND_DMA_IN},
            {p->dma_out, PL_BOUND_DMA_OUT},
            {p->scalar, PL_BOUND_SCALAR}};
  uint64_t longest = 0;

  p->bottleneck = PL_BOUND_NONE;
  for (unsigned i = 0; i < sizeof of / sizeof of[0]; i++)
    if (of[i].cycles > longest) {
      longest = of[i].cycles;
      p->bottleneck = of[i].bound;
    }
}

static void walk_plan(struct pl_context *c, struct pl_plan *plan, pl_prediction *p) {
  c->step = 0;
  pl_reset(c, plan);
  for (uint32_t i = 0; i < plan->prefetches; i++)
    if (!plan->prefetch[i].empty) {
      fetch(c, &plan->prefetch[i], 0);
      count_in(p, &plan->prefetch[i]);
    }
  if (plan->prefetches != 0)
    pl_drain(c);
  c->in_prologue = true;
  p->steps = plan->steps;
  for (uint32_t i = 0; i < plan->inputs + plan->outputs && c->status == PL_OK; i++)
    walk_operand(c, p, &plan->operand[i], &p->copies[i]);
  if (c->bad_map)
    pl_find_map(c, plan);
  for (unsigned space = PL_VMEM; space <= PL_ACC; space++)
    p->memory[space - PL_VMEM] = plan->used[space];
  p->memory[3] = plan->semaphores;
  predict_alone(c, p);
  c->in_prologue = true;
  pl_reset(c, plan);
  pl_predict_time(c, plan, p);
  name_bottleneck(p);
}

/* Finds the plan and walks it; the kernel is entered until pl_call_leave(). plan: NULL if nothing runs. */
pl_status pl_predict_entered(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                             pl_prediction *p, struct pl_plan **plan) {
  *plan = NULL;
  if (!pl_outside("pl_plan") || pl_is_null(kernel, "pl_plan") || pl_is_null(p, "pl_predict"))
    return c->status;
  *p = (pl_prediction){0};
  c->kernel = kernel;
  cpu_fence();
  if (pl_plan_find(c, kernel, args, results, plan) != PL_OK ||
      pl_call_enter(c, *plan, args, results) != PL_OK)
    return c->status;
  if ((*plan)->steps != 0)
    walk_plan(c, *plan, p);
  else
    *plan = NULL;
  if (c->status != PL_OK)
    pl_recover();
  return c->status;
}

pl_status pl_predict(const pl_kernel *kernel, pl_arrays args, pl_arrays results, pl_prediction *prediction) {
  struct pl_context *c = &pl_context;
  struct pl_plan *plan;
  const bool inside = c->plan != NULL;
  pl_predict_entered(c, kernel, args, results, prediction, &plan);
  if (!inside)
    pl_call_leave(c);
  return c->status;
}

static pl_prediction *predicted; /* of pl_predict_calls() */

static pl_status predict_instead(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  pl_prediction p;
  const pl_status status = pl_predict(kernel, args, results, &p);

  if (status != PL_OK)
    return status;
  if (p.cycles > predicted->longest) {
    predicted->longest = p.cycles;
    predicted->bottleneck = p.bottleneck;
  }
  predicted->steps += p.steps;
  for (unsigned i = 0; i < PL_MAX_OPERANDS; i++)
    predicted->copies[i] += p.copies[i];
  for (unsigned i = 0; i < 4; i++)
    if (p.memory[i] > predicted->memory[i])
      predicted->memory[i] = p.memory[i];
  predicted->bytes_in += p.bytes_in;
  predicted->bytes_out += p.bytes_out;
  predicted->dma_in += p.dma_in;
  predicted->dma_out += p.dma_out;
  predicted->mxu += p.mxu;
  predicted->vpu += p.vpu;
  predicted->scalar += p.scalar;
  predicted->cycles += p.cycles;
  return PL_OK;
}

void pl_predict_calls(pl_prediction *sum) {
  predicted = sum;
  pl_context.instead = sum != NULL ? predict_instead : NULL;
  if (sum != NULL)
    *sum = (pl_prediction){0};
}
