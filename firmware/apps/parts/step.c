/* SPDX-License-Identifier: MIT */
#include "step.h"

#include <string.h>

void step_must(pl_status status) {
  if (status == PL_OK)
    return;
  printf("PL_%s: %s\n", pl_status_name(status), pl_error_message());
  fflush(stdout);
  boot_exit(BOOT_EXIT_KERNEL);
}

pl_array step_array(pl_dtype dtype, pl_shape shape) {
  pl_array array;
  step_must(pl_alloc(PL_HBM, dtype, shape, &array));
  return array;
}

void step_equal(const char *what, int32_t index, int32_t got, int32_t want) {
  if (got == want)
    return;
  printf("WRONG: %s %d is %d (0x%x), not %d (0x%x)\n", what, (int)index, (int)got, (unsigned)got, (int)want,
         (unsigned)want);
  fflush(stdout);
  boot_exit(BOOT_EXIT_FAILURE);
}

pl_stats step_stats(void) {
  pl_stats stats;
  pl_get_stats(&stats);
  return stats;
}

int32_t step_f32(int32_t value) {
  const float number = (float)value;
  int32_t bits;
  memcpy(&bits, &number, sizeof bits);
  return bits;
}

uint16_t step_bf16(int32_t value) {
  return (uint16_t)((uint32_t)step_f32(value) >> 16);
}
