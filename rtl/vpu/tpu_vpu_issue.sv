// SPDX-License-Identifier: MIT
//
// Issue and scoreboard: one instruction a cycle, in order, into the slots of five pipes.
//
// A pipe works on its instructions in order, one sublane a cycle. What an instruction must not
// overtake is known when it issues: the older instructions in flight that write a register it uses,
// and those that read the register it writes. It keeps them as a mask over slots (dep_q). For each
// sublane there is a mask of the slots that have still to write it or to read it (pend_q). Sublane s
// of an instruction may go when dep & pend[s] = 0. So results chain sublane by sublane, whatever the
// pipes' latencies and stalls are, and no pipe has to know another one. Loads ask before they write,
// the ALU before it reads; a reduction, whose result comes late, asks for its operand before it reads
// (src_q, the part of dep_q that it needs for that) and for its destination before it writes; so does
// the transcendental pipe.
//
// Dependences point to older instructions only and every pipe is in order, so there is no deadlock.
// A slot that is freed is cleared from all masks before it can be used again.

module tpu_vpu_issue
  import tpu_vpu_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        flush_i,

  // From fetch.
  input  logic        ins_valid_i,
  output logic        ins_ready_o,
  input  kind_e       ins_kind_i,
  // A decoded instruction has the fields of every pipe.
  /* verilator lint_off UNUSEDSIGNAL */
  input  ins_t        ins_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [7:0]  ins_code_i,

  // To the pipes: take ins_i into this slot.
  output logic        ld_new_o,
  output logic        alu_new_o,
  output logic        red_new_o,
  output logic        eup_new_o,
  output logic        st_new_o,
  output slot_t       new_slot_o,

  // May sublane sub of the instruction in slot go?
  input  slot_t       ld_slot_i,
  input  sub_t        ld_sub_i,
  output logic        ld_ok_o,
  input  slot_t       alu_slot_i,
  input  sub_t        alu_sub_i,
  output logic        alu_ok_o,
  input  slot_t       red_slot_i,
  input  sub_t        red_sub_i,
  output logic        red_ok_o,
  input  slot_t       eup_slot_i,
  input  sub_t        eup_sub_i,
  output logic        eup_ok_o,
  input  slot_t       st_slot_i,
  input  sub_t        st_sub_i,
  output logic        st_ok_o,

  // What the pipes do in this cycle. Writing sublane 7 ends an instruction; a store says so itself.
  input  logic        ld_wr_i,       // of ld_slot_i, ld_sub_i
  input  logic        alu_rd_i,
  input  slot_t       alu_rd_slot_i,
  input  sub_t        alu_rd_sub_i,
  input  logic        alu_wr_i,
  input  slot_t       alu_wr_slot_i,
  input  sub_t        alu_wr_sub_i,
  input  logic        red_rd_i,      // of red_slot_i, red_sub_i
  output logic        red_wr_ok_o,   // for red_wr_slot_i, red_wr_sub_i
  input  logic        red_wr_i,
  input  slot_t       red_wr_slot_i,
  input  sub_t        red_wr_sub_i,
  input  logic        eup_rd_i,      // of eup_slot_i, eup_sub_i
  output logic        eup_wr_ok_o,   // for eup_wr_slot_i, eup_wr_sub_i
  input  logic        eup_wr_i,
  input  slot_t       eup_wr_slot_i,
  input  sub_t        eup_wr_sub_i,
  input  logic        st_rd_i,       // of st_slot_i, st_sub_i
  input  logic        st_end_i,
  input  slot_t       st_end_slot_i,

  output logic [3:0]  st_busy_o,     // stores in flight, without those that end in this cycle
  output logic        finish_o       // the last instruction is reached and nothing is in flight
);

  // An instruction is bit 4 pipe + slot of 20. A column of reads or writes is bit 4 (pipe mod 4) + slot of
  // 16: columns 0 are the writes of loads and the reads of stores.
  logic [19:0]       valid_q;
  logic [4:0][1:0]   head_q;         // next slot of each pipe
  logic [15:0][31:0] wvec_q, rvec_q; // registers a column writes and reads, one bit each
  // {columns whose reads, columns whose writes come before}; of stores apart, for a loop over 16.
  logic [15:0][31:0] dep_q;
  logic [Slots-1:0][31:0] st_dep_q;
  logic [Slots-1:0][15:0] red_src_q, eup_src_q;  // slots that write the operand
  logic [7:0][31:0]  pend_q;         // {slots that have to read, slots that have to write} a sublane
  logic              split_q;        // the store with an error has been issued

  // -----------------------------------------------------------------------------------------------
  // Events.

  function automatic logic [19:0] slot_bit(input pipe_e p, input slot_t s, input logic on);
    return 20'(on) << {p, s};
  endfunction

  function automatic logic [31:0] columns(input logic [19:0] s);
    return {s[15:4], s[19:16], s[15:0]};
  endfunction

  logic [19:0] freed;
  assign freed = slot_bit(PipeLd, ld_slot_i, ld_wr_i & (ld_sub_i == 3'd7))
      | slot_bit(PipeAlu, alu_wr_slot_i, alu_wr_i & (alu_wr_sub_i == 3'd7))
      | slot_bit(PipeRed, red_wr_slot_i, red_wr_i & (red_wr_sub_i == 3'd7))
      | slot_bit(PipeEup, eup_wr_slot_i, eup_wr_i & (eup_wr_sub_i == 3'd7))
      | slot_bit(PipeSt, st_end_slot_i, st_end_i);

  // -----------------------------------------------------------------------------------------------
  // Issue.

  pipe_e       pipe;
  logic        want, can, issue, final_ins;
  logic [19:0] new_bit;

  always_comb begin
    pipe = PipeLd;
    want = 1'b0;
    if (ins_valid_i && !split_q) begin
      case (ins_kind_i)
        KindLd: want = ins_code_i == 8'd0;
        KindAlu: begin
          pipe = PipeAlu;
          want = 1'b1;
        end
        KindRed: begin
          pipe = PipeRed;
          want = 1'b1;
        end
        KindEup: begin
          pipe = PipeEup;
          want = 1'b1;
        end
        KindSt: begin
          pipe = PipeSt;
          want = ins_i.count != '0;
        end
        default: ;
      endcase
    end
  end

  assign new_slot_o  = head_q[pipe];
  assign new_bit     = slot_bit(pipe, new_slot_o, 1'b1);
  assign can         = (valid_q & new_bit) == '0;
  assign issue       = want & can;
  assign final_ins   = ins_valid_i & ((ins_kind_i == KindHalt) | (ins_code_i != 8'd0));
  assign ins_ready_o = ~final_ins & (~want | can);
  assign finish_o    = final_ins & ~want & (valid_q == '0);
  assign ld_new_o    = issue & (pipe == PipeLd);
  assign alu_new_o   = issue & (pipe == PipeAlu);
  assign red_new_o   = issue & (pipe == PipeRed);
  assign eup_new_o   = issue & (pipe == PipeEup);
  assign st_new_o    = issue & (pipe == PipeSt);
  assign st_busy_o   = valid_q[19:16] & ~freed[19:16];

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      valid_q <= '0;
      head_q  <= '0;
      split_q <= 1'b0;
    end else if (issue | (|freed)) begin
      valid_q <= (valid_q & ~freed) | (new_bit & {20{issue}});
      if (issue) head_q[pipe] <= new_slot_o + 2'd1;
      if (issue & final_ins) split_q <= 1'b1;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Scoreboard.

  // Slots that an instruction with these registers must not overtake.
  function automatic void depend(input logic [31:0] src, input logic [31:0] dst,
                                 input logic [31:0] same, input logic [31:0] live,
                                 input logic [15:0][31:0] wv, input logic [15:0][31:0] rv,
                                 output logic [15:0] operands, output logic [31:0] dep);
    /* verilator no_inline_task */
    logic [31:0] raw, waw, war;
    raw = 32'd0;
    waw = 32'd0;
    war = 32'd0;
    for (int unsigned i = 0; i < 16; i++) begin
      raw = raw | (32'((wv[i] & src) != 32'd0) << i);
      waw = waw | (32'((wv[i] & dst) != 32'd0) << i);
      war = war | (32'((rv[i] & dst) != 32'd0) << i);
    end
    operands = raw[15:0] & live[15:0];
    // A pipe keeps its own reads and writes in order.
    dep = {war[15:0] & ~same[31:16], raw[15:0] | (waw[15:0] & ~same[15:0])} & live;
  endfunction

  logic [31:0] src, dst, same;

  always_comb begin
    src  = 32'd0;
    dst  = 32'd0;
    same = 32'd0;
    if (issue) begin
      if (ins_i.rd_a) src[ins_i.va] = 1'b1;
      if (ins_i.rd_b) src[ins_i.vb] = 1'b1;
      if (ins_i.rd_c) src[ins_i.vc] = 1'b1;
      if (pipe != PipeSt) dst[ins_i.vd] = 1'b1;
      if (TilePair && ins_i.pair) begin
        if (ins_i.rd_a) src[ins_i.va|5'd1] = 1'b1;
        dst[ins_i.vd|5'd1] = 1'b1;
      end
      same = columns(20'hf << {pipe, 2'b00});
    end
  end

  // Clears the slots in gone from all masks.
  function automatic void forget(input logic [15:0][31:0] d, input logic [31:0] gone,
                                 output logic [15:0][31:0] r);
    /* verilator no_inline_task */
    for (int unsigned i = 0; i < 16; i++) r[i] = d[i] & ~gone;
  endfunction

  always_ff @(posedge clk_i) begin
    if (issue | (|freed)) begin : note
      logic [15:0][31:0] d;
      logic [15:0] operands;
      logic [31:0] dep;
      d = dep_q;
      if (|freed) begin
        forget(dep_q, columns(freed), d);
        for (int unsigned i = 0; i < Slots; i++) begin
          red_src_q[i] <= red_src_q[i] & ~freed[15:0];
          eup_src_q[i] <= eup_src_q[i] & ~freed[15:0];
          st_dep_q[i]  <= st_dep_q[i] & ~columns(freed);
        end
      end
      if (issue) begin
        depend(src, dst, same, columns(valid_q & ~freed), wvec_q, rvec_q, operands, dep);
        if (pipe == PipeRed) red_src_q[new_slot_o] <= operands;
        if (pipe == PipeEup) eup_src_q[new_slot_o] <= operands;
        if (pipe == PipeSt) st_dep_q[new_slot_o] <= dep;
        else d[{pipe[1:0], new_slot_o}] = dep;
        if (pipe != PipeSt) wvec_q[{pipe[1:0], new_slot_o}] <= dst;
        if (pipe != PipeLd) rvec_q[{pipe[1:0], new_slot_o}] <= src;
      end
      dep_q <= d;
    end
  end

  // The bit of a column.
  function automatic logic [15:0] column(input logic [1:0] p, input slot_t s, input logic on);
    return 16'(on) << {p, s};
  endfunction

  logic [31:0] new2, clr_ld, clr_ard, clr_awr, clr_rrd, clr_rwr, clr_erd, clr_ewr, clr_st;
  assign new2    = columns(new_bit & {20{issue}});
  assign clr_ld  = {16'd0, column(2'(PipeLd), ld_slot_i, ld_wr_i)};
  assign clr_ard = {column(2'(PipeAlu), alu_rd_slot_i, alu_rd_i), 16'd0};
  assign clr_awr = {16'd0, column(2'(PipeAlu), alu_wr_slot_i, alu_wr_i)};
  assign clr_rrd = {column(2'(PipeRed), red_slot_i, red_rd_i), 16'd0};
  assign clr_rwr = {16'd0, column(2'(PipeRed), red_wr_slot_i, red_wr_i)};
  assign clr_erd = {column(2'(PipeEup), eup_slot_i, eup_rd_i), 16'd0};
  assign clr_ewr = {16'd0, column(2'(PipeEup), eup_wr_slot_i, eup_wr_i)};
  assign clr_st  = {column(2'(PipeSt), st_slot_i, st_rd_i), 16'd0};

  // The sublane's masks of the next cycle: subs and clr of the eight events, one a word.
  function automatic void pending(input logic [7:0][31:0] p, input logic [31:0] news,
                                  input logic [7:0][2:0] subs, input logic [7:0][31:0] clr,
                                  output logic [7:0][31:0] r);
    /* verilator no_inline_task */
    for (int unsigned s = 0; s < 8; s++) begin
      r[s] = news | (p[s] & ~((clr[0] & {32{32'(subs[0]) == s}}) | (clr[1] & {32{32'(subs[1]) == s}})
          | (clr[2] & {32{32'(subs[2]) == s}}) | (clr[3] & {32{32'(subs[3]) == s}})
          | (clr[4] & {32{32'(subs[4]) == s}}) | (clr[5] & {32{32'(subs[5]) == s}})
          | (clr[6] & {32{32'(subs[6]) == s}}) | (clr[7] & {32{32'(subs[7]) == s}})));
    end
  endfunction

  always_ff @(posedge clk_i) begin
    if (issue | ld_wr_i | alu_rd_i | alu_wr_i | red_rd_i | red_wr_i | eup_rd_i | eup_wr_i | st_rd_i) begin : events
      logic [7:0][31:0] p;
      pending(pend_q, new2, {eup_wr_sub_i, eup_sub_i, st_sub_i, red_wr_sub_i, red_sub_i, alu_wr_sub_i, alu_rd_sub_i, ld_sub_i},
              {clr_ewr, clr_erd, clr_st, clr_rwr, clr_rrd, clr_awr, clr_ard, clr_ld}, p);
      pend_q <= p;
    end
  end

  assign ld_ok_o  = (dep_q[{2'(PipeLd), ld_slot_i}] & pend_q[ld_sub_i]) == 32'd0;
  assign alu_ok_o = (dep_q[{2'(PipeAlu), alu_slot_i}] & pend_q[alu_sub_i]) == 32'd0;
  assign red_ok_o = (red_src_q[red_slot_i] & pend_q[red_sub_i][15:0]) == 16'd0;
  assign red_wr_ok_o = (dep_q[{2'(PipeRed), red_wr_slot_i}] & pend_q[red_wr_sub_i]) == 32'd0;
  assign eup_ok_o = (eup_src_q[eup_slot_i] & pend_q[eup_sub_i][15:0]) == 16'd0;
  assign eup_wr_ok_o = (dep_q[{2'(PipeEup), eup_wr_slot_i}] & pend_q[eup_wr_sub_i]) == 32'd0;
  assign st_ok_o  = (st_dep_q[st_slot_i] & pend_q[st_sub_i]) == 32'd0;

endmodule
