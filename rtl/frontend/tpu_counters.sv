// SPDX-License-Identifier: MIT
//
// Performance counters of all queues (contract section 10) and the latches through which they are read.
//
// BUSY, WAIT and STARVED count the cycles of a condition that holds for long. They keep a sum of cycle
// numbers: minus the one in which the condition came, plus the one in which it went; while it holds, the
// time is added on reading. So nothing moves between. STALL comes and goes every cycle and adds up.
// COMMANDS, BYTES and WORK move with a completion.
//
// A simulation may let time jump while nothing moves. The conditions are functions of registers, so they
// hold from the cycle after the last edge on, whatever cycle_i is now: since_q.

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
  typedef logic [Queues-1:0] queues_t;

  // ---- conditions: busy, waiting, starved ----

  function automatic counts_t turn(input counts_t sums, input queues_t now, input queues_t was,
                                   input logic [63:0] cycle);
    counts_t r;
    for (int unsigned q = 0; q < Queues; q++) begin
      r[q] = sums[q] + ((now[q] == was[q]) ? 64'd0 : now[q] ? -cycle : cycle);
    end
    return r;
  endfunction

  // Zero now: what holds counts from this cycle on.
  function automatic counts_t zero(input queues_t now, input logic [63:0] cycle);
    counts_t r;
    for (int unsigned q = 0; q < Queues; q++) r[q] = now[q] ? -cycle : 64'd0;
    return r;
  endfunction

  logic [63:0] since_q;  // the cycle after the last edge
  always_ff @(posedge clk_i) since_q <= cycle_i + 64'd1;

  counts_t busy_q, wait_q, starved_q;
  queues_t busy_before_q, wait_before_q, starved_before_q;
  logic restart;
  assign restart = clear_i | reset_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q <= '0;
      wait_q <= '0;
      starved_q <= '0;
      busy_before_q <= '0;
      wait_before_q <= '0;
      starved_before_q <= '0;
    end else begin
      if (restart) busy_q <= zero(busy_i, cycle_i + 64'd1);
      else if (busy_i != busy_before_q) busy_q <= turn(busy_q, busy_i, busy_before_q, since_q);
      if (restart) wait_q <= zero(waiting_i, cycle_i + 64'd1);
      else if (waiting_i != wait_before_q) wait_q <= turn(wait_q, waiting_i, wait_before_q, since_q);
      if (restart) starved_q <= zero(starved_i, cycle_i + 64'd1);
      else if (starved_i != starved_before_q) starved_q <= turn(starved_q, starved_i, starved_before_q, since_q);
      busy_before_q <= busy_i;
      wait_before_q <= waiting_i;
      starved_before_q <= starved_i;
    end
  end

  // ---- stalls ----

  function automatic counts_t add(input counts_t counts, input queues_t which, input logic [63:0] amount);
    counts_t r;
    for (int unsigned q = 0; q < Queues; q++) r[q] = counts[q] + (amount & {64{which[q]}});
    return r;
  endfunction

  counts_t stall_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || restart) stall_q <= '0;
    else if (stall_i != '0) stall_q <= add(stall_q, stall_i, 64'd1);
  end

  // ---- completed work ----

  counts_t commands_q, bytes_q, work_q;
  queues_t done;
  assign done = queues_t'(done_valid_i) << done_queue_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || restart) begin
      commands_q <= '0;
      bytes_q <= '0;
      work_q <= '0;
    end else if (done_valid_i) begin
      commands_q <= add(commands_q, done, 64'd1);
      bytes_q <= add(bytes_q, done, 64'(done_bytes_i));
      work_q <= add(work_q, done, 64'(done_work_i));
    end
  end

  // ---- latches ----

  counts_t busy_l, wait_l, starved_l, stall_l, commands_l, bytes_l, work_l;
  queues_t busy_on_l, wait_on_l, starved_on_l;
  logic [63:0] cycle_l;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_i) begin
      busy_l <= '0;
      wait_l <= '0;
      starved_l <= '0;
      stall_l <= '0;
      commands_l <= '0;
      bytes_l <= '0;
      work_l <= '0;
      busy_on_l <= '0;
      wait_on_l <= '0;
      starved_on_l <= '0;
      cycle_l <= '0;
    end else if (latch_i) begin
      busy_l <= busy_q;
      wait_l <= wait_q;
      starved_l <= starved_q;
      stall_l <= stall_q;
      commands_l <= commands_q;
      bytes_l <= bytes_q;
      work_l <= work_q;
      busy_on_l <= busy_before_q;
      wait_on_l <= wait_before_q;
      starved_on_l <= starved_before_q;
      cycle_l <= since_q;
    end
  end

  function automatic logic [31:0] read();
    logic [63:0] sum;
    logic on;
    sum = '0;
    on = 1'b0;
    case (rd_word_i[3:1])
      3'd0: begin
        sum = busy_l[rd_queue_i];
        on = busy_on_l[rd_queue_i];
      end
      3'd1: begin
        sum = wait_l[rd_queue_i];
        on = wait_on_l[rd_queue_i];
      end
      3'd2: begin
        sum = starved_l[rd_queue_i];
        on = starved_on_l[rd_queue_i];
      end
      3'd3: sum = stall_l[rd_queue_i];
      3'd4: sum = commands_l[rd_queue_i];
      3'd5: sum = bytes_l[rd_queue_i];
      3'd6: sum = work_l[rd_queue_i];
      default: ;
    endcase
    if (on) sum = sum + cycle_l;
    return rd_word_i[0] ? sum[63:32] : sum[31:0];
  endfunction

  always_comb begin
    rd_data_o = '0;
    if (rd_valid_i) rd_data_o = read();
  end

endmodule
