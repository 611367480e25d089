/* SPDX-License-Identifier: MIT */
/*
 * bench_kernels: the figures of docs/timings.md of matrix products with vector functions, which beside the
 * rest of bench would not fit into the chip's RAM. Prints what bench prints.
 */
#include "bench.h"
#include "boot.h"

int main(void) {
  bench_flash();
  bench_fused();
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
