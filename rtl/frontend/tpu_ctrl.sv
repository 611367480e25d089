// SPDX-License-Identifier: MIT
//
// Control registers, first error, interrupts, abort.
//
// The registers are the block that PeakRDL makes of hw/regs. Four things are kept beside it:
// - CTRL and INTR_TEST act from the decoder's write pulses, because the block's single pulses come a
//   cycle late and a write must have taken effect in the next cycle;
// - INTR_STATE lives here and replaces the block's on reads: the block lets a write of the register win
//   over an event of the same cycle, which would lose an interrupt, and does not give the bits out;
// - STATUS and CYCLE are put in on reads, so that the block depends on nothing that changes every cycle.
//
// Abort: everything that the front end keeps is forgotten at the edge after the write (queues, started
// commands, semaphores, error, interrupts), so that the scalar core sees it in the next cycle. What
// takes time is draining the engines: abort_o is up until all are idle, then clear_o for one cycle.

module tpu_ctrl
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
(
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [63:0]            cycle_i,

  // Legal accesses of the control registers.
  input  logic                   req_i,
  input  logic                   we_i,
  input  logic [6:0]             addr_i,
  input  logic [31:0]            wdata_i,
  output logic [31:0]            rdata_o,

  // Decoded in the write cycle.
  output logic                   abort_now_o,     // abort or soft reset
  output logic                   reset_now_o,     // soft reset
  output logic                   latch_now_o,
  output logic                   clear_now_o,

  // State of the queues.
  input  logic [Queues-1:0]      empty_i,         // nothing queued
  input  logic [Queues-1:0]      flying_i,        // something started
  input  logic [Queues-1:0]      waiting_i,
  input  logic [Queues-1:0]      settled_i,       // waits, and nothing has changed since
  input  logic [Queues-1:0]      halted_i,
  input  logic [Queues-1:0][3:0] free_i,
  input  logic [Engines-1:0]     eng_idle_i,
  input  logic                   done_irq_i,

  // Errors of this cycle; the first that is valid counts.
  input  error_t                 error0_i,
  input  error_t                 error1_i,
  output logic                   error_valid_o,   // the sticky error
  output error_t                 error_new_o,     // set in this cycle

  output logic                   wake_o,          // a register here changes without an input that shows it
  output logic                   aborting_o,
  output logic                   eng_abort_o,
  output logic                   eng_clear_o,
  output logic                   idle_o,
  output logic                   blocked_o,
  output logic                   irq_o,
  input  logic [15:0]            hbm_latency_reset_i,  // what a reset makes HBM_LATENCY
  output logic [15:0]            hbm_latency_o
);

  tpu_ctrl_regs_pkg::tpu_ctrl__in_t hwif_in;
  tpu_ctrl_regs_pkg::tpu_ctrl__out_t hwif_out;

  logic write;
  assign write = req_i & we_i;

  logic [15:0] latency_q;

  // ---- abort ----

  logic ctrl_write;
  assign ctrl_write = write & (addr_i == TPU_REG_CTRL[6:0]);
  assign reset_now_o = ctrl_write & wdata_i[1];
  assign abort_now_o = ctrl_write & (wdata_i[0] | wdata_i[1]);
  assign latch_now_o = ctrl_write & wdata_i[2];
  assign clear_now_o = ctrl_write & wdata_i[3];

  // A command that starts in the cycle of the write is seen by idle_i one cycle later: Enter covers it.
  typedef enum logic [1:0] {Run, Enter, Drain, Clear} abort_e;
  abort_e abort_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) abort_q <= Run;
    else if (abort_now_o) abort_q <= Enter;
    else begin
      case (abort_q)
        Enter: abort_q <= Drain;
        Drain: if (&eng_idle_i) abort_q <= Clear;
        Clear: abort_q <= Run;
        default: abort_q <= Run;
      endcase
    end
  end
  assign aborting_o = (abort_q != Run);
  assign eng_abort_o = aborting_o;
  assign eng_clear_o = (abort_q == Clear);

  // ---- first error ----

  error_t error_q;
  always_comb begin
    error_new_o = '0;
    if (error0_i.valid || error1_i.valid) begin
      if (!error_q.valid) error_new_o = error0_i.valid ? error0_i : error1_i;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_now_o) error_q <= '0;
    else if (error_new_o.valid) error_q <= error_new_o;
  end
  assign error_valid_o = error_q.valid;

  // ---- idle and blocked ----

  logic still, blocked_q;
  logic [Queues-1:0] stuck;
  assign still = (flying_i == '0) & (&eng_idle_i) & ~aborting_o;
  assign stuck = settled_i | halted_i;
  assign idle_o = still & (&empty_i);
  assign blocked_o = still & ~(&empty_i) & (&(empty_i | stuck));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) blocked_q <= 1'b0;
    else blocked_q <= blocked_o;
  end
  assign wake_o = aborting_o | (blocked_o != blocked_q);

  // ---- interrupts ----

  logic done_q, error_irq_q, blocked_irq_q, space;
  logic [Queues-1:0][3:0] threshold;
  logic [Queues-1:0] has_space;
  logic state_write, test_write;

  assign state_write = write & (addr_i == TPU_REG_INTR_STATE[6:0]);
  assign test_write = write & (addr_i == TPU_REG_INTR_TEST[6:0]);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_now_o) begin
      done_q <= 1'b0;
      error_irq_q <= 1'b0;
      blocked_irq_q <= 1'b0;
    end else begin
      done_q <= (done_q & ~(state_write & wdata_i[0])) | done_irq_i | (test_write & wdata_i[0]);
      error_irq_q <= (error_irq_q & ~(state_write & wdata_i[2])) | error_new_o.valid |
                     (test_write & wdata_i[2]);
      blocked_irq_q <= (blocked_irq_q & ~(state_write & wdata_i[3])) | (blocked_o & ~blocked_q) |
                       (test_write & wdata_i[3]);
    end
  end

  assign threshold = {hwif_out.INTR_SPACE.sync.value, hwif_out.INTR_SPACE.vpu.value,
                      hwif_out.INTR_SPACE.mxu.value, hwif_out.INTR_SPACE.dma3.value,
                      hwif_out.INTR_SPACE.dma2.value, hwif_out.INTR_SPACE.dma1.value,
                      hwif_out.INTR_SPACE.dma0.value};
  always_comb begin
    has_space = '0;
    if (threshold != '0) begin
      for (int unsigned q = 0; q < Queues; q++) begin
        has_space[q] = (threshold[q] != '0) && (free_i[q] >= threshold[q]);
      end
    end
  end
  assign space = (has_space != '0);

  assign irq_o = (done_q & hwif_out.INTR_ENABLE.done.value) |
                 (space & hwif_out.INTR_ENABLE.space.value) |
                 (error_irq_q & hwif_out.INTR_ENABLE.error.value) |
                 (blocked_irq_q & hwif_out.INTR_ENABLE.blocked.value);

  // ---- the register block ----

  logic [31:0] cycle_high_q, block_rdata;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_now_o) cycle_high_q <= '0;
    else if (hwif_out.CYCLE_LO.value.swacc) cycle_high_q <= cycle_i[63:32];
  end

  always_comb begin
    hwif_in.ABI_HASH.hash.next = TPU_ABI_HASH;
    hwif_in.FEATURES.mxu_int8.next = 1'(MxuInt8);
    hwif_in.FEATURES.mxu_bf16.next = 1'(MxuBf16);
    hwif_in.FEATURES.vpu.next = 1'(VpuPresent);
    hwif_in.FEATURES.eup.next = (EupLanes != 0);
    hwif_in.FEATURES.xlu.next = 1'(VpuPresent);
    hwif_in.FEATURES.gather.next = 1'b1;
    hwif_in.STATUS.idle.next = 1'b0;
    hwif_in.STATUS.blocked.next = 1'b0;
    hwif_in.STATUS.aborting.next = 1'b0;
    hwif_in.STATUS.error.next = 1'b0;
    hwif_in.STATUS.busy.next = '0;
    hwif_in.STATUS.waiting.next = '0;
    hwif_in.STATUS.halted.next = '0;
    hwif_in.INTR_STATE.done.next = 1'b0;
    hwif_in.INTR_STATE.done.hwset = 1'b0;
    hwif_in.INTR_STATE.space.next = 1'b0;
    hwif_in.INTR_STATE.error.next = 1'b0;
    hwif_in.INTR_STATE.error.hwset = 1'b0;
    hwif_in.INTR_STATE.blocked.next = 1'b0;
    hwif_in.INTR_STATE.blocked.hwset = 1'b0;
    hwif_in.CYCLE_LO.value.next = '0;
    hwif_in.CYCLE_HI.value.next = cycle_high_q;
    hwif_in.ERROR.code.next = error_q.code;
    hwif_in.ERROR.queue_.next = error_q.agent;
    hwif_in.ERROR.valid.next = error_q.valid;
    hwif_in.ERROR_TAG.tag.next = error_q.tag;
    hwif_in.ERROR_DETAIL0.value.next = error_q.detail0;
    hwif_in.ERROR_DETAIL1.value.next = error_q.detail1;
  end

  /* verilator lint_off PINCONNECTEMPTY */  // always ready, never an error
  tpu_ctrl_regs u_regs (
    .clk                  (clk_i),
    .rst                  (!rst_ni || reset_now_o),
    .s_cpuif_req          (req_i),
    .s_cpuif_req_is_wr    (we_i),
    .s_cpuif_addr         (addr_i),
    .s_cpuif_wr_data      (wdata_i),
    .s_cpuif_wr_biten     (32'hffff_ffff),
    .s_cpuif_req_stall_wr (),
    .s_cpuif_req_stall_rd (),
    .s_cpuif_rd_ack       (),
    .s_cpuif_rd_err       (),
    .s_cpuif_rd_data      (block_rdata),
    .s_cpuif_wr_ack       (),
    .s_cpuif_wr_err       (),
    .hwif_in              (hwif_in),
    .hwif_out             (hwif_out)
  );
  /* verilator lint_on PINCONNECTEMPTY */

  always_comb begin
    rdata_o = '0;
    if (req_i && !we_i) begin
      case (addr_i)
        TPU_REG_STATUS[6:0]:
          rdata_o = {1'b0, halted_i, 1'b0, waiting_i, 1'b0, ~empty_i | flying_i, 4'd0, error_q.valid, aborting_o,
                     blocked_o, idle_o};
        TPU_REG_INTR_STATE[6:0]: rdata_o = {28'd0, blocked_irq_q, error_irq_q, space, done_q};
        TPU_REG_CYCLE_LO[6:0]: rdata_o = cycle_i[31:0];
        TPU_REG_HBM_LATENCY[6:0]: rdata_o = {16'd0, latency_q};
        default: rdata_o = block_rdata;
      endcase
    end
  end

  // Its reset value comes from outside, so that a soft reset keeps what a simulation was configured with.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_now_o) latency_q <= hbm_latency_reset_i;
    else if (write && addr_i == TPU_REG_HBM_LATENCY[6:0]) latency_q <= wdata_i[15:0];
  end
  assign hbm_latency_o = latency_q;

endmodule
