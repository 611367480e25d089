/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters: copies of rows that a list of indices in SMEM names. Each is one DMA command that
 * reads the list itself when it starts, so no index passes the scalar core, and the list may be what an
 * earlier command has yet to write.
 *
 * A list that names a row that is not there ends the call with the device's error, which has the entry and
 * the index; nothing of that copy has moved then.
 */
#include "list.h"

enum { MOST_ROWS = 0xffff, MOST_LEVELS = 3, MOST_BOUND = TPU_DMA_BOUND_ROWS_MASK };

static bool check_list(const struct pl_view *list, const char *who) {
  char name[24], shape[64];
  const bool apart = list->rank == 1 && list->shape[0] > 1 && list->stride[0] != (int32_t)sizeof(int32_t);

  if (list->space == PL_SMEM && list->dtype == PL_INT32 && list->rank == 1 && !apart)
    return true;
  pl_shape_text(list->shape, list->rank, shape);
  pl_fail(PL_ERROR_REF, "%s: the list is %s %s%s in %s (%s); int32 of rank 1 in SMEM is right", who,
          pl_dtype_name(list->dtype), shape, apart ? " with a stride" : "", pl_space_name(list->space),
          pl_view_name(list, name));
  return false;
}

bool pl_list_check(const struct pl_view *dst, const struct pl_view *src, const struct pl_view *list,
                   bool scatter, const char *who) {
  const struct pl_view *indexed = scatter ? dst : src, *other = scatter ? src : dst;
  char a[64], b[64], name[24];
  bool same = src->dtype == dst->dtype && src->rank == dst->rank && src->rank > 0;

  if (!check_list(list, who))
    return false;
  for (unsigned d = 1; same && d < src->rank; d++)
    same = src->shape[d] == dst->shape[d];
  if (!same || other->shape[0] != list->shape[0]) {
    pl_shape_text(indexed->shape, indexed->rank, a);
    pl_shape_text(other->shape, other->rank, b);
    pl_fail(PL_ERROR_SHAPE,
            "%s: %d rows of %s %s %s %s %s; the same dtype, the list's number of rows, and the same extents "
            "behind the first are right",
            who, (int)list->shape[0], pl_dtype_name(indexed->dtype), a, scatter ? "from" : "to",
            pl_dtype_name(other->dtype), b);
    return false;
  }
  for (int i = 0; i < 2; i++) {
    const struct pl_view *v = i == 0 ? src : dst;
    if (v->space < PL_HBM || v->space > PL_SMEM) {
      pl_fail(PL_ERROR_REF, "%s: a DMA does not reach %s (%s)", who, pl_space_name(v->space),
              pl_view_name(v, name));
      return false;
    }
  }
  if (dst->flags & PL_VIEW_READ_ONLY) {
    pl_fail(PL_ERROR_REF, "%s would write %s", who, pl_view_name(dst, name));
    return false;
  }
  if (pl_share_elements(dst, src) || pl_share_elements(dst, list)) {
    pl_fail(PL_ERROR_REF, "%s: %s is written and read; use other memory between", who,
            pl_view_name(dst, name));
    return false;
  }
  if (indexed->shape[0] > MOST_BOUND) {
    pl_fail(PL_ERROR_LIMIT, "%s: %d rows to choose from; %d are the most", who, (int)indexed->shape[0],
            (int)MOST_BOUND);
    return false;
  }
  return true;
}

/* A dimension of a command. */
struct level {
  uint32_t count;
  int32_t src_stride, dst_stride;
};

/* Rows and the dimensions between them and the first one, which is level 0; how many levels, or 0. */
static unsigned levels_of(const struct pl_view *src, const struct pl_view *dst, struct level *level,
                          uint32_t *row) {
  unsigned n = 1;

  *row = pl_dtype_bytes(src->dtype);
  for (int d = src->rank - 1; d > 0; d--) {
    const struct level l = {(uint32_t)src->shape[d], src->stride[d], dst->stride[d]};
    if (l.count == 1)
      continue;
    if (n == 1 && l.src_stride == (int32_t)*row && l.dst_stride == l.src_stride)
      *row *= l.count;
    else if (n == MOST_LEVELS || l.count > MOST_ROWS)
      return 0;
    else
      level[n++] = l;
  }
  return n;
}

/* Queues the copy behind everything it depends on; false if the call has failed. */
static bool start(struct pl_context *c, struct pl_queue *q, const struct pl_view *dst,
                  const struct pl_view *src, const struct pl_view *list, bool scatter, uint32_t signals) {
  const uint32_t gather = scatter ? 2 : 1;
  struct level level[MOST_LEVELS] = {{0, 0, 0}, {1, 0, 0}, {1, 0, 0}};
  struct pl_deps deps = {0};
  uint32_t row;

  level[0] = (struct level){(uint32_t)list->shape[0], src->stride[0], dst->stride[0]};
  if (levels_of(src, dst, level, &row) == 0) {
    pl_fail(PL_ERROR_UNSUPPORTED,
            "a gather or scatter whose rows have more than %d dimensions of elements that are no neighbours, "
            "or more than %d elements in one of them",
            MOST_LEVELS - 1, MOST_ROWS);
    return false;
  }
  for (unsigned i = 0; i < MOST_LEVELS; i++) {
    tpu_queue_put(q->base, TPU_DMA_SRC_STRIDE(i), (uint32_t)level[i].src_stride);
    tpu_queue_put(q->base, TPU_DMA_DST_STRIDE(i), (uint32_t)level[i].dst_stride);
  }
  tpu_queue_put(q->base, TPU_DMA_MODE,
                (src->space - PL_HBM + TPU_SPACE_HBM) << TPU_DMA_MODE_SRC_SPACE_SHIFT |
                    (dst->space - PL_HBM + TPU_SPACE_HBM) << TPU_DMA_MODE_DST_SPACE_SHIFT |
                    gather << TPU_DMA_MODE_GATHER_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_ROW_BYTES, row);
  tpu_queue_put(q->base, TPU_DMA_COUNT01, level[0].count | level[1].count << TPU_DMA_COUNT01_COUNT1_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_COUNT2, level[2].count);
  tpu_queue_put(q->base, TPU_DMA_SRC, src->buffer->address + src->offset);
  tpu_queue_put(q->base, TPU_DMA_DST, dst->buffer->address + dst->offset);
  tpu_queue_put(q->base, TPU_DMA_INDEX, list->buffer->address + list->offset);
  tpu_queue_put(q->base, TPU_DMA_BOUND, (uint32_t)(scatter ? dst : src)->shape[0]);
  q->owner = NULL;
  pl_read_deps(&deps, src->buffer, q->number);
  pl_read_deps(&deps, list->buffer, q->number);
  pl_write_deps(&deps, dst->buffer, q->number);
  return pl_issue(c, q, &deps, signals, PL_TAG(PL_TAG_COPY, dst->index) + c->step);
}

static struct pl_queue *queue_for(struct pl_context *c, const struct pl_view *dst) {
  return &c->queue[dst->space == PL_HBM ? (uint32_t)PL_WRITE_BACK_QUEUE : c->plan->copy_queue];
}

bool pl_list_copy(struct pl_context *c, struct pl_view *dst, struct pl_view *src, struct pl_view *list,
                  bool scatter) {
  struct pl_queue *q = queue_for(c, dst);

  if (list->shape[0] == 0)
    return true;
  if (!start(c, q, dst, src, list, scatter, 0))
    return false;
  pl_has_read(src->buffer, q);
  pl_has_read(list->buffer, q);
  pl_has_written(c, dst->buffer, q);
  return true;
}

static void copy(pl_ref dst_ref, pl_ref src_ref, pl_ref list_ref, bool scatter, const char *who) {
  struct pl_context *c = pl_self();
  struct pl_view *dst = pl_use(c, dst_ref), *src = pl_use(c, src_ref), *list = pl_use(c, list_ref);

  if (dst != NULL && src != NULL && list != NULL && pl_list_check(dst, src, list, scatter, who))
    pl_list_copy(c, dst, src, list, scatter);
}

void pl_gather(pl_ref dst, pl_ref src, pl_ref list) {
  copy(dst, src, list, false, "pl_gather");
}

void pl_scatter(pl_ref dst, pl_ref src, pl_ref list) {
  copy(dst, src, list, true, "pl_scatter");
}

/* As pl_start(): ordered behind what it depends on, and nothing is ordered behind it until pl_wait(). */
static pl_copy_handle start_async(pl_ref dst_ref, pl_ref src_ref, pl_ref list_ref, pl_ref semaphore,
                                  bool scatter, const char *who) {
  struct pl_context *c = pl_self();
  struct pl_view *dst = pl_use(c, dst_ref), *src = pl_use(c, src_ref), *list = pl_use(c, list_ref);
  const int number = pl_one_semaphore(c, semaphore);
  pl_copy_handle handle = {PL_NO_REF, PL_NO_REF, 0, 0, 0};

  if (dst == NULL || src == NULL || list == NULL || number < 0 ||
      !pl_list_check(dst, src, list, scatter, who))
    return handle;
  struct pl_queue *q = queue_for(c, dst);
  handle.semaphore = (uint32_t)number;
  handle.use = pl_semaphores[number].use;
  if (list->shape[0] == 0 || !start(c, q, dst, src, list, scatter, pl_signal_bytes(handle.semaphore)))
    return handle;
  const struct pl_view *other = scatter ? src : dst;
  handle.bytes = pl_dtype_bytes(other->dtype);
  for (unsigned d = 0; d < other->rank; d++)
    handle.bytes *= (uint32_t)other->shape[d];
  pl_copy_started(c, q, dst, &handle);
  return handle;
}

pl_copy_handle pl_async_gather(pl_ref dst, pl_ref src, pl_ref list, pl_ref semaphore) {
  return start_async(dst, src, list, semaphore, false, "pl_async_gather");
}

pl_copy_handle pl_async_scatter(pl_ref dst, pl_ref src, pl_ref list, pl_ref semaphore) {
  return start_async(dst, src, list, semaphore, true, "pl_async_scatter");
}
