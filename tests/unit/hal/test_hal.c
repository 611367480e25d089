/* SPDX-License-Identifier: MIT */
/* Every driver against mocked registers: which accesses, in which order, with which values. */
#include "../check.h"
#include "mock.h"

#include "finisher.h"
#include "mtime.h"
#include "tpu_counters.h"
#include "tpu_ctrl.h"
#include "tpu_queue.h"
#include "tpu_sem.h"
#include "boot.h"
#include "uart.h"

#include <string.h>

#define BASE 0x1000u

static void expect(const char *name, bool ok) {
  bool done = mock_done();
  check(ok && done, "%s%s%s", name, done ? "" : ": ", done ? "" : mock_text());
}

static void test_mock(void) {
  /* The mock itself must notice each kind of difference. */
  bool unexpected, missing, wrong, direction;
  mmio_write32(4, 1);
  unexpected = !mock_done();
  mock_text();
  mock_write(4, 1);
  missing = !mock_done();
  mock_text();
  mock_write(4, 1);
  mmio_write32(4, 2);
  wrong = !mock_done();
  mock_text();
  mock_read(4, 1);
  mmio_write32(4, 1);
  direction = !mock_done();
  mock_text();
  check(unexpected && missing && wrong && direction, "mock: notices extra, missing and wrong accesses");
}

static void test_uart(void) {
  hal_uart uart;
  uint8_t byte = 0;

  check(hal_uart_init(NULL, BASE, 0) == HAL_BAD_ARGUMENT &&
            hal_uart_init(&uart, BASE, 0x10000) == HAL_BAD_ARGUMENT,
        "uart: init refuses bad arguments");
  mock_write(BASE + 0x10, 0);
  mock_write(BASE + 0x18, 216);
  mock_write(BASE + 0x08, 0x10001);
  mock_write(BASE + 0x0c, 1);
  expect("uart: init", hal_uart_init(&uart, BASE, 216) == HAL_OK);
  mock_read(BASE, 0);
  mock_write(BASE, 'a');
  mock_reads(BASE, 0x80000000, 3);
  mock_read(BASE, 0);
  mock_write(BASE, 'b');
  expect("uart: write waits while the FIFO is full", hal_uart_write(&uart, "ab", 2, 3) == HAL_OK);
  mock_reads(BASE, 0x80000000, 4);
  expect("uart: write gives up", hal_uart_write(&uart, "a", 1, 3) == HAL_TIMEOUT);
  mock_read(BASE + 4, 0x80000000);
  mock_read(BASE + 4, 'x');
  expect("uart: read", hal_uart_try_get(&uart, &byte) == HAL_BUSY &&
                           hal_uart_try_get(&uart, &byte) == HAL_OK && byte == 'x');
  mock_reads(BASE + 0x14, 0, 2);
  mock_read(BASE + 0x14, 1);
  expect("uart: drain waits for the watermark", hal_uart_drain(&uart, 5) == HAL_OK);
  mock_reads(BASE + 0x14, 2, 3);
  expect("uart: drain gives up", hal_uart_drain(&uart, 2) == HAL_TIMEOUT);
}

static void test_finisher(void) {
  hal_finisher finisher;

  check(hal_finisher_init(&finisher, 0) == HAL_BAD_ARGUMENT, "finisher: init refuses no address");
  (void)!hal_finisher_init(&finisher, BASE);
  mock_write(BASE, 0x5555);
  expect("finisher: success", hal_finisher_exit(&finisher, 0) == HAL_OK);
  mock_write(BASE, 0x00073333);
  expect("finisher: failure with its status", hal_finisher_exit(&finisher, 7) == HAL_OK);
  for (int i = 0; i < 4; i++)
    mock_write(BASE, 0x00ff3333);
  expect("finisher: a failure never reads as success, or as another one",
         hal_finisher_exit(&finisher, 255) == HAL_OK && hal_finisher_exit(&finisher, 256) == HAL_OK &&
             hal_finisher_exit(&finisher, 300) == HAL_OK && hal_finisher_exit(&finisher, -1) == HAL_OK);
  mock_write(BASE, 0x7777);
  expect("finisher: reset", hal_finisher_reset(&finisher) == HAL_OK);
}

static void test_mtime(void) {
  hal_mtime timer;
  uint64_t ticks = 0;

  check(hal_mtime_init(&timer, BASE, 4095) == HAL_BAD_ARGUMENT,
        "mtime: init refuses a hart that is not there");
  mock_write(BASE + 0x400c, 0xffffffff);
  mock_write(BASE + 0x4008, 0xffffffff);
  mock_write(BASE + 0x400c, 0xffffffff);
  expect("mtime: init disarms", hal_mtime_init(&timer, BASE, 1) == HAL_OK);
  mock_read(BASE + 0xbffc, 1);
  mock_read(BASE + 0xbff8, 0);
  mock_read(BASE + 0xbffc, 2);
  mock_read(BASE + 0xbff8, 5);
  mock_read(BASE + 0xbffc, 2);
  expect("mtime: read is consistent over a carry",
         hal_mtime_read(&timer, &ticks) == HAL_OK && ticks == UINT64_C(0x200000005));
  mock_write(BASE + 0x400c, 0xffffffff);
  mock_write(BASE + 0x4008, 0x9abcdef0);
  mock_write(BASE + 0x400c, 0x12345678);
  expect("mtime: arm", hal_mtime_arm(&timer, UINT64_C(0x123456789abcdef0)) == HAL_OK);
}

static void test_ctrl(void) {
  tpu_ctrl ctrl;
  tpu_identity id;
  tpu_params params;
  tpu_error_info error;
  uint64_t cycle = 0;

  check(tpu_ctrl_init(&ctrl, 0) == HAL_BAD_ARGUMENT, "ctrl: init refuses no address");
  (void)!tpu_ctrl_init(&ctrl, BASE);
  for (int good = 0; good < 2; good++) {
    mock_read(BASE, 0x4c504550);
    mock_read(BASE + 4, 0x10002);
    mock_read(BASE + 8, good ? TPU_ABI_HASH : TPU_ABI_HASH ^ 1);
    mock_read(BASE + 12, 7);
    expect(good ? "ctrl: identify" : "ctrl: identify sees another hash",
           tpu_ctrl_identify(&ctrl, &id) == (good ? HAL_OK : HAL_MISMATCH) && id.version == 0x10002 &&
               id.features == 7);
  }
  mock_read(BASE + 0x400, TPU_PARAM_DIM);
  mock_read(BASE + 0x404, 8);
  mock_read(BASE + 0x408, 999); /* unknown: skipped */
  mock_read(BASE + 0x410, TPU_PARAM_WAITS);
  mock_read(BASE + 0x414, 3);
  mock_read(BASE + 0x418, TPU_PARAM_END);
  expect("ctrl: parameters", tpu_ctrl_params(&ctrl, &params) == HAL_OK && params.value[TPU_PARAM_DIM] == 8 &&
                                 params.value[TPU_PARAM_WAITS] == 3 && params.value[TPU_PARAM_LANES] == 0);
  for (unsigned i = 0; i < TPU_REG_PARAM_COUNT; i++)
    mock_read(BASE + 0x400 + 8 * i, 999);
  expect("ctrl: a parameter ROM without an end", tpu_ctrl_params(&ctrl, &params) == HAL_MISMATCH);
  mock_read(BASE + 0x30, 0x80000206);
  mock_read(BASE + 0x34, 0x1234);
  mock_read(BASE + 0x38, 1);
  mock_read(BASE + 0x3c, 2);
  expect("ctrl: error", tpu_ctrl_error(&ctrl, &error) == HAL_OK && error.valid &&
                            error.code == TPU_ERROR_RANGE && error.queue == 2 && error.tag == 0x1234 &&
                            error.detail[0] == 1 && error.detail[1] == 2);
  mock_write(BASE + 0x10, 1);
  mock_reads(BASE + 0x14, 4, 2);
  mock_read(BASE + 0x14, 1);
  expect("ctrl: abort waits for its end", tpu_ctrl_abort(&ctrl, 10) == HAL_OK);
  mock_write(BASE + 0x10, 2);
  mock_reads(BASE + 0x14, 4, 3);
  expect("ctrl: reset gives up", tpu_ctrl_soft_reset(&ctrl, 2) == HAL_TIMEOUT);
  mock_write(BASE + 0x18, 0xd);
  mock_write(BASE + 0x1c, 0xf);
  mock_write(BASE + 0x20, 0x8);
  expect("ctrl: interrupts", tpu_ctrl_intr_clear(&ctrl, 0xd) == HAL_OK &&
                                 tpu_ctrl_intr_enable(&ctrl, 0xf) == HAL_OK &&
                                 tpu_ctrl_intr_test(&ctrl, 0x8) == HAL_OK);
  expect("ctrl: interrupts refuse other bits", tpu_ctrl_intr_clear(&ctrl, 2) == HAL_BAD_ARGUMENT &&
                                                   tpu_ctrl_intr_enable(&ctrl, 0x10) == HAL_BAD_ARGUMENT);
  mock_read(BASE + 0x24, 0x12345678);
  mock_write(BASE + 0x24, 0x12395678);
  expect("ctrl: space threshold", tpu_ctrl_intr_space(&ctrl, TPU_QUEUE_MXU, 9) == HAL_OK &&
                                      tpu_ctrl_intr_space(&ctrl, 7, 1) == HAL_BAD_ARGUMENT);
  mock_read(BASE + 0x28, 5);
  mock_read(BASE + 0x2c, 6);
  expect("ctrl: cycle reads the low half first",
         tpu_ctrl_cycle(&ctrl, &cycle) == HAL_OK && cycle == UINT64_C(0x600000005));
  const uint64_t program[2] = {UINT64_C(0x1111111122222222), UINT64_C(0x3333333344444444)};
  mock_write(BASE + 0x4000 + 80, 0x22222222);
  mock_write(BASE + 0x4000 + 84, 0x11111111);
  mock_write(BASE + 0x4000 + 88, 0x44444444);
  mock_write(BASE + 0x4000 + 92, 0x33333333);
  expect("ctrl: program, low word first",
         tpu_ctrl_load_program(&ctrl, 10, program, 2) == HAL_OK &&
             tpu_ctrl_load_program(&ctrl, 1023, program, 2) == HAL_BAD_ARGUMENT);
  mock_write(BASE + 0x40, 0x01345678);
  tpu_ctrl_mark(&ctrl, TPU_MARK_STEP, 0x12345678);
  expect("ctrl: mark", true);
}

static const uintptr_t dma_base = BASE + 0x2000 + 0x200, mxu_base = BASE + 0x2000 + 0x800,
                       vpu_base = BASE + 0x2000 + 0xa00;

static void test_queue_head(void) {
  const uintptr_t d = dma_base;
  tpu_queue_handle dma, mxu, vpu;

  check(tpu_queue_init(&dma, BASE, 1) == HAL_OK && tpu_queue_init(&mxu, BASE, TPU_QUEUE_MXU) == HAL_OK &&
            tpu_queue_init(&vpu, BASE, TPU_QUEUE_VPU) == HAL_OK &&
            tpu_queue_init(&vpu, BASE, 7) == HAL_BAD_ARGUMENT,
        "queue: init");
  const tpu_command command = {
      .wait = {{.semaphore = 3, .amount = 10}, {.semaphore = 63, .consume = true, .amount = 20}},
      .signal = {{.semaphore = 4, .amount = 1}, {.semaphore = 5, .bytes = true}},
      .waits = 2,
      .signals = 2,
      .priority = 2,
      .interrupt = true,
  };
  mock_write(d + 4, 0xff83);
  mock_write(d + 8, 0x5c584);
  mock_write(d + 0x10, 10);
  mock_write(d + 0x14, 20);
  mock_write(d + 0x20, 1);
  mock_write(d + 0x24, 0);
  expect("queue: waits and signals", tpu_queue_command(&dma, &command) == HAL_OK);
  tpu_command bad = command;
  bad.wait[0].semaphore = 64;
  expect("queue: refuses a semaphore that cannot be", tpu_queue_command(&dma, &bad) == HAL_BAD_ARGUMENT);

  uint32_t slots = 0;
  mock_write(d + 0x48, 7);
  mock_write(d, 0xabcd);
  mock_read(d, 5);
  tpu_queue_put(dma.base, TPU_DMA_MODE, 7);
  tpu_queue_go(dma.base, 0xabcd);
  expect("queue: one word, GO, free slots", tpu_queue_free(&dma, &slots) == HAL_OK && slots == 5);
}

static void test_queue_dma(void) {
  const uintptr_t d = dma_base;
  tpu_queue_handle dma, mxu;
  (void)!tpu_queue_init(&dma, BASE, 1);
  (void)!tpu_queue_init(&mxu, BASE, TPU_QUEUE_MXU);
  const tpu_dma copy = {.src = 1,
                        .dst = 2,
                        .src_space = 0,
                        .dst_space = 1,
                        .fill = true,
                        .row_bytes = 3,
                        .count = {4, 5, 6},
                        .src_stride = {7, -8, 9},
                        .dst_stride = {10, 11, 12},
                        .valid_row = 13,
                        .valid = {14, 15, 16},
                        .pattern = 17};
  const uint32_t copy_words[16] = {1, 2, 0x14, 3, 0x50004, 6, 7, 0, 0, 0, 0, 0, 13, 0xf000e, 16, 17};
  static const unsigned strides[6] = {0x58, 0x64, 0x5c, 0x68, 0x60, 0x6c};
  const uint32_t stride_words[6] = {7, 10, (uint32_t)-8, 11, 9, 12};
  for (unsigned i = 0; i < 6; i++)
    mock_write(d + 0x40 + 4 * i, copy_words[i]);
  for (unsigned i = 0; i < 6; i++)
    mock_write(d + strides[i], stride_words[i]);
  for (unsigned i = 12; i < 16; i++)
    mock_write(d + 0x40 + 4 * i, copy_words[i]);
  expect("queue: DMA words",
         tpu_queue_dma(&dma, &copy) == HAL_OK && tpu_queue_dma(&mxu, &copy) == HAL_BAD_ARGUMENT);
}

static void test_queue_mxu(void) {
  const uintptr_t m = mxu_base;
  tpu_queue_handle dma, mxu;
  (void)!tpu_queue_init(&dma, BASE, 1);
  (void)!tpu_queue_init(&mxu, BASE, TPU_QUEUE_MXU);
  const tpu_mxu dot = {.a = 1,
                       .b = 2,
                       .c = 3,
                       .a_pitch = 4,
                       .b_pitch = 5,
                       .c_pitch = 6,
                       .m = 7,
                       .n = 8,
                       .k = 9,
                       .dtype = 1,
                       .accumulate = true};
  for (unsigned i = 0; i < 9; i++)
    mock_write(m + 0x40 + 4 * i, i + 1);
  mock_write(m + 0x64, 5);
  expect("queue: MXU words",
         tpu_queue_mxu(&mxu, &dot) == HAL_OK && tpu_queue_mxu(&dma, &dot) == HAL_BAD_ARGUMENT);
}

static void test_queue_vpu(void) {
  const uintptr_t v = vpu_base;
  tpu_queue_handle mxu, vpu;
  (void)!tpu_queue_init(&mxu, BASE, TPU_QUEUE_MXU);
  tpu_vpu run = {.entry = 1,
                 .loop = {2, 3, 4},
                 .row_level = 1,
                 .col_level = 2,
                 .row_step = 3,
                 .col_step = 4,
                 .valid_rows = 5,
                 .valid_cols = 6,
                 .scalar_smem = 7};
  run.scalar[7] = 70, run.addr[7] = 71, run.pitch[7] = -72, run.stride[7][2] = -73;
  mock_write(v + 0x40, 1);
  for (unsigned i = 0; i < 3; i++)
    mock_write(v + 0x44 + 4 * i, 2 + i);
  mock_write(v + 0x50, 0x40309);
  mock_write(v + 0x54, 5);
  mock_write(v + 0x58, 6);
  mock_write(v + 0x5c, 7);
  for (unsigned i = 0; i < 8; i++) {
    mock_write(v + 0x60 + 4 * i, i == 7 ? 70 : 0);
    mock_write(v + 0x80 + 4 * i, i == 7 ? 71 : 0);
    mock_write(v + 0xa0 + 4 * i, i == 7 ? (uint32_t)-72 : 0);
    for (unsigned l = 0; l < 3; l++)
      mock_write(v + 0xc0 + 12 * i + 4 * l, i == 7 && l == 2 ? (uint32_t)-73 : 0);
  }
  (void)!tpu_queue_init(&vpu, BASE, TPU_QUEUE_VPU);
  expect("queue: VPU words",
         tpu_queue_vpu(&vpu, &run) == HAL_OK && tpu_queue_vpu(&mxu, &run) == HAL_BAD_ARGUMENT);
}

static void test_sem(void) {
  tpu_sem sem;
  uint32_t value = 0;

  check(tpu_sem_init(&sem, BASE, 65) == HAL_BAD_ARGUMENT && tpu_sem_init(&sem, BASE, 48) == HAL_OK,
        "sem: init");
  mock_read(BASE + 0x1000 + 8, 77);
  expect("sem: read", tpu_sem_read(&sem, 2, &value) == HAL_OK && value == 77);
  expect("sem: an index that is not there",
         tpu_sem_read(&sem, 48, &value) == HAL_ABSENT && tpu_sem_signal(&sem, 48, 1) == HAL_ABSENT &&
             tpu_sem_take(&sem, 48, 1) == HAL_ABSENT && tpu_sem_set(&sem, 48, 0, 1) == HAL_ABSENT);
  mock_read(BASE + 0x1304, 0xf0);
  mock_write(BASE + 0x1304, 0xf2);
  mock_write(BASE + 0x1000 + 4 * 33, 0xfffffff0);
  expect("sem: ticket mode and value", tpu_sem_set(&sem, 33, TPU_SEM_MODE_TICKET, 0xfffffff0) == HAL_OK);
  mock_read(BASE + 0x1300, 0xff);
  mock_write(BASE + 0x1300, 0xfe);
  mock_write(BASE + 0x1000, 0);
  expect("sem: count mode", tpu_sem_set(&sem, 0, TPU_SEM_MODE_COUNT, 0) == HAL_OK);
  mock_write(BASE + 0x1100 + 12, 4);
  mock_write(BASE + 0x1200 + 12, 5);
  expect("sem: signal and take", tpu_sem_signal(&sem, 3, 4) == HAL_OK && tpu_sem_take(&sem, 3, 5) == HAL_OK);
}

static void test_counters(void) {
  tpu_counters counters;
  tpu_counter_set set;

  check(tpu_counters_init(&counters, BASE) == HAL_OK, "counters: init");
  mock_write(BASE + 0x10, 8);
  mock_write(BASE + 0x10, 4);
  expect("counters: clear and latch",
         tpu_counters_clear(&counters) == HAL_OK && tpu_counters_latch(&counters) == HAL_OK);
  for (unsigned i = 0; i < 14; i++)
    mock_read(BASE + 0x800 + 64 * 4 + 4 * i, i + 1);
  expect("counters: read", tpu_counters_read(&counters, 4, &set) == HAL_OK &&
                               set.busy == UINT64_C(0x200000001) && set.work == UINT64_C(0xe0000000d) &&
                               set.commands == UINT64_C(0xa00000009) &&
                               tpu_counters_read(&counters, 7, &set) == HAL_BAD_ARGUMENT);
}

/* Splits a copy of a line; the arguments joined by '|', or NULL. */
static const char *split(const char *text, int max) {
  static char line[128], joined[128];
  char *argv[16];
  snprintf(line, sizeof line, "%s", text);
  int argc = boot_split_args(line, argv, max);
  if (argc < 0)
    return "error";
  joined[0] = '\0';
  for (int i = 0; i < argc; i++) {
    strcat(joined, argv[i]);
    strcat(joined, "|");
  }
  return argv[argc] == NULL ? joined : "no NULL at the end";
}

static void test_args(void) {
  static const struct {
    const char *line, *joined;
    int max;
  } cases[] = {
      {"", "", 16},
      {"   ", "", 16},
      {"a", "a|", 16},
      {"  matmul 512  --block\t128\n", "matmul|512|--block|128|", 16},
      {"a 'b c' \"d e\"f", "a|b c|d ef|", 16},
      {"a '' b", "a||b|", 16},
      {"a\\ b \"c\\\"d\"", "a b|c\"d|", 16},
      {"'a\\b'", "a\\b|", 16},
      {"a 'b", "error", 16},
      {"a b", "a|b|", 3},
      {"a b c", "error", 3},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char *got = split(cases[i].line, cases[i].max);
    check(strcmp(got, cases[i].joined) == 0, "arguments: %u (%s)", i, got);
  }
}

int main(void) {
  test_args();
  test_mock();
  test_uart();
  test_finisher();
  test_mtime();
  test_ctrl();
  test_queue_head();
  test_queue_dma();
  test_queue_mxu();
  test_queue_vpu();
  test_sem();
  test_counters();
  return check_result("hal");
}
