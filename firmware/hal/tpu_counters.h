/* SPDX-License-Identifier: MIT */
/* Performance counters: 64 bits, latched together, read from the latches. */
#ifndef HAL_TPU_COUNTERS_H
#define HAL_TPU_COUNTERS_H

#include "result.h"

#include <stdint.h>

typedef struct tpu_counters {
  uintptr_t base; /* of the register window */
} tpu_counters;

/* The counters of one queue; meanings in docs/registers.md. */
typedef struct tpu_counter_set {
  uint64_t busy, wait, starved, stall; /* cycles */
  uint64_t commands, bytes, work;
} tpu_counter_set;

HAL_MUST_CHECK hal_result tpu_counters_init(tpu_counters *counters, uintptr_t tpu_base);
HAL_MUST_CHECK hal_result tpu_counters_clear(const tpu_counters *counters);
/* Copies all counters to the latches in one cycle. */
HAL_MUST_CHECK hal_result tpu_counters_latch(const tpu_counters *counters);
/* What was latched last for a queue. */
HAL_MUST_CHECK hal_result tpu_counters_read(const tpu_counters *counters, unsigned queue,
                                            tpu_counter_set *set);

#endif
