// SPDX-License-Identifier: MIT
//
// Sizes and types that the parts of the vector unit share.

/* verilator lint_off UNUSEDPARAM */
package tpu_vpu_pkg;
  import tpu_config_pkg::*;

  // VMEM: a row of 32-bit lanes is Words words side by side, or a part of one word.
  localparam int unsigned WordBits = VmemWordBytes * 8;
  localparam int unsigned WordAddrBits = $clog2(VmemBytes / VmemWordBytes);
  localparam int unsigned Words = (Lanes * 4 > VmemWordBytes) ? (Lanes * 4 / VmemWordBytes) : 1;

  localparam int unsigned AccRowBits = $clog2(AccRows);
  localparam int unsigned SmemWordBits = HbmPortBytes * 8;
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes);

  // One sublane of a VREG: lane l is bits [32 l +: 32].
  typedef logic [Lanes*32-1:0] row_t;
endpackage
/* verilator lint_on UNUSEDPARAM */
