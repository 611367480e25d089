/* SPDX-License-Identifier: MIT */
/* Whole-ref operations as vector functions: vfn_whole.c, vfn_math.c, vfn_cross.c. */
#ifndef PALLAS_VFN_WHOLE_H
#define PALLAS_VFN_WHOLE_H

#include "vfn.h"

/*
 * An operation whose sources have the result's shape; those whose bit is set in `narrow` may have one row,
 * one column or one element instead.
 */
extern const struct vfn_whole vfn_elementwise;

pl_status vfn_fail_shapes(const pl_vector_fn *fn, const struct pl_view *result, const struct pl_view *source);

/* Stores a value in the result, cast from a source's type to the result's, as pl_copy() says. */
void vfn_store_cast(pl_v v, unsigned from);

#endif
