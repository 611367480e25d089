// SPDX-License-Identifier: MIT
//
// Four DMA channels between HBM, VMEM and SMEM. See README.md.

module tpu_dma
  import tpu_pkg::*;
  import tpu_config_pkg::*;
#(
  localparam int unsigned VmemAddrW = $clog2(VmemBytes / VmemWordBytes),
  localparam int unsigned SmemAddrW = $clog2(SmemBytes / HbmPortBytes)
) (
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
endmodule
