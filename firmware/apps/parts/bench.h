/* SPDX-License-Identifier: MIT */
/* What the figures of `bench` share, and the figures of the kernel library, one function a kernel. */
#ifndef APPS_BENCH_H
#define APPS_BENCH_H

#include "pallas.h"

/* `part` of `whole` as a percentage with two digits: FIGURE kernel.what value %. */
void bench_percent(const char *kernel, const char *what, uint64_t part, uint64_t whole);
void bench_cycles(const char *kernel, const char *what, uint64_t cycles);
/* Cycles a row with two digits: FIGURE kernel.row value cycles. */
void bench_row(const char *kernel, uint64_t cycles, uint32_t rows);
void bench_fail(const char *kernel, const char *why);
bool bench_failed(void);
/* Cycles of the device since reset: what a kernel does around pl_call() counts, too. */
uint64_t bench_now(void);
/* bf16 bits of a small non-negative integer that bf16 can hold. */
uint16_t bench_bf16(uint32_t v);
/* Kernel calls between the two are predicted instead of run: FIGURE kernel.planned cycles; see
 * pl_predict_calls(). */
void bench_plan_begin(void);
void bench_plan_end(const char *kernel);

void bench_embedding(void);
void bench_flash(void);
void bench_gmm(void);
void bench_fused(void);
void bench_orders(void);

#endif
