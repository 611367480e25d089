// SPDX-License-Identifier: MIT
//
// The trace port: the events of a cycle in the order of the queue, then of the event code.
//
// Every source has a fixed number; its slot is the number of events that come before it. Sources with
// equal queue and code (the two signals of a command) keep their order. All of it is computed only in a
// cycle that has events.

module tpu_trace
  import tpu_frontend_pkg::*;
(
  input  logic   [TraceSlots-1:0]                valid_i,
  input  event_t [TraceSlots-1:0]                event_i,
  output logic                                   trace_any_o,
  output logic   [TraceSlots-1:0]                trace_valid_o,
  output logic   [TraceSlots-1:0][TraceBits-1:0] trace_data_o
);

  localparam int unsigned SlotBits = $clog2(TraceSlots);
  typedef logic [TraceSlots-1:0][TraceBits-1:0] slots_t;

  function automatic slots_t sort();
    slots_t r;
    logic [SlotBits-1:0] slot;
    logic [11:0] mine, other;
    r = '0;
    for (int unsigned i = 0; i < TraceSlots; i++) begin
      slot = '0;
      mine = {event_i[i].agent, event_i[i].code};
      for (int unsigned j = 0; j < TraceSlots; j++) begin
        other = {event_i[j].agent, event_i[j].code};
        if (valid_i[j] && ((j < i) ? (other <= mine) : (other < mine))) slot = slot + SlotBits'(1);
      end
      for (int unsigned s = 0; s < TraceSlots; s++) begin
        if (valid_i[i] && (slot == SlotBits'(s))) r[s] = event_i[i];
      end
    end
    return r;
  endfunction

  assign trace_any_o = (valid_i != '0);

  always_comb begin
    trace_data_o = '0;
    trace_valid_o = '0;
    if (valid_i != '0) begin
      trace_data_o = sort();
      // As many slots as there are events.
      for (int unsigned i = 0; i < TraceSlots; i++) begin
        if (valid_i[i]) trace_valid_o = {trace_valid_o[TraceSlots-2:0], 1'b1};
      end
    end
  end

endmodule
