/* SPDX-License-Identifier: MIT */
/*
 * How deep the stack is used: what is free is filled with a pattern, and what has lost it has been used.
 * Whoever wants to know paints; a start costs nothing for the others, and takes the same cycles.
 */
#include "boot.h"

extern uint32_t __stack_bottom[], __stack_top[];

enum { PAINT = 0x57ac57ac };

/* Leaf functions without variables in memory: below sp there is nothing of theirs. */
void boot_stack_paint(void) {
  const volatile uint32_t *sp;
  __asm__ volatile("mv %0, sp" : "=r"(sp));
  for (volatile uint32_t *p = __stack_bottom; p < sp; p++)
    *p = PAINT;
}

uint32_t boot_stack_depth(void) {
  const volatile uint32_t *p = __stack_bottom;
  while (p < __stack_top && *p == PAINT)
    p++;
  return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)p);
}

uint32_t boot_stack_size(void) {
  return (uint32_t)((uintptr_t)__stack_top - (uintptr_t)__stack_bottom);
}
