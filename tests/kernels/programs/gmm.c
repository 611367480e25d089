/* SPDX-License-Identifier: MIT */
/* The grouped and the ragged matrix product: any sizes, errors. */
#include "gmm.h"
#include "check.h"

#include <stdio.h>

enum { UNTOUCHED = -77 };

static bool right(const pl_array *x, const pl_array *y, const pl_array *sizes, const pl_array *o) {
  const int32_t depth = x->shape[1], columns = o->shape[1];
  int32_t group = 0, end = check_get(sizes, 0);

  for (int32_t m = 0; m < o->shape[0]; m++) {
    while (group < sizes->shape[0] && m == end)
      end += ++group < sizes->shape[0] ? check_get(sizes, group) : 0;
    for (int32_t n = 0; n < columns; n++) {
      const int32_t want = group < sizes->shape[0]
                               ? check_dot(x, m * depth, y, group * depth * columns + n, columns, depth)
                               : UNTOUCHED;
      if (!check_element("gmm", o, m * columns + n, want))
        return false;
    }
  }
  return true;
}

static bool product(const pl_array *sizes, int32_t rows, int32_t depth, int32_t columns, pl_dtype type,
                    pl_dtype result, const struct gmm_blocks *blocks) {
  const int32_t groups = sizes->shape[0];
  const pl_array x = check_array(type, PL_SHAPE(rows, depth), -4, 4),
                 y = check_array(type, PL_SHAPE(groups, depth, columns), -4, 4),
                 o = check_array(result, PL_SHAPE(rows, columns), UNTOUCHED, UNTOUCHED);
  bool ok = true;
  for (int call = 0; ok && call < 2; call++) /* the second one has its plan already */
    ok = check_works("gmm", kernel_gmm(x, y, *sizes, o, blocks)) && right(&x, &y, sizes, &o);
  return ok;
}

static void random_shape(void) {
  const int32_t groups = check_random(1, 6), kind = check_random(0, 2);
  const struct gmm_blocks blocks = {check_random(1, 40), check_random(1, 3) * 16, check_random(1, 48),
                                    (uint8_t)check_random(0, 4)};
  const pl_array sizes = check_array(PL_INT32, PL_SHAPE(groups), 0, 0);
  int32_t rows = check_random(0, 3); /* behind the last group */

  for (int32_t g = 0; g < groups; g++) {
    const int32_t size = check_random(0, 3) == 0 ? 0 : check_random(1, 50);
    check_put(&sizes, g, size);
    rows += size;
  }
  rows += rows == 0;
  const int32_t depth = check_random(1, 60), columns = check_random(1, 70);
  if (!product(&sizes, rows, depth, columns, kind == 0 ? PL_INT8 : PL_BF16,
               kind == 0   ? PL_INT32
               : kind == 1 ? PL_BF16
                           : PL_F32,
               &blocks)) {
    printf("%d groups, %d x %d x %d, blocks %d %d %d, buffers %d; sizes", (int)groups, (int)rows,
           (int)columns, (int)depth, (int)blocks.m, (int)blocks.n, (int)blocks.k, blocks.buffers);
    for (int32_t g = 0; g < groups; g++)
      printf(" %d", (int)check_get(&sizes, g));
    printf("\n");
  }
  check_free();
}

/* Tiles that are bound by the port take turns with others, none is lost or comes twice. */
static void orders(void) {
  static const int32_t sizes[][8] = {{8, 8, 16, 20, 64, 0, 40, 37}, {64, 1, 33, 0, 17, 16, 15, 48},
                                     {0, 0, 0, 0, 0, 0, 0, 0},      {1, 1, 1, 1, 1, 1, 1, 1},
                                     {0, 0, 0, 99, 0, 0, 0, 0},     {33, 34, 35, 36, 37, 38, 39, 40}};
  const struct gmm_blocks blocks = {40, 16, 16, 5};
  for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    const pl_array list = check_array(PL_INT32, PL_SHAPE(8), 0, 0);
    int32_t rows = 0;
    for (int32_t g = 0; g < 8; g++) {
      check_put(&list, g, sizes[i][g]);
      rows += sizes[i][g];
    }
    product(&list, rows + (rows == 0), 16, 32, PL_BF16, PL_BF16, &blocks);
    check_free();
  }
  check_end("gmm: orders of large and small groups");
}

static bool ragged_right(const pl_array *x, const pl_array *y, const pl_array *rows, const pl_array *o) {
  const int32_t height = x->shape[1], depth = x->shape[2], columns = o->shape[2];

  for (int32_t i = 0; i < x->shape[0] * height; i++) {
    const int32_t batch = i / height, matrix = y->rank == 3 ? batch * depth * columns : 0;
    for (int32_t n = 0; n < columns; n++) {
      const int32_t want = i % height < check_get(rows, batch)
                               ? check_dot(x, i * depth, y, matrix + n, columns, depth)
                               : UNTOUCHED;
      if (!check_element("ragged matmul", o, i * columns + n, want))
        return false;
    }
  }
  return true;
}

static void ragged(void) {
  const int32_t batch = check_random(1, 5), height = check_random(1, 50), depth = check_random(1, 60),
                columns = check_random(1, 70);
  const bool ints = check_random(0, 2) == 0;
  const struct gmm_blocks blocks = {check_random(1, 40), check_random(1, 3) * 16, check_random(1, 48),
                                    (uint8_t)check_random(0, 4)};
  const pl_dtype type = ints ? PL_INT8 : PL_BF16;
  const pl_array x = check_array(type, PL_SHAPE(batch, height, depth), -4, 4),
                 y = check_random(0, 1) ? check_array(type, PL_SHAPE(batch, depth, columns), -4, 4)
                                        : check_array(type, PL_SHAPE(depth, columns), -4, 4),
                 rows = check_array(PL_INT32, PL_SHAPE(batch), 0, height),
                 o = check_array(ints                 ? PL_INT32
                                 : check_random(0, 1) ? PL_F32
                                                      : PL_BF16,
                                 PL_SHAPE(batch, height, columns), UNTOUCHED, UNTOUCHED);
  bool ok = true;
  for (int call = 0; ok && call < 2; call++)
    ok = check_works("ragged matmul", kernel_ragged_matmul(x, y, rows, o, &blocks)) &&
         ragged_right(&x, &y, &rows, &o);
  if (!ok)
    printf("ragged: batch %d, %d x %d x %d, y of rank %d, blocks %d %d %d, buffers %d\n", (int)batch,
           (int)height, (int)columns, (int)depth, y.rank, (int)blocks.m, (int)blocks.n, (int)blocks.k,
           blocks.buffers);
  check_free();
}

static void ragged_errors(void) {
  const struct gmm_blocks blocks = {16, 16, 16, 2}, none = {16, 16, 0, 2};
  const pl_array x = check_array(PL_BF16, PL_SHAPE(3, 20, 16), 0, 1),
                 y = check_array(PL_BF16, PL_SHAPE(3, 16, 16), 0, 1),
                 o = check_array(PL_F32, PL_SHAPE(3, 20, 16), UNTOUCHED, UNTOUCHED),
                 rows = check_array(PL_INT32, PL_SHAPE(3), 5, 5),
                 few = check_array(PL_INT32, PL_SHAPE(2), 5, 5);
  pl_array elsewhere = o;
  elsewhere.space = PL_VMEM;

  check_fails(kernel_ragged_matmul(x, o, rows, o, &blocks), PL_ERROR_SHAPE, "y of rank 3 [20,16]");
  check_fails(kernel_ragged_matmul(x, y, few, o, &blocks), PL_ERROR_SHAPE, "rows has 2 elements");
  check_fails(kernel_ragged_matmul(x, y, rows, o, &none), PL_ERROR_ARGUMENT,
              "ragged matmul: blocks of 16 x 16 x 0");
  check_fails(kernel_ragged_matmul(x, y, rows, elsewhere, &blocks), PL_ERROR_ARGUMENT,
              "ragged matmul: x, rows and o must be in HBM");
  check_put(&rows, 2, 21);
  check_fails(kernel_ragged_matmul(x, y, rows, o, &blocks), PL_ERROR_ARGUMENT,
              "batch 2 has 21 rows; 0 to 20");
  check_put(&rows, 2, 0);
  check_works("ragged matmul after errors", kernel_ragged_matmul(x, y, rows, o, &blocks));
  ragged_right(&x, &y, &rows, &o);
  check_free();
  check_end("ragged matmul: errors");
}

static void errors(void) {
  const struct gmm_blocks blocks = {16, 16, 16, 2}, none = {16, 0, 16, 2};
  const pl_array x = check_array(PL_BF16, PL_SHAPE(20, 16), 0, 1),
                 y = check_array(PL_BF16, PL_SHAPE(3, 16, 16), 0, 1),
                 o = check_array(PL_F32, PL_SHAPE(20, 16), 0, 0),
                 thin = check_array(PL_BF16, PL_SHAPE(20, 15), 0, 1),
                 sizes = check_array(PL_INT32, PL_SHAPE(3), 5, 5),
                 few = check_array(PL_INT32, PL_SHAPE(2), 5, 5);
  pl_array elsewhere = o;
  elsewhere.space = PL_VMEM;

  check_fails(kernel_gmm(thin, y, sizes, o, &blocks), PL_ERROR_SHAPE,
              "x has 15 columns, y 3 matrices of 16 x 16");
  check_fails(kernel_gmm(x, y, few, o, &blocks), PL_ERROR_SHAPE, "sizes 2 elements");
  check_fails(kernel_gmm(x, y, sizes, thin, &blocks), PL_ERROR_SHAPE, "o 20 x 15");
  check_fails(kernel_gmm(x, y, sizes, o, &none), PL_ERROR_ARGUMENT, "gmm: blocks of 16 x 0 x 16");
  check_fails(kernel_gmm(x, y, sizes, elsewhere, &blocks), PL_ERROR_ARGUMENT,
              "gmm: sizes and o must be in HBM");
  check_put(&sizes, 1, -1);
  check_fails(kernel_gmm(x, y, sizes, o, &blocks), PL_ERROR_ARGUMENT, "group 1 has -1 rows");
  check_put(&sizes, 1, 11);
  check_fails(kernel_gmm(x, y, sizes, o, &blocks), PL_ERROR_ARGUMENT,
              "group 2 has 5 rows, 21 in all up to it");
  check_put(&sizes, 1, 10);
  check_works("gmm after errors", kernel_gmm(x, y, sizes, o, &blocks));
  right(&x, &y, &sizes, &o);
  check_free();
  check_end("gmm: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("gmm", random_shape);
  orders();
  errors();
  check_random_shapes("ragged matmul", ragged);
  ragged_errors();
  return check_status();
}
