/* SPDX-License-Identifier: MIT */
/*
 * The digit classifier: two dense layers, one kernel. Images come as bytes, the classes go out as int32.
 *
 *   h = relu(images . w1 + b1)    [B, hidden]  bf16
 *   s = h . w2 + b2               [B, classes] f32
 *   o = argmax(s)                 [B]
 */
#ifndef KERNELS_DIGITS_H
#define KERNELS_DIGITS_H

#include "pallas.h"

struct digits_network {
  pl_array w1, b1, w2, b2; /* bf16 [pixels, hidden], f32 [hidden], bf16 [hidden, classes], f32 [classes] */
};

/* images: uint8 [n, pixels]; classes: int32 [n]; batch: images a grid step. */
pl_status kernel_digits(pl_array images, const struct digits_network *network, pl_array classes,
                        int32_t batch);

#endif
