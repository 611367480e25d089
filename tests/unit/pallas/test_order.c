/* SPDX-License-Identifier: MIT */
/*
 * Orders that no data shows by themselves, each of which the runtime makes in one place: around pipelines in
 * a body that run again, and between the copies of an output and of the input in whose memory it is. The
 * model reports what is not ordered, with every timing; `late` and `eager` also spoil the data.
 */
#include "suite.h"

enum { ROWS = 32, COLUMNS = 64, BLOCK = 8, BLOCKS = ROWS / BLOCK, AGAIN = 3 };

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
#define ROWS_BLOCK PL_BLOCK(row_map, BLOCK, COLUMNS)

static pl_array x, o, t;

static uint32_t wrong_in(const pl_array *a, double (*want)(uint32_t at)) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < suite_elements(a); i++)
    wrong += suite_get(a, i) != want(i);
  return wrong;
}
static double of_x(uint32_t at) {
  return suite_get(&x, at);
}
static double of_t(uint32_t at) {
  return suite_get(&t, at);
}

/* ---- the same pipeline again ---- */

static void again(const pl_allocations *buffers) {
  const pl_kernel copies = {
      .name = "again", .body = copy_body, .grid = PL_GRID(BLOCKS), .in = {ROWS_BLOCK}, .out = {ROWS_BLOCK}};
  pl_emit_pipeline_with_allocations(&copies, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)), buffers);
}

/* Its fetches come behind the copy into what it reads. */
static void input_changes(void) {
  for (int i = 0; i < AGAIN; i++) {
    again(NULL);
    pl_sync_copy(pl_arg(2), pl_arg(0));
  }
  again(NULL);
}

/* Its write-backs come behind those who read what it writes. */
static void output_is_read(void) {
  for (int i = 0; i < AGAIN; i++) {
    again(NULL);
    pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, BLOCK)), pl_scratch(0));
    pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, BLOCK)), pl_scratch(0));
  }
  again(NULL);
}

/* The same where nothing is fetched that they could be behind. */
static void three_body(void) {
  pl_fill(pl_output(0), 3);
}
static void nothing_is_fetched(void) {
  const pl_kernel fills = {.name = "fills", .body = three_body, .grid = PL_GRID(BLOCKS), .out = {ROWS_BLOCK}};
  for (int i = 0; i < AGAIN; i++) {
    pl_emit_pipeline(&fills, (pl_refs){0}, PL_REFS(pl_arg(1)));
    pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, BLOCK)), pl_scratch(0));
    pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, BLOCK)), pl_scratch(0));
  }
  pl_emit_pipeline(&fills, (pl_refs){0}, PL_REFS(pl_arg(1)));
}
static double three(uint32_t at) {
  (void)at;
  return 3;
}

/* What its input is overwritten with is behind its fetches, though nobody reads them. */
static void input_is_written(void) {
  const pl_kernel unread = {
      .name = "unread", .body = three_body, .grid = PL_GRID(BLOCKS), .in = {ROWS_BLOCK}, .out = {ROWS_BLOCK}};
  for (int i = 0; i < AGAIN; i++) {
    pl_fill(pl_scratch(0), 7);
    pl_emit_pipeline(&unread, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
    pl_sync_copy(pl_scratch(0), pl_at(pl_arg(0), PL_DS(ROWS - BLOCK, BLOCK)));
  }
}

/* What writes the body's buffers comes behind the pipeline that used them. */
static void windows_are_filled(void) {
  const pl_allocations buffers = {.in = {pl_scratch(1)}, .out = {pl_scratch(2)}};
  for (int i = 0; i < AGAIN; i++) {
    again(&buffers);
    pl_fill(pl_scratch(1), 1);
    pl_fill(pl_scratch(2), 1);
  }
}

/* Its buffers are where a scope was, whose last users may not be done. */
static void scope(const pl_ref *ref, void *user) {
  (void)user;
  pl_fill(ref[0], 5);
  pl_sync_copy(ref[0], pl_arg(3));
}
static void scope_between(void) {
  for (int i = 0; i < AGAIN; i++) {
    again(NULL);
    pl_run_scoped(scope, NULL, PL_VMEM(PL_INT32, 4 * BLOCK, COLUMNS));
  }
  again(NULL);
}

static void test_again(void) {
  static const struct {
    const char *name;
    void (*body)(void);
    double (*o)(uint32_t at);
  } cases[] = {{"the input changes in between", input_changes, of_t},
               {"the output is read in between", output_is_read, of_x},
               {"nothing is fetched", nothing_is_fetched, three},
               {"the input is written behind it", input_is_written, three},
               {"its windows are filled", windows_are_filled, of_x},
               {"a scope in between", scope_between, of_x}};
  pl_array s = suite_array(PL_INT32, PL_SHAPE(4 * BLOCK, COLUMNS));
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const pl_kernel kernel = {.name = "outer",
                              .body = cases[i].body,
                              .scratch = {PL_VMEM(PL_INT32, BLOCK, COLUMNS),
                                          PL_VMEM(PL_INT32, 2, BLOCK, COLUMNS),
                                          PL_VMEM(PL_INT32, 2, BLOCK, COLUMNS)}};
    suite_fill(&x);
    suite_fill(&t);
    suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, o, t, s)), "order: a pipeline again, %s", cases[i].name);
    const uint32_t wrong = wrong_in(&o, cases[i].o);
    check(wrong == 0 && host_logged() == 0, "order: a pipeline again, %s: %u wrong, %s", cases[i].name, wrong,
          host_log());
  }
}

/* ---- a signal is behind all that was queued before it ---- */

static uint32_t missing;
static void signal_body(void) {
  pl_sync_copy(pl_input(0), pl_output(0));
  pl_semaphore_signal(pl_scratch(0), 1);
  pl_semaphore_wait(pl_scratch(0), 1); /* the scalar core stops here */
  missing = wrong_in(&o, of_x);
}

static void test_signal(void) {
  const pl_kernel kernel = {.name = "signals",
                            .body = signal_body,
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_SEMAPHORES(1)}};
  suite_fill(&x);
  suite_fill(&o);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "order: a signal");
  check(missing == 0, "order: a signal is behind the copy before it (%u wrong)", missing);
}

/* ---- refs and semaphores of another step, pipeline or call ---- */

static pl_ref kept;
static int inner_mistake;
static void mistaken_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  if (inner_mistake == 0)
    pl_semaphore_signal(pl_at(pl_scratch(0), PL_INDEX(1)), 1);
  else
    pl_copy(pl_output(0), kept);
}
static void outer_body(void) {
  const pl_kernel inner = {.name = "inner",
                           .body = mistaken_body,
                           .grid = PL_GRID(2),
                           .in = {ROWS_BLOCK},
                           .out = {ROWS_BLOCK},
                           .scratch = {PL_SEMAPHORES(2)}};
  pl_fill(pl_scratch(0), 1);
  if (pl_program_id(0) == 0)
    kept = pl_at(pl_scratch(0), PL_DS(0, BLOCK));
  pl_emit_pipeline(&inner, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}
static void keep_body(void) {
  kept = pl_scratch(0);
}
static void use_body(void) {
  pl_fill(kept, 1);
}
static void cast_body(void) { /* rows of 6 bytes */
  (void)pl_bitcast(pl_at(pl_input(0), PL_ALL, PL_DS(0, 4)), PL_INT32);
}

static void test_mistakes(void) {
  const pl_array bytes = suite_array(PL_INT8, PL_SHAPE(4, 6));
  const pl_kernel outer = {.name = "outer",
                           .body = outer_body,
                           .grid = PL_GRID(2),
                           .in = {PL_IN_HBM},
                           .out = {PL_IN_HBM},
                           .scratch = {PL_VMEM(PL_INT32, BLOCK, COLUMNS)}};
  pl_kernel k = {.name = "keeps", .body = keep_body, .scratch = {PL_VMEM(PL_INT32, BLOCK, COLUMNS)}};

  inner_mistake = 0;
  suite_fails(pl_call(&outer, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SEMAPHORE,
              "order: a pipeline leaves a semaphore", "kernel outer, step 0 (0), pipeline inner",
              "semaphore 1 of scratch at 2, not 0", "the pipeline ended", NULL);
  inner_mistake = 1;
  suite_fails(pl_call(&outer, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_REF,
              "order: a part of an earlier outer step, in a pipeline",
              "kernel outer, step 1 (1), pipeline inner", "another step", NULL);
  suite_ok(pl_call(&k, (pl_arrays){0}, (pl_arrays){0}), "order: a ref is kept");
  k.body = use_body;
  suite_fails(pl_call(&k, (pl_arrays){0}, (pl_arrays){0}), PL_ERROR_REF, "order: a ref of an earlier call",
              "kernel keeps, step 0", NULL);
  const pl_kernel cast = {.name = "casts", .body = cast_body, .in = {PL_IN_HBM}};
  suite_fails(pl_call(&cast, PL_ARGS(bytes), (pl_arrays){0}), PL_ERROR_SHAPE,
              "order: rows that do not begin at whole elements", "kernel casts, step 0", "pl_bitcast", NULL);
  pl_kernel planned = {
      .name = "planned", .body = copy_body, .grid = PL_GRID(BLOCKS), .in = {ROWS_BLOCK}, .out = {ROWS_BLOCK}};
  suite_ok(pl_call(&planned, PL_ARGS(x), PL_RESULTS(o)), "order: a kernel is planned");
  planned.dimension_semantics[0] = 5;
  suite_fails(pl_call(&planned, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC,
              "order: other semantics of a planned kernel", "grid dimension 0 has the semantics 5", NULL);
}

/* ---- aliases, of calls and of pipelines in a body ---- */

static bool nested;
static pl_kernel aliased;
static void nested_body(void) {
  pl_emit_pipeline(&aliased, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(0), pl_arg(1)));
}

static pl_status run(const pl_kernel *kernel) {
  const pl_kernel outer = {.name = "outer", .body = nested_body};
  if (!nested)
    return pl_call(kernel, PL_ARGS(x), PL_RESULTS(x, o));
  aliased = *kernel;
  return pl_kernel_call(&outer, PL_ARRAYS(x, o));
}

/* Nobody reads the input: its fetch is ordered before the write-back of the block all the same. */
static void fill_body(void) {
  pl_fill(pl_output(0), 40u + (uint32_t)pl_program_id(0));
  pl_fill(pl_output(1), 0);
}
static double filled(uint32_t at) {
  return 40 + at / (BLOCK * COLUMNS);
}

/* The body reads block s of the input by itself; the write-back of block s is behind that. */
static void own_read_body(void) {
  const int32_t s = pl_program_id(0);
  pl_sync_copy(pl_at(pl_input(0), PL_DS(s * BLOCK, BLOCK)), pl_scratch(0));
  pl_fill(pl_output(0), 40u + (uint32_t)s);
  pl_copy(pl_output(1), pl_scratch(0));
}

/* The body writes block s + 2 by itself, whose fetch begins in step s + 1: behind that. */
static void own_write_body(void) {
  const int32_t s = pl_program_id(0);
  pl_fill(pl_scratch(0), 42u + (uint32_t)s);
  if (s + 2 < BLOCKS)
    pl_sync_copy(pl_scratch(0), pl_at(pl_output(0), PL_DS((s + 2) * BLOCK, BLOCK)));
  pl_copy(pl_output(1), pl_input(0));
}

static pl_array before;
static double of_before(uint32_t at) {
  return suite_get(&before, at);
}
static double written_later(uint32_t at) {
  return at / (BLOCK * COLUMNS) < 2 ? of_before(at) : filled(at);
}
static double zero(uint32_t at) {
  (void)at;
  return 0;
}

static void test_alias(void) {
  const pl_block_spec *const block = PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = row_map, .alias = PL_ALIAS(0)),
                             *const whole = PL_SPEC(.space = PL_HBM, .alias = PL_ALIAS(0));
  const struct {
    const char *name;
    void (*body)(void);
    const pl_block_spec *in, *out;
    double (*x)(uint32_t at), (*o)(uint32_t at);
  } cases[] = {
      {"nobody reads", fill_body, ROWS_BLOCK, block, filled, zero},
      {"the body reads by itself", own_read_body, PL_IN_HBM, block, filled, of_before},
      {"the body writes by itself", own_write_body, ROWS_BLOCK, whole, written_later, written_later}};
  before = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  for (unsigned i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
    const unsigned n = i / 2;
    const pl_kernel kernel = {.name = "alias",
                              .body = cases[n].body,
                              .grid = PL_GRID(BLOCKS),
                              .in = {cases[n].in},
                              .out = {cases[n].out, ROWS_BLOCK},
                              .scratch = {PL_VMEM(PL_INT32, BLOCK, COLUMNS)}};
    nested = i % 2;
    suite_fill(&x);
    for (uint32_t k = 0; k < suite_elements(&x); k++)
      suite_put(&before, k, suite_get(&x, k));
    suite_ok(run(&kernel), "order: an alias, %s, %s", cases[n].name, nested ? "in a body" : "called");
    const uint32_t wrong = wrong_in(&x, cases[n].x) + wrong_in(&o, cases[n].o);
    check(wrong == 0 && host_logged() == 0, "order: an alias, %s, %s: %u wrong, %s", cases[n].name,
          nested ? "in a body" : "called", wrong, host_log());
  }
}

void suite_order(void) {
  x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  t = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  test_again();
  test_alias();
  test_signal();
  test_mistakes();
  check(host_logged() == 0, "order: the model logged nothing");
}
