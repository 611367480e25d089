/* SPDX-License-Identifier: MIT */
/*
 * Rows that do not fit on the chip: blocks of columns, and as many passes over a block of rows as the kernel
 * needs, each of which fetches x again. What is known of a row is kept in columns from block to block and
 * from pass to pass; only the last pass writes the result.
 */
#include "rows.h"

#include "boot.h"
#include "device.h"

enum {
  BLOCK_ROWS = 16,
  BUFFERS = 3, /* of x and o each: blocks of them take three quarters of VMEM if both are f32 */
};

/* The running call. */
static struct {
  const struct rows_kernel *kernel;
  pl_scalars scalars;
  int32_t columns, block; /* of the array, of a block of it */
} shared;

static void x_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[2];
}

static bool is_last_pass(const pl_grid *g) {
  return g->id[1] == g->extent[1] - 1;
}

/* Until the last pass the first block stays, which it then begins with. */
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = is_last_pass(g) ? g->id[2] : 0;
}

static void parameter_map(const pl_grid *g, pl_index *b) {
  b[0].start = is_last_pass(g) ? g->id[2] : 0;
}

PL_VECTOR_FN(rows_start, 1, 1) {
  pl_vstore(PL_REF(0), pl_vscalar(0));
}

static void body(void) {
  const struct rows_wide *const w = shared.kernel->wide;
  const int32_t pass = pl_program_id(1), block = pl_program_id(2), parameters = shared.kernel->parameters,
                left = shared.columns - block * shared.block;
  pl_scalar scalars[ROWS_MAX_SCALARS + 1];
  pl_ref refs[PL_MAX_VECTOR_REFS];
  uint32_t n = 0;

  refs[n++] = pl_input(0);
  refs[n++] = pl_output(0);
  for (int32_t i = 0; i < parameters; i++)
    refs[n++] = pl_input(1 + i);
  for (int32_t i = 0; i < w->states; i++) {
    refs[n] = pl_scratch(i);
    if (pass == 0 && block == 0)
      pl_vrun(rows_start, PL_REFS(refs[n]), PL_SCALARS((pl_scalar){.value = w->start[i]}));
    n++;
  }
  for (uint32_t i = 0; i < shared.scalars.count; i++)
    scalars[i] = shared.scalars.scalar[i];
  scalars[shared.scalars.count] = pl_int(left < shared.block ? left : shared.block);
  pl_vrun(w->pass[pass], (pl_refs){refs, n}, (pl_scalars){scalars, shared.scalars.count + 1});
}

pl_status rows_wide_call(const struct rows_kernel *k, const pl_array *args, const pl_scalar *scalar,
                         const pl_array *o) {
  const int32_t rows = o->shape[0], columns = o->shape[1];
  const int32_t lanes = (int32_t)boot_params.value[TPU_PARAM_LANES];
  const int32_t room = (int32_t)boot_params.value[TPU_PARAM_VMEM_BYTES] / 4 * 3;
  const int32_t block = room / (2 * BUFFERS * BLOCK_ROWS * 4) / lanes * lanes;
  const pl_block_spec parameter = {.rank = 1, .shape = {block}, .map = parameter_map};
  const pl_scratch_spec *const state = PL_VMEM(PL_F32, BLOCK_ROWS, 1);
  pl_kernel kernel = {
      .name = k->name,
      .body = body,
      .grid = PL_GRID(pl_cdiv(rows, BLOCK_ROWS), k->wide->passes, pl_cdiv(columns, block)),
      .in = {PL_SPEC(PL_DIMS(BLOCK_ROWS, block), .map = x_map, .buffer_count = BUFFERS,
                     .pad_value = k->wide->pad)},
      .out = {PL_BUFFERED(BUFFERS, o_map, BLOCK_ROWS, block)},
      .cost = {.vector_elements = (uint64_t)k->wide->operations * (uint32_t)rows * (uint32_t)columns,
               .vector_steps = true},
  };
  for (unsigned i = 0; i < k->parameters; i++)
    kernel.in[1 + i] = &parameter;
  for (unsigned i = 0; i < k->wide->states; i++)
    kernel.scratch[i] = state;
  shared.kernel = k;
  shared.scalars = (pl_scalars){scalar, k->scalars};
  shared.columns = columns;
  shared.block = block;
  return pl_call(&kernel, (pl_arrays){args, 1u + k->parameters}, (pl_arrays){o, 1});
}
