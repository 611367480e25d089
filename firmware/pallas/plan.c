/* SPDX-License-Identifier: MIT */
/*
 * Plans: everything about a kernel that does not depend on where its arrays lie, made once and found
 * again by contents (key.c).
 *
 * Plans live in an arena, the memory that the program leaves free. When it is full all of them are dropped:
 * kernels that a program alternates between fit together, and a program with hundreds runs each for long.
 */
#include "internal.h"

#ifdef TPU_HOST
static _Alignas(
    16) uint8_t arena[PL_ARENA_BYTES * sizeof(void *) / 4]; /* pointers are what grows on a host */
#define ARENA_END (arena + sizeof arena)
#else
extern uint8_t __plans[], __plans_end[]; /* linker script */
#define arena     __plans
#define ARENA_END __plans_end
#endif
static uint8_t *arena_used = arena, *arena_end = ARENA_END; /* what is free lies between */
static struct pl_plan *plans, *inner_plans;

void *pl_arena_take(uint32_t bytes) {
  bytes = (bytes + 7) & ~7u;
  if (bytes > (uint32_t)(arena_end - arena_used)) {
    pl_fail(PL_ERROR_LIMIT, "the plan does not fit: of %u bytes for plans %u are left beside running ones",
            (unsigned)(ARENA_END - arena), (unsigned)(arena_end - arena_used));
    return NULL;
  }
  uint8_t *const taken = arena_used;
  arena_used += bytes;
  for (uint32_t i = 0; i < bytes; i++)
    taken[i] = 0;
  return taken;
}

/* ---- making one ---- */

static pl_status plan_grid(struct pl_plan *plan, const pl_kernel *kernel) {
  uint64_t steps = 1;
  bool arbitrary = false;

  plan->grid.rank = kernel->grid.rank;
  plan->grid.extent[0] = 1; /* of rank 0, too, for who counts steps */
  for (uint32_t d = 0; d < kernel->grid.rank; d++) {
    int32_t extent = kernel->grid.extent[d];
    if (extent <= 0 && extent > (PL_DYN_MOST | PL_DYN_FLAG))
      return pl_fail(PL_ERROR_SPEC,
                     "grid dimension %u has the static extent %d; PL_DYN() marks a run-time extent",
                     (unsigned)d, (int)extent);
    plan->grid.extent[d] = extent & ~PL_DYN_FLAG;
    steps *= (uint32_t)plan->grid.extent[d];
    if (steps > PL_MAX_STEPS)
      steps = PL_MAX_STEPS + 1; /* a run-time extent of 0 may still come */
    if (kernel->dimension_semantics[d] > PL_CORE_PARALLEL)
      return pl_fail(PL_ERROR_SPEC, "grid dimension %u has the semantics %u", (unsigned)d,
                     (unsigned)kernel->dimension_semantics[d]);
    if (kernel->dimension_semantics[d] == PL_ARBITRARY)
      arbitrary = true;
    else if (arbitrary && plan->nesting == NULL)
      return pl_fail(PL_ERROR_SPEC,
                     "grid dimension %u is parallel behind an arbitrary one; parallel ones come first",
                     (unsigned)d);
  }
  for (uint32_t d = kernel->grid.rank; d < PL_MAX_GRID; d++)
    if (kernel->dimension_semantics[d] != PL_ARBITRARY)
      return pl_fail(PL_ERROR_SPEC, "dimension %u has semantics, and the grid has rank %u", (unsigned)d,
                     (unsigned)kernel->grid.rank);
  if (steps > PL_MAX_STEPS)
    return pl_fail(PL_ERROR_LIMIT, "the grid has more than PL_MAX_STEPS (%d) steps", PL_MAX_STEPS);
  plan->steps = (uint32_t)steps;
  return PL_OK;
}

static pl_status plan_scratch(struct pl_plan *plan, struct pl_scratch *s, unsigned index,
                              const pl_scratch_spec *spec) {
  uint32_t size;

  if (pl_scratch_view(&s->view, "scratch", index, spec, &size) != PL_OK)
    return pl_context.status;
  if (s->view.space != PL_SEMAPHORE) {
    s->slot_bytes = size;
    return PL_OK;
  }
  const uint32_t room = pl_context.sem.count - plan->first_semaphore - plan->semaphores;
  if (size > room)
    return pl_fail(PL_ERROR_BUDGET, "scratch %u: %u semaphores, %u are free", index, (unsigned)size,
                   (unsigned)room);
  s->view.semaphores = (uint16_t)(plan->first_semaphore + plan->semaphores);
  plan->semaphores += size;
  return PL_OK;
}

/* The position that runs `lead` steps ahead; operands with the same lead share it. */
static struct pl_cursor *cursor_of(struct pl_plan *plan, uint32_t lead) {
  for (uint32_t i = 0; i < plan->cursors; i++)
    if (plan->cursor[i].lead == lead)
      return &plan->cursor[i];
  struct pl_cursor *cursor = &plan->cursor[plan->cursors++];
  cursor->lead = lead;
  return cursor;
}

static void forget_plans(struct pl_context *c) {
  plans = inner_plans = NULL;
  c->last_inner = c->stats.inner = c->stats.plan = NULL;
  arena_used = arena;
  arena_end = ARENA_END;
  for (unsigned q = 0; q < PL_QUEUES; q++) {
    c->queue[q].owner = NULL; /* which was in the arena */
    c->queue[q].epoch = c->queue[q].issued;
  }
  pl_residents_settle();
  c->aged = false;
}

/* Adds to the end of a list; returns the new end. */
static struct pl_operand **append(struct pl_operand **end, struct pl_operand *op) {
  *end = op;
  return &op->next;
}

/* Sorts moving operands by what a step does with them, and gives inputs their channels. */
static pl_status plan_movement(struct pl_plan *plan) {
  struct pl_context *c = &pl_context;
  const uint32_t operands = plan->inputs + plan->outputs;
  struct pl_operand **fetched = &plan->fetched, **written = &plan->written, **followed = &plan->followed;
  struct pl_operand **ahead = &plan->ahead, **loaded = &plan->loaded;
  uint32_t channel = 0, own = 0; /* own: cursors at the end, of one operand each */

  plan->cursor = pl_arena_take(operands * (uint32_t)sizeof *plan->cursor);
  if (plan->cursor == NULL)
    return c->status;
  for (uint32_t i = 0; i < plan->prefetches; i++) {
    plan->prefetch[i].queue = &c->queue[PL_INPUT_QUEUES - 1];
    plan->prefetch[i].tag = PL_TAG(PL_TAG_PREFETCH, i);
  }
  plan->plain = true;
  for (uint32_t i = 0; i < operands; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED) {
      op->queue = &c->queue[op->output ? (uint32_t)PL_WRITE_BACK_QUEUE : channel++ % PL_INPUT_QUEUES];
      op->tag = PL_TAG(op->output ? PL_TAG_WRITE_BACK : PL_TAG_FETCH, op->number);
      /* An input's buffers have one writer for good: the hot path enters only the ticket. */
      for (uint32_t n = 0; n < op->buffers && !op->output; n++) {
        op->buffer[n].writer = op->queue->number;
        op->buffer[n].write_ticket = c->done[op->queue->number];
      }
    }
    if (op->kind == PL_OPERAND_BLOCKED && (op->inout || op->revisit)) {
      op->load_queue = &c->queue[channel++ % PL_INPUT_QUEUES];
      op->load_tag = PL_TAG(PL_TAG_LOAD, op->number);
    }
    if (!op->moves) {
      if (op->map != NULL && plan->steps > 1)
        followed = append(followed, op); /* it can only be wrong, and must be asked to see it */
      continue;
    }
    uint32_t lead = (op->kind == PL_OPERAND_BLOCKED && op->buffers > 2 ? op->buffers : 2) - 1;
    if (op->lookahead) {
      op->cursor = &plan->cursor[operands - ++own];
      op->cursor->lead = lead;
      ahead = append(ahead, op);
      plan->plain = false;
      continue;
    }
    op->cursor = cursor_of(plan, lead);
    if (op->output && op->kind == PL_OPERAND_BLOCKED && (op->inout || op->revisit))
      loaded = append(loaded, op);
    else if (op->kind != PL_OPERAND_BLOCKED || (!op->output && op->buffers == 1))
      followed = append(followed, op);
    else if (op->output)
      written = append(written, op);
    else
      fetched = append(fetched, op);
    plan->plain = plan->plain && op->rank == 2 && !op->general;
  }
  plan->plain =
      plan->plain && plan->cursors <= 1 && plan->followed == NULL && plan->loaded == NULL && !plan->aliases;
  plan->copy_queue = channel < PL_INPUT_QUEUES ? channel : PL_INPUT_QUEUES - 1;
  return PL_OK;
}

static pl_status plan_make(struct pl_plan *plan, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                           const struct pl_nesting *nesting) {
  struct pl_context *c = &pl_context;
  const uint32_t key_words = pl_key_write(NULL, kernel, args, results);
  uint32_t *words;

  plan->first_semaphore = PL_FIRST_SEMAPHORE;
  if (nesting != NULL) {
    struct pl_nesting *copy = pl_arena_take(sizeof *copy);
    if (copy == NULL)
      return c->status;
    *copy = *nesting;
    plan->nesting = copy;
    plan->first_semaphore += nesting->base[PL_SEMAPHORE];
  } else if (kernel->prologue != NULL) {
    return pl_fail(PL_ERROR_ARGUMENT, "a prologue; it is of pl_emit_pipeline()");
  }
  if (plan_grid(plan, kernel) != PL_OK)
    return c->status;
  while (plan->scratches < PL_MAX_SCRATCH && kernel->scratch[plan->scratches] != NULL)
    plan->scratches++;
  plan->prefetches = kernel->num_scalar_prefetch;
  plan->inputs = args.count - plan->prefetches;
  plan->outputs = results.count;
  plan->operand = pl_arena_take((plan->inputs + plan->outputs) * (uint32_t)sizeof *plan->operand);
  plan->prefetch = pl_arena_take(plan->prefetches * (uint32_t)sizeof *plan->prefetch);
  plan->scratch = pl_arena_take(plan->scratches * (uint32_t)sizeof *plan->scratch);
  words = pl_arena_take(key_words * 4);
  if (plan->operand == NULL || plan->prefetch == NULL || plan->scratch == NULL || words == NULL)
    return c->status;
  pl_key_write(words, kernel, args, results);
  plan->key = words;
  for (uint32_t i = 0; i < plan->prefetches; i++) {
    plan->prefetch[i].number = i;
    if (pl_prefetch_plan(&plan->prefetch[i], &args.array[i]) != PL_OK)
      return c->status;
  }
  args = (pl_arrays){args.array + plan->prefetches, plan->inputs};
  for (uint32_t i = 0; i < args.count + results.count; i++) {
    struct pl_operand *op = &plan->operand[i];
    op->output = i >= args.count;
    op->number = op->output ? i - args.count : i;
    op->window = plan->nesting != NULL && (plan->nesting->windows >> i & 1);
    if (pl_operand_plan(op, op->output ? kernel->out[op->number] : kernel->in[op->number],
                        op->output ? &results.array[op->number] : &args.array[op->number],
                        plan->nesting != NULL ? plan->nesting->stride[i] : NULL, plan->steps) != PL_OK)
      return c->status;
  }
  for (uint32_t i = 0; i < plan->outputs; i++)
    if (kernel->out[i] != NULL && kernel->out[i]->alias != 0 &&
        pl_alias_plan(plan, &plan->operand[plan->inputs + i], kernel->out[i]->alias - 1u, &results.array[i],
                      args.array) != PL_OK)
      return c->status;
  for (uint32_t i = 0; i < plan->scratches; i++)
    if (plan_scratch(plan, &plan->scratch[i], i, kernel->scratch[i]) != PL_OK)
      return c->status;
  if (pl_plan_layout(plan) != PL_OK)
    return c->status;
  return plan_movement(plan);
}

static pl_status check_counts(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  if (kernel->body == NULL || (args.array == NULL && args.count != 0) ||
      (results.array == NULL && results.count != 0))
    return pl_fail(PL_ERROR_ARGUMENT, "there is no body, or an array list is NULL");
  if (kernel->num_scalar_prefetch > PL_MAX_PREFETCH)
    return pl_fail(PL_ERROR_LIMIT, "%u scalar prefetch arguments; PL_MAX_PREFETCH is %d",
                   (unsigned)kernel->num_scalar_prefetch, PL_MAX_PREFETCH);
  if (kernel->num_scalar_prefetch > args.count)
    return pl_fail(PL_ERROR_ARGUMENT, "%u scalar prefetch arguments, and only %u arguments",
                   (unsigned)kernel->num_scalar_prefetch, (unsigned)args.count);
  args.count -= kernel->num_scalar_prefetch;
  if (kernel->grid.rank > PL_MAX_GRID)
    return pl_fail(PL_ERROR_LIMIT, "a grid of rank %u; PL_MAX_GRID is %d", (unsigned)kernel->grid.rank,
                   PL_MAX_GRID);
  if (args.count + results.count > PL_MAX_OPERANDS)
    return pl_fail(PL_ERROR_LIMIT, "%u inputs and outputs; PL_MAX_OPERANDS is %d",
                   (unsigned)(args.count + results.count), PL_MAX_OPERANDS);
  if ((args.count < PL_MAX_OPERANDS && kernel->in[args.count] != NULL) ||
      (results.count < PL_MAX_OPERANDS && kernel->out[results.count] != NULL))
    return pl_fail(PL_ERROR_ARGUMENT, "the kernel has more specs than it got arrays (%u inputs, %u outputs)",
                   (unsigned)args.count, (unsigned)results.count);
  return PL_OK;
}

/* Memory allocated since has not taken its place. */
static bool fits(struct pl_plan *plan) {
  if (plan->version == pl_allocation_version)
    return true;
  for (unsigned space = PL_VMEM; space <= PL_ACC; space++)
    if (plan->used[space] > pl_plan_space(space))
      return false;
  plan->version = pl_allocation_version;
  return true;
}

static bool same_nesting(const struct pl_nesting *a, const struct pl_nesting *b) {
  const uint32_t *x = (const uint32_t *)a, *y = (const uint32_t *)b;
  for (uint32_t i = 0; i < sizeof *a / sizeof *x; i++)
    if (x[i] != y[i])
      return false;
  return true;
}

/* Takes what is free from a place of the arena on to the next plan that runs, if it is more than there is. */
static void consider(const struct pl_context *c, uint8_t *from) {
  uint8_t *to = ARENA_END;

  for (const struct pl_frame *f = c->frame; f != NULL; f = f->outer)
    if ((uint8_t *)f->plan >= from && (uint8_t *)f->plan < to)
      to = (uint8_t *)f->plan;
  if (to - from > arena_end - arena_used) {
    arena_used = from;
    arena_end = to;
  }
}

/* Drops all plans that do not run. The largest gap between the others is free then. */
static void forget_idle_plans(struct pl_context *c) {
  plans = inner_plans = NULL;
  arena_used = arena_end = arena;
  consider(c, arena);
  for (const struct pl_frame *f = c->frame; f != NULL; f = f->outer) {
    struct pl_plan **list = f->plan->nesting != NULL ? &inner_plans : &plans;
    f->plan->next = *list;
    *list = f->plan;
    consider(c, f->plan->end);
  }
  for (unsigned q = 0; q < PL_QUEUES; q++)
    c->queue[q].owner = NULL;
  c->last_inner = c->stats.inner = NULL;
}

/* Makes a plan; if there is no room for it, idle ones make room. */
static pl_status make(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                      const struct pl_nesting *nesting, struct pl_plan **found) {
  struct pl_plan **const list = nesting != NULL ? &inner_plans : &plans;

  for (int attempt = 0; attempt < 2; attempt++) {
    uint8_t *const before = arena_used;
    struct pl_plan *plan = pl_arena_take(sizeof *plan);
    if (plan != NULL && plan_make(plan, kernel, args, results, nesting) == PL_OK) {
      plan->end = arena_used;
      plan->version = pl_allocation_version;
      plan->next = *list;
      *list = plan;
      *found = plan;
      return PL_OK;
    }
    arena_used = before;
    if (c->status != PL_ERROR_LIMIT || before == arena)
      break;
    if (nesting != NULL)
      forget_idle_plans(c);
    else
      forget_plans(c);
    if (attempt == 0)
      c->status = PL_OK;
  }
  return c->status;
}

pl_status pl_plan_find(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                       struct pl_plan **found) {
  if (check_counts(kernel, args, results) != PL_OK)
    return c->status;
  if (c->aged)
    forget_plans(c);
  for (struct pl_plan *plan = plans; plan != NULL; plan = plan->next)
    if (pl_key_matches(plan->key, kernel, args, results) && fits(plan)) {
      *found = plan;
      c->stats.cached = true;
      return PL_OK;
    }
  c->stats.cached = false;
  return make(c, kernel, args, results, NULL, found);
}

pl_status pl_plan_find_inner(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                             const struct pl_nesting *nesting, struct pl_plan **found) {
  if (check_counts(kernel, args, results) != PL_OK)
    return c->status;
  for (struct pl_plan *plan = inner_plans; plan != NULL; plan = plan->next)
    if (pl_key_matches(plan->key, kernel, args, results) && same_nesting(plan->nesting, nesting) &&
        fits(plan)) {
      *found = plan;
      return PL_OK;
    }
  return make(c, kernel, args, results, nesting, found);
}
