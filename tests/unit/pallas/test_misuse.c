/* SPDX-License-Identifier: MIT */
/*
 * What no kernel should do: NULL for an argument, operations in maps, counts and sizes at the ends of their
 * types. Each is an error that says so; the next call works.
 */
#include "suite.h"

enum { ROWS = 32, COLUMNS = 32, BLOCK = 8 };

static pl_array x, o;

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void nothing(void) {}

static const pl_kernel good = {.name = "good",
                               .body = copy_body,
                               .grid = PL_GRID(ROWS / BLOCK),
                               .in = {PL_BLOCK(row_map, BLOCK, COLUMNS)},
                               .out = {PL_BLOCK(row_map, BLOCK, COLUMNS)}};

/* ---- NULL ---- */

static int which;

static void take_nothing(const pl_ref *refs, void *user) {
  (void)refs;
  (void)user;
}

static void null_body(void) {
  const pl_scratch_spec *const none = NULL;
  const pl_refs one = {NULL, 1};
  switch (which) {
  case 0:
    pl_run_scoped_specs(NULL, NULL, NULL, 0);
    break;
  case 1:
    pl_run_scoped_specs(take_nothing, NULL, NULL, 1);
    break;
  case 2:
    pl_run_scoped_specs(take_nothing, NULL, &none, 1);
    break;
  case 3:
    pl_emit_pipeline(&good, one, (pl_refs){0});
    break;
  case 4:
    pl_emit_pipeline(&good, (pl_refs){0}, one);
    break;
  case 5:
    pl_at_slices(pl_input(0), NULL, 1);
    break;
  case 6:
    pl_get_at(pl_input(0), NULL, 2);
    break;
  case 7:
    pl_put_at(pl_output(0), 1, NULL, 2);
    break;
  case 8:
    pl_start(NULL);
    break;
  case 9:
    pl_start_all(NULL, 2);
    break;
  case 10:
    pl_wait_all(NULL, 2);
    break;
  case 11:
    pl_axis(NULL);
    break;
  case 12:
    pl_copy(pl_output(0), (pl_ref){0});
    break;
  default:
    pl_copy(pl_output(0), pl_input(0));
  }
}

static void test_null_in_bodies(void) {
  static const struct {
    pl_status status;
    const char *text;
  } cases[] = {
      {PL_ERROR_ARGUMENT, "pl_run_scoped: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_run_scoped: NULL where"},
      {PL_ERROR_SPEC, "pl_run_scoped: item 0: space"},
      {PL_ERROR_ARGUMENT, "pl_emit_pipeline: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_emit_pipeline: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_at: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_get: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_put: NULL where"},
      {PL_ERROR_REF, "pl_start: a handle that"},
      {PL_ERROR_ARGUMENT, "pl_start_all: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_wait_all: NULL where"},
      {PL_ERROR_ARGUMENT, "pl_axis: NULL where"},
      {PL_ERROR_REF, "an operation on no ref"},
  };
  pl_kernel k = good;
  k.name = "null";
  k.body = null_body;
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    char name[64];
    snprintf(name, sizeof name, "misuse: NULL in a body, case %d", which);
    suite_fails(pl_call(&k, PL_ARGS(x), PL_RESULTS(o)), cases[which].status, name,
                "kernel null, step 0 (0): ", cases[which].text, NULL);
  }
  suite_ok(pl_call(&k, PL_ARGS(x), PL_RESULTS(o)), "misuse: the call behind them works");
}

/* What an entry without a status said. */
static void said(const char *name, const char *words) {
  suite_fails(PL_ERROR_ARGUMENT, PL_ERROR_ARGUMENT, name, words, NULL);
  suite_ok(pl_call(&good, PL_ARGS(x), PL_RESULTS(o)), "%s: the next call works", name);
}

static void test_null_outside(void) {
  const pl_arrays one = {NULL, 1};
  const pl_kernel with_prefetch = {.name = "p", .body = nothing, .num_scalar_prefetch = 1};
  const pl_grid_spec grid = PL_GRID(4);
  const uint8_t semantics[PL_MAX_GRID] = {PL_PARALLEL};
  pl_core_part part;
  pl_array array;
  const struct {
    pl_status status;
    const char *who;
  } cases[] = {
      {pl_free(NULL), "pl_free"},
      {pl_alloc(PL_HBM, PL_F32, PL_SHAPE(4), NULL), "pl_alloc"},
      {pl_call(NULL, PL_ARGS(x), PL_RESULTS(o)), "pl_call"},
      {pl_kernel_call(NULL, PL_ARRAYS(x)), "pl_kernel_call"},
      {pl_kernel_call(&with_prefetch, (pl_arrays){NULL, 2}), "pl_kernel_call"},
      {pl_plan(NULL, PL_ARGS(x), PL_RESULTS(o)), "pl_plan"},
      {pl_predict(&good, PL_ARGS(x), PL_RESULTS(o), NULL), "pl_predict"},
      {pl_data_find("x", NULL), "pl_data_find"},
      {pl_data_find(NULL, &array), "pl_data_find"},
      {pl_partition_grid(NULL, semantics, 2, 0, &part), "pl_partition_grid"},
      {pl_partition_grid(&grid, NULL, 2, 0, &part), "pl_partition_grid"},
      {pl_partition_grid(&grid, semantics, 2, 0, NULL), "pl_partition_grid"},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++)
    check(cases[i].status == PL_ERROR_ARGUMENT, "misuse: %s with NULL (%s)", cases[i].who,
          pl_status_name(cases[i].status));
  suite_fails(pl_call(&good, one, PL_RESULTS(o)), PL_ERROR_ARGUMENT, "misuse: a list that is NULL",
              "kernel good: there is no body, or an array list is NULL", NULL);
  suite_fails(pl_free(NULL), PL_ERROR_ARGUMENT, "misuse: pl_free", "pl_free: NULL where something must be",
              NULL);
  pl_get_stats(NULL);
  said("misuse: pl_get_stats", "pl_get_stats: NULL where something must be");
  pl_get_pipeline_stats(NULL);
  said("misuse: pl_get_pipeline_stats", "pl_get_pipeline_stats: NULL where");
  check(pl_array_bytes(NULL) == 0, "misuse: no array has no bytes");
  said("misuse: pl_array_bytes", "pl_array_bytes: NULL where");
  check(pl_hbm_pointer(NULL) == NULL, "misuse: no array is nowhere");
  said("misuse: pl_hbm_pointer", "pl_hbm_pointer: NULL where");
}

/* ---- operations in maps ---- */

static int32_t from_step; /* the map calls something from this position on */

static void operating_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  if (g->id[0] < from_step)
    return;
  switch (which) {
  case 0:
    pl_add(pl_output(0), pl_input(0), pl_input(0));
    break;
  case 1:
    pl_copy(pl_scratch(0), pl_input(0));
    break;
  case 2:
    pl_async_copy(pl_input(0), pl_scratch(0), pl_scratch(1));
    break;
  case 3:
    b[0].start += pl_get(pl_scratch(0), 0, 0);
    break;
  case 4:
    pl_put(pl_prefetch(0), 1, 0);
    break;
  case 5:
    pl_semaphore_signal(pl_scratch(1), 1);
    break;
  case 6:
    pl_run_scoped(take_nothing, NULL, PL_SMEM(PL_INT32, 4));
    break;
  case 7:
    pl_emit_pipeline(&good, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
    break;
  case 8:
    pl_core_barrier();
    break;
  case 10: /* what the body does, too */
    copy_body();
    break;
  case 9:
    pl_dot(pl_scratch(0), pl_input(0), pl_input(0), 0);
    break;
  default: /* what maps may do */
    b[0].start += pl_get(pl_at(pl_prefetch(0), PL_DS(1, 2)), 0) + pl_ref_extent(pl_prefetch(0), 0) - 4;
  }
}

static void test_maps(void) {
  static const char *const called[] = {"an operation",    "an operation", "an operation",  "an operation",
                                       "an operation",    "an operation", "pl_run_scoped", "pl_emit_pipeline",
                                       "pl_core_barrier", "an operation", "an operation"};
  const pl_array table = suite_array(PL_INT32, PL_SHAPE(4));
  const pl_block_spec *const operating = PL_BLOCK(operating_map, BLOCK, COLUMNS), *const plain =
                                                                                      PL_BLOCK(row_map, BLOCK,
                                                                                               COLUMNS);
  pl_kernel k = good;

  for (uint32_t i = 0; i < 4; i++)
    suite_put(&table, i, 0);
  k.name = "maps";
  k.num_scalar_prefetch = 1;
  k.scratch[0] = PL_VMEM(PL_F32, BLOCK, COLUMNS);
  k.scratch[1] = PL_SEMAPHORES(1);
  for (int operand = 0; operand < 2; operand++)
    for (from_step = 0; from_step < 4; from_step += 3)
      for (which = 0; which < 12; which++) {
        char name[64], words[96];
        k.in[0] = operand == 0 ? operating : plain;
        k.out[0] = operand == 1 ? operating : plain;
        snprintf(name, sizeof name, "misuse: maps, operand %d from step %d, case %d", operand, (int)from_step,
                 which);
        if (which == 11) {
          suite_ok(pl_call(&k, PL_ARGS(table, x), PL_RESULTS(o)), "%s", name);
          continue;
        }
        snprintf(words, sizeof words, "%s 0: its map calls %s; maps only compute",
                 operand ? "output" : "input", called[which]);
        suite_fails(pl_call(&k, PL_ARGS(table, x), PL_RESULTS(o)), PL_ERROR_REF, name,
                    from_step == 0 ? "kernel maps: " : "kernel maps, step 2 (2): ", words, NULL);
      }
  which = 1;
  k.grid = (pl_grid_spec)PL_GRID(3);
  k.in[0] = PL_BLOCK(operating_map, ROWS, COLUMNS); /* one block: its map can only say 0 */
  from_step = 0;
  suite_fails(pl_call(&k, PL_ARGS(table, x), PL_RESULTS(o)), PL_ERROR_REF, "misuse: the map of a constant",
              "kernel maps: input 0: its map calls an operation", NULL);
  pl_prediction p;
  suite_fails(pl_predict(&k, PL_ARGS(table, x), PL_RESULTS(o), &p), PL_ERROR_REF,
              "misuse: maps of a prediction", "kernel maps: input 0: its map calls an operation", NULL);
}

/* ---- the body's product again in a map, whose words are still staged ---- */

static unsigned body_mode, map_mode;

static void dot_body(void) {
  pl_dot(pl_scratch(0), pl_scratch(1), pl_scratch(2), body_mode);
  if (pl_program_id(0) == from_step && which == 1)
    pl_dot(pl_scratch(0), pl_scratch(1), pl_scratch(2), map_mode);
}
static void dot_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  if (g->id[0] >= from_step && which == 0)
    pl_dot(pl_scratch(0), pl_scratch(1), pl_scratch(2), map_mode);
}

static void test_products_in_maps(void) {
  static const unsigned modes[] = {PL_OVERWRITE, PL_ACCUMULATE, PL_TRANSPOSED, PL_ACCUMULATE | PL_TRANSPOSED};
  const pl_dtype dtype = suite.bf16 ? PL_BF16 : PL_INT8, sum = suite.bf16 ? PL_F32 : PL_INT32;
  const pl_block_spec *const block = PL_BLOCK(dot_map, BLOCK, COLUMNS);
  const pl_kernel k = {.name = "dots",
                       .body = dot_body,
                       .grid = PL_GRID(ROWS / BLOCK),
                       .in = {block},
                       .scratch = {PL_ACC(sum, 32, 32), PL_VMEM(dtype, 32, 32), PL_VMEM(dtype, 32, 32)}};
  for (which = 0; which < 2; which++)
    for (unsigned i = 0; i < 16; i++) {
      body_mode = modes[i / 4];
      map_mode = modes[i % 4];
      from_step = which == 0 ? 2 : 1;
      const pl_status status = pl_call(&k, PL_ARGS(x), (pl_arrays){0});
      if (which == 1)
        suite_ok(status, "misuse: products of modes %u and %u in a body", body_mode, map_mode);
      else
        suite_fails(status, PL_ERROR_REF, "misuse: the body's product in a map",
                    "kernel dots, step 1 (1): input 0: its map calls an operation", NULL);
    }
  which = 1;
  body_mode = 0;
  map_mode = 0x40; /* no mode: if the words are still staged, the device says so */
  const pl_status status = pl_call(&k, PL_ARGS(x), (pl_arrays){0});
  check(status == PL_ERROR_ARGUMENT || (status == PL_ERROR_DEVICE && host_logged() != 0),
        "misuse: a mode that is none, repeated (%s)", pl_error_message());
}

/* ---- the ends of types ---- */

static void end_body(void) {
  static const pl_slice far = {1, PL_SIZE_REST, INT32_MAX}, before = {INT32_MIN, PL_SIZE_REST, 1};
  switch (which) {
  case 0:
    pl_semaphore_signal(pl_scratch(0), 0x80000000u);
    break;
  case 1:
    pl_at_slices(pl_input(0), &before, 1);
    break;
  case 2:
    pl_at_slices(pl_input(0), &far, 1);
    pl_at(pl_input(0), PL_DS(INT32_MAX, INT32_MAX));
    break;
  case 3:
    pl_bitcast(pl_input(0), (pl_dtype)77);
    break;
  default:
    pl_at_slices(pl_input(0), &far, 1);
    pl_semaphore_signal(pl_scratch(0), 0x7fffffffu);
    pl_semaphore_wait(pl_scratch(0), 0x7fffffffu);
  }
}

static void test_ends(void) {
  static const struct {
    pl_status status;
    const char *text;
  } cases[] = {
      {PL_ERROR_ARGUMENT, "pl_semaphore_signal: 2147483648; a semaphore counts to 2^31 - 1"},
      {PL_ERROR_REF, "pl_at: dimension 0 of input 0 has extent 8; start -2147483648"},
      {PL_ERROR_REF, "pl_at: dimension 0 of input 0 has extent 8; start 2147483647, size 2147483647"},
      {PL_ERROR_ARGUMENT, "pl_bitcast: there is no dtype 77"},
  };
  pl_kernel k = good;
  k.name = "ends";
  k.body = end_body;
  k.scratch[0] = PL_SEMAPHORES(1);
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    char name[64];
    snprintf(name, sizeof name, "misuse: ends of types, case %d", which);
    suite_fails(pl_call(&k, PL_ARGS(x), PL_RESULTS(o)), cases[which].status, name,
                "kernel ends, step 0 (0): ", cases[which].text, NULL);
  }
  suite_ok(pl_call(&k, PL_ARGS(x), PL_RESULTS(o)), "misuse: and just before the ends");
}

void suite_misuse(void) {
  x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  o = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  suite_fill(&x);
  test_null_in_bodies();
  test_null_outside();
  test_maps();
  test_products_in_maps();
  test_ends();
  check(host_logged() == 0, "misuse: the model logged nothing");
}
