// SPDX-License-Identifier: MIT
//
// Books of the started commands: four slots a channel, completed in the order of their start.
//
// Movers and HBM write responses report commands in any order; a channel offers its oldest one to
// the front end when that is done or has failed. Errors:
// - A failed start check closes the channel (nothing starts behind it) and waits for its turn.
// - A bus error also stops what the channel has in flight (kill_o); an error of an older command,
//   whose write response came later, takes its place.
// After an error has been reported the channel is empty and stays closed until clear_i.
//
// A channel is closed for new commands while its last one is being checked.
//
// pend_hbm_o and pend_local_o (commands that move, by source) keep the writes of one channel in
// order although HBM and local sources have movers of their own.

module tpu_dma_order
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         abort_i,
  input  logic                         clear_i,

  input  ch_mask_t                     start_i,
  output ch_mask_t                     ready_o,
  output slot_t [DmaChannels-1:0]      slot_o,      // slot of a command started now
  output ch_mask_t                     occupied_o,
  output ch_mask_t                     failed_o,    // an error is known, reported or not
  output ch_mask_t                     kill_o,      // a bus error

  output ch_mask_t                     done_valid_o,
  input  ch_mask_t                     done_ready_i,
  output logic [DmaChannels-1:0][7:0]  done_code_o,
  output logic [DmaChannels-1:0][31:0] done_detail0_o,
  output logic [DmaChannels-1:0][31:0] done_detail1_o,
  output logic [DmaChannels-1:0][47:0] done_bytes_o,

  // Checked.
  input  logic                         checked_i,
  input  owner_t                       checked_owner_i,
  input  logic [7:0]                   checked_code_i,
  input  logic [31:0]                  checked_detail0_i,
  input  logic [31:0]                  checked_detail1_i,
  // Begins to move; all its segments are on their way.
  input  logic                         load_i,
  input  logic                         load_local_i,
  input  owner_t                       load_owner_i,
  input  logic                         issued_i,
  input  owner_t                       issued_owner_i,
  input  logic [47:0]                  issued_bytes_i,
  output ch_mask_t                     pend_hbm_o,
  output ch_mask_t                     pend_local_o,
  // All its bytes have landed: moved by the HBM mover, by the local mover, answered by HBM, nothing
  // to do.
  input  logic                         landed_from_hbm_i,
  input  owner_t                       landed_from_hbm_owner_i,
  input  logic                         landed_from_local_i,
  input  owner_t                       landed_from_local_owner_i,
  input  logic                         landed_answer_i,
  input  owner_t                       landed_answer_owner_i,
  input  logic                         landed_empty_i,
  input  owner_t                       landed_empty_owner_i,
  // Bus errors.
  input  logic                         read_error_i,
  input  owner_t                       read_error_owner_i,
  input  logic [31:0]                  read_error_addr_i,
  input  logic                         write_error_i,
  input  owner_t                       write_error_owner_i,
  input  logic [31:0]                  write_error_addr_i
);

  // A bit a slot, indexed by owner.
  typedef logic [DmaChannels*Slots-1:0] slots_t;

  slots_t used_q, head_q, landed_q, moving_q, local_q;  // head_q: the oldest slot of each channel
  slot_t [DmaChannels-1:0] head_slot_q, tail_slot_q;
  ch_mask_t checking_q, failed_q, reported_q, kill_q, done_valid_q, open_q;
  slot_t fault_slot_q[DmaChannels];
  logic [7:0] fault_code_q[DmaChannels];
  logic [31:0] fault_detail0_q[DmaChannels], fault_detail1_q[DmaChannels];
  logic [DmaChannels-1:0][7:0] done_code_q;
  logic [DmaChannels-1:0][31:0] done_detail0_q, done_detail1_q;
  logic [DmaChannels-1:0][47:0] done_bytes_q;
  logic [47:0] bytes_q[DmaChannels*Slots];

  // One bit a channel: has any of these slots.
  function automatic ch_mask_t any_slot(input slots_t s);
    ch_mask_t r;
    for (int unsigned c = 0; c < DmaChannels; c++) r[c] = s[c*Slots+:Slots] != '0;
    return r;
  endfunction

  // What has landed, including this cycle.
  function automatic slots_t landed_now();
    slots_t r;
    r = landed_q;
    if (landed_from_hbm_i) r[landed_from_hbm_owner_i] = 1'b1;
    if (landed_from_local_i) r[landed_from_local_owner_i] = 1'b1;
    if (landed_answer_i) r[landed_answer_owner_i] = 1'b1;
    if (landed_empty_i) r[landed_empty_owner_i] = 1'b1;
    return r;
  endfunction

  ch_mask_t occupied, full, moves_hbm, moves_local;
  always_comb begin
    occupied = '0;
    full = '0;
    moves_hbm = '0;
    moves_local = '0;
    if (used_q != '0) begin
      occupied = any_slot(used_q);
      full = ~any_slot(~used_q);
      moves_hbm = any_slot(moving_q & ~local_q & ~landed_q);
      moves_local = any_slot(moving_q & local_q & ~landed_q);
    end
  end

  // The fault of a cycle, one a channel. A write's command is never younger than a read's that
  // fails in the same cycle, nor that one's than a command in the checker: the last assignment is
  // the oldest. A fault of a younger command than the one that has failed already does not count.
  logic any_fault;
  ch_mask_t fault, read_fault, write_fault;
  assign any_fault = read_error_i || write_error_i ||
                     (checked_i && checked_code_i != TPU_ERROR_NONE);

  // Slot of a channel's fault of this cycle.
  function automatic slot_t fault_slot(input logic read, input logic write);
    return write ? write_error_owner_i.slot : read ? read_error_owner_i.slot : checked_owner_i.slot;
  endfunction

  always_comb begin
    fault = '0;
    read_fault = '0;
    write_fault = '0;
    if (any_fault) begin
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        read_fault[c] = read_error_i && read_error_owner_i.ch == ch_t'(c);
        write_fault[c] = write_error_i && write_error_owner_i.ch == ch_t'(c);
        fault[c] = read_fault[c] || write_fault[c] ||
                   (checked_i && checked_code_i != TPU_ERROR_NONE &&
                    checked_owner_i.ch == ch_t'(c));
        if (failed_q[c] && slot_t'(fault_slot(read_fault[c], write_fault[c]) - head_slot_q[c]) >=
                           slot_t'(fault_slot_q[c] - head_slot_q[c])) begin
          fault[c] = 1'b0;
        end
      end
    end
  end

  assign ready_o = open_q;
  assign slot_o = tail_slot_q;
  assign occupied_o = occupied;
  assign failed_o = failed_q;
  assign kill_o = kill_q;
  assign pend_hbm_o = moves_hbm;
  assign pend_local_o = moves_local;
  assign done_valid_o = done_valid_q;
  assign done_code_o = done_code_q;
  assign done_detail0_o = done_detail0_q;
  assign done_detail1_o = done_detail1_q;
  assign done_bytes_o = done_bytes_q;

  localparam slots_t FirstSlots = {DmaChannels{Slots'(1)}};

  always_ff @(posedge clk_i) begin
    if (any_fault) begin
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        if (fault[c] && !reported_q[c]) begin
          fault_slot_q[c]    <= fault_slot(read_fault[c], write_fault[c]);
          fault_code_q[c]    <= (read_fault[c] || write_fault[c]) ? TPU_ERROR_BUS : checked_code_i;
          fault_detail0_q[c] <= write_fault[c] ? 32'd1 : read_fault[c] ? 32'd0 : checked_detail0_i;
          fault_detail1_q[c] <= write_fault[c] ? write_error_addr_i :
                                read_fault[c] ? read_error_addr_i : checked_detail1_i;
        end
      end
    end
    if (issued_i) bytes_q[issued_owner_i] <= issued_bytes_i;
  end

  // Channels that can offer their oldest command: it has landed, or has failed.
  function automatic ch_mask_t over_now(input slots_t landed);
    ch_mask_t r;
    r = any_slot(landed & head_q & used_q) & ~done_valid_q;
    if (failed_q != '0) begin
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        if (failed_q[c] && fault_slot_q[c] == head_slot_q[c]) begin
          r[c] = occupied[c] && !done_valid_q[c];
        end
      end
    end
    return r;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i || clear_i) begin
      used_q       <= '0;
      moving_q     <= '0;
      head_q       <= FirstSlots;
      head_slot_q  <= '0;
      tail_slot_q  <= '0;
      checking_q   <= '0;
      done_valid_q <= '0;
      open_q       <= (rst_ni && !abort_i) ? '1 : '0;
      if (!rst_ni || clear_i) begin
        failed_q   <= '0;
        reported_q <= '0;
        kill_q     <= '0;
      end
    end else if (used_q != '0 || start_i != '0 || open_q != '1) begin
      automatic slots_t landed = landed_now();
      automatic ch_mask_t over = over_now(landed);
      landed_q     <= landed;
      failed_q     <= failed_q | (fault & ~reported_q);
      kill_q       <= kill_q | ((read_fault | write_fault) & ~reported_q);
      done_valid_q <= (done_valid_q & ~done_ready_i) | over;
      // Closed: being checked, four inside, failed.
      open_q <= ~(start_i | full | failed_q | fault | checking_q);
      if (over != '0) begin
        for (int unsigned c = 0; c < DmaChannels; c++) begin
          if (over[c]) begin
            done_code_q[c]    <= TPU_ERROR_NONE;
            done_detail0_q[c] <= '0;
            done_detail1_q[c] <= '0;
            done_bytes_q[c]   <= bytes_q[{ch_t'(c), head_slot_q[c]}];
            if (failed_q[c] && fault_slot_q[c] == head_slot_q[c]) begin
              done_code_q[c]    <= fault_code_q[c];
              done_detail0_q[c] <= fault_detail0_q[c];
              done_detail1_q[c] <= fault_detail1_q[c];
              done_bytes_q[c]   <= '0;
            end
          end
        end
      end
      if (checked_i) begin
        checking_q[checked_owner_i.ch] <= 1'b0;
        if (!full[checked_owner_i.ch] && !failed_q[checked_owner_i.ch] &&
            !fault[checked_owner_i.ch]) begin
          open_q[checked_owner_i.ch] <= 1'b1;
        end
      end
      if (load_i) begin
        moving_q[load_owner_i] <= 1'b1;
        local_q[load_owner_i]  <= load_local_i;
      end
      if (start_i != '0) begin
        for (int unsigned c = 0; c < DmaChannels; c++) begin
          if (start_i[c]) begin
            tail_slot_q[c] <= tail_slot_q[c] + 1'b1;
            checking_q[c] <= 1'b1;
            used_q[{ch_t'(c), tail_slot_q[c]}] <= 1'b1;
            landed_q[{ch_t'(c), tail_slot_q[c]}] <= 1'b0;
          end
        end
      end
      if ((done_valid_q & done_ready_i) != '0) begin
        for (int unsigned c = 0; c < DmaChannels; c++) begin
          if (done_valid_q[c] && done_ready_i[c]) begin
            head_slot_q[c] <= head_slot_q[c] + 1'b1;
            head_q[c*Slots+:Slots] <= {head_q[c*Slots+:Slots-1], head_q[c*Slots+Slots-1]};
            used_q[{ch_t'(c), head_slot_q[c]}] <= 1'b0;
            moving_q[{ch_t'(c), head_slot_q[c]}] <= 1'b0;
            if (done_code_q[c] != TPU_ERROR_NONE) begin
              used_q[c*Slots+:Slots] <= '0;
              moving_q[c*Slots+:Slots] <= '0;
              reported_q[c] <= 1'b1;
            end
          end
        end
      end
    end
  end

endmodule
