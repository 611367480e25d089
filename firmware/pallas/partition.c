/* SPDX-License-Identifier: MIT */
/*
 * How cores share a grid. A pure function of grid, semantics and number of cores, so that every core finds
 * its part by itself, and the rule can be tested for any number of cores on one.
 */
#include "internal.h"

static bool is_dynamic(const pl_grid_spec *grid, uint32_t d) {
  return (grid->extent[d] & PL_DYN_FLAG) != 0;
}

static int32_t extent_of(const pl_grid_spec *grid, uint32_t d) {
  return grid->extent[d] & ~PL_DYN_FLAG;
}

/* The dimension marked for it; -1: none, -2: several, with a sticky error. */
static int core_parallel(const pl_grid_spec *grid, const uint8_t *semantics) {
  int chosen = -1;
  for (uint32_t d = 0; d < grid->rank; d++) {
    if (semantics[d] != PL_CORE_PARALLEL)
      continue;
    if (chosen >= 0) {
      pl_fail(PL_ERROR_SPEC, "grid dimensions %d and %u are both CORE_PARALLEL; cores share one", chosen,
              (unsigned)d);
      return -2;
    }
    chosen = (int)d;
  }
  return chosen;
}

/* Among PARALLEL dimensions; -1 with a sticky error if there is none to choose. */
static int choose_parallel(const pl_grid_spec *grid, const uint8_t *semantics, uint32_t cores) {
  int dynamic = -1, largest = -1;
  unsigned dynamics = 0;

  for (uint32_t d = 0; d < grid->rank; d++) {
    if (semantics[d] != PL_PARALLEL)
      continue;
    if (is_dynamic(grid, d)) {
      dynamic = (int)d;
      dynamics++;
    } else if ((uint32_t)extent_of(grid, d) % cores == 0) {
      return (int)d;
    } else if (largest < 0 || extent_of(grid, d) > extent_of(grid, (uint32_t)largest)) {
      largest = (int)d;
    }
  }
  if (dynamics > 1)
    pl_fail(PL_ERROR_SPEC,
            "%u run-time PARALLEL dimensions and no static one that %u cores divide: mark the one that cores "
            "share with CORE_PARALLEL",
            dynamics, (unsigned)cores);
  else if (largest >= 0)
    return largest;
  else if (dynamics == 0)
    pl_fail(PL_ERROR_SPEC, "%u cores, and no PARALLEL dimension that they could share", (unsigned)cores);
  else
    return dynamic;
  return -1;
}

pl_status pl_partition_grid(const pl_grid_spec *grid, const uint8_t *semantics, uint32_t cores, uint32_t core,
                            pl_core_part *part) {
  if (pl_is_null(grid, "pl_partition_grid") || pl_is_null(semantics, "pl_partition_grid") ||
      pl_is_null(part, "pl_partition_grid"))
    return pl_context.status;
  *part = (pl_core_part){.dimension = -1};
  if (pl_context.plan == NULL)
    pl_context.status = PL_OK;
  if (cores == 0 || core >= cores)
    return pl_fail(PL_ERROR_ARGUMENT, "core %u of %u", (unsigned)core, (unsigned)cores);
  if (grid->rank > PL_MAX_GRID)
    return pl_fail(PL_ERROR_LIMIT, "a grid of rank %u; PL_MAX_GRID is %d", (unsigned)grid->rank, PL_MAX_GRID);
  if (cores == 1)
    return PL_OK;
  int d = core_parallel(grid, semantics);
  if (d == -1)
    d = choose_parallel(grid, semantics, cores);
  if (d < 0)
    return pl_context.status;
  const int32_t extent = extent_of(grid, (uint32_t)d), each = extent / (int32_t)cores;
  const int32_t more = extent % (int32_t)cores, c = (int32_t)core; /* the first `more` cores get one more */
  part->dimension = d;
  part->extent = each + (c < more);
  part->offset = c * each + (c < more ? c : more);
  return PL_OK;
}

/* The next position of the grid with the shared dimension at 0; false behind the last. */
static bool next_position(pl_grid *at, uint32_t shared) {
  for (uint32_t d = at->rank; d-- > 0;) {
    if (d == shared)
      continue;
    if (++at->id[d] < at->extent[d])
      return true;
    at->id[d] = 0;
  }
  return false;
}

static bool same_block(const pl_index *a, const pl_index *b, uint32_t rank) {
  for (uint32_t d = 0; d < rank; d++)
    if (a[d].start != b[d].start || a[d].size != b[d].size)
      return false;
  return true;
}

pl_status pl_partition_output(const pl_grid_spec *grid, const uint8_t *semantics, uint32_t cores,
                              const pl_block_spec *output, uint32_t number) {
  pl_core_part part;

  if (pl_is_null(output, "pl_partition_output"))
    return pl_context.status;
  if (pl_partition_grid(grid, semantics, cores, 0, &part) != PL_OK)
    return pl_context.status;
  pl_grid at = {.rank = grid->rank};
  for (uint32_t d = 0; d < grid->rank; d++) {
    at.extent[d] = extent_of(grid, d);
    if (at.extent[d] == 0)
      return PL_OK;
  }
  if (part.dimension < 0 || part.extent == at.extent[part.dimension])
    return PL_OK; /* one core, or one step for all of them */
  const uint32_t shared = (uint32_t)part.dimension;
  do {
    pl_index first[PL_MAX_RANK] = {{0}}, other[PL_MAX_RANK] = {{0}};
    if (output->map == NULL)
      break;
    output->map(&at, first);
    for (at.id[shared] = 1; at.id[shared] < at.extent[shared]; at.id[shared]++) {
      output->map(&at, other);
      if (!same_block(first, other, output->rank))
        return PL_OK;
    }
    at.id[shared] = 0;
  } while (next_position(&at, shared));
  return pl_fail(PL_ERROR_SPEC,
                 "output %u: its map does not depend on grid dimension %u, which %u cores share: all would "
                 "write the same blocks; let it depend on it, or make the dimension ARBITRARY",
                 (unsigned)number, (unsigned)shared, (unsigned)cores);
}
