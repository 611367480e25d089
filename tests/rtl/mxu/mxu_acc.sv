// SPDX-License-Identifier: MIT
//
// The MXU and ACC as they are joined in the TPU, with VMEM and the VPU's ports left to the
// testbench. The sizes of the configuration are outputs, so that one testbench serves all.

module mxu_acc
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,

  output logic [31:0]                dim_o,
  output logic [31:0]                bf16_o,
  output logic [31:0]                vmem_bytes_o,
  output logic [31:0]                vmem_banks_o,
  output logic [31:0]                word_bytes_o,
  output logic [31:0]                acc_rows_o,

  input  logic                       start_i,
  input  logic [31:0]                a_i,
  input  logic [31:0]                b_i,
  input  logic [31:0]                c_i,
  input  logic [31:0]                a_pitch_i,
  input  logic [31:0]                b_pitch_i,
  input  logic [31:0]                c_pitch_i,
  input  logic [19:0]                m_i,
  input  logic [19:0]                n_i,
  input  logic [19:0]                k_i,
  input  logic                       bf16_i,
  input  logic                       transpose_i,
  input  logic                       accumulate_i,
  output logic                       ready_o,
  output logic                       done_valid_o,
  input  logic                       done_ready_i,
  output logic [7:0]                 done_code_o,
  output logic [31:0]                done_detail0_o,
  output logic [31:0]                done_detail1_o,
  output logic [47:0]                done_work_o,
  output logic                       stall_o,
  input  logic                       abort_i,
  output logic                       idle_o,
  input  logic                       clear_i,

  output logic                       stream_valid_o,
  output logic [WordAddrW-1:0]       stream_addr_o,
  input  logic                       stream_gnt_i,
  input  logic                       stream_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] stream_rsp_data_i,
  output logic                       weight_valid_o,
  output logic                       weight_urgent_o,
  output logic [WordAddrW-1:0]       weight_addr_o,
  input  logic                       weight_gnt_i,
  input  logic                       weight_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] weight_rsp_data_i,

  input  logic                       acc_stall_i,  // ACC takes no row in this cycle
  input  logic                       rd_valid_i,
  input  logic [AccW-1:0]            rd_row_i,
  output logic                       rd_gnt_o,
  output logic                       rd_rsp_valid_o,
  output logic [Dim*32-1:0]          rd_rsp_data_o,
  input  logic                       wr_valid_i,
  input  logic [AccW-1:0]            wr_row_i,
  input  logic [Dim-1:0]             wr_mask_i,
  input  logic [Dim*32-1:0]          wr_data_i,
  output logic                       wr_gnt_o
);

  assign dim_o        = Dim;
  assign bf16_o       = MxuBf16;
  assign vmem_bytes_o = VmemBytes;
  assign vmem_banks_o = VmemBanks;
  assign word_bytes_o = VmemWordBytes;
  assign acc_rows_o   = AccRows;

  tpu_pkg::tpu_mxu_cmd_t cmd;
  assign cmd.a                = a_i;
  assign cmd.b                = b_i;
  assign cmd.c                = c_i;
  assign cmd.a_pitch          = a_pitch_i;
  assign cmd.b_pitch          = b_pitch_i;
  assign cmd.c_pitch          = c_pitch_i;
  assign cmd.m                = m_i;
  assign cmd.n                = n_i;
  assign cmd.k                = k_i;
  assign cmd.mode_dtype       = bf16_i;
  assign cmd.mode_transpose_b = transpose_i;
  assign cmd.mode_accumulate  = accumulate_i;

  logic mxu_valid, mxu_ready, acc_ready, mxu_accumulate, mxu_int8;
  logic [AccW-1:0] mxu_row;
  logic [Dim-1:0] mxu_mask;
  logic [Dim*32-1:0] mxu_data;
  logic [47:0] unused_bytes;

  assign mxu_ready = acc_ready & ~acc_stall_i;

  tpu_mxu u_mxu (
    .clk_i,
    .rst_ni,
    .start_i,
    .cmd_i             (cmd),
    .ready_o,
    .done_valid_o,
    .done_ready_i,
    .done_code_o,
    .done_detail0_o,
    .done_detail1_o,
    .done_bytes_o      (unused_bytes),
    .done_work_o,
    .stall_o,
    .abort_i,
    .idle_o,
    .clear_i,
    .stream_valid_o,
    .stream_addr_o,
    .stream_gnt_i,
    .stream_rsp_valid_i,
    .stream_rsp_data_i,
    .weight_valid_o,
    .weight_urgent_o,
    .weight_addr_o,
    .weight_gnt_i,
    .weight_rsp_valid_i,
    .weight_rsp_data_i,
    .acc_valid_o       (mxu_valid),
    .acc_ready_i       (mxu_ready),
    .acc_row_o         (mxu_row),
    .acc_accumulate_o  (mxu_accumulate),
    .acc_int8_o        (mxu_int8),
    .acc_mask_o        (mxu_mask),
    .acc_data_o        (mxu_data)
  );

  tpu_acc u_acc (
    .clk_i,
    .rst_ni,
    .mxu_valid_i     (mxu_valid & ~acc_stall_i),
    .mxu_ready_o     (acc_ready),
    .mxu_row_i       (mxu_row),
    .mxu_accumulate_i(mxu_accumulate),
    .mxu_int8_i      (mxu_int8),
    .mxu_mask_i      (mxu_mask),
    .mxu_data_i      (mxu_data),
    .rd_valid_i,
    .rd_row_i,
    .rd_gnt_o,
    .rd_rsp_valid_o,
    .rd_rsp_data_o,
    .wr_valid_i,
    .wr_row_i,
    .wr_mask_i,
    .wr_data_i,
    .wr_gnt_o
  );

endmodule
