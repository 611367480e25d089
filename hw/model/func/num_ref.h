/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the machine, one value at a time, in integer arithmetic.
 *
 * This is the definition that everything else is tested against: it looks only at bits, so it
 * gives the same answer on every host, with every compiler flag and in every floating-point mode.
 * It is written to be read, not to be fast; num.h has the loops that the models run.
 *
 * f32 values are passed as their bit patterns. Rules (architecture, section "Numbers"):
 *  - a subnormal operand is read as a zero of its sign;
 *  - a result is rounded to nearest even with an unbounded exponent; below the normal range it
 *    becomes a zero of its sign, above it an infinity;
 *  - arithmetic gives only one NaN, 0x7fc00000.
 */
#ifndef TPU_FUNC_NUM_REF_H
#define TPU_FUNC_NUM_REF_H

#include <stdbool.h>
#include <stdint.h>

#define NUM_NAN_F32  UINT32_C(0x7fc00000)
#define NUM_NAN_BF16 UINT16_C(0x7fc0)
#define NUM_INF_F32  UINT32_C(0x7f800000)

/* Subnormals to a zero of their sign; every other value unchanged. */
uint32_t num_ref_flush(uint32_t a);
bool num_ref_is_nan(uint32_t a);

uint32_t num_ref_add(uint32_t a, uint32_t b);
uint32_t num_ref_sub(uint32_t a, uint32_t b);
uint32_t num_ref_mul(uint32_t a, uint32_t b);

/* NaN if either operand is one; -0 orders below +0; subnormals come back as zeros. */
uint32_t num_ref_min(uint32_t a, uint32_t b);
uint32_t num_ref_max(uint32_t a, uint32_t b);

/* IEEE comparisons: false if either operand is a NaN, -0 equals +0. */
bool num_ref_eq(uint32_t a, uint32_t b);
bool num_ref_lt(uint32_t a, uint32_t b);
bool num_ref_le(uint32_t a, uint32_t b);

/* f32 to int32: nearest even or toward zero, saturating, NaN to 0. */
int32_t num_ref_to_i32_rne(uint32_t a);
int32_t num_ref_to_i32_rtz(uint32_t a);
/* int32 to f32: nearest even, or toward zero. */
uint32_t num_ref_from_i32_rne(int32_t a);
uint32_t num_ref_from_i32_rtz(int32_t a);

/* bf16 to f32 keeps all bits. */
uint32_t num_ref_from_bf16(uint16_t a);
/* f32 to bf16: nearest even or toward zero; subnormals to signed zero, one NaN. */
uint16_t num_ref_to_bf16_rne(uint32_t a);
uint16_t num_ref_to_bf16_rtz(uint32_t a);

/* int32 to 8 bits, saturating. */
int8_t num_ref_to_i8(int32_t a);
uint8_t num_ref_to_u8(int32_t a);

/*
 * One step of a matrix multiply column: a x b for two bf16 operands, as an f32 multiply of the
 * widened operands would round it (it never needs to: the product has 16 bits).
 */
uint32_t num_ref_mul_bf16(uint16_t a, uint16_t b);

#endif
