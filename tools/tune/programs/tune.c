/* SPDX-License-Identifier: MIT */
/*
 * Measures choices for a kernel, many in one run; for `make tune`. A program for each family of kernels,
 * because RAM does not hold all of the library.
 *
 *   PROGRAM KERNEL EXTENT... [--predict]
 *
 * The data file's array `candidates`, int32 [n, 1 + TUNED_VALUES], has a choice a row: 0 and the values for
 * tuned_find(), or 1 for the kernel's default, or 2 for what the committed table says. For each of them a
 * line
 *
 *   TUNE row predicted P bound B vmem V acc A steps S dma_in I .. scalar S [cycles C instructions N was_mxu M
 * ..]
 *
 * or "TUNE row refused STATUS: MESSAGE". All up to `scalar` is what pl_predict_calls() says; the rest of the
 * second call, kernel and all: was_.. are cycles that the units were busy, and bytes over the port's width.
 * --predict leaves out the measuring. The result of each call is compared with that of the first one, so that
 * nothing wrong is ever called fast: elements may differ by a 64th of them, or of 1.
 */
#include "tune.h"

#include "boot.h"
#include "device.h"
#include "tuned.h"

#include "tpu_memmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const bounds[] = {"nothing", "dma_in", "dma_out", "mxu", "vpu", "scalar"};
static pl_array result, reference;
static bool have_reference;

pl_status tune_array(pl_array *a, pl_dtype dtype, pl_shape shape) {
  static const uint16_t bf16[] = {0xc000, 0xbf80, 0, 0x3f80, 0x4000};
  static uint32_t state = 1;
  const pl_status status = pl_alloc(PL_HBM, dtype, shape, a);

  if (status != PL_OK)
    return status;
  const uint32_t n = pl_array_bytes(a) / pl_dtype_bytes(dtype);
  for (uint32_t i = 0; i < n; i++) {
    state = state * 1664525u + 1013904223u;
    const uint32_t at = (state >> 16) % 5;
    if (dtype == PL_INT8)
      ((int8_t *)pl_hbm_pointer(a))[i] = (int8_t)((int32_t)at - 2);
    else if (dtype == PL_BF16)
      ((uint16_t *)pl_hbm_pointer(a))[i] = bf16[at];
    else
      ((uint32_t *)pl_hbm_pointer(a))[i] = (uint32_t)bf16[at] << 16;
  }
  return PL_OK;
}

static uint64_t now(void) {
  tpu_ctrl ctrl;
  uint64_t cycle = 0;
  if (tpu_ctrl_init(&ctrl, PEPLOS_TPU_BASE) != HAL_OK || tpu_ctrl_cycle(&ctrl, &cycle) != HAL_OK)
    boot_exit(BOOT_EXIT_DEVICE);
  return cycle;
}

static float element(const pl_array *a, uint32_t i) {
  union {
    uint32_t bits;
    float value;
  } u = {0};

  if (a->dtype == PL_BF16)
    u.bits = (uint32_t)((const uint16_t *)pl_hbm_pointer(a))[i] << 16;
  else
    u.bits = ((const uint32_t *)pl_hbm_pointer(a))[i];
  return a->dtype == PL_INT32 ? (float)(int32_t)u.bits : u.value;
}

/* Compares the result with the reference, or makes it that. */
static bool right(void) {
  const uint32_t bytes = pl_array_bytes(&result), n = bytes / pl_dtype_bytes(result.dtype);

  if (!have_reference) {
    memcpy(pl_hbm_pointer(&reference), pl_hbm_pointer(&result), bytes);
    have_reference = true;
    return true;
  }
  if (memcmp(pl_hbm_pointer(&reference), pl_hbm_pointer(&result), bytes) == 0)
    return true;
  for (uint32_t i = 0; i < n; i++) {
    const float want = element(&reference, i), scale = want > 1 ? want : want < -1 ? -want : 1;
    const float off = element(&result, i) - want;
    if (!(off <= scale / 64 && -off <= scale / 64)) {
      printf("tune: element %u differs from the first choice's\n", (unsigned)i);
      return false;
    }
  }
  return true;
}

/* Measures a choice that tuned_use() has set; false if the result is wrong. */
static bool try_choice(const struct tune_kernel *kernel, int32_t row, bool measure) {
  pl_prediction p;
  uint64_t cycles = 0;

  pl_predict_calls(&p);
  pl_status status = kernel->run();
  pl_predict_calls(NULL);
  for (int call = 0; measure && status == PL_OK && call < 2; call++) {
    memset(pl_hbm_pointer(&result), 0xff, pl_array_bytes(&result));
    const uint64_t begin = now();
    status = kernel->run();
    cycles = now() - begin;
  }
  if (status != PL_OK) {
    const char *text = pl_error_message();
    printf("TUNE %d refused %s: %.*s\n", (int)row, pl_status_name(status), (int)strcspn(text, "\n"), text);
    return true;
  }
  printf("TUNE %d predicted %u bound %s vmem %u acc %u steps %u dma_in %u dma_out %u mxu %u vpu %u scalar %u",
         (int)row, (unsigned)p.cycles, bounds[p.bottleneck], (unsigned)p.memory[0], (unsigned)p.memory[2],
         (unsigned)p.steps, (unsigned)p.dma_in, (unsigned)p.dma_out, (unsigned)p.mxu, (unsigned)p.vpu,
         (unsigned)p.scalar);
  if (measure) {
    pl_stats stats;
    pl_get_stats(&stats);
    uint64_t in = 0;
    for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA2; q++)
      in += stats.queue[q].bytes;
    const uint32_t port = boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
    printf(" cycles %u instructions %u was_mxu %u was_vpu %u was_dma_in %u was_dma_out %u", (unsigned)cycles,
           (unsigned)stats.instructions, (unsigned)stats.queue[TPU_QUEUE_MXU].busy,
           (unsigned)stats.queue[TPU_QUEUE_VPU].busy, (unsigned)(in / port),
           (unsigned)(stats.queue[TPU_QUEUE_DMA3].bytes / port));
  }
  printf("\n");
  return !measure || right();
}

static int run(const struct tune_kernel *kernel, const int32_t *extent, bool measure) {
  static uint16_t values[TUNED_VALUES];
  pl_array candidates;

  if (pl_data_open() != PL_OK || pl_data_find("candidates", &candidates) != PL_OK) {
    printf("tune: %s\n", pl_error_message());
    return BOOT_EXIT_USAGE;
  }
  if (candidates.dtype != PL_INT32 || candidates.rank != 2 || candidates.shape[1] != 1 + TUNED_VALUES) {
    printf("tune: candidates must be int32 [n, %d]\n", 1 + TUNED_VALUES);
    return BOOT_EXIT_USAGE;
  }
  if (kernel->prepare(extent, &result) != PL_OK ||
      pl_alloc(PL_HBM, result.dtype,
               PL_SHAPE((int32_t)(pl_array_bytes(&result) / pl_dtype_bytes(result.dtype))),
               &reference) != PL_OK) {
    printf("tune: %s\n", pl_error_message());
    return BOOT_EXIT_KERNEL;
  }
  const int32_t *row = pl_hbm_pointer(&candidates);
  for (int32_t i = 0; i < candidates.shape[0]; i++, row += 1 + TUNED_VALUES) {
    for (unsigned v = 0; v < TUNED_VALUES; v++)
      values[v] = (uint16_t)row[1 + v];
    tuned_use(row[0] == 0 ? TUNED_GIVEN : row[0] == 1 ? TUNED_NOTHING : TUNED_FROM_TABLE, values);
    if (!try_choice(kernel, i, measure))
      return BOOT_EXIT_FAILURE;
  }
  return BOOT_EXIT_OK;
}

int tune_main(int argc, char **argv, const struct tune_kernel *kernels, unsigned count) {
  const bool measure = !(argc > 1 && strcmp(argv[argc - 1], "--predict") == 0);
  const unsigned extents = (unsigned)argc - (measure ? 2 : 3);
  int32_t extent[TUNE_EXTENTS] = {0};

  for (unsigned i = 0; argc > 1 && i < count; i++) {
    const struct tune_kernel *kernel = &kernels[i];
    if (strcmp(argv[1], kernel->name) != 0)
      continue;
    bool good = extents == kernel->rank;
    for (unsigned e = 0; good && e < extents; e++) {
      char *end;
      extent[e] = (int32_t)strtol(argv[2 + e], &end, 10);
      good = extent[e] > 0 && extent[e] < 65536 && *end == '\0';
    }
    if (good)
      return run(kernel, extent, measure);
    printf("tune: %s needs the %u extents %s, 1 to 65535 each\n", kernel->name, kernel->rank,
           kernel->extents);
    return BOOT_EXIT_USAGE;
  }
  printf("tune: KERNEL EXTENT... [--predict], with candidates in the data file; `make tune` calls it so. "
         "Kernels:");
  for (unsigned i = 0; i < count; i++)
    printf(" %s", kernels[i].name);
  printf("\n");
  return BOOT_EXIT_USAGE;
}
