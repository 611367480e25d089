// SPDX-License-Identifier: MIT
//
// Four DMA channels between HBM, VMEM and SMEM: strided rows with three outer dimensions, any
// alignment and length, fill, 16 bytes a cycle into and out of HBM at once. See README.md for how
// it works, and docs/contract.md for what it does. This file connects its parts and shares the
// local write ports.

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

  logic clk, clk_store;
  ch_mask_t kill, failed, occupied, pend_hbm, pend_local, start;
  slot_t [DmaChannels-1:0] slot;
  logic quiet, abort_q;
  assign start = start_i & ready_o;

  // Readers of lists of indices: 0 the check, 1 the walk.
  logic [1:0] list_valid, list_gnt, list_answer;
  logic [1:0][SmemAddrW-1:0] list_addr;

  // Start checks.
  logic checked, checked_empty, checked_pass;
  owner_t checked_owner;
  logic [1:0] checked_prio;
  tpu_dma_cmd_t checked_cmd;
  logic [7:0] checked_code;
  logic [31:0] checked_detail0, checked_detail1;
  assign checked_pass = checked && checked_code == TPU_ERROR_NONE;

  tpu_dma_check u_check (
    .clk_i(clk),
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
    .detail1_o(checked_detail1),
    .list_valid_o    (list_valid[0]),
    .list_addr_o     (list_addr[0]),
    .list_gnt_i      (list_gnt[0]),
    .list_rsp_valid_i(list_answer[0]),
    .list_rsp_data_i (smem_rd_rsp_data_i)
  );

  // Segments.
  logic load, load_local, empty_done, issued, issue_busy, beat_done, ar_done;
  owner_t load_owner, issued_owner, empty_owner;
  logic [47:0] issued_bytes;
  logic [1:0] segment_valid, segment_done;
  segment_t segment;
  logic index_ready, index_start, index_stop, index_busy, offset_valid, offset_take;
  logic [31:0] index_list, index_stride, offset;
  logic [15:0] index_rows;
  ch_t offset_ch;
  ch_mask_t drop;
  assign drop = kill | {DmaChannels{abort_i}};

  tpu_dma_issue u_issue (
    .clk_i(clk),
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
    .index_ready_i  (index_ready),
    .index_start_o  (index_start),
    .index_list_o   (index_list),
    .index_rows_o   (index_rows),
    .index_stride_o (index_stride),
    .index_stop_o   (index_stop),
    .offset_valid_i (offset_valid),
    .offset_ch_i    (offset_ch),
    .offset_i       (offset),
    .offset_take_o  (offset_take),
    .segment_valid_o(segment_valid),
    .segment_o      (segment),
    .segment_done_i (segment_done),
    .beat_done_i    (beat_done),
    .ar_done_i      (ar_done),
    .busy_o         (issue_busy)
  );

  tpu_dma_index u_index (
    .clk_i(clk),
    .rst_ni,
    .kill_i        (drop),
    .ready_o       (index_ready),
    .start_i       (index_start),
    .ch_i          (load_owner.ch),
    .list_i        (index_list),
    .rows_i        (index_rows),
    .stride_i      (index_stride),
    .stop_i        (index_stop),
    .offset_valid_o(offset_valid),
    .offset_ch_o   (offset_ch),
    .offset_o      (offset),
    .offset_take_i (offset_take),
    .list_valid_o    (list_valid[1]),
    .list_addr_o     (list_addr[1]),
    .list_gnt_i      (list_gnt[1]),
    .list_rsp_valid_i(list_answer[1]),
    .list_rsp_data_i (smem_rd_rsp_data_i),
    .busy_o          (index_busy)
  );

  // The SMEM read port: lists first, they take little of it. Two cycles after a grant its answer
  // goes to who had it.
  logic local_smem_valid, local_smem_gnt, local_smem_answer;
  logic [SmemAddrW-1:0] local_smem_addr;
  logic [1:0] list_sel;
  logic [1:0][1:0] list_way_q;  // grants of the last two cycles
  assign list_sel = list_valid[1] ? 2'b10 : list_valid;
  assign smem_rd_valid_o = local_smem_valid || list_valid != '0;
  assign smem_rd_addr_o = list_sel[1] ? list_addr[1] : list_sel[0] ? list_addr[0] : local_smem_addr;
  assign list_gnt = list_sel & {2{smem_rd_gnt_i}};
  assign local_smem_gnt = smem_rd_gnt_i && list_sel == '0;
  assign list_answer = list_way_q[1] & {2{smem_rd_rsp_valid_i}};
  assign local_smem_answer = smem_rd_rsp_valid_i && list_way_q[1] == '0;
  always_ff @(posedge clk) begin
    if (!rst_ni) list_way_q <= '0;
    else if (list_gnt != '0 || list_way_q != '0) list_way_q <= {list_way_q[0], list_gnt};
  end

  // Sources.
  logic [BufferW:0] hbm_avail, local_avail;
  logic hbm_take, hbm_half, hbm_free, local_take, local_half, local_free;
  beat_t hbm_data, local_data;
  logic hbm_error, ar_busy, ar_stall, local_busy;
  ch_mask_t local_stall;

  tpu_dma_hbm_read u_hbm_read (
    .clk_i(clk),
    .rst_ni,
    .burst_valid_i(segment_valid[0] && !segment.fill),
    .burst_addr_i (segment.word),
    .burst_beats_i(segment.src_beats),
    .ar_done_o    (ar_done),
    .avail_o      (hbm_avail),
    .take_i       (hbm_take),
    .data_o       (hbm_data),
    .error_o      (hbm_error),
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
  assign beat_done = hbm_take;

  tpu_dma_local_read u_local_read (
    .clk_i(clk_store),
    .rst_ni,
    .burst_valid_i(segment_valid[1] && !segment.fill),
    .burst_smem_i (segment.src_smem),
    .burst_addr_i (segment.word),
    .burst_beats_i(segment.src_beats),
    .burst_ch_i   (segment.owner.ch),
    .avail_o      (local_avail),
    .take_i       (local_take),
    .half_i       (local_half),
    .free_i       (local_free),
    .data_o       (local_data),
    .busy_o       (local_busy),
    .stall_o      (local_stall),
    .vmem_rd_valid_o,
    .vmem_rd_addr_o,
    .vmem_rd_gnt_i,
    .vmem_rd_rsp_valid_i,
    .vmem_rd_rsp_data_i,
    .smem_rd_valid_o    (local_smem_valid),
    .smem_rd_addr_o     (local_smem_addr),
    .smem_rd_gnt_i      (local_smem_gnt),
    .smem_rd_rsp_valid_i(local_smem_answer),
    .smem_rd_rsp_data_i
  );

  // Movers.
  logic from_hbm_valid, from_hbm_ready, from_hbm_open;
  logic from_local_valid, from_local_ready, from_local_open;
  hbm_write_t from_hbm, from_local;
  logic hbm_write_valid, hbm_write_gnt, local_write_valid, local_write_gnt;
  local_write_t hbm_write, local_write;
  logic read_error, no_error, hbm_mover_busy, local_mover_busy;
  owner_t read_error_owner, no_error_owner;
  logic [31:0] read_error_addr, no_error_addr;

  tpu_dma_mover #(
    .SegDepth  (DmaOutstanding),
    .WholeBurst(1'b1)
  ) u_from_hbm (
    .clk_i(clk),
    .rst_ni,
    .kill_i         (drop),
    .hold_i         (pend_local),
    .segment_valid_i(segment_valid[0]),
    .segment_i      (segment),
    .segment_done_o (segment_done[0]),
    .src_avail_i    (hbm_avail),
    .src_take_o     (hbm_take),
    .src_half_o     (hbm_half),
    .src_free_o     (hbm_free),
    .src_data_i     (hbm_data),
    .src_error_i    (hbm_error),
    .error_o        (read_error),
    .error_owner_o  (read_error_owner),
    .error_addr_o   (read_error_addr),
    .hbm_valid_o    (from_hbm_valid),
    .hbm_o          (from_hbm),
    .hbm_ready_i    (from_hbm_ready),
    .hbm_open_i     (from_hbm_open),
    .local_valid_o  (hbm_write_valid),
    .local_o        (hbm_write),
    .local_gnt_i    (hbm_write_gnt),
    .busy_o         (hbm_mover_busy)
  );

  tpu_dma_mover #(
    .SegDepth  (LocalSegs),
    .WholeBurst(1'b0)
  ) u_from_local (
    .clk_i(clk_store),
    .rst_ni,
    .kill_i         (drop),
    .hold_i         ('0),
    .segment_valid_i(segment_valid[1]),
    .segment_i      (segment),
    .segment_done_o (segment_done[1]),
    .src_avail_i    (local_avail),
    .src_take_o     (local_take),
    .src_half_o     (local_half),
    .src_free_o     (local_free),
    .src_data_i     (local_data),
    .src_error_i    (1'b0),
    .error_o        (no_error),
    .error_owner_o  (no_error_owner),
    .error_addr_o   (no_error_addr),
    .hbm_valid_o    (from_local_valid),
    .hbm_o          (from_local),
    .hbm_ready_i    (from_local_ready),
    .hbm_open_i     (from_local_open),
    .local_valid_o  (local_write_valid),
    .local_o        (local_write),
    .local_gnt_i    (local_write_gnt),
    .busy_o         (local_mover_busy)
  );

  // HBM writes.
  logic answered, write_error, write_busy;
  owner_t answered_owner;
  logic [31:0] write_error_addr;
  ch_mask_t write_stall;

  tpu_dma_hbm_write u_hbm_write (
    .clk_i(clk_store),
    .rst_ni,
    .from_hbm_valid_i  (from_hbm_valid),
    .from_hbm_i        (from_hbm),
    .from_hbm_ready_o  (from_hbm_ready),
    .from_hbm_open_o   (from_hbm_open),
    .from_local_valid_i(from_local_valid),
    .from_local_i      (from_local),
    .from_local_ready_o(from_local_ready),
    .from_local_open_o (from_local_open),
    .landed_o    (answered),
    .error_o     (write_error),
    .owner_o     (answered_owner),
    .error_addr_o(write_error_addr),
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
  logic vmem_sel, smem_sel, vmem_last_q, smem_last_q;
  always_comb begin
    vmem_sel = 1'b0;
    smem_sel = 1'b0;
    vmem_wr_valid_o = 1'b0;
    smem_wr_valid_o = 1'b0;
    if (hbm_write_valid || local_write_valid) begin
      vmem_wr_valid_o = (hbm_write_valid && !hbm_write.smem) ||
                        (local_write_valid && !local_write.smem);
      smem_wr_valid_o = (hbm_write_valid && hbm_write.smem) ||
                        (local_write_valid && local_write.smem);
      // Both want the same memory: in turn. Else whoever wants it.
      if (hbm_write_valid && local_write_valid && hbm_write.smem == local_write.smem) begin
        vmem_sel = !vmem_last_q;
        smem_sel = !smem_last_q;
      end else begin
        vmem_sel = local_write_valid && !local_write.smem;
        smem_sel = local_write_valid && local_write.smem;
      end
    end
  end
  // In a block of their own: the grants depend on the choice through the memories' arbiters.
  assign hbm_write_gnt =
    hbm_write_valid && (hbm_write.smem ? !smem_sel && smem_wr_gnt_i : !vmem_sel && vmem_wr_gnt_i);
  assign local_write_gnt =
    local_write_valid && (local_write.smem ? smem_sel && smem_wr_gnt_i : vmem_sel && vmem_wr_gnt_i);
  always_comb begin
    vmem_wr_addr_o = '0;
    vmem_wr_wdata_o = '0;
    vmem_wr_be_o = '0;
    if (vmem_wr_valid_o) begin
      vmem_wr_addr_o = vmem_sel ? local_write.addr[VmemAddrW-1:0] : hbm_write.addr[VmemAddrW-1:0];
      vmem_wr_wdata_o = vmem_sel ? local_write.data : hbm_write.data;
      vmem_wr_be_o = vmem_sel ? local_write.be : hbm_write.be;
    end
  end
  always_comb begin
    smem_wr_addr_o = '0;
    smem_wr_wdata_o = '0;
    smem_wr_be_o = '0;
    if (smem_wr_valid_o) begin
      smem_wr_addr_o = smem_sel ? local_write.addr[SmemAddrW-1:0] : hbm_write.addr[SmemAddrW-1:0];
      smem_wr_wdata_o = smem_sel ? local_write.data[BeatW-1:0] : hbm_write.data[BeatW-1:0];
      smem_wr_be_o = smem_sel ? local_write.be[BeatBytes-1:0] : hbm_write.be[BeatBytes-1:0];
    end
  end

  // Completion.
  tpu_dma_order u_order (
    .clk_i(clk),
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
    .landed_from_hbm_i        (hbm_write_gnt && hbm_write.last),
    .landed_from_hbm_owner_i  (hbm_write.owner),
    .landed_from_local_i      (local_write_gnt && local_write.last),
    .landed_from_local_owner_i(local_write.owner),
    .landed_answer_i          (answered),
    .landed_answer_owner_i    (answered_owner),
    .landed_empty_i           (empty_done),
    .landed_empty_owner_i     (empty_owner),
    .read_error_i             (read_error),
    .read_error_owner_i       (read_error_owner),
    .read_error_addr_i        (read_error_addr),
    .write_error_i            (write_error),
    .write_error_owner_i      (answered_owner),
    .write_error_addr_i       (write_error_addr)
  );
  assign done_work_o = '0;

  // A channel whose commands are gone is idle, unless they were dropped and left something behind.
  always_comb begin
    quiet = 1'b0;
    idle_o = ~occupied;
    if (failed != '0 || abort_i || abort_q) begin
      quiet = !(issue_busy || ar_busy || local_busy || write_busy || hbm_mover_busy ||
                local_mover_busy || index_busy);
      if (!quiet) idle_o = ~(occupied | failed | {DmaChannels{abort_i || abort_q}});
    end
  end

  // Held up by a memory. A read address that waits holds up whoever has a command.
  always_comb begin
    stall_o = '0;
    if (occupied != '0) begin
      stall_o = local_stall | write_stall;
      if (ar_stall) stall_o = stall_o | occupied;
      if (hbm_write_valid && !hbm_write_gnt) stall_o[hbm_write.owner.ch] = 1'b1;
      if (local_write_valid && !local_write_gnt) stall_o[local_write.owner.ch] = 1'b1;
    end
  end

  always_ff @(posedge clk) begin
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

  // Nothing changes without a command. Local sources and writes to HBM, used less than reads, rest
  // by themselves.
  tpu_clock_gate u_clock (
    .clk_i,
    .en_i (~rst_ni | abort_i | abort_q | clear_i | (start_i != '0) | (occupied != '0) |
           (ready_o != '1) | index_busy | (list_way_q != '0)),
    .clk_o(clk)
  );
  tpu_clock_gate u_clock_store (
    .clk_i,
    .en_i (~rst_ni | segment_valid[1] | local_busy | local_mover_busy | from_hbm_valid |
           write_busy),
    .clk_o(clk_store)
  );

  // Only HBM reads can fail, and their beats have no halves.
  logic unused;
  assign unused = &{1'b0, hbm_half, hbm_free, no_error, no_error_owner, no_error_addr};

endmodule
