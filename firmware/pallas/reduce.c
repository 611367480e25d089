/* SPDX-License-Identifier: MIT */
/*
 * Vector programs that carry a value from tile to tile: reductions and argmax.
 *
 * A reduction combines whole registers first, tile after tile in ascending order, and lanes or sublanes at
 * the end, in the order of docs/contract.md, section 6. Lanes past the edge are loaded as the identity. The
 * last tile of the inner loop comes behind it: the loop's count, by which masks go, is then that tile's
 * number, for its load and for the store.
 */
#include "emit.h"

void pl_emit_reduce(struct pl_program *p, const struct pl_signature *s) {
  enum { V_SUM = 2, V_X = 4 };
  static const uint32_t identity[3][2] = {{0, 0}, {0x80000000u, 0xff800000u}, {0x7fffffffu, 0x7f800000u}};
  static const uint8_t fill[3] = {TPU_FILL_ZERO, TPU_FILL_MIN, TPU_FILL_MAX};
  static const uint8_t combine[3][2] = {
      {TPU_VOP_IADD, TPU_VOP_FADD}, {TPU_VOP_IMAX, TPU_VOP_FMAX}, {TPU_VOP_IMIN, TPU_VOP_FMIN}};
  static const uint8_t lanes[3][2] = {{TPU_VOP_RL_ISUM, TPU_VOP_RL_FSUM},
                                      {TPU_VOP_RL_IMAX, TPU_VOP_RL_FMAX},
                                      {TPU_VOP_RL_IMIN, TPU_VOP_RL_FMIN}};
  const unsigned kind = (unsigned)(s->operation - PL_OP_REDUCE) % 3,
                 over = (unsigned)(s->operation - PL_OP_REDUCE) / 3;
  const bool real = pl_is_float(s->side[1].dtype), all = over == PL_OVER_ALL;
  const unsigned to = s->side[0].dtype;
  const struct tpu_vasm_mask mask = {0};
  struct tpu_vasm_memory load = pl_memory_of(p, s, 1, 0), store = pl_memory_of(p, s, 0, 0);
  const uint64_t begin = tpu_vasm_const(V_SUM, identity[kind][real]);

  load.fill = (enum tpu_fill)fill[kind];
  store.column = over != PL_OVER_ROWS;
  store.masked = !all; /* one element, behind both loops */
  if (all)
    pl_emit(p, begin);
  const uint32_t loop0 = p->count;
  pl_emit(p, 0);
  if (!all)
    pl_emit(p, begin);
  const uint32_t loop1 = p->count;
  pl_emit(p, 0);
  for (unsigned last = 0; last < 2; last++) {
    pl_emit(p, tpu_vasm_ld(V_X, load));
    pl_emit(p, tpu_vasm_op((enum tpu_vop)combine[kind][real], V_SUM, TPU_V(V_SUM), TPU_V(V_X), TPU_V(0)));
    if (last == 0) {
      pl_emit(p, tpu_vasm_end(1));
      p->word[loop1] = tpu_vasm_loop(1, p->count);
    }
  }
  if (all) {
    pl_emit(p, tpu_vasm_end(0));
    p->word[loop0] = tpu_vasm_loop(0, p->count);
  }
  if (over != PL_OVER_ROWS)
    pl_emit(p, tpu_vasm_reduce((enum tpu_vop)lanes[kind][real], V_SUM, TPU_V(V_SUM), mask));
  if (over != PL_OVER_COLUMNS)
    pl_emit(p, tpu_vasm_reduce((enum tpu_vop)(lanes[kind][real] + TPU_VOP_RS_FSUM - TPU_VOP_RL_FSUM), V_SUM,
                               TPU_V(V_SUM), mask));
  pl_emit_convert(p, V_SUM, V_SUM, to, s->side[1].dtype);
  if (!real)
    pl_emit_wrap(p, V_SUM, to, PL_INT32);
  pl_emit(p, tpu_vasm_st(TPU_V(V_SUM), store));
  if (!all) {
    pl_emit(p, tpu_vasm_end(0));
    p->word[loop0] = tpu_vasm_loop(0, p->count);
  }
  pl_emit(p, tpu_vasm_halt());
}

/*
 * Rows in loop 0, column tiles in loop 1. Best value and index are carried; a tile's best is taken if
 * it is greater, or if it is NaN and none was before. The index is stored with every tile, the last
 * one stays.
 */
void pl_emit_argmax(struct pl_program *p, const struct pl_signature *s) {
  enum { V_BEST = 2, V_INDEX = 3, V_X = 4, V_MAX, V_AT, V_TAKE, V_NAN, V_WAS, V_BASE, V_ZERO };
  const bool real = pl_is_float(s->side[1].dtype);
  struct tpu_vasm_memory load = pl_memory_of(p, s, 1, 0), store = pl_memory_of(p, s, 0, 0);
  const struct tpu_vasm_mask mask = {.masked = true};

  load.fill = TPU_FILL_MIN;
  store.column = true;
  pl_emit(p, 0);
  pl_emit(p, tpu_vasm_const(V_BEST, real ? 0xff800000u : 0x80000000u));
  pl_emit(p, tpu_vasm_const(V_INDEX, 0));
  pl_emit(p, tpu_vasm_const(V_BASE, 0));
  if (real)
    pl_emit(p, tpu_vasm_const(V_ZERO, 0));
  const uint32_t loop1 = p->count;
  pl_emit(p, 0);
  pl_emit(p, tpu_vasm_ld(V_X, load));
  if (real) /* -0 becomes +0: the reductions would take +0 for the larger one */
    pl_emit(p, tpu_vasm_op(TPU_VOP_FADD, V_X, TPU_V(V_X), TPU_V(V_ZERO), TPU_V(0)));
  pl_emit(p, tpu_vasm_reduce(real ? TPU_VOP_RL_FMAX : TPU_VOP_RL_IMAX, V_MAX, TPU_V(V_X), mask));
  pl_emit(p, tpu_vasm_reduce(real ? TPU_VOP_RL_FARGMAX : TPU_VOP_RL_IARGMAX, V_AT, TPU_V(V_X), mask));
  pl_emit(p, tpu_vasm_op(TPU_VOP_IADD, V_AT, TPU_V(V_AT), TPU_V(V_BASE), TPU_V(0)));
  pl_emit(p, tpu_vasm_op(real ? TPU_VOP_FLT : TPU_VOP_ILT, V_TAKE, TPU_V(V_BEST), TPU_V(V_MAX), TPU_V(0)));
  if (real) {
    pl_emit(p, tpu_vasm_op(TPU_VOP_FNE, V_NAN, TPU_V(V_MAX), TPU_V(V_MAX), TPU_V(0)));
    pl_emit(p, tpu_vasm_op(TPU_VOP_FEQ, V_WAS, TPU_V(V_BEST), TPU_V(V_BEST), TPU_V(0)));
    pl_emit(p, tpu_vasm_op(TPU_VOP_AND, V_NAN, TPU_V(V_NAN), TPU_V(V_WAS), TPU_V(0)));
    pl_emit(p, tpu_vasm_op(TPU_VOP_OR, V_TAKE, TPU_V(V_TAKE), TPU_V(V_NAN), TPU_V(0)));
  }
  pl_emit(p, tpu_vasm_op(TPU_VOP_SEL, V_BEST, TPU_V(V_MAX), TPU_V(V_BEST), TPU_V(V_TAKE)));
  pl_emit(p, tpu_vasm_op(TPU_VOP_SEL, V_INDEX, TPU_V(V_AT), TPU_V(V_INDEX), TPU_V(V_TAKE)));
  pl_emit(p, tpu_vasm_op(TPU_VOP_IADD, V_BASE, TPU_V(V_BASE), TPU_S(0), TPU_V(0)));
  pl_emit(p, tpu_vasm_st(TPU_V(V_INDEX), store));
  pl_emit(p, tpu_vasm_end(1));
  pl_emit(p, tpu_vasm_end(0));
  p->word[0] = tpu_vasm_loop(0, p->count);
  p->word[loop1] = tpu_vasm_loop(1, p->count - 1);
  pl_emit(p, tpu_vasm_halt());
}
