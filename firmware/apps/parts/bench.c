/* SPDX-License-Identifier: MIT */
#include "bench.h"

#include "tpu_memmap.h"
#include "tpu_ctrl.h"

#include <stdio.h>

static bool failed;

void bench_percent(const char *kernel, const char *what, uint64_t part, uint64_t whole) {
  const uint32_t v = (uint32_t)((part * 10000u + whole / 2) / whole);
  printf("FIGURE %s.%s %u.%02u %%\n", kernel, what, (unsigned)(v / 100), (unsigned)(v % 100));
}

void bench_cycles(const char *kernel, const char *what, uint64_t cycles) {
  printf("FIGURE %s.%s %u cycles\n", kernel, what, (unsigned)cycles);
}

void bench_row(const char *kernel, uint64_t cycles, uint32_t rows) {
  const uint32_t hundredths = (uint32_t)(cycles * 100 / rows);
  printf("FIGURE %s.row %u.%02u cycles\n", kernel, (unsigned)(hundredths / 100),
         (unsigned)(hundredths % 100));
}

void bench_fail(const char *kernel, const char *why) {
  printf("bench: %s: %s\n", kernel, why);
  failed = true;
}

bool bench_failed(void) {
  return failed;
}

uint64_t bench_now(void) {
  tpu_ctrl ctrl;
  uint64_t cycle = 0;
  if (tpu_ctrl_init(&ctrl, PEPLOS_TPU_BASE) != HAL_OK || tpu_ctrl_cycle(&ctrl, &cycle) != HAL_OK)
    bench_fail("bench", "no cycle counter");
  return cycle;
}

static pl_prediction plan;

void bench_plan_begin(void) {
  pl_predict_calls(&plan);
}

void bench_plan_end(const char *kernel) {
  pl_predict_calls(NULL);
  bench_cycles(kernel, "planned", plan.cycles);
}

uint16_t bench_bf16(uint32_t v) {
  if (v == 0)
    return 0;
  uint32_t exponent = 31;
  while (!(v >> exponent))
    exponent--;
  return (uint16_t)((127 + exponent) << 7 | ((v << (31 - exponent)) >> 24 & 0x7f));
}
