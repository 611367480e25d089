/* SPDX-License-Identifier: MIT */
/* Bookkeeping for the hang report: what was queued, started and ended, who signalled and who waited. */
#include "hang_report.h"

#include <string.h>

void tpu_hang_init(struct tpu_hang_log *log) {
  memset(log, 0, sizeof *log);
}

void tpu_hang_soft_reset(struct tpu_hang_log *log) {
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++)
    memset(&log->queue[i].staged, 0, sizeof log->queue[i].staged);
}

/* ---- accesses of the scalar core --------------------------------------------------------------------------
 */

static void stage(struct tpu_hang_head *h, uint32_t offset, uint32_t value) {
  if (offset == TPU_Q_WAITS)
    h->waits = value;
  else if (offset == TPU_Q_SIGNALS)
    h->signals = value;
  else if (offset >= TPU_Q_WAIT_AMOUNT(0) && offset < TPU_Q_WAIT_AMOUNT(TPU_Q_WAIT_AMOUNT_COUNT))
    h->wait_amount[(offset - TPU_Q_WAIT_AMOUNT(0)) / 4] = value;
  else if (offset >= TPU_Q_SIGNAL_AMOUNT(0) && offset < TPU_Q_SIGNAL_AMOUNT(TPU_Q_SIGNAL_AMOUNT_COUNT))
    h->signal_amount[(offset - TPU_Q_SIGNAL_AMOUNT(0)) / 4] = value;
}

static void scalar_waits(struct tpu_hang_log *log, uint64_t cycle, uint32_t sem) {
  log->sem[sem].waiter = (struct tpu_hang_agent){.valid = true, .queue = TPU_QUEUE_SCALAR, .cycle = cycle};
}

static bool in_array(uint32_t offset, uint32_t first, uint32_t count) {
  return offset >= first && offset < first + 4 * count;
}

void tpu_hang_write(struct tpu_hang_log *log, uint64_t cycle, uint32_t offset, uint32_t value) {
  log->poll.count = 0;
  if (in_array(offset, TPU_REG_SEM_TAKE(0), TPU_HANG_SEMS))
    scalar_waits(log, cycle, (offset - TPU_REG_SEM_TAKE(0)) / 4);
  if (offset >= TPU_QUEUE_BASE(0) && offset < TPU_QUEUE_BASE(TPU_HANG_QUEUES))
    stage(&log->queue[(offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE].staged, offset % TPU_QUEUE_STRIDE,
          value);
}

void tpu_hang_read(struct tpu_hang_log *log, uint64_t cycle, uint32_t offset, uint32_t value) {
  struct tpu_hang_poll *p = &log->poll;
  if (p->count == 0 || p->offset != offset) {
    p->count = 0;
    p->since = cycle;
  }
  p->offset = offset;
  p->value = value;
  p->count++;
  if (in_array(offset, TPU_REG_SEM_VALUE(0), TPU_HANG_SEMS))
    scalar_waits(log, cycle, (offset - TPU_REG_SEM_VALUE(0)) / 4);
}

/* ---- trace records ----------------------------------------------------------------------------------------
 */

static void command_waits(struct tpu_hang_log *log, uint32_t queue, const struct tpu_hang_command *c,
                          uint64_t cycle) {
  for (uint32_t i = 0; i < TPU_Q_WAIT_AMOUNT_COUNT; i++) {
    uint32_t bits = c->head.waits >> (8 * i);
    if (bits & TPU_Q_WAITS_EN0_MASK)
      log->sem[bits & TPU_Q_WAITS_SEM0_MASK].waiter =
          (struct tpu_hang_agent){.valid = true,
                                  .queue = (uint8_t)queue,
                                  .tag = c->tag,
                                  .amount = c->head.wait_amount[i],
                                  .cycle = cycle};
  }
}

static void abort_all(struct tpu_hang_log *log, uint64_t cycle) {
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++) {
    struct tpu_hang_queue *q = &log->queue[i];
    for (; q->ended < q->issued; q->ended++) {
      struct tpu_hang_command *c = &q->command[q->ended % TPU_HANG_COMMANDS];
      c->aborted = true;
      c->end = cycle;
    }
    q->started = q->issued;
  }
  memset(log->sem, 0, sizeof log->sem);
}

static void queue_event(struct tpu_hang_log *log, uint32_t queue, uint32_t event, uint64_t cycle,
                        uint32_t tag) {
  struct tpu_hang_queue *q = &log->queue[queue];
  struct tpu_hang_command *c;
  switch (event) {
  case TPU_EVENT_GO:
    c = &q->command[q->issued++ % TPU_HANG_COMMANDS];
    *c = (struct tpu_hang_command){.head = q->staged, .go = cycle, .tag = tag};
    break;
  case TPU_EVENT_START:
    c = &q->command[q->started % TPU_HANG_COMMANDS];
    c->start = cycle;
    command_waits(log, queue, c, cycle);
    q->started += q->started < q->issued;
    break;
  case TPU_EVENT_WAIT:
    command_waits(log, queue, &q->command[q->started % TPU_HANG_COMMANDS], cycle);
    break;
  case TPU_EVENT_END:
    c = &q->command[q->ended % TPU_HANG_COMMANDS];
    c->end = cycle;
    q->ended += q->ended < q->started;
    break;
  default:
    break;
  }
}

void tpu_hang_event(struct tpu_hang_log *log, const tpu_trace_record *r) {
  uint32_t event = tpu_trace_event(r), queue = tpu_trace_queue(r);
  uint64_t cycle = tpu_trace_cycle(r);
  if (event == TPU_EVENT_ABORT)
    abort_all(log, cycle);
  else if (event == TPU_EVENT_SIGNAL)
    log->sem[r->arg % TPU_HANG_SEMS].signaller = (struct tpu_hang_agent){
        .valid = true, .queue = (uint8_t)queue, .tag = r->tag, .amount = r->arg >> 8, .cycle = cycle};
  else if (queue < TPU_HANG_QUEUES)
    queue_event(log, queue, event, cycle, r->tag);
}
