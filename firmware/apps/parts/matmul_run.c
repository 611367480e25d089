/* SPDX-License-Identifier: MIT */
#include "matmul_run.h"

#include "boot.h"
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int fail(int status) {
  printf("matmul: %s\n", pl_error_message());
  return status;
}

/* 100 * part / whole with one decimal, as text. */
static const char *percent(char text[16], uint64_t part, uint64_t whole) {
  const uint32_t tenths = whole != 0 ? (uint32_t)((part * 1000u + whole / 2) / whole) : 0;
  snprintf(text, 16, "%u.%u %%", (unsigned)(tenths / 10), (unsigned)(tenths % 10));
  return text;
}

/* Finds the operands and checks that they fit one another and the expected shape. */
static int open_operands(const struct matmul_options *options, pl_array *x, pl_array *y) {
  if (pl_data_open() != PL_OK || pl_data_find("x", x) != PL_OK || pl_data_find("y", y) != PL_OK)
    return fail(BOOT_EXIT_USAGE);
  if (x->rank != 2 || y->rank != 2 || x->dtype != y->dtype || (x->dtype != PL_BF16 && x->dtype != PL_INT8)) {
    printf(
        "matmul: x [M,K] and y [K,N] of bf16 or int8 are needed; the file has x %s rank %d, y %s rank %d\n",
        pl_dtype_name(x->dtype), x->rank, pl_dtype_name(y->dtype), y->rank);
    return BOOT_EXIT_USAGE;
  }
  if (x->shape[1] != y->shape[0]) {
    printf("matmul: x [%d,%d] and y [%d,%d] do not fit: the columns of x must be as many as the rows of y\n",
           (int)x->shape[0], (int)x->shape[1], (int)y->shape[0], (int)y->shape[1]);
    return BOOT_EXIT_USAGE;
  }
  if ((options->m != 0 && options->m != x->shape[0]) || (options->n != 0 && options->n != y->shape[1]) ||
      (options->k != 0 && options->k != x->shape[1])) {
    printf("matmul: %d x %d x %d was asked for, the data file holds %d x %d x %d (M x N x K)\n",
           (int)options->m, (int)options->n, (int)options->k, (int)x->shape[0], (int)y->shape[1],
           (int)x->shape[1]);
    return BOOT_EXIT_USAGE;
  }
  return BOOT_EXIT_OK;
}

/* Compares element by element; prints the first difference. */
static int check(const pl_array *result, const pl_array *reference) {
  const uint32_t size = pl_dtype_bytes(result->dtype), n = pl_array_bytes(result) / size;
  const uint8_t *got = pl_hbm_pointer(result), *want = pl_hbm_pointer(reference);
  uint32_t different = 0, first = 0;

  for (uint32_t i = 0; i < n; i++) {
    if (memcmp(got + i * size, want + i * size, size) != 0 && different++ == 0)
      first = i;
  }
  if (different == 0) {
    printf("matmul: all %u elements equal the reference\n", (unsigned)n);
    return BOOT_EXIT_OK;
  }
  uint32_t g = 0, w = 0;
  memcpy(&g, got + first * size, size);
  memcpy(&w, want + first * size, size);
  printf("matmul: %u of %u elements differ from the reference, the first at [%u,%u]: 0x%x, not 0x%x\n",
         (unsigned)different, (unsigned)n, (unsigned)(first / (uint32_t)result->shape[1]),
         (unsigned)(first % (uint32_t)result->shape[1]), (unsigned)g, (unsigned)w);
  return BOOT_EXIT_FAILURE;
}

static void report(const pl_array *x, const pl_array *y, const struct matmul_blocks *blocks,
                   const pl_stats *stats) {
  const tpu_counter_set *mxu = &stats->queue[TPU_QUEUE_MXU];
  const uint64_t macs = (uint64_t)x->shape[0] * (uint64_t)x->shape[1] * (uint64_t)y->shape[1];
  const uint32_t dim = boot_params.value[TPU_PARAM_DIM];
  uint64_t moved = 0;
  char a[16], b[16], c[16], d[16];

  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA3; q++)
    moved += stats->queue[q].bytes;
  printf("matmul: %d x %d x %d %s, blocks %d x %d x %d: %" PRIu64 " cycles, MXU utilisation %s\n",
         (int)x->shape[0], (int)y->shape[1], (int)x->shape[1], pl_dtype_name(x->dtype), (int)blocks->m,
         (int)blocks->n, (int)blocks->k, stats->cycles, percent(a, macs, stats->cycles * dim * dim));
  printf("  moved    %" PRIu64 " bytes by DMA in %u grid steps\n", moved, (unsigned)stats->steps);
  /* An engine may be busy with one command while the next one waits: these do not add up to the whole. */
  printf("  MXU      busy %s (stalled on memory %s), next command waiting %s, queue empty %s\n",
         percent(a, mxu->busy, stats->cycles), percent(b, mxu->stall, stats->cycles),
         percent(c, mxu->wait, stats->cycles), percent(d, mxu->starved, stats->cycles));
  printf("  scalar   %u instructions, %u before the first step, %u after the last\n",
         (unsigned)stats->instructions, (unsigned)stats->setup_instructions,
         (unsigned)stats->finish_instructions);
}

int matmul_run(const struct matmul_options *options) {
  pl_array x, y, o, reference;
  pl_stats stats;
  int status = open_operands(options, &x, &y);

  if (status != BOOT_EXIT_OK)
    return status;
  const pl_dtype type = x.dtype == PL_INT8 ? PL_INT32 : PL_BF16;
  if (pl_alloc(PL_HBM, type, PL_SHAPE(x.shape[0], y.shape[1]), &o) != PL_OK)
    return fail(BOOT_EXIT_KERNEL);
  for (int32_t call = 0; call < (options->calls != 0 ? options->calls : 2); call++) {
    if (kernel_matmul(x, y, o, &options->blocks) != PL_OK)
      return fail(BOOT_EXIT_KERNEL);
  }
  pl_get_stats(&stats);
  report(&x, &y, &options->blocks, &stats);
  if (!pl_data_has("ref"))
    printf("matmul: not checked, the data file has no array ref\n");
  else if (pl_data_find("ref", &reference) != PL_OK)
    status = fail(BOOT_EXIT_USAGE);
  else if (reference.dtype != type || reference.rank != 2 || reference.shape[0] != x.shape[0] ||
           reference.shape[1] != y.shape[1]) {
    printf("matmul: ref must be %s [%d,%d]\n", pl_dtype_name(type), (int)x.shape[0], (int)y.shape[1]);
    status = BOOT_EXIT_USAGE;
  } else {
    status = check(&o, &reference);
  }
  if (pl_free(&o) != PL_OK)
    return fail(BOOT_EXIT_KERNEL);
  return status;
}
