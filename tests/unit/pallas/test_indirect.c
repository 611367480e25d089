/* SPDX-License-Identifier: MIT */
/*
 * INDIRECT dimensions of blocks: random arrays, blocks, lists and buffers against loops in C; lists that the
 * body makes, lists that come block by block; every error, and that the next call works.
 */
#include "suite.h"

#include <string.h>

enum { MOST_BLOCKS = 6, MOST_ELEMENTS = 64 * 1024 };

/* One random case. The grid has two dimensions: blocks of the list, and blocks of all other dimensions. */
static struct {
  bool scatter, by_dma;
  unsigned rank, listed;
  int32_t extent[3], block[3], blocks[3]; /* of the indexed array; blocks[listed]: how many lists */
} job;

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

/* Prefetched: all lists one behind the other, and where each begins. */
static pl_ref list_of(int32_t i) {
  const int32_t from = pl_get(pl_prefetch(1), i), to = pl_get(pl_prefetch(1), i + 1);
  return pl_at(pl_prefetch(0), PL_DS(from, to - from));
}

static void other_blocks(const pl_grid *g, pl_index *b) {
  int32_t left = g->id[1];
  for (unsigned d = job.rank; d-- > 0;)
    if (d != job.listed) {
      b[d].start = left % job.blocks[d];
      left /= job.blocks[d];
    }
}
static void by_list(const pl_grid *g, pl_index *b) {
  other_blocks(g, b);
  b[job.listed].list = list_of(g->id[0]);
}
static void in_order(const pl_grid *g, pl_index *b) {
  other_blocks(g, b);
  b[job.listed].start = g->id[0];
}

static void body(void) {
  if (job.by_dma)
    pl_sync_copy(pl_input(0), pl_output(0));
  else
    pl_copy(pl_output(0), pl_input(0));
}

/* Where an element of the array without lists is in the other one; -1: nowhere. */
static int64_t place_of(const pl_array *lists, const pl_array *begins, uint32_t element) {
  int32_t at[3] = {0};
  for (unsigned d = job.rank; d-- > 0;) {
    const uint32_t extent = (uint32_t)(d == job.listed ? job.blocks[d] * job.block[d] : job.extent[d]);
    at[d] = (int32_t)(element % extent);
    element /= extent;
  }
  const int32_t list = at[job.listed] / job.block[job.listed], entry = at[job.listed] % job.block[job.listed];
  const int32_t from = (int32_t)suite_get(begins, (uint32_t)list),
                to = (int32_t)suite_get(begins, (uint32_t)list + 1);
  if (entry >= to - from)
    return -1;
  at[job.listed] = (int32_t)suite_get(lists, (uint32_t)(from + entry));
  int64_t place = 0;
  for (unsigned d = 0; d < job.rank; d++)
    place = place * job.extent[d] + at[d];
  return place;
}

static void choose(void) {
  job.scatter = below(2);
  job.by_dma = below(2);
  job.rank = 1 + below(3);
  job.listed = below(job.rank);
  for (unsigned d = 0; d < job.rank; d++) {
    const bool last = d + 1 == job.rank;
    job.extent[d] = 1 + (int32_t)below(last ? 70 : below(2) ? 4 : 20);
    job.block[d] = last ? 24 : 4; /* VMEM of ecp5 has room for 4 + 4 buffers */
    if (job.block[d] > job.extent[d] || (last && below(2)))
      job.block[d] = job.extent[d];
    else
      job.block[d] -= (int32_t)below((uint32_t)job.block[d]);
    job.blocks[d] = (job.extent[d] - 1) / job.block[d] + 1;
  }
  job.block[job.listed] = 1 + (int32_t)below(12);
  job.blocks[job.listed] = 1 + (int32_t)below(MOST_BLOCKS);
}

/* Lists of random lengths; false: some block has none. */
static uint32_t fill_lists(const pl_array *lists, const pl_array *begins) {
  const unsigned way = below(3);
  uint32_t at = 0, empty = 0;
  for (int32_t i = 0; i < job.blocks[job.listed]; i++) {
    const uint32_t most = (uint32_t)job.block[job.listed];
    const uint32_t n = way == 0 ? most : way == 1 ? below(most + 1) : below(3) == 0 ? 0 : most - below(2);
    suite_put(begins, (uint32_t)i, at);
    for (uint32_t k = 0; k < n; k++)
      suite_put(lists, at++, below((uint32_t)job.extent[job.listed]));
    empty += n == 0;
  }
  suite_put(begins, (uint32_t)job.blocks[job.listed], at);
  return empty;
}

static void one(unsigned number) {
  static const pl_dtype dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8};
  static double want[MOST_ELEMENTS];
  int32_t others = 1, block = 1;

  choose();
  const pl_dtype dtype = dtypes[below(4)];
  const int32_t lists_n = job.blocks[job.listed], all = lists_n * job.block[job.listed];
  pl_shape t = {.rank = (uint8_t)job.rank}, l = t;
  pl_block_spec listed = {.map = by_list, .rank = (uint8_t)job.rank}, plain;
  for (unsigned d = 0; d < job.rank; d++) {
    t.extent[d] = job.extent[d];
    l.extent[d] = d == job.listed ? all : job.extent[d];
    listed.shape[d] = job.block[d];
    others *= d == job.listed ? 1 : job.blocks[d];
    block *= job.block[d];
  }
  listed.buffer_count = (uint8_t)below(5);
  plain = listed;
  plain.map = in_order;
  plain.buffer_count = (uint8_t)below(5);
  listed.kind[job.listed] = PL_INDIRECT;
  if (!job.scatter) {
    listed.lookahead = below(4) == 0;
    listed.pad_value = dtype == PL_F32 || dtype == PL_BF16 ? 0x40400000 : 3;
  }
  if (job.by_dma && below(2) && block <= 128) /* SMEM is small */
    listed.space = plain.space = PL_SMEM;
  const pl_array lists = suite_array(PL_INT32, PL_SHAPE(all)),
                 begins = suite_array(PL_INT32, PL_SHAPE(lists_n + 1));
  const pl_array x = suite_array(dtype, job.scatter ? l : t), o = suite_array(dtype, job.scatter ? t : l);
  suite_fill(&x);
  suite_fill(&o);
  suite_fill(&lists);
  const uint32_t empty = fill_lists(&lists, &begins);
  const uint32_t size = suite_elements(&o);
  if (size > MOST_ELEMENTS)
    return;
  for (uint32_t i = 0; i < size; i++)
    want[i] = job.scatter ? suite_get(&o, i) : 3; /* the fill of a gather */
  /* In the order of the array without lists: its blocks come in the order of the grid. */
  for (uint32_t i = 0, n = job.scatter ? suite_elements(&x) : size; i < n; i++) {
    const int64_t place = place_of(&lists, &begins, i);
    if (place >= 0 && job.scatter)
      want[place] = suite_get(&x, i);
    else if (place >= 0)
      want[i] = suite_get(&x, (uint32_t)place);
  }
  const pl_kernel kernel = {.name = "indirect",
                            .body = body,
                            .grid = PL_GRID(lists_n, others),
                            .num_scalar_prefetch = 2,
                            .in = {job.scatter ? &plain : &listed},
                            .out = {job.scatter ? &listed : &plain}};
  pl_prediction p;
  if (!suite_ok(pl_predict(&kernel, PL_ARGS(lists, begins, x), PL_RESULTS(o), &p), "indirect %u: predicted",
                number) ||
      !suite_ok(pl_call(&kernel, PL_ARGS(lists, begins, x), PL_RESULTS(o)), "indirect %u: %s", number,
                job.scatter ? "scatter" : "gather"))
    return;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < size; i++)
    wrong += suite_get(&o, i) != want[i];
  check(wrong == 0, "indirect %u: %s of %s, rank %u by %u, %d lists of %d, buffers %u %u, dma %d: %u wrong",
        number, job.scatter ? "scatter" : "gather", pl_dtype_name(dtype), job.rank, job.listed, (int)lists_n,
        (int)job.block[job.listed], listed.buffer_count, plain.buffer_count, job.by_dma, wrong);
  pl_stats stats;
  pl_get_stats(&stats);
  const uint32_t copies = ((uint32_t)lists_n - empty) * (uint32_t)others;
  check(stats.copies[job.scatter] == copies && p.copies[job.scatter] == copies,
        "indirect %u: a copy a step that has a list: %u, predicted %u, want %u", number,
        (unsigned)stats.copies[job.scatter], (unsigned)p.copies[job.scatter], (unsigned)copies);
}

/* ---- lists that change, lists that come in blocks ---- */

enum { ROWS = 24, COLUMNS = 40, LIST = 8, STEPS = 6 };

static void entries_of_step(const pl_grid *g, pl_index *b) {
  b[0].list = pl_at(pl_prefetch(0), PL_DS(LIST * g->id[0], LIST));
}
static void step_rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/*
 * What a step writes into the list of the next but one is what is gathered for it; what it writes into that
 * of the next one comes too late, for that gather is queued.
 */
static void change_body(void) {
  const int32_t next = pl_program_id(0) + 1, later = next + 1;
  pl_copy(pl_output(0), pl_input(0));
  for (int32_t i = 0; i < LIST && next < STEPS; i++)
    pl_put(pl_prefetch(0), 0, LIST * next + i);
  for (int32_t i = 0; i < LIST && later < STEPS; i++)
    pl_put(pl_prefetch(0), (7 * later + i) % ROWS, LIST * later + i);
}

static uint32_t wrong_rows(const pl_array *o, const pl_array *x, int32_t n, int32_t (*row)(int32_t i)) {
  uint32_t wrong = 0;
  for (int32_t i = 0; i < n; i++)
    for (int32_t c = 0; c < COLUMNS; c++)
      wrong += suite_get(o, (uint32_t)(i * COLUMNS + c)) != suite_get(x, (uint32_t)(row(i) * COLUMNS + c));
  return wrong;
}

static int32_t changed_row(int32_t i) {
  return i < 2 * LIST ? 5 : (7 * (i / LIST) + i % LIST) % ROWS;
}

static void test_changed(void) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(LIST * STEPS)),
                 x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, COLUMNS));
  const pl_kernel kernel = {
      .name = "changed",
      .body = change_body,
      .grid = PL_GRID(STEPS),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT})},
      .out = {PL_BLOCK(step_rows, LIST, COLUMNS)}};
  suite_fill(&x);
  for (uint32_t i = 0; i < LIST * STEPS; i++)
    suite_put(&list, i, 5);
  suite_ok(pl_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o)), "indirect: a list that the body changes");
  const uint32_t wrong = wrong_rows(&o, &x, LIST * STEPS, changed_row);
  check(wrong == 0, "indirect: a list that the body changes (%u wrong)", wrong);
}

/* A list too long for SMEM comes in blocks of SMEM, and a pipeline inside goes by parts of each. */
enum { OUTER = 4, INNER = 3 };
static pl_ref outer_list;
static int32_t outer_step;

static void part_of_outer(const pl_grid *g, pl_index *b) {
  b[0].list = pl_at(outer_list, PL_DS(LIST * g->id[0], LIST));
}
static void behind_outer(const pl_grid *g, pl_index *b) {
  b[0].start = outer_step * INNER + g->id[0];
}
static void inner_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void outer_body(void) {
  const pl_kernel gather = {
      .name = "inner gather",
      .body = inner_body,
      .grid = PL_GRID(INNER),
      .in = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = part_of_outer, .kind = {PL_INDIRECT})},
      .out = {PL_BLOCK(behind_outer, LIST, COLUMNS)}};
  const pl_kernel scatter = {
      .name = "inner scatter",
      .body = inner_body,
      .grid = PL_GRID(INNER),
      .in = {PL_BLOCK(behind_outer, LIST, COLUMNS)},
      .out = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = part_of_outer, .kind = {PL_INDIRECT})}};
  outer_list = pl_input(0);
  outer_step = pl_program_id(0);
  pl_emit_pipeline(&gather, PL_REFS(pl_input(1)), PL_REFS(pl_output(0)));
  pl_emit_pipeline(&scatter, PL_REFS(pl_output(0)), PL_REFS(pl_output(1)));
}

static int32_t nested_list[OUTER * INNER * LIST];
static int32_t nested_row(int32_t i) {
  return nested_list[i];
}

static void test_nested(void) {
  const int32_t n = OUTER * INNER * LIST;
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(n)), x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(n, COLUMNS)),
                 back = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  const pl_kernel kernel = {.name = "outer",
                            .body = outer_body,
                            .grid = PL_GRID(OUTER),
                            .in = {PL_SMEM_BLOCK(step_rows, INNER * LIST), PL_IN_HBM},
                            .out = {PL_IN_HBM, PL_IN_HBM}};
  suite_fill(&x);
  for (int32_t i = 0; i < n; i++) {
    nested_list[i] = i < ROWS ? ROWS - 1 - i : (int32_t)below(ROWS); /* every row once at least */
    suite_put(&list, (uint32_t)i, nested_list[i]);
  }
  suite_ok(pl_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o, back)), "indirect: lists in blocks of SMEM");
  const uint32_t wrong = wrong_rows(&o, &x, n, nested_row);
  check(wrong == 0, "indirect: lists in blocks of SMEM, gathered (%u wrong)", wrong);
  check(memcmp(pl_hbm_pointer(&back), pl_hbm_pointer(&x), pl_array_bytes(&x)) == 0,
        "indirect: lists in blocks of SMEM, scattered back");
}

/* No list has an entry: everything is filled, nothing is copied; and nothing is scattered. */
static void all_of_it(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].list = pl_prefetch(0);
}

static void test_empty(void) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(0)), x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(LIST, COLUMNS)),
                 back = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  const pl_block_spec *const listed =
      PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = all_of_it, .kind = {PL_INDIRECT});
  pl_kernel kernel = {
      .name = "empty", .body = inner_body, .num_scalar_prefetch = 1, .in = {listed}, .out = {NULL}};
  pl_stats stats;
  suite_fill(&x);
  suite_fill(&back);
  suite_ok(pl_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o)), "indirect: an empty list, gathered");
  pl_get_stats(&stats);
  uint32_t wrong = stats.copies[0];
  for (uint32_t i = 0; i < LIST * COLUMNS; i++)
    wrong += suite_get(&o, i) != 0;
  check(wrong == 0, "indirect: an empty list, gathered (%u wrong)", wrong);
  const double first = suite_get(&back, 0);
  kernel.in[0] = NULL;
  kernel.out[0] = listed;
  suite_ok(pl_call(&kernel, PL_ARGS(list, o), PL_RESULTS(back)), "indirect: an empty list, scattered");
  pl_get_stats(&stats);
  check(stats.copies[1] == 0 && suite_get(&back, 0) == first, "indirect: an empty list, scattered nowhere");
}

/* ---- errors ---- */

static pl_status call(const pl_block_spec *in, const pl_block_spec *out) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(LIST * STEPS)),
                 half = suite_array(PL_BF16, PL_SHAPE(LIST)),
                 x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, COLUMNS));
  const pl_kernel kernel = {.name = "bad",
                            .body = inner_body,
                            .grid = PL_GRID(STEPS),
                            .num_scalar_prefetch = 2,
                            .in = {in},
                            .out = {out},
                            .scratch = {PL_SMEM(PL_INT32, LIST)}};
  suite_fill(&x);
  for (uint32_t i = 0; i < LIST * STEPS; i++)
    suite_put(&list, i, i == 3 * LIST + 2 ? ROWS : i % ROWS);
  return pl_call(&kernel, PL_ARGS(list, half, x), PL_RESULTS(o));
}

static pl_status with(pl_map map) {
  return call(PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = map, .kind = {PL_INDIRECT}),
              PL_BLOCK(step_rows, LIST, COLUMNS));
}

static void no_list(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void long_list(const pl_grid *g, pl_index *b) {
  b[0].list = g->id[0] < 2 ? pl_at(pl_prefetch(0), PL_DS(0, 1)) : pl_prefetch(0);
}
static void strided_list(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].list = pl_at(pl_prefetch(0), PL_DS_STRIDED(0, LIST, 2));
}
static void bf16_list(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].list = pl_prefetch(1);
}
static void scratch_list(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].list = pl_scratch(0);
}
static pl_ref kept;
static void kept_list(const pl_grid *g, pl_index *b) {
  if (g->id[0] == 0)
    kept = pl_at(pl_prefetch(0), PL_DS(0, LIST));
  b[0].list = kept;
}

static void test_map_errors(void) {
  static const char right[] =
      "; block dimension 0 is INDIRECT: int32 of rank 1, 8 or fewer, without a stride, of "
      "a scalar prefetch argument or in SMEM of the body around it are right";
  suite_fails(with(no_list), PL_ERROR_BLOCK_INDEX, "indirect: no list",
              "kernel bad: input 0: its map named no list at grid position (0)", right, NULL);
  suite_fails(
      with(long_list), PL_ERROR_BLOCK_INDEX, "indirect: a list longer than the block",
      "kernel bad, step 1 (1): input 0: its map named as a list prefetch 0, int32 [48] in SMEM, at grid "
      "position (2)",
      right, NULL);
  suite_fails(with(strided_list), PL_ERROR_BLOCK_INDEX, "indirect: a list with a stride",
              "its map named as a list prefetch 0, int32 [8] in SMEM, at grid position (0)", right, NULL);
  suite_fails(with(bf16_list), PL_ERROR_BLOCK_INDEX, "indirect: a list of bf16",
              "its map named as a list prefetch 1, bf16 [8] in SMEM,", right, NULL);
  suite_fails(with(scratch_list), PL_ERROR_BLOCK_INDEX, "indirect: a list in scratch",
              "its map named as a list scratch 0, int32 [8] in SMEM,", right, NULL);
  suite_fails(with(kept_list), PL_ERROR_REF, "indirect: a list of another step", "another step or call",
              NULL);
}

static void test_spec_errors(void) {
  const pl_block_spec *const good = PL_BLOCK(step_rows, LIST, COLUMNS);
  suite_fails(
      call(PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT, PL_INDIRECT}), good),
      PL_ERROR_UNSUPPORTED, "indirect: two lists",
      "kernel bad: input 0: block dimension 1 is INDIRECT, and so is one before; a block goes by one "
      "list",
      NULL);
  suite_fails(call(PL_SPEC(PL_DIMS(LIST, COLUMNS), .kind = {PL_INDIRECT}), good), PL_ERROR_SPEC,
              "indirect: no map", "block dimension 0 is INDIRECT and there is no map to give its list", NULL);
  suite_fails(
      call(good, PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT}, .inout = 1)),
      PL_ERROR_UNSUPPORTED, "indirect: inout",
      "kernel bad: output 0: block dimension 0 is INDIRECT, and rows of two lists may be the same: no "
      "inout, no revisit_any, no alias",
      NULL);
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(LIST * STEPS)),
                 x = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, COLUMNS));
  const pl_array most = pl_hbm_array(0, PL_INT8, PL_SHAPE(1 << 24)), o = suite_array(PL_INT8, PL_SHAPE(LIST));
  const pl_kernel tall = {.name = "bad",
                          .body = inner_body,
                          .num_scalar_prefetch = 1,
                          .in = {PL_SPEC(PL_DIMS(LIST), .map = entries_of_step, .kind = {PL_INDIRECT})}};
  suite_fails(
      pl_call(&tall, PL_ARGS(list, most), PL_RESULTS(o)), PL_ERROR_LIMIT, "indirect: too many rows",
      "input 0: block dimension 0 is INDIRECT, and the array has 16777216 there; 16777215 is the most", NULL);
  const pl_kernel alias = {
      .name = "bad",
      .body = inner_body,
      .grid = PL_GRID(STEPS),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT})},
      .out = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = step_rows, .alias = PL_ALIAS(0))}};
  suite_fails(pl_call(&alias, PL_ARGS(list, x), PL_RESULTS(x)), PL_ERROR_UNSUPPORTED, "indirect: an alias",
              "output 0: alias of input 0, which goes by lists", NULL);
  const pl_array deep = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, 4, 4, 4, COLUMNS));
  const pl_kernel cut = {
      .name = "bad",
      .body = inner_body,
      .grid = PL_GRID(STEPS),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(LIST, 2, 2, 2, COLUMNS / 5), .map = entries_of_step, .kind = {PL_INDIRECT})},
      .out = {PL_BLOCK(step_rows, LIST, COLUMNS)}};
  suite_fails(pl_call(&cut, PL_ARGS(list, deep), PL_RESULTS(x)), PL_ERROR_UNSUPPORTED,
              "indirect: three other dimensions cut",
              "kernel bad: input 0: a block with an INDIRECT dimension and more than 2 others of more than "
              "one row; cut it into smaller ones",
              NULL);
}

/* An array on the chip is used in place, which no list can do. */
static void test_in_place(void) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(LIST * STEPS)),
                 o = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, COLUMNS));
  pl_array chip;
  const pl_kernel kernel = {
      .name = "bad",
      .body = inner_body,
      .grid = PL_GRID(STEPS),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT})},
      .out = {PL_BLOCK(step_rows, LIST, COLUMNS)}};
  suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(ROWS, COLUMNS), &chip), "indirect: an array in VMEM");
  suite_fails(pl_call(&kernel, PL_ARGS(list, chip), PL_RESULTS(o)), PL_ERROR_UNSUPPORTED,
              "indirect: an array in place",
              "kernel bad: input 0: block dimension 0 is INDIRECT, and the array is used in place in VMEM",
              NULL);
  pl_free(&chip);
}

/* Found by the device before anything of the copy moves; the step is found again. */
static void test_bad_entries(void) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(LIST * STEPS)),
                 x = suite_array(PL_F32, PL_SHAPE(LIST * STEPS, COLUMNS)),
                 o = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  const pl_kernel scatter = {
      .name = "bad",
      .body = inner_body,
      .grid = PL_GRID(STEPS),
      .num_scalar_prefetch = 1,
      .in = {PL_BLOCK(step_rows, LIST, COLUMNS)},
      .out = {PL_SPEC(PL_DIMS(LIST, COLUMNS), .map = entries_of_step, .kind = {PL_INDIRECT})}};
  (void)host_logged();
  suite_fails(with(entries_of_step), PL_ERROR_DEVICE, "indirect: an entry outside the array, gathered",
              "kernel bad", "fetch of input 0", "entry 2 of the list is 24",
              "; input 0, block dimension 0, step 3 at grid position (3): 0 to 23 are right", NULL);
  suite_fill(&x);
  for (uint32_t i = 0; i < LIST * STEPS; i++)
    suite_put(&list, i, i == 4 * LIST + 7 ? -1.0 : i % ROWS);
  suite_fails(pl_call(&scatter, PL_ARGS(list, x), PL_RESULTS(o)), PL_ERROR_DEVICE,
              "indirect: an entry outside the array, scattered", "kernel bad", "write-back of output 0",
              "entry 7 of the list is -1",
              "; output 0, block dimension 0, step 4 at grid position (4): 0 to 23 are right", NULL);
  check(host_logged() == 2, "indirect: the model logged the two entries that it found");
}

void suite_indirect(void) {
  for (unsigned i = 0; i < suite.cases; i++) {
    one(i);
    if (i % 8 == 7)
      suite_release();
  }
  check(host_logged() == 0, "indirect: the model logged nothing");
  test_changed();
  test_nested();
  test_empty();
  test_map_errors();
  test_spec_errors();
  test_in_place();
  test_bad_entries();
  test_changed();
}
