/* SPDX-License-Identifier: MIT */
/*
 * Pipelines inside a body, and kernels without a grid.
 *
 * An inner pipeline is planned and run like a call, with three differences. Its operands are refs of the
 * running kernel, with any strides. Its memory begins where what the body uses ends. And nothing is drained
 * around it: what it must wait for is found out once, when it begins, and put in front of its queues as a
 * fence; when it ends, its copies are entered as readers and writers of the refs they used. Pipelines
 * that follow one another and have the same plan are ordered by the tickets of its buffers; another plan
 * has other buffers in the same memory, and is fenced off from everything before it.
 */
#include "pipeline.h"

int pl_axis(const char *name) {
  struct pl_context *c = pl_self();
  const char *const *names = c->kernel != NULL ? c->kernel->grid_names : NULL;
  const uint32_t rank = c->head.grid.rank;
  int found = -1;

  if (pl_is_null(name, "pl_axis"))
    return 0;
  for (uint32_t d = 0; names != NULL && d < rank; d++) {
    const char *a = names[d], *b = name;
    while (a != NULL && *a != '\0' && *a == *b)
      a++, b++;
    if (a == NULL || *a != *b)
      continue;
    if (found >= 0) {
      pl_fail(PL_ERROR_SPEC, "pl_axis(\"%s\"): grid dimensions %d and %u both have this name", name, found,
              (unsigned)d);
      return 0;
    }
    found = (int)d;
  }
  if (found >= 0)
    return found;
  if (pl_fail(PL_ERROR_ARGUMENT, "pl_axis(\"%s\"): there is no grid dimension of this name; there are",
              name) == PL_ERROR_ARGUMENT)
    for (uint32_t d = 0; names != NULL && d < rank; d++)
      pl_message_add(" %s", names[d] != NULL ? names[d] : "(no name)");
  return 0;
}

/* ---- pl_emit_pipeline ---- */

/* What a running pipeline still needs of its refs, inputs first. It is on the stack as often as pipelines are
 * open. */
struct used {
  uint32_t inputs, count;
  bool windows; /* some buffers are the caller's */
  struct pl_buffer *buffer[PL_MAX_OPERANDS];
};

/* The refs of a pipeline as arrays, to plan it. */
struct sources {
  uint32_t inputs, count;
  /* Of operands, then their buffers if they are the caller's, else NULL. Until the pipeline makes others. */
  const struct pl_view *view[2 * PL_MAX_OPERANDS];
  struct pl_buffer *buffer[PL_MAX_OPERANDS];
  pl_array array[PL_MAX_OPERANDS];
  struct pl_nesting nesting;
};

static const char *side(const struct sources *s, uint32_t i) {
  return i < s->inputs ? "input" : "output";
}

static unsigned number_of(const struct sources *s, uint32_t i) {
  return i < s->inputs ? i : i - s->inputs;
}

static pl_status take_ref(struct pl_context *c, struct sources *s, uint32_t i, pl_ref ref) {
  const unsigned number = number_of(s, i);
  struct pl_view *const v = pl_use(c, ref);

  if (v == NULL)
    return c->status;
  if (v->space == PL_SEMAPHORE)
    return pl_fail(PL_ERROR_REF, "pl_emit_pipeline: %s %u is %pV, semaphores", side(s, i), number, v);
  if (i >= s->inputs && (v->flags & PL_VIEW_READ_ONLY))
    return pl_fail(PL_ERROR_REF, "pl_emit_pipeline: output %u is %pV, which would be written", number, v);
  s->view[i] = v;
  s->buffer[i] = v->buffer;
  pl_array *const a = &s->array[i];
  *a = (pl_array){.address = v->buffer->address + v->offset,
                  .pitch = v->pitch,
                  .rank = v->rank,
                  .dtype = v->dtype,
                  .space = v->space};
  for (unsigned d = 0; d < v->rank; d++) {
    a->shape[d] = v->shape[d];
    s->nesting.stride[i][d] = v->stride[d];
  }
  return PL_OK;
}

static PL_COLD void fail_shared(const struct sources *s, uint32_t a, uint32_t b) {
  pl_fail(PL_ERROR_REF, "pl_emit_pipeline: elements of %pV are shared by", s->view[a]);
  for (uint32_t k = b; k <= a; k += a - b) {
    const bool window = k >= s->count;
    const uint32_t i = window ? k - s->count : k;
    pl_message_add(" %s%s %u%s", window ? "buffers of " : "", side(s, i), number_of(s, i),
                   k != a ? " and" : "");
  }
}

/*
 * Two outputs in HBM would be written in any order; on the chip they are used in place, in program order.
 * Buffers of the caller are apart from one another and from all that is used in place.
 */
static void check_apart(const struct sources *s) {
  for (uint32_t a = s->inputs; a < (s->nesting.windows != 0 ? 2 : 1) * s->count; a++)
    for (uint32_t b = a < s->count ? s->inputs : 0; b < a; b++) {
      const struct pl_view *const v = s->view[a], *const w = s->view[b];
      if (v != NULL && w != NULL && v->buffer == w->buffer && (a >= s->count || v->space == PL_HBM) &&
          pl_share_elements(v, w)) {
        fail_shared(s, a, b);
        return;
      }
    }
}

static pl_status take_refs(struct pl_context *c, struct sources *s, pl_refs in, pl_refs out,
                           const pl_allocations *allocations) {
  if (in.count > PL_MAX_OPERANDS || out.count > PL_MAX_OPERANDS - in.count)
    return pl_fail(PL_ERROR_LIMIT, "pl_emit_pipeline: %u inputs and outputs; PL_MAX_OPERANDS is %d",
                   (unsigned)(in.count + out.count), PL_MAX_OPERANDS);
  s->inputs = in.count;
  s->count = in.count + out.count;
  for (uint32_t i = 0; i < s->count; i++) {
    if (take_ref(c, s, i, i < in.count ? in.ref[i] : out.ref[i - in.count]) != PL_OK)
      return c->status;
    if (allocations == NULL)
      continue;
    const pl_ref window = i < in.count ? allocations->in[i] : allocations->out[i - in.count];
    if (window.view == NULL || window.view == &pl_nothing)
      continue;
    s->view[s->count + i] = pl_use(c, window);
    if (s->view[s->count + i] == NULL)
      return c->status;
    s->nesting.windows |= 1u << i;
  }
  check_apart(s);
  return c->status;
}

/*
 * The caller's buffers become the operand's. The units take a block where rows of lanes begin; strides of
 * single elements say nothing.
 */
static pl_status bind_window(struct pl_operand *op, const struct pl_view *w) {
  const uint32_t unit = pl_row_pitch(op->space, op->dtype, 1);
  uint32_t starts = w->buffer->address + w->offset;
  bool same = w->rank == op->view.rank + 1 && w->shape[0] == (int32_t)op->buffers && w->dtype == op->dtype &&
              w->space == op->space && op->kind == PL_OPERAND_BLOCKED;

  for (unsigned d = 0; same && d < op->view.rank; d++)
    same = w->shape[d + 1] == op->view.shape[d] &&
           (w->shape[d + 1] == 1 || w->stride[d + 1] == op->view.stride[d]);
  for (uint32_t i = 0; same && i < op->buffers; i++, starts += (uint32_t)w->stride[0]) {
    op->buffer[i].address = starts;
    same = (starts & (unit - 1)) == 0;
  }
  if (same)
    return PL_OK;
  if (op->kind != PL_OPERAND_BLOCKED)
    return pl_fail_operand(PL_ERROR_SPEC, op, "it is used in place, and takes no buffers (%pV)", w);
  return pl_fail_operand(PL_ERROR_SHAPE, op,
                         "its buffers are %pV, %pD; %u blocks of %pD at multiples of %u bytes are needed", w,
                         w, (unsigned)op->buffers, &op->view, (unsigned)unit);
}

static pl_status bind(struct pl_context *c, struct pl_plan *plan, const struct sources *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    struct pl_operand *op = &plan->operand[i];
    op->base = s->array[i].address;
    if (op->kind != PL_OPERAND_BLOCKED) { /* the same memory: in order by itself */
      op->view.buffer = s->buffer[i];
      op->base = op->view.offset = s->array[i].address - s->buffer[i]->address;
    }
    const struct pl_view *const window = s->view[s->count + i];
    if (window != NULL && bind_window(op, window) != PL_OK)
      return c->status;
  }
  return pl_alias_bind(plan, s->array, s->array + s->inputs);
}

/* Whatever comes later is behind whatever came before. */
static void barrier(struct pl_context *c) {
  struct pl_deps deps = {0};
  for (uint32_t r = 0; r < TPU_QUEUE_SYNC; r++)
    pl_depend(&deps, r, c->queue[r].issued);
  if (pl_sync(c, &deps, 0, 0, -1, 0))
    pl_fence_all(c);
}

/* What the copies of the pipeline must wait for that its own buffers do not know. */
static void order_begin(struct pl_context *c, const struct pl_plan *plan, const struct used *s) {
  struct pl_deps deps = {0};
  bool pending = false;

  if (c->last_inner != plan || s->windows) {
    barrier(c);
    return;
  }
  for (uint32_t i = 0; i < s->count; i++) {
    if (plan->operand[i].kind != PL_OPERAND_BLOCKED)
      continue;
    if (i < s->inputs)
      pl_read_deps(&deps, s->buffer[i], TPU_QUEUE_SYNC);
    else
      pl_write_deps(&deps, s->buffer[i], TPU_QUEUE_SYNC);
  }
  for (uint32_t r = 0; r < TPU_QUEUE_SYNC; r++)
    pending = pending || ((deps.mask >> r & 1) && !pl_reached(c->done[r], deps.ticket[r]));
  if (pending && pl_sync(c, &deps, 0, 0, -1, 0))
    pl_fence(c, (1u << (TPU_QUEUE_DMA3 + 1)) - 1);
}

/*
 * What later operations on the refs must wait for. Of an operand that is loaded and written back, the last
 * write-back is behind all loads: it waits for its own block's, which its queue has last.
 */
static void order_end(struct pl_context *c, const struct pl_plan *plan, const struct used *s) {
  for (uint32_t i = 0; i < s->count; i++) {
    const struct pl_operand *op = &plan->operand[i];
    if (op->kind != PL_OPERAND_BLOCKED)
      continue;
    if (i < s->inputs)
      pl_has_read(s->buffer[i], op->queue);
    else
      pl_has_written(c, s->buffer[i], op->queue);
  }
  if (s->windows)
    barrier(c);
}

static void run_inner(struct pl_context *c, struct pl_plan *plan, const struct used *s) {
  order_begin(c, plan, s);
  c->last_inner = plan;
  pl_enter(c, plan);
  pl_pipeline_run(c, plan);
  order_end(c, plan, s);
  for (uint32_t i = 0; i < plan->semaphores && c->status == PL_OK; i++)
    pl_check_semaphore(c, plan->first_semaphore + i, "the pipeline ended");
  pl_views_end(plan);
}

static pl_status check_pipeline(const pl_kernel *pipeline, pl_refs in, pl_refs out) {
  const struct pl_context *c = &pl_context;
  if (pl_is_null(pipeline, "pl_emit_pipeline") || (in.count != 0 && pl_is_null(in.ref, "pl_emit_pipeline")) ||
      (out.count != 0 && pl_is_null(out.ref, "pl_emit_pipeline")))
    return c->status;
  if (!pl_in_body("pl_emit_pipeline"))
    return c->status;
  if (pipeline->num_scalar_prefetch != 0)
    return pl_fail(PL_ERROR_ARGUMENT,
                   "pl_emit_pipeline: num_scalar_prefetch is %u; prefetch in pl_call(), the pipeline sees it",
                   (unsigned)pipeline->num_scalar_prefetch);
  return PL_OK;
}

void pl_emit_pipeline(const pl_kernel *pipeline, pl_refs in, pl_refs out) {
  pl_emit_pipeline_with_allocations(pipeline, in, out, NULL);
}

/*
 * The pipeline's plan, bound to its refs; NULL with a sticky error. From where the refs are known on the
 * frame is the running one. Apart from the running, so that what only planning needs is off the stack by
 * then.
 */
static __attribute__((noinline)) struct pl_plan *prepare(struct pl_context *c, struct pl_frame *frame,
                                                         const pl_kernel *pipeline, pl_refs in, pl_refs out,
                                                         const pl_allocations *allocations,
                                                         struct used *used) {
  struct sources s = {0};
  struct pl_plan *plan = NULL;

  if (take_refs(c, &s, in, out, allocations) != PL_OK)
    return NULL;
  for (unsigned space = 0; space <= PL_SEMAPHORE; space++)
    s.nesting.base[space] = frame->body_used[space];
  c->stats.inner = NULL;
  c->frame = frame;
  c->kernel = pipeline;
  c->scope = ++c->scopes;
  c->in_prologue = true; /* no step to name in errors yet */
  if (pl_plan_find_inner(c, pipeline, (pl_arrays){s.array, s.inputs},
                         (pl_arrays){s.array + s.inputs, s.count - s.inputs}, &s.nesting, &plan) != PL_OK ||
      bind(c, plan, &s) != PL_OK)
    return NULL;
  used->inputs = s.inputs;
  used->count = s.count;
  used->windows = s.nesting.windows != 0;
  for (uint32_t i = 0; i < s.count; i++)
    used->buffer[i] = s.buffer[i];
  return plan;
}

void pl_emit_pipeline_with_allocations(const pl_kernel *pipeline, pl_refs in, pl_refs out,
                                       const pl_allocations *allocations) {
  struct pl_context *c = pl_self();
  struct used used;

  if (c->status != PL_OK || check_pipeline(pipeline, in, out) != PL_OK)
    return;
  struct pl_frame frame = {.outer = c->frame,
                           .head = c->head,
                           .plan = c->plan,
                           .kernel = c->kernel,
                           .step = c->step,
                           .scope = c->scope,
                           .in_prologue = c->in_prologue};
  for (unsigned space = 0; space <= PL_SEMAPHORE; space++)
    frame.body_used[space] = c->body_used[space];
  struct pl_plan *const plan = prepare(c, &frame, pipeline, in, out, allocations, &used);
  if (plan != NULL && plan->steps != 0)
    run_inner(c, plan, &used);
  c->stats.inner = plan;
  c->frame = frame.outer;
  c->head = frame.head;
  c->plan = frame.plan;
  c->kernel = frame.kernel;
  c->step = frame.step;
  c->scope = frame.scope;
  c->in_prologue = frame.in_prologue;
  for (unsigned space = 0; space <= PL_SEMAPHORE; space++)
    c->body_used[space] = frame.body_used[space];
}

/* ---- pl_kernel_call ---- */

pl_status pl_kernel_call(const pl_kernel *kernel, pl_arrays arrays) {
  static const pl_block_spec in_hbm = {.space = PL_HBM};
  struct pl_context *c = &pl_context;

  if (!pl_outside("pl_kernel_call") || pl_is_null(kernel, "pl_kernel_call") ||
      (arrays.count != 0 && pl_is_null(arrays.array, "pl_kernel_call")))
    return c->status;
  pl_kernel whole = *kernel;
  const uint32_t prefetches = kernel->num_scalar_prefetch < arrays.count ? kernel->num_scalar_prefetch : 0;
  c->kernel = kernel;
  if (kernel->grid.rank != 0)
    pl_fail(PL_ERROR_SPEC, "pl_kernel_call: a grid of rank %u; the body runs once, and pipelines have grids",
            (unsigned)kernel->grid.rank);
  else if (kernel->in[0] != NULL || kernel->out[0] != NULL)
    pl_fail(PL_ERROR_SPEC,
            "pl_kernel_call: block specs; the body gets whole arrays, and pipelines have specs");
  else if (arrays.count - prefetches > PL_MAX_OPERANDS)
    pl_fail(PL_ERROR_LIMIT, "pl_kernel_call: %u arrays; PL_MAX_OPERANDS is %d", (unsigned)arrays.count,
            PL_MAX_OPERANDS);
  c->kernel = NULL;
  if (c->status != PL_OK)
    return c->status;
  for (uint32_t i = 0; i < arrays.count - prefetches; i++)
    whole.out[i] = arrays.array[prefetches + i].space == PL_HBM ? &in_hbm : NULL; /* in place */
  return pl_call(&whole, (pl_arrays){arrays.array, prefetches},
                 (pl_arrays){arrays.array + prefetches, arrays.count - prefetches});
}
