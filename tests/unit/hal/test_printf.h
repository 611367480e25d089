/* SPDX-License-Identifier: MIT */
/* The firmware's printf family against the host's: test_printf.c. */
#ifndef TESTS_UNIT_HAL_TEST_PRINTF_H
#define TESTS_UNIT_HAL_TEST_PRINTF_H

/* Returns how many of some thousand texts differ; prints the first ones. */
unsigned test_printf(void);

#endif
