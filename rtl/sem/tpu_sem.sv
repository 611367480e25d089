// SPDX-License-Identifier: MIT
//
// The semaphore file: `Semaphores` counters of 32 bits, and the decision which queue heads may start.
//
// Looking at all waits of all heads in every cycle would need 28 read ports and comparators. Instead a
// head is looked at only when something changed for it (it is new, or a semaphore in its waits was
// signalled), and at most two heads a cycle, in an order that goes round. Seven heads are through in four
// cycles; that is what "at most 4 cycles after all waits hold" rests on. A head that fails is left alone
// until a signal hits one of its semaphores.
//
// Writes are limited to two counters a cycle (see tpu_sem_file), shared by
//   - one operation of the scalar core, which always goes first;
//   - the takes of starting heads: comparators double as subtractors. What the ports cannot write in the
//     start cycle is kept and written in the next ones; until then nothing is looked at, and the scalar
//     core sees the kept values, so all takes of a command happen together for everybody;
//   - the two signals of one completing command, in a cycle without the other two (hold_o).
//
// The lower queue of the two heads goes first. The other looks again in the next cycle if the two share a
// semaphore that one of them consumes, or consume more than there are ports. A head that consumes a
// semaphore which the scalar core works on looks again, too. Such a cycle may delay the heads behind it by
// one; programs in which a semaphore has one consumer, and commands consume one semaphore, have none.

module tpu_sem
  import tpu_config_pkg::*;
  import tpu_frontend_pkg::*;
#(
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

  // Signals of a completing command, only while hold_o is low.
  output logic                               hold_o,
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

  logic [Semaphores-1:0] ticket_q;
  logic [Queues-1:0] dirty_q, waiting_q;
  logic [2:0] next_q;  // the queue from which the next look starts

  function automatic logic [Queues-1:0] lowest(input logic [Queues-1:0] bits);
    return bits & (~bits + Queues'(1));
  endfunction

  // ---- storage: groups of read ports for the two looks, and for slots and scalar core ----

  localparam int unsigned Ports = (Waits > 3) ? Waits : 3;
  logic [1:0] file_we;
  sem_t [1:0] file_waddr;
  logic [1:0][31:0] file_wdata;
  logic [2:0] file_re;
  sem_t [2:0][Ports-1:0] file_raddr;
  logic [2:0][Ports-1:0][31:0] file_rdata;

  tpu_sem_file #(
    .Words   (Semaphores),
    .Groups  (3),
    .Ports   (Ports)
  ) u_file (
    .clk_i,
    .rst_ni,
    .clear_i,
    .we_i    (file_we),
    .waddr_i (file_waddr),
    .wdata_i (file_wdata),
    .re_i    (file_re),
    .raddr_i (file_raddr),
    .rdata_o (file_rdata)
  );

  // ---- takes that are not yet written ----

  logic [Waits-1:0] kept_q;
  sem_t [Waits-1:0] kept_sem_q;
  logic [Waits-1:0][31:0] kept_value_q;

  // ---- which heads to look at ----

  logic [Queues-1:0] pending, from_next, rest, rest_next, one, two;
  logic wrapped;
  logic [1:0][Queues-1:0] pick;  // one-hot; number 0 is the lower queue

  assign pending = (kept_q != '0) ? '0 : dirty_q & ask_i;
  assign from_next = pending & (Queues'('1) << next_q);
  assign one = lowest((from_next != '0) ? from_next : pending);
  assign rest = pending & ~one;
  assign rest_next = rest & from_next;
  assign two = lowest((rest_next != '0) ? rest_next : rest);
  assign wrapped = (two != '0) & (two < one);
  assign pick = wrapped ? {one, two} : {two, one};

  wait_t [1:0][Waits-1:0] waits;
  logic [1:0][Waits-1:0][31:0] amounts;
  logic [1:0][2:0] queue;

  always_comb begin
    waits = '0;
    amounts = '0;
    queue = '0;
    hold_o = (op_i != SemNone) || (kept_q != '0);
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
          if (waits[p][i].en && waits[p][i].consume) hold_o = 1'b1;
        end
      end
    end
  end

  // ---- the look ----

  logic [1:0][Waits-1:0][32:0] left;  // value - amount, with borrow
  logic [1:0][Waits-1:0] ticket, take, misses;
  logic [1:0][2:0] takes;             // how many
  logic [1:0] later, starts;
  logic op_writes;
  logic [2:0] free_ports;

  assign op_writes = (op_i != SemNone) & (op_i != SemMode);
  assign free_ports = op_writes ? 3'd1 : 3'd2;

  always_comb begin
    left = '0;
    ticket = '0;
    take = '0;
    misses = '0;
    takes = '0;
    later = '0;
    starts = '0;
    look_sem_o = '0;
    start_o = '0;
    if (pending != '0) begin
      for (int unsigned p = 0; p < 2; p++) begin
        for (int unsigned i = 0; i < Waits; i++) begin
          ticket[p][i] = ticket_q[sem_t'(waits[p][i].sem)];
          left[p][i] = {1'b0, file_rdata[p][i]} - {1'b0, amounts[p][i]};
          take[p][i] = waits[p][i].en & waits[p][i].consume & ~ticket[p][i];
          takes[p] = takes[p] + 3'(take[p][i]);
          misses[p][i] = waits[p][i].en & (ticket[p][i] ? left[p][i][31] : left[p][i][32]);
          if (take[p][i] && op_writes && (op_sem_i == waits[p][i].sem)) later[p] = 1'b1;
        end
        if (misses[p] != '0) later[p] = 1'b0;  // values only fall by takes: it must wait in any case
        for (int i = int'(Waits) - 1; i >= 0; i--) begin
          if (misses[p][i]) look_sem_o[p] = waits[p][i].sem;
        end
      end
      starts[0] = (pick[0] != '0) & (misses[0] == '0) & ~later[0];
      if ((misses[1] == '0) && (takes[1] + (starts[0] ? takes[0] : 3'd0) > free_ports)) later[1] = 1'b1;
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

  // ---- signals, and operations of the scalar core in slot 0 ----

  logic [1:0] slot_valid, slot_ovf, slot_write;
  sem_t [1:0] slot_sem;
  logic [1:0][31:0] slot_amount, slot_old, slot_new;
  logic [1:0][33:0] sum;
  logic [1:0] huge, added;
  logic slots_same;
  logic [Waits-1:0] kept_slot;  // the kept take that slot 0 supersedes

  assign slot_sem = {sem_t'(sig_sem_i[1]), (op_i != SemNone) ? sem_t'(op_sem_i) : sem_t'(sig_sem_i[0])};

  always_comb begin
    slot_valid = '0;
    slot_ovf = '0;
    slot_amount = '0;
    slot_old = '0;
    slot_new = '0;
    slots_same = 1'b0;
    huge = '0;
    added = '0;
    sum = '0;
    kept_slot = '0;
    underflow_o = 1'b0;
    if ((op_i != SemNone) || (sig_valid_i != '0)) begin
      slot_valid = sig_valid_i;
      slot_amount = sig_amount_i;
      huge = sig_huge_i;
      slot_old = {file_rdata[2][1], file_rdata[2][0]};
      if (op_i != SemNone) begin
        slot_valid = {1'b0, op_writes};
        slot_amount[0] = op_data_i;
        huge = '0;
        for (int unsigned i = 0; i < Waits; i++) begin
          if (op_writes && kept_q[i] && (kept_sem_q[i] == slot_sem[0])) begin
            kept_slot[i] = 1'b1;
            slot_old[0] = kept_value_q[i];
          end
        end
      end
      slots_same = (slot_valid == 2'b11) && (slot_sem[0] == slot_sem[1]);
      huge[0] = huge[0] | (slots_same & huge[1]);
      added[0] = (slot_amount[0] != '0) || (slots_same && (slot_amount[1] != '0));
      added[1] = slot_amount[1] != '0;
      sum[0] = {2'b0, slot_old[0]} + {2'b0, slot_amount[0]} + (slots_same ? {2'b0, slot_amount[1]} : 34'd0);
      sum[1] = {2'b0, slot_old[1]} + {2'b0, slot_amount[1]};
      for (int unsigned s = 0; s < 2; s++) begin
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

  // ---- reads ----

  assign file_re = {(op_i != SemNone) | (sig_valid_i != '0) | rd_valid_i, pending != '0, pending != '0};
  always_comb begin
    file_raddr = '0;
    for (int unsigned i = 0; i < Waits; i++) begin
      file_raddr[0][i] = sem_t'(waits[0][i].sem);
      file_raddr[1][i] = sem_t'(waits[1][i].sem);
    end
    file_raddr[2][0] = slot_sem[0];
    file_raddr[2][1] = slot_sem[1];
    file_raddr[2][2] = rd_sem_i;
  end
  always_comb begin
    rd_value_o = '0;
    if (rd_valid_i) begin
      rd_value_o = file_rdata[2][2];
      for (int unsigned i = 0; i < Waits; i++) begin
        if (kept_q[i] && (kept_sem_q[i] == rd_sem_i)) rd_value_o = kept_value_q[i];
      end
    end
  end

  // ---- writes: scalar core, else takes, else signals ----

  // Takes to write, those of head 0 or the kept ones first; first and second that get a port.
  logic [2*Waits-1:0] todo, first, second;
  sem_t [2*Waits-1:0] todo_sem;
  logic [2*Waits-1:0][31:0] todo_value;
  logic [1:0] take_we;
  sem_t [1:0] take_sem;
  logic [1:0][31:0] take_value;

  assign todo = {starts[1] ? take[1] : '0, (kept_q != '0) ? kept_q & ~kept_slot : (starts[0] ? take[0] : '0)};
  assign first = todo & (~todo + (2*Waits)'(1));
  assign second = op_writes ? '0 : (todo & ~first) & (~(todo & ~first) + (2*Waits)'(1));

  always_comb begin
    take_we = '0;
    take_sem = '0;
    take_value = '0;
    todo_sem = '0;
    todo_value = '0;
    if (todo != '0) begin
      take_we = {second != '0, 1'b1};
      for (int unsigned i = 0; i < 2 * Waits; i++) begin
        todo_sem[i] = (i >= Waits) ? sem_t'(waits[1][i % Waits].sem)
                                   : (kept_q != '0) ? kept_sem_q[i % Waits] : sem_t'(waits[0][i % Waits].sem);
        todo_value[i] = (i >= Waits) ? left[1][i % Waits][31:0]
                                     : (kept_q != '0) ? kept_value_q[i % Waits] : left[0][i % Waits][31:0];
        take_sem[0] = take_sem[0] | (todo_sem[i] & {SemBits{first[i]}});
        take_sem[1] = take_sem[1] | (todo_sem[i] & {SemBits{second[i]}});
        take_value[0] = take_value[0] | (todo_value[i] & {32{first[i]}});
        take_value[1] = take_value[1] | (todo_value[i] & {32{second[i]}});
      end
    end
  end

  // The scalar core has port 0, then the first take has port 1; without it they have both in order.
  assign file_we = op_writes ? {take_we[0], slot_write[0]} : (slot_write | take_we);
  assign file_waddr = op_writes ? {take_sem[0], slot_sem[0]} : (take_we != '0) ? take_sem : slot_sem;
  assign file_wdata = op_writes ? {take_value[0], slot_new[0]} : (take_we != '0) ? take_value : slot_new;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) kept_q <= '0;
    else if (todo != '0 || kept_q != '0) kept_q <= todo[Waits-1:0] & ~first[Waits-1:0] & ~second[Waits-1:0];
    if (kept_q == '0 && starts[0]) begin
      for (int unsigned i = 0; i < Waits; i++) begin
        kept_sem_q[i] <= sem_t'(waits[0][i].sem);
        kept_value_q[i] <= left[0][i][31:0];
      end
    end
  end

  // ---- state of the heads ----

  always_ff @(posedge clk_i) begin
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
      else if (kept_q == '0) next_q <= '0;
    end
  end

  assign waiting_o = waiting_q;
  assign settled_o = waiting_q & ~dirty_q;
  assign mode_o = 64'(ticket_q);

`ifndef SYNTHESIS
  // Rules of the ports.
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!hold_o || sig_valid_i == '0) else $error("tpu_sem: signals in a cycle that is held");
      assert (take_we == '0 || sig_valid_i == '0) else $error("tpu_sem: takes and signals in a cycle");
    end
  end
`endif

endmodule
