// SPDX-License-Identifier: MIT
//
// VMEM: banked vector memory.
//
// VmemBanks single-port banks of VmemWordBytes. The bank of a word is the XOR of all bank-wide fields
// of its address, so that a stream whose pitch is a multiple of the bank count still walks over all
// banks (a plain low-bit choice would leave a DMA beside such a stream next to nothing). The row inside
// a bank is the rest of the address; bank and row together determine the word.
//
// Every requester has its own port and may win one bank a cycle. Arbitration is a fixed priority per
// bank, see Priority below; the weight loader goes first while weight_urgent_i says that the array waits
// for it. A requester refused StarveLimit times in a row goes to the head of the order until it wins.
//
// Timing: cycle t request and grant, t+1 the bank's output register, t+2 rsp_valid and rsp_data. A write
// is visible to reads granted later. The muxes in front of a bank are part of its clocked block,
// behind its enable: an idle bank costs one test of a bit in simulation, and no word is copied that
// no bank takes.

module tpu_vmem
  import tpu_config_pkg::*;
#(
  localparam int unsigned WordBits = VmemWordBytes * 8,
  localparam int unsigned Words = VmemBytes / VmemWordBytes,
  localparam int unsigned AddrBits = $clog2(Words),
  // VMEM words of a row of 32-bit lanes.
  localparam int unsigned NV = (Lanes * 4 > VmemWordBytes) ? (Lanes * 4 / VmemWordBytes) : 1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,

  input  logic                             stream_valid_i,
  input  logic [AddrBits-1:0]              stream_addr_i,
  output logic                             stream_gnt_o,
  output logic                             stream_rsp_valid_o,
  output logic [WordBits-1:0]              stream_rsp_data_o,

  input  logic                             weight_valid_i,
  input  logic                             weight_urgent_i,
  input  logic [AddrBits-1:0]              weight_addr_i,
  output logic                             weight_gnt_o,
  output logic                             weight_rsp_valid_o,
  output logic [WordBits-1:0]              weight_rsp_data_o,

  input  logic                             dma_rd_valid_i,
  input  logic [AddrBits-1:0]              dma_rd_addr_i,
  output logic                             dma_rd_gnt_o,
  output logic                             dma_rd_rsp_valid_o,
  output logic [WordBits-1:0]              dma_rd_rsp_data_o,

  input  logic                             dma_wr_valid_i,
  input  logic [AddrBits-1:0]              dma_wr_addr_i,
  input  logic [WordBits-1:0]              dma_wr_wdata_i,
  input  logic [VmemWordBytes-1:0]         dma_wr_be_i,
  output logic                             dma_wr_gnt_o,

  input  logic [NV-1:0]                    vld_valid_i,
  input  logic [NV-1:0][AddrBits-1:0]      vld_addr_i,
  output logic [NV-1:0]                    vld_gnt_o,
  output logic [NV-1:0]                    vld_rsp_valid_o,
  output logic [NV-1:0][WordBits-1:0]      vld_rsp_data_o,

  input  logic [NV-1:0]                    vst_valid_i,
  input  logic [NV-1:0][AddrBits-1:0]      vst_addr_i,
  input  logic [NV-1:0][WordBits-1:0]      vst_wdata_i,
  input  logic [NV-1:0][VmemWordBytes-1:0] vst_be_i,
  output logic [NV-1:0]                    vst_gnt_o,

  input  logic                             scalar_valid_i,
  input  logic                             scalar_we_i,
  input  logic [AddrBits-1:0]              scalar_addr_i,
  input  logic [WordBits-1:0]              scalar_wdata_i,
  input  logic [VmemWordBytes-1:0]         scalar_be_i,
  output logic                             scalar_gnt_o,
  output logic                             scalar_rsp_valid_o,
  output logic [WordBits-1:0]              scalar_rsp_data_o
);

  localparam int unsigned BankBits = $clog2(VmemBanks);
  localparam int unsigned Rows = Words / VmemBanks;
  localparam int unsigned StarveLimit = 15;

  // Requester numbers, highest priority first.
  localparam int unsigned PStream = 0;
  localparam int unsigned PWeight = 1;
  localparam int unsigned PDmaRd = 2;
  localparam int unsigned PDmaWr = 3;
  localparam int unsigned PVld = 4;
  localparam int unsigned PVst = 4 + NV;
  localparam int unsigned PScalar = 4 + 2 * NV;
  localparam int unsigned Ports = 5 + 2 * NV;
  localparam int unsigned PortBits = $clog2(Ports);

  typedef logic [BankBits-1:0] bank_of_port_t [0:Ports-1];
  typedef logic [Ports-1:0][3:0] age_t;

  // XOR of all fields of BankBits bits of a word address.
  function automatic logic [BankBits-1:0] bank_of(input logic [AddrBits-1:0] addr);
    logic [31:0] a, b;
    a = 32'(addr);
    b = 32'd0;
    for (int unsigned f = 0; f < (AddrBits + BankBits - 1) / BankBits; f++) begin
      b = b ^ (a >> (f * BankBits));
    end
    return b[BankBits-1:0];
  endfunction

  // Replace the enabled bytes of a word.
  function automatic logic [WordBits-1:0] merge(
      input logic [WordBits-1:0] old, input logic [WordBits-1:0] data,
      input logic [VmemWordBytes-1:0] be);
    logic [WordBits-1:0] r;
    logic [31:0] m;
    for (int unsigned w = 0; w < VmemWordBytes / 4; w++) begin
      m = {{8{be[4*w+3]}}, {8{be[4*w+2]}}, {8{be[4*w+1]}}, {8{be[4*w]}}};
      r[32*w +: 32] = (old[32*w +: 32] & ~m) | (data[32*w +: 32] & m);
    end
    return r;
  endfunction

  logic [Ports-1:0] valid, gnt;
  bank_of_port_t bank;
  age_t age_q;
  logic [Ports-1:0] starved_q;

  always_comb begin
    valid[PStream] = stream_valid_i;
    valid[PWeight] = weight_valid_i;
    valid[PDmaRd] = dma_rd_valid_i;
    valid[PDmaWr] = dma_wr_valid_i;
    valid[PVld +: NV] = vld_valid_i;
    valid[PVst +: NV] = vst_valid_i;
    valid[PScalar] = scalar_valid_i;
  end

  // ---- arbitration: who wins each bank ----

  logic [VmemBanks-1:0] bank_en;
  logic [PortBits-1:0] bank_win [0:VmemBanks-1];

  always_comb begin
    bank = '{default: '0};
    gnt = '0;
    bank_en = '0;
    bank_win = '{default: '0};
    if (rst_ni && valid != '0) begin
      if (stream_valid_i) bank[PStream] = bank_of(stream_addr_i);
      if (weight_valid_i) bank[PWeight] = bank_of(weight_addr_i);
      if (dma_rd_valid_i) bank[PDmaRd] = bank_of(dma_rd_addr_i);
      if (dma_wr_valid_i) bank[PDmaWr] = bank_of(dma_wr_addr_i);
      for (int unsigned v = 0; v < NV; v++) begin
        if (vld_valid_i[v]) bank[PVld+v] = bank_of(vld_addr_i[v]);
        if (vst_valid_i[v]) bank[PVst+v] = bank_of(vst_addr_i[v]);
      end
      if (scalar_valid_i) bank[PScalar] = bank_of(scalar_addr_i);
      if ((valid & starved_q) != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (valid[p] && starved_q[p] && !bank_en[bank[p]]) begin
            gnt[p] = 1'b1;
            bank_en[bank[p]] = 1'b1;
            bank_win[bank[p]] = PortBits'(p);
          end
        end
      end
      if (valid[PWeight] && weight_urgent_i && !bank_en[bank[PWeight]]) begin
        gnt[PWeight] = 1'b1;
        bank_en[bank[PWeight]] = 1'b1;
        bank_win[bank[PWeight]] = PortBits'(PWeight);
      end
      // Two loops of at most 8: Verilator unrolls no longer ones, and this one should be.
      for (int unsigned g = 0; g < (Ports + 7) / 8; g++) begin
        for (int unsigned i = 0; i < 8; i++) begin
          if (8 * g + i < Ports) begin
            if (valid[8*g+i] && !gnt[8*g+i] && !bank_en[bank[8*g+i]]) begin
              gnt[8*g+i] = 1'b1;
              bank_en[bank[8*g+i]] = 1'b1;
              bank_win[bank[8*g+i]] = PortBits'(8 * g + i);
            end
          end
        end
      end
    end
  end

  assign stream_gnt_o = gnt[PStream];
  assign weight_gnt_o = gnt[PWeight];
  assign dma_rd_gnt_o = gnt[PDmaRd];
  assign dma_wr_gnt_o = gnt[PDmaWr];
  assign vld_gnt_o = gnt[PVld +: NV];
  assign vst_gnt_o = gnt[PVst +: NV];
  assign scalar_gnt_o = gnt[PScalar];

  // Refusals in a row, per requester.
  logic aging_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      age_q <= '0;
      starved_q <= '0;
      aging_q <= 1'b0;
    end else if (((valid & ~gnt) != '0) || aging_q) begin
      aging_q <= (valid & ~gnt) != '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        age_q[p] <= (valid[p] && !gnt[p]) ? age_q[p] + {3'd0, age_q[p] != 4'(StarveLimit)} : 4'd0;
        starved_q[p] <= valid[p] && !gnt[p] && (age_q[p] >= 4'(StarveLimit - 1));
      end
    end
  end

  // ---- banks ----

  logic [WordBits-1:0] rdata_q [0:VmemBanks-1];

  for (genvar b = 0; b < VmemBanks; b++) begin : gen_bank
    (* no_rw_check, ram_style = "block" *)
    logic [WordBits-1:0] mem [0:Rows-1] /* verilator public_flat_rw */;

`ifdef SYNTHESIS
    logic [WordBits-1:0] out_q;
    assign rdata_q[b] = out_q;
`endif

    always_ff @(posedge clk_i) begin
      if (bank_en[b]) begin
        automatic logic we = 1'b0;
        automatic logic [AddrBits-BankBits-1:0] row = '0;
        automatic logic [WordBits-1:0] wdata = '0;
        automatic logic [VmemWordBytes-1:0] be = '0;
        case (bank_win[b])
          PortBits'(PStream): row = stream_addr_i[AddrBits-1:BankBits];
          PortBits'(PWeight): row = weight_addr_i[AddrBits-1:BankBits];
          PortBits'(PDmaRd): row = dma_rd_addr_i[AddrBits-1:BankBits];
          PortBits'(PDmaWr): begin
            we = 1'b1;
            row = dma_wr_addr_i[AddrBits-1:BankBits];
            wdata = dma_wr_wdata_i;
            be = dma_wr_be_i;
          end
          PortBits'(PScalar): begin
            we = scalar_we_i;
            row = scalar_addr_i[AddrBits-1:BankBits];
            wdata = scalar_wdata_i;
            be = scalar_be_i;
          end
          default: begin
            for (int unsigned v = 0; v < NV; v++) begin
              if (bank_win[b] == PortBits'(PVld + v)) row = vld_addr_i[v][AddrBits-1:BankBits];
              if (bank_win[b] == PortBits'(PVst + v)) begin
                we = 1'b1;
                row = vst_addr_i[v][AddrBits-1:BankBits];
                wdata = vst_wdata_i[v];
                be = vst_be_i[v];
              end
            end
          end
        endcase
`ifdef SYNTHESIS
        // The form from which tools infer block RAM with byte enables and an output register.
        for (int unsigned i = 0; i < VmemWordBytes; i++) begin
          if (we && be[i]) mem[row][8*i +: 8] <= wdata[8*i +: 8];
        end
        if (!we) out_q <= mem[row];
`else
        // The same in the form that simulates fast.
        if (we) mem[row] <= merge(mem[row], wdata, be);
        else rdata_q[b] <= mem[row];
`endif
      end
    end

`ifndef SYNTHESIS
    // Contents after hard reset (docs/contract.md section 9).
    initial begin : init_mem
      int unsigned seed, word;
      if ($value$plusargs("tpu_seed=%d", seed) != 0) begin
        for (int unsigned r = 0; r < Rows; r++) begin
          word = r * VmemBanks + (32'(bank_of(AddrBits'(r * VmemBanks))) ^ 32'(b));
          for (int unsigned i = 0; i < VmemWordBytes / 4; i++) begin
            mem[r][32*i +: 32] = tpu_pkg::tpu_reset_word(seed, 32'd1, word * (VmemWordBytes / 4) + i);
          end
        end
      end
    end
`endif
  end

  // ---- responses: one register a reader behind the banks ----

  logic [Ports-1:0] read_q, rsp_valid_q;
  logic [Ports-1:0] writes;

  always_comb begin
    writes = '0;
    writes[PDmaWr] = 1'b1;
    writes[PVst +: NV] = '1;
    writes[PScalar] = scalar_we_i;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q <= '0;
      rsp_valid_q <= '0;
    end else begin
      read_q <= gnt & ~writes;
      rsp_valid_q <= read_q;
    end
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_port
    if (p < PDmaWr || (p >= PVld && p < PVst) || p == PScalar) begin : gen_reader
      logic [BankBits-1:0] from_q;  // the bank that answers
      always_ff @(posedge clk_i) begin
        if (gnt[p]) from_q <= bank[p];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (read_q[PStream]) stream_rsp_data_o <= rdata_q[gen_port[PStream].gen_reader.from_q];
    if (read_q[PWeight]) weight_rsp_data_o <= rdata_q[gen_port[PWeight].gen_reader.from_q];
    if (read_q[PDmaRd]) dma_rd_rsp_data_o <= rdata_q[gen_port[PDmaRd].gen_reader.from_q];
    if (read_q[PScalar]) scalar_rsp_data_o <= rdata_q[gen_port[PScalar].gen_reader.from_q];
  end
  for (genvar v = 0; v < NV; v++) begin : gen_vld
    always_ff @(posedge clk_i) begin
      if (read_q[PVld+v]) vld_rsp_data_o[v] <= rdata_q[gen_port[PVld+v].gen_reader.from_q];
    end
  end

  assign stream_rsp_valid_o = rsp_valid_q[PStream];
  assign weight_rsp_valid_o = rsp_valid_q[PWeight];
  assign dma_rd_rsp_valid_o = rsp_valid_q[PDmaRd];
  assign vld_rsp_valid_o = rsp_valid_q[PVld +: NV];
  assign scalar_rsp_valid_o = rsp_valid_q[PScalar];

endmodule
