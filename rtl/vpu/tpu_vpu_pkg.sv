// SPDX-License-Identifier: MIT
//
// Sizes and types that the parts of the vector unit share.
//
// Instructions travel decoded. In flight an instruction occupies a slot of its pipe; {pipe, slot}
// names it in the scoreboard. Slots are freed in order, each pipe has Slots of them.

/* verilator lint_off UNUSEDPARAM */
package tpu_vpu_pkg;
  import tpu_config_pkg::*;

  localparam int unsigned LaneBits = $clog2(Lanes);

  // VMEM: a row of 32-bit lanes is Words words side by side, or a part of one word.
  localparam int unsigned WordBits = VmemWordBytes * 8;
  localparam int unsigned WordAddrBits = $clog2(VmemBytes / VmemWordBytes);
  localparam int unsigned Words = (Lanes * 4 > VmemWordBytes) ? (Lanes * 4 / VmemWordBytes) : 1;
  localparam int unsigned LineBytes = Words * VmemWordBytes;
  localparam int unsigned LineBits = LineBytes * 8;
  localparam int unsigned OffBits = $clog2(LineBytes);

  localparam int unsigned AccRowBits = $clog2(AccRows);
  localparam int unsigned SmemWordBits = HbmPortBytes * 8;
  localparam int unsigned SmemAddrBits = $clog2(SmemBytes / HbmPortBytes);

  // An address of VMEM (byte) or ACC (row).
  localparam int unsigned AddrBits =
      ($clog2(VmemBytes) > AccRowBits) ? $clog2(VmemBytes) : AccRowBits;

  // One sublane of a VREG: lane l is bits [32 l +: 32].
  typedef logic [Lanes*32-1:0] row_t;
  // The words of VMEM that hold one row.
  typedef logic [LineBits-1:0] line_t;

  typedef logic [2:0] sub_t;             // number of a sublane
  typedef logic [3:0] rows_t;            // 0 .. 8
  typedef logic [LaneBits:0] lanes_t;    // 0 .. Lanes
  typedef logic [4:0] vreg_t;

  // Pipes and slots. A scoreboard word has 16 bits for writes and 16 for reads, 4 a pipe: loads only write
  // registers and stores only read them, so they share a column.
  localparam int unsigned Slots = 4;
  typedef logic [1:0] slot_t;
  typedef enum logic [2:0] {
    PipeLd  = 3'd0,
    PipeAlu = 3'd1,
    PipeRed = 3'd2,
    PipeEup = 3'd3,
    PipeSt  = 3'd4
  } pipe_e;

  // What an instruction needs; from its operation alone.
  typedef enum logic [3:0] {
    KindHalt,
    KindLoop,
    KindEnd,
    KindLd,
    KindSt,
    KindAlu,
    KindRed,
    KindEup,
    KindIllegal
  } kind_e;

  function automatic kind_e kind_of(input logic [7:0] op);
    case (op) inside
      tpu_pkg::TPU_VOP_HALT: return KindHalt;
      tpu_pkg::TPU_VOP_LOOP: return KindLoop;
      tpu_pkg::TPU_VOP_END:  return KindEnd;
      tpu_pkg::TPU_VOP_LD:   return KindLd;
      tpu_pkg::TPU_VOP_ST:   return KindSt;
      [tpu_pkg::TPU_VOP_CONST : tpu_pkg::TPU_VOP_SEL],
      [tpu_pkg::TPU_VOP_FADD : tpu_pkg::TPU_VOP_FLE],
      [tpu_pkg::TPU_VOP_IADD : tpu_pkg::TPU_VOP_ILTU],
      [tpu_pkg::TPU_VOP_AND : tpu_pkg::TPU_VOP_SAR],
      [tpu_pkg::TPU_VOP_I2F : tpu_pkg::TPU_VOP_F2BF]: return KindAlu;
      [tpu_pkg::TPU_VOP_RL_FSUM : tpu_pkg::TPU_VOP_RS_IARGMAX]: return KindRed;
      [tpu_pkg::TPU_VOP_ROT_LANE : tpu_pkg::TPU_VOP_TRANSPOSE], tpu_pkg::TPU_VOP_RAND: return KindRed;
      [tpu_pkg::TPU_VOP_EXP2 : tpu_pkg::TPU_VOP_SIGMOID]: return (EupLanes != 0) ? KindEup : KindIllegal;
      default: return KindIllegal;
    endcase
  endfunction

  // Moves of the cross-lane pipe: the low three bits of their operations.
  typedef enum logic [2:0] {
    MoveRotLane   = 3'd0,
    MoveRotSub    = 3'd1,
    MoveBcLane    = 3'd2,
    MoveBcSub     = 3'd3,
    MoveTranspose = 3'd4
  } move_e;

  // TRANSPOSE takes its tile from two VREGs.
  localparam bit TilePair = Lanes > 8;

  // A decoded instruction on its way to a pipe.
  typedef struct packed {
    logic [7:0]          op;
    vreg_t               vd;
    vreg_t               va;
    vreg_t               vb;
    vreg_t               vc;
    logic                rd_a;    // a is read from a VREG, else it is scalar sa (or unused)
    logic                rd_b;
    logic                rd_c;
    logic [31:0]         sa;      // also: imm32 of CONST, base of the IOTAs
    logic [31:0]         sb;
    logic [31:0]         sc;
    logic [31:0]         sd;      // RAND: key sa, sb, counters sc, sd; moves: n is sb
    logic                pair;    // va and vd are pairs
    rows_t               nrow;    // the mask: sublanes below nrow and lanes below ncol
    lanes_t              ncol;
    // Memory.
    logic                acc;
    logic                col;
    logic [1:0]          dtype;
    logic                itype;
    logic [1:0]          fill;
    rows_t               count;   // sublanes 0 .. count-1 are accessed
  } ins_t;
endpackage
/* verilator lint_on UNUSEDPARAM */
