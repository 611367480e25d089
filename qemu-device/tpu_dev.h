/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peplos TPU device
 *
 * The device has no behaviour of its own: a model library (functional or
 * Verilated RTL) behind the ABI of tpu_model.h holds the registers, and QEMU
 * gives it memory, an interrupt line and time. Three files:
 *
 * - tpu_dev.c: the QOM device: window, properties, reset, migration
 * - tpu_time.c: when the model runs, when its interrupt is seen, what a hang is
 * - tpu_host.c: loading a library, its callbacks, its event trace
 */

#ifndef HW_TPU_TPU_DEV_H
#define HW_TPU_TPU_DEV_H

#include "hw/sysbus.h"
#include "qemu/notify.h"
#include "qemu/timer.h"
#include "qom/object.h"
#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#define TYPE_TPU "tpu"
OBJECT_DECLARE_SIMPLE_TYPE(TPUState, TPU)

/* Exit codes of the process. 1 to 119 are the firmware's. */
enum {
    TPU_EXIT_HANG = 120,    /* nothing can ever happen again */
    TPU_EXIT_FAULT = 121,   /* the model library is dead */
    TPU_EXIT_LIMIT = 124,   /* a limit of time was reached; as timeout(1) */
    TPU_EXIT_SIGNAL = 143,  /* ended from outside; as a shell says SIGTERM */
};

#define TPU_NEVER UINT64_MAX

/* What the device must know about the harts; the board provides it. */
typedef struct TPUBoardOps {
    /* True if every hart sleeps in WFI with nothing pending. */
    bool (*asleep)(void *opaque);
    /* True if an enabled interrupt other than the TPU's may still come. */
    bool (*can_wake)(void *opaque);
    /* Appends a line a hart to a hang report. */
    void (*describe)(void *opaque, GString *text);
} TPUBoardOps;

struct TPUState {
    SysBusDevice parent_obj;

    /* Properties */
    char *model_name;
    char *model_dir;
    char *config;
    char *timing;
    char *trace_path;
    char *wave_path;
    uint64_t wave_from;
    uint64_t wave_to;
    uint32_t quantum;
    uint32_t seed;
    uint32_t hbm_latency;
    uint32_t stall_percent;
    uint32_t stall_seed;
    bool detect_races;
    bool assume_asleep;
    MemoryRegion *hbm;

    /* Connections */
    MemoryRegion window;
    AddressSpace hbm_as;
    uint8_t *hbm_ptr;
    uint64_t hbm_size;
    qemu_irq irq;
    const TPUBoardOps *board;
    void *board_opaque;

    /* The library */
    void *library;
    const tpu_model_api *api;
    tpu_model *model;
    FILE *trace_file;
    Notifier exit_notifier;
    Error *migration_blocker;

    /* Time; cycles are the model's, absolute since its last hard reset */
    QEMUTimer timer;
    int64_t period_ns;
    int64_t base_ns;
    uint64_t deliver_at;    /* next cycle at which the line may change */
    uint32_t arm_step;      /* cycles to the last look after INTR_STATE */
    uint64_t poll_since;    /* first poll while blocked, or TPU_NEVER */
    bool irq_level;
    bool ended;             /* the run is over: hang, fault, shutdown */
    bool dead;              /* the model cannot be used any more */

    /* Threads on the host */
    QemuThread main_thread;
    unsigned long *place_free;  /* processors that a hart's thread may use */
    unsigned long place_bits;
    uint32_t place_count;

    /* Statistics */
    uint64_t busy_cycles;
    uint64_t skipped_cycles;
    uint32_t step;          /* last grid step marked by the firmware */

    /* Migration */
    uint8_t *blob;
    uint32_t blob_size;
};

/* Board side */
void tpu_set_board(TPUState *s, const TPUBoardOps *ops, void *opaque);
/* Reports a hang if there is one; for a board's periodic check. */
void tpu_check_hang(TPUState *s);

/* tpu_place.c */
void tpu_place_init(TPUState *s);
void tpu_place_close(TPUState *s);
void tpu_place_threads(TPUState *s);

/* tpu_time.c */
uint64_t tpu_cycle(TPUState *s);
void tpu_time_init(TPUState *s);
void tpu_time_reset(TPUState *s);
bool tpu_time_check_icount(TPUState *s, Error **errp);
void tpu_sync(TPUState *s);
void tpu_update_irq(TPUState *s);
void tpu_schedule(TPUState *s);
void tpu_accessed(TPUState *s, hwaddr offset, bool write);
void tpu_die(TPUState *s, const char *where);
char *tpu_describe(TPUState *s);

/* tpu_host.c */
bool tpu_model_open(TPUState *s, Error **errp);
void tpu_model_close(TPUState *s);
uint32_t tpu_param(TPUState *s, uint32_t id);
void tpu_drain_trace(TPUState *s);

#endif
