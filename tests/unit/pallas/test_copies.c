/* SPDX-License-Identifier: MIT */
/* Explicit copies, all their forms: endpoints, sharing, splitting, priorities, sizes, and their errors. */
#include "suite.h"

#include "internal.h"

#include <string.h>

enum { ROWS = 8, COLUMNS = 24 };

static pl_array x, o;
static pl_copy_handle kept;
static int32_t values[8];

/* Two copies on one semaphore, waited for by one wait for the sum; then two, in the other order. */
static void shared_body(void) {
  pl_ref in = pl_input(0), out = pl_output(0), v = pl_scratch(0), s = pl_scratch(1);
  pl_ref sem = pl_at(pl_scratch(2), PL_INDEX(1), PL_INDEX(2));
  pl_copy_handle a = pl_async_copy(pl_at(in, PL_DS(0, 4)), pl_at(v, PL_DS(0, 4)), sem);
  pl_copy_handle b = pl_async_copy(pl_at(in, PL_DS(4, 4)), s, sem);
  pl_semaphore_wait(sem, a.bytes + b.bytes);
  pl_copy_handle back[2] = {pl_make_async_copy(s, pl_at(out, PL_DS(4, 4)), sem),
                            pl_make_async_copy(pl_at(v, PL_DS(0, 4)), pl_at(out, PL_DS(0, 4)), sem)};
  pl_start_all(back, 2);
  pl_wait(&back[1]);
  pl_wait(&back[0]);
}

/* HBM to HBM, VMEM to VMEM, and an array of semaphores chosen by the step. */
static void endpoints_body(void) {
  pl_ref in = pl_input(0), out = pl_output(0), v = pl_scratch(0);
  const int32_t i = pl_program_id(0);
  pl_ref sem = pl_at(pl_scratch(2), PL_INDEX(i % 4), PL_INDEX(i % 3));
  pl_copy_handle list[2] = {pl_make_async_copy(pl_at(in, PL_INDEX(i)), pl_at(out, PL_INDEX(i)), sem),
                            pl_make_async_copy(pl_at(in, PL_INDEX(i)), pl_at(v, PL_INDEX(0)), sem)};
  pl_start_priority(&list[0], 3);
  pl_start_priority(&list[1], 1);
  pl_wait_all(list, 2);
  pl_sync_copy(pl_at(v, PL_INDEX(0)), pl_at(v, PL_INDEX(1)));
  pl_ref row = pl_at(v, PL_INDEX(1));
  if (i % 2 == 1)
    pl_sync_copy(row, pl_at(out, PL_INDEX(i)));
}

/* Started in step s, waited for in s + 1: with a handle made anew, and with the one that was kept. */
static void split_body(void) {
  pl_ref in = pl_input(0), out = pl_output(0), v = pl_scratch(0);
  const int32_t i = pl_program_id(0), n = pl_num_programs(0);
  pl_ref sem = pl_at(pl_scratch(2), PL_INDEX(0), PL_INDEX(0));

  if (i > 0) {
    const int32_t slot = (i - 1) % 2;
    pl_copy_handle again = pl_make_async_copy(pl_at(in, PL_INDEX(i - 1)), pl_at(v, PL_INDEX(slot)), sem);
    pl_wait(i % 3 == 0 ? &again : &kept);
    pl_sync_copy(pl_at(v, PL_INDEX(slot)), pl_at(out, PL_INDEX(i - 1)));
  }
  if (i < n - 1)
    kept = pl_async_copy(pl_at(in, PL_INDEX(i)), pl_at(v, PL_INDEX(i % 2)), sem);
}

/* Strided and transposed-like copies, and sizes known only in the step. */
static void parts_body(void) {
  pl_ref in = pl_input(0), out = pl_output(0), s = pl_scratch(1);
  const int32_t n = pl_program_id(0);
  pl_ref even = pl_at(in, PL_DS_STRIDED(0, 4, 2), PL_DS_STRIDED(1, 5, 3));
  pl_sync_copy(even, pl_at(s, PL_ALL, PL_DS(0, 5)));
  pl_sync_copy(pl_at(s, PL_DS(0, n), PL_DS(0, 5)), pl_at(out, PL_DS(0, n), PL_DS(0, 5)));
}

static void read_body(void) {
  for (int32_t v = 0; v < 6; v++) {
    pl_ref sem = pl_at(pl_scratch(2), PL_INDEX(v % 4), PL_INDEX(2));
    pl_semaphore_signal(sem, (uint32_t)v);
    values[v] = (int32_t)pl_semaphore_read(sem);
    pl_semaphore_wait(sem, (uint32_t)v);
  }
  values[6] = (int32_t)pl_core_barrier();
  values[7] = (int32_t)pl_core_barrier();
  pl_semaphore_signal_core(pl_at(pl_scratch(2), PL_INDEX(3), PL_INDEX(0)), 2, 0);
  pl_semaphore_wait(pl_at(pl_scratch(2), PL_INDEX(3), PL_INDEX(0)), 2);
}

static int which;
static void bad_body(void) {
  pl_ref in = pl_input(0), v = pl_scratch(0), sem = pl_at(pl_scratch(2), PL_INDEX(2), PL_INDEX(1));
  pl_copy_handle copy = pl_make_async_copy(pl_at(in, PL_DS(0, 2)), pl_at(v, PL_DS(0, 2)), sem), none = {0};
  switch (which) {
  case 0:
    pl_start_priority(&copy, 4);
    break;
  case 1:
    pl_wait(&none);
    break;
  case 2:
    pl_wait(&kept);
    break;
  case 3:
    if (pl_program_id(0) == 0)
      kept = copy;
    else
      pl_start(&kept);
    break;
  case 4:
    pl_semaphore_signal_core(sem, 1, 1);
    break;
  case 5:
    pl_make_async_remote_copy(in, in, sem, sem, 3);
    break;
  case 6:
    pl_start(&copy);
    pl_wait(&copy);
    pl_wait(&copy);
    break;
  case 7:
    pl_make_async_copy(pl_at(in, PL_DS(0, 2)), pl_at(v, PL_DS(0, 2)), pl_scratch(2));
    break;
  case 8:
    pl_start(&copy);
    pl_semaphore_wait(sem, 100);
    break;
  case 10:
    pl_start(&copy);
    pl_semaphore_signal(pl_at(pl_scratch(2), PL_INDEX(3), PL_INDEX(2)), 4);
    break;
  case 11: /* every other row to the rows between is right, a step down is not */
    pl_sync_copy(pl_at(v, PL_DS_STRIDED(0, 4, 2)), pl_at(v, PL_DS_STRIDED(1, 4, 2)));
    pl_sync_copy(pl_at(v, PL_ALL, PL_DS(0, 12)), pl_at(v, PL_ALL, PL_DS(12, 12)));
    pl_sync_copy(pl_at(v, PL_DS(0, 4)), pl_at(v, PL_DS(3, 4)));
    break;
  case 9:
    pl_make_async_copy(pl_at(in, PL_DS(0, 2)), in, sem);
    break;
  }
}

/* Columns 1 to 3 of every row: levels longer than the 16 bits of a command's count, inside and outside. */
static void long_body(void) {
  const pl_slice some = PL_DS(1, 3);
  pl_ref in = pl_input(0), out = pl_output(0);
  if (pl_ref_rank(in) == 3)
    pl_sync_copy(pl_at(in, PL_ALL, PL_ALL, some), pl_at(out, PL_ALL, PL_ALL, some));
  else
    pl_sync_copy(pl_at(in, PL_ALL, PL_ALL, PL_ALL, some), pl_at(out, PL_ALL, PL_ALL, PL_ALL, some));
}

static void test_long(pl_shape shape, const char *name) {
  const pl_array from = suite_array(PL_INT8, shape), to = suite_array(PL_INT8, shape);
  const pl_kernel kernel = {.name = "long", .body = long_body, .in = {PL_IN_HBM}, .out = {PL_IN_HBM}};
  const uint32_t columns = (uint32_t)shape.extent[shape.rank - 1], n = pl_array_bytes(&from);
  const int8_t *a = pl_hbm_pointer(&from), *b = pl_hbm_pointer(&to);
  uint32_t wrong = 0;

  suite_fill(&from);
  memset(pl_hbm_pointer(&to), 0x55, n);
  suite_ok(pl_call(&kernel, PL_ARGS(from), PL_RESULTS(to)), "copies: %s", name);
  for (uint32_t i = 0; i < n; i++)
    wrong += b[i] != (i % columns >= 1 && i % columns < 4 ? a[i] : 0x55);
  check(wrong == 0, "copies: %s, contents (%u wrong)", name, wrong);
}

static pl_status call(void (*body)(void), int32_t steps) {
  const pl_kernel kernel = {
      .name = "copies",
      .body = body,
      .grid = PL_GRID(steps),
      .in = {PL_IN_HBM},
      .out = {PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, 8, COLUMNS), PL_SMEM(PL_INT32, 4, COLUMNS), PL_SEMAPHORES(4, 3)}};
  memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void same(const char *what, uint32_t rows) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
    wrong += suite_get(&o, i) != (i < rows * COLUMNS ? suite_get(&x, i) : 0);
  check(wrong == 0, "copies: %s, contents (%u wrong)", what, wrong);
}

static void test_forms(void) {
  uint32_t wrong = 0;

  suite_ok(call(shared_body, 3), "copies: a semaphore that several share");
  same("a semaphore that several share", 8);
  uint32_t events, urgent[4] = {0};
  (void)host_events(&events);
  suite_ok(call(endpoints_body, 8), "copies: endpoints and arrays of semaphores");
  const struct host_event *const event = host_events(&events);
  for (uint32_t i = 0; i < events; i++)
    if (event[i].tag >> 28 == PL_TAG_COPY)
      urgent[(event[i].signals & TPU_Q_SIGNALS_PRIORITY_MASK) >> TPU_Q_SIGNALS_PRIORITY_SHIFT]++;
  check(urgent[3] == 8 && urgent[1] == 8 && urgent[2] == 0 && urgent[0] != 0,
        "copies: priorities of %u, %u, %u and %u copies", (unsigned)urgent[0], (unsigned)urgent[1],
        (unsigned)urgent[2], (unsigned)urgent[3]);
  same("endpoints and arrays of semaphores", 8);
  suite_ok(call(split_body, 7), "copies: started in one step, waited for in the next");
  same("started in one step, waited for in the next", 6);
  suite_ok(call(parts_body, 5), "copies: strides, and sizes of 0 to 4 rows");
  for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
    const uint32_t r = i / COLUMNS, column = i % COLUMNS;
    wrong += suite_get(&o, i) != (r < 4 && column < 5 ? suite_get(&x, 2 * r * COLUMNS + 1 + 3 * column) : 0);
  }
  check(wrong == 0, "copies: strides, and sizes of 0 to 4 rows, contents (%u wrong)", wrong);
  suite_ok(call(read_body, 1), "copies: semaphores and barriers");
  for (int32_t i = 0; i < 6; i++)
    wrong += values[i] != i;
  check(wrong == 0, "copies: a semaphore reads what was signalled (%u wrong)", wrong);
  check(values[7] == values[6] + 1, "copies: barriers are counted: %d, %d", (int)values[6], (int)values[7]);
}

void suite_copies(void) {
  static const struct {
    pl_status status;
    const char *name, *words[4];
  } cases[] = {
      {PL_ERROR_ARGUMENT, "a priority of 4", {"step 0", "priority 4; there are 0 to 3"}},
      {PL_ERROR_REF,
       "a handle of nothing",
       {"pl_wait: a handle that pl_make_async_copy() has not made in this call"}},
      {PL_ERROR_REF, "a handle of an earlier call", {"pl_wait: a handle", "this call"}},
      {PL_ERROR_REF, "a start in a later step", {"step 1", "another step"}},
      {PL_ERROR_UNSUPPORTED,
       "a signal to another core",
       {"pl_semaphore_signal_core: core 1; this device has 1"}},
      {PL_ERROR_UNSUPPORTED, "a remote copy", {"pl_make_async_remote_copy: core 3; this device has 1"}},
      {PL_ERROR_DEADLOCK, "a copy waited for twice", {"a wait for 192 on semaphore 7", "only 0 more"}},
      {PL_ERROR_REF, "a whole array of semaphores", {"scratch 2 is an array [4, 3] of semaphores"}},
      {PL_ERROR_SEMAPHORE, "a copy waited for in part", {"semaphore 7 of scratch, 200 of 384 bytes"}},
      {PL_ERROR_SHAPE, "a copy into an input of another shape", {"[2, 24] in HBM to int32 [8, 24] in HBM"}},
      {PL_ERROR_SEMAPHORE,
       "several semaphores left",
       {"a copy that was not waited for: semaphore 7 of scratch, 0 of 384 bytes waited for",
        "; semaphore 11: 0 of 8 waited for"}},
      {PL_ERROR_REF,
       "a copy onto a part of itself",
       {"step 0 (0): a copy within scratch 0 whose source and destination share elements"}},
  };
  x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  suite_fill(&x);
  test_forms();
  check(host_logged() == 0, "copies: the model logged nothing");
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    char name[96];
    snprintf(name, sizeof name, "copies: %s", cases[which].name);
    const char *const *w = cases[which].words;
    suite_fails(call(bad_body, 2), cases[which].status, name, "kernel copies", w[0], w[1], w[2], w[3], NULL);
  }
  (void)host_logged(); /* a copy to where an earlier one still goes is a race as well */
  test_forms();
  test_long(PL_SHAPE(2, 65537, 5), "a middle dimension of 65537 rows");
  test_long(PL_SHAPE(65537, 2, 2, 5), "an outer dimension of 65537 planes");
  check(host_logged() == 0, "copies: the model logged nothing afterwards");
}
