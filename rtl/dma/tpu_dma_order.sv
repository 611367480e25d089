// SPDX-License-Identifier: MIT
//
// Books of the started commands: four slots a channel, completed in the order of their start.
//
// Movers and HBM write responses report commands in any order; a channel offers its oldest one to the
// front end when that is done or has failed. Errors:
// - A failed start check closes the channel (nothing starts behind it) and waits for its turn.
// - A bus error also stops what the channel has in flight (kill_o); an error of an older command,
//   whose write response came later, takes its place.
// After an error has been reported the channel is empty and stays closed until clear_i.
//
// A channel is closed for new commands while its last one is being checked.
//
// pend_hbm_o and pend_local_o (commands that move, by source) keep the writes of one channel in order
// although HBM and local sources have movers of their own.

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
  // All its bytes have landed: HBM mover, local mover, write responses, empty commands.
  input  logic [3:0]                   landed_i,
  input  owner_t [3:0]                 landed_owner_i,
  // Bus errors: 0 read, 1 write.
  input  logic [1:0]                   bus_error_i,
  input  owner_t [1:0]                 bus_error_owner_i,
  input  logic [1:0][31:0]             bus_error_addr_i
);

  typedef logic [DmaChannels-1:0][Slots-1:0] slots_t;

  slot_t [DmaChannels-1:0] head_q, tail_q;
  logic [DmaChannels-1:0][SlotW:0] count_q;
  ch_mask_t checking_q, failed_q, reported_q, kill_q, done_valid_q, open_q;
  slots_t landed_q, moving_q, local_q;
  slot_t [DmaChannels-1:0] fault_slot_q;
  logic [DmaChannels-1:0][7:0] fault_code_q, done_code_q;
  logic [DmaChannels-1:0][31:0] fault_detail0_q, fault_detail1_q, done_detail0_q, done_detail1_q;
  logic [DmaChannels-1:0][47:0] done_bytes_q;
  logic [47:0] bytes_q[DmaChannels*Slots];

  slots_t landed_now;  // including this cycle
  ch_mask_t occupied;
  always_comb begin
    landed_now = landed_q;
    if (landed_i != '0) begin
      for (int unsigned e = 0; e < 4; e++) begin
        if (landed_i[e]) landed_now[landed_owner_i[e].ch][landed_owner_i[e].slot] = 1'b1;
      end
    end
    for (int unsigned c = 0; c < DmaChannels; c++) begin
      occupied[c]     = count_q[c] != '0;
      pend_hbm_o[c]   = (moving_q[c] & ~local_q[c] & ~landed_q[c]) != '0;
      pend_local_o[c] = (moving_q[c] & local_q[c] & ~landed_q[c]) != '0;
    end
  end

  // The first fault of a cycle for each channel, and whether it replaces the one that is known.
  ch_mask_t fault, fault_bus;
  slot_t [DmaChannels-1:0] fault_slot;
  logic [DmaChannels-1:0][7:0] fault_code;
  logic [DmaChannels-1:0][31:0] fault_detail0, fault_detail1;
  always_comb begin
    fault = '0;
    fault_bus = '0;
    fault_slot = '0;
    fault_code = '0;
    fault_detail0 = '0;
    fault_detail1 = '0;
    if (bus_error_i != '0 || (checked_i && checked_code_i != TPU_ERROR_NONE)) begin
      if (checked_i && checked_code_i != TPU_ERROR_NONE) begin
        fault[checked_owner_i.ch] = 1'b1;
        fault_slot[checked_owner_i.ch] = checked_owner_i.slot;
        fault_code[checked_owner_i.ch] = checked_code_i;
        fault_detail0[checked_owner_i.ch] = checked_detail0_i;
        fault_detail1[checked_owner_i.ch] = checked_detail1_i;
      end
      // A write's command is never younger than a read's that fails in the same cycle, nor that
      // one's than a command in the checker: the last assignment is the oldest command.
      for (int unsigned e = 0; e < 2; e++) begin
        if (bus_error_i[e]) begin
          fault[bus_error_owner_i[e].ch] = 1'b1;
          fault_bus[bus_error_owner_i[e].ch] = 1'b1;
          fault_slot[bus_error_owner_i[e].ch] = bus_error_owner_i[e].slot;
          fault_code[bus_error_owner_i[e].ch] = TPU_ERROR_BUS;
          fault_detail0[bus_error_owner_i[e].ch] = 32'(e);
          fault_detail1[bus_error_owner_i[e].ch] = bus_error_addr_i[e];
        end
      end
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        if (failed_q[c] && slot_t'(fault_slot[c] - head_q[c]) >= slot_t'(fault_slot_q[c] - head_q[c])) begin
          fault[c] = 1'b0;
        end
      end
    end
  end

  assign ready_o = open_q;
  assign slot_o = tail_q;
  assign occupied_o = occupied;
  assign failed_o = failed_q;
  assign kill_o = kill_q;
  assign done_valid_o = done_valid_q;
  assign done_code_o = done_code_q;
  assign done_detail0_o = done_detail0_q;
  assign done_detail1_o = done_detail1_q;
  assign done_bytes_o = done_bytes_q;

  always_ff @(posedge clk_i) begin
    if (issued_i) bytes_q[issued_owner_i] <= issued_bytes_i;
    if (!rst_ni || abort_i || clear_i) begin
      head_q <= '0;
      tail_q <= '0;
      count_q <= '0;
      checking_q <= '0;
      moving_q <= '0;
      done_valid_q <= '0;
      open_q <= (rst_ni && !abort_i) ? '1 : '0;
      if (!rst_ni || clear_i) begin
        failed_q <= '0;
        reported_q <= '0;
        kill_q <= '0;
      end
    end else begin
      landed_q <= landed_now;
      kill_q <= kill_q | (fault_bus & ~reported_q);
      if (checked_i) checking_q[checked_owner_i.ch] <= 1'b0;
      if (load_i) begin
        moving_q[load_owner_i.ch][load_owner_i.slot] <= 1'b1;
        local_q[load_owner_i.ch][load_owner_i.slot] <= load_local_i;
      end
      for (int unsigned c = 0; c < DmaChannels; c++) begin
        if (start_i[c]) begin
          tail_q[c] <= tail_q[c] + 1'b1;
          checking_q[c] <= 1'b1;
          landed_q[c][tail_q[c]] <= 1'b0;
          moving_q[c][tail_q[c]] <= 1'b0;
        end
        if (fault[c] && !reported_q[c]) begin
          failed_q[c] <= 1'b1;
          fault_slot_q[c] <= fault_slot[c];
          fault_code_q[c] <= fault_code[c];
          fault_detail0_q[c] <= fault_detail0[c];
          fault_detail1_q[c] <= fault_detail1[c];
        end
        count_q[c] <= count_q[c] + (SlotW+1)'(start_i[c]);
        if (done_valid_q[c]) begin
          if (done_ready_i[c]) begin
            done_valid_q[c] <= 1'b0;
            head_q[c] <= head_q[c] + 1'b1;
            count_q[c] <= count_q[c] + (SlotW+1)'(start_i[c]) - 1'b1;
            moving_q[c][head_q[c]] <= 1'b0;
            if (done_code_q[c] != TPU_ERROR_NONE) begin
              count_q[c] <= '0;
              moving_q[c] <= '0;
              reported_q[c] <= 1'b1;
            end
          end
        end else if (occupied[c] && (landed_now[c][head_q[c]] || (failed_q[c] && fault_slot_q[c] == head_q[c]))) begin
          done_valid_q[c] <= 1'b1;
          if (failed_q[c] && fault_slot_q[c] == head_q[c]) begin
            done_code_q[c] <= fault_code_q[c];
            done_detail0_q[c] <= fault_detail0_q[c];
            done_detail1_q[c] <= fault_detail1_q[c];
            done_bytes_q[c] <= '0;
          end else begin
            done_code_q[c] <= TPU_ERROR_NONE;
            done_detail0_q[c] <= '0;
            done_detail1_q[c] <= '0;
            done_bytes_q[c] <= bytes_q[{ch_t'(c), head_q[c]}];
          end
        end
        // Closed: being checked, four inside, failed.
        open_q[c] <= !(start_i[c] || (checking_q[c] && !(checked_i && checked_owner_i.ch == ch_t'(c)))) &&
                     count_q[c] != (SlotW+1)'(Slots) && !failed_q[c] && !fault[c];
      end
    end
  end

endmodule
