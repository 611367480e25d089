/* SPDX-License-Identifier: MIT */
/* What the tests of the race detector share: blocks, commands, a model that detects. */
#ifndef RACE_TEST_H
#define RACE_TEST_H

#include "func_test.h"

enum { BLOCK = 4096, SLOT0 = 0, SLOT1 = BLOCK, SLOT2 = 2 * BLOCK, HBM0 = 0x10000, HBM1 = 0x20000 };
enum { TOKEN = 12, GATE = 13 }; /* COUNT semaphores */

extern bool race_detects; /* the model has race detection */

/* Waits for tickets of queues, two at most (amount 0: no wait), and signals the own ticket. */
struct host_head head(uint32_t own, uint32_t queue, uint32_t ticket, uint32_t queue2, uint32_t ticket2);
void copy_rows(struct host *h, uint32_t queue, uint32_t tag, const struct host_head *head, uint32_t src_space,
               uint32_t src, uint32_t dst_space, uint32_t dst, uint32_t row, uint32_t rows, int32_t pitch);
void copy(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t src_space,
          uint32_t src, uint32_t dst_space, uint32_t dst);
/* HBM to VMEM, and back. */
void fetch(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t hbm, uint32_t vmem);
void write_back(struct host *h, uint32_t queue, uint32_t tag, struct host_head head, uint32_t vmem,
                uint32_t hbm);
/* One tile: reads dim x dim bytes at a and at b, writes dim rows of ACC. */
void dot(struct host *h, uint32_t tag, struct host_head head, uint32_t a, uint32_t b, uint32_t c);

void open_detecting(struct host *h);
/* Races and deadlocks; device errors are not expected in these tests. */
unsigned reports(const struct host *h);
/* A check whose failure shows the log. */
void check_log(const struct host *h, bool ok, const char *name, const char *what);

/* test_race_report.c: what reports say, and when they are not written. */
void test_race_reports(void);

#endif
