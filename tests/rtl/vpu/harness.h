// SPDX-License-Identifier: MIT
//
// tpu_vpu with memories around it. Every grant and the acceptance of done is random; a read delivers
// two cycles after its grant. A read and a write of one word granted in the same cycle may deliver
// either value: the unit must not depend on it.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "Vtpu_vpu.h"
#include "ref_vpu.h"
#include "verilated.h"

struct Random {
  uint64_t s;
  explicit Random(uint64_t seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {
    for (int i = 0; i < 8; ++i)
      next();
  }
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return uint32_t(s >> 29);
  }
  uint32_t below(uint32_t n) { return n ? next() % n : 0; }
  bool chance(uint32_t percent) { return below(100) < percent; }
};

// Bit fields of ports of any width.
template <typename T> uint64_t get_bits(const T &port, unsigned low, unsigned width) {
  const uint8_t *p = reinterpret_cast<const uint8_t *>(&port);
  uint64_t v = 0;
  for (unsigned i = 0; i < width;) {
    const unsigned bit = (low + i) % 8, n = std::min(8 - bit, width - i);
    v |= uint64_t(p[(low + i) / 8] >> bit & ((1u << n) - 1)) << i;
    i += n;
  }
  return v;
}
template <typename T> void set_bits(T &port, unsigned low, unsigned width, uint64_t v) {
  uint8_t *p = reinterpret_cast<uint8_t *>(&port);
  for (unsigned i = 0; i < width;) {
    const unsigned bit = (low + i) % 8, n = std::min(8 - bit, width - i);
    const uint8_t m = uint8_t(((1u << n) - 1) << bit);
    p[(low + i) / 8] = uint8_t((p[(low + i) / 8] & ~m) | ((v >> i << bit) & m));
    i += n;
  }
}

// Probability of a grant in percent, per port.
struct Stalls {
  unsigned load = 100, store = 100, smem = 100, acc_read = 100, acc_write = 100, done = 100;
};

class Harness {
public:
  Harness(const tpu_config &c, uint64_t seed)
      : config(c), mem(c), random(seed), context(new VerilatedContext),
        words_(std::max(1u, c.lanes * 4 / c.vmem_word_bytes)),
        word_bits_(clog2(c.vmem_bytes / c.vmem_word_bytes)) {
    context->randReset(2);
    context->randSeed(int(seed % 0x7ffffffe) + 1);
    top.reset(new Vtpu_vpu(context.get()));
    top->start_i = top->abort_i = top->clear_i = top->prog_valid_i = 0;
    top->rst_ni = 0;
    for (int i = 0; i < 4; ++i)
      cycle();
    top->rst_ni = 1;
    cycle();
  }

  const tpu_config &config;
  Memories mem;
  Random random;
  Stalls stalls;
  uint64_t now = 0;
  uint64_t first_load = 0, first_store = 0; // cycle of the first request since clear_marks()
  uint64_t requests = 0;                    // cycles with a request of any memory
  bool quiet_check = false;                 // any request is a fault
  std::string fault;
  std::unique_ptr<VerilatedContext> context;
  std::unique_ptr<Vtpu_vpu> top;

  void cycle() {
    Vtpu_vpu &t = *top;
    t.clk_i = 0;
    present_responses();
    t.done_ready_i = random.chance(stalls.done);
    t.vld_gnt_i = 0;
    t.vst_gnt_i = 0;
    t.smem_gnt_i = t.acc_rd_gnt_i = t.acc_wr_gnt_i = 0;
    t.eval();
    unsigned vld = unsigned(t.vld_valid_o), vst = unsigned(t.vst_valid_o), gl = 0, gs = 0;
    for (unsigned j = 0; j < words_; ++j) {
      gl |= unsigned(random.chance(stalls.load)) << j;
      gs |= unsigned(random.chance(stalls.store)) << j;
    }
    t.vld_gnt_i = vld & gl;
    t.vst_gnt_i = vst & gs;
    t.smem_gnt_i = t.smem_valid_o && random.chance(stalls.smem);
    t.acc_rd_gnt_i = t.acc_rd_valid_o && random.chance(stalls.acc_read);
    t.acc_wr_gnt_i = t.acc_wr_valid_o && random.chance(stalls.acc_write);
    if (t.rst_ni)
      note_requests(vld, vst);
    t.eval();
    if (t.rst_ni)
      serve();
    done_seen_ = t.done_valid_o && t.done_ready_i;
    t.clk_i = 1;
    t.eval();
    ++now;
  }

  void clear_marks() { first_load = first_store = requests = 0; }

  void write_program(const std::vector<uint64_t> &program, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; ++i) {
      for (unsigned h = 0; h < 2; ++h) {
        top->prog_valid_i = 1;
        top->prog_we_i = 1;
        top->prog_addr_i = 2 * i + h;
        top->prog_wdata_i = uint32_t(program[i] >> 32 * h);
        cycle();
      }
    }
    top->prog_valid_i = 0;
  }

  uint32_t read_program(unsigned word) {
    top->prog_valid_i = 1;
    top->prog_we_i = 0;
    top->prog_addr_i = word;
    cycle();
    top->prog_valid_i = 0;
    cycle();
    top->clk_i = 0;
    top->eval();
    if (!top->prog_rsp_valid_o)
      fault = "no answer of the program memory after two cycles";
    return top->prog_rsp_data_o;
  }

  void start(const Command &c) {
    unsigned pos = 0;
    auto put = [&](unsigned width, uint32_t v) {
      set_bits(top->cmd_i, pos, width, v);
      pos += width;
    };
    put(16, c.entry);
    for (uint32_t v : c.loop)
      put(32, v);
    put(2, c.row_level);
    put(2, c.col_level);
    put(8, c.row_step);
    put(8, c.col_step);
    put(32, c.valid_rows);
    put(32, c.valid_cols);
    put(8, c.scalar_mode);
    for (uint32_t v : c.scalar)
      put(32, v);
    for (uint32_t v : c.addr)
      put(32, v);
    for (uint32_t v : c.pitch)
      put(32, v);
    for (uint32_t v : c.stride)
      put(32, v);
    if (!top->ready_o)
      fault = "not ready for a command";
    top->start_i = 1;
    cycle();
    top->start_i = 0;
  }

  // Until done; false after `limit` cycles.
  bool finish(Result &r, uint64_t limit) {
    for (uint64_t i = 0; i < limit; ++i) {
      cycle();
      if (done_seen_) {
        r.code = top->done_code_o;
        r.detail0 = top->done_detail0_o;
        r.detail1 = top->done_detail1_o;
        r.bytes = top->done_bytes_o;
        r.work = top->done_work_o;
        return true;
      }
    }
    return false;
  }

  // Abort, wait until idle, clear. False: not idle in time, or done during the abort.
  bool abort() {
    top->abort_i = 1;
    bool ok = false;
    cycle();
    for (int i = 0; i < 40 && !ok; ++i) {
      if (i > 2 && done_seen_)
        return false;
      cycle();
      ok = top->idle_o;
    }
    top->clear_i = 1;
    cycle();
    top->clear_i = 0;
    top->abort_i = 0;
    cycle();
    return ok && !done_seen_;
  }

  bool done_seen() const { return done_seen_; }

  static unsigned clog2(uint32_t n) {
    unsigned b = 0;
    while ((1u << b) < n)
      ++b;
    return b;
  }

private:
  unsigned words_, word_bits_;
  bool done_seen_ = false;

  struct Response {
    uint64_t when;
    std::vector<uint8_t> data;
  };
  std::deque<Response> load_[8], smem_, acc_;

  void note_requests(unsigned vld, unsigned vst) {
    const Vtpu_vpu &t = *top;
    if ((vld || t.acc_rd_valid_o) && !first_load)
      first_load = now;
    if ((vst || t.acc_wr_valid_o) && !first_store)
      first_store = now;
    if (vld || vst || t.acc_rd_valid_o || t.acc_wr_valid_o || t.smem_valid_o) {
      ++requests;
      if (quiet_check)
        fault = "memory request while idle";
    }
  }

  void present_responses() {
    Vtpu_vpu &t = *top;
    const unsigned wb = config.vmem_word_bytes;
    auto due = [&](std::deque<Response> &q) { return !q.empty() && q.front().when == now; };
    t.vld_rsp_valid_i = 0;
    for (unsigned j = 0; j < words_; ++j) {
      uint8_t *p = reinterpret_cast<uint8_t *>(&t.vld_rsp_data_i) + j * wb;
      if (due(load_[j])) {
        t.vld_rsp_valid_i |= 1 << j;
        std::memcpy(p, load_[j].front().data.data(), wb);
        load_[j].pop_front();
      } else {
        p[random.below(wb)] ^= 0x5a;
      }
    }
    t.smem_rsp_valid_i = due(smem_);
    if (t.smem_rsp_valid_i) {
      std::memcpy(&t.smem_rsp_data_i, smem_.front().data.data(), config.hbm_port_bytes);
      smem_.pop_front();
    }
    t.acc_rd_rsp_valid_i = due(acc_);
    if (t.acc_rd_rsp_valid_i) {
      std::memcpy(&t.acc_rd_rsp_data_i, acc_.front().data.data(), config.lanes * 4);
      acc_.pop_front();
    }
  }

  void serve() {
    const bool reads_first = random.chance(50);
    if (reads_first)
      reads();
    writes();
    if (!reads_first)
      reads();
  }

  void reads() {
    const Vtpu_vpu &t = *top;
    const unsigned wb = config.vmem_word_bytes;
    for (unsigned j = 0; j < words_; ++j) {
      if (!(t.vld_gnt_i >> j & 1))
        continue;
      const uint8_t *p = &mem.vmem[get_bits(t.vld_addr_o, j * word_bits_, word_bits_) * wb];
      load_[j].push_back({now + 2, std::vector<uint8_t>(p, p + wb)});
    }
    if (t.smem_gnt_i) {
      const uint8_t *p = &mem.smem[t.smem_addr_o * config.hbm_port_bytes];
      smem_.push_back({now + 2, std::vector<uint8_t>(p, p + config.hbm_port_bytes)});
    }
    if (t.acc_rd_gnt_i) {
      const uint8_t *p = reinterpret_cast<const uint8_t *>(&mem.acc[t.acc_rd_row_o * config.lanes]);
      acc_.push_back({now + 2, std::vector<uint8_t>(p, p + config.lanes * 4)});
    }
  }

  void writes() {
    const Vtpu_vpu &t = *top;
    const unsigned wb = config.vmem_word_bytes;
    const uint8_t *data = reinterpret_cast<const uint8_t *>(&t.vst_wdata_o);
    for (unsigned j = 0; j < words_; ++j) {
      if (!(t.vst_gnt_i >> j & 1))
        continue;
      uint8_t *p = &mem.vmem[get_bits(t.vst_addr_o, j * word_bits_, word_bits_) * wb];
      const uint32_t be = uint32_t(get_bits(t.vst_be_o, j * wb, wb));
      for (unsigned i = 0; i < wb; ++i) {
        if (be >> i & 1)
          p[i] = data[j * wb + i];
      }
    }
    if (t.acc_wr_gnt_i) {
      for (unsigned l = 0; l < config.lanes; ++l) {
        if (t.acc_wr_mask_o >> l & 1) {
          mem.acc[t.acc_wr_row_o * config.lanes + l] = uint32_t(get_bits(t.acc_wr_data_o, 32 * l, 32));
        }
      }
    }
  }
};
