/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Machine timer with the registers of an ACLINT MTIMER
 *
 * mtimecmp of hart i at 8 i, mtime at 0x7ff8. QEMU's ACLINT would do, but for
 * one thing: its mtime ticks at multiples of the period since QEMU started,
 * and a reset takes place at a time of the host's choice, so that the place of
 * the ticks between instructions after a reset would depend on the host. This
 * one ticks at multiples of the period since the last reset, as the chip's,
 * which divides the TPU's cycle counter.
 */

#ifndef HW_TPU_TPU_MTIMER_H
#define HW_TPU_TPU_MTIMER_H

#include "hw/sysbus.h"
#include "qemu/timer.h"
#include "qom/object.h"

#define TYPE_TPU_MTIMER "tpu-mtimer"
OBJECT_DECLARE_SIMPLE_TYPE(TPUMTimerState, TPU_MTIMER)

#define TPU_MTIMER_MAX_HARTS 2

typedef struct TPUMTimerHart {
    TPUMTimerState *owner;
    uint64_t compare;
    QEMUTimer timer;
    qemu_irq irq;
} TPUMTimerHart;

struct TPUMTimerState {
    SysBusDevice parent_obj;

    /* Properties */
    uint32_t num_harts;
    uint32_t tick_ns;

    /* State */
    MemoryRegion mmio;
    int64_t base_ns;        /* time of the last reset */
    uint64_t offset;        /* mtime at base_ns; writes of mtime change it */
    TPUMTimerHart hart[TPU_MTIMER_MAX_HARTS];
};

/* True if the hart's comparison has yet to come true. */
bool tpu_mtimer_pending(TPUMTimerState *s, unsigned hart);

#endif
