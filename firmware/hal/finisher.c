/* SPDX-License-Identifier: MIT */
#include "finisher.h"
#include "mmio.h"

#include <stddef.h>

#define FINISHER_PASS  0x5555u
#define FINISHER_FAIL  0x3333u
#define FINISHER_RESET 0x7777u

hal_result hal_finisher_init(hal_finisher *finisher, uintptr_t base) {
  if (finisher == NULL || base == 0)
    return HAL_BAD_ARGUMENT;
  finisher->base = base;
  return HAL_OK;
}

hal_result hal_finisher_exit(const hal_finisher *finisher, int status) {
  uint32_t code = (uint32_t)status & 0xffu;
  if (status == 0) {
    mmio_write32(finisher->base, FINISHER_PASS);
  } else {
    if (code == 0)
      code = 255;
    mmio_write32(finisher->base, FINISHER_FAIL | code << 16);
  }
  return HAL_OK;
}

hal_result hal_finisher_reset(const hal_finisher *finisher) {
  mmio_write32(finisher->base, FINISHER_RESET);
  return HAL_OK;
}
