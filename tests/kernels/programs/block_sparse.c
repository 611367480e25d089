/* SPDX-License-Identifier: MIT */
/* The product with a block-sparse matrix: any masks, none and all of the blocks, errors. */
#include "block_sparse.h"
#include "check.h"

#include <stdio.h>

static bool right(const pl_array *x, const pl_array *y, const pl_array *mask, const pl_array *o,
                  const struct matmul_blocks *blocks) {
  const int32_t depth = x->shape[1], columns = o->shape[1], masks = mask->shape[1];

  for (int32_t m = 0; m < o->shape[0]; m++)
    for (int32_t n = 0; n < columns; n++) {
      int32_t want = 0;
      for (int32_t k = 0; k < depth; k += blocks->k)
        if (check_get(mask, k / blocks->k * masks + n / blocks->n) != 0)
          want += check_dot(x, m * depth + k, y, k * columns + n, columns,
                            depth - k < blocks->k ? depth - k : blocks->k);
      if (!check_element("block-sparse", o, m * columns + n, want))
        return false;
    }
  return true;
}

/* density: of 8 blocks that many count; 0: none, 8: all. */
static void product(int32_t density) {
  const int32_t rows = check_random(1, 60), depth = check_random(1, 60), columns = check_random(1, 80);
  const struct matmul_blocks blocks = {check_random(5, 40), check_random(1, 3) * 16, check_random(4, 48),
                                       (uint8_t)check_random(0, 3), check_random(0, 1) != 0};
  const bool ints = check_random(0, 2) == 0;
  const pl_dtype type = ints ? PL_INT8 : PL_BF16;
  const pl_array x = check_array(type, PL_SHAPE(rows, depth), -4, 4),
                 y = check_array(type, PL_SHAPE(depth, columns), -4, 4),
                 o = check_array(ints                 ? PL_INT32
                                 : check_random(0, 1) ? PL_F32
                                                      : PL_BF16,
                                 PL_SHAPE(rows, columns), -77, -77);
  const pl_array mask =
      check_array(PL_INT32, PL_SHAPE(pl_cdiv(depth, blocks.k), pl_cdiv(columns, blocks.n)), 0, 7);
  bool ok = true;

  for (int32_t i = 0; i < mask.shape[0] * mask.shape[1]; i++)
    check_put(&mask, i, check_get(&mask, i) < density);
  for (int call = 0; ok && call < 2; call++)
    ok = check_works("block-sparse", kernel_block_sparse(x, y, mask, o, &blocks)) &&
         right(&x, &y, &mask, &o, &blocks);
  if (!ok)
    printf("density %d of 8, %d x %d x %d, blocks %d %d %d, buffers %d\n", (int)density, (int)rows,
           (int)columns, (int)depth, (int)blocks.m, (int)blocks.n, (int)blocks.k, blocks.buffers);
  check_free();
}

/* What does not count is not fetched: copies are as many as there are blocks that do. */
static void copies(void) {
  const struct matmul_blocks blocks = {16, 16, 16, 2, false};
  const pl_array x = check_array(PL_BF16, PL_SHAPE(16, 64), 1, 1),
                 y = check_array(PL_BF16, PL_SHAPE(64, 64), 1, 1),
                 o = check_array(PL_F32, PL_SHAPE(16, 64), 0, 0),
                 mask = check_array(PL_INT32, PL_SHAPE(4, 4), 0, 0);
  pl_stats stats;

  check_put(&mask, 0, 1);     /* columns 0, 2 and 3 have blocks, */
  check_put(&mask, 2 * 4, 1); /* x changes between all of them but the last two */
  check_put(&mask, 3 * 4 + 2, 1);
  check_put(&mask, 3 * 4 + 3, 1);
  check_works("block-sparse", kernel_block_sparse(x, y, mask, o, &blocks));
  pl_get_stats(&stats);
  check_that(stats.steps == 5 && stats.copies[0] == 3 && stats.copies[1] == 4 && stats.copies[2] == 4,
             "5 steps; 3 copies of x, 4 of y, 4 of o");
  right(&x, &y, &mask, &o, &blocks);
  check_free();
  check_end("block-sparse: copies");
}

static void errors(void) {
  const struct matmul_blocks blocks = {16, 16, 16, 2, false}, none = {0, 16, 16, 2, false};
  const pl_array x = check_array(PL_BF16, PL_SHAPE(20, 40), 0, 1),
                 y = check_array(PL_BF16, PL_SHAPE(40, 24), 0, 1),
                 o = check_array(PL_F32, PL_SHAPE(20, 24), 0, 0),
                 mask = check_array(PL_INT32, PL_SHAPE(3, 2), 1, 1),
                 small = check_array(PL_INT32, PL_SHAPE(2, 2), 1, 1);

  check_fails(kernel_block_sparse(x, x, mask, o, &blocks), PL_ERROR_SHAPE, "x has 40 columns, y 20 rows");
  check_fails(
      kernel_block_sparse(x, y, small, o, &blocks), PL_ERROR_SHAPE,
      "y has 3 x 2 blocks of 16 x 16; mask must be int32 [3, 2] in HBM and is int32 of rank 2 [2, 2]");
  check_fails(kernel_block_sparse(x, y, mask, o, &none), PL_ERROR_ARGUMENT, "blocks of 0 x 16 x 16");
  check_works("block-sparse after errors", kernel_block_sparse(x, y, mask, o, &blocks));
  right(&x, &y, &mask, &o, &blocks);
  check_free();
  check_end("block-sparse: errors");
}

int main(int argc, char **argv) {
  char text[48];
  check_begin(argc, argv);
  product(0);
  product(8);
  for (int32_t i = 0; i < check_shapes; i++)
    product(check_random(0, 7));
  snprintf(text, sizeof text, "block-sparse: %d random masks", (int)check_shapes + 2);
  check_end(text);
  copies();
  errors();
  return check_status();
}
