/* SPDX-License-Identifier: MIT */
/*
 * Matrix multiplication. The first dot of a kind is checked and remembered in a record of its result's
 * view; as long as the same refs come again and the queue's words are still that record's, a dot costs
 * three addresses, the mode, three wait amounts and GO.
 *
 * The waits of a record are fixed: the writers of x and y, and the vector unit, which reads (or wrote)
 * the accumulator. A ticket that was reached long ago costs nothing, so nothing is left out to save a
 * wait. Whatever would make another wait necessary takes the queue away from its owner: a new writer
 * of any buffer (pl_has_written), an error, a fence. In maps no record fits (PL_IN_BODY).
 */
#include "internal.h"

/*
 * No call but the last one in here, and few values at a time: a leaf that saves no registers. The context
 * stays in tp, which needs no other.
 */
void pl_dot_refs(struct pl_view *acc, uint32_t acc_generation, struct pl_view *x, uint32_t x_generation,
                 struct pl_view *y, uint32_t y_generation, unsigned mode) {
  struct pl_queue *const q = &pl_self()->queue[TPU_QUEUE_MXU];
  struct pl_dot_record *r = acc->dot;
  const uint32_t issued = q->issued;

  if (PL_UNLIKELY(q->owner != r || r->x != x || r->y != y || (mode | pl_self()->in_body) != r->mode ||
                  acc_generation != acc->generation || x_generation != x->generation ||
                  y_generation != y->generation || issued == q->limit)) {
    pl_dot_anew(acc, acc_generation, x, x_generation, y, y_generation, mode);
    return;
  }
  const uintptr_t base = q->base;
  const uint32_t ticket = issued + 1;
  struct pl_buffer *b = acc->buffer;
  if (!(mode & PL_ACCUMULATE)) {
    b = b->next; /* a fresh accumulator, if there are two */
    acc->buffer = b;
  }
  tpu_queue_put(base, TPU_MXU_C, b->address + acc->offset);
  tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(2), b->read_ticket[TPU_QUEUE_VPU]);
  tpu_queue_put(base, TPU_MXU_MODE, r->dtype | mode);
  b->write_ticket = ticket;
  b = x->buffer;
  tpu_queue_put(base, TPU_MXU_A, b->address + x->offset);
  tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(0), b->write_ticket);
  b->read_ticket[TPU_QUEUE_MXU] = ticket;
  b = y->buffer;
  tpu_queue_put(base, TPU_MXU_B, b->address + y->offset);
  tpu_queue_put(base, TPU_Q_WAIT_AMOUNT(1), b->write_ticket);
  b->read_ticket[TPU_QUEUE_MXU] = ticket;
  tpu_queue_go(base, r->tag + pl_self()->step);
  pl_self()->queue[TPU_QUEUE_MXU].issued = ticket;
}
