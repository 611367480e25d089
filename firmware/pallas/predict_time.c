/* SPDX-License-Identifier: MIT */
/*
 * The time that a call will take: its grid step by step, as a timeline of what is used one at a time. The
 * scalar core queues; a fetch starts when it is queued, its buffer is free and the port is; the matrix unit
 * when the step's blocks are there; the vector unit behind it; a write-back behind that. What bodies do is
 * not known: every step is taken to do its part of the work that kernel->cost declares, vector operations
 * once a block of output, or in every step (vector_steps).
 *
 * Instructions are those of a warm call, fitted to measured ones (tests/bench, tools/tune).
 */
#include "predict.h"

enum {
  BEFORE_FETCH = 700, /* instructions of a warm call before its first fetch, */
  OPERAND = 270,      /* more of them for each operand that has blocks, */
  BEFORE_BODY = 500,  /* and from there to the first body */
  BEHIND_BODY = 600,  /* from the last body, or the end of everything, to the return */
  STEP = 110,         /* of a step */
  EVALUATE = 35,      /* for each operand that moves */
  GENERAL = 200,      /* more for a map that gives elements or sizes, or has more than two dimensions */
  COPY = 40,          /* for each block that is fetched or written back */
  RESTAGE = 850,      /* more if it, or the one before it, is at an edge or of another size */
  LISTED = 900,       /* more for a map that gives a list */
  LOOKAHEAD = 200,    /* more for each fetch that looks ahead */
  DOT = 100,          /* for the dot of a step if the kernel declares any */
  VECTOR = 600,       /* for the vector operation behind a block, or of a step */
  FETCH_LATENCY = 90, /* cycles from a fetch to its end beyond its bytes */
  WRITE_LATENCY = 60, /* likewise of a write-back */
  QUEUE = 8,          /* commands that wait in a queue */
  RINGS = 128,        /* buffers, and one an operand */
};

/* A port of HBM: free from a time on, and in a gap that one who had to wait has left. */
struct port {
  uint32_t free, gap, gap_end;
};

/* An operand on its way through the grid. Run number r is in slot r modulo the number of buffers. */
struct stream {
  struct pl_operand *op;
  pl_grid at;         /* evaluated next */
  uint32_t next;      /* number of that step */
  uint32_t lead;      /* steps ahead of the body */
  uint32_t runs, run; /* runs that were begun; the run of the current step */
  uint32_t used;      /* when the last step is done with its block */
  uint32_t *time;     /* of a slot: when its block is there, then when it is free again */
  uint32_t *first;    /* of a run, modulo `ring`: the step that it begins with */
  uint32_t *cycles;   /* outputs, likewise: of the write-back; 0: it moves nothing */
  uint32_t ring;      /* one more than there are buffers */
  bool restage;       /* the last copy left other words in its queue */
};

struct timeline {
  const pl_prediction *p;
  uint32_t scalar, instructions, mxu, vpu; /* when they are free; executed so far */
  struct port in, out;
  struct port *write;          /* == &in if both directions share the bus */
  uint32_t queued[QUEUE];      /* when the commands of earlier steps started */
  uint32_t drained[2];         /* when the accumulators of the last two blocks were */
  uint32_t mxu_step, vpu_step; /* cycles */
  bool chained;
  struct stream *leader; /* the output whose blocks carry the vector operations; NULL: every step does */
  unsigned count;
  struct stream stream[PL_MAX_OPERANDS];
  uint32_t pool[3 * RINGS], pool_used; /* memory of their rings */
};

static uint32_t latest(uint32_t a, uint32_t b) {
  return a > b ? a : b;
}

static void spend(struct timeline *t, uint32_t instructions) {
  t->scalar += instructions;
  t->instructions += instructions;
}

/* Takes a port for some cycles, from `ready` on; returns the end. */
static uint32_t take(struct port *port, uint32_t ready, uint32_t cycles) {
  const uint32_t early = latest(port->gap, ready);

  if (early + cycles <= port->gap_end) {
    port->gap = early + cycles;
    return port->gap;
  }
  if (ready > port->free) {
    port->gap = port->free;
    port->gap_end = ready;
  }
  port->free = latest(port->free, ready) + cycles;
  return port->free;
}

static uint32_t fetched(struct timeline *t, struct stream *s, uint32_t free) {
  const struct pl_moved m = pl_moved_of(s->op);
  spend(t, COPY + (m.ragged || s->restage ? RESTAGE : 0) + (s->op->lookahead ? LOOKAHEAD : 0));
  s->restage = m.ragged;
  return m.empty ? t->scalar : take(&t->in, latest(t->scalar, free), m.cycles) + FETCH_LATENCY;
}

/* Evaluates a stream's next position; true if a run begins there. */
static bool look(struct timeline *t, struct stream *s) {
  const bool changed = pl_evaluate_any(s->op, &s->at) || s->next == 0;

  spend(t, EVALUATE + (s->op->general || s->op->rank > 2 ? GENERAL : 0) + (s->op->listed ? LISTED : 0));
  if (++s->next < t->p->steps)
    advance(&s->at);
  return changed;
}

/* The run that begins with the step looked at last gets a slot. */
static void begin_run(struct timeline *t, struct stream *s) {
  const uint32_t run = s->runs++, slot = run % s->op->buffers;

  s->first[run % s->ring] = s->next - 1;
  if (s->op->output) {
    const struct pl_moved m = pl_moved_of(s->op);
    s->cycles[run % s->ring] = m.cycles;
    spend(t, m.ragged || s->restage ? RESTAGE : 0);
    s->restage = m.ragged;
  } else
    s->time[slot] = fetched(t, s, s->op->buffers > 1 ? s->time[slot] : s->used);
  if (s->lead == 0)
    s->run = run;
}

/* The next run of an operand that looks ahead, if it has a slot; of others what begins with step `until`. */
static void look_ahead(struct timeline *t, struct stream *s, uint32_t until) {
  const uint32_t runs = s->runs;

  while (s->next < t->p->steps &&
         (s->op->lookahead ? s->runs == runs && s->runs - s->run < s->op->buffers : s->next <= until))
    if (look(t, s))
      begin_run(t, s);
}

/* What comes before step 0, as pl_prologue() does it. */
static void prologue(struct timeline *t) {
  for (uint32_t k = 0, more = 1; more != 0; k++) {
    more = 0;
    for (unsigned i = 0; i < t->count; i++) {
      struct stream *s = &t->stream[i];
      if (k < s->lead)
        look_ahead(t, s, k);
      more |= k + 1 < s->lead;
    }
  }
  spend(t, BEFORE_BODY);
}

/* The current run ends with this step. */
static bool ends(const struct timeline *t, const struct stream *s, uint32_t step) {
  return step + 1 == t->p->steps || (s->run + 1 < s->runs && s->first[(s->run + 1) % s->ring] == step + 1);
}

static void work(struct timeline *t, uint32_t step) {
  uint32_t ready = latest(t->scalar, t->queued[step % QUEUE]), end;

  t->scalar = ready; /* no earlier than the queue has room */
  for (unsigned i = 0; i < t->count; i++)
    if (!t->stream[i].op->output)
      ready = latest(ready, t->stream[i].time[t->stream[i].run % t->stream[i].op->buffers]);
  t->queued[step % QUEUE] = ready;
  end = ready;
  if (t->mxu_step != 0) {
    spend(t, DOT);
    end = t->mxu = latest(latest(ready, t->mxu), t->drained[t->chained]) + t->mxu_step;
    t->queued[step % QUEUE] = end - t->mxu_step;
  }
  const uint32_t blocks_free = end;
  if (t->vpu_step != 0 && (t->leader == NULL || ends(t, t->leader, step))) {
    spend(t, VECTOR);
    end = latest(latest(end, t->scalar), t->vpu);
    for (unsigned i = 0; i < t->count; i++)
      if (t->stream[i].op->output)
        end = latest(end, t->stream[i].time[t->stream[i].run % t->stream[i].op->buffers]);
    end = t->vpu = end + t->vpu_step;
    t->drained[0] = t->drained[1];
    t->drained[1] = end;
  }
  for (unsigned i = 0; i < t->count; i++) {
    struct stream *s = &t->stream[i];
    const uint32_t slot = s->run % s->op->buffers, cycles = s->cycles[s->run % s->ring];
    s->used = t->mxu_step != 0 ? blocks_free : end;
    if (!ends(t, s, step))
      continue;
    if (s->op->output) {
      spend(t, COPY);
      if (cycles != 0)
        s->time[slot] = take(t->write, latest(end, t->scalar), cycles) + WRITE_LATENCY;
    } else {
      s->time[slot] = s->used;
    }
    s->run++;
  }
}

/* The operands that have blocks; those that never move have one run. */
static bool begin_streams(struct timeline *t, const struct pl_plan *plan) {
  uint32_t most = 0;

  for (uint32_t i = 0; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind != PL_OPERAND_BLOCKED)
      continue;
    struct stream *s = &t->stream[t->count++];
    const uint32_t ring = op->buffers + 1;
    uint32_t *pool = &t->pool[t->pool_used];
    t->pool_used += 3 * ring;
    if (t->pool_used > 3 * RINGS) {
      pl_fail_operand(PL_ERROR_LIMIT, op,
                      "pl_plan() knows up to %d buffers, of all operands and one more each", RINGS);
      return false;
    }
    *s = (struct stream){.op = op,
                         .at = plan->grid,
                         .lead = op->buffers > 2 ? op->buffers - 1 : 1,
                         .time = pool,
                         .first = pool + ring,
                         .cycles = pool + 2 * ring,
                         .ring = ring};
    if (!op->output && op->buffers == 1)
      s->lead = 0;
    if (op->output && t->p->copies[i] > most) {
      most = t->p->copies[i];
      t->leader = s;
    }
    spend(t, OPERAND);
    if (!op->moves) {
      s->next = t->p->steps;
      s->runs = 1;
      if (op->output)
        s->cycles[0] = pl_moved_of(op).cycles;
      else
        s->time[0] = fetched(t, s, 0);
    }
  }
  return true;
}

void pl_predict_time(struct pl_context *c, const struct pl_plan *plan, pl_prediction *p) {
  struct timeline t = {.p = p,
                       .scalar = BEFORE_FETCH,
                       .instructions = BEFORE_FETCH,
                       .write = &t.out,
                       .chained = c->kernel->cost.chained};
  const pl_cost_estimate *cost = &c->kernel->cost;

  if (c->params.value[TPU_PARAM_HBM_SHARED_BUS] != 0)
    t.write = &t.in;
  if (!begin_streams(&t, plan))
    return;
  uint64_t vector_runs = p->steps;
  if (cost->vector_steps)
    t.leader = NULL;
  if (t.leader != NULL)
    vector_runs = p->copies[t.leader->op - plan->operand];
  t.mxu_step = (uint32_t)(p->mxu / p->steps);
  t.vpu_step = (uint32_t)(p->vpu / vector_runs);
  prologue(&t);
  for (uint32_t step = 0; step < p->steps && c->status == PL_OK; step++) {
    spend(&t, STEP + (uint32_t)(cost->instructions / p->steps));
    for (unsigned i = 0; i < t.count; i++)
      look_ahead(&t, &t.stream[i], step + t.stream[i].lead);
    work(&t, step);
  }
  p->scalar = t.instructions + BEHIND_BODY;
  p->cycles = latest(latest(t.scalar, latest(t.mxu, t.vpu)), latest(t.out.free, t.in.free) + WRITE_LATENCY) +
              BEHIND_BODY;
}
