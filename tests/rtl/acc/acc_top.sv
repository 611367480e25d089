// SPDX-License-Identifier: MIT
//
// ACC with the sizes of its configuration as outputs.

module acc_top
  import tpu_config_pkg::*;
#(
  localparam int unsigned RowW = $clog2(AccRows)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  output logic [31:0]       dim_o,
  output logic [31:0]       bf16_o,
  output logic [31:0]       acc_rows_o,
  input  logic              mxu_valid_i,
  output logic              mxu_ready_o,
  input  logic [RowW-1:0]   mxu_row_i,
  input  logic              mxu_accumulate_i,
  input  logic              mxu_int8_i,
  input  logic [Dim-1:0]    mxu_mask_i,
  input  logic [Dim*32-1:0] mxu_data_i,
  input  logic              rd_valid_i,
  input  logic [RowW-1:0]   rd_row_i,
  output logic              rd_gnt_o,
  output logic              rd_rsp_valid_o,
  output logic [Dim*32-1:0] rd_rsp_data_o,
  input  logic              wr_valid_i,
  input  logic [RowW-1:0]   wr_row_i,
  input  logic [Dim-1:0]    wr_mask_i,
  input  logic [Dim*32-1:0] wr_data_i,
  output logic              wr_gnt_o
);

  assign dim_o      = Dim;
  assign bf16_o     = MxuBf16;
  assign acc_rows_o = AccRows;

  tpu_acc u_acc (.*);

endmodule
