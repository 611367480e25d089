/* SPDX-License-Identifier: MIT */
/*
 * step05_matmul: guide, step 5: the matrix unit, accumulators, and what buffers are good for.
 */
#include "device.h"
#include "step.h"

enum { M = 128, N = 128, K = 256, B = 64 };

/* [kernel] */
static void body(void) {
  pl_ref x = pl_input(0), y = pl_input(1), o = pl_output(0), acc = pl_scratch(0);

  pl_dot(acc, x, y, pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(o, acc);
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[2];
}
static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2];
  b[1].start = g->id[1];
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static pl_status matmul(pl_array x, pl_array y, pl_array o, uint8_t buffers) {
  const pl_kernel kernel = {
      .name = "matmul",
      .body = body,
      .grid = PL_GRID(M / B, N / B, K / B),
      .dimension_semantics = {PL_PARALLEL, PL_PARALLEL, PL_ARBITRARY},
      .in = {PL_BUFFERED(buffers, x_map, B, B), PL_BUFFERED(buffers, y_map, B, B)},
      .out = {PL_BUFFERED(buffers, o_map, B, B)},
      .scratch = {PL_ACC(PL_F32, B, B)},
  };
  return pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}
/* [end] */

/* Small whole numbers: all products and sums are exact, in any order. */
static int32_t x_value(int32_t i, int32_t k) {
  return (i + 3 * k) % 7 - 3;
}
static int32_t y_value(int32_t k, int32_t j) {
  return (5 * k + j) % 9 - 4;
}

int main(void) {
  pl_array x = step_array(PL_BF16, PL_SHAPE(M, K)), y = step_array(PL_BF16, PL_SHAPE(K, N));
  pl_array o = step_array(PL_F32, PL_SHAPE(M, N));
  uint16_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y);
  const int32_t *po = pl_hbm_pointer(&o);
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM], least = M * N * K / (dim * dim);

  for (int32_t i = 0; i < M * K; i++)
    px[i] = step_bf16(x_value(i / K, i % K));
  for (int32_t i = 0; i < K * N; i++)
    py[i] = step_bf16(y_value(i / N, i % N));
  for (uint8_t buffers = 1; buffers <= 3; buffers++) {
    step_must(matmul(x, y, o, buffers));
    step_must(matmul(x, y, o, buffers)); /* warm: the plan is there */
    const pl_stats stats = step_stats();
    const uint32_t cycles = (uint32_t)stats.cycles, percent = (100 * least + cycles / 2) / cycles;
    printf("%u buffer%s %u cycles, %u %% of the array's peak\n", buffers,
           buffers == 1 ? ": " : "s:", (unsigned)cycles, (unsigned)percent);
  }
  for (int32_t i = 0; i < M; i++)
    for (int32_t j = 0; j < N; j++) {
      int32_t want = 0;
      for (int32_t k = 0; k < K; k++)
        want += x_value(i, k) * y_value(k, j);
      step_equal("element", i * N + j, po[i * N + j], step_f32(want));
    }
  printf("%d elements right\n", M * N);
  return BOOT_EXIT_OK;
}
