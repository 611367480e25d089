/* SPDX-License-Identifier: MIT */
/* Top-k: any shapes, equal elements, the ends of the number range, errors. */
#include "topk.h"
#include "check.h"

#include <stdio.h>

/* Whether a comes before b: the larger element, of equals the one with the lower column. */
static bool before(const pl_array *x, int32_t row, int32_t a, int32_t b) {
  const int32_t base = row * x->shape[1], va = check_get(x, base + a), vb = check_get(x, base + b);
  return va > vb || (va == vb && a < b);
}

static bool right(const pl_array *x, const pl_array *values, const pl_array *indices) {
  const int32_t columns = x->shape[1], k = values->shape[1];

  for (int32_t m = 0; m < x->shape[0]; m++) {
    int32_t last = -1;
    for (int32_t p = 0; p < k; p++) {
      int32_t best = -1;
      for (int32_t n = 0; n < columns; n++)
        if ((last < 0 || before(x, m, last, n)) && (best < 0 || before(x, m, n, best)))
          best = n;
      if (!check_element("topk: index", indices, m * k + p, best) ||
          !check_element("topk: value", values, m * k + p, check_get(x, m * columns + best)))
        return false;
      last = best;
    }
  }
  return true;
}

static void random_shape(void) {
  static const pl_dtype types[] = {PL_F32, PL_BF16, PL_INT32};
  const pl_dtype type = types[check_random(0, 2)];
  const int32_t rows = check_random(1, 40), columns = check_random(1, 150), block = check_random(0, 24),
                k = check_random(1, columns < 20 ? columns : 20), range = check_random(0, 100);
  const pl_array x = check_array(type, PL_SHAPE(rows, columns), -range, range),
                 values = check_array(type, PL_SHAPE(rows, k), 0, 0),
                 indices = check_array(PL_INT32, PL_SHAPE(rows, k), -9, -9);
  bool ok = true;

  for (int call = 0; ok && call < 2; call++)
    ok = check_works("topk", kernel_topk(x, values, indices, block)) && right(&x, &values, &indices);
  if (!ok)
    printf("%s, %d x %d, k %d, blocks of %d rows\n", pl_dtype_name(type), (int)rows, (int)columns, (int)k,
           (int)block);
  check_free();
}

/* Every column of a row in order, with the least and greatest integers and infinities among them. */
static void ends(void) {
  enum { N = 9 };
  static const int32_t ints[N] = {INT32_MIN, 3, INT32_MAX,     INT32_MIN, -1,
                                  INT32_MAX, 0, INT32_MIN + 1, INT32_MIN};
  static const int32_t int_order[N] = {2, 5, 1, 6, 4, 7, 0, 3, 8};
  /* -inf, 1, +inf, -0, NaN, 0, -inf, the least subnormal, -1 */
  static const uint32_t floats[N] = {0xff800000, 0x3f800000, 0x7f800000, 0x80000000, 0x7fc00000,
                                     0,          0xff800000, 1,          0xbf800000};
  static const int32_t float_order[N] = {4, 2, 1, 7, 5, 3, 8, 0, 6};
  for (int is_float = 0; is_float < 2; is_float++) {
    const pl_array x = check_array(is_float ? PL_F32 : PL_INT32, PL_SHAPE(1, N), 0, 0),
                   values = check_array(is_float ? PL_F32 : PL_INT32, PL_SHAPE(1, N), 0, 0),
                   indices = check_array(PL_INT32, PL_SHAPE(1, N), -9, -9);
    uint32_t *at = pl_hbm_pointer(&x), *value = pl_hbm_pointer(&values);
    for (int i = 0; i < N; i++)
      at[i] = is_float ? floats[i] : (uint32_t)ints[i];
    check_works("topk of all", kernel_topk(x, values, indices, 0));
    for (int i = 0; i < N; i++) {
      const int32_t want = is_float ? float_order[i] : int_order[i];
      check_element("topk of all: index", &indices, i, want);
      check_that(value[i] == at[want], "topk of all: the value's bits");
    }
    check_free();
  }
  check_end("topk: ends of the number range");
}

static void errors(void) {
  const pl_array x = check_array(PL_F32, PL_SHAPE(10, 16), -9, 9),
                 values = check_array(PL_F32, PL_SHAPE(10, 3), 0, 0),
                 indices = check_array(PL_INT32, PL_SHAPE(10, 3), 0, 0),
                 many = check_array(PL_F32, PL_SHAPE(10, 17), 0, 0),
                 many_indices = check_array(PL_INT32, PL_SHAPE(10, 17), 0, 0),
                 bytes = check_array(PL_INT8, PL_SHAPE(10, 16), 0, 0),
                 wide = check_array(PL_F32, PL_SHAPE(10, 30000), 0, 0);

  check_fails(kernel_topk(x, many, indices, 0), PL_ERROR_SHAPE, "values 10 of 17, indices 10 of 3");
  check_fails(kernel_topk(x, many, many_indices, 0), PL_ERROR_ARGUMENT, "17 of 16 columns; 1 to 16");
  check_fails(kernel_topk(bytes, values, indices, 0), PL_ERROR_SHAPE, "x is int8, values f32");
  check_fails(kernel_topk(x, values, indices, -1), PL_ERROR_ARGUMENT, "blocks of -1 rows");
  check_fails(kernel_topk(wide, values, indices, 0), PL_ERROR_BUDGET, "topk");
  check_works("topk after errors", kernel_topk(x, values, indices, 0));
  right(&x, &values, &indices);
  check_free();
  check_end("topk: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("topk", random_shape);
  ends();
  errors();
  return check_status();
}
