/* SPDX-License-Identifier: MIT */
/* Operations on whole refs: elementwise, comparisons, casts, reductions. Twins: twins/vector.py. */
#include "case.h"

/* A kernel of one step over whole arrays in VMEM. */
static void run(const char *name, void (*body)(void), void *user, pl_arrays args, pl_arrays results) {
  const pl_kernel kernel = {.name = name, .body = body, .user = user};
  case_call(&kernel, args, results);
}

typedef void (*binary)(pl_ref o, pl_ref a, pl_ref b);
static void binary_body(void) {
  (*(binary *)pl_user())(pl_output(0), pl_input(0), pl_input(1));
}

static void elementwise(const char *name, binary op) {
  static const char *const names[][3] = {{"x_f32", "y_f32", "f32"},
                                         {"x_bf16", "y_bf16", "bf16"},
                                         {"x_int32", "y_int32", "int32"},
                                         {"x_int8", "y_int8", "int8"},
                                         {"x_uint8", "y_uint8", "uint8"}};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    const pl_array x = case_input(names[i][0]), y = case_input(names[i][1]),
                   o = case_output(names[i][2], NULL);
    run(name, binary_body, &op, PL_ARGS(x, y), PL_RESULTS(o));
  }
}

static void op_add(void) {
  elementwise("add", pl_add);
}
static void op_sub(void) {
  elementwise("sub", pl_sub);
}
static void op_mul(void) {
  elementwise("mul", pl_mul);
}
static void op_max(void) {
  elementwise("max", pl_max);
}
static void op_min(void) {
  elementwise("min", pl_min);
}

/* Several results of the same two operands. */
struct many {
  const char *output[4];
  binary op[4];
};
static void many_body(void) {
  const struct many *m = pl_user();
  for (int i = 0; i < 4; i++)
    m->op[i](pl_output(i), pl_input(0), pl_input(1));
}
static void many(const char *name, struct many m) {
  const pl_array x = case_input("x"), y = case_input("y");
  const pl_array o[4] = {case_output(m.output[0], NULL), case_output(m.output[1], NULL),
                         case_output(m.output[2], NULL), case_output(m.output[3], NULL)};
  run(name, many_body, &m, PL_ARGS(x, y), PL_RESULTS(o[0], o[1], o[2], o[3]));
}

static void op_special(void) {
  many("special", (struct many){{"add", "mul", "most", "least"}, {pl_add, pl_mul, pl_max, pl_min}});
}
static void op_compare(void) {
  many("compare", (struct many){{"less", "less_equal", "equal", "not_equal"},
                                {pl_less, pl_less_equal, pl_equal, pl_not_equal}});
}

static void one_for_all_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
  pl_mul(pl_output(1), pl_input(0), pl_input(2));
  pl_sub(pl_output(2), pl_input(0), pl_input(3));
}
static void op_one_for_all(void) {
  const pl_array x = case_input("x"), row = case_input("row"), column = case_input("column"),
                 one = case_input("one");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL), q = case_output("q", NULL);
  run("one_for_all", one_for_all_body, NULL, PL_ARGS(x, row, column, one), PL_RESULTS(o, p, q));
}

static void where_body(void) {
  pl_where(pl_output(0), pl_input(0), pl_input(1), pl_input(2));
}
static void masked_body(void) {
  pl_copy(pl_output(0), pl_input(2));
  pl_store_masked(pl_output(0), pl_input(1), pl_input(0));
}
static void with_mask(const char *name, void (*body)(void)) {
  const pl_array m = case_input("m"), x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  run(name, body, NULL, PL_ARGS(m, x, y), PL_RESULTS(o));
}
static void op_where(void) {
  with_mask("where", where_body);
}
static void op_store_masked(void) {
  with_mask("masked", masked_body);
}

static void bounded_body(void) {
  pl_copy(pl_output(0), pl_input(1));
  pl_store_bounded(pl_output(0), pl_input(0), 5, 19);
}
static void op_store_bounded(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  run("bounded", bounded_body, NULL, PL_ARGS(x, y), PL_RESULTS(o));
}

static void broadcast_body(void) {
  for (int i = 0; i < 3; i++)
    pl_broadcast(pl_output(i), pl_input(i));
}
static void op_broadcast(void) {
  const pl_array row = case_input("row"), column = case_input("column"), one = case_input("one");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL), q = case_output("q", NULL);
  run("broadcast", broadcast_body, NULL, PL_ARGS(row, column, one), PL_RESULTS(o, p, q));
}

static void iota_body(void) {
  pl_iota(pl_output(0), 0);
  pl_iota(pl_output(1), 1);
}
static void op_iota(void) {
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL);
  run("iota", iota_body, NULL, (pl_arrays){0}, PL_RESULTS(o, p));
}

static void fill_body(void) {
  pl_fill(pl_output(0), 0xbfc00000u); /* -1.5 */
  pl_fill(pl_output(1), 1234567);
  pl_fill(pl_output(2), (uint32_t)-7);
}
static void op_fill(void) {
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL), q = case_output("q", NULL);
  run("fill", fill_body, NULL, (pl_arrays){0}, PL_RESULTS(o, p, q));
}

static void roll_body(void) {
  pl_roll(pl_output(0), pl_input(0), 5, 1);
  pl_roll(pl_output(1), pl_input(0), -3, 0);
}
static void op_roll(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  run("roll", roll_body, NULL, PL_ARGS(x), PL_RESULTS(o, p));
}

static void transpose_body(void) {
  for (unsigned i = 0; i < 3; i++)
    pl_transpose(pl_output(i), pl_input(i));
}
static void op_transpose(void) {
  const pl_array x = case_input("x"), y = case_input("y"), z = case_input("z"), o = case_output("o", NULL),
                 p = case_output("p", NULL), q = case_output("q", NULL);
  run("transpose", transpose_body, NULL, PL_ARGS(x, y, z), PL_RESULTS(o, p, q));
}

static const uint32_t random_key[2] = {0, 42};
static void random_body(void) { /* in two parts */
  pl_random_bits(pl_at(pl_output(0), PL_ALL, PL_DS(0, 96)), random_key, 0, 0);
  pl_random_bits(pl_at(pl_output(0), PL_ALL, PL_DS(96, 104)), random_key, 0, 96);
}
static void op_random(void) {
  const pl_array o = case_output("o", NULL);
  run("random", random_body, NULL, (pl_arrays){0}, PL_RESULTS(o));
}

static void stochastic_body(void) {
  pl_random_bits(pl_output(1), random_key, 0, 0);
  pl_stochastic_round(pl_output(0), pl_input(0), pl_output(1));
}
static void op_stochastic_round(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  run("stochastic", stochastic_body, NULL, PL_ARGS(x), PL_RESULTS(o, p));
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void op_cast(void) {
  static const char *const names[][2] = {
      {"f32", "f32_bf16"},     {"f32", "f32_int32"},    {"f32", "f32_int8"},     {"int32", "int32_f32"},
      {"int32", "int32_int8"}, {"int32", "int32_bf16"}, {"bf16", "bf16_f32"},    {"int8", "int8_int32"},
      {"int8", "int8_f32"},    {"uint8", "uint8_f32"},  {"uint8", "uint8_int32"}};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    const pl_array x = case_input(names[i][0]), o = case_output(names[i][1], NULL);
    run("cast", copy_body, NULL, PL_ARGS(x), PL_RESULTS(o));
  }
}

/* ---- reductions ---- */

typedef void (*reduction)(pl_ref o, pl_ref x, enum pl_reduction over);
static void reduce_body(void) {
  const reduction op = *(reduction *)pl_user();
  op(pl_output(0), pl_input(0), PL_OVER_ROWS);
  op(pl_output(1), pl_input(0), PL_OVER_COLUMNS);
  op(pl_output(2), pl_input(0), PL_OVER_ALL);
}
static void reductions(void) {
  static const char *const names[3][3] = {{"sum_rows", "sum_columns", "sum_all"},
                                          {"max_rows", "max_columns", "max_all"},
                                          {"min_rows", "min_columns", "min_all"}};
  reduction op[3] = {pl_reduce_sum, pl_reduce_max, pl_reduce_min};
  const pl_array x = case_input("x");
  for (int i = 0; i < 3; i++) {
    const pl_array o = case_output(names[i][0], NULL), p = case_output(names[i][1], NULL);
    const pl_array q = case_output(names[i][2], NULL);
    run("reduce", reduce_body, &op[i], PL_ARGS(x), PL_RESULTS(o, p, q));
  }
}
static void op_reduce(void) {
  reductions();
}
static void op_reduce_int(void) {
  reductions();
}

static void real_body(void) {
  pl_reduce_sum(pl_output(0), pl_input(0), PL_OVER_ROWS);
  pl_reduce_sum(pl_output(1), pl_input(0), PL_OVER_COLUMNS);
}
static void op_reduce_real(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  run("real", real_body, NULL, PL_ARGS(x), PL_RESULTS(o, p));
}

static void argmax_body(void) {
  pl_argmax(pl_output(0), pl_input(0));
}
static void argmax(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  run("argmax", argmax_body, NULL, PL_ARGS(x), PL_RESULTS(o));
}
static void op_argmax(void) {
  argmax();
}
static void op_argmax_special(void) {
  argmax();
}
static void op_argmax_zeros(void) {
  argmax();
}

static void relu_body(void) {
  pl_relu(pl_output(0), pl_input(0), pl_input(1));
  pl_relu(pl_output(1), pl_input(0), PL_NO_REF);
}
static void op_relu(void) {
  const pl_array x = case_input("x"), bias = case_input("bias");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL);
  run("relu", relu_body, NULL, PL_ARGS(x, bias), PL_RESULTS(o, p));
}

const struct conformance_case conformance_cases[] = {
    CASE(op_add),          CASE(op_sub),           CASE(op_mul),
    CASE(op_max),          CASE(op_min),           CASE(op_special),
    CASE(op_one_for_all),  CASE(op_compare),       CASE(op_where),
    CASE(op_store_masked), CASE(op_store_bounded), CASE(op_broadcast),
    CASE(op_iota),         CASE(op_fill),          CASE(op_roll),
    CASE(op_transpose),    CASE(op_random),        CASE(op_stochastic_round),
    CASE(op_cast),         CASE(op_reduce),        CASE(op_reduce_int),
    CASE(op_reduce_real),  CASE(op_argmax),        CASE(op_argmax_special),
    CASE(op_argmax_zeros), CASE(op_relu),          CASE_END,
};
