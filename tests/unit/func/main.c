/* SPDX-License-Identifier: MIT */
/*
 * test_func MODEL=library [CONFIG=name] [TIMING=cycle|eager|late|random] [SEED=n] [FULL=1] [group ...]
 *
 * Runs the groups named (all if none) against a model library.
 */
#include "func_test.h"

#include <string.h>

struct options options = {.seed = 1};

void open_model(struct host *h, uint32_t trace_records) {
  char error[256];
  tpu_model_config c = host_config();
  c.config = options.config;
  c.timing = options.timing;
  c.seed = options.seed;
  c.trace_records = trace_records;
  if (!host_open(h, options.model, &c, error, sizeof error)) {
    printf("FAIL no model: %s\n", error);
    exit(EXIT_FAILURE);
  }
}

void close_model(struct host *h, const char *test) {
  if (h->status != TPU_OK)
    check(false, "%s: %s returned %d", test, h->failed_call, h->status);
  if (h->log_lines[TPU_LOG_MODEL_BUG] > 0)
    check(false, "%s: the model reports a bug in itself: %s", test, h->log);
  host_close(h);
}

const struct tpu_config *config_of(struct host *h) {
  static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};
  uint32_t id = host_parameter(h, TPU_PARAM_CONFIG);
  for (size_t i = 0; i < sizeof configs / sizeof configs[0]; i++)
    if (configs[i].config == id)
      return &configs[i];
  printf("FAIL the parameter ROM names configuration %u, which there is not\n", id);
  exit(EXIT_FAILURE);
}

bool same_error(struct host_error a, struct host_error b) {
  return a.code == b.code && a.queue == b.queue && a.tag == b.tag && a.detail0 == b.detail0 &&
         a.detail1 == b.detail1;
}

bool expect_error(struct host *h, const char *what, struct host_error want) {
  struct host_error e = host_error(h);
  bool ok = check(same_error(e, want), "%s: error %u queue %u tag 0x%x details 0x%x 0x%x", what, e.code,
                  e.queue, e.tag, e.detail0, e.detail1);
  if (!ok)
    printf("  expected: error %u queue %u tag 0x%x details 0x%x 0x%x\n", want.code, want.queue, want.tag,
           want.detail0, want.detail1);
  host_abort(h, LIMIT);
  return ok;
}

bool expect_no_error(struct host *h, const char *what) {
  struct host_error e = host_error(h);
  bool ok = check(e.code == TPU_ERROR_NONE, "%s: no error (code %u, details 0x%x 0x%x)", what, e.code,
                  e.detail0, e.detail1);
  if (!ok)
    host_abort(h, LIMIT);
  return ok;
}

void settle(struct host *h) {
  host_read(h, TPU_REG_ID);
}

uint32_t free_slots(struct host *h, uint32_t queue) {
  return host_read(h, TPU_QUEUE_BASE(queue) + TPU_Q_GO);
}

uint32_t sem_value(struct host *h, uint32_t sem) {
  return host_read(h, TPU_REG_SEM_VALUE(sem));
}

/* ---- command line -----------------------------------------------------------------------------------------
 */

static const struct {
  const char *name;
  void (*run)(void);
} groups[] = {
    {"registers", test_registers}, {"semaphores", test_semaphores},
    {"queues", test_queues},       {"dma", test_dma},
    {"errors", test_errors},       {"life", test_life},
    {"hang", test_hang},           {"race", test_race},
};
#define GROUPS (sizeof groups / sizeof groups[0])

static bool parse_timing(const char *name) {
  static const char *const names[] = {"cycle", "eager", "late", "random"};
  for (options.timing = 0; options.timing < 4; options.timing++)
    if (strcmp(name, names[options.timing]) == 0)
      return true;
  return false;
}

/* An option NAME=value; false if `arg` is something else. */
static bool parse_option(const char *arg) {
  const char *value = strchr(arg, '=');
  if (!value++)
    return false;
  if (strncmp(arg, "MODEL=", 6) == 0)
    options.model = value;
  else if (strncmp(arg, "CONFIG=", 7) == 0)
    options.config = value;
  else if (strncmp(arg, "SEED=", 5) == 0)
    options.seed = (uint32_t)strtoul(value, NULL, 0);
  else if (strncmp(arg, "FULL=", 5) == 0)
    options.full = strtoul(value, NULL, 0) != 0;
  else
    return strncmp(arg, "TIMING=", 7) == 0 && parse_timing(value);
  return true;
}

void add_results(const struct check_state *state) {
  check_state.passed += state->passed;
  check_state.failed += state->failed;
}

static void run_group(const char *name) {
  for (size_t i = 0; i < GROUPS; i++)
    if (strcmp(groups[i].name, name) == 0) {
      int before = check_state.passed + check_state.failed;
      groups[i].run();
      if (check_state.passed + check_state.failed < before + 5)
        check(false, "group %s ran nearly nothing", name);
      return;
    }
  check(false, "no group of tests '%s'", name);
}

int main(int argc, char **argv) {
  int first = 1;
  while (first < argc && parse_option(argv[first]))
    first++;
  if (!options.model) {
    fprintf(stderr,
            "usage: %s MODEL=library [CONFIG=name] [TIMING=cycle|eager|late|random] [SEED=n] "
            "[FULL=1] [group ...]\n",
            argv[0]);
    return EXIT_FAILURE;
  }
  for (int i = first; i < argc; i++)
    run_group(argv[i]);
  for (size_t i = 0; i < GROUPS && first == argc; i++)
    run_group(groups[i].name);
  return check_result(options.model);
}
