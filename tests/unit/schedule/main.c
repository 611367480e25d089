/* SPDX-License-Identifier: MIT */
/*
 *   test_schedule [library=PATH] [config=NAME] [timing=NAME] [cases=N] [seed=N] [access=N] [stalls=PERCENT]
 *                 [without=lookahead,inout,revisit_any,steered,nested] [break=WHAT]
 *
 * Runs the pipelines of seeds N, N+1, ... Each is made by its seed alone; a failing one is made smaller as
 * long as it fails, then shown. `seed=S cases=1` runs it again. break= spoils the expectation: count, fetch,
 * write-back, block, order, map, value or data.
 */
#include "schedule.h"

#include <string.h>

struct features features = {true, true, true, true, true};
const char *spoil;

/* Every fourth pipeline is called again, when its plan is there already. */
static unsigned calls_of(uint64_t seed) {
  return seed % 4 == 0 ? 2 : 1;
}

static void shrink(struct pipeline *p) {
  static struct pipeline smaller;
  bool same;
  for (unsigned n = 0; smaller_pipeline(p, n, &smaller, &same);)
    if (!same && !run_pipeline(&smaller, calls_of(p->seed), false)) {
      *p = smaller;
      n = 0;
    } else {
      n++;
    }
}

static void report(struct pipeline *p) {
  printf("FAIL schedule: pipeline of seed %llu\n", (unsigned long long)p->seed);
  print_pipeline(p);
  run_pipeline(p, calls_of(p->seed), true);
  shrink(p);
  printf("  made smaller:\n");
  print_pipeline(p);
  run_pipeline(p, calls_of(p->seed), true);
}

static uint64_t number(const char *text) {
  return strtoull(text, NULL, 0);
}

struct arguments {
  struct host_options host;
  uint64_t seed;
  unsigned cases;
};

static bool parse(struct arguments *a, const char *arg) {
  const char *value = strchr(arg, '=');
  if (value++ == NULL)
    return false;
  if (!strncmp(arg, "library=", 8))
    a->host.library = value;
  else if (!strncmp(arg, "config=", 7))
    a->host.config = value;
  else if (!strncmp(arg, "timing=", 7))
    a->host.timing = value;
  else if (!strncmp(arg, "access=", 7))
    a->host.access_cycles = (uint32_t)number(value);
  else if (!strncmp(arg, "stalls=", 7))
    a->host.stall_percent = (uint32_t)number(value);
  else if (!strncmp(arg, "seed=", 5))
    a->seed = number(value);
  else if (!strncmp(arg, "cases=", 6))
    a->cases = (unsigned)number(value);
  else if (!strncmp(arg, "without=", 8)) {
    features.lookahead &= strstr(value, "lookahead") == NULL;
    features.inout &= strstr(value, "inout") == NULL;
    features.nested &= strstr(value, "nested") == NULL;
    features.steered &= strstr(value, "steered") == NULL;
    features.revisit_any &= strstr(value, "revisit_any") == NULL;
  } else if (!strncmp(arg, "break=", 6))
    spoil = value;
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  static struct pipeline p;
  struct arguments a = {
      .host = {.library = "build/lib/libtpu_func.so", .config = "sim16"}, .seed = 1, .cases = 1000};
  unsigned failed = 0;
  for (int i = 1; i < argc; i++)
    if (!parse(&a, argv[i])) {
      fprintf(stderr, "bad argument %s\n", argv[i]);
      return 2;
    }
  a.host.seed = (uint32_t)a.seed;
  host_open(&a.host);
  for (unsigned i = 0; i < a.cases && failed < 3; i++) {
    make_pipeline(&p, a.seed + i);
    if (run_pipeline(&p, calls_of(p.seed), false))
      continue;
    failed++;
    report(&p);
  }
  if (failed == 0)
    printf("PASS schedule: %u pipelines of seeds from %llu on %s, timing %s, access %u, stalls %u %%\n",
           a.cases, (unsigned long long)a.seed, host_model(), a.host.timing ? a.host.timing : "cycle",
           a.host.access_cycles, a.host.stall_percent);
  host_close();
  return failed != 0;
}
