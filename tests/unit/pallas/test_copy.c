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
                 ragged = suite_array(PL_INT8, PL_SHAPE(70001, 8)),
                 narrow = suite_array(PL_INT8, PL_SHAPE(70001, 4)),
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
              "a block with 70000 rows in one dimension; 65535 is the most", NULL);
  suite_fill(&narrow);
  suite_ok(pl_call(&kernel, PL_ARGS(narrow), PL_RESULTS(even)),
           "copy: a ragged block of 70000 rows without gaps");
  check(memcmp(pl_hbm_pointer(&narrow), pl_hbm_pointer(&even), pl_array_bytes(&even)) == 0,
        "copy: a ragged block of 70000 rows without gaps, contents");
}

/* ---- edges in five dimensions ---- */

enum { RANK = 5 };

static void every_map(const pl_grid *g, pl_index *b) {
  for (unsigned d = 0; d < RANK; d++)
    b[d].start = g->id[d];
}
static void move_body(void) {
  pl_sync_copy(pl_input(0), pl_output(0));
}

/* The array by blocks into one of whole blocks, which shows the fill, and back; the status if it is refused.
 */
static pl_status edges(const int32_t *shape, const int32_t *block, pl_dtype dtype, uint32_t *wrong) {
  pl_shape small = {.rank = RANK}, large = {.rank = RANK};
  pl_block_spec in = {.rank = RANK, .map = every_map}, out;
  pl_kernel kernel = {.name = "edges", .body = move_body, .grid = {.rank = RANK}, .in = {&in}, .out = {&out}};

  for (unsigned d = 0; d < RANK; d++) {
    in.shape[d] = block[d];
    kernel.grid.extent[d] = pl_cdiv(shape[d], block[d]);
    small.extent[d] = shape[d];
    large.extent[d] = kernel.grid.extent[d] * block[d];
  }
  out = in;
  in.pad_value = dtype == PL_F32 || dtype == PL_BF16 ? 0x40400000 : 3;
  const pl_array x = suite_array(dtype, small), wide = suite_array(dtype, large),
                 back = suite_array(dtype, small);
  suite_fill(&x);
  pl_status status = pl_call(&kernel, PL_ARGS(x), PL_RESULTS(wide));
  if (status == PL_OK)
    status = pl_call(&kernel, PL_ARGS(wide), PL_RESULTS(back));
  for (uint32_t i = 0; i < suite_elements(&wide) && status == PL_OK; i++) {
    uint32_t at[RANK], left = i, from = 0;
    bool inside = true;
    for (unsigned d = RANK; d-- > 0; left /= (uint32_t)large.extent[d])
      at[d] = left % (uint32_t)large.extent[d];
    for (unsigned d = 0; d < RANK; d++) {
      inside = inside && at[d] < (uint32_t)shape[d];
      from = from * (uint32_t)shape[d] + at[d];
    }
    *wrong += suite_get(&wide, i) != (inside ? suite_get(&x, from) : 3);
  }
  const uint32_t bytes = pl_array_bytes(&x);
  const uint8_t *behind = (const uint8_t *)pl_hbm_pointer(&back) + bytes;
  *wrong +=
      status == PL_OK && (memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&back), bytes) != 0 || *behind != 0xa5);
  return status;
}

static void test_edges(void) {
  static const struct {
    int32_t shape[RANK], block[RANK];
  } cases[] = {
      {{5, 3, 4, 6, 8}, {2, 3, 4, 6, 8}},   /* one edge, whole dimensions inside */
      {{5, 3, 4, 6, 16}, {2, 2, 4, 6, 16}}, /* two */
      {{3, 5, 2, 7, 10}, {3, 2, 2, 7, 10}}, /* a gap behind every row */
      {{2, 5, 3, 2, 20}, {2, 3, 3, 2, 16}}, /* columns and a middle dimension */
      {{3, 3, 5, 1, 16}, {2, 2, 2, 1, 16}}, /* three levels, all cut */
      {{3, 3, 3, 3, 10}, {2, 2, 2, 2, 8}},  /* four, which take several commands */
  };
  static const pl_dtype dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};
  uint32_t wrong = 0, done = 0;

  for (unsigned t = 0; t < sizeof cases / sizeof cases[0]; t++) {
    wrong = 0;
    suite_ok(edges(cases[t].shape, cases[t].block, dtypes[t % 5], &wrong),
             "copy: edges in five dimensions, case %u", t);
    check(wrong == 0, "copy: edges in five dimensions, case %u, contents (%u wrong)", t, wrong);
  }
  for (uint32_t t = 0; t < suite.cases / 4; t++) {
    int32_t shape[RANK], block[RANK];
    for (unsigned d = 0; d < RANK; d++) {
      shape[d] = 1 + (int32_t)check_random_below(&suite.random, d + 1 < RANK ? 3 : 20);
      const bool whole = check_random_below(&suite.random, 2) != 0;
      block[d] = whole ? shape[d] : 1 + (int32_t)check_random_below(&suite.random, (uint32_t)shape[d]);
    }
    done += edges(shape, block, dtypes[t % 5], &wrong) == PL_OK;
    suite_release();
  }
  check(wrong == 0 && done == suite.cases / 4, "copy: random blocks of rank 5 (%u done, %u wrong)", done,
        wrong);
}

void suite_copy(void) {
  test_blocks();
  test_edges();
  test_long_blocks();
}
