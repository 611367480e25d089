// SPDX-License-Identifier: MIT
//
// Moves across lanes and sublanes, and random bits: the part of the cross-lane pipe that is not a
// reduction. tpu_vpu_red reads rows, hands them over here and queues what comes back.
//
// ROT_LANE, BC_LANE: a row in, a row out one cycle later.
//
// ROT_SUB, BC_SUB, TRANSPOSE need all rows of a tile (a VREG, or with 16 lanes a pair of them for
// TRANSPOSE) before the first can leave. There are two halves: one fills while the other drains, so
// tiles follow each other without a bubble. A tile may start to fill a half whose last three rows are
// about to leave, because its first row is written three cycles after it is read; the queue behind
// must have room for them then, as a draining half stops when the queue is full.
//
// RAND: Threefry-2x32 takes five times four rounds. One group of four is built, for a whole row, and a
// row goes through it five times: 40 cycles a VREG for a fifth of the adders.

module tpu_vpu_xlu
  import tpu_config_pkg::*;
  import tpu_vpu_pkg::*;
  import tpu_vpu_row_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        flush_i,
  output logic        busy_o,      // a row is here

  // Tiles: may a new one be read; its first row is read in this cycle.
  output logic        tile_room_o,
  input  logic        tile_take_i,

  // A row, two cycles after it was read; rows of a tile in order.
  input  logic        row_i,
  input  move_e       op_i,
  input  logic        pair_i,      // of a tile of two VREGs: rows 0, 8, 1, 9 ..
  input  logic [4:0]  n_i,
  input  logic        rd_a_i,      // a_i, else sa_i in every lane
  input  logic [31:0] sa_i,
  input  row_t        a_i,

  // Random bits: start a row with counters (x0_i, x1_i + lane) under a key.
  output logic        rand_ready_o,
  input  logic        rand_i,
  input  logic [31:0] key0_i,
  input  logic [31:0] key1_i,
  input  logic [31:0] x0_i,
  input  logic [31:0] x1_i,

  // To the queue: a row, and how many rows it holds.
  output logic        push_o,
  output row_t        row_o,
  input  logic [4:0]  count_i
);

  localparam int unsigned Rows = (Lanes > 8) ? Lanes : 8;
  localparam int unsigned RowBits = $clog2(Rows);
  localparam int unsigned Depth = 16;  // of the queue
  typedef logic [RowBits-1:0] index_t;

  // -----------------------------------------------------------------------------------------------
  // Tiles. Rows are stored at their number in the tile; fill_k_q and drain_k_q count in the order in which
  // rows are read and written: pairs interleave their VREGs.

  row_t       tile_q[2*Rows];
  logic       fill_q, drain_q;     // the half
  index_t     fill_k_q, drain_k_q;
  logic [1:0] full_q, taken_q;     // halves; taken: 0 .. 2
  move_e      op_q[2];
  logic       pair_q[2];
  logic [2:0] n_q[2];

  logic   tile_row, fill_last, drain, drain_last;
  index_t last_fill, last_drain;

  function automatic index_t last_of(input logic pair);
    return pair ? index_t'(Rows - 1) : index_t'(4'd7);
  endfunction

  // Row number of the k-th row.
  function automatic index_t row_of(input logic pair, input index_t k);
    return pair ? {k[0], k[RowBits-1:1]} : k;
  endfunction

  // First row of the LANES x LANES tile that row r is in: only 4 lanes have more than one.
  function automatic index_t tile_base(input index_t r);
    return (Lanes < 8) ? (r & ~index_t'(Lanes - 1)) : '0;
  endfunction

  assign tile_row   = row_i & (op_i inside {MoveRotSub, MoveBcSub, MoveTranspose});
  assign last_fill  = last_of(pair_i);
  assign fill_last  = tile_row & (fill_k_q == last_fill);
  assign last_drain = last_of(pair_q[drain_q]);
  assign drain      = full_q[drain_q] & ((count_i + 5'(push_o)) < 5'(Depth));
  assign drain_last = drain & (drain_k_q == last_drain);

  assign tile_room_o = (taken_q != 2'd2)
      | (full_q[drain_q] & (drain_k_q >= last_drain - index_t'(2'd2)) & (count_i < 5'(Depth - 4)));

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      fill_q    <= 1'b0;
      drain_q   <= 1'b0;
      fill_k_q  <= '0;
      drain_k_q <= '0;
      full_q    <= '0;
      taken_q   <= '0;
    end else begin
      taken_q <= taken_q + 2'(tile_take_i) - 2'(drain_last);
      if (drain) drain_k_q <= drain_last ? '0 : drain_k_q + 1'b1;
      if (drain_last) begin
        drain_q         <= ~drain_q;
        full_q[drain_q] <= 1'b0;
      end
      if (tile_row) fill_k_q <= fill_last ? '0 : fill_k_q + 1'b1;
      if (fill_last) begin
        fill_q         <= ~fill_q;
        full_q[fill_q] <= 1'b1;
      end
    end
    if (tile_row) begin : fill
      row_t x;
      x = a_i;
      if (!rd_a_i) row_splat(sa_i, x);
      tile_q[{fill_q, row_of(pair_i, fill_k_q)}] <= x;
    end
    if (fill_last) begin
      op_q[fill_q]   <= op_i;
      pair_q[fill_q] <= pair_i;
      n_q[fill_q]    <= n_i[2:0];
    end
  end

  // -----------------------------------------------------------------------------------------------
  // Random bits.

  logic [2:0]  group_q;            // 1 .. 5, 0: nothing
  logic [31:0] key_q[3];           // of the next injection and the one after it, and the third
  row_t        x0_q, x1_q;

  assign rand_ready_o = (group_q == 3'd0) | (group_q == 3'd5);

  // Four rounds and an injection, with the rotations of odd or of even groups.
  function automatic void threefry(input logic [31:0] k_odd, input logic [31:0] inject0,
                                   input logic [31:0] inject1, input row_t a0, input row_t a1,
                                   output row_t r0, output row_t r1);
    /* verilator no_inline_task */
    row_t y0, y1;
    logic [31:0] x0, x1;
    for (int unsigned l = 0; l < Lanes; l++) begin
      x0 = a0[l*32+:32] + a1[l*32+:32];
      x1 = a1[l*32+:32];
      x1 = (({x1[18:0], x1[31:19]} & k_odd) | ({x1[14:0], x1[31:15]} & ~k_odd)) ^ x0;
      x0 = x0 + x1;
      x1 = (({x1[16:0], x1[31:17]} & k_odd) | ({x1[2:0], x1[31:3]} & ~k_odd)) ^ x0;
      x0 = x0 + x1;
      x1 = (({x1[5:0], x1[31:6]} & k_odd) | ({x1[15:0], x1[31:16]} & ~k_odd)) ^ x0;
      x0 = x0 + x1;
      x1 = (({x1[25:0], x1[31:26]} & k_odd) | ({x1[7:0], x1[31:8]} & ~k_odd)) ^ x0;
      y0[l*32+:32] = x0 + inject0;
      y1[l*32+:32] = x1 + inject1;
    end
    r0 = y0;
    r1 = y1;
  endfunction

  function automatic void row_xor(input row_t a, input row_t b, output row_t r);
    /* verilator no_inline_task */
    for (int unsigned l = 0; l < Lanes; l++) r[l*32+:32] = a[l*32+:32] ^ b[l*32+:32];
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) begin
      group_q <= '0;
    end else if (rand_i) begin
      group_q <= 3'd1;
    end else if (group_q != 3'd0) begin
      group_q <= (group_q == 3'd5) ? 3'd0 : group_q + 3'd1;
    end
    if (rand_i) begin
      key_q[0] <= key1_i;
      key_q[1] <= key0_i ^ key1_i ^ 32'h1bd1_1bda;
      key_q[2] <= key0_i;
    end else if (group_q != 3'd0) begin
      key_q[0] <= key_q[1];
      key_q[1] <= key_q[2];
      key_q[2] <= key_q[0];
    end
  end

  // -----------------------------------------------------------------------------------------------
  // What goes to the queue.

  // Lane l from lane l - n, or all from lane n.
  function automatic void shuffle(input logic rotate, input logic [31:0] n, input row_t a,
                                  output row_t r);
    /* verilator no_inline_task */
    row_t y;
    for (int unsigned l = 0; l < Lanes; l++) begin
      y[l*32+:32] = a[((rotate ? l - n : n)&(Lanes-1))*32+:32];
    end
    r = y;
  endfunction

  logic lane_row;
  assign lane_row = row_i & ~tile_row;
  assign busy_o   = (taken_q != '0) | (group_q != '0) | push_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) push_o <= 1'b0;
    else push_o <= lane_row | drain | (group_q == 3'd5);
    if (lane_row) begin : lanes
      row_t x;
      x = a_i;
      if (!rd_a_i) row_splat(sa_i, x);
      shuffle(op_i == MoveRotLane, 32'(n_i), x, x);
      row_o <= x;
    end
    if (drain) begin : rows
      row_t   x;
      index_t r;
      r = row_of(pair_q[drain_q], drain_k_q);
      if (op_q[drain_q] == MoveTranspose) begin
        for (int unsigned l = 0; l < Lanes; l++) begin
          x[l*32+:32] = tile_q[{drain_q, tile_base(r) | index_t'(l)}][32*32'(r[LaneBits-1:0])+:32];
        end
      end else begin
        r = (op_q[drain_q] == MoveRotSub) ? r - index_t'(n_q[drain_q]) : index_t'(n_q[drain_q]);
        x = tile_q[{drain_q, r & index_t'(4'd7)}];
      end
      row_o <= x;
    end
    if (rand_i | (group_q != 3'd0)) begin : random
      row_t y0, y1, x;
      if (group_q != 3'd0) begin
        threefry({32{group_q[0]}}, key_q[0], key_q[1] + 32'(group_q), x0_q, x1_q, y0, y1);
        if (group_q == 3'd5) begin
          row_xor(y0, y1, x);
          row_o <= x;
        end
      end
      if (rand_i) begin
        row_splat(x0_i + key0_i, y0);
        row_iota(x1_i + key1_i, y1);
      end
      x0_q <= y0;
      x1_q <= y1;
    end
  end

endmodule
