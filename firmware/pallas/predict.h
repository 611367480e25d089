/* SPDX-License-Identifier: MIT */
/* What the files of the prediction share (predict.c, predict_time.c, predict_print.c). */
#ifndef PALLAS_PREDICT_H
#define PALLAS_PREDICT_H

#include "pipeline.h"

/* A block as it is moved: all of it, its part in the array, and cycles of the port for that part. */
struct pl_moved {
  bool empty, ragged;
  uint32_t whole, part, cycles;
};

/* Of the block evaluated last. */
struct pl_moved pl_moved_of(const struct pl_operand *op);

/*
 * Runs the grid's timeline and sets p->cycles and p->scalar; all else of p is known. The plan is reset, and
 * its scalar prefetch arguments are there.
 */
void pl_predict_time(struct pl_context *c, const struct pl_plan *plan, pl_prediction *p);

/* Prediction of a kernel that stays entered until pl_call_leave(). plan: NULL if nothing runs. */
pl_status pl_predict_entered(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                             pl_prediction *p, struct pl_plan **plan);

#endif
