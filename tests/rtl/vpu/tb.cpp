// SPDX-License-Identifier: MIT
//
// Testbench of tpu_vpu. Arguments: configuration, seed, programs, operand pairs (in thousands, per ALU
// operation), and optionally the names of the tests to run.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>

#include "program.h"

namespace {

const tpu_config &config_named(const char *name) {
  static const tpu_config table[] = {TPU_CONFIG_TABLE};
  for (const auto &c : table) {
    if (!std::strcmp(c.name, name))
      return c;
  }
  std::fprintf(stderr, "no configuration %s\n", name);
  std::exit(2);
}

struct Options {
  const tpu_config *config;
  uint64_t seed;
  unsigned programs, thousands;
};

void fill_random(Random &r, Memories &m) {
  auto word = [&](uint8_t *p) {
    const uint32_t x = special_word(r);
    std::memcpy(p, &x, 4);
  };
  for (size_t i = 0; i < m.vmem.size(); i += 4)
    word(&m.vmem[i]);
  for (size_t i = 0; i < m.smem.size(); i += 4)
    word(&m.smem[i]);
  for (auto &x : m.acc)
    x = special_word(r);
}

std::string describe(const Result &r) {
  char b[160];
  std::snprintf(b, sizeof b, "code %u detail0 %08x detail1 %08x bytes %llu work %llu", r.code, r.detail0,
                r.detail1, (unsigned long long)r.bytes, (unsigned long long)r.work);
  return b;
}

std::string differences(const Memories &dut, const Memories &ref) {
  char b[120];
  for (size_t i = 0; i < ref.vmem.size(); ++i) {
    if (dut.vmem[i] != ref.vmem[i]) {
      std::snprintf(b, sizeof b, "VMEM byte 0x%zx is %02x, should be %02x", i, dut.vmem[i], ref.vmem[i]);
      return b;
    }
  }
  for (size_t i = 0; i < ref.acc.size(); ++i) {
    if (dut.acc[i] != ref.acc[i]) {
      std::snprintf(b, sizeof b, "ACC word %zu is %08x, should be %08x", i, dut.acc[i], ref.acc[i]);
      return b;
    }
  }
  return "";
}

// A device and its reference, side by side.
struct Pair {
  const tpu_config &config;
  Memories mem;
  RefVpu ref;
  Harness dut;
  bool dead = false;

  Pair(const Options &o, uint64_t seed)
      : config(*o.config), mem(config), ref(config, mem), dut(config, seed) {
    fill_random(dut.random, mem);
    dut.mem = mem;
  }

  void load(const std::vector<uint64_t> &code, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count && i < code.size(); ++i)
      ref.program[i] = code[i];
    dut.write_program(ref.program, first, std::min<unsigned>(count, unsigned(code.size()) - first));
  }

  // Runs one command on both. Returns what differs, "" if nothing.
  std::string run(const Command &cmd, Result *got = nullptr) {
    const Result want = ref.run(cmd, 1000000);
    Result r;
    if (want.endless) { // a damaged program may jump back for ever
      mem = dut.mem;
      return "";
    }
    dut.start(cmd);
    if (!dut.finish(r, 2000 + 400 * want.work))
      return "no completion; expected " + describe(want);
    if (got)
      *got = r;
    if (!dut.fault.empty())
      return dut.fault;
    if (r.code != want.code || (r.code && (r.detail0 != want.detail0 || r.detail1 != want.detail1)) ||
        (!r.code && (r.bytes != want.bytes || r.work != want.work))) {
      return "completion is " + describe(r) + ", should be " + describe(want);
    }
    const std::string d = std::memcmp(dut.mem.vmem.data(), mem.vmem.data(), mem.vmem.size()) ||
                                  std::memcmp(dut.mem.acc.data(), mem.acc.data(), mem.acc.size() * 4)
                              ? differences(dut.mem, mem)
                              : "";
    if (!d.empty())
      return d;
    if (r.code) {
      for (int i = 0; i < 5; ++i)
        dut.cycle();
      if (dut.top->ready_o)
        return "ready after an error";
      if (!dut.abort())
        return "does not become idle in an abort after an error";
    }
    return "";
  }
};

struct Test {
  const char *name;
  std::string (*run)(const Options &);
};

// ---- random programs ----

Stalls random_stalls(Random &r) {
  auto p = [&] {
    const unsigned levels[] = {100, 100, 90, 60, 25};
    return levels[r.below(5)];
  };
  Stalls s;
  s.load = p();
  s.store = p();
  s.smem = p();
  s.acc_read = p();
  s.acc_write = p();
  s.done = p();
  return s;
}

std::string test_programs(const Options &o) {
  Pair p(o, o.seed);
  Random &r = p.dut.random;
  RandomProgram program(p.config, r);
  unsigned errors[16] = {};
  for (unsigned n = 0; n < o.programs; ++n) {
    p.dut.stalls = Stalls();
    program.make(r.chance(40));
    p.load(program.code, program.first(), program.length);
    p.dut.stalls = random_stalls(r);
    const unsigned runs = 1 + r.below(2);
    for (unsigned k = 0; k < runs; ++k) {
      Result got;
      const std::string why = p.run(program.cmd, &got);
      if (!why.empty())
        return "program " + std::to_string(n) + ": " + why;
      ++errors[got.code % 16];
      p.dut.quiet_check = true;
      for (unsigned i = r.below(4); i; --i)
        p.dut.cycle();
      p.dut.quiet_check = false;
      if (!p.dut.fault.empty())
        return p.dut.fault;
    }
    if (n % 64 == 63) {
      fill_random(r, p.mem);
      p.dut.mem = p.mem;
    }
  }
  std::printf("# programs: %u without an error, %u ALIGN, %u RANGE, %u ILLEGAL, %u PC\n", errors[0],
              errors[TPU_ERROR_ALIGN], errors[TPU_ERROR_RANGE], errors[TPU_ERROR_VPU_ILLEGAL],
              errors[TPU_ERROR_VPU_PC]);
  for (unsigned e :
       {0u, unsigned(TPU_ERROR_ALIGN), unsigned(TPU_ERROR_RANGE), unsigned(TPU_ERROR_VPU_ILLEGAL)}) {
    if (o.programs >= 500 && errors[e] < o.programs / 100)
      return "an outcome is too rare to be tested";
  }
  return "";
}

// ---- abort at any moment ----

std::string test_abort(const Options &o) {
  Pair p(o, o.seed + 1);
  Random &r = p.dut.random;
  RandomProgram program(p.config, r);
  unsigned in_flight = 0;
  for (unsigned n = 0; n < o.programs / 4 + 1; ++n) {
    p.dut.stalls = Stalls();
    program.make(r.chance(20));
    p.load(program.code, program.first(), program.length);
    p.dut.stalls = random_stalls(r);
    p.dut.start(program.cmd);
    bool done = false;
    for (unsigned i = r.below(r.chance(30) ? 20 : 300); i && !done; --i) {
      p.dut.cycle();
      done = p.dut.done_seen();
    }
    in_flight += !p.dut.top->idle_o;
    if (!p.dut.abort())
      return "not idle 40 cycles after an abort, or done during it";
    p.dut.quiet_check = true;
    for (int i = 0; i < 10; ++i)
      p.dut.cycle();
    p.dut.quiet_check = false;
    if (!p.dut.fault.empty())
      return p.dut.fault;
    if (!p.dut.top->ready_o || p.dut.top->done_valid_o)
      return "not ready after an abort";
    // What was written stays; from here on both must agree again.
    p.mem = p.dut.mem;
    const std::string why = p.run(program.cmd);
    if (!why.empty())
      return "after abort " + std::to_string(n) + ": " + why;
  }
  std::printf("# abort: %u of %u met a command in flight\n", in_flight, o.programs / 4 + 1);
  return in_flight ? "" : "no abort met a command";
}

// ---- every element-wise operation on many operands ----

std::string test_operations(const Options &o) {
  Pair p(o, o.seed + 2);
  Random &r = p.dut.random;
  const uint32_t quarter = p.config.vmem_bytes / 4, vregs = quarter / (p.config.lanes * 32);
  const unsigned words = quarter / 4;
  const uint64_t per_op = uint64_t(o.thousands) * 1000;
  Command cmd;
  cmd.loop[0] = vregs;
  cmd.valid_rows = 5;
  cmd.valid_cols = p.config.lanes - 1;
  for (unsigned i = 0; i < 8; ++i) {
    cmd.addr[i] = (i % 4) * quarter;
    cmd.pitch[i] = p.config.lanes * 4;
    cmd.stride[3 * i] = p.config.lanes * 32;
  }
  uint64_t pairs = 0;
  uint32_t *w = reinterpret_cast<uint32_t *>(p.mem.vmem.data());
  std::vector<uint32_t> ops = alu_ops();
  for (uint32_t op = TPU_VOP_EXP2; op <= TPU_VOP_SIGMOID; ++op)
    ops.push_back(op);
  for (uint32_t op : ops) {
    if (operands(op) == 0)
      continue;
    std::vector<uint64_t> code(p.config.vpu_program);
    unsigned n = 0;
    code[n++] = Ins(TPU_VOP_LOOP).level(0);
    for (unsigned k = 0; k < operands(op); ++k)
      code[n++] = Ins(TPU_VOP_LD).d(k).areg(k);
    code[n++] = Ins(op).d(3).a(0).b(1).c(2);
    code[n++] = Ins(TPU_VOP_ST).a(3).areg(3);
    code[n++] = Ins(TPU_VOP_END).level(0);
    code[n++] = Ins(TPU_VOP_HALT);
    p.load(code, 0, n);
    for (uint64_t done = 0; done < per_op; done += words) {
      for (unsigned i = 0; i < 3 * words; ++i)
        w[i] = r.chance(30) ? r.next() : special_word(r);
      // Close operands: cancellation, equality.
      for (unsigned i = 0; i < words; i += 7)
        w[words + i] = w[i] ^ (r.below(4) << 31) ^ r.below(3);
      p.dut.mem.vmem = p.mem.vmem;
      Result got;
      p.dut.start(cmd);
      if (!p.dut.finish(got, 1000000) || got.code)
        return "operation does not complete";
      const uint32_t *y = reinterpret_cast<const uint32_t *>(p.dut.mem.vmem.data()) + 3 * words;
      for (unsigned i = 0; i < words; ++i) {
        const unsigned lane = i % p.config.lanes, sub = i / p.config.lanes % 8;
        uint32_t want;
        if (op == TPU_VOP_SELM)
          want = sub < cmd.valid_rows && lane < cmd.valid_cols ? w[i] : w[words + i];
        else
          ref_alu(op, w[i], w[words + i], w[2 * words + i], want);
        if (y[i] != want) {
          char b[160];
          std::snprintf(b, sizeof b, "op 0x%02x of %08x %08x %08x is %08x, should be %08x", op, w[i],
                        w[words + i], w[2 * words + i], y[i], want);
          return b;
        }
      }
      pairs += words;
    }
  }
  std::printf("# operations: %zu operations, %llu operand sets\n", ops.size() - 3, (unsigned long long)pairs);
  return "";
}

// ---- the testbench itself: a unit that does something else must be noticed ----

std::string test_checker(const Options &o) {
  struct Fault {
    const char *what;
    void (*break_it)(Pair &);
  };
  const Ins right = Ins(TPU_VOP_FADD).d(2).a(0).b(1);
  static const Fault faults[] = {
      {"another operation", [](Pair &p) { p.ref.program[3] = Ins(TPU_VOP_FSUB).d(2).a(0).b(1); }},
      {"another loop count", [](Pair &p) { p.ref.program[5] = Ins(TPU_VOP_END).level(1); }},
      {"a store that does not stop",
       [](Pair &p) { p.ref.program[4] = Ins(TPU_VOP_ST).a(2).areg(2).masked(); }},
      {"a bit of memory", [](Pair &p) { p.mem.vmem[77] ^= 4; }},
      {"a word of ACC", [](Pair &p) { p.mem.acc[5] ^= 1; }},
  };
  for (const Fault &f : faults) {
    Pair p(o, o.seed + 11);
    const std::vector<uint64_t> code = {Ins(TPU_VOP_LOOP).level(0),
                                        Ins(TPU_VOP_LD).d(0).areg(0),
                                        Ins(TPU_VOP_LD).d(1).areg(1),
                                        right,
                                        Ins(TPU_VOP_ST).a(2).areg(2),
                                        Ins(TPU_VOP_END).level(0),
                                        Ins(TPU_VOP_HALT)};
    p.load(code, 0, unsigned(code.size()));
    Command cmd;
    cmd.loop[0] = 3;
    cmd.valid_rows = 7;
    cmd.valid_cols = p.config.lanes;
    for (unsigned i = 0; i < 3; ++i) {
      cmd.addr[i] = i * 0x1000;
      cmd.pitch[i] = p.config.lanes * 4;
      cmd.stride[3 * i] = p.config.lanes * 32;
    }
    const std::string same = p.run(cmd);
    if (!same.empty())
      return same;
    f.break_it(p);
    if (p.run(cmd).empty())
      return std::string("not noticed: ") + f.what;
  }
  return "";
}

#include "directed.h"
#include "timing.h"

const Test kTests[] = {
    {"checker", test_checker},
    {"program_memory", test_program_memory},
    {"loops", test_loops},
    {"memory_types", test_memory_types},
    {"store_then_load", test_store_then_load},
    {"errors", test_errors},
    {"chaining", test_chaining},
    {"programs", test_programs},
    {"abort", test_abort},
    {"operations", test_operations},
    {"timing", test_timing},
    {"speed", test_speed},
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: tb config seed programs thousands [test ...]\n");
    return 2;
  }
  const Options o{&config_named(argv[1]), std::strtoull(argv[2], nullptr, 0), unsigned(std::atoi(argv[3])),
                  unsigned(std::atoi(argv[4]))};
  const std::set<std::string> only(argv + 5, argv + argc);
  std::printf("# vpu %s seed %llu\n", argv[1], (unsigned long long)o.seed);
  int bad = 0;
  for (const Test &t : kTests) {
    if (!only.empty() ? !only.count(t.name) : !std::strcmp(t.name, "speed"))
      continue;
    const std::string why = t.run(o);
    if (why.empty())
      std::printf("PASS vpu_%s_%s\n", argv[1], t.name);
    else
      std::printf("FAIL vpu_%s_%s: seed %llu: %s\n", argv[1], t.name, (unsigned long long)o.seed,
                  why.c_str());
    std::fflush(stdout);
    bad += !why.empty();
  }
  return bad != 0;
}
