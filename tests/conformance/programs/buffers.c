/* SPDX-License-Identifier: MIT */
/* Buffering and revisiting: how many copies, which block, what is refused. Twins: twins/buffers.py. */
#include "case.h"
#include "maps.h"

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void zero_j_map(const pl_grid *g, pl_index *b) {
  b[0].start = 0, b[1].start = g->id[1];
}
static void second_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = 0;
}

static void buffer_copy(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  for (uint8_t n_in = 1; n_in <= 4; n_in++)
    for (uint8_t n_out = 1; n_out <= 2; n_out++) {
      const pl_kernel kernel = {.name = "copy",
                                .body = copy_body,
                                .grid = PL_GRID(4, 4),
                                .in = {PL_BUFFERED(n_in, ij_map, 8, 128)},
                                .out = {PL_BUFFERED(n_out, ij_map, 8, 128)}};
      case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
    }
}

static void matmul_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), pl_scratch(0));
}

static void buffer_matmul(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  for (uint8_t n = 2; n <= 4; n += 2) {
    const pl_kernel kernel = {.name = "matmul",
                              .body = matmul_body,
                              .grid = PL_GRID(2, 2, 2),
                              .in = {PL_BUFFERED(n, ik_map, 32, 128), PL_BUFFERED(n, kj_map, 128, 128)},
                              .out = {PL_BLOCK(ij_map, 32, 128)},
                              .scratch = {PL_ACC(PL_F32, 32, 128)}};
    case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
  }
}

static void buffer_gather(void) {
  static const char *const tables[][2] = {
      {"repeat", "o_repeat"}, {"runs", "o_runs"}, {"tail", "o_tail"}, {"cycle", "o_cycle"}};
  const pl_array x = case_input("x");
  for (unsigned i = 0; i < 4; i++) {
    const pl_array table = case_input(tables[i][0]), o = case_output(tables[i][1], NULL);
    for (unsigned variant = 0; variant < 4; variant++) {
      const pl_kernel kernel = {
          .name = tables[i][0],
          .body = copy_body,
          .grid = PL_GRID(10),
          .num_scalar_prefetch = 1,
          .in = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .buffer_count = variant < 2 ? 2 : 4,
                         .lookahead = variant % 2)},
          .out = {PL_BLOCK(rows_map, 8, 128)}};
      case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
    }
  }
}

static void count_inner_body(void) {
  if (pl_program_id(1) == 0)
    pl_fill(pl_output(0), 0);
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

static void buffer_single_output(void) {
  const pl_array one = case_input("one"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "single",
                            .body = count_inner_body,
                            .grid = PL_GRID(2, 3),
                            .in = {PL_BLOCK(origin_map, 8, 128)},
                            .out = {PL_BUFFERED(1, rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(one), PL_RESULTS(o));
}

static void buffer_three_outputs(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  for (uint8_t n = 3; n <= 5; n += 2) {
    const pl_kernel kernel = {.name = "three",
                              .body = copy_body,
                              .grid = PL_GRID(5),
                              .in = {PL_BLOCK(rows_map, 8, 128)},
                              .out = {PL_BUFFERED(n, rows_map, 8, 128)}};
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  }
}

static void buffer_short(void) {
  static const char *const names[] = {"o_1", "o_2", "o_3"};
  const pl_array x = case_input("x");
  for (int32_t steps = 1; steps <= 3; steps++) {
    const pl_array o = case_output(names[steps - 1], NULL);
    for (uint8_t n = 3; n <= 5; n++) {
      const pl_kernel kernel = {.name = "short",
                                .body = copy_body,
                                .grid = PL_GRID(steps),
                                .in = {PL_BUFFERED(n, rows_map, 8, 128)},
                                .out = {PL_BLOCK(rows_map, 8, 128)}};
      case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
    }
  }
}

static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

static void buffer_constant(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  for (uint8_t n = 0; n <= 2; n += 2) {
    const pl_block_spec *spec = PL_BUFFERED(n, origin_map, 16, 128);
    const pl_kernel kernel = {
        .name = "constant", .body = double_body, .grid = PL_GRID(4), .in = {spec}, .out = {spec}};
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  }
}

static void buffer_constant_one(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "one",
                            .body = copy_body,
                            .grid = PL_GRID(3, 1),
                            .in = {PL_BLOCK(second_map, 16, 128)},
                            .out = {PL_BLOCK(second_map, 16, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void buffer_output_runs(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "runs",
                            .body = copy_body,
                            .grid = PL_GRID(6),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_BLOCK(table_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

static void half_body(void) {
  pl_copy(pl_at(pl_output(0), PL_DS(0, 4)), pl_at(pl_input(0), PL_DS(0, 4)));
}

static void half(const char *in, const char *out) {
  const pl_array x = case_input(in), o = case_output(out, NULL);
  const pl_kernel kernel = {.name = "half",
                            .body = half_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_BLOCK(rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void buffer_partial_write(void) {
  half("x", "o");
}

static void buffer_poison(void) {
  const unsigned before = pl_debug_get();
  pl_debug_set(before | PL_DEBUG_POISON);
  half("x", "o");
  half("y", "p");
  pl_debug_set(before);
}

static void sum_body(void) {
  if (pl_program_id(0) == 0)
    pl_fill(pl_output(0), 0);
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}

static void buffer_revisit_any(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  for (uint8_t n = 1; n <= 3; n++) {
    const pl_kernel kernel = {
        .name = "any",
        .body = sum_body,
        .grid = PL_GRID(3, 3),
        .in = {PL_BLOCK(ij_map, 8, 128)},
        .out = {PL_SPEC(PL_DIMS(8, 128), .map = zero_j_map, .buffer_count = n, .revisit_any = 1)}};
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  }
}

static void two_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  pl_copy(pl_output(1), pl_input(0));
}
static void legal_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[1] / 2;
}
static void illegal_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1] / 2, b[1].start = g->id[0] % 2;
}

static void buffer_revisit_error(void) {
  const pl_array x = case_input("x");
  pl_array o, p;
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(32, 256), &o)) ||
      !case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(16, 256), &p)))
    return;
  const pl_kernel kernel = {.name = "revisit",
                            .body = two_body,
                            .grid = PL_GRID(4, 4),
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_BLOCK(legal_map, 8, 128), PL_BLOCK(illegal_map, 8, 128)}};
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o, p)));
  case_done(pl_free(&p));
  case_done(pl_free(&o));
}

static void increment_body(void) {
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void fourth_map(const pl_grid *g, pl_index *b) {
  b[0].start = 4 * g->id[0] + g->id[1], b[1].start = 0;
}

static void buffer_inout(void) {
  const pl_array x = case_input("x"), o = case_output("o", "z");
  const pl_kernel kernel = {.name = "inout",
                            .body = increment_body,
                            .grid = PL_GRID(3, 4),
                            .in = {PL_BLOCK(fourth_map, 8, 128)},
                            .out = {PL_INOUT(rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* The same kernel with 1 to 3 buffers, each with a result of its own. */
static void inout_buffers(const pl_kernel *kernel, pl_arrays args) {
  static const char *const names[] = {"o", "o_2", "o_3"};
  for (uint8_t n = 1; n <= 3; n++) {
    const pl_array o = case_output(names[n - 1], "z");
    pl_kernel k = *kernel;
    pl_block_spec spec = *k.out[0];
    spec.buffer_count = n;
    k.out[0] = &spec;
    case_call(&k, args, PL_RESULTS(o));
  }
}

static void buffer_inout_every_step(void) {
  const pl_array x = case_input("x");
  const pl_kernel kernel = {.name = "every",
                            .body = increment_body,
                            .grid = PL_GRID(8),
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_INOUT(rows_map, 8, 128)}};
  inout_buffers(&kernel, PL_ARGS(x));
}

static void buffer_inout_back(void) {
  const pl_array x = case_input("x"), table = case_input("table");
  const pl_kernel kernel = {.name = "back",
                            .body = increment_body,
                            .grid = PL_GRID(6),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(rows_map, 8, 128)},
                            .out = {PL_INOUT(table_map, 8, 128)}};
  inout_buffers(&kernel, PL_ARGS(table, x));
}

static void buffer_lookahead_one(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_kernel kernel = {
      .name = "one",
      .body = copy_body,
      .grid = PL_GRID(6),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .buffer_count = 1, .lookahead = 1)},
      .out = {PL_BLOCK(rows_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

/* ---- random pipelines; the numbers are those of pipelines() in the twin ---- */

static uint32_t random_state;
static uint32_t number(uint32_t n) {
  random_state = random_state * 1664525 + 1013904223;
  return (random_state >> 16) % n;
}

static void random_pipeline(pl_array x, pl_array o, int32_t *row) {
  const int32_t steps = 1 + (int32_t)number(8);
  const uint8_t n_in = (uint8_t)(1 + number(4)), n_out = (uint8_t)(1 + number(2)),
                lookahead = (uint8_t)number(2);
  int32_t blocks[8], outs[8], out = 0;
  pl_array tables[2];

  for (int32_t i = 0; i < steps; i++)
    blocks[i] = (int32_t)number(3);
  const bool runs = number(2);
  for (int32_t i = 0; i < steps; i++) {
    out += i > 0 ? (int32_t)number(2) : 0;
    outs[i] = runs ? out : i;
  }
  for (int k = 0; k < 2; k++) {
    if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(steps), &tables[k])))
      return;
    for (int32_t i = 0; i < steps; i++)
      ((int32_t *)pl_hbm_pointer(&tables[k]))[i] = k == 0 ? blocks[i] : outs[i];
  }
  /* The part of o that this one writes, as an array of its own. */
  pl_array part = o;
  part.address += (uint32_t)*row * 128 * 4;
  part.shape[0] = 8 * (outs[steps - 1] + 1);
  *row += part.shape[0];
  const pl_kernel kernel = {.name = "random",
                            .body = copy_body,
                            .grid = PL_GRID(steps),
                            .num_scalar_prefetch = 2,
                            .in = {PL_SPEC(PL_DIMS(8, 128), .map = table_map, .buffer_count = n_in,
                                           .lookahead = lookahead && n_in > 1)},
                            .out = {PL_BUFFERED(n_out, second_table_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(tables[0], tables[1], x), PL_RESULTS(part));
  case_done(pl_free(&tables[1]));
  case_done(pl_free(&tables[0]));
}

static void buffer_random(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  int32_t row = 0;
  random_state = 7;
  for (int i = 0; i < 24; i++)
    random_pipeline(x, o, &row);
}

const struct conformance_case conformance_cases[] = {
    CASE(buffer_copy),
    CASE(buffer_matmul),
    CASE(buffer_gather),
    CASE(buffer_single_output),
    CASE(buffer_three_outputs),
    CASE(buffer_short),
    CASE(buffer_constant),
    CASE(buffer_constant_one),
    CASE(buffer_output_runs),
    CASE(buffer_partial_write),
    CASE(buffer_revisit_any),
    CASE(buffer_revisit_error),
    CASE(buffer_inout),
    CASE(buffer_inout_every_step),
    CASE(buffer_inout_back),
    CASE(buffer_random),
    CASE(buffer_poison),
    CASE(buffer_lookahead_one),
    CASE_END,
};
