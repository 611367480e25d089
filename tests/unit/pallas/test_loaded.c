/* SPDX-License-Identifier: MIT */
/*
 * Random pipelines of outputs that are read, too (inout, revisit_any), and inputs with lookahead: blocks in
 * any order, with any number of buffers, against a reference in which every run loads and writes its block
 * at once. Contents, write-backs, loads and fetches.
 */
#include "suite.h"

#include <string.h>

enum { MAX_STEPS = 12, OPERANDS = 2, ROWS = 22, COLUMNS = 20, BLOCK_ROWS = 4 };

enum action { NOTHING, OVERWRITE, ADD };

struct loaded_case {
  int32_t steps;
  pl_array in[OPERANDS], out[OPERANDS];
  pl_block_spec in_spec[OPERANDS], out_spec[OPERANDS];
  int32_t in_start[OPERANDS][MAX_STEPS], out_start[OPERANDS][MAX_STEPS];
  enum action action[OPERANDS][MAX_STEPS];
};

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

#define MAP(side, n)                                                                                         \
  static void side##_map##n(const pl_grid *g, pl_index *b) {                                                 \
    const struct loaded_case *t = g->user;                                                                   \
    b[0].start = t->side##_start[n][g->id[0]];                                                               \
    b[0].size = BLOCK_ROWS - t->side##_start[n][g->id[0]] % BLOCK_ROWS;                                      \
    if (b[0].size > ROWS - b[0].start)                                                                       \
      b[0].size = ROWS - b[0].start;                                                                         \
  }
MAP(in, 0)
MAP(in, 1)
MAP(out, 0)
MAP(out, 1)

static void body(void) {
  const struct loaded_case *t = pl_user();
  const int32_t s = pl_program_id(0);
  for (int i = 0; i < OPERANDS; i++) {
    if (t->action[i][s] == OVERWRITE)
      pl_copy(pl_output(i), pl_input(i));
    else if (t->action[i][s] == ADD)
      pl_add(pl_output(i), pl_output(i), pl_input(i));
  }
}

/* First row and rows of a block. */
static void place(const pl_block_spec *spec, int32_t start, int32_t *row, int32_t *rows) {
  *row = spec->kind[0] == PL_BLOCKED ? start * BLOCK_ROWS : start;
  *rows = spec->kind[0] == PL_BOUNDED ? BLOCK_ROWS - start % BLOCK_ROWS : BLOCK_ROWS;
  if (*rows > ROWS - *row)
    *rows = ROWS - *row;
}

static void make_operand(pl_block_spec *spec, int32_t *start, int32_t steps, pl_map map) {
  static const uint8_t kinds[] = {PL_BLOCKED, PL_BLOCKED, PL_ELEMENT, PL_BOUNDED};
  *spec = (pl_block_spec){PL_DIMS(BLOCK_ROWS, COLUMNS), .map = map, .buffer_count = (uint8_t)(1 + below(5))};
  spec->kind[0] = kinds[below(4)];
  /* Few blocks, so that they come back often. */
  const uint32_t blocks = spec->kind[0] == PL_BLOCKED   ? 6
                          : spec->kind[0] == PL_ELEMENT ? ROWS - BLOCK_ROWS + 1
                                                        : ROWS;
  const uint32_t few = 2 + below(3), base = below(blocks - few + 1);
  for (int32_t s = 0; s < steps; s++)
    start[s] = s > 0 && below(3) == 0 ? start[s - 1] : (int32_t)(base + below(few));
}

static void make_case(struct loaded_case *t) {
  static const pl_map in_maps[] = {in_map0, in_map1}, out_maps[] = {out_map0, out_map1};
  const pl_dtype dtype = below(2) ? PL_F32 : PL_INT32;
  memset(t, 0, sizeof *t);
  t->steps = (int32_t)below(MAX_STEPS + 1);
  for (unsigned i = 0; i < OPERANDS; i++) {
    t->in[i] = suite_array(dtype, PL_SHAPE(ROWS, COLUMNS));
    t->out[i] = suite_array(dtype, PL_SHAPE(ROWS, COLUMNS));
    suite_fill(&t->in[i]);
    suite_fill(&t->out[i]);
    make_operand(&t->in_spec[i], t->in_start[i], t->steps, in_maps[i]);
    make_operand(&t->out_spec[i], t->out_start[i], t->steps, out_maps[i]);
    t->in_spec[i].lookahead = below(2);
    if (below(2))
      t->out_spec[i].inout = 1;
    else
      t->out_spec[i].revisit_any = 1;
    for (int32_t s = 0; s < t->steps; s++)
      t->action[i][s] = (enum action)below(3);
  }
}

/* Runs the case on the reference; counts[0] write-backs, [1] loads, [2] fetches of the input. */
static void reference(struct loaded_case *t, unsigned o, uint32_t counts[3]) {
  bool visited[ROWS + 1] = {false};
  double window[BLOCK_ROWS][COLUMNS];
  const pl_array *out = &t->out[o], *in = &t->in[o];
  int32_t row = 0, rows = 0, in_row, in_rows;

  for (int32_t s = 0; s < t->steps; s++) {
    const bool first = s == 0 || t->out_start[o][s] != t->out_start[o][s - 1];
    const bool last = s + 1 == t->steps || t->out_start[o][s] != t->out_start[o][s + 1];
    place(&t->out_spec[o], t->out_start[o][s], &row, &rows);
    if (first) {
      const bool load = t->out_spec[o].inout || visited[t->out_start[o][s]];
      for (int32_t i = 0; load && i < BLOCK_ROWS; i++)
        for (int32_t j = 0; j < COLUMNS; j++)
          window[i][j] = i < rows ? suite_get(out, (uint32_t)((row + i) * COLUMNS + j)) : 0;
      if (!load) /* what is there at first is undefined */
        t->action[o][s] = OVERWRITE;
      counts[1] += load;
      visited[t->out_start[o][s]] = true;
    }
    counts[2] += s == 0 || t->in_start[o][s] != t->in_start[o][s - 1];
    place(&t->in_spec[o], t->in_start[o][s], &in_row, &in_rows);
    for (int32_t i = 0; t->action[o][s] != NOTHING && i < BLOCK_ROWS; i++)
      for (int32_t j = 0; j < COLUMNS; j++) {
        const double x = i < in_rows ? suite_get(in, (uint32_t)((in_row + i) * COLUMNS + j)) : 0;
        window[i][j] = t->action[o][s] == ADD ? window[i][j] + x : x;
      }
    for (int32_t i = 0; last && i < rows; i++)
      for (int32_t j = 0; j < COLUMNS; j++)
        suite_put(out, (uint32_t)((row + i) * COLUMNS + j), window[i][j]);
    counts[0] += last;
  }
}

static bool run_case(unsigned number) {
  static struct loaded_case t;
  static uint8_t before[OPERANDS][ROWS * COLUMNS * 4], want[OPERANDS][ROWS * COLUMNS * 4];
  const uint64_t seed = suite.random.state;
  uint32_t counts[OPERANDS][3] = {{0}}, wrong = 0, copies = 0;
  pl_stats stats;

  make_case(&t);
  for (unsigned o = 0; o < OPERANDS; o++) {
    memcpy(before[o], pl_hbm_pointer(&t.out[o]), sizeof before[o]);
    reference(&t, o, counts[o]);
    memcpy(want[o], pl_hbm_pointer(&t.out[o]), sizeof want[o]);
    memcpy(pl_hbm_pointer(&t.out[o]), before[o], sizeof before[o]);
  }
  const pl_kernel kernel = {.name = "loaded",
                            .body = body,
                            .user = &t,
                            .grid = PL_GRID(pl_dyn(t.steps)),
                            .in = {&t.in_spec[0], &t.in_spec[1]},
                            .out = {&t.out_spec[0], &t.out_spec[1]}};
  const pl_status status = pl_call(&kernel, (pl_arrays){t.in, OPERANDS}, (pl_arrays){t.out, OPERANDS});
  pl_get_stats(&stats);
  for (unsigned o = 0; o < OPERANDS; o++) {
    wrong += memcmp(pl_hbm_pointer(&t.out[o]), want[o], sizeof want[o]) != 0;
    copies += stats.copies[o] != counts[o][2] || stats.copies[OPERANDS + o] != counts[o][0] ||
              stats.reloads[o] != counts[o][1];
  }
  if (status == PL_OK && wrong + copies == 0)
    return true;
  return check(false,
               "loaded %u (state %#llx): %d steps, buffers %u %u: %u outputs wrong, %u with wrong copies %s",
               number, (unsigned long long)seed, (int)t.steps, t.out_spec[0].buffer_count,
               t.out_spec[1].buffer_count, wrong, copies, status == PL_OK ? "" : pl_error_message());
}

/* ---- chosen cases ---- */

static const int32_t *path;
static void path_map(const pl_grid *g, pl_index *b) {
  b[0].start = path[g->id[0]];
}
static void step_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void add_body(void) {
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

/* Blocks 0, 1, 0 with three buffers: the second load of block 0 waits for the first one's write-back. */
static void test_there_and_back(void) {
  static const int32_t blocks[] = {0, 1, 0};
  pl_array x = suite_array(PL_INT32, PL_SHAPE(12, 16)), o = suite_array(PL_INT32, PL_SHAPE(8, 16));
  pl_stats stats;
  uint32_t wrong = 0;
  path = blocks;
  suite_fill(&x);
  for (uint32_t i = 0; i < 128; i++)
    suite_put(&o, i, 100);
  const pl_kernel kernel = {.name = "there and back",
                            .body = add_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(step_map, 4, 16)},
                            .out = {PL_SPEC(PL_DIMS(4, 16), .map = path_map, .buffer_count = 3, .inout = 1)}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "loaded: blocks 0, 1, 0");
  pl_get_stats(&stats);
  for (uint32_t i = 0; i < 64; i++)
    wrong += suite_get(&o, i) != 100 + suite_get(&x, i) + suite_get(&x, 128 + i) ||
             suite_get(&o, 64 + i) != 100 + suite_get(&x, 64 + i);
  check(wrong == 0 && stats.reloads[0] == 3 && stats.copies[1] == 3,
        "loaded: blocks 0, 1, 0: %u wrong, %u loads", wrong, (unsigned)stats.reloads[0]);
}

/* A whole array that never changes its block: one load, one write-back. */
static void test_whole(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(12, 16)), o = suite_array(PL_INT32, PL_SHAPE(4, 16));
  pl_stats stats;
  uint32_t wrong = 0;
  suite_fill(&x);
  for (uint32_t i = 0; i < 64; i++)
    suite_put(&o, i, 7);
  const pl_kernel kernel = {.name = "whole",
                            .body = add_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(step_map, 4, 16)},
                            .out = {PL_SPEC(.inout = 1)}};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "loaded: a whole array in and out");
  pl_get_stats(&stats);
  for (uint32_t i = 0; i < 64; i++)
    wrong += suite_get(&o, i) != 7 + suite_get(&x, i) + suite_get(&x, 64 + i) + suite_get(&x, 128 + i);
  check(wrong == 0 && stats.reloads[0] == 1 && stats.copies[1] == 1,
        "loaded: a whole array in and out: contents, copies");
}

/* With lookahead blocks are fetched as soon as there are free buffers, however far ahead they are needed. */
static void lookahead_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void test_lookahead(void) {
  static const int32_t blocks[] = {0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 3};
  pl_array x = suite_array(PL_INT32, PL_SHAPE(16, 16)), o = suite_array(PL_INT32, PL_SHAPE(48, 16));
  pl_stats stats;
  uint32_t wrong = 0;
  path = blocks;
  suite_fill(&x);
  for (uint8_t buffers = 1; buffers <= 5; buffers++) {
    const pl_kernel kernel = {
        .name = "lookahead",
        .body = lookahead_body,
        .grid = PL_GRID(12),
        .in = {PL_SPEC(PL_DIMS(4, 16), .map = path_map, .buffer_count = buffers, .lookahead = 1)},
        .out = {PL_BLOCK(step_map, 4, 16)}};
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "loaded: lookahead, %u buffers", buffers);
    pl_get_stats(&stats);
    for (uint32_t s = 0; s < 12; s++)
      for (uint32_t i = 0; i < 64; i++)
        wrong += suite_get(&o, s * 64 + i) != suite_get(&x, (uint32_t)blocks[s] * 64 + i);
    check(wrong == 0 && stats.copies[0] == 4, "loaded: lookahead, %u buffers: %u wrong, %u copies", buffers,
          wrong, (unsigned)stats.copies[0]);
  }
}

static void test_errors(void) {
  static const int32_t blocks[] = {0, 1, 0};
  pl_array x = suite_array(PL_INT32, PL_SHAPE(12, 16)), o = suite_array(PL_INT32, PL_SHAPE(8, 16));
  path = blocks;
  suite_fill(&x);
  const pl_block_spec *const step = PL_BLOCK(step_map, 4, 16);
  pl_kernel kernel = {
      .name = "bad", .body = add_body, .grid = PL_GRID(3), .in = {step}, .out = {PL_BLOCK(path_map, 4, 16)}};
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_REVISIT,
              "loaded: a block that comes back",
              "kernel bad, step 1 (1): output 0: block [0, 0] is come back to after it was written back; "
              "revisit_any or "
              "inout would load it again",
              NULL);
  kernel.in[0] = PL_SPEC(PL_DIMS(4, 16), .map = step_map, .inout = 1);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC, "loaded: an input with inout",
              "kernel bad: input 0: inout is of outputs", NULL);
  kernel.in[0] = PL_SPEC(PL_DIMS(4, 16), .map = step_map, .revisit_any = 1);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC, "loaded: an input with revisit_any",
              "kernel bad: input 0: revisit_any is of outputs", NULL);
  kernel.in[0] = step;
  kernel.out[0] = PL_SPEC(PL_DIMS(4, 16), .map = path_map, .lookahead = 1);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC, "loaded: an output with lookahead",
              "kernel bad: output 0: lookahead is of inputs", NULL);
  kernel.out[0] = PL_SPEC(PL_DIMS(4, 16), .map = path_map, .revisit_any = 1);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "loaded: it may with revisit_any");
}

void suite_loaded(void) {
  test_there_and_back();
  test_whole();
  test_lookahead();
  test_errors();
  suite_release();
  for (unsigned i = 0; i < suite.cases; i++) {
    run_case(i);
    suite_release();
  }
  check(host_logged() == 0, "loaded: %u pipelines, and the model logged nothing", suite.cases);
}
