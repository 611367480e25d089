/* SPDX-License-Identifier: MIT */
/* Flash attention, for the tuner: keys and values have as many heads as queries. */
#include "flash.h"

#include "tune.h"

static pl_array q, k, v, result;

static pl_status prepare(const int32_t *extent, pl_array *o) {
  pl_status status = tune_array(&q, PL_BF16, PL_SHAPE(extent[0], extent[1], extent[3]));
  if (status == PL_OK)
    status = tune_array(&k, PL_BF16, PL_SHAPE(extent[0], extent[2], extent[3]));
  if (status == PL_OK)
    status = tune_array(&v, PL_BF16, PL_SHAPE(extent[0], extent[2], extent[3]));
  if (status == PL_OK)
    status = pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(extent[0], extent[1], extent[3]), &result);
  *o = result;
  return status;
}

static pl_status run(void) {
  return kernel_flash(q, k, v, result, &(struct flash_options){0});
}

static pl_status run_causal(void) {
  return kernel_flash(q, k, v, result, &(struct flash_options){.causal = true});
}

int main(int argc, char **argv) {
  static const struct tune_kernel kernels[] = {
      {"flash_bf16", "HxMQxMKxD", 4, prepare, run},
      {"flash_causal_bf16", "HxMQxMKxD", 4, prepare, run_causal},
  };
  return tune_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
