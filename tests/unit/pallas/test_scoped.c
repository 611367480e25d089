/* SPDX-License-Identifier: MIT */
/* Memory of a scope in a body: contents, order when it is used again, and what must be diagnosed. */
#include "suite.h"

#include <string.h>

enum { ROWS = 8, COLUMNS = 24 };

struct pass {
  pl_ref x, o;
  int32_t row;
};

/* A row in, doubled by way of an inner scope, and out; all of it in memory that the last row used. */
static void inner_scope(const pl_ref *refs, void *user) {
  const pl_ref *v = user;
  pl_add(refs[0], *v, *v);
  pl_copy(*v, refs[0]);
}

static void row_scope(const pl_ref *refs, void *user) {
  const struct pass *p = user;
  pl_ref v = refs[0];
  pl_copy_handle in = pl_async_copy(pl_at(p->x, PL_DS(p->row, 1)), v, refs[1]);
  pl_wait(&in);
  pl_run_scoped(inner_scope, &v, PL_VMEM(PL_INT32, 1, COLUMNS));
  pl_copy_handle out = pl_async_copy(v, pl_at(p->o, PL_DS(p->row, 1)), refs[1]);
  pl_wait(&out);
}

static void rows_body(void) {
  struct pass p = {pl_input(0), pl_output(0), 0};
  for (; p.row < ROWS; p.row++)
    pl_run_scoped(row_scope, &p, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
}

/* Program order between scopes without any wait: each takes the memory of the one before. */
static void ordered_scope(const pl_ref *refs, void *user) {
  const struct pass *p = user;
  pl_sync_copy(pl_at(p->x, PL_DS(p->row, 1)), refs[0]);
  pl_copy(refs[1], refs[0]);
  pl_copy(refs[0], refs[1]);
  pl_sync_copy(refs[0], pl_at(p->o, PL_DS(p->row, 1)));
}

static void ordered_body(void) {
  struct pass p = {pl_input(0), pl_output(0), 0};
  for (; p.row < ROWS; p.row++)
    pl_run_scoped(ordered_scope, &p, PL_VMEM(PL_INT32, 1, COLUMNS), PL_ACC(PL_INT32, 1, COLUMNS));
}

static void smem_scope(const pl_ref *refs, void *user) {
  const struct pass *p = user;
  for (int32_t i = 0; i < COLUMNS; i++)
    pl_put(refs[0], p->row * 100 + i, 0, i);
  pl_sync_copy(refs[0], pl_at(p->o, PL_DS(p->row, 1)));
}

static void smem_body(void) {
  struct pass p = {pl_input(0), pl_output(0), 0};
  for (; p.row < ROWS; p.row++)
    pl_run_scoped(smem_scope, &p, PL_SMEM(PL_INT32, 1, COLUMNS));
}

/* ---- what must be diagnosed ---- */

static pl_ref kept;
static void keep(const pl_ref *refs, void *user) {
  (void)user;
  kept = refs[0];
}
static void signal_it(const pl_ref *refs, void *user) {
  (void)user;
  pl_semaphore_signal(pl_at(refs[0], PL_INDEX(1)), 3);
}
static void start_it(const pl_ref *refs, void *user) {
  (void)user;
  pl_async_copy(pl_at(pl_input(0), PL_DS(0, 1)), refs[0], refs[1]);
}
static void deeper(const pl_ref *refs, void *user) {
  (void)refs;
  pl_run_scoped(deeper, user, PL_SMEM(PL_INT32, 1), PL_SMEM(PL_INT32, 1), PL_SMEM(PL_INT32, 1),
                PL_SMEM(PL_INT32, 1), PL_SMEM(PL_INT32, 1));
}

/* A handle of a scope that has ended, and another scope with the same semaphore. */
static pl_copy_handle stale;
static void keep_handle(const pl_ref *refs, void *user) {
  (void)user;
  stale = pl_async_copy(pl_at(pl_input(0), PL_DS(0, 1)), refs[0], refs[1]);
  pl_wait(&stale);
}
static void wait_for_other(const pl_ref *refs, void *user) {
  (void)user;
  pl_async_copy(pl_at(pl_input(0), PL_DS(1, 1)), refs[0], refs[1]);
  pl_wait(&stale);
}
static void start_other(const pl_ref *refs, void *user) {
  (void)refs, (void)user;
  pl_start(&stale);
}
static void pipeline_keeps(void) {
  const pl_ref refs[] = {pl_scratch(0), pl_scratch(1)};
  keep_handle(refs, NULL);
}
static void pipeline_waits(void) {
  const pl_ref refs[] = {pl_scratch(0), pl_scratch(1)};
  wait_for_other(refs, NULL);
}
static void in_pipeline(void (*body)(void)) {
  const pl_kernel pipeline = {.name = "inner",
                              .body = body,
                              .in = {PL_IN_HBM},
                              .scratch = {PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1)}};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), (pl_refs){0});
}

/* A handle of an outer scope in an inner one, which has a semaphore of its own. */
static void wait_inside(const pl_ref *refs, void *user) {
  pl_copy_handle own = pl_async_copy(pl_at(pl_input(0), PL_DS(1, 1)), refs[0], refs[1]);
  pl_wait(user);
  pl_wait(&own);
}
static void outer_handle(const pl_ref *refs, void *user) {
  (void)user;
  pl_copy_handle outer = pl_async_copy(pl_at(pl_input(0), PL_DS(0, 1)), refs[0], refs[1]);
  pl_run_scoped(wait_inside, &outer, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
}
static void outer_body(void) {
  pl_run_scoped(outer_handle, NULL, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
}

static void bad_body(void) {
  const int *which = pl_user();
  switch (*which) {
  case 0:
    pl_run_scoped(keep, NULL, PL_SMEM(PL_INT32, 2), PL_VMEM(PL_F32, 4096, 256));
    break;
  case 1:
    pl_run_scoped(signal_it, NULL, PL_SEMAPHORES(2));
    break;
  case 2:
    pl_run_scoped(start_it, NULL, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
    break;
  case 3:
    pl_run_scoped(keep, NULL, PL_SMEM(PL_INT32, 2));
    pl_get(kept, 0);
    break;
  case 4:
    deeper(NULL, NULL);
    break;
  case 5:
    pl_run_scoped(keep, NULL, PL_SCRATCH_OF(PL_HBM, PL_F32, 4));
    break;
  case 6:
    pl_run_scoped(keep, NULL, PL_SMEM(PL_INT32, 4, 0));
    break;
  case 7:
    pl_run_scoped(keep, NULL, PL_SEMAPHORES(60));
    break;
  case 8:
    pl_run_scoped(keep, NULL, PL_ACC(PL_BF16, 4, 4));
    break;
  case 9:
  case 10:
    pl_run_scoped(keep_handle, NULL, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
    pl_run_scoped(*which == 9 ? wait_for_other : start_other, NULL, PL_VMEM(PL_INT32, 1, COLUMNS),
                  PL_SEMAPHORES(1));
    break;
  case 11:
    pl_run_scoped(keep_handle, NULL, PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1));
    pl_wait(&stale);
    break;
  case 12:
    in_pipeline(pipeline_keeps);
    in_pipeline(pipeline_waits);
    break;
  }
}

static pl_array x, o;

static pl_status call(void (*body)(void), int which) {
  const pl_kernel kernel = {.name = "scoped",
                            .body = body,
                            .user = &which,
                            .grid = PL_GRID(2),
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_INT32, 1, COLUMNS), PL_SEMAPHORES(1)}};
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void check_rows(const char *what, double times, double per_row) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
    wrong += suite_get(&o, i) !=
             (times != 0 ? times * suite_get(&x, i) : per_row * (i / COLUMNS) + (double)(i % COLUMNS));
  check(wrong == 0, "scoped: %s, contents (%u wrong)", what, wrong);
  memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
}

static void test_contents(void) {
  suite_ok(call(rows_body, 0), "scoped: copies and nested scopes");
  check_rows("copies and nested scopes", 2, 0);
  suite_ok(call(ordered_body, 0), "scoped: memory used again without a wait");
  check_rows("memory used again without a wait", 1, 0);
  suite_ok(call(smem_body, 0), "scoped: scalars");
  check_rows("scalars", 0, 100);
  suite_ok(call(outer_body, 0), "scoped: a handle of an outer scope");
}

void suite_scoped(void) {
  static const struct {
    pl_status status;
    const char *name, *words[4];
  } cases[] = {
      {PL_ERROR_BUDGET,
       "too much",
       {"pl_run_scoped: item 1, f32 [4096, 256] in VMEM, wants 4194304 bytes", "are free"}},
      {PL_ERROR_SEMAPHORE,
       "a semaphore at 3",
       {"pl_run_scoped ended with semaphore 2 of scratch at 3, not 0"}},
      {PL_ERROR_SEMAPHORE, "a copy not waited for", {"pl_run_scoped ended with a copy", "0 of 96 bytes"}},
      {PL_ERROR_REF, "a ref after its scope", {"pl_run_scoped() that has ended"}},
      {PL_ERROR_LIMIT, "too many items", {"5 items beside 10 of outer scopes", "PL_MAX_SCOPED is 12"}},
      {PL_ERROR_SPEC, "a scope in HBM", {"item 0: space HBM is not on the chip"}},
      {PL_ERROR_SPEC, "an extent of 0", {"item 0: extent 0 of dimension 1"}},
      {PL_ERROR_BUDGET, "too many semaphores", {"wants 60 semaphores", "1 are in use"}},
      {PL_ERROR_SPEC, "bf16 in ACC", {"ACC holds f32 or int32"}},
      {PL_ERROR_REF,
       "a wait of an ended scope's handle in another one",
       {"pl_wait: a handle", "whose pl_run_scoped() has ended"}},
      {PL_ERROR_REF,
       "a start of an ended scope's handle in another one",
       {"pl_start: a handle", "whose pl_run_scoped() has ended"}},
      {PL_ERROR_REF, "an ended scope's handle", {"pl_wait: a handle", "whose pl_run_scoped() has ended"}},
      {PL_ERROR_REF, "an ended pipeline's handle in the next one", {"pipeline inner", "pl_wait: a handle"}},
  };
  x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  suite_fill(&x);
  test_contents();
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    char name[96];
    snprintf(name, sizeof name, "scoped: %s", cases[i].name);
    const char *const *w = cases[i].words;
    suite_fails(call(bad_body, i), cases[i].status, name, "kernel scoped, step 0 (0)", w[0], w[1], w[2], w[3],
                NULL);
  }
  test_contents();
  check(host_logged() == 0, "scoped: the model logged nothing");
}
