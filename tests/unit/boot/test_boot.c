/* SPDX-License-Identifier: MIT */
/* What the firmware has in the place of newlib's and libgcc's: formatting against the host's, division too.
 */
#include "../check.h"

#include <string.h>

int iprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int vsniprintf(char *text, size_t size, const char *format, va_list args);
uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);

static uint64_t state = 0x9e3779b97f4a7c15u;
static uint32_t random_below(uint32_t n) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33) % n;
}

/* Of any length, so that short ones are as frequent. */
static uint64_t random_value(void) {
  const uint64_t all =
      (uint64_t)random_below(1u << 31) << 33 ^ (uint64_t)random_below(1u << 31) << 11 ^ random_below(2048);
  return all >> random_below(64) & -(uint64_t)(random_below(16) != 0);
}

/* Both with the same arguments into as much room; false: they differ. */
static bool same(size_t room, const char *format, ...) {
  char want[256], got[256];
  va_list args, again;

  memset(want, '?', sizeof want);
  memset(got, '?', sizeof got);
  va_start(args, format);
  va_copy(again, args);
  const int n = vsnprintf(want, room, format, args), m = vsniprintf(got, room, format, again);
  va_end(again);
  va_end(args);
  if (n == m && memcmp(want, got, sizeof want) == 0)
    return true;
  want[sizeof want - 1] = got[sizeof got - 1] = '\0';
  return check(false, "format: \"%s\" into %u: %d \"%s\", not %d \"%s\"", format, (unsigned)room, m, got, n,
               want);
}

/* A conversion with random flags, width and precision, which are numbers or *; returns how many * there are.
 */
static unsigned random_conversion(char *format, const char *flags, const char *size, char letter,
                                  bool precise) {
  unsigned stars = 0;

  *format++ = '%';
  for (; *flags != '\0'; flags++)
    if (random_below(3) == 0)
      *format++ = *flags;
  for (int part = 0; part < (precise ? 2 : 1); part++) {
    const unsigned kind = random_below(4);
    if (part == 1 && kind != 0)
      *format++ = '.';
    if (kind == 1) {
      *format++ = '*';
      stars++;
    } else if (kind == 2)
      format += sprintf(format, "%u", (part == 0) + random_below(24));
  }
  sprintf(format, "%s%c end", size, letter);
  return stars;
}

#define SAME(value)                                                                                          \
  (stars == 0   ? same(room, format, value)                                                                  \
   : stars == 1 ? same(room, format, star[0], value)                                                         \
                : same(room, format, star[0], star[1], value))

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void test_format(void) {
  static const char *const sizes[] = {"", "hh", "h", "l", "ll", "j", "z", "t"};
  static const char letters[] = "diuoxXcsp", text[] = "a string of some length";
  unsigned good = 0;
  enum { RUNS = 200000 };

  for (unsigned i = 0; i < RUNS; i++) {
    const char letter = letters[random_below(sizeof letters - 1)];
    const char *const size = strchr("csp", letter) != NULL ? "" : sizes[random_below(8)];
    const int star[] = {(int)random_below(60) - 30, (int)random_below(40) - 10};
    const size_t room = random_below(4) == 0 ? random_below(20) : 200;
    char format[64];
    /* Zeros in front of text are not defined, nor are alternate decimals. */
    const unsigned stars = random_conversion(format,
                                             strchr("csp", letter) != NULL   ? "-"
                                             : strchr("oxX", letter) != NULL ? "-+ #0"
                                                                             : "-+ 0",
                                             size, letter, letter != 'c' && letter != 'p');
    const uint64_t value = random_value();
    if (letter == 's')
      good += SAME(text + value % sizeof text);
    else if (letter == 'c')
      good += SAME((int)('a' + value % 26));
    else if (letter == 'p')
      good += SAME((void *)(uintptr_t)(value | 1));
    else if (size[0] == '\0' || size[0] == 'h')
      good += SAME((unsigned)value);
    else
      good += SAME((unsigned long)value);
  }
  check(good == RUNS, "format: %u of %u random conversions are the host's", good, (unsigned)RUNS);
  check(same(200, "100 %% of %s: %d%c", "it", -5, '!') && same(200, "no conversion") && same(0, "%d", 77) &&
            same(200, "%s %08x|%-6u|%6.2d", "", 0xbeefu, 12u, 5),
        "format: several conversions, %%, no room");
}

static void test_output(void) {
  static const char path[] = "build/tests/unit/boot/output.txt";
  char got[256] = "";

  fflush(stdout);
  FILE *const console = stdout, *file = fopen(path, "w+");
  if (!check(file != NULL, "format: %s can be written", path))
    return;
  stdout = file;
  const int n = iprintf("%s, %d of %u: %s\n", "a text longer than what is put at a time", -12, 34u, "end");
  fflush(file);
  stdout = console;
  rewind(file);
  got[fread(got, 1, sizeof got - 1, file)] = '\0';
  fclose(file);
  got[strcspn(got, "\n")] = '.';
  check(strcmp(got, "a text longer than what is put at a time, -12 of 34: end.") == 0 &&
            n == (int)strlen(got),
        "format: output is \"%s\", %d long", got, n);
}

static void test_division(void) {
  unsigned good = 0;
  enum { RUNS = 200000 };

  for (unsigned i = 0; i < RUNS; i++) {
    const uint64_t a = random_value(),
                   b = random_value() | (random_below(2) == 0 ? 1 : 1ull << random_below(64));
    const uint64_t quotient = __udivdi3(a, b), rest = __umoddi3(a, b);
    if (quotient == a / b && rest == a % b)
      good++;
    else
      check(false, "division: %llu / %llu", (unsigned long long)a, (unsigned long long)b);
  }
  check(good == RUNS, "division: %u of %u", good, (unsigned)RUNS);
}

int main(void) {
  test_format();
  test_output();
  test_division();
  return check_result("boot");
}
