/* SPDX-License-Identifier: MIT */
/* Every register: reset value, bits, direction; windows, parameter ROM, program memory, counters, time. */
#include "func_test.h"

#include <string.h>

#define NO_REGISTER 0u
#define READABLE    1u
#define WRITABLE    2u
#define BOTH        3u

/* ---- the map ----------------------------------------------------------------------------------------------
 */

static unsigned control_access(uint32_t offset) {
  switch (offset) {
  case TPU_REG_ID:
  case TPU_REG_VERSION:
  case TPU_REG_ABI_HASH:
  case TPU_REG_FEATURES:
  case TPU_REG_STATUS:
  case TPU_REG_CYCLE_LO:
  case TPU_REG_CYCLE_HI:
  case TPU_REG_ERROR:
  case TPU_REG_ERROR_TAG:
  case TPU_REG_ERROR_DETAIL0:
  case TPU_REG_ERROR_DETAIL1:
    return READABLE;
  case TPU_REG_CTRL: /* reads 0 */
  case TPU_REG_INTR_STATE:
  case TPU_REG_INTR_ENABLE:
  case TPU_REG_INTR_SPACE:
  case TPU_REG_TRACE_MARK:
  case TPU_REG_SCRATCH:
  case TPU_REG_HBM_LATENCY:
    return BOTH;
  case TPU_REG_INTR_TEST:
    return WRITABLE;
  default:
    return NO_REGISTER;
  }
}

static unsigned stage_access(uint32_t offset) {
  static const uint32_t words[7] = {TPU_DMA_ARG_WORDS,
                                    TPU_DMA_ARG_WORDS,
                                    TPU_DMA_ARG_WORDS,
                                    TPU_DMA_ARG_WORDS,
                                    TPU_MXU_ARG_WORDS,
                                    TPU_VPU_ARG_WORDS,
                                    0};
  uint32_t queue = (offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE, o = offset % TPU_QUEUE_STRIDE;
  if (queue >= 7)
    return NO_REGISTER;
  bool head = o <= TPU_Q_SIGNALS || (o >= TPU_Q_WAIT_AMOUNT(0) && o < TPU_Q_WAIT_AMOUNT(4)) ||
              (o >= TPU_Q_SIGNAL_AMOUNT(0) && o < TPU_Q_SIGNAL_AMOUNT(2));
  bool argument = o >= TPU_QUEUE_ARGS && o < TPU_QUEUE_ARGS + 4 * words[queue];
  return head || argument ? BOTH : NO_REGISTER;
}

static bool in_array(uint32_t offset, uint32_t first, uint32_t words) {
  return offset >= first && offset < first + 4 * words;
}

static unsigned access_of(uint32_t offset) {
  if (offset < 0x400)
    return control_access(offset);
  if (in_array(offset, TPU_REG_PARAM_ID(0), 2 * TPU_REG_PARAM_COUNT) ||
      in_array(offset, TPU_REG_COUNTER(0, 0, 0), 7 * 16))
    return READABLE;
  if (in_array(offset, TPU_REG_SEM_VALUE(0), 64) || in_array(offset, TPU_REG_SEM_MODE(0), 2) ||
      in_array(offset, TPU_REG_VPROG(0), TPU_REG_VPROG_COUNT))
    return BOTH;
  if (in_array(offset, TPU_REG_SEM_SIGNAL(0), 128))
    return WRITABLE;
  return offset >= TPU_QUEUE_BASE(0) && offset < TPU_QUEUE_BASE(8) ? stage_access(offset) : NO_REGISTER;
}

static void test_map(void) {
  struct host h;
  unsigned wrong = 0;
  uint32_t first = 0;
  open_model(&h, 0);
  for (uint32_t o = 0; o < PEPLOS_TPU_SIZE; o += 4) {
    bool bad_read = !(access_of(o) & READABLE), bad_write = !(access_of(o) & WRITABLE);
    for (int write = 0; write < 2; write++) {
      struct host_error e, want = {0},
                           bad = {TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, o, write ? 0x5a5au : 0};
      if (write && !bad_write)
        continue; /* writes that are allowed have tests of their own */
      uint32_t value = 0;
      if (write)
        host_write(&h, o, 0x5a5a);
      else
        value = host_read(&h, o);
      e = host_error(&h);
      if (write || bad_read)
        want = bad;
      bool ok = same_error(e, want) && !(want.code && value != 0);
      if (!ok && wrong++ == 0)
        first = o;
      if (e.code != 0)
        host_abort(&h, LIMIT);
    }
  }
  check(wrong == 0,
        "all 16384 offsets: access in a direction that there is not is BAD_ACCESS, others are not (%u "
        "wrong, first 0x%x)",
        wrong, first);
  close_model(&h, "map");
}

static void test_sizes(void) {
  struct host h;
  open_model(&h, 0);
  for (unsigned size = 1; size <= 2; size++)
    for (uint32_t byte = 0; byte < 4; byte += size) {
      char what[64];
      snprintf(what, sizeof what, "read of %u bytes of a register at byte %u", size, byte);
      check(host_read_sized(&h, TPU_REG_ID + byte, size) == 0, "%s gives 0", what);
      expect_error(&h, what,
                   (struct host_error){TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, TPU_REG_ID + byte, 0});
    }
  host_write(&h, TPU_REG_SCRATCH, 0x11223344);
  host_write_sized(&h, TPU_REG_SCRATCH, 2, 0xffff);
  expect_error(&h, "16-bit write to a register",
               (struct host_error){TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, TPU_REG_SCRATCH, 0xffff});
  check(host_read(&h, TPU_REG_SCRATCH) == 0x11223344, "a rejected write stores nothing");
  host_read(&h, 0x10000);
  expect_error(&h, "read between the windows",
               (struct host_error){TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, 0x10000, 0});
  host_write(&h, 0xffffc, 7);
  expect_error(&h, "write between the windows",
               (struct host_error){TPU_ERROR_BAD_ACCESS, TPU_QUEUE_SCALAR, 0, 0xffffc, 7});
  close_model(&h, "sizes");
}

/* ---- control registers ------------------------------------------------------------------------------------
 */

static void test_identity(void) {
  struct host h;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  check(host_read(&h, TPU_REG_ID) == 0x4c504550, "ID reads PEPL");
  check(host_read(&h, TPU_REG_VERSION) == 0x00010001, "VERSION is 1.1");
  check(host_read(&h, TPU_REG_ABI_HASH) == TPU_ABI_HASH && h.api->abi_hash == TPU_ABI_HASH,
        "the ABI hash is the header's, in the register and in the API");
  uint32_t features = c->mxu_int8 << TPU_REG_FEATURES_MXU_INT8_SHIFT |
                      c->mxu_bf16 << TPU_REG_FEATURES_MXU_BF16_SHIFT |
                      c->vpu_present << TPU_REG_FEATURES_VPU_SHIFT |
                      (uint32_t)(c->eup_lanes > 0) << TPU_REG_FEATURES_EUP_SHIFT |
                      c->vpu_present << TPU_REG_FEATURES_XLU_SHIFT | TPU_REG_FEATURES_GATHER_MASK;
  check(host_read(&h, TPU_REG_FEATURES) == features, "FEATURES 0x%x are the configuration's",
        host_read(&h, TPU_REG_FEATURES));
  unsigned wrong = 0;
#define PARAMETER(member, id) wrong += host_parameter(&h, id) != c->member;
  TPU_CONFIG_PARAMS(PARAMETER)
#undef PARAMETER
  check(wrong == 0, "the parameter ROM holds every parameter of %s (%u wrong)", c->name, wrong);
  check(host_read(&h, TPU_REG_PARAM_ID(TPU_REG_PARAM_COUNT - 1)) == TPU_PARAM_END,
        "unused entries of the parameter ROM read 0");
  close_model(&h, "identity");
}

static void check_bits(struct host *h, const char *name, uint32_t offset, uint32_t reset, uint32_t bits) {
  static const uint32_t values[] = {0, 0xffffffff, 0xa5a5a5a5, 0x5a5a5a5a, 0x12345678};
  bool ok = true;
  uint32_t at_reset = host_read(h, offset);
  for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
    host_write(h, offset, values[i]);
    ok &= host_read(h, offset) == (values[i] & bits);
  }
  host_write(h, offset, reset);
  check(at_reset == reset && ok, "%s: reset 0x%x, bits 0x%x are kept", name, at_reset, bits);
}

static void test_control(void) {
  struct host h;
  open_model(&h, 0);
  check_bits(&h, "INTR_ENABLE", TPU_REG_INTR_ENABLE, 0, 0xf);
  check_bits(&h, "INTR_SPACE", TPU_REG_INTR_SPACE, 0, 0x0fffffff);
  check_bits(&h, "TRACE_MARK", TPU_REG_TRACE_MARK, 0, 0xffffffff);
  check_bits(&h, "SCRATCH", TPU_REG_SCRATCH, 0, 0xffffffff);
  check_bits(&h, "HBM_LATENCY", TPU_REG_HBM_LATENCY, 100, 0xffff);
  check(host_read(&h, TPU_REG_CTRL) == 0, "CTRL reads 0");
  check(host_read(&h, TPU_REG_STATUS) == TPU_REG_STATUS_IDLE_MASK, "STATUS after reset: idle, nothing else");
  check(host_read(&h, TPU_REG_INTR_STATE) == 0, "INTR_STATE after reset is 0");
  uint64_t before = h.api->cycle(h.model);
  uint32_t a = host_read(&h, TPU_REG_CYCLE_LO);
  uint64_t after = h.api->cycle(h.model);
  uint32_t b = host_read(&h, TPU_REG_CYCLE_LO);
  check(before <= a && a < after && after - before <= 20,
        "CYCLE_LO is a cycle of the access (%u in %u .. %u)", a, (uint32_t)before, (uint32_t)after);
  check(b - a == after - before, "equal accesses take equal time");
  host_run(&h, LIMIT); /* until it says that it is idle */
  uint64_t target =
      UINT64_C(0x300000000) - 1 - (a - before); /* so that the low half is read before it wraps */
  check(h.api->skip(h.model, target - h.api->cycle(h.model)) == TPU_OK, "an idle model skips");
  a = host_read(&h, TPU_REG_CYCLE_LO);
  uint32_t high = host_read(&h, TPU_REG_CYCLE_HI);
  check(a == 0xffffffff && high == 2, "reading CYCLE_LO holds CYCLE_HI (0x%x, %u)", a, high);
  host_read(&h, TPU_REG_CYCLE_LO);
  check(host_read(&h, TPU_REG_CYCLE_HI) == 3, "and the next read takes the new one");
  expect_no_error(&h, "control registers");
  close_model(&h, "control");
}

/* ---- staging registers ------------------------------------------------------------------------------------
 */

static uint32_t stage_bits(uint32_t queue, uint32_t o) {
  if (o == TPU_Q_SIGNALS)
    return 0x7ffff;
  if (o < TPU_QUEUE_ARGS)
    return 0xffffffff;
  if (queue < TPU_QUEUE_MXU)
    return o == TPU_DMA_MODE                            ? 0x7f
           : o == TPU_DMA_COUNT2 || o == TPU_DMA_VALID2 ? 0xffff
           : o == TPU_DMA_BOUND                         ? 0xffffff
                                                        : 0xffffffff;
  if (queue == TPU_QUEUE_MXU)
    return o == TPU_MXU_MODE ? 7 : o >= TPU_MXU_M && o <= TPU_MXU_K ? 0xfffff : 0xffffffff;
  return o == TPU_VPU_ENTRY         ? 0xffff
         : o == TPU_VPU_EDGE        ? 0xffff0f
         : o == TPU_VPU_SCALAR_MODE ? 0xff
                                    : 0xffffffff;
}

/* A value that any configuration takes: no wait or signal enabled, int8. */
static uint32_t harmless(uint32_t queue, uint32_t o, uint32_t value) {
  value &= stage_bits(queue, o);
  if (o == TPU_Q_WAITS)
    return value & 0x00007f7f; /* the first two waits are in every configuration */
  if (o == TPU_Q_WAIT_AMOUNT(2) || o == TPU_Q_WAIT_AMOUNT(3))
    return 0;
  if (o == TPU_Q_SIGNALS)
    return value & 0x77f7f;
  return queue == TPU_QUEUE_MXU && o == TPU_MXU_MODE ? value & ~1u : value;
}

static void test_staging(void) {
  struct host h;
  struct check_random r = {options.seed};
  static uint32_t written[7][TPU_QUEUE_STRIDE / 4];
  unsigned wrong = 0, kept = 0, rejected = 0, reserved = 0;
  open_model(&h, 0);
  for (uint32_t q = 0; q < 7; q++)
    for (uint32_t o = TPU_Q_WAITS; o < TPU_QUEUE_STRIDE; o += 4) {
      if (!stage_access(TPU_QUEUE_BASE(q) + o))
        continue;
      wrong += host_read(&h, TPU_QUEUE_BASE(q) + o) != 0;
      written[q][o / 4] = harmless(q, o, check_random32(&r));
      host_stage(&h, q, o, written[q][o / 4]);
    }
  expect_no_error(&h, "writing every staging register");
  for (uint32_t q = 0; q < 7; q++)
    for (uint32_t o = TPU_Q_WAITS; o < TPU_QUEUE_STRIDE; o += 4) {
      if (!stage_access(TPU_QUEUE_BASE(q) + o))
        continue;
      kept += host_read(&h, TPU_QUEUE_BASE(q) + o) != written[q][o / 4];
      if (stage_bits(q, o) == 0xffffffff)
        continue;
      struct host_error want = {TPU_ERROR_BAD_FIELD, TPU_QUEUE_SCALAR, 0, o, ~stage_bits(q, o)};
      reserved++;
      host_stage(&h, q, o, ~stage_bits(q, o));
      rejected +=
          same_error(host_error(&h), want) && host_read(&h, TPU_QUEUE_BASE(q) + o) == written[q][o / 4];
      host_abort(&h, LIMIT);
    }
  check(wrong == 0, "staging registers are 0 after reset (%u are not)", wrong);
  check(kept == 0, "staging registers keep what is written, also over an abort (%u do not)", kept);
  check(rejected == reserved && reserved == 30,
        "reserved bits in %u of %u staging registers: BAD_FIELD, not stored", rejected, reserved);
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
  host_run(&h, LIMIT);
  for (uint32_t q = 0; q < 7; q++)
    for (uint32_t o = TPU_Q_WAITS; o < TPU_QUEUE_STRIDE; o += 4)
      wrong += stage_access(TPU_QUEUE_BASE(q) + o) && host_read(&h, TPU_QUEUE_BASE(q) + o) != 0;
  check(wrong == 0, "soft reset zeroes the staging registers (%u are not 0)", wrong);
  close_model(&h, "staging");
}

/* ---- memories ---------------------------------------------------------------------------------------------
 */

static void test_window(uint32_t window, unsigned memory, uint32_t bytes, const char *name) {
  struct host h;
  struct check_random r = {options.seed};
  static uint8_t copy[1 << 20];
  unsigned wrong = 0;
  open_model(&h, 0);
  host_peek(&h, memory, 0, copy, bytes);
  for (unsigned i = 0; i < 2000; i++) {
    unsigned size = 1u << check_random_below(&r, 3);
    uint32_t address = check_random_below(&r, bytes / size) * size, value = check_random32(&r);
    if (i == 0)
      address = bytes - size; /* the last one */
    if (check_random_below(&r, 2)) {
      host_write_sized(&h, window + address, size, value);
      memcpy(copy + address, &value, size);
    } else {
      uint32_t want = 0;
      memcpy(&want, copy + address, size);
      wrong += host_read_sized(&h, window + address, size) != want;
    }
  }
  static uint8_t now[1 << 20];
  settle(&h);
  host_peek(&h, memory, 0, now, bytes);
  check(wrong == 0 && memcmp(copy, now, bytes) == 0,
        "%s window: 2000 accesses of 8, 16 and 32 bits (%u wrong)", name, wrong);
  expect_no_error(&h, name);
  check(host_read(&h, window + bytes) == 0, "%s window: a read past the end gives 0", name);
  expect_error(&h, "read past the end",
               (struct host_error){TPU_ERROR_RANGE, TPU_QUEUE_SCALAR, 0, memory << 8, bytes});
  host_write_sized(&h, window + bytes + 0x1003, 1, 1);
  expect_error(&h, "write past the end",
               (struct host_error){TPU_ERROR_RANGE, TPU_QUEUE_SCALAR, 0, memory << 8, bytes + 0x1003});
  close_model(&h, name);
}

static void test_program(void) {
  struct host h;
  struct check_random r = {options.seed};
  static uint32_t words[TPU_REG_VPROG_COUNT];
  unsigned wrong = 0;
  open_model(&h, 0);
  uint32_t count = 2 * host_parameter(&h, TPU_PARAM_VPU_PROGRAM);
  for (uint32_t i = 0; i < count; i++)
    wrong += host_read(&h, TPU_REG_VPROG(i)) != 0;
  check(wrong == 0, "program memory is zero after reset");
  for (uint32_t i = 0; i < count; i++) {
    words[i] = check_random32(&r);
    host_write(&h, TPU_REG_VPROG(i), words[i]);
  }
  for (uint32_t i = 0; i < count; i++)
    wrong += host_read(&h, TPU_REG_VPROG(i)) != words[i];
  check(wrong == 0, "program memory keeps %u words (%u wrong)", count, wrong);
  host_write(&h, TPU_REG_VPROG(10), 0x11111111);
  check(host_read(&h, TPU_REG_VPROG(10)) == words[10], "the low word alone changes nothing");
  host_write(&h, TPU_REG_VPROG(11), 0x22222222);
  check(host_read(&h, TPU_REG_VPROG(10)) == 0x11111111 && host_read(&h, TPU_REG_VPROG(11)) == 0x22222222,
        "the high word writes the instruction");
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_SOFT_RESET_MASK);
  host_run(&h, LIMIT);
  check(host_read(&h, TPU_REG_VPROG(12)) == words[12], "program memory survives a soft reset");
  expect_no_error(&h, "program memory");
  close_model(&h, "program");
}

static uint32_t reset_word(uint32_t seed, uint32_t memory, uint32_t word) {
  uint32_t x = seed ^ (memory * 0x9e3779b9u) ^ (word * 0x85ebca6bu);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

static void test_reset_contents(void) {
  struct host h;
  static uint32_t words[1 << 18];
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  const uint32_t bytes[4] = {0, c->vmem_bytes, c->smem_bytes, c->acc_rows * c->dim * 4};
  for (int round = 0; round < 2; round++) {
    for (unsigned memory = TPU_SPACE_VMEM; memory <= TPU_SPACE_ACC; memory++) {
      unsigned wrong = 0;
      host_peek(&h, memory, 0, words, bytes[memory]);
      for (uint32_t w = 0; w < bytes[memory] / 4; w++)
        wrong += words[w] != reset_word(options.seed, memory, w);
      check(wrong == 0, "memory %u holds the documented contents after %s (%u words differ)", memory,
            round ? "a hard reset" : "power on", wrong);
      memset(words, 0x55, bytes[memory]);
      host_poke(&h, memory, 0, words, bytes[memory]);
    }
    check(h.api->reset(h.model, TPU_RESET_HARD) == TPU_OK, "hard reset");
  }
  close_model(&h, "reset contents");
}

/* ---- counters ---------------------------------------------------------------------------------------------
 */

static void test_counters(void) {
  struct host h;
  open_model(&h, 0);
  host_sync(&h, 1, NULL);
  host_sync(&h, 2, NULL);
  host_run(&h, LIMIT);
  check(host_read(&h, TPU_REG_COUNTER(TPU_QUEUE_SYNC, TPU_COUNTER_COMMANDS, 0)) == 0,
        "counters read what was latched");
  check(host_counter(&h, TPU_QUEUE_SYNC, TPU_COUNTER_COMMANDS) == 2, "two commands are counted");
  host_sync(&h, 3, NULL);
  host_run(&h, LIMIT);
  host_write(&h, TPU_REG_CTRL, TPU_REG_CTRL_LATCH_COUNTERS_MASK | TPU_REG_CTRL_CLEAR_COUNTERS_MASK);
  check(host_read(&h, TPU_REG_COUNTER(TPU_QUEUE_SYNC, TPU_COUNTER_COMMANDS, 0)) == 3,
        "latch and clear in one write: the old value is latched");
  check(host_counter(&h, TPU_QUEUE_SYNC, TPU_COUNTER_COMMANDS) == 0, "counters are cleared");
  host_sync(&h, 4, NULL);
  host_run(&h, LIMIT);
  host_abort(&h, LIMIT);
  check(host_counter(&h, TPU_QUEUE_SYNC, TPU_COUNTER_COMMANDS) == 1, "abort keeps counters");
  struct host_head wait = {.waits = 1, .wait = {{9, 1, false}}};
  host_sync(&h, 5, &wait);
  host_run(&h, LIMIT);
  uint64_t waited = host_counter(&h, TPU_QUEUE_SYNC, TPU_COUNTER_WAIT);
  host_run(&h, LIMIT);
  h.api->skip(h.model, 1000);
  check(host_counter(&h, TPU_QUEUE_SYNC, TPU_COUNTER_WAIT) >= waited + 1000, "WAIT counts skipped cycles");
  check(host_read(&h, TPU_REG_COUNTER(2, TPU_COUNTER_RESERVED, 0)) == 0, "the reserved counter reads 0");
  expect_no_error(&h, "counters");
  close_model(&h, "counters");
}

void test_registers(void) {
  struct host h;
  open_model(&h, 0);
  const struct tpu_config *c = config_of(&h);
  close_model(&h, "configuration");
  test_map();
  test_sizes();
  test_identity();
  test_control();
  test_staging();
  test_window(TPU_WINDOW_SMEM, TPU_SPACE_SMEM, c->smem_bytes, "SMEM");
  test_window(TPU_WINDOW_VMEM, TPU_SPACE_VMEM, c->vmem_bytes, "VMEM");
  test_program();
  test_reset_contents();
  test_counters();
  add_results(&check_state);
}
