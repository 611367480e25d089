/* SPDX-License-Identifier: MIT */
/*
 * Orders of the loops, where they matter: blocks of 16 rows, for which y is fetched again and again or stays.
 * And the product with a matrix of which every other block is zero.
 *
 * x is 1 everywhere and y[k][n] = n mod 8, so o[m][n] is the number of k that count x (n mod 8).
 */
#include "bench.h"
#include "block_sparse.h"
#include "boot.h"
#include "device.h"
#include "matmul_general.h"

#include <stdio.h>

enum { SIZE = 512, THIN = 64, BLOCK = 128 };

static struct { pl_array x, y, o, mask; } a;

static bool right(int32_t rows, uint32_t depth) {
  const uint16_t *at = pl_hbm_pointer(&a.o);
  for (int32_t m = 0; m < rows; m++)
    for (uint32_t n = 0; n < SIZE; n++)
      if (*at++ != bench_bf16(depth * (n % 8)))
        return false;
  return true;
}

static pl_status ordered(const void *options) {
  pl_array x = a.x, o = a.o;
  x.shape[0] = o.shape[0] = THIN;
  return kernel_matmul_general(x, a.y, o, options);
}

static pl_status sparse(const void *blocks) {
  return kernel_block_sparse(a.x, a.y, a.mask, a.o, blocks);
}

static void measure(const char *name, pl_status (*call)(const void *), const void *how, int32_t rows,
                    uint32_t depth) {
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM];
  uint64_t cycles = 0, bytes = 0;
  pl_stats stats;

  for (int run = 0; run < 2; run++) {
    const uint64_t begin = bench_now();
    if (call(how) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  pl_get_stats(&stats);
  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA3; q++)
    bytes += stats.queue[q].bytes;
  if (!right(rows, depth))
    bench_fail(name, "the result is wrong");
  bench_plan_begin();
  (void)!call(how);
  bench_plan_end(name);
  bench_percent(name, "utilisation", (uint64_t)rows * SIZE * depth, cycles * dim * dim);
  bench_cycles(name, "cycles", cycles);
  printf("FIGURE %s.moved %u bytes\n", name, (unsigned)bytes);
}

void bench_orders(void) {
  static const struct matmul_options mnk = {.blocks = {.m = 16, .n = 128, .k = 128, .buffers = 3}},
                                     nmk = {.blocks = {.m = 16, .n = 128, .k = SIZE, .lookahead = true},
                                            .order = MATMUL_NMK};
  static const struct matmul_blocks half = {.m = BLOCK, .n = BLOCK, .k = BLOCK, .buffers = 2};

  if (pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.x) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.y) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.o) != PL_OK ||
      pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(SIZE / BLOCK, SIZE / BLOCK), &a.mask) != PL_OK) {
    bench_fail("matmul orders", pl_error_message());
    return;
  }
  uint16_t *x = pl_hbm_pointer(&a.x), *y = pl_hbm_pointer(&a.y), pattern[8];
  int32_t *mask = pl_hbm_pointer(&a.mask);
  for (uint32_t n = 0; n < 8; n++)
    pattern[n] = bench_bf16(n);
  for (uint32_t i = 0; i < SIZE * SIZE; i++) {
    x[i] = pattern[1];
    y[i] = pattern[i % 8];
  }
  for (uint32_t i = 0; i < SIZE / BLOCK * (SIZE / BLOCK); i++)
    mask[i] = (i + i / (SIZE / BLOCK)) % 2 == 0;
  measure("matmul_64x512x512_m16_mnk", ordered, &mnk, THIN, SIZE);
  measure("matmul_64x512x512_m16_nmk", ordered, &nmk, THIN, SIZE);
  measure("matmul_sparse_half_512_b128", sparse, &half, SIZE, SIZE / 2);
  if (pl_free(&a.x) != PL_OK || pl_free(&a.y) != PL_OK || pl_free(&a.o) != PL_OK || pl_free(&a.mask) != PL_OK)
    bench_fail("matmul orders", pl_error_message());
}
