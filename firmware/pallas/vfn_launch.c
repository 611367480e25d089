/* SPDX-License-Identifier: MIT */
/*
 * Launches that are like an earlier one: the hot path of vector functions.
 *
 * Views are known by their form, a number that stands for space, dtype, rows, columns and pitch. A record
 * keeps the words of a command for a function and the forms of its refs, so that a launch over views of the
 * same forms, whichever they are, needs no look at shapes: it checks that the refs are valid and share no
 * memory, writes addresses and scalars, and, if another command was staged meanwhile, the record's words. If
 * the views are the very ones of the function's last launch, they need only be valid.
 */
#include "vfn.h"
#include "waits.h"

enum { VFN_RECORDS = 8, VFN_PROBES = 4 };
static struct vfn_record records[VFN_RECORDS];

static inline void stage(uintptr_t base, const struct vfn_record *r, uint32_t mode) {
  tpu_queue_put(base, TPU_VPU_ENTRY, r->entry);
  tpu_queue_put(base, TPU_VPU_LOOP(0), r->loop[0]);
  tpu_queue_put(base, TPU_VPU_LOOP(1), r->loop[1]);
  tpu_queue_put(base, TPU_VPU_LOOP(2), 1);
  tpu_queue_put(base, TPU_VPU_EDGE, r->edge);
  tpu_queue_put(base, TPU_VPU_VALID_ROWS, r->rows);
  tpu_queue_put(base, TPU_VPU_VALID_COLS, r->columns);
  tpu_queue_put(base, TPU_VPU_SCALAR_MODE, mode);
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

/* Writes the scalars; returns the bits of those that the command reads in SMEM. */
static inline uint32_t stage_scalars(struct pl_context *c, const pl_scalar *scalar, unsigned n) {
  struct pl_queue *const q = &c->queue[TPU_QUEUE_VPU];
  uintptr_t at = q->base + TPU_VPU_SCALAR(0);
  uint32_t mode = 0;

  for (unsigned i = 0; i < n; i++, at += 4) {
    const struct pl_view *const v = scalar[i].ref.view;
    uint32_t value = scalar[i].value;
    if (v != NULL) {
      mode |= 1u << i;
      value += v->buffer->address + v->offset;
      pl_wait_for_writer(c, TPU_QUEUE_VPU, v->buffer);
      pl_reads_with(v->buffer, TPU_QUEUE_VPU, q->issued + 1);
    }
    mmio_write32(at, value);
  }
  return mode;
}

/* Whether a whole accumulator that is stored to goes on to a fresh one: not if it is read, or went on
 * already. */
static inline bool goes_on(const struct vfn_record *r, const pl_ref *refs, unsigned i) {
  const struct pl_view *const v = refs[i].view;
  if (!(v->flags & PL_VIEW_WHOLE))
    return false;
  for (unsigned k = 0, n = r->refs; k < n; k++)
    if (((r->loads >> k & 1) && refs[k].view->buffer->group == v->buffer->group) ||
        (k < i && refs[k].view == v))
      return false;
  return true;
}

void vfn_queue(struct pl_context *c, const struct vfn_record *r, const pl_ref *refs,
               const pl_scalar *scalars) {
  enum { VPU = TPU_QUEUE_VPU };
  struct pl_queue *const q = &c->queue[VPU];
  const uint32_t ticket = q->issued + 1;
  uintptr_t at = q->base + TPU_VPU_ADDR(0);

  uint32_t tag = 0;
  const struct vfn_ref *known = r->ref;
  const pl_ref *ref = refs, *const end = refs + r->refs;

  do {
    struct pl_view *const v = ref->view;
    struct pl_buffer *b = v->buffer;
    const uint32_t use = known->use;
    if (PL_UNLIKELY(use & VFN_TO_ACC) && goes_on(r, refs, (unsigned)(ref - refs)))
      v->buffer = b = b->next;
    const uint32_t address = b->address + v->offset;
    if (PL_LIKELY(use != 0)) {
      mmio_write32(at, address + known->offset);
      at += 4;
    }
    if (PL_UNLIKELY(use >> VFN_MORE != 0)) {
      const uint32_t *offset = &r->offset[(at - q->base - TPU_VPU_ADDR(0)) / 4];
      for (uint32_t more = use >> VFN_MORE; more > 0; more--, at += 4)
        mmio_write32(at, address + *offset++);
    }
    pl_wait_for_writer(c, VPU, b);
    if (use & VFN_STORED) {
      pl_wait_for_readers(c, VPU, b);
      pl_writes_with(c, b, VPU, ticket);
      tag = v->index;
    }
    if (use & VFN_LOADED)
      pl_reads_with(b, VPU, ticket);
  } while (known++, ++ref != end);
  const uint32_t mode = r->scalars != 0 ? stage_scalars(c, scalars, r->scalars) : 0;
  /* Which scalars are in SMEM is one more word: each choice of them is an owner of its own. */
  const void *const owner = (const uint8_t *)r + mode;
  if (q->owner != owner) {
    stage(q->base, r, mode);
    q->owner = owner;
  }
  pl_go(c, VPU, PL_TAG(PL_TAG_VECTOR, tag) + c->step);
}

/* Forms and distances of views that were found to have nothing in common. */
static struct { uint32_t form[2], distance; /* of the second from the first */ } known_apart[16];

/* As vfn_overlap(), which looks at each element's place. */
static inline bool overlap(const struct pl_view *a, const struct pl_view *b) {
  const uint32_t distance = b->offset - a->offset, place = (distance >> 6 ^ a->form ^ b->form << 2) % 16;
  if (known_apart[place].form[0] == a->form && known_apart[place].form[1] == b->form &&
      known_apart[place].distance == distance && a->form != 0 && b->form != 0)
    return false;
  if (vfn_overlap(a, b))
    return true;
  known_apart[place].form[0] = a->form;
  known_apart[place].form[1] = b->form;
  known_apart[place].distance = distance;
  return false;
}

/* Whether no stored ref shares memory with another one. */
static inline bool apart(const struct vfn_record *r, const pl_ref *refs) {
  for (unsigned i = 0, left = r->stores; left != 0; left >>= 1, i++) {
    if (!(left & 1))
      continue;
    const struct pl_view *const o = refs[i].view;
    const struct pl_buffer *const b = o->buffer;
    for (unsigned k = 0; k < r->refs; k++)
      if (refs[k].view->buffer == b && refs[k].view != o && overlap(refs[k].view, o))
        return false;
  }
  return true;
}

static inline uint32_t hash_of(const pl_vector_fn *fn, const pl_ref *refs) {
  uint32_t hash = (uint32_t)(uintptr_t)fn >> 4;
  for (unsigned i = 0; i < fn->refs; i++)
    hash = hash * 5 + refs[i].view->form;
  return hash;
}

/* Whether a record is of refs of these forms and alignments. */
static inline bool fits(const struct vfn_record *r, const pl_ref *refs) {
  for (unsigned i = 0; i < r->refs; i++) {
    const struct pl_view *const v = refs[i].view;
    if (r->form[i] != v->form || (v->offset & r->align[i]) != 0)
      return false;
  }
  return true;
}

/*
 * The views, for pl_vrun(), if they are of operands and scratch: of parts others come every time. Those there
 * were are kept, too: buffers often take turns.
 */
static inline void remember(const struct pl_context *c, struct vfn_record *r, const pl_ref *refs) {
  r->used = c->sight;
  for (unsigned i = 0; i < r->refs; i++)
    if (refs[i].view->flags & PL_VIEW_POOLED)
      return;
  for (unsigned i = 0; i < r->refs; i++) {
    r->before[i] = r->ref[i].view;
    r->ref[i].view = refs[i].view;
  }
  r->sight_before = r->sight;
  r->sight = c->sight;
}

/* Whether the views are the ones of the launch before the last one with others. */
static inline bool is_before(const struct pl_context *c, const struct vfn_record *r, const pl_ref *refs) {
  if (r->sight_before != c->sight)
    return false;
  for (unsigned i = 0; i < r->refs; i++)
    if (refs[i].view != r->before[i] || refs[i].generation != refs[i].view->generation)
      return false;
  return true;
}

bool vfn_again(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars) {
  const uint32_t hash = hash_of(fn, refs);
  struct vfn_record *r = &records[hash % VFN_RECORDS];

  for (unsigned probe = 1; r->hash != hash || r->fn != fn || r->generation != vfn_generation; probe++) {
    if (probe == VFN_PROBES)
      return false;
    r = &records[(hash + probe) % VFN_RECORDS];
  }
  if (!fits(r, refs) || !apart(r, refs))
    return false;
  fn->last = r;
  remember(c, r, refs);
  vfn_queue(c, r, refs, scalars);
  return true;
}

/* With refs that are usable but others than last time; often they are parts of the forms of last time. */
static __attribute__((noinline)) void run_other(pl_vector_fn *fn, const pl_ref *refs,
                                                const pl_scalar *scalars, uint32_t counts) {
  struct pl_context *const c = pl_self();
  struct vfn_record *const r = fn->last;
  bool like_last = r != NULL && r->fn == fn && r->generation == vfn_generation;

  if (counts != PL_VCOUNTS(fn->refs, fn->scalars) || !c->in_body || c->status != PL_OK)
    goto unknown;
  for (unsigned i = 0; i < fn->scalars; i++)
    if (scalars[i].ref.view != NULL && !pl_usable(c, scalars[i].ref))
      goto unknown;
  if (like_last && is_before(c, r, refs)) {
    vfn_queue(c, r, refs, scalars);
    return;
  }
  for (unsigned i = 0; i < fn->refs; i++) {
    struct pl_view *const v = refs[i].view;
    if (!pl_usable(c, refs[i]) || (v->form == 0 && vfn_form(c, v) == 0))
      goto unknown;
    like_last = like_last && v->form == r->form[i] && (v->offset & r->align[i]) == 0;
  }
  if (like_last && apart(r, refs)) {
    remember(c, r, refs);
    vfn_queue(c, r, refs, scalars);
    return;
  }
  if (vfn_again(c, fn, refs, scalars))
    return;
unknown:
  vfn_launch(c, fn, refs, scalars, counts);
}

/* The hot path calls nothing but what ends it, and so saves no registers. */
void pl_vrun_counted(pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars, uint32_t counts) {
  struct pl_context *const c = pl_self();
  const struct vfn_record *const r = fn->last;

  if (PL_UNLIKELY(r == NULL || r->fn != fn || r->sight != c->sight || counts != r->counts || !c->in_body))
    goto other;
  const struct vfn_ref *known = r->ref;
  const pl_ref *ref = refs, *const end = refs + r->refs;
  do
    if (PL_UNLIKELY(ref->view != known->view || ref->generation != ref->view->generation))
      goto other;
  while (known++, ++ref != end);
  for (uint32_t i = 0, n = r->scalars; i < n; i++)
    if (scalars[i].ref.view != NULL && !pl_usable(c, scalars[i].ref))
      goto other;
  vfn_queue(c, r, refs, scalars);
  return;
other:
  run_other(fn, refs, scalars, counts);
}

PL_COLD struct vfn_record *vfn_record_for(const struct pl_context *c, const pl_vector_fn *fn,
                                          const pl_ref *refs) {
  static unsigned random;
  const uint32_t hash = hash_of(fn, refs);
  unsigned probe = 0;

  while (probe < VFN_PROBES && records[(hash + probe) % VFN_RECORDS].generation == vfn_generation)
    probe++;
  if (probe == VFN_PROBES) /* no room: one of them gives way, of an earlier call if there is one */
    for (probe = 0; probe < VFN_PROBES && records[(hash + probe) % VFN_RECORDS].used == c->sight;)
      probe++;
  if (probe == VFN_PROBES) { /* any: in turn, two functions could displace one another for ever */
    random = random * 5 + 1;
    probe = random / 16 % VFN_PROBES;
  }
  struct vfn_record *r = &records[(hash + probe) % VFN_RECORDS];
  r->hash = hash;
  r->sight = r->sight_before = 0;
  r->used = c->sight;
  return r;
}
