/* SPDX-License-Identifier: MIT */
/* Multiplies two matrices of the data file, checks and reports: shared by the apps matmul and demo. */
#ifndef APPS_MATMUL_RUN_H
#define APPS_MATMUL_RUN_H

#include "matmul.h"

#include <stdint.h>

struct matmul_options {
  int32_t m, n, k; /* expected shape, 0: whatever the file has */
  struct matmul_blocks blocks;
  int32_t calls; /* how often, 0: twice */
};

/*
 * x [M,K], y [K,N] and, if it is there, ref [M,N] come from the data file. bf16 gives bf16, int8 gives
 * int32. Reports the last call. Returns an exit status (boot.h).
 */
int matmul_run(const struct matmul_options *options);

#endif
