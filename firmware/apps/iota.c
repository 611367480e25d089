/* SPDX-License-Identifier: MIT */
/*
 * iota: o[i] = program_id. The smallest kernel whose value depends on the grid step.
 *
 *   iota [N]      default 8
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>
#include <stdlib.h>

static void body(void) {
  pl_fill(pl_output(0), (uint32_t)pl_program_id(0));
}

static void map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

int main(int argc, char **argv) {
  char *end = "";
  const long n = argc > 1 ? strtol(argv[1], &end, 10) : 8;
  pl_array o;

  if (argc > 2 || *end != '\0' || n < 1 || n > 65536) {
    printf("iota: a number of steps from 1 to 65536\n");
    return BOOT_EXIT_USAGE;
  }
  const pl_kernel kernel = {
      .name = "iota", .body = body, .grid = PL_GRID((int32_t)n), .out = {PL_BLOCK(map, 1)}};
  if (pl_alloc(PL_HBM, PL_INT32, PL_SHAPE((int32_t)n), &o) != PL_OK ||
      pl_call(&kernel, (pl_arrays){NULL, 0}, PL_RESULTS(o)) != PL_OK) {
    printf("iota: %s\n", pl_error_message());
    return BOOT_EXIT_KERNEL;
  }
  const int32_t *p = pl_hbm_pointer(&o);
  for (long i = 0; i < n; i++) {
    if (i < 16)
      printf("%d ", (int)p[i]);
    if (p[i] != i) {
      printf("\niota: element %ld is %d\n", i, (int)p[i]);
      return BOOT_EXIT_FAILURE;
    }
  }
  printf("%s\niota: %ld elements right\n", n > 16 ? "..." : "", n);
  return BOOT_EXIT_OK;
}
