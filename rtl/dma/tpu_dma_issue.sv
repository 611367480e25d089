// SPDX-License-Identifier: MIT
//
// Walks the rows of all channels' commands and issues their segments, at most one a cycle, to the
// mover of HBM sources (0) or of local sources (1). An HBM segment that has a source is a read
// burst.
//
// One walker serves four channels: its state and the checked commands are in small memories, a
// channel is chosen every cycle by priority, then round robin, among those whose mover has room for
// a whole burst (return buffer, segment queue, address queue, all counted here so that nothing
// behind can overflow). A walk that ends leaves one cycle to load the next command, hidden behind
// data in flight.
//
// A gather or scatter takes a cycle more for each row, in which the row's offset (tpu_dma_index)
// takes the place of the stride of dimension 0; its channel waits until the offset is there.
//
// Writes of one channel land in order: a command with a local source is loaded only when no command
// of the channel with an HBM source moves. The opposite case is left to the HBM mover, which lets
// reads run ahead and holds the data back.

module tpu_dma_issue
  import tpu_pkg::*;
  import tpu_config_pkg::*;
  import tpu_dma_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         abort_i,
  input  ch_mask_t     kill_i,

  // A command that passed its checks.
  input  logic         checked_i,
  input  owner_t       checked_owner_i,
  input  logic [1:0]   checked_prio_i,
  input  logic         checked_empty_i,
  input  tpu_dma_cmd_t checked_cmd_i,

  output logic         load_o,
  output logic         load_local_o,
  output owner_t       load_owner_o,
  input  ch_mask_t     pend_hbm_i,

  output logic         issued_o,
  output owner_t       issued_owner_o,
  output logic [47:0]  issued_bytes_o,
  output logic         empty_done_o,    // a command without a byte is through
  output owner_t       empty_owner_o,

  // Lists of indices.
  input  logic         index_ready_i,
  output logic         index_start_o,
  output logic [31:0]  index_list_o,
  output logic [15:0]  index_rows_o,
  output logic [31:0]  index_stride_o,
  output logic         index_stop_o,
  input  logic         offset_valid_i,
  input  ch_t          offset_ch_i,
  input  logic [31:0]  offset_i,
  output logic         offset_take_o,

  output logic [1:0]   segment_valid_o,
  output segment_t     segment_o,
  input  logic [1:0]   segment_done_i,  // the mover is through with one
  input  logic         beat_done_i,     // a beat has left the return buffer
  input  logic         ar_done_i,       // a read address has left
  output logic         busy_o
);

  localparam int unsigned HbmCntW = $clog2(DmaOutstanding + 1);
  localparam int unsigned LocalCntW = $clog2(LocalSegs + 1);
  localparam int unsigned ArCntW = $clog2(ArDepth + 1);
  localparam int unsigned BurstBeats = BurstBytes / BeatBytes;

  typedef logic [DmaChannels*Slots-1:0] slots_t;  // indexed by owner

  // State of a walk: addresses of the row by level (level 0: this row), position in it, indices.
  typedef struct packed {
    logic [2:0][31:0] src;
    logic [2:0][31:0] dst;
    logic [31:0]      pos;
    logic [15:0]      i2;
    logic [15:0]      i1;
    logic [15:0]      i0;
    logic [47:0]      bytes;
  } walk_t;

  tpu_dma_cmd_t cmd_mem[DmaChannels*Slots];
  walk_t        walk_mem[DmaChannels];

  slots_t pend_q, empty_q, local_q, listed_q;  // listed: goes by a list
  ch_mask_t need_row_q;                        // the walk waits for the offset of its row
  logic [1:0] prio_q[DmaChannels*Slots];
  ch_mask_t walking_q;
  slots_t slot_hot_q;  // the slot that each channel walks, or loads next; also as a number
  slot_t slot_q[DmaChannels];
  ch_t last_q;

  logic [BufferW:0]     beats_free_q;
  logic [HbmCntW-1:0]   hbm_cnt_q;
  logic [LocalCntW-1:0] local_cnt_q;
  logic [ArCntW-1:0]    ar_cnt_q;

  function automatic ch_mask_t any_slot(input slots_t s);
    ch_mask_t r;
    for (int unsigned c = 0; c < DmaChannels; c++) r[c] = s[c*Slots+:Slots] != '0;
    return r;
  endfunction

  // Who could go.
  ch_mask_t local_next, loads, rows, eligible;
  logic hbm_room, local_room;
  assign hbm_room = beats_free_q >= (BufferW+1)'(BurstBeats) &&
                    hbm_cnt_q < HbmCntW'(DmaOutstanding) && ar_cnt_q < ArCntW'(ArDepth);
  assign local_room = local_cnt_q < LocalCntW'(LocalSegs);
  always_comb begin
    local_next = '0;
    loads = '0;
    rows = '0;
    eligible = '0;
    if (pend_q != '0 || walking_q != '0) begin
      local_next = any_slot(slot_hot_q & local_q);
      // An empty command neither reads nor writes.
      loads = any_slot(slot_hot_q & pend_q) & ~walking_q & ~kill_i &
              (~(local_next & pend_hbm_i) | any_slot(slot_hot_q & empty_q));
      if (!index_ready_i) loads = loads & ~any_slot(slot_hot_q & listed_q);
      if (offset_valid_i) rows[offset_ch_i] = need_row_q[offset_ch_i] && !kill_i[offset_ch_i];
      eligible = loads | rows |
                 (walking_q & ~need_row_q & ~kill_i & ((local_next & {DmaChannels{local_room}}) |
                                                       (~local_next & {DmaChannels{hbm_room}})));
    end
  end

  // Of the highest priority the first behind the one that went last.
  function automatic ch_t choose(input ch_mask_t who, input logic [DmaChannels-1:0][1:0] prio,
                                 input ch_t last);
    ch_t best, c;
    best = last;
    c = last;
    // From `last`, the least recommended, backwards to the one behind it.
    for (int unsigned i = 0; i < DmaChannels; i++) begin
      if (who[c] && (!who[best] || prio[c] >= prio[best])) best = c;
      c = (c == '0) ? ch_t'(DmaChannels - 1) : c - 1'b1;
    end
    return best;
  endfunction

  // One segment from the position of a walk, and the position behind it.
  typedef struct packed {
    segment_t segment;
    walk_t    walk;
    logic     need_row;
  } step_t;

  /* verilator lint_off UNUSEDSIGNAL */  // of the command, SRC and DST are in the walk
  function automatic step_t next_step(input tpu_dma_cmd_t c, input walk_t w, input owner_t owner);
    /* verilator lint_on UNUSEDSIGNAL */
    step_t s;
    logic [31:0] src, dst, valid, rest, next_src, next_dst;
    logic [BurstW:0] room, n;
    logic [BurstW+1:0] end_src, end_dst;
    logic [1:0] level;
    logic copy, row_end, last0, last1;
    s.segment = '0;
    valid = c.row_bytes;
    if (c.mode_fill) begin
      valid = '0;
      if (w.i0 < c.valid01_count0 && w.i1 < c.valid01_count1 && w.i2 < c.valid2) begin
        valid = c.valid_row;
      end
    end
    src = w.src[0] + w.pos;
    dst = w.dst[0] + w.pos;
    copy = w.pos < valid;
    // Bytes: to the end of the part, at most to the end of the aligned block.
    rest = (copy ? valid : c.row_bytes) - w.pos;
    room = (BurstW+1)'(BurstBytes) - {1'b0, copy ? src[BurstW-1:0] : dst[BurstW-1:0]};
    s.segment.flush = rest <= 32'(room);
    n = s.segment.flush ? rest[BurstW:0] : room;
    row_end = s.segment.flush && (!copy || valid == c.row_bytes);

    s.segment.owner = owner;
    s.segment.dst_space = c.mode_dst_space;
    s.segment.src_smem = c.mode_src_space == TPU_SPACE_SMEM;
    s.segment.fill = !copy;
    s.segment.dst_beat = dst[31:OffW];
    end_dst = (BurstW+2)'(dst[OffW-1:0]) + (BurstW+2)'(n);
    s.segment.hi = end_dst[OffW-1:0] - 1'b1;
    if (s.segment.flush) end_dst = end_dst + (BurstW+2)'(BeatBytes - 1);
    s.segment.dst_beats = BeatCntW'(end_dst >> OffW);
    if (copy) begin
      end_src = (BurstW+2)'(src[OffW-1:0]) + (BurstW+2)'(n) + (BurstW+2)'(BeatBytes - 1);
      s.segment.src_beats = BeatCntW'(end_src >> OffW);
      s.segment.rot = dst[OffW-1:0] - src[OffW-1:0];
      s.segment.prime = w.pos == '0 && dst[OffW-1:0] < src[OffW-1:0];
      s.segment.solo = s.segment.prime && s.segment.flush && s.segment.src_beats == BeatCntW'(1);
      if (s.segment.solo) s.segment.prime = 1'b0;
      // A beat that the segment before left unfinished may hold the begin of the row.
      s.segment.lo = (dst[31:OffW] == w.dst[0][31:OffW]) ? w.dst[0][OffW-1:0] : '0;
      s.segment.word = {src[31:OffW], OffW'(0)};
    end else begin
      s.segment.lo = dst[OffW-1:0];
      s.segment.word = rotate_pattern(c.pattern, w.dst[0][1:0]);
    end

    last0 = w.i0 == c.count01_count0 - 16'd1;
    last1 = w.i1 == c.count01_count1 - 16'd1;
    s.segment.last = row_end && last0 && last1 && w.i2 == c.count2 - 16'd1;
    s.need_row = row_end && !s.segment.last &&
                 (last0 ? listed_rows(c) != '0 : w.i0 + 16'd1 < listed_rows(c));
    s.walk = w;
    s.walk.bytes = w.bytes + 48'(n);
    s.walk.pos = w.pos + 32'(n);
    if (row_end) begin
      // The next row is a stride away from the first one of the innermost dimension that goes on.
      level = !last0 ? 2'd0 : !last1 ? 2'd1 : 2'd2;
      next_src = w.src[level] + c.src_stride[level];
      next_dst = w.dst[level] + c.dst_stride[level];
      s.walk.pos = '0;
      s.walk.src[0] = next_src;
      s.walk.dst[0] = next_dst;
      s.walk.i0 = last0 ? 16'd0 : w.i0 + 16'd1;
      if (last0) begin
        s.walk.src[1] = next_src;
        s.walk.dst[1] = next_dst;
        s.walk.i1 = last1 ? 16'd0 : w.i1 + 16'd1;
      end
      if (last0 && last1) begin
        s.walk.src[2] = next_src;
        s.walk.dst[2] = next_dst;
        s.walk.i2 = w.i2 + 16'd1;
      end
    end
    return s;
  endfunction

  // The chosen channel loads a command or makes a step.
  ch_t sel;
  logic [DmaChannels-1:0][1:0] prio;
  logic load, row, step, cmd_end, is_local;
  owner_t owner;
  step_t made;
  always_comb begin
    sel = '0;
    prio = '0;
    owner = '0;
    load = 1'b0;
    row = 1'b0;
    step = 1'b0;
    is_local = 1'b0;
    if (eligible != '0) begin
      for (int unsigned c = 0; c < DmaChannels; c++) prio[c] = prio_q[{ch_t'(c), slot_q[c]}];
      sel = choose(eligible, prio, last_q);
      owner = '{sel, slot_q[sel]};
      load = loads[sel];
      row = rows[sel];
      step = !loads[sel] && !rows[sel];
      is_local = local_q[owner];
    end
  end
  always_comb begin
    made = '0;
    if (load) begin
      made.walk.src = {3{cmd_mem[owner].src}};
      made.walk.dst = {3{cmd_mem[owner].dst}};
    end else if (row) begin
      made.walk = walk_mem[sel];
      if (cmd_mem[owner].mode_gather == Gather) made.walk.src[0] = made.walk.src[1] + offset_i;
      else made.walk.dst[0] = made.walk.dst[1] + offset_i;
    end else if (step) begin
      made = next_step(cmd_mem[owner], walk_mem[sel], owner);
    end
  end
  assign cmd_end = made.segment.last;

  logic load_empty;
  assign load_empty = load && empty_q[owner];
  always_comb begin
    index_list_o = '0;
    index_rows_o = '0;
    index_stride_o = '0;
    index_start_o = load && listed_q[owner];
    if (index_start_o) begin
      index_list_o = cmd_mem[owner].index;
      index_rows_o = listed_rows(cmd_mem[owner]);
      index_stride_o = (cmd_mem[owner].mode_gather == Gather) ? cmd_mem[owner].src_stride[0] :
                                                                cmd_mem[owner].dst_stride[0];
    end
  end
  assign index_stop_o = step && cmd_end && listed_q[owner];
  assign offset_take_o = row;
  assign load_o = load && !load_empty;
  assign load_local_o = is_local;
  assign load_owner_o = owner;
  assign issued_o = load_empty || cmd_end;
  assign issued_owner_o = owner;
  assign issued_bytes_o = load_empty ? 48'd0 : made.walk.bytes;
  assign busy_o = segment_valid_o != '0 || hbm_cnt_q != '0 || local_cnt_q != '0 ||
                  beats_free_q != (BufferW+1)'(BufferBeats);

  logic [BeatCntW-1:0] reserve;
  logic step_hbm, step_local, step_ar;
  assign step_hbm = step && !is_local;
  assign step_local = step && is_local;
  assign step_ar = step_hbm && !made.segment.fill;
  assign reserve = step_ar ? made.segment.src_beats : '0;

  always_ff @(posedge clk_i) begin
    if (checked_i) cmd_mem[checked_owner_i] <= checked_cmd_i;
    if (load || row || step) walk_mem[sel] <= made.walk;
    if (step) segment_o <= made.segment;
    empty_done_o <= rst_ni && load_empty;
    empty_owner_o <= owner;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      segment_valid_o <= '0;
      beats_free_q    <= (BufferW+1)'(BufferBeats);
      hbm_cnt_q       <= '0;
      local_cnt_q     <= '0;
      ar_cnt_q        <= '0;
    end else if (busy_o || step) begin
      segment_valid_o <= {step_local, step_hbm};
      beats_free_q    <= beats_free_q - (BufferW+1)'(reserve) + (BufferW+1)'(beat_done_i);
      hbm_cnt_q       <= hbm_cnt_q + HbmCntW'(step_hbm) - HbmCntW'(segment_done_i[0]);
      local_cnt_q     <= local_cnt_q + LocalCntW'(step_local) - LocalCntW'(segment_done_i[1]);
      ar_cnt_q        <= ar_cnt_q + ArCntW'(step_ar) - ArCntW'(ar_done_i);
    end
  end

  logic next_slot;
  assign next_slot = load_empty || (step && cmd_end);

  always_ff @(posedge clk_i) begin
    if (checked_i) begin
      empty_q[checked_owner_i] <= checked_empty_i;
      local_q[checked_owner_i] <= checked_cmd_i.mode_src_space != TPU_SPACE_HBM;
      prio_q[checked_owner_i]  <= checked_prio_i;
      listed_q[checked_owner_i] <= !checked_empty_i && listed_rows(checked_cmd_i) != '0;
    end
    if (!rst_ni || abort_i) begin
      pend_q     <= '0;
      walking_q  <= '0;
      need_row_q <= '0;
      slot_hot_q <= {DmaChannels{Slots'(1)}};
      for (int unsigned c = 0; c < DmaChannels; c++) slot_q[c] <= '0;
      last_q     <= '0;
    end else begin
      if (checked_i) pend_q[checked_owner_i] <= 1'b1;
      if (load) begin
        pend_q[owner] <= 1'b0;
        walking_q[sel] <= !load_empty;
        need_row_q[sel] <= listed_q[owner];
      end
      if (row) need_row_q[sel] <= 1'b0;
      if (step) begin
        last_q <= sel;
        walking_q[sel] <= !cmd_end;
        need_row_q[sel] <= made.need_row;
      end
      if (next_slot) begin
        slot_q[sel] <= slot_q[sel] + 1'b1;
        for (int unsigned c = 0; c < DmaChannels; c++) begin
          if (sel == ch_t'(c)) begin
            slot_hot_q[c*Slots+:Slots] <= {slot_hot_q[c*Slots+:Slots-1],
                                           slot_hot_q[c*Slots+Slots-1]};
          end
        end
      end
    end
  end

endmodule
