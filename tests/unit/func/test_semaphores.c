/* SPDX-License-Identifier: MIT */
/* Semaphores: both modes, wraps and limits, waits, consumption, contention. */
#include "func_test.h"

#include <string.h>

static void set_mode(struct host *h, uint32_t sem, bool ticket) {
  uint32_t word = host_read(h, TPU_REG_SEM_MODE(sem / 32));
  word = ticket ? word | 1u << sem % 32 : word & ~(1u << sem % 32);
  host_write(h, TPU_REG_SEM_MODE(sem / 32), word);
}

static void signal(struct host *h, uint32_t sem, uint32_t amount) {
  host_write(h, TPU_REG_SEM_SIGNAL(sem), amount);
}

static struct host_error scalar_error(uint32_t code, uint32_t detail0, uint32_t detail1) {
  return (struct host_error){code, TPU_QUEUE_SCALAR, 0, detail0, detail1};
}

static void test_scalar_count(void) {
  struct host h;
  open_model(&h, 0);
  uint32_t sems = host_parameter(&h, TPU_PARAM_SEMAPHORES);
  unsigned wrong = 0;
  for (uint32_t i = 0; i < sems; i++) {
    wrong += sem_value(&h, i) != 0;
    host_write(&h, TPU_REG_SEM_VALUE(i), 1000 + i);
  }
  for (uint32_t i = 0; i < sems; i++) {
    signal(&h, i, i + 5);
    host_write(&h, TPU_REG_SEM_TAKE(i), 3);
  }
  for (uint32_t i = 0; i < sems; i++)
    wrong += sem_value(&h, i) != 1002 + 2 * i;
  check(wrong == 0, "%u COUNT semaphores: zero after reset, set, signalled, taken (%u wrong)", sems, wrong);
  host_write(&h, TPU_REG_SEM_TAKE(3), 1008);
  check(sem_value(&h, 3) == 0, "a take of all");
  expect_no_error(&h, "signals and takes");
  host_write(&h, TPU_REG_SEM_VALUE(4), 10);
  host_write(&h, TPU_REG_SEM_TAKE(4), 11);
  check(sem_value(&h, 4) == 10, "a take of too much changes nothing");
  expect_error(&h, "take of too much", scalar_error(TPU_ERROR_SEM_UNDERFLOW, 4, 10));
  host_write(&h, TPU_REG_SEM_VALUE(5), 0x7ffffff0);
  signal(&h, 5, 15);
  expect_no_error(&h, "signal to 2^31-1");
  signal(&h, 5, 1);
  check(sem_value(&h, 5) == 0x7fffffff, "a signal past the maximum leaves the value");
  expect_error(&h, "signal past the maximum", scalar_error(TPU_ERROR_SEM_OVERFLOW, 5, 0x7fffffff));
  close_model(&h, "COUNT");
}

static void test_scalar_ticket(void) {
  struct host h;
  open_model(&h, 0);
  host_write(&h, TPU_REG_SEM_MODE(0), 0xdeadbeef);
  check(host_read(&h, TPU_REG_SEM_MODE(0)) == 0xdeadbeef, "SEM_MODE keeps what is written");
  host_write(&h, TPU_REG_SEM_MODE(0), 1u << 7);
  host_write(&h, TPU_REG_SEM_VALUE(7), 0xfffffff0);
  signal(&h, 7, 0x1f);
  check(sem_value(&h, 7) == 0xf, "a TICKET wraps");
  expect_no_error(&h, "wrap of a TICKET");
  host_write(&h, TPU_REG_SEM_TAKE(7), 1);
  check(sem_value(&h, 7) == 0xf, "a take from a TICKET changes nothing");
  expect_error(&h, "take from a TICKET", scalar_error(TPU_ERROR_BAD_ACCESS, TPU_REG_SEM_TAKE(7), 1));
  check(sem_value(&h, 7) == 0 && host_read(&h, TPU_REG_SEM_MODE(0)) == 1u << 7,
        "an abort zeroes values and keeps modes");
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
  host_run(&h, LIMIT);
  check(host_read(&h, TPU_REG_SEM_MODE(0)) == 0, "a soft reset resets modes");
  close_model(&h, "TICKET");
}

static void test_busy(void) {
  struct host h;
  struct host_head wait = {.waits = 1, .wait = {{1, 1, false}}};
  open_model(&h, 0);
  host_sync(&h, 1, &wait);
  host_run(&h, LIMIT);
  host_write(&h, TPU_REG_SEM_VALUE(1), 1);
  check(sem_value(&h, 1) == 0, "SEM_VALUE is not written while a command waits");
  expect_error(&h, "SEM_VALUE while busy", scalar_error(TPU_ERROR_SEM_BUSY, TPU_REG_SEM_VALUE(1), 1));
  host_sync(&h, 1, &wait);
  host_run(&h, LIMIT);
  host_write(&h, TPU_REG_SEM_MODE(1), 0);
  expect_error(&h, "SEM_MODE while busy", scalar_error(TPU_ERROR_SEM_BUSY, TPU_REG_SEM_MODE(1), 0));
  close_model(&h, "SEM_BUSY");
}

/* The value around which a TICKET wait holds. */
static void test_ticket_waits(void) {
  static const struct {
    uint32_t value, amount;
    bool holds;
  } cases[] = {{0xfffffff0, 0xfffffff0, true}, {0xfffffff0, 0xfffffff1, false}, {5, 0xfffffff0, true},
               {0xfffffff0, 5, false},         {0x7fffffff, 0, true},           {0x80000000, 0, false},
               {0, 0x80000001, true},          {0, 0x80000000, false}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct host h;
    struct host_head wait = {
        .waits = 1, .wait = {{2, cases[i].amount, true}}, .signals = 1, .signal = {{3, 1, false}}};
    open_model(&h, 0);
    set_mode(&h, 2, true);
    host_write(&h, TPU_REG_SEM_VALUE(2), cases[i].value);
    host_sync(&h, 1, &wait);
    tpu_stop stop = host_run(&h, LIMIT);
    check(stop == (cases[i].holds ? TPU_STOP_IDLE : TPU_STOP_BLOCKED) && sem_value(&h, 3) == cases[i].holds &&
              sem_value(&h, 2) == cases[i].value,
          "TICKET at 0x%08x, wait for 0x%08x: %s; consume is ignored", cases[i].value, cases[i].amount,
          cases[i].holds ? "holds" : "waits");
    close_model(&h, "TICKET waits");
  }
}

static void test_count_waits(void) {
  struct host h;
  struct host_head take = {
      .waits = 2, .wait = {{2, 3, true}, {4, 1, false}}, .signals = 1, .signal = {{3, 1, false}}};
  open_model(&h, 0);
  host_write(&h, TPU_REG_SEM_VALUE(2), 0x7fffffff);
  host_sync(&h, 1, &take);
  check(host_run(&h, LIMIT) == TPU_STOP_BLOCKED && sem_value(&h, 2) == 0x7fffffff,
        "a command that waits for two semaphores consumes nothing while one does not hold");
  signal(&h, 4, 1);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && sem_value(&h, 2) == 0x7ffffffc && sem_value(&h, 4) == 1 &&
            sem_value(&h, 3) == 1,
        "then it starts, consumes from one and only looks at the other");
  struct host_head zero = {.waits = 1, .wait = {{9, 0, true}}};
  host_sync(&h, 2, &zero);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE, "a wait for 0 holds");
  struct host_head huge = {.waits = 1, .wait = {{2, 0x80000000, false}}};
  host_sync(&h, 3, &huge);
  check(host_run(&h, LIMIT) == TPU_STOP_BLOCKED, "COUNT compares unsigned");
  host_abort(&h, LIMIT);
  expect_no_error(&h, "COUNT waits");
  close_model(&h, "COUNT waits");
}

static void test_four_waits(void) {
  struct host h;
  struct host_head all = {.signals = 2, .signal = {{10, 7, false}, {10, 8, false}}};
  open_model(&h, 0);
  all.waits = host_parameter(&h, TPU_PARAM_WAITS);
  for (uint32_t i = 0; i < all.waits; i++)
    all.wait[i] = (struct host_wait){i, i + 1, true};
  host_sync(&h, 1, &all);
  for (uint32_t i = 0; i < all.waits; i++) {
    check(host_run(&h, LIMIT) == TPU_STOP_BLOCKED && sem_value(&h, 10) == 0,
          "%u waits: blocked before signal %u", all.waits, i);
    signal(&h, i, i + 1);
  }
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && sem_value(&h, 10) == 15,
        "all waits hold: two signals of one semaphore are added up");
  unsigned left = 0;
  for (uint32_t i = 0; i < all.waits; i++)
    left += sem_value(&h, i);
  check(left == 0, "all waits consume");
  close_model(&h, "four waits");
}

/* Two queues want the last unit of one semaphore. */
static void test_contention(void) {
  struct host h;
  struct host_head head = {.waits = 1, .wait = {{5, 1, true}}, .signals = 1};
  struct host_dma none = {.src_space = TPU_SPACE_VMEM, .dst_space = TPU_SPACE_VMEM};
  open_model(&h, 0);
  head.signal[0] = (struct host_signal){6, 1, false};
  host_sync(&h, 1, &head);
  head.signal[0] = (struct host_signal){7, 1, false};
  host_dma(&h, TPU_QUEUE_DMA2, 2, &head, &none);
  host_run(&h, LIMIT);
  signal(&h, 5, 1);
  check(host_run(&h, LIMIT) == TPU_STOP_BLOCKED && sem_value(&h, 7) == 1 && sem_value(&h, 6) == 0 &&
            sem_value(&h, 5) == 0,
        "of two queues that consume, the lower starts and the other goes on waiting");
  signal(&h, 5, 1);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && sem_value(&h, 6) == 1,
        "the other starts with the next signal");
  expect_no_error(&h, "contention");
  close_model(&h, "contention");
}

static void test_overflow_by_command(void) {
  struct host h;
  struct host_head head = {.signals = 2, .signal = {{5, 2, false}, {6, 1, false}}};
  open_model(&h, 0);
  host_write(&h, TPU_REG_SEM_VALUE(5), 0x7ffffffe);
  host_sync(&h, 0x77, &head);
  host_run(&h, LIMIT);
  check(sem_value(&h, 5) == 0x7ffffffe && sem_value(&h, 6) == 1,
        "overflow by a command: value kept, the other signal is delivered");
  check((host_read(&h, TPU_REG_STATUS) & TPU_REG_STATUS_HALTED_MASK) == 0, "SEM_OVERFLOW halts no queue");
  expect_error(&h, "overflow by a command",
               (struct host_error){TPU_ERROR_SEM_OVERFLOW, TPU_QUEUE_SYNC, 0x77, 5, 0x7ffffffe});
  head.signal[0] = (struct host_signal){5, 0x7fffffff, false};
  head.signal[1] = (struct host_signal){5, 1, false};
  host_sync(&h, 0x78, &head);
  host_run(&h, LIMIT);
  check(sem_value(&h, 5) == 0, "the two signals of a command are summed before the check");
  expect_error(&h, "overflow by a sum",
               (struct host_error){TPU_ERROR_SEM_OVERFLOW, TPU_QUEUE_SYNC, 0x78, 5, 0});
  close_model(&h, "overflow");
}

static void test_duplicate(void) {
  struct host h;
  open_model(&h, 0);
  uint32_t waits = host_parameter(&h, TPU_PARAM_WAITS);
  for (uint32_t i = 0; i < waits; i++)
    for (uint32_t j = i + 1; j < waits; j++) {
      host_stage(&h, TPU_QUEUE_SYNC, TPU_Q_WAITS, (0x80u + 20) << 8 * i | (0x80u + 20) << 8 * j);
      host_go(&h, TPU_QUEUE_SYNC, 0x99);
      check(free_slots(&h, TPU_QUEUE_SYNC) == host_parameter(&h, TPU_PARAM_QUEUE_DEPTH),
            "a command with a duplicate wait is not queued");
      expect_error(&h, "duplicate wait",
                   (struct host_error){TPU_ERROR_SEM_DUPLICATE, TPU_QUEUE_SYNC, 0x99, 20, 0});
    }
  host_stage(&h, TPU_QUEUE_SYNC, TPU_Q_WAITS, 20u | (0x80u + 20) << 8);
  host_write(&h, TPU_REG_SEM_SIGNAL(20), 1);
  host_go(&h, TPU_QUEUE_SYNC, 1);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE, "a wait that is not enabled is no duplicate");
  expect_no_error(&h, "disabled wait");
  close_model(&h, "duplicate");
}

/* The contract's limit: at most 4 cycles from the first cycle in which all waits hold to the start. */
static void test_start_latency(void) {
  struct host h;
  struct host_dma none = {.src_space = TPU_SPACE_VMEM, .dst_space = TPU_SPACE_VMEM};
  tpu_trace_record records[256];
  open_model(&h, 256);
  for (uint32_t q = 0; q < 4; q++) {
    struct host_head head = {.waits = 1, .wait = {{q, 1, true}}};
    host_dma(&h, q, q, &head, &none);
  }
  struct host_head sync = {.waits = 1, .wait = {{30, 1, true}}, .signals = 2};
  for (uint32_t q = 0; q < 4; q += 2) {
    sync.signal[0] = (struct host_signal){q, 1, false};
    sync.signal[1] = (struct host_signal){q + 1, 1, false};
    host_sync(&h, 100 + q, &sync);
  }
  signal(&h, 30, 2);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE, "a chain of signals ends");
  size_t n = h.api->trace_read(h.model, records, 256);
  uint64_t signalled[4] = {0};
  unsigned starts = 0, late = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t event = (uint32_t)(records[i].head >> TPU_TRACE_EVENT_SHIFT & 0xff);
    uint32_t queue = (uint32_t)(records[i].head >> TPU_TRACE_QUEUE_SHIFT & 0xf);
    uint64_t cycle = records[i].head & TPU_TRACE_CYCLE_MASK;
    if (event == TPU_EVENT_SIGNAL && (records[i].arg & 63) < 4)
      signalled[records[i].arg & 63] = cycle;
    if (event == TPU_EVENT_START && queue < 4) {
      starts++;
      late += cycle > signalled[queue] + 5 || cycle <= signalled[queue];
    }
  }
  check(starts == 4 && late == 0,
        "heads start within 4 cycles of the one in which their waits hold (%u of %u do not)", late, starts);
  close_model(&h, "start latency");
}

void test_semaphores(void) {
  test_scalar_count();
  test_scalar_ticket();
  test_busy();
  test_ticket_waits();
  test_count_waits();
  test_four_waits();
  test_contention();
  test_overflow_by_command();
  test_duplicate();
  test_start_latency();
  add_results(&check_state);
}
