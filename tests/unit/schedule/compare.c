/* SPDX-License-Identifier: MIT */
/* What happened against what had to: copies and their times and places, maps, values, arrays. */
#include "run.h"

#include <stdarg.h>
#include <string.h>

/* What the scalar core wrote says about copies: when they were queued, and between which places. */
struct observed {
  unsigned fetches[MAX_OPERANDS], write_backs[MAX_OPERANDS];
  uint32_t fetch_at[MAX_OPERANDS][MAX_STEPS], write_back_at[MAX_OPERANDS][MAX_STEPS];
  uint32_t fetch_from[MAX_OPERANDS][MAX_STEPS], write_back_to[MAX_OPERANDS][MAX_STEPS]; /* HBM */
  unsigned prologue_count;
  uint8_t prologue[MAX_OPERANDS * MAX_STEPS];
  uint32_t slot[MAX_OPERANDS][2 * MAX_STEPS]; /* on-chip address of the blocks fetched or written back */
  bool too_many;
};

static bool loud, wrong;

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
  va_list args;
  wrong = true;
  if (!loud)
    return;
  va_start(args, format);
  printf("  ");
  vprintf(format, args);
  printf("\n");
  va_end(args);
}

/* ---- what happened ----------------------------------------------------------------------------------------
 */

/* Kinds of copies in their tags, as firmware/README.md tells them. */
enum { FETCH = 1, WRITE_BACK = 2, LOAD = 8 };

static void note_fetch(struct observed *w, unsigned o, const struct host_event *g, bool input,
                       uint32_t returned) {
  if (w->fetches[o] == MAX_STEPS) {
    w->too_many = true;
    return;
  }
  if (input)
    w->slot[o][w->fetches[o]] = g->dst;
  w->fetch_from[o][w->fetches[o]] = g->src;
  w->fetch_at[o][w->fetches[o]++] = returned;
}

static void note(struct observed *w, const struct pipeline *p, const struct host_event *g, uint32_t returned,
                 bool before) {
  const uint32_t tag = g->tag;
  const unsigned kind = tag >> 28, number = tag >> 24 & 15;
  if (kind == LOAD && number < p->outputs) {
    note_fetch(w, p->inputs + number, g, false, returned);
  } else if (kind == FETCH && number < p->inputs) {
    note_fetch(w, number, g, true, returned);
    if (before && blocks_of(p, &p->operand[number]) > 1 && !p->operand[number].lookahead &&
        w->prologue_count < sizeof w->prologue)
      w->prologue[w->prologue_count++] = (uint8_t)number;
  } else if (kind == WRITE_BACK && number < p->outputs) {
    const unsigned o = p->inputs + number;
    if (w->write_backs[o] == MAX_STEPS)
      w->too_many = true;
    else {
      w->slot[o][w->write_backs[o]] = g->src;
      w->write_back_to[o][w->write_backs[o]] = g->dst;
      w->write_back_at[o][w->write_backs[o]++] = returned;
    }
  }
}

static void observe(const struct pipeline *p, struct observed *w) {
  uint32_t count, returned = 0;
  const struct host_event *event = host_events(&count);
  bool before = true; /* the first body */
  memset(w, 0, sizeof *w);
  for (uint32_t i = 0; i < count; i++) {
    if (!event[i].note)
      note(w, p, &event[i], returned, before);
    else if (event[i].tag == BODY_BEGINS)
      before = false;
    else
      returned++;
  }
}

static uint32_t address_of(const struct pipeline *p, unsigned o, int32_t block) {
  uint32_t at = 0;
  locate(p, &p->operand[o], block, 0, &at);
  return array[o].address + 4 * at;
}

/* Every expected fetch with its own; those of an input in order, those of an output by block. */
static void check_fetches(const struct pipeline *p, unsigned o, const struct expected *e,
                          const struct observed *w) {
  bool taken[MAX_STEPS] = {false};
  if (w->fetches[o] != e->fetches[o])
    fail("operand %u: %u fetches instead of %u", o, w->fetches[o], e->fetches[o]);
  for (unsigned i = 0; i < e->fetches[o] && i < w->fetches[o]; i++) {
    const uint32_t address = address_of(p, o, e->fetch_of[o][i]);
    unsigned k = i;
    if (p->operand[o].output)
      for (k = 0; k + 1 < w->fetches[o] && (taken[k] || w->fetch_from[o][k] != address);)
        k++;
    taken[k] = true;
    if (w->fetch_from[o][k] != address)
      fail("operand %u: fetch %u is from 0x%x instead of block %d at 0x%x", o, i,
           (unsigned)w->fetch_from[o][k], e->fetch_of[o][i], (unsigned)address);
    if (w->fetch_at[o][k] != e->fetch_at[o][i])
      fail("operand %u: fetch %u, of block %d, is queued after %u bodies instead of %u", o, i,
           e->fetch_of[o][i], w->fetch_at[o][k], e->fetch_at[o][i]);
  }
}

static void check_write_backs(const struct pipeline *p, unsigned o, const struct expected *e,
                              const struct observed *w) {
  if (w->write_backs[o] != e->write_backs[o])
    fail("operand %u: %u write-backs instead of %u", o, w->write_backs[o], e->write_backs[o]);
  for (unsigned i = 0; i < e->write_backs[o] && i < w->write_backs[o]; i++) {
    const uint32_t address = address_of(p, o, e->write_back_of[o][i]);
    if (w->write_back_to[o][i] != address)
      fail("operand %u: write-back %u is to 0x%x instead of block %d at 0x%x", o, i,
           (unsigned)w->write_back_to[o][i], e->write_back_of[o][i], (unsigned)address);
    if (w->write_back_at[o][i] != e->write_back_at[o][i])
      fail("operand %u: write-back %u is queued after %u bodies instead of %u", o, i, w->write_back_at[o][i],
           e->write_back_at[o][i]);
  }
}

static void check_copies(const struct pipeline *p, const struct expected *e, const struct observed *w) {
  for (unsigned o = 0; o < operands_of(p); o++) {
    check_fetches(p, o, e, w);
    check_write_backs(p, o, e, w);
  }
  if (w->too_many)
    fail("more copies than steps");
  for (unsigned i = 0; i < e->prologue_count; i++)
    if (i >= w->prologue_count || w->prologue[i] != e->prologue[i]) {
      fail("before step 0, fetch %u is of operand %d instead of %u", i,
           i < w->prologue_count ? w->prologue[i] : -1, e->prologue[i]);
      break;
    }
}

/* Slots advance by one modulo n: n runs have n slots, and then the first comes again. */
static void check_slots(const struct pipeline *p, const struct observed *w) {
  for (unsigned o = 0; o < operands_of(p); o++) {
    const struct operand *op = &p->operand[o];
    const unsigned runs = op->output ? w->write_backs[o] : w->fetches[o];
    const uint32_t *slot = w->slot[o];
    for (unsigned i = 0; i < runs; i++)
      for (unsigned k = 1; k <= op->buffers && k <= i; k++)
        if ((slot[i] == slot[i - k]) != (k == op->buffers)) {
          fail("operand %u, %u buffers: run %u is at 0x%x and run %u at 0x%x", o, op->buffers, i,
               (unsigned)slot[i], i - k, (unsigned)slot[i - k]);
          return;
        }
  }
}

static void check_stats(const struct pipeline *p, const struct expected *e) {
  pl_stats stats;
  if (p->nested)
    pl_get_pipeline_stats(&stats);
  else
    pl_get_stats(&stats);
  if (p->steps != 0 && stats.steps != (uint32_t)p->steps)
    fail("pl_stats: %u steps", (unsigned)stats.steps);
  for (unsigned o = 0; o < operands_of(p); o++) {
    const bool output = p->operand[o].output;
    const unsigned copies = output ? e->write_backs[o] : e->fetches[o];
    if (stats.copies[o] != copies)
      fail("pl_stats, operand %u: %u copies instead of %u", o, (unsigned)stats.copies[o], copies);
    if (output && stats.reloads[o - p->inputs] != e->fetches[o])
      fail("pl_stats, operand %u: %u reloads instead of %u", o, (unsigned)stats.reloads[o - p->inputs],
           e->fetches[o]);
  }
}

/* Once a step, and when; of an array with one block only that it is asked. */
static void check_maps(const struct pipeline *p, const struct expected *e) {
  if (running.out_of_order)
    fail("a map was asked for steps out of order");
  for (unsigned o = 0; o < operands_of(p); o++) {
    const bool one = blocks_of(p, &p->operand[o]) == 1;
    if (p->operand[o].whole)
      continue;
    for (int32_t s = 0; s < p->steps; s++)
      if (running.asked[o][s].times != 1)
        fail("operand %u: the map was asked %u times for step %d", o, running.asked[o][s].times, s);
      else if (!one && !p->operand[o].lookahead && running.asked[o][s].at != e->evaluated_at[o][s])
        fail("operand %u: the map was asked for step %d after %u bodies instead of %u", o, s,
             running.asked[o][s].at, e->evaluated_at[o][s]);
  }
}

static void check_values(const struct pipeline *p, const struct expected *e) {
  if (running.returned != (uint32_t)p->steps)
    fail("%u bodies ran instead of %d", running.returned, p->steps);
  for (int32_t s = 0; s < p->steps; s++)
    for (unsigned i = 0; i < p->actions[s]; i++)
      if (e->got[s][i].defined && running.got[s][i] != e->got[s][i].value)
        fail("step %d, action %u: the body got 0x%x instead of 0x%x", s, i, (unsigned)running.got[s][i],
             (unsigned)e->got[s][i].value);
}

static void check_arrays(const struct pipeline *p, const struct expected *e) {
  if (memcmp(pl_hbm_pointer(&cells), p->cell, sizeof p->cell) != 0)
    fail("the scalar prefetch argument was written back");
  for (unsigned o = 0; o < operands_of(p); o++) {
    const uint32_t n = array_elements(p, &p->operand[o]);
    const int32_t *got = pl_hbm_pointer(&array[o]);
    unsigned bad = 0;
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++)
      if (e->array[o][i].defined && got[i] != e->array[o][i].value && bad++ == 0)
        first = i;
    if (bad != 0)
      fail("operand %u: %u elements wrong, the first is %u: 0x%x instead of 0x%x", o, bad, first,
           (unsigned)got[first], (unsigned)e->array[o][first].value);
    for (uint32_t i = 0; i < GAP; i++)
      if (((const uint8_t *)(got + n))[i] != GUARD) {
        fail("operand %u: the byte %u behind its array was written", o, i);
        break;
      }
  }
}

bool compare(const struct pipeline *p, const struct expected *e, bool is_loud) {
  static struct observed w;
  loud = is_loud;
  wrong = false;
  observe(p, &w);
  check_copies(p, e, &w);
  check_slots(p, &w);
  check_stats(p, e);
  check_maps(p, e);
  check_values(p, e);
  check_arrays(p, e);
  if (!host_idle())
    fail("the device is not idle after the call");
  if (host_logged() != 0)
    fail("the model says: %s", host_log());
  return !wrong;
}

/* One thing of each kind, if the pipeline has it. */
void spoil_expectation(const struct pipeline *p, struct expected *e) {
  const unsigned output = p->inputs;
  if (p->steps == 0)
    return;
  if (strcmp(spoil, "count") == 0)
    e->fetches[0]++;
  else if (strcmp(spoil, "fetch") == 0)
    e->fetch_at[0][e->fetches[0] - 1]++;
  else if (strcmp(spoil, "write-back") == 0)
    e->write_back_at[output][0]--;
  else if (strcmp(spoil, "block") == 0)
    e->fetch_of[0][0] = blocks_of(p, &p->operand[0]) > 1 ? !e->fetch_of[0][0] : 0;
  else if (strcmp(spoil, "order") == 0 && e->prologue_count > 0)
    e->prologue[0]++;
  else if (strcmp(spoil, "map") == 0)
    e->evaluated_at[0][p->steps - 1]++;
  else if (strcmp(spoil, "value") == 0)
    for (unsigned i = 0; i < p->actions[0]; i++)
      e->got[0][i].value++;
  else if (strcmp(spoil, "data") == 0)
    e->array[output][0].value++;
}
