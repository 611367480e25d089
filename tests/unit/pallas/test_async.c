/* SPDX-License-Identifier: MIT */
/* Explicit copies and semaphores: results, order, and what must be diagnosed. */
#include "suite.h"

#include <string.h>

enum what {
  DOUBLE_BUFFER, /* the body pipelines rows by hand: two slots, one semaphore each */
  COUNTS,        /* signal, wait and read of a counting semaphore */
  DYNAMIC,       /* copies of run-time sizes, 0 included */
  CHAIN,         /* copies between HBM, VMEM and SMEM in program order, on one channel too */
  NOT_WAITED,    /* a copy that nobody waits for */
  NOT_ZERO,      /* a semaphore left at 2 */
  NEVER_STARTED, /* a wait for a copy that was not started */
  NEVER_SIGNALLED,
  TOO_MANY_REFS,
};

static void row(pl_ref from, pl_ref to, int32_t i, int32_t slot, bool wait) {
  pl_copy_handle copy = pl_make_async_copy(pl_at(from, PL_DS(i, 1)), pl_at(to, PL_DS(slot, 1)),
                                           pl_at(pl_scratch(1), PL_DS(slot, 1)));
  if (wait)
    pl_wait(&copy);
  else
    pl_start(&copy);
}

static void double_buffer(void) {
  pl_ref x = pl_input(0), o = pl_output(0), rows = pl_scratch(0);
  const int32_t n = pl_ref_extent(x, 0);

  row(x, rows, 0, 0, false);
  for (int32_t i = 0; i < n; i++) {
    if (i + 1 < n)
      row(x, rows, i + 1, (i + 1) % 2, false);
    row(x, rows, i, i % 2, true);
    pl_ref slot = pl_at(rows, PL_DS(i % 2, 1));
    pl_add(slot, slot, slot);
    pl_sync_copy(slot, pl_at(o, PL_DS(i, 1)));
  }
}

static void counts(void) {
  pl_ref sem = pl_at(pl_scratch(1), PL_DS(1, 1));
  pl_ref o = pl_scratch(2);

  pl_semaphore_signal(sem, 3);
  pl_put(o, (int32_t)pl_semaphore_read(sem), 0);
  pl_semaphore_wait(sem, 2);
  pl_put(o, (int32_t)pl_semaphore_read(sem), 1);
  pl_semaphore_wait(sem, 1);
  pl_put(o, (int32_t)pl_semaphore_read(sem), 2);
  pl_sync_copy(o, pl_output(0));
}

static void dynamic(void) {
  pl_ref x = pl_input(0), o = pl_output(0), rows = pl_scratch(0), sem = pl_at(pl_scratch(1), PL_DS(0, 1));
  const int32_t n = pl_program_id(0);

  pl_copy_handle in = pl_async_copy(pl_at(x, PL_DS(0, n)), pl_at(rows, PL_DS(0, n)), sem);
  pl_wait(&in);
  pl_copy_handle out = pl_async_copy(pl_at(rows, PL_DS(0, n)), pl_at(o, PL_DS(0, n)), sem);
  pl_wait(&out);
}

static void chain(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0), s = pl_scratch(2);

  pl_sync_copy(pl_at(x, PL_DS(0, 2)), v); /* HBM -> VMEM */
  pl_sync_copy(v, pl_at(s, PL_DS(0, 2))); /* VMEM -> SMEM, the same channel: a read behind a write */
  pl_sync_copy(pl_at(x, PL_DS(2, 2)), v); /* a write behind that read */
  pl_sync_copy(pl_at(s, PL_DS(0, 2)), pl_at(o, PL_DS(2, 2))); /* SMEM -> HBM */
  pl_sync_copy(v, pl_at(o, PL_DS(0, 2)));                     /* VMEM -> HBM */
  pl_sync_copy(pl_at(o, PL_DS(0, 2)), pl_at(o, PL_DS(4, 2))); /* HBM -> HBM: what was just written */
}

static void body(void) {
  pl_ref sem = pl_scratch(1), x = pl_input(0), v = pl_scratch(0);
  const enum what *what = pl_user();
  pl_copy_handle copy;

  switch (*what) {
  case DOUBLE_BUFFER:
    double_buffer();
    break;
  case COUNTS:
    counts();
    break;
  case DYNAMIC:
    dynamic();
    break;
  case CHAIN:
    chain();
    break;
  case NOT_WAITED:
    pl_async_copy(pl_at(x, PL_DS(0, 2)), v, pl_at(sem, PL_DS(1, 1)));
    break;
  case NOT_ZERO:
    pl_semaphore_signal(pl_at(sem, PL_DS(1, 1)), 2);
    break;
  case NEVER_STARTED:
    copy = pl_make_async_copy(pl_at(x, PL_DS(0, 2)), v, pl_at(sem, PL_DS(1, 1)));
    pl_wait(&copy);
    break;
  case NEVER_SIGNALLED:
    pl_semaphore_wait(pl_at(sem, PL_DS(0, 1)), 5);
    break;
  case TOO_MANY_REFS:
    sem = pl_at(sem, PL_DS(0, 1));
    for (int i = 0; i < PL_MAX_VIEWS; i++)
      pl_at(x, PL_DS(0, 1));
    pl_semaphore_signal(sem, 1);
    break;
  }
}

static pl_status call(enum what what, pl_array x, pl_array o, int32_t steps) {
  const pl_kernel kernel = {
      .name = "async",
      .body = body,
      .user = &what,
      .grid = PL_GRID(PL_DYN(steps)),
      .in = {PL_IN_HBM},
      .out = {PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, what == DYNAMIC ? 8 : 2, 24), PL_SEMAPHORES(2),
                  PL_SMEM(PL_INT32, what == COUNTS ? 3 : 2, 24)},
  };
  const pl_kernel counting = {.name = "async",
                              .body = body,
                              .user = &what,
                              .in = {PL_IN_HBM},
                              .out = {PL_IN_HBM},
                              .scratch = {PL_VMEM(PL_INT32, 2, 24), PL_SEMAPHORES(2), PL_SMEM(PL_INT32, 3)}};
  return pl_call(what == COUNTS ? &counting : &kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void test_results(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(6, 24)), o = suite_array(PL_INT32, PL_SHAPE(6, 24));
  pl_array three = suite_array(PL_INT32, PL_SHAPE(3));
  uint32_t wrong = 0;

  suite_fill(&x);
  suite_ok(call(DOUBLE_BUFFER, x, o, 1), "async: hand-made double buffering");
  for (uint32_t i = 0; i < 6 * 24; i++)
    wrong += suite_get(&o, i) != 2 * suite_get(&x, i);
  check(wrong == 0, "async: hand-made double buffering, contents (%u wrong)", wrong);

  suite_ok(call(COUNTS, x, three, 1), "async: counting semaphore");
  check(suite_get(&three, 0) == 3 && suite_get(&three, 1) == 1 && suite_get(&three, 2) == 0,
        "async: values of a semaphore in program order: %g %g %g", suite_get(&three, 0), suite_get(&three, 1),
        suite_get(&three, 2));

  memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
  suite_ok(call(DYNAMIC, x, o, 6), "async: copies of 0 to 5 rows");
  wrong = 0;
  for (uint32_t i = 0; i < 6 * 24; i++)
    wrong += suite_get(&o, i) != (i < 5 * 24 ? suite_get(&x, i) : 0);
  check(wrong == 0, "async: copies of 0 to 5 rows, contents");

  suite_ok(call(CHAIN, x, o, 3), "async: chain through all spaces");
  wrong = 0;
  for (uint32_t i = 0; i < 2 * 24; i++) {
    wrong += suite_get(&o, i) != suite_get(&x, 2 * 24 + i);
    wrong += suite_get(&o, 2 * 24 + i) != suite_get(&x, i);
    wrong += suite_get(&o, 4 * 24 + i) != suite_get(&x, 2 * 24 + i);
  }
  check(wrong == 0, "async: chain through all spaces, contents (%u wrong)", wrong);
}

static void test_diagnoses(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(6, 24)), o = suite_array(PL_INT32, PL_SHAPE(6, 24));

  suite_fill(&x);
  suite_fails(call(NOT_WAITED, x, o, 1), PL_ERROR_SEMAPHORE, "async: a copy that nobody waits for",
              "kernel async", "not waited for", "semaphore 1", "0 of 192 bytes", "DMA0 with tag 50000000",
              NULL);
  suite_fails(call(NOT_ZERO, x, o, 4), PL_ERROR_SEMAPHORE, "async: a semaphore that is not zero at the end",
              "semaphore 1 of scratch at 8, not 0", "step 3", NULL);
  suite_fails(call(NEVER_STARTED, x, o, 1), PL_ERROR_DEADLOCK,
              "async: a wait for a copy that was not started", "step 0", "wait for 192 on semaphore 1", NULL);
  suite_fails(call(NEVER_SIGNALLED, x, o, 1), PL_ERROR_DEADLOCK, "async: a wait that nobody can end",
              "wait for 5 on semaphore 0", NULL);
  suite_fails(call(TOO_MANY_REFS, x, o, 1), PL_ERROR_REF, "async: a ref that others have replaced",
              "PL_MAX_VIEWS", NULL);
  /* And the device is usable after each. */
  test_results();
}

void suite_async(void) {
  test_results();
  test_diagnoses();
  check(host_logged() == 0, "async: the model logged nothing");
}
