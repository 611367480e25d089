/* SPDX-License-Identifier: MIT */
/*
 * Outputs whose memory is that of an input. The blocks on the chip are distinct: an input block that was
 * fetched does not change when the output is written back, as in JAX. What is ordered here is memory: a fetch
 * waits for the output's write-backs that were queued before it, a write-back for the input's fetches. A
 * fetch that is queued before the write-back of what an earlier step wrote there would read old contents;
 * it is an error.
 */
#include "pipeline.h"

pl_status pl_alias_plan(struct pl_plan *plan, struct pl_operand *out, unsigned input, const pl_array *array,
                        const pl_array *inputs) {
  const pl_array *other = &inputs[input];
  bool same;

  if (input >= plan->inputs)
    return pl_fail_operand(PL_ERROR_SPEC, out, "alias of input %u; there are %u", input,
                           (unsigned)plan->inputs);
  struct pl_operand *in = &plan->operand[input];
  same = array->rank == other->rank && array->dtype == other->dtype && array->space == other->space;
  for (unsigned d = 0; same && d < array->rank; d++)
    same = array->shape[d] == other->shape[d];
  if (!same)
    return pl_fail_operand(PL_ERROR_SHAPE, out, "%pA, and its alias, input %u, is %pA", array, input, other);
  if (in->listed)
    return pl_fail_operand(PL_ERROR_UNSUPPORTED, out, "alias of input %u, which goes by lists", input);
  if (array->pitch != other->pitch && array->rank > 1)
    return pl_fail_operand(
        PL_ERROR_SHAPE, out,
        "rows %u bytes apart, and those of its alias, input %u, %u; give one array to both",
        (unsigned)array->pitch, input, (unsigned)other->pitch);
  if (in->alias != NULL)
    return pl_fail_operand(PL_ERROR_SPEC, out, "input %u is already the alias of output %u", input,
                           (unsigned)in->alias->number);
  in->alias = out;
  out->alias = in;
  plan->aliases = true;
  in->keeps_place = out->keeps_place = true;
  return PL_OK;
}

pl_status pl_alias_bind(const struct pl_plan *plan, const pl_array *inputs, const pl_array *outputs) {
  for (uint32_t i = 0; i < plan->outputs; i++) {
    const struct pl_operand *out = &plan->operand[plan->inputs + i], *in = out->alias;
    if (in != NULL && outputs[i].address != inputs[in->number].address)
      return pl_fail_operand(
          PL_ERROR_ARGUMENT, out, "at 0x%x, and its alias, input %u, at 0x%x; give one array to both",
          (unsigned)outputs[i].address, (unsigned)in->number, (unsigned)inputs[in->number].address);
  }
  return PL_OK;
}

/* The fetch for step `later` was queued before the write-back of a run that ended before. */
static PL_COLD void fail_in_flight(const struct pl_operand *in, const struct pl_latch *run, uint32_t later) {
  pl_fail_operand(
      PL_ERROR_REVISIT, in,
      "the fetch for step %u comes before the write-back of what its alias, output %u, got there from step "
      "%u on; fewer buffers, or a later step",
      (unsigned)later, (unsigned)in->alias->number, (unsigned)run->first);
}

void pl_alias_fetch(struct pl_operand *in, struct pl_buffer *buffer, struct pl_deps *deps) {
  const struct pl_operand *out = in->alias;
  struct pl_latch *place = &in->latches[buffer - in->buffer];

  if (out->kind != PL_OPERAND_BLOCKED) { /* the body copies by itself */
    pl_read_deps(deps, out->view.buffer, in->queue->number);
    return;
  }
  pl_keep_place(place, in);
  for (struct pl_latch *run = out->latch; run != out->latch_fill; run = run->next)
    if (run->next->first <= buffer->first && pl_latches_overlap(in, run, place))
      fail_in_flight(in, run, buffer->first);
  pl_depend(deps, PL_WRITE_BACK_QUEUE, out->flushed);
}

void pl_alias_write_back(struct pl_operand *out, struct pl_deps *deps) {
  const struct pl_operand *in = out->alias;
  if (in->kind == PL_OPERAND_BLOCKED)
    pl_depend(deps, in->queue->number, in->fetched);
  else
    pl_write_deps(deps, in->view.buffer, out->queue->number);
}

void pl_alias_queued(struct pl_context *c, struct pl_operand *op) {
  if (op->alias->kind == PL_OPERAND_BLOCKED)
    return;
  if (op->output)
    pl_has_written(c, op->alias->view.buffer, op->queue);
  else
    pl_has_read(op->alias->view.buffer, op->queue);
}

void pl_alias_run(const struct pl_operand *out, const struct pl_latch *ended, uint32_t first) {
  const struct pl_operand *in = out->alias;
  for (uint32_t i = 0; in->kind == PL_OPERAND_BLOCKED && i < in->buffers; i++) {
    const uint32_t step = in->buffer[i].first;
    if (step != PL_NO_STEP && step >= first && pl_latches_overlap(out, ended, &in->latches[i]))
      fail_in_flight(in, ended, step);
  }
}
