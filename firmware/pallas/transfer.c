/* SPDX-License-Identifier: MIT */
/* The copies of the pipeline: their constant words, their edges, and the ways that are not the hot one. */
#include "internal.h"

struct outer {
  uint32_t count;
  int32_t hbm_stride, chip_stride;
};

static int32_t hbm_stride(const struct pl_operand *op, unsigned d) {
  return (int32_t)(op->dim[d].stride / (uint32_t)op->dim[d].block);
}

/*
 * The interior block: dimensions that lie gapless behind one another on both sides become one, so that
 * rows are long and three outer dimensions are enough.
 */
pl_status pl_transfer_plan(struct pl_operand *op, const pl_array *array) {
  struct pl_transfer *t = &op->transfer;
  struct outer outer[PL_MAX_RANK];
  unsigned n = 0, plain = 0;
  bool ragged = false;

  (void)array;
  t->row_bytes = pl_dtype_bytes(op->dtype) * (uint32_t)(op->rank > 0 ? op->dim[op->rank - 1].block : 1);
  for (unsigned d = 0; d < op->rank; d++)
    ragged |= op->dim[d].full != op->dim[d].blocks;
  for (int d = op->rank - 2; d >= 0; d--) {
    struct outer o = {(uint32_t)op->dim[d].block, hbm_stride(op, (unsigned)d), op->view.stride[d]};
    if (o.count == 1)
      continue;
    plain++;
    if (n == 0 && o.hbm_stride == (int32_t)t->row_bytes && o.chip_stride == o.hbm_stride)
      t->row_bytes *= o.count;
    else if (n > 0 && o.hbm_stride == outer[n - 1].hbm_stride * (int32_t)outer[n - 1].count &&
             o.chip_stride == outer[n - 1].chip_stride * (int32_t)outer[n - 1].count)
      outer[n - 1].count *= o.count;
    else
      outer[n++] = o;
  }
  if (n > 3 || (ragged && plain > 3))
    return pl_fail_operand(PL_ERROR_UNSUPPORTED, op,
                           "a block of more than %d dimensions of more than one row", 3);
  for (unsigned i = 0; i < 3; i++) {
    if (i < n && outer[i].count > 0xffff)
      return pl_fail_operand(PL_ERROR_LIMIT, op, "a block with %u rows in one dimension; 65535 is the most",
                             (unsigned)outer[i].count);
    t->hbm_stride[i] = i < n ? outer[i].hbm_stride : 0;
    t->chip_stride[i] = i < n ? outer[i].chip_stride : 0;
  }
  t->count01 = (n > 0 ? outer[0].count : 1) | (n > 1 ? outer[1].count : 1) << TPU_DMA_COUNT01_COUNT1_SHIFT;
  t->count2 = n > 2 ? outer[2].count : 1;
  const uint32_t chip = op->space == PL_VMEM ? TPU_SPACE_VMEM : TPU_SPACE_SMEM;
  t->mode = op->output ? chip << TPU_DMA_MODE_SRC_SPACE_SHIFT | TPU_SPACE_HBM << TPU_DMA_MODE_DST_SPACE_SHIFT
                       : TPU_SPACE_HBM << TPU_DMA_MODE_SRC_SPACE_SHIFT | chip << TPU_DMA_MODE_DST_SPACE_SHIFT;
  return PL_OK;
}

static void stage_words(const struct pl_operand *op, const struct pl_transfer *t) {
  uintptr_t base = op->queue->base;
  const unsigned hbm = op->output ? TPU_DMA_DST_STRIDE(0) : TPU_DMA_SRC_STRIDE(0);
  const unsigned chip = op->output ? TPU_DMA_SRC_STRIDE(0) : TPU_DMA_DST_STRIDE(0);

  tpu_queue_put(base, TPU_DMA_MODE, t->mode);
  tpu_queue_put(base, TPU_DMA_ROW_BYTES, t->row_bytes);
  tpu_queue_put(base, TPU_DMA_COUNT01, t->count01);
  tpu_queue_put(base, TPU_DMA_COUNT2, t->count2);
  for (unsigned i = 0; i < 3; i++) {
    tpu_queue_put(base, hbm + 4 * i, (uint32_t)t->hbm_stride[i]);
    tpu_queue_put(base, chip + 4 * i, (uint32_t)t->chip_stride[i]);
  }
}

/*
 * A block at the edge: an input copies the valid part and fills the rest with zero, an output writes
 * the valid part only.
 */
static void stage_ragged(const struct pl_operand *op, const int32_t *index) {
  struct pl_transfer t = {.mode = op->transfer.mode};
  const uint32_t bytes = pl_dtype_bytes(op->dtype);
  uint32_t count[3] = {1, 1, 1}, valid[3] = {1, 1, 1}, row = 0, valid_row = 0;
  unsigned n = 0;

  for (int d = op->rank - 1; d >= 0; d--) {
    const struct pl_dim *dim = &op->dim[d];
    int32_t left = dim->extent - index[d] * dim->block;
    uint32_t here = (uint32_t)(left < dim->block ? left : dim->block);
    if (d == op->rank - 1) {
      row = (uint32_t)dim->block * bytes;
      valid_row = here * bytes;
    } else if (dim->block > 1) {
      count[n] = (uint32_t)dim->block;
      valid[n] = here;
      t.hbm_stride[n] = hbm_stride(op, (unsigned)d);
      t.chip_stride[n++] = op->view.stride[d];
    }
  }
  const uint32_t *counts = op->output ? valid : count;
  t.row_bytes = op->output ? valid_row : row;
  t.count01 = counts[0] | counts[1] << TPU_DMA_COUNT01_COUNT1_SHIFT;
  t.count2 = counts[2];
  if (!op->output) {
    uintptr_t base = op->queue->base;
    t.mode |= TPU_DMA_MODE_FILL_MASK;
    tpu_queue_put(base, TPU_DMA_VALID_ROW, valid_row);
    tpu_queue_put(base, TPU_DMA_VALID01, valid[0] | valid[1] << TPU_DMA_VALID01_COUNT1_SHIFT);
    tpu_queue_put(base, TPU_DMA_VALID2, valid[2]);
    tpu_queue_put(base, TPU_DMA_PATTERN, 0);
  }
  stage_words(op, &t);
}

static bool one_bit(uint32_t mask) {
  return (mask & (mask - 1)) == 0;
}

/*
 * After this the operand owns the channel's words, and as long as its buffers are read by one queue
 * only, the next fetch can take the hot path: its one wait is then staged.
 */
static void own_channel(struct pl_operand *op) {
  const uint32_t queues = op->group.readers;

  op->queue->owner = NULL;
  if (!one_bit(queues))
    return;
  const uint32_t reader = queues != 0 ? (uint32_t)__builtin_ctz(queues) : 0;
  op->wait_offset = (uint32_t)offsetof(struct pl_buffer, read_ticket) + reader * (uint32_t)sizeof(uint32_t);
  tpu_queue_put(op->queue->base, TPU_Q_WAITS, queues != 0 ? TPU_Q_WAITS_EN0_MASK | reader : 0);
  op->queue->owner = op;
}

bool pl_fetch_slow(struct pl_context *c, struct pl_operand *op) {
  struct pl_buffer *buffer = op->fill;
  struct pl_queue *q = op->queue;
  struct pl_deps deps = {0};
  int32_t index[PL_MAX_RANK];
  bool ragged = false;

  for (unsigned d = 0; d < op->rank; d++) {
    index[d] = op->dim[d].last;
    ragged |= (uint32_t)index[d] >= op->dim[d].full;
  }
  if (ragged)
    stage_ragged(op, index);
  else if (q->owner != op)
    stage_words(op, &op->transfer);
  tpu_queue_put(q->base, TPU_DMA_SRC, op->address);
  tpu_queue_put(q->base, TPU_DMA_DST, buffer->address);
  pl_write_deps(&deps, buffer, q->number);
  if (!pl_issue(c, q, &deps, 0, op->tag))
    return false;
  op->tag++;
  pl_has_written(c, buffer, q);
  if (ragged)
    q->owner = NULL;
  else
    own_channel(op);
  return true;
}

bool pl_write_back_slow(struct pl_context *c, struct pl_operand *op, const struct pl_latch *latch) {
  struct pl_buffer *buffer = op->view.buffer;
  struct pl_queue *q = op->queue;
  struct pl_deps deps = {0};

  if (latch->ragged)
    stage_ragged(op, latch->index);
  else if (q->owner != op)
    stage_words(op, &op->transfer);
  tpu_queue_put(q->base, TPU_DMA_SRC, buffer->address);
  tpu_queue_put(q->base, TPU_DMA_DST, latch->address);
  pl_read_deps(&deps, buffer, q->number);
  if (!pl_issue(c, q, &deps, 0, op->tag))
    return false;
  op->tag++;
  pl_has_read(buffer, q);
  if (latch->ragged || buffer->writer == PL_NOBODY || buffer->writer == q->number) {
    q->owner = NULL;
  } else {
    op->wait_queue = buffer->writer;
    tpu_queue_put(q->base, TPU_Q_WAITS, TPU_Q_WAITS_EN0_MASK | buffer->writer);
    q->owner = op;
  }
  return true;
}
