// SPDX-License-Identifier: MIT
//
// A clock for logic that changes only in cycles that can be told beforehand.
//
// It is for simulation: what hangs on a clock that does not tick is not evaluated. en_i must be high in
// every cycle in which a register behind clk_o would change; it may depend on anything that is settled
// while the clock is low. For synthesis the clock passes, which is the same machine by that rule, and an
// FPGA has better uses for its clock buffers.

module tpu_clock_gate (
  input  logic clk_i,
  input  logic en_i,
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
