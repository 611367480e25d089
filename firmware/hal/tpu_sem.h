/* SPDX-License-Identifier: MIT */
/* The semaphore file, as the scalar core reaches it. */
#ifndef HAL_TPU_SEM_H
#define HAL_TPU_SEM_H

#include "result.h"

#include <stdint.h>

typedef struct tpu_sem {
  uintptr_t base; /* of the register window */
  uint32_t count; /* semaphores of this configuration */
} tpu_sem;

HAL_MUST_CHECK hal_result tpu_sem_init(tpu_sem *sem, uintptr_t tpu_base, uint32_t count);
HAL_MUST_CHECK hal_result tpu_sem_read(const tpu_sem *sem, unsigned index, uint32_t *value);
/* Only while the device is idle (else the device's error SEM_BUSY). mode: enum tpu_sem_mode. */
HAL_MUST_CHECK hal_result tpu_sem_set(const tpu_sem *sem, unsigned index, unsigned mode, uint32_t value);
HAL_MUST_CHECK hal_result tpu_sem_signal(const tpu_sem *sem, unsigned index, uint32_t amount);
/* COUNT only: subtracts; the device's error SEM_UNDERFLOW if the value is less. */
HAL_MUST_CHECK hal_result tpu_sem_take(const tpu_sem *sem, unsigned index, uint32_t amount);

#endif
