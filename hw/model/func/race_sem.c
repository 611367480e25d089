/* SPDX-License-Identifier: MIT */
/*
 * What a semaphore tells who waits for it.
 *
 * Amounts are counted from the moment at which the semaphore was set: a wait holds when `needed` units were
 * signalled, for COUNT the amount and all that was consumed before, for TICKET the amount itself. With one
 * signalling agent the signals come in order, and the wait tells of all up to the one that reaches `needed`.
 * With several, their order is open: a signal is told of only if the wait could not hold without it, that is
 * if everything from the other agents, and from its own before it, is less than `needed`. "Everything" is
 * what they have signalled and what commands queued before the waiting one still will; later ones may depend
 * on it.
 */
#include "dma.h"
#include "race.h"

/* ---- what may still come ----------------------------------------------------------------------------------
 */

static uint64_t amount_of(const struct command *c, uint32_t sem, bool dma) {
  uint64_t amount = 0;
  for (uint32_t i = 0; i < SIGNALS; i++) {
    uint32_t bits = c->signals >> (8 * i);
    if (!(bits & TPU_Q_SIGNALS_EN0_MASK) || (bits & TPU_Q_SIGNALS_SEM0_MASK) != sem)
      continue;
    if (!(bits & TPU_Q_SIGNALS_BYTES0_MASK))
      amount += c->signal_amount[i];
    else if (dma)
      amount += func_dma_decode(c->args).bytes;
  }
  return amount;
}

/* Units that commands of a queue, queued before `order` and not complete, will signal. */
static uint64_t pending(struct tpu_model *m, uint32_t queue, uint32_t sem, uint64_t order) {
  struct queue *q = &m->state.queue[queue];
  const struct race_agent *g = &m->race->agent[queue];
  uint64_t number = g->completed, sum = 0;
  for (uint32_t i = 0; i < q->fly_count + q->count; i++) {
    const struct command *c =
        i < q->fly_count ? &func_flying(q, i)->command : &q->slot[(q->head + i - q->fly_count) % MAX_DEPTH];
    if (race_command(m->race, queue, ++number)->order >= order)
      break;
    sum += amount_of(c, sem, queue < CHANNELS);
  }
  return sum;
}

/* ---- acquire ----------------------------------------------------------------------------------------------
 */

/* Joins the newest signal of an agent without which, beside `others`, the wait could not hold. */
static void acquire_from(struct race *r, uint32_t sem, uint32_t agent, uint64_t others, uint64_t needed,
                         struct race_clock *clock) {
  const struct race_signals *s = &r->sem[sem].from[agent];
  uint64_t kept = s->count < RACE_HISTORY ? s->count : RACE_HISTORY;
  for (uint64_t i = 1; i <= kept; i++) {
    uint64_t at = (s->count - i) % RACE_HISTORY;
    bool oldest = i == kept && s->count > RACE_HISTORY; /* or one before it, which is forgotten */
    if (others + s->entry[at].before < needed || (oldest && others < needed)) {
      uint64_t *copies = &clock->copies[race_slot(sem, agent)];
      race_join(clock, race_done(r, agent, s->entry[at].number));
      if (*copies < s->entry[at].copy_number)
        *copies = s->entry[at].copy_number;
      return;
    }
  }
}

static void acquire(struct tpu_model *m, uint32_t sem, uint64_t needed, uint64_t order,
                    struct race_clock *clock) {
  struct race *r = m->race;
  struct race_sem *s = &r->sem[sem];
  bool one = (s->agents & (s->agents - 1)) == 0;
  uint64_t of[RACE_AGENTS], all = s->base;
  for (uint32_t a = 0; a < RACE_AGENTS; a++) {
    if (!(s->agents >> a & 1))
      continue;
    of[a] = s->from[a].sum + (one || a == RACE_SCALAR ? 0 : pending(m, a, sem, order));
    all += of[a];
  }
  for (uint32_t a = 0; a < RACE_AGENTS; a++)
    if (s->agents >> a & 1)
      acquire_from(r, sem, a, all - of[a], needed, clock);
}

/* Units that have reached the value: those signalled in this cycle have not. */
static uint64_t arrived(const struct tpu_model *m, uint32_t sem) {
  const struct race_sem *s = &m->race->sem[sem];
  uint64_t sum = s->base - m->delta.add[sem];
  for (uint32_t a = 0; a < RACE_AGENTS; a++)
    sum += s->from[a].sum;
  return sum;
}

void race_acquire(struct tpu_model *m, uint32_t sem, uint32_t amount, uint64_t order,
                  struct race_clock *clock) {
  uint64_t needed = m->race->sem[sem].consumed + amount;
  if (func_is_ticket(m, sem)) {
    uint64_t sum = arrived(m, sem);
    uint32_t spare = m->state.sem[sem] - amount; /* the wait holds: not negative */
    needed = sum > spare ? sum - spare : 0;
  }
  acquire(m, sem, needed, order, clock);
}

void race_acquire_value(struct tpu_model *m, uint32_t sem, struct race_clock *clock) {
  acquire(m, sem, arrived(m, sem), m->race->orders + 1, clock);
}

/* ---- the rule against deadlock
 * -----------------------------------------------------------------------------
 */

/*
 * Units that a wait of this queue finds at last, if nothing more is queued: without what is claimed by
 * earlier waits of its consumer. Others take at any time; of them only what they have is known.
 */
static bool can_hold(const struct tpu_model *m, uint32_t sem, uint32_t amount, bool of_consumer,
                     uint64_t *missing) {
  const struct race_sem *s = &m->race->sem[sem];
  uint64_t sum = s->base + s->promised, needed = (of_consumer ? s->claimed : s->consumed) + amount;
  if (func_is_ticket(m, sem)) {
    int32_t ahead = (int32_t)((uint32_t)sum - amount);
    *missing = ahead < 0 ? (uint64_t)(-(int64_t)ahead) : 0;
  } else
    *missing = needed > sum ? needed - sum : 0;
  return *missing == 0;
}

void race_claim(struct tpu_model *m, uint32_t sem, uint32_t amount, bool consumes, uint32_t queue,
                uint32_t tag) {
  struct race_sem *s = &m->race->sem[sem];
  uint64_t missing;
  if (!can_hold(m, sem, amount, consumes || s->consumer == queue + 1, &missing)) {
    race_report_wait(m, sem, amount, missing, queue, tag);
    s->short_of = s->promised + missing;
    s->short_queue = queue;
    s->short_tag = tag;
  }
  if (consumes)
    s->claimed += amount;
}

void race_promise(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t agent, uint32_t tag) {
  struct race_sem *s = &m->race->sem[sem];
  s->promised += amount;
  if (s->short_of == 0 || s->promised < s->short_of)
    return;
  race_report_late_signal(m, sem, agent, tag);
  s->short_of = 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------
 */

void func_race_signal(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t agent) {
  struct race *r = m->race;
  struct race_sem *s = &r->sem[sem];
  struct race_signals *from = &s->from[agent];
  if (agent == RACE_SCALAR) {
    race_release_scalar(r, true);
    race_promise(m, sem, amount, agent, 0);
  }
  s->agents |= 1u << agent;
  const struct race_command *c = race_command(r, agent, r->agent[agent].completed);
  if (c->copy && c->sem == sem)
    from->copy_number = c->copy_number;
  from->entry[from->count % RACE_HISTORY].before = from->sum;
  from->entry[from->count % RACE_HISTORY].number = r->agent[agent].completed;
  from->entry[from->count % RACE_HISTORY].copy_number = from->copy_number;
  from->count++;
  from->sum += amount;
}

void race_consumer(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag) {
  struct race_sem *s = &m->race->sem[sem];
  if (s->consumer != 0 && s->consumer != agent + 1)
    race_report_consumers(m, sem, agent, tag);
  s->consumer = agent + 1;
  s->consumer_tag = tag;
}

void race_sem_reset(struct tpu_model *m, uint32_t sem, uint32_t value) {
  struct race_sem *s = &m->race->sem[sem];
  s->base = value;
  s->consumed = s->promised = s->claimed = s->short_of = 0;
  s->agents = s->consumer = 0;
  for (uint32_t a = 0; a < RACE_AGENTS; a++)
    s->from[a].sum = s->from[a].count = 0;
}

void race_forget_consumers(struct race *r) {
  for (uint32_t i = 0; i < SEMAPHORES; i++)
    r->sem[i].consumer = 0;
}
