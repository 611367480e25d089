// SPDX-License-Identifier: MIT
//
// Latency and throughput of every instruction, measured; and the speed of the simulation. Included by
// tb.cpp.

// Runs programs whose cycles are known but for one instruction.
class Stopwatch {
public:
  explicit Stopwatch(Pair &p) : p_(p) {
    base_ = first_store({zero(), store(0)});
    summed_ = first_store({summed(), store(0)});
  }

  std::string why;  // of the first failure
  double worst = 0; // cycles a VREG
  uint64_t base() const { return base_; }

  static Ins zero() { return Ins(TPU_VOP_CONST).d(0).imm(0); }
  static Ins summed() { return Ins(TPU_VOP_RL_ISUM).d(0).sa(0); } // v0 from another pipe
  static Ins store(unsigned v) { return Ins(TPU_VOP_ST).a(v).areg(1); }

  // An instruction from v0 (and v1) to `to` (and the one behind it).
  static Ins instruction(uint32_t op, unsigned to) {
    Ins i = Ins(op).d(to);
    if (op == TPU_VOP_RAND)
      return i.sa(0).sb(1);
    return op == TPU_VOP_CONST ? i : i.a(0).b(0).c(0);
  }

  bool exists(uint32_t op) {
    Result r;
    load(p_, {zero(), instruction(op, 2)});
    note(p_.run(command(), &r));
    return r.code != TPU_ERROR_VPU_ILLEGAL;
  }

  // From the read of its operand, which comes from another pipe, to the read of its result by a store;
  // without an operand from its start, which is that of CONST.
  uint64_t latency(uint32_t op) {
    const Ins i = instruction(op, 2);
    if (op == TPU_VOP_CONST || op == TPU_VOP_RAND || !(op > TPU_VOP_F2BF || operands(op)))
      return first_store({i, store(2)}) - base_ + alu();
    const bool cross_lane = op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_TRANSPOSE;
    return first_store({cross_lane ? zero() : summed(), i, store(2)}) - (cross_lane ? base_ : summed_);
  }

  // Latency of a load whose request goes in the cycle in which a CONST would start. The reduction between
  // gives the store, which begins after the last request, time.
  uint64_t load_latency(const Ins &ld) {
    const Ins sum = Ins(TPU_VOP_RL_ISUM).d(1).a(0);
    const uint64_t c = first_store({zero(), sum, store(1)});
    return first_store({ld, sum, store(1)}) - c + alu();
  }

  // Cycles of one of many independent instructions, for each VREG that it writes.
  template <class Make> double throughput(Make make, unsigned vregs = 1) {
    uint64_t t[2];
    for (unsigned k = 0; k < 2; ++k) {
      std::vector<uint64_t> code = {zero(), Ins(TPU_VOP_CONST).d(1).imm(0)};
      for (unsigned i = 0; i < (k ? 48 : 16); ++i)
        code.push_back(make(2 + 2 * (i % 8)));
      t[k] = cycles(code, command());
    }
    const double one = double(t[1] - t[0]) / 32 / vregs;
    worst = std::max(worst, one);
    return one;
  }

  uint64_t cycles(const std::vector<uint64_t> &code, const Command &cmd) {
    load(p_, code);
    const uint64_t before = p_.dut.now;
    note(p_.run(cmd));
    return p_.dut.now - before;
  }

  Command command() const {
    Command cmd;
    for (unsigned i = 0; i < 8; ++i) {
      cmd.addr[i] = i * 0x1000;
      cmd.pitch[i] = p_.config.lanes * 4;
    }
    cmd.addr[3] = 16;
    cmd.pitch[3] = 1;
    cmd.valid_rows = 8;
    cmd.valid_cols = p_.config.lanes;
    cmd.loop[0] = 1;
    return cmd;
  }

private:
  Pair &p_;
  uint64_t base_ = 0, summed_ = 0;

  void note(const std::string &w) {
    if (why.empty())
      why = w;
  }

  uint64_t alu() { return first_store({summed(), Ins(TPU_VOP_MOV).d(2).a(0), store(2)}) - summed_; }

  // Cycle of the first write request, counted from the start of the command.
  uint64_t first_store(const std::vector<uint64_t> &code) {
    load(p_, code);
    p_.dut.clear_marks();
    const uint64_t start = p_.dut.now;
    note(p_.run(command()));
    return p_.dut.first_store - start;
  }
};

// Rows of the table in rtl/vpu/README.md: instruction, cycles a VREG, latency. table.py compares.
class Rows {
public:
  Rows() {
    if (const char *name = std::getenv("TIMINGS"))
      file_ = std::fopen(name, "w");
  }
  ~Rows() {
    if (file_)
      std::fclose(file_);
  }
  void add(const std::string &name, double cycles, const std::string &latency) {
    char line[120];
    std::snprintf(line, sizeof line, "%s|%g|%s", name.c_str(), cycles, latency.c_str());
    std::printf("# %s\n", line);
    if (file_)
      std::fprintf(file_, "%s\n", line);
  }

private:
  std::FILE *file_ = nullptr;
};

void time_loops(Stopwatch &w, Rows &rows) {
  auto time = [&](const std::vector<uint64_t> &code, unsigned n) {
    Command cmd = w.command();
    cmd.loop[0] = n;
    return w.cycles(code, cmd);
  };
  const Ins loop0 = Ins(TPU_VOP_LOOP).level(0), end0 = Ins(TPU_VOP_END).level(0);
  const Ins loop1 = Ins(TPU_VOP_LOOP).level(1).offset(2); // empty: jumps to the END behind it
  const double end = double(time({loop0, end0}, 1100) - time({loop0, end0}, 100)) / 1000;
  const double both = double(time({loop0, loop1, end0}, 1100) - time({loop0, loop1, end0}, 100)) / 1000;
  rows.add("LOOP", both - end, "-");
  rows.add("END", end, "-");
}

void time_memory(Stopwatch &w, Rows &rows, uint32_t op) {
  static const char *const types[] = {"VMEM W32", "VMEM BF16", "VMEM INT8", "VMEM UINT8", "ACC"};
  for (unsigned k = 0; k < 10; ++k) {
    const unsigned type = k / 2, col = k % 2, acc = type == 4;
    auto access = [&](unsigned v) {
      return Ins(op).d(v).a(v).areg(acc ? 3 : 2).acc(acc).dtype(acc ? 0 : type).col(col);
    };
    const bool ld = op == TPU_VOP_LD;
    const double cycles = w.throughput([&](unsigned v) { return access(ld ? v : 0); });
    rows.add(std::string(ld ? "LD " : "ST ") + types[type] + (col ? " column" : " row"), cycles,
             ld ? std::to_string(w.load_latency(access(0))) : "-");
  }
}

std::string test_timing(const Options &o) {
#define NAME(name, value, description) {#name, value},
  static const struct {
    const char *name;
    uint32_t op;
  } list[] = {TPU_VOP_LIST(NAME)};
#undef NAME
  Pair p(o, o.seed + 9);
  Stopwatch w(p);
  Rows rows;
  time_loops(w, rows);
  time_memory(w, rows, TPU_VOP_LD);
  time_memory(w, rows, TPU_VOP_ST);
  double others = w.worst;
  std::string slow;
  for (const auto &i : list) {
    if (i.op < TPU_VOP_CONST || !w.exists(i.op))
      continue;
    const unsigned vregs = i.op == TPU_VOP_TRANSPOSE && p.config.lanes > 8 ? 2 : 1;
    w.worst = others;
    const double cycles = w.throughput([&](unsigned v) { return Stopwatch::instruction(i.op, v); }, vregs);
    const bool eup = i.op >= TPU_VOP_EXP2 && i.op <= TPU_VOP_SIGMOID;
    others = i.op == TPU_VOP_RAND || eup ? others : w.worst;
    const unsigned trips = i.op == TPU_VOP_TANH || i.op == TPU_VOP_SIGMOID ? 2 : 1;
    if (eup && cycles != 8.0 * trips * p.config.lanes / p.config.eup_lanes)
      slow = std::string(i.name) + " does not take eight cycles a trip for EUP_LANES lanes";
    rows.add(i.name, cycles, std::to_string(w.latency(i.op)));
  }
  rows.add("empty program, start to done", double(w.cycles({}, Command())), "-");
  rows.add("CONST and ST, start to first write request", double(w.base()), "-");
  if (w.why.empty() && !slow.empty())
    return slow;
  if (w.why.empty() && others > 8.0)
    return "an instruction other than RAND and those of the EUP takes more than 8 cycles";
  return w.why;
}

std::string test_speed(const Options &o) {
  Pair p(o, o.seed + 10);
  const uint32_t row = p.config.lanes * 4;
  Vtpu_vpu &t = *p.dut.top;
  struct Case {
    const char *what;
    std::vector<uint64_t> body;
  };
  const std::vector<Case> cases = {
      {"multiply and add", {Ins(TPU_VOP_FMA).d(2).a(1).b(0).c(0)}},
      {"load, multiply, store",
       {Ins(TPU_VOP_LD).d(0).areg(0), Ins(TPU_VOP_FMUL).d(2).a(0).b(1), Ins(TPU_VOP_ST).a(2).areg(1)}},
      {"exponential", {Ins(TPU_VOP_EXP2).d(2).a(1)}},
      {"sigmoid", {Ins(TPU_VOP_SIGMOID).d(2).a(1)}},
      {"load, FMA, row sum, bf16 store",
       {Ins(TPU_VOP_LD).d(0).areg(0), Ins(TPU_VOP_FMA).d(2).a(0).b(1).c(2), Ins(TPU_VOP_RL_FSUM).d(3).a(2),
        Ins(TPU_VOP_ST).a(3).areg(1).dtype(TPU_VMEM_DTYPE_BF16)}},
  };
  // Memories that only answer, so that the time is the unit's own.
  auto clock = [&](uint64_t n) {
    unsigned v1 = 0, v2 = 0;
    const auto begin = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < n; ++i) {
      t.clk_i = 0;
      t.vld_rsp_valid_i = v2;
      v2 = v1;
      v1 = t.vld_valid_o;
      t.vld_gnt_i = v1;
      t.vst_gnt_i = t.vst_valid_o;
      t.eval();
      t.clk_i = 1;
      t.eval();
    }
    return n / std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / 1e6;
  };
  t.done_ready_i = 1;
  std::printf("# idle: %.2f MHz\n", clock(3000000));
  for (const Case &k : cases) {
    std::vector<uint64_t> code = {Ins(TPU_VOP_CONST).d(0).imm(0x3f800000),
                                  Ins(TPU_VOP_CONST).d(1).imm(0x3f900000),
                                  Ins(TPU_VOP_CONST).d(2).imm(0x40000000), Ins(TPU_VOP_LOOP).level(0)};
    code.insert(code.end(), k.body.begin(), k.body.end());
    code.push_back(Ins(TPU_VOP_END).level(0));
    load(p, code);
    Command cmd;
    cmd.loop[0] = 1000000000;
    cmd.addr[0] = 0;
    cmd.addr[1] = 0x4000;
    cmd.pitch[0] = row;
    cmd.pitch[1] = row;
    p.dut.start(cmd);
    std::printf("# %s: %.2f MHz\n", k.what, clock(1000000));
    if (t.idle_o)
      return "not busy";
    if (!p.dut.abort())
      return "abort";
  }
  return "";
}
