/* SPDX-License-Identifier: MIT */
/* The reader of trace files: work, waits and their causes, and where an engine's cycles went. */
#include "../check.h"
#include "trace.h"

#include "tpu_model.h"
#include "tpu_regs.h"

#include <string.h>

static FILE *out;
static const char *path;

static void head(uint32_t abi_hash) {
  const uint32_t word[6] = {1, 32, 16, abi_hash, 125000000, 0};
  out = fopen(path, "wb");
  fwrite("PEPLTRC", 1, 8, out);
  fwrite(word, sizeof word, 1, out);
}

static void record(uint64_t cycle, unsigned queue, unsigned event, uint32_t tag, uint32_t arg) {
  const tpu_trace_record r = {.head = cycle | (uint64_t)event << TPU_TRACE_EVENT_SHIFT |
                                      (uint64_t)queue << TPU_TRACE_QUEUE_SHIFT,
                              .tag = tag,
                              .arg = arg};
  fwrite(&r, sizeof r, 1, out);
}

/*
 * Call 1100 .. 2000. DMA0 fetches 1100 .. 1199 and 1210 .. 1499; MXU: [1200, 1300), waits for DMA from 1250
 * on, [1500, 1600) overlapped by [1580, 1700), nothing, [1750, 1800) after a wait of 1720 .. 1750 for the
 * scalar core.
 */
static void story(void) {
  record(1000, TPU_QUEUE_DMA0, TPU_EVENT_START, 7, 0);
  record(1050, TPU_QUEUE_DMA0, TPU_EVENT_END, 7, 640);
  record(1100, TPU_QUEUE_DMA0, TPU_EVENT_START, 1, 0);
  record(1199, TPU_QUEUE_DMA0, TPU_EVENT_END, 1, 4096);
  record(1199, TPU_QUEUE_DMA0, TPU_EVENT_SIGNAL, 1, TPU_QUEUE_DMA0);
  record(1200, TPU_QUEUE_MXU, TPU_EVENT_START, 0x10, 0);
  record(1210, TPU_QUEUE_DMA0, TPU_EVENT_START, 2, 0);
  record(1250, TPU_QUEUE_MXU, TPU_EVENT_WAIT, 0x11, TPU_QUEUE_DMA0);
  record(1299, TPU_QUEUE_MXU, TPU_EVENT_END, 0x10, 0);
  record(1499, TPU_QUEUE_DMA0, TPU_EVENT_END, 2, 1000);
  record(1499, TPU_QUEUE_DMA0, TPU_EVENT_SIGNAL, 2, TPU_QUEUE_DMA0);
  record(1500, TPU_QUEUE_MXU, TPU_EVENT_START, 0x11, 0);
  record(1580, TPU_QUEUE_MXU, TPU_EVENT_START, 0x12, 0);
  record(1599, TPU_QUEUE_MXU, TPU_EVENT_END, 0x11, 0);
  record(1699, TPU_QUEUE_MXU, TPU_EVENT_END, 0x12, 0);
  record(1720, TPU_QUEUE_MXU, TPU_EVENT_WAIT, 0x13, 20);
  record(1750, TPU_QUEUE_SCALAR, TPU_EVENT_SIGNAL, 0, 20);
  record(1750, TPU_QUEUE_MXU, TPU_EVENT_START, 0x13, 0);
  record(1799, TPU_QUEUE_MXU, TPU_EVENT_END, 0x13, 0);
}

static void test_account(void) {
  struct trace t;
  struct trace_account a;
  head(TPU_ABI_HASH);
  story();
  fclose(out);
  check(trace_load(&t, path) == NULL, "a good file is read");
  check(trace_account_for(&t, TPU_QUEUE_MXU, 1100, 2000, &a), "the MXU worked");
  check(a.filling == 100, "filling: 1100 .. 1200 (%u)", (unsigned)a.filling);
  check(a.busy == 100 + 200 + 50, "busy: 100, then two that overlap, 200, then 50 (%u)", (unsigned)a.busy);
  check(a.waiting_dma == 200, "waiting for DMA: 1300 .. 1500, not while it was busy (%u)",
        (unsigned)a.waiting_dma);
  check(a.waiting_other == 30, "waiting for the scalar core: 1720 .. 1750 (%u)", (unsigned)a.waiting_other);
  check(a.no_command == 20, "no command: 1700 .. 1720 (%u)", (unsigned)a.no_command);
  check(a.draining == 200, "draining: 1800 .. 2000 (%u)", (unsigned)a.draining);
  check(!trace_account_for(&t, TPU_QUEUE_VPU, 1100, 2000, &a), "the VPU did not");
  check(trace_account_for(&t, TPU_QUEUE_MXU, 1550, 1760, &a) && a.filling == 0 && a.draining == 0 &&
            a.busy == 160 && a.waiting_other == 30 && a.no_command == 20 && a.waiting_dma == 0,
        "a span that cuts commands counts what lies inside");
  char text[4096] = "";
  FILE *memory = fmemopen(text, sizeof text, "w");
  trace_write_summary(&t, memory, 1100, 2000);
  fclose(memory);
  check(strstr(text, "MXU: filling 11.1 %, busy 38.9 %, waiting for DMA 22.2 %, for others 3.3 %, no command "
                     "2.2 %, draining 22.2 %") != NULL,
        "the summary says it:\n%s", text);
  check(strstr(text, "DMA0       43.3%     0.0%          2           5096") != NULL,
        "commands and bytes are those of the span");
  trace_free(&t);
}

static void refused(const char *what, const char *word) {
  struct trace t;
  fclose(out);
  const char *wrong = trace_load(&t, path);
  check(wrong != NULL && strstr(wrong, word) != NULL, "%s is refused: %s", what, wrong ? wrong : "(read)");
  trace_free(&t);
}

static void test_bad_files(void) {
  out = fopen(path, "wb");
  refused("an empty file", "not a trace file");
  head(TPU_ABI_HASH ^ 1);
  refused("another register description", "register description");
  head(TPU_ABI_HASH);
  story();
  fwrite("half", 1, 4, out);
  refused("half a record", "middle of a record");
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: test_trace FILE (it is written)\n");
    return 2;
  }
  path = argv[1];
  test_account();
  test_bad_files();
  return check_result("trace");
}
