/* SPDX-License-Identifier: MIT */
/*
 * Orders of the loops, where they matter: blocks of 16 rows, for which y is fetched again and again or stays.
 * The product with a matrix of which every other block is zero, a batch of products, and one of f32 operands
 * in six passes.
 *
 * x is 1 everywhere and y[k][n] = n mod 8, so o[m][n] is the number of k that count x (n mod 8).
 */
#include "bench.h"
#include "block_sparse.h"
#include "boot.h"
#include "device.h"
#include "matmul_general.h"

#include <stdio.h>

enum { SIZE = 512, THIN = 64, BLOCK = 128, DEPTH = 256, BATCH = 4 };

static struct { pl_array x, y, o, mask, x32, y32; } a;

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

/* f32 operands in six passes; utilisation counts all of them. */
static pl_status precise(const void *options) {
  pl_array o = a.o;
  o.shape[0] = BLOCK;
  return kernel_matmul_general(a.x32, a.y32, o, options);
}

/* Four products of 128 x 128 x 512: x and y are the same numbers whatever their shape. */
static pl_status batched(const void *options) {
  pl_array x = a.x, y = a.y, o = a.o;
  x.rank = y.rank = o.rank = 3;
  x.shape[0] = y.shape[0] = o.shape[0] = BATCH;
  x.shape[1] = o.shape[1] = o.shape[2] = y.shape[2] = BLOCK;
  x.shape[2] = y.shape[1] = SIZE;
  x.pitch = SIZE * 2;
  y.pitch = o.pitch = BLOCK * 2;
  return kernel_matmul_general(x, y, o, options);
}

static pl_status sparse(const void *blocks) {
  return kernel_block_sparse(a.x, a.y, a.mask, a.o, blocks);
}

static void measure(const char *name, pl_status (*call)(const void *), const void *how, int32_t rows,
                    uint32_t depth, uint32_t passes) {
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
  bench_percent(name, "utilisation", (uint64_t)rows * SIZE * depth * passes, cycles * dim * dim);
  bench_cycles(name, "cycles", cycles);
  printf("FIGURE %s.moved %u bytes\n", name, (unsigned)bytes);
}

void bench_orders(void) {
  static const struct matmul_options mnk = {.blocks = {.m = 16, .n = 128, .k = 128, .buffers = 3}},
                                     nmk = {.blocks = {.m = 16, .n = 128, .k = SIZE, .lookahead = true},
                                            .order = MATMUL_NMK};
  static const struct matmul_options blocks = {.blocks = {.m = 64, .n = 64, .k = 128, .buffers = 3}};
  static const struct matmul_options six = {.precision = PL_PRECISION_HIGHEST};
  static const struct matmul_blocks half = {.m = BLOCK, .n = BLOCK, .k = BLOCK, .buffers = 2};

  if (pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.x) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.y) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &a.o) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(BLOCK, DEPTH), &a.x32) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(DEPTH, SIZE), &a.y32) != PL_OK ||
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
  uint32_t *const x32 = pl_hbm_pointer(&a.x32), *const y32 = pl_hbm_pointer(&a.y32);
  for (uint32_t i = 0; i < BLOCK * DEPTH; i++)
    x32[i] = (uint32_t)pattern[1] << 16;
  for (uint32_t i = 0; i < DEPTH * SIZE; i++)
    y32[i] = (uint32_t)pattern[i % 8] << 16;
  for (uint32_t i = 0; i < SIZE / BLOCK * (SIZE / BLOCK); i++)
    mask[i] = (i + i / (SIZE / BLOCK)) % 2 == 0;
  measure("matmul_64x512x512_m16_mnk", ordered, &mnk, THIN, SIZE, 1);
  measure("matmul_64x512x512_m16_nmk", ordered, &nmk, THIN, SIZE, 1);
  measure("matmul_sparse_half_512_b128", sparse, &half, SIZE, SIZE / 2, 1);
  measure("matmul_batch_4x128x128x512", batched, &blocks, BLOCK, SIZE, 1);
  measure("matmul_f32_128x512x256_highest", precise, &six, BLOCK, DEPTH, 6);
  if (pl_free(&a.x32) != PL_OK || pl_free(&a.y32) != PL_OK || pl_free(&a.x) != PL_OK ||
      pl_free(&a.y) != PL_OK || pl_free(&a.o) != PL_OK || pl_free(&a.mask) != PL_OK)
    bench_fail("matmul orders", pl_error_message());
}
