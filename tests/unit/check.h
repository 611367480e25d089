/* SPDX-License-Identifier: MIT */
/*
 * What a host unit test needs: checks with one PASS or FAIL line each, a result for main(), and
 * a seeded random generator. A failing check prints what it saw; nothing stops at the first one.
 */
#ifndef TESTS_UNIT_CHECK_H
#define TESTS_UNIT_CHECK_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct check_state {
  int passed, failed;
};
static struct check_state check_state;

/* Counts and prints one check. The text says what holds, then what was seen if it does not. */
__attribute__((format(printf, 2, 3))) static inline bool check(bool ok, const char *format, ...) {
  va_list args;
  va_start(args, format);
  printf("%s ", ok ? "PASS" : "FAIL");
  vprintf(format, args);
  printf("\n");
  va_end(args);
  if (ok)
    check_state.passed++;
  else
    check_state.failed++;
  return ok;
}

/* The value of main(). */
static inline int check_result(const char *name) {
  printf("%s: %d passed, %d failed\n", name, check_state.passed, check_state.failed);
  return check_state.failed == 0 && check_state.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* splitmix64: any seed is good, also 0. */
struct check_random {
  uint64_t state;
};

static inline uint64_t check_random64(struct check_random *r) {
  uint64_t z = (r->state += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  return z ^ (z >> 31);
}

static inline uint32_t check_random32(struct check_random *r) {
  return (uint32_t)(check_random64(r) >> 32);
}

/* 0 .. bound-1; bound > 0. */
static inline uint32_t check_random_below(struct check_random *r, uint32_t bound) {
  return (uint32_t)(((check_random64(r) >> 32) * bound) >> 32);
}

#endif
