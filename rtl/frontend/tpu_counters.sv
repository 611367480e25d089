// SPDX-License-Identifier: MIT
//
// Performance counters of all queues (contract section 10) and the latches through which they are read.
//
// The cycle counters add the time that passed since the last edge instead of one: a simulation that lets
// time jump while nothing moves (waiting heads are the only thing that counts then) stays exact, and on
// hardware the difference is always one. A kind of counter is one vector that is written as a whole, and
// only when one of its counters moves: that is what simulates fast.

module tpu_counters
  import tpu_frontend_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [63:0]       cycle_i,
  input  logic              latch_i,
  input  logic              clear_i,
  input  logic              reset_i,      // soft reset: the latches too

  input  logic [Queues-1:0] busy_i,
  input  logic [Queues-1:0] waiting_i,
  input  logic [Queues-1:0] starved_i,
  input  logic [Queues-1:0] stall_i,

  input  logic              done_valid_i,
  input  logic [2:0]        done_queue_i,
  input  logic [47:0]       done_bytes_i,
  input  logic [47:0]       done_work_i,

  input  logic              rd_valid_i,
  input  logic [2:0]        rd_queue_i,
  input  logic [3:0]        rd_word_i,    // as in the register block: kind, then half
  output logic [31:0]       rd_data_o
);

  typedef logic [Queues-1:0][63:0] counts_t;

  function automatic counts_t add(input counts_t counts, input logic [Queues-1:0] which,
                                  input logic [63:0] amount);
    counts_t r;
    for (int unsigned q = 0; q < Queues; q++) r[q] = counts[q] + (amount & {64{which[q]}});
    return r;
  endfunction

  counts_t busy_q, wait_q, starved_q, stall_q, commands_q, bytes_q, work_q;
  counts_t busy_l, wait_l, starved_l, stall_l, commands_l, bytes_l, work_l;

  logic [63:0] last_q, passed;
  logic [Queues-1:0] done;
  always_ff @(posedge clk_i) last_q <= cycle_i;
  assign passed = cycle_i - last_q;
  assign done = Queues'(done_valid_i) << done_queue_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || reset_i) begin
      busy_q <= '0;
      wait_q <= '0;
      starved_q <= '0;
      stall_q <= '0;
      commands_q <= '0;
      bytes_q <= '0;
      work_q <= '0;
    end else begin
      if (busy_i != '0) busy_q <= add(busy_q, busy_i, passed);
      if (waiting_i != '0) wait_q <= add(wait_q, waiting_i, passed);
      if (starved_i != '0) starved_q <= add(starved_q, starved_i, passed);
      if (stall_i != '0) stall_q <= add(stall_q, stall_i, passed);
      if (done_valid_i) begin
        commands_q <= add(commands_q, done, 64'd1);
        bytes_q <= add(bytes_q, done, 64'(done_bytes_i));
        work_q <= add(work_q, done, 64'(done_work_i));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_i) begin
      busy_l <= '0;
      wait_l <= '0;
      starved_l <= '0;
      stall_l <= '0;
      commands_l <= '0;
      bytes_l <= '0;
      work_l <= '0;
    end else if (latch_i) begin
      busy_l <= busy_q;
      wait_l <= wait_q;
      starved_l <= starved_q;
      stall_l <= stall_q;
      commands_l <= commands_q;
      bytes_l <= bytes_q;
      work_l <= work_q;
    end
  end

  always_comb begin
    rd_data_o = '0;
    if (rd_valid_i) begin
      case (rd_word_i[3:1])
        3'd0: rd_data_o = busy_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd1: rd_data_o = wait_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd2: rd_data_o = starved_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd3: rd_data_o = stall_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd4: rd_data_o = commands_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd5: rd_data_o = bytes_l[rd_queue_i][32*rd_word_i[0] +: 32];
        3'd6: rd_data_o = work_l[rd_queue_i][32*rd_word_i[0] +: 32];
        default: rd_data_o = '0;
      endcase
    end
  end

endmodule
