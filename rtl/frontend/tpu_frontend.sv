// SPDX-License-Identifier: MIT
//
// The front end: everything between the scalar core and the engines.
//
//   MMIO -> tpu_mmio -+-> tpu_ctrl      control registers, first error, interrupts, abort
//                     +-> tpu_queue x7  staging registers, waiting commands, head, started commands
//                     +-> tpu_sem       semaphore file; decides which heads start
//                     +-> VMEM, SMEM, vector program memory
//   engines ----------> tpu_retire      completions: signals, interrupt flag, errors
//                       tpu_counters, tpu_trace
//
// A command's way: GO in cycle t, head register in t+1, start at the earliest in t+2 (one cycle after the
// one in which a signal makes it ready). A queue whose engine is ready starts a command every cycle. The
// SYNC queue has no engine: its commands complete in the cycle after they start.

module tpu_frontend
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
  localparam int unsigned VmemBits = VmemWordBytes * 8,
  localparam int unsigned VmemAddrBits = $clog2(VmemBytes / VmemWordBytes),
  localparam int unsigned SmemBits = HbmPortBytes * 8,
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes)
) (
  input  logic                                  clk_i,
  input  logic                                  rst_ni,
  input  logic [63:0]                           cycle_i,

  // Scalar core. mmio_addr_i is the byte address of the access, mmio_be_i its bytes within the aligned
  // word, data in their lanes. A request is held until ready.
  input  logic                                  mmio_valid_i,
  input  logic                                  mmio_we_i,
  input  logic [23:0]                           mmio_addr_i,
  input  logic [3:0]                            mmio_be_i,
  input  logic [31:0]                           mmio_wdata_i,
  output logic                                  mmio_ready_o,
  output logic [31:0]                           mmio_rdata_o,
  output logic                                  irq_o,
  output logic                                  idle_o,
  output logic                                  blocked_o,
  input  logic [15:0]                           hbm_latency_reset_i,
  output logic [15:0]                           hbm_latency_o,

  // Engine ports, index = queue.
  output logic [Engines-1:0]                    eng_start_o,
  input  logic [Engines-1:0]                    eng_ready_i,
  output tpu_dma_cmd_t [3:0]                    dma_cmd_o,
  output logic [3:0][1:0]                       dma_prio_o,
  output tpu_mxu_cmd_t                          mxu_cmd_o,
  output tpu_vpu_cmd_t                          vpu_cmd_o,
  input  logic [Engines-1:0]                    eng_done_valid_i,
  output logic [Engines-1:0]                    eng_done_ready_o,
  input  logic [Engines-1:0][7:0]               eng_done_code_i,
  input  logic [Engines-1:0][31:0]              eng_done_detail0_i,
  input  logic [Engines-1:0][31:0]              eng_done_detail1_i,
  input  logic [Engines-1:0][47:0]              eng_done_bytes_i,
  input  logic [Engines-1:0][47:0]              eng_done_work_i,
  input  logic [Engines-1:0]                    eng_stall_i,
  input  logic [Engines-1:0]                    eng_idle_i,
  output logic                                  eng_abort_o,
  output logic                                  eng_clear_o,

  // Vector program memory.
  output logic                                  prog_valid_o,
  output logic                                  prog_we_o,
  output logic [10:0]                           prog_addr_o,
  output logic [31:0]                           prog_wdata_o,
  input  logic                                  prog_rsp_valid_i,
  input  logic [31:0]                           prog_rsp_data_i,

  // Scalar ports of VMEM and SMEM.
  output logic                                  vmem_valid_o,
  output logic                                  vmem_we_o,
  output logic [VmemAddrBits-1:0]               vmem_addr_o,
  output logic [VmemBits-1:0]                   vmem_wdata_o,
  output logic [VmemWordBytes-1:0]              vmem_be_o,
  input  logic                                  vmem_gnt_i,
  input  logic                                  vmem_rsp_valid_i,
  input  logic [VmemBits-1:0]                   vmem_rsp_data_i,
  output logic                                  smem_valid_o,
  output logic                                  smem_we_o,
  output logic [SmemAddrBits-1:0]               smem_addr_o,
  output logic [SmemBits-1:0]                   smem_wdata_o,
  output logic [HbmPortBytes-1:0]               smem_be_o,
  input  logic                                  smem_gnt_i,
  input  logic                                  smem_rsp_valid_i,
  input  logic [SmemBits-1:0]                   smem_rsp_data_i,

  // Trace.
  output logic                                  trace_any_o,
  output logic [TraceSlots-1:0]                 trace_valid_o,
  output logic [TraceSlots-1:0][TraceBits-1:0]  trace_data_o
);

  localparam int unsigned DmaBits = $bits(tpu_dma_cmd_t);
  localparam int unsigned MxuBits = $bits(tpu_mxu_cmd_t);
  localparam int unsigned VpuBits = $bits(tpu_vpu_cmd_t);

  // ---- clock: nothing here changes but the counters, unless something on this list happens ----

  logic clk, sem_wake, ctrl_wake;
  logic [Queues-1:0] fresh, flying;
  tpu_clock_gate u_clock (
    .clk_i,
    .en_i  (~rst_ni | mmio_valid_i | (eng_done_valid_i != '0) | flying[QSync] | (fresh != '0) | sem_wake |
            ctrl_wake),
    .clk_o (clk)
  );

  // ---- scalar core ----

  logic ctrl_req, mark, counter_re, sem_re, refuse;
  logic [31:0] ctrl_rdata, counter_rdata, sem_value;
  logic [Queues-1:0] stage_we, stage_re, go;
  logic [Queues-1:0][31:0] stage_rdata, stage_waits;
  logic [Queues-1:0][3:0] free;
  sem_op_e sem_op;
  logic [5:0] sem_index;
  logic [63:0] sem_mode;
  error_t mmio_error;

  tpu_mmio u_mmio (
    .clk_i           (clk),
    .rst_ni,
    .mmio_valid_i,
    .mmio_we_i,
    .mmio_addr_i,
    .mmio_be_i,
    .mmio_wdata_i,
    .mmio_ready_o,
    .mmio_rdata_o,
    .idle_i          (idle_o),
    .refuse_i        (refuse),
    .ctrl_req_o      (ctrl_req),
    .ctrl_rdata_i    (ctrl_rdata),
    .mark_o          (mark),
    .counter_re_o    (counter_re),
    .counter_rdata_i (counter_rdata),
    .stage_we_o      (stage_we),
    .stage_re_o      (stage_re),
    .stage_rdata_i   (stage_rdata),
    .waits_i         (stage_waits),
    .free_i          (free),
    .go_o            (go),
    .sem_op_o        (sem_op),
    .sem_re_o        (sem_re),
    .sem_o           (sem_index),
    .sem_value_i     (sem_value),
    .sem_mode_i      (sem_mode),
    .prog_valid_o,
    .prog_rsp_valid_i,
    .prog_rsp_data_i,
    .vmem_valid_o,
    .vmem_addr_o,
    .vmem_wdata_o,
    .vmem_be_o,
    .vmem_gnt_i,
    .vmem_rsp_valid_i,
    .vmem_rsp_data_i,
    .smem_valid_o,
    .smem_addr_o,
    .smem_wdata_o,
    .smem_be_o,
    .smem_gnt_i,
    .smem_rsp_valid_i,
    .smem_rsp_data_i,
    .error_o         (mmio_error)
  );

  assign vmem_we_o = mmio_we_i;
  assign smem_we_o = mmio_we_i;
  assign prog_we_o = mmio_we_i;
  assign prog_addr_o = mmio_addr_i[12:2];
  assign prog_wdata_o = mmio_wdata_i;

  // ---- queues ----

  logic abort_now, reset_now, latch_now, clear_now, aborting, error_valid;
  logic [Queues-1:0] start, head_valid, empty, started_full, pop, fail, halted_q, ask, ready;
  wait_t [Queues-1:0][Waits-1:0] head_waits;
  logic [Queues-1:0][Waits-1:0][31:0] head_amounts;
  logic [Queues-1:0][31:0] head_tag;
  logic [Queues-1:0][31:0] started_tag, started_signals;
  logic [Queues-1:0][1:0][31:0] started_amounts;

  assign refuse = error_valid | aborting;

  for (genvar q = 0; q < Queues; q++) begin : gen_queue
    localparam int unsigned Bits = (q < QMxu) ? DmaBits : (q == QMxu) ? MxuBits : (q == QVpu) ? VpuBits : 1;
    logic [Bits-1:0] cmd;
    /* verilator lint_off UNUSEDSIGNAL */  // DMA only
    logic [1:0] prio;
    /* verilator lint_on UNUSEDSIGNAL */
    signals_t signals;
    assign started_signals[q] = 32'(signals);

    tpu_queue #(
      .Queue           (q),
      .CmdBits         (Bits)
    ) u_queue (
      .clk_i             (clk),
      .rst_ni,
      .flush_i           (abort_now),
      .reset_i           (reset_now),
      .stage_we_i        (stage_we[q]),
      .stage_re_i        (stage_re[q]),
      .stage_offset_i    ({mmio_addr_i[8:2], 2'd0}),
      .stage_wdata_i     (mmio_wdata_i),
      .stage_rdata_o     (stage_rdata[q]),
      .waits_o           (stage_waits[q]),
      .go_i              (go[q]),
      .go_tag_i          (mmio_wdata_i),
      .free_o            (free[q]),
      .fresh_o           (fresh[q]),
      .head_valid_o      (head_valid[q]),
      .head_waits_o      (head_waits[q]),
      .head_amounts_o    (head_amounts[q]),
      .head_tag_o        (head_tag[q]),
      .head_prio_o       (prio),
      .cmd_o             (cmd),
      .start_i           (start[q]),
      .started_valid_o   (flying[q]),
      .started_full_o    (started_full[q]),
      .started_tag_o     (started_tag[q]),
      .started_signals_o (signals),
      .started_amounts_o (started_amounts[q]),
      .started_pop_i     (pop[q]),
      .started_drop_i    (fail[q])
    );
    assign empty[q] = (free[q] == 4'(QueueDepth));

    if (q < QMxu) begin : gen_dma
      assign dma_cmd_o[q] = tpu_dma_cmd_t'(cmd);
      assign dma_prio_o[q] = prio;
    end else if (q == QMxu) begin : gen_mxu
      assign mxu_cmd_o = tpu_mxu_cmd_t'(cmd);
    end else if (q == QVpu) begin : gen_vpu
      assign vpu_cmd_o = tpu_vpu_cmd_t'(cmd);
    end else begin : gen_sync
      logic unused;
      assign unused = cmd;
    end
  end

  always_ff @(posedge clk) begin
    if (!rst_ni || abort_now) halted_q <= '0;
    else if (fail != '0) halted_q <= halted_q | fail;
  end

  // A queue whose engine reports a failed command starts nothing any more.
  logic [Queues-1:0] failing;
  always_comb begin
    failing = '0;
    if (eng_done_valid_i != '0) begin
      for (int unsigned q = 0; q < Engines; q++) failing[q] = eng_done_valid_i[q] & (eng_done_code_i[q] != '0);
    end
  end

  assign ready = {1'b1, eng_ready_i};
  assign ask = aborting ? '0 : head_valid & ready & ~started_full & ~halted_q & ~failing;
  assign eng_start_o = start[Engines-1:0];

  // ---- semaphores ----

  logic [Queues-1:0] waiting, settled;
  logic [1:0] look_start, look_wait, sig_valid, sig_huge;
  logic [1:0][2:0] look_queue;
  logic [1:0][5:0] look_sem, sig_sem;
  logic [1:0][31:0] sig_amount;
  logic sem_hold, overflow, underflow;
  logic [5:0] fault_sem;
  logic [31:0] fault_value;

  tpu_sem u_sem (
    .clk_i         (clk),
    .rst_ni,
    .clear_i       (abort_now),
    .clear_modes_i (reset_now),
    .wake_o        (sem_wake),
    .fresh_i       (fresh),
    .ask_i         (ask),
    .waits_i       (head_waits),
    .amounts_i     (head_amounts),
    .start_o       (start),
    .waiting_o     (waiting),
    .settled_o     (settled),
    .look_start_o  (look_start),
    .look_wait_o   (look_wait),
    .look_queue_o  (look_queue),
    .look_sem_o    (look_sem),
    .hold_o        (sem_hold),
    .sig_valid_i   (sig_valid),
    .sig_sem_i     (sig_sem),
    .sig_amount_i  (sig_amount),
    .sig_huge_i    (sig_huge),
    .op_i          (sem_op),
    .op_sem_i      (sem_index),
    .op_data_i     (mmio_wdata_i),
    .overflow_o    (overflow),
    .underflow_o   (underflow),
    .fault_sem_o   (fault_sem),
    .fault_value_o (fault_value),
    .rd_valid_i    (sem_re),
    .rd_sem_i      (sem_index[$clog2(Semaphores)-1:0]),
    .rd_value_o    (sem_value),
    .mode_o        (sem_mode)
  );

  // ---- completion ----

  logic done, done_irq;
  logic [2:0] done_queue;
  logic [31:0] done_tag;
  logic [47:0] done_bytes, done_work;
  error_t engine_error;

  tpu_retire u_retire (
    .clk_i        (clk),
    .rst_ni,
    .hold_i       (sem_hold),
    .aborting_i   (aborting),
    .done_valid_i ({flying[QSync], eng_done_valid_i}),
    .done_ready_o (eng_done_ready_o),
    .code_i       ({8'd0, eng_done_code_i}),
    .detail0_i    ({32'd0, eng_done_detail0_i}),
    .detail1_i    ({32'd0, eng_done_detail1_i}),
    .bytes_i      ({48'd0, eng_done_bytes_i}),
    .work_i       ({48'd0, eng_done_work_i}),
    .tag_i        (started_tag),
    .signals_i    (started_signals),
    .amounts_i    (started_amounts),
    .valid_o      (done),
    .queue_o      (done_queue),
    .tag_o        (done_tag),
    .bytes_o      (done_bytes),
    .work_o       (done_work),
    .irq_o        (done_irq),
    .sig_valid_o  (sig_valid),
    .sig_sem_o    (sig_sem),
    .sig_amount_o (sig_amount),
    .sig_huge_o   (sig_huge),
    .pop_o        (pop),
    .fail_o       (fail),
    .error_o      (engine_error)
  );

  // ---- errors: the engines' before the scalar core's ----

  error_t error0, error1;
  /* verilator lint_off UNUSEDSIGNAL */  // details are not traced
  error_t error_new;
  /* verilator lint_on UNUSEDSIGNAL */
  always_comb begin
    error0 = engine_error;
    error1 = mmio_error;
    if (overflow || underflow) begin
      if (sem_op == SemNone) begin
        error0 = '{valid: 1'b1, code: TPU_ERROR_SEM_OVERFLOW, agent: {1'b0, done_queue}, tag: done_tag,
                   detail0: 32'(fault_sem), detail1: fault_value};
      end else begin
        error1 = '{valid: 1'b1, code: overflow ? TPU_ERROR_SEM_OVERFLOW : TPU_ERROR_SEM_UNDERFLOW,
                   agent: TPU_QUEUE_SCALAR, tag: 32'd0, detail0: 32'(fault_sem), detail1: fault_value};
      end
    end
  end

  tpu_ctrl u_ctrl (
    .clk_i         (clk),
    .rst_ni,
    .cycle_i,
    .req_i         (ctrl_req),
    .we_i          (mmio_we_i),
    .addr_i        ({mmio_addr_i[6:2], 2'd0}),
    .wdata_i       (mmio_wdata_i),
    .rdata_o       (ctrl_rdata),
    .abort_now_o   (abort_now),
    .reset_now_o   (reset_now),
    .latch_now_o   (latch_now),
    .clear_now_o   (clear_now),
    .empty_i       (empty),
    .flying_i      (flying),
    .waiting_i     (waiting & ~halted_q),
    .settled_i     (settled),
    .halted_i      (halted_q),
    .free_i        (free),
    .eng_idle_i,
    .done_irq_i    (done_irq),
    .error0_i      (error0),
    .error1_i      (error1),
    .error_valid_o (error_valid),
    .error_new_o   (error_new),
    .wake_o        (ctrl_wake),
    .aborting_o    (aborting),
    .eng_abort_o,
    .eng_clear_o,
    .idle_o,
    .blocked_o,
    .irq_o,
    .hbm_latency_reset_i,
    .hbm_latency_o
  );

  // ---- counters ----

  logic [Queues-1:0] starved;
  always_comb begin
    // Something flies, but not here, and nothing is queued here.
    starved = (flying != '0) ? (~flying & empty) : '0;
  end

  tpu_counters u_counters (
    .clk_i,
    .rst_ni,
    .cycle_i,
    .latch_i      (latch_now),
    .clear_i      (clear_now),
    .reset_i      (reset_now),
    .busy_i       (flying),
    .waiting_i    (waiting & ~halted_q),
    .starved_i    (starved),
    .stall_i      ({1'b0, eng_stall_i}),
    .done_valid_i (done),
    .done_queue_i (done_queue),
    .done_bytes_i (done_bytes),
    .done_work_i  (done_work),
    .rd_valid_i   (counter_re),
    .rd_queue_i   (mmio_addr_i[8:6]),
    .rd_word_i    (mmio_addr_i[5:2]),
    .rd_data_o    (counter_rdata)
  );

  // ---- trace ----

  function automatic event_t trace_event(input logic [3:0] agent, input logic [7:0] code,
                                         input logic [31:0] tag, input logic [31:0] arg);
    return '{zero: 4'd0, agent: agent, code: code, arg: arg, tag: tag};
  endfunction

  // Argument of SIGNAL: semaphore, and as much of the amount as fits.
  function automatic logic [31:0] signal_arg(input logic [5:0] sem, input logic [31:0] amount,
                                             input logic huge);
    return {(huge || amount[31:24] != '0) ? 24'hff_ffff : amount[23:0], 2'd0, sem};
  endfunction

  logic [TraceSlots-1:0] trace_valid;
  event_t [TraceSlots-1:0] trace_in;
  assign trace_valid = {error_new.valid, sig_valid, done, look_start | look_wait,
                        mark | abort_now | (go != '0) | (sem_op == SemSignal)};

  typedef event_t [TraceSlots-1:0] events_t;
  function automatic events_t events();
    events_t r;
    r = '0;
    if (mark) r[0] = trace_event(TPU_QUEUE_SCALAR, TPU_EVENT_MARK, mmio_wdata_i, '0);
    else if (abort_now) r[0] = trace_event(TPU_QUEUE_SCALAR, TPU_EVENT_ABORT, '0, '0);
    else if (sem_op == SemSignal) begin
      r[0] = trace_event(TPU_QUEUE_SCALAR, TPU_EVENT_SIGNAL, '0, signal_arg(sem_index, mmio_wdata_i, 1'b0));
    end else r[0] = trace_event({1'b0, mmio_addr_i[11:9]}, TPU_EVENT_GO, mmio_wdata_i, '0);
    for (int unsigned p = 0; p < 2; p++) begin
      r[1 + p] = trace_event({1'b0, look_queue[p]}, look_start[p] ? TPU_EVENT_START : TPU_EVENT_WAIT,
                             head_tag[look_queue[p]], look_start[p] ? 32'd0 : 32'(look_sem[p]));
    end
    r[3] = trace_event({1'b0, done_queue}, TPU_EVENT_END, done_tag,
                       (done_queue < 3'(QMxu)) ? done_bytes[31:0] : 32'd0);
    for (int unsigned i = 0; i < 2; i++) begin
      r[4 + i] = trace_event({1'b0, done_queue}, TPU_EVENT_SIGNAL, done_tag,
                             signal_arg(sig_sem[i], sig_amount[i], sig_huge[i]));
    end
    r[6] = trace_event(error_new.agent, TPU_EVENT_ERROR, error_new.tag, 32'(error_new.code));
    return r;
  endfunction

  always_comb begin
    trace_in = '0;
    if (trace_valid != '0) trace_in = events();
  end

  tpu_trace u_trace (
    .valid_i       (trace_valid),
    .event_i       (trace_in),
    .trace_any_o,
    .trace_valid_o,
    .trace_data_o
  );

endmodule
