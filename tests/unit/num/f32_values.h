/* SPDX-License-Identifier: MIT */
/* f32 bit patterns that find bugs: special values, and random ones of several kinds. */
#ifndef TESTS_UNIT_F32_VALUES_H
#define TESTS_UNIT_F32_VALUES_H

#include "../check.h"

/* Magnitudes; each is used with both signs. */
static const uint32_t f32_special_magnitudes[] = {
    0x00000000, 0x00000001, 0x00000002, 0x003fffff, 0x00400000, 0x007ffffe, 0x007fffff, /* tiny */
    0x00800000, 0x00800001, 0x00800002, 0x00ffffff, 0x01000000, 0x01000001, 0x017fffff, /* least */
    0x0c000000, 0x1f800000, 0x1fffffff, 0x20000000, 0x20000001,                         /* squares are tiny */
    0x33800000, 0x33800001, 0x34000000, 0x34000001, 0x337fffff,                         /* half an ulp of 1 */
    0x3f000000, 0x3effffff, 0x3f000001, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f7ffffe,
    0x3fbfffff, 0x3fc00000, 0x3fc00001, 0x40000000, 0x40200000, 0x40600000,             /* 1.5 .. 3.5 */
    0x3f808000, 0x3f818000, 0x3f80ffff, 0x3f807fff, 0x3f808001,                         /* bf16 ties */
    0x42fe0000, 0x42ff0000, 0x43000000, 0x43010000, 0x437f0000, 0x437f8000, 0x43800000, /* 8 bit */
    0x4affffff, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4b800000, 0x4b400000,             /* 2^23, 2^24 */
    0x4effffff, 0x4f000000, 0x4f000001, 0x4f7fffff, 0x4f800000, 0x5f000000,             /* 2^31, 2^32, 2^63 */
    0x5f3504f3, 0x5f3504f4, 0x5f7fffff, 0x5f800000,                                     /* squares overflow */
    0x7e800000, 0x7effffff, 0x7f000000, 0x7f7f7fff, 0x7f7f8000, 0x7f7ffffe, 0x7f7fffff, /* huge */
    0x7f800000, 0x7f800001, 0x7fa00000, 0x7fbfffff, 0x7fc00000, 0x7fc00001, 0x7fffffff,
};
#define F32_MAGNITUDES (sizeof f32_special_magnitudes / sizeof f32_special_magnitudes[0])
#define F32_SPECIALS   (2 * F32_MAGNITUDES)

static inline uint32_t f32_special(uint32_t i) {
  return f32_special_magnitudes[i / 2] | (i & 1) << 31;
}

/* Any bits; a special value; near an exponent; few fraction bits (many ties and exact sums). */
static inline uint32_t f32_random(struct check_random *r) {
  uint32_t bits = check_random32(r);
  switch (check_random_below(r, 8)) {
  case 0:
    return f32_special(check_random_below(r, F32_SPECIALS));
  case 1:
    return (bits & 0x807fffff) | (120 + check_random_below(r, 16)) << 23;
  case 2:
    return (bits & 0x80780007) | (125 + check_random_below(r, 28)) << 23;
  case 3:
    return (bits & 0x807fffff) | check_random_below(r, 70) << 23;
  case 4:
    return (bits & 0x807f0000) | check_random_below(r, 256) << 23; /* bf16 */
  default:
    return bits;
  }
}

/* A second operand that is often close to the first, its negative, or its reciprocal's scale. */
static inline uint32_t f32_random_partner(struct check_random *r, uint32_t a) {
  uint32_t bits = check_random32(r);
  switch (check_random_below(r, 6)) {
  case 0:
    return a ^ (bits & 0x80000007);
  case 1:
    return a ^ (bits & 0x807fffff);
  case 2: /* sum within 30 binades */
    return (bits & 0x807fffff) | ((((a >> 23) & 0xff) + 255 + check_random_below(r, 60) - 30) & 0xff) << 23;
  case 3: /* product close to the least normal number: exponents add up to about 127 */
    return (bits & 0x807fffff) | ((127 + 255 - ((a >> 23) & 0xff) + check_random_below(r, 4) - 2) & 0xff)
                                     << 23;
  default:
    return f32_random(r);
  }
}

#endif
