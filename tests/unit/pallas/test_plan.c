/* SPDX-License-Identifier: MIT */
/* Predictions against runs: copies and bytes of random pipelines, errors, the printed plan, and cycles. */
#include "suite.h"

#include "tpu_regs.h"

#include <string.h>

enum { BLOCKS = 5, MOST_STEPS = 12 };

static int32_t table[3][MOST_STEPS]; /* input, output, prefetched */
static int32_t sizes[MOST_STEPS];
static uint32_t compared;

static void in_map(const pl_grid *g, pl_index *b) {
  b[0].start = table[0][g->id[0]];
}
static void out_map(const pl_grid *g, pl_index *b) {
  b[0].start = table[1][g->id[0]];
}
static void prefetched_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]);
}
static void bounded_map(const pl_grid *g, pl_index *b) {
  b[0].start = table[0][g->id[0]];
  b[0].size = sizes[g->id[0]];
}
static void nothing(void) {}

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

/* The prediction of a kernel, and the run after it, must be the same. */
static void compare(const char *what, uint32_t number, const pl_kernel *kernel, pl_arrays args,
                    pl_arrays results) {
  pl_prediction p;
  pl_stats stats;
  const pl_status predicted = pl_predict(kernel, args, results, &p);
  char text[256];
  snprintf(text, sizeof text, "%s", pl_error_message());
  const pl_status status = pl_call(kernel, args, results);

  if (predicted != status) {
    check(false, "plan: %s %u: predicted %s (%s), but %s (%s)", what, number, pl_status_name(predicted), text,
          pl_status_name(status), pl_error_message());
    return;
  }
  if (status != PL_OK)
    return;
  pl_get_stats(&stats);
  uint64_t in = 0;
  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA2; q++)
    in += stats.queue[q].bytes;
  const uint64_t out = stats.queue[TPU_QUEUE_DMA3].bytes;
  compared++;
  if (p.steps != stats.steps || memcmp(p.copies, stats.copies, sizeof p.copies) != 0)
    check(false, "plan: %s %u: %u steps, copies %u %u %u; the run had %u steps, %u %u %u", what, number,
          p.steps, p.copies[0], p.copies[1], p.copies[2], stats.steps, stats.copies[0], stats.copies[1],
          stats.copies[2]);
  else if (p.bytes_in + p.bytes_out != in + out)
    check(false, "plan: %s %u: %llu bytes in and %llu out; the run had %llu and %llu", what, number,
          (unsigned long long)p.bytes_in, (unsigned long long)p.bytes_out, (unsigned long long)in,
          (unsigned long long)out);
}

static void random_pipeline(uint32_t number) {
  const int32_t steps = 1 + (int32_t)below(MOST_STEPS), rows = 1 + (int32_t)below(6),
                columns = 1 + (int32_t)below(40);
  const int32_t extent = BLOCKS * rows - (int32_t)below((uint32_t)rows);
  const bool prefetch = below(3) == 0, bounded = !prefetch && below(3) == 0;

  suite_release();
  pl_array indices = suite_array(PL_INT32, PL_SHAPE(steps)),
           x = suite_array(PL_BF16, PL_SHAPE(extent, columns)), whole = suite_array(PL_INT8, PL_SHAPE(3, 5)),
           o = suite_array(PL_F32, PL_SHAPE(extent, columns));
  for (int32_t s = 0; s < steps; s++) {
    table[0][s] = s > 0 && below(2) ? table[0][s - 1] : (int32_t)below(BLOCKS);
    table[1][s] = s > 0 && below(2) ? table[1][s - 1] : (int32_t)below(BLOCKS);
    sizes[s] = (int32_t)below((uint32_t)rows + 1);
    if (bounded && table[0][s] + sizes[s] > extent)
      sizes[s] = 0;
    suite_put(&indices, (uint32_t)s, table[0][s]);
  }
  const uint8_t fill = below(4) == 0 ? PL_FILL_UNSPECIFIED : PL_FILL_VALUE;
  pl_block_spec in = {PL_DIMS(rows, columns), .map = prefetch ? prefetched_map : in_map,
                      .buffer_count = (uint8_t)below(5), .lookahead = below(3) == 0, .fill = fill};
  pl_block_spec out = {PL_DIMS(rows, columns), .map = out_map, .buffer_count = (uint8_t)below(5),
                       .inout = below(3) == 0};
  if (bounded) {
    in.map = bounded_map;
    in.kind[0] = PL_BOUNDED;
  }
  out.revisit_any = !out.inout && below(3) != 0; /* otherwise coming back is the same error */
  pl_kernel kernel = {.name = "random", .body = nothing, .grid = PL_GRID(steps), .out = {&out}};
  const int at = prefetch ? 1 : 0;
  kernel.num_scalar_prefetch = (uint32_t)at;
  kernel.in[0] = &in;
  const pl_array args[] = {indices, x, whole};
  compare("pipeline", number, &kernel, (pl_arrays){args + 1 - at, 2u + (uint32_t)at}, PL_RESULTS(o));
}

static void two_maps(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static void two_zeros(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].start = b[1].start = 0;
}

static char text[4096];
static void take_text(const char *line) {
  strncat(text, line, sizeof text - strlen(text) - 1);
}

static void test_print(void) {
  pl_array x = suite_array(PL_INT8, PL_SHAPE(100, 96)), o = suite_array(PL_INT32, PL_SHAPE(100, 96));
  const pl_kernel kernel = {.name = "tiles",
                            .body = nothing,
                            .grid = PL_GRID(4, 3),
                            .in = {PL_BUFFERED(3, two_maps, 32, 32), PL_IN_HBM},
                            .out = {PL_BLOCK(two_maps, 32, 32)},
                            .scratch = {PL_SMEM(PL_INT32, 4), PL_SEMAPHORES(2, 3)},
                            .cost = {.macs = 1 << 22}};
  char wanted[1024];

  text[0] = '\0';
  pl_debug_output(take_text);
  suite_ok(pl_plan(&kernel, PL_ARGS(x, x), PL_RESULTS(o)), "plan: printed");
  pl_debug_output(NULL);
  snprintf(wanted, sizeof wanted,
           "plan of tiles: grid [4, 3], 12 steps\n"
           "  input 0    int8  [100, 96]      blocks [32, 32]       in VMEM, 3 x 1024 bytes, 12 copies\n"
           "  input 1    int8  [100, 96]      in place in HBM\n"
           "  output 0   int32 [100, 96]      blocks [32, 32]       in VMEM, 2 x 4096 bytes, 12 copies\n"
           "  scratch 0  int32 [4]            in SMEM, 1 x 64 bytes\n"
           "  scratch 1  int32 [2, 3]         in SEMAPHORE\n"
           "  memory: VMEM 11264 of %u bytes, SMEM 64 of 16384, ACC 0 of %u rows, 6 semaphores\n"
           "  bytes: 12288 in, 38400 out\n"
           "  cycles alone: DMA in 768, DMA out 2400, MXU %u, VPU 0, scalar core ",
           suite.dim == 8 && !suite.bf16 ? 131072 : 524288,
           suite.dim == 8 && !suite.bf16 ? 1024 : 65536 / suite.dim, (1 << 22) / (suite.dim * suite.dim));
  check(strncmp(text, wanted, strlen(wanted)) == 0, "plan: what is printed:\n%sinstead of\n%s", text, wanted);
  check(strstr(text, "bound by MXU\n") != NULL, "plan: bound by the MXU");
}

/* Operands that never move: one copy each. */
static void test_whole(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(9, 7)), o = suite_array(PL_INT8, PL_SHAPE(9, 7));
  const pl_kernel kernel = {
      .name = "whole", .body = nothing, .grid = PL_GRID(3), .out = {PL_BLOCK(two_zeros, 16, 16)}};
  compared = 0;
  compare("whole", 0, &kernel, PL_ARGS(x), PL_RESULTS(o));
  check(compared == 1, "plan: operands that never move");
}

static void test_errors(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(64, 40)), o = suite_array(PL_F32, PL_SHAPE(64, 40));
  pl_prediction p;
  const pl_kernel outside = {.name = "outside",
                             .body = nothing,
                             .grid = PL_GRID(5),
                             .in = {PL_SPEC(PL_DIMS(16, 40), .map = in_map)}};
  const pl_kernel large = {
      .name = "large", .body = nothing, .in = {PL_WHOLE}, .scratch = {PL_VMEM(PL_F32, 4096, 256)}};
  const pl_kernel none = {.name = "none", .body = nothing, .grid = PL_GRID(PL_DYN(0))};

  for (int i = 0; i < 5; i++)
    table[0][i] = i;
  suite_fails(pl_predict(&outside, PL_ARGS(x), PL_RESULTS(o), &p), PL_ERROR_BLOCK_INDEX,
              "plan: a block outside", "kernel outside: input 0: its map returned block [4, 0]", "(4)", NULL);
  suite_fails(pl_plan(&large, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_BUDGET, "plan: too large", "kernel large",
              "scratch 0", NULL);
  suite_fails(pl_plan(NULL, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT, "plan: no kernel",
              "pl_plan: NULL where something must be", NULL);
  suite_ok(pl_predict(&none, PL_ARGS(x), PL_RESULTS(o), &p), "plan: a run-time extent of 0");
  check(p.steps == 0 && p.bytes_in == 0, "plan: a run-time extent of 0 does nothing");
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* What moves enough bytes takes as long as predicted. */
static void test_cycles(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(1024, 64)), o = suite_array(PL_F32, PL_SHAPE(1024, 64));
  const pl_kernel kernel = {.name = "cycles",
                            .body = copy_body,
                            .grid = PL_GRID(16),
                            .in = {PL_BUFFERED(2, rows_map, 64, 64)},
                            .out = {PL_BUFFERED(2, rows_map, 64, 64)},
                            .cost = {.vector_elements = 1024 * 64}};
  pl_prediction p;
  pl_stats stats;

  suite_ok(pl_predict(&kernel, PL_ARGS(x), PL_RESULTS(o), &p), "plan: cycles");
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "plan: cycles, run");
  pl_get_stats(&stats);
  /* The scalar core of this test needs no cycle but for accesses, so that set-up costs less. */
  const double ratio = (double)p.cycles / (double)stats.cycles;
  check(!suite.cycle_timing || suite.dim < 16 || (ratio > 0.85 && ratio < 1.25),
        "plan: %llu cycles predicted, %llu taken", (unsigned long long)p.cycles,
        (unsigned long long)stats.cycles);
}

void suite_plan(void) {
  const unsigned flags = pl_debug_get();
  pl_debug_set(PL_DEBUG_PRINT); /* poison is moved, too */
  for (uint32_t i = 0; i < suite.cases; i++)
    random_pipeline(i);
  check(compared >= suite.cases / 2, "plan: %u of %u random pipelines ran and were as predicted", compared,
        suite.cases);
  suite_release();
  test_print();
  test_whole();
  test_errors();
  test_cycles();
  pl_debug_set(flags);
  check(host_logged() == 0, "plan: the model logged nothing");
}
