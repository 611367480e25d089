// SPDX-License-Identifier: MIT
//
// The load pipe: requests rows from VMEM or ACC, widens them, writes them to the registers.
//
// The request side runs ahead of the write side by up to Depth rows; what comes back lands in a queue
// a word of the row, because the words of a row may be granted in different cycles. The write side
// takes rows in order, converts (one cycle) and writes when the scoreboard and the bank allow it. A
// sublane that is not accessed passes as a row of the fill value.
//
// Addresses were checked before the instruction issued. A row that an older store of this command
// has still to write waits; the store pipe compares the addresses (q_*).

module tpu_vpu_ld
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
  input  logic [AddrBits-1:0]                addr_i,       // of sublane 0
  input  logic [AddrBits-1:0]                pitch_i,
  input  logic [6:0]                         bytes_i,      // of one access
  output logic [Slots-1:0]                   todo_o,       // not yet requested to the end
  output logic [Slots-1:0]                   end_o,        // the last request is granted

  // Stores in flight, and the question whether one of older_o still has to write this row.
  input  logic [Slots-1:0]                   st_busy_i,
  input  logic [Slots-1:0]                   st_end_i,
  output logic                               q_valid_o,
  output logic [Slots-1:0]                   q_older_o,
  output logic                               q_acc_o,
  output logic [AddrBits-1:0]                q_addr_o,
  output logic [5:0]                         q_mask_o,     // bytes - 1
  input  logic                               q_hit_i,

  // Scoreboard: the row that is ready to be written.
  output slot_t                              slot_o,
  output sub_t                               sub_o,
  input  logic                               ok_i,
  output logic                               wr_o,

  // Registers.
  output logic                               wr_valid_o,
  input  logic                               wr_gnt_i,
  output vreg_t                              wr_vreg_o,
  output row_t                               wr_data_o,

  // Memories.
  output logic [Words-1:0]                   vld_valid_o,
  output logic [Words-1:0][WordAddrBits-1:0] vld_addr_o,
  input  logic [Words-1:0]                   vld_gnt_i,
  input  logic [Words-1:0]                   vld_rsp_valid_i,
  input  logic [Words-1:0][WordBits-1:0]     vld_rsp_data_i,
  output logic                               acc_valid_o,
  output logic [AccRowBits-1:0]              acc_row_o,
  input  logic                               acc_gnt_i,
  input  logic                               acc_rsp_valid_i,
  input  row_t                               acc_rsp_data_i,
  output logic                               stall_o
);

  localparam int unsigned Depth = 8;
  localparam int unsigned ByteBits = $clog2(VmemWordBytes);

  typedef struct packed {
    logic                acc;
    logic                col;
    logic                wide;     // all words of the line
    logic [1:0]          dtype;
    logic                itype;
    logic [1:0]          fill;
    lanes_t              ncol;
    rows_t               count;
    vreg_t               vd;
    logic [5:0]          mask;
    logic [AddrBits-1:0] addr;
    logic [AddrBits-1:0] pitch;
  } ld_t;

  ld_t              ins_q[Slots];
  logic [Slots-1:0][Slots-1:0] older_q;   // older stores in flight, of each slot

  always_ff @(posedge clk_i) begin
    if (new_i) begin
      ins_q[new_slot_i] <= '{acc: ins_i.acc, col: ins_i.col,
                             wide: ins_i.acc | (~ins_i.col & (ins_i.dtype == TPU_VMEM_DTYPE_W32)),
                             dtype: ins_i.dtype, itype: ins_i.itype, fill: ins_i.fill,
                             ncol: ins_i.ncol, count: ins_i.count, vd: ins_i.vd,
                             mask: 6'(bytes_i - 7'd1), addr: addr_i, pitch: pitch_i};
    end
    if (new_i | (|st_end_i)) begin
      for (int unsigned i = 0; i < Slots; i++) older_q[i] <= older_q[i] & ~st_end_i;
      if (new_i) older_q[new_slot_i] <= st_busy_i;
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Requests.

  logic [Slots-1:0]    todo_q;
  slot_t               rq_slot_q;
  sub_t                rq_sub_q;
  logic [AddrBits-1:0] rq_next_q, rq_addr;
  logic [Words-1:0]    granted_q, need;
  // Not every stage needs every field.
  /* verilator lint_off UNUSEDSIGNAL */
  ld_t                 rq;
  /* verilator lint_on UNUSEDSIGNAL */
  logic                rq_live, rq_mem, rq_want, rq_done, rq_step, space, rq_last;

  assign rq       = ins_q[rq_slot_q];
  assign rq_live  = todo_q[rq_slot_q] & space;
  assign rq_mem   = rows_t'(rq_sub_q) < rq.count;
  assign rq_addr  = (rq_sub_q == '0) ? rq.addr : rq_next_q;
  assign rq_want  = rq_live & rq_mem & ~q_hit_i;
  assign need     = rq.wide ? '1 : Words'(1);
  assign rq_done  = rq_want & (rq.acc ? acc_gnt_i : ((need & ~granted_q & ~vld_gnt_i) == '0));
  assign rq_step  = rq_done | (rq_live & ~rq_mem);
  assign rq_last  = rq_sub_q == 3'd7;

  assign q_valid_o = rq_live & rq_mem & (older_q[rq_slot_q] != '0);
  assign q_older_o = older_q[rq_slot_q];
  assign q_acc_o   = rq.acc;
  assign q_addr_o  = rq_addr;
  assign q_mask_o  = rq.mask;

  assign todo_o = todo_q;
  assign end_o  = {3'd0, rq_step & rq_last} << rq_slot_q;

  for (genvar j = 0; j < Words; j++) begin : gen_port
    assign vld_valid_o[j] = rq_want & ~rq.acc & need[j] & ~granted_q[j];
    assign vld_addr_o[j]  = WordAddrBits'(rq_addr >> ByteBits) | WordAddrBits'(j);
  end
  assign acc_valid_o = rq_want & rq.acc;
  assign acc_row_o   = AccRowBits'(rq_addr);
  assign stall_o     = rq_want & ~rq_done;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      todo_q    <= '0;
      rq_slot_q <= '0;
      rq_sub_q  <= '0;
      granted_q <= '0;
    end else begin
      if (new_i) todo_q[new_slot_i] <= 1'b1;
      if (rq_want & ~rq.acc) granted_q <= rq_done ? '0 : granted_q | vld_gnt_i;
      if (rq_step) begin
        rq_sub_q <= rq_sub_q + 3'd1;
        if (rq_last) begin
          todo_q[rq_slot_q] <= 1'b0;
          rq_slot_q         <= rq_slot_q + 2'd1;
        end
      end
    end
    if (rq_step) rq_next_q <= rq_addr + rq.pitch;
  end

  // -----------------------------------------------------------------------------------------------
  // Rows under way: one note each, and a landing queue a word.

  typedef logic [$clog2(Depth)-1:0] ptr_t;

  logic [ByteBits:0]   note_q[Depth];    // {accessed, first byte in the word}
  ptr_t                note_in_q, note_out_q;
  logic [$clog2(Depth):0] notes_q;
  logic [Words-1:0]    landed;
  line_t               line;
  logic                take, head_acc, accessed, head_wide;
  logic [ByteBits-1:0] off;
  // Not every stage needs every field.
  /* verilator lint_off UNUSEDSIGNAL */
  ld_t                 head;
  /* verilator lint_on UNUSEDSIGNAL */
  slot_t               head_slot_q;
  sub_t                head_sub_q;

  assign space              = notes_q != ($clog2(Depth) + 1)'(Depth);
  assign {accessed, off}    = note_q[note_out_q];
  assign head               = ins_q[head_slot_q];
  assign head_wide          = head.wide;
  assign head_acc           = accessed;

  always_ff @(posedge clk_i) begin
    if (rq_step) begin
      note_q[note_in_q] <= {rq_mem, (rq.acc | (rq.wide & (Words > 1))) ? ByteBits'(0)
                                                                       : ByteBits'(rq_addr)};
    end
    if (!rst_ni || flush_i) begin
      note_in_q   <= '0;
      note_out_q  <= '0;
      notes_q     <= '0;
      head_slot_q <= '0;
      head_sub_q  <= '0;
    end else begin
      if (rq_step) note_in_q <= note_in_q + 1'b1;
      if (take) begin
        note_out_q <= note_out_q + 1'b1;
        head_sub_q <= head_sub_q + 3'd1;
        if (head_sub_q == 3'd7) head_slot_q <= head_slot_q + 2'd1;
      end
      if (rq_step ^ take) notes_q <= rq_step ? notes_q + 1'b1 : notes_q - 1'b1;
    end
  end

  for (genvar j = 0; j < Words; j++) begin : gen_land
    (* no_rw_check *) logic [WordBits-1:0] mem_q[Depth];
    ptr_t                   in_q, out_q;
    logic [$clog2(Depth):0] count_q;
    logic                   push, pop;

    assign push      = vld_rsp_valid_i[j] | acc_rsp_valid_i;
    assign pop       = take & head_acc & (head_wide | (j == 0));
    assign landed[j] = count_q != '0;
    assign line[j*WordBits+:WordBits] = mem_q[out_q];

    always_ff @(posedge clk_i) begin
      if (push) begin : land
        logic [WordBits-1:0] d;
        d = vld_rsp_data_i[j];
        if (acc_rsp_valid_i) d = WordBits'(LineBits'(acc_rsp_data_i) >> (j * WordBits));
        mem_q[in_q] <= d;
      end
      if (!rst_ni || flush_i) begin
        in_q    <= '0;
        out_q   <= '0;
        count_q <= '0;
      end else begin
        if (push) in_q <= in_q + 1'b1;
        if (pop) out_q <= out_q + 1'b1;
        if (push ^ pop) count_q <= push ? count_q + 1'b1 : count_q - 1'b1;
      end
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Conversion and write.

  logic  hold_q;
  row_t  row_q;
  slot_t slot_q;
  sub_t  sub_q;
  logic  data_here;

  assign data_here = ~accessed | (&(landed | ~(head_wide ? '1 : Words'(1))));
  assign take      = (notes_q != '0) & data_here & (~hold_q | wr_o);

  assign busy_o     = (todo_q != '0) | (notes_q != '0) | hold_q;
  assign slot_o     = slot_q;
  assign sub_o      = sub_q;
  assign wr_valid_o = hold_q & ok_i;
  assign wr_o       = wr_valid_o & wr_gnt_i;
  assign wr_vreg_o  = ins_q[slot_q].vd;
  assign wr_data_o  = row_q;

  function automatic logic [31:0] fill_value(input logic [1:0] fill, input logic itype);
    case (fill)
      TPU_FILL_ZERO: return 32'd0;
      TPU_FILL_MAX:  return itype ? 32'h7fff_ffff : 32'h7f80_0000;
      TPU_FILL_MIN:  return itype ? 32'h8000_0000 : 32'hff80_0000;
      default:       return itype ? 32'd1 : 32'h3f80_0000;
    endcase
  endfunction

  // One element at byte b of a word.
  function automatic logic [31:0] element(input logic [WordBits-1:0] w, input logic [ByteBits-1:0] b,
                                          input logic [1:0] dtype, input logic itype);
    logic [31:0] e;
    e = w[32*32'(b[ByteBits-1:2])+:32] >> {b[1:0], 3'd0};
    case (dtype)
      TPU_VMEM_DTYPE_W32:  return e;
      TPU_VMEM_DTYPE_BF16: return {e[15:0], 16'd0};
      default: begin
        e = {{24{e[7] & (dtype == TPU_VMEM_DTYPE_INT8)}}, e[7:0]};
        return itype ? e : tpu_vpu_fp_pkg::i9_to_f32(e);
      end
    endcase
  endfunction

  always_ff @(posedge clk_i) begin
    if (take) begin : convert
      row_t x, fill;
      logic [WordBits-1:0] w;
      row_splat(fill_value(head.fill, head.itype), fill);
      if (!accessed) begin
        x = fill;
      end else if (head.col) begin
        row_splat(element(line[WordBits-1:0], off, head.dtype, head.itype), x);
      end else begin
        // A narrow row begins at a multiple of its size.
        w = line[WordBits-1:0];
        if (off != '0) w = w >> {off[ByteBits-1:LaneBits], {LaneBits{1'b0}}, 3'd0};
        if (head.dtype == TPU_VMEM_DTYPE_W32) begin
          if (LineBits == Lanes * 32) x = row_t'(line);
          else x = row_t'(w);
        end else if (head.dtype == TPU_VMEM_DTYPE_BF16) begin
          row_from_bf16((Lanes * 16)'(w), x);
        end else begin
          row_from_8(head.dtype == TPU_VMEM_DTYPE_UINT8, (Lanes * 8)'(w), x);
          if (!head.itype) row_i9_to_f32(x, x);
        end
      end
      if (head.ncol != lanes_t'(Lanes) && accessed) row_merge(head.ncol, x, fill, x);
      row_q <= x;
    end
    if (!rst_ni || flush_i) begin
      hold_q <= 1'b0;
      slot_q <= '0;
      sub_q  <= '0;
    end else begin
      if (take | wr_o) hold_q <= take;
      if (wr_o) begin
        sub_q <= sub_q + 3'd1;
        if (sub_q == 3'd7) slot_q <= slot_q + 2'd1;
      end
    end
  end

endmodule
