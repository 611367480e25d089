/* SPDX-License-Identifier: MIT */
#include "tpu_counters.h"
#include "mmio.h"
#include "tpu_regs.h"

#include <stddef.h>

hal_result tpu_counters_init(tpu_counters *counters, uintptr_t tpu_base) {
  if (counters == NULL || tpu_base == 0)
    return HAL_BAD_ARGUMENT;
  counters->base = tpu_base;
  return HAL_OK;
}

hal_result tpu_counters_clear(const tpu_counters *counters) {
  mmio_write32(counters->base + TPU_REG_CTRL, TPU_REG_CTRL_CLEAR_COUNTERS_MASK);
  return HAL_OK;
}

hal_result tpu_counters_latch(const tpu_counters *counters) {
  mmio_write32(counters->base + TPU_REG_CTRL, TPU_REG_CTRL_LATCH_COUNTERS_MASK);
  return HAL_OK;
}

static uint64_t read64(const tpu_counters *counters, unsigned queue, unsigned counter) {
  uint32_t low = mmio_read32(counters->base + TPU_REG_COUNTER(queue, counter, 0u));
  return (uint64_t)mmio_read32(counters->base + TPU_REG_COUNTER(queue, counter, 1u)) << 32 | low;
}

hal_result tpu_counters_read(const tpu_counters *counters, unsigned queue, tpu_counter_set *set) {
  if (queue > TPU_QUEUE_SYNC)
    return HAL_BAD_ARGUMENT;
  set->busy = read64(counters, queue, TPU_COUNTER_BUSY);
  set->wait = read64(counters, queue, TPU_COUNTER_WAIT);
  set->starved = read64(counters, queue, TPU_COUNTER_STARVED);
  set->stall = read64(counters, queue, TPU_COUNTER_STALL);
  set->commands = read64(counters, queue, TPU_COUNTER_COMMANDS);
  set->bytes = read64(counters, queue, TPU_COUNTER_BYTES);
  set->work = read64(counters, queue, TPU_COUNTER_WORK);
  return HAL_OK;
}
