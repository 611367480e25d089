/* SPDX-License-Identifier: MIT */
/*
 * Program order: turns dependencies into waits on tickets, queues commands, and puts the scalar core
 * to sleep where it must wait.
 *
 * A command waits only for commands queued before it, so the oldest unfinished one can always go on
 * and a full queue always drains. Only explicit semaphores can break that; the device then reports
 * that it is blocked, and the call ends with PL_ERROR_DEADLOCK.
 */
#include "internal.h"

/* What a wait of the scalar core was for, in its trace marks. */
enum wait_cause { WAIT_SPACE = 1, WAIT_TICKET = 2, WAIT_END = 3 };

static void mark(struct pl_context *c, uint32_t kind, uint32_t value) {
  mmio_write32(c->mark, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

static PL_COLD void fail_deadlock(struct pl_context *c, uint32_t status) {
#define NAME(name, value, text) [value] = #name,
  static const char *const queues[] = {TPU_QUEUE_LIST(NAME)};
#undef NAME
  if (c->status != PL_OK)
    return;
  pl_fail(PL_ERROR_DEADLOCK,
          "deadlock: nothing is in flight and every command waits for a signal nobody can send;");
  pl_message_add(" waiting:");
  for (unsigned q = 0; q < PL_QUEUES; q++)
    if (status >> (TPU_REG_STATUS_WAITING_SHIFT + q) & 1)
      pl_message_add(" %s", queues[q]);
  for (uint32_t i = 0; c->plan != NULL && i < c->plan->semaphores; i++) {
    uint32_t value = 0, s = PL_FIRST_SEMAPHORE + i;
    (void)!tpu_sem_read(&c->sem, s, &value);
    pl_message_add("; semaphore %u holds %u, started %u, waited for %u", (unsigned)s, (unsigned)value,
                   (unsigned)c->semaphore[s].started, (unsigned)c->semaphore[s].waited);
  }
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
    if (state & wanted) {
      if (state & wanted & TPU_REG_INTR_STATE_DONE_MASK)
        (void)!tpu_ctrl_intr_clear(&c->ctrl, TPU_REG_INTR_STATE_DONE_MASK);
      return true;
    }
    if (state & TPU_REG_INTR_STATE_BLOCKED_MASK) {
      uint32_t status;
      (void)!tpu_ctrl_intr_clear(&c->ctrl, TPU_REG_INTR_STATE_BLOCKED_MASK);
      (void)!tpu_ctrl_status(&c->ctrl, &status);
      if (status & TPU_REG_STATUS_BLOCKED_MASK) {
        fail_deadlock(c, status);
        return false;
      }
      continue;
    }
    cpu_wfi();
  }
}

/* Waits until the queue has a free slot. */
static bool wait_for_room(struct pl_context *c, struct pl_queue *q) {
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
  uint32_t queue[PL_QUEUES], count;
};

/* The waits that the queue has not observed yet. */
static void pending_waits(struct pl_context *c, const struct pl_queue *q, const struct pl_deps *deps,
                          struct wait_list *list) {
  list->count = 0;
  for (uint32_t left = deps->mask, r = 0; left != 0; left >>= 1, r++)
    if ((left & 1) && !pl_reached(q->observed[r], deps->ticket[r]) &&
        !pl_reached(c->done[r], deps->ticket[r]))
      list->queue[list->count++] = r;
}

/* What a command carries besides its ticket and its waits for tickets. */
struct extra {
  uint32_t signals;       /* ORed into SIGNALS */
  uint32_t signal_amount; /* of signal 1 */
  bool consumes;          /* one more wait, which subtracts */
  uint32_t semaphore, amount;
};

static bool go(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps, const uint32_t *queues,
               uint32_t count, const struct extra *extra, uint32_t tag) {
  uint32_t waits = 0, n = 0;

  if (q->issued == q->limit && !wait_for_room(c, q))
    return false;
  for (; n < count; n++) {
    uint32_t r = queues[n];
    waits |= (TPU_Q_WAITS_EN0_MASK | r) << 8 * n;
    tpu_queue_put(q->base, TPU_Q_WAIT_AMOUNT(n), deps->ticket[r]);
    q->observed[r] = deps->ticket[r];
  }
  if (extra != NULL && extra->consumes) {
    waits |= (TPU_Q_WAITS_EN0_MASK | TPU_Q_WAITS_CONSUME0_MASK | extra->semaphore) << 8 * n;
    tpu_queue_put(q->base, TPU_Q_WAIT_AMOUNT(n), extra->amount);
  }
  tpu_queue_put(q->base, TPU_Q_WAITS, waits);
  const uint32_t standard = TPU_Q_SIGNALS_EN0_MASK | q->number;
  if (extra != NULL && extra->signals != 0) {
    tpu_queue_put(q->base, TPU_Q_SIGNALS, standard | extra->signals);
    tpu_queue_put(q->base, TPU_Q_SIGNAL_AMOUNT(1), extra->signal_amount);
  }
  tpu_queue_go(q->base, tag + c->step_tag);
  if (extra != NULL && extra->signals != 0)
    tpu_queue_put(q->base, TPU_Q_SIGNALS, standard);
  q->issued++;
  return true;
}

static bool issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps,
                  const struct extra *extra, uint32_t tag) {
  struct pl_queue *sync = &c->queue[TPU_QUEUE_SYNC];
  struct pl_deps all = *deps;
  struct wait_list list;
  uint32_t first = 0, room = c->waits - (extra != NULL && extra->consumes ? 1 : 0);

  if (c->status != PL_OK)
    return false;
  if (q->fenced) {
    q->fenced = false;
    if (q != sync)
      pl_depend(&all, TPU_QUEUE_SYNC, q->fence);
  }
  pending_waits(c, q, &all, &list);
  if (list.count > room) {
    /* Too many for one command: SYNC commands wait for them, in order, and this one for the last. */
    struct pl_deps none = {0};
    uint32_t keep = q == sync ? room : 0;
    while (list.count - first > keep) {
      uint32_t n = list.count - first < c->waits ? list.count - first : c->waits;
      if (!go(c, sync, &all, list.queue + first, n, NULL, PL_TAG(PL_TAG_SYNC, 0)))
        return false;
      first += n;
    }
    if (q != sync) {
      pl_depend(&none, TPU_QUEUE_SYNC, sync->issued);
      list.queue[0] = TPU_QUEUE_SYNC;
      return go(c, q, &none, list.queue, 1, extra, tag);
    }
  }
  return go(c, q, &all, list.queue + first, list.count - first, extra, tag);
}

bool pl_issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps, uint32_t signals,
              uint32_t tag) {
  const struct extra extra = {.signals = signals};
  return issue(c, q, deps, signals != 0 ? &extra : NULL, tag);
}

bool pl_sync(struct pl_context *c, const struct pl_deps *deps, bool interrupt, uint32_t signal_semaphore,
             uint32_t signal_amount, int wait_semaphore, uint32_t wait_amount) {
  struct extra extra = {.signal_amount = signal_amount};
  if (interrupt)
    extra.signals |= TPU_Q_SIGNALS_IRQ_MASK;
  if (signal_amount != 0)
    extra.signals |= TPU_Q_SIGNALS_EN1_MASK | signal_semaphore << TPU_Q_SIGNALS_SEM1_SHIFT;
  if (wait_semaphore >= 0) {
    extra.consumes = true;
    extra.semaphore = (uint32_t)wait_semaphore;
    extra.amount = wait_amount;
  }
  return issue(c, &c->queue[TPU_QUEUE_SYNC], deps, &extra, PL_TAG(PL_TAG_SYNC, 0));
}

/* Sleeps until the last SYNC command, which has the interrupt flag, is complete. */
static bool sleep_for_sync(struct pl_context *c, enum wait_cause cause) {
  const uint32_t ticket = c->queue[TPU_QUEUE_SYNC].issued;
  bool ok = true;
  mark(c, TPU_MARK_WAIT_BEGIN, cause);
  while (ok) {
    uint32_t value;
    (void)!tpu_sem_read(&c->sem, TPU_QUEUE_SYNC, &value);
    if (pl_reached(value, ticket)) {
      c->done[TPU_QUEUE_SYNC] = value;
      break;
    }
    ok = sleep_until(c, TPU_REG_INTR_STATE_DONE_MASK);
  }
  mark(c, TPU_MARK_WAIT_END, cause);
  return ok;
}

bool pl_wait_ticket(struct pl_context *c, uint32_t queue, uint32_t ticket) {
  if (c->status != PL_OK)
    return false;
  if (pl_reached(c->done[queue], ticket))
    return true;
  (void)!tpu_sem_read(&c->sem, queue, &c->done[queue]);
  if (pl_reached(c->done[queue], ticket))
    return true;
  struct pl_deps deps = {0};
  pl_depend(&deps, queue, ticket);
  if (!pl_sync(c, &deps, true, 0, 0, -1, 0) || !sleep_for_sync(c, WAIT_TICKET))
    return false;
  if (queue != TPU_QUEUE_SYNC)
    c->done[queue] = ticket;
  return true;
}

bool pl_drain(struct pl_context *c) {
  struct pl_deps deps = {0};
  if (c->status != PL_OK)
    return false;
  for (uint32_t r = 0; r < TPU_QUEUE_SYNC; r++)
    if (!pl_reached(c->done[r], c->queue[r].issued))
      pl_depend(&deps, r, c->queue[r].issued);
  if (!pl_sync(c, &deps, true, 0, 0, -1, 0) || !sleep_for_sync(c, WAIT_END))
    return false;
  for (uint32_t r = 0; r < TPU_QUEUE_SYNC; r++)
    c->done[r] = c->queue[r].issued;
  uint32_t status;
  (void)!tpu_ctrl_status(&c->ctrl, &status);
  if (status & TPU_REG_STATUS_ERROR_MASK) /* one that stopped no command, such as a bad access */
    pl_device_error();
  return c->status == PL_OK;
}
