/* SPDX-License-Identifier: MIT */
/* Reads a trace file and pairs its events. */
#include "trace.h"

#include <stdlib.h>
#include <string.h>

#include "tpu_model.h"
#include "tpu_regs.h"

#define PENDING 64 /* commands of a queue between START and END, with room to spare */

struct file_head {
  char magic[8];
  uint32_t version, header_bytes, record_bytes, abi_hash, cycle_hz, config;
};

/* What is open while the records are read. */
struct pairing {
  struct {
    uint64_t begin[PENDING];
    uint32_t tag[PENDING];
    uint64_t head, tail;
    bool waiting;
    uint64_t wait_begin;
    uint8_t wait_semaphore;
  } queue[TRACE_QUEUES];
  uint8_t signaller[TRACE_SEMAPHORES];
  bool scalar_waits;
  uint64_t scalar_begin;
  uint32_t scalar_cause;
};

static void *grow(void *array, size_t count, size_t *capacity, size_t size) {
  if (count < *capacity)
    return array;
  *capacity = *capacity ? 2 * *capacity : 1024;
  void *bigger = realloc(array, *capacity * size);
  if (!bigger) {
    fprintf(stderr, "tpu-trace: out of memory\n");
    exit(2);
  }
  return bigger;
}

static struct trace_interval *add_interval(struct trace *t, enum trace_kind kind, unsigned lane,
                                           uint64_t begin, uint64_t end, uint32_t tag) {
  t->interval = grow(t->interval, t->intervals, &t->interval_capacity, sizeof *t->interval);
  struct trace_interval *i = &t->interval[t->intervals++];
  *i = (struct trace_interval){.begin = begin,
                               .end = end,
                               .tag = tag,
                               .lane = (uint8_t)lane,
                               .kind = (uint8_t)kind,
                               .cause = TRACE_NO_CAUSE};
  return i;
}

static void on_mark(struct trace *t, struct pairing *p, uint64_t cycle, uint32_t word) {
  const uint8_t kind = (uint8_t)(word >> 24);
  t->mark = grow(t->mark, t->marks, &t->mark_capacity, sizeof *t->mark);
  t->mark[t->marks++] = (struct trace_mark){.cycle = cycle, .value = word & 0xffffff, .kind = kind};
  if (kind == TPU_MARK_WAIT_BEGIN) {
    p->scalar_waits = true;
    p->scalar_begin = cycle;
    p->scalar_cause = word & 0xffffff;
  } else if (kind == TPU_MARK_WAIT_END && p->scalar_waits) {
    p->scalar_waits = false;
    add_interval(t, TRACE_WAIT, TPU_QUEUE_SCALAR, p->scalar_begin, cycle, p->scalar_cause);
  }
}

static void on_start(struct trace *t, struct pairing *p, unsigned q, uint64_t cycle, uint32_t tag) {
  if (p->queue[q].waiting) {
    struct trace_interval *i = add_interval(t, TRACE_WAIT, q, p->queue[q].wait_begin, cycle, tag);
    i->semaphore = p->queue[q].wait_semaphore;
    i->cause = p->signaller[i->semaphore % TRACE_SEMAPHORES];
    p->queue[q].waiting = false;
  }
  const uint64_t slot = p->queue[q].tail++ % PENDING;
  p->queue[q].begin[slot] = cycle;
  p->queue[q].tag[slot] = tag;
}

static void on_end(struct trace *t, struct pairing *p, unsigned q, uint64_t cycle, uint32_t arg) {
  if (p->queue[q].head == p->queue[q].tail)
    return; /* tracing was switched on in the middle */
  const uint64_t number = p->queue[q].head++, slot = number % PENDING;
  struct trace_interval *i =
      add_interval(t, TRACE_WORK, q, p->queue[q].begin[slot], cycle + 1, p->queue[q].tag[slot]);
  i->row = (uint8_t)(number & 1);
  i->bytes = arg;
}

/* Can a device have written it? */
static bool is_record(const tpu_trace_record *r) {
  const uint64_t event = (r->head & TPU_TRACE_EVENT_MASK) >> TPU_TRACE_EVENT_SHIFT;
  const uint64_t queue = (r->head & TPU_TRACE_QUEUE_MASK) >> TPU_TRACE_QUEUE_SHIFT;
  const uint64_t rest = r->head & ~(TPU_TRACE_CYCLE_MASK | TPU_TRACE_EVENT_MASK | TPU_TRACE_QUEUE_MASK);
  return event >= TPU_EVENT_GO && event <= TPU_EVENT_ABORT && queue <= TPU_QUEUE_SCALAR && rest == 0;
}

static void on_record(struct trace *t, struct pairing *p, const tpu_trace_record *r) {
  const uint64_t cycle = r->head & TPU_TRACE_CYCLE_MASK;
  const unsigned event = (unsigned)((r->head & TPU_TRACE_EVENT_MASK) >> TPU_TRACE_EVENT_SHIFT);
  const unsigned queue = (unsigned)((r->head & TPU_TRACE_QUEUE_MASK) >> TPU_TRACE_QUEUE_SHIFT);
  if (t->records++ == 0)
    t->first = cycle;
  if (cycle < t->first)
    t->first = cycle; /* behind a reset of the machine */
  if (cycle > t->last)
    t->last = cycle;
  const bool engine = queue < TRACE_QUEUES;
  if (event == TPU_EVENT_MARK)
    on_mark(t, p, cycle, r->tag);
  if (event == TPU_EVENT_START && engine)
    on_start(t, p, queue, cycle, r->tag);
  if (event == TPU_EVENT_END && engine)
    on_end(t, p, queue, cycle, r->arg);
  if (event == TPU_EVENT_SIGNAL)
    p->signaller[(r->arg & 0xff) % TRACE_SEMAPHORES] = (uint8_t)queue;
  if (event == TPU_EVENT_ERROR && t->error == 0)
    t->error = r->arg;
  if (event == TPU_EVENT_WAIT && engine) {
    p->queue[queue].waiting = true;
    p->queue[queue].wait_begin = cycle;
    p->queue[queue].wait_semaphore = (uint8_t)r->arg;
  }
  if (event == TPU_EVENT_ABORT) {
    for (unsigned q = 0; q < TRACE_QUEUES; ++q) {
      p->queue[q].head = p->queue[q].tail;
      p->queue[q].waiting = false;
    }
  }
}

const char *trace_load(struct trace *t, const char *path) {
  static char text[256];
  memset(t, 0, sizeof *t);
  FILE *in = fopen(path, "rb");
  if (!in) {
    snprintf(text, sizeof text, "%s: cannot open", path);
    return text;
  }
  struct file_head head;
  const char *wrong = NULL;
  if (fread(&head, sizeof head, 1, in) != 1 || memcmp(head.magic, "PEPLTRC", 8) != 0)
    wrong = "not a trace file (the magic number is PEPLTRC)";
  else if (head.version != 1 || head.record_bytes != sizeof(tpu_trace_record) ||
           head.header_bytes < sizeof head)
    wrong = "a trace file of another version; this tool reads version 1 with records of 16 bytes";
  else if (head.abi_hash != TPU_ABI_HASH)
    wrong = "written with another register description; rebuild the tools and run again";
  else if (fseek(in, (long)head.header_bytes, SEEK_SET) != 0)
    wrong = "truncated";
  if (wrong) {
    snprintf(text, sizeof text, "%s: %s", path, wrong);
    fclose(in);
    return text;
  }
  t->version = head.version;
  t->abi_hash = head.abi_hash;
  t->cycle_hz = head.cycle_hz;
  t->config = head.config;
  struct pairing *p = calloc(1, sizeof *p);
  if (!p) {
    fclose(in);
    return "out of memory";
  }
  memset(p->signaller, TRACE_NO_CAUSE, sizeof p->signaller);
  tpu_trace_record r;
  size_t n;
  bool known = true;
  while ((n = fread(&r, 1, sizeof r, in)) == sizeof r && (known = is_record(&r)))
    on_record(t, p, &r);
  free(p);
  fclose(in);
  if (!known) {
    snprintf(text, sizeof text, "%s: record %llu (%016llx) has no event or queue that there is: damaged",
             path, (unsigned long long)t->records, (unsigned long long)r.head);
    return text;
  }
  if (n != 0) {
    snprintf(text, sizeof text, "%s: ends in the middle of a record", path);
    return text;
  }
  return NULL;
}

void trace_free(struct trace *t) {
  free(t->interval);
  free(t->mark);
  memset(t, 0, sizeof *t);
}

static int by_begin(const void *a, const void *b) {
  const struct trace_interval *x = *(const struct trace_interval *const *)a;
  const struct trace_interval *y = *(const struct trace_interval *const *)b;
  return (x->begin > y->begin) - (x->begin < y->begin);
}

uint64_t trace_covered(const struct trace *t, unsigned lane, enum trace_kind kind, uint64_t from,
                       uint64_t to) {
  const struct trace_interval **list = malloc((t->intervals + 1) * sizeof *list);
  if (!list)
    return 0;
  size_t n = 0;
  for (size_t i = 0; i < t->intervals; ++i) {
    if (t->interval[i].lane == lane && t->interval[i].kind == kind)
      list[n++] = &t->interval[i];
  }
  qsort(list, n, sizeof *list, by_begin);
  uint64_t covered = 0, reached = from;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t begin = list[i]->begin > reached ? list[i]->begin : reached;
    const uint64_t end = list[i]->end < to ? list[i]->end : to;
    if (end <= begin)
      continue;
    covered += end - begin;
    reached = end;
  }
  free(list);
  return covered;
}

bool trace_account_for(const struct trace *t, unsigned lane, uint64_t from, uint64_t to,
                       struct trace_account *account) {
  const struct trace_interval **list = malloc((t->intervals + 1) * sizeof *list);
  size_t n = 0;
  uint64_t first = to, last = from, reached;

  memset(account, 0, sizeof *account);
  if (!list)
    return false;
  for (size_t i = 0; i < t->intervals; ++i) {
    const struct trace_interval *v = &t->interval[i];
    if (v->lane != lane || v->end <= from || v->begin >= to)
      continue;
    list[n++] = v;
    if (v->kind != TRACE_WORK)
      continue;
    if (v->begin < first)
      first = v->begin > from ? v->begin : from;
    if (v->end > last)
      last = v->end < to ? v->end : to;
  }
  qsort(list, n, sizeof *list, by_begin);
  account->busy = trace_covered(t, lane, TRACE_WORK, first, last);
  /* A wait ends where its command starts: what is left of it is not covered by the work that began before. */
  reached = first;
  for (size_t i = 0; i < n; ++i) {
    const uint64_t begin = list[i]->begin > reached ? list[i]->begin : reached;
    const uint64_t end = list[i]->end < last ? list[i]->end : last;
    if (end <= begin)
      continue;
    if (list[i]->kind == TRACE_WAIT)
      *(list[i]->cause <= TPU_QUEUE_DMA3 ? &account->waiting_dma : &account->waiting_other) += end - begin;
    reached = end;
  }
  free(list);
  if (last <= first)
    return false;
  account->filling = first - from;
  account->draining = to - last;
  account->no_command = last - first - account->busy - account->waiting_dma - account->waiting_other;
  return true;
}

const char *trace_lane_name(unsigned lane) {
  static const char *const name[] = {
#define NAME(n, v, d) [v] = #n,
      TPU_QUEUE_LIST(NAME)
#undef NAME
  };
  return lane < TRACE_LANES ? name[lane] : "?";
}
