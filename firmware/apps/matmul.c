/* SPDX-License-Identifier: MIT */
/*
 * matmul: multiplies x and y of the data file and compares with ref.
 *
 *   matmul [M N K] [--block B] [--block-m B] [--block-n B] [--block-k B] [--buffers N] [--type bf16|int8]
 *          [--calls N]
 *
 * --type and M N K are what the data file was made with (tools/data/matmul_data.c); here they are checked.
 */
#include "boot.h"
#include "matmul_run.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] = "usage: matmul [M N K] [--block B] [--block-m B] [--block-n B] [--block-k B] "
                            "[--buffers N] [--type bf16|int8]\n"
                            "              [--calls N]\n";

static bool parse(const char *text, long low, long high, int32_t *value) {
  char *end;
  const long n = strtol(text, &end, 10);

  if (end == text || *end != '\0' || n < low || n > high) {
    printf("matmul: '%s' is not a number from %ld to %ld\n", text, low, high);
    return false;
  }
  *value = (int32_t)n;
  return true;
}

int main(int argc, char **argv) {
  struct matmul_options options = {.blocks = {128, 128, 128, 2}};
  int32_t *const size[3] = {&options.m, &options.n, &options.k};
  int sizes = 0;

  for (int i = 1; i < argc; i++) {
    const char *a = argv[i];
    int32_t value = 0;
    if (a[0] != '-') {
      if (sizes == 3) {
        printf("matmul: more than three sizes\n%s", usage);
        return BOOT_EXIT_USAGE;
      }
      if (!parse(a, 1, 65535, size[sizes++]))
        return BOOT_EXIT_USAGE;
      continue;
    }
    if (i + 1 == argc) {
      printf("matmul: %s needs a value\n%s", a, usage);
      return BOOT_EXIT_USAGE;
    }
    const char *v = argv[++i];
    if (strcmp(a, "--type") == 0) {
      if (strcmp(v, "bf16") != 0 && strcmp(v, "int8") != 0) {
        printf("matmul: --type %s; bf16 and int8 are possible\n", v);
        return BOOT_EXIT_USAGE;
      }
      continue;
    }
    const bool buffers = strcmp(a, "--buffers") == 0;
    if (!parse(v, 1, buffers ? PL_MAX_BUFFERS : 65535, &value))
      return BOOT_EXIT_USAGE;
    if (strcmp(a, "--block") == 0)
      options.blocks.m = options.blocks.n = options.blocks.k = value;
    else if (strcmp(a, "--block-m") == 0)
      options.blocks.m = value;
    else if (strcmp(a, "--block-n") == 0)
      options.blocks.n = value;
    else if (strcmp(a, "--block-k") == 0)
      options.blocks.k = value;
    else if (strcmp(a, "--calls") == 0)
      options.calls = value;
    else if (buffers)
      options.blocks.buffers = (uint8_t)value;
    else {
      printf("matmul: unknown argument %s\n%s", a, usage);
      return BOOT_EXIT_USAGE;
    }
  }
  if (sizes != 0 && sizes != 3) {
    printf("matmul: give all of M N K or none\n%s", usage);
    return BOOT_EXIT_USAGE;
  }
  return matmul_run(&options);
}
