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
  const uint32_t code = status < 0 || status > 255 ? 255u : (uint32_t)status;
  mmio_write32(finisher->base, code == 0 ? FINISHER_PASS : FINISHER_FAIL | code << 16);
  return HAL_OK;
}

hal_result hal_finisher_reset(const hal_finisher *finisher) {
  mmio_write32(finisher->base, FINISHER_RESET);
  return HAL_OK;
}
