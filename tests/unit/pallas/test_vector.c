/* SPDX-License-Identifier: MIT */
/* Vector operations, every dtype and broadcast, against plain C. */
#include "suite.h"

#include <math.h>
#include <string.h>

enum op { COPY, ADD, RELU, BIAS_RELU, FILL, ARGMAX };

struct vector_case {
  enum op op;
  bool through_acc; /* the first source goes through an ACC scratch */
  uint32_t fill;
};

static void body(void) {
  const struct vector_case *t = pl_user();
  pl_ref o = pl_output(0), x = pl_input(0);

  if (t->through_acc) {
    pl_copy(pl_scratch(0), x);
    x = pl_scratch(0);
  }
  switch (t->op) {
  case COPY:
    pl_copy(o, x);
    break;
  case ADD:
    pl_add(o, x, pl_input(1));
    break;
  case RELU:
    pl_relu(o, x, PL_NO_REF);
    break;
  case BIAS_RELU:
    pl_relu(o, x, pl_input(1));
    break;
  case FILL:
    pl_fill(o, t->fill);
    break;
  case ARGMAX:
    pl_argmax(o, x);
    break;
  }
}

static bool is_float(pl_dtype d) {
  return d == PL_F32 || d == PL_BF16;
}

static double to_dtype(double v, pl_dtype from, pl_dtype to) {
  float f = (float)v;
  uint32_t bits;
  switch (to) {
  case PL_F32:
    return f;
  case PL_BF16:
    memcpy(&bits, &f, 4);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
    memcpy(&f, &bits, 4);
    return f;
  case PL_INT8:
    return is_float(from) ? fmin(127, fmax(-128, trunc(v))) : (int8_t)(int64_t)v;
  case PL_UINT8:
    return is_float(from) ? fmin(255, fmax(0, trunc(v))) : (uint8_t)(int64_t)v;
  default:
    return is_float(from) ? trunc(v) : (int32_t)(int64_t)v;
  }
}

static double expected(const struct vector_case *t, const pl_array *x, const pl_array *b, pl_dtype to,
                       int32_t i, int32_t j) {
  const int32_t columns = x->shape[1];
  double v = suite_get(x, (uint32_t)(i * columns + j));
  pl_dtype from = (pl_dtype)x->dtype;
  if (t->op == ADD || t->op == BIAS_RELU) {
    const int32_t bi = b->shape[0] == 1 ? 0 : i, bj = b->shape[1] == 1 ? 0 : j;
    v += suite_get(b, (uint32_t)(bi * b->shape[1] + bj));
    if (!is_float(from))
      from = PL_INT32;
  }
  if ((t->op == RELU || t->op == BIAS_RELU) && v < 0)
    v = 0;
  return to_dtype(v, from, to);
}

static const char *const op_names[] = {"copy", "add", "relu", "bias relu", "fill", "argmax"};

static void run(struct vector_case t, int32_t rows, int32_t columns, pl_dtype from, pl_dtype to,
                int32_t b_rows, int32_t b_columns) {
  pl_array x = suite_array(from, PL_SHAPE(rows, columns)), b = suite_array(from, PL_SHAPE(b_rows, b_columns));
  pl_array o = t.op == ARGMAX ? suite_array(PL_INT32, rows % 2 ? PL_SHAPE(rows) : PL_SHAPE(rows, 1))
                              : suite_array(to, PL_SHAPE(rows, columns));
  char text[128];
  uint32_t wrong = 0;

  suite_fill(&x);
  suite_fill(&b);
  if (is_float(from)) /* halves, so that rounding to int shows */
    for (uint32_t i = 0; i < suite_elements(&x); i += 3)
      suite_put(&x, i, suite_get(&x, i) + 0.5);
  snprintf(text, sizeof text, "vector %s %dx%d %s -> %s, b %dx%d%s", op_names[t.op], (int)rows, (int)columns,
           pl_dtype_name(from), pl_dtype_name(to), (int)b_rows, (int)b_columns,
           t.through_acc ? " from ACC" : "");
  const pl_kernel kernel = {.name = "vector",
                            .body = body,
                            .user = &t,
                            .scratch = {t.through_acc ? PL_ACC(from, rows, columns) : NULL}};
  if (!suite_ok(pl_call(&kernel, PL_ARGS(x, b), PL_RESULTS(o)), "%s", text))
    return;
  for (int32_t i = 0; i < rows; i++) {
    int32_t best = 0;
    for (int32_t j = 0; j < columns; j++) {
      const uint32_t at = (uint32_t)(i * columns + j);
      if (suite_get(&x, at) > suite_get(&x, (uint32_t)(i * columns + best)))
        best = j;
      if (t.op == FILL)
        wrong += suite_get(&o, at) != 7;
      else if (t.op != ARGMAX)
        wrong += suite_get(&o, at) != expected(&t, &x, &b, to, i, j);
    }
    if (t.op == ARGMAX)
      wrong += suite_get(&o, (uint32_t)i) != best;
  }
  check(wrong == 0, "%s: %u wrong elements", text, wrong);
}

static void test_special_argmax(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(6, 37)), o = suite_array(PL_INT32, PL_SHAPE(6)),
           b = suite_array(PL_F32, PL_SHAPE(1));
  const float inf = INFINITY;
  for (uint32_t i = 0; i < 6 * 37; i++)
    suite_put(&x, i, i % 37 == 20 ? 3 : 2);
  suite_put(&x, 0 * 37 + 30, NAN); /* the first NaN wins over everything */
  suite_put(&x, 0 * 37 + 33, NAN);
  suite_put(&x, 0 * 37 + 5, (double)inf);
  for (uint32_t j = 0; j < 37; j++)
    suite_put(&x, 1 * 37 + j, (double)-inf); /* all equal: the first */
  suite_put(&x, 2 * 37 + 36, 3);             /* equal to column 20: the lower */
  suite_put(&x, 3 * 37 + 36, 4);
  suite_put(&x, 4 * 37 + 0, 4);
  suite_put(&x, 5 * 37 + 0, NAN);
  static const double best[6] = {30, 0, 20, 36, 0, 0};
  struct vector_case t = {ARGMAX, false, 0};
  const pl_kernel kernel = {.name = "argmax", .body = body, .user = &t};
  if (!suite_ok(pl_call(&kernel, PL_ARGS(x, b), PL_RESULTS(o)), "vector argmax special values"))
    return;
  for (uint32_t i = 0; i < 6; i++)
    check(suite_get(&o, i) == best[i], "vector argmax special row %u: %g", i, suite_get(&o, i));
}

void suite_vector(void) {
  static const int32_t shapes[][2] = {{8, 16}, {1, 1}, {3, 20}, {40, 33}, {70, 16}, {33, 5}, {24, 64}};

  for (int from = PL_F32; from <= PL_UINT8; from++)
    for (int to = PL_F32; to <= PL_UINT8; to++)
      run((struct vector_case){COPY, false, 0}, 19, 37, (pl_dtype)from, (pl_dtype)to, 1, 1);
  for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
    const int32_t r = shapes[s][0], c = shapes[s][1];
    for (int acc = 0; acc < 2; acc++) {
      run((struct vector_case){COPY, acc != 0, 0}, r, c, PL_F32, PL_BF16, 1, 1);
      run((struct vector_case){RELU, acc != 0, 0}, r, c, PL_INT32, PL_INT8, 1, 1);
      run((struct vector_case){BIAS_RELU, acc != 0, 0}, r, c, PL_F32, PL_BF16, 1, c);
      run((struct vector_case){BIAS_RELU, acc != 0, 0}, r, c, PL_INT32, PL_INT32, r, c);
      run((struct vector_case){ADD, acc != 0, 0}, r, c, PL_F32, PL_F32, r, c);
      run((struct vector_case){ADD, acc != 0, 0}, r, c, PL_F32, PL_F32, 1, c);
      run((struct vector_case){ADD, acc != 0, 0}, r, c, PL_F32, PL_F32, r, 1);
      run((struct vector_case){ADD, acc != 0, 0}, r, c, PL_INT32, PL_INT32, 1, 1);
      run((struct vector_case){ARGMAX, acc != 0, 0}, r, c, PL_F32, PL_F32, 1, 1);
      run((struct vector_case){ARGMAX, acc != 0, 0}, r, c, PL_INT32, PL_INT32, 1, 1);
    }
    run((struct vector_case){ADD, false, 0}, r, c, PL_INT8, PL_INT8, r, c);
    run((struct vector_case){ADD, false, 0}, r, c, PL_UINT8, PL_INT32, 1, c);
    run((struct vector_case){ADD, false, 0}, r, c, PL_BF16, PL_BF16, r, c);
    run((struct vector_case){ARGMAX, false, 0}, r, c, PL_INT8, PL_INT32, 1, 1);
    run((struct vector_case){ARGMAX, false, 0}, r, c, PL_BF16, PL_INT32, 1, 1);
    run((struct vector_case){FILL, false, 0x40e00000}, r, c, PL_F32, PL_BF16, 1, 1);
    run((struct vector_case){FILL, false, 7}, r, c, PL_INT8, PL_INT8, 1, 1);
    suite_release();
  }
  test_special_argmax();
  check(host_logged() == 0, "vector: the model logged nothing");
}
