/* SPDX-License-Identifier: MIT */
/* The copies of the pipeline: their constant words, their edges, and the ways that are not the hot one. */
#include "pipeline.h"

enum { MOST_ROWS = 0xffff }; /* of one level of a command */

struct level {
  uint32_t count, valid;
  uint32_t memory_stride, chip_stride;
};

/*
 * Rows and levels of a block, from the last dimension outwards. Elements that are neighbours on both sides
 * make a row; dimensions that lie gapless behind one another on both sides become one, so that rows are
 * long and three levels are enough. What is inside the array comes first in every row and level: with `valid`
 * a dimension that is cut ends one, for the next one further out begins again inside. An INDIRECT dimension
 * is level 0, and no part of another one.
 */
static unsigned block_levels(const struct pl_operand *op, const int32_t *valid, struct level *level,
                             uint32_t *row, uint32_t *valid_row) {
  const uint32_t bytes = pl_dtype_bytes(op->dtype);
  const unsigned first = op->listed;
  unsigned n = first;

  *row = *valid_row = bytes;
  for (int d = op->rank - 1; d >= 0; d--) {
    const struct pl_dim *dim = &op->dim[d];
    const uint32_t here = valid != NULL ? (uint32_t)valid[d] : (uint32_t)dim->block;
    const struct level l = {(uint32_t)dim->block, here, dim->memory, dim->chip};
    if (dim->kind == PL_INDIRECT) {
      level[0] = l;
    } else if (l.count == 1) {
      if (here == 0)
        *valid_row = 0;
    } else if (n == first && l.memory_stride == *row && l.chip_stride == *row && *valid_row == *row) {
      *row *= l.count;
      *valid_row *= here;
    } else if (n > first && level[n - 1].valid == level[n - 1].count &&
               l.memory_stride == level[n - 1].memory_stride * level[n - 1].count &&
               l.chip_stride == level[n - 1].chip_stride * level[n - 1].count &&
               (uint64_t)l.count * level[n - 1].count <= MOST_ROWS) {
      level[n - 1].count *= l.count;
      level[n - 1].valid *= here;
    } else {
      level[n++] = l;
    }
  }
  return n;
}

static void put_levels(struct pl_transfer *t, const struct level *level, unsigned n, bool valid_only) {
  uint32_t count[3] = {1, 1, 1};

  for (unsigned i = 0; i < 3; i++) {
    if (i < n)
      count[i] = valid_only ? level[i].valid : level[i].count;
    t->memory_stride[i] = i < n ? level[i].memory_stride : 0;
    t->chip_stride[i] = i < n ? level[i].chip_stride : 0;
  }
  t->count01 = count[0] | count[1] << TPU_DMA_COUNT01_COUNT1_SHIFT;
  t->count2 = count[2];
}

pl_status pl_transfer_plan(struct pl_operand *op, unsigned memory_space) {
  struct pl_transfer *t = &op->transfer;
  struct level level[PL_MAX_RANK];
  int32_t edge[PL_MAX_RANK]; /* cut wherever it can be: most levels */
  uint32_t row;

  for (unsigned d = 0; d < op->rank; d++)
    edge[d] = op->dim[d].block - (op->dim[d].full != op->dim[d].blocks);
  if (block_levels(op, edge, level, &t->row_bytes, &row) > 3) { /* no hot way leads to such a block */
    if (op->listed)
      return pl_fail_operand(
          PL_ERROR_UNSUPPORTED, op,
          "a block with an INDIRECT dimension and more than 2 others of more than one row; "
          "cut it into smaller ones");
    op->split = true;
    op->prefetched |= PL_SPLIT;
  }
  op->careful = op->general || op->split;
  const unsigned n = block_levels(op, NULL, level, &t->row_bytes, &row);
  for (unsigned i = 0; i < n; i++)
    if (level[i].count > MOST_ROWS)
      return pl_fail_operand(PL_ERROR_LIMIT, op, "a block with %u rows in one dimension; %u is the most",
                             (unsigned)level[i].count, (unsigned)MOST_ROWS);
  put_levels(t, level, n, false);
  t->listed = op->listed;
  t->memory = (uint8_t)(memory_space - PL_HBM + TPU_SPACE_HBM);
  t->chip = (uint8_t)(op->space - PL_HBM + TPU_SPACE_HBM);
  return PL_OK;
}

/* to_chip: a fetch. */
static void stage_words(const struct pl_queue *q, const struct pl_transfer *t, bool to_chip, uint32_t mode) {
  const uintptr_t base = q->base;
  const unsigned memory = to_chip ? TPU_DMA_SRC_STRIDE(0) : TPU_DMA_DST_STRIDE(0);
  const unsigned chip = to_chip ? TPU_DMA_DST_STRIDE(0) : TPU_DMA_SRC_STRIDE(0);
  const uint32_t src = to_chip ? t->memory : t->chip, dst = to_chip ? t->chip : t->memory;

  if (t->listed) /* the memory's side goes by the list */
    mode |= (to_chip ? 1u : 2u) << TPU_DMA_MODE_GATHER_SHIFT;
  tpu_queue_put(base, TPU_DMA_MODE,
                mode | src << TPU_DMA_MODE_SRC_SPACE_SHIFT | dst << TPU_DMA_MODE_DST_SPACE_SHIFT);
  tpu_queue_put(base, TPU_DMA_ROW_BYTES, t->row_bytes);
  tpu_queue_put(base, TPU_DMA_COUNT01, t->count01);
  tpu_queue_put(base, TPU_DMA_COUNT2, t->count2);
  for (unsigned i = 0; i < 3; i++) {
    tpu_queue_put(base, memory + 4 * i, t->memory_stride[i]);
    tpu_queue_put(base, chip + 4 * i, t->chip_stride[i]);
  }
}

/*
 * A block at the edge: a fetch copies the valid part and fills the rest, a write-back writes the valid
 * part only.
 */
static void stage_ragged(const struct pl_queue *q, const struct pl_operand *op, const int32_t *valid,
                         bool to_chip) {
  struct pl_transfer t = {
      .memory = op->transfer.memory, .chip = op->transfer.chip, .listed = op->transfer.listed};
  struct level level[PL_MAX_RANK];
  uint32_t valid_row, part[3] = {1, 1, 1};
  const bool poison = (pl_debug_flags & PL_DEBUG_POISON) != 0, fill = to_chip && (!op->unfilled || poison);

  const unsigned n = block_levels(op, valid, level, &t.row_bytes, &valid_row);
  put_levels(&t, level, n, !fill);
  if (!fill) {
    t.row_bytes = valid_row;
    stage_words(q, &t, to_chip, 0);
    return;
  }
  for (unsigned i = 0; i < n; i++)
    part[i] = level[i].valid;
  tpu_queue_put(q->base, TPU_DMA_VALID_ROW, valid_row);
  tpu_queue_put(q->base, TPU_DMA_VALID01, part[0] | part[1] << TPU_DMA_VALID01_COUNT1_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_VALID2, part[2]);
  tpu_queue_put(q->base, TPU_DMA_PATTERN, op->unfilled ? pl_poison_of(op->dtype) : op->pattern);
  stage_words(q, &t, to_chip, TPU_DMA_MODE_FILL_MASK);
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

bool pl_stage_fetch(struct pl_queue *q, const struct pl_operand *op, const int32_t *valid, bool *empty) {
  *empty = valid != NULL && pl_is_empty(op, valid);
  if (*empty && op->unfilled && !(pl_debug_flags & PL_DEBUG_POISON))
    return false; /* nothing to move, nothing to fill */
  q->owner = NULL;
  if (valid != NULL)
    stage_ragged(q, op, valid, true);
  else
    stage_words(q, &op->transfer, true, 0);
  return true;
}

/*
 * Queues the copy of a block of more than three levels: commands for the elements of its outermost dimensions
 * one by one, until three levels are left. The block and `valid` are changed for as long as that takes. An
 * element behind the edge is all fill. The queue's last command ends the copy.
 */
static PL_COLD bool issue_parts(struct pl_context *c, struct pl_queue *q, struct pl_operand *op,
                                int32_t *valid, bool to_chip, uint32_t memory, uint32_t chip,
                                const struct pl_deps *deps, uint32_t tag) {
  struct level level[PL_MAX_RANK];
  uint32_t row, valid_row;
  struct pl_dim *dim = op->dim;
  bool ok = true;

  if (block_levels(op, valid, level, &row, &valid_row) <= 3) {
    q->owner = NULL;
    stage_ragged(q, op, valid, to_chip);
    tpu_queue_put(q->base, TPU_DMA_SRC, to_chip ? memory : chip);
    tpu_queue_put(q->base, TPU_DMA_DST, to_chip ? chip : memory);
    return pl_issue(c, q, deps, 0, tag);
  }
  for (; dim->block == 1; dim++)
    valid++;
  const int32_t block = dim->block, inside = *valid;
  dim->block = 1;
  for (int32_t i = 0; ok && i < (to_chip ? block : inside); i++) {
    *valid = i < inside;
    ok = issue_parts(c, q, op, valid - (dim - op->dim), to_chip, memory, chip, deps, tag);
    memory += dim->memory;
    chip += dim->chip;
  }
  *valid = inside;
  dim->block = block;
  return ok;
}

PL_COLD void pl_load_parts(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch) {
  struct pl_deps deps = {0};

  pl_write_deps(&deps, latch->buffer, op->load_queue->number);
  pl_depend(&deps, PL_WRITE_BACK_QUEUE, op->flushed);
  if (!issue_parts(c, op->load_queue, op, latch->valid, true, latch->address, latch->buffer->address, &deps,
                   op->load_tag))
    return;
  op->load_tag += !pl_is_empty(op, latch->valid);
  pl_has_written(c, latch->buffer, op->load_queue);
}

static PL_COLD bool fetch_parts(struct pl_context *c, struct pl_operand *op, int32_t *valid) {
  struct pl_deps deps = {0};

  pl_write_deps(&deps, op->fill, op->queue->number);
  if (op->alias != NULL)
    pl_alias_fetch(op, op->fill, &deps);
  if (!issue_parts(c, op->queue, op, valid, true, op->address, op->fill->address, &deps, op->tag))
    return false;
  op->tag += !pl_is_empty(op, valid); /* a fill alone is no copy */
  op->fetched = op->queue->issued;
  pl_has_written(c, op->fill, op->queue);
  if (op->alias != NULL)
    pl_alias_queued(c, op);
  return true;
}

static PL_COLD bool write_parts(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch) {
  struct pl_deps deps = {0};

  pl_read_deps(&deps, op->view.buffer, op->queue->number);
  if (op->alias != NULL)
    pl_alias_write_back(op, &deps);
  if (!issue_parts(c, op->queue, op, latch->valid, false, latch->address, op->view.buffer->address, &deps,
                   op->tag))
    return false;
  op->tag++;
  op->flushed = op->queue->issued;
  pl_has_read(op->view.buffer, op->queue);
  if (op->alias != NULL)
    pl_alias_queued(c, op);
  return true;
}

bool pl_fetch_slow(struct pl_context *c, struct pl_operand *op) {
  struct pl_buffer *buffer = op->fill;
  struct pl_queue *q = op->queue;
  struct pl_deps deps;
  int32_t valid[PL_MAX_RANK];
  const bool ragged = pl_valid_part(op, valid);
  bool empty = false;

  if (op->skip != 0) {
    if (op->skip == PL_SPLIT)
      return fetch_parts(c, op, valid);
    op->skip--;
    return true;
  }

  if ((ragged || q->owner != op) && !pl_stage_fetch(q, op, ragged ? valid : NULL, &empty))
    return true;
  tpu_queue_put(q->base, TPU_DMA_SRC, op->address);
  tpu_queue_put(q->base, TPU_DMA_DST, buffer->address);
  deps.mask = 0;
  pl_write_deps(&deps, buffer, q->number);
  if (op->listed)
    pl_stage_list(q, op, &op->list, &deps);
  if (op->alias != NULL)
    pl_alias_fetch(op, buffer, &deps);
  if (!pl_issue(c, q, &deps, 0, op->tag))
    return false;
  op->tag += !empty; /* a fill alone is no copy */
  op->fetched = q->issued;
  pl_has_written(c, buffer, q);
  if (op->alias != NULL)
    pl_alias_queued(c, op);
  if (ragged || op->listed || op->alias != NULL)
    q->owner = NULL;
  else
    own_channel(op);
  return true;
}

bool pl_write_back_slow(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch) {
  struct pl_buffer *buffer = op->view.buffer;
  struct pl_queue *q = op->queue;
  struct pl_deps deps;

  if (latch->ragged && pl_is_empty(op, latch->valid))
    return true;
  if (latch->ragged && latch->cut) {
    if (op->split)
      return write_parts(c, op, latch);
    stage_ragged(q, op, latch->valid, false);
  } else if (q->owner != op) {
    stage_words(q, &op->transfer, false, 0);
  }
  tpu_queue_put(q->base, TPU_DMA_SRC, buffer->address);
  tpu_queue_put(q->base, TPU_DMA_DST, latch->address);
  deps.mask = 0;
  pl_read_deps(&deps, buffer, q->number);
  if (op->listed)
    pl_stage_list(q, op, &latch->list, &deps);
  if (op->alias != NULL)
    pl_alias_write_back(op, &deps);
  if (!pl_issue(c, q, &deps, 0, op->tag))
    return false;
  op->tag++;
  op->flushed = q->issued;
  pl_has_read(buffer, q);
  if (op->alias != NULL)
    pl_alias_queued(c, op);
  if (latch->ragged || op->alias != NULL || buffer->writer == PL_NOBODY || buffer->writer == q->number) {
    q->owner = NULL;
  } else {
    op->wait_queue = buffer->writer;
    tpu_queue_put(q->base, TPU_Q_WAITS, TPU_Q_WAITS_EN0_MASK | buffer->writer);
    q->owner = op;
  }
  return true;
}
