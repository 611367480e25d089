/* SPDX-License-Identifier: MIT */
/* hello: the banner and the arguments. */
#include "banner.h"

#include <stdio.h>

int main(int argc, char **argv) {
  banner_print();
  for (int i = 1; i < argc; i++)
    printf("  argument %d: %s\n", i, argv[i]);
  return 0;
}
