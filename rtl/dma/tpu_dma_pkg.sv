// SPDX-License-Identifier: MIT
//
// What the parts of the DMA engine agree on: sizes, segments, and the arithmetic on beats.
//
// A beat is HbmPortBytes bytes, aligned. A segment is what one channel moves when it has won the
// arbitration: at most BurstBytes of one row. Its source lies inside one aligned block of
// BurstBytes, so it is one AXI read burst that cannot cross a 4 KiB page.

package tpu_dma_pkg;
  import tpu_pkg::*;
  import tpu_config_pkg::*;

  localparam int unsigned Slots = 4;  // started commands a channel holds
  localparam int unsigned SlotW = 2;
  localparam int unsigned ChW = (DmaChannels > 1) ? $clog2(DmaChannels) : 1;

  localparam int unsigned BeatBytes = HbmPortBytes;
  localparam int unsigned BeatW = BeatBytes * 8;
  localparam int unsigned OffW = $clog2(BeatBytes);  // offset in a beat
  localparam int unsigned BeatAddrW = 32 - OffW;
  localparam int unsigned BurstBytes = 256;
  localparam int unsigned BurstW = $clog2(BurstBytes);
  localparam int unsigned BeatCntW = $clog2(BurstBytes / BeatBytes + 2);
  localparam int unsigned PageBeatW = 12 - OffW;  // beats of a 4 KiB page

  localparam int unsigned BufferBeats = DmaBufferBytes / BeatBytes;
  localparam int unsigned BufferW = $clog2(BufferBeats);

  localparam int unsigned Halves = VmemWordBytes / BeatBytes;  // beats of a VMEM word: 1 or 2
  localparam int unsigned WordW = VmemWordBytes * 8;
  localparam int unsigned VmemAddrW = $clog2(VmemBytes / VmemWordBytes);
  localparam int unsigned SmemAddrW = $clog2(SmemBytes / HbmPortBytes);
  localparam int unsigned LocalAddrW = (VmemAddrW > SmemAddrW) ? VmemAddrW : SmemAddrW;

  // Segments that wait in the mover of local (VMEM, SMEM) sources. Reads return after two cycles;
  // eight cover the loop from issue to move even with one beat a segment.
  localparam int unsigned LocalSegs = 8;
  localparam int unsigned ArDepth = 4;

  typedef logic [BeatW-1:0] beat_t;
  typedef logic [BeatBytes-1:0] beat_be_t;
  typedef logic [OffW-1:0] off_t;
  typedef logic [ChW-1:0] ch_t;
  typedef logic [SlotW-1:0] slot_t;
  typedef logic [DmaChannels-1:0] ch_mask_t;

  // Names a command while it is in the engine.
  typedef struct packed {
    ch_t   ch;
    slot_t slot;
  } owner_t;

  typedef struct packed {
    owner_t                owner;
    logic [1:0]            dst_space;
    logic                  src_smem;  // local source: SMEM, not VMEM
    logic                  last;      // ends the command
    logic                  fill;      // writes the pattern, has no source
    logic                  flush;     // ends the copied or the filled part of its row
    logic                  prime;     // its first source beat completes no destination beat
    logic                  solo;      // one source beat, one destination beat
    off_t                  rot;       // rotation from source to destination lanes
    off_t                  lo;        // first lane written of the first destination beat
    off_t                  hi;        // last lane written of the last one, if flush
    logic [BeatCntW-1:0]   src_beats;
    logic [BeatCntW-1:0]   dst_beats;
    logic [BeatAddrW-1:0]  dst_beat;  // address of the first destination beat
    logic [31:0]           word;      // copy: source address, beat-aligned; fill: pattern by lanes
  } segment_t;

  // A word on its way into VMEM or SMEM (SMEM: the low beat).
  typedef struct packed {
    logic                     last;  // completes its command
    owner_t                   owner;
    logic                     smem;
    logic [LocalAddrW-1:0]    addr;
    logic [VmemWordBytes-1:0] be;
    logic [WordW-1:0]         data;
  } local_write_t;

  // A beat on its way to the HBM write port.
  typedef struct packed {
    logic                   first;      // a burst begins here; address and length are valid
    logic                   end_burst;
    logic                   last;       // with first: the burst that completes its command
    owner_t                 owner;
    logic [BeatAddrW-1:0]   beat;
    logic [7:0]             len;        // AXI length, beats - 1
    beat_be_t               strb;
    beat_t                  data;
  } hbm_write_t;

  // MODE.gather: whose dimension 0 goes by the list of indices.
  localparam logic [1:0] Gather = 2'd1;
  localparam logic [1:0] Scatter = 2'd2;
  localparam int unsigned IndexBytes = 4;
  localparam int unsigned BeatIndices = BeatBytes / IndexBytes;
  localparam int unsigned LaneW = $clog2(BeatIndices);

  // A command that reads nothing: a valid extent is 0.
  /* verilator lint_off UNUSEDSIGNAL */
  function automatic logic skips_source(input tpu_dma_cmd_t c);
    return c.mode_fill && (c.valid_row == '0 || c.valid01_count0 == '0 || c.valid01_count1 == '0 ||
                           c.valid2 == '0);
  endfunction

  // Indices that a command uses.
  function automatic logic [15:0] listed_rows(input tpu_dma_cmd_t c);
    case (c.mode_gather)
      Gather: return skips_source(c) ? 16'd0 : c.mode_fill ? c.valid01_count0 : c.count01_count0;
      Scatter: return c.count01_count0;
      default: return 16'd0;
    endcase
  endfunction
  /* verilator lint_on UNUSEDSIGNAL */

  // The pattern by lanes for rows whose byte 0 lies in lane `phase` (modulo 4).
  function automatic logic [31:0] rotate_pattern(input logic [31:0] pattern,
                                                 input logic [1:0] phase);
    case (phase)
      2'd0: return pattern;
      2'd1: return {pattern[23:0], pattern[31:24]};
      2'd2: return {pattern[15:0], pattern[31:16]};
      default: return {pattern[7:0], pattern[31:8]};
    endcase
  endfunction

  // Move every byte of a beat up by r lanes, around its end.
  function automatic beat_t rotate_beat(input beat_t data, input off_t r);
    beat_t result;
    logic [OffW-3:0] hi, lo;
    for (int unsigned w = 0; w < BeatBytes / 4; w++) begin
      hi = (OffW-2)'(w) - r[OffW-1:2];
      lo = hi - 1'b1;
      result[32*w+:32] = 32'(({data[{hi, 5'd0}+:32], data[{lo, 5'd0}+:32]} << {r[1:0], 3'd0})
                             >> 32);
    end
    return result;
  endfunction

  // Lanes below r from `older`, the others from `newer`.
  function automatic beat_t merge_beat(input beat_t older, input beat_t newer, input off_t r);
    beat_t result;
    logic [31:0] m;
    for (int unsigned w = 0; w < BeatBytes / 4; w++) begin
      m = (32'(w) > 32'(r[OffW-1:2])) ? 32'hffffffff :
          (32'(w) < 32'(r[OffW-1:2])) ? 32'h0 : 32'hffffffff << {r[1:0], 3'd0};
      result[32*w+:32] = (older[32*w+:32] & ~m) | (newer[32*w+:32] & m);
    end
    return result;
  endfunction
endpackage
