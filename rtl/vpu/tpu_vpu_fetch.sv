// SPDX-License-Identifier: MIT
//
// Instruction fetch, loops, address registers, and the checks of memory accesses.
//
// Three stages: D decodes what the program memory delivered and executes LOOP and END there (the next
// instruction is fetched in the same cycle, so a loop costs one cycle an iteration and no bubble);
// C has the first address and the mask's base; I is the decoded instruction, checked: all eight
// sublane addresses are computed side by side, so an error is known before the instruction issues and
// everything behind it is dropped without a trace. That is what makes errors exact although pipes
// overlap; the price is seven adders.

module tpu_vpu_fetch
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_pkg::*;
(
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              flush_i,    // drop everything
  output logic                              move_o,     // something moves: needs its clock
  input  logic                              go_i,       // start at cmd_i.entry
  // Stable from go_i to the last instruction; scalar_mode is not looked at.
  /* verilator lint_off UNUSEDSIGNAL */
  input  tpu_vpu_cmd_t                      cmd_i,
  /* verilator lint_on UNUSEDSIGNAL */

  output logic                              fetch_o,
  output logic [$clog2(VpuProgram)-1:0]     fetch_addr_o,
  input  logic [63:0]                       fetch_data_i,

  // Instruction to issue. KindHalt ends the program, with an error if ins_code_o is not 0. A store
  // with an error is to be issued first (its count stops before the failing sublane).
  output logic                              ins_valid_o,
  input  logic                              ins_ready_i,
  output kind_e                             ins_kind_o,
  output ins_t                              ins_o,
  output logic [7:0][AddrBits-1:0]          ins_addr_o,     // of each sublane
  output logic [AddrBits-1:0]               ins_pitch_o,
  output logic [6:0]                        ins_bytes_o,    // of one access
  output logic [7:0]                        ins_code_o,
  output logic [31:0]                       ins_detail0_o,
  output logic [31:0]                       ins_detail1_o,
  output logic                              count_o         // an instruction was executed
);

  localparam int unsigned PcBits = $clog2(VpuProgram);

  // -----------------------------------------------------------------------------------------------
  // D: decode, loops.

  logic        d_valid_q;
  logic [15:0] d_pc_q;
  logic [63:0] ins;
  kind_e       d_kind;
  logic [7:0]  d_code;
  logic        d_local;       // LOOP or END: done here
  logic        d_take, d_jump, c_ready;
  logic [15:0] d_target, d_next;
  logic [1:0]  lvl;
  logic        d_pc_bad;

  logic [2:0]        active_q;
  logic [2:0][15:0]  start_q;
  logic [2:0][31:0]  iter_q;
  logic [31:0]       row_base_q, col_base_q;
  logic [7:0][31:0]  addr_q;

  assign ins = fetch_data_i;
  assign lvl = ins[33:32];
  assign d_pc_bad = 32'(d_pc_q) >= VpuProgram;

  logic [3:0] active4;
  logic [31:0] lvl_count, lvl_iter;
  logic d_more;
  assign active4   = {1'b0, active_q};
  assign lvl_count = (lvl == 2'd3) ? 32'd0 : cmd_i.loop[lvl];
  assign lvl_iter  = (lvl == 2'd3) ? 32'd0 : iter_q[lvl];
  assign d_more    = (lvl_iter + 32'd1) < lvl_count;

  always_comb begin
    d_kind   = KindIllegal;
    d_code   = TPU_ERROR_NONE;
    d_local  = 1'b0;
    d_jump   = 1'b0;
    d_target = ins[63:48];
    if (d_valid_q) begin
      d_kind = kind_of(ins[7:0]);
      case (d_kind)
        KindLoop: begin
          if (lvl == 2'd3 || active4[lvl]) d_code = TPU_ERROR_VPU_ILLEGAL;
          d_jump = lvl_count == 32'd0;
        end
        KindEnd: begin
          if (!active4[lvl]) d_code = TPU_ERROR_VPU_ILLEGAL;
          d_jump   = d_more;
          d_target = (lvl == 2'd3) ? 16'd0 : start_q[lvl];
        end
        KindLd, KindSt: begin
          if ((ins[39] && ins[36:35] != TPU_VMEM_DTYPE_W32)
              || (ins[36:35] == TPU_VMEM_DTYPE_BF16 && ins[37])) begin
            d_code = TPU_ERROR_VPU_ILLEGAL;
          end
        end
        KindRed: begin
          // The key of random bits is scalar; pairs of VREGs begin at an even one.
          if ((ins[7:0] == TPU_VOP_RAND && ins[29:28] != 2'b11)
              || (TilePair && ins[7:0] == TPU_VOP_TRANSPOSE && (ins[8] || (ins[13] && !ins[28])))) begin
            d_code = TPU_ERROR_VPU_ILLEGAL;
          end
        end
        KindIllegal: d_code = TPU_ERROR_VPU_ILLEGAL;
        default: ;
      endcase
      if (d_pc_bad) d_code = TPU_ERROR_VPU_PC;
      d_local = (d_kind == KindLoop || d_kind == KindEnd) && d_code == TPU_ERROR_NONE;
      if (d_code != TPU_ERROR_NONE) d_kind = KindHalt;
    end
  end

  assign d_take = d_valid_q & (d_local | c_ready);
  assign d_next = (d_local & d_jump) ? d_target : d_pc_q + 16'd1;
  assign count_o = d_take & (d_code == TPU_ERROR_NONE);

  logic d_last;
  assign d_last       = d_kind == KindHalt;
  assign fetch_o      = go_i | (d_take & ~d_last);
  assign fetch_addr_o = go_i ? PcBits'(cmd_i.entry) : PcBits'(d_next);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      d_valid_q <= 1'b0;
    end else if (go_i | d_take) begin
      d_valid_q <= go_i | ~d_last;
    end
    if (fetch_o) d_pc_q <= go_i ? cmd_i.entry : d_next;
  end

  logic [31:0] row_inc, col_inc;
  assign row_inc = {21'd0, cmd_i.edge_row_step, 3'd0};
  assign col_inc = 32'(cmd_i.edge_col_step) << LaneBits;

  always_ff @(posedge clk_i) begin
    if (go_i) begin
      active_q   <= '0;
      iter_q     <= '0;
      row_base_q <= '0;
      col_base_q <= '0;
      addr_q     <= cmd_i.addr;
    end else if (d_take & d_local) begin
      if (d_kind == KindLoop) begin
        if (!d_jump) begin
          active_q[lvl] <= 1'b1;
          start_q[lvl]  <= d_pc_q + 16'd1;
          iter_q[lvl]   <= '0;
          if (cmd_i.edge_row_level == lvl) row_base_q <= '0;
          if (cmd_i.edge_col_level == lvl) col_base_q <= '0;
        end
      end else begin
        iter_q[lvl] <= lvl_iter + 32'd1;
        if (!d_jump) active_q[lvl] <= 1'b0;
        if (cmd_i.edge_row_level == lvl) row_base_q <= row_base_q + row_inc;
        if (cmd_i.edge_col_level == lvl) col_base_q <= col_base_q + col_inc;
        for (int unsigned r = 0; r < 8; r++) begin
          addr_q[r] <= addr_q[r] + cmd_i.stride[3*r+32'(lvl)];
        end
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // C: first address, base of the mask.

  logic        c_valid_q;
  kind_e       c_kind_q;
  logic [7:0]  c_code_q;
  logic [15:0] c_pc_q;
  logic [63:0] c_ins_q;
  logic [31:0] c_addr_q, c_pitch_q, c_row_q, c_col_q;
  logic        i_ready;

  assign c_ready = ~c_valid_q | i_ready;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      c_valid_q <= 1'b0;
    end else if (c_ready) begin
      c_valid_q <= d_valid_q & ~d_local;
    end
    if (c_ready & d_valid_q & ~d_local) begin
      c_kind_q  <= d_kind;
      c_code_q  <= d_code;
      c_pc_q    <= d_pc_q;
      c_ins_q   <= ins;
      c_addr_q  <= addr_q[ins[34:32]] + {{16{ins[63]}}, ins[63:48]};
      c_pitch_q <= cmd_i.pitch[ins[34:32]];
      c_row_q   <= row_base_q + {27'd0, ins[44:43], 3'd0};
      c_col_q   <= col_base_q + (32'(ins[47:45]) << LaneBits);
    end
  end

  // -----------------------------------------------------------------------------------------------
  // C to I: mask, operands, addresses and their checks.

  logic        i_valid_q;
  kind_e       i_kind_q;
  ins_t        i_ins_q;
  logic [7:0][AddrBits-1:0] i_addr_q;
  logic [AddrBits-1:0]      i_pitch_q;
  logic [6:0]  i_bytes_q;
  logic [7:0]  i_code_q;
  logic [31:0] i_detail0_q, i_detail1_q;

  assign i_ready       = ~i_valid_q | ins_ready_i;
  assign ins_valid_o   = i_valid_q;
  assign ins_kind_o    = i_kind_q;
  assign ins_o         = i_ins_q;
  assign ins_addr_o    = i_addr_q;
  assign ins_pitch_o   = i_pitch_q;
  assign ins_bytes_o   = i_bytes_q;
  assign ins_code_o    = i_code_q;
  assign ins_detail0_o = i_detail0_q;
  assign ins_detail1_o = i_detail1_q;

  // Rows (lanes) of a group of n from base on that are below valid.
  function automatic logic [31:0] below(input logic [31:0] valid, input logic [31:0] base,
                                        input logic [31:0] n);
    if (valid <= base) return 32'd0;
    if (valid - base > n) return n;
    return valid - base;
  endfunction

  function automatic logic [31:0] sublane_addr(input logic [31:0] base, input logic [31:0] pitch,
                                               input logic [2:0] s);
    return base + (s[0] ? pitch : 32'd0) + (s[1] ? pitch << 1 : 32'd0) + (s[2] ? pitch << 2 : 32'd0);
  endfunction

  // Operands and mask of the instruction in C; the caller adds scalars b and c.
  /* verilator lint_off UNUSEDSIGNAL */  // bit 31 is reserved
  function automatic ins_t operands(input logic [63:0] w, input logic [31:0] scalar_a,
                                    input logic [31:0] row, input logic [31:0] col,
                                    input logic [31:0] valid_rows, input logic [31:0] valid_cols);
    ins_t i;
    logic use_a, use_b, use_c, use_m;
    i.op    = w[7:0];
    i.vd    = w[12:8];
    i.va    = w[17:13];
    i.vb    = w[22:18];
    i.vc    = w[27:23];
    use_a   = ~(i.op inside {TPU_VOP_LD, TPU_VOP_CONST, TPU_VOP_IOTA_LANE, TPU_VOP_IOTA_SUB,
                              TPU_VOP_RAND});
    use_b   = (i.op inside {TPU_VOP_SELM, TPU_VOP_SEL})
        | (i.op[7:4] inside {4'd2, 4'd3, 4'd4});
    use_c   = i.op inside {TPU_VOP_SEL, TPU_VOP_FMA};
    use_m   = w[40] | (i.op == TPU_VOP_SELM);
    i.rd_a  = use_a & ~w[28];
    i.rd_b  = use_b & ~w[29];
    i.rd_c  = use_c & ~w[30];
    i.sa    = scalar_a;
    if (i.op == TPU_VOP_CONST) i.sa = w[63:32];
    if (i.op == TPU_VOP_IOTA_LANE) i.sa = col;
    if (i.op == TPU_VOP_IOTA_SUB) i.sa = row;
    i.sb    = 32'd0;
    i.sc    = 32'd0;
    i.sd    = 32'd0;
    i.pair  = TilePair && i.op == TPU_VOP_TRANSPOSE;
    i.nrow  = use_m ? rows_t'(below(valid_rows, row, 32'd8)) : rows_t'(4'd8);
    i.ncol  = use_m ? lanes_t'(below(valid_cols, col, Lanes)) : lanes_t'(Lanes);
    i.acc   = w[39];
    i.col   = w[38];
    i.dtype = w[36:35];
    i.itype = w[37];
    i.fill  = w[42:41];
    i.count = (i.ncol == '0) ? '0 : i.nrow;
    return i;
  endfunction

  /* verilator lint_on UNUSEDSIGNAL */

  // Bytes of one access: a row, or with col one element.
  function automatic logic [6:0] access_bytes(input logic [1:0] dtype, input logic col);
    logic [6:0] size;
    size = (dtype == TPU_VMEM_DTYPE_W32) ? 7'd4 : (dtype == TPU_VMEM_DTYPE_BF16) ? 7'd2 : 7'd1;
    return col ? size : 7'(size << LaneBits);
  endfunction

  assign move_o        = d_take | (c_valid_q & i_ready) | (i_valid_q & ins_ready_i);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      i_valid_q <= 1'b0;
    end else if (i_ready) begin
      i_valid_q <= c_valid_q;
    end
    if (c_valid_q & i_ready) begin : check
      ins_t        i;
      logic [31:0] a, amask, limit;
      logic [6:0]  bytes;
      logic        off, out;
      i = operands(c_ins_q, cmd_i.scalar[c_ins_q[15:13]], c_row_q, c_col_q, cmd_i.valid_rows,
                   cmd_i.valid_cols);
      i.sb        = cmd_i.scalar[c_ins_q[20:18]];
      i.sc        = cmd_i.scalar[c_ins_q[25:23]];
      if (i.op == TPU_VOP_RAND) begin
        i.sd = c_col_q + (c_ins_q[30] ? cmd_i.scalar[3'(c_ins_q[25:23]+3'd1)] : 32'd0);
        i.sc = c_row_q + (c_ins_q[30] ? i.sc : 32'd0);
      end else if (!c_ins_q[29]) begin
        i.sb[4:0] = c_ins_q[22:18];  // b is a VREG, or the number of a move
      end
      i_kind_q    <= c_kind_q;
      i_code_q    <= c_code_q;
      i_detail0_q <= {16'd0, c_pc_q};
      i_detail1_q <= (c_code_q == TPU_ERROR_VPU_PC) ? 32'd0 : c_ins_q[31:0];
      if (c_kind_q == KindLd || c_kind_q == KindSt) begin
        bytes = access_bytes(i.dtype, i.col);
        i_bytes_q <= bytes;
        i_pitch_q <= AddrBits'(c_pitch_q);
        // VMEM accesses are naturally aligned, so the first byte says whether all are inside.
        amask = i.acc ? 32'd0 : {25'd0, bytes} - 32'd1;
        limit = i.acc ? AccRows : VmemBytes;
        // From the last sublane to the first, so that the first failure stays.
        for (int unsigned n = 0; n < 8; n++) begin
          a   = sublane_addr(c_addr_q, c_pitch_q, 3'(32'd7 - n));
          off = (a & amask) != 32'd0;
          out = a >= limit;
          i_addr_q[7-n] <= AddrBits'(a);
          if (32'd7 - n < 32'(i.count) && (off || out)) begin
            i.count     = rows_t'(32'd7 - n);
            i_code_q    <= off ? TPU_ERROR_ALIGN : TPU_ERROR_RANGE;
            i_detail0_q <= {6'd0, i.acc ? TPU_SPACE_ACC : TPU_SPACE_VMEM, 5'd0, 3'(32'd7 - n),
                            c_pc_q};
            i_detail1_q <= a;
          end
        end
      end
      i_ins_q <= i;
    end
  end

endmodule
