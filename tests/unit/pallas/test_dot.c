/* SPDX-License-Identifier: MIT */
/* Matrix multiplication through the pipeline. Values are small integers: every sum is exact. */
#include "suite.h"

#include "tpu_regs.h"

#include <string.h>

struct matmul {
  int32_t bm, bn, bk;
  bool transposed, drain_each; /* drain_each: copy the accumulator out in every k step */
};

static void matmul_body(void) {
  const struct matmul *m = pl_user();
  unsigned mode = pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE;
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), mode | (m->transposed ? PL_TRANSPOSED : 0));
  if (m->drain_each || pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), pl_scratch(0));
}

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[2];
}
static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2], b[1].start = g->id[1];
}
static void yt_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = g->id[2];
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[1];
}

/* Number of wrong elements of o = x . y. */
static uint32_t wrong(const pl_array *x, const pl_array *y, const pl_array *o, bool transposed) {
  const int32_t m = x->shape[0], k = x->shape[1], n = o->shape[1];
  uint32_t bad = 0;
  for (int32_t i = 0; i < m; i++)
    for (int32_t j = 0; j < n; j++) {
      double sum = 0;
      for (int32_t l = 0; l < k; l++)
        sum += suite_get(x, (uint32_t)(i * k + l)) *
               suite_get(y, (uint32_t)(transposed ? j * k + l : l * n + j));
      if (o->dtype == PL_BF16) { /* rounded on the way out */
        float f = (float)sum;
        uint32_t bits;
        memcpy(&bits, &f, 4);
        bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
        memcpy(&f, &bits, 4);
        sum = f;
      } else if (o->dtype == PL_INT8) {
        sum = (int8_t)(int32_t)sum;
      }
      bad += sum != suite_get(o, (uint32_t)(i * n + j));
    }
  return bad;
}

static void run(int32_t m, int32_t n, int32_t k, struct matmul how, pl_dtype dtype, pl_dtype result,
                int buffers) {
  pl_array x = suite_array(dtype, PL_SHAPE(m, k));
  pl_array y = suite_array(dtype, how.transposed ? PL_SHAPE(n, k) : PL_SHAPE(k, n));
  pl_array o = suite_array(result, PL_SHAPE(m, n));
  char text[160];
  pl_stats stats;

  suite_fill(&x);
  suite_fill(&y);
  const pl_kernel kernel = {
      .name = "matmul",
      .body = matmul_body,
      .user = &how,
      .grid = PL_GRID(pl_cdiv(m, how.bm), pl_cdiv(n, how.bn), pl_cdiv(k, how.bk)),
      .dimension_semantics = {PL_PARALLEL, PL_PARALLEL, PL_ARBITRARY},
      .in = {PL_BUFFERED(buffers, x_map, how.bm, how.bk), how.transposed
                                                              ? PL_BUFFERED(buffers, yt_map, how.bn, how.bk)
                                                              : PL_BUFFERED(buffers, y_map, how.bk, how.bn)},
      .out = {PL_BLOCK(o_map, how.bm, how.bn)},
      .scratch = {PL_ACC(dtype == PL_INT8 ? PL_INT32 : PL_F32, how.bm, how.bn)},
  };
  snprintf(text, sizeof text, "dot %s %dx%dx%d blocks %d,%d,%d%s -> %s, %d buffers", pl_dtype_name(dtype),
           (int)m, (int)n, (int)k, (int)how.bm, (int)how.bn, (int)how.bk, how.transposed ? " transposed" : "",
           pl_dtype_name(result), buffers);
  for (int call = 0; call < 2; call++) {
    if (!suite_ok(pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)), "%s", text))
      return;
    pl_get_stats(&stats);
    check(wrong(&x, &y, &o, how.transposed) == 0 && stats.plan_was_cached == (call == 1),
          "%s: contents, call %d (%llu cycles)", text, call, (unsigned long long)stats.cycles);
    memset(pl_hbm_pointer(&o), 0x5a, pl_array_bytes(&o));
  }
  const uint64_t macs =
      (uint64_t)pl_cdiv(m, how.bm) * pl_cdiv(n, how.bn) * pl_cdiv(k, how.bk) * how.bm * how.bn * how.bk;
  check(stats.queue[TPU_QUEUE_MXU].work == macs, "%s: multiply-accumulates counted", text);
}

void suite_dot(void) {
  static const pl_dtype results[2][3] = {{PL_F32, PL_BF16, PL_F32}, {PL_INT32, PL_INT8, PL_INT32}};

  for (int int8 = suite.bf16 ? 0 : 1; int8 < 2; int8++) {
    const pl_dtype dtype = int8 ? PL_INT8 : PL_BF16;
    for (int t = 0; t < 2; t++) {
      run(64, 64, 64, (struct matmul){32, 32, 32, t != 0, false}, dtype, results[int8][0], 2);
      run(48, 80, 96, (struct matmul){16, 16, 32, t != 0, false}, dtype, results[int8][1], 3);
      run(33, 17, 65, (struct matmul){16, 32, 16, t != 0, false}, dtype, results[int8][2], 1); /* edges */
      run(20, 20, 20, (struct matmul){20, 20, 20, t != 0, false}, dtype, results[int8][0], 2); /* one block */
      run(40, 24, 48, (struct matmul){8, 24, 8, t != 0, true}, dtype, results[int8][0], 4);
    }
  }
  check(host_logged() == 0, "dot: the model logged nothing");
}
