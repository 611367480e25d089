/* SPDX-License-Identifier: MIT */
/* Softmax and norms, for the tuner. */
#include "norm.h"
#include "softmax.h"

#include "tune.h"

static pl_array x, scale, shift, result;

static pl_status prepare(pl_dtype dtype, const int32_t *extent, pl_array *o) {
  pl_status status = tune_array(&x, dtype, PL_SHAPE(extent[0], extent[1]));
  if (status == PL_OK)
    status = tune_array(&scale, PL_F32, PL_SHAPE(extent[1]));
  if (status == PL_OK)
    status = tune_array(&shift, PL_F32, PL_SHAPE(extent[1]));
  if (status == PL_OK)
    status = pl_alloc(PL_HBM, dtype, PL_SHAPE(extent[0], extent[1]), &result);
  *o = result;
  return status;
}

static pl_status prepare_f32(const int32_t *extent, pl_array *o) {
  return prepare(PL_F32, extent, o);
}

static pl_status prepare_bf16(const int32_t *extent, pl_array *o) {
  return prepare(PL_BF16, extent, o);
}

static pl_status run_softmax(void) {
  return kernel_softmax(x, result);
}

static pl_status run_layer_norm(void) {
  return kernel_layer_norm(x, scale, shift, result, 1e-5f);
}

static pl_status run_rms_norm(void) {
  return kernel_rms_norm(x, scale, result, 1e-5f);
}

int main(int argc, char **argv) {
  static const struct tune_kernel kernels[] = {
      {"softmax_f32", "ROWSxCOLUMNS", 2, prepare_f32, run_softmax},
      {"softmax_bf16", "ROWSxCOLUMNS", 2, prepare_bf16, run_softmax},
      {"layer_norm_f32", "ROWSxCOLUMNS", 2, prepare_f32, run_layer_norm},
      {"layer_norm_bf16", "ROWSxCOLUMNS", 2, prepare_bf16, run_layer_norm},
      {"rms_norm_f32", "ROWSxCOLUMNS", 2, prepare_f32, run_rms_norm},
      {"rms_norm_bf16", "ROWSxCOLUMNS", 2, prepare_bf16, run_rms_norm},
  };
  return tune_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
