/* SPDX-License-Identifier: MIT */
/*
 * bench_rows: the figures of docs/timings.md of the kernels that work on rows: softmax, layer norm and RMS
 * norm of 512 x 1024 elements. bound: the longest of what the port takes in each direction and the vector ALU
 * takes for its operations, against the whole call, with what the kernel does around pl_call().
 *
 * Element c of row r is (r + c) mod 4 (times ln 2 for softmax), scale and shift are 2 and 1, so that the
 * results have four values.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "norm.h"
#include "softmax.h"

#include <stdio.h>

enum { ROWS = 512, COLUMNS = 1024, FRACTION = 20 };

static pl_array x, o, scale, shift;

static pl_status run_softmax(void) {
  return kernel_softmax(x, o);
}
static pl_status run_layer_norm(void) {
  return kernel_layer_norm(x, scale, shift, o, 1e-5f);
}
static pl_status run_rms_norm(void) {
  return kernel_rms_norm(x, scale, o, 1e-5f);
}

static const struct rows_figure {
  const char *name;
  pl_status (*run)(void);
  uint32_t operations; /* of the vector ALU for an element */
  uint32_t value[4];   /* of x, as bits of an f32 */
  int32_t want[4];     /* in 2^-FRACTION */
} figures[] = {
    {"softmax_512x1024", run_softmax, 4, {0, 0x3f317218, 0x3fb17218, 0x40051592}, {273, 546, 1092, 2185}},
    {"layernorm_512x1024",
     run_layer_norm,
     5,
     {0, 0x3f800000, 0x40000000, 0x40400000},
     {-1765037, 110705, 1986447, 3862189}},
    {"rmsnorm_512x1024",
     run_rms_norm,
     3,
     {0, 0x3f800000, 0x40000000, 0x40400000},
     {0, 1120973, 2241947, 3362920}},
};

static void put(const pl_array *a, uint32_t i, uint32_t bits) {
  if (a->dtype == PL_F32)
    ((uint32_t *)pl_hbm_pointer(a))[i] = bits;
  else
    ((uint16_t *)pl_hbm_pointer(a))[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* An element in 2^-FRACTION. */
static int32_t fixed(const pl_array *a, uint32_t i) {
  const uint32_t bits = a->dtype == PL_F32 ? ((const uint32_t *)pl_hbm_pointer(a))[i]
                                           : (uint32_t)((const uint16_t *)pl_hbm_pointer(a))[i] << 16;
  const int32_t down = 150 - FRACTION - (int32_t)(bits >> 23 & 0xff), digits = (bits & 0x7fffff) | 0x800000;
  const int32_t value = down > 31 || down < -7 ? 0 : down >= 0 ? digits >> down : digits << -down;
  return bits >> 31 ? -value : value;
}

/* As far as rounding to bf16 allows: of x, which e^x makes three times as large, and of the result. */
static bool right(const struct rows_figure *f) {
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t c = 0; c < COLUMNS; c++) {
      const int32_t want = f->want[(r + c) % 4], off = fixed(&o, r * COLUMNS + c) - want;
      if ((off < 0 ? -off : off) > (want < 0 ? -want : want) / (x.dtype == PL_F32 ? 4096 : 64) + 16)
        return false;
    }
  return true;
}

static void measure(const struct rows_figure *f) {
  const uint32_t elements = ROWS * COLUMNS, bytes = elements * pl_dtype_bytes((pl_dtype)x.dtype),
                 port = bytes / boot_params.value[TPU_PARAM_HBM_PORT_BYTES],
                 alu = f->operations * elements / boot_params.value[TPU_PARAM_LANES];
  char name[40];
  uint64_t cycles = 0;

  snprintf(name, sizeof name, "%s_%s", f->name, pl_dtype_name((pl_dtype)x.dtype));
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t c = 0; c < COLUMNS; c++)
      put(&x, r * COLUMNS + c, f->value[(r + c) % 4]);
  for (int call = 0; call < 2; call++) {
    const uint64_t begin = bench_now();
    if (f->run() != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  if (!right(f))
    bench_fail(name, "the result is wrong");
  bench_plan_begin();
  (void)!f->run();
  bench_plan_end(name);
  bench_percent(name, "bound", port > alu ? port : alu, cycles);
  bench_cycles(name, "cycles", cycles);
}

int main(void) {
  for (unsigned i = 0; i < sizeof figures / sizeof figures[0]; i++)
    for (unsigned k = 0; k < 2; k++) {
      const pl_dtype type = k == 0 ? PL_F32 : PL_BF16;
      if (pl_alloc(PL_HBM, type, PL_SHAPE(ROWS, COLUMNS), &x) != PL_OK ||
          pl_alloc(PL_HBM, type, PL_SHAPE(ROWS, COLUMNS), &o) != PL_OK ||
          pl_alloc(PL_HBM, PL_F32, PL_SHAPE(COLUMNS), &scale) != PL_OK ||
          pl_alloc(PL_HBM, PL_F32, PL_SHAPE(COLUMNS), &shift) != PL_OK) {
        bench_fail("rows", pl_error_message());
        return BOOT_EXIT_FAILURE;
      }
      for (uint32_t c = 0; c < COLUMNS; c++) {
        put(&scale, c, 0x40000000);
        put(&shift, c, 0x3f800000);
      }
      measure(&figures[i]);
      if (pl_free(&x) != PL_OK || pl_free(&o) != PL_OK || pl_free(&scale) != PL_OK ||
          pl_free(&shift) != PL_OK)
        bench_fail("rows", pl_error_message());
    }
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
