/* SPDX-License-Identifier: MIT */
/* Between whole-ref vector operations (vector.c) and their programs (program.c). */
#ifndef PALLAS_VECTOR_H
#define PALLAS_VECTOR_H

#include "internal.h"

enum pl_operation {
  PL_OP_COPY = 1,
  PL_OP_ADD,
  PL_OP_SUB,
  PL_OP_MUL,
  PL_OP_MAX,
  PL_OP_MIN,
  PL_OP_LESS,
  PL_OP_LESS_EQUAL,
  PL_OP_EQUAL,
  PL_OP_NOT_EQUAL,
  PL_OP_RELU,      /* max(x, 0) */
  PL_OP_BIAS_RELU, /* max(x + bias, 0) */
  PL_OP_WHERE,     /* sources a, b, mask */
  PL_OP_STOCHASTIC_ROUND,
  PL_OP_FILL,
  PL_OP_IOTA_ROWS,
  PL_OP_IOTA_COLUMNS,
  PL_OP_RANDOM,
  PL_OP_ARGMAX,
  PL_OP_TRANSPOSE,
  PL_OP_REDUCE, /* + enum pl_reducer + 3 x enum pl_reduction: the last nine */
};
enum pl_reducer { PL_REDUCE_SUM, PL_REDUCE_MAX, PL_REDUCE_MIN };

/* How a source's elements relate to the result's. */
enum pl_broadcast {
  PL_BROADCAST_FULL = 0,
  PL_BROADCAST_ROW = 1,
  PL_BROADCAST_COLUMN = 2,
  PL_BROADCAST_ELEMENT = 3
};

/* A memory operand of a program. */
struct pl_side {
  uint8_t dtype;
  bool acc;
  uint8_t broadcast; /* enum pl_broadcast */
};

/* What makes one program another than the next. */
struct pl_signature {
  uint8_t operation, groups, sources;
  struct pl_side side[1 + PL_VECTOR_SOURCES]; /* result, sources */
};

enum { PL_MAX_INSTRUCTIONS = 72 };

struct pl_program {
  uint64_t word[PL_MAX_INSTRUCTIONS];
  uint32_t count;
  uint8_t areg[1 + PL_VECTOR_SOURCES]; /* first address register of each operand */
  uint8_t aregs;
};

/* A ref as rows of columns: leading dimensions are folded into rows. */
struct pl_plane {
  int32_t rows, columns, pitch;
};

struct pl_vector_call;
/*
 * Operations whose makers are not the core's, so that they are linked only where they are used
 * (vector_cross.c): the program, and, if it is not walked element by element, its loops and strides.
 */
struct pl_vector_maker {
  void (*emit)(struct pl_program *p, const struct pl_signature *s);
  void (*describe)(struct pl_vector_record *r, const struct pl_vector_call *call, const struct pl_program *p);
};

struct pl_vector_call {
  const struct pl_vector_maker *maker; /* NULL: the core's */
  unsigned operation;
  struct pl_view *view[1 + PL_VECTOR_SOURCES];
  struct pl_plane plane[1 + PL_VECTOR_SOURCES];
  unsigned sources;
  uint32_t scalar;
  bool keeps;   /* part of the result stays as it was */
  bool bounded; /* to these rows and columns */
  int32_t rows, columns;
  struct pl_view *written; /* the result's view, if view[0] is a temporary for it */
  struct pl_temporary temporary[1 + PL_VECTOR_SOURCES];
};

static inline bool pl_view_is_empty(const struct pl_view *v) {
  for (unsigned d = 0; d < v->rank; d++)
    if (v->shape[d] == 0)
      return true;
  return false;
}

/* ---- vector_place.c ---- */
const char *pl_operation_name(unsigned operation);
/* The bytes (rows in ACC) from a view's first element to behind its last. */
uint32_t pl_view_span(const struct pl_view *v);
/* False if the view is empty or no plane. */
bool pl_plane_of(const struct pl_view *v, struct pl_plane *plane);
pl_status pl_fail_shapes(unsigned operation, const struct pl_view *result, const struct pl_view *source);
/* Checks operand i and brings it to the form that the vector unit takes, in a temporary if need be. */
pl_status pl_vector_place(struct pl_context *c, struct pl_vector_call *call, unsigned i);
/* The same for all refs, result first; false with a sticky error. */
bool pl_vector_take(struct pl_context *c, struct pl_vector_call *call, const pl_ref *refs);

/* ---- vector_record.c ---- */
/* Queues the command of operands in place, and what brings a temporary result to where it belongs. */
void pl_vector_run(struct pl_context *c, struct pl_vector_call *call, struct pl_signature *s);

/* ---- program.c ---- */
/* Whether all groups of rows of an operand use one address register. */
bool pl_one_register(const struct pl_side *side);
/* Gives operands their address registers; the groups, if not given, are as many as the eight registers allow.
 */
void pl_assign_registers(struct pl_signature *s, struct pl_program *p, uint32_t row_groups);
/* Finds or loads the program; false with a sticky error if that is not possible. maker: NULL, or who emits
 * it. */
bool pl_load_program(struct pl_context *c, const struct pl_signature *s, struct pl_program *p,
                     uint32_t *entry, const struct pl_vector_maker *maker);
/* Grows when the program memory is emptied: records of an older one are stale. */
extern uint32_t pl_programs_generation;

/* reduce.c: the programs that carry a value over tiles. */
void pl_emit_argmax(struct pl_program *p, const struct pl_signature *s);
void pl_emit_reduce(struct pl_program *p, const struct pl_signature *s);

/* ---- vector.c ---- */
void pl_vector_begin(struct pl_vector_call *call, unsigned operation, unsigned sources);
/* Checks and queues an elementwise operation; which sources may be narrower than the result, as bits. */
void pl_vector_elementwise(struct pl_vector_call *call, const pl_ref *refs, unsigned narrow);

/* Sets one address register of a record. */
void pl_set_address(struct pl_vector_record *r, unsigned areg, unsigned operand, uint32_t offset,
                    int32_t pitch, int32_t stride0, int32_t stride1);

/* Queues the operation of a record; views: result, sources. */
void pl_vector_queue(struct pl_context *c, const struct pl_vector_record *r, struct pl_view *const *views,
                     uint32_t scalar);
/* The same if the result's record is of this very operation and refs; false: it must be looked at anew. */
bool pl_vector_again(struct pl_context *c, unsigned operation, pl_ref o, pl_ref a, const pl_ref *b,
                     uint32_t scalar);

#endif
