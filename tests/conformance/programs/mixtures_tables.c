/* SPDX-License-Identifier: MIT */
/* Tables, copies by hand and pipelines in the body, with edges. Twins: twins/mixtures.py. */
#include "mixture.h"

/* ---- tables ---- */

static void skip_body(void) {
  const int32_t i = pl_program_id(0);
  pl_ref o = pl_output(0);
  if (i == 0)
    pl_fill(o, 0);
  if (pl_get(pl_prefetch(1), i) != 0)
    pl_add(o, o, pl_input(0));
}
static void skipped_blocks(void) {
  const pl_array s = case_input("table"), w = case_input("work"), x = case_input("x"),
                 o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "skip",
                            .body = skip_body,
                            .grid = PL_GRID(8),
                            .num_scalar_prefetch = 2,
                            .in = {PL_BLOCK(table_map, 8, 128)},
                            .out = {PL_BLOCK(origin_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(s, w, x), PL_RESULTS(o));
}

static void hundred_body(void) {
  pl_add(pl_output(0), pl_input(0), number(pl_scratch(0), 100));
}
static void alias_windows(void) {
  const pl_array s = case_input("table"), o = case_output("o", "x");
  const pl_block_spec in = {PL_DIMS(8, 128), .map = table_map, .kind = {PL_ELEMENT, PL_ELEMENT}};
  pl_block_spec out = in;
  out.alias = PL_ALIAS(0);
  const pl_kernel kernel = {.name = "windows",
                            .body = hundred_body,
                            .grid = PL_GRID(3),
                            .num_scalar_prefetch = 1,
                            .in = {&in},
                            .out = {&out},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(s, o), PL_RESULTS(o));
}

static void lookahead_ragged(void) {
  run_table((pl_kernel){.body = copy_body,
                        .grid = PL_GRID(8),
                        .in = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .buffer_count = 3, .lookahead = 1)},
                        .out = {ROWS}},
            "table");
}

static void second_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = 0;
}
static void increase_body(void) {
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void inout_ragged(void) {
  const pl_array x = case_input("x"), o = case_output("o", "z");
  const pl_kernel kernel = {.name = "inout",
                            .body = increase_body,
                            .grid = PL_GRID(3, 3),
                            .in = {PL_BLOCK(second_map, 8, 128)},
                            .out = {PL_INOUT(rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* ---- copies and pipelines in the body ---- */

static void copies_of(int32_t step, pl_copy_handle copies[2]) {
  const int32_t slot = step % 2;
  pl_ref v = pl_at(pl_scratch(0), PL_INDEX(slot)), sem = pl_at(pl_scratch(1), PL_INDEX(slot));
  for (int32_t k = 0; k < 2; k++)
    copies[k] = pl_make_async_copy(pl_at(pl_input(0), PL_DS(8 * pl_get(pl_prefetch(0), 2 * step + k), 8)),
                                   pl_at(v, PL_DS(8 * k, 8)), sem);
}
static void by_copy_body(void) {
  const int32_t i = pl_program_id(0);
  pl_copy_handle copies[2];
  for (int32_t step = i == 0 ? 0 : i + 1; step <= i + 1 && step < pl_num_programs(0); step++) {
    copies_of(step, copies);
    pl_start_all(copies, 2);
  }
  copies_of(i, copies);
  pl_wait_all(copies, 2);
  pl_ref v = pl_at(pl_scratch(0), PL_INDEX(i % 2));
  pl_add(pl_output(0), v, v);
}
static void rows_by_copy(void) {
  run_table((pl_kernel){.body = by_copy_body,
                        .grid = PL_GRID(4),
                        .in = {PL_IN_HBM},
                        .out = {PL_BLOCK(rows_map, 16, 128)},
                        .scratch = {PL_VMEM(PL_INT32, 2, 16, 128), PL_SEMAPHORES(2)}},
            "table");
}

static void add_to_outer_body(void) {
  pl_ref acc = *(pl_ref *)pl_user();
  pl_add(acc, acc, pl_input(0));
}
static void counts_body(void) {
  const int32_t i = pl_program_id(0), n = pl_get(pl_prefetch(0), i);
  pl_ref acc = pl_scratch(0);
  const pl_kernel pipeline = {
      .name = "add", .body = add_to_outer_body, .grid = PL_GRID(PL_DYN(n)), .in = {ROWS}, .user = &acc};
  pl_fill(acc, (uint32_t)n);
  pl_emit_pipeline(&pipeline, PL_REFS(pl_at(pl_input(0), PL_DS(24 * i, 24))), (pl_refs){0});
  pl_copy(pl_output(0), acc);
}
static void pipe_of_counts(void) {
  run_table(
      (pl_kernel){
          .body = counts_body, .grid = PL_GRID(3), .in = {PL_IN_HBM}, .out = {ROWS}, .scratch = {BLOCK32}},
      "count");
}

struct copied {
  pl_ref table, element;
};
static void copied_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(((const struct copied *)pl_user())->table, g->id[0]), b[1].start = 0;
}
static void triple_body(void) {
  pl_mul(pl_output(0), pl_input(0), number(((const struct copied *)pl_user())->element, 3));
}
static void copied_body(void) {
  const int32_t i = pl_program_id(0);
  struct copied user = {pl_scratch(0), pl_scratch(1)};
  const pl_kernel pipeline = {.name = "triple",
                              .body = triple_body,
                              .grid = PL_GRID(4),
                              .in = {PL_BUFFERED(3, copied_map, 8, 128)},
                              .out = {ROWS},
                              .user = &user};
  pl_sync_copy(pl_at(pl_input(0), PL_INDEX(i)), user.table);
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(1)), PL_REFS(pl_at(pl_output(0), PL_DS(32 * i, 32))));
}
static void pipe_by_copied_table(void) {
  const pl_array s = case_input("tables"), x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "copied",
                            .body = copied_body,
                            .grid = PL_GRID(2),
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_SMEM(PL_INT32, 4), NUMBER}};
  case_call(&kernel, PL_ARGS(s, x), PL_RESULTS(o));
}

const struct conformance_case conformance_cases[] = {
    CASE(skipped_blocks), CASE(alias_windows),  CASE(lookahead_ragged),     CASE(inout_ragged),
    CASE(rows_by_copy),   CASE(pipe_of_counts), CASE(pipe_by_copied_table), CASE_END,
};
