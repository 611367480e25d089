/* SPDX-License-Identifier: MIT */
/*
 * The memory of a plan: exact bytes per operand and scratch, and what to change when it does not fit.
 *
 * Operands and scratch follow one another from address 0 of each space. Accumulators get a second
 * physical buffer where there is room, so that an overwrite need not wait for the previous result to
 * be drained.
 */
#include "internal.h"

/* One line of the table: something that wants memory. */
struct item {
  const struct pl_view *view;
  uint32_t slot_bytes, buffers;
};

static uint32_t items(const struct pl_plan *plan) {
  return plan->prefetches + plan->inputs + plan->outputs + plan->scratches;
}

static struct item item_of(const struct pl_plan *plan, uint32_t i) {
  const uint32_t operands = plan->inputs + plan->outputs, p = plan->prefetches;
  if (i < p)
    return (struct item){&plan->prefetch[i].view, plan->prefetch[i].slot_bytes, 1};
  i -= p;
  if (i < operands) {
    const struct pl_operand *op = &plan->operand[i];
    return (struct item){&op->view, op->kind == PL_OPERAND_BLOCKED && !op->window ? op->slot_bytes : 0,
                         op->buffers};
  }
  const struct pl_scratch *s = &plan->scratch[i - operands];
  return (struct item){&s->view, s->slot_bytes, 1};
}

static const char *unit(unsigned space) {
  return space == PL_ACC ? "rows" : "bytes";
}

/* What the space would need if no operand had more than `most` buffers. */
static uint64_t needed(const struct pl_plan *plan, unsigned space, uint32_t most) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < items(plan); i++) {
    struct item it = item_of(plan, i);
    if (it.view->space == space)
      sum += (uint64_t)it.slot_bytes * (it.buffers < most ? it.buffers : most);
  }
  return sum;
}

static PL_COLD void advise(const struct pl_plan *plan, unsigned space, uint32_t room) {
  for (uint32_t most = PL_MAX_BUFFERS; most > 0; most--)
    if (needed(plan, space, most) <= room) {
      pl_message_add("  with at most %u buffer%s an operand it fits\n", (unsigned)most, most == 1 ? "" : "s");
      return;
    }
  /* The greediest block, with the buffers it has: how many rows would fit beside the rest? */
  struct item big = {NULL, 0, 0};
  for (uint32_t i = 0; i < items(plan); i++) {
    struct item it = item_of(plan, i);
    if (it.view->space == space &&
        (uint64_t)it.slot_bytes * it.buffers > (uint64_t)big.slot_bytes * big.buffers)
      big = it;
  }
  uint64_t rest = needed(plan, space, PL_MAX_BUFFERS) - (uint64_t)big.slot_bytes * big.buffers;
  uint32_t columns = (uint32_t)(big.view->rank > 0 ? big.view->shape[big.view->rank - 1] : 1);
  uint32_t row = space == PL_ACC ? (columns + pl_context.dim - 1) / pl_context.dim : big.view->pitch;
  uint32_t each = rest < room ? (room - (uint32_t)rest) / big.buffers : 0;
  if (space != PL_ACC)
    each = each / PL_ALIGN * PL_ALIGN;
  if (each >= row)
    pl_message_add("  %pV with at most %u rows of %u columns fits beside the rest\n", big.view,
                   (unsigned)(each / row), (unsigned)columns);
  else
    pl_message_add("  not even one row of %pV fits beside the rest\n", big.view);
}

static PL_COLD pl_status fail_budget(const struct pl_plan *plan, unsigned space, uint64_t want,
                                     uint32_t room) {
  const uint32_t *p = pl_context.params.value;
  uint32_t size = space == PL_VMEM   ? p[TPU_PARAM_VMEM_BYTES]
                  : space == PL_SMEM ? p[TPU_PARAM_SMEM_BYTES]
                                     : p[TPU_PARAM_ACC_ROWS];

  pl_fail(PL_ERROR_BUDGET, "%s: %lu %s wanted, %u there (%u, %u of them in pl_alloc() arrays%s)\n",
          pl_space_name(space), (unsigned long)want, unit(space), (unsigned)room, (unsigned)size,
          (unsigned)(size - room), plan->nesting != NULL ? " and what the body uses" : "");
  for (uint32_t i = 0; i < items(plan); i++) {
    struct item it = item_of(plan, i);
    if (it.view->space != space || it.slot_bytes == 0)
      continue;
    pl_message_add("  %-10pV %-18pS %-5pT %2u x %8u = %9lu %s\n", it.view, it.view, it.view,
                   (unsigned)it.buffers, (unsigned)it.slot_bytes,
                   (unsigned long)((uint64_t)it.slot_bytes * it.buffers), unit(space));
  }
  advise(plan, space, room);
  return PL_ERROR_BUDGET;
}

/* A ring of n buffers of `bytes` from `address` on. */
static struct pl_buffer *make_ring(struct pl_group *group, uint32_t n, uint32_t address, uint32_t bytes) {
  struct pl_buffer *ring = pl_arena_take(n * (uint32_t)sizeof *ring);
  for (uint32_t i = 0; ring != NULL && i < n; i++) {
    ring[i].address = address + i * bytes;
    ring[i].group = group;
    ring[i].next = &ring[(i + 1) % n];
    ring[i].writer = PL_NOBODY;
    ring[i].write_ticket = 0;
    for (unsigned r = 0; r < PL_QUEUES; r++)
      ring[i].read_ticket[r] = pl_context.done[r];
  }
  return ring;
}

/* What a dot into it keeps staged. */
static pl_status make_record(struct pl_view *view) {
  if (view->space == PL_ACC) {
    view->dot = pl_arena_take(sizeof *view->dot);
    if (view->dot == NULL)
      return pl_context.status;
  }
  return PL_OK;
}

static pl_status make_operand(struct pl_operand *op, uint32_t *used) {
  if (op->output && make_record(&op->view) != PL_OK)
    return pl_context.status;
  if (op->kind == PL_OPERAND_DIRECT)
    return PL_OK;
  op->group.filler = op->kind == PL_OPERAND_BLOCKED && !op->output ? op : NULL;
  op->buffer = make_ring(&op->group, op->buffers, *used, op->slot_bytes);
  if (op->buffer == NULL)
    return pl_context.status;
  *used += op->kind == PL_OPERAND_BLOCKED && !op->window ? op->buffers * op->slot_bytes : 0;
  if ((op->output || op->alias != NULL) && op->kind == PL_OPERAND_BLOCKED) {
    uint32_t n = op->buffers > 2 ? op->buffers : 2;
    op->latches = pl_arena_take(n * (uint32_t)sizeof *op->latches);
    if (op->latches == NULL)
      return pl_context.status;
    for (uint32_t i = 0; i < n; i++)
      op->latches[i].next = &op->latches[(i + 1) % n];
  }
  return PL_OK;
}

pl_status pl_plan_layout(struct pl_plan *plan) {
  uint32_t spare[PL_SEMAPHORE] = {0};

  for (unsigned space = PL_VMEM; space <= PL_ACC; space++) {
    plan->used[space] = plan->nesting != NULL ? plan->nesting->base[space] : 0;
    const uint32_t end = pl_plan_space(space);
    const uint32_t room = end > plan->used[space] ? end - plan->used[space] : 0;
    uint64_t want = needed(plan, space, PL_MAX_BUFFERS);
    if (want > room)
      return fail_budget(plan, space, want, room);
    spare[space] = room - (uint32_t)want;
  }
  for (uint32_t i = 0; i < plan->prefetches; i++)
    if (make_operand(&plan->prefetch[i], &plan->used[PL_SMEM]) != PL_OK)
      return pl_context.status;
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    uint32_t none = 0;
    if (make_operand(op, op->space < PL_SEMAPHORE ? &plan->used[op->space] : &none) != PL_OK)
      return pl_context.status;
  }
  for (uint32_t i = 0; i < plan->scratches; i++) {
    struct pl_scratch *s = &plan->scratch[i];
    const unsigned space = s->view.space;
    if (space == PL_SEMAPHORE)
      continue;
    s->buffers = 1;
    if (space == PL_ACC && s->slot_bytes <= spare[space]) {
      s->buffers = 2;
      spare[space] -= s->slot_bytes;
    }
    s->buffer = make_ring(&s->group, s->buffers, plan->used[space], s->slot_bytes);
    if (s->buffer == NULL || make_record(&s->view) != PL_OK)
      return pl_context.status;
    s->view.buffer = s->buffer;
    plan->used[space] += s->buffers * s->slot_bytes;
  }
  return PL_OK;
}
