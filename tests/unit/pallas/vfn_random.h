/* SPDX-License-Identifier: MIT */
/*
 * Random vector functions: a list of instructions, made by vfn_make.c, which the body of a vector function
 * records (vfn_say.c), and which an interpreter goes through tile by tile (vfn_interpret.c). test_vfn.c
 * compares the two.
 */
#ifndef TESTS_UNIT_PALLAS_VFN_RANDOM_H
#define TESTS_UNIT_PALLAS_VFN_RANDOM_H

#include "suite.h"
#include "vfn_value.h"

enum { MAX_CODE = 120, MAX_REFS = 5, MAX_SCALARS = 6, MAX_VALUES = 128 };

enum mode { ELEMENTS, LANES, ROWS, BOTH };
enum class { FULL, COLUMN, ROW, ONE }; /* shapes of refs: [R,C], [R,1], [1,C], [1,1] */
enum code {
  LOAD,
  LOAD_FLOAT,
  STORE,
  CONST,
  ZERO,
  SCALAR,
  OP,
  IOTA_ROWS,
  IOTA_COLUMNS,
  VALID,
  REDUCE_LANES,
  REDUCE_ROWS,
  MOVE,
  RANDOM,
  LOOP_LANES,
  LOOP_ROWS,
  END
};
enum move { ROTATE_LANES, ROTATE_ROWS, ONE_LANE, ONE_ROW };

struct instruction {
  enum code code;
  uint8_t op;                  /* enum value_op, value_reduction, move */
  uint8_t result, a, b, c;     /* values */
  uint8_t ref, fill, n;        /* n: of carried values */
  uint8_t carried[4], from[4]; /* of END: carried value, what it becomes */
  uint32_t value;
};

enum type { ANY, REAL, INTEGER };
struct value {
  enum type type;
  uint8_t loop; /* the loop it was made in, 0: outside */
  bool moves;   /* it is known outside the shape, too */
  uint8_t same; /* 1: in all lanes, 2: in all rows */
};

struct function {
  pl_vector_fn fn[1];
  bool fresh; /* the body is another one than was recorded */
  enum mode mode;
  unsigned refs, scalars;
  struct {
    enum class class;
    pl_dtype dtype;
    bool acc, stored;
  } ref[MAX_REFS];
  unsigned length, values;
  struct instruction code[MAX_CODE + 60]; /* loops and last stores come on top */
  struct value value[MAX_VALUES];
};

/* The body of all of them, and the one that it records. */
void vfn_say(void);
extern struct function *vfn_recorded;
/* Another function in the place of the old one. */
void vfn_make(struct function *f);
void vfn_print(const struct function *f);
/* The bits of a random f32 or int32, special values among them. */
uint32_t vfn_random_bits(bool real);

/* What a ref's elements are: a dense copy of them, as bits of its dtype. */
struct plane {
  int32_t rows, columns;
  uint32_t *e;
};
struct world {
  const struct function *f;
  int32_t rows, columns, row0, column0; /* the shape; where the tile is */
  struct plane ref[MAX_REFS];
  uint32_t scalar[8];
  struct tile v[MAX_VALUES];
};

void vfn_interpret(struct world *w);
/* The END of the loop that begins there. */
unsigned vfn_end_of(const struct function *f, unsigned begin);

static inline uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}
static inline bool dtype_real(pl_dtype dtype) {
  return dtype == PL_F32 || dtype == PL_BF16;
}

#endif
