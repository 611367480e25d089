/* SPDX-License-Identifier: MIT */
/* Pipelines inside kernels, kernels without a grid, and what they share. Twins: twins/pipes.py. */
#include "outer.h"

static void triple_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void plain_body(void) {
  const pl_kernel pipeline = {
      .name = "triple", .body = triple_body, .grid = PL_GRID(4), .in = {ROWS}, .out = {ROWS}};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}
static void pipe_plain(void) {
  run(KERNEL(.name = "plain", .body = plain_body));
}

static void add_id_body(void) {
  add_number(pl_output(0), pl_input(0), pl_program_id(0), *(pl_ref *)pl_user());
}
static void parts_body(void) {
  const int32_t i = pl_program_id(0);
  pl_ref element = pl_scratch(0);
  const pl_kernel pipeline = {.name = "add_id",
                              .body = add_id_body,
                              .grid = PL_GRID(3),
                              .in = {ROWS},
                              .out = {ROWS},
                              .user = &element};
  pl_emit_pipeline(&pipeline, PL_REFS(PART(pl_input(0), i, 24)), PL_REFS(PART(pl_output(0), 1 - i, 24)));
}
static void pipe_parts(void) {
  run(KERNEL(.name = "parts", .body = parts_body, .grid = PL_GRID(2), .scratch = {NUMBER}));
}

static void ids_inner_body(void) {
  pl_fill(pl_output(0), (uint32_t)(100 * *(int32_t *)pl_user() + 10 * pl_program_id(0) + pl_program_id(1)));
}
static void ids_body(void) {
  int32_t i = pl_program_id(0);
  const pl_kernel pipeline = {.name = "inner",
                              .body = ids_inner_body,
                              .grid = PL_GRID(2, 2),
                              .out = {PL_BLOCK(ij_map, 8, 128)},
                              .user = &i};
  pl_emit_pipeline(&pipeline, (pl_refs){0}, PL_REFS(PART(pl_output(0), i, 16)));
  case_check(pl_program_id(0) == i, "the outer id after the pipeline");
}
static void pipe_ids(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "ids", .body = ids_body, .grid = PL_GRID(3), .out = {PL_IN_HBM}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

struct nested {
  pl_ref x, element;
};
static void innermost_body(void) {
  const struct nested *n = pl_user();
  add_number(pl_output(0), pl_input(0), 1, n->element);
}
/* Descriptors that need not be on the stack are not: it has 8 KiB, of which two pipelines take 4. */
static pl_kernel innermost = {
    .name = "innermost", .body = innermost_body, .grid = PL_GRID(2), .in = {ROWS}, .out = {ROWS}};
static void nested_inner_body(void) {
  const struct nested *n = pl_user();
  pl_emit_pipeline(&innermost, PL_REFS(PART(n->x, pl_program_id(0), 16)), PL_REFS(pl_output(0)));
}
static pl_kernel inner = {
    .name = "inner", .body = nested_inner_body, .grid = PL_GRID(3), .out = {PL_BLOCK(rows_map, 16, 128)}};
static void nested_body(void) {
  struct nested n = {pl_input(0), pl_scratch(0)};
  inner.user = innermost.user = &n;
  pl_emit_pipeline(&inner, (pl_refs){0}, PL_REFS(pl_output(0)));
}
static void pipe_nested(void) {
  run(KERNEL(.name = "nested", .body = nested_body, .scratch = {NUMBER}));
}

static void into_vmem_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_output(0));
}
static void vmem_body(void) {
  pl_ref v = pl_scratch(0);
  const pl_kernel pipeline = {
      .name = "into_vmem", .body = into_vmem_body, .grid = PL_GRID(4), .in = {ROWS}, .out = {ROWS}};
  pl_fill(v, 7);
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(v));
  pl_sync_copy(v, pl_output(0));
}
static void pipe_vmem(void) {
  run(KERNEL(.name = "vmem", .body = vmem_body, .scratch = {PL_VMEM(PL_INT32, 32, 128)}));
}

static void sum_body(void) {
  pl_ref acc = *(pl_ref *)pl_user();
  pl_add(acc, acc, pl_input(0));
}
static void scratch_body(void) {
  pl_ref acc = pl_scratch(0);
  const pl_kernel pipeline = {
      .name = "sum", .body = sum_body, .grid = PL_GRID(3), .in = {ROWS}, .user = &acc};
  pl_fill(acc, 0);
  for (int32_t part = 0; part < 2; part++)
    pl_emit_pipeline(&pipeline, PL_REFS(PART(pl_input(0), part, 24)), (pl_refs){0});
  pl_sync_copy(acc, pl_output(0));
}
static void pipe_scratch(void) {
  run(KERNEL(.name = "scratch", .body = scratch_body, .scratch = {PL_VMEM(PL_INT32, 8, 128)}));
}

static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}
static void dynamic_body(void) {
  pl_sync_copy(pl_input(1), pl_scratch(0));
  for (int32_t part = 0; part < 3; part++) {
    const pl_kernel pipeline = {.name = "double",
                                .body = double_body,
                                .grid = PL_GRID(PL_DYN(pl_get(pl_scratch(0), part))),
                                .in = {ROWS},
                                .out = {ROWS}};
    pl_emit_pipeline(&pipeline, PL_REFS(PART(pl_input(0), part, 24)), PL_REFS(PART(pl_output(0), part, 24)));
  }
}
static void pipe_dynamic(void) {
  const pl_array x = case_input("x"), sizes = case_input("sizes"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "dynamic",
                            .body = dynamic_body,
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_SMEM(PL_INT32, 3)}};
  case_call(&kernel, PL_ARGS(x, sizes), PL_RESULTS(o));
}

const struct conformance_case conformance_cases[] = {
    CASE(pipe_plain), CASE(pipe_parts),   CASE(pipe_ids),     CASE(pipe_nested),
    CASE(pipe_vmem),  CASE(pipe_scratch), CASE(pipe_dynamic), CASE_END,
};
