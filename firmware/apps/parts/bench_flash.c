/* SPDX-License-Identifier: MIT */
/*
 * Figures of flash attention: one head of 1024 queries and 1024 keys, 128 and 64 columns. The whole call
 * counts, with what the kernel does before pl_call(). mfu: of the multiply-accumulates that are not skipped
 * (kernel_flash_macs); useful: of those that the definition needs, which for causal attention are the ones on
 * and below the diagonal.
 *
 * q has one 1 in each row, k[c][j] = c mod 4, and the scale is ln 2: key c has the weight 2^(c mod 4) for all
 * queries. v[c][j] = (c + j) mod 4.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "flash.h"

enum { ROWS = 1024, FRACTION = 14 };

/* What a row that attends to n keys has in column j, in units of 2^-FRACTION. */
static int32_t mean(int32_t n, int32_t j) {
  int32_t sum = 0, total = 0;
  for (int32_t c = 0; c < 4; c++) {
    const int32_t weight = (n / 4 + (c < n % 4)) << c;
    total += weight;
    sum += weight * ((c + j) % 4);
  }
  return (sum << FRACTION) / total;
}

static bool right(const pl_array *o, bool causal) {
  const uint16_t *at = pl_hbm_pointer(o);
  for (int32_t r = 0; r < ROWS; r++) {
    int32_t want[4];
    for (int32_t j = 0; j < 4; j++)
      want[j] = mean(causal ? r + 1 : ROWS, j);
    for (int32_t j = 0; j < o->shape[2]; j++, at++) {
      const int32_t shift = (*at >> 7) - 127 - 7 + FRACTION, digits = (*at & 0x7f) | 0x80;
      const int32_t value = shift < -7 ? 0 : shift < 0 ? digits >> -shift : digits << (shift & 15);
      const int32_t off = value - want[j % 4];
      if ((off < 0 ? -off : off) > (want[j % 4] >> 8) + 2) /* rounding to bf16 */
        return false;
    }
  }
  return true;
}

static void measure(const char *name, const pl_array *q, const pl_array *k, const pl_array *v,
                    const pl_array *o, bool causal) {
  const struct flash_options options = {.causal = causal, .scale = 0.693147180559945309f};
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM];
  const uint64_t useful = (uint64_t)ROWS * (causal ? ROWS + 1 : 2 * ROWS) * (uint32_t)q->shape[2];
  uint64_t cycles = 0;

  for (int call = 0; call < 2; call++) {
    const uint64_t begin = bench_now();
    if (kernel_flash(*q, *k, *v, *o, &options) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  bench_plan_begin();
  (void)!kernel_flash(*q, *k, *v, *o, &options);
  bench_plan_end(name);
  if (!right(o, causal))
    bench_fail(name, "the result is wrong");
  bench_percent(name, "mfu", kernel_flash_macs(*q, *k, &options), cycles * dim * dim);
  if (causal)
    bench_percent(name, "useful", useful, cycles * dim * dim);
  bench_cycles(name, "cycles", cycles);
}

static void head(int32_t columns, const char *plain, const char *causal) {
  pl_array q, k, v, o;

  if (pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(1, ROWS, columns), &q) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(1, ROWS, columns), &k) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(1, ROWS, columns), &v) != PL_OK ||
      pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(1, ROWS, columns), &o) != PL_OK) {
    bench_fail(plain, pl_error_message());
    return;
  }
  uint16_t *const q_at = pl_hbm_pointer(&q), *const k_at = pl_hbm_pointer(&k),
                  *const v_at = pl_hbm_pointer(&v);
  for (int32_t r = 0; r < ROWS; r++)
    for (int32_t c = 0; c < columns; c++) {
      q_at[r * columns + c] = bench_bf16(c == r % columns);
      k_at[r * columns + c] = bench_bf16((uint32_t)r % 4);
      v_at[r * columns + c] = bench_bf16((uint32_t)(r + c) % 4);
    }
  measure(plain, &q, &k, &v, &o, false);
  measure(causal, &q, &k, &v, &o, true);
  if (pl_free(&q) != PL_OK || pl_free(&k) != PL_OK || pl_free(&v) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(plain, pl_error_message());
}

void bench_flash(void) {
  head(128, "flash_1024_d128", "flash_1024_d128_causal");
  head(64, "flash_1024_d64", "flash_1024_d64_causal");
}
