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

/* ---- refs of the same forms in every step: parts at other distances, some of them too near; buffers in turn
 * ---- */
enum { M_ROWS = 96, M_COLUMNS = 32, M_PART = 40, M_STEPS = 6 };
static const uint8_t moves[][2] = {{0, 40}, {40, 44}, {0, 56}, {20, 16}, {8, 8}, {56, 0}, {8, 12}, {0, 41}};
static void moves_body(void) {
  const int32_t step = pl_program_id(0);
  const pl_ref all = pl_output(0);
  if (step == 0)
    pl_copy(all, pl_input(0));
  for (unsigned i = 0; i < sizeof moves / sizeof moves[0]; i++) { /* in odd steps in another order */
    const uint8_t *const move = moves[i ^ (step & 1)];
    pl_vrun(mix, PL_REFS(pl_at(all, PL_DS(move[0], M_PART)), pl_at(all, PL_DS(move[1], M_PART))),
            PL_NO_SCALARS);
  }
}
static void turns_body(void) { /* now and then a part comes between */
  const int32_t step = pl_program_id(0);
  const pl_ref now = pl_scratch(step & 1), next = pl_scratch(1 - (step & 1));
  if (step == 0)
    pl_copy(now, pl_input(0));
  pl_vrun(mix, PL_REFS(now, next), PL_NO_SCALARS);
  if (step == 4)
    pl_vrun(mix, PL_REFS(pl_at(next, PL_ALL), pl_at(next, PL_ALL)), PL_NO_SCALARS);
  if (step == M_STEPS - 1)
    pl_vrun(mix, PL_REFS(next, pl_output(0)), PL_NO_SCALARS);
}
static void spread_rows_body(void) { /* every third row, and matrices */
  const pl_ref all = pl_input(0), eight = pl_reshape(all, PL_SHAPE(8, M_ROWS / 8, M_COLUMNS));
  pl_copy(pl_output(0), all);
  pl_vrun(mix, PL_REFS(pl_at(all, PL_DS_STRIDED(1, 10, 3)), pl_at(pl_output(0), PL_DS(5, 10))),
          PL_NO_SCALARS);
  pl_vrun(mix, PL_REFS(pl_at(eight, PL_INDEX(3)), pl_at(pl_output(0), PL_DS(20, 12))), PL_NO_SCALARS);
  pl_vrun(mix, PL_REFS(pl_at(eight, PL_INDEX(2), PL_DS(2, 4)), pl_at(pl_output(0), PL_DS(34, 4))),
          PL_NO_SCALARS);
}
static void test_moves(void) {
  static int32_t want[M_ROWS * M_COLUMNS], part[M_PART * M_COLUMNS];
  arrays(PL_INT32, PL_INT32, M_ROWS, M_COLUMNS);
  memcpy(want, x32(0), sizeof want);
  for (int step = 0; step < M_STEPS; step++)
    for (unsigned m = 0; m < sizeof moves / sizeof moves[0]; m++) {
      const uint8_t *const move = moves[m ^ (step & 1)];
      for (int i = 0; i < M_PART * M_COLUMNS; i++)
        part[i] = mixed(want[move[0] * M_COLUMNS + i]);
      memcpy(&want[move[1] * M_COLUMNS], part, sizeof part);
    }
  pl_kernel kernel = {
      .name = "moves",
      .body = moves_body,
      .grid = PL_GRID(M_STEPS),
      .scratch = {PL_VMEM(PL_INT32, M_ROWS, M_COLUMNS), PL_VMEM(PL_INT32, M_ROWS, M_COLUMNS)}};
  call(&kernel);
  for (int i = 0; i < M_ROWS * M_COLUMNS; i++)
    check("moves", i, *o32(i), want[i]);
  kernel.name = "buffers in turn";
  kernel.body = turns_body;
  for (int again = 0; again < 2; again++)
    call(&kernel);
  for (int i = 0; i < M_ROWS * M_COLUMNS; i++) {
    int32_t v = *x32(i);
    for (int k = 0; k < M_STEPS + 2; k++)
      v = mixed(v);
    check("buffers in turn", i, *o32(i), v);
  }
  run("spread rows", spread_rows_body);
  for (int i = 0; i < M_ROWS * M_COLUMNS; i++) {
    const int r = i / M_COLUMNS, c = i % M_COLUMNS;
    const int from = r < 5    ? -1
                     : r < 15 ? 1 + 3 * (r - 5)
                     : r < 20 ? -1
                     : r < 32 ? r + 16
                     : r < 34 ? -1
                     : r < 38 ? r - 8
                              : -1;
    check("spread rows", i, *o32(i), from < 0 ? *x32(i) : mixed(*x32(from * M_COLUMNS + c)));
  }
}

int main(void) {
  test_refs();
  test_per_row();
  test_moves();
  return verdict("forms of vector functions");
}
