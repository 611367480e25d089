/* SPDX-License-Identifier: MIT */
/*
 * TPU control: identification, parameters, status, errors, interrupts, time, trace marks and the
 * vector program memory. Queues, semaphores and counters have drivers of their own.
 */
#ifndef HAL_TPU_CTRL_H
#define HAL_TPU_CTRL_H

#include "mmio.h"
#include "result.h"
#include "tpu_regs.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  TPU_PARAM_IDS = TPU_PARAM_RAM_BYTES + 1, /* parameters this program knows, END included */
};

typedef struct tpu_ctrl {
  uintptr_t base; /* of the register window */
} tpu_ctrl;

/* What the device says it is. */
typedef struct tpu_identity {
  uint32_t magic;    /* 0x4c504550 for a TPU */
  uint32_t version;  /* major in the high half */
  uint32_t abi_hash; /* to be compared with TPU_ABI_HASH */
  uint32_t features; /* TPU_REG_FEATURES_* */
} tpu_identity;

/* The parameter ROM by id; 0 for what the ROM does not list. */
typedef struct tpu_params {
  uint32_t value[TPU_PARAM_IDS];
} tpu_params;

/* The sticky first error; the details depend on the code (docs/registers.md, error_e). */
typedef struct tpu_error_info {
  bool valid;
  uint8_t code;  /* enum tpu_error */
  uint8_t queue; /* enum tpu_queue */
  uint32_t tag;
  uint32_t detail[2];
} tpu_error_info;

HAL_MUST_CHECK hal_result tpu_ctrl_init(tpu_ctrl *ctrl, uintptr_t base);
/* HAL_MISMATCH if magic or hash are not this program's; *identity is filled in either way. */
HAL_MUST_CHECK hal_result tpu_ctrl_identify(const tpu_ctrl *ctrl, tpu_identity *identity);
/* Reads the parameter ROM; unknown ids are skipped. HAL_MISMATCH if it has no end. */
HAL_MUST_CHECK hal_result tpu_ctrl_params(const tpu_ctrl *ctrl, tpu_params *params);

/* TPU_REG_STATUS_*. */
HAL_MUST_CHECK hal_result tpu_ctrl_status(const tpu_ctrl *ctrl, uint32_t *status);
HAL_MUST_CHECK hal_result tpu_ctrl_error(const tpu_ctrl *ctrl, tpu_error_info *info);
/*
 * Abort: queues emptied, semaphores zeroed, error and interrupts cleared; memories and staged words
 * stay. Waits until it is over; HAL_TIMEOUT after `polls` reads of the status.
 */
HAL_MUST_CHECK hal_result tpu_ctrl_abort(const tpu_ctrl *ctrl, uint32_t polls);
/* As abort, and all registers to their reset values. */
HAL_MUST_CHECK hal_result tpu_ctrl_soft_reset(const tpu_ctrl *ctrl, uint32_t polls);

/* Interrupt bits are TPU_REG_INTR_STATE_*. clear: only done, error and blocked can be cleared. */
HAL_MUST_CHECK hal_result tpu_ctrl_intr_state(const tpu_ctrl *ctrl, uint32_t *bits);
HAL_MUST_CHECK hal_result tpu_ctrl_intr_clear(const tpu_ctrl *ctrl, uint32_t bits);
HAL_MUST_CHECK hal_result tpu_ctrl_intr_enable(const tpu_ctrl *ctrl, uint32_t bits);
HAL_MUST_CHECK hal_result tpu_ctrl_intr_test(const tpu_ctrl *ctrl, uint32_t bits);
/* INTR_STATE.space is set while `queue` has `slots` free slots; 0 turns the queue off. */
HAL_MUST_CHECK hal_result tpu_ctrl_intr_space(const tpu_ctrl *ctrl, unsigned queue, unsigned slots);

/* TPU cycles since reset. */
HAL_MUST_CHECK hal_result tpu_ctrl_cycle(const tpu_ctrl *ctrl, uint64_t *cycle);
/* Writes n vector instructions from number `first` on; they are in force when it returns. */
HAL_MUST_CHECK hal_result tpu_ctrl_load_program(const tpu_ctrl *ctrl, uint32_t first,
                                                const uint64_t *instructions, uint32_t n);

/*
 * Puts a MARK event into the trace. kind: enum tpu_mark; value: 24 bits. Cannot fail, and is on the
 * hot path: it has no result.
 */
static inline void tpu_ctrl_mark(const tpu_ctrl *ctrl, uint32_t kind, uint32_t value) {
  mmio_write32(ctrl->base + TPU_REG_TRACE_MARK,
               kind << TPU_REG_TRACE_MARK_KIND_SHIFT | (value & TPU_REG_TRACE_MARK_VALUE_MASK));
}

#endif
