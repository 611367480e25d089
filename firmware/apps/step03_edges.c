/* SPDX-License-Identifier: MIT */
/*
 * step03_edges: guide, step 3: two-dimensional blocks that do not divide the array.
 *
 * x is 100 x 300 and negative everywhere. The blocks are 32 x 128, so that the last ones stick out; most
 * gets the largest element of every block.
 */
#include "step.h"
#include "tpu_regs.h"

enum { M = 100, N = 300, BM = 32, BN = 128 };

/* [kernel] */
static void body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
  pl_reduce_max(pl_output(1), pl_input(0), PL_OVER_ALL);
}

static void block(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static const pl_kernel kernel = {
    .name = "edges",
    .body = body,
    .grid = PL_GRID((M + BM - 1) / BM, (N + BN - 1) / BN), /* 4 x 3 */
    .dimension_semantics = {PL_PARALLEL, PL_PARALLEL},
    .in = {PL_SPEC(PL_DIMS(BM, BN), .map = block, .pad_value = (uint32_t)INT32_MIN)},
    .out = {PL_BLOCK(block, BM, BN), PL_BLOCK(block, 1, 1)},
};
/* [end] */

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(M, N));
  pl_array o = step_array(PL_INT32, PL_SHAPE(M, N)), most = step_array(PL_INT32, PL_SHAPE(4, 3));
  int32_t *px = pl_hbm_pointer(&x);
  const int32_t *po = pl_hbm_pointer(&o), *pm = pl_hbm_pointer(&most);

  for (int32_t i = 0; i < M * N; i++)
    px[i] = -1 - (i * 7919) % 100003;
  step_must(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o, most)));

  int32_t want[4][3];
  for (int32_t i = 0; i < 12; i++)
    want[i / 3][i % 3] = INT32_MIN;
  for (int32_t i = 0; i < M; i++)
    for (int32_t j = 0; j < N; j++) {
      const int32_t v = px[i * N + j];
      step_equal("element", i * N + j, po[i * N + j], 2 * v);
      if (v > want[i / BM][j / BN])
        want[i / BM][j / BN] = v;
    }
  for (int32_t i = 0; i < 12; i++)
    step_equal("block", i, pm[i], want[i / 3][i % 3]);

  const pl_stats stats = step_stats();
  uint64_t bytes = 0;
  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA3; q++)
    bytes += stats.queue[q].bytes;
  printf("%u blocks cover %d x %d; the corner block holds %d x %d elements\n", (unsigned)stats.steps, M, N,
         M % BM, N % BN);
  for (int32_t i = 0; i < 4; i++)
    printf("largest of each block: %6d %6d %6d\n", (int)pm[3 * i], (int)pm[3 * i + 1], (int)pm[3 * i + 2]);
  printf("bytes written: %d to VMEM with the fill, %d back without\n", 12 * BM * BN * 4, M * N * 4 + 12 * 4);
  step_equal("bytes written by DMA", 0, (int32_t)bytes, 12 * BM * BN * 4 + M * N * 4 + 12 * 4);
  return BOOT_EXIT_OK;
}
