/* SPDX-License-Identifier: MIT */
/*
 * The trap report: cause, address, where it happened and what ran. Every trap is a fault (nothing
 * takes interrupts), so the report ends the program.
 *
 * The stack lies at the lower end of RAM with nothing below it (linker/peplos.ld), so that an overflow is
 * an access fault too: one with sp below the stack.
 */
#include "boot.h"

#include "tpu_memmap.h"

#include <stdbool.h>

__attribute__((noreturn)) void trap_fault(const uint32_t *frame);

extern const char __stack_bottom[], __stack_top[];

enum { CAUSE_LOAD_FAULT = 5, CAUSE_STORE_FAULT = 7 };

static const char *const cause_names[] = {
    "instruction address misaligned",
    "instruction access fault",
    "illegal instruction",
    "breakpoint",
    "load address misaligned",
    "load access fault",
    "store address misaligned",
    "store access fault",
    "environment call from U",
    "environment call from S",
    "reserved",
    "environment call",
};

/* What mtval holds for a cause. */
static const char *value_name(uint32_t cause) {
  switch (cause) {
  case 2:
    return "instruction";
  case 0:
  case 1:
  case 4:
  case 5:
  case 6:
  case 7:
    return "address";
  default:
    return "value";
  }
}

static void put_place(const char *name, uint32_t address) {
  uint32_t offset;
  const char *symbol = boot_symbol(address, &offset);
  boot_put(name);
  boot_put_hex(address);
  boot_put(" ");
  boot_put(symbol);
  boot_put("+");
  boot_put_hex(offset);
  boot_put("\n");
}

void trap_fault(const uint32_t *frame) {
  uint32_t cause, pc, value;
  __asm__ volatile("csrr %0, mcause" : "=r"(cause));
  __asm__ volatile("csrr %0, mepc" : "=r"(pc));
  __asm__ volatile("csrr %0, mtval" : "=r"(value));

  const bool overflow = (cause == CAUSE_LOAD_FAULT || cause == CAUSE_STORE_FAULT) &&
                        frame[2] < (uint32_t)(uintptr_t)__stack_bottom;
  if (overflow) {
    boot_put("\nSTACK OVERFLOW: the stack has ");
    boot_put_decimal((uint32_t)(__stack_top - __stack_bottom));
    boot_put(" bytes, and sp is ");
    boot_put_decimal((uint32_t)(uintptr_t)__stack_top - frame[2]);
    boot_put(" below its top");
  }
  boot_put("\nTRAP: ");
  if (cause & 0x80000000u) {
    boot_put("interrupt ");
    boot_put_decimal(cause & 0x7fffffffu);
    boot_put(", although none is enabled");
  } else if (cause < sizeof cause_names / sizeof cause_names[0]) {
    boot_put(cause_names[cause]);
  } else {
    boot_put("cause ");
    boot_put_decimal(cause);
  }
  boot_put(", ");
  boot_put(value_name(cause));
  boot_put(" ");
  boot_put_hex(value);
  boot_put("\n");
  put_place("  pc ", pc);
  put_place("  ra ", frame[1]);
  boot_put("  sp ");
  boot_put_hex(frame[2]);
  boot_put("\n");
  if (boot_describe_context)
    boot_describe_context();
  boot_exit(overflow ? BOOT_EXIT_STACK : BOOT_EXIT_TRAP);
}
