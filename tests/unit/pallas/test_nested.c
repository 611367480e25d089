/* SPDX-License-Identifier: MIT */
/*
 * pl_kernel_call and pl_emit_pipeline: over whole arrays and parts of them, one after the other, inside one
 * another, with buffers of the caller; what is seen inside and outside; errors.
 */
#include "suite.h"

#include <string.h>

enum { ROWS = 24, COLUMNS = 40, BLOCK = 4 };

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void both(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}
static void nothing(void) {}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

static double at(const pl_array *a, int32_t i, int32_t j) {
  return suite_get(a, (uint32_t)(i * a->shape[1] + j));
}

static uint32_t differ(const pl_array *o, const pl_array *x, double factor) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < suite_elements(o); i++)
    wrong += suite_get(o, i) != factor * suite_get(x, i);
  return wrong;
}

/* ---- one after the other: each reads what the one before wrote, through the same memory ---- */

static const pl_kernel doubled = {.name = "doubled",
                                  .body = double_body,
                                  .grid = PL_GRID(ROWS / BLOCK),
                                  .in = {PL_BLOCK(rows, BLOCK, COLUMNS)},
                                  .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
static const pl_kernel wide = {.name = "wide",
                               .body = double_body,
                               .grid = PL_GRID(2, 5),
                               .in = {PL_BUFFERED(3, both, ROWS / 2, 8)},
                               .out = {PL_BLOCK(both, ROWS / 2, 8)}};

static void scoped_body(const pl_ref *refs, void *user) {
  (void)user;
  pl_sync_copy(pl_at(pl_arg(0), PL_DS(0, BLOCK)), refs[0]);
  pl_sync_copy(refs[0], pl_at(pl_arg(0), PL_DS(0, BLOCK)));
}

static void chain_body(void) {
  pl_ref x = pl_arg(0), y = pl_arg(1);
  pl_emit_pipeline(&doubled, PL_REFS(x), PL_REFS(y)); /* y = 2 x */
  pl_emit_pipeline(&doubled, PL_REFS(y), PL_REFS(x)); /* x = 4 x, the same plan */
  pl_emit_pipeline(&wide, PL_REFS(x), PL_REFS(y));    /* y = 8 x, another plan in the same memory */
  pl_run_scoped(scoped_body, NULL, PL_VMEM(PL_F32, BLOCK, COLUMNS));
  pl_emit_pipeline(&wide, PL_REFS(y), PL_REFS(x));    /* x = 16 x */
  pl_emit_pipeline(&doubled, PL_REFS(x), PL_REFS(y)); /* y = 32 x */
}

static void test_chain(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)), y = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  pl_array keep = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  pl_stats stats;
  const pl_kernel chain = {.name = "chain", .body = chain_body};
  for (int call = 0; call < 3; call++) {
    suite_fill(&x);
    memcpy(pl_hbm_pointer(&keep), pl_hbm_pointer(&x), pl_array_bytes(&x));
    suite_ok(pl_kernel_call(&chain, PL_ARRAYS(x, y)), "nested: five pipelines, call %d", call);
    check(differ(&x, &keep, 16) == 0 && differ(&y, &keep, 32) == 0,
          "nested: every pipeline sees what the one before wrote (%u, %u wrong)", differ(&x, &keep, 16),
          differ(&y, &keep, 32));
    pl_get_pipeline_stats(&stats);
    check(stats.steps == 6 && stats.copies[0] == 6 && stats.copies[1] == 6, "nested: its steps and copies");
  }
}

/* ---- in steps of a kernel, over parts, with a pipeline inside ---- */

struct inner_user {
  pl_ref acc, ids; /* of the outer kernel */
  int32_t outer_id;
};
static uint32_t innermost, inner, bad_ids;

static void innermost_body(void) {
  bad_ids += pl_num_programs(0) != 2 || pl_program_id(0) != (int32_t)(innermost % 2);
  innermost++;
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

/* Adds the columns' halves of its block to the outer accumulator, which is in VMEM and used in place. */
static void inner_body(void) {
  const struct inner_user *u = pl_user();
  const pl_kernel halves = {.name = "halves",
                            .body = innermost_body,
                            .grid = PL_GRID(2),
                            .in = {PL_BLOCK(rows, BLOCK / 2, 16)},
                            .out = {PL_BLOCK(rows, BLOCK / 2, 16)}};
  bad_ids += pl_program_id(0) != (int32_t)(inner % 3) || pl_num_programs(0) != 3 ||
             pl_get(pl_prefetch(0), u->outer_id) != 10 + u->outer_id;
  inner++;
  pl_emit_pipeline(&halves, PL_REFS(pl_input(0)), PL_REFS(u->acc));
}

static void shifted(const pl_grid *g, pl_index *b) {
  const struct inner_user *u = g->user;
  b[0].start = pl_get(u->ids, g->id[0]); /* SMEM of the outer kernel */
  b[1].start = 0;
}

static void outer_body(void) {
  const int32_t i = pl_program_id(0);
  struct inner_user user = {pl_scratch(0), pl_scratch(1), i};
  const pl_kernel three = {.name = "three",
                           .body = inner_body,
                           .grid = PL_GRID(3),
                           .in = {PL_BUFFERED(3, shifted, BLOCK, 16)},
                           .user = &user};
  for (int32_t k = 0; k < 3; k++)
    pl_put(user.ids, (k + i) % 3, k);
  pl_fill(user.acc, 0);
  /* Rows 12 i .. of columns 16 .. 31: a part with the strides of the whole array. */
  pl_ref part = pl_at(pl_input(0), PL_DS(12 * i, 12), PL_DS(16, 16));
  pl_emit_pipeline(&three, PL_REFS(part), (pl_refs){0});
  bad_ids += pl_program_id(0) != i || pl_num_programs(0) != 2;
  bad_ids += pl_ref_extent(part, 0) != 12; /* still valid */
  pl_copy(pl_output(0), user.acc);
}

static void test_levels(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
           o = suite_array(PL_INT32, PL_SHAPE(2 * BLOCK, 16));
  pl_array p = suite_array(PL_INT32, PL_SHAPE(2));
  const pl_kernel kernel = {.name = "outer",
                            .body = outer_body,
                            .grid = PL_GRID(2),
                            .num_scalar_prefetch = 1,
                            .in = {PL_IN_HBM},
                            .out = {PL_BLOCK(rows, BLOCK, 16)},
                            .scratch = {PL_VMEM(PL_INT32, BLOCK, 16), PL_SMEM(PL_INT32, 3)}};
  uint32_t wrong = 0;
  suite_put(&p, 0, 10);
  suite_put(&p, 1, 11);
  for (int call = 0; call < 2; call++) {
    suite_fill(&x);
    innermost = inner = bad_ids = 0;
    suite_ok(pl_call(&kernel, PL_ARGS(p, x), PL_RESULTS(o)), "nested: three levels, call %d", call);
    check(innermost == 12 && inner == 6 && bad_ids == 0,
          "nested: ids of every level (%u, %u steps, %u wrong)", innermost, inner, bad_ids);
    for (int32_t i = 0; i < 2 * BLOCK; i++)
      for (int32_t j = 0; j < 16; j++) {
        double sum = 0;
        for (int32_t k = 0; k < 3; k++)
          sum += at(&x, i / BLOCK * 12 + k * BLOCK + i % BLOCK, 16 + j);
        wrong += at(&o, i, j) != sum;
      }
    check(wrong == 0, "nested: three levels, contents (%u wrong)", wrong);
  }
}

/* ---- a hand-written matmul: pipeline with its own accumulator ---- */

static void matmul_body(void) {
  const bool first = pl_program_id(2) == 0;
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), first ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), pl_scratch(0));
}
static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[2];
}
static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2], b[1].start = g->id[1];
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[1];
}
static void matmul_kernel(void) {
  const pl_dtype acc = suite.bf16 ? PL_F32 : PL_INT32;
  const pl_kernel pipeline = {.name = "matmul",
                              .body = matmul_body,
                              .grid = PL_GRID(2, 3, 4),
                              .dimension_semantics = {PL_ARBITRARY, PL_PARALLEL, PL_ARBITRARY},
                              .in = {PL_BUFFERED(3, x_map, 16, 32), PL_BUFFERED(3, y_map, 32, 16)},
                              .out = {PL_BLOCK(o_map, 16, 16)},
                              .scratch = {PL_ACC(acc, 16, 16)}};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_arg(0), pl_arg(1)), PL_REFS(pl_arg(2)));
}

static void test_matmul(void) {
  const pl_dtype dtype = suite.bf16 ? PL_BF16 : PL_INT8;
  pl_array x = suite_array(dtype, PL_SHAPE(32, 128)), y = suite_array(dtype, PL_SHAPE(128, 48));
  pl_array o = suite_array(suite.bf16 ? PL_F32 : PL_INT32, PL_SHAPE(32, 48));
  uint32_t wrong = 0;
  suite_fill(&x);
  suite_fill(&y);
  const pl_kernel kernel = {.name = "kernel", .body = matmul_kernel};
  suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, y, o)), "nested: matmul");
  for (int32_t i = 0; i < 32; i++)
    for (int32_t j = 0; j < 48; j++) {
      double sum = 0;
      for (int32_t k = 0; k < 128; k++)
        sum += at(&x, i, k) * at(&y, k, j);
      wrong += at(&o, i, j) != sum;
    }
  check(wrong == 0, "nested: matmul, contents (%u wrong)", wrong);
}

/* ---- buffers of the caller ---- */

static unsigned hooked;
static void hook(void) {
  hooked++;
}
static bool tiled;

static void window_body(void) {
  pl_ref window = pl_scratch(0);
  pl_kernel pipeline = {
      .name = "windowed",
      .body = copy_body,
      .grid = PL_GRID(ROWS / BLOCK),
      .in = {PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = rows, .buffer_count = 3, .prefetched = 2)},
      .out = {PL_BLOCK(rows, BLOCK, COLUMNS)},
      .prologue = hook,
  };
  pl_allocations allocations = {.in = {window}};
  for (int32_t i = 0; i < 2; i++) { /* blocks 0 and 1 from the other array */
    const pl_ref slot = pl_at(window, PL_INDEX(i));
    pl_sync_copy(pl_at(pl_arg(2), PL_DS(i * BLOCK, BLOCK)), slot);
  }
  pl_emit_pipeline_with_allocations(&pipeline, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)), &allocations);
  if (tiled) { /* the last block is still there */
    pl_sync_copy(pl_at(window, PL_INDEX((ROWS / BLOCK - 1) % 3)), pl_at(pl_arg(1), PL_DS(0, BLOCK)));
  }
}

static void test_windows(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)), o = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  pl_array other = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  const pl_kernel kernel = {
      .name = "window", .body = window_body, .scratch = {PL_VMEM(PL_F32, 3, BLOCK, COLUMNS)}};
  pl_stats stats;
  suite_fill(&x);
  suite_fill(&other);
  for (int call = 0; call < 2; call++) {
    uint32_t wrong = 0;
    hooked = 0;
    tiled = call == 1;
    suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, o, other)), "nested: buffers of the caller, call %d", call);
    pl_get_pipeline_stats(&stats);
    check(hooked == 1 && stats.copies[0] == 4,
          "nested: two blocks were there already (%u copies), one prologue", (unsigned)stats.copies[0]);
    for (int32_t i = 0; i < ROWS; i++)
      for (int32_t j = 0; j < COLUMNS; j++) {
        const double want =
            tiled && i < BLOCK ? at(&x, ROWS - BLOCK + i, j) : at(i < 2 * BLOCK ? &other : &x, i, j);
        wrong += at(&o, i, j) != want;
      }
    check(wrong == 0, "nested: buffers of the caller, contents (%u wrong)", wrong);
  }
}

/*
 * The vector unit fills the first of the caller's buffers, again and again: the pipeline's channel still has
 * the words of its last fetch then, and must leave out the first one all the same.
 */
static void filled_body(void) {
  const pl_kernel pipeline = {
      .name = "filled",
      .body = copy_body,
      .grid = PL_GRID(ROWS / BLOCK),
      .in = {PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = rows, .buffer_count = 2, .prefetched = 1)},
      .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  const pl_allocations allocations = {.in = {pl_scratch(0)}};
  for (int i = 0; i < 3; i++) {
    pl_fill(pl_at(pl_scratch(0), PL_INDEX(0)), (uint32_t)i);
    pl_emit_pipeline_with_allocations(&pipeline, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)), &allocations);
  }
}

static void test_filled_windows(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
           o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  const pl_kernel kernel = {
      .name = "filled", .body = filled_body, .scratch = {PL_VMEM(PL_INT32, 2, BLOCK, COLUMNS)}};
  pl_stats stats;
  uint32_t wrong = 0;
  suite_fill(&x);
  suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, o)), "nested: buffers that the vector unit fills");
  pl_get_pipeline_stats(&stats);
  for (int32_t i = 0; i < ROWS; i++)
    for (int32_t j = 0; j < COLUMNS; j++)
      wrong += at(&o, i, j) != (i < BLOCK ? 2 : at(&x, i, j));
  check(wrong == 0 && stats.copies[0] == ROWS / BLOCK - 1,
        "nested: buffers that the vector unit fills, contents (%u wrong, %u copies)", wrong,
        (unsigned)stats.copies[0]);
}

/* ---- pl_kernel_call in place ---- */

static void in_place_body(void) {
  const pl_kernel add = {.name = "add",
                         .body = double_body,
                         .grid = PL_GRID(2),
                         .in = {PL_BLOCK(rows, BLOCK, COLUMNS)},
                         .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  pl_sync_copy(pl_at(pl_arg(0), PL_DS(0, 8)), pl_at(pl_arg(0), PL_DS(8, 8)));
  pl_emit_pipeline(&add, PL_REFS(pl_at(pl_arg(0), PL_DS(8, 8))), PL_REFS(pl_at(pl_arg(0), PL_DS(16, 8))));
  pl_put(pl_arg(1), 5 + pl_get(pl_prefetch(0), 1), 0, 1);
}

static void test_in_place(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)), p = suite_array(PL_INT32, PL_SHAPE(2)), v;
  pl_array o = suite_array(PL_INT32, PL_SHAPE(1, 4));
  uint32_t wrong = 0;
  suite_fill(&x);
  suite_put(&p, 1, 30);
  suite_ok(pl_alloc(PL_VMEM, PL_INT32, PL_SHAPE(1, 4), &v), "nested: VMEM");
  const pl_kernel kernel = {.name = "in place", .body = in_place_body, .num_scalar_prefetch = 1};
  suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(p, x, v)), "nested: a kernel over mutable refs");
  const pl_kernel unload = {.name = "unload", .body = copy_body};
  suite_ok(pl_call(&unload, PL_ARGS(v), PL_RESULTS(o)), "nested: unload");
  for (int32_t i = 0; i < 8; i++)
    for (int32_t j = 0; j < COLUMNS; j++)
      wrong += at(&x, 8 + i, j) != at(&x, i, j) || at(&x, 16 + i, j) != 2 * at(&x, i, j);
  check(wrong == 0 && suite_get(&o, 1) == 35, "nested: a kernel over mutable refs, contents (%u wrong, %g)",
        wrong, suite_get(&o, 1));
  pl_free(&v);
}

/* ---- errors ---- */

static int which;
static pl_ref kept;
static void keep_body(void) {
  kept = pl_input(0);
}
static void stale_body(void) {
  pl_copy(pl_output(0), kept);
}

static void misuse_body(void) {
  const pl_block_spec *const block = PL_BLOCK(rows, BLOCK, COLUMNS);
  const pl_block_spec *const three = PL_BUFFERED(3, rows, BLOCK, COLUMNS);
  const pl_block_spec *const one_there = PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = rows, .prefetched = 1);
  const pl_block_spec *const two_there = PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = rows, .prefetched = 2);
  const pl_scratch_spec *const huge = PL_VMEM(PL_F32, 1000, 1000);
  pl_kernel p = {.name = "inner", .body = copy_body, .grid = PL_GRID(3), .in = {block}, .out = {block}};
  pl_allocations a = {.in = {pl_scratch(0)}};
  const pl_refs in = PL_REFS(pl_input(0)), out = PL_REFS(pl_output(0));

  switch (which) {
  case 0:
    p.grid.extent[0] = 0;
    break;
  case 1:
    pl_emit_pipeline(&p, in, in);
    return;
  case 2:
    p.grid.extent[0] = 7;
    break;
  case 3:
    p.num_scalar_prefetch = 1;
    break;
  case 4:
    p.in[0] = three;
    pl_emit_pipeline_with_allocations(&p, in, out, &a);
    return;
  case 5:
    p.in[0] = one_there;
    break;
  case 6:
    p.in[0] = two_there;
    pl_emit_pipeline_with_allocations(&p, in, out, &a);
    return;
  case 7:
    p.scratch[0] = huge;
    break;
  case 8:
    pl_emit_pipeline(NULL, in, out);
    return;
  case 9:
    p.body = keep_body;
    pl_emit_pipeline(&p, in, out);
    p.body = stale_body;
    break;
  case 10:
    p.body = NULL;
    break;
  case 11: {
    const pl_kernel k = {.name = "again", .body = copy_body};
    pl_kernel_call(&k, (pl_arrays){0});
    return;
  }
  }
  pl_emit_pipeline(&p, in, out);
}

static void test_errors(void) {
  static const struct {
    pl_status status;
    const char *name, *text;
  } cases[] = {
      {PL_ERROR_SPEC, "a static extent of 0",
       "kernel misuse, step 0 (0), pipeline inner: grid dimension 0 has the static extent 0"},
      {PL_ERROR_REF, "an input as output",
       "kernel misuse, step 0 (0): pl_emit_pipeline: output 0 is input 0, which would be written"},
      {PL_ERROR_BLOCK_INDEX, "a block outside",
       "kernel misuse, step 0 (0), pipeline inner, step 5 (5): input 0: its map returned block [6, 0] at "
       "grid "
       "position (6), outside the array [24, 40] of blocks [4, 40]; dimension 0: block 6, 0 to 5 are right"},
      {PL_ERROR_ARGUMENT, "scalar prefetch",
       "kernel misuse, step 0 (0): pl_emit_pipeline: num_scalar_prefetch is 1; prefetch in pl_call(), the "
       "pipeline "
       "sees it"},
      {PL_ERROR_SHAPE, "buffers of another number",
       "pipeline inner: input 0: its buffers are scratch 0, f32 [2, 4, 40] in VMEM; 3 blocks of f32 [4, 40] "
       "in VMEM "
       "at multiples of"},
      {PL_ERROR_SPEC, "prefetched without buffers",
       "pipeline inner: input 0: prefetched is of inputs of pl_emit_pipeline_with_allocations() with buffers "
       "of the "
       "caller"},
      {PL_ERROR_SPEC, "all buffers prefetched",
       "pipeline inner: input 0: 2 of 2 buffers are prefetched; 1 at most"},
      {PL_ERROR_BUDGET, "no memory left", "of them in pl_alloc() arrays and what the body uses"},
      {PL_ERROR_ARGUMENT, "no pipeline",
       "kernel misuse, step 0 (0): pl_emit_pipeline: NULL where something must be"},
      {PL_ERROR_REF, "a block ref of another pipeline",
       "kernel misuse, step 0 (0), pipeline inner, step 0 (0): a ref of input 0 from another step is used"},
      {PL_ERROR_ARGUMENT, "no body", "kernel misuse, step 0 (0), pipeline inner: there is no body"},
      {PL_ERROR_ARGUMENT, "a kernel call in a body",
       "kernel misuse, step 0 (0): pl_kernel_call inside a kernel body"},
  };
  pl_array x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)), o = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  pl_kernel kernel = {.name = "misuse",
                      .body = misuse_body,
                      .grid = PL_GRID(2),
                      .in = {PL_IN_HBM},
                      .out = {PL_IN_HBM},
                      .scratch = {PL_VMEM(PL_F32, 2, BLOCK, COLUMNS)}};
  suite_fill(&x);
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char name[96];
    snprintf(name, sizeof name, "nested: %s", cases[i].name);
    which = (int)i;
    suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), cases[i].status, name, cases[i].text, NULL);
  }
  which = 99;
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "nested: the next call works");
  const pl_kernel grid = {.name = "grid", .body = nothing, .grid = PL_GRID(2)};
  suite_fails(pl_kernel_call(&grid, PL_ARRAYS(x)), PL_ERROR_SPEC, "nested: a kernel call with a grid",
              "kernel grid: pl_kernel_call: a grid of rank 1; the body runs once, and pipelines have grids",
              NULL);
  const pl_kernel specs = {.name = "specs", .body = nothing, .in = {PL_WHOLE}};
  suite_fails(pl_kernel_call(&specs, PL_ARRAYS(x)), PL_ERROR_SPEC, "nested: a kernel call with specs",
              "kernel specs: pl_kernel_call: block specs; the body gets whole arrays", NULL);
  const pl_kernel twice = {.name = "twice", .body = nothing};
  suite_fails(pl_kernel_call(&twice, PL_ARRAYS(x, x)), PL_ERROR_ARGUMENT, "nested: an array twice",
              "kernel twice: output 1: shares HBM from", "with output 0; that would be an alias", NULL);
  pl_emit_pipeline(&twice, (pl_refs){0}, (pl_refs){0});
  suite_fails(pl_kernel_call(NULL, PL_ARRAYS(x)), PL_ERROR_ARGUMENT, "nested: no kernel",
              "pl_kernel_call: NULL where something must be", NULL);
  const pl_kernel hooked_call = {.name = "hooked", .body = nothing, .prologue = hook};
  suite_fails(pl_call(&hooked_call, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT,
              "nested: a prologue of a call", "kernel hooked: a prologue; it is of pl_emit_pipeline()", NULL);
}

void suite_nested(void) {
  test_chain();
  test_levels();
  test_matmul();
  test_windows();
  test_filled_windows();
  test_in_place();
  test_errors();
  check(host_logged() == 0, "nested: the model logged nothing");
}
