/* SPDX-License-Identifier: MIT */
/* Rotary position embedding: any shapes, in place, errors. */
#include "rotary.h"
#include "check.h"

#include <stdio.h>

/* o against its definition; x's elements as they were before the call are in `from`. */
static bool right(const pl_array *from, const pl_array *cosine, const pl_array *sine, const pl_array *o) {
  const int32_t positions = o->shape[1], half = o->shape[2] / 2;

  for (int32_t h = 0; h < o->shape[0]; h++)
    for (int32_t t = 0; t < positions; t++)
      for (int32_t i = 0; i < half; i++) {
        const int32_t at = (h * positions + t) * 2 * half + i, angle = t * half + i;
        const int32_t a = check_get(from, at), b = check_get(from, at + half), c = check_get(cosine, angle),
                      s = check_get(sine, angle);
        if (!check_element("rotary: first half", o, at, a * c - b * s) ||
            !check_element("rotary: second half", o, at + half, b * c + a * s))
          return false;
      }
  return true;
}

/* Without zeros: a product that is -0 is no whole number. */
static pl_array numbers(pl_dtype dtype, pl_shape shape) {
  const pl_array a = check_array(dtype, shape, 1, 9);
  const int32_t n = (int32_t)(pl_array_bytes(&a) / pl_dtype_bytes(dtype));
  for (int32_t i = 0; i < n; i++)
    if (check_random(0, 1))
      check_put(&a, i, -check_get(&a, i));
  return a;
}

static void random_shape(void) {
  const int32_t heads = check_random(1, 4), positions = check_random(1, 40), half = check_random(1, 40),
                rows = check_random(0, 20);
  const pl_dtype type = check_random(0, 1) ? PL_BF16 : PL_F32, angles = check_random(0, 1) ? PL_BF16 : PL_F32;
  const pl_shape shape = PL_SHAPE(heads, positions, 2 * half);
  const pl_array x = numbers(type, shape), cosine = numbers(angles, PL_SHAPE(positions, half)),
                 sine = numbers(angles, PL_SHAPE(positions, half)),
                 o = check_array(check_random(0, 1) ? PL_BF16 : PL_F32, shape, 0, 0);
  bool ok = true;

  for (int call = 0; ok && call < 2; call++)
    ok = check_works("rotary", kernel_rotary(x, cosine, sine, o, rows)) && right(&x, &cosine, &sine, &o);
  if (ok) { /* in place */
    const pl_array copy = check_array(type, shape, 0, 0);
    for (int32_t i = 0; i < heads * positions * 2 * half; i++)
      check_put(&copy, i, check_get(&x, i));
    ok = check_works("rotary in place", kernel_rotary(x, cosine, sine, x, rows)) &&
         right(&copy, &cosine, &sine, &x);
  }
  if (!ok)
    printf("%d x %d x %d, blocks of %d\n", (int)heads, (int)positions, (int)(2 * half), (int)rows);
  check_free();
}

static void errors(void) {
  const pl_array x = numbers(PL_F32, PL_SHAPE(2, 10, 16)),
                 odd = check_array(PL_F32, PL_SHAPE(2, 10, 15), -9, 9),
                 o = check_array(PL_F32, PL_SHAPE(2, 10, 16), 0, 0),
                 cosine = numbers(PL_F32, PL_SHAPE(10, 8)), sine = numbers(PL_F32, PL_SHAPE(10, 8)),
                 full = check_array(PL_F32, PL_SHAPE(10, 16), -3, 3),
                 ints = check_array(PL_INT32, PL_SHAPE(10, 8), -3, 3);
  pl_array elsewhere = o;
  elsewhere.space = PL_VMEM;

  check_fails(kernel_rotary(x, cosine, sine, odd, 0), PL_ERROR_SHAPE, "x and o [H,T,D] of the same shape");
  check_fails(kernel_rotary(odd, cosine, sine, odd, 0), PL_ERROR_SHAPE, "heads of 15 elements");
  check_fails(kernel_rotary(x, full, sine, o, 0), PL_ERROR_SHAPE, "cosine is 10 x 16, sine 10 x 8; [10,8]");
  check_fails(kernel_rotary(x, cosine, ints, o, 0), PL_ERROR_SHAPE,
              "rotary: x is f32, o f32, cosine f32, sine int32; each must be");
  check_fails(kernel_rotary(x, cosine, sine, elsewhere, 0), PL_ERROR_ARGUMENT,
              "rotary: x and o must be in HBM");
  check_fails(kernel_rotary(x, cosine, sine, o, -2), PL_ERROR_ARGUMENT, "blocks of -2 rows");
  check_works("rotary after errors", kernel_rotary(x, cosine, sine, o, 0));
  right(&x, &cosine, &sine, &o);
  check_free();
  check_end("rotary: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("rotary", random_shape);
  errors();
  return check_status();
}
