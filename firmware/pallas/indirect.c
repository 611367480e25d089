/* SPDX-License-Identifier: MIT */
/*
 * INDIRECT dimensions of blocks: their elements are those that a list of indices names.
 *
 * The list is in SMEM, and the DMA reads it when the block is copied, so that no index passes the scalar
 * core. What the map names is taken when it is evaluated; the copy of an input is queued then, that of an
 * output when its block is written back. An index that is outside the array is found by the DMA before
 * anything of that copy moves.
 */
#include "pipeline.h"

/* The INDIRECT dimension of a listed operand. */
static unsigned listed_dimension(const struct pl_operand *op) {
  unsigned d = 0;
  while (op->dim[d].kind != PL_INDIRECT)
    d++;
  return d;
}

bool pl_take_list(struct pl_operand *op, const pl_grid *at) {
  struct pl_context *c = pl_self();
  const unsigned d = listed_dimension(op);
  pl_index *const index = &op->index[d];
  const struct pl_view *v = index->list.view;
  const bool none = v == NULL || v == &pl_nothing;

  if (!none && (c->frame != NULL || v->kind == PL_VIEW_PREFETCH)) {
    if (pl_look(c, index->list) == NULL)
      return false;
    if (v->space == PL_SMEM && v->dtype == PL_INT32 && v->rank == 1 && v->shape[0] <= op->dim[d].block &&
        (v->shape[0] <= 1 || v->stride[0] == (int32_t)sizeof(int32_t))) {
      index->start = 0;
      index->size = v->shape[0];
      op->list = (struct pl_list){v->buffer, v->buffer->address + v->offset};
      return true;
    }
  }
  pl_fail_operand(PL_ERROR_BLOCK_INDEX, op, "its map named ");
  if (none)
    pl_message_add("no list");
  else
    pl_message_add("as a list %pV, %pD,", v, v);
  pl_add_position(at);
  pl_message_add(
      "; block dimension %u is INDIRECT: int32 of rank 1, %d or fewer, without a stride, of a scalar "
      "prefetch argument or in SMEM of the body around it are right",
      d, (int)op->dim[d].block);
  return false;
}

void pl_stage_list(const struct pl_queue *q, const struct pl_operand *op, const struct pl_list *list,
                   struct pl_deps *deps) {
  tpu_queue_put(q->base, TPU_DMA_INDEX, list->address);
  tpu_queue_put(q->base, TPU_DMA_BOUND, (uint32_t)op->dim[listed_dimension(op)].extent);
  pl_read_deps(deps, list->buffer, q->number);
  pl_reads_with(list->buffer, q->number, q->issued + 1);
}

/*
 * Without waiting, which the failed device cannot be asked to. It may be blocked, and to read on, between
 * words of the message, is what a hart does that hangs; a write, here one that clears nothing, says that this
 * one goes on.
 */
static bool is_written(const struct pl_buffer *buffer) {
  uint32_t value = 0;
  (void)!tpu_ctrl_intr_clear(&pl_context.ctrl, 0);
  return buffer->writer == PL_NOBODY || (tpu_sem_read(&pl_context.sem, buffer->writer, &value) == HAL_OK &&
                                         pl_reached(value, buffer->write_ticket));
}

/* The first step so far in which the operand's map names a list with this entry; false if there is none. */
static bool find_step(const struct pl_plan *plan, struct pl_operand *op, int32_t entry, int32_t value,
                      pl_grid *at, uint32_t *step) {
  const pl_ref *const list = &op->index[listed_dimension(op)].list;
  const uint32_t evaluated = plan->steps - op->cursor->left;

  *at = plan->grid;
  for (*step = 0; *step < evaluated; ++*step, advance(at)) {
    op->map(at, op->index);
    const struct pl_view *const v = list->view;
    if (v != NULL && v->space == PL_SMEM && entry < v->shape[0] && is_written(v->buffer) &&
        pl_read_element(v, &entry) == value)
      return true;
  }
  return false;
}

/*
 * A command knows no step. But maps are functions of the position, so that they can be asked again; what the
 * body has changed since is not found.
 */
void pl_add_entry(struct pl_context *c, uint32_t tag, int32_t entry, int32_t value) {
  const pl_status status = c->status;
  const uint8_t in_body = c->in_body;
  const bool output = tag >> 28 == PL_TAG_WRITE_BACK, kept = pl_message_keep(true);
  const struct pl_frame *frame = c->frame;
  struct pl_operand *found = NULL;
  pl_grid at;
  uint32_t step;

  c->status = PL_OK;
  c->in_body = false;
  for (const struct pl_plan *plan = c->plan; (output || tag >> 28 == PL_TAG_FETCH) && plan != NULL;
       plan = frame->plan, frame = frame->outer) {
    struct pl_operand *op = &plan->operand[(output ? plan->inputs : 0) + (tag >> 24 & 15)];
    if (op < plan->operand + plan->inputs + plan->outputs && op->listed &&
        find_step(plan, op, entry, value, &at, &step))
      found = op;
    if (found != NULL || frame == NULL)
      break;
  }
  c->status = status;
  c->in_body = in_body;
  pl_message_keep(kept);
  if (found == NULL)
    return;
  const unsigned d = listed_dimension(found);
  pl_message_add("; %pV, block dimension %u, step %u", &found->view, d, (unsigned)step);
  pl_add_position(&at);
  pl_message_add(": 0 to %d are right", (int)found->dim[d].extent - 1);
}
