/* SPDX-License-Identifier: MIT */
#include "options.h"

#include "tpu_regs.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool parse_number(const char *text, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 0);
  return end != text && *end == 0 && *text != '-' && errno == 0;
}

static bool parse_timing(const char *text, uint32_t *value) {
  static const char *const names[] = {"cycle", "eager", "late", "random"};
  for (*value = 0; *value < sizeof names / sizeof names[0]; ++*value)
    if (strcmp(text, names[*value]) == 0)
      return true;
  return false;
}

static bool parse_queues(const char *text, uint32_t *value) {
  static const struct {
    const char *name;
    uint32_t bits;
  } kinds[] = {{"dma", 0xf},
               {"mxu", 1u << TPU_QUEUE_MXU},
               {"vpu", 1u << TPU_QUEUE_VPU},
               {"sync", 1u << TPU_QUEUE_SYNC}};
  *value = 0;
  while (*text != 0) {
    const size_t length = strcspn(text, ",");
    uint32_t bits = 0;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
      if (strlen(kinds[i].name) == length && strncmp(text, kinds[i].name, length) == 0)
        bits = kinds[i].bits;
    if (bits == 0)
      return false;
    *value |= bits;
    text += length + (text[length] == ',');
  }
  return *value != 0;
}

static bool parse_value(const struct option *o, const char *text) {
  switch (o->kind) {
  case OPTION_NUMBER:
    return parse_number(text, o->value);
  case OPTION_TIMING:
    return parse_timing(text, o->value);
  case OPTION_QUEUES:
    return parse_queues(text, o->value);
  default:
    *(const char **)o->value = text;
    return true;
  }
}

static const char *wanted(enum option_kind kind) {
  switch (kind) {
  case OPTION_NUMBER:
    return "a number";
  case OPTION_TIMING:
    return "cycle, eager, late or random";
  case OPTION_QUEUES:
    return "a list of dma, mxu, vpu, sync";
  default:
    return "a value";
  }
}

bool parse_options(const struct option *options, size_t count, int first, int argc, char **argv) {
  for (int i = first; i < argc; i++) {
    const struct option *o = options;
    while (o < options + count && strcmp(argv[i], o->name) != 0)
      o++;
    if (o == options + count) {
      fprintf(stderr, "%s: there is no option %s\n", argv[0], argv[i]);
      return false;
    }
    if (o->kind == OPTION_FLAG) {
      *(bool *)o->value = true;
    } else if (++i == argc || !parse_value(o, argv[i])) {
      fprintf(stderr, "%s: %s takes %s%s%s\n", argv[0], o->name, wanted(o->kind), i < argc ? ", not " : "",
              i < argc ? argv[i] : "");
      return false;
    }
  }
  return true;
}
