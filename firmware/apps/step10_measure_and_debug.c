/* SPDX-License-Identifier: MIT */
/*
 * step10_measure_and_debug: guide, step 10: looking into a kernel, and what errors look like.
 */
#include "step.h"

enum { BLOCKS = 4, ROWS = 64, COLUMNS = 128, ALL_ROWS = BLOCKS * ROWS };

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

/* [debug] */
static void body(void) {
  PL_NAMED_SCOPE("double") {
    pl_add(pl_output(0), pl_input(0), pl_input(0));
  }
  if (pl_program_id(0) == 2) {
    pl_trace_value("first of block", pl_get(pl_output(0), 0, 0));
    pl_debug_print("x starts with %d, o with %d", (int)pl_get(pl_input(0), 0, 0),
                   (int)pl_get(pl_output(0), 0, 0));
    pl_debug_print_ref("x", pl_at(pl_input(0), PL_DS(0, 2), PL_DS(0, 4)));
  }
  pl_debug_check(pl_get(pl_output(0), 0, 0) >= 0, "block %d is negative", (int)pl_program_id(0));
}
/* [end] */

/* [wrong] */
/* Wrong: this is the number of an element; a map returns the number of a block. */
static void element_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] * ROWS;
  b[1].start = 0;
}

/* Wrong: nobody waits for the copy. */
static void forgetful(void) {
  pl_async_copy(pl_input(0), pl_scratch(0), pl_scratch(1));
}

/* Wrong: the shapes do not fit. */
static void bad_shape(void) {
  pl_add(pl_output(0), pl_input(0), pl_at(pl_input(0), PL_DS(0, 3)));
}

static const pl_kernel good = {.name = "good",
                               .body = body,
                               .grid = PL_GRID(BLOCKS),
                               .in = {PL_BLOCK(rows, ROWS, COLUMNS)},
                               .out = {PL_BLOCK(rows, ROWS, COLUMNS)},
                               .cost = {.vector_elements = BLOCKS * ROWS * COLUMNS}};
static const pl_kernel wrong_map = {.name = "wrong map",
                                    .body = body,
                                    .grid = PL_GRID(BLOCKS),
                                    .in = {PL_BLOCK(element_map, ROWS, COLUMNS)},
                                    .out = {PL_BLOCK(rows, ROWS, COLUMNS)}};
static const pl_kernel wrong_shape = {.name = "wrong shape",
                                      .body = bad_shape,
                                      .grid = PL_GRID(BLOCKS),
                                      .in = {PL_BLOCK(rows, ROWS, COLUMNS)},
                                      .out = {PL_BLOCK(rows, ROWS, COLUMNS)}};
static const pl_kernel not_waited = {.name = "not waited",
                                     .body = forgetful,
                                     .in = {PL_IN_HBM},
                                     .out = {PL_IN_HBM},
                                     .scratch = {PL_VMEM(PL_INT32, ALL_ROWS, COLUMNS), PL_SEMAPHORES(1)}};
static const pl_kernel too_big = {.name = "too big",
                                  .body = body,
                                  .grid = PL_GRID(BLOCKS),
                                  .in = {PL_BUFFERED(8, rows, ROWS, COLUMNS)},
                                  .out = {PL_BUFFERED(8, rows, ROWS, COLUMNS)},
                                  .scratch = {PL_VMEM(PL_INT32, ALL_ROWS, COLUMNS)}};
/* [end] */

static void expect(const pl_kernel *kernel, pl_array x, pl_array o, pl_status want) {
  const pl_status status = pl_call(kernel, PL_ARGS(x), PL_RESULTS(o));

  if (want != PL_OK)
    printf("PL_%s: %s\n\n", pl_status_name(status), pl_error_message());
  step_equal("status", 0, (int32_t)status, (int32_t)want);
}

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  pl_array o = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  int32_t *px = pl_hbm_pointer(&x);
  const int32_t *po = pl_hbm_pointer(&o);

  for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
    px[i] = i;
  /* [plan] */
  step_must(pl_plan(&good, PL_ARGS(x), PL_RESULTS(o)));
  /* [end] */
  printf("\n");
  expect(&wrong_map, x, o, PL_ERROR_BLOCK_INDEX);
  expect(&wrong_shape, x, o, PL_ERROR_SHAPE);
  expect(&not_waited, x, o, PL_ERROR_SEMAPHORE);
  expect(&too_big, x, o, PL_ERROR_BUDGET);
  pl_debug_set(PL_DEBUG_PRINT | PL_DEBUG_CHECKS);
  px[3 * ROWS * COLUMNS] = -1;
  expect(&good, x, o, PL_ERROR_CHECK);
  px[3 * ROWS * COLUMNS] = 3 * ROWS * COLUMNS;

  /* A call that failed leaves nothing behind: the next one is as good as the first. */
  expect(&good, x, o, PL_OK);
  for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
    step_equal("element", i, po[i], 2 * px[i]);
  pl_debug_set(0);
  expect(&good, x, o, PL_OK);
  printf("all right; without prints and checks: %u cycles\n", (unsigned)step_stats().cycles);
  return BOOT_EXIT_OK;
}
