/* SPDX-License-Identifier: MIT */
/* Outputs in the memory of an input: what survives, what is ordered, what is too early, and errors. */
#include "suite.h"

#include <string.h>

enum { ROWS = 24, COLUMNS = 20, BLOCK = 4, BLOCKS = ROWS / BLOCK };

static const int32_t *in_path, *out_path;
static void in_map(const pl_grid *g, pl_index *b) {
  b[0].start = in_path[g->id[0]];
}
static void out_map(const pl_grid *g, pl_index *b) {
  b[0].start = out_path[g->id[0]];
}
static void zero_map(const pl_grid *g, pl_index *b) {
  (void)g, b[0].start = 0;
}
static void increment_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static pl_array x, one;

static void start(void) {
  for (uint32_t i = 0; i < suite_elements(&x); i++)
    suite_put(&x, i, i % 1000);
}

/* Rows of block b that are not `add` more than at the start. */
static uint32_t wrong_block(int32_t b, double add) {
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < BLOCK * COLUMNS; i++) {
    const uint32_t at = (uint32_t)b * BLOCK * COLUMNS + i;
    wrong += suite_get(&x, at) != at % 1000 + add;
  }
  return wrong;
}

static pl_status increment(int32_t steps, uint8_t buffers, const int32_t *in, const int32_t *out) {
  const pl_kernel kernel = {
      .name = "increment",
      .body = increment_body,
      .grid = PL_GRID(steps),
      .in = {PL_BUFFERED(buffers, in_map, BLOCK, COLUMNS), PL_WHOLE},
      .out = {PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = out_map, .alias = PL_ALIAS(0))},
  };
  in_path = in;
  out_path = out;
  start();
  return pl_call(&kernel, PL_ARGS(x, one), PL_RESULTS(x));
}

/* In place, some blocks; the others survive. One input block for many steps does not see the output. */
static void test_in_place(void) {
  static const int32_t some[] = {1, 3, 4}, same[] = {2, 2, 2}, all[] = {5, 0, 1, 2, 3, 4};
  for (uint8_t buffers = 1; buffers <= 4; buffers++) {
    uint32_t wrong = 0;
    suite_ok(increment(3, buffers, some, some), "alias: some blocks, %u buffers", buffers);
    for (int32_t b = 0; b < BLOCKS; b++)
      wrong += wrong_block(b, b == 1 || b == 3 || b == 4);
    suite_ok(increment(6, buffers, all, all), "alias: all blocks, %u buffers", buffers);
    for (int32_t b = 0; b < BLOCKS; b++)
      wrong += wrong_block(b, 1);
    suite_ok(increment(3, buffers, same, same), "alias: one block three times, %u buffers", buffers);
    wrong += wrong_block(2, 1) + wrong_block(1, 0);
    check(wrong == 0, "alias: contents with %u buffers (%u wrong)", buffers, wrong);
  }
}

/* A block that was written comes back as input: right from n + 1 steps later on, an error before. */
static void test_distance(void) {
  for (uint8_t buffers = 1; buffers <= 3; buffers++)
    for (int32_t distance = 1; distance <= 5; distance++) {
      int32_t in[6] = {1, 1, 1, 1, 1, 1}, out[6];
      char step[160];
      for (int32_t s = 0; s < 6; s++) {
        out[s] = s == 0 ? 0 : s < 3 ? 2 + s : 5; /* the block of step 0 is written back when step 1 begins */
      }
      in[distance] = 0;
      for (int32_t s = distance + 1; s < 6; s++)
        in[s] = 0;
      const pl_status status = increment(6, buffers, in, out);
      if (buffers == 1 ? distance >= 1 : distance >= buffers + 1) {
        suite_ok(status, "alias: read %d steps later with %u buffers", (int)distance, buffers);
        check(wrong_block(0, 0) != 0, "alias: the block was written");
        uint32_t wrong = 0;
        for (uint32_t i = 0; i < BLOCK * COLUMNS; i++) /* block 5: what block 0 has, and one more */
          wrong += suite_get(&x, 5 * BLOCK * COLUMNS + i) != suite_get(&x, i) + 1;
        check(wrong == 0, "alias: what was written is read %d steps later with %u buffers (%u wrong)",
              (int)distance, buffers, wrong);
      } else {
        snprintf(step, sizeof step,
                 "input 0: the fetch for step %d comes before the write-back of what its alias, output "
                 "0, got there from step 0 on",
                 (int)distance);
        suite_fails(status, PL_ERROR_REVISIT, "alias: read too early", "kernel increment", step, NULL);
      }
    }
}

/* The whole array in HBM as input, which the body reads by itself, in order with the write-backs. */
static void read_back_body(void) {
  const int32_t s = pl_program_id(0);
  pl_copy(pl_output(0), pl_input(1));
  if (s > 1) { /* block s - 2 was written back when step s - 1 began */
    pl_sync_copy(pl_at(pl_input(0), PL_DS((s - 2) * BLOCK, BLOCK)), pl_scratch(0));
    pl_add(pl_output(0), pl_output(0), pl_scratch(0));
  }
}
static const int32_t straight[] = {0, 1, 2, 3, 4, 5};

static void test_in_hbm(void) {
  pl_array fill = suite_array(PL_F32, PL_SHAPE(BLOCK, COLUMNS));
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < BLOCK * COLUMNS; i++)
    suite_put(&fill, i, 1);
  const pl_kernel kernel = {
      .name = "read back",
      .body = read_back_body,
      .grid = PL_GRID(5),
      .in = {PL_IN_HBM, PL_WHOLE},
      .out = {PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = out_map, .alias = PL_ALIAS(0))},
      .scratch = {PL_VMEM(PL_F32, BLOCK, COLUMNS)},
  };
  out_path = straight;
  start();
  suite_ok(pl_call(&kernel, PL_ARGS(x, fill), PL_RESULTS(x)), "alias: an input in HBM");
  for (uint32_t i = 0; i < 5 * BLOCK * COLUMNS; i++)
    wrong += suite_get(&x, i) != 1 + i / (2 * BLOCK * COLUMNS);
  check(wrong == 0 && wrong_block(5, 0) == 0, "alias: an input in HBM, contents (%u wrong)", wrong);
}

/* Columns `from` on of every row of an array, as an array. */
static pl_array part(const pl_array *whole, int32_t from, int32_t columns) {
  pl_array a = *whole;
  a.address += (uint32_t)from * 4;
  a.shape[1] = columns;
  return a;
}

static void swap_body(void) {
  pl_copy(pl_output(0), pl_input(1));
  pl_copy(pl_output(1), pl_input(0));
}

/* Rows of outputs between rows of others: no memory is of two of them. Halves that share a column do. */
static void test_interleaved(void) {
  enum { LEFT = 8, RIGHT = COLUMNS - LEFT };
  const pl_array o = suite_array(PL_F32, PL_SHAPE(ROWS, 2 * COLUMNS));
  const pl_array left = part(&o, 0, RIGHT), right = part(&o, RIGHT, LEFT);
  uint32_t wrong = 0;
  pl_kernel kernel = {.name = "swap",
                      .body = swap_body,
                      .grid = PL_GRID(BLOCKS),
                      .in = {PL_BLOCK(in_map, BLOCK, LEFT), PL_BLOCK(in_map, BLOCK, RIGHT)},
                      .out = {PL_BLOCK(in_map, BLOCK, RIGHT), PL_BLOCK(in_map, BLOCK, LEFT)}};
  static const int32_t all[] = {0, 1, 2, 3, 4, 5};
  in_path = all;
  start();
  const pl_array halves[] = {part(&x, 0, LEFT), part(&x, LEFT, RIGHT)};
  for (int order = 0; order < 2; order++) { /* the one in memory before the other is the first, the second */
    suite_ok(order == 0 ? pl_call(&kernel, PL_ARGS(halves[0], halves[1]), PL_RESULTS(left, right))
                        : pl_call(&kernel, PL_ARGS(halves[0], halves[1]),
                                  PL_RESULTS(part(&o, LEFT, RIGHT), part(&o, 0, LEFT))),
             "alias: outputs that are parts of the same rows, order %d", order);
    for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
      const uint32_t row = i / COLUMNS, c = i % COLUMNS;
      const uint32_t to = order == 1 ? c : c < LEFT ? c + RIGHT : c - LEFT;
      wrong += suite_get(&o, row * 2 * COLUMNS + to) != i % 1000;
    }
  }
  check(wrong == 0, "alias: contents of parts of the same rows (%u wrong)", wrong);
  suite_fails(pl_call(&kernel, PL_ARGS(halves[0], halves[1]), PL_RESULTS(left, part(&o, RIGHT - 1, LEFT))),
              PL_ERROR_ARGUMENT, "alias: a column of two outputs", "kernel swap: output 1: shares HBM from",
              "with output 0; that would be an alias", NULL);
  suite_fails(pl_call(&kernel, PL_ARGS(halves[0], halves[1]),
                      PL_RESULTS(left, part(&o, 2 * COLUMNS - LEFT / 2, LEFT))),
              PL_ERROR_ARGUMENT, "alias: rows of an output that go into those of another",
              "kernel swap: output 1: shares HBM from", "with output 0; that would be an alias", NULL);
  pl_array narrow = part(&o, RIGHT, LEFT);
  narrow.pitch -= 4;
  suite_fails(pl_call(&kernel, PL_ARGS(halves[0], halves[1]), PL_RESULTS(left, narrow)), PL_ERROR_ARGUMENT,
              "alias: outputs of other pitches", "kernel swap: output 1: shares HBM from",
              "with output 0; that would be an alias", NULL);
}

static void test_errors(void) {
  pl_array other = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
           ints = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  pl_array short_one = suite_array(PL_F32, PL_SHAPE(ROWS - 1, COLUMNS));
  const pl_block_spec *const aliased =
      PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = zero_map, .alias = PL_ALIAS(0));
  pl_kernel kernel = {.name = "bad", .body = copy_body, .in = {PL_WHOLE}, .out = {aliased}};
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(other)), PL_ERROR_ARGUMENT, "alias: another array",
              "kernel bad: output 0: at 0x", "and its alias, input 0, at 0x", "; give one array to both",
              NULL);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(ints)), PL_ERROR_SHAPE, "alias: another dtype",
              "kernel bad: output 0: int32 [24, 20] in HBM, and its alias, input 0, is f32 [24, 20] in HBM",
              NULL);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(short_one)), PL_ERROR_SHAPE, "alias: another shape",
              "kernel bad: output 0: f32 [23, 20] in HBM, and its alias, input 0, is f32 [24, 20] in HBM",
              NULL);
  pl_array spread = x; /* some of its rows are other rows of x */
  spread.pitch *= 2;
  suite_fails(
      pl_call(&kernel, PL_ARGS(x), PL_RESULTS(spread)), PL_ERROR_SHAPE, "alias: another pitch",
      "kernel bad: output 0: rows 160 bytes apart, and those of its alias, input 0, 80; give one array",
      NULL);
  const pl_block_spec *const third = PL_SPEC(PL_DIMS(BLOCK, COLUMNS), .map = zero_map, .alias = PL_ALIAS(3));
  kernel.out[0] = third;
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(x)), PL_ERROR_SPEC, "alias: no such input",
              "kernel bad: output 0: alias of input 3; there are 1", NULL);
  kernel.out[0] = kernel.out[1] = aliased;
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(x, x)), PL_ERROR_SPEC, "alias: two outputs",
              "kernel bad: output 1: input 0 is already the alias of output 0", NULL);
  kernel.out[0] = kernel.out[1] = NULL;
  kernel.in[0] = aliased;
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(other)), PL_ERROR_SPEC, "alias: of an input",
              "kernel bad: input 0: alias is of outputs", NULL);
}

void suite_alias(void) {
  x = suite_array(PL_F32, PL_SHAPE(ROWS, COLUMNS));
  one = suite_array(PL_F32, PL_SHAPE(1, COLUMNS));
  for (uint32_t i = 0; i < COLUMNS; i++)
    suite_put(&one, i, 1);
  test_in_place();
  test_distance();
  test_in_hbm();
  test_interleaved();
  test_errors();
  check(host_logged() == 0, "alias: the model logged nothing");
}
