/* SPDX-License-Identifier: MIT */
/* Vector functions on all dtypes: loads as f32 and int32, rounding and saturating stores, int32 arithmetic.
 */
#include "vector_fn_int.h"
#include "device.h"

/* ---- dtypes: x of int8 or uint8 times 2.5, to all float and byte types; int32 arithmetic ---- */
PL_VECTOR_FN(scale, 2, 1) {
  pl_vstore(PL_REF(1), pl_vmul(pl_vload_float(PL_REF(0)), pl_vscalar(0)));
}
PL_VECTOR_FN(mix, 2, 0) {
  pl_vstore(PL_REF(1), mix_of(pl_vload(PL_REF(0))));
}
static void scale_body(void) {
  pl_vrun(scale, PL_REFS(pl_input(0), pl_output(0)), PL_SCALARS(pl_float(2.5f)));
}
static void mix_body(void) {
  pl_vrun(mix, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
static int32_t nearest_even(int32_t halves) { /* of halves / 2 */
  return halves % 2 == 0 ? halves / 2 : (halves + 1) / 2 % 2 == 0 ? (halves + 1) / 2 : (halves - 1) / 2;
}
static void test_dtypes(void) {
  static const pl_dtype to[] = {PL_F32, PL_BF16, PL_INT8, PL_UINT8};
  enum { ROWS = 11, COLUMNS = 19 };
  for (int t = 0; t < 8; t++) {
    const bool is_unsigned = t >= 4;
    arrays(is_unsigned ? PL_UINT8 : PL_INT8, to[t % 4], ROWS, COLUMNS);
    run("scale", scale_body);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
      const int32_t value = is_unsigned ? (uint8_t)*x8(i) : *x8(i);
      const float real = (float)value * 2.5f;
      uint32_t bits;
      memcpy(&bits, &real, 4);
      const int32_t whole = nearest_even(value * 5);
      if (t % 4 == 0)
        check("f32", i, *o32(i), (int32_t)bits);
      else if (t % 4 == 1)
        check("bf16", i, ((uint16_t *)pl_hbm_pointer(&o))[i],
              (int32_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
      else if (t % 4 == 2)
        check("int8", i, ((int8_t *)pl_hbm_pointer(&o))[i], whole > 127 ? 127 : whole < -128 ? -128 : whole);
      else
        check("uint8", i, ((uint8_t *)pl_hbm_pointer(&o))[i], whole > 255 ? 255 : whole < 0 ? 0 : whole);
    }
  }
  arrays(PL_INT32, PL_INT32, ROWS, COLUMNS);
  run("mix", mix_body);
  for (int i = 0; i < ROWS * COLUMNS; i++)
    check("mix", i, *o32(i), mixed(*x32(i)));
}

/* ---- two carried values that change places, over five tiles of columns, the last one ragged or not ---- */
PL_VECTOR_FN(crosswise, 2, 0) {
  pl_v a = pl_vconst_int(0), b = pl_vconst_int(1);
  PL_FOR_LANES(&a, &b) {
    pl_v next = pl_vadd(pl_vadd(a, b), pl_vload(PL_REF(0)));
    a = b;
    b = next;
  }
  pl_vstore(PL_REF(1), pl_vadd(pl_vsum_lanes(a), pl_vmax_lanes(b)));
}
static void crosswise_body(void) {
  pl_vrun(crosswise, PL_REFS(pl_input(0), pl_at(pl_output(0), PL_ALL, PL_DS(0, 1))), PL_NO_SCALARS);
}
static void test_crosswise(int32_t columns) {
  const int32_t lanes = (int32_t)boot_params.value[TPU_PARAM_LANES];
  arrays(PL_INT32, PL_INT32, 20, columns);
  run("crosswise", crosswise_body);
  for (int r = 0; r < 20; r++) {
    int32_t sum = 0, most = INT32_MIN;
    for (int l = 0; l < lanes; l++) {
      int32_t a = 0, b = 1;
      for (int c = l; c < columns; c += lanes) {
        const int32_t next = a + b + *x32(r * columns + c);
        a = b;
        b = next;
      }
      sum += a;
      most = b > most ? b : most;
    }
    check("crosswise", r, *o32(r * columns), sum + most);
  }
}

int main(void) {
  test_crosswise(80);
  test_crosswise(75);
  test_dtypes();
  return verdict("dtypes of vector functions");
}
