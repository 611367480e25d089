/* SPDX-License-Identifier: MIT */
/*
 * Reset in the middle of the work, then the same program again.
 *
 *   reset soft      the device is reset by its control register while two copies and a wait are in flight
 *   reset machine   the whole machine is, by the finisher; HBM outlives it and says which boot this is
 *
 * What follows must be as on a fresh machine: a kernel call with the right result, and its cycles.
 */
#include "boot.h"
#include "device.h"
#include "finisher.h"
#include "mmio.h"
#include "pallas.h"
#include "tpu_ctrl.h"
#include "tpu_memmap.h"
#include "tpu_queue.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = 256, COLUMNS = 64, SEM = 20 };
static volatile uint32_t *const boots = (volatile uint32_t *)(PEPLOS_HBM_BASE + 0x3f00000);

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static void body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
}

/* o = x + y over HBM; 0 if every element is right. */
static int work(uint64_t *cycles) {
  const pl_shape shape = PL_SHAPE(ROWS, COLUMNS);
  const pl_array x = pl_hbm_array(0, PL_INT32, shape), y = pl_hbm_array(0x10000, PL_INT32, shape),
                 o = pl_hbm_array(0x20000, PL_INT32, shape);
  const pl_kernel kernel = {.name = "sum",
                            .body = body,
                            .grid = PL_GRID(ROWS / 32),
                            .in = {PL_BLOCK(row_map, 32, COLUMNS), PL_BLOCK(row_map, 32, COLUMNS)},
                            .out = {PL_BLOCK(row_map, 32, COLUMNS)}};
  int32_t *px = pl_hbm_pointer(&x), *py = pl_hbm_pointer(&y), *po = pl_hbm_pointer(&o);
  pl_stats stats;

  for (int32_t i = 0; i < ROWS * COLUMNS; i++) {
    px[i] = 3 * i;
    py[i] = 1000000 - i;
    po[i] = 0;
  }
  if (pl_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o)) != PL_OK) {
    printf("%s\n", pl_error_message());
    return BOOT_EXIT_KERNEL;
  }
  for (int32_t i = 0; i < ROWS * COLUMNS; i++) {
    if (po[i] != 1000000 + 2 * i) {
      printf("element %d is %d, not %d\n", (int)i, (int)po[i], (int)(1000000 + 2 * i));
      return BOOT_EXIT_FAILURE;
    }
  }
  pl_get_stats(&stats);
  *cycles = stats.cycles;
  return BOOT_EXIT_OK;
}

/* A long copy into VMEM, one out of it, and a command that waits for what nobody signals. */
static void start_something(tpu_ctrl *ctrl) {
  static const tpu_dma in = {.src_space = TPU_SPACE_HBM,
                             .dst_space = TPU_SPACE_VMEM,
                             .row_bytes = 4096,
                             .count = {64, 1, 1},
                             .src_stride = {4096},
                             .dst_stride = {4096}};
  static const tpu_dma out = {.src_space = TPU_SPACE_VMEM,
                              .dst_space = TPU_SPACE_HBM,
                              .src = 0x40000,
                              .dst = 0x100000,
                              .row_bytes = 4096,
                              .count = {64, 1, 1},
                              .src_stride = {4096},
                              .dst_stride = {4096}};
  static const tpu_command plain = {.waits = 0};
  static const tpu_command waiting = {.waits = 1, .wait = {{.semaphore = SEM, .amount = 5, .consume = true}}};
  const unsigned queues[3] = {0, 3, 1};
  uint32_t status = 0;

  for (unsigned i = 0; i < 3; i++) {
    tpu_queue_handle q;
    (void)!tpu_queue_init(&q, PEPLOS_TPU_BASE, queues[i]);
    (void)!tpu_queue_command(&q, i == 2 ? &waiting : &plain);
    (void)!tpu_queue_dma(&q, i == 1 ? &out : &in);
    tpu_queue_go(q.base, 0x100 + i);
  }
  (void)!tpu_ctrl_status(ctrl, &status);
  if (status & TPU_REG_STATUS_IDLE_MASK)
    printf("the device is idle already\n");
}

int main(int argc, char **argv) {
  const bool machine = argc == 2 && strcmp(argv[1], "machine") == 0;
  uint64_t fresh = 0, again = 0;
  tpu_ctrl ctrl;
  int status;

  if (!machine && (argc != 2 || strcmp(argv[1], "soft") != 0)) {
    printf("usage: reset soft|machine\n");
    return BOOT_EXIT_USAGE;
  }
  (void)!tpu_ctrl_init(&ctrl, PEPLOS_TPU_BASE);
  if (machine) {
    hal_finisher finisher;
    const uint32_t boot = ++*boots;
    status = work(&fresh);
    printf("boot %u: %s in %" PRIu64 " cycles\n", (unsigned)boot, status == BOOT_EXIT_OK ? "right" : "wrong",
           fresh);
    if (status != BOOT_EXIT_OK || boot == 2)
      return status;
    start_something(&ctrl);
    (void)!hal_finisher_init(&finisher, PEPLOS_FINISHER_BASE);
    (void)!hal_finisher_reset(&finisher);
    for (;;)
      cpu_wfi();
  }
  status = work(&fresh);
  start_something(&ctrl);
  if (status == BOOT_EXIT_OK && tpu_ctrl_soft_reset(&ctrl, 1000000) != HAL_OK) {
    printf("the reset does not end\n");
    return BOOT_EXIT_FAILURE;
  }
  pl_device_lost();
  if (status == BOOT_EXIT_OK)
    status = work(&again);
  printf("before the reset %" PRIu64 " cycles, after it %" PRIu64 "\n", fresh, again);
  return status;
}
