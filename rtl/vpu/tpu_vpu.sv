// SPDX-License-Identifier: MIT
//
// The vector unit: runs vector programs (docs/contract.md, section 6).

module tpu_vpu
  import tpu_vpu_pkg::*;
(
  input  logic                                   clk_i,
  input  logic                                   rst_ni,

  // Engine port.
  input  logic                                   start_i,
  input  tpu_pkg::tpu_vpu_cmd_t                  cmd_i,
  output logic                                   ready_o,
  output logic                                   done_valid_o,
  input  logic                                   done_ready_i,
  output logic [7:0]                             done_code_o,
  output logic [31:0]                            done_detail0_o,
  output logic [31:0]                            done_detail1_o,
  output logic [47:0]                            done_bytes_o,
  output logic [47:0]                            done_work_o,
  output logic                                   stall_o,
  input  logic                                   abort_i,
  output logic                                   idle_o,
  input  logic                                   clear_i,

  // Program memory, 32-bit words: the scalar core's view.
  input  logic                                   prog_valid_i,
  input  logic                                   prog_we_i,
  input  logic [10:0]                            prog_addr_i,
  input  logic [31:0]                            prog_wdata_i,
  output logic                                   prog_rsp_valid_o,
  output logic [31:0]                            prog_rsp_data_o,

  // VMEM, one port a word of a row.
  output logic [Words-1:0]                       vld_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0]     vld_addr_o,
  input  logic [Words-1:0]                       vld_gnt_i,
  input  logic [Words-1:0]                       vld_rsp_valid_i,
  input  logic [Words-1:0][WordBits-1:0]         vld_rsp_data_i,

  output logic [Words-1:0]                       vst_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0]     vst_addr_o,
  output logic [Words-1:0][WordBits-1:0]         vst_wdata_o,
  output logic [Words-1:0][WordBits/8-1:0]       vst_be_o,
  input  logic [Words-1:0]                       vst_gnt_i,

  // SMEM, whole words.
  output logic                                   smem_valid_o,
  output logic [SmemAddrBits-1:0]                smem_addr_o,
  input  logic                                   smem_gnt_i,
  input  logic                                   smem_rsp_valid_i,
  input  logic [SmemWordBits-1:0]                smem_rsp_data_i,

  // ACC. Read data comes exactly two cycles after the grant.
  output logic                                   acc_rd_valid_o,
  output logic [AccRowBits-1:0]                  acc_rd_row_o,
  input  logic                                   acc_rd_gnt_i,
  input  logic [tpu_config_pkg::Lanes*32-1:0]    acc_rd_data_i,

  output logic                                   acc_wr_valid_o,
  output logic [AccRowBits-1:0]                  acc_wr_row_o,
  output logic [tpu_config_pkg::Lanes-1:0]       acc_wr_mask_o,
  output logic [tpu_config_pkg::Lanes*32-1:0]    acc_wr_data_o,
  input  logic                                   acc_wr_gnt_i
);
endmodule
