/* SPDX-License-Identifier: MIT */
/*
 * Time: the run of one cycle, the jump to the next one in which something happens, the interrupt line, abort,
 * and the counters, which are integrated over the jumps.
 */
#include "model.h"

#include <string.h>

#define TRACE_ROOM CYCLE_EVENTS /* free records below which advance() stops */

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* ---- what the device is doing -----------------------------------------------------------------------------
 */

static bool anything_flying(const struct tpu_model *m) {
  for (uint32_t i = 0; i < QUEUES; i++)
    if (m->state.queue[i].fly_count > 0)
      return true;
  return false;
}

bool func_idle(const struct tpu_model *m) {
  if (m->state.aborting || anything_flying(m))
    return false;
  for (uint32_t i = 0; i < QUEUES; i++)
    if (m->state.queue[i].count > 0)
      return false;
  return true;
}

bool func_blocked(const struct tpu_model *m) {
  bool waits = false;
  if (m->state.aborting || anything_flying(m))
    return false;
  for (uint32_t i = 0; i < QUEUES; i++) {
    const struct queue *q = &m->state.queue[i];
    bool settled = q->waiting && q->look_at == NEVER;
    if (q->count > 0 && !settled && !q->halted)
      return false;
    waits |= q->count > 0;
  }
  return waits;
}

/* The next event other than the movement of DMA data. */
static uint64_t next_of_queues(const struct tpu_model *m) {
  const struct state *s = &m->state;
  uint64_t at = func_engines_next(m);
  for (uint32_t i = 0; i < QUEUES; i++)
    at = earlier(at, s->queue[i].look_at);
  if (s->aborting)
    at = earlier(at, s->abort_at);
  return at;
}

static uint64_t later_than_now(const struct tpu_model *m, uint64_t at) {
  return at > m->state.cycle ? at : m->state.cycle;
}

uint64_t func_next_event(const struct tpu_model *m) {
  return later_than_now(m, earlier(next_of_queues(m), m->state.dma.next));
}

/* ---- counters ---------------------------------------------------------------------------------------------
 */

void func_count(struct tpu_model *m) {
  struct state *s = &m->state;
  uint64_t n = s->cycle - s->counted;
  if (n == 0)
    return;
  bool flying = anything_flying(m);
  for (uint32_t i = 0; i < QUEUES; i++) {
    struct queue *q = &s->queue[i];
    bool empty = q->count == 0 && q->fly_count == 0;
    s->counter[i][COUNTER_BUSY] += q->fly_count > 0 ? n : 0;
    s->counter[i][COUNTER_WAIT] += q->waiting ? n : 0;
    s->counter[i][COUNTER_STARVED] += empty && flying ? n : 0;
  }
  s->counted = s->cycle;
}

/* ---- abort ------------------------------------------------------------------------------------------------
 */

/* What the front end keeps is forgotten at once; what takes time is the end of bursts on the bus. */
void func_abort(struct tpu_model *m, bool reset_registers) {
  struct state *s = &m->state;
  uint64_t drained = func_dma_drain(m) + TIME_ABORT;
  func_event(m, TPU_EVENT_ABORT, TPU_QUEUE_SCALAR, 0, 0);
  s->abort_at = s->aborting && s->abort_at > drained ? s->abort_at : drained;
  s->aborting = true;
  for (uint32_t i = 0; i < QUEUES; i++) {
    struct queue *q = &s->queue[i];
    q->count = q->fly_count = 0;
    q->look_at = q->front_at = NEVER;
    q->waiting = q->halted = false;
  }
  s->vpu.running = false;
  memset(&s->mxu, 0, sizeof s->mxu);
  memset(s->sem, 0, sizeof s->sem);
  if (m->race)
    func_race_abort(m);
  memset(&s->error, 0, sizeof s->error);
  s->intr_state = 0;
  if (reset_registers)
    func_reset_registers(m);
  if (reset_registers && m->race)
    func_race_reset(m);
}

/* ---- one cycle --------------------------------------------------------------------------------------------
 */

static void update_lines(struct tpu_model *m) {
  struct state *s = &m->state;
  bool blocked = func_blocked(m);
  if (blocked && !s->blocked) {
    s->intr_state |= TPU_REG_INTR_STATE_BLOCKED_MASK;
    if (m->race)
      func_race_blocked(m);
  }
  s->blocked = blocked;
  s->irq = (func_intr_state(m) & s->intr_enable) != 0;
}

static void run_cycle(struct tpu_model *m) {
  struct state *s = &m->state;
  func_count(m);
  func_run_engines(m);
  func_start_heads(m);
  func_apply_semaphores(m);
  if (s->aborting && s->abort_at <= s->cycle)
    s->aborting = false;
  if (m->timing == TPU_TIMING_LATE && m->event_count > 0)
    s->late_since = s->cycle;
  func_flush_events(m);
  update_lines(m);
  s->cycle++;
  func_late_heads(m);
}

void func_run_cycles(struct tpu_model *m, uint64_t n) {
  for (uint64_t end = m->state.cycle + n; m->state.cycle < end && !m->state.dead;)
    run_cycle(m);
}

/* ---- advance ----------------------------------------------------------------------------------------------
 */

static bool trace_full(const struct tpu_model *m) {
  uint32_t room = m->ring_size / 2 < TRACE_ROOM ? m->ring_size / 2 : TRACE_ROOM;
  return m->ring_size > 0 && m->trace_on && m->ring_size - m->ring_count < room;
}

/* LATE: nothing else happens, so somebody's patience ends here. */
static void late_patience(struct tpu_model *m) {
  struct state *s = &m->state;
  if (m->timing != TPU_TIMING_LATE || s->cycle < s->late_since + TIME_LATE_IDLE)
    return;
  func_late_any(m);
  s->late_since = s->cycle;
}

/*
 * Most events move a burst of a DMA: no queue, semaphore, line or counter changes until a command completes.
 * Runs such cycles up to `end`, or to the first completion that becomes due; the first one is before `end`.
 */
static void move_data(struct tpu_model *m, uint64_t end) {
  struct state *s = &m->state;
  while (s->dma.next < end) {
    s->cycle = later_than_now(m, s->dma.next);
    func_dma_run(m);
    s->cycle++;
    for (uint32_t i = 0; i < CHANNELS; i++)
      if (s->queue[i].fly_count > 0)
        end = earlier(end, func_front(&s->queue[i])->done_at);
  }
}

/* Runs to the next event, `end` at most. True: advance() has to stop for *reason. */
static bool step(struct tpu_model *m, uint64_t end, tpu_stop *reason) {
  struct state *s = &m->state;
  bool irq = s->irq;
  if (s->dead)
    *reason = TPU_STOP_FAULT;
  else if (func_idle(m))
    *reason = TPU_STOP_IDLE;
  else if (func_blocked(m))
    *reason = TPU_STOP_BLOCKED;
  else if (trace_full(m))
    *reason = TPU_STOP_TRACE;
  else if (s->cycle >= end)
    *reason = TPU_STOP_BUDGET;
  else {
    const uint64_t queues = next_of_queues(m), next = later_than_now(m, earlier(queues, s->dma.next));
    if (next == NEVER) {
      func_bug(m, "neither idle nor blocked, but no event is due");
      *reason = TPU_STOP_FAULT;
      return true;
    }
    if (m->timing == TPU_TIMING_CYCLE && next < queues && next < end) {
      move_data(m, earlier(queues, end));
      return false;
    }
    s->cycle = next < end ? next : end;
    if (next < end) {
      late_patience(m);
      run_cycle(m);
    }
    *reason = TPU_STOP_IRQ;
    return s->irq != irq;
  }
  return true;
}

tpu_status func_advance(struct tpu_model *m, uint64_t max_cycles, uint64_t *ran, tpu_stop *reason) {
  struct state *s = &m->state;
  uint64_t begin = s->cycle;
  uint64_t end = begin + max_cycles < begin ? NEVER : begin + max_cycles;
  while (!step(m, end, reason))
    ;
  func_count(m);
  *ran = s->cycle - begin;
  return *reason == TPU_STOP_FAULT ? TPU_EFAULT : TPU_OK;
}

tpu_status func_skip(struct tpu_model *m, uint64_t n) {
  if (!func_idle(m) && !func_blocked(m))
    return TPU_EINVAL;
  m->state.cycle += n;
  func_count(m);
  return TPU_OK;
}
