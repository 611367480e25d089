/* SPDX-License-Identifier: MIT */
/*
 * Queueing vector operations: with the words of a record, and the same operation on the same refs
 * again, which needs no check but that the refs are valid now.
 */
#include "vector.h"
#include "waits.h"

static void stage_record(const struct pl_context *c, uintptr_t base, const struct pl_vector_record *r) {
  tpu_queue_put(base, TPU_VPU_ENTRY, r->entry);
  tpu_queue_put(base, TPU_VPU_LOOP(0), r->loop[0]);
  tpu_queue_put(base, TPU_VPU_LOOP(1), r->loop[1]);
  tpu_queue_put(base, TPU_VPU_EDGE, r->edge);
  tpu_queue_put(base, TPU_VPU_VALID_ROWS, r->rows);
  tpu_queue_put(base, TPU_VPU_VALID_COLS, r->columns);
  tpu_queue_put(base, TPU_VPU_SCALAR_MODE, 0);
  tpu_queue_put(base, TPU_VPU_SCALAR(0), c->lanes);
  tpu_queue_put(base, TPU_VPU_SCALAR(1), 24);
  tpu_queue_put(base, TPU_VPU_SCALAR(2), 255);
  for (unsigned i = 0; i < r->addresses; i++) {
    tpu_queue_put(base, TPU_VPU_PITCH(i), (uint32_t)r->pitch[i]);
    tpu_queue_put(base, TPU_VPU_STRIDE(3 * i), (uint32_t)r->stride[i][0]);
    tpu_queue_put(base, TPU_VPU_STRIDE(3 * i + 1), (uint32_t)r->stride[i][1]);
  }
}

void pl_vector_queue(struct pl_context *c, const struct pl_vector_record *r, struct pl_view *const *views,
                     uint32_t scalar) {
  struct pl_queue *const q = &c->queue[TPU_QUEUE_VPU];
  struct pl_view *const result = views[0];
  const uint32_t ticket = q->issued + 1;
  uint32_t address[1 + PL_VECTOR_SOURCES];
  bool in_place = false;

  for (unsigned i = 1; i <= r->sources; i++) {
    struct pl_buffer *const source = views[i]->buffer;
    address[i] = source->address + views[i]->offset;
    pl_wait_to_read(c, TPU_QUEUE_VPU, source);
    pl_reads_with(source, TPU_QUEUE_VPU, ticket);
    in_place = in_place || source->group == result->buffer->group;
  }
  if (result->space == PL_ACC && (result->flags & PL_VIEW_WHOLE) && !in_place)
    result->buffer = result->buffer->next; /* a fresh accumulator, if there are two */
  struct pl_buffer *const buffer = result->buffer;
  address[0] = buffer->address + result->offset;
  pl_wait_to_write(c, TPU_QUEUE_VPU, buffer);
  pl_writes_with(c, buffer, TPU_QUEUE_VPU, ticket);
  if (result->space == PL_ACC) /* a dot's third wait is for the vector unit, whatever it did */
    pl_reads_with(buffer, TPU_QUEUE_VPU, ticket);

  if (q->owner != r)
    stage_record(c, q->base, r);
  const uintptr_t base = q->base + TPU_VPU_ADDR(0);
  for (unsigned i = 0; i < r->addresses; i++)
    mmio_write32(base + 4 * i, address[r->operand[i]] + r->offset[i]);
  if (r->operation == PL_OP_FILL)
    tpu_queue_put(q->base, TPU_VPU_SCALAR(0), scalar);
  q->owner = result->flags & PL_VIEW_POOLED ? NULL : r;
  pl_go(c, TPU_QUEUE_VPU, PL_TAG(PL_TAG_VECTOR, result->index) + c->step);
}

bool pl_vector_again(struct pl_context *c, unsigned operation, pl_ref o, pl_ref a, const pl_ref *b,
                     uint32_t scalar) {
  const struct pl_vector_record *r = o.view->vector;
  struct pl_view *views[1 + PL_VECTOR_SOURCES] = {o.view, a.view, b != NULL ? b->view : NULL};

  if (r == NULL || r->operation != operation || r->programs != pl_programs_generation ||
      o.generation != o.view->generation || c->status != PL_OK || !c->in_body)
    return false;
  if (r->sources >= 1 && (r->source[0] != a.view || a.generation != a.view->generation))
    return false;
  if (r->sources == 2 && (r->source[1] != b->view || b->generation != b->view->generation))
    return false;
  pl_vector_queue(c, r, views, scalar);
  return true;
}
