/* SPDX-License-Identifier: MIT */
/*
 * What a vector function does, from docs/vector-functions.md and docs/contract.md: tile by tile, in the order
 * in which it was written.
 */
#include "vfn_random.h"

static bool inside_shape(const struct world *w, unsigned s, unsigned l) {
  return w->row0 + (int32_t)s < w->rows && w->column0 + (int32_t)l < w->columns;
}
static uint32_t *element(struct world *w, unsigned ref, unsigned s, unsigned l) {
  const struct plane *p = &w->ref[ref];
  const enum class class = w->f->ref[ref].class;
  const int32_t r = class == ROW || class == ONE ? 0 : w->row0 + (int32_t)s,
                c = class == COLUMN || class == ONE ? 0 : w->column0 + (int32_t)l;
  return &p->e[r * p->columns + c];
}

static uint32_t loaded(uint32_t bits, pl_dtype dtype, bool real) {
  switch (dtype) {
  case PL_BF16:
    return bits << 16;
  case PL_INT8:
    return real ? value_bits((float)(int8_t)bits) : (uint32_t)(int8_t)bits;
  case PL_UINT8:
    return real ? value_bits((float)(uint8_t)bits) : (uint8_t)bits;
  default:
    return bits;
  }
}
static uint32_t stored(uint32_t bits, pl_dtype dtype, bool real) {
  const int64_t low = dtype == PL_INT8 ? -128 : 0, high = dtype == PL_INT8 ? 127 : 255;
  switch (dtype) {
  case PL_BF16:
    return value_bf16(bits);
  case PL_INT8:
  case PL_UINT8:
    return (uint32_t)(real ? value_integer(bits, true, low, high) : value_clamp((int32_t)bits, low, high)) &
           0xff;
  default:
    return bits;
  }
}

/* `lanes` and `rows`: along which the running code has elements; outside of loops there is one place. */
static void interpret_access(struct world *w, const struct instruction *n, bool along_rows,
                             bool along_lanes) {
  const pl_dtype dtype = w->f->ref[n->ref].dtype;
  static const uint32_t fills[2][4] = {{0, 1, 0x7fffffff, 0x80000000},
                                       {0, 0x3f800000, 0x7f800000, 0xff800000}};
  for (unsigned s = 0; s < TILE_ROWS; s++)
    for (unsigned l = 0; l < suite.dim; l++) {
      const bool row = !along_rows || w->row0 + (int32_t)s < w->rows,
                 lane = !along_lanes || w->column0 + (int32_t)l < w->columns;
      if (n->code != STORE) {
        const bool real = n->code == LOAD_FLOAT || dtype_real(dtype);
        const uint32_t fill = fills[real][n->fill == TPU_FILL_ONE   ? 1
                                          : n->fill == TPU_FILL_MAX ? 2
                                          : n->fill == TPU_FILL_MIN ? 3
                                                                    : 0];
        w->v[n->result].e[s][l] = row && lane ? loaded(*element(w, n->ref, s, l), dtype, real) : fill;
      } else if (row && lane && (along_lanes || l == 0) && (along_rows || s == 0)) {
        const enum type type = w->f->value[n->a].type;
        *element(w, n->ref, s, l) =
            stored(w->v[n->a].e[s][l], dtype, type == ANY ? dtype_real(dtype) : type == REAL);
      }
    }
}

static void interpret_reduction(struct world *w, const struct instruction *n, bool masked) {
  const bool real = w->f->value[n->a].type == REAL, lanes = n->code == REDUCE_LANES;
  uint32_t x[TILE_MAX_LANES];
  struct tile out;
  const unsigned outer = lanes ? TILE_ROWS : suite.dim, count = lanes ? suite.dim : TILE_ROWS;
  for (unsigned i = 0; i < outer; i++) {
    for (unsigned k = 0; k < count; k++) {
      const unsigned s = lanes ? i : k, l = lanes ? k : i;
      x[k] = masked && !inside_shape(w, s, l) ? value_identity(n->op, real) : w->v[n->a].e[s][l];
    }
    const uint32_t result = value_reduce(n->op, real, x, count);
    for (unsigned k = 0; k < count; k++)
      out.e[lanes ? i : k][lanes ? k : i] = result;
  }
  w->v[n->result] = out;
}

static void interpret_move(struct world *w, const struct instruction *n) {
  const struct tile a = w->v[n->a];
  const unsigned lanes = suite.dim, k = n->value;
  for (unsigned s = 0; s < TILE_ROWS; s++)
    for (unsigned l = 0; l < lanes; l++)
      w->v[n->result].e[s][l] = n->op == ROTATE_LANES  ? a.e[s][(l + lanes - k) % lanes]
                                : n->op == ROTATE_ROWS ? a.e[(s + 8 - k) % 8][l]
                                : n->op == ONE_LANE    ? a.e[s][k]
                                                       : a.e[k][l];
}

static void interpret_one(struct world *w, const struct instruction *n, bool along_rows, bool along_lanes) {
  const struct function *f = w->f;
  struct tile *v = w->v, out;
  switch (n->code) {
  case LOAD:
  case LOAD_FLOAT:
  case STORE:
    interpret_access(w, n, along_rows, along_lanes);
    return;
  case REDUCE_LANES:
  case REDUCE_ROWS:
    interpret_reduction(w, n, along_rows && along_lanes);
    return;
  case MOVE:
    interpret_move(w, n);
    return;
  default:
    break;
  }
  for (unsigned s = 0; s < TILE_ROWS; s++)
    for (unsigned l = 0; l < suite.dim; l++) {
      const uint32_t a = v[n->a].e[s][l], b = v[n->b].e[s][l], c = v[n->c].e[s][l],
                     row = (uint32_t)w->row0 + s, column = (uint32_t)w->column0 + l;
      const enum type type = f->value[n->a].type != ANY ? f->value[n->a].type : f->value[n->b].type;
      uint32_t x = 0;
      switch (n->code) {
      case CONST:
        x = n->value;
        break;
      case SCALAR:
        x = w->scalar[n->value];
        break;
      case OP:
        x = n->op == VALUE_SELECT ? (c != 0 ? a : b)
            : type == REAL        ? value_compute_float(n->op, a, b, c)
                                  : value_compute_int(n->op, a, b);
        break;
      case IOTA_ROWS:
        x = row;
        break;
      case IOTA_COLUMNS:
        x = column;
        break;
      case VALID:
        x = inside_shape(w, s, l) ? a : b;
        break;
      case RANDOM:
        x = value_random(w->scalar[n->value], w->scalar[n->value + 1], row + (n->n ? w->scalar[n->value] : 0),
                         column + (n->n ? w->scalar[n->value + 1] : 0));
        break;
      default:
        break;
      }
      out.e[s][l] = x;
    }
  v[n->result] = out;
}

unsigned vfn_end_of(const struct function *f, unsigned begin) {
  unsigned open = 1, i = begin;
  while (open > 0) {
    i++;
    open += f->code[i].code == LOOP_LANES || f->code[i].code == LOOP_ROWS;
    open -= f->code[i].code == END;
  }
  return i;
}

static void interpret(struct world *w, unsigned from, unsigned to, bool along_rows, bool along_lanes);

static void interpret_loop(struct world *w, unsigned begin, unsigned end, bool along_rows, bool along_lanes) {
  const bool lanes = w->f->code[begin].code == LOOP_LANES;
  const struct instruction *n = &w->f->code[end];
  int32_t *const at = lanes ? &w->column0 : &w->row0;
  const int32_t extent = lanes ? w->columns : w->rows, step = lanes ? (int32_t)suite.dim : TILE_ROWS;
  const bool rows = along_rows || !lanes, columns = along_lanes || lanes;
  for (*at = 0; *at < extent; *at += step) {
    struct tile before[4], next[4];
    for (unsigned k = 0; k < n->n; k++)
      before[k] = w->v[n->carried[k]];
    interpret(w, begin + 1, end, rows, columns);
    for (unsigned k = 0; k < n->n; k++)
      next[k] = w->v[n->from[k]];
    for (unsigned k = 0; k < n->n; k++)
      for (unsigned s = 0; s < TILE_ROWS; s++)
        for (unsigned l = 0; l < suite.dim; l++)
          w->v[n->carried[k]].e[s][l] =
              (!rows || w->row0 + (int32_t)s < w->rows) && (!columns || w->column0 + (int32_t)l < w->columns)
                  ? next[k].e[s][l]
                  : before[k].e[s][l];
  }
  *at = 0;
}

static void interpret(struct world *w, unsigned from, unsigned to, bool along_rows, bool along_lanes) {
  for (unsigned i = from; i < to; i++) {
    const enum code code = w->f->code[i].code;
    if (code == LOOP_LANES || code == LOOP_ROWS) {
      const unsigned end = vfn_end_of(w->f, i);
      interpret_loop(w, i, end, along_rows, along_lanes);
      i = end;
    } else {
      interpret_one(w, &w->f->code[i], along_rows, along_lanes);
    }
  }
}

void vfn_interpret(struct world *w) {
  const bool rows = w->f->mode == ELEMENTS || w->f->mode == LANES,
             lanes = w->f->mode == ELEMENTS || w->f->mode == ROWS;
  memset(w->v, 0, sizeof w->v);
  for (int32_t r = 0; r < (rows ? w->rows : 1); r += TILE_ROWS)
    for (int32_t c = 0; c < (lanes ? w->columns : 1); c += (int32_t)suite.dim) {
      w->row0 = r;
      w->column0 = c;
      interpret(w, 0, w->f->length, rows, lanes);
    }
}
