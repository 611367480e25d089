/* SPDX-License-Identifier: MIT */
/*
 * Unsigned 64-bit division and remainder, in the place of libgcc's, which take ten times the memory. Small
 * divisors and small numbers, nearly all there are, take a few divisions of 32 bits; others go bit by bit.
 */
#include <stdint.h>

uint64_t __udivdi3(uint64_t a, uint64_t b);
uint64_t __umoddi3(uint64_t a, uint64_t b);

static uint64_t divide(uint64_t a, uint64_t b, uint64_t *remainder) {
  uint64_t quotient = 0, rest = 0;

  if (a >> 32 == 0 && b >> 32 == 0 && b != 0) {
    *remainder = (uint32_t)a % (uint32_t)b;
    return (uint32_t)a / (uint32_t)b;
  }
  if (b >> 16 == 0 && b != 0) { /* digits of 16 bits, the first one of 32 */
    const uint32_t d = (uint32_t)b, high = (uint32_t)(a >> 32), low = (uint32_t)a;
    const uint32_t middle = high % d << 16 | low >> 16, last = middle % d << 16 | (low & 0xffff);
    *remainder = last % d;
    return (uint64_t)(high / d) << 32 | ((uint64_t)(middle / d) << 16) | last / d;
  }
  for (int i = 0; i < 64; i++) {
    const uint64_t carry = rest >> 63;
    rest = rest << 1 | a >> 63;
    a <<= 1;
    quotient <<= 1;
    if (carry || rest >= b) {
      rest -= b;
      quotient |= 1;
    }
  }
  *remainder = rest;
  return quotient;
}

uint64_t __udivdi3(uint64_t a, uint64_t b) {
  uint64_t remainder;
  return divide(a, b, &remainder);
}

uint64_t __umoddi3(uint64_t a, uint64_t b) {
  uint64_t remainder;
  divide(a, b, &remainder);
  return remainder;
}
