/* SPDX-License-Identifier: MIT */
/* Softmax of rows as vector functions, and the cycles it takes a tile of 8 rows and 128 columns. */
#include "vector_fn_float.h"
#include "device.h"

static void run(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {
      .name = name,
      .body = body,
      .scratch = {PL_VMEM(PL_F32, ROWS, 1), PL_VMEM(PL_BF16, ROWS, COLUMNS), PL_ACC(PL_F32, ROWS, COLUMNS)}};
  call(&kernel);
}
/* Stores a row's weights, not yet divided by their sum, which it returns. */
static pl_v weights(void) {
  pl_v most = pl_vbits_float(pl_vconst_int((int32_t)0xff800000)), sum = pl_vzero(), scale = pl_vscalar(0);
  PL_FOR_LANES(&most) most = pl_vmax(most, pl_vload_fill(PL_REF(0), PL_VFILL_MIN));
  pl_v shift = pl_vneg(pl_vmul(pl_vmax_lanes(most), scale));
  PL_FOR_LANES(&sum) {
    pl_v p = pl_vexp2(pl_vfma(pl_vload(PL_REF(0)), scale, shift));
    sum = pl_vadd(sum, p);
    pl_vstore(PL_REF(1), p);
  }
  return pl_vsum_lanes(sum);
}
/* Scores in ACC, weights as bf16; the scale and log2 e in one factor. */
PL_VECTOR_FN(softmax, 2, 1) {
  pl_v part = pl_vrecip(weights());
  PL_FOR_LANES() pl_vstore(PL_REF(1), pl_vmul(pl_vload(PL_REF(1)), part));
}
/* What flash attention does with a tile: no third pass. */
PL_VECTOR_FN(softmax_tile, 3, 1) {
  pl_vstore(PL_REF(2), weights());
}
static void softmax_body(void) {
  pl_vrun(softmax, PL_REFS(pl_input(0), pl_output(0)), PL_SCALARS(pl_float(1.44269504f)));
}
enum { TIMES = 16 };
static int times;
static void cycles_body(void) {
  pl_copy(pl_scratch(2), pl_input(0));
  for (int i = 0; i < times; i++)
    pl_vrun(softmax_tile, PL_REFS(pl_scratch(2), pl_scratch(1), pl_scratch(0)), PL_SCALARS(pl_float(0.125f)));
}
static uint32_t vector_cycles(int n) {
  pl_stats stats;
  times = n;
  run("cycles", cycles_body);
  pl_get_stats(&stats);
  return (uint32_t)stats.queue[TPU_QUEUE_VPU].busy;
}

int main(void) {
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES];
  arrays();

  for (int i = 0; i < ROWS * COLUMNS; i++)
    *x_of(i) = (float)(i * 37 % 101) * 0.1f;
  run("softmax", softmax_body);
  for (int r = 0; r < ROWS; r++) {
    float sum = 0;
    for (int c = 0; c < COLUMNS; c++)
      sum += *o_of(r * COLUMNS + c);
    check("a row of softmax adds up to 1", r, near(sum, 1, 2e-6f));
  }
  const uint32_t cycles = (vector_cycles(2 * TIMES) - vector_cycles(TIMES)) / (TIMES * ROWS / 8);
  printf("FIGURE softmax.cycles_8x128 %u cycles\n", (unsigned)cycles);
  check("softmax of 8 rows of 128 columns takes 240 cycles at most", (int)cycles,
        lanes != 16 || cycles <= 240);
  return verdict("softmax as a vector function");
}
