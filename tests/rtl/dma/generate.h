// SPDX-License-Identifier: MIT
//
// Random commands that are defined: what channels write is disjoint from all that is read and from what
// other channels write, and the rows of one command do not overlap. Commands of one channel may write
// the same bytes, which shows the order. The upper half of each SMEM chunk holds lists of indices below
// kIndices, with repetitions.
#pragma once
#include "command.h"

// Eight chunks of each memory; chunk c < 4 is written by channel c, the others are read. The roles turn.
class Chunks {
public:
  explicit Chunks(Random &random) {
    for (unsigned i = 0; i < 8; ++i)
      role_[i] = i;
    for (unsigned i = 7; i > 0; --i)
      std::swap(role_[i], role_[random.below(i + 1)]);
  }
  static uint32_t bytes(unsigned space) {
    return space == kHbm ? 65536 : (space == kVmem ? device().vmem_bytes : device().smem_bytes) / 8;
  }
  // HBM: seven from its start, one at its end.
  static uint32_t base(unsigned space, unsigned chunk) {
    if (space == kHbm && chunk == 7)
      return device().hbm_bytes - bytes(space);
    return chunk * bytes(space);
  }
  uint32_t written(unsigned space, unsigned channel) const { return base(space, role_[channel]); }
  uint32_t read(unsigned space, Random &random) const { return base(space, role_[4 + random.below(4)]); }

private:
  std::array<unsigned, 8> role_{};
};

// Calls f(space, address) for every byte of the chunks in which `got` and `base` differ.
template <typename F> void for_each_change(const Memories &got, const Memories &base, F f) {
  for (unsigned s = 0; s < 3; ++s) {
    for (unsigned c = 0; c < 8; ++c) {
      const uint32_t first = Chunks::base(s, c), n = Chunks::bytes(s);
      const uint8_t *g = got.block(s, first, n);
      const uint8_t *b = base.block(s, first, n);
      if (!std::memcmp(g, b, n))
        continue;
      for (uint32_t i = 0; i < n; ++i) {
        if (g[i] != b[i])
          f(s, first + i);
      }
    }
  }
}

// Compare what the chunks cover; returns the first difference.
inline std::string difference(const Memories &got, const Memories &want) {
  static const char *const names[] = {"HBM", "VMEM", "SMEM"};
  for (unsigned s = 0; s < 3; ++s) {
    for (unsigned c = 0; c < 8; ++c) {
      const uint32_t base = Chunks::base(s, c), n = Chunks::bytes(s);
      const uint8_t *g = got.block(s, base, n);
      const uint8_t *w = want.block(s, base, n);
      if (!std::memcmp(g, w, n))
        continue;
      const uint32_t i = uint32_t(std::mismatch(g, g + n, w).first - g);
      char t[128];
      std::snprintf(t, sizeof t, "%s 0x%x is 0x%02x, should be 0x%02x", names[s], base + i, g[i], w[i]);
      return t;
    }
  }
  return "";
}

constexpr uint32_t kIndices = 16;

inline void randomise(Memories &mem, Random &random) {
  for (unsigned s = 0; s < 3; ++s) {
    for (unsigned c = 0; c < 8; ++c) {
      uint8_t *p = mem.block(s, Chunks::base(s, c), Chunks::bytes(s));
      for (uint32_t i = 0; i < Chunks::bytes(s); i += 4) {
        const bool list = s == kSmem && i >= Chunks::bytes(s) / 2;
        const uint32_t x = list ? random.below(kIndices) : random.next();
        std::memcpy(p + i, &x, 4);
      }
    }
  }
}

inline uint32_t random_row(Random &random) {
  switch (random.below(10)) {
  case 0:
    return random.below(4);
  case 1:
  case 2:
  case 3:
    return random.range(1, 40);
  case 4:
  case 5:
  case 6:
    return random.range(1, 300);
  case 7:
    return 16 * random.range(1, 20);
  case 8:
    return 256 * random.range(1, 4);
  default:
    return random.range(1, 3000);
  }
}

inline unsigned random_space(Random &random) {
  const unsigned p = random.below(20);
  return p < 9 ? kHbm : p < 16 ? kVmem : kSmem;
}

// A base in [chunk, chunk + size) for an extent relative to 0, often aligned.
inline uint32_t place(Random &random, uint32_t chunk, uint32_t size, const Extent &e) {
  const uint32_t first = chunk + uint32_t(-e.low), slack = size - uint32_t(e.high - e.low);
  uint32_t base = first + random.below(slack + 1);
  const unsigned p = random.below(10);
  const uint32_t align = p < 2 ? 16 : p < 4 ? 32 : p < 5 ? 256 : 1;
  const uint32_t down = base - base % align;
  if (down >= first)
    base = down;
  if (p == 9) {
    // Near a 4 KiB line.
    const uint32_t line = (base / 4096) * 4096 + random.below(40) - 20;
    if (line >= first && line <= first + slack)
      base = line;
  }
  return base;
}

inline Command random_command(Random &random, const Chunks &chunks, unsigned channel) {
  Command c;
  c.src_space = random_space(random);
  c.dst_space = random_space(random);
  c.prio = random.below(4);
  c.pattern = random.next();
  c.row_bytes = random_row(random);
  c.fill = random.percent(25);
  const uint32_t dst_size = Chunks::bytes(c.dst_space), src_size = Chunks::bytes(c.src_space);
  c.row_bytes = std::min(c.row_bytes, std::min(dst_size, src_size) / 2);
  for (auto &n : c.count)
    n = uint16_t(random.percent(60) ? 1 : random.percent(4) ? 0 : random.range(1, 6));
  if (random.percent(25)) {
    c.gather = random.range(kGather, kScatter);
    c.bound = kIndices + random.below(4);
    c.count[0] = uint16_t(random.percent(4) ? 0 : random.range(1, 24));
    c.list = chunks.read(kSmem, random) + Chunks::bytes(kSmem) / 2 +
             4 * random.below(Chunks::bytes(kSmem) / 8 - 24);
    c.row_bytes = std::min(c.row_bytes, std::min(dst_size, src_size) / 44);
  }

  // Destination: dimensions in any order, each stride past what the inner ones cover.
  for (;;) {
    unsigned order[3] = {0, 1, 2};
    for (unsigned i = 2; i > 0; --i)
      std::swap(order[i], order[random.below(i + 1)]);
    uint32_t cover = c.row_bytes;
    for (unsigned d : order) {
      const uint32_t gap = random.percent(40) ? 0 : random.below(40);
      c.dst_stride[d] = int32_t(cover + gap) * (random.percent(20) ? -1 : 1);
      cover += (cover + gap) * (std::max<unsigned>(c.reach(true)[d], 1) - 1);
    }
    const Extent e = extent(0, c.row_bytes, c.dst_stride, c.reach(true));
    const bool nothing = !c.row_bytes || !c.count[0] || !c.count[1] || !c.count[2];
    if (nothing)
      break;
    if (e.high - e.low <= dst_size) {
      c.dst = place(random, chunks.written(c.dst_space, channel), dst_size, e);
      break;
    }
    c.count[random.below(3)] = 1;
  }
  c.valid_row = random.percent(20) ? 0 : random.percent(30) ? c.row_bytes : random.below(c.row_bytes + 1);
  for (unsigned d = 0; d < 3; ++d)
    c.valid[d] = uint16_t(random.percent(50) ? c.count[d] : random.below(c.count[d] + 1));

  // Source: anything that fits, overlaps included.
  const uint32_t row = c.fill ? c.valid_row : c.row_bytes;
  for (unsigned tries = 0;; ++tries) {
    for (auto &s : c.src_stride) {
      s = random.percent(20) || tries > 20
              ? 0
              : int32_t(random.below(2 * row + 40)) * (random.percent(30) ? -1 : 1);
    }
    const Extent e = extent(0, row, c.src_stride, c.reach(false));
    if (!c.reads()) {
      c.src = random.next();
      break;
    }
    if (e.high - e.low <= src_size) {
      c.src = place(random, chunks.read(c.src_space, random), src_size, e);
      break;
    }
  }
  // Strides of dimensions with one element mean nothing.
  for (unsigned d = 0; d < 3; ++d) {
    if (c.reach(true)[d] == 1 && random.percent(30))
      c.dst_stride[d] = int32_t(random.next());
    if (c.count[d] == 1 && c.reach(false)[d] <= 1 && random.percent(30))
      c.src_stride[d] = int32_t(random.next());
  }
  if (!c.fill) {
    // Fields of fill mean nothing without it.
    c.valid_row = random.next();
    for (auto &v : c.valid)
      v = uint16_t(random.next());
  }
  if (!c.gather) {
    c.list = random.next();
    c.bound = random.next() & 0xffffff;
  }
  return c;
}

// A command with a fault that the start checks must find, or an extreme one that is right.
inline Command random_fault(Random &random, const Chunks &chunks, unsigned channel) {
  Command c = random_command(random, chunks, channel);
  for (auto &n : c.count)
    n = std::max<uint16_t>(n, 1);
  c.row_bytes = std::max(c.row_bytes, 1u);
  for (unsigned n = random.range(1, 2); n > 0; --n) {
    switch (random.below(13)) {
    case 0:
      c.src_space = kAcc;
      break;
    case 1:
      c.dst_space = kAcc;
      break;
    case 2:
      c.gather = random.range(1, 3);
      break;
    case 9: // a list past the end of SMEM, or not aligned
      c.gather = random.range(1, 2);
      c.fill = 0;
      c.count[0] = uint16_t(random.range(76, 300));
      c.bound = kIndices;
      c.list = device().smem_bytes - random.below(300);
      break;
    case 10: // an index out of bounds, in what nobody writes
      c.gather = random.range(1, 2);
      c.count[0] = uint16_t(random.range(1, 100));
      c.list = chunks.read(kSmem, random) + 4 * random.below(Chunks::bytes(kSmem) / 4 - 100);
      c.bound = random.below(20);
      break;
    case 11: {
      const unsigned by = random.range(1, 2);
      c.gather = by;
      c.bound = random.next() & 0xffffff;
      (by == kGather ? c.src_stride : c.dst_stride)[0] = int32_t(random.next()) >> random.below(32);
      break;
    }
    case 12: // the first index that is too large is found, and no later one
      c.gather = random.range(1, 2);
      c.count = {{uint16_t(random.range(1, 200)), 1, 1}};
      c.list = chunks.read(kSmem, random) + Chunks::bytes(kSmem) / 2 + 4 * random.below(16);
      c.bound = kIndices - 1;
      break;
    case 3:
      c.fill = 1;
      c.valid_row = random.next() >> random.below(32);
      break;
    case 4:
      c.fill = 1;
      c.valid[random.below(3)] = uint16_t(random.next());
      break;
    case 5:
      c.src = random.next();
      break;
    case 6:
      c.dst = random.next();
      break;
    case 7: {
      const unsigned d = random.below(3);
      c.count[d] = uint16_t(random.next() | 2);
      (random.percent(50) ? c.src_stride : c.dst_stride)[d] = int32_t(random.next());
      break;
    }
    default:
      c.row_bytes = random.next();
      break;
    }
  }
  return c;
}
