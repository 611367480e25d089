/* SPDX-License-Identifier: MIT */
#include "banner.h"

#include "device.h"

#include "tpu_memmap.h"

#include <stdio.h>

static const char *config_name(uint32_t config) {
  static const char *const names[] = {"?", "sim16", "sim8", "sim4", "ecp5", "up5k"};
  return config < sizeof names / sizeof names[0] ? names[config] : "?";
}

void banner_print(void) {
  const uint32_t *p = boot_params.value;
  uint32_t features = boot_identity.features;

  printf("Peplos: configuration %s, ABI hash %08x, interface %u.%u\n", config_name(p[TPU_PARAM_CONFIG]),
         (unsigned)boot_identity.abi_hash, (unsigned)(boot_identity.version >> 16),
         (unsigned)(boot_identity.version & 0xffff));
  printf("  clock    %u MHz, one scalar core (RV32IMC)\n", (unsigned)(p[TPU_PARAM_CYCLE_HZ] / 1000000));
  printf("  MXU      %u x %u:%s%s\n", (unsigned)p[TPU_PARAM_DIM], (unsigned)p[TPU_PARAM_DIM],
         features & TPU_REG_FEATURES_MXU_INT8_MASK ? " int8" : "",
         features & TPU_REG_FEATURES_MXU_BF16_MASK ? " bf16" : "");
  if (features & TPU_REG_FEATURES_VPU_MASK)
    printf("  VPU      %u lanes x %u sublanes, %u registers, %u instructions%s%s\n",
           (unsigned)p[TPU_PARAM_LANES], (unsigned)p[TPU_PARAM_SUBLANES], (unsigned)p[TPU_PARAM_VREGS],
           (unsigned)p[TPU_PARAM_VPU_PROGRAM],
           features & TPU_REG_FEATURES_XLU_MASK ? ", cross-lane pipe" : "",
           features & TPU_REG_FEATURES_EUP_MASK ? ", transcendental pipe" : "");
  else
    printf("  VPU      none\n");
  printf("  DMA      %u channels, HBM port %u bytes a cycle%s\n", (unsigned)p[TPU_PARAM_DMA_CHANNELS],
         (unsigned)p[TPU_PARAM_HBM_PORT_BYTES], p[TPU_PARAM_HBM_SHARED_BUS] ? " shared" : " and direction");
  printf("  memory   HBM %u KiB, VMEM %u KiB in %u banks, SMEM %u KiB, ACC %u KiB, RAM %u KiB\n",
         (unsigned)(p[TPU_PARAM_HBM_BYTES] / 1024), (unsigned)(p[TPU_PARAM_VMEM_BYTES] / 1024),
         (unsigned)p[TPU_PARAM_VMEM_BANKS], (unsigned)(p[TPU_PARAM_SMEM_BYTES] / 1024),
         (unsigned)(p[TPU_PARAM_ACC_ROWS] * p[TPU_PARAM_DIM] * 4 / 1024),
         (unsigned)(p[TPU_PARAM_RAM_BYTES] / 1024));
  printf("  queues   7 of %u commands, %u semaphores, %u waits a command\n",
         (unsigned)p[TPU_PARAM_QUEUE_DEPTH], (unsigned)p[TPU_PARAM_SEMAPHORES], (unsigned)p[TPU_PARAM_WAITS]);
}
