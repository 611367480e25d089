/* SPDX-License-Identifier: MIT */
/*
 * bench_lists: the figures of docs/timings.md of gathers and scatters: rows of a table by a list of indices,
 * to and from blocks that a pipeline moves on; and of the kernels of the library that are made of them.
 *
 * Their bound is what takes longest alone: the port in either direction, with every row once each way, or the
 * lists, an index in two cycles (rtl/dma). What a body copies no prediction knows, so there is none, and the
 * time is given in cycles a row.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"

enum { ENTRIES = 2048, STEP = 1237, INDEX_CYCLES = 2 };
/* Rows of 256 bytes, of a table in HBM. */
enum { COLUMNS = 256, PANEL = 64, PANELS = COLUMNS / PANEL, BLOCK = 128 };
/* Rows of 16 bytes, of a table in VMEM. */
enum { SHORT_TABLE = 1024, SHORT_COLUMNS = 16, SHORT_BLOCK = 1024, TIMES = 16 };

struct work {
  const char *name;
  pl_kernel kernel;
  pl_array list, rows, table; /* row i is the one that entry i names, or goes there */
  bool to_table, adds;
  uint32_t moved, in, out, indices; /* rows; bytes through the port; indices that are read */
};

/* ---- kernels ---- */

static pl_ref part_of_list(void) {
  return pl_at(pl_prefetch(0), PL_DS(pl_program_id(1) * BLOCK, BLOCK));
}
static pl_ref panel_of(pl_ref table) {
  return pl_at(table, PL_ALL, PL_DS(pl_program_id(0) * PANEL, PANEL));
}
static void gather_body(void) {
  pl_gather(pl_output(0), panel_of(pl_input(0)), part_of_list());
}
static void scatter_body(void) {
  pl_scatter(panel_of(pl_output(0)), pl_input(0), part_of_list());
}
static void add_body(void) {
  pl_scatter_add(panel_of(pl_output(0)), pl_input(0), part_of_list());
}
/* Again and again: only the lists count. */
static void short_body(void) {
  pl_gather(pl_output(0), pl_input(0),
            pl_at(pl_prefetch(0), PL_DS(pl_program_id(0) * SHORT_BLOCK, SHORT_BLOCK)));
}

/* The pipeline goes by the list, and the body only copies from block to block. */
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void listed_map(const pl_grid *g, pl_index *b) {
  b[0].list = pl_at(pl_prefetch(0), PL_DS(g->id[1] * BLOCK, BLOCK));
  b[1].start = g->id[0];
}
static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
  b[1].start = g->id[0];
}
static void short_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* ---- contents: an element tells its place ---- */

static uint32_t number(const pl_array *a, uint32_t at) {
  return a->dtype == PL_UINT8 ? (uint8_t)(at * 7 >> 4) : at;
}

static uint32_t element(const pl_array *a, uint32_t at) {
  return a->dtype == PL_UINT8 ? ((const uint8_t *)pl_hbm_pointer(a))[at]
                              : ((const uint32_t *)pl_hbm_pointer(a))[at];
}

static void fill(const pl_array *a, bool numbers) {
  for (uint32_t i = 0; i < (uint32_t)(a->shape[0] * a->shape[1]); i++)
    if (a->dtype == PL_UINT8)
      ((uint8_t *)pl_hbm_pointer(a))[i] = (uint8_t)(numbers ? number(a, i) : 0);
    else
      ((uint32_t *)pl_hbm_pointer(a))[i] = numbers ? number(a, i) : 0;
}

static bool right(const struct work *w, uint32_t calls) {
  const int32_t *list = pl_hbm_pointer(&w->list);
  const uint32_t columns = (uint32_t)w->rows.shape[1], times = w->adds ? calls : 1;

  for (uint32_t r = 0, at = 0; r < (uint32_t)w->rows.shape[0]; r++) {
    const uint32_t row = (uint32_t)list[r] * columns;
    for (uint32_t c = 0; c < columns; c++, at++)
      if (w->to_table ? element(&w->table, row + c) != number(&w->rows, at) * times
                      : element(&w->rows, at) != number(&w->table, row + c))
        return false;
  }
  return true;
}

static bool measure(const struct work *w, pl_stats *stats) {
  const pl_array from = w->to_table ? w->rows : w->table, to = w->to_table ? w->table : w->rows;
  int32_t *list = pl_hbm_pointer(&w->list);
  uint32_t calls = 0;

  for (int32_t i = 0; i < ENTRIES; i++) /* of as many rows, each once */
    list[i] = i * STEP % w->table.shape[0];
  fill(&from, true);
  fill(&to, false);
  for (; calls < 3; calls++) /* as in bench_places.c */
    if (pl_call(&w->kernel, PL_ARGS(w->list, from), PL_RESULTS(to)) != PL_OK) {
      bench_fail(w->name, pl_error_message());
      return false;
    }
  pl_get_stats(stats);
  if (!right(w, calls))
    bench_fail(w->name, "the result is wrong");
  return true;
}

static void run(struct work *w, pl_dtype dtype, pl_shape rows, pl_shape table) {
  const uint32_t port = boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
  const uint32_t part[] = {w->in / port, w->out / port, w->indices * INDEX_CYCLES};
  pl_array *const arrays[] = {&w->list, &w->rows, &w->table};
  uint32_t bound = 0;
  pl_stats stats;

  if (pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(ENTRIES), &w->list) != PL_OK ||
      pl_alloc(PL_HBM, dtype, rows, &w->rows) != PL_OK ||
      pl_alloc(PL_HBM, dtype, table, &w->table) != PL_OK) {
    bench_fail(w->name, pl_error_message());
    return;
  }
  for (int i = 0; i < 3; i++)
    bound = part[i] > bound ? part[i] : bound;
  if (measure(w, &stats)) {
    bench_percent(w->name, "bound", bound, stats.cycles);
    bench_row(w->name, stats.cycles, w->moved);
  }
  for (unsigned i = 0; i < 3; i++)
    if (pl_free(arrays[i]) != PL_OK)
      bench_fail(w->name, pl_error_message());
}

/* ---- figures ---- */

static void rows_in_hbm(const char *name, void (*body)(void), bool to_table, bool adds) {
  enum { BYTES = ENTRIES * COLUMNS * 4 };
  const pl_block_spec *const listed =
      PL_SPEC(PL_DIMS(BLOCK, PANEL), .map = listed_map, .kind = {PL_INDIRECT}, .buffer_count = 3);
  const pl_block_spec *const table = body == copy_body ? listed : PL_IN_HBM;
  const pl_block_spec *const block = PL_SPEC(PL_DIMS(BLOCK, PANEL), .map = rows_map, .buffer_count = 3);
  struct work w = {.name = name,
                   .kernel = {.name = name,
                              .body = body,
                              .grid = PL_GRID(PANELS, ENTRIES / BLOCK),
                              .num_scalar_prefetch = 1,
                              .in = {to_table ? block : table},
                              .out = {to_table ? table : block}},
                   .to_table = to_table,
                   .adds = adds,
                   .moved = ENTRIES * PANELS,
                   .in = BYTES * (adds ? 2 : 1),
                   .out = BYTES,
                   .indices = ENTRIES * PANELS * (adds ? 2 : 1)};
  run(&w, PL_INT32, PL_SHAPE(ENTRIES, COLUMNS), PL_SHAPE(ENTRIES, COLUMNS));
}

static void rows_in_vmem(void) {
  struct work w = {.name = "gather_32768_rows16_vmem",
                   .kernel = {.name = "gather",
                              .body = short_body,
                              .grid = PL_GRID(ENTRIES / SHORT_BLOCK, TIMES),
                              .num_scalar_prefetch = 1,
                              .in = {PL_BLOCK(NULL, SHORT_TABLE, SHORT_COLUMNS)},
                              .out = {PL_BLOCK(short_map, SHORT_BLOCK, SHORT_COLUMNS)}},
                   .moved = ENTRIES * TIMES,
                   .in = SHORT_TABLE * SHORT_COLUMNS,
                   .out = ENTRIES * SHORT_COLUMNS,
                   .indices = ENTRIES * TIMES};
  run(&w, PL_UINT8, PL_SHAPE(ENTRIES, SHORT_COLUMNS), PL_SHAPE(SHORT_TABLE, SHORT_COLUMNS));
}

int main(void) {
  rows_in_hbm("gather_8192_rows256", gather_body, false, false);
  rows_in_hbm("scatter_8192_rows256", scatter_body, true, false);
  rows_in_hbm("indirect_in_8192_rows256", copy_body, false, false);
  rows_in_hbm("indirect_out_8192_rows256", copy_body, true, false);
  rows_in_hbm("scatter_add_8192_rows256", add_body, true, true);
  rows_in_vmem();
  bench_embedding();
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
