/* SPDX-License-Identifier: MIT */
#include "host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- callbacks --------------------------------------------------------------------------------------------
 */

static bool bus_error(const struct host *h, uint64_t address, size_t n) {
  if (address > h->hbm_bytes || n > h->hbm_bytes - address)
    return true;
  return address < h->bad_end && address + n > h->bad_begin;
}

static int mem_read(void *opaque, uint64_t address, void *data, size_t n) {
  struct host *h = opaque;
  if (bus_error(h, address, n))
    return 1;
  memcpy(data, h->hbm + address, n);
  return 0;
}

static int mem_write(void *opaque, uint64_t address, const void *data, size_t n) {
  struct host *h = opaque;
  if (bus_error(h, address, n))
    return 1;
  memcpy(h->hbm + address, data, n);
  return 0;
}

static void log_line(void *opaque, tpu_log_class cls, const char *text) {
  struct host *h = opaque;
  size_t n = strlen(text) + 1;
  if ((unsigned)cls < HOST_LOG_CLASSES)
    h->log_lines[cls]++;
  if (n >= sizeof h->log)
    return;
  if (h->log_used + n >= sizeof h->log)
    h->log_used = 0; /* the old ones go */
  memcpy(h->log + h->log_used, text, n - 1);
  h->log_used += n;
  h->log[h->log_used - 1] = '\n';
  h->log[h->log_used] = '\0';
}

void host_clear_log(struct host *h) {
  h->log_used = 0;
  h->log[0] = '\0';
  memset(h->log_lines, 0, sizeof h->log_lines);
}

/* ---- life -------------------------------------------------------------------------------------------------
 */

tpu_model_config host_config(void) {
  return (tpu_model_config){.struct_size = sizeof(tpu_model_config), .abi_hash = TPU_ABI_HASH};
}

static bool load(struct host *h, const char *library, char *error, size_t error_size) {
  h->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!h->library) {
    snprintf(error, error_size, "%s", dlerror());
    return false;
  }
  tpu_model_get_api_fn get_api;
  void *symbol = dlsym(h->library, "tpu_model_get_api");
  memcpy(&get_api, &symbol, sizeof get_api); /* ISO C has no cast from object to function pointer */
  if (!get_api) {
    snprintf(error, error_size, "%s: no symbol tpu_model_get_api", library);
    return false;
  }
  h->api = get_api();
  if (h->api->abi_major != TPU_MODEL_ABI_MAJOR || h->api->struct_size < sizeof(tpu_model_api)) {
    snprintf(error, error_size, "%s: model ABI %u.%u, this host needs %u.%u", library, h->api->abi_major,
             h->api->abi_minor, TPU_MODEL_ABI_MAJOR, TPU_MODEL_ABI_MINOR);
    return false;
  }
  return true;
}

bool host_open(struct host *h, const char *library, const tpu_model_config *config, char *error,
               size_t error_size) {
  tpu_model_config c = config ? *config : host_config();
  tpu_model_host callbacks = {.opaque = h, .mem_read = mem_read, .mem_write = mem_write, .log = log_line};
  memset(h, 0, sizeof *h);
  if (load(h, library, error, error_size) &&
      h->api->create(&c, &callbacks, &h->model, error, error_size) == TPU_OK) {
    h->hbm_bytes = host_parameter(h, TPU_PARAM_HBM_BYTES);
    h->hbm = calloc(1, h->hbm_bytes);
    if (h->hbm)
      return true;
    snprintf(error, error_size, "no memory for %u bytes of HBM", h->hbm_bytes);
  }
  host_close(h);
  return false;
}

void host_close(struct host *h) {
  if (h->model)
    h->api->destroy(h->model);
  if (h->library)
    dlclose(h->library);
  free(h->hbm);
  h->model = NULL;
  h->library = NULL;
  h->hbm = NULL;
}

/* ---- the window -------------------------------------------------------------------------------------------
 */

static bool usable(const struct host *h) {
  return h->status == TPU_OK;
}

static void note(struct host *h, tpu_status status, const char *call) {
  if (status != TPU_OK && h->status == TPU_OK) {
    h->status = status;
    h->failed_call = call;
  }
}

uint32_t host_read_sized(struct host *h, uint32_t offset, unsigned size) {
  uint32_t value = 0;
  if (usable(h))
    note(h, h->api->mmio_read(h->model, offset, size, &value), "mmio_read");
  return value;
}

void host_write_sized(struct host *h, uint32_t offset, unsigned size, uint32_t value) {
  if (usable(h))
    note(h, h->api->mmio_write(h->model, offset, size, value), "mmio_write");
}

uint32_t host_read(struct host *h, uint32_t offset) {
  return host_read_sized(h, offset, 4);
}

void host_write(struct host *h, uint32_t offset, uint32_t value) {
  host_write_sized(h, offset, 4, value);
}

uint32_t host_parameter(struct host *h, uint32_t id) {
  for (uint32_t i = 0; i < TPU_REG_PARAM_COUNT; i++) {
    uint32_t at = host_read(h, TPU_REG_PARAM_ID(i));
    if (at == id)
      return host_read(h, TPU_REG_PARAM_VALUE(i));
    if (at == TPU_PARAM_END)
      break;
  }
  return 0;
}

uint64_t host_counter(struct host *h, uint32_t queue, uint32_t counter) {
  host_write(h, TPU_REG_CTRL, TPU_REG_CTRL_LATCH_COUNTERS_MASK);
  uint32_t low = host_read(h, TPU_REG_COUNTER(queue, counter, 0));
  return (uint64_t)host_read(h, TPU_REG_COUNTER(queue, counter, 1)) << 32 | low;
}

/* ---- commands ---------------------------------------------------------------------------------------------
 */

void host_stage(struct host *h, uint32_t queue, uint32_t offset, uint32_t value) {
  host_write(h, TPU_QUEUE_BASE(queue) + offset, value);
}

void host_stage_head(struct host *h, uint32_t queue, const struct host_head *head) {
  static const struct host_head none;
  const struct host_head *p = head ? head : &none;
  uint32_t waits = 0, signals = p->priority << TPU_Q_SIGNALS_PRIORITY_SHIFT;
  for (uint32_t i = 0; i < p->waits; i++) {
    waits |=
        (p->wait[i].sem | (uint32_t)p->wait[i].consume << TPU_Q_WAITS_CONSUME0_SHIFT | TPU_Q_WAITS_EN0_MASK)
        << (8 * i);
    host_stage(h, queue, TPU_Q_WAIT_AMOUNT(i), p->wait[i].amount);
  }
  for (uint32_t i = 0; i < p->signals; i++) {
    signals |= (p->signal[i].sem | (uint32_t)p->signal[i].bytes << TPU_Q_SIGNALS_BYTES0_SHIFT |
                TPU_Q_SIGNALS_EN0_MASK)
               << (8 * i);
    host_stage(h, queue, TPU_Q_SIGNAL_AMOUNT(i), p->signal[i].amount);
  }
  if (p->irq)
    signals |= TPU_Q_SIGNALS_IRQ_MASK;
  host_stage(h, queue, TPU_Q_WAITS, waits);
  host_stage(h, queue, TPU_Q_SIGNALS, signals);
}

void host_stage_dma(struct host *h, uint32_t queue, const struct host_dma *d) {
  host_stage(h, queue, TPU_DMA_SRC, d->src);
  host_stage(h, queue, TPU_DMA_DST, d->dst);
  host_stage(h, queue, TPU_DMA_MODE,
             d->src_space << TPU_DMA_MODE_SRC_SPACE_SHIFT | d->dst_space << TPU_DMA_MODE_DST_SPACE_SHIFT |
                 (uint32_t)d->fill << TPU_DMA_MODE_FILL_SHIFT | d->gather << TPU_DMA_MODE_GATHER_SHIFT);
  if (d->gather != 0) {
    host_stage(h, queue, TPU_DMA_INDEX, d->list);
    host_stage(h, queue, TPU_DMA_BOUND, d->bound);
  }
  host_stage(h, queue, TPU_DMA_ROW_BYTES, d->row_bytes);
  host_stage(h, queue, TPU_DMA_COUNT01, d->count[1] << 16 | d->count[0]);
  host_stage(h, queue, TPU_DMA_COUNT2, d->count[2]);
  for (uint32_t i = 0; i < 3; i++) {
    host_stage(h, queue, TPU_DMA_SRC_STRIDE(i), (uint32_t)d->src_stride[i]);
    host_stage(h, queue, TPU_DMA_DST_STRIDE(i), (uint32_t)d->dst_stride[i]);
  }
  host_stage(h, queue, TPU_DMA_VALID_ROW, d->valid_row);
  host_stage(h, queue, TPU_DMA_VALID01, d->valid[1] << 16 | d->valid[0]);
  host_stage(h, queue, TPU_DMA_VALID2, d->valid[2]);
  host_stage(h, queue, TPU_DMA_PATTERN, d->pattern);
}

void host_stage_mxu(struct host *h, const struct host_mxu *x) {
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_A, x->a);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_B, x->b);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_C, x->c);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_A_PITCH, x->a_pitch);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_B_PITCH, x->b_pitch);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_C_PITCH, x->c_pitch);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_M, x->m);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_N, x->n);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_K, x->k);
  host_stage(h, TPU_QUEUE_MXU, TPU_MXU_MODE,
             (uint32_t)x->bf16 << TPU_MXU_MODE_DTYPE_SHIFT |
                 (uint32_t)x->transpose_b << TPU_MXU_MODE_TRANSPOSE_B_SHIFT |
                 (uint32_t)x->accumulate << TPU_MXU_MODE_ACCUMULATE_SHIFT);
}

void host_go(struct host *h, uint32_t queue, uint32_t tag) {
  host_write(h, TPU_QUEUE_BASE(queue) + TPU_Q_GO, tag);
}

void host_dma(struct host *h, uint32_t queue, uint32_t tag, const struct host_head *head,
              const struct host_dma *dma) {
  host_stage_head(h, queue, head);
  host_stage_dma(h, queue, dma);
  host_go(h, queue, tag);
}

void host_sync(struct host *h, uint32_t tag, const struct host_head *head) {
  host_stage_head(h, TPU_QUEUE_SYNC, head);
  host_go(h, TPU_QUEUE_SYNC, tag);
}

/* ---- time -------------------------------------------------------------------------------------------------
 */

tpu_stop host_run(struct host *h, uint64_t limit) {
  tpu_trace_record dropped[256];
  tpu_stop reason = TPU_STOP_FAULT;
  while (usable(h)) {
    uint64_t ran = 0;
    note(h, h->api->advance(h->model, limit, &ran, &reason), "advance");
    limit -= ran < limit ? ran : limit;
    if (reason == TPU_STOP_TRACE)
      while (h->api->trace_read(h->model, dropped, 256) > 0)
        ;
    else if (reason != TPU_STOP_IRQ)
      break;
  }
  return usable(h) ? reason : TPU_STOP_FAULT;
}

bool host_abort(struct host *h, uint64_t limit) {
  uint64_t begin = h->api->cycle(h->model);
  host_write(h, TPU_REG_CTRL, TPU_REG_CTRL_ABORT_MASK);
  while (usable(h) && host_read(h, TPU_REG_STATUS) & TPU_REG_STATUS_ABORTING_MASK)
    if (h->api->cycle(h->model) - begin > limit)
      return false;
  return usable(h);
}

/* ---- observation ------------------------------------------------------------------------------------------
 */

struct host_error host_error(struct host *h) {
  struct host_error e = {0};
  uint32_t word = host_read(h, TPU_REG_ERROR);
  if (!(word & TPU_REG_ERROR_VALID_MASK))
    return e;
  e.code = (word & TPU_REG_ERROR_CODE_MASK) >> TPU_REG_ERROR_CODE_SHIFT;
  e.queue = (word & TPU_REG_ERROR_QUEUE_MASK) >> TPU_REG_ERROR_QUEUE_SHIFT;
  e.tag = host_read(h, TPU_REG_ERROR_TAG);
  e.detail0 = host_read(h, TPU_REG_ERROR_DETAIL0);
  e.detail1 = host_read(h, TPU_REG_ERROR_DETAIL1);
  return e;
}

void host_peek(struct host *h, unsigned memory, uint32_t address, void *data, size_t n) {
  if (usable(h))
    note(h, h->api->peek(h->model, memory, address, data, n), "peek");
}

void host_poke(struct host *h, unsigned memory, uint32_t address, const void *data, size_t n) {
  if (usable(h))
    note(h, h->api->poke(h->model, memory, address, data, n), "poke");
}

const char *host_describe(struct host *h) {
  static char text[65536];
  text[0] = '\0';
  h->api->describe(h->model, text, sizeof text);
  return text;
}
