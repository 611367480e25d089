/* SPDX-License-Identifier: MIT */
/* What writers of vector programs share. */
#ifndef PALLAS_EMIT_H
#define PALLAS_EMIT_H

#include "vfn.h"

#ifndef TPU_HOST /* fields are checked where the runtime is tested: on the host */
#define TPU_VASM_CHECK(condition) ((void)(condition))
#endif
#include "vpu_asm.h"

/* Writes an instruction of a program that has its entry. */
void vfn_put_word(struct pl_context *c, const struct vfn_program *p, uint32_t number, uint64_t word);
enum tpu_vmem_dtype vfn_memory_dtype(unsigned dtype);

#endif
