/* SPDX-License-Identifier: MIT */
/* What shows a kernel's inside, on the machine: the plan, printing, checks, scopes and values in the trace.
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

static void twice(const pl_ref *refs, void *user) {
  const pl_ref *v = user;
  pl_add(refs[0], *v, *v);
  pl_copy(*v, refs[0]);
}

static void body(void) {
  pl_ref v = pl_scratch(0);
  PL_NAMED_SCOPE("load") {
    pl_copy(v, pl_input(0));
    pl_run_scoped(twice, &v, PL_VMEM(PL_F32, 4, 20));
  }
  PL_NAMED_SCOPE("row sums") {
    pl_reduce_sum(pl_output(0), v, PL_OVER_COLUMNS);
  }
  pl_trace_value("step", 1000 - 3000 * pl_program_id(0));
  pl_debug_print_ref("sums", pl_output(0));
  pl_debug_check(pl_program_id(0) < 2, "step %d", (int)pl_program_id(0));
}

int main(int argc, char **argv) {
  pl_array x, o;
  const pl_kernel kernel = {.name = "inside",
                            .body = body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(rows, 4, 20)},
                            .out = {PL_BLOCK(rows, 4, 1)},
                            .scratch = {PL_VMEM(PL_F32, 4, 20)}};
  (void)argc;
  (void)argv;
  if (pl_alloc(PL_HBM, PL_F32, PL_SHAPE(12, 20), &x) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(12, 1), &o) != PL_OK)
    return BOOT_EXIT_KERNEL;
  float *p = pl_hbm_pointer(&x);
  for (int i = 0; i < 12 * 20; i++)
    p[i] = (float)(i / 20) + 0.125f;
  if (pl_plan(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK ||
      pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK) {
    printf("%s\n", pl_error_message());
    return BOOT_EXIT_KERNEL;
  }
  pl_debug_set(PL_DEBUG_CHECKS);
  const pl_status status = pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  printf("%s: %s\n", pl_status_name(status), pl_error_message());
  return status == PL_ERROR_CHECK ? 0 : 1;
}
