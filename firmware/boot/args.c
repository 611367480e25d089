/* SPDX-License-Identifier: MIT */
#include "boot.h"

#include <stddef.h>

static int is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

int boot_split_args(char *line, char **argv, int max) {
  char *from = line, *to = line; /* removing quotes only ever shortens, so both fit into the line */
  int argc = 0;

  for (;;) {
    while (is_space(*from))
      from++;
    if (*from == '\0')
      break;
    if (argc == max - 1)
      return -1;
    argv[argc++] = to;
    char quote = '\0';
    for (; *from != '\0' && (quote != '\0' || !is_space(*from)); from++) {
      if (*from == '\\' && quote != '\'' && from[1] != '\0') {
        *to++ = *++from;
      } else if (quote == '\0' && (*from == '\'' || *from == '"')) {
        quote = *from;
      } else if (*from == quote) {
        quote = '\0';
      } else {
        *to++ = *from;
      }
    }
    if (quote != '\0')
      return -1;
    int last = *from == '\0';
    *to++ = '\0';
    if (last)
      break;
    from++;
  }
  argv[argc] = NULL;
  return argc;
}
