/* SPDX-License-Identifier: MIT */
#include "digits.h"

enum { IN_IMAGES, IN_W1, IN_B1, IN_W2, IN_B2 };
enum { PIXELS, HIDDEN, SCORES, SUM1, SUM2 }; /* scratch */

/* For predictions: what a row of pl_argmax() costs in elements, and a step beside a dot and a vector
 * operation. */
enum { ARGMAX_ELEMENTS = 212, STEP_INSTRUCTIONS = 3200 };

static void body(void) {
  pl_ref pixels = pl_scratch(PIXELS), hidden = pl_scratch(HIDDEN), scores = pl_scratch(SCORES);
  pl_ref sum1 = pl_scratch(SUM1), sum2 = pl_scratch(SUM2);

  pl_copy(pixels, pl_input(IN_IMAGES)); /* uint8 -> bf16, exact up to 256 */
  pl_dot(sum1, pixels, pl_input(IN_W1), PL_OVERWRITE);
  pl_relu(hidden, sum1, pl_input(IN_B1));
  pl_dot(sum2, hidden, pl_input(IN_W2), PL_OVERWRITE);
  pl_add(scores, sum2, pl_input(IN_B2));
  pl_argmax(pl_output(0), scores);
}

static void image_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static void class_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

pl_status kernel_digits(pl_array images, const struct digits_network *network, pl_array classes,
                        int32_t batch) {
  const int32_t pixels = network->w1.shape[0], hidden = network->w1.shape[1], out = network->w2.shape[1];

  if (images.rank != 2 || images.dtype != PL_UINT8 || images.shape[1] != pixels)
    return pl_error(PL_ERROR_SHAPE, "digits: images must be uint8 [n, %d], the network has %d inputs",
                    (int)pixels, (int)pixels);
  if (network->w1.rank != 2 || network->w2.rank != 2 || network->w2.shape[0] != hidden ||
      network->b1.shape[0] != hidden || network->b2.shape[0] != out)
    return pl_error(PL_ERROR_SHAPE, "digits: the shapes of w1, b1, w2, b2 do not fit one another");
  const uint64_t steps = (uint32_t)pl_cdiv(images.shape[0], batch), rows = steps * (uint32_t)batch;
  const pl_kernel kernel = {
      .name = "digits",
      .body = body,
      .grid = PL_GRID(pl_cdiv(images.shape[0], batch)),
      .dimension_semantics = {PL_PARALLEL},
      .in = {PL_BLOCK(image_map, batch, pixels), PL_WHOLE, PL_WHOLE, PL_WHOLE, PL_WHOLE},
      .out = {PL_BLOCK(class_map, batch)},
      .scratch = {PL_VMEM(PL_BF16, batch, pixels), PL_VMEM(PL_BF16, batch, hidden),
                  PL_VMEM(PL_F32, batch, out), PL_ACC(PL_F32, batch, hidden), PL_ACC(PL_F32, batch, out)},
      .cost = {.macs = rows * (uint32_t)hidden * (uint32_t)(pixels + out),
               .vector_elements = rows * (uint32_t)(pixels + hidden + out + ARGMAX_ELEMENTS),
               .instructions = steps * STEP_INSTRUCTIONS,
               .vector_steps = true,
               .chained = true},
  };
  return pl_call(&kernel, PL_ARGS(images, network->w1, network->b1, network->w2, network->b2),
                 PL_RESULTS(classes));
}
