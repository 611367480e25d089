/* SPDX-License-Identifier: MIT */
/*
 * What `make tune` found: for a kernel, a dtype and a shape the choice (blocks, buffers and so on) that took
 * fewest cycles. Kernels ask when their caller leaves the choice to them, and have a default of their own
 * where nothing was tuned. docs/tuning.md.
 *
 * The table is tools/tune/table.json, from which tuned_table.inc is made; a test measures it again.
 */
#ifndef KERNELS_TUNED_H
#define KERNELS_TUNED_H

#include "pallas.h"

#include <stdint.h>

enum {
  TUNED_SHAPE = 4,  /* extents of a shape, as the kernel names them; the rest is 0 */
  TUNED_VALUES = 6, /* of a choice, in the kernel's order; the rest is 0 */
};

/* Kernels that can be tuned; tools/tune/kernels.py knows them by the same names. */
enum tuned_kernel {
  TUNED_MATMUL,
  TUNED_GMM,
  TUNED_SOFTMAX,
  TUNED_LAYER_NORM,
  TUNED_RMS_NORM,
  TUNED_FLASH,
  TUNED_FLASH_CAUSAL,
  TUNED_MATMUL_GENERAL
};

/*
 * The values for a kernel, the dtype of its first operand and a shape (PL_SHAPE(), rank at most TUNED_SHAPE),
 * or NULL: nothing is known, or this is another configuration than the one that was measured.
 */
const uint16_t *tuned_find(enum tuned_kernel kernel, unsigned dtype, pl_shape shape);

/* For the tuner and tests: what tuned_find() says of everything from here on. */
enum tuned_source { TUNED_FROM_TABLE = 0, TUNED_NOTHING, TUNED_GIVEN };
/* values: for TUNED_GIVEN, TUNED_VALUES of them; they must stay. */
void tuned_use(enum tuned_source source, const uint16_t *values);
/* How often it has been called: for kernels that keep what they have found. */
extern uint32_t tuned_changes;

#endif
