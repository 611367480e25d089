/* SPDX-License-Identifier: MIT */
/* What misuse of vector functions says, as far as tests/firmware/programs/vector_fn_errors.c leaves it out.
 */
#include "suite.h"

#include "internal.h"

static pl_array x, o;

PL_VECTOR_FN(fine, 2, 0) {
  pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}
static pl_v kept;
PL_VECTOR_FN(keeps, 2, 0) {
  kept = pl_vload(PL_REF(0));
  pl_vstore(PL_REF(1), kept);
}
PL_VECTOR_FN(unset, 2, 0) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), kept));
}
/* Every operation without each of its operands: what the message calls it, and the operation. */
#define NONE         PL_VNONE
#define UNARY(name_) X("a of pl_v" #name_, pl_v##name_(NONE))
#define BINARY(name_)                                                                                        \
  X("a of pl_v" #name_, pl_v##name_(NONE, x))                                                                \
  X("b of pl_v" #name_, pl_v##name_(x, NONE))
#define ALL_WITHOUT                                                                                          \
  BINARY(add)                                                                                                \
  BINARY(sub)                                                                                                \
  BINARY(mul)                                                                                                \
  BINARY(min)                                                                                                \
  BINARY(max)                                                                                                \
  BINARY(eq)                                                                                                 \
  BINARY(ne)                                                                                                 \
  BINARY(lt)                                                                                                 \
  BINARY(le)                                                                                                 \
  BINARY(gt)                                                                                                 \
  BINARY(ge)                                                                                                 \
  BINARY(ltu)                                                                                                \
  BINARY(valid)                                                                                              \
  BINARY(and)                                                                                                \
  BINARY(or)                                                                                                 \
  BINARY(xor)                                                                                                \
  BINARY(shl)                                                                                                \
  BINARY(shr)                                                                                                \
  BINARY(sar)                                                                                                \
  UNARY(neg)                                                                                                 \
  UNARY(float)                                                                                               \
  UNARY(int_rne)                                                                                             \
  UNARY(int_rtz)                                                                                             \
  UNARY(bf16)                                                                                                \
  UNARY(bits_float)                                                                                          \
  UNARY(bits_int)                                                                                            \
  UNARY(sum_lanes)                                                                                           \
  UNARY(min_lanes)                                                                                           \
  UNARY(max_lanes)                                                                                           \
  UNARY(argmax_lanes)                                                                                        \
  UNARY(sum_rows)                                                                                            \
  UNARY(min_rows)                                                                                            \
  UNARY(max_rows)                                                                                            \
  UNARY(argmax_rows)                                                                                         \
  UNARY(exp2)                                                                                                \
  UNARY(log2)                                                                                                \
  UNARY(recip)                                                                                               \
  UNARY(rsqrt)                                                                                               \
  UNARY(tanh)                                                                                                \
  UNARY(sigmoid)                                                                                             \
  X("a of pl_vrotate_lanes", pl_vrotate_lanes(NONE, 1))                                                      \
  X("a of pl_vrotate_rows", pl_vrotate_rows(NONE, 1))                                                        \
  X("a of pl_vlane", pl_vlane(NONE, 1))                                                                      \
  X("a of pl_vrow", pl_vrow(NONE, 1))                                                                        \
  X("a of pl_vfma", pl_vfma(NONE, f, f))                                                                     \
  X("b of pl_vfma", pl_vfma(f, NONE, f))                                                                     \
  X("c of pl_vfma", pl_vfma(f, f, NONE))                                                                     \
  X("m of pl_vselect", pl_vselect(NONE, x, x))                                                               \
  X("a of pl_vselect", pl_vselect(x, NONE, x))                                                               \
  X("b of pl_vselect", pl_vselect(x, x, NONE))
#define X(name_, operation_) name_,
static const char *const without_names[] = {ALL_WITHOUT "v of pl_vstore", "a of PL_FOR_LANES",
                                            "b of PL_FOR_ROWS", "a of PL_FOR_ROWS"};
#undef X
enum { WITHOUT = sizeof without_names / sizeof without_names[0] };
static unsigned chosen;

PL_VECTOR_FN(without, 2, 0) {
  const pl_v x = pl_vload(PL_REF(0)), f = pl_vfloat(x);
  pl_v r = x, none = NONE, other = pl_vconst_int(0);
  unsigned i = 0;
#define X(name_, operation_)                                                                                 \
  if (i++ == chosen)                                                                                         \
    r = operation_;
  ALL_WITHOUT
#undef X
  if (i == chosen)
    pl_vstore(PL_REF(1), NONE);
  if (i + 1 == chosen)
    PL_FOR_LANES(&none) none = x;
  if (i + 2 == chosen)
    PL_FOR_ROWS(&other, &none) none = x;
  if (i + 3 == chosen)
    PL_FOR_ROWS(&other) other = NONE;
  pl_vstore(PL_REF(1), r);
  (void)f;
}
PL_VECTOR_FN(nothing, 3, 0) {
  pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}
PL_VECTOR_FN(never, 2, 0) {
  pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}
PL_VECTOR_FN(no_scalar, 2, 1) {
  pl_vstore(PL_REF(1), pl_vadd(pl_vload(PL_REF(0)), pl_vscalar(1)));
}
PL_VECTOR_FN(wrong_type, 2, 0) {
  pl_vstore(PL_REF(1), pl_vexp2(pl_vload(PL_REF(0))));
}
PL_VECTOR_FN(transcendental, 2, 0) {
  pl_vstore(PL_REF(1), pl_vint_rne(pl_vexp2(pl_vfloat(pl_vload(PL_REF(0))))));
}
PL_VECTOR_FN(randomly, 2, 1) {
  pl_vstore(PL_REF(1), pl_vrandom(0, -1));
}
PL_VECTOR_FN(many_loops, 2, 0) {
  for (int i = 0; i < 9; i++)
    PL_FOR_LANES() pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}
PL_VECTOR_FN(loop_in_loop, 2, 0) {
  PL_FOR_LANES()
  PL_FOR_LANES() pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}
PL_VECTOR_FN(many_carried, 2, 0) {
  pl_v v[17];
  for (int i = 0; i < 17; i++)
    v[i] = pl_vconst_int(i);
  PL_FOR_LANES(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12],
               &v[13], &v[14], &v[15], &v[16])
  v[0] = pl_vadd(v[0], pl_vload(PL_REF(0)));
  pl_vstore(PL_REF(1), v[0]);
}
PL_VECTOR_FN(left, 2, 0) {
  PL_FOR_LANES() {
    pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
    break;
  }
}
/* 16 carried values and 20 loaded ones live at a time. */
PL_VECTOR_FN(crowded, 2, 0) {
  pl_v v[16], w[20];
  for (int i = 0; i < 16; i++)
    v[i] = pl_vconst_int(i);
  PL_FOR_LANES(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12],
               &v[13], &v[14], &v[15]) {
    for (int i = 0; i < 20; i++)
      w[i] = pl_vload(PL_REF(0));
    for (int i = 0; i < 20; i++)
      v[i % 16] = pl_vadd(v[i % 16], pl_vmul(w[i], w[19 - i]));
    pl_vstore(PL_REF(1), v[0]);
  }
  for (int i = 1; i < 16; i++)
    v[0] = pl_vadd(v[0], v[i]);
  PL_FOR_LANES() pl_vstore(PL_REF(1), v[0]);
}
PL_VECTOR_FN(both, 3, 0) {
  pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
  pl_vstore(PL_REF(2), pl_vload(PL_REF(0)));
}

static pl_vector_fn *wrong;
static int parameter; /* of the device, which the body changes; 0: none */
static uint32_t value;
static void body(void) {
  pl_ref to = pl_at(pl_output(0), PL_DS(0, 8));
  const uint32_t old = pl_context.params.value[parameter];
  if (parameter != 0)
    pl_context.params.value[parameter] = value;
  if (wrong == nothing)
    pl_vrun(wrong, PL_REFS(pl_input(0), to, pl_at(to, PL_DS(0, 0))), PL_NO_SCALARS);
  else if (wrong->refs == 3)
    pl_vrun(wrong, PL_REFS(pl_input(0), to, pl_at(pl_output(0), PL_DS(4, 8))), PL_NO_SCALARS);
  else if (wrong->scalars == 1)
    pl_vrun(wrong, PL_REFS(pl_input(0), to), PL_SCALARS(pl_int(1)));
  else
    pl_vrun(wrong, PL_REFS(pl_input(0), to), PL_NO_SCALARS);
  pl_context.params.value[parameter] = old;
}

static pl_status run(pl_vector_fn *fn) {
  const pl_kernel kernel = {.name = "wrong", .body = body, .in = {PL_WHOLE}, .out = {PL_WHOLE}};
  wrong = fn;
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void fails(pl_vector_fn *fn, pl_status status, const char *name, const char *words) {
  suite_fails(run(fn), status, name, "kernel wrong, step 0", words, NULL);
  parameter = 0;
  suite_ok(run(fine), "vector messages: the next call works");
}

void suite_vector_messages(void) {
  x = suite_array(PL_INT32, PL_SHAPE(8, 32));
  o = suite_array(PL_INT32, PL_SHAPE(16, 32));
  suite_fill(&x);
  suite_ok(run(keeps), "vector messages: a body that keeps a value");
  fails(unset, PL_ERROR_ARGUMENT, "vector messages: a value that was not set",
        "operand b of pl_vadd has no value here: it was not set, or is of another recording");
  for (chosen = 0; chosen < WITHOUT; chosen++) {
    char words[80];
    snprintf(words, sizeof words, "operand %s has no value here", without_names[chosen]);
    fails(without, PL_ERROR_ARGUMENT, "vector messages: an operand that is none", words);
  }
  suite_ok(run(without), "vector messages: with all operands");
  fails(unset, PL_ERROR_ARGUMENT, "vector messages: the line of it", "vector function unset, line ");
  fails(no_scalar, PL_ERROR_ARGUMENT, "vector messages: a scalar too many", "scalar 1; the function has 1");
  fails(wrong_type, PL_ERROR_SHAPE, "vector messages: an integer's exponential",
        "the operand is int32 (value of line ");
  fails(randomly, PL_ERROR_ARGUMENT, "vector messages: half a key",
        "pl_vrandom: key and offset are each the first of two scalars of the function");
  fails(many_loops, PL_ERROR_LIMIT, "vector messages: nine loops", "more than 8 loops");
  fails(loop_in_loop, PL_ERROR_ARGUMENT, "vector messages: a loop in a loop",
        "a loop in a loop; only a PL_FOR_ROWS can have others in it, which are PL_FOR_LANES");
  fails(many_carried, PL_ERROR_ARGUMENT, "vector messages: 17 carried values",
        "loops carry too many variables");
  fails(left, PL_ERROR_ARGUMENT, "vector messages: a loop that is left",
        "a loop that was left by break, goto or return");
  fails(crowded, PL_ERROR_UNSUPPORTED, "vector messages: too many live values", " (carried)");
  fails(both, PL_ERROR_UNSUPPORTED, "vector messages: two results in one place",
        "vector function both: PL_REF(1) and PL_REF(2) share a part of output 0; copy one first");
  fails(nothing, PL_ERROR_SHAPE, "vector messages: a ref with nothing in it",
        "vector function nothing: the rows of output 0 are not evenly spaced, or it is empty");
  parameter = TPU_PARAM_VPU_PRESENT;
  value = 0;
  fails(never, PL_ERROR_UNSUPPORTED, "vector messages: no vector unit",
        "vector function never: this configuration has no vector unit");
  parameter = TPU_PARAM_VPU_PROGRAM;
  value = 4;
  fails(never, PL_ERROR_UNSUPPORTED, "vector messages: a small program memory", "a program of ");
  parameter = TPU_PARAM_EUP_LANES;
  value = 0;
  fails(transcendental, PL_ERROR_UNSUPPORTED, "vector messages: no transcendental unit",
        "this configuration has no transcendental functions");
  check(host_logged() == 0, "vector messages: the model logged nothing");
}
