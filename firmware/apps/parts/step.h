/* SPDX-License-Identifier: MIT */
/* What the steps of docs/guide.md share, so that each of them can be about one thing. */
#ifndef APPS_STEP_H
#define APPS_STEP_H

#include "boot.h"
#include "pallas.h"

#include <stdio.h>

/* A new array in HBM; the program ends if there is no room. */
pl_array step_array(pl_dtype dtype, pl_shape shape);
/* Ends the program with the runtime's message (exit status 16) unless all went well. */
void step_must(pl_status status);
/* Ends the program (exit status 1) and says what differs, unless both are equal. */
void step_equal(const char *what, int32_t index, int32_t got, int32_t want);
/* What the last pl_call() did. */
pl_stats step_stats(void);

/* A small whole number as bf16 and as the bits of an f32; both are exact up to 256. */
uint16_t step_bf16(int32_t value);
int32_t step_f32(int32_t value);

#endif
