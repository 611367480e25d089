// SPDX-License-Identifier: MIT
//
// What surrounds the front end, with random delays: engines that take commands and complete them in
// order, and the scalar ports of VMEM, SMEM and program memory.
#ifndef FRONTEND_ENGINES_H
#define FRONTEND_ENGINES_H

#include <cstdint>
#include <deque>
#include <vector>

#include "model.h"

struct Random {
  uint64_t s;
  explicit Random(uint64_t seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x1234567) {}
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return static_cast<uint32_t>(s * 0x2545f4914f6cdd1dull >> 32);
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(uint64_t(next()) * n >> 32); }
  bool percent(uint32_t p) { return below(100) < p; }
};

// An engine: outputs are registers, as the engine port demands.
struct Engine {
  struct Job {
    unsigned left;
    uint32_t code, detail0, detail1;
    uint64_t bytes, work;
  };
  std::deque<Job> jobs;
  bool ready = false, failed = false;
  unsigned drain = 0; // cycles for which something is still on the bus

  bool done_valid() const { return !failed && !jobs.empty() && jobs.front().left == 0; }
  bool idle() const { return (jobs.empty() || failed) && drain == 0; }

  // End of a cycle.
  void step(Random &r, bool start, bool accepted, bool abort, bool clear, unsigned ready_percent,
            unsigned slow, unsigned error_percent) {
    if (accepted) {
      failed = jobs.front().code != 0;
      if (failed)
        drain = r.below(20);
      else
        jobs.pop_front();
    }
    if (drain != 0)
      --drain;
    for (Job &j : jobs) {
      if (j.left != 0) {
        --j.left;
        break;
      }
    }
    if (start) {
      Job j{};
      j.left = r.below(slow);
      j.bytes = r.percent(95) ? r.below(5) : uint64_t(r.next()) << r.below(16);
      j.work = uint64_t(r.next()) << r.below(16);
      if (r.percent(error_percent))
        j = {j.left, 1 + r.below(200), r.next(), r.next(), 3, 4};
      jobs.push_back(j);
    }
    if (abort && !jobs.empty()) {
      jobs.clear();
      drain = r.below(40);
    }
    if (clear)
      failed = false;
    ready = !failed && !abort && jobs.size() < 6 && r.percent(ready_percent);
  }
};

// A memory with a scalar port: a grant now and then, data two cycles after the grant of a read.
struct Memory {
  std::vector<uint8_t> bytes;
  unsigned word; // bytes
  bool grant = false;
  unsigned refused = 0;
  struct Answer {
    bool valid = false;
    uint32_t address = 0;
  } first, second;

  Memory(size_t size, unsigned word_bytes) : bytes(size), word(word_bytes) {}

  // End of a cycle; the bench has written `data` already if it was a write.
  void step(Random &r, bool valid, bool write, uint32_t word_address) {
    second = first;
    first.valid = valid && grant && !write;
    first.address = word_address * word;
    refused = valid && !grant ? refused + 1 : 0;
    grant = refused >= 15 || r.percent(60);
  }
};

#endif
