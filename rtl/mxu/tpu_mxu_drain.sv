// SPDX-License-Identifier: MIT
//
// The output side: gives every result row its place in ACC, counts work, completes commands.
//
// A row leaves the array with two flags only, first of a tile and last of a command; where a tile
// goes comes from a queue that the streamer fills. This replaces a delay line of row numbers as
// long as the array.
// A command is complete when its last row has been written, AccLatency cycles after it was handed
// over. Work is the exact number of useful multiply-accumulates: each row adds the tile's valid
// lanes times its valid k, so that their sum over a command is M * N * K without a wide multiplier.

module tpu_mxu_drain
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              flush_i,

  input  logic              tile_valid_i,
  output logic              tile_ready_o,
  input  tile_t             tile_i,

  input  logic              out_valid_i,
  input  logic              out_first_i,
  input  logic              out_last_i,
  input  logic              wave_ok_i,
  output logic              out_stall_o,

  output logic              acc_valid_o,
  input  logic              acc_ready_i,
  output logic [AccW-1:0]   acc_row_o,
  output logic              acc_accumulate_o,
  output logic              acc_int8_o,
  output logic [Dim-1:0]    acc_mask_o,

  output logic              done_valid_o,
  input  logic              done_ready_i,
  output logic [WorkW-1:0]  done_work_o,
  output logic              settled_o     // no row is on its way through ACC
);

  // Tiles between the streamer and here: one per row waiting before the array (4), and one per Dim
  // cycles of its latency (3).
  localparam int unsigned TileDepth = 8;
  localparam int unsigned CntDoneW = $clog2(MaxStarted + 1);

  tile_t head, cur_q, tile;
  logic  head_valid, fire;
  logic [AccW-1:0] row_q;
  logic [$clog2(TileDepth+1)-1:0] unused_tile_count;

  tpu_fifo #(
    .Width($bits(tile_t)),
    .Depth(TileDepth)
  ) u_tiles (
    .clk_i,
    .rst_ni,
    .flush_i,
    .in_valid_i (tile_valid_i),
    .in_ready_o (tile_ready_o),
    .in_data_i  (tile_i),
    .out_valid_o(head_valid),
    .out_ready_i(fire & out_first_i),
    .out_data_o (head),
    .count_o    (unused_tile_count)
  );

  assign tile        = out_first_i ? head : cur_q;
  assign acc_valid_o = out_valid_i & wave_ok_i;
  assign fire        = acc_valid_o & acc_ready_i;
  assign out_stall_o = out_valid_i & ~acc_ready_i;

  assign acc_row_o        = out_first_i ? head.row : row_q;
  assign acc_accumulate_o = tile.accumulate;
  assign acc_int8_o       = tile.int8;
  assign acc_mask_o       = Dim'(~({(Dim+1){1'b1}} << tile.lanes));  // the first `lanes` lanes

  always_ff @(posedge clk_i) begin
    if (fire) begin
      row_q <= acc_row_o + 1'b1;
      if (out_first_i) cur_q <= head;
    end
  end

  // ---- work and completion ----

  logic [WorkW-1:0]      work_q, work;
  logic                  unused_work_ready, unused_work_valid, done_fire;
  logic [CntDoneW-1:0]   unused_work_count;
  logic [AccLatency-1:0] rows_q, last_q;  // rows, and last rows, on their way through ACC
  logic [CntDoneW-1:0]   done_q;          // complete, not yet reported

  assign work = work_q + WorkW'(tile.macs);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) work_q <= '0;
    else if (fire) work_q <= out_last_i ? '0 : work;
  end

  tpu_fifo #(
    .Width(WorkW),
    .Depth(MaxStarted)
  ) u_work (
    .clk_i,
    .rst_ni,
    .flush_i,
    .in_valid_i (fire & out_last_i),
    .in_ready_o (unused_work_ready),  // no more than MaxStarted commands are under way
    .in_data_i  (work),
    .out_valid_o(unused_work_valid),
    .out_ready_i(done_fire),
    .out_data_o (done_work_o),
    .count_o    (unused_work_count)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) rows_q <= '0;
    else rows_q <= AccLatency'({rows_q, fire});
    if (!rst_ni || flush_i) begin
      last_q <= '0;
      done_q <= '0;
    end else begin
      last_q <= AccLatency'({last_q, fire & out_last_i});
      done_q <= done_q + CntDoneW'(last_q[AccLatency-1]) - CntDoneW'(done_fire);
    end
  end

  assign done_valid_o = done_q != '0;
  assign done_fire    = done_valid_o & done_ready_i;
  assign settled_o    = rows_q == '0;

  logic unused;
  assign unused = &{1'b0, tile};  // the row of a tile that goes on

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !flush_i && fire && out_first_i)
      assert (head_valid) else $error("tpu_mxu_drain: a row without a tile");
  end
`else
  logic unused_head_valid;
  assign unused_head_valid = head_valid;
`endif

endmodule
