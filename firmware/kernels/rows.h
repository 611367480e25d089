/* SPDX-License-Identifier: MIT */
/*
 * Kernels that compute each row by itself (softmax, norms): blocks of whole rows through one vector command a
 * grid step.
 *
 * Such a kernel makes several passes over a row, and each needs a number that is known behind the one before.
 * A pass by itself leaves most of the vector unit's pipes idle, or loads in every cycle, and then each
 * access of a DMA to the same bank costs a cycle. So passes can be stages: a step does the first stage on its
 * block, the second one on the block before, and so on, all in one loop over the columns. The grid has one
 * step more for every stage but the first; in the first and last steps some stages have no block. Between
 * stages, and between passes of a stage, a block stays in ACC as f32, where no DMA is in the way. So do the
 * parameters.
 */
#ifndef KERNELS_ROWS_H
#define KERNELS_ROWS_H

#include "pallas.h"

enum {
  ROWS_MAX_STAGES = 3,
  ROWS_MAX_PARAMETERS = 2,
  ROWS_MAX_SCALARS = 2,
  ROWS_MAX_PASSES = 3,
  ROWS_MAX_STATES = 2,
};

/*
 * Refs of the vector functions: x, the result, the parameters, the blocks in ACC, and then for each stage but
 * the last a column, in which it tells the next one about its rows. They are the same in every step: where
 * one stage leaves what another picks up, the loop loads before it stores.
 */
#define ROWS_X            PL_REF(0)
#define ROWS_O            PL_REF(1)
#define ROWS_PARAMETER(i) PL_REF(2 + (i))

/*
 * For rows that do not fit on the chip: the vector function of each pass over blocks of columns. Refs: x, the
 * result, the parameters, the columns of what is known of the rows. One more scalar than elsewhere: how many
 * columns of the block are inside the array; x is `pad` in the others.
 */
struct rows_wide {
  uint8_t passes, states;
  uint8_t operations;              /* of the vector ALU for an element, for predictions */
  uint32_t start[ROWS_MAX_STATES]; /* of each state, the bits of an f32 */
  uint32_t pad;                    /* likewise */
  pl_vector_fn *pass[ROWS_MAX_PASSES];
};

struct rows_kernel {
  const char *name;
  uint8_t tuned; /* enum tuned_kernel */
  uint8_t stages;
  uint8_t accumulators; /* blocks in ACC */
  uint8_t parameters, scalars;
  uint8_t least_rows; /* of a block where rows are long, if it fits; a multiple of 8 */
  uint8_t operations; /* of the vector ALU for an element, for predictions */
  const char *parameter_name[ROWS_MAX_PARAMETERS];      /* for messages */
  pl_vector_fn *step[ROWS_MAX_STAGES][ROWS_MAX_STAGES]; /* stages i to k: those that have a block in a step */
  const struct rows_wide *wide;
};

/*
 * x and o: any rank, the last dimension are the columns; f32 or bf16 each, shapes alike, in HBM.
 * parameter: f32 or bf16 [columns]. PL_ERROR_SHAPE, PL_ERROR_ARGUMENT; others as pl_call().
 */
pl_status rows_call(const struct rows_kernel *kernel, const pl_array *x, const pl_array *const *parameter,
                    const pl_scalar *scalar, const pl_array *o);

/* The same for rows that do not fit: x and o as rows of columns, args x and the parameters. */
pl_status rows_wide_call(const struct rows_kernel *kernel, const pl_array *args, const pl_scalar *scalar,
                         const pl_array *o);

#endif
