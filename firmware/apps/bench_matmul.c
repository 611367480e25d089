/* SPDX-License-Identifier: MIT */
/* bench_matmul: figures of matrix products with an order of loops, and of block-sparse ones. Prints what
 * bench prints. */
#include "bench.h"
#include "boot.h"

int main(void) {
  bench_orders();
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
