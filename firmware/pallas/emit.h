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
/* The loops of an elementwise operation; `compute` emits a group's result and returns what is stored. */
typedef tpu_vasm_source pl_emit_compute(struct pl_program *p, const struct pl_signature *s, unsigned group);
void pl_emit_elementwise(struct pl_program *p, const struct pl_signature *s, pl_emit_compute *compute);
/* Registers of group's source i, and of its result, behind which the three next are free. */
enum { PL_V_SOURCE = 4, PL_V_RESULT = 7, PL_V_GROUP = 7 };
struct tpu_vasm_memory pl_memory_of(const struct pl_program *p, const struct pl_signature *s,
                                    unsigned operand, unsigned group);

#endif
