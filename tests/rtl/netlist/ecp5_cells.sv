// SPDX-License-Identifier: MIT
//
// Simulation models of the ECP5 cells that synth_ecp5 uses, as far as it uses them: enough to run a
// synthesised block in its testbench. Registers have no initial value, so that a missing reset shows
// (Verilator fills them at random with --x-initial unique).

module LUT4 #(
  parameter logic [15:0] INIT = 16'h0
) (
  input  logic A, B, C, D,
  output logic Z
);
  assign Z = INIT[{D, C, B, A}];
endmodule

module PFUMX (
  input  logic ALUT, BLUT, C0,
  output logic Z
);
  assign Z = C0 ? ALUT : BLUT;
endmodule

module L6MUX21 (
  input  logic D0, D1, SD,
  output logic Z
);
  assign Z = SD ? D1 : D0;
endmodule

// Two bits of a carry chain. Each half: a LUT4 makes the propagate, the first four entries of its
// table the generate; INJECT cuts the carry off.
module CCU2C #(
  parameter logic [15:0] INIT0 = 16'h0,
  parameter logic [15:0] INIT1 = 16'h0,
  parameter INJECT1_0 = "YES",
  parameter INJECT1_1 = "YES"
) (
  input  logic CIN, A0, B0, C0, D0, A1, B1, C1, D1,
  output logic S0, S1, COUT
);
  localparam bit Cut0 = INJECT1_0 == "YES";
  localparam bit Cut1 = INJECT1_1 == "YES";
  logic p0, p1, mid;
  assign p0   = INIT0[{D0, C0, B0, A0}];
  assign p1   = INIT1[{D1, C1, B1, A1}];
  assign S0   = p0 ^ (CIN & !Cut0);
  assign mid  = p0 ? CIN : (INIT0[{2'b0, B0, A0}] & !Cut0);
  assign S1   = p1 ^ (mid & !Cut1);
  assign COUT = p1 ? mid : (INIT1[{2'b0, B1, A1}] & !Cut1);
endmodule

module TRELLIS_FF #(
  parameter GSR = "ENABLED",
  parameter [127:0] CEMUX = "1",
  parameter CLKMUX = "CLK",
  parameter LSRMUX = "LSR",
  parameter SRMODE = "LSR_OVER_CE",
  parameter REGSET = "RESET"
) (
  input  logic CLK, CE, LSR, DI,
  output logic Q
);
  logic ce, lsr;
  assign ce  = CEMUX == "1" ? 1'b1 : CEMUX == "0" ? 1'b0 : CEMUX == "INV" ? ~CE : CE;
  assign lsr = LSRMUX == "INV" ? ~LSR : LSR;
  always_ff @(posedge CLK) begin
    if (lsr) Q <= REGSET == "SET";
    else if (ce) Q <= DI;
  end
  // The project has synchronous resets and one clock edge only.
  if (SRMODE == "ASYNC" || CLKMUX != "CLK" || GSR == "ENABLED") $error("TRELLIS_FF mode");
endmodule

module TRELLIS_DPR16X4 #(
  parameter WCKMUX = "WCK",
  parameter WREMUX = "WRE",
  parameter [63:0] INITVAL = 64'h0
) (
  input  logic [3:0] DI, WAD, RAD,
  input  logic       WRE, WCK,
  output logic [3:0] DO
);
  logic [3:0] mem[16];
  assign DO = mem[RAD];
  always_ff @(posedge WCK) if (WREMUX == "INV" ? ~WRE : WRE) mem[WAD] <= DI;
  if (WCKMUX != "WCK") $error("TRELLIS_DPR16X4 mode");
endmodule

// The multiplier without its registers.
module MULT18X18D #(
  parameter REG_INPUTA_CLK = "NONE",
  parameter REG_INPUTB_CLK = "NONE",
  parameter REG_PIPELINE_CLK = "NONE",
  parameter REG_OUTPUT_CLK = "NONE"
) (
  input  logic
    A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0,
    B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0,
    C17, C16, C15, C14, C13, C12, C11, C10, C9, C8, C7, C6, C5, C4, C3, C2, C1, C0,
    SIGNEDA, SIGNEDB, SOURCEA, SOURCEB,
  output logic
    P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
    P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0
);
  logic signed [18:0] a, b;
  logic signed [37:0] p;
  assign a = {SIGNEDA & A17,
    A17, A16, A15, A14, A13, A12, A11, A10, A9, A8, A7, A6, A5, A4, A3, A2, A1, A0};
  assign b = {SIGNEDB & B17,
    B17, B16, B15, B14, B13, B12, B11, B10, B9, B8, B7, B6, B5, B4, B3, B2, B1, B0};
  assign p = a * b;
  assign {
    P35, P34, P33, P32, P31, P30, P29, P28, P27, P26, P25, P24, P23, P22, P21, P20, P19, P18,
    P17, P16, P15, P14, P13, P12, P11, P10, P9, P8, P7, P6, P5, P4, P3, P2, P1, P0} = p[35:0];
  if (REG_INPUTA_CLK != "NONE" || REG_INPUTB_CLK != "NONE" || REG_PIPELINE_CLK != "NONE"
      || REG_OUTPUT_CLK != "NONE") $error("MULT18X18D mode");
endmodule
