/* SPDX-License-Identifier: MIT */
#include "mtime.h"
#include "mmio.h"

#include <stddef.h>

#define ACLINT_MTIMECMP 0x4000u
#define ACLINT_MTIME    0xbff8u
#define ACLINT_HARTS    4095u

hal_result hal_mtime_init(hal_mtime *timer, uintptr_t base, uint32_t hart) {
  if (timer == NULL || base == 0 || hart >= ACLINT_HARTS)
    return HAL_BAD_ARGUMENT;
  timer->base = base;
  timer->hart = hart;
  return hal_mtime_arm(timer, UINT64_MAX);
}

hal_result hal_mtime_read(const hal_mtime *timer, uint64_t *ticks) {
  uint32_t high, low, again = mmio_read32(timer->base + ACLINT_MTIME + 4);
  do { /* the high half may step between the two reads; it cannot do so twice in a row */
    high = again;
    low = mmio_read32(timer->base + ACLINT_MTIME);
    again = mmio_read32(timer->base + ACLINT_MTIME + 4);
  } while (high != again);
  *ticks = (uint64_t)high << 32 | low;
  return HAL_OK;
}

hal_result hal_mtime_arm(const hal_mtime *timer, uint64_t ticks) {
  uintptr_t compare = timer->base + ACLINT_MTIMECMP + 8u * timer->hart;
  /* Never a value between the old and the new one that is earlier than both. */
  mmio_write32(compare + 4, 0xffffffffu);
  mmio_write32(compare, (uint32_t)ticks);
  mmio_write32(compare + 4, (uint32_t)(ticks >> 32));
  return HAL_OK;
}
