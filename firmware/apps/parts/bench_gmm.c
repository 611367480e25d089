/* SPDX-License-Identifier: MIT */
/*
 * Figures of the grouped matrix product: eight experts, few rows first and many rows first; and of a batch of
 * eight products with as many rows each. The whole call counts, with the list of tiles that the kernel makes
 * before pl_call().
 *
 * x is 1 everywhere and y[g][k][n] = (g + n) mod 8, so o[m][n] = K ((g + n) mod 8).
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "gmm.h"

enum { GROUPS = 8, ROWS = 512, DEPTH = 256, COLUMNS = 512, MOST = 160 };

/* o: groups behind one another, or [GROUPS,MOST,COLUMNS]. */
static bool right(const pl_array *o, const int32_t *sizes) {
  const uint16_t *at = pl_hbm_pointer(o);
  for (uint32_t g = 0; g < GROUPS; at += o->rank == 3 ? (MOST - sizes[g]) * COLUMNS : 0, g++)
    for (int32_t m = 0; m < sizes[g]; m++)
      for (uint32_t n = 0; n < COLUMNS; n++)
        if (*at++ != bench_bf16(DEPTH * ((g + n) % 8)))
          return false;
  return true;
}

static void measure(const char *name, const pl_array *x, const pl_array *y, const pl_array *sizes,
                    const pl_array *o) {
  const struct gmm_blocks blocks = {96, 128, DEPTH, 5};
  pl_status (*const call)(pl_array, pl_array, pl_array, pl_array, const struct gmm_blocks *) =
      x->rank == 3 ? kernel_ragged_matmul : kernel_gmm;
  const uint64_t macs = (uint64_t)ROWS * DEPTH * COLUMNS;
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM];
  uint64_t cycles = 0;

  for (int run = 0; run < 2; run++) {
    const uint64_t begin = bench_now();
    if (call(*x, *y, *sizes, *o, &blocks) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  if (!right(o, pl_hbm_pointer(sizes)))
    bench_fail(name, "the result is wrong");
  bench_plan_begin();
  (void)!call(*x, *y, *sizes, *o, &blocks);
  bench_plan_end(name);
  bench_percent(name, "utilisation", macs, cycles * dim * dim);
  bench_cycles(name, "cycles", cycles);
}

void bench_gmm(void) {
  static const int32_t rows[GROUPS] = {8, 8, 16, 32, 64, 96, 128, 160};
  pl_array x, y, sizes, o, batch_x, batch_o;

  if (pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(GROUPS, MOST, DEPTH), &batch_x) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(GROUPS, MOST, COLUMNS), &batch_o) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(GROUPS, DEPTH, COLUMNS), &y) != PL_OK ||
      pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(GROUPS), &sizes) != PL_OK) {
    bench_fail("gmm", pl_error_message());
    return;
  }
  uint16_t *at = pl_hbm_pointer(&batch_x), pattern[16];
  x = batch_x;
  o = batch_o;
  x.rank = o.rank = 2;
  x.shape[0] = o.shape[0] = ROWS;
  x.shape[1] = DEPTH;
  o.shape[1] = COLUMNS;
  for (uint32_t i = 0; i < GROUPS * MOST * DEPTH; i++)
    at[i] = bench_bf16(1);
  for (uint32_t i = 0; i < 16; i++)
    pattern[i] = bench_bf16(i % 8);
  at = pl_hbm_pointer(&y);
  for (uint32_t g = 0; g < GROUPS; g++)
    for (uint32_t i = 0; i < DEPTH * COLUMNS; i++)
      *at++ = pattern[g + i % 8];
  int32_t *size = pl_hbm_pointer(&sizes);
  for (uint32_t descending = 0; descending < 2; descending++) {
    for (uint32_t g = 0; g < GROUPS; g++)
      size[g] = rows[descending ? GROUPS - 1 - g : g];
    measure(descending ? "gmm_8x512x256x512_desc" : "gmm_8x512x256x512", &x, &y, &sizes, &o);
  }
  measure("ragged_matmul_8x160x256x512", &batch_x, &y, &sizes, &batch_o);
  if (pl_free(&batch_x) != PL_OK || pl_free(&y) != PL_OK || pl_free(&sizes) != PL_OK ||
      pl_free(&batch_o) != PL_OK)
    bench_fail("gmm", pl_error_message());
}
