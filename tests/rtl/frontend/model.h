// SPDX-License-Identifier: MIT
//
// The front end as the contract describes it: registers, queues, semaphores, first error, interrupts,
// counters. Written from docs/contract.md and the register reference, not from the RTL.
//
// It is told what happens (accesses, starts, completions) cycle by cycle. It does not know in which cycle
// a head starts; the bench tells it, after asking may_start().
#ifndef FRONTEND_MODEL_H
#define FRONTEND_MODEL_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

#include "tpu_configs.h"
#include "tpu_memmap.h"
#include "tpu_regs.h"

constexpr int kQueues = 7;
constexpr int kEngines = 6;
constexpr unsigned kStarted = 4;
constexpr uint32_t kCountMax = 0x7fffffff;
constexpr uint32_t kResetLatency = 137; // what the pins say; not the register block's own 100

inline const tpu_config *find_config(const char *name) {
  static const tpu_config table[] = {TPU_CONFIG_TABLE};
  for (const tpu_config &c : table) {
    if (std::strcmp(c.name, name) == 0)
      return &c;
  }
  return nullptr;
}

struct Error {
  bool valid = false;
  uint32_t code = 0, queue = 0, tag = 0, detail0 = 0, detail1 = 0;
};

struct Event {
  uint32_t queue, code, tag, arg;
  bool operator==(const Event &o) const {
    return queue == o.queue && code == o.code && tag == o.tag && arg == o.arg;
  }
};

struct Command {
  uint32_t tag = 0, waits = 0, signals = 0, wait_amount[4] = {}, signal_amount[2] = {};
  uint32_t args[TPU_VPU_ARG_WORDS] = {};
  bool reported = false;  // WAIT was traced
  unsigned ready_for = 0; // cycles in which it could have started

  bool en(int i) const { return waits >> (8 * i + 7) & 1; }
  bool consume(int i) const { return waits >> (8 * i + 6) & 1; }
  unsigned sem(int i) const { return waits >> (8 * i) & 63; }
};

struct Queue {
  uint32_t stage[128] = {};
  std::deque<Command> waiting, started;
  bool halted = false;
  uint64_t counter[7] = {}, latched[7] = {};
};

enum { kBusy, kWait, kStarved, kStall, kCommands, kBytes, kWork };

struct Access {
  uint32_t offset = 0, value = 0;
  unsigned size = 4;
  bool write = false;
};

class Model {
public:
  explicit Model(const tpu_config &c) : config(c) {}
  const tpu_config &config;
  Queue queue[kQueues];
  uint32_t sem[64] = {};
  bool ticket[64] = {};
  Error error;
  uint32_t intr = 0, enable = 0, space = 0, mark = 0, scratch = 0, latency = kResetLatency, cycle_high = 0;
  bool aborting = false;
  std::vector<Event> events; // of this cycle

  // ---- state that is read ----

  unsigned free_slots(int q) const { return config.queue_depth - unsigned(queue[q].waiting.size()); }
  bool anything() const {
    return std::any_of(queue, queue + kQueues,
                       [](const Queue &q) { return !q.waiting.empty() || !q.started.empty(); });
  }
  uint32_t intr_state() const {
    uint32_t v = intr;
    for (int q = 0; q < kQueues; ++q) {
      const uint32_t t = space >> (4 * q) & 15;
      if (t != 0 && free_slots(q) >= t)
        v |= TPU_REG_INTR_STATE_SPACE_MASK;
    }
    return v;
  }
  bool irq() const { return (intr_state() & enable) != 0; }
  bool is_waiting(int q) const {
    return !queue[q].halted && !queue[q].waiting.empty() && queue[q].waiting.front().reported;
  }

  // ---- waits ----

  bool holds(const Command &c, int i) const {
    if (!c.en(i))
      return true;
    const uint32_t v = sem[c.sem(i)];
    return ticket[c.sem(i)] ? int32_t(v - c.wait_amount[i]) >= 0 : v >= c.wait_amount[i];
  }
  int first_missing(const Command &c) const {
    for (int i = 0; i < int(config.waits); ++i) {
      if (!holds(c, i))
        return int(c.sem(i));
    }
    return -1;
  }
  bool takes(const Command &c, int i) const { return c.en(i) && c.consume(i) && !ticket[c.sem(i)]; }
  bool conflict(const Command &a, const Command &b) const {
    for (int i = 0; i < int(config.waits); ++i) {
      for (int j = 0; j < int(config.waits); ++j) {
        if (a.en(i) && b.en(j) && a.sem(i) == b.sem(j) && (takes(a, i) || takes(b, j)))
          return true;
      }
    }
    return false;
  }
  bool may_start(int q) const {
    const Queue &k = queue[q];
    return !k.halted && !(failed_ >> q & 1) && !aborting && !k.waiting.empty() &&
           k.started.size() < kStarted && first_missing(k.waiting.front()) < 0;
  }

  // ---- what happens in a cycle; effects are collected and land in end_of_cycle ----

  void start(int q) {
    Queue &k = queue[q];
    Command &c = k.waiting.front();
    for (int i = 0; i < int(config.waits); ++i) {
      if (takes(c, i))
        take_[c.sem(i)] += c.wait_amount[i];
    }
    event(q, TPU_EVENT_START, c.tag, 0);
    starts_ |= 1u << q;
  }
  void wait(int q) {
    Command &c = queue[q].waiting.front();
    event(q, TPU_EVENT_WAIT, c.tag, uint32_t(first_missing(c)));
    waits_ |= 1u << q;
  }
  void complete(int q, uint64_t bytes, uint64_t work) {
    Queue &k = queue[q];
    const Command &c = k.started.front();
    event(q, TPU_EVENT_END, c.tag, q < 4 ? uint32_t(bytes) : 0);
    for (int i = 0; i < 2; ++i) {
      const uint32_t bits = c.signals >> (8 * i);
      if (!(bits & 0x80))
        continue;
      signal(bits & 63, bits & 0x40 ? (q < 4 ? bytes : 0) : c.signal_amount[i], q, c.tag);
    }
    if (c.signals & TPU_Q_SIGNALS_IRQ_MASK)
      set_ |= TPU_REG_INTR_STATE_DONE_MASK;
    done_ |= 1u << q;
    bytes_ = bytes;
    work_ = work;
  }
  void fail(int q, const Error &e) {
    raise({true, e.code, uint32_t(q), queue[q].started.front().tag, e.detail0, e.detail1});
    failed_ |= 1u << q;
  }

  // An access of the scalar core that completes in this cycle. Returns what a read gives; window
  // contents belong to the bench (*window is set when the access reaches a memory).
  uint32_t access(const Access &a, uint64_t cycle, bool idle, bool *window);

  void end_of_cycle(uint64_t passed, unsigned stall, bool blocked_rises);

private:
  uint64_t add_[64] = {}, take_[64] = {};
  uint32_t signaller_[64] = {}, signal_tag_[64] = {};
  unsigned starts_ = 0, waits_ = 0, done_ = 0, failed_ = 0, latch_ = 0;
  uint32_t set_ = 0, clear_ = 0;
  uint64_t bytes_ = 0, work_ = 0;
  bool clear_counters_ = false, abort_ = false, reset_ = false;
  Error new_error_;

  void event(uint32_t q, uint32_t code, uint32_t tag, uint32_t arg) { events.push_back({q, code, tag, arg}); }
  // Of two errors in one cycle the one of the lower queue is the first.
  void raise(const Error &e) {
    if (!error.valid && (!new_error_.valid || e.queue < new_error_.queue))
      new_error_ = e;
  }
  uint32_t reject(uint32_t code, uint32_t detail0, uint32_t detail1) {
    raise({true, code, TPU_QUEUE_SCALAR, 0, detail0, detail1});
    return 0;
  }
  void signal(uint32_t s, uint64_t amount, uint32_t q, uint32_t tag) {
    add_[s] += amount;
    signaller_[s] = q;
    signal_tag_[s] = tag;
    event(q, TPU_EVENT_SIGNAL, tag, s | uint32_t(std::min<uint64_t>(amount, 0xffffff)) << 8);
  }
  void go(uint32_t q, uint32_t tag);
  uint32_t control(const Access &a, uint64_t cycle);
  uint32_t status() const;
  uint32_t semaphores(const Access &a, bool idle);
  uint32_t staging(const Access &a);
  void apply_semaphores();
  void apply_counters(uint64_t passed, unsigned stall);

  Command pending_go_;
  int go_queue_ = -1;

public:
  bool idle_ = true, blocked_ = false; // as the device shows them in this cycle
};

inline uint32_t Model::status() const {
  uint32_t v =
      uint32_t(idle_) | uint32_t(blocked_) << 1 | uint32_t(aborting) << 2 | uint32_t(error.valid) << 3;
  for (int q = 0; q < kQueues; ++q) {
    v |= uint32_t(!queue[q].waiting.empty() || !queue[q].started.empty()) << (8 + q);
    v |= uint32_t(is_waiting(q)) << (16 + q);
    v |= uint32_t(queue[q].halted) << (24 + q);
  }
  return v;
}

inline uint32_t Model::control(const Access &a, uint64_t cycle) {
  const uint32_t latched =
      TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK;
  const uint32_t v = a.value;
  if (a.write) {
    switch (a.offset) {
    case TPU_REG_CTRL:
      latch_ = v >> 2 & 1;
      clear_counters_ = v >> 3 & 1;
      reset_ = v >> 1 & 1;
      abort_ = (v & 3) != 0;
      if (abort_)
        event(TPU_QUEUE_SCALAR, TPU_EVENT_ABORT, 0, 0);
      return 0;
    case TPU_REG_INTR_STATE:
      clear_ |= v & latched;
      return 0;
    case TPU_REG_INTR_TEST:
      set_ |= v & latched;
      return 0;
    case TPU_REG_INTR_ENABLE:
      enable = v & 15;
      return 0;
    case TPU_REG_INTR_SPACE:
      space = v & 0x0fffffff;
      return 0;
    case TPU_REG_SCRATCH:
      scratch = v;
      return 0;
    case TPU_REG_HBM_LATENCY:
      latency = v & 0xffff;
      return 0;
    case TPU_REG_TRACE_MARK:
      mark = v;
      event(TPU_QUEUE_SCALAR, TPU_EVENT_MARK, v, 0);
      return 0;
    default:
      return reject(TPU_ERROR_BAD_ACCESS, a.offset, v);
    }
  }
  switch (a.offset) {
  case TPU_REG_ID:
    return 0x4c504550;
  case TPU_REG_VERSION:
    return 0x00010001;
  case TPU_REG_ABI_HASH:
    return TPU_ABI_HASH;
  case TPU_REG_FEATURES:
    return config.mxu_int8 | config.mxu_bf16 << 1 | config.vpu_present << 2 |
           uint32_t(config.eup_lanes != 0) << 3 | config.vpu_present << 4 | 1u << 5;
  case TPU_REG_CTRL:
    return 0;
  case TPU_REG_STATUS:
    return status();
  case TPU_REG_INTR_STATE:
    return intr_state();
  case TPU_REG_INTR_ENABLE:
    return enable;
  case TPU_REG_INTR_SPACE:
    return space;
  case TPU_REG_CYCLE_LO:
    cycle_high = uint32_t(cycle >> 32);
    return uint32_t(cycle);
  case TPU_REG_CYCLE_HI:
    return cycle_high;
  case TPU_REG_ERROR:
    return error.valid ? error.code | error.queue << 8 | 0x80000000u : 0;
  case TPU_REG_ERROR_TAG:
    return error.tag;
  case TPU_REG_ERROR_DETAIL0:
    return error.detail0;
  case TPU_REG_ERROR_DETAIL1:
    return error.detail1;
  case TPU_REG_TRACE_MARK:
    return mark;
  case TPU_REG_SCRATCH:
    return scratch;
  case TPU_REG_HBM_LATENCY:
    return latency;
  default:
    return reject(TPU_ERROR_BAD_ACCESS, a.offset, 0);
  }
}

inline uint32_t Model::semaphores(const Access &a, bool idle) {
  const uint32_t o = a.offset, v = a.value, s = o % 256 / 4;
  if (o >= TPU_REG_SEM_MODE(0)) {
    const uint32_t half = s;
    if (!a.write) {
      uint32_t bits = 0;
      for (int i = 0; i < 32; ++i)
        bits |= uint32_t(ticket[32 * half + i]) << i;
      return bits;
    }
    if (32 * half >= config.semaphores && v != 0)
      return reject(TPU_ERROR_UNIT_ABSENT, o, v);
    if (!idle)
      return reject(TPU_ERROR_SEM_BUSY, o, v);
    for (uint32_t i = 0; i < 32; ++i) {
      if (32 * half + i < config.semaphores)
        ticket[32 * half + i] = v >> i & 1;
    }
    return 0;
  }
  const bool is_value = o < TPU_REG_SEM_SIGNAL(0), is_signal = !is_value && o < TPU_REG_SEM_TAKE(0);
  if (!a.write && !is_value)
    return reject(TPU_ERROR_BAD_ACCESS, o, 0);
  if (s >= config.semaphores)
    return a.write && v ? reject(TPU_ERROR_UNIT_ABSENT, o, v) : 0;
  if (!a.write)
    return sem[s];
  if (is_value) {
    if (!idle)
      return reject(TPU_ERROR_SEM_BUSY, o, v);
    sem[s] = v; // idle: nothing else happens to it in this cycle
    return 0;
  }
  if (is_signal) {
    signal(s, v, TPU_QUEUE_SCALAR, 0);
    return 0;
  }
  if (ticket[s])
    return reject(TPU_ERROR_BAD_ACCESS, o, v);
  if (v > sem[s])
    return reject(TPU_ERROR_SEM_UNDERFLOW, s, sem[s]);
  take_[s] += v;
  return 0;
}

// Bits of a staging register, 0 = there is none.
inline uint32_t stage_bits(uint32_t q, uint32_t o) {
  if (o == TPU_Q_GO || o == TPU_Q_WAITS)
    return 0xffffffff;
  if (o == TPU_Q_SIGNALS)
    return 0x0007ffff;
  if (o >= TPU_Q_WAIT_AMOUNT(0) && o < TPU_Q_WAIT_AMOUNT(4))
    return 0xffffffff;
  if (o >= TPU_Q_SIGNAL_AMOUNT(0) && o < TPU_Q_SIGNAL_AMOUNT(2))
    return 0xffffffff;
  if (o < TPU_QUEUE_ARGS || q == TPU_QUEUE_SYNC)
    return 0;
  const uint32_t word = (o - TPU_QUEUE_ARGS) / 4;
  if (q < 4) {
    if (word >= TPU_DMA_ARG_WORDS)
      return 0;
    return o == TPU_DMA_MODE                            ? 0x7f
           : o == TPU_DMA_COUNT2 || o == TPU_DMA_VALID2 ? 0xffff
           : o == TPU_DMA_BOUND                         ? 0xffffff
                                                        : 0xffffffff;
  }
  if (q == TPU_QUEUE_MXU) {
    if (word >= TPU_MXU_ARG_WORDS)
      return 0;
    return o == TPU_MXU_MODE ? 7 : o >= TPU_MXU_M && o <= TPU_MXU_K ? 0xfffff : 0xffffffff;
  }
  if (word >= TPU_VPU_ARG_WORDS)
    return 0;
  return o == TPU_VPU_ENTRY         ? 0xffff
         : o == TPU_VPU_EDGE        ? 0x00ffff0f
         : o == TPU_VPU_SCALAR_MODE ? 0xff
                                    : 0xffffffff;
}

inline void Model::go(uint32_t q, uint32_t tag) {
  if (error.valid || aborting)
    return;
  const uint32_t *w = queue[q].stage;
  Command c;
  c.tag = tag;
  c.waits = w[TPU_Q_WAITS / 4];
  c.signals = w[TPU_Q_SIGNALS / 4];
  std::copy(w + 4, w + 8, c.wait_amount);
  std::copy(w + 8, w + 10, c.signal_amount);
  std::copy(w + 16, w + 16 + TPU_VPU_ARG_WORDS, c.args);
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      if (c.en(i) && c.en(j) && c.sem(i) == c.sem(j)) {
        return raise({true, TPU_ERROR_SEM_DUPLICATE, q, tag, c.sem(i), 0});
      }
    }
  }
  if (free_slots(int(q)) == 0)
    return raise({true, TPU_ERROR_QUEUE_FULL, q, tag, 0, 0});
  event(q, TPU_EVENT_GO, tag, 0);
  pending_go_ = c;
  go_queue_ = int(q);
}

inline uint32_t Model::staging(const Access &a) {
  const uint32_t q = (a.offset - TPU_QUEUE_BASE(0)) / TPU_QUEUE_STRIDE, o = a.offset % TPU_QUEUE_STRIDE,
                 v = a.value;
  const uint32_t bits = q < kQueues ? stage_bits(q, o) : 0;
  if (bits == 0)
    return reject(TPU_ERROR_BAD_ACCESS, a.offset, a.write ? v : 0);
  if (!a.write)
    return o == TPU_Q_GO ? free_slots(int(q)) : queue[q].stage[o / 4];
  if (o == TPU_Q_GO) {
    go(q, v);
    return 0;
  }
  if (v & ~bits)
    return reject(TPU_ERROR_BAD_FIELD, o, v);
  bool absent = false;
  if (o == TPU_Q_WAITS || o == TPU_Q_SIGNALS) {
    for (uint32_t i = 0; i < (o == TPU_Q_WAITS ? 4u : 2u); ++i) {
      const uint32_t byte = v >> (8 * i) & 255;
      if (byte & 0x80 && (byte & 63) >= config.semaphores)
        absent = true;
      if (o == TPU_Q_WAITS && i >= config.waits && byte != 0)
        absent = true;
    }
  }
  if (o >= TPU_Q_WAIT_AMOUNT(0) && o < TPU_Q_WAIT_AMOUNT(4) &&
      (o - TPU_Q_WAIT_AMOUNT(0)) / 4 >= config.waits && v != 0)
    absent = true;
  if (q == TPU_QUEUE_MXU && o == TPU_MXU_MODE && (v & 1) && !config.mxu_bf16)
    absent = true;
  if (absent)
    return reject(TPU_ERROR_UNIT_ABSENT, a.offset, v);
  queue[q].stage[o / 4] = v;
  return 0;
}

inline uint32_t Model::access(const Access &a, uint64_t cycle, bool idle, bool *window) {
  const uint32_t o = a.offset, data = a.write ? a.value : 0;
  *window = false;
  if (o >= TPU_WINDOW_SMEM) {
    const bool vmem = o >= TPU_WINDOW_VMEM;
    const uint32_t address = o - (vmem ? TPU_WINDOW_VMEM : TPU_WINDOW_SMEM);
    if (o % a.size != 0)
      return reject(TPU_ERROR_BAD_ACCESS, o, data);
    if (address >= (vmem ? config.vmem_bytes : config.smem_bytes)) {
      return reject(TPU_ERROR_RANGE, (vmem ? TPU_SPACE_VMEM : TPU_SPACE_SMEM) << 8, address);
    }
    *window = true;
    return 0;
  }
  if (a.size != 4 || o >= 0x10000)
    return reject(TPU_ERROR_BAD_ACCESS, o, data);
  if (o >= TPU_REG_VPROG(0)) {
    if ((o - TPU_REG_VPROG(0)) / 8 >= config.vpu_program)
      return reject(TPU_ERROR_BAD_ACCESS, o, data);
    *window = true;
    return 0;
  }
  if (o >= TPU_QUEUE_BASE(0))
    return staging(a);
  if (o >= TPU_REG_SEM_VALUE(0)) {
    if (o >= TPU_REG_SEM_MODE(0) + 8)
      return reject(TPU_ERROR_BAD_ACCESS, o, data);
    return semaphores(a, idle);
  }
  if (o >= TPU_REG_PARAM_ID(0)) {
    const bool params = o < 0x600, counters = o >= 0x800 && o < 0x800 + 64 * kQueues;
    if (a.write || !(params || counters))
      return reject(TPU_ERROR_BAD_ACCESS, o, data);
    if (params) {
#define PEPLOS_ENTRY(member, id) {id, config.member},
      const uint32_t rom[][2] = {TPU_CONFIG_PARAMS(PEPLOS_ENTRY)};
#undef PEPLOS_ENTRY
      const uint32_t entry = (o - 0x400) / 8;
      return entry < sizeof rom / sizeof rom[0] ? rom[entry][o / 4 % 2] : 0;
    }
    const uint32_t word = o % 64 / 4;
    return word >= 14 ? 0 : uint32_t(queue[(o - 0x800) / 64].latched[word / 2] >> (32 * (word % 2)));
  }
  return control(a, cycle);
}

inline void Model::apply_semaphores() {
  for (uint32_t s = 0; s < 64; ++s) {
    const uint64_t sum = uint64_t(sem[s]) + add_[s] - take_[s];
    if (!ticket[s] && add_[s] != 0 && sum > kCountMax) {
      // Lower semaphore first; of the same queue, so that raise() keeps the first.
      raise({true, TPU_ERROR_SEM_OVERFLOW, signaller_[s], signal_tag_[s], s, sem[s]});
    } else {
      sem[s] = uint32_t(sum);
    }
    add_[s] = take_[s] = 0;
  }
}

inline void Model::apply_counters(uint64_t passed, unsigned stall) {
  bool flies = false;
  for (const Queue &k : queue)
    flies |= !k.started.empty();
  for (int q = 0; q < kQueues; ++q) {
    Queue &k = queue[q];
    if (latch_)
      std::copy(k.counter, k.counter + 7, k.latched);
    if (!k.started.empty())
      k.counter[kBusy] += passed;
    if (is_waiting(q))
      k.counter[kWait] += passed;
    if (k.started.empty() && k.waiting.empty() && flies)
      k.counter[kStarved] += passed;
    if (stall >> q & 1)
      k.counter[kStall] += 1; // no time jumps while an engine stalls
    if (done_ >> q & 1) {
      k.counter[kCommands] += 1;
      k.counter[kBytes] += bytes_;
      k.counter[kWork] += work_;
    }
    if (clear_counters_)
      std::fill(k.counter, k.counter + 7, 0);
  }
}

inline void Model::end_of_cycle(uint64_t passed, unsigned stall, bool blocked_rises) {
  apply_counters(passed, stall);
  apply_semaphores();
  for (int q = 0; q < kQueues; ++q) {
    Queue &k = queue[q];
    if (waits_ >> q & 1)
      k.waiting.front().reported = true;
    if (starts_ >> q & 1) {
      k.started.push_back(k.waiting.front());
      k.waiting.pop_front();
    }
    if (done_ >> q & 1)
      k.started.pop_front();
    if (failed_ >> q & 1) {
      k.started.clear();
      k.halted = true;
    }
  }
  if (go_queue_ >= 0)
    queue[go_queue_].waiting.push_back(pending_go_);
  if (new_error_.valid) {
    event(new_error_.queue, TPU_EVENT_ERROR, new_error_.tag, new_error_.code);
    error = new_error_;
    set_ |= TPU_REG_INTR_STATE_ERROR_MASK;
  }
  if (blocked_rises)
    set_ |= TPU_REG_INTR_STATE_BLOCKED_MASK;
  intr = (intr & ~clear_) | set_;
  if (abort_) {
    for (Queue &k : queue) {
      k.waiting.clear();
      k.started.clear();
      k.halted = false;
      if (reset_) {
        std::fill(std::begin(k.stage), std::end(k.stage), 0);
        std::fill(k.counter, k.counter + 7, 0);
        std::fill(k.latched, k.latched + 7, 0);
      }
    }
    std::fill(std::begin(sem), std::end(sem), 0);
    error = Error{};
    intr = 0;
    aborting = true;
    if (reset_) {
      std::fill(std::begin(ticket), std::end(ticket), false);
      enable = space = mark = scratch = cycle_high = 0;
      latency = kResetLatency;
    }
  }
  starts_ = waits_ = done_ = failed_ = latch_ = set_ = clear_ = 0;
  clear_counters_ = abort_ = reset_ = false;
  go_queue_ = -1;
  new_error_ = Error{};
}

#endif
