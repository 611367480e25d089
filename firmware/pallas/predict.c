/* SPDX-License-Identifier: MIT */
/*
 * What a call will do, without running it. The plan is the one that the call will use, and the maps are
 * walked over the whole grid by the pipeline's own evaluation, so that copies and bytes are those of the
 * run; only scalar prefetch arguments are really copied, because maps read them.
 *
 * Time is a model: every resource alone, and the longest of them with what cannot overlap at both ends.
 */
#include "pipeline.h"

enum {
  SETUP_INSTRUCTIONS = 2500, /* of a warm call, before the first and behind the last body */
  /* Measured on matmul and vector addition with blocks of 8 to 128 rows, queues full now and then: */
  STEP_INSTRUCTIONS = 80,    /* of a step */
  OPERAND_INSTRUCTIONS = 80, /* of a step for each operand that moves */
  DOT_INSTRUCTIONS = 110,    /* of the dot that a step is taken to have if the kernel declares any */
  RESULT_INSTRUCTIONS = 570, /* of the operation that a written block is taken to come from */
  DMA_LATENCY = 100,         /* cycles from a fetch to its end beyond its bytes */
};

/* A block as it is moved: all of it, its part in the array, and cycles of the port for that part. */
struct moved {
  bool empty;
  uint32_t whole, part, cycles;
};

/* Rows that follow one another make one; each takes whole beats of the port. */
static struct moved moved_of(const struct pl_operand *op) {
  const uint32_t port = pl_context.params.value[TPU_PARAM_HBM_PORT_BYTES];
  struct moved m = {.whole = pl_dtype_bytes(op->dtype)};
  int32_t valid[PL_MAX_RANK];
  const bool ragged = pl_valid_part(op, valid);
  uint32_t row = m.whole, rows = 1;
  bool joined = true;

  m.part = m.whole;
  m.empty = ragged && pl_is_empty(op, valid);
  for (int d = op->rank - 1; d >= 0; d--) {
    const uint32_t here = (uint32_t)(ragged ? valid[d] : op->dim[d].block);
    if (joined)
      row *= here;
    else
      rows *= here;
    joined = joined && here == (uint32_t)op->dim[d].extent;
    m.whole *= (uint32_t)op->dim[d].block;
    m.part *= here;
  }
  m.cycles = rows * ((row + port - 1) / port);
  return m;
}

struct walk {
  pl_prediction *p;
  uint32_t first_in, last_out; /* cycles of what nothing overlaps: the first fetches, the last write-backs */
};

static void count_in(struct walk *w, const struct pl_operand *op, bool first) {
  const struct moved m = moved_of(op);
  const bool poison = (pl_debug_flags & PL_DEBUG_POISON) != 0;
  w->p->bytes_in += op->unfilled && !poison ? m.part : m.whole;
  w->p->dma_in += m.cycles;
  if (first)
    w->first_in += m.cycles;
}

static void count_block(struct walk *w, struct pl_operand *op, uint32_t *copies, bool first) {
  if (!op->output) {
    *copies += !moved_of(op).empty;
    count_in(w, op, first);
    return;
  }
  if (op->moves) /* the only block of another is in its latch already */
    pl_latch_into(op->latch, op);
  if (op->latch->load)
    count_in(w, op, first);
  const struct moved m = moved_of(op);
  if (m.empty)
    return;
  ++*copies;
  w->p->bytes_out += m.part;
  w->p->dma_out += m.cycles;
  w->last_out = m.cycles;
}

/* All blocks of an operand, in the order of the grid. */
static void walk_operand(struct pl_context *c, struct walk *w, struct pl_operand *op, uint32_t *copies) {
  pl_grid at = c->head.grid;

  if (op->kind != PL_OPERAND_BLOCKED)
    return;
  if (!op->moves) {
    count_block(w, op, copies, true);
    return;
  }
  for (uint32_t step = 0; step < w->p->steps && c->status == PL_OK; step++) {
    if (pl_evaluate_any(op, &at) || step == 0)
      count_block(w, op, copies, step == 0);
    if (step + 1 < w->p->steps)
      advance(&at);
  }
}

static void predict_time(const struct pl_context *c, const struct pl_plan *plan, struct walk *w) {
  const uint32_t dim = c->dim, lanes = c->lanes;
  pl_prediction *p = w->p;
  uint32_t moving = 0, results = 0;
  uint64_t longest = p->dma_in;

  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++)
    moving += plan->operand[i].moves;
  for (uint32_t i = plan->inputs; i < plan->inputs + plan->outputs; i++)
    results += p->copies[i];
  p->mxu = (c->kernel->cost.macs + dim * dim - 1) / (dim * dim);
  p->vpu = (c->kernel->cost.vector_elements + lanes - 1) / lanes;
  p->scalar = (uint64_t)p->steps * (STEP_INSTRUCTIONS + moving * OPERAND_INSTRUCTIONS +
                                    (c->kernel->cost.macs != 0 ? DOT_INSTRUCTIONS : 0)) +
              (uint64_t)results * RESULT_INSTRUCTIONS;
  p->bottleneck = p->dma_in != 0 ? PL_BOUND_DMA_IN : PL_BOUND_NONE;
  const struct {
    uint64_t cycles;
    enum pl_bottleneck bound;
  } others[] = {{p->dma_out, PL_BOUND_DMA_OUT},
                {p->mxu, PL_BOUND_MXU},
                {p->vpu, PL_BOUND_VPU},
                {p->scalar, PL_BOUND_SCALAR}};
  for (unsigned i = 0; i < 4; i++)
    if (others[i].cycles > longest) {
      longest = others[i].cycles;
      p->bottleneck = others[i].bound;
    }
  /* The ends: what is not under the longest anyway. */
  p->cycles = longest + SETUP_INSTRUCTIONS;
  if (p->bottleneck != PL_BOUND_DMA_IN && p->dma_in != 0)
    p->cycles += w->first_in + DMA_LATENCY;
  if (p->bottleneck != PL_BOUND_DMA_OUT && p->dma_out != 0)
    p->cycles += w->last_out + DMA_LATENCY;
}

static void walk_plan(struct pl_context *c, struct pl_plan *plan, pl_prediction *p) {
  struct walk w = {.p = p};

  c->step = 0;
  pl_reset(c, plan);
  for (uint32_t i = 0; i < plan->prefetches; i++)
    if (!plan->prefetch[i].empty) {
      fetch(c, &plan->prefetch[i], 0);
      count_in(&w, &plan->prefetch[i], true);
    }
  if (plan->prefetches != 0)
    pl_drain(c);
  c->in_prologue = true;
  p->steps = plan->steps;
  for (uint32_t i = 0; i < plan->inputs + plan->outputs && c->status == PL_OK; i++)
    walk_operand(c, &w, &plan->operand[i], &p->copies[i]);
  c->in_prologue = false;
  for (unsigned space = PL_VMEM; space <= PL_ACC; space++)
    p->memory[space - PL_VMEM] = plan->used[space];
  p->memory[3] = plan->semaphores;
  predict_time(c, plan, &w);
}

/* Finds the plan and walks it; the kernel is entered until pl_call_leave(). plan: NULL if nothing runs. */
static pl_status predict(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                         pl_prediction *p, struct pl_plan **plan) {
  *p = (pl_prediction){0};
  *plan = NULL;
  if (pl_init() != PL_OK)
    return c->status;
  if (c->plan != NULL)
    return pl_fail(PL_ERROR_ARGUMENT, "pl_plan inside a kernel body");
  c->status = PL_OK;
  if (kernel == NULL)
    return pl_fail(PL_ERROR_ARGUMENT, "pl_plan without a kernel");
  c->kernel = kernel;
  for (uint32_t d = 0; d < kernel->grid.rank && d < PL_MAX_GRID; d++)
    if (kernel->grid.extent[d] == PL_DYN_FLAG)
      return PL_OK;
  cpu_fence();
  if (pl_plan_find(c, kernel, args, results, plan) != PL_OK ||
      pl_call_enter(c, *plan, args, results) != PL_OK)
    return c->status;
  walk_plan(c, *plan, p);
  if (c->status != PL_OK)
    pl_recover();
  return c->status;
}

pl_status pl_predict(const pl_kernel *kernel, pl_arrays args, pl_arrays results, pl_prediction *prediction) {
  struct pl_context *c = &pl_context;
  struct pl_plan *plan;
  const bool inside = c->plan != NULL;
  predict(c, kernel, args, results, prediction, &plan);
  if (!inside)
    pl_call_leave(c);
  return c->status;
}

/* ---- printing ---- */

static void print_operand(const struct pl_operand *op, uint32_t copies) {
  char name[24], array[64], block[64];
  int32_t extent[PL_MAX_RANK], tile[PL_MAX_RANK];

  for (unsigned d = 0; d < op->rank; d++) {
    extent[d] = op->dim[d].extent;
    tile[d] = op->dim[d].block;
  }
  pl_shape_text(extent, op->rank, array);
  pl_shape_text(tile, op->rank, block);
  pl_debug_text("  %-10s %-5s %-14s ", pl_view_name(&op->view, name), pl_dtype_name(op->dtype), array);
  if (op->kind == PL_OPERAND_BLOCKED)
    pl_debug_text("blocks %-14s in %s, %u x %u bytes, %u copies\n", block, pl_space_name(op->space),
                  (unsigned)op->buffers, (unsigned)op->slot_bytes, (unsigned)copies);
  else
    pl_debug_text("in place in %s\n", pl_space_name(op->space));
}

static void print_plan(const struct pl_context *c, const struct pl_plan *plan, const pl_prediction *p) {
  static const char *const bounds[] = {"nothing", "DMA in", "DMA out", "MXU", "VPU", "the scalar core"};
  char name[24], shape[64];

  pl_shape_text(plan->grid.extent, plan->grid.rank, shape);
  pl_debug_text("plan of %s: grid %s, %u steps\n", c->kernel->name ? c->kernel->name : "(no name)", shape,
                (unsigned)p->steps);
  for (uint32_t i = 0; i < plan->prefetches; i++)
    print_operand(&plan->prefetch[i], 1);
  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++)
    print_operand(&plan->operand[i], p->copies[i]);
  for (uint32_t i = 0; i < plan->scratches; i++) {
    const struct pl_scratch *s = &plan->scratch[i];
    pl_shape_text(s->view.shape, s->view.rank, shape);
    pl_debug_text("  %-10s %-5s %-14s in %s", pl_view_name(&s->view, name), pl_dtype_name(s->view.dtype),
                  shape, pl_space_name(s->view.space));
    if (s->view.space == PL_SEMAPHORE)
      pl_debug_write("\n");
    else
      pl_debug_text(", %u x %u %s\n", (unsigned)s->buffers, (unsigned)s->slot_bytes,
                    s->view.space == PL_ACC ? "rows" : "bytes");
  }
  pl_debug_text("  memory: VMEM %u of %u bytes, SMEM %u of %u, ACC %u of %u rows, %u semaphores\n",
                (unsigned)p->memory[0], (unsigned)pl_plan_space(PL_VMEM), (unsigned)p->memory[1],
                (unsigned)pl_plan_space(PL_SMEM), (unsigned)p->memory[2], (unsigned)pl_plan_space(PL_ACC),
                (unsigned)p->memory[3]);
  pl_debug_text("  bytes: %lu in, %lu out\n", (unsigned long)p->bytes_in, (unsigned long)p->bytes_out);
  pl_debug_text("  cycles alone: DMA in %lu, DMA out %lu, MXU %lu, VPU %lu, scalar core %lu\n",
                (unsigned long)p->dma_in, (unsigned long)p->dma_out, (unsigned long)p->mxu,
                (unsigned long)p->vpu, (unsigned long)p->scalar);
  pl_debug_text("  predicted: %lu cycles, bound by %s\n", (unsigned long)p->cycles, bounds[p->bottleneck]);
}

pl_status pl_plan(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  struct pl_context *c = &pl_context;
  struct pl_plan *plan;
  pl_prediction p;
  const bool inside = c->plan != NULL;

  if (predict(c, kernel, args, results, &p, &plan) == PL_OK) {
    if (plan != NULL)
      print_plan(c, plan, &p);
    else
      pl_debug_text("plan of %s: a run-time extent is 0, nothing happens\n",
                    kernel->name ? kernel->name : "(no name)");
  }
  if (!inside)
    pl_call_leave(c);
  return c->status;
}
