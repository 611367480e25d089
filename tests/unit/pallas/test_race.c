/* SPDX-License-Identifier: MIT */
/*
 * Wrong kernels that the runtime cannot see and race detection must: what lies between pl_start() and
 * pl_wait() is not ordered. Each comes with its right form, where the wait is in time, and the report must
 * name both sides. Without detection (a model of RTL) only the right forms run.
 */
#include "suite.h"

#include <string.h>

enum what {
  READ_DESTINATION,  /* a vector operation on what is still arriving */
  WRITE_DESTINATION, /* and one that overwrites it */
  WRITE_SOURCE,      /* of a copy that is still reading */
  COPY_SOURCE,       /* the same by another copy, on another channel */
  GET_DESTINATION,   /* the scalar core reads a value that is still arriving */
  PUT_SOURCE,        /* or overwrites one that is still being read */
  WRONG_SLOT,        /* two slots by hand: waits for one, uses the other */
  OTHER_SEMAPHORE,   /* both copies are started, and the wait is for the other one's semaphore */
  TWO_WRITERS,       /* two copies to one place, on one channel, which keeps their order */
  TWO_WRITERS_HBM,   /* likewise */
  SYNC_WRITER,       /* the second one is of those that are in program order */
  OTHER_TICKET,      /* a later copy of the channel was waited for, not this one */
  OUTPUT_SLOT,       /* the output block is written back while a copy still fills it */
  WHATS
};

static const struct {
  const char *name, *first, *second; /* words of the report */
} expected[WHATS] = {
    [READ_DESTINATION] = {"reads the destination", "VPU", "DMA"},
    [WRITE_DESTINATION] = {"writes the destination", "VPU", "DMA"},
    [WRITE_SOURCE] = {"writes the source", "VPU", "DMA3"},
    [COPY_SOURCE] = {"copies over the source", "DMA0", "DMA3"},
    [GET_DESTINATION] = {"gets from the destination", "the scalar core", "DMA"},
    [PUT_SOURCE] = {"puts into the source", "the scalar core", "DMA3"},
    [WRONG_SLOT] = {"uses the wrong slot", "VPU", "DMA"},
    [OTHER_SEMAPHORE] = {"waits for the other slot's semaphore", "VPU", "DMA"},
    [TWO_WRITERS] = {"copies to where another one does", "DMA0", "DMA0"},
    [TWO_WRITERS_HBM] = {"copies to where another one in HBM does", "DMA3", "DMA3"},
    [SYNC_WRITER] = {"copies at once to where another one does", "DMA0", "DMA0"},
    [OTHER_TICKET] = {"reads behind another copy", "VPU", "DMA0"},
    [OUTPUT_SLOT] = {"fills an output that is written back", "DMA3", "DMA"},
};

struct kernel {
  enum what what;
  bool wrong;
};

static pl_ref two_rows(pl_ref ref, int32_t first) {
  return pl_at(ref, PL_DS(first, 2));
}

static pl_ref semaphore(int32_t n) {
  return pl_at(pl_scratch(2), PL_DS(n, 1));
}

/* The copy, and the use that must come behind its pl_wait(). */
static void copy_and_use(const struct kernel *k) {
  const bool in = k->what == READ_DESTINATION || k->what == WRITE_DESTINATION || k->what == GET_DESTINATION;
  pl_ref a = pl_scratch(0), b = pl_scratch(1), x = pl_input(0), o = pl_output(0);
  pl_copy_handle copy =
      in ? pl_async_copy(two_rows(x, 0), a, semaphore(0)) : pl_async_copy(a, two_rows(o, 0), semaphore(0));
  if (!k->wrong)
    pl_wait(&copy);
  switch (k->what) {
  case READ_DESTINATION:
    pl_add(b, a, a);
    break;
  case WRITE_DESTINATION:
  case WRITE_SOURCE:
    pl_fill(a, 5);
    break;
  case COPY_SOURCE:
    pl_sync_copy(two_rows(x, 2), a);
    break;
  case GET_DESTINATION:
    (void)pl_get(a, 1, 2);
    break;
  default:
    pl_put(a, 7, 1, 3);
    break;
  }
  if (k->wrong)
    pl_wait(&copy);
}

static void slots(const struct kernel *k) {
  pl_copy_handle even = pl_async_copy(two_rows(pl_input(0), 0), pl_scratch(0), semaphore(0));
  pl_wait(&even);
  pl_copy_handle odd = pl_async_copy(two_rows(pl_input(0), 2), pl_scratch(1), semaphore(1));
  pl_ref slot = pl_scratch(k->wrong ? 1 : 0);
  pl_copy(slot, slot);
  pl_add(slot, slot, slot);
  pl_wait(&odd);
}

/* Two copies under way, each on a semaphore of its own. */
static void two_copies(const struct kernel *k) {
  pl_ref a = pl_scratch(0), b = pl_scratch(1), x = pl_input(0), o = pl_output(0);
  const bool out = k->what == TWO_WRITERS_HBM, same = out || k->what == TWO_WRITERS;
  pl_copy_handle first =
      out ? pl_async_copy(a, two_rows(o, 0), semaphore(0)) : pl_async_copy(two_rows(x, 0), a, semaphore(0));
  if (same && !k->wrong)
    pl_wait(&first);
  pl_copy_handle second = out ? pl_async_copy(b, two_rows(o, 0), semaphore(1))
                              : pl_async_copy(two_rows(x, 2), same ? a : b, semaphore(1));
  if (k->what == OTHER_SEMAPHORE) {
    pl_wait(k->wrong ? &second : &first);
    pl_add(a, a, a);
    first = k->wrong ? first : second;
  } else if (same && !k->wrong) {
    first = second;
  } else {
    pl_wait(&second);
  }
  pl_wait(&first);
}

/* A copy under way and one in program order behind it. */
static void copy_behind(const struct kernel *k) {
  const bool same = k->what == SYNC_WRITER;
  pl_ref a = pl_scratch(0), b = pl_scratch(1), x = pl_input(0);
  pl_copy_handle copy = pl_async_copy(two_rows(x, 0), a, semaphore(0));
  if (!k->wrong)
    pl_wait(&copy);
  pl_sync_copy(two_rows(x, 2), same ? a : b);
  if (!same)
    pl_add(b, a, b);
  if (k->wrong)
    pl_wait(&copy);
}

static void body(void) {
  const struct kernel *k = pl_user();

  pl_fill(pl_scratch(0), 1);
  pl_fill(pl_scratch(1), 2);
  if (k->what == WRONG_SLOT)
    slots(k);
  else if (k->what == SYNC_WRITER || k->what == OTHER_TICKET)
    copy_behind(k);
  else if (k->what >= OTHER_SEMAPHORE)
    two_copies(k);
  else
    copy_and_use(k);
}

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

/* A copy into the output's block that is waited for a step later, when the block is on its way out. */
static void output_body(void) {
  const struct kernel *k = pl_user();
  pl_ref o = pl_output(0);
  pl_copy_handle copy = pl_make_async_copy(two_rows(pl_input(0), 0), o, semaphore(0));

  if (k->wrong && pl_program_id(0) > 0)
    pl_wait(&copy);
  pl_fill(o, 3);
  if (!k->wrong || pl_program_id(0) + 1 < pl_num_programs(0))
    pl_start(&copy);
  if (!k->wrong)
    pl_wait(&copy);
}

static pl_status call(const struct kernel *k, pl_array x, pl_array o) {
  const bool blocks = k->what == OUTPUT_SLOT;
  const pl_kernel kernel = {
      .name = "race",
      .body = blocks ? output_body : body,
      .user = (void *)k,
      .grid = PL_GRID(blocks ? 3 : 1),
      .in = {PL_IN_HBM},
      .out = {blocks ? PL_BLOCK(row_map, 2, 24) : PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, 2, 24), PL_VMEM(PL_INT32, 2, 24), PL_SEMAPHORES(2)},
  };
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

void suite_race(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(6, 24)), o = suite_array(PL_INT32, PL_SHAPE(6, 24));

  suite_fill(&x);
  (void)host_logged();
  for (unsigned what = 0; what < WHATS; what++) {
    struct kernel k = {(enum what)what, false};
    const char *name = expected[what].name;
    suite_ok(call(&k, x, o), "race: %s behind the wait", name);
    if (host_logged() != 0)
      check(false, "race: %s behind the wait is reported: %s", name, host_log());
    if (!host_detects_races())
      continue;
    k.wrong = true;
    suite_ok(call(&k, x, o), "race: %s before the wait", name);
    const unsigned lines = host_logged();
    if (!check(lines > 0 && strstr(host_log(), expected[what].first) &&
                   strstr(host_log(), expected[what].second),
               "race: %s before the wait is reported with both sides", name))
      printf("%u lines: %s\n", lines, lines > 0 ? host_log() : "");
  }
}
