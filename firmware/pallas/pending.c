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
