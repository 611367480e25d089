/* SPDX-License-Identifier: MIT */
/*
 * Abort, resets, save and restore, and determinism: the same calls give the same cycles, in whatever pieces
 * time advances.
 */
#include "func_test.h"

#include <stddef.h>
#include <string.h>

#define BLOCK  4096u
#define ROUNDS 24u

/* ---- a program that keeps several engines busy ------------------------------------------------------------
 */

static bool has_slot(struct host *h, uint32_t queue) {
  while (free_slots(h, queue) == 0) {
    uint64_t ran;
    tpu_stop reason;
    if (h->status != TPU_OK || h->api->advance(h->model, 50, &ran, &reason) != TPU_OK ||
        reason == TPU_STOP_IDLE || reason == TPU_STOP_BLOCKED)
      return false;
  }
  return true;
}

/* Blocks from HBM to VMEM (channel 0), through SMEM (channel 1), back to HBM (channel 3), double buffered. */
static void issue_round(struct host *h, uint32_t i) {
  uint32_t slot = i % 2 * BLOCK;
  struct host_dma in = {.src_space = TPU_SPACE_HBM,
                        .dst_space = TPU_SPACE_VMEM,
                        .src = i * BLOCK,
                        .dst = slot,
                        .row_bytes = 64,
                        .count = {BLOCK / 64, 1, 1},
                        .src_stride = {64},
                        .dst_stride = {64}};
  struct host_dma move = in, out = in;
  struct host_head head_in = {.signals = 1, .signal = {{1, 1, false}}, .waits = 1, .wait = {{4, 1, true}}};
  struct host_head head_move = {.signals = 2,
                                .signal = {{2, 1, false}, {4, 1, false}},
                                .waits = 2,
                                .wait = {{1, 1, true}, {5, 1, true}}};
  struct host_head head_out = {
      .signals = 2, .signal = {{5, 1, false}, {6, 0, true}}, .waits = 1, .wait = {{2, 1, true}}, .irq = true};
  move.src_space = TPU_SPACE_VMEM;
  move.dst_space = TPU_SPACE_SMEM;
  move.src = move.dst = slot;
  out.src_space = TPU_SPACE_SMEM;
  out.dst_space = TPU_SPACE_HBM;
  out.src = slot;
  out.dst = 0x200000 + i * BLOCK;
  bool ok = has_slot(h, 0);
  host_dma(h, 0, 0x1000 + i, &head_in, &in);
  ok &= has_slot(h, 1);
  host_dma(h, 1, 0x2000 + i, &head_move, &move);
  ok &= has_slot(h, 3);
  host_dma(h, 3, 0x3000 + i, &head_out, &out);
  if (!ok)
    check(false, "round %u found no free slot", i);
}

static void prepare(struct host *h) {
  struct check_random r = {options.seed};
  for (uint32_t i = 0; i < ROUNDS * BLOCK; i++)
    h->hbm[i] = (uint8_t)check_random32(&r);
  host_write(h, TPU_REG_SEM_SIGNAL(4), 2);
  host_write(h, TPU_REG_SEM_SIGNAL(5), 2);
}

static bool copied(struct host *h, uint32_t rounds) {
  return memcmp(h->hbm, h->hbm + 0x200000, rounds * BLOCK) == 0;
}

/* ---- determinism ------------------------------------------------------------------------------------------
 */

#define RECORDS 4096u

struct run {
  tpu_trace_record record[RECORDS];
  size_t records;
  uint64_t cycle;
};

static void collect(struct host *h, struct run *run) {
  run->records += h->api->trace_read(h->model, run->record + run->records, RECORDS - run->records);
}

/* piece 0: everything at once; else advance in random pieces of at most this many cycles. */
static void run_program(struct run *run, uint32_t piece) {
  struct host h;
  struct check_random r = {options.seed + piece};
  open_model(&h, RECORDS);
  memset(run, 0, sizeof *run);
  prepare(&h);
  host_write(&h, TPU_REG_INTR_ENABLE, piece % 2 ? TPU_REG_INTR_STATE_DONE_MASK : 0);
  for (uint32_t i = 0; i < 2; i++) /* as many as fit without waiting: the accesses are the same in all runs */
    issue_round(&h, i);
  tpu_stop reason = TPU_STOP_BUDGET;
  while (h.status == TPU_OK && reason != TPU_STOP_IDLE) {
    uint64_t ran = 0, limit = piece ? check_random_below(&r, piece) + 1 : LIMIT;
    uint64_t before = h.api->cycle(h.model);
    h.status = h.api->advance(h.model, limit, &ran, &reason);
    if (h.api->cycle(h.model) != before + ran || ran > limit || (reason == TPU_STOP_BUDGET && ran != limit))
      check(false, "advance(%llu) ran %llu cycles and says %d", (unsigned long long)limit,
            (unsigned long long)ran, reason);
    collect(&h, run);
  }
  run->cycle = h.api->cycle(h.model);
  check(copied(&h, 2), "the program's result is right (pieces of %u)", piece);
  close_model(&h, "determinism");
}

static void test_determinism(void) {
  static struct run first, other;
  static const uint32_t pieces[] = {0, 1, 2, 7, 200, 1001};
  run_program(&first, 0);
  for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
    run_program(&other, pieces[i]);
    check(first.records > 0 && first.records == other.records && first.cycle == other.cycle &&
              memcmp(first.record, other.record, first.records * sizeof first.record[0]) == 0,
          "the same trace (%zu records, %llu cycles) when time advances in pieces of at most %u",
          other.records, (unsigned long long)other.cycle, pieces[i]);
  }
}

/* next_event() is a lower bound: nothing shows before it. */
static void test_next_event(void) {
  struct host h;
  tpu_trace_record r[64];
  unsigned wrong = 0, events = 0;
  open_model(&h, 1024);
  prepare(&h);
  issue_round(&h, 0);
  while (h.api->trace_read(h.model, r, 64) > 0)
    ;
  while (!h.api->quiescent(h.model) && h.status == TPU_OK) {
    uint64_t n = h.api->next_event(h.model), ran = 0;
    tpu_stop reason;
    if (n == UINT64_MAX || n == 0) {
      wrong++;
      break;
    }
    if (n > 1) {
      h.status = h.api->advance(h.model, n - 1, &ran, &reason);
      wrong += ran != n - 1 || h.api->trace_read(h.model, r, 64) > 0;
    }
    h.status = h.api->advance(h.model, 1, &ran, &reason);
    h.api->trace_read(h.model, r, 64);
    events++;
  }
  check(wrong == 0 && events > 1, "nothing happens before next_event() (%u events, %u wrong)", events, wrong);
  check(h.api->next_event(h.model) == UINT64_MAX, "an idle model has no next event");
  host_write(&h, TPU_REG_SCRATCH, 1);
  close_model(&h, "next_event");
}

/* ---- abort and reset --------------------------------------------------------------------------------------
 */

/* The contract's bound: outstanding bursts x latency + 1000. */
static uint64_t abort_limit(struct host *h) {
  return (uint64_t)host_parameter(h, TPU_PARAM_DMA_OUTSTANDING) * host_read(h, TPU_REG_HBM_LATENCY) + 1000;
}

static void test_abort(void) {
  struct host h;
  struct check_random r = {options.seed};
  unsigned wrong = 0, slow = 0, outside = 0;
  static uint8_t vmem[65536];
  open_model(&h, 0);
  for (unsigned round = 0; round < 40 && h.status == TPU_OK; round++) {
    uint64_t ran;
    tpu_stop reason;
    prepare(&h);
    memset(h.hbm + 0x200000, 0x99, (ROUNDS + 1) * BLOCK);
    memset(vmem, 0x66, sizeof vmem);
    host_poke(&h, TPU_SPACE_VMEM, 0, vmem, sizeof vmem);
    for (uint32_t i = 0; i < 2; i++)
      issue_round(&h, i);
    h.status = h.api->advance(h.model, check_random_below(&r, 1200), &ran, &reason);
    if (round % 2)
      slow += !host_abort(&h, abort_limit(&h));
    else
      h.status = h.api->reset(h.model, TPU_RESET_SOFT);
    wrong +=
        host_read(&h, TPU_REG_STATUS) != TPU_REG_STATUS_IDLE_MASK || host_read(&h, TPU_REG_INTR_STATE) != 0;
    for (uint32_t i = 0; i < 64; i++)
      wrong += sem_value(&h, i) != 0;
    for (uint32_t i = 2 * BLOCK; i < 3 * BLOCK; i++)
      outside += h.hbm[0x200000 + i] != 0x99;
    host_peek(&h, TPU_SPACE_VMEM, 0, vmem, sizeof vmem);
    for (uint32_t i = 2 * BLOCK; i < sizeof vmem; i++)
      outside += vmem[i] != 0x66;
    prepare(&h);
    for (uint32_t i = 0; i < 4; i++)
      issue_round(&h, i);
    wrong += host_run(&h, LIMIT) != TPU_STOP_IDLE || !copied(&h, 4) || sem_value(&h, 6) != 4 * BLOCK;
    host_abort(&h, LIMIT);
  }
  check(wrong == 0, "after an abort or a soft reset at a random moment the next program runs (%u wrong)",
        wrong);
  check(slow == 0, "aborts end within outstanding x latency + 1000 cycles (%u do not)", slow);
  check(outside == 0, "memory outside the transfers is untouched (%u bytes are not)", outside);
  expect_no_error(&h, "abort");
  close_model(&h, "abort");
}

static void test_abort_refuses(void) {
  struct host h;
  open_model(&h, 0);
  prepare(&h);
  issue_round(&h, 0);
  uint64_t ran;
  tpu_stop reason;
  h.status = h.api->advance(h.model, 60, &ran, &reason);
  uint32_t depth = host_parameter(&h, TPU_PARAM_QUEUE_DEPTH);
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_ABORT_MASK);
  host_go(&h, TPU_QUEUE_SYNC, 1);
  bool aborting = host_read(&h, TPU_REG_STATUS) & TPU_REG_STATUS_ABORTING_MASK;
  check(!aborting || free_slots(&h, TPU_QUEUE_SYNC) == depth, "GO is refused during an abort");
  expect_no_error(&h, "GO during an abort");
  close_model(&h, "abort refuses");
}

static void test_hard_reset(void) {
  struct host h;
  open_model(&h, 64);
  prepare(&h);
  issue_round(&h, 0);
  host_write(&h, TPU_REG_SCRATCH, 0x1234);
  check(h.api->reset(h.model, TPU_RESET_HARD) == TPU_OK, "hard reset in the middle of a burst");
  check(host_read(&h, TPU_REG_STATUS) == TPU_REG_STATUS_IDLE_MASK && host_read(&h, TPU_REG_SCRATCH) == 0 &&
            sem_value(&h, 4) == 0,
        "everything is as after power on");
  prepare(&h);
  for (uint32_t i = 0; i < 4; i++)
    issue_round(&h, i);
  check(host_run(&h, LIMIT) == TPU_STOP_IDLE && copied(&h, 4), "and a program runs");
  close_model(&h, "hard reset");
}

/* A configured latency is the register's reset value, whichever reset it is. */
static void test_latency(void) {
  struct host h;
  char error[256] = "";
  tpu_model_config c = host_config();
  c.hbm_latency = 140;
  c.config = options.config;
  check(host_open(&h, options.model, &c, error, sizeof error), "a latency of 140 is taken: %s", error);
  check(host_read(&h, TPU_REG_HBM_LATENCY) == 140, "HBM_LATENCY after creation: 140");
  host_write(&h, TPU_REG_HBM_LATENCY, 60);
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_ABORT_MASK);
  host_run(&h, LIMIT);
  check(host_read(&h, TPU_REG_HBM_LATENCY) == 60, "HBM_LATENCY after an abort keeps what was written: 60");
  check(h.api->reset(h.model, TPU_RESET_SOFT) == TPU_OK, "soft reset");
  check(host_read(&h, TPU_REG_HBM_LATENCY) == 140, "HBM_LATENCY after a soft reset: 140");
  host_write(&h, TPU_REG_HBM_LATENCY, 60);
  check(h.api->reset(h.model, TPU_RESET_HARD) == TPU_OK, "hard reset");
  check(host_read(&h, TPU_REG_HBM_LATENCY) == 140, "HBM_LATENCY after a hard reset: 140");
  close_model(&h, "latency");
}

/* ---- save and restore -------------------------------------------------------------------------------------
 */

static void finish(struct host *h, struct run *run) {
  tpu_stop reason = TPU_STOP_BUDGET;
  while (h->status == TPU_OK && reason != TPU_STOP_IDLE && reason != TPU_STOP_BLOCKED) {
    uint64_t ran;
    h->status = h->api->advance(h->model, LIMIT, &ran, &reason);
    collect(h, run);
  }
  run->cycle = h->api->cycle(h->model);
}

static void test_save(void) {
  struct host h, other;
  struct check_random r = {options.seed + 5};
  static struct run a, b;
  size_t size = 0;
  unsigned wrong = 0, rounds = 20;
  open_model(&h, RECORDS);
  tpu_status status = h.api->save(h.model, NULL, &size);
  if (status == TPU_ENOTSUP) {
    check(true, "this model does not save");
    close_model(&h, "save");
    return;
  }
  check(status == TPU_OK && size > 0, "save() tells the size: %zu bytes", size);
  close_model(&h, "save");
  for (unsigned i = 0; i < rounds; i++) {
    uint64_t ran;
    tpu_stop reason;
    a.records = b.records = 0;
    open_model(&h, RECORDS);
    open_model(&other, RECORDS);
    prepare(&h);
    for (uint32_t k = 0; k < 2; k++)
      issue_round(&h, k);
    h.api->advance(h.model, check_random_below(&r, 1500), &ran, &reason);
    size_t need = 0;
    h.api->save(h.model, NULL, &need);
    uint8_t *image = malloc(need);
    size_t short_of = need - 1;
    wrong += h.api->save(h.model, image, &short_of) == TPU_OK || short_of != need;
    wrong += h.api->save(h.model, image, &need) != TPU_OK;
    memcpy(other.hbm, h.hbm, 0x400000);
    wrong += other.api->restore(other.model, image, need - 1) == TPU_OK;
    wrong += other.api->restore(other.model, image, need) != TPU_OK;
    free(image);
    finish(&h, &a);
    finish(&other, &b);
    wrong += a.records != b.records || a.cycle != b.cycle ||
             memcmp(a.record, b.record, a.records * sizeof a.record[0]) != 0 || !copied(&h, 2) ||
             !copied(&other, 2);
    close_model(&h, "save");
    close_model(&other, "save");
  }
  check(wrong == 0, "saved at %u random moments and restored elsewhere, the program goes on alike (%u wrong)",
        rounds, wrong);
}

/* ---- life of a context ------------------------------------------------------------------------------------
 */

static void test_create(void) {
  struct host h;
  char error[256] = "";
  tpu_model_config c = host_config();
  c.abi_hash ^= 1;
  char hash[16];
  snprintf(hash, sizeof hash, "%08x", c.abi_hash);
  check(!host_open(&h, options.model, &c, error, sizeof error) && strstr(error, hash),
        "a wrong ABI hash is refused: %s", error);
  c = host_config();
  c.config = "sim17";
  check(!host_open(&h, options.model, &c, error, sizeof error) && strstr(error, "sim17"),
        "an unknown configuration is refused: %s", error);
  c = host_config();
  c.struct_size = offsetof(tpu_model_config, timing) - 4;
  check(!host_open(&h, options.model, &c, error, sizeof error) && strstr(error, "the least is"),
        "a configuration that is too short is refused: %s", error);
  c.struct_size = offsetof(tpu_model_config, timing);
  c.timing = c.detect_races = ~0u; /* behind the end */
  c.config = options.config;
  if (check(host_open(&h, options.model, &c, error, sizeof error), "the configuration of an older host: %s",
            error))
    close_model(&h, "older host");
  c = host_config();
  c.config = options.config;
  c.struct_size += 64;
  struct {
    tpu_model_config known;
    uint8_t unknown[64];
  } newer = {.known = c};
  memset(newer.unknown, 0xff, sizeof newer.unknown);
  if (check(host_open(&h, options.model, &newer.known, error, sizeof error),
            "the configuration of a newer host: %s", error))
    close_model(&h, "newer host");
  struct host two[2];
  open_model(&two[0], 0);
  open_model(&two[1], 0);
  host_write(&two[0], TPU_REG_SCRATCH, 1);
  host_write(&two[1], TPU_REG_SCRATCH, 2);
  check(host_read(&two[0], TPU_REG_SCRATCH) == 1 && host_read(&two[1], TPU_REG_SCRATCH) == 2,
        "two contexts in one process do not know of each other");
  close_model(&two[0], "create");
  close_model(&two[1], "create");
}

void test_life(void) {
  test_create();
  test_determinism();
  test_next_event();
  test_abort();
  test_abort_refuses();
  test_hard_reset();
  test_latency();
  test_save();
  add_results(&check_state);
}
