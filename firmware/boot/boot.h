/* SPDX-License-Identifier: MIT */
/* What the boot code offers to the rest of the firmware. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include <stdint.h>

/*
 * Exit statuses of the firmware. The machine adds its own above 119: 120 hang, 121 model fault,
 * 124 time limit.
 */
enum boot_exit {
  BOOT_EXIT_OK = 0,
  BOOT_EXIT_FAILURE = 1, /* the program ran and its check failed */
  BOOT_EXIT_USAGE = 2,   /* bad arguments or bad input data */
  BOOT_EXIT_KERNEL = 16, /* a kernel call returned an error */
  BOOT_EXIT_TRAP = 17,   /* a fault in the firmware */
  BOOT_EXIT_DEVICE = 18, /* the device is not what the firmware was built for */
  BOOT_EXIT_ERROR = 20,  /* the device reported an error to a program without the runtime */
  BOOT_EXIT_STACK = 19,  /* the stack overflowed */
};

enum {
  BOOT_MAX_ARGS = 32, /* arguments of a program, its name included */
};

/* Ends the program at once, without running exit handlers; the console is drained first. */
__attribute__((noreturn)) void boot_exit(int status);

/* Writes a text to the console, past stdio; works in a trap handler. */
void boot_put(const char *text);
void boot_put_hex(uint32_t value);
void boot_put_decimal(uint32_t value);

/*
 * Splits a command line in place at white space. Single and double quotes group, a backslash takes
 * the next character as it is. Returns the number of arguments, or -1 if there are more than
 * `max` - 1 or a quote is open. argv[argc] is set to NULL.
 */
int boot_split_args(char *line, char **argv, int max);

/* The function an address belongs to and the distance from its start; "?" if there is none. */
const char *boot_symbol(uint32_t address, uint32_t *offset);

/*
 * The stack: bytes in all, and the most of them that were in use, counted from the top, since it was painted
 * last. Painting fills what is free with a pattern.
 */
void boot_stack_paint(void);
uint32_t boot_stack_depth(void);
uint32_t boot_stack_size(void);

/* Called in a trap report to say what ran; the kernel runtime provides it, otherwise nothing is said. */
void boot_describe_context(void) __attribute__((weak));

#endif
