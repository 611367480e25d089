// SPDX-License-Identifier: MIT
//
// A clock that stands still while the unit is idle.
//
// For simulation: blocks on a clock that does not tick are not evaluated, so an idle unit costs a
// test of one bit. The latch is open while the clock is low, as in an integrated clock gate, so the
// enable may be any function of registers of clk_i. For synthesis the clock passes: nothing in an
// idle unit changes, so the two are the same machine, and FPGAs have better uses for clock buffers.

module tpu_vpu_clock_gate (
  input  logic clk_i,
  input  logic en_i,   // the next rising edge is needed
  output logic clk_o
);
`ifdef SYNTHESIS
  logic unused_en;
  assign unused_en = en_i;
  assign clk_o = clk_i;
`else
  logic en_q;
  always_latch if (!clk_i) en_q = en_i;
  assign clk_o = clk_i & en_q;
`endif
endmodule
