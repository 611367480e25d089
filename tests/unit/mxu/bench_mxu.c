/* SPDX-License-Identifier: MIT */
/*
 * Speed of the functional model's matrix unit: multiply-accumulates a second of a 512 x 512 x 512 product
 * made of 128 x 128 x 128 commands, as the runtime issues them. Exits non-zero below the bar of 5 G on one
 * core when given `--bar`.
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include "compute.h"

#include <string.h>
#include <time.h>

#define BLOCK 128
#define STEPS 64

static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Best of five. */
static double gmacs(const struct tpu_config *config, const struct tpu_memories *memories,
                    const struct tpu_mxu_command *command) {
  double best = 1e9;
  for (int i = 0; i < 5; i++) {
    double start = seconds();
    for (int step = 0; step < STEPS; step++)
      tpu_mxu_execute(config, memories, command);
    double time = seconds() - start;
    best = time < best ? time : best;
  }
  return (double)STEPS * BLOCK * BLOCK * BLOCK / best * 1e-9;
}

int main(int argc, char **argv) {
  struct tpu_memories memories = {.vmem = malloc(524288), .acc = calloc(65536, 4), .smem = NULL};
  struct check_random r = {1};
  bool fast = true;
  for (uint32_t i = 0; i < 524288; i += 2) {
    memories.vmem[i] = (uint8_t)check_random32(&r);
    memories.vmem[i + 1] = (uint8_t)(0x3e | (check_random32(&r) & 0x81));
  }
  for (unsigned c = 0; c < 3; c++)
    for (unsigned dtype = 0; dtype < 2; dtype++)
      for (unsigned transpose = 0; transpose < 2; transpose++) {
        struct tpu_mxu_command command = {.dtype = (enum tpu_mxu_dtype)dtype,
                                          .accumulate = true,
                                          .transpose_b = transpose != 0,
                                          .m = BLOCK,
                                          .n = BLOCK,
                                          .k = BLOCK,
                                          .a_pitch = BLOCK * (dtype + 1),
                                          .b = 262144,
                                          .b_pitch = BLOCK * (dtype + 1),
                                          .c_pitch = BLOCK};
        double speed = gmacs(&configs[c], &memories, &command);
        printf("  %s %s %s %.1f GMAC/s\n", configs[c].name, dtype ? "bf16" : "int8",
               transpose ? "A.B^T" : "A.B  ", speed);
        fast = fast && (c != 0 || speed >= 5);
      }
  free(memories.vmem);
  free(memories.acc);
  return argc > 1 && strcmp(argv[1], "--bar") == 0 && !fast ? EXIT_FAILURE : EXIT_SUCCESS;
}
