// SPDX-License-Identifier: MIT
//
// tpu_dma with its memories and a front end for each channel.
#pragma once
#include <ctime>
#include <memory>

#include "Vdma_tb.h"
#include "axi.h"
#include "verilated.h"

constexpr unsigned kChannels = 4;
constexpr unsigned kSlots = 4;

// Percent of cycles in which a handshake is held back.
struct Stalls {
  AxiSettings axi;
  unsigned vmem_rd = 0, vmem_wr = 0, smem_rd = 0, smem_wr = 0, start = 0, done = 0;

  static Stalls none() { return {}; }
  static Stalls some(Random &random) {
    Stalls s;
    auto pick = [&] { return random.percent(30) ? 0u : random.below(80); };
    s.axi.latency = random.percent(50) ? 100 : random.range(1, 300);
    s.axi.jitter = random.percent(50) ? 0 : random.range(1, 200);
    s.axi.answer = random.percent(50) ? 20 : random.range(1, 200);
    s.axi.accept = random.percent(50) ? 64 : random.range(1, 40);
    s.axi.serial = random.percent(25);
    s.axi.stall_ar = pick();
    s.axi.stall_r = pick();
    s.axi.stall_aw = pick();
    s.axi.stall_w = pick();
    s.axi.stall_b = pick();
    s.vmem_rd = pick();
    s.vmem_wr = pick();
    s.smem_rd = pick();
    s.smem_wr = pick();
    s.start = pick();
    s.done = pick();
    return s;
  }
};

struct Done {
  unsigned channel;
  Command command;
  Outcome outcome;
  uint64_t start, end;
};

class Bench {
public:
  explicit Bench(uint64_t seed) : random(seed), axi(mem, random), top(new Vdma_tb) {
    checker.report = [this](const std::string &what) { fail(what); };
    reset();
  }
  ~Bench() { top->final(); }

  Memories mem;
  Random random;
  Stalls stalls;
  AxiMemory axi;
  AxiChecker checker;
  std::unique_ptr<Vdma_tb> top;
  uint64_t now = 0;
  std::vector<Done> finished;
  std::vector<std::string> errors;
  std::function<void(const Done &)> on_done;
  bool abort = false, clear = false, reset_now = false;
  uint64_t stall_cycles = 0;
  bool time_evals = false;
  double eval_seconds = 0;

  void fail(const std::string &what) {
    if (errors.size() < 5)
      errors.push_back("cycle " + std::to_string(now) + ": " + what);
  }
  std::string why() const {
    std::string all;
    for (const auto &e : errors)
      all += (all.empty() ? "" : "; ") + e;
    return all;
  }

  void set(const Stalls &s) {
    stalls = s;
    axi.set = s.axi;
  }

  void push(unsigned channel, const Command &c) { channels_[channel].todo.push_back(c); }
  bool failed(unsigned channel) const { return channels_[channel].failed; }
  size_t started(unsigned channel) const { return channels_[channel].started.size(); }

  bool busy() const {
    for (const auto &c : channels_) {
      if (!c.started.empty() || (!c.todo.empty() && !c.failed))
        return true;
    }
    return top->idle_o != 0xf;
  }

  // Run until all is done. A hang is an error that says who waits.
  bool run(uint64_t limit = 2000000) {
    const uint64_t end = now + limit;
    uint64_t quiet_since = now;
    uint64_t seen = progress_;
    tick();
    while (busy() && now < end && now - quiet_since < 30000 && errors.empty()) {
      tick();
      if (progress_ != seen) {
        seen = progress_;
        quiet_since = now;
      }
    }
    if (errors.empty() && busy()) {
      std::string who;
      for (unsigned c = 0; c < kChannels; ++c) {
        who += " ch" + std::to_string(c) + ": " + std::to_string(channels_[c].started.size()) + " started, " +
               std::to_string(channels_[c].todo.size()) + " waiting;";
        if (!channels_[c].started.empty())
          who += " " + channels_[c].started.front().first.text() + ";";
      }
      fail("hang:" + who);
    }
    if (errors.empty() && !checker.quiet())
      fail("idle with bursts on the way");
    return errors.empty();
  }

  void reset(unsigned cycles = 3) {
    reset_now = true;
    for (unsigned i = 0; i < cycles; ++i)
      tick();
    reset_now = false;
    forget();
  }

  // Abort as the front end does: hold abort until all is idle, then clear. Returns its cycles.
  uint64_t do_abort(uint64_t limit) {
    const uint64_t begin = now;
    abort = true;
    do {
      tick();
    } while (top->idle_o != 0xf && now - begin < limit);
    if (top->idle_o != 0xf)
      fail("abort does not end");
    abort = false;
    clear = true;
    forget();
    tick();
    clear = false;
    if (!checker.quiet())
      fail("idle after abort with bursts on the way");
    return now - begin;
  }

  void tick() {
    top->clk_i = 0;
    top->rst_ni = !reset_now;
    top->abort_i = abort;
    top->clear_i = clear;
    if (reset_now) {
      axi.reset();
      vrd_[0].valid = vrd_[1].valid = srd_[0].valid = srd_[1].valid = false;
    }
    front_end_drive();
    if (reset_now) {
      top->hbm_r_valid_i = top->hbm_b_valid_i = 0;
      top->hbm_ar_ready_i = top->hbm_aw_ready_i = top->hbm_w_ready_i = 1;
    } else {
      axi.drive(top.get(), now);
    }
    answer(vrd_[1], top->vmem_rd_rsp_valid_i, &top->vmem_rd_rsp_data_i, kVmem);
    answer(srd_[1], top->smem_rd_rsp_valid_i, &top->smem_rd_rsp_data_i, kSmem);
    top->vmem_rd_gnt_i = top->vmem_wr_gnt_i = top->smem_rd_gnt_i = top->smem_wr_gnt_i = 0;
    eval();
    top->vmem_rd_gnt_i = top->vmem_rd_valid_o && !random.percent(stalls.vmem_rd);
    top->vmem_wr_gnt_i = top->vmem_wr_valid_o && !random.percent(stalls.vmem_wr);
    top->smem_rd_gnt_i = top->smem_rd_valid_o && !random.percent(stalls.smem_rd);
    top->smem_wr_gnt_i = top->smem_wr_valid_o && !random.percent(stalls.smem_wr);
    eval();
    if (!reset_now)
      sample();
    watch_port();
    if (top->stall_o)
      ++stall_cycles;
    top->clk_i = 1;
    eval();
    ++now;
  }

private:
  struct Pending {
    bool valid = false;
    std::array<uint8_t, 32> data{};
  };
  struct Channel {
    std::deque<Command> todo;
    std::deque<std::pair<Command, uint64_t>> started;
    bool failed = false;
  };

  void eval() {
    if (!time_evals)
      return top->eval();
    timespec t0, t1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
    top->eval();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
    eval_seconds += double(t1.tv_sec - t0.tv_sec) + 1e-9 * double(t1.tv_nsec - t0.tv_nsec);
  }

  unsigned word_bytes(unsigned space) const { return space == kVmem ? device().vmem_word_bytes : kBeat; }

  void forget() {
    for (auto &c : channels_)
      c = Channel{};
  }

  void front_end_drive() {
    top->start_i = 0;
    for (unsigned c = 0; c < kChannels; ++c) {
      Channel &ch = channels_[c];
      const bool may =
          !reset_now && !abort && !clear && !ch.failed && !ch.todo.empty() && (top->ready_o >> c & 1);
      if (may && ch.started.size() >= kSlots)
        fail("ready with four commands inside");
      if (may && !random.percent(stalls.start)) {
        const auto words = ch.todo.front().words();
        auto &port = c == 0 ? top->words0_i : c == 1 ? top->words1_i : c == 2 ? top->words2_i : top->words3_i;
        for (unsigned i = 0; i < words.size(); ++i)
          port[i] = words[i];
        top->prio_i = uint8_t((top->prio_i & ~(3u << 2 * c)) | ch.todo.front().prio << 2 * c);
        top->start_i = uint8_t(top->start_i | 1u << c);
        ch.started.push_back({ch.todo.front(), now});
        ch.todo.pop_front();
        ++progress_;
      }
    }
    top->done_ready_i = 0;
    for (unsigned c = 0; c < kChannels; ++c) {
      if (!random.percent(stalls.done))
        top->done_ready_i = uint8_t(top->done_ready_i | 1u << c);
    }
  }

  void answer(const Pending &p, uint8_t &valid, void *data, unsigned space) {
    valid = p.valid;
    if (p.valid)
      std::memcpy(data, p.data.data(), word_bytes(space));
    else
      std::memset(data, 0xdd, word_bytes(space));
  }

  void sample() {
    axi.sample(top.get(), now);
    // Reads see the memory before this cycle's write.
    vrd_[1] = vrd_[0];
    srd_[1] = srd_[0];
    read(kVmem, top->vmem_rd_gnt_i, top->vmem_rd_addr_o, vrd_[0]);
    read(kSmem, top->smem_rd_gnt_i, top->smem_rd_addr_o, srd_[0]);
    if (top->vmem_wr_gnt_i) {
      write(kVmem, top->vmem_wr_addr_o, &top->vmem_wr_wdata_o, top->vmem_wr_be_o);
    }
    if (top->smem_wr_gnt_i) {
      write(kSmem, top->smem_wr_addr_o, &top->smem_wr_wdata_o, top->smem_wr_be_o);
    }
    if ((top->hbm_ar_valid_o && top->hbm_ar_ready_i) || (top->hbm_r_valid_i && top->hbm_r_ready_o) ||
        (top->hbm_w_valid_o && top->hbm_w_ready_i) || top->vmem_rd_gnt_i || top->vmem_wr_gnt_i ||
        top->smem_rd_gnt_i || top->smem_wr_gnt_i) {
      ++progress_;
    }
    for (unsigned c = 0; c < kChannels; ++c) {
      if ((top->done_valid_o & top->done_ready_i) >> c & 1)
        complete(c);
    }
  }

  void complete(unsigned c) {
    Channel &ch = channels_[c];
    ++progress_;
    if (abort || clear)
      return;
    if (ch.started.empty() || ch.failed) {
      fail("completion without a command on channel " + std::to_string(c));
      return;
    }
    Outcome o;
    o.code = top->done_code_o >> 8 * c & 0xff;
    o.detail0 = top->done_detail0_o[c];
    o.detail1 = top->done_detail1_o[c];
    o.bytes = c == 0   ? top->done_bytes0_o
              : c == 1 ? top->done_bytes1_o
              : c == 2 ? top->done_bytes2_o
                       : top->done_bytes3_o;
    Done d{c, ch.started.front().first, o, ch.started.front().second, now};
    ch.started.pop_front();
    if (o.code) {
      ch.failed = true;
      ch.started.clear();
    }
    finished.push_back(d);
    if (on_done)
      on_done(d);
  }

  void read(unsigned space, bool granted, uint32_t addr, Pending &p) {
    p.valid = granted;
    if (!granted)
      return;
    const size_t at = size_t(addr) * word_bytes(space);
    if (at + word_bytes(space) > mem.size(space))
      return fail("read outside a local memory");
    std::memcpy(p.data.data(), mem.block(space, at, word_bytes(space)), word_bytes(space));
  }
  void write(unsigned space, uint32_t addr, const void *data, uint32_t be) {
    const size_t at = size_t(addr) * word_bytes(space);
    if (at + word_bytes(space) > mem.size(space))
      return fail("write outside a local memory");
    if (be == 0)
      fail("write of no byte");
    for (unsigned b = 0; b < word_bytes(space); ++b) {
      if (be >> b & 1)
        mem.at(space, at + b) = static_cast<const uint8_t *>(data)[b];
    }
  }

  void watch_port() {
    AxiCycle c;
    c.reset = reset_now;
    c.ar_valid = top->hbm_ar_valid_o;
    c.ar_ready = top->hbm_ar_ready_i;
    c.ar_addr = top->hbm_ar_addr_o;
    c.ar_len = top->hbm_ar_len_o;
    c.ar_id = top->hbm_ar_id_o;
    c.r_valid = top->hbm_r_valid_i;
    c.r_ready = top->hbm_r_ready_o;
    c.r_last = top->hbm_r_last_i;
    c.r_id = top->hbm_r_id_i;
    c.aw_valid = top->hbm_aw_valid_o;
    c.aw_ready = top->hbm_aw_ready_i;
    c.aw_addr = top->hbm_aw_addr_o;
    c.aw_len = top->hbm_aw_len_o;
    c.aw_id = top->hbm_aw_id_o;
    c.w_valid = top->hbm_w_valid_o;
    c.w_ready = top->hbm_w_ready_i;
    c.w_last = top->hbm_w_last_o;
    std::memcpy(c.w_data.b, &top->hbm_w_data_o, kBeat);
    c.w_strb = top->hbm_w_strb_o;
    c.b_valid = top->hbm_b_valid_i;
    c.b_ready = top->hbm_b_ready_o;
    c.b_id = top->hbm_b_id_i;
    checker.cycle(c);
  }

  std::array<Channel, kChannels> channels_;
  std::array<Pending, 2> vrd_, srd_;
  uint64_t progress_ = 0;
};
