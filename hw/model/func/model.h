/* SPDX-License-Identifier: MIT */
/*
 * Inside of the functional model.
 *
 * Time is event driven: nothing happens between events, so that a cycle costs nothing. Every source of events
 * keeps the cycle of its next one in the state (a queue that looks at its head, a DMA port that becomes free,
 * a command that completes, ...); advance() jumps to the least of them and runs that cycle:
 *
 *     engines move data, commands complete (signals are collected)      dma.c, engines.c
 *     heads of queues start (takes are collected)                       queues.c
 *     semaphores change, errors, interrupt line, trace                  queues.c, errors.c, time.c
 *
 * struct state is plain data without pointers: saving is copying it and the memories.
 */
#ifndef TPU_FUNC_MODEL_H
#define TPU_FUNC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "compute.h"
#include "hang_report.h"
#include "timing.h"
#include "tpu_configs.h"
#include "tpu_memmap.h"
#include "tpu_model.h"
#include "tpu_regs.h"

#define QUEUES       7u
#define SEMAPHORES   64u
#define WAITS        4u
#define SIGNALS      2u
#define MAX_DEPTH    16u /* slots of a queue */
#define MAX_FLYING   4u  /* started commands of a queue */
#define CHANNELS     4u
#define BLOCK_WORDS  (TPU_QUEUE_STRIDE / 4)
#define CYCLE_EVENTS 160u /* trace records of one cycle */
#define NEVER        UINT64_MAX

#define FIELD_OF(word, field) (((word)&field##_MASK) >> field##_SHIFT)

/* ---- commands ---------------------------------------------------------------------------------------------
 */

struct command {
  uint32_t tag, waits, signals;
  uint32_t wait_amount[WAITS];
  uint32_t signal_amount[SIGNALS];
  uint32_t args[TPU_VPU_ARG_WORDS]; /* the longest */
};

/* A DMA command: its fields, and how far its reader has walked. */
struct dma_job {
  uint32_t src_space, dst_space;
  bool fill;
  uint32_t src, dst, row_bytes, valid_row, pattern;
  uint32_t count[3], valid[3];
  int32_t src_stride[3], dst_stride[3];
  uint32_t gather;       /* TPU_DMA_MODE.gather: 0 none, 1 the source's, 2 the destination's dimension 0 */
  uint32_t list, listed; /* with gather: SMEM address and length of the list of indices */
  uint32_t bound;        /* every index is below it */
  uint32_t index[3], offset; /* next byte to move: row and byte offset in the row */
  bool walked;               /* the reader is through */
  uint32_t segments;         /* issued, not yet landed */
  uint64_t checked_at;       /* its start checks are through */
  uint64_t ready_at;         /* the reader may begin */
  uint64_t bytes;            /* that the whole command writes */
};

/* A piece of a row that moves at once, contiguous on both sides. */
struct dma_segment {
  bool fill, error;
  uint8_t channel, slot; /* its command: place in the queue's flying[] */
  uint32_t src, dst, bytes, phase;
  uint32_t src_beats, move_cycles;
  uint64_t first_data, last_data; /* cycles in which the source delivers */
  uint8_t data[DMA_BURST_BYTES];
};

/* Moves segments in the order of their issue, a beat a cycle. One serves HBM sources, one the others. */
enum { MOVER_HBM, MOVER_LOCAL, MOVERS };

#define MOVER_SEGMENTS 32u /* at least dma_outstanding and DMA_LOCAL_SEGMENTS */

struct dma_mover {
  bool moving;         /* the oldest segment is being moved */
  uint64_t begin, end; /* while moving: first cycle, cycle after the last */
  uint32_t head, count;
  struct dma_segment segment[MOVER_SEGMENTS];
};

struct dma {
  uint64_t next;              /* cycle of the next event */
  uint64_t issue_at;          /* the walker can issue again */
  uint64_t read_free[MOVERS]; /* the source's data path is free again */
  uint64_t write_free;        /* the HBM write port is */
  uint32_t reserved_beats;    /* of the return buffer */
  uint32_t last_channel;      /* that issued, for round robin */
  struct dma_mover mover[MOVERS];
};

/* A started command. */
struct flying {
  struct command command;
  struct tpu_fault fault; /* found by the start checks */
  uint64_t done_at;       /* completes in this cycle; NEVER while unknown */
  uint64_t start;
  uint64_t bytes, work;
  struct dma_job dma;
  struct tpu_mxu_command mxu;
};

struct queue {
  struct command slot[MAX_DEPTH];
  uint32_t head, count;
  struct flying flying[MAX_FLYING];
  uint32_t fly_head, fly_count;
  uint64_t look_at;  /* the head is looked at in this cycle */
  uint64_t front_at; /* not CYCLE: the effect of the oldest started command lands in this cycle */
  bool waiting;      /* the head was looked at and a wait did not hold */
  bool halted;
};

struct mxu {
  uint64_t take_at;    /* the loader can take the next command */
  uint64_t stream_end; /* last operand row so far */
  uint64_t tile[2];    /* when the last tile and the one before it began to stream */
  uint32_t dtype;      /* of the last command */
};

struct vpu {
  bool running;
  uint64_t begin, next; /* first instruction, next slice */
  struct tpu_vpu machine;
};

/* ---- state ------------------------------------------------------------------------------------------------
 */

enum counter {
  COUNTER_BUSY,
  COUNTER_WAIT,
  COUNTER_STARVED,
  COUNTER_STALL,
  COUNTER_COMMANDS,
  COUNTER_BYTES,
  COUNTER_WORK,
  COUNTERS
};

struct error_state {
  bool valid;
  uint32_t code, queue, tag, detail0, detail1;
};

struct state {
  uint64_t cycle; /* number of cycles run; accesses take place in this one */
  bool dead;
  bool irq, blocked; /* at the end of the last cycle */

  uint32_t stage[QUEUES][BLOCK_WORDS];
  uint32_t intr_state, intr_enable, intr_space; /* intr_state without the level `space` */
  uint32_t trace_mark, scratch, hbm_latency, cycle_high;
  struct error_state error;
  uint32_t program_low; /* low word of the instruction being written */
  bool aborting;
  uint64_t abort_at;

  uint32_t sem[SEMAPHORES];
  uint64_t sem_ticket; /* bit i: semaphore i is a TICKET */

  struct queue queue[QUEUES];
  struct dma dma;
  struct mxu mxu;
  struct vpu vpu;

  uint64_t counter[QUEUES][COUNTERS], latched[QUEUES][COUNTERS];
  uint64_t counted; /* counters are up to date to this cycle */
  uint64_t random;
  uint64_t late_since; /* LATE: last cycle in which something happened */
  struct tpu_hang_log hang;
};

/* What the semaphores will change by at the end of the cycle being run. */
struct sem_delta {
  uint64_t touched, wakes; /* bit masks: changed, and changed by more than a start that consumes */
  uint64_t add[SEMAPHORES], take[SEMAPHORES];
  uint32_t queue[SEMAPHORES], tag[SEMAPHORES]; /* the first signaller */
};

struct tpu_model {
  const struct tpu_config *config;
  struct tpu_model_host host;
  enum tpu_timing timing;
  uint32_t seed, reset_latency;

  struct tpu_memories memory;
  uint64_t *program;
  struct state state;

  struct sem_delta delta;                /* empty between cycles */
  tpu_trace_record events[CYCLE_EVENTS]; /* of the cycle being run */
  uint32_t event_count;

  struct race *race; /* the race detector, plain data like struct state; NULL: off */

  tpu_trace_record *ring;
  uint32_t ring_size, ring_head, ring_count;
  bool trace_on;
};

/* ---- errors.c ---------------------------------------------------------------------------------------------
 */

/* Sets and logs the first error; later ones are dropped. Halts nothing. */
void func_error(struct tpu_model *m, uint32_t code, uint32_t queue, uint32_t tag, uint32_t detail0,
                uint32_t detail1);
/* A command whose result depends on an order that the contract does not give. */
void func_unpredictable(struct tpu_model *m, uint32_t queue, uint32_t tag, const char *what);
/* The model found itself inconsistent: it is dead from now on. */
void func_bug(struct tpu_model *m, const char *what);
/* A record of the cycle being run. */
void func_event(struct tpu_model *m, uint32_t event, uint32_t queue, uint32_t tag, uint32_t arg);
/* End of the cycle: its records in the contract's order into the ring and the hang log. */
void func_flush_events(struct tpu_model *m);

/* ---- queues.c ---------------------------------------------------------------------------------------------
 */

void func_go(struct tpu_model *m, uint32_t queue, uint32_t tag);
/* The configuration has what the queue is for. */
bool func_unit_present(const struct tpu_config *config, uint32_t queue);
uint32_t func_free_slots(const struct tpu_model *m, uint32_t queue);
void func_sem_signal(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t queue, uint32_t tag);
void func_sem_take(struct tpu_model *m, uint32_t sem, uint32_t amount);
bool func_is_ticket(const struct tpu_model *m, uint32_t sem);
/* Phases of a cycle. */
void func_start_heads(struct tpu_model *m);
void func_apply_semaphores(struct tpu_model *m);
/* The oldest started command of a queue is complete, or failed with `fault`. */
void func_complete(struct tpu_model *m, uint32_t queue);
void func_fail(struct tpu_model *m, uint32_t queue, const struct tpu_fault *fault);
/* The head of the queue is to be looked at in cycle `at`, if there is one. */
void func_look(struct tpu_model *m, uint32_t queue, uint64_t at);

static inline struct flying *func_front(struct queue *q) {
  return &q->flying[q->fly_head];
}

static inline struct flying *func_flying(struct queue *q, uint32_t distance) {
  return &q->flying[(q->fly_head + distance) % MAX_FLYING];
}

/* ---- engines.c --------------------------------------------------------------------------------------------
 */

/* Can the engine take a command in this cycle? If not because of time alone, *at is when. */
bool func_engine_ready(const struct tpu_model *m, uint32_t queue, uint64_t *at);
/* The queue's newest flying command starts now. */
void func_engine_start(struct tpu_model *m, uint32_t queue, struct flying *f);
/* Another flying command became the queue's oldest, or there is none. */
void func_engine_front(struct tpu_model *m, uint32_t queue);
/* Everything that engines do in this cycle. */
void func_run_engines(struct tpu_model *m);
/* Cycle of the next event of an engine, but for the movement of DMA data (state.dma.next). */
uint64_t func_engines_next(const struct tpu_model *m);
/* LATE (else nothing): effects land because someone waits for this semaphore, for this queue, or for
 * anything. */
void func_late_semaphore(struct tpu_model *m, uint32_t sem);
void func_late_queue(struct tpu_model *m, uint32_t queue);
void func_late_any(struct tpu_model *m);
/* LATE: the same for everything that heads of queues wait for; called between cycles. */
void func_late_heads(struct tpu_model *m);

/* ---- dma.c ------------------------------------------------------------------------------------------------
 */

/* MODE.gather: which side's dimension 0 is by the list. */
enum { DMA_BY_STRIDE, DMA_GATHER, DMA_SCATTER };
/* Index i0 of the list of a job whose checks it has passed. */
uint32_t func_dma_index(const struct tpu_model *m, const struct dma_job *job, uint32_t i0);
struct dma_job func_dma_decode(const uint32_t *args);
bool func_dma_check(const struct tpu_model *m, const uint32_t *args, const struct dma_job *job,
                    struct tpu_fault *fault);
/* Start, and one cycle, of the annotated timing. */
void func_dma_start(struct tpu_model *m, struct flying *f);
void func_dma_run(struct tpu_model *m);
/* Ends everything for an abort; bursts on the bus finish. Returns the cycle in which the last one ends. */
uint64_t func_dma_drain(struct tpu_model *m);
/* All other timings: moves up to `limit` segments at once. True: through, or failed with *fault. */
bool func_dma_instant(struct tpu_model *m, struct dma_job *job, uint32_t limit, struct tpu_fault *fault);

/* ---- accesses.c -------------------------------------------------------------------------------------------
 */

/*
 * Reports the ranges that a started DMA or MXU command reads and writes (a vector program reports its own
 * while it runs). Nothing for a command that fails its start checks.
 */
void func_accesses(const struct tpu_model *m, uint32_t queue, const struct flying *f, tpu_access_fn *access,
                   void *opaque);
/* Dimension 0 of this side goes by the list. */
bool func_dma_by_list(const struct dma_job *job, bool write);
/* A started DMA command would overwrite some of its own source, as far as a bounded search finds. */
bool func_dma_overlaps(const struct tpu_model *m, const struct flying *f);

/* ---- race.c, race_sem.c: called if m->race is there
 * --------------------------------------------------------
 */

size_t func_race_bytes(void);
void func_race_init(struct race *race);
void func_race_abort(struct tpu_model *m);
/* The device is reset, after an abort if it is a soft reset: a new run begins. */
void func_race_reset(struct tpu_model *m);
/* A command was queued; starts, before its waits take anything; its ranges are known (DMA and MXU). */
void func_race_go(struct tpu_model *m, uint32_t queue, const struct command *command);
void func_race_start(struct tpu_model *m, uint32_t queue, const struct command *command);
void func_race_ranges(struct tpu_model *m, uint32_t queue, const struct flying *f);
/* The running vector program: a tpu_access_fn whose opaque is the detector; and its end. */
void func_race_vector_access(void *race, const struct tpu_access *access);
void func_race_vector_end(struct tpu_model *m);
/* The oldest started command of a queue is complete; then its signals. */
void func_race_complete(struct tpu_model *m, uint32_t queue, bool interrupts);
void func_race_signal(struct tpu_model *m, uint32_t sem, uint64_t amount, uint32_t agent);
/* The scalar core: accesses to a memory window or, as another space, to the program memory, and registers
 * from which it learns. */
#define FUNC_RACE_PROGRAM 4u
void func_race_window(struct tpu_model *m, uint32_t space, uint32_t address, unsigned size, bool write);
void func_race_status(struct tpu_model *m, uint32_t status);
void func_race_intr_state(struct tpu_model *m, uint32_t value);
void func_race_sem_read(struct tpu_model *m, uint32_t sem);
void func_race_sem_take(struct tpu_model *m, uint32_t sem, uint32_t amount);
void func_race_sem_set(struct tpu_model *m, uint32_t sem, uint32_t value);
void func_race_mark(struct tpu_model *m, uint32_t value);
/* INTR_STATE.blocked is set. */
void func_race_blocked(struct tpu_model *m);

/* ---- mmio.c -----------------------------------------------------------------------------------------------
 */

uint32_t func_status(const struct tpu_model *m);
uint32_t func_intr_state(const struct tpu_model *m);
void func_reset_registers(struct tpu_model *m);
tpu_status func_mmio_read(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t *value);
tpu_status func_mmio_write(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t value);

/* ---- time.c -----------------------------------------------------------------------------------------------
 */

bool func_idle(const struct tpu_model *m);
bool func_blocked(const struct tpu_model *m);
uint64_t func_next_event(const struct tpu_model *m);
/* Brings the counters to the present cycle; called before anything that they depend on changes. */
void func_count(struct tpu_model *m);
/* Runs n cycles, for accesses. */
void func_run_cycles(struct tpu_model *m, uint64_t n);
void func_abort(struct tpu_model *m, bool reset_registers);
tpu_status func_advance(struct tpu_model *m, uint64_t max_cycles, uint64_t *ran, tpu_stop *reason);
tpu_status func_skip(struct tpu_model *m, uint64_t n);

#endif
