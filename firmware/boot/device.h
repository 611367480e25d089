/* SPDX-License-Identifier: MIT */
/* What the device said about itself at boot. */
#ifndef BOOT_DEVICE_H
#define BOOT_DEVICE_H

#include "tpu_ctrl.h"

#define BOOT_TPU_MAGIC 0x4c504550u

enum { BOOT_LEAST_PARAMS = 16 };

struct boot_expected {
  uint32_t abi_hash;
  struct {
    uint32_t id, value;
  } least[BOOT_LEAST_PARAMS]; /* ends with id 0 */
};
extern const struct boot_expected boot_expected;

extern tpu_params boot_params;
extern tpu_identity boot_identity;

const char *boot_param_name(unsigned id);

/* Ends the program with BOOT_EXIT_DEVICE and a report if the device does not fit. */
void boot_check_device(void);

#endif
