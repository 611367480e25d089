/* SPDX-License-Identifier: MIT */
/* How cores share a grid: the rule, and for any grid that parts are contiguous, even and all of it. */
#include "suite.h"

enum { A = PL_ARBITRARY, P = PL_PARALLEL, C = PL_CORE_PARALLEL, D = PL_DYN_FLAG };

static void test_rule(void) {
  static const struct {
    const char *name;
    pl_grid_spec grid;
    uint8_t semantics[4];
    uint32_t cores, core;
    pl_core_part want;
  } cases[] = {
      {"one core", PL_GRID(7, 8), {P, P}, 1, 0, {-1, 0, 0}},
      {"first static divisible", PL_GRID(6, 8, 4), {P, P, P}, 4, 1, {1, 2, 2}},
      {"ARBITRARY is not a candidate", PL_GRID(8, 6), {A, P}, 2, 1, {1, 3, 3}},
      {"a divisible one before run-time ones", PL_GRID(D | 4, 8), {P, P}, 2, 0, {1, 0, 4}},
      {"the only one is a run-time one", PL_GRID(D | 7, 8), {P, A}, 2, 0, {0, 0, 4}},
      {"its second part", PL_GRID(D | 7, 8), {P, A}, 2, 1, {0, 4, 3}},
      {"largest static, not the run-time one", PL_GRID(D | 100, 5), {P, P}, 2, 1, {1, 3, 2}},
      {"largest static", PL_GRID(5, 9, 7), {P, P, P}, 4, 0, {1, 0, 3}},
      {"largest static, a later core", PL_GRID(5, 9, 7), {P, P, P}, 4, 3, {1, 7, 2}},
      {"the first of equals", PL_GRID(9, 9), {P, P}, 2, 0, {0, 0, 5}},
      {"a core without steps", PL_GRID(3), {P}, 4, 3, {0, 3, 0}},
      {"run-time extent 0", PL_GRID(D | 0), {P}, 4, 2, {0, 0, 0}},
      {"CORE_PARALLEL before all", PL_GRID(8, 3), {P, C}, 2, 1, {1, 2, 1}},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pl_core_part part;
    const pl_status status =
        pl_partition_grid(&cases[i].grid, cases[i].semantics, cases[i].cores, cases[i].core, &part);
    check(status == PL_OK && part.dimension == cases[i].want.dimension &&
              (part.dimension < 0 ||
               (part.offset == cases[i].want.offset && part.extent == cases[i].want.extent)),
          "partition: %s (dimension %d, %d + %d)%s", cases[i].name, (int)part.dimension, (int)part.offset,
          (int)part.extent, status == PL_OK ? "" : pl_error_message());
  }
}

static void test_errors(void) {
  static const uint8_t none[4] = {A, A}, both[4] = {P, P}, twice[4] = {C, C};
  const pl_grid_spec grid = PL_GRID(4, 5), dynamic = PL_GRID(D | 4, D | 4);
  pl_core_part part;
  suite_fails(pl_partition_grid(&grid, none, 2, 0, &part), PL_ERROR_SPEC, "partition: nothing to share",
              "2 cores, and no PARALLEL dimension that they could share", NULL);
  suite_fails(
      pl_partition_grid(&dynamic, both, 2, 0, &part), PL_ERROR_SPEC, "partition: several run-time ones",
      "2 run-time PARALLEL dimensions and no static one that 2 cores divide: mark the one that cores share "
      "with CORE_PARALLEL",
      NULL);
  suite_fails(pl_partition_grid(&grid, twice, 2, 0, &part), PL_ERROR_SPEC, "partition: two for the cores",
              "grid dimensions 0 and 1 are both CORE_PARALLEL; cores share one", NULL);
  suite_fails(pl_partition_grid(&grid, both, 2, 2, &part), PL_ERROR_ARGUMENT, "partition: no such core",
              "core 2 of 2", NULL);
}

static void test_cover(void) {
  uint32_t bad = 0;
  for (unsigned i = 0; i < 20000; i++) {
    pl_grid_spec grid = {.rank = (uint8_t)(1 + check_random_below(&suite.random, 3))};
    uint8_t semantics[PL_MAX_GRID] = {0};
    const uint32_t cores = 2 + check_random_below(&suite.random, 15);
    for (unsigned d = 0; d < grid.rank; d++) {
      grid.extent[d] = 1 + (int32_t)check_random_below(&suite.random, 40);
      semantics[d] = (uint8_t)(check_random_below(&suite.random, 3) != 0);
    }
    int32_t next = 0, dimension = -1, least = 1 << 30, most = 0;
    for (uint32_t core = 0; core < cores; core++) {
      pl_core_part part;
      if (pl_partition_grid(&grid, semantics, cores, core, &part) != PL_OK) {
        bad += semantics[0] || semantics[1] || semantics[2];
        break;
      }
      bad += core > 0 && (part.dimension != dimension || part.extent > least);
      bad += part.offset != next || semantics[part.dimension] != PL_PARALLEL;
      dimension = part.dimension;
      next += part.extent;
      least = part.extent < least ? part.extent : least;
      most = part.extent > most ? part.extent : most;
      bad += core + 1 == cores && (next != grid.extent[dimension] || most - least > 1);
    }
  }
  check(bad == 0, "partition: 20000 grids: contiguous, even, complete, long parts first (%u wrong)", bad);
}

static void all_along(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
}
static void at_its_end(const pl_grid *g, pl_index *b) { /* only the last step of the last row differs */
  b[0].start = g->id[0] == g->extent[0] - 1 && g->id[1] == g->extent[1] - 1;
}
static void by_size(const pl_grid *g, pl_index *b) {
  b[0].size = g->id[0];
}
static unsigned asked;
static void counted(const pl_grid *g, pl_index *b) {
  asked++;
  b[0].start = g->id[0];
}

/* Cores that share a dimension must not all write the same blocks. */
static void test_outputs(void) {
  static const uint8_t first[2] = {P, A}, second[2] = {A, P};
  static const char wrong[] =
      "output 3: its map does not depend on grid dimension 0, which 2 cores share: all would write the same "
      "blocks; let it depend on it, or make the dimension ARBITRARY";
  const pl_grid_spec grid = PL_GRID(4, 5), one = PL_GRID(1, 5), none = PL_GRID(D | 0, 5),
                     empty = PL_GRID(4, 0);
  const pl_block_spec *const same = PL_BLOCK(all_along, 8);
#define OK_OUTPUT(name_, ...) check(pl_partition_output(__VA_ARGS__) == PL_OK, "partition: output: " name_)

  suite_fails(pl_partition_output(&grid, first, 2, same, 3), PL_ERROR_SPEC,
              "partition: an output all cores write", wrong, NULL);
  suite_fails(pl_partition_output(&grid, first, 2, PL_WHOLE, 3), PL_ERROR_SPEC,
              "partition: a whole output all cores write", wrong, NULL);
  OK_OUTPUT("one core", &grid, first, 1, same, 3);
  OK_OUTPUT("another dimension is shared", &grid, second, 2, same, 3);
  OK_OUTPUT("only one core has a step", &one, first, 2, same, 3);
  OK_OUTPUT("no core has a step", &none, first, 2, same, 3);
  OK_OUTPUT("no core has a step along another dimension", &empty, first, 2, same, 3);
  OK_OUTPUT("blocks differ in one place", &grid, first, 2, PL_BLOCK(at_its_end, 8), 3);
  OK_OUTPUT("blocks differ in size", &grid, first, 2, PL_BLOCK(by_size, 8), 3);
  asked = 0;
  OK_OUTPUT("the usual one", &grid, first, 2, PL_BLOCK(counted, 8), 3);
  check(asked == 2, "partition: output: two questions suffice (%u)", asked);
  const pl_grid_spec long_names = PL_GRID(4, 5);
  static const uint8_t arbitrary[2] = {A, A};
  suite_fails(pl_partition_output(&long_names, arbitrary, 2, same, 3), PL_ERROR_SPEC,
              "partition: an output of a grid that cannot be shared", "no PARALLEL dimension", NULL);
}

void suite_partition(void) {
  test_outputs();
  test_rule();
  test_errors();
  test_cover();
}
