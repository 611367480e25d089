/* SPDX-License-Identifier: MIT */
/* pl_plan(): the prediction in words. */
#include "predict.h"

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

  if (pl_predict_entered(c, kernel, args, results, &p, &plan) == PL_OK) {
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
