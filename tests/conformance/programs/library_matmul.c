/* SPDX-License-Identifier: MIT */
/* The kernel library: matrix products with an epilogue. Twins: twins/library_matmul.py. */
#include "case.h"
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

const struct conformance_case conformance_cases[] = {
    CASE(library_matmul_epilogue),
    CASE(library_matmul_int8),
    CASE(library_matmul_batch),
    CASE_END,
};
