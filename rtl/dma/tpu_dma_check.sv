// SPDX-License-Identifier: MIT
//
// Start checks of DMA commands (docs/contract.md section 3), one command at a time.
//
// A started command waits in its channel's register until the checker takes it. Ranges are exact: a
// product of a stride and a count, and the sum of three of them and a base, fit in 52 bits. One
// multiplier does one product a cycle and dimensions of count 1 are skipped, so that a plain copy
// is checked in two cycles and the worst command in eight. All of it hides behind the command
// before.
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
  output logic [31:0]                    detail1_o
);

  localparam int unsigned Exact = 52;
  typedef logic signed [Exact-1:0] exact_t;

  typedef enum logic [1:0] {Idle, Fields, Terms, Verdict} state_e;

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
        c.mode_gather != '0) begin
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
  logic [16:0] count;
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
      fields_skip_src = cmd_q.mode_fill && (cmd_q.valid_row == '0 || cmd_q.valid01_count0 == '0 ||
                                            cmd_q.valid01_count1 == '0 || cmd_q.valid2 == '0);
      terms[3] = cmd_q.count01_count0 != 16'd1;
      terms[4] = cmd_q.count01_count1 != 16'd1;
      terms[5] = cmd_q.count2 != 16'd1;
      if (!fields_skip_src) begin
        terms[0] = (cmd_q.mode_fill ? cmd_q.valid01_count0 : cmd_q.count01_count0) != 16'd1;
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
        3'd0: count = {1'b0, cmd_q.mode_fill ? cmd_q.valid01_count0 : cmd_q.count01_count0};
        3'd1: count = {1'b0, cmd_q.mode_fill ? cmd_q.valid01_count1 : cmd_q.count01_count1};
        3'd2: count = {1'b0, cmd_q.mode_fill ? cmd_q.valid2 : cmd_q.count2};
        3'd3: count = {1'b0, cmd_q.count01_count0};
        3'd4: count = {1'b0, cmd_q.count01_count1};
        default: count = {1'b0, cmd_q.count2};
      endcase
      case (term)
        3'd0: stride = cmd_q.src_stride[0];
        3'd1: stride = cmd_q.src_stride[1];
        3'd2: stride = cmd_q.src_stride[2];
        3'd3: stride = cmd_q.dst_stride[0];
        3'd4: stride = cmd_q.dst_stride[1];
        default: stride = cmd_q.dst_stride[2];
      endcase
      product = exact_t'($signed(stride)) * exact_t'($signed(count - 17'd1));
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

  // A faulty field or an empty command ends in Fields, the others in Verdict.
  fault_t fault;
  always_comb begin
    fault = '0;
    if (state_q == Fields) fault = fields;
    else if (state_q == Verdict) fault = (src_range.code != TPU_ERROR_NONE) ? src_range : dst_range;
  end
  assign empty_o = state_q == Fields;
  assign valid_o = state_q == Verdict ||
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
      default: ;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) begin
      wait_q  <= '0;
      state_q <= Idle;
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
        default: state_q <= Idle;
      endcase
    end
  end

endmodule
