// SPDX-License-Identifier: MIT
//
// Storage of the semaphore file: two write ports and many asynchronous read ports, from RAMs that have
// one write port each.
//
// Each write port has a RAM of its own (distributed on an FPGA, copied for every read port), and a bit a
// word says which of the two was written last. Registers with multiplexers would take three times the
// area. `live_q` says which words were written since all were zeroed, so that zeroing takes one cycle.
// The two ports never write one word in one cycle. Reads are enabled in groups, so that simulation does
// nothing for ports that nobody looks at.

module tpu_sem_file #(
  parameter  int unsigned Words = 32,
  parameter  int unsigned Groups = 3,
  parameter  int unsigned Ports = 8,  // of a group
  localparam int unsigned AddrBits = $clog2(Words)
) (
  input  logic                                       clk_i,
  input  logic                                       rst_ni,
  input  logic                                       clear_i,

  input  logic [1:0]                                 we_i,
  input  logic [1:0][AddrBits-1:0]                   waddr_i,
  input  logic [1:0][31:0]                           wdata_i,

  input  logic [Groups-1:0]                          re_i,
  input  logic [Groups-1:0][Ports-1:0][AddrBits-1:0] raddr_i,
  output logic [Groups-1:0][Ports-1:0][31:0]         rdata_o
);

  (* ram_style = "distributed" *)
  logic [31:0] bank0_q [0:Words-1];
  (* ram_style = "distributed" *)
  logic [31:0] bank1_q [0:Words-1];
  logic [Words-1:0] live_q, in1_q;

  always_ff @(posedge clk_i) begin
    if (we_i[0]) bank0_q[waddr_i[0]] <= wdata_i[0];
    if (we_i[1]) bank1_q[waddr_i[1]] <= wdata_i[1];
  end

  always_ff @(posedge clk_i) begin
    if (we_i[0]) in1_q[waddr_i[0]] <= 1'b0;
    if (we_i[1]) in1_q[waddr_i[1]] <= 1'b1;
    if (!rst_ni || clear_i) begin
      live_q <= '0;
    end else begin
      if (we_i[0]) live_q[waddr_i[0]] <= 1'b1;
      if (we_i[1]) live_q[waddr_i[1]] <= 1'b1;
    end
  end

  for (genvar g = 0; g < Groups; g++) begin : gen_group
    always_comb begin
      rdata_o[g] = '0;
      if (re_i[g]) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (live_q[raddr_i[g][p]]) begin
            rdata_o[g][p] = in1_q[raddr_i[g][p]] ? bank1_q[raddr_i[g][p]] : bank0_q[raddr_i[g][p]];
          end
        end
      end
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (we_i != 2'b11 || waddr_i[0] != waddr_i[1]) else $error("tpu_sem_file: two writes of a word");
    end
  end
`endif

endmodule
