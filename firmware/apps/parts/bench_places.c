/* SPDX-License-Identifier: MIT */
/*
 * Figures of the kernels that move and choose: rotary embedding, pooling, top-k. Bounds: the port's time for
 * each direction, and the vector ALU's for the operations that the kernel's header counts.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "pool.h"
#include "rotary.h"
#include "topk.h"

static pl_array array(pl_dtype dtype, pl_shape shape) {
  pl_array a = {0};
  if (pl_alloc(PL_HBM, dtype, shape, &a) != PL_OK)
    bench_fail("places", pl_error_message());
  return a;
}

static uint32_t elements(const pl_array *a) {
  return pl_array_bytes(a) / pl_dtype_bytes(a->dtype);
}

/* Every element of a bf16 array is a number by its place. */
static void fill(const pl_array *a, uint32_t first, uint32_t cycle) {
  uint16_t *at = pl_hbm_pointer(a);
  for (uint32_t i = 0; i < elements(a); i++)
    at[i] = bench_bf16(first + i % cycle);
}

static void report(const char *name, bool works, bool right, const pl_array *x, const pl_array *o,
                   uint32_t alu) {
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES],
                 port = boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
  uint64_t bound = pl_array_bytes(x) / port;
  pl_stats stats;

  if (!works || !right) {
    bench_fail(name, works ? "the result is wrong" : pl_error_message());
    return;
  }
  pl_get_stats(&stats);
  bound = pl_array_bytes(o) / port > bound ? pl_array_bytes(o) / port : bound;
  bound = alu / lanes > bound ? alu / lanes : bound;
  bench_percent(name, "bound", bound, stats.cycles);
  bench_cycles(name, "cycles", stats.cycles);
}

/* Points (1, 1) turned by cos 2 and sin 1: (1, 3). */
static void rotary(const char *name) {
  enum { HEADS = 8, POSITIONS = 512, SIZE = 128 };
  const pl_array x = array(PL_BF16, PL_SHAPE(HEADS, POSITIONS, SIZE)),
                 o = array(PL_BF16, PL_SHAPE(HEADS, POSITIONS, SIZE)),
                 cosine = array(PL_BF16, PL_SHAPE(POSITIONS, SIZE / 2)),
                 sine = array(PL_BF16, PL_SHAPE(POSITIONS, SIZE / 2));
  bool works = true, right = true;

  fill(&x, 1, 1);
  fill(&cosine, 2, 1);
  fill(&sine, 1, 1);
  for (int call = 0; call < 2 && works; call++)
    works = kernel_rotary(x, cosine, sine, o, 0) == PL_OK;
  const uint16_t *at = pl_hbm_pointer(&o);
  for (uint32_t i = 0; i < elements(&o); i++)
    right = right && at[i] == bench_bf16(i % SIZE < SIZE / 2 ? 1 : 3);
  report(name, works, right, &x, &o, 3 * elements(&x));
  if (pl_free(&x) != PL_OK || pl_free(&o) != PL_OK || pl_free(&cosine) != PL_OK || pl_free(&sine) != PL_OK)
    bench_fail(name, pl_error_message());
}

/* Elements rise along the columns of the images, modulo 128: the window's last column is the largest. */
static void pool(const char *name) {
  enum { SIZE = 112, CHANNELS = 64, RESULT = 56 };
  const struct pool pool = {POOL_MAX, {3, 3}, {2, 2}, {1, 1}, 0};
  const pl_array x = array(PL_BF16, PL_SHAPE(1, SIZE, SIZE, CHANNELS)),
                 o = array(PL_BF16, PL_SHAPE(1, RESULT, RESULT, CHANNELS));
  uint16_t *at = pl_hbm_pointer(&x);
  bool works = true, right = true;

  for (uint32_t i = 0; i < elements(&x); i++)
    at[i] = bench_bf16(i / CHANNELS % SIZE + i % 8);
  for (int call = 0; call < 2 && works; call++)
    works = kernel_pool(x, o, &pool) == PL_OK;
  at = pl_hbm_pointer(&o);
  for (uint32_t i = 0; i < elements(&o); i++)
    right = right && at[i] == bench_bf16(2 * (i / CHANNELS % RESULT) + 1 + i % 8);
  /* Two operations on each row that a window reaches, two on each pixel of the result. */
  report(name, works, right, &x, &o, (2 * RESULT * SIZE + 2 * RESULT * RESULT) * CHANNELS);
  if (pl_free(&x) != PL_OK || pl_free(&o) != PL_OK)
    bench_fail(name, pl_error_message());
}

/* Each row has the numbers 0 to 1023, in another order; as bits of f32 they are subnormals, which compare all
 * the same. */
static void topk(const char *name) {
  enum { ROWS = 512, COLUMNS = 1024, K = 8, STEP = 37 };
  const pl_array x = array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)), values = array(PL_INT32, PL_SHAPE(ROWS, K)),
                 indices = array(PL_INT32, PL_SHAPE(ROWS, K)),
                 keys = {.address = x.address,
                         .pitch = x.pitch,
                         .shape = {ROWS, COLUMNS},
                         .rank = 2,
                         .dtype = PL_F32,
                         .space = PL_HBM};
  pl_array results = values;
  int32_t *at = pl_hbm_pointer(&x);
  bool works = true, right = true;

  results.dtype = PL_F32;
  for (uint32_t r = 0; r < ROWS; r++)
    for (uint32_t c = 0; c < COLUMNS; c++)
      *at++ = (int32_t)((c * STEP + r) % COLUMNS);
  for (int call = 0; call < 2 && works; call++)
    works = kernel_topk(keys, results, indices, 0) == PL_OK;
  const int32_t *value = pl_hbm_pointer(&values), *index = pl_hbm_pointer(&indices);
  for (int32_t i = 0; i < ROWS * K; i++)
    right = right && value[i] == COLUMNS - 1 - i % K && (index[i] * STEP + i / K) % COLUMNS == value[i];
  report(name, works, right, &x, &values, ROWS * COLUMNS * (8 * K + 5));
  if (pl_free(&x) != PL_OK || pl_free(&values) != PL_OK || pl_free(&indices) != PL_OK)
    bench_fail(name, pl_error_message());
}

void bench_places(void) {
  rotary("rotary_8x512x128_bf16");
  pool("maxpool_112x112x64_bf16");
  topk("topk_512x1024_k8");
}
