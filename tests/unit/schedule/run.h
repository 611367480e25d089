/* SPDX-License-Identifier: MIT */
/* Between the run of a pipeline (run.c) and the comparison with what had to happen (compare.c). */
#ifndef TESTS_UNIT_SCHEDULE_RUN_H
#define TESTS_UNIT_SCHEDULE_RUN_H

#include "schedule.h"

enum { GAP = 64, GUARD = 0x5a };    /* bytes behind every array */
enum { BODY_BEGINS, BODY_RETURNS }; /* notes among the host's events */

/* Of the running call; the maps and the body find it by pl_user(). */
struct running {
  const struct pipeline *p;
  uint32_t returned; /* bodies */
  struct {
    uint32_t times, at; /* how often the map was asked for the step, and when */
  } asked[MAX_OPERANDS][MAX_STEPS];
  int32_t last_asked[MAX_OPERANDS];
  bool out_of_order;
  bool matrix_made, bytes_copied, dotted, copied_out; /* of the products that are repeated */
  int32_t got[MAX_STEPS][MAX_ACTIONS];
};
extern struct running running;

/* The arrays of the operands, and the one of the cells. */
extern pl_array array[MAX_OPERANDS], cells;

/* Compares the call that has just returned; true if all was right, else says what was not if `loud`. */
bool compare(const struct pipeline *p, const struct expected *e, bool loud);
/* Spoils one thing in the expectation, if the pipeline has it. */
void spoil_expectation(const struct pipeline *p, struct expected *e);

#endif
