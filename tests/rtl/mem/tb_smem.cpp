// SPDX-License-Identifier: MIT
// SMEM: random requests on its four ports against a byte array.
#include "Vtpu_smem.h"
#include "tb_mem.h"
#include "verilated.h"

int main(int argc, char **argv) {
  const unsigned seeds = argc > 1 ? unsigned(std::atoi(argv[1])) : 3;
  const tpu_config &c = config(CONFIG);
  const unsigned wb = c.hbm_port_bytes, words = c.smem_bytes / wb;
  int bad = 0;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Random rnd{seed * 7919u + 17};
    VerilatedContext ctx;
    ctx.threads(1);
    const std::string arg = "+tpu_seed=" + std::to_string(seed);
    const char *av[] = {"tb", arg.c_str()};
    ctx.commandArgs(2, av);
    Vtpu_smem top{&ctx};
    std::vector<uint8_t> mem(c.smem_bytes);
    for (uint32_t w = 0; w < c.smem_bytes / 4; ++w) {
      const uint32_t v = reset_word(seed, 2, w);
      std::memcpy(&mem[4 * w], &v, 4);
    }
    struct {
      bool valid, write;
      uint32_t addr;
      std::vector<uint8_t> data, be;
      unsigned refused;
    } req[4] = {};
    std::deque<std::pair<uint64_t, std::vector<uint8_t>>> expect[4];
    std::string why;
    unsigned worst = 0;
    top.rst_ni = 0;
    for (int i = 0; i < 3; ++i) {
      top.clk_i = 0;
      top.eval();
      top.clk_i = 1;
      top.eval();
    }
    top.rst_ni = 1;
    for (uint64_t now = 0; now < 40000 && why.empty(); ++now) {
      for (unsigned p = 0; p < 4; ++p) {
        auto &r = req[p];
        if (r.valid)
          continue;
        r.valid = rnd.below(100) < (now < 20000 ? 30u : 98u);
        r.refused = 0;
        r.addr = rnd.below(seed % 2 ? 20 : words);
        r.write = p == 1 || (p == 3 && rnd.below(2));
        r.data.assign(wb, 0);
        r.be.assign(wb, 0);
        for (unsigned i = 0; i < wb; ++i) {
          r.data[i] = uint8_t(rnd.next());
          r.be[i] = rnd.below(2);
        }
      }
      top.dma_rd_valid_i = req[0].valid;
      top.dma_rd_addr_i = req[0].addr;
      top.dma_wr_valid_i = req[1].valid;
      top.dma_wr_addr_i = req[1].addr;
      top.vpu_valid_i = req[2].valid;
      top.vpu_addr_i = req[2].addr;
      top.scalar_valid_i = req[3].valid;
      top.scalar_we_i = req[3].write;
      top.scalar_addr_i = req[3].addr;
      std::memcpy(bytes(top.dma_wr_wdata_i), req[1].data.data(), wb);
      std::memcpy(bytes(top.scalar_wdata_i), req[3].data.data(), wb);
      for (unsigned i = 0; i < wb; ++i) {
        set_bits(top.dma_wr_be_i, i, 1, req[1].be[i]);
        set_bits(top.scalar_be_i, i, 1, req[3].be[i]);
      }
      top.clk_i = 0;
      top.eval();
      const bool rv[4] = {bool(top.dma_rd_rsp_valid_o), false, bool(top.vpu_rsp_valid_o),
                          bool(top.scalar_rsp_valid_o)};
      const uint8_t *rd[4] = {bytes(top.dma_rd_rsp_data_o), nullptr, bytes(top.vpu_rsp_data_o),
                              bytes(top.scalar_rsp_data_o)};
      const bool g[4] = {bool(top.dma_rd_gnt_o), bool(top.dma_wr_gnt_o), bool(top.vpu_gnt_o),
                         bool(top.scalar_gnt_o)};
      unsigned grants = 0, wants = 0;
      for (unsigned p = 0; p < 4; ++p) {
        const bool due = !expect[p].empty() && expect[p].front().first == now;
        if (rv[p] != due)
          why = "response in the wrong cycle, port " + std::to_string(p);
        else if (due && std::memcmp(rd[p], expect[p].front().second.data(), wb))
          why = "wrong data, port " + std::to_string(p);
        if (due)
          expect[p].pop_front();
        grants += g[p];
        wants += req[p].valid;
        if (g[p] && !req[p].valid)
          why = "grant without a request";
      }
      if (grants != (wants != 0))
        why = "not exactly one grant";
      for (unsigned p = 0; p < 4; ++p) {
        auto &r = req[p];
        if (!r.valid)
          continue;
        if (!g[p]) {
          if (++r.refused > 15)
            why = "port " + std::to_string(p) + " starves";
          continue;
        }
        worst = std::max(worst, r.refused);
        uint8_t *m = &mem[size_t(r.addr) * wb];
        if (!r.write)
          expect[p].emplace_back(now + 2, std::vector<uint8_t>(m, m + wb));
        for (unsigned i = 0; r.write && i < wb; ++i)
          if (r.be[i])
            m[i] = r.data[i];
        r.valid = false;
      }
      top.clk_i = 1;
      top.eval();
    }
    const std::string name = std::string("rtl/mem/smem ") + CONFIG + " seed " + std::to_string(seed) +
                             " (longest wait " + std::to_string(worst) + " cycles)";
    bad += verdict(name.c_str(), why.empty(), why);
  }
  return bad != 0;
}
