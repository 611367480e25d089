/* SPDX-License-Identifier: MIT */
/*
 * Gathers and scatters by lists of indices, with random shapes, lists and memories, against loops in C; the
 * additions one after the other, each rounded. An index that is no row, and that the device still works.
 */
#include "suite.h"

#include <string.h>

enum way { GATHER, SCATTER, ADD, WAYS };

static struct {
  enum way way;
  bool async, chip[2]; /* the indexed side, the other side: in VMEM */
  int32_t from, n;     /* part of the list */
  int32_t column, columns;
} job;

/* Columns of a view, whatever its rank. */
static pl_ref columns_of(pl_ref ref) {
  return pl_ref_rank(ref) == 1 ? ref : pl_at(ref, PL_ALL, PL_DS(job.column, job.columns));
}

static void body(void) {
  pl_ref table = pl_input(0), rows = pl_input(1), o = pl_output(0), sem = pl_scratch(2);
  pl_ref list = pl_at(pl_prefetch(0), PL_DS(job.from, job.n));
  pl_ref indexed = job.way == GATHER ? table : o, other = job.way == GATHER ? o : rows;
  pl_copy_handle copy = {0};

  if (job.chip[0]) {
    pl_sync_copy(job.way == GATHER ? table : o, pl_scratch(0));
    indexed = pl_scratch(0);
  }
  if (job.chip[1]) {
    pl_sync_copy(other, pl_scratch(1));
    other = pl_scratch(1);
  }
  pl_ref part = pl_at(columns_of(other), PL_DS(job.from, job.n)), to = columns_of(indexed);
  if (job.way == ADD)
    pl_scatter_add(to, part, list);
  else if (job.async)
    copy = job.way == GATHER ? pl_async_gather(part, to, list, sem) : pl_async_scatter(to, part, list, sem);
  else if (job.way == GATHER)
    pl_gather(part, to, list);
  else
    pl_scatter(to, part, list);
  if (job.way != ADD && job.async)
    pl_wait(&copy);
  if (job.way == GATHER ? job.chip[1] : job.chip[0])
    pl_sync_copy(job.way == GATHER ? pl_scratch(1) : pl_scratch(0), o);
}

/* f32 to the nearest bf16. */
static double to_bf16(double value) {
  float f = (float)value;
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static double sum_of(pl_dtype dtype, double a, double b) {
  if (dtype == PL_INT32)
    return (int32_t)((uint32_t)(int32_t)a + (uint32_t)(int32_t)b);
  return dtype == PL_BF16 ? to_bf16((float)a + (float)b) : (double)((float)a + (float)b);
}

/* Contents that round when they are added. */
static void fill(const pl_array *a) {
  suite_fill(a);
  if (a->dtype == PL_F32 || a->dtype == PL_BF16)
    for (uint32_t i = 0; i < suite_elements(a); i++) {
      const double v = (double)(int32_t)check_random32(&suite.random) / (1 << 20);
      suite_put(a, i, a->dtype == PL_BF16 ? to_bf16(v) : (float)v);
    }
}

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

static void one(unsigned number) {
  static const pl_dtype dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8};
  job.way = (enum way)below(WAYS);
  const pl_dtype dtype = dtypes[below(job.way == ADD ? 3 : 4)];
  const int32_t rank = below(5) == 0 ? 1 : 2, width = 1 + (int32_t)below(70);
  const int32_t table_rows = 1 + (int32_t)below(below(2) ? 8 : 60), list_rows = 1 + (int32_t)below(90);
  const pl_shape t = {.extent = {table_rows, rank == 2 ? width : 0}, .rank = (uint8_t)rank};
  const pl_shape l = {.extent = {list_rows, rank == 2 ? width : 0}, .rank = (uint8_t)rank};
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(list_rows));
  const pl_array table = suite_array(dtype, t), rows = suite_array(dtype, l);
  const pl_array o = suite_array(dtype, job.way == GATHER ? l : t), first = o;
  double want[90 * 70];

  job.async = below(2);
  job.chip[0] = below(2);
  job.chip[1] = below(2);
  job.from = (int32_t)below((uint32_t)list_rows);
  job.n = (int32_t)below((uint32_t)(list_rows - job.from) + 1);
  job.columns = 1 + (int32_t)below((uint32_t)width);
  job.column = (int32_t)below((uint32_t)(width - job.columns) + 1);
  if (job.n == 0 && job.way == ADD)
    job.n = 1;
  fill(&table);
  fill(&rows);
  fill(&o);
  for (int32_t i = 0; i < list_rows; i++)
    suite_put(&list, (uint32_t)i, below((uint32_t)table_rows));
  const uint32_t w = rank == 2 ? (uint32_t)width : 1, c0 = rank == 2 ? (uint32_t)job.column : 0;
  const uint32_t c1 = rank == 2 ? c0 + (uint32_t)job.columns : 1;
  for (uint32_t i = 0; i < suite_elements(&first); i++)
    want[i] = suite_get(&first, i);
  for (int32_t i = job.from; i < job.from + job.n; i++)
    for (uint32_t c = c0; c < c1; c++) {
      const uint32_t named = (uint32_t)suite_get(&list, (uint32_t)i) * w + c, mine = (uint32_t)i * w + c;
      if (job.way == GATHER)
        want[mine] = suite_get(&table, named);
      else
        want[named] =
            job.way == SCATTER ? suite_get(&rows, mine) : sum_of(dtype, want[named], suite_get(&rows, mine));
    }
  const pl_kernel kernel = {.name = "lists",
                            .body = body,
                            .num_scalar_prefetch = 1,
                            .in = {PL_IN_HBM, PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {&(pl_scratch_spec){.space = PL_VMEM, .dtype = dtype, .shape = t},
                                        &(pl_scratch_spec){.space = PL_VMEM, .dtype = dtype, .shape = l},
                                        PL_SEMAPHORES(1)}};
  if (!suite_ok(pl_call(&kernel, PL_ARGS(list, table, rows), PL_RESULTS(o)),
                "lists %u: way %d, %d of %d rows", number, job.way, (int)job.n, (int)table_rows))
    return;
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < suite_elements(&o); i++)
    wrong += suite_get(&o, i) != want[i];
  check(wrong == 0,
        "lists %u: way %d, %s, %d of %d rows of %d, columns %d+%d, chip %d %d, async %d: %u wrong", number,
        job.way, pl_dtype_name(dtype), (int)job.n, (int)table_rows, (int)w, (int)job.column, (int)job.columns,
        job.chip[0], job.chip[1], job.async, wrong);
}

/* An entry that is no row: found by the device, or by the scalar core where that adds. */
static void test_bad_entries(void) {
  const pl_array list = suite_array(PL_INT32, PL_SHAPE(8)), table = suite_array(PL_INT32, PL_SHAPE(5, 16));
  const pl_array rows = suite_array(PL_INT32, PL_SHAPE(8, 16)), o = suite_array(PL_INT32, PL_SHAPE(8, 16));
  const pl_array sums = suite_array(PL_INT32, PL_SHAPE(5, 16));
  const pl_kernel kernel = {
      .name = "bad entries",
      .body = body,
      .num_scalar_prefetch = 1,
      .in = {PL_IN_HBM, PL_IN_HBM},
      .out = {PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, 5, 16), PL_VMEM(PL_INT32, 8, 16), PL_SEMAPHORES(1)}};
  memset(&job, 0, sizeof job);
  job.n = 8;
  job.columns = 16;
  fill(&table);
  for (uint32_t i = 0; i < 8; i++)
    suite_put(&list, i, i == 6 ? -3.0 : i % 5);
  for (job.way = GATHER; job.way < WAYS; job.way++) {
    const pl_array to = job.way == GATHER ? o : sums;
    suite_fails(pl_call(&kernel, PL_ARGS(list, table, rows), PL_RESULTS(to)),
                job.way == ADD ? PL_ERROR_REF : PL_ERROR_DEVICE, "lists: an entry that is no row",
                "bad entries", "entry 6 of the list is -3", NULL);
    suite_put(&list, 6, 4);
    suite_ok(pl_call(&kernel, PL_ARGS(list, table, rows), PL_RESULTS(to)), "lists: the next call works");
    suite_put(&list, 6, -3);
  }
}

void suite_lists(void) {
  for (unsigned i = 0; i < suite.cases; i++) {
    one(i);
    if (i % 16 == 15)
      suite_release();
  }
  check(host_logged() == 0, "lists: the model logged nothing");
  test_bad_entries();
  check(host_logged() == 2, "lists: the model logged the two entries that it found");
}
