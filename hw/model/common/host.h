/* SPDX-License-Identifier: MIT */
/*
 * A small host for model libraries: tests, fuzzers and benchmarks load a model with it, give it a flat HBM,
 * and drive it through registers as firmware does. It uses the model ABI and nothing else, so a program
 * written with it runs on every model.
 */
#ifndef TPU_MODEL_HOST_H
#define TPU_MODEL_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#define HOST_LOG_BYTES   16384u
#define HOST_LOG_CLASSES 4u

struct host {
  void *library;
  const tpu_model_api *api;
  tpu_model *model;
  uint8_t *hbm;
  uint32_t hbm_bytes;
  /* Bus errors: accesses that touch [bad_begin, bad_end) fail. */
  uint64_t bad_begin, bad_end;
  /* Log lines, the newest in the buffer, and how many there were of each class. */
  char log[HOST_LOG_BYTES];
  size_t log_used;
  unsigned log_lines[HOST_LOG_CLASSES];
  /* First call of the model that did not return TPU_OK; nothing is called after it. */
  tpu_status status;
  const char *failed_call;
};

/* Configuration with the host's hash and size, everything else default. */
tpu_model_config host_config(void);

/*
 * Loads the library and creates a model with an HBM as large as its parameter ROM says, filled with zeros.
 * False: `error` says why, *h needs no close.
 */
bool host_open(struct host *h, const char *library, const tpu_model_config *config, char *error,
               size_t error_size);
void host_close(struct host *h);

/* ---- the window -------------------------------------------------------------------------------------------
 */

uint32_t host_read(struct host *h, uint32_t offset);
void host_write(struct host *h, uint32_t offset, uint32_t value);
uint32_t host_read_sized(struct host *h, uint32_t offset, unsigned size);
void host_write_sized(struct host *h, uint32_t offset, unsigned size, uint32_t value);

/* A value of the parameter ROM by its id (enum tpu_param); 0 if it is not there. */
uint32_t host_parameter(struct host *h, uint32_t id);

/* Latches the counters and reads one: counter is TPU_COUNTER_*. */
uint64_t host_counter(struct host *h, uint32_t queue, uint32_t counter);

/* ---- commands ---------------------------------------------------------------------------------------------
 */

struct host_wait {
  uint32_t sem, amount;
  bool consume;
};

struct host_signal {
  uint32_t sem, amount;
  bool bytes;
};

/* Waits, signals and flags of a command; counts say how many are used. */
struct host_head {
  uint32_t waits, signals;
  struct host_wait wait[TPU_Q_WAIT_AMOUNT_COUNT];
  struct host_signal signal[TPU_Q_SIGNAL_AMOUNT_COUNT];
  bool irq;
  uint32_t priority;
};

struct host_dma {
  uint32_t src_space, src, dst_space, dst, row_bytes;
  uint32_t count[3]; /* all three are used: at least 1 */
  int32_t src_stride[3], dst_stride[3];
  bool fill;
  uint32_t valid_row, valid[3], pattern;
  uint32_t gather, list, bound; /* MODE.gather; 0: the others are not staged */
};

struct host_mxu {
  uint32_t a, b, c, a_pitch, b_pitch, c_pitch, m, n, k;
  bool bf16, transpose_b, accumulate;
};

/* One register of a queue's block. */
void host_stage(struct host *h, uint32_t queue, uint32_t offset, uint32_t value);
void host_stage_head(struct host *h, uint32_t queue, const struct host_head *head);
void host_stage_dma(struct host *h, uint32_t queue, const struct host_dma *dma);
void host_stage_mxu(struct host *h, const struct host_mxu *mxu);
void host_go(struct host *h, uint32_t queue, uint32_t tag);
/* All of it. `head` may be NULL: no waits, no signals. */
void host_dma(struct host *h, uint32_t queue, uint32_t tag, const struct host_head *head,
              const struct host_dma *dma);
void host_sync(struct host *h, uint32_t tag, const struct host_head *head);

/* ---- time -------------------------------------------------------------------------------------------------
 */

/* Advances by at most `limit` cycles, over interrupts and full trace buffers (whose records are dropped). */
tpu_stop host_run(struct host *h, uint64_t limit);
/* CTRL.abort, then waits until it is through; false if that takes more than `limit` cycles. */
bool host_abort(struct host *h, uint64_t limit);

/* ---- observation ------------------------------------------------------------------------------------------
 */

/* First error: code, queue, tag, two details; all 0 if there is none. */
struct host_error {
  uint32_t code, queue, tag, detail0, detail1;
};
struct host_error host_error(struct host *h);

void host_peek(struct host *h, unsigned memory, uint32_t address, void *data, size_t n);
void host_poke(struct host *h, unsigned memory, uint32_t address, const void *data, size_t n);
/* describe() in a static buffer. */
const char *host_describe(struct host *h);
void host_clear_log(struct host *h);

#endif
