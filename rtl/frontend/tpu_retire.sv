// SPDX-License-Identifier: MIT
//
// Completion: takes finished commands from the engines, one queue a cycle, and delivers what they
// announce: two signals to the semaphore file, the interrupt flag, counts, trace records, or the error.
//
// One a cycle keeps the semaphore file at two adders; completions are tens of cycles apart even for
// short transfers, so the round robin between queues is seldom used. `hold_i` stops delivery in a cycle
// in which the semaphore file has other things to write.

module tpu_retire
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
(
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        hold_i,
  input  logic                        aborting_i,  // nothing is delivered; engines may give away what they have

  input  logic     [Queues-1:0]       done_valid_i,
  output logic     [Engines-1:0]      done_ready_o,  // SYNC needs none
  input  logic     [Queues-1:0][7:0]  code_i,
  input  logic     [Queues-1:0][31:0] detail0_i,
  input  logic     [Queues-1:0][31:0] detail1_i,
  input  logic     [Queues-1:0][47:0] bytes_i,
  input  logic     [Queues-1:0][47:0] work_i,
  input  started_t [Queues-1:0]       started_i,

  output logic                        valid_o,     // a command completes without error
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
  output logic     [Queues-1:0]       fail_o,      // a command of the queue fails
  output error_t                      error_o
);

  logic [Queues-1:0] ask, from_next, source, pick;
  logic [2:0] next_q;

  assign ask = (hold_i || aborting_i) ? '0 : done_valid_i;
  assign from_next = ask & (Queues'('1) << next_q);
  assign source = (from_next != '0) ? from_next : ask;
  assign pick = source & (~source + Queues'(1));
  assign done_ready_o = aborting_i ? '1 : pick[Engines-1:0];

  started_t started;
  logic [7:0] code;
  logic [31:0] detail0, detail1;
  logic dma;

  always_comb begin
    started = '0;
    code = '0;
    detail0 = '0;
    detail1 = '0;
    bytes_o = '0;
    work_o = '0;
    queue_o = '0;
    dma = 1'b0;
    if (pick != '0) begin
      for (int unsigned q = 0; q < Queues; q++) begin
        if (pick[q]) begin
          started = started_i[q];
          code = code_i[q];
          detail0 = detail0_i[q];
          detail1 = detail1_i[q];
          bytes_o = bytes_i[q];
          work_o = work_i[q];
          queue_o = 3'(q);
        end
      end
      dma = (queue_o < 3'(QMxu));
    end
  end

  assign valid_o = (pick != '0) & (code == '0);
  assign pop_o = (code == '0) ? pick : '0;
  assign fail_o = (code == '0) ? '0 : pick;
  assign tag_o = started.tag;
  assign irq_o = valid_o & started.signals.irq;

  assign sig_valid_o = valid_o ? {started.signals.en1, started.signals.en0} : '0;
  assign sig_sem_o = {started.signals.sem1, started.signals.sem0};
  logic [1:0] by_bytes;
  assign by_bytes = {started.signals.bytes1, started.signals.bytes0};
  assign sig_huge_o = by_bytes & {2{dma & (bytes_o[47:32] != '0)}};
  always_comb begin
    for (int unsigned i = 0; i < 2; i++) begin
      sig_amount_o[i] = by_bytes[i] ? (dma ? bytes_o[31:0] : '0) : started.amount[i];
    end
  end

  always_comb begin
    error_o = '0;
    if (fail_o != '0) begin
      error_o.valid = 1'b1;
      error_o.code = code;
      error_o.agent = {1'b0, queue_o};
      error_o.tag = started.tag;
      error_o.detail0 = detail0;
      error_o.detail1 = detail1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) next_q <= '0;
    else if (pick != '0) next_q <= queue_o + 3'd1;
  end

endmodule
