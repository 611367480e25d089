/* SPDX-License-Identifier: MIT */
#include "tuned.h"

#include "boot.h"
#include "device.h"

#include <stddef.h>

struct choice {
  uint8_t kernel, dtype;
  uint16_t shape[TUNED_SHAPE], value[TUNED_VALUES];
};

#include "tuned_table.inc"

static enum tuned_source from;
static const uint16_t *given;
uint32_t tuned_changes;

void tuned_use(enum tuned_source source, const uint16_t *values) {
  from = source;
  tuned_changes++;
  given = values;
}

static bool fits(const struct choice *c, enum tuned_kernel kernel, unsigned dtype, const pl_shape *shape) {
  if (c->kernel != kernel || c->dtype != dtype)
    return false;
  for (unsigned d = 0; d < TUNED_SHAPE; d++)
    if (c->shape[d] != (d < shape->rank ? shape->extent[d] : 0))
      return false;
  return true;
}

const uint16_t *tuned_find(enum tuned_kernel kernel, unsigned dtype, pl_shape shape) {
  if (from != TUNED_FROM_TABLE)
    return from == TUNED_GIVEN ? given : NULL;
  if (boot_params.value[TPU_PARAM_CONFIG] != TUNED_CONFIG)
    return NULL;
  for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++)
    if (fits(&table[i], kernel, dtype, &shape))
      return table[i].value;
  return NULL;
}
