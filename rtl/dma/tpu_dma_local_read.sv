// SPDX-License-Identifier: MIT
//
// Reads of VMEM and SMEM: a queue of segments, one word request a cycle, and a short return queue.
//
// The entries of the return queue are reserved when a request is granted, so answers always have a
// place. Both memories answer after two cycles, so answers come in the order of the requests. A
// VMEM word is two beats where words are wider than the HBM port: the queue keeps words and the
// mover says which half it takes.

module tpu_dma_local_read
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic                        clk_i,
  input  logic                        rst_ni,

  input  logic                        burst_valid_i,
  input  logic                        burst_smem_i,
  input  logic [31:0]                 burst_addr_i,  // beat-aligned
  input  logic [BeatCntW-1:0]         burst_beats_i,
  input  ch_t                         burst_ch_i,

  output logic [BufferW:0]            avail_o,       // words
  input  logic                        take_i,        // read the oldest word (its half half_i)
  input  logic                        half_i,
  input  logic                        free_i,        // with take_i: last use of the word
  output beat_t                       data_o,
  output logic                        busy_o,
  output ch_mask_t                    stall_o,

  output logic                        vmem_rd_valid_o,
  output logic [VmemAddrW-1:0]        vmem_rd_addr_o,
  input  logic                        vmem_rd_gnt_i,
  input  logic                        vmem_rd_rsp_valid_i,
  input  logic [VmemWordBytes*8-1:0]  vmem_rd_rsp_data_i,
  output logic                        smem_rd_valid_o,
  output logic [SmemAddrW-1:0]        smem_rd_addr_o,
  input  logic                        smem_rd_gnt_i,
  input  logic                        smem_rd_rsp_valid_i,
  input  beat_t                       smem_rd_rsp_data_i
);

  localparam int unsigned Depth = 16;
  localparam int unsigned PtrW = $clog2(Depth);
  localparam int unsigned HalfW = $clog2(Halves);

  typedef struct packed {
    logic                  smem;
    ch_t                   ch;
    logic [LocalAddrW-1:0] addr;
    logic [BeatCntW-1:0]   words;
  } burst_t;

  // Words of the segment: VMEM words cover `Halves` beats.
  burst_t burst_in, burst;
  logic [BeatCntW:0] end_beat;
  always_comb begin
    end_beat = '0;
    burst_in = '0;
    if (burst_valid_i) begin
      burst_in.smem = burst_smem_i;
      burst_in.ch = burst_ch_i;
      if (burst_smem_i) begin
        burst_in.addr = LocalAddrW'(burst_addr_i[OffW+:SmemAddrW]);
        burst_in.words = burst_beats_i;
      end else begin
        burst_in.addr = LocalAddrW'(burst_addr_i[OffW+HalfW+:VmemAddrW]);
        end_beat = (BeatCntW+1)'(burst_addr_i[OffW] && Halves > 1) + (BeatCntW+1)'(burst_beats_i);
        burst_in.words = BeatCntW'((end_beat + (BeatCntW+1)'(Halves - 1)) >> HalfW);
      end
    end
  end

  logic burst_valid, burst_done, in_ready;
  logic [$clog2(LocalSegs+1)-1:0] burst_count;
  tpu_fifo #(
    .Width($bits(burst_t)),
    .Depth(LocalSegs)
  ) u_bursts (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (burst_valid_i),
    .in_ready_o (in_ready),
    .in_data_i  (burst_in),
    .out_valid_o(burst_valid),
    .out_ready_i(burst_done),
    .out_data_o (burst),
    .count_o    (burst_count)
  );

  // Requests.
  logic [BeatCntW-1:0] words_q;  // granted words of this segment
  logic [PtrW:0] used_q;         // entries reserved
  logic [PtrW:0] stored_q;
  logic room, request, granted, free;
  logic [LocalAddrW-1:0] addr;
  assign room = used_q != (PtrW+1)'(Depth);
  assign request = burst_valid && room;
  assign addr = burst.addr + LocalAddrW'(words_q);
  assign vmem_rd_valid_o = request && !burst.smem;
  assign vmem_rd_addr_o = addr[VmemAddrW-1:0];
  assign smem_rd_valid_o = request && burst.smem;
  assign smem_rd_addr_o = addr[SmemAddrW-1:0];
  assign granted = (vmem_rd_valid_o && vmem_rd_gnt_i) || (smem_rd_valid_o && smem_rd_gnt_i);
  assign burst_done = granted && words_q + 1'b1 == burst.words;
  assign free = take_i && free_i;
  assign busy_o = burst_count != '0 || used_q != '0;
  always_comb begin
    stall_o = '0;
    if (request && !granted) stall_o[burst.ch] = 1'b1;
  end

  // Answers.
  logic [WordW-1:0] words[Depth];
  logic [PtrW-1:0] wr_q, rd_q;
  beat_t head_q;
  logic answer;
  assign answer = vmem_rd_rsp_valid_i || smem_rd_rsp_valid_i;
  assign avail_o = (BufferW+1)'(stored_q);
  assign data_o = head_q;

  always_ff @(posedge clk_i) begin
    if (vmem_rd_rsp_valid_i) words[wr_q] <= vmem_rd_rsp_data_i;
    else if (smem_rd_rsp_valid_i) words[wr_q] <= WordW'(smem_rd_rsp_data_i);
  end
  if (Halves == 1) begin : g_beat
    logic unused_half;
    assign unused_half = half_i;
    always_ff @(posedge clk_i) begin
      if (take_i) head_q <= words[rd_q];
    end
  end else begin : g_halves
    always_ff @(posedge clk_i) begin
      if (take_i) head_q <= half_i ? words[rd_q][WordW-1-:BeatW] : words[rd_q][BeatW-1:0];
    end
  end

  logic unused;
  assign unused = &{1'b0, in_ready, burst_addr_i, addr};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      words_q  <= '0;
      used_q   <= '0;
      stored_q <= '0;
      wr_q     <= '0;
      rd_q     <= '0;
    end else if (busy_o) begin
      if (granted) words_q <= burst_done ? '0 : words_q + 1'b1;
      used_q   <= used_q + (PtrW+1)'(granted) - (PtrW+1)'(free);
      stored_q <= stored_q + (PtrW+1)'(answer) - (PtrW+1)'(free);
      wr_q     <= wr_q + PtrW'(answer);
      rd_q     <= rd_q + PtrW'(free);
    end
  end

`ifndef SYNTHESIS
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!burst_valid_i || in_ready) else $error("local segment queue overflows");
      assert (!(vmem_rd_rsp_valid_i && smem_rd_rsp_valid_i))
      else $error("two answers in one cycle");
    end
  end
`endif

endmodule
