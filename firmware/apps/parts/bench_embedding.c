/* SPDX-License-Identifier: MIT */
/*
 * Figures of the lookup of embeddings and its gradient: 4096 ids, rows of 512 bytes, of a table of 2048 that
 * are named twice each. Two calls of pl_call(), and what is around them counts, too.
 */
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "embedding.h"

#include <string.h>

enum { IDS = 4096, ROWS = 2048, COLUMNS = 128, STEP = 1237, VALUES = 32, CALLS = 3 };

struct arrays {
  pl_array ids, table, rows; /* row i is that of id i */
};

static int32_t id(int32_t i) {
  return i * STEP % ROWS;
}

/* Gradients: few values, so that nothing is converted for each element. */
static uint32_t value(uint32_t number, uint32_t times) {
  const float f = (float)(number * times);
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}
static uint32_t number(int32_t i, int32_t column) {
  return (uint32_t)(i + column) % VALUES;
}

/* The bound is what the port takes in one direction, `times` rows an id. */
static void tell(const char *name, uint32_t times, uint64_t cycles) {
  const uint32_t bytes = IDS * COLUMNS * 4 * times;
  bench_percent(name, "bound", bytes / boot_params.value[TPU_PARAM_HBM_PORT_BYTES], cycles);
  bench_row(name, cycles, IDS);
}

static void lookup(const struct arrays *a) {
  static const char name[] = "embedding_4096_rows512";
  uint32_t *const table = pl_hbm_pointer(&a->table), *const rows = pl_hbm_pointer(&a->rows);
  uint64_t cycles = 0;
  bool right = true;

  for (uint32_t i = 0; i < ROWS * COLUMNS; i++)
    table[i] = i;
  for (int call = 0; call < CALLS; call++) { /* the first one makes plans */
    const uint64_t begin = bench_now();
    if (kernel_embedding(a->ids, a->table, a->rows) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  for (int32_t i = 0; i < IDS; i++)
    for (int32_t c = 0; c < COLUMNS; c++)
      right = right && rows[i * COLUMNS + c] == (uint32_t)(id(i) * COLUMNS + c);
  if (!right)
    bench_fail(name, "the result is wrong");
  tell(name, 1, cycles);
}

static void gradient(const struct arrays *a) {
  static const char name[] = "embedding_grad_4096_rows512";
  uint32_t *const table = pl_hbm_pointer(&a->table), *const rows = pl_hbm_pointer(&a->rows);
  uint32_t once[VALUES], sums[VALUES];
  uint64_t cycles = 0;
  bool right = true;

  for (uint32_t v = 0; v < VALUES; v++) {
    once[v] = value(v, 1);
    sums[v] = value(v, IDS / ROWS * CALLS);
  }
  for (int32_t i = 0; i < IDS; i++)
    for (int32_t c = 0; c < COLUMNS; c++)
      rows[i * COLUMNS + c] = once[number(i, c)];
  memset(table, 0, ROWS * COLUMNS * sizeof *table);
  for (int call = 0; call < CALLS; call++) {
    const uint64_t begin = bench_now();
    if (kernel_embedding_grad(a->ids, a->rows, a->table) != PL_OK) {
      bench_fail(name, pl_error_message());
      return;
    }
    cycles = bench_now() - begin;
  }
  for (int32_t i = 0; i < ROWS; i++)
    for (int32_t c = 0; c < COLUMNS; c++)
      right = right && table[id(i) * COLUMNS + c] == sums[number(i, c)];
  if (!right)
    bench_fail(name, "the result is wrong");
  tell(name, 2, cycles);
}

static void measure(pl_dtype dtype, void (*figures)(const struct arrays *)) {
  struct arrays a;
  pl_array *const each[] = {&a.ids, &a.table, &a.rows};

  if (pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(IDS), &a.ids) != PL_OK ||
      pl_alloc(PL_HBM, dtype, PL_SHAPE(ROWS, COLUMNS), &a.table) != PL_OK ||
      pl_alloc(PL_HBM, dtype, PL_SHAPE(IDS, COLUMNS), &a.rows) != PL_OK) {
    bench_fail("embedding", pl_error_message());
    return;
  }
  for (int32_t i = 0; i < IDS; i++)
    ((int32_t *)pl_hbm_pointer(&a.ids))[i] = id(i);
  figures(&a);
  for (unsigned i = 0; i < 3; i++)
    if (pl_free(each[i]) != PL_OK)
      bench_fail("embedding", pl_error_message());
}

void bench_embedding(void) {
  measure(PL_INT32, lookup);
  measure(PL_F32, gradient);
}
