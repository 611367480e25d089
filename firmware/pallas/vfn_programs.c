/* SPDX-License-Identifier: MIT */
/*
 * The programs of vector functions in the program memory: each is recorded and loaded when a launch first
 * needs it, and found again by its key. When the memory or the table is full all of them go, once no command
 * runs one.
 */
#include "vfn.h"

enum { VFN_MAX_PROGRAMS = 24 };

static struct vfn_program programs[VFN_MAX_PROGRAMS];
static uint32_t loaded, words;
uint32_t vfn_generation = 1;

static bool matches(const struct vfn_program *p, const struct vfn_key *key) {
  if (p->key.fn != key->fn || ((p->key.shape ^ key->shape) & p->matters) != 0)
    return false;
  const uint32_t *a = (const uint32_t *)p->key.side, *b = (const uint32_t *)key->side;
  for (unsigned i = 0; i < key->fn->refs * sizeof(struct vfn_side) / 4; i++)
    if (a[i] != b[i])
      return false;
  return true;
}

/* Gives up all programs, once no command runs one. */
static bool forget_all(struct pl_context *c) {
  if (!pl_wait_ticket(c, TPU_QUEUE_VPU, c->queue[TPU_QUEUE_VPU].issued))
    return false;
  loaded = words = 0;
  vfn_generation++;
  c->sight++; /* records of the old ones look again, and find that */
  return true;
}

void pl_vforget(pl_vector_fn *fn) {
  struct pl_context *const c = pl_self();
  fn->last = NULL;
  if (c->in_body && c->status == PL_OK)
    (void)forget_all(c);
}

static const struct vfn_program *make(struct pl_context *c, const struct vfn_key *key) {
  const uint32_t room = c->params.value[TPU_PARAM_VPU_PROGRAM];
  const struct vfn_whole *const whole = key->fn->whole;
  unsigned at;

  if (loaded == VFN_MAX_PROGRAMS && !forget_all(c))
    return NULL;
  struct vfn_program *p = &programs[loaded];
  p->key = *key;
  if (whole != NULL && whole->make != NULL)
    whole->make(c, p, false);
  else if (!vfn_record(c, key) || !vfn_compile(c, p))
    return NULL;
  if (p->words > room) {
    if (vfn_fail(PL_ERROR_UNSUPPORTED, 0))
      pl_message_add("a program of %u instructions; there is room for %u", p->words, (unsigned)room);
    return NULL;
  }
  if (p->words > room - words) {
    if (!forget_all(c))
      return NULL;
    programs[0] = *p;
    p = &programs[0];
  }
  p->entry = (uint16_t)words;
  if (whole != NULL && whole->make != NULL)
    whole->make(c, p, true);
  else
    (void)vfn_emit(c, p, true, &at);
  words += p->words;
  loaded++;
  return p;
}

const struct vfn_program *vfn_find(struct pl_context *c, const struct vfn_key *key) {
  for (uint32_t i = 0; i < loaded; i++)
    if (matches(&programs[i], key))
      return &programs[i];
  const struct vfn_program *made = make(c, key);
  vfn_recording.key = NULL; /* the caller's, and it ends */
  return made;
}
