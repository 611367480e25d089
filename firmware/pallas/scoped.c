/* SPDX-License-Identifier: MIT */
/*
 * Memory of a kernel that no block spec gives it: scratch of a call, and memory of a scope in a body.
 *
 * A scope takes from the end of what is in use (pl_context.body_used), innermost last. Memory that was
 * used before is ordered by making its new buffer look as if every queue's latest command had read it:
 * whoever writes there first waits for all of them.
 */
#include "internal.h"

pl_status pl_scratch_view(struct pl_view *v, const char *who, unsigned index, const pl_scratch_spec *spec,
                          uint32_t *size) {
  uint64_t rows = 1;

  if (spec == NULL || spec->space < PL_VMEM || spec->space > PL_SEMAPHORE)
    return pl_fail(PL_ERROR_SPEC, "%s %u: space %s is not on the chip", who, index,
                   pl_space_name(spec != NULL ? spec->space : PL_DEFAULT));
  if (spec->shape.rank > PL_MAX_RANK || pl_dtype_bytes(spec->dtype) == 0)
    return pl_fail(PL_ERROR_SPEC, "%s %u: rank %u (PL_MAX_RANK is %d), dtype %u", who, index,
                   (unsigned)spec->shape.rank, PL_MAX_RANK, (unsigned)spec->dtype);
  v->space = spec->space;
  v->dtype = spec->dtype;
  v->rank = spec->shape.rank;
  v->index = (uint8_t)index;
  v->kind = PL_VIEW_SCRATCH;
  v->flags = PL_VIEW_WHOLE;
  v->offset = 0;
  v->dot = &pl_no_dot;
  v->form = 0;
  for (unsigned d = 0; d < v->rank; d++) {
    v->shape[d] = spec->shape.extent[d];
    if (v->shape[d] <= 0)
      return pl_fail(PL_ERROR_SPEC, "%s %u: extent %d of dimension %u", who, index, (int)v->shape[d], d);
    if (d + 1 < v->rank)
      rows *= (uint32_t)v->shape[d];
    if (rows > INT32_MAX)
      break;
  }
  const int32_t columns = v->rank > 0 ? v->shape[v->rank - 1] : 1;
  if (v->space == PL_ACC) {
    if (v->rank > 2 || pl_dtype_bytes(v->dtype) != 4)
      return pl_fail(PL_ERROR_SPEC, "%s %u: ACC holds f32 or int32 of rank 2 at most", who, index);
    v->pitch = (uint32_t)rows;
    rows *= ((uint32_t)columns + pl_context.dim - 1) / pl_context.dim;
  } else {
    v->pitch = pl_row_pitch(v->space, v->dtype, columns);
    rows = v->space == PL_SEMAPHORE ? rows * (uint32_t)columns
                                    : (rows * v->pitch + PL_ALIGN - 1) / PL_ALIGN * PL_ALIGN;
  }
  if (rows > INT32_MAX)
    return pl_fail(PL_ERROR_BUDGET, "%s %u has more than 2^31 bytes", who, index);
  *size = (uint32_t)rows;
  pl_view_strides(v);
  return PL_OK;
}

/* ---- scopes ---- */

static struct {
  struct pl_view view;
  struct pl_buffer buffer;
  struct pl_group group;
} scoped[PL_MAX_SCOPED];
static unsigned scoped_count;

uint32_t pl_body_room(const struct pl_context *c, unsigned space) {
  const uint32_t end = space == PL_SEMAPHORE ? c->sem.count - PL_FIRST_SEMAPHORE : pl_plan_space(space);
  return end > c->body_used[space] ? end - c->body_used[space] : 0;
}

void pl_fresh_buffer(const struct pl_context *c, struct pl_buffer *buffer, struct pl_group *group,
                     uint32_t address) {
  *group = (struct pl_group){.readers = (1u << TPU_QUEUE_SYNC) - 1};
  *buffer = (struct pl_buffer){.address = address, .next = buffer, .group = group, .writer = PL_NOBODY};
  for (unsigned r = 0; r < PL_QUEUES; r++)
    buffer->read_ticket[r] = c->queue[r].issued;
}

/* Gives item n of the pool its memory. */
static pl_status take(struct pl_context *c, unsigned n, unsigned index, const pl_scratch_spec *spec) {
  static const char *const units[] = {"", "", "bytes", "bytes", "rows", "semaphores"};
  struct pl_view *v = &scoped[n].view;
  uint32_t size;

  if (pl_scratch_view(v, "pl_run_scoped: item", index, spec, &size) != PL_OK)
    return c->status;
  if (size > pl_body_room(c, v->space)) {
    return pl_fail(PL_ERROR_BUDGET,
                   "pl_run_scoped: item %u, %pD, wants %u %s; %u are free, %u are in use by operands, "
                   "scratch and outer scopes",
                   index, v, (unsigned)size, units[v->space], (unsigned)pl_body_room(c, v->space),
                   (unsigned)c->body_used[v->space]);
  }
  v->kind = PL_VIEW_SCOPED;
  v->flags = PL_VIEW_POOLED;
  v->generation = ++c->view_generation;
  v->step = c->step;
  v->scope = c->scope;
  v->buffer = &scoped[n].buffer;
  if (v->space == PL_SEMAPHORE) {
    v->semaphores = (uint16_t)(PL_FIRST_SEMAPHORE + c->body_used[PL_SEMAPHORE]);
    for (uint32_t s = v->semaphores; s < v->semaphores + size; s++) {
      pl_semaphores[s].started = pl_semaphores[s].waited = 0;
      pl_semaphores[s].queue = PL_NOBODY;
      pl_semaphores[s].use = v->generation;
    }
  }
  pl_fresh_buffer(c, v->buffer, &scoped[n].group, c->body_used[v->space]);
  c->body_used[v->space] += size;
  pl_poison(c, v);
  return c->status;
}

void pl_run_scoped_specs(pl_scoped_body body, void *user, const pl_scratch_spec *const *specs, unsigned n) {
  struct pl_context *c = pl_self();
  const unsigned first = scoped_count;
  uint32_t before[PL_SEMAPHORE + 1];
  pl_ref refs[PL_MAX_SCOPED];

  if (c->status != PL_OK)
    return;
  if (!pl_in_body("pl_run_scoped") || pl_is_null((const void *)(uintptr_t)body, "pl_run_scoped") ||
      (n != 0 && pl_is_null(specs, "pl_run_scoped")))
    return;
  if (n > PL_MAX_SCOPED - first) {
    pl_fail(PL_ERROR_LIMIT, "pl_run_scoped: %u items beside %u of outer scopes; PL_MAX_SCOPED is %d", n,
            first, PL_MAX_SCOPED);
    return;
  }
  for (unsigned space = 0; space <= PL_SEMAPHORE; space++)
    before[space] = c->body_used[space];
  scoped_count = first + n;
  c->last_inner = NULL; /* its memory may be taken */
  for (unsigned i = 0; i < n && take(c, first + i, i, specs[i]) == PL_OK; i++)
    refs[i] = (pl_ref){&scoped[first + i].view, scoped[first + i].view.generation};
  if (c->status == PL_OK)
    body(refs, user);
  for (unsigned i = 0; i < n; i++)
    scoped[first + i].view.generation = 0;
  const bool ended = c->status == PL_OK;
  for (uint32_t s = before[PL_SEMAPHORE]; s < c->body_used[PL_SEMAPHORE] && ended; s++)
    pl_check_semaphore(c, PL_FIRST_SEMAPHORE + s, "pl_run_scoped ended");
  for (unsigned space = 0; space <= PL_SEMAPHORE; space++)
    c->body_used[space] = before[space];
  scoped_count = first;
}
