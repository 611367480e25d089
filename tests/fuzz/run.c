/* SPDX-License-Identifier: MIT */
/* Runs a stream on a model, as firmware would, and collects everything that must not depend on timing. */
#include "stream.h"

#include <string.h>

#define LIMIT       4000000u
#define TRACE_BATCH 256u

struct runner {
  struct host *h;
  const struct stream *s;
  struct outcome *o;
  struct {
    uint32_t sem, amount, left; /* scalar signals to come, and in how many steps */
  } pending[MAX_STEPS];
  uint32_t pendings;
  bool stuck;
  unsigned still;
};

/* ---- preparation ------------------------------------------------------------------------------------------
 */

static void fill(struct check_random *r, void *data, size_t bytes) {
  uint8_t *p = data;
  for (size_t i = 0; i < bytes; i += 8) {
    uint64_t x = check_random64(r);
    memcpy(p + i, &x, 8);
  }
}

static void prepare(struct host *h, const struct tpu_config *config, const struct stream *s,
                    struct outcome *o) {
  struct check_random r = {s->seed ^ 0x5eed};
  host_write(h, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
  host_run(h, LIMIT);
  host_clear_log(h); /* the reset ends the stream before, whose reports it counts */
  fill(&r, o->hbm, HBM_AREA);
  fill(&r, o->vmem, VMEM_AREA);
  fill(&r, o->smem, SMEM_AREA);
  fill(&r, o->acc, sizeof o->acc);
  for (uint32_t i = 0; i < 2; i++)
    memcpy(o->smem + LIST_AT + i * LIST_BYTES, s->list, LIST_BYTES);
  memcpy(h->hbm, o->hbm, HBM_AREA);
  host_poke(h, TPU_SPACE_VMEM, 0, o->vmem, VMEM_AREA);
  host_poke(h, TPU_SPACE_SMEM, 0, o->smem, SMEM_AREA);
  host_poke(h, TPU_SPACE_ACC, 0, o->acc, ACC_ROWS_AREA * 4 * config->dim);
  for (uint32_t i = 0; i < s->program_words; i++) {
    host_write(h, TPU_REG_VPROG(2 * i), (uint32_t)s->program[i]);
    host_write(h, TPU_REG_VPROG(2 * i + 1), (uint32_t)(s->program[i] >> 32));
  }
  host_write(h, TPU_REG_SEM_MODE(0), (1u << QUEUES) - 1);
  for (uint32_t q = 0; q < QUEUES; q++)
    host_write(h, TPU_REG_SEM_VALUE(q), s->ticket_start[q]);
}

/* ---- time and trace ---------------------------------------------------------------------------------------
 */

static uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 29;
}

/* Starts may come before or after ends of earlier commands: each kind of event has its own order. */
static void note_event(struct outcome *o, uint32_t event, uint32_t queue, const tpu_trace_record *r) {
  static const uint32_t kinds[3] = {TPU_EVENT_START, TPU_EVENT_END, TPU_EVENT_SIGNAL};
  for (uint32_t k = 0; k < 3; k++)
    if (event == kinds[k])
      o->order[queue][k] = mix(o->order[queue][k], (uint64_t)r->tag << 32 | r->arg);
}

static void read_trace(struct runner *x) {
  tpu_trace_record r[TRACE_BATCH];
  size_t n;
  while ((n = x->h->api->trace_read(x->h->model, r, TRACE_BATCH)) > 0)
    for (size_t i = 0; i < n; i++) {
      uint32_t event = (uint32_t)(r[i].head >> TPU_TRACE_EVENT_SHIFT & 0xff);
      uint32_t queue = (uint32_t)(r[i].head >> TPU_TRACE_QUEUE_SHIFT & 0xf);
      if (queue < QUEUES)
        note_event(x->o, event, queue, &r[i]);
    }
}

static tpu_stop advance(struct runner *x, uint64_t cycles, uint64_t *ran) {
  tpu_stop reason = TPU_STOP_FAULT;
  tpu_status status = x->h->api->advance(x->h->model, cycles, ran, &reason);
  if (status != TPU_OK && x->h->status == TPU_OK) {
    x->h->status = status;
    x->h->failed_call = "advance";
  }
  read_trace(x);
  return reason;
}

/* ---- the scalar core's signals ----------------------------------------------------------------------------
 */

static void send(struct runner *x, bool all) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < x->pendings; i++) {
    if (all || x->pending[i].left == 0)
      host_write(x->h, TPU_REG_SEM_SIGNAL(x->pending[i].sem), x->pending[i].amount);
    else {
      x->pending[i].left--;
      x->pending[kept++] = x->pending[i];
    }
  }
  x->pendings = kept;
}

/* Lets time pass for a scalar core that waits; false if nothing can come any more. */
static bool wait_a_bit(struct runner *x, uint64_t begin) {
  uint64_t ran = 0;
  bool sent = x->pendings > 0;
  send(x, true);
  tpu_stop reason = advance(x, 16, &ran);
  bool still = ran == 0 && !sent && (reason == TPU_STOP_IDLE || reason == TPU_STOP_BLOCKED);
  x->still = still ? x->still + 1 : 0; /* the last change may have come in the very access before */
  if (x->h->status != TPU_OK || x->still > 2 || x->h->api->cycle(x->h->model) - begin > LIMIT)
    x->stuck = true;
  return !x->stuck;
}

/* ---- steps ------------------------------------------------------------------------------------------------
 */

static void go(struct runner *x, const struct step *p) {
  struct host *h = x->h;
  uint64_t begin = h->api->cycle(h->model);
  while (host_read(h, TPU_QUEUE_BASE(p->queue) + TPU_Q_GO) == 0)
    if (!wait_a_bit(x, begin))
      return;
  host_stage_head(h, p->queue, &p->head);
  if (p->queue < TPU_QUEUE_MXU)
    host_stage_dma(h, p->queue, &p->dma);
  else if (p->queue == TPU_QUEUE_MXU)
    host_stage_mxu(h, &p->mxu);
  else if (p->queue == TPU_QUEUE_VPU)
    for (uint32_t i = 0; i < TPU_VPU_ARG_WORDS; i++)
      host_stage(h, TPU_QUEUE_VPU, TPU_QUEUE_ARGS + 4 * i, p->vpu[i]);
  host_go(h, p->queue, p->tag);
  if (p->scalar.amount != 0) {
    x->pending[x->pendings].sem = p->scalar.sem;
    x->pending[x->pendings].amount = p->scalar.amount;
    x->pending[x->pendings++].left = p->scalar.delay;
  }
}

static void access(struct runner *x, const struct step *p) {
  struct host *h = x->h;
  uint64_t begin = h->api->cycle(h->model);
  for (uint32_t i = 0; i < p->polls; i++)
    while ((int32_t)(host_read(h, TPU_REG_SEM_VALUE(p->poll[i].queue)) - p->poll[i].ticket) < 0)
      if (!wait_a_bit(x, begin))
        return;
  if (p->kind == STEP_WRITE)
    host_write_sized(h, p->offset, p->size, p->value);
  else if (x->o->reads < MAX_READS)
    x->o->read[x->o->reads++] = host_read_sized(h, p->offset, p->size);
}

static void collect(struct runner *x, const struct tpu_config *config) {
  static const uint32_t counters[3] = {TPU_COUNTER_COMMANDS, TPU_COUNTER_BYTES, TPU_COUNTER_WORK};
  struct host *h = x->h;
  struct outcome *o = x->o;
  memcpy(o->hbm, h->hbm, HBM_AREA);
  host_peek(h, TPU_SPACE_VMEM, 0, o->vmem, VMEM_AREA);
  host_peek(h, TPU_SPACE_SMEM, 0, o->smem, SMEM_AREA);
  host_peek(h, TPU_SPACE_ACC, 0, o->acc, ACC_ROWS_AREA * 4 * config->dim);
  for (uint32_t i = 0; i < config->semaphores; i++)
    o->sem[i] = host_read(h, TPU_REG_SEM_VALUE(i));
  o->error = host_error(h);
  for (uint32_t q = 0; q < QUEUES; q++)
    for (uint32_t c = 0; c < 3; c++)
      o->counter[q][c] = host_counter(h, q, counters[c]);
}

void run_stream(struct host *h, const struct tpu_config *config, const struct stream *s, struct outcome *o) {
  static struct runner x;
  x = (struct runner){.h = h, .s = s, .o = o};
  memset(o, 0, sizeof *o);
  prepare(h, config, s, o);
  read_trace(&x);
  memset(o->order, 0, sizeof o->order);
  uint64_t begin = h->api->cycle(h->model);
  for (uint32_t i = 0; i < s->steps && !x.stuck; i++) {
    if (s->step[i].kind == STEP_COMMAND)
      go(&x, &s->step[i]);
    else
      access(&x, &s->step[i]);
    send(&x, false);
  }
  send(&x, true);
  tpu_stop reason = TPU_STOP_BUDGET;
  uint64_t ran;
  while (h->status == TPU_OK && reason != TPU_STOP_IDLE && reason != TPU_STOP_BLOCKED &&
         h->api->cycle(h->model) - begin < LIMIT)
    reason = advance(&x, 100000, &ran);
  o->cycles = h->api->cycle(h->model) - begin;
  o->finished = !x.stuck && reason == TPU_STOP_IDLE;
  collect(&x, config);
}
