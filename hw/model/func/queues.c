/* SPDX-License-Identifier: MIT */
/*
 * Queues and semaphores: GO, the look at a head, start, completion, signals and takes.
 *
 * Signals and takes of a cycle are collected and applied together at its end, so a signal is seen by heads
 * and by the scalar core from the next cycle on, and the overflow check sees the sum (contract section 2).
 */
#include "model.h"

#include <string.h>

#define COUNT_MAX 0x7fffffffu

bool func_is_ticket(const struct tpu_model *m, uint32_t sem) {
  return m->state.sem_ticket >> sem & 1;
}

/* ---- fields of WAITS and SIGNALS --------------------------------------------------------------------------
 */

static bool wait_enabled(uint32_t waits, uint32_t i) {
  return waits >> (8 * i + TPU_Q_WAITS_EN0_SHIFT) & 1;
}

static bool wait_consumes(uint32_t waits, uint32_t i) {
  return waits >> (8 * i + TPU_Q_WAITS_CONSUME0_SHIFT) & 1;
}

static uint32_t wait_sem(uint32_t waits, uint32_t i) {
  return waits >> (8 * i) & TPU_Q_WAITS_SEM0_MASK;
}

/* ---- semaphores -------------------------------------------------------------------------------------------
 */

void func_sem_signal(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t queue, uint32_t tag) {
  struct sem_delta *d = &m->delta;
  if (d->add[sem] == 0) {
    d->queue[sem] = queue;
    d->tag[sem] = tag;
  }
  d->add[sem] += amount;
  d->touched |= UINT64_C(1) << sem;
  d->wakes |= UINT64_C(1) << sem;
  if (m->race)
    func_race_signal(m, sem, amount, queue);
  uint32_t shown = amount < 0xffffff ? (uint32_t)amount : 0xffffff;
  func_event(m, TPU_EVENT_SIGNAL, queue, tag, sem | shown << 8);
}

/* What is left for this cycle's takers. */
static uint32_t available(const struct tpu_model *m, uint32_t sem) {
  return m->state.sem[sem] - (uint32_t)m->delta.take[sem];
}

static void take(struct tpu_model *m, uint32_t sem, uint32_t amount) {
  m->delta.take[sem] += amount;
  m->delta.touched |= UINT64_C(1) << sem;
}

/* Does the head of the queue wait for one of these? */
static bool waits_for(const struct command *c, uint64_t sems) {
  for (uint32_t i = 0; i < WAITS; i++)
    if (wait_enabled(c->waits, i) && sems >> wait_sem(c->waits, i) & 1)
      return true;
  return false;
}

void func_sem_take(struct tpu_model *m, uint32_t sem, uint32_t amount) {
  if (amount > available(m, sem))
    func_error(m, TPU_ERROR_SEM_UNDERFLOW, TPU_QUEUE_SCALAR, 0, sem, available(m, sem));
  else {
    if (m->race)
      func_race_sem_take(m, sem, amount);
    take(m, sem, amount);
  }
  m->delta.wakes |= UINT64_C(1) << sem;
}

static bool wait_holds(const struct tpu_model *m, const struct command *c, uint32_t i) {
  uint32_t sem = wait_sem(c->waits, i);
  if (func_is_ticket(m, sem))
    return (int32_t)(m->state.sem[sem] - c->wait_amount[i]) >= 0;
  return available(m, sem) >= c->wait_amount[i];
}

/* True if all waits hold; else *sem is the semaphore of the first that does not. */
static bool waits_hold(const struct tpu_model *m, const struct command *c, uint32_t *sem) {
  for (uint32_t i = 0; i < WAITS; i++)
    if (wait_enabled(c->waits, i) && !wait_holds(m, c, i)) {
      *sem = wait_sem(c->waits, i);
      return false;
    }
  return true;
}

static void apply_one(struct tpu_model *m, uint32_t sem) {
  struct sem_delta *d = &m->delta;
  uint64_t sum = (uint64_t)m->state.sem[sem] + d->add[sem] - d->take[sem];
  bool overflow = !func_is_ticket(m, sem) && d->add[sem] != 0 && sum > COUNT_MAX;
  if (overflow)
    func_error(m, TPU_ERROR_SEM_OVERFLOW, d->queue[sem], d->tag[sem], sem, m->state.sem[sem]);
  else
    m->state.sem[sem] = (uint32_t)sum;
  d->add[sem] = d->take[sem] = 0;
}

void func_apply_semaphores(struct tpu_model *m) {
  struct sem_delta *d = &m->delta;
  for (uint32_t sem = 0; sem < SEMAPHORES && d->touched >> sem != 0; sem++)
    if (d->touched >> sem & 1)
      apply_one(m, sem);
  for (uint32_t i = 0; i < QUEUES && d->wakes != 0; i++) {
    struct queue *q = &m->state.queue[i];
    if (q->waiting && waits_for(&q->slot[q->head], d->wakes))
      func_look(m, i, m->state.cycle + TIME_SEM_TO_START);
  }
  d->touched = d->wakes = 0;
}

/* ---- GO ---------------------------------------------------------------------------------------------------
 */

uint32_t func_free_slots(const struct tpu_model *m, uint32_t queue) {
  return m->config->queue_depth - m->state.queue[queue].count;
}

bool func_unit_present(const struct tpu_config *c, uint32_t queue) {
  switch (queue) {
  case TPU_QUEUE_MXU:
    return c->mxu_int8 || c->mxu_bf16;
  case TPU_QUEUE_VPU:
    return c->vpu_present;
  case TPU_QUEUE_SYNC:
    return true;
  default:
    return queue < c->dma_channels;
  }
}

static bool duplicate_wait(uint32_t waits, uint32_t *sem) {
  for (uint32_t i = 0; i < WAITS; i++)
    for (uint32_t j = i + 1; j < WAITS; j++)
      if (wait_enabled(waits, i) && wait_enabled(waits, j) && wait_sem(waits, i) == wait_sem(waits, j)) {
        *sem = wait_sem(waits, i);
        return true;
      }
  return false;
}

static struct command staged_command(const uint32_t *stage, uint32_t tag) {
  struct command c = {.tag = tag, .waits = stage[TPU_Q_WAITS / 4], .signals = stage[TPU_Q_SIGNALS / 4]};
  memcpy(c.wait_amount, &stage[TPU_Q_WAIT_AMOUNT(0) / 4], sizeof c.wait_amount);
  memcpy(c.signal_amount, &stage[TPU_Q_SIGNAL_AMOUNT(0) / 4], sizeof c.signal_amount);
  memcpy(c.args, &stage[TPU_QUEUE_ARGS / 4], sizeof c.args);
  return c;
}

void func_go(struct tpu_model *m, uint32_t queue, uint32_t tag) {
  struct queue *q = &m->state.queue[queue];
  const uint32_t *stage = m->state.stage[queue];
  uint32_t sem;
  if (m->state.error.valid || m->state.aborting)
    return;
  if (!func_unit_present(m->config, queue)) {
    func_error(m, TPU_ERROR_UNIT_ABSENT, queue, tag, TPU_QUEUE_BASE(queue) + TPU_Q_GO, tag);
  } else if (duplicate_wait(stage[TPU_Q_WAITS / 4], &sem)) {
    func_error(m, TPU_ERROR_SEM_DUPLICATE, queue, tag, sem, 0);
  } else if (q->count == m->config->queue_depth) {
    func_late_queue(m, queue);
    func_error(m, TPU_ERROR_QUEUE_FULL, queue, tag, 0, 0);
  } else {
    struct command *c = &q->slot[(q->head + q->count++) % MAX_DEPTH];
    *c = staged_command(stage, tag);
    if (m->race)
      func_race_go(m, queue, c);
    func_event(m, TPU_EVENT_GO, queue, tag, 0);
    if (q->count == 1)
      func_look(m, queue, m->state.cycle + TIME_GO);
  }
}

/* ---- start ------------------------------------------------------------------------------------------------
 */

void func_look(struct tpu_model *m, uint32_t queue, uint64_t at) {
  struct queue *q = &m->state.queue[queue];
  if (q->count == 0 || q->halted)
    q->look_at = NEVER;
  else if (q->look_at == NEVER)
    q->look_at = at;
}

static void start(struct tpu_model *m, uint32_t queue) {
  struct queue *q = &m->state.queue[queue];
  const struct command *c = &q->slot[q->head];
  if (m->race)
    func_race_start(m, queue, c);
  for (uint32_t i = 0; i < WAITS; i++) {
    uint32_t sem = wait_sem(c->waits, i);
    if (wait_enabled(c->waits, i) && wait_consumes(c->waits, i) && !func_is_ticket(m, sem))
      take(m, sem, c->wait_amount[i]);
  }
  struct flying *f = func_flying(q, q->fly_count++);
  memset(f, 0, sizeof *f);
  f->command = *c;
  f->start = m->state.cycle;
  f->done_at = NEVER;
  q->head = (q->head + 1) % MAX_DEPTH;
  q->count--;
  q->waiting = false;
  func_event(m, TPU_EVENT_START, queue, f->command.tag, 0);
  func_engine_start(m, queue, f);
  if (m->race)
    func_race_ranges(m, queue, f);
  func_look(m, queue, m->state.cycle + TIME_NEXT_HEAD);
}

static void look_at_head(struct tpu_model *m, uint32_t queue) {
  struct queue *q = &m->state.queue[queue];
  struct command *c = &q->slot[q->head];
  uint64_t at = NEVER;
  uint32_t sem;
  q->look_at = NEVER;
  if (q->count == 0 || q->halted)
    return;
  if (!func_engine_ready(m, queue, &at)) {
    q->look_at = at; /* NEVER: a completion brings the next look */
  } else if (waits_hold(m, c, &sem)) {
    start(m, queue);
  } else {
    if (!q->waiting)
      func_event(m, TPU_EVENT_WAIT, queue, c->tag, sem);
    q->waiting = true;
  }
}

void func_start_heads(struct tpu_model *m) {
  for (uint32_t i = 0; i < QUEUES; i++)
    if (m->state.queue[i].look_at <= m->state.cycle)
      look_at_head(m, i);
}

/* ---- completion -------------------------------------------------------------------------------------------
 */

static void pop_flying(struct tpu_model *m, uint32_t queue) {
  struct queue *q = &m->state.queue[queue];
  q->fly_head = (q->fly_head + 1) % MAX_FLYING;
  q->fly_count--;
  func_engine_front(m, queue);
}

void func_complete(struct tpu_model *m, uint32_t queue) {
  struct state *s = &m->state;
  struct queue *q = &s->queue[queue];
  struct flying *f = func_front(q);
  const struct command *c = &f->command;
  bool dma = queue < CHANNELS;
  if (m->race)
    func_race_complete(m, queue, c->signals & TPU_Q_SIGNALS_IRQ_MASK);
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t bits = c->signals >> (8 * i);
    if (!(bits & TPU_Q_SIGNALS_EN0_MASK))
      continue;
    bool by_bytes = bits & TPU_Q_SIGNALS_BYTES0_MASK;
    uint64_t amount = by_bytes ? (dma ? f->bytes : 0) : c->signal_amount[i];
    func_sem_signal(m, bits & TPU_Q_SIGNALS_SEM0_MASK, amount, queue, c->tag);
  }
  if (c->signals & TPU_Q_SIGNALS_IRQ_MASK)
    s->intr_state |= TPU_REG_INTR_STATE_DONE_MASK;
  s->counter[queue][COUNTER_COMMANDS]++;
  s->counter[queue][COUNTER_BYTES] += f->bytes;
  s->counter[queue][COUNTER_WORK] += f->work;
  func_event(m, TPU_EVENT_END, queue, c->tag, dma ? (uint32_t)f->bytes : 0);
  pop_flying(m, queue);
  if (q->look_at == NEVER && !q->waiting)
    func_look(m, queue, s->cycle + TIME_ENGINE_FREE);
}

void func_fail(struct tpu_model *m, uint32_t queue, const struct tpu_fault *fault) {
  struct queue *q = &m->state.queue[queue];
  func_error(m, fault->code, queue, func_front(q)->command.tag, fault->detail0, fault->detail1);
  q->halted = true;
  q->look_at = q->front_at = NEVER;
  q->fly_count = 0;
  q->waiting = false;
}
