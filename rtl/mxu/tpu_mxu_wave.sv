// SPDX-License-Identifier: MIT
//
// Timing of the array: when an operand row may enter, when a weight line may be written, when
// everything must hold.
//
// Tiles are numbered in order; tile t uses weight bank t mod 2. Two counters follow a tile through
// the array: `cnt` counts the enabled cycles since its first row entered (0 in that cycle). In cycle
// cnt = d the wave front needs line d; the last row of the tile before lets go of its line d, at the
// latest, in cycle cnt = d + Dim - 1. So
//   * line d of tile t may be written once tile t-1 has entered and its cnt is d + Dim - 1 (in that
//     very cycle only if the array advances);
//   * the array holds (en_o low) while the front needs a line that is not there. This is how a late
//     weight costs exactly the cycles it is late, and the first tile of a lone command starts with
//     its first line, not its last;
//   * tiles enter at least Dim cycles apart, without a rule of its own: line 0 comes no earlier. The
//     accumulator relies on that distance between two additions to one row.
// So a tile costs max(M, Dim) cycles when the memory keeps up.
// A tile of the other type enters when the array is empty.

module tpu_mxu_wave
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              flush_i,

  // Weight lines, in order, Dim a tile.
  input  logic              w_valid_i,
  output logic              w_ready_o,
  output logic              w_bank_o,
  output logic [DimLog-1:0] w_idx_o,

  // Operand rows.
  input  logic              row_valid_i,
  output logic              row_ready_o,
  input  logic              row_first_i,
  input  logic              row_int8_i,
  output logic              row_bank_o,

  // Array.
  input  logic              array_busy_i,
  input  logic              array_int8_i,  // type of the rows inside
  input  logic              out_stall_i,   // a result row cannot leave
  output logic              wave_ok_o,     // no weight line is missing
  output logic              en_o,          // advance
  output logic              weight_wait_o  // the front, or the next tile, waits for weights
);

  localparam int unsigned StepW = DimLog + 2;
  localparam logic [StepW-1:0] StepMax = StepW'(2 * Dim);

  logic [1:0]            w_tile_q;   // tile being written, modulo 4
  logic [DimLog-1:0]     w_line_q;   // its lines written so far
  logic [1:0]            e_tile_q;   // next tile to enter, modulo 4
  logic [1:0][StepW-1:0] cnt_q;      // per bank

  logic [1:0]            diff;
  logic                  w_fire, enter, tile_there, type_ok;
  logic [StepW-1:0]      free_at, w_cnt, front;

  // e - w: 0: the tile being written is the next to enter; 1: it has entered; 3: it is the one after.
  assign diff = e_tile_q - w_tile_q;

  // ---- weights ----

  assign w_bank_o = w_tile_q[0];
  assign w_idx_o  = w_line_q;
  assign free_at  = StepW'(w_line_q) + StepW'(Dim - 1);
  assign w_cnt    = w_bank_o ? cnt_q[0] : cnt_q[1];
  assign w_ready_o = ~diff[1] & ((w_cnt > free_at) | ((w_cnt == free_at) & en_o));
  assign w_fire   = w_valid_i & w_ready_o;

  // ---- rows ----

  assign front         = e_tile_q[0] ? cnt_q[0] : cnt_q[1];
  assign wave_ok_o     = (diff != 2'd1) | (StepW'(w_line_q) > front);
  assign en_o          = wave_ok_o & ~out_stall_i;
  assign tile_there    = (diff == 2'd3) | ((diff == 2'd0) & (w_line_q != '0));
  assign type_ok       = ~array_busy_i | (array_int8_i == row_int8_i);
  assign row_ready_o   = en_o & (~row_first_i | (tile_there & type_ok));
  assign enter         = row_valid_i & row_ready_o & row_first_i;
  // Rows after the first belong to the latest tile.
  assign row_bank_o    = row_first_i ? e_tile_q[0] : ~e_tile_q[0];
  assign weight_wait_o = ~wave_ok_o | (row_valid_i & row_first_i & ~tile_there);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      w_tile_q <= '0;
      w_line_q <= '0;
      e_tile_q <= '0;
      cnt_q    <= {2{StepMax}};
    end else begin
      if (w_fire) begin
        w_line_q <= w_line_q + 1'b1;
        if (w_line_q == DimLog'(Dim - 1)) w_tile_q <= w_tile_q + 2'd1;
      end
      if (enter) e_tile_q <= e_tile_q + 2'd1;
      for (int unsigned b = 0; b < 2; b++) begin
        if (enter && e_tile_q[0] == b[0]) cnt_q[b] <= StepW'(1);
        else if (en_o && cnt_q[b] != StepMax) cnt_q[b] <= cnt_q[b] + StepW'(1);
      end
    end
  end

endmodule
