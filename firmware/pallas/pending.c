/* SPDX-License-Identifier: MIT */
/* What is declared and not there yet: every use is an error that says so. */
#include "internal.h"

static void pending(const char *name) {
  pl_error(PL_ERROR_UNSUPPORTED, "%s is not there yet", name);
}

#define PENDING(name, type, result, ...)                                                                     \
  type name(__VA_ARGS__);                                                                                    \
  type name(__VA_ARGS__) {                                                                                   \
    pending(#name);                                                                                          \
    return result;                                                                                           \
  }
#define PENDING_VOID(name, ...)                                                                              \
  void name(__VA_ARGS__);                                                                                    \
  void name(__VA_ARGS__) {                                                                                   \
    pending(#name);                                                                                          \
  }

#pragma GCC diagnostic ignored "-Wunused-parameter"

PENDING(pl_predict, pl_status, PL_ERROR_UNSUPPORTED, const pl_kernel *kernel, pl_arrays args,
        pl_arrays results, pl_prediction *prediction)
PENDING(pl_plan, pl_status, PL_ERROR_UNSUPPORTED, const pl_kernel *kernel, pl_arrays args, pl_arrays results)
PENDING(pl_reshape, pl_ref, PL_NO_REF, pl_ref ref, pl_shape shape)
PENDING(pl_bitcast, pl_ref, PL_NO_REF, pl_ref ref, pl_dtype dtype)
PENDING(pl_squeeze, pl_ref, PL_NO_REF, pl_ref ref, unsigned dimension)
PENDING_VOID(pl_sub, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_mul, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_max, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_min, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_less, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_less_equal, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_equal, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_not_equal, pl_ref o, pl_ref a, pl_ref b)
PENDING_VOID(pl_where, pl_ref o, pl_ref mask, pl_ref a, pl_ref b)
PENDING_VOID(pl_store_masked, pl_ref o, pl_ref x, pl_ref mask)
PENDING_VOID(pl_store_bounded, pl_ref o, pl_ref x, int32_t rows, int32_t columns)
PENDING_VOID(pl_broadcast, pl_ref o, pl_ref x)
PENDING_VOID(pl_iota, pl_ref o, unsigned dimension)
PENDING_VOID(pl_reduce_sum, pl_ref o, pl_ref x, enum pl_reduction over)
PENDING_VOID(pl_reduce_max, pl_ref o, pl_ref x, enum pl_reduction over)
PENDING_VOID(pl_reduce_min, pl_ref o, pl_ref x, enum pl_reduction over)
PENDING_VOID(pl_run_scoped_specs, pl_scoped_body body, void *user, const pl_scratch_spec *const *specs,
             unsigned n)
PENDING_VOID(pl_debug_set, unsigned flags)
PENDING_VOID(pl_debug_output, void (*write)(const char *text))
PENDING_VOID(pl_debug_print_ref, const char *label, pl_ref ref)
PENDING_VOID(pl_named_scope_begin, const char *name)
PENDING_VOID(pl_named_scope_end, const char *name)
PENDING_VOID(pl_trace_value, const char *label, int32_t value)

unsigned pl_debug_get(void) {
  return 0;
}

void pl_debug_print(const char *format, ...) {
  pending("pl_debug_print");
}
