// SPDX-License-Identifier: MIT
//
// The vector unit: runs vector programs (docs/contract.md, section 6). README.md describes it.
//
// This file: the life of a command (scalars from SMEM, run, done, abort) and the wiring of fetch,
// issue, registers and pipes. One command at a time; it is done when nothing of it is in flight.

module tpu_vpu
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_pkg::*;
(
  input  logic                                   clk_i,
  input  logic                                   rst_ni,

  // Engine port.
  input  logic                                   start_i,
  input  tpu_vpu_cmd_t                           cmd_i,
  output logic                                   ready_o,
  output logic                                   done_valid_o,
  input  logic                                   done_ready_i,
  output logic [7:0]                             done_code_o,
  output logic [31:0]                            done_detail0_o,
  output logic [31:0]                            done_detail1_o,
  output logic [47:0]                            done_bytes_o,
  output logic [47:0]                            done_work_o,
  output logic                                   stall_o,
  input  logic                                   abort_i,
  output logic                                   idle_o,
  input  logic                                   clear_i,

  // Program memory, 32-bit words: the scalar core's view.
  input  logic                                   prog_valid_i,
  input  logic                                   prog_we_i,
  input  logic [10:0]                            prog_addr_i,
  input  logic [31:0]                            prog_wdata_i,
  output logic                                   prog_rsp_valid_o,
  output logic [31:0]                            prog_rsp_data_o,

  // VMEM, one port a word of a row.
  output logic [Words-1:0]                       vld_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0]     vld_addr_o,
  input  logic [Words-1:0]                       vld_gnt_i,
  input  logic [Words-1:0]                       vld_rsp_valid_i,
  input  logic [Words-1:0][WordBits-1:0]         vld_rsp_data_i,

  output logic [Words-1:0]                       vst_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0]     vst_addr_o,
  output logic [Words-1:0][WordBits-1:0]         vst_wdata_o,
  output logic [Words-1:0][WordBits/8-1:0]       vst_be_o,
  input  logic [Words-1:0]                       vst_gnt_i,

  // SMEM, whole words.
  output logic                                   smem_valid_o,
  output logic [SmemAddrBits-1:0]                smem_addr_o,
  input  logic                                   smem_gnt_i,
  input  logic                                   smem_rsp_valid_i,
  input  logic [SmemWordBits-1:0]                smem_rsp_data_i,

  // ACC. Read data comes two cycles after the grant.
  output logic                                   acc_rd_valid_o,
  output logic [AccRowBits-1:0]                  acc_rd_row_o,
  input  logic                                   acc_rd_gnt_i,
  input  logic                                   acc_rd_rsp_valid_i,
  input  logic [Lanes*32-1:0]                    acc_rd_rsp_data_i,

  output logic                                   acc_wr_valid_o,
  output logic [AccRowBits-1:0]                  acc_wr_row_o,
  output logic [Lanes-1:0]                       acc_wr_mask_o,
  output logic [Lanes*32-1:0]                    acc_wr_data_o,
  input  logic                                   acc_wr_gnt_i
);

  localparam int unsigned SmemByteBits = $clog2(HbmPortBytes);

  // -----------------------------------------------------------------------------------------------
  // The command.

  typedef enum logic [2:0] {
    StIdle,
    StScalar,   // scalars that are in SMEM
    StRun,
    StDone,     // done_valid
    StFlush     // abort: wait until reads under way have come back
  } state_e;

  state_e       state_q;
  tpu_vpu_cmd_t cmd_q;
  logic         dead_q;          // an error was reported
  logic [1:0]   flush_count_q;
  logic [7:0]   code_q;
  logic [31:0]  detail0_q, detail1_q;
  logic [47:0]  bytes_q, work_q;
  logic         go, flush, finish;

  // Everything but the program memory's second port. Fetch and the pipes have clocks of their own.
  logic clk;
  tpu_clock_gate u_clock (
    .clk_i,
    .en_i(~rst_ni | start_i | abort_i | clear_i | (state_q != StIdle)),
    .clk_o(clk)
  );

  assign ready_o        = (state_q == StIdle) & ~dead_q;
  assign idle_o         = state_q == StIdle;
  assign done_valid_o   = state_q == StDone;
  assign done_code_o    = code_q;
  assign done_detail0_o = detail0_q;
  assign done_detail1_o = detail1_q;
  assign done_bytes_o   = bytes_q;
  assign done_work_o    = work_q;
  assign flush          = abort_i | finish | (state_q == StFlush);

  // Scalars: the first bad address in order, else one read after the other.
  logic [7:0]      sc_todo_q;
  logic [1:0]      sc_way_q;       // reads under way
  logic [1:0][2:0] sc_way_n_q;     // which scalar
  logic [1:0][SmemByteBits-3:0] sc_way_w_q;  // which word of the SMEM word
  logic [2:0]      sc_n, bad_n;
  logic            sc_bad;
  logic [31:0]     sc_addr;

  always_comb begin
    sc_n   = 3'd0;
    bad_n  = 3'd0;
    sc_bad = 1'b0;
    if (state_q == StScalar) begin
      for (int unsigned i = 0; i < 8; i++) begin
        if (sc_todo_q[7-i]) begin
          sc_n = 3'(32'd7 - i);
          if (cmd_q.scalar[7-i][1:0] != 2'd0 || cmd_q.scalar[7-i] >= SmemBytes) begin
            sc_bad = 1'b1;
            bad_n  = 3'(32'd7 - i);
          end
        end
      end
    end
  end

  assign sc_addr      = sc_bad ? cmd_q.scalar[bad_n] : cmd_q.scalar[sc_n];
  assign smem_valid_o = (state_q == StScalar) & ~sc_bad & (sc_todo_q != '0) & ~abort_i;
  assign smem_addr_o  = SmemAddrBits'(sc_addr >> SmemByteBits);
  assign go           = (state_q == StScalar) & (sc_todo_q == '0) & (sc_way_q == '0) & ~abort_i;

  always_ff @(posedge clk) begin
    if (!rst_ni) begin
      sc_way_q  <= '0;
      sc_todo_q <= '0;
    end else if (state_q == StIdle) begin
      if (start_i) sc_todo_q <= cmd_i.scalar_mode;
    end else if (state_q != StRun) begin
      sc_way_q   <= {sc_way_q[0], smem_valid_o & smem_gnt_i};
      sc_way_n_q <= {sc_way_n_q[0], sc_n};
      sc_way_w_q <= {sc_way_w_q[0], sc_addr[SmemByteBits-1:2]};
      if (smem_valid_o & smem_gnt_i) sc_todo_q[sc_n] <= 1'b0;
    end
    if ((state_q == StIdle) & start_i) cmd_q <= cmd_i;
    if ((state_q == StScalar) & smem_rsp_valid_i) begin
      cmd_q.scalar[sc_way_n_q[1]] <= smem_rsp_data_i[32*32'(sc_way_w_q[1])+:32];
    end
  end

  logic [7:0]  ins_code;
  logic [31:0] ins_detail0, ins_detail1;
  logic        mem_new, count;
  logic [6:0]  ins_bytes;
  ins_t        ins;

  always_ff @(posedge clk) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      dead_q  <= 1'b0;
    end else begin
      if (clear_i) dead_q <= 1'b0;
      case (state_q)
        StIdle: if (start_i) state_q <= StScalar;
        StScalar: begin
          if (sc_bad) state_q <= StDone;
          else if (go) state_q <= StRun;
        end
        StRun: if (finish) state_q <= StDone;
        StDone: if (done_ready_i) begin
          state_q <= StIdle;
          dead_q  <= code_q != TPU_ERROR_NONE;
        end
        StFlush: if (flush_count_q == '0) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (abort_i && state_q != StIdle && state_q != StFlush) state_q <= StFlush;
    end
    flush_count_q <= (state_q == StFlush) ? flush_count_q - 2'd1 : 2'd3;

    if (state_q == StScalar) begin
      code_q    <= (cmd_q.scalar[bad_n][1:0] != 2'd0) ? TPU_ERROR_ALIGN : TPU_ERROR_RANGE;
      detail0_q <= {6'd0, TPU_SPACE_SMEM, 5'd0, bad_n, 16'hffff};
      detail1_q <= sc_addr;
      bytes_q   <= '0;
      work_q    <= '0;
    end else if (state_q == StRun) begin
      if (finish) begin
        code_q    <= ins_code;
        detail0_q <= ins_detail0;
        detail1_q <= ins_detail1;
      end
      if (count) work_q <= work_q + 48'd1;
      if (mem_new) bytes_q <= bytes_q + 48'(ins.count * 11'(ins_bytes));
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Program, fetch, issue.

  logic                          clk_fetch, fetch, fetch_move;
  logic [$clog2(VpuProgram)-1:0] fetch_addr;
  logic [63:0]                   fetch_data;
  logic                          ins_valid, ins_ready;
  kind_e                         ins_kind;
  logic [7:0][AddrBits-1:0]      ins_addr;
  logic [AddrBits-1:0]           ins_pitch;
  slot_t                         new_slot;
  logic                          ld_new, alu_new, red_new, eup_new, st_new;

  assign mem_new = ld_new | st_new;

  tpu_vpu_prog u_prog (
    .clk_i, .rst_ni, .clk_fetch_i(clk_fetch), .fetch_i(fetch), .fetch_addr_i(fetch_addr), .fetch_data_o(fetch_data),
    .prog_valid_i, .prog_we_i, .prog_addr_i, .prog_wdata_i, .prog_rsp_valid_o, .prog_rsp_data_o
  );



  tpu_clock_gate u_clock_fetch (.clk_i, .en_i(~rst_ni | flush | go | fetch_move), .clk_o(clk_fetch));

  tpu_vpu_fetch u_fetch (
    .clk_i(clk_fetch), .rst_ni, .flush_i(flush), .move_o(fetch_move), .go_i(go), .cmd_i(cmd_q), .fetch_o(fetch),
    .fetch_addr_o(fetch_addr), .fetch_data_i(fetch_data), .ins_valid_o(ins_valid),
    .ins_ready_i(ins_ready), .ins_kind_o(ins_kind), .ins_o(ins), .ins_addr_o(ins_addr),
    .ins_pitch_o(ins_pitch), .ins_bytes_o(ins_bytes), .ins_code_o(ins_code),
    .ins_detail0_o(ins_detail0), .ins_detail1_o(ins_detail1), .count_o(count)
  );

  slot_t ld_slot, alu_slot, alu_rd_slot, alu_wr_slot, red_slot, red_wr_slot, eup_slot, eup_wr_slot, st_slot, st_end_slot;
  sub_t  ld_sub, alu_sub, alu_rd_sub, alu_wr_sub, red_sub, red_wr_sub, eup_sub, eup_wr_sub, st_sub;
  logic  ld_ok, alu_ok, red_ok, red_wr_ok, eup_ok, eup_wr_ok, st_ok;
  logic  ld_wr, alu_rd, alu_wr, red_rd, red_wr, eup_rd, eup_wr, st_rd, st_end;
  logic [Slots-1:0] st_busy, st_end_mask, ld_todo, ld_end;

  tpu_vpu_issue u_issue (
    .clk_i(clk), .rst_ni, .flush_i(flush), .ins_valid_i(ins_valid), .ins_ready_o(ins_ready),
    .ins_kind_i(ins_kind), .ins_i(ins), .ins_code_i(ins_code),
    .ld_new_o(ld_new), .alu_new_o(alu_new), .red_new_o(red_new), .eup_new_o(eup_new), .st_new_o(st_new),
    .new_slot_o(new_slot),
    .ld_slot_i(ld_slot), .ld_sub_i(ld_sub), .ld_ok_o(ld_ok),
    .alu_slot_i(alu_slot), .alu_sub_i(alu_sub), .alu_ok_o(alu_ok),
    .red_slot_i(red_slot), .red_sub_i(red_sub), .red_ok_o(red_ok),
    .eup_slot_i(eup_slot), .eup_sub_i(eup_sub), .eup_ok_o(eup_ok),
    .st_slot_i(st_slot), .st_sub_i(st_sub), .st_ok_o(st_ok),
    .ld_wr_i(ld_wr),
    .alu_rd_i(alu_rd), .alu_rd_slot_i(alu_rd_slot), .alu_rd_sub_i(alu_rd_sub),
    .alu_wr_i(alu_wr), .alu_wr_slot_i(alu_wr_slot), .alu_wr_sub_i(alu_wr_sub),
    .red_rd_i(red_rd), .red_wr_ok_o(red_wr_ok), .red_wr_i(red_wr), .red_wr_slot_i(red_wr_slot), .red_wr_sub_i(red_wr_sub),
    .eup_rd_i(eup_rd), .eup_wr_ok_o(eup_wr_ok), .eup_wr_i(eup_wr), .eup_wr_slot_i(eup_wr_slot), .eup_wr_sub_i(eup_wr_sub),
    .st_rd_i(st_rd), .st_end_i(st_end), .st_end_slot_i(st_end_slot),
    .st_busy_o(st_busy), .finish_o(finish)
  );

  // -----------------------------------------------------------------------------------------------
  // Registers and pipes. Each pipe has a clock that stands still while it has nothing to do.

  logic ld_busy, alu_busy, red_busy, eup_busy, st_busy_any;
  logic clk_ld, clk_alu, clk_red, clk_eup, clk_st;

  tpu_clock_gate u_clock_ld (.clk_i, .en_i(~rst_ni | flush | ld_new | ld_busy), .clk_o(clk_ld));
  tpu_clock_gate u_clock_alu (
    .clk_i, .en_i(~rst_ni | flush | alu_new | alu_busy), .clk_o(clk_alu)
  );
  tpu_clock_gate u_clock_red (
    .clk_i, .en_i(~rst_ni | flush | red_new | red_busy), .clk_o(clk_red)
  );
  tpu_clock_gate u_clock_eup (
    .clk_i, .en_i(~rst_ni | flush | eup_new | eup_busy), .clk_o(clk_eup)
  );
  tpu_clock_gate u_clock_st (.clk_i, .en_i(~rst_ni | flush | st_new | st_busy_any), .clk_o(clk_st));

  logic  alu_a, alu_b, alu_c, red_a, red_a_gnt, eup_a, eup_a_gnt, st_a, st_a_gnt;
  vreg_t alu_a_vreg, alu_b_vreg, alu_c_vreg, red_a_vreg, eup_a_vreg, st_a_vreg;
  sub_t  alu_b_sub;
  row_t  alu_a_data, alu_b_data, alu_c_data, red_a_data, eup_a_data, st_a_data;
  logic  red_wr_valid, red_wr_gnt, eup_wr_valid, eup_wr_gnt, ld_wr_valid, ld_wr_gnt;
  vreg_t alu_wr_vreg, red_wr_vreg, eup_wr_vreg, ld_wr_vreg;
  row_t  alu_wr_data, red_wr_data, eup_wr_data, ld_wr_data;

  tpu_vpu_vreg u_vreg (
    .clk_i(clk),
    .alu_a_i(alu_a), .alu_a_vreg_i(alu_a_vreg), .alu_a_sub_i(alu_sub),
    .alu_b_i(alu_b), .alu_b_vreg_i(alu_b_vreg), .alu_b_sub_i(alu_b_sub),
    .alu_c_i(alu_c), .alu_c_vreg_i(alu_c_vreg), .alu_c_sub_i(alu_rd_sub),
    .eup_i(eup_a), .eup_vreg_i(eup_a_vreg), .eup_sub_i(eup_sub), .eup_gnt_o(eup_a_gnt),
    .red_i(red_a), .red_vreg_i(red_a_vreg), .red_sub_i(red_sub), .red_gnt_o(red_a_gnt),
    .st_i(st_a), .st_vreg_i(st_a_vreg), .st_sub_i(st_sub), .st_gnt_o(st_a_gnt),
    .alu_a_data_o(alu_a_data), .alu_b_data_o(alu_b_data), .alu_c_data_o(alu_c_data),
    .eup_data_o(eup_a_data), .red_data_o(red_a_data), .st_data_o(st_a_data),
    .alu_wr_i(alu_wr), .alu_wr_vreg_i(alu_wr_vreg), .alu_wr_sub_i(alu_wr_sub),
    .alu_wr_data_i(alu_wr_data),
    .eup_wr_i(eup_wr_valid), .eup_wr_vreg_i(eup_wr_vreg), .eup_wr_sub_i(eup_wr_sub),
    .eup_wr_data_i(eup_wr_data), .eup_wr_gnt_o(eup_wr_gnt),
    .red_wr_i(red_wr_valid), .red_wr_vreg_i(red_wr_vreg), .red_wr_sub_i(red_wr_sub),
    .red_wr_data_i(red_wr_data), .red_wr_gnt_o(red_wr_gnt),
    .ld_wr_i(ld_wr_valid), .ld_wr_vreg_i(ld_wr_vreg), .ld_wr_sub_i(ld_sub),
    .ld_wr_data_i(ld_wr_data), .ld_wr_gnt_o(ld_wr_gnt)
  );

  tpu_vpu_alu u_alu (
    .clk_i(clk_alu), .rst_ni, .flush_i(flush), .busy_o(alu_busy), .new_i(alu_new), .new_slot_i(new_slot), .ins_i(ins),
    .slot_o(alu_slot), .sub_o(alu_sub), .ok_i(alu_ok),
    .rd_o(alu_rd), .rd_slot_o(alu_rd_slot), .rd_sub_o(alu_rd_sub),
    .wr_o(alu_wr), .wr_slot_o(alu_wr_slot), .wr_sub_o(alu_wr_sub),
    .a_o(alu_a), .a_vreg_o(alu_a_vreg), .b_o(alu_b), .b_vreg_o(alu_b_vreg), .b_sub_o(alu_b_sub),
    .c_o(alu_c), .c_vreg_o(alu_c_vreg),
    .a_data_i(alu_a_data), .b_data_i(alu_b_data), .c_data_i(alu_c_data),
    .wr_vreg_o(alu_wr_vreg), .wr_data_o(alu_wr_data)
  );

  tpu_vpu_red u_red (
    .clk_i(clk_red), .rst_ni, .flush_i(flush), .busy_o(red_busy), .new_i(red_new), .new_slot_i(new_slot), .ins_i(ins),
    .slot_o(red_slot), .sub_o(red_sub), .ok_i(red_ok), .rd_o(red_rd), .wr_ok_i(red_wr_ok),
    .wr_o(red_wr), .wr_slot_o(red_wr_slot), .wr_sub_o(red_wr_sub),
    .a_o(red_a), .a_vreg_o(red_a_vreg), .a_gnt_i(red_a_gnt), .a_data_i(red_a_data),
    .wr_valid_o(red_wr_valid), .wr_gnt_i(red_wr_gnt), .wr_vreg_o(red_wr_vreg),
    .wr_data_o(red_wr_data)
  );

  if (EupLanes != 0) begin : gen_eup
    tpu_vpu_eup u_eup (
      .clk_i(clk_eup), .rst_ni, .flush_i(flush), .busy_o(eup_busy), .new_i(eup_new), .new_slot_i(new_slot), .ins_i(ins),
      .slot_o(eup_slot), .sub_o(eup_sub), .ok_i(eup_ok), .rd_o(eup_rd), .wr_ok_i(eup_wr_ok),
      .wr_o(eup_wr), .wr_slot_o(eup_wr_slot), .wr_sub_o(eup_wr_sub),
      .a_o(eup_a), .a_vreg_o(eup_a_vreg), .a_gnt_i(eup_a_gnt), .a_data_i(eup_a_data),
      .wr_valid_o(eup_wr_valid), .wr_gnt_i(eup_wr_gnt), .wr_vreg_o(eup_wr_vreg),
      .wr_data_o(eup_wr_data)
    );
  end else begin : gen_no_eup
    assign {eup_busy, eup_slot, eup_sub, eup_rd, eup_wr, eup_wr_slot, eup_wr_sub, eup_a, eup_a_vreg, eup_wr_valid,
            eup_wr_vreg, eup_wr_data} = '0;
    // Nothing takes them.
    /* verilator lint_off UNUSEDSIGNAL */
    logic unused;
    assign unused = ^{clk_eup, eup_new, eup_ok, eup_wr_ok, eup_a_gnt, eup_a_data, eup_wr_gnt};
    /* verilator lint_on UNUSEDSIGNAL */
  end

  logic                q_valid, q_acc, q_hit;
  logic [Slots-1:0]    q_older;
  logic [AddrBits-1:0] q_addr;
  logic [5:0]          q_mask;
  logic                ld_stall, st_stall;

  tpu_vpu_ld u_ld (
    .clk_i(clk_ld), .rst_ni, .flush_i(flush), .busy_o(ld_busy), .new_i(ld_new), .new_slot_i(new_slot), .ins_i(ins),
    .addr_i(ins_addr[0]), .pitch_i(ins_pitch), .bytes_i(ins_bytes), .todo_o(ld_todo),
    .end_o(ld_end), .st_busy_i(st_busy), .st_end_i(st_end_mask),
    .q_valid_o(q_valid), .q_older_o(q_older), .q_acc_o(q_acc), .q_addr_o(q_addr),
    .q_mask_o(q_mask), .q_hit_i(q_hit),
    .slot_o(ld_slot), .sub_o(ld_sub), .ok_i(ld_ok), .wr_o(ld_wr),
    .wr_valid_o(ld_wr_valid), .wr_gnt_i(ld_wr_gnt), .wr_vreg_o(ld_wr_vreg),
    .wr_data_o(ld_wr_data),
    .vld_valid_o, .vld_addr_o, .vld_gnt_i, .vld_rsp_valid_i, .vld_rsp_data_i,
    .acc_valid_o(acc_rd_valid_o), .acc_row_o(acc_rd_row_o), .acc_gnt_i(acc_rd_gnt_i),
    .acc_rsp_valid_i(acc_rd_rsp_valid_i), .acc_rsp_data_i(acc_rd_rsp_data_i),
    .stall_o(ld_stall)
  );

  tpu_vpu_st u_st (
    .clk_i(clk_st), .rst_ni, .flush_i(flush), .busy_o(st_busy_any), .new_i(st_new), .new_slot_i(new_slot), .ins_i(ins),
    .addr_i(ins_addr), .bytes_i(ins_bytes), .ld_todo_i(ld_todo), .ld_end_i(ld_end),
    .q_valid_i(q_valid), .q_older_i(q_older), .q_acc_i(q_acc), .q_addr_i(q_addr),
    .q_mask_i(q_mask), .q_hit_o(q_hit),
    .slot_o(st_slot), .sub_o(st_sub), .ok_i(st_ok), .rd_o(st_rd), .end_o(st_end),
    .end_slot_o(st_end_slot), .end_mask_o(st_end_mask),
    .a_o(st_a), .a_vreg_o(st_a_vreg), .a_gnt_i(st_a_gnt), .a_data_i(st_a_data),
    .vst_valid_o, .vst_addr_o, .vst_wdata_o, .vst_be_o, .vst_gnt_i,
    .acc_valid_o(acc_wr_valid_o), .acc_row_o(acc_wr_row_o), .acc_mask_o(acc_wr_mask_o),
    .acc_data_o(acc_wr_data_o), .acc_gnt_i(acc_wr_gnt_i), .stall_o(st_stall)
  );

  assign stall_o = ld_stall | st_stall | (smem_valid_o & ~smem_gnt_i);

endmodule
