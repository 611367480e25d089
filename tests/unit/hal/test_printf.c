/* SPDX-License-Identifier: MIT */
/*
 * firmware/boot/printf.c against the host's: every flag, width, precision, length and conversion together,
 * with special and random values, into memory of any size; long texts to the console.
 */
#include "test_printf.h"

#include "../check.h"

#include <limits.h>
#include <string.h>

/* Formats are made here, so that nothing can check them. */
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"

int sniprintf(char *to, size_t size, const char *format, ...);
int iprintf(const char *format, ...);
int boot_console_write(const char *bytes, int n);

enum { ROOM = 200 };
static unsigned wrong;
static char console[4 * ROOM];
static size_t written;

int boot_console_write(const char *bytes, int n) {
  memcpy(console + written, bytes, (size_t)n);
  written += (size_t)n;
  return n;
}

static void compare(const char *format, const char *want, int want_length, const char *got, int got_length) {
  if (want_length == got_length && memcmp(want, got, ROOM) == 0)
    return;
  if (wrong++ < 10)
    printf("format '%s': '%s' (%d), should be '%s' (%d)\n", format, got, got_length, want, want_length);
}

#define SAME(size_, ...)                                                                                     \
  do {                                                                                                       \
    char want_[ROOM], got_[ROOM];                                                                            \
    memset(want_, '~', ROOM);                                                                                \
    memset(got_, '~', ROOM);                                                                                 \
    want_[ROOM - 1] = got_[ROOM - 1] = '\0';                                                                 \
    const int w_ = snprintf(want_, (size_), __VA_ARGS__), g_ = sniprintf(got_, (size_), __VA_ARGS__);        \
    compare(format, want_, w_, got_, g_);                                                                    \
  } while (0)

static uint64_t value_of(struct check_random *r) {
  static const uint64_t special[] = {
      0, 1, 9, 10, UINT64_MAX, INT32_MAX, (uint64_t)INT32_MIN, INT64_MAX, (uint64_t)INT64_MIN, 1ull << 32};
  const uint32_t n = check_random_below(r, 20);
  return n < 10 ? special[n] : check_random64(r) >> check_random_below(r, 64);
}

static void number(struct check_random *r) {
  static const char *const lengths[] = {"hh", "h", "", "l", "ll", "j", "z"};
  char format[32] = "<%";
  const uint32_t length = check_random_below(r, 7);

  for (int i = 0; i < 5; i++)
    if (check_random_below(r, 4) == 0)
      strncat(format, &"-0+ #"[i], 1);
  if (check_random_below(r, 2))
    sprintf(format + strlen(format), "%u", check_random_below(r, 9) + 1);
  if (check_random_below(r, 3) == 0)
    sprintf(format + strlen(format), ".%u", check_random_below(r, 9));
  strcat(format, lengths[length]);
  strncat(format, &"diuxXo"[check_random_below(r, 6)], 1);
  strcat(format, ">");
  const uint64_t v = value_of(r);
  const size_t size = check_random_below(r, 4) == 0 ? check_random_below(r, 12) : ROOM - 1;
  if (length > 2)
    SAME(size, format, v);
  else
    SAME(size, format, (int)v);
}

static void texts(void) {
  const char *format = "%s|%7s|%-7s|%.2s|%.*s|%*d|%-*d|%c|%3c|%%|%p";
  for (size_t size = 0; size < 90; size++)
    SAME(size, format, "one", "two", "three", "four", 3, "fives", 6, 7, -6, 7, 'c', 'd', (void *)0x1234);
  format = "no conversion";
  SAME(ROOM - 1, "no conversion");
  format = "%.*d|%.*s|";
  SAME(ROOM - 1, format, -1, 5, -1, "all");
}

unsigned test_printf(void) {
  struct check_random r = {.state = 1};

  for (int i = 0; i < 20000; i++)
    number(&r);
  texts();
  const char *const format = "%0150d, %s%c";
  char want[ROOM] = {0};
  const int length = snprintf(want, ROOM, format, 5, "text", '\n');
  const int got = iprintf(format, 5, "text", '\n');
  memset(console + written, 0, ROOM);
  compare(format, want, length, console, got);
  return wrong;
}
