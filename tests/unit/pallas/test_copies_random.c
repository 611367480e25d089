/* SPDX-License-Identifier: MIT */
/*
 * Random programs of asynchronous copies: slots that copies fill and empty over the steps of a grid, and what
 * is done with them between. Right ones must give what the same operations give one after the other, without
 * a report. In half of the programs some operations touch a slot whose copy is still under way: whether a
 * program has one is known from the program alone, and race detection must say so of these and of no others.
 */
#include "suite.h"

#include <string.h>

enum { SLOTS = 6, ROWS = 8, COLUMNS = 24, BLOCKS = 8, MOST = 56, ELEMENTS = ROWS * COLUMNS };

enum kind { FETCH, STORE, WAIT, ADD, COPY, ELEMENT, KINDS };

struct operation {
  enum kind kind;
  int32_t step, slot, other; /* other: a slot, a block in HBM, or a row */
  int32_t column;
  uint32_t priority;
};

static struct program {
  uint32_t count;
  int32_t steps;
  bool races;
  struct operation operation[MOST];
  pl_copy_handle handle[SLOTS];
} program;

/* What is in memory if every operation ends before the next begins, and which copies are under way. */
static struct {
  uint32_t slot[SLOTS][ELEMENTS], from[BLOCKS][ELEMENTS], to[BLOCKS][ELEMENTS];
  bool filled[SLOTS], under_way[SLOTS], outwards[SLOTS], taken[BLOCKS];
  int32_t block[SLOTS];
} now;

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

static void run_operation(const struct operation *p) {
  pl_ref a = pl_scratch(p->slot), sem = pl_at(pl_scratch(SLOTS), PL_DS(p->slot, 1));
  pl_copy_handle *handle = &program.handle[p->slot];

  switch (p->kind) {
  case FETCH:
    *handle = pl_make_async_copy(pl_at(pl_arg(0), PL_DS(p->other * ROWS, ROWS)), a, sem);
    pl_start_priority(handle, p->priority);
    break;
  case STORE:
    *handle = pl_make_async_copy(a, pl_at(pl_arg(1), PL_DS(p->other * ROWS, ROWS)), sem);
    pl_start_priority(handle, p->priority);
    break;
  case WAIT:
    pl_wait(handle);
    break;
  case ADD:
    pl_add(a, a, pl_scratch(p->other));
    break;
  case COPY:
    pl_sync_copy(pl_scratch(p->other), a);
    break;
  default:
    pl_put(a, (int32_t)((uint32_t)pl_get(a, p->other, p->column) + 1), p->other, p->column);
    break;
  }
}

static void body(void) {
  for (uint32_t k = 0; k < program.count; k++)
    if (program.operation[k].step == pl_program_id(0))
      run_operation(&program.operation[k]);
}

/* Appends an operation and does it to `now`. */
static void append(struct operation p) {
  uint32_t *const a = now.slot[p.slot];

  program.operation[program.count++] = p;
  switch (p.kind) {
  case FETCH:
    memcpy(a, now.from[p.other], sizeof now.slot[0]);
    now.filled[p.slot] = now.under_way[p.slot] = true;
    now.outwards[p.slot] = false;
    break;
  case STORE:
    memcpy(now.to[p.other], a, sizeof now.slot[0]);
    now.under_way[p.slot] = now.outwards[p.slot] = now.taken[p.other] = true;
    now.block[p.slot] = p.other;
    break;
  case WAIT:
    now.under_way[p.slot] = false;
    if (now.outwards[p.slot])
      now.taken[now.block[p.slot]] = false;
    break;
  case ADD:
    for (unsigned i = 0; i < ELEMENTS; i++)
      a[i] += now.slot[p.other][i];
    break;
  case COPY:
    memcpy(a, now.slot[p.other], sizeof now.slot[0]);
    break;
  default:
    a[p.other * COLUMNS + p.column]++;
    break;
  }
}

/* One operation, if what was drawn is allowed now; with `wrong` also some, few, that touch what is under way.
 */
static void draw(int32_t step, bool wrong) {
  wrong = wrong && below(25) == 0;
  struct operation p = {(enum kind)below(KINDS), step, (int32_t)below(SLOTS),
                        (int32_t)below(SLOTS),   0,    below(4)};
  const bool two = p.kind == ADD || p.kind == COPY, busy = now.under_way[p.slot];

  p.column = (int32_t)below(COLUMNS);
  if (!now.filled[p.slot])
    p.kind = FETCH;
  if (two && (p.slot == p.other || !now.filled[p.other]))
    return;
  if (p.kind == WAIT ? !busy : busy && (p.kind <= STORE || !wrong))
    return;
  if (p.kind == STORE && now.taken[p.other])
    return;
  /* A slot that is being stored may still be read. */
  const bool reads_early = two && now.under_way[p.other] && !now.outwards[p.other];
  if (reads_early && !wrong)
    return;
  program.races |= p.kind > WAIT && (busy || reads_early);
  append(p);
}

static void make(bool wrong) {
  int32_t step = 0;

  program.count = 0;
  program.races = false;
  program.steps = 1 + (int32_t)below(3);
  memset(now.filled, 0, sizeof now.filled);
  memset(now.under_way, 0, sizeof now.under_way);
  memset(now.taken, 0, sizeof now.taken);
  for (unsigned k = 0; k < 100 && program.count < MOST - SLOTS; k++) {
    if (below(25) == 0 && step + 1 < program.steps)
      step++;
    draw(step, wrong);
  }
  for (int32_t s = 0; s < SLOTS; s++)
    if (now.under_way[s])
      append((struct operation){.kind = WAIT, .step = step, .slot = s});
}

void suite_copies_random(void) {
  static const pl_block_spec hbm = {.space = PL_HBM};
  static const pl_scratch_spec slot = {PL_VMEM, PL_INT32, {0}, {.extent = {ROWS, COLUMNS}, .rank = 2}};
  pl_kernel kernel = {.name = "copies", .body = body, .out = {&hbm, &hbm}};
  uint32_t bad = 0, wrong_ones = 0;

  for (unsigned s = 0; s < SLOTS; s++)
    kernel.scratch[s] = &slot;
  kernel.scratch[SLOTS] = PL_SEMAPHORES(SLOTS);
  (void)host_logged();
  for (uint32_t c = 0; c < suite.cases; c++) {
    const pl_array x = suite_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS)),
                   o = suite_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
    suite_fill(&x);
    memcpy(now.from, pl_hbm_pointer(&x), sizeof now.from);
    memcpy(now.to, pl_hbm_pointer(&o), sizeof now.to);
    make(host_detects_races() && c % 2 != 0);
    kernel.grid = (pl_grid_spec)PL_GRID(program.steps);
    const pl_status status = pl_call(&kernel, (pl_arrays){0}, PL_RESULTS(x, o));
    const bool reported = host_logged() != 0, same = memcmp(now.to, pl_hbm_pointer(&o), sizeof now.to) == 0;
    if (status != PL_OK || reported != program.races || (!same && !program.races)) {
      check(false, "copies_random: program %u: %s %s, %s, %s, %s", c, pl_status_name(status),
            status != PL_OK ? pl_error_message() : "", same ? "right" : "other contents",
            program.races ? "touches what is under way" : "waits for all",
            reported ? host_log() : "no report");
      bad++;
    }
    wrong_ones += program.races;
    suite_release();
  }
  check(bad == 0 && (wrong_ones != 0) == (host_detects_races() && suite.cases >= 10),
        "copies_random: %u programs, of which %u touch what is under way (%u bad)", suite.cases, wrong_ones,
        bad);
}
