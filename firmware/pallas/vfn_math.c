/* SPDX-License-Identifier: MIT */
/* Whole-ref operations of one load, some arithmetic and one store. */
#include "vfn_whole.h"

#define UNARY(name_, value_)                                                                                 \
  static void name_##_record(void) {                                                                         \
    const pl_v x = pl_vload(PL_REF(1));                                                                      \
    pl_vstore(PL_REF(0), (value_));                                                                          \
  }                                                                                                          \
  void name_(pl_ref o, pl_ref x) {                                                                           \
    static pl_vector_fn fn = {                                                                               \
        .name = #name_, .body = name_##_record, .refs = 2, .narrow = 1 << 1, .whole = &vfn_elementwise};     \
    pl_vrun(&fn, PL_REFS(o, x), PL_NO_SCALARS);                                                              \
  }

UNARY(pl_exp, pl_vexp(x))
UNARY(pl_exp2, pl_vexp2(x))
UNARY(pl_log, pl_vlog(x))
UNARY(pl_log2, pl_vlog2(x))
UNARY(pl_reciprocal, pl_vrecip(x))
UNARY(pl_rsqrt, pl_vrsqrt(x))
UNARY(pl_tanh, pl_vtanh(x))
UNARY(pl_logistic, pl_vsigmoid(x))
UNARY(pl_neg, pl_vneg(x))
UNARY(pl_abs, pl_vmax(x, pl_vneg(x)))

/* 0 and infinity times their reciprocal roots would be NaN. */
static pl_v square_root(pl_v x) {
  const pl_v whole = pl_vor(pl_veq(x, pl_vzero()), pl_veq(x, pl_vbits_float(pl_vconst_int(0x7f800000))));
  return pl_vselect(whole, x, pl_vmul(x, pl_vrsqrt(x)));
}
UNARY(pl_sqrt, square_root(x))
