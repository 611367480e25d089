// SPDX-License-Identifier: MIT
//
// MXU: the matrix unit. C[M,N] (+)= A[M,K] . B[K,N], a command at a time, tiles in hardware.
//
//   start -> check -+-> loader ---> weight lines --+-> wave -> array -> drain -> ACC
//                   +-> streamer -> operand rows --+             |
//                              +--> tiles -----------------------+
//
// README.md in this folder has the theory of operation, the timing and the limits. The parts:
// tpu_mxu_check (start checks), tpu_mxu_loader and tpu_mxu_streamer (tile walks, each with a
// tpu_mxu_read for its VMEM port), tpu_mxu_wave (when what may enter the array), tpu_mxu_array,
// tpu_mxu_drain (rows into ACC, completion). The ports are those of rtl/README.md.

module tpu_mxu
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,

  // Engine port.
  input  logic                       start_i,
  input  tpu_pkg::tpu_mxu_cmd_t      cmd_i,
  output logic                       ready_o,
  output logic                       done_valid_o,
  input  logic                       done_ready_i,
  output logic [7:0]                 done_code_o,
  output logic [31:0]                done_detail0_o,
  output logic [31:0]                done_detail1_o,
  output logic [47:0]                done_bytes_o,
  output logic [WorkW-1:0]           done_work_o,
  output logic                       stall_o,
  input  logic                       abort_i,
  output logic                       idle_o,
  input  logic                       clear_i,

  // VMEM, operand stream.
  output logic                       stream_valid_o,
  output logic [WordAddrW-1:0]       stream_addr_o,
  input  logic                       stream_gnt_i,
  input  logic                       stream_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] stream_rsp_data_i,

  // VMEM, weights.
  output logic                       weight_valid_o,
  output logic                       weight_urgent_o,
  output logic [WordAddrW-1:0]       weight_addr_o,
  input  logic                       weight_gnt_i,
  input  logic                       weight_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] weight_rsp_data_i,

  // ACC.
  output logic                       acc_valid_o,
  input  logic                       acc_ready_i,
  output logic [AccW-1:0]            acc_row_o,
  output logic                       acc_accumulate_o,
  output logic                       acc_int8_o,
  output logic [Dim-1:0]             acc_mask_o,
  output logic [Dim*32-1:0]          acc_data_o
);

  localparam int unsigned StartedW = $clog2(MaxStarted + 1);

  logic flush;
  assign flush = abort_i;

  // ---- commands ----

  job_t job;
  logic chk_empty, chk_idle, chk_job_valid, job_fire, loader_ready, streamer_ready, near_end;
  logic chk_done_valid, drn_done_valid;
  logic [StartedW-1:0] started_q;  // handed on and not yet reported
  logic [WorkW-1:0] drn_work;
  logic drn_done_fire;

  assign drn_done_fire = drn_done_valid & done_ready_i;
  assign job_fire = chk_job_valid & loader_ready & streamer_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush) started_q <= '0;
    else started_q <= started_q + StartedW'(job_fire) - StartedW'(drn_done_fire);
  end

  // One command may wait behind the checks, and only while the loader is in its last tile, so that
  // a start is announced no earlier than it has to be.
  assign ready_o = chk_empty & near_end & ~abort_i & (started_q != StartedW'(MaxStarted));

  tpu_mxu_check u_check (
    .clk_i,
    .rst_ni,
    .flush_i       (flush),
    .clear_i,
    .start_i,
    .cmd_i,
    .empty_o       (chk_empty),
    .idle_o        (chk_idle),
    .job_valid_o   (chk_job_valid),
    .job_ready_i   (loader_ready & streamer_ready),
    .job_o         (job),
    .older_none_i  (started_q == '0),
    .done_valid_o  (chk_done_valid),
    .done_ready_i,
    .done_code_o,
    .done_detail0_o,
    .done_detail1_o
  );

  // Only one of the two completes at a time: the checks do so when nothing else is started.
  assign done_valid_o = chk_done_valid | drn_done_valid;
  assign done_work_o  = drn_done_valid ? drn_work : '0;
  assign done_bytes_o = '0;

  // ---- weights ----

  logic w_valid, w_ready, w_col, w_bank;
  logic [DimLog-1:0] w_idx;
  logic [RowW-1:0] w_data;

  tpu_mxu_loader u_loader (
    .clk_i,
    .rst_ni,
    .flush_i    (flush),
    .job_valid_i(chk_job_valid & streamer_ready),
    .job_ready_o(loader_ready),
    .job_i      (job),
    .near_end_o (near_end),
    .req_valid_o(weight_valid_o),
    .req_addr_o (weight_addr_o),
    .req_gnt_i  (weight_gnt_i),
    .rsp_valid_i(weight_rsp_valid_i),
    .rsp_data_i (weight_rsp_data_i),
    .w_valid_o  (w_valid),
    .w_ready_i  (w_ready),
    .w_col_o    (w_col),
    .w_data_o   (w_data)
  );

  // ---- operands ----

  logic row_valid, row_ready, row_first, row_last, row_int8, row_bank;
  logic [RowW-1:0] row_data;
  logic tile_valid, tile_ready;
  tile_t tile;

  tpu_mxu_streamer u_streamer (
    .clk_i,
    .rst_ni,
    .flush_i     (flush),
    .job_valid_i (chk_job_valid & loader_ready),
    .job_ready_o (streamer_ready),
    .job_i       (job),
    .req_valid_o (stream_valid_o),
    .req_addr_o  (stream_addr_o),
    .req_gnt_i   (stream_gnt_i),
    .rsp_valid_i (stream_rsp_valid_i),
    .rsp_data_i  (stream_rsp_data_i),
    .row_valid_o (row_valid),
    .row_ready_i (row_ready),
    .row_first_o (row_first),
    .row_last_o  (row_last),
    .row_int8_o  (row_int8),
    .row_data_o  (row_data),
    .tile_valid_o(tile_valid),
    .tile_ready_i(tile_ready),
    .tile_o      (tile)
  );

  // ---- array ----

  logic array_busy, array_int8, en, wave_ok, out_stall;
  logic out_valid, out_first, out_last;

  tpu_mxu_wave u_wave (
    .clk_i,
    .rst_ni,
    .flush_i      (flush),
    .w_valid_i    (w_valid),
    .w_ready_o    (w_ready),
    .w_bank_o     (w_bank),
    .w_idx_o      (w_idx),
    .row_valid_i  (row_valid),
    .row_ready_o  (row_ready),
    .row_first_i  (row_first),
    .row_int8_i   (row_int8),
    .row_bank_o   (row_bank),
    .array_busy_i (array_busy),
    .array_int8_i (array_int8),
    .out_stall_i  (out_stall),
    .wave_ok_o    (wave_ok),
    .en_o         (en),
    .weight_wait_o(weight_urgent_o)
  );

  tpu_mxu_array #(
    .Dim (Dim),
    .Bf16(Bf16)
  ) u_array (
    .clk_i,
    .rst_ni,
    .flush_i    (flush),
    .en_i       (en),
    .row_valid_i(row_valid & row_ready),
    .row_first_i(row_first),
    .row_last_i (row_last),
    .row_bank_i (row_bank),
    .row_int8_i (row_int8),
    .row_data_i (row_data),
    .w_valid_i  (w_valid & w_ready),
    .w_bank_i   (w_bank),
    .w_col_i    (w_col),
    .w_idx_i    (w_idx),
    .w_data_i   (w_data),
    .busy_o     (array_busy),
    .int8_o     (array_int8),
    .out_valid_o(out_valid),
    .out_first_o(out_first),
    .out_last_o (out_last),
    .out_data_o (acc_data_o)
  );

  // ---- results ----

  logic settled;

  tpu_mxu_drain u_drain (
    .clk_i,
    .rst_ni,
    .flush_i         (flush),
    .tile_valid_i    (tile_valid),
    .tile_ready_o    (tile_ready),
    .tile_i          (tile),
    .out_valid_i     (out_valid),
    .out_first_i     (out_first),
    .out_last_i      (out_last),
    .wave_ok_i       (wave_ok),
    .out_stall_o     (out_stall),
    .acc_valid_o,
    .acc_ready_i,
    .acc_row_o,
    .acc_accumulate_o,
    .acc_int8_o,
    .acc_mask_o,
    .done_valid_o    (drn_done_valid),
    .done_ready_i,
    .done_work_o     (drn_work),
    .settled_o       (settled)
  );

  assign idle_o  = chk_idle & (started_q == '0) & settled;
  // Held up by a memory: a row refused, a line refused that the array waits for, ACC busy.
  assign stall_o = (stream_valid_o & ~stream_gnt_i)
      | (weight_urgent_o & weight_valid_o & ~weight_gnt_i) | out_stall;

endmodule
