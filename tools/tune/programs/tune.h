/* SPDX-License-Identifier: MIT */
/* What the programs of the tuner share; each has the kernels of a family. */
#ifndef TUNE_TUNE_H
#define TUNE_TUNE_H

#include "pallas.h"

enum { TUNE_EXTENTS = 4 };

struct tune_kernel {
  const char *name;    /* with the dtype, as KERNEL= has it */
  const char *extents; /* their names, in order */
  unsigned rank;       /* how many */
  /* Allocates and fills the operands; the result's array comes back in *o. */
  pl_status (*prepare)(const int32_t *extent, pl_array *o);
  /* Runs the kernel with the choice that tuned_find() gives. */
  pl_status (*run)(void);
};

/* Reads arguments and candidates and tries them; returns the exit status. */
int tune_main(int argc, char **argv, const struct tune_kernel *kernels, unsigned count);

/* A new array in HBM of small whole numbers, -2 .. 2, so that sums are exact in any order. */
pl_status tune_array(pl_array *a, pl_dtype dtype, pl_shape shape);

#endif
