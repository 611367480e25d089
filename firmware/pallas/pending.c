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
