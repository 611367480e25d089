/* SPDX-License-Identifier: MIT */
/* Where the largest elements are: any shapes, equal elements, the ends of the number range, errors. */
#include "argmax.h"
#include "check.h"

#include <stdio.h>

static void random_shape(void) {
  static const pl_dtype types[] = {PL_F32, PL_BF16, PL_INT32};
  const pl_dtype type = types[check_random(0, 2)];
  const int32_t rows = check_random(1, 60), columns = check_random(1, 200), block = check_random(0, 30),
                range = check_random(0, 100);
  const pl_array x = check_array(type, PL_SHAPE(rows, columns), -range, range),
                 indices = check_array(PL_INT32, PL_SHAPE(rows), -9, -9);
  bool ok = true;

  for (int call = 0; ok && call < 2; call++)
    ok = check_works("argmax", kernel_argmax(x, indices, block));
  for (int32_t m = 0; ok && m < rows; m++) {
    int32_t best = 0;
    for (int32_t n = 1; n < columns; n++)
      if (check_get(&x, m * columns + n) > check_get(&x, m * columns + best))
        best = n;
    ok = check_element("argmax", &indices, m, best);
  }
  if (!ok)
    printf("%s, %d x %d, blocks of %d rows\n", pl_dtype_name(type), (int)rows, (int)columns, (int)block);
  check_free();
}

/* Rows of special values; NaNs of either sign come first, and zeros are equal. */
static void ends(void) {
  enum { ROWS = 5, N = 6 };
  static const uint32_t floats[ROWS][N] = {
      {0xff800000, 0xff800000, 0xff800000, 0xff800000, 0xff800000, 0xff800000},
      {0x3f800000, 0x7f800000, 0xffc00000, 0x7fc00000, 0, 0},
      {0x80000000, 0, 0x80000000, 0, 0, 0},
      {0xff7fffff, 0xff800000, 0xff7ffffe, 0xff7fffff, 0xff7ffffe, 0xff800000},
      {0, 0x3f800000, 0x7f800000, 0x7f800000, 0x7f7fffff, 1}};
  static const int32_t float_want[ROWS] = {0, 2, 0, 2, 2};
  static const uint32_t ints[ROWS][N] = {
      {0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000, 0x80000000},
      {0x80000000, 0x80000001, 0x80000000, 0x80000001, 0x80000000, 0x80000000},
      {0xffffffff, 0, 1, 0x7ffffffe, 0x7fffffff, 0x7fffffff},
      {0xffffffff, 0xfffffffe, 0xffffffff, 0x80000000, 0xfffffffe, 0xfffffffd},
      {0x7fffffff, 0x7fffffff, 0, 0, 0, 0}};
  static const int32_t int_want[ROWS] = {0, 1, 4, 0, 0};

  for (int real = 0; real < 2; real++) {
    const pl_array x = check_array(real ? PL_F32 : PL_INT32, PL_SHAPE(ROWS, N), 0, 0),
                   indices = check_array(PL_INT32, PL_SHAPE(ROWS), -9, -9);
    for (int32_t i = 0; i < ROWS * N; i++)
      ((uint32_t *)pl_hbm_pointer(&x))[i] = real ? floats[i / N][i % N] : ints[i / N][i % N];
    check_works("argmax of the ends", kernel_argmax(x, indices, 0));
    for (int32_t m = 0; m < ROWS; m++)
      check_element("argmax of the ends", &indices, m, real ? float_want[m] : int_want[m]);
    check_free();
  }
  check_end("argmax: ends of the number range");
}

static void errors(void) {
  const pl_array x = check_array(PL_F32, PL_SHAPE(10, 16), -9, 9),
                 indices = check_array(PL_INT32, PL_SHAPE(10), 0, 0),
                 fewer = check_array(PL_INT32, PL_SHAPE(9), 0, 0),
                 reals = check_array(PL_F32, PL_SHAPE(10), 0, 0),
                 bytes = check_array(PL_INT8, PL_SHAPE(10, 16), 0, 0),
                 wide = check_array(PL_F32, PL_SHAPE(10, 30000), 0, 0);

  check_fails(kernel_argmax(x, fewer, 0), PL_ERROR_SHAPE, "indices int32 of rank 1 with 9");
  check_fails(kernel_argmax(x, reals, 0), PL_ERROR_SHAPE, "indices f32 of rank 1 with 10");
  check_fails(kernel_argmax(bytes, indices, 0), PL_ERROR_SHAPE, "x is int8 of rank 2 with 10 rows");
  check_fails(kernel_argmax(x, indices, -1), PL_ERROR_ARGUMENT, "argmax: blocks of -1 rows");
  check_fails(kernel_argmax(wide, indices, 0), PL_ERROR_BUDGET, "argmax");
  check_works("argmax after errors", kernel_argmax(x, indices, 0));
  check_free();
  check_end("argmax: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("argmax", random_shape);
  ends();
  errors();
  return check_status();
}
