/* SPDX-License-Identifier: MIT */
/*
 * What each feature of the programming model costs, in instructions of the scalar core a grid step: a
 * kernel with one input and one output whose blocks change in every step and a body that copies (one vector
 * command, queued), and the same with one feature more. Warm calls; set-up and tear-down apart.
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>

enum { STEPS = 64, ROWS = 16, COLUMNS = 64 };

static void body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void element_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] * ROWS;
}
static void bounded_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] * ROWS;
  b[0].size = ROWS - 1;
}
static void table_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]);
}
static void list_map(const pl_grid *g, pl_index *b) {
  b[0].list = pl_at(pl_prefetch(0), PL_DS(g->id[0] * ROWS, ROWS));
}

static uint32_t base;

/* Instructions a step of a kernel. */
static uint32_t cost(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  pl_stats stats;
  for (int call = 0; call < 2; call++)
    if (pl_call(kernel, args, results) != PL_OK) {
      printf("feature_cost: %s\n", pl_error_message());
      return 0;
    }
  pl_get_stats(&stats);
  return (stats.instructions - stats.setup_instructions - stats.finish_instructions + (stats.steps - 1) / 2) /
         (stats.steps - 1);
}

static bool report(const char *feature, uint32_t instructions) {
  if (instructions == 0)
    return false;
  if (base == 0) {
    base = instructions;
    printf("FIGURE step_plain %u instructions\n", (unsigned)base);
  } else
    printf("FIGURE step_extra.%s %d instructions\n", feature, (int)instructions - (int)base);
  return true;
}

static pl_kernel kernel_of(const char *name, const pl_block_spec *in, const pl_block_spec *out) {
  return (pl_kernel){.name = name, .body = body, .grid = PL_GRID(STEPS), .in = {in}, .out = {out}};
}

static pl_array array(unsigned n, pl_shape shape) {
  return pl_hbm_array(0x100000u * n, PL_F32, shape);
}

/* The inner pipeline of a kernel without a grid: its cost is that of the call less an empty one's. */
static const pl_kernel *inner;
static void outer_body(void) {
  pl_emit_pipeline(inner, PL_REFS(pl_arg(0)), PL_REFS(pl_arg(1)));
}

static uint32_t nested(void) {
  uint32_t instructions[2];
  for (int half = 0; half < 2; half++) {
    pl_kernel pipeline =
        kernel_of("inner", PL_BLOCK(row_map, ROWS, COLUMNS), PL_BLOCK(row_map, ROWS, COLUMNS));
    pl_stats stats;
    pipeline.grid.extent[0] = half ? STEPS / 2 : STEPS;
    inner = &pipeline;
    const pl_kernel outer = {.name = "outer", .body = outer_body};
    for (int call = 0; call < 2; call++)
      if (pl_kernel_call(&outer, PL_ARRAYS(array(1, PL_SHAPE(STEPS * ROWS, COLUMNS)),
                                           array(2, PL_SHAPE(STEPS * ROWS, COLUMNS)))) != PL_OK) {
        printf("feature_cost: %s\n", pl_error_message());
        return 0;
      }
    pl_get_stats(&stats);
    instructions[half] = stats.instructions;
  }
  return (instructions[0] - instructions[1]) / (STEPS / 2);
}

int main(void) {
  const pl_block_spec *plain = PL_BLOCK(row_map, ROWS, COLUMNS);
  const pl_shape shape = PL_SHAPE(STEPS * ROWS, COLUMNS);
  const pl_array x = array(1, shape), y = array(3, shape), o = array(2, shape),
                 ragged = array(1, PL_SHAPE(STEPS * ROWS, COLUMNS - 5)),
                 planes = array(1, PL_SHAPE(STEPS, ROWS, COLUMNS)),
                 table = pl_hbm_array(0, PL_INT32, PL_SHAPE(STEPS)),
                 list = pl_hbm_array(0, PL_INT32, PL_SHAPE(STEPS * ROWS));
  int32_t *index = pl_hbm_pointer(&table);
  const struct {
    const char *name;
    const pl_block_spec *in, *out;
    const pl_array *x;
  } features[] = {
      {"plain", plain, plain, &x},
      {"three_buffers", PL_BUFFERED(3, row_map, ROWS, COLUMNS), PL_BUFFERED(3, row_map, ROWS, COLUMNS), &x},
      {"lookahead", PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = row_map, .buffer_count = 3, .lookahead = 1), plain,
       &x},
      {"ragged_input", plain, plain, &ragged},
      {"squeezed", PL_SPEC(PL_DIMS(1, ROWS, COLUMNS), .map = row_map, .kind = {PL_SQUEEZED}), plain, &planes},
      {"element", PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = element_map, .kind = {PL_ELEMENT}), plain, &x},
      {"bounded", PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = bounded_map, .kind = {PL_BOUNDED}), plain, &x},
      {"inout", plain, PL_INOUT(row_map, ROWS, COLUMNS), &x},
      {"revisit_any", plain, PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = row_map, .revisit_any = 1), &x},
  };
  bool good = true;

  for (unsigned i = 0; i < sizeof features / sizeof features[0]; i++) {
    const pl_kernel kernel = kernel_of(features[i].name, features[i].in, features[i].out);
    good &= report(features[i].name, cost(&kernel, PL_ARGS(*features[i].x), PL_RESULTS(o)));
  }
  pl_kernel kernel = kernel_of("second_input", plain, plain);
  kernel.in[1] = plain;
  good &= report("second_input", cost(&kernel, PL_ARGS(x, y), PL_RESULTS(o)));
  kernel = kernel_of("alias", plain, PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = row_map, .alias = PL_ALIAS(0)));
  good &= report("alias", cost(&kernel, PL_ARGS(x), PL_RESULTS(x)));
  for (int32_t i = 0; i < STEPS * ROWS; i++)
    index[i] = i;
  kernel = kernel_of("prefetch_map", PL_BLOCK(table_map, ROWS, COLUMNS), plain);
  kernel.num_scalar_prefetch = 1;
  good &= report("prefetch_map", cost(&kernel, PL_ARGS(table, x), PL_RESULTS(o)));
  const pl_block_spec *listed = PL_SPEC(PL_DIMS(ROWS, COLUMNS), .map = list_map, .kind = {PL_INDIRECT});
  kernel = kernel_of("indirect_input", listed, plain);
  kernel.num_scalar_prefetch = 1;
  good &= report("indirect_input", cost(&kernel, PL_ARGS(list, x), PL_RESULTS(o)));
  kernel = kernel_of("indirect_output", plain, listed);
  kernel.num_scalar_prefetch = 1;
  good &= report("indirect_output", cost(&kernel, PL_ARGS(list, x), PL_RESULTS(o)));
  kernel = kernel_of("run_time_grid", plain, plain);
  kernel.grid.extent[0] = pl_dyn(STEPS);
  good &= report("run_time_grid", cost(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  kernel = kernel_of("two_dimensions", plain, plain);
  kernel.grid = (pl_grid_spec)PL_GRID(STEPS, 1);
  good &= report("second_grid_dimension", cost(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  good &= report("nested_pipeline", nested());
  return good ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}
