/* SPDX-License-Identifier: MIT */
/*
 * Transcendental functions in vector functions, by what must hold of
 * their results.
 */
#include "vector_fn_float.h"

static void run(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {.name = name, .body = body, .scratch = {PL_VMEM(PL_F32, ROWS, COLUMNS)}};
  call(&kernel);
}

static void round_trips_body(void) {
  pl_ref t = pl_scratch(0);
  pl_log(t, pl_input(0));
  pl_exp(pl_output(0), t);
}
static void roots_body(void) {
  pl_ref t = pl_scratch(0);
  pl_sqrt(t, pl_input(0));
  pl_mul(pl_output(0), t, t);
}
static void reciprocals_body(void) {
  pl_ref t = pl_scratch(0);
  pl_reciprocal(t, pl_input(0));
  pl_mul(pl_output(0), t, pl_input(0));
}
static void powers_body(void) {
  pl_exp2(pl_output(0), pl_input(0));
}
/* tanh x = 2 sigmoid 2x - 1, and sigmoid(-x) = 1 - sigmoid x */
PL_VECTOR_FN(tanh_difference, 2, 0) {
  pl_v v = pl_vload(PL_REF(0)), twice = pl_vadd(v, v);
  pl_v s = pl_vsub(pl_vsigmoid(twice), pl_vsigmoid(pl_vneg(twice)));
  pl_vstore(PL_REF(1), pl_vsub(pl_vtanh(v), s));
}
static void tanh_body(void) {
  pl_vrun(tanh_difference, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
int main(void) {
  arrays();

  fill(0.01f, 0.37f);
  run("exp of log", round_trips_body);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    check("exp of log", i, near(*o_of(i), *x_of(i), 4e-6f));
  run("root", roots_body);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    check("root", i, near(*o_of(i), *x_of(i), 1e-6f));
  run("reciprocal", reciprocals_body);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    check("reciprocal", i, near(*o_of(i), 1, 5e-7f));
  for (int i = 0; i < ROWS * COLUMNS; i++)
    *x_of(i) = (float)(i % 200 - 100);
  run("powers of two", powers_body);
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    uint32_t got;
    memcpy(&got, o_of(i), 4);
    check("powers of two", i, got == (uint32_t)(i % 200 - 100 + 127) << 23);
  }
  fill(-8, 16.0f / (ROWS * COLUMNS));
  run("tanh", tanh_body);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    check("tanh", i, *o_of(i) < 4e-7f && *o_of(i) > -4e-7f);
  return verdict("vector mathematics");
}
