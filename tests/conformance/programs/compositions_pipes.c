/* SPDX-License-Identifier: MIT */
/* Several pipelines in a body, and what they share with it. Twins: twins/compositions.py. */
#include "outer.h"

#define BLOCKS(n) PL_VMEM(PL_INT32, (n), 8, 128)

static void from_the_end_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->extent[0] - 1 - g->id[0], b[1].start = 0;
}
static void add_three_body(void) {
  add_number(pl_output(0), pl_input(0), 3, *(pl_ref *)pl_user());
}
static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}
static void two_body(void) {
  const int32_t i = pl_program_id(0);
  pl_ref element = pl_scratch(0), part = PART(pl_output(0), i, 24);
  const pl_kernel add = {.name = "add",
                         .body = add_three_body,
                         .grid = PL_GRID(3),
                         .in = {ROWS},
                         .out = {ROWS},
                         .user = &element};
  const pl_kernel swap = {.name = "swap",
                          .body = double_body,
                          .grid = PL_GRID(3),
                          .in = {PL_BLOCK(from_the_end_map, 8, 128)},
                          .out = {ROWS}};
  pl_emit_pipeline(&add, PL_REFS(PART(pl_input(0), i, 24)), PL_REFS(part));
  pl_emit_pipeline(&swap, PL_REFS(part), PL_REFS(PART(pl_output(1), i, 24)));
}
static void pipes_two(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  const pl_kernel kernel = {.name = "two",
                            .body = two_body,
                            .grid = PL_GRID(2),
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM, PL_IN_HBM},
                            .scratch = {NUMBER}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o, p));
}

static void outer_table_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), 3 * *(int32_t *)pl_user() + g->id[0]), b[1].start = 0;
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void by_table_body(void) {
  int32_t i = pl_program_id(0);
  const pl_kernel pipeline = {.name = "by_table",
                              .body = copy_body,
                              .grid = PL_GRID(3),
                              .in = {PL_BLOCK(outer_table_map, 8, 128)},
                              .out = {ROWS},
                              .user = &i};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(PART(pl_output(0), i, 24)));
}
static void pipe_by_table(void) {
  const pl_array s = case_input("table"), x = case_input("x"), o = case_output("o", NULL);
  case_call(KERNEL(.name = "outer", .body = by_table_body, .grid = PL_GRID(2), .num_scalar_prefetch = 1),
            PL_ARGS(s, x), PL_RESULTS(o));
}

static void accumulate_body(void) {
  pl_ref o = *(pl_ref *)pl_user();
  pl_add(o, o, pl_input(0));
}
static void into_block_body(void) {
  pl_ref o = pl_output(0);
  const pl_kernel pipeline = {
      .name = "accumulate", .body = accumulate_body, .grid = PL_GRID(3), .in = {ROWS}, .user = &o};
  pl_fill(o, 0);
  pl_emit_pipeline(&pipeline, PL_REFS(PART(pl_input(0), pl_program_id(0), 24)), (pl_refs){0});
}
static void pipe_into_block(void) {
  run(&(const pl_kernel){
      .name = "into_block", .body = into_block_body, .grid = PL_GRID(2), .in = {PL_IN_HBM}, .out = {ROWS}});
}

static void increment_body(void) {
  add_number(pl_output(0), pl_input(0), 1, *(pl_ref *)pl_user());
}
static void ragged_body(void) {
  pl_ref element = pl_scratch(0);
  const pl_kernel pipeline = {.name = "ragged",
                              .body = increment_body,
                              .grid = PL_GRID(3),
                              .in = {ROWS},
                              .out = {ROWS},
                              .user = &element};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}
static void pipe_ragged(void) {
  run(KERNEL(.name = "outer", .body = ragged_body, .scratch = {NUMBER}));
}

static void less_body(void) {
  add_number(pl_output(0), pl_input(0), -9, *(pl_ref *)pl_user());
}
static void kept_body(void) {
  const int32_t i = pl_program_id(0);
  pl_ref element = pl_scratch(2);
  const pl_allocations buffers = {.in = {pl_scratch(0)}, .out = {pl_scratch(1)}};
  const pl_kernel pipeline = {
      .name = "less", .body = less_body, .grid = PL_GRID(2), .in = {ROWS}, .out = {ROWS}, .user = &element};
  for (int32_t half = 0; half < 2; half++)
    pl_emit_pipeline_with_allocations(&pipeline, PL_REFS(PART(pl_input(0), 2 * i + half, 16)),
                                      PL_REFS(PART(pl_output(0), 2 * i + half, 16)), &buffers);
}
static void pipe_buffers_kept(void) {
  run(KERNEL(.name = "kept", .body = kept_body, .grid = PL_GRID(2),
             .scratch = {BLOCKS(2), BLOCKS(2), NUMBER}));
}

static void step_row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = 0;
}
static void product_body(void) {
  pl_ref acc = *(pl_ref *)pl_user();
  pl_dot(acc, pl_input(0), pl_input(1), pl_program_id(1) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(1) == pl_num_programs(1) - 1)
    pl_copy(pl_output(0), acc);
}
static void products_body(void) {
  pl_ref acc = pl_scratch(0);
  const pl_block_spec *block = PL_BLOCK(ij_map, 16, 128);
  const pl_kernel twice = {
      .name = "twice", .body = double_body, .grid = PL_GRID(2, 2), .in = {block}, .out = {block}};
  const pl_kernel product = {.name = "product",
                             .body = product_body,
                             .grid = PL_GRID(2, 2),
                             .in = {block, PL_BLOCK(step_row_map, 128, 128)},
                             .out = {PL_BLOCK(rows_map, 16, 128)},
                             .user = &acc};
  pl_emit_pipeline(&twice, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
  pl_emit_pipeline(&product, PL_REFS(pl_output(0), pl_input(1)), PL_REFS(pl_output(1)));
}
static void pipe_two_products(void) {
  const pl_array x = case_input("x"), y = case_input("y"), z = case_output("z", NULL),
                 o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "products",
                            .body = products_body,
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM, PL_IN_HBM},
                            .scratch = {PL_ACC(PL_F32, 16, 128)}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(z, o));
}

const struct conformance_case conformance_cases[] = {
    CASE(pipes_two),   CASE(pipe_by_table),     CASE(pipe_into_block),
    CASE(pipe_ragged), CASE(pipe_buffers_kept), CASE(pipe_two_products),
    CASE_END,
};
