// SPDX-License-Identifier: MIT
//
// One bank of ACC: a row of lanes wide, one read port and one write port with a mask of lanes.
//
// Read data comes in the cycle after rd_en_i and stays until the next read. Reading and writing one
// row in one cycle must not happen (block RAM leaves the data undefined); tpu_acc keeps to it, and
// the simulation model asserts it.

module tpu_acc_bank
  import tpu_config_pkg::*;
#(
  parameter int unsigned Bank = 0,
  localparam int unsigned Rows = AccRows / 2,
  localparam int unsigned RowAddrW = $clog2(Rows)
) (
  input  logic                clk_i,
  input  logic                rd_en_i,
  input  logic [RowAddrW-1:0] rd_row_i,
  output logic [Dim*32-1:0]   rd_data_o,
  input  logic                wr_en_i,
  input  logic [RowAddrW-1:0] wr_row_i,
  input  logic [Dim-1:0]      wr_mask_i,
  input  logic [Dim*32-1:0]   wr_data_i
);

  (* no_rw_check, ram_style = "block" *)
  logic [Dim*32-1:0] mem[Rows]  /* verilator public_flat_rw */;

  always_ff @(posedge clk_i) begin
    if (rd_en_i) rd_data_o <= mem[rd_row_i];
  end

`ifdef SYNTHESIS
  // The form from which tools infer block RAM with write enables.
  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Dim; l++) begin
      if (wr_en_i && wr_mask_i[l]) mem[wr_row_i][l*32+:32] <= wr_data_i[l*32+:32];
    end
  end
`else
  // The same in the form that simulates fast.
  function automatic logic [Dim*32-1:0] merge(input logic [Dim*32-1:0] old,
                                              input logic [Dim*32-1:0] data,
                                              input logic [Dim-1:0] mask);
    logic [Dim*32-1:0] r;
    for (int unsigned l = 0; l < Dim; l++) r[l*32+:32] = mask[l] ? data[l*32+:32] : old[l*32+:32];
    return r;
  endfunction

  logic partial;
  assign partial = ~&wr_mask_i;

  always_ff @(posedge clk_i) begin
    if (wr_en_i & ~partial) mem[wr_row_i] <= wr_data_i;
    if (wr_en_i & partial) mem[wr_row_i] <= merge(mem[wr_row_i], wr_data_i, wr_mask_i);
    assert (!(rd_en_i && wr_en_i && rd_row_i == wr_row_i))
    else $error("tpu_acc_bank: row %0d read and written in one cycle", rd_row_i);
  end

  // Contents after hard reset (docs/contract.md section 9).
  initial begin : init_mem
    int unsigned seed, row;
    if ($value$plusargs("tpu_seed=%d", seed) != 0) begin
      for (int unsigned r = 0; r < Rows; r++) begin
        row = 2 * r + Bank;
        for (int unsigned l = 0; l < Dim; l++) begin
          mem[r][l*32+:32] = tpu_pkg::tpu_reset_word(seed, 32'd3, row * Dim + l);
        end
      end
    end
  end
`endif

endmodule
