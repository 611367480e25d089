// SPDX-License-Identifier: MIT
//
// Tests of the DMA engine. Usage: tb [seed] [rounds] [only]. Every test prints PASS or FAIL with the
// seed; the status is not zero if one failed.
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>

#include "bench.h"
#include "generate.h"

namespace {

uint64_t g_seed = 1;
unsigned g_rounds = 150;
int g_failed = 0;
const char *g_only = "";

bool wanted(const char *name) {
  return std::strstr(name, g_only) != nullptr;
}

void verdict(const std::string &name, bool ok, const std::string &why) {
  if (ok)
    std::printf("PASS dma %s: %s\n", CONFIG, name.c_str());
  else
    std::printf("FAIL dma %s: %s: %s\n", CONFIG, name.c_str(), why.c_str());
  std::fflush(stdout);
  g_failed += !ok;
}

Command copy(unsigned src_space, uint32_t src, unsigned dst_space, uint32_t dst, uint32_t row,
             uint16_t rows = 1) {
  Command c;
  c.src_space = src_space;
  c.src = src;
  c.dst_space = dst_space;
  c.dst = dst;
  c.row_bytes = row;
  c.count[0] = rows;
  c.src_stride[0] = c.dst_stride[0] = int32_t(row);
  return c;
}

std::string expect(const Done &d, const Outcome &want) {
  if (d.outcome == want)
    return "";
  return "channel " + std::to_string(d.channel) + " " + d.command.text() + ": " + d.outcome.text() +
         ", should be " + want.text();
}

// ---- Figures, with a memory of 100 cycles and no stalls. Cycles from start to done.
struct Span {
  uint64_t first = ~0ull, last = 0;
  uint64_t cycles() const { return last - first; }
};

Span timed(Bench &b, const std::vector<std::pair<unsigned, Command>> &commands, std::string &why) {
  b.set(Stalls::none());
  Memories want = b.mem;
  for (const auto &c : commands) {
    execute(c.second, want);
    b.push(c.first, c.second);
  }
  b.finished.clear();
  b.run();
  Span s;
  for (const auto &d : b.finished) {
    s.first = std::min(s.first, d.start);
    s.last = std::max(s.last, d.end);
    if (d.outcome.code && why.empty())
      why = d.outcome.text();
  }
  if (b.finished.size() != commands.size() && why.empty())
    why = "not all done";
  if (why.empty())
    why = b.why();
  if (why.empty())
    why = difference(b.mem, want);
  return s;
}

void figure(const std::string &what, double value, double bar, bool at_least, const std::string &why) {
  char t[160];
  std::snprintf(t, sizeof t, "%s = %.2f (bar %s %.2f)", what.c_str(), value, at_least ? ">=" : "<=", bar);
  verdict(t, why.empty() && (at_least ? value >= bar : value <= bar), why.empty() ? "bar missed" : why);
}

// What the figures copy.
uint32_t figure_bytes() {
  return std::min<uint32_t>(65536, device().vmem_bytes / 2);
}

// Start to done without the memory's latency: of the first read word, or of the write response.
double latency(const Command &c) {
  return c.src_space == kHbm ? 100.0 : c.dst_space == kHbm ? 20.0 : 0.0;
}

void figure_rates(Bench &b) {
  const uint32_t size = figure_bytes();
  const double ideal = size / 16.0;
  auto rate = [&](const std::string &what, const std::vector<std::pair<unsigned, Command>> &commands,
                  double beats, double bar) {
    std::string why;
    const Span s = timed(b, commands, why);
    figure(what + ", % of 16 B a cycle", 100 * beats / (double(s.cycles()) - latency(commands[0].second)),
           bar, true, why);
  };
  rate("HBM to VMEM, rows of 256", {{0, copy(kHbm, 0, kVmem, 0, 256, uint16_t(size / 256))}}, ideal, 97);
  rate("HBM to VMEM, rows of 64", {{0, copy(kHbm, 0, kVmem, 0, 64, uint16_t(size / 64))}}, ideal, 97);
  Command pitch = copy(kHbm, 0, kVmem, 0, 256, uint16_t(size / 256));
  pitch.src_stride[0] = 1024;
  pitch.count[0] = uint16_t(pitch.count[0] / 4);
  rate("HBM to VMEM, rows of 256 with pitch 1024", {{0, pitch}}, ideal / 4, 93);
  rate("HBM to VMEM, one row, lanes shifted by 5", {{0, copy(kHbm, 3, kVmem, 8, size - 64)}}, ideal, 97);
  rate("VMEM to HBM, rows of 256", {{3, copy(kVmem, 0, kHbm, 0, 256, uint16_t(size / 256))}}, ideal, 97);
  rate("VMEM to HBM, rows of 64", {{3, copy(kVmem, 0, kHbm, 0, 64, uint16_t(size / 64))}}, ideal, 97);
  // Narrow rows: one burst a row, so HBM's latency counts; strided rows with shifted lanes.
  rate("HBM to VMEM, rows of 16", {{0, copy(kHbm, 0, kVmem, 0, 16, 1024)}}, 1024, 27);
  rate("VMEM to HBM, rows of 16", {{3, copy(kVmem, 0, kHbm, 0, 16, 1024)}}, 1024, 95);
  Command column = copy(kVmem, 3, kVmem, size, 4, 1024);
  column.src_stride[0] = 32;
  rate("VMEM to VMEM, a column of 4 bytes, rows a cycle", {{2, column}}, 1024, 95);
  rate("HBM to HBM, one row", {{2, copy(kHbm, 0, kHbm, 65536, 65536)}}, 4096, 92);
  rate("VMEM to VMEM, one row", {{2, copy(kVmem, 0, kVmem, size, size)}}, ideal, 97);
}

// Rows by a list: any order, some twice.
void figure_lists(Bench &b) {
  const uint16_t rows = 128;
  for (uint32_t i = 0; i < rows; ++i) {
    const uint32_t index = (i * 37 + i / 5) % 200;
    std::memcpy(b.mem.block(kSmem, 4 + 4 * i, 4), &index, 4);
  }
  for (uint32_t row : {32u, 64u, 256u}) {
    for (unsigned by : {kGather, kScatter}) {
      Command c = by == kGather ? copy(kHbm, 0, kVmem, 0, row, rows) : copy(kVmem, 0, kHbm, 0, row, rows);
      c.gather = by;
      c.list = 4;
      c.bound = 200;
      std::string why;
      const Span s = timed(b, {{by == kGather ? 0u : 3u, c}}, why);
      figure(std::string(by == kGather ? "gather" : "scatter") + " of 128 rows of " + std::to_string(row) +
                 " bytes, cycles beside latency and data",
             double(s.cycles()) - latency(c) - row / 16.0 * rows, by == kGather && row == 32 ? 300 : 70,
             false, why);
    }
  }
  Command outer = copy(kVmem, 0, kVmem, figure_bytes(), 64, 16);
  outer.count = {{16, 4, 2}};
  outer.src_stride = {{64, 16, 8192}};
  outer.dst_stride = {{64, 1024, 4096}};
  outer.gather = kGather;
  outer.list = 4;
  outer.bound = 200;
  std::string why;
  const Span s = timed(b, {{2, outer}}, why);
  figure("gather of 4 x 2 times 16 rows of 64 bytes, VMEM to VMEM, cycles beside data",
         double(s.cycles()) - 4.0 * 128, 60, false, why);
}

void figure_both_ways(Bench &b) {
  const uint32_t size = figure_bytes();
  std::string why;
  timed(b,
        {{0, copy(kHbm, 0, kVmem, 0, 256, uint16_t(size / 256))},
         {3, copy(kVmem, size, kHbm, 131072, 256, uint16_t(size / 256))}},
        why);
  double worst = 100;
  for (const auto &d : b.finished)
    worst = std::min(worst, 100 * (size / 16.0) / (double(d.end - d.start) - latency(d.command)));
  figure("HBM to VMEM and VMEM to HBM at once, % of 16 B a cycle for the slower", worst, 95, true, why);
}

void figure_latencies(Bench &b) {
  std::string why;
  const Span s = timed(b, {{1, copy(kHbm, 256, kVmem, 512, 64)}}, why);
  figure("64 bytes HBM to VMEM, cycles beside latency and data", double(s.cycles()) - 104, 15, false, why);
  const Span t = timed(b, {{1, copy(kVmem, 256, kHbm, 512, 64)}}, why);
  figure("64 bytes VMEM to HBM, cycles beside response (20) and data", double(t.cycles()) - 24, 20, false,
         why);
  const Span u = timed(b, {{1, copy(kVmem, 256, kVmem, 4096, 32)}}, why);
  figure("32 bytes VMEM to VMEM, cycles", double(u.cycles()), 20, false, why);
  Command row = copy(kHbm, 0, kVmem, 0, 64);
  const uint32_t n = 8;
  row.count = {{2, 2, 2}};
  row.src_stride = row.dst_stride = {{64, 128, 256}};
  const Span v = timed(b, {{1, row}}, why);
  figure("rows of 64 in three dimensions, cycles beside latency and data", double(v.cycles()) - 100 - 4 * n,
         20, false, why);
}

// Queued commands of one channel, of two and of four.
void figure_gaps(Bench &b) {
  auto gap = [&](const std::string &what, const std::vector<std::pair<unsigned, Command>> &commands,
                 double beats, double bar) {
    std::string why;
    const Span s = timed(b, commands, why);
    figure(what + ", cycles lost", double(s.cycles()) - 100 - beats, bar, false, why);
  };
  std::vector<std::pair<unsigned, Command>> one, two, four;
  for (uint32_t i = 0; i < 16; ++i) {
    one.push_back({1, copy(kHbm, i * 2048, kVmem, i * 2048, 256, 8)});
    two.push_back({i % 2, copy(kHbm, i * 2048, kVmem, i * 2048, 256, 8)});
    four.push_back({i % 4, copy(kHbm, i * 1024, kVmem, i * 1024, 256, 4)});
  }
  gap("16 commands of 2 KiB, one channel", one, 16 * 128, 15);
  gap("16 commands of 2 KiB, two channels", two, 16 * 128, 15);
  gap("16 commands of 1 KiB, four channels", four, 16 * 64, 15);
}

// Arbitration: the important channel first, equal ones get equal shares.
void figure_priority(Bench &b) {
  std::string why;
  Command fast = copy(kHbm, 0, kVmem, 0, 256, 32), slow = copy(kHbm, 16384, kVmem, 16384, 256, 32);
  fast.prio = 3;
  timed(b, {{0, slow}, {1, fast}}, why);
  uint64_t end[2] = {0, 0};
  for (const auto &d : b.finished)
    end[d.channel] = d.end - d.start;
  figure("8 KiB of priority 3 beside 8 KiB of priority 0, cycles of the first", double(end[1]),
         100 + 512 + 128 + 15, false, why);
  fast.prio = 0;
  timed(b, {{0, slow}, {1, fast}}, why);
  for (const auto &d : b.finished)
    end[d.channel] = d.end;
  // The first one's bursts fill the return buffer before the other one's check is through.
  figure("equal channels end apart, cycles", double(end[1] > end[0] ? end[1] - end[0] : end[0] - end[1]), 128,
         false, why);
}

void figures() {
  Bench b(g_seed);
  randomise(b.mem, b.random);
  figure_rates(b);
  figure_lists(b);
  figure_both_ways(b);
  figure_latencies(b);
  figure_gaps(b);
  figure_priority(b);
}

// ---- Random commands on all channels.
std::string random_round(Bench &b, unsigned commands, bool faults) {
  Chunks chunks(b.random);
  randomise(b.mem, b.random);
  Memories want = b.mem;
  std::array<std::deque<std::pair<Command, Outcome>>, kChannels> expected;
  bool any_fault = false;
  for (unsigned c = 0; c < kChannels; ++c) {
    const unsigned n = b.random.below(commands + 1);
    for (unsigned i = 0; i < n; ++i) {
      const bool fault = faults && b.random.percent(10);
      Command cmd = fault ? random_fault(b.random, chunks, c) : random_command(b.random, chunks, c);
      const Outcome o = check(cmd, want);
      // A fault that is none could write anywhere.
      if (fault && !o.code)
        continue;
      expected[c].push_back({cmd, o.code ? o : execute(cmd, want)});
      b.push(c, cmd);
      if (o.code) {
        // One behind a faulty command must not start.
        any_fault = true;
        b.push(c, random_command(b.random, chunks, c));
        break;
      }
    }
  }
  std::string why;
  b.on_done = [&](const Done &d) {
    auto &e = expected[d.channel];
    if (e.empty()) {
      b.fail("too many completions");
      return;
    }
    const std::string wrong = expect(d, e.front().second);
    if (!wrong.empty())
      b.fail(wrong);
    const bool code = e.front().second.code;
    e.pop_front();
    // Results are visible at completion. Only the last command's: later ones write the same places.
    if (!code && e.empty() && !d.command.fill && d.command.gather != kScatter) {
      bool same = true;
      for_each_byte(d.command, b.mem, [&](uint64_t to, bool, uint64_t from, uint8_t) {
        same = same && b.mem.at(d.command.dst_space, to) == b.mem.at(d.command.src_space, from);
      });
      if (!same)
        b.fail("done before its bytes have landed: " + d.command.text());
    }
  };
  b.run();
  b.on_done = nullptr;
  why = b.why();
  for (auto &e : expected) {
    if (why.empty() && !e.empty())
      why = "command not completed: " + e.front().first.text();
  }
  if (why.empty())
    why = difference(b.mem, want);
  if (why.empty() && any_fault) {
    b.do_abort(20000);
    why = b.why();
  }
  return why;
}

void random_commands() {
  for (unsigned profile = 0; profile < 3; ++profile) {
    static const char *const names[] = {"no stalls", "stalls on every handshake",
                                        "stalls and faulty commands"};
    const uint64_t seed = g_seed * 1000 + profile;
    Bench b(seed);
    std::string why;
    uint64_t moved = 0;
    for (unsigned r = 0; r < g_rounds && why.empty(); ++r) {
      b.set(profile == 0 ? Stalls::none() : Stalls::some(b.random));
      b.finished.clear();
      why = random_round(b, 12, profile == 2);
      if (!why.empty())
        why = "round " + std::to_string(r) + ": " + why;
      for (const auto &d : b.finished)
        moved += d.outcome.bytes;
    }
    verdict("random commands, " + std::string(names[profile]) + ", seed " + std::to_string(seed) + ", " +
                std::to_string(g_rounds) + " rounds, " + std::to_string(b.now) + " cycles, " +
                std::to_string(moved) + " bytes",
            why.empty(), why);
  }
}

// ---- One command after the other, results compared at once.
std::string one_by_one(Bench &b, const std::vector<Command> &commands, unsigned channel) {
  for (const auto &c : commands) {
    Memories before = b.mem;
    const Outcome want = execute(c, before);
    b.finished.clear();
    b.push(channel, c);
    if (!b.run())
      return b.why() + " " + c.text();
    if (b.finished.size() != 1)
      return "not completed";
    std::string why = expect(b.finished[0], want);
    if (why.empty())
      why = difference(b.mem, before);
    if (!why.empty())
      return why;
    if (want.code)
      b.do_abort(20000);
    if (!b.errors.empty())
      return b.why();
  }
  return "";
}

// The job of iDMA issue 115 (a deadlock there), as it is and between the other spaces.
void directed_idma(Bench &b) {
  const Command idma = copy(kHbm, 0x6e76a, kHbm, 0x1f9c03, 1958);
  Memories want = b.mem;
  for (uint32_t i = 0; i < 1958; ++i)
    b.mem.at(kHbm, 0x6e76a + i) = want.at(kHbm, 0x6e76a + i) = uint8_t(b.random.next());
  execute(idma, want);
  b.push(0, idma);
  const bool ok =
      b.run() && !std::memcmp(want.block(kHbm, 0x1f9000, 8192), b.mem.block(kHbm, 0x1f9000, 8192), 8192);
  verdict("iDMA issue 115: 1958 bytes from 0x6e76a to 0x1f9c03", ok, b.why() + " bytes differ");
  const std::vector<Command> list = {
      copy(kHbm, 0x676a, kVmem, 0x1c03, 1958), copy(kVmem, 0x76a, kHbm, 0x9c03, 1958),
      copy(kVmem, 0x76a, kVmem, 0x1c03, 1958), copy(kSmem, 0x16a, kHbm, 0x9c03, 1958)};
  const std::string why = one_by_one(b, list, 1);
  verdict("the same job between other spaces", why.empty(), why);
}

void directed_empty(Bench &b) {
  std::vector<Command> list;
  for (unsigned k = 0; k < 4; ++k) {
    Command c = copy(kHbm, 0xffffffff, kVmem, 0xfffffff0, k == 0 ? 0 : 64);
    if (k > 0)
      c.count[k - 1] = 0;
    list.push_back(c);
  }
  const std::string why = one_by_one(b, list, 2);
  verdict("length 0 and counts of 0 complete", why.empty(), why);
}

// Ranges at their edges.
void add_ranges(std::vector<Command> &list) {
  const uint32_t vmem = device().vmem_bytes, smem = device().smem_bytes, hbm = device().hbm_bytes;
  const uint32_t sizes[3] = {hbm, vmem, smem};
  for (unsigned s = 0; s < 3; ++s) {
    for (int over = -1; over <= 1; ++over) {
      list.push_back(copy(s, sizes[s] - 100 + uint32_t(over), s == kHbm ? kVmem : kHbm, 0, 100));
      list.push_back(copy(s == kHbm ? kVmem : kHbm, 0, s, sizes[s] - 100 + uint32_t(over), 100));
      Command c = copy(s, uint32_t(128 + over), s == kHbm ? kVmem : kHbm, 0x1000, 64, 3);
      c.src_stride[0] = -64;
      list.push_back(c);
      std::swap(c.src, c.dst);
      std::swap(c.src_space, c.dst_space);
      std::swap(c.src_stride, c.dst_stride);
      list.push_back(c);
    }
  }
  Command wrap = copy(kHbm, 0, kVmem, 0, 16, 65535); // 32-bit sums would wrap to a valid end
  wrap.src_stride[0] = 0x10002;
  list.push_back(wrap);
  wrap.src_stride = {{int32_t(0x80000000), 0x7fffffff, 1}};
  wrap.count = {{65535, 65535, 65535}};
  list.push_back(wrap);
  wrap = copy(kHbm, 0xffffffff, kVmem, 0, 0xffffffff);
  list.push_back(wrap);
}

// Fill: a source outside matters only where it is read.
void add_fills(std::vector<Command> &list) {
  Command fill = copy(kHbm, device().hbm_bytes - 64, kVmem, 0x800, 96, 4);
  fill.fill = 1;
  fill.pattern = 0x04030201;
  fill.valid_row = 64;
  fill.valid = {{1, 1, 1}};
  fill.src_stride[0] = 1 << 30;
  list.push_back(fill);
  fill.valid_row = 65;
  list.push_back(fill);
  fill.valid_row = 0;
  list.push_back(fill);
  fill.valid_row = 97;
  list.push_back(fill);
  fill.valid_row = 3;
  fill.valid = {{5, 1, 1}};
  list.push_back(fill);
  fill.valid = {{4, 2, 1}};
  list.push_back(fill);
  fill.valid = {{4, 1, 2}};
  list.push_back(fill);
  for (unsigned s : {kHbm, kVmem, kSmem}) {
    for (unsigned dst = 0; dst < 5; ++dst) {
      Command c = copy(kVmem, 0x123, s, 0x800 + dst, 37, 5);
      c.fill = 1;
      c.pattern = 0x44332211;
      c.valid_row = 18;
      c.valid = {{3, 1, 1}};
      list.push_back(c);
    }
  }
}

// Random fields: verdict of the checks only.
void directed_faults(Bench &b) {
  unsigned faults = 0;
  std::string why;
  for (unsigned i = 0; i < 3000 && why.empty(); ++i) {
    Chunks chunks(b.random);
    const Command c = random_fault(b.random, chunks, 0);
    const Outcome want = check(c, b.mem);
    if (!want.code)
      continue;
    ++faults;
    b.finished.clear();
    b.push(i % 4, c);
    b.run();
    if (b.finished.size() == 1)
      why = expect(b.finished[0], want);
    else
      why = b.why();
    b.do_abort(1000);
    if (why.empty())
      why = b.why();
  }
  verdict("start checks of " + std::to_string(faults) + " faulty commands", why.empty() && faults > 1000,
          why);
}

void directed() {
  Bench b(g_seed);
  randomise(b.mem, b.random);
  directed_idma(b);
  directed_empty(b);
  std::vector<Command> list;
  add_ranges(list);
  add_fills(list);
  const std::string why = one_by_one(b, list, 3);
  verdict("ranges and fill at their edges", why.empty(), why);
  directed_faults(b);
}

// ---- Lengths and offsets around 4 KiB.
void pages() {
  Bench b(g_seed);
  randomise(b.mem, b.random);
  Memories want = b.mem;
  unsigned n = 0;
  auto put = [&](uint32_t src, uint32_t dst, uint32_t length, unsigned way) {
    // Four channels in turn, each with its own pages; sources are never written.
    const unsigned ch = n++ % 4;
    const unsigned from = way == 1 ? kVmem : kHbm, to = way == 2 ? kVmem : kHbm;
    const uint32_t pages = 4 * 4096 * (ch + 1);
    const uint32_t vmem_pages = device().vmem_bytes / 8 * (ch + 4);
    Command c = copy(from, (from == kVmem ? 0 : 0x10000 * 5) + src, to,
                     (to == kVmem ? vmem_pages : pages) + dst, length);
    execute(c, want);
    b.push(ch, c);
  };
  static const uint32_t lengths[] = {0,   1,   2,   15,   16,   17,   31,   32,   33,  255,
                                     256, 257, 272, 4079, 4080, 4081, 4095, 4096, 4097};
  std::string why;
  for (unsigned way = 0; way < 3; ++way) {
    for (int s = -17; s <= 17; s += 1) {
      for (int d = -17; d <= 17; d += (s % 4 == 0 ? 1 : 5)) {
        const uint32_t length = lengths[b.random.below(19)];
        put(uint32_t(4096 + s), uint32_t(4096 + d), length, way);
        put(uint32_t(4096 + s), uint32_t(4096 + d), b.random.below(300), way);
      }
    }
    b.run();
    why = b.why();
    if (why.empty())
      why = difference(b.mem, want);
    if (!why.empty())
      break;
  }
  // All lengths 0 .. 4097 once, at random offsets near the line.
  for (uint32_t length = 0; length <= 4097 && why.empty(); ++length) {
    put(4096 - 20 + b.random.below(40), 4096 - 20 + b.random.below(40), length, b.random.below(3));
    if (length % 64 == 0 || length == 4097) {
      b.run();
      why = b.why();
      if (why.empty())
        why = difference(b.mem, want);
    }
  }
  verdict("lengths 0 .. 4097 and offsets around 4 KiB, " + std::to_string(n) + " commands", why.empty(), why);
}

// ---- Bus errors.
// A victim channel meets an error at one beat; a bystander must not notice. After an abort all works.
std::string error_case(Bench &b, const Command &victim, bool write, uint64_t at, unsigned accept) {
  b.set(Stalls::none());
  b.axi.set.accept = accept;
  b.axi.set.latency = 30;
  const Command bystander = copy(kHbm, 0x50000, kSmem, 0x400, 600);
  const Command again = copy(kHbm, 0x51003, victim.dst_space, 0x7005, 300);
  const Memories before = b.mem;
  Memories want = b.mem;
  execute(victim, want);
  b.axi.arm();
  // Only bursts of the victim fail: the bystander's come after, or are not counted.
  auto hit = [at](uint64_t n) { return n == at; };
  (write ? b.axi.write_error : b.axi.read_error) = hit;
  b.finished.clear();
  b.push(0, victim);
  b.push(0, victim); // one behind it
  for (unsigned i = 0; i < 8; ++i)
    b.tick();
  if (write)
    b.push(1, bystander);
  b.run();
  b.axi.read_error = b.axi.write_error = nullptr;
  if (!b.errors.empty())
    return b.why();
  const auto &hits = write ? b.axi.write_error_bursts : b.axi.read_error_bursts;
  if (hits.size() != 1)
    return "error was not injected";
  const Done *first = nullptr;
  unsigned of_victim = 0;
  for (const auto &d : b.finished) {
    if (d.channel != 0)
      continue;
    ++of_victim;
    first = &d;
  }
  const Outcome bus{kBus, write, hits[0], 0};
  if (of_victim < 1 || !(first->outcome == bus)) {
    return "channel 0: " + (first ? first->outcome.text() : std::string("nothing")) + ", should be " +
           bus.text();
  }
  if (write) {
    execute(bystander, want);
    Memories alone = before;
    execute(bystander, alone);
    const uint64_t n = b.mem.size(kSmem);
    if (std::memcmp(b.mem.block(kSmem, 0, n), alone.block(kSmem, 0, n), n))
      return "the bystander's bytes differ";
  }
  // What the victim wrote is right or not written, and nothing else changed.
  bool strange = false;
  for_each_change(b.mem, before, [&](unsigned s, uint32_t i) { strange |= b.mem.at(s, i) != want.at(s, i); });
  if (strange)
    return "a byte is neither old nor new";
  b.do_abort(2000);
  if (!b.errors.empty())
    return b.why();
  const std::string why = one_by_one(b, {again, victim}, 0);
  return why.empty() ? "" : "after the abort: " + why;
}

void bus_errors() {
  Bench b(g_seed);
  std::string why;
  unsigned n = 0;
  const uint32_t depths[] = {1, 2, 4, 6, 7, 8, 16, 64};
  // Reads: every beat, several depths, into VMEM and into HBM, with shifted lanes.
  for (uint32_t depth : depths) {
    for (unsigned way = 0; way < 3 && why.empty(); ++way) {
      Command c =
          copy(kHbm, 0x40000 + (way ? 5 : 0), way == 2 ? kHbm : kVmem, 0x1000 + (way ? 10 : 0), 64, 10);
      c.src_stride[0] = 112;
      randomise(b.mem, b.random);
      const unsigned beats = way ? 50 : 40;
      for (uint64_t at = 0; at < beats && why.empty(); at += depth == 8 || depth == 64 ? 1 : 7, ++n) {
        why = error_case(b, c, false, at, depth);
        if (!why.empty())
          why = "read error at beat " + std::to_string(at) + " depth " + std::to_string(depth) + ": " + why;
      }
    }
  }
  verdict("read errors at every beat, " + std::to_string(n) + " cases", why.empty(), why);
  n = 0;
  why.clear();
  for (uint32_t depth : depths) {
    for (unsigned way = 0; way < 2 && why.empty(); ++way) {
      Command c = copy(way ? kHbm : kVmem, (way ? 0x40000 : 0) + 5, kHbm, 0x2fa0, 64, 10);
      randomise(b.mem, b.random);
      for (uint64_t at = 0; at < 10 && why.empty(); ++at, ++n) {
        why = error_case(b, c, true, at, depth);
        if (!why.empty())
          why = "write error at burst " + std::to_string(at) + " depth " + std::to_string(depth) + ": " + why;
      }
    }
  }
  verdict("write errors at every burst, " + std::to_string(n) + " cases", why.empty(), why);

  // An error of an older command is reported although a younger one failed first.
  randomise(b.mem, b.random);
  b.set(Stalls::none());
  b.axi.set.answer = 400;
  b.axi.arm();
  b.axi.write_error = [](uint64_t i) { return i == 0; };
  b.axi.read_error = [](uint64_t i) { return i == 16; };
  b.finished.clear();
  b.push(2, copy(kHbm, 0x40000, kHbm, 0x1000, 256));
  b.push(2, copy(kHbm, 0x40100, kVmem, 0x1000, 256));
  b.run();
  why = b.why();
  if (why.empty() && b.finished.size() != 1)
    why = "one completion expected";
  if (why.empty())
    why = expect(b.finished[0], {kBus, 1, 0x1000, 0});
  b.axi.read_error = b.axi.write_error = nullptr;
  verdict("the older command's error wins", why.empty(), why);
}

// ---- Abort and reset at random moments, then a round that must be right.
void disturbed(bool by_reset) {
  const uint64_t seed = g_seed * 7919 + by_reset;
  Bench b(seed);
  std::string why;
  uint64_t longest = 0;
  for (unsigned r = 0; r < g_rounds && why.empty(); ++r) {
    b.set(r % 2 ? Stalls::some(b.random) : Stalls::none());
    Chunks chunks(b.random);
    randomise(b.mem, b.random);
    const Memories before = b.mem;
    // Bytes that a command may change, and the values they may have.
    Memories after = b.mem;
    for (unsigned c = 0; c < kChannels; ++c) {
      for (unsigned i = b.random.below(6); i > 0; --i) {
        const Command cmd = random_command(b.random, chunks, c);
        for_each_byte(cmd, b.mem, [&](uint64_t d, bool, uint64_t, uint8_t) {
          after.at(cmd.dst_space, d) = uint8_t(~*before.block(cmd.dst_space, d, 1));
        });
        b.push(c, cmd);
      }
    }
    for (unsigned i = b.random.below(b.random.percent(50) ? 60 : 1500); i > 0; --i)
      b.tick();
    const uint64_t bound = 64 * (b.axi.set.latency + b.axi.set.jitter + b.axi.set.answer) * 8 + 1000;
    if (by_reset)
      b.reset(b.random.range(2, 5));
    else
      longest = std::max(longest, b.do_abort(bound));
    why = b.why();
    for_each_change(b.mem, before, [&](unsigned space, uint32_t i) {
      if (after.at(space, i) == *before.block(space, i, 1))
        why = "wrote where no command writes";
    });
    if (why.empty())
      why = random_round(b, 4, false);
    if (!why.empty())
      why = "round " + std::to_string(r) + ": " + why;
  }
  // Without stalls the bound is the contract's.
  if (!by_reset && why.empty()) {
    b.set(Stalls::none());
    for (unsigned c = 0; c < kChannels; ++c) {
      const uint32_t at = 8192 * c;
      for (unsigned i = 0; i < 4; ++i)
        b.push(c, copy(kHbm, at, c == 3 ? kHbm : kVmem, 0x40000 % device().vmem_bytes + at, 4096));
    }
    for (unsigned i = 0; i < 300; ++i)
      b.tick();
    const uint64_t cycles = b.do_abort(100000);
    why = b.why();
    if (why.empty() && cycles > 1000)
      why = "abort took " + std::to_string(cycles) + " cycles";
  }
  verdict(std::string(by_reset ? "reset" : "abort") + " at random moments, seed " + std::to_string(seed) +
              ", " + std::to_string(g_rounds) + " rounds" +
              (by_reset ? "" : ", longest " + std::to_string(longest) + " cycles"),
          why.empty(), why);
}

// ---- The checkers are able to fail.
void checkers() {
  struct Case {
    const char *name;
    std::function<void(std::vector<AxiCycle> &)> build;
  };
  auto ar = [](uint32_t addr, uint32_t len, bool ready) {
    AxiCycle c;
    c.ar_valid = true;
    c.ar_ready = ready;
    c.ar_addr = addr;
    c.ar_len = len;
    return c;
  };
  auto aw = [](uint32_t addr, uint32_t len) {
    AxiCycle c;
    c.aw_valid = c.aw_ready = true;
    c.aw_addr = addr;
    c.aw_len = len;
    return c;
  };
  auto w = [](bool last, uint8_t data, bool ready) {
    AxiCycle c;
    c.w_valid = true;
    c.w_ready = ready;
    c.w_last = last;
    c.w_data.b[3] = data;
    return c;
  };
  const Case cases[] = {
      {"burst across 4 KiB", [&](auto &v) { v = {ar(0xff0, 1, true)}; }},
      {"unaligned burst", [&](auto &v) { v = {ar(0x8, 0, true)}; }},
      {"valid dropped",
       [&](auto &v) {
         v = {ar(0, 0, false), AxiCycle{}};
       }},
      {"payload changed",
       [&](auto &v) {
         v = {ar(0, 0, false), ar(16, 0, true)};
       }},
      {"data changed",
       [&](auto &v) {
         v = {aw(0, 1), w(false, 1, false), w(false, 2, true)};
       }},
      {"data before address", [&](auto &v) { v = {w(true, 0, true)}; }},
      {"last too early",
       [&](auto &v) {
         v = {aw(0, 1), w(true, 0, true)};
       }},
      {"last missing",
       [&](auto &v) {
         v = {aw(0, 0), w(false, 0, true)};
       }},
      {"valid in reset",
       [&](auto &v) {
         AxiCycle r;
         r.reset = true;
         v = {r, r};
         v[1].aw_valid = true;
       }},
  };
  for (const auto &k : cases) {
    std::vector<AxiCycle> v;
    k.build(v);
    AxiChecker checker;
    unsigned reports = 0;
    checker.report = [&](const std::string &) { ++reports; };
    for (const auto &c : v)
      checker.cycle(c);
    verdict(std::string("the protocol checker sees: ") + k.name, reports > 0, "it does not");
  }
  // A wrong byte and a hang are seen.
  Bench b(g_seed);
  Memories want = b.mem;
  b.push(0, copy(kHbm, 0, kVmem, 0x40, 64));
  b.run();
  b.mem.at(kVmem, 0x47) ^= 1;
  verdict("the comparison sees a wrong byte", !difference(b.mem, want).empty(), "it does not");
  b.stalls.vmem_wr = 100;
  b.push(0, copy(kHbm, 0, kVmem, 0x40, 64));
  b.run();
  verdict("the watchdog sees a hang", b.why().find("hang") != std::string::npos, b.why());
}

// ---- Speed of the simulation: idle alone, and streaming both ways (time inside eval() only).
void speed() {
  Bench b(g_seed);
  auto cpu = [] { return double(std::clock()) / CLOCKS_PER_SEC; };
  double begin = cpu();
  const unsigned idle = 20000 * g_rounds;
  for (unsigned i = 0; i < idle; ++i) {
    b.top->clk_i = 0;
    b.top->eval();
    b.top->clk_i = 1;
    b.top->eval();
  }
  std::printf("dma %s: idle, module alone: %.0f kHz\n", CONFIG, idle / (cpu() - begin) / 1000);
  const uint64_t first = b.now;
  for (unsigned i = 0; i < g_rounds / 2; ++i) {
    b.push(0, copy(kHbm, 0, kVmem, 0, 256, 128));
    b.push(3, copy(kVmem, device().vmem_bytes / 2, kHbm, 131072, 256, 128));
  }
  b.eval_seconds = 0;
  b.time_evals = true;
  b.run();
  const double cycles = double(b.now - first);
  std::printf("dma %s: streaming both ways, %.0f cycles, three evaluations a cycle: %.0f kHz\n", CONFIG,
              cycles, cycles / b.eval_seconds / 1000);
}

} // namespace

int main(int argc, char **argv) {
  if (argc > 1)
    g_seed = std::strtoull(argv[1], nullptr, 0);
  if (argc > 2)
    g_rounds = unsigned(std::strtoul(argv[2], nullptr, 0));
  if (argc > 3)
    g_only = argv[3];
  if (g_seed == 0)
    g_seed = 1;
  Verilated::commandArgs(argc, argv);
  if (!std::strcmp(g_only, "speed")) {
    speed();
    return 0;
  }
  if (wanted("figures"))
    figures();
  if (wanted("directed"))
    directed();
  if (wanted("pages"))
    pages();
  if (wanted("random"))
    random_commands();
  if (wanted("errors"))
    bus_errors();
  if (wanted("abort"))
    disturbed(false);
  if (wanted("reset"))
    disturbed(true);
  if (wanted("checkers"))
    checkers();
  std::printf("dma %s: %d failed\n", CONFIG, g_failed);
  return g_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
