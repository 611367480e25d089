/* SPDX-License-Identifier: MIT */
/* SiFive UART: polled output and input. */
#ifndef HAL_UART_H
#define HAL_UART_H

#include "result.h"

#include <stddef.h>
#include <stdint.h>

typedef struct hal_uart {
  uintptr_t base; /* address of the register block */
} hal_uart;

/* Enables transmitter and receiver. divisor: clock cycles per bit minus one; 0 keeps what is set. */
HAL_MUST_CHECK hal_result hal_uart_init(hal_uart *uart, uintptr_t base, uint32_t divisor);
/* Queues one byte; HAL_BUSY if the transmit FIFO is full. */
HAL_MUST_CHECK hal_result hal_uart_try_put(const hal_uart *uart, uint8_t byte);
/* Queues n bytes, polling while the FIFO is full; HAL_TIMEOUT after `polls` polls of one byte. */
HAL_MUST_CHECK hal_result hal_uart_write(const hal_uart *uart, const void *bytes, size_t n, uint32_t polls);
/* Takes one received byte; HAL_BUSY if there is none. */
HAL_MUST_CHECK hal_result hal_uart_try_get(const hal_uart *uart, uint8_t *byte);
/* Waits until the transmit FIFO has run empty: before power goes off, or a byte may be lost. */
HAL_MUST_CHECK hal_result hal_uart_drain(const hal_uart *uart, uint32_t polls);

#endif
