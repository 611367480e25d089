// SPDX-License-Identifier: MIT
//
// The TPU: front end, four DMA channels, MXU with its accumulators, VPU, VMEM and SMEM. No logic of
// its own; this file is the drawing of the chip. See README.md for the ports.
//
//   mmio, irq -- tpu_frontend --+-- tpu_dma --+-- HBM
//                               |             +-- tpu_vmem, tpu_smem
//                               +-- tpu_mxu --+-- tpu_vmem, tpu_acc
//                               +-- tpu_vpu --+-- tpu_vmem, tpu_smem, tpu_acc

module tpu
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
(
  input  logic                                 clk_i,
  input  logic                                 rst_ni,
  input  logic [63:0]                          cycle_i,

  input  logic                                 mmio_valid_i,
  input  logic                                 mmio_we_i,
  input  logic [23:0]                          mmio_addr_i,
  input  logic [3:0]                           mmio_be_i,
  input  logic [31:0]                          mmio_wdata_i,
  output logic                                 mmio_ready_o,
  output logic [31:0]                          mmio_rdata_o,

  output logic                                 irq_o,
  output logic                                 idle_o,
  output logic                                 blocked_o,
  input  logic [15:0]                          hbm_latency_reset_i,  // a constant; 100 is the contract's
  output logic [15:0]                          hbm_latency_o,

  output logic                                 hbm_ar_valid_o,
  input  logic                                 hbm_ar_ready_i,
  output logic [31:0]                          hbm_ar_addr_o,
  output logic [7:0]                           hbm_ar_len_o,
  output logic [7:0]                           hbm_ar_id_o,
  input  logic                                 hbm_r_valid_i,
  output logic                                 hbm_r_ready_o,
  input  logic [HbmPortBytes*8-1:0]            hbm_r_data_i,
  input  logic                                 hbm_r_last_i,
  input  logic [1:0]                           hbm_r_resp_i,
  input  logic [7:0]                           hbm_r_id_i,
  output logic                                 hbm_aw_valid_o,
  input  logic                                 hbm_aw_ready_i,
  output logic [31:0]                          hbm_aw_addr_o,
  output logic [7:0]                           hbm_aw_len_o,
  output logic [7:0]                           hbm_aw_id_o,
  output logic                                 hbm_w_valid_o,
  input  logic                                 hbm_w_ready_i,
  output logic [HbmPortBytes*8-1:0]            hbm_w_data_o,
  output logic [HbmPortBytes-1:0]              hbm_w_strb_o,
  output logic                                 hbm_w_last_o,
  input  logic                                 hbm_b_valid_i,
  output logic                                 hbm_b_ready_o,
  input  logic [1:0]                           hbm_b_resp_i,
  input  logic [7:0]                           hbm_b_id_i,

  output logic                                 trace_any_o,
  output logic [TraceSlots-1:0]                trace_valid_o,
  output logic [TraceSlots-1:0][TraceBits-1:0] trace_data_o
);

  localparam int unsigned VmemBits = VmemWordBytes * 8;
  localparam int unsigned VmemAddrBits = $clog2(VmemBytes / VmemWordBytes);
  localparam int unsigned SmemBits = HbmPortBytes * 8;
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes);
  localparam int unsigned AccRowBits = $clog2(AccRows);
  localparam int unsigned NV = (Lanes * 4 > VmemWordBytes) ? (Lanes * 4 / VmemWordBytes) : 1;

  // ---- front end ----

  logic [Engines-1:0] start, ready, done_valid, done_ready, stall, eng_idle;
  logic [Engines-1:0][7:0] done_code;
  logic [Engines-1:0][31:0] done_detail0, done_detail1;
  logic [Engines-1:0][47:0] done_bytes, done_work;
  logic eng_abort, eng_clear;
  tpu_dma_cmd_t [3:0] dma_cmd;
  logic [3:0][1:0] dma_prio;
  tpu_mxu_cmd_t mxu_cmd;
  tpu_vpu_cmd_t vpu_cmd;

  logic prog_valid, prog_we, prog_rsp_valid;
  logic [10:0] prog_addr;
  logic [31:0] prog_wdata, prog_rsp_data;

  logic sv_valid, sv_we, sv_gnt, sv_rsp_valid;  // scalar core to VMEM
  logic [VmemAddrBits-1:0] sv_addr;
  logic [VmemBits-1:0] sv_wdata, sv_rsp_data;
  logic [VmemWordBytes-1:0] sv_be;
  logic ss_valid, ss_we, ss_gnt, ss_rsp_valid;  // scalar core to SMEM
  logic [SmemAddrBits-1:0] ss_addr;
  logic [SmemBits-1:0] ss_wdata, ss_rsp_data;
  logic [HbmPortBytes-1:0] ss_be;

  logic fe_valid, fe_we, fe_ready, fe_idle, fe_blocked;
  logic [23:0] fe_addr;
  logic [3:0] fe_be;
  logic [31:0] fe_wdata, fe_rdata;

  tpu_mmio_slice u_mmio_slice (
    .clk_i,
    .rst_ni,
    .mmio_valid_i,
    .mmio_we_i,
    .mmio_addr_i,
    .mmio_be_i,
    .mmio_wdata_i,
    .mmio_ready_o,
    .mmio_rdata_o,
    .fe_valid_o (fe_valid),
    .fe_we_o    (fe_we),
    .fe_addr_o  (fe_addr),
    .fe_be_o    (fe_be),
    .fe_wdata_o (fe_wdata),
    .fe_ready_i (fe_ready),
    .fe_rdata_i (fe_rdata)
  );

  // An access under way may change everything.
  assign idle_o = fe_idle & ~fe_valid;
  assign blocked_o = fe_blocked & ~fe_valid;

  tpu_frontend u_frontend (
    .clk_i,
    .rst_ni,
    .cycle_i,
    .mmio_valid_i       (fe_valid),
    .mmio_we_i          (fe_we),
    .mmio_addr_i        (fe_addr),
    .mmio_be_i          (fe_be),
    .mmio_wdata_i       (fe_wdata),
    .mmio_ready_o       (fe_ready),
    .mmio_rdata_o       (fe_rdata),
    .irq_o,
    .idle_o             (fe_idle),
    .blocked_o          (fe_blocked),
    .hbm_latency_reset_i,
    .hbm_latency_o,
    .eng_start_o        (start),
    .eng_ready_i        (ready),
    .dma_cmd_o          (dma_cmd),
    .dma_prio_o         (dma_prio),
    .mxu_cmd_o          (mxu_cmd),
    .vpu_cmd_o          (vpu_cmd),
    .eng_done_valid_i   (done_valid),
    .eng_done_ready_o   (done_ready),
    .eng_done_code_i    (done_code),
    .eng_done_detail0_i (done_detail0),
    .eng_done_detail1_i (done_detail1),
    .eng_done_bytes_i   (done_bytes),
    .eng_done_work_i    (done_work),
    .eng_stall_i        (stall),
    .eng_idle_i         (eng_idle),
    .eng_abort_o        (eng_abort),
    .eng_clear_o        (eng_clear),
    .prog_valid_o       (prog_valid),
    .prog_we_o          (prog_we),
    .prog_addr_o        (prog_addr),
    .prog_wdata_o       (prog_wdata),
    .prog_rsp_valid_i   (prog_rsp_valid),
    .prog_rsp_data_i    (prog_rsp_data),
    .vmem_valid_o       (sv_valid),
    .vmem_we_o          (sv_we),
    .vmem_addr_o        (sv_addr),
    .vmem_wdata_o       (sv_wdata),
    .vmem_be_o          (sv_be),
    .vmem_gnt_i         (sv_gnt),
    .vmem_rsp_valid_i   (sv_rsp_valid),
    .vmem_rsp_data_i    (sv_rsp_data),
    .smem_valid_o       (ss_valid),
    .smem_we_o          (ss_we),
    .smem_addr_o        (ss_addr),
    .smem_wdata_o       (ss_wdata),
    .smem_be_o          (ss_be),
    .smem_gnt_i         (ss_gnt),
    .smem_rsp_valid_i   (ss_rsp_valid),
    .smem_rsp_data_i    (ss_rsp_data),
    .trace_any_o,
    .trace_valid_o,
    .trace_data_o
  );

  // ---- DMA ----

  logic dr_valid, dr_gnt, dr_rsp_valid, dw_valid, dw_gnt;  // DMA and VMEM
  logic [VmemAddrBits-1:0] dr_addr, dw_addr;
  logic [VmemBits-1:0] dr_rsp_data, dw_wdata;
  logic [VmemWordBytes-1:0] dw_be;
  logic sr_valid, sr_gnt, sr_rsp_valid, sw_valid, sw_gnt;  // DMA and SMEM
  logic [SmemAddrBits-1:0] sr_addr, sw_addr;
  logic [SmemBits-1:0] sr_rsp_data, sw_wdata;
  logic [HbmPortBytes-1:0] sw_be;

  tpu_dma u_dma (
    .clk_i,
    .rst_ni,
    .start_i             (start[3:0]),
    .cmd_i               (dma_cmd),
    .prio_i              (dma_prio),
    .ready_o             (ready[3:0]),
    .done_valid_o        (done_valid[3:0]),
    .done_ready_i        (done_ready[3:0]),
    .done_code_o         (done_code[3:0]),
    .done_detail0_o      (done_detail0[3:0]),
    .done_detail1_o      (done_detail1[3:0]),
    .done_bytes_o        (done_bytes[3:0]),
    .done_work_o         (done_work[3:0]),
    .stall_o             (stall[3:0]),
    .abort_i             (eng_abort),
    .idle_o              (eng_idle[3:0]),
    .clear_i             (eng_clear),
    .vmem_rd_valid_o     (dr_valid),
    .vmem_rd_addr_o      (dr_addr),
    .vmem_rd_gnt_i       (dr_gnt),
    .vmem_rd_rsp_valid_i (dr_rsp_valid),
    .vmem_rd_rsp_data_i  (dr_rsp_data),
    .vmem_wr_valid_o     (dw_valid),
    .vmem_wr_addr_o      (dw_addr),
    .vmem_wr_wdata_o     (dw_wdata),
    .vmem_wr_be_o        (dw_be),
    .vmem_wr_gnt_i       (dw_gnt),
    .smem_rd_valid_o     (sr_valid),
    .smem_rd_addr_o      (sr_addr),
    .smem_rd_gnt_i       (sr_gnt),
    .smem_rd_rsp_valid_i (sr_rsp_valid),
    .smem_rd_rsp_data_i  (sr_rsp_data),
    .smem_wr_valid_o     (sw_valid),
    .smem_wr_addr_o      (sw_addr),
    .smem_wr_wdata_o     (sw_wdata),
    .smem_wr_be_o        (sw_be),
    .smem_wr_gnt_i       (sw_gnt),
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
    .hbm_r_id_i,
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

  // ---- MXU ----

  logic st_valid, st_gnt, st_rsp_valid, we_valid, we_urgent, we_gnt, we_rsp_valid;
  logic [VmemAddrBits-1:0] st_addr, we_addr;
  logic [VmemBits-1:0] st_rsp_data, we_rsp_data;
  logic ma_valid, ma_ready, ma_accumulate, ma_int8;  // MXU to ACC
  logic [AccRowBits-1:0] ma_row;
  logic [Dim-1:0] ma_mask;
  logic [Dim*32-1:0] ma_data;

  tpu_mxu u_mxu (
    .clk_i,
    .rst_ni,
    .start_i            (start[QMxu]),
    .cmd_i              (mxu_cmd),
    .ready_o            (ready[QMxu]),
    .done_valid_o       (done_valid[QMxu]),
    .done_ready_i       (done_ready[QMxu]),
    .done_code_o        (done_code[QMxu]),
    .done_detail0_o     (done_detail0[QMxu]),
    .done_detail1_o     (done_detail1[QMxu]),
    .done_bytes_o       (done_bytes[QMxu]),
    .done_work_o        (done_work[QMxu]),
    .stall_o            (stall[QMxu]),
    .abort_i            (eng_abort),
    .idle_o             (eng_idle[QMxu]),
    .clear_i            (eng_clear),
    .stream_valid_o     (st_valid),
    .stream_addr_o      (st_addr),
    .stream_gnt_i       (st_gnt),
    .stream_rsp_valid_i (st_rsp_valid),
    .stream_rsp_data_i  (st_rsp_data),
    .weight_valid_o     (we_valid),
    .weight_urgent_o    (we_urgent),
    .weight_addr_o      (we_addr),
    .weight_gnt_i       (we_gnt),
    .weight_rsp_valid_i (we_rsp_valid),
    .weight_rsp_data_i  (we_rsp_data),
    .acc_valid_o        (ma_valid),
    .acc_ready_i        (ma_ready),
    .acc_row_o          (ma_row),
    .acc_accumulate_o   (ma_accumulate),
    .acc_int8_o         (ma_int8),
    .acc_mask_o         (ma_mask),
    .acc_data_o         (ma_data)
  );

  // ---- VPU ----

  logic [NV-1:0] vl_valid, vl_gnt, vl_rsp_valid, vs_valid, vs_gnt;
  logic [NV-1:0][VmemAddrBits-1:0] vl_addr, vs_addr;
  logic [NV-1:0][VmemBits-1:0] vl_rsp_data, vs_wdata;
  logic [NV-1:0][VmemWordBytes-1:0] vs_be;
  logic vx_valid, vx_gnt, vx_rsp_valid;  // VPU and SMEM
  logic [SmemAddrBits-1:0] vx_addr;
  logic [SmemBits-1:0] vx_rsp_data;
  logic ar_valid, ar_gnt, ar_rsp_valid, aw_valid, aw_gnt;  // VPU and ACC
  logic [AccRowBits-1:0] ar_row, aw_row;
  logic [Dim-1:0] aw_mask;
  logic [Dim*32-1:0] ar_data, aw_data;

  tpu_vpu u_vpu (
    .clk_i,
    .rst_ni,
    .start_i          (start[QVpu]),
    .cmd_i            (vpu_cmd),
    .ready_o          (ready[QVpu]),
    .done_valid_o     (done_valid[QVpu]),
    .done_ready_i     (done_ready[QVpu]),
    .done_code_o      (done_code[QVpu]),
    .done_detail0_o   (done_detail0[QVpu]),
    .done_detail1_o   (done_detail1[QVpu]),
    .done_bytes_o     (done_bytes[QVpu]),
    .done_work_o      (done_work[QVpu]),
    .stall_o          (stall[QVpu]),
    .abort_i          (eng_abort),
    .idle_o           (eng_idle[QVpu]),
    .clear_i          (eng_clear),
    .prog_valid_i     (prog_valid),
    .prog_we_i        (prog_we),
    .prog_addr_i      (prog_addr),
    .prog_wdata_i     (prog_wdata),
    .prog_rsp_valid_o (prog_rsp_valid),
    .prog_rsp_data_o  (prog_rsp_data),
    .vld_valid_o      (vl_valid),
    .vld_addr_o       (vl_addr),
    .vld_gnt_i        (vl_gnt),
    .vld_rsp_valid_i  (vl_rsp_valid),
    .vld_rsp_data_i   (vl_rsp_data),
    .vst_valid_o      (vs_valid),
    .vst_addr_o       (vs_addr),
    .vst_wdata_o      (vs_wdata),
    .vst_be_o         (vs_be),
    .vst_gnt_i        (vs_gnt),
    .smem_valid_o     (vx_valid),
    .smem_addr_o      (vx_addr),
    .smem_gnt_i       (vx_gnt),
    .smem_rsp_valid_i (vx_rsp_valid),
    .smem_rsp_data_i  (vx_rsp_data),
    .acc_rd_valid_o   (ar_valid),
    .acc_rd_row_o     (ar_row),
    .acc_rd_gnt_i     (ar_gnt),
    .acc_rd_rsp_valid_i (ar_rsp_valid),
    .acc_rd_rsp_data_i (ar_data),
    .acc_wr_valid_o   (aw_valid),
    .acc_wr_row_o     (aw_row),
    .acc_wr_mask_o    (aw_mask),
    .acc_wr_data_o    (aw_data),
    .acc_wr_gnt_i     (aw_gnt)
  );

  // ---- memories ----

  tpu_acc u_acc (
    .clk_i,
    .rst_ni,
    .mxu_valid_i      (ma_valid),
    .mxu_ready_o      (ma_ready),
    .mxu_row_i        (ma_row),
    .mxu_accumulate_i (ma_accumulate),
    .mxu_int8_i       (ma_int8),
    .mxu_mask_i       (ma_mask),
    .mxu_data_i       (ma_data),
    .rd_valid_i       (ar_valid),
    .rd_row_i         (ar_row),
    .rd_gnt_o         (ar_gnt),
    .rd_rsp_valid_o   (ar_rsp_valid),
    .rd_rsp_data_o    (ar_data),
    .wr_valid_i       (aw_valid),
    .wr_row_i         (aw_row),
    .wr_mask_i        (aw_mask),
    .wr_data_i        (aw_data),
    .wr_gnt_o         (aw_gnt)
  );

  tpu_vmem u_vmem (
    .clk_i,
    .rst_ni,
    .stream_valid_i     (st_valid),
    .stream_addr_i      (st_addr),
    .stream_gnt_o       (st_gnt),
    .stream_rsp_valid_o (st_rsp_valid),
    .stream_rsp_data_o  (st_rsp_data),
    .weight_valid_i     (we_valid),
    .weight_urgent_i    (we_urgent),
    .weight_addr_i      (we_addr),
    .weight_gnt_o       (we_gnt),
    .weight_rsp_valid_o (we_rsp_valid),
    .weight_rsp_data_o  (we_rsp_data),
    .dma_rd_valid_i     (dr_valid),
    .dma_rd_addr_i      (dr_addr),
    .dma_rd_gnt_o       (dr_gnt),
    .dma_rd_rsp_valid_o (dr_rsp_valid),
    .dma_rd_rsp_data_o  (dr_rsp_data),
    .dma_wr_valid_i     (dw_valid),
    .dma_wr_addr_i      (dw_addr),
    .dma_wr_wdata_i     (dw_wdata),
    .dma_wr_be_i        (dw_be),
    .dma_wr_gnt_o       (dw_gnt),
    .vld_valid_i        (vl_valid),
    .vld_addr_i         (vl_addr),
    .vld_gnt_o          (vl_gnt),
    .vld_rsp_valid_o    (vl_rsp_valid),
    .vld_rsp_data_o     (vl_rsp_data),
    .vst_valid_i        (vs_valid),
    .vst_addr_i         (vs_addr),
    .vst_wdata_i        (vs_wdata),
    .vst_be_i           (vs_be),
    .vst_gnt_o          (vs_gnt),
    .scalar_valid_i     (sv_valid),
    .scalar_we_i        (sv_we),
    .scalar_addr_i      (sv_addr),
    .scalar_wdata_i     (sv_wdata),
    .scalar_be_i        (sv_be),
    .scalar_gnt_o       (sv_gnt),
    .scalar_rsp_valid_o (sv_rsp_valid),
    .scalar_rsp_data_o  (sv_rsp_data)
  );

  tpu_smem u_smem (
    .clk_i,
    .rst_ni,
    .dma_rd_valid_i     (sr_valid),
    .dma_rd_addr_i      (sr_addr),
    .dma_rd_gnt_o       (sr_gnt),
    .dma_rd_rsp_valid_o (sr_rsp_valid),
    .dma_rd_rsp_data_o  (sr_rsp_data),
    .dma_wr_valid_i     (sw_valid),
    .dma_wr_addr_i      (sw_addr),
    .dma_wr_wdata_i     (sw_wdata),
    .dma_wr_be_i        (sw_be),
    .dma_wr_gnt_o       (sw_gnt),
    .vpu_valid_i        (vx_valid),
    .vpu_addr_i         (vx_addr),
    .vpu_gnt_o          (vx_gnt),
    .vpu_rsp_valid_o    (vx_rsp_valid),
    .vpu_rsp_data_o     (vx_rsp_data),
    .scalar_valid_i     (ss_valid),
    .scalar_we_i        (ss_we),
    .scalar_addr_i      (ss_addr),
    .scalar_wdata_i     (ss_wdata),
    .scalar_be_i        (ss_be),
    .scalar_gnt_o       (ss_gnt),
    .scalar_rsp_valid_o (ss_rsp_valid),
    .scalar_rsp_data_o  (ss_rsp_data)
  );

endmodule
