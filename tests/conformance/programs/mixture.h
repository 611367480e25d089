/* SPDX-License-Identifier: MIT */
/* What the programs of mixtures share. */
#ifndef TESTS_CONFORMANCE_MIXTURE_H
#define TESTS_CONFORMANCE_MIXTURE_H

#include "case.h"
#include "maps.h"

#define ROWS    PL_BLOCK(rows_map, 8, 128)
#define NUMBER  PL_VMEM(PL_INT32, 1, 1)
#define BLOCK32 PL_VMEM(PL_INT32, 8, 128)

/* x to o. */
static inline void run(pl_kernel kernel) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  kernel.name = "mixture";
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}
static inline void run_table(pl_kernel kernel, const char *table) {
  const pl_array s = case_input(table), x = case_input("x"), o = case_output("o", NULL);
  kernel.name = "mixture";
  kernel.num_scalar_prefetch = 1;
  case_call(&kernel, PL_ARGS(s, x), PL_RESULTS(o));
}
static inline void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static inline pl_ref number(pl_ref element, int32_t value) {
  pl_put(element, value, 0, 0);
  return element;
}

#endif
