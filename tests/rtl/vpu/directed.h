// SPDX-License-Identifier: MIT
//
// Directed tests of tpu_vpu; included by tb.cpp.

// A program at 0 with HALT behind it.
void load(Pair &p, std::vector<uint64_t> code) {
  code.push_back(Ins(TPU_VOP_HALT));
  const unsigned n = unsigned(code.size());
  code.resize(p.config.vpu_program);
  p.load(code, 0, n);
}

// Cycles from the first request of a command to its completion, both included.
uint64_t cycles_of(Pair &p, const Command &cmd, std::string &why) {
  const uint64_t before = p.dut.now;
  why = p.run(cmd);
  return p.dut.now - before;
}

std::string test_program_memory(const Options &o) {
  Pair p(o, o.seed + 3);
  Random &r = p.dut.random;
  const unsigned n = p.config.vpu_program;
  std::vector<uint64_t> code(n);
  for (auto &w : code)
    w = uint64_t(r.next()) << 32 | r.next();
  p.dut.write_program(code, 0, n);
  for (unsigned k = 0; k < 500; ++k) {
    const unsigned i = r.below(2 * n);
    if (k % 5 == 0) { // a low word alone changes nothing
      p.dut.top->prog_valid_i = p.dut.top->prog_we_i = 1;
      p.dut.top->prog_addr_i = i & ~1u;
      p.dut.top->prog_wdata_i = r.next();
      p.dut.cycle();
    }
    const uint32_t got = p.dut.read_program(i), want = uint32_t(code[i / 2] >> 32 * (i % 2));
    if (got != want)
      return "word " + std::to_string(i) + " differs";
    if (!p.dut.fault.empty())
      return p.dut.fault;
  }
  return "";
}

std::string test_loops(const Options &o) {
  Pair p(o, o.seed + 4);
  Random &r = p.dut.random;
  const uint32_t row = p.config.lanes * 4;
  // Every order of the three levels, counts 0 to 3, a store of the iteration numbers at every level.
  const unsigned orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto &order : orders) {
    std::vector<uint64_t> code;
    std::vector<unsigned> begin;
    auto mark = [&](unsigned areg) {
      code.push_back(Ins(TPU_VOP_IOTA_SUB).d(areg).rgrp(areg % 4));
      code.push_back(Ins(TPU_VOP_IOTA_LANE).d(areg + 8).cgrp(areg));
      code.push_back(Ins(TPU_VOP_IADD).d(areg + 16).a(areg).b(areg + 8));
      code.push_back(Ins(TPU_VOP_ST).a(areg + 16).areg(areg));
    };
    mark(0);
    for (unsigned k = 0; k < 3; ++k) {
      begin.push_back(unsigned(code.size()));
      code.push_back(Ins(TPU_VOP_LOOP).level(order[k]));
      mark(1 + k);
    }
    for (unsigned k = 3; k-- > 0;) {
      mark(4 + k);
      code.push_back(Ins(TPU_VOP_END).level(order[k]));
      code[begin[k]] |= uint64_t(code.size()) << 48;
    }
    mark(7);
    load(p, code);
    for (unsigned n = 0; n < 64; ++n) {
      Command cmd;
      for (unsigned l = 0; l < 3; ++l)
        cmd.loop[l] = n >> 2 * l & 3;
      cmd.row_level = r.below(4);
      cmd.col_level = r.below(4);
      cmd.row_step = r.below(256);
      cmd.col_step = r.below(256);
      for (unsigned i = 0; i < 8; ++i) {
        cmd.addr[i] = 64 * row + 0x400 * row / 8 * i;
        cmd.pitch[i] = row;
        for (unsigned l = 0; l < 3; ++l)
          cmd.stride[3 * i + l] = uint32_t(int(r.below(7)) - 3) * row;
      }
      const std::string why = p.run(cmd);
      if (!why.empty())
        return why;
    }
  }
  // A long loop of nothing: an iteration is the END alone.
  load(p, {Ins(TPU_VOP_LOOP).level(1), Ins(TPU_VOP_END).level(1)});
  Command cmd;
  std::string why;
  cmd.loop[1] = 10000;
  const uint64_t t = cycles_of(p, cmd, why);
  if (why.empty() && t > 10020)
    why = "10000 empty iterations take " + std::to_string(t) + " cycles";
  return why;
}

std::string test_memory_types(const Options &o) {
  Pair p(o, o.seed + 5);
  Random &r = p.dut.random;
  unsigned combinations = 0;
  for (unsigned n = 0; n < 256; ++n) {
    const unsigned dtype = n & 3, itype = n >> 2 & 1, col = n >> 3 & 1, acc = n >> 4 & 1, masked = n >> 5 & 1,
                   fill = n >> 6 & 3;
    if ((dtype == TPU_VMEM_DTYPE_BF16 && itype) || (acc && dtype))
      continue;
    ++combinations;
    const uint32_t size = dtype == TPU_VMEM_DTYPE_W32 ? 4 : dtype == TPU_VMEM_DTYPE_BF16 ? 2 : 1;
    const uint32_t row = p.config.lanes * 4, unit = acc ? 1 : col ? size : size * p.config.lanes;
    auto access = [&](uint32_t op) {
      return Ins(op)
          .areg(acc)
          .dtype(dtype)
          .itype(itype)
          .col(col)
          .acc(acc)
          .masked(masked)
          .fill(fill)
          .rgrp(1)
          .cgrp(1);
    };
    // Load in this type and store all bits; load all bits and store in this type.
    load(p, {access(TPU_VOP_LD).d(1), Ins(TPU_VOP_ST).a(1).areg(2), Ins(TPU_VOP_LD).d(2).areg(3),
             access(TPU_VOP_ST).a(2).offset(int(16 * unit))});
    for (unsigned k = 0; k < 6; ++k) {
      Command cmd;
      cmd.valid_rows = r.below(20);
      cmd.valid_cols = r.below(3 * p.config.lanes);
      cmd.addr[0] = 128 * row + r.below(256) * unit;
      cmd.addr[1] = 40 + r.below(p.config.acc_rows - 100);
      cmd.addr[2] = 2048 * row;
      cmd.addr[3] = 1024 * row + r.below(256) * row;
      cmd.pitch[0] = cmd.pitch[1] = uint32_t(int(r.below(9)) - 4) * unit;
      cmd.pitch[2] = row;
      cmd.pitch[3] = r.below(4) * row;
      const std::string why = p.run(cmd);
      if (!why.empty()) {
        char b[120];
        std::snprintf(b, sizeof b, "dtype %u itype %u col %u acc %u masked %u fill %u: ", dtype, itype, col,
                      acc, masked, fill);
        return b + why;
      }
    }
    fill_random(r, p.mem);
    p.dut.mem = p.mem;
  }
  std::printf("# memory_types: %u combinations\n", combinations);
  return "";
}

// Loads that meet stores of the same command, of any two sizes, with slow stores.
std::string test_store_then_load(const Options &o) {
  Pair p(o, o.seed + 6);
  Random &r = p.dut.random;
  for (unsigned n = 0; n < 400; ++n) {
    std::vector<uint64_t> code;
    for (unsigned v = 0; v < 4; ++v)
      code.push_back(Ins(TPU_VOP_LD).d(v).areg(7).offset(int(v) * 512));
    Command cmd;
    const uint32_t row = p.config.lanes * 4;
    cmd.addr[7] = p.config.vmem_bytes / 2;
    cmd.pitch[7] = row;
    const bool acc = r.chance(30);
    for (unsigned i = 0; i < 12; ++i) {
      const unsigned dtype = acc ? 0 : r.below(4), col = r.below(2), v = r.below(4), areg = r.below(6);
      const uint32_t size = dtype == TPU_VMEM_DTYPE_W32 ? 4 : dtype == TPU_VMEM_DTYPE_BF16 ? 2 : 1;
      Ins x(r.chance(50) ? TPU_VOP_ST : TPU_VOP_LD);
      x.areg(areg).dtype(dtype).col(col).acc(acc).offset(int((acc   ? 1
                                                              : col ? size
                                                                    : size * p.config.lanes) *
                                                             r.below(4)));
      code.push_back(x.a(v).d(v));
    }
    for (unsigned v = 0; v < 4; ++v)
      code.push_back(Ins(TPU_VOP_ST).a(v).areg(7).offset(4096 + int(v) * 512));
    for (unsigned i = 0; i < 6; ++i) {
      cmd.addr[i] = acc ? r.below(8) : row * (64 + r.below(4));
      cmd.pitch[i] = acc ? r.below(3) : row * r.below(3);
    }
    cmd.pitch[5] = 0;
    load(p, code);
    p.dut.stalls.store = p.dut.stalls.acc_write = r.chance(50) ? 20 : 100;
    p.dut.stalls.load = p.dut.stalls.acc_read = r.chance(50) ? 30 : 100;
    const std::string why = p.run(cmd);
    if (!why.empty())
      return "case " + std::to_string(n) + ": " + why;
  }
  return "";
}

// Results written by hand from the contract; run() compares with the reference besides.
std::string test_errors(const Options &o) {
  Pair p(o, o.seed + 7);
  const tpu_config &c = p.config;
  const uint32_t row = c.lanes * 4;
  struct Case {
    const char *what;
    std::vector<uint64_t> code;
    void (*change)(Command &, const tpu_config &);
    uint32_t code_, detail0, detail1;
  };
  const Ins st = Ins(TPU_VOP_ST).a(0).areg(0);
  const Ins value = Ins(TPU_VOP_CONST).d(0).imm(0x1234);
  const Ins bad_op = Ins(0x8f).d(1).a(0);
  auto nothing = [](Command &, const tpu_config &) {};
  auto low = [](const Ins &i) { return uint32_t(i.w); };
  const Ins bf_int = Ins(TPU_VOP_LD).d(1).areg(1).dtype(TPU_VMEM_DTYPE_BF16).itype(1);
  const Ins acc8 = Ins(TPU_VOP_ST).a(0).areg(1).acc().dtype(TPU_VMEM_DTYPE_INT8);
  const Ins end1 = Ins(TPU_VOP_END).level(1), loop3 = Ins(TPU_VOP_LOOP).level(3);
  const Ins loop0 = Ins(TPU_VOP_LOOP).level(0);
  const std::vector<Case> cases = {
      {"reserved operation", {value, st, bad_op, st}, nothing, TPU_ERROR_VPU_ILLEGAL, 2, low(bad_op)},
      {"bf16 as i32", {value, st, bf_int}, nothing, TPU_ERROR_VPU_ILLEGAL, 2, low(bf_int)},
      {"narrow type in ACC", {value, acc8}, nothing, TPU_ERROR_VPU_ILLEGAL, 1, low(acc8)},
      {"END without LOOP", {value, end1}, nothing, TPU_ERROR_VPU_ILLEGAL, 1, low(end1)},
      {"LOOP 3", {loop3}, nothing, TPU_ERROR_VPU_ILLEGAL, 0, low(loop3)},
      {"LOOP twice", {loop0, loop0}, nothing, TPU_ERROR_VPU_ILLEGAL, 1, low(loop0)},
      {"entry past the memory",
       {},
       [](Command &k, const tpu_config &g) { k.entry = g.vpu_program; },
       TPU_ERROR_VPU_PC,
       c.vpu_program,
       0},
      {"entry far past the memory",
       {},
       [](Command &k, const tpu_config &) { k.entry = 0xffff; },
       TPU_ERROR_VPU_PC,
       0xffff,
       0},
      {"jump past the memory",
       {value, st, Ins(TPU_VOP_LOOP).level(0).put(48, 0x8000)},
       [](Command &k, const tpu_config &) { k.loop[0] = 0; },
       TPU_ERROR_VPU_PC,
       0x8000,
       0},
      {"load not aligned",
       {value, st, Ins(TPU_VOP_LD).d(1).areg(1), st},
       [](Command &k, const tpu_config &) { k.addr[1] = 0x104; },
       TPU_ERROR_ALIGN,
       2 | TPU_SPACE_VMEM << 24,
       0x104},
      {"pitch not aligned",
       {value, st, Ins(TPU_VOP_LD).d(1).areg(1)},
       [](Command &k, const tpu_config &) { k.pitch[1] = 2; },
       TPU_ERROR_ALIGN,
       2 | 1 << 16 | TPU_SPACE_VMEM << 24,
       0x1002},
      {"column not aligned",
       {value, Ins(TPU_VOP_ST).a(0).areg(1).col().dtype(TPU_VMEM_DTYPE_BF16)},
       [](Command &k, const tpu_config &) { k.pitch[1] = 3; },
       TPU_ERROR_ALIGN,
       1 | 1 << 16 | TPU_SPACE_VMEM << 24,
       0x1003},
      {"store past VMEM in sublane 5",
       {value, Ins(TPU_VOP_ST).a(0).areg(1), st},
       [](Command &k, const tpu_config &g) {
         k.addr[1] = g.vmem_bytes - 5 * g.lanes * 4;
         k.pitch[1] = g.lanes * 4;
       },
       TPU_ERROR_RANGE,
       1 | 5 << 16 | TPU_SPACE_VMEM << 24,
       c.vmem_bytes},
      {"store before VMEM in sublane 2",
       {value, Ins(TPU_VOP_ST).a(0).areg(1).offset(-int(row))},
       [](Command &k, const tpu_config &g) {
         k.addr[1] = 2 * g.lanes * 4;
         k.pitch[1] = uint32_t(-int(g.lanes * 4));
       },
       TPU_ERROR_RANGE,
       1 | 2 << 16 | TPU_SPACE_VMEM << 24,
       uint32_t(-int(row))},
      {"ACC row past the end",
       {value, Ins(TPU_VOP_ST).a(0).areg(1).acc()},
       [](Command &k, const tpu_config &g) {
         k.addr[1] = g.acc_rows - 7;
         k.pitch[1] = 1;
       },
       TPU_ERROR_RANGE,
       1 | 7 << 16 | uint32_t(TPU_SPACE_ACC) << 24,
       c.acc_rows},
      {"masked sublanes are not checked",
       {value, Ins(TPU_VOP_ST).a(0).areg(1).masked()},
       [](Command &k, const tpu_config &g) {
         k.addr[1] = g.vmem_bytes - 5 * g.lanes * 4;
         k.pitch[1] = g.lanes * 4;
         k.valid_rows = 5;
         k.valid_cols = 1;
       },
       TPU_ERROR_NONE,
       0,
       0},
      {"no column: nothing is checked",
       {value, Ins(TPU_VOP_ST).a(0).areg(1).masked()},
       [](Command &k, const tpu_config &) {
         k.addr[1] = 3;
         k.valid_rows = 8;
         k.valid_cols = 0;
       },
       TPU_ERROR_NONE,
       0,
       0},
      {"scalar 6 not aligned",
       {value, st},
       [](Command &k, const tpu_config &g) {
         k.scalar_mode = 0xf4;
         k.scalar[2] = 8;
         k.scalar[6] = 5;
         k.scalar[7] = g.smem_bytes;
       },
       TPU_ERROR_ALIGN,
       0xffff | 6 << 16 | TPU_SPACE_SMEM << 24,
       5},
      {"scalar 0 past SMEM",
       {value, st},
       [](Command &k, const tpu_config &g) {
         k.scalar_mode = 1;
         k.scalar[0] = g.smem_bytes;
       },
       TPU_ERROR_RANGE,
       0xffff | TPU_SPACE_SMEM << 24,
       c.smem_bytes},
  };
  for (const Case &k : cases) {
    for (unsigned slow = 0; slow < 2; ++slow) {
      p.dut.stalls = Stalls();
      load(p, k.code);
      p.dut.stalls.store = p.dut.stalls.load = slow ? 25 : 100;
      Command cmd;
      cmd.loop[0] = 2;
      cmd.addr[0] = 0x2000;
      cmd.pitch[0] = row;
      cmd.addr[1] = 0x1000;
      k.change(cmd, c);
      Result got;
      const std::string why = p.run(cmd, &got);
      if (!why.empty())
        return std::string(k.what) + ": " + why;
      if (got.code != k.code_ || (got.code && (got.detail0 != k.detail0 || got.detail1 != k.detail1))) {
        return std::string(k.what) + ": " + describe(got);
      }
    }
  }
  return "";
}

// Cycles per iteration of loops that the pipes must overlap: eight, one VREG.
std::string test_chaining(const Options &o) {
  Pair p(o, o.seed + 8);
  const uint32_t row = p.config.lanes * 4;
  struct Case {
    const char *what;
    std::vector<uint64_t> body;
    unsigned cycles;
  };
  const Ins ld0 = Ins(TPU_VOP_LD).d(0).areg(0), ld1 = Ins(TPU_VOP_LD).d(1).areg(1);
  const Ins st2 = Ins(TPU_VOP_ST).a(2).areg(2);
  const unsigned eup = 8 * p.config.lanes / p.config.eup_lanes; // cycles of one trip
  const std::vector<Case> cases = {
      {"copy", {ld0, Ins(TPU_VOP_ST).a(0).areg(2)}, 8},
      {"scale", {ld0, Ins(TPU_VOP_FMUL).d(2).a(0).sb(0), st2}, 8},
      {"scale in place", {ld0, Ins(TPU_VOP_FMUL).d(2).a(0).sb(0), Ins(TPU_VOP_ST).a(2).areg(0)}, 8},
      // The next load may write a sublane when the store has read it: one cycle after the seven of
      // the multiply and one of the load.
      {"scale in one register", {ld0, Ins(TPU_VOP_FMUL).d(0).a(0).sb(0), Ins(TPU_VOP_ST).a(0).areg(0)}, 9},
      {"accumulate", {ld0, Ins(TPU_VOP_FADD).d(2).a(2).b(0)}, 8},
      {"add two", {ld0, ld1, Ins(TPU_VOP_FADD).d(2).a(0).b(1), st2}, 16},
      {"two dependent operations",
       {ld0, Ins(TPU_VOP_FMUL).d(1).a(0).sb(0), Ins(TPU_VOP_FADD).d(2).a(1).sb(1), st2},
       16},
      // Two sets of registers hide the latency of the reduction. With four lanes the reduction is so
      // short that it meets the ALU in the same banks and loses cycles.
      {"row maximum subtracted",
       {ld0, Ins(TPU_VOP_RL_FMAX).d(1).a(0), Ins(TPU_VOP_LD).d(10).areg(1), Ins(TPU_VOP_RL_FMAX).d(11).a(10),
        Ins(TPU_VOP_FSUB).d(2).a(0).b(1), st2, Ins(TPU_VOP_FSUB).d(12).a(10).b(11),
        Ins(TPU_VOP_ST).a(12).areg(1)},
       p.config.lanes == 4 ? 20u : 16u},
      {"column sums", {ld0, Ins(TPU_VOP_RS_FSUM).d(2).a(0), st2}, 8},
      {"exponentials", {ld0, Ins(TPU_VOP_EXP2).d(2).a(0), st2}, eup},
      {"exponentials and their sum",
       {ld0, Ins(TPU_VOP_EXP2).d(1).a(0), Ins(TPU_VOP_FADD).d(2).a(2).b(1)},
       eup},
      // All five pipes at once, each an iteration behind the one before it.
      {"five pipes",
       {st2, Ins(TPU_VOP_RL_FSUM).d(2).a(3), Ins(TPU_VOP_EXP2).d(3).a(1), Ins(TPU_VOP_FMUL).d(1).a(0).sb(0),
        ld0},
       eup},
      {"two trips", {ld0, Ins(TPU_VOP_SIGMOID).d(2).a(0), st2}, 2 * eup},
  };
  const unsigned n = 200;
  for (const Case &k : cases) {
    std::vector<uint64_t> code;
    for (unsigned v = 0; v < 4; ++v)
      code.push_back(Ins(TPU_VOP_CONST).d(v));
    code.push_back(Ins(TPU_VOP_LOOP).level(0));
    code.insert(code.end(), k.body.begin(), k.body.end());
    code.push_back(Ins(TPU_VOP_END).level(0));
    load(p, code);
    Command cmd;
    cmd.loop[0] = n;
    for (unsigned i = 0; i < 3; ++i) {
      cmd.addr[i] = i * p.config.vmem_bytes / 4;
      cmd.pitch[i] = row;
      cmd.stride[3 * i] = 8 * row;
    }
    if (p.config.vmem_bytes / 4 < n * 8 * row)
      cmd.loop[0] = p.config.vmem_bytes / 4 / (8 * row);
    std::string why;
    const uint64_t t = cycles_of(p, cmd, why);
    if (!why.empty())
      return std::string(k.what) + ": " + why;
    const double per = double(t - 60) / cmd.loop[0];
    if (per > k.cycles + 0.05) {
      char b[100];
      std::snprintf(b, sizeof b, "%s: %.2f cycles an iteration, should be %u", k.what, per, k.cycles);
      return b;
    }
  }
  return "";
}
