/* SPDX-License-Identifier: MIT */
/* SiFive test finisher: ends the simulation with a status, or resets the machine. */
#ifndef HAL_FINISHER_H
#define HAL_FINISHER_H

#include "result.h"

#include <stdint.h>

typedef struct hal_finisher {
  uintptr_t base;
} hal_finisher;

HAL_MUST_CHECK hal_result hal_finisher_init(hal_finisher *finisher, uintptr_t base);
/*
 * Asks for the end with this status. The machine stops some instructions later: the caller sleeps.
 * Status 0 is success. A status has eight bits on the host, and a failure must not read as success or as
 * another failure there: any other than 0 to 255 becomes 255. (The machine keeps those above 119 for
 * itself and makes 119 of them, docs/contract.md section 11.)
 */
HAL_MUST_CHECK hal_result hal_finisher_exit(const hal_finisher *finisher, int status);
/* Asks for a reset of the machine. */
HAL_MUST_CHECK hal_result hal_finisher_reset(const hal_finisher *finisher);

#endif
