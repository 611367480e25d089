// SPDX-License-Identifier: MIT
//
// The cross-lane pipe. This file: its front, its queue of results, and reductions, over the lanes of
// each sublane or over the sublanes of each lane, with the result in every lane or sublane. One row of
// Lanes two-cycle operators serves both. Moves and random bits are in tpu_vpu_xlu.
//
// Lanes: the tree of Lanes - 1 operations has levels of Lanes/2, Lanes/4 .. 1, together one row less
// one lane. So all levels work side by side in one row, each on another sublane, and a level feeds the
// next one two cycles later (tree_left and tree_right in tpu_vpu_row_pkg).
//
// Sublanes: rows 0-3 wait. Rows 4-7 are combined with them as they come: t0 .. t3. Then u0 = t0 op t2
// one cycle after t3, u1 = t1 op t3 a cycle later, and u0 op u1 two cycles after that. The operator is
// free then even if the next instruction follows at once, because its rows 0-3 only wait.
//
// Instructions of one operation follow each other without a bubble; another operation waits until the
// operators are empty. Results go through a queue that a row may enter only if there is room when its
// sublane is read, so nothing in the pipe ever stalls.

module tpu_vpu_red
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_row_pkg::*;
  import tpu_pkg::*;
(
  input  logic  clk_i,
  input  logic  rst_ni,
  input  logic  flush_i,
  output logic  busy_o,        // needs its clock

  input  logic  new_i,         // take ins_i into new_slot_i
  input  slot_t new_slot_i,
  // A decoded instruction has the fields of every pipe.
  /* verilator lint_off UNUSEDSIGNAL */
  input  ins_t  ins_i,
  /* verilator lint_on UNUSEDSIGNAL */

  // Scoreboard.
  output slot_t slot_o,
  output sub_t  sub_o,
  input  logic  ok_i,
  output logic  rd_o,          // slot_o, sub_o is read
  input  logic  wr_ok_i,
  output logic  wr_o,
  output slot_t wr_slot_o,
  output sub_t  wr_sub_o,

  // Registers: read data two cycles after the grant.
  output logic  a_o,
  output vreg_t a_vreg_o,
  input  logic  a_gnt_i,
  input  row_t  a_data_i,
  output logic  wr_valid_o,
  input  logic  wr_gnt_i,
  output vreg_t wr_vreg_o,
  output row_t  wr_data_o
);

  localparam int unsigned Depth = 16;           // rows in the pipe and in the queue
  localparam int unsigned Levels = LaneBits;

  typedef struct packed {
    logic        xlu;                           // a move, or random bits: tpu_vpu_xlu
    logic [3:0]  op;                            // the low half of vop_e; RAND: 8
    logic        pair;                          // of VREGs: va and va + 1, vd and vd + 1
    logic        rd_a;
    vreg_t       va;
    logic [31:0] sa;
    logic [31:0] sb;
    logic [31:0] sc;
    logic [31:0] sd;
    rows_t       nrow;
    lanes_t      ncol;
  } red_t;

  // -----------------------------------------------------------------------------------------------
  // Front.

  red_t             ins_q[Slots];
  vreg_t            vd_q[Slots];
  logic [Slots-1:0] todo_q;
  slot_t            slot_q;
  sub_t             sub_q;
  logic             half_q;                     // second VREG of a pair, read after the first
  logic [5:0]       rows_q;                     // rows read and not yet written
  logic             xlu_q;                    // operation in the operators
  logic [3:0]       op_q;
  logic             go, ready, first, in_flight, wr_fire;
  logic             is_rand, is_tile, room, tile_room, rand_ready, xlu_busy;
  logic [4:0]       out_count_q;                // rows in the queue of results
  red_t             ins0;

  assign busy_o   = (todo_q != '0) | (rows_q != '0) | in_flight;
  assign slot_o   = slot_q;
  assign sub_o    = sub_q;
  assign ins0     = ins_q[slot_q];
  assign is_rand  = ins0.xlu & ins0.op[3];
  assign is_tile  = ins0.xlu & (move_e'(ins0.op[2:0]) inside {MoveRotSub, MoveBcSub, MoveTranspose});
  assign first    = (sub_q == '0) & ~half_q;
  assign room     = is_tile ? ~first | tile_room : (rows_q < 6'(Depth)) | wr_fire;
  assign ready    = todo_q[slot_q] & ok_i & room & (~is_rand | rand_ready)
      & (~first | ~in_flight | ({ins0.xlu, ins0.op} == {xlu_q, op_q}));
  assign a_o      = ready & ins0.rd_a;
  assign a_vreg_o = ins0.va | 5'(half_q);
  assign go       = ready & (a_gnt_i | ~ins0.rd_a);
  assign rd_o     = go & (half_q | ~ins0.pair);

  always_ff @(posedge clk_i) begin
    if (new_i) begin
      ins_q[new_slot_i] <= '{xlu: ins_i.op[4], op: {ins_i.op[7] | ins_i.op[3], ins_i.op[2:0]},
                             pair: ins_i.pair, rd_a: ins_i.rd_a, va: ins_i.va, sa: ins_i.sa,
                             sb: ins_i.sb, sc: ins_i.sc, sd: ins_i.sd, nrow: ins_i.nrow,
                             ncol: ins_i.ncol};
      vd_q[new_slot_i] <= ins_i.vd;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      todo_q <= '0;
      slot_q <= '0;
      sub_q  <= '0;
      half_q <= 1'b0;
      rows_q <= '0;
    end else begin
      if (new_i) todo_q[new_slot_i] <= 1'b1;
      if (go) half_q <= ins0.pair & ~half_q;
      if (rd_o) begin
        sub_q <= sub_q + 3'd1;
        if (sub_q == 3'd7) begin
          todo_q[slot_q] <= 1'b0;
          slot_q         <= slot_q + 2'd1;
        end
      end
      if (go | wr_fire) rows_q <= rows_q + 6'(go) - 6'(wr_fire);
    end
    if (go) begin
      xlu_q <= ins0.xlu;
      op_q    <= ins0.op;
    end
  end

  // Data on its way from the registers.
  logic v1_q, v2_q;
  sub_t sub1_q, sub2_q;
  // Not every stage needs every field.
  /* verilator lint_off UNUSEDSIGNAL */
  red_t i1_q, i2_q;
  /* verilator lint_on UNUSEDSIGNAL */

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      v1_q <= 1'b0;
      v2_q <= 1'b0;
    end else begin
      v1_q <= go & ~is_rand;
      v2_q <= v1_q;
    end
    sub1_q <= sub_q;
    sub2_q <= sub1_q;
    if (go & (sub_q == '0)) i1_q <= ins0;
    if (v1_q & (sub1_q == '0)) i2_q <= i1_q;
  end

  // -----------------------------------------------------------------------------------------------
  // Control of the operators.

  logic                over_sub;
  logic [2*Levels:1]   lane_q;   // lanes: a row entered i cycles ago
  logic [6:1]          end_q;    // sublanes: t3 was computed i cycles ago
  logic [2:1]          tv_q;     // sublanes: t<ti> was computed i cycles ago
  logic [2:1][1:0]     ti_q;
  logic [2:0]          copies_q; // sublanes: further copies of the result to deliver
  logic                lane_act, op_en, op2_q;
  logic [2*Levels:0]   even;

  assign over_sub = op_q[3];
  for (genvar i = 0; i <= 2 * Levels; i++) begin : gen_even
    assign even[i] = (i % 2 == 0) && (i != 2 * Levels);
  end
  assign lane_act = ~over_sub & ~xlu_q & (v2_q | (|({lane_q, 1'b0} & even)));
  assign op_en = lane_act | (over_sub & ~xlu_q & ((v2_q & sub2_q[2]) | end_q[1] | end_q[2] | end_q[4]));
  assign in_flight = v1_q | v2_q | xlu_busy | (|lane_q) | (|end_q) | (|tv_q) | (copies_q != '0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      lane_q   <= '0;
      end_q    <= '0;
      tv_q     <= '0;
      copies_q <= '0;
      op2_q    <= 1'b0;
    end else begin
      lane_q <= {lane_q[2*Levels-1:1], v2_q & ~over_sub & ~xlu_q};
      end_q  <= {end_q[5:1], v2_q & over_sub & ~xlu_q & (sub2_q == 3'd7)};
      tv_q   <= {tv_q[1], v2_q & over_sub & ~xlu_q & sub2_q[2]};
      op2_q  <= op_en;
      if (end_q[6]) copies_q <= 3'd7;
      else if (copies_q != '0) copies_q <= copies_q - 3'd1;
    end
    ti_q <= {ti_q[1], sub2_q[1:0]};
  end

  // -----------------------------------------------------------------------------------------------
  // Operators. x: the row that arrives; y: their result; values and, for argmax, indices.

  row_t s_q, f_q, si_q;          // between the two cycles
  row_t y_q, yi_q;
  row_t wait_q[4];               // rows 0 .. 3
  row_t t0_q, t1_q, t2_q, u0_q;
  row_t t0i_q, t1i_q, t2i_q, u0i_q;
  logic arg, fsum, int_op;

  assign arg    = op_q[1:0] == 2'd3;
  assign int_op = op_q[2];
  assign fsum   = op_q[2:0] == 3'd0;

  function automatic logic [31:0] identity(input logic [2:0] op);
    case (op)
      3'd0: return 32'h8000_0000;  // f32 sum: -0
      3'd1: return 32'h7f80_0000;  // f32 min
      3'd2, 3'd3: return 32'hff80_0000;
      3'd4: return 32'd0;          // int32 sum
      3'd5: return 32'h7fff_ffff;
      default: return 32'h8000_0000;
    endcase
  endfunction

  function automatic tpu_vpu_fp_pkg::cmp_t minmax(input logic fp, input logic max);
    tpu_vpu_fp_pkg::cmp_t k;
    k        = '0;
    k.fp  = {32{fp}};
    k.minmax = '1;
    k.inv    = {32{max}};
    return k;
  endfunction

  always_ff @(posedge clk_i) begin
    if ((v2_q & ~xlu_q) | op_en) begin : operate
      row_t x, l, r, k, li, ri, s, f, t, neutral;
      // The arriving row, its masked lanes replaced.
      x = a_data_i;
      if (!i2_q.rd_a) row_splat(i2_q.sa, x);
      if (i2_q.nrow != rows_t'(4'd8) || i2_q.ncol != lanes_t'(Lanes)) begin
        row_splat(identity(i2_q.op[2:0]), neutral);
        row_merge((rows_t'(sub2_q) < i2_q.nrow) ? i2_q.ncol : '0, x, neutral, x);
      end
      if (v2_q & over_sub & ~sub2_q[2]) wait_q[sub2_q[1:0]] <= x;
      if (op_en) begin
        if (!over_sub) begin
          tree_left(x, y_q, l);
          tree_right(x, y_q, r);
        end else if (end_q[1]) begin
          l = t0_q;
          r = tv_q[2] ? y_q : t2_q;
        end else if (end_q[2]) begin
          l = t1_q;
          r = y_q;
        end else if (end_q[4]) begin
          l = u0_q;
          r = y_q;
        end else begin
          l = wait_q[sub2_q[1:0]];
          r = x;
        end
        if (arg) begin
          if (!over_sub) begin
            row_iota(32'd0, k);
            tree_left(k, yi_q, li);
            tree_right(k, yi_q, ri);
          end else if (end_q[1]) begin
            li = t0i_q;
            ri = tv_q[2] ? yi_q : t2i_q;
          end else if (end_q[2]) begin
            li = t1i_q;
            ri = yi_q;
          end else if (end_q[4]) begin
            li = u0i_q;
            ri = yi_q;
          end else begin
            row_splat({30'd0, sub2_q[1:0]}, li);
            row_splat({29'd0, sub2_q}, ri);
          end
          row_arg_wins({32{~int_op}}, l, li, r, ri, k);
          row_index(k, ri, li, f);
          si_q <= f;
        end
        s = '0;
        if (Always || fsum) begin
          row_add_align(l, r, t, f);
          f_q <= f;
          if (Always) row_or(fsum, t, s, s);
          else s = t;
        end
        if (Always || !fsum) begin
          if (arg) row_pick(k, r, l, t);
          else if (op_q[2:0] == 3'd4) row_iadd(32'd0, l, r, t);
          else row_compare(minmax(~int_op, op_q[1]), l, r, t);
          if (Always) row_or(!fsum, t, s, s);
          else s = t;
        end
        s_q <= s;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (op2_q) begin : second
      row_t y;
      y = s_q;
      if (fsum) row_add_round(s_q, f_q, y);
      y_q <= y;
      if (arg) yi_q <= si_q;
    end
  end

  // Sublanes: what waits for its partner.
  always_ff @(posedge clk_i) begin
    if (tv_q[2]) begin
      if (ti_q[2] == 2'd0) t0_q <= y_q;
      if (ti_q[2] == 2'd1) t1_q <= y_q;
      if (ti_q[2] == 2'd2) t2_q <= y_q;
      if (arg & (ti_q[2] == 2'd0)) t0i_q <= yi_q;
      if (arg & (ti_q[2] == 2'd1)) t1i_q <= yi_q;
      if (arg & (ti_q[2] == 2'd2)) t2i_q <= yi_q;
    end
    if (end_q[3]) u0_q <= y_q;
    if (end_q[3] & arg) u0i_q <= yi_q;
  end

  // -----------------------------------------------------------------------------------------------
  // Moves and random bits.

  logic xlu_push;
  row_t xlu_row;

  tpu_vpu_xlu u_xlu (
    .clk_i, .rst_ni, .flush_i, .busy_o(xlu_busy),
    .tile_room_o(tile_room), .tile_take_i(go & is_tile & first),
    .row_i(v2_q & xlu_q), .op_i(move_e'(i2_q.op[2:0])), .pair_i(i2_q.pair), .n_i(i2_q.sb[4:0]),
    .rd_a_i(i2_q.rd_a), .sa_i(i2_q.sa), .a_i(a_data_i),
    .rand_ready_o(rand_ready), .rand_i(go & is_rand), .key0_i(ins0.sa), .key1_i(ins0.sb),
    .x0_i(ins0.sc + 32'(sub_q)), .x1_i(ins0.sd),
    .push_o(xlu_push), .row_o(xlu_row), .count_i(out_count_q)
  );

  // -----------------------------------------------------------------------------------------------
  // Queue of results.

  row_t       out_q[Depth];
  row_t       sub_out_q;
  logic [3:0] in_ptr_q, out_ptr_q;
  slot_t      wr_slot_q;
  sub_t       wr_sub_q;
  logic       wr_half_q, wr_end;
  logic       push_lane, push;

  assign push_lane  = lane_q[2*Levels];
  assign push       = push_lane | end_q[6] | (copies_q != '0) | xlu_push;
  assign wr_valid_o = (out_count_q != '0) & wr_ok_i;
  assign wr_fire    = wr_valid_o & wr_gnt_i;
  assign wr_end     = wr_half_q | ~ins_q[wr_slot_q].pair;
  assign wr_vreg_o  = vd_q[wr_slot_q] | 5'(wr_half_q);
  assign wr_data_o  = out_q[out_ptr_q];
  assign wr_o       = wr_fire & wr_end;
  assign wr_slot_o  = wr_slot_q;
  assign wr_sub_o   = wr_sub_q;

  always_ff @(posedge clk_i) begin
    if (push) begin : push_row
      row_t d;
      d = sub_out_q;
      if (end_q[6]) begin
        if (arg) d = yi_q;
        else d = y_q;
        sub_out_q <= d;
      end
      if (push_lane) row_splat(arg ? yi_q[(Lanes-2)*32+:32] : y_q[(Lanes-2)*32+:32], d);
      if (xlu_push) d = xlu_row;
      out_q[in_ptr_q] <= d;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      in_ptr_q    <= '0;
      out_ptr_q   <= '0;
      out_count_q <= '0;
      wr_slot_q   <= '0;
      wr_sub_q    <= '0;
      wr_half_q   <= 1'b0;
    end else begin
      if (push) in_ptr_q <= in_ptr_q + 4'd1;
      if (wr_fire) begin
        out_ptr_q <= out_ptr_q + 4'd1;
        wr_half_q <= ~wr_end;
        if (wr_end) wr_sub_q <= wr_sub_q + 3'd1;
        if (wr_end && wr_sub_q == 3'd7) wr_slot_q <= wr_slot_q + 2'd1;
      end
      if (push | wr_fire) out_count_q <= out_count_q + 5'(push) - 5'(wr_fire);
    end
  end

endmodule
