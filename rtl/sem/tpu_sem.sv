// SPDX-License-Identifier: MIT
//
// The semaphore file: `Semaphores` counters of 32 bits, and the decision which queue heads may start.
//
// A counter has one read port for every wait that is looked at, so looking at all waits of all heads in
// every cycle would cost 28 wide multiplexers. Instead a head is looked at only when something changed
// for it (it is new, or a semaphore in its waits was signalled), and at most two heads a cycle, in rising
// queue order from a pointer that goes round. Seven heads are through in four cycles, in the worst case
// one later if two want the same semaphore; that is what "at most 4 cycles after all waits hold" rests on.
// A head that fails is left alone until a signal hits one of its semaphores. The lower queue of a pair
// goes first; the other looks again in the next cycle if the two share a semaphore that one of them
// consumes. So every cycle with such a fight may delay the heads behind it by one; programs in which a
// semaphore has one consumer, as the architecture demands, have none.
//
// Changes of one cycle: the takes of up to two heads, and either the two signals of one completing
// command or one operation of the scalar core (the caller holds completions back in that cycle). A head
// that consumes what the scalar core takes in this cycle looks again in the next. Takes and signals of
// one counter are added up before the overflow check. So there are 2 x Waits comparators that double as
// subtractors, and two adders, whatever the number of counters.
//
// `live_q` says which counters were written since all were zeroed; an abort then zeroes them in one
// cycle without a reset on every bit.

module tpu_sem
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
  parameter  int unsigned Looks = 2,  // heads looked at in a cycle: 1 or 2
  localparam int unsigned SemBits = $clog2(Semaphores)
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               clear_i,        // abort: zero all values, forget the heads
  input  logic                               clear_modes_i,  // with clear_i: modes to COUNT

  // Heads of the queues. fresh: the head is being loaded, it is there from the next cycle on.
  // ask: it is there and its engine could take it.
  input  logic  [Queues-1:0]                 fresh_i,
  input  logic  [Queues-1:0]                 ask_i,
  input  wait_t [Queues-1:0][Waits-1:0]      waits_i,
  input  logic  [Queues-1:0][Waits-1:0][31:0] amounts_i,
  output logic  [Queues-1:0]                 start_o,
  output logic  [Queues-1:0]                 waiting_o,      // looked at, does not hold
  output logic  [Queues-1:0]                 settled_o,      // and nothing has changed since

  // The two looks of this cycle, for the trace; the lower queue is number 0.
  output logic  [1:0]                        look_start_o,
  output logic  [1:0]                        look_wait_o,    // found for the first time that it must wait
  output logic  [1:0][2:0]                   look_queue_o,
  output logic  [1:0][5:0]                   look_sem_o,     // the first semaphore that does not hold

  // Signals of a completing command. Not together with op_i.
  input  logic  [1:0]                        sig_valid_i,
  input  logic  [1:0][5:0]                   sig_sem_i,
  input  logic  [1:0][31:0]                  sig_amount_i,
  input  logic  [1:0]                        sig_huge_i,     // the amount has more than 32 bits

  // Operation of the scalar core. SemMode: op_sem_i[0] is the word of SEM_MODE.
  input  sem_op_e                            op_i,
  input  logic  [5:0]                        op_sem_i,
  input  logic  [31:0]                       op_data_i,

  output logic                               overflow_o,
  output logic                               underflow_o,
  output logic  [5:0]                        fault_sem_o,    // of either
  output logic  [31:0]                       fault_value_o,  // the value kept

  input  logic                               rd_valid_i,
  input  logic  [SemBits-1:0]                rd_sem_i,
  output logic  [31:0]                       rd_value_o,
  output logic  [63:0]                       mode_o
);

  typedef logic [SemBits-1:0] sem_t;

  logic [31:0] value_q [0:Semaphores-1];
  logic [Semaphores-1:0] live_q, ticket_q;
  logic [Queues-1:0] dirty_q, waiting_q;
  logic [2:0] next_q;  // the queue from which the next look starts

  // Value of a semaphore. Synthesis turns an index into a tree of two-input multiplexers; a decoder with
  // AND and OR is two thirds of that.
  function automatic logic [31:0] value_of(input sem_t sem);
`ifdef SYNTHESIS
    logic [31:0] r;
    r = '0;
    for (int unsigned s = 0; s < Semaphores; s++) r = r | (value_q[s] & {32{live_q[s] & (sem == sem_t'(s))}});
    return r;
`else
    return live_q[sem] ? value_q[sem] : 32'd0;
`endif
  endfunction

  function automatic logic [Queues-1:0] lowest(input logic [Queues-1:0] bits);
    return bits & (~bits + Queues'(1));
  endfunction

  // ---- which heads to look at ----

  logic [Queues-1:0] pending, from_next, rest, rest_next, one, two;
  logic wrapped;
  logic [1:0][Queues-1:0] pick;  // one-hot; number 0 is the lower queue

  assign pending = dirty_q & ask_i;
  assign from_next = pending & (Queues'('1) << next_q);
  assign one = lowest((from_next != '0) ? from_next : pending);
  assign rest = pending & ~one;
  assign rest_next = rest & from_next;
  assign two = (Looks > 1) ? lowest((rest_next != '0) ? rest_next : rest) : '0;
  assign wrapped = (two != '0) & (two < one);
  assign pick = wrapped ? {one, two} : {two, one};

  // ---- the look ----

  wait_t [1:0][Waits-1:0] waits;
  logic [1:0][Waits-1:0][31:0] amounts;
  logic [1:0][Waits-1:0][32:0] left;  // value - amount, with borrow
  logic [1:0][Waits-1:0] ticket, take, misses;
  logic [1:0] later, starts;
  logic [1:0][2:0] queue;

  always_comb begin
    waits = '0;
    amounts = '0;
    left = '0;
    ticket = '0;
    take = '0;
    misses = '0;
    later = '0;
    starts = '0;
    queue = '0;
    look_sem_o = '0;
    start_o = '0;
    if (pending != '0) begin
      for (int unsigned p = 0; p < 2; p++) begin
        for (int unsigned q = 0; q < Queues; q++) begin
          if (pick[p][q]) begin
            waits[p] = waits_i[q];
            amounts[p] = amounts_i[q];
            queue[p] = 3'(q);
          end
        end
        for (int unsigned i = 0; i < Waits; i++) begin
          ticket[p][i] = ticket_q[sem_t'(waits[p][i].sem)];
          left[p][i] = {1'b0, value_of(sem_t'(waits[p][i].sem))} - {1'b0, amounts[p][i]};
          take[p][i] = waits[p][i].en & waits[p][i].consume & ~ticket[p][i];
          misses[p][i] = waits[p][i].en & (ticket[p][i] ? left[p][i][31] : left[p][i][32]);
          if (take[p][i] && (op_i == SemTake) && (op_sem_i == waits[p][i].sem)) later[p] = 1'b1;
        end
        if (misses[p] != '0) later[p] = 1'b0;  // values only fall by takes: it must wait in any case
        for (int i = int'(Waits) - 1; i >= 0; i--) begin
          if (misses[p][i]) look_sem_o[p] = waits[p][i].sem;
        end
      end
      starts[0] = (pick[0] != '0) & (misses[0] == '0) & ~later[0];
      for (int unsigned i = 0; i < Waits; i++) begin
        for (int unsigned j = 0; j < Waits; j++) begin
          if (waits[0][i].en && waits[1][j].en && (waits[0][i].sem == waits[1][j].sem) &&
              (take[0][i] || take[1][j]) && starts[0] && (misses[1] == '0)) later[1] = 1'b1;
        end
      end
      starts[1] = (pick[1] != '0) & (misses[1] == '0) & ~later[1];
      start_o = (starts[0] ? pick[0] : '0) | (starts[1] ? pick[1] : '0);
    end
  end

  // A look that must be repeated leaves the head as it was.
  logic [Queues-1:0] looked, failed;
  assign looked = (later[0] ? '0 : pick[0]) | (later[1] ? '0 : pick[1]);
  assign failed = looked & ~start_o;
  assign look_start_o = starts;
  assign look_wait_o[0] = ((failed & pick[0] & ~waiting_q) != '0);
  assign look_wait_o[1] = ((failed & pick[1] & ~waiting_q) != '0);
  assign look_queue_o = queue;

  // ---- changes by signals and by the scalar core ----

  logic [1:0] slot_valid, slot_ovf, slot_write;
  sem_t [1:0] slot_sem;
  logic [1:0][31:0] slot_amount, slot_old, slot_new, taken;
  logic [1:0][33:0] sum;
  logic [1:0] huge, added;
  logic slots_same;

  always_comb begin
    slot_valid = '0;
    slot_ovf = '0;
    slot_sem = '0;
    slot_amount = '0;
    slot_old = '0;
    slot_new = '0;
    slots_same = 1'b0;
    huge = '0;
    added = '0;
    taken = '0;
    sum = '0;
    underflow_o = 1'b0;
    if ((op_i != SemNone) || (sig_valid_i != '0)) begin
      slot_valid = sig_valid_i;
      slot_sem = {sem_t'(sig_sem_i[1]), sem_t'(sig_sem_i[0])};
      slot_amount = sig_amount_i;
      if (op_i != SemNone) begin
        slot_valid = {1'b0, op_i != SemMode};
        slot_sem[0] = sem_t'(op_sem_i);
        slot_amount[0] = op_data_i;
      end
      huge = (op_i == SemNone) ? sig_huge_i : '0;
      slots_same = (slot_valid == 2'b11) && (slot_sem[0] == slot_sem[1]);
      huge[0] = huge[0] | (slots_same & huge[1]);
      added[0] = (slot_amount[0] != '0) || (slots_same && (slot_amount[1] != '0));
      added[1] = slot_amount[1] != '0;
      for (int unsigned s = 0; s < 2; s++) begin
        for (int unsigned p = 0; p < 2; p++) begin
          for (int unsigned i = 0; i < Waits; i++) begin
            if (starts[p] && take[p][i] && (sem_t'(waits[p][i].sem) == slot_sem[s])) begin
              taken[s] = taken[s] | amounts[p][i];  // at most one
            end
          end
        end
        slot_old[s] = value_of(slot_sem[s]);
        sum[s] = {2'b0, slot_old[s]} - {2'b0, taken[s]} + {2'b0, slot_amount[s]} +
                 ((s == 0) && slots_same ? {2'b0, slot_amount[1]} : 34'd0);
        slot_new[s] = sum[s][31:0];
        // Adding nothing is no addition: a value beyond the limit can come from a mode change.
        if (!ticket_q[slot_sem[s]] && (((sum[s][33:31] != '0) && added[s]) || huge[s])) begin
          slot_ovf[s] = slot_valid[s];
          slot_new[s] = slot_old[s];
        end
      end
      if (op_i == SemTake) begin
        slot_ovf[0] = 1'b0;
        underflow_o = op_data_i > slot_old[0];
        slot_new[0] = underflow_o ? slot_old[0] : slot_old[0] - op_data_i;
      end
      if (op_i == SemValue) begin
        slot_ovf[0] = 1'b0;
        slot_new[0] = op_data_i;
      end
    end
  end
  // A merged slot 1 is part of slot 0.
  assign slot_write = {slot_valid[1] & ~slots_same, slot_valid[0]};

  // If both signals overflow, the lower semaphore is reported.
  logic fault1;
  assign fault1 = slot_ovf[1] & slot_write[1] & (~slot_ovf[0] | (slot_sem[1] < slot_sem[0]));
  assign overflow_o = slot_ovf[0] | (slot_ovf[1] & slot_write[1]);
  assign fault_sem_o = 6'(slot_sem[fault1]);
  assign fault_value_o = slot_old[fault1];

  // Heads that have a reason to look again.
  logic [Queues-1:0] hit;
  always_comb begin
    hit = '0;
    if (slot_write != '0) begin
      for (int unsigned q = 0; q < Queues; q++) begin
        for (int unsigned i = 0; i < Waits; i++) begin
          if (waits_i[q][i].en &&
              ((slot_write[0] && (sem_t'(waits_i[q][i].sem) == slot_sem[0])) ||
               (slot_write[1] && (sem_t'(waits_i[q][i].sem) == slot_sem[1])))) hit[q] = 1'b1;
        end
      end
    end
  end

  // ---- state ----

`ifdef SYNTHESIS
  // What follows below, for every semaphore: a slot's value includes the takes.
  for (genvar s = 0; s < Semaphores; s++) begin : gen_write
    logic [1:0] slot_hit;
    logic [1:0][Waits-1:0] take_hit;
    logic [31:0] next;
    always_comb begin
      for (int unsigned i = 0; i < 2; i++) slot_hit[i] = slot_write[i] & (slot_sem[i] == sem_t'(s));
      next = (slot_new[0] & {32{slot_hit[0]}}) | (slot_new[1] & {32{slot_hit[1]}});
      for (int unsigned p = 0; p < 2; p++) begin
        for (int unsigned i = 0; i < Waits; i++) begin
          take_hit[p][i] = starts[p] & take[p][i] & (sem_t'(waits[p][i].sem) == sem_t'(s)) & (slot_hit == '0);
          next = next | (left[p][i][31:0] & {32{take_hit[p][i]}});
        end
      end
    end
    always_ff @(posedge clk_i) begin
      if (slot_hit != '0 || take_hit != '0) value_q[s] <= next;
    end
  end
`else
  always_ff @(posedge clk_i) begin
    if (starts != '0) begin
      for (int unsigned i = 0; i < Waits; i++) begin
        if (starts[0] && take[0][i]) value_q[sem_t'(waits[0][i].sem)] <= left[0][i][31:0];
        if (starts[1] && take[1][i]) value_q[sem_t'(waits[1][i].sem)] <= left[1][i][31:0];
      end
    end
    // After the takes: a slot's sum includes them.
    if (slot_write[0]) value_q[slot_sem[0]] <= slot_new[0];
    if (slot_write[1]) value_q[slot_sem[1]] <= slot_new[1];
  end
`endif

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      live_q <= '0;
    end else begin
      if (slot_write[0]) live_q[slot_sem[0]] <= 1'b1;
      if (slot_write[1]) live_q[slot_sem[1]] <= 1'b1;
    end
    if (!rst_ni || clear_modes_i) begin
      ticket_q <= '0;
    end else if (op_i == SemMode) begin
      if (!op_sem_i[0]) ticket_q[31:0] <= op_data_i;
      if (Semaphores > 32 && op_sem_i[0]) ticket_q[Semaphores-1 -: 32] <= op_data_i;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      dirty_q <= '0;
      waiting_q <= '0;
      next_q <= '0;
    end else begin
      dirty_q <= (dirty_q & ~looked) | fresh_i | hit;
      waiting_q <= (waiting_q & ~start_o) | failed;
      if (later[0]) next_q <= queue[0];
      else if (later[1]) next_q <= queue[1];
      else if (two != '0) next_q <= queue[wrapped ? 0 : 1] + 3'd1;
      else if (one != '0) next_q <= queue[0] + 3'd1;
      else next_q <= '0;
    end
  end

  assign waiting_o = waiting_q;
  assign settled_o = waiting_q & ~dirty_q;
  assign mode_o = 64'(ticket_q);
  always_comb begin
    rd_value_o = '0;
    if (rd_valid_i) rd_value_o = value_of(rd_sem_i);
  end

`ifndef SYNTHESIS
  // Rules of the ports.
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (op_i == SemNone || sig_valid_i == '0) else $error("tpu_sem: signals and op in one cycle");
    end
  end
`endif

endmodule
