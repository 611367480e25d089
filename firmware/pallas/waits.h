/* SPDX-License-Identifier: MIT */
/*
 * The waits of one command of the matrix or vector unit, gathered while it is described: what pl_deps and
 * pl_issue() are for any queue, for the ordinary case. These queues act as if one command ended before the
 * next began, so that a command never waits for its own queue. A wait whose ticket the queue has observed is
 * left out.
 */
#ifndef PALLAS_WAITS_H
#define PALLAS_WAITS_H

#include "internal.h"

/* In the context, so that functions that gather them need no frame. */
static inline void pl_wait_for(struct pl_context *c, uint32_t number, uint32_t queue, uint32_t ticket) {
  uint32_t *const observed = &c->queue[number].observed[queue];
  struct pl_waits *const w = &c->waiting;
  const uint32_t count = w->count;
  uint32_t i = 0;

  if (pl_reached(*observed, ticket))
    return;
  *observed = ticket; /* when the command starts; later ones of the queue come behind it */
  while (i < count && w->queue[i] != queue)
    i++;
  w->queue[i] = queue;
  w->ticket[i] = ticket; /* higher than one that stood there */
  if (i == count)
    w->count = count + 1;
}

/* As pl_read_deps() for this queue. */
static inline void pl_wait_for_writer(struct pl_context *c, uint32_t number, const struct pl_buffer *b) {
  const uint32_t writer = b->writer;
  if (writer != PL_NOBODY && writer != number)
    pl_wait_for(c, number, writer, b->write_ticket);
}

/* With it, as pl_write_deps(). */
static inline void pl_wait_for_readers(struct pl_context *c, uint32_t number, const struct pl_buffer *b) {
  uint32_t left = b->group->readers & ~(1u << number), i = 0;
  if (!(left & ((1u << PL_WRITE_BACK_QUEUE) - 1))) { /* mostly the one that writes back, or none */
    left >>= PL_WRITE_BACK_QUEUE;
    i = PL_WRITE_BACK_QUEUE;
  }
  for (; left != 0; left >>= 1, i++)
    if (left & 1)
      pl_wait_for(c, number, i, b->read_ticket[i]);
}

/* Queues what is staged behind the gathered waits, which are none then. */
static inline void pl_go(struct pl_context *c, uint32_t number, uint32_t tag) {
  struct pl_queue *const q = &c->queue[number];
  const uintptr_t base = q->base;
  const uint32_t issued = q->issued, count = c->waiting.count;
  uint32_t waits = 0;

  if (PL_UNLIKELY(issued == q->limit || (count != 0 && count > c->waits))) {
    pl_go_slow(c, q, tag);
    return;
  }
  if (count != 0) {
    for (uint32_t i = 0; i < count; i++) {
      tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(i), c->waiting.ticket[i]);
      waits |= (TPU_Q_WAITS_EN0_MASK | c->waiting.queue[i]) << 8 * i;
    }
    c->waiting.count = 0;
  }
  q->issued = issued + 1;
  tpu_queue_put(base, TPU_Q_WAITS, waits);
  tpu_queue_go(base, tag);
}

#endif
