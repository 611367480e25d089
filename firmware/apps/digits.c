/* SPDX-License-Identifier: MIT */
/*
 * digits: classifies the images of the data file with the network in it.
 *
 *   digits [--batch N] [--show N] [--bench]
 */
#include "boot.h"
#include "digits_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
  struct digits_options options = {.batch = 128, .show = 6};

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--bench") == 0) {
      options.bench = true;
    } else if ((strcmp(argv[i], "--batch") == 0 || strcmp(argv[i], "--show") == 0) && i + 1 < argc) {
      char *end;
      const long n = strtol(argv[i + 1], &end, 10);
      const bool batch = argv[i][2] == 'b';
      if (*end != '\0' || n < (batch ? 1 : 0) || n > 100000) {
        printf("digits: %s %s: a number from %d to 100000 is needed\n", argv[i], argv[i + 1], batch ? 1 : 0);
        return BOOT_EXIT_USAGE;
      }
      *(batch ? &options.batch : &options.show) = (int32_t)n;
      i++;
    } else {
      printf("digits: unknown argument %s\nusage: digits [--batch N] [--show N] [--bench]\n", argv[i]);
      return BOOT_EXIT_USAGE;
    }
  }
  return digits_run(&options);
}
