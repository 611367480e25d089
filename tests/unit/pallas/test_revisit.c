/* SPDX-License-Identifier: MIT */
/*
 * Outputs with more windows than a bitmap remembers: which of them were written is known exactly up to
 * PL_MAX_REVISIT_STEPS steps, in any order, and by an ascending order above.
 */
#include "suite.h"

enum { ROWS = 3000, COLUMNS = 40, BOUND = 8, MOST = PL_MAX_REVISIT_STEPS + 1 };

static struct { int32_t row, column, rows, columns; } window[MOST];

static void window_map(const pl_grid *g, pl_index *b) {
  const int32_t s = g->id[0];
  b[0] = (pl_index){.start = window[s].row, .size = window[s].rows};
  b[1] = (pl_index){.start = window[s].column, .size = window[s].columns};
}
static void body(void) {
  pl_fill(pl_output(0), (uint32_t)pl_program_id(0) + 1);
}

static pl_array o;

static pl_status run(int32_t steps, bool revisit) {
  const pl_kernel kernel = {.name = "windows",
                            .body = body,
                            .grid = PL_GRID(steps),
                            .out = {PL_SPEC(PL_DIMS(BOUND, BOUND), .map = window_map,
                                            .kind = {PL_BOUNDED, PL_BOUNDED}, .revisit_any = revisit)}};
  for (uint32_t i = 0; i < suite_elements(&o); i++)
    suite_put(&o, i, 0);
  return pl_call(&kernel, PL_ARGS(), PL_RESULTS(o));
}

/* Elements of a window that are not as its step left them. */
static uint32_t wrong(int32_t step) {
  uint32_t n = 0;
  for (int32_t r = 0; r < window[step].rows; r++)
    for (int32_t k = 0; k < window[step].columns; k++)
      n += suite_get(&o, (uint32_t)((window[step].row + r) * COLUMNS + window[step].column + k)) != step + 1;
  return n;
}

/* Distinct windows that lie apart, in a random order. */
static void make(int32_t steps) {
  for (int32_t s = 0; s < steps; s++) {
    window[s].row = s * 7;
    window[s].rows = 1 + (int32_t)check_random_below(&suite.random, 7);
    window[s].column = (int32_t)check_random_below(&suite.random, COLUMNS - BOUND);
    window[s].columns = 1 + (int32_t)check_random_below(&suite.random, BOUND);
  }
  for (int32_t s = steps - 1; s > 0; s--) {
    const uint32_t other = check_random_below(&suite.random, (uint32_t)s);
    const typeof(window[0]) keep = window[s];
    window[s] = window[other];
    window[other] = keep;
  }
}

static void test_exact(int32_t steps) {
  uint32_t bad = 0;
  make(steps);
  suite_ok(run(steps, false), "revisit: %d windows in any order", steps);
  for (int32_t s = 0; s < steps; s++)
    bad += wrong(s);
  check(bad == 0, "revisit: %d windows in any order, %u elements wrong", steps, bad);
  if (steps < 3)
    return;
  const int32_t first = (int32_t)check_random_below(&suite.random, (uint32_t)steps - 2);
  window[steps - 1] = window[first];
  suite_fails(run(steps, false), PL_ERROR_REVISIT, "revisit: one of them again", "kernel windows",
              "output 0: block [", "is come back to after it was written back", NULL);
  suite_ok(run(steps, true), "revisit: one of them again, which is loaded");
  pl_stats stats;
  pl_get_stats(&stats);
  check(stats.reloads[0] == 1, "revisit: exactly one window is loaded: %u", stats.reloads[0]);
  window[steps - 1].rows = window[steps - 1].rows % 7 + 1; /* another window from there on */
  suite_ok(run(steps, false), "revisit: another size is another window");
}

void suite_revisit(void) {
  o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  test_exact(1);
  test_exact(2);
  test_exact(17);
  test_exact(MOST - 1);
  const unsigned flags = pl_debug_get();
  pl_debug_set(flags & ~(unsigned)PL_DEBUG_SHUFFLE); /* with which nothing is known of the order */
  make(MOST);
  for (int32_t s = 0; s < MOST; s++)
    window[s].row = s * 7;
  suite_ok(run(MOST, false), "revisit: more steps, ascending");
  window[MOST - 1].row = 0;
  suite_fails(run(MOST, false), PL_ERROR_REVISIT, "revisit: more steps, not ascending",
              "comes after a later one", "PL_MAX_REVISIT_BLOCKS (16384)", "PL_MAX_REVISIT_STEPS (384)", NULL);
  pl_debug_set(flags);
}
