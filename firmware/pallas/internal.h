/* SPDX-License-Identifier: MIT */
/*
 * What the files of the runtime share. Three ideas carry it:
 *
 * Tickets. Semaphore q is queue q's ticket counter (TICKET mode): every command of a queue adds one
 * when it completes, so "command number t of queue q is done" is a wait {q, t}. A dependency costs one
 * wait and no semaphore of its own, whatever the number of buffers.
 *
 * Buffers. A pl_buffer is one physical piece of memory with its order: who wrote it last, and the last
 * reader of each queue. A command that reads waits for the writer, one that writes waits for the writer
 * and the readers; then it enters itself.
 *
 * Staged words. A queue's staging registers keep their values, and `owner` says whose they are. An
 * operand or an operation that still owns them writes only what changed. The hot path of a pipelined
 * fetch is: source, destination, one wait amount, GO.
 */
#ifndef PALLAS_INTERNAL_H
#define PALLAS_INTERNAL_H

#include "pallas.h"

#include "tpu_ctrl.h"
#include "tpu_memmap.h"
#include "tpu_queue.h"
#include "tpu_sem.h"

#include <stdarg.h>
#include <stdio.h>

#define PL_LIKELY(x)   __builtin_expect(!!(x), 1)
#define PL_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PL_COLD        __attribute__((cold, noinline))

enum {
  PL_QUEUES = 7,
  PL_FIRST_SEMAPHORE = PL_QUEUES, /* those below are the tickets */
  PL_NOBODY = 0xff,
  PL_WRITE_BACK_QUEUE = TPU_QUEUE_DMA3,
  PL_INPUT_QUEUES = 3, /* channels 0..2 */
  /* Tickets compare right within 2^31 commands. Plans and resident arrays keep old ones, so that all of them
     are dropped every 2^29 commands of a queue; a call is far shorter. */
  PL_EPOCH_SHIFT = 29,
  PL_ALIGN = 64, /* of buffers in VMEM and SMEM; a row of 16 lanes of 32 bits */
};

/*
 * Tags: kind in bits 31:28, operand or scratch in 27:24. Below, for fetches and write-backs, their number
 * (from 0, of that operand in the call); for the others the grid step.
 */
enum pl_tag_kind {
  PL_TAG_FETCH = 1,
  PL_TAG_WRITE_BACK = 2,
  PL_TAG_DOT = 3,
  PL_TAG_VECTOR = 4,
  PL_TAG_COPY = 5,
  PL_TAG_SYNC = 6,
  PL_TAG_PREFETCH = 7, /* as a fetch, of a scalar prefetch argument */
  PL_TAG_LOAD = 8,     /* as a fetch, of an output's block */
};
#define PL_TAG(kind, operand) ((uint32_t)(kind) << 28 | (uint32_t)(operand) << 24)
#define PL_TAG_NUMBER         0xffffffu

/* No step has this number. */
#define PL_NO_STEP 0xffffffffu

/* Users of a buffer that follow one another, over all buffers of an operand or scratch. */
struct pl_group {
  uint32_t readers;          /* bit q: queue q has read one of them, in this call or an earlier one */
  struct pl_operand *filler; /* the input they belong to: its staged wait covers `readers` */
};

struct pl_buffer {
  uint32_t address;
  struct pl_buffer *next; /* the ring of an operand's or accumulator's buffers */
  uint32_t first;         /* inputs: step with which the run begins that it holds */
  struct pl_group *group;
  uint32_t writer; /* queue, PL_NOBODY */
  uint32_t write_ticket;
  uint32_t read_ticket[PL_QUEUES]; /* valid for the readers of the group; an old one does no harm */
};

enum pl_view_flags {
  PL_VIEW_READ_ONLY = 1, /* an input */
  PL_VIEW_WHOLE = 2,     /* all of its buffer: may be renamed (ACC scratch) */
  PL_VIEW_POOLED = 4,    /* made by pl_at() and its like, or of a scope: not to be remembered */
};

struct pl_dot_record;

/* What a ref refers to. Strides in bytes (rows in ACC, whose last dimension has none). */
struct pl_view {
  uint32_t generation; /* first: pl_view_head */
  struct pl_buffer *buffer;
  uint32_t offset; /* from the buffer's address */
  union {
    struct {
      uint8_t space, dtype, rank, flags;
    };
    uint32_t nature; /* all four */
  };
  union {
    struct {
      uint8_t index;       /* operand or scratch number, for tags and messages */
      uint8_t kind;        /* enum pl_view_kind, for messages */
      uint16_t semaphores; /* first hardware semaphore (PL_SEMAPHORE) */
    };
    uint32_t origin; /* all three */
  };
  uint32_t step, scope; /* in which pl_at() made it */
  uint32_t pitch;       /* as pl_array.pitch */
  int32_t shape[PL_MAX_RANK];
  int32_t stride[PL_MAX_RANK];
  struct pl_dot_record *dot; /* staged form of the last dot into it */
  uint32_t form;             /* what vector functions know it by (vfn_launch.c); 0: not looked at */
};

enum pl_view_kind { PL_VIEW_INPUT, PL_VIEW_OUTPUT, PL_VIEW_SCRATCH, PL_VIEW_SCOPED, PL_VIEW_PREFETCH };

/*
 * What pl_context.in_body is in a body. With these bits a dot's mode is compared, so that the record of the
 * last one fits only in a body, whether that one accumulated or not; the other bit is of no mode, and
 * reserved in the device.
 */
enum { PL_IN_BODY = PL_ACCUMULATE | 0x40 };

/* A dot whose shapes were checked, and what it keeps staged. */
struct pl_dot_record {
  const struct pl_view *x, *y;
  uint32_t mode;  /* enum pl_dot_mode with the bits of PL_IN_BODY */
  uint32_t dtype; /* in the MODE register */
  uint32_t tag;
};

struct pl_queue {
  uintptr_t base;    /* staging block */
  uint32_t issued;   /* ticket of the last command */
  uint32_t limit;    /* of `issued`, up to which there is room and nothing special to look at */
  const void *owner; /* whose words are staged */
  uint32_t number;
  uint32_t epoch; /* `issued` when plans were last forgotten */
  bool fenced;    /* the next command waits for SYNC ticket `fence` */
  uint32_t fence;
  uint32_t observed[PL_QUEUES]; /* tickets its next command can rely on */
};

/* Dependencies of one command. */
struct pl_deps {
  uint32_t mask;
  uint32_t ticket[PL_QUEUES];
};

/* Waits of the command that is being described: waits.h. */
struct pl_waits {
  uint32_t count;
  uint32_t queue[PL_QUEUES], ticket[PL_QUEUES];
};

static inline bool pl_reached(uint32_t value, uint32_t ticket) {
  return (int32_t)(value - ticket) >= 0;
}

static inline void pl_depend(struct pl_deps *deps, uint32_t queue, uint32_t ticket) {
  if (!(deps->mask & 1u << queue) || !pl_reached(deps->ticket[queue], ticket))
    deps->ticket[queue] = ticket;
  deps->mask |= 1u << queue;
}

/* A position of the grid from which operands with the same lead are evaluated. */
struct pl_cursor {
  pl_grid grid;
  uint32_t left; /* positions from this one on */
  uint32_t lead; /* steps ahead of the body */
};

/* One dimension of a blocked operand. An index is a block's number, or an element (ELEMENT, BOUNDED). */
struct pl_dim {
  int32_t last;    /* index evaluated last */
  uint32_t full;   /* indices below are of blocks that lie wholly inside */
  uint32_t stride; /* from index to index: bytes, or rows in ACC */
  uint32_t blocks; /* all indices, those of ragged blocks included */
  int32_t block, extent;
  int32_t size;    /* BOUNDED, INDIRECT: evaluated last */
  uint32_t memory; /* stride of an element in the array */
  uint32_t chip;   /* and in the buffer */
  uint8_t kind;    /* enum pl_dimension_kind */
};

/* The indices of an INDIRECT dimension; their number is the dimension's size. */
struct pl_list {
  struct pl_buffer *buffer; /* in SMEM */
  uint32_t address;
};

/* Where a block goes, kept from its evaluation to its write-back. */
struct pl_latch {
  struct pl_latch *next;
  uint32_t first; /* step with which the run begins */
  uint32_t address;
  bool ragged;                /* not whole, or by a list: what writes it back looks at it */
  bool cut;                   /* if ragged: not whole */
  bool load;                  /* the block is to be loaded */
  int32_t valid[PL_MAX_RANK]; /* if ragged, or kept for comparison: elements inside the array */
  /* of operands that are loaded or aliased */
  int32_t start[PL_MAX_RANK]; /* first element */
  struct pl_buffer *buffer;
  struct pl_latch *after; /* the load waits until this run's write-back is queued */
  struct pl_list list;
};

enum pl_operand_kind {
  PL_OPERAND_BLOCKED, /* HBM, moved by DMA */
  PL_OPERAND_DIRECT,  /* in its space already: a view */
  PL_OPERAND_HBM,     /* the body gets the whole array in HBM */
};

/* A DMA between a block in memory and a buffer on the chip: the words that do not change. */
struct pl_transfer {
  uint8_t memory, chip; /* enum tpu_space */
  bool listed;          /* level 0 is the INDIRECT dimension */
  uint32_t row_bytes, count01, count2;
  uint32_t memory_stride[3], chip_stride[3];
};

enum { PL_SPLIT = 0x80 }; /* in `prefetched` of operands whose blocks may take several commands */

struct pl_operand {
  /* what a step touches */
  struct pl_view view; /* view.buffer is the step's buffer */
  pl_map map;          /* NULL: never moves */
  struct pl_cursor *cursor;
  struct pl_queue *queue;
  struct pl_operand *next;             /* in its list of pl_plan */
  uint32_t address;                    /* of the block evaluated last, without the edge */
  uint32_t tag;                        /* of the next copy; counts them */
  struct pl_buffer *fill;              /* next buffer to fetch into */
  struct pl_latch *latch, *latch_fill; /* outputs: of the current run, of the run evaluated last */
  uint32_t wait_offset;                /* inputs: of the staged wait's ticket in a pl_buffer */
  uint32_t wait_queue;                 /* outputs: whose ticket the staged wait is; PL_NOBODY */
  pl_index index[PL_MAX_RANK];
  struct pl_dim dim[PL_MAX_RANK];
  /* set up once a plan or a call */
  uint32_t base;        /* address of block 0 */
  bool output, pending; /* pending: followed, and the next step has another block */
  bool general;         /* has dimensions of other kinds than BLOCKED and SQUEEZED */
  bool listed;          /* one of them is INDIRECT */
  bool unfilled;        /* PL_FILL_UNSPECIFIED */
  bool empty;           /* a scalar prefetch argument without elements */
  bool inout, revisit;  /* outputs that are loaded: loaded.c */
  bool lookahead;
  bool window;              /* its buffers are the caller's */
  uint8_t prefetched;       /* that many of them are filled */
  uint32_t skip;            /* fetches that are still left out therefore, and PL_SPLIT */
  bool keeps_place;         /* latches have start, valid and buffer */
  bool split;               /* a block may take several commands: transfer.c */
  bool careful;             /* general or split: latches have `valid` */
  uint32_t free;            /* lookahead: buffers that hold no run */
  struct pl_operand *alias; /* the output's input, the input's output */
  uint32_t fetched;         /* aliased inputs: ticket of the last fetch */
  uint32_t flushed;         /* loaded: ticket of the last write-back */
  uint32_t load_tag;        /* of the next load; counts them */
  struct pl_queue *load_queue;
  struct pl_list list; /* listed: evaluated last */
  uint32_t pattern;    /* pad_value as the DMA writes it */
  uint8_t kind, rank, space, dtype;
  struct pl_group group;
  struct pl_transfer transfer;
  struct pl_buffer *buffer;
  struct pl_latch *latches;
  uint32_t buffers, number; /* number: in args or results */
  uint32_t slot_bytes;
  struct pl_buffer *resident; /* a scalar prefetch argument on the chip: the memory it is copied from */
  uint32_t hbm_bytes;         /* from the array's first element to behind its last; 0 if it is not in HBM */
  bool moves;                 /* has a map and more than one block */
  uint32_t *visited;          /* outputs: bitmap of blocks begun, or a table, or NULL */
  bool table;                 /* too many blocks for a bitmap */
  uint32_t visited_words;
  uint32_t highest; /* outputs without bitmap: highest block begun, plus one */
};

struct pl_scratch {
  struct pl_view view;
  struct pl_group group;
  struct pl_buffer *buffer;
  uint32_t buffers, slot_bytes; /* ACC: rows */
};

/* What the plan of an inner pipeline depends on beside its kernel and shapes. */
struct pl_nesting {
  int32_t stride[PL_MAX_OPERANDS][PL_MAX_RANK]; /* of inputs, then outputs */
  uint32_t base[PL_SEMAPHORE + 1];              /* where its memory begins in each space */
  uint32_t windows;                             /* bit i: the buffers of operand i are the caller's */
};

struct pl_plan {
  struct pl_plan *next;
  const uint32_t *key;
  const struct pl_nesting *nesting; /* of an inner pipeline */
  bool aliases;                     /* has outputs with alias */
  uint8_t *end;                     /* of its memory in the arena */
  uint32_t first_semaphore;
  uint32_t inputs, outputs, scratches, prefetches;
  struct pl_operand *operand;  /* inputs, then outputs */
  struct pl_operand *prefetch; /* scalar prefetch arguments: whole arrays that never move */
  struct pl_scratch *scratch;
  struct pl_cursor *cursor;
  uint32_t cursors;
  /* Operands that move, by what a step does with them; each list goes on in pl_operand.next. */
  struct pl_operand *fetched;  /* inputs with two buffers or more */
  struct pl_operand *written;  /* outputs in HBM */
  struct pl_operand *followed; /* inputs with one buffer, operands used in place, maps that can only say 0 */
  struct pl_operand *ahead;    /* inputs with lookahead */
  struct pl_operand *loaded;   /* outputs that are read, too */
  bool plain;                  /* all of rank 2, BLOCKED, with the same lead, fetched or written */
  uint32_t steps;
  pl_grid grid;
  uint32_t copy_queue;         /* for copies of the body: a channel that no input uses, if there is one */
  uint32_t version;            /* pl_allocation_version with which it was seen to fit */
  uint32_t used[PL_SEMAPHORE]; /* end of its memory in each space: bytes, rows in ACC */
  uint32_t semaphores;         /* from first_semaphore on */
};

enum {
  PL_ARENA_BYTES = 14 * 1024, /* of plans, at most */
  PL_MESSAGE_BYTES = 2560,
};

/* What a pipeline in a body puts aside; on the stack. */
struct pl_frame {
  struct pl_frame *outer;
  struct pl_context_head head;
  struct pl_plan *plan;
  const pl_kernel *kernel;
  uint32_t step, scope;
  bool in_prologue;
  uint32_t body_used[PL_SEMAPHORE + 1];
};

struct pl_context {
  struct pl_context_head head; /* tp points here */
  pl_status status;            /* sticky error of the running call */
  uint32_t step;
  uint32_t generation;
  uintptr_t mark; /* address of TRACE_MARK */
  struct pl_queue queue[PL_QUEUES];
  struct pl_plan *plan; /* running, or NULL */
  const pl_kernel *kernel;
  uint8_t in_body;  /* PL_IN_BODY; 0, of a running plan: maps run, which may only read scalars */
  bool in_prologue; /* there is no step yet, or no more */
  bool bad_map;     /* a map called an operation */
  const struct pl_operand *mapping; /* whose map runs, if that is known */
  struct pl_frame *frame;           /* of the pipeline around the running one; NULL: it is pl_call()'s */
  uint32_t scope, scopes;           /* number of the running pipeline, and the last one given */
  const struct pl_plan *last_inner; /* the last inner pipeline's, while nothing else used that memory */
  tpu_ctrl ctrl;
  tpu_sem sem;
  tpu_counters counters;
  tpu_params params;
  bool ready;
  bool fenced; /* the scalar core's next access to a memory waits for SYNC ticket `fence`: pl_wait() */
  uint32_t fence;
  /* pl_predict_calls(): what happens in place of pl_call(); NULL: nothing else */
  pl_status (*instead)(const pl_kernel *kernel, pl_arrays args, pl_arrays results);
  bool aged; /* plans may hold tickets that are too old */
  uint32_t dim, lanes, waits;
  uint32_t done[PL_QUEUES]; /* tickets the scalar core has seen reached */
  struct pl_waits waiting;
  uint32_t next_view; /* bytes from the first one of the pool */
  uint32_t view_generation;
  uint32_t view_step; /* in which the pool of views began last */
  uint32_t sight; /* another one: operands and scratch may be other views than before, or the call failed */
  uint32_t view_floor; /* pooled views of this generation and before are of earlier calls */
  /* End of what is in use in each space while a body runs: bytes, rows in ACC, semaphores after
     PL_FIRST_SEMAPHORE. What is allocated in a body (scopes, inner pipelines) comes behind, and is given back
     in reverse order. */
  uint32_t body_used[PL_SEMAPHORE + 1];
  uint32_t calls;
  struct {
    uint64_t cycles;
    uint32_t instructions, setup, finish;
    bool cached;
    const struct pl_plan *plan, *inner; /* which have the numbers of copies */
  } stats;
};

extern struct pl_context pl_context;

/*
 * Also of the running kernel, and apart from its context because they are large: what the linker can reach
 * from gp as a whole costs one instruction less wherever it is used.
 */
struct pl_semaphore_state {
  uint32_t started, waited; /* bytes, modulo 2^32 */
  uint32_t queue, tag;      /* of the last copy started; PL_NOBODY: none */
  uint32_t signal_step;
  uint32_t use; /* another one in every call and every scope: what a copy's handle was made for */
};
extern struct pl_semaphore_state pl_semaphores[64];

static inline struct pl_context *pl_self(void) {
  return (struct pl_context *)pl_running;
}

/* ---- error.c ---- */
/* The vector function whose body is running to be recorded, or NULL; for messages. */
extern const char *pl_recording;
/*
 * Formats of messages are printf's %d %u %x %s %lu and its flags and widths, and, so that no caller need
 * make texts, %p and a letter: of a pl_view its name (%pV), dtype (%pT), space (%pM), shape (%pS) or
 * "f32 [8, 16] in VMEM" (%pD); of a pl_array its shape (%pH), its space (%pN) or all three (%pA); a pl_shape
 * (%pE).
 */
void pl_format(void (*out)(const char *text), const char *format, va_list args);
/* Makes this error the sticky one, unless there is one; returns the sticky one. */
PL_COLD pl_status pl_fail(pl_status status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Starts the message with kernel, step and operand ("kernel matmul, step 3, input 1: "). */
PL_COLD pl_status pl_fail_operand(pl_status status, const struct pl_operand *op, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#ifdef TPU_HOST
extern const char *pl_message_told; /* for tests: the format of the latest error that was told */
#endif
/* Appends to the message. */
PL_COLD void pl_message_add(const char *format, ...) __attribute__((format(printf, 1, 2)));
PL_COLD void pl_message_clear(void);
/* Errors while this is on change the status and not the message. Returns what it was. */
PL_COLD bool pl_message_keep(bool keep);
/* Whether an argument is NULL that must not be; a sticky error then. */
PL_COLD bool pl_is_null(const void *pointer, const char *who);
/* How an entry begins that is not for bodies; false with a sticky error. */
bool pl_outside(const char *who);
const char *pl_space_name(unsigned space);
const char *pl_view_name(const struct pl_view *view, char text[24]);
/* Returns the length. */
size_t pl_shape_text(const int32_t *shape, uint32_t rank, char text[64]);

/* ---- device.c ---- */
pl_status pl_init(void);
/* After a failed call: abort, tickets back in step. */
pl_status pl_recover(void);
/* Turns the device's error registers into a sticky error. */
PL_COLD void pl_device_error(void);

/* ---- order.c ---- */
/* Makes room in a queue. False: the next command must go the slow way (a fence), or the call failed. */
bool pl_room(struct pl_context *c, struct pl_queue *q);
/* Queues what is staged with these dependencies; false if the call has failed. The new ticket is issued. */
bool pl_issue(struct pl_context *c, struct pl_queue *q, const struct pl_deps *deps, uint32_t signals,
              uint32_t tag);
/* The same with gathered waits (waits.h has it inline); the ticket counts even if the call has failed, for
 * buffers have it already.
 */
void pl_wait_to_read(struct pl_context *c, uint32_t number, const struct pl_buffer *buffer);
void pl_wait_to_write(struct pl_context *c, uint32_t number, const struct pl_buffer *buffer);
PL_COLD void pl_go_slow(struct pl_context *c, struct pl_queue *q, uint32_t tag);
void pl_read_deps(struct pl_deps *deps, const struct pl_buffer *buffer, uint32_t queue);
void pl_write_deps(struct pl_deps *deps, const struct pl_buffer *buffer, uint32_t queue);
/* Waits until ticket t of queue r is reached. */
bool pl_wait_ticket(struct pl_context *c, uint32_t queue, uint32_t ticket);
/* Waits until every command is complete. */
bool pl_drain(struct pl_context *c);
/* Queues a SYNC command that may signal (amount not 0) and may take an amount (wait_semaphore >= 0). */
bool pl_sync(struct pl_context *c, const struct pl_deps *deps, uint32_t signal_semaphore,
             uint32_t signal_amount, int wait_semaphore, uint32_t wait_amount);

static inline __attribute__((always_inline)) void pl_reads_with(struct pl_buffer *buffer, uint32_t queue,
                                                                uint32_t ticket) {
  struct pl_group *group = buffer->group;
  const uint32_t readers = group->readers;
  buffer->read_ticket[queue] = ticket;
  if (!(readers >> queue & 1)) {
    group->readers = readers | 1u << queue;
    if (group->filler != NULL && group->filler->queue->owner == group->filler)
      group->filler->queue->owner = NULL; /* its staged wait does not cover this reader */
  }
}

static inline void pl_has_read(struct pl_buffer *buffer, const struct pl_queue *q) {
  pl_reads_with(buffer, q->number, q->issued);
}

/* Queues whose staged words depend on who wrote last look again. */
static inline void pl_writes_with(struct pl_context *c, struct pl_buffer *buffer, uint32_t queue,
                                  uint32_t ticket) {
  if (buffer->writer != queue) {
    buffer->writer = queue;
    c->queue[TPU_QUEUE_MXU].owner = NULL;
  }
  buffer->write_ticket = ticket;
}

static inline void pl_has_written(struct pl_context *c, struct pl_buffer *buffer, const struct pl_queue *q) {
  pl_writes_with(c, buffer, q->number, q->issued);
}

/* ---- alloc.c ---- */
/* Free bytes (rows in ACC) from 0 on that plans may use in a space. */
uint32_t pl_plan_space(unsigned space);
extern uint32_t pl_allocation_version; /* another one: what it says may have changed */
struct pl_buffer *pl_resident_buffer(const pl_array *array);
/* Between calls: what was read and written is long done. */
void pl_residents_settle(void);
uint32_t pl_row_pitch(unsigned space, unsigned dtype, int32_t columns);
pl_status pl_check_shape(const pl_shape *shape, unsigned dtype);
/* Bytes of HBM that the data file takes (data.c). */
extern uint32_t pl_data_end;

/* ---- scoped.c ---- */
/* What a scratch item is, no memory yet; who and index for messages. size: bytes, rows, semaphores. */
pl_status pl_scratch_view(struct pl_view *view, const char *who, unsigned index, const pl_scratch_spec *spec,
                          uint32_t *size);
/* What is free for allocations in a body. */
uint32_t pl_body_room(const struct pl_context *c, unsigned space);
/* A buffer of memory that may have been used before in this call: ordered behind all of it. */
void pl_fresh_buffer(const struct pl_context *c, struct pl_buffer *buffer, struct pl_group *group,
                     uint32_t address);

/* ---- dot_queue.c ---- */
/* pl_dot_refs() when its record does not fit. */
void pl_dot_anew(struct pl_view *acc, uint32_t acc_generation, struct pl_view *x, uint32_t x_generation,
                 struct pl_view *y, uint32_t y_generation, unsigned mode);

/* ---- dot_f32.c ---- */
/* A checked product with at least one f32 operand; see pl_dot(). */
PL_COLD void pl_dot_f32(pl_ref acc, pl_ref x, pl_ref y, unsigned mode);

/* ---- temporary.c ---- */
struct pl_temporary {
  struct pl_view view;
  struct pl_buffer buffer;
  struct pl_group group;
};
/* Whether rows begin at multiples of `row` bytes in VMEM and their elements are neighbours; true elsewhere.
 */
bool pl_rows_aligned(const struct pl_view *view, uint32_t row);
/* Uninitialised aligned memory of a view's shape, until the caller sets body_used[PL_VMEM] back; or NULL. */
struct pl_view *pl_temporary_make(struct pl_context *c, struct pl_temporary *t, const struct pl_view *view,
                                  const char *who);
/* The view if it is aligned, or a temporary with its contents; NULL with a sticky error. */
struct pl_view *pl_aligned(struct pl_context *c, struct pl_view *view, uint32_t row, struct pl_temporary *t,
                           const char *who);

/* ---- debug.c ---- */
extern unsigned pl_debug_flags; /* enum pl_debug_flags */
/* With PL_DEBUG_POISON: fills the buffer of a view that is all of it. */
void pl_poison(struct pl_context *c, struct pl_view *view);
/* Its pattern for a DMA. */
uint32_t pl_poison_of(unsigned dtype);
/* Fills scratch, before step 0. */
void pl_poison_scratch(struct pl_context *c, struct pl_plan *plan);
/* Fills the output blocks whose first step this is. */
void pl_poison_outputs(struct pl_context *c, struct pl_plan *plan, uint32_t step);

/* Prints as pl_debug_print() does, without a prefix. */
void pl_debug_write(const char *text);
void pl_debug_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- scalar.c ---- */
/* Waits until whoever writes there is done, for reads by the scalar core; false if that is not possible. */
bool pl_scalars_ready(struct pl_context *c, const struct pl_view *view, const char *who);
/* Where an element is, in bytes from the view's first one; false with a sticky error if it has no such one.
 */
bool pl_element(const struct pl_view *view, const int32_t *index, unsigned n, const char *who,
                uint32_t *offset);
/* One element; the indices are right, and the element is ready. */
int32_t pl_read_element(const struct pl_view *view, const int32_t *index);

/* ---- overlap.c ---- */
/* Whether views of memory (not ACC) have an element in common. */
bool pl_share_elements(const struct pl_view *a, const struct pl_view *b);
/* Whether the arrays of operands do; false if one of them is not in HBM. */
PL_COLD bool pl_share_memory(const struct pl_operand *a, const struct pl_operand *b);

/* ---- copy.c ---- */
/* Commands of these queues start when SYNC has come to where it is now; all: scalar accesses, too. */
void pl_fence(struct pl_context *c, uint32_t queues);
void pl_fence_all(struct pl_context *c);
/* The end of a scope or kernel: is this semaphore zero, and was every copy waited for? */
pl_status pl_check_semaphore(struct pl_context *c, uint32_t semaphore, const char *what);
/* The one hardware semaphore of a ref; -1 with a sticky error if it is none or several. */
int pl_one_semaphore(struct pl_context *c, pl_ref ref);
/* SIGNALS of a copy that counts its bytes there. */
static inline uint32_t pl_signal_bytes(uint32_t semaphore) {
  return (TPU_Q_SIGNALS_EN0_MASK | TPU_Q_SIGNALS_BYTES0_MASK | semaphore) << TPU_Q_SIGNALS_SEM1_SHIFT;
}
/* An asynchronous copy was queued: its semaphore will get the bytes. */
void pl_copy_started(const struct pl_context *c, const struct pl_queue *q, const struct pl_view *dst,
                     const pl_copy_handle *copy);
/* Queues a copy in program order between views that were checked. */
bool pl_queue_copy(struct pl_context *c, struct pl_view *src, struct pl_view *dst);

/* ---- vfn_whole.c ---- */
/* pl_fill() of a view, in a body or not. */
void pl_fill_view(struct pl_context *c, struct pl_view *view, uint32_t value);

/* ---- key.c ---- */
bool pl_key_matches(const uint32_t *key, const pl_kernel *kernel, pl_arrays args, pl_arrays results);
/* Writes the key, or with NULL only counts; returns its words. */
uint32_t pl_key_write(uint32_t *key, const pl_kernel *kernel, pl_arrays args, pl_arrays results);

/* ---- plan.c, operand.c, budget.c ---- */
pl_status pl_plan_find(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                       struct pl_plan **plan);
pl_status pl_plan_find_inner(struct pl_context *c, const pl_kernel *kernel, pl_arrays args, pl_arrays results,
                             const struct pl_nesting *nesting, struct pl_plan **plan);
/* Memory of the plan being made; NULL with a sticky error if there is no more. */
void *pl_arena_take(uint32_t bytes);
/* What the operand is, from its spec and array; no memory yet. stride: of a ref; NULL: the array's. */
pl_status pl_operand_plan(struct pl_operand *op, const pl_block_spec *spec, const pl_array *array,
                          const int32_t *stride, uint32_t steps);
/* A scalar prefetch argument: its number and view.kind are set. */
pl_status pl_prefetch_plan(struct pl_operand *op, const pl_array *array);
/* Connects an operand to the array of this call. */
pl_status pl_operand_bind(struct pl_operand *op, const pl_array *array);
/* Gives every operand and scratch its memory, or fails with the table of what was wanted. */
pl_status pl_plan_layout(struct pl_plan *plan);

/* ---- alias.c ---- */
/* Makes input number `input` the alias of an output; inputs: the arrays of all of them. */
pl_status pl_alias_plan(struct pl_plan *plan, struct pl_operand *out, unsigned input, const pl_array *array,
                        const pl_array *inputs);
/* Are the arrays of aliases the same ones? */
pl_status pl_alias_bind(const struct pl_plan *plan, const pl_array *inputs, const pl_array *outputs);

/* ---- call.c ---- */
/* Connects a plan to the arrays of this call and makes it the running one; and what ends it. */
pl_status pl_call_enter(struct pl_context *c, struct pl_plan *plan, pl_arrays args, pl_arrays results);
void pl_call_leave(struct pl_context *c);
/* Makes a plan's operands and scratch known to pl_input() and so on. */
void pl_enter(struct pl_context *c, struct pl_plan *plan);
/* Ends the refs of a plan. */
void pl_views_end(struct pl_plan *plan);

/* ---- pipeline.c ---- */
/* Runs all steps; what was queued may still be under way. */
void pl_pipeline_run(struct pl_context *c, struct pl_plan *plan);

/* ---- transfer.c ---- */
/* The slow ways of a fetch and of a write-back: any wait, any edge, words staged anew. */
bool pl_fetch_slow(struct pl_context *c, struct pl_operand *op);
bool pl_write_back_slow(struct pl_context *c, struct pl_operand *op, struct pl_latch *latch);
pl_status pl_transfer_plan(struct pl_operand *op, unsigned memory_space);
/* Elements of the block evaluated last that lie inside the array, or that a list names; true if that is not
   all of it. */
bool pl_valid_part(const struct pl_operand *op, int32_t valid[PL_MAX_RANK]);

/* ---- scalar.c ---- */
/* f32 bits to bf16 bits, nearest even; NaN stays NaN. */
uint16_t pl_bf16_bits(uint32_t bits);

/* ---- view.c ---- */
extern struct pl_dot_record pl_no_dot;
/* Whether a ref may be used now, in a body and while the call has not failed; the usual reasons for yes. */
static inline bool pl_usable(const struct pl_context *c, pl_ref ref) {
  const struct pl_view *v = ref.view;
  return v != NULL && ref.generation == v->generation &&
         (!(v->flags & PL_VIEW_POOLED) ||
          (v->step == c->step && v->scope == c->scope && (int32_t)(ref.generation - c->view_floor) > 0));
}
/* The view of a ref if it may be used now; else NULL and a sticky error. */
struct pl_view *pl_use(struct pl_context *c, pl_ref ref);
/* The same for what maps may do, too: with scalar prefetch arguments, in pipelines with refs around them. */
struct pl_view *pl_look(struct pl_context *c, pl_ref ref);
/* Whether operations are allowed here; false with a sticky error. */
bool pl_in_body(const char *who);
void pl_view_strides(struct pl_view *view);
/* pl_at_slices() without a hurry: any part, any error. */
PL_COLD pl_ref pl_at_any(pl_ref ref, const pl_slice *slices, unsigned n);

/* ---- part.c ---- */
/* The oldest view of the pool: its refs end here, which their generation shows. */
struct pl_view *pl_pooled_view(struct pl_context *c);

#endif
