/* SPDX-License-Identifier: MIT */
/*
 * A model library with nothing of a TPU in it, for tests of the QEMU device.
 *
 * It keeps the ABI's promises about time, interrupts, idleness and errors, so
 * that a test knows to the cycle what the device must do with them, which no
 * real model could promise. There are no engines: a GO on the SYNC queue
 * starts a job whose nature and length its tag gives (enum job). Registers
 * that the device or the tests use behave as in the contract; all other
 * offsets log a guest error and read 0.
 *
 * Built with other values of STUB_ABI_MAJOR and STUB_ABI_HASH it is a library
 * that QEMU must refuse.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#ifndef STUB_ABI_MAJOR
#define STUB_ABI_MAJOR TPU_MODEL_ABI_MAJOR
#endif
#ifndef STUB_ABI_HASH
#define STUB_ABI_HASH TPU_ABI_HASH
#endif

/* Upper four bits of a tag; the rest is the job's length in cycles. */
enum job {
  JOB_DONE = 0,  /* ends after the length and sets INTR_STATE.done */
  JOB_BLOCK = 1, /* is blocked after the length until a semaphore is signalled */
  JOB_STORE = 2, /* as JOB_DONE, and writes its end cycle to HBM address 0 */
  JOB_FAULT = 3, /* the model dies after the length */
};

#define SMEM_BYTES    16384
#define WINDOW_CYCLES 3 /* an access to SMEM lets so many cycles pass */

struct stub_state {
  uint64_t cycle;
  uint64_t end; /* cycle at which the job ends */
  uint32_t tag; /* the job's tag */
  bool running;
  bool blocked;
  uint32_t scratch, intr_state, intr_enable, semaphore, cycle_hi;
  uint8_t smem[SMEM_BYTES];
};

struct tpu_model {
  tpu_model_host host;
  struct stub_state s;
  tpu_trace_record *trace;
  uint32_t trace_capacity, trace_used;
  bool trace_on;
};

static void emit(tpu_model *m, unsigned event, uint32_t tag) {
  if (m->trace_on && m->trace_used < m->trace_capacity)
    m->trace[m->trace_used++] =
        (tpu_trace_record){.head = m->s.cycle | (uint64_t)event << TPU_TRACE_EVENT_SHIFT |
                                   (uint64_t)TPU_QUEUE_SYNC << TPU_TRACE_QUEUE_SHIFT,
                           .tag = tag};
}

static tpu_status stub_create(const tpu_model_config *config, const tpu_model_host *host, tpu_model **model,
                              char *error, size_t error_size) {
  *model = NULL;
  if (config->config && strcmp(config->config, "stub")) {
    snprintf(error, error_size, "no configuration '%s' in the stub", config->config);
    return TPU_ENOTSUP;
  }
  tpu_model *m = calloc(1, sizeof(*m));
  if (!m)
    return TPU_ENOMEM;
  m->host = *host;
  m->trace_capacity = config->trace_records;
  m->trace = calloc(config->trace_records + 1u, sizeof(*m->trace));
  if (!m->trace) {
    free(m);
    return TPU_ENOMEM;
  }
  *model = m;
  return TPU_OK;
}

static void stub_destroy(tpu_model *m) {
  free(m->trace);
  free(m);
}

static tpu_status stub_reset(tpu_model *m, tpu_reset_kind kind) {
  (void)kind;
  m->s = (struct stub_state){0};
  return TPU_OK;
}

static bool stub_irq(const tpu_model *m) {
  return m->s.intr_state & m->s.intr_enable;
}

static bool stub_quiescent(const tpu_model *m) {
  return !m->s.running || m->s.blocked;
}

static uint32_t param(unsigned index, bool value) {
  static const uint32_t rom[][2] = {
      {TPU_PARAM_CYCLE_HZ, 125000000}, {TPU_PARAM_HBM_BYTES, PEPLOS_HBM_SIZE}, {TPU_PARAM_END, 0}};
  return index < sizeof(rom) / sizeof(rom[0]) ? rom[index][value] : 0;
}

static void guest_error(tpu_model *m, const char *what, uint32_t offset) {
  char text[80];
  snprintf(text, sizeof(text), "stub: bad %s of offset 0x%x", what, (unsigned)offset);
  m->host.log(m->host.opaque, TPU_LOG_GUEST_ERROR, text);
}

static bool in_smem(uint32_t offset, unsigned size) {
  return offset >= TPU_WINDOW_SMEM && offset - TPU_WINDOW_SMEM + size <= SMEM_BYTES;
}

static uint32_t read_register(tpu_model *m, uint32_t offset) {
  struct stub_state *s = &m->s;

  switch (offset) {
  case TPU_REG_ID:
    return 0x4c504550;
  case TPU_REG_ABI_HASH:
    return STUB_ABI_HASH;
  case TPU_REG_STATUS:
    return (uint32_t)!s->running << TPU_REG_STATUS_IDLE_SHIFT | (uint32_t)s->blocked
                                                                    << TPU_REG_STATUS_BLOCKED_SHIFT;
  case TPU_REG_INTR_STATE:
    return s->intr_state;
  case TPU_REG_INTR_ENABLE:
    return s->intr_enable;
  case TPU_REG_CYCLE_LO:
    s->cycle_hi = (uint32_t)(s->cycle >> 32);
    return (uint32_t)s->cycle;
  case TPU_REG_CYCLE_HI:
    return s->cycle_hi;
  case TPU_REG_SCRATCH:
    return s->scratch;
  case TPU_REG_SEM_VALUE(0):
    return s->semaphore;
  }
  if (offset >= TPU_REG_PARAM_ID(0) && offset < TPU_REG_PARAM_ID(TPU_REG_PARAM_COUNT))
    return param((offset - TPU_REG_PARAM_ID(0)) / 8, offset & 4);
  guest_error(m, "read", offset);
  return 0;
}

static tpu_status stub_read(tpu_model *m, uint32_t offset, unsigned size, uint32_t *value) {
  *value = 0;
  if (in_smem(offset, size)) {
    memcpy(value, m->s.smem + (offset - TPU_WINDOW_SMEM), size);
    m->s.cycle += WINDOW_CYCLES;
  } else if (size == 4) {
    *value = read_register(m, offset);
  } else {
    guest_error(m, "size in a read", offset);
  }
  return TPU_OK;
}

static void write_register(tpu_model *m, uint32_t offset, uint32_t value) {
  struct stub_state *s = &m->s;

  switch (offset) {
  case TPU_REG_INTR_STATE:
    s->intr_state &= ~value;
    return;
  case TPU_REG_INTR_ENABLE:
    s->intr_enable = value;
    return;
  case TPU_REG_INTR_TEST:
    s->intr_state |= value;
    return;
  case TPU_REG_SCRATCH:
    s->scratch = value;
    return;
  case TPU_REG_TRACE_MARK:
    emit(m, TPU_EVENT_MARK, value);
    return;
  case TPU_REG_SEM_SIGNAL(0):
    s->semaphore += value;
    if (s->blocked)
      s->blocked = s->running = false;
    return;
  case TPU_QUEUE_BASE(TPU_QUEUE_SYNC) + TPU_Q_GO:
    s->tag = value;
    s->end = s->cycle + (value & 0x0fffffff);
    s->running = true;
    s->blocked = false;
    emit(m, TPU_EVENT_START, value);
    return;
  }
  guest_error(m, "write", offset);
}

static tpu_status stub_write(tpu_model *m, uint32_t offset, unsigned size, uint32_t value) {
  if (in_smem(offset, size)) {
    memcpy(m->s.smem + (offset - TPU_WINDOW_SMEM), &value, size);
    m->s.cycle += WINDOW_CYCLES;
  } else if (size == 4) {
    write_register(m, offset, value);
  } else {
    guest_error(m, "size in a write", offset);
  }
  return TPU_OK;
}

static tpu_status end_job(tpu_model *m, tpu_stop *reason) {
  struct stub_state *s = &m->s;

  switch (s->tag >> 28) {
  case JOB_BLOCK:
    s->blocked = true;
    *reason = TPU_STOP_BLOCKED;
    return TPU_OK;
  case JOB_FAULT:
    *reason = TPU_STOP_FAULT;
    return TPU_EFAULT;
  case JOB_STORE:
    m->host.mem_write(m->host.opaque, 0, &s->cycle, sizeof(s->cycle));
    break;
  }
  s->running = false;
  emit(m, TPU_EVENT_END, s->tag);
  bool before = stub_irq(m);
  s->intr_state |= TPU_REG_INTR_STATE_DONE_MASK;
  *reason = stub_irq(m) != before ? TPU_STOP_IRQ : TPU_STOP_IDLE;
  return TPU_OK;
}

static tpu_status stub_advance(tpu_model *m, uint64_t max_cycles, uint64_t *ran, tpu_stop *reason) {
  struct stub_state *s = &m->s;

  *ran = 0;
  if (stub_quiescent(m)) {
    *reason = s->blocked ? TPU_STOP_BLOCKED : TPU_STOP_IDLE;
    return TPU_OK;
  }
  /* An access to SMEM may have carried time past the end of the job. */
  uint64_t left = s->end > s->cycle ? s->end - s->cycle : 1;
  *ran = max_cycles < left ? max_cycles : left;
  *reason = TPU_STOP_BUDGET;
  s->cycle += *ran;
  return s->cycle >= s->end ? end_job(m, reason) : TPU_OK;
}

static uint64_t stub_cycle(const tpu_model *m) {
  return m->s.cycle;
}

static uint64_t stub_next_event(const tpu_model *m) {
  return stub_quiescent(m) ? UINT64_MAX : m->s.end > m->s.cycle ? m->s.end - m->s.cycle : 1;
}

static tpu_status stub_skip(tpu_model *m, uint64_t n) {
  if (!stub_quiescent(m))
    return TPU_EINVAL;
  m->s.cycle += n;
  return TPU_OK;
}

static tpu_status stub_save(const tpu_model *m, void *buffer, size_t *size) {
  if (buffer) {
    if (*size < sizeof(m->s))
      return TPU_EINVAL;
    memcpy(buffer, &m->s, sizeof(m->s));
  }
  *size = sizeof(m->s);
  return TPU_OK;
}

static tpu_status stub_restore(tpu_model *m, const void *buffer, size_t size) {
  if (size != sizeof(m->s))
    return TPU_EINVAL;
  memcpy(&m->s, buffer, size);
  return TPU_OK;
}

static size_t stub_describe(const tpu_model *m, char *text, size_t size) {
  const char *state = m->s.blocked ? "blocked" : m->s.running ? "running" : "idle";
  int n = snprintf(text, size, "stub: %s, tag 0x%08x, semaphore 0 = %u\n", state, (unsigned)m->s.tag,
                   (unsigned)m->s.semaphore);
  return (size_t)n;
}

static size_t stub_trace_read(tpu_model *m, tpu_trace_record *records, size_t count) {
  size_t n = count < m->trace_used ? count : m->trace_used;
  memcpy(records, m->trace, n * sizeof(*records));
  memmove(m->trace, m->trace + n, (m->trace_used - n) * sizeof(*records));
  m->trace_used -= (uint32_t)n;
  return n;
}

static void stub_trace_enable(tpu_model *m, bool on) {
  m->trace_on = on;
}

static tpu_status stub_peek(tpu_model *m, unsigned memory, uint32_t address, void *data, size_t n) {
  if (memory != TPU_SPACE_SMEM || address + n > SMEM_BYTES)
    return TPU_EINVAL;
  memcpy(data, m->s.smem + address, n);
  return TPU_OK;
}

static tpu_status stub_poke(tpu_model *m, unsigned memory, uint32_t address, const void *data, size_t n) {
  if (memory != TPU_SPACE_SMEM || address + n > SMEM_BYTES)
    return TPU_EINVAL;
  memcpy(m->s.smem + address, data, n);
  return TPU_OK;
}

__attribute__((visibility("default"))) const tpu_model_api *tpu_model_get_api(void) {
  static const tpu_model_api api = {
      .abi_major = STUB_ABI_MAJOR,
      .abi_minor = TPU_MODEL_ABI_MINOR,
      .struct_size = sizeof(tpu_model_api),
      .abi_hash = STUB_ABI_HASH,
      .name = "stub",
      .build = "for tests of the QEMU device",
      .create = stub_create,
      .destroy = stub_destroy,
      .reset = stub_reset,
      .mmio_read = stub_read,
      .mmio_write = stub_write,
      .advance = stub_advance,
      .cycle = stub_cycle,
      .next_event = stub_next_event,
      .quiescent = stub_quiescent,
      .skip = stub_skip,
      .irq = stub_irq,
      .save = stub_save,
      .restore = stub_restore,
      .describe = stub_describe,
      .trace_read = stub_trace_read,
      .trace_enable = stub_trace_enable,
      .peek = stub_peek,
      .poke = stub_poke,
  };
  return &api;
}
