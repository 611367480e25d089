/* SPDX-License-Identifier: MIT */
/*
 * Random command streams without races, and what a model made of one.
 *
 * A stream is the scalar core's part of a program: commands for all queues, semaphore signals, accesses to
 * the memory windows. Memory is divided into regions; a command waits for every earlier one that touches its
 * regions in a conflicting way, as the contract demands it (within a DMA channel a read needs a wait for an
 * earlier write, writes land in order). Waits are tickets of the producers' queues or tokens that the
 * producer signals for this consumer alone. So every model and every timing must end with the same memories.
 */
#ifndef TESTS_FUZZ_STREAM_H
#define TESTS_FUZZ_STREAM_H

#include "../unit/check.h"
#include "host.h"
#include "tpu_configs.h"

#define QUEUES       7u
#define MAX_STEPS    128u
#define MAX_PROGRAMS 8u
#define MAX_READS    64u

/* Areas that streams use; everything in them is compared at the end. */
#define HBM_AREA      (100u * 1024)
#define VMEM_AREA     (96u * 1024)
#define SMEM_AREA     (16u * 1024)
#define ACC_ROWS_AREA 1024u

/* Lists of indices for gathers and scatters: two regions of SMEM that hold indices below LIST_INDICES and
 * nothing else. The first is never written, the second by copies out of the first. */
#define LIST_AT      (12u * 1024)
#define LIST_BYTES   2048u
#define LIST_INDICES 8u

enum step_kind { STEP_COMMAND, STEP_READ, STEP_WRITE };

struct poll {
  uint32_t queue, ticket; /* the scalar core waits until this queue has completed so many commands */
};

struct step {
  enum step_kind kind;
  /* STEP_COMMAND */
  uint32_t queue, tag;
  struct host_head head;
  struct host_dma dma;
  struct host_mxu mxu;
  uint32_t vpu[TPU_VPU_ARG_WORDS];
  struct {
    uint32_t sem, amount; /* the scalar core signals this; amount 0: nothing */
    uint32_t delay;       /* so many steps later, or earlier if it would block */
  } scalar;
  bool fails; /* its start checks fail; the last step */
  /* STEP_READ, STEP_WRITE: an access to a window */
  uint32_t offset, size, value;
  uint32_t polls;
  struct poll poll[QUEUES];
};

struct stream {
  uint64_t seed;
  uint32_t ticket_start[QUEUES]; /* semaphore q is the ticket of queue q */
  uint32_t steps;
  struct step step[MAX_STEPS];
  uint32_t list[LIST_BYTES / 4]; /* what both list regions hold at first */
  uint32_t program_words;
  uint64_t program[TPU_REG_VPROG_COUNT / 2];
};

/*
 * Makes a stream for a configuration. `kinds` has a bit a queue that may be used. With `forget` the commands
 * wait for nothing: a stream full of races, to see that they are noticed.
 */
void make_stream(struct stream *s, const struct tpu_config *config, uint64_t seed, uint32_t kinds,
                 bool forget);
void print_stream(const struct stream *s);

/*
 * A random vector program and the arguments of a command that runs it: reads inside the given VMEM and ACC
 * ranges, writes inside others. Appends the program at *length and stores its entry in args.
 */
struct vpu_ranges {
  uint32_t read_vmem, write_vmem, vmem_bytes;
  uint32_t read_acc, write_acc, acc_rows;
  uint32_t smem, smem_bytes;
};
void make_vector_command(struct check_random *r, const struct tpu_config *config,
                         const struct vpu_ranges *ranges, uint64_t *program, uint32_t *length,
                         uint32_t *args);

/* ---- running ----------------------------------------------------------------------------------------------
 */

struct outcome {
  bool finished; /* idle, or blocked behind the command that fails */
  uint8_t hbm[HBM_AREA], vmem[VMEM_AREA], smem[SMEM_AREA];
  uint32_t acc[ACC_ROWS_AREA * 16];
  uint32_t sem[64];
  struct host_error error;
  uint64_t counter[QUEUES][3]; /* COMMANDS, BYTES, WORK */
  uint32_t read[MAX_READS], reads;
  uint64_t order[QUEUES][3]; /* hashes over starts, ends and signals of the queue, each in its order */
  uint64_t cycles;
};

void run_stream(struct host *h, const struct tpu_config *config, const struct stream *s, struct outcome *o);

#endif
