/* SPDX-License-Identifier: MIT */
/* The race detector's commands and clocks; race.h says what they mean. */
#include "dma.h"
#include "race.h"

#include <string.h>

struct race_command *race_command(struct race *r, uint32_t agent, uint64_t number) {
  return &r->agent[agent].command[number % RACE_COMMANDS];
}

void race_join(struct race_clock *clock, const struct race_clock *other) {
  for (uint32_t a = 0; a < RACE_AGENTS; a++)
    if (clock->at[a] < other->at[a])
      clock->at[a] = other->at[a];
  for (uint32_t s = 0; s < RACE_SLOTS; s++)
    if (clock->copies[s] < other->copies[s])
      clock->copies[s] = other->copies[s];
}

uint32_t race_slot(uint32_t sem, uint32_t queue) {
  return (sem * CHANNELS + queue) % RACE_SLOTS;
}

const struct race_clock *race_done(struct race *r, uint32_t agent, uint64_t number) {
  struct race_agent *g = &r->agent[agent];
  const struct race_command *c = race_command(r, agent, number);
  return c->number == number ? &c->clock : &g->last_done;
}

static struct race_clock *scalar_clock(struct race *r) {
  return &r->agent[RACE_SCALAR].last_done;
}

/* ---- comparing --------------------------------------------------------------------------------------------
 */

/* Compares a command with those of one agent that its clock does not cover. */
static void check_agent(struct tpu_model *m, uint32_t agent, const struct race_command *mine,
                        uint32_t other) {
  struct race *r = m->race;
  const struct race_agent *g = &r->agent[other];
  bool passing = other == agent;
  if (passing && agent >= CHANNELS)
    return;
  uint64_t last = passing ? mine->number - 1 : g->started, from = mine->clock.at[other] + 1;
  if (last >= RACE_COMMANDS && from <= last - RACE_COMMANDS)
    from = last - RACE_COMMANDS + 1;
  for (uint64_t n = from; n <= last; n++) {
    const struct race_command *c = race_command(r, other, n);
    struct race_meeting meeting;
    if (c->number == n && c->sets > 0 && !c->copy && race_meet(r, mine, c, passing, &meeting))
      race_report(m, agent, mine, other, c, &meeting);
  }
}

/* And with asynchronous copies, of which its clock tells apart. */
static void check_copies(struct tpu_model *m, uint32_t agent, const struct race_command *mine,
                         uint32_t slot) {
  struct race *r = m->race;
  const uint64_t last = r->copies[slot];
  uint64_t from = mine->clock.copies[slot] + 1;
  if (last >= RACE_COPIES && from <= last - RACE_COPIES)
    from = last - RACE_COPIES + 1;
  for (uint64_t k = from; k <= last; k++) {
    const uint32_t queue = r->copy[slot][k % RACE_COPIES].queue;
    const uint64_t number = r->copy[slot][k % RACE_COPIES].number;
    const struct race_command *c = race_command(r, queue, number);
    struct race_meeting meeting;
    if (c != mine && c->number == number && c->sets > 0 && race_meet(r, mine, c, false, &meeting))
      race_report(m, agent, mine, queue, c, &meeting);
  }
}

static void check(struct tpu_model *m, uint32_t agent, const struct race_command *mine) {
  for (uint32_t other = 0; other < RACE_AGENTS && mine->sets > 0; other++)
    check_agent(m, agent, mine, other);
  for (uint32_t slot = 0; slot < RACE_SLOTS && mine->sets > 0; slot++)
    check_copies(m, agent, mine, slot);
}

/* ---- commands of queues -----------------------------------------------------------------------------------
 */

/* bits: of one wait. */
static bool consumes(const struct tpu_model *m, uint32_t bits) {
  return (bits & TPU_Q_WAITS_CONSUME0_MASK) && !func_is_ticket(m, bits & TPU_Q_WAITS_SEM0_MASK);
}

static uint64_t signal_amount(uint32_t queue, const struct command *c, uint32_t i) {
  if (!(c->signals >> (8 * i) & TPU_Q_SIGNALS_BYTES0_MASK))
    return c->signal_amount[i];
  return queue < CHANNELS ? func_dma_decode(c->args).bytes : 0;
}

void func_race_go(struct tpu_model *m, uint32_t queue, const struct command *command) {
  struct race *r = m->race;
  struct race_agent *g = &r->agent[queue];
  struct race_command *c = race_command(r, queue, ++g->issued);
  race_release_scalar(r, false);
  *c = (struct race_command){.number = g->issued,
                             .order = ++r->orders,
                             .clock = *scalar_clock(r),
                             .tag = command->tag,
                             .step = r->step,
                             .inner = r->inner,
                             .go = m->state.cycle};
  for (uint32_t i = 0; i < WAITS; i++) {
    uint32_t bits = command->waits >> (8 * i), sem = bits & TPU_Q_WAITS_SEM0_MASK;
    if (!(bits & TPU_Q_WAITS_EN0_MASK))
      continue;
    race_claim(m, sem, command->wait_amount[i], consumes(m, bits), queue, command->tag);
    if (consumes(m, bits) && command->wait_amount[i] != 0)
      race_consumer(m, sem, queue, command->tag);
  }
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t bits = command->signals >> (8 * i), sem = bits & TPU_Q_SIGNALS_SEM0_MASK;
    if (!(bits & TPU_Q_SIGNALS_EN0_MASK))
      continue;
    r->sem[sem].agents |= 1u << queue;
    if (bits & TPU_Q_SIGNALS_BYTES0_MASK && queue < CHANNELS && r->step != RACE_NO_STEP) {
      c->copy = true;
      c->sem = sem;
    }
    race_promise(m, sem, signal_amount(queue, command, i), queue, command->tag);
  }
}

void func_race_start(struct tpu_model *m, uint32_t queue, const struct command *command) {
  struct race *r = m->race;
  struct race_agent *g = &r->agent[queue];
  struct race_command *c = race_command(r, queue, ++g->started);
  c->start = m->state.cycle;
  c->first = r->made;
  race_join(&c->clock, &g->last_start);
  for (uint32_t i = 0; i < WAITS; i++) {
    uint32_t bits = command->waits >> (8 * i), sem = bits & TPU_Q_WAITS_SEM0_MASK;
    if (!(bits & TPU_Q_WAITS_EN0_MASK))
      continue;
    race_acquire(m, sem, command->wait_amount[i], c->order, &c->clock);
    if (consumes(m, bits))
      m->race->sem[sem].consumed += command->wait_amount[i];
  }
  if (queue >= CHANNELS)
    c->clock.at[queue] = g->started - 1;
  if (c->copy) {
    const uint32_t slot = race_slot(c->sem, queue);
    c->copy_number = ++r->copies[slot];
    r->copy[slot][c->copy_number % RACE_COPIES].queue = queue;
    r->copy[slot][c->copy_number % RACE_COPIES].number = c->number;
  }
  g->last_start = c->clock;
  if (queue == TPU_QUEUE_VPU)
    race_clear_marks(r);
}

struct adding {
  struct race *race;
  struct race_command *command;
};

/* An accumulator that is read and written is written. */
static void add_mxu(void *opaque, const struct tpu_access *access) {
  struct adding *a = opaque;
  if (access->write || access->space != TPU_SPACE_ACC)
    race_add(a->race, a->command, access);
}

/* From its entry to the next HALT: what it may execute, unless it jumps over a HALT. */
static void add_program(struct tpu_model *m, struct race_command *c, const struct command *command) {
  const uint32_t entry = FIELD_OF(command->args[(TPU_VPU_ENTRY - TPU_QUEUE_ARGS) / 4], TPU_VPU_ENTRY_START);
  for (uint32_t pc = entry; pc < m->config->vpu_program; pc++)
    if (FIELD_OF(m->program[pc], TPU_VINSTR_OP) == TPU_VOP_HALT) {
      race_add_range(m->race, c, RACE_PROGRAM, false, 8 * entry, 8 * (pc + 1 - entry));
      return;
    }
}

void func_race_ranges(struct tpu_model *m, uint32_t queue, const struct flying *f) {
  struct race *r = m->race;
  struct race_command *c = race_command(r, queue, r->agent[queue].started);
  if (f->fault.code != TPU_ERROR_NONE)
    return;
  if (queue == TPU_QUEUE_MXU)
    func_accesses(m, queue, f, add_mxu, &(struct adding){r, c});
  else if (queue < CHANNELS)
    race_add_dma(m, r, c, &f->dma);
  else if (queue == TPU_QUEUE_VPU)
    add_program(m, c, &f->command);
  check(m, queue, c);
}

void func_race_vector_access(void *opaque, const struct tpu_access *access) {
  race_mark(opaque, access);
}

void func_race_vector_end(struct tpu_model *m) {
  struct race *r = m->race;
  struct race_command *c = race_command(r, TPU_QUEUE_VPU, r->agent[TPU_QUEUE_VPU].started);
  c->first = r->made;
  c->sets = 0;
  race_add_marks(r, c);
  check(m, TPU_QUEUE_VPU, c);
  add_program(m, c, &func_front(&m->state.queue[TPU_QUEUE_VPU])->command); /* it was compared at the start */
}

void func_race_complete(struct tpu_model *m, uint32_t queue, bool interrupts) {
  struct race *r = m->race;
  struct race_agent *g = &r->agent[queue];
  struct race_command *c = race_command(r, queue, ++g->completed);
  race_join(&c->clock, &g->last_done);
  c->clock.at[queue] = g->completed;
  g->last_done = c->clock;
  if (interrupts)
    race_join(&r->done, &c->clock);
}

/* ---- the scalar core --------------------------------------------------------------------------------------
 */

void race_release_scalar(struct race *r, bool always) {
  struct race_agent *g = &r->agent[RACE_SCALAR];
  struct race_command *c = race_command(r, RACE_SCALAR, g->issued);
  if (c->sets == 0 && !always)
    return;
  g->completed = g->issued;
  g->last_done.at[RACE_SCALAR] = g->completed;
  c->clock = g->last_done;
  g->issued++;
  *race_command(r, RACE_SCALAR, g->issued) =
      (struct race_command){.number = g->issued, .step = RACE_NO_STEP, .inner = RACE_NO_STEP};
}

/* Its accesses are made one by one; neighbours become one range. */
void func_race_window(struct tpu_model *m, uint32_t space, uint32_t address, unsigned size, bool write) {
  enum { MANY = 64 };
  struct race *r = m->race;
  struct race_agent *g = &r->agent[RACE_SCALAR];
  struct race_command *c = race_command(r, RACE_SCALAR, g->issued);
  if (c->sets > 0 && (c->first + c->sets != r->made || c->sets >= MANY)) {
    race_release_scalar(r, true);
    c = race_command(r, RACE_SCALAR, g->issued);
  }
  if (c->sets == 0) {
    c->first = r->made;
    c->go = c->start = m->state.cycle;
    c->step = r->step;
    c->inner = r->inner;
  }
  race_add_range(r, c, space, write, address, size);
  g->started = g->issued;
  c->clock = *scalar_clock(r);
  /* Only this access is new: the others were compared when they were made. */
  struct race_command now = *c;
  now.start = m->state.cycle;
  now.first = r->made; /* a set of its own, behind the last one, which is not kept */
  now.sets = 0;
  race_add_range(r, &now, space, write, address, size);
  check(m, RACE_SCALAR, &now);
  r->made = now.first;
}

/* Everything that has completed. */
static void learn_all(struct race *r) {
  for (uint32_t q = 0; q < QUEUES; q++)
    race_join(scalar_clock(r), &r->agent[q].last_done);
  for (uint32_t s = 0; s < RACE_SLOTS; s++)
    scalar_clock(r)->copies[s] = r->copies[s];
}

void func_race_status(struct tpu_model *m, uint32_t status) {
  struct race *r = m->race;
  if (status & (TPU_REG_STATUS_IDLE_MASK | TPU_REG_STATUS_BLOCKED_MASK))
    learn_all(r); /* nothing is in flight */
  if (status & TPU_REG_STATUS_IDLE_MASK)
    race_forget_consumers(r);
  for (uint32_t q = 0; q < QUEUES; q++)
    if (!(status >> (TPU_REG_STATUS_BUSY_SHIFT + q) & 1))
      race_join(scalar_clock(r), &r->agent[q].last_done);
}

void func_race_intr_state(struct tpu_model *m, uint32_t value) {
  struct race *r = m->race;
  if (value & TPU_REG_INTR_STATE_DONE_MASK)
    race_join(scalar_clock(r), &r->done);
  if (value & TPU_REG_INTR_STATE_BLOCKED_MASK)
    race_join(scalar_clock(r), &r->blocked);
}

void func_race_blocked(struct tpu_model *m) {
  for (uint32_t q = 0; q < QUEUES; q++)
    race_join(&m->race->blocked, &m->race->agent[q].last_done);
}

void func_race_sem_read(struct tpu_model *m, uint32_t sem) {
  race_acquire_value(m, sem, scalar_clock(m->race));
}

void func_race_sem_take(struct tpu_model *m, uint32_t sem, uint32_t amount) {
  race_acquire(m, sem, amount, m->race->orders, scalar_clock(m->race));
  m->race->sem[sem].consumed += amount;
  m->race->sem[sem].claimed += amount;
  if (amount != 0)
    race_consumer(m, sem, RACE_SCALAR, 0);
}

void func_race_sem_set(struct tpu_model *m, uint32_t sem, uint32_t value) {
  learn_all(m->race); /* it is allowed on an idle device only */
  race_sem_reset(m, sem, value);
}

/*
 * Steps of a pipeline in a body lie between the marks of the step around them. The kernel's own step stays
 * the last one until the next begins, because what is queued between two bodies belongs to the first.
 */
static void mark_step(struct race *r, uint32_t value, bool begins) {
  if (begins && r->depth++ < RACE_NESTING)
    r->open[r->depth - 1] = value;
  else if (!begins && r->depth > 0)
    r->depth--;
  if (begins && r->depth == 1)
    r->step = value;
  r->inner = r->depth > 1 && r->depth <= RACE_NESTING ? r->open[r->depth - 1] : RACE_NO_STEP;
}

static void forget_steps(struct race *r) {
  r->step = r->inner = RACE_NO_STEP;
  r->depth = 0;
}

void func_race_mark(struct tpu_model *m, uint32_t value) {
  struct race *r = m->race;
  switch (value >> TPU_REG_TRACE_MARK_KIND_SHIFT) {
  case TPU_MARK_STEP:
  case TPU_MARK_STEP_END:
    mark_step(r, value & TPU_REG_TRACE_MARK_VALUE_MASK,
              value >> TPU_REG_TRACE_MARK_KIND_SHIFT == TPU_MARK_STEP);
    break;
  case TPU_MARK_CALL_BEGIN:
    race_report_rest(m);
    race_forget_consumers(r);
    forget_steps(r);
    break;
  case TPU_MARK_CALL_END:
    race_report_rest(m);
    forget_steps(r);
    break;
  default:
    break;
  }
}

/* ---- life -------------------------------------------------------------------------------------------------
 */

void func_race_abort(struct tpu_model *m) {
  struct race *r = m->race;
  struct race_clock all;
  race_release_scalar(r, true);
  for (uint32_t a = 0; a < RACE_AGENTS; a++)
    all.at[a] = a == RACE_SCALAR ? r->agent[a].completed : r->agent[a].issued;
  for (uint32_t s = 0; s < RACE_SLOTS; s++)
    all.copies[s] = r->copies[s];
  for (uint32_t a = 0; a < RACE_AGENTS; a++) {
    struct race_agent *g = &r->agent[a];
    if (a != RACE_SCALAR)
      g->started = g->completed = g->issued;
    g->last_start = g->last_done = all;
  }
  r->done = r->blocked = (struct race_clock){.at = {0}};
  for (uint32_t i = 0; i < SEMAPHORES; i++)
    race_sem_reset(m, i, 0);
  race_clear_marks(r);
}

void func_race_reset(struct tpu_model *m) {
  race_report_rest(m);
  forget_steps(m->race);
}

size_t func_race_bytes(void) {
  return sizeof(struct race);
}

void func_race_init(struct race *r) {
  memset(r, 0, sizeof *r);
  forget_steps(r);
  r->agent[RACE_SCALAR].issued = 1;
  *race_command(r, RACE_SCALAR, 1) =
      (struct race_command){.number = 1, .step = RACE_NO_STEP, .inner = RACE_NO_STEP};
  race_clear_marks(r);
}
