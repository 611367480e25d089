// SPDX-License-Identifier: MIT
//
// Proof of tpu_fifo: the count is right, nothing is lost, doubled or reordered, the handshakes keep
// their rules. One element, chosen freely by the solver, is followed from its push to its pop: its
// place in the queue counts down with every pop, and it must come out at place 0 with its data. As
// the choice is free, this holds for all elements. The assertions on the inside (mem_q, rd_q, wr_q)
// make the induction step hold from any state that satisfies them.

module fifo_proof #(
  parameter int unsigned Width = 4,
  parameter int unsigned Depth = 4,
  localparam int unsigned CountW = $clog2(Depth + 1),
  localparam int unsigned PtrW = (Depth > 1) ? $clog2(Depth) : 1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             flush_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i,
  input logic             pick_i       // follow the element pushed in this cycle
);

  logic in_ready, out_valid;
  logic [Width-1:0] out_data;
  logic [CountW-1:0] count;

  tpu_fifo #(
    .Width(Width),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .flush_i,
    .in_valid_i,
    .in_ready_o (in_ready),
    .in_data_i,
    .out_valid_o(out_valid),
    .out_ready_i,
    .out_data_o (out_data),
    .count_o    (count)
  );

  // The first cycle is a reset.
  logic started_q = 1'b0;
  always_ff @(posedge clk_i) started_q <= 1'b1;
  always_comb assume (started_q || !rst_ni);

  logic push, pop;
  assign push = in_valid_i & in_ready;
  assign pop  = out_valid & out_ready_i;

  // ---- count, by its own arithmetic ----

  logic [31:0] model_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) model_q <= '0;
    else model_q <= model_q + 32'(push) - 32'(pop);
  end

  // ---- the followed element ----

  logic              follow_q;
  logic [31:0]       place_q;
  logic [Width-1:0]  data_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      follow_q <= 1'b0;
    end else if (follow_q) begin
      if (pop && place_q == 0) follow_q <= 1'b0;
      if (pop) place_q <= place_q - 1;
    end else if (push && pick_i) begin
      follow_q <= 1'b1;
      place_q  <= model_q - 32'(pop);
      data_q   <= in_data_i;
    end
  end

  function automatic logic [PtrW-1:0] wrap(input logic [31:0] x);
    return PtrW'(x >= Depth ? x - Depth : x);
  endfunction

  always_comb begin
    if (started_q) begin
      // Seen from outside.
      assert (32'(count) == model_q);
      assert (model_q <= Depth);
      assert (in_ready == (model_q < Depth));
      assert (out_valid == (model_q != 0));
      if (follow_q) assert (place_q < model_q);
      if (follow_q && place_q == 0) assert (out_data == data_q);
      // Inside.
      assert (32'(u_fifo.rd_q) < Depth);
      assert (u_fifo.wr_q == wrap(32'(u_fifo.rd_q) + model_q));
      if (follow_q) assert (u_fifo.mem_q[wrap(32'(u_fifo.rd_q) + place_q)] == data_q);
    end
  end

endmodule
