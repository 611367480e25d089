/* SPDX-License-Identifier: MIT */
/* pl_call: set-up, the pipeline, the checks at the end, and what was measured. */
#include "internal.h"

/* As pl_operand_bind(); what nearly every operand is, in line. */
static inline pl_status bind(struct pl_operand *op, const pl_array *array) {
  const uint32_t end = array->address + op->hbm_bytes;
  if (PL_UNLIKELY(array->space != PL_HBM || op->kind != PL_OPERAND_BLOCKED || end < array->address ||
                  end > pl_context.params.value[TPU_PARAM_HBM_BYTES]))
    return pl_operand_bind(op, array);
  op->base = array->address;
  return PL_OK;
}

static pl_status bind_operands(struct pl_plan *plan, pl_arrays args, pl_arrays results) {
  for (uint32_t i = 0; i < plan->prefetches; i++)
    if (bind(&plan->prefetch[i], &args.array[i]) != PL_OK)
      return pl_context.status;
  args.array += plan->prefetches;
  for (uint32_t i = 0; i < plan->inputs; i++)
    if (bind(&plan->operand[i], &args.array[i]) != PL_OK)
      return pl_context.status;
  for (uint32_t i = 0; i < results.count; i++)
    if (bind(&plan->operand[plan->inputs + i], &results.array[i]) != PL_OK)
      return pl_context.status;
  return PL_OK;
}

static pl_status fail_overlap(const struct pl_operand *out, const struct pl_operand *other) {
  return pl_fail_operand(PL_ERROR_ARGUMENT, out, "shares HBM from 0x%x on with %pV; that would be an alias",
                         (unsigned)(out->base > other->base ? out->base : other->base), &other->view);
}

/* Ranges of addresses; only of operands in HBM that means something. */
static inline bool overlap(const struct pl_operand *a, const struct pl_operand *b) {
  return a->base < b->base + b->hbm_bytes && b->base < a->base + a->hbm_bytes;
}

/* An output that shares memory with another operand would race with it. */
static pl_status check_overlap(const struct pl_plan *plan) {
  const struct pl_operand *const end = plan->operand + plan->inputs + plan->outputs;
  for (const struct pl_operand *out = plan->operand + plan->inputs; out != end; out++) {
    for (const struct pl_operand *other = plan->operand; other != out; other++)
      if (PL_UNLIKELY(overlap(out, other)) && other != out->alias && pl_share_memory(out, other))
        return fail_overlap(out, other);
    for (uint32_t i = 0; i < plan->prefetches; i++)
      if (PL_UNLIKELY(overlap(out, &plan->prefetch[i])) && pl_share_memory(out, &plan->prefetch[i]))
        return fail_overlap(out, &plan->prefetch[i]);
  }
  return PL_OK;
}

void pl_enter(struct pl_context *c, struct pl_plan *plan) {
  c->plan = plan;
  c->sight++;
  for (unsigned space = PL_VMEM; space <= PL_ACC; space++)
    c->body_used[space] = plan->used[space];
  c->body_used[PL_SEMAPHORE] = plan->first_semaphore - PL_FIRST_SEMAPHORE + plan->semaphores;
  c->head.inputs = plan->inputs;
  c->head.outputs = plan->outputs;
  c->head.scratches = plan->scratches;
  for (uint32_t i = 0; i < plan->inputs; i++)
    c->head.input[i] = &plan->operand[i].view;
  for (uint32_t i = 0; i < plan->outputs; i++)
    c->head.output[i] = &plan->operand[plan->inputs + i].view;
  for (uint32_t i = 0; i < plan->scratches; i++)
    c->head.scratch[i] = &plan->scratch[i].view;
  if (c->frame != NULL)
    return; /* scalar prefetch arguments stay the call's */
  c->fenced = false;
  c->view_floor = c->view_generation;
  c->head.prefetches = plan->prefetches;
  for (uint32_t i = 0; i < plan->prefetches; i++)
    c->head.prefetch[i] = &plan->prefetch[i].view;
}

pl_status pl_call_enter(struct pl_context *c, struct pl_plan *plan, pl_arrays args, pl_arrays results) {
  if (bind_operands(plan, args, results) == PL_OK && check_overlap(plan) == PL_OK &&
      (!plan->aliases || pl_alias_bind(plan, args.array + plan->prefetches, results.array) == PL_OK))
    pl_enter(c, plan);
  return c->status;
}

void pl_views_end(struct pl_plan *plan) {
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++)
    plan->operand[i].view.generation = 0;
  for (uint32_t i = 0; i < plan->scratches; i++)
    plan->scratch[i].view.generation = 0;
  for (uint32_t i = 0; i < plan->prefetches; i++)
    plan->prefetch[i].view.generation = 0;
}

void pl_call_leave(struct pl_context *c) {
  if (c->plan != NULL)
    pl_views_end(c->plan); /* refs end with the call */
  c->in_body = false;
  c->plan = NULL;
  c->kernel = NULL;
  c->head.inputs = c->head.outputs = c->head.scratches = c->head.prefetches = 0;
  c->head.grid.rank = 0;
}

static void run(struct pl_context *c, struct pl_plan *plan, pl_arrays args, pl_arrays results) {
  if (pl_call_enter(c, plan, args, results) != PL_OK || plan->steps == 0)
    return; /* no step: nothing happens at all */
  pl_pipeline_run(c, plan);
  const pl_status status = c->status;
  if (status == PL_OK) {
    pl_drain(c);
  } else if (status != PL_ERROR_DEADLOCK && status != PL_ERROR_DEVICE) {
    pl_message_keep(true); /* what is queued can still end well; if not, that is not what went wrong first */
    c->status = PL_OK;
    pl_drain(c);
    c->status = status;
    pl_message_keep(false);
  }
  c->in_body = false;
  c->in_prologue = true;
  const bool ended = c->status == PL_OK;
  for (uint32_t i = 0; i < plan->semaphores && ended; i++)
    pl_check_semaphore(c, PL_FIRST_SEMAPHORE + i, "the kernel ended");
  if (c->status != PL_OK)
    pl_recover();
}

pl_status pl_call(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  struct pl_context *c = &pl_context;
  struct pl_plan *plan = NULL;
  uint64_t begin, end;

  const uint32_t instructions = cpu_instret();
  if (PL_UNLIKELY(!c->ready || c->plan != NULL || kernel == NULL) &&
      (!pl_outside("pl_call") || pl_is_null(kernel, "pl_call")))
    return c->status;
  pl_running = &c->head;
  c->status = PL_OK;
  if (PL_UNLIKELY(c->instead != NULL))
    return c->instead(kernel, args, results);
  c->kernel = kernel;
  c->stats.setup = instructions;
  c->stats.finish = instructions;
  c->stats.plan = NULL;
  c->stats.cycles = 0;
  (void)!tpu_ctrl_cycle(&c->ctrl, &begin);
  tpu_ctrl_mark(&c->ctrl, TPU_MARK_CALL_BEGIN, c->calls);
  (void)!tpu_counters_clear(&c->counters);
  cpu_fence(); /* what the scalar core wrote to HBM is there before the first command */
  if (pl_plan_find(c, kernel, args, results, &plan) == PL_OK)
    run(c, plan, args, results);
  (void)!tpu_counters_latch(&c->counters);
  tpu_ctrl_mark(&c->ctrl, TPU_MARK_CALL_END, c->calls++);
  (void)!tpu_ctrl_cycle(&c->ctrl, &end);
  pl_call_leave(c);
  c->stats.plan = plan;
  c->stats.cycles = end - begin;
  const uint32_t now = cpu_instret();
  c->stats.instructions = now - instructions;
  c->stats.finish = now - c->stats.finish;
  return c->status;
}

static void put_copies(pl_stats *stats, const struct pl_plan *plan) {
  stats->steps = plan->steps;
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++)
    stats->copies[i] = plan->operand[i].tag & PL_TAG_NUMBER;
  for (uint32_t i = 0; i < plan->outputs; i++)
    stats->reloads[i] = plan->operand[plan->inputs + i].load_tag & PL_TAG_NUMBER;
}

void pl_get_pipeline_stats(pl_stats *stats) {
  if (pl_is_null(stats, "pl_get_pipeline_stats"))
    return;
  *stats = (pl_stats){0};
  if (pl_context.stats.inner != NULL)
    put_copies(stats, pl_context.stats.inner);
}

void pl_get_stats(pl_stats *stats) {
  const struct pl_context *c = &pl_context;
  const struct pl_plan *plan = c->stats.plan;

  if (pl_is_null(stats, "pl_get_stats"))
    return;
  *stats = (pl_stats){
      .cycles = c->stats.cycles,
      .instructions = c->stats.instructions,
      .setup_instructions = c->stats.setup,
      .finish_instructions = c->stats.finish,
      .plan_was_cached = c->stats.cached,
  };
  if (plan == NULL)
    return;
  put_copies(stats, plan);
  for (unsigned q = 0; q < PL_QUEUES; q++)
    (void)!tpu_counters_read(&c->counters, q, &stats->queue[q]);
}
