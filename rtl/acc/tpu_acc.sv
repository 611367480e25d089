// SPDX-License-Identifier: MIT
//
// ACC: the accumulators, AccRows rows of Dim 32-bit lanes, two banks by row bit 0.
//
// Three ports: rows from the MXU, overwriting or accumulating (one a cycle), a read port and a write
// port of the VPU (one row a cycle each). A bank reads one row and writes one row a cycle. The MXU
// has priority and walks consecutive rows, so it leaves the VPU the other bank in every cycle.
//
// An MXU row handed over in cycle t reads its old value in t (if it accumulates), adds in t+2 and
// writes in t+3; a row is read again at the earliest in t+4. A row that wants to accumulate on one
// still on its way is held back (mxu_ready_o low), which happens only between commands; inside one
// the array keeps Dim cycles between two visits of a row. Nothing else stalls behind mxu_ready_o.
//
// A VPU port refused StarveLimit times in a row keeps further MXU rows out until it wins. Three
// cycles later at most no MXU row is in the pipe and both banks are free; one more cycle may go to
// the other VPU port. So no port is refused more than StarveLimit + 4 = 15 times in a row. The MXU
// row waits in the array, which stops as a whole: nothing is lost.
//
// VPU read and write of one row in one cycle: the one that waits longer wins, the read if they came
// together. A VPU read that meets an MXU write of its row in that cycle waits. A VPU write to a row
// that an accumulation has read and not yet written would be lost; it waits too.

module tpu_acc
  import tpu_config_pkg::*;
#(
  localparam int unsigned RowW = $clog2(AccRows),
  localparam int unsigned DataW = Dim * 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,

  // MXU.
  input  logic             mxu_valid_i,
  output logic             mxu_ready_o,
  input  logic [RowW-1:0]  mxu_row_i,
  input  logic             mxu_accumulate_i,
  input  logic             mxu_int8_i,
  input  logic [Dim-1:0]   mxu_mask_i,
  input  logic [DataW-1:0] mxu_data_i,

  // VPU read: data two cycles after the grant.
  input  logic             rd_valid_i,
  input  logic [RowW-1:0]  rd_row_i,
  output logic             rd_gnt_o,
  output logic             rd_rsp_valid_o,
  output logic [DataW-1:0] rd_rsp_data_o,

  // VPU write: visible to reads granted in later cycles.
  input  logic             wr_valid_i,
  input  logic [RowW-1:0]  wr_row_i,
  input  logic [Dim-1:0]   wr_mask_i,
  input  logic [DataW-1:0] wr_data_i,
  output logic             wr_gnt_o
);

  localparam int unsigned StarveLimit = 11;
  localparam bit Bf16 = MxuBf16 != 0;

  typedef logic [31:0] vec_t[Dim];

  typedef struct packed {
    logic [RowW-1:0] row;
    logic            accumulate;
    logic            int8;
    logic [Dim-1:0]  mask;
  } info_t;

  // ---- the MXU's pipe: 1 memory, 2 add, 3 write ----

  logic  v1_q, v2_q, v3_q;
  info_t i0, i1_q, i2_q, i3_q;
  logic [DataW-1:0] d1_q, d2_q;  // new values
  logic [DataW-1:0] old2_q;      // old values
  logic  mxu_fire, mxu_read, hazard, blocked;

  assign i0 = '{row: mxu_row_i, accumulate: mxu_accumulate_i, int8: mxu_int8_i, mask: mxu_mask_i};
  assign hazard = mxu_accumulate_i
      & ((v1_q & (i1_q.row == mxu_row_i)) | (v2_q & (i2_q.row == mxu_row_i))
          | (v3_q & (i3_q.row == mxu_row_i)));
  assign mxu_ready_o = ~hazard & ~blocked;
  assign mxu_fire = mxu_valid_i & mxu_ready_o;
  assign mxu_read = mxu_fire & mxu_accumulate_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
      v3_q <= 1'b0;
    end else begin
      v1_q <= mxu_fire;
      v2_q <= v1_q;
      v3_q <= v2_q;
    end
    // Last stage first: then Verilator keeps no copy of the old values.
    if (v2_q) i3_q <= i2_q;
    if (v1_q) begin
      i2_q <= i1_q;
      d2_q <= d1_q;
    end
    if (mxu_fire) begin
      i1_q <= i0;
      d1_q <= mxu_data_i;
    end
  end

  // ---- addition ----

  vec_t old2, new2, sum3_q;
  logic [DataW-1:0] sum3;

  for (genvar l = 0; l < Dim; l++) begin : gen_lane
    assign old2[l] = old2_q[l*32+:32];
    assign new2[l] = d2_q[l*32+:32];
    assign sum3[l*32+:32] = sum3_q[l];
  end

  function automatic vec_t add_int(input vec_t x, input vec_t y);
    vec_t o;
    for (int unsigned l = 0; l < Dim; l++) o[l] = x[l] + y[l];
    return o;
  endfunction

  function automatic vec_t add_f32(input vec_t x, input vec_t y);
    vec_t o;
    for (int unsigned l = 0; l < Dim; l++) o[l] = tpu_fp_pkg::f32_add(x[l], y[l]);
    return o;
  endfunction

  if (Bf16) begin : gen_add_both
    always_ff @(posedge clk_i) begin
      if (v2_q & ~i2_q.accumulate) sum3_q <= new2;
      if (v2_q & i2_q.accumulate & i2_q.int8) sum3_q <= add_int(old2, new2);
      if (v2_q & i2_q.accumulate & ~i2_q.int8) sum3_q <= add_f32(old2, new2);
    end
  end else begin : gen_add_int
    always_ff @(posedge clk_i) begin
      if (v2_q & ~i2_q.accumulate) sum3_q <= new2;
      if (v2_q & i2_q.accumulate) sum3_q <= add_int(old2, new2);
    end
  end

  // ---- grants ----

  logic mxu_write, rd_meets_mxu, rd_bank_taken, wr_lost, wr_could, same_row, wr_older;
  logic [3:0] rd_age_q, wr_age_q;

  assign mxu_write = v3_q;

  // The row's old value is on its way to the adder (read now, or in stage 1 or 2).
  assign wr_lost = (mxu_read & (mxu_row_i == wr_row_i))
      | (v1_q & i1_q.accumulate & (i1_q.row == wr_row_i))
      | (v2_q & i2_q.accumulate & (i2_q.row == wr_row_i));
  assign wr_could = wr_valid_i & ~wr_lost & ~(mxu_write & (i3_q.row[0] == wr_row_i[0]));

  assign same_row = rd_row_i == wr_row_i;
  assign wr_older = wr_age_q > rd_age_q;
  assign rd_meets_mxu = mxu_write & (i3_q.row == rd_row_i);
  assign rd_bank_taken = mxu_read & (mxu_row_i[0] == rd_row_i[0]);
  assign rd_gnt_o = rd_valid_i & ~rd_meets_mxu & ~rd_bank_taken & ~(same_row & wr_could & wr_older);
  assign wr_gnt_o = wr_could & ~(same_row & rd_gnt_o);

  logic unused;
  assign unused = &{1'b0, i3_q};  // its type is not needed any more

  // ---- starvation ----

  assign blocked = (rd_age_q == 4'(StarveLimit)) | (wr_age_q == 4'(StarveLimit));

  function automatic logic [3:0] age(input logic valid, input logic gnt, input logic [3:0] a);
    if (!valid || gnt) return '0;
    return (a == 4'(StarveLimit)) ? a : a + 4'd1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rd_age_q <= '0;
      wr_age_q <= '0;
    end else begin
      rd_age_q <= age(rd_valid_i, rd_gnt_o, rd_age_q);
      wr_age_q <= age(wr_valid_i, wr_gnt_o, wr_age_q);
    end
  end

  // ---- banks ----

  logic [1:0] rd_en, wr_en;

  for (genvar b = 0; b < 2; b++) begin : gen_bank
    logic mxu_rd, mxu_wr, vpu_rd, vpu_wr;
    logic [DataW-1:0] data;
    assign mxu_rd   = mxu_read & (mxu_row_i[0] == 1'(b));
    assign vpu_rd   = rd_gnt_o & (rd_row_i[0] == 1'(b));
    assign mxu_wr   = mxu_write & (i3_q.row[0] == 1'(b));
    assign vpu_wr   = wr_gnt_o & (wr_row_i[0] == 1'(b));
    assign rd_en[b] = mxu_rd | vpu_rd;
    assign wr_en[b] = rst_ni & (mxu_wr | vpu_wr);  // the first cycles of a reset write nothing

    tpu_acc_bank #(
      .Bank(b)
    ) u_bank (
      .clk_i,
      .rd_en_i  (rd_en[b]),
      .rd_row_i (mxu_rd ? mxu_row_i[RowW-1:1] : rd_row_i[RowW-1:1]),
      .rd_data_o(data),
      .wr_en_i  (wr_en[b]),
      .wr_row_i (mxu_wr ? i3_q.row[RowW-1:1] : wr_row_i[RowW-1:1]),
      .wr_mask_i(mxu_wr ? i3_q.mask : wr_mask_i),
      .wr_data_i(mxu_wr ? sum3 : wr_data_i)
    );
  end

  // ---- read data ----

  logic rd1_q, rd1_bank_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      rd1_q          <= 1'b0;
      rd_rsp_valid_o <= 1'b0;
    end else begin
      rd1_q          <= rd_gnt_o;
      rd_rsp_valid_o <= rd1_q;
    end
    if (rd_gnt_o) rd1_bank_q <= rd_row_i[0];
    if (rd1_q) rd_rsp_data_o <= rd1_bank_q ? gen_bank[1].data : gen_bank[0].data;
    if (v1_q & i1_q.accumulate) old2_q <= i1_q.row[0] ? gen_bank[1].data : gen_bank[0].data;
  end

endmodule
