// SPDX-License-Identifier: MIT
//
// The weight loader: walks the tiles of B and delivers Dim weight lines a tile.
//
// Tiles go along K first, then along N. A line is a row of the tile (array row d), or, for a
// transposed B (stored N x K), one of its columns (array column d): in both cases one row of Dim
// elements in memory. Lines past the edge of B are zero lines, which cost no memory access.
// The loader is its own first reader of the command stream: it takes a command as soon as it has
// requested the last line of the one before, while the streamer is still up to two tiles behind.

module tpu_mxu_loader
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       flush_i,

  input  logic                       job_valid_i,
  output logic                       job_ready_o,
  input  job_t                       job_i,
  output logic                       near_end_o,   // nothing to do after the tile at hand

  output logic                       req_valid_o,
  output logic [WordAddrW-1:0]       req_addr_o,
  input  logic                       req_gnt_i,
  input  logic                       rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] rsp_data_i,

  output logic                       w_valid_o,
  input  logic                       w_ready_i,
  output logic                       w_col_o,
  output logic [RowW-1:0]            w_data_o
);

  job_t              job_q;
  logic              busy_q;
  logic [AddrW-1:0]  line_addr_q;   // of this line
  logic [AddrW-1:0]  tile_addr_q;   // of line 0 of this tile (transposed)
  logic [AddrW-1:0]  panel_addr_q;  // of line 0 of the first tile of this column of tiles
  logic [DimLog-1:0] line_q;
  logic [KTileW-1:0] k_left_q;      // tiles after this one
  logic [AccW-1:0]   n_left_q;

  logic              fire, iss_ready;
  logic              line_last, k_last, n_last, zero;
  logic [CntW-1:0]   k_elems, n_elems;
  logic [AddrW-1:0]  step, tile_next, panel_next;

  assign line_last = line_q == DimLog'(Dim - 1);
  assign k_last    = k_left_q == '0;
  assign n_last    = n_left_q == '0;
  assign k_elems   = k_last ? job_q.k_end : CntW'(Dim);
  assign n_elems   = n_last ? job_q.n_end : CntW'(Dim);
  assign zero      = job_q.no_k | (CntW'(line_q) >= (job_q.transpose ? n_elems : k_elems));
  assign fire      = busy_q & iss_ready;

  assign step       = row_bytes(job_q.int8);
  assign tile_next  = tile_addr_q + step;
  assign panel_next = panel_addr_q + (job_q.transpose ? AddrW'(job_q.b_pitch << DimLog) : step);

  assign near_end_o  = ~busy_q | (k_last & n_last);
  assign job_ready_o = ~busy_q | (fire & line_last & k_last & n_last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) busy_q <= 1'b0;
    else if (job_ready_o) busy_q <= job_valid_i;
  end

  always_ff @(posedge clk_i) begin
    if (job_ready_o) begin
      if (job_valid_i) begin
        job_q        <= job_i;
        line_addr_q  <= job_i.b;
        tile_addr_q  <= job_i.b;
        panel_addr_q <= job_i.b;
        line_q       <= '0;
        k_left_q     <= job_i.k_tile_last;
        n_left_q     <= job_i.n_tile_last;
      end
    end else if (fire) begin
      line_q <= line_q + 1'b1;
      if (!line_last) begin
        line_addr_q <= line_addr_q + job_q.b_pitch;
      end else if (!k_last) begin
        k_left_q    <= k_left_q - 1'b1;
        tile_addr_q <= tile_next;
        line_addr_q <= job_q.transpose ? tile_next : line_addr_q + job_q.b_pitch;
      end else begin
        k_left_q     <= job_q.k_tile_last;
        n_left_q     <= n_left_q - 1'b1;
        panel_addr_q <= panel_next;
        tile_addr_q  <= panel_next;
        line_addr_q  <= panel_next;
      end
    end
  end

  tpu_mxu_read #(
    .TagW(1)
  ) u_read (
    .clk_i,
    .rst_ni,
    .flush_i,
    .iss_valid_i(busy_q),
    .iss_ready_o(iss_ready),
    .iss_zero_i (zero),
    .iss_int8_i (job_q.int8),
    .iss_addr_i (line_addr_q),
    .iss_elems_i(job_q.transpose ? k_elems : CntW'(Dim)),
    .iss_tag_i  (job_q.transpose),
    .req_valid_o,
    .req_addr_o,
    .req_gnt_i,
    .rsp_valid_i,
    .rsp_data_i,
    .out_valid_o(w_valid_o),
    .out_ready_i(w_ready_i),
    .out_data_o (w_data_o),
    .out_tag_o  (w_col_o)
  );

  logic unused;
  assign unused = &{1'b0, job_q};  // A's and C's fields

endmodule
