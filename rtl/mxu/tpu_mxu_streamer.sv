// SPDX-License-Identifier: MIT
//
// The operand streamer: walks the tiles of A in the loader's order and delivers M rows a tile.
//
// It has a queue of commands of its own, because the loader is ahead of it. With the first row of
// a tile it tells the output side where the tile's results go; that queue holds every tile between
// here and the accumulator, which is bounded by the rows under way and the array's latency.

module tpu_mxu_streamer
  import tpu_config_pkg::*;
  import tpu_mxu_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       flush_i,

  input  logic                       job_valid_i,
  output logic                       job_ready_o,
  input  job_t                       job_i,

  output logic                       req_valid_o,
  output logic [WordAddrW-1:0]       req_addr_o,
  input  logic                       req_gnt_i,
  input  logic                       rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0] rsp_data_i,

  output logic                       row_valid_o,
  input  logic                       row_ready_i,
  output logic                       row_first_o,  // of a tile
  output logic                       row_last_o,   // of a command
  output logic                       row_int8_o,
  output logic [RowW-1:0]            row_data_o,

  output logic                       tile_valid_o,
  input  logic                       tile_ready_i,
  output tile_t                      tile_o
);

  // ---- commands ----

  job_t next, job_q;
  logic next_valid, next_ready;
  logic [$clog2(MaxStarted+1)-1:0] unused_count;

  tpu_fifo #(
    .Width($bits(job_t)),
    .Depth(MaxStarted)
  ) u_jobs (
    .clk_i,
    .rst_ni,
    .flush_i,
    .in_valid_i (job_valid_i),
    .in_ready_o (job_ready_o),
    .in_data_i  (job_i),
    .out_valid_o(next_valid),
    .out_ready_i(next_ready),
    .out_data_o (next),
    .count_o    (unused_count)
  );

  // ---- walk ----

  logic              busy_q, first_q;
  logic [AddrW-1:0]  row_addr_q, tile_addr_q;
  logic [AccW-1:0]   m_left_q, n_left_q, acc_row_q;
  logic [KTileW-1:0] k_left_q;

  logic              fire, iss_valid, iss_ready;
  logic              m_last, k_last, n_last, k_first;
  logic [CntW-1:0]   k_elems, n_elems;
  logic [AddrW-1:0]  tile_next;

  assign m_last    = m_left_q == '0;
  assign k_last    = k_left_q == '0;
  assign n_last    = n_left_q == '0;
  assign k_first   = k_left_q == job_q.k_tile_last;
  assign k_elems   = k_last ? job_q.k_end : CntW'(Dim);
  assign n_elems   = n_last ? job_q.n_end : CntW'(Dim);
  assign tile_next = k_last ? job_q.a : tile_addr_q + row_bytes(job_q.int8);

  assign iss_valid  = busy_q & (tile_ready_i | ~first_q);
  assign fire       = iss_valid & iss_ready;
  assign next_ready = ~busy_q | (fire & m_last & k_last & n_last);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || flush_i) busy_q <= 1'b0;
    else if (next_ready) busy_q <= next_valid;
  end

  always_ff @(posedge clk_i) begin
    if (next_ready) begin
      if (next_valid) begin
        job_q       <= next;
        row_addr_q  <= next.a;
        tile_addr_q <= next.a;
        acc_row_q   <= next.c;
        first_q     <= 1'b1;
        m_left_q    <= next.m_last;
        k_left_q    <= next.k_tile_last;
        n_left_q    <= next.n_tile_last;
      end
    end else if (fire) begin
      first_q <= m_last;
      if (!m_last) begin
        m_left_q   <= m_left_q - 1'b1;
        row_addr_q <= row_addr_q + job_q.a_pitch;
      end else begin
        m_left_q    <= job_q.m_last;
        row_addr_q  <= tile_next;
        tile_addr_q <= tile_next;
        if (!k_last) begin
          k_left_q <= k_left_q - 1'b1;
        end else begin
          k_left_q  <= job_q.k_tile_last;
          n_left_q  <= n_left_q - 1'b1;
          acc_row_q <= acc_row_q + job_q.c_pitch;
        end
      end
    end
  end

  assign tile_valid_o      = fire & first_q;
  assign tile_o.int8       = job_q.int8;
  assign tile_o.accumulate = job_q.accumulate | ~k_first;
  assign tile_o.row        = acc_row_q;
  assign tile_o.lanes      = n_elems;
  assign tile_o.macs       = MacsW'(n_elems) * MacsW'(k_elems);

  // ---- rows ----

  tpu_mxu_read #(
    .TagW(3)
  ) u_read (
    .clk_i,
    .rst_ni,
    .flush_i,
    .iss_valid_i(iss_valid),
    .iss_ready_o(iss_ready),
    .iss_zero_i (job_q.no_k),
    .iss_int8_i (job_q.int8),
    .iss_addr_i (row_addr_q),
    .iss_elems_i(k_elems),
    .iss_tag_i  ({first_q, m_last & k_last & n_last, job_q.int8}),
    .req_valid_o,
    .req_addr_o,
    .req_gnt_i,
    .rsp_valid_i,
    .rsp_data_i,
    .out_valid_o(row_valid_o),
    .out_ready_i(row_ready_i),
    .out_data_o (row_data_o),
    .out_tag_o  ({row_first_o, row_last_o, row_int8_o})
  );

  logic unused;
  assign unused = &{1'b0, job_q};  // B's fields

endmodule
