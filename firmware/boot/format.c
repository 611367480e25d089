/* SPDX-License-Identifier: MIT */
/*
 * Formatting for printf(), snprintf() and vsnprintf(), in the place of newlib's functions of these names,
 * which are two copies of the same 2 KiB, one for files and one for strings. Everything but floating point,
 * %n and wide characters is as in C; output goes through newlib's stdout as before.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int iprintf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int sniprintf(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsniprintf(char *text, size_t size, const char *format, va_list args);

struct writer {
  va_list args;
  char *text, *at, *end; /* what is written, up to where there is room */
  size_t count;
  bool output; /* text goes to standard output when it is full */
};

/* A conversion: what stands between % and its letter. */
struct field {
  unsigned flags; /* bit i: FLAGS[i] */
  int width, precision;
  int longs; /* of ll 2, l 1, h -1, hh -2 */
};

#define FLAGS "-+ #0"
enum { LEFT = 1, PLUS = 2, SPACE = 4, ALTERNATE = 8, ZEROS = 16 };
enum { DIGITS = 22 }; /* of 64 bits in octal */

static void flush(struct writer *w) {
  for (const char *c = w->text; c != w->at; c++)
    putchar(*c);
  w->at = w->text;
}

static __attribute__((noinline)) void put_full(struct writer *w, char c) {
  if (!w->output)
    return;
  flush(w);
  *w->at++ = c;
}

static void put(struct writer *w, char c) {
  w->count++;
  if (w->at != w->end)
    *w->at++ = c;
  else
    put_full(w, c);
}

static void put_times(struct writer *w, char c, int n) {
  while (n-- > 0)
    put(w, c);
}

static void put_field(struct writer *w, const struct field *f, const char *prefix, int zeros,
                      const char *text, int n) {
  const int blanks = f->width - (int)strlen(prefix) - (zeros > 0 ? zeros : 0) - n;

  if (!(f->flags & LEFT))
    put_times(w, ' ', blanks);
  while (*prefix != '\0')
    put(w, *prefix++);
  put_times(w, '0', zeros);
  for (int i = 0; i < n; i++)
    put(w, text[i]);
  if (f->flags & LEFT)
    put_times(w, ' ', blanks);
}

static uint64_t take(struct writer *w, int longs, bool is_signed) {
  if (longs > 1)
    return va_arg(w->args, unsigned long long);
  if (longs == 1)
    return is_signed ? (uint64_t)va_arg(w->args, long) : va_arg(w->args, unsigned long);
  const unsigned value = va_arg(w->args, unsigned), unused = 8u * (unsigned)(longs == 0 ? 0 : 1 - longs);
  return is_signed ? (uint64_t)((int)(value << unused) >> unused) : value << unused >> unused;
}

static void put_integer(struct writer *w, const struct field *f, char letter) {
  const bool is_signed = letter == 'd' || letter == 'i';
  const unsigned base = letter == 'o' ? 8 : is_signed || letter == 'u' ? 10 : 16;
  char text[DIGITS], *first = text + DIGITS;
  uint64_t value = take(w, f->longs, is_signed);
  const char *prefix = "";

  if (is_signed && (int64_t)value < 0) {
    prefix = "-";
    value = -value;
  } else if (is_signed)
    prefix = f->flags & PLUS ? "+" : f->flags & SPACE ? " " : "";
  else if (base == 16 && f->flags & ALTERNATE && (value != 0 || letter == 'p'))
    prefix = letter == 'X' ? "0X" : "0x";
  while (value != 0) {
    const uint64_t rest = value >> 32 != 0 ? value / base : (uint32_t)value / base;
    const unsigned digit = (unsigned)(value - rest * base);
    value = rest;
    *--first = (char)(digit < 10 ? '0' + digit : (letter == 'X' ? 'A' : 'a') + digit - 10);
  }
  const int n = (int)(text + DIGITS - first);
  int zeros = (f->precision < 0 ? 1 : f->precision) - n;
  if (base == 8 && f->flags & ALTERNATE && zeros < 1)
    zeros = 1;
  if (f->precision < 0 && (f->flags & (LEFT | ZEROS)) == ZEROS && zeros < f->width - (int)strlen(prefix) - n)
    zeros = f->width - (int)strlen(prefix) - n;
  put_field(w, f, prefix, zeros, first, n);
}

/* A width or precision: digits or *. */
static const char *take_number(struct writer *w, const char *format, int *number) {
  *number = 0;
  if (*format == '*') {
    *number = va_arg(w->args, int);
    return format + 1;
  }
  while (*format >= '0' && *format <= '9')
    *number = *number * 10 + (*format++ - '0');
  return format;
}

/* From behind the % on; returns what comes behind the conversion. */
static const char *convert(struct writer *w, const char *format) {
  struct field f = {.precision = -1};
  const char *flag, *text;
  char one;
  int n = 0;

  for (; *format != '\0' && (flag = strchr(FLAGS, *format)) != NULL; format++)
    f.flags |= 1u << (flag - FLAGS);
  format = take_number(w, format, &f.width);
  if (f.width < 0) {
    f.flags |= LEFT;
    f.width = -f.width;
  }
  if (*format == '.')
    format = take_number(w, format + 1, &f.precision);
  for (;; format++) {
    if (*format == 'h')
      f.longs--;
    else if (*format == 'l')
      f.longs++;
    else if (*format == 'j')
      f.longs = 2;
    else if (*format == 'z' || *format == 't')
      f.longs = 1; /* as wide as long here and on hosts */
    else
      break;
  }
  const char letter = *format;
  switch (letter) {
  case 'p':
    f.flags |= ALTERNATE;
    f.longs = 1; /* fall through */
  case 'd':
  case 'i':
  case 'u':
  case 'o':
  case 'x':
  case 'X':
    put_integer(w, &f, letter);
    break;
  case 's':
    text = va_arg(w->args, const char *);
    if (text == NULL)
      text = "(null)";
    while ((f.precision < 0 || n < f.precision) && text[n] != '\0')
      n++;
    put_field(w, &f, "", 0, text, n);
    break;
  case 'c':
    one = (char)va_arg(w->args, int);
    put_field(w, &f, "", 0, &one, 1);
    break;
  case '\0':
    return format;
  default: /* %%, and what is no conversion as it stands */
    put(w, letter);
  }
  return format + 1;
}

static int write_all(struct writer *w, const char *format) {
  while (*format != '\0')
    if (*format == '%')
      format = convert(w, format + 1);
    else
      put(w, *format++);
  return (int)w->count;
}

int vsniprintf(char *text, size_t size, const char *format, va_list args) {
  struct writer w = {.text = text, .at = text, .end = size > 0 ? text + size - 1 : text};

  va_copy(w.args, args);
  const int n = write_all(&w, format);
  va_end(w.args);
  if (size > 0)
    *w.at = '\0';
  return n;
}

int sniprintf(char *text, size_t size, const char *format, ...) {
  va_list args;

  va_start(args, format);
  const int n = vsniprintf(text, size, format, args);
  va_end(args);
  return n;
}

int iprintf(const char *format, ...) {
  char text[32];
  struct writer w = {.text = text, .at = text, .end = text + sizeof text, .output = true};

  va_start(w.args, format);
  const int n = write_all(&w, format);
  va_end(w.args);
  flush(&w);
  return n;
}
