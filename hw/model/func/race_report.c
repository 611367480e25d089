/* SPDX-License-Identifier: MIT */
/* What the race detector says. */
#include "race.h"

#include "text.h"

static const char *const spaces[RACE_SPACES + 1] = {"HBM", "VMEM", "SMEM", "ACC", "the program memory at"};

/* "writes 128 rows of 256 bytes from VMEM 0x1000, 1024 apart" */
static void add_range(struct text *t, const struct race_set *s) {
  static const char *const times[] = {"", " x ", " x ", " x "};
  uint64_t rows = 1;
  text_add(t, "%s ", s->write ? "writes" : "reads");
  for (uint32_t d = s->dims; d-- > 0; rows *= s->count[d])
    text_add(t, "%s%u", times[s->dims - 1 - d], s->count[d]);
  if (s->dims > 0)
    text_add(t, " rows of ");
  text_add(t, "%u byte%s from %s 0x%x on", s->row, s->row == 1 ? "" : "s", spaces[s->space], s->low);
  for (uint32_t d = s->dims; d-- > 0;)
    text_add(t, "%s%u", d + 1 == s->dims ? ", " : " and ", s->stride[d]);
  if (s->dims > 0)
    text_add(t, " apart");
}

static void add_step(struct text *t, uint32_t step, uint32_t inner) {
  if (step != RACE_NO_STEP)
    text_add(t, ", grid step %u", step);
  if (inner != RACE_NO_STEP)
    text_add(t, ", step %u of the pipeline in its body", inner);
}

static void add_command(struct text *t, uint32_t agent, const struct race_command *c, const char *which,
                        const struct race_set *s) {
  if (agent == RACE_SCALAR)
    text_add(t, "the scalar core (");
  else
    text_add(t, "%s tag 0x%08x (queued in cycle %llu, ", tpu_queue_name(agent), c->tag,
             (unsigned long long)c->go);
  text_add(t, "%s cycle %llu", agent == RACE_SCALAR ? "in" : "started in", (unsigned long long)c->start);
  add_step(t, c->step, c->inner);
  text_add(t, ")%s ", which);
  add_range(t, s);
}

static void say(struct tpu_model *m, tpu_log_class class, const char *text) {
  if (m->host.log)
    m->host.log(m->host.opaque, class, text);
}

/* False: enough was said of this kernel already. */
static bool begin(struct tpu_model *m, struct text *t, const char *what) {
  uint64_t n = ++m->race->reported;
  if (n > RACE_REPORTS + 1)
    return false;
  text_add(t, "cycle %llu: ", (unsigned long long)m->state.cycle);
  if (n <= RACE_REPORTS) {
    text_add(t, "%s %llu: ", what, (unsigned long long)n);
    return true;
  }
  text_add(t, "further races of this kernel are only counted");
  say(m, TPU_LOG_UNPREDICTABLE, t->at);
  return false;
}

void race_report_rest(struct tpu_model *m) {
  char line[160];
  struct text t = {line, sizeof line, 0};
  uint64_t rest = m->race->reported > RACE_REPORTS ? m->race->reported - RACE_REPORTS : 0;
  m->race->reported = 0;
  if (rest == 0)
    return;
  text_add(&t, "cycle %llu: %llu further race%s not reported", (unsigned long long)m->state.cycle,
           (unsigned long long)rest, rest == 1 ? " was" : "s were");
  say(m, TPU_LOG_UNPREDICTABLE, line);
}

void race_report(struct tpu_model *m, uint32_t agent, const struct race_command *mine, uint32_t other_agent,
                 const struct race_command *other, const struct race_meeting *meeting) {
  char line[640];
  struct text t = {line, sizeof line, 0};
  struct race *r = m->race;
  struct race_pair pair = {agent, other_agent, mine->number, other->number};
  if (pair.agent == r->last.agent && pair.other == r->last.other && pair.number == r->last.number &&
      pair.other_number == r->last.other_number)
    return; /* the scalar core goes on with what it does */
  r->last = pair;
  if (!begin(m, &t, "race"))
    return;
  add_command(&t, agent, mine, "", meeting->mine);
  text_add(&t, ", and nothing orders it behind ");
  add_command(&t, other_agent, other, ", which", meeting->other);
  text_add(&t, "; both touch %s 0x%x", spaces[meeting->mine->space], meeting->address);
  if (other->copy)
    text_add(&t,
             " (that one is an asynchronous copy: only a wait for its bytes, on semaphore %u, orders what "
             "follows)",
             other->sem);
  else if (agent == other_agent)
    text_add(&t, " (in a channel a read may pass an earlier write: wait for the channel's own ticket)");
  say(m, TPU_LOG_UNPREDICTABLE, line);
}

static void add_agent(struct text *t, uint32_t agent, uint32_t tag) {
  if (agent == RACE_SCALAR)
    text_add(t, "the scalar core");
  else
    text_add(t, "%s tag 0x%08x", tpu_queue_name(agent), tag);
}

void race_report_consumers(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag) {
  char line[320];
  struct text t = {line, sizeof line, 0};
  const struct race_sem *s = &m->race->sem[sem];
  if (!begin(m, &t, "race"))
    return;
  add_agent(&t, agent, tag);
  text_add(&t, " takes from COUNT semaphore %u, from which ", sem);
  add_agent(&t, s->consumer - 1, s->consumer_tag);
  text_add(&t, " takes in the same kernel; only one queue, or the scalar core, may");
  say(m, TPU_LOG_UNPREDICTABLE, line);
}

/* ---- the rule against deadlock
 * -----------------------------------------------------------------------------
 */

void race_report_wait(struct tpu_model *m, uint32_t sem, uint32_t amount, uint64_t missing, uint32_t queue,
                      uint32_t tag) {
  char line[320];
  struct text t = {line, sizeof line, 0};
  if (!begin(m, &t, "deadlock"))
    return;
  text_add(&t, "%s tag 0x%08x (queued now", tpu_queue_name(queue), tag);
  add_step(&t, m->race->step, m->race->inner);
  text_add(&t,
           ") waits for semaphore %u (%s, value %u) to reach %u, and all that was queued before it leaves "
           "%llu missing; "
           "a command may wait only for earlier signals, or full queues are a deadlock",
           sem, func_is_ticket(m, sem) ? "TICKET" : "COUNT", m->state.sem[sem], amount,
           (unsigned long long)missing);
  say(m, TPU_LOG_GUEST_ERROR, line);
}

void race_report_late_signal(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag) {
  char line[320];
  struct text t = {line, sizeof line, 0};
  const struct race_sem *s = &m->race->sem[sem];
  if (!begin(m, &t, "deadlock"))
    return;
  add_agent(&t, agent, tag);
  text_add(&t, agent == RACE_SCALAR ? " (now" : " (queued now");
  add_step(&t, m->race->step, m->race->inner);
  text_add(&t, ") signals semaphore %u, for which %s tag 0x%08x, queued earlier, waits", sem,
           tpu_queue_name(s->short_queue), s->short_tag);
  say(m, TPU_LOG_GUEST_ERROR, line);
}
