// SPDX-License-Identifier: MIT
//
// The memory behind the RTL's AXI4 port: latency, bandwidth, stalls, bus errors.
//
// Read bursts are answered in order, the first beat `latency` cycles after the address at the earliest,
// one beat a cycle. Writes take one beat a cycle beside the reads (or share the beat slots when
// shared_bus); the response comes kWriteResponse cycles after the last beat. Data move between the
// bursts and the host in one callback a burst. Random stalls hold back any handshake.
#ifndef PEPLOS_HBM_PORT_H
#define PEPLOS_HBM_PORT_H

#include <array>
#include <cstdint>
#include <cstring>

#include "tpu_model.h"

namespace peplos {

constexpr unsigned kMaxBurstBytes = 4096;
constexpr unsigned kPortFifo = 128;     // bursts the port accepts before it holds back addresses
constexpr unsigned kWriteResponse = 20; // cycles from the last beat to the response
constexpr uint8_t kRespOkay = 0, kRespSlverr = 2;

// Small deterministic generator for the stalls.
class StallSource {
public:
  void seed(uint32_t seed, uint32_t percent) {
    state_ = seed * 2654435761u + 88172645463325252ull;
    limit_ = percent > 90 ? 90 : percent;
  }
  bool stall() {
    if (limit_ == 0)
      return false;
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 33) % 100 < limit_;
  }

private:
  uint64_t state_ = 1;
  uint32_t limit_ = 0;
};

template <typename T> class Ring {
public:
  bool empty() const { return count_ == 0; }
  bool full() const { return count_ == kPortFifo; }
  T &front() { return items_[head_]; }
  T &push() {
    T &item = items_[(head_ + count_) % kPortFifo];
    ++count_;
    return item;
  }
  void pop() {
    head_ = (head_ + 1) % kPortFifo;
    --count_;
  }
  void clear() { head_ = count_ = 0; }

private:
  std::array<T, kPortFifo> items_{};
  unsigned head_ = 0, count_ = 0;
};

struct ReadBurst {
  uint64_t due;
  uint32_t addr;
  uint16_t beats;
  uint8_t id;
};

struct WriteBurst {
  uint32_t addr;
  uint16_t beats;
  uint8_t id;
};

struct WriteResponse {
  uint64_t due;
  uint8_t id;
  uint8_t resp;
};

class HbmPort {
public:
  void configure(const tpu_model_host &host, unsigned port_bytes, bool shared_bus, uint32_t stall_percent,
                 uint32_t stall_seed) {
    host_ = host;
    bytes_ = port_bytes;
    shared_ = shared_bus;
    stalls_.seed(stall_seed, stall_percent);
    reads_.clear();
    writes_.clear();
    responses_.clear();
    read_beat_ = write_beat_ = 0;
    write_error_ = false;
    r_valid_ = b_valid_ = false;
  }

  bool quiet() const { return reads_.empty() && writes_.empty() && responses_.empty(); }

  // Set the device's inputs for cycle `now`. Called once a cycle, before the clock edge.
  template <typename Top> void drive(Top *top, uint64_t now) {
    top->hbm_ar_ready_i = !reads_.full() && !stalls_.stall();
    top->hbm_aw_ready_i = !writes_.full() && !stalls_.stall();
    // A valid that was not taken stays, with the same payload.
    if (!r_valid_ && !reads_.empty() && now >= reads_.front().due && !stalls_.stall()) {
      if (read_beat_ == 0)
        fetch(reads_.front());
      r_valid_ = true;
    }
    top->hbm_r_valid_i = r_valid_;
    if (r_valid_) {
      const ReadBurst &b = reads_.front();
      std::memcpy(&top->hbm_r_data_i, read_data_ + read_beat_ * bytes_, bytes_);
      top->hbm_r_last_i = read_beat_ + 1 == b.beats;
      top->hbm_r_resp_i = read_resp_;
      top->hbm_r_id_i = b.id;
    }
    const bool bus_taken = shared_ && r_valid_;
    top->hbm_w_ready_i = !writes_.empty() && !responses_.full() && !bus_taken && !stalls_.stall();
    if (!b_valid_ && !responses_.empty() && now >= responses_.front().due && !stalls_.stall())
      b_valid_ = true;
    top->hbm_b_valid_i = b_valid_;
    if (b_valid_) {
      top->hbm_b_resp_i = responses_.front().resp;
      top->hbm_b_id_i = responses_.front().id;
    }
  }

  // Take note of the handshakes of cycle `now`. Called after the inputs have settled, before the edge.
  template <typename Top> void sample(Top *top, uint64_t now) {
    if (r_valid_ && top->hbm_r_ready_o) {
      r_valid_ = false;
      if (++read_beat_ == reads_.front().beats) {
        reads_.pop();
        read_beat_ = 0;
      }
    }
    if (top->hbm_ar_valid_o && top->hbm_ar_ready_i) {
      reads_.push() = {now + top->hbm_latency_o, top->hbm_ar_addr_o, uint16_t(top->hbm_ar_len_o + 1),
                       top->hbm_ar_id_o};
    }
    if (b_valid_ && top->hbm_b_ready_o) {
      b_valid_ = false;
      responses_.pop();
    }
    if (top->hbm_w_valid_o && top->hbm_w_ready_i) {
      std::memcpy(write_data_ + write_beat_ * bytes_, &top->hbm_w_data_o, bytes_);
      std::memcpy(write_strobe_ + write_beat_ * sizeof(uint32_t), &top->hbm_w_strb_o,
                  sizeof(top->hbm_w_strb_o));
      if (++write_beat_ == writes_.front().beats) {
        store(writes_.front());
        responses_.push() = {now + kWriteResponse, writes_.front().id,
                             write_error_ ? kRespSlverr : kRespOkay};
        writes_.pop();
        write_beat_ = 0;
      }
    }
    if (top->hbm_aw_valid_o && top->hbm_aw_ready_i) {
      writes_.push() = {top->hbm_aw_addr_o, uint16_t(top->hbm_aw_len_o + 1), top->hbm_aw_id_o};
    }
  }

private:
  void fetch(const ReadBurst &b) {
    const size_t n = size_t(b.beats) * bytes_;
    read_resp_ = kRespOkay;
    if (n > kMaxBurstBytes || host_.mem_read(host_.opaque, b.addr, read_data_, n) != 0) {
      std::memset(read_data_, 0, sizeof read_data_);
      read_resp_ = kRespSlverr;
    }
  }

  bool strobe(size_t byte) const {
    const size_t beat = byte / bytes_, lane = byte % bytes_;
    return write_strobe_[beat * sizeof(uint32_t) + lane / 8] >> (lane % 8) & 1;
  }

  // Write the strobed runs of a burst.
  void store(const WriteBurst &b) {
    const size_t n = size_t(b.beats) * bytes_;
    write_error_ = n > kMaxBurstBytes;
    for (size_t i = 0; i < n && !write_error_;) {
      if (!strobe(i)) {
        ++i;
        continue;
      }
      size_t end = i + 1;
      while (end < n && strobe(end))
        ++end;
      write_error_ = host_.mem_write(host_.opaque, b.addr + i, write_data_ + i, end - i) != 0;
      i = end;
    }
  }

  tpu_model_host host_{};
  unsigned bytes_ = 16;
  bool shared_ = false;
  StallSource stalls_;
  Ring<ReadBurst> reads_;
  Ring<WriteBurst> writes_;
  Ring<WriteResponse> responses_;
  unsigned read_beat_ = 0, write_beat_ = 0;
  bool r_valid_ = false, b_valid_ = false, write_error_ = false;
  uint8_t read_resp_ = 0;
  alignas(64) uint8_t read_data_[kMaxBurstBytes] = {};
  alignas(64) uint8_t write_data_[kMaxBurstBytes] = {};
  uint8_t write_strobe_[kMaxBurstBytes / 4] = {};
};

} // namespace peplos

#endif
