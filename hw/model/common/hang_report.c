/* SPDX-License-Identifier: MIT */
/*
 * The hang report: first the causes (error, who waits for what and whether anybody can still signal it,
 * cycles of waiters, what the scalar core spins on, masked interrupts), then the state they were read from.
 */
#include "hang_report.h"
#include "text.h"

#define WAITS   TPU_Q_WAIT_AMOUNT_COUNT
#define SIGNALS TPU_Q_SIGNAL_AMOUNT_COUNT

struct report {
  struct text t;
  const struct tpu_hang_log *log;
  const struct tpu_hang_snapshot *now;
  const struct tpu_config *config;
};

/* ---- what the log knows -----------------------------------------------------------------------------------
 */

static const struct tpu_hang_command *command(const struct report *r, uint32_t queue, uint64_t number) {
  return &r->log->queue[queue].command[number % TPU_HANG_COMMANDS];
}

static bool status_bit(const struct report *r, uint32_t shift, uint32_t queue) {
  return r->now->status >> (shift + queue) & 1;
}

static bool waiting(const struct report *r, uint32_t queue) {
  return status_bit(r, TPU_REG_STATUS_WAITING_SHIFT, queue);
}

static bool halted(const struct report *r, uint32_t queue) {
  return status_bit(r, TPU_REG_STATUS_HALTED_SHIFT, queue);
}

static bool is_ticket(const struct report *r, uint32_t sem) {
  return r->now->sem_mode[sem / 32] >> (sem % 32) & 1;
}

static uint32_t wait_sem(const struct tpu_hang_command *c, uint32_t i) {
  return c->head.waits >> (8 * i) & TPU_Q_WAITS_SEM0_MASK;
}

/* Wait i of a command is used and does not hold. */
static bool wait_fails(const struct report *r, const struct tpu_hang_command *c, uint32_t i) {
  uint32_t sem = wait_sem(c, i), amount = c->head.wait_amount[i];
  if (!(c->head.waits >> (8 * i) & TPU_Q_WAITS_EN0_MASK))
    return false;
  if (is_ticket(r, sem))
    return (int32_t)(r->now->sem_value[sem] - amount) < 0;
  return r->now->sem_value[sem] < amount;
}

static bool signals_sem(const struct tpu_hang_command *c, uint32_t sem) {
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t bits = c->head.signals >> (8 * i);
    if ((bits & TPU_Q_SIGNALS_EN0_MASK) && (bits & TPU_Q_SIGNALS_SEM0_MASK) == sem)
      return true;
  }
  return false;
}

/* First command of the queue, from number `from`, that is not finished and signals `sem`; false: none. */
static bool find_signaller(const struct report *r, uint32_t queue, uint32_t sem, uint64_t *number) {
  const struct tpu_hang_queue *q = &r->log->queue[queue];
  if (halted(r, queue))
    return false; /* nothing in it signals any more */
  for (*number = q->ended; *number < q->issued; ++*number)
    if (signals_sem(command(r, queue, *number), sem))
      return true;
  return false;
}

/* ---- pieces of lines --------------------------------------------------------------------------------------
 */

static void add_agent(struct report *r, const struct tpu_hang_agent *a) {
  text_add(&r->t, "%s", tpu_queue_name(a->queue));
  if (a->queue != TPU_QUEUE_SCALAR)
    text_add(&r->t, " tag 0x%08x", a->tag);
  text_add(&r->t, " in cycle %llu", (unsigned long long)a->cycle);
}

static void add_last_signaller(struct report *r, uint32_t sem) {
  const struct tpu_hang_agent *a = &r->log->sem[sem].signaller;
  if (!a->valid) {
    text_add(&r->t, "never signalled");
    return;
  }
  text_add(&r->t, "last signalled by ");
  add_agent(r, a);
  text_add(&r->t, " (+%u%s)", a->amount, a->amount == 0xffffff ? " or more" : "");
}

static void add_semaphore(struct report *r, uint32_t sem) {
  text_add(&r->t, "semaphore %u (%s, value %u)", sem, is_ticket(r, sem) ? "TICKET" : "COUNT",
           r->now->sem_value[sem]);
}

/* Where command `number` of a queue is. */
static void add_place(struct report *r, uint32_t queue, uint64_t number) {
  const struct tpu_hang_queue *q = &r->log->queue[queue];
  if (number < q->started)
    text_add(&r->t, "in flight");
  else if (number == q->started)
    text_add(&r->t, waiting(r, queue) ? "itself waiting" : "next to start");
  else
    text_add(&r->t, "queued behind tag 0x%08x", command(r, queue, q->started)->tag);
}

static void add_signallers(struct report *r, uint32_t sem) {
  bool any = false;
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++) {
    uint64_t number;
    if (!find_signaller(r, i, sem, &number))
      continue;
    text_add(&r->t, any ? ", " : "; to be signalled by ");
    text_add(&r->t, "%s tag 0x%08x, ", tpu_queue_name(i), command(r, i, number)->tag);
    add_place(r, i, number);
    any = true;
  }
  if (!any)
    text_add(&r->t, "; no signaller outstanding");
  text_add(&r->t, "; ");
  add_last_signaller(r, sem);
}

/* ---- causes -----------------------------------------------------------------------------------------------
 */

static void add_failing_waits(struct report *r, uint32_t queue, const char *indent) {
  const struct tpu_hang_command *c = command(r, queue, r->log->queue[queue].started);
  for (uint32_t i = 0; i < WAITS; i++) {
    if (!wait_fails(r, c, i))
      continue;
    text_add(&r->t, "%s%s tag 0x%08x waits for ", indent, tpu_queue_name(queue), c->tag);
    add_semaphore(r, wait_sem(c, i));
    text_add(&r->t, " to reach %u", c->head.wait_amount[i]);
    add_signallers(r, wait_sem(c, i));
    text_add(&r->t, "\n");
  }
}

/* A queue that `queue`'s head waits for, and through which semaphore; TPU_HANG_QUEUES = none after `after`.
 */
static uint32_t next_edge(const struct report *r, uint32_t queue, uint32_t after, uint32_t *sem) {
  const struct tpu_hang_command *c = command(r, queue, r->log->queue[queue].started);
  for (uint32_t to = after; to < TPU_HANG_QUEUES; to++)
    for (uint32_t i = 0; i < WAITS; i++) {
      uint64_t number;
      *sem = wait_sem(c, i);
      if (waiting(r, to) && wait_fails(r, c, i) && find_signaller(r, to, *sem, &number))
        return to;
    }
  return TPU_HANG_QUEUES;
}

/* Depth-first from `path[0]`; true when the path comes back to its first queue. */
static bool find_cycle(const struct report *r, uint32_t *path, uint32_t length) {
  uint32_t sem;
  for (uint32_t to = 0; (to = next_edge(r, path[length - 1], to, &sem)) < TPU_HANG_QUEUES; to++) {
    bool on_path = false;
    if (to == path[0]) {
      path[length] = to;
      return true;
    }
    for (uint32_t i = 0; i < length; i++)
      on_path |= path[i] == to;
    if (on_path || to < path[0]) /* a cycle is reported from its lowest queue */
      continue;
    path[length] = to;
    if (find_cycle(r, path, length + 1))
      return true;
  }
  return false;
}

static void add_cycle(struct report *r, uint32_t first) {
  uint32_t path[TPU_HANG_QUEUES + 2] = {first};
  if (!waiting(r, first) || !find_cycle(r, path, 1))
    return;
  text_add(&r->t, "  deadlock, they wait for each other:");
  uint32_t i = 0;
  do {
    uint32_t sem;
    uint64_t number = 0;
    next_edge(r, path[i], path[i + 1], &sem);
    find_signaller(r, path[i + 1], sem, &number);
    text_add(&r->t, "%s %s tag 0x%08x waits for semaphore %u of %s tag 0x%08x (", i ? "," : "",
             tpu_queue_name(path[i]), command(r, path[i], r->log->queue[path[i]].started)->tag, sem,
             tpu_queue_name(path[i + 1]), command(r, path[i + 1], number)->tag);
    add_place(r, path[i + 1], number);
    text_add(&r->t, ")");
    i++;
  } while (path[i] != first);
  text_add(&r->t, "\n");
}

static bool ever_waited_on(const struct report *r, uint32_t sem) {
  if (r->log->sem[sem].waiter.valid)
    return true;
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++)
    for (uint64_t n = r->log->queue[i].started; n < r->log->queue[i].issued; n++)
      for (uint32_t w = 0; w < WAITS; w++)
        if ((command(r, i, n)->head.waits >> (8 * w) & TPU_Q_WAITS_EN0_MASK) &&
            wait_sem(command(r, i, n), w) == sem)
          return true;
  return false;
}

static void add_unwaited(struct report *r) {
  for (uint32_t sem = 0; sem < TPU_HANG_SEMS; sem++) {
    if (!r->log->sem[sem].signaller.valid || ever_waited_on(r, sem))
      continue;
    text_add(&r->t, "  ");
    add_semaphore(r, sem);
    text_add(&r->t, " was never waited on; ");
    add_last_signaller(r, sem);
    text_add(&r->t, "\n");
  }
}

static void add_poll(struct report *r) {
  const struct tpu_hang_poll *p = &r->log->poll;
  if (p->count < 2)
    return;
  text_add(&r->t, "  scalar core has read offset 0x%x %llu times since cycle %llu, last 0x%x", p->offset,
           (unsigned long long)p->count, (unsigned long long)p->since, p->value);
  if (p->offset >= TPU_REG_SEM_VALUE(0) && p->offset < TPU_REG_SEM_VALUE(TPU_HANG_SEMS)) {
    uint32_t sem = (p->offset - TPU_REG_SEM_VALUE(0)) / 4;
    text_add(&r->t, ": ");
    add_semaphore(r, sem);
    add_signallers(r, sem);
  }
  text_add(&r->t, "\n");
  if (p->offset < TPU_QUEUE_BASE(0) || p->offset >= TPU_QUEUE_BASE(TPU_HANG_QUEUES) ||
      p->offset % TPU_QUEUE_STRIDE != TPU_Q_GO)
    return;
  uint32_t queue = (p->offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE;
  text_add(&r->t, "  scalar core -> free slots of %s (%u)", tpu_queue_name(queue), p->value);
  if (halted(r, queue))
    text_add(&r->t, " -> queue is halted by an error\n");
  else if (waiting(r, queue))
    add_failing_waits(r, queue, " -> ");
  else
    text_add(&r->t, "\n");
}

static void add_interrupts(struct report *r) {
  static const struct {
    uint32_t mask;
    const char *name;
  } source[] = {{TPU_REG_INTR_STATE_DONE_MASK, "done"},
                {TPU_REG_INTR_STATE_SPACE_MASK, "space"},
                {TPU_REG_INTR_STATE_ERROR_MASK, "error"},
                {TPU_REG_INTR_STATE_BLOCKED_MASK, "blocked"}};
  for (uint32_t i = 0; i < sizeof source / sizeof source[0]; i++)
    if (r->now->intr_state & source[i].mask)
      text_add(&r->t, "  interrupt '%s' is pending and %s\n", source[i].name,
               r->now->intr_enable & source[i].mask ? "enabled" : "masked (its bit in INTR_ENABLE is 0)");
}

static void add_causes(struct report *r) {
  const struct tpu_hang_snapshot *now = r->now;
  if (now->error & TPU_REG_ERROR_VALID_MASK) {
    char text[320];
    uint32_t code = (now->error & TPU_REG_ERROR_CODE_MASK) >> TPU_REG_ERROR_CODE_SHIFT;
    uint32_t queue = (now->error & TPU_REG_ERROR_QUEUE_MASK) >> TPU_REG_ERROR_QUEUE_SHIFT;
    tpu_error_text(code, queue, now->error_tag, now->error_detail0, now->error_detail1, r->config, text,
                   sizeof text);
    text_add(&r->t, "  first error: %s\n", text);
    if (code == TPU_ERROR_SEM_OVERFLOW || code == TPU_ERROR_SEM_UNDERFLOW) {
      text_add(&r->t, "  semaphore %u was ", now->error_detail0);
      add_last_signaller(r, now->error_detail0 % TPU_HANG_SEMS);
      text_add(&r->t, "\n");
    }
  }
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++)
    if (waiting(r, i))
      add_failing_waits(r, i, "  ");
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++)
    add_cycle(r, i);
  add_unwaited(r);
  add_poll(r);
  add_interrupts(r);
}

/* ---- state ------------------------------------------------------------------------------------------------
 */

static void add_tags(struct report *r, uint32_t queue, const char *name, uint64_t from, uint64_t to) {
  if (from == to)
    return;
  text_add(&r->t, "; %s", name);
  for (uint64_t n = from; n < to; n++)
    text_add(&r->t, " 0x%08x%s", command(r, queue, n)->tag,
             command(r, queue, n)->aborted ? " (aborted)" : "");
}

static void add_queue(struct report *r, uint32_t i) {
  const struct tpu_hang_queue *q = &r->log->queue[i];
  const char *state = "idle";
  if (halted(r, i))
    state = "halted by an error";
  else if (q->ended < q->started)
    state = waiting(r, i) ? "busy, next waits" : "busy";
  else if (q->started < q->issued)
    state = waiting(r, i) ? "waits" : "about to start";
  text_add(&r->t, "  %s: %s", tpu_queue_name(i), state);
  add_tags(r, i, halted(r, i) ? "stopped" : "in flight", q->ended, q->started);
  if (q->started < q->issued)
    add_tags(r, i, "head", q->started, q->started + 1);
  if (q->started + 1 < q->issued)
    add_tags(r, i, "behind it", q->started + 1, q->issued);
  uint64_t first = q->ended > TPU_HANG_HISTORY ? q->ended - TPU_HANG_HISTORY : 0;
  add_tags(r, i, "finished", first, q->ended);
  text_add(&r->t, "\n");
}

static void add_semaphores(struct report *r) {
  bool any = false;
  for (uint32_t sem = 0; sem < r->config->semaphores; sem++) {
    const struct tpu_hang_sem *s = &r->log->sem[sem];
    bool only_read = !s->waiter.valid || s->waiter.queue == TPU_QUEUE_SCALAR;
    if (r->now->sem_value[sem] == 0 && !s->signaller.valid && only_read)
      continue;
    text_add(&r->t, "%s  ", any ? "" : "semaphores that are used or not zero\n");
    any = true;
    add_semaphore(r, sem);
    text_add(&r->t, ": ");
    add_last_signaller(r, sem);
    text_add(&r->t, "; ");
    if (s->waiter.valid) {
      text_add(&r->t, "last waited on by ");
      add_agent(r, &s->waiter);
    } else {
      text_add(&r->t, "never waited on");
    }
    text_add(&r->t, "\n");
  }
}

static const char *device_state(uint32_t status) {
  if (status & TPU_REG_STATUS_ABORTING_MASK)
    return "aborting";
  if (status & TPU_REG_STATUS_BLOCKED_MASK)
    return "blocked: commands are queued, nothing is in flight, and only the scalar core can change that";
  return status & TPU_REG_STATUS_IDLE_MASK ? "idle" : "busy";
}

size_t tpu_hang_report(const struct tpu_hang_log *log, const struct tpu_hang_snapshot *snapshot,
                       const struct tpu_config *config, char *text, size_t size) {
  struct report r = {.t = {.at = text, .size = size}, .log = log, .now = snapshot, .config = config};
  text_add(&r.t, "TPU %s in cycle %llu: %s\n", config->name, (unsigned long long)snapshot->cycle,
           device_state(snapshot->status));
  size_t before = r.t.used;
  add_causes(&r);
  if (r.t.used == before)
    text_add(&r.t, "  no error, nothing waits\n");
  text_add(&r.t, "queues\n");
  for (uint32_t i = 0; i < TPU_HANG_QUEUES; i++)
    add_queue(&r, i);
  add_semaphores(&r);
  return r.t.used;
}
