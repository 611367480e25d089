/* SPDX-License-Identifier: MIT */
/* Sums of arrays and arrays of indices: any shapes, in place, errors. */
#include "elementwise.h"
#include "check.h"

#include <stdio.h>

static void random_shape(void) {
  static const pl_dtype types[] = {PL_F32, PL_BF16, PL_INT32};
  const pl_dtype type = types[check_random(0, 2)];
  const int32_t rows = check_random(1, 60), columns = check_random(1, 150), block = check_random(0, 30),
                in_place = check_random(0, 2), dimension = check_random(0, 1);
  const pl_shape shape = PL_SHAPE(rows, columns);
  const pl_array x = check_array(type, shape, -60, 60), y = check_array(type, shape, -60, 60),
                 fresh = check_array(type, shape, 1, 1), first = check_array(PL_INT32, shape, 0, 0),
                 o = in_place == 0   ? fresh
                     : in_place == 1 ? x
                                     : y,
                 kept = check_array(PL_INT32, shape, -9, -9);
  bool ok = true;

  for (int32_t i = 0; i < rows * columns; i++)
    check_put(&first, i, check_get(&x, i) + check_get(&y, i));
  ok = check_works("add", kernel_add(x, y, o, block));
  for (int32_t i = 0; ok && i < rows * columns; i++)
    ok = check_element("add", &o, i, check_get(&first, i));
  for (int call = 0; ok && call < 2; call++)
    ok = check_works("iota", kernel_iota(kept, dimension, block));
  for (int32_t i = 0; ok && i < rows * columns; i++)
    ok = check_element("iota", &kept, i, dimension == 0 ? i / columns : i % columns);
  if (!ok)
    printf("%s, %d x %d, blocks of %d rows, in place %d, dimension %d\n", pl_dtype_name(type), (int)rows,
           (int)columns, (int)block, (int)in_place, (int)dimension);
  check_free();
}

/* int32 wraps, f32 overflows to infinity, infinity less infinity is NaN. */
static void ends(void) {
  static const uint32_t x[] = {0x7fffffff, 0x80000000, 0xffffffff}, y[] = {1, 0xffffffff, 1},
                        sum[] = {0x80000000, 0x7fffffff, 0};
  static const uint32_t a[] = {0x7f7fffff, 0x7f800000, 0x80000000},
                        b[] = {0x7f7fffff, 0xff800000, 0x80000000},
                        both[] = {0x7f800000, 0x7fc00000, 0x80000000};

  for (int real = 0; real < 2; real++) {
    const pl_array p = check_array(real ? PL_F32 : PL_INT32, PL_SHAPE(1, 3), 0, 0),
                   q = check_array(real ? PL_F32 : PL_INT32, PL_SHAPE(1, 3), 0, 0),
                   o = check_array(real ? PL_F32 : PL_INT32, PL_SHAPE(1, 3), 0, 0);
    for (int i = 0; i < 3; i++) {
      ((uint32_t *)pl_hbm_pointer(&p))[i] = real ? a[i] : x[i];
      ((uint32_t *)pl_hbm_pointer(&q))[i] = real ? b[i] : y[i];
    }
    check_works("add at the ends", kernel_add(p, q, o, 0));
    for (int i = 0; i < 3; i++)
      check_that(((const uint32_t *)pl_hbm_pointer(&o))[i] == (real ? both[i] : sum[i]),
                 "add: the sum's bits");
    check_free();
  }
  check_end("elementwise: ends of the number range");
}

static void errors(void) {
  const pl_array x = check_array(PL_F32, PL_SHAPE(10, 16), -9, 9),
                 y = check_array(PL_F32, PL_SHAPE(10, 16), -9, 9),
                 o = check_array(PL_F32, PL_SHAPE(10, 16), 0, 0),
                 shorter = check_array(PL_F32, PL_SHAPE(9, 16), 0, 0),
                 other = check_array(PL_INT32, PL_SHAPE(10, 16), 0, 0),
                 bytes = check_array(PL_INT8, PL_SHAPE(10, 16), 0, 0),
                 flat = check_array(PL_F32, PL_SHAPE(160), 0, 0),
                 wide = check_array(PL_F32, PL_SHAPE(2, 60000), 0, 0);

  check_fails(kernel_add(x, shorter, o, 0), PL_ERROR_SHAPE, "y 2, 9 of 16 f32");
  check_fails(kernel_add(other, y, o, 0), PL_ERROR_SHAPE, "x has rank 2, 10 rows of 16 int32");
  check_fails(kernel_add(bytes, bytes, bytes, 0), PL_ERROR_SHAPE, "f32, bf16 or int32, are needed");
  check_fails(kernel_add(flat, flat, flat, 0), PL_ERROR_SHAPE, "x has rank 1");
  check_fails(kernel_add(x, y, o, -3), PL_ERROR_ARGUMENT, "add: blocks of -3 rows");
  check_fails(kernel_add(wide, wide, wide, 0), PL_ERROR_BUDGET, "add");
  check_fails(kernel_iota(o, 0, 0), PL_ERROR_SHAPE, "iota: o is f32 of rank 2; int32 [M,N] is needed");
  check_fails(kernel_iota(other, 2, 0), PL_ERROR_ARGUMENT, "iota: dimension 2 of o; 0 and 1 are right");
  check_fails(kernel_iota(other, 0, -1), PL_ERROR_ARGUMENT, "iota: blocks of -1 rows");
  check_fails(kernel_add(x, x, x, 0), PL_ERROR_ARGUMENT, "shares HBM");
  check_works("add after errors", kernel_add(x, y, o, 0));
  for (int32_t i = 0; i < 160; i++)
    check_element("add after errors", &o, i, check_get(&x, i) + check_get(&y, i));
  check_free();
  check_end("elementwise: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("elementwise", random_shape);
  ends();
  errors();
  return check_status();
}
