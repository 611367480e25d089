/* SPDX-License-Identifier: MIT */
#include "uart.h"
#include "mmio.h"

/* Registers and fields: SiFive FE310-G002 manual, chapter 18. */
enum {
  UART_TXDATA = 0x00,
  UART_RXDATA = 0x04,
  UART_TXCTRL = 0x08,
  UART_RXCTRL = 0x0c,
  UART_IE = 0x10,
  UART_IP = 0x14,
  UART_DIV = 0x18,
};
#define UART_TXDATA_FULL      0x80000000u
#define UART_RXDATA_EMPTY     0x80000000u
#define UART_CTRL_ENABLE      0x1u
#define UART_CTRL_COUNT_SHIFT 16
#define UART_IP_TXWM          0x1u

hal_result hal_uart_init(hal_uart *uart, uintptr_t base, uint32_t divisor) {
  if (uart == NULL || base == 0 || divisor > 0xffff)
    return HAL_BAD_ARGUMENT;
  uart->base = base;
  mmio_write32(base + UART_IE, 0);
  if (divisor != 0)
    mmio_write32(base + UART_DIV, divisor);
  /* Watermark 1: IP.txwm then means that the FIFO holds less than one byte (see hal_uart_drain). */
  mmio_write32(base + UART_TXCTRL, UART_CTRL_ENABLE | 1u << UART_CTRL_COUNT_SHIFT);
  mmio_write32(base + UART_RXCTRL, UART_CTRL_ENABLE);
  return HAL_OK;
}

hal_result hal_uart_try_put(const hal_uart *uart, uint8_t byte) {
  if (mmio_read32(uart->base + UART_TXDATA) & UART_TXDATA_FULL)
    return HAL_BUSY;
  mmio_write32(uart->base + UART_TXDATA, byte);
  return HAL_OK;
}

hal_result hal_uart_write(const hal_uart *uart, const void *bytes, size_t n, uint32_t polls) {
  const uint8_t *p = bytes;
  for (size_t i = 0; i < n; i++) {
    uint32_t left = polls;
    while (hal_uart_try_put(uart, p[i]) == HAL_BUSY)
      if (left-- == 0)
        return HAL_TIMEOUT;
  }
  return HAL_OK;
}

hal_result hal_uart_try_get(const hal_uart *uart, uint8_t *byte) {
  uint32_t value = mmio_read32(uart->base + UART_RXDATA);
  if (value & UART_RXDATA_EMPTY)
    return HAL_BUSY;
  *byte = (uint8_t)value;
  return HAL_OK;
}

hal_result hal_uart_drain(const hal_uart *uart, uint32_t polls) {
  while (!(mmio_read32(uart->base + UART_IP) & UART_IP_TXWM))
    if (polls-- == 0)
      return HAL_TIMEOUT;
  return HAL_OK;
}
