// SPDX-License-Identifier: MIT
//
// Four DMA channels between HBM, VMEM and SMEM: strided rows with three outer dimensions, any alignment
// and length, fill, 16 bytes a cycle into and out of HBM at once. See README.md for how it works, and
// docs/contract.md for what it does. This file connects its parts and shares the local write ports.

module tpu_dma
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic                           clk_i,
  input  logic                           rst_ni,

  // Engine ports, one a channel.
  input  logic [DmaChannels-1:0]         start_i,
  input  tpu_dma_cmd_t [DmaChannels-1:0] cmd_i,
  input  logic [DmaChannels-1:0][1:0]    prio_i,
  output logic [DmaChannels-1:0]         ready_o,
  output logic [DmaChannels-1:0]         done_valid_o,
  input  logic [DmaChannels-1:0]         done_ready_i,
  output logic [DmaChannels-1:0][7:0]    done_code_o,
  output logic [DmaChannels-1:0][31:0]   done_detail0_o,
  output logic [DmaChannels-1:0][31:0]   done_detail1_o,
  output logic [DmaChannels-1:0][47:0]   done_bytes_o,
  output logic [DmaChannels-1:0][47:0]   done_work_o,
  output logic [DmaChannels-1:0]         stall_o,
  input  logic                           abort_i,
  output logic [DmaChannels-1:0]         idle_o,
  input  logic                           clear_i,

  // VMEM, words of VmemWordBytes.
  output logic                           vmem_rd_valid_o,
  output logic [VmemAddrW-1:0]           vmem_rd_addr_o,
  input  logic                           vmem_rd_gnt_i,
  input  logic                           vmem_rd_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0]     vmem_rd_rsp_data_i,
  output logic                           vmem_wr_valid_o,
  output logic [VmemAddrW-1:0]           vmem_wr_addr_o,
  output logic [VmemWordBytes*8-1:0]     vmem_wr_wdata_o,
  output logic [VmemWordBytes-1:0]       vmem_wr_be_o,
  input  logic                           vmem_wr_gnt_i,

  // SMEM, words of HbmPortBytes.
  output logic                           smem_rd_valid_o,
  output logic [SmemAddrW-1:0]           smem_rd_addr_o,
  input  logic                           smem_rd_gnt_i,
  input  logic                           smem_rd_rsp_valid_i,
  input  logic [HbmPortBytes*8-1:0]      smem_rd_rsp_data_i,
  output logic                           smem_wr_valid_o,
  output logic [SmemAddrW-1:0]           smem_wr_addr_o,
  output logic [HbmPortBytes*8-1:0]      smem_wr_wdata_o,
  output logic [HbmPortBytes-1:0]        smem_wr_be_o,
  input  logic                           smem_wr_gnt_i,

  // HBM, AXI4.
  output logic                           hbm_ar_valid_o,
  input  logic                           hbm_ar_ready_i,
  output logic [31:0]                    hbm_ar_addr_o,
  output logic [7:0]                     hbm_ar_len_o,
  output logic [7:0]                     hbm_ar_id_o,
  input  logic                           hbm_r_valid_i,
  output logic                           hbm_r_ready_o,
  input  logic [HbmPortBytes*8-1:0]      hbm_r_data_i,
  input  logic                           hbm_r_last_i,
  input  logic [1:0]                     hbm_r_resp_i,
  input  logic [7:0]                     hbm_r_id_i,
  output logic                           hbm_aw_valid_o,
  input  logic                           hbm_aw_ready_i,
  output logic [31:0]                    hbm_aw_addr_o,
  output logic [7:0]                     hbm_aw_len_o,
  output logic [7:0]                     hbm_aw_id_o,
  output logic                           hbm_w_valid_o,
  input  logic                           hbm_w_ready_i,
  output logic [HbmPortBytes*8-1:0]      hbm_w_data_o,
  output logic [HbmPortBytes-1:0]        hbm_w_strb_o,
  output logic                           hbm_w_last_o,
  input  logic                           hbm_b_valid_i,
  output logic                           hbm_b_ready_o,
  input  logic [1:0]                     hbm_b_resp_i,
  input  logic [7:0]                     hbm_b_id_i
);

  // Sanity of the configuration.
  if (HbmPortBytes < 8 || (HbmPortBytes & (HbmPortBytes - 1)) != 0) begin : g_bad_port
    $error("HbmPortBytes must be a power of two from 8");
  end
  if (Halves != 1 && Halves != 2) begin : g_bad_word
    $error("VmemWordBytes must be HbmPortBytes or twice that");
  end
  if (DmaDims != 3) begin : g_bad_dims
    $error("DmaDims must be 3");
  end

  ch_mask_t kill, failed, occupied, pend_hbm, pend_local, start;
  slot_t [DmaChannels-1:0] slot;
  logic quiet, abort_q;
  assign start = start_i & ready_o;

  // Start checks.
  logic checked, checked_empty, checked_pass;
  owner_t checked_owner;
  logic [1:0] checked_prio;
  tpu_dma_cmd_t checked_cmd;
  logic [7:0] checked_code;
  logic [31:0] checked_detail0, checked_detail1;
  assign checked_pass = checked && checked_code == TPU_ERROR_NONE;

  tpu_dma_check u_check (
    .clk_i,
    .rst_ni,
    .abort_i,
    .start_i  (start),
    .cmd_i,
    .prio_i,
    .slot_i   (slot),
    .valid_o  (checked),
    .owner_o  (checked_owner),
    .prio_o   (checked_prio),
    .empty_o  (checked_empty),
    .cmd_o    (checked_cmd),
    .code_o   (checked_code),
    .detail0_o(checked_detail0),
    .detail1_o(checked_detail1)
  );

  // Segments.
  logic load, load_local, empty_done, issued, issue_busy, beat_done, ar_done;
  owner_t load_owner, issued_owner, empty_owner;
  logic [47:0] issued_bytes;
  logic [1:0] segment_valid, segment_done;
  segment_t segment;

  tpu_dma_issue u_issue (
    .clk_i,
    .rst_ni,
    .abort_i,
    .kill_i         (kill),
    .checked_i      (checked_pass),
    .checked_owner_i(checked_owner),
    .checked_prio_i (checked_prio),
    .checked_empty_i(checked_empty),
    .checked_cmd_i  (checked_cmd),
    .load_o         (load),
    .load_local_o   (load_local),
    .load_owner_o   (load_owner),
    .pend_hbm_i     (pend_hbm),
    .issued_o       (issued),
    .issued_owner_o (issued_owner),
    .issued_bytes_o (issued_bytes),
    .empty_done_o   (empty_done),
    .empty_owner_o  (empty_owner),
    .segment_valid_o(segment_valid),
    .segment_o      (segment),
    .segment_done_i (segment_done),
    .beat_done_i    (beat_done),
    .ar_done_i      (ar_done),
    .busy_o         (issue_busy)
  );

  // Sources.
  logic [1:0][BufferW:0] avail;
  logic [1:0] take, half, free, mover_busy;
  beat_t [1:0] src_data;
  logic src_error, ar_busy, ar_stall, local_busy, error_read;
  owner_t error_read_owner;
  logic [31:0] error_read_addr;
  ch_mask_t local_stall;

  tpu_dma_hbm_read u_hbm_read (
    .clk_i,
    .rst_ni,
    .burst_valid_i(segment_valid[0] && !segment.fill),
    .burst_addr_i (segment.word),
    .burst_beats_i(segment.src_beats),
    .ar_done_o    (ar_done),
    .avail_o      (avail[0]),
    .take_i       (take[0]),
    .data_o       (src_data[0]),
    .error_o      (src_error),
    .busy_o       (ar_busy),
    .stall_o      (ar_stall),
    .hbm_ar_valid_o,
    .hbm_ar_ready_i,
    .hbm_ar_addr_o,
    .hbm_ar_len_o,
    .hbm_ar_id_o,
    .hbm_r_valid_i,
    .hbm_r_ready_o,
    .hbm_r_data_i,
    .hbm_r_last_i,
    .hbm_r_resp_i,
    .hbm_r_id_i
  );
  assign beat_done = take[0];

  tpu_dma_local_read u_local_read (
    .clk_i,
    .rst_ni,
    .burst_valid_i(segment_valid[1] && !segment.fill),
    .burst_smem_i (segment.src_smem),
    .burst_addr_i (segment.word),
    .burst_beats_i(segment.src_beats),
    .burst_ch_i   (segment.owner.ch),
    .avail_o      (avail[1]),
    .take_i       (take[1]),
    .half_i       (half[1]),
    .free_i       (free[1]),
    .data_o       (src_data[1]),
    .busy_o       (local_busy),
    .stall_o      (local_stall),
    .vmem_rd_valid_o,
    .vmem_rd_addr_o,
    .vmem_rd_gnt_i,
    .vmem_rd_rsp_valid_i,
    .vmem_rd_rsp_data_i,
    .smem_rd_valid_o,
    .smem_rd_addr_o,
    .smem_rd_gnt_i,
    .smem_rd_rsp_valid_i,
    .smem_rd_rsp_data_i
  );

  // Movers.
  logic [1:0] hbm_valid, hbm_ready, hbm_open, write_valid, write_gnt, mover_error;
  hbm_write_t [1:0] hbm_beat;
  local_write_t [1:0] write;
  owner_t [1:0] mover_error_owner;
  logic [1:0][31:0] mover_error_addr;

  tpu_dma_mover #(
    .SegDepth  (DmaOutstanding),
    .WholeBurst(1'b1)
  ) u_from_hbm (
    .clk_i,
    .rst_ni,
    .kill_i         (kill | {DmaChannels{abort_i}}),
    .hold_i         (pend_local),
    .segment_valid_i(segment_valid[0]),
    .segment_i      (segment),
    .segment_done_o (segment_done[0]),
    .src_avail_i    (avail[0]),
    .src_take_o     (take[0]),
    .src_half_o     (half[0]),
    .src_free_o     (free[0]),
    .src_data_i     (src_data[0]),
    .src_error_i    (src_error),
    .error_o        (mover_error[0]),
    .error_owner_o  (mover_error_owner[0]),
    .error_addr_o   (mover_error_addr[0]),
    .hbm_valid_o    (hbm_valid[0]),
    .hbm_o          (hbm_beat[0]),
    .hbm_ready_i    (hbm_ready[0]),
    .hbm_open_i     (hbm_open[0]),
    .local_valid_o  (write_valid[0]),
    .local_o        (write[0]),
    .local_gnt_i    (write_gnt[0]),
    .busy_o         (mover_busy[0])
  );

  tpu_dma_mover #(
    .SegDepth  (LocalSegs),
    .WholeBurst(1'b0)
  ) u_from_local (
    .clk_i,
    .rst_ni,
    .kill_i         (kill | {DmaChannels{abort_i}}),
    .hold_i         ('0),
    .segment_valid_i(segment_valid[1]),
    .segment_i      (segment),
    .segment_done_o (segment_done[1]),
    .src_avail_i    (avail[1]),
    .src_take_o     (take[1]),
    .src_half_o     (half[1]),
    .src_free_o     (free[1]),
    .src_data_i     (src_data[1]),
    .src_error_i    (1'b0),
    .error_o        (mover_error[1]),
    .error_owner_o  (mover_error_owner[1]),
    .error_addr_o   (mover_error_addr[1]),
    .hbm_valid_o    (hbm_valid[1]),
    .hbm_o          (hbm_beat[1]),
    .hbm_ready_i    (hbm_ready[1]),
    .hbm_open_i     (hbm_open[1]),
    .local_valid_o  (write_valid[1]),
    .local_o        (write[1]),
    .local_gnt_i    (write_gnt[1]),
    .busy_o         (mover_busy[1])
  );
  assign error_read = mover_error[0];
  assign error_read_owner = mover_error_owner[0];
  assign error_read_addr = mover_error_addr[0];

  // HBM writes.
  logic answered, error_write, write_busy;
  owner_t answered_owner;
  logic [31:0] error_write_addr;
  ch_mask_t write_stall;

  tpu_dma_hbm_write u_hbm_write (
    .clk_i,
    .rst_ni,
    .valid_i     (hbm_valid),
    .beat_i      (hbm_beat),
    .ready_o     (hbm_ready),
    .open_o      (hbm_open),
    .landed_o    (answered),
    .error_o     (error_write),
    .owner_o     (answered_owner),
    .error_addr_o(error_write_addr),
    .busy_o      (write_busy),
    .stall_o     (write_stall),
    .hbm_aw_valid_o,
    .hbm_aw_ready_i,
    .hbm_aw_addr_o,
    .hbm_aw_len_o,
    .hbm_aw_id_o,
    .hbm_w_valid_o,
    .hbm_w_ready_i,
    .hbm_w_data_o,
    .hbm_w_strb_o,
    .hbm_w_last_o,
    .hbm_b_valid_i,
    .hbm_b_ready_o,
    .hbm_b_resp_i,
    .hbm_b_id_i
  );

  // Local writes: VMEM and SMEM each serve the movers in turn.
  logic [1:0] want_vmem, want_smem;
  logic vmem_sel, smem_sel, vmem_last_q, smem_last_q;
  assign want_vmem = {write_valid[1] && !write[1].smem, write_valid[0] && !write[0].smem};
  assign want_smem = {write_valid[1] && write[1].smem, write_valid[0] && write[0].smem};
  assign vmem_sel = (want_vmem == 2'b11) ? !vmem_last_q : want_vmem[1];
  assign smem_sel = (want_smem == 2'b11) ? !smem_last_q : want_smem[1];
  assign vmem_wr_valid_o = want_vmem != '0;
  assign smem_wr_valid_o = want_smem != '0;
  assign write_gnt[0] = (want_vmem[0] && !vmem_sel && vmem_wr_gnt_i) || (want_smem[0] && !smem_sel && smem_wr_gnt_i);
  assign write_gnt[1] = (want_vmem[1] && vmem_sel && vmem_wr_gnt_i) || (want_smem[1] && smem_sel && smem_wr_gnt_i);
  always_comb begin
    vmem_wr_addr_o = '0;
    vmem_wr_wdata_o = '0;
    vmem_wr_be_o = '0;
    if (vmem_wr_valid_o) begin
      vmem_wr_addr_o = write[vmem_sel].addr[VmemAddrW-1:0];
      vmem_wr_wdata_o = write[vmem_sel].data;
      vmem_wr_be_o = write[vmem_sel].be;
    end
  end
  always_comb begin
    smem_wr_addr_o = '0;
    smem_wr_wdata_o = '0;
    smem_wr_be_o = '0;
    if (smem_wr_valid_o) begin
      smem_wr_addr_o = write[smem_sel].addr[SmemAddrW-1:0];
      smem_wr_wdata_o = write[smem_sel].data[BeatW-1:0];
      smem_wr_be_o = write[smem_sel].be[BeatBytes-1:0];
    end
  end

  // Completion.
  tpu_dma_order u_order (
    .clk_i,
    .rst_ni,
    .abort_i,
    .clear_i,
    .start_i          (start),
    .ready_o,
    .slot_o           (slot),
    .occupied_o       (occupied),
    .failed_o         (failed),
    .kill_o           (kill),
    .done_valid_o,
    .done_ready_i,
    .done_code_o,
    .done_detail0_o,
    .done_detail1_o,
    .done_bytes_o,
    .checked_i        (checked),
    .checked_owner_i  (checked_owner),
    .checked_code_i   (checked_code),
    .checked_detail0_i(checked_detail0),
    .checked_detail1_i(checked_detail1),
    .load_i           (load),
    .load_local_i     (load_local),
    .load_owner_i     (load_owner),
    .issued_i         (issued),
    .issued_owner_i   (issued_owner),
    .issued_bytes_i   (issued_bytes),
    .pend_hbm_o       (pend_hbm),
    .pend_local_o     (pend_local),
    .landed_i         ({empty_done, answered, write_gnt[1] && write[1].last, write_gnt[0] && write[0].last}),
    .landed_owner_i   ({empty_owner, answered_owner, write[1].owner, write[0].owner}),
    .bus_error_i      ({error_write, error_read}),
    .bus_error_owner_i({answered_owner, error_read_owner}),
    .bus_error_addr_i ({error_write_addr, error_read_addr})
  );
  assign done_work_o = '0;

  // A channel whose commands are gone is idle, unless they were dropped and left something behind.
  assign quiet = !(issue_busy || ar_busy || local_busy || write_busy || mover_busy != '0);
  assign idle_o = ~occupied & ({DmaChannels{quiet}} | ~(failed | {DmaChannels{abort_i || abort_q}}));

  // Held up by a memory. A read address that waits holds up whoever has a command.
  always_comb begin
    stall_o = local_stall | write_stall | ({DmaChannels{ar_stall}} & occupied);
    for (int unsigned m = 0; m < 2; m++) if (write_valid[m] && !write_gnt[m]) stall_o[write[m].owner.ch] = 1'b1;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      vmem_last_q <= 1'b0;
      smem_last_q <= 1'b0;
      abort_q     <= 1'b0;
    end else begin
      if (vmem_wr_gnt_i && vmem_wr_valid_o) vmem_last_q <= vmem_sel;
      if (smem_wr_gnt_i && smem_wr_valid_o) smem_last_q <= smem_sel;
      if (abort_i) abort_q <= 1'b1;
      else if (quiet) abort_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = &{1'b0, half[0], free[0], mover_error[1], mover_error_owner[1], mover_error_addr[1]};

endmodule
