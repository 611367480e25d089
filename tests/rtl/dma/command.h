// SPDX-License-Identifier: MIT
//
// DMA commands and what they must do, byte by byte, written from docs/contract.md sections 3 and 4.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "tpu_configs.h"

enum Space { kHbm = 0, kVmem = 1, kSmem = 2, kAcc = 3 };
enum Code { kNone = 0, kBadField = 4, kAlign = 5, kRange = 6, kBus = 7, kIndex = 14 };
enum Indexed { kByStride = 0, kGather = 1, kScatter = 2 };

struct Random {
  uint64_t s;
  explicit Random(uint64_t seed) : s(seed * 0x9e3779b97f4a7c15ull + 0x1234567) { next(); }
  uint32_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return uint32_t(s >> 32);
  }
  uint32_t below(uint32_t n) { return uint32_t((uint64_t(next()) * n) >> 32); }
  uint32_t range(uint32_t low, uint32_t high) { return low + below(high - low + 1); }
  bool percent(unsigned p) { return p != 0 && below(100) < p; }
};

struct Command {
  uint32_t src = 0, dst = 0;
  unsigned src_space = kHbm, dst_space = kVmem, fill = 0, gather = 0;
  uint32_t row_bytes = 0;
  std::array<uint16_t, 3> count{{1, 1, 1}};
  std::array<int32_t, 3> src_stride{}, dst_stride{};
  uint32_t valid_row = 0;
  std::array<uint16_t, 3> valid{};
  uint32_t pattern = 0;
  uint32_t list = 0, bound = 0;
  unsigned prio = 0;

  // Rows that a side may reach in each dimension.
  std::array<uint32_t, 3> reach(bool write) const {
    const auto &n = !write && fill ? valid : count;
    std::array<uint32_t, 3> r{{n[0], n[1], n[2]}};
    if (gather == unsigned(write ? kScatter : kGather))
      r[0] = bound;
    return r;
  }
  bool reads() const {
    return row_bytes && count[0] && count[1] && count[2] &&
           (!fill || (valid_row && valid[0] && valid[1] && valid[2]));
  }
  // Indices that it uses.
  unsigned listed() const {
    return gather == kScatter ? count[0] : gather == kGather && reads() ? (fill ? valid : count)[0] : 0;
  }

  std::array<uint32_t, 18> words() const {
    std::array<uint32_t, 18> w{};
    w[0] = src;
    w[1] = dst;
    w[2] = src_space | dst_space << 2 | fill << 4 | gather << 5;
    w[3] = row_bytes;
    w[4] = count[0] | uint32_t(count[1]) << 16;
    w[5] = count[2];
    for (int d = 0; d < 3; ++d) {
      w[6 + d] = uint32_t(src_stride[d]);
      w[9 + d] = uint32_t(dst_stride[d]);
    }
    w[12] = valid_row;
    w[13] = valid[0] | uint32_t(valid[1]) << 16;
    w[14] = valid[2];
    w[15] = pattern;
    w[16] = list;
    w[17] = bound;
    return w;
  }

  std::string text() const {
    char t[512];
    std::snprintf(
        t, sizeof t,
        "src %u:0x%x dst %u:0x%x row %u count %u,%u,%u src_stride %d,%d,%d dst_stride %d,%d,%d fill %u "
        "valid %u:%u,%u,%u gather %u list 0x%x bound %u prio %u",
        src_space, src, dst_space, dst, row_bytes, count[0], count[1], count[2], src_stride[0], src_stride[1],
        src_stride[2], dst_stride[0], dst_stride[1], dst_stride[2], fill, valid_row, valid[0], valid[1],
        valid[2], gather, list, bound, prio);
    return t;
  }
};

struct Outcome {
  uint32_t code = kNone, detail0 = 0, detail1 = 0;
  uint64_t bytes = 0;
  bool operator==(const Outcome &o) const {
    return code == o.code && detail0 == o.detail0 && detail1 == o.detail1 && bytes == o.bytes;
  }
  std::string text() const {
    char t[128];
    std::snprintf(t, sizeof t, "code %u detail 0x%x 0x%x bytes %llu", code, detail0, detail1,
                  static_cast<unsigned long long>(bytes));
    return t;
  }
};

inline const tpu_config &device() {
  static const tpu_config table[] = {TPU_CONFIG_TABLE};
  for (const auto &c : table) {
    if (!std::strcmp(c.name, CONFIG))
      return c;
  }
  std::abort();
}

// The memories. Of HBM only the first 2 MiB and the last 64 KiB exist; the rest must not be touched.
class Memories {
public:
  static constexpr uint64_t kLow = 2 << 20, kHigh = 65536;

  Memories() {
    m_[kHbm].resize(kLow + kHigh);
    m_[kVmem].resize(device().vmem_bytes);
    m_[kSmem].resize(device().smem_bytes);
  }
  uint64_t size(unsigned space) const { return space == kHbm ? device().hbm_bytes : m_[space].size(); }
  uint8_t &at(unsigned space, uint64_t addr) { return m_[space].at(index(space, addr)); }
  // `n` bytes from addr, for blocks.
  const uint8_t *block(unsigned space, uint64_t addr, uint64_t n) const {
    const uint64_t i = index(space, addr);
    if (i + n > m_[space].size())
      throw std::out_of_range("block outside the testbench's memory");
    return &m_[space][i];
  }
  uint8_t *block(unsigned space, uint64_t addr, uint64_t n) {
    return const_cast<uint8_t *>(static_cast<const Memories *>(this)->block(space, addr, n));
  }

private:
  uint64_t index(unsigned space, uint64_t addr) const {
    if (space != kHbm || addr < kLow)
      return addr;
    if (addr < size(kHbm) - kHigh)
      throw std::out_of_range("HBM address outside the testbench's memory");
    return kLow + addr - (size(kHbm) - kHigh);
  }
  std::array<std::vector<uint8_t>, 3> m_;
};

struct Extent {
  __int128 low, high;
};

inline Extent extent(uint32_t base, uint32_t row, const std::array<int32_t, 3> &stride,
                     const std::array<uint32_t, 3> &count) {
  Extent e{base, __int128(base) + row};
  for (int d = 0; d < 3; ++d) {
    const __int128 way = __int128(stride[d]) * (int64_t(count[d]) - 1);
    (way < 0 ? e.low : e.high) += way;
  }
  return e;
}

inline uint32_t index_of(const Command &c, const Memories &mem, unsigned i) {
  uint32_t index;
  std::memcpy(&index, mem.block(kSmem, c.list + 4 * i, 4), 4);
  return index;
}

// Start checks; code 0 if it may move.
inline Outcome check(const Command &c, const Memories &mem) {
  const auto w = c.words();
  if (c.src_space > kSmem || c.dst_space > kSmem || c.gather > kScatter)
    return {kBadField, 0x48, w[2], 0};
  if (c.fill) {
    if (c.valid_row > c.row_bytes)
      return {kBadField, 0x70, w[12], 0};
    if (c.valid[0] > c.count[0] || c.valid[1] > c.count[1])
      return {kBadField, 0x74, w[13], 0};
    if (c.valid[2] > c.count[2])
      return {kBadField, 0x78, w[14], 0};
  }
  if (c.row_bytes == 0 || !c.count[0] || !c.count[1] || !c.count[2])
    return {};
  const unsigned listed = c.listed();
  if (listed && !c.bound)
    return {kBadField, 0x84, 0, 0};
  const uint32_t row = c.fill ? c.valid_row : c.row_bytes;
  auto outside = [&](const Extent &e, unsigned operand, unsigned space) -> Outcome {
    if (e.low >= 0 && e.high <= __int128(mem.size(space)))
      return {};
    return {kRange, operand | space << 8, uint32_t(e.low < 0 ? e.low : e.high), 0};
  };
  if (c.reads()) {
    const Outcome o = outside(extent(c.src, row, c.src_stride, c.reach(false)), 0, c.src_space);
    if (o.code)
      return o;
  }
  const Outcome o = outside(extent(c.dst, c.row_bytes, c.dst_stride, c.reach(true)), 1, c.dst_space);
  if (o.code || !listed)
    return o;
  if (c.list % 4)
    return {kAlign, 0x80, c.list, 0};
  if (uint64_t(c.list) + 4 * listed > mem.size(kSmem))
    return {kRange, 2 | kSmem << 8, c.list + 4 * listed, 0};
  for (unsigned i = 0; i < listed; ++i) {
    if (index_of(c, mem, i) >= c.bound)
      return {kIndex, i, index_of(c, mem, i), 0};
  }
  return {};
}

// Calls f(destination, byte or -1 for none, source) for every byte in order.
template <typename F> void for_each_byte(const Command &c, const Memories &mem, F f) {
  const unsigned listed = c.listed();
  for (unsigned i2 = 0; i2 < c.count[2]; ++i2)
    for (unsigned i1 = 0; i1 < c.count[1]; ++i1)
      for (unsigned i0 = 0; i0 < c.count[0]; ++i0) {
        int64_t s = c.src, d = c.dst;
        const unsigned i[3] = {i0, i1, i2};
        unsigned from[3] = {i0, i1, i2}, to[3] = {i0, i1, i2};
        if (i0 < listed)
          (c.gather == kGather ? from : to)[0] = index_of(c, mem, i0);
        bool inside = true;
        for (int k = 0; k < 3; ++k) {
          s += int64_t(c.src_stride[k]) * from[k];
          d += int64_t(c.dst_stride[k]) * to[k];
          inside = inside && (!c.fill || i[k] < c.valid[k]);
        }
        for (uint32_t b = 0; b < c.row_bytes; ++b) {
          const bool copied = inside && (!c.fill || b < c.valid_row);
          f(uint64_t(d + b), copied, uint64_t(s + b), uint8_t(c.pattern >> (8 * (b % 4))));
        }
      }
}

// The whole command on `mem`.
inline Outcome execute(const Command &c, Memories &mem) {
  Outcome o = check(c, mem);
  if (o.code)
    return o;
  for_each_byte(c, mem, [&](uint64_t d, bool copied, uint64_t s, uint8_t pattern) {
    mem.at(c.dst_space, d) = copied ? mem.at(c.src_space, s) : pattern;
    ++o.bytes;
  });
  return o;
}
