/* SPDX-License-Identifier: MIT */
/* What the race detector's reports say, how many are written out, and what the tests of it share. */
#include "race_test.h"

#include <string.h>

bool race_detects;

void open_detecting(struct host *h) {
  char error[256];
  tpu_model_config c = host_config();
  c.config = options.config;
  c.timing = options.timing;
  c.seed = options.seed;
  c.detect_races = race_detects;
  if (!host_open(h, options.model, &c, error, sizeof error)) {
    printf("FAIL no model: %s\n", error);
    exit(EXIT_FAILURE);
  }
  host_write(h, TPU_REG_SEM_MODE(0), 0x7f); /* tickets of the queues */
}

unsigned reports(const struct host *h) {
  return h->log_lines[TPU_LOG_UNPREDICTABLE] + h->log_lines[TPU_LOG_GUEST_ERROR];
}

void check_log(const struct host *h, bool ok, const char *name, const char *what) {
  if (!check(ok, "race: %s, %s", name, what))
    printf("%s", h->log);
}

struct host_head head(uint32_t own, uint32_t queue, uint32_t ticket, uint32_t queue2, uint32_t ticket2) {
  struct host_head h = {.signals = 1, .signal = {{own, 1, false}}};
  if (ticket != 0)
    h.wait[h.waits++] = (struct host_wait){queue, ticket, false};
  if (ticket2 != 0)
    h.wait[h.waits++] = (struct host_wait){queue2, ticket2, false};
  return h;
}

void copy_rows(struct host *h, uint32_t queue, uint32_t tag, const struct host_head *head, uint32_t src_space,
               uint32_t src, uint32_t dst_space, uint32_t dst, uint32_t row, uint32_t rows, int32_t pitch) {
  struct host_dma d = {.src_space = src_space,
                       .src = src,
                       .dst_space = dst_space,
                       .dst = dst,
                       .row_bytes = row,
                       .count = {rows, 1, 1},
                       .src_stride = {pitch, 0, 0},
                       .dst_stride = {pitch, 0, 0}};
  host_dma(h, queue, tag, head, &d);
}

void copy(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t src_space,
          uint32_t src, uint32_t dst_space, uint32_t dst) {
  copy_rows(h, queue, tag, &head, src_space, src, dst_space, dst, BLOCK, 1, 0);
}

void fetch(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t hbm, uint32_t vmem) {
  copy(h, queue, tag, head, TPU_SPACE_HBM, hbm, TPU_SPACE_VMEM, vmem);
}

void write_back(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t vmem,
                uint32_t hbm) {
  copy(h, queue, tag, head, TPU_SPACE_VMEM, vmem, TPU_SPACE_HBM, hbm);
}

void dot(struct host *h, uint32_t tag, struct host_head head, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t dim = config_of(h)->dim;
  struct host_mxu x = {
      .a = a, .b = b, .c = c, .a_pitch = dim, .b_pitch = dim, .c_pitch = dim, .m = dim, .n = dim, .k = dim};
  host_stage_head(h, TPU_QUEUE_MXU, &head);
  host_stage_mxu(h, &x);
  host_go(h, TPU_QUEUE_MXU, tag);
}

/* ---- reports -------------------------------------------------------------------------------------------
 */

static void test_consumers(void) {
  struct host h;
  struct host_head take = {.waits = 1, .wait = {{TOKEN, 1, true}}};
  for (int second = 0; second < 3; second++) { /* the same queue again, another one, the scalar core */
    open_detecting(&h);
    host_write(&h, TPU_REG_SEM_SIGNAL(TOKEN), 2);
    host_sync(&h, 0x33, &take);
    host_run(&h, LIMIT);
    if (second == 2)
      host_write(&h, TPU_REG_SEM_TAKE(TOKEN), 1);
    else if (second == 1)
      copy_rows(&h, 1, 0x44, &take, TPU_SPACE_VMEM, SLOT0, TPU_SPACE_VMEM, SLOT1, 4, 1, 0);
    else
      host_sync(&h, 0x44, &take);
    host_run(&h, LIMIT);
    if (second == 0)
      check_log(&h, reports(&h) == 0, "COUNT semaphore", "one queue takes twice");
    else
      check_log(
          &h, reports(&h) == 1 && strstr(h.log, "COUNT semaphore 12") && strstr(h.log, "SYNC tag 0x00000033"),
          "COUNT semaphore", "two agents take");
    close_model(&h, "consumers");
  }
  open_detecting(&h); /* another kernel may use another one */
  host_write(&h, TPU_REG_SEM_SIGNAL(TOKEN), 2);
  host_sync(&h, 0x33, &take);
  host_run(&h, LIMIT);
  host_write(&h, TPU_REG_TRACE_MARK, TPU_MARK_CALL_BEGIN << TPU_REG_TRACE_MARK_KIND_SHIFT);
  host_write(&h, TPU_REG_SEM_TAKE(TOKEN), 1);
  check_log(&h, reports(&h) == 0, "COUNT semaphore", "another kernel has another consumer");
  close_model(&h, "consumers");
}

static void mark(struct host *h, uint32_t kind, uint32_t value) {
  host_write(h, TPU_REG_TRACE_MARK, kind << TPU_REG_TRACE_MARK_KIND_SHIFT | value);
}

/* Copies that race: each with the one before it. */
static void many_races(struct host *h, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    for (uint32_t k = 0; k < LIMIT && free_slots(h, i % 2) == 0; k++)
      ;
    fetch(h, i % 2, 0x100 + i, head(i % 2, 0, 0, 0, 0), HBM0 + 64 * i, SLOT0 + 64 * i);
  }
  host_run(h, LIMIT);
}

/* What is written out is bounded in each kernel; the first reports have everything, the others are counted.
 */
static void test_report(void) {
  struct host h;
  open_detecting(&h);
  mark(&h, TPU_MARK_CALL_BEGIN, 1);
  mark(&h, TPU_MARK_STEP, 77);
  many_races(&h, 60);
  check(reports(&h) == 17, "%u lines for many races", reports(&h));
  check_log(&h,
            strstr(h.log, "grid step 77)") && strstr(h.log, "writes 4096 bytes from VMEM 0x40 on") &&
                strstr(h.log, "both touch VMEM 0x") && strstr(h.log, "are only counted"),
            "report", "it names step, bytes and place");
  for (int end = 0; end < 2; end++) { /* a reset, the kernel's end */
    const char *rest;
    unsigned long count = 0;
    host_clear_log(&h);
    if (end == 0)
      host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
    else
      mark(&h, TPU_MARK_CALL_END, 1);
    host_run(&h, LIMIT);
    rest = strstr(h.log, ": ");
    if (rest != NULL)
      count = strtoul(rest + 2, NULL, 10);
    check_log(&h, reports(&h) == 1 && strstr(h.log, "further races were not reported") && count >= 40,
              "report", "the others are counted");
    host_clear_log(&h);
    mark(&h, TPU_MARK_CALL_BEGIN, 2);
    check_log(&h, reports(&h) == 0, "report", "the count is told once");
    host_write(&h, TPU_REG_SEM_MODE(0), 0x7f);
    many_races(&h, 60);
    check_log(&h, reports(&h) == 17 && strstr(h.log, "race 1: "), "report",
              "another kernel is reported anew");
  }
  close_model(&h, "report");
}

/* Two unordered copies in a step: what the reports call it. */
static bool step_is(struct host *h, const char *name) {
  host_clear_log(h);
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  fetch(h, 1, 0x22, head(1, 0, 0, 0, 0), HBM1, SLOT0);
  host_run(h, LIMIT);
  for (uint32_t i = 0; i < 8; i++)
    (void)host_read(h, TPU_REG_STATUS); /* what is done is behind */
  return reports(h) == 1 && strstr(h->log, name) != NULL;
}

/* After a pipeline in a body the step is that of the body again. */
static void test_steps(void) {
  struct host h;
  open_detecting(&h);
  mark(&h, TPU_MARK_CALL_BEGIN, 1);
  check_log(&h, step_is(&h, "started in cycle") && !strstr(h.log, "step"), "steps", "none before the first");
  mark(&h, TPU_MARK_STEP, 7);
  check_log(&h, step_is(&h, "grid step 7)"), "steps", "the kernel's");
  for (uint32_t i = 0; i < 2; i++) {
    mark(&h, TPU_MARK_STEP, 20 + i);
    check_log(&h, step_is(&h, i ? "grid step 7, step 21 of the" : "grid step 7, step 20 of the"), "steps",
              "a pipeline's");
    mark(&h, TPU_MARK_STEP, 3);
    check_log(&h, step_is(&h, "grid step 7, step 3 of the"), "steps", "of a pipeline inside it");
    mark(&h, TPU_MARK_STEP_END, 3);
    check_log(&h, step_is(&h, i ? "grid step 7, step 21 of the" : "grid step 7, step 20 of the"), "steps",
              "behind that one");
    mark(&h, TPU_MARK_STEP_END, 20 + i);
    check_log(&h, step_is(&h, "grid step 7)"), "steps", "behind the pipeline");
  }
  mark(&h, TPU_MARK_STEP_END, 7);
  check_log(&h, step_is(&h, "grid step 7)"), "steps", "behind the body");
  mark(&h, TPU_MARK_STEP, 8);
  check_log(&h, step_is(&h, "grid step 8)"), "steps", "the next");
  close_model(&h, "steps");
}

/* A command of before the save races with one after the restore. */
static void test_save(void) {
  struct host a, b;
  size_t size = 0;
  open_detecting(&a);
  open_detecting(&b);
  fetch(&a, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  host_run(&a, 20);
  a.api->save(a.model, NULL, &size);
  void *state = malloc(size);
  check(state && a.api->save(a.model, state, &size) == TPU_OK &&
            b.api->restore(b.model, state, size) == TPU_OK,
        "the detector's state is saved");
  dot(&b, 0x22, head(4, 0, 0, 0, 0), SLOT0, SLOT1, 0);
  host_run(&b, LIMIT);
  check_log(&b, reports(&b) == 1 && strstr(b.log, "tag 0x00000011"), "save", "a race across a restore");
  free(state);
  close_model(&a, "save");
  close_model(&b, "save");
}

void test_race_reports(void) {
  test_consumers();
  test_report();
  test_steps();
  test_save();
}
