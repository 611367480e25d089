// SPDX-License-Identifier: MIT
//
// Reads rows of Dim elements from VMEM: request, wait of two cycles, selection, mask, queue.
//
// A row lies inside one VMEM word. Elements at and past iss_elems_i become +0, whatever the memory
// holds; a row with iss_zero_i is all +0 and is not read at all, but keeps its place in the order.
// The queue behind takes what is under way, so the requester may go on until Depth rows are out:
// four cover the latency at one row a cycle (grant, memory, response, queue).

module tpu_mxu_read
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
#(
  parameter int unsigned TagW = 1,
  parameter int unsigned Depth = 4
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       flush_i,

  // Row wanted.
  input  logic                       iss_valid_i,
  output logic                       iss_ready_o,  // depends on the grant
  input  logic                       iss_zero_i,
  input  logic                       iss_int8_i,
  input  logic [AddrW-1:0]           iss_addr_i,
  input  logic [CntW-1:0]            iss_elems_i,
  input  logic [TagW-1:0]            iss_tag_i,

  // VMEM.
  output logic                       req_valid_o,
  output logic [WordAddrW-1:0]       req_addr_o,
  input  logic                       req_gnt_i,
  input  logic                       rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] rsp_data_i,

  // Row.
  output logic                       out_valid_o,
  input  logic                       out_ready_i,
  output logic [RowW-1:0]            out_data_o,
  output logic [TagW-1:0]            out_tag_o
);

  // Dim bytes are a chunk: a row of int8, or half a row of bf16.
  localparam int unsigned Chunks = VmemWordBytes / Dim;
  localparam int unsigned ChunkLog = (Chunks > 1) ? $clog2(Chunks) : 1;
  localparam int unsigned OutW = $clog2(Depth + 1);

  typedef struct packed {
    logic                zero;
    logic                int8;
    logic [ChunkLog-1:0] chunk;
    logic [CntW-1:0]     elems;
    logic [TagW-1:0]     tag;
  } info_t;

  // ---- request ----

  logic            credit, fire, pop;
  logic [OutW-1:0] out_q;  // rows requested and not yet taken

  assign credit      = out_q != OutW'(Depth);
  assign req_valid_o = iss_valid_i & credit & ~iss_zero_i;
  assign req_addr_o  = iss_addr_i[AddrW-1:WordLog];
  assign iss_ready_o = credit & (iss_zero_i | req_gnt_i);
  assign fire        = iss_valid_i & iss_ready_o;
  assign pop         = out_valid_o & out_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) out_q <= '0;
    else out_q <= out_q + OutW'(fire) - OutW'(pop);
  end

  // ---- the two cycles of the memory ----

  logic  valid1_q, valid2_q;
  info_t info, info1_q, info2_q;

  assign info.zero  = iss_zero_i;
  assign info.int8  = iss_int8_i;
  assign info.chunk = ChunkLog'(iss_addr_i >> DimLog);
  assign info.elems = iss_elems_i;
  assign info.tag   = iss_tag_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      valid1_q <= 1'b0;
      valid2_q <= 1'b0;
    end else begin
      valid1_q <= fire;
      valid2_q <= valid1_q;
    end
    if (fire) info1_q <= info;
    if (valid1_q) info2_q <= info1_q;
  end

  // ---- selection and mask ----

  logic [Dim*8-1:0] lo, hi;
  logic [RowW-1:0]  row;

  if (Chunks == 1) begin : gen_one_chunk
    assign lo = rsp_data_i;
    assign hi = rsp_data_i;
  end else begin : gen_chunks
    logic [ChunkLog-1:0] odd;
    assign odd = info2_q.chunk | ChunkLog'(1);
    assign lo  = rsp_data_i[32'(info2_q.chunk)*Dim*8+:Dim*8];
    assign hi  = rsp_data_i[32'(odd)*Dim*8+:Dim*8];
  end

  always_comb begin
    row = '0;
    if (valid2_q && !info2_q.zero) begin
      if (info2_q.int8) begin
        for (int unsigned e = 0; e < Dim; e++) row[e*ElemW+:ElemW] = ElemW'(lo[e*8+:8]);
      end else begin
        row = RowW'({hi, lo});
      end
      if (info2_q.elems != CntW'(Dim)) begin
        for (int unsigned e = 0; e < Dim; e++) begin
          if (CntW'(e) >= info2_q.elems) row[e*ElemW+:ElemW] = '0;
        end
      end
    end
  end

  // ---- queue ----

  logic            unused_ready;
  logic [OutW-1:0] unused_count;

  tpu_fifo #(
    .Width(RowW + TagW),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .flush_i,
    .in_valid_i (valid2_q),
    .in_ready_o (unused_ready),  // credits keep it from being full
    .in_data_i  ({info2_q.tag, row}),
    .out_valid_o,
    .out_ready_i,
    .out_data_o ({out_tag_o, out_data_o}),
    .count_o    (unused_count)
  );

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni && !flush_i && valid2_q && !info2_q.zero)
      assert (rsp_valid_i) else $error("tpu_mxu_read: no response two cycles after the grant");
  end
`else
  logic unused_rsp_valid;
  assign unused_rsp_valid = rsp_valid_i;
`endif

endmodule
