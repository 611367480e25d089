/* SPDX-License-Identifier: MIT */
/* What a driver function returns. Drivers have no policy: they say what happened and print nothing. */
#ifndef HAL_RESULT_H
#define HAL_RESULT_H

typedef enum hal_result {
  HAL_OK = 0,
  HAL_BAD_ARGUMENT = 1, /* an argument is out of its range; nothing was done */
  HAL_BUSY = 2,         /* the hardware cannot take it now; try again later */
  HAL_TIMEOUT = 3,      /* the hardware did not answer within the given number of polls */
  HAL_ABSENT = 4,       /* this configuration lacks it */
  HAL_MISMATCH = 5,     /* the hardware is not what this program was built for */
} hal_result;

#define HAL_MUST_CHECK __attribute__((warn_unused_result))

#endif
