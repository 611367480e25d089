/* SPDX-License-Identifier: MIT */
/*
 * Copies by DMA in a body, and explicit semaphores.
 *
 * A started copy is ordered behind the commands it depends on, but nothing is ordered behind it until
 * its pl_wait(): it is not entered as a reader or writer, so a use in between is a race, and the
 * functional model reports it. pl_wait() is a SYNC command that takes the bytes out of the semaphore;
 * every later command waits for its ticket. So the SYNC queue is the only consumer of a kernel's
 * semaphores.
 */
#include "internal.h"

enum { MOST_ROWS = 0xffff }; /* of one dimension of a command */

struct level {
  uint32_t count;
  int32_t src_stride, dst_stride;
};

static pl_status check_copy(const struct pl_view *src, const struct pl_view *dst) {
  bool same = src->rank == dst->rank && src->dtype == dst->dtype;

  for (unsigned d = 0; same && d < src->rank; d++)
    same = src->shape[d] == dst->shape[d];
  if (!same)
    return pl_fail(PL_ERROR_SHAPE, "a copy of %pD to %pD: a DMA does not convert or reshape", src, dst);
  for (int i = 0; i < 2; i++) {
    const struct pl_view *v = i == 0 ? src : dst;
    if (v->space < PL_HBM || v->space > PL_SMEM)
      return pl_fail(PL_ERROR_REF, "a DMA does not reach %pM (%pV)", v, v);
  }
  if (dst->flags & PL_VIEW_READ_ONLY)
    return pl_fail(PL_ERROR_REF, "a copy would write %pV", dst);
  if (pl_share_elements(src, dst))
    return pl_fail(PL_ERROR_REF,
                   "a copy within %pV whose source and destination share elements; use other memory between",
                   dst);
  return PL_OK;
}

/* Dimensions from the innermost outwards; those that follow gapless on both sides become one. */
static unsigned levels_of(const struct pl_view *src, const struct pl_view *dst, struct level *level,
                          uint32_t *row) {
  unsigned n = 0;

  *row = pl_dtype_bytes(src->dtype);
  for (int d = src->rank - 1; d >= 0; d--) {
    struct level l = {(uint32_t)src->shape[d], src->stride[d], dst->stride[d]};
    if (l.count == 0)
      *row = 0;
    if (l.count <= 1)
      continue;
    if (n == 0 && l.src_stride == (int32_t)*row && l.dst_stride == l.src_stride)
      *row *= l.count;
    else if (n > 0 && l.src_stride == level[n - 1].src_stride * (int32_t)level[n - 1].count &&
             l.dst_stride == level[n - 1].dst_stride * (int32_t)level[n - 1].count &&
             l.count * level[n - 1].count <= MOST_ROWS)
      level[n - 1].count *= l.count;
    else
      level[n++] = l;
  }
  return n;
}

struct transfer {
  const struct pl_view *src, *dst;
  struct level level[PL_MAX_RANK];
  unsigned levels;
  uint32_t row;
  uint32_t signals, tag;
};

/* Queues the commands of a copy; more than three levels, or long ones, take several. */
static bool queue_copy(struct pl_context *c, struct pl_queue *q, const struct transfer *t, unsigned levels,
                       uint32_t src, uint32_t dst, const struct pl_deps *deps) {
  const struct level *outer = levels > 0 ? &t->level[levels - 1] : NULL;
  bool split = levels > 3;
  for (unsigned i = 0; i + 1 < levels; i++)
    split = split || t->level[i].count > MOST_ROWS;
  if (split || (outer != NULL && outer->count > MOST_ROWS)) {
    struct transfer part = *t;
    for (uint32_t i = 0, n; i < outer->count; i += n) {
      n = split ? 1 : outer->count - i < MOST_ROWS ? outer->count - i : MOST_ROWS;
      part.level[levels - 1].count = n;
      if (!queue_copy(c, q, &part, split ? levels - 1 : levels, src + i * (uint32_t)outer->src_stride,
                      dst + i * (uint32_t)outer->dst_stride, deps))
        return false;
    }
    return true;
  }
  uint32_t count[3] = {1, 1, 1};
  for (unsigned i = 0; i < 3; i++) {
    if (i < levels)
      count[i] = t->level[i].count;
    tpu_queue_put(q->base, TPU_DMA_SRC_STRIDE(i), i < levels ? (uint32_t)t->level[i].src_stride : 0);
    tpu_queue_put(q->base, TPU_DMA_DST_STRIDE(i), i < levels ? (uint32_t)t->level[i].dst_stride : 0);
  }
  tpu_queue_put(q->base, TPU_DMA_MODE,
                (t->src->space - PL_HBM + TPU_SPACE_HBM) << TPU_DMA_MODE_SRC_SPACE_SHIFT |
                    (t->dst->space - PL_HBM + TPU_SPACE_HBM) << TPU_DMA_MODE_DST_SPACE_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_ROW_BYTES, t->row);
  tpu_queue_put(q->base, TPU_DMA_COUNT01, count[0] | count[1] << TPU_DMA_COUNT01_COUNT1_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_COUNT2, count[2]);
  tpu_queue_put(q->base, TPU_DMA_SRC, src);
  tpu_queue_put(q->base, TPU_DMA_DST, dst);
  q->owner = NULL;
  return pl_issue(c, q, deps, t->signals, t->tag);
}

static struct pl_queue *queue_for(struct pl_context *c, const struct pl_view *dst) {
  return &c->queue[dst->space == PL_HBM ? (uint32_t)PL_WRITE_BACK_QUEUE : c->plan->copy_queue];
}

/* Queues a copy behind everything it depends on. */
static bool start_copy(struct pl_context *c, struct pl_queue *q, const struct pl_view *src,
                       const struct pl_view *dst, uint32_t signals) {
  struct transfer t;
  struct pl_deps deps;

  t.src = src;
  t.dst = dst;
  t.signals = signals;
  t.tag = PL_TAG(PL_TAG_COPY, dst->index) + c->step;
  deps.mask = 0;
  t.levels = levels_of(src, dst, t.level, &t.row);
  if (t.row == 0)
    t.levels = 0;
  pl_read_deps(&deps, src->buffer, q->number);
  pl_write_deps(&deps, dst->buffer, q->number);
  return queue_copy(c, q, &t, t.levels, src->buffer->address + src->offset,
                    dst->buffer->address + dst->offset, &deps);
}

bool pl_queue_copy(struct pl_context *c, struct pl_view *src, struct pl_view *dst) {
  struct pl_queue *q = queue_for(c, dst);
  if (!start_copy(c, q, src, dst, 0))
    return false;
  pl_has_read(src->buffer, q);
  pl_has_written(c, dst->buffer, q);
  return true;
}

void pl_sync_copy(pl_ref src_ref, pl_ref dst_ref) {
  struct pl_context *c = pl_self();
  struct pl_view *src = pl_use(c, src_ref), *dst = pl_use(c, dst_ref);

  if (src == NULL || dst == NULL || check_copy(src, dst) != PL_OK)
    return;
  pl_queue_copy(c, src, dst);
}

int pl_one_semaphore(struct pl_context *c, pl_ref ref) {
  const struct pl_view *v = pl_use(c, ref);

  if (v == NULL)
    return -1;
  if (v->space != PL_SEMAPHORE) {
    pl_fail(PL_ERROR_REF, "%pV is in %pM; a semaphore is needed", v, v);
    return -1;
  }
  for (unsigned d = 0; d < v->rank; d++)
    if (v->shape[d] != 1) {
      pl_fail(PL_ERROR_REF, "%pV is an array %pS of semaphores; choose one with pl_at(ref, PL_INDEX(i))", v,
              v);
      return -1;
    }
  return (int)(v->semaphores + v->offset / sizeof(int32_t));
}

static const pl_copy_handle no_copy = {PL_NO_REF, PL_NO_REF, 0, 0, 0};

pl_copy_handle pl_make_async_copy(pl_ref src_ref, pl_ref dst_ref, pl_ref semaphore) {
  struct pl_context *c = pl_self();
  const struct pl_view *src = pl_use(c, src_ref), *dst = pl_use(c, dst_ref);
  const int number = pl_one_semaphore(c, semaphore);

  if (src == NULL || dst == NULL || number < 0 || check_copy(src, dst) != PL_OK)
    return no_copy;
  pl_copy_handle copy = {src_ref, dst_ref, pl_dtype_bytes(src->dtype), (uint32_t)number,
                         pl_semaphores[number].use};
  for (unsigned d = 0; d < src->rank; d++)
    copy.bytes *= (uint32_t)src->shape[d];
  return copy;
}

/* A handle whose semaphore is still the one that it was made for; false with a sticky error. */
static bool use_handle(struct pl_context *c, const pl_copy_handle *copy, const char *who) {
  if (c->status != PL_OK || !c->in_body)
    return pl_in_body(who);
  if (copy == NULL || copy->semaphore - PL_FIRST_SEMAPHORE >= c->body_used[PL_SEMAPHORE] ||
      copy->use != pl_semaphores[copy->semaphore].use) {
    pl_fail(PL_ERROR_REF,
            "%s: a handle that pl_make_async_copy() has not made in this call, or of a semaphore whose "
            "pl_run_scoped() has ended",
            who);
    return false;
  }
  return true;
}

void pl_copy_started(const struct pl_context *c, const struct pl_queue *q, const struct pl_view *dst,
                     const pl_copy_handle *copy) {
  struct pl_semaphore_state *s = &pl_semaphores[copy->semaphore];
  s->started += copy->bytes;
  s->queue = q->number;
  s->tag = PL_TAG(PL_TAG_COPY, dst->index) + c->step;
}

void pl_start_priority(const pl_copy_handle *copy, unsigned priority) {
  struct pl_context *c = pl_self();

  if (!use_handle(c, copy, "pl_start"))
    return;
  const struct pl_view *src = pl_use(c, copy->src), *dst = pl_use(c, copy->dst);
  if (src == NULL || dst == NULL)
    return;
  if (priority > TPU_Q_SIGNALS_PRIORITY_MASK >> TPU_Q_SIGNALS_PRIORITY_SHIFT) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_start: priority %u; there are 0 to %u", priority,
            (unsigned)(TPU_Q_SIGNALS_PRIORITY_MASK >> TPU_Q_SIGNALS_PRIORITY_SHIFT));
    return;
  }
  struct pl_queue *q = queue_for(c, dst);
  const uint32_t signal = pl_signal_bytes(copy->semaphore);
  if (start_copy(c, q, src, dst, signal | priority << TPU_Q_SIGNALS_PRIORITY_SHIFT))
    pl_copy_started(c, q, dst, copy);
}

void pl_start(const pl_copy_handle *copy) {
  pl_start_priority(copy, 0);
}

pl_copy_handle pl_async_copy(pl_ref src, pl_ref dst, pl_ref semaphore) {
  pl_copy_handle copy = pl_make_async_copy(src, dst, semaphore);
  if (pl_self()->status == PL_OK)
    pl_start(&copy);
  return copy;
}

void pl_start_all(const pl_copy_handle *copies, unsigned n) {
  for (unsigned i = 0; i < n && !pl_is_null(copies, "pl_start_all"); i++)
    pl_start(&copies[i]);
}

/* A SYNC command that takes the amount; false if it was never given, which would never end. */
static bool take(struct pl_context *c, int semaphore, uint32_t amount) {
  struct pl_deps none;
  const uint32_t given = pl_semaphores[semaphore].started - pl_semaphores[semaphore].waited;

  none.mask = 0;
  if (given < amount) {
    pl_fail(PL_ERROR_DEADLOCK,
            "a wait for %u on semaphore %u, to which only %u more were signalled or started before it: "
            "nobody can signal the rest",
            (unsigned)amount, (unsigned)semaphore - PL_FIRST_SEMAPHORE, (unsigned)given);
    return false;
  }
  pl_semaphores[semaphore].waited += amount;
  return pl_sync(c, &none, 0, 0, semaphore, amount);
}

void pl_fence(struct pl_context *c, uint32_t queues) {
  for (unsigned i = 0; i < TPU_QUEUE_SYNC; i++) {
    struct pl_queue *q = &c->queue[i];
    if (!(queues >> i & 1))
      continue;
    q->fenced = true;
    q->fence = c->queue[TPU_QUEUE_SYNC].issued;
    q->limit = q->issued; /* so that the hot paths look */
  }
}

void pl_fence_all(struct pl_context *c) {
  c->fenced = true;
  c->fence = c->queue[TPU_QUEUE_SYNC].issued;
  pl_fence(c, (1u << TPU_QUEUE_SYNC) - 1);
}

void pl_wait(const pl_copy_handle *copy) {
  struct pl_context *c = pl_self();

  if (use_handle(c, copy, "pl_wait") && copy->bytes != 0 && take(c, (int)copy->semaphore, copy->bytes))
    pl_fence_all(c);
}

void pl_wait_all(const pl_copy_handle *copies, unsigned n) {
  for (unsigned i = 0; i < n && !pl_is_null(copies, "pl_wait_all"); i++)
    pl_wait(&copies[i]);
}

void pl_semaphore_signal(pl_ref ref, uint32_t amount) {
  struct pl_context *c = pl_self();
  const int semaphore = pl_one_semaphore(c, ref);
  struct pl_deps deps;

  deps.mask = 0;
  if (semaphore < 0 || amount == 0)
    return;
  if (amount > INT32_MAX) {
    pl_fail(PL_ERROR_ARGUMENT, "pl_semaphore_signal: %u; a semaphore counts to 2^31 - 1", (unsigned)amount);
    return;
  }
  for (uint32_t r = 0; r < TPU_QUEUE_SYNC; r++)
    pl_depend(&deps, r, c->queue[r].issued);
  if (!pl_sync(c, &deps, (uint32_t)semaphore, amount, -1, 0))
    return;
  pl_semaphores[semaphore].started += amount;
  pl_semaphores[semaphore].queue = PL_NOBODY;
  pl_semaphores[semaphore].signal_step = c->step;
}

void pl_semaphore_wait(pl_ref ref, uint32_t amount) {
  struct pl_context *c = pl_self();
  const int semaphore = pl_one_semaphore(c, ref);

  if (semaphore < 0 || amount == 0 || !take(c, semaphore, amount))
    return;
  pl_wait_ticket(c, TPU_QUEUE_SYNC, c->queue[TPU_QUEUE_SYNC].issued);
}

uint32_t pl_semaphore_read(pl_ref ref) {
  struct pl_context *c = pl_self();
  const int semaphore = pl_one_semaphore(c, ref);
  uint32_t value = 0;

  if (semaphore < 0 || !pl_wait_ticket(c, TPU_QUEUE_SYNC, c->queue[TPU_QUEUE_SYNC].issued))
    return 0;
  (void)!tpu_sem_read(&c->sem, (unsigned)semaphore, &value);
  return value;
}

pl_status pl_check_semaphore(struct pl_context *c, uint32_t s, const char *what) {
  const uint32_t started = pl_semaphores[s].started, waited = pl_semaphores[s].waited;
  uint32_t value = 0;

  /* In a scope the takes may still be under way; behind the kernel the device must agree. */
  if (!c->in_body)
    (void)!tpu_sem_read(&c->sem, s, &value);
  if (value == 0 && started == waited)
    return PL_OK;
  if (c->status != PL_OK) { /* one was told of already */
    pl_message_add("; semaphore %u: %u of %u waited for", (unsigned)s - PL_FIRST_SEMAPHORE, (unsigned)waited,
                   (unsigned)started);
    return c->status;
  }
  if (c->in_body)
    value = started - waited;
  if (pl_semaphores[s].queue != PL_NOBODY)
    return pl_fail(PL_ERROR_SEMAPHORE,
                   "%s with a copy that was not waited for: semaphore %u of scratch, %u of %u bytes waited "
                   "for, last started on DMA%u with tag %08x; it holds %u",
                   what, (unsigned)s - PL_FIRST_SEMAPHORE, (unsigned)waited, (unsigned)started,
                   (unsigned)pl_semaphores[s].queue, (unsigned)pl_semaphores[s].tag, (unsigned)value);
  return pl_fail(PL_ERROR_SEMAPHORE,
                 "%s with semaphore %u of scratch at %u, not 0: signalled %u, waited for %u, last "
                 "signalled in step %u",
                 what, (unsigned)s - PL_FIRST_SEMAPHORE, (unsigned)value, (unsigned)started, (unsigned)waited,
                 (unsigned)pl_semaphores[s].signal_step);
}
