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

/* Register accesses take one cycle. Reads of a memory wait for its answer (no bank conflicts here). */
#define TIME_REGISTER     1
#define TIME_WINDOW_READ  3
#define TIME_WINDOW_WRITE 1
#define TIME_VPROG_READ   3

/* GO in cycle t: the head is looked at in t + TIME_GO. */
#define TIME_GO 2
/* From one start of a queue to the look at the next head, if the engine takes commands back to back. */
#define TIME_NEXT_HEAD 1
/* From the cycle in which a semaphore changes to the look at heads that wait for it (contract: at most 4). */
#define TIME_SEM_TO_START 1
/* SYNC: start to signals. */
#define TIME_SYNC 1
/* An engine that was full can take a command again this long after a completion. */
#define TIME_ENGINE_FREE 1

/* ---- DMA --------------------------------------------------------------------------------------------------
 */

/* Commands that a channel has started and not completed. */
#define DMA_COMMANDS 4
/* Largest segment; segments also end at this alignment of their source (fill: of their destination). */
#define DMA_BURST_BYTES 256
/* Bursts on HBM end here. */
#define DMA_PAGE_BYTES 4096
/* Start to the end of the checks, beside a cycle for every count other than 1; then the channel takes the
 * next command. */
#define TIME_DMA_CHECK 3
/* End of the checks, or of the command before, to the first segment of a command. */
#define TIME_DMA_LOAD 2
/* Segment issued to the first beat, beside the HBM_LATENCY register; and the same for on-chip memories. */
#define TIME_DMA_HBM_READ   5
#define TIME_DMA_LOCAL_READ 5
/* Last beat moved to completion: write response of HBM (20 cycles of the memory), or a local write. */
#define TIME_DMA_HBM_DONE   25
#define TIME_DMA_LOCAL_DONE 5
/* Segments with on-chip (or without a) source between issue and the end of their move. */
#define DMA_LOCAL_SEGMENTS 8

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
