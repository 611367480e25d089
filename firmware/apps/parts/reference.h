/* SPDX-License-Identifier: MIT */
/*
 * Functions that results are checked against, in the scalar core's own arithmetic: fixed point with 20 bits
 * behind the point (-2048 to 2048), right to 2 of the last place. Soft floats would take more of the memory
 * than a test has left.
 */
#ifndef APPS_REFERENCE_H
#define APPS_REFERENCE_H

#include <stdint.h>

enum { REFERENCE_ONE = 1 << 20 };

/* An f32's value, rounded towards zero. */
int32_t reference_fixed(uint32_t f32_bits);
int32_t reference_multiply(int32_t a, int32_t b);
int32_t reference_silu(int32_t x);
/* The tanh form of GELU: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))). */
int32_t reference_gelu(int32_t x);

#endif
