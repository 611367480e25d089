/* SPDX-License-Identifier: MIT */
/* Classifies the images of the data file and reports: shared by the apps digits and demo. */
#ifndef APPS_DIGITS_RUN_H
#define APPS_DIGITS_RUN_H

#include <stdbool.h>
#include <stdint.h>

struct digits_options {
  int32_t batch;  /* images a grid step */
  int32_t show;   /* images to print */
  bool bench;     /* print FIGURE lines instead of a report */
  int32_t expect; /* percent of labelled images that must be right, or the run has failed; 0: none */
};

/* Returns an exit status (boot.h). */
int digits_run(const struct digits_options *options);

#endif
