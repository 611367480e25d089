// SPDX-License-Identifier: MIT
//
// The MXU with ACC against the reference: directed edges, random chained commands under random
// stalls, errors, abort, and the cycle figures. Every test is one PASS or FAIL line.
//
//   tb <seed> <random batches> [bench]
//
// bench runs only the long matmul and prints the simulation speed (in CPU time, so that a
// loaded machine disturbs it less).

#include <algorithm>
#include <cstdio>
#include <ctime>

#include "tb.h"

namespace {

uint64_t seed;
int failures = 0;

void report(const char *name, Tb &t, uint64_t before, const char *note = "") {
  const bool ok = t.errors == before;
  failures += !ok;
  std::printf("%s mxu/%s%s%s\n", ok ? "PASS" : "FAIL", name, *note ? ": " : "", note);
  std::fflush(stdout);
}

// bf16 operands: mostly moderate numbers, some special values, some arbitrary bits.
uint16_t random_bf16(Tb &t) {
  static const uint16_t special[] = {0x0000, 0x8000, 0x0001, 0x807f, 0x0080, 0x8080, 0x3f80, 0xbf80,
                                     0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0xffc1, 0x7fc0, 0x00ff};
  const uint32_t r = (uint32_t)t.rng();
  switch (r >> 28) {
  case 0:
    return (r >> 27 & 1) ? special[r & 15] : (uint16_t)r;
  case 1:
    return (uint16_t)((r & 0x80ff) | 0x1f80); // products near the smallest normal
  case 2:
    return (uint16_t)((r & 0x80ff) | 0x5f00); // near overflow
  default:
    return (uint16_t)((r & 0x83ff) + 0x3e00);
  }
}

// kind 0: int8 bytes, 1: moderate bf16, 2: bf16 with special values.
void fill(Tb &t, int kind) {
  for (size_t i = 0; i + 1 < t.vmem.size(); i += 2) {
    uint16_t v;
    if (kind == 0)
      v = (uint16_t)t.rng();
    else if (kind == 1)
      v = (uint16_t)(((uint32_t)t.rng() & 0x81ff) + 0x3f00);
    else
      v = random_bf16(t);
    std::memcpy(&t.vmem[i], &v, 2);
  }
}

uint32_t round_up(uint32_t x, uint32_t to) {
  return (x + to - 1) / to * to;
}

// A row-major operand of rows x cols somewhere in VMEM, sometimes at its very end.
void place(Tb &t, uint32_t rows, uint32_t cols, bool bf16, uint32_t &base, uint32_t &pitch) {
  const uint32_t size = bf16 ? 2 : 1, unit = t.g.dim * size;
  const uint32_t len = round_up(cols * size, unit);
  pitch = len + unit * t.below(t.chance(128) ? 1 : 6);
  if (rows == 1 && t.chance(64))
    pitch = unit * (uint32_t)t.rng() & 0xffffff00u; // not used
  if (rows > 1 && t.chance(10))
    pitch = unit * t.below(3); // rows overlap
  const uint64_t span = (uint64_t)(rows ? rows - 1 : 0) * (rows > 1 ? pitch : 0) + len;
  const uint32_t room = t.g.vmem_bytes - (uint32_t)span;
  base = t.chance(40) ? room : t.below(room / unit + 1) * unit;
}

Command random_command(Tb &t, uint32_t max_m, uint32_t max_nk, bool bf16) {
  Command c{};
  const uint32_t d = t.g.dim;
  auto extent = [&](uint32_t max) {
    switch (t.below(6)) {
    case 0:
      return 1 + t.below(std::min(max, d));
    case 1:
      return std::min(max, d * (1 + t.below(3)));
    case 2:
      return std::min(max, d * (1 + t.below(3)) + 1);
    default:
      return 1 + t.below(max);
    }
  };
  c.bf16 = bf16;
  c.transpose = t.chance(128);
  c.accumulate = t.chance(128);
  c.m = t.chance(4) ? 0 : extent(max_m);
  c.n = t.chance(4) ? 0 : extent(max_nk);
  c.k = t.chance(8) ? 0 : extent(max_nk);
  place(t, c.m, c.k, bf16, c.a, c.a_pitch);
  place(t, c.transpose ? c.n : c.k, c.transpose ? c.k : c.n, bf16, c.b, c.b_pitch);
  c.c_pitch = c.m + t.below(t.chance(128) ? 1 : 5);
  const uint32_t tiles = c.n ? (c.n + d - 1) / d : 1;
  const uint32_t rows = (tiles - 1) * c.c_pitch + c.m, room = t.g.acc_rows - t.vpu_rows - rows;
  c.c = t.chance(64) ? t.below(4) : t.below(room + 1);
  return c;
}

void run_checked(Tb &t, const std::vector<Command> &cmds, const char *where) {
  const uint64_t before = t.errors;
  t.run(cmds);
  t.compare(where);
  if (t.errors != before)
    for (const Command &c : cmds)
      c.print();
}

// ---- directed ----

// Every small M, N, K around the tile edges, both types, plain and transposed.
void test_edges(Tb &t) {
  const uint64_t before = t.errors;
  const uint32_t d = t.g.dim;
  const uint32_t nk[] = {0, 1, 2, d - 1, d, d + 1, 2 * d - 1, 2 * d, 2 * d + 1, 3 * d + 2};
  const uint32_t ms[] = {0, 1, 2, 3, d - 1, d, d + 1, 2 * d + 3};
  int count = 0;
  for (int bf16 = 0; bf16 <= (int)t.g.bf16; bf16++) {
    fill(t, bf16 ? 2 : 0);
    std::vector<Command> batch;
    for (uint32_t m : ms)
      for (uint32_t n : nk)
        for (uint32_t k : nk)
          for (int mode = 0; mode < 4; mode++) {
            Command c = random_command(t, 1, 1, bf16);
            c.m = m;
            c.n = n;
            c.k = k;
            c.transpose = mode & 1;
            c.accumulate = mode & 2;
            place(t, m, k, bf16, c.a, c.a_pitch);
            place(t, c.transpose ? n : k, c.transpose ? k : n, bf16, c.b, c.b_pitch);
            c.c_pitch = m + t.below(3);
            c.c = t.below(200);
            batch.push_back(c);
            count++;
            if (batch.size() == 64) {
              run_checked(t, batch, "edges");
              batch.clear();
            }
          }
    run_checked(t, batch, "edges");
  }
  char note[64];
  std::snprintf(note, sizeof note, "%d commands", count);
  report("edges", t, before, note);
}

// Memory past K holds NaN: it must not get in. And -0 sums stay what padding with +0 makes them.
void test_padding(Tb &t) {
  if (!t.g.bf16)
    return;
  const uint64_t before = t.errors;
  const uint32_t d = t.g.dim;
  for (uint32_t k = 1; k < 2 * d; k++)
    for (int mode = 0; mode < 2; mode++) {
      for (size_t i = 0; i < t.vmem.size(); i += 2)
        t.vmem[i] = 0xff, t.vmem[i + 1] = 0x7f;
      Command c{};
      c.bf16 = true;
      c.transpose = mode;
      c.m = 3;
      c.n = d + 1;
      c.k = k;
      c.a_pitch = 4 * d;
      c.b = 4096;
      c.b_pitch = 4 * d;
      c.c_pitch = 3;
      auto put = [&](uint32_t addr, uint16_t v) { std::memcpy(&t.vmem[addr], &v, 2); };
      for (uint32_t m = 0; m < c.m; m++)
        for (uint32_t i = 0; i < k; i++)
          put(c.a + m * c.a_pitch + 2 * i, m == 0 ? 0x8000 : 0x3f80);
      for (uint32_t n = 0; n < c.n; n++)
        for (uint32_t i = 0; i < k; i++)
          put(c.b + (mode ? n : i) * c.b_pitch + 2 * (mode ? i : n), n & 1 ? 0x3f80 : 0xbf80);
      run_checked(t, {c}, "padding");
    }
  report("padding", t, before);
}

// Commands that follow each other on the same accumulator rows, closer than the adder's latency.
void test_hazard(Tb &t) {
  const uint64_t before = t.errors;
  const uint32_t d = t.g.dim;
  fill(t, t.g.bf16 ? 1 : 0);
  for (int round = 0; round < 40; round++) {
    std::vector<Command> batch;
    for (int i = 0; i < 12; i++) {
      Command c = random_command(t, 1, 1, t.g.bf16);
      c.m = 1 + t.below(d + 3);
      c.n = 1 + t.below(d);
      c.k = 1 + t.below(d);
      place(t, c.m, c.k, c.bf16, c.a, c.a_pitch);
      place(t, c.transpose ? c.n : c.k, c.transpose ? c.k : c.n, c.bf16, c.b, c.b_pitch);
      // Begin where the one before ended, or one row off.
      c.c = i ? batch.back().c + batch.back().m - 1 - t.below(std::min(3u, batch.back().m)) : 50;
      c.accumulate = t.chance(200);
      batch.push_back(c);
    }
    run_checked(t, batch, "hazard");
  }
  report("hazard", t, before);
}

// int8 and bf16 in turns.
void test_switch(Tb &t) {
  if (!t.g.bf16)
    return;
  const uint64_t before = t.errors;
  fill(t, 1);
  std::vector<Command> batch;
  for (int i = 0; i < 40; i++)
    batch.push_back(random_command(t, 40, 40, i & 1));
  run_checked(t, batch, "switch");
  report("switch", t, before);
}

// ---- random ----

void test_random(Tb &t, int batches) {
  const uint64_t before = t.errors, checks = t.vpu_checks;
  uint64_t count = 0;
  for (int b = 0; b < batches && t.errors < before + 10; b++) {
    const bool bf16 = t.g.bf16 && t.chance(160);
    fill(t, bf16 ? 1 + (int)t.below(2) : 0);
    t.stalls = {};
    if (b % 4 != 0) {
      t.stalls.stream = (int)t.below(200);
      t.stalls.weight = (int)t.below(t.chance(100) ? 250 : 100);
      t.stalls.start = (int)t.below(200);
      t.stalls.done = (int)t.below(250);
    }
    if (b % 3 == 2)
      t.stalls.acc = (int)t.below(200);
    t.stalls.banks = t.chance(100);
    if (b % 2)
      t.stalls.vpu = 1 + (int)t.below(120);
    std::vector<Command> batch;
    const uint32_t n = 1 + t.below(8);
    for (uint32_t i = 0; i < n; i++)
      batch.push_back(random_command(t, 80, 5 * t.g.dim, bf16 ? !t.chance(10) : false));
    count += n;
    run_checked(t, batch, "random");
    t.stalls = {};
  }
  char note[160];
  std::snprintf(note, sizeof note, "%llu commands, %llu VPU reads checked, at most %u refusals in a row",
                (unsigned long long)count, (unsigned long long)(t.vpu_checks - checks), t.max_refused);
  report("random", t, before, note);
}

// ---- errors and abort ----

void recover(Tb &t) {
  t.dut.abort_i = 1;
  for (int i = 0; i < 100 && (i < 2 || !t.dut.idle_o); i++)
    t.tick();
  if (!t.dut.idle_o)
    t.fail("not idle 100 cycles after abort");
  t.dut.abort_i = 0;
  t.dut.clear_i = 1;
  t.tick();
  t.dut.clear_i = 0;
  t.tick();
}

void test_errors(Tb &t) {
  const uint64_t before = t.errors;
  uint32_t seen[16] = {};
  fill(t, t.g.bf16 ? 1 : 0);
  for (int round = 0; round < 400; round++) {
    const bool bf16 = t.g.bf16 && t.chance(128);
    const uint32_t unit = t.g.dim * (bf16 ? 2 : 1);
    std::vector<Command> batch;
    for (uint32_t i = t.below(4); i; i--)
      batch.push_back(random_command(t, 30, 30, bf16));
    Command c = random_command(t, 40, 60, bf16);
    c.accumulate = t.chance(128);
    auto off = [&]() { return 1 + t.below(unit - 1); };
    switch (t.below(14)) {
    case 0:
      c.a += off();
      break;
    case 1:
      c.a_pitch += off();
      break;
    case 2:
      c.b += off();
      break;
    case 3:
      c.b_pitch += off();
      break;
    case 4:
      c.c_pitch = c.m ? t.below(c.m) : 0;
      break;
    case 5:
      c.a = t.g.vmem_bytes - unit * t.below(8);
      break;
    case 6:
      c.b = t.g.vmem_bytes - unit * t.below(8);
      break;
    case 7:
      c.c = t.g.acc_rows - t.below(c.m + 2);
      break;
    case 8:
      c.a = (uint32_t)t.rng() & ~(unit - 1);
      break;
    case 9:
      c.a_pitch = (uint32_t)t.rng() & ~(unit - 1);
      break;
    case 10:
      c.b_pitch = 0xffffffffu & ~(unit - 1);
      break;
    case 11:
      c.c_pitch = (uint32_t)t.rng() | 0x80000000u;
      break;
    case 12:
      c.c = 0xffffffffu - t.below(3);
      break;
    default: { // everything large
      c.m = (uint32_t)t.rng() & 0xfffff;
      c.n = (uint32_t)t.rng() & 0xfffff;
      c.k = t.chance(20) ? 0 : (uint32_t)t.rng() & 0xfffff;
      break;
    }
    }
    const Outcome want = ref_check(t.g, c);
    if (want.code == 0 && (uint64_t)c.m * c.n > 10000)
      continue;
    // A command that is right writes where it may, but not on the background traffic's rows.
    if (want.code == 0 && c.m && c.n &&
        c.c + (uint64_t)((c.n - 1) / t.g.dim) * c.c_pitch + c.m > t.g.acc_rows - t.vpu_rows)
      continue;
    seen[want.code]++;
    batch.push_back(c);
    const bool behind = t.chance(128);
    if (behind)
      batch.push_back(random_command(t, 10, 10, bf16));
    if (t.chance(128))
      t.stalls.stream = t.stalls.weight = 60;
    t.run(batch);
    if (want.code) {
      // Nothing more happens, nothing is taken.
      for (int i = 0; i < 100; i++) {
        t.dut.done_ready_i = 1;
        if (t.dut.ready_o || t.dut.done_valid_o)
          t.fail("active after an error");
        if (i > 10 && !t.dut.idle_o)
          t.fail("not idle after an error");
        t.tick();
      }
      t.dut.done_ready_i = 0;
      t.stalls = {};
      t.compare("behind an error");
      recover(t);
    } else {
      t.stalls = {};
      t.compare("errors");
    }
    if (t.errors != before) {
      for (const Command &x : batch)
        x.print();
      break;
    }
  }
  char note[96];
  std::snprintf(note, sizeof note, "%u good, %u ALIGN, %u BAD_FIELD, %u RANGE", seen[0], seen[ErrAlign],
                seen[ErrBadField], seen[ErrRange]);
  if (!seen[ErrAlign] || !seen[ErrBadField] || !seen[ErrRange])
    t.fail("an error never occurred");
  report("errors", t, before, note);
}

void test_abort(Tb &t) {
  const uint64_t before = t.errors;
  fill(t, t.g.bf16 ? 1 : 0);
  for (int round = 0; round < 200; round++) {
    const bool bf16 = t.g.bf16 && t.chance(128);
    std::vector<Command> batch;
    for (int i = 0; i < 6; i++)
      batch.push_back(random_command(t, 60, 60, bf16));
    if (t.chance(40)) {
      Command c = random_command(t, 20, 20, bf16);
      c.m = c.n = c.k = 1;
      c.a = 1;
      batch.insert(batch.begin() + t.below(6), c);
    }
    if (t.chance(128))
      t.stalls.stream = t.stalls.weight = 60;
    t.run(batch, 1 + t.below(2000));
    t.stalls = {};
    recover(t);
    // Rows no command could have written are as before; the others are taken as they are.
    std::vector<bool> touched(t.g.acc_rows, false);
    for (const Command &c : batch)
      for (uint32_t n = 0; n < c.n && ref_check(t.g, c).code == 0; n += t.g.dim)
        for (uint32_t m = 0; m < c.m; m++)
          touched[c.c + n / t.g.dim * c.c_pitch + m] = true;
    for (uint32_t r = 0; r < t.g.acc_rows; r++) {
      if (touched[r])
        t.take_acc(r);
      else if (t.acc_differs(r))
        t.fail("abort changed a row that no command names");
    }
    run_checked(t, {random_command(t, 40, 40, bf16), random_command(t, 40, 40, bf16)}, "after abort");
    if (t.errors != before)
      break;
  }
  report("abort", t, before);
}

// The checkers must notice what they are for: one fault each, in a run that is right otherwise.
void test_checkers(Tb &t) {
  const uint64_t before = t.errors;
  uint64_t missed = 0;
  const Tb::Fault faults[] = {Tb::StreamBit, Tb::WeightBit, Tb::WorkCount, Tb::AccWord, Tb::LostCompletion};
  for (Tb::Fault f : faults) {
    for (size_t i = 0; i < t.vmem.size(); i++)
      t.vmem[i] = t.g.bf16 && i % 2 ? 0x3f : 1;
    Command c{};
    c.m = c.n = c.k = 1;
    c.bf16 = t.g.bf16;
    c.a_pitch = c.b_pitch = 2 * t.g.dim;
    t.fault = f;
    t.quiet = true;
    const uint64_t errors = t.errors;
    t.run({c});
    t.compare("checkers");
    if (t.errors == errors || t.fault != Tb::None)
      missed++;
    t.errors = errors;
    t.fault = Tb::None;
    t.quiet = false;
    recover(t);
    for (uint32_t r = 0; r < t.g.acc_rows; r++)
      t.take_acc(r);
  }
  if (missed)
    t.fail("a fault that was put in went unnoticed");
  report("checkers", t, before, "5 faults put in");
}

// ---- figures ----

Command square(Tb &t, uint32_t m, uint32_t n, uint32_t k, bool bf16, bool transpose) {
  Command c{};
  const uint32_t size = bf16 ? 2 : 1;
  c.m = m;
  c.n = n;
  c.k = k;
  c.bf16 = bf16;
  c.transpose = transpose;
  c.a_pitch = round_up(k * size, t.g.dim * size);
  c.b = round_up(m * c.a_pitch, 4096);
  c.b_pitch = round_up((transpose ? k : n) * size, t.g.dim * size);
  c.c_pitch = m;
  return c;
}

void test_figures(Tb &t) {
  const uint32_t d = t.g.dim;
  for (int bf16 = (int)t.g.bf16; bf16 >= 0; bf16--)
    for (int tr = 0; tr < 2; tr++) {
      char name[64], note[128];
      const char *kind = bf16 ? (tr ? "bf16_transposed" : "bf16") : (tr ? "int8_transposed" : "int8");
      fill(t, bf16 ? 1 : 0);
      uint64_t before = t.errors;
      // 8 x 8 tiles of 128 rows, alone: 128 x 128 x 128 where Dim is 16.
      const Command one = square(t, 128, 8 * d, 8 * d, bf16, tr);
      const uint64_t ideal = 128 * 64;
      const uint64_t cycles = t.run({one});
      t.compare("figure");
      if (cycles > ideal + 2 * d + 14)
        t.fail("too slow");
      std::snprintf(name, sizeof name, "alone_%s", kind);
      std::snprintf(note, sizeof note, "%llu cycles, ideal %llu + %llu", (unsigned long long)cycles,
                    (unsigned long long)ideal, (unsigned long long)(cycles - ideal));
      report(name, t, before, note);

      before = t.errors;
      const uint64_t chained = t.run(std::vector<Command>(200, square(t, 128, 2 * d, 2 * d, bf16, tr)));
      const double use = 200.0 * 128 * 4 / (double)chained;
      if (use < 0.999)
        t.fail("bubbles between chained commands");
      t.compare("figure");
      std::snprintf(name, sizeof name, "chained_%s", kind);
      std::snprintf(note, sizeof note, "200 commands, utilisation %.3f %%", 100 * use);
      report(name, t, before, note);

      // The same with bank conflicts between the two VMEM ports.
      before = t.errors;
      t.stalls.banks = true;
      const uint64_t banked = t.run(std::vector<Command>(20, square(t, 128, 8 * d, 8 * d, bf16, tr)));
      t.stalls = {};
      const double banked_use = 20.0 * ideal / (double)banked;
      if (banked_use < 0.99)
        t.fail("bank conflicts cost more than 1 %");
      t.compare("figure");
      std::snprintf(name, sizeof name, "banks_%s", kind);
      std::snprintf(note, sizeof note, "20 commands, weights and operands in one VMEM: %.3f %%",
                    100 * banked_use);
      report(name, t, before, note);

      // Short commands: the smallest M without a bubble. 16 / Dim tiles each, because with four
      // commands under way a command cannot take less than a quarter of the unit's latency.
      before = t.errors;
      const uint32_t tiles = 16 / d;
      uint32_t smallest = 0;
      double shortest = 0;
      for (uint32_t m = d + 2; m >= d / 2; m--) {
        const int count = 400;
        const uint64_t c = t.run(std::vector<Command>(count, square(t, m, d, tiles * d, bf16, tr)));
        shortest = (double)(c - 2 * d - 14) / count / tiles;
        if (shortest <= m)
          smallest = m;
      }
      if (smallest == 0 || smallest > d + 1)
        t.fail("bubbles at M = Dim + 1");
      t.compare("figure");
      std::snprintf(name, sizeof name, "small_m_%s", kind);
      std::snprintf(note, sizeof note,
                    "commands of %u tiles: no bubble from M = %u; at M = %u a tile takes %.2f cycles", tiles,
                    smallest, d / 2, shortest);
      report(name, t, before, note);
    }
}

void bench(Tb &t) {
  for (int bf16 = (int)t.g.bf16; bf16 >= 0; bf16--) {
    fill(t, bf16 ? 1 : 0);
    const Command c = square(t, 128, 8 * t.g.dim, 8 * t.g.dim, bf16, false);
    t.run({c});
    double best = 0;
    for (int i = 0; i < 5; i++) {
      const uint64_t from = t.cycle;
      const std::clock_t begin = std::clock();
      t.run_only(std::vector<Command>(12, c));
      const double s = (double)(std::clock() - begin) / CLOCKS_PER_SEC;
      best = std::max(best, (double)(t.cycle - from) / s);
    }
    std::printf("mxu speed: %s matmul, array with ACC and VMEM of the testbench: %.0f kHz\n",
                bf16 ? "bf16" : "int8", best / 1e3);
  }
}

} // namespace

int main(int argc, char **argv) {
  Verilated::commandArgs(argc, argv);
  seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const int batches = argc > 2 ? std::atoi(argv[2]) : 200;
  Tb t(seed);
  std::printf("mxu: Dim %u, bf16 %u, seed %llu\n", t.g.dim, t.g.bf16, (unsigned long long)seed);
  if (argc > 3) {
    bench(t);
    return 0;
  }
  test_edges(t);
  test_padding(t);
  test_hazard(t);
  test_switch(t);
  test_random(t, batches);
  test_errors(t);
  test_abort(t);
  test_checkers(t);
  test_figures(t);
  return failures != 0;
}
