/* SPDX-License-Identifier: MIT */
#include "tpu_queue.h"

#include <stddef.h>

hal_result tpu_queue_init(tpu_queue_handle *handle, uintptr_t tpu_base, unsigned queue) {
  if (handle == NULL || tpu_base == 0 || queue > TPU_QUEUE_SYNC)
    return HAL_BAD_ARGUMENT;
  handle->base = tpu_base + TPU_QUEUE_BASE(queue);
  handle->queue = (uint8_t)queue;
  return HAL_OK;
}

hal_result tpu_queue_free(const tpu_queue_handle *handle, uint32_t *slots) {
  *slots = mmio_read32(handle->base + TPU_Q_GO);
  return HAL_OK;
}

hal_result tpu_queue_command(const tpu_queue_handle *handle, const tpu_command *command) {
  uint32_t waits = 0, signals = 0;

  if (command->waits > TPU_Q_WAIT_AMOUNT_COUNT || command->signals > TPU_Q_SIGNAL_AMOUNT_COUNT ||
      command->priority > 3)
    return HAL_BAD_ARGUMENT;
  for (unsigned i = 0; i < command->waits; i++) {
    const tpu_wait *w = &command->wait[i];
    if (w->semaphore > TPU_Q_WAITS_SEM0_MASK)
      return HAL_BAD_ARGUMENT;
    waits |= (TPU_Q_WAITS_EN0_MASK | (w->consume ? TPU_Q_WAITS_CONSUME0_MASK : 0) | w->semaphore)
             << TPU_Q_WAITS_SEM1_SHIFT * i;
  }
  for (unsigned i = 0; i < command->signals; i++) {
    const tpu_signal *s = &command->signal[i];
    if (s->semaphore > TPU_Q_SIGNALS_SEM0_MASK)
      return HAL_BAD_ARGUMENT;
    signals |= (TPU_Q_SIGNALS_EN0_MASK | (s->bytes ? TPU_Q_SIGNALS_BYTES0_MASK : 0) | s->semaphore)
               << TPU_Q_SIGNALS_SEM1_SHIFT * i;
  }
  if (command->interrupt)
    signals |= TPU_Q_SIGNALS_IRQ_MASK;
  signals |= (uint32_t)command->priority << TPU_Q_SIGNALS_PRIORITY_SHIFT;

  tpu_queue_put(handle->base, TPU_Q_WAITS, waits);
  tpu_queue_put(handle->base, TPU_Q_SIGNALS, signals);
  for (unsigned i = 0; i < command->waits; i++)
    tpu_queue_put(handle->base, TPU_Q_WAIT_AMOUNT(i), command->wait[i].amount);
  for (unsigned i = 0; i < command->signals; i++)
    tpu_queue_put(handle->base, TPU_Q_SIGNAL_AMOUNT(i), command->signal[i].amount);
  return HAL_OK;
}

hal_result tpu_queue_dma(const tpu_queue_handle *handle, const tpu_dma *dma) {
  uintptr_t base = handle->base;

  if (handle->queue > TPU_QUEUE_DMA3 || dma->src_space > TPU_SPACE_SMEM || dma->dst_space > TPU_SPACE_SMEM)
    return HAL_BAD_ARGUMENT;
  tpu_queue_put(base, TPU_DMA_SRC, dma->src);
  tpu_queue_put(base, TPU_DMA_DST, dma->dst);
  tpu_queue_put(base, TPU_DMA_MODE,
                (uint32_t)dma->src_space << TPU_DMA_MODE_SRC_SPACE_SHIFT |
                    (uint32_t)dma->dst_space << TPU_DMA_MODE_DST_SPACE_SHIFT |
                    (dma->fill ? TPU_DMA_MODE_FILL_MASK : 0));
  tpu_queue_put(base, TPU_DMA_ROW_BYTES, dma->row_bytes);
  tpu_queue_put(base, TPU_DMA_COUNT01,
                dma->count[0] | (uint32_t)dma->count[1] << TPU_DMA_COUNT01_COUNT1_SHIFT);
  tpu_queue_put(base, TPU_DMA_COUNT2, dma->count[2]);
  for (unsigned i = 0; i < 3; i++) {
    tpu_queue_put(base, TPU_DMA_SRC_STRIDE(i), (uint32_t)dma->src_stride[i]);
    tpu_queue_put(base, TPU_DMA_DST_STRIDE(i), (uint32_t)dma->dst_stride[i]);
  }
  tpu_queue_put(base, TPU_DMA_VALID_ROW, dma->valid_row);
  tpu_queue_put(base, TPU_DMA_VALID01,
                dma->valid[0] | (uint32_t)dma->valid[1] << TPU_DMA_VALID01_COUNT1_SHIFT);
  tpu_queue_put(base, TPU_DMA_VALID2, dma->valid[2]);
  tpu_queue_put(base, TPU_DMA_PATTERN, dma->pattern);
  return HAL_OK;
}

hal_result tpu_queue_mxu(const tpu_queue_handle *handle, const tpu_mxu *mxu) {
  uintptr_t base = handle->base;

  if (handle->queue != TPU_QUEUE_MXU || mxu->m > TPU_MXU_M_COUNT_MASK || mxu->n > TPU_MXU_N_COUNT_MASK ||
      mxu->k > TPU_MXU_K_COUNT_MASK || mxu->dtype > TPU_MXU_DTYPE_BF16)
    return HAL_BAD_ARGUMENT;
  tpu_queue_put(base, TPU_MXU_A, mxu->a);
  tpu_queue_put(base, TPU_MXU_B, mxu->b);
  tpu_queue_put(base, TPU_MXU_C, mxu->c);
  tpu_queue_put(base, TPU_MXU_A_PITCH, mxu->a_pitch);
  tpu_queue_put(base, TPU_MXU_B_PITCH, mxu->b_pitch);
  tpu_queue_put(base, TPU_MXU_C_PITCH, mxu->c_pitch);
  tpu_queue_put(base, TPU_MXU_M, mxu->m);
  tpu_queue_put(base, TPU_MXU_N, mxu->n);
  tpu_queue_put(base, TPU_MXU_K, mxu->k);
  tpu_queue_put(base, TPU_MXU_MODE,
                (uint32_t)mxu->dtype << TPU_MXU_MODE_DTYPE_SHIFT |
                    (mxu->transpose_b ? TPU_MXU_MODE_TRANSPOSE_B_MASK : 0) |
                    (mxu->accumulate ? TPU_MXU_MODE_ACCUMULATE_MASK : 0));
  return HAL_OK;
}

hal_result tpu_queue_vpu(const tpu_queue_handle *handle, const tpu_vpu *vpu) {
  uintptr_t base = handle->base;

  if (handle->queue != TPU_QUEUE_VPU || vpu->row_level > 3 || vpu->col_level > 3)
    return HAL_BAD_ARGUMENT;
  tpu_queue_put(base, TPU_VPU_ENTRY, vpu->entry);
  for (unsigned i = 0; i < 3; i++)
    tpu_queue_put(base, TPU_VPU_LOOP(i), vpu->loop[i]);
  tpu_queue_put(base, TPU_VPU_EDGE,
                (uint32_t)vpu->row_level << TPU_VPU_EDGE_ROW_LEVEL_SHIFT |
                    (uint32_t)vpu->col_level << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
                    (uint32_t)vpu->row_step << TPU_VPU_EDGE_ROW_STEP_SHIFT |
                    (uint32_t)vpu->col_step << TPU_VPU_EDGE_COL_STEP_SHIFT);
  tpu_queue_put(base, TPU_VPU_VALID_ROWS, vpu->valid_rows);
  tpu_queue_put(base, TPU_VPU_VALID_COLS, vpu->valid_cols);
  tpu_queue_put(base, TPU_VPU_SCALAR_MODE, vpu->scalar_smem);
  for (unsigned i = 0; i < 8; i++) {
    tpu_queue_put(base, TPU_VPU_SCALAR(i), vpu->scalar[i]);
    tpu_queue_put(base, TPU_VPU_ADDR(i), vpu->addr[i]);
    tpu_queue_put(base, TPU_VPU_PITCH(i), (uint32_t)vpu->pitch[i]);
    for (unsigned level = 0; level < 3; level++)
      tpu_queue_put(base, TPU_VPU_STRIDE(3 * i + level), (uint32_t)vpu->stride[i][level]);
  }
  return HAL_OK;
}
