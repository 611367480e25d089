/* SPDX-License-Identifier: MIT */
/* What the programs that count instructions share: the least count of several steps, and its bar. */
#ifndef COST_H
#define COST_H

#include "boot.h"
#include "mmio.h"
#include "pallas.h"

#include <stdio.h>

struct cost {
  const char *name;
  uint32_t bar, least; /* least: 0 if it was never counted */
};

/* Counts what runs in the scalar core; waits for the machine's engines would count, and the least has none.
 */
#define COST(cost_, ...)                                                                                     \
  do {                                                                                                       \
    struct cost *const counted_ = &(cost_);                                                                  \
    const uint32_t before_ = cpu_instret();                                                                  \
    __VA_ARGS__;                                                                                             \
    const uint32_t instructions_ = cpu_instret() - before_ - 1;                                              \
    if (counted_->least == 0 || instructions_ < counted_->least)                                             \
      counted_->least = instructions_;                                                                       \
  } while (0)

/* Prints all of them; the program's exit status. */
static inline int cost_report(const struct cost *cost, unsigned n) {
  bool good = true;
  for (unsigned i = 0; i < n; i++) {
    const bool reached = cost[i].least != 0 && cost[i].least <= cost[i].bar;
    printf("FIGURE %s %u instructions\n", cost[i].name, (unsigned)cost[i].least);
    if (!reached)
      printf("%s is over its bar, %u\n", cost[i].name, (unsigned)cost[i].bar);
    good &= reached;
  }
  return good ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}

#endif
