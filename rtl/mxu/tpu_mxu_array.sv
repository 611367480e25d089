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
// Style: all state that matters for simulation speed is flat, 32 bits wide, and computed by loops
// over whole arrays, which gcc vectorises; a module per element is fifteen times slower in
// simulation and no smaller on an FPGA (unused upper bits are trimmed). The elements belong to one
// block, which updates them in place (see there). Nothing in the arrays is reset: a value that is
// not valid never leaves. One mode at a time (int8 or bf16) for the same reason, so row_int8_i may
// change only while busy_o is low.

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
  typedef vec_t sums_t[Dim-1];

  mat_t  w0_q, w1_q;  // weights
  mat_t  a_q;         // operands, with the bank in bit 16
  mat_t  p_q;         // products
  sums_t s_q;         // partial sums, all rows but the last
  vec_t  bottom_q;    // of the last row
  vec_t  a_in, w_in;

  typedef logic [31:0] wide_t[Dim+1];
  wide_t wide[Dim];  // no register: see below

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
      assign out_data_o[c*32+:32] = bottom_q[c];
    end else begin : gen_delay
      (* ram_style = "distributed" *)
      logic [SumW-1:0] line_q[Dim];
      always_ff @(posedge clk_i) if (adv) line_q[ptr_q] <= bottom_q[c][SumW-1:0];
      assign out_data_o[c*32+:32] = 32'($signed(line_q[ptr_q-IdxW'(Dim-1-c)]));
    end
  end

  // An element as the array holds it: the bank in bit 16.
  function automatic logic [31:0] operand(input logic [ElemW:0] elem);
    return {15'd0, elem[ElemW], 16'(elem[ElemW-1:0])};
  endfunction

  // ---------------------------------------------------------------------------------------------
  // The elements.

  /* verilator lint_off UNUSEDSIGNAL */  // some bits matter; narrower would not vectorise
  function automatic logic [31:0] mul_int(input logic [31:0] a, input logic [31:0] w);
    return {{24{a[7]}}, a[7:0]} * {{24{w[7]}}, w[7:0]};
  endfunction

  // The weight of the bank that an operand names.
  function automatic logic [31:0] weight(input logic [31:0] a, input logic [31:0] x0,
                                         input logic [31:0] x1);
    logic [31:0] k;
    k = {32{a[16]}};
    return (x0 & ~k) | (x1 & k);
  endfunction

  // The bits above SumW are written as copies of the sign; synthesis keeps one register of them.
  function automatic logic [31:0] add_int(input logic [31:0] s, input logic [31:0] p);
    logic [SumW-1:0] t;
    t = SumW'(s) + SumW'(p);
    return 32'($signed(t));
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // The last row's sums.
  function automatic vec_t bottom_f32();
    for (int unsigned c = 0; c < Dim; c++) begin
      bottom_f32[c] = tpu_fp_pkg::f32_add_nosub(s_q[Dim-2][c], p_q[Dim-1][c]);
    end
  endfunction

  function automatic vec_t bottom_int();
    for (int unsigned c = 0; c < Dim; c++) begin
      bottom_int[c] = add_int(s_q[Dim-2][c], p_q[Dim-1][c]);
    end
  endfunction

  logic [31:0] w_idx;
  assign w_idx = 32'(w_idx_i);

  // The next state of an element comes from the old state of itself, of the one above and of the
  // one on the left. So this block goes from the last stage to the first and from the bottom up, and
  // overwrites what nobody reads any more, instead of making a new matrix and copying it (with its
  // operands and results, five copies an edge cost as much simulation time as the additions). It
  // alone reads and writes these variables, so that blocking assignments are as safe here as others;
  // what leaves, bottom_q, is assigned like any register. Modes in loops of their own, without an
  // `if` inside.
  /* verilator lint_off BLKSEQ */
  always_ff @(posedge clk_i) begin
    // Sums.
    if (Bf16 && adv && !int_q) begin
      bottom_q <= bottom_f32();
      for (int unsigned r = Dim - 2; r > 0; r--) begin
        for (int unsigned c = 0; c < Dim; c++) begin
          s_q[r][c] = tpu_fp_pkg::f32_add_nosub(s_q[r-1][c], p_q[r][c]);
        end
      end
    end
    if (adv && (int_q || !Bf16)) begin
      bottom_q <= bottom_int();
      for (int unsigned r = Dim - 2; r > 0; r--) begin
        for (int unsigned c = 0; c < Dim; c++) s_q[r][c] = add_int(s_q[r-1][c], p_q[r][c]);
      end
    end
    if (adv) s_q[0] = p_q[0];

    // Products.
    if (Bf16 && adv && !int_q) begin
      for (int unsigned r = 0; r < Dim; r++) begin
        for (int unsigned c = 0; c < Dim; c++) begin
          p_q[r][c] = tpu_fp_pkg::bf16_mul(a_q[r][c] & 32'hffff,
                                           weight(a_q[r][c], w0_q[r][c], w1_q[r][c]));
        end
      end
    end
    if (adv && (int_q || !Bf16)) begin
      for (int unsigned r = 0; r < Dim; r++) begin
        for (int unsigned c = 0; c < Dim; c++) begin
          p_q[r][c] = mul_int(a_q[r][c], weight(a_q[r][c], w0_q[r][c], w1_q[r][c]));
        end
      end
    end

    // Operands: everything one to the right, by way of a matrix with a column more: gcc turns these
    // loops into vector code, but not one that moves a row within itself.
    if (adv) begin
      for (int unsigned r = 0; r < Dim; r++) begin
        wide[r][0] = a_in[r];
        for (int unsigned c = 0; c < Dim; c++) wide[r][c+1] = a_q[r][c];
      end
      for (int unsigned r = 0; r < Dim; r++) begin
        for (int unsigned c = 0; c < Dim; c++) a_q[r][c] = wide[r][c];
      end
    end

    // Weights: array row w_idx, or column w_idx. (Written as a choice, not with masks, so that
    // synthesis finds a clock enable; it runs Dim times a tile.)
    if (w_valid_i && !w_bank_i) begin
      for (int unsigned r = 0; r < Dim; r++) begin
        for (int unsigned c = 0; c < Dim; c++) begin
          if ((w_col_i ? c : r) == w_idx) w0_q[r][c] = w_col_i ? w_in[r] : w_in[c];
        end
      end
    end
    if (w_valid_i && w_bank_i) begin
      for (int unsigned r = 0; r < Dim; r++) begin
        for (int unsigned c = 0; c < Dim; c++) begin
          if ((w_col_i ? c : r) == w_idx) w1_q[r][c] = w_col_i ? w_in[r] : w_in[c];
        end
      end
    end
  end
  /* verilator lint_on BLKSEQ */

endmodule
