// SPDX-License-Identifier: MIT
//
// HBM reads: address queue and return buffer.
//
// All bursts carry one id, so their data come back in the order of issue, whatever the channel, and
// the return buffer is a plain queue. A beat of it is reserved before a burst is issued
// (tpu_dma_issue counts), so r_ready is always high: no data of one channel can block the bus for
// another.

module tpu_dma_hbm_read
  import tpu_dma_pkg::*;
(
  input  logic                clk_i,
  input  logic                rst_ni,

  input  logic                burst_valid_i,
  input  logic [31:0]         burst_addr_i,
  input  logic [BeatCntW-1:0] burst_beats_i,
  output logic                ar_done_o,

  // Beats in the order of issue. Data of a taken beat come a cycle later and stay until the next.
  output logic [BufferW:0]    avail_o,
  input  logic                take_i,
  output beat_t               data_o,
  output logic                error_o,
  output logic                busy_o,
  output logic                stall_o,

  output logic                hbm_ar_valid_o,
  input  logic                hbm_ar_ready_i,
  output logic [31:0]         hbm_ar_addr_o,
  output logic [7:0]          hbm_ar_len_o,
  output logic [7:0]          hbm_ar_id_o,
  input  logic                hbm_r_valid_i,
  output logic                hbm_r_ready_o,
  input  beat_t               hbm_r_data_i,
  input  logic                hbm_r_last_i,
  input  logic [1:0]          hbm_r_resp_i,
  input  logic [7:0]          hbm_r_id_i
);

  localparam int unsigned AddrW = BeatAddrW + BeatCntW;

  logic [AddrW-1:0] ar;
  logic ar_ready, unused;
  logic [$clog2(ArDepth+1)-1:0] ar_count;

  tpu_fifo #(
    .Width(AddrW),
    .Depth(ArDepth)
  ) u_ar (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (burst_valid_i),
    .in_ready_o (ar_ready),
    .in_data_i  ({burst_addr_i[31:OffW], burst_beats_i - 1'b1}),
    .out_valid_o(hbm_ar_valid_o),
    .out_ready_i(hbm_ar_ready_i),
    .out_data_o (ar),
    .count_o    (ar_count)
  );
  assign hbm_ar_addr_o = {ar[AddrW-1:BeatCntW], OffW'(0)};
  assign hbm_ar_len_o = 8'(ar[BeatCntW-1:0]);
  assign hbm_ar_id_o = '0;
  assign ar_done_o = hbm_ar_valid_o && hbm_ar_ready_i;
  assign stall_o = hbm_ar_valid_o && !hbm_ar_ready_i;
  assign busy_o = ar_count != '0;
  assign unused = &{1'b0, burst_addr_i[OffW-1:0], ar_ready, hbm_r_last_i, hbm_r_id_i};

  (* no_rw_check, ram_style = "block" *)
  logic [BeatW:0] buffer[BufferBeats];
  logic [BeatW:0] head_q;
  logic [BufferW-1:0] wr_q, rd_q;
  logic [BufferW:0] avail_q;

  assign hbm_r_ready_o = 1'b1;
  assign avail_o = avail_q;
  assign data_o = head_q[BeatW-1:0];
  assign error_o = head_q[BeatW];

  always_ff @(posedge clk_i) begin
    if (hbm_r_valid_i) buffer[wr_q] <= {hbm_r_resp_i != 2'b00, hbm_r_data_i};
  end
  always_ff @(posedge clk_i) begin
    if (take_i) head_q <= buffer[rd_q];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      wr_q    <= '0;
      rd_q    <= '0;
      avail_q <= '0;
    end else begin
      wr_q    <= wr_q + BufferW'(hbm_r_valid_i);
      rd_q    <= rd_q + BufferW'(take_i);
      avail_q <= avail_q + (BufferW+1)'(hbm_r_valid_i) - (BufferW+1)'(take_i);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!burst_valid_i || ar_ready) else $error("address queue overflows");
      assert (!hbm_r_valid_i || avail_q != (BufferW+1)'(BufferBeats))
      else $error("return buffer overflows");
    end
  end
`endif

endmodule
