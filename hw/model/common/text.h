/* SPDX-License-Identifier: MIT */
/* A text in a buffer that may be too small: what does not fit is counted and dropped. */
#ifndef TPU_MODEL_TEXT_H
#define TPU_MODEL_TEXT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

struct text {
  char *at;    /* may be NULL if size is 0 */
  size_t size; /* of the buffer, with its NUL */
  size_t used; /* length of the whole text */
};

__attribute__((format(printf, 2, 3))) static inline void text_add(struct text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  size_t room = t->used < t->size ? t->size - t->used : 0;
  int n = vsnprintf(room > 0 ? t->at + t->used : NULL, room, format, args);
  va_end(args);
  if (n > 0)
    t->used += (size_t)n;
}

#endif
