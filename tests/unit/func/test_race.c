/* SPDX-License-Identifier: MIT */
/*
 * The race detector: every program comes in a right and in a wrong form, which differ in one wait, one amount
 * or one address. The right form must give no report, the wrong one must, and the report must name both
 * commands; with every timing, because a race is one whether or not it happens. A model without detection
 * refuses it, and then the right programs must at least run to their end.
 */
#include "func_test.h"
#include "vpu_asm.h"

#include <string.h>

enum { BLOCK = 4096, SLOT0 = 0, SLOT1 = BLOCK, SLOT2 = 2 * BLOCK, HBM0 = 0x10000, HBM1 = 0x20000 };
enum { TOKEN = 12, GATE = 13 }; /* COUNT semaphores */

/* Waits for tickets of queues, two at most (amount 0: no wait), and signals the own ticket. */
static struct host_head head(uint32_t own, uint32_t queue, uint32_t ticket, uint32_t queue2,
                             uint32_t ticket2) {
  struct host_head h = {.signals = 1, .signal = {{own, 1, false}}};
  if (ticket != 0)
    h.wait[h.waits++] = (struct host_wait){queue, ticket, false};
  if (ticket2 != 0)
    h.wait[h.waits++] = (struct host_wait){queue2, ticket2, false};
  return h;
}

static void copy_rows(struct host *h, uint32_t queue, uint32_t tag, const struct host_head *head,
                      uint32_t src_space, uint32_t src, uint32_t dst_space, uint32_t dst, uint32_t row,
                      uint32_t rows, int32_t pitch) {
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

static void copy(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t src_space,
                 uint32_t src, uint32_t dst_space, uint32_t dst) {
  copy_rows(h, queue, tag, &head, src_space, src, dst_space, dst, BLOCK, 1, 0);
}

/* HBM to VMEM, and back. */
static void fetch(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t hbm,
                  uint32_t vmem) {
  copy(h, queue, tag, head, TPU_SPACE_HBM, hbm, TPU_SPACE_VMEM, vmem);
}

static void write_back(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t vmem,
                       uint32_t hbm) {
  copy(h, queue, tag, head, TPU_SPACE_VMEM, vmem, TPU_SPACE_HBM, hbm);
}

/* One tile: reads dim x dim bytes at a and at b, writes dim rows of ACC. */
static void dot(struct host *h, uint32_t tag, struct host_head head, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t dim = config_of(h)->dim;
  struct host_mxu x = {
      .a = a, .b = b, .c = c, .a_pitch = dim, .b_pitch = dim, .c_pitch = dim, .m = dim, .n = dim, .k = dim};
  host_stage_head(h, TPU_QUEUE_MXU, &head);
  host_stage_mxu(h, &x);
  host_go(h, TPU_QUEUE_MXU, tag);
}

/* Eight rows of ACC to eight rows of VMEM, `pitch` bytes apart. */
static void drain(struct host *h, uint32_t tag, struct host_head head, uint32_t acc, uint32_t vmem,
                  uint32_t pitch) {
  const uint64_t program[] = {tpu_vasm_ld(0, (struct tpu_vasm_memory){.areg = 0, .acc = true}),
                              tpu_vasm_st(TPU_V(0), (struct tpu_vasm_memory){.areg = 1}), tpu_vasm_halt()};
  for (uint32_t i = 0; i < sizeof program / sizeof program[0]; i++) {
    host_write(h, TPU_REG_VPROG(2 * i), (uint32_t)program[i]);
    host_write(h, TPU_REG_VPROG(2 * i + 1), (uint32_t)(program[i] >> 32));
  }
  host_stage_head(h, TPU_QUEUE_VPU, &head);
  host_stage(h, TPU_QUEUE_VPU, TPU_VPU_ADDR(0), acc);
  host_stage(h, TPU_QUEUE_VPU, TPU_VPU_PITCH(0), 1);
  host_stage(h, TPU_QUEUE_VPU, TPU_VPU_ADDR(1), vmem);
  host_stage(h, TPU_QUEUE_VPU, TPU_VPU_PITCH(1), pitch);
  host_go(h, TPU_QUEUE_VPU, tag);
}

static void poll_ticket(struct host *h, uint32_t queue, uint32_t ticket) {
  for (uint32_t i = 0; i < LIMIT && sem_value(h, queue) != ticket; i++)
    ;
}

/* ---- programs; each is right or wrong ---------------------------------------------------------------------
 */

static void missing_wait(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  dot(h, 0x22, head(4, 0, wrong ? 0 : 1, 0, 0), SLOT0, SLOT1, 0);
}

/* The second block may well be there already. */
static void ticket_too_few(struct host *h, bool wrong) {
  fetch(h, 0, 0x10, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM1, SLOT1);
  host_run(h, LIMIT);
  dot(h, 0x22, head(4, 0, wrong ? 1 : 2, 0, 0), SLOT0, SLOT1, 0);
}

/* Two slots: the product of block 0 while block 1 arrives. */
static void wrong_slot(struct host *h, bool wrong) {
  fetch(h, 0, 0x10, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  fetch(h, 1, 0x11, head(1, 0, 0, 0, 0), HBM1, SLOT1);
  dot(h, 0x22, head(4, 0, 1, 0, 0), wrong ? SLOT1 : SLOT0, SLOT2, 0);
}

static void two_writers(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  fetch(h, 1, 0x22, head(1, 0, wrong ? 0 : 1, 0, 0), HBM1, SLOT0);
}

/* An array that is output and input: its block is fetched while it is still being written back. */
static void aliased_block(struct host *h, bool wrong) {
  write_back(h, 3, 0x11, head(3, 0, 0, 0, 0), SLOT0, HBM0);
  fetch(h, 0, 0x22, head(0, 3, wrong ? 0 : 1, 0, 0), HBM0, SLOT1);
}

static void source_overwritten(struct host *h, bool wrong) {
  write_back(h, 3, 0x11, head(3, 0, 0, 0, 0), SLOT0, HBM0);
  fetch(h, 0, 0x22, head(0, 3, wrong ? 0 : 1, 0, 0), HBM1, SLOT0);
}

static void same_channel_read(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  copy(h, 0, 0x22, head(0, 0, wrong ? 0 : 1, 0, 0), TPU_SPACE_VMEM, SLOT0, TPU_SPACE_VMEM, SLOT1);
}

/* Writes behind reads and behind writes of one channel are in order; the wrong form uses two. */
static void same_channel_writes(struct host *h, bool wrong) {
  write_back(h, 0, 0x10, head(0, 0, 0, 0, 0), SLOT0, HBM0);
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM1, SLOT0);
  fetch(h, wrong ? 2 : 0, 0x22, head(wrong ? 2 : 0, 0, 0, 0, 0), HBM1 + BLOCK, SLOT0);
}

static void accumulator_drained(struct host *h, bool wrong) {
  uint32_t pitch = 4 * config_of(h)->lanes;
  dot(h, 0x10, head(4, 0, 0, 0, 0), SLOT0, SLOT1, 0);
  drain(h, 0x11, head(5, 4, 1, 0, 0), 0, SLOT2, pitch);
  dot(h, 0x22, head(4, 5, wrong ? 0 : 1, 0, 0), SLOT0, SLOT1, 0);
}

/* The program of a vector command is overwritten while the command may still run it. */
static void program_replaced(struct host *h, bool wrong) {
  drain(h, 0x11, head(5, 0, 0, 0, 0), 0, SLOT0, 4 * config_of(h)->lanes);
  if (!wrong)
    poll_ticket(h, 5, 1);
  host_write(h, TPU_REG_VPROG(3), 0);
}

static void vector_result(struct host *h, bool wrong) {
  drain(h, 0x11, head(5, 0, 0, 0, 0), 0, SLOT0, 4 * config_of(h)->lanes);
  write_back(h, 3, 0x22, head(3, 5, wrong ? 0 : 1, 0, 0), SLOT0, HBM0);
}

/* The vector program writes every second row; the copy reads the rows between, or one byte more. */
static void rows_between(struct host *h, bool wrong) {
  uint32_t row = 4 * config_of(h)->lanes;
  struct host_head none = head(0, 0, 0, 0, 0);
  drain(h, 0x11, head(5, 0, 0, 0, 0), 0, SLOT0, 2 * row);
  copy_rows(h, 0, 0x22, &none, TPU_SPACE_VMEM, SLOT0 + row, TPU_SPACE_HBM, HBM0, row + wrong, 7,
            (int32_t)(2 * row));
}

/* Two channels write the left and the right half of the rows of an array. */
static void halves(struct host *h, bool wrong) {
  struct host_head a = head(0, 0, 0, 0, 0), b = head(1, 0, 0, 0, 0);
  copy_rows(h, 0, 0x11, &a, TPU_SPACE_VMEM, SLOT0, TPU_SPACE_HBM, HBM0, 100 + wrong, 20, 200);
  copy_rows(h, 1, 0x22, &b, TPU_SPACE_VMEM, SLOT1, TPU_SPACE_HBM, HBM0 + 100, 100, 20, 200);
}

/* Both ends of a negative stride. */
static void backwards(struct host *h, bool wrong) {
  struct host_head a = head(0, 0, 0, 0, 0), b = head(1, 0, 0, 0, 0);
  copy_rows(h, 0, 0x11, &a, TPU_SPACE_VMEM, SLOT0 + 1900, TPU_SPACE_HBM, HBM0 + 1900, 100, 20, -100);
  copy_rows(h, 1, 0x22, &b, TPU_SPACE_VMEM, SLOT1, TPU_SPACE_HBM, HBM0 + 2000 - wrong, 10, 1, 0);
}

/* Order through a third queue. */
static void chain(struct host *h, bool wrong) {
  struct host_head sync = head(6, 0, wrong ? 0 : 1, 1, 1);
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  fetch(h, 1, 0x12, head(1, 0, 0, 0, 0), HBM1, SLOT1);
  host_sync(h, 0x66, &sync);
  dot(h, 0x22, head(4, 6, 1, 0, 0), SLOT0, SLOT1, 0);
}

/* A queue that has waited once need not wait again: its commands start in order. */
static void observed(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  write_back(h, 3, 0x12, head(3, 0, wrong ? 0 : 1, 0, 0), SLOT1, HBM1);
  write_back(h, 3, 0x22, head(3, 0, 0, 0, 0), SLOT0, HBM1 + BLOCK);
}

static void token_consumed(struct host *h, bool wrong) {
  struct host_head give = {.signals = 1, .signal = {{TOKEN, 0, true}}};
  struct host_head take = {.waits = 1, .wait = {{TOKEN, wrong ? BLOCK : 2 * BLOCK, true}}};
  fetch(h, 0, 0x10, give, HBM0, SLOT0);
  fetch(h, 0, 0x11, give, HBM1, SLOT1);
  dot(h, 0x22, take, SLOT0, SLOT1, 0);
}

/* Two copies count into one semaphore: the bytes of one do not say which one it was. */
static void shared_semaphore(struct host *h, bool wrong) {
  struct host_head give = {.signals = 1, .signal = {{TOKEN, 0, true}}};
  struct host_head take = {.waits = 1, .wait = {{TOKEN, wrong ? BLOCK : 2 * BLOCK, true}}};
  fetch(h, 0, 0x11, give, HBM0, SLOT0);
  host_run(h, LIMIT);
  fetch(h, 1, 0x12, give, HBM1, SLOT1);
  dot(h, 0x22, take, SLOT0, SLOT2, 0);
}

/* Two waits for half of the bytes each are as good as one for all, for what follows the second. */
static void taken_in_parts(struct host *h, bool wrong) {
  struct host_head give = {.signals = 1, .signal = {{TOKEN, 0, true}}};
  struct host_head take = {
      .waits = 1, .wait = {{TOKEN, BLOCK, true}}, .signals = 1, .signal = {{TPU_QUEUE_SYNC, 1, false}}};
  fetch(h, 0, 0x11, give, HBM0, SLOT0);
  fetch(h, 1, 0x12, give, HBM1, SLOT1);
  host_sync(h, 0x61, &take);
  host_sync(h, 0x62, &take);
  dot(h, 0x22, head(4, 6, wrong ? 1 : 2, 0, 0), SLOT0, SLOT2, 0);
}

static void scalar_reads(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  if (!wrong)
    poll_ticket(h, 0, 1);
  host_read(h, TPU_WINDOW_VMEM + SLOT0 + 8);
}

static void scalar_writes(struct host *h, bool wrong) {
  if (!wrong)
    host_write(h, TPU_WINDOW_SMEM + 64, 1);
  copy_rows(h, 2, 0x11, NULL, TPU_SPACE_SMEM, 0, TPU_SPACE_VMEM, SLOT0, 256, 1, 0);
  if (wrong)
    host_write(h, TPU_WINDOW_SMEM + 64, 1);
}

/* The signal is the release: what the scalar core writes after it is not covered. */
static void scalar_signals(struct host *h, bool wrong) {
  struct host_head gate = {.waits = 1, .wait = {{GATE, 1, true}}};
  copy_rows(h, 2, 0x11, &gate, TPU_SPACE_SMEM, 0, TPU_SPACE_VMEM, SLOT0, 256, 1, 0);
  if (!wrong)
    host_write_sized(h, TPU_WINDOW_SMEM + 255, 1, 7);
  host_write(h, TPU_REG_SEM_SIGNAL(GATE), 1);
  if (wrong)
    host_write_sized(h, TPU_WINDOW_SMEM + 255, 1, 7);
}

/* What the scalar core knows when it queues a command, the command may rely on. */
static void scalar_passes_on(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  if (!wrong)
    poll_ticket(h, 0, 1);
  dot(h, 0x22, head(4, 0, 0, 0, 0), SLOT0, SLOT1, 0);
}

static void idle_device(struct host *h, bool wrong) {
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  host_run(h, LIMIT);
  for (uint32_t i = 0; i < LIMIT && !wrong && !(host_read(h, TPU_REG_STATUS) & TPU_REG_STATUS_IDLE_MASK); i++)
    ;
  host_write(h, TPU_WINDOW_VMEM + SLOT0, 1);
}

static void interrupt_read(struct host *h, bool wrong) {
  struct host_head irq = head(0, 0, 0, 0, 0);
  irq.irq = true;
  fetch(h, 0, 0x11, irq, HBM0, SLOT0);
  host_run(h, LIMIT);
  if (!wrong)
    host_read(h, TPU_REG_INTR_STATE);
  host_write(h, TPU_WINDOW_VMEM + SLOT0, 1);
}

static void scalar_takes(struct host *h, bool wrong) {
  struct host_head give = {.signals = 1, .signal = {{TOKEN, 0, true}}};
  fetch(h, 0, 0x10, give, HBM0, SLOT0);
  fetch(h, 0, 0x11, give, HBM1, SLOT1);
  host_run(h, LIMIT);
  host_write(h, TPU_REG_SEM_TAKE(TOKEN), wrong ? BLOCK : 2 * BLOCK);
  host_write(h, TPU_WINDOW_VMEM + SLOT1, 1);
}

/* After an abort nothing of before is left. */
static void aborted(struct host *h, bool wrong) {
  struct host_head gate = head(0, 0, 0, 0, 0);
  gate.wait[gate.waits++] = (struct host_wait){GATE, 1, true};
  fetch(h, 0, 0x11, wrong ? head(0, 0, 0, 0, 0) : gate, HBM0, SLOT0);
  if (!wrong)
    host_abort(h, LIMIT);
  host_write(h, TPU_WINDOW_VMEM + SLOT0, 1);
}

static const struct program {
  const char *name;
  void (*run)(struct host *h, bool wrong);
  const char *first, *second; /* what the report must name */
} programs[] = {
    {"a missing wait", missing_wait, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"a ticket too few", ticket_too_few, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"a wrong slot", wrong_slot, "DMA1 tag 0x00000011", "MXU tag 0x00000022"},
    {"two writers", two_writers, "DMA0 tag 0x00000011", "DMA1 tag 0x00000022"},
    {"an aliased block in flight", aliased_block, "DMA3 tag 0x00000011", "DMA0 tag 0x00000022"},
    {"a source overwritten", source_overwritten, "DMA3 tag 0x00000011", "DMA0 tag 0x00000022"},
    {"a read behind a write of its channel", same_channel_read, "DMA0 tag 0x00000011", "DMA0 tag 0x00000022"},
    {"writes of one channel", same_channel_writes, "DMA0 tag 0x00000011", "DMA2 tag 0x00000022"},
    {"an accumulator that is drained", accumulator_drained, "VPU tag 0x00000011", "MXU tag 0x00000022"},
    {"a vector program", program_replaced, "VPU tag 0x00000011", "the scalar core"},
    {"a vector result", vector_result, "VPU tag 0x00000011", "DMA3 tag 0x00000022"},
    {"rows between those of a vector program", rows_between, "VPU tag 0x00000011", "DMA0 tag 0x00000022"},
    {"halves of rows", halves, "DMA0 tag 0x00000011", "DMA1 tag 0x00000022"},
    {"a negative stride", backwards, "DMA0 tag 0x00000011", "DMA1 tag 0x00000022"},
    {"order through a third queue", chain, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"what a queue has observed", observed, "DMA0 tag 0x00000011", "DMA3 tag 0x00000022"},
    {"a token in bytes", token_consumed, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"a semaphore of two copies", shared_semaphore, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"bytes taken in parts", taken_in_parts, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"the scalar core reads", scalar_reads, "DMA0 tag 0x00000011", "the scalar core"},
    {"the scalar core writes", scalar_writes, "DMA2 tag 0x00000011", "the scalar core"},
    {"the scalar core signals", scalar_signals, "DMA2 tag 0x00000011", "the scalar core"},
    {"the scalar core passes on", scalar_passes_on, "DMA0 tag 0x00000011", "MXU tag 0x00000022"},
    {"an idle device", idle_device, "DMA0 tag 0x00000011", "the scalar core"},
    {"INTR_STATE.done", interrupt_read, "DMA0 tag 0x00000011", "the scalar core"},
    {"SEM_TAKE", scalar_takes, "DMA0 tag 0x00000011", "the scalar core"},
    {"an abort", aborted, "DMA0 tag 0x00000011", "the scalar core"},
};

/* ---- running ----------------------------------------------------------------------------------------------
 */

static bool detects;

static void open_detecting(struct host *h) {
  char error[256];
  tpu_model_config c = host_config();
  c.config = options.config;
  c.timing = options.timing;
  c.seed = options.seed;
  c.detect_races = detects;
  if (!host_open(h, options.model, &c, error, sizeof error)) {
    printf("FAIL no model: %s\n", error);
    exit(EXIT_FAILURE);
  }
  host_write(h, TPU_REG_SEM_MODE(0), 0x7f); /* tickets of the queues */
}

static unsigned reports(const struct host *h) {
  return h->log_lines[TPU_LOG_UNPREDICTABLE];
}

/* A check whose failure shows the log. */
static void check_log(const struct host *h, bool ok, const char *name, const char *what) {
  if (!check(ok, "race: %s, %s", name, what))
    printf("%s", h->log);
}

static void run_program(const struct program *p, bool wrong) {
  struct host h;
  open_detecting(&h);
  p->run(&h, wrong);
  tpu_stop stop = host_run(&h, LIMIT);
  if (!wrong)
    check_log(&h, stop == TPU_STOP_IDLE && reports(&h) == 0, p->name, "right: ends without a report");
  else
    check_log(&h, reports(&h) > 0 && strstr(h.log, p->first) && strstr(h.log, p->second), p->name,
              "wrong: a report names both");
  expect_no_error(&h, p->name);
  close_model(&h, p->name);
}

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

/* Reports are bounded, the first ones have everything, and the grid step is there if it was marked. */
static void test_report(void) {
  struct host h;
  open_detecting(&h);
  host_write(&h, TPU_REG_TRACE_MARK, TPU_MARK_STEP << TPU_REG_TRACE_MARK_KIND_SHIFT | 77);
  for (uint32_t i = 0; i < 60; i++) {
    for (uint32_t k = 0; k < LIMIT && free_slots(&h, i % 2) == 0; k++)
      ;
    fetch(&h, i % 2, 0x100 + i, head(i % 2, 0, 0, 0, 0), HBM0 + 64 * i, SLOT0 + 64 * i);
  }
  host_run(&h, LIMIT);
  check(reports(&h) == 17, "%u lines for many races", reports(&h));
  check_log(&h,
            strstr(h.log, "grid step 77") && strstr(h.log, "writes 4096 bytes from VMEM 0x40 on") &&
                strstr(h.log, "both touch VMEM 0x") && strstr(h.log, "further ones are not reported"),
            "report", "it names step, bytes and place");
  close_model(&h, "report");
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

static bool can_detect(void) {
  struct host h;
  char error[256];
  tpu_model_config c = host_config();
  c.config = options.config;
  c.detect_races = 1;
  bool can = host_open(&h, options.model, &c, error, sizeof error);
  if (can)
    host_close(&h);
  else
    check(strstr(error, "functional model") != NULL, "a model without race detection says so: %s", error);
  return can;
}

void test_race(void) {
  detects = can_detect();
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    run_program(&programs[i], false);
    if (detects)
      run_program(&programs[i], true);
  }
  if (detects) {
    test_consumers();
    test_report();
    test_save();
  }
  add_results(&check_state);
}
