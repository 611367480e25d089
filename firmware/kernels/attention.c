/* SPDX-License-Identifier: MIT */
#include "attention.h"

/*
 * Bits of 1 / sqrt(n), cut off; n > 0. Whole numbers alone, as everywhere in the kernels: the scalar core
 * has no floating point unit, and code for it costs memory.
 */
static uint32_t reciprocal_root(uint32_t n) {
  uint64_t square = (1u << 30) / n; /* 2^60 / n, by digits of 15 bits */
  uint32_t rest = (1u << 30) % n, root = 0;

  for (int i = 0; i < 2; i++, rest %= n) {
    rest <<= 15;
    square = square << 15 | rest / n;
  }
  for (uint32_t bit = 1u << 30; bit != 0; bit >>= 1)
    if ((uint64_t)(root + bit) * (root + bit) <= square)
      root += bit;
  uint32_t exponent = 127 + 1;
  for (; !(root >> 31); root <<= 1)
    exponent--;
  return exponent << 23 | (root >> 8 & 0x7fffff);
}

pl_status attention_scale(const char *kernel, float scale, int32_t columns, pl_scalar *scalar) {
  const uint32_t bits = pl_float_bits(scale);

  if (bits > 0x7f7fffff)
    return pl_error(PL_ERROR_ARGUMENT,
                    "%s: scale 0x%08x (bits of f32); a finite number above 0 is right, or 0 for"
                    " 1 / sqrt(columns)",
                    kernel, (unsigned)bits);
  *scalar = pl_int((int32_t)(bits != 0 ? bits : reciprocal_root((uint32_t)columns)));
  return PL_OK;
}

/* O = alpha O + P . V */
PL_VECTOR_FN(update, 3, 0) {
  const pl_v alpha = pl_vload(PL_REF(2));
  PL_FOR_LANES() pl_vstore(PL_REF(0), pl_vfma(pl_vload(PL_REF(0)), alpha, pl_vload(PL_REF(1))));
}
/* The result: the same, divided by the sum of the weights. */
PL_VECTOR_FN(finish, 5, 0) {
  const pl_v alpha = pl_vload(PL_REF(3)), part = pl_vrecip(pl_vload(PL_REF(4)));
  PL_FOR_LANES()
  pl_vstore(PL_REF(0), pl_vmul(pl_vfma(pl_vload(PL_REF(1)), alpha, pl_vload(PL_REF(2))), part));
}
/* With one block of keys there is nothing to add to. */
PL_VECTOR_FN(finish_one, 3, 0) {
  const pl_v part = pl_vrecip(pl_vload(PL_REF(2)));
  PL_FOR_LANES() pl_vstore(PL_REF(0), pl_vmul(pl_vload(PL_REF(1)), part));
}

void attention_update(const struct attention_update *u) {
  if (!u->last) {
    if (!u->first)
      pl_vrun(update, PL_REFS(u->sum, u->product, u->alpha), PL_NO_SCALARS);
  } else if (!u->first) {
    pl_vrun(finish, PL_REFS(u->o, u->sum, u->product, u->alpha, u->total), PL_NO_SCALARS);
  } else {
    pl_vrun(finish_one, PL_REFS(u->o, u->sum, u->total), PL_NO_SCALARS);
  }
}
