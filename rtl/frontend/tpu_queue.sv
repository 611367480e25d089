// SPDX-License-Identifier: MIT
//
// One queue: its staging registers, the commands that wait, and the signals of the started ones.
//
//   MMIO write -> staging registers -GO-> waiting commands -> head -start-> engine
//                                                              +----------> started (tag, signals)
//
// GO copies the staged words, made dense, into a memory with one write and one read port (distributed
// RAM on an FPGA). The oldest command is copied from there into the head register, so that what looks at
// it sees registers that change only when the queue advances; this costs one cycle after GO and none
// between commands. The head counts as a slot of the queue: QueueDepth commands wait beside those in the
// engine. Reserved bits are never stored (the MMIO decoder refuses them), so a staging word is the
// register.

module tpu_queue
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
  parameter int unsigned Queue = 0,  // decides the type of the arguments
  parameter int unsigned CmdBits = 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   flush_i,           // abort: forget all commands
  input  logic                   reset_i,           // soft reset: staging registers to 0

  // Staging registers; offset in the queue's block.
  input  logic                   stage_we_i,
  input  logic                   stage_re_i,
  input  logic [8:0]             stage_offset_i,
  input  logic [31:0]            stage_wdata_i,
  output logic [31:0]            stage_rdata_o,
  output logic [31:0]            waits_o,           // WAITS, for the check at GO

  input  logic                   go_i,
  input  logic [31:0]            go_tag_i,
  output logic [3:0]             free_o,

  output logic                   fresh_o,           // the head is loaded in this cycle
  output logic                   head_valid_o,
  output wait_t [Waits-1:0]      head_waits_o,
  output logic [Waits-1:0][31:0] head_amounts_o,
  output logic [31:0]            head_tag_o,
  output logic [1:0]             head_prio_o,
  output logic [CmdBits-1:0]     cmd_o,
  input  logic                   start_i,

  // The oldest started command.
  output logic                   started_valid_o,
  output logic                   started_full_o,
  output logic [31:0]            started_tag_o,
  output signals_t               started_signals_o,
  output logic [1:0][31:0]       started_amounts_o,
  input  logic                   started_pop_i,
  input  logic                   started_drop_i     // halt: nothing that started signals any more
);

  localparam int unsigned ArgWords = (Queue < QMxu) ? TPU_DMA_ARG_WORDS :
                                     (Queue == QMxu) ? TPU_MXU_ARG_WORDS :
                                     (Queue == QVpu) ? TPU_VPU_ARG_WORDS : 1;
  localparam int unsigned ArgGroups = (ArgWords + 7) / 8;
  localparam int unsigned ArgBits = $clog2(8 * ArgGroups);
  localparam int unsigned CountBits = $clog2(QueueDepth + 1);
  localparam int unsigned PtrBits = $clog2(QueueDepth);

  // ---- staging ----

  logic [31:0] stage_waits_q, stage_signals_q;
  logic [Waits-1:0][31:0] stage_wait_amount_q;
  logic [1:0][31:0] stage_signal_amount_q;
  logic [8*ArgGroups-1:0][31:0] stage_q;  // packed: as an array it would be a RAM to synthesis

  logic [6:0] word;
  logic is_arg;
  logic [ArgBits-1:0] arg;
  assign word = stage_offset_i[8:2];
  assign is_arg = (word >= 7'(TPU_DMA_SRC[8:2])) && (word < 7'(TPU_DMA_SRC[8:2]) + 7'(ArgWords)) &&
                  (Queue != QSync);
  assign arg = ArgBits'(word - 7'(TPU_DMA_SRC[8:2]));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_i) begin
      stage_waits_q <= '0;
      stage_signals_q <= '0;
      stage_wait_amount_q <= '0;
      stage_signal_amount_q <= '0;
    end else if (stage_we_i) begin
      if (stage_offset_i == TPU_Q_WAITS) stage_waits_q <= stage_wdata_i;
      if (stage_offset_i == TPU_Q_SIGNALS) stage_signals_q <= stage_wdata_i;
      for (int unsigned i = 0; i < Waits; i++) begin
        if (stage_offset_i == TPU_Q_WAIT_AMOUNT + 9'(4 * i)) stage_wait_amount_q[i] <= stage_wdata_i;
      end
      for (int unsigned i = 0; i < 2; i++) begin
        if (stage_offset_i == TPU_Q_SIGNAL_AMOUNT + 9'(4 * i)) stage_signal_amount_q[i] <= stage_wdata_i;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_i) begin
      stage_q <= '0;
    end else if (stage_we_i && is_arg) begin
      stage_q[arg] <= stage_wdata_i;
    end
  end

  assign waits_o = stage_waits_q;

  always_comb begin
    stage_rdata_o = '0;
    if (stage_re_i) begin
      if (stage_offset_i == TPU_Q_GO) stage_rdata_o = 32'(free_o);
      if (stage_offset_i == TPU_Q_WAITS) stage_rdata_o = stage_waits_q;
      if (stage_offset_i == TPU_Q_SIGNALS) stage_rdata_o = stage_signals_q;
      for (int unsigned i = 0; i < Waits; i++) begin
        if (stage_offset_i == TPU_Q_WAIT_AMOUNT + 9'(4 * i)) stage_rdata_o = stage_wait_amount_q[i];
      end
      for (int unsigned i = 0; i < 2; i++) begin
        if (stage_offset_i == TPU_Q_SIGNAL_AMOUNT + 9'(4 * i)) stage_rdata_o = stage_signal_amount_q[i];
      end
      if (is_arg) stage_rdata_o = stage_q[arg];
    end
  end

  // The staged words as head and command struct.
  typedef struct packed {
    logic [Waits-1:0][31:0] amounts;
    logic [1:0][31:0] signal_amounts;
    logic [31:0] tag;
    wait_t [Waits-1:0] waits;
    signals_t signals;
  } head_t;

  function automatic head_t staged_head(input logic [31:0] tag);
    head_t h;
    h.tag = tag;
    h.signals = signals_t'(stage_signals_q[$bits(signals_t)-1:0]);
    h.signal_amounts = stage_signal_amount_q;
    for (int unsigned i = 0; i < Waits; i++) begin
      h.waits[i].sem = stage_waits_q[8*i +: 6];
      h.waits[i].consume = stage_waits_q[8*i + 6];
      h.waits[i].en = stage_waits_q[8*i + 7];
    end
    h.amounts = stage_wait_amount_q;
    return h;
  endfunction

  function automatic logic [CmdBits-1:0] staged_cmd();
    logic [32*8*ArgGroups-1:0] words;
    words = stage_q;
    if (Queue < QMxu) return CmdBits'(tpu_dma_cmd((32*TPU_DMA_ARG_WORDS)'(words)));
    if (Queue == QMxu) return CmdBits'(tpu_mxu_cmd((32*TPU_MXU_ARG_WORDS)'(words)));
    if (Queue == QVpu) return CmdBits'(tpu_vpu_cmd((32*TPU_VPU_ARG_WORDS)'(words)));
    return '0;
  endfunction

  // ---- waiting commands ----

  (* ram_style = "distributed" *)
  head_t heads_q [0:QueueDepth-1];
  (* ram_style = "distributed" *)
  logic [CmdBits-1:0] cmds_q [0:QueueDepth-1];

  logic [CountBits-1:0] count_q;  // in the memory, the head not included
  logic [PtrBits-1:0] wr_q, rd_q;
  logic head_valid_q, load;
  head_t head_q;
  logic [CmdBits-1:0] cmd_q;

  assign load = (count_q != '0) & (start_i | ~head_valid_q);

  always_ff @(posedge clk_i) begin
    if (go_i) begin
      heads_q[wr_q] <= staged_head(go_tag_i);
      cmds_q[wr_q] <= staged_cmd();
    end
    if (load) begin
      head_q <= heads_q[rd_q];
      cmd_q <= cmds_q[rd_q];
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      count_q <= '0;
      wr_q <= '0;
      rd_q <= '0;
      head_valid_q <= 1'b0;
    end else if (go_i || load || start_i) begin
      count_q <= count_q + CountBits'(go_i) - CountBits'(load);
      if (go_i) wr_q <= (wr_q == PtrBits'(QueueDepth - 1)) ? '0 : wr_q + 1'b1;
      if (load) rd_q <= (rd_q == PtrBits'(QueueDepth - 1)) ? '0 : rd_q + 1'b1;
      head_valid_q <= load | (head_valid_q & ~start_i);
    end
  end

  assign free_o = 4'(QueueDepth) - 4'(count_q) - 4'(head_valid_q);
  assign fresh_o = load;
  assign head_valid_o = head_valid_q;
  assign head_waits_o = head_q.waits;
  assign head_amounts_o = head_q.amounts;
  assign head_tag_o = head_q.tag;
  assign head_prio_o = head_q.signals.prio;
  assign cmd_o = cmd_q;

  // ---- started commands ----

  localparam int unsigned FlyBits = $clog2(InFlight);
  (* ram_style = "distributed" *)
  logic [31:0] tags_q [0:InFlight-1];
  (* ram_style = "distributed" *)
  signals_t signals_q [0:InFlight-1];
  (* ram_style = "distributed" *)
  logic [1:0][31:0] amounts_q [0:InFlight-1];
  logic [FlyBits:0] fly_q;
  logic [FlyBits-1:0] fly_wr_q, fly_rd_q;

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      tags_q[fly_wr_q] <= head_q.tag;
      signals_q[fly_wr_q] <= head_q.signals;
      amounts_q[fly_wr_q] <= head_q.signal_amounts;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i || started_drop_i) begin
      fly_q <= '0;
      fly_wr_q <= '0;
      fly_rd_q <= '0;
    end else if (start_i || started_pop_i) begin
      fly_q <= fly_q + (FlyBits+1)'(start_i) - (FlyBits+1)'(started_pop_i);
      fly_wr_q <= fly_wr_q + FlyBits'(start_i);
      fly_rd_q <= fly_rd_q + FlyBits'(started_pop_i);
    end
  end
  assign started_valid_o = (fly_q != '0);
  assign started_full_o = (fly_q == (FlyBits+1)'(InFlight));
  assign started_tag_o = tags_q[fly_rd_q];
  assign started_signals_o = signals_q[fly_rd_q];
  assign started_amounts_o = amounts_q[fly_rd_q];

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!go_i || free_o != '0) else $error("tpu_queue %0d: GO on a full queue", Queue);
      assert (!start_i || head_valid_q) else $error("tpu_queue %0d: start without a head", Queue);
      assert (!start_i || !started_full_o) else $error("tpu_queue %0d: too many started", Queue);
      assert (!started_pop_i || started_valid_o) else $error("tpu_queue %0d: completion of nothing", Queue);
    end
  end
`endif

endmodule
