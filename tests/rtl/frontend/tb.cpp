// SPDX-License-Identifier: MIT
//
// Front end against a model of the contract: random accesses, commands, engine delays, errors, aborts.
//
// In every cycle the bench compares what a read returns, the trace records (contents and order), the
// interrupt line, idle and blocked, the commands that engines get, and reads one semaphore. Starts are
// taken from the trace and checked: all waits hold, the engine was ready, no fight for a semaphore, not
// later than 4 cycles after the waits held (plus the cycle in which the head is loaded).
#include <cstdio>
#include <cstdlib>
#include <string>

#include "Vtpu_frontend.h"
#include "engines.h"
#include "model.h"
#include "verilated.h"

namespace {

uint32_t get(const void *port, unsigned low, unsigned width) {
  const uint32_t *w = static_cast<const uint32_t *>(port);
  uint32_t v = 0;
  for (unsigned i = 0; i < width; ++i)
    v |= (w[(low + i) / 32] >> ((low + i) % 32) & 1) << i;
  return v;
}

void put(void *port, unsigned low, unsigned width, uint32_t value) {
  uint32_t *w = static_cast<uint32_t *>(port);
  for (unsigned i = 0; i < width; ++i) {
    const unsigned b = low + i;
    w[b / 32] = (w[b / 32] & ~(1u << (b % 32))) | ((value >> i & 1) << (b % 32));
  }
}

// Fields of the command structs from bit 0 up: {word, lsb, width}.
struct Field {
  unsigned word, low, width;
};
const std::vector<Field> &fields(int q) {
  static const std::vector<Field> dma = {
      {0, 0, 32},  {1, 0, 32},  {2, 0, 2},    {2, 2, 2},   {2, 4, 1},   {2, 5, 2},   {3, 0, 32},  {4, 0, 16},
      {4, 16, 16}, {5, 0, 16},  {6, 0, 32},   {7, 0, 32},  {8, 0, 32},  {9, 0, 32},  {10, 0, 32}, {11, 0, 32},
      {12, 0, 32}, {13, 0, 16}, {13, 16, 16}, {14, 0, 16}, {15, 0, 32}, {16, 0, 32}, {17, 0, 24}};
  static const std::vector<Field> mxu = {{0, 0, 32}, {1, 0, 32}, {2, 0, 32}, {3, 0, 32},
                                         {4, 0, 32}, {5, 0, 32}, {6, 0, 20}, {7, 0, 20},
                                         {8, 0, 20}, {9, 0, 1},  {9, 1, 1},  {9, 2, 1}};
  static const std::vector<Field> vpu = [] {
    std::vector<Field> f = {{0, 0, 16}, {1, 0, 32}, {2, 0, 32}, {3, 0, 32}, {4, 0, 2}, {4, 2, 2},
                            {4, 8, 8},  {4, 16, 8}, {5, 0, 32}, {6, 0, 32}, {7, 0, 8}};
    for (unsigned w = 8; w < TPU_VPU_ARG_WORDS; ++w)
      f.push_back({w, 0, 32});
    return f;
  }();
  return q < 4 ? dma : q == TPU_QUEUE_MXU ? mxu : vpu;
}

struct Flavour {
  unsigned sems, wait_percent, consume_percent, ready_percent, slow, error_percent, access_percent,
      bad_percent, window_percent, abort_permille, small;
  bool edges;
};

struct Bench {
  const tpu_config &config;
  VerilatedContext context;
  Vtpu_frontend top{&context, "top"};
  Random random;
  Model model;
  Engine engine[kEngines];
  Memory vmem, smem, prog;
  uint64_t cycle = 0, time = 0, last_time = 0;
  unsigned errors = 0;
  bool busy = false; // an access is held
  Access access;
  unsigned held = 0;
  bool blocked_before = false;
  unsigned should_block = 0, should_idle = 0;
  unsigned stall = 0;
  uint32_t seen = 0;       // word that the last access read
  uint64_t count[16] = {}; // per event code
  uint64_t error_codes = 0, starts = 0, both = 0, blocked_cycles = 0, aborts = 0, jumps = 0;
  unsigned latest = 0;

  Bench(const tpu_config &c, uint64_t seed)
      : config(c), random(seed), model(c), vmem(c.vmem_bytes, c.vmem_word_bytes),
        smem(c.smem_bytes, c.hbm_port_bytes), prog(8 * c.vpu_program, 4) {
    for (Memory *m : {&vmem, &smem, &prog}) {
      for (uint8_t &b : m->bytes)
        b = static_cast<uint8_t>(random.next());
    }
    prog.grant = true;
  }

  void fail(const char *what, long long a = 0, long long b = 0) {
    if (errors++ < 10)
      std::printf("cycle %llu: %s (0x%llx, 0x%llx)\n", (unsigned long long)cycle, what, a, b);
  }

  void reset() {
    top.rst_ni = 0;
    top.hbm_latency_reset_i = kResetLatency;
    top.mmio_valid_i = 0;
    for (int i = 0; i < 3; ++i) {
      top.clk_i = 0;
      top.eval();
      top.clk_i = 1;
      top.eval();
    }
    top.rst_ni = 1;
  }

  // ---- inputs of a cycle: all are registers of what surrounds the front end ----

  void drive() {
    top.cycle_i = time;
    unsigned ready = 0, done = 0, idle = 0;
    for (int q = 0; q < kEngines; ++q) {
      const Engine &e = engine[q];
      ready |= unsigned(e.ready) << q;
      done |= unsigned(e.done_valid()) << q;
      idle |= unsigned(e.idle()) << q;
      const Engine::Job j = e.done_valid() ? e.jobs.front() : Engine::Job{};
      put(&top.eng_done_code_i, 8 * q, 8, j.code);
      put(&top.eng_done_detail0_i, 32 * q, 32, j.detail0);
      put(&top.eng_done_detail1_i, 32 * q, 32, j.detail1);
      put(&top.eng_done_bytes_i, 48 * q, 32, uint32_t(j.bytes));
      put(&top.eng_done_bytes_i, 48 * q + 32, 16, uint32_t(j.bytes >> 32));
      put(&top.eng_done_work_i, 48 * q, 32, uint32_t(j.work));
      put(&top.eng_done_work_i, 48 * q + 32, 16, uint32_t(j.work >> 32));
    }
    top.eng_ready_i = ready;
    top.eng_done_valid_i = done;
    top.eng_idle_i = idle;
    stall = random.percent(50) ? random.next() & 63 : 0;
    top.eng_stall_i = stall;
    drive_memory(vmem, top.vmem_gnt_i, top.vmem_rsp_valid_i, &top.vmem_rsp_data_i);
    drive_memory(smem, top.smem_gnt_i, top.smem_rsp_valid_i, &top.smem_rsp_data_i);
    top.prog_rsp_valid_i = prog.second.valid;
    top.prog_rsp_data_i = 0;
    if (prog.second.valid)
      std::memcpy(&top.prog_rsp_data_i, &prog.bytes[prog.second.address], 4);
    top.mmio_valid_i = busy;
    if (busy) {
      const unsigned lane = access.offset % 4;
      top.mmio_we_i = access.write;
      top.mmio_addr_i = access.offset & (random.percent(50) ? ~3u : ~0u);
      top.mmio_be_i = ((1u << access.size) - 1) << lane;
      top.mmio_wdata_i = access.value << (8 * lane);
      if (access.write && access.size < 4) { // other lanes carry anything
        const uint32_t mask = ((1u << (8 * access.size)) - 1) << (8 * lane);
        top.mmio_wdata_i = (top.mmio_wdata_i & mask) | (random.next() & ~mask);
      }
    } else {
      top.mmio_we_i = random.percent(50);
      top.mmio_addr_i = random.next() & 0xffffff;
      top.mmio_be_i = random.next() & 15;
      top.mmio_wdata_i = random.next();
    }
  }

  template <typename Bit, typename Wide> void drive_memory(const Memory &m, Bit &gnt, Bit &rsp, Wide *data) {
    gnt = m.grant;
    rsp = m.second.valid;
    uint32_t words[8];
    for (uint32_t &w : words)
      w = random.next();
    if (m.second.valid)
      std::memcpy(words, &m.bytes[m.second.address], m.word);
    std::memcpy(data, words, m.word);
  }

  // ---- one cycle ----

  void run(const Flavour &f) {
    drive();
    top.clk_i = 0;
    top.eval();

    model.events.clear();
    model.idle_ = top.idle_o;
    model.blocked_ = top.blocked_o;
    check_state();
    const std::vector<Event> trace = read_trace();
    const unsigned accepted = check_completions();
    check_starts(trace);
    check_access();
    const bool rises = top.blocked_o && !blocked_before;
    blocked_before = top.blocked_o;
    const bool was_aborting = model.aborting;
    step_memories();
    const unsigned start = top.eng_start_o;
    const bool abort = top.eng_abort_o, clear = top.eng_clear_o;
    model.end_of_cycle(time - last_time, stall, rises);
    check_trace(trace);
    if (clear) {
      if (!was_aborting)
        fail("clear without an abort");
      if (top.eng_idle_i != 63)
        fail("clear while an engine is not idle", top.eng_idle_i);
      if (!abort)
        fail("clear without abort_o");
      if (!restarted_)
        model.aborting = false;
    }
    restarted_ = false;
    for (int q = 0; q < kEngines; ++q) {
      engine[q].step(random, start >> q & 1, accepted >> q & 1, abort, clear, f.ready_percent, f.slow,
                     f.error_percent);
    }
    top.clk_i = 1;
    top.eval();
    ++cycle;
    context.timeInc(1);
    last_time = time;
    // Time may jump while nothing moves.
    uint64_t step = 1;
    if ((top.idle_o || top.blocked_o) && !busy && random.percent(10)) {
      step = 1 + (uint64_t(random.next()) << random.below(20));
      ++jumps;
    }
    time += step;
  }

  bool restarted_ = false; // an abort was written in this cycle

  void check_state() {
    if (top.irq_o != model.irq())
      fail("interrupt line", top.irq_o, model.irq());
    if (top.hbm_latency_o != model.latency)
      fail("HBM latency", top.hbm_latency_o, model.latency);
    if (top.eng_abort_o != model.aborting)
      fail("abort line", top.eng_abort_o, model.aborting);
    bool engines = true, flying = false, some = false, stuck = true;
    for (const Engine &e : engine)
      engines &= e.idle();
    for (int q = 0; q < kQueues; ++q) {
      const Queue &k = model.queue[q];
      flying |= !k.started.empty();
      some |= !k.waiting.empty();
      if (!k.waiting.empty() && !k.halted && model.first_missing(k.waiting.front()) < 0)
        stuck = false;
    }
    const bool still = engines && !flying && !model.aborting;
    if (top.idle_o != (still && !some))
      fail("idle", top.idle_o, still && !some);
    if (top.blocked_o && !(still && some && stuck))
      fail("blocked although something can move");
    // WAIT must come first, and that takes until the engine is ready
    bool reported = true;
    for (int q = 0; q < kQueues; ++q) {
      reported &= model.queue[q].waiting.empty() || model.queue[q].halted || model.is_waiting(q);
    }
    // a head is looked at only while its engine is ready
    const bool ready = (top.eng_ready_i | 1u << TPU_QUEUE_SYNC) == 0x7f;
    should_block = still && some && stuck && reported && !top.blocked_o ? should_block + ready : 0;
    if (should_block > 5)
      fail("not blocked");
    blocked_cycles += top.blocked_o;
  }

  std::vector<Event> read_trace() {
    std::vector<Event> list;
    bool gap = false;
    for (unsigned s = 0; s < 7; ++s) {
      if (!(top.trace_valid_o >> s & 1)) {
        gap = true;
        continue;
      }
      if (gap)
        fail("gap in the trace slots", top.trace_valid_o);
      const unsigned low = 80 * s;
      list.push_back({get(&top.trace_data_o, low + 72, 8), get(&top.trace_data_o, low + 64, 8),
                      get(&top.trace_data_o, low, 32), get(&top.trace_data_o, low + 32, 32)});
    }
    if (top.trace_any_o != !list.empty())
      fail("trace_any", top.trace_any_o);
    return list;
  }

  void check_starts(const std::vector<Event> &trace) {
    unsigned start = 0, wait = 0;
    for (const Event &e : trace) {
      if (e.code == TPU_EVENT_START)
        start |= 1u << e.queue;
      if (e.code == TPU_EVENT_WAIT)
        wait |= 1u << e.queue;
    }
    if ((start & 63) != top.eng_start_o)
      fail("start lines and trace differ", start, top.eng_start_o);
    bool fight =
        busy && access.write && access.offset >= TPU_REG_SEM_TAKE(0) && access.offset < TPU_REG_SEM_TAKE(64);
    for (int a = 0; a < kQueues; ++a) {
      if (!(start >> a & 1) || model.queue[a].waiting.empty())
        continue;
      for (int b = 0; b < kQueues; ++b) {
        if (a == b || model.queue[b].waiting.empty())
          continue;
        if (!model.conflict(model.queue[a].waiting.front(), model.queue[b].waiting.front()))
          continue;
        fight = true;
        if (start >> b & 1)
          fail("two starts fight for a semaphore", a, b);
      }
    }
    for (int q = 0; q < kQueues; ++q) {
      Queue &k = model.queue[q];
      const bool ready = q == TPU_QUEUE_SYNC || engine[q].ready;
      const bool can = ready && model.may_start(q);
      if (start >> q & 1) {
        if (!can) {
          fail("start that must not be", q);
          continue;
        }
        if (q < kEngines)
          check_command(q, k.waiting.front());
        if (k.waiting.front().ready_for > latest)
          latest = k.waiting.front().ready_for;
        ++starts;
        model.start(q);
      } else if (wait >> q & 1) {
        if (k.waiting.empty() || model.first_missing(k.waiting.front()) < 0 || !ready ||
            k.waiting.front().reported) {
          fail("WAIT that must not be", q);
          continue;
        }
        model.wait(q);
      } else if (!k.waiting.empty()) {
        Command &c = k.waiting.front();
        // 4 cycles, and one to load the head
        c.ready_for = can ? c.ready_for + !fight : 0;
        if (c.ready_for > 5)
          fail("no start within 4 cycles", q, c.ready_for);
      }
    }
    both += (start & (start - 1)) != 0;
  }

  void check_command(int q, const Command &c) {
    const void *port = q < 4    ? static_cast<const void *>(&top.dma_cmd_o)
                       : q == 4 ? static_cast<const void *>(&top.mxu_cmd_o)
                                : &top.vpu_cmd_o;
    unsigned width = 0;
    for (const Field &f : fields(q))
      width += f.width;
    unsigned low = q < 4 ? q * width : 0;
    for (const Field &f : fields(q)) {
      const uint32_t mask = f.width == 32 ? 0xffffffffu : (1u << f.width) - 1;
      const uint32_t want = c.args[f.word] >> f.low & mask, is = get(port, low, f.width);
      if (want != is)
        fail("field of a command", q * 1000 + f.word, is);
      low += f.width;
    }
    if (q < 4 && (top.dma_prio_o >> (2 * q) & 3) != (c.signals >> 17 & 3))
      fail("priority", q);
  }

  unsigned check_completions() {
    const unsigned taken = top.eng_done_valid_i & top.eng_done_ready_o;
    if (model.aborting)
      return taken; // nothing of it counts
    if (taken & (taken - 1))
      fail("two completions in a cycle", taken);
    for (int q = 0; q < kEngines; ++q) {
      if (!(taken >> q & 1))
        continue;
      const Engine::Job &j = engine[q].jobs.front();
      if (model.queue[q].started.empty()) {
        fail("completion of nothing", q);
      } else if (j.code) {
        model.fail(q, {true, j.code, 0, 0, j.detail0, j.detail1});
      } else {
        model.complete(q, j.bytes, j.work);
      }
    }
    // SYNC has no engine: the trace says when
    bool end = false;
    for (unsigned s = 0; s < 7; ++s) {
      end |= (top.trace_valid_o >> s & 1) && get(&top.trace_data_o, 80 * s + 72, 8) == TPU_QUEUE_SYNC &&
             get(&top.trace_data_o, 80 * s + 64, 8) == TPU_EVENT_END;
    }
    if (end) {
      if (model.queue[TPU_QUEUE_SYNC].started.empty() || taken)
        fail("completion of SYNC");
      else
        model.complete(TPU_QUEUE_SYNC, 0, 0);
    }
    return taken;
  }

  void check_access() {
    if (!busy)
      return;
    if (!top.mmio_ready_o) {
      // 15 refusals, then the read: at most 20 cycles
      if (++held > 20)
        fail("access held too long", access.offset);
      if (access.offset < 0x4000)
        fail("a register is not ready at once", access.offset);
      return;
    }
    bool window = false;
    const bool was = model.aborting;
    uint32_t want = model.access(access, time, top.idle_o, &window);
    if (access.write && access.offset == TPU_REG_CTRL && access.size == 4 && (access.value & 3)) {
      ++aborts;
      restarted_ = true;
    }
    (void)was;
    if (window)
      want = window_access();
    if (!access.write) {
      const unsigned lane = access.offset % 4;
      const uint32_t mask = access.size == 4 ? 0xffffffffu : (1u << (8 * access.size)) - 1;
      const uint32_t is = top.mmio_rdata_o >> (8 * lane) & mask;
      if (is != want)
        fail("read", access.offset, is), std::printf("  wanted 0x%x\n", want);
      seen = is;
    }
    busy = false;
    held = 0;
  }

  // What the memories hold for a read; a write is checked against the port and done.
  uint32_t window_access() {
    Memory &m = access.offset < TPU_WINDOW_SMEM ? prog : access.offset < TPU_WINDOW_VMEM ? smem : vmem;
    const uint32_t base = &m == &prog ? TPU_REG_VPROG(0) : &m == &smem ? TPU_WINDOW_SMEM : TPU_WINDOW_VMEM;
    const uint32_t address = access.offset - base;
    uint32_t v = 0;
    if (!access.write) {
      std::memcpy(&v, &m.bytes[address], access.size);
      return v;
    }
    std::memcpy(&m.bytes[address], &access.value, access.size);
    if (&m == &prog) {
      if (!top.prog_valid_o || !top.prog_we_o || top.prog_addr_o != address / 4 ||
          top.prog_wdata_o != access.value)
        fail("program write");
      return 0;
    }
    const bool ok = &m == &vmem ? top.vmem_valid_o && top.vmem_we_o && top.vmem_addr_o == address / m.word
                                : top.smem_valid_o && top.smem_we_o && top.smem_addr_o == address / m.word;
    if (!ok || !m.grant)
      fail("write at a memory port", access.offset);
    const void *data = &m == &vmem ? static_cast<const void *>(&top.vmem_wdata_o) : &top.smem_wdata_o;
    const void *be = &m == &vmem ? static_cast<const void *>(&top.vmem_be_o) : &top.smem_be_o;
    for (unsigned i = 0; i < m.word; ++i) {
      const bool in = i >= address % m.word && i < address % m.word + access.size;
      if (get_small(be, i, m.word) != in)
        fail("byte enables", access.offset, i);
      if (in && static_cast<const uint8_t *>(data)[i] != m.bytes[address / m.word * m.word + i])
        fail("write data", access.offset, i);
    }
    return 0;
  }

  static bool get_small(const void *be, unsigned i, unsigned) {
    return static_cast<const uint8_t *>(be)[i / 8] >> (i % 8) & 1;
  }

  void step_memories() {
    vmem.step(random, top.vmem_valid_o, top.vmem_we_o, top.vmem_addr_o);
    smem.step(random, top.smem_valid_o, top.smem_we_o, top.smem_addr_o);
    prog.step(random, top.prog_valid_o, top.prog_we_o, top.prog_addr_o);
    prog.grant = true;
  }

  void check_trace(const std::vector<Event> &trace) {
    std::vector<Event> want = model.events;
    std::stable_sort(want.begin(), want.end(), [](const Event &a, const Event &b) {
      return a.queue != b.queue ? a.queue < b.queue : a.code < b.code;
    });
    for (const Event &e : want) {
      ++count[e.code & 15];
      if (e.code == TPU_EVENT_ERROR)
        error_codes |= 1ull << (e.arg & 63);
    }
    if (want == trace)
      return;
    fail("trace", (long long)want.size(), (long long)trace.size());
    if (errors > 10)
      return;
    for (const Event &e : want)
      std::printf("  wanted queue %u event %u tag %08x arg %08x\n", e.queue, e.code, e.tag, e.arg);
    for (const Event &e : trace)
      std::printf("  is     queue %u event %u tag %08x arg %08x\n", e.queue, e.code, e.tag, e.arg);
  }

  // ---- what the scalar core does ----

  void request(uint32_t offset, bool write, uint32_t value, unsigned size = 4) {
    access = {offset, size < 4 ? value & ((1u << (8 * size)) - 1) : value, size, write};
    busy = true;
  }

  uint32_t amount(const Flavour &f) { return random.below(f.small); }

  void stage_something(const Flavour &f) {
    const uint32_t q = random.below(kQueues), base = TPU_QUEUE_BASE(q);
    switch (random.below(6)) {
    case 0: {
      uint32_t v = 0;
      for (unsigned i = 0; i < config.waits; ++i) {
        const uint32_t en = random.percent(f.wait_percent), consume = random.percent(f.consume_percent);
        // mostly different semaphores
        uint32_t s = random.below(f.sems);
        if (random.below(200))
          s = (s & ~3u) | i;
        v |= (en << 7 | consume << 6 | s) << (8 * i);
      }
      return request(base + TPU_Q_WAITS, true, v);
    }
    case 1: {
      uint32_t v = random.percent(20) << 16 | random.below(4) << 17;
      for (unsigned i = 0; i < 2; ++i) {
        v |= (random.percent(70) << 7 | random.percent(20) << 6 | random.below(f.sems)) << (8 * i);
      }
      return request(base + TPU_Q_SIGNALS, true, v);
    }
    case 2: {
      const uint32_t i = random.below(config.waits),
                     s = model.queue[q].stage[TPU_Q_WAITS / 4] >> (8 * i) & 63;
      const uint32_t v = model.ticket[s] ? model.sem[s] + amount(f) - 1 : amount(f);
      return request(base + TPU_Q_WAIT_AMOUNT(i), true, v);
    }
    case 3:
      return request(base + TPU_Q_SIGNAL_AMOUNT(random.below(2)), true,
                     random.percent(1) ? random.next() : amount(f));
    default: {
      const uint32_t words = q < 4    ? TPU_DMA_ARG_WORDS
                             : q == 4 ? TPU_MXU_ARG_WORDS
                             : q == 5 ? TPU_VPU_ARG_WORDS
                                      : 1;
      const uint32_t o = TPU_QUEUE_ARGS + 4 * random.below(words);
      uint32_t bits = stage_bits(q, o);
      if (q == 4 && o == TPU_MXU_MODE && !config.mxu_bf16)
        bits &= ~1u;
      return request(base + o, random.percent(80), random.next() & bits);
    }
    }
  }

  void read_something() {
    static const uint32_t list[] = {TPU_REG_STATUS,     TPU_REG_INTR_STATE,    TPU_REG_ERROR,
                                    TPU_REG_ERROR_TAG,  TPU_REG_ERROR_DETAIL0, TPU_REG_ERROR_DETAIL1,
                                    TPU_REG_CYCLE_LO,   TPU_REG_CYCLE_HI,      TPU_REG_INTR_ENABLE,
                                    TPU_REG_ID,         TPU_REG_VERSION,       TPU_REG_ABI_HASH,
                                    TPU_REG_FEATURES,   TPU_REG_SCRATCH,       TPU_REG_CTRL,
                                    TPU_REG_INTR_SPACE, TPU_REG_TRACE_MARK,    TPU_REG_HBM_LATENCY};
    switch (random.below(6)) {
    case 0:
      return request(TPU_REG_SEM_VALUE(random.below(64)), false, 0);
    case 1:
      return request(0x800 + 4 * random.below(16 * kQueues), false, 0);
    case 2:
      return request(TPU_REG_PARAM_ID(0) + 4 * random.below(128), false, 0);
    case 3:
      return request(random.percent(50) ? TPU_QUEUE_BASE(random.below(kQueues))
                                        : TPU_REG_SEM_MODE(random.below(2)),
                     false, 0);
    default:
      return request(list[random.below(sizeof list / 4)], false, 0);
    }
  }

  void write_something(const Flavour &f) {
    switch (random.below(8)) {
    case 0:
      return request(TPU_REG_INTR_ENABLE, true, random.next());
    case 1:
      return request(TPU_REG_INTR_STATE, true, random.next());
    case 2:
      return request(TPU_REG_INTR_TEST, true, random.next() & random.next() & random.next());
    case 3:
      return request(TPU_REG_INTR_SPACE, true, random.next() & random.next());
    case 4:
      return request(TPU_REG_CTRL, true, random.below(4) << 2);
    case 5:
      return request(random.percent(50) ? TPU_REG_SCRATCH : TPU_REG_TRACE_MARK, true, random.next());
    case 6:
      return request(TPU_REG_HBM_LATENCY, true, random.next());
    default: {
      const uint32_t s = random.below(f.sems);
      const bool take = random.percent(40) && !model.ticket[s] && model.sem[s] >= 2;
      return request(take ? TPU_REG_SEM_TAKE(s) : TPU_REG_SEM_SIGNAL(s), true, amount(f));
    }
    }
  }

  void bad_something() {
    const uint32_t v = random.next();
    switch (random.below(13)) {
    case 11:
      return request(TPU_QUEUE_BASE(random.below(kQueues)) + TPU_Q_SIGNALS, true,
                     v | 1u << (19 + random.below(13)));
    case 0:
      return request(random.below(0x10000) & ~3u, random.percent(50) && !is_ctrl(), v);
    case 1:
      return request(random.next() % TPU_WINDOW_SIZE & ~3u, false, 0);
    case 2:
      return request(0x2000 + 4 * random.below(0x380), true, v);
    case 3:
      return request(TPU_REG_SEM_VALUE(random.below(64)), true, v);
    case 4:
      return request(TPU_REG_SEM_MODE(random.below(2)), true, v);
    case 5:
      return request(TPU_REG_SEM_TAKE(random.below(64)), true, v);
    case 6:
      return request(TPU_REG_SEM_SIGNAL(random.below(64)), random.percent(80), v);
    case 7:
      return request(TPU_WINDOW_VMEM + config.vmem_bytes + random.below(64), random.percent(50), v, 1);
    case 8:
      return request(TPU_WINDOW_SMEM + config.smem_bytes + random.below(64) * 2, random.percent(50), v, 2);
    case 9:
      return request(TPU_REG_ID + random.below(80), random.percent(50), v, random.percent(50) ? 1 : 2),
             even();
    case 10: { // fill a queue
      return request(TPU_QUEUE_BASE(random.below(kQueues)), true, v);
    }
    default:
      return request(TPU_QUEUE_BASE(random.below(kQueues)) + TPU_Q_WAITS, true, v);
    }
  }
  bool is_ctrl() const { return false; }
  void even() { access.offset &= ~(access.size - 1); }

  void window_something() {
    const unsigned size = 1u << random.below(3);
    switch (random.below(5)) {
    case 0:
      return request(TPU_REG_VPROG(random.below(2 * config.vpu_program)), random.percent(50), random.next());
    case 1:
    case 2:
      return request(TPU_WINDOW_SMEM + (random.below(config.smem_bytes) & ~(size - 1)), random.percent(50),
                     random.next(), size);
    default:
      return request(TPU_WINDOW_VMEM + (random.below(config.vmem_bytes) & ~(size - 1)), random.percent(50),
                     random.next(), size);
    }
  }

  void choose_access(const Flavour &f) {
    if (busy || !random.percent(f.access_percent))
      return;
    if (random.below(1000) < f.abort_permille)
      return request(TPU_REG_CTRL, true, 1 + random.below(15));
    if (model.error.valid && random.percent(2))
      return request(TPU_REG_CTRL, true, 1);
    if (random.percent(f.bad_percent))
      return bad_something();
    if (random.percent(f.window_percent))
      return window_something();
    // what is blocked is signalled
    if (top.blocked_o && random.percent(30)) {
      const Queue &k = model.queue[random.below(kQueues)];
      if (!k.waiting.empty() && !k.halted) {
        const int s = model.first_missing(k.waiting.front());
        if (s >= 0)
          return request(TPU_REG_SEM_SIGNAL(uint32_t(s)), true, 1 + amount(f));
      }
    }
    switch (random.below(10)) {
    case 0:
      return read_something();
    case 1:
      return write_something(f);
    case 2:
    case 3:
    case 4: {
      const uint32_t q = random.below(kQueues);
      if (model.free_slots(int(q)) == 0 && random.percent(98))
        return read_something();
      return request(TPU_QUEUE_BASE(q), true, random.next());
    }
    default:
      return stage_something(f);
    }
  }

  // Runs until an access is done; a task for the start of a phase.
  void perform(const Flavour &f, uint32_t offset, bool write, uint32_t value) {
    while (busy && errors == 0)
      run(f);
    request(offset, write, value);
    while (busy && errors == 0)
      run(f);
  }

  void phase(const Flavour &f, unsigned cycles) {
    perform(f, TPU_REG_CTRL, true, random.percent(30) ? 3 : 1);
    for (unsigned n = 0; n < 200 && model.aborting; ++n)
      run(f);
    if (model.aborting)
      fail("abort does not end");
    if (!top.idle_o)
      fail("not idle after an abort");
    perform(f, TPU_REG_SEM_MODE(0), true, random.next());
    if (config.semaphores > 32)
      perform(f, TPU_REG_SEM_MODE(1), true, random.next());
    for (uint32_t s = 0; s < f.sems; ++s) {
      const bool edge = f.edges && random.percent(50);
      perform(f, TPU_REG_SEM_VALUE(s), true,
              edge ? (model.ticket[s] ? 0xfffffff0u : kCountMax - random.below(8)) : amount(f));
    }
    for (unsigned n = 0; n < cycles && errors == 0; ++n) {
      choose_access(f);
      run(f);
    }
  }
};

Flavour choose(Random &r, const tpu_config &c) {
  Flavour f{};
  f.sems = r.percent(50) ? 8 : c.semaphores;
  f.wait_percent = r.below(60);
  f.consume_percent = r.below(90);
  f.ready_percent = r.percent(30) ? 100 : 20 + r.below(80);
  f.slow = r.percent(50) ? 3 : 60;
  f.error_percent = r.percent(80) ? 0 : 1 + r.below(5);
  f.access_percent = r.percent(50) ? 100 : 10 + r.below(90);
  f.bad_percent = r.percent(60) ? 0 : r.below(4);
  f.window_percent = r.below(10);
  f.abort_permille = r.percent(60) ? 0 : 1 + r.below(4);
  f.small = r.percent(50) ? 3 : 40;
  f.edges = r.percent(15);
  return f;
}

int report(const char *name, bool good) {
  std::printf("%s rtl/frontend %s (" TPU_CONFIG_NAME ")\n", good ? "PASS" : "FAIL", name);
  return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t cycles = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 300000;
  const tpu_config *config = find_config(TPU_CONFIG_NAME);
  Bench b(*config, seed);
  b.context.randSeed(static_cast<int>(seed & 0x7fffffff) + 1);
  b.context.randReset(2);
  b.reset();
  while (b.cycle < cycles && b.errors == 0)
    b.phase(choose(b.random, *config), 500 + b.random.below(3000));
  std::printf("seed %llu: %llu cycles, %llu GO, %llu starts (%llu cycles with two), %llu ends, %llu waits, "
              "%llu signals, "
              "%llu errors (codes %llx), %llu aborts, %llu blocked cycles, %llu jumps, latest start %u\n",
              (unsigned long long)seed, (unsigned long long)b.cycle,
              (unsigned long long)b.count[TPU_EVENT_GO], (unsigned long long)b.starts,
              (unsigned long long)b.both, (unsigned long long)b.count[TPU_EVENT_END],
              (unsigned long long)b.count[TPU_EVENT_WAIT], (unsigned long long)b.count[TPU_EVENT_SIGNAL],
              (unsigned long long)b.count[TPU_EVENT_ERROR], (unsigned long long)b.error_codes,
              (unsigned long long)b.aborts, (unsigned long long)b.blocked_cycles, (unsigned long long)b.jumps,
              b.latest);
  // QUEUE_FULL, BAD_ACCESS, UNIT_ABSENT, BAD_FIELD, RANGE, SEM_OVERFLOW, SEM_UNDERFLOW, SEM_DUPLICATE,
  // SEM_BUSY
  uint64_t needed = 1u << 1 | 1u << 2 | 1u << 4 | 1u << 6 | 1u << 8 | 1u << 9 | 1u << 10 | 1u << 13;
  if (config->semaphores < 64)
    needed |= 1u << 3;
  int failed = report("random accesses and commands", b.errors == 0);
  failed +=
      report("random streams reach the rare cases",
             cycles < 300000 || ((b.error_codes & needed) == needed && b.both > 100 && b.aborts > 20 &&
                                 b.blocked_cycles > 100 && b.jumps > 10 && b.count[TPU_EVENT_WAIT] > 500));
  b.top.final();
  return failed == 0 ? 0 : 1;
}
