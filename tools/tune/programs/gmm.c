/* SPDX-License-Identifier: MIT */
/* The grouped matrix product, for the tuner. */
#include "gmm.h"

#include "tune.h"

static pl_array operand[3], result;

/*
 * Rows of a group as a router may give them: one group has many times the rows of another. Together they are
 * all rows.
 */
static void share_rows(int32_t *size, int32_t groups, int32_t rows) {
  static const int32_t part[] = {1, 1, 2, 4, 8, 12, 16, 20};
  int32_t all = 0, left = rows;

  for (int32_t g = 0; g < groups; g++)
    all += part[g % 8];
  for (int32_t g = 0; g < groups; g++) {
    size[g] = g + 1 < groups ? (int32_t)((int64_t)rows * part[g % 8] / all) : left;
    left -= size[g];
  }
}

static pl_status gmm_bf16(const int32_t *extent, pl_array *o) {
  pl_status status = tune_array(&operand[0], PL_BF16, PL_SHAPE(extent[1], extent[2]));
  if (status == PL_OK)
    status = tune_array(&operand[1], PL_BF16, PL_SHAPE(extent[0], extent[2], extent[3]));
  if (status == PL_OK)
    status = pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(extent[0]), &operand[2]);
  if (status == PL_OK)
    status = pl_alloc(PL_HBM, PL_BF16, PL_SHAPE(extent[1], extent[3]), &result);
  if (status == PL_OK)
    share_rows(pl_hbm_pointer(&operand[2]), extent[0], extent[1]);
  *o = result;
  return status;
}

static pl_status run_gmm(void) {
  return kernel_gmm(operand[0], operand[1], operand[2], result, NULL);
}

int main(int argc, char **argv) {
  static const struct tune_kernel kernels[] = {{"gmm_bf16", "GROUPSxMxKxN", 4, gmm_bf16, run_gmm}};
  return tune_main(argc, argv, kernels, sizeof kernels / sizeof kernels[0]);
}
