/* SPDX-License-Identifier: MIT */
/*
 * Register access and the few instructions of the scalar core that C has no word for.
 *
 * On the target these are single instructions. With TPU_HOST defined the same names are functions
 * that the host program provides: unit tests mock the registers, and the runtime's tests connect
 * them to a model library.
 */
#ifndef HAL_MMIO_H
#define HAL_MMIO_H

#include <stdint.h>

#ifdef TPU_HOST

uint32_t mmio_read32(uintptr_t address);
void mmio_write32(uintptr_t address, uint32_t value);
uint8_t mmio_read8(uintptr_t address);
void mmio_write8(uintptr_t address, uint8_t value);
uint16_t mmio_read16(uintptr_t address);
void mmio_write16(uintptr_t address, uint16_t value);
/* Sleeps until an interrupt is pending (it need not be enabled in mstatus). May return early. */
void cpu_wfi(void);
/* Orders earlier memory accesses, also to HBM, before later register accesses. */
void cpu_fence(void);
/* Instructions retired, modulo 2^32. */
uint32_t cpu_instret(void);
/* Where the scalar core sees byte `offset` of HBM. */
void *cpu_hbm(uint32_t offset);

#else

#include "tpu_memmap.h"

static inline uint32_t mmio_read32(uintptr_t address) {
  return *(volatile uint32_t *)address;
}
static inline void mmio_write32(uintptr_t address, uint32_t value) {
  *(volatile uint32_t *)address = value;
}
static inline uint8_t mmio_read8(uintptr_t address) {
  return *(volatile uint8_t *)address;
}
static inline void mmio_write8(uintptr_t address, uint8_t value) {
  *(volatile uint8_t *)address = value;
}
static inline uint16_t mmio_read16(uintptr_t address) {
  return *(volatile uint16_t *)address;
}
static inline void mmio_write16(uintptr_t address, uint16_t value) {
  *(volatile uint16_t *)address = value;
}
static inline void cpu_wfi(void) {
  __asm__ volatile("wfi" ::: "memory");
}
static inline void cpu_fence(void) {
  __asm__ volatile("fence" ::: "memory");
}
static inline uint32_t cpu_instret(void) {
  uint32_t value;
  __asm__ volatile("csrr %0, minstret" : "=r"(value));
  return value;
}
static inline void *cpu_hbm(uint32_t offset) {
  return (void *)(PEPLOS_HBM_BASE + offset);
}

#endif

#endif
