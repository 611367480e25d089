// SPDX-License-Identifier: MIT
//
// The HBM side of the testbench: an AXI4 memory with latency, stalls, reordering between ids and
// injected errors, and a protocol checker that sees every cycle of the port.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <set>

#include "command.h"

constexpr unsigned kBeat = 16;
constexpr unsigned kPage = 4096;

struct Beat {
  uint8_t b[kBeat];
  bool operator==(const Beat &o) const { return !std::memcmp(b, o.b, kBeat); }
};

// What the port shows in one cycle.
struct AxiCycle {
  bool reset = false;
  bool ar_valid = false, ar_ready = false;
  uint32_t ar_addr = 0, ar_len = 0, ar_id = 0;
  bool r_valid = false, r_ready = false, r_last = false;
  uint32_t r_id = 0;
  bool aw_valid = false, aw_ready = false;
  uint32_t aw_addr = 0, aw_len = 0, aw_id = 0;
  bool w_valid = false, w_ready = false, w_last = false;
  Beat w_data{};
  uint32_t w_strb = 0;
  bool b_valid = false, b_ready = false;
  uint32_t b_id = 0;
};

// Rules of the port (rtl/README.md). report() is called with each violation.
class AxiChecker {
public:
  std::function<void(const std::string &)> report;

  void cycle(const AxiCycle &c) {
    if (c.reset) {
      if (was_reset_ && (c.ar_valid || c.aw_valid || c.w_valid))
        report("valid during reset");
      was_reset_ = true;
      last_ = AxiCycle{};
      reads_.clear();
      writes_.clear();
      answers_.clear();
      w_beats_ = 0;
      return;
    }
    was_reset_ = false;
    held("AR", last_.ar_valid && !last_.ar_ready, c.ar_valid,
         c.ar_addr == last_.ar_addr && c.ar_len == last_.ar_len && c.ar_id == last_.ar_id);
    held("AW", last_.aw_valid && !last_.aw_ready, c.aw_valid,
         c.aw_addr == last_.aw_addr && c.aw_len == last_.aw_len && c.aw_id == last_.aw_id);
    held("W", last_.w_valid && !last_.w_ready, c.w_valid,
         c.w_data == last_.w_data && c.w_strb == last_.w_strb && c.w_last == last_.w_last);
    if (c.ar_valid)
      burst("AR", c.ar_addr, c.ar_len);
    if (c.aw_valid)
      burst("AW", c.aw_addr, c.aw_len);
    // Data of a write follow its address (a rule of ours, not of AXI).
    if (c.w_valid) {
      if (writes_.empty()) {
        report("W without an accepted address");
      } else if (c.w_last != (w_beats_ + 1 == writes_.front().len + 1)) {
        report("w_last in the wrong beat");
      }
    }
    if (c.r_valid && !c.r_ready)
      report("r_ready low: return space was not reserved");
    if (c.b_valid && !c.b_ready)
      report("b_ready low");
    if (c.w_valid && c.w_ready && !writes_.empty() && ++w_beats_ == writes_.front().len + 1) {
      answers_.push_back(writes_.front());
      writes_.pop_front();
      w_beats_ = 0;
    }
    if (c.ar_valid && c.ar_ready)
      reads_.insert(c.ar_id);
    if (c.aw_valid && c.aw_ready)
      writes_.push_back({c.aw_len, c.aw_id});
    if (c.r_valid && c.r_ready && c.r_last) {
      auto it = reads_.find(c.r_id);
      if (it == reads_.end())
        report("read data without a burst");
      else
        reads_.erase(it);
    }
    if (c.b_valid && c.b_ready) {
      if (answers_.empty())
        report("write response without a burst");
      else
        answers_.pop_front();
    }
    last_ = c;
  }

  // Nothing on the way: checked when the engine says it is idle.
  bool quiet() const { return reads_.empty() && writes_.empty() && answers_.empty() && w_beats_ == 0; }
  unsigned outstanding_reads() const { return unsigned(reads_.size()); }

private:
  struct Write {
    uint32_t len, id;
  };

  void held(const char *what, bool waiting, bool valid, bool same) {
    if (waiting && !valid)
      report(std::string(what) + "valid dropped before ready");
    if (waiting && valid && !same)
      report(std::string(what) + " payload changed before ready");
  }
  void burst(const char *what, uint32_t addr, uint32_t len) {
    if (addr % kBeat)
      report(std::string(what) + " address not aligned to the port");
    if (addr / kPage != (addr + (len + 1) * kBeat - 1) / kPage)
      report(std::string(what) + " crosses 4 KiB");
    if (len > 255)
      report(std::string(what) + " too long");
  }

  AxiCycle last_;
  bool was_reset_ = false;
  std::multiset<uint32_t> reads_;
  std::deque<Write> writes_, answers_;
  unsigned w_beats_ = 0;
};

struct AxiSettings {
  unsigned latency = 100, jitter = 0, answer = 20;                            // cycles
  unsigned stall_ar = 0, stall_r = 0, stall_aw = 0, stall_w = 0, stall_b = 0; // percent
  unsigned accept = 64; // bursts the memory takes before it holds back addresses
  bool serial = false;  // one thing at a time: no read data between a write's address and its last data
};

class AxiMemory {
public:
  AxiSettings set;
  // Errors: a beat of a read by its number since arm(), a burst of a write by its number.
  std::function<bool(uint64_t)> read_error, write_error;
  uint64_t read_beats = 0, write_beats = 0, write_bursts = 0;
  std::vector<uint32_t> read_error_bursts, write_error_bursts; // addresses

  AxiMemory(Memories &mem, Random &random) : mem_(mem), random_(random) {}

  void arm() {
    read_beats = write_bursts = 0;
    read_error_bursts.clear();
    write_error_bursts.clear();
  }

  void reset() {
    reads_.clear();
    writes_.clear();
    answers_.clear();
    data_.clear();
    r_ = nullptr;
    r_valid_ = b_valid_ = false;
  }

  template <typename Top> void drive(Top *top, uint64_t now) {
    unsigned waiting = 0;
    for (auto &id : reads_)
      waiting += unsigned(id.second.size());
    top->hbm_ar_ready_i = waiting < set.accept && !random_.percent(set.stall_ar);
    top->hbm_aw_ready_i = writes_.size() + answers_.size() < set.accept && !random_.percent(set.stall_aw);
    top->hbm_w_ready_i = !random_.percent(set.stall_w);
    if (!r_valid_) {
      if (!r_)
        r_ = choose(now);
      r_valid_ = r_ && !random_.percent(set.stall_r) && !(set.serial && !writes_.empty());
    }
    top->hbm_r_valid_i = r_valid_;
    if (r_valid_) {
      const bool bad = read_error && read_error(read_beats);
      std::memcpy(&top->hbm_r_data_i, mem_.block(kHbm, r_->addr + r_->done * kBeat, kBeat), kBeat);
      if (bad)
        std::memset(&top->hbm_r_data_i, 0xbd, kBeat);
      top->hbm_r_last_i = r_->done == r_->len;
      top->hbm_r_resp_i = bad ? 2 : 0;
      top->hbm_r_id_i = r_->id;
    } else {
      std::memset(&top->hbm_r_data_i, 0xee, kBeat);
      top->hbm_r_last_i = 1;
      top->hbm_r_resp_i = 3;
    }
    if (!b_valid_)
      b_valid_ = !answers_.empty() && now >= answers_.front().due && !random_.percent(set.stall_b);
    top->hbm_b_valid_i = b_valid_;
    if (b_valid_) {
      // Memory changes as late as it may: when the response is given.
      if (!answers_.front().stored)
        store(answers_.front());
      top->hbm_b_resp_i = answers_.front().bad ? 2 : 0;
      top->hbm_b_id_i = answers_.front().id;
    } else {
      top->hbm_b_resp_i = 3;
    }
  }

  template <typename Top> void sample(Top *top, uint64_t now) {
    if (r_valid_ && top->hbm_r_ready_o) {
      if (top->hbm_r_resp_i)
        read_error_bursts.push_back(r_->addr);
      ++read_beats;
      r_valid_ = false;
      if (r_->done++ == r_->len) {
        auto &queue = reads_[r_->id];
        queue.pop_front();
        if (queue.empty())
          reads_.erase(r_->id);
        r_ = nullptr;
      }
    }
    if (top->hbm_ar_valid_o && top->hbm_ar_ready_i) {
      const uint64_t due = now + set.latency + (set.jitter ? random_.below(set.jitter) : 0);
      reads_[top->hbm_ar_id_o].push_back({due, top->hbm_ar_addr_o, top->hbm_ar_len_o, top->hbm_ar_id_o, 0});
    }
    if (b_valid_ && top->hbm_b_ready_o) {
      b_valid_ = false;
      answers_.pop_front();
    }
    if (top->hbm_w_valid_o && top->hbm_w_ready_i) {
      ++write_beats;
      Beat beat;
      std::memcpy(beat.b, &top->hbm_w_data_o, kBeat);
      data_.push_back({beat, uint32_t(top->hbm_w_strb_o)});
      if (top->hbm_w_last_o && !writes_.empty()) {
        Write w = writes_.front();
        writes_.pop_front();
        w.due = now + set.answer;
        w.beats.swap(data_);
        data_.clear();
        w.bad = write_error && write_error(write_bursts);
        if (w.bad)
          write_error_bursts.push_back(w.addr);
        ++write_bursts;
        answers_.push_back(w);
      }
    }
    if (top->hbm_aw_valid_o && top->hbm_aw_ready_i) {
      Write w;
      w.addr = top->hbm_aw_addr_o;
      w.id = top->hbm_aw_id_o;
      writes_.push_back(w);
    }
  }

private:
  struct Read {
    uint64_t due;
    uint32_t addr, len, id, done;
  };
  struct Write {
    uint64_t due = 0;
    uint32_t addr = 0, id = 0;
    bool bad = false, stored = false;
    std::vector<std::pair<Beat, uint32_t>> beats;
  };

  // The next burst to answer: any id whose first burst is due.
  Read *choose(uint64_t now) {
    Read *best = nullptr;
    unsigned n = 0;
    for (auto &id : reads_) {
      if (id.second.front().due <= now && random_.below(++n) == 0)
        best = &id.second.front();
    }
    return best;
  }
  void store(Write &w) {
    w.stored = true;
    if (w.bad)
      return;
    for (size_t i = 0; i < w.beats.size(); ++i) {
      for (unsigned b = 0; b < kBeat; ++b) {
        if (w.beats[i].second >> b & 1)
          mem_.at(kHbm, w.addr + i * kBeat + b) = w.beats[i].first.b[b];
      }
    }
  }

  Memories &mem_;
  Random &random_;
  std::map<uint32_t, std::deque<Read>> reads_;
  std::deque<Write> writes_, answers_;
  std::vector<std::pair<Beat, uint32_t>> data_;
  Read *r_ = nullptr;
  bool r_valid_ = false, b_valid_ = false;
};
