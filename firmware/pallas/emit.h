/* SPDX-License-Identifier: MIT */
/* What makers of vector programs share. */
#ifndef PALLAS_EMIT_H
#define PALLAS_EMIT_H

#include "vector.h"

#ifndef TPU_HOST /* fields are checked where the runtime is tested: on the host */
#define TPU_VASM_CHECK(condition) ((void)(condition))
#endif
#include "vpu_asm.h"

void pl_emit(struct pl_program *p, uint64_t word);
enum tpu_vmem_dtype pl_memory_dtype(unsigned dtype);
/* Converts the register of a source to the register type of the result. */
void pl_emit_convert(struct pl_program *p, unsigned vd, unsigned v, unsigned to, unsigned from);
/* Int to a narrower int: wrap, as a cast does; the store would saturate. */
void pl_emit_wrap(struct pl_program *p, unsigned v, unsigned dtype, unsigned from);
struct tpu_vasm_memory pl_memory_of(const struct pl_program *p, const struct pl_signature *s,
                                    unsigned operand, unsigned group);

#endif
