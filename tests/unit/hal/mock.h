/* SPDX-License-Identifier: MIT */
/*
 * Mocked registers: a test writes down the accesses a driver must make, in order, and the values its
 * reads get. An access that was not expected, one that is missing, and a wrong value all fail.
 */
#ifndef TESTS_UNIT_HAL_MOCK_H
#define TESTS_UNIT_HAL_MOCK_H

#include <stdbool.h>
#include <stdint.h>

void mock_read(uintptr_t address, uint32_t value);
void mock_write(uintptr_t address, uint32_t value);
/* The same read n times. */
void mock_reads(uintptr_t address, uint32_t value, unsigned n);
/* Whether everything expected happened, and nothing else, since the last call. Starts afresh. */
bool mock_done(void);
/* The first difference as text. */
const char *mock_text(void);

#endif
