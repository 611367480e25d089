/* SPDX-License-Identifier: MIT */
/* What the tests of the kernel runtime share. Every file has one entry, called by main.c. */
#ifndef TESTS_UNIT_PALLAS_SUITE_H
#define TESTS_UNIT_PALLAS_SUITE_H

#include "../check.h"
#include "host.h"

#include "pallas.h"

/* check() of check.h counts per file; these tests are several files and one program. */
__attribute__((format(printf, 2, 3))) bool suite_check(bool ok, const char *format, ...);
#define check suite_check

struct suite {
  struct check_random random;
  bool bf16; /* the configuration multiplies bf16 */
  uint32_t dim;
  bool cycle_timing; /* the model takes the cycles that the hardware takes */
  uint32_t cases;    /* of each random test */
};
extern struct suite suite;

/* A fresh array in HBM; everything is given back between test files. */
pl_array suite_array(pl_dtype dtype, pl_shape shape);
void suite_release(void);
/* Random contents: small integers in every dtype, exact in bf16 and in sums. */
void suite_fill(const pl_array *array);
/* Element i of an HBM array as a double, and back. */
double suite_get(const pl_array *array, uint32_t i);
void suite_put(const pl_array *array, uint32_t i, double value);
uint32_t suite_elements(const pl_array *array);
/* A call must succeed; otherwise the error's text is the failure. */
__attribute__((format(printf, 2, 3))) bool suite_ok(pl_status status, const char *format, ...);
/* A call must fail with this status and a text that has these words in it (NULL ends). */
bool suite_fails(pl_status status, pl_status wanted, const char *name, ...);

void suite_copy(void);
void suite_random(void);
void suite_dot(void);
void suite_dot_f32(void);
void suite_vector(void);
void suite_async(void);
void suite_spec(void);
void suite_alias(void);
void suite_nested(void);
void suite_reuse(void);
void suite_rules(void);
void suite_misuse(void);
void suite_revisit(void);
void suite_shuffle(void);
void suite_loaded(void);
void suite_prefetch(void);
void suite_partition(void);
void suite_errors(void);
void suite_resident(void);
void suite_views(void);
void suite_race(void);
void suite_scoped(void);
void suite_copies(void);
void suite_debug(void);
void suite_plan(void);
void suite_compute(void);
void suite_lists(void);
void suite_indirect(void);
void suite_overlap(void);
void suite_copies_random(void);
void suite_levels(void);
void suite_messages(void);
void suite_order(void);
void suite_strides(void);
void suite_broken(void);
void suite_vector_messages(void);
void suite_vfn(void);

#endif
