// SPDX-License-Identifier: MIT
//
// Sizes and types that the parts of the MXU share, derived from the configuration.

/* verilator lint_off UNUSEDPARAM */  // not every testbench top uses every size
package tpu_mxu_pkg;

  import tpu_config_pkg::*;

  localparam bit Bf16 = MxuBf16 != 0;
  localparam int unsigned ElemW = Bf16 ? 16 : 8;  // bits of an operand element inside the MXU
  localparam int unsigned RowW = Dim * ElemW;
  localparam int unsigned DimLog = $clog2(Dim);
  localparam int unsigned CntW = DimLog + 1;  // counts 0 .. Dim
  localparam int unsigned AddrW = $clog2(VmemBytes);  // byte address in VMEM
  localparam int unsigned WordLog = $clog2(VmemWordBytes);
  localparam int unsigned WordAddrW = AddrW - WordLog;
  localparam int unsigned AccW = $clog2(AccRows);
  localparam int unsigned KTileW = AddrW - DimLog;  // a tile number along K, which VMEM bounds
  localparam int unsigned MacsW = 2 * DimLog + 1;  // multiply-accumulates of a row, 0 .. Dim*Dim
  localparam int unsigned WorkW = 48;
  localparam int unsigned MaxStarted = 4;  // commands taken and not yet complete
  localparam int unsigned AccLatency = 3;  // cycles from a row's hand-over to its write in ACC

  // A command that passed its start checks, cut to the bits that are left then. `_last` numbers
  // are the index of the last one, `_end` the size of the last tile.
  typedef struct packed {
    logic              int8;
    logic              transpose;   // B is stored N x K
    logic              accumulate;
    logic              no_k;        // K = 0: write +0, read nothing
    logic [AddrW-1:0]  a;
    logic [AddrW-1:0]  b;
    logic [AccW-1:0]   c;
    logic [AddrW-1:0]  a_pitch;
    logic [AddrW-1:0]  b_pitch;
    logic [AccW-1:0]   c_pitch;
    logic [AccW-1:0]   m_last;
    logic [AccW-1:0]   n_tile_last;
    logic [CntW-1:0]   n_end;
    logic [KTileW-1:0] k_tile_last;
    logic [CntW-1:0]   k_end;
  } job_t;

  // What the output side needs to know of a tile.
  typedef struct packed {
    logic             int8;
    logic             accumulate;
    logic [AccW-1:0]  row;     // ACC row of the tile's first row
    logic [CntW-1:0]  lanes;   // valid lanes
    logic [MacsW-1:0] macs;    // useful multiply-accumulates of one row
  } tile_t;

  // Bytes of Dim elements.
  function automatic logic [AddrW-1:0] row_bytes(input logic int8);
    return int8 ? AddrW'(Dim) : AddrW'(2 * Dim);
  endfunction

endpackage
/* verilator lint_on UNUSEDPARAM */
