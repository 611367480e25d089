// SPDX-License-Identifier: MIT
//
// Start checks of DMA commands (docs/contract.md section 3), one command at a time.
//
// A started command waits in its channel's register until the checker takes it. Ranges are exact: a
// product of a stride and a count, and the sum of three of them and a base, fit in 58 bits. One
// multiplier does one product a cycle and dimensions of count 1 are skipped, so that a plain copy
// is checked in two cycles and the worst command in eight. All of it hides behind the command
// before.
//
// A gather or scatter has its list of indices read once here, a beat a cycle, so that one with an
// index out of bounds moves nothing; the walk reads it again (tpu_dma_index). Its range is that of
// the whole indexed array: the bound takes the place of the count.
//
// A channel takes its next command only after the check of the last one (tpu_dma_order), so that a
// command behind a faulty one never starts.

module tpu_dma_check
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           abort_i,

  input  ch_mask_t                       start_i,
  input  tpu_dma_cmd_t [DmaChannels-1:0] cmd_i,
  input  logic [DmaChannels-1:0][1:0]    prio_i,
  input  slot_t [DmaChannels-1:0]        slot_i,

  // Result; valid for one cycle. A command with code 0 goes on to tpu_dma_issue.
  output logic                           valid_o,
  output owner_t                         owner_o,
  output logic [1:0]                     prio_o,
  output logic                           empty_o,
  output tpu_dma_cmd_t                   cmd_o,
  output logic [7:0]                     code_o,
  output logic [31:0]                    detail0_o,
  output logic [31:0]                    detail1_o,

  // The list of indices in SMEM; answers come in the order of the grants.
  output logic                           list_valid_o,
  output logic [SmemAddrW-1:0]           list_addr_o,
  input  logic                           list_gnt_i,
  input  logic                           list_rsp_valid_i,
  input  beat_t                          list_rsp_data_i
);

  localparam int unsigned Exact = 58;
  typedef logic signed [Exact-1:0] exact_t;

  typedef enum logic [2:0] {Idle, Fields, Terms, Verdict, List, ListVerdict} state_e;

  // Commands as they came.
  tpu_dma_cmd_t wait_cmd_q[DmaChannels];
  logic [DmaChannels-1:0][1:0] wait_prio_q;
  slot_t [DmaChannels-1:0] wait_slot_q;
  ch_mask_t wait_q;

  // The command in the checker.
  state_e state_q;
  tpu_dma_cmd_t cmd_q;
  owner_t owner_q;
  logic [1:0] prio_q;
  logic [5:0] terms_q;  // products to come: source 0..2, destination 3..5
  exact_t src_low_q, src_high_q, dst_low_q, dst_high_q;
  logic skip_src_q;

  ch_t pick;
  always_comb begin
    pick = '0;
    if (wait_q != '0) begin
      for (int unsigned c = DmaChannels; c > 0; c--) if (wait_q[c-1]) pick = ch_t'(c - 1);
    end
  end

  function automatic exact_t space_bytes(input logic [1:0] space);
    case (space)
      TPU_SPACE_HBM: return exact_t'(HbmBytes);
      TPU_SPACE_VMEM: return exact_t'(VmemBytes);
      default: return exact_t'(SmemBytes);
    endcase
  endfunction

  typedef struct packed {
    logic [7:0]  code;
    logic [31:0] detail0;
    logic [31:0] detail1;
  } fault_t;

  // Checks (1) and (2): fields.
  /* verilator lint_off UNUSEDSIGNAL */  // addresses, strides and pattern are none of its business
  function automatic fault_t field_fault(input tpu_dma_cmd_t c);
    /* verilator lint_on UNUSEDSIGNAL */
    fault_t f;
    f = '{TPU_ERROR_BAD_FIELD, 32'd0, 32'd0};
    if (c.mode_src_space == TPU_SPACE_ACC || c.mode_dst_space == TPU_SPACE_ACC ||
        c.mode_gather > Scatter) begin
      f.detail0 = 32'(TPU_DMA_MODE);
      f.detail1 = {25'd0, c.mode_gather, c.mode_fill, c.mode_dst_space, c.mode_src_space};
    end else if (c.mode_fill && c.valid_row > c.row_bytes) begin
      f.detail0 = 32'(TPU_DMA_VALID_ROW);
      f.detail1 = c.valid_row;
    end else if (c.mode_fill && (c.valid01_count0 > c.count01_count0 ||
                                 c.valid01_count1 > c.count01_count1)) begin
      f.detail0 = 32'(TPU_DMA_VALID01);
      f.detail1 = {c.valid01_count1, c.valid01_count0};
    end else if (c.mode_fill && c.valid2 > c.count2) begin
      f.detail0 = 32'(TPU_DMA_VALID2);
      f.detail1 = {16'd0, c.valid2};
    end else if (listed_rows(c) != '0 && c.bound == '0 && c.row_bytes != '0 &&
                 c.count01_count1 != '0 && c.count2 != '0) begin
      f.detail0 = 32'(TPU_DMA_BOUND);
    end else begin
      f.code = TPU_ERROR_NONE;
    end
    return f;
  endfunction

  // Checks (4) and (5): ranges.
  function automatic fault_t range_fault(input logic operand, input logic [1:0] space,
                                         input exact_t low, input exact_t high);
    fault_t f;
    f.code = (low < 0 || high > space_bytes(space)) ? TPU_ERROR_RANGE : TPU_ERROR_NONE;
    f.detail0 = {22'd0, space, 7'd0, operand};
    f.detail1 = (low < 0) ? low[31:0] : high[31:0];
    return f;
  endfunction

  logic [5:0] terms;  // products with a count of 1 are 0
  logic empty, fields_skip_src;
  fault_t fields, src_range, dst_range;
  logic [2:0] term;
  logic [24:0] count;
  logic [31:0] stride;
  exact_t product;

  // Each part computes only in the state that uses it.
  always_comb begin
    fields = '0;
    terms = '0;
    empty = 1'b0;
    fields_skip_src = 1'b0;
    if (state_q == Fields) begin
      fields = field_fault(cmd_q);
      empty = cmd_q.row_bytes == '0 || cmd_q.count01_count0 == '0 || cmd_q.count01_count1 == '0 ||
              cmd_q.count2 == '0;
      fields_skip_src = skips_source(cmd_q);
      terms[3] = cmd_q.mode_gather == Scatter ? cmd_q.bound != 24'd1 : cmd_q.count01_count0 != 16'd1;
      terms[4] = cmd_q.count01_count1 != 16'd1;
      terms[5] = cmd_q.count2 != 16'd1;
      if (!fields_skip_src) begin
        terms[0] = cmd_q.mode_gather == Gather ? cmd_q.bound != 24'd1 :
                   (cmd_q.mode_fill ? cmd_q.valid01_count0 : cmd_q.count01_count0) != 16'd1;
        terms[1] = (cmd_q.mode_fill ? cmd_q.valid01_count1 : cmd_q.count01_count1) != 16'd1;
        terms[2] = (cmd_q.mode_fill ? cmd_q.valid2 : cmd_q.count2) != 16'd1;
      end
    end
  end

  always_comb begin
    term = '0;
    count = '0;
    stride = '0;
    product = '0;
    if (state_q == Terms) begin
      for (int unsigned i = 6; i > 0; i--) if (terms_q[i-1]) term = 3'(i - 1);
      case (term)
        3'd0: count = {9'd0, cmd_q.mode_fill ? cmd_q.valid01_count0 : cmd_q.count01_count0};
        3'd1: count = {9'd0, cmd_q.mode_fill ? cmd_q.valid01_count1 : cmd_q.count01_count1};
        3'd2: count = {9'd0, cmd_q.mode_fill ? cmd_q.valid2 : cmd_q.count2};
        3'd3: count = {9'd0, cmd_q.count01_count0};
        3'd4: count = {9'd0, cmd_q.count01_count1};
        default: count = {9'd0, cmd_q.count2};
      endcase
      if (term == (cmd_q.mode_gather == Scatter ? 3'd3 : 3'd0) && cmd_q.mode_gather != '0) begin
        count = {1'b0, cmd_q.bound};
      end
      case (term)
        3'd0: stride = cmd_q.src_stride[0];
        3'd1: stride = cmd_q.src_stride[1];
        3'd2: stride = cmd_q.src_stride[2];
        3'd3: stride = cmd_q.dst_stride[0];
        3'd4: stride = cmd_q.dst_stride[1];
        default: stride = cmd_q.dst_stride[2];
      endcase
      product = exact_t'($signed(stride)) * exact_t'($signed(count - 25'd1));
    end
  end

  always_comb begin
    src_range = '0;
    dst_range = '0;
    if (state_q == Verdict) begin
      src_range = range_fault(1'b0, cmd_q.mode_src_space, src_low_q, src_high_q);
      dst_range = range_fault(1'b1, cmd_q.mode_dst_space, dst_low_q, dst_high_q);
      if (skip_src_q) src_range.code = TPU_ERROR_NONE;
    end
  end

  // Check (6): where the list is.
  fault_t list_place;
  logic [15:0] listed;
  logic [32:0] list_end;
  always_comb begin
    list_place = '0;
    listed = '0;
    list_end = '0;
    if (state_q == Verdict && cmd_q.mode_gather != '0) begin
      listed = listed_rows(cmd_q);
      list_end = {1'b0, cmd_q.index} + {15'd0, listed, 2'd0};
      if (listed != '0 && cmd_q.index[1:0] != '0) begin
        list_place = '{TPU_ERROR_ALIGN, 32'(TPU_DMA_INDEX), cmd_q.index};
      end else if (listed != '0 && list_end > 33'(SmemBytes)) begin
        list_place = '{TPU_ERROR_RANGE, {22'd0, TPU_SPACE_SMEM, 8'd2}, list_end[31:0]};
      end
    end
  end

  // Check (7): the indices. Beats are asked for until one holds a bad index or all have come;
  // list_left_q and list_at_q say what has not come yet.
  logic [SmemAddrW-1:0] list_addr_q;
  logic [15:0] ask_left_q, list_left_q, list_at_q;  // beats to ask for; indices
  logic [1:0] list_way_q;                           // granted, not answered
  logic [LaneW-1:0] list_lane_q;                    // where the list begins in its first beat
  fault_t list_fault_q, list_fault;
  logic list_last;
  logic [LaneW:0] lanes;  // indices of this beat
  always_comb begin
    list_fault = list_fault_q;
    lanes = '0;
    if (state_q == List && list_rsp_valid_i) begin
      lanes = (LaneW+1)'(BeatIndices) - (LaneW+1)'(list_lane_q);
      if (list_left_q < 16'(lanes)) lanes = list_left_q[LaneW:0];
      if (list_fault_q.code == TPU_ERROR_NONE) begin
        for (int unsigned i = BeatIndices; i > 0; i--) begin
          if (i - 1 >= 32'(list_lane_q) && i - 1 < 32'(list_lane_q) + 32'(lanes) &&
              list_rsp_data_i[32*(i-1)+:32] >= {8'd0, cmd_q.bound}) begin
            list_fault.code = TPU_ERROR_INDEX;
            list_fault.detail0 = 32'(list_at_q) + 32'(i - 1) - 32'(list_lane_q);
            list_fault.detail1 = list_rsp_data_i[32*(i-1)+:32];
          end
        end
      end
    end
  end
  assign list_valid_o = state_q == List && ask_left_q != '0 && list_way_q != '1 &&
                        list_fault_q.code == TPU_ERROR_NONE;
  assign list_addr_o = list_addr_q;
  assign list_last = list_way_q == '0 &&
                     (ask_left_q == '0 || list_fault_q.code != TPU_ERROR_NONE);

  // A faulty field or an empty command ends in Fields, one with a list in ListVerdict, the others
  // in Verdict.
  fault_t fault;
  logic to_list;
  assign to_list = state_q == Verdict && fault.code == TPU_ERROR_NONE && listed != '0;
  always_comb begin
    fault = '0;
    if (state_q == Fields) begin
      fault = fields;
    end else if (state_q == Verdict) begin
      fault = (src_range.code != TPU_ERROR_NONE) ? src_range :
              (dst_range.code != TPU_ERROR_NONE) ? dst_range : list_place;
    end else if (state_q == ListVerdict) begin
      fault = list_fault_q;
    end
  end
  assign empty_o = state_q == Fields;
  assign valid_o = (state_q == Verdict && !to_list) || state_q == ListVerdict ||
                   (state_q == Fields && (fields.code != TPU_ERROR_NONE || empty));
  assign owner_o = owner_q;
  assign prio_o = prio_q;
  assign cmd_o = cmd_q;
  assign code_o = fault.code;
  assign detail0_o = fault.detail0;
  assign detail1_o = fault.detail1;

  always_ff @(posedge clk_i) begin
    if (start_i != '0) begin
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        if (start_i[c]) begin
          wait_cmd_q[c]  <= cmd_i[c];
          wait_prio_q[c] <= prio_i[c];
          wait_slot_q[c] <= slot_i[c];
        end
      end
    end
    case (state_q)
      Idle: begin
        if (wait_q != '0) begin
          cmd_q   <= wait_cmd_q[pick];
          prio_q  <= wait_prio_q[pick];
          owner_q <= '{pick, wait_slot_q[pick]};
        end
      end
      Fields: begin
        src_low_q  <= exact_t'(cmd_q.src);
        src_high_q <= exact_t'(cmd_q.src) +
                      (cmd_q.mode_fill ? exact_t'(cmd_q.valid_row) : exact_t'(cmd_q.row_bytes));
        dst_low_q  <= exact_t'(cmd_q.dst);
        dst_high_q <= exact_t'(cmd_q.dst) + exact_t'(cmd_q.row_bytes);
        skip_src_q <= fields_skip_src;
      end
      Terms: begin
        if (term < 3'd3) begin
          if (product[Exact-1]) src_low_q <= src_low_q + product;
          else src_high_q <= src_high_q + product;
        end else begin
          if (product[Exact-1]) dst_low_q <= dst_low_q + product;
          else dst_high_q <= dst_high_q + product;
        end
      end
      Verdict: begin
        list_addr_q  <= cmd_q.index[OffW+:SmemAddrW];
        list_lane_q  <= cmd_q.index[OffW-1:2];
        ask_left_q   <= 16'((17'(cmd_q.index[OffW-1:2]) + 17'(listed) + 17'(BeatIndices - 1)) >>
                            LaneW);
        list_left_q  <= listed;
        list_at_q    <= '0;
        list_fault_q <= '0;
      end
      List: begin
        if (list_valid_o && list_gnt_i) begin
          list_addr_q <= list_addr_q + 1'b1;
          ask_left_q  <= ask_left_q - 16'd1;
        end
        if (list_rsp_valid_i) begin
          list_lane_q  <= '0;
          list_left_q  <= list_left_q - 16'(lanes);
          list_at_q    <= list_at_q + 16'(lanes);
          list_fault_q <= list_fault;
        end
      end
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) begin
      wait_q     <= '0;
      state_q    <= Idle;
      list_way_q <= '0;
      terms_q <= '0;
    end else begin
      wait_q <= wait_q | start_i;
      case (state_q)
        Idle: begin
          if (wait_q != '0) begin
            wait_q[pick] <= start_i[pick];
            state_q <= Fields;
          end
        end
        Fields: begin
          terms_q <= terms;
          state_q <= valid_o ? Idle : (terms == '0) ? Verdict : Terms;
        end
        Terms: begin
          terms_q <= terms_q & (terms_q - 6'd1);
          if ((terms_q & (terms_q - 6'd1)) == '0) state_q <= Verdict;
        end
        Verdict: state_q <= to_list ? List : Idle;
        List: begin
          list_way_q <= list_way_q + 2'(list_valid_o && list_gnt_i) - 2'(list_rsp_valid_i);
          if (list_last) state_q <= ListVerdict;
        end
        default: state_q <= Idle;
      endcase
    end
  end

endmodule
