/* SPDX-License-Identifier: MIT */
/*
 * PL_DEBUG_SHUFFLE: every position comes once, dimensions that are not parallel keep their order, kernels
 * that obey dimension_semantics compute the same, and those that carry something along a parallel dimension
 * do not.
 */
#include "suite.h"

#include <string.h>

enum { ROWS = 6, COLUMNS = 5, DEPTH = 3, STEPS = ROWS * COLUMNS * DEPTH, SEEDS = 12, BLOCK = 4 };

static int32_t visited[STEPS];
static uint32_t steps;

static void note(void) {
  if (steps < STEPS)
    visited[steps] = (pl_program_id(0) * COLUMNS + pl_program_id(1)) * DEPTH + pl_program_id(2);
  steps++;
}

/* ---- the order ---- */

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1] * DEPTH + g->id[2];
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}
/* o[i, j] = sum over k of x[i, j, k] */
static void sum_body(void) {
  note();
  if (pl_program_id(2) == 0)
    pl_copy(pl_output(0), pl_input(0));
  else
    pl_add(pl_output(0), pl_output(0), pl_input(0));
}

/* Whether the last run had every position once, the last dimension ascending, and the first two in another
 * order. */
static bool is_shuffled(void) {
  bool seen[STEPS] = {false}, natural = true, right = steps == STEPS;
  for (uint32_t i = 0; i < STEPS && right; i++) {
    right = !seen[visited[i]] && visited[i] % DEPTH == (int32_t)(i % DEPTH);
    seen[visited[i]] = true;
    natural = natural && visited[i] == (int32_t)i;
  }
  return right && !natural;
}

static pl_array x, o, want;

static void test_order(uint8_t buffers, bool lookahead) {
  const pl_kernel kernel = {
      .name = "sums",
      .body = sum_body,
      .grid = PL_GRID(ROWS, pl_dyn(COLUMNS), DEPTH),
      .dimension_semantics = {PL_PARALLEL, PL_PARALLEL, PL_ARBITRARY},
      .in = {PL_SPEC(PL_DIMS(BLOCK, BLOCK), .map = x_map, .buffer_count = buffers, .lookahead = lookahead)},
      .out = {PL_BLOCK(o_map, BLOCK, BLOCK)}};
  static int32_t last[STEPS];
  unsigned orders = 0;

  pl_debug_set(pl_debug_get() & ~(unsigned)PL_DEBUG_SHUFFLE);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(want)), "shuffle: in the usual order");
  for (uint32_t seed = 0; seed < SEEDS; seed++) {
    pl_debug_set(pl_debug_get() | PL_DEBUG_SHUFFLE);
    pl_debug_seed(seed);
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    for (int again = 0; again < 2; again++) {
      steps = 0;
      suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "shuffle: seed %u", seed);
      check(is_shuffled(), "shuffle: seed %u, %u buffers: every position once, another order", seed, buffers);
    }
    check(memcmp(pl_hbm_pointer(&o), pl_hbm_pointer(&want), pl_array_bytes(&o)) == 0,
          "shuffle: seed %u, %u buffers: same result", seed, buffers);
    orders += memcmp(last, visited, sizeof last) != 0;
    memcpy(last, visited, sizeof last);
  }
  check(orders > SEEDS / 2, "shuffle: %u orders of %u seeds", orders, SEEDS);
  pl_debug_set(pl_debug_get() & ~(unsigned)PL_DEBUG_SHUFFLE);
  steps = 0;
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "shuffle: off again");
  check(steps == STEPS && !is_shuffled(), "shuffle: off again, the usual order");
}

/* ---- kernels that depend on it ---- */

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void pair_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] / 2;
}
/* o[i] = x[0] + .. + x[i], by a sum that it carries. */
static void prefix_body(void) {
  const pl_ref sum = pl_scratch(0);
  if (pl_program_id(0) == 0)
    pl_copy(sum, pl_input(0));
  else
    pl_add(sum, sum, pl_input(0));
  pl_copy(pl_output(0), sum);
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* Not every seed shows it: an order that goes backwards keeps pairs together. */
static void test_dependent(void) {
  const pl_array a = suite_array(PL_F32, PL_SHAPE(8 * BLOCK, BLOCK)),
                 b = suite_array(PL_F32, PL_SHAPE(8 * BLOCK, BLOCK)),
                 c = suite_array(PL_F32, PL_SHAPE(8 * BLOCK, BLOCK));
  pl_kernel prefix = {.name = "prefix",
                      .body = prefix_body,
                      .grid = PL_GRID(8),
                      .in = {PL_BLOCK(row_map, BLOCK, BLOCK)},
                      .out = {PL_BLOCK(row_map, BLOCK, BLOCK)},
                      .scratch = {PL_VMEM(PL_F32, BLOCK, BLOCK)}};
  pl_kernel pairs = {.name = "pairs",
                     .body = copy_body,
                     .grid = PL_GRID(8),
                     .in = {PL_BLOCK(row_map, BLOCK, BLOCK)},
                     .out = {PL_BLOCK(pair_map, BLOCK, BLOCK)}};
  unsigned differ = 0, revisits = 0;
  uint32_t telling = 0;

  for (uint32_t i = 0; i < suite_elements(&a); i++)
    suite_put(&a, i, 1 + i % 7);
  suite_ok(pl_call(&prefix, PL_ARGS(a), PL_RESULTS(b)), "shuffle: sums of what came before");
  pl_debug_set(pl_debug_get() | PL_DEBUG_SHUFFLE);
  suite_ok(pl_call(&prefix, PL_ARGS(a), PL_RESULTS(c)), "shuffle: the same, arbitrary");
  check(memcmp(pl_hbm_pointer(&b), pl_hbm_pointer(&c), pl_array_bytes(&b)) == 0,
        "shuffle: arbitrary dimensions keep their order");
  suite_ok(pl_call(&pairs, PL_ARGS(a), PL_RESULTS(c)), "shuffle: two steps a block, arbitrary");
  prefix.dimension_semantics[0] = pairs.dimension_semantics[0] = PL_PARALLEL;
  for (uint32_t seed = 0; seed < SEEDS; seed++) {
    pl_debug_seed(seed);
    suite_ok(pl_call(&prefix, PL_ARGS(a), PL_RESULTS(c)), "shuffle: the same, parallel");
    differ += memcmp(pl_hbm_pointer(&b), pl_hbm_pointer(&c), pl_array_bytes(&b)) != 0;
    if (pl_call(&pairs, PL_ARGS(a), PL_RESULTS(c)) == PL_ERROR_REVISIT) {
      telling = seed;
      revisits++;
    }
  }
  check(differ > SEEDS / 2, "shuffle: a sum carried along a parallel dimension shows: %u of %u seeds", differ,
        SEEDS);
  check(revisits > SEEDS / 2, "shuffle: a block shared along a parallel dimension shows: %u of %u seeds",
        revisits, SEEDS);
  pl_debug_seed(telling);
  suite_fails(pl_call(&pairs, PL_ARGS(a), PL_RESULTS(c)), PL_ERROR_REVISIT, "shuffle: and how",
              "kernel pairs", "output 0: block [", "is come back to after it was written back", NULL);
  pl_debug_set(pl_debug_get() & ~(unsigned)PL_DEBUG_SHUFFLE);
  suite_ok(pl_call(&pairs, PL_ARGS(a), PL_RESULTS(c)), "shuffle: in the usual order it is right by luck");
}

/* ---- pipelines in a body ---- */

static bool with_prologue;
static void prologue(void) {}

static void inner_body(void) {
  note();
  pl_copy(pl_output(0), pl_input(0));
}
static void inner_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1] * DEPTH + g->id[2];
}
static void outer_body(void) {
  const pl_kernel pipeline = {.name = "inner",
                              .body = inner_body,
                              .grid = PL_GRID(ROWS, COLUMNS, DEPTH),
                              .dimension_semantics = {PL_PARALLEL, PL_PARALLEL, PL_ARBITRARY},
                              .prologue = with_prologue ? prologue : NULL,
                              .in = {PL_BLOCK(inner_map, BLOCK, BLOCK)},
                              .out = {PL_BLOCK(inner_map, BLOCK, BLOCK)}};
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
}

static void test_inner(void) {
  const pl_array to = suite_array(PL_F32, PL_SHAPE(ROWS * BLOCK, COLUMNS * DEPTH * BLOCK));
  const pl_kernel kernel = {.name = "outer", .body = outer_body, .in = {PL_IN_HBM}, .out = {PL_IN_HBM}};

  pl_debug_set(pl_debug_get() | PL_DEBUG_SHUFFLE);
  pl_debug_seed(3);
  for (int known = 0; known < 2; known++) {
    with_prologue = known;
    steps = 0;
    memset(pl_hbm_pointer(&to), 0, pl_array_bytes(&to));
    suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(to)), "shuffle: a pipeline in a body");
    check(is_shuffled() == !known, "shuffle: a pipeline in a body, %s",
          known ? "whose prologue knows the order" : "shuffled");
    check(memcmp(pl_hbm_pointer(&to), pl_hbm_pointer(&x), pl_array_bytes(&x)) == 0,
          "shuffle: a pipeline in a body, contents");
  }
}

static void seeding_body(void) {
  pl_debug_seed(1);
}

void suite_shuffle(void) {
  const unsigned flags = pl_debug_get();
  x = suite_array(PL_F32, PL_SHAPE(ROWS * BLOCK, COLUMNS * DEPTH * BLOCK));
  o = suite_array(PL_F32, PL_SHAPE(ROWS * BLOCK, COLUMNS * BLOCK));
  want = suite_array(PL_F32, PL_SHAPE(ROWS * BLOCK, COLUMNS * BLOCK));
  suite_fill(&x);
  test_order(0, false);
  test_order(1, false);
  test_order(3, false);
  test_order(3, true);
  pl_debug_set(flags & ~(unsigned)PL_DEBUG_SHUFFLE);
  test_dependent();
  test_inner();
  const pl_kernel seeding = {.name = "seeding", .body = seeding_body};
  suite_fails(pl_call(&seeding, PL_ARGS(), PL_RESULTS()), PL_ERROR_ARGUMENT, "shuffle: a seed in a body",
              "pl_debug_seed inside a kernel body", NULL);
  pl_debug_set(flags);
  pl_debug_seed(1);
}
