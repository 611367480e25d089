// SPDX-License-Identifier: MIT
//
// The systolic array: Dim x Dim processing elements, weight stationary, systolic in both
// directions, int8 x int8 -> int32 and (with Bf16) bf16 x bf16 -> f32 in the same elements.
//
// Element k of an operand row enters array row k, k cycles after element 0, and moves one column
// to the right a cycle. The partial sums move one row down a cycle. An element has two stages:
// multiply, then add to the sum from above; row 0 passes its product on (so a column adds
// k = 1 .. Dim-1 in order, with a rounding after each). A row that enters in cycle E leaves, all
// columns together, in cycle E + 2*Dim + 1, counted in cycles with en_i.
//
// Weights are in two banks; bit 16 of an operand says which bank it multiplies with and travels
// with it. A weight line is a row of the right operand (w_col_i = 0: array row w_idx_i) or, for a
// transposed right operand, a column. Line d of either kind is first needed by element 0 of the
// operand row d cycles after that row entered, and last by the row's last element Dim-1 cycles
// later: the wave runs along both axes alike, which is why the transposed operand costs nothing.
// Whoever drives this module keeps to that timing (tpu_mxu_wave).
//
// Style: all state that matters for simulation speed is flat, 32 bits wide, and computed by
// functions over whole arrays, which gcc vectorises; a module per element is fifteen times slower
// in simulation and no smaller on an FPGA (unused upper bits are trimmed). Nothing in the arrays
// is reset: a value that is not valid never leaves. One mode at a time (int8 or bf16) for the same
// reason, so row_int8_i may change only while busy_o is low.

module tpu_mxu_array #(
  parameter int unsigned Dim = 16,
  parameter bit Bf16 = 1'b1,
  localparam int unsigned ElemW = Bf16 ? 16 : 8,
  localparam int unsigned IdxW = $clog2(Dim)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 flush_i,      // forget the rows inside
  input  logic                 en_i,         // advance; while low all but the weights holds
  // Operand row.
  input  logic                 row_valid_i,
  input  logic                 row_first_i,  // first row of a tile
  input  logic                 row_last_i,   // last row of a command
  input  logic                 row_bank_i,
  input  logic                 row_int8_i,
  input  logic [Dim*ElemW-1:0] row_data_i,
  // Weight line.
  input  logic                 w_valid_i,
  input  logic                 w_bank_i,
  input  logic                 w_col_i,
  input  logic [     IdxW-1:0] w_idx_i,
  input  logic [Dim*ElemW-1:0] w_data_i,
  // Result row.
  output logic                 busy_o,       // a valid row is inside
  output logic                 int8_o,       // type of the rows inside
  output logic                 out_valid_o,
  output logic                 out_first_o,
  output logic                 out_last_o,
  output logic [   Dim*32-1:0] out_data_o
);

  localparam int unsigned Latency = 2 * Dim + 1;
  localparam int unsigned SumW = Bf16 ? 32 : 16 + IdxW;  // bits of a column's sum

  typedef logic [31:0] vec_t[Dim];
  typedef vec_t mat_t[Dim];

  mat_t w0_q, w1_q;  // weights
  mat_t a_q;         // operands, with the bank in bit 16
  mat_t p_q;         // products
  mat_t s_q;         // partial sums
  vec_t a_in, w_in;

  // ---------------------------------------------------------------------------------------------
  // Valid bits. They are the only state with a reset.

  logic [Latency-1:0] valid_q, first_q, last_q;
  logic int_q;
  logic adv;

  assign busy_o      = |valid_q;
  assign int8_o      = int_q;
  assign adv         = en_i & (row_valid_i | busy_o);
  assign out_valid_o = valid_q[Latency-1];
  assign out_first_o = first_q[Latency-1];
  assign out_last_o  = last_q[Latency-1];

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      valid_q <= '0;
    end else if (adv) begin
      valid_q <= {valid_q[Latency-2:0], row_valid_i};
    end
    if (adv) begin
      first_q <= {first_q[Latency-2:0], row_first_i};
      last_q  <= {last_q[Latency-2:0], row_last_i};
    end
    if (adv & row_valid_i) int_q <= row_int8_i;
  end

  // ---------------------------------------------------------------------------------------------
  // Edges: element k waits k cycles on the left, the result of column c waits Dim-1-c cycles at the
  // bottom. Delay lines of different length around one pointer; a line is a small memory, which
  // saves moving everything every cycle, in simulation and in registers.

  logic [IdxW-1:0] ptr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) ptr_q <= '0;
    else if (adv) ptr_q <= ptr_q + 1'b1;
  end

  for (genvar r = 0; r < Dim; r++) begin : gen_in
    logic [ElemW:0] elem;
    assign elem = {row_bank_i, row_data_i[r*ElemW+:ElemW]};
    if (r == 0) begin : gen_direct
      assign a_in[r] = operand(elem);
    end else begin : gen_delay
      (* ram_style = "distributed" *)
      logic [ElemW:0] line_q[Dim];
      always_ff @(posedge clk_i) if (adv) line_q[ptr_q] <= elem;
      assign a_in[r] = operand(line_q[ptr_q-IdxW'(r)]);
    end
    assign w_in[r] = 32'(w_data_i[r*ElemW+:ElemW]);
  end

  for (genvar c = 0; c < Dim; c++) begin : gen_out
    if (c == Dim - 1) begin : gen_direct
      assign out_data_o[c*32+:32] = s_q[Dim-1][c];
    end else begin : gen_delay
      (* ram_style = "distributed" *)
      logic [SumW-1:0] line_q[Dim];
      always_ff @(posedge clk_i) if (adv) line_q[ptr_q] <= s_q[Dim-1][c][SumW-1:0];
      assign out_data_o[c*32+:32] = 32'($signed(line_q[ptr_q-IdxW'(Dim-1-c)]));
    end
  end

  // An element as the array holds it: the bank in bit 16.
  function automatic logic [31:0] operand(input logic [ElemW:0] elem);
    return {15'd0, elem[ElemW], 16'(elem[ElemW-1:0])};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // The elements.

  // Weights with line idx replaced: array row idx, or column idx for col. (Written as a choice, not
  // with masks, so that synthesis finds a clock enable; it runs Dim times a tile.)
  function automatic mat_t put_line(input mat_t w, input vec_t line, input logic [31:0] idx,
                                    input logic col);
    mat_t o;
    for (int unsigned r = 0; r < Dim; r++) begin
      for (int unsigned c = 0; c < Dim; c++) begin
        o[r][c] = ((col ? c : r) == idx) ? (col ? line[r] : line[c]) : w[r][c];
      end
    end
    return o;
  endfunction

  // Everything one to the right, `in` enters column 0.
  function automatic mat_t shift_right(input mat_t m, input vec_t in);
    mat_t o;
    for (int unsigned r = 0; r < Dim; r++) begin
      for (int unsigned c = 1; c < Dim; c++) o[r][c] = m[r][c-1];
      o[r][0] = in[r];
    end
    return o;
  endfunction

  function automatic mat_t mul_int(input mat_t a, input mat_t x0, input mat_t x1);
    mat_t o;
    logic [31:0] k;
    /* verilator lint_off UNUSEDSIGNAL */  // 8 bits matter; narrower would not vectorise
    logic [31:0] w;
    /* verilator lint_on UNUSEDSIGNAL */
    for (int unsigned r = 0; r < Dim; r++) begin
      for (int unsigned c = 0; c < Dim; c++) begin
        k = {32{a[r][c][16]}};
        w = (x0[r][c] & ~k) | (x1[r][c] & k);
        o[r][c] = {{24{a[r][c][7]}}, a[r][c][7:0]} * {{24{w[7]}}, w[7:0]};
      end
    end
    return o;
  endfunction

  // The bits above SumW are written as copies of the sign; synthesis keeps one register of them.
  function automatic mat_t add_int(input mat_t s, input mat_t p);
    mat_t o;
    logic [SumW-1:0] t;
    for (int unsigned c = 0; c < Dim; c++) o[0][c] = p[0][c];
    for (int unsigned r = 1; r < Dim; r++) begin
      for (int unsigned c = 0; c < Dim; c++) begin
        t = SumW'(s[r-1][c]) + SumW'(p[r][c]);
        o[r][c] = 32'($signed(t));
      end
    end
    return o;
  endfunction

  function automatic mat_t mul_bf16(input mat_t a, input mat_t x0, input mat_t x1);
    mat_t o;
    logic [31:0] k, w;
    for (int unsigned r = 0; r < Dim; r++) begin
      for (int unsigned c = 0; c < Dim; c++) begin
        k = {32{a[r][c][16]}};
        w = (x0[r][c] & ~k) | (x1[r][c] & k);
        o[r][c] = tpu_fp_pkg::bf16_mul(a[r][c] & 32'hffff, w);
      end
    end
    return o;
  endfunction

  function automatic mat_t add_f32(input mat_t s, input mat_t p);
    mat_t o;
    for (int unsigned c = 0; c < Dim; c++) o[0][c] = p[0][c];
    for (int unsigned r = 1; r < Dim; r++) begin
      for (int unsigned c = 0; c < Dim; c++) o[r][c] = tpu_fp_pkg::f32_add_nosub(s[r-1][c], p[r][c]);
    end
    return o;
  endfunction

  logic [31:0] w_idx;
  assign w_idx = 32'(w_idx_i);

  // One statement per mode: if/else on one target makes Verilator 5.006 compute both.
  always_ff @(posedge clk_i) begin
    if (w_valid_i & ~w_bank_i) w0_q <= put_line(w0_q, w_in, w_idx, w_col_i);
    if (w_valid_i & w_bank_i) w1_q <= put_line(w1_q, w_in, w_idx, w_col_i);
    if (adv) a_q <= shift_right(a_q, a_in);
  end

  if (Bf16) begin : gen_pe_both
    always_ff @(posedge clk_i) begin
      if (adv & ~int_q) p_q <= mul_bf16(a_q, w0_q, w1_q);
      if (adv & int_q) p_q <= mul_int(a_q, w0_q, w1_q);
      if (adv & ~int_q) s_q <= add_f32(s_q, p_q);
      if (adv & int_q) s_q <= add_int(s_q, p_q);
    end
  end else begin : gen_pe_int
    always_ff @(posedge clk_i) begin
      if (adv) p_q <= mul_int(a_q, w0_q, w1_q);
      if (adv) s_q <= add_int(s_q, p_q);
    end
  end

endmodule
