/* SPDX-License-Identifier: MIT */
#include "tpu_ctrl.h"

#include <stddef.h>

#define TPU_MAGIC 0x4c504550u

hal_result tpu_ctrl_init(tpu_ctrl *ctrl, uintptr_t base) {
  if (ctrl == NULL || base == 0)
    return HAL_BAD_ARGUMENT;
  ctrl->base = base;
  return HAL_OK;
}

hal_result tpu_ctrl_identify(const tpu_ctrl *ctrl, tpu_identity *identity) {
  identity->magic = mmio_read32(ctrl->base + TPU_REG_ID);
  identity->version = mmio_read32(ctrl->base + TPU_REG_VERSION);
  identity->abi_hash = mmio_read32(ctrl->base + TPU_REG_ABI_HASH);
  identity->features = mmio_read32(ctrl->base + TPU_REG_FEATURES);
  return identity->magic == TPU_MAGIC && identity->abi_hash == TPU_ABI_HASH ? HAL_OK : HAL_MISMATCH;
}

hal_result tpu_ctrl_params(const tpu_ctrl *ctrl, tpu_params *params) {
  for (int i = 0; i < TPU_PARAM_IDS; i++)
    params->value[i] = 0;
  for (uint32_t i = 0; i < TPU_REG_PARAM_COUNT; i++) {
    uint32_t id = mmio_read32(ctrl->base + TPU_REG_PARAM_ID(i));
    if (id == TPU_PARAM_END)
      return HAL_OK;
    if (id < TPU_PARAM_IDS)
      params->value[id] = mmio_read32(ctrl->base + TPU_REG_PARAM_VALUE(i));
  }
  return HAL_MISMATCH;
}

hal_result tpu_ctrl_status(const tpu_ctrl *ctrl, uint32_t *status) {
  *status = mmio_read32(ctrl->base + TPU_REG_STATUS);
  return HAL_OK;
}

hal_result tpu_ctrl_error(const tpu_ctrl *ctrl, tpu_error_info *info) {
  uint32_t error = mmio_read32(ctrl->base + TPU_REG_ERROR);
  info->valid = (error & TPU_REG_ERROR_VALID_MASK) != 0;
  info->code = (uint8_t)((error & TPU_REG_ERROR_CODE_MASK) >> TPU_REG_ERROR_CODE_SHIFT);
  info->queue = (uint8_t)((error & TPU_REG_ERROR_QUEUE_MASK) >> TPU_REG_ERROR_QUEUE_SHIFT);
  info->tag = mmio_read32(ctrl->base + TPU_REG_ERROR_TAG);
  info->detail[0] = mmio_read32(ctrl->base + TPU_REG_ERROR_DETAIL0);
  info->detail[1] = mmio_read32(ctrl->base + TPU_REG_ERROR_DETAIL1);
  return HAL_OK;
}

static hal_result act_and_wait(const tpu_ctrl *ctrl, uint32_t action, uint32_t polls) {
  mmio_write32(ctrl->base + TPU_REG_CTRL, action);
  while (mmio_read32(ctrl->base + TPU_REG_STATUS) & TPU_REG_STATUS_ABORTING_MASK)
    if (polls-- == 0)
      return HAL_TIMEOUT;
  return HAL_OK;
}

hal_result tpu_ctrl_abort(const tpu_ctrl *ctrl, uint32_t polls) {
  return act_and_wait(ctrl, TPU_REG_CTRL_ABORT_MASK, polls);
}

hal_result tpu_ctrl_soft_reset(const tpu_ctrl *ctrl, uint32_t polls) {
  return act_and_wait(ctrl, TPU_REG_CTRL_SOFT_RESET_MASK, polls);
}

#define INTR_LATCHED                                                                                         \
  (TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK)
#define INTR_ALL (INTR_LATCHED | TPU_REG_INTR_STATE_SPACE_MASK)

hal_result tpu_ctrl_intr_state(const tpu_ctrl *ctrl, uint32_t *bits) {
  *bits = mmio_read32(ctrl->base + TPU_REG_INTR_STATE);
  return HAL_OK;
}

hal_result tpu_ctrl_intr_clear(const tpu_ctrl *ctrl, uint32_t bits) {
  if (bits & ~INTR_LATCHED)
    return HAL_BAD_ARGUMENT;
  mmio_write32(ctrl->base + TPU_REG_INTR_STATE, bits); /* write one to clear */
  return HAL_OK;
}

hal_result tpu_ctrl_intr_enable(const tpu_ctrl *ctrl, uint32_t bits) {
  if (bits & ~INTR_ALL)
    return HAL_BAD_ARGUMENT;
  mmio_write32(ctrl->base + TPU_REG_INTR_ENABLE, bits);
  return HAL_OK;
}

hal_result tpu_ctrl_intr_test(const tpu_ctrl *ctrl, uint32_t bits) {
  if (bits & ~INTR_LATCHED)
    return HAL_BAD_ARGUMENT;
  mmio_write32(ctrl->base + TPU_REG_INTR_TEST, bits);
  return HAL_OK;
}

hal_result tpu_ctrl_intr_space(const tpu_ctrl *ctrl, unsigned queue, unsigned slots) {
  if (queue > TPU_QUEUE_SYNC || slots > 15)
    return HAL_BAD_ARGUMENT;
  uint32_t value = mmio_read32(ctrl->base + TPU_REG_INTR_SPACE);
  value &= ~(15u << 4 * queue);
  mmio_write32(ctrl->base + TPU_REG_INTR_SPACE, value | slots << 4 * queue);
  return HAL_OK;
}

hal_result tpu_ctrl_cycle(const tpu_ctrl *ctrl, uint64_t *cycle) {
  uint32_t low = mmio_read32(ctrl->base + TPU_REG_CYCLE_LO); /* holds the high half */
  *cycle = (uint64_t)mmio_read32(ctrl->base + TPU_REG_CYCLE_HI) << 32 | low;
  return HAL_OK;
}

hal_result tpu_ctrl_load_program(const tpu_ctrl *ctrl, uint32_t first, const uint64_t *instructions,
                                 uint32_t n) {
  if (first > TPU_REG_VPROG_COUNT / 2 || n > TPU_REG_VPROG_COUNT / 2 - first)
    return HAL_BAD_ARGUMENT;
  for (uint32_t i = 0; i < n; i++) {
    mmio_write32(ctrl->base + TPU_REG_VPROG(2 * (first + i)), (uint32_t)instructions[i]);
    mmio_write32(ctrl->base + TPU_REG_VPROG(2 * (first + i) + 1), (uint32_t)(instructions[i] >> 32));
  }
  return HAL_OK;
}
