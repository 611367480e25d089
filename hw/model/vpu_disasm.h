/* SPDX-License-Identifier: MIT */
/* Vector instructions as text, for hang reports, traces and tools. */
#ifndef TPU_VPU_DISASM_H
#define TPU_VPU_DISASM_H

#include <stddef.h>
#include <stdint.h>

/* Enough for any instruction. */
#define TPU_VPU_DISASM_SIZE 96

/*
 * Writes one instruction as text, without a newline. Like snprintf: truncates to `size`, returns the length
 * that the whole text needs. An operation without a meaning is shown as `.quad 0x...`.
 *
 *   fma v3, v1, s0, v2          ld v1, vmem[a0 + 64] bf16        st acc[a2], v5 masked rows 1
 */
size_t tpu_vpu_disassemble(uint64_t instruction, char *text, size_t size);

#endif
