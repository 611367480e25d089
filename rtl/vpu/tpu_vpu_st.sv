// SPDX-License-Identifier: MIT
//
// The store pipe: reads rows from the registers, narrows them, writes them to VMEM or ACC.
//
// Only the count sublanes that the mask leaves are processed. A row is read when the scoreboard and
// the bank allow it and there is room in the queue of rows that wait for their memory. The data of a
// narrow row or a single element is repeated over the line; the byte enables choose the place.
//
// Order in memory: a store begins when all older loads have been granted, and a load asks here whether
// an older store still has to write its row. For that all sublane addresses of the stores in flight
// are kept and compared side by side. Accesses are naturally aligned powers of two, so two of them
// overlap exactly if they agree above the larger one's size.

module tpu_vpu_st
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_row_pkg::*;
  import tpu_pkg::*;
(
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               flush_i,
  output logic                               busy_o,       // needs its clock

  input  logic                               new_i,        // take ins_i into new_slot_i
  input  slot_t                              new_slot_i,
  // A decoded instruction has the fields of every pipe.
  /* verilator lint_off UNUSEDSIGNAL */
  input  ins_t                               ins_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  logic [7:0][AddrBits-1:0]           addr_i,       // of each sublane
  input  logic [6:0]                         bytes_i,      // of one access

  // Older loads.
  input  logic [Slots-1:0]                   ld_todo_i,
  input  logic [Slots-1:0]                   ld_end_i,
  // Does a store of q_older_i still have to write into this row?
  input  logic                               q_valid_i,
  input  logic [Slots-1:0]                   q_older_i,
  input  logic                               q_acc_i,
  input  logic [AddrBits-1:0]                q_addr_i,
  input  logic [5:0]                         q_mask_i,
  output logic                               q_hit_o,

  // Scoreboard.
  output slot_t                              slot_o,
  output sub_t                               sub_o,
  input  logic                               ok_i,
  output logic                               rd_o,
  output logic                               end_o,
  output slot_t                              end_slot_o,
  output logic [Slots-1:0]                   end_mask_o,

  // Registers: read data two cycles after the grant.
  output logic                               a_o,
  output vreg_t                              a_vreg_o,
  input  logic                               a_gnt_i,
  input  row_t                               a_data_i,

  // Memories.
  output logic [Words-1:0]                   vst_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0] vst_addr_o,
  output logic [Words-1:0][WordBits-1:0]     vst_wdata_o,
  output logic [Words-1:0][WordBits/8-1:0]   vst_be_o,
  input  logic [Words-1:0]                   vst_gnt_i,
  output logic                               acc_valid_o,
  output logic [AccRowBits-1:0]              acc_row_o,
  output logic [Lanes-1:0]                   acc_mask_o,
  output row_t                               acc_data_o,
  input  logic                               acc_gnt_i,
  output logic                               stall_o
);

  localparam int unsigned Depth = 8;
  localparam int unsigned ByteBits = $clog2(VmemWordBytes);

  typedef struct packed {
    logic        acc;
    logic        col;
    logic [1:0]  dtype;
    logic        itype;
    lanes_t      ncol;
    rows_t       count;
    logic        rd_a;
    vreg_t       va;
    logic [31:0] sa;
  } st_t;

  // -----------------------------------------------------------------------------------------------
  // Stores in flight and the addresses they still have to write.

  st_t                         ins_q[Slots];
  logic [Slots-1:0]            todo_q;
  logic [Slots-1:0][Slots-1:0] older_q;       // older loads that have requests to make
  logic [Slots-1:0][7:0][31:0] key_q;         // sublane addresses
  logic [Slots-1:0][7:0]       pend_q;        // sublanes to write
  logic [Slots-1:0][5:0]       mask_q;        // bytes of an access - 1
  logic [Slots-1:0]            acc_q;
  logic                        row_done;
  slot_t                       done_slot;
  sub_t                        done_sub;

  always_ff @(posedge clk_i) begin
    if (new_i) begin
      ins_q[new_slot_i] <= '{acc: ins_i.acc, col: ins_i.col, dtype: ins_i.dtype,
                             itype: ins_i.itype, ncol: ins_i.ncol, count: ins_i.count,
                             rd_a: ins_i.rd_a, va: ins_i.va, sa: ins_i.sa};
      for (int unsigned s = 0; s < 8; s++) key_q[new_slot_i][s] <= 32'(addr_i[s]);
      mask_q[new_slot_i] <= ins_i.acc ? 6'd0 : 6'(bytes_i - 7'd1);
      acc_q[new_slot_i]  <= ins_i.acc;
    end
    if (new_i | (|ld_end_i)) begin
      for (int unsigned i = 0; i < Slots; i++) older_q[i] <= older_q[i] & ~ld_end_i;
      if (new_i) older_q[new_slot_i] <= ld_todo_i & ~ld_end_i;
    end
    if (!rst_ni || flush_i) begin
      pend_q <= '0;
    end else begin
      if (row_done) pend_q[done_slot][done_sub] <= 1'b0;
      if (new_i) pend_q[new_slot_i] <= 8'hff >> (4'd8 - ins_i.count);
    end
  end

  // Is one of the addresses key that are on in the aligned block of x that mask spans?
  function automatic void match(input logic [7:0][31:0] key, input logic [31:0] on,
                                input logic [31:0] x, input logic [31:0] mask, output logic yes);
    /* verilator no_inline_task */
    logic [31:0] hit;
    hit = 32'd0;
    for (int unsigned s = 0; s < 8; s++) begin
      hit = hit | (32'(((key[s] ^ x) & ~mask) == 32'd0) & (on >> s));
    end
    yes = hit[0];
  endfunction

  always_comb begin : compare
    logic yes;
    yes = 1'b0;
    q_hit_o = 1'b0;
    if (q_valid_i) begin
      for (int unsigned i = 0; i < Slots; i++) begin
        if (q_older_i[i] && acc_q[i] == q_acc_i) begin
          match(key_q[i], {24'd0, pend_q[i]}, 32'(q_addr_i),
                {26'd0, mask_q[i] | (q_mask_i & {6{~q_acc_i}})}, yes);
          q_hit_o = q_hit_o | yes;
        end
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Front: the sublane to read.

  slot_t slot_q;
  sub_t  sub_q;
  st_t   ins0;
  logic  ready, go, last;
  logic [$clog2(Depth):0] rows_q;             // rows read and not yet written

  assign busy_o   = (todo_q != '0) | (rows_q != '0);
  assign slot_o   = slot_q;
  assign sub_o    = sub_q;
  assign ins0     = ins_q[slot_q];
  assign ready    = todo_q[slot_q] & ok_i & (older_q[slot_q] == '0)
      & (rows_q != ($clog2(Depth) + 1)'(Depth));
  assign a_o      = ready & ins0.rd_a;
  assign a_vreg_o = ins0.va;
  assign go       = ready & (a_gnt_i | ~ins0.rd_a);
  assign rd_o     = go;
  assign last     = rows_t'(sub_q) + 4'd1 == ins0.count;

  logic                v1_q, v2_q;
  logic [4:0]          id1_q, id2_q;          // {slot, sub}
  // Not every stage needs every field.
  /* verilator lint_off UNUSEDSIGNAL */
  st_t                 i1_q, i2_q;
  /* verilator lint_on UNUSEDSIGNAL */

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      todo_q <= '0;
      slot_q <= '0;
      sub_q  <= '0;
      rows_q <= '0;
      v1_q   <= 1'b0;
      v2_q   <= 1'b0;
    end else begin
      v1_q <= go;
      v2_q <= v1_q;
      if (new_i) todo_q[new_slot_i] <= 1'b1;
      if (go) begin
        sub_q <= sub_q + 3'd1;
        if (last) begin
          sub_q          <= '0;
          todo_q[slot_q] <= 1'b0;
          slot_q         <= slot_q + 2'd1;
        end
      end
      if (go ^ row_done) rows_q <= go ? rows_q + 1'b1 : rows_q - 1'b1;
    end
    if (go) id1_q <= {slot_q, sub_q};
    if (go & (sub_q == '0)) i1_q <= ins0;
    if (v1_q) id2_q <= id1_q;
    if (v1_q & (id1_q[2:0] == '0)) i2_q <= i1_q;
  end

  // -----------------------------------------------------------------------------------------------
  // Conversion, into the queue of rows that wait for their memory.

  typedef struct packed {
    logic [4:0]           id;
    logic                 acc;
    logic [AddrBits-1:0]  addr;
    logic [Words-1:0]     need;
    logic [LineBytes-1:0] be;
    logic [Lanes-1:0]     mask;             // ACC
  } note_t;

  line_t                    line_q[Depth];
  note_t                    note_q[Depth];
  logic [$clog2(Depth)-1:0] in_q, out_q;
  logic [$clog2(Depth):0]   count_q;

  always_ff @(posedge clk_i) begin
    if (v2_q) begin : convert
      row_t                 x, whole;
      line_t                line;
      logic [Lanes*16-1:0]  half;
      logic [Lanes*8-1:0]   quarter;
      logic [AddrBits-1:0]  addr;
      logic [LineBytes-1:0] be;
      logic [6:0]           n;
      note_t                note;
      logic [ByteBits-1:0]  off;
      x = a_data_i;
      if (!i2_q.rd_a) row_splat(i2_q.sa, x);
      if (i2_q.col) row_splat(x[31:0], x);
      n = i2_q.col ? 7'd1 : 7'(i2_q.ncol);
      case (i2_q.dtype)
        TPU_VMEM_DTYPE_W32: begin
          n = n << 2;
          line = {(LineBits / (Lanes * 32)) {x}};
        end
        TPU_VMEM_DTYPE_BF16: begin
          n = n << 1;
          row_f2bf(x, x);
          row_pack16(x, half);
          line = {(LineBits / (Lanes * 16)) {half}};
        end
        default: begin
          if (Always) row_or(i2_q.itype, x, '0, whole);
          else whole = x;
          if (Always || !i2_q.itype) begin
            row_f2i(32'd0, x, x);
            if (Always) row_or(!i2_q.itype, x, whole, whole);
            else whole = x;
          end
          row_clamp8({32{i2_q.dtype == TPU_VMEM_DTYPE_UINT8}}, whole, x);
          row_pack8(x, quarter);
          line = {(LineBits / (Lanes * 8)) {quarter}};
        end
      endcase
      line_q[in_q] <= line;
      addr = AddrBits'(key_q[id2_q[4:3]][id2_q[2:0]]);
      off  = ByteBits'(addr);
      be   = '1;
      be   = be >> (LineBytes - 32'(n));
      // Rows of more than one word begin at a line.
      if (!i2_q.acc && (Words == 1 || i2_q.col || i2_q.dtype != TPU_VMEM_DTYPE_W32)) be = be << off;
      note.id   = id2_q;
      note.acc  = i2_q.acc;
      note.addr = addr;
      note.be   = be;
      for (int unsigned j = 0; j < Words; j++) begin
        note.need[j] = |be[j*VmemWordBytes+:VmemWordBytes];
      end
      note.mask = '1;
      note.mask = note.mask >> (Lanes - (i2_q.col ? 1 : 32'(i2_q.ncol)));
      note_q[in_q] <= note;
    end
    if (!rst_ni || flush_i) begin
      in_q    <= '0;
      out_q   <= '0;
      count_q <= '0;
    end else begin
      if (v2_q) in_q <= in_q + 1'b1;
      if (row_done) out_q <= out_q + 1'b1;
      if (v2_q ^ row_done) count_q <= v2_q ? count_q + 1'b1 : count_q - 1'b1;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Requests.

  note_t            head;
  line_t            head_line;
  logic             live;
  logic [Words-1:0] granted_q;

  assign live = count_q != '0;
  assign head = note_q[out_q];
  assign head_line = line_q[out_q];
  for (genvar j = 0; j < Words; j++) begin : gen_port
    assign vst_valid_o[j] = live & ~head.acc & head.need[j] & ~granted_q[j];
    assign vst_addr_o[j]  = WordAddrBits'(head.addr >> ByteBits) | WordAddrBits'(j);
    assign vst_wdata_o[j] = head_line[j*WordBits+:WordBits];
    assign vst_be_o[j]    = head.be[j*VmemWordBytes+:VmemWordBytes];
  end
  assign acc_valid_o = live & head.acc;
  assign acc_row_o   = AccRowBits'(head.addr);
  assign acc_data_o  = head_line[Lanes*32-1:0];
  assign acc_mask_o  = head.mask;
  assign row_done = live
      & (head.acc ? acc_gnt_i : ((head.need & ~granted_q & ~vst_gnt_i) == '0));
  assign stall_o = live & ~row_done;

  assign {done_slot, done_sub} = head.id;
  assign end_o      = row_done & (rows_t'(done_sub) + 4'd1 == ins_q[done_slot].count);
  assign end_slot_o = done_slot;
  assign end_mask_o = {3'd0, end_o} << done_slot;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) granted_q <= '0;
    else if (live & ~head.acc) granted_q <= row_done ? '0 : granted_q | vst_gnt_i;
  end

endmodule
