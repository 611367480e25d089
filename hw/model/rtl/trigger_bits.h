// SPDX-License-Identifier: MIT
//
// The clocks that have risen: as flags where they are found, as bits of a word where parts of the design
// are chosen by them. Verilator 5.006 has arrays of bools for both and walks over them several times an
// evaluation; with a dozen clocks (tpu_clock_gate.sv) that costs as much as a block of the device.
// fast.awk puts these types into the generated code.
#ifndef PEPLOS_TRIGGER_BITS_H
#define PEPLOS_TRIGGER_BITS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Written one by one (a word would be loaded and stored again for each, as the writes between may alias
// it), read all at once.
template <std::size_t N> class TriggerFlags final {
public:
  bool &at(std::size_t i) { return flags_[i]; }
  bool any() const {
    uint64_t all = 0;
    for (std::size_t w = 0; w < kWords; ++w)
      all |= word(w);
    return all != 0;
  }
  uint64_t bits() const {
    uint64_t r = 0;
    // Eight bools of 0 or 1 to eight bits: the product has bool i in bit 56 + i.
    for (std::size_t w = 0; w < kWords; ++w)
      r |= (word(w) * 0x0102040810204080u >> 56) << (8 * w);
    return r;
  }

private:
  static constexpr std::size_t kWords = (N + 7) / 8;
  static_assert(kWords <= 8, "TriggerBits has one word");
  uint64_t word(std::size_t w) const {
    uint64_t x;
    std::memcpy(&x, flags_.data() + 8 * w, sizeof x);
    return x;
  }
  std::array<bool, 8 * kWords> flags_{};
};

template <std::size_t N> class TriggerBits final {
public:
  // Zero or not: so the `or` of several is one test of the word.
  uint64_t at(std::size_t i) const { return bits_ & uint64_t{1} << i; }
  void clear() { bits_ = 0; }
  bool any() const { return bits_ != 0; }
  void set(const TriggerFlags<N> &other) { bits_ |= other.bits(); }
  void andNot(const TriggerFlags<N> &a, const TriggerBits &b) { bits_ = a.bits() & ~b.bits_; }

private:
  uint64_t bits_ = 0;
};

#endif
