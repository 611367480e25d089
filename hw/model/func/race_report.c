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

static void add_command(struct text *t, uint32_t agent, const struct race_command *c, const char *which,
                        const struct race_set *s) {
  if (agent == RACE_SCALAR)
    text_add(t, "the scalar core (");
  else
    text_add(t, "%s tag 0x%08x (queued in cycle %llu, ", tpu_queue_name(agent), c->tag,
             (unsigned long long)c->go);
  text_add(t, "%s cycle %llu", agent == RACE_SCALAR ? "in" : "started in", (unsigned long long)c->start);
  if (c->step != RACE_NO_STEP)
    text_add(t, ", grid step %u", c->step);
  text_add(t, ")%s ", which);
  add_range(t, s);
}

static void say(struct tpu_model *m, const char *text) {
  if (m->host.log)
    m->host.log(m->host.opaque, TPU_LOG_UNPREDICTABLE, text);
}

/* False: enough was said already. */
static bool begin(struct tpu_model *m, struct text *t) {
  uint64_t n = ++m->race->reported;
  if (n > RACE_REPORTS + 1)
    return false;
  text_add(t, "cycle %llu: race %llu: ", (unsigned long long)m->state.cycle, (unsigned long long)n);
  if (n <= RACE_REPORTS)
    return true;
  text_add(t, "further ones are not reported");
  say(m, t->at);
  return false;
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
  if (!begin(m, &t))
    return;
  add_command(&t, agent, mine, "", meeting->mine);
  text_add(&t, ", and nothing orders it behind ");
  add_command(&t, other_agent, other, ", which", meeting->other);
  text_add(&t, "; both touch %s 0x%x", spaces[meeting->mine->space], meeting->address);
  if (agent == other_agent)
    text_add(&t, " (in a channel a read may pass an earlier write: wait for the channel's own ticket)");
  say(m, line);
}

static void add_consumer(struct text *t, uint32_t agent, uint32_t tag) {
  if (agent == RACE_SCALAR)
    text_add(t, "the scalar core");
  else
    text_add(t, "%s tag 0x%08x", tpu_queue_name(agent), tag);
}

void race_report_consumers(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag) {
  char line[320];
  struct text t = {line, sizeof line, 0};
  const struct race_sem *s = &m->race->sem[sem];
  if (!begin(m, &t))
    return;
  add_consumer(&t, agent, tag);
  text_add(&t, " takes from COUNT semaphore %u, from which ", sem);
  add_consumer(&t, s->consumer - 1, s->consumer_tag);
  text_add(&t, " takes in the same kernel; only one queue, or the scalar core, may");
  say(m, line);
}
