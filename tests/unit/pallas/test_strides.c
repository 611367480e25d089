/* SPDX-License-Identifier: MIT */
/*
 * Strides of dimensions of extent 1 say nothing. Every operation runs twice, with refs as they come and with
 * refs whose strides of single elements are any numbers; results and commands must be the same. And rows that
 * do not begin where a unit can take them: copied first, or refused before the device sees them.
 */
#include "suite.h"

#include "internal.h"
#include "vector_fn.h"

#include <string.h>

enum { N = 24 };

static bool odd; /* strides of single elements are any numbers */
static pl_array x, e, o;

/* The same elements. Columns of ACC have no stride. */
static pl_ref any(pl_ref ref) {
  const pl_ref r = pl_at(ref, PL_ALL);
  for (unsigned d = 0; odd && d < r.view->rank; d++)
    if (r.view->shape[d] == 1 && !(r.view->space == PL_ACC && d + 1u == r.view->rank))
      r.view->stride[d] = 1 + 2 * (int32_t)check_random_below(&suite.random, 5000);
  return r;
}

/* What operations are tried on: rows, a column and a matrix of int32, and operands of products. */
#define A      pl_scratch(0) /* [1,1,N] */
#define B      pl_scratch(1) /* [1,1,N] */
#define COLUMN pl_scratch(2) /* [N,1] */
#define MATRIX pl_scratch(3) /* [N,2N] */
#define ROW    pl_scratch(4) /* [1,N] of a type that is multiplied */
#define SQUARE pl_scratch(5) /* [N,N] */
#define STRIP  pl_scratch(6) /* [N,1] */
#define ACC    pl_scratch(7) /* [N,N] */
#define LIST   pl_scratch(8) /* [1] in SMEM */
#define WINDOW pl_scratch(9) /* [2,1,8] */
static pl_ref row_of(pl_ref ref) {
  return pl_reshape(ref, PL_SHAPE(1, N));
}
static pl_ref acc_part(int32_t rows, int32_t columns) {
  return any(pl_at(ACC, PL_DS(0, rows), PL_DS(0, columns)));
}

/* ---- operations ---- */

static void add(void) {
  pl_add(any(B), any(A), any(B));
  pl_add(any(COLUMN), any(COLUMN), any(pl_at(A, PL_ALL, PL_ALL, PL_DS(0, 1))));
}
static void broadcast(void) {
  pl_add(pl_at(MATRIX, PL_ALL, PL_DS(0, N)), pl_at(MATRIX, PL_ALL, PL_DS(0, N)), any(A));
  pl_broadcast(any(B), any(pl_at(A, PL_ALL, PL_ALL, PL_DS(0, 1))));
}
static void in_accumulator(void) {
  pl_copy(acc_part(1, N), any(A));
  pl_copy(acc_part(1, N), acc_part(1, N));
  pl_copy(any(B), acc_part(1, N));
}
static void where(void) {
  pl_store_masked(any(B), any(A), any(A));
  pl_store_bounded(any(B), any(A), 1, 5);
}
static void reduce(void) {
  pl_reduce_sum(any(pl_at(B, PL_ALL, PL_ALL, PL_DS(0, 1))), any(A), PL_OVER_COLUMNS);
  pl_reduce_max(any(pl_at(MATRIX, PL_DS(0, 1), PL_DS(0, N))), any(A), PL_OVER_ROWS);
  pl_reduce_sum(any(pl_at(COLUMN, PL_DS(0, 1))), any(COLUMN), PL_OVER_ROWS);
  pl_argmax(any(pl_at(COLUMN, PL_DS(1, 1))), any(A));
}
static void transpose(void) {
  pl_transpose(any(COLUMN), any(row_of(A)));
  pl_transpose(any(row_of(B)), any(COLUMN));
}
static void generate(void) {
  static const uint32_t key[2] = {1, 2};
  pl_iota(any(A), 2);
  pl_iota(any(COLUMN), 0);
  pl_random_bits(any(B), key, 0, 0);
  pl_roll(any(A), any(B), 3, 2);
}

PL_VECTOR_FN(sum, 3, 0) {
  pl_vstore(PL_REF(2), pl_vadd(pl_vload(PL_REF(0)), pl_vload(PL_REF(1))));
}
PL_VECTOR_FN(total, 2, 0) {
  pl_v t = pl_vconst_int(0);
  PL_FOR_ROWS(&t) t = pl_vadd(t, pl_vsum_rows(pl_vload(PL_REF(0))));
  pl_vstore(PL_REF(1), t);
}
static void function(void) {
  const int32_t lanes = (int32_t)suite.dim;
  pl_vrun(sum, PL_REFS(any(A), any(B), any(B)), PL_NO_SCALARS);
  pl_vrun(sum, PL_REFS(any(COLUMN), any(COLUMN), any(COLUMN)), PL_NO_SCALARS);
  /* One row to the right of many. */
  const pl_ref left = pl_at(MATRIX, PL_ALL, PL_DS(0, lanes)),
               right = pl_at(MATRIX, PL_DS(5, 1), PL_DS(lanes, lanes));
  pl_vrun(sum, PL_REFS(left, any(right), left), PL_NO_SCALARS);
  pl_vrun(total, PL_REFS(left, any(right)), PL_NO_SCALARS);
}

static void dots(void) {
  pl_dot(acc_part(1, N), any(ROW), SQUARE, PL_OVERWRITE);
  pl_copy(pl_at(MATRIX, PL_DS(0, 1), PL_DS(0, N)), acc_part(1, N));
  pl_dot(acc_part(N, N), any(STRIP), any(ROW), PL_OVERWRITE);
  pl_dot(acc_part(N, 1), SQUARE, any(ROW), PL_ACCUMULATE | PL_TRANSPOSED);
  pl_copy(pl_at(MATRIX, PL_DS(1, N - 1), PL_DS(0, N)), pl_at(ACC, PL_DS(1, N - 1)));
}

static void copies(void) {
  pl_sync_copy(any(A), any(B));
  pl_sync_copy(any(pl_at(pl_arg(0), PL_DS(N - 1, 1), PL_DS(0, N))), any(row_of(A)));
  pl_sync_copy(any(COLUMN), any(pl_at(MATRIX, PL_ALL, PL_DS(3, 1))));
}
static void lists(void) {
  pl_put(any(LIST), 5, 0);
  pl_gather(any(row_of(A)), pl_at(MATRIX, PL_ALL, PL_DS(0, N)), any(LIST));
  pl_scatter(pl_at(MATRIX, PL_ALL, PL_DS(0, N)), any(row_of(B)), any(LIST));
  pl_put(any(LIST), 0, 0);
  pl_gather(any(row_of(A)), any(row_of(B)), any(LIST));
  pl_scatter_add(any(row_of(B)), any(row_of(A)), any(LIST));
}
static void scalars(void) {
  pl_put(any(A), 1 + pl_get(any(B), 0, 0, 7), 0, 0, 3);
  pl_put(any(COLUMN), pl_get(any(COLUMN), 9, 0), 4, 0);
}
static void views(void) {
  const pl_ref one = any(pl_at(COLUMN, PL_DS(3, 1)));
  pl_copy(any(pl_at(B, PL_ALL, PL_ALL, PL_DS(0, N))),
          any(pl_reshape(any(A), PL_SHAPE(1, N, 1, 1))).view != NULL ? any(A) : any(B));
  pl_sync_copy(any(pl_bitcast(one, PL_INT8)), any(pl_bitcast(any(pl_at(COLUMN, PL_DS(5, 1))), PL_INT8)));
  pl_sync_copy(any(pl_squeeze(any(A), 0)), any(row_of(any(B))));
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void eights(const pl_grid *g, pl_index *b) {
  b[1].start = g->id[0];
}
static void pipelines(void) {
  const pl_kernel rows = {.name = "of one row",
                          .body = copy_body,
                          .grid = PL_GRID(3),
                          .in = {PL_BLOCK(eights, 1, 8)},
                          .out = {PL_BLOCK(eights, 1, 8)}};
  const pl_kernel edges = {.name = "at edges",
                           .body = copy_body,
                           .grid = PL_GRID(2),
                           .in = {PL_BLOCK(eights, 4, 16)},
                           .out = {PL_BLOCK(eights, 4, 16)}};
  const pl_kernel whole = {.name = "in place", .body = copy_body};
  const pl_ref from = pl_at(pl_arg(0), PL_DS(0, 1), PL_DS(0, N)),
               to = pl_at(pl_arg(0), PL_DS(1, 1), PL_DS(0, N));
  pl_emit_pipeline(&rows, PL_REFS(any(from)), PL_REFS(any(to)));
  pl_emit_pipeline(&edges, PL_REFS(any(to)), PL_REFS(any(from)));
  pl_emit_pipeline(&whole, PL_REFS(any(A)), PL_REFS(any(B)));
  const pl_allocations windows = {.in = {any(WINDOW)}};
  pl_emit_pipeline_with_allocations(&rows, PL_REFS(any(from)), PL_REFS(any(to)), &windows);
  pl_sync_copy(any(from), any(row_of(A)));
  pl_sync_copy(any(to), any(row_of(B)));
}

static const struct {
  const char *name;
  void (*run)(void);
} operations[] = {{"sums", add},
                  {"broadcast operands", broadcast},
                  {"accumulators", in_accumulator},
                  {"masked and bounded stores", where},
                  {"reductions", reduce},
                  {"transpositions", transpose},
                  {"generated values", generate},
                  {"a vector function", function},
                  {"products", dots},
                  {"copies", copies},
                  {"lists", lists},
                  {"scalars", scalars},
                  {"views", views},
                  {"pipelines", pipelines}};
enum { OPERATIONS = sizeof operations / sizeof operations[0] };

static unsigned operation;

static void body(void) {
  const pl_ref in = pl_arg(0), out = pl_arg(2);
  pl_sync_copy(pl_at(in, PL_DS(0, 1), PL_DS(0, N)), row_of(A));
  pl_sync_copy(pl_at(in, PL_DS(1, 1), PL_DS(0, N)), row_of(B));
  pl_sync_copy(pl_at(in, PL_ALL, PL_DS(0, 1)), COLUMN);
  pl_sync_copy(in, MATRIX);
  pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, 1)), ROW);
  pl_sync_copy(pl_arg(1), SQUARE);
  pl_sync_copy(pl_at(pl_arg(1), PL_ALL, PL_DS(1, 1)), STRIP);
  operations[operation].run();
  pl_sync_copy(MATRIX, pl_at(out, PL_DS(0, N)));
  pl_sync_copy(row_of(A), pl_at(out, PL_DS(N, 1), PL_DS(0, N)));
  pl_sync_copy(row_of(B), pl_at(out, PL_DS(N, 1), PL_DS(N, N)));
  pl_sync_copy(COLUMN, pl_at(out, PL_DS(N + 1, N), PL_DS(0, 1)));
}

static void test_any_stride(void) {
  static uint8_t plain[(2 * N + 1) * 2 * N * 4];
  const pl_kernel kernel = {.name = "strides",
                            .body = body,
                            .scratch = {PL_VMEM(PL_INT32, 1, 1, N), PL_VMEM(PL_INT32, 1, 1, N),
                                        PL_VMEM(PL_INT32, N, 1), PL_VMEM(PL_INT32, N, 2 * N),
                                        PL_VMEM(e.dtype, 1, N), PL_VMEM(e.dtype, N, N),
                                        PL_VMEM(e.dtype, N, 1), PL_ACC(suite.bf16 ? PL_F32 : PL_INT32, N, N),
                                        PL_SMEM(PL_INT32, 1), PL_VMEM(PL_INT32, 2, 1, 8)}};
  for (operation = 0; operation < OPERATIONS; operation++) {
    uint64_t commands[2] = {0};
    bool same = true;
    for (int run = 0; run < 4; run++) {
      pl_stats stats;
      odd = run > 0;
      suite_fill(&x); /* the pipelines write there */
      for (uint32_t i = 0; i < suite_elements(&x); i++)
        suite_put(&x, i, (double)(i * 37 % 101) - 50);
      memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
      if (!suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, e, o)), "strides: %s%s", operations[operation].name,
                    odd ? " with any strides of single elements" : ""))
        return;
      pl_get_stats(&stats);
      commands[odd] = 0;
      for (unsigned q = 0; q < TPU_QUEUE_SYNC; q++)
        commands[odd] += stats.queue[q].commands;
      if (!odd)
        memcpy(plain, pl_hbm_pointer(&o), pl_array_bytes(&o));
      same = same && (!odd || memcmp(plain, pl_hbm_pointer(&o), pl_array_bytes(&o)) == 0);
      check(!odd || commands[0] == commands[1], "strides: %s take as many commands (%u, %u)",
            operations[operation].name, (unsigned)commands[0], (unsigned)commands[1]);
    }
    check(same, "strides: %s do not depend on strides of single elements", operations[operation].name);
  }
}

/* ---- rows that begin anywhere ---- */

enum { K = 10 };
static bool flat; /* rows follow one another without a gap */

#define WIDE        pl_scratch(0) /* [N,K] of int32 */
#define LEFT        pl_scratch(1) /* [N,K] of a type that is multiplied */
#define RIGHT       pl_scratch(2) /* [K,N] */
#define PRODUCT     pl_scratch(3) /* [N,N] in ACC */
#define RESULT      pl_scratch(4) /* [N,N] of int32 */
#define FLAT(n_)    pl_scratch(5 + (n_))
#define FLAT_WINDOW pl_scratch(8) /* [2K] */

static void rows_anywhere(void) {
  const pl_ref wide = flat ? pl_reshape(FLAT(0), PL_SHAPE(N, K)) : WIDE;
  const pl_ref left = flat ? pl_reshape(FLAT(1), PL_SHAPE(N, K)) : LEFT;
  const pl_ref right = flat ? pl_reshape(FLAT(2), PL_SHAPE(K, N)) : RIGHT;
  pl_sync_copy(pl_at(pl_arg(0), PL_ALL, PL_DS(0, K)), wide);
  pl_sync_copy(pl_at(pl_arg(1), PL_ALL, PL_DS(0, K)), left);
  pl_sync_copy(pl_at(pl_arg(1), PL_DS(0, K)), right);
  pl_add(wide, wide, pl_at(wide, PL_DS(3, 1)));
  pl_vrun(sum, PL_REFS(wide, wide, wide), PL_NO_SCALARS);
  pl_argmax(pl_at(RESULT, PL_ALL, PL_DS(0, 1)), wide);
  pl_sync_copy(pl_at(RESULT, PL_ALL, PL_DS(0, 1)), pl_at(pl_arg(2), PL_DS(0, N), PL_DS(N, 1)));
  pl_dot(PRODUCT, left, right, PL_OVERWRITE);
  pl_dot(PRODUCT, left, left, PL_ACCUMULATE | PL_TRANSPOSED);
  pl_copy(RESULT, PRODUCT);
  pl_sync_copy(RESULT, pl_at(pl_arg(2), PL_DS(0, N), PL_DS(0, N)));
  pl_sync_copy(wide, pl_at(pl_arg(2), PL_DS(N, N), PL_DS(0, K)));
}

static void tens(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void windows_anywhere(void) {
  const pl_kernel rows = {.name = "windows",
                          .body = copy_body,
                          .grid = PL_GRID(3),
                          .in = {PL_BLOCK(tens, 1, K)},
                          .out = {PL_BLOCK(tens, 1, K)}};
  const pl_allocations windows = {.in = {pl_reshape(FLAT_WINDOW, PL_SHAPE(2, 1, K))}};
  const pl_ref ref = pl_at(pl_arg(0), PL_DS(0, 3), PL_DS(0, K)),
               to = pl_at(pl_arg(0), PL_DS(3, 3), PL_DS(0, K));
  pl_emit_pipeline_with_allocations(&rows, PL_REFS(ref), PL_REFS(to), &windows);
}

/* Blocks in place, of which the first one begins well. */
static void in_place_anywhere(void) {
  const pl_kernel rows = {.name = "in place",
                          .body = copy_body,
                          .grid = PL_GRID(N),
                          .in = {PL_BLOCK(tens, 1, K)},
                          .out = {PL_BLOCK(tens, 1, K)}};
  pl_emit_pipeline(&rows, PL_REFS(pl_reshape(FLAT(0), PL_SHAPE(N, K))),
                   PL_REFS(pl_at(pl_arg(0), PL_ALL, PL_DS(0, K))));
}

static void test_rows_anywhere(void) {
  static uint8_t aligned[(2 * N + 1) * 2 * N * 4];
  pl_kernel kernel = {.name = "rows anywhere",
                      .body = rows_anywhere,
                      .scratch = {PL_VMEM(PL_INT32, N, K), PL_VMEM(e.dtype, N, K), PL_VMEM(e.dtype, K, N),
                                  PL_ACC(suite.bf16 ? PL_F32 : PL_INT32, N, N), PL_VMEM(PL_INT32, N, N),
                                  PL_VMEM(PL_INT32, N * K), PL_VMEM(e.dtype, N * K), PL_VMEM(e.dtype, K * N),
                                  PL_VMEM(PL_INT32, 2 * K)}};
  for (int run = 0; run < 2; run++) {
    flat = run == 1;
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    suite_ok(pl_kernel_call(&kernel, PL_ARRAYS(x, e, o)), "strides: rows %s", flat ? "anywhere" : "of lanes");
    if (!flat)
      memcpy(aligned, pl_hbm_pointer(&o), pl_array_bytes(&o));
  }
  check(memcmp(aligned, pl_hbm_pointer(&o), pl_array_bytes(&o)) == 0,
        "strides: rows that begin anywhere are copied first");
  kernel.body = windows_anywhere;
  suite_fails(pl_kernel_call(&kernel, PL_ARRAYS(x, e, o)), PL_ERROR_SHAPE,
              "strides: buffers of the caller that begin anywhere",
              "pipeline windows: input 0: its buffers are scratch 8", "2 blocks of int32 [1, 10]",
              "bytes are needed", NULL);
  kernel.body = in_place_anywhere;
  suite_fails(pl_kernel_call(&kernel, PL_ARRAYS(x, e, o)), PL_ERROR_SPEC,
              "strides: blocks in place that begin anywhere",
              "pipeline in place: input 0: blocks along dimension 0 are 40 bytes apart in place in VMEM; a "
              "multiple of",
              NULL);
}

void suite_strides(void) {
  x = suite_array(PL_INT32, PL_SHAPE(N, 2 * N));
  e = suite_array(suite.bf16 ? PL_BF16 : PL_INT8, PL_SHAPE(N, N));
  o = suite_array(PL_INT32, PL_SHAPE(2 * N + 1, 2 * N));
  suite_fill(&e);
  test_any_stride();
  test_rows_anywhere();
}
