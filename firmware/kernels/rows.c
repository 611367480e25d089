/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "boot.h"
#include "device.h"
#include "tuned.h"

enum {
  TILE_ROWS = 8,         /* what the vector unit works on at a time */
  BLOCK_ELEMENTS = 8192, /* of a block where rows are short */
  BUFFERS = 3,           /* of x and o, if they fit */
};

/* The running call. */
static struct {
  const struct rows_kernel *kernel;
  pl_scalars scalars;
  int32_t blocks;
} shared;

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] < shared.blocks ? g->id[0] : shared.blocks - 1;
}

/* The last stage is that many steps behind. */
static void o_map(const pl_grid *g, pl_index *b) {
  const int32_t late = shared.kernel->stages - 1;
  b[0].start = g->id[0] > late ? g->id[0] - late : 0;
}

PL_VECTOR_FN(rows_copy, 2, 0) {
  pl_vstore(PL_REF(1), pl_vload(PL_REF(0)));
}

/* Scratch: accumulators, columns, parameters. */
static void body(void) {
  const struct rows_kernel *const k = shared.kernel;
  const int32_t step = pl_program_id(0), columns = k->accumulators, parameters = columns + k->stages - 1;
  pl_ref refs[PL_MAX_VECTOR_REFS];
  uint32_t n = 0, which = 0;

  refs[n++] = pl_input(0);
  refs[n++] = pl_output(0);
  for (int32_t i = 0; i < k->parameters; i++) {
    refs[n] = pl_scratch(parameters + i);
    if (step == 0)
      pl_vrun(rows_copy, PL_REFS(pl_input(1 + i), refs[n]), PL_NO_SCALARS);
    n++;
  }
  for (int32_t i = 0, slot = step % k->stages; i < k->accumulators; i++) {
    refs[n++] = pl_scratch(slot);
    slot = (slot == 0 ? k->accumulators : slot) - 1;
  }
  for (int32_t i = 0; i < k->stages - 1; i++)
    refs[n++] = pl_scratch(columns + i);
  for (int32_t i = 0; i < k->stages; i++)
    if (step >= i && step - i < shared.blocks)
      which |= 1u << i;
  pl_vrun(k->step[which], (pl_refs){refs, n}, shared.scalars);
}

/* ---- the call ---- */

static bool is_float(const pl_array *a) {
  return a->dtype == PL_F32 || a->dtype == PL_BF16;
}

static pl_status check(const struct rows_kernel *k, const pl_array *x, const pl_array *const *parameter,
                       const pl_array *o) {
  bool same = x->rank == o->rank && x->rank > 0;

  for (unsigned d = 0; same && d < x->rank; d++)
    same = x->shape[d] == o->shape[d];
  if (!same)
    return pl_error(
        PL_ERROR_SHAPE,
        "%s: x and o must have the same shape; their ranks are %u and %u, their columns %d and %d", k->name,
        x->rank, o->rank, x->rank > 0 ? (int)x->shape[x->rank - 1] : 0,
        o->rank > 0 ? (int)o->shape[o->rank - 1] : 0);
  if (!is_float(x) || !is_float(o))
    return pl_error(PL_ERROR_SHAPE, "%s: x is %s and o %s; each must be f32 or bf16", k->name,
                    pl_dtype_name((pl_dtype)x->dtype), pl_dtype_name((pl_dtype)o->dtype));
  if (x->space != PL_HBM || o->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "%s: x and o must be in HBM", k->name);
  for (unsigned i = 0; i < k->parameters; i++) {
    const pl_array *p = parameter[i];
    if (p->rank != 1 || p->shape[0] != x->shape[x->rank - 1] || !is_float(p))
      return pl_error(
          PL_ERROR_SHAPE,
          "%s: %s must be f32 or bf16 [%d], one value for each column of x; it is %s of rank %u, [%d]",
          k->name, k->parameter_name[i], (int)x->shape[x->rank - 1], pl_dtype_name((pl_dtype)p->dtype),
          p->rank, (int)p->shape[0]);
  }
  return PL_OK;
}

/* An array as rows of columns. */
static void fold(const pl_array *a, pl_array *folded) {
  const unsigned last = a->rank - 1u;
  int32_t rows = 1;

  for (unsigned d = 0; d < last; d++)
    rows *= a->shape[d];
  *folded = (pl_array){.address = a->address,
                       .pitch = a->pitch,
                       .shape = {rows, a->shape[last]},
                       .rank = 2,
                       .dtype = a->dtype,
                       .space = a->space};
}

/* What a block of that many rows needs, against what there is. */
struct needs {
  uint32_t tiles;     /* of columns */
  uint32_t row_bytes; /* of x and o in VMEM */
  uint32_t fixed;     /* of parameters in VMEM */
};

static bool fits(const struct rows_kernel *k, const struct needs *needs, uint32_t rows, uint32_t buffers) {
  const uint32_t *p = boot_params.value;
  return (k->accumulators * rows + k->parameters) * needs->tiles <= p[TPU_PARAM_ACC_ROWS] &&
         buffers * rows * needs->row_bytes + needs->fixed <= p[TPU_PARAM_VMEM_BYTES];
}

static void measure(const struct rows_kernel *k, const pl_array *x, const pl_array *const *parameter,
                    const pl_array *o, int32_t columns, struct needs *needs) {
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES];

  needs->tiles = ((uint32_t)columns + lanes - 1) / lanes;
  needs->row_bytes =
      needs->tiles * lanes * (pl_dtype_bytes((pl_dtype)x->dtype) + pl_dtype_bytes((pl_dtype)o->dtype));
  /* Columns between stages have one tile. */
  needs->fixed = (k->stages - 1u) * k->least_rows * lanes * 4;
  for (unsigned i = 0; i < k->parameters; i++)
    needs->fixed += needs->tiles * lanes * pl_dtype_bytes((pl_dtype)parameter[i]->dtype);
}

static pl_status too_wide(const struct rows_kernel *k, const pl_array *x, const pl_array *const *parameter,
                          const pl_array *o, int32_t columns) {
  const int32_t lanes = (int32_t)boot_params.value[TPU_PARAM_LANES];
  struct needs needs;
  int32_t most = columns;

  do {
    most = (most - 1) / lanes * lanes;
    measure(k, x, parameter, o, most, &needs);
  } while (most > 0 && !fits(k, &needs, TILE_ROWS, 1));
  return pl_error(PL_ERROR_LIMIT, "%s: rows of %d columns; %d rows of at most %d columns fit on the chip",
                  k->name, (int)columns, TILE_ROWS, (int)most);
}

pl_status rows_call(const struct rows_kernel *k, const pl_array *x, const pl_array *const *parameter,
                    const pl_scalar *scalar, const pl_array *o) {
  const pl_status status = check(k, x, parameter, o);
  pl_array args[1 + ROWS_MAX_PARAMETERS], result;
  struct needs needs;

  if (status != PL_OK)
    return status;
  fold(x, &args[0]);
  fold(o, &result);
  for (unsigned i = 0; i < k->parameters; i++)
    args[1 + i] = *parameter[i];
  shared.scalars = (pl_scalars){scalar, k->scalars};
  const int32_t rows = result.shape[0], columns = result.shape[1];
  int32_t block = BLOCK_ELEMENTS / columns / TILE_ROWS * TILE_ROWS;
  uint8_t buffers = BUFFERS;
  const uint16_t *tuned = tuned_find((enum tuned_kernel)k->tuned, x->dtype, PL_SHAPE(rows, columns));
  if (block < k->least_rows)
    block = k->least_rows;
  if (block > rows)
    block = pl_cdiv(rows, TILE_ROWS) * TILE_ROWS;
  if (tuned != NULL) {
    block = tuned[0];
    buffers = (uint8_t)tuned[1];
  }
  measure(k, x, parameter, o, columns, &needs);
  if (tuned == NULL && !fits(k, &needs, (uint32_t)block, buffers))
    block = TILE_ROWS;
  while (tuned == NULL && buffers > 0 && !fits(k, &needs, (uint32_t)block, buffers))
    buffers--;
  if (buffers == 0)
    return too_wide(k, x, parameter, o, columns);

  pl_kernel kernel = {
      .name = k->name,
      .body = body,
      .grid = PL_GRID(pl_cdiv(rows, block) + k->stages - 1),
      .in = {PL_BUFFERED(buffers, x_map, block, columns)},
      .out = {PL_BUFFERED(buffers, o_map, block, columns)},
      .cost = {.vector_elements = (uint64_t)k->operations * (uint32_t)rows * (uint32_t)columns},
  };
  const pl_scratch_spec *const accumulator = PL_ACC(PL_F32, block, columns),
                               *const column = PL_VMEM(PL_F32, block, 1),
                               *const one = PL_ACC(PL_F32, 1, columns);
  unsigned n = 0;
  for (unsigned i = 0; i < k->accumulators; i++)
    kernel.scratch[n++] = accumulator;
  for (unsigned i = 1; i < k->stages; i++)
    kernel.scratch[n++] = column;
  for (unsigned i = 0; i < k->parameters; i++)
    kernel.scratch[n++] = one;
  shared.kernel = k;
  shared.blocks = pl_cdiv(rows, block);
  return pl_call(&kernel, (pl_arrays){args, 1u + k->parameters}, PL_RESULTS(result));
}
