// SPDX-License-Identifier: MIT
//
// tpu_fp_pkg against the host. Operands: all pairs of special values and their neighbours, all
// pairs of exponents with random mantissas, sums with close exponents, products around overflow
// and underflow, ties, uniformly random words. `./tb <seed> <millions> full` adds all 2^32 bf16
// pairs. Prints a PASS or FAIL line per function; exit code 1 on any difference.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "Vfp_lanes.h"
#include "ref_fp.h"
#include "verilated.h"

namespace {

constexpr int Lanes = 16;

struct Op {
  const char *name;
  uint32_t (*ref)(uint32_t, uint32_t);
  uint64_t count = 0, bad = 0;
};

uint32_t bf16_ref(uint32_t a, uint32_t b) {
  return ref_bf16_mul((uint16_t)a, (uint16_t)b);
}

Op ops[3] = {{"bf16_mul", bf16_ref}, {"f32_add", ref_add}, {"f32_mul", ref_mul}};

struct Bench {
  Vfp_lanes dut;
  uint32_t a[Lanes], b[Lanes];
  int n = 0;

  void flush(unsigned which) {
    for (int l = 0; l < Lanes; l++) {
      dut.a_i[l] = a[l];
      dut.b_i[l] = b[l];
    }
    dut.clk_i = 0;
    dut.eval();
    dut.clk_i = 1;
    dut.eval();
    for (int o = 0; o < 3; o++) {
      if (!(which >> o & 1))
        continue;
      for (int l = 0; l < n; l++) {
        const uint32_t got = o == 0 ? dut.bf16_mul_o[l] : o == 1 ? dut.f32_add_o[l] : dut.f32_mul_o[l];
        const uint32_t want = ops[o].ref(a[l], b[l]);
        ops[o].count++;
        if (got != want && ops[o].bad++ < 10)
          std::printf("  %s(%08x, %08x) = %08x, should be %08x\n", ops[o].name, a[l], b[l], got, want);
      }
    }
    n = 0;
  }

  void pair(uint32_t x, uint32_t y, unsigned which = 7) {
    a[n] = x;
    b[n] = y;
    if (++n == Lanes)
      flush(which);
  }
};

std::vector<uint32_t> special_words() {
  std::vector<uint32_t> v;
  for (uint32_t base :
       {0x00000000u, 0x00000001u, 0x00400000u, 0x007fffffu, 0x00800000u, 0x00ffffffu, 0x01000000u,
        0x0c000000u, 0x1f800000u, 0x20000000u, 0x33800000u, 0x34000000u, 0x3effffffu, 0x3f000000u,
        0x3f7fffffu, 0x3f800000u, 0x3f800001u, 0x3fffffffu, 0x40000000u, 0x4b000000u, 0x4b800000u,
        0x5f000000u, 0x5f800000u, 0x7e800000u, 0x7effffffu, 0x7f000000u, 0x7f7fffffu, 0x7f800000u,
        0x7f800001u, 0x7fbfffffu, 0x7fc00000u, 0x7fffffffu, 0x00003f80u, 0x00007f80u, 0x00000080u})
    for (int d = -2; d <= 2; d++)
      for (uint32_t s : {0u, 0x80000000u, 0x8000u})
        v.push_back((base + (uint32_t)d) ^ s);
  return v;
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t millions = argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 2;
  const bool full = argc > 3;
  std::printf("fp: seed %llu, %llu million random pairs of each kind%s\n", (unsigned long long)seed,
              (unsigned long long)millions, full ? ", all bf16 pairs" : "");
  std::mt19937_64 rng(seed);
  Bench t;

  const std::vector<uint32_t> sp = special_words();
  for (uint32_t x : sp)
    for (uint32_t y : sp)
      t.pair(x, y);
  for (uint32_t x : sp)
    for (int i = 0; i < 400; i++) {
      t.pair(x, (uint32_t)rng());
      t.pair((uint32_t)rng(), x);
    }
  // Every pair of sign and exponent, as f32 and as bf16.
  for (uint32_t x = 0; x < 512; x++)
    for (uint32_t y = 0; y < 512; y++) {
      const uint64_t r = rng();
      t.pair(x << 23 | (r & 0x7fffff), y << 23 | (r >> 32 & 0x7fffff), 6);
      t.pair(x << 7 | (r & 0x7f), y << 7 | (r >> 32 & 0x7f), 1);
    }
  for (uint64_t i = 0; i < millions * 1000000; i++) {
    const uint64_t r = rng(), q = rng();
    const uint32_t x = (uint32_t)r, y = (uint32_t)(r >> 32);
    const uint32_t ex = x >> 23 & 255;
    // Uniform.
    t.pair(x, y);
    // Close exponents, sparse mantissas: cancellation, ties.
    const uint32_t ey = (ex + (uint32_t)(q % 57) - 28) & 255;
    const uint32_t keep = 0x7fffffu << (q >> 8) % 24 & 0x7fffffu;
    t.pair((x & 0xff800000u) | (x & keep & 0x7fffff), (y & 0x80000000u) | ey << 23 | (y & keep), 2);
    t.pair(x, (y & 0x80000000u) | ey << 23 | (y & 0x7fffff), 2);
    // Products with a biased exponent around 0 and around 255.
    const int edge = (q >> 16 & 1) ? 255 : 0;
    const int em = edge + 127 + (int)(q >> 20 & 3) - 2 - (int)ex;
    if (em >= 0 && em <= 255) {
      t.pair(x, (y & 0x807fffffu) | (uint32_t)em << 23, 4);
      t.pair(x >> 16, ((y & 0x807fffffu) | (uint32_t)em << 23) >> 16, 1);
    }
  }
  while (t.n)
    t.pair(0, 0);
  if (full)
    for (uint64_t i = 0; i < 1ull << 32; i++)
      t.pair((uint32_t)(i >> 16), (uint32_t)(i & 0xffff), 1);

  int rc = 0;
  for (const Op &o : ops) {
    std::printf("%s fp/%s: %llu vectors, %llu wrong\n", o.bad ? "FAIL" : "PASS", o.name,
                (unsigned long long)o.count, (unsigned long long)o.bad);
    rc |= o.bad != 0;
  }
  return rc;
}
