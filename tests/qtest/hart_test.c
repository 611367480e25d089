/* SPDX-License-Identifier: MIT */
/*
 * A program for the hart of tpu-soc with the stub model, without the firmware's
 * runtime: what it sees must not depend on the host or on the quantum.
 *
 * It prints lines `name value...` that test_hart.py compares. The stub's jobs
 * take a known number of cycles (stub_model.c), so the numbers mean something.
 */

#include <stdint.h>

#include "tpu_memmap.h"
#include "tpu_regs.h"

#define REG(offset)  (*(volatile uint32_t *)(PEPLOS_TPU_BASE + (offset)))
#define UART(offset) (*(volatile uint32_t *)(PEPLOS_UART_BASE + (offset)))
#define FINISHER     (*(volatile uint32_t *)PEPLOS_FINISHER_BASE)
#define BOOTS        (*(volatile uint32_t *)(PEPLOS_HBM_BASE + 0x100)) /* HBM outlives a reset */
#define GO           TPU_QUEUE_BASE(TPU_QUEUE_SYNC)
#define MIE_MEIE     0x800u
#define MSTATUS_MIE  8u

/* Set by the trap handler. */
volatile uint32_t trap_count, trap_cause, trap_cycle;

void handle_trap(uint32_t cause);
int main(void);

static void put(char c) {
  while (UART(0) & 0x80000000u) {
  }
  UART(0) = (uint8_t)c;
}

static void puts_(const char *s) {
  while (*s)
    put(*s++);
}

static void put_value(uint32_t value) {
  char digits[10];
  int n = 0;

  do
    digits[n++] = (char)('0' + value % 10);
  while (value /= 10);
  put(' ');
  while (n)
    put(digits[--n]);
}

__attribute__((noreturn)) static void finish(uint32_t code) {
  UART(8) = 1u | 1u << 16; /* txcnt = 1: IP.txwm says that the FIFO is empty */
  while (!(UART(20) & 1u)) {
  }
  FINISHER = code;
  for (;;)
    __asm__ volatile("wfi");
}

/* An illegal instruction is stepped over by its length; an interrupt is acknowledged. */
void handle_trap(uint32_t cause) {
  trap_count++;
  trap_cause = cause;
  if (cause & 0x80000000u) {
    trap_cycle = REG(TPU_REG_CYCLE_LO);
    REG(TPU_REG_INTR_STATE) = TPU_REG_INTR_STATE_DONE_MASK;
    return;
  }
  uint32_t pc;
  __asm__ volatile("csrr %0, mepc" : "=r"(pc));
  pc += (*(volatile uint16_t *)(uintptr_t)pc & 3u) == 3u ? 4 : 2;
  __asm__ volatile("csrw mepc, %0" : : "r"(pc));
}

/* One instruction as a word or half word; 1 if it traps as illegal. */
#define TRAPS(directive)                                                                                     \
  ({                                                                                                         \
    trap_count = 0;                                                                                          \
    __asm__ volatile(directive : : : "t0", "t1", "t2", "memory");                                            \
    (uint32_t)(trap_count == 1 && trap_cause == 2);                                                          \
  })

/* The hart is RV32IMC with Zicsr and Zifencei, and no more. */
static void test_isa(void) {
  puts_("isa.has");
  put_value(TRAPS("mul t0, t1, t2"));
  put_value(TRAPS("remu t0, t1, t2"));
  put_value(TRAPS("c.addi t0, 1"));
  put_value(TRAPS("csrr t0, mscratch"));
  put_value(TRAPS("fence.i"));
  puts_("\nisa.lacks");
  put_value(TRAPS(".word 0x00a3a2af")); /* amoadd.w: A */
  put_value(TRAPS(".word 0x0003a007")); /* flw: F */
  put_value(TRAPS(".word 0x207322b3")); /* sh1add: Zba */
  put_value(TRAPS(".word 0x60031293")); /* clz: Zbb */
  put_value(TRAPS(".word 0x0a7312b3")); /* clmul: Zbc */
  put_value(TRAPS(".word 0x0e7352b3")); /* czero.eqz: Zicond */
  put_value(TRAPS(".word 0xc00022f3")); /* rdcycle: Zicntr */
  put_value(TRAPS(".word 0x10200073")); /* sret: S */
  put_value(TRAPS(".word 0x5207f2d7")); /* a vector instruction: V */
  put_value(TRAPS(".half 0x9c61"));     /* c.zext.b: Zcb */
  puts_("\n");
}

/* Sleeps until the job's interrupt is pending, MIE = 0; returns the cycle it went on. */
static uint32_t sleep_until_done(void) {
  uint32_t cycle;

  for (;;) {
    uint32_t state = REG(TPU_REG_INTR_STATE);
    if (state & TPU_REG_INTR_STATE_DONE_MASK)
      break;
    __asm__ volatile("wfi");
  }
  cycle = REG(TPU_REG_CYCLE_LO);
  REG(TPU_REG_INTR_STATE) = TPU_REG_INTR_STATE_DONE_MASK;
  return cycle;
}

static void test_sleep(void) {
  static const uint32_t lengths[] = {1, 2, 3, 5, 17, 1000, 4095, 4096, 20000, 100000, 1000000};

  REG(TPU_REG_INTR_ENABLE) = TPU_REG_INTR_ENABLE_DONE_MASK;
  __asm__ volatile("csrw mie, %0" : : "r"(MIE_MEIE));
  puts_("sleep");
  for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
    uint32_t start = REG(TPU_REG_CYCLE_LO);
    REG(GO) = lengths[i];
    put_value(sleep_until_done() - start - lengths[i]);
  }
  puts_("\n");
}

/* The same with more and more to do between the look and WFI. */
static void test_late_sleep(void) {
  puts_("late");
  for (uint32_t work = 1; work < 5000; work *= 3) {
    uint32_t start = REG(TPU_REG_CYCLE_LO);
    REG(GO) = 10000;
    (void)REG(TPU_REG_INTR_STATE);
    for (uint32_t i = 0; i < work; i++)
      __asm__ volatile("nop");
    __asm__ volatile("wfi");
    put_value(sleep_until_done() - start - 10000);
  }
  puts_("\n");
}

/* Interrupts enabled, the hart computes and does not touch the device. */
static void test_running(void) {
  puts_("running");
  for (uint32_t length = 10; length < 100000; length *= 7) {
    uint32_t before = trap_count;
    REG(GO) = length;
    uint32_t start = REG(TPU_REG_CYCLE_LO);
    __asm__ volatile("csrs mstatus, %0" : : "r"(MSTATUS_MIE));
    while (trap_count == before) {
    }
    __asm__ volatile("csrc mstatus, %0" : : "r"(MSTATUS_MIE));
    put_value(trap_cycle - start);
  }
  puts_("\n");
}

static void test_polling(void) {
  puts_("polling");
  for (uint32_t length = 10; length < 100000; length *= 7) {
    uint32_t polls = 0;
    REG(GO) = length;
    while (!(REG(TPU_REG_STATUS) & TPU_REG_STATUS_IDLE_MASK))
      polls++;
    put_value(polls);
    REG(TPU_REG_INTR_STATE) = TPU_REG_INTR_STATE_DONE_MASK;
  }
  puts_("\n");
}

/* A timer interrupt ends a sleep while the device is at work. */
static void test_timer(void) {
  volatile uint32_t *mtimecmp = (volatile uint32_t *)(PEPLOS_ACLINT_BASE + 0x4000);
  volatile uint32_t *mtime = (volatile uint32_t *)(PEPLOS_ACLINT_BASE + 0xbff8);

  puts_("timer");
  REG(GO) = 100000;
  uint32_t start = REG(TPU_REG_CYCLE_LO);
  mtimecmp[1] = 0;
  mtimecmp[0] = mtime[0] + 2000; /* 10000 cycles */
  __asm__ volatile("csrs mie, %0" : : "r"(0x80));
  (void)REG(TPU_REG_INTR_STATE);
  __asm__ volatile("wfi");
  put_value(REG(TPU_REG_CYCLE_LO) - start);
  __asm__ volatile("csrc mie, %0" : : "r"(0x80));
  put_value(sleep_until_done() - start);
  puts_("\n");
}

int main(void) {
  const char *how = (const char *)PEPLOS_ARGS_BASE;

  if (how[0] == 'h') { /* hang: nothing will wake the hart */
    (void)REG(TPU_REG_INTR_STATE);
    __asm__ volatile("wfi");
    finish(0x5555);
  }
  if (how[0] == 'f') /* fail with code 42 */
    finish(42u << 16 | 0x3333);
  if (how[0] == 'l') /* loop for ever */
    for (;;) {
    }
  if (BOOTS++ == 0) { /* reset in the middle of a job and of an armed interrupt */
    REG(TPU_REG_INTR_ENABLE) = TPU_REG_INTR_ENABLE_DONE_MASK;
    REG(GO) = 50000;
    (void)REG(TPU_REG_INTR_STATE);
    FINISHER = 0x7777;
    for (;;)
      __asm__ volatile("wfi");
  }
  UART(8) = 1;
  puts_("boots");
  put_value(BOOTS);
  puts_("\n");
  test_isa();
  test_sleep();
  test_late_sleep();
  test_running();
  test_polling();
  test_timer();
  finish(0x5555);
}

/* Reset at the start of RAM; a trap saves what a C function may change. */
__asm__(".section .text.start\n"
        ".globl _start\n"
        "_start:\n"
        ".option push\n.option norelax\n"
        "  la gp, __global_pointer$\n"
        ".option pop\n"
        "  la sp, __stack_top\n"
        "  la t0, trap_entry\n"
        "  csrw mtvec, t0\n"
        "  la t0, __bss_start\n"
        "  la t1, __bss_end\n"
        "1: bgeu t0, t1, 2f\n"
        "  sw zero, 0(t0)\n"
        "  addi t0, t0, 4\n"
        "  j 1b\n"
        "2: call main\n"
        "3: j 3b\n"
        ".align 2\n"
        "trap_entry:\n"
        "  addi sp, sp, -64\n"
        "  sw ra, 0(sp)\n  sw t0, 4(sp)\n  sw t1, 8(sp)\n  sw t2, 12(sp)\n"
        "  sw a0, 16(sp)\n  sw a1, 20(sp)\n  sw a2, 24(sp)\n  sw a3, 28(sp)\n"
        "  sw a4, 32(sp)\n  sw a5, 36(sp)\n  sw a6, 40(sp)\n  sw a7, 44(sp)\n"
        "  sw t3, 48(sp)\n  sw t4, 52(sp)\n  sw t5, 56(sp)\n  sw t6, 60(sp)\n"
        "  csrr a0, mcause\n"
        "  call handle_trap\n"
        "  lw ra, 0(sp)\n  lw t0, 4(sp)\n  lw t1, 8(sp)\n  lw t2, 12(sp)\n"
        "  lw a0, 16(sp)\n  lw a1, 20(sp)\n  lw a2, 24(sp)\n  lw a3, 28(sp)\n"
        "  lw a4, 32(sp)\n  lw a5, 36(sp)\n  lw a6, 40(sp)\n  lw a7, 44(sp)\n"
        "  lw t3, 48(sp)\n  lw t4, 52(sp)\n  lw t5, 56(sp)\n  lw t6, 60(sp)\n"
        "  addi sp, sp, 64\n"
        "  mret\n");
