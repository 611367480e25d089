/* SPDX-License-Identifier: MIT */
/*
 * Layer norm and RMS norm: any shapes, special values, errors. The reference computes in integers: operands
 * are sixteenths, sums are exact, and roots have 32 bits.
 */
#include "check.h"
#include "norm.h"

#include <stdio.h>

enum { EPSILON = 0x3b800000 }; /* 2^-8 as f32: 1 in sixteenths of sixteenths */

static float of_bits(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } u = {.bits = bits};
  return u.value;
}

/* The root of v as r / 2^32 x 2^exponent; r has 32 bits, the lower half of them of little worth. */
static uint64_t root(uint64_t v, int32_t *exponent) {
  uint64_t r = 0;

  for (*exponent = 32; v < 1ull << 62; --*exponent)
    v <<= 2;
  for (uint64_t bit = 1ull << 31; bit != 0; bit >>= 1)
    if ((r | bit) * (r | bit) <= v)
      r |= bit;
  return r;
}

/* distance x sqrt(n / q) x scale, in 2^-20. */
static int64_t scaled(int64_t distance, int32_t scale, uint64_t n, uint64_t q) {
  int32_t n_exponent, q_exponent;
  const uint64_t n_root = root(n, &n_exponent), q_root = root(q, &q_exponent);
  const int64_t product = distance * scale * (int64_t)((n_root << 31) / q_root);
  const int32_t shift = 31 - 20 + q_exponent - n_exponent;
  return shift >= 0 ? product >> shift : product * (1ll << -shift);
}

/* As far as f32 and the rounding of the result allow. */
static bool near(const pl_array *o, int32_t i, int64_t product, int32_t shift) {
  const int64_t want = product + ((int64_t)shift << 20), got = check_fixed(check_get_bits(o, i), 20);
  const int64_t size = product < 0 ? -product : product, all = want < 0 ? -want : want;
  const int64_t error = got > want ? got - want : want - got,
                allowed = 16 + (size >> 17) + (o->dtype == PL_BF16 ? all >> 8 : 0);
  if (error <= allowed)
    return true;
  printf("element %d is 0x%x, %d / 2^20; %d / 2^20 is right\n", (int)i, (unsigned)check_get_bits(o, i),
         (int)got, (int)want);
  check_that(false, "the norm is right");
  return false;
}

struct operands {
  pl_array x, scale, shift, o;
  bool layer; /* layer norm; else RMS norm */
  bool epsilon;
};

static struct operands make(pl_dtype from, pl_dtype to, pl_dtype parameters, int32_t rows, int32_t columns,
                            int32_t spread) {
  return (struct operands){.x = check_sixteenths(from, PL_SHAPE(rows, columns), -spread, spread),
                           .scale = check_array(parameters, PL_SHAPE(columns), -4, 4),
                           .shift = check_array(PL_F32, PL_SHAPE(columns), -4, 4),
                           .o = check_array(to, PL_SHAPE(rows, columns), 0, 0)};
}

static pl_status run(const struct operands *p) {
  const float epsilon = p->epsilon ? of_bits(EPSILON) : 0;
  return p->layer ? kernel_layer_norm(p->x, p->scale, p->shift, p->o, epsilon)
                  : kernel_rms_norm(p->x, p->scale, p->o, epsilon);
}

/*
 * With x in sixteenths and n columns. RMS norm: x sqrt(n / q) with q = sum of x^2 + 256 n epsilon. Layer
 * norm: the same with n x - sum in the place of x, and 256 n^3 epsilon.
 */
static bool right_row(const struct operands *p, int32_t row) {
  const int32_t n = p->x.shape[1], first = row * n;
  int64_t sum = 0;
  uint64_t q = !p->epsilon ? 0 : p->layer ? (uint64_t)n * (uint64_t)n * (uint64_t)n : (uint64_t)n;

  for (int32_t i = 0; p->layer && i < n; i++)
    sum += check_get_sixteenths(&p->x, first + i);
  for (int32_t i = 0; i < n; i++) {
    const int64_t x = check_get_sixteenths(&p->x, first + i), distance = p->layer ? n * x - sum : x;
    q += (uint64_t)(distance * distance);
  }
  if (q < 1000) /* all alike: there is nothing to compare with */
    return true;
  for (int32_t i = 0; i < n; i++) {
    const int64_t x = check_get_sixteenths(&p->x, first + i);
    if (!near(&p->o, first + i, scaled(p->layer ? n * x - sum : x, check_get(&p->scale, i), (uint64_t)n, q),
              p->layer ? check_get(&p->shift, i) : 0))
      return false;
  }
  return true;
}

static bool right(const struct operands *p) {
  for (int32_t row = 0; row < p->x.shape[0]; row++)
    if (!right_row(p, row))
      return false;
  return true;
}

static void random_shape(bool layer) {
  const pl_dtype from = check_random(0, 1) ? PL_F32 : PL_BF16, to = check_random(0, 1) ? PL_F32 : PL_BF16,
                 parameters = check_random(0, 1) ? PL_F32 : PL_BF16;
  const int32_t rows = check_random(1, 40),
                columns = check_random(0, 3) ? check_random(2, 90) : check_random(2, 1100);
  struct operands p = make(from, to, parameters, rows, columns, check_random(9, 255));
  p.layer = layer;
  p.epsilon = check_random(0, 1);

  for (int call = 0; call < 2; call++) /* the second one has its plan already */
    if (!check_works("norm", run(&p)) || !right(&p)) {
      printf("%s, %s to %s, %d x %d, epsilon %s\n", layer ? "layer norm" : "RMS norm", pl_dtype_name(from),
             pl_dtype_name(to), (int)rows, (int)columns, p.epsilon ? "2^-8" : "0");
      break;
    }
  check_free();
}

/* Rows far from zero keep their spread; rows of equal values and a NaN stay by themselves. */
static void specials(void) {
  enum { COLUMNS = 40, FAR = 3, EQUAL = 4, SPOILED = 5 };
  struct operands p = make(PL_F32, PL_F32, PL_F32, 12, COLUMNS, 99);
  p.layer = p.epsilon = true;
  for (int32_t i = 0; i < COLUMNS; i++) {
    check_put(&p.x, FAR * COLUMNS + i, 1000000 + i % 2);
    check_put(&p.x, EQUAL * COLUMNS + i, 77);
  }
  check_put_bits(&p.x, SPOILED * COLUMNS + 7, 0x7fc00000);
  check_works("layer norm", run(&p));
  bool far = true, equal = true, spoiled = true;
  for (int32_t i = 0; i < COLUMNS; i++) {
    const int32_t scale = check_get(&p.scale, i), shift = check_get(&p.shift, i), sign = i % 2 != 0 ? 1 : -1;
    const int64_t got = check_fixed(check_get_bits(&p.o, FAR * COLUMNS + i), 10),
                  error = got - (int64_t)(sign * scale + shift) * 1024;
    far = far && error > -64 && error < 64; /* epsilon takes 0.8 % */
    equal = equal && check_get(&p.o, EQUAL * COLUMNS + i) == shift;
    spoiled = spoiled && check_get_bits(&p.o, SPOILED * COLUMNS + i) << 1 > 0xff000000u;
  }
  check_that(far, "1000000 and 1000001 in turn become -1 and 1");
  check_that(equal, "a row of equal values becomes the shift");
  check_that(spoiled, "a row with a NaN is NaN");
  for (int32_t row = 0; row < 12; row++)
    if (row != FAR && row != EQUAL && row != SPOILED)
      right_row(&p, row);
  check_free();
  check_end("norm: special values");
}

/* The widest rows that fit on the chip, rows that are one column wider, and ones of several blocks. */
static void widths(void) {
  static const int32_t columns[] = {6544, 6545, 9000};
  for (unsigned i = 0; i < sizeof columns / sizeof columns[0]; i++) {
    struct operands p = make(PL_F32, i == 2 ? PL_BF16 : PL_F32, PL_F32, 17, columns[i], 99);
    for (int layer = 0; layer < 2; layer++) {
      p.layer = layer;
      if (check_works("norm of wide rows", run(&p)))
        for (int32_t row = 0; row < 17; row += 8)
          right_row(&p, row);
    }
    check_free();
  }
  check_end("norm: wide rows");
}

static void errors(void) {
  struct operands p = make(PL_F32, PL_BF16, PL_F32, 20, 16, 99);
  const pl_array narrow = check_array(PL_F32, PL_SHAPE(15), 1, 1),
                 wide = check_array(PL_F32, PL_SHAPE(2, 9000), 1, 1);
  check_fails(kernel_layer_norm(p.x, narrow, p.shift, p.o, 1), PL_ERROR_SHAPE,
              "scale must be f32 or bf16 [16]");
  check_fails(kernel_layer_norm(p.x, p.scale, narrow, p.o, 1), PL_ERROR_SHAPE,
              "shift must be f32 or bf16 [16]");
  check_fails(kernel_rms_norm(p.x, p.x, p.o, 1), PL_ERROR_SHAPE, "rank 2");
  check_fails(kernel_rms_norm(p.x, p.scale, wide, 1), PL_ERROR_SHAPE, "columns 16 and 9000");
  p.layer = true;
  if (check_works("layer norm after errors", run(&p)))
    right(&p);
  check_free();
  check_end("norm: errors");
}

int main(int argc, char **argv) {
  char text[48];
  check_begin(argc, argv);
  for (int layer = 0; layer < 2; layer++) {
    for (int32_t i = 0; i < check_shapes; i++)
      random_shape(layer);
    snprintf(text, sizeof text, "%s norm: %d random shapes", layer ? "layer" : "RMS", (int)check_shapes);
    check_end(text);
  }
  specials();
  widths();
  errors();
  return check_status();
}
