/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "boot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 12 };

int32_t check_shapes = 20;
static uint32_t state = 1;
static pl_array arrays[ARRAYS];
static unsigned held;
static bool failed, ever;

void check_begin(int argc, char **argv) {
  if (argc > 1)
    check_shapes = atoi(argv[1]);
  if (argc > 2)
    state = (uint32_t)atoi(argv[2]) | 1;
}

int32_t check_random(int32_t low, int32_t high) {
  state ^= state << 13; /* xorshift32 */
  state ^= state >> 17;
  state ^= state << 5;
  return low + (int32_t)((state >> 3) % (uint32_t)(high - low + 1));
}

static void stop(void) {
  printf("FAIL %s\n", pl_error_message());
  fflush(stdout);
  boot_exit(BOOT_EXIT_FAILURE);
}

/* Bits of a whole number as f32; exact below 2^24. */
static uint32_t f32_of(int32_t value) {
  uint32_t magnitude = value < 0 ? 0u - (uint32_t)value : (uint32_t)value, exponent = 31;
  if (magnitude == 0)
    return 0;
  while (!(magnitude >> exponent))
    exponent--;
  return (value < 0 ? 1u << 31 : 0) | (127 + exponent) << 23 |
         ((magnitude << (31 - exponent)) >> 8 & 0x7fffff);
}

static uint32_t bf16_of(int32_t value) {
  const uint32_t bits = f32_of(value);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static int32_t whole(uint32_t bits) {
  const uint32_t exponent = bits >> 23 & 0xff, magnitude = (bits & 0x7fffff) | 0x800000;
  if (exponent < 127)
    return 0;
  const uint32_t value = exponent < 150 ? magnitude >> (150 - exponent) : magnitude << (exponent - 150);
  return bits >> 31 ? -(int32_t)value : (int32_t)value;
}

int32_t check_get(const pl_array *a, int32_t i) {
  const void *at = pl_hbm_pointer(a);
  switch (a->dtype) {
  case PL_F32:
    return whole(((const uint32_t *)at)[i]);
  case PL_BF16:
    return whole((uint32_t)((const uint16_t *)at)[i] << 16);
  case PL_INT8:
    return ((const int8_t *)at)[i];
  case PL_UINT8:
    return ((const uint8_t *)at)[i];
  default:
    return ((const int32_t *)at)[i];
  }
}

/* The bits that a whole number has in a dtype. */
static uint32_t bits_of(uint8_t dtype, int32_t value) {
  return dtype == PL_F32 ? f32_of(value) : dtype == PL_BF16 ? bf16_of(value) : (uint32_t)value;
}

void check_put(const pl_array *a, int32_t i, int32_t value) {
  void *at = pl_hbm_pointer(a);
  const uint32_t bits = bits_of(a->dtype, value);
  switch (pl_dtype_bytes(a->dtype)) {
  case 4:
    ((uint32_t *)at)[i] = bits;
    break;
  case 2:
    ((uint16_t *)at)[i] = (uint16_t)bits;
    break;
  default:
    ((uint8_t *)at)[i] = (uint8_t)bits;
  }
}

pl_array check_array(pl_dtype dtype, pl_shape shape, int32_t low, int32_t high) {
  pl_array *a = &arrays[held];
  if (held == ARRAYS || pl_alloc(PL_HBM, dtype, shape, a) != PL_OK)
    stop();
  held++;
  const int32_t n = (int32_t)(pl_array_bytes(a) / pl_dtype_bytes(dtype));
  for (int32_t i = 0; i < n; i++)
    check_put(a, i, low == high ? low : check_random(low, high));
  return *a;
}

uint32_t check_get_bits(const pl_array *a, int32_t i) {
  const void *at = pl_hbm_pointer(a);
  return a->dtype == PL_F32 ? ((const uint32_t *)at)[i] : (uint32_t)((const uint16_t *)at)[i] << 16;
}

void check_put_bits(const pl_array *a, int32_t i, uint32_t bits) {
  void *at = pl_hbm_pointer(a);
  if (a->dtype == PL_F32)
    ((uint32_t *)at)[i] = bits;
  else
    ((uint16_t *)at)[i] = (uint16_t)(bits >> 16);
}

pl_array check_sixteenths(pl_dtype dtype, pl_shape shape, int32_t low, int32_t high) {
  const pl_array a = check_array(dtype, shape, low, high);
  const int32_t n = (int32_t)(pl_array_bytes(&a) / pl_dtype_bytes(dtype));
  for (int32_t i = 0; i < n; i++) {
    const uint32_t bits = check_get_bits(&a, i);
    check_put_bits(&a, i, bits != 0 ? bits - (4u << 23) : 0);
  }
  return a;
}

int32_t check_get_sixteenths(const pl_array *a, int32_t i) {
  return (int32_t)check_fixed(check_get_bits(a, i), 4);
}

int64_t check_fixed(uint32_t bits, int32_t scale) {
  const int32_t exponent = (int32_t)(bits >> 23 & 0xff) - 150 + scale;
  const int64_t magnitude = (bits & 0x7fffff) | 0x800000, value = bits << 1 == 0    ? 0
                                                                  : exponent <= -63 ? 0
                                                                  : exponent < 0    ? magnitude >> -exponent
                                                                                    : magnitude << exponent;
  return bits >> 31 ? -value : value;
}

void check_free(void) {
  while (held > 0)
    if (pl_free(&arrays[--held]) != PL_OK)
      stop();
}

int32_t check_dot(const pl_array *x, int32_t x_at, const pl_array *y, int32_t y_at, int32_t y_step,
                  int32_t depth) {
  int32_t sum = 0;
  for (int32_t k = 0; k < depth; k++)
    sum += check_get(x, x_at + k) * check_get(y, y_at + k * y_step);
  return sum;
}

static void fault(void) {
  failed = ever = true;
}

bool check_element(const char *what, const pl_array *o, int32_t i, int32_t want) {
  const uint32_t bits = bits_of(o->dtype, want);
  uint32_t got = 0;
  memcpy(&got, (const uint8_t *)pl_hbm_pointer(o) + (uint32_t)i * pl_dtype_bytes(o->dtype),
         pl_dtype_bytes(o->dtype));
  if (got == (pl_dtype_bytes(o->dtype) == 4   ? bits
              : pl_dtype_bytes(o->dtype) == 2 ? (uint16_t)bits
                                              : (uint8_t)bits))
    return true;
  printf("%s: element %d is %d (0x%x), not %d (0x%x)\n", what, (int)i, (int)check_get(o, i), (unsigned)got,
         (int)want, (unsigned)bits);
  fault();
  return false;
}

void check_fails(pl_status status, pl_status want, const char *text) {
  if (status == want && strstr(pl_error_message(), text) != NULL)
    return;
  printf("a call that must fail with %s and '%s': %s: %s\n", pl_status_name(want), text,
         pl_status_name(status), status != PL_OK ? pl_error_message() : "");
  fault();
}

bool check_works(const char *what, pl_status status) {
  if (status == PL_OK)
    return true;
  printf("%s: %s: %s\n", what, pl_status_name(status), pl_error_message());
  fault();
  return false;
}

void check_that(bool ok, const char *what) {
  if (ok)
    return;
  printf("not so: %s\n", what);
  fault();
}

void check_end(const char *what) {
  printf("%s %s\n", failed ? "FAIL" : "PASS", what);
  failed = false;
}

void check_random_shapes(const char *kernel, void (*try_one)(void)) {
  char text[48];
  for (int32_t i = 0; i < check_shapes; i++)
    try_one();
  snprintf(text, sizeof text, "%s: %d random shapes", kernel, (int)check_shapes);
  check_end(text);
}

int check_status(void) {
  return ever ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
