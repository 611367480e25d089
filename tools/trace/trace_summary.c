/* SPDX-License-Identifier: MIT */
/* The trace as a table on a terminal, and as Chrome/Perfetto JSON. */
#include <inttypes.h>

#include "tpu_regs.h"
#include "trace.h"

static void bar(FILE *out, double share) {
  const unsigned full = (unsigned)(share * 30 + 0.5);
  for (unsigned i = 0; i < 30; ++i)
    fputs(i < full ? "#" : ".", out);
}

/* One line: where an engine's cycles went; nothing if it had none to do. */
static void account(const struct trace *t, FILE *out, unsigned lane, uint64_t from, uint64_t to) {
  struct trace_account a;
  if (!trace_account_for(t, lane, from, to, &a))
    return;
  const double percent = 100.0 / (double)(to - from);
  fprintf(out,
          "%s: filling %.1f %%, busy %.1f %%, waiting for DMA %.1f %%, for others %.1f %%, no command %.1f "
          "%%, draining %.1f %%\n",
          trace_lane_name(lane), percent * (double)a.filling, percent * (double)a.busy,
          percent * (double)a.waiting_dma, percent * (double)a.waiting_other, percent * (double)a.no_command,
          percent * (double)a.draining);
}

void trace_write_summary(const struct trace *t, FILE *out, uint64_t from, uint64_t to) {
  const double span = to > from ? (double)(to - from) : 1.0;
  fprintf(out, "cycles %" PRIu64 " to %" PRIu64 " (%" PRIu64 ", %.3f ms), %" PRIu64 " records\n", from, to,
          to - from, t->cycle_hz ? 1e3 * span / t->cycle_hz : 0.0, t->records);
  fprintf(out, "%-7s %8s %8s %10s %14s\n", "engine", "busy", "waiting", "commands", "bytes written");
  for (unsigned lane = 0; lane < TRACE_LANES; ++lane) {
    const double busy = (double)trace_covered(t, lane, TRACE_WORK, from, to) / span;
    const double wait = (double)trace_covered(t, lane, TRACE_WAIT, from, to) / span;
    fprintf(out, "%-7s %7.1f%% %7.1f%%", trace_lane_name(lane), 100 * busy, 100 * wait);
    uint64_t commands = 0, bytes = 0;
    for (size_t i = 0; i < t->intervals; ++i) {
      const struct trace_interval *v = &t->interval[i];
      if (v->lane != lane || v->kind != TRACE_WORK || v->begin < from || v->begin >= to)
        continue;
      commands++;
      bytes += v->bytes;
    }
    if (lane < TRACE_QUEUES)
      fprintf(out, " %10" PRIu64 " %14" PRIu64 "  ", commands, bytes);
    else
      fprintf(out, " %10s %14s  ", "", "");
    bar(out, busy);
    fputc('\n', out);
  }
  account(t, out, TPU_QUEUE_MXU, from, to);
  account(t, out, TPU_QUEUE_VPU, from, to);
  if (t->error)
    fprintf(out, "the run had an error: code %" PRIu32 "\n", t->error);
}

struct events {
  FILE *out;
  uint64_t from, to;
  double us;
};

static void scope_event(void *opaque, const char *name, unsigned depth, uint64_t begin, uint64_t end) {
  const struct events *e = opaque;
  (void)depth;
  if (end <= e->from || begin >= e->to)
    return;
  fprintf(e->out, "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\"},\n",
          (unsigned)TPU_QUEUE_SCALAR, (double)begin * e->us, (double)(end - begin) * e->us, name);
}

static void value_event(void *opaque, const char *name, int32_t value, uint64_t cycle) {
  const struct events *e = opaque;
  if (cycle < e->from || cycle >= e->to)
    return;
  fprintf(e->out, "{\"ph\":\"C\",\"pid\":1,\"ts\":%.3f,\"name\":\"%s\",\"args\":{\"value\":%" PRId32 "}},\n",
          (double)cycle * e->us, name, value);
}

void trace_write_json(const struct trace *t, FILE *out, uint64_t from, uint64_t to) {
  const double us = t->cycle_hz ? 1e6 / t->cycle_hz : 1.0;
  fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  for (unsigned lane = 0; lane < TRACE_LANES; ++lane) {
    fprintf(out, "{\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"name\":\"thread_name\",\"args\":{\"name\":\"%s\"}},\n",
            lane, trace_lane_name(lane));
  }
  for (size_t n = 0; n < t->intervals; ++n) {
    const struct trace_interval *i = &t->interval[n];
    if (i->end <= from || i->begin >= to)
      continue;
    fprintf(out,
            "{\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s\",\"args\":{\"tag\":"
            "%" PRIu32 ",\"cycle\":%" PRIu64 "%s",
            i->lane, (double)i->begin * us, (double)(i->end - i->begin) * us,
            i->kind == TRACE_WORK ? "work" : "wait", i->tag, i->begin,
            i->kind == TRACE_WORK ? "" : ",\"semaphore\":");
    if (i->kind == TRACE_WAIT)
      fprintf(out, "%u", i->semaphore);
    fprintf(out, "}},\n");
  }
  for (size_t n = 0; n < t->marks; ++n) {
    const struct trace_mark *m = &t->mark[n];
    if (m->cycle < from || m->cycle >= to)
      continue;
    fprintf(out,
            "{\"ph\":\"i\",\"s\":\"t\",\"pid\":1,\"tid\":%u,\"ts\":%.3f,\"name\":\"mark %u: %" PRIu32
            "\"},\n",
            (unsigned)TPU_QUEUE_SCALAR, (double)m->cycle * us, m->kind, m->value);
  }
  struct events events = {.out = out, .from = from, .to = to, .us = us};
  trace_each_scope(t, scope_event, value_event, &events);
  fprintf(out, "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"TPU\"}}\n]}\n");
}
