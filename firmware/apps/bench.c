/* SPDX-License-Identifier: MIT */
/*
 * bench: the figures of docs/timings.md that need the kernel runtime. Prints `FIGURE name value unit`
 * lines for tests/bench/bench.py. Every product is computed twice, the second call is the one that counts;
 * its result is checked, so that nothing wrong is ever called fast.
 *
 * x is 1 everywhere and y[k][n] = n mod 8, so o[m][n] = K (n mod 8), exact in every type.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "matmul.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static void fill(const pl_array *x, const pl_array *y) {
  const int32_t columns = y->shape[1];

  for (uint32_t i = 0; i < (uint32_t)(x->shape[0] * x->shape[1]); i++) {
    if (x->dtype == PL_INT8)
      ((int8_t *)pl_hbm_pointer(x))[i] = 1;
    else
      ((uint16_t *)pl_hbm_pointer(x))[i] = 0x3f80;
  }
  for (int32_t k = 0; k < y->shape[0]; k++) {
    for (int32_t n = 0; n < columns; n++) {
      if (y->dtype == PL_INT8)
        ((int8_t *)pl_hbm_pointer(y))[k * columns + n] = (int8_t)(n % 8);
      else
        ((uint16_t *)pl_hbm_pointer(y))[k * columns + n] = bench_bf16((uint32_t)n % 8);
    }
  }
}

static bool right(const pl_array *o, int32_t depth) {
  for (int32_t m = 0; m < o->shape[0]; m++) {
    for (int32_t n = 0; n < o->shape[1]; n++) {
      const uint32_t want = (uint32_t)(depth * (n % 8)), at = (uint32_t)(m * o->shape[1] + n);
      if (o->dtype == PL_INT32 ? ((int32_t *)pl_hbm_pointer(o))[at] != (int32_t)want
                               : ((uint16_t *)pl_hbm_pointer(o))[at] != bench_bf16(want))
        return false;
    }
  }
  return true;
}

static void report(const char *name, const pl_stats *stats, uint64_t macs, uint32_t cold) {
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM];

  bench_percent(name, "utilisation", macs, stats->cycles * dim * dim);
  printf("FIGURE %s.cycles %u cycles\n", name, (unsigned)stats->cycles);
  printf("FIGURE %s.cold_cycles %u cycles\n", name, (unsigned)cold);
}

static void product(const char *name, pl_dtype type, int32_t size, int32_t block, uint8_t buffers) {
  const struct matmul_blocks blocks = {block, block, block, buffers, false};
  pl_array x, y, o;
  pl_stats stats;
  uint32_t cold = 0;

  if (pl_alloc(PL_HBM, type, PL_SHAPE(size, size), &x) != PL_OK ||
      pl_alloc(PL_HBM, type, PL_SHAPE(size, size), &y) != PL_OK ||
      pl_alloc(PL_HBM, type == PL_INT8 ? PL_INT32 : PL_BF16, PL_SHAPE(size, size), &o) != PL_OK) {
    bench_fail(name, pl_error_message());
    return;
  }
  fill(&x, &y);
  for (int call = 0; call < 2; call++) {
    if (kernel_matmul(x, y, o, &blocks) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    pl_get_stats(&stats);
    if (call == 0)
      cold = (uint32_t)stats.cycles;
  }
  bench_plan_begin();
  (void)!kernel_matmul(x, y, o, &blocks);
  bench_plan_end(name);
  if (!right(&o, size))
    bench_fail(name, "the result is wrong");
  else
    report(name, &stats, (uint64_t)size * (uint64_t)size * (uint64_t)size, cold);
  if (pl_free(&x) != PL_OK || pl_free(&y) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(name, pl_error_message());
}

/* Operands and result stay on the chip: one product into ACC. */
static void resident_body(void) {
  pl_dot(pl_output(0), pl_input(0), pl_input(1), PL_OVERWRITE);
}

static void resident(const char *name) {
  enum { SIZE = 128 };
  pl_array x, y, o;
  pl_stats stats;
  uint32_t cold = 0;

  if (pl_alloc(PL_VMEM, PL_BF16, PL_SHAPE(SIZE, SIZE), &x) != PL_OK ||
      pl_alloc(PL_VMEM, PL_BF16, PL_SHAPE(SIZE, SIZE), &y) != PL_OK ||
      pl_alloc(PL_ACC, PL_F32, PL_SHAPE(SIZE, SIZE), &o) != PL_OK) {
    bench_fail(name, pl_error_message());
    return;
  }
  const pl_kernel kernel = {.name = name,
                            .body = resident_body,
                            .in = {PL_WHOLE, PL_WHOLE},
                            .out = {PL_WHOLE},
                            .cost = {.dot = {SIZE, SIZE, SIZE}}};
  for (int call = 0; call < 2; call++) {
    if (pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    pl_get_stats(&stats);
    if (call == 0)
      cold = (uint32_t)stats.cycles;
  }
  report(name, &stats, (uint64_t)SIZE * SIZE * SIZE, cold);
  bench_plan_begin();
  (void)!pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
  bench_plan_end(name);
  if (pl_free(&x) != PL_OK || pl_free(&y) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(name, pl_error_message());
}

/* No compute: 4 MiB through VMEM in blocks of 16 KiB; both directions of HBM at once. */
static void copy_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void copy_pipeline(const char *name) {
  enum { ROWS = 16384, COLUMNS = 64, BLOCK_ROWS = 64 }; /* f32: blocks of 16 KiB */
  pl_array x, o;
  pl_stats stats;

  if (pl_alloc(PL_HBM, PL_F32, PL_SHAPE(ROWS, COLUMNS), &x) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(ROWS, COLUMNS), &o) != PL_OK) {
    bench_fail(name, pl_error_message());
    return;
  }
  uint32_t *in = pl_hbm_pointer(&x), *out = pl_hbm_pointer(&o);
  for (uint32_t i = 0; i < ROWS * COLUMNS; i++) {
    in[i] = i * 0x9e3779b1u & 0xbfffffffu; /* any bits but NaNs and infinities: a copy keeps them */
    out[i] = 0;
  }
  const pl_kernel kernel = {.name = name,
                            .body = copy_body,
                            .grid = PL_GRID(ROWS / BLOCK_ROWS),
                            .in = {PL_BUFFERED(3, copy_map, BLOCK_ROWS, COLUMNS)},
                            .out = {PL_BUFFERED(3, copy_map, BLOCK_ROWS, COLUMNS)}};
  for (int call = 0; call < 2; call++) {
    if (pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
  }
  pl_get_stats(&stats);
  bench_plan_begin();
  (void)!pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  bench_plan_end(name);
  if (memcmp(in, out, ROWS * COLUMNS * sizeof *in) != 0)
    bench_fail(name, "the result is wrong");
  const uint64_t whole = stats.cycles * boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
  bench_percent(name, "bandwidth", ROWS * COLUMNS * sizeof *in, whole);
  printf("FIGURE %s.cycles %u cycles\n", name, (unsigned)stats.cycles);
  if (pl_free(&x) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(name, pl_error_message());
}

int main(void) {
  product("matmul_bf16_512_b128", PL_BF16, 512, 128, 2);
  product("matmul_int8_512_b128", PL_INT8, 512, 128, 2);
  product("matmul_bf16_512_b64", PL_BF16, 512, 64, 3);
  product("matmul_bf16_256_b128", PL_BF16, 256, 128, 2);
  product("matmul_bf16_256_b64", PL_BF16, 256, 64, 3);
  resident("matmul_bf16_128_resident");
  copy_pipeline("copy_pipeline_3buf");
  bench_gmm();
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
