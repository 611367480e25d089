// SPDX-License-Identifier: MIT
//
// Latency and throughput of every instruction, measured; and the speed of the simulation. Included by
// tb.cpp.

// Cycle of the first write request, counted from the start of the command.
uint64_t first_store(Pair &p, const std::vector<uint64_t> &code, std::string &why) {
  load(p, code);
  Command cmd;
  for (unsigned i = 0; i < 8; ++i) {
    cmd.addr[i] = i * 0x1000;
    cmd.pitch[i] = p.config.lanes * 4;
  }
  cmd.addr[3] = 16;
  cmd.pitch[3] = 1;
  cmd.valid_rows = 8;
  cmd.valid_cols = p.config.lanes;
  cmd.loop[0] = 1;
  p.dut.clear_marks();
  const uint64_t start = p.dut.now;
  why = p.run(cmd);
  return p.dut.first_store - start;
}

std::string test_timing(const Options &o) {
  Pair p(o, o.seed + 9);
  std::string why;
  const Ins zero = Ins(TPU_VOP_CONST).d(0).imm(0), st0 = Ins(TPU_VOP_ST).a(0).areg(1);
  const Ins sum0 = Ins(TPU_VOP_RL_ISUM).d(0).sa(0);
  const uint64_t base = first_store(p, {zero, st0}, why); // CONST, its result stored
  if (!why.empty())
    return why;
  const uint64_t summed = first_store(p, {sum0, st0}, why); // the same from the reduction pipe
  if (!why.empty())
    return why;
  // An instruction between one of another pipe and a store: how much later the store gets its operand.
  auto latency = [&](const Ins &i) {
    std::string w;
    const bool reduction = uint8_t(i.w) >= TPU_VOP_RL_FSUM;
    const uint64_t t = first_store(p, {reduction ? zero : sum0, i, Ins(TPU_VOP_ST).a(1).areg(1)}, w);
    if (why.empty())
      why = w;
    return t - (reduction ? base : summed);
  };
  // Independent copies of it: the cycles of one.
  auto throughput = [&](auto make) {
    uint64_t t[2];
    for (unsigned k = 0; k < 2; ++k) {
      std::vector<uint64_t> code = {zero};
      for (unsigned i = 0; i < (k ? 48 : 16); ++i)
        code.push_back(make(i));
      std::string w;
      first_store(p, code, w);
      if (why.empty())
        why = w;
      const uint64_t before = p.dut.now;
      Command cmd;
      for (unsigned i = 0; i < 8; ++i) {
        cmd.addr[i] = i * 0x1000;
        cmd.pitch[i] = p.config.lanes * 4;
      }
      cmd.addr[3] = 16;
      cmd.pitch[3] = 1;
      cmd.loop[0] = 1;
      w = p.run(cmd);
      if (why.empty())
        why = w;
      t[k] = p.dut.now - before;
    }
    return double(t[1] - t[0]) / 32;
  };
  std::printf("# | instruction | cycles a VREG | latency |\n# |---|---|---|\n");
  auto line = [&](const std::string &name, double cycles, uint64_t lat) {
    std::printf("# | %s | %.1f | %llu |\n", name.c_str(), cycles, (unsigned long long)lat);
  };
  static const char *const alu_names[] = {"MOV", "IOTA_LANE", "IOTA_SUB", "SELM", "SEL"};
  const uint64_t alu = latency(Ins(TPU_VOP_MOV).d(1).a(0));
  double worst = 0;
  for (uint32_t op : alu_ops()) {
    const Ins i = Ins(op).d(1).a(0).b(0).c(0);
    const uint64_t l = operands(op) ? latency(i) : alu;
    const double t = throughput([&](unsigned k) { return Ins(op).d(1 + k % 16).a(0).b(0).c(0); });
    worst = std::max(worst, t);
    char name[16];
    if (op >= TPU_VOP_MOV && op <= TPU_VOP_SEL)
      std::snprintf(name, sizeof name, "%s", alu_names[op - TPU_VOP_MOV]);
    else
      std::snprintf(name, sizeof name, "ALU 0x%02x", op);
    line(name, t, l);
    if (l != alu)
      why = "ALU latencies differ";
  }
  for (uint32_t op = TPU_VOP_RL_FSUM; op <= TPU_VOP_RS_IARGMAX; ++op) {
    static const char *const kinds[] = {"FSUM", "FMIN", "FMAX", "FARGMAX", "ISUM", "IMIN", "IMAX", "IARGMAX"};
    const double t = throughput([&](unsigned k) { return Ins(op).d(1 + k % 16).a(0); });
    worst = std::max(worst, t);
    line(std::string(op < TPU_VOP_RS_FSUM ? "RL_" : "RS_") + kinds[op % 8], t, latency(Ins(op).d(1).a(0)));
  }
  for (unsigned acc = 0; acc < 2; ++acc) {
    for (unsigned dtype = 0; dtype < (acc ? 1u : 4u); ++dtype) {
      for (unsigned col = 0; col < 2; ++col) {
        static const char *const types[] = {"W32", "BF16", "INT8", "UINT8"};
        const std::string what =
            std::string(acc ? "ACC " : "VMEM ") + types[dtype] + (col ? " column" : " row");
        const unsigned areg = acc ? 3 : 2;
        auto access = [&](uint32_t op, unsigned v) {
          return Ins(op).d(v).a(v).areg(areg).acc(acc).dtype(dtype).col(col);
        };
        // The load's request and the CONST's first cycle have the same distance from the start. The
        // reduction between gives the store, which begins after the last request, time.
        std::string w;
        const Ins sum = Ins(TPU_VOP_RL_ISUM).d(1).a(0), st1 = Ins(TPU_VOP_ST).a(1).areg(1);
        const uint64_t c = first_store(p, {zero, sum, st1}, w);
        const uint64_t l = first_store(p, {access(TPU_VOP_LD, 0), sum, st1}, w) - c + alu;
        if (why.empty())
          why = w;
        double t = throughput([&](unsigned k) { return access(TPU_VOP_LD, 1 + k % 16); });
        worst = std::max(worst, t);
        line("LD " + what, t, l);
        t = throughput([&](unsigned) { return access(TPU_VOP_ST, 0); });
        worst = std::max(worst, t);
        std::printf("# | ST %s | %.1f | - |\n", what.c_str(), t);
      }
    }
  }
  load(p, {});
  std::string w;
  const uint64_t before = p.dut.now;
  w = p.run(Command());
  std::printf("# | empty program, start to done | %llu | |\n", (unsigned long long)(p.dut.now - before));
  std::printf("# | CONST and ST, start to first write request | %llu | |\n", (unsigned long long)base);
  if (why.empty())
    why = w;
  if (why.empty() && worst > 8.0)
    why = "an instruction takes more than 8 cycles";
  return why;
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
