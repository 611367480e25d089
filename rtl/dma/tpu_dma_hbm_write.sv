// SPDX-License-Identifier: MIT
//
// HBM writes: the two movers share the port burst by burst; queues for addresses and data; books of
// the bursts that wait for their response.
//
// A burst's data are presented only after its address was accepted, and a mover begins a burst only
// when all its data are sure to come without the help of the bus (tpu_dma_mover), so that a simple
// memory, which serves one thing at a time, cannot be locked up. All bursts carry one id: they
// land, and are answered, in order.

module tpu_dma_hbm_write
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,

  // From the mover of HBM sources.
  input  logic             from_hbm_valid_i,
  input  hbm_write_t       from_hbm_i,
  output logic             from_hbm_ready_o,
  output logic             from_hbm_open_o,  // inside a burst
  // From the mover of local sources.
  input  logic             from_local_valid_i,
  input  hbm_write_t       from_local_i,
  output logic             from_local_ready_o,
  output logic             from_local_open_o,

  output logic             landed_o,  // a command's last burst was answered
  output logic             error_o,
  output owner_t           owner_o,   // of either
  output logic [31:0]      error_addr_o,
  output logic             busy_o,
  output ch_mask_t         stall_o,

  output logic             hbm_aw_valid_o,
  input  logic             hbm_aw_ready_i,
  output logic [31:0]      hbm_aw_addr_o,
  output logic [7:0]       hbm_aw_len_o,
  output logic [7:0]       hbm_aw_id_o,
  output logic             hbm_w_valid_o,
  input  logic             hbm_w_ready_i,
  output beat_t            hbm_w_data_o,
  output beat_be_t         hbm_w_strb_o,
  output logic             hbm_w_last_o,
  input  logic             hbm_b_valid_i,
  output logic             hbm_b_ready_o,
  input  logic [1:0]       hbm_b_resp_i,
  input  logic [7:0]       hbm_b_id_i
);

  localparam int unsigned PortDepth = 4;
  localparam int unsigned Answers = DmaOutstanding;

  typedef struct packed {
    logic                 last;
    owner_t               owner;
    logic [BeatAddrW-1:0] beat;
  } answer_t;
  typedef struct packed {
    ch_t      ch;
    logic     last;
    beat_be_t strb;
    beat_t    data;
  } data_t;

  // Arbitration: whoever is inside a burst; else in turn.
  logic inside_q, who_q, sel, push, push_addr;
  logic addr_ready, data_ready, answer_ready;
  hbm_write_t beat;
  always_comb begin
    sel = 1'b0;
    push = 1'b0;
    beat = '0;
    if (from_hbm_valid_i || from_local_valid_i) begin
      sel = inside_q ? who_q :
            (from_hbm_valid_i && from_local_valid_i) ? !who_q : from_local_valid_i;
      push = (sel ? from_local_valid_i : from_hbm_valid_i) && data_ready &&
             (inside_q || (addr_ready && answer_ready));
      beat = sel ? from_local_i : from_hbm_i;
    end
  end
  assign push_addr = push && !inside_q;
  assign from_hbm_ready_o = push && !sel;
  assign from_local_ready_o = push && sel;
  assign from_hbm_open_o = inside_q && !who_q;
  assign from_local_open_o = inside_q && who_q;

  logic aw_valid, w_valid, b_valid;
  logic [BeatAddrW-1:0] aw_beat;
  data_t w;
  answer_t b;
  logic [$clog2(PortDepth+1)-1:0] aw_count, w_count;
  logic [$clog2(Answers+1)-1:0] b_count;

  tpu_fifo #(
    .Width(BeatAddrW + 8),
    .Depth(PortDepth)
  ) u_aw (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (push_addr),
    .in_ready_o (addr_ready),
    .in_data_i  ({beat.beat, beat.len}),
    .out_valid_o(aw_valid),
    .out_ready_i(hbm_aw_ready_i),
    .out_data_o ({aw_beat, hbm_aw_len_o}),
    .count_o    (aw_count)
  );

  tpu_fifo #(
    .Width($bits(data_t)),
    .Depth(PortDepth)
  ) u_w (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (push),
    .in_ready_o (data_ready),
    .in_data_i  ({beat.owner.ch, beat.end_burst, beat.strb, beat.data}),
    .out_valid_o(w_valid),
    .out_ready_i(hbm_w_valid_o && hbm_w_ready_i),
    .out_data_o (w),
    .count_o    (w_count)
  );

  tpu_fifo #(
    .Width($bits(answer_t)),
    .Depth(Answers)
  ) u_answers (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (push_addr),
    .in_ready_o (answer_ready),
    .in_data_i  ({beat.last, beat.owner, beat.beat}),
    .out_valid_o(b_valid),
    .out_ready_i(hbm_b_valid_i),
    .out_data_o (b),
    .count_o    (b_count)
  );

  assign hbm_aw_valid_o = aw_valid;
  assign hbm_aw_addr_o = {aw_beat, OffW'(0)};
  assign hbm_aw_id_o = '0;

  // Addresses accepted whose data are still to come.
  logic [$clog2(Answers+1)-1:0] ahead_q;
  assign hbm_w_valid_o = w_valid && ahead_q != '0;
  assign hbm_w_data_o = w.data;
  assign hbm_w_strb_o = w.strb;
  assign hbm_w_last_o = w.last;

  assign hbm_b_ready_o = 1'b1;
  assign landed_o = hbm_b_valid_i && b_valid && b.last && hbm_b_resp_i == 2'b00;
  assign error_o = hbm_b_valid_i && b_valid && hbm_b_resp_i != 2'b00;
  assign owner_o = b.owner;
  assign error_addr_o = {b.beat, OffW'(0)};
  assign busy_o = b_count != '0 || inside_q;
  always_comb begin
    stall_o = '0;
    if (w_valid && !(hbm_w_valid_o && hbm_w_ready_i)) stall_o[w.ch] = 1'b1;
  end

  logic unused;
  assign unused = &{1'b0, aw_count, w_count, hbm_b_id_i, beat.first};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      inside_q <= 1'b0;
      who_q    <= 1'b0;
      ahead_q  <= '0;
    end else begin
      if (push) begin
        inside_q <= !beat.end_burst;
        who_q    <= sel;
      end
      if (aw_valid || w_valid) begin
        ahead_q <= ahead_q + ($clog2(Answers+1))'(hbm_aw_valid_o && hbm_aw_ready_i) -
                   ($clog2(Answers+1))'(hbm_w_valid_o && hbm_w_ready_i && hbm_w_last_o);
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!push || beat.first == !inside_q) else $error("burst begins inside another");
      assert (!hbm_b_valid_i || b_valid) else $error("write response without a burst");
    end
  end
`endif

endmodule
