/* SPDX-License-Identifier: MIT */
/* Index maps of matrices that several conformance programs use. */
#ifndef TESTS_CONFORMANCE_MAPS_H
#define TESTS_CONFORMANCE_MAPS_H

#include "pallas.h"

static inline void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = 0;
}
static inline void ij_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[1];
}
static inline void ik_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[2];
}
static inline void kj_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[2], b[1].start = g->id[1];
}
static inline void origin_map(const pl_grid *g, pl_index *b) {
  (void)g, b[0].start = b[1].start = 0;
}
static inline void flat_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] * g->extent[1] + g->id[1], b[1].start = 0;
}
/* A number of a block for every step, in prefetch argument 0 or 1. */
static inline void table_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0]), b[1].start = 0;
}
static inline void second_table_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(1), g->id[0]), b[1].start = 0;
}

#endif
