/* SPDX-License-Identifier: MIT */
/*
 * Speed of the functional model's vector unit: nanoseconds a vector instruction and annotated cycles, for
 * programs as the runtime makes them, over 128 x 128 elements.
 */
#define _POSIX_C_SOURCE 200809L
#include "../check.h"
#include "compute.h"
#include "vpu_asm.h"

#include <string.h>
#include <time.h>

static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};
static uint64_t program[1024];
static uint32_t args[TPU_VPU_ARG_WORDS];
static struct tpu_vpu vpu;

static void arg(uint32_t reg, uint32_t value) {
  args[(reg - TPU_QUEUE_ARGS) / 4] = value;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void measure(const char *name, const struct tpu_memories *memories) {
  double best = 1e9;
  for (int i = 0; i < 20; i++) {
    double start = seconds();
    tpu_vpu_start(&vpu, &configs[0], memories, args, NULL, NULL);
    tpu_vpu_run(&vpu, &configs[0], memories, program, UINT64_MAX, NULL, NULL);
    double time = seconds() - start;
    best = time < best ? time : best;
  }
  printf("  %-28s %6llu instructions %6.1f ns each, %7llu cycles%s\n", name,
         (unsigned long long)vpu.instructions, best * 1e9 / (double)vpu.instructions,
         (unsigned long long)vpu.cycles, vpu.status == TPU_VPU_DONE ? "" : " FAILED");
}

/* Rows of 128 columns in groups of 8: level 0 rows, level 1 column tiles. */
static void begin(void) {
  memset(program, 0, sizeof program);
  memset(args, 0, sizeof args);
  arg(TPU_VPU_LOOP(0), 16);
  arg(TPU_VPU_LOOP(1), 8);
}

int main(void) {
  struct tpu_memories memories = {
      .vmem = calloc(524288, 1), .acc = calloc(65536, 4), .smem = calloc(16384, 1)};
  /* o = bf16(max(acc + bias, 0)) from ACC, tile-major, to row-major bf16. */
  begin();
  arg(TPU_VPU_PITCH(0), 1);
  arg(TPU_VPU_STRIDE(3 * 0 + 1), 128);
  arg(TPU_VPU_STRIDE(3 * 0 + 0), (uint32_t)(8 - 8 * 128));
  arg(TPU_VPU_PITCH(1), 0);
  arg(TPU_VPU_STRIDE(3 * 1 + 1), 64);
  arg(TPU_VPU_STRIDE(3 * 1 + 0), (uint32_t)-512);
  arg(TPU_VPU_ADDR(2), 4096);
  arg(TPU_VPU_PITCH(2), 256);
  arg(TPU_VPU_STRIDE(3 * 2 + 1), 32);
  arg(TPU_VPU_STRIDE(3 * 2 + 0), 2048 - 256);
  unsigned n = 0;
  program[n++] = tpu_vasm_loop(0, 9);
  program[n++] = tpu_vasm_loop(1, 8);
  program[n++] = tpu_vasm_ld(0, (struct tpu_vasm_memory){.areg = 0, .acc = true});
  program[n++] = tpu_vasm_ld(1, (struct tpu_vasm_memory){.areg = 1});
  program[n++] = tpu_vasm_fadd(2, TPU_V(0), TPU_V(1));
  program[n++] = tpu_vasm_fmax(3, TPU_V(2), TPU_S(0));
  program[n++] = tpu_vasm_st(TPU_V(3), (struct tpu_vasm_memory){.areg = 2, .dtype = TPU_VMEM_DTYPE_BF16});
  program[n++] = tpu_vasm_end(1);
  program[n++] = tpu_vasm_end(0);
  measure("bias, relu, ACC to bf16", &memories);
  /* Row maxima of f32. */
  begin();
  arg(TPU_VPU_PITCH(0), 512);
  arg(TPU_VPU_STRIDE(3 * 0 + 1), 64);
  arg(TPU_VPU_STRIDE(3 * 0 + 0), 4096 - 512);
  arg(TPU_VPU_ADDR(1), 131072);
  arg(TPU_VPU_PITCH(1), 4);
  arg(TPU_VPU_STRIDE(3 * 1 + 0), 32);
  n = 0;
  program[n++] = tpu_vasm_loop(0, 9);
  program[n++] = tpu_vasm_const(0, 0xff800000);
  program[n++] = tpu_vasm_loop(1, 7);
  program[n++] = tpu_vasm_ld(1, (struct tpu_vasm_memory){.areg = 0});
  program[n++] = tpu_vasm_fmax(0, TPU_V(0), TPU_V(1));
  program[n++] = tpu_vasm_end(1);
  program[n++] = tpu_vasm_reduce(TPU_VOP_RL_FMAX, 2, TPU_V(0), (struct tpu_vasm_mask){0});
  program[n++] = tpu_vasm_st(TPU_V(2), (struct tpu_vasm_memory){.areg = 1, .column = true});
  program[n++] = tpu_vasm_end(0);
  measure("row maxima", &memories);
  free(memories.vmem);
  free(memories.acc);
  free(memories.smem);
  return EXIT_SUCCESS;
}
