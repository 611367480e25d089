/* SPDX-License-Identifier: MIT */
/*
 * The race detector: every program comes in a right and in a wrong form, which differ in one wait, one amount
 * or one address. The right form must give no report, the wrong one must, and the report must name both
 * commands; with every timing, because a race is one whether or not it happens. A model without detection
 * refuses it, and then the right programs must at least run to their end.
 */
#include "race_test.h"
#include "vpu_asm.h"

#include <string.h>

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
  fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
  if (!wrong)
    host_abort(h, LIMIT);
  host_write(h, TPU_WINDOW_VMEM + SLOT0, 1);
}

/* ---- programs that end, and whose order would be a deadlock behind full queues ----------------------------
 */

static struct host_head waits_for(uint32_t sem, uint32_t amount, bool consume) {
  return (struct host_head){.waits = 1, .wait = {{sem, amount, consume}}};
}

static void ticket_to_come(struct host *h, bool wrong) {
  for (int i = 0; i < 2; i++)
    if (i == wrong)
      fetch(h, 0, 0x11, head(0, 0, 0, 0, 0), HBM0, SLOT0);
    else
      dot(h, 0x22, head(4, 0, 1, 0, 0), SLOT0, SLOT1, 0);
}

/* Two copies of BLOCK bytes; who takes three halves of them needs both. */
static void bytes_to_come(struct host *h, bool wrong) {
  struct host_head bytes = {.signals = 1, .signal = {{TOKEN, 0, true}}},
                   take = waits_for(TOKEN, 3 * BLOCK / 2, true);
  fetch(h, 0, 0x10, bytes, HBM0, SLOT0);
  if (wrong)
    host_sync(h, 0x22, &take);
  fetch(h, 1, 0x11, bytes, HBM1, SLOT1);
  if (!wrong)
    host_sync(h, 0x22, &take);
}

/* The unit that the second one waits for was promised to the first. */
static void promised_twice(struct host *h, bool wrong) {
  struct host_head one = {.signals = 1, .signal = {{TOKEN, 1, false}}}, take = waits_for(TOKEN, 1, true);
  fetch(h, 0, 0x10, one, HBM0, SLOT0);
  host_sync(h, 0x21, &take);
  if (wrong)
    host_sync(h, 0x22, &take);
  fetch(h, 1, 0x11, one, HBM1, SLOT1);
  if (!wrong)
    host_sync(h, 0x22, &take);
}

static void scalar_signals_late(struct host *h, bool wrong) {
  struct host_head gate = waits_for(GATE, 5, true);
  host_write(h, TPU_REG_SEM_SIGNAL(GATE), 4);
  for (int i = 0; i < 2; i++)
    if (i == wrong)
      host_write(h, TPU_REG_SEM_SIGNAL(GATE), 1);
    else
      host_sync(h, 0x22, &gate);
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
    {"a ticket of a later command", ticket_to_come, "DMA0 tag 0x00000011 (queued now) signals semaphore 0",
     "MXU tag 0x00000022 (queued now) waits for semaphore 0 (TICKET, value 0) to reach 1"},
    {"bytes of a later command", bytes_to_come, "DMA1 tag 0x00000011 (queued now) signals semaphore 12",
     "2048 missing"},
    {"a unit promised twice", promised_twice, "for which SYNC tag 0x00000022, queued earlier, waits",
     "DMA1 tag 0x00000011 (queued now) signals semaphore 12"},
    {"a later signal of the scalar core", scalar_signals_late, "the scalar core (now) signals semaphore 13",
     "SYNC tag 0x00000022"},
};

/* ---- running -------------------------------------------------------------------------------------------
 */

/* A signal of the scalar core orders more than GO does only if it comes later, against the other rule. */
static unsigned expected_reports(const struct program *p) {
  return p->run == scalar_signals && race_detects ? 2 : 0;
}

static void run_program(const struct program *p, bool wrong) {
  struct host h;
  open_detecting(&h);
  p->run(&h, wrong);
  tpu_stop stop = host_run(&h, LIMIT);
  if (!wrong)
    check_log(&h, stop == TPU_STOP_IDLE && reports(&h) == expected_reports(p), p->name,
              "right: ends without a false report");
  else
    check_log(&h, reports(&h) > 0 && strstr(h.log, p->first) && strstr(h.log, p->second), p->name,
              "wrong: a report names both");
  expect_no_error(&h, p->name);
  close_model(&h, p->name);
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
  race_detects = can_detect();
  for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
    run_program(&programs[i], false);
    if (race_detects)
      run_program(&programs[i], true);
  }
  if (race_detects) {
    test_race_reports();
  }
  add_results(&check_state);
}
