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
  logic [TraceSlots-1:0][SlotBits-1:0] slot;

  assign trace_any_o = (valid_i != '0);

  always_comb begin
    trace_valid_o = '0;
    trace_data_o = '0;
    slot = '0;
    if (valid_i != '0) begin
      for (int unsigned i = 0; i < TraceSlots; i++) begin
        for (int unsigned j = 0; j < TraceSlots; j++) begin
          if (valid_i[j] && ((j < i) ? {event_i[j].agent, event_i[j].code} <= {event_i[i].agent, event_i[i].code}
                                     : {event_i[j].agent, event_i[j].code} < {event_i[i].agent, event_i[i].code})) begin
            slot[i] = slot[i] + SlotBits'(1);
          end
        end
      end
      for (int unsigned s = 0; s < TraceSlots; s++) begin
        for (int unsigned i = 0; i < TraceSlots; i++) begin
          if (valid_i[i] && (slot[i] == SlotBits'(s))) begin
            trace_valid_o[s] = 1'b1;
            trace_data_o[s] = trace_data_o[s] | event_i[i];
          end
        end
      end
    end
  end

endmodule
