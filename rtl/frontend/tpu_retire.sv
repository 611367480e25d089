// SPDX-License-Identifier: MIT
//
// Completion: takes finished commands from the engines, one queue a cycle, and delivers what they
// announce: two signals to the semaphore file, the interrupt flag, counts, trace records, or the error.
//
// One a cycle keeps the semaphore file at two adders; completions are tens of cycles apart even for
// short transfers, so the round robin between queues is seldom used. `hold_i` stops delivery in a cycle
// in which the semaphore file has other things to write.

module tpu_retire
  import tpu_frontend_pkg::*;
(
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        hold_i,
  input  logic                        aborting_i,  // nothing is delivered; engines may give away what they have

  // Engines, and SYNC as the last. Of the commands: the oldest that started.
  input  logic     [Queues-1:0]       done_valid_i,
  output logic     [Engines-1:0]      done_ready_o,  // SYNC needs none
  input  logic     [Queues-1:0][7:0]  code_i,
  input  logic     [Queues-1:0][31:0] detail0_i,
  input  logic     [Queues-1:0][31:0] detail1_i,
  input  logic     [Queues-1:0][47:0] bytes_i,
  input  logic     [Queues-1:0][47:0] work_i,
  input  logic     [Queues-1:0][31:0] tag_i,
  input  logic     [Queues-1:0][31:0] signals_i,     // signals_t, in words
  input  logic     [Queues-1:0][1:0][31:0] amounts_i,

  output logic                        valid_o,       // a command completes without error
  output logic     [2:0]              queue_o,
  output logic     [31:0]             tag_o,
  output logic     [47:0]             bytes_o,
  output logic     [47:0]             work_o,
  output logic                        irq_o,
  output logic     [1:0]              sig_valid_o,
  output logic     [1:0][5:0]         sig_sem_o,
  output logic     [1:0][31:0]        sig_amount_o,
  output logic     [1:0]              sig_huge_o,
  output logic     [Queues-1:0]       pop_o,
  output logic     [Queues-1:0]       fail_o,        // a command of the queue fails
  output error_t                      error_o
);

  logic [Queues-1:0] ask;
  logic [2:0] next_q;

  assign ask = (hold_i || aborting_i) ? '0 : done_valid_i;

  typedef struct packed {
    logic valid;
    logic irq;
    logic [2:0] qid;
    logic [31:0] tag;
    logic [47:0] bytes;
    logic [47:0] work;
    logic [1:0] sig_valid;
    logic [1:0][5:0] sig_sem;
    logic [1:0][31:0] sig_amount;
    logic [1:0] sig_huge;
    logic [Queues-1:0] pop;
    logic [Queues-1:0] fail;
    error_t error;
  } retire_t;

  function automatic retire_t deliver();
    retire_t r;
    logic [Queues-1:0] from_next, source, pick;
    /* verilator lint_off UNUSEDSIGNAL */  // the priority is for the engine
    signals_t signals;
    /* verilator lint_on UNUSEDSIGNAL */
    logic [1:0] by_bytes;
    logic [1:0][31:0] amounts;
    logic [7:0] code;
    logic dma;
    r = '0;
    from_next = ask & (Queues'('1) << next_q);
    source = (from_next != '0) ? from_next : ask;
    pick = source & (~source + Queues'(1));
    signals = '0;
    amounts = '0;
    code = '0;
    for (int unsigned q = 0; q < Queues; q++) begin
      if (pick[q]) begin
        r.qid = 3'(q);
        r.tag = tag_i[q];
        r.bytes = bytes_i[q];
        r.work = work_i[q];
        r.error.detail0 = detail0_i[q];
        r.error.detail1 = detail1_i[q];
        signals = signals_t'(signals_i[q][$bits(signals_t)-1:0]);
        amounts = amounts_i[q];
        code = code_i[q];
      end
    end
    dma = (r.qid < 3'(QMxu));
    r.error.valid = (code != '0);
    r.error.code = code;
    r.error.agent = {1'b0, r.qid};
    r.error.tag = r.tag;
    if (code != '0) begin
      r.fail = pick;
    end else begin
      r.valid = 1'b1;
      r.pop = pick;
      r.irq = signals.irq;
      r.sig_valid = {signals.en1, signals.en0};
      r.sig_sem = {signals.sem1, signals.sem0};
      by_bytes = {signals.bytes1, signals.bytes0};
      for (int unsigned i = 0; i < 2; i++) begin
        r.sig_amount[i] = by_bytes[i] ? (dma ? r.bytes[31:0] : '0) : amounts[i];
        r.sig_huge[i] = by_bytes[i] & dma & (r.bytes[47:32] != '0);
      end
    end
    return r;
  endfunction

  retire_t now;
  always_comb begin
    now = '0;
    if (ask != '0) now = deliver();
  end

  assign done_ready_o = aborting_i ? '1 : now.pop[Engines-1:0] | now.fail[Engines-1:0];
  assign valid_o = now.valid;
  assign queue_o = now.qid;
  assign tag_o = now.tag;
  assign bytes_o = now.bytes;
  assign work_o = now.work;
  assign irq_o = now.irq;
  assign sig_valid_o = now.sig_valid;
  assign sig_sem_o = now.sig_sem;
  assign sig_amount_o = now.sig_amount;
  assign sig_huge_o = now.sig_huge;
  assign pop_o = now.pop;
  assign fail_o = now.fail;
  assign error_o = now.error;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_q <= '0;
    else if (ask != '0) next_q <= now.qid + 3'd1;
  end

endmodule
