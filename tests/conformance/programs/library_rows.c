/* SPDX-License-Identifier: MIT */
/* The kernels of the library that work on rows. Twins: twins/library.py. */
#include "case.h"
#include "norm.h"
#include "softmax.h"

static void library_softmax(void) {
  case_done(kernel_softmax(case_input("x_f32"), case_output("f32", NULL)));
  case_done(kernel_softmax(case_input("x_bf16"), case_output("bf16", NULL)));
}

static void library_softmax_masked(void) {
  case_done(kernel_softmax(case_input("x"), case_output("o", NULL)));
}

static void library_layer_norm(void) {
  const pl_array scale = case_input("scale"), shift = case_input("shift");

  case_done(kernel_layer_norm(case_input("x_f32"), scale, shift, case_output("f32", NULL), 1e-5f));
  case_done(kernel_layer_norm(case_input("x_bf16"), scale, shift, case_output("bf16", NULL), 1e-5f));
}

static void library_rms_norm(void) {
  const pl_array scale = case_input("scale");

  case_done(kernel_rms_norm(case_input("x_f32"), scale, case_output("f32", NULL), 1e-5f));
  case_done(kernel_rms_norm(case_input("x_bf16"), scale, case_output("bf16", NULL), 1e-5f));
}

const struct conformance_case conformance_cases[] = {
    CASE(library_softmax),
    CASE(library_softmax_masked),
    CASE(library_layer_norm),
    CASE(library_rms_norm),
    CASE_END,
};
