/* SPDX-License-Identifier: MIT */
/* Annotated time of the vector unit; see vpu_time.h. */
#include "vpu_time.h"

#include <string.h>

enum { PIPE_LOAD, PIPE_ALU, PIPE_REDUCE, PIPE_EUP, PIPE_STORE };

#define LAST_SUBLANE (TPU_VPU_SUBLANES - 1)

static void later(uint64_t *time, uint64_t than) {
  *time = *time < than ? than : *time;
}

static void later_span(struct tpu_vpu_span *span, struct tpu_vpu_span than) {
  later(&span->first, than.first);
  later(&span->last, than.last);
}

static struct tpu_vpu_span after(struct tpu_vpu_span span, uint64_t cycles) {
  return (struct tpu_vpu_span){span.first + cycles, span.last + cycles};
}

/* The pipe may not be faster than one sublane a cycle. */
static void in_order(struct tpu_vpu_span *span) {
  later(&span->last, span->first + LAST_SUBLANE);
}

void tpu_vpu_time_start(struct tpu_vpu_scoreboard *board) {
  memset(board, 0, sizeof *board);
  board->fetch = 1;
}

/* ---- fetch and issue ---------------------------------------------------------------------------------- */

void tpu_vpu_time_loop(struct tpu_vpu_scoreboard *board) {
  board->fetch++;
  later(&board->end, board->fetch);
}

/* Through decode and check; returns the first cycle in which the instruction can issue. */
static uint64_t arrive(struct tpu_vpu_scoreboard *board) {
  uint64_t decoded = board->fetch;
  later(&decoded, board->checked);
  board->fetch = decoded + 1;
  board->checked = decoded + 1;
  later(&board->checked, board->issued);
  return board->checked + 1;
}

/* Issues into the next slot of a pipe; returns the first cycle in which the pipe can start it. */
static uint64_t issue(struct tpu_vpu_scoreboard *board, int pipe) {
  board->issued = arrive(board);
  later(&board->issued, board->pipe[pipe].slot_free[board->pipe[pipe].slot]);
  uint64_t start = board->issued + 1;
  later(&start, board->pipe[pipe].next);
  return start;
}

/* The instruction leaves its slot, and the next one of this pipe can start. */
static void finish(struct tpu_vpu_scoreboard *board, int pipe, uint64_t next, uint64_t slot_free) {
  board->pipe[pipe].next = next;
  board->pipe[pipe].slot_free[board->pipe[pipe].slot] = slot_free;
  board->pipe[pipe].slot = (board->pipe[pipe].slot + 1) % TPU_VPU_SLOTS;
  later(&board->end, slot_free);
}

void tpu_vpu_time_halt(struct tpu_vpu_scoreboard *board) {
  later(&board->end, arrive(board));
}

/* ---- registers ---------------------------------------------------------------------------------------- */

static void wait_source(const struct tpu_vpu_scoreboard *board, struct tpu_vpu_span *span, uint32_t source) {
  if (source != TPU_VPU_NO_VREG)
    later_span(span, board->vreg[source].written);
}

/* A pipe keeps its own accesses to a register in order. */
static void wait_destination(const struct tpu_vpu_scoreboard *board, struct tpu_vpu_span *span, uint32_t vd,
                             uint32_t pipe) {
  if (board->vreg[vd].writer != pipe)
    later_span(span, board->vreg[vd].written);
  for (uint32_t reader = PIPE_ALU; reader <= PIPE_STORE; reader++)
    if (reader != pipe)
      later_span(span, board->vreg[vd].read[reader - PIPE_ALU]);
}

static void note_read(struct tpu_vpu_scoreboard *board, uint32_t source, uint32_t pipe,
                      struct tpu_vpu_span done) {
  if (source != TPU_VPU_NO_VREG)
    later_span(&board->vreg[source].read[pipe - PIPE_ALU], done);
}

static void note_written(struct tpu_vpu_scoreboard *board, uint32_t vd, uint32_t pipe,
                         struct tpu_vpu_span done) {
  board->vreg[vd].written = done;
  board->vreg[vd].writer = pipe;
}

/* ---- register banks ----------------------------------------------------------------------------------- */

#define RECENT 8

static void note_bank(uint64_t recent[RECENT], uint32_t *count, uint64_t cycle) {
  recent[(*count)++ % RECENT] = cycle;
}

/* Moves an access of lower priority out of the way of the recent ones. */
static void avoid_bank(const uint64_t recent[RECENT], struct tpu_vpu_span *span) {
  for (int i = 0; i < RECENT; i++)
    if (recent[i] == span->first) {
      span->first++;
      span->last++;
      i = -1;
    }
}

/* ---- pipes -------------------------------------------------------------------------------------------- */

void tpu_vpu_time_alu(struct tpu_vpu_scoreboard *board, uint32_t vd, const uint32_t sources[3]) {
  struct tpu_vpu_span go = {.first = issue(board, PIPE_ALU)};
  for (int i = 0; i < 3; i++)
    wait_source(board, &go, sources[i]);
  wait_destination(board, &go, vd, PIPE_ALU);
  in_order(&go);
  for (uint64_t i = 0; i < 3; i++) {
    note_read(board, sources[i], PIPE_ALU, after(go, TIME_VPU_ALU_READ));
    if (sources[i] != TPU_VPU_NO_VREG) /* a, b and c in three successive cycles */
      note_bank(board->bank_read, &board->bank_reads, go.first + i);
  }
  note_bank(board->bank_write, &board->bank_writes, go.first + TIME_VPU_ALU_RESULT - 1);
  note_written(board, vd, PIPE_ALU, after(go, TIME_VPU_ALU_RESULT));
  finish(board, PIPE_ALU, go.last + 1, go.last + TIME_VPU_ALU_RESULT);
}

void tpu_vpu_time_reduce(struct tpu_vpu_scoreboard *board, uint32_t op, uint32_t lanes, uint32_t vd,
                         uint32_t source) {
  uint64_t levels = lanes == 16 ? 4 : lanes == 8 ? 3 : 2;
  bool over_lanes = op < TPU_VOP_RS_FSUM;
  struct tpu_vpu_span go = {.first = issue(board, PIPE_REDUCE)};
  if (op != board->reduce_op)
    later(&go.first, board->reduce_empty);
  later(&go.first, board->reduce_room[0]); /* two instructions of rows fit */
  wait_source(board, &go, source);
  in_order(&go);
  if (source != TPU_VPU_NO_VREG) {
    avoid_bank(board->bank_read, &go);
    note_bank(board->bank_read, &board->bank_reads, go.first);
  }
  struct tpu_vpu_span done = after(go, TIME_VPU_REDUCE_LANES(levels));
  if (!over_lanes)
    done = (struct tpu_vpu_span){go.last + TIME_VPU_REDUCE_SUBLANES - LAST_SUBLANE,
                                 go.last + TIME_VPU_REDUCE_SUBLANES};
  done = after(done, (uint64_t)-1);
  wait_destination(board, &done, vd, PIPE_REDUCE);
  in_order(&done);
  avoid_bank(board->bank_write, &done);
  note_bank(board->bank_write, &board->bank_writes, done.first);
  done = after(done, 1);
  note_read(board, source, PIPE_REDUCE, after(go, TIME_VPU_READ));
  note_written(board, vd, PIPE_REDUCE, done);
  board->reduce_op = op;
  board->reduce_empty = go.last - LAST_SUBLANE +
                        (over_lanes ? TIME_VPU_REDUCE_LANES_EMPTY(levels) : TIME_VPU_REDUCE_SUBLANES_EMPTY);
  board->reduce_room[0] = board->reduce_room[1];
  board->reduce_room[1] = done.first;
  finish(board, PIPE_REDUCE, go.last + 1, done.last);
}

void tpu_vpu_time_transcendental(struct tpu_vpu_scoreboard *board, uint32_t op, uint64_t beats, uint32_t vd,
                                 uint32_t source) {
  bool twice = op == TPU_VOP_TANH || op == TPU_VOP_SIGMOID;
  uint64_t step = twice ? 2 * beats : beats, trip = TIME_VPU_EUP_TRIP(beats);
  struct tpu_vpu_span go = {.first = issue(board, PIPE_EUP)};
  if (!twice)
    later(&go.first, board->eup_passed); /* nothing overtakes a second trip */
  later(&go.first, board->eup_room[0]);  /* two instructions of rows fit */
  wait_source(board, &go, source);
  later(&go.last, go.first + LAST_SUBLANE * step);
  if (source != TPU_VPU_NO_VREG) {
    avoid_bank(board->bank_read, &go);
    if (step == 1)
      note_bank(board->bank_read, &board->bank_reads, go.first);
  }
  struct tpu_vpu_span write = after(go, TIME_VPU_EUP_RESULT(beats) - 1 + (twice ? trip : 0));
  wait_destination(board, &write, vd, PIPE_EUP);
  later(&write.first, board->eup_room[1] + LAST_SUBLANE);
  in_order(&write);
  if (step == 1) {
    avoid_bank(board->bank_write, &write);
    note_bank(board->bank_write, &board->bank_writes, write.first);
  }
  note_read(board, source, PIPE_EUP, after(go, TIME_VPU_READ));
  note_written(board, vd, PIPE_EUP, after(write, 1));
  if (twice)
    board->eup_passed = go.last + trip + beats;
  board->eup_room[0] = board->eup_room[1];
  board->eup_room[1] = write.first + 1;
  finish(board, PIPE_EUP, go.last + step, write.last + 1);
}

/* What happens to a row of the cross-lane pipe: cycles from one sublane to the next, and from its start. */
struct cross {
  uint32_t registers; /* of source and destination */
  uint64_t step, result, empty;
};

static struct cross cross_of(uint32_t op, uint32_t lanes) {
  if (op == TPU_VOP_ROT_LANE || op == TPU_VOP_BC_LANE)
    return (struct cross){1, 1, TIME_VPU_MOVE, TIME_VPU_MOVE_EMPTY};
  if (op == TPU_VOP_RAND)
    return (struct cross){1, TIME_VPU_RANDOM_ROW, TIME_VPU_RANDOM, TIME_VPU_RANDOM_EMPTY};
  uint32_t registers = op == TPU_VOP_TRANSPOSE && lanes > TPU_VPU_SUBLANES ? 2 : 1;
  uint64_t rows = (uint64_t)registers * TPU_VPU_SUBLANES;
  return (struct cross){registers, registers, rows - 1 + TIME_VPU_TILE + registers - 1,
                        TIME_VPU_TILE_EMPTY(rows)};
}

void tpu_vpu_time_cross(struct tpu_vpu_scoreboard *board, uint32_t op, uint32_t lanes, uint32_t vd,
                        uint32_t source) {
  struct cross k = cross_of(op, lanes);
  bool reads = source != TPU_VPU_NO_VREG;
  struct tpu_vpu_span go = {.first = issue(board, PIPE_REDUCE)};
  if (op != board->reduce_op)
    later(&go.first, board->reduce_empty);
  later(&go.first, board->reduce_room[0]);
  for (uint32_t r = 0; r < k.registers; r++) {
    wait_source(board, &go, reads ? source + r : source);
    wait_destination(board, &go, vd + r, PIPE_REDUCE);
  }
  later(&go.last, go.first + k.step * LAST_SUBLANE);
  if (reads) {
    avoid_bank(board->bank_read, &go);
    note_bank(board->bank_read, &board->bank_reads, go.first);
  }
  struct tpu_vpu_span done = {go.first + k.result, go.last + k.result};
  done = after(done, (uint64_t)-1);
  avoid_bank(board->bank_write, &done);
  note_bank(board->bank_write, &board->bank_writes, done.first);
  done = after(done, 1);
  for (uint32_t r = 0; r < k.registers; r++) {
    note_read(board, reads ? source + r : source, PIPE_REDUCE, after(go, TIME_VPU_READ));
    note_written(board, vd + r, PIPE_REDUCE, done);
  }
  board->reduce_op = op;
  board->reduce_empty = go.last - k.step * LAST_SUBLANE + k.empty;
  board->reduce_room[0] = board->reduce_room[1];
  board->reduce_room[1] = done.first;
  finish(board, PIPE_REDUCE, go.last + k.step, done.last);
}

/* Sublane addresses of an access lie in [low, high]. */
static void hull(const struct tpu_vpu_time_access *x, uint32_t *low, uint32_t *high) {
  uint32_t end = x->address + (x->count - 1) * x->pitch;
  *low = x->address < end ? x->address : end;
  *high = (x->address < end ? end : x->address) + x->mask;
}

/* A load's requests wait for older stores that have still to write the same place. */
static void wait_store(struct tpu_vpu_span *request, const struct tpu_vpu_time_access *load,
                       const struct tpu_vpu_time_store *store) {
  const struct tpu_vpu_time_access written = {store->acc, store->address, store->pitch, store->mask,
                                              store->count};
  uint32_t load_low, load_high, low, high;
  if (store->count == 0 || load->count == 0 || store->acc != load->acc || store->done.last <= request->first)
    return;
  hull(load, &load_low, &load_high);
  hull(&written, &low, &high);
  if (load_high < low || high < load_low)
    return;
  uint32_t mask = ~(load->mask | store->mask);
  for (uint32_t s = 0; s < load->count; s++)
    for (uint32_t r = 0; r < store->count; r++)
      if ((((load->address + s * load->pitch) ^ (store->address + r * store->pitch)) & mask) == 0) {
        uint64_t free = store->done.first + r;
        if (s == 0)
          later(&request->first, free);
        later(&request->last, free + LAST_SUBLANE - s);
      }
}

void tpu_vpu_time_load(struct tpu_vpu_scoreboard *board, uint32_t vd,
                       const struct tpu_vpu_time_access *access) {
  struct tpu_vpu_span request = {.first = issue(board, PIPE_LOAD)};
  later_span(&request, board->load_room); /* requests run ahead of the writes by one instruction's rows */
  for (int i = 0; i < TPU_VPU_SLOTS; i++)
    wait_store(&request, access, &board->store[i]);
  in_order(&request);
  uint64_t latency = access->count == 0 ? TIME_VPU_LOAD_FILL : TIME_VPU_LOAD_RESULT;
  struct tpu_vpu_span write = after(request, latency - 1);
  later(&write.first, board->load_room.last + 1);
  wait_destination(board, &write, vd, PIPE_LOAD);
  in_order(&write);
  avoid_bank(board->bank_write, &write);
  board->load_requested = request.last + 1;
  board->load_room = after(write, 0);
  note_written(board, vd, PIPE_LOAD, after(write, 1));
  finish(board, PIPE_LOAD, request.last + 1, write.last + 1);
}

void tpu_vpu_time_store(struct tpu_vpu_scoreboard *board, uint32_t source,
                        const struct tpu_vpu_time_access *access) {
  if (access->count == 0) {
    board->issued = arrive(board);
    return;
  }
  uint32_t slot = board->pipe[PIPE_STORE].slot;
  struct tpu_vpu_span go = {.first = issue(board, PIPE_STORE)};
  later(&go.first, board->load_requested);
  wait_source(board, &go, source);
  if (access->count < TPU_VPU_SUBLANES && go.last > go.first)
    go.last = go.first + (go.last - go.first) * (access->count - 1) / LAST_SUBLANE;
  later(&go.last, go.first + access->count - 1);
  if (source != TPU_VPU_NO_VREG)
    avoid_bank(board->bank_read, &go);
  note_read(board, source, PIPE_STORE, after(go, TIME_VPU_READ));
  struct tpu_vpu_span done = after(go, TIME_VPU_STORE_DONE);
  board->store[slot] = (struct tpu_vpu_time_store){.done = done,
                                                   .acc = access->acc,
                                                   .address = access->address,
                                                   .pitch = access->pitch,
                                                   .mask = access->mask,
                                                   .count = access->count};
  finish(board, PIPE_STORE, go.last + 1, done.last);
}
