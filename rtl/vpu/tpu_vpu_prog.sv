// SPDX-License-Identifier: MIT
//
// Vector program memory: VpuProgram instructions of 64 bits, one port for instruction fetch, one for
// the scalar core's 32-bit view. The scalar core writes the low word of an instruction, then the
// high word; the low word waits in a register, so that an instruction changes in one cycle.
// Fetching an instruction in the cycle in which it changes gives either value.

module tpu_vpu_prog (
  input  logic                                          clk_i,
  input  logic                                          rst_ni,

  // Fetch, on the unit's gated clock: data in the next cycle, held while fetch_i is low.
  input  logic                                          clk_fetch_i,
  input  logic                                          fetch_i,
  input  logic [$clog2(tpu_config_pkg::VpuProgram)-1:0] fetch_addr_i,
  output logic [63:0]                                   fetch_data_o,

  // Scalar core: read data after two cycles.
  input  logic                                          prog_valid_i,
  input  logic                                          prog_we_i,
  input  logic [10:0]                                   prog_addr_i,
  input  logic [31:0]                                   prog_wdata_i,
  output logic                                          prog_rsp_valid_o,
  output logic [31:0]                                   prog_rsp_data_o
);
  import tpu_config_pkg::*;

  localparam int unsigned PcBits = $clog2(VpuProgram);

  (* no_rw_check, ram_style = "block" *) logic [63:0] mem_q[VpuProgram];

  logic [63:0] fetch_q;
  logic [63:0] read_q;
  logic [31:0] low_q;
  logic        read1_q, high1_q;
  logic        present, wr_high;
  logic [PcBits-1:0] prog_ins;

  // Words past the memory's end read as 0 and are not written.
  assign present  = 32'(prog_addr_i[10:1]) < VpuProgram;
  assign prog_ins = PcBits'(prog_addr_i[10:1]);
  assign wr_high  = prog_valid_i & prog_we_i & prog_addr_i[0] & present;

  assign fetch_data_o = fetch_q;

  always_ff @(posedge clk_fetch_i) begin
    if (fetch_i) fetch_q <= mem_q[fetch_addr_i];
  end

  always_ff @(posedge clk_i) begin
    if (wr_high) mem_q[prog_ins] <= {prog_wdata_i, low_q};
    if (prog_valid_i & ~prog_we_i) read_q <= mem_q[prog_ins];
  end

  always_ff @(posedge clk_i) begin
    if (prog_valid_i & prog_we_i & ~prog_addr_i[0]) low_q <= prog_wdata_i;
    if (prog_valid_i) high1_q <= prog_addr_i[0] | ~present;
    if (read1_q) prog_rsp_data_o <= high1_q ? read_q[63:32] : read_q[31:0];
    if (!rst_ni) begin
      read1_q          <= 1'b0;
      prog_rsp_valid_o <= 1'b0;
    end else begin
      read1_q          <= prog_valid_i & ~prog_we_i;
      prog_rsp_valid_o <= read1_q;
    end
  end

`ifndef SYNTHESIS
  initial for (int unsigned i = 0; i < VpuProgram; i++) mem_q[i] = 64'd0;
`endif
endmodule
