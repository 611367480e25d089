/* SPDX-License-Identifier: MIT */
/* The kernel library. Twins: twins/library.py. */
#include "case.h"
#include "gmm.h"

static void library_gmm(void) {
  const struct gmm_blocks blocks = {16, 32, 48, 3};
  const pl_array x = case_input("x"), y = case_input("y"), sizes = case_input("sizes"),
                 o = case_output("o", NULL);

  case_done(kernel_gmm(x, y, sizes, o, &blocks));
}

const struct conformance_case conformance_cases[] = {
    CASE(library_gmm),
    CASE_END,
};
