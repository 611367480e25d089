/* SPDX-License-Identifier: MIT */
/* demo: what `make run` shows: the banner, a checked matrix product, all held-out digits. */
#include "banner.h"
#include "boot.h"
#include "digits_run.h"
#include "matmul_run.h"

#include <stdio.h>

int main(void) {
  const struct matmul_options matmul = {.m = 256, .n = 256, .k = 256, .blocks = {64, 64, 64, 3}};
  const struct digits_options digits = {.batch = 128, .show = 6, .expect = 96};

  banner_print();
  printf("\n");
  const int status = matmul_run(&matmul);
  if (status != BOOT_EXIT_OK)
    return status;
  printf("\n");
  return digits_run(&digits);
}
