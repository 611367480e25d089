// SPDX-License-Identifier: MIT
//
// The transcendental pipe (EUP): EXP2, LOG2, RCP, RSQRT in one trip, TANH and SIGMOID in two. EupLanes lanes
// at once, so that a sublane takes Beats = Lanes / EupLanes cycles.
//
//   cycle 0  read a        the scoreboard's go
//         2  X1            to fixed point: place in the table, exponent, factor
//         3  X2            the table's row
//         4  X3            quadratic
//         5  X4            times the factor, plus one, plus the exponent
//         6  X5            normalise and round; what is no number
//         7  into the queue of results; 8: written
//
// What needs a second trip goes back to X1 when it leaves X5, Trip cycles after it entered. Sublanes of such
// operations start every 2 Beats cycles, and Trip is Beats modulo that (a few stages of delay see to it), so
// second trips fall between first trips. res_q has the cycles in which they will; an operation of one trip
// waits until there are none, so that it overtakes nothing.
//
// As in the reduction pipe, a sublane is read only if the queue has room for its result, so nothing in the
// pipe ever stalls.

module tpu_vpu_eup
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_row_pkg::Always;
  import tpu_vpu_row_eup_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  input  logic  flush_i,
  output logic  busy_o,        // needs its clock

  input  logic  new_i,         // take ins_i into new_slot_i
  input  slot_t new_slot_i,
  // A decoded instruction has the fields of every pipe.
  /* verilator lint_off UNUSEDSIGNAL */
  input  ins_t  ins_i,
  /* verilator lint_on UNUSEDSIGNAL */

  // Scoreboard.
  output slot_t slot_o,
  output sub_t  sub_o,
  input  logic  ok_i,
  output logic  rd_o,          // slot_o, sub_o is read
  input  logic  wr_ok_i,
  output logic  wr_o,
  output slot_t wr_slot_o,
  output sub_t  wr_sub_o,

  // Registers: read data two cycles after the grant.
  output logic  a_o,
  output vreg_t a_vreg_o,
  input  logic  a_gnt_i,
  input  row_t  a_data_i,
  output logic  wr_valid_o,
  input  logic  wr_gnt_i,
  output vreg_t wr_vreg_o,
  output row_t  wr_data_o
);

  localparam int unsigned Depth = 16;           // rows in the pipe and in the queue
  localparam int unsigned Beats = Lanes / EupLanes;
  localparam int unsigned BeatBits = (Beats > 1) ? $clog2(Beats) : 1;
  localparam int unsigned Stages = 5;
  localparam int unsigned Delay = (Beats + 2 * Stages * Beats - Stages) % (2 * Beats);
  localparam int unsigned Trip = Stages + Delay;

  typedef struct packed {
    step_e       step;                          // the first one
    logic        rd_a;
    vreg_t       va;
    logic [31:0] sa;
  } eup_t;

  function automatic logic twice(input step_e step);
    return step inside {StepTanh1, StepSigmoid1};
  endfunction

  // -----------------------------------------------------------------------------------------------
  // Front.

  eup_t                      ins_q[Slots];
  vreg_t                     vd_q[Slots];
  logic [Slots-1:0]          todo_q;
  slot_t                     slot_q;
  sub_t                      sub_q;
  logic [4:0]                rows_q;            // rows read and not yet written
  logic [Trip+Beats-2:0]     res_q;             // cycles from now on that second trips take
  logic [$clog2(2*Beats)-1:0] gap_q;            // cycles until the next row
  logic                      go, ready, two, wr_fire;
  eup_t                      ins0;

  assign busy_o   = (todo_q != '0) | (rows_q != '0);
  assign slot_o   = slot_q;
  assign sub_o    = sub_q;
  assign ins0     = ins_q[slot_q];
  assign two      = twice(ins0.step);
  assign ready    = todo_q[slot_q] & ok_i & ((rows_q != 5'(Depth)) | wr_fire) & (gap_q == '0)
      & (two ? res_q[Beats-1:0] == '0 : res_q == '0);
  assign a_o      = ready & ins0.rd_a;
  assign a_vreg_o = ins0.va;
  assign go       = ready & (a_gnt_i | ~ins0.rd_a);
  assign rd_o     = go;

  always_ff @(posedge clk_i) begin
    if (new_i) begin
      ins_q[new_slot_i] <= '{step: step_e'(ins_i.op[2:0]), rd_a: ins_i.rd_a, va: ins_i.va, sa: ins_i.sa};
      vd_q[new_slot_i]  <= ins_i.vd;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      todo_q <= '0;
      slot_q <= '0;
      sub_q  <= '0;
      rows_q <= '0;
      res_q  <= '0;
      gap_q  <= '0;
    end else begin
      if (new_i) todo_q[new_slot_i] <= 1'b1;
      if (go) begin
        sub_q <= sub_q + 3'd1;
        if (sub_q == 3'd7) begin
          todo_q[slot_q] <= 1'b0;
          slot_q         <= slot_q + 2'd1;
        end
      end
      if (go | wr_fire) rows_q <= rows_q + 5'(go) - 5'(wr_fire);
      res_q <= (res_q >> 1) | ({{(Trip - 1) {1'b0}}, {Beats{go & two}}} << (Trip - 1));
      if (go) gap_q <= two ? $bits(gap_q)'(2 * Beats - 1) : $bits(gap_q)'(Beats - 1);
      else if (gap_q != '0) gap_q <= gap_q - 1'b1;
    end
  end

  // Data on its way from the registers, then beat after beat.
  logic                v1_q, v2_q, first, last;
  logic [BeatBits-1:0] beat_q;
  sub_t                sub1_q;
  eup_t                i1_q;
  // The registers' number is of no use here.
  /* verilator lint_off UNUSEDSIGNAL */
  eup_t                i2_q;
  /* verilator lint_on UNUSEDSIGNAL */

  assign first = v2_q | (beat_q != '0);
  assign last  = beat_q == BeatBits'(Beats - 1);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      v1_q   <= 1'b0;
      v2_q   <= 1'b0;
      beat_q <= '0;
    end else begin
      v1_q <= go;
      v2_q <= v1_q;
      if (first) beat_q <= last ? '0 : beat_q + 1'b1;
    end
    if (go) sub1_q <= sub_q;
    if (go & (sub_q == '0)) i1_q <= ins0;
    if (v1_q & (sub1_q == '0)) i2_q <= i1_q;
  end

  // -----------------------------------------------------------------------------------------------
  // What enters X1: a second trip, or a beat of a row.

  typedef struct packed {
    logic  valid;
    logic  last;    // beat of its row
    step_e step;
  } token_t;

  token_t              back, in;
  token_t [Stages:1]   tok_q;
  erow_t               back_data, in_data, result_q;
  logic                out_valid;

  assign out_valid = tok_q[Stages].valid & ~twice(tok_q[Stages].step);

  if (Delay == 0) begin : gen_no_delay
    assign back      = tok_q[Stages];
    assign back_data = result_q;
  end else begin : gen_delay
    token_t tok_d_q[Delay];
    erow_t  data_d_q[Delay];
    always_ff @(posedge clk_i) begin
      tok_d_q[0]  <= tok_q[Stages];
      data_d_q[0] <= result_q;
      for (int unsigned i = 1; i < Delay; i++) begin
        tok_d_q[i]  <= tok_d_q[i-1];
        data_d_q[i] <= data_d_q[i-1];
      end
      if (!rst_ni || flush_i) for (int unsigned i = 0; i < Delay; i++) tok_d_q[i].valid <= 1'b0;
    end
    assign back      = tok_d_q[Delay-1];
    assign back_data = data_d_q[Delay-1];
  end

  always_comb begin
    in = '{valid: first, last: last, step: i2_q.step};
    if (back.valid & twice(back.step)) begin
      in = '{valid: 1'b1, last: back.last, step: (back.step == StepTanh1) ? StepTanh2 : StepRcp};
    end
  end

  always_ff @(posedge clk_i) begin
    tok_q <= {tok_q[Stages-1:1], in};
    if (!rst_ni || flush_i) for (int unsigned i = 1; i <= Stages; i++) tok_q[i].valid <= 1'b0;
  end

  row_t splat;
  always_comb begin
    splat = a_data_i;
    if (first & ~i2_q.rd_a) tpu_vpu_row_pkg::row_splat(i2_q.sa, splat);
    in_data = splat[beat_q*EupLanes*32+:EupLanes*32];
    if (back.valid & twice(back.step)) in_data = back_data;
  end

  // -----------------------------------------------------------------------------------------------
  // X1 to X5.

  function automatic logic is_power(input step_e step);
    return step inside {StepExp2, StepTanh1, StepSigmoid1};
  endfunction

  erow_t a1_q, a2_q, a3_q, a4_q, z1_q, z2_q, z3_q, n1_q, n2_q, n3_q, p3_q, t4_q, e4_q;
  erow_t c0, c1, c2;

  always_ff @(posedge clk_i) begin
    if (in.valid) begin : x1
      erow_t z;
      if (is_power(in.step)) row_power_place({32{in.step == StepSigmoid1}}, {32{in.step == StepTanh1}}, in_data, z);
      else row_place(in_data, z);
      z1_q <= z;
      if (in.step == StepLog2) begin
        row_log2_factor(in_data, z);
        n1_q <= z;
      end
      if (in.step == StepTanh1) begin
        row_tanh_factor(in_data, z);
        n1_q <= z;
      end
      a1_q <= in_data;
    end
  end

  // The table, for all lanes: on an FPGA block RAM with one port for each of two lanes.
  (* ram_style = "block", rom_style = "block" *) logic [29:0] c0_rom[1024];
  (* ram_style = "block", rom_style = "block" *) logic [21:0] c1_rom[1024];
  (* ram_style = "block", rom_style = "block" *) logic [15:0] c2_rom[1024];

  initial begin
    for (int unsigned i = 0; i < 1024; i++) begin
      c0_rom[i] = tpu_eup_pkg::Table[i % tpu_eup_pkg::Rows][29:0];
      c1_rom[i] = tpu_eup_pkg::Table[i % tpu_eup_pkg::Rows][51:30];
      c2_rom[i] = tpu_eup_pkg::Table[i % tpu_eup_pkg::Rows][67:52];
    end
  end

  for (genvar l = 0; l < EupLanes; l++) begin : gen_row
    logic [29:0] c0_q;
    logic [21:0] c1_q;
    logic [15:0] c2_q;
    logic [9:0]  at;
    assign at = address(tok_q[1].step, a1_q[l*32+:32], z1_q[l*32+18+:7]);
    always_ff @(posedge clk_i) begin
      if (tok_q[1].valid) begin
        c0_q <= c0_rom[at];
        c1_q <= c1_rom[at];
        c2_q <= c2_rom[at];
      end
    end
    assign c0[l*32+:32] = {2'd0, c0_q};
    assign c1[l*32+:32] = {10'd0, c1_q};
    assign c2[l*32+:32] = {{16{c2_q[15]}}, c2_q};
  end

  always_ff @(posedge clk_i) begin
    if (tok_q[1].valid) begin
      a2_q <= a1_q;
      z2_q <= z1_q;
      n2_q <= n1_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (tok_q[2].valid) begin : x3
      erow_t p;
      row_interpolate({32{is_power(tok_q[2].step)}}, {32{tok_q[2].step == StepTanh1}}, a2_q, z2_q, c0, c1, c2, p);
      p3_q <= p;
      a3_q <= a2_q;
      z3_q <= z2_q;
      n3_q <= n2_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (tok_q[3].valid) begin : x4
      erow_t t, e, q;
      step_e step;
      step = tok_q[3].step;
      q    = '0;
      if (Always || step == StepLog2 || step == StepTanh1) row_product(n3_q, p3_q, q);
      case (step)
        StepExp2: row_power(a3_q, z3_q, p3_q, t, e);
        StepLog2: row_log2(a3_q, n3_q, q, t, e);
        StepTanh1, StepSigmoid1: row_plus_one({32{step == StepSigmoid1}}, a3_q, z3_q, p3_q, q, t, e);
        StepTanh2: row_tanh(a3_q, p3_q, t, e);
        default: row_rcp({32{step == StepRsqrt}}, a3_q, p3_q, t, e);
      endcase
      t4_q <= t;
      e4_q <= e;
      a4_q <= a3_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (tok_q[4].valid) begin : x5
      erow_t r;
      row_finish(steps_of(tok_q[4].step), a4_q, t4_q, e4_q, r);
      result_q <= r;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Beats become rows, rows go through the queue of results.

  row_t       done;
  row_t       out_q[Depth];
  logic [3:0] in_ptr_q, out_ptr_q;
  logic [4:0] out_count_q;
  slot_t      wr_slot_q;
  sub_t       wr_sub_q;
  logic       push;

  if (Beats == 1) begin : gen_whole
    assign done = result_q;
  end else begin : gen_beats
    logic [(Lanes-EupLanes)*32-1:0] part_q;    // the beats before
    assign done = {result_q, part_q};
    always_ff @(posedge clk_i) if (out_valid) part_q <= done[Lanes*32-1:EupLanes*32];
  end

  assign push       = out_valid & tok_q[Stages].last;
  assign wr_valid_o = (out_count_q != '0) & wr_ok_i;
  assign wr_fire    = wr_valid_o & wr_gnt_i;
  assign wr_vreg_o  = vd_q[wr_slot_q];
  assign wr_data_o  = out_q[out_ptr_q];
  assign wr_o       = wr_fire;
  assign wr_slot_o  = wr_slot_q;
  assign wr_sub_o   = wr_sub_q;

  always_ff @(posedge clk_i) if (push) out_q[in_ptr_q] <= done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      in_ptr_q    <= '0;
      out_ptr_q   <= '0;
      out_count_q <= '0;
      wr_slot_q   <= '0;
      wr_sub_q    <= '0;
    end else begin
      if (push) in_ptr_q <= in_ptr_q + 4'd1;
      if (wr_fire) begin
        out_ptr_q <= out_ptr_q + 4'd1;
        wr_sub_q  <= wr_sub_q + 3'd1;
        if (wr_sub_q == 3'd7) wr_slot_q <= wr_slot_q + 2'd1;
      end
      if (push | wr_fire) out_count_q <= out_count_q + 5'(push) - 5'(wr_fire);
    end
  end

endmodule
