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

/*
 * A write is posted and costs one cycle. A read passes the register at the pins first, then a register
 * answers at once, a memory a little later (no bank conflicts here).
 */
#define TIME_WRITE         1
#define TIME_READ_BEFORE   1
#define TIME_READ_REGISTER 1
#define TIME_READ_MEMORY   3

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
#define TIME_DMA_CHECK 2
/* End of the checks, or of the command before, to the first segment of a command. */
#define TIME_DMA_LOAD 2
/* A list of indices: its check takes so long beside a cycle a beat, and so long after the load of the command
 * its first row is known; every other row costs a cycle between two segments. */
#define TIME_DMA_LIST_CHECK 4
#define TIME_DMA_LIST_LOAD  6
#define TIME_DMA_LIST_ROW   1
/* Segment issued to the first beat, beside the HBM_LATENCY register; and the same for on-chip memories. */
#define TIME_DMA_HBM_READ   3
#define TIME_DMA_LOCAL_READ 5
/* Last beat moved to completion: write response of HBM (20 cycles of the memory), or a local write. */
#define TIME_DMA_HBM_DONE   24
#define TIME_DMA_LOCAL_DONE 3
/* Segments with on-chip (or without a) source between issue and the end of their move. */
#define DMA_LOCAL_SEGMENTS 8

/* ---- MXU --------------------------------------------------------------------------------------------------
 */

/* Commands that the unit has taken and not completed. */
#define MXU_COMMANDS 4
/* Start to the first operand row: the loader's pipeline and the DIM rows of a tile. */
#define TIME_MXU_LOAD(dim) ((dim) + 12)
/* Last operand row to the last accumulator write. */
#define TIME_MXU_DRAIN(dim) ((dim) + 1)
/* A switch of the operand type lets the array run empty. */
#define TIME_MXU_SWITCH(dim) (2 * (dim) + 1)
/* Start of a command to the earliest start of the next: the sequencer. */
#define TIME_MXU_NEXT 5
/* A command without work: its time, and the time to the next start. */
#define TIME_MXU_EMPTY      2
#define TIME_MXU_EMPTY_NEXT 3

/* ---- VPU --------------------------------------------------------------------------------------------------
 */

/* Start to the first instruction. */
#define TIME_VPU_SETUP 1
/* Last effect to completion. */
#define TIME_VPU_DONE 1
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
