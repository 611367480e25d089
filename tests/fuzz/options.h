/* SPDX-License-Identifier: MIT */
/*
 * Command lines of the programs here: a table of options, each with the place of its value.
 */
#ifndef TESTS_FUZZ_OPTIONS_H
#define TESTS_FUZZ_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum option_kind {
  OPTION_FLAG,   /* bool; takes no value */
  OPTION_NUMBER, /* uint64_t */
  OPTION_TEXT,   /* const char * */
  OPTION_TIMING, /* uint32_t; cycle, eager, late or random */
  OPTION_QUEUES, /* uint32_t, a bit each; a list of dma, mxu, vpu, sync */
};

struct option {
  const char *name; /* with its dashes */
  enum option_kind kind;
  void *value;
};

/* Reads argv[first] and what follows. False, with a line on stderr, for what is no option or no value of it.
 */
bool parse_options(const struct option *options, size_t count, int first, int argc, char **argv);

#endif
