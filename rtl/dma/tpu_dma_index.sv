// SPDX-License-Identifier: MIT
//
// Reads the list of a gather or scatter ahead of the walk and hands it where each row begins: the
// index times the stride of dimension 0.
//
// One command at a time, of whatever channel: the walker loads another one with a list only when
// this unit is free. A command reads its list once for each position of the outer dimensions, so
// the unit starts over at the end of the list until the walker says that the command is through;
// what it has read ahead is thrown away. A beat of the list is read at a time, an offset is made a
// cycle, four wait.

module tpu_dma_index
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  ch_mask_t             kill_i,

  output logic                 ready_o,
  input  logic                 start_i,
  input  ch_t                  ch_i,
  input  logic [31:0]          list_i,
  input  logic [15:0]          rows_i,    // of the list, not 0
  input  logic [31:0]          stride_i,
  input  logic                 stop_i,    // the command is through

  output logic                 offset_valid_o,
  output ch_t                  offset_ch_o,
  output logic [31:0]          offset_o,
  input  logic                 offset_take_i,

  // SMEM; answers come in the order of the grants.
  output logic                 list_valid_o,
  output logic [SmemAddrW-1:0] list_addr_o,
  input  logic                 list_gnt_i,
  input  logic                 list_rsp_valid_i,
  input  beat_t                list_rsp_data_i,
  output logic                 busy_o
);

  localparam int unsigned Depth = 4;
  localparam int unsigned CntW = $clog2(Depth + 1);

  logic active_q, stop, flush;
  ch_t ch_q;
  logic [SmemAddrW-1:0] first_addr_q, addr_q;
  logic [LaneW-1:0] first_lane_q, lane_q;
  logic [15:0] beats_q, ask_left_q, rows_q, rows_left_q;
  logic [31:0] stride_q;
  logic [CntW-1:0] way_q;  // granted, not answered
  logic [15:0] start_beats;

  assign stop = stop_i || kill_i[ch_q];
  assign flush = !active_q || stop;
  assign ready_o = !active_q && way_q == '0;
  assign busy_o = active_q || way_q != '0;
  assign start_beats = 16'((17'(list_i[OffW-1:2]) + 17'(rows_i) + 17'(BeatIndices - 1)) >> LaneW);

  // Beats of the list.
  logic beat_valid, beat_pop, beat_ready, asked;
  logic [CntW-1:0] beat_count;
  beat_t beat;
  assign list_valid_o = active_q && beat_count + way_q < CntW'(Depth);
  assign list_addr_o = addr_q;
  assign asked = list_valid_o && list_gnt_i;
  tpu_fifo #(
    .Width(BeatW),
    .Depth(Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .flush_i    (flush),
    .in_valid_i (active_q && list_rsp_valid_i),
    .in_ready_o (beat_ready),
    .in_data_i  (list_rsp_data_i),
    .out_valid_o(beat_valid),
    .out_ready_i(beat_pop),
    .out_data_o (beat),
    .count_o    (beat_count)
  );

  // Indices.
  logic pick, list_end, index_valid_q;
  logic [31:0] index_q;
  logic [CntW-1:0] offset_count;
  assign pick = beat_valid && offset_count + CntW'(index_valid_q) < CntW'(Depth);
  assign list_end = rows_left_q == 16'd1;
  assign beat_pop = pick && (list_end || lane_q == LaneW'(BeatIndices - 1));

  // Offsets.
  logic offset_ready;
  logic [31:0] offset;
  assign offset = 32'(index_q[23:0] * stride_q);
  tpu_fifo #(
    .Width(32),
    .Depth(Depth)
  ) u_offsets (
    .clk_i,
    .rst_ni,
    .flush_i    (flush),
    .in_valid_i (index_valid_q),
    .in_ready_o (offset_ready),
    .in_data_i  (offset),
    .out_valid_o(offset_valid_o),
    .out_ready_i(offset_take_i),
    .out_data_o (offset_o),
    .count_o    (offset_count)
  );
  assign offset_ch_o = ch_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      ch_q         <= ch_i;
      stride_q     <= stride_i;
      rows_q       <= rows_i;
      rows_left_q  <= rows_i;
      first_addr_q <= list_i[OffW+:SmemAddrW];
      addr_q       <= list_i[OffW+:SmemAddrW];
      first_lane_q <= list_i[OffW-1:2];
      lane_q       <= list_i[OffW-1:2];
      beats_q      <= start_beats;
      ask_left_q   <= start_beats;
    end else begin
      if (asked) begin
        addr_q     <= (ask_left_q == 16'd1) ? first_addr_q : addr_q + 1'b1;
        ask_left_q <= (ask_left_q == 16'd1) ? beats_q : ask_left_q - 16'd1;
      end
      if (pick) begin
        lane_q      <= list_end ? first_lane_q : lane_q + 1'b1;
        rows_left_q <= list_end ? rows_q : rows_left_q - 16'd1;
      end
    end
    if (pick) index_q <= beat[{lane_q, 5'd0}+:32];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q      <= 1'b0;
      index_valid_q <= 1'b0;
      way_q         <= '0;
    end else if (start_i || busy_o) begin
      active_q      <= (start_i && !kill_i[ch_i]) || (active_q && !stop);
      index_valid_q <= pick && !flush;
      way_q         <= way_q + CntW'(asked) - CntW'(list_rsp_valid_i);
    end
  end

  logic unused;
  assign unused = &{1'b0, list_i, index_q[31:24], beat_ready, offset_ready};

endmodule
