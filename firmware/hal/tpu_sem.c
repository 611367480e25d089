/* SPDX-License-Identifier: MIT */
#include "tpu_sem.h"
#include "mmio.h"
#include "tpu_regs.h"

#include <stddef.h>

hal_result tpu_sem_init(tpu_sem *sem, uintptr_t tpu_base, uint32_t count) {
  if (sem == NULL || tpu_base == 0 || count == 0 || count > TPU_REG_SEM_VALUE_COUNT)
    return HAL_BAD_ARGUMENT;
  sem->base = tpu_base;
  sem->count = count;
  return HAL_OK;
}

hal_result tpu_sem_read(const tpu_sem *sem, unsigned index, uint32_t *value) {
  if (index >= sem->count)
    return HAL_ABSENT;
  *value = mmio_read32(sem->base + TPU_REG_SEM_VALUE(index));
  return HAL_OK;
}

hal_result tpu_sem_set(const tpu_sem *sem, unsigned index, unsigned mode, uint32_t value) {
  if (index >= sem->count)
    return HAL_ABSENT;
  if (mode > TPU_SEM_MODE_TICKET)
    return HAL_BAD_ARGUMENT;
  uintptr_t modes = sem->base + TPU_REG_SEM_MODE(index / 32);
  uint32_t old = mmio_read32(modes), bit = 1u << index % 32;
  mmio_write32(modes, mode == TPU_SEM_MODE_TICKET ? old | bit : old & ~bit);
  mmio_write32(sem->base + TPU_REG_SEM_VALUE(index), value);
  return HAL_OK;
}

hal_result tpu_sem_signal(const tpu_sem *sem, unsigned index, uint32_t amount) {
  if (index >= sem->count)
    return HAL_ABSENT;
  mmio_write32(sem->base + TPU_REG_SEM_SIGNAL(index), amount);
  return HAL_OK;
}

hal_result tpu_sem_take(const tpu_sem *sem, unsigned index, uint32_t amount) {
  if (index >= sem->count)
    return HAL_ABSENT;
  mmio_write32(sem->base + TPU_REG_SEM_TAKE(index), amount);
  return HAL_OK;
}
