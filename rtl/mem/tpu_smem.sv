// SPDX-License-Identifier: MIT
//
// SMEM: scalar memory, one single-port RAM of words of HbmPortBytes (so that a DMA beat is one access).
//
// Fixed priority DMA read, DMA write, VPU, scalar core; a requester refused StarveLimit times in a row
// goes first until it wins. Timing as VMEM: data two cycles after the grant.

module tpu_smem
  import tpu_config_pkg::*;
#(
  localparam int unsigned WordBytes = HbmPortBytes,
  localparam int unsigned WordBits = WordBytes * 8,
  localparam int unsigned Words = SmemBytes / WordBytes,
  localparam int unsigned AddrBits = $clog2(Words)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,

  input  logic                 dma_rd_valid_i,
  input  logic [AddrBits-1:0]  dma_rd_addr_i,
  output logic                 dma_rd_gnt_o,
  output logic                 dma_rd_rsp_valid_o,
  output logic [WordBits-1:0]  dma_rd_rsp_data_o,

  input  logic                 dma_wr_valid_i,
  input  logic [AddrBits-1:0]  dma_wr_addr_i,
  input  logic [WordBits-1:0]  dma_wr_wdata_i,
  input  logic [WordBytes-1:0] dma_wr_be_i,
  output logic                 dma_wr_gnt_o,

  input  logic                 vpu_valid_i,
  input  logic [AddrBits-1:0]  vpu_addr_i,
  output logic                 vpu_gnt_o,
  output logic                 vpu_rsp_valid_o,
  output logic [WordBits-1:0]  vpu_rsp_data_o,

  input  logic                 scalar_valid_i,
  input  logic                 scalar_we_i,
  input  logic [AddrBits-1:0]  scalar_addr_i,
  input  logic [WordBits-1:0]  scalar_wdata_i,
  input  logic [WordBytes-1:0] scalar_be_i,
  output logic                 scalar_gnt_o,
  output logic                 scalar_rsp_valid_o,
  output logic [WordBits-1:0]  scalar_rsp_data_o
);

  localparam int unsigned Ports = 4;
  localparam int unsigned PDmaRd = 0;
  localparam int unsigned PDmaWr = 1;
  localparam int unsigned PVpu = 2;
  localparam int unsigned PScalar = 3;
  localparam int unsigned StarveLimit = 12;  // three starved requesters in a row stay below 16

  // Replace the enabled bytes of a word.
  function automatic logic [WordBits-1:0] merge(
      input logic [WordBits-1:0] old, input logic [WordBits-1:0] data, input logic [WordBytes-1:0] be);
    logic [WordBits-1:0] r;
    logic [31:0] m;
    for (int unsigned w = 0; w < WordBytes / 4; w++) begin
      m = {{8{be[4*w+3]}}, {8{be[4*w+2]}}, {8{be[4*w+1]}}, {8{be[4*w]}}};
      r[32*w +: 32] = (old[32*w +: 32] & ~m) | (data[32*w +: 32] & m);
    end
    return r;
  endfunction

  logic [Ports-1:0] valid, first, gnt, starved_q;
  logic [Ports-1:0][3:0] age_q;

  assign valid = {scalar_valid_i, vpu_valid_i, dma_wr_valid_i, dma_rd_valid_i};
  assign first = ((valid & starved_q) != '0) ? (valid & starved_q) : valid;
  assign gnt = first & (~first + Ports'(1));  // lowest set bit

  assign {scalar_gnt_o, vpu_gnt_o, dma_wr_gnt_o, dma_rd_gnt_o} = gnt;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      age_q <= '0;
      starved_q <= '0;
    end else if (valid != '0 || age_q != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        age_q[p] <= (valid[p] && !gnt[p]) ? age_q[p] + {3'd0, age_q[p] != 4'(StarveLimit)} : 4'd0;
        starved_q[p] <= valid[p] && !gnt[p] && (age_q[p] >= 4'(StarveLimit - 1));
      end
    end
  end

  (* no_rw_check, ram_style = "block" *)
  logic [WordBits-1:0] mem [0:Words-1] /* verilator public_flat_rw */;
  logic [WordBits-1:0] rdata_q;

  // The mux is part of the clocked block, behind the grant: without a request nothing is evaluated.
  always_ff @(posedge clk_i) begin
    if (rst_ni && gnt != '0) begin
      automatic logic we = gnt[PDmaWr] | (gnt[PScalar] & scalar_we_i);
      automatic logic [AddrBits-1:0] addr = '0;
      automatic logic [WordBits-1:0] wdata = '0;
      automatic logic [WordBytes-1:0] be = '0;
      if (gnt[PDmaRd]) addr = dma_rd_addr_i;
      if (gnt[PVpu]) addr = vpu_addr_i;
      if (gnt[PDmaWr]) begin
        addr = dma_wr_addr_i;
        wdata = dma_wr_wdata_i;
        be = dma_wr_be_i;
      end
      if (gnt[PScalar]) begin
        addr = scalar_addr_i;
        wdata = scalar_wdata_i;
        be = scalar_be_i;
      end
`ifdef SYNTHESIS
      for (int unsigned i = 0; i < WordBytes; i++) begin
        if (we && be[i]) mem[addr][8*i +: 8] <= wdata[8*i +: 8];
      end
      if (!we) rdata_q <= mem[addr];
`else
      if (we) mem[addr] <= merge(mem[addr], wdata, be);
      else rdata_q <= mem[addr];
`endif
    end
  end

`ifndef SYNTHESIS
  // Contents after hard reset (docs/contract.md section 9).
  initial begin : init_mem
    int unsigned seed;
    if ($value$plusargs("tpu_seed=%d", seed) != 0) begin
      for (int unsigned w = 0; w < Words; w++) begin
        for (int unsigned i = 0; i < WordBytes / 4; i++) begin
          mem[w][32*i +: 32] = tpu_pkg::tpu_reset_word(seed, 32'd2, w * (WordBytes / 4) + i);
        end
      end
    end
  end
`endif

  logic [Ports-1:0] read_q, rsp_valid_q, writes;
  assign writes = {scalar_we_i, 1'b0, 1'b1, 1'b0};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= '0;
      rsp_valid_q <= '0;
    end else begin
      read_q <= gnt & ~writes;
      rsp_valid_q <= read_q;
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_q[PDmaRd]) dma_rd_rsp_data_o <= rdata_q;
    if (read_q[PVpu]) vpu_rsp_data_o <= rdata_q;
    if (read_q[PScalar]) scalar_rsp_data_o <= rdata_q;
  end
  assign dma_rd_rsp_valid_o = rsp_valid_q[PDmaRd];
  assign vpu_rsp_valid_o = rsp_valid_q[PVpu];
  assign scalar_rsp_valid_o = rsp_valid_q[PScalar];

endmodule
