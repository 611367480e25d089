/* SPDX-License-Identifier: MIT */
/* ACLINT machine timer: a 64-bit counter of 25 MHz and one comparator a hart. */
#ifndef HAL_MTIME_H
#define HAL_MTIME_H

#include "result.h"

#include <stdint.h>

typedef struct hal_mtime {
  uintptr_t base; /* of the ACLINT */
  uint32_t hart;
} hal_mtime;

/* Disarms the comparator. */
HAL_MUST_CHECK hal_result hal_mtime_init(hal_mtime *timer, uintptr_t base, uint32_t hart);
/* Ticks since reset. */
HAL_MUST_CHECK hal_result hal_mtime_read(const hal_mtime *timer, uint64_t *ticks);
/* The timer interrupt is pending from this time on; UINT64_MAX disarms. */
HAL_MUST_CHECK hal_result hal_mtime_arm(const hal_mtime *timer, uint64_t ticks);

#endif
