/* SPDX-License-Identifier: MIT */
/*
 * The vector unit once more, written from docs/contract.md sections 6 and 7 for tests: one element at a time,
 * no time, nothing shared with the model but num_ref, eup (which tests/unit/eup compares
 * with exact values) and the generated fields. Deliberate mistakes can be
 * switched on, to see that a test would notice them.
 */
#ifndef TESTS_UNIT_VPU_REF_H
#define TESTS_UNIT_VPU_REF_H

#include <stdbool.h>
#include <stdint.h>

#include "tpu_configs.h"
#include "tpu_regs.h"

enum vpu_ref_mistake {
  VPU_REF_CORRECT,
  VPU_REF_SUMS_IN_ORDER,   /* reductions from the left instead of a tree */
  VPU_REF_ARGMAX_LAST,     /* the higher index on equal values */
  VPU_REF_MASK_OFF_BY_ONE, /* row base + s <= VALID_ROWS */
  VPU_REF_NO_LAST_STRIDE,  /* the END that leaves a loop adds no stride */
  VPU_REF_POSITIVE_ZERO,   /* +0 as the identity of sums */
  VPU_REF_TRUNCATES,       /* narrow stores round toward zero */
  VPU_REF_CHECKS_MASKED,   /* sublanes without a valid lane are checked too */
  VPU_REF_UNSIGNED_OFFSET, /* offsets are not sign-extended */
  VPU_REF_ROTATES_BACK,    /* rotations go to lower indices */
  VPU_REF_MISTAKES
};

struct vpu_ref {
  const struct tpu_config *config;
  enum vpu_ref_mistake mistake;
  uint8_t *vmem, *smem;
  uint32_t *acc;
  const uint64_t *program;
  /* results */
  uint32_t code, detail0, detail1;
  uint64_t bytes, instructions;
  bool halted; /* false: failed, or stopped after `limit` instructions */
  uint32_t v[32][8][16];
  /* state */
  uint32_t pc, addr[8], scalar[8];
  uint32_t active[3], start[3], iteration[3];
  const uint32_t *args;
};

/* Runs one command from its staged words. */
void vpu_ref_run(struct vpu_ref *ref, const uint32_t *args, uint64_t limit);

#endif
