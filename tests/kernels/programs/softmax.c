/* SPDX-License-Identifier: MIT */
/*
 * Softmax: any shapes, special values, errors. The reference computes powers of 2 in integers, bit by bit,
 * with more of them than f32 has.
 */
#include "check.h"
#include "softmax.h"

#include <stdio.h>

enum { INFINITE = 0x7f800000, MINUS_INFINITE = (int)0xff800000u };

/* 2^-(fraction / 2^32) x 2^32: one factor 2^-(2^-n) for each bit, and a line for the last ones. */
static uint64_t power(uint32_t fraction) {
  static const uint32_t factor[16] = {0xb504f334, 0xd744fccb, 0xeac0c6e8, 0xf5257d15, 0xfa83b2db, 0xfd3e0c0d,
                                      0xfe9e115c, 0xff4ecb59, 0xffa75652, 0xffd3a752, 0xffe9d2b3, 0xfff4e91c,
                                      0xfffa747f, 0xfffd3a3b, 0xfffe9d1d, 0xffff4e8e};
  uint64_t value = 1ull << 32;
  for (unsigned i = 0; i < 16; i++)
    if (fraction >> (31 - i) & 1)
      value = value * factor[i] >> 32;
  return value - (value * ((fraction & 0xffff) * 45426u) >> 48); /* ln 2 x 2^16 */
}

/* e^(-sixteenths / 16) as mantissa / 2^32 / 2^shift. */
static uint64_t exponential(int32_t sixteenths, uint32_t *shift) {
  const uint64_t log2 = (uint64_t)sixteenths * 387270501u; /* log2(e) / 16 x 2^32 */
  *shift = (uint32_t)(log2 >> 32);
  return power((uint32_t)log2);
}

/* Between 2^55 and 2^56, and by how much it was shifted down for that. */
static uint64_t normal(uint64_t value, int32_t *exponent) {
  for (*exponent = 0; value >= 1ull << 56; ++*exponent)
    value >>= 1;
  for (; value < 1ull << 55; --*exponent)
    value <<= 1;
  return value;
}

/* got x sum = e, but for the part 2^-bits of it. */
static bool near(uint32_t got, uint64_t sum, uint64_t e, uint32_t shift, uint32_t bits) {
  int32_t sum_exponent, e_exponent, product_exponent;
  const uint64_t s = normal(sum, &sum_exponent) >> 24, want = normal(e, &e_exponent);
  uint64_t product = normal(s * ((got & 0x7fffff) | 0x800000), &product_exponent);
  product_exponent += sum_exponent + 24 + (int32_t)(got >> 23 & 0xff) - 150;
  for (e_exponent -= (int32_t)shift; product_exponent < e_exponent; product_exponent++)
    product >>= 1;
  for (; product_exponent > e_exponent; product_exponent--)
    product <<= 1;
  const uint64_t error = product > want ? product - want : want - product;
  return got >> 31 == 0 && error < want >> bits;
}

static bool right_row(const pl_array *x, const pl_array *o, int32_t row, int32_t columns) {
  const uint32_t bits = o->dtype == PL_F32 ? 17 : 8; /* bf16: half of the last place is 2^-9 */
  const int32_t first = row * columns;
  int32_t most = check_get_sixteenths(x, first);
  uint64_t sum = 0;
  uint32_t shift;

  for (int32_t i = 1; i < columns; i++) {
    const int32_t value = check_get_sixteenths(x, first + i);
    most = value > most ? value : most;
  }
  for (int32_t i = 0; i < columns; i++) {
    const uint64_t e = exponential(most - check_get_sixteenths(x, first + i), &shift);
    sum += shift < 48 ? e << 16 >> shift : 0;
  }
  for (int32_t i = 0; i < columns; i++) {
    const uint64_t e = exponential(most - check_get_sixteenths(x, first + i), &shift);
    const uint32_t got = check_get_bits(o, first + i);
    if (!near(got, sum, e << 16, shift, bits)) {
      printf("softmax: row %d, column %d is 0x%x\n", (int)row, (int)i, (unsigned)got);
      check_that(false, "softmax is right");
      return false;
    }
  }
  return true;
}

static void random_shape(void) {
  const pl_dtype from = check_random(0, 1) ? PL_F32 : PL_BF16, to = check_random(0, 1) ? PL_F32 : PL_BF16;
  const int32_t rows = check_random(1, 40),
                columns = check_random(0, 3) ? check_random(1, 90) : check_random(1, 1100);
  const int32_t spread = check_random(1, 255);
  const pl_array x = check_sixteenths(from, PL_SHAPE(rows, columns), -spread, spread),
                 o = check_array(to, PL_SHAPE(rows, columns), 0, 0);
  for (int call = 0; call < 2; call++) { /* the second one has its plan already */
    bool ok = check_works("softmax", kernel_softmax(x, o));
    for (int32_t row = 0; ok && row < rows; row++)
      ok = right_row(&x, &o, row, columns);
    if (!ok) {
      printf("%s to %s, %d x %d\n", pl_dtype_name(from), pl_dtype_name(to), (int)rows, (int)columns);
      break;
    }
  }
  check_free();
}

/* Three dimensions; masked columns; equal values; a NaN spoils its row and no other one. */
static void specials(void) {
  enum { ROWS = 15, COLUMNS = 20 };
  const pl_array x = check_sixteenths(PL_F32, PL_SHAPE(3, 5, COLUMNS), -99, 99),
                 o = check_array(PL_F32, PL_SHAPE(3, 5, COLUMNS), 0, 0);
  for (int32_t i = 0; i < COLUMNS; i++) {
    if (i % 3 == 0)
      check_put_bits(&x, 2 * COLUMNS + i, (uint32_t)MINUS_INFINITE);
    check_put_bits(&x, 3 * COLUMNS + i, 0x7e967699);                      /* 1e38 */
    check_put_bits(&x, 4 * COLUMNS + i, i < 4 ? 0x42c80000 : 0xc2c80000); /* 100, -100 */
  }
  check_put_bits(&x, 5 * COLUMNS + 7, 0x7fc00000);
  check_works("softmax", kernel_softmax(x, o));
  for (int32_t row = 0; row < ROWS; row++)
    if (row < 2 || row > 5)
      right_row(&x, &o, row, COLUMNS);
  bool masked = true, equal = true, saturated = true, spoiled = true;
  for (int32_t i = 0; i < COLUMNS; i++) {
    const uint32_t got = check_get_bits(&o, 2 * COLUMNS + i);
    masked = masked && (i % 3 == 0 ? got == 0 : got > 0 && got < 0x3f800000);
    const int64_t share = check_fixed(check_get_bits(&o, 3 * COLUMNS + i), 20) * COLUMNS;
    equal = equal && share > (1 << 20) - 100 && share < (1 << 20) + 100;
    const uint32_t part = check_get_bits(&o, 4 * COLUMNS + i);
    saturated = saturated && (i < 4 ? part == 0x3e800000 : part < 0x10000000);
    spoiled = spoiled && check_get_bits(&o, 5 * COLUMNS + i) << 1 > 0xff000000u;
  }
  check_that(masked, "columns of -infinity become 0");
  check_that(equal, "equal columns get equal shares");
  check_that(saturated, "four columns far above the others get a quarter each");
  check_that(spoiled, "a row with a NaN is NaN");
  check_free();
  check_end("softmax: special values");
}

/* The widest rows that fit on the chip, rows that are one column wider, and ones of several blocks. */
static void widths(void) {
  static const int32_t columns[] = {4096, 4097, 9000};
  enum { ROWS = 17 };
  for (unsigned i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    const pl_array x = check_sixteenths(PL_F32, PL_SHAPE(ROWS, columns[i]), -200, 200),
                   o = check_array(i == 2 ? PL_BF16 : PL_F32, PL_SHAPE(ROWS, columns[i]), 0, 0);
    for (int32_t c = 0; c < columns[i]; c++) /* nothing counts but what comes late */
      check_put_bits(&x, 8 * columns[i] + c, c < columns[i] - 3 ? (uint32_t)MINUS_INFINITE : 0);
    if (check_works("softmax of wide rows", kernel_softmax(x, o)))
      for (int32_t row = 0; row < ROWS; row += 4) {
        for (int32_t c = columns[i] - 4; row == 8 && c < columns[i]; c++) {
          const int64_t got = check_fixed(check_get_bits(&o, row * columns[i] + c), 12);
          check_that(c < columns[i] - 3 ? got == 0 : got >= 1365 && got <= 1368, /* in f32, in bf16 */
                     "three columns behind many of -infinity get a third each");
        }
        if (row != 8)
          right_row(&x, &o, row, columns[i]);
      }
    check_free();
  }
  check_end("softmax: wide rows");
}

static void errors(void) {
  const pl_array x = check_sixteenths(PL_F32, PL_SHAPE(20, 16), -9, 9),
                 o = check_array(PL_F32, PL_SHAPE(20, 16), 0, 0),
                 other = check_array(PL_F32, PL_SHAPE(20, 17), 0, 0),
                 ints = check_array(PL_INT32, PL_SHAPE(20, 16), 0, 0);
  check_fails(kernel_softmax(x, other), PL_ERROR_SHAPE, "columns 16 and 17");
  check_fails(kernel_softmax(ints, o), PL_ERROR_SHAPE, "x is int32 and o f32");
  pl_array elsewhere = o;
  elsewhere.space = PL_VMEM;
  check_fails(kernel_softmax(x, elsewhere), PL_ERROR_ARGUMENT, "softmax: x and o must be in HBM");
  bool ok = check_works("softmax after errors", kernel_softmax(x, o));
  for (int32_t row = 0; ok && row < 20; row++)
    ok = right_row(&x, &o, row, 16);
  check_free();
  check_end("softmax: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("softmax", random_shape);
  specials();
  widths();
  errors();
  return check_status();
}
