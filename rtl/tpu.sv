// SPDX-License-Identifier: MIT
//
// The TPU: front end, four DMA channels, MXU with its accumulators, VPU, VMEM and SMEM. No logic of
// its own; this file is the drawing of the chip. See README.md for the ports.

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
endmodule
