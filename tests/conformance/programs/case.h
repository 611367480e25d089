/* SPDX-License-Identifier: MIT */
/*
 * What the conformance programs share: a table of cases, and checked access to their arrays.
 *
 * A case is a function under the name that its twin in tests/conformance/twins has. It takes its inputs
 * and outputs by name, calls kernels through case_call(), and leaves the rest to harness.c: outputs are
 * filled with a pattern before, compared with the golden vectors after, and inputs must be unchanged.
 * What it prints is read by tests/conformance/run.py.
 */
#ifndef TESTS_CONFORMANCE_CASE_H
#define TESTS_CONFORMANCE_CASE_H

#include "pallas.h"

struct conformance_case {
  const char *name;
  void (*run)(void);
};
/* The cases of this program; the last one has no name. */
extern const struct conformance_case conformance_cases[];

#define CASE(name_)                                                                                          \
  { #name_, name_ }
#define CASE_END                                                                                             \
  { NULL, NULL }

/* An input of the running case, in HBM; an array that is missing ends the case with its error. */
pl_array case_input(const char *name);
/*
 * An output: an array in HBM of the golden vector's shape and dtype. Every byte of it is CASE_PATTERN,
 * or it starts as a copy of the input `initial`, if that is not NULL.
 */
pl_array case_output(const char *name, const char *initial);
enum { CASE_PATTERN = 0xa5 };

/* pl_call() that must succeed; its copy counts are reported. Returns false on an error, which is told. */
bool case_call(const pl_kernel *kernel, pl_arrays args, pl_arrays results);
/* For entries of the runtime other than pl_call(): the same. */
bool case_done(pl_status status);
/* A call that must fail: its status and message are reported. A success is an error. */
void case_fails(pl_status status);
/* A check inside a case, for what is not in an array. */
void case_check(bool ok, const char *what);

#endif
