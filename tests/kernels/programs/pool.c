/* SPDX-License-Identifier: MIT */
/* Pooling: any windows, strides, padding and blocks; errors. */
#include "pool.h"
#include "check.h"

#include <stdio.h>

/* One element of the result; averages are of windows of 2^n elements, whose division is exact. */
static int32_t element(const pl_array *x, const struct pool *p, int32_t n, int32_t row, int32_t column,
                       int32_t channel) {
  int32_t most = INT32_MIN, sum = 0;
  for (int32_t i = 0; i < p->window[0]; i++)
    for (int32_t j = 0; j < p->window[1]; j++) {
      const int32_t r = row * p->stride[0] - p->padding[0] + i, c = column * p->stride[1] - p->padding[1] + j;
      if (r < 0 || r >= x->shape[1] || c < 0 || c >= x->shape[2])
        continue;
      const int32_t value = check_get(x, ((n * x->shape[1] + r) * x->shape[2] + c) * x->shape[3] + channel);
      most = value > most ? value : most;
      sum += value;
    }
  return p->kind == POOL_MAX ? most : sum / (p->window[0] * p->window[1]);
}

static bool right(const pl_array *x, const pl_array *o, const struct pool *p) {
  int32_t at = 0;
  for (int32_t n = 0; n < o->shape[0]; n++)
    for (int32_t r = 0; r < o->shape[1]; r++)
      for (int32_t c = 0; c < o->shape[2]; c++)
        for (int32_t channel = 0; channel < o->shape[3]; channel++)
          if (!check_element("pool", o, at++, element(x, p, n, r, c, channel)))
            return false;
  return true;
}

static void random_shape(void) {
  static const pl_dtype types[] = {PL_F32, PL_BF16, PL_INT8, PL_UINT8};
  struct pool p = {.kind = check_random(0, 1) ? POOL_MAX : POOL_AVERAGE, .rows = check_random(0, 4)};
  int32_t extent[2], result[2];
  for (int axis = 0; axis < 2; axis++) {
    p.window[axis] = p.kind == POOL_MAX ? check_random(1, 7) : 1 << check_random(0, 3);
    p.stride[axis] = check_random(1, 4);
    p.padding[axis] = check_random(0, p.window[axis] - 1);
    const int32_t least = p.window[axis] - 2 * p.padding[axis];
    extent[axis] = check_random(least < 1 ? 1 : least, 18);
    result[axis] = (extent[axis] + 2 * p.padding[axis] - p.window[axis]) / p.stride[axis] + 1;
  }
  const pl_dtype type = types[check_random(0, p.kind == POOL_MAX ? 3 : 1)];
  const int32_t images = check_random(1, 3), channels = check_random(1, 40), low = type == PL_UINT8 ? 0 : -1;
  const pl_array x = check_array(type, PL_SHAPE(images, extent[0], extent[1], channels), low, 2),
                 o = check_array(type, PL_SHAPE(images, result[0], result[1], channels), 9, 9);
  if (p.kind == POOL_AVERAGE) /* elements that any such window divides */
    for (int32_t i = 0; i < images * extent[0] * extent[1] * channels; i++)
      check_put(&x, i, 64 * check_get(&x, i));
  bool ok = true;

  for (int call = 0; ok && call < 2; call++)
    ok = check_works("pool", kernel_pool(x, o, &p)) && right(&x, &o, &p);
  if (!ok)
    printf("kind %d, %s, %d x %d x %d x %d, window %d x %d, stride %d x %d, padding %d x %d, %d rows\n",
           p.kind, pl_dtype_name(type), (int)images, (int)extent[0], (int)extent[1], (int)channels,
           (int)p.window[0], (int)p.window[1], (int)p.stride[0], (int)p.stride[1], (int)p.padding[0],
           (int)p.padding[1], (int)p.rows);
  check_free();
}

static void errors(void) {
  const struct pool p = {POOL_MAX, {2, 2}, {2, 2}, {0, 0}, 0},
                    average = {POOL_AVERAGE, {2, 2}, {2, 2}, {0, 0}, 0};
  struct pool wrong = p;
  const pl_array x = check_array(PL_F32, PL_SHAPE(2, 8, 6, 5), -9, 9),
                 o = check_array(PL_F32, PL_SHAPE(2, 4, 3, 5), 0, 0),
                 flat = check_array(PL_F32, PL_SHAPE(8, 6, 5), 0, 0),
                 bytes = check_array(PL_INT8, PL_SHAPE(2, 8, 6, 5), -9, 9),
                 bytes_o = check_array(PL_INT8, PL_SHAPE(2, 4, 3, 5), 0, 0);

  check_fails(kernel_pool(flat, o, &p), PL_ERROR_SHAPE, "ranks are 3 and 4");
  check_fails(kernel_pool(x, x, &p), PL_ERROR_SHAPE, "with this window o has 4 rows of 3 columns");
  check_fails(kernel_pool(bytes, o, &p), PL_ERROR_SHAPE,
              "x is int8, o f32; the same, f32, bf16, int8 or uint8");
  check_fails(kernel_pool(bytes, bytes_o, &average), PL_ERROR_SHAPE, "the same, f32 or bf16");
  wrong.padding[1] = 2;
  check_fails(kernel_pool(x, o, &wrong), PL_ERROR_ARGUMENT, "window 2, stride 2, padding 2 of columns");
  wrong = p;
  wrong.stride[0] = 0;
  check_fails(kernel_pool(x, o, &wrong), PL_ERROR_ARGUMENT, "window 2, stride 0, padding 0 of rows");
  wrong = p;
  wrong.rows = -1;
  check_fails(kernel_pool(x, o, &wrong), PL_ERROR_ARGUMENT, "blocks of -1 rows");
  check_works("pool after errors", kernel_pool(x, o, &p));
  right(&x, &o, &p);
  check_free();
  check_end("pool: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("pool", random_shape);
  errors();
  return check_status();
}
