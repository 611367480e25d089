/* SPDX-License-Identifier: MIT */
/*
 * The one place that knows which memory a command reads and writes.
 *
 * DMA and MXU tell all their ranges from the descriptor; a vector program finds its own while it runs, and
 * run_vpu() in engines.c hands a callback of the same kind to it. The ranges serve the race detector (which
 * takes DMA's strides from the descriptor) and the check for a DMA command that overwrites its own source.
 */
#include "model.h"

bool func_dma_by_list(const struct dma_job *j, bool write) {
  return j->listed != 0 && j->gather == (write ? DMA_SCATTER : DMA_GATHER);
}

/* Rows of one side of a DMA command, one report for all rows of dimension 0. */
static void dma_side(const struct tpu_model *m, const struct dma_job *j, bool write, tpu_access_fn *access,
                     void *opaque) {
  const uint32_t *count = write ? j->count : j->valid;
  const int32_t *stride = write ? j->dst_stride : j->src_stride;
  struct tpu_access a = {.space = (enum tpu_space)(write ? j->dst_space : j->src_space),
                         .write = write,
                         .row_bytes = write ? j->row_bytes : j->valid_row,
                         .rows = count[0],
                         .pitch = stride[0]};
  if (a.row_bytes == 0 || a.rows == 0)
    return;
  for (uint32_t i2 = 0; i2 < count[2]; i2++)
    for (uint32_t i1 = 0; i1 < count[1]; i1++) {
      const uint32_t base = (write ? j->dst : j->src) + (uint32_t)stride[1] * i1 + (uint32_t)stride[2] * i2;
      a.base = base;
      if (!func_dma_by_list(j, write)) {
        access(opaque, &a);
        continue;
      }
      a.rows = 1;
      for (uint32_t i0 = 0; i0 < count[0]; i0++) {
        a.base = base + (uint32_t)stride[0] * func_dma_index(m, j, i0);
        access(opaque, &a);
      }
    }
}

void func_accesses(const struct tpu_model *m, uint32_t queue, const struct flying *f, tpu_access_fn *access,
                   void *opaque) {
  if (f->fault.code != TPU_ERROR_NONE)
    return;
  if (queue == TPU_QUEUE_MXU) {
    tpu_mxu_accesses(m->config, &f->mxu, access, opaque);
  } else if (queue < CHANNELS) {
    const struct tpu_access list = {
        .space = TPU_SPACE_SMEM, .base = f->dma.list, .row_bytes = 4 * f->dma.listed, .rows = 1};
    if (f->dma.listed != 0)
      access(opaque, &list);
    dma_side(m, &f->dma, false, access, opaque);
    dma_side(m, &f->dma, true, access, opaque);
  }
}

/* ---- a DMA command that overwrites what it reads ----------------------------------------------------------
 */

#define OVERLAP_WORK 65536u /* rows compared before the check gives up */

struct overlap {
  const struct tpu_model *m;
  const struct flying *f;
  const struct tpu_access *read; /* the rows compared with all written ones; NULL in the outer pass */
  uint32_t work;
  bool found;
};

/* Does a row of `r` meet one of `w`? One loop over the rows of r, arithmetic over those of w. */
static bool rows_meet(const struct tpu_access *r, const struct tpu_access *w) {
  for (uint32_t i = 0; i < r->rows; i++) {
    /* Row k of w begins at b + k p; they meet if -w < (b + k p) - a < r for some k. */
    int64_t a = (int64_t)r->base + (int64_t)r->pitch * i - w->base;
    int64_t low = a - w->row_bytes + 1, high = a + r->row_bytes - 1, p = w->pitch;
    if (p == 0 || w->rows == 1) {
      if (low <= 0 && 0 <= high)
        return true;
      continue;
    }
    if (p < 0) { /* mirror, so that rows ascend */
      int64_t t = -low;
      low = -high;
      high = t;
      p = -p;
    }
    int64_t k = low <= 0 ? 0 : (low + p - 1) / p;
    if (k < w->rows && k * p <= high)
      return true;
  }
  return false;
}

static void written(void *opaque, const struct tpu_access *w) {
  struct overlap *o = opaque;
  if (!w->write || o->found || o->work > OVERLAP_WORK)
    return;
  o->work += o->read->rows;
  o->found = rows_meet(o->read, w);
}

static void read(void *opaque, const struct tpu_access *r) {
  struct overlap *o = opaque;
  if (r->write || o->found || r->space != o->f->dma.dst_space)
    return;
  o->read = r;
  dma_side(o->m, &o->f->dma, true, written, o);
}

/* Space between the lowest and the highest byte of one side. */
static void bounds(const struct dma_job *j, bool write, int64_t *low, int64_t *high) {
  const uint32_t *count = write ? j->count : j->valid;
  const int32_t *stride = write ? j->dst_stride : j->src_stride;
  *low = write ? j->dst : j->src;
  *high = *low + (write ? j->row_bytes : j->valid_row);
  for (uint32_t d = 0; d < 3; d++) {
    const uint32_t n = d == 0 && func_dma_by_list(j, write) ? j->bound : count[d];
    int64_t last = n > 0 ? (int64_t)stride[d] * (n - 1) : 0;
    *(last < 0 ? low : high) += last;
  }
}

bool func_dma_overlaps(const struct tpu_model *m, const struct flying *f) {
  struct overlap o = {.m = m, .f = f};
  int64_t read_low, read_high, write_low, write_high;
  if (f->dma.walked || f->dma.src_space != f->dma.dst_space)
    return false;
  bounds(&f->dma, false, &read_low, &read_high);
  bounds(&f->dma, true, &write_low, &write_high);
  if (read_low >= write_high || write_low >= read_high)
    return false;
  func_accesses(m, 0, f, read, &o);
  return o.found;
}
