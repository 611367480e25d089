/* SPDX-License-Identifier: MIT */
/* What each misuse of vector functions says. */
#include "vector_fn_int.h"
#include "mmio.h"

PL_VECTOR_FN(mix, 2, 0) {
  pl_vstore(PL_REF(1), mix_of(pl_vload(PL_REF(0))));
}
static void mix_body(void) {
  pl_vrun(mix, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}

/* ---- errors ---- */
PL_VECTOR_FN(reads_grid, 2, 0) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), pl_vconst_int(pl_program_id(0))));
}
PL_VECTOR_FN(reads_ref, 2, 0) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), pl_vconst_int(pl_get(pl_input(0), 0, 0))));
}
PL_VECTOR_FN(mixes_types, 2, 0) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), pl_vconst(1)));
}
PL_VECTOR_FN(too_wide, 2, 0) {
  pl_v v[40], sum = pl_vzero();
  for (int i = 0; i < 40; i++)
    v[i] = pl_vload(PL_REF(0));
  for (int i = 0; i < 40; i++)
    sum = pl_vadd(sum, pl_vmul(v[i], v[39 - i]));
  pl_vstore(PL_REF(1), sum);
}
PL_VECTOR_FN(too_long, 2, 0) {
  pl_v v = pl_vload(PL_REF(0));
  for (int i = 0; i < 300; i++)
    v = pl_vadd(v, v);
  pl_vstore(PL_REF(1), v);
}
PL_VECTOR_FN(not_carried, 2, 0) {
  pl_v v = pl_vzero();
  PL_FOR_LANES() v = pl_vload(PL_REF(0));
  PL_FOR_LANES() pl_vstore(PL_REF(1), v);
}
PL_VECTOR_FN(no_store, 2, 0) {
  (void)pl_vload(PL_REF(0));
}
PL_VECTOR_FN(wrong_pair, 2, 0) {
  pl_vstore(PL_REF(1), pl_vfloat(pl_vload(PL_REF(0))));
}
PL_VECTOR_FN(no_ref, 2, 0) {
  pl_vstore(PL_REF(2), pl_vload(PL_REF(0)));
}
PL_VECTOR_FN(no_loop, 2, 0) {
  pl_vstore(PL_REF(1), pl_vsum_lanes(pl_vload(PL_REF(0))));
}
PL_VECTOR_FN(outside, 2, 0) {
  pl_v v = pl_vload(PL_REF(0));
  PL_FOR_LANES() pl_vstore(PL_REF(1), v);
}
PL_VECTOR_FN(row_by_row, 2, 0) {
  PL_FOR_ROWS() {
    pl_v v = pl_vzero();
    PL_FOR_LANES(&v) v = pl_vadd(v, pl_vload(PL_REF(0)));
    v = pl_vmax_rows(v);
    PL_FOR_LANES() pl_vstore(PL_REF(1), v);
  }
}
PL_VECTOR_FN(twice, 2, 0) {
  pl_v v = pl_vzero();
  PL_FOR_LANES(&v, &v) v = pl_vload(PL_REF(0));
  PL_FOR_LANES() pl_vstore(PL_REF(1), v);
}
static pl_vector_fn *wrong;
static void wrong_body(void) {
  pl_vrun(wrong, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
PL_VECTOR_FN(plus, 2, 1) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), pl_vscalar(0)));
}
static void with_scalar(pl_scalar scalar) {
  pl_vrun(plus, PL_REFS(pl_input(0), pl_output(0)), PL_SCALARS(scalar));
}
static void far_scalar_body(void) {
  with_scalar(PL_SCALAR_AT(pl_scratch(0), 4));
}
static void deep_scalar_body(void) {
  with_scalar(PL_SCALAR_AT(pl_scratch(0), 0, 0));
}
static void space_scalar_body(void) {
  with_scalar(PL_SCALAR_AT(pl_input(0), 0, 0));
}
static void counts_body(void) {
  pl_vrun(mix, PL_REFS(pl_input(0)), PL_NO_SCALARS);
}
static void read_only_body(void) {
  pl_vrun(mix, PL_REFS(pl_output(0), pl_input(0)), PL_NO_SCALARS);
}
static void space_body(void) {
  pl_vrun(mix, PL_REFS(pl_scratch(0), pl_output(0)), PL_NO_SCALARS);
}
static void shape_body(void) {
  pl_vrun(mix, PL_REFS(pl_at(pl_input(0), PL_DS(0, 3), PL_ALL), pl_output(0)), PL_NO_SCALARS);
}
static void outside_body(void) {
  (void)pl_vadd(pl_vconst(1), pl_vconst(2));
}
static void expect(pl_vector_fn *fn, void (*body)(void), const char *text) {
  const pl_kernel kernel = {.name = "wrong", .body = body, .scratch = {PL_SMEM(PL_INT32, 4)}};
  wrong = fn;
  const pl_status status = pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  checks++;
  if (status != PL_OK && strstr(pl_error_message(), text) != NULL)
    return;
  failures++;
  printf("FAIL no \"%s\" in: %s\n", text, status != PL_OK ? pl_error_message() : "(no error)");
}
static void test_errors(void) {
  arrays(PL_INT32, PL_INT32, 16, 32);
  expect(reads_grid, wrong_body, "vector function reads_grid, while its body is recorded");
  expect(reads_ref, wrong_body, "may use pl_v functions only");
  expect(mixes_types, wrong_body, "f32 meets int32");
  expect(too_wide, wrong_body, "there are 32 registers; values of lines");
  expect(too_wide, wrong_body, "load of PL_REF(0)");
  expect(too_long, wrong_body, "PL_MAX_VECTOR_VALUES (127)");
  expect(not_carried, wrong_body, "of a loop that has ended");
  expect(no_store, wrong_body, "stores nothing");
  expect(wrong_pair, wrong_body, "a store of f32 and a ref of int32 (PL_REF(1))");
  expect(no_ref, wrong_body, "PL_REF(2); the function has 2 refs");
  expect(no_loop, wrong_body, "needs a PL_FOR_LANES");
  expect(outside, wrong_body, "outside of PL_FOR_LANES only refs with one column");
  expect(row_by_row, wrong_body,
         "a reduction over rows belongs behind PL_FOR_ROWS or into the loop inside it");
  expect(twice, wrong_body, "a loop carries a variable twice");
  expect(NULL, counts_body, "launched with 1 refs and 0 scalars, it has 2 and 0");
  expect(NULL, read_only_body, "would be written");
  expect(NULL, space_body, "mix: scratch 0 is in SMEM; the vector unit reaches VMEM and ACC");
  expect(NULL, shape_body, "refs have 16 rows of 32 columns, or 1 of either");
  expect(NULL, far_scalar_body, "PL_SCALAR_AT: index 4 in dimension 0 is outside scratch 0");
  expect(NULL, deep_scalar_body, "PL_SCALAR_AT: 2 indices for scratch 0 of rank 1");
  expect(NULL, space_scalar_body, "PL_SCALAR_AT: input 0 is int32 in VMEM; it must be f32 or int32 in SMEM");
  expect(NULL, outside_body, "outside the body of a vector function");
  run("after errors", mix_body);
  for (int i = 0; i < 16 * 32; i++)
    check("after errors", i, *o32(i), mixed(*x32(i)));
}

int main(void) {
  test_errors();
  return verdict("errors of vector functions");
}
