/* SPDX-License-Identifier: MIT */
/*
 * DMA: decode, start checks, and the walk of a descriptor in segments.
 *
 * A segment is a piece of one row that is contiguous on both sides and one burst on its source side;
 * rows past the valid extents and the rest of a row past VALID_ROW become segments of pattern. With a list of
 * indices an index takes the place of the counter of dimension 0 on one side. The same walk
 * serves all timings: dma_time.c gives segments their times on the way, func_dma_instant() moves them at
 * once.
 */
#include "dma.h"

#include <string.h>

#define ARG(args, reg)              ((args)[((reg)-TPU_QUEUE_ARGS) / 4])
#define ARG_FIELD(args, reg, field) FIELD_OF(ARG(args, reg), field)

static uint32_t least(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

/* Whether any row has a source. */
static bool reads(const struct dma_job *j) {
  return j->valid_row != 0 && j->valid[0] != 0 && j->valid[1] != 0 && j->valid[2] != 0;
}

struct dma_job func_dma_decode(const uint32_t *args) {
  struct dma_job j = {
      .src_space = ARG_FIELD(args, TPU_DMA_MODE, TPU_DMA_MODE_SRC_SPACE),
      .dst_space = ARG_FIELD(args, TPU_DMA_MODE, TPU_DMA_MODE_DST_SPACE),
      .fill = ARG_FIELD(args, TPU_DMA_MODE, TPU_DMA_MODE_FILL) != 0,
      .src = ARG(args, TPU_DMA_SRC),
      .dst = ARG(args, TPU_DMA_DST),
      .row_bytes = ARG(args, TPU_DMA_ROW_BYTES),
      .valid_row = ARG(args, TPU_DMA_VALID_ROW),
      .pattern = ARG(args, TPU_DMA_PATTERN),
      .count = {ARG_FIELD(args, TPU_DMA_COUNT01, TPU_DMA_COUNT01_COUNT0),
                ARG_FIELD(args, TPU_DMA_COUNT01, TPU_DMA_COUNT01_COUNT1),
                ARG_FIELD(args, TPU_DMA_COUNT2, TPU_DMA_COUNT2_COUNT2)},
      .valid = {ARG_FIELD(args, TPU_DMA_VALID01, TPU_DMA_VALID01_COUNT0),
                ARG_FIELD(args, TPU_DMA_VALID01, TPU_DMA_VALID01_COUNT1),
                ARG_FIELD(args, TPU_DMA_VALID2, TPU_DMA_VALID2_COUNT2)},
  };
  for (uint32_t d = 0; d < 3; d++) {
    j.src_stride[d] = (int32_t)ARG(args, TPU_DMA_SRC_STRIDE(d));
    j.dst_stride[d] = (int32_t)ARG(args, TPU_DMA_DST_STRIDE(d));
  }
  if (!j.fill) { /* then everything is valid */
    j.valid_row = j.row_bytes;
    memcpy(j.valid, j.count, sizeof j.valid);
  }
  j.gather = ARG_FIELD(args, TPU_DMA_MODE, TPU_DMA_MODE_GATHER);
  j.list = ARG(args, TPU_DMA_INDEX);
  j.bound = ARG_FIELD(args, TPU_DMA_BOUND, TPU_DMA_BOUND_ROWS);
  if (j.gather == DMA_SCATTER)
    j.listed = j.count[0];
  else if (j.gather == DMA_GATHER && reads(&j))
    j.listed = j.valid[0];
  j.bytes = (uint64_t)j.row_bytes * j.count[0] * j.count[1] * j.count[2];
  j.walked = j.row_bytes == 0 || j.count[0] == 0 || j.count[1] == 0 || j.count[2] == 0;
  return j;
}

/* ---- start checks -----------------------------------------------------------------------------------------
 */

static bool fail(struct tpu_fault *fault, enum tpu_error code, uint32_t detail0, uint32_t detail1) {
  *fault = (struct tpu_fault){.code = code, .detail0 = detail0, .detail1 = detail1};
  return false;
}

static uint32_t space_bytes(const struct tpu_config *config, uint32_t space) {
  switch (space) {
  case TPU_SPACE_HBM:
    return config->hbm_bytes;
  case TPU_SPACE_VMEM:
    return config->vmem_bytes;
  default:
    return config->smem_bytes;
  }
}

/* No operand of this fits 64 bits badly: 2^32 + 3 x 2^31 x 2^16 + 2^32 < 2^49. */
static bool check_range(const struct tpu_config *config, uint32_t operand, uint32_t space, uint32_t base,
                        const int32_t *stride, const uint32_t *count, uint32_t row, struct tpu_fault *fault) {
  int64_t low = base, high = (int64_t)base + row;
  for (uint32_t d = 0; d < 3; d++) {
    int64_t last = (int64_t)stride[d] * (count[d] - 1);
    if (last < 0)
      low += last;
    else
      high += last;
  }
  if (low < 0)
    return fail(fault, TPU_ERROR_RANGE, operand | space << 8, (uint32_t)low);
  if (high > space_bytes(config, space))
    return fail(fault, TPU_ERROR_RANGE, operand | space << 8, (uint32_t)high);
  return true;
}

static uint32_t list_word(const struct tpu_model *m, const struct dma_job *j, uint32_t i0) {
  uint32_t index;
  memcpy(&index, m->memory.smem + j->list + 4 * i0, sizeof index);
  return index;
}

/* Who changes the list of a command under way gets any rows, but none outside. */
uint32_t func_dma_index(const struct tpu_model *m, const struct dma_job *j, uint32_t i0) {
  return least(list_word(m, j, i0), j->bound - 1);
}

static bool check_list(const struct tpu_model *m, const struct dma_job *j, struct tpu_fault *fault) {
  const uint64_t end = (uint64_t)j->list + 4ull * j->listed;
  if (j->list % 4 != 0)
    return fail(fault, TPU_ERROR_ALIGN, TPU_DMA_INDEX, j->list);
  if (end > m->config->smem_bytes)
    return fail(fault, TPU_ERROR_RANGE, 2 | TPU_SPACE_SMEM << 8, (uint32_t)end);
  for (uint32_t i = 0; i < j->listed; i++)
    if (list_word(m, j, i) >= j->bound)
      return fail(fault, TPU_ERROR_INDEX, i, list_word(m, j, i));
  return true;
}

bool func_dma_check(const struct tpu_model *m, const uint32_t *args, const struct dma_job *j,
                    struct tpu_fault *fault) {
  const struct tpu_config *config = m->config;
  static const uint32_t valid_reg[3] = {TPU_DMA_VALID01, TPU_DMA_VALID01, TPU_DMA_VALID2};
  *fault = (struct tpu_fault){.code = TPU_ERROR_NONE};
  if (j->src_space == TPU_SPACE_ACC || j->dst_space == TPU_SPACE_ACC || j->gather > DMA_SCATTER)
    return fail(fault, TPU_ERROR_BAD_FIELD, TPU_DMA_MODE, ARG(args, TPU_DMA_MODE));
  if (j->valid_row > j->row_bytes)
    return fail(fault, TPU_ERROR_BAD_FIELD, TPU_DMA_VALID_ROW, ARG(args, TPU_DMA_VALID_ROW));
  for (uint32_t d = 0; d < 3; d++)
    if (j->valid[d] > j->count[d])
      return fail(fault, TPU_ERROR_BAD_FIELD, valid_reg[d], ARG(args, valid_reg[d]));
  if (j->walked)
    return true;
  if (j->listed != 0 && j->bound == 0)
    return fail(fault, TPU_ERROR_BAD_FIELD, TPU_DMA_BOUND, 0);
  const uint32_t from[3] = {j->gather == DMA_GATHER ? j->bound : j->valid[0], j->valid[1], j->valid[2]};
  const uint32_t to[3] = {j->gather == DMA_SCATTER ? j->bound : j->count[0], j->count[1], j->count[2]};
  if (reads(j) && !check_range(config, 0, j->src_space, j->src, j->src_stride, from, j->valid_row, fault))
    return false;
  return check_range(config, 1, j->dst_space, j->dst, j->dst_stride, to, j->row_bytes, fault) &&
         (j->listed == 0 || check_list(m, j, fault));
}

/* ---- the walk ---------------------------------------------------------------------------------------------
 */

static uint32_t row_address(uint32_t base, const int32_t *stride, const uint32_t *index, uint32_t i0) {
  return base + (uint32_t)stride[0] * i0 + (uint32_t)stride[1] * index[1] + (uint32_t)stride[2] * index[2];
}

static bool in_valid_row(const struct dma_job *j) {
  return j->index[0] < j->valid[0] && j->index[1] < j->valid[1] && j->index[2] < j->valid[2];
}

bool func_dma_peek_fill(const struct dma_job *j) {
  return !in_valid_row(j) || j->offset >= j->valid_row;
}

void func_dma_segment(const struct tpu_model *m, const struct dma_job *j, struct dma_segment *s) {
  uint32_t from = j->index[0], to = j->index[0];
  s->fill = !in_valid_row(j) || j->offset >= j->valid_row;
  s->error = false;
  if (j->index[0] < j->listed)
    *(j->gather == DMA_GATHER ? &from : &to) = func_dma_index(m, j, j->index[0]);
  s->src = row_address(j->src, j->src_stride, j->index, from) + j->offset;
  s->dst = row_address(j->dst, j->dst_stride, j->index, to) + j->offset;
  s->phase = j->offset;
  uint32_t rest = (s->fill ? j->row_bytes : j->valid_row) - j->offset;
  s->bytes = least(rest, DMA_BURST_BYTES - (s->fill ? s->dst : s->src) % DMA_BURST_BYTES);
}

void func_dma_step(struct dma_job *j, uint32_t bytes) {
  j->offset += bytes;
  if (j->offset < j->row_bytes)
    return;
  j->offset = 0;
  for (uint32_t d = 0; d < 3; d++) {
    if (++j->index[d] < j->count[d])
      return;
    j->index[d] = 0;
  }
  j->walked = true;
}

/* ---- moving data ------------------------------------------------------------------------------------------
 */

static uint8_t *local_memory(struct tpu_model *m, uint32_t space) {
  return space == TPU_SPACE_VMEM ? m->memory.vmem : m->memory.smem;
}

void func_dma_read(struct tpu_model *m, const struct dma_job *j, struct dma_segment *s) {
  if (s->fill) {
    for (uint32_t i = 0; i < s->bytes; i++)
      s->data[i] = (uint8_t)(j->pattern >> (8 * ((s->phase + i) % 4)));
  } else if (j->src_space == TPU_SPACE_HBM) {
    s->error = m->host.mem_read(m->host.opaque, s->src, s->data, s->bytes) != 0;
  } else {
    memcpy(s->data, local_memory(m, j->src_space) + s->src, s->bytes);
  }
}

static struct tpu_fault bus_fault(const struct tpu_model *m, bool write, uint32_t address) {
  return (struct tpu_fault){
      .code = TPU_ERROR_BUS, .detail0 = write, .detail1 = address - address % m->config->hbm_port_bytes};
}

/* To HBM in bursts: one, or two if the segment crosses a page. */
static bool write_hbm(struct tpu_model *m, const struct dma_segment *s, struct tpu_fault *fault) {
  for (uint32_t done = 0; done < s->bytes;) {
    uint32_t at = s->dst + done;
    uint32_t n = least(s->bytes - done, DMA_PAGE_BYTES - at % DMA_PAGE_BYTES);
    if (m->host.mem_write(m->host.opaque, at, s->data + done, n) != 0) {
      *fault = bus_fault(m, true, at);
      return false;
    }
    done += n;
  }
  return true;
}

bool func_dma_write(struct tpu_model *m, const struct dma_job *j, const struct dma_segment *s,
                    struct tpu_fault *fault) {
  if (s->error) {
    *fault = bus_fault(m, false, s->src);
    return false;
  }
  if (j->dst_space == TPU_SPACE_HBM)
    return write_hbm(m, s, fault);
  memcpy(local_memory(m, j->dst_space) + s->dst, s->data, s->bytes);
  return true;
}

bool func_dma_instant(struct tpu_model *m, struct dma_job *j, uint32_t limit, struct tpu_fault *fault) {
  struct dma_segment s;
  for (; limit > 0 && !j->walked; limit--) {
    func_dma_segment(m, j, &s);
    func_dma_read(m, j, &s);
    if (!func_dma_write(m, j, &s, fault))
      return true;
    func_dma_step(j, s.bytes);
  }
  return j->walked;
}
