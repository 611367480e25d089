/* SPDX-License-Identifier: MIT */
/*
 * Trace files and what is derived from them: intervals of work and of waiting, one lane an engine.
 *
 * A file is a 32-byte head (written by the QEMU device) and records as in tpu_model.h. The reader turns
 * START/END pairs into work, WAIT/START pairs into waits with their cause (who signalled the semaphore that
 * ended the wait), and marks of the scalar core into waits of its own lane, grid steps and calls.
 */
#ifndef PEPLOS_TRACE_H
#define PEPLOS_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TRACE_QUEUES     7
#define TRACE_LANES      8 /* seven queues and the scalar core */
#define TRACE_SEMAPHORES 64
#define TRACE_NO_CAUSE   0xff

enum trace_kind { TRACE_WORK, TRACE_WAIT };

struct trace_interval {
  uint64_t begin, end; /* cycles, end exclusive */
  uint32_t tag;
  uint8_t lane;      /* enum tpu_queue */
  uint8_t kind;      /* enum trace_kind */
  uint8_t semaphore; /* of a wait */
  uint8_t cause;     /* lane whose signal ended a wait, or TRACE_NO_CAUSE */
  uint8_t row;       /* commands that overlap in one engine are drawn in two rows */
  uint32_t bytes;    /* of work: what the command wrote, DMA only */
};

struct trace_mark {
  uint64_t cycle;
  uint32_t value;
  uint8_t kind; /* enum tpu_mark */
};

struct trace {
  uint32_t version, abi_hash, cycle_hz, config;
  uint64_t records, first, last; /* cycles of the first and last record */
  struct trace_interval *interval;
  size_t intervals, interval_capacity;
  struct trace_mark *mark;
  size_t marks, mark_capacity;
  uint32_t error; /* code of the first error, 0 = none */
};

/* Reads a file. Returns NULL, or a text that says what is wrong (static or in the trace's own buffer). */
const char *trace_load(struct trace *trace, const char *path);
void trace_free(struct trace *trace);

/* Cycles of [from, to) in which a lane has an interval of a kind (overlaps counted once). */
uint64_t trace_covered(const struct trace *trace, unsigned lane, enum trace_kind kind, uint64_t from,
                       uint64_t to);

/*
 * Where the cycles of [from, to) went, as one engine sees them; the parts add up to the whole. filling:
 * before its first command of the span starts, draining: after its last one ended; waiting counts while
 * nothing is executed, by the engine whose signal ended it.
 */
struct trace_account {
  uint64_t filling, busy, waiting_dma, waiting_other, no_command, draining;
};
/* False if the lane executed nothing in the span, or memory ran out. */
bool trace_account_for(const struct trace *trace, unsigned lane, uint64_t from, uint64_t to,
                       struct trace_account *account);

const char *trace_lane_name(unsigned lane);

/* The program's ELF file, for the names of scopes and values. Returns NULL, or what is wrong. */
const char *trace_names_load(const char *path);
typedef void trace_scope_fn(void *opaque, const char *name, unsigned depth, uint64_t begin, uint64_t end);
typedef void trace_value_fn(void *opaque, const char *name, int32_t value, uint64_t cycle);
/* Named scopes, in the order in which they end, and values, in the order of time. */
void trace_each_scope(const struct trace *trace, trace_scope_fn *scope, trace_value_fn *value, void *opaque);

void trace_write_summary(const struct trace *trace, FILE *out, uint64_t from, uint64_t to);
void trace_write_svg(const struct trace *trace, FILE *out, uint64_t from, uint64_t to, const char *title);
void trace_write_json(const struct trace *trace, FILE *out, uint64_t from, uint64_t to);

#endif
