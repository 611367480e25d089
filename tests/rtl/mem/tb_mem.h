// SPDX-License-Identifier: MIT
// What the two memory testbenches share: random numbers, bit fields of ports, reset contents, verdicts.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tpu_configs.h"

inline const tpu_config &config(const char *name) {
  static const tpu_config table[] = {TPU_CONFIG_TABLE};
  for (const auto &c : table) {
    if (!std::strcmp(c.name, name))
      return c;
  }
  std::abort();
}

struct Random {
  uint64_t s;
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return uint32_t(s >> 32);
  }
  uint32_t below(uint32_t n) { return next() % n; }
};

// Contents after hard reset, written from docs/contract.md section 9.
inline uint32_t reset_word(uint32_t seed, uint32_t memory, uint32_t word) {
  uint32_t x = seed ^ (memory * 0x9e3779b9u) ^ (word * 0x85ebca6bu);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

// A port of any width as a string of bytes and bits.
template <typename T> uint8_t *bytes(T &port) {
  return reinterpret_cast<uint8_t *>(&port);
}
template <typename T> void set_bits(T &port, unsigned low, unsigned width, uint32_t value) {
  for (unsigned i = 0; i < width; ++i) {
    uint8_t &b = bytes(port)[(low + i) / 8];
    b = uint8_t((b & ~(1u << (low + i) % 8)) | ((value >> i & 1) << (low + i) % 8));
  }
}
template <typename T> bool get_bit(T &port, unsigned i) {
  return bytes(port)[i / 8] >> (i % 8) & 1;
}

inline int verdict(const char *name, bool ok, const std::string &why) {
  if (ok)
    std::printf("PASS %s\n", name);
  else
    std::printf("FAIL %s: %s\n", name, why.c_str());
  return ok ? 0 : 1;
}
