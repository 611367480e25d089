/* SPDX-License-Identifier: MIT */
/*
 * digits: classifies the images of the data file with the network in it.
 *
 *   digits [--batch N] [--show N] [--expect P] [--bench]
 *
 * --expect P: fails if less than P percent of labelled images are right.
 */
#include "boot.h"
#include "digits_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  struct digits_options options = {.batch = 128, .show = 6};

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--bench") == 0) {
      options.bench = true;
      continue;
    }
    const struct {
      const char *name;
      int32_t *value;
      int low, high;
    } known[] = {{"--batch", &options.batch, 1, 100000},
                 {"--show", &options.show, 0, 100000},
                 {"--expect", &options.expect, 0, 100}};
    unsigned k = 0;
    while (k < 3 && strcmp(argv[i], known[k].name) != 0)
      k++;
    if (k == 3 || i + 1 == argc) {
      printf("digits: %s %s\nusage: digits [--batch N] [--show N] [--expect P] [--bench]\n",
             k == 3 ? "unknown argument" : "no value after", argv[i]);
      return BOOT_EXIT_USAGE;
    }
    char *end;
    const long n = strtol(argv[++i], &end, 10);
    if (end == argv[i] || *end != '\0' || n < known[k].low || n > known[k].high) {
      printf("digits: %s %s: a number from %d to %d is needed\n", known[k].name, argv[i], known[k].low,
             known[k].high);
      return BOOT_EXIT_USAGE;
    }
    *known[k].value = (int32_t)n;
  }
  return digits_run(&options);
}
