// SPDX-License-Identifier: MIT
//
// Drives the MXU and ACC: clock, a VMEM of two read ports with chosen stalls, command and
// completion handshakes, and background traffic on the VPU's ACC ports that checks itself.

#ifndef PEPLOS_TESTS_MXU_TB_H
#define PEPLOS_TESTS_MXU_TB_H

#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "Vmxu_acc.h"
#include "ref_mxu.h"
#include "verilated.h"

// Chances in 256 per cycle that a handshake is refused or delayed.
struct Stalls {
  int stream = 0, weight = 0, start = 0, done = 0, acc = 0, vpu = 0;
  bool banks = false; // the two VMEM ports collide in banks
};

class Tb {
public:
  Vmxu_acc dut;
  Config g;
  std::mt19937_64 rng;
  std::vector<uint8_t> vmem;
  std::vector<uint32_t> acc; // what ACC should hold
  Stalls stalls;
  uint64_t cycle = 0, vpu_checks = 0, errors = 0;
  uint32_t vpu_rows = 0; // the last rows of ACC belong to the background traffic
  unsigned max_refused = 0;

  explicit Tb(uint64_t seed) : rng(seed) {
    dut.rst_ni = 0;
    dut.start_i = dut.done_ready_i = dut.abort_i = dut.clear_i = 0;
    dut.rd_valid_i = dut.wr_valid_i = 0;
    dut.stream_gnt_i = dut.weight_gnt_i = dut.stream_rsp_valid_i = dut.weight_rsp_valid_i = 0;
    dut.clk_i = 0;
    dut.eval();
    g = {dut.dim_o, dut.bf16_o, dut.vmem_bytes_o, dut.vmem_banks_o, dut.word_bytes_o, dut.acc_rows_o};
    vmem.resize(g.vmem_bytes);
    acc.resize((size_t)g.acc_rows * g.dim);
    vpu_rows = 16;
    for (int i = 0; i < 4; i++)
      tick();
    dut.rst_ni = 1;
    tick();
    for (uint32_t r = 0; r < g.acc_rows; r++) {
      for (uint32_t l = 0; l < g.dim; l++)
        acc[r * g.dim + l] = (uint32_t)rng();
      acc_write(r);
    }
  }

  uint32_t below(uint32_t n) { return n ? (uint32_t)(rng() % n) : 0; }
  bool chance(int of256) { return of256 && (int)(rng() & 255) < of256; }

  // What the self-test breaks, once, to see that it is noticed.
  enum Fault { None, StreamBit, WeightBit, WorkCount, AccWord, LostCompletion };
  Fault fault = None;
  bool quiet = false;

  bool strike(Fault f) {
    if (fault != f)
      return false;
    fault = None;
    return true;
  }

  void fail(const char *what) {
    if (errors++ < 10 && !quiet)
      std::printf("  cycle %llu: %s\n", (unsigned long long)cycle, what);
  }

  // One cycle. Requests of the MXU depend on registers only, so they are settled here.
  void tick() {
    serve(dut.stream_valid_o, dut.stream_addr_o, stream_, stalls.stream);
    serve(dut.weight_valid_o, dut.weight_addr_o, weight_, stalls.weight);
    if (stalls.banks && stream_.gnt && weight_.gnt && bank(dut.stream_addr_o) == bank(dut.weight_addr_o)) {
      if (dut.weight_urgent_o)
        stream_.gnt = false;
      else
        weight_.gnt = false;
    }
    dut.stream_gnt_i = stream_.gnt;
    dut.weight_gnt_i = weight_.gnt;
    dut.acc_stall_i = chance(stalls.acc);
    respond(stream_, dut.stream_rsp_valid_i, dut.stream_rsp_data_i);
    respond(weight_, dut.weight_rsp_valid_i, dut.weight_rsp_data_i);
    if (stream_.v2 && strike(StreamBit))
      dut.stream_rsp_data_i[0] ^= 1;
    if (weight_.v2 && strike(WeightBit))
      dut.weight_rsp_data_i[0] ^= 1;
    if (stalls.vpu)
      vpu_requests();
    dut.clk_i = 0;
    dut.eval();
    shift(stream_);
    shift(weight_);
    if (stalls.vpu || vpu_busy_)
      vpu_check();
    dut.clk_i = 1;
    dut.eval();
    cycle++;
    // A granted request ends with its cycle.
    if (clear_rd_)
      dut.rd_valid_i = 0;
    if (clear_wr_)
      dut.wr_valid_i = 0;
    clear_rd_ = clear_wr_ = false;
  }

  void drive(const Command &c) {
    dut.a_i = c.a;
    dut.b_i = c.b;
    dut.c_i = c.c;
    dut.a_pitch_i = c.a_pitch;
    dut.b_pitch_i = c.b_pitch;
    dut.c_pitch_i = c.c_pitch;
    dut.m_i = c.m;
    dut.n_i = c.n;
    dut.k_i = c.k;
    dut.bf16_i = c.bf16;
    dut.transpose_i = c.transpose;
    dut.accumulate_i = c.accumulate;
  }

  // Runs commands and checks every completion; returns cycles from the first start to the last
  // completion. Stops behind the first error. `stop_at` cycles later (if not 0) it returns early.
  uint64_t run(const std::vector<Command> &cmds, uint64_t stop_at = 0) {
    size_t started = 0, done = 0;
    uint64_t first = 0, limit = 2000;
    for (const Command &c : cmds)
      limit += 64 + 40ull * (c.m + 2 * g.dim) * (c.n / g.dim + 1) * (c.k / g.dim + 1);
    const uint64_t begin = cycle;
    bool halted = false;
    while (done < cmds.size() && !halted) {
      if (cycle - begin > limit) {
        fail("commands do not complete");
        return cycle - first;
      }
      if (stop_at && cycle - begin >= stop_at)
        break;
      dut.start_i = 0;
      if (started < cmds.size() && dut.ready_o && !chance(stalls.start)) {
        if (started == 0)
          first = cycle;
        dut.start_i = 1;
        drive(cmds[started++]);
      }
      dut.done_ready_i = !chance(stalls.done);
      if (dut.done_valid_o && dut.done_ready_i && strike(LostCompletion)) {
        tick();
        continue;
      }
      if (dut.done_valid_o && dut.done_ready_i) {
        if (done >= started)
          fail("completion without a command");
        halted = complete(cmds[done]);
        done++;
      }
      const uint64_t now = cycle;
      tick();
      last_ = now;
    }
    dut.start_i = 0;
    dut.done_ready_i = 0;
    in_flight = started - done;
    return last_ - first;
  }
  size_t in_flight = 0;

  // Runs good commands at full speed without the reference.
  void run_only(const std::vector<Command> &cmds) {
    size_t started = 0, done = 0;
    dut.done_ready_i = 1;
    while (done < cmds.size()) {
      dut.start_i = started < cmds.size() && dut.ready_o;
      if (dut.start_i)
        drive(cmds[started++]);
      done += dut.done_valid_o;
      tick();
    }
    dut.start_i = 0;
    dut.done_ready_i = 0;
  }

  // Everything the VPU can see of ACC against the reference.
  void compare(const char *where) {
    settle();
    for (uint32_t r = 0; r < g.acc_rows; r++) {
      acc_read(r);
      for (uint32_t l = 0; l < g.dim; l++)
        if (dut.rd_rsp_data_o[l] != acc[r * g.dim + l]) {
          char text[160];
          std::snprintf(text, sizeof text, "%s: ACC row %u lane %u is %08x, should be %08x", where, r, l,
                        dut.rd_rsp_data_o[l], acc[r * g.dim + l]);
          fail(text);
        }
    }
  }

  void take_acc(uint32_t row) {
    acc_read(row);
    for (uint32_t l = 0; l < g.dim; l++)
      acc[row * g.dim + l] = dut.rd_rsp_data_o[l];
  }

  // Lets the background traffic finish.
  void settle() {
    const Stalls keep = stalls;
    stalls = {};
    dut.rd_valid_i = dut.wr_valid_i = 0;
    for (int i = 0; i < 8; i++)
      tick();
    vpu_busy_ = false;
    stalls = keep;
  }

  bool acc_differs(uint32_t row) {
    acc_read(row);
    for (uint32_t l = 0; l < g.dim; l++)
      if (dut.rd_rsp_data_o[l] != acc[row * g.dim + l])
        return true;
    return false;
  }

private:
  struct Port {
    bool gnt = false, v1 = false, v2 = false;
    uint32_t addr = 0, a1 = 0, a2 = 0;
  };
  struct Read {
    uint32_t row;
    uint64_t due;
    std::vector<uint32_t> data;
  };
  Port stream_, weight_;
  uint64_t last_ = 0;
  std::deque<Read> reads_;
  unsigned rd_refused_ = 0, wr_refused_ = 0;
  bool vpu_busy_ = false;

  uint32_t bank(uint32_t addr) const {
    uint32_t b = 0;
    for (uint32_t a = addr; a; a /= g.vmem_banks)
      b ^= a % g.vmem_banks;
    return b;
  }

  void serve(bool valid, uint32_t addr, Port &p, int stall) {
    p.gnt = valid && !chance(stall);
    p.addr = addr;
  }

  // Data is sampled at the response; nothing writes VMEM in these tests.
  template <typename V, typename D> void respond(const Port &p, V &valid, D &data) {
    valid = p.v2;
    if (p.v2)
      std::memcpy(&data, &vmem[(size_t)p.a2 * g.word_bytes], g.word_bytes);
    else if (stalls.stream)
      data[0] = data[1] = data[3] = (uint32_t)rng();
  }

  static void shift(Port &p) {
    p.v2 = p.v1;
    p.a2 = p.a1;
    p.v1 = p.gnt;
    p.a1 = p.addr;
  }

  bool complete(const Command &c) {
    const Outcome want = ref_check(g, c);
    if (dut.done_code_o != want.code ||
        (want.code && (dut.done_detail0_o != want.detail0 || dut.done_detail1_o != want.detail1))) {
      std::printf("  completion %u %#x %#x, should be %u %#x %#x\n", dut.done_code_o, dut.done_detail0_o,
                  dut.done_detail1_o, want.code, want.detail0, want.detail1);
      c.print();
      fail("wrong completion");
    }
    if (want.code)
      return true;
    ref_run(g, c, vmem, acc);
    if (strike(AccWord))
      acc[(size_t)c.c * g.dim] ^= 0x400;
    if (dut.done_work_o != (uint64_t)c.m * c.n * c.k + strike(WorkCount)) {
      if (!quiet) {
        std::printf("  work %llu\n", (unsigned long long)dut.done_work_o);
        c.print();
      }
      fail("work is not M * N * K");
    }
    return false;
  }

  void acc_write(uint32_t row) {
    dut.wr_valid_i = 1;
    dut.wr_row_i = row;
    dut.wr_mask_i = (1u << g.dim) - 1;
    for (uint32_t l = 0; l < g.dim; l++)
      dut.wr_data_i[l] = acc[row * g.dim + l];
    tick();
    dut.wr_valid_i = 0;
  }

  void acc_read(uint32_t row) {
    const Stalls keep = stalls;
    stalls = {};
    dut.rd_valid_i = 1;
    dut.rd_row_i = row;
    tick();
    dut.rd_valid_i = 0;
    tick();
    stalls = keep;
    if (!dut.rd_rsp_valid_o)
      fail("no ACC read data two cycles after the grant");
  }

  // Requests stay until granted, as the VPU's do. Mostly one bank, to provoke refusals.
  void vpu_requests() {
    vpu_busy_ = true;
    const uint32_t base = g.acc_rows - vpu_rows;
    if (!dut.rd_valid_i && !chance(stalls.vpu)) {
      dut.rd_valid_i = 1;
      dut.rd_row_i = base + (below(vpu_rows) & (chance(128) ? ~1u : ~0u));
    }
    if (!dut.wr_valid_i && !chance(stalls.vpu)) {
      dut.wr_valid_i = 1;
      dut.wr_row_i = base + (below(vpu_rows) & (chance(128) ? ~1u : ~0u));
      dut.wr_mask_i = (uint32_t)rng() & ((1u << g.dim) - 1);
      for (uint32_t l = 0; l < g.dim; l++)
        dut.wr_data_i[l] = (uint32_t)rng();
    }
  }

  // After the inputs settled, before the edge.
  void vpu_check() {
    if (!reads_.empty() && reads_.front().due == cycle) {
      if (!dut.rd_rsp_valid_o)
        fail("no ACC read data two cycles after the grant");
      for (uint32_t l = 0; l < g.dim; l++)
        if (dut.rd_rsp_data_o[l] != reads_.front().data[l])
          fail("wrong data on the VPU's ACC port");
      vpu_checks++;
      reads_.pop_front();
    }
    if (dut.rd_valid_i && dut.rd_gnt_o) {
      const uint32_t *row = &acc[(size_t)dut.rd_row_i * g.dim];
      reads_.push_back({dut.rd_row_i, cycle + 2, std::vector<uint32_t>(row, row + g.dim)});
    }
    if (dut.wr_valid_i && dut.wr_gnt_o)
      for (uint32_t l = 0; l < g.dim; l++)
        if (dut.wr_mask_i >> l & 1)
          acc[(size_t)dut.wr_row_i * g.dim + l] = dut.wr_data_i[l];
    count(dut.rd_valid_i, dut.rd_gnt_o, rd_refused_);
    count(dut.wr_valid_i, dut.wr_gnt_o, wr_refused_);
    clear_rd_ = dut.rd_valid_i && dut.rd_gnt_o;
    clear_wr_ = dut.wr_valid_i && dut.wr_gnt_o;
  }

  bool clear_rd_ = false, clear_wr_ = false;

  void count(bool valid, bool gnt, unsigned &refused) {
    if (!valid || gnt) {
      refused = 0;
      return;
    }
    if (++refused > max_refused)
      max_refused = refused;
    if (refused > 15)
      fail("a VPU port was refused more than 15 times in a row");
  }
};

#endif
