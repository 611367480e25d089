/* SPDX-License-Identifier: MIT */
/* What a broken device and damaged data files say; the device's registers are faked. */
#include "suite.h"

#include "internal.h"

#include <string.h>

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static pl_array x, o;

static pl_status copy(void) {
  const pl_kernel copies = {.name = "copies", .body = copy_body, .in = {PL_WHOLE}, .out = {PL_WHOLE}};
  return pl_call(&copies, PL_ARGS(x), PL_RESULTS(o));
}

static void works(const char *after) {
  host_no_fakes();
  suite_ok(copy(), "broken: the next call works after %s", after);
}

/* ---- a device that is not as it should be, when the runtime starts ---- */

static uint32_t place_of(uint32_t parameter) {
  for (uint32_t i = 0; i < TPU_REG_PARAM_COUNT; i++)
    if (mmio_read32(PEPLOS_TPU_BASE + TPU_REG_PARAM_ID(i)) == parameter)
      return TPU_REG_PARAM_VALUE(i);
  return 0;
}

static void start_fails(uint32_t offset, uint32_t value, const char *name, const char *words) {
  pl_device_lost();
  host_fake(offset, value);
  suite_fails(copy(), PL_ERROR_DEVICE, name, words, NULL);
  works(name);
}

static void test_start(void) {
  const uint32_t semaphores = place_of(TPU_PARAM_SEMAPHORES);
  char words[64];
  snprintf(words, sizeof words, "ABI hash 00001234, built for %08x", TPU_ABI_HASH);
  start_fails(TPU_REG_ABI_HASH, 0x1234, "broken: a device of another ABI", words);
  start_fails(semaphores, 0, "broken: a device without semaphores", "the parameter ROM makes no sense");
  start_fails(semaphores, 3, "broken: a device of three semaphores", "no semaphore 3");
  start_fails(TPU_REG_STATUS, TPU_REG_STATUS_ABORTING_MASK, "broken: a reset without an end",
              "the reset does not end");
}

/* ---- errors that the device tells ---- */

static uint32_t error_code, error_queue, error_tag, detail[2];
static bool stuck;
static void broken_body(void) {
  pl_ref here = pl_scratch(0);
  for (unsigned q = TPU_QUEUE_VPU; !stuck && q <= TPU_QUEUE_SYNC; q++) /* as if what follows never ended */
    host_fake(TPU_REG_SEM_VALUE(q), pl_context.queue[q].issued);
  pl_fill(here, 1);
  if (stuck) {
    pl_error(PL_ERROR_CHECK, "given up");
    host_fake(TPU_REG_STATUS, TPU_REG_STATUS_ABORTING_MASK);
    return;
  }
  host_fake(TPU_REG_INTR_STATE, TPU_REG_INTR_STATE_ERROR_MASK);
  if (error_code != 0)
    host_fake(TPU_REG_ERROR, TPU_REG_ERROR_VALID_MASK | error_code << TPU_REG_ERROR_CODE_SHIFT |
                                 error_queue << TPU_REG_ERROR_QUEUE_SHIFT);
  host_fake(TPU_REG_ERROR_TAG, error_tag);
  host_fake(TPU_REG_ERROR_DETAIL0, detail[0]);
  host_fake(TPU_REG_ERROR_DETAIL1, detail[1]);
  (void)pl_get(here, 0, 0);
  host_no_fakes(); /* whatever comes of it: the device itself is well */
}

static void told(uint32_t code, uint32_t queue, uint32_t tag, uint32_t first, uint32_t second,
                 const char *name, const char *words, const char *more) {
  const pl_kernel kernel = {.name = "broken", .body = broken_body, .scratch = {PL_VMEM(PL_INT32, 8, 32)}};
  error_code = code;
  error_queue = queue;
  error_tag = tag;
  detail[0] = first;
  detail[1] = second;
  suite_fails(pl_call(&kernel, (pl_arrays){0}, (pl_arrays){0}), stuck ? PL_ERROR_CHECK : PL_ERROR_DEVICE,
              name, "kernel broken, step 0", words, more, NULL);
  works(name);
}

static void test_device(void) {
  told(0, 0, 0, 0, 0, "broken: an error that is none", "error interrupt without an error", NULL);
  told(TPU_ERROR_RANGE, TPU_QUEUE_MXU, 0x32000005, TPU_SPACE_VMEM << 8 | 1, 0x8000,
       "broken: an operand past the end",
       "device error RANGE on MXU, tag 32000005 (dot into operand 2, step 5)",
       ": operand 1 ends at 0x8000 of VMEM");
  told(TPU_ERROR_SEM_OVERFLOW, TPU_QUEUE_SYNC, 0x60000000, 9, 77, "broken: a semaphore that overflows",
       "device error SEM_OVERFLOW on SYNC", ": semaphore 9 keeps 77");
  told(TPU_ERROR_BAD_FIELD, TPU_QUEUE_DMA0, 0x10000003, 5, 6, "broken: a command that is none",
       "(fetch of input 0, step 3)", ": details 0x5 0x6");
  stuck = true;
  told(0, 0, 0, 0, 0, "broken: an abort without an end", "given up", "; and the abort does not end");
  stuck = false;
}

/* ---- data files (docs/data-format.md) ---- */

static uint32_t crc_of(const uint8_t *p, uint32_t n) {
  uint32_t crc = ~0u;
  for (; n > 0; n--, p++) {
    crc ^= *p;
    for (int bit = 0; bit < 8; bit++)
      crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
  }
  return ~crc;
}

enum {
  HEADER_COUNT = 12,
  HEADER_BYTES = 16,
  HEADER_CRC = 20,
  ENTRY = 64,
  ENTRY_RANK = ENTRY + 20,
  ENTRY_SHAPE = ENTRY + 24,
  ENTRY_OFFSET = ENTRY + 44,
  ENTRY_BYTES = ENTRY + 48,
  ENTRY_CRC = ENTRY + 52
};

static void word(uint32_t at, uint32_t value) {
  memcpy(host_hbm() + at, &value, 4);
}

/* A file of one array, "x", int32 [4]; then one word of it is changed, and its directory is still whole. */
static pl_status data_file(uint32_t at, uint32_t value) {
  uint8_t *hbm = host_hbm();
  memset(hbm, 0, 4096);
  memcpy(hbm, "PEPLDATA", 8);
  word(8, 1);
  word(HEADER_COUNT, 1);
  word(HEADER_BYTES, 144);
  memcpy(hbm + ENTRY, "x", 2);
  word(ENTRY + 16, PL_INT32);
  word(ENTRY_RANK, 1);
  word(ENTRY_SHAPE, 4);
  word(ENTRY_OFFSET, 128);
  word(ENTRY_BYTES, 16);
  word(ENTRY_CRC, crc_of(hbm + 128, 16));
  word(at, value);
  word(HEADER_CRC, crc_of(hbm, 128));
  return pl_data_open();
}

static void test_data(void) {
  pl_array a;
  char words[96];
  suite_ok(data_file(1024, 0), "broken: a data file");
  suite_ok(pl_data_find("x", &a), "broken: an array of it");
  suite_fails(pl_data_find("y", &a), PL_ERROR_DATA, "broken: an array that is not in the file",
              "data file: there is no array y; it has x", NULL);
  snprintf(words, sizeof words, "data file of 1 arrays and 100 bytes, HBM has %u",
           (unsigned)pl_context.params.value[TPU_PARAM_HBM_BYTES]);
  suite_fails(data_file(HEADER_BYTES, 100), PL_ERROR_DATA, "broken: a file shorter than its directory", words,
              NULL);
  suite_ok(data_file(ENTRY_RANK, 7), "broken: a file with a bad entry");
  suite_fails(pl_data_find("x", &a), PL_ERROR_DATA, "broken: an array of rank 7",
              "data file: array x has a bad directory entry", NULL);
  suite_ok(data_file(ENTRY_SHAPE, 3), "broken: a file with a wrong shape");
  suite_fails(pl_data_find("x", &a), PL_ERROR_DATA, "broken: an array of another shape",
              "data file: array x has 16 bytes, its shape 12", NULL);
  suite_ok(data_file(132, 0xff), "broken: a file with damaged contents");
  suite_fails(pl_data_find("x", &a), PL_ERROR_DATA, "broken: damaged contents",
              "data file: array x is damaged (CRC ", NULL);
  data_file(1024, 0);
  host_hbm()[ENTRY + 1] = 'z';
  suite_fails(pl_data_open(), PL_ERROR_DATA, "broken: a damaged directory",
              "data file: header or directory damaged (CRC ", NULL);
  pl_data_end = 0;
}

void suite_broken(void) {
  x = suite_array(PL_INT32, PL_SHAPE(8, 32));
  o = suite_array(PL_INT32, PL_SHAPE(8, 32));
  suite_fill(&x);
  test_start();
  test_device();
  check(host_logged() == 0, "broken: the model logged nothing");
  test_data();
}
