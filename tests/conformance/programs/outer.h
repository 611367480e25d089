/* SPDX-License-Identifier: MIT */
/* What the cases of pipelines inside kernels share: a kernel around them, and numbers for their bodies. */
#ifndef TESTS_CONFORMANCE_OUTER_H
#define TESTS_CONFORMANCE_OUTER_H

#include "case.h"
#include "maps.h"

#define ROWS               PL_BLOCK(rows_map, 8, 128)
#define PART(ref_, i_, n_) pl_at((ref_), PL_DS((n_) * (i_), (n_)))

/* A kernel over whole arrays in HBM: its inputs and one output, with an outer grid or none. */
#define KERNEL(...) (&(const pl_kernel){.in = {PL_IN_HBM}, .out = {PL_IN_HBM}, __VA_ARGS__})
static inline void run(const pl_kernel *kernel) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  case_call(kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* o = a + n through one element of VMEM: the outer kernel's, which inner bodies get as their user. */
static inline void add_number(pl_ref o, pl_ref a, int32_t n, pl_ref element) {
  pl_put(element, n, 0, 0);
  pl_add(o, a, element);
}
#define NUMBER PL_VMEM(PL_INT32, 1, 1)

#endif
