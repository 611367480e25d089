/* SPDX-License-Identifier: MIT */
/*
 * The hang report and the texts of errors, shared by both models.
 *
 * A model feeds the log with two streams that it has anyway: the scalar core's register accesses and its
 * trace records. From these the log knows every command that was queued with its waits and signals, what
 * started and ended, who signalled a semaphore last and who waited for it. The state of the moment (register
 * values) comes as a snapshot when a report is made. So the report is the same for a model in C and for one
 * made of RTL, and costs neither anything in its inner loop.
 *
 * Everything is plain data without pointers: a log may be copied, saved and restored.
 */
#ifndef TPU_HANG_REPORT_H
#define TPU_HANG_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tpu_configs.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TPU_HANG_QUEUES  7u
#define TPU_HANG_SEMS    64u
#define TPU_HANG_HISTORY 16u /* finished commands of a queue that a report lists */
#define TPU_HANG_COMMANDS                                                                                    \
  64u /* commands of a queue that are remembered: those, 15 queued, 8 in the engine                          \
       */

struct tpu_hang_head {
  uint32_t waits, signals; /* as the registers WAITS and SIGNALS */
  uint32_t wait_amount[TPU_Q_WAIT_AMOUNT_COUNT];
  uint32_t signal_amount[TPU_Q_SIGNAL_AMOUNT_COUNT];
};

struct tpu_hang_command {
  struct tpu_hang_head head;
  uint64_t go, start, end; /* cycles */
  uint32_t tag;
  bool aborted;
};

/* Command number n of a queue is command[n % TPU_HANG_COMMANDS]; ended <= started <= issued. */
struct tpu_hang_queue {
  struct tpu_hang_head staged;
  uint64_t issued, started, ended;
  struct tpu_hang_command command[TPU_HANG_COMMANDS];
};

struct tpu_hang_agent {
  bool valid;
  uint8_t queue; /* enum tpu_queue */
  uint32_t tag;
  uint32_t amount; /* of a signal: as the trace record has it, 0xffffff = that or more */
  uint64_t cycle;
};

struct tpu_hang_sem {
  struct tpu_hang_agent signaller, waiter; /* the last ones */
};

/* What the scalar core read last, and how often in a row: shows what it spins on. */
struct tpu_hang_poll {
  uint32_t offset, value;
  uint64_t count, since;
};

struct tpu_hang_log {
  struct tpu_hang_queue queue[TPU_HANG_QUEUES];
  struct tpu_hang_sem sem[TPU_HANG_SEMS];
  struct tpu_hang_poll poll;
};

/* Register values at the moment of the report. */
struct tpu_hang_snapshot {
  uint64_t cycle;
  uint32_t status; /* TPU_REG_STATUS */
  uint32_t error, error_tag, error_detail0, error_detail1;
  uint32_t intr_state, intr_enable;
  uint32_t sem_value[TPU_HANG_SEMS];
  uint32_t sem_mode[2];
};

/* Empties the log: power on. */
void tpu_hang_init(struct tpu_hang_log *log);

/*
 * An access of the scalar core to the register window, offset < 64 KiB, that raised no error. A write must
 * be told before the trace records that it causes.
 */
void tpu_hang_write(struct tpu_hang_log *log, uint64_t cycle, uint32_t offset, uint32_t value);
void tpu_hang_read(struct tpu_hang_log *log, uint64_t cycle, uint32_t offset, uint32_t value);

/* CTRL.soft_reset took effect: staging registers are zero again. */
void tpu_hang_soft_reset(struct tpu_hang_log *log);

/* A trace record, whether or not tracing is on. */
void tpu_hang_event(struct tpu_hang_log *log, const tpu_trace_record *record);

/* Writes the report as tpu_model_api.describe() says: truncated to size, returns the length needed. */
size_t tpu_hang_report(const struct tpu_hang_log *log, const struct tpu_hang_snapshot *snapshot,
                       const struct tpu_config *config, char *text, size_t size);

/* An error in one line: what, where, and what would be right. Also the text of GUEST_ERROR log lines. */
size_t tpu_error_text(uint32_t code, uint32_t queue, uint32_t tag, uint32_t detail0, uint32_t detail1,
                      const struct tpu_config *config, char *text, size_t size);

/* Name of a queue (enum tpu_queue) or "?". */
const char *tpu_queue_name(uint32_t queue);

/* ---- trace records --------------------------------------------------------------------------------------
 */

static inline tpu_trace_record tpu_trace_make(uint64_t cycle, uint32_t event, uint32_t queue, uint32_t tag,
                                              uint32_t arg) {
  tpu_trace_record r = {(cycle & TPU_TRACE_CYCLE_MASK) | (uint64_t)event << TPU_TRACE_EVENT_SHIFT |
                            (uint64_t)queue << TPU_TRACE_QUEUE_SHIFT,
                        tag, arg};
  return r;
}

static inline uint64_t tpu_trace_cycle(const tpu_trace_record *r) {
  return r->head & TPU_TRACE_CYCLE_MASK;
}

static inline uint32_t tpu_trace_event(const tpu_trace_record *r) {
  return (uint32_t)((r->head & TPU_TRACE_EVENT_MASK) >> TPU_TRACE_EVENT_SHIFT);
}

static inline uint32_t tpu_trace_queue(const tpu_trace_record *r) {
  return (uint32_t)((r->head & TPU_TRACE_QUEUE_MASK) >> TPU_TRACE_QUEUE_SHIFT);
}

#ifdef __cplusplus
}
#endif

#endif
