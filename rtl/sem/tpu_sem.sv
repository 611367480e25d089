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
// Two counters can be written in a cycle. Each write port has a RAM of its own (distributed on an FPGA,
// copied for every read port), and a bit a counter says which of the two was written last; registers with
// multiplexers would take three times the area. The ports are shared by
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
//
// The work is in functions that are called only when there is some: what is not called costs a simulator
// nothing. wake_o tells when a register here may change without an input that shows it.

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
  output logic                               wake_o,

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

  // ---- storage ----

  (* ram_style = "distributed" *)
  logic [31:0] bank0_q [0:Semaphores-1];
  (* ram_style = "distributed" *)
  logic [31:0] bank1_q [0:Semaphores-1];
  logic [Semaphores-1:0] in1_q;   // bank 1 was written last
  logic [Semaphores-1:0] live_q;  // written since all were zeroed
  logic [Semaphores-1:0] ticket_q;

  function automatic logic [31:0] stored(input sem_t sem);
    return !live_q[sem] ? 32'd0 : in1_q[sem] ? bank1_q[sem] : bank0_q[sem];
  endfunction

  // Takes that are not yet written.
  logic [Waits-1:0] kept_q;
  sem_t [Waits-1:0] kept_sem_q;
  logic [Waits-1:0][31:0] kept_value_q;

  // ---- which heads to look at ----

  logic [Queues-1:0] dirty_q, waiting_q, pending;
  logic [2:0] next_q;  // the queue from which the next look starts

  assign pending = (kept_q != '0) ? '0 : dirty_q & ask_i;

  function automatic logic [Queues-1:0] lowest(input logic [Queues-1:0] bits);
    return bits & (~bits + Queues'(1));
  endfunction

  typedef struct packed {
    logic [1:0][Queues-1:0] pick;  // one-hot; number 0 is the lower queue
    logic last;                    // which of them is the last in the order that goes round
  } picks_t;

  function automatic picks_t choose();
    picks_t r;
    logic [Queues-1:0] from_next, rest, one, two;
    from_next = pending & (Queues'('1) << next_q);
    one = lowest((from_next != '0) ? from_next : pending);
    rest = pending & ~one;
    two = lowest(((rest & from_next) != '0) ? rest & from_next : rest);
    r.last = (two != '0) && (two > one);
    r.pick = (two != '0 && two < one) ? {one, two} : {two, one};
    return r;
  endfunction

  // ---- the look ----

  typedef struct packed {
    logic [1:0] starts;
    logic [1:0] later;                   // looks again; the head stays as it was
    logic consumes;                      // one of the heads has a consuming wait
    logic [2:0] next;                    // for next_q
    logic [1:0][2:0] qid;
    logic [1:0][5:0] missing;            // first semaphore that does not hold
    logic [1:0][Waits-1:0] take;
    sem_t [1:0][Waits-1:0] sem;
    logic [1:0][Waits-1:0][31:0] left;   // value - amount
    logic [1:0][Queues-1:0] pick;
  } look_t;

  logic op_writes;
  assign op_writes = (op_i != SemNone) & (op_i != SemMode);

  function automatic look_t look();
    look_t r;
    picks_t c;
    wait_t [Waits-1:0] waits;
    wait_t w;
    logic [Waits-1:0][31:0] amounts;
    logic [32:0] diff;
    logic [1:0] missed;
    logic [1:0][2:0] takes;
    logic [1:0][Waits-1:0] en;
    logic ticket, fight;
    c = choose();
    r = '0;
    r.pick = c.pick;
    missed = '0;
    takes = '0;
    en = '0;
    for (int unsigned p = 0; p < 2; p++) begin
      waits = '0;
      amounts = '0;
      for (int unsigned q = 0; q < Queues; q++) begin
        if (c.pick[p][q]) begin
          waits = waits_i[q];
          amounts = amounts_i[q];
          r.qid[p] = 3'(q);
        end
      end
      for (int i = int'(Waits) - 1; i >= 0; i--) begin
        w = waits[i];
        ticket = ticket_q[sem_t'(w.sem)];
        diff = {1'b0, stored(sem_t'(w.sem))} - {1'b0, amounts[i]};
        en[p][i] = w.en;
        r.sem[p][i] = sem_t'(w.sem);
        r.left[p][i] = diff[31:0];
        r.take[p][i] = w.en & w.consume & ~ticket;
        takes[p] = takes[p] + 3'(r.take[p][i]);
        if (w.en && w.consume) r.consumes = 1'b1;
        if (w.en && (ticket ? diff[31] : diff[32])) begin
          missed[p] = 1'b1;
          r.missing[p] = w.sem;
        end
        if (r.take[p][i] && op_writes && (op_sem_i == w.sem)) r.later[p] = 1'b1;
      end
      // Values only fall by takes: a head that misses must wait in any case.
      if (missed[p]) r.later[p] = 1'b0;
    end
    r.starts[0] = (c.pick[0] != '0) & ~missed[0] & ~r.later[0];
    fight = (takes[1] + (r.starts[0] ? takes[0] : 3'd0)) > (op_writes ? 3'd1 : 3'd2);
    for (int unsigned i = 0; i < Waits; i++) begin
      for (int unsigned j = 0; j < Waits; j++) begin
        if (en[0][i] && en[1][j] && (r.sem[0][i] == r.sem[1][j]) && (r.take[0][i] || r.take[1][j]) &&
            r.starts[0]) fight = 1'b1;
      end
    end
    if (fight && !missed[1]) r.later[1] = 1'b1;
    r.starts[1] = (c.pick[1] != '0) & ~missed[1] & ~r.later[1];
    if (r.later[0]) r.next = r.qid[0];
    else if (r.later[1]) r.next = r.qid[1];
    else if ((pending & ~c.pick[0] & ~c.pick[1]) != '0) r.next = r.qid[c.last] + 3'd1;
    return r;
  endfunction

  look_t now;
  always_comb begin
    now = '0;
    if (pending != '0) now = look();
  end

  logic [Queues-1:0] looked, failed;
  assign start_o = (now.starts[0] ? now.pick[0] : '0) | (now.starts[1] ? now.pick[1] : '0);
  assign looked = (now.later[0] ? '0 : now.pick[0]) | (now.later[1] ? '0 : now.pick[1]);
  assign failed = looked & ~start_o;
  assign look_start_o = now.starts;
  assign look_wait_o = {(failed & now.pick[1] & ~waiting_q) != '0, (failed & now.pick[0] & ~waiting_q) != '0};
  assign look_queue_o = now.qid;
  assign look_sem_o = now.missing;
  assign hold_o = (op_i != SemNone) | (kept_q != '0) | now.consumes;

  // ---- signals, and operations of the scalar core in slot 0 ----

  typedef struct packed {
    logic [1:0] we;
    logic overflow;
    logic underflow;
    logic fault;                // slot of the overflow or underflow that counts
    logic [Waits-1:0] kept;     // the kept take that slot 0 supersedes
    sem_t [1:0] sem;
    logic [1:0][31:0] old;
    logic [1:0][31:0] value;
  } slots_t;

  function automatic slots_t change();
    slots_t r;
    logic [1:0] valid, huge, added, ovf;
    logic [1:0][31:0] amount;
    logic [33:0] sum;
    logic same;
    r = '0;
    r.sem = {sem_t'(sig_sem_i[1]), (op_i != SemNone) ? sem_t'(op_sem_i) : sem_t'(sig_sem_i[0])};
    valid = (op_i != SemNone) ? {1'b0, op_writes} : sig_valid_i;
    huge = (op_i != SemNone) ? 2'b00 : sig_huge_i;
    amount = {sig_amount_i[1], (op_i != SemNone) ? op_data_i : sig_amount_i[0]};
    r.old = {stored(r.sem[1]), stored(r.sem[0])};
    for (int unsigned i = 0; i < Waits; i++) begin
      if (op_writes && kept_q[i] && (kept_sem_q[i] == r.sem[0])) begin
        r.kept[i] = 1'b1;
        r.old[0] = kept_value_q[i];
      end
    end
    // Two signals of one semaphore are one addition, in slot 0.
    same = (valid == 2'b11) && (r.sem[0] == r.sem[1]);
    huge[0] = huge[0] | (same & huge[1]);
    added = {amount[1] != '0, (amount[0] != '0) || (same && (amount[1] != '0))};
    for (int unsigned s = 0; s < 2; s++) begin
      sum = {2'b0, r.old[s]} + {2'b0, amount[s]} + ((s == 0 && same) ? {2'b0, amount[1]} : 34'd0);
      // Adding nothing is no addition: a value beyond the limit can come from a mode change.
      ovf[s] = valid[s] & ~ticket_q[r.sem[s]] & (((sum[33:31] != '0) & added[s]) | huge[s]);
      r.value[s] = ovf[s] ? r.old[s] : sum[31:0];
    end
    r.we = {valid[1] & ~same, valid[0]};
    if (op_i == SemTake) begin
      ovf = '0;
      r.underflow = op_data_i > r.old[0];
      r.value[0] = r.underflow ? r.old[0] : r.old[0] - op_data_i;
    end
    if (op_i == SemValue) begin
      ovf = '0;
      r.value[0] = op_data_i;
    end
    // If both signals overflow, the lower semaphore is reported.
    ovf = ovf & r.we;
    r.overflow = (ovf != '0);
    r.fault = ovf[1] & (~ovf[0] | (r.sem[1] < r.sem[0]));
    return r;
  endfunction

  slots_t slot;
  always_comb begin
    slot = '0;
    if ((op_i != SemNone) || (sig_valid_i != '0)) slot = change();
  end
  assign overflow_o = slot.overflow;
  assign underflow_o = slot.underflow;
  assign fault_sem_o = 6'(slot.sem[slot.fault]);
  assign fault_value_o = slot.old[slot.fault];

  // Heads that have a reason to look again.
  logic [Queues-1:0] hit;
  always_comb begin
    hit = '0;
    if (slot.we != '0) begin
      for (int unsigned q = 0; q < Queues; q++) begin
        for (int unsigned i = 0; i < Waits; i++) begin
          if (waits_i[q][i].en && ((slot.we[0] && (sem_t'(waits_i[q][i].sem) == slot.sem[0])) ||
                                   (slot.we[1] && (sem_t'(waits_i[q][i].sem) == slot.sem[1])))) hit[q] = 1'b1;
        end
      end
    end
  end

  // ---- writes: scalar core, then takes, else signals ----

  typedef struct packed {
    logic [1:0] we;
    sem_t [1:0] sem;
    logic [1:0][31:0] value;
    logic [Waits-1:0] kept;  // takes that find no port
  } writes_t;

  logic [2*Waits-1:0] todo;  // takes of head 1, and those of head 0 or kept ones, which are written first
  assign todo = {now.starts[1] ? now.take[1] : '0,
                 (kept_q != '0) ? kept_q & ~slot.kept : (now.starts[0] ? now.take[0] : '0)};

  function automatic writes_t assign_ports();
    writes_t r;
    logic [2*Waits-1:0] first, second;
    sem_t [2*Waits-1:0] sem;
    logic [2*Waits-1:0][31:0] value;
    r = '0;
    first = todo & (~todo + (2*Waits)'(1));
    second = (todo & ~first) & (~(todo & ~first) + (2*Waits)'(1));
    if (op_writes) second = '0;
    sem = {now.sem[1], (kept_q != '0) ? kept_sem_q : now.sem[0]};
    value = {now.left[1], (kept_q != '0) ? kept_value_q : now.left[0]};
    r.we = {second != '0, first != '0};
    for (int unsigned i = 0; i < 2 * Waits; i++) begin
      r.sem[0] = r.sem[0] | (sem[i] & {SemBits{first[i]}});
      r.sem[1] = r.sem[1] | (sem[i] & {SemBits{second[i]}});
      r.value[0] = r.value[0] | (value[i] & {32{first[i]}});
      r.value[1] = r.value[1] | (value[i] & {32{second[i]}});
    end
    r.kept = todo[Waits-1:0] & ~first[Waits-1:0] & ~second[Waits-1:0];
    // The scalar core has port 0, then a take has port 1.
    if (op_writes || todo == '0) begin
      r.we = {r.we[0] | slot.we[1], slot.we[0]};
      r.sem = {(todo != '0) ? r.sem[0] : slot.sem[1], slot.sem[0]};
      r.value = {(todo != '0) ? r.value[0] : slot.value[1], slot.value[0]};
    end
    return r;
  endfunction

  writes_t wr;
  always_comb begin
    wr = '0;
    if (todo != '0 || slot.we != '0) wr = assign_ports();
  end

  always_ff @(posedge clk_i) begin
    if (wr.we[0]) bank0_q[wr.sem[0]] <= wr.value[0];
    if (wr.we[1]) bank1_q[wr.sem[1]] <= wr.value[1];
  end

  always_ff @(posedge clk_i) begin
    if (wr.we[0]) in1_q[wr.sem[0]] <= 1'b0;
    if (wr.we[1]) in1_q[wr.sem[1]] <= 1'b1;
    if (!rst_ni || clear_i) begin
      live_q <= '0;
      kept_q <= '0;
    end else begin
      if (wr.we[0]) live_q[wr.sem[0]] <= 1'b1;
      if (wr.we[1]) live_q[wr.sem[1]] <= 1'b1;
      kept_q <= wr.kept;
    end
    if (kept_q == '0 && now.starts[0]) begin
      kept_sem_q <= now.sem[0];
      kept_value_q <= now.left[0];
    end
  end

  always_comb begin
    rd_value_o = '0;
    if (rd_valid_i) begin
      rd_value_o = stored(rd_sem_i);
      for (int unsigned i = 0; i < Waits; i++) begin
        if (kept_q[i] && (kept_sem_q[i] == rd_sem_i)) rd_value_o = kept_value_q[i];
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
      if (pending != '0) next_q <= now.next;
    end
  end

  assign wake_o = (pending != '0) | (kept_q != '0);
  assign waiting_o = waiting_q;
  assign settled_o = waiting_q & ~dirty_q;
  assign mode_o = 64'(ticket_q);

`ifndef SYNTHESIS
  // Rules of the ports.
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      assert (!hold_o || sig_valid_i == '0) else $error("tpu_sem: signals in a cycle that is held");
      assert (wr.we != 2'b11 || wr.sem[0] != wr.sem[1]) else $error("tpu_sem: two writes of one counter");
    end
  end
`endif

endmodule
