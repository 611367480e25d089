/* SPDX-License-Identifier: MIT */
/* Makes random vector functions that keep the rules of docs/vector-functions.md. */
#include "vfn_random.h"

struct maker {
  struct function *f;
  unsigned loop, loops, depth; /* the running loop, how many there were, how many are open */
  uint8_t carried[MAX_VALUES]; /* the number of the outer loop that carries a value */
};

static struct instruction *emit(struct maker *m, enum code code) {
  struct instruction *n = &m->f->code[m->f->length++];
  memset(n, 0, sizeof *n);
  n->code = code;
  return n;
}
static unsigned new_value(struct maker *m, enum type type, bool moves, unsigned same) {
  struct function *f = m->f;
  f->value[f->values] = (struct value){type, (uint8_t)m->loop, moves, (uint8_t)same};
  return f->values++;
}
static bool usable(const struct maker *m, unsigned i) {
  const unsigned loop = m->f->value[i].loop;
  return loop == 0 || loop == m->loop || (loop == 1 && m->f->mode == BOTH && m->loop > 1);
}
/* A value of a type; 0 if there is none. Later ones more often. */
static unsigned pick(const struct maker *m, enum type type, bool any) {
  for (unsigned tries = 0; tries < 60 && m->f->values > 1; tries++) {
    const unsigned n = m->f->values - 1, k = below(n), far = below(n), i = 1 + (k > far ? k : far);
    const enum type t = m->f->value[i].type;
    if (usable(m, i) && (t == type || (any && t == ANY)))
      return i;
  }
  return 0;
}

/* Along what the running code has one element: 1 lanes, 2 rows. */
static unsigned along_nothing(const struct maker *m) {
  switch (m->f->mode) {
  case ELEMENTS:
    return 0;
  case LANES:
    return m->depth == 0 ? 1 : 0;
  case ROWS:
    return m->depth == 0 ? 2 : 0;
  default:
    return m->depth == 0 ? 3 : m->depth == 1 ? 1 : 0;
  }
}

uint32_t vfn_random_bits(bool real) {
  static const uint32_t special[] = {0x7fc00000, 0x7f800000, 0xff800000, 0x80000000, 0,          1,
                                     0x807fffff, 0x7f7fffff, 0x3f800000, 0x00800000, 0x7fa00001, 0xffffffff};
  if (below(12) == 0)
    return special[below(sizeof special / sizeof special[0])];
  if (!real)
    return below(2) ? below(200) - 100 : check_random32(&suite.random);
  if (below(6) == 0) /* around 1, any sign */
    return (check_random32(&suite.random) & 0x87ffffff) + 0x3c000000;
  return value_bits((float)((int)below(129) - 64) / (below(2) ? 1 : 8));
}

/* What may be loaded and stored here. */
static bool may_access(const struct maker *m, unsigned ref, bool store) {
  const enum class class = m->f->ref[ref].class;
  if (store && !m->f->ref[ref].stored)
    return false;
  switch (m->f->mode) {
  case ELEMENTS:
    return !store || class == FULL;
  case LANES:
    return m->loop != 0 ? !store || class == FULL : class == COLUMN || (class == ONE && !store);
  case ROWS:
    return m->loop != 0 ? !store || class == FULL : class == ROW || (class == ONE && !store);
  default:
    if (m->depth == 0)
      return class == ONE;
    if (m->depth == 1)
      return class == COLUMN || (class == ONE && !store);
    return !store || class == FULL;
  }
}

static void make_load(struct maker *m) {
  const unsigned ref = below(m->f->refs);
  const pl_dtype dtype = m->f->ref[ref].dtype;
  if (!may_access(m, ref, false))
    return;
  const bool as_float = (dtype == PL_INT8 || dtype == PL_UINT8) && below(2);
  struct instruction *n = emit(m, as_float ? LOAD_FLOAT : LOAD);
  n->ref = (uint8_t)ref;
  n->fill = as_float ? 0 : (uint8_t)below(4);
  n->result = (uint8_t)new_value(m, as_float || dtype_real(dtype) ? REAL : INTEGER,
                                 m->f->ref[ref].class == FULL, along_nothing(m));
}

static bool make_store(struct maker *m, unsigned ref) {
  const pl_dtype dtype = m->f->ref[ref].dtype;
  const bool bytes = dtype == PL_INT8 || dtype == PL_UINT8;
  const enum type type = bytes ? 1 + below(2) : dtype_real(dtype) ? REAL : INTEGER;
  const unsigned a = pick(m, type, true);
  if (a == 0 || !may_access(m, ref, true) || (along_nothing(m) & ~m->f->value[a].same) != 0)
    return false;
  struct instruction *n = emit(m, STORE);
  n->ref = (uint8_t)ref;
  n->a = (uint8_t)a;
  return true;
}

static void make_op(struct maker *m) {
  const enum value_op op = below(VALUE_OPS);
  const bool only_real = op >= VALUE_FMA && op <= VALUE_TO_INT, only_int = op >= VALUE_AND;
  const enum type type = only_real ? REAL : only_int ? INTEGER : 1 + below(2);
  const bool three = op == VALUE_FMA || op == VALUE_SELECT,
             two = op < VALUE_NEG || op == VALUE_FMA || (op >= VALUE_AND && op <= VALUE_LTU);
  const unsigned a = pick(m, type, false), b = two ? pick(m, type, true) : 0,
                 c = op == VALUE_SELECT ? pick(m, INTEGER, true)
                     : three            ? pick(m, type, true)
                                        : 0;
  if (a == 0 || (two && b == 0) || (three && c == 0))
    return;
  enum type result = type;
  if ((op >= VALUE_EQ && op <= VALUE_GE) || op == VALUE_RNE || op == VALUE_RTZ || op == VALUE_TO_INT)
    result = INTEGER;
  if (op == VALUE_FLOAT || op == VALUE_TO_FLOAT)
    result = REAL;
  const struct value *v = m->f->value;
  struct instruction *n = emit(m, OP);
  const bool swap = op <= VALUE_GE && below(2); /* a constant or scalar on the left */
  n->op = (uint8_t)op;
  n->a = (uint8_t)(swap ? b : a);
  n->b = (uint8_t)(swap ? a : b);
  n->c = (uint8_t)c;
  const bool moves = v[a].moves && (!two || v[b].moves) && (!three || v[c].moves);
  n->result =
      (uint8_t)new_value(m, result, moves, v[a].same & (two ? v[b].same : 3) & (three ? v[c].same : 3));
}

/* One instruction that is possible here, or none. */
static void make_one(struct maker *m) {
  struct function *f = m->f;
  const bool inner = f->mode == ELEMENTS || (f->mode == BOTH ? m->depth == 2 : m->depth == 1);
  struct instruction *n;
  const unsigned kind = below(24);
  if (f->length >= MAX_CODE || f->values > MAX_VALUES - 24)
    return;
  switch (kind) {
  case 0:
  case 1:
  case 2:
  case 3:
    make_load(m);
    break;
  case 4:
    make_store(m, below(f->refs));
    break;
  case 5: {
    const bool real = below(2);
    n = emit(m, CONST);
    n->value = vfn_random_bits(real);
    n->result = (uint8_t)new_value(m, real ? REAL : INTEGER, true, 3);
    break;
  }
  case 6:
    n = emit(m, ZERO);
    n->result = (uint8_t)new_value(m, ANY, true, 3);
    break;
  case 7:
    if (f->scalars == 0)
      break;
    n = emit(m, SCALAR);
    n->value = below(f->scalars);
    n->result = (uint8_t)new_value(m, ANY, true, 3);
    break;
  case 8:
    if (!inner && !(f->mode == LANES || m->depth == 1))
      break;
    if (!inner && f->mode == ROWS)
      break;
    n = emit(m, IOTA_ROWS);
    n->result = (uint8_t)new_value(m, INTEGER, true, 1);
    break;
  case 9:
    if (!inner && f->mode != ROWS)
      break;
    n = emit(m, IOTA_COLUMNS);
    n->result = (uint8_t)new_value(m, INTEGER, true, 2);
    break;
  case 10: {
    const enum type type = 1 + below(2);
    const unsigned a = pick(m, type, false), b = pick(m, type, true);
    if (!inner || a == 0 || b == 0)
      break;
    n = emit(m, VALID);
    n->a = (uint8_t)a;
    n->b = (uint8_t)b;
    n->result = (uint8_t)new_value(m, type, f->value[a].moves && f->value[b].moves, 0);
    break;
  }
  case 11:
  case 12: {
    const bool lanes = f->mode == LANES || (f->mode == BOTH && (m->depth == 1 || below(2)));
    const enum type type = 1 + below(2);
    const unsigned a = pick(m, type, false);
    if (f->mode == ELEMENTS || a == 0)
      break;
    n = emit(m, lanes ? REDUCE_LANES : REDUCE_ROWS);
    n->op = (uint8_t)below(4);
    n->a = (uint8_t)a;
    n->result = (uint8_t)new_value(m, n->op == VALUE_ARGMAX ? INTEGER : type, false,
                                   f->value[a].same | (lanes ? 1 : 2));
    break;
  }
  case 13: {
    const enum type type = 1 + below(2);
    const unsigned a = pick(m, type, false);
    if (a == 0 || !f->value[a].moves)
      break;
    n = emit(m, MOVE);
    n->op = (uint8_t)below(4);
    n->value = n->op == ROTATE_LANES || n->op == ONE_LANE ? below(suite.dim) : below(8);
    n->a = (uint8_t)a;
    n->result = (uint8_t)new_value(m, type, true, f->value[a].same);
    break;
  }
  case 14:
    if (!inner || f->scalars < 2)
      break;
    n = emit(m, RANDOM);
    n->value = below(f->scalars - 1);
    n->n = (uint8_t)below(2);
    n->result = (uint8_t)new_value(m, INTEGER, true, 0);
    break;
  default:
    make_op(m);
  }
}

static void make_some(struct maker *m, unsigned n) {
  while (n-- > 0)
    make_one(m);
}

/* A loop; `inside` makes what is in it. */
static void make_loop(struct maker *m, bool lanes, void (*inside)(struct maker *)) {
  struct function *f = m->f;
  const unsigned outer = m->loop;
  unsigned start[4];
  uint8_t carried = 0;
  for (unsigned want = below(4); want > 0; want--) {
    const unsigned a = pick(m, 1 + below(2), false);
    /* An inner loop carries what the outer one does, or what was made in it. */
    bool twice = a == 0 || (outer != 0 && f->value[a].loop != outer && m->carried[a] != outer);
    for (unsigned k = 0; k < carried; k++)
      twice = twice || start[k] == a;
    if (!twice)
      start[carried++] = a;
  }
  struct instruction *n = emit(m, lanes ? LOOP_LANES : LOOP_ROWS);
  n->n = carried;
  for (unsigned k = 0; k < carried; k++) {
    n->carried[k] = (uint8_t)start[k];
    f->value[start[k]].moves = false;
    f->value[start[k]].same = 0;
  }
  m->loop = ++m->loops;
  for (unsigned k = 0; k < carried; k++)
    m->carried[start[k]] = (uint8_t)m->loop;
  m->depth++;
  inside(m);
  uint8_t from[4];
  for (unsigned k = 0; k < carried; k++) {
    unsigned a = 0;
    for (unsigned tries = 0; a == 0 && tries < 8;
         tries++) /* something of this loop, or another carried one */
      a = pick(m, f->value[start[k]].type, true);
    from[k] = (uint8_t)(a != 0 ? a : start[k]);
    if (below(6) == 0 && carried > 1 && f->value[start[(k + 1) % carried]].type == f->value[start[k]].type)
      from[k] = (uint8_t)start[(k + 1) % carried];
  }
  n = emit(m, END);
  n->n = carried;
  memcpy(n->from, from, sizeof from);
  for (unsigned k = 0; k < carried; k++)
    n->carried[k] = (uint8_t)start[k];
  m->loop = outer;
  m->depth--;
}

static void inner_code(struct maker *m) {
  make_some(m, 2 + below(below(2) ? 12 : 50));
}
static void outer_code(struct maker *m) {
  make_some(m, below(6));
  for (unsigned n = 1 + below(2); n > 0; n--) {
    make_loop(m, true, inner_code);
    make_some(m, below(8));
  }
}

/* Many values are needed at a time: one after another into one sum. */
static void make_sum(struct maker *m) {
  struct function *f = m->f;
  const enum type type = 1 + below(2);
  unsigned sum = pick(m, type, false);
  for (unsigned n = below(24); n > 0 && sum != 0 && f->values < MAX_VALUES - 24 && f->length < MAX_CODE;
       n--) {
    const unsigned a = pick(m, type, false);
    if (a == 0)
      continue;
    struct instruction *i = emit(m, OP);
    i->op = VALUE_ADD;
    i->a = (uint8_t)sum;
    i->b = (uint8_t)a;
    i->result = (uint8_t)new_value(m, type, f->value[a].moves && f->value[sum].moves,
                                   f->value[a].same & f->value[sum].same);
    sum = i->result;
  }
}

static void make_stores(struct maker *m) {
  if (below(2))
    make_sum(m);
  for (unsigned r = 0; r < m->f->refs; r++)
    if (may_access(m, r, true) && !make_store(m, r)) {
      struct instruction *n = emit(m, CONST);
      n->value = vfn_random_bits(dtype_real(m->f->ref[r].dtype));
      const unsigned a = new_value(m, dtype_real(m->f->ref[r].dtype) ? REAL : INTEGER, true, 3);
      n->result = (uint8_t)a;
      n = emit(m, STORE);
      n->ref = (uint8_t)r;
      n->a = (uint8_t)a;
    }
}
static void inner_code_stores(struct maker *m) {
  inner_code(m);
  make_stores(m);
}
static void outer_code_stores(struct maker *m) {
  outer_code(m);
  make_loop(m, true, inner_code_stores);
  make_stores(m);
}

void vfn_make(struct function *f) {
  pl_vector_fn fn = f->fn[0];
  struct maker m = {.f = f};
  memset(f, 0, sizeof *f);
  f->mode = (enum mode)below(4);
  f->refs = 2 + below(MAX_REFS - 1);
  f->scalars = below(MAX_SCALARS + 1);
  for (unsigned r = 0; r < f->refs; r++) {
    f->ref[r].class = r < 2 ? FULL : (enum class)below(4);
    f->ref[r].acc = below(4) == 0;
    f->ref[r].dtype = f->ref[r].acc ? (below(2) ? PL_F32 : PL_INT32) : (pl_dtype)below(PL_UINT8 + 1);
    f->ref[r].stored = r > 0 && below(3) != 0;
  }
  f->ref[1].stored = true;
  f->values = 1;
  if (f->mode == ELEMENTS) {
    make_some(&m, 3 + below(below(2) ? 30 : 100));
    make_stores(&m);
  } else if (f->mode == BOTH) {
    make_some(&m, below(8));
    make_loop(&m, false, outer_code_stores);
    make_some(&m, below(8));
    make_stores(&m);
  } else {
    make_some(&m, below(8));
    for (unsigned n = below(3); n > 0; n--) {
      make_loop(&m, f->mode == LANES, inner_code);
      make_some(&m, below(8));
    }
    make_loop(&m, f->mode == LANES, inner_code_stores);
    make_some(&m, below(8));
    make_stores(&m);
  }
  f->fn[0] = (pl_vector_fn){.name = "random",
                            .body = vfn_say,
                            .refs = (uint8_t)f->refs,
                            .scalars = (uint8_t)f->scalars,
                            .last = fn.last};
  f->fresh = fn.body != NULL;
}

void vfn_print(const struct function *f) {
  static const char *const modes[] = {"elements", "lanes", "rows", "both"};
  static const char *const classes[] = {"full", "column", "row", "one"};
  static const char *const codes[] = {
      "load", "load_float", "store",        "const",     "zero",         "scalar",
      "op",   "iota_rows",  "iota_columns", "valid",     "reduce_lanes", "reduce_rows",
      "move", "random",     "loop_lanes",   "loop_rows", "end"};
  printf("%s, %u scalars\n", modes[f->mode], f->scalars);
  for (unsigned r = 0; r < f->refs; r++)
    printf("  ref %u: %s %s%s%s\n", r, classes[f->ref[r].class], pl_dtype_name(f->ref[r].dtype),
           f->ref[r].acc ? " acc" : "", f->ref[r].stored ? " stored" : "");
  for (unsigned i = 0; i < f->length; i++) {
    const struct instruction *n = &f->code[i];
    printf("  %2u v%u%s = %s op %u v%u v%u v%u ref %u fill %u value 0x%x;", i, n->result,
           f->value[n->result].type == REAL ? "f" : "", codes[n->code], n->op, n->a, n->b, n->c, n->ref,
           n->fill, n->value);
    for (unsigned k = 0; k < n->n && n->code >= LOOP_LANES; k++)
      printf(" v%u<-v%u", n->carried[k], n->code == END ? n->from[k] : n->carried[k]);
    printf("\n");
  }
}
