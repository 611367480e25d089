/* SPDX-License-Identifier: MIT */
/* What programs that test vector functions share: an input, an output, a kernel's call, and counts. */
#ifndef VECTOR_FN_CHECK_H
#define VECTOR_FN_CHECK_H

#include "boot.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static unsigned failures, checks;
static pl_array x, o;

static inline void call(const pl_kernel *kernel) {
  if (pl_call(kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", kernel->name, pl_error_message());
  }
}

/* The last line, and the exit status. */
static inline int verdict(const char *what) {
  printf("%s %s: %u checks, %u failures\n", failures ? "FAIL" : "PASS", what, checks, failures);
  return failures ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}

#endif
