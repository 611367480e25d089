// SPDX-License-Identifier: MIT
//
// A register between the scalar core's pins and the front end.
//
// Writes are posted: they are taken at once when the register is free or becomes free, and take effect
// one cycle later than they arrive. Reads hold the pins until the front end has answered, behind every
// earlier write. Order is kept, so nothing but one cycle of time can be observed. What it buys: no
// combinational path from the pins into the device (decoder, memory arbiters), which shortens the
// critical path on an FPGA and keeps a simulator from evaluating that logic once more each cycle.

module tpu_mmio_slice (
  input  logic        clk_i,
  input  logic        rst_ni,

  input  logic        mmio_valid_i,
  input  logic        mmio_we_i,
  input  logic [23:0] mmio_addr_i,
  input  logic [3:0]  mmio_be_i,
  input  logic [31:0] mmio_wdata_i,
  output logic        mmio_ready_o,
  output logic [31:0] mmio_rdata_o,

  output logic        fe_valid_o,
  output logic        fe_we_o,
  output logic [23:0] fe_addr_o,
  output logic [3:0]  fe_be_o,
  output logic [31:0] fe_wdata_o,
  input  logic        fe_ready_i,
  input  logic [31:0] fe_rdata_i
);

  logic reading, free, take;
  assign reading = fe_valid_o & ~fe_we_o;       // of the request that still holds the pins
  assign free = ~fe_valid_o | (fe_we_o & fe_ready_i);
  assign take = mmio_valid_i & free;

  assign mmio_ready_o = mmio_we_i ? free : (reading & fe_ready_i);
  assign mmio_rdata_o = fe_rdata_i;

  logic clk;
  tpu_clock_gate u_clock (.clk_i, .en_i(~rst_ni | mmio_valid_i | fe_valid_o), .clk_o(clk));

  always_ff @(posedge clk) begin
    if (!rst_ni) fe_valid_o <= 1'b0;
    else if (take) fe_valid_o <= 1'b1;
    else if (fe_ready_i) fe_valid_o <= 1'b0;
    if (take) begin
      fe_we_o <= mmio_we_i;
      fe_addr_o <= mmio_addr_i;
      fe_be_o <= mmio_be_i;
      fe_wdata_o <= mmio_wdata_i;
    end
  end

endmodule
