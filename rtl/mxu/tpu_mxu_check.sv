// SPDX-License-Identifier: MIT
//
// Takes a command, makes the start checks, and hands it on.
//
// The checks are those of docs/contract.md section 3, in its order: nothing to do, alignment of A,
// its pitch, B, its pitch, pitch of C, ranges of A, B and C. Ranges are exact (52-bit products), so
// one 20 x 32 multiplier is shared over three cycles. A command that passes is offered in the
// fourth cycle after its start.
//
// A command with nothing to do, or with an error, is not handed on: it waits here until all older
// ones are complete, and completes itself. That drains the array, which is of no importance for
// such commands and makes the order of completions right by construction. After an error this
// module takes nothing until clear_i.

module tpu_mxu_check
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  flush_i,      // abort: drop the command
  input  logic                  clear_i,      // forget an error

  input  logic                  start_i,
  input  tpu_pkg::tpu_mxu_cmd_t cmd_i,
  output logic                  empty_o,      // can take a command
  output logic                  idle_o,       // holds none

  output logic                  job_valid_o,
  input  logic                  job_ready_i,
  output job_t                  job_o,

  input  logic                  older_none_i, // all commands handed on are complete
  output logic                  done_valid_o, // completion without work, or with an error
  input  logic                  done_ready_i,
  output logic [7:0]            done_code_o,
  output logic [31:0]           done_detail0_o,
  output logic [31:0]           done_detail1_o
);

  typedef enum logic [2:0] {
    Empty,
    MulA,
    MulB,
    MulC,
    Offer,
    Retire,
    Halted
  } state_e;

  state_e                state_q;
  tpu_pkg::tpu_mxu_cmd_t cmd_q;

  // A command is at hand. Everything below is evaluated then only.
  logic checking;
  assign checking = state_q != Empty && state_q != Retire && state_q != Halted;

  // ---- properties of the command ----

  logic int8, no_work, no_k, bad_c_pitch;
  logic [31:0] align_mask;
  logic [19:0] n_last, k_last, n_tile_last;

  always_comb begin
    int8        = 1'b0;
    no_k        = 1'b0;
    no_work     = 1'b0;
    bad_c_pitch = 1'b0;
    align_mask  = '0;
    n_last      = '0;
    k_last      = '0;
    n_tile_last = '0;
    if (checking) begin
      int8        = Bf16 ? cmd_q.mode_dtype == tpu_pkg::TPU_MXU_DTYPE_INT8 : 1'b1;
      no_k        = cmd_q.k == '0;
      no_work     = cmd_q.m == '0 || cmd_q.n == '0 || (no_k && cmd_q.mode_accumulate);
      bad_c_pitch = cmd_q.n > 20'(Dim) && cmd_q.c_pitch < 32'(cmd_q.m);
      align_mask  = 32'(row_bytes(int8)) - 32'd1;
      n_last      = cmd_q.n - 20'd1;
      k_last      = cmd_q.k - 20'd1;
      n_tile_last = n_last >> DimLog;
    end
  end

  // ---- ranges: end = base + (rows - 1) * pitch + length ----

  logic [19:0] mul_x;
  logic [31:0] mul_y;
  logic [31:0] base;
  logic [19:0] length;
  logic [32:0] offset;
  logic [51:0] product_q;
  logic [32:0] offset_q;
  logic [52:0] range_end;
  logic [31:0] limit;
  logic        over;

  always_comb begin
    mul_x  = '0;
    mul_y  = '0;
    base   = '0;
    length = '0;
    offset = '0;
    if (state_q == MulA) begin
      mul_x  = cmd_q.m - 20'd1;
      mul_y  = cmd_q.a_pitch;
      base   = cmd_q.a;
      length = cmd_q.k;
    end else if (state_q == MulB) begin
      mul_x  = cmd_q.mode_transpose_b ? n_last : k_last;
      mul_y  = cmd_q.b_pitch;
      base   = cmd_q.b;
      length = cmd_q.mode_transpose_b ? cmd_q.k : cmd_q.n;
    end else if (state_q == MulC) begin
      mul_x  = n_tile_last;
      mul_y  = cmd_q.c_pitch;
      base   = cmd_q.c;
      length = cmd_q.m;
    end
    if (checking) begin
      offset = 33'(base) +
               ((int8 || state_q == MulC) ? 33'(length) : {12'd0, length, 1'b0});
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == MulA || state_q == MulB || state_q == MulC) begin
      product_q <= 52'(mul_x) * 52'(mul_y);
      offset_q  <= offset;
    end
  end

  always_comb begin
    range_end = '0;
    limit     = '0;
    over      = 1'b0;
    if (checking) begin
      range_end = 53'(product_q) + 53'(offset_q);
      limit     = (state_q == Offer) ? 32'(AccRows) : 32'(VmemBytes);
      over      = range_end > 53'(limit);
    end
  end

  // ---- the checks of each state ----

  logic [7:0]  code_q, code;
  logic [31:0] detail0_q, detail1_q, detail0, detail1;

  // The result so far, with this state's check: the first failure stays.
  always_comb begin
    code    = code_q;
    detail0 = detail0_q;
    detail1 = detail1_q;
    if (checking && code_q == tpu_pkg::TPU_ERROR_NONE) begin
      if (state_q == MulA) begin
        if (!no_k && (cmd_q.a & align_mask) != '0) begin
          code    = tpu_pkg::TPU_ERROR_ALIGN;
          detail0 = 32'(tpu_pkg::TPU_MXU_A);
          detail1 = cmd_q.a;
        end else if (!no_k && (cmd_q.a_pitch & align_mask) != '0) begin
          code    = tpu_pkg::TPU_ERROR_ALIGN;
          detail0 = 32'(tpu_pkg::TPU_MXU_A_PITCH);
          detail1 = cmd_q.a_pitch;
        end else if (!no_k && (cmd_q.b & align_mask) != '0) begin
          code    = tpu_pkg::TPU_ERROR_ALIGN;
          detail0 = 32'(tpu_pkg::TPU_MXU_B);
          detail1 = cmd_q.b;
        end else if (!no_k && (cmd_q.b_pitch & align_mask) != '0) begin
          code    = tpu_pkg::TPU_ERROR_ALIGN;
          detail0 = 32'(tpu_pkg::TPU_MXU_B_PITCH);
          detail1 = cmd_q.b_pitch;
        end else if (bad_c_pitch) begin
          code    = tpu_pkg::TPU_ERROR_BAD_FIELD;
          detail0 = 32'(tpu_pkg::TPU_MXU_C_PITCH);
          detail1 = cmd_q.c_pitch;
        end
      end else if (over && (state_q == Offer || !no_k)) begin
        code    = tpu_pkg::TPU_ERROR_RANGE;
        detail1 = range_end[31:0];
        case (state_q)
          MulB:    detail0 = {16'd0, 6'd0, tpu_pkg::TPU_SPACE_VMEM, 8'd0};
          MulC:    detail0 = {16'd0, 6'd0, tpu_pkg::TPU_SPACE_VMEM, 8'd1};
          default: detail0 = {16'd0, 6'd0, tpu_pkg::TPU_SPACE_ACC, 8'd2};
        endcase
      end
    end
  end

  // ---- states ----

  logic done_fire;
  assign done_fire = done_valid_o & done_ready_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i || clear_i) begin
      state_q <= Empty;
      code_q  <= tpu_pkg::TPU_ERROR_NONE;
    end else begin
      case (state_q)
        Empty: begin
          code_q <= tpu_pkg::TPU_ERROR_NONE;
          if (start_i) state_q <= MulA;
        end
        MulA: begin
          state_q <= no_work ? Retire : MulB;
          code_q  <= no_work ? tpu_pkg::TPU_ERROR_NONE : code;
        end
        MulB: begin
          state_q <= MulC;
          code_q  <= code;
        end
        MulC: begin
          state_q <= Offer;
          code_q  <= code;
        end
        Offer: begin
          if (code != tpu_pkg::TPU_ERROR_NONE) begin
            state_q <= Retire;
            code_q  <= code;
          end else if (job_ready_i) begin
            state_q <= Empty;
          end
        end
        Retire: if (done_fire) state_q <= (code_q == tpu_pkg::TPU_ERROR_NONE) ? Empty : Halted;
        default: ;  // Halted: only clear_i leads out
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (start_i) begin
      cmd_q     <= cmd_i;
      detail0_q <= '0;
      detail1_q <= '0;
    end else if (checking && !no_work) begin
      detail0_q <= detail0;
      detail1_q <= detail1;
    end
  end

  assign empty_o        = state_q == Empty;
  assign idle_o         = state_q == Empty || state_q == Halted;
  assign job_valid_o    = state_q == Offer && code == tpu_pkg::TPU_ERROR_NONE;
  assign done_valid_o   = state_q == Retire && older_none_i;
  assign done_code_o    = done_valid_o ? code_q : tpu_pkg::TPU_ERROR_NONE;
  assign done_detail0_o = detail0_q;
  assign done_detail1_o = detail1_q;

  // ---- the job ----

  always_comb begin
    job_o = '0;
    if (state_q == Offer) begin
      job_o.int8        = int8;
      job_o.transpose   = cmd_q.mode_transpose_b;
      job_o.accumulate  = cmd_q.mode_accumulate;
      job_o.no_k        = no_k;
      job_o.a           = AddrW'(cmd_q.a);
      job_o.b           = AddrW'(cmd_q.b);
      job_o.c           = AccW'(cmd_q.c);
      job_o.a_pitch     = AddrW'(cmd_q.a_pitch);
      job_o.b_pitch     = AddrW'(cmd_q.b_pitch);
      job_o.c_pitch     = AccW'(cmd_q.c_pitch);
      job_o.m_last      = AccW'(cmd_q.m - 20'd1);
      job_o.n_tile_last = AccW'(n_tile_last);
      job_o.n_end       = CntW'(n_last[DimLog-1:0]) + CntW'(1);
      job_o.k_tile_last = no_k ? '0 : KTileW'(k_last >> DimLog);
      job_o.k_end       = no_k ? '0 : CntW'(k_last[DimLog-1:0]) + CntW'(1);
    end
  end

endmodule
