/* SPDX-License-Identifier: MIT */
/*
 * Annotated timing of the vector unit, in cycles. Nothing here changes results. The RTL's cycles are the
 * reference: change a number when a program's count differs (docs/timings.md).
 *
 * The machine issues one instruction a cycle in order. A pipe is busy for one cycle a sublane; a result's
 * sublanes appear one a cycle too, so that a dependent instruction can start LATENCY cycles after its source
 * (chaining). A reduction over sublanes sees all of them first.
 */
#ifndef TPU_FUNC_VPU_TIMING_H
#define TPU_FUNC_VPU_TIMING_H

/* From issue to the cycle in which a dependent instruction can issue. */
#define TIME_VPU_LOAD                 6
#define TIME_VPU_MOVE                 2 /* CONST, MOV, IOTA, SEL, SELM, logic, shifts, comparisons, integer add, min, max */
#define TIME_VPU_MULTIPLY             3 /* FMUL, IMUL */
#define TIME_VPU_ADD                  3 /* FADD, FSUB, FMIN, FMAX, conversions */
#define TIME_VPU_FMA                  6
#define TIME_VPU_REDUCE_LANES(levels) (3 * (levels) + 2)
#define TIME_VPU_REDUCE_SUBLANES      (8 + 3 * 3 + 2)
/* From issue of a store to its first write, and what a load waits for after the last write of a store. */
#define TIME_VPU_STORE         3
#define TIME_VPU_STORE_TO_LOAD 0
/* Issue slots of the loop instructions; a jump costs the fetch of the new instruction. */
#define TIME_VPU_LOOP 1
#define TIME_VPU_JUMP 1

#endif
