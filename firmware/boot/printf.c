/* SPDX-License-Identifier: MIT */
/*
 * The printf family without floating point, under the names that newlib has for it (firmware/Makefile.inc
 * makes them of the usual ones). newlib's own comes with streams, locks and a heap, 8 KiB in all, which is
 * more than many a kernel. There is one stream here, the console, and nothing is kept back: what was printed
 * is out when a program traps.
 *
 * Conversions d i u x X o c s p %, with all flags, width, precision and lengths hh to ll, j, z, t. A
 * conversion that is none of them is copied as it stands.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int boot_console_write(const char *bytes, int n);

/* Where text goes: into memory, where what is too much is dropped, or by a small buffer to the console. */
struct sink {
  char *to;
  size_t size, used, length; /* length: of all the text */
  bool console;
};

enum { CHUNK = 64, DIGITS = 24 };

static void flush(struct sink *s) {
  if (s->console && s->used != 0) {
    boot_console_write(s->to, (int)s->used);
    s->used = 0;
  }
}

/* Many at a time: messages are long, and the hang watch of the machine runs while they are made. */
static void put(struct sink *s, const char *text, size_t n) {
  s->length += n;
  while (n != 0) {
    const size_t room = s->size - s->used, some = n < room ? n : room;
    if (some == 0)
      return;
    memcpy(s->to + s->used, text, some);
    s->used += some;
    text += some;
    n -= some;
    if (s->used == s->size)
      flush(s);
  }
}

static void repeat(struct sink *s, char c, int n) {
  while (n-- > 0)
    put(s, &c, 1);
}

struct conversion {
  bool left, zero, plus, space, alternate;
  int width, precision; /* precision -1: none */
};

/* Text behind a sign or prefix, zeros between them, filled up to the width. */
static void put_field(struct sink *s, const struct conversion *c, const char *prefix, int zeros,
                      const char *text, int n) {
  const int before = (int)strlen(prefix), missing = c->width - before - zeros - n;
  const bool with_zeros = c->zero && !c->left;

  if (!c->left && !with_zeros)
    repeat(s, ' ', missing);
  put(s, prefix, (size_t)before);
  repeat(s, '0', zeros + (with_zeros && missing > 0 ? missing : 0));
  put(s, text, (size_t)n);
  if (c->left)
    repeat(s, ' ', missing);
}

/* value = value / base; returns the remainder. */
static unsigned divide(uint64_t *value, unsigned base) {
  if (*value >> 32 == 0) {
    const uint32_t v = (uint32_t)*value;
    *value = v / base;
    return v % base;
  }
  uint32_t rest = 0, part[4]; /* in digits of 16 bits: the division of 64 bits is a large function */
  for (int i = 0; i < 4; i++) {
    rest = rest << 16 | (uint32_t)(*value >> (48 - 16 * i) & 0xffff);
    part[i] = rest / base;
    rest %= base;
  }
  *value = (uint64_t)(part[0] << 16 | part[1]) << 32 | (part[2] << 16 | part[3]);
  return rest;
}

static void put_number(struct sink *s, struct conversion *c, char kind, uint64_t value, bool negative) {
  const unsigned base = kind == 'o' ? 8 : kind == 'x' || kind == 'X' || kind == 'p' ? 16 : 10;
  const char *const digits = kind == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  const char *prefix = "";
  char text[DIGITS];
  int n = 0;

  if (kind == 'd')
    prefix = negative ? "-" : c->plus ? "+" : c->space ? " " : "";
  else if (kind == 'p' || (c->alternate && base == 16 && value != 0))
    prefix = kind == 'X' ? "0X" : "0x";
  while (value != 0)
    text[DIGITS - ++n] = digits[divide(&value, base)];
  const int least = c->precision >= 0 ? c->precision : 1;
  int zeros = least > n ? least - n : 0;
  if (base == 8 && c->alternate && zeros == 0)
    zeros = 1;
  c->zero = c->zero && c->precision < 0;
  put_field(s, c, prefix, zeros, text + DIGITS - n, n);
}

static const char *read_number(const char *at, int *number) {
  for (*number = 0; *at >= '0' && *at <= '9'; at++)
    *number = *number * 10 + (*at - '0');
  return at;
}

static const char *read_flags(const char *at, struct conversion *c) {
  for (;; at++) {
    if (*at == '-')
      c->left = true;
    else if (*at == '0')
      c->zero = true;
    else if (*at == '+')
      c->plus = true;
    else if (*at == ' ')
      c->space = true;
    else if (*at == '#')
      c->alternate = true;
    else
      return at;
  }
}

static void put_string(struct sink *s, struct conversion *c, const char *text) {
  int n = 0;
  if (text == NULL)
    text = "(null)";
  while (n != c->precision && text[n] != '\0')
    n++;
  c->zero = false;
  put_field(s, c, "", 0, text, n);
}

/* Bytes of an integer argument by its length modifier; those of less than an int come as int. */
static const char *read_length(const char *at, unsigned *bytes) {
  *bytes = sizeof(int);
  for (;; at++) {
    if (*at == 'h')
      *bytes /= 2;
    else if (*at == 'l')
      *bytes = *bytes == sizeof(int) && at[-1] != 'l' ? sizeof(long) : sizeof(long long);
    else if (*at == 'j')
      *bytes = sizeof(intmax_t);
    else if (*at == 'z' || *at == 't')
      *bytes = sizeof(size_t);
    else
      return at;
  }
}

static void format_all(struct sink *s, const char *at, va_list args) {
  for (;; at++) {
    struct conversion c = {.precision = -1};
    const char *begin = at;
    unsigned bytes;

    while (*at != '\0' && *at != '%')
      at++;
    put(s, begin, (size_t)(at - begin));
    if (*at == '\0')
      return;
    begin = at;
    at = read_flags(at + 1, &c);
    if (*at == '*') {
      c.width = va_arg(args, int);
      if (c.width < 0) {
        c.left = true;
        c.width = -c.width;
      }
      at++;
    } else {
      at = read_number(at, &c.width);
    }
    if (*at == '.') {
      if (*++at == '*') {
        c.precision = va_arg(args, int);
        at++;
      } else {
        at = read_number(at, &c.precision);
      }
    }
    at = read_length(at, &bytes);
    const char kind = *at == 'i' ? 'd' : *at;
    if (kind == 's') {
      put_string(s, &c, va_arg(args, const char *));
    } else if (kind == 'c') {
      const char one = (char)va_arg(args, int);
      put_field(s, &c, "", 0, &one, 1);
    } else if (kind == 'p') {
      put_number(s, &c, kind, (uintptr_t)va_arg(args, void *), false);
    } else if (kind == 'd' || kind == 'u' || kind == 'x' || kind == 'X' || kind == 'o') {
      uint64_t value = bytes > 4 ? va_arg(args, uint64_t) : va_arg(args, uint32_t);
      const unsigned unused = 64 - 8 * bytes;
      value = kind == 'd' ? (uint64_t)((int64_t)(value << unused) >> unused) : value << unused >> unused;
      const bool negative = kind == 'd' && (int64_t)value < 0;
      put_number(s, &c, kind, negative ? 0 - value : value, negative);
    } else if (kind == '%') {
      put(s, at, 1);
    } else {
      if (kind == '\0')
        at--;
      put(s, begin, (size_t)(at - begin) + 1);
    }
  }
}

int viprintf(const char *format, va_list args) {
  char chunk[CHUNK];
  struct sink s = {.to = chunk, .size = CHUNK, .console = true};

  format_all(&s, format, args);
  flush(&s);
  return (int)s.length;
}

int iprintf(const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = viprintf(format, args);
  va_end(args);
  return n;
}

int vsniprintf(char *to, size_t size, const char *format, va_list args) {
  struct sink s = {.to = to, .size = size != 0 ? size - 1 : 0};

  format_all(&s, format, args);
  if (size != 0)
    to[s.used] = '\0';
  return (int)s.length;
}

int sniprintf(char *to, size_t size, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int n = vsniprintf(to, size, format, args);
  va_end(args);
  return n;
}
