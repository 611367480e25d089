/* SPDX-License-Identifier: MIT */
/* Matrix products, for the tuner. */
#include "matmul.h"
#include "matmul_general.h"

#include "tune.h"

static pl_array operand[2], result;

static pl_dtype sum_of(pl_dtype dtype) {
  return dtype == PL_INT8 ? PL_INT32 : PL_BF16;
}

static pl_status matmul(pl_dtype dtype, const int32_t *extent) {
  pl_status status = tune_array(&operand[0], dtype, PL_SHAPE(extent[0], extent[2]));
  if (status == PL_OK)
    status = tune_array(&operand[1], dtype, PL_SHAPE(extent[2], extent[1]));
  if (status == PL_OK)
    status = pl_alloc(PL_HBM, sum_of(dtype), PL_SHAPE(extent[0], extent[1]), &result);
  return status;
}

static pl_status matmul_bf16(const int32_t *extent, pl_array *o) {
  const pl_status status = matmul(PL_BF16, extent);
  *o = result;
  return status;
}

static pl_status matmul_int8(const int32_t *extent, pl_array *o) {
  const pl_status status = matmul(PL_INT8, extent);
  *o = result;
  return status;
}

static pl_status run_matmul(void) {
  return kernel_matmul(operand[0], operand[1], result, NULL);
}

static pl_status run_general(void) {
  return kernel_matmul_general(operand[0], operand[1], result, &(struct matmul_options){0});
}

int main(int argc, char **argv) {
  static const struct tune_kernel kernels[] = {
      {"matmul_bf16", "MxNxK", 3, matmul_bf16, run_matmul},
      {"matmul_int8", "MxNxK", 3, matmul_int8, run_matmul},
      {"matmul_general_bf16", "MxNxK", 3, matmul_bf16, run_general},
  };
  return tune_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
