/* SPDX-License-Identifier: MIT */
/*
 * The scalar core's side of a TPU model, for running the kernel runtime on the host: registers and
 * windows go to a model library, HBM is memory of this process, and time passes with every access.
 */
#ifndef TESTS_UNIT_PALLAS_HOST_H
#define TESTS_UNIT_PALLAS_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct host_options {
  const char *library; /* path of libtpu_func.so or libtpu_rtl.so */
  const char *config;  /* named configuration */
  const char *timing;  /* cycle, eager, late, random */
  uint32_t seed;
  uint32_t access_cycles; /* cycles between two accesses of the scalar core: 0 .. this, seeded */
  uint32_t trace_records; /* 0: no trace */
  uint32_t stall_percent; /* of handshakes of the HBM port, seeded (RTL) */
};

/* Opens the one device; ends the program with a message if that fails. */
void host_open(const struct host_options *options);
void host_close(void);
uint8_t *host_hbm(void);
uint64_t host_cycle(void);
/* From now on a register reads as this value, whatever the device says: a broken device. Then as it is again.
 */
void host_fake(uint32_t offset, uint32_t value);
void host_no_fakes(void);
/* Reads back what the program wrote, past the windows. memory: TPU_SPACE_*. */
void host_peek(unsigned memory, uint32_t address, void *data, uint32_t n);
/*
 * Lines that the model logged (guest errors, races and the like) since the last call, and their text. The
 * functional model detects races.
 */
unsigned host_logged(void);
const char *host_log(void);
bool host_detects_races(void);
/* Nothing is queued or in flight. */
bool host_idle(void);
/* Name of the model. */
const char *host_model(void);
/*
 * What the scalar core queued since the last call: writes to GO, with the source and destination that are
 * staged (of DMA) and what it signals, and between them what the program noted. Off until the first call; the
 * array belongs to the host.
 */
struct host_event {
  bool note;
  uint32_t queue, tag; /* of a note: its value is the tag */
  uint32_t src, dst;
  uint32_t signals; /* what the command signals, and its priority */
};
const struct host_event *host_events(uint32_t *count);
void host_note(uint32_t value);
/* Trace records so far; the array belongs to the host. */
const void *host_trace(uint32_t *count);

#endif
