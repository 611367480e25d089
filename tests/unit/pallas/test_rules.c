/* SPDX-License-Identifier: MIT */
/* Rules of arrays, operands, grids and operations that no other file breaks: what each says when it is
 * broken. */
#include "suite.h"

#include <string.h>

enum { ROWS = 64, COLUMNS = 32 };

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void empty_body(void) {}

/* ---- pl_alloc ---- */

static void alloc_fails(pl_status wanted, pl_space space, pl_dtype dtype, pl_shape shape, const char *name,
                        const char *words) {
  pl_array array;
  suite_fails(pl_alloc(space, dtype, shape, &array), wanted, name, words, NULL);
}

static void test_alloc(void) {
  pl_shape deep = PL_SHAPE(1, 1, 1, 1, 1);
  pl_array all[PL_MAX_ALLOCATIONS], one;
  int n = 0;

  deep.rank = 6;
  alloc_fails(PL_ERROR_LIMIT, PL_VMEM, PL_F32, deep, "rules: an array of rank 6", "PL_MAX_RANK");
  alloc_fails(PL_ERROR_ARGUMENT, PL_VMEM, (pl_dtype)77, PL_SHAPE(4), "rules: an array of no dtype",
              "there is no dtype 77");
  alloc_fails(PL_ERROR_ARGUMENT, PL_VMEM, PL_F32, PL_SHAPE(4, 0), "rules: an extent of 0",
              "extent 0 of dimension 1");
  alloc_fails(PL_ERROR_ARGUMENT, PL_HBM, PL_F32, PL_SHAPE(1 << 30, 4), "rules: an array of 2^32 elements",
              "2^31 elements");
  alloc_fails(PL_ERROR_ARGUMENT, PL_SEMAPHORE, PL_INT32, PL_SHAPE(4), "rules: semaphores to keep",
              "pl_alloc: space SEMAPHORE");
  alloc_fails(PL_ERROR_ARGUMENT, PL_ACC, PL_BF16, PL_SHAPE(16, 16), "rules: bf16 in ACC",
              "ACC holds f32 or int32");
  alloc_fails(PL_ERROR_BUDGET, PL_VMEM, PL_F32, PL_SHAPE(1 << 20, 64), "rules: an array larger than VMEM",
              "no room for");
  suite_fails(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(4), NULL), PL_ERROR_ARGUMENT,
              "rules: nowhere to put an array", "pl_alloc", NULL);
  while (n < PL_MAX_ALLOCATIONS && pl_alloc(PL_SMEM, PL_INT32, PL_SHAPE(4), &all[n]) == PL_OK)
    n++;
  check(n == PL_MAX_ALLOCATIONS, "rules: %d arrays allocated", n);
  suite_fails(pl_alloc(PL_SMEM, PL_INT32, PL_SHAPE(4), &one), PL_ERROR_LIMIT, "rules: one array too many",
              "PL_MAX_ALLOCATIONS (24)", NULL);
  unsigned kept = 0;
  for (int i = 0; i < n; i++)
    kept += pl_free(&all[i]) != PL_OK;
  check(kept == 0, "rules: all are given back");
}

/* ---- operands and grids ---- */

static void call_fails(pl_status wanted, const pl_kernel *kernel, pl_array x, pl_array o, const char *name,
                       const char *first, const char *second) {
  suite_fails(pl_call(kernel, PL_ARGS(x), PL_RESULTS(o)), wanted, name, "kernel rules", first, second, NULL);
}

static void test_operands(void) {
  const pl_array x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  const pl_block_spec *rows = PL_BLOCK(row_map, 16, COLUMNS);
  pl_kernel k = {.name = "rules", .body = copy_body, .grid = PL_GRID(ROWS / 16), .in = {rows}, .out = {rows}};
  const pl_kernel good = k;
  pl_array bad = x;

  bad.rank = 6;
  call_fails(PL_ERROR_ARGUMENT, &k, bad, o, "rules: an operand of rank 6", "input 0: an array of rank 6",
             "PL_MAX_RANK");
  bad = x;
  bad.dtype = 9;
  call_fails(PL_ERROR_ARGUMENT, &k, bad, o, "rules: an operand of no dtype", "input 0", "dtype 9");
  bad = x;
  bad.shape[1] = 0;
  call_fails(PL_ERROR_ARGUMENT, &k, bad, o, "rules: an operand with nothing in it",
             "input 0: the array's dimension 1", "extent 0");
  bad = x;
  bad.space = 7;
  call_fails(PL_ERROR_ARGUMENT, &k, bad, o, "rules: an operand in no space",
             "input 0: the array is in space 7", "");
  k.in[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .space = PL_HBM);
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: blocks of an array that stays in HBM", "input 0",
             "no shape and no map");
  k.in[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .space = PL_ACC);
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: blocks moved to ACC", "input 0: blocks cannot be moved to ACC",
             "use VMEM");
  k.in[0] = PL_SPEC(PL_DIMS(16, 0), .map = row_map);
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: a block of no columns",
             "input 0: block dimension 1 has extent 0", "");
  k.in[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .kind = {PL_BLOCKED, PL_BLOCKED, PL_ELEMENT});
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: a kind too many", "block dimension 2 has a kind",
             "the block has rank 2");
  k.in[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .kind = {9});
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: a kind that is none", "block dimension 0 is of kind 9",
             "PL_INDIRECT");
  k.in[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .inout = 1);
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: an input that is INOUT", "input 0: inout is of outputs", "");
  k = good;
  k.out[0] = PL_SPEC(PL_DIMS(16, COLUMNS), .map = row_map, .lookahead = 1);
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: an output that looks ahead", "output 0: lookahead is of inputs",
             "");
  k.out[0] = PL_SPEC(PL_DIMS(1 << 20, 1 << 12), .map = row_map);
  call_fails(PL_ERROR_BUDGET, &k, x, o, "rules: a block of 2^32 elements",
             "output 0: a block of more than 2^31 bytes", "");
  k = good;
  k.grid = (pl_grid_spec)PL_GRID(4096, 4096, 2);
  call_fails(PL_ERROR_LIMIT, &k, x, o, "rules: 2^25 steps", "PL_MAX_STEPS (16777215)", "");
  k.grid = good.grid;
  k.grid.rank = 7;
  call_fails(PL_ERROR_LIMIT, &k, x, o, "rules: a grid of rank 7", "a grid of rank 7", "PL_MAX_GRID is 6");
  k = good;
  k.dimension_semantics[0] = 5;
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: semantics that are none",
             "grid dimension 0 has the semantics 5", "");
  k = good;
  k.dimension_semantics[k.grid.rank] = PL_PARALLEL;
  call_fails(PL_ERROR_SPEC, &k, x, o, "rules: semantics of a dimension that is none",
             "has semantics, and the grid has rank", "");
  suite_ok(pl_call(&good, PL_ARGS(x), PL_RESULTS(o)), "rules: the right kernel works after all that");
}

/* ---- operations ---- */

static int which;
static void operation_body(void) {
  pl_ref x = pl_input(0), acc = pl_scratch(0), smem = pl_scratch(1), semaphore = pl_scratch(2),
         cube = pl_scratch(3);
  switch (which) {
  case 0:
    pl_dot(acc, smem, x, PL_OVERWRITE);
    return;
  case 1:
    pl_dot(acc, cube, x, PL_OVERWRITE);
    return;
  case 2:
    (void)pl_ref_extent(x, 2);
    return;
  case 3:
    pl_copy(PL_NO_REF, x);
    return;
  case 4:
    pl_semaphore_signal_core(semaphore, 1, 3);
    return;
  case 5:
    (void)pl_make_async_remote_copy(x, acc, semaphore, semaphore, 1);
    return;
  case 6:
    (void)pl_make_async_remote_copy(x, acc, semaphore, semaphore, 0);
    return;
  case 7:
    pl_sync_copy(x, x);
    return;
  case 8:
    (void)pl_make_async_copy(x, pl_input(0), semaphore);
    return;
  default: {
    const pl_kernel inner = {.name = "inner", .body = empty_body};
    pl_ref many[PL_MAX_OPERANDS + 1];
    for (unsigned i = 0; i <= PL_MAX_OPERANDS; i++)
      many[i] = x;
    if (which == 9)
      pl_emit_pipeline(&inner, PL_REFS(semaphore), (pl_refs){0});
    else if (which == 10)
      pl_emit_pipeline(&inner, (pl_refs){many, PL_MAX_OPERANDS + 1}, (pl_refs){0});
    else
      pl_emit_pipeline(&inner, (pl_refs){0}, PL_REFS(x));
  }
  }
}

static void test_operations(void) {
  static const struct {
    pl_status status;
    const char *name, *word;
  } cases[] = {
      {PL_ERROR_REF, "rules: a dot of SMEM", "pl_dot: x is in SMEM and y in VMEM"},
      {PL_ERROR_SHAPE, "rules: a dot of rank 3", "pl_dot: ranks 3, 2 -> 2"},
      {PL_ERROR_ARGUMENT, "rules: an extent that is not there", "dimension 2 of a ref of rank 2"},
      {PL_ERROR_REF, "rules: a copy into no ref", "an operation on no ref"},
      {PL_ERROR_UNSUPPORTED, "rules: a signal to another core",
       "pl_semaphore_signal_core: core 3; this device has 1"},
      {PL_ERROR_UNSUPPORTED, "rules: a copy to another core",
       "pl_make_async_remote_copy: core 1; this device has 1"},
      {PL_ERROR_UNSUPPORTED, "rules: a remote copy to this core", "pl_make_async_copy does it"},
      {PL_ERROR_REF, "rules: a copy into an input", "a copy would write input 0"},
      {PL_ERROR_REF, "rules: an asynchronous copy into an input", "a copy would write input 0"},
      {PL_ERROR_REF, "rules: semaphores as operand of a pipeline", "pl_emit_pipeline: input 0 is"},
      {PL_ERROR_LIMIT, "rules: 17 operands of a pipeline",
       "pl_emit_pipeline: 17 inputs and outputs; PL_MAX_OPERANDS is 16"},
      {PL_ERROR_REF, "rules: an input as output of a pipeline", "pl_emit_pipeline: output 0 is"},
  };
  const bool bf16 = suite.bf16;
  const pl_dtype dtype = bf16 ? PL_BF16 : PL_INT8, sum = bf16 ? PL_F32 : PL_INT32;
  const pl_array x = suite_array(dtype, PL_SHAPE(32, 32));
  const pl_kernel kernel = {
      .name = "rules",
      .body = operation_body,
      .scratch = {PL_ACC(sum, 32, 32), PL_SMEM(dtype, 32, 32), PL_SEMAPHORES(1), PL_VMEM(dtype, 2, 32, 32)}};
  const pl_kernel idle = {.name = "idle", .body = empty_body};

  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++)
    suite_fails(pl_call(&kernel, PL_ARGS(x), (pl_arrays){0}), cases[which].status, cases[which].name,
                "kernel rules, step 0", cases[which].word, NULL);
  suite_ok(pl_call(&idle, PL_ARGS(x), (pl_arrays){0}), "rules: the next call works");
}

void suite_rules(void) {
  test_alloc();
  test_operands();
  test_operations();
  check(host_logged() == 0, "rules: the model logged nothing");
}
