/* SPDX-License-Identifier: MIT */
/* The body of every random vector function: says with pl_v operations what its instructions say. */
#include "vfn_random.h"

struct function *vfn_recorded;

static pl_v record_op(enum value_op op, pl_v a, pl_v b, pl_v c) {
  switch (op) {
#define CASE(op_, call_)                                                                                     \
  case VALUE_##op_:                                                                                          \
    return call_
    CASE(ADD, pl_vadd(a, b));
    CASE(SUB, pl_vsub(a, b));
    CASE(MUL, pl_vmul(a, b));
    CASE(MIN, pl_vmin(a, b));
    CASE(MAX, pl_vmax(a, b));
    CASE(EQ, pl_veq(a, b));
    CASE(NE, pl_vne(a, b));
    CASE(LT, pl_vlt(a, b));
    CASE(LE, pl_vle(a, b));
    CASE(GT, pl_vgt(a, b));
    CASE(GE, pl_vge(a, b));
    CASE(SELECT, pl_vselect(c, a, b));
    CASE(NEG, pl_vneg(a));
    CASE(FMA, pl_vfma(a, b, c));
    CASE(ABS, pl_vabs(a));
    CASE(BF16, pl_vbf16(a));
    CASE(RNE, pl_vint_rne(a));
    CASE(RTZ, pl_vint_rtz(a));
    CASE(EXP2, pl_vexp2(a));
    CASE(LOG2, pl_vlog2(a));
    CASE(RECIP, pl_vrecip(a));
    CASE(RSQRT, pl_vrsqrt(a));
    CASE(TANH, pl_vtanh(a));
    CASE(SIGMOID, pl_vsigmoid(a));
    CASE(TO_INT, pl_vbits_int(a));
    CASE(AND, pl_vand(a, b));
    CASE(OR, pl_vor(a, b));
    CASE(XOR, pl_vxor(a, b));
    CASE(SHL, pl_vshl(a, b));
    CASE(SHR, pl_vshr(a, b));
    CASE(SAR, pl_vsar(a, b));
    CASE(LTU, pl_vltu(a, b));
    CASE(FLOAT, pl_vfloat(a));
    CASE(TO_FLOAT, pl_vbits_float(a));
  default:
    return a;
  }
#undef CASE
}

static pl_v record_reduction(bool lanes, enum value_reduction op, pl_v a) {
  switch (op) {
  case VALUE_SUM:
    return lanes ? pl_vsum_lanes(a) : pl_vsum_rows(a);
  case VALUE_LEAST:
    return lanes ? pl_vmin_lanes(a) : pl_vmin_rows(a);
  case VALUE_GREATEST:
    return lanes ? pl_vmax_lanes(a) : pl_vmax_rows(a);
  default:
    return lanes ? pl_vargmax_lanes(a) : pl_vargmax_rows(a);
  }
}

static pl_v record_move(enum move move, pl_v a, unsigned n) {
  switch (move) {
  case ROTATE_LANES:
    return pl_vrotate_lanes(a, n);
  case ROTATE_ROWS:
    return pl_vrotate_rows(a, n);
  case ONE_LANE:
    return pl_vlane(a, n);
  default:
    return pl_vrow(a, n);
  }
}

/* The body of every function: says what `vfn_recorded` holds. Lines in messages are those of this file. */
void vfn_say(void) {
  const struct function *f = vfn_recorded;
  static pl_v v[MAX_VALUES];
  pl_vloop loop[2];
  unsigned open = 0;

  for (unsigned i = 0; i < f->length; i++) {
    const struct instruction *n = &f->code[i];
    const pl_v a = v[n->a], b = v[n->b], c = v[n->c];
    switch (n->code) {
    case LOAD:
      v[n->result] = pl_vload_fill(PL_REF(n->ref), n->fill);
      break;
    case LOAD_FLOAT:
      v[n->result] = pl_vload_float(PL_REF(n->ref));
      break;
    case STORE:
      pl_vstore(PL_REF(n->ref), a);
      break;
    case CONST:
      v[n->result] =
          f->value[n->result].type == REAL ? pl_vconst(value_float(n->value)) : pl_vconst_int(n->value);
      break;
    case ZERO:
      v[n->result] = pl_vzero();
      break;
    case SCALAR:
      v[n->result] = pl_vscalar(n->value);
      break;
    case OP:
      v[n->result] = record_op(n->op, a, b, c);
      break;
    case IOTA_ROWS:
      v[n->result] = pl_viota_rows();
      break;
    case IOTA_COLUMNS:
      v[n->result] = pl_viota_columns();
      break;
    case VALID:
      v[n->result] = pl_vvalid(a, b);
      break;
    case REDUCE_LANES:
    case REDUCE_ROWS:
      v[n->result] = record_reduction(n->code == REDUCE_LANES, n->op, a);
      break;
    case MOVE:
      v[n->result] = record_move(n->op, a, n->value);
      break;
    case RANDOM:
      v[n->result] = pl_vrandom(n->value, n->n ? (int)n->value : -1);
      break;
    case LOOP_LANES:
    case LOOP_ROWS: {
      pl_v *carried[5] = {NULL};
      for (unsigned k = 0; k < n->n; k++)
        carried[1 + k] = &v[n->carried[k]];
      loop[open++] = pl_vrecord_loop(n->code == LOOP_LANES ? PL_VAXIS_LANES : PL_VAXIS_ROWS, carried,
                                     1u + n->n, __LINE__);
      break;
    }
    case END: {
      pl_v next[4];
      for (unsigned k = 0; k < n->n; k++)
        next[k] = v[n->from[k]];
      for (unsigned k = 0; k < n->n; k++)
        v[n->carried[k]] = next[k];
      pl_vrecord_end(&loop[--open]);
      break;
    }
    }
  }
}
