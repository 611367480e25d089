/* SPDX-License-Identifier: MIT */
#include "digits_run.h"

#include "bench.h"
#include "boot.h"
#include "digits.h"
#include "pallas.h"

#include <stdio.h>

static int fail(const char *what) {
  printf("digits: %s: %s\n", what, pl_error_message());
  return BOOT_EXIT_KERNEL;
}

/* An 8 x 8 image as text, one character a pixel, and its class. */
static void show_images(const uint8_t *image, const int32_t *class, const uint8_t *label, int32_t count) {
  static const char shade[] = " .:-=+*#%@";

  for (int32_t first = 0; first < count; first += 6) {
    const int32_t n = count - first < 6 ? count - first : 6;
    for (int32_t row = 0; row < 8; row++) {
      for (int32_t i = 0; i < n; i++) {
        for (int32_t column = 0; column < 8; column++) {
          const unsigned v = image[(first + i) * 64 + row * 8 + column];
          const char c = shade[(v > 16 ? 16 : v) * 9 / 16];
          putchar(c);
          putchar(c);
        }
        putchar(' ');
      }
      putchar('\n');
    }
    for (int32_t i = 0; i < n; i++) {
      if (label != NULL)
        printf("  %d (label %d)     ", (int)class[first + i], label[first + i]);
      else
        printf("  %d               ", (int)class[first + i]);
    }
    printf("\n\n");
  }
}

static int report(const pl_array *images, const int32_t *class, const uint8_t *label, const pl_stats *stats,
                  const struct digits_options *options) {
  const uint8_t *image = pl_hbm_pointer(images);
  const int32_t n = images->shape[0];
  const uint32_t cycles = (uint32_t)stats->cycles;
  int32_t correct = 0;

  for (int32_t i = 0; label != NULL && i < n; i++)
    correct += class[i] == label[i];
  const uint32_t basis_points = label != NULL ? (uint32_t)((uint64_t)correct * 10000u / (uint32_t)n) : 0;
  const uint32_t rate = (uint32_t)((uint64_t)n * 1000000u / cycles);
  if (options->bench) {
    if (label != NULL)
      printf("FIGURE digits.accuracy %u.%02u %%\n", (unsigned)(basis_points / 100),
             (unsigned)(basis_points % 100));
    printf("FIGURE digits.cycles %u cycles\n", (unsigned)cycles);
    printf("FIGURE digits.rate %u images per million cycles\n", (unsigned)rate);
    return BOOT_EXIT_OK;
  }
  if (images->shape[1] == 64 && options->show > 0)
    show_images(image, class, label, options->show < n ? options->show : n);
  if (label != NULL)
    printf("digits: %d of %d images right: accuracy %u.%02u %%\n", (int)correct, (int)n,
           (unsigned)(basis_points / 100), (unsigned)(basis_points % 100));
  else
    for (int32_t i = 0; i < n; i++)
      printf("digits: image %d is a %d\n", (int)i, (int)class[i]);
  printf("digits: %u cycles, %u images per million cycles\n", (unsigned)cycles, (unsigned)rate);
  if (label != NULL && basis_points < (uint32_t)options->expect * 100u) {
    printf("digits: FAILED, at least %d %% were to be right\n", (int)options->expect);
    return BOOT_EXIT_FAILURE;
  }
  return BOOT_EXIT_OK;
}

int digits_run(const struct digits_options *options) {
  struct digits_network network;
  pl_array images, labels, classes;
  pl_stats stats;

  if (pl_data_open() != PL_OK || pl_data_find("images", &images) != PL_OK ||
      pl_data_find("w1", &network.w1) != PL_OK || pl_data_find("b1", &network.b1) != PL_OK ||
      pl_data_find("w2", &network.w2) != PL_OK || pl_data_find("b2", &network.b2) != PL_OK) {
    printf("digits: %s\n", pl_error_message());
    return BOOT_EXIT_USAGE;
  }
  const bool labelled = pl_data_has("labels");
  if (labelled && pl_data_find("labels", &labels) != PL_OK) {
    printf("digits: %s\n", pl_error_message());
    return BOOT_EXIT_USAGE;
  }
  if (images.rank != 2 || images.dtype != PL_UINT8 || images.shape[1] != network.w1.shape[0]) {
    printf("digits: images must be uint8 [n, %d], for as many inputs of the network; the file has %s of rank "
           "%d, [%d, %d]\n",
           (int)network.w1.shape[0], pl_dtype_name(images.dtype), images.rank, (int)images.shape[0],
           images.rank > 1 ? (int)images.shape[1] : 1);
    return BOOT_EXIT_USAGE;
  }
  if (labelled && (labels.dtype != PL_UINT8 || labels.rank != 1 || labels.shape[0] != images.shape[0])) {
    printf("digits: labels must be uint8 [%d], one for each image\n", (int)images.shape[0]);
    return BOOT_EXIT_USAGE;
  }
  if (pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(images.shape[0]), &classes) != PL_OK)
    return fail("no room for the result");
  /* Twice: the second call finds its plan and programs ready, and is the one that is reported. */
  for (int call = 0; call < 2; call++) {
    if (kernel_digits(images, &network, classes, options->batch) != PL_OK)
      return fail("kernel");
  }
  pl_get_stats(&stats);
  if (options->bench) {
    bench_plan_begin();
    (void)!kernel_digits(images, &network, classes, options->batch);
    bench_plan_end("digits");
  }
  const int status =
      report(&images, pl_hbm_pointer(&classes), labelled ? pl_hbm_pointer(&labels) : NULL, &stats, options);
  if (pl_free(&classes) != PL_OK)
    return fail("result");
  return status;
}
