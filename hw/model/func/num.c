/* SPDX-License-Identifier: MIT */
/* The numbers of the machine as loops over arrays; see num.h. */
#include "num.h"

#include "num_kernels.h"

/* A destination may be a source: the same element, never another one. */
#define FOR_EACH(i, n) _Pragma("GCC ivdep") for (uint32_t i = 0; i < (n); i++)

#define BINARY(name, element)                                                                                \
  NUM_CLONES void name(uint32_t *d, const uint32_t *a, const uint32_t *b, uint32_t n) {                      \
    FOR_EACH(i, n)                                                                                           \
    d[i] = element(a[i], b[i]);                                                                              \
  }

#define UNARY(name, element, to, from)                                                                       \
  NUM_CLONES void name(to *d, const from *a, uint32_t n) {                                                   \
    FOR_EACH(i, n)                                                                                           \
    d[i] = element(a[i]);                                                                                    \
  }

BINARY(num_vec_add, num_add1)
BINARY(num_vec_sub, num_sub1)
BINARY(num_vec_mul, num_mul1)
BINARY(num_vec_min, num_min1)
BINARY(num_vec_max, num_max1)
BINARY(num_vec_eq, num_eq1)
BINARY(num_vec_lt, num_lt1)
BINARY(num_vec_le, num_le1)

NUM_CLONES void num_vec_mul_add(uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                                uint32_t n) {
  FOR_EACH(i, n)
  d[i] = num_add1(num_mul1(a[i], b[i]), c[i]);
}

UNARY(num_vec_to_i32_rne, num_to_i32_rne1, uint32_t, uint32_t)
UNARY(num_vec_to_i32_rtz, num_to_i32_rtz1, uint32_t, uint32_t)
UNARY(num_vec_from_i32_rne, num_from_i32_rne1, uint32_t, uint32_t)
UNARY(num_vec_from_bf16, num_from_bf16_1, uint32_t, uint16_t)
UNARY(num_vec_to_bf16_rne, num_to_bf16_rne1, uint16_t, uint32_t)
UNARY(num_vec_to_bf16_rtz, num_to_bf16_rtz1, uint16_t, uint32_t)

NUM_CLONES void num_vec_to_i8(int8_t *d, const uint32_t *a, uint32_t n) {
  FOR_EACH(i, n)
  d[i] = (int8_t)num_clamp1(a[i], INT8_MIN, INT8_MAX);
}

NUM_CLONES void num_vec_to_u8(uint8_t *d, const uint32_t *a, uint32_t n) {
  FOR_EACH(i, n)
  d[i] = (uint8_t)num_clamp1(a[i], 0, UINT8_MAX);
}
