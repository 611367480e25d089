/* SPDX-License-Identifier: MIT */
#include <stdio.h>

int main(int argc, char **argv)
{
  iprintf("hello from Peplos\n");
  for (int i = 0; i < argc; i++)
    iprintf("  argument %d: %s\n", i, argv[i]);
  return 0;
}
