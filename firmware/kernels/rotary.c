/* SPDX-License-Identifier: MIT */
#include "rotary.h"

#include "blocks.h"

enum { BLOCK_BYTES = 32 << 10 };

/* Halves of x, cos, sin, halves of o. */
PL_VECTOR_FN(rotate, 6, 0) {
  /* In an order in which products begin while later operands are being loaded. */
  const pl_v a = pl_vload(PL_REF(0)), cosine = pl_vload(PL_REF(2));
  const pl_v a_cosine = pl_vmul(a, cosine);
  const pl_v b = pl_vload(PL_REF(1)), b_cosine = pl_vmul(b, cosine), sine = pl_vload(PL_REF(3));
  pl_vstore(PL_REF(4), pl_vsub(a_cosine, pl_vmul(b, sine)));
  pl_vstore(PL_REF(5), pl_vadd(b_cosine, pl_vmul(a, sine)));
}

static void body(void) {
  pl_vrun(rotate, PL_REFS(pl_input(0), pl_input(1), pl_input(2), pl_input(3), pl_output(0), pl_output(1)),
          PL_NO_SCALARS);
}

static void half_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
  b[1].start = g->id[0];
}

static void angle_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* Halves of rows as arrays of their own, one between the rows of the other: makes a the first. */
static pl_array second_half(pl_array *a) {
  a->shape[2] /= 2;
  pl_array second = *a;
  second.address += (uint32_t)a->shape[2] * pl_dtype_bytes(a->dtype);
  return second;
}

pl_status kernel_rotary(pl_array x, pl_array cosine, pl_array sine, pl_array o, int32_t rows) {
  if (x.rank != 3 || o.rank != 3 || o.shape[0] != x.shape[0] || o.shape[1] != x.shape[1] ||
      o.shape[2] != x.shape[2])
    return pl_error(PL_ERROR_SHAPE,
                    "rotary: x and o [H,T,D] of the same shape are needed; rank %d and %d, x %d x %d x %d",
                    x.rank, o.rank, (int)x.shape[0], (int)x.shape[1], (int)x.shape[2]);
  const int32_t heads = x.shape[0], positions = x.shape[1], half = x.shape[2] / 2;
  if (x.shape[2] % 2 != 0)
    return pl_error(PL_ERROR_SHAPE, "rotary: heads of %d elements; an even number is needed",
                    (int)x.shape[2]);
  if (cosine.rank != 2 || sine.rank != 2 || cosine.shape[0] != positions || sine.shape[0] != positions ||
      cosine.shape[1] != half || sine.shape[1] != half)
    return pl_error(PL_ERROR_SHAPE, "rotary: cosine is %d x %d, sine %d x %d; [%d,%d] is right",
                    (int)cosine.shape[0], (int)cosine.shape[1], (int)sine.shape[0], (int)sine.shape[1],
                    (int)positions, (int)half);
  if (!pl_is_float(x.dtype) || !pl_is_float(o.dtype) || !pl_is_float(cosine.dtype) ||
      !pl_is_float(sine.dtype))
    return pl_error(PL_ERROR_SHAPE, "rotary: x is %s, o %s, cosine %s, sine %s; each must be f32 or bf16",
                    pl_dtype_name(x.dtype), pl_dtype_name(o.dtype), pl_dtype_name(cosine.dtype),
                    pl_dtype_name(sine.dtype));
  if (x.space != PL_HBM || o.space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "rotary: x and o must be in HBM");
  const int32_t fitting = BLOCK_BYTES / (int32_t)pl_dtype_bytes(x.dtype) / x.shape[2];
  const pl_status status = blocks_rows("rotary", &rows, fitting, 1, positions);
  if (status != PL_OK)
    return status;
  const bool in_place = x.address == o.address && x.dtype == o.dtype;
  const pl_array x2 = second_half(&x), o2 = second_half(&o);
  const pl_block_spec block = {PL_DIMS(1, rows, half), .map = half_map, .kind = {PL_SQUEEZED}};
  pl_block_spec first = block, second = block;
  first.alias = in_place ? PL_ALIAS(0) : 0;
  second.alias = in_place ? PL_ALIAS(1) : 0;
  const pl_kernel kernel = {
      .name = "rotary",
      .body = body,
      .grid = PL_GRID(pl_cdiv(positions, rows), heads),
      .dimension_semantics = {PL_PARALLEL, PL_PARALLEL},
      .in = {&block, &block, PL_BLOCK(angle_map, rows, half), PL_BLOCK(angle_map, rows, half)},
      .out = {&first, &second},
      /* Six operations a pair, and the time of one in which transfers use the banks. */
      .cost = {.vector_elements = 7 * (uint64_t)heads * (uint32_t)positions * (uint32_t)half,
               .instructions = (uint64_t)(uint32_t)pl_cdiv(positions, rows) * (uint32_t)heads * 700},
  };
  return pl_call(&kernel, PL_ARGS(x, x2, cosine, sine), PL_RESULTS(o, o2));
}
