/* SPDX-License-Identifier: MIT */
/*
 * What plans that do not fit say, and other rules that no other file breaks. messages.py holds all formats in
 * the sources against what the tests provoked.
 */
#include "suite.h"

#include "internal.h"

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void empty_body(void) {}
static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

static pl_array x, o;
static const pl_kernel copies = {.name = "copies", .body = copy_body, .in = {PL_WHOLE}, .out = {PL_WHOLE}};

static pl_status copy(void) {
  return pl_call(&copies, PL_ARGS(x), PL_RESULTS(o));
}

static void works(const char *after) {
  suite_ok(copy(), "messages: the next call works after %s", after);
}

/* ---- plans ---- */

static void no_plan(const pl_kernel *kernel, pl_array in, pl_status wanted, const char *name,
                    const char *words) {
  suite_fails(pl_call(kernel, PL_ARGS(in), (pl_arrays){0}), wanted, name, "kernel plans", words, NULL);
}

static pl_ref array;
static void many_body(void) {
  /* Pipelines in pipelines, each with all the buffers there are. */
  const pl_block_spec many = {PL_DIMS(1, 32), .map = row_map, .buffer_count = PL_MAX_BUFFERS};
  pl_kernel inner = {.name = "inner", .body = many_body, .grid = PL_GRID(4)};
  pl_ref refs[PL_MAX_OPERANDS];
  for (unsigned i = 0; i < PL_MAX_OPERANDS; i++) {
    inner.in[i] = &many;
    refs[i] = array;
  }
  pl_emit_pipeline(&inner, (pl_refs){refs, PL_MAX_OPERANDS}, (pl_refs){0});
}

static void outer_body(void) {
  array = pl_input(0);
  many_body();
}

static void test_plans(void) {
  const pl_array wide = pl_hbm_array(0, PL_F32, PL_SHAPE(2, 1 << 21)),
                 tall = suite_array(PL_INT8, PL_SHAPE(70000, 2)),
                 huge = pl_hbm_array(0, PL_F32, PL_SHAPE(1 << 20, 1 << 10));
  pl_kernel k = {.name = "plans", .body = empty_body, .grid = PL_GRID(2)};
  pl_array past = x;

  k.in[0] = PL_BLOCK(row_map, 1, 1 << 21);
  no_plan(&k, wide, PL_ERROR_BUDGET, "messages: a row larger than VMEM",
          "not even one row of input 0 fits beside the rest");
  k.in[0] = PL_BLOCK(row_map, 66000, 1);
  no_plan(&k, tall, PL_ERROR_LIMIT, "messages: a block of 66000 rows",
          "block with 66000 rows in one dimension; 65535 is the most");
  k.in[0] = PL_IN_HBM;
  no_plan(&k, huge, PL_ERROR_ARGUMENT, "messages: an array of 4 GiB",
          "input 0: an array of more than 2^31 bytes");
  past.address = pl_context.params.value[TPU_PARAM_HBM_BYTES] - 64;
  no_plan(&k, past, PL_ERROR_ARGUMENT, "messages: an array past the end of HBM",
          "input 0: the array ends at 0x");
  k.scratch[0] = PL_VMEM(PL_INT32, 1 << 20, 1 << 12);
  no_plan(&k, x, PL_ERROR_BUDGET, "messages: a scratch of 2^34 bytes", "scratch 0 has more than 2^31 bytes");

  const pl_kernel deep = {.name = "plans", .body = outer_body, .in = {PL_IN_HBM}};
  no_plan(&deep, x, PL_ERROR_LIMIT, "messages: pipelines that fill the arena", "the plan does not fit: of ");
  const pl_block_spec many = {PL_DIMS(1, 32), .map = row_map, .buffer_count = PL_MAX_BUFFERS};
  const pl_kernel rings = {
      .name = "plans", .body = empty_body, .grid = PL_GRID(8), .in = {&many, &many, &many, &many}};
  suite_fails(pl_plan(&rings, PL_ARGS(x, x, x, x), (pl_arrays){0}), PL_ERROR_LIMIT,
              "messages: more buffers than a prediction knows",
              "input 3: pl_plan() knows up to 128 buffers, of all operands and one more each", NULL);
  works("plans");
}

/* ---- operations ---- */

static int which;
static void operation_body(void) {
  pl_ref in = pl_input(2), v = pl_scratch(0), acc = pl_scratch(1), smem = pl_scratch(2), w = pl_scratch(3);
  const pl_kernel inner = {.name = "inner", .body = empty_body, .in = {PL_WHOLE}};
  pl_allocations windows = {0};
  switch (which) {
  case 0:
    pl_dot(in, w, w, PL_OVERWRITE);
    return;
  case 1:
    pl_gather(v, pl_input(1), smem);
    return;
  case 2:
    windows.in[0] = w;
    pl_emit_pipeline_with_allocations(&inner, PL_REFS(v), (pl_refs){0}, &windows);
    return;
  case 3:
    pl_sync_copy(pl_at(v, PL_DS(0, 4)), pl_input(1));
    return;
  case 4:
    pl_argmax(v, v);
    return;
  case 5:
    pl_debug_print_ref("sums", acc);
    return;
  case 6:
    pl_add(v, pl_at(w, PL_ALL, PL_DS(0, 0), PL_ALL), v);
    return;
  case 7:
    pl_context.params.value[TPU_PARAM_VPU_PRESENT] = 0;
    pl_min(v, v, v);
    pl_context.params.value[TPU_PARAM_VPU_PRESENT] = 1;
    return;
  case 8:
    pl_gather(acc, pl_at(w, PL_INDEX(0)), smem);
    return;
  case 9:
    pl_gather(pl_input(0), pl_at(w, PL_INDEX(0)), smem);
    return;
  case 10:
    pl_gather(pl_scratch(4), pl_scratch(5), smem);
    return;
  case 11:
    pl_scatter_add(pl_output(0), pl_input(3), pl_at(smem, PL_DS(0, 1)));
    return;
  default: {
    const uint32_t room = pl_context.params.value[TPU_PARAM_VPU_PROGRAM];
    pl_context.params.value[TPU_PARAM_VPU_PROGRAM] = 4;
    pl_min(v, v, pl_at(w, PL_INDEX(0))); /* whichever of them is not there already */
    pl_max(v, v, pl_at(w, PL_INDEX(0)));
    pl_mul(v, v, pl_at(w, PL_INDEX(0)));
    pl_sub(v, v, pl_at(w, PL_INDEX(0)));
    pl_less(v, v, pl_at(w, PL_INDEX(0)));
    pl_context.params.value[TPU_PARAM_VPU_PROGRAM] = room;
  }
  }
}

static void test_operations(void) {
  static const struct {
    pl_status status;
    const char *name, *words;
  } cases[] = {
      {PL_ERROR_REF, "messages: a dot into an input", "pl_dot: the result is an input"},
      {PL_ERROR_LIMIT, "messages: 2^24 rows to choose from",
       "pl_gather: 16777216 rows to choose from; 16777215 are the most"},
      {PL_ERROR_SPEC, "messages: buffers for a ref in place",
       "pipeline inner: input 0: it is used in place, and takes no buffers (scratch 3)"},
      {PL_ERROR_SHAPE, "messages: a copy of other dtypes",
       "a copy of int32 [4, 32] in VMEM to int8 [16777216, 1] in HBM: a DMA does not convert or reshape"},
      {PL_ERROR_SHAPE, "messages: argmax of all",
       "pl_argmax: the result must be int32 in VMEM with one element for each of 8 rows"},
      {PL_ERROR_REF, "messages: a print of ACC",
       "sums: scratch 1 is in ACC, which the scalar core does not reach; copy it to VMEM"},
      {PL_ERROR_SHAPE, "messages: a sum with nothing",
       "pl_add: the rows of scratch 3 are not evenly spaced, or it is empty"},
      {PL_ERROR_UNSUPPORTED, "messages: no vector unit", "pl_min: this configuration has no vector unit"},
      {PL_ERROR_REF, "messages: a gather to ACC", "pl_gather: a DMA does not reach ACC (scratch 1)"},
      {PL_ERROR_REF, "messages: a gather into an input", "pl_gather would write input 0"},
      {PL_ERROR_UNSUPPORTED, "messages: rows of three dimensions that are no neighbours",
       "a gather or scatter whose rows have more than 2 dimensions of elements that are no neighbours"},
      {PL_ERROR_BUDGET, "messages: rows larger than VMEM",
       "pl_scatter_add of int32 [1, 1048576] needs VMEM for two rows of 4194304 bytes; "},
      {PL_ERROR_UNSUPPORTED, "messages: a small program memory", "a program of "},
  };
  const unsigned flags = pl_debug_flags;
  const pl_array many = pl_hbm_array(0, PL_INT8, PL_SHAPE(1 << 24, 1));
  /* Never touched. */
  const pl_array wide = pl_hbm_array(0, PL_INT32, PL_SHAPE(1, 1 << 20)),
                 rows = pl_hbm_array(16u << 20, PL_INT32, PL_SHAPE(2, 1 << 20));
  pl_array sums;
  suite_ok(pl_alloc(PL_ACC, PL_F32, PL_SHAPE(8, 8), &sums), "messages: sums to keep");

  pl_debug_set(flags | PL_DEBUG_PRINT);
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    const pl_kernel kernel = {.name = "rules",
                              .body = operation_body,
                              .in = {PL_WHOLE, PL_IN_HBM, PL_SPEC(.space = PL_ACC), PL_IN_HBM},
                              .out = {PL_IN_HBM},
                              .scratch = {which == 1 ? PL_VMEM(PL_INT8, 8, 1) : PL_VMEM(PL_INT32, 8, 32),
                                          PL_ACC(PL_INT32, 8, 32), PL_SMEM(PL_INT32, 8),
                                          PL_VMEM(PL_INT32, 2, 8, 32), PL_VMEM(PL_INT8, 8, 3, 3, 3, 3),
                                          PL_VMEM(PL_INT8, 8, 3, 3, 3, 3)}};
    suite_fails(pl_call(&kernel, PL_ARGS(x, many, sums, wide), PL_RESULTS(rows)), cases[which].status,
                cases[which].name, "kernel rules, step 0", cases[which].words, NULL);
    works(cases[which].name);
  }
  pl_debug_set(flags);
  pl_free(&sums);
}

/* ---- calls and maps ---- */

static int calls;
static void once_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  if (calls++ == 0)
    pl_fill(pl_scratch(0), 0);
}

static void test_calls(void) {
  pl_shape deep = PL_SHAPE(1, 1, 1, 1, 1);
  pl_array all[PL_MAX_OPERANDS + 1], here;
  pl_kernel k = {.name = "plans", .body = empty_body};

  pl_context.status = PL_OK;
  (void)pl_input(0);
  suite_fails(pl_context.status, PL_ERROR_ARGUMENT, "messages: an operand outside a kernel",
              "pl_input(0) outside a kernel body", NULL);
  for (unsigned i = 0; i <= PL_MAX_OPERANDS; i++)
    all[i] = x;
  suite_fails(pl_kernel_call(&k, (pl_arrays){all, PL_MAX_OPERANDS + 1}), PL_ERROR_LIMIT,
              "messages: 17 arrays", "pl_kernel_call: 17 arrays; PL_MAX_OPERANDS is 16", NULL);
  deep.rank = 6;
  k.scratch[0] = &(pl_scratch_spec){.space = PL_VMEM, .dtype = PL_F32, .shape = deep};
  k.in[0] = PL_WHOLE;
  no_plan(&k, x, PL_ERROR_SPEC, "messages: a scratch of rank 6",
          "scratch 0: rank 6 (PL_MAX_RANK is 5), dtype 0");
  k.scratch[0] = NULL;
  suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(8, 8), &here), "messages: an array in VMEM");
  k.in[0] = PL_SPEC(.space = PL_SMEM);
  no_plan(&k, here, PL_ERROR_SPEC, "messages: an array that is elsewhere",
          "input 0: the array is in VMEM, its spec wants SMEM; copy it in the body");
  pl_free(&here);
  k.in[0] = PL_BLOCK(once_map, 1, 32);
  k.grid = (pl_grid_spec)PL_GRID(8);
  k.scratch[0] = PL_VMEM(PL_INT32, 8, 32);
  calls = 0;
  no_plan(&k, x, PL_ERROR_REF, "messages: a map that is wrong once",
          "a map calls an operation; maps only compute, and read scalars (pl_prefetch, pl_get)");
}

void suite_messages(void) {
  x = suite_array(PL_INT32, PL_SHAPE(8, 32));
  o = suite_array(PL_INT32, PL_SHAPE(8, 32));
  suite_fill(&x);
  test_plans();
  test_operations();
  test_calls();
  check(host_logged() == 0, "messages: the model logged nothing");
}
