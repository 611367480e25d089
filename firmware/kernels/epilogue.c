/* SPDX-License-Identifier: MIT */
#include "epilogue.h"

static unsigned recorded; /* parts of the launch, and so of a recording that it needs */

/* 2 sqrt(2 / pi) and 0.044715 times that */
#define GELU_LINEAR 1.59576912160573071f
#define GELU_CUBIC  0.0713548162726009f

static pl_v activation(pl_v v) {
  switch (recorded >> EPILOGUE_ACTIVATION_SHIFT) {
  case MATMUL_RELU:
    return pl_vmax(v, pl_vzero());
  case MATMUL_GELU: {
    const pl_v slope = pl_vfma(pl_vmul(v, v), pl_vconst(GELU_CUBIC), pl_vconst(GELU_LINEAR));
    return pl_vmul(v, pl_vsigmoid(pl_vmul(v, slope)));
  }
  case MATMUL_SILU:
    return pl_vmul(v, pl_vsigmoid(v));
  default:
    return v;
  }
}

/* One tile, stored; returns what it was before rounding. */
static pl_v tile(void) {
  unsigned ref = 2;
  pl_v v = pl_vload(PL_REF(0));

  if (recorded & EPILOGUE_INT_SUMS)
    v = pl_vfloat(v);
  const pl_v scale = recorded & EPILOGUE_SCALE ? pl_vload(PL_REF(ref)) : PL_VNONE;
  ref += (recorded & EPILOGUE_SCALE) != 0;
  const pl_v bias = recorded & EPILOGUE_BIAS ? pl_vload(PL_REF(ref)) : PL_VNONE;
  ref += (recorded & EPILOGUE_BIAS) != 0;
  if ((recorded & EPILOGUE_SCALE) && (recorded & EPILOGUE_BIAS))
    v = pl_vfma(v, scale, bias);
  else if (recorded & EPILOGUE_SCALE)
    v = pl_vmul(v, scale);
  else if (recorded & EPILOGUE_BIAS)
    v = pl_vadd(v, bias);
  v = activation(v);
  if (recorded & EPILOGUE_RESIDUAL)
    v = pl_vadd(v, pl_vload(PL_REF(ref)));
  pl_vstore(PL_REF(1), recorded & EPILOGUE_QUANTISE ? pl_vmul(v, pl_vscalar(0)) : v);
  return v;
}

/*
 * The scalars: quantise, if it is there; then, with sums of rows, whether to add to what they are, and, at an
 * edge, how many columns count.
 */
static void record(void) {
  if (!(recorded & EPILOGUE_ROWS)) {
    tile();
    return;
  }
  const unsigned scalar = (recorded & EPILOGUE_QUANTISE) != 0, ref = 2 + ((recorded & EPILOGUE_SCALE) != 0) +
                                                                     ((recorded & EPILOGUE_BIAS) != 0) +
                                                                     ((recorded & EPILOGUE_RESIDUAL) != 0);
  pl_v sum = pl_vconst(0), squares = pl_vconst(0);
  PL_FOR_LANES(&sum, &squares) {
    pl_v v = tile();
    if (recorded & EPILOGUE_EDGE)
      v = pl_vselect(pl_vlt(pl_viota_columns(), pl_vbits_int(pl_vscalar(scalar + 1))), v, pl_vconst(0));
    sum = pl_vadd(sum, v);
    squares = pl_vfma(v, v, squares);
  }
  sum = pl_vsum_lanes(sum);
  squares = pl_vsum_lanes(squares);
  const pl_v more = pl_vbits_int(pl_vscalar(scalar));
  pl_vstore(PL_REF(ref), pl_vadd(sum, pl_vselect(more, pl_vload(PL_REF(ref)), pl_vconst(0))));
  pl_vstore(PL_REF(ref + 1), pl_vadd(squares, pl_vselect(more, pl_vload(PL_REF(ref + 1)), pl_vconst(0))));
}

pl_status epilogue_parts(const struct matmul_epilogue *e, pl_dtype sum, pl_dtype result, unsigned *parts) {
  static const char *const names[] = {"scale", "bias", "residual"};
  const pl_array *const arrays[] = {e->scale, e->bias, e->residual};

  if (e->activation > MATMUL_SILU)
    return pl_error(PL_ERROR_ARGUMENT, "matmul epilogue: activation %d; 0 to %d are possible", e->activation,
                    MATMUL_SILU);
  if ((e->row_sums == NULL) != (e->row_squares == NULL))
    return pl_error(PL_ERROR_ARGUMENT, "matmul epilogue: row_sums and row_squares come both or not at all");
  for (unsigned i = 0; i < 3; i++)
    if (arrays[i] != NULL && !pl_is_float(arrays[i]->dtype))
      return pl_error(PL_ERROR_SHAPE, "matmul epilogue: %s is %s; f32 or bf16 are possible", names[i],
                      pl_dtype_name(arrays[i]->dtype));
  if (e->row_sums != NULL && (e->row_sums->dtype != PL_F32 || e->row_squares->dtype != PL_F32))
    return pl_error(PL_ERROR_SHAPE, "matmul epilogue: row_sums and row_squares must be f32");
  *parts = (e->scale != NULL ? EPILOGUE_SCALE : 0u) | (e->bias != NULL ? EPILOGUE_BIAS : 0u) |
           (e->residual != NULL ? EPILOGUE_RESIDUAL : 0u) | (e->row_sums != NULL ? EPILOGUE_ROWS : 0u) |
           (unsigned)e->activation << EPILOGUE_ACTIVATION_SHIFT |
           (result == PL_INT8 ? EPILOGUE_QUANTISE : 0u);
  if (*parts == 0 && (sum != PL_INT32 || result == PL_INT32))
    return PL_OK; /* a copy */
  if (!pl_is_float(result) && result != PL_INT8)
    return pl_error(PL_ERROR_SHAPE, "matmul epilogue: o is %s; f32, bf16 or int8 are possible",
                    pl_dtype_name(result));
  *parts |= sum == PL_INT32 ? EPILOGUE_INT_SUMS : 0u;
  return PL_OK;
}

/* The function with these parts: one of a few, of which the oldest gives way to a new one. */
static pl_vector_fn *function_of(unsigned parts) {
  enum { FUNCTIONS = 8 };
  static pl_vector_fn functions[FUNCTIONS];
  static uint16_t parts_of[FUNCTIONS];
  static unsigned next;

  for (unsigned i = 0; i < FUNCTIONS; i++)
    if (parts_of[i] == parts)
      return &functions[i];
  pl_vector_fn *const fn = &functions[next % FUNCTIONS];
  if (fn->body != NULL)
    pl_vforget(fn);
  parts_of[next++ % FUNCTIONS] = (uint16_t)parts;
  *fn = (pl_vector_fn){
      .name = "vector function epilogue", .body = record, .refs = parts & EPILOGUE_ROWS ? 4 : 2};
  for (unsigned left = parts & (EPILOGUE_SCALE | EPILOGUE_BIAS | EPILOGUE_RESIDUAL); left != 0;
       left &= left - 1)
    fn->refs++;
  fn->scalars =
      ((parts & EPILOGUE_QUANTISE) != 0) + ((parts & EPILOGUE_ROWS) != 0) + ((parts & EPILOGUE_EDGE) != 0);
  return fn;
}

void epilogue_run(unsigned parts, const struct matmul_epilogue *e, const pl_ref *refs, bool first,
                  int32_t columns) {
  pl_scalar scalars[3];
  unsigned n = 0;

  if (parts == 0) {
    pl_copy(refs[1], refs[0]);
    return;
  }
  pl_vector_fn *const fn = function_of(parts);
  recorded = parts;
  if (parts & EPILOGUE_QUANTISE)
    scalars[n++] = pl_float_bits(e->quantise) << 1 == 0 ? pl_float(1) : pl_float(e->quantise);
  if (parts & EPILOGUE_ROWS)
    scalars[n++] = pl_int(!first);
  if (parts & EPILOGUE_EDGE)
    scalars[n++] = pl_int(columns);
  pl_vrun(fn, (pl_refs){refs, fn->refs}, (pl_scalars){scalars, n});
}
