/* SPDX-License-Identifier: MIT */
/*
 * From reset to main(): console, arguments, exit.
 *
 * Standard output has a static buffer, because there is no heap: a program's memory is known when
 * it is linked. The console is drained before the finisher is told, since the machine stops without
 * asking whether the UART's FIFO is empty.
 */
#include "boot.h"
#include "device.h"

#include "finisher.h"
#include "mmio.h"
#include "tpu_memmap.h"
#include "uart.h"

#include <stdio.h>
#include <stdlib.h>

/* A byte leaves the FIFO within 100 ns or so in QEMU and 87 us at 115200 baud. */
#define CONSOLE_POLLS 1000000u

extern int main(int argc, char **argv);
__attribute__((noreturn)) void boot_main(void);

static hal_uart console;
static hal_finisher finisher;
static char stdout_buffer[256];

__attribute__((noreturn)) void boot_exit(int status) {
  /* If the console is stuck, ending with the right status is all that is left to do. */
  (void)!hal_uart_drain(&console, CONSOLE_POLLS);
  (void)!hal_finisher_exit(&finisher, status);
  for (;;)
    cpu_wfi();
}

void boot_put(const char *text) {
  size_t n = 0;
  while (text[n] != '\0')
    n++;
  (void)!hal_uart_write(&console, text, n, CONSOLE_POLLS);
}

void boot_put_hex(uint32_t value) {
  char text[11] = "0x";
  for (int i = 0; i < 8; i++)
    text[2 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15];
  text[10] = '\0';
  boot_put(text);
}

void boot_put_decimal(uint32_t value) {
  char text[11];
  int at = 10;
  text[at] = '\0';
  do {
    text[--at] = (char)('0' + value % 10);
    value /= 10;
  } while (value != 0);
  boot_put(text + at);
}

/* The console for newlib's write(); everything goes to the one UART. */
int boot_console_write(const char *bytes, int n);
int boot_console_write(const char *bytes, int n) {
  return hal_uart_write(&console, bytes, (size_t)n, CONSOLE_POLLS) == HAL_OK ? n : -1;
}

__attribute__((noreturn)) void boot_main(void) {
  static char *argv[BOOT_MAX_ARGS];
  char *line = (char *)PEPLOS_ARGS_BASE;

  (void)!hal_uart_init(&console, PEPLOS_UART_BASE, 0);
  (void)!hal_finisher_init(&finisher, PEPLOS_FINISHER_BASE);
  setvbuf(stdout, stdout_buffer, _IOLBF, sizeof stdout_buffer);

  /* A page that nobody loaded reads as zeros: a program without arguments, not even a name. */
  line[PEPLOS_ARGS_SIZE - 1] = '\0';
  int argc = boot_split_args(line, argv, BOOT_MAX_ARGS);
  if (argc < 0) {
    boot_put("bad command line: more than 31 arguments, or a quote is not closed\n");
    boot_exit(BOOT_EXIT_USAGE);
  }
  boot_check_device();
  exit(main(argc, argv));
}
