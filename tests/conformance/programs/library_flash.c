/* SPDX-License-Identifier: MIT */
/* Flash attention. Twins: twins/library_flash.py. */
#include "case.h"
#include "flash.h"

static void library_flash(void) {
  const struct flash_options options = {.q = 32, .kv = 32};

  case_done(
      kernel_flash(case_input("q"), case_input("k"), case_input("v"), case_output("o", NULL), &options));
}

static void library_flash_causal(void) {
  const struct flash_options options = {.causal = true, .scale = 0.125f, .q = 48, .kv = 32};

  case_done(
      kernel_flash(case_input("q"), case_input("k"), case_input("v"), case_output("o", NULL), &options));
}

const struct conformance_case conformance_cases[] = {
    CASE(library_flash),
    CASE(library_flash_causal),
    CASE_END,
};
