/* SPDX-License-Identifier: MIT */
/*
 * The hang zoo: broken programs, each of which must end by itself with a report of its cause and a
 * status of its own (tests/firmware/zoo.toml says which).
 *
 *   zoo NAME
 *
 * These talk to the drivers, not to the runtime, which would refuse or order most of it.
 */
#include "boot.h"
#include "mmio.h"
#include "tpu_ctrl.h"
#include "tpu_memmap.h"
#include "tpu_queue.h"
#include "tpu_sem.h"

#include <stdio.h>
#include <string.h>

static tpu_ctrl ctrl;
static tpu_sem sem;
static tpu_queue_handle queue[7];
static tpu_params params;

enum { SEM_A = 20, SEM_B = 21, SEM_C = 22 };

static void open_device(void) {
  (void)!tpu_ctrl_init(&ctrl, PEPLOS_TPU_BASE);
  (void)!tpu_ctrl_params(&ctrl, &params);
  (void)!tpu_sem_init(&sem, PEPLOS_TPU_BASE, params.value[TPU_PARAM_SEMAPHORES]);
  for (unsigned i = 0; i < 7; i++)
    (void)!tpu_queue_init(&queue[i], PEPLOS_TPU_BASE, i);
}

/* Queues what is staged, with at most one wait and one signal; an amount of 0 means none. */
static void go(unsigned q, uint32_t tag, unsigned wait_sem, uint32_t wait, unsigned signal_sem,
               uint32_t signal) {
  const tpu_command command = {
      .wait = {{.semaphore = (uint8_t)wait_sem, .amount = wait, .consume = true}},
      .signal = {{.semaphore = (uint8_t)signal_sem, .amount = signal}},
      .waits = wait != 0,
      .signals = signal != 0,
      .interrupt = true,
  };
  (void)!tpu_queue_command(&queue[q], &command);
  tpu_queue_go(queue[q].base, tag);
}

static const tpu_dma small_copy = {.src = 0,
                                   .dst = 256,
                                   .src_space = TPU_SPACE_HBM,
                                   .dst_space = TPU_SPACE_VMEM,
                                   .row_bytes = 64,
                                   .count = {1, 1, 1}};

static uint32_t now(void) {
  uint64_t cycle;
  (void)!tpu_ctrl_cycle(&ctrl, &cycle);
  return (uint32_t)cycle;
}

/* From here on nothing can happen any more: the machine must notice within 10 000 cycles. */
static void nothing_more(void) {
  const uint32_t cycle = now();
  boot_put("ZOO no progress after cycle "); /* not printf, which takes thousands of cycles */
  boot_put_decimal(cycle);
  boot_put("\n");
}

static void sleep_forever(uint32_t enable) {
  (void)!tpu_ctrl_intr_enable(&ctrl, enable);
  nothing_more();
  for (;;) {
    uint32_t bits;
    (void)!tpu_ctrl_intr_state(&ctrl, &bits);
    if (bits & enable)
      return;
    cpu_wfi();
  }
}

/* Waits until the device is idle or has an error; what it says then. */
static tpu_error_info settle(void) {
  tpu_error_info info;
  uint32_t status;
  do
    (void)!tpu_ctrl_status(&ctrl, &status);
  while (!(status & (TPU_REG_STATUS_IDLE_MASK | TPU_REG_STATUS_ERROR_MASK)));
  (void)!tpu_ctrl_error(&ctrl, &info);
  return info;
}

/* Ends the program as an error of the device should end it; a missing error is a failed test. */
static int report(tpu_error_info info, const char *moved) {
#define NAME(name, value, text) [value] = #name,
  static const char *const errors[] = {TPU_ERROR_LIST(NAME)};
  static const char *const queues[] = {TPU_QUEUE_LIST(NAME)};
#undef NAME
  if (!info.valid) {
    printf("no error was reported\n");
    return BOOT_EXIT_FAILURE;
  }
  printf("device error %s, queue %s, tag 0x%08x, details 0x%x 0x%x%s\n", errors[info.code],
         queues[info.queue], (unsigned)info.tag, (unsigned)info.detail[0], (unsigned)info.detail[1], moved);
  return BOOT_EXIT_ERROR;
}

/* ---- 1, 2, 4: waits that nobody ends ---- */

static int no_signaller(void) {
  (void)!tpu_queue_dma(&queue[1], &small_copy);
  go(1, 0xd1, SEM_A, 5, 0, 0);
  go(1, 0xd2, 0, 0, 0, 0); /* something behind it */
  sleep_forever(TPU_REG_INTR_STATE_DONE_MASK);
  return BOOT_EXIT_FAILURE;
}

static int wrong_semaphore(void) {
  (void)!tpu_queue_dma(&queue[0], &small_copy);
  go(0, 0xd0, 0, 0, SEM_B, 1);
  settle();
  go(TPU_QUEUE_SYNC, 0x5c, SEM_A, 1, 0, 0);
  sleep_forever(TPU_REG_INTR_STATE_ERROR_MASK);
  return BOOT_EXIT_FAILURE;
}

static int two_engines(void) {
  (void)!tpu_queue_dma(&queue[0], &small_copy);
  (void)!tpu_queue_dma(&queue[2], &small_copy);
  go(0, 0xa0, SEM_A, 1, SEM_B, 1);
  go(2, 0xb2, SEM_B, 1, SEM_A, 1);
  sleep_forever(TPU_REG_INTR_STATE_DONE_MASK);
  return BOOT_EXIT_FAILURE;
}

/* ---- 5, 6: DMA ---- */

static int dma_range(tpu_dma copy) {
  volatile uint32_t *vmem = (volatile uint32_t *)PEPLOS_VMEM_BASE;
  bool moved = false;
  for (unsigned i = 0; i < 64; i++)
    vmem[i] = i;
  (void)!tpu_queue_dma(&queue[2], &copy);
  go(2, 0x0badd0a5, 0, 0, 0, 0);
  tpu_error_info info = settle();
  for (unsigned i = 0; i < 64; i++)
    moved |= vmem[i] != i;
  return report(info, moved ? ", something was moved" : ", nothing was moved");
}

static int dma_outside(void) {
  tpu_dma copy = small_copy;
  copy.src = params.value[TPU_PARAM_HBM_BYTES] - 32;
  copy.dst = 0;
  return dma_range(copy);
}

static int dma_below(void) {
  tpu_dma copy = small_copy;
  copy.dst = 64;
  copy.count[0] = 3;
  copy.dst_stride[0] = -64;
  return dma_range(copy);
}

static int dma_zero(void) {
  uint32_t value = 0;
  tpu_dma copy = small_copy;
  copy.row_bytes = 0;
  (void)!tpu_queue_dma(&queue[1], &copy);
  go(1, 0x20, 0, 0, SEM_A, 7);
  tpu_error_info info = settle();
  (void)!tpu_sem_read(&sem, SEM_A, &value);
  printf("zero bytes: error %d, semaphore %u\n", info.valid, (unsigned)value);
  return !info.valid && value == 7 ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}

/* ---- 7: semaphores ---- */

static int overflow(void) {
  uint32_t value = 0;
  (void)!tpu_sem_set(&sem, SEM_A, TPU_SEM_MODE_COUNT, 0x7ffffff0);
  (void)!tpu_queue_dma(&queue[3], &small_copy);
  go(3, 0x0f, 0, 0, SEM_A, 16);
  tpu_error_info info = settle();
  (void)!tpu_sem_read(&sem, SEM_A, &value);
  return report(info, value == 0x7ffffff0 ? ", value kept" : ", value changed");
}

/* ---- 8: MXU ---- */

static const tpu_mxu small_dot = {.a = 0,
                                  .b = 0,
                                  .c = 0,
                                  .a_pitch = 64,
                                  .b_pitch = 64,
                                  .c_pitch = 16,
                                  .m = 16,
                                  .n = 16,
                                  .k = 16,
                                  .dtype = TPU_MXU_DTYPE_INT8};

static int mxu_zero(void) {
  volatile int32_t *vmem = (volatile int32_t *)PEPLOS_VMEM_BASE;
  uint32_t value = 0;
  tpu_mxu dot = small_dot;
  tpu_vpu store = {
      .entry = 0, .loop = {1, 0, 0}, .row_level = 3, .col_level = 3, .valid_rows = 8, .valid_cols = 64};
  /* ACC row 0 to VMEM, so that the scalar core sees that K = 0 wrote zeros. */
  static const uint64_t program[3] = {
      TPU_VOP_LD | TPU_VINSTR_ACC_MASK | TPU_VINSTR_ITYPE_MASK,
      TPU_VOP_ST | TPU_VINSTR_ITYPE_MASK | (uint64_t)1 << TPU_VINSTR_AREG_SHIFT,
      TPU_VOP_HALT,
  };
  dot.m = 0;
  (void)!tpu_queue_mxu(&queue[TPU_QUEUE_MXU], &dot);
  go(TPU_QUEUE_MXU, 0x80, 0, 0, SEM_A, 1);
  dot = small_dot;
  dot.n = 0;
  (void)!tpu_queue_mxu(&queue[TPU_QUEUE_MXU], &dot);
  go(TPU_QUEUE_MXU, 0x81, 0, 0, SEM_A, 1);
  dot = small_dot;
  dot.k = 0;
  (void)!tpu_queue_mxu(&queue[TPU_QUEUE_MXU], &dot);
  go(TPU_QUEUE_MXU, 0x82, 0, 0, SEM_B, 1);
  (void)!tpu_ctrl_load_program(&ctrl, 0, program, 3);
  store.pitch[0] = 1;
  store.addr[1] = 1024;
  store.pitch[1] = (int32_t)(4 * params.value[TPU_PARAM_LANES]);
  (void)!tpu_queue_vpu(&queue[TPU_QUEUE_VPU], &store);
  go(TPU_QUEUE_VPU, 0x83, SEM_B, 1, SEM_A, 1);
  tpu_error_info info = settle();
  (void)!tpu_sem_read(&sem, SEM_A, &value);
  uint32_t not_zero = 0;
  for (unsigned i = 0; i < 8 * params.value[TPU_PARAM_LANES]; i++)
    not_zero += vmem[256 + i] != 0;
  printf("M = 0, N = 0: semaphore %u; K = 0: %u lanes not zero; error %d\n", (unsigned)value,
         (unsigned)not_zero, info.valid);
  return !info.valid && value == 3 && not_zero == 0 ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}

static int mxu_past_acc(void) {
  tpu_mxu dot = small_dot;
  dot.c = params.value[TPU_PARAM_ACC_ROWS] - 8;
  dot.n = params.value[TPU_PARAM_DIM];
  (void)!tpu_queue_mxu(&queue[TPU_QUEUE_MXU], &dot);
  go(TPU_QUEUE_MXU, 0xacc, 0, 0, 0, 0);
  return report(settle(), "");
}

/* ---- 9, 11: full queues ---- */

static void fill_queue(uint32_t extra) {
  (void)!tpu_queue_dma(&queue[1], &small_copy);
  for (uint32_t i = 0; i < params.value[TPU_PARAM_QUEUE_DEPTH] + extra; i++)
    go(1, 0xf0 + i, SEM_A, 1, 0, 0);
}

static int full_queue(void) {
  fill_queue(1);
  return report(settle(), "");
}

static int spin_for_slot(void) {
  uint32_t slots;
  fill_queue(0);
  nothing_more();
  do
    (void)!tpu_queue_free(&queue[1], &slots);
  while (slots == 0);
  return BOOT_EXIT_FAILURE;
}

/* ---- 10: a masked interrupt ---- */

static int masked(void) {
  (void)!tpu_queue_dma(&queue[1], &small_copy);
  go(1, 0x3a, 0, 0, 0, 0);
  settle();
  sleep_forever(TPU_REG_INTR_STATE_ERROR_MASK); /* what is pending is done */
  return BOOT_EXIT_FAILURE;
}

/* ---- 16: traps ---- */

static int trap_illegal(void) {
  __asm__ volatile(".word 0xffffffff");
  return BOOT_EXIT_FAILURE;
}

static int trap_misaligned(void) {
  volatile uint32_t *p = (volatile uint32_t *)(PEPLOS_TPU_BASE + 2);
  (void)*p; /* a trap on a core that does not split it; QEMU does, and the device refuses the parts */
  return report(settle(), "");
}

static int trap_unmapped(void) {
  volatile uint32_t *p = (volatile uint32_t *)0x70000000;
  return (int)*p;
}

static int trap_stack(void) {
  volatile char deep[16384];
  memset((char *)deep, 0, sizeof deep);
  return deep[sizeof deep - 1];
}

/* Deeper than any stack: each level needs the one below for its own result. */
static __attribute__((noinline)) uint32_t recurse(uint32_t level, const volatile uint32_t *above) {
  volatile uint32_t here[4] = {level, above[0], above[1], above[2]};
  if (level == 0)
    return here[0];
  return recurse(level - 1, here) + here[level % 4];
}

static int trap_recursion(void) {
  const volatile uint32_t top[4] = {0};
  printf("%u\n", (unsigned)recurse(1000000, top));
  return BOOT_EXIT_FAILURE;
}

/* Not 44, the low eight bits. */
static int exit_300(void) {
  return 300;
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    int (*run)(void);
  } zoo[] = {
      {"no_signaller", no_signaller},
      {"wrong_semaphore", wrong_semaphore},
      {"two_engines", two_engines},
      {"dma_outside", dma_outside},
      {"dma_below", dma_below},
      {"dma_zero", dma_zero},
      {"overflow", overflow},
      {"mxu_zero", mxu_zero},
      {"mxu_past_acc", mxu_past_acc},
      {"full_queue", full_queue},
      {"spin_for_slot", spin_for_slot},
      {"masked", masked},
      {"trap_illegal", trap_illegal},
      {"trap_misaligned", trap_misaligned},
      {"trap_unmapped", trap_unmapped},
      {"trap_stack", trap_stack},
      {"trap_recursion", trap_recursion},
      {"exit_300", exit_300},
  };
  open_device();
  for (unsigned i = 0; i < sizeof zoo / sizeof zoo[0]; i++)
    if (argc == 2 && strcmp(argv[1], zoo[i].name) == 0)
      return zoo[i].run();
  printf("usage: zoo NAME\n");
  return BOOT_EXIT_USAGE;
}
