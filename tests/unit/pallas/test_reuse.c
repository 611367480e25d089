/* SPDX-License-Identifier: MIT */
/*
 * Memory, views and names that are used again: what an inner pipeline shares with temporaries and scopes,
 * views that outlive the pool's, plans beside running ones, handles and statistics that outlive what they
 * were of.
 */
#include "suite.h"

#include <string.h>

enum { ROWS = 64, COLUMNS = 128 };

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static int views; /* made by the inner body in every step */
static void double_body(void) {
  for (int i = 0; i < views; i++)
    (void)pl_at(pl_input(0), PL_DS(0, 1));
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

static pl_kernel doubling(const char *name, int32_t steps, const pl_block_spec *rows) {
  return (pl_kernel){.name = name, .body = double_body, .grid = PL_GRID(steps), .in = {rows}, .out = {rows}};
}

static int32_t *elements(const pl_array *array) {
  return pl_hbm_pointer(array);
}

static uint32_t not_doubled(const pl_array *x, const pl_array *o) {
  uint32_t bad = 0;
  for (uint32_t i = 0; i < suite_elements(x); i++)
    bad += elements(o)[i] != 2 * elements(x)[i];
  return bad;
}

/* The same pipeline again and again; in between a temporary lies where its buffers were. */
static void temporary_body(void) {
  const pl_kernel inner = doubling("inner", 8, PL_BLOCK(row_map, 8, COLUMNS));
  const pl_ref from = pl_scratch(0), to = pl_at(pl_scratch(1), PL_ALL, PL_DS(0, 120));
  for (int round = 0; round < 4; round++) {
    pl_emit_pipeline(&inner, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
    pl_fill(from, (uint32_t)(100 + round));
    for (int i = 0; i < 2; i++)
      pl_add(to, pl_at(from, PL_ALL, PL_DS(3, 120)), pl_at(from, PL_ALL, PL_DS(5, 120)));
  }
  pl_emit_pipeline(&inner, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
  pl_sync_copy(pl_scratch(1), pl_at(pl_arg(2), PL_DS(0, 8)));
}

/* Operands that are views, and an inner body that makes more views than the pool has. */
static void views_body(void) {
  const pl_kernel inner = doubling("inner", 8, PL_BLOCK(row_map, 8, COLUMNS));
  pl_emit_pipeline(&inner, PL_REFS(pl_at(pl_arg(0), PL_DS(0, ROWS))),
                   PL_REFS(pl_at(pl_arg(1), PL_DS(0, ROWS))));
  pl_sync_copy(pl_arg(1), pl_arg(2));
}

static void test_inner(const pl_array *x, const pl_array *t, const pl_array *o) {
  const pl_kernel temporary = {.name = "outer",
                               .body = temporary_body,
                               .scratch = {PL_VMEM(PL_INT32, 8, COLUMNS), PL_VMEM(PL_INT32, 8, COLUMNS)}};
  const pl_kernel recycled = {.name = "outer", .body = views_body};

  if (suite_ok(pl_kernel_call(&temporary, PL_ARRAYS(*x, *t, *o)),
               "reuse: a temporary between two inner pipelines")) {
    uint32_t bad = not_doubled(x, t);
    for (uint32_t i = 0; i < 8 * COLUMNS; i++)
      bad += i % COLUMNS < 120 && elements(o)[i] != 206;
    check(bad == 0, "reuse: a temporary where an inner pipeline's buffers were (%u wrong)", bad);
  }
  for (views = 0; views <= 30; views += 15) {
    memset(elements(t), 0, pl_array_bytes(t));
    if (suite_ok(pl_kernel_call(&recycled, PL_ARRAYS(*x, *t, *o)), "reuse: %d views a step", views))
      check(not_doubled(x, o) == 0, "reuse: operands of a pipeline are views, its body makes %d a step",
            views);
  }
  views = 0;
}

/* Pipelines two deep behind others that fill the arena: room is found whatever was planned before. */
static int others;
static void middle_body(void) {
  const pl_kernel deep = doubling("deep", 4, PL_BLOCK(row_map, 1, COLUMNS));
  pl_emit_pipeline(&deep, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}

static void arena_body(void) {
  for (int i = 0; i < others; i++) {
    const pl_kernel other = doubling("other", 4, PL_BUFFERED((uint8_t)(2 + i), row_map, 4, COLUMNS));
    pl_emit_pipeline(&other, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
  }
  const pl_block_spec *four = PL_BLOCK(row_map, 4, COLUMNS);
  const pl_kernel middle = {
      .name = "middle", .body = middle_body, .grid = PL_GRID(4), .in = {four}, .out = {four}};
  pl_emit_pipeline(&middle, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
}

static void test_arena(const pl_array *x, const pl_array *o) {
  const pl_array few = pl_hbm_array(x->address, PL_INT32, PL_SHAPE(16, COLUMNS)),
                 result = pl_hbm_array(o->address, PL_INT32, PL_SHAPE(16, COLUMNS));
  const pl_kernel kernel = {.name = "outer", .body = arena_body};
  unsigned failed = 0, bad = 0;
  for (others = 0; others < 24; others++)
    for (int call = 0; call < 3; call++) {
      memset(elements(&result), 0, pl_array_bytes(&result));
      failed += pl_kernel_call(&kernel, PL_ARRAYS(few, result)) != PL_OK;
      bad += not_doubled(&few, &result) != 0;
    }
  check(failed == 0 && bad == 0,
        "reuse: 0 to 23 pipelines before one two deep: %u calls failed, %u wrong: %s", failed, bad,
        failed ? pl_error_message() : "-");
}

/* A handle whose scope has ended. */
static pl_copy_handle kept;
static void keep_body(const pl_ref *refs, void *user) {
  (void)user;
  kept = pl_make_async_copy(pl_at(pl_arg(0), PL_DS(0, 8)), pl_scratch(0), refs[0]);
}
static void stale_body(void) {
  pl_run_scoped(keep_body, NULL, PL_SEMAPHORES(1));
  pl_start(&kept);
}

static int32_t computed;
static void computed_body(void) {
  (void)pl_at(pl_arg(0), PL_DS(0, computed));
}

static void test_stale(const pl_array *x, const pl_array *o) {
  const pl_kernel stale = {.name = "stale", .body = stale_body, .scratch = {PL_VMEM(PL_INT32, 8, COLUMNS)}};
  const pl_kernel slice = {.name = "slice", .body = computed_body};
  pl_kernel counted = doubling("counted", 8, PL_BLOCK(row_map, 8, COLUMNS)), huge = counted;
  pl_stats stats;

  suite_fails(pl_kernel_call(&stale, PL_ARRAYS(*x, *o)), PL_ERROR_REF,
              "reuse: a handle of a scope that has ended", "kernel stale", "pl_start: a handle",
              "pl_run_scoped() has ended", NULL);
  for (computed = -2; computed < 0; computed++)
    suite_fails(pl_kernel_call(&slice, PL_ARRAYS(*x, *o)), PL_ERROR_REF, "reuse: a computed size below 0",
                "kernel slice", "size -", NULL);
  huge.grid.extent[0] = pl_dyn((1 << 30) + 2);
  suite_fails(pl_call(&huge, PL_ARGS(*x), PL_RESULTS(*o)), PL_ERROR_LIMIT,
              "reuse: a run-time extent far too large", "PL_MAX_STEPS", NULL);
  huge.grid.extent[0] = (1 << 30) + 2; /* no extent is taken for another one */
  suite_fails(pl_call(&huge, PL_ARGS(*x), PL_RESULTS(*o)), PL_ERROR_LIMIT,
              "reuse: a static extent far too large", "PL_MAX_STEPS", NULL);
  suite_fails(pl_call(&counted, (pl_arrays){NULL, 1}, PL_RESULTS(*o)), PL_ERROR_ARGUMENT,
              "reuse: a list of arrays that is NULL", "kernel counted", "NULL", NULL);
  suite_fails(pl_kernel_call(&slice, (pl_arrays){NULL, 1}), PL_ERROR_ARGUMENT,
              "reuse: the same of a kernel without a grid", "NULL", NULL);
  if (suite_ok(pl_call(&counted, PL_ARGS(*x), PL_RESULTS(*o)), "reuse: a call")) {
    for (uint8_t buffers = 2; buffers < 32; buffers++) { /* fills the arena */
      pl_kernel other = doubling("other", 8, PL_BUFFERED(buffers, row_map, 8, 16));
      const pl_array narrow = pl_hbm_array(0, PL_INT32, PL_SHAPE(ROWS, 16));
      pl_prediction prediction;
      (void)!pl_predict(&other, PL_ARGS(narrow), PL_RESULTS(narrow), &prediction);
    }
    pl_get_stats(&stats);
    check((stats.steps == 8 && stats.copies[0] == 8) || (stats.steps == 0 && stats.copies[0] == 0),
          "reuse: statistics of a plan that was dropped: %u steps, %u copies", (unsigned)stats.steps,
          (unsigned)stats.copies[0]);
    pl_kernel empty = counted;
    empty.grid.extent[0] = pl_dyn(0);
    suite_ok(pl_call(&empty, PL_ARGS(*x), PL_RESULTS(*o)), "reuse: a call of no steps");
    pl_get_stats(&stats);
    uint64_t commands = 0;
    for (int q = 0; q < 7; q++)
      commands += stats.queue[q].commands;
    check(commands == 0 && stats.steps == 0 && stats.copies[0] == 0,
          "reuse: a call of no steps queues nothing");
    empty.in[0] = PL_BLOCK(row_map, 8, 16, 2);
    suite_fails(pl_call(&empty, PL_ARGS(*x), PL_RESULTS(*o)), PL_ERROR_SPEC,
                "reuse: a call of no steps with a bad spec", "kernel counted: input 0", "has rank 3", NULL);
  }
}

void suite_reuse(void) {
  const pl_array x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
                 t = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  for (uint32_t i = 0; i < suite_elements(&x); i++)
    elements(&x)[i] = (int32_t)i + 1;
  test_inner(&x, &t, &o);
  test_arena(&x, &o);
  test_stale(&x, &o);
  check(host_logged() == 0, "reuse: the model logged nothing");
}
