/* SPDX-License-Identifier: MIT */
/* Kinds of dimensions and fills: what refs look like, what is filled, and every error with all of its words.
 */
#include "suite.h"

#include "tpu_regs.h"

#include <string.h>

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* ---- squeezed ---- */

static void squeezed_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  check(pl_ref_extent(x, 0) == 4 && pl_ref_extent(x, 1) == 24,
        "spec: extents without the squeezed dimension");
  pl_copy(o, x);
}
static void squeezed_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 2 - g->id[1];
}
static void last_map(const pl_grid *g, pl_index *b) {
  b[1].start = g->id[0];
}

static void test_squeezed(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(8, 3, 24)), o = suite_array(PL_F32, PL_SHAPE(8, 3, 24));
  suite_fill(&x);
  const pl_block_spec spec = {PL_DIMS(4, 0, 24), .map = squeezed_map, .kind = {0, PL_SQUEEZED}};
  const pl_kernel kernel = {
      .name = "squeezed", .body = squeezed_body, .grid = PL_GRID(2, 3), .in = {&spec}, .out = {&spec}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "spec: a squeezed dimension");
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0, "spec: squeezed, contents");

  /* The last dimension: columns of HBM become rows of one element. */
  pl_array m = suite_array(PL_BF16, PL_SHAPE(20, 5)), t = suite_array(PL_BF16, PL_SHAPE(5, 20));
  suite_fill(&m);
  const pl_kernel columns = {
      .name = "columns",
      .body = copy_body,
      .grid = PL_GRID(5),
      .in = {PL_SPEC(PL_DIMS(20, 1), .map = last_map, .kind = {0, PL_SQUEEZED})},
      .out = {PL_SPEC(PL_DIMS(1, 20), .map = rows, .kind = {PL_SQUEEZED})},
  };
  suite_ok(pl_call(&columns, PL_ARGS(m), PL_RESULTS(t)), "spec: the last dimension squeezed");
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < 20; i++)
    for (uint32_t j = 0; j < 5; j++)
      wrong += suite_get(&m, i * 5 + j) != suite_get(&t, j * 20 + i);
  check(wrong == 0, "spec: the last dimension squeezed, contents (%u wrong)", wrong);
}

/* ---- windows ---- */

static void window_map(const pl_grid *g, pl_index *b) {
  b[0].start = 3 * g->id[0];
}

/* Overlapping windows of 8 rows every 3, the last ones past the end, with -infinity there. */
static void test_element(void) {
  enum { ROWS = 17, COLUMNS = 20, WINDOW = 8, STEPS = 6, PAD = 6 };
  pl_array x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
           o = suite_array(PL_F32, PL_SHAPE(STEPS * WINDOW, COLUMNS));
  pl_stats stats;
  uint32_t wrong = 0;
  const uint32_t least = 0xff800000u;

  suite_fill(&x);
  const pl_kernel kernel = {
      .name = "windows",
      .body = copy_body,
      .grid = PL_GRID(STEPS),
      .in = {PL_SPEC(PL_DIMS(WINDOW, COLUMNS), .map = window_map, .kind = {PL_ELEMENT}, .pad_high = {PAD},
                     .pad_value = least)},
      .out = {PL_BLOCK(rows, WINDOW, COLUMNS)},
  };
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "spec: overlapping windows with padding");
  pl_get_stats(&stats);
  check(stats.copies[0] == STEPS, "spec: a copy a window (%u)", (unsigned)stats.copies[0]);
  for (uint32_t s = 0; s < STEPS; s++)
    for (uint32_t i = 0; i < WINDOW; i++)
      for (uint32_t j = 0; j < COLUMNS; j++) {
        const uint32_t row = 3 * s + i;
        uint32_t got, want = least;
        memcpy(&got, (uint8_t *)pl_hbm_pointer(&o) + ((s * WINDOW + i) * COLUMNS + j) * 4, 4);
        if (row < ROWS)
          memcpy(&want, (uint8_t *)pl_hbm_pointer(&x) + (row * COLUMNS + j) * 4, 4);
        wrong += got != want;
      }
  check(wrong == 0, "spec: windows, contents (%u wrong)", wrong);
}

/* ---- bounded ---- */

static const int32_t sizes[] = {3, 0, 8, 1, 0, 5};
static void bounded_map(const pl_grid *g, pl_index *b) {
  int32_t start = 0;
  for (int32_t i = 0; i < g->id[0]; i++)
    start += sizes[i];
  b[0].start = start;
  b[0].size = sizes[g->id[0]];
}

/* Groups of rows of different size, one after the other. */
static void test_bounded(void) {
  enum { ROWS = 17, COLUMNS = 12, BOUND = 8, STEPS = 6 };
  pl_array x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)),
           o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  pl_array p = suite_array(PL_INT32, PL_SHAPE(STEPS * BOUND, COLUMNS));
  pl_stats stats;
  uint32_t wrong = 0, row = 0;

  suite_fill(&x);
  const pl_block_spec group = {PL_DIMS(BOUND, COLUMNS), .map = bounded_map, .kind = {PL_BOUNDED},
                               .pad_value = 77};
  const pl_kernel kernel = {
      .name = "groups", .body = copy_body, .grid = PL_GRID(STEPS), .in = {&group}, .out = {&group}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "spec: groups of any size");
  pl_get_stats(&stats);
  check(stats.copies[0] == 4 && stats.copies[1] == 4, "spec: empty groups are no copies (%u, %u)",
        (unsigned)stats.copies[0], (unsigned)stats.copies[1]);
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0, "spec: groups, contents");

  const pl_kernel padded = {.name = "padded",
                            .body = copy_body,
                            .grid = PL_GRID(STEPS),
                            .in = {&group},
                            .out = {PL_BLOCK(rows, BOUND, COLUMNS)}};
  suite_ok(pl_call(&padded, PL_ARGS(x), PL_RESULTS(p)), "spec: groups with the rest filled");
  for (uint32_t s = 0; s < STEPS; row += (uint32_t)sizes[s++])
    for (uint32_t i = 0; i < BOUND; i++)
      for (uint32_t j = 0; j < COLUMNS; j++) {
        const double want = (int32_t)i < sizes[s] ? suite_get(&x, (row + i) * COLUMNS + j) : 77;
        wrong += suite_get(&p, (s * BOUND + i) * COLUMNS + j) != want;
      }
  check(wrong == 0, "spec: what is behind a group is filled with every fetch (%u wrong)", wrong);
}

/* ---- fill ---- */

static void test_fill(void) {
  pl_array x = suite_array(PL_BF16, PL_SHAPE(5, 20)), o = suite_array(PL_BF16, PL_SHAPE(8, 32));
  uint32_t wrong = 0;
  pl_stats stats;

  suite_fill(&x);
  pl_block_spec spec = {PL_DIMS(8, 32), .pad_value = 0x40400000u /* 3 */};
  const pl_kernel kernel = {.name = "fill", .body = copy_body, .in = {&spec}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "spec: pad_value of bf16");
  for (uint32_t i = 0; i < 8; i++)
    for (uint32_t j = 0; j < 32; j++)
      wrong += suite_get(&o, i * 32 + j) != (i < 5 && j < 20 ? suite_get(&x, i * 20 + j) : 3);
  check(wrong == 0, "spec: pad_value of bf16, contents (%u wrong)", wrong);
  spec.pad_value = 0;
  spec.fill = PL_FILL_UNSPECIFIED;
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "spec: unspecified fill");
  pl_get_stats(&stats);
  const bool poison = (pl_debug_get() & PL_DEBUG_POISON) != 0; /* which is written there */
  check(stats.queue[TPU_QUEUE_DMA0].bytes == (poison ? 8 * 32 * 2 : 5 * 20 * 2),
        "spec: unspecified is not written (%u bytes)", (unsigned)stats.queue[TPU_QUEUE_DMA0].bytes);
  for (uint32_t i = 0; i < 5; i++)
    for (uint32_t j = 0; j < 20; j++)
      wrong += suite_get(&o, i * 32 + j) != suite_get(&x, i * 20 + j);
  check(wrong == 0, "spec: unspecified fill, contents (%u wrong)", wrong);
}

/* ---- errors ---- */

static int32_t answer_start, answer_size;
static void answer_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] == 2 ? answer_start : g->id[0];
  b[0].size = g->id[0] == 2 ? answer_size : 1;
}

static pl_array ex, eo;

static pl_status with(const pl_block_spec *in, const pl_block_spec *out) {
  const pl_kernel kernel = {.name = "bad", .body = copy_body, .grid = PL_GRID(4), .in = {in}, .out = {out}};
  return pl_call(&kernel, PL_ARGS(ex), PL_RESULTS(eo));
}

static pl_status window(int kind, int32_t start, int32_t size, int32_t pad) {
  const pl_block_spec spec = {PL_DIMS(8, 40), .map = answer_map, .kind = {(uint8_t)kind},
                              .pad_high = {kind == PL_ELEMENT ? pad : 0}};
  answer_start = start;
  answer_size = size;
  return with(&spec, PL_BLOCK(rows, 8, 40));
}

static void test_window_errors(void) {
  suite_fails(
      window(PL_ELEMENT, 57, 0, 0), PL_ERROR_BLOCK_INDEX, "spec: a window past the end",
      "kernel bad, step 1 (1): input 0: its map returned block [57, 0] at grid position (2), outside the "
      "array [64, 40] of blocks [8, 40]; dimension 0: element 57, 0 to 56 are right",
      NULL);
  suite_fails(window(PL_ELEMENT, 61, 0, 4), PL_ERROR_BLOCK_INDEX, "spec: a window past the padding",
              "dimension 0: element 61, 0 to 60 are right", NULL);
  suite_ok(window(PL_ELEMENT, 60, 0, 4), "spec: a window that ends with the padding");
  suite_fails(window(PL_ELEMENT, -1, 0, 4), PL_ERROR_BLOCK_INDEX, "spec: a window in front",
              "dimension 0: element -1, 0 to 60 are right", NULL);
  suite_fails(window(PL_BOUNDED, 3, 9, 0), PL_ERROR_BLOCK_INDEX, "spec: more than the bound",
              "kernel bad, step 1 (1): input 0: its map returned block [3, 0] at grid position (2)",
              "dimension 0: size 9 from element 3, 0 to 8 are right", NULL);
  suite_fails(window(PL_BOUNDED, 60, 5, 0), PL_ERROR_BLOCK_INDEX, "spec: a slice past the end",
              "dimension 0: size 5 from element 60, 0 to 4 are right", NULL);
  suite_fails(window(PL_BOUNDED, 3, -1, 0), PL_ERROR_BLOCK_INDEX, "spec: a negative size",
              "dimension 0: size -1 from element 3, 0 to 8 are right", NULL);
  suite_ok(window(PL_BOUNDED, 64, 0, 0), "spec: an empty slice at the end");
  suite_fails(window(PL_SQUEEZED, 0, 0, 0), PL_ERROR_SPEC, "spec: a squeezed dimension of 8",
              "kernel bad: input 0: block dimension 0 is SQUEEZED and has extent 8; 1 is right", NULL);
}

static void test_spec_errors(void) {
  const pl_block_spec *const whole = PL_BLOCK(rows, 16, 40);
  suite_fails(with(whole, PL_SPEC(PL_DIMS(8, 40), .kind = {0, 7})), PL_ERROR_SPEC, "spec: no such kind",
              "kernel bad: output 0: block dimension 1 is of kind 7; PL_INDIRECT (4) is the last", NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(8, 40), .kind = {0, 0, PL_ELEMENT}), whole), PL_ERROR_SPEC,
              "spec: a kind behind the rank", "block dimension 2 has a kind, and the block has rank 2", NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(8, 40), .pad_high = {8}), whole), PL_ERROR_SPEC,
              "spec: padding of a dimension without windows",
              "input 0: block dimension 0 has pad_high 8, which only ELEMENT dimensions have", NULL);
  suite_fails(with(whole, PL_SPEC(PL_DIMS(8, 40), .kind = {PL_ELEMENT}, .pad_high = {0, 0, 1})),
              PL_ERROR_SPEC, "spec: padding behind the rank", "output 0: block dimension 2 has pad_high 1",
              NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(70, 40), .kind = {PL_ELEMENT}, .pad_high = {3}), whole), PL_ERROR_SPEC,
              "spec: windows larger than array and padding",
              "block dimension 0: windows of 70 elements, pad_high 3; the array has 64, so pad_high must be "
              "6 or more",
              NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(8, 40), .kind = {PL_BOUNDED}), whole), PL_ERROR_SPEC,
              "spec: BOUNDED, no map", "block dimension 0 is BOUNDED and there is no map to give its size",
              NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(8, 40), .fill = PL_FILL_UNSPECIFIED, .pad_value = 1), whole),
              PL_ERROR_SPEC, "spec: two fills", "pad_value 0x1 and PL_FILL_UNSPECIFIED; choose one", NULL);
  pl_array small = suite_array(PL_INT8, PL_SHAPE(6, 40));
  const pl_kernel narrow = {
      .name = "narrow", .body = copy_body, .in = {PL_SPEC(PL_DIMS(8, 40), .pad_value = 128)}};
  suite_fails(pl_call(&narrow, PL_ARGS(small), PL_RESULTS(eo)), PL_ERROR_SPEC,
              "spec: pad_value that does not fit", "kernel narrow: input 0: pad_value 128 is no int8", NULL);
}

static void test_in_place_errors(void) {
  pl_array v;
  suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(64, 40), &v), "spec: an array in VMEM");
  const pl_array keep = ex;
  ex = v;
  suite_fails(window(PL_BOUNDED, 0, 8, 0), PL_ERROR_UNSUPPORTED, "spec: BOUNDED in place",
              "kernel bad: input 0: block dimension 0 is BOUNDED, and the array is used in place in VMEM",
              NULL);
  suite_fails(window(PL_ELEMENT, 0, 8, 2), PL_ERROR_UNSUPPORTED, "spec: padding in place",
              "block dimension 0 is ELEMENT with pad_high, and the array is used in place in VMEM", NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(64, 16), .kind = {0, PL_ELEMENT}), PL_BLOCK(rows, 16, 40)), PL_ERROR_SPEC,
              "spec: windows of columns in place", "windows of 16 columns in place in VMEM", NULL);
  suite_fails(with(PL_SPEC(PL_DIMS(64, 1), .kind = {0, PL_SQUEEZED}), PL_BLOCK(rows, 16, 40)),
              PL_ERROR_UNSUPPORTED, "spec: the last dimension squeezed in place",
              "block dimension 1, the last one, is SQUEEZED, and the array is used in place in VMEM", NULL);
  /* What is possible: windows of rows. */
  suite_fill(&keep);
  const pl_kernel load = {.name = "load", .body = copy_body};
  const pl_kernel rows_of = {.name = "rows of",
                             .body = copy_body,
                             .grid = PL_GRID(4),
                             .in = {PL_SPEC(PL_DIMS(8, 40), .map = window_map, .kind = {PL_ELEMENT})},
                             .out = {PL_BLOCK(rows, 8, 40)}};
  suite_ok(pl_call(&load, PL_ARGS(keep), PL_RESULTS(v)), "spec: load");
  suite_ok(pl_call(&rows_of, PL_ARGS(v), PL_RESULTS(eo)), "spec: windows in place");
  uint32_t wrong = 0;
  for (uint32_t s = 0; s < 4; s++)
    for (uint32_t i = 0; i < 8 * 40; i++)
      wrong += suite_get(&eo, s * 8 * 40 + i) != suite_get(&keep, 3 * s * 40 + i);
  check(wrong == 0, "spec: windows in place, contents (%u wrong)", wrong);
  ex = keep;
  pl_free(&v);
}

void suite_spec(void) {
  test_squeezed();
  test_element();
  test_bounded();
  test_fill();
  ex = suite_array(PL_F32, PL_SHAPE(64, 40));
  eo = suite_array(PL_F32, PL_SHAPE(64, 40));
  suite_fill(&ex);
  test_window_errors();
  test_spec_errors();
  test_in_place_errors();
  check(host_logged() == 0, "spec: the model logged nothing");
}
