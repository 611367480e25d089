/* SPDX-License-Identifier: MIT */
/*
 * What must be refused, and how it is said. Each error is followed by other cases in the same run, which
 * must work. Twins: twins/blocks.py, twins/state.py and
 * twins/copies.py.
 */
#include "case.h"

#define MAP(name_, ...)                                                                                      \
  static void name_(const pl_grid *g, pl_index *b) {                                                         \
    const int32_t i = g->id[0], start[] = {__VA_ARGS__};                                                     \
    (void)i;                                                                                                 \
    for (unsigned d = 0; d < sizeof start / sizeof start[0]; d++)                                            \
      b[d].start = start[d];                                                                                 \
  }

MAP(rows_map, i, 0)
MAP(i00_map, i, 0, 0)
MAP(plus_one_map, i + 1, 0)
MAP(plus_two_map, i + 2, 0)
MAP(minus_one_map, i - 1, 0)
MAP(fourth_rows_map, 4 * i, 0)
MAP(fourth_plus_one_map, 4 * i + 1, 0)
MAP(flat_map, i * g->extent[1] + g->id[1], 0)
MAP(table_map, pl_get(pl_prefetch(0), i), 0)

#define ROWS PL_BLOCK(rows_map, 8, 128)

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* ---- block specs ---- */

static void shifted(const pl_block_spec *in, const pl_block_spec *out) {
  const pl_array x = case_input("x");
  pl_shape shape = PL_SHAPE(16, 128);
  pl_array o;

  if (!case_done(pl_alloc(PL_HBM, PL_F32, shape, &o)))
    return;
  const pl_kernel kernel = {
      .name = "shifted", .body = copy_body, .grid = PL_GRID(4), .in = {in}, .out = {out}};
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void block_index_in(void) {
  shifted(PL_BLOCK(plus_one_map, 4, 128), PL_BLOCK(rows_map, 4, 128));
}
static void block_index_out(void) {
  shifted(PL_BLOCK(rows_map, 4, 128), PL_BLOCK(plus_two_map, 4, 128));
}
static void block_index_elements(void) {
  shifted(PL_BLOCK(fourth_rows_map, 4, 128), PL_BLOCK(rows_map, 4, 128));
}
static void block_index_negative(void) {
  shifted(PL_BLOCK(minus_one_map, 4, 128), PL_BLOCK(rows_map, 4, 128));
}
static void block_element_past_end(void) {
  shifted(PL_SPEC(PL_DIMS(4, 128), .map = fourth_plus_one_map, .kind = {PL_ELEMENT, PL_ELEMENT}),
          PL_BLOCK(rows_map, 4, 128));
}
static void block_rank_mismatch(void) {
  shifted(PL_BLOCK(i00_map, 4, 128, 1), PL_BLOCK(rows_map, 4, 128));
}

/* One wants to add what is in HBM. */
static void hbm_load_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}
static void block_hbm_load(void) {
  const pl_array x = case_input("x");
  pl_array o;
  if (!case_done(pl_alloc(PL_HBM, PL_F32, PL_SHAPE(16, 128), &o)))
    return;
  const pl_kernel kernel = {.name = "load", .body = hbm_load_body, .in = {PL_IN_HBM}};
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

/* ---- grids and aliases ---- */

/* A call into an array of the case's own that must fail. */
static void fails(pl_kernel kernel, pl_array x, pl_shape shape) {
  pl_array o;
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, shape, &o)))
    return;
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void alias_mismatch(void) {
  const pl_array x = case_input("x");
  fails((pl_kernel){.name = "mismatch",
                    .body = copy_body,
                    .grid = PL_GRID(2),
                    .in = {ROWS},
                    .out = {PL_SPEC(PL_DIMS(8, 128), .map = rows_map, .alias = PL_ALIAS(0))}},
        x, PL_SHAPE(16, 128));
}

/* An output that is the input's memory may not be come back to either: JAX's modes give three answers. */
static void alias_revisit(void) {
  const pl_array x = case_input("x"), table = case_input("table");
  pl_array o;
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(x.shape[0], 128), &o)))
    return;
  const pl_kernel kernel = {.name = "revisit",
                            .body = copy_body,
                            .grid = PL_GRID(4),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(table_map, 8, 128)},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .alias = PL_ALIAS(0))}};
  case_fails(pl_call(&kernel, PL_ARGS(table, o), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void parallel_suffix(void) {
  fails((pl_kernel){.name = "suffix",
                    .body = copy_body,
                    .grid = PL_GRID(4, 4),
                    .dimension_semantics = {PL_ARBITRARY, PL_PARALLEL},
                    .in = {PL_BLOCK(flat_map, 8, 128)},
                    .out = {PL_BLOCK(flat_map, 8, 128)}},
        case_input("x"), PL_SHAPE(128, 128));
}

static void grid_bad_extent(void) {
  const pl_array x = case_input("x");
  fails((pl_kernel){.name = "zero", .body = copy_body, .grid = PL_GRID(0, 2), .in = {ROWS}, .out = {ROWS}}, x,
        PL_SHAPE(16, 128));
  fails(
      (pl_kernel){.name = "negative", .body = copy_body, .grid = PL_GRID(2, -1), .in = {ROWS}, .out = {ROWS}},
      x, PL_SHAPE(16, 128));
}

/* ---- what is ours alone ---- */

static void budget(void) {
  const pl_array x = case_input("x");
  fails((pl_kernel){.name = "budget",
                    .body = copy_body,
                    .grid = PL_GRID(2),
                    .in = {PL_BUFFERED(8, rows_map, 128, 128)},
                    .out = {PL_BUFFERED(2, rows_map, 128, 128)}},
        x, PL_SHAPE(256, 128));
}

static void check_body(void) {
  pl_debug_check(pl_program_id(0) < 2, "row %d of 2", (int)pl_program_id(0));
  pl_copy(pl_output(0), pl_input(0));
}
static void debug_check(void) {
  const unsigned before = pl_debug_get();
  const pl_kernel kernel = {
      .name = "check", .body = check_body, .grid = PL_GRID(4), .in = {ROWS}, .out = {ROWS}};
  pl_debug_set(before | PL_DEBUG_CHECKS);
  fails(kernel, case_input("x"), PL_SHAPE(32, 128));
  pl_debug_set(before);
}

static pl_ref kept;
static void keep_body(void) {
  if (pl_program_id(0) == 0)
    kept = pl_input(0);
  pl_copy(pl_output(0), kept);
}
static void ref_of_another_step(void) {
  const pl_kernel kernel = {
      .name = "keep", .body = keep_body, .grid = PL_GRID(4), .in = {ROWS}, .out = {ROWS}};
  fails(kernel, case_input("x"), PL_SHAPE(32, 128));
}

/* ---- races: the kernels end well, and the functional model reports them ---- */

static void racing(const char *name, void (*body)(void)) {
  const pl_array x = case_input("x");
  const pl_kernel kernel = {
      .name = name,
      .body = body,
      .in = {PL_IN_HBM},
      .out = {PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, 8, 128), PL_VMEM(PL_INT32, 8, 128), PL_SEMAPHORES(1)}};
  pl_array o;

  if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(8, 128), &o)))
    return;
  case_done(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void missing_wait_body(void) {
  pl_ref v = pl_scratch(0), w = pl_scratch(1);
  const pl_copy_handle copy = pl_async_copy(pl_input(0), v, pl_scratch(2));
  pl_add(w, v, v);
  pl_wait(&copy);
  pl_sync_copy(w, pl_output(0));
}
static void race_missing_wait(void) {
  racing("missing_wait", missing_wait_body);
}

static void source_body(void) {
  pl_ref v = pl_scratch(0);
  pl_sync_copy(pl_input(0), v);
  const pl_copy_handle copy = pl_async_copy(v, pl_output(0), pl_scratch(2));
  pl_fill(v, 0);
  pl_wait(&copy);
}
static void race_source(void) {
  racing("source", source_body);
}

const struct conformance_case conformance_cases[] = {
    CASE(block_index_in),
    CASE(block_index_out),
    CASE(block_index_elements),
    CASE(block_index_negative),
    CASE(block_element_past_end),
    CASE(block_rank_mismatch),
    CASE(block_hbm_load),
    CASE(alias_mismatch),
    CASE(alias_revisit),
    CASE(parallel_suffix),
    CASE(grid_bad_extent),
    CASE(budget),
    CASE(debug_check),
    CASE(ref_of_another_step),
    CASE(race_missing_wait),
    CASE(race_source),
    CASE_END,
};
