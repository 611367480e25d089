/* SPDX-License-Identifier: MIT */
/*
 * Annotated timing of the functional model: every constant that stands for a path through the RTL, in cycles.
 *
 * The model is event driven; nothing here changes results, only when they appear. The RTL's cycles are the
 * reference: change a number here when a kernel's cycle count differs (docs/timings.md has the comparison).
 * Bank conflicts are not charged, so the counter STALL stays 0.
 */
#ifndef TPU_FUNC_TIMING_H
#define TPU_FUNC_TIMING_H

/* ---- front end ------------------------------------------------------------------------------------------
 */

/* Register accesses take one cycle. Window accesses and program-memory reads wait for a memory. */
#define TIME_REGISTER     1
#define TIME_WINDOW_READ  4
#define TIME_WINDOW_WRITE 2
#define TIME_VPROG_READ   4

/* GO in cycle t: the head is looked at in t + TIME_GO. */
#define TIME_GO 2
/* From one start of a queue to the look at the next head, if the engine takes commands back to back. */
#define TIME_NEXT_HEAD 2
/* From the cycle in which a semaphore changes to the start that it allows (the contract's limit is 4). */
#define TIME_SEM_TO_START 2
/* SYNC: start to signals. */
#define TIME_SYNC 1
/* An engine that was full can take a command again this long after a completion. */
#define TIME_ENGINE_FREE 1

/* ---- DMA --------------------------------------------------------------------------------------------------
 */

/* Commands that a channel has started and not completed. */
#define DMA_COMMANDS 4
/* Start to the first burst's request: start checks, address generation. */
#define TIME_DMA_SETUP 6
/* Largest burst. Bursts also end at 4 KiB boundaries. */
#define DMA_BURST_BYTES    256
#define DMA_BURST_BOUNDARY 4096
/* HBM read request to first beat, beside the HBM_LATENCY register; and the same for on-chip memories. */
#define TIME_DMA_HBM_READ   2
#define TIME_DMA_LOCAL_READ 4
/* Last beat written to completion: write response of HBM (20 cycles of the memory), or a local write. */
#define TIME_DMA_HBM_DONE   22
#define TIME_DMA_LOCAL_DONE 2
/* Bursts from on-chip memories, and pattern bursts, that wait for the write side. */
#define DMA_LOCAL_BURSTS 4
#define DMA_FILL_BURSTS  2

/* ---- MXU --------------------------------------------------------------------------------------------------
 */

/* Commands that the unit has taken and not completed: one streams, the loader is in the next. */
#define MXU_COMMANDS 3
/* Start to the first weight row, beside the DIM rows of a tile. */
#define TIME_MXU_LOAD 6
/* Last operand row to the last accumulator write: two cycles a row of the array, then skew and adder. */
#define TIME_MXU_DRAIN(dim) (3 * (dim) + 8)
/* A switch of the operand type lets the array run empty. */
#define TIME_MXU_SWITCH(dim) (2 * (dim) + 4)
/* A command without work. */
#define TIME_MXU_EMPTY 4

/* ---- VPU --------------------------------------------------------------------------------------------------
 */

/* Start to the first instruction: scalars from SMEM, program fetch. */
#define TIME_VPU_SETUP 6
/* Last effect to completion. */
#define TIME_VPU_DONE 2
/* Instructions executed at a time; between slices other units' effects become visible. */
#define VPU_SLICE 256

/* ---- abort ------------------------------------------------------------------------------------------------
 */

/* Beside outstanding bursts. */
#define TIME_ABORT 8

/* ---- adversarial timing -----------------------------------------------------------------------------------
 */

/* LATE: cycles without any other event before an effect that nobody waits for lands after all. */
#define TIME_LATE_IDLE 1000
/* RANDOM: usual and rare bound of a command's duration. */
#define TIME_RANDOM_SHORT 300
#define TIME_RANDOM_LONG  6000
/* Segments a command may move in one instant (all timings but CYCLE). */
#define INSTANT_SEGMENTS     65536
#define INSTANT_INSTRUCTIONS 65536

#endif
