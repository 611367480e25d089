/* SPDX-License-Identifier: MIT */
/*
 * A product with bias, GELU and a bf16 result. bench.py compares it with the same product alone.
 *
 * x is 1 everywhere, y[k][n] = (n mod 8 - 4) / 512 and bias[n] = n mod 4, so every element of a column is
 * GELU(n mod 8 - 4 + n mod 4).
 */
#include "bench.h"
#include "matmul_general.h"
#include "reference.h"

enum { SIZE = 512, BLOCK = 128, PERIOD = 8 };

static bool right(const pl_array *o) {
  const uint16_t *at = pl_hbm_pointer(o);

  for (int32_t n = 0; n < PERIOD; n++) {
    const int32_t want = reference_gelu((n - 4 + n % 4) * REFERENCE_ONE),
                  error = reference_fixed((uint32_t)at[n] << 16) - want,
                  margin = (want < 0 ? -want : want) / 256 + 2; /* bf16 */
    if (error > margin || error < -margin)
      return false;
  }
  for (uint32_t i = PERIOD; i < SIZE * SIZE; i++)
    if (at[i] != at[i % PERIOD])
      return false;
  return true;
}

void bench_fused(void) {
  const char *const name = "matmul_bias_gelu_512";
  pl_stats stats;
  pl_array x, y, bias, o;

  if (pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &x) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &y) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(1, SIZE), &bias) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(SIZE, SIZE), &o) != PL_OK) {
    bench_fail(name, pl_error_message());
    return;
  }
  uint16_t *x_at = pl_hbm_pointer(&x), *y_at = pl_hbm_pointer(&y), pattern[PERIOD];
  uint32_t *bias_at = pl_hbm_pointer(&bias);
  for (uint32_t n = 0; n < PERIOD; n++) { /* 2^-9 is 9 of the exponent less */
    const uint32_t magnitude = n < 4 ? 4 - n : n - 4;
    pattern[n] = (uint16_t)(magnitude == 0 ? 0 : bench_bf16(magnitude) - (9u << 7) + (n < 4 ? 0x8000u : 0));
  }
  for (uint32_t i = 0; i < SIZE * SIZE; i++) {
    x_at[i] = bench_bf16(1);
    y_at[i] = pattern[i % PERIOD];
  }
  for (uint32_t n = 0; n < SIZE; n++)
    bias_at[n] = (uint32_t)bench_bf16(n % 4) << 16;
  const struct matmul_options options = {.blocks = {BLOCK, BLOCK, BLOCK, 2},
                                         .epilogue = {.bias = &bias, .activation = MATMUL_GELU}};
  for (int call = 0; call < 2; call++)
    if (kernel_matmul_general(x, y, o, &options) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
  pl_get_stats(&stats);
  if (!right(&o))
    bench_fail(name, "the result is wrong");
  bench_plan_begin();
  (void)!kernel_matmul_general(x, y, o, &options);
  bench_plan_end(name);
  bench_cycles(name, "cycles", stats.cycles);
  if (pl_free(&x) != PL_OK || pl_free(&y) != PL_OK || pl_free(&bias) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(name, pl_error_message());
}
