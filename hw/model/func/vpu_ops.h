/* SPDX-License-Identifier: MIT */
/* The vector unit's operations on whole VREGs; private to the functional model's VPU. */
#ifndef TPU_FUNC_VPU_OPS_H
#define TPU_FUNC_VPU_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include "compute.h"

/*
 * d[i] = op(a[i], b[i], c[i]) for i < n: MOV, SEL, arithmetic, comparisons, logic, conversions. Sources that
 * an operation does not have are ignored. d may be a source. Returns false, and does nothing, for any other
 * operation.
 */
bool tpu_vpu_elementwise(uint32_t op, uint32_t *d, const uint32_t *a, const uint32_t *b, const uint32_t *c,
                         uint32_t n);

/* d[i] = op(a[i]) for i < n: EXP2 to SIGMOID. d may be a. Integers only: num_env does not matter. */
void tpu_vpu_transcendental(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t n);

/*
 * TPU_VOP_RL_* and TPU_VOP_RS_*: d = the result of a in every lane (RL), or in every sublane (RS). Lanes with
 * sublane >= rows or lane >= columns count as the identity. d may be a.
 */
void tpu_vpu_reduce(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t rows,
                    uint32_t columns);

/* d = yes in the first `rows` sublanes and `columns` lanes, else no. d may be a source. */
void tpu_vpu_mask(uint32_t *d, const uint32_t *yes, const uint32_t *no, uint32_t lanes, uint32_t rows,
                  uint32_t columns);
/* Word (s, l) of d = base + s x row_step + l x lane_step. */
void tpu_vpu_ramp(uint32_t *d, uint32_t lanes, uint32_t base, uint32_t row_step, uint32_t lane_step);
/* d[i] = value for i < n. */
void tpu_vpu_fill(uint32_t *d, uint32_t value, uint32_t n);
/* Word (s, l) of d = column[s]. */
void tpu_vpu_broadcast(uint32_t *d, const uint32_t *column, uint32_t lanes);
/* TPU_VOP_*ARGMAX on `count` groups of `width` words: the first group becomes the index. Private to
 * vpu_ops.c. */
void tpu_vpu_argmax(bool f32, uint32_t *x, uint32_t count, uint32_t width);

/* ROT_LANE, ROT_SUB, BC_LANE, BC_SUB by n, which is taken modulo the extent. d may be a. */
void tpu_vpu_move(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t n);
/* TRANSPOSE: a and d are max(8, lanes) rows of `lanes` words; each lanes x lanes tile by itself. d may be a.
 */
void tpu_vpu_transpose(uint32_t *d, const uint32_t *a, uint32_t lanes);
/* RAND: word (s, l) of d = random bits of `key` at (row + s, column + l). */
void tpu_vpu_random(uint32_t *d, uint32_t lanes, const uint32_t key[2], uint32_t row, uint32_t column);

/* n elements, at most a VREG, of a type in memory to registers, and back. Nothing needs to be aligned. */
void tpu_vpu_widen(uint32_t *d, const uint8_t *memory, enum tpu_vmem_dtype dtype, bool i32, uint32_t n);
void tpu_vpu_narrow(uint8_t *memory, const uint32_t *a, enum tpu_vmem_dtype dtype, bool i32, uint32_t n);

#endif
