// SPDX-License-Identifier: MIT
module tpu_frontend
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
  localparam int unsigned VmemBits = VmemWordBytes * 8,
  localparam int unsigned VmemAddrBits = $clog2(VmemBytes / VmemWordBytes),
  localparam int unsigned SmemBits = HbmPortBytes * 8,
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes)
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic [63:0]                           cycle_i,

  // Scalar core. mmio_addr_i is the byte address of the access, mmio_be_i its bytes within the aligned
  // word, data in their lanes. A request is held until ready.
  input  logic                                  mmio_valid_i,
  input  logic                                  mmio_we_i,
  input  logic [23:0]                           mmio_addr_i,
  input  logic [3:0]                            mmio_be_i,
  input  logic [31:0]                           mmio_wdata_i,
  output logic                                  mmio_ready_o,
  output logic [31:0]                           mmio_rdata_o,
  output logic                                  irq_o,
  output logic                                  idle_o,
  output logic                                  blocked_o,
  output logic [15:0]                           hbm_latency_o,

  // Engine ports, index = queue.
  output logic [Engines-1:0]                    eng_start_o,
  input  logic [Engines-1:0]                    eng_ready_i,
  output tpu_dma_cmd_t [3:0]                    dma_cmd_o,
  output logic [3:0][1:0]                       dma_prio_o,
  output tpu_mxu_cmd_t                          mxu_cmd_o,
  output tpu_vpu_cmd_t                          vpu_cmd_o,
  input  logic [Engines-1:0]                    eng_done_valid_i,
  output logic [Engines-1:0]                    eng_done_ready_o,
  input  logic [Engines-1:0][7:0]               eng_done_code_i,
  input  logic [Engines-1:0][31:0]              eng_done_detail0_i,
  input  logic [Engines-1:0][31:0]              eng_done_detail1_i,
  input  logic [Engines-1:0][47:0]              eng_done_bytes_i,
  input  logic [Engines-1:0][47:0]              eng_done_work_i,
  input  logic [Engines-1:0]                    eng_stall_i,
  input  logic [Engines-1:0]                    eng_idle_i,
  output logic                                  eng_abort_o,
  output logic                                  eng_clear_o,

  // Vector program memory.
  output logic                                  prog_valid_o,
  output logic                                  prog_we_o,
  output logic [10:0]                           prog_addr_o,
  output logic [31:0]                           prog_wdata_o,
  input  logic                                  prog_rsp_valid_i,
  input  logic [31:0]                           prog_rsp_data_i,

  // Scalar ports of VMEM and SMEM.
  output logic                                  vmem_valid_o,
  output logic                                  vmem_we_o,
  output logic [VmemAddrBits-1:0]               vmem_addr_o,
  output logic [VmemBits-1:0]                   vmem_wdata_o,
  output logic [VmemWordBytes-1:0]              vmem_be_o,
  input  logic                                  vmem_gnt_i,
  input  logic                                  vmem_rsp_valid_i,
  input  logic [VmemBits-1:0]                   vmem_rsp_data_i,
  output logic                                  smem_valid_o,
  output logic                                  smem_we_o,
  output logic [SmemAddrBits-1:0]               smem_addr_o,
  output logic [SmemBits-1:0]                   smem_wdata_o,
  output logic [HbmPortBytes-1:0]               smem_be_o,
  input  logic                                  smem_gnt_i,
  input  logic                                  smem_rsp_valid_i,
  input  logic [SmemBits-1:0]                   smem_rsp_data_i,

  // Trace.
  output logic                                  trace_any_o,
  output logic [TraceSlots-1:0]                 trace_valid_o,
  output logic [TraceSlots-1:0][TraceBits-1:0]  trace_data_o
);
endmodule
