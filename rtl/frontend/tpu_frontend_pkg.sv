// SPDX-License-Identifier: MIT
//
// What the parts of the front end agree on: queue numbers, the head of a queued command, the signals
// of a started one, and the records that travel to the error register and the trace.

/* verilator lint_off UNUSEDPARAM */  // a block of its own in a testbench does not use all of them
package tpu_frontend_pkg;
  import tpu_pkg::*;
  import tpu_config_pkg::*;

  localparam int unsigned Queues = 7;
  localparam int unsigned Engines = 6;  // all queues but SYNC have an engine
  localparam int unsigned QMxu = 4;
  localparam int unsigned QVpu = 5;
  localparam int unsigned QSync = 6;

  // Commands that an engine may hold; the signals of that many started commands are kept a queue.
  localparam int unsigned InFlight = 4;

  // Trace records of one cycle: one of the scalar core, two queues that start or find that they must
  // wait, END and two SIGNALs of the queue that completes, the first error.
  localparam int unsigned TraceSlots = 7;
  localparam int unsigned TraceBits = 80;

  // One wait as in WAITS.
  typedef struct packed {
    logic en;
    logic consume;
    logic [5:0] sem;
  } wait_t;

  // SIGNALS without the reserved bits.
  typedef struct packed {
    logic [1:0] prio;
    logic irq;
    logic en1;
    logic bytes1;
    logic [5:0] sem1;
    logic en0;
    logic bytes0;
    logic [5:0] sem0;
  } signals_t;

  typedef struct packed {
    logic valid;
    logic [7:0] code;
    logic [3:0] agent;  // queue_e
    logic [31:0] tag;
    logic [31:0] detail0;
    logic [31:0] detail1;
  } error_t;

  typedef struct packed {
    logic [3:0] zero;
    logic [3:0] agent;  // queue_e
    logic [7:0] code;
    logic [31:0] arg;
    logic [31:0] tag;
  } event_t;

  // Operations of the scalar core on the semaphore file.
  typedef enum logic [2:0] {
    SemNone, SemSignal, SemTake, SemValue, SemMode
  } sem_op_e;
endpackage
/* verilator lint_on UNUSEDPARAM */
