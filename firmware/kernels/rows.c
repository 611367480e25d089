/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include "boot.h"
#include "device.h"
#include "tuned.h"

enum {
  TILE_ROWS = 8,         /* what the vector unit works on at a time */
  BLOCK_ELEMENTS = 8192, /* of a block where rows are short */
  BUFFERS = 3,           /* of x and o, if they fit */
  STEP_CYCLES = 60,      /* of the vector unit for a block beside the ALU's operations, for predictions */
  MAX_SCRATCH = ROWS_MAX_PARAMETERS + 2 * ROWS_MAX_STAGES - 1,
};

/* The running call. */
static struct {
  const struct rows_kernel *kernel;
  pl_scalars scalars;
  int32_t blocks;
  bool wide; /* rows do not fit on the chip */
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

/* Scratch: parameters, accumulators, columns. */
static void body(void) {
  const struct rows_kernel *const k = shared.kernel;
  const int32_t step = pl_program_id(0), scratches = k->parameters + k->accumulators + k->stages - 1,
                behind = step - (shared.blocks - 1), last = k->stages - 1;
  pl_ref refs[PL_MAX_VECTOR_REFS];

  refs[0] = pl_input(0);
  refs[1] = pl_output(0);
  for (int32_t i = 0; i < scratches; i++)
    refs[2 + i] = pl_scratch(i);
  for (int32_t i = 0; step == 0 && i < k->parameters; i++)
    pl_vrun(rows_copy, PL_REFS(pl_input(1 + i), refs[2 + i]), PL_NO_SCALARS);
  pl_vrun(k->step[behind > 0 ? behind : 0][step < last ? step : last],
          (pl_refs){refs, 2u + (uint32_t)scratches}, shared.scalars);
}

/* ---- the call ---- */

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
  if (!pl_is_float(x->dtype) || !pl_is_float(o->dtype))
    return pl_error(PL_ERROR_SHAPE, "%s: x is %s and o %s; each must be f32 or bf16", k->name,
                    pl_dtype_name((pl_dtype)x->dtype), pl_dtype_name((pl_dtype)o->dtype));
  if (x->space != PL_HBM || o->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "%s: x and o must be in HBM", k->name);
  for (unsigned i = 0; i < k->parameters; i++) {
    const pl_array *p = parameter[i];
    if (p->rank != 1 || p->shape[0] != x->shape[x->rank - 1] || !pl_is_float(p->dtype))
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

/* What a call looks like, by which the plan of the last one is known again. */
struct form {
  const struct rows_kernel *kernel;
  int32_t rows, columns;
  uint32_t dtypes; /* a byte each: o, x, the parameters */
  uint32_t tuned;  /* tuned_changes */
};

/* The kernel and its specs: some hundred words, of which few change from call to call. */
static pl_block_spec x_spec = {.rank = 2, .map = x_map}, o_spec = {.rank = 2, .map = o_map};
static pl_scratch_spec accumulator = {.space = PL_ACC, .dtype = PL_F32, .shape.rank = 2},
                       column = {.space = PL_VMEM, .dtype = PL_F32, .shape.rank = 2},
                       parameter_scratch = {.space = PL_ACC, .dtype = PL_F32, .shape.rank = 2};
static pl_kernel kernel = {.body = body, .grid.rank = 1, .in = {&x_spec}, .out = {&o_spec}};

static uint32_t bytes_of(const struct form *form, unsigned i) {
  return pl_dtype_bytes((pl_dtype)(form->dtypes >> 8 * i & 0xff));
}

/* Whether `rows` rows of so many tiles fit, with that many buffers of x and o. */
static bool fits(const struct form *form, uint32_t tiles, uint32_t rows, uint32_t buffers) {
  const struct rows_kernel *const k = form->kernel;
  const uint32_t *const p = boot_params.value, lanes = p[TPU_PARAM_LANES];
  uint32_t bytes = buffers * rows * (bytes_of(form, 0) + bytes_of(form, 1));

  for (unsigned i = 0; i < k->parameters; i++)
    bytes += bytes_of(form, 2 + i);
  return (k->accumulators * rows + k->parameters) * tiles <= p[TPU_PARAM_ACC_ROWS] &&
         (bytes * tiles + (k->stages - 1u) * rows * 4) * lanes <= p[TPU_PARAM_VMEM_BYTES];
}

/* Makes `kernel` fit the form, or finds that rows do not fit on the chip. */
static void plan(const struct form *form) {
  const struct rows_kernel *const k = form->kernel;
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES];
  const uint32_t tiles = ((uint32_t)form->columns + lanes - 1) / lanes;
  int32_t block = BLOCK_ELEMENTS / form->columns / TILE_ROWS * TILE_ROWS;
  uint8_t buffers = BUFFERS;
  unsigned n = 0;
  const uint16_t *const tuned =
      tuned_find((enum tuned_kernel)k->tuned, form->dtypes >> 8 & 0xff, PL_SHAPE(form->rows, form->columns));

  if (block < k->least_rows)
    block = k->least_rows;
  if (block > form->rows)
    block = pl_cdiv(form->rows, TILE_ROWS) * TILE_ROWS;
  if (tuned != NULL) {
    block = tuned[0];
    buffers = (uint8_t)tuned[1];
  } else if (!fits(form, tiles, (uint32_t)block, buffers)) {
    block = TILE_ROWS;
  }
  while (tuned == NULL && buffers > 0 && !fits(form, tiles, (uint32_t)block, buffers))
    buffers--;
  shared.wide = buffers == 0;
  if (shared.wide)
    return;
  shared.kernel = k;
  shared.blocks = pl_cdiv(form->rows, block);
  kernel.name = k->name;
  kernel.grid.extent[0] = shared.blocks + k->stages - 1;
  kernel.cost = (pl_cost_estimate){
      .vector_elements = (uint64_t)kernel.grid.extent[0] *
                         ((uint32_t)(k->operations * block * form->columns) + STEP_CYCLES * lanes),
      .vector_steps = true};
  x_spec.buffer_count = o_spec.buffer_count = buffers;
  x_spec.shape[0] = o_spec.shape[0] = accumulator.shape.extent[0] = column.shape.extent[0] = block;
  x_spec.shape[1] = o_spec.shape[1] = accumulator.shape.extent[1] = parameter_scratch.shape.extent[1] =
      form->columns;
  parameter_scratch.shape.extent[0] = column.shape.extent[1] = 1;
  for (unsigned i = 0; i < k->parameters; i++)
    kernel.scratch[n++] = &parameter_scratch;
  for (unsigned i = 0; i < k->accumulators; i++)
    kernel.scratch[n++] = &accumulator;
  for (unsigned i = 1; i < k->stages; i++)
    kernel.scratch[n++] = &column;
  while (n < MAX_SCRATCH)
    kernel.scratch[n++] = NULL;
}

pl_status rows_call(const struct rows_kernel *k, const pl_array *x, const pl_array *const *parameter,
                    const pl_scalar *scalar, const pl_array *o) {
  static struct form last;
  pl_array args[1 + ROWS_MAX_PARAMETERS], result;
  const pl_status status = check(k, x, parameter, o);

  if (status != PL_OK)
    return status;
  fold(x, &args[0]);
  fold(o, &result);
  struct form form = {k, result.shape[0], result.shape[1], o->dtype | (uint32_t)x->dtype << 8, tuned_changes};
  for (unsigned i = 0; i < k->parameters; i++) {
    args[1 + i] = *parameter[i];
    form.dtypes |= (uint32_t)parameter[i]->dtype << (16 + 8 * i);
  }
  if (form.kernel != last.kernel || form.rows != last.rows || form.columns != last.columns ||
      form.dtypes != last.dtypes || form.tuned != last.tuned) {
    plan(&form);
    last = form;
  }
  if (shared.wide)
    return rows_wide_call(k, args, scalar, &result);
  shared.scalars = (pl_scalars){scalar, k->scalars};
  return pl_call(&kernel, (pl_arrays){args, 1u + k->parameters}, PL_RESULTS(result));
}
