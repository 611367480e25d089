/* SPDX-License-Identifier: MIT */
/*
 * Program order: turns dependencies into waits on tickets, queues commands, and puts the scalar core
 * to sleep where it must wait.
 *
 * A command waits only for commands queued before it, so the oldest unfinished one can always go on
 * and a full queue always drains. Only explicit semaphores can break that; the device then reports
 * that it is blocked, and the call ends with PL_ERROR_DEADLOCK.
 */
#include "waits.h"

/* What a wait of the scalar core was for, in its trace marks. */
enum wait_cause { WAIT_SPACE = 1, WAIT_TICKET = 2, WAIT_END = 3 };

static void mark(struct pl_context *c, uint32_t kind, uint32_t value) {
  mmio_write32(c->mark, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

static PL_COLD void fail_deadlock(struct pl_context *c, uint32_t status) {
#define NAME(name, value, text) [value] = #name,
  static const char *const queues[] = {TPU_QUEUE_LIST(NAME)};
#undef NAME
  uint32_t value[TPU_REG_SEM_VALUE_COUNT];
  const uint32_t semaphores = c->plan != NULL ? c->body_used[PL_SEMAPHORE] : 0;

  if (c->status != PL_OK)
    return;
  /* All at once: to read on, between words of the message, is what a hart does that hangs. */
  for (uint32_t i = 0; i < semaphores; i++)
    (void)!tpu_sem_read(&c->sem, PL_FIRST_SEMAPHORE + i, &value[i]);
  pl_fail(PL_ERROR_DEADLOCK,
          "deadlock: nothing is in flight and every command waits for a signal nobody can send;");
  pl_message_add(" waiting:");
  for (unsigned q = 0; q < PL_QUEUES; q++)
    if (status >> (TPU_REG_STATUS_WAITING_SHIFT + q) & 1)
      pl_message_add(" %s", queues[q]);
  for (uint32_t i = 0; i < semaphores; i++) {
    const uint32_t s = PL_FIRST_SEMAPHORE + i;
    pl_message_add("; semaphore %u holds %u, started %u, waited for %u", (unsigned)s, (unsigned)value[i],
                   (unsigned)pl_semaphores[s].started, (unsigned)pl_semaphores[s].waited);
  }
}

static inline uint32_t read_ticket(const struct pl_context *c, uint32_t queue) {
  return mmio_read32(c->sem.base + TPU_REG_SEM_VALUE(queue));
}

/* Blocked, and not only between the end of one command and the start of the next, which takes 4 cycles. */
static bool is_blocked(const struct pl_context *c, uint32_t *status) {
  for (int i = 0; i < 8; i++) {
    (void)!tpu_ctrl_status(&c->ctrl, status);
    if (!(*status & TPU_REG_STATUS_BLOCKED_MASK))
      return false;
  }
  return true;
}

/*
 * Sleeps until one of the wanted interrupt bits is set; false if the device failed or is blocked.
 * INTR_STATE is read last before WFI: the bit that wakes is either seen there or still to come.
 */
static bool sleep_until(struct pl_context *c, uint32_t wanted) {
  for (;;) {
    uint32_t state;
    (void)!tpu_ctrl_intr_state(&c->ctrl, &state);
    if (state & TPU_REG_INTR_STATE_ERROR_MASK) {
      pl_device_error();
      return false;
    }
    if (state & TPU_REG_INTR_STATE_DONE_MASK) /* also an old one, which would keep WFI from sleeping */
      (void)!tpu_ctrl_intr_clear(&c->ctrl, TPU_REG_INTR_STATE_DONE_MASK);
    if (state & wanted)
      return true;
    if (state & TPU_REG_INTR_STATE_DONE_MASK)
      continue;
    if (state & TPU_REG_INTR_STATE_BLOCKED_MASK) {
      uint32_t status;
      (void)!tpu_ctrl_intr_clear(&c->ctrl, TPU_REG_INTR_STATE_BLOCKED_MASK);
      if (is_blocked(c, &status)) {
        fail_deadlock(c, status);
        return false;
      }
      continue;
    }
    cpu_wfi();
  }
}

/* Waits until the queue has a free slot. */
static PL_COLD bool wait_for_room(struct pl_context *c, struct pl_queue *q) {
  uint32_t slots = mmio_read32(q->base + TPU_Q_GO);
  if (slots == 0) {
    const uint32_t usual =
        TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK;
    mark(c, TPU_MARK_WAIT_BEGIN, WAIT_SPACE);
    mmio_write32(c->ctrl.base + TPU_REG_INTR_SPACE, 1u << 4 * q->number);
    mmio_write32(c->ctrl.base + TPU_REG_INTR_ENABLE, usual | TPU_REG_INTR_STATE_SPACE_MASK);
    bool ok = sleep_until(c, TPU_REG_INTR_STATE_SPACE_MASK);
    mmio_write32(c->ctrl.base + TPU_REG_INTR_ENABLE, usual);
    mark(c, TPU_MARK_WAIT_END, WAIT_SPACE);
    if (!ok)
      return false;
    slots = mmio_read32(q->base + TPU_Q_GO);
  }
  q->limit = q->issued + slots;
  if ((q->issued - q->epoch) >> PL_EPOCH_SHIFT != 0)
    c->aged = true;
  return true;
}

bool pl_room(struct pl_context *c, struct pl_queue *q) {
  return wait_for_room(c, q) && !q->fenced;
}

void pl_read_deps(struct pl_deps *deps, const struct pl_buffer *buffer, uint32_t queue) {
  /* MXU and VPU act as if one command ended before the next began; a DMA's reads may pass its writes. */
  if (buffer->writer != PL_NOBODY && (buffer->writer != queue || queue <= TPU_QUEUE_DMA3))
    pl_depend(deps, buffer->writer, buffer->write_ticket);
}

void pl_write_deps(struct pl_deps *deps, const struct pl_buffer *buffer, uint32_t queue) {
  /* Within a queue writes follow earlier reads and writes in order, also for DMA. */
  if (buffer->writer != PL_NOBODY && buffer->writer != queue)
    pl_depend(deps, buffer->writer, buffer->write_ticket);
  for (uint32_t left = buffer->group->readers & ~(1u << queue), r = 0; left != 0; left >>= 1, r++)
    if (left & 1)
      pl_depend(deps, r, buffer->read_ticket[r]);
}

struct wait_list {
  uint32_t count;
  uint32_t queue[PL_QUEUES + 1], ticket[PL_QUEUES + 1];
};

static inline void add_wait(struct pl_context *c, const struct pl_queue *q, struct wait_list *list,
                            uint32_t r, uint32_t ticket) {
  if (pl_reached(q->observed[r], ticket) || pl_reached(c->done[r], ticket))
    return; /* seen already */
  list->queue[list->count] = r;
  list->ticket[list->count++] = ticket;
}

/* What a command carries besides its ticket and its waits for tickets. */
struct extra {
  uint32_t signals;       /* ORed into SIGNALS */
  uint32_t signal_amount; /* of signal 1 */
  bool consumes;          /* one more wait, which subtracts */
  uint32_t semaphore, amount;
};

/* Queues what is staged with waits first .. first + count - 1 of the list. */
static bool go(struct pl_context *c, struct pl_queue *q, const struct wait_list *list, uint32_t first,
               uint32_t count, const struct extra *extra, uint32_t tag) {
  const uint32_t standard = TPU_Q_SIGNALS_EN0_MASK | q->number;
  uint32_t waits = 0, n = 0;

  if (q->issued == q->limit && !wait_for_room(c, q))
    return false;
  for (; n < count; n++) {
    const uint32_t r = list->queue[first + n], ticket = list->ticket[first + n];
    waits |= (TPU_Q_WAITS_EN0_MASK | r) << 8 * n;
    tpu_queue_put(q->base, TPU_Q_WAIT_AMOUNT(n), ticket);
    q->observed[r] = ticket;
  }
  if (extra == NULL) {
    tpu_queue_put(q->base, TPU_Q_WAITS, waits);
    tpu_queue_go(q->base, tag);
  } else {
    if (extra->consumes) {
      waits |= (TPU_Q_WAITS_EN0_MASK | TPU_Q_WAITS_CONSUME0_MASK | extra->semaphore) << 8 * n;
      tpu_queue_put(q->base, TPU_Q_WAIT_AMOUNT(n), extra->amount);
    }
    tpu_queue_put(q->base, TPU_Q_WAITS, waits);
    tpu_queue_put(q->base, TPU_Q_SIGNALS, standard | extra->signals);
    tpu_queue_put(q->base, TPU_Q_SIGNAL_AMOUNT(1), extra->signal_amount);
    tpu_queue_go(q->base, tag);
    tpu_queue_put(q->base, TPU_Q_SIGNALS, standard);
  }
  q->issued++;
  return true;
}

/* Too many waits for one command: SYNC commands take them, in order, and this one waits for the last. */
static PL_COLD bool issue_joined(struct pl_context *c, struct pl_queue *q, const struct wait_list *list,
                                 uint32_t room, const struct extra *extra, uint32_t tag) {
  struct pl_queue *sync = &c->queue[TPU_QUEUE_SYNC];
  const uint32_t keep = q == sync ? room : 0;
  struct wait_list joined = {.count = 1};
  uint32_t first = 0;

  while (list->count - first > keep) {
    const uint32_t left = list->count - first, n = left < c->waits ? left : c->waits;
    if (!go(c, sync, list, first, n, NULL, PL_TAG(PL_TAG_SYNC, 0) + c->step))
      return false;
    first += n;
  }
  if (q == sync)
    return go(c, q, list, first, list->count - first, extra, tag);
  joined.queue[0] = TPU_QUEUE_SYNC;
  joined.ticket[0] = sync->issued;
  return go(c, q, &joined, 0, 1, extra, tag);
}

static bool issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps,
                  const struct extra *extra, uint32_t tag) {
  const uint32_t room = c->waits - (extra != NULL && extra->consumes ? 1 : 0);
  struct wait_list list;

  if (c->status != PL_OK)
    return false;
  list.count = 0;
  if (q->fenced) {
    q->fenced = false;
    if (q->number != TPU_QUEUE_SYNC && !(deps->mask >> TPU_QUEUE_SYNC & 1))
      add_wait(c, q, &list, TPU_QUEUE_SYNC, q->fence);
  }
  for (uint32_t left = deps->mask, r = 0; left != 0; left >>= 1, r++)
    if (left & 1)
      add_wait(c, q, &list, r, deps->ticket[r]);
  return list.count <= room ? go(c, q, &list, 0, list.count, extra, tag)
                            : issue_joined(c, q, &list, room, extra, tag);
}

bool pl_issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps, uint32_t signals,
              uint32_t tag) {
  const struct extra extra = {.signals = signals};
  return issue(c, q, deps, signals != 0 ? &extra : NULL, tag);
}

__attribute__((noinline)) void pl_wait_to_read(struct pl_context *c, uint32_t number,
                                               const struct pl_buffer *b) {
  pl_wait_for_writer(c, number, b);
}

void pl_wait_to_write(struct pl_context *c, uint32_t number, const struct pl_buffer *b) {
  pl_wait_to_read(c, number, b);
  pl_wait_for_readers(c, number, b);
}

void pl_go_slow(struct pl_context *c, struct pl_queue *q, uint32_t tag) {
  struct wait_list list; /* an initialiser would clear all of it */

  list.count = 0;
  if (q->fenced) {
    q->fenced = false;
    add_wait(c, q, &list, TPU_QUEUE_SYNC, q->fence);
  }
  for (uint32_t i = 0; i < c->waiting.count; i++) {
    list.queue[list.count] = c->waiting.queue[i];
    list.ticket[list.count++] = c->waiting.ticket[i];
  }
  c->waiting.count = 0;
  if (c->status != PL_OK || !(list.count <= c->waits ? go(c, q, &list, 0, list.count, NULL, tag)
                                                     : issue_joined(c, q, &list, c->waits, NULL, tag)))
    q->issued++;
}

bool pl_sync(struct pl_context *c, const struct pl_deps *deps, uint32_t signal_semaphore,
             uint32_t signal_amount, int wait_semaphore, uint32_t wait_amount) {
  struct extra extra = {.signal_amount = signal_amount};
  if (signal_amount != 0)
    extra.signals |= TPU_Q_SIGNALS_EN1_MASK | signal_semaphore << TPU_Q_SIGNALS_SEM1_SHIFT;
  if (wait_semaphore >= 0) {
    extra.consumes = true;
    extra.semaphore = (uint32_t)wait_semaphore;
    extra.amount = wait_amount;
  }
  return issue(c, &c->queue[TPU_QUEUE_SYNC], deps, &extra, PL_TAG(PL_TAG_SYNC, 0) + c->step);
}

/*
 * Sleeps until ticket t of queue r is reached: a SYNC command waits for it and interrupts. The SYNC queue
 * is in order, so what was queued there before is done then, too.
 */
static bool sleep_for_ticket(struct pl_context *c, uint32_t r, uint32_t ticket, enum wait_cause cause) {
  struct pl_queue *const sync = &c->queue[TPU_QUEUE_SYNC];
  const uint32_t standard = TPU_Q_SIGNALS_EN0_MASK | TPU_QUEUE_SYNC;
  bool ok = true;

  if (sync->issued == sync->limit && !wait_for_room(c, sync))
    return false;
  mark(c, TPU_MARK_WAIT_BEGIN, cause);
  tpu_queue_put(sync->base, TPU_Q_WAIT_AMOUNT(0), ticket);
  tpu_queue_put(sync->base, TPU_Q_WAITS, TPU_Q_WAITS_EN0_MASK | r);
  tpu_queue_put(sync->base, TPU_Q_SIGNALS, standard | TPU_Q_SIGNALS_IRQ_MASK);
  tpu_queue_go(sync->base, PL_TAG(PL_TAG_SYNC, 0) + c->step);
  tpu_queue_put(sync->base, TPU_Q_SIGNALS, standard);
  sync->issued++;
  while (ok && (c->done[TPU_QUEUE_SYNC] = read_ticket(c, TPU_QUEUE_SYNC)) != sync->issued)
    ok = sleep_until(c, TPU_REG_INTR_STATE_DONE_MASK);
  mark(c, TPU_MARK_WAIT_END, cause);
  return ok;
}

bool pl_wait_ticket(struct pl_context *c, uint32_t queue, uint32_t ticket) {
  if (c->status != PL_OK)
    return false;
  if (pl_reached(c->done[queue], ticket))
    return true;
  c->done[queue] = read_ticket(c, queue);
  if (pl_reached(c->done[queue], ticket))
    return true;
  if (!sleep_for_ticket(c, queue, ticket, WAIT_TICKET))
    return false;
  if (queue != TPU_QUEUE_SYNC)
    c->done[queue] = ticket;
  return true;
}

/* Nothing of queue r is unfinished; waits for it if need be. */
static inline bool finish(struct pl_context *c, uint32_t r) {
  const uint32_t issued = c->queue[r].issued;
  if (c->done[r] == issued)
    return true;
  if ((c->done[r] = read_ticket(c, r)) == issued)
    return true;
  if (!sleep_for_ticket(c, r, issued, WAIT_END))
    return false;
  c->done[r] = c->queue[r].issued; /* for SYNC one more than before */
  return true;
}

/* Mostly the last write-back waits for all the rest, so that one wait is enough and then a look. */
bool pl_drain(struct pl_context *c) {
  uint32_t status;

  if (c->status != PL_OK || !finish(c, PL_WRITE_BACK_QUEUE))
    return false;
  for (uint32_t r = 0; r < PL_QUEUES; r++)
    if (!finish(c, r))
      return false;
  (void)!tpu_ctrl_status(&c->ctrl, &status);
  if (status & TPU_REG_STATUS_ERROR_MASK) /* one that stopped no command, such as a bad access */
    pl_device_error();
  return c->status == PL_OK;
}
