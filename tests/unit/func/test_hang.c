/* SPDX-License-Identifier: MIT */
/* The hang zoo, as far as the device alone can make it: does the report name the cause? */
#include "func_test.h"

#include <stdarg.h>
#include <string.h>

static struct host h;

/* Checks that one line of the report (or of the log) contains all of these strings. The last must be NULL. */
static void names(const char *text, const char *what, ...) {
  bool found = false;
  for (const char *line = text; *line && !found;) {
    size_t length = strcspn(line, "\n");
    char copy[1024];
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    va_list args;
    va_start(args, what);
    found = true;
    for (const char *s; (s = va_arg(args, const char *)) != NULL;)
      found &= strstr(copy, s) != NULL;
    va_end(args);
    line += length + (line[length] == '\n');
  }
  if (!check(found, "hang report: %s", what))
    printf("%s\n", text);
}

static void begin(void) {
  open_model(&h, 0);
}

static void end(const char *what) {
  check(strlen(host_describe(&h)) == h.api->describe(h.model, NULL, 0),
        "%s: describe() tells the length it needs", what);
  close_model(&h, what);
}

static struct host_dma copy(uint32_t src_space, uint32_t src, uint32_t dst_space, uint32_t dst,
                            uint32_t bytes) {
  return (struct host_dma){.src_space = src_space,
                           .src = src,
                           .dst_space = dst_space,
                           .dst = dst,
                           .row_bytes = bytes,
                           .count = {1, 1, 1}};
}

/* 1: nobody signals. */
static void row_1(void) {
  struct host_head head = {.waits = 1, .wait = {{9, 3, true}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0, TPU_SPACE_VMEM, 0, 64);
  begin();
  host_write(&h, TPU_REG_SEM_VALUE(9), 2);
  host_dma(&h, 2, 0xbeef, &head, &d);
  check(host_run(&h, 10000) == TPU_STOP_BLOCKED, "a wait without a signal blocks");
  names(host_describe(&h), "1: engine, tag, semaphore, value, amount, no signaller", "DMA2", "0x0000beef",
        "semaphore 9", "value 2", "reach 3", "no signaller outstanding", NULL);
  end("row 1");
}

/* 2: the producer signals another semaphore. */
static void row_2(void) {
  struct host_head wait = {.waits = 1, .wait = {{9, 1, true}}},
                   wrong = {.signals = 1, .signal = {{8, 1, false}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0, TPU_SPACE_VMEM, 0, 64);
  begin();
  host_dma(&h, 0, 0x111, &wrong, &d);
  host_dma(&h, 1, 0x222, &wait, &d);
  check(host_run(&h, 10000) == TPU_STOP_BLOCKED, "a signal of the wrong semaphore blocks");
  names(host_describe(&h), "2: the waiter", "DMA1", "0x00000222", "semaphore 9", "no signaller outstanding",
        "never signalled", NULL);
  names(host_describe(&h), "2: the other semaphore and who signalled it", "semaphore 8", "never waited on",
        "DMA0", "0x00000111", NULL);
  end("row 2");
}

/* 4: two engines wait for each other. */
static void row_4(void) {
  struct host_head a = {.waits = 1, .wait = {{1, 1, true}}, .signals = 1, .signal = {{2, 1, false}}};
  struct host_head b = {.waits = 1, .wait = {{2, 1, true}}, .signals = 1, .signal = {{1, 1, false}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0, TPU_SPACE_VMEM, 0, 64);
  begin();
  host_dma(&h, 3, 0xaaaa, &a, &d);
  host_sync(&h, 0xbbbb, &b);
  check(host_run(&h, 10000) == TPU_STOP_BLOCKED, "two engines that wait for each other block");
  names(host_describe(&h), "4: the cycle, with both tags", "deadlock", "DMA3 tag 0x0000aaaa waits",
        "SYNC tag 0x0000bbbb waits", NULL);
  end("row 4");
}

/* 5: outside every memory, or across an end. */
static void row_5(void) {
  struct host_dma d = copy(TPU_SPACE_VMEM, 0, TPU_SPACE_SMEM, 0, 64);
  begin();
  d.dst = host_parameter(&h, TPU_PARAM_SMEM_BYTES) - 32;
  host_dma(&h, 1, 0x5151, NULL, &d);
  host_run(&h, 10000);
  names(host_describe(&h), "5: channel, tag, end of the range, bounds", "RANGE", "DMA1", "0x00005151",
        "destination", "0x4020", "SMEM", "0 .. 0x3fff", "nothing was moved", NULL);
  names(h.log, "5: the log says the same", "RANGE", "DMA1", "0x00005151", NULL);
  check(h.log_lines[TPU_LOG_GUEST_ERROR] == 1, "5: one GUEST_ERROR is logged");
  end("row 5");
}

/* 6: zero bytes. */
static void row_6(void) {
  struct host_head head = {.signals = 1, .signal = {{3, 1, false}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0xffffffff, TPU_SPACE_VMEM, 0xffffffff, 0);
  begin();
  host_dma(&h, 0, 6, &head, &d);
  check(host_run(&h, 10000) == TPU_STOP_IDLE && sem_value(&h, 3) == 1,
        "6: a DMA of zero bytes completes and signals");
  expect_no_error(&h, "6");
  end("row 6");
}

/* 7: past the maximum. */
static void row_7(void) {
  struct host_head head = {.signals = 1, .signal = {{3, 0x7fffffff, false}}};
  begin();
  host_sync(&h, 0x71, &head);
  host_sync(&h, 0x72, &head);
  host_run(&h, 10000);
  check(sem_value(&h, 3) == 0x7fffffff, "7: the value is kept");
  names(host_describe(&h), "7: semaphore, signaller", "SEM_OVERFLOW", "SYNC", "0x00000072", "semaphore 3",
        "2147483647", NULL);
  names(host_describe(&h), "7: last signaller", "semaphore 3", "last signalled by", "0x00000072", NULL);
  end("row 7");
}

/* 8: past ACC. */
static void row_8(void) {
  char last_row[32];
  begin();
  uint32_t rows = host_parameter(&h, TPU_PARAM_ACC_ROWS);
  struct host_mxu x = {
      .b = 4096, .a_pitch = 16, .b_pitch = 16, .c = rows - 1, .c_pitch = 2, .m = 2, .n = 1, .k = 1};
  host_stage_mxu(&h, &x);
  host_go(&h, TPU_QUEUE_MXU, 0x88);
  host_run(&h, 10000);
  snprintf(last_row, sizeof last_row, "0x%x", rows - 1);
  names(host_describe(&h), "8: the field and its limit", "RANGE", "MXU", "0x00000088", "C in ACC", last_row,
        NULL);
  end("row 8");
}

/* 9: GO on a full queue. */
static void row_9(void) {
  struct host_head head = {.waits = 1, .wait = {{9, 1, true}}};
  begin();
  uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH);
  for (uint32_t i = 0; i <= depth; i++)
    host_sync(&h, 0x900 + i, &head);
  char tag[16];
  snprintf(tag, sizeof tag, "0x%08x", 0x900 + depth);
  host_run(&h, 10000);
  names(host_describe(&h), "9: queue, tag of the refused command", "QUEUE_FULL", "SYNC", tag, NULL);
  end("row 9");
}

/* 10 (the device's part): what is pending and masked. */
static void row_10(void) {
  struct host_head head = {.irq = true};
  begin();
  host_write(&h, TPU_REG_INTR_ENABLE, TPU_REG_INTR_STATE_ERROR_MASK);
  host_sync(&h, 10, &head);
  check(host_run(&h, 10000) == TPU_STOP_IDLE && !h.api->irq(h.model), "10: idle, and no interrupt");
  names(host_describe(&h), "10: the pending interrupt and that it is masked", "'done'", "pending", "masked",
        NULL);
  end("row 10");
}

/* 11: the scalar core spins for a slot. */
static void row_11(void) {
  struct host_head head = {.waits = 1, .wait = {{12, 1, true}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0, TPU_SPACE_VMEM, 0, 64);
  begin();
  uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH);
  for (uint32_t i = 0; i < depth; i++)
    host_dma(&h, 0, 0xb00 + i, &head, &d);
  host_run(&h, 10000);
  for (int i = 0; i < 100; i++)
    free_slots(&h, 0);
  names(host_describe(&h), "11: scalar core -> queue -> waiter -> semaphore", "scalar core",
        "free slots of DMA0 (0)", "0x00000b00", "semaphore 12", "no signaller outstanding", NULL);
  names(host_describe(&h), "11: how often it read", "scalar core has read", "100 times", NULL);
  end("row 11");
}

/* 14: end of a kernel with something left. */
static void row_14(void) {
  struct host_head head = {.signals = 1, .signal = {{13, 1, false}}};
  struct host_dma d = copy(TPU_SPACE_HBM, 0, TPU_SPACE_VMEM, 0, 65536);
  uint64_t ran;
  tpu_stop reason;
  begin();
  host_dma(&h, 2, 0x1414, &head, &d);
  h.api->advance(h.model, 10, &ran, &reason);
  if (options.timing == TPU_TIMING_CYCLE)
    names(host_describe(&h), "14: channel and tag in flight", "DMA2", "in flight", "0x00001414", NULL);
  host_run(&h, LIMIT);
  names(host_describe(&h), "14: the semaphore that is not zero and its signaller", "semaphore 13", "value 1",
        "DMA2", "0x00001414", NULL);
  names(host_describe(&h), "the last commands by tag", "DMA2: idle", "finished", "0x00001414", NULL);
  end("row 14");
}

void test_hang(void) {
  row_1();
  row_2();
  row_4();
  row_5();
  row_6();
  row_7();
  row_8();
  row_9();
  row_10();
  row_11();
  row_14();
  add_results(&check_state);
}
