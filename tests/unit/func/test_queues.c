/* SPDX-License-Identifier: MIT */
/* Queues: depth, refusals at GO, order, status, interrupts, trace. */
#include "func_test.h"

#include <string.h>

#define GATE 40u /* semaphore that holds commands back; not in every configuration, so modulo its number */

static uint32_t gate(struct host *h) {
  return GATE % host_parameter(h, TPU_PARAM_SEMAPHORES);
}

/* A command of any queue that does nothing but wait and signal. */
static void stage_nothing(struct host *h, uint32_t queue) {
  if (queue < TPU_QUEUE_MXU)
    host_stage(h, queue, TPU_DMA_MODE, TPU_SPACE_VMEM | TPU_SPACE_VMEM << TPU_DMA_MODE_DST_SPACE_SHIFT);
}

static void release(struct host *h, uint32_t amount) {
  host_write(h, TPU_REG_SEM_SIGNAL(gate(h)), amount);
}

/* A program of one HALT is there after reset. */
static void test_depth(void) {
  for (uint32_t q = 0; q < 7; q++) {
    struct host h;
    open_model(&h, 0);
    uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH), wrong = 0;
    struct host_head head = {
        .waits = 1, .wait = {{gate(&h), 1, true}}, .signals = 1, .signal = {{3, 1, false}}};
    host_stage_head(&h, q, &head);
    stage_nothing(&h, q);
    for (uint32_t i = 0; i < depth; i++) {
      wrong += free_slots(&h, q) != depth - i;
      host_go(&h, q, 0x100 + i);
    }
    host_run(&h, LIMIT);
    check(wrong == 0 && free_slots(&h, q) == 0, "queue %u takes %u commands (%u slots free at the end)", q,
          depth, free_slots(&h, q));
    uint32_t status = host_read(&h, TPU_REG_STATUS);
    uint32_t want = TPU_REG_STATUS_BLOCKED_MASK | 1u << (TPU_REG_STATUS_BUSY_SHIFT + q) |
                    1u << (TPU_REG_STATUS_WAITING_SHIFT + q);
    check(status == want, "queue %u waits: STATUS 0x%x", q, status);
    expect_no_error(&h, "filling a queue");
    host_go(&h, q, 0xabcd);
    check(host_error(&h).code == TPU_ERROR_QUEUE_FULL, "GO on a full queue is refused");
    host_go(&h, TPU_QUEUE_SYNC, 0x1234);
    check((host_read(&h, TPU_REG_STATUS) & TPU_REG_STATUS_HALTED_MASK) == 0, "QUEUE_FULL halts nothing");
    release(&h, depth);
    tpu_stop stop = host_run(&h, LIMIT);
    uint32_t done = sem_value(&h, 3);
    check(stop == TPU_STOP_IDLE && done == depth, "the commands that were queued run on: %u of %u", done,
          depth);
    expect_error(&h, "GO on a full queue; the next GO is refused silently",
                 (struct host_error){TPU_ERROR_QUEUE_FULL, q, 0xabcd, 0, 0});
    close_model(&h, "depth");
  }
}

/* GO copies: later writes to the staging registers change nothing. */
static void test_copy(void) {
  struct host h;
  open_model(&h, 0);
  struct host_head head = {.waits = 1, .wait = {{gate(&h), 1, true}}, .signals = 1};
  for (uint32_t i = 0; i < 4; i++) {
    head.signal[0] = (struct host_signal){i, i + 10, false};
    host_sync(&h, i, &head);
  }
  head.signal[0] = (struct host_signal){9, 1, false};
  host_stage_head(&h, TPU_QUEUE_SYNC, &head);
  release(&h, 4);
  host_run(&h, LIMIT);
  bool ok = sem_value(&h, 9) == 0;
  for (uint32_t i = 0; i < 4; i++)
    ok &= sem_value(&h, i) == i + 10;
  check(ok, "GO copies the staging registers");
  close_model(&h, "copy");
}

/* ---- trace ------------------------------------------------------------------------------------------------
 */

struct event {
  uint32_t event, queue, tag, arg;
};

static size_t read_events(struct host *h, struct event *events, size_t size) {
  tpu_trace_record r[128];
  size_t n = h->api->trace_read(h->model, r, 128);
  for (size_t i = 0; i < n && i < size; i++)
    events[i] = (struct event){(uint32_t)(r[i].head >> TPU_TRACE_EVENT_SHIFT & 0xff),
                               (uint32_t)(r[i].head >> TPU_TRACE_QUEUE_SHIFT & 0xf), r[i].tag, r[i].arg};
  return n;
}

static void check_events(struct host *h, const char *what, const struct event *want, size_t n) {
  struct event got[128];
  size_t seen = read_events(h, got, 128);
  bool ok =
      check(seen == n && memcmp(got, want, n * sizeof *want) == 0, "trace: %s (%zu records)", what, seen);
  for (size_t i = 0; i < seen && !ok; i++)
    printf("  event %u queue %u tag 0x%x arg 0x%x\n", got[i].event, got[i].queue, got[i].tag, got[i].arg);
}

static void test_trace(void) {
  struct host h;
  open_model(&h, 256);
  uint32_t g = gate(&h);
  struct host_head head = {
      .waits = 1, .wait = {{g, 2, true}}, .signals = 2, .signal = {{3, 5, false}, {4, 0x2000000, false}}};
  host_write(&h, TPU_REG_TRACE_MARK, 0x07000123);
  host_sync(&h, 0xaa, &head);
  host_run(&h, LIMIT);
  release(&h, 1);
  host_run(&h, LIMIT);
  release(&h, 1);
  host_run(&h, LIMIT);
  host_write(&h, TPU_REG_ERROR_DETAIL1, 0); /* read-only */
  host_abort(&h, LIMIT);
  const struct event want[] = {
      {TPU_EVENT_MARK, TPU_QUEUE_SCALAR, 0x07000123, 0},
      {TPU_EVENT_GO, TPU_QUEUE_SYNC, 0xaa, 0},
      {TPU_EVENT_WAIT, TPU_QUEUE_SYNC, 0xaa, g},
      {TPU_EVENT_SIGNAL, TPU_QUEUE_SCALAR, 0, g | 1 << 8},
      {TPU_EVENT_SIGNAL, TPU_QUEUE_SCALAR, 0, g | 1 << 8},
      {TPU_EVENT_START, TPU_QUEUE_SYNC, 0xaa, 0},
      {TPU_EVENT_END, TPU_QUEUE_SYNC, 0xaa, 0},
      {TPU_EVENT_SIGNAL, TPU_QUEUE_SYNC, 0xaa, 3 | 5 << 8},
      {TPU_EVENT_SIGNAL, TPU_QUEUE_SYNC, 0xaa, 4 | 0xffffffu << 8},
      {TPU_EVENT_ERROR, TPU_QUEUE_SCALAR, 0, TPU_ERROR_BAD_ACCESS},
      {TPU_EVENT_ABORT, TPU_QUEUE_SCALAR, 0, 0},
  };
  check_events(&h, "mark, go, wait once, signals, start, end, error, abort", want,
               sizeof want / sizeof want[0]);
  h.api->trace_enable(h.model, false);
  host_write(&h, TPU_REG_TRACE_MARK, 1);
  settle(&h);
  h.api->trace_enable(h.model, true);
  host_write(&h, TPU_REG_TRACE_MARK, 2);
  settle(&h);
  const struct event mark = {TPU_EVENT_MARK, TPU_QUEUE_SCALAR, 2, 0};
  check_events(&h, "nothing while it is off", &mark, 1);
  close_model(&h, "trace");
}

/* A full buffer stops advance() and loses nothing. */
static void test_trace_full(void) {
  struct host h;
  open_model(&h, 64);
  uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH), expected = 0, seen = 0, stops = 0;
  for (uint32_t round = 0; round < 40; round++) {
    struct host_head head = {
        .waits = 1, .wait = {{gate(&h), 1, true}}, .signals = 1, .signal = {{3, 1, false}}};
    host_stage_head(&h, TPU_QUEUE_SYNC, &head);
    for (uint32_t i = 0; i < depth; i++)
      host_go(&h, TPU_QUEUE_SYNC, i);
    release(&h, depth);
    expected += 4 * depth + 1; /* go, start, end, signal; and the release */
    tpu_stop reason = TPU_STOP_TRACE;
    while (h.status == TPU_OK && reason != TPU_STOP_IDLE) {
      tpu_trace_record r[16];
      uint64_t ran;
      h.status = h.api->advance(h.model, 10000, &ran, &reason);
      stops += reason == TPU_STOP_TRACE;
      for (size_t n; (n = h.api->trace_read(h.model, r, 16)) > 0;)
        for (size_t i = 0; i < n; i++)
          seen += (r[i].head >> TPU_TRACE_EVENT_SHIFT & 0xff) != TPU_EVENT_WAIT;
    }
  }
  check(seen == expected, "no record is lost when the buffer fills up (%u of %u, stopped %u times)", seen,
        expected, stops);
  close_model(&h, "trace full");
}

/* ---- interrupts -------------------------------------------------------------------------------------------
 */

static uint32_t intr(struct host *h) {
  return host_read(h, TPU_REG_INTR_STATE);
}

/* The line, when all writes have taken effect. */
static bool line(struct host *h) {
  settle(h);
  return h->api->irq(h->model);
}

static tpu_stop advance(struct host *h, uint64_t cycles) {
  uint64_t ran = 0;
  tpu_stop reason = TPU_STOP_FAULT;
  h->status = h->api->advance(h->model, cycles, &ran, &reason);
  return reason;
}

static void test_intr_done(void) {
  struct host h;
  open_model(&h, 0);
  struct host_head head = {.irq = true, .waits = 1, .wait = {{gate(&h), 1, true}}};
  struct host_head quiet = {0};
  host_sync(&h, 1, &quiet);
  host_run(&h, LIMIT);
  check(intr(&h) == 0, "a command without the flag sets nothing");
  host_write(&h, TPU_REG_INTR_ENABLE, TPU_REG_INTR_STATE_DONE_MASK);
  host_sync(&h, 2, &head);
  check(advance(&h, LIMIT) == TPU_STOP_BLOCKED && !line(&h), "blocked: the line is low");
  release(&h, 1);
  check(advance(&h, LIMIT) == TPU_STOP_IRQ && h.api->irq(h.model), "advance stops at the rising line");
  check(advance(&h, LIMIT) == TPU_STOP_IDLE, "and goes on to idle");
  check((intr(&h) & TPU_REG_INTR_STATE_DONE_MASK) != 0, "done is set");
  host_write(&h, TPU_REG_INTR_STATE, TPU_REG_INTR_STATE_ERROR_MASK);
  check(line(&h), "clearing another bit does not clear done");
  host_write(&h, TPU_REG_INTR_STATE, TPU_REG_INTR_STATE_DONE_MASK);
  check(!line(&h) && (intr(&h) & TPU_REG_INTR_STATE_DONE_MASK) == 0, "writing one clears done");
  close_model(&h, "done");
}

static void test_intr_test(void) {
  static const uint32_t latched =
      TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK;
  struct host h;
  open_model(&h, 0);
  for (uint32_t bit = 1; bit <= 8; bit <<= 1) {
    host_write(&h, TPU_REG_INTR_TEST, bit);
    check(intr(&h) == (bit & latched) && !line(&h), "INTR_TEST 0x%x sets 0x%x", bit, intr(&h));
    host_write(&h, TPU_REG_INTR_ENABLE, bit);
    check(line(&h) == ((bit & latched) != 0), "and with the enable bit the line");
    host_write(&h, TPU_REG_INTR_STATE, 0xf);
    host_write(&h, TPU_REG_INTR_ENABLE, 0);
  }
  check(host_error(&h).code == 0, "INTR_TEST sets no error register");
  close_model(&h, "INTR_TEST");
}

static void test_intr_error_blocked(void) {
  struct host h;
  open_model(&h, 0);
  host_write(&h, TPU_REG_INTR_ENABLE, TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK);
  struct host_head head = {.waits = 1, .wait = {{gate(&h), 2, false}}};
  host_sync(&h, 1, &head);
  tpu_stop stop = advance(&h, LIMIT);
  check((stop == TPU_STOP_IRQ || stop == TPU_STOP_BLOCKED) && intr(&h) == TPU_REG_INTR_STATE_BLOCKED_MASK &&
            line(&h),
        "blocked sets its interrupt");
  host_write(&h, TPU_REG_INTR_STATE, TPU_REG_INTR_STATE_BLOCKED_MASK);
  advance(&h, 100);
  check(intr(&h) == 0, "and only when the device becomes blocked");
  host_read(&h, 0x3ffc);
  check(intr(&h) == TPU_REG_INTR_STATE_ERROR_MASK, "the first error sets its interrupt");
  host_write(&h, TPU_REG_INTR_STATE, TPU_REG_INTR_STATE_ERROR_MASK);
  host_read(&h, 0x3ffc);
  check(intr(&h) == 0, "a later error does not");
  host_write(&h, TPU_REG_INTR_TEST, 0xd);
  host_abort(&h, LIMIT);
  check(intr(&h) == 0, "abort clears INTR_STATE");
  check(host_read(&h, TPU_REG_INTR_ENABLE) == 0xc, "abort keeps INTR_ENABLE");
  close_model(&h, "error and blocked");
}

static void test_intr_space(void) {
  struct host h;
  open_model(&h, 0);
  uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH);
  struct host_head head = {.waits = 1, .wait = {{gate(&h), 1, true}}};
  for (uint32_t q = 0; q < 7; q++) {
    host_write(&h, TPU_REG_INTR_SPACE, 2u << (4 * q));
    check(intr(&h) == TPU_REG_INTR_STATE_SPACE_MASK, "queue %u is empty: space is set", q);
    host_stage_head(&h, q, &head);
    stage_nothing(&h, q);
    for (uint32_t i = 0; i < depth - 1; i++)
      host_go(&h, q, i);
    check((intr(&h) & TPU_REG_INTR_STATE_SPACE_MASK) == 0, "one slot free, threshold 2: space is clear");
    host_write(&h, TPU_REG_INTR_STATE, 0xf);
    host_write(&h, TPU_REG_INTR_ENABLE, TPU_REG_INTR_STATE_SPACE_MASK);
    release(&h, 1);
    settle(&h);
    advance(&h, LIMIT);
    check(line(&h), "two slots free: the line rises");
    host_write(&h, TPU_REG_INTR_STATE, 0xf);
    check(line(&h), "space is a level and cannot be cleared");
    host_write(&h, TPU_REG_INTR_SPACE, 0);
    check(!line(&h), "threshold 0: off");
    host_write(&h, TPU_REG_INTR_ENABLE, 0);
    host_abort(&h, LIMIT);
  }
  expect_no_error(&h, "space");
  close_model(&h, "space");
}

void test_queues(void) {
  test_depth();
  test_copy();
  test_trace();
  test_trace_full();
  test_intr_done();
  test_intr_test();
  test_intr_error_blocked();
  test_intr_space();
  add_results(&check_state);
}
