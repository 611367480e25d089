/* SPDX-License-Identifier: MIT */
/* The digit classifier: any shapes, errors. */
#include "digits.h"
#include "check.h"

#include <stdio.h>

/* The class of image i: the first of the largest scores. Whole numbers, exact in bf16 and in sums. */
static int32_t class_of(const pl_array *images, const struct digits_network *n, int32_t i) {
  const int32_t pixels = n->w1.shape[0], hidden = n->w1.shape[1], classes = n->w2.shape[1];
  int32_t h[16], best = 0, most = 0;

  for (int32_t u = 0; u < hidden; u++) {
    h[u] = check_get(&n->b1, u) + check_dot(images, i * pixels, &n->w1, u, hidden, pixels);
    h[u] = h[u] > 0 ? h[u] : 0;
  }
  for (int32_t c = 0; c < classes; c++) {
    int32_t score = check_get(&n->b2, c);
    for (int32_t u = 0; u < hidden; u++)
      score += h[u] * check_get(&n->w2, u * classes + c);
    if (c == 0 || score > most) {
      most = score;
      best = c;
    }
  }
  return best;
}

static struct digits_network network(int32_t pixels, int32_t hidden, int32_t classes) {
  return (struct digits_network){.w1 = check_array(PL_BF16, PL_SHAPE(pixels, hidden), -1, 1),
                                 .b1 = check_array(PL_F32, PL_SHAPE(hidden), -8, 8),
                                 .w2 = check_array(PL_BF16, PL_SHAPE(hidden, classes), -2, 2),
                                 .b2 = check_array(PL_F32, PL_SHAPE(classes), -9, 9)};
}

static bool right(const pl_array *images, const struct digits_network *n, const pl_array *classes) {
  for (int32_t i = 0; i < images->shape[0]; i++)
    if (!check_element("digits", classes, i, class_of(images, n, i)))
      return false;
  return true;
}

static void random_shape(void) {
  const int32_t images = check_random(1, 40), pixels = check_random(1, 40);
  const struct digits_network n = network(pixels, check_random(1, 16), check_random(1, 12));
  const pl_array x = check_array(PL_UINT8, PL_SHAPE(images, pixels), 0, 3),
                 o = check_array(PL_INT32, PL_SHAPE(images), -1, -1);

  if (check_works("digits", kernel_digits(x, &n, o, check_random(1, 20))))
    right(&x, &n, &o);
  check_free();
}

static void errors(void) {
  const struct digits_network good = network(24, 8, 10);
  struct digits_network bad = good;
  const pl_array x = check_array(PL_UINT8, PL_SHAPE(20, 24), 0, 3),
                 thin = check_array(PL_UINT8, PL_SHAPE(20, 23), 0, 3),
                 o = check_array(PL_INT32, PL_SHAPE(20), -1, -1);

  check_fails(kernel_digits(thin, &good, o, 8), PL_ERROR_SHAPE,
              "digits: images must be uint8 [n, 24], the network has 24 inputs");
  bad.b1 = good.b2;
  check_fails(kernel_digits(x, &bad, o, 8), PL_ERROR_SHAPE,
              "digits: the shapes of w1, b1, w2, b2 do not fit one another");
  if (check_works("digits after errors", kernel_digits(x, &good, o, 8)))
    right(&x, &good, &o);
  check_free();
  check_end("digits: errors");
}

int main(int argc, char **argv) {
  char text[48];
  check_begin(argc, argv);
  for (int32_t i = 0; i < check_shapes; i++)
    random_shape();
  snprintf(text, sizeof text, "digits: %d random shapes", (int)check_shapes);
  check_end(text);
  errors();
  return check_status();
}
