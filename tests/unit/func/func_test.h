/* SPDX-License-Identifier: MIT */
/*
 * What the files of this test share. Every test drives a model through the ABI alone and must hold on every
 * model and every timing: results, never cycle counts.
 */
#ifndef TESTS_UNIT_FUNC_TEST_H
#define TESTS_UNIT_FUNC_TEST_H

#include "../check.h"
#include "host.h"
#include "tpu_configs.h"

#define LIMIT 10000000u /* cycles after which a test gives up */

/* What the command line chose. */
struct options {
  const char *model;
  const char *config; /* NULL: the library's default */
  uint32_t timing;
  uint32_t seed;
  bool full; /* the whole DMA matrix */
};
extern struct options options;

/* A fresh model; the program ends if there is none. `trace_records` may be 0. */
void open_model(struct host *h, uint32_t trace_records);
/* Ends a test: fails it if a call of the model failed or the model logged a MODEL_BUG. */
void close_model(struct host *h, const char *test);

/* The configuration that the model says it has, from the generated table. */
const struct tpu_config *config_of(struct host *h);

/* Checks the first error and clears it by an abort. */
bool expect_error(struct host *h, const char *what, struct host_error want);
bool expect_no_error(struct host *h, const char *what);
bool same_error(struct host_error a, struct host_error b);

/* Writes are posted: a read sees all of them, other views of the device do after a read. Lets a read pass. */
void settle(struct host *h);

/* Free slots of a queue, and a semaphore's value. */
uint32_t free_slots(struct host *h, uint32_t queue);
uint32_t sem_value(struct host *h, uint32_t sem);

/*
 * Groups of tests, one a file. check.h counts a file by itself, so that a group ends with add_results(); main
 * fails a group that adds nothing.
 */
void add_results(const struct check_state *state);
void test_registers(void);
void test_semaphores(void);
void test_queues(void);
void test_dma(void);
void test_errors(void);
void test_life(void);
void test_hang(void);
void test_race(void);

#endif
