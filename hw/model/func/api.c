/* SPDX-License-Identifier: MIT */
/*
 * The ABI of the functional model (tpu_model.h): life of a context, reset, save and restore, back doors.
 */
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};

/* ---- reset ------------------------------------------------------------------------------------------------
 */

static uint32_t reset_word(uint32_t seed, uint32_t memory, uint32_t word) {
  uint32_t x = seed ^ memory * 0x9e3779b9u ^ word * 0x85ebca6bu;
  x = (x ^ x >> 16) * 0x7feb352du;
  x = (x ^ x >> 15) * 0x846ca68bu;
  return x ^ x >> 16;
}

static void fill_bytes(uint8_t *memory, uint32_t bytes, uint32_t seed, uint32_t space) {
  for (uint32_t w = 0; w < bytes / 4; w++) {
    uint32_t x = reset_word(seed, space, w);
    for (uint32_t i = 0; i < 4; i++)
      memory[4 * w + i] = (uint8_t)(x >> (8 * i));
  }
}

static uint32_t acc_words(const struct tpu_config *c) {
  return c->acc_rows * c->dim;
}

static void power_on(struct tpu_model *m) {
  const struct tpu_config *c = m->config;
  struct state *s = &m->state;
  memset(s, 0, sizeof *s);
  tpu_hang_init(&s->hang);
  func_reset_registers(m);
  for (uint32_t i = 0; i < QUEUES; i++)
    s->queue[i].look_at = s->queue[i].front_at = NEVER;
  s->dma.next = s->vpu.next = NEVER;
  s->random = m->seed;
  fill_bytes(m->memory.vmem, c->vmem_bytes, m->seed, TPU_SPACE_VMEM);
  fill_bytes(m->memory.smem, c->smem_bytes, m->seed, TPU_SPACE_SMEM);
  for (uint32_t w = 0; w < acc_words(c); w++)
    m->memory.acc[w] = reset_word(m->seed, TPU_SPACE_ACC, w);
  memset(m->program, 0, c->vpu_program * sizeof *m->program);
  memset(&m->delta, 0, sizeof m->delta);
  m->event_count = 0;
  m->ring_head = m->ring_count = 0;
  if (m->race)
    func_race_init(m->race);
}

static tpu_status api_reset(tpu_model *m, tpu_reset_kind kind) {
  if (kind == TPU_RESET_HARD) {
    if (m->race)
      func_race_reset(m);
    power_on(m);
    return TPU_OK;
  }
  if (kind != TPU_RESET_SOFT)
    return TPU_EINVAL;
  if (m->state.dead)
    return TPU_EFAULT;
  func_count(m);
  func_abort(m, true);
  while (m->state.aborting && !m->state.dead)
    func_run_cycles(m, 1);
  return m->state.dead ? TPU_EFAULT : TPU_OK;
}

/* ---- life -------------------------------------------------------------------------------------------------
 */

__attribute__((format(printf, 4, 5))) static tpu_status refuse(char *error, size_t size, tpu_status status,
                                                               const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (error && size > 0)
    vsnprintf(error, size, format, args);
  va_end(args);
  return status;
}

static const struct tpu_config *find_config(const char *name) {
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (strcmp(configs[i].name, name ? name : "sim16") == 0)
      return &configs[i];
  return NULL;
}

static tpu_status check_config(const tpu_model_config *c, const struct tpu_model_host *host, char *error,
                               size_t size) {
  if (c->abi_hash != TPU_ABI_HASH)
    return refuse(error, size, TPU_EINVAL,
                  "ABI hash of the host is 0x%08x, of the functional model 0x%08x: build both from one "
                  "register description",
                  c->abi_hash, TPU_ABI_HASH);
  if (!host || !host->mem_read || !host->mem_write)
    return refuse(error, size, TPU_EINVAL, "the host gives no mem_read or no mem_write callback");
  if (!find_config(c->config))
    return refuse(error, size, TPU_ENOTSUP, "no configuration '%s'; there are sim16, sim8, sim4, ecp5",
                  c->config);
  if (c->timing > TPU_TIMING_RANDOM)
    return refuse(error, size, TPU_EINVAL, "timing %u; 0 .. 3 are cycle, eager, late, random", c->timing);
  if (c->hbm_latency > TPU_REG_HBM_LATENCY_CYCLES_MASK)
    return refuse(error, size, TPU_EINVAL, "hbm_latency %u; at most %u", c->hbm_latency,
                  TPU_REG_HBM_LATENCY_CYCLES_MASK);
  if (c->detect_races > 1)
    return refuse(error, size, TPU_EINVAL, "detect_races %u; 0 or 1", c->detect_races);
  if (c->stall_percent)
    return refuse(error, size, TPU_ENOTSUP, "random stalls belong to the RTL model (try timing 'random')");
  if (c->wave_path)
    return refuse(error, size, TPU_ENOTSUP, "waveforms belong to the RTL model");
  return TPU_OK;
}

static void api_destroy(tpu_model *m) {
  if (!m)
    return;
  free(m->memory.vmem);
  free(m->memory.smem);
  free(m->memory.acc);
  free(m->program);
  free(m->ring);
  free(m->race);
  free(m);
}

static bool allocate(struct tpu_model *m, bool races) {
  const struct tpu_config *c = m->config;
  m->memory.vmem = malloc(c->vmem_bytes);
  m->memory.smem = malloc(c->smem_bytes);
  m->memory.acc = malloc(acc_words(c) * sizeof *m->memory.acc);
  m->program = malloc(c->vpu_program * sizeof *m->program);
  m->ring = m->ring_size ? malloc(m->ring_size * sizeof *m->ring) : NULL;
  m->race = races ? malloc(func_race_bytes()) : NULL;
  return m->memory.vmem && m->memory.smem && m->memory.acc && m->program && (m->ring || !m->ring_size) &&
         (m->race || !races);
}

static tpu_status api_create(const tpu_model_config *config, const tpu_model_host *host, tpu_model **model,
                             char *error, size_t error_size) {
  tpu_model_config c = {0};
  *model = NULL;
  if (!config || config->struct_size < offsetof(tpu_model_config, timing))
    return refuse(error, error_size, TPU_EINVAL, "tpu_model_config.struct_size is %u, the least is %zu",
                  config ? config->struct_size : 0u, offsetof(tpu_model_config, timing));
  memcpy(&c, config, config->struct_size < sizeof c ? config->struct_size : sizeof c);
  tpu_status status = check_config(&c, host, error, error_size);
  if (status != TPU_OK)
    return status;
  struct tpu_model *m = calloc(1, sizeof *m);
  if (!m)
    return refuse(error, error_size, TPU_ENOMEM, "no memory for the functional model");
  m->config = find_config(c.config);
  m->host = *host;
  m->timing = (enum tpu_timing)c.timing;
  m->seed = c.seed;
  m->reset_latency = c.hbm_latency ? c.hbm_latency : 100;
  m->ring_size = c.trace_records;
  m->trace_on = c.trace_records > 0;
  if (!allocate(m, c.detect_races)) {
    api_destroy(m);
    return refuse(error, error_size, TPU_ENOMEM, "no memory for the functional model's memories");
  }
  power_on(m);
  *model = m;
  return TPU_OK;
}

/* ---- time -------------------------------------------------------------------------------------------------
 */

static uint64_t api_cycle(const tpu_model *m) {
  return m->state.cycle;
}

static bool api_quiescent(const tpu_model *m) {
  return func_idle(m) || func_blocked(m);
}

static uint64_t api_next_event(const tpu_model *m) {
  uint64_t at = func_next_event(m);
  if (at == NEVER || api_quiescent(m))
    return NEVER;
  return at - m->state.cycle + 1; /* an event of cycle t is visible when t has been run */
}

static bool api_irq(const tpu_model *m) {
  return m->state.irq;
}

/* ---- save and restore -------------------------------------------------------------------------------------
 */

struct save_header {
  uint32_t magic, abi_hash, header_bytes, state_bytes;
  uint32_t config, timing, seed, races, records;
};

#define SAVE_MAGIC 0x46535054u /* TPSF */

/* Visits every piece of saved state in order; `buffer` NULL only counts. */
static size_t visit(struct tpu_model *m, uint8_t *buffer, bool save) {
  const struct tpu_config *c = m->config;
  const struct {
    void *data;
    size_t bytes;
  } part[] = {
      {&m->state, sizeof m->state},
      {m->memory.vmem, c->vmem_bytes},
      {m->memory.smem, c->smem_bytes},
      {m->memory.acc, acc_words(c) * sizeof *m->memory.acc},
      {m->program, c->vpu_program * sizeof *m->program},
      {m->race, m->race ? func_race_bytes() : 0},
  };
  size_t used = 0;
  for (size_t i = 0; i < sizeof part / sizeof part[0]; i++) {
    if (buffer && save && part[i].bytes > 0)
      memcpy(buffer + used, part[i].data, part[i].bytes);
    else if (buffer && part[i].bytes > 0)
      memcpy(part[i].data, buffer + used, part[i].bytes);
    used += part[i].bytes;
  }
  return used;
}

static struct save_header header(const struct tpu_model *m) {
  return (struct save_header){.magic = SAVE_MAGIC,
                              .abi_hash = TPU_ABI_HASH,
                              .header_bytes = sizeof(struct save_header),
                              .state_bytes = sizeof(struct state),
                              .config = m->config->config,
                              .timing = m->timing,
                              .seed = m->seed,
                              .races = m->race != NULL,
                              .records = m->ring_count};
}

static tpu_status api_save(const tpu_model *m, void *buffer, size_t *size) {
  struct tpu_model *mutable = (struct tpu_model *)m; /* visit() writes only when it restores */
  struct save_header h = header(m);
  size_t parts = visit(mutable, NULL, true);
  size_t need = sizeof h + parts + m->ring_count * sizeof *m->ring;
  uint8_t *p = buffer;
  if (p && *size < need) {
    *size = need;
    return TPU_EINVAL;
  }
  *size = need;
  if (!p)
    return TPU_OK;
  memcpy(p, &h, sizeof h);
  visit(mutable, p + sizeof h, true);
  for (uint32_t i = 0; i < m->ring_count; i++)
    memcpy(p + sizeof h + parts + i * sizeof *m->ring, &m->ring[(m->ring_head + i) % m->ring_size],
           sizeof *m->ring);
  return TPU_OK;
}

static tpu_status api_restore(tpu_model *m, const void *buffer, size_t size) {
  struct save_header h, mine = header(m);
  size_t parts = visit(m, NULL, false);
  if (!buffer || size < sizeof h)
    return TPU_EINVAL;
  memcpy(&h, buffer, sizeof h);
  mine.records = h.records;
  if (memcmp(&h, &mine, sizeof h) != 0 || h.records > m->ring_size ||
      size != sizeof h + parts + h.records * sizeof *m->ring)
    return TPU_EINVAL;
  uint8_t *p = (uint8_t *)buffer; /* only read when it restores */
  visit(m, p + sizeof h, false);
  m->ring_head = 0;
  m->ring_count = h.records;
  if (h.records > 0)
    memcpy(m->ring, p + sizeof h + parts, h.records * sizeof *m->ring);
  return TPU_OK;
}

/* ---- observation ------------------------------------------------------------------------------------------
 */

static size_t api_describe(const tpu_model *m, char *text, size_t size) {
  const struct state *s = &m->state;
  struct tpu_hang_snapshot snapshot = {
      .cycle = s->cycle,
      .status = func_status(m),
      .intr_state = func_intr_state(m),
      .intr_enable = s->intr_enable,
      .sem_mode = {(uint32_t)s->sem_ticket, (uint32_t)(s->sem_ticket >> 32)},
  };
  if (s->error.valid) {
    snapshot.error = s->error.code << TPU_REG_ERROR_CODE_SHIFT | s->error.queue << TPU_REG_ERROR_QUEUE_SHIFT |
                     TPU_REG_ERROR_VALID_MASK;
    snapshot.error_tag = s->error.tag;
    snapshot.error_detail0 = s->error.detail0;
    snapshot.error_detail1 = s->error.detail1;
  }
  memcpy(snapshot.sem_value, s->sem, sizeof snapshot.sem_value);
  return tpu_hang_report(&s->hang, &snapshot, m->config, text, size);
}

static size_t api_trace_read(tpu_model *m, tpu_trace_record *records, size_t count) {
  size_t n = 0;
  for (; n < count && m->ring_count > 0; n++) {
    records[n] = m->ring[m->ring_head];
    m->ring_head = (m->ring_head + 1) % m->ring_size;
    m->ring_count--;
  }
  return n;
}

static void api_trace_enable(tpu_model *m, bool on) {
  m->trace_on = on && m->ring_size > 0;
}

/* A memory as bytes; ACC words are in the host's order, which peek and poke do not hide. */
static uint8_t *memory_bytes(struct tpu_model *m, unsigned memory, size_t *bytes) {
  switch (memory) {
  case TPU_SPACE_VMEM:
    *bytes = m->config->vmem_bytes;
    return m->memory.vmem;
  case TPU_SPACE_SMEM:
    *bytes = m->config->smem_bytes;
    return m->memory.smem;
  case TPU_SPACE_ACC:
    *bytes = acc_words(m->config) * sizeof *m->memory.acc;
    return (uint8_t *)m->memory.acc;
  default:
    return NULL;
  }
}

static tpu_status api_peek(tpu_model *m, unsigned memory, uint32_t address, void *data, size_t n) {
  size_t bytes;
  const uint8_t *p = memory_bytes(m, memory, &bytes);
  if (!p || address > bytes || n > bytes - address)
    return TPU_EINVAL;
  memcpy(data, p + address, n);
  return TPU_OK;
}

static tpu_status api_poke(tpu_model *m, unsigned memory, uint32_t address, const void *data, size_t n) {
  size_t bytes;
  uint8_t *p = memory_bytes(m, memory, &bytes);
  if (!p || address > bytes || n > bytes - address)
    return TPU_EINVAL;
  memcpy(p + address, data, n);
  return TPU_OK;
}

__attribute__((visibility("default"))) const tpu_model_api *tpu_model_get_api(void) {
  static const tpu_model_api api = {
      .abi_major = TPU_MODEL_ABI_MAJOR,
      .abi_minor = TPU_MODEL_ABI_MINOR,
      .struct_size = sizeof(tpu_model_api),
      .abi_hash = TPU_ABI_HASH,
      .name = "func",
      .build = "functional model, all configurations, compiler " __VERSION__,
      .create = api_create,
      .destroy = api_destroy,
      .reset = api_reset,
      .mmio_read = func_mmio_read,
      .mmio_write = func_mmio_write,
      .advance = func_advance,
      .cycle = api_cycle,
      .next_event = api_next_event,
      .quiescent = api_quiescent,
      .skip = func_skip,
      .irq = api_irq,
      .save = api_save,
      .restore = api_restore,
      .describe = api_describe,
      .trace_read = api_trace_read,
      .trace_enable = api_trace_enable,
      .peek = api_peek,
      .poke = api_poke,
  };
  return &api;
}
