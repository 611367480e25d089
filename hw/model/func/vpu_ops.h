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

/*
 * TPU_VOP_RL_* and TPU_VOP_RS_*: d = the result of a in every lane (RL), or in every sublane (RS). Lanes with
 * sublane >= rows or lane >= columns count as the identity. d may be a.
 */
void tpu_vpu_reduce(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t rows,
                    uint32_t columns);

/* n elements of a type in memory to registers, and back. Nothing needs to be aligned. */
void tpu_vpu_widen(uint32_t *d, const uint8_t *memory, enum tpu_vmem_dtype dtype, bool i32, uint32_t n);
void tpu_vpu_narrow(uint8_t *memory, const uint32_t *a, enum tpu_vmem_dtype dtype, bool i32, uint32_t n);

#endif
