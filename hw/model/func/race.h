/* SPDX-License-Identifier: MIT */
/*
 * The race detector: happens-before over the agents of the device.
 *
 * Agents are the seven queues and the scalar core. Every command of a queue has a number, and a vector clock
 * that says which commands of every agent were complete, by force of waits and signals and not by luck of
 * timing, when it started. A command is compared with every one that its clock does not cover: if their
 * ranges meet and one of them writes, the result depends on an order that nothing gives, and both are named.
 * The scalar core's accesses between two of its releases (GO, SEM_SIGNAL) count as one command of its own.
 *
 * What orders (docs/contract.md, sections 2 and 12):
 *
 * - GO: a command comes after all that the scalar core knew of. A wait: after the signals without which it
 *   could not hold. A signal: after all commands of its queue up to the one that signals.
 * - A queue starts and completes in order. MXU, VPU and SYNC act as if one command ended before the next
 *   began; in a DMA channel writes land in order, but a later command's reads may pass them.
 * - The scalar core learns by reading SEM_VALUE, STATUS and INTR_STATE and by SEM_TAKE.
 *
 * Asynchronous copies, which signal their bytes within a grid step, are held to the programming model, which
 * promises less than a channel does: only a wait for the bytes orders what follows, on their own channel,
 * too, and behind a later command whose end was waited for.
 *
 * A wait is taken at its word: it acquires the signals that it needs, not those that happened to have come.
 * So a wait for one ticket too few is found in the first run, with every timing. Where several agents signal
 * one semaphore, a signal counts only if the others' together are not enough.
 *
 * The rule against deadlock is checked as well, when a command is queued: what it waits for must come from
 * commands queued before it or from signals that the scalar core has made. All signals are known at GO, so a
 * sum for each semaphore is enough. Who breaks the rule may still run to the end, if the queues happen to
 * have room for the command that brings the signal, so it is reported whether or not it hangs.
 *
 * Files: race.c follows commands and clocks, race_sem.c the semaphores, race_sets.c the ranges; race_report.c
 * says what was found. All is plain data of fixed size: the oldest commands are forgotten (RACE_COMMANDS of
 * an agent, RACE_SETS ranges of all), so that a race with one long ago may be missed; nothing is reported
 * that is not one.
 */
#ifndef TPU_FUNC_RACE_H
#define TPU_FUNC_RACE_H

#include "model.h"

#define RACE_SCALAR   QUEUES
#define RACE_AGENTS   (QUEUES + 1)
#define RACE_COMMANDS 1024u             /* of an agent; a power of two */
#define RACE_SETS     16384u            /* a power of two */
#define RACE_MOST     2048u             /* ranges of one command; further ones are not looked at */
#define RACE_HISTORY  64u               /* signals of an agent to a semaphore; a power of two */
#define RACE_REPORTS  16u               /* that are written out in a kernel; the others are counted */
#define RACE_WORDS    8192u             /* 64 bytes each: the largest on-chip memory */
#define RACE_SPACES   4u                /* with marks: those of enum tpu_space */
#define RACE_PROGRAM  FUNC_RACE_PROGRAM /* the vector program memory, as a space of sets */
#define RACE_NESTING  8u                /* pipelines in each other's bodies whose steps are told apart */
#define RACE_NO_STEP  UINT32_MAX
#define RACE_SLOTS                                                                                           \
  32u /* of asynchronous copies: those of one semaphore and channel share one; a power of two */
#define RACE_COPIES 64u /* of a slot that are looked at; a power of two */

/*
 * Commands 1 .. at[a] of agent a are complete, but for asynchronous copies: of those copies 1 .. copies[s] of
 * slot s are.
 */
struct race_clock {
  uint64_t at[RACE_AGENTS];
  uint64_t copies[RACE_SLOTS];
};

/*
 * A set of bytes: count[2] x count[1] x count[0] rows of `row` bytes, strides ascending and positive; unused
 * dimensions have count 1. ACC as bytes, like struct tpu_access.
 */
struct race_set {
  uint8_t space;
  bool write;
  uint8_t dims;
  uint32_t low, row;
  uint32_t count[3], stride[3];
};

struct race_command {
  uint64_t number;
  uint64_t order;          /* of its GO, over all queues */
  struct race_clock clock; /* at GO, from start on at its start, from completion on at its completion */
  uint64_t first;          /* of its sets, counted over all sets ever made */
  uint32_t sets;
  uint32_t tag;
  uint32_t step, inner; /* grid steps of the kernel and of a pipeline in its body; RACE_NO_STEP: none */
  uint64_t go, start;   /* cycles */
  bool copy;            /* an asynchronous one */
  uint32_t sem;         /* that counts its bytes */
  uint64_t copy_number; /* in its slot, from its start on */
};

struct race_agent {
  /* Scalar core: `issued` is the open command (epoch), `completed` the last closed one. */
  uint64_t issued, started, completed;
  struct race_clock last_start, last_done;    /* of the newest such command; scalar core: what it knows */
  struct race_command command[RACE_COMMANDS]; /* number modulo RACE_COMMANDS */
};

/* Signals of one agent to one semaphore. */
struct race_signals {
  uint64_t sum; /* of all so far */
  uint64_t count;
  uint64_t copy_number; /* of the newest copy among them */
  struct {
    uint64_t before, number; /* the agent's sum before it; the command that signalled */
    uint64_t copy_number;    /* of the newest copy whose bytes were among these and earlier ones */
  } entry[RACE_HISTORY];
};

struct race_sem {
  uint64_t base;     /* value when it was set */
  uint64_t consumed; /* since then */
  uint32_t agents;   /* bit mask: who has signalled it or will */
  uint32_t consumer; /* agent + 1; 0 = none yet */
  uint32_t consumer_tag;
  uint64_t promised; /* units that were signalled or will be, by what is queued */
  uint64_t claimed;  /* units that were consumed or will be, likewise */
  uint64_t short_of; /* not 0: somebody waits for so many promised units, and there are fewer */
  uint32_t short_queue, short_tag;
  struct race_signals from[RACE_AGENTS];
};

/* Bytes that the running vector program touched, a bit each, in [low, high) words. */
struct race_marks {
  uint32_t low, high;
  uint64_t word[RACE_WORDS];
};

/* Whom a report was about. */
struct race_pair {
  uint32_t agent, other;
  uint64_t number, other_number;
};

struct race {
  struct race_pair last; /* reported */
  uint64_t orders;       /* commands queued so far */
  uint64_t reported;     /* reports of this kernel, those that were only counted included */
  uint32_t step, inner;  /* grid steps that the scalar core marked, as in struct race_command */
  uint32_t depth;        /* marked steps that have begun and not ended */
  uint32_t open[RACE_NESTING];
  struct race_agent agent[RACE_AGENTS];
  struct race_clock done, blocked; /* what INTR_STATE.done and .blocked tell */
  struct race_sem sem[SEMAPHORES];
  struct race_marks marks[RACE_SPACES][2];
  uint64_t copies[RACE_SLOTS]; /* started so far */
  struct {
    uint32_t queue;
    uint64_t number;
  } copy[RACE_SLOTS][RACE_COPIES]; /* copy_number modulo RACE_COPIES */
  uint64_t made;                   /* sets so far */
  struct race_set set[RACE_SETS];
};

/* ---- race.c ---- */
struct race_command *race_command(struct race *r, uint32_t agent, uint64_t number);
/* The slot of copies of a channel whose bytes a semaphore counts. */
uint32_t race_slot(uint32_t sem, uint32_t queue);
void race_join(struct race_clock *clock, const struct race_clock *other);
/* The clock of a completed command, or of the oldest one that is remembered behind it. */
const struct race_clock *race_done(struct race *r, uint32_t agent, uint64_t number);
/* Closes the scalar core's open command if it has done anything, or if `always`. */
void race_release_scalar(struct race *r, bool always);

/* ---- race_sem.c ---- */
/* A wait for this amount, by a command with this place in the order of GOs, holds. */
void race_acquire(struct tpu_model *m, uint32_t sem, uint32_t amount, uint64_t order,
                  struct race_clock *clock);
/* The scalar core reads the value. */
void race_acquire_value(struct tpu_model *m, uint32_t sem, struct race_clock *clock);
/* An agent takes or will take from a COUNT semaphore: reported if it is another one than before. */
void race_consumer(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag);
/* A command that is queued will wait for this amount: reported if nothing queued so far can bring it. */
void race_claim(struct tpu_model *m, uint32_t sem, uint32_t amount, bool consumes, uint32_t queue,
                uint32_t tag);
/* A queued command, or now the scalar core, signals: reported if somebody waits against the rule for it. */
void race_promise(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t agent, uint32_t tag);
void race_sem_reset(struct tpu_model *m, uint32_t sem, uint32_t value);
/* Another kernel begins: semaphores may get other consumers. */
void race_forget_consumers(struct race *r);

/* ---- race_sets.c ---- */
/* Adds an access to the command whose sets are the newest. */
void race_add(struct race *r, struct race_command *c, const struct tpu_access *access);
/* A range of a space that has no accesses: RACE_PROGRAM. */
void race_add_range(struct race *r, struct race_command *c, uint32_t space, bool write, uint32_t low,
                    uint32_t bytes);
void race_add_dma(const struct tpu_model *m, struct race *r, struct race_command *c,
                  const struct dma_job *job);
/* The same by way of marks, for the many small accesses of a vector program. */
void race_mark(struct race *r, const struct tpu_access *access);
void race_add_marks(struct race *r, struct race_command *c);
void race_clear_marks(struct race *r);
/* A byte that both touch and one of them writes. */
struct race_meeting {
  const struct race_set *mine, *other;
  uint32_t address;
};
/* `passing`: both of one DMA channel, where only `mine` reading what `other` writes counts. */
bool race_meet(const struct race *r, const struct race_command *mine, const struct race_command *other,
               bool passing, struct race_meeting *meeting);

/* ---- race_report.c ---- */
void race_report(struct tpu_model *m, uint32_t agent, const struct race_command *mine, uint32_t other_agent,
                 const struct race_command *other, const struct race_meeting *meeting);
void race_report_consumers(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag);
/* A wait of a command being queued that lacks `missing` units, and what signals them too late. */
void race_report_wait(struct tpu_model *m, uint32_t sem, uint32_t amount, uint64_t missing, uint32_t queue,
                      uint32_t tag);
void race_report_late_signal(struct tpu_model *m, uint32_t sem, uint32_t agent, uint32_t tag);
/* A kernel begins or ends, or the device is reset: how many reports were not written out. */
void race_report_rest(struct tpu_model *m);

#endif
