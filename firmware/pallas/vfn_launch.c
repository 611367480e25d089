/* SPDX-License-Identifier: MIT */
/*
 * Launches that are like an earlier one: the hot path of vector functions.
 *
 * Views are known by their form, a number that stands for space, dtype, rows, columns and pitch. A record
 * keeps the words of a command for a function and the forms of its refs, so that a launch over views of the
 * same forms, whichever they are, needs no look at shapes: it checks that the refs are valid and share no
 * memory, writes addresses and scalars, and, if another command was staged meanwhile, the record's words.
 */
#include "vfn.h"

enum { VFN_RECORDS = 8, VFN_PROBES = 4 };
static struct vfn_record records[VFN_RECORDS];

static void stage(uintptr_t base, const struct vfn_record *r) {
  tpu_queue_put(base, TPU_VPU_ENTRY, r->entry);
  tpu_queue_put(base, TPU_VPU_LOOP(0), r->loop[0]);
  tpu_queue_put(base, TPU_VPU_LOOP(1), r->loop[1]);
  tpu_queue_put(base, TPU_VPU_LOOP(2), 1);
  tpu_queue_put(base, TPU_VPU_EDGE, r->edge);
  tpu_queue_put(base, TPU_VPU_VALID_ROWS, r->rows);
  tpu_queue_put(base, TPU_VPU_VALID_COLS, r->columns);
  for (unsigned i = 0; i < r->constants; i++)
    tpu_queue_put(base, TPU_VPU_SCALAR(PL_MAX_VECTOR_SCALARS - r->constants + i), r->constant[i]);
  uintptr_t pitch = base + TPU_VPU_PITCH(0), stride = base + TPU_VPU_STRIDE(0);
  for (unsigned i = 0; i < r->addresses; i++, pitch += 4, stride += 12) {
    mmio_write32(pitch, (uint32_t)r->pitch[i]);
    mmio_write32(stride, (uint32_t)r->stride[i][0]);
    mmio_write32(stride + 4, (uint32_t)r->stride[i][1]);
    mmio_write32(stride + 8, (uint32_t)r->stride[i][2]);
  }
}

/* As pl_read_deps() and pl_write_deps() for the vector unit, without what its queue has waited for. */
static inline void depend(const struct pl_queue *q, struct pl_deps *deps, uint32_t queue, uint32_t ticket) {
  if (!pl_reached(q->observed[queue], ticket))
    pl_depend(deps, queue, ticket);
}

static inline void after_writer(const struct pl_queue *q, struct pl_deps *deps, const struct pl_buffer *b) {
  if (b->writer != PL_NOBODY && b->writer != TPU_QUEUE_VPU)
    depend(q, deps, b->writer, b->write_ticket);
}

static inline void after_readers(const struct pl_queue *q, struct pl_deps *deps, const struct pl_buffer *b) {
  for (uint32_t left = b->group->readers & ~(1u << TPU_QUEUE_VPU), i = 0; left != 0; left >>= 1, i++)
    if (left & 1)
      depend(q, deps, i, b->read_ticket[i]);
}

/* pl_issue() for the usual case: room in the queue, no fence, as many waits as fit. */
static inline bool issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps, uint32_t tag) {
  uint32_t waits = 0, left = deps->mask, many = left;

  many &= many - 1;
  many &= many - 1;
  many &= many - 1;
  many &= many - 1;
  if (PL_UNLIKELY(many != 0 || q->fenced || q->issued == q->limit || c->waits < 4))
    return pl_issue(c, q, deps, 0, tag);
  uintptr_t amount = q->base + TPU_Q_WAIT_AMOUNT(0);
  for (uint32_t i = 0; left != 0; left >>= 1, i++)
    if (left & 1) {
      mmio_write32(amount, deps->ticket[i]);
      amount += 4;
      q->observed[i] = deps->ticket[i];
      waits = waits << 8 | TPU_Q_WAITS_EN0_MASK | i;
    }
  /* The last wait came out lowest: put the amounts' order right. */
  if (waits > 0xff) {
    uint32_t turned = 0;
    for (; waits != 0; waits >>= 8)
      turned = turned << 8 | (waits & 0xff);
    waits = turned;
  }
  tpu_queue_put(q->base, TPU_Q_WAITS, waits);
  tpu_queue_go(q->base, tag);
  q->issued++;
  return true;
}

static uint32_t stage_scalars(struct pl_queue *q, const pl_scalar *scalar, unsigned n, struct pl_deps *deps) {
  uint32_t mode = 0;

  for (unsigned i = 0; i < n; i++) {
    uint32_t value = scalar[i].value;
    const struct pl_view *v = scalar[i].ref.view;
    if (v != NULL) {
      mode |= 1u << i;
      value += v->buffer->address + v->offset;
      after_writer(q, deps, v->buffer);
    }
    tpu_queue_put(q->base, TPU_VPU_SCALAR(i), value);
  }
  return mode;
}

void vfn_queue(struct pl_context *c, const struct vfn_record *r, struct pl_view *const *views,
               const pl_scalar *scalars) {
  struct pl_queue *const q = &c->queue[TPU_QUEUE_VPU];
  const unsigned n = r->fn->refs;
  struct pl_buffer *read[PL_MAX_VECTOR_REFS]; /* as they are before a result moves on */
  uint32_t address[PL_MAX_VECTOR_REFS], tag = 0;
  struct pl_deps deps;

  deps.mask = 0;
  for (unsigned i = 0; i < n; i++) {
    struct pl_buffer *const buffer = views[i]->buffer;
    read[i] = buffer;
    address[i] = buffer->address + views[i]->offset;
    if (r->loads >> i & 1)
      after_writer(q, &deps, buffer);
  }
  for (unsigned i = 0, left = r->stores; left != 0; left >>= 1, i++) {
    if (!(left & 1))
      continue;
    struct pl_view *const v = views[i];
    if (v->space == PL_ACC && (v->flags & PL_VIEW_WHOLE)) {
      bool shared = false;
      for (unsigned k = 0; k < n; k++)
        shared = shared || ((r->loads >> k & 1) && read[k]->group == v->buffer->group);
      if (!shared) { /* a fresh accumulator, if there are two */
        v->buffer = v->buffer->next;
        address[i] = v->buffer->address + v->offset;
      }
    }
    after_writer(q, &deps, v->buffer);
    after_readers(q, &deps, v->buffer);
    tag = PL_TAG(PL_TAG_VECTOR, v->index);
  }

  if (q->owner != r)
    stage(q->base, r);
  uintptr_t at = q->base + TPU_VPU_ADDR(0);
  for (unsigned i = 0; i < r->addresses; i++, at += 4)
    mmio_write32(at, address[r->ref[i]] + r->offset[i]);
  uint32_t mode = 0;
  if (r->fn->scalars > 0 && (mode = stage_scalars(q, scalars, r->fn->scalars, &deps)) != 0)
    tpu_queue_put(q->base, TPU_VPU_SCALAR_MODE, mode);
  q->owner = r;
  const bool issued = issue(c, q, &deps, tag + c->step);
  if (PL_UNLIKELY(mode != 0)) {
    tpu_queue_put(q->base, TPU_VPU_SCALAR_MODE, 0);
    for (unsigned i = 0; issued && i < r->fn->scalars; i++)
      if (scalars[i].ref.view != NULL)
        pl_has_read(scalars[i].ref.view->buffer, q);
  }
  if (PL_UNLIKELY(!issued))
    return;
  for (unsigned i = 0; i < n; i++) {
    if (r->loads >> i & 1)
      pl_has_read(read[i], q);
    if (r->stores >> i & 1) {
      pl_has_written(c, views[i]->buffer, q);
      if (views[i]->space == PL_ACC) /* a dot's third wait is for the vector unit, whatever it did */
        pl_has_read(views[i]->buffer, q);
    }
  }
}

/* Whether a stored view shares memory with another one, but for being the same. */
static inline bool apart(const struct vfn_record *r, struct pl_view *const *views, unsigned n) {
  for (unsigned i = 0, left = r->stores; left != 0; left >>= 1, i++) {
    if (!(left & 1))
      continue;
    const struct pl_view *const o = views[i];
    for (unsigned k = 0; k < n; k++) {
      const struct pl_view *const v = views[k];
      if (v->buffer != o->buffer || v == o || (v->offset == o->offset && v->form == o->form))
        continue;
      if (v->offset < o->offset + r->span[i] && o->offset < v->offset + r->span[k])
        return false;
    }
  }
  return true;
}

static inline uint32_t hash_of(uint32_t hash, const struct pl_view *v) {
  return hash * 5 + v->form;
}

bool vfn_again(struct pl_context *c, pl_vector_fn *fn, struct pl_view *const *views, pl_scalars scalars) {
  const unsigned n = fn->refs;
  uint32_t hash = (uint32_t)(uintptr_t)fn >> 4;

  for (unsigned i = 0; i < n; i++)
    hash = hash_of(hash, views[i]);
  const struct vfn_record *r = &records[hash % VFN_RECORDS];
  for (unsigned probe = 1; r->hash != hash || r->fn != fn || r->generation != vfn_generation; probe++) {
    if (probe == VFN_PROBES)
      return false;
    r = &records[(hash + probe) % VFN_RECORDS];
  }
  for (unsigned i = 0; i < n; i++)
    if (r->form[i] != views[i]->form)
      return false;
  if (!apart(r, views, n))
    return false;
  fn->last = r;
  vfn_queue(c, r, views, scalars.scalar);
  return true;
}

/*
 * The hot path: the function's last record fits, one ref is stored, scalars are values. All that is looked at
 * is looked at once; everything else goes the long way from the start.
 */
void pl_vrun(pl_vector_fn *fn, pl_refs refs, pl_scalars scalars) {
  struct pl_context *const c = pl_self();
  struct pl_queue *const q = &c->queue[TPU_QUEUE_VPU];
  const struct vfn_record *const r = fn->last;
  struct pl_buffer *buffer[PL_MAX_VECTOR_REFS];
  uint32_t address[PL_MAX_VECTOR_REFS];
  struct pl_deps deps;
  const unsigned n = fn->refs;

  if (PL_UNLIKELY(r == NULL || r->fn != fn || r->generation != vfn_generation || r->result == VFN_SEVERAL ||
                  refs.count != n || scalars.count != fn->scalars || !c->in_body || c->status != PL_OK))
    goto look;
  deps.mask = 0;
  for (uint32_t i = 0, loads = r->loads; i < n; i++, loads >>= 1) {
    const struct pl_view *const v = refs.ref[i].view;
    if (PL_UNLIKELY(v == NULL || refs.ref[i].generation != v->generation || v->form != r->form[i] ||
                    (v->flags & PL_VIEW_POOLED) || (v->offset & r->align[i]) != 0))
      goto look;
    struct pl_buffer *const b = v->buffer;
    buffer[i] = b;
    address[i] = b->address + v->offset;
    if (loads & 1)
      after_writer(q, &deps, b);
  }
  for (uint32_t i = 0; i < fn->scalars; i++)
    if (PL_UNLIKELY(scalars.scalar[i].ref.view != NULL))
      goto look;
  struct pl_view *const o = refs.ref[r->result].view;
  struct pl_buffer *result = o->buffer;
  bool shared = false;
  for (uint32_t i = 0; i < n; i++) {
    const struct pl_view *const v = refs.ref[i].view;
    if (v == o)
      continue;
    shared = shared || buffer[i]->group == result->group;
    if (buffer[i] == result && (v->offset != o->offset || v->form != o->form))
      goto look;
  }
  if (o->space == PL_ACC && (o->flags & PL_VIEW_WHOLE) && !shared && !(r->loads >> r->result & 1)) {
    o->buffer = result = result->next;
    address[r->result] = result->address + o->offset;
  }
  after_writer(q, &deps, result);
  after_readers(q, &deps, result);

  if (q->owner != r)
    stage(q->base, r);
  uintptr_t at = q->base + TPU_VPU_SCALAR(0);
  for (uint32_t i = 0; i < fn->scalars; i++, at += 4)
    mmio_write32(at, scalars.scalar[i].value);
  at = q->base + TPU_VPU_ADDR(0);
  for (uint32_t i = 0; i < r->addresses; i++, at += 4)
    mmio_write32(at, address[r->ref[i]] + r->offset[i]);
  q->owner = r;
  if (PL_UNLIKELY(!issue(c, q, &deps, PL_TAG(PL_TAG_VECTOR, o->index) + c->step)))
    return;
  for (uint32_t i = 0, loads = r->loads; loads != 0; i++, loads >>= 1)
    if (loads & 1)
      pl_has_read(buffer[i], q);
  pl_has_written(c, result, q);
  if (o->space == PL_ACC)
    pl_has_read(result, q);
  return;
look:
  vfn_launch(c, fn, refs, scalars);
}

struct vfn_record *vfn_record_for(const pl_vector_fn *fn, struct pl_view *const *views) {
  static unsigned victim;
  uint32_t hash = (uint32_t)(uintptr_t)fn >> 4;

  for (unsigned i = 0; i < fn->refs; i++)
    hash = hash_of(hash, views[i]);
  unsigned probe = 0;
  while (probe < VFN_PROBES && records[(hash + probe) % VFN_RECORDS].generation == vfn_generation)
    probe++;
  if (probe == VFN_PROBES) /* no room: one of them gives way */
    probe = victim++ % VFN_PROBES;
  struct vfn_record *r = &records[(hash + probe) % VFN_RECORDS];
  r->hash = hash;
  return r;
}
