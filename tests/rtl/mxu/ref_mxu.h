// SPDX-License-Identifier: MIT
//
// Reference of the MXU for its testbenches: start checks and results, element by element in the
// order of docs/contract.md section 5, with the arithmetic of ref_fp.h.

#ifndef PEPLOS_TESTS_REF_MXU_H
#define PEPLOS_TESTS_REF_MXU_H

#include <cstdint>
#include <cstdio>
#include <vector>

#include "ref_fp.h"

struct Config {
  uint32_t dim, bf16, vmem_bytes, vmem_banks, word_bytes, acc_rows;
};

struct Command {
  uint32_t a, b, c, a_pitch, b_pitch, c_pitch, m, n, k;
  bool bf16, transpose, accumulate;

  void print() const {
    std::printf("  %s%s%s M=%u N=%u K=%u A=%#x+%#x B=%#x+%#x C=%u+%u\n", bf16 ? "bf16" : "int8",
                transpose ? " transposed" : "", accumulate ? " accumulate" : "", m, n, k, a, a_pitch, b,
                b_pitch, c, c_pitch);
  }
};

struct Outcome {
  uint32_t code = 0, detail0 = 0, detail1 = 0;
};

// Error codes and details as the register reference numbers them.
enum : uint32_t { ErrBadField = 4, ErrAlign = 5, ErrRange = 6, SpaceVmem = 1, SpaceAcc = 3 };

static inline Outcome ref_check(const Config &g, const Command &c) {
  typedef unsigned __int128 wide;
  const uint32_t size = c.bf16 ? 2 : 1, align = g.dim * size;
  if (c.m == 0 || c.n == 0 || (c.k == 0 && c.accumulate))
    return {};
  if (c.k != 0) {
    const uint32_t words[4][2] = {{0x40, c.a}, {0x4c, c.a_pitch}, {0x44, c.b}, {0x50, c.b_pitch}};
    for (auto &w : words)
      if (w[1] % align)
        return {ErrAlign, w[0], w[1]};
  }
  if (c.n > g.dim && c.c_pitch < c.m)
    return {ErrBadField, 0x54, c.c_pitch};
  if (c.k != 0) {
    const wide ea = (wide)c.a + (wide)(c.m - 1) * c.a_pitch + (wide)c.k * size;
    if (ea > g.vmem_bytes)
      return {ErrRange, 0 | SpaceVmem << 8, (uint32_t)ea};
    const uint32_t rows = c.transpose ? c.n : c.k, cols = c.transpose ? c.k : c.n;
    const wide eb = (wide)c.b + (wide)(rows - 1) * c.b_pitch + (wide)cols * size;
    if (eb > g.vmem_bytes)
      return {ErrRange, 1 | SpaceVmem << 8, (uint32_t)eb};
  }
  const wide ec = (wide)c.c + (wide)((c.n - 1) / g.dim) * c.c_pitch + c.m;
  if (ec > g.acc_rows)
    return {ErrRange, 2 | SpaceAcc << 8, (uint32_t)ec};
  return {};
}

static inline void ref_run(const Config &g, const Command &c, const std::vector<uint8_t> &vmem,
                           std::vector<uint32_t> &acc) {
  if (c.m == 0 || c.n == 0 || (c.k == 0 && c.accumulate))
    return;
  for (uint32_t m = 0; m < c.m; m++)
    for (uint32_t n = 0; n < c.n; n++) {
      uint32_t *out = &acc[(size_t)(c.c + n / g.dim * c.c_pitch + m) * g.dim + n % g.dim];
      if (c.k == 0)
        *out = 0;
      for (uint32_t k0 = 0; k0 < c.k; k0 += g.dim) {
        uint32_t sum = 0;
        for (uint32_t i = 0; i < g.dim; i++) {
          const uint32_t k = k0 + i;
          uint32_t p = 0;
          if (c.bf16) {
            uint16_t x = 0, y = 0;
            if (k < c.k) {
              std::memcpy(&x, &vmem[c.a + (size_t)m * c.a_pitch + 2 * k], 2);
              std::memcpy(&y,
                          &vmem[c.transpose ? c.b + (size_t)n * c.b_pitch + 2 * k
                                            : c.b + (size_t)k * c.b_pitch + 2 * n],
                          2);
            }
            p = ref_bf16_mul(x, y);
            sum = i == 0 ? p : ref_add(sum, p);
          } else if (k < c.k) {
            const int8_t x = (int8_t)vmem[c.a + (size_t)m * c.a_pitch + k];
            const int8_t y =
                (int8_t)vmem[c.transpose ? c.b + (size_t)n * c.b_pitch + k : c.b + (size_t)k * c.b_pitch + n];
            p = (uint32_t)((int32_t)x * y);
            sum += p;
          }
        }
        if (k0 == 0 && !c.accumulate)
          *out = sum;
        else
          *out = c.bf16 ? ref_add(*out, sum) : *out + sum;
      }
    }
}

#endif
