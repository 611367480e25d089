// SPDX-License-Identifier: MIT
//
// A vector machine written from docs/contract.md (sections 3, 6 and 7) and the register reference, one
// instruction after the other, one element at a time. It shares no code with the RTL or the
// functional model.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "ref_lane.h"
#include "tpu_configs.h"
#include "tpu_regs.h"

struct Command {
  uint32_t entry = 0;
  uint32_t loop[3] = {0, 0, 0};
  uint32_t row_level = 3, col_level = 3, row_step = 0, col_step = 0;
  uint32_t valid_rows = 0, valid_cols = 0;
  uint32_t scalar_mode = 0;
  uint32_t scalar[8] = {};
  uint32_t addr[8] = {};
  uint32_t pitch[8] = {};
  uint32_t stride[24] = {};
};

struct Result {
  uint32_t code = 0, detail0 = 0, detail1 = 0;
  uint64_t bytes = 0, work = 0;
  bool endless = false; // gave up after the budget
};

struct Memories {
  std::vector<uint8_t> vmem, smem;
  std::vector<uint32_t> acc;
  explicit Memories(const tpu_config &c)
      : vmem(c.vmem_bytes), smem(c.smem_bytes), acc(size_t(c.acc_rows) * c.dim) {}
};

class RefVpu {
public:
  RefVpu(const tpu_config &config, Memories &memories)
      : program(config.vpu_program), c_(config), m_(memories), lanes_(config.lanes) {}

  std::vector<uint64_t> program;

  Result run(const Command &cmd, uint64_t budget) {
    cmd_ = cmd;
    r_ = Result();
    for (auto &l : level_)
      l = Level();
    for (unsigned i = 0; i < 8; ++i)
      addr_[i] = cmd.addr[i];
    if (!scalars())
      return r_;
    uint32_t pc = cmd.entry;
    while (step(pc)) {
      if (--budget == 0) {
        r_.endless = true;
        break;
      }
    }
    return r_;
  }

private:
  struct Level {
    bool active = false;
    uint32_t start = 0, iteration = 0;
  };
  using Row = std::array<uint32_t, 16>;
  struct Vreg {
    Row s[8];
  };

  const tpu_config &c_;
  Memories &m_;
  const uint32_t lanes_;
  Command cmd_;
  Result r_;
  Level level_[3];
  uint32_t addr_[8] = {}, scalar_[8] = {};
  std::array<Vreg, 32> v_{};

  bool fail(uint32_t code, uint32_t detail0, uint32_t detail1) {
    r_.code = code;
    r_.detail0 = detail0;
    r_.detail1 = detail1;
    return false;
  }

  bool scalars() {
    for (unsigned i = 0; i < 8; ++i) {
      scalar_[i] = cmd_.scalar[i];
      if (!(cmd_.scalar_mode >> i & 1))
        continue;
      const uint32_t a = cmd_.scalar[i];
      const uint32_t d0 = 0xffff | i << 16 | TPU_SPACE_SMEM << 24;
      if (a % 4)
        return fail(TPU_ERROR_ALIGN, d0, a);
      if (uint64_t(a) + 4 > c_.smem_bytes)
        return fail(TPU_ERROR_RANGE, d0, a);
      scalar_[i] = word(m_.smem, a);
    }
    return true;
  }

  static uint32_t word(const std::vector<uint8_t> &m, uint32_t a) {
    return m[a] | m[a + 1] << 8 | m[a + 2] << 16 | uint32_t(m[a + 3]) << 24;
  }

  // One instruction at `pc`, taken apart, with its mask.
  struct Step {
    uint64_t w;
    uint32_t op, vd, row_base, col_base, valid_rows, valid_cols;
    bool use_mask;
    uint32_t field(unsigned low, unsigned bits) const { return uint32_t(w >> low & ((1ull << bits) - 1)); }
    bool mask(unsigned s, unsigned lane) const {
      return !use_mask || (row_base + s < valid_rows && col_base + lane < valid_cols);
    }
  };

  bool illegal(uint32_t pc, const Step &i) { return fail(TPU_ERROR_VPU_ILLEGAL, pc, uint32_t(i.w)); }

  uint32_t operand(const Step &i, unsigned reg, unsigned sel, unsigned s, unsigned lane) const {
    return i.field(sel, 1) ? scalar_[i.field(reg, 3)] : v_[i.field(reg, 5)].s[s][lane];
  }

  Step take_apart(uint64_t w) const {
    Step i = {w, uint32_t(w & 0xff), uint32_t(w >> 8 & 31), 0, 0, cmd_.valid_rows, cmd_.valid_cols, false};
    auto iteration = [&](uint32_t lv) { return lv == 3 ? 0 : level_[lv].iteration; };
    i.row_base = 8 * (iteration(cmd_.row_level) * cmd_.row_step + i.field(43, 2));
    i.col_base = lanes_ * (iteration(cmd_.col_level) * cmd_.col_step + i.field(45, 3));
    i.use_mask = i.field(40, 1) || i.op == TPU_VOP_SELM;
    return i;
  }

  // False at the end of the program.
  bool step(uint32_t &pc) {
    if (pc >= c_.vpu_program)
      return fail(TPU_ERROR_VPU_PC, pc, 0);
    const Step i = take_apart(program[pc]);
    if (i.op == TPU_VOP_HALT) {
      ++r_.work;
      return false;
    }
    if (i.op == TPU_VOP_LOOP || i.op == TPU_VOP_END)
      return loop(pc, i);
    if (i.op == TPU_VOP_LD || i.op == TPU_VOP_ST)
      return access(pc, i);
    if (i.op >= TPU_VOP_RL_FSUM && i.op <= TPU_VOP_RS_IARGMAX)
      return reduction(pc, i);
    if (i.op >= TPU_VOP_ROT_LANE && i.op <= TPU_VOP_BC_SUB)
      return move(pc, i);
    if (i.op == TPU_VOP_TRANSPOSE)
      return transpose(pc, i);
    if (i.op == TPU_VOP_RAND)
      return random(pc, i);
    return elementwise(pc, i);
  }

  bool loop(uint32_t &pc, const Step &i) {
    const uint32_t l = i.field(32, 3) % 4;
    const bool begin = i.op == TPU_VOP_LOOP;
    if (l == 3 || level_[l].active == begin)
      return illegal(pc, i);
    ++r_.work;
    if (begin) {
      if (cmd_.loop[l] == 0) {
        pc = i.field(48, 16);
      } else {
        level_[l] = Level{true, pc + 1, 0};
        ++pc;
      }
      return true;
    }
    for (unsigned r = 0; r < 8; ++r)
      addr_[r] += cmd_.stride[3 * r + l];
    level_[l].iteration += 1;
    if (level_[l].iteration < cmd_.loop[l]) {
      pc = level_[l].start;
    } else {
      level_[l].active = false;
      ++pc;
    }
    return true;
  }

  bool access(uint32_t &pc, const Step &i) {
    const uint32_t dtype = i.field(35, 2), itype = i.field(37, 1), col = i.field(38, 1), acc = i.field(39, 1);
    if (acc && dtype != TPU_VMEM_DTYPE_W32)
      return illegal(pc, i);
    if (dtype == TPU_VMEM_DTYPE_BF16 && itype)
      return illegal(pc, i);
    ++r_.work;
    const uint32_t size = dtype == TPU_VMEM_DTYPE_W32 ? 4 : dtype == TPU_VMEM_DTYPE_BF16 ? 2 : 1;
    const uint32_t space = acc ? TPU_SPACE_ACC : TPU_SPACE_VMEM, areg = i.field(32, 3);
    const uint32_t n = col ? 1 : lanes_;
    static const uint32_t fills[2][4] = {{0, 0x7f800000, 0xff800000, 0x3f800000},
                                         {0, 0x7fffffff, 0x80000000, 1}};
    for (unsigned s = 0; s < 8; ++s) {
      bool any = false;
      for (unsigned lane = 0; lane < lanes_; ++lane)
        any |= i.mask(s, lane);
      const uint32_t a = addr_[areg] + uint32_t(int32_t(int16_t(i.field(48, 16)))) + s * cmd_.pitch[areg];
      if (any) {
        const uint32_t d0 = pc | s << 16 | space << 24;
        if (acc) {
          if (a >= c_.acc_rows)
            return fail(TPU_ERROR_RANGE, d0, a);
        } else {
          if (a % (n * size))
            return fail(TPU_ERROR_ALIGN, d0, a);
          if (uint64_t(a) + n * size > c_.vmem_bytes)
            return fail(TPU_ERROR_RANGE, d0, a);
        }
        r_.bytes += n * size;
      }
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        const uint32_t e = col ? 0 : lane;
        if (i.op == TPU_VOP_LD) {
          uint32_t &to = v_[i.vd].s[s][lane];
          if (!i.mask(s, lane))
            to = fills[itype][i.field(41, 2)];
          else if (acc)
            to = m_.acc[a * lanes_ + e];
          else
            to = widen(&m_.vmem[a + e * size], dtype, itype);
        } else {
          if (!i.mask(s, lane) || (col && lane != 0))
            continue;
          const uint32_t x = operand(i, 13, 28, s, lane);
          if (acc)
            m_.acc[a * lanes_ + e] = x;
          else
            narrow(&m_.vmem[a + e * size], x, dtype, itype);
        }
      }
    }
    ++pc;
    return true;
  }

  bool reduction(uint32_t &pc, const Step &i) {
    ++r_.work;
    const bool over_sub = i.op >= TPU_VOP_RS_FSUM;
    const uint32_t f = i.op - (over_sub ? TPU_VOP_RS_FSUM : TPU_VOP_RL_FSUM);
    Vreg x, out;
    for (unsigned s = 0; s < 8; ++s) {
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        x.s[s][lane] = i.mask(s, lane) ? operand(i, 13, 28, s, lane) : ref_identity(f);
      }
    }
    for (unsigned j = 0; j < (over_sub ? lanes_ : 8); ++j) {
      uint32_t line[16];
      const unsigned count = over_sub ? 8 : lanes_;
      for (unsigned k = 0; k < count; ++k)
        line[k] = over_sub ? x.s[k][j] : x.s[j][k];
      const uint32_t y = ref_reduce(f, line, count);
      for (unsigned k = 0; k < count; ++k)
        (over_sub ? out.s[k][j] : out.s[j][k]) = y;
    }
    v_[i.vd] = out;
    ++pc;
    return true;
  }

  bool move(uint32_t &pc, const Step &i) {
    ++r_.work;
    const uint32_t n = i.field(29, 1) ? scalar_[i.field(18, 3)] : i.field(18, 5);
    Vreg out;
    for (unsigned s = 0; s < 8; ++s) {
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        const unsigned from_s = i.op == TPU_VOP_ROT_SUB ? (s - n) % 8 : i.op == TPU_VOP_BC_SUB ? n % 8 : s;
        const unsigned from_l = i.op == TPU_VOP_ROT_LANE  ? (lane - n) % lanes_
                                : i.op == TPU_VOP_BC_LANE ? n % lanes_
                                                          : lane;
        out.s[s][lane] = operand(i, 13, 28, from_s, from_l);
      }
    }
    v_[i.vd] = out;
    ++pc;
    return true;
  }

  bool transpose(uint32_t &pc, const Step &i) {
    const bool scalar = i.field(28, 1);
    const unsigned va = i.field(13, 5), registers = lanes_ > 8 ? 2 : 1;
    if (registers == 2 && (i.vd & 1 || (!scalar && (va & 1))))
      return illegal(pc, i);
    ++r_.work;
    Vreg out[2];
    for (unsigned r = 0; r < 8 * registers; ++r) {
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        const unsigned from = lanes_ * (r / lanes_) + lane;
        out[r / 8].s[r % 8][lane] = scalar ? scalar_[va % 8] : v_[va + from / 8].s[from % 8][r % lanes_];
      }
    }
    for (unsigned k = 0; k < registers; ++k)
      v_[i.vd + k] = out[k];
    ++pc;
    return true;
  }

  bool random(uint32_t &pc, const Step &i) {
    if (i.field(28, 2) != 3)
      return illegal(pc, i);
    ++r_.work;
    const uint32_t c = i.field(23, 3);
    uint32_t row = i.row_base, col = i.col_base;
    if (i.field(30, 1)) {
      row += scalar_[c];
      col += scalar_[(c + 1) % 8];
    }
    for (unsigned s = 0; s < 8; ++s) {
      for (unsigned lane = 0; lane < lanes_; ++lane)
        v_[i.vd].s[s][lane] =
            ref_random(scalar_[i.field(13, 3)], scalar_[i.field(18, 3)], row + s, col + lane);
    }
    ++pc;
    return true;
  }

  bool elementwise(uint32_t &pc, const Step &i) {
    Vreg out = v_[i.vd];
    for (unsigned s = 0; s < 8; ++s) {
      for (unsigned lane = 0; lane < lanes_; ++lane) {
        const uint32_t a = operand(i, 13, 28, s, lane), b = operand(i, 18, 29, s, lane),
                       c = operand(i, 23, 30, s, lane);
        uint32_t y;
        if (i.op == TPU_VOP_CONST)
          y = i.field(32, 32);
        else if (i.op == TPU_VOP_IOTA_LANE)
          y = i.col_base + lane;
        else if (i.op == TPU_VOP_IOTA_SUB)
          y = i.row_base + s;
        else if (i.op == TPU_VOP_SELM)
          y = i.mask(s, lane) ? a : b;
        else if (!ref_alu(i.op, a, b, c, y))
          return illegal(pc, i);
        out.s[s][lane] = y;
      }
    }
    ++r_.work;
    v_[i.vd] = out;
    ++pc;
    return true;
  }
};
