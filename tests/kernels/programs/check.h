/* SPDX-License-Identifier: MIT */
/*
 * What the test programs of the kernel library share: arrays of small whole numbers, the plain product that
 * is the reference of everything with a matrix in it, comparison, errors that must come.
 *
 * Operands are whole numbers so small that every sum is exact in f32 in any order: results are compared
 * bit for bit, after rounding to bf16 where the result is bf16.
 */
#ifndef TESTS_KERNELS_CHECK_H
#define TESTS_KERNELS_CHECK_H

#include "pallas.h"

/* From the arguments: how many random shapes to try, and the seed. */
void check_begin(int argc, char **argv);
extern int32_t check_shapes;
/* A number in low .. high. */
int32_t check_random(int32_t low, int32_t high);

/* A new array in HBM, its elements random in low .. high. The program ends if there is no room. */
pl_array check_array(pl_dtype dtype, pl_shape shape, int32_t low, int32_t high);
/* Gives all arrays back that check_array() made since the last time. */
void check_free(void);
/* An element, by its number in row-major order. */
int32_t check_get(const pl_array *a, int32_t i);
void check_put(const pl_array *a, int32_t i, int32_t value);
/* Element i of o must be `want`, rounded to o's dtype; says what, where and why if not. False: it is not. */
bool check_element(const char *what, const pl_array *o, int32_t i, int32_t want);

/* sum over k of x[x_at + k] y[y_at + k y_step]: one element of a product. */
int32_t check_dot(const pl_array *x, int32_t x_at, const pl_array *y, int32_t y_at, int32_t y_step,
                  int32_t depth);

/* An array of multiples of 1/16 that are exact in bf16, too: low .. high sixteenths, less than 256. */
pl_array check_sixteenths(pl_dtype dtype, pl_shape shape, int32_t low, int32_t high);
/* An element of it in sixteenths. */
int32_t check_get_sixteenths(const pl_array *a, int32_t i);
/* An element of a float array as the bits of an f32. */
uint32_t check_get_bits(const pl_array *a, int32_t i);
void check_put_bits(const pl_array *a, int32_t i, uint32_t bits);
/* A finite f32 times 2^scale, cut to a whole number, which must have less than 63 bits. */
int64_t check_fixed(uint32_t bits, int32_t scale);

/* The call must have failed like this, with `text` in its message. */
void check_fails(pl_status status, pl_status want, const char *text);
/* The call must have worked; false and a message if not. */
bool check_works(const char *what, pl_status status);
void check_that(bool ok, const char *what);
/* One line for run.py: PASS or FAIL, by what has failed since the last one. */
void check_end(const char *what);
/* Tries that many random shapes, and says so in one line. */
void check_random_shapes(const char *kernel, void (*try_one)(void));
/* The exit status of the program. */
int check_status(void);

#endif
