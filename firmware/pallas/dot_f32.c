/* SPDX-License-Identifier: MIT */
/*
 * Products of f32 operands on a matrix unit that multiplies bf16.
 *
 * An f32 operand becomes one, two or three bf16 parts, the largest first: each is what is left of it,
 * rounded to nearest even. Their sum is the operand to 8, 16 or 24 bits. The product is the sum of those
 * products of parts that matter at that precision: 1, 3 or 6 passes of the matrix unit, the smallest
 * first, all into the same accumulator. A bf16 operand is its own only part.
 *
 * The parts are scoped memory of the body and so within its budget.
 */
#include "internal.h"

enum { MAX_PARTS = 3 };

struct f32_dot {
  pl_ref acc, operand[2];
  unsigned mode, parts[2]; /* mode without precision */
};

/* Makes the parts of an f32 operand from scoped memory: `parts` of bf16 and, for three, a rest in f32. */
static void split(pl_ref x, unsigned parts, const pl_ref *memory) {
  pl_ref rest = x;

  pl_copy(memory[0], x);
  for (unsigned i = 1; i < parts; i++) {
    if (i + 1 == parts) {
      pl_sub(memory[i], rest, memory[i - 1]);
      return;
    }
    rest = memory[parts];
    pl_sub(rest, x, memory[i - 1]); /* exact: the rest of a rounding has no more bits */
    pl_copy(memory[i], rest);
  }
}

static void run_passes(const pl_ref *memory, void *user) {
  const struct f32_dot *dot = user;
  const pl_ref *part[2];
  unsigned mode = dot->mode;

  for (unsigned i = 0; i < 2; i++) {
    if (dot->parts[i] == 0) {
      part[i] = &dot->operand[i];
      continue;
    }
    part[i] = memory;
    split(dot->operand[i], dot->parts[i], memory);
    memory += dot->parts[i] + (dot->parts[i] == MAX_PARTS);
  }
  const int nx = dot->parts[0] ? (int)dot->parts[0] : 1, ny = dot->parts[1] ? (int)dot->parts[1] : 1;
  for (int order = (nx > ny ? nx : ny) - 1; order >= 0; order--)
    for (int i = order; i >= 0; i--)
      if (i < nx && order - i < ny) {
        pl_dot(dot->acc, part[0][i], part[1][order - i], mode);
        mode |= PL_ACCUMULATE;
      }
}

void pl_dot_f32(pl_ref acc, pl_ref x, pl_ref y, unsigned mode) {
  const unsigned precision = mode & (PL_PRECISION_HIGH | PL_PRECISION_HIGHEST);
  const unsigned wanted = precision & PL_PRECISION_HIGHEST ? MAX_PARTS : precision ? 2 : 1;
  struct f32_dot dot = {.acc = acc, .operand = {x, y}, .mode = mode & ~precision};
  pl_scratch_spec spec[2 * (MAX_PARTS + 1)];
  const pl_scratch_spec *specs[2 * (MAX_PARTS + 1)];
  unsigned n = 0;

  for (unsigned i = 0; i < 2; i++) {
    const struct pl_view *view = dot.operand[i].view;
    if (view->dtype != PL_F32)
      continue;
    dot.parts[i] = wanted;
    for (unsigned part = 0; part < wanted + (wanted == MAX_PARTS); part++) {
      spec[n] = (pl_scratch_spec){.space = PL_VMEM, .dtype = part < wanted ? PL_BF16 : PL_F32};
      spec[n].shape = PL_SHAPE(view->shape[0], view->shape[1]);
      specs[n] = &spec[n];
      n++;
    }
  }
  pl_run_scoped_specs(run_passes, &dot, specs, n);
  if (pl_context.status == PL_ERROR_BUDGET)
    pl_message_add("; pl_dot keeps the bf16 parts of its f32 operands there, %u of each", wanted);
}
