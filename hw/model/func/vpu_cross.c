/* SPDX-License-Identifier: MIT */
/* Moves across lanes and sublanes, and random bits: what they compute on whole VREGs (vpu_ops.h). */
#include <string.h>

#include "num_kernels.h"
#include "vpu_ops.h"

static void rotate_lanes(uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t n) {
  for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++, a += lanes, d += lanes) {
    memcpy(d + n, a, (lanes - n) * sizeof *d);
    memcpy(d, a + lanes - n, n * sizeof *d);
  }
}

static void rotate_sublanes(uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t n) {
  uint32_t head = n * lanes, tail = (TPU_VPU_SUBLANES - n) * lanes;
  memcpy(d + head, a, tail * sizeof *d);
  memcpy(d, a + tail, head * sizeof *d);
}

static void broadcast_lane(uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t n) {
  uint32_t column[TPU_VPU_SUBLANES];
  for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++)
    column[s] = a[s * lanes + n];
  tpu_vpu_broadcast(d, column, lanes);
}

void tpu_vpu_move(uint32_t op, uint32_t *d, const uint32_t *a, uint32_t lanes, uint32_t n) {
  struct tpu_vreg x;
  memcpy(&x, a, TPU_VPU_SUBLANES * lanes * sizeof *a);
  switch (op) {
  case TPU_VOP_ROT_LANE:
    rotate_lanes(d, x.word, lanes, n % lanes);
    break;
  case TPU_VOP_ROT_SUB:
    rotate_sublanes(d, x.word, lanes, n % TPU_VPU_SUBLANES);
    break;
  case TPU_VOP_BC_LANE:
    broadcast_lane(d, x.word, lanes, n % lanes);
    break;
  default: /* BC_SUB */
    for (uint32_t s = 0; s < TPU_VPU_SUBLANES; s++)
      memcpy(d + s * lanes, x.word + n % TPU_VPU_SUBLANES * lanes, lanes * sizeof *d);
    break;
  }
}

/* lanes is a constant in each copy. */
static inline __attribute__((always_inline)) void
transpose_tile(uint32_t *restrict d, const uint32_t *restrict x, const uint32_t lanes) {
#pragma GCC unroll 16
  for (uint32_t r = 0; r < lanes; r++)
#pragma GCC unroll 16
    for (uint32_t l = 0; l < lanes; l++)
      d[r * lanes + l] = x[l * lanes + r];
}

void tpu_vpu_transpose(uint32_t *d, const uint32_t *a, uint32_t lanes) {
  uint32_t rows = lanes > TPU_VPU_SUBLANES ? lanes : TPU_VPU_SUBLANES;
  uint32_t x[TPU_VPU_MAX_LANES * TPU_VPU_MAX_LANES];
  memcpy(x, a, rows * lanes * sizeof *a);
  for (uint32_t r = 0; r < rows; r += lanes) {
    uint32_t *tile = d + r * lanes;
    if (lanes == 16)
      transpose_tile(tile, x, 16);
    else if (lanes == 8)
      transpose_tile(tile, x, 8);
    else
      transpose_tile(tile, x + r * lanes, 4);
  }
}

#define ROTATE(x, n) ((x) << (n) | (x) >> (32 - (n)))
#define ROUND(n)                                                                                             \
  x0 += x1;                                                                                                  \
  x1 = ROTATE(x1, n) ^ x0
#define FOUR(a, b, c, d, k, l, i)                                                                            \
  ROUND(a);                                                                                                  \
  ROUND(b);                                                                                                  \
  ROUND(c);                                                                                                  \
  ROUND(d);                                                                                                  \
  x0 += k;                                                                                                   \
  x1 += (l) + (i)

NUM_CLONES
void tpu_vpu_random(uint32_t *d, uint32_t lanes, const uint32_t key[2], uint32_t row, uint32_t column) {
  uint32_t k0 = key[0], k1 = key[1], k2 = k0 ^ k1 ^ 0x1bd11bda;
  uint32_t shift = lanes == 16 ? 4 : lanes == 8 ? 3 : 2;
  for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++) {
    uint32_t x0 = row + (i >> shift) + k0, x1 = column + (i & (lanes - 1)) + k1;
    FOUR(13, 15, 26, 6, k1, k2, 1);
    FOUR(17, 29, 16, 24, k2, k0, 2);
    FOUR(13, 15, 26, 6, k0, k1, 3);
    FOUR(17, 29, 16, 24, k1, k2, 4);
    FOUR(13, 15, 26, 6, k2, k0, 5);
    d[i] = x0 ^ x1;
  }
}
