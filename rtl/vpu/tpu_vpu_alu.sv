// SPDX-License-Identifier: MIT
//
// The ALU pipe: one sublane a cycle, seven cycles from reading an operand to reading the result.
//
//   cycle 0  read a        the scoreboard's go
//         1  read b
//         2  read c        (a and b on their way from the banks)
//         3  X1            multiply, compare, integers, bits, conversions
//         4  X2            align and add; selects, which need c
//         5  X3            normalise and round
//         6  write
//
// Seven is less than the eight cycles an instruction takes, so a dependent instruction follows without
// a bubble. FMA is the multiplier in X1 and the adder in X2 and X3; the result is rounded twice, as
// the contract wants. Nothing stalls after the go: the ALU has priority in every bank.

module tpu_vpu_alu
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_row_pkg::*;
  import tpu_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  input  logic  flush_i,
  output logic  busy_o,         // needs its clock

  input  logic  new_i,          // take ins_i into new_slot_i
  input  slot_t new_slot_i,
  // A decoded instruction has the fields of every pipe.
  /* verilator lint_off UNUSEDSIGNAL */
  input  ins_t  ins_i,
  /* verilator lint_on UNUSEDSIGNAL */

  // Scoreboard: may this sublane go; reads done, written.
  output slot_t slot_o,
  output sub_t  sub_o,
  input  logic  ok_i,
  output logic  rd_o,
  output slot_t rd_slot_o,
  output sub_t  rd_sub_o,
  output logic  wr_o,
  output slot_t wr_slot_o,
  output sub_t  wr_sub_o,

  // Registers.
  output logic  a_o,
  output vreg_t a_vreg_o,
  output logic  b_o,
  output vreg_t b_vreg_o,
  output sub_t  b_sub_o,
  output logic  c_o,
  output vreg_t c_vreg_o,
  input  row_t  a_data_i,
  input  row_t  b_data_i,
  input  row_t  c_data_i,
  output vreg_t wr_vreg_o,
  output row_t  wr_data_o
);

  // What the stages keep of an instruction.
  typedef struct packed {
    logic [7:0]  op;
    vreg_t       vd;
    vreg_t       va;
    vreg_t       vb;
    vreg_t       vc;
    logic        rd_a;
    logic        rd_b;
    logic        rd_c;
    logic [31:0] sa;
    logic [31:0] sb;
    logic [31:0] sc;
    rows_t       nrow;
    lanes_t      ncol;
  } alu_t;

  // -----------------------------------------------------------------------------------------------
  // Front: instructions that wait, and the one whose sublanes go.

  alu_t             ins_q[Slots];
  logic [Slots-1:0] todo_q;
  slot_t            slot_q;
  sub_t             sub_q;
  logic             go, last;
  alu_t             ins0;

  assign slot_o = slot_q;
  assign sub_o  = sub_q;
  assign go     = todo_q[slot_q] & ok_i;
  assign last   = sub_q == 3'd7;
  assign ins0   = ins_q[slot_q];

  always_ff @(posedge clk_i) begin
    if (new_i) begin
      ins_q[new_slot_i] <= '{op: ins_i.op, vd: ins_i.vd, va: ins_i.va, vb: ins_i.vb, vc: ins_i.vc,
                             rd_a: ins_i.rd_a, rd_b: ins_i.rd_b, rd_c: ins_i.rd_c, sa: ins_i.sa,
                             sb: ins_i.sb, sc: ins_i.sc, nrow: ins_i.nrow, ncol: ins_i.ncol};
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      todo_q <= '0;
      slot_q <= '0;
      sub_q  <= '0;
    end else begin
      if (new_i) todo_q[new_slot_i] <= 1'b1;
      if (go) begin
        sub_q <= sub_q + 3'd1;
        if (last) begin
          todo_q[slot_q] <= 1'b0;
          slot_q         <= slot_q + 2'd1;
        end
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Stages 1 to 6: valid bit, slot, sublane; the instruction's own fields change with sublane 0 only.

  logic [6:1]      v_q;
  logic [6:1][4:0] id_q;     // {slot, sub}
  // Not every stage needs every field.
  /* verilator lint_off UNUSEDSIGNAL */
  alu_t            i1_q, i2_q, i3_q, i4_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic            add5_q;
  vreg_t           vd5_q, vd6_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) v_q <= '0;
    else v_q <= {v_q[5:1], go};
    if (go | (|v_q)) id_q <= {id_q[5:1], slot_q, sub_q};
    if (go & (sub_q == '0)) i1_q <= ins0;
    if (v_q[1] & (id_q[1][2:0] == '0)) i2_q <= i1_q;
    if (v_q[2] & (id_q[2][2:0] == '0)) i3_q <= i2_q;
    if (v_q[3] & (id_q[3][2:0] == '0)) i4_q <= i3_q;
    if (v_q[4]) begin
      add5_q <= is_add(i4_q.op);
      vd5_q  <= i4_q.vd;
    end
    if (v_q[5]) vd6_q <= vd5_q;
  end

  assign busy_o    = (todo_q != '0) | (v_q != '0);
  assign a_o       = go & ins0.rd_a;
  assign a_vreg_o  = ins0.va;
  assign b_o       = v_q[1] & i1_q.rd_b;
  assign b_vreg_o  = i1_q.vb;
  assign b_sub_o   = id_q[1][2:0];
  assign c_o       = v_q[2] & i2_q.rd_c;
  assign c_vreg_o  = i2_q.vc;
  assign rd_o      = v_q[2];
  assign rd_slot_o = id_q[2][4:3];
  assign rd_sub_o  = id_q[2][2:0];
  assign wr_o      = v_q[6];
  assign wr_slot_o = id_q[6][4:3];
  assign wr_sub_o  = id_q[6][2:0];
  assign wr_vreg_o = vd6_q;

  function automatic logic is_add(input logic [7:0] op);
    return op inside {TPU_VOP_FADD, TPU_VOP_FSUB, TPU_VOP_FMA};
  endfunction

  function automatic tpu_vpu_fp_pkg::cmp_t cmp_of(input logic [7:0] op);
    tpu_vpu_fp_pkg::cmp_t k;
    k.fp  = {32{op[4] == TPU_VOP_FMIN[4]}};
    k.uns    = {32{op == TPU_VOP_ILTU}};
    k.minmax = {32{op inside {TPU_VOP_FMIN, TPU_VOP_FMAX, TPU_VOP_IMIN, TPU_VOP_IMAX}}};
    k.lt     = {32{op inside {TPU_VOP_FLT, TPU_VOP_FLE, TPU_VOP_ILT, TPU_VOP_ILE, TPU_VOP_ILTU}}};
    k.eq     = {32{op inside {TPU_VOP_FEQ, TPU_VOP_FNE, TPU_VOP_FLE, TPU_VOP_IEQ, TPU_VOP_INE,
                              TPU_VOP_ILE}}};
    k.inv    = {32{op inside {TPU_VOP_FNE, TPU_VOP_INE, TPU_VOP_FMAX, TPU_VOP_IMAX}}};
    return k;
  endfunction

  // -----------------------------------------------------------------------------------------------
  // X1.

  row_t r4_q;  // result, or the adder's left operand
  row_t b4_q;

  always_ff @(posedge clk_i) begin
    if (v_q[3]) begin : x1
      row_t a, b, r, t;
      logic k, rest;
      a = a_data_i;
      b = b_data_i;
      if (!i3_q.rd_a) row_splat(i3_q.sa, a);
      if (!i3_q.rd_b) row_splat(i3_q.sb, b);
      r    = '0;
      rest = 1'b1;
      k = i3_q.op inside {TPU_VOP_FMUL, TPU_VOP_FMA, TPU_VOP_IMUL};
      if (Always || k) begin
        row_mul({32{i3_q.op == TPU_VOP_IMUL}}, a, b, t);
        if (Always) row_or(k, t, r, r);
        else r = t;
      end
      rest = rest & ~k;
      k = i3_q.op inside {[TPU_VOP_FMIN : TPU_VOP_FLE], [TPU_VOP_IMIN : TPU_VOP_ILTU]};
      if (Always || k) begin
        row_compare(cmp_of(i3_q.op), a, b, t);
        if (Always) row_or(k, t, r, r);
        else r = t;
      end
      rest = rest & ~k;
      k = i3_q.op inside {[TPU_VOP_SHL : TPU_VOP_SAR]};
      if (Always || k) begin
        row_shift({32{i3_q.op == TPU_VOP_SHL}}, {32{i3_q.op == TPU_VOP_SAR}}, a, b, t);
        if (Always) row_or(k, t, r, r);
        else r = t;
      end
      rest = rest & ~k;
      k = i3_q.op inside {TPU_VOP_F2I_RNE, TPU_VOP_F2I_RTZ};
      if (Always || k) begin
        row_f2i({32{i3_q.op == TPU_VOP_F2I_RTZ}}, a, t);
        if (Always) row_or(k, t, r, r);
        else r = t;
      end
      rest = rest & ~k;
      // What has no shifter or multiplier may sit behind a multiplexer.
      if (Always || rest) begin
        case (i3_q.op) inside
          TPU_VOP_IOTA_LANE: row_iota(i3_q.sa, t);
          TPU_VOP_IOTA_SUB: row_splat(i3_q.sa + 32'(id_q[3][2:0]), t);
          TPU_VOP_SELM: begin
            row_merge((rows_t'(id_q[3][2:0]) < i3_q.nrow) ? i3_q.ncol : '0, a, b, t);
          end
          TPU_VOP_IADD, TPU_VOP_ISUB: row_iadd({32{i3_q.op == TPU_VOP_ISUB}}, a, b, t);
          [TPU_VOP_AND : TPU_VOP_XOR]: begin
            row_logic({32{i3_q.op != TPU_VOP_XOR}}, {32{i3_q.op != TPU_VOP_AND}}, a, b, t);
          end
          TPU_VOP_I2F: row_i2f(a, t);
          TPU_VOP_F2BF: row_f2bf(a, t);
          default: t = a;
        endcase
        if (Always) row_or(rest, t, r, r);
        else r = t;
      end
      r4_q <= r;
      if (i3_q.op inside {TPU_VOP_FADD, TPU_VOP_FSUB, TPU_VOP_SEL}) b4_q <= b;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // X2 and X3.

  row_t s5_q, f5_q;  // the adder's halves, or s5_q the result

  always_ff @(posedge clk_i) begin
    if (v_q[4]) begin : x2
      row_t c, s, f, t;
      logic add;
      add = is_add(i4_q.op);
      if (i4_q.op inside {TPU_VOP_FMA, TPU_VOP_SEL}) begin
        c = c_data_i;
        if (!i4_q.rd_c) row_splat(i4_q.sc, c);
      end else begin
        c = b4_q;
        if (i4_q.op == TPU_VOP_FSUB) row_flip(b4_q, 32'h8000_0000, c);
      end
      s = '0;
      if (Always || !add) begin
        t = r4_q;
        if (i4_q.op == TPU_VOP_SEL) row_select(c, r4_q, b4_q, t);
        if (Always) row_or(!add, t, s, s);
        else s = t;
      end
      if (Always || add) begin
        row_add_align(r4_q, c, t, f);
        f5_q <= f;
        if (Always) row_or(add, t, s, s);
        else s = t;
      end
      s5_q <= s;
    end
  end

  always_ff @(posedge clk_i) begin
    if (v_q[5]) begin : x3
      row_t w;
      w = s5_q;
      if (add5_q) row_add_round(s5_q, f5_q, w);
      wr_data_o <= w;
    end
  end

endmodule
