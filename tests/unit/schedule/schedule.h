/* SPDX-License-Identifier: MIT */
/*
 * The pipeline schedule, proved: random pipelines run through the runtime's own scheduler on a model of the
 * device, against a small model of what a pipeline must do (golden.c), which knows nothing of how the runtime
 * does it. Rules are those of the programming model: which block is fetched and written back how often, at
 * the start of which step each copy is queued, when a map is evaluated, what the body sees, what is in HBM at
 * the end, and that nothing is left over.
 */
#ifndef TESTS_UNIT_SCHEDULE_H
#define TESTS_UNIT_SCHEDULE_H

#include "../check.h"
#include "../pallas/host.h"

#include "pallas.h"

enum {
  MAX_STEPS = 12,
  MAX_INPUTS = 3,
  MAX_OUTPUTS = 2,
  MAX_OPERANDS = MAX_INPUTS + MAX_OUTPUTS,
  MAX_RANK = 3,
  MAX_ACTIONS = 4,
  MAX_BLOCK = 64,  /* elements of a block */
  MAX_ARRAY = 4096 /* elements of an array */
};

/* An operand's blocks, by number: row-major over the blocks of its array. */
struct operand {
  bool output;
  bool whole;     /* no block spec: the whole array, which is one block */
  bool smem;      /* blocks in SMEM */
  bool lookahead; /* inputs */
  bool steered;   /* inputs: the map adds what the operand's cell in a scalar prefetch argument holds */
  bool inout, revisit_any; /* outputs */
  uint8_t alias;           /* outputs: input + 1 whose array and table it shares; 0: none */
  bool owned;              /* of a pipeline in a body: its buffers are scratch of the kernel around it */
  uint8_t buffers;         /* 1..5 */
  int32_t shape[MAX_RANK]; /* of the array; not a multiple of the block as a rule */
  int32_t block[MAX_STEPS];
};

/* What a body does in a step, in this order. */
enum action_kind {
  COPY_DMA, /* output = another operand */
  COPY_VPU,
  ADD_VPU, /* output += another operand */
  DOT_MXU, /* the matrix unit multiplies an operand's bytes, rows by rows, into ACC; odd values: and the body
              looks */
  DOT_AGAIN, /* the same product as the last time, of an operand's bytes and a matrix that the body keeps
                (run.c) */
  GET,       /* the scalar core reads an element of an operand */
  PUT,       /* and writes one of an output */
  STEER,     /* writes an input's cell, which its map reads for a later step */
};

struct action {
  enum action_kind kind;
  uint8_t operand, other; /* other: what a copy or an addition reads */
  uint32_t element;       /* of the block, row-major */
  int32_t value;
};

struct pipeline {
  uint64_t seed;
  unsigned nested;   /* how often it runs in one body, by pl_emit_pipeline(); 0: it is a call */
  int32_t extent[3]; /* grid; their product is `steps` */
  unsigned grid_rank;
  int32_t steps; /* 0: a run-time extent that is 0 */
  unsigned rank;
  int32_t block_shape[MAX_RANK];
  unsigned inputs, outputs; /* operands: inputs first */
  struct operand operand[MAX_OPERANDS];
  int32_t cell[MAX_INPUTS]; /* contents of the scalar prefetch argument before step 0 */
  unsigned actions[MAX_STEPS];
  struct action action[MAX_STEPS][MAX_ACTIONS];
};

static inline unsigned operands_of(const struct pipeline *p) {
  return p->inputs + p->outputs;
}
static inline uint32_t block_elements(const struct pipeline *p) {
  uint32_t n = 1;
  for (unsigned d = 0; d < p->rank; d++)
    n *= (uint32_t)p->block_shape[d];
  return n;
}
static inline uint32_t array_elements(const struct pipeline *p, const struct operand *op) {
  uint32_t n = 1;
  for (unsigned d = 0; d < p->rank; d++)
    n *= (uint32_t)op->shape[d];
  return n;
}
/* A block as the matrix unit sees it: rows of bytes. */
static inline int32_t row_elements(const struct pipeline *p) {
  return p->block_shape[p->rank - 1];
}
static inline int32_t block_rows(const struct pipeline *p) {
  return (int32_t)block_elements(p) / row_elements(p);
}
enum { MAX_DOT_ROWS = 16 };
/* What a DOT_AGAIN does besides, as bits of its value. */
enum {
  DOT_ACCUMULATES = 1,
  DOT_CHANGES = 2,    /* before, the scalar core changes a word of the matrix */
  DOT_REPEATS = 4,    /* of the bytes of the last time, not copied again */
  DOT_COPIES_OUT = 8, /* behind it, the vector unit copies the result */
  DOT_LOOKS = 16      /* and the scalar core reads an element of the last copy */
};
/* In which of both operands the matrix is. */
static inline bool matrix_first(const struct pipeline *p) {
  return p->seed / 5 % 2 != 0;
}
/* Word i of that matrix before it is changed. */
static inline int32_t matrix_word(uint32_t i) {
  return (int32_t)(0x01ff0302u * (i + 1));
}
/* Blocks of an array along a dimension, and in all. */
static inline int32_t blocks_along(const struct pipeline *p, const struct operand *op, unsigned d) {
  return pl_cdiv(op->shape[d], p->block_shape[d]);
}
static inline int32_t blocks_of(const struct pipeline *p, const struct operand *op) {
  int32_t n = 1;
  for (unsigned d = 0; d < p->rank; d++)
    n *= blocks_along(p, op, d);
  return n;
}

/* What pipelines may have; all of it as a rule. */
struct features {
  bool lookahead, inout, revisit_any, steered, nested;
};
extern struct features features;

/* Does the matrix unit read anything? */
static inline bool has_dots(const struct pipeline *p) {
  bool dots = false;
  for (int32_t s = 0; s < p->steps; s++)
    for (unsigned i = 0; i < p->actions[s]; i++)
      dots = dots || p->action[s][i].kind == DOT_MXU || p->action[s][i].kind == DOT_AGAIN;
  return dots;
}

/* Is there a scalar prefetch argument? */
static inline bool has_cells(const struct pipeline *p) {
  bool steered = false;
  for (unsigned o = 0; o < p->inputs; o++)
    steered = steered || p->operand[o].steered;
  return steered;
}

/* ---- gen.c ---- */
void make_pipeline(struct pipeline *p, uint64_t seed);
void print_pipeline(const struct pipeline *p);
/* The n-th way to make a pipeline smaller; false: there is no n-th one. *same: this one changes nothing. */
bool smaller_pipeline(const struct pipeline *p, unsigned n, struct pipeline *smaller, bool *same);

/* ---- golden.c ---- */

/* An element and whether anything defines it. */
struct element {
  int32_t value;
  bool defined;
};

enum { BEFORE = 0 }; /* a copy queued before the first body */

struct expected {
  unsigned fetches[MAX_OPERANDS], write_backs[MAX_OPERANDS];
  /*
   * By number of the copy: which block, and how many bodies have returned when it is queued. The fetches of
   * an operand that is read and written come in another order where one must wait, which does not stop the
   * next.
   */
  int32_t fetch_of[MAX_OPERANDS][MAX_STEPS], write_back_of[MAX_OPERANDS][MAX_STEPS];
  uint32_t fetch_at[MAX_OPERANDS][MAX_STEPS];
  uint32_t write_back_at[MAX_OPERANDS][MAX_STEPS];
  /* The order of the fetches of inputs before step 0, as operands, without those of a single block. */
  unsigned prologue_count;
  uint8_t prologue[MAX_OPERANDS * MAX_STEPS];
  /* Bodies that have returned when the map is asked for a step; any if the operand looks ahead by runs. */
  uint32_t evaluated_at[MAX_OPERANDS][MAX_STEPS];
  struct element got[MAX_STEPS][MAX_ACTIONS];    /* what GET must see */
  struct element array[MAX_OPERANDS][MAX_ARRAY]; /* at the end */
};

/* Element of the array at element i of a block; false past the edge. */
bool locate(const struct pipeline *p, const struct operand *op, int32_t block, uint32_t i, uint32_t *at);
/* `initial`: contents of all arrays; not those of *e. */
void golden(const struct pipeline *p, struct element (*initial)[MAX_ARRAY], struct expected *e);

/* ---- run.c ---- */

/* What to spoil in the expectation, to see that it is compared; NULL: nothing. */
extern const char *spoil;
/* Runs a pipeline `calls` times; true if all of it was right, else says on stdout what was not if `loud`. */
bool run_pipeline(const struct pipeline *p, unsigned calls, bool loud);

#endif
