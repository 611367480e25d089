// SPDX-License-Identifier: MIT
//
// Vector instructions by name, and random programs.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "harness.h"
#include "tpu_regs.h"

struct Ins {
  uint64_t w = 0;
  explicit Ins(uint32_t op) : w(op) {}
  Ins &put(unsigned low, uint64_t v) {
    w |= v << low;
    return *this;
  }
  Ins &d(unsigned v) { return put(8, v); }
  Ins &a(unsigned v) { return put(13, v); }
  Ins &b(unsigned v) { return put(18, v); }
  Ins &c(unsigned v) { return put(23, v); }
  Ins &sa(unsigned v) { return put(13, v).put(28, 1); } // scalar operands
  Ins &sb(unsigned v) { return put(18, v).put(29, 1); }
  Ins &sc(unsigned v) { return put(23, v).put(30, 1); }
  Ins &areg(unsigned v) { return put(32, v); }
  Ins &level(unsigned v) { return put(32, v); }
  Ins &dtype(unsigned v) { return put(35, v); }
  Ins &itype(unsigned v) { return put(37, v); }
  Ins &col(unsigned v = 1) { return put(38, v); }
  Ins &acc(unsigned v = 1) { return put(39, v); }
  Ins &masked(unsigned v = 1) { return put(40, v); }
  Ins &fill(unsigned v) { return put(41, v); }
  Ins &rgrp(unsigned v) { return put(43, v); }
  Ins &cgrp(unsigned v) { return put(45, v); }
  Ins &offset(int v) { return put(48, uint16_t(v)); }
  Ins &imm(uint32_t v) { return put(32, v); }
  operator uint64_t() const { return w; }
};

inline const std::vector<uint32_t> &alu_ops() {
  static const std::vector<uint32_t> ops = [] {
    std::vector<uint32_t> v;
    for (uint32_t op = TPU_VOP_CONST; op <= TPU_VOP_F2BF; ++op) {
      uint32_t y;
      if (op <= TPU_VOP_SELM || ref_alu(op, 0, 0, 0, y))
        v.push_back(op);
    }
    return v;
  }();
  return ops;
}

inline unsigned operands(uint32_t op) {
  if (op == TPU_VOP_CONST || op == TPU_VOP_IOTA_LANE || op == TPU_VOP_IOTA_SUB)
    return 0;
  if (op == TPU_VOP_MOV || op >= TPU_VOP_I2F)
    return 1;
  if (op == TPU_VOP_SEL || op == TPU_VOP_FMA)
    return 3;
  return 2;
}

// Operands that meet every branch of the arithmetic more often than random bits do.
inline uint32_t special_word(Random &r) {
  static const uint32_t table[] = {
      0,          0x80000000, 1,          0x80000001, 0x007fffff, 0x807fffff, 0x00800000, 0x80800000,
      0x00800001, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x7f7fffff, 0xff7fffff, 0x7f800000,
      0xff800000, 0x7fc00000, 0xffc00000, 0x7f800001, 0xff800001, 0x7fffffff, 0xffffffff, 0x4b000000,
      0x4b7fffff, 0x4effffff, 0x4f000000, 0xcf000000, 0xcf000001, 0x4f7fffff, 0x3f000000, 0xbf000000,
      0x3effffff, 0x3fc00000, 0x40200000, 0x437f0000, 0x43000000, 0xc3008000, 0x42ff0000, 0x3f808000,
      0x3f818000, 0x7f7f8000, 0x7f7f7fff, 2,          0xfffffffe, 127,        128,        0xffffff80,
      0xffffff7f, 255,        256,        0x7ffffffe, 0x01000001, 0x01000003, 0xfeffffff, 31,
      32};
  const unsigned n = sizeof table / sizeof *table;
  switch (r.below(8)) {
  case 0:
    return table[r.below(n)];
  case 1:
    return table[r.below(n)] ^ (1u << r.below(32));
  case 2:
    return (r.next() & 0x807fffff) | (r.below(6) << 23); // near the least
  case 3:
    return (r.next() & 0x807fffff) | ((250 + r.below(6)) << 23); // near the greatest
  case 4:
    return (r.next() & 0x807fffff) | ((120 + r.below(40)) << 23);
  case 5:
    return (r.next() & 0x80000000) | ((125 + r.below(4)) << 23) | (r.next() & 0x600000);
  case 6:
    return uint32_t(int32_t(r.below(600)) - 300);
  default:
    return r.next();
  }
}

// A random program and its command.
class RandomProgram {
public:
  RandomProgram(const tpu_config &c, Random &r) : c_(c), r_(r) {}

  std::vector<uint64_t> code;
  Command cmd;
  unsigned length = 0;

  void make(bool with_faults) {
    faults_ = with_faults;
    code.assign(c_.vpu_program, 0);
    cmd = Command();
    const unsigned first = r_.chance(10) ? c_.vpu_program - 200 : r_.below(c_.vpu_program - 220);
    pc_ = first;
    cmd.entry = first;
    command();
    registers();
    const unsigned blocks = 1 + r_.below(4);
    for (unsigned i = 0; i < blocks; ++i)
      block(0, 7);
    for (unsigned v : pool_) {
      emit(Ins(TPU_VOP_ST).a(v).areg(6).offset(int(v) * 8 * row_bytes(4) % 0x4000));
    }
    if (faults_ && r_.chance(15)) {
      const uint32_t bad[] = {3, 7, 10, 0x15 + 1, 0x2a, 0x3a, 0x46, 0x54, 0x75, 0x7f, 0x8f, 0x91, 0xff, 0xa0};
      code[first + r_.below(pc_ - first)] =
          r_.chance(60) ? Ins(bad[r_.below(14)]).d(r_.below(32)).w : (uint64_t(r_.next()) << 32 | r_.next());
    }
    if (!(faults_ && r_.chance(3)))
      emit(Ins(TPU_VOP_HALT));
    length = pc_ - first;
    first_ = first;
  }
  unsigned first() const { return first_; }

private:
  const tpu_config &c_;
  Random &r_;
  bool faults_ = false;
  unsigned pc_ = 0, first_ = 0;
  std::vector<unsigned> pool_;
  uint32_t align_[8] = {}; // of an address register, in bytes; 0: ACC

  void emit(const Ins &i) {
    if (pc_ < code.size())
      code[pc_++] = i;
  }
  uint32_t row_bytes(unsigned size) const { return c_.lanes * size; }
  unsigned reg() { return pool_[r_.below(unsigned(pool_.size()))]; }
  int small(int n) { return int(r_.below(2 * n + 1)) - n; }

  void command() {
    for (auto &l : cmd.loop)
      l = r_.below(4);
    cmd.row_level = r_.below(4);
    cmd.col_level = r_.below(4);
    cmd.row_step = r_.below(3);
    cmd.col_step = r_.below(3);
    cmd.valid_rows = r_.chance(10) ? r_.next() : r_.below(40);
    cmd.valid_cols = r_.chance(10) ? r_.next() : r_.below(5 * c_.lanes);
    for (unsigned i = 0; i < 8; ++i) {
      cmd.scalar[i] = special_word(r_);
      if (r_.chance(25)) {
        cmd.scalar_mode |= 1 << i;
        cmd.scalar[i] = 4 * r_.below(c_.smem_bytes / 4);
        if (faults_ && r_.chance(1))
          cmd.scalar[i] += r_.chance(50) ? r_.below(4) : c_.smem_bytes;
      }
    }
    for (unsigned i = 0; i < 8; ++i) {
      const uint32_t aligns[] = {row_bytes(4), row_bytes(2), row_bytes(1), 4, 2, 1, row_bytes(4), 0};
      align_[i] = aligns[i == 6 ? 0 : i == 7 ? 7 : r_.below(8)];
      const bool acc = align_[i] == 0;
      const uint32_t unit = acc ? 1 : align_[i];
      // Small windows, so that loads meet stores.
      const uint32_t base = acc ? 64 + r_.below(16) : 0x8000 + r_.below(12) * unit;
      cmd.addr[i] = base;
      cmd.pitch[i] = uint32_t(small(3)) * unit;
      if (i == 6) { // for the stores at the end: a place of their own
        cmd.addr[i] = c_.vmem_bytes / 2;
        cmd.pitch[i] = unit;
      }
      for (unsigned l = 0; l < 3; ++l)
        cmd.stride[3 * i + l] = uint32_t(small(2)) * unit;
      if (faults_ && r_.chance(4)) {
        if (r_.chance(40))
          cmd.addr[i] = (acc ? c_.acc_rows : c_.vmem_bytes) - r_.below(20) * unit;
        else if (r_.chance(30))
          cmd.addr[i] = uint32_t(-small(8)) * unit;
        else if (r_.chance(50))
          cmd.addr[i] += r_.below(64);
        else
          cmd.pitch[i] = r_.next();
      }
    }
  }

  void registers() {
    pool_.clear();
    const unsigned n = 2 + r_.below(r_.chance(50) ? 4 : 12);
    for (unsigned i = 0; i < n; ++i) {
      pool_.push_back(r_.below(32));
      if (r_.chance(40))
        pool_.push_back(pool_.back() ^ 1); // the other one of a pair
    }
    for (unsigned v : pool_) {
      switch (r_.below(4)) {
      case 0:
        emit(Ins(TPU_VOP_CONST).d(v).imm(special_word(r_)));
        break;
      case 1:
        emit(Ins(TPU_VOP_IOTA_LANE).d(v));
        break;
      case 2:
        emit(Ins(TPU_VOP_MOV).d(v).sa(r_.below(8)));
        break;
      default:
        emit(Ins(TPU_VOP_LD).d(v).areg(6).offset(int(r_.below(16) * row_bytes(4))));
        break;
      }
    }
  }

  void block(unsigned depth, unsigned free_levels) {
    if (depth < 3 && free_levels && r_.chance(60)) {
      unsigned l;
      do
        l = r_.below(3);
      while (!(free_levels >> l & 1));
      const unsigned loop = pc_;
      emit(Ins(TPU_VOP_LOOP).level(l + (r_.chance(20) ? 4 : 0)));
      const unsigned parts = 1 + r_.below(2);
      for (unsigned i = 0; i < parts; ++i)
        block(depth + 1, free_levels & ~(1u << l));
      emit(Ins(TPU_VOP_END).level(l));
      if (loop < code.size())
        code[loop] |= uint64_t(pc_) << 48;
      if (faults_ && r_.chance(1))
        emit(Ins(TPU_VOP_END).level(r_.below(4)));
      return;
    }
    const unsigned n = 1 + r_.below(8);
    for (unsigned i = 0; i < n && pc_ + 40 < code.size(); ++i)
      instruction();
  }

  void instruction() {
    const unsigned kind = r_.below(100);
    if (kind < 25)
      memory(TPU_VOP_LD);
    else if (kind < 45)
      memory(TPU_VOP_ST);
    else if (kind < 58)
      reduction();
    else if (kind < 70)
      cross();
    else
      alu();
  }

  void memory(uint32_t op) {
    unsigned ar;
    do
      ar = r_.below(8);
    while (ar == 6);
    Ins i(op);
    i.d(reg());
    if (op == TPU_VOP_ST && r_.chance(15))
      i.sa(r_.below(8));
    else
      i.a(reg());
    i.areg(ar).masked(r_.chance(50)).fill(r_.below(4)).rgrp(r_.below(4)).cgrp(r_.below(8));
    if (align_[ar] == 0) {
      i.acc().col(r_.chance(20)).itype(r_.below(2)).offset(small(8));
    } else {
      // Any access that is at most as wide as the register's alignment.
      for (;;) {
        const unsigned dtype = r_.below(4), col = r_.below(2);
        const uint32_t size = dtype == TPU_VMEM_DTYPE_W32 ? 4 : dtype == TPU_VMEM_DTYPE_BF16 ? 2 : 1;
        const uint32_t bytes = col ? size : row_bytes(size);
        if (bytes > align_[ar] && !(faults_ && r_.chance(1)))
          continue;
        i.dtype(dtype).col(col).offset(small(6) * int(bytes));
        if (dtype != TPU_VMEM_DTYPE_BF16 || (faults_ && r_.chance(1)))
          i.itype(r_.below(2));
        break;
      }
    }
    emit(i);
  }

  void operand_fields(Ins &i) {
    if (r_.chance(20))
      i.sa(r_.below(8));
    else
      i.a(reg());
    if (r_.chance(20))
      i.sb(r_.below(8));
    else
      i.b(reg());
    if (r_.chance(20))
      i.sc(r_.below(8));
    else
      i.c(reg());
  }

  void reduction() {
    Ins i(r_.chance(50) ? TPU_VOP_RL_FSUM + r_.below(16) : TPU_VOP_RL_FSUM + 8 * r_.below(2));
    i.d(reg());
    if (r_.chance(10))
      i.sa(r_.below(8));
    else
      i.a(reg());
    emit(i.masked(r_.chance(60)).rgrp(r_.below(4)).cgrp(r_.below(8)));
  }

  // Moves across lanes, transpositions (pairs of 16 lanes are even, as a rule), random bits.
  void cross() {
    const unsigned pick = r_.below(10);
    const bool pair = c_.lanes > 8 && !(faults_ && r_.chance(2));
    if (pick == 0) {
      Ins i(TPU_VOP_RAND);
      i.d(reg()).sa(r_.below(8)).sb(r_.below(8)).rgrp(r_.below(4)).cgrp(r_.below(8));
      emit(r_.chance(50) ? i.sc(r_.below(8)) : i.c(r_.below(32)));
      return;
    }
    Ins i(pick < 5 ? TPU_VOP_TRANSPOSE : TPU_VOP_ROT_LANE + r_.below(4));
    if (pick < 5 && pair) {
      // Both of a pair must have been written.
      const unsigned d = reg() & ~1u, a = reg() & ~1u;
      for (unsigned v : {d, d + 1, a, a + 1}) {
        if (std::find(pool_.begin(), pool_.end(), v) == pool_.end())
          emit(Ins(TPU_VOP_MOV).d(v).sa(r_.below(8)));
      }
      emit(i.d(d).a(a).masked(r_.chance(30)));
      return;
    }
    i.d(reg()).masked(r_.chance(30));
    if (r_.chance(10))
      i.sa(r_.below(8));
    else
      i.a(reg());
    if (r_.chance(30))
      i.sb(r_.below(8));
    else
      i.b(r_.below(32));
    emit(i);
  }

  void alu() {
    const auto &ops = alu_ops();
    const uint32_t op = r_.chance(25) ? TPU_VOP_EXP2 + r_.below(6) : ops[r_.below(unsigned(ops.size()))];
    Ins i(op);
    i.d(reg());
    operand_fields(i);
    if (op == TPU_VOP_CONST)
      i.imm(special_word(r_));
    else
      i.rgrp(r_.below(4)).cgrp(r_.below(8)).masked(r_.chance(30));
    emit(i);
  }
};
