/* SPDX-License-Identifier: MIT */
/* Pipelines inside a body, and kernels without a grid. */
#include "internal.h"

int pl_axis(const char *name) {
  struct pl_context *c = pl_self();
  const char *const *names = c->kernel != NULL ? c->kernel->grid_names : NULL;
  const uint32_t rank = c->head.grid.rank;
  int found = -1;

  for (uint32_t d = 0; names != NULL && d < rank; d++) {
    const char *a = names[d], *b = name;
    while (a != NULL && *a != '\0' && *a == *b)
      a++, b++;
    if (a == NULL || *a != *b)
      continue;
    if (found >= 0) {
      pl_fail(PL_ERROR_SPEC, "pl_axis(\"%s\"): grid dimensions %d and %u both have this name", name, found,
              (unsigned)d);
      return 0;
    }
    found = (int)d;
  }
  if (found >= 0)
    return found;
  if (pl_fail(PL_ERROR_ARGUMENT, "pl_axis(\"%s\"): there is no grid dimension of this name; there are",
              name) == PL_ERROR_ARGUMENT)
    for (uint32_t d = 0; names != NULL && d < rank; d++)
      pl_message_add(" %s", names[d] != NULL ? names[d] : "(no name)");
  return 0;
}

void pl_emit_pipeline(const pl_kernel *pipeline, pl_refs in, pl_refs out) {
  pl_emit_pipeline_with_allocations(pipeline, in, out, NULL);
}

void pl_emit_pipeline_with_allocations(const pl_kernel *pipeline, pl_refs in, pl_refs out,
                                       const pl_allocations *allocations) {
  (void)pipeline, (void)in, (void)out, (void)allocations;
  pl_fail(PL_ERROR_UNSUPPORTED, "pl_emit_pipeline is not in this version");
}

pl_status pl_kernel_call(const pl_kernel *kernel, pl_arrays arrays) {
  (void)kernel, (void)arrays;
  if (pl_init() != PL_OK)
    return pl_context.status;
  if (pl_context.plan == NULL)
    pl_context.status = PL_OK;
  return pl_fail(PL_ERROR_UNSUPPORTED, "pl_kernel_call is not in this version");
}
