/* SPDX-License-Identifier: MIT */
/* Scalar prefetch, names of the grid, run-time extents, and how cores share a grid. */
#include "suite.h"

#include "mmio.h"
#include "tpu_memmap.h"

#include <math.h>
#include <string.h>

static void put_int(const pl_array *a, uint32_t i, int32_t v) {
  suite_put(a, i, v);
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void table_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]);
}

enum { BLOCKS = 6, BLOCK = 4, COLUMNS = 24 };
static const int32_t order[BLOCKS] = {4, 4, 1, 5, 0, 2};

static uint32_t wrong_rows(const pl_array *o, const pl_array *x, const int32_t *from) {
  uint32_t wrong = 0;
  for (uint32_t s = 0; s < BLOCKS; s++)
    for (uint32_t i = 0; i < BLOCK * COLUMNS; i++)
      wrong += suite_get(o, s * BLOCK * COLUMNS + i) != suite_get(x, (uint32_t)from[s] * BLOCK * COLUMNS + i);
  return wrong;
}

/* A block table of every dtype, from HBM and from memory on the chip. */
static void test_table(pl_array x, pl_array o) {
  static const pl_dtype dtypes[] = {PL_INT32, PL_INT8, PL_UINT8};
  pl_stats stats;
  const pl_kernel kernel = {.name = "gather",
                            .body = copy_body,
                            .grid = PL_GRID(BLOCKS),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BUFFERED(3, table_map, BLOCK, COLUMNS)},
                            .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  for (unsigned t = 0; t < 3; t++) {
    pl_array table = suite_array(dtypes[t], PL_SHAPE(BLOCKS));
    for (uint32_t i = 0; i < BLOCKS; i++)
      put_int(&table, i, order[i]);
    for (int call = 0; call < 2; call++) {
      memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
      suite_ok(pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o)), "prefetch: a table of %s, call %d",
               pl_dtype_name(dtypes[t]), call);
      pl_get_stats(&stats);
      check(wrong_rows(&o, &x, order) == 0 && stats.copies[0] == 5 && stats.copies[1] == BLOCKS &&
                stats.plan_was_cached == (call > 0),
            "prefetch: a table of %s, contents and copies (%u, %u)", pl_dtype_name(dtypes[t]),
            (unsigned)stats.copies[0], (unsigned)stats.copies[1]);
    }
  }
  /* The same table, then another one, on the chip. */
  for (unsigned space = PL_VMEM; space <= PL_SMEM; space++) {
    pl_array hbm = suite_array(PL_INT32, PL_SHAPE(BLOCKS)), table;
    const pl_kernel load = {.name = "load", .body = copy_body};
    int32_t reverse[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++)
      put_int(&hbm, i, reverse[i] = order[BLOCKS - 1 - i]);
    suite_ok(pl_alloc((pl_space)space, PL_INT32, PL_SHAPE(BLOCKS), &table), "prefetch: a table on the chip");
    if (space == PL_VMEM) {
      suite_ok(pl_call(&load, PL_ARGS(hbm), PL_RESULTS(table)), "prefetch: load");
    } else {
      for (uint32_t i = 0; i < BLOCKS; i++)
        mmio_write32(PEPLOS_TPU_BASE + TPU_WINDOW_SMEM + table.address + 4 * i, (uint32_t)reverse[i]);
    }
    suite_ok(pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o)), "prefetch: a table in space %u", space);
    check(wrong_rows(&o, &x, reverse) == 0, "prefetch: a table in space %u, contents", space);
    pl_free(&table);
  }
}

/* ---- 16 bits: bf16 tables, which maps and bodies read as floats, and bodies write ---- */

enum { ODD = 7 }; /* columns: rows of the copy in SMEM have a gap */

static uint32_t wrong_floats;

static void float_map(const pl_grid *g, pl_index *b) {
  b[0].start = (int32_t)pl_get_float(pl_prefetch(0), 1, g->id[0]);
}
static void float_body(void) {
  const pl_ref table = pl_prefetch(0), narrow = pl_prefetch(1);
  const int32_t i = pl_program_id(0);
  pl_copy(pl_output(0), pl_input(0));
  /* 0.1 is rounded to bf16 on the way in; its neighbours stay what they are. */
  const float before = pl_get_float(table, 0, i), behind = pl_get_float(table, 2, i);
  wrong_floats += before != (float)i + 0.5f || behind != -(float)i || pl_get_float(narrow) != -0.375f;
  pl_put_float(table, 0.1f, 2, i);
  wrong_floats +=
      pl_get_float(table, 2, i) != 0.10009765625f || pl_get_float(table, 2, i + 1) != -(float)(i + 1);
  wrong_floats += (uint32_t)pl_get(table, 1, ODD - 1) != 0x7fc00000u; /* bits of an f32, as NaN */
}

static void test_floats(pl_array x, pl_array o) {
  const pl_kernel load = {.name = "load", .body = copy_body};
  const pl_kernel kernel = {.name = "floats",
                            .body = float_body,
                            .grid = PL_GRID(BLOCKS),
                            .num_scalar_prefetch = 2,
                            .in = {PL_BUFFERED(3, float_map, BLOCK, COLUMNS)},
                            .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  const pl_array room = suite_array(PL_BF16, PL_SHAPE(3, ODD)), narrow = suite_array(PL_BF16, PL_SHAPE());
  const pl_array table = pl_hbm_array(room.address + 2, PL_BF16, PL_SHAPE(3, ODD)); /* no multiple of 4 */
  pl_array chip;

  for (uint32_t i = 0; i < ODD; i++) {
    suite_put(&table, i, i + 0.5);
    suite_put(&table, ODD + i, i < BLOCKS ? order[i] : NAN);
    suite_put(&table, 2 * ODD + i, -(double)i);
  }
  suite_put(&narrow, 0, -0.375);
  suite_ok(pl_alloc(PL_VMEM, PL_BF16, PL_SHAPE(3, ODD), &chip), "prefetch: bf16 in VMEM");
  suite_ok(pl_call(&load, PL_ARGS(table), PL_RESULTS(chip)), "prefetch: load bf16");
  for (int from = 0; from < 3; from++) {
    wrong_floats = 0;
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    suite_ok(pl_call(&kernel, PL_ARGS(from == 2 ? chip : table, narrow, x), PL_RESULTS(o)),
             "prefetch: a table of bf16, from %s", from == 2 ? "VMEM" : "HBM");
    check(wrong_rows(&o, &x, order) == 0 && wrong_floats == 0,
          "prefetch: a table of bf16, contents (%u floats wrong); what the body wrote is not copied back",
          wrong_floats);
  }
  pl_free(&chip);
}

/* ---- the body writes what a prefetch argument is copied from ---- */

enum { LONG_TABLE = 2048 };

static unsigned wrong_reads;

static void overwrite_body(void) {
  pl_fill(pl_output(0), 7);
  for (int32_t i = 0; i < LONG_TABLE; i += 97)
    wrong_reads += pl_get(pl_prefetch(0), i) != i;
}

static void test_overwritten(void) {
  const pl_kernel load = {.name = "load", .body = copy_body},
                  kernel = {.name = "overwrite", .body = overwrite_body, .num_scalar_prefetch = 1};
  pl_array hbm = suite_array(PL_INT32, PL_SHAPE(LONG_TABLE)), table;

  for (uint32_t i = 0; i < LONG_TABLE; i++)
    put_int(&hbm, i, (int32_t)i);
  suite_ok(pl_alloc(PL_VMEM, PL_INT32, PL_SHAPE(LONG_TABLE), &table), "prefetch: a long table in VMEM");
  suite_ok(pl_call(&load, PL_ARGS(hbm), PL_RESULTS(table)), "prefetch: load a long table");
  host_logged();
  wrong_reads = 0;
  suite_ok(pl_call(&kernel, PL_ARGS(table), PL_RESULTS(table)), "prefetch: from what the body overwrites");
  check(wrong_reads == 0, "prefetch: from what the body overwrites, contents (%u wrong)", wrong_reads);
  check(host_logged() == 0, "prefetch: from what the body overwrites, no race: %s", host_log());
  pl_free(&table);
}

/* ---- the body writes what maps read ---- */

static void advance_body(void) {
  const int32_t i = pl_program_id(0);
  pl_copy(pl_output(0), pl_input(0));
  /* Every step changes the entries behind it; a map has seen those up to n - 1 steps ahead. */
  for (int32_t k = i + 1; k < BLOCKS; k++)
    pl_put(pl_prefetch(0), (pl_get(pl_prefetch(0), k) + 1) % BLOCKS, k);
}

/* B(k) is evaluated before step 0 for k <= n - 2, at the start of step k - n + 1 otherwise. */
static void test_written(pl_array x, pl_array o) {
  for (uint32_t buffers = 1; buffers <= 4; buffers++) {
    const uint32_t lead = (buffers > 2 ? buffers : 2) - 1;
    pl_array table = suite_array(PL_INT32, PL_SHAPE(BLOCKS));
    int32_t want[BLOCKS];
    for (uint32_t i = 0; i < BLOCKS; i++) {
      put_int(&table, i, order[i]);
      want[i] = (order[i] + (int32_t)(i > lead ? i - lead : 0)) % BLOCKS;
    }
    const pl_kernel kernel = {.name = "advance",
                              .body = advance_body,
                              .grid = PL_GRID(BLOCKS),
                              .num_scalar_prefetch = 1,
                              .in = {PL_BUFFERED((uint8_t)buffers, table_map, BLOCK, COLUMNS)},
                              .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
    suite_ok(pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o)),
             "prefetch: a table that the body changes, %u buffers", (unsigned)buffers);
    check(wrong_rows(&o, &x, want) == 0, "prefetch: maps see it when they are evaluated, %u buffers",
          (unsigned)buffers);
    bool same = true;
    for (uint32_t i = 0; i < BLOCKS; i++)
      same = same && suite_get(&table, i) == order[i];
    check(same, "prefetch: what the body changes does not go back");
  }
}

/* ---- shapes ---- */

static double seen[4];
static void shapes_body(void) {
  float f;
  int32_t bits = pl_get(pl_prefetch(0), 1, 1, 0, 2, 3);
  memcpy(&f, &bits, 4);
  seen[0] = f;
  bits = pl_get(pl_prefetch(1));
  seen[1] = bits;
  seen[2] = pl_ref_extent(pl_prefetch(2), 0);
  seen[3] = pl_ref_extent(pl_prefetch(2), 1);
  pl_copy(pl_output(0), pl_input(0));
}

static void test_shapes(pl_array x, pl_array o) {
  pl_array five = suite_array(PL_BF16, PL_SHAPE(2, 2, 1, 3, 5)), scalar = suite_array(PL_INT8, PL_SHAPE());
  pl_array none = pl_hbm_array(0, PL_INT32, PL_SHAPE(0, 3));
  suite_fill(&five);
  suite_put(&scalar, 0, -7);
  const pl_kernel kernel = {.name = "shapes", .body = shapes_body, .num_scalar_prefetch = 3};
  suite_ok(pl_call(&kernel, PL_ARGS(five, scalar, none, x), PL_RESULTS(o)),
           "prefetch: rank 5, rank 0, no rows");
  check(seen[0] == suite_get(&five, 3 * 15 + 13) && seen[1] == -7 && seen[2] == 0 && seen[3] == 3,
        "prefetch: rank 5, rank 0, no rows: contents (%g, %g, %g, %g)", seen[0], seen[1], seen[2], seen[3]);
}

/* ---- names and extents ---- */

static int32_t named[3];
static void named_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[pl_axis("block")];
}
static void named_body(void) {
  named[0] += pl_program_id(pl_axis("block")) * 10 + pl_program_id(pl_axis("turn"));
  named[1] = pl_num_programs(pl_axis("turn"));
  pl_copy(pl_output(0), pl_input(0));
}
static const char *wanted_axis;
static void wrong_axis_body(void) {
  named[2] = pl_axis(wanted_axis);
}

static void test_names(pl_array x, pl_array o) {
  const pl_kernel kernel = {.name = "named",
                            .body = named_body,
                            .grid = PL_GRID(BLOCKS, 2),
                            .grid_names = {"block", "turn"},
                            .in = {PL_BLOCK(named_map, BLOCK, COLUMNS)},
                            .out = {PL_BLOCK(named_map, BLOCK, COLUMNS)}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "prefetch: named grid dimensions");
  check(named[0] == 306 && named[1] == 2, "prefetch: ids by name (%d, %d)", (int)named[0], (int)named[1]);
  pl_kernel wrong = kernel;
  wrong.body = wrong_axis_body;
  wrong.in[0] = wrong.out[0] = PL_BLOCK(rows, BLOCK, COLUMNS);
  wrong.grid_names[0] = NULL;
  wanted_axis = "block";
  suite_fails(
      pl_call(&wrong, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT, "prefetch: no such name",
      "kernel named, step 0 (0, 0): pl_axis(\"block\"): there is no grid dimension of this name; there are "
      "(no name) turn",
      NULL);
  wrong.grid_names[0] = wanted_axis = "turn";
  suite_fails(pl_call(&wrong, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC, "prefetch: a name twice",
              "pl_axis(\"turn\"): grid dimensions 0 and 1 both have this name", NULL);
}

static uint32_t bodies;
static void counting_body(void) {
  bodies++;
}

static void test_extents(pl_array x, pl_array o) {
  pl_array table = suite_array(PL_INT32, PL_SHAPE(BLOCKS));
  pl_stats stats;
  for (int32_t n = -1; n <= 1; n++) {
    const pl_kernel kernel = {.name = "extents",
                              .body = counting_body,
                              .grid = PL_GRID(2, pl_dyn(n), 3),
                              .num_scalar_prefetch = 1,
                              .in = {PL_WHOLE},
                              .out = {PL_WHOLE}};
    bodies = 0;
    memset(pl_hbm_pointer(&o), 0x5a, pl_array_bytes(&o));
    suite_ok(pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o)), "prefetch: a run-time extent of %d", (int)n);
    pl_get_stats(&stats);
    check(n > 0 ? bodies == 6 && stats.copies[0] == 1
                : bodies == 0 && stats.copies[0] == 0 && *(uint8_t *)pl_hbm_pointer(&o) == 0x5a,
          "prefetch: a run-time extent of %d: %u steps, nothing else", (int)n, (unsigned)bodies);
  }
}

/* ---- errors ---- */

static void bad_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(2), g->id[0]);
}
static void outside_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0] + 5);
}
static void forbidden_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_input(0), g->id[0], 0);
}

static pl_status map_of(pl_map map, pl_array table, pl_array x, pl_array o) {
  const pl_kernel kernel = {.name = "bad",
                            .body = copy_body,
                            .grid = PL_GRID(BLOCKS),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(map, BLOCK, COLUMNS)},
                            .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};
  return pl_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

static void test_errors(pl_array x, pl_array o) {
  pl_array table = suite_array(PL_INT32, PL_SHAPE(BLOCKS)), acc,
           big = suite_array(PL_INT32, PL_SHAPE(100, 100));
  for (uint32_t i = 0; i < BLOCKS; i++)
    put_int(&table, i, i == 3 ? 6 : 0);
  suite_fails(map_of(table_map, table, x, o), PL_ERROR_BLOCK_INDEX, "prefetch: a bad entry of a table",
              "kernel bad, step 2 (2): input 0: its map returned block [6, 0] at grid position (3), outside "
              "the array "
              "[24, 24] of blocks [4, 24]; dimension 0: block 6, 0 to 5 are right",
              NULL);
  suite_fails(map_of(bad_map, table, x, o), PL_ERROR_ARGUMENT, "prefetch: an argument that is not there",
              "kernel bad: pl_prefetch(2): the kernel has 1", NULL);
  suite_fails(map_of(outside_map, table, x, o), PL_ERROR_REF, "prefetch: outside the table",
              "pl_get: index 6 in dimension 0 is outside prefetch 0 [6]", NULL);
  suite_fails(map_of(forbidden_map, table, x, o), PL_ERROR_REF, "prefetch: a map that reads something else",
              "kernel bad: input 0: its map calls an operation; maps only compute, and read scalars", NULL);
  const pl_kernel more = {.name = "more", .body = copy_body, .num_scalar_prefetch = 3};
  suite_fails(pl_call(&more, PL_ARGS(table, x), PL_RESULTS(o)), PL_ERROR_ARGUMENT,
              "prefetch: more than arguments",
              "kernel more: 3 scalar prefetch arguments, and only 2 arguments", NULL);
  const pl_kernel limit = {.name = "limit", .body = copy_body, .num_scalar_prefetch = 9};
  suite_fails(pl_call(&limit, PL_ARGS(table, x), PL_RESULTS(o)), PL_ERROR_LIMIT, "prefetch: nine arguments",
              "kernel limit: 9 scalar prefetch arguments; PL_MAX_PREFETCH is 8", NULL);
  const pl_kernel one = {.name = "one", .body = copy_body, .num_scalar_prefetch = 1};
  suite_fails(pl_call(&one, PL_ARGS(big, x), PL_RESULTS(o)), PL_ERROR_BUDGET, "prefetch: SMEM is too small",
              "kernel one: SMEM: 40000 bytes wanted, 16384 there", "prefetch 0",
              "1 x    40000 =     40000 bytes", NULL);
  suite_fails(pl_call(&one, PL_ARGS(o, x), PL_RESULTS(o)), PL_ERROR_ARGUMENT,
              "prefetch: shared with an output", "kernel one: output 0: shares HBM from",
              "with prefetch 0; that would be an alias", NULL);
  suite_ok(pl_alloc(PL_ACC, PL_INT32, PL_SHAPE(6, 6), &acc), "prefetch: an array in ACC");
  suite_fails(pl_call(&one, PL_ARGS(acc, x), PL_RESULTS(o)), PL_ERROR_SPEC, "prefetch: from ACC",
              "kernel one: prefetch 0: the array is in ACC; HBM, VMEM or SMEM is needed", NULL);
  pl_free(&acc);
}

void suite_prefetch(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(BLOCKS * BLOCK, COLUMNS)),
           o = suite_array(PL_F32, PL_SHAPE(BLOCKS * BLOCK, COLUMNS));
  suite_fill(&x);
  test_floats(x, o);
  test_table(x, o);
  test_written(x, o);
  test_shapes(x, o);
  test_names(x, o);
  test_extents(x, o);
  test_errors(x, o);
  check(host_logged() == 0, "prefetch: the model logged nothing");
  test_overwritten();
}
