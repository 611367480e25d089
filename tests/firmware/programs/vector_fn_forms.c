/* SPDX-License-Identifier: MIT */
/*
 * Refs of vector functions: broadcasts, scalars by value and from SMEM, parts of blocks that
 * need temporaries, the and the same memory twice.
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static unsigned failures, checks;
static pl_array x, o;

static void check(const char *what, int i, int32_t got, int32_t want) {
  checks++;
  if (got != want && failures++ < 10)
    printf("FAIL %s at %d: %d, should be %d\n", what, i, (int)got, (int)want);
}
static void run(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {.name = name, .body = body, .scratch = {PL_SMEM(PL_INT32, 4)}};
  if (pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", name, pl_error_message());
  }
}
static int32_t *x32(int i) {
  return (int32_t *)pl_hbm_pointer(&x) + i;
}
static int32_t *o32(int i) {
  return (int32_t *)pl_hbm_pointer(&o) + i;
}
static void arrays(pl_dtype from, pl_dtype to, int32_t rows, int32_t columns) {
  x = pl_hbm_array(1 << 20, from, PL_SHAPE(rows, columns));
  o = pl_hbm_array(2 << 20, to, PL_SHAPE(rows, columns));
  memset(pl_hbm_pointer(&o), 0x55, (size_t)rows * (size_t)columns * 4);
  for (int i = 0; i < rows * columns; i++)
    *x32(i) = i * 7 % 101 - 50;
}

PL_VECTOR_FN(mix, 2, 0) {
  pl_v v = pl_vload(PL_REF(0)), one = pl_vconst_int(1);
  v = pl_vadd(pl_vshl(v, one), pl_vand(v, one));
  v = pl_vselect(pl_vlt(v, pl_vconst_int(20)), pl_vneg(v), pl_vxor(v, pl_vconst_int(255)));
  pl_vstore(PL_REF(1), v);
}
/* ---- o = x + row + column x element + SMEM scalar; parts of blocks; in place ---- */
PL_VECTOR_FN(spread, 5, 2) {
  pl_v sum = pl_vadd(pl_vload(PL_REF(0)), pl_vload(PL_REF(1)));
  sum = pl_vadd(sum, pl_vmul(pl_vload(PL_REF(2)), pl_vload(PL_REF(3))));
  pl_vstore(PL_REF(4), pl_vadd(pl_vadd(sum, pl_vscalar(0)), pl_vscalar(1)));
}
enum { S_ROWS = 21, S_COLUMNS = 50, S_FROM = 3 };
static void spread_body(void) {
  pl_put(pl_scratch(0), 1000, 2);
  pl_ref in = pl_input(0);
  pl_vrun(spread,
          PL_REFS(in, pl_at(in, PL_DS(5, 1), PL_ALL), pl_at(in, PL_ALL, PL_DS(16, 1)),
                  pl_at(in, PL_DS(2, 1), PL_DS(32, 1)), pl_output(0)),
          PL_SCALARS(PL_SCALAR_AT(pl_scratch(0), 2), pl_int(7)));
}
static void part_body(void) { /* a part that is not aligned, and onto itself shifted by a row */
  pl_ref all = pl_output(0);
  pl_copy(all, pl_input(0));
  pl_ref low = pl_at(all, PL_DS(0, S_ROWS - 1), PL_DS(S_FROM, S_COLUMNS - S_FROM));
  pl_ref high = pl_at(all, PL_DS(1, S_ROWS - 1), PL_DS(S_FROM, S_COLUMNS - S_FROM));
  pl_vrun(mix, PL_REFS(low, high), PL_NO_SCALARS);
  pl_vrun(mix, PL_REFS(pl_at(all, PL_DS(0, 1)), pl_at(all, PL_DS(0, 1))), PL_NO_SCALARS);
}
static int32_t mixed(int32_t v) {
  v = v * 2 + (v & 1);
  return v < 20 ? -v : v ^ 255;
}
static void test_refs(void) {
  arrays(PL_INT32, PL_INT32, S_ROWS, S_COLUMNS);
  run("spread", spread_body);
  for (int r = 0; r < S_ROWS; r++)
    for (int c = 0; c < S_COLUMNS; c++)
      check("spread", r * S_COLUMNS + c, *o32(r * S_COLUMNS + c),
            *x32(r * S_COLUMNS + c) + *x32(5 * S_COLUMNS + c) +
                *x32(r * S_COLUMNS + 16) * *x32(2 * S_COLUMNS + 32) + 1007);
  run("part", part_body);
  for (int r = 0; r < S_ROWS; r++)
    for (int c = 0; c < S_COLUMNS; c++)
      check("part", r * S_COLUMNS + c, *o32(r * S_COLUMNS + c),
            r == 0        ? mixed(*x32(c))
            : c >= S_FROM ? mixed(*x32((r - 1) * S_COLUMNS + c))
                          : *x32(r * S_COLUMNS + c));
}

int main(void) {
  test_refs();
  printf("%s forms of vector functions: %u checks, %u failures\n", failures ? "FAIL" : "PASS", checks,
         failures);
  return failures ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
