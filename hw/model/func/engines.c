/* SPDX-License-Identifier: MIT */
/*
 * The engines' side of a command: when it may start, how long it takes, when its effect lands.
 *
 * With TPU_TIMING_CYCLE the times are those of the RTL as timing.h knows them: DMA moves burst by burst
 * (dma.c), the MXU computes when its results would be visible, a vector program runs in slices. The other
 * timings let the whole effect of a command land in one instant, the oldest command of a queue first: at once
 * (EAGER), after a random time (RANDOM), or when somebody waits for it (LATE). They exist to make programs
 * fail that lack a wait, so each of them is a legal behaviour of the hardware's contract, however unlikely.
 */
#include "model.h"

#include <string.h>

static bool annotated(const struct tpu_model *m) {
  return m->timing == TPU_TIMING_CYCLE;
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint32_t random_below(struct tpu_model *m, uint32_t bound) {
  uint64_t z = (m->state.random += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  return (uint32_t)((z >> 32) * bound >> 32);
}

/* ---- start ------------------------------------------------------------------------------------------------
 */

static uint32_t engine_depth(uint32_t queue) {
  switch (queue) {
  case TPU_QUEUE_MXU:
    return MXU_COMMANDS;
  case TPU_QUEUE_VPU:
  case TPU_QUEUE_SYNC:
    return 1;
  default:
    return DMA_COMMANDS;
  }
}

bool func_engine_ready(const struct tpu_model *m, uint32_t queue, uint64_t *at) {
  const struct queue *q = &m->state.queue[queue];
  *at = NEVER;
  if (q->fly_count == engine_depth(queue))
    return false;
  for (uint32_t i = 0; i < q->fly_count; i++)
    if (q->flying[(q->fly_head + i) % MAX_FLYING].fault.code != TPU_ERROR_NONE)
      return false;  /* its queue halts when the commands before it are complete */
  uint64_t open = 0; /* the engine's own pace */
  if (annotated(m) && queue == TPU_QUEUE_MXU)
    open = m->state.mxu.take_at;
  else if (annotated(m) && queue < CHANNELS && q->fly_count > 0)
    open = q->flying[(q->fly_head + q->fly_count - 1) % MAX_FLYING].dma.checked_at + 1;
  if (open <= m->state.cycle)
    return true;
  *at = open;
  return false;
}

static uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

/*
 * Tiles stream one behind the other; loads of weights hide behind them, except before the first tile. The
 * loader is up to two tiles ahead, so the next command starts when the last tile of this one is loaded: soon
 * after the third last began to stream.
 */
static void time_mxu(struct tpu_model *m, struct flying *f) {
  struct mxu *x = &m->state.mxu;
  const struct tpu_mxu_command *c = &f->mxu;
  uint64_t now = m->state.cycle;
  uint32_t dim = m->config->dim;
  if (f->fault.code != TPU_ERROR_NONE || c->m == 0 || c->n == 0 || (c->k == 0 && c->accumulate)) {
    f->done_at = now + TIME_MXU_EMPTY;
    x->take_at = now + TIME_MXU_EMPTY_NEXT;
    return;
  }
  uint64_t tiles = (uint64_t)ceil_div(c->n, dim) * (c->k == 0 ? 1 : ceil_div(c->k, dim));
  uint64_t tile = c->m > dim ? c->m : dim;
  uint64_t slack = c->m <= dim + 1 ? (tiles + 1) / 2 : 0; /* a tile of few rows costs half a cycle more */
  uint64_t begin = now + TIME_MXU_LOAD(dim);
  uint64_t after = x->stream_end + (c->dtype != x->dtype && x->stream_end > 0 ? TIME_MXU_SWITCH(dim) : 0);
  if (begin < after)
    begin = after;
  uint64_t last = begin + (tiles - 1) * tile + slack;
  uint64_t third = tiles > 2 ? last - 2 * tile : tiles == 2 ? x->tile[0] : x->tile[1];
  x->tile[1] = tiles > 1 ? last - tile : x->tile[0];
  x->tile[0] = last;
  x->take_at = later(now + TIME_MXU_NEXT, third + dim);
  x->stream_end = last + tile;
  x->dtype = c->dtype;
  f->done_at = last + c->m + TIME_MXU_DRAIN(dim);
}

void func_engine_start(struct tpu_model *m, uint32_t queue, struct flying *f) {
  struct state *s = &m->state;
  if (queue == TPU_QUEUE_MXU) {
    f->mxu = tpu_mxu_decode(f->command.args);
    if (tpu_mxu_check(m->config, &f->mxu, &f->fault))
      f->work = (uint64_t)f->mxu.m * f->mxu.n * f->mxu.k;
    if (annotated(m))
      time_mxu(m, f);
  } else if (queue == TPU_QUEUE_VPU) {
    s->vpu.running = false;
    s->vpu.begin = s->vpu.next = s->cycle + TIME_VPU_SETUP;
  } else if (queue == TPU_QUEUE_SYNC) {
    if (annotated(m))
      f->done_at = s->cycle + TIME_SYNC;
  } else {
    f->dma = func_dma_decode(f->command.args);
    if (func_dma_check(m, f->command.args, &f->dma, &f->fault))
      f->bytes = f->dma.bytes;
    if (f->fault.code == TPU_ERROR_NONE && func_dma_overlaps(m, f))
      func_unpredictable(m, queue, f->command.tag, "the copy overwrites a part of its own source");
    if (annotated(m))
      func_dma_start(m, f);
  }
  if (s->queue[queue].fly_count == 1)
    func_engine_front(m, queue);
}

void func_engine_front(struct tpu_model *m, uint32_t queue) {
  struct queue *q = &m->state.queue[queue];
  q->front_at = NEVER;
  if (q->fly_count == 0 || annotated(m))
    return;
  if (m->timing == TPU_TIMING_EAGER)
    q->front_at = m->state.cycle + 1;
  else if (m->timing == TPU_TIMING_RANDOM)
    q->front_at =
        m->state.cycle + 1 + random_below(m, random_below(m, 8) == 0 ? TIME_RANDOM_LONG : TIME_RANDOM_SHORT);
}

/* ---- effects ----------------------------------------------------------------------------------------------
 */

/* Runs the vector program; true when it ended, with its counts and fault in *f. */
static bool run_vpu(struct tpu_model *m, struct flying *f, uint64_t budget) {
  struct vpu *v = &m->state.vpu;
  tpu_access_fn *access = m->race ? func_race_vector_access : NULL;
  if (!v->running)
    tpu_vpu_start(&v->machine, m->config, &m->memory, f->command.args, access, m->race);
  v->running = true;
  if (v->machine.status == TPU_VPU_RUNNING)
    tpu_vpu_run(&v->machine, m->config, &m->memory, m->program, budget, access, m->race);
  if (v->machine.status == TPU_VPU_RUNNING)
    return false;
  v->running = false;
  if (m->race)
    func_race_vector_end(m);
  f->fault = v->machine.fault;
  if (v->machine.status == TPU_VPU_DONE)
    f->fault.code = TPU_ERROR_NONE;
  f->bytes = v->machine.bytes;
  f->work = v->machine.instructions;
  return true;
}

static void vpu_slice(struct tpu_model *m) {
  struct vpu *v = &m->state.vpu;
  struct flying *f = func_front(&m->state.queue[TPU_QUEUE_VPU]);
  if (run_vpu(m, f, VPU_SLICE)) {
    f->done_at = v->begin + v->machine.cycles + TIME_VPU_DONE;
    if (f->done_at < m->state.cycle)
      f->done_at = m->state.cycle;
    v->next = NEVER;
    return;
  }
  v->next = v->begin + v->machine.scoreboard.issue;
  if (v->next <= m->state.cycle)
    v->next = m->state.cycle + 1;
}

/* Not CYCLE: the effect of the oldest command lands, or a bounded part of it. True: it is through. */
static bool instant_effect(struct tpu_model *m, uint32_t queue, struct flying *f) {
  if (f->fault.code != TPU_ERROR_NONE)
    return true;
  if (queue < CHANNELS)
    return func_dma_instant(m, &f->dma, INSTANT_SEGMENTS, &f->fault);
  if (queue == TPU_QUEUE_VPU)
    return run_vpu(m, f, INSTANT_INSTRUCTIONS);
  return true; /* the MXU computes at completion, SYNC has no effect */
}

static void finish_front(struct tpu_model *m, uint32_t queue) {
  struct flying *f = func_front(&m->state.queue[queue]);
  if (f->fault.code != TPU_ERROR_NONE) {
    struct tpu_fault fault = f->fault;
    func_fail(m, queue, &fault);
    return;
  }
  if (queue == TPU_QUEUE_MXU)
    tpu_mxu_execute(m->config, &m->memory, &f->mxu);
  func_complete(m, queue);
}

static void run_queue(struct tpu_model *m, uint32_t queue) {
  struct queue *q = &m->state.queue[queue];
  uint64_t now = m->state.cycle;
  if (q->front_at <= now) {
    struct flying *f = func_front(q);
    bool through = instant_effect(m, queue, f);
    q->front_at = through ? NEVER : now + 1;
    if (through)
      f->done_at = now;
  }
  while (q->fly_count > 0 && func_front(q)->done_at <= now)
    finish_front(m, queue);
}

void func_run_engines(struct tpu_model *m) {
  struct state *s = &m->state;
  if (s->dma.next <= s->cycle)
    func_dma_run(m);
  if (annotated(m) && s->queue[TPU_QUEUE_VPU].fly_count > 0 && s->vpu.next <= s->cycle)
    vpu_slice(m);
  for (uint32_t i = 0; i < QUEUES; i++)
    if (s->queue[i].fly_count > 0)
      run_queue(m, i);
}

uint64_t func_engines_next(const struct tpu_model *m) {
  const struct state *s = &m->state;
  uint64_t at = NEVER;
  bool flying = false;
  if (annotated(m) && s->queue[TPU_QUEUE_VPU].fly_count > 0)
    at = earlier(at, s->vpu.next);
  for (uint32_t i = 0; i < QUEUES; i++) {
    const struct queue *q = &s->queue[i];
    if (q->fly_count == 0)
      continue;
    flying = true;
    at = earlier(at, earlier(q->front_at, q->flying[q->fly_head].done_at));
  }
  if (flying && m->timing == TPU_TIMING_LATE)
    at = earlier(at, s->late_since + TIME_LATE_IDLE);
  return at;
}

/* ---- LATE -------------------------------------------------------------------------------------------------
 */

static bool signals_sem(const struct command *c, uint32_t sem) {
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t bits = c->signals >> (8 * i);
    if ((bits & TPU_Q_SIGNALS_EN0_MASK) && (bits & TPU_Q_SIGNALS_SEM0_MASK) == sem)
      return true;
  }
  return false;
}

static void land(struct tpu_model *m, struct queue *q) {
  if (q->fly_count > 0 && q->front_at == NEVER)
    q->front_at = m->state.cycle;
}

void func_late_queue(struct tpu_model *m, uint32_t queue) {
  if (m->timing == TPU_TIMING_LATE)
    land(m, &m->state.queue[queue]);
}

/* A command that was started or is queued signals it: its queue must move. */
void func_late_semaphore(struct tpu_model *m, uint32_t sem) {
  if (m->timing != TPU_TIMING_LATE)
    return;
  for (uint32_t i = 0; i < QUEUES; i++) {
    struct queue *q = &m->state.queue[i];
    bool found = false;
    for (uint32_t j = 0; j < q->fly_count && !found; j++)
      found = signals_sem(&func_flying(q, j)->command, sem);
    for (uint32_t j = 0; j < q->count && !found; j++)
      found = signals_sem(&q->slot[(q->head + j) % MAX_DEPTH], sem);
    if (found)
      land(m, q);
  }
}

/* The command that started last lands first: the order that a program expects least. */
void func_late_any(struct tpu_model *m) {
  struct queue *latest = NULL;
  if (m->timing != TPU_TIMING_LATE)
    return;
  for (uint32_t i = 0; i < QUEUES; i++) {
    struct queue *q = &m->state.queue[i];
    if (q->fly_count > 0 && q->front_at != NEVER)
      return; /* something lands already */
    if (q->fly_count > 0 && (!latest || func_front(q)->start >= func_front(latest)->start))
      latest = q;
  }
  if (latest)
    land(m, latest);
}

void func_late_heads(struct tpu_model *m) {
  if (m->timing != TPU_TIMING_LATE)
    return;
  for (uint32_t i = 0; i < QUEUES; i++) {
    struct queue *q = &m->state.queue[i];
    const struct command *c = &q->slot[q->head];
    for (uint32_t j = 0; j < WAITS && q->waiting; j++)
      if (c->waits >> (8 * j) & TPU_Q_WAITS_EN0_MASK)
        func_late_semaphore(m, c->waits >> (8 * j) & TPU_Q_WAITS_SEM0_MASK);
  }
}
