/* SPDX-License-Identifier: MIT */
/* Pipelines with buffers and accumulators of the kernel, and kernels without a grid. Twins: twins/pipes.py.
 */
#include "outer.h"

static void product_body(void) {
  pl_ref acc = *(pl_ref *)pl_user();
  pl_dot(acc, pl_input(0), pl_input(1), pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), acc);
}
static void matmul_body(void) {
  pl_ref acc = pl_scratch(0);
  const pl_kernel pipeline = {.name = "product",
                              .body = product_body,
                              .grid = PL_GRID(2, 1, 2),
                              .in = {PL_BLOCK(ik_map, 16, 128), PL_BLOCK(kj_map, 128, 128)},
                              .out = {PL_BLOCK(ij_map, 16, 128)},
                              .user = &acc};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0), pl_input(1)), PL_REFS(pl_output(0)));
}
static void pipe_matmul(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "matmul",
                            .body = matmul_body,
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_ACC(PL_F32, 16, 128)}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

static void plus_body(void) {
  add_number(pl_output(0), pl_input(0), 5, *(pl_ref *)pl_user());
}
static void allocations_body(void) {
  pl_ref element = pl_scratch(2);
  const pl_allocations buffers = {.in = {pl_scratch(0)}, .out = {pl_scratch(1)}};
  const pl_kernel pipeline = {
      .name = "plus", .body = plus_body, .grid = PL_GRID(3), .in = {ROWS}, .out = {ROWS}, .user = &element};
  for (int32_t part = 0; part < 2; part++)
    pl_emit_pipeline_with_allocations(&pipeline, PL_REFS(PART(pl_input(0), part, 24)),
                                      PL_REFS(PART(pl_output(0), part, 24)), &buffers);
}
static void pipe_allocations(void) {
  run(KERNEL(.name = "allocations", .body = allocations_body,
             .scratch = {PL_VMEM(PL_INT32, 2, 8, 128), PL_VMEM(PL_INT32, 2, 8, 128), NUMBER}));
}

static void minus_body(void) {
  add_number(pl_output(0), pl_input(0), -4, *(pl_ref *)pl_user());
}
static void parallel_body(void) {
  pl_ref element = pl_scratch(0);
  const pl_kernel pipeline = {.name = "minus",
                              .body = minus_body,
                              .grid = PL_GRID(2, 2),
                              .dimension_semantics = {PL_ARBITRARY, PL_PARALLEL},
                              .in = {PL_BLOCK(flat_map, 8, 128)},
                              .out = {PL_BLOCK(flat_map, 8, 128)},
                              .user = &element};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}
static void pipe_parallel_any(void) {
  run(KERNEL(.name = "parallel", .body = parallel_body, .scratch = {NUMBER}));
}

static void increment_body(void) {
  add_number(pl_output(0), pl_input(0), 1, *(pl_ref *)pl_user());
}
static void prefetched_body(void) {
  pl_ref buffers = pl_scratch(0), element = pl_scratch(1);
  const pl_allocations allocations = {.in = {buffers}};
  const pl_kernel pipeline = {
      .name = "increment",
      .body = increment_body,
      .grid = PL_GRID(3),
      .in = {PL_SPEC(PL_DIMS(8, 128), .map = rows_map, .buffer_count = 3, .prefetched = 2)},
      .out = {ROWS},
      .user = &element};
  pl_sync_copy(pl_input(1), pl_at(pl_reshape(buffers, PL_SHAPE(24, 128)), PL_DS(0, 16)));
  pl_emit_pipeline_with_allocations(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)), &allocations);
}
static void pipe_prefetched(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "prefetched",
                            .body = prefetched_body,
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_INT32, 3, 8, 128), NUMBER}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

/* ---- kernels without a grid ---- */

static void in_place_body(void) {
  for (int32_t i = 0; i < 3; i++) {
    pl_sync_copy(PART(pl_arg(0), i, 8), pl_scratch(0));
    pl_sync_copy(PART(pl_arg(1), i, 8), pl_scratch(1));
    pl_add(pl_scratch(1), pl_scratch(1), pl_scratch(0));
    pl_sync_copy(pl_scratch(1), PART(pl_arg(1), i, 8));
  }
}
static void kernel_in_place(void) {
  const pl_array x = case_input("x"), o = case_output("o", "y");
  const pl_kernel kernel = {.name = "in_place",
                            .body = in_place_body,
                            .scratch = {PL_VMEM(PL_INT32, 8, 128), PL_VMEM(PL_INT32, 8, 128)}};
  case_done(pl_kernel_call(&kernel, PL_ARGS(x, o)));
}

static void square_body(void) {
  pl_mul(pl_output(0), pl_input(0), pl_input(0));
}
static void pipeline_body(void) {
  const pl_kernel pipeline = {
      .name = "square", .body = square_body, .grid = PL_GRID(3), .in = {ROWS}, .out = {ROWS}};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
}
static void kernel_pipeline(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "pipeline", .body = pipeline_body};
  case_done(pl_kernel_call(&kernel, PL_ARGS(x, o)));
}

const struct conformance_case conformance_cases[] = {
    CASE(pipe_matmul),
    CASE(pipe_allocations),
    CASE(pipe_parallel_any),
    CASE(pipe_prefetched),
    CASE(kernel_in_place),
    CASE(kernel_pipeline),
    CASE_END,
};
