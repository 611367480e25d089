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

void suite_copy(void) {
  test_blocks();
}
