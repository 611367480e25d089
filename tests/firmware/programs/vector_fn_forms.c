/* SPDX-License-Identifier: MIT */
/*
 * Refs of vector functions: broadcasts, scalars by value and from SMEM, parts of blocks that
 * need temporaries, and the same memory twice.
 */
#include "vector_fn_int.h"

PL_VECTOR_FN(mix, 2, 0) {
  pl_vstore(PL_REF(1), mix_of(pl_vload(PL_REF(0))));
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
          PL_SCALARS(pl_int(7), PL_SCALAR_AT(pl_scratch(0), 2)));
}
/* A whole-ref operation with constants of its own behind a launch with one in SMEM. */
static void after_body(void) {
  const pl_ref in = pl_input(0), narrow = pl_scratch(1);
  spread_body();
  pl_copy(narrow, in); /* wraps */
  pl_vrun(mix, PL_REFS(narrow, pl_output(0)), PL_NO_SCALARS);
}
static void part_body(void) { /* a part that is not aligned, and onto itself shifted by a row */
  pl_ref all = pl_output(0);
  pl_copy(all, pl_input(0));
  pl_ref low = pl_at(all, PL_DS(0, S_ROWS - 1), PL_DS(S_FROM, S_COLUMNS - S_FROM));
  pl_ref high = pl_at(all, PL_DS(1, S_ROWS - 1), PL_DS(S_FROM, S_COLUMNS - S_FROM));
  pl_vrun(mix, PL_REFS(low, high), PL_NO_SCALARS);
  pl_vrun(mix, PL_REFS(pl_at(all, PL_DS(0, 1)), pl_at(all, PL_DS(0, 1))), PL_NO_SCALARS);
}
static void test_refs(void) {
  arrays(PL_INT32, PL_INT32, S_ROWS, S_COLUMNS);
  run("spread", spread_body);
  for (int r = 0; r < S_ROWS; r++)
    for (int c = 0; c < S_COLUMNS; c++)
      check("spread", r * S_COLUMNS + c, *o32(r * S_COLUMNS + c),
            *x32(r * S_COLUMNS + c) + *x32(5 * S_COLUMNS + c) +
                *x32(r * S_COLUMNS + 16) * *x32(2 * S_COLUMNS + 32) + 1007);
  for (int i = 0; i < S_ROWS * S_COLUMNS; i++)
    *x32(i) = i * 300 - 1000;
  const pl_kernel after = {.name = "after scalars in SMEM",
                           .body = after_body,
                           .scratch = {PL_SMEM(PL_INT32, 4), PL_VMEM(PL_INT8, S_ROWS, S_COLUMNS)}};
  call(&after);
  for (int i = 0; i < S_ROWS * S_COLUMNS; i++)
    check("after scalars in SMEM", i, *o32(i), mixed((int8_t)*x32(i)));
  arrays(PL_INT32, PL_INT32, S_ROWS, S_COLUMNS);
  run("part", part_body);
  for (int r = 0; r < S_ROWS; r++)
    for (int c = 0; c < S_COLUMNS; c++)
      check("part", r * S_COLUMNS + c, *o32(r * S_COLUMNS + c),
            r == 0        ? mixed(*x32(c))
            : c >= S_FROM ? mixed(*x32((r - 1) * S_COLUMNS + c))
                          : *x32(r * S_COLUMNS + c));
}

/* ---- a value a row, loaded before a loop over ragged columns and used in it and behind it ---- */
PL_VECTOR_FN(per_row, 3, 0) {
  const pl_v own = pl_vload(PL_REF(1));
  pl_v sum = pl_vzero();
  PL_FOR_LANES(&sum) {
    const pl_v v = pl_vmul(pl_vload(PL_REF(0)), own);
    sum = pl_vadd(sum, v);
    pl_vstore(PL_REF(2), v);
  }
  sum = pl_vadd(pl_vsum_lanes(sum), pl_vload(PL_REF(1)));
  PL_FOR_LANES() pl_vstore(PL_REF(2), pl_vadd(sum, pl_vload(PL_REF(2))));
}
static void per_row_body(void) {
  const pl_ref in = pl_input(0), out = pl_output(0);
  pl_vrun(per_row, PL_REFS(in, pl_at(in, PL_ALL, PL_DS(16, 1)), out), PL_NO_SCALARS);
}
static void test_per_row(void) {
  enum { ROWS = 45, COLUMNS = 39 }; /* three times two tiles of rows, the last one ragged */
  arrays(PL_INT32, PL_INT32, ROWS, COLUMNS);
  run("a value a row", per_row_body);
  for (int r = 0; r < ROWS; r++) {
    const int own = *x32(r * COLUMNS + 16);
    int sum = own;
    for (int c = 0; c < COLUMNS; c++)
      sum += *x32(r * COLUMNS + c) * own;
    for (int c = 0; c < COLUMNS; c++)
      check("a value a row", r * COLUMNS + c, *o32(r * COLUMNS + c), sum + *x32(r * COLUMNS + c) * own);
  }
}

int main(void) {
  test_refs();
  test_per_row();
  return verdict("forms of vector functions");
}
