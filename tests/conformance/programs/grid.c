/* SPDX-License-Identifier: MIT */
/* Grids: order, rank, run-time extents, what program_id and num_programs say. Twins: twins/grid.py. */
#include "case.h"
#include "maps.h"

static void number_body(void) {
  pl_fill(pl_output(0), (uint32_t)(10 * pl_program_id(0) + pl_program_id(1)));
}

static void numbered(int32_t rows, int32_t columns) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "numbered",
                            .body = number_body,
                            .grid = PL_GRID(rows, columns),
                            .out = {PL_BLOCK(ij_map, 2, 3)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

static void grid_order(void) {
  numbered(4, 2);
}
static void grid_ragged(void) {
  numbered(4, 2);
}
static void grid_one_block(void) {
  numbered(1, 1);
}

static void ignored_body(void) {
  pl_fill(pl_output(0), (uint32_t)(100 * pl_program_id(0) + 10 * pl_program_id(1) + pl_program_id(2)));
}

static void grid_ignored_dim(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {
      .name = "ignored", .body = ignored_body, .grid = PL_GRID(4, 2, 10), .out = {PL_BLOCK(ij_map, 8, 128)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

static void grid_empty(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "empty", .body = double_body};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* o = x + id: the id reaches the vector unit through a row of VMEM scratch. */
static void add_id_body(void) {
  pl_fill(pl_scratch(0), (uint32_t)pl_program_id(0));
  pl_add(pl_output(0), pl_input(0), pl_scratch(0));
}

static void grid_int(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "int",
                            .body = add_id_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_BLOCK(rows_map, 8, 128)},
                            .scratch = {PL_VMEM(PL_INT32, 1, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void count_body(void) {
  if (pl_program_id(0) == 0 &&
      (pl_running->grid.rank == 1 || (pl_program_id(1) == 0 && pl_program_id(2) == 0)))
    pl_fill(pl_output(0), 0);
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

static void counting(pl_grid_spec grid) {
  const pl_array one = case_input("one"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "counting",
                            .body = count_body,
                            .grid = grid,
                            .in = {PL_BLOCK(origin_map, 8, 128)},
                            .out = {PL_BLOCK(origin_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(one), PL_RESULTS(o));
}

static void grid_dynamic(void) {
  counting((pl_grid_spec)PL_GRID(PL_DYN(8)));
}
static void grid_dynamic_3d(void) {
  counting((pl_grid_spec)PL_GRID(PL_DYN(8), PL_DYN(5), PL_DYN(3)));
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void grid_dynamic_zero(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "zero",
                            .body = copy_body,
                            .grid = PL_GRID(2, PL_DYN(0)),
                            .in = {PL_BLOCK(origin_map, 8, 128)},
                            .out = {PL_BLOCK(rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void extents_body(void) {
  pl_put(pl_output(0), pl_num_programs(0), 0, 0);
  pl_put(pl_output(0), pl_num_programs(1), 0, 1);
  pl_put(pl_output(0), pl_program_id(0), 0, 2);
  pl_put(pl_output(0), pl_program_id(1), 0, 3);
}

static void grid_num_programs(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {
      .name = "extents", .body = extents_body, .grid = PL_GRID(3, 2), .out = {PL_BLOCK(flat_map, 1, 4)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

static void digits_body(void) {
  int32_t n = 0;
  for (int axis = 0; axis < 6; axis++)
    n = n * 10 + pl_program_id(axis);
  pl_fill(pl_output(0), (uint32_t)n);
}
static void mixed_radix_map(const pl_grid *g, pl_index *b) {
  int32_t step = 0;
  for (int axis = 0; axis < 6; axis++)
    step = step * g->extent[axis] + g->id[axis];
  b[0].start = step;
  b[1].start = 0;
}
static void grid_6d(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "six",
                            .body = digits_body,
                            .grid = PL_GRID(2, 1, 2, 3, 1, 2),
                            .out = {PL_BLOCK(mixed_radix_map, 1, 16)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

/* 100 + the core of each step, from the parts that two cores get. */
static void partition(pl_grid_spec grid, const uint8_t *semantics, int32_t *row) {
  int32_t steps = 1;
  for (unsigned d = 0; d < grid.rank; d++)
    steps *= grid.extent[d];
  for (int32_t i = 0; i < 64; i++)
    row[i] = 0;
  for (uint32_t core = 0; core < 2; core++) {
    pl_core_part part;
    if (!case_done(pl_partition_grid(&grid, semantics, 2, core, &part)))
      return;
    for (int32_t step = 0; step < steps; step++) {
      int32_t rest = step, id = 0;
      for (int d = grid.rank - 1; d >= (part.dimension < 0 ? 0 : part.dimension); d--) {
        id = rest % grid.extent[d];
        rest /= grid.extent[d];
      }
      if (part.dimension < 0 || (id >= part.offset && id < part.offset + part.extent))
        row[step] = row[step] != 0 ? -1 : 100 + (int32_t)core; /* -1: more than one core */
    }
  }
}

static void grid_partition(void) {
  static const pl_grid_spec grids[] = {PL_GRID(8),    PL_GRID(5),    PL_GRID(8, 3),
                                       PL_GRID(5, 3), PL_GRID(2, 7), PL_GRID(8, 8),
                                       PL_GRID(5, 7), PL_GRID(1, 1), PL_GRID(3, 4, 5)};
  static const uint8_t parallel[8] = {PL_PARALLEL, PL_PARALLEL, PL_PARALLEL};
  static const uint8_t arbitrary_first[8] = {PL_ARBITRARY, PL_PARALLEL, PL_PARALLEL};
  const pl_array o = case_output("o", NULL);
  int32_t *row = pl_hbm_pointer(&o);

  for (unsigned i = 0; i < sizeof grids / sizeof grids[0]; i++, row += 64)
    partition(grids[i], i == 4 || i == 8 ? arbitrary_first : parallel, row);
}

const struct conformance_case conformance_cases[] = {
    CASE(grid_order),
    CASE(grid_ragged),
    CASE(grid_one_block),
    CASE(grid_ignored_dim),
    CASE(grid_empty),
    CASE(grid_int),
    CASE(grid_dynamic),
    CASE(grid_dynamic_3d),
    CASE(grid_dynamic_zero),
    CASE(grid_num_programs),
    CASE(grid_6d),
    CASE(grid_partition),
    CASE_END,
};
