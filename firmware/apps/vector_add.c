/* SPDX-License-Identifier: MIT */
/*
 * vector_add: o = x + y over n int32 elements, in blocks of rows of 128.
 *
 *   vector_add [N]      default 65536; the last block may be a part
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 128, ROWS = 32 };

static void body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static int fail(void) {
  printf("vector_add: %s\n", pl_error_message());
  return BOOT_EXIT_KERNEL;
}

int main(int argc, char **argv) {
  char *end = "";
  const long n = argc > 1 ? strtol(argv[1], &end, 10) : 65536;
  pl_array x, y, o;

  if (argc > 2 || *end != '\0' || n < 1 || n > 4194304 || n % COLUMNS != 0) {
    printf("vector_add: the number of elements must be a multiple of %d, up to 4194304\n", COLUMNS);
    return BOOT_EXIT_USAGE;
  }
  const pl_shape shape = PL_SHAPE((int32_t)n / COLUMNS, COLUMNS);
  if (pl_alloc(PL_HBM, PL_INT32, shape, &x) != PL_OK || pl_alloc(PL_HBM, PL_INT32, shape, &y) != PL_OK ||
      pl_alloc(PL_HBM, PL_INT32, shape, &o) != PL_OK)
    return fail();
  int32_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y);
  for (long i = 0; i < n; i++) {
    px[i] = (int32_t)(i * 2654435761u);
    py[i] = (int32_t)(i ^ 0x5a5a5a5a);
  }
  const pl_kernel kernel = {
      .name = "vector_add",
      .body = body,
      .grid = PL_GRID(pl_cdiv(shape.extent[0], ROWS)),
      .dimension_semantics = {PL_PARALLEL},
      .in = {PL_BLOCK(row_map, ROWS, COLUMNS), PL_BLOCK(row_map, ROWS, COLUMNS)},
      .out = {PL_BLOCK(row_map, ROWS, COLUMNS)},
  };
  if (pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)) != PL_OK)
    return fail();
  const int32_t *po = pl_hbm_pointer(&o);
  for (long i = 0; i < n; i++) {
    const int32_t want = (int32_t)((uint32_t)px[i] + (uint32_t)py[i]);
    if (po[i] != want) {
      printf("vector_add: element %ld is 0x%x, not 0x%x\n", i, (unsigned)po[i], (unsigned)want);
      return BOOT_EXIT_FAILURE;
    }
  }
  pl_stats stats;
  pl_get_stats(&stats);
  printf("vector_add: %ld elements right, %u steps, %u cycles\n", n, (unsigned)stats.steps,
         (unsigned)stats.cycles);
  return BOOT_EXIT_OK;
}
