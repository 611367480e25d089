/* SPDX-License-Identifier: MIT */
/* Scalar prefetch, aliasing, scratch, and which state is kept for how long. Twins: twins/state.py. */
#include "case.h"
#include "maps.h"

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

#define ROWS PL_BLOCK(rows_map, 8, 128)

/* o = a + n, the number through one element of VMEM scratch k. */
static void add_number(pl_ref o, pl_ref a, int32_t n, int k) {
  pl_put(pl_scratch(k), n, 0, 0);
  pl_add(o, a, pl_scratch(k));
}
#define NUMBER PL_VMEM(PL_INT32, 1, 1)

static void prefetch_gather(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "gather",
                            .body = copy_body,
                            .grid = PL_GRID(8),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(table_map, 8, 128)},
                            .out = {ROWS}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

static void prefetch_two(void) {
  const pl_array x = case_input("x"), into = case_input("into"), out = case_input("out");
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "two",
                            .body = copy_body,
                            .grid = PL_GRID(8),
                            .num_scalar_prefetch = 2,
                            .in = {PL_BLOCK(table_map, 8, 128)},
                            .out = {PL_BLOCK(second_table_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(into, out, x), PL_RESULTS(o));
}

static void types_body(void) {
  const int32_t i = pl_program_id(0);
  const int32_t sum = pl_get(pl_prefetch(0), i) + pl_get(pl_prefetch(1), i) + pl_get(pl_prefetch(2), i);
  pl_put_float(pl_scratch(0), (float)sum, 0, 0);
  pl_add(pl_output(0), pl_input(0), pl_scratch(0));
  pl_put_float(pl_scratch(0), pl_get_float(pl_prefetch(3), i), 0, 0);
  pl_add(pl_output(0), pl_output(0), pl_scratch(0));
}
static void low_bits_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]) & 3, b[1].start = 0;
}

static void prefetch_types(void) {
  const pl_array x = case_input("x"), a = case_input("a"), b = case_input("b"), c = case_input("c");
  const pl_array d = case_input("d"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "types",
                            .body = types_body,
                            .grid = PL_GRID(4),
                            .num_scalar_prefetch = 4,
                            .in = {PL_BLOCK(low_bits_map, 8, 128)},
                            .out = {ROWS},
                            .scratch = {PL_VMEM(PL_F32, 1, 1)}};
  case_call(&kernel, PL_ARGS(a, b, c, d, x), PL_RESULTS(o));
}

static void rank_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0], 1, g->id[1]), b[1].start = 0;
}

static void prefetch_rank(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "rank",
                            .body = copy_body,
                            .grid = PL_GRID(2, 3),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(rank_map, 8, 128)},
                            .out = {PL_BLOCK(flat_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

static void written_body(void) {
  const int32_t n = pl_get(pl_prefetch(0), 0) + 3;
  pl_put(pl_prefetch(0), n, 0);
  add_number(pl_output(0), pl_input(0), n, 0);
}

static void prefetch_written(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "written",
                            .body = written_body,
                            .grid = PL_GRID(4),
                            .num_scalar_prefetch = 1,
                            .in = {ROWS},
                            .out = {ROWS},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

/* ---- aliasing: the argument is the array that the result is, too ---- */

static void odd_map(const pl_grid *g, pl_index *b) {
  b[0].start = 2 * g->id[0] + 1, b[1].start = 0;
}
static void odd_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
  add_number(pl_output(0), pl_output(0), 1, 0);
}

static void alias_unvisited(void) {
  const pl_array o = case_output("o", "x");
  const pl_kernel kernel = {.name = "unvisited",
                            .body = odd_body,
                            .grid = PL_GRID(2),
                            .in = {PL_BLOCK(odd_map, 8, 128)},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = odd_map, .alias = PL_ALIAS(0))},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(o), PL_RESULTS(o));
}

static void sum_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}

static void alias_second(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", "z");
  const pl_kernel kernel = {.name = "second",
                            .body = sum_body,
                            .grid = PL_GRID(2),
                            .num_scalar_prefetch = 1,
                            .in = {ROWS, PL_BLOCK(table_map, 8, 128)},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .alias = PL_ALIAS(1))}};
  case_call(&kernel, PL_ARGS(table, x, o), PL_RESULTS(o));
}

static void next_body(void) {
  add_number(pl_output(0), pl_input(0), 1, 0);
}

static void alias_same_block(void) {
  const pl_array o = case_output("o", "x");
  const pl_kernel kernel = {.name = "same",
                            .body = next_body,
                            .grid = PL_GRID(4),
                            .in = {PL_BLOCK(origin_map, 8, 128)},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = origin_map, .alias = PL_ALIAS(0))},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(o), PL_RESULTS(o));
}

static void twice_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
  add_number(pl_output(0), pl_output(0), 1, 0);
}
static void alias_distance(void) {
  const pl_array table = case_input("table"), o = case_output("o", "x");
  const pl_kernel kernel = {.name = "distance",
                            .body = twice_body,
                            .grid = PL_GRID(6),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(table_map, 8, 128)},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = rows_map, .alias = PL_ALIAS(0))},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(table, o), PL_RESULTS(o));
}

/* ---- scratch and scopes ---- */

static void persists_body(void) {
  if (pl_program_id(0) == 0)
    pl_copy(pl_scratch(0), pl_input(0));
  else
    pl_add(pl_scratch(0), pl_scratch(0), pl_input(0));
  if (pl_program_id(0) == 2)
    pl_copy(pl_output(0), pl_scratch(0));
}

static void scratch_persists(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "persists",
                            .body = persists_body,
                            .grid = PL_GRID(3),
                            .in = {ROWS},
                            .out = {PL_BLOCK(origin_map, 8, 128)},
                            .scratch = {PL_VMEM(PL_INT32, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void smem_body(void) {
  pl_ref n = pl_scratch(1);
  if (pl_program_id(0) == 0)
    pl_put(n, 100, 0);
  pl_put(n, pl_get(n, 0) + 7, 0);
  add_number(pl_output(0), pl_input(0), pl_get(n, 0), 0);
}

static void scratch_smem(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "smem",
                            .body = smem_body,
                            .grid = PL_GRID(4),
                            .in = {ROWS},
                            .out = {ROWS},
                            .scratch = {NUMBER, PL_SMEM(PL_INT32, 1)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void many_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_copy(pl_scratch(0), x);
  pl_add(pl_scratch(1), x, x);
  pl_put(pl_scratch(2), 5, 1, 2);
  pl_add(o, pl_scratch(0), pl_scratch(1));
  pl_put_float(pl_scratch(3), (float)pl_get(pl_scratch(2), 1, 2), 0, 0);
  pl_add(o, o, pl_scratch(3));
}

static void scratch_many(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "many",
                            .body = many_body,
                            .grid = PL_GRID(1),
                            .in = {PL_BLOCK(rows_map, 16, 128)},
                            .out = {PL_BLOCK(rows_map, 16, 128)},
                            .scratch = {PL_VMEM(PL_BF16, 16, 128), PL_VMEM(PL_F32, 16, 128),
                                        PL_SMEM(PL_INT32, 2, 3), PL_VMEM(PL_F32, 1, 1)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void inner_scope(const pl_ref *refs, void *user) {
  pl_ref a = *(pl_ref *)user, b = refs[0];
  pl_put(refs[1], 4, 0);
  pl_add(b, a, a);
  add_number(a, b, pl_get(refs[1], 0), 0);
}
static void outer_scope(const pl_ref *refs, void *user) {
  pl_ref a = refs[0];
  (void)user;
  add_number(a, pl_input(0), 1, 0);
  pl_run_scoped(inner_scope, &a, PL_VMEM(PL_INT32, 8, 128), PL_SMEM(PL_INT32, 1));
  pl_copy(pl_output(0), a);
}
static void scoped_body(void) {
  pl_run_scoped(outer_scope, NULL, PL_VMEM(PL_INT32, 8, 128));
}

static void scoped(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "scoped",
                            .body = scoped_body,
                            .grid = PL_GRID(3),
                            .in = {ROWS},
                            .out = {ROWS},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void semaphore_scope(const pl_ref *refs, void *user) {
  const pl_copy_handle copy = pl_async_copy(pl_input(0), refs[1], refs[0]);
  (void)user;
  pl_wait(&copy);
  add_number(pl_output(0), refs[1], 1, 0);
}
static void scoped_semaphore_body(void) {
  pl_run_scoped(semaphore_scope, NULL, PL_SEMAPHORES(1), PL_VMEM(PL_INT32, 8, 128));
}

static void scoped_semaphore(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "semaphore",
                            .body = scoped_semaphore_body,
                            .grid = PL_GRID(2),
                            .in = {ROWS},
                            .out = {ROWS},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* ---- grids: names, semantics, extents ---- */

static void names_body(void) {
  pl_fill(pl_output(0), (uint32_t)(10 * pl_program_id(pl_axis("row")) + pl_program_id(pl_axis("column"))));
}

static void names(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "names",
                            .body = names_body,
                            .grid = PL_GRID(3, 2),
                            .grid_names = {"row", "column"},
                            .out = {PL_BLOCK(ij_map, 8, 128)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

static void order_body(void) {
  pl_ref acc = pl_scratch(0);
  if (pl_program_id(1) == 0)
    pl_fill(acc, 0);
  pl_add(pl_scratch(1), acc, acc);
  pl_add(acc, pl_scratch(1), acc);
  pl_add(acc, acc, pl_input(0));
  if (pl_program_id(1) == 3)
    pl_copy(pl_output(0), acc);
}

static void parallel_order(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "order",
                            .body = order_body,
                            .grid = PL_GRID(4, 4),
                            .dimension_semantics = {PL_PARALLEL, PL_ARBITRARY},
                            .in = {PL_BLOCK(flat_map, 8, 128)},
                            .out = {ROWS},
                            .scratch = {PL_VMEM(PL_INT32, 8, 128), PL_VMEM(PL_INT32, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

const struct conformance_case conformance_cases[] = {
    CASE(prefetch_gather),
    CASE(prefetch_two),
    CASE(prefetch_types),
    CASE(prefetch_rank),
    CASE(prefetch_written),
    CASE(alias_unvisited),
    CASE(alias_second),
    CASE(alias_same_block),
    CASE(scratch_persists),
    CASE(scratch_smem),
    CASE(scratch_many),
    CASE(scoped),
    CASE(scoped_semaphore),
    CASE(names),
    CASE(parallel_order),
    CASE(alias_distance),
    CASE_END,
};
