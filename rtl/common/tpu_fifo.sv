// SPDX-License-Identifier: MIT
//
// First-in first-out queue with valid/ready on both sides, any depth from 1.
//
// Neither side's outputs depend combinationally on its inputs: `in_ready_o` and `out_valid_o` are
// functions of the count, so a chain of these queues has no long handshake path. The price: a full
// queue takes nothing in the cycle in which it gives, so full throughput needs a depth of 2.
// The storage has no reset and an asynchronous read: distributed RAM or registers, never block RAM.
// `flush_i` empties the queue and wins over a simultaneous push and pop.

module tpu_fifo #(
  parameter int unsigned Width = 8,
  parameter int unsigned Depth = 4,
  localparam int unsigned CountW = $clog2(Depth + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              flush_i,

  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [Width-1:0]  in_data_i,

  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o,

  output logic [CountW-1:0] count_o
);

  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1;
  localparam logic [PtrW-1:0] Last = PtrW'(Depth - 1);

  logic [Width-1:0]  mem_q[Depth];
  logic [PtrW-1:0]   wr_q, rd_q;
  logic [CountW-1:0] count_q;
  logic              push, pop;

  assign in_ready_o  = count_q != CountW'(Depth);
  assign out_valid_o = count_q != '0;
  assign out_data_o  = mem_q[rd_q];
  assign count_o     = count_q;
  assign push        = in_valid_i & in_ready_o;
  assign pop         = out_valid_o & out_ready_i;

  always_ff @(posedge clk_i) begin
    if (push) mem_q[wr_q] <= in_data_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      wr_q    <= '0;
      rd_q    <= '0;
      count_q <= '0;
    end else begin
      if (push) wr_q <= (wr_q == Last) ? '0 : wr_q + 1'b1;
      if (pop) rd_q <= (rd_q == Last) ? '0 : rd_q + 1'b1;
      count_q <= count_q + CountW'(push) - CountW'(pop);
    end
  end

endmodule
