/* SPDX-License-Identifier: MIT */
/*
 * Vector operations against plain C: random shapes, dtypes, broadcasts, memories, and views at any place,
 * aligned or not. The whole memory around the result is compared, so that what must stay is seen to stay.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

enum operation {
  COPY,
  ADD,
  SUB,
  MUL,
  MAX,
  MIN,
  LESS,
  LESS_EQUAL,
  EQUAL,
  NOT_EQUAL,
  WHERE,
  MASKED,
  BOUNDED,
  BROADCAST,
  IOTA_ROWS,
  IOTA_COLUMNS,
  SUM_,
  MAX_,
  MIN_,
  OPERATIONS
};
static const char *const names[] = {"copy",   "add",          "sub",           "mul",       "max",
                                    "min",    "less",         "less_equal",    "equal",     "not_equal",
                                    "where",  "store_masked", "store_bounded", "broadcast", "iota 0",
                                    "iota 1", "reduce_sum",   "reduce_max",    "reduce_min"};

enum { O, A, B, M, REFS }; /* result, sources, mask */
enum { GAP = 3 };

/* Where a ref lies in its scratch, of which it is a part. */
struct place {
  pl_dtype dtype;
  int32_t rows, columns;         /* of the ref */
  int32_t row, column, row_step; /* of its first element; distance of rows */
  bool acc;                      /* copied to ACC first */
};

static struct {
  enum operation operation;
  struct place place[REFS];
  enum pl_reduction over;
  int32_t rows, columns; /* bounds */
} at;

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

static pl_ref part_of(pl_ref ref, const struct place *p) {
  return pl_at(ref, PL_DS_STRIDED(p->row, p->rows, p->row_step), PL_DS(p->column, p->columns));
}

static void body(void) {
  pl_ref ref[REFS];
  for (int i = 0; i < REFS; i++) {
    pl_sync_copy(pl_input(i), pl_scratch(i));
    ref[i] = part_of(pl_scratch(i), &at.place[i]);
    if (at.place[i].acc) {
      pl_ref acc = pl_at(pl_scratch(REFS + i), PL_DS(0, at.place[i].rows), PL_DS(0, at.place[i].columns));
      pl_copy(acc, ref[i]);
      ref[i] = acc;
    }
  }
  pl_ref o = ref[O], a = ref[A], b = ref[B], m = ref[M];
  switch (at.operation) {
  case COPY:
    pl_copy(o, a);
    break;
  case ADD:
    pl_add(o, a, b);
    break;
  case SUB:
    pl_sub(o, a, b);
    break;
  case MUL:
    pl_mul(o, a, b);
    break;
  case MAX:
    pl_max(o, a, b);
    break;
  case MIN:
    pl_min(o, a, b);
    break;
  case LESS:
    pl_less(o, a, b);
    break;
  case LESS_EQUAL:
    pl_less_equal(o, a, b);
    break;
  case EQUAL:
    pl_equal(o, a, b);
    break;
  case NOT_EQUAL:
    pl_not_equal(o, a, b);
    break;
  case WHERE:
    pl_where(o, m, a, b);
    break;
  case MASKED:
    pl_store_masked(o, a, m);
    break;
  case BOUNDED:
    pl_store_bounded(o, a, at.rows, at.columns);
    break;
  case BROADCAST:
    pl_broadcast(o, b);
    break;
  case IOTA_ROWS:
    pl_iota(o, 0);
    break;
  case IOTA_COLUMNS:
    pl_iota(o, 1);
    break;
  case SUM_:
    pl_reduce_sum(o, a, at.over);
    break;
  case MAX_:
    pl_reduce_max(o, a, at.over);
    break;
  case MIN_:
    pl_reduce_min(o, a, at.over);
    break;
  case OPERATIONS:
    break;
  }
  if (at.place[O].acc)
    pl_copy(part_of(pl_scratch(O), &at.place[O]), o);
  pl_sync_copy(pl_scratch(O), pl_output(0));
}

/* ---- the reference ---- */

static bool is_real(pl_dtype dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

/* Nearest even to 24 or 8 bits. */
static double round_float(double v, pl_dtype dtype) {
  int e;
  if (v == 0 || !isfinite(v))
    return v;
  const double m = frexp(v, &e), scale = dtype == PL_BF16 ? 256 : 16777216;
  return ldexp(nearbyint(m * scale) / scale, e);
}

/* What is stored of a value that was computed as a float or as an int. */
static double store(double v, bool real, pl_dtype dtype) {
  if (is_real(dtype))
    return round_float(v, dtype);
  if (!real) {
    const int64_t i = (int64_t)v;
    return dtype == PL_INT8 ? (int8_t)i : dtype == PL_UINT8 ? (uint8_t)i : (int32_t)i;
  }
  const double low = dtype == PL_INT8 ? -128 : dtype == PL_UINT8 ? 0 : -2147483648.0;
  const double high = dtype == PL_INT8 ? 127 : dtype == PL_UINT8 ? 255 : 2147483647.0;
  return isnan(v) ? 0 : fmin(fmax(trunc(v), low), high);
}

static pl_array in[REFS], out;

/* Element of a ref, with broadcast. */
static double element(int which, int32_t row, int32_t column) {
  const struct place *p = &at.place[which];
  const int32_t r = p->rows == 1 ? 0 : row, c = p->columns == 1 ? 0 : column;
  return suite_get(&in[which], (uint32_t)((p->row + r * p->row_step) * in[which].shape[1] + p->column + c));
}

static double extreme(double a, double b, bool max) {
  return isnan(a) || isnan(b) ? (double)NAN : max ? fmax(a, b) : fmin(a, b);
}

static double expected(int32_t row, int32_t column) {
  const double a = element(A, row, column), b = element(B, row, column), old = element(O, row, column);
  switch (at.operation) {
  case COPY:
    return a;
  case ADD:
    return a + b;
  case SUB:
    return a - b;
  case MUL:
    return a * b;
  case MAX:
    return extreme(a, b, true);
  case MIN:
    return extreme(a, b, false);
  case LESS:
    return a < b;
  case LESS_EQUAL:
    return a <= b;
  case EQUAL:
    return a == b;
  case NOT_EQUAL:
    return !(a == b);
  case WHERE:
    return element(M, row, column) != 0 ? a : b;
  case MASKED:
    return element(M, row, column) != 0 ? a : old;
  case BOUNDED:
    return row < at.rows && column < at.columns ? a : old;
  case BROADCAST:
    return b;
  case IOTA_ROWS:
    return row;
  case IOTA_COLUMNS:
    return column;
  default:
    break;
  }
  const struct place *x = &at.place[A];
  double sum = at.operation == SUM_ ? 0 : at.operation == MAX_ ? -(double)INFINITY : (double)INFINITY;
  for (int32_t r = 0; r < x->rows; r++)
    for (int32_t c = 0; c < x->columns; c++)
      if ((at.over != PL_OVER_COLUMNS || r == row) && (at.over != PL_OVER_ROWS || c == column)) {
        const double v = element(A, r, c);
        sum = at.operation == SUM_ ? sum + v : extreme(sum, v, at.operation == MAX_);
      }
  return sum;
}

static bool computed_real(void) {
  if (at.operation >= LESS && at.operation <= NOT_EQUAL)
    return false;
  if (at.operation == IOTA_ROWS || at.operation == IOTA_COLUMNS)
    return false;
  return is_real(at.place[at.operation == BROADCAST ? B : A].dtype);
}

/* ---- cases ---- */

static pl_dtype random_dtype(int kind) {
  static const uint8_t real[] = {PL_F32, PL_BF16}, whole[] = {PL_INT32, PL_INT8, PL_UINT8};
  return (pl_dtype)(kind == 0 ? real[below(2)] : whole[below(3)]);
}

static void random_case(void) {
  const int32_t rows = 1 + (int32_t)below(40), columns = 1 + (int32_t)below(50);
  const int kind = (int)below(2);

  at.operation = (enum operation)below(OPERATIONS);
  at.over = (enum pl_reduction)below(3);
  at.rows = (int32_t)below((uint32_t)rows + 1);
  at.columns = (int32_t)below((uint32_t)columns + 1);
  for (int i = 0; i < REFS; i++) {
    struct place *p = &at.place[i];
    *p = (struct place){.dtype = random_dtype(i == M   ? 1
                                              : i == O ? (int)below(2)
                                                       : kind),
                        .rows = rows,
                        .columns = columns,
                        .row_step = 1};
    if ((i == B && at.operation != COPY) || (i == M)) {
      if (below(3) == 0)
        p->rows = 1;
      if (below(3) == 0)
        p->columns = 1;
    }
    if (i == A && at.operation == WHERE && below(4) == 0)
      p->rows = 1;
    if (i == O && at.operation >= SUM_) {
      p->rows = at.over == PL_OVER_COLUMNS ? rows : 1;
      p->columns = at.over == PL_OVER_ROWS ? columns : 1;
    }
    if (below(3) == 0) { /* anywhere */
      p->row = (int32_t)below(GAP);
      p->column = (int32_t)below(4);
      p->row_step = 1 + (int32_t)below(2);
    }
    p->acc = below(4) == 0 && pl_dtype_bytes(p->dtype) == 4;
  }
  if (at.operation == MASKED && is_real(at.place[O].dtype) != is_real(at.place[A].dtype))
    at.place[A] = at.place[O]; /* they become one value */
}

static void fill(pl_array *a) {
  suite_fill(a);
  if (is_real(a->dtype) && below(3) == 0) { /* special values */
    static const double special[] = {INFINITY, -INFINITY, NAN, 0.5, -1.5};
    if (at.operation == SUM_ || at.operation == MUL)
      return;
    for (int k = 0; k < 3; k++)
      suite_put(a, below(suite_elements(a)), special[below(5)]);
  }
}

static void one_case(uint32_t number) {
  static const pl_block_spec whole = {.space = PL_HBM};
  pl_scratch_spec spec[2 * REFS];
  pl_kernel kernel = {.name = "compute", .body = body};

  suite_release();
  random_case();
  for (int i = 0; i < REFS; i++) {
    const struct place *p = &at.place[i];
    pl_shape shape = PL_SHAPE(p->row + p->rows * p->row_step + GAP, p->column + p->columns + GAP);
    in[i] = suite_array(p->dtype, shape);
    fill(&in[i]);
    spec[i] = (pl_scratch_spec){.space = PL_VMEM, .dtype = (uint8_t)p->dtype, .shape = shape};
    spec[REFS + i] = (pl_scratch_spec){.space = PL_ACC,
                                       .dtype = (uint8_t)(p->acc ? p->dtype : PL_F32),
                                       .shape = PL_SHAPE(p->acc ? p->rows : 1, p->acc ? p->columns : 1)};
  }
  for (int i = 0; i < 2 * REFS; i++)
    kernel.scratch[i] = &spec[i];
  for (int i = 0; i < REFS; i++)
    kernel.in[i] = &whole;
  kernel.out[0] = &whole;
  out = suite_array(at.place[O].dtype, PL_SHAPE(in[O].shape[0], in[O].shape[1]));
  const pl_status status = pl_call(&kernel, (pl_arrays){in, REFS}, PL_RESULTS(out));
  if (status != PL_OK) {
    check(false, "compute: case %u, %s: %s", number, names[at.operation], pl_error_message());
    return;
  }
  const struct place *o = &at.place[O];
  uint32_t wrong = 0, first = 0;
  double got = 0, want = 0;
  for (int32_t r = 0; r < out.shape[0]; r++)
    for (int32_t c = 0; c < out.shape[1]; c++) {
      const uint32_t i = (uint32_t)(r * out.shape[1] + c);
      const int32_t row = (r - o->row) / o->row_step, column = c - o->column;
      const bool inside = r >= o->row && (r - o->row) % o->row_step == 0 && row < o->rows && column >= 0 &&
                          column < o->columns;
      const double v =
          inside ? store(expected(row, column), computed_real(), out.dtype) : suite_get(&in[O], i);
      if (suite_get(&out, i) != v && !(isnan(v) && isnan(suite_get(&out, i))) && wrong++ == 0) {
        first = i;
        got = suite_get(&out, i);
        want = v;
      }
    }
  if (wrong != 0)
    check(false,
          "compute: case %u, %s (over %d) of %s to %s, [%d, %d]: %u wrong, the first at %u: %g, not %g",
          number, names[at.operation], at.over, pl_dtype_name(at.place[A].dtype), pl_dtype_name(out.dtype),
          (int)o->rows, (int)o->columns, wrong, first, got, want);
}

/* ---- dots of any views ---- */

static void dot_body(void) {
  pl_ref x = pl_at(pl_input(0), PL_DS_STRIDED(1, 5, 2), PL_DS(3, 21)),
         y = pl_at(pl_input(1), PL_DS(2, 21), PL_DS(1, 18));
  pl_dot(pl_scratch(0), x, y, PL_OVERWRITE);
  pl_copy(pl_output(0), pl_scratch(0));
}

static void test_dot(void) {
  pl_array x = suite_array(PL_INT8, PL_SHAPE(12, 24)), y = suite_array(PL_INT8, PL_SHAPE(23, 20)),
           o = suite_array(PL_INT32, PL_SHAPE(5, 18));
  const pl_kernel kernel = {.name = "dot", .body = dot_body, .scratch = {PL_ACC(PL_INT32, 5, 18)}};
  uint32_t wrong = 0;

  suite_fill(&x);
  suite_fill(&y);
  suite_ok(pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)), "compute: a dot of unaligned views");
  for (uint32_t m = 0; m < 5; m++)
    for (uint32_t n = 0; n < 18; n++) {
      double sum = 0;
      for (uint32_t k = 0; k < 21; k++)
        sum += suite_get(&x, (1 + 2 * m) * 24 + 3 + k) * suite_get(&y, (2 + k) * 20 + 1 + n);
      wrong += suite_get(&o, m * 18 + n) != sum;
    }
  check(wrong == 0, "compute: a dot of unaligned views, contents (%u wrong)", wrong);
}

/* Sources that share memory with the result. */
static void overlap_body(void) {
  pl_ref v = pl_scratch(0);
  pl_sync_copy(pl_input(0), v);
  pl_add(v, v, pl_at(v, PL_ALL, PL_DS(0, 1)));             /* a column of the result */
  pl_copy(pl_at(v, PL_DS(1, 19)), pl_at(v, PL_DS(0, 19))); /* a step down */
  pl_sync_copy(v, pl_output(0));
}

static void test_overlap(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(20, 40)), o = suite_array(PL_INT32, PL_SHAPE(20, 40));
  const pl_kernel kernel = {.name = "overlap",
                            .body = overlap_body,
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_INT32, 20, 40)}};
  uint32_t wrong = 0;
  suite_fill(&x);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "compute: sources that share memory with the result");
  for (uint32_t i = 0; i < 20 * 40; i++) {
    const uint32_t row = i / 40 > 0 ? i / 40 - 1 : 0;
    wrong += suite_get(&o, i) != suite_get(&x, row * 40 + i % 40) + suite_get(&x, row * 40);
  }
  check(wrong == 0, "compute: sources that share memory with the result, contents (%u wrong)", wrong);
}

/* A store to a part of an accumulator stays in it, where one to all of it goes on to a fresh one. */
static void bounded_body(void) {
  pl_ref v = pl_scratch(0), acc = pl_scratch(1);
  pl_sync_copy(pl_input(0), v);
  pl_copy(acc, v);
  pl_add(v, v, v);
  pl_store_bounded(acc, v, 3, 5);
  pl_copy(v, acc);
  pl_sync_copy(v, pl_output(0));
}

static void test_bounded(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(20, 40)), o = suite_array(PL_INT32, PL_SHAPE(20, 40));
  const pl_kernel kernel = {.name = "bounded",
                            .body = bounded_body,
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_INT32, 20, 40), PL_ACC(PL_INT32, 20, 40)}};
  uint32_t wrong = 0;
  suite_fill(&x);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "compute: a bounded store to an accumulator");
  for (uint32_t i = 0; i < 20 * 40; i++)
    wrong += suite_get(&o, i) != suite_get(&x, i) * (i / 40 < 3 && i % 40 < 5 ? 2 : 1);
  check(wrong == 0, "compute: a bounded store to an accumulator, contents (%u wrong)", wrong);
}

/* ---- errors ---- */

static int which;
static void bad_body(void) {
  pl_ref v = pl_scratch(0), f = pl_scratch(1), acc = pl_scratch(2);
  switch (which) {
  case 0:
    pl_reduce_sum(pl_at(v, PL_DS(0, 2)), v, PL_OVER_ROWS);
    break;
  case 1:
    pl_where(v, f, v, v);
    break;
  case 2:
    pl_where(v, v, v, f);
    break;
  case 3:
    pl_store_bounded(v, v, 21, 4);
    break;
  case 4:
    pl_less(v, pl_at(v, PL_DS(0, 1)), v);
    break;
  case 5:
    pl_add(acc, acc, pl_at(acc, PL_ALL, PL_DS(0, 1)));
    break;
  case 6:
    pl_copy(pl_at(pl_scratch(3), PL_DS(1, pl_ref_extent(pl_scratch(3), 0) - 1)),
            pl_at(pl_scratch(3), PL_DS(0, pl_ref_extent(pl_scratch(3), 0) - 1)));
    break;
  case 7:
    pl_dot(pl_at(acc, PL_DS_STRIDED(0, 8, 2)), pl_at(pl_bitcast(v, PL_INT8), PL_DS(0, 8), PL_DS(0, 16)),
           pl_at(pl_bitcast(v, PL_INT8), PL_DS(0, 16), PL_DS(0, 40)), PL_OVERWRITE);
    break;
  case 8:
    pl_broadcast(v, pl_at(v, PL_DS(0, 2)));
    break;
  }
}

static void test_errors(void) {
  static const struct {
    pl_status status;
    const char *words[3];
  } cases[] = {
      {PL_ERROR_SHAPE, {"pl_reduce_sum: int32 [20, 40]", "has 1 rows and 40 columns"}},
      {PL_ERROR_SHAPE, {"pl_where: the mask is f32; it must be int32, int8 or uint8"}},
      {PL_ERROR_SHAPE, {"pl_where: int32 and f32; cast one with pl_copy"}},
      {PL_ERROR_ARGUMENT, {"pl_store_bounded: 21 rows and 4 columns; there are 0 to 20 and 0 to 40"}},
      {PL_ERROR_SHAPE, {"pl_less: int32 [1, 40] does not go into int32 [20, 40]"}},
      {PL_ERROR_UNSUPPORTED, {"pl_add: a source and the result share a part of scratch 2 in ACC"}},
      {PL_ERROR_BUDGET, {"pl_copy: the view int32 [", ", 8] of scratch 3 is not aligned", "a temporary of"}},
      {PL_ERROR_REF, {"pl_dot: the result is every 2 rows"}},
      {PL_ERROR_SHAPE, {"pl_broadcast: int32 [2, 40] does not go into int32 [20, 40]"}},
  };
  pl_array x = suite_array(PL_INT32, PL_SHAPE(20, 40)), o = suite_array(PL_INT32, PL_SHAPE(20, 40));
  suite_fill(&x);
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    /* two thirds of VMEM, of rows of one register: a copy has no room */
    const uint32_t row = suite.dim > 8 ? suite.dim * 4 : 32,
                   vmem = suite.dim == 8 && !suite.bf16 ? 131072 : 524288;
    const int32_t rows = which == 6 ? (int32_t)(vmem / row * 2 / 3) : 4;
    const pl_kernel kernel = {.name = "bad",
                              .body = bad_body,
                              .in = {PL_IN_HBM},
                              .out = {PL_IN_HBM},
                              .scratch = {PL_VMEM(PL_INT32, 20, 40), PL_VMEM(PL_F32, 20, 40),
                                          PL_ACC(PL_INT32, 20, 40), PL_VMEM(PL_INT32, rows, 8)}};
    char name[64];
    snprintf(name, sizeof name, "compute: error %d", which);
    suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), cases[which].status, name, "kernel bad, step 0 ",
                cases[which].words[0], cases[which].words[1], cases[which].words[2], NULL);
  }
}

void suite_compute(void) {
  for (uint32_t i = 0; i < suite.cases * 2; i++)
    one_case(i);
  check(true, "compute: %u random operations", suite.cases * 2);
  suite_release();
  test_dot();
  test_overlap();
  test_bounded();
  test_errors();
  check(host_logged() == 0, "compute: the model logged nothing");
}
