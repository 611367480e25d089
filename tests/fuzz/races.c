/* SPDX-License-Identifier: MIT */
/*
 * races LIBRARY [--count N] [--seed S] [--config NAME] [--timing T] [--break]
 *
 * The race detector against brute force. Takes random streams, forgets some of their waits, and finds the
 * races by other means than the detector: a graph of all starts and completions whose paths are "comes
 * before", and for each command the set of bytes it touches, byte by byte from its descriptor. The pairs that
 * the model reports must be exactly these. Streams have DMA, MXU and SYNC commands only, for whose bytes a
 * descriptor is all it takes, and a scalar core that learns nothing. --break leaves an edge out: it must be
 * noticed.
 */
#include "options.h"
#include "stream.h"

#include <string.h>

enum { MAX_COMMANDS = MAX_STEPS, NODES = 2 * MAX_COMMANDS, MOST_REPORTS = 16 };
enum { HBM_AT = 0, VMEM_AT = HBM_AT + HBM_AREA, SMEM_AT = VMEM_AT + VMEM_AREA, ACC_AT = SMEM_AT + SMEM_AREA };
enum { BYTES = ACC_AT + ACC_ROWS_AREA * 64 };

struct bytes {
  uint32_t low, high; /* of what is set */
  uint8_t set[BYTES];
};

static struct {
  uint32_t count;
  const struct step *step[MAX_COMMANDS];
  uint32_t number[MAX_COMMANDS]; /* in its queue, from 1 */
  struct bytes reads[MAX_COMMANDS], writes[MAX_COMMANDS];
  bool before[NODES][NODES]; /* node 2 i: command i starts, 2 i + 1: it completes */
  bool race[MAX_COMMANDS][MAX_COMMANDS];
} w;

/* ---- bytes ------------------------------------------------------------------------------------------------
 */

static void touch(struct bytes *b, uint32_t space, uint32_t address, uint32_t n) {
  static const uint32_t at[4] = {HBM_AT, VMEM_AT, SMEM_AT, ACC_AT};
  const uint32_t low = at[space] + address;
  if (n == 0)
    return;
  memset(b->set + low, 1, n);
  if (low < b->low)
    b->low = low;
  if (low + n > b->high)
    b->high = low + n;
}

/* Row of dimension 0; both list regions always hold the same (spoil_stream). */
static uint32_t row_of(const struct stream *s, const struct host_dma *d, bool write, uint32_t i0) {
  return d->gather == (write ? 2u : 1u) ? s->list[(d->list - LIST_AT) % LIST_BYTES / 4 + i0] : i0;
}

static void dma_side(const struct stream *s, const struct host_dma *d, struct bytes *b, bool write) {
  const uint32_t *count = !write && d->fill ? d->valid : d->count;
  const int32_t *stride = write ? d->dst_stride : d->src_stride;
  const uint32_t space = write ? d->dst_space : d->src_space, base = write ? d->dst : d->src;
  const uint32_t row = !write && d->fill ? d->valid_row : d->row_bytes;
  for (uint32_t i2 = 0; i2 < count[2]; i2++)
    for (uint32_t i1 = 0; i1 < count[1]; i1++)
      for (uint32_t i0 = 0; i0 < count[0]; i0++)
        touch(b, space,
              base + row_of(s, d, write, i0) * (uint32_t)stride[0] + i1 * (uint32_t)stride[1] +
                  i2 * (uint32_t)stride[2],
              row);
}

static void dma_bytes(const struct stream *s, uint32_t i) {
  const struct host_dma *d = &w.step[i]->dma;
  if (d->row_bytes == 0 || d->count[0] == 0 || d->count[1] == 0 || d->count[2] == 0)
    return;
  const bool reads = !d->fill || (d->valid_row && d->valid[0] && d->valid[1] && d->valid[2]);
  if (d->gather == 2)
    touch(&w.reads[i], TPU_SPACE_SMEM, d->list, 4 * d->count[0]);
  else if (d->gather == 1 && reads)
    touch(&w.reads[i], TPU_SPACE_SMEM, d->list, 4 * (d->fill ? d->valid : d->count)[0]);
  dma_side(s, d, &w.reads[i], false);
  dma_side(s, d, &w.writes[i], true);
}

static void mxu_bytes(uint32_t i, uint32_t dim) {
  const struct host_mxu *x = &w.step[i]->mxu;
  const uint32_t size = x->bf16 ? 2 : 1;
  if (x->m == 0 || x->n == 0 || (x->k == 0 && x->accumulate))
    return;
  for (uint32_t r = 0; r < x->m && x->k > 0; r++)
    touch(&w.reads[i], TPU_SPACE_VMEM, x->a + r * x->a_pitch, x->k * size);
  for (uint32_t r = 0; x->k > 0 && r < (x->transpose_b ? x->n : x->k); r++)
    touch(&w.reads[i], TPU_SPACE_VMEM, x->b + r * x->b_pitch, (x->transpose_b ? x->k : x->n) * size);
  for (uint32_t n = 0; n < x->n; n++)
    for (uint32_t r = 0; r < x->m; r++) {
      const uint32_t row = x->c + n / dim * x->c_pitch + r;
      touch(&w.writes[i], TPU_SPACE_ACC, (row * dim + n % dim) * 4, 4);
    }
}

static bool meet(const struct bytes *a, const struct bytes *b) {
  const uint32_t low = a->low > b->low ? a->low : b->low, high = a->high < b->high ? a->high : b->high;
  for (uint32_t k = low; k < high; k++)
    if (a->set[k] && b->set[k])
      return true;
  return false;
}

/* ---- order ------------------------------------------------------------------------------------------------
 */

/* The command of a queue with this number; false: there is none. */
static bool find(uint32_t queue, uint32_t number, uint32_t *i) {
  for (*i = 0; *i < w.count; ++*i)
    if (w.step[*i]->queue == queue && w.number[*i] == number)
      return true;
  return false;
}

static void edges_of_wait(uint32_t i, const struct stream *s, const struct host_wait *wait) {
  uint32_t from;
  if (wait->sem < QUEUES) { /* a ticket */
    const uint32_t number = wait->amount - s->ticket_start[wait->sem];
    if (number != 0 && find(wait->sem, number, &from))
      w.before[2 * from + 1][2 * i] = true;
    return;
  }
  for (from = 0; from < w.count; from++) /* a token has one producer */
    for (uint32_t k = 0; k < w.step[from]->head.signals; k++)
      if (w.step[from]->head.signal[k].sem == wait->sem)
        w.before[2 * from + 1][2 * i] = true;
}

static void find_order(const struct stream *s, bool spoiled) {
  const uint32_t nodes = 2 * w.count;
  memset(w.before, 0, sizeof w.before);
  for (uint32_t i = 0; i < w.count; i++) {
    uint32_t last;
    w.before[2 * i][2 * i + 1] = true;
    if (find(w.step[i]->queue, w.number[i] - 1, &last)) {
      w.before[2 * last][2 * i] = true;
      w.before[2 * last + 1][2 * i + 1] = true;
      if (w.step[i]->queue >= TPU_QUEUE_MXU)
        w.before[2 * last + 1][2 * i] = true;
    }
    for (uint32_t k = spoiled; k < w.step[i]->head.waits; k++)
      edges_of_wait(i, s, &w.step[i]->head.wait[k]);
  }
  for (uint32_t k = 0; k < nodes; k++)
    for (uint32_t i = 0; i < nodes; i++)
      for (uint32_t j = 0; j < nodes && w.before[i][k]; j++)
        w.before[i][j] |= w.before[k][j];
}

/* ---- both -------------------------------------------------------------------------------------------------
 */

static uint32_t find_races(const struct stream *s, uint32_t dim, bool spoiled) {
  uint32_t issued[QUEUES] = {0}, races = 0;
  w.count = 0;
  for (uint32_t k = 0; k < s->steps; k++) {
    const uint32_t i = w.count++;
    w.step[i] = &s->step[k];
    w.number[i] = ++issued[s->step[k].queue];
    for (struct bytes *b = &w.reads[i]; b != NULL; b = b == &w.reads[i] ? &w.writes[i] : NULL) {
      if (b->high > b->low)
        memset(b->set + b->low, 0, b->high - b->low);
      b->low = BYTES;
      b->high = 0;
    }
    if (s->step[k].queue < TPU_QUEUE_MXU)
      dma_bytes(s, i);
    else if (s->step[k].queue == TPU_QUEUE_MXU)
      mxu_bytes(i, dim);
  }
  find_order(s, spoiled);
  for (uint32_t i = 0; i < w.count; i++)
    for (uint32_t j = 0; j < i; j++) { /* j was queued first */
      const bool channel = w.step[i]->queue == w.step[j]->queue;
      const bool ordered = w.before[2 * i + 1][2 * j] || w.before[2 * j + 1][2 * i];
      const bool read_passes = meet(&w.writes[j], &w.reads[i]);
      w.race[i][j] =
          !ordered && (read_passes ||
                       (!channel && (meet(&w.writes[j], &w.writes[i]) || meet(&w.reads[j], &w.writes[i]))));
      races += w.race[i][j];
    }
  return races;
}

/* A tag in a report, as a command; w.count: none. */
static uint32_t command_of(const char *text) {
  const uint32_t tag = (uint32_t)strtoul(text, NULL, 0);
  uint32_t i;
  return find(tag >> 16, tag & 0xffff, &i) ? i : w.count;
}

/* Takes the reported pairs out of w.race; how many there were, or UINT32_MAX with one that is none. */
static uint32_t strike_out(const char *log) {
  uint32_t n = 0;
  for (const char *line = log; (line = strstr(line, ": race ")) != NULL; n++) {
    const char *first = strstr(line, "tag "), *second = first ? strstr(first, "behind ") : NULL;
    second = second ? strstr(second, "tag ") : NULL;
    const uint32_t i = first ? command_of(first + 4) : w.count, j = second ? command_of(second + 4) : w.count;
    if (i == w.count || j == w.count || !(w.race[i][j] || w.race[j][i]))
      return UINT32_MAX;
    w.race[i][j] = w.race[j][i] = false;
    line += 7;
  }
  return n;
}

/* Nothing that brute force does not know, and without some of its waits. */
static void spoil_stream(struct stream *s, struct check_random *r) {
  const uint32_t percent = check_random_below(r, 4) * 20;
  uint32_t kept = 0;
  for (uint32_t k = 0; k < s->steps; k++) {
    struct step p = s->step[k];
    if (p.kind != STEP_COMMAND || p.fails)
      continue;
    uint32_t waits = 0;
    for (uint32_t i = 0; i < p.head.waits; i++)
      if (!(p.scalar.amount != 0 && p.head.wait[i].sem == p.scalar.sem) &&
          check_random_below(r, 100) >= percent)
        p.head.wait[waits++] = p.head.wait[i];
    p.head.waits = waits;
    p.scalar.amount = 0;
    /* Who overtakes the copy of a list gets the same one. */
    if (p.queue < TPU_QUEUE_MXU && p.dma.dst_space == TPU_SPACE_SMEM && p.dma.dst >= LIST_AT + LIST_BYTES)
      p.dma.src = p.dma.dst - LIST_BYTES;
    s->step[kept++] = p;
  }
  s->steps = kept;
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

struct arguments {
  const char *library, *config;
  uint64_t seed, count;
  uint32_t timing;
  bool spoiled;
};

static const struct tpu_config *find_config(const char *name) {
  static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (strcmp(configs[i].name, name) == 0)
      return &configs[i];
  fprintf(stderr, "races: no configuration %s\n", name);
  exit(EXIT_FAILURE);
}

static bool compare(const struct arguments *a, uint64_t seed, uint32_t *races) {
  static struct stream s;
  static struct outcome o;
  static struct host h;
  struct check_random r = {seed ^ 0xacce};
  const struct tpu_config *config = find_config(a->config);
  char error[256];
  tpu_model_config c = host_config();
  c.config = a->config;
  c.timing = a->timing;
  c.seed = (uint32_t)seed;
  c.detect_races = 1;
  c.trace_records = 8192;
  if (!host_open(&h, a->library, &c, error, sizeof error)) {
    printf("FAIL races: %s\n", error);
    exit(EXIT_FAILURE);
  }
  make_stream(&s, config, seed, 0xfu | 1u << TPU_QUEUE_MXU | 1u << TPU_QUEUE_SYNC, false);
  spoil_stream(&s, &r);
  run_stream(&h, config, &s, &o);
  *races = find_races(&s, config->dim, a->spoiled);
  const uint32_t reported = strike_out(h.log);
  const bool right =
      h.status == TPU_OK && o.finished && reported == (*races > MOST_REPORTS ? MOST_REPORTS : *races);
  if (!right) {
    printf("FAIL races: stream of seed %llu: %u races, ", (unsigned long long)seed, *races);
    printf(reported == UINT32_MAX ? "one reported that is none\n" : "%u reported\n", reported);
    print_stream(&s);
    for (uint32_t i = 0; i < w.count; i++)
      for (uint32_t j = 0; j < i; j++)
        if (w.race[i][j])
          printf("  not reported: 0x%x and 0x%x\n", w.step[i]->tag, w.step[j]->tag);
    printf("%s", h.log);
  }
  host_close(&h);
  return right;
}

static bool parse(struct arguments *a, int argc, char **argv) {
  if (argc < 2)
    return false;
  *a = (struct arguments){.library = argv[1], .config = "sim16", .count = 100, .seed = 1};
  const struct option table[] = {
      {"--count", OPTION_NUMBER, &a->count}, {"--seed", OPTION_NUMBER, &a->seed},
      {"--config", OPTION_TEXT, &a->config}, {"--timing", OPTION_TIMING, &a->timing},
      {"--break", OPTION_FLAG, &a->spoiled},
  };
  return parse_options(table, sizeof table / sizeof table[0], 2, argc, argv);
}

int main(int argc, char **argv) {
  struct arguments a;
  uint64_t failed = 0, with = 0;
  if (!parse(&a, argc, argv)) {
    fprintf(stderr, "usage: %s LIBRARY [--count N] [--seed S] [--config NAME] [--timing T] [--break]\n",
            argv[0]);
    return EXIT_FAILURE;
  }
  for (uint64_t i = 0; i < a.count && failed < 2; i++) {
    uint32_t races;
    failed += !compare(&a, a.seed + i, &races);
    with += races > 0;
  }
  if (failed == 0)
    printf("PASS races %s: %llu streams from seed %llu, %llu of them with races, all and only those are "
           "reported\n",
           a.config, (unsigned long long)a.count, (unsigned long long)a.seed, (unsigned long long)with);
  return failed != 0;
}
