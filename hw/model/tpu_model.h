/* SPDX-License-Identifier: MIT */
/*
 * The model ABI: what a TPU model library offers to QEMU, tests, fuzzers, benchmarks and tools.
 *
 * Two libraries implement it, libtpu_func.so (functional, C) and libtpu_rtl.so (all of rtl/ through
 * Verilator). Each exports one symbol, tpu_model_get_api(). A host uses this header and the generated
 * register headers, nothing else.
 *
 * Contract of a library
 * - Several contexts may live in one process. One context is used by one thread at a time.
 * - No exit, abort, threads, signals, environment variables, stdin/stdout/stderr, C++ exceptions across the
 * ABI.
 * - Memory is allocated in create() only. Errors are returned as tpu_status.
 * - Time is counted in TPU cycles. Nothing depends on host time; equal call sequences give equal results.
 * - Offsets are byte offsets in the TPU window (hw/regs/gen/tpu_memmap.h): registers at 0, SMEM at
 *   TPU_WINDOW_SMEM, VMEM at TPU_WINDOW_VMEM. HBM belongs to the host and is reached through callbacks.
 * Within a major version structs only grow at their end; struct_size says how far a library's goes.
 */
#ifndef TPU_MODEL_H
#define TPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPU_MODEL_ABI_MAJOR 1u
#define TPU_MODEL_ABI_MINOR 0u

typedef struct tpu_model tpu_model;

typedef enum tpu_status {
  TPU_OK = 0,
  TPU_EINVAL = 1, /* bad argument of the host; the error text or log says which */
  TPU_ENOMEM = 2,
  TPU_ENOTSUP = 3, /* e.g. save() on the RTL model, a configuration the library was not built for */
  TPU_EFAULT = 4,  /* the model is dead: assertion, $finish, internal inconsistency (MODEL_BUG) */
} tpu_status;

/* Classes of log lines; the same names in both models, QEMU's log and the firmware. */
typedef enum tpu_log_class {
  TPU_LOG_GUEST_ERROR = 0,   /* firmware broke the contract */
  TPU_LOG_UNPREDICTABLE = 1, /* result depends on unspecified order */
  TPU_LOG_UNIMPLEMENTED = 2, /* the model does not do this yet */
  TPU_LOG_MODEL_BUG = 3,     /* the model is wrong; please report */
} tpu_log_class;

/* Why advance() returned. */
typedef enum tpu_stop {
  TPU_STOP_BUDGET = 0,  /* max_cycles were run */
  TPU_STOP_IRQ = 1,     /* the interrupt line changed; the cycle of the change is the last one run */
  TPU_STOP_IDLE = 2,    /* nothing queued, nothing in flight: time may be skipped */
  TPU_STOP_BLOCKED = 3, /* something queued, every engine idle or waiting, nothing in flight: only an
                           access from the host can change that; time may be skipped */
  TPU_STOP_FAULT = 4,   /* the model is dead, see the log */
  TPU_STOP_TRACE = 5,   /* the trace buffer is full: read it and go on */
} tpu_stop;

typedef enum tpu_reset_kind {
  TPU_RESET_HARD = 0, /* power on: memories get their documented contents (docs/contract.md section 9) */
  TPU_RESET_SOFT = 1, /* as CTRL.SOFT_RESET: memories keep their contents */
} tpu_reset_kind;

/* Timing of the functional model; the RTL library accepts CYCLE only. */
typedef enum tpu_timing {
  TPU_TIMING_CYCLE = 0,  /* annotated cycles, close to the RTL's */
  TPU_TIMING_EAGER = 1,  /* an effect lands as early as possible */
  TPU_TIMING_LATE = 2,   /* an effect lands only when something waits for it */
  TPU_TIMING_RANDOM = 3, /* seeded random delays */
} tpu_timing;

/* Host callbacks. Addresses are HBM byte offsets; all may be called from advance() and mmio_*() only. */
typedef struct tpu_model_host {
  void *opaque;
  /* Copy n bytes from/to HBM. Returns 0, or non-zero for a bus error (nothing is then used or written). */
  int (*mem_read)(void *opaque, uint64_t address, void *data, size_t n);
  int (*mem_write)(void *opaque, uint64_t address, const void *data, size_t n);
  /* One line of text without a newline. */
  void (*log)(void *opaque, tpu_log_class cls, const char *text);
} tpu_model_host;

typedef struct tpu_model_config {
  uint32_t struct_size; /* sizeof(tpu_model_config) of the host; fields behind it are 0, `timing` is the first
                           that an older host may lack */
  uint32_t abi_hash;    /* TPU_ABI_HASH of the host; create() refuses another one, naming both */
  const char *config;   /* named configuration; NULL = "sim16" (func), the one built (rtl) */
  uint32_t seed;        /* reset contents of memories, TPU_TIMING_RANDOM */
  uint32_t hbm_latency; /* first-word read latency in cycles; 0 = 100. Reset value of HBM_LATENCY */
  uint32_t stall_percent; /* rtl: percent of cycles in which a handshake of the HBM port stalls, 0..90;
                             its checked build also stalls inner handshakes */
  uint32_t stall_seed;
  uint32_t timing;             /* tpu_timing */
  uint32_t detect_races;       /* func: 1 = log unordered conflicting accesses as UNPREDICTABLE */
  uint32_t trace_records;      /* capacity of the trace buffer in records, 0 = no trace */
  const char *wave_path;       /* rtl, waveform build: FST file, or NULL */
  uint64_t wave_from, wave_to; /* cycle window of the waveform */
} tpu_model_config;

/* A trace record; fields as in tpu_encodings.trace. */
typedef struct tpu_trace_record {
  uint64_t head; /* cycle 47:0, event 55:48, queue 59:56 */
  uint32_t tag;
  uint32_t arg;
} tpu_trace_record;

typedef struct tpu_model_api {
  uint32_t abi_major, abi_minor;
  uint32_t struct_size; /* sizeof(tpu_model_api) of the library */
  uint32_t abi_hash;    /* TPU_ABI_HASH the library was built with */
  const char *name;     /* "func" or "rtl" */
  const char *build;    /* free text: configuration, build kind, tool versions */

  /* On failure writes a text (NUL-terminated) to error and returns its status; *model is then NULL. */
  tpu_status (*create)(const tpu_model_config *config, const tpu_model_host *host, tpu_model **model,
                       char *error, size_t error_size);
  void (*destroy)(tpu_model *model);
  tpu_status (*reset)(tpu_model *model, tpu_reset_kind kind);

  /*
   * Access of 1, 2 or 4 bytes, naturally aligned. The access takes place in the current cycle and may
   * let time pass (at most 20 cycles); see cycle(). A guest's error is no failure of the call: it sets
   * the sticky error register, is logged, and a read returns 0.
   */
  tpu_status (*mmio_read)(tpu_model *model, uint32_t offset, unsigned size, uint32_t *value);
  tpu_status (*mmio_write)(tpu_model *model, uint32_t offset, unsigned size, uint32_t value);

  /*
   * Run until something in tpu_stop happens, max_cycles at most. *ran is the number of cycles run.
   * Idle and blocked stop at once with *ran = 0 when that is already the state (the interrupt line is
   * then stable); the host uses skip() to let time pass.
   */
  tpu_status (*advance)(tpu_model *model, uint64_t max_cycles, uint64_t *ran, tpu_stop *reason);
  uint64_t (*cycle)(const tpu_model *model);
  /* Cycles until anything visible may change without an access: a lower bound; UINT64_MAX = never. */
  uint64_t (*next_event)(const tpu_model *model);
  /* True if idle or blocked, that is if skip() is allowed. */
  bool (*quiescent)(const tpu_model *model);
  /* Let n cycles pass while quiescent. */
  tpu_status (*skip)(tpu_model *model, uint64_t n);
  /* Level of the interrupt line. */
  bool (*irq)(const tpu_model *model);

  /* Complete state as a byte string. save: *size is the capacity on entry (buffer NULL = ask), the
   * length on return. TPU_ENOTSUP if the model cannot. */
  tpu_status (*save)(const tpu_model *model, void *buffer, size_t *size);
  tpu_status (*restore)(tpu_model *model, const void *buffer, size_t size);

  /*
   * Hang report as text: per queue its state, head, tag, waits with semaphore, value and amount, last
   * signaller, what is queued behind; semaphores that are not zero; first error; the last 16 commands of
   * each engine. Returns the length that the whole text needs (without NUL); truncates to size.
   */
  size_t (*describe)(const tpu_model *model, char *text, size_t size);

  /* Take up to count records out of the trace buffer; returns how many. */
  size_t (*trace_read)(tpu_model *model, tpu_trace_record *records, size_t count);
  void (*trace_enable)(tpu_model *model, bool on);

  /*
   * Back door to on-chip memories for tests and loaders, no time passes. memory is TPU_SPACE_VMEM,
   * SMEM or ACC (byte address = row * 4 * DIM + 4 * lane).
   */
  tpu_status (*peek)(tpu_model *model, unsigned memory, uint32_t address, void *data, size_t n);
  tpu_status (*poke)(tpu_model *model, unsigned memory, uint32_t address, const void *data, size_t n);
} tpu_model_api;

const tpu_model_api *tpu_model_get_api(void);
typedef const tpu_model_api *(*tpu_model_get_api_fn)(void);

#ifdef __cplusplus
}
#endif

#endif
