/* SPDX-License-Identifier: MIT */
/* The kernel library: matrix products with an epilogue. Twins: twins/library_matmul.py. */
#include "block_sparse.h"
#include "case.h"
#include "gmm.h"
#include "matmul_general.h"

static void library_matmul_epilogue(void) {
  const pl_array x = case_input("x"), y = case_input("y"), scale = case_input("scale"),
                 bias = case_input("bias"), residual = case_input("residual"), o = case_output("o", NULL),
                 sums = case_output("sums", NULL), squares = case_output("squares", NULL);
  const struct matmul_options options = {
      .blocks = {16, 32, 24, 2},
      .epilogue = {.scale = &scale,
                   .bias = &bias,
                   .residual = &residual,
                   .row_sums = &sums,
                   .row_squares = &squares,
                   .activation = MATMUL_GELU},
  };
  case_done(kernel_matmul_general(x, y, o, &options));
}

static void library_matmul_int8(void) {
  const pl_array x = case_input("x"), y = case_input("y"), scale = case_input("scale"),
                 bias = case_input("bias"), o = case_output("o", NULL);
  const struct matmul_options options = {
      .blocks = {16, 16, 32, 3},
      .order = MATMUL_NMK,
      .epilogue = {.scale = &scale, .bias = &bias, .quantise = 0.25f, .activation = MATMUL_RELU},
  };
  case_done(kernel_matmul_general(x, y, o, &options));
}

static void library_matmul_f32(void) {
  const pl_array x = case_input("x"), y = case_input("y"), bias = case_input("bias"),
                 o = case_output("o", NULL);
  const struct matmul_options options = {
      .epilogue = {.bias = &bias},
      .precision = PL_PRECISION_HIGHEST,
  };
  case_done(kernel_matmul_general(x, y, o, &options));
}

static void library_matmul_batch(void) {
  const pl_array x = case_input("x"), y = case_input("y"), scale = case_input("scale"),
                 o = case_output("o", NULL);
  const struct matmul_options options = {
      .blocks = {16, 16, 16, 2},
      .order = MATMUL_MKN,
      .transposed = true,
      .epilogue = {.scale = &scale, .activation = MATMUL_SILU},
  };
  case_done(kernel_matmul_general(x, y, o, &options));
}

static void library_matmul_sparse(void) {
  const struct matmul_blocks blocks = {.m = 16, .n = 32, .k = 16, .buffers = 3};
  const pl_array x = case_input("x"), y = case_input("y"), mask = case_input("mask"),
                 o = case_output("o", NULL);

  case_done(kernel_block_sparse(x, y, mask, o, &blocks));
}

static void library_matmul_ragged(void) {
  const struct gmm_blocks blocks = {16, 32, 24, 3};
  const pl_array x = case_input("x"), y = case_input("y"), rows = case_input("rows"),
                 o = case_output("o", NULL);

  case_done(kernel_ragged_matmul(x, y, rows, o, &blocks));
}

const struct conformance_case conformance_cases[] = {
    CASE(library_matmul_epilogue),
    CASE(library_matmul_int8),
    CASE(library_matmul_f32),
    CASE(library_matmul_batch),
    CASE(library_matmul_sparse),
    CASE(library_matmul_ragged),
    CASE_END,
};
