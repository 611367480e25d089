// SPDX-License-Identifier: MIT
// VMEM: random requests on all ports against a byte array. Checks data and their cycle, that a bank
// serves one requester, the priority, that nobody is refused more than a bounded time, reset contents.
#include "Vtpu_vmem.h"
#include "tb_mem.h"
#include "verilated.h"

namespace {

struct Request {
  bool valid = false, write = false;
  uint32_t addr = 0;
  std::vector<uint8_t> data, be;
  unsigned refused = 0;
};

struct Bench {
  const tpu_config &c = config(CONFIG);
  unsigned nv = c.lanes * 4 > c.vmem_word_bytes ? c.lanes * 4 / c.vmem_word_bytes : 1;
  unsigned words = c.vmem_bytes / c.vmem_word_bytes, ports = 5 + 2 * nv;
  unsigned addr_bits = unsigned(__builtin_ctz(words));
  Random rnd;
  std::unique_ptr<VerilatedContext> ctx{new VerilatedContext};
  std::unique_ptr<Vtpu_vmem> top;
  std::vector<uint8_t> mem;
  std::vector<Request> req;
  std::vector<std::deque<std::pair<uint64_t, std::vector<uint8_t>>>> expect;
  uint64_t now = 0;
  bool urgent = false;
  std::string why;
  unsigned worst = 0;

  bool is_write_port(unsigned p) const { return p == 3 || (p >= 4 + nv && p < 4 + 2 * nv); }
  unsigned bank(uint32_t word) const {
    unsigned x = 0;
    for (; word; word /= c.vmem_banks)
      x ^= word % c.vmem_banks;
    return x;
  }

  explicit Bench(uint64_t seed) : rnd{seed * 2654435761u + 12345} {
    ctx->threads(1);
    const std::string arg = "+tpu_seed=" + std::to_string(seed);
    const char *argv[] = {"tb", arg.c_str()};
    ctx->commandArgs(2, argv);
    top.reset(new Vtpu_vmem(ctx.get()));
    mem.resize(c.vmem_bytes);
    for (uint32_t w = 0; w < c.vmem_bytes / 4; ++w) {
      const uint32_t v = reset_word(uint32_t(seed), 1, w);
      std::memcpy(&mem[4 * w], &v, 4);
    }
    req.resize(ports);
    expect.resize(ports);
    top->rst_ni = 0;
    for (int i = 0; i < 3; ++i)
      edge();
    top->rst_ni = 1;
  }

  void edge() {
    top->clk_i = 0;
    top->eval();
    top->clk_i = 1;
    top->eval();
  }

  void drive() {
    const unsigned wb = c.vmem_word_bytes;
    top->weight_urgent_i = urgent;
    for (unsigned p = 0; p < ports; ++p) {
      const Request &r = req[p];
      if (p == 0) {
        top->stream_valid_i = r.valid;
        top->stream_addr_i = r.addr;
      } else if (p == 1) {
        top->weight_valid_i = r.valid;
        top->weight_addr_i = r.addr;
      } else if (p == 2) {
        top->dma_rd_valid_i = r.valid;
        top->dma_rd_addr_i = r.addr;
      } else if (p == 3) {
        top->dma_wr_valid_i = r.valid;
        top->dma_wr_addr_i = r.addr;
        if (r.valid)
          std::memcpy(bytes(top->dma_wr_wdata_i), r.data.data(), wb);
        for (unsigned i = 0; r.valid && i < wb; ++i)
          set_bits(top->dma_wr_be_i, i, 1, r.be[i]);
      } else if (p < 4 + nv) {
        set_bits(top->vld_valid_i, p - 4, 1, r.valid);
        set_bits(top->vld_addr_i, (p - 4) * addr_bits, addr_bits, r.addr);
      } else if (p < 4 + 2 * nv) {
        const unsigned v = p - 4 - nv;
        set_bits(top->vst_valid_i, v, 1, r.valid);
        set_bits(top->vst_addr_i, v * addr_bits, addr_bits, r.addr);
        if (r.valid)
          std::memcpy(bytes(top->vst_wdata_i) + v * wb, r.data.data(), wb);
        for (unsigned i = 0; r.valid && i < wb; ++i)
          set_bits(top->vst_be_i, v * wb + i, 1, r.be[i]);
      } else {
        top->scalar_valid_i = r.valid;
        top->scalar_we_i = r.write;
        top->scalar_addr_i = r.addr;
        if (r.write) {
          std::memcpy(bytes(top->scalar_wdata_i), r.data.data(), wb);
          for (unsigned i = 0; i < wb; ++i)
            set_bits(top->scalar_be_i, i, 1, r.be[i]);
        }
      }
    }
  }

  bool granted(unsigned p) {
    if (p == 0)
      return top->stream_gnt_o;
    if (p == 1)
      return top->weight_gnt_o;
    if (p == 2)
      return top->dma_rd_gnt_o;
    if (p == 3)
      return top->dma_wr_gnt_o;
    if (p < 4 + nv)
      return get_bit(top->vld_gnt_o, p - 4);
    if (p < 4 + 2 * nv)
      return get_bit(top->vst_gnt_o, p - 4 - nv);
    return top->scalar_gnt_o;
  }

  const uint8_t *response(unsigned p) {
    if (p == 0)
      return top->stream_rsp_valid_o ? bytes(top->stream_rsp_data_o) : nullptr;
    if (p == 1)
      return top->weight_rsp_valid_o ? bytes(top->weight_rsp_data_o) : nullptr;
    if (p == 2)
      return top->dma_rd_rsp_valid_o ? bytes(top->dma_rd_rsp_data_o) : nullptr;
    if (p >= 4 && p < 4 + nv)
      return get_bit(top->vld_rsp_valid_o, p - 4) ? bytes(top->vld_rsp_data_o) + (p - 4) * c.vmem_word_bytes
                                                  : nullptr;
    if (p == 4 + 2 * nv)
      return top->scalar_rsp_valid_o ? bytes(top->scalar_rsp_data_o) : nullptr;
    return nullptr;
  }

  void fail(const std::string &text) {
    if (why.empty())
      why = "cycle " + std::to_string(now) + ": " + text;
  }

  void new_request(unsigned p, unsigned percent, uint32_t span) {
    Request &r = req[p];
    r.valid = rnd.below(100) < percent;
    r.refused = 0;
    if (!r.valid)
      return;
    r.addr = rnd.below(4) ? rnd.below(span) : (words - 1 - rnd.below(span));
    r.write = is_write_port(p) || (p == ports - 1 && rnd.below(2));
    if (!r.write)
      return;
    r.data.resize(c.vmem_word_bytes);
    r.be.resize(c.vmem_word_bytes);
    const unsigned kind = rnd.below(4);
    for (unsigned i = 0; i < c.vmem_word_bytes; ++i) {
      r.data[i] = uint8_t(rnd.next());
      r.be[i] = kind == 0 || (kind == 1 && i < c.vmem_word_bytes / 2) || (kind > 1 && rnd.below(2));
    }
  }

  void cycle(unsigned percent, uint32_t span) {
    for (unsigned p = 0; p < ports; ++p) {
      if (!req[p].valid)
        new_request(p, percent, span);
    }
    urgent = rnd.below(8) == 0;
    drive();
    top->clk_i = 0;
    top->eval();
    for (unsigned p = 0; p < ports; ++p) {
      const uint8_t *d = response(p);
      const bool due = !expect[p].empty() && expect[p].front().first == now;
      if ((d != nullptr) != due)
        fail("port " + std::to_string(p) + ": response in the wrong cycle");
      if (d != nullptr && due && std::memcmp(d, expect[p].front().second.data(), c.vmem_word_bytes))
        fail("port " + std::to_string(p) + ": wrong data");
      if (due)
        expect[p].pop_front();
    }
    take_grants();
    top->clk_i = 1;
    top->eval();
    ++now;
  }

  void take_grants() {
    std::vector<int> owner(c.vmem_banks, -1);
    std::vector<unsigned> won;
    for (unsigned p = 0; p < ports; ++p) {
      Request &r = req[p];
      const bool g = granted(p);
      if (g && !r.valid)
        fail("grant without a request");
      if (!r.valid)
        continue;
      if (g) {
        int &o = owner[bank(r.addr)];
        if (o >= 0)
          fail("two grants in one bank");
        o = int(p);
        won.push_back(p);
        worst = std::max(worst, r.refused);
        if (r.refused > 15 + ports)
          fail("port " + std::to_string(p) + " was refused " + std::to_string(r.refused) + " times");
      }
    }
    for (unsigned p = 0; p < ports; ++p) {
      Request &r = req[p];
      if (!r.valid || granted(p))
        continue;
      const int o = owner[bank(r.addr)];
      if (o < 0)
        fail("refused although the bank was free");
      // A lower-priority requester may only win when it had been refused 15 times, or as urgent weights.
      else if (unsigned(o) > p && req[o].refused < 15 && !(o == 1 && urgent))
        fail("priority inverted");
      ++r.refused;
    }
    // Reads of this cycle see the state before its writes.
    for (unsigned p : won) {
      if (!req[p].write) {
        const uint8_t *m = &mem[size_t(req[p].addr) * c.vmem_word_bytes];
        expect[p].emplace_back(now + 2, std::vector<uint8_t>(m, m + c.vmem_word_bytes));
      }
    }
    for (unsigned p : won) {
      Request &r = req[p];
      for (unsigned i = 0; r.write && i < c.vmem_word_bytes; ++i) {
        if (r.be[i])
          mem[size_t(r.addr) * c.vmem_word_bytes + i] = r.data[i];
      }
      r.valid = false;
    }
  }
};

} // namespace

int main(int argc, char **argv) {
  const unsigned seeds = argc > 1 ? unsigned(std::atoi(argv[1])) : 4;
  int bad = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Bench b(seed);
    static const unsigned load[] = {15, 50, 95, 100};
    const uint32_t span = seed % 2 ? 40 : b.words;
    for (unsigned i = 0; i < 40000 && b.why.empty(); ++i)
      b.cycle(load[i / 10000], span);
    const std::string name = std::string("rtl/mem/vmem ") + CONFIG + " seed " + std::to_string(seed) +
                             " (longest wait " + std::to_string(b.worst) + " cycles)";
    bad += verdict(name.c_str(), b.why.empty(), b.why);
  }
  return bad != 0;
}
