/* SPDX-License-Identifier: MIT */
/*
 * Figures of the bare device through the model ABI, without a scalar core: DMA bandwidth and overhead,
 * the matrix unit alone and beside DMA, and the host speed of the model. The functional model runs with race
 * detection on (a race is a log line, which ends the program), and once more without to see what it costs.
 * Usage: device LIBRARY [--exact].
 * Prints `FIGURE name value unit`.
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"
#include "vpu_asm.h"

#define HBM_BYTES      (64u << 20)
#define TRACE_CAPACITY (1u << 16)
#define LATENCY        100u

struct bench {
  const tpu_model_api *api;
  tpu_model *model;
  uint8_t *hbm;
  uint64_t go, signal, start, end; /* cycles of the last such events seen */
  uint64_t first_go;
};

static void die(const char *text) {
  fprintf(stderr, "device: %s\n", text);
  exit(2);
}

static int hbm_read(void *opaque, uint64_t address, void *data, size_t n) {
  struct bench *b = opaque;
  if (address > HBM_BYTES || n > HBM_BYTES - address)
    return 1;
  memcpy(data, b->hbm + address, n);
  return 0;
}

static int hbm_write(void *opaque, uint64_t address, const void *data, size_t n) {
  struct bench *b = opaque;
  if (address > HBM_BYTES || n > HBM_BYTES - address)
    return 1;
  memcpy(b->hbm + address, data, n);
  return 0;
}

static void log_line(void *opaque, tpu_log_class cls, const char *text) {
  (void)opaque;
  fprintf(stderr, "device: log class %d: %s\n", (int)cls, text);
  exit(2);
}

static void wr(struct bench *b, uint32_t offset, uint32_t value) {
  if (b->api->mmio_write(b->model, offset, 4, value) != TPU_OK)
    die("register write failed");
}

static uint32_t rd(struct bench *b, uint32_t offset) {
  uint32_t value = 0;
  if (b->api->mmio_read(b->model, offset, 4, &value) != TPU_OK)
    die("register read failed");
  return value;
}

static void queue_word(struct bench *b, unsigned queue, uint32_t offset, uint32_t value) {
  wr(b, TPU_QUEUE_BASE(queue) + offset, value);
}

static void take_trace(struct bench *b) {
  tpu_trace_record r[256];
  size_t n;
  while ((n = b->api->trace_read(b->model, r, 256)) != 0) {
    for (size_t i = 0; i < n; ++i) {
      const uint64_t cycle = r[i].head & TPU_TRACE_CYCLE_MASK;
      switch ((r[i].head & TPU_TRACE_EVENT_MASK) >> TPU_TRACE_EVENT_SHIFT) {
      case TPU_EVENT_GO:
        if (b->first_go == 0)
          b->first_go = cycle;
        b->go = cycle;
        break;
      case TPU_EVENT_SIGNAL:
        b->signal = cycle;
        break;
      case TPU_EVENT_START:
        b->start = cycle;
        break;
      case TPU_EVENT_END:
        b->end = cycle;
        break;
      default:
        break;
      }
    }
  }
}

/* Run until nothing is left to do. */
static void finish(struct bench *b) {
  uint64_t ran;
  tpu_stop stop;
  do {
    if (b->api->advance(b->model, 1000000, &ran, &stop) != TPU_OK)
      die("the model stopped with a fault");
    take_trace(b);
    if (stop == TPU_STOP_BLOCKED)
      die("blocked: a wait is never satisfied");
  } while (stop != TPU_STOP_IDLE);
  if (rd(b, TPU_REG_ERROR) != 0)
    die("the device reports an error");
}

/* Queue a command, letting time pass while the queue is full. */
static void go(struct bench *b, unsigned queue, uint32_t tag) {
  uint64_t ran;
  tpu_stop stop;
  while (rd(b, TPU_QUEUE_BASE(queue) + TPU_Q_GO) == 0) {
    if (b->api->advance(b->model, 50, &ran, &stop) != TPU_OK)
      die("the model stopped with a fault");
    take_trace(b);
  }
  queue_word(b, queue, TPU_Q_GO, tag);
}

/* Semaphore q counts the completions of queue q as tickets. */
static void signals_own_ticket(struct bench *b, unsigned queue) {
  queue_word(b, queue, TPU_Q_SIGNALS, 0x80u | queue);
  queue_word(b, queue, TPU_Q_SIGNAL_AMOUNT(0), 1);
}

static void wait_for(struct bench *b, unsigned queue, unsigned wait, unsigned semaphore, uint32_t amount) {
  const uint32_t waits = rd(b, TPU_QUEUE_BASE(queue) + TPU_Q_WAITS) & ~(0xffu << 8 * wait);
  queue_word(b, queue, TPU_Q_WAITS, waits | (0x80u | semaphore) << 8 * wait);
  queue_word(b, queue, TPU_Q_WAIT_AMOUNT(wait), amount);
}

static void start_over(struct bench *b) {
  wr(b, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
  while (rd(b, TPU_REG_STATUS) & TPU_REG_STATUS_ABORTING_MASK)
    continue;
  wr(b, TPU_REG_SEM_MODE(0), 0xffffffffu);
  wr(b, TPU_REG_SEM_MODE(1), 0xffffffffu);
  take_trace(b);
  b->first_go = 0;
}

/* Stage a two-dimensional copy. */
static void stage_copy(struct bench *b, unsigned q, unsigned src_space, uint32_t src, uint32_t src_pitch,
                       unsigned dst_space, uint32_t dst, uint32_t dst_pitch, uint32_t row, uint32_t rows) {
  queue_word(b, q, TPU_DMA_SRC, src);
  queue_word(b, q, TPU_DMA_DST, dst);
  queue_word(b, q, TPU_DMA_MODE, src_space | dst_space << TPU_DMA_MODE_DST_SPACE_SHIFT);
  queue_word(b, q, TPU_DMA_ROW_BYTES, row);
  queue_word(b, q, TPU_DMA_COUNT01, rows | 1u << TPU_DMA_COUNT01_COUNT1_SHIFT);
  queue_word(b, q, TPU_DMA_COUNT2, 1);
  queue_word(b, q, TPU_DMA_SRC_STRIDE(0), src_pitch);
  queue_word(b, q, TPU_DMA_DST_STRIDE(0), dst_pitch);
}

static void figure(const char *name, double value, const char *unit) {
  printf("FIGURE %s %.4f %s\n", name, value, unit);
  fflush(stdout);
}

/* ---- DMA ---- */

static uint64_t one_copy(struct bench *b, uint32_t row, uint32_t rows) {
  start_over(b);
  signals_own_ticket(b, 0);
  stage_copy(b, 0, TPU_SPACE_HBM, 0x10000, 1024, TPU_SPACE_VMEM, 0, row, row, rows);
  go(b, 0, 1);
  finish(b);
  return b->signal - b->go;
}

/* Cycles from the first GO to the last signal of n 4 KiB copies over some channels. */
static uint64_t chained_copies(struct bench *b, unsigned n, unsigned channels) {
  start_over(b);
  for (unsigned q = 0; q < channels; ++q) {
    signals_own_ticket(b, q);
    stage_copy(b, q, TPU_SPACE_HBM, 0x10000 + 0x10000 * q, 1024, TPU_SPACE_VMEM, 0x10000 * q, 1024, 1024, 4);
  }
  for (unsigned i = 0; i < n; ++i)
    go(b, i % channels, i);
  finish(b);
  return b->signal - b->first_go;
}

static void dma_figures(struct bench *b) {
  const double rate = 16.0;
  const uint64_t big = one_copy(b, 256, 256), small = one_copy(b, 64, 1);
  figure("dma_64k_rows256.bandwidth", 100.0 * 65536 / rate / (double)(big - LATENCY), "% of the port");
  figure("dma_64b.overhead", (double)small - LATENCY - 4, "cycles");
  figure("dma_rows64.bandwidth", 100.0 * 65536 / rate / (double)(one_copy(b, 64, 1024) - LATENCY),
         "% of the port");
  for (unsigned channels = 1; channels <= 3; channels += 2) {
    const uint64_t few = chained_copies(b, 24, channels), many = chained_copies(b, 96, channels);
    figure(channels == 1 ? "dma_chain.bubble" : "dma_chain_channels.bubble",
           (double)(many - few) / 72 - 4096 / rate, "cycles a command");
  }
}

/* ---- MXU ---- */

static void stage_dot(struct bench *b, unsigned dtype, uint32_t a, uint32_t bb, uint32_t c, uint32_t size,
                      bool acc) {
  const uint32_t pitch = size * (dtype == TPU_MXU_DTYPE_BF16 ? 2 : 1);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_A, a);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_B, bb);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_C, c);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_A_PITCH, pitch);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_B_PITCH, pitch);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_C_PITCH, size);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_M, size);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_N, size);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_K, size);
  queue_word(b, TPU_QUEUE_MXU, TPU_MXU_MODE, dtype | (acc ? TPU_MXU_MODE_ACCUMULATE_MASK : 0));
}

/* Cycles of n chained 128-cubed products, with or without copies in both directions at the same time. */
static uint64_t chained_dots(struct bench *b, unsigned n, bool copies, double *seconds, unsigned dtype) {
  struct timespec t0, t1;
  start_over(b);
  signals_own_ticket(b, TPU_QUEUE_MXU);
  stage_dot(b, dtype, 0, 0x8000, 0, 128, true);
  if (copies) {
    stage_copy(b, 0, TPU_SPACE_HBM, 0x100000, 256, TPU_SPACE_VMEM, 0x20000, 256, 256, 128);
    stage_copy(b, 3, TPU_SPACE_VMEM, 0x40000, 256, TPU_SPACE_HBM, 0x200000, 256, 256, 128);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
  for (unsigned i = 0; i < n; ++i) {
    go(b, TPU_QUEUE_MXU, i);
    /* A 32 KiB copy takes 2048 cycles, a product 8192: four of each keep both directions busy. */
    for (unsigned k = 0; copies && k < 4; ++k) {
      go(b, 0, i);
      go(b, 3, i);
    }
  }
  uint64_t mxu_end = 0;
  uint64_t ran;
  tpu_stop stop;
  do {
    if (b->api->advance(b->model, 200, &ran, &stop) != TPU_OK)
      die("the model stopped with a fault");
    take_trace(b);
    mxu_end = b->api->cycle(b->model);
  } while (rd(b, TPU_REG_SEM_VALUE(TPU_QUEUE_MXU)) != n);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
  *seconds = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
  mxu_end -= b->first_go;
  finish(b);
  return mxu_end;
}

static void mxu_figures(struct bench *b) {
  double seconds;
  start_over(b);
  signals_own_ticket(b, TPU_QUEUE_MXU);
  stage_dot(b, TPU_MXU_DTYPE_BF16, 0, 0x8000, 0, 128, false);
  go(b, TPU_QUEUE_MXU, 1);
  finish(b);
  figure("matmul_bf16_128_resident.mxu_command", 100.0 * 8192 / (double)(b->end - b->start), "%");
  const uint64_t alone = chained_dots(b, 24, false, &seconds, TPU_MXU_DTYPE_BF16);
  const uint64_t beside = chained_dots(b, 24, true, &seconds, TPU_MXU_DTYPE_BF16);
  figure("mxu_chain.utilisation", 100.0 * 24 * 8192 / (double)alone, "%");
  figure("mxu_beside_dma.loss", 100.0 * ((double)beside - (double)alone) / (double)alone, "%");
}

/* ---- host speed: 512 x 512 x 512 in blocks of 128, loads, products, conversion and write-back ---- */

static void load_drain_program(struct bench *b, unsigned lanes) {
  const uint64_t program[] = {
      tpu_vasm_loop(0, 6),
      tpu_vasm_loop(1, 5),
      tpu_vasm_ld(0, (struct tpu_vasm_memory){.areg = 0, .acc = true}),
      tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.areg = 1, .dtype = TPU_VMEM_DTYPE_BF16}),
      tpu_vasm_end(1),
      tpu_vasm_end(0),
      tpu_vasm_halt()};
  for (unsigned i = 0; i < sizeof program / sizeof program[0]; ++i) {
    wr(b, TPU_REG_VPROG(2 * i), (uint32_t)program[i]);
    wr(b, TPU_REG_VPROG(2 * i + 1), (uint32_t)(program[i] >> 32));
  }
  const unsigned q = TPU_QUEUE_VPU;
  queue_word(b, q, TPU_VPU_LOOP(0), 128 / lanes);
  queue_word(b, q, TPU_VPU_LOOP(1), 128 / 8);
  queue_word(b, q, TPU_VPU_PITCH(0), 1);
  queue_word(b, q, TPU_VPU_PITCH(1), 256);
  queue_word(b, q, TPU_VPU_STRIDE(3 * 0 + 1), 8);
  queue_word(b, q, TPU_VPU_STRIDE(3 * 1 + 1), 8 * 256);
  queue_word(b, q, TPU_VPU_STRIDE(3 * 1 + 0),
             2 * lanes - 128 * 256); /* back to the first row, next columns */
}

static double matmul_512(struct bench *b, unsigned lanes, uint64_t *cycles) {
  struct timespec t0, t1;
  start_over(b);
  for (unsigned q = 0; q < 7; ++q)
    signals_own_ticket(b, q);
  load_drain_program(b, lanes);
  const uint32_t slot = 0x8000;
  uint32_t steps = 0, blocks = 0;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned j = 0; j < 4; ++j, ++blocks) {
      for (unsigned k = 0; k < 4; ++k, ++steps) {
        const uint32_t a = (steps & 1) * slot, bb = 0x20000 + (steps & 1) * slot, c = (blocks & 1) * 1024;
        for (unsigned q = 0; q < 2; ++q) {
          stage_copy(b, q, TPU_SPACE_HBM,
                     q == 0 ? (i * 128 * 512 + k * 128) * 2 : (1u << 20) + (k * 128 * 512 + j * 128) * 2,
                     1024, TPU_SPACE_VMEM, q == 0 ? a : bb, 256, 256, 128);
          if (steps >= 2)
            wait_for(b, q, 0, TPU_QUEUE_MXU, steps - 1);
          go(b, q, steps);
        }
        stage_dot(b, TPU_MXU_DTYPE_BF16, a, bb, c, 128, k != 0);
        wait_for(b, TPU_QUEUE_MXU, 0, 0, steps + 1);
        wait_for(b, TPU_QUEUE_MXU, 1, 1, steps + 1);
        if (blocks >= 2)
          wait_for(b, TPU_QUEUE_MXU, 2, TPU_QUEUE_VPU, blocks - 1);
        go(b, TPU_QUEUE_MXU, steps);
      }
      const uint32_t o = 0x40000 + (blocks & 1) * slot;
      queue_word(b, TPU_QUEUE_VPU, TPU_VPU_ADDR(0), (blocks & 1) * 1024);
      queue_word(b, TPU_QUEUE_VPU, TPU_VPU_ADDR(1), o);
      queue_word(b, TPU_QUEUE_VPU, TPU_VPU_STRIDE(0), 0);
      wait_for(b, TPU_QUEUE_VPU, 0, TPU_QUEUE_MXU, steps);
      if (blocks >= 2)
        wait_for(b, TPU_QUEUE_VPU, 1, 3, blocks - 1);
      go(b, TPU_QUEUE_VPU, blocks);
      stage_copy(b, 3, TPU_SPACE_VMEM, o, 256, TPU_SPACE_HBM, (2u << 20) + (i * 128 * 512 + j * 128) * 2,
                 1024, 256, 128);
      wait_for(b, 3, 0, TPU_QUEUE_VPU, blocks + 1);
      go(b, 3, blocks);
    }
  }
  finish(b);
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
  *cycles = b->end - b->first_go;
  return (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
}

/* Seconds of the fastest of n runs of the 512-cubed product with its transfers. */
static double fastest_512(struct bench *b, unsigned lanes, unsigned n, uint64_t *cycles) {
  double best = 1e9;
  for (unsigned i = 0; i < n; ++i) {
    const double s = matmul_512(b, lanes, cycles);
    if (s < best)
      best = s;
  }
  return best;
}

static void speed_figures(struct bench *b, unsigned lanes, bool exact) {
  uint64_t cycles;
  const double best = fastest_512(b, lanes, exact ? 1 : 3, &cycles);
  figure("device_matmul_bf16_512.utilisation", 100.0 * 512 * 512 * 512 / 256 / (double)cycles, "%");
  if (exact)
    return;
  char name[64];
  snprintf(name, sizeof name, "%s.khz", b->api->name);
  figure(name, (double)cycles / best / 1e3, "kHz");
  if (strcmp(b->api->name, "func") != 0)
    return;
  figure("func.gmacs_matmul_512", 512.0 * 512 * 512 / best / 1e9, "GMAC/s");
  for (unsigned dtype = 0; dtype < 2; ++dtype) {
    double seconds, least = 1e9;
    for (unsigned i = 0; i < 3; ++i) {
      chained_dots(b, 256, false, &seconds, dtype);
      if (seconds < least)
        least = seconds;
    }
    figure(dtype == TPU_MXU_DTYPE_BF16 ? "func.gmacs_bf16" : "func.gmacs_int8",
           256.0 * 128 * 128 * 128 / least / 1e9, "GMAC/s");
  }
}

static void create(struct bench *b, bool races) {
  const tpu_model_host host = {.opaque = b, .mem_read = hbm_read, .mem_write = hbm_write, .log = log_line};
  const tpu_model_config config = {.struct_size = sizeof config,
                                   .abi_hash = TPU_ABI_HASH,
                                   .seed = 1,
                                   .detect_races = races,
                                   .trace_records = TRACE_CAPACITY};
  char error[256];
  if (b->api->create(&config, &host, &b->model, error, sizeof error) != TPU_OK)
    die(error);
}

/* bf16 numbers of either sign from 2^-8 to below 1: the RTL model's speed depends on how much the data
 * change. */
static void fill_hbm(uint8_t *hbm, uint32_t bytes) {
  uint32_t x = 1;
  for (uint32_t i = 0; i < bytes; i += 2) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    const uint16_t v = (uint16_t)((x & 0x8000) | (119 + (x >> 16) % 8) << 7 | (x & 0x7f));
    memcpy(hbm + i, &v, 2);
  }
}

int main(int argc, char **argv) {
  const bool exact = argc == 3 && strcmp(argv[2], "--exact") == 0; /* no host speeds */
  if (argc != 2 && !exact)
    die("usage: device LIBRARY [--exact]");
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (!library)
    die(dlerror());
  tpu_model_get_api_fn get;
  *(void **)&get = dlsym(library, "tpu_model_get_api");
  if (!get)
    die("the library has no tpu_model_get_api");
  struct bench b = {.api = get(), .hbm = calloc(1, HBM_BYTES)};
  if (!b.hbm)
    die("out of memory");
  fill_hbm(b.hbm, 4u << 20);
  const bool func = strcmp(b.api->name, "func") == 0;
  create(&b, func);
  dma_figures(&b);
  mxu_figures(&b);
  speed_figures(&b, 16, exact);
  b.api->destroy(b.model);
  if (func && !exact) {
    uint64_t cycles;
    create(&b, false);
    figure("func.gmacs_matmul_512_no_races", 512.0 * 512 * 512 / fastest_512(&b, 16, 3, &cycles) / 1e9,
           "GMAC/s");
    b.api->destroy(b.model);
  }
  free(b.hbm);
  return 0;
}
