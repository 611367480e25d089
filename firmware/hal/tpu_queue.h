/* SPDX-License-Identifier: MIT */
/*
 * A command queue of the TPU: staging registers and GO.
 *
 * Staging registers keep their values, so a loop writes only what changed since the last command
 * (tpu_queue_put). The whole-command functions write every word and are for code where clarity
 * counts more than cycles. Whether GO was accepted is not known here: a refusal sets the device's
 * sticky error (tpu_ctrl_error).
 */
#ifndef HAL_TPU_QUEUE_H
#define HAL_TPU_QUEUE_H

#include "mmio.h"
#include "result.h"
#include "tpu_regs.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct tpu_queue_handle {
  uintptr_t base; /* of the queue's staging block */
  uint8_t queue;  /* enum tpu_queue */
} tpu_queue_handle;

typedef struct tpu_wait {
  uint8_t semaphore;
  bool consume; /* subtract the amount at the start (COUNT only) */
  uint32_t amount;
} tpu_wait;

typedef struct tpu_signal {
  uint8_t semaphore;
  bool bytes; /* DMA: add the bytes written; amount is then ignored */
  uint32_t amount;
} tpu_signal;

/* What every command carries. */
typedef struct tpu_command {
  tpu_wait wait[TPU_Q_WAIT_AMOUNT_COUNT];
  tpu_signal signal[TPU_Q_SIGNAL_AMOUNT_COUNT];
  uint8_t waits, signals; /* how many are used */
  uint8_t priority;       /* DMA, 0..3 */
  bool interrupt;         /* set INTR_STATE.done on completion */
} tpu_command;

/* Fields as in docs/registers.md, "DMA command"; counts in rows, all else in bytes. */
typedef struct tpu_dma {
  uint32_t src, dst;
  uint8_t src_space, dst_space; /* enum tpu_space */
  bool fill;
  uint32_t row_bytes;
  uint16_t count[3];
  int32_t src_stride[3], dst_stride[3];
  uint32_t valid_row;
  uint16_t valid[3];
  uint32_t pattern;
} tpu_dma;

/* docs/registers.md, "MXU command". */
typedef struct tpu_mxu {
  uint32_t a, b, c;
  uint32_t a_pitch, b_pitch, c_pitch;
  uint32_t m, n, k;
  uint8_t dtype; /* enum tpu_mxu_dtype */
  bool transpose_b, accumulate;
} tpu_mxu;

/* docs/registers.md, "VPU command". */
typedef struct tpu_vpu {
  uint16_t entry;
  uint32_t loop[3];
  uint8_t row_level, col_level, row_step, col_step;
  uint32_t valid_rows, valid_cols;
  uint8_t scalar_smem;
  uint32_t scalar[8], addr[8];
  int32_t pitch[8], stride[8][3];
} tpu_vpu;

HAL_MUST_CHECK hal_result tpu_queue_init(tpu_queue_handle *handle, uintptr_t tpu_base, unsigned queue);
HAL_MUST_CHECK hal_result tpu_queue_free(const tpu_queue_handle *handle, uint32_t *slots);
/* Stages waits, signals, priority and interrupt flag. */
HAL_MUST_CHECK hal_result tpu_queue_command(const tpu_queue_handle *handle, const tpu_command *command);
/* Stage the arguments; HAL_BAD_ARGUMENT on a handle of another engine's queue. */
HAL_MUST_CHECK hal_result tpu_queue_dma(const tpu_queue_handle *handle, const tpu_dma *dma);
HAL_MUST_CHECK hal_result tpu_queue_mxu(const tpu_queue_handle *handle, const tpu_mxu *mxu);
HAL_MUST_CHECK hal_result tpu_queue_vpu(const tpu_queue_handle *handle, const tpu_vpu *vpu);

/* One staged word; offset as TPU_Q_*, TPU_DMA_*, TPU_MXU_*, TPU_VPU_*. Hot path, cannot fail. */
static inline void tpu_queue_put(uintptr_t base, uint32_t offset, uint32_t value) {
  mmio_write32(base + offset, value);
}

/* Queues what is staged. Hot path. */
static inline void tpu_queue_go(uintptr_t base, uint32_t tag) {
  mmio_write32(base + TPU_Q_GO, tag);
}

#endif
