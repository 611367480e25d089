/* SPDX-License-Identifier: MIT */
/*
 * streams MODEL_A MODEL_B [--count N] [--seed S] [--config NAME] [--timing-a T] [--timing-b T]
 *         [--queues dma,mxu,vpu,sync] [--break WHAT] [--forget-waits] [--races] [--print]
 *
 * Runs the streams of seeds S .. S+N-1 on both models and compares what must be equal bit for bit: memories,
 * semaphores, error registers, counters of completed work, what the scalar core read, and the order of
 * starts, ends and signals of each queue. A failure names the seed; `--seed S --count 1 --print` shows its
 * stream.
 * --break spoils one result of model B on purpose, --forget-waits makes streams with races: the comparison
 * must then fail. --races turns race detection on (functional model): there must be no report.
 */
#include "options.h"
#include "stream.h"

#include <string.h>

struct arguments {
  const char *model[2];
  const char *config;
  uint32_t timing[2];
  uint64_t seed, count;
  uint32_t kinds;
  const char *spoil;
  bool print, forget, races;
};

/* ---- comparison -------------------------------------------------------------------------------------------
 */

static bool differ_at(const char *what, const void *a, const void *b, size_t bytes) {
  const uint8_t *p = a, *q = b;
  for (size_t i = 0; i < bytes; i++)
    if (p[i] != q[i]) {
      printf("  %s differs first at byte 0x%zx: 0x%02x and 0x%02x\n", what, i, p[i], q[i]);
      return true;
    }
  return false;
}

static bool errors_differ(const struct host_error *a, const struct host_error *b) {
  if (a->code == b->code && a->queue == b->queue && a->tag == b->tag && a->detail0 == b->detail0 &&
      a->detail1 == b->detail1)
    return false;
  printf(
      "  errors differ: %u queue %u tag 0x%x details 0x%x 0x%x and %u queue %u tag 0x%x details 0x%x 0x%x\n",
      a->code, a->queue, a->tag, a->detail0, a->detail1, b->code, b->queue, b->tag, b->detail0, b->detail1);
  return true;
}

static bool outcomes_differ(const struct tpu_config *config, const struct outcome *a,
                            const struct outcome *b) {
  bool d = errors_differ(&a->error, &b->error);
  d |= differ_at("HBM", a->hbm, b->hbm, HBM_AREA);
  d |= differ_at("VMEM", a->vmem, b->vmem, VMEM_AREA);
  d |= differ_at("SMEM", a->smem, b->smem, SMEM_AREA);
  d |= differ_at("ACC", a->acc, b->acc, ACC_ROWS_AREA * 4 * config->dim);
  d |= differ_at("values read by the scalar core", a->read, b->read, sizeof a->read);
  for (uint32_t i = 0; i < config->semaphores; i++)
    if (a->sem[i] != b->sem[i]) {
      printf("  semaphore %u: 0x%x and 0x%x\n", i, a->sem[i], b->sem[i]);
      d = true;
    }
  for (uint32_t q = 0; q < QUEUES; q++) {
    for (uint32_t c = 0; c < 3; c++)
      if (a->counter[q][c] != b->counter[q][c]) {
        static const char *const names[] = {"COMMANDS", "BYTES", "WORK"};
        printf("  queue %u %s: %llu and %llu\n", q, names[c], (unsigned long long)a->counter[q][c],
               (unsigned long long)b->counter[q][c]);
        d = true;
      }
    if (memcmp(a->order[q], b->order[q], sizeof a->order[q]) != 0) {
      printf("  queue %u: starts, ends and signals differ in number, order or content\n", q);
      d = true;
    }
  }
  return d;
}

/* Spoils one result; false if there is no such thing. */
static bool spoil(struct outcome *o, const char *what) {
  static const char *const names[] = {"hbm",   "vmem",    "smem", "acc",  "sem",
                                      "error", "counter", "read", "order"};
  size_t which = 0;
  while (which < 9 && strcmp(what, names[which]) != 0)
    which++;
  o->hbm[777] ^= which == 0;
  o->vmem[VMEM_AREA - 1] ^= which == 1;
  o->smem[5] ^= which == 2;
  o->acc[100] ^= which == 3;
  o->sem[9] ^= which == 4;
  o->error.detail1 ^= which == 5;
  o->counter[4][2] ^= which == 6;
  o->read[0] ^= which == 7;
  o->order[6][1] ^= which == 8;
  return which < 9;
}

/* ---- running ----------------------------------------------------------------------------------------------
 */

static void open_model(struct host *h, const struct arguments *a, int which) {
  char error[256];
  tpu_model_config c = host_config();
  c.config = a->config;
  c.timing = a->timing[which];
  c.seed = (uint32_t)a->seed;
  c.trace_records = 8192;
  c.detect_races = a->races;
  if (!host_open(h, a->model[which], &c, error, sizeof error)) {
    printf("FAIL streams: %s: %s\n", a->model[which], error);
    exit(EXIT_FAILURE);
  }
}

static const struct tpu_config *config_of(struct host *h) {
  static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};
  uint32_t id = host_parameter(h, TPU_PARAM_CONFIG);
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (configs[i].config == id)
      return &configs[i];
  printf("FAIL streams: the model has configuration %u, which is unknown\n", id);
  exit(EXIT_FAILURE);
}

static bool unfinished(struct host *h, const char *model, const struct stream *s, const struct outcome *o) {
  bool fails = s->steps > 0 && s->step[s->steps - 1].fails;
  bool bad = h->status != TPU_OK || h->log_lines[TPU_LOG_MODEL_BUG] > 0 || !o->finished ||
             (o->error.code != 0) != fails;
  if (!bad)
    return false;
  printf("  %s: %s\n%s%s", model,
         h->status != TPU_OK ? h->failed_call
         : !o->finished      ? "does not end"
                             : "an error that is not expected, or none",
         host_describe(h), h->log);
  return true;
}

/*
 * Does a model with race detection report what it must and nothing else? There are no races; but commands
 * that wait for a signal of the scalar core are queued before it, which is against the rule, and is reported
 * twice: when the command is queued and when the signal comes.
 */
static bool wrong_reports(struct host *h, const struct stream *s, bool show) {
  enum { MOST = 16 };
  unsigned late = 0;
  const unsigned fails = s->steps > 0 && s->step[s->steps - 1].fails;
  for (uint32_t i = 0; i < s->steps; i++)
    late += s->step[i].scalar.amount != 0 ? 2 : 0;
  const unsigned races = h->log_lines[TPU_LOG_UNPREDICTABLE], errors = h->log_lines[TPU_LOG_GUEST_ERROR];
  const bool wrong = races != (late > MOST) || errors != fails + (late > MOST ? MOST : late);
  if (wrong && show)
    printf("  reports of races or deadlocks are wrong; %u of deadlocks must be there\n%s", late, h->log);
  return wrong;
}

static bool compare_stream(struct host *h, const struct arguments *a, const struct tpu_config *config,
                           uint64_t seed, uint64_t *cycles) {
  static struct stream s;
  static struct outcome o[2];
  make_stream(&s, config, seed, a->kinds, a->forget);
  if (a->print)
    print_stream(&s);
  bool bad = false;
  for (int i = 0; i < 2; i++) {
    run_stream(&h[i], config, &s, &o[i]);
    bad |= unfinished(&h[i], a->model[i], &s, &o[i]);
    cycles[i] += o[i].cycles;
  }
  if (a->spoil && !spoil(&o[1], a->spoil))
    printf("  --break %s: there is no such result\n", a->spoil);
  bad |= outcomes_differ(config, &o[0], &o[1]);
  for (int i = 0; i < 2 && a->races; i++)
    bad |= wrong_reports(&h[i], &s, !a->forget);
  if (bad)
    printf("FAIL stream of seed %llu (%u steps)\n", (unsigned long long)seed, s.steps);
  return !bad;
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static bool parse(struct arguments *a, int argc, char **argv) {
  *a = (struct arguments){.count = 100, .kinds = 0x7f};
  if (argc < 3)
    return false;
  a->model[0] = argv[1];
  a->model[1] = argv[2];
  const struct option table[] = {
      {"--count", OPTION_NUMBER, &a->count},        {"--seed", OPTION_NUMBER, &a->seed},
      {"--config", OPTION_TEXT, &a->config},        {"--timing-a", OPTION_TIMING, &a->timing[0]},
      {"--timing-b", OPTION_TIMING, &a->timing[1]}, {"--queues", OPTION_QUEUES, &a->kinds},
      {"--break", OPTION_TEXT, &a->spoil},          {"--print", OPTION_FLAG, &a->print},
      {"--forget-waits", OPTION_FLAG, &a->forget},  {"--races", OPTION_FLAG, &a->races},
  };
  return parse_options(table, sizeof table / sizeof table[0], 3, argc, argv) && a->count > 0;
}

int main(int argc, char **argv) {
  static struct host h[2];
  struct arguments a;
  uint64_t cycles[2] = {0};
  unsigned failed = 0;
  if (!parse(&a, argc, argv)) {
    fprintf(stderr,
            "usage: %s MODEL_A MODEL_B [--count N] [--seed S] [--config NAME] [--timing-a T] [--timing-b T]\n"
            "       [--queues dma,mxu,vpu,sync] [--break hbm|vmem|smem|acc|sem|error|counter|read|order]\n"
            "       [--forget-waits] [--races] [--print]\n",
            argv[0]);
    return EXIT_FAILURE;
  }
  open_model(&h[0], &a, 0);
  open_model(&h[1], &a, 1);
  const struct tpu_config *config = config_of(&h[0]);
  if (config_of(&h[1]) != config) {
    printf("FAIL streams: the models have different configurations\n");
    return EXIT_FAILURE;
  }
  for (uint64_t i = 0; i < a.count && failed < 5 && h[0].status == TPU_OK && h[1].status == TPU_OK; i++)
    failed += !compare_stream(h, &a, config, a.seed + i, cycles);
  if (failed == 0)
    printf("PASS streams %s: %llu from seed %llu; %llu and %llu cycles\n", config->name,
           (unsigned long long)a.count, (unsigned long long)a.seed, (unsigned long long)cycles[0],
           (unsigned long long)cycles[1]);
  host_close(&h[0]);
  host_close(&h[1]);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
