/* SPDX-License-Identifier: MIT */
#include "host.h"

#include "../check.h"
#include "mmio.h"
#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#include <dlfcn.h>
#include <string.h>

enum { HBM_BYTES = 64 << 20, QUIET_LIMIT = 1 << 26, EVENTS = 1 << 16 };

static const tpu_model_api *api;
static tpu_model *model;
static uint8_t *hbm;
static struct check_random random_cycles;
static uint32_t access_cycles;
static unsigned logged;
static char log_text[8192]; /* the first lines since host_logged() */
static uint32_t instructions;
static tpu_trace_record *trace;
static uint32_t trace_count, trace_capacity;
static struct host_event *events;
static uint32_t event_count;
static uint32_t staged[7][TPU_QUEUE_STRIDE / 4];

static int mem_read(void *opaque, uint64_t address, void *data, size_t n) {
  (void)opaque;
  if (address > HBM_BYTES || n > HBM_BYTES - address)
    return 1;
  memcpy(data, hbm + address, n);
  return 0;
}

static int mem_write(void *opaque, uint64_t address, const void *data, size_t n) {
  (void)opaque;
  if (address > HBM_BYTES || n > HBM_BYTES - address)
    return 1;
  memcpy(hbm + address, data, n);
  return 0;
}

static void log_line(void *opaque, tpu_log_class cls, const char *text) {
  static const char *const names[] = {"GUEST_ERROR", "UNPREDICTABLE", "UNIMPLEMENTED", "MODEL_BUG"};
  (void)opaque;
  const size_t used = logged == 0 ? 0 : strlen(log_text);
  snprintf(log_text + used, sizeof log_text - used, "%s: %s\n", names[cls], text);
  logged++;
  if (getenv("HOST_LOG") != NULL)
    fprintf(stderr, "%s: %s\n", names[cls], text);
}

static __attribute__((noreturn)) void stop(const char *why) {
  fflush(stdout);
  fprintf(stderr, "FAIL host: %s\n", why);
  if (model != NULL) {
    static char text[1 << 16];
    api->describe(model, text, sizeof text);
    fprintf(stderr, "%s\n", text);
  }
  exit(EXIT_FAILURE);
}

static uint32_t timing_of(const char *name) {
  static const char *const names[] = {"cycle", "eager", "late", "random"};
  for (uint32_t i = 0; i < 4; i++)
    if (name != NULL && strcmp(name, names[i]) == 0)
      return i;
  return TPU_TIMING_CYCLE;
}

void host_open(const struct host_options *options) {
  static const tpu_model_host host = {.mem_read = mem_read, .mem_write = mem_write, .log = log_line};
  char error[512];
  void *library = dlopen(options->library, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL)
    stop(dlerror());
  tpu_model_get_api_fn get;
  *(void **)&get = dlsym(library, "tpu_model_get_api");
  if (get == NULL)
    stop("no tpu_model_get_api in the library");
  api = get();
  hbm = calloc(1, HBM_BYTES);
  const tpu_model_config config = {
      .struct_size = sizeof config,
      .abi_hash = TPU_ABI_HASH,
      .config = options->config,
      .seed = options->seed,
      .timing = timing_of(options->timing),
      .stall_percent = options->stall_percent,
      .stall_seed = options->seed,
      .detect_races = host_detects_races(),
      .trace_records = options->trace_records != 0 ? 4096 : 0,
  };
  if (api->create(&config, &host, &model, error, sizeof error) != TPU_OK)
    stop(error);
  if (api->reset(model, TPU_RESET_HARD) != TPU_OK)
    stop("reset");
  random_cycles.state = options->seed;
  access_cycles = options->access_cycles;
  trace_capacity = options->trace_records;
  if (trace_capacity != 0) {
    trace = calloc(trace_capacity, sizeof *trace);
    api->trace_enable(model, true);
  }
}

void host_close(void) {
  api->destroy(model);
  model = NULL;
  free(hbm);
  free(trace);
  free(events);
}

uint8_t *host_hbm(void) {
  return hbm;
}
uint64_t host_cycle(void) {
  return api->cycle(model);
}

void host_peek(unsigned memory, uint32_t address, void *data, uint32_t n) {
  if (api->peek(model, memory, address, data, n) != TPU_OK)
    stop("peek outside the memory");
}

unsigned host_logged(void) {
  unsigned n = logged;
  logged = 0;
  return n;
}

bool host_detects_races(void) {
  return strcmp(api->name, "func") == 0;
}

bool host_idle(void) {
  uint32_t status = 0;
  return api->mmio_read(model, TPU_REG_STATUS, 4, &status) == TPU_OK &&
         (status & TPU_REG_STATUS_IDLE_MASK) != 0;
}

const char *host_model(void) {
  return api->name;
}

const char *host_log(void) {
  return log_text;
}

static void take_trace(void) {
  static tpu_trace_record spill[256];
  size_t n;
  do {
    bool keep = trace_count + 256 <= trace_capacity;
    n = api->trace_read(model, keep ? trace + trace_count : spill, 256);
    trace_count += keep ? (uint32_t)n : 0;
  } while (n == 256);
}

const void *host_trace(uint32_t *count) {
  take_trace();
  *count = trace_count;
  trace_count = 0;
  return trace;
}

/* Lets exactly n cycles pass. */
static void pass(uint64_t n) {
  while (n > 0) {
    uint64_t ran = 0;
    tpu_stop reason;
    if (api->quiescent(model)) {
      api->skip(model, n);
      return;
    }
    if (api->advance(model, n, &ran, &reason) != TPU_OK || reason == TPU_STOP_FAULT)
      stop("the model failed");
    if (reason == TPU_STOP_TRACE)
      take_trace();
    n -= ran;
  }
}

static uint32_t offset_of(uintptr_t address) {
  if (address < PEPLOS_TPU_BASE || address - PEPLOS_TPU_BASE >= TPU_WINDOW_SIZE)
    stop("an access outside the TPU's window");
  instructions++;
  pass(access_cycles == 0 ? 1 : check_random_below(&random_cycles, access_cycles + 1));
  return (uint32_t)(address - PEPLOS_TPU_BASE);
}

static struct { uint32_t offset, value; } fakes[8];
static unsigned fake_count;

void host_fake(uint32_t offset, uint32_t value) {
  if (fake_count == sizeof fakes / sizeof fakes[0])
    stop("too many fakes");
  fakes[fake_count].offset = offset;
  fakes[fake_count++].value = value;
}
void host_no_fakes(void) {
  fake_count = 0;
}

static uint32_t read(uintptr_t address, unsigned size) {
  for (unsigned i = 0; i < fake_count; i++)
    if (address - PEPLOS_TPU_BASE == fakes[i].offset)
      return fakes[i].value;
  uint32_t value = 0, offset = offset_of(address);
  if (api->mmio_read(model, offset, size, &value) != TPU_OK)
    stop("mmio_read");
  return value;
}

const struct host_event *host_events(uint32_t *count) {
  if (events == NULL)
    events = calloc(EVENTS, sizeof *events);
  *count = event_count;
  event_count = 0;
  return events;
}

/* Follows the staging registers, and notes what is queued. */
static void note_write(uint32_t offset, uint32_t value) {
  const uint32_t queue = (offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE, at = offset % TPU_QUEUE_STRIDE;
  if (offset >= TPU_QUEUE_BASE(0) && offset < TPU_QUEUE_BASE(7)) {
    staged[queue][at / 4] = value;
    if (at == TPU_Q_GO && events != NULL && event_count < EVENTS)
      events[event_count++] = (struct host_event){.queue = queue,
                                                  .tag = value,
                                                  .src = staged[queue][TPU_DMA_SRC / 4],
                                                  .dst = staged[queue][TPU_DMA_DST / 4],
                                                  .signals = staged[queue][TPU_Q_SIGNALS / 4]};
  }
}

void host_note(uint32_t value) {
  if (events != NULL && event_count < EVENTS)
    events[event_count++] = (struct host_event){.note = true, .tag = value};
}

static void write(uintptr_t address, unsigned size, uint32_t value) {
  uint32_t offset = offset_of(address);
  note_write(offset, value);
  if (api->mmio_write(model, offset, size, value) != TPU_OK)
    stop("mmio_write");
}

uint32_t mmio_read32(uintptr_t address) {
  return read(address, 4);
}
void mmio_write32(uintptr_t address, uint32_t value) {
  write(address, 4, value);
}
uint16_t mmio_read16(uintptr_t address) {
  return (uint16_t)read(address, 2);
}
void mmio_write16(uintptr_t address, uint16_t value) {
  write(address, 2, value);
}
uint8_t mmio_read8(uintptr_t address) {
  return (uint8_t)read(address, 1);
}
void mmio_write8(uintptr_t address, uint8_t value) {
  write(address, 1, value);
}

void cpu_wfi(void) {
  uint64_t asleep = 0;
  while (!api->irq(model)) {
    uint64_t ran = 0;
    tpu_stop reason;
    if (api->advance(model, 1 << 20, &ran, &reason) != TPU_OK || reason == TPU_STOP_FAULT)
      stop("the model failed");
    if (reason == TPU_STOP_TRACE)
      take_trace();
    asleep += ran;
    if (((reason == TPU_STOP_IDLE || reason == TPU_STOP_BLOCKED) && !api->irq(model)) || asleep > QUIET_LIMIT)
      stop("the scalar core sleeps and nothing will wake it");
  }
}

void cpu_fence(void) {}
uint32_t cpu_instret(void) {
  return instructions;
}
void *cpu_hbm(uint32_t offset) {
  return hbm + offset;
}
