/* SPDX-License-Identifier: MIT */
/*
 * How much of the stack the runtime takes, from main() on: calls whose plan is made, pipelines inside one
 * another, scopes, a vector function while it is recorded, predictions, messages of errors. An eighth must be
 * left.
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>

enum { ROWS = 16, COLUMNS = 32, BLOCK = 8 };

static pl_array x, o;
static int levels; /* pipelines that are still to be opened inside one another */
static bool fail;

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] + (fail && levels == 0 ? 7 : 0);
}
static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void scatter(const pl_ref *refs, void *user) {
  (void)user;
  pl_put(refs[0], 1, 0);
  pl_put(refs[0], 1, 1);
  pl_scatter_add(pl_output(0), refs[1], refs[0]);
}
static void scope_body(void) {
  copy_body();
  pl_run_scoped(scatter, NULL, PL_SMEM(PL_INT32, 2), PL_VMEM(PL_F32, 2, COLUMNS));
}

PL_VECTOR_FN(weights, 2, 1) {
  pl_v sum = pl_vzero();
  PL_FOR_LANES(&sum) {
    const pl_v w = pl_vexp2(pl_vmul(pl_vload(PL_REF(0)), pl_vscalar(0)));
    sum = pl_vadd(sum, w);
    pl_vstore(PL_REF(1), w);
  }
  const pl_v part = pl_vrecip(pl_vsum_lanes(sum));
  PL_FOR_LANES() pl_vstore(PL_REF(1), pl_vmul(pl_vload(PL_REF(1)), part));
}
static void vector_body(void) {
  pl_vrun(weights, PL_REFS(pl_input(0), pl_output(0)), PL_SCALARS(pl_float(0.5f)));
}

/* A pipeline of parts of its input and output, with descriptor and specs on the stack, as guide and library
 * have them. */
static void open_body(void) {
  const pl_block_spec *const half = PL_BLOCK(rows, BLOCK, COLUMNS);
  const pl_kernel pipeline = {.name = "inner",
                              .body = levels == 1 ? vector_body : open_body,
                              .grid = PL_GRID(levels == 1 ? ROWS / BLOCK : 1),
                              .in = {levels == 1 ? half : PL_IN_HBM},
                              .out = {levels == 1 ? half : PL_IN_HBM}};
  levels--;
  pl_emit_pipeline(&pipeline, PL_REFS(pl_input(0)), PL_REFS(pl_output(0)));
  levels++;
}

static const pl_kernel simple = {.name = "call",
                                 .body = copy_body,
                                 .grid = PL_GRID(ROWS / BLOCK),
                                 .in = {PL_BLOCK(rows, BLOCK, COLUMNS)},
                                 .out = {PL_BLOCK(rows, BLOCK, COLUMNS)}};

static pl_status call(void (*body)(void)) {
  pl_kernel kernel = simple;
  kernel.body = body;
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}
static pl_status nested(int n) {
  const pl_kernel kernel = {.name = "nested", .body = open_body, .in = {PL_IN_HBM}, .out = {PL_IN_HBM}};
  levels = n;
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static pl_status plain_call(void) {
  return call(copy_body);
}
static pl_status scoped_call(void) {
  return call(scope_body);
}
static pl_status vector_call(void) {
  return call(vector_body);
}
static pl_status one(void) {
  return nested(1);
}
static pl_status two(void) {
  return nested(2);
}
static pl_status plan(void) {
  return pl_plan(&simple, PL_ARGS(x), PL_RESULTS(o));
}
/* The message names two pipelines and a map, and is printed. */
static pl_status error(void) {
  fail = true;
  const pl_status status = nested(2);
  fail = false;
  printf("%s\n", pl_error_message());
  return status == PL_ERROR_BLOCK_INDEX ? PL_OK : PL_ERROR_ARGUMENT;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    pl_status (*run)(void);
  } cases[] = {{"call", plain_call}, {"vector", vector_call}, {"scope", scoped_call}, {"plan", plan},
               {"nested", one},      {"nested_twice", two},   {"error", error}};
  uint32_t most = 0;
  (void)argc;
  (void)argv;

  if (pl_alloc(PL_HBM, PL_F32, PL_SHAPE(ROWS, COLUMNS), &x) != PL_OK ||
      pl_alloc(PL_HBM, PL_F32, PL_SHAPE(ROWS, COLUMNS), &o) != PL_OK)
    return BOOT_EXIT_KERNEL;
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    boot_stack_paint();
    if (cases[i].run() != PL_OK) {
      printf("%s: %s\n", cases[i].name, pl_error_message());
      return BOOT_EXIT_KERNEL;
    }
    const uint32_t depth = boot_stack_depth();
    printf("FIGURE stack.%s %u bytes\n", cases[i].name, (unsigned)depth);
    if (depth > most)
      most = depth;
  }
  const uint32_t size = boot_stack_size();
  printf("%s stack depth: %u of %u bytes\n", most <= size / 8 * 7 ? "PASS" : "FAIL", (unsigned)most,
         (unsigned)size);
  return most <= size / 8 * 7 ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}
