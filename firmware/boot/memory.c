/* SPDX-License-Identifier: MIT */
/*
 * memcpy and memset by words. The C library's, built for size, go byte by byte, and the compiler calls them
 * for every struct of more than 64 bytes: a view of a ref is one.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memset(void *to, int value, size_t n);

/* Or the loops would become calls of what they are. */
#define PLAIN_LOOPS __attribute__((optimize("no-tree-loop-distribute-patterns"), used))

PLAIN_LOOPS void *memcpy(void *restrict to, const void *restrict from, size_t n) {
  uint8_t *d = to;
  const uint8_t *s = from;

  if ((((uintptr_t)d | (uintptr_t)s) & 3) == 0) {
    uint32_t *dw = to;
    const uint32_t *sw = from;
    for (; n >= 16; n -= 16, dw += 4, sw += 4) {
      const uint32_t a = sw[0], b = sw[1], c = sw[2], e = sw[3];
      dw[0] = a;
      dw[1] = b;
      dw[2] = c;
      dw[3] = e;
    }
    for (; n >= 4; n -= 4)
      *dw++ = *sw++;
    d = (uint8_t *)dw;
    s = (const uint8_t *)sw;
  }
  while (n-- != 0)
    *d++ = *s++;
  return to;
}

PLAIN_LOOPS void *memset(void *to, int value, size_t n) {
  uint8_t *d = to;

  if (((uintptr_t)d & 3) == 0) {
    const uint32_t word = (uint8_t)value * 0x01010101u;
    uint32_t *dw = to;
    for (; n >= 16; n -= 16, dw += 4)
      dw[0] = dw[1] = dw[2] = dw[3] = word;
    for (; n >= 4; n -= 4)
      *dw++ = word;
    d = (uint8_t *)dw;
  }
  while (n-- != 0)
    *d++ = (uint8_t)value;
  return to;
}
