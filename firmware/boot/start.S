/* SPDX-License-Identifier: MIT */
/*
 * Reset and trap entry.
 *
 * Hart 0 runs the firmware; every other hart sleeps for good (it has no TPU yet, and it must not
 * touch the stack). The image is loaded into RAM where it runs, so there is no .data to copy; only
 * .bss is zeroed, which also makes a warm reset start from the same state as power-on.
 *
 * Nothing takes interrupts: mstatus.MIE stays 0 and waiting code wakes from WFI by mie alone, so
 * that timing does not depend on where an interrupt lands. A trap is therefore always a fault; it
 * gets its own stack, so that a stack overflow can be reported too.
 */
#include "tpu_memmap.h"

#define MIE_MTIE (1 << 7)
#define MIE_MEIE (1 << 11)

  .section .text.start, "ax"
  .globl _start
_start:
  csrw mstatus, zero
  csrr t0, mhartid
  bnez t0, park

  .option push
  .option norelax
  la gp, __global_pointer$
  .option pop
  la sp, __stack_top
  li tp, 0
  la t0, vectors
  csrw mtvec, t0
  la t0, trap_stack_top
  csrw mscratch, t0
  /* The TPU's interrupt may wake a WFI; the timer's is enabled by whoever arms it. */
  li t0, MIE_MEIE
  csrw mie, t0

  .macro clear from, to
  la t0, \from
  la t1, \to
1:
  bgeu t0, t1, 2f
  sw zero, 0(t0)
  addi t0, t0, 4
  j 1b
2:
  .endm
  clear __bss_start, __bss_end
  clear __more_start, __more_end
  call boot_main /* does not return */

park:
  csrw mie, zero
3:
  wfi
  j 3b

/*
 * Direct-mode entry that also serves cores whose mtvec is always a table: every entry of the table
 * is one 4-byte jump to the same place.
 */
  .section .text.vectors, "ax"
  /*
   * Nothing in here may be relaxed, the alignment neither: the debug range that the assembler writes is as long
   * as before relaxation, and gdb would take the functions behind it for this file's.
   */
  .option push
  .option norelax
  .balign 256
  .option push
  .option norvc
vectors:
  .rept 32
  j trap_entry
  .endr
  .option pop

#define FRAME_SIZE (32 * 4)

trap_entry:
  csrrw sp, mscratch, sp
  addi sp, sp, -FRAME_SIZE
  /* Words 1..31 are x1..x31; word 0 is free. */
  sw x1, 4(sp)
  csrrw x1, mscratch, zero /* the interrupted sp; a trap inside the handler sees 0 */
  sw x1, 8(sp)
  .irp n, 3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
  sw x\n, 4*\n(sp)
  .endr
  la gp, __global_pointer$
  mv a0, sp
  call trap_fault /* does not return */
  .option pop

  .section .bss.trap_stack, "aw", @nobits
  .balign 16
  .space 1024
trap_stack_top:
