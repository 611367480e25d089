/* SPDX-License-Identifier: MIT */
/*
 * f32 operands of pl_dot(): the parts are made here once more, in plain C, multiplied as bf16 in the stated
 * order, and must give the same bits; and the result is as near to the product as the precision says.
 */
#include "suite.h"

#include "tpu_regs.h"

#include <math.h>
#include <string.h>

enum { M = 24, K = 40, N = 19 };

struct how {
  unsigned mode;
  bool explicit_parts;
  unsigned nx, ny; /* inputs that are parts of x and of y */
};

static void body(void) {
  const struct how *how = pl_user();
  unsigned mode = how->mode;
  if (!how->explicit_parts) {
    pl_dot(pl_scratch(0), pl_input(0), pl_input(1), mode);
  } else {
    for (int order = (int)(how->nx > how->ny ? how->nx : how->ny) - 1; order >= 0; order--)
      for (int i = order; i >= 0; i--)
        if (i < (int)how->nx && order - i < (int)how->ny) {
          pl_dot(pl_scratch(0), pl_input(i), pl_input((int)how->nx + order - i), mode);
          mode |= PL_ACCUMULATE;
        }
  }
  pl_copy(pl_output(0), pl_scratch(0));
}

static float rounded(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000u;
  memcpy(&f, &bits, 4);
  return f;
}

/* The parts of an array, in bf16. */
static void parts_of(const pl_array *x, unsigned n, pl_array *part) {
  const float *from = pl_hbm_pointer(x);
  for (unsigned p = 0; p < n; p++)
    part[p] = suite_array(PL_BF16, (pl_shape){.extent = {x->shape[0], x->shape[1]}, .rank = 2});
  for (uint32_t i = 0; i < suite_elements(x); i++) {
    float rest = from[i];
    for (unsigned p = 0; p < n; p++) {
      const float r = rounded(rest);
      suite_put(&part[p], i, r);
      rest -= r;
    }
  }
}

static pl_status multiply(struct how how, pl_arrays operands, const pl_array *o) {
  const pl_kernel kernel = {
      .name = "dot_f32", .body = body, .user = &how, .out = {PL_WHOLE}, .scratch = {PL_ACC(PL_F32, M, N)}};
  return pl_call(&kernel, operands, PL_RESULTS(*o));
}

static float random_float(void) {
  const int32_t mantissa = (int32_t)check_random_below(&suite.random, 1u << 25) - (1 << 24);
  return ldexpf((float)mantissa, (int)check_random_below(&suite.random, 8) - 28);
}

/* One precision, operand dtypes and orientation. */
static void run(unsigned precision, unsigned parts, bool y_is_bf16, bool transposed) {
  static const char *const names[] = {"", "one pass", "PL_PRECISION_HIGH", "PL_PRECISION_HIGHEST"};
  pl_array x = suite_array(PL_F32, PL_SHAPE(M, K));
  pl_array y = suite_array(y_is_bf16 ? PL_BF16 : PL_F32, transposed ? PL_SHAPE(N, K) : PL_SHAPE(K, N));
  pl_array o = suite_array(PL_F32, PL_SHAPE(M, N)), want = suite_array(PL_F32, PL_SHAPE(M, N)), part[6];
  const unsigned orientation = transposed ? PL_TRANSPOSED : 0, ny = y_is_bf16 ? 1 : parts;

  for (uint32_t i = 0; i < suite_elements(&x); i++)
    suite_put(&x, i, random_float());
  for (uint32_t i = 0; i < suite_elements(&y); i++)
    suite_put(&y, i, y_is_bf16 ? rounded(random_float()) : random_float());
  parts_of(&x, parts, part);
  if (y_is_bf16)
    part[parts] = y;
  else
    parts_of(&y, ny, part + parts);
  if (!suite_ok(multiply((struct how){.mode = precision | orientation}, PL_ARGS(x, y), &o), "f32 dot") ||
      !suite_ok(multiply((struct how){orientation, true, parts, ny}, (pl_arrays){part, parts + ny}, &want),
                "parts"))
    return;
  check(memcmp(pl_hbm_pointer(&o), pl_hbm_pointer(&want), pl_array_bytes(&o)) == 0,
        "f32 x %s%s, %s: the bits of the passes over bf16 parts", y_is_bf16 ? "bf16" : "f32",
        transposed ? " transposed" : "", names[parts]);
  double worst = 0;
  for (int32_t i = 0; i < M; i++)
    for (int32_t j = 0; j < N; j++) {
      double sum = 0, size = 0;
      for (int32_t k = 0; k < K; k++) {
        const double p = suite_get(&x, (uint32_t)(i * K + k)) *
                         suite_get(&y, (uint32_t)(transposed ? j * K + k : k * N + j));
        sum += p;
        size += fabs(p);
      }
      const double error = fabs(suite_get(&o, (uint32_t)(i * N + j)) - sum) / size;
      worst = error > worst ? error : worst;
    }
  /* One part is off by 2^-8 of its operand, two by 2^-16 and by the product of the second parts; sums add
   * 2^-22. */
  const double bound = ldexp(1.0, parts == 1 ? -7 : parts == 2 ? -14 : -21);
  check(worst <= bound && worst > (parts == 3 ? 0 : bound / 64),
        "f32 x %s, %s: error 2^%.1f of the sum of sizes, bound 2^%.0f", y_is_bf16 ? "bf16" : "f32",
        names[parts], log2(worst), log2(bound));
}

static void too_large_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_PRECISION_HIGHEST);
}

void suite_dot_f32(void) {
  static const unsigned precision[] = {0, PL_OVERWRITE, PL_PRECISION_HIGH, PL_PRECISION_HIGHEST};

  if (!suite.bf16)
    return;
  for (unsigned parts = 1; parts <= 3; parts++)
    for (unsigned kind = 0; kind < 4; kind++)
      run(precision[parts], parts, kind & 1, kind & 2);
  /* No room for the parts: the message says for what. */
  pl_array x = suite_array(PL_F32, PL_SHAPE(128, 256)), y = suite_array(PL_F32, PL_SHAPE(256, 128));
  const pl_kernel kernel = {.name = "large", .body = too_large_body, .scratch = {PL_ACC(PL_F32, 128, 128)}};
  suite_fails(pl_call(&kernel, PL_ARGS(x, y), (pl_arrays){0}), PL_ERROR_BUDGET, "f32 dot without room",
              "large", "bf16", "pl_dot keeps the bf16 parts of its f32 operands there, 3 of each", NULL);
  const struct how wrong = {.mode = 32};
  pl_array a = suite_array(PL_F32, PL_SHAPE(M, K)), b = suite_array(PL_F32, PL_SHAPE(K, N)),
           o = suite_array(PL_F32, PL_SHAPE(M, N)), i8 = suite_array(PL_INT8, PL_SHAPE(K, N));
  suite_fails(multiply(wrong, PL_ARGS(a, b), &o), PL_ERROR_ARGUMENT, "a mode that is none", "mode 32",
              "PL_PRECISION_", NULL);
  suite_fails(multiply((struct how){0}, PL_ARGS(a, i8), &o), PL_ERROR_SHAPE, "f32 x int8",
              "f32 x int8 -> f32", "f32 or bf16 x f32 or bf16 -> f32", NULL);
  check(host_logged() == 0, "f32 dot: the model logged nothing");
}
