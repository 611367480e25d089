/* SPDX-License-Identifier: MIT */
/*
 * The check before main(): is this the device the firmware was built for?
 *
 * A different hash means that registers or encodings are different, so that nothing may be touched;
 * a parameter below the least means that the configuration is too small. Both are told by name and
 * nothing runs.
 */
#include "boot.h"
#include "device.h"

#include "tpu_memmap.h"

#include <stddef.h>

/* Constants in memory, and not in code, so that a test can make a firmware of another description. */
const struct boot_expected boot_expected = {
    .abi_hash = TPU_ABI_HASH,
    .least =
        {
            {TPU_PARAM_DIM, 4},
            {TPU_PARAM_LANES, 4},
            {TPU_PARAM_SUBLANES, 8},
            {TPU_PARAM_VMEM_BYTES, 16384},
            {TPU_PARAM_SMEM_BYTES, 1024},
            {TPU_PARAM_ACC_ROWS, 64},
            {TPU_PARAM_HBM_BYTES, 65536},
            {TPU_PARAM_SEMAPHORES, 16},
            {TPU_PARAM_WAITS, 2},
            {TPU_PARAM_SIGNALS, 2},
            {TPU_PARAM_QUEUE_DEPTH, 4},
            {TPU_PARAM_DMA_CHANNELS, 4},
            {TPU_PARAM_DMA_DIMS, 3},
            {TPU_PARAM_RAM_BYTES, PEPLOS_RAM_SIZE},
        },
};

tpu_params boot_params;
tpu_identity boot_identity;

const char *boot_param_name(unsigned id) {
#define NAME(name, value, text) [value] = #name,
  static const char *const names[] = {TPU_PARAM_LIST(NAME)};
#undef NAME
  return id < sizeof names / sizeof names[0] && names[id] != NULL ? names[id] : "?";
}

static void put_item(const char *name, uint32_t device, uint32_t firmware, void (*put)(uint32_t)) {
  boot_put("  ");
  boot_put(name);
  boot_put(": device ");
  put(device);
  boot_put(", firmware ");
  put(firmware);
  boot_put("\n");
}

void boot_check_device(void) {
  tpu_ctrl ctrl;
  const volatile struct boot_expected *expected = &boot_expected; /* as loaded, not as compiled */
  bool bad = false;

  (void)!tpu_ctrl_init(&ctrl, PEPLOS_TPU_BASE);
  (void)!tpu_ctrl_identify(&ctrl, &boot_identity);
  if (boot_identity.magic != BOOT_TPU_MAGIC || boot_identity.abi_hash != expected->abi_hash) {
    boot_put("DEVICE MISMATCH: built from another register description; nothing was run\n");
    if (boot_identity.magic != BOOT_TPU_MAGIC)
      put_item("magic", boot_identity.magic, BOOT_TPU_MAGIC, boot_put_hex);
    put_item("ABI hash", boot_identity.abi_hash, expected->abi_hash, boot_put_hex);
    bad = true;
  }
  /* The place of the parameter ROM is fixed for good, so it can be read even then. */
  if (tpu_ctrl_params(&ctrl, &boot_params) != HAL_OK) {
    boot_put("DEVICE MISMATCH: the parameter ROM has no end\n");
    bad = true;
  }
  for (unsigned i = 0; i < BOOT_LEAST_PARAMS && expected->least[i].id != TPU_PARAM_END; i++) {
    uint32_t id = expected->least[i].id, least = expected->least[i].value;
    if (boot_params.value[id] < least) {
      boot_put("DEVICE MISMATCH: a parameter is below the least this firmware needs\n");
      put_item(boot_param_name(id), boot_params.value[id], least, boot_put_decimal);
      bad = true;
    }
  }
  if (bad)
    boot_exit(BOOT_EXIT_DEVICE);
}
