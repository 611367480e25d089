/* SPDX-License-Identifier: MIT */
/*
 * PL_DEBUG_SHUFFLE: the coordinates of every dimension that is not PL_ARBITRARY come in another order, as
 * they may. What a kernel wrongly carries from step to step along such a dimension then shows: as another
 * result, or, where an output's block is come back to, as PL_ERROR_REVISIT.
 *
 * Coordinate number i is (first + i x stride) modulo the extent, with a stride that has no divisor in common
 * with it: every one comes once, and the one after another is found without a table. The order of the
 * dimensions among each other stays. A pipeline with a prologue or with buffers that the caller has filled
 * keeps the usual order, which both know.
 */
#include "pipeline.h"

static uint32_t seed = 1;

void pl_debug_seed(uint32_t value) {
  if (!pl_outside("pl_debug_seed"))
    return;
  seed = value;
  pl_context.aged = true; /* plans begin at the first position */
}

static bool order_is_known(const pl_kernel *kernel) {
  bool known = kernel->prologue != NULL;
  for (uint32_t i = 0; i < PL_MAX_OPERANDS && kernel->in[i] != NULL; i++)
    known = known || kernel->in[i]->prefetched != 0;
  return known;
}

static uint32_t common_divisor(uint32_t a, uint32_t b) {
  while (b != 0) {
    const uint32_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

struct walk {
  uint32_t first, stride;
};

static struct walk walk_of(const pl_grid *grid, unsigned d) {
  const pl_kernel *const kernel = pl_context.kernel;
  const uint32_t extent = (uint32_t)grid->extent[d];
  struct walk w = {0, 1};

  if (extent < 2 || kernel->dimension_semantics[d] == PL_ARBITRARY || order_is_known(kernel))
    return w;
  const uint32_t hash = (seed * 8 + d + 1) * 0x9e3779b1u, mixed = (hash ^ hash >> 15) * 0x85ebca6bu;
  w.first = (mixed >> 8) % extent;
  w.stride = 1 + (mixed >> 4) % (extent - 1);
  while (common_divisor(w.stride, extent) != 1)
    w.stride++;
  if (w.first == 0 && w.stride == 1)
    w.first = 1; /* the usual order would show nothing */
  return w;
}

void pl_shuffle_first(pl_grid *grid) {
  for (unsigned d = 0; d < grid->rank; d++)
    grid->id[d] = (int32_t)walk_of(grid, d).first;
}

void pl_shuffle_next(pl_grid *grid) {
  for (unsigned d = grid->rank; d-- > 0;) {
    const struct walk w = walk_of(grid, d);
    grid->id[d] = (int32_t)(((uint32_t)grid->id[d] + w.stride) % (uint32_t)grid->extent[d]);
    if ((uint32_t)grid->id[d] != w.first)
      return;
  }
}
