// SPDX-License-Identifier: MIT
//
// The vector registers: one bank a sublane, each with one read and one write port.
//
// Six readers and four writers share them, each at most one sublane a cycle. As every pipe walks
// through the sublanes in order, two of them that meet in a bank meet once: the loser is one bank
// behind from then on. The ALU never loses; it reads its operands in three successive cycles (b and
// c follow one and two banks behind a), so one read port a bank is enough for all. The transcendental
// pipe comes next, then reductions, then memory. On an FPGA a bank
// is distributed RAM, as wide as a row and Vregs deep; with three write ports in one memory it would
// take every register of the chip.
//
// A read granted in cycle t delivers in t+2; the ALU's three reads of t, t+1 and t+2 deliver a and b
// in t+3 and c in t+4, where the ALU uses them. Data that is not read stays. A read and a write of
// one register and sublane never meet (the scoreboard sees to that).

module tpu_vpu_vreg
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
(
  input  logic  clk_i,

  // Readers, highest priority first. The three of the ALU are never in one bank and always granted.
  input  logic  alu_a_i,
  input  vreg_t alu_a_vreg_i,
  input  sub_t  alu_a_sub_i,
  input  logic  alu_b_i,
  input  vreg_t alu_b_vreg_i,
  input  sub_t  alu_b_sub_i,
  input  logic  alu_c_i,
  input  vreg_t alu_c_vreg_i,
  input  sub_t  alu_c_sub_i,
  input  logic  eup_i,
  input  vreg_t eup_vreg_i,
  input  sub_t  eup_sub_i,
  output logic  eup_gnt_o,
  input  logic  red_i,
  input  vreg_t red_vreg_i,
  input  sub_t  red_sub_i,
  output logic  red_gnt_o,
  input  logic  st_i,
  input  vreg_t st_vreg_i,
  input  sub_t  st_sub_i,
  output logic  st_gnt_o,

  output row_t  alu_a_data_o,
  output row_t  alu_b_data_o,
  output row_t  alu_c_data_o,
  output row_t  eup_data_o,
  output row_t  red_data_o,
  output row_t  st_data_o,

  // Writers, highest priority first.
  input  logic  alu_wr_i,
  input  vreg_t alu_wr_vreg_i,
  input  sub_t  alu_wr_sub_i,
  input  row_t  alu_wr_data_i,
  input  logic  eup_wr_i,
  input  vreg_t eup_wr_vreg_i,
  input  sub_t  eup_wr_sub_i,
  input  row_t  eup_wr_data_i,
  output logic  eup_wr_gnt_o,
  input  logic  red_wr_i,
  input  vreg_t red_wr_vreg_i,
  input  sub_t  red_wr_sub_i,
  input  row_t  red_wr_data_i,
  output logic  red_wr_gnt_o,
  input  logic  ld_wr_i,
  input  vreg_t ld_wr_vreg_i,
  input  sub_t  ld_wr_sub_i,
  input  row_t  ld_wr_data_i,
  output logic  ld_wr_gnt_o
);

  function automatic logic [7:0] bank(input logic on, input sub_t sub);
    return 8'(on) << sub;
  endfunction

  logic [7:0] rd_a, rd_b, rd_c, rd_eup, rd_red, rd_st, rd_alu, rd_all, wr_alu, wr_eup, wr_red, wr_all;
  row_t data_q[8];

  assign rd_a = bank(alu_a_i, alu_a_sub_i);
  assign rd_b = bank(alu_b_i, alu_b_sub_i);
  assign rd_c = bank(alu_c_i, alu_c_sub_i);
  assign rd_alu = rd_a | rd_b | rd_c;
  assign eup_gnt_o = ~rd_alu[eup_sub_i];
  assign rd_eup = bank(eup_i & eup_gnt_o, eup_sub_i);
  assign red_gnt_o = ~(rd_alu[red_sub_i] | rd_eup[red_sub_i]);
  assign rd_red = bank(red_i & red_gnt_o, red_sub_i);
  assign st_gnt_o = ~(rd_alu[st_sub_i] | rd_eup[st_sub_i] | rd_red[st_sub_i]);
  assign rd_st = bank(st_i & st_gnt_o, st_sub_i);
  assign rd_all = rd_alu | rd_eup | rd_red | rd_st;

  assign wr_alu = bank(alu_wr_i, alu_wr_sub_i);
  assign eup_wr_gnt_o = ~wr_alu[eup_wr_sub_i];
  assign wr_eup = bank(eup_wr_i & eup_wr_gnt_o, eup_wr_sub_i);
  assign red_wr_gnt_o = ~(wr_alu[red_wr_sub_i] | wr_eup[red_wr_sub_i]);
  assign wr_red = bank(red_wr_i & red_wr_gnt_o, red_wr_sub_i);
  assign ld_wr_gnt_o = ~(wr_alu[ld_wr_sub_i] | wr_eup[ld_wr_sub_i] | wr_red[ld_wr_sub_i]);
  assign wr_all = wr_alu | wr_eup | wr_red | bank(ld_wr_i & ld_wr_gnt_o, ld_wr_sub_i);

  for (genvar b = 0; b < 8; b++) begin : gen_bank
    (* no_rw_check, ram_style = "distributed" *) row_t mem_q[Vregs];

    always_ff @(posedge clk_i) begin
      if (rd_all[b]) begin : read
        vreg_t v;
        v = rd_a[b] ? alu_a_vreg_i : rd_b[b] ? alu_b_vreg_i : rd_c[b] ? alu_c_vreg_i
            : rd_eup[b] ? eup_vreg_i : rd_red[b] ? red_vreg_i : st_vreg_i;
        data_q[b] <= mem_q[v];
      end
    end

    always_ff @(posedge clk_i) begin
      if (wr_all[b]) begin : write
        row_t  d;
        vreg_t v;
        v = wr_alu[b] ? alu_wr_vreg_i : wr_eup[b] ? eup_wr_vreg_i : wr_red[b] ? red_wr_vreg_i : ld_wr_vreg_i;
        if (wr_alu[b]) d = alu_wr_data_i;
        else if (wr_eup[b]) d = eup_wr_data_i;
        else if (wr_red[b]) d = red_wr_data_i;
        else d = ld_wr_data_i;
        mem_q[v] <= d;
      end
    end
  end

  // From the banks to the readers.
  logic a1_q, a2_q, b1_q, c1_q, eup1_q, red1_q, st1_q;
  sub_t a1_sub_q, b1_sub_q, c1_sub_q, eup1_sub_q, red1_sub_q, st1_sub_q;
  row_t a2_data_q;

  always_ff @(posedge clk_i) begin
    a1_q       <= alu_a_i;
    a2_q       <= a1_q;
    b1_q       <= alu_b_i;
    c1_q       <= alu_c_i;
    eup1_q     <= eup_i & eup_gnt_o;
    red1_q     <= red_i & red_gnt_o;
    st1_q      <= st_i & st_gnt_o;
    a1_sub_q   <= alu_a_sub_i;
    b1_sub_q   <= alu_b_sub_i;
    c1_sub_q   <= alu_c_sub_i;
    eup1_sub_q <= eup_sub_i;
    red1_sub_q <= red_sub_i;
    st1_sub_q  <= st_sub_i;
  end

  always_ff @(posedge clk_i) if (a1_q) a2_data_q <= data_q[a1_sub_q];
  always_ff @(posedge clk_i) if (a2_q) alu_a_data_o <= a2_data_q;
  always_ff @(posedge clk_i) if (b1_q) alu_b_data_o <= data_q[b1_sub_q];
  always_ff @(posedge clk_i) if (c1_q) alu_c_data_o <= data_q[c1_sub_q];
  always_ff @(posedge clk_i) if (eup1_q) eup_data_o <= data_q[eup1_sub_q];
  always_ff @(posedge clk_i) if (red1_q) red_data_o <= data_q[red1_sub_q];
  always_ff @(posedge clk_i) if (st1_q) st_data_o <= data_q[st1_sub_q];

endmodule
