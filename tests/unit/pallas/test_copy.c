/* SPDX-License-Identifier: MIT */
#include "suite.h"

#include <string.h>

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* A whole array through blocks, with edges. */
static void test_blocks(void) {
  static const int32_t shapes[][4] = {
      {64, 64, 32, 32}, {65, 33, 16, 16}, {7, 100, 8, 48}, {1, 1, 4, 4}, {40, 20, 40, 20}};
  for (unsigned t = 0; t < sizeof shapes / sizeof shapes[0]; t++) {
    const int32_t *s = shapes[t];
    pl_array x = suite_array(PL_F32, PL_SHAPE(s[0], s[1])), o = suite_array(PL_F32, PL_SHAPE(s[0], s[1]));
    suite_fill(&x);
    const pl_kernel kernel = {
        .name = "copy",
        .body = copy_body,
        .grid = PL_GRID(pl_cdiv(s[0], s[2]), pl_cdiv(s[1], s[3])),
        .in = {PL_BLOCK(row_map, s[2], s[3])},
        .out = {PL_BLOCK(row_map, s[2], s[3])},
    };
    suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "copy %dx%d by %dx%d", s[0], s[1], s[2], s[3]);
    check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0, "copy: contents of %dx%d",
          s[0], s[1]);
  }
}

static void origin_map(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].start = b[1].start = 0;
}

static void third_map(const pl_grid *g, pl_index *b) {
  origin_map(g, b);
  b[2].start = 1;
}

static void out_body(void) {
  pl_sync_copy(pl_input(0), pl_output(0));
}

/* Where 4 lanes make rows short enough for more of them than a command counts. */
static void test_long_blocks(void) {
  const pl_array x = suite_array(PL_INT8, PL_SHAPE(300, 300, 8)),
                 o = suite_array(PL_INT8, PL_SHAPE(300, 300, 4)),
                 ragged = suite_array(PL_INT8, PL_SHAPE(70001, 4)),
                 even = suite_array(PL_INT8, PL_SHAPE(70000, 4));
  const int8_t *from = pl_hbm_pointer(&x), *to = pl_hbm_pointer(&o);
  pl_kernel kernel = {.name = "long blocks", .body = out_body, .out = {PL_IN_HBM}};
  uint32_t wrong = 0;

  if (suite.dim != 4)
    return;
  suite_fill(&x);
  kernel.in[0] = PL_SPEC(.map = third_map, PL_DIMS(300, 300, 4), .buffer_count = 1);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "copy: 90000 rows in two dimensions");
  for (uint32_t i = 0; i < 360000; i++)
    wrong += to[i] != from[i / 4 * 8 + 4 + i % 4];
  check(wrong == 0, "copy: 90000 rows in two dimensions, contents (%u wrong)", wrong);
  kernel.in[0] = PL_SPEC(.map = origin_map, PL_DIMS(70000, 4), .buffer_count = 1);
  suite_fails(pl_call(&kernel, PL_ARGS(ragged), PL_RESULTS(even)), PL_ERROR_LIMIT,
              "copy: a ragged block of 70000 rows", "kernel long blocks: input 0",
              "a ragged block with 70000 rows in one dimension; 65535 is the most", NULL);
}

void suite_copy(void) {
  test_blocks();
  test_long_blocks();
}
