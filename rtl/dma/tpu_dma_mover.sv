// SPDX-License-Identifier: MIT
//
// Moves segments, in order, one source beat or one destination beat a cycle: takes beats from a
// return queue, shifts them to the destination's lanes, and hands them to the HBM write port or,
// gathered to words, to the ports of VMEM and SMEM. There are two: one behind HBM reads, one behind
// local reads.
//
// Shifting. A row's bytes move by `rot` lanes (modulo the beat). A rotated source beat completes
// one destination beat with its lanes >= rot, the lanes below come from the beat before it, which
// is kept for each channel, because bursts of several channels may alternate in the middle of their
// rows. So a row costs its source beats, plus one if its last bytes spill into one more destination
// beat. A narrow row that is one beat on either side costs one.
//
// Stage 1 decides what the cycle does, stage 2 (a cycle later, with the data) does it, or waits for
// its destination.
//
// Order inside a channel: a segment waits while hold_i says that older commands of the channel,
// which another mover serves, have not landed. A channel that is killed (bus error, abort) has its
// segments drained: beats are taken and nothing is written, but a burst that has begun on the HBM
// port is finished with all strobes off.
//
// WholeBurst: a segment to HBM starts only when all its source beats have arrived. With it, write
// bursts never wait for read bursts: a memory that serves them one at a time would deadlock
// otherwise.

module tpu_dma_mover
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
#(
  parameter int unsigned SegDepth = 32,
  parameter bit WholeBurst = 1'b1
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  ch_mask_t         kill_i,
  input  ch_mask_t         hold_i,

  input  logic             segment_valid_i,
  input  segment_t         segment_i,
  output logic             segment_done_o,

  // Source: entries that can be taken; data a cycle after take_o, kept until the next.
  input  logic [BufferW:0] src_avail_i,
  output logic             src_take_o,
  output logic             src_half_o,
  output logic             src_free_o,
  input  beat_t            src_data_i,
  input  logic             src_error_i,
  output logic             error_o,
  output owner_t           error_owner_o,
  output logic [31:0]      error_addr_o,

  output logic             hbm_valid_o,
  output hbm_write_t       hbm_o,
  input  logic             hbm_ready_i,
  input  logic             hbm_open_i,

  output logic             local_valid_o,
  output local_write_t     local_o,
  input  logic             local_gnt_i,

  output logic             busy_o
);

  localparam int unsigned PtrW = $clog2(SegDepth);
  localparam int unsigned WriteDepth = 4;

  // Segments.
  segment_t segs[SegDepth];
  logic [PtrW-1:0] seg_wr_q, seg_rd_q;
  logic [PtrW:0] seg_cnt_q;
  logic seg_done;

  always_ff @(posedge clk_i) begin
    if (segment_valid_i) segs[seg_wr_q] <= segment_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seg_wr_q  <= '0;
      seg_rd_q  <= '0;
      seg_cnt_q <= '0;
    end else if (segment_valid_i || seg_done) begin
      seg_wr_q  <= seg_wr_q + PtrW'(segment_valid_i);
      seg_rd_q  <= seg_rd_q + PtrW'(seg_done);
      seg_cnt_q <= seg_cnt_q + (PtrW+1)'(segment_valid_i) - (PtrW+1)'(seg_done);
    end
  end
  assign segment_done_o = seg_done;

  // ---- Stage 1 ----
  typedef struct packed {
    segment_t             seg;
    logic                 take;       // has a source beat
    logic                 emit;       // completes a destination beat
    logic                 first;      // the segment's first one
    logic                 final_one;  // the segment's last one
    logic                 aw;         // begins a burst on HBM
    logic                 end_burst;
    logic                 aw_last;    // with aw: the command's last burst
    logic [7:0]           aw_len;
    logic [BeatAddrW-1:0] beat;
  } move_t;

  // A cycle's work for a segment of which src_left and dst_left beats remain.
  function automatic move_t plan(input segment_t seg, input logic [BeatCntW-1:0] src_left,
                                 input logic [BeatCntW-1:0] dst_left, input logic started,
                                 input logic drop);
    move_t m;
    logic [PageBeatW:0] page;
    m.seg = seg;
    m.take = src_left != '0;
    m.emit = !drop && dst_left != '0 && (started || !seg.prime);
    m.first = dst_left == seg.dst_beats;
    m.final_one = dst_left == BeatCntW'(1);
    m.beat = seg.dst_beat + BeatAddrW'(seg.dst_beats) - BeatAddrW'(dst_left);
    // A burst on HBM ends with the segment or the page.
    page = (PageBeatW+1)'(1 << PageBeatW) - {1'b0, m.beat[PageBeatW-1:0]};
    m.aw = m.first || m.beat[PageBeatW-1:0] == '0;
    m.end_burst = m.final_one || page == (PageBeatW+1)'(1);
    m.aw_last = seg.last && (PageBeatW+1)'(dst_left) <= page;
    m.aw_len = 8'(((PageBeatW+1)'(dst_left) <= page) ? (PageBeatW+1)'(dst_left) : page) - 8'd1;
    return m;
  endfunction

  logic started_q, drop_q;
  logic [BeatCntW-1:0] src_left_q, dst_left_q;

  logic move2_valid_q, move2_done;
  move_t move2_q;

  logic turn, go, drop, arrived;
  logic [BeatCntW-1:0] src_left, dst_left, src_left_d, dst_left_d;
  move_t move;
  assign turn = seg_cnt_q != '0 && (!move2_valid_q || move2_done);
  always_comb begin
    move = '0;
    drop = 1'b0;
    src_left = '0;
    dst_left = '0;
    if (turn) begin
      src_left = started_q ? src_left_q : segs[seg_rd_q].src_beats;
      dst_left = started_q ? dst_left_q : segs[seg_rd_q].dst_beats;
      drop = started_q ? drop_q : kill_i[segs[seg_rd_q].owner.ch];
      move = plan(segs[seg_rd_q], src_left, dst_left, started_q, drop);
    end
  end
  assign arrived = !move.take ||
                   ((WholeBurst && !started_q && !drop && move.seg.dst_space == TPU_SPACE_HBM)
                    ? src_avail_i >= (BufferW+1)'(src_left) : src_avail_i != '0);
  assign go = turn && arrived && (drop || !hold_i[move.seg.owner.ch]);
  assign src_left_d = src_left - BeatCntW'(move.take);
  assign dst_left_d = dst_left - BeatCntW'(move.emit);
  assign seg_done = go && src_left_d == '0 && (drop || dst_left_d == '0);
  assign src_take_o = go && move.take;
  // Half of a local word, and whether it is the last use of that word.
  assign src_half_o = (Halves > 1) && !move.seg.src_smem &&
                      (move.seg.word[OffW] ^ move.seg.src_beats[0] ^ src_left[0]);
  assign src_free_o = (Halves == 1) || move.seg.src_smem || src_half_o ||
                      src_left == BeatCntW'(1);

  always_ff @(posedge clk_i) begin
    if (go) move2_q <= move;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      started_q     <= 1'b0;
      move2_valid_q <= 1'b0;
    end else begin
      if (go) begin
        started_q     <= !seg_done;
        drop_q        <= drop;
        src_left_q    <= src_left_d;
        dst_left_q    <= dst_left_d;
        move2_valid_q <= 1'b1;
      end else if (move2_done) begin
        move2_valid_q <= 1'b0;
      end
    end
  end

  // ---- Stage 2 ----
  beat_t hold_q[DmaChannels];  // the last rotated beat of a channel
  beat_t rotated, data;
  beat_be_t be;
  logic dead, to_hbm, gather_ready, keep;
  always_comb begin
    data = '0;
    be = '0;
    rotated = '0;
    dead = 1'b0;
    keep = 1'b0;
    if (move2_valid_q) begin
      dead = kill_i[move2_q.seg.owner.ch] || (move2_q.take && src_error_i);
      if (move2_q.seg.fill) begin
        data = {(BeatBytes / 4) {move2_q.seg.word}};
      end else if (move2_q.seg.rot == '0) begin
        data = src_data_i;
      end else begin
        rotated = rotate_beat(src_data_i, move2_q.seg.rot);
        keep = move2_q.take;
        if (move2_q.seg.solo) data = rotated;
        else data = merge_beat(hold_q[move2_q.seg.owner.ch], rotated, move2_q.seg.rot);
      end
      be = '1;
      if (move2_q.first) be = be << move2_q.seg.lo;
      if (move2_q.final_one && move2_q.seg.flush) be = be & ({BeatBytes{1'b1}} >> ~move2_q.seg.hi);
    end
  end

  assign to_hbm = move2_q.seg.dst_space == TPU_SPACE_HBM;
  // Nothing begins on HBM for a dead channel.
  assign hbm_valid_o = move2_valid_q && move2_q.emit && to_hbm && !(dead && !hbm_open_i);
  always_comb begin
    hbm_o = '0;
    if (hbm_valid_o) begin
      hbm_o.first = move2_q.aw;
      hbm_o.end_burst = move2_q.end_burst;
      hbm_o.last = move2_q.aw_last;
      hbm_o.owner = move2_q.seg.owner;
      hbm_o.beat = move2_q.beat;
      hbm_o.len = move2_q.aw_len;
      hbm_o.strb = dead ? '0 : be;
      hbm_o.data = data;
    end
  end
  assign move2_done = move2_valid_q &&
                      (!move2_q.emit || (to_hbm ? (hbm_ready_i || !hbm_valid_o) : gather_ready));
  assign error_o = move2_done && move2_q.take && src_error_i;
  assign error_owner_o = move2_q.seg.owner;
  assign error_addr_o = move2_q.seg.word;

  always_ff @(posedge clk_i) begin
    if (move2_done && keep) hold_q[move2_q.seg.owner.ch] <= rotated;
  end

  // ---- Gathering ----
  // The lower beat of a VMEM word waits for the upper one if that is in the same segment.
  logic gather, low_waits, put;
  local_write_t write;
  assign gather = move2_done && move2_q.emit && !to_hbm;

  if (Halves == 1) begin : g_beat
    assign put = gather && !dead;
    assign low_waits = 1'b0;
    always_comb begin
      write = '0;
      if (put) begin
        write.addr = move2_q.beat[LocalAddrW-1:0];
        write.be = be;
        write.data = data;
        write.smem = move2_q.seg.dst_space == TPU_SPACE_SMEM;
        write.owner = move2_q.seg.owner;
        write.last = move2_q.seg.last && move2_q.final_one;
      end
    end
  end else begin : g_halves
    logic smem, upper, keep_low, open_q;
    beat_t low_q;
    beat_be_t low_be_q;
    assign low_waits = open_q;
    assign smem = move2_q.seg.dst_space == TPU_SPACE_SMEM;
    assign upper = move2_q.beat[0] && !smem;
    assign keep_low = gather && !dead && !smem && !upper && !move2_q.final_one;
    assign put = gather && !keep_low && (!dead || open_q);
    always_comb begin
      write = '0;
      if (put) begin
        write.smem = smem;
        write.addr = smem ? LocalAddrW'(move2_q.beat[SmemAddrW-1:0]) : move2_q.beat[LocalAddrW:1];
        write.data = upper ? {data, low_q} : {data, data};
        if (upper) write.be = {dead ? BeatBytes'(0) : be, open_q ? low_be_q : BeatBytes'(0)};
        else write.be = {BeatBytes'(0), be};
        write.owner = move2_q.seg.owner;
        write.last = move2_q.seg.last && move2_q.final_one && !dead;
      end
    end
    always_ff @(posedge clk_i) begin
      if (keep_low) begin
        low_q    <= data;
        low_be_q <= be;
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) open_q <= 1'b0;
      else if (gather) open_q <= keep_low;
    end
  end

  logic [$clog2(WriteDepth+1)-1:0] write_count;
  tpu_fifo #(
    .Width($bits(local_write_t)),
    .Depth(WriteDepth)
  ) u_writes (
    .clk_i,
    .rst_ni,
    .flush_i    (1'b0),
    .in_valid_i (put),
    .in_ready_o (gather_ready),
    .in_data_i  (write),
    .out_valid_o(local_valid_o),
    .out_ready_i(local_gnt_i),
    .out_data_o (local_o),
    .count_o    (write_count)
  );

  assign busy_o = seg_cnt_q != '0 || move2_valid_q || write_count != '0 || low_waits;

endmodule
