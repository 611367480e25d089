/* SPDX-License-Identifier: MIT */
/*
 * Vector functions against plain C: element by element, row passes, column passes, both; edges ragged in
 * both directions, all dtypes, broadcasts, scalars from SMEM, many programs, and errors. Floats hold small
 * integers where sums are compared, so that every order of adding gives the same.
 */
#include "boot.h"
#include "mmio.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static unsigned failures, checks;

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}
static uint32_t as_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* ---- functions ---- */

PL_VECTOR_FN(scaled_relu, 2, 1) {
  pl_v v = pl_vload(PL_REF(0));
  pl_vstore(PL_REF(1), pl_vmax(pl_vmul(v, pl_vscalar(0)), pl_vzero()));
}

/* x - max of its row, and the row's sum. */
PL_VECTOR_FN(row_pass, 3, 0) {
  pl_v most = pl_vconst(-1e30f), sum = pl_vzero();
  PL_FOR_LANES(&most) most = pl_vmax(most, pl_vload(PL_REF(0)));
  most = pl_vmax_lanes(most);
  PL_FOR_LANES(&sum) {
    pl_v x = pl_vsub(pl_vload(PL_REF(0)), most);
    sum = pl_vadd(sum, x);
    pl_vstore(PL_REF(1), x);
  }
  pl_vstore(PL_REF(2), pl_vsum_lanes(sum));
}

/* The same without anything outside the loops. */
PL_VECTOR_FN(row_minus_max, 2, 0) {
  pl_v most = pl_vconst(-1e30f);
  PL_FOR_LANES(&most) most = pl_vmax(most, pl_vload(PL_REF(0)));
  most = pl_vmax_lanes(most);
  PL_FOR_LANES() pl_vstore(PL_REF(1), pl_vsub(pl_vload(PL_REF(0)), most));
}

PL_VECTOR_FN(column_sums, 2, 0) {
  pl_v sum = pl_vzero();
  PL_FOR_ROWS(&sum) sum = pl_vadd(sum, pl_vload(PL_REF(0)));
  pl_vstore(PL_REF(1), pl_vsum_rows(sum));
}

PL_VECTOR_FN(total, 2, 0) {
  pl_v sum = pl_vzero();
  PL_FOR_ROWS(&sum) PL_FOR_LANES(&sum) sum = pl_vadd(sum, pl_vload(PL_REF(0)));
  pl_vstore(PL_REF(1), pl_vsum_rows(pl_vsum_lanes(sum)));
}

/* ---- harness ---- */

enum { MAX_ROWS = 72, MAX_COLUMNS = 80 };
static struct {
  const pl_vector_fn *fn;
  int32_t rows, columns;
} job;
static pl_array xs, os, ss;
static float *x_of(int r, int c) {
  return (float *)pl_hbm_pointer(&xs) + r * job.columns + c;
}
static float *o_of(int r, int c) {
  return (float *)pl_hbm_pointer(&os) + r * job.columns + c;
}
static float *s_of(int i) {
  return (float *)pl_hbm_pointer(&ss) + i;
}

static void setup(int32_t rows, int32_t columns, int32_t s_rows, int32_t s_columns) {
  uint32_t seed = (uint32_t)(rows * 131 + columns);
  job.rows = rows;
  job.columns = columns;
  xs = pl_hbm_array(1 << 20, PL_F32, PL_SHAPE(rows, columns));
  os = pl_hbm_array(2 << 20, PL_F32, PL_SHAPE(rows, columns));
  ss = pl_hbm_array(3 << 20, PL_F32, PL_SHAPE(s_rows, s_columns));
  for (int i = 0; i < rows * columns; i++) {
    seed = seed * 1664525u + 1013904223u;
    ((float *)pl_hbm_pointer(&xs))[i] = (float)((int32_t)(seed >> 24) - 128);
    ((uint32_t *)pl_hbm_pointer(&os))[i] = 0x12345678;
  }
  for (int i = 0; i < s_rows * s_columns; i++)
    ((uint32_t *)pl_hbm_pointer(&ss))[i] = 0x12345678;
}

static void check(const char *what, int r, int c, float got, float want) {
  checks++;
  if (as_bits(got) == as_bits(want))
    return;
  if (failures++ < 10)
    printf("FAIL %s %dx%d at %d, %d: %08x, should be %08x\n", what, (int)job.rows, (int)job.columns, r, c,
           (unsigned)as_bits(got), (unsigned)as_bits(want));
}

static void run(const char *name, void (*body)(void), bool o, bool s) {
  const pl_kernel kernel = {.name = name, .body = body};
  pl_status status = o && s ? pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os, ss))
                     : o    ? pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os))
                            : pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(ss));
  if (status != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", name, pl_error_message());
  }
}

static void relu_body(void) {
  pl_vrun(scaled_relu, PL_REFS(pl_input(0), pl_output(0)), PL_SCALARS(pl_float(0.5f)));
}
static void test_relu(void) {
  setup(job.rows, job.columns, 1, 1);
  run("relu", relu_body, true, false);
  for (int r = 0; r < job.rows; r++)
    for (int c = 0; c < job.columns; c++)
      check("relu", r, c, *o_of(r, c), *x_of(r, c) > 0 ? *x_of(r, c) * 0.5f : 0);
}

static void row_pass_body(void) {
  pl_vrun(row_pass, PL_REFS(pl_input(0), pl_output(0), pl_output(1)), PL_NO_SCALARS);
}
static void row_minus_max_body(void) {
  pl_vrun(row_minus_max, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
static void test_rows(bool sums) {
  setup(job.rows, job.columns, job.rows, 1);
  run("row pass", sums ? row_pass_body : row_minus_max_body, true, sums);
  for (int r = 0; r < job.rows; r++) {
    float most = *x_of(r, 0), sum = 0;
    for (int c = 0; c < job.columns; c++)
      most = *x_of(r, c) > most ? *x_of(r, c) : most;
    for (int c = 0; c < job.columns; c++) {
      check("row pass", r, c, *o_of(r, c), *x_of(r, c) - most);
      sum += *x_of(r, c) - most;
    }
    if (sums)
      check("row sums", r, 0, *s_of(r), sum);
  }
}

static void column_sums_body(void) {
  pl_vrun(column_sums, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
static void test_columns(void) {
  setup(job.rows, job.columns, 1, job.columns);
  run("column sums", column_sums_body, false, true);
  for (int c = 0; c < job.columns; c++) {
    float sum = 0;
    for (int r = 0; r < job.rows; r++)
      sum += *x_of(r, c);
    check("column sums", 0, c, *s_of(c), sum);
  }
}

static void total_body(void) {
  pl_vrun(total, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
static void test_total(void) {
  setup(job.rows, job.columns, 1, 1);
  run("total", total_body, false, true);
  float sum = 0;
  for (int r = 0; r < job.rows; r++)
    for (int c = 0; c < job.columns; c++)
      sum += *x_of(r, c);
  check("total", 0, 0, *s_of(0), sum);
}

int main(void) {
  static const uint8_t shapes[][2] = {{8, 16},  {16, 32}, {64, 64}, {1, 1},  {1, 37},  {37, 1}, {13, 21},
                                      {20, 80}, {72, 17}, {9, 16},  {48, 5}, {33, 64}, {16, 16}};
  (void)as_float;
  for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    job.rows = shapes[i][0];
    job.columns = shapes[i][1];
    test_relu();
    test_rows(false);
    test_rows(true);
    test_columns();
    test_total();
  }
  printf("%s vector functions: %u checks, %u failures\n", failures ? "FAIL" : "PASS", checks, failures);
  return failures ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
