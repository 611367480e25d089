// SPDX-License-Identifier: MIT
//
// ACC against a cycle-exact model: three ports at random on few rows, so that every pair of accesses
// meets in every distance; all MXU rows in one bank, so that the VPU starves unless it wins by age;
// throughput beside a full MXU stream; reset contents. PASS or FAIL per test.
//
//   tb <seed> <thousands of cycles> [+tpu_seed=<n>]

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <random>
#include <vector>

#include "Vacc_top.h"
#include "ref_fp.h"
#include "verilated.h"

namespace {

typedef std::vector<uint32_t> Row;

struct Shape {
  int mxu, rd, wr; // chances in 256 that a port asks
  uint32_t rows;   // rows in use
  bool one_bank;   // the MXU stays in bank 0
  bool stream;     // the MXU walks consecutive rows
};

struct Tb {
  Vacc_top dut;
  std::mt19937_64 rng;
  uint32_t dim, rows, all;
  bool bf16;
  std::vector<Row> mem;
  struct Pending {
    uint64_t due;
    uint32_t row, mask;
    Row value;
  };
  struct Read {
    uint64_t due;
    Row value;
  };
  std::deque<Pending> pending;
  std::deque<Read> reads;
  uint64_t cycle = 0, errors = 0, mxu_rows = 0, rd_count = 0, wr_count = 0;
  unsigned rd_refused = 0, wr_refused = 0, mxu_refused = 0;
  unsigned max_rd = 0, max_wr = 0, max_mxu = 0;
  uint32_t next_row = 0;
  bool quiet = false;

  explicit Tb(uint64_t seed) : rng(seed) {
    dut.rst_ni = 0;
    dut.mxu_valid_i = dut.rd_valid_i = dut.wr_valid_i = 0;
    for (int i = 0; i < 3; i++)
      edge();
    dut.rst_ni = 1;
    dim = dut.dim_o;
    rows = dut.acc_rows_o;
    bf16 = dut.bf16_o;
    all = (1u << dim) - 1;
    mem.assign(rows, Row(dim));
  }

  bool chance(int of256) { return (int)(rng() & 255) < of256; }

  void fail(const char *what) {
    if (errors++ < 8 && !quiet)
      std::printf("  cycle %llu: %s\n", (unsigned long long)cycle, what);
  }

  void edge() {
    dut.clk_i = 0;
    dut.eval();
    dut.clk_i = 1;
    dut.eval();
  }

  uint32_t word(bool f32) {
    static const uint32_t special[] = {0,          0x80000000, 1,          0x807fffff, 0x7f800000,
                                       0xff800000, 0x7fc00001, 0x00800000, 0x7f7fffff, 0xff7fffff};
    const uint32_t r = (uint32_t)rng();
    if (!f32)
      return r;
    if ((r & 7) == 0)
      return special[(r >> 3) % 10];
    return (r & 0x81ffffff) + 0x3f000000;
  }

  void request(const Shape &s) {
    if (!dut.mxu_valid_i && chance(s.mxu)) {
      dut.mxu_valid_i = 1;
      dut.mxu_row_i = s.stream ? next_row++ % s.rows : (uint32_t)(rng() % s.rows) & (s.one_bank ? ~1u : ~0u);
      dut.mxu_accumulate_i = chance(160);
      dut.mxu_int8_i = !bf16 || chance(100);
      dut.mxu_mask_i = chance(128) ? all : (uint32_t)rng() & all;
      for (uint32_t l = 0; l < dim; l++)
        dut.mxu_data_i[l] = dut.mxu_int8_i ? word(false) : ref_canon(word(true));
    }
    if (!dut.rd_valid_i && chance(s.rd)) {
      dut.rd_valid_i = 1;
      dut.rd_row_i = (uint32_t)(rng() % s.rows) & (s.one_bank ? ~1u : ~0u);
    }
    if (!dut.wr_valid_i && chance(s.wr)) {
      dut.wr_valid_i = 1;
      dut.wr_row_i = (uint32_t)(rng() % s.rows) & (s.one_bank ? ~1u : ~0u);
      dut.wr_mask_i = chance(128) ? all : (uint32_t)rng() & all;
      for (uint32_t l = 0; l < dim; l++)
        dut.wr_data_i[l] = word(bf16);
    }
  }

  void count(bool valid, bool won, unsigned &refused, unsigned &max) {
    refused = valid && !won ? refused + 1 : 0;
    max = std::max(max, refused);
  }

  void tick(const Shape &s) {
    request(s);
    dut.clk_i = 0;
    dut.eval();
    // Writes of cycles before this one are visible now.
    while (!pending.empty() && pending.front().due < cycle) {
      store(pending.front().row, pending.front().mask, pending.front().value);
      pending.pop_front();
    }
    if (dut.rd_rsp_valid_o != (!reads.empty() && reads.front().due == cycle))
      fail("read data not exactly two cycles after the grant");
    if (!reads.empty() && reads.front().due == cycle) {
      for (uint32_t l = 0; l < dim; l++)
        if (dut.rd_rsp_data_o[l] != reads.front().value[l]) {
          char text[96];
          std::snprintf(text, sizeof text, "lane %u reads %08x, should be %08x", l, dut.rd_rsp_data_o[l],
                        reads.front().value[l]);
          fail(text);
        }
      reads.pop_front();
    }
    const bool mxu = dut.mxu_valid_i && dut.mxu_ready_o;
    const bool rd = dut.rd_valid_i && dut.rd_gnt_o;
    const bool wr = dut.wr_valid_i && dut.wr_gnt_o;
    if ((dut.rd_gnt_o && !dut.rd_valid_i) || (dut.wr_gnt_o && !dut.wr_valid_i))
      fail("grant without a request");
    count(dut.mxu_valid_i, mxu, mxu_refused, max_mxu);
    count(dut.rd_valid_i, rd, rd_refused, max_rd);
    count(dut.wr_valid_i, wr, wr_refused, max_wr);
    if (rd_refused > 15 || wr_refused > 15)
      fail("refused more than 15 times in a row");
    if (rd)
      reads.push_back({cycle + 2, mem[dut.rd_row_i]});
    if (mxu) {
      Row v(dim);
      for (uint32_t l = 0; l < dim; l++) {
        const uint32_t old = mem[dut.mxu_row_i][l], in = dut.mxu_data_i[l];
        v[l] = !dut.mxu_accumulate_i ? in : dut.mxu_int8_i ? old + in : ref_add(old, in);
      }
      pending.push_back({cycle + 3, dut.mxu_row_i, dut.mxu_mask_i, v});
    }
    if (wr) {
      Row v(dim);
      for (uint32_t l = 0; l < dim; l++)
        v[l] = dut.wr_data_i[l];
      // Lands with this cycle, as an MXU row handed over three cycles ago does (another row).
      pending.push_front({cycle, dut.wr_row_i, dut.wr_mask_i, v});
    }
    mxu_rows += mxu;
    rd_count += rd;
    wr_count += wr;
    dut.clk_i = 1;
    dut.eval();
    cycle++;
    if (mxu)
      dut.mxu_valid_i = 0;
    if (rd)
      dut.rd_valid_i = 0;
    if (wr)
      dut.wr_valid_i = 0;
  }

  void store(uint32_t row, uint32_t mask, const Row &v) {
    for (uint32_t l = 0; l < dim; l++)
      if (mask >> l & 1)
        mem[row][l] = v[l];
  }

  void drain(const Shape &s) {
    const Shape quiet = {0, 0, 0, s.rows, false, false};
    for (int i = 0; i < 40; i++)
      tick(quiet);
  }

  // All rows to known contents through the write port.
  void initialise() {
    for (uint32_t r = 0; r < rows; r++) {
      for (uint32_t l = 0; l < dim; l++)
        dut.wr_data_i[l] = mem[r][l] = (uint32_t)rng();
      dut.wr_valid_i = 1;
      dut.wr_row_i = r;
      dut.wr_mask_i = all;
      edge();
    }
    dut.wr_valid_i = 0;
  }

  Row read_row(uint32_t r) {
    dut.rd_valid_i = 1;
    dut.rd_row_i = r;
    edge();
    dut.rd_valid_i = 0;
    edge();
    Row v(dim);
    for (uint32_t l = 0; l < dim; l++)
      v[l] = dut.rd_rsp_data_o[l];
    return v;
  }
};

uint32_t reset_word(uint32_t seed, uint32_t word) {
  uint32_t x = seed ^ (3u * 0x9e3779b9u) ^ (word * 0x85ebca6bu);
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

int failures = 0;

void report(const char *name, Tb &t, uint64_t before, const char *note) {
  const bool ok = t.errors == before;
  failures += !ok;
  std::printf("%s acc/%s: %s\n", ok ? "PASS" : "FAIL", name, note);
}

} // namespace

int main(int argc, char **argv) {
  Verilated::commandArgs(argc, argv);
  const uint64_t seed = argc > 1 ? std::strtoull(argv[1], nullptr, 0) : 1;
  const uint64_t cycles = 1000 * (argc > 2 ? std::strtoull(argv[2], nullptr, 0) : 100);
  uint32_t tpu_seed = 0;
  for (int i = 3; i < argc; i++)
    std::sscanf(argv[i], "+tpu_seed=%u", &tpu_seed);
  Tb t(seed);
  std::printf("acc: %u rows of %u, bf16 %d, seed %llu\n", t.rows, t.dim, t.bf16, (unsigned long long)seed);
  char note[160];

  uint64_t before = t.errors;
  if (tpu_seed) {
    for (uint32_t r = 0; r < t.rows; r++) {
      const Row v = t.read_row(r);
      for (uint32_t l = 0; l < t.dim; l++)
        if (v[l] != reset_word(tpu_seed, r * t.dim + l))
          t.fail("reset contents");
    }
    report("reset_contents", t, before, "every word");
  }
  t.initialise();

  const struct {
    const char *name;
    Shape shape;
  } tests[] = {
      {"random_few_rows", {200, 200, 200, 6, false, false}},
      {"random_many_rows", {256, 256, 256, 64, false, false}},
      {"one_bank", {256, 256, 256, 16, true, false}},
      {"sparse", {60, 60, 60, 4, false, false}},
      {"stream", {256, 200, 200, 48, false, true}},
  };
  for (const auto &test : tests) {
    before = t.errors;
    t.max_rd = t.max_wr = t.max_mxu = 0;
    const uint64_t m = t.mxu_rows, r = t.rd_count, w = t.wr_count, begin = t.cycle;
    for (uint64_t i = 0; i < cycles && t.errors < before + 8; i++)
      t.tick(test.shape);
    t.drain(test.shape);
    const double n = (double)(t.cycle - begin);
    std::snprintf(note, sizeof note,
                  "%.2f MXU rows, %.2f reads, %.2f writes a cycle; refused in a row: %u, %u, %u",
                  (double)(t.mxu_rows - m) / n, (double)(t.rd_count - r) / n, (double)(t.wr_count - w) / n,
                  t.max_mxu, t.max_rd, t.max_wr);
    report(test.name, t, before, note);
  }
  // What a stream gives away to a busy VPU: it must not be slowed by ordinary traffic.
  before = t.errors;
  t.max_mxu = 0;
  const uint64_t m = t.mxu_rows, begin = t.cycle;
  const Shape stream = {256, 256, 256, t.rows, false, true};
  for (uint64_t i = 0; i < cycles; i++)
    t.tick(stream);
  t.drain(stream);
  const double rate = (double)(t.mxu_rows - m) / (double)(t.cycle - begin - 40);
  if (rate < 0.999)
    t.fail("VPU traffic slows the MXU");
  std::snprintf(note, sizeof note, "%.4f MXU rows a cycle beside full VPU traffic", rate);
  report("full_stream", t, before, note);

  // The model must notice what it is for: a word that changes behind its back.
  before = t.errors;
  t.quiet = true;
  t.mem[0][0] ^= 1;
  const Shape one_row = {0, 256, 0, 1, false, false};
  for (int i = 0; i < 8; i++)
    t.tick(one_row);
  t.drain(one_row);
  t.mem[0][0] ^= 1;
  t.quiet = false;
  const bool noticed = t.errors > before;
  t.errors = before;
  if (!noticed)
    t.fail("a wrong word went unnoticed");
  report("checker", t, before, "a fault put in");

  // The final memory, through the read port.
  before = t.errors;
  for (uint32_t r = 0; r < t.rows; r++)
    if (t.read_row(r) != t.mem[r])
      t.fail("final contents");
  report("final_contents", t, before, "every row");
  return failures != 0;
}
