/* SPDX-License-Identifier: MIT */
/*
 * Every operand says for each of its dimensions which loop it follows; the maps, the shapes of blocks and the
 * traffic all come from that. So the order of the loops is data, and so are a transposed y, a batch that y
 * does not have, and a bias that is one row.
 */
#include "matmul_general.h"

#include "tuned.h"

#include <string.h>

enum loop { LOOP_BATCH, LOOP_ROWS, LOOP_COLUMNS, LOOP_DEPTH, LOOPS, LOOP_NONE = LOOPS };
enum { X, Y, SCALE, BIAS, RESIDUAL, O, ROW_SUMS, ROW_SQUARES, OPERANDS };

struct operand {
  const pl_array *array;     /* NULL: none */
  uint8_t loop[PL_MAX_RANK]; /* enum loop, by dimension */
  uint8_t axis[PL_MAX_RANK]; /* its place in the grid; PL_MAX_GRID: none */
};

/* The running call: what maps and body need. */
static struct product {
  struct operand operand[OPERANDS];
  uint8_t slot[OPERANDS];          /* by slot of the kernel, inputs first: which operand */
  unsigned inputs, outputs, parts; /* parts: of the epilogue */
  int32_t size[LOOPS + 1], block[LOOPS + 1], count[LOOPS + 1]; /* of the loops; LOOP_NONE: 1 */
  uint8_t axis[LOOPS + 1];                                     /* PL_MAX_GRID: not in the grid */
  uint8_t loop[PL_MAX_GRID], rank;                             /* the loop at a place of the grid */
  uint8_t depth, inner; /* axes of K, and of the loop inside it (PL_MAX_GRID: none) */
  unsigned sums;        /* blocks whose sums are in ACC at a time */
  unsigned mode;        /* of the products: transposed, precision */
  const struct matmul_epilogue *epilogue;
} shared;

/*
 * What only the last block of K needs must neither be fetched nor come up for writing before: until then it
 * waits at the first block of the loop inside K.
 */
static void place(unsigned slot, const pl_grid *g, pl_index *b) {
  const struct operand *o = &shared.operand[shared.slot[slot]];
  const bool late = o != &shared.operand[X] && o != &shared.operand[Y] && shared.inner != PL_MAX_GRID &&
                    g->id[shared.depth] != g->extent[shared.depth] - 1;
  for (unsigned d = 0; d < o->array->rank; d++) {
    const unsigned axis = o->axis[d];
    b[d].start = axis == PL_MAX_GRID || (late && axis == shared.inner) ? 0 : g->id[axis];
  }
}

#define MAP(slot_)                                                                                           \
  static void map##slot_(const pl_grid *g, pl_index *b) {                                                    \
    place(slot_, g, b);                                                                                      \
  }
MAP(0)
MAP(1)
MAP(2)
MAP(3)
MAP(4)
MAP(5) MAP(6) MAP(7) static const pl_map maps[OPERANDS] = {map0, map1, map2, map3, map4, map5, map6, map7};

static void body(void) {
  const int32_t k = pl_program_id(shared.depth);
  const pl_ref acc = pl_scratch(shared.inner == PL_MAX_GRID ? 0 : pl_program_id(shared.inner));

  pl_dot(acc, pl_input(0), pl_input(1), (k == 0 ? PL_OVERWRITE : PL_ACCUMULATE) | shared.mode);
  if (k != pl_num_programs(shared.depth) - 1)
    return;
  pl_ref refs[PL_MAX_VECTOR_REFS] = {acc, pl_output(0)};
  unsigned n = 2;
  for (unsigned i = 2; i < shared.inputs; i++)
    refs[n++] = pl_input((int)i);
  for (unsigned i = 1; i < shared.outputs; i++)
    refs[n++] = pl_output((int)i);
  const int32_t block = pl_program_id(shared.axis[LOOP_COLUMNS]);
  epilogue_run(shared.parts, shared.epilogue, refs, block == 0,
               shared.size[LOOP_COLUMNS] - block * shared.block[LOOP_COLUMNS]);
}

/* ---- what a call is, from its arguments ---- */

static void operand(struct product *p, unsigned number, const pl_array *array, unsigned first,
                    unsigned second) {
  struct operand *o = &p->operand[number];
  o->array = array;
  if (array == NULL)
    return;
  const unsigned rank = array->rank;
  o->loop[0] = LOOP_BATCH;
  o->loop[rank - 2] = (uint8_t)first;
  o->loop[rank - 1] = (uint8_t)second;
  p->slot[p->inputs + p->outputs] = (uint8_t)number;
  if (number < O)
    p->inputs++;
  else
    p->outputs++;
}

/* scale and bias: one row or one column stands for all. */
static void broadcast(struct product *p, unsigned number, const pl_array *array) {
  if (array == NULL)
    return;
  const unsigned rows = array->shape[0] == 1 ? LOOP_NONE : LOOP_ROWS,
                 columns = array->shape[1] == 1 ? LOOP_NONE : LOOP_COLUMNS;
  operand(p, number, array, rows, columns);
}

static bool is_shape(const pl_array *a, unsigned rank, const int32_t *batch, int32_t rows, int32_t columns) {
  return a->rank == rank && (rank == 2 || a->shape[0] == *batch) && a->shape[rank - 2] == rows &&
         a->shape[rank - 1] == columns;
}

static pl_status check_shapes(const pl_array *x, const pl_array *y, const pl_array *o, bool transposed) {
  const unsigned rank = x->rank;
  if ((rank == 2 || rank == 3) && y->rank >= 2 && y->rank <= rank && o->rank == rank) {
    const int32_t depth = x->shape[rank - 1], rows = x->shape[rank - 2], columns = o->shape[rank - 1];
    if (is_shape(o, rank, x->shape, rows, columns) &&
        is_shape(y, y->rank, x->shape, transposed ? columns : depth, transposed ? depth : columns))
      return PL_OK;
  }
  return pl_error(
      PL_ERROR_SHAPE,
      "matmul: x [M,K], y %s and o [M,N] are needed, all or x and o with a batch in front; x has rank "
      "%d [%d,%d,%d], y %d [%d,%d,%d], o %d [%d,%d,%d]",
      transposed ? "[N,K]" : "[K,N]", x->rank, (int)x->shape[0], (int)x->shape[1],
      (int)(x->rank > 2 ? x->shape[2] : 0), y->rank, (int)y->shape[0], (int)y->shape[1],
      (int)(y->rank > 2 ? y->shape[2] : 0), o->rank, (int)o->shape[0], (int)o->shape[1],
      (int)(o->rank > 2 ? o->shape[2] : 0));
}

static pl_status check_epilogue(const struct matmul_epilogue *e, const pl_array *o) {
  const int32_t rows = o->shape[o->rank - 2], columns = o->shape[o->rank - 1];
  const struct {
    const char *name;
    const pl_array *array;
    bool whole; /* one row or one column is not enough */
    int32_t columns;
  } part[] = {{"scale", e->scale, false, columns},
              {"bias", e->bias, false, columns},
              {"residual", e->residual, true, columns},
              {"row_sums", e->row_sums, true, 1},
              {"row_squares", e->row_squares, true, 1}};

  for (unsigned i = 0; i < sizeof part / sizeof part[0]; i++) {
    const pl_array *a = part[i].array;
    if (a == NULL || (part[i].whole && is_shape(a, o->rank, o->shape, rows, part[i].columns)) ||
        (!part[i].whole && a->rank == 2 && (a->shape[0] == rows || a->shape[0] == 1) &&
         (a->shape[1] == columns || a->shape[1] == 1)))
      continue;
    return pl_error(PL_ERROR_SHAPE,
                    "matmul epilogue: %s is of rank %d [%d,%d]; for this product [%s%d%s,%d%s] is right",
                    part[i].name, a->rank, (int)a->shape[a->rank > 2], (int)a->shape[a->rank > 2 ? 2 : 1],
                    part[i].whole && o->rank == 3 ? "batch," : "", (int)rows, part[i].whole ? "" : " or 1",
                    (int)part[i].columns, part[i].whole ? "" : " or 1");
  }
  return PL_OK;
}

/* Places of the loops in the grid, and so of every operand's dimensions. */
static void order_loops(struct product *p, bool batch, unsigned order) {
  static const uint8_t loops[MATMUL_ORDERS][3] = {
      [MATMUL_MNK] = {LOOP_ROWS, LOOP_COLUMNS, LOOP_DEPTH},
      [MATMUL_NMK] = {LOOP_COLUMNS, LOOP_ROWS, LOOP_DEPTH},
      [MATMUL_MKN] = {LOOP_ROWS, LOOP_DEPTH, LOOP_COLUMNS},
      [MATMUL_NKM] = {LOOP_COLUMNS, LOOP_DEPTH, LOOP_ROWS},
  };
  memset(p->axis, PL_MAX_GRID, sizeof p->axis);
  p->rank = 0;
  if (batch)
    p->loop[p->rank++] = LOOP_BATCH;
  for (unsigned i = 0; i < 3; i++)
    p->loop[p->rank++] = loops[order][i];
  for (unsigned i = 0; i < p->rank; i++)
    p->axis[p->loop[i]] = (uint8_t)i;
  p->depth = p->axis[LOOP_DEPTH];
  p->inner = p->depth + 1 < p->rank ? p->depth + 1 : PL_MAX_GRID;
  p->sums = p->inner == PL_MAX_GRID ? 1 : (unsigned)p->count[p->loop[p->inner]];
  for (unsigned i = 0; i < OPERANDS; i++)
    if (p->operand[i].array != NULL)
      for (unsigned d = 0; d < p->operand[i].array->rank; d++)
        p->operand[i].axis[d] = p->axis[p->operand[i].loop[d]];
}

static pl_status describe(struct product *p, const pl_array *x, const pl_array *y, const pl_array *o,
                          const struct matmul_options *options) {
  const struct matmul_blocks *blocks = &options->blocks;
  const struct matmul_epilogue *e = &options->epilogue;

  memset(p, 0, sizeof *p);
  pl_status status = check_shapes(x, y, o, options->transposed);
  if (status == PL_OK)
    status = check_epilogue(e, o);
  if (status == PL_OK)
    status = epilogue_parts(e, x->dtype == PL_INT8 ? PL_INT32 : PL_F32, o->dtype, &p->parts);
  if (status != PL_OK)
    return status;
  if (blocks->m <= 0 || blocks->n <= 0 || blocks->k <= 0)
    return pl_error(PL_ERROR_ARGUMENT, "matmul: blocks of %d x %d x %d; each must be at least 1",
                    (int)blocks->m, (int)blocks->n, (int)blocks->k);
  if (options->order >= MATMUL_ORDERS)
    return pl_error(PL_ERROR_ARGUMENT, "matmul: order %d; 0 to %d are possible", options->order,
                    MATMUL_ORDERS - 1);
  if (options->precision != 0 && options->precision != PL_PRECISION_HIGH &&
      options->precision != PL_PRECISION_HIGHEST)
    return pl_error(PL_ERROR_ARGUMENT,
                    "matmul: precision %d; 0, PL_PRECISION_HIGH (%d) or PL_PRECISION_HIGHEST (%d) are right",
                    options->precision, PL_PRECISION_HIGH, PL_PRECISION_HIGHEST);
  p->mode = (options->transposed ? PL_TRANSPOSED : 0u) | options->precision;
  if ((p->parts & EPILOGUE_ROWS) && (options->order == MATMUL_NMK || options->order == MATMUL_NKM))
    return pl_error(
        PL_ERROR_ARGUMENT,
        "matmul: row_sums would be come back to with N as the outer loop; M-N-K and M-K-N are possible");
  p->epilogue = e;
  const int32_t size[LOOPS + 1] = {x->rank == 3 ? x->shape[0] : 1, o->shape[o->rank - 2],
                                   o->shape[o->rank - 1], x->shape[x->rank - 1], 1};
  const int32_t block[LOOPS + 1] = {1, blocks->m, blocks->n, blocks->k, 1};
  for (unsigned i = 0; i <= LOOPS; i++) {
    p->size[i] = size[i];
    p->block[i] = block[i];
    p->count[i] = pl_cdiv(size[i], block[i]);
  }
  if ((p->parts & EPILOGUE_ROWS) && o->shape[o->rank - 1] % blocks->n != 0)
    p->parts |= EPILOGUE_EDGE;
  operand(p, X, x, LOOP_ROWS, LOOP_DEPTH);
  operand(p, Y, y, options->transposed ? LOOP_COLUMNS : LOOP_DEPTH,
          options->transposed ? LOOP_DEPTH : LOOP_COLUMNS);
  broadcast(p, SCALE, e->scale);
  broadcast(p, BIAS, e->bias);
  operand(p, RESIDUAL, e->residual, LOOP_ROWS, LOOP_COLUMNS);
  operand(p, O, o, LOOP_ROWS, LOOP_COLUMNS);
  operand(p, ROW_SUMS, e->row_sums, LOOP_ROWS, LOOP_NONE);
  operand(p, ROW_SQUARES, e->row_squares, LOOP_ROWS, LOOP_NONE);
  order_loops(p, x->rank == 3, options->order);
  if (p->sums > PL_MAX_SCRATCH)
    return pl_error(PL_ERROR_LIMIT,
                    "matmul: with K outside a loop of %u blocks their sums would be in ACC together; at "
                    "most PL_MAX_SCRATCH, %d",
                    p->sums, PL_MAX_SCRATCH);
  return PL_OK;
}

/* ---- the call ---- */

/* Options whose blocks are all 0 get what was tuned, or a default. */
static struct matmul_options chosen_options(const pl_array *x, const pl_array *o,
                                            const struct matmul_options *options) {
  struct matmul_options chosen = *options;

  if (options->blocks.m != 0 || options->blocks.n != 0 || options->blocks.k != 0)
    return chosen;
  const uint16_t *tuned = NULL;
  if (x->rank == 2 && o->rank == 2 && options->epilogue.row_sums == NULL) /* sums of rows rule orders out */
    tuned = tuned_find(TUNED_MATMUL_GENERAL, x->dtype, PL_SHAPE(o->shape[0], o->shape[1], x->shape[1]));
  if (tuned == NULL) {
    const unsigned rows = o->rank == 3 ? 1 : 0; /* other ranks are an error, found later */
    chosen.blocks = (struct matmul_blocks){
        matmul_default(128, o->shape[rows], MATMUL_ROW_TILE),
        matmul_default(128, o->shape[rows + 1], MATMUL_TILE),
        matmul_default(x->dtype == PL_F32 ? 64 : 128, x->shape[rows + 1], MATMUL_TILE), 2, false};
    return chosen;
  }
  chosen.blocks = (struct matmul_blocks){tuned[0], tuned[1], tuned[2], (uint8_t)tuned[3], tuned[4] != 0};
  chosen.order = (uint8_t)tuned[5];
  return chosen;
}

static void spec_of(pl_block_spec *spec, unsigned slot, const struct matmul_blocks *blocks) {
  const struct operand *o = &shared.operand[shared.slot[slot]];

  spec->map = maps[slot];
  spec->rank = o->array->rank;
  if (blocks != NULL) {
    spec->buffer_count = blocks->buffers;
    spec->lookahead = blocks->lookahead && slot < shared.inputs;
  }
  for (unsigned d = 0; d < spec->rank; d++) {
    spec->shape[d] = shared.block[o->loop[d]];
    spec->kind[d] = o->loop[d] == LOOP_BATCH ? PL_SQUEEZED : PL_BLOCKED;
  }
}

/* What parts of f32 operands take beside a dot of bf16, which waits for the vector unit to make them. */
static void add_parts(pl_cost_estimate *cost, bool of_x, bool of_y) {
  const uint32_t parts = shared.mode & PL_PRECISION_HIGHEST ? 3 : shared.mode & PL_PRECISION_HIGH ? 2 : 1;
  const uint32_t passes = of_x && of_y ? parts * (parts + 1) / 2 : parts;
  const int32_t *const block = shared.block, *const count = shared.count;
  const int32_t steps = count[LOOP_BATCH] * count[LOOP_ROWS] * count[LOOP_COLUMNS] * count[LOOP_DEPTH],
                elements = (of_x ? block[LOOP_ROWS] : 0) + (of_y ? block[LOOP_COLUMNS] : 0);

  cost->macs = (uint64_t)(uint32_t)(block[LOOP_ROWS] * block[LOOP_COLUMNS] * block[LOOP_DEPTH]) *
               (uint32_t)steps * (passes - 1);
  cost->vector_elements +=
      (uint64_t)(uint32_t)(elements * block[LOOP_DEPTH]) * ((parts + parts / 3) * (uint32_t)steps);
  cost->vector_steps = cost->chained = true;
}

pl_status kernel_matmul_general(pl_array x, pl_array y, pl_array o, const struct matmul_options *options) {
  pl_block_spec specs[OPERANDS];
  pl_array arrays[OPERANDS];
  const struct matmul_options chosen = chosen_options(&x, &o, options);
  const pl_status status = describe(&shared, &x, &y, &o, &chosen);

  if (status != PL_OK)
    return status;
  const int64_t outer = (int64_t)shared.size[LOOP_BATCH] * shared.size[LOOP_ROWS] * shared.size[LOOP_COLUMNS];
  pl_kernel kernel = {.name = "matmul",
                      .body = body,
                      .grid = {.rank = shared.rank},
                      .cost = {.dot = {chosen.blocks.m, chosen.blocks.n, chosen.blocks.k},
                               .vector_elements = (uint64_t)outer}};
  bool parallel = true;
  for (unsigned i = 0; i < shared.rank; i++) {
    const unsigned loop = shared.loop[i];
    parallel = parallel && loop != LOOP_DEPTH && !(loop == LOOP_COLUMNS && (shared.parts & EPILOGUE_ROWS));
    kernel.grid.extent[i] = shared.count[loop];
    kernel.dimension_semantics[i] = parallel ? PL_PARALLEL : PL_ARBITRARY;
  }
  if (x.dtype == PL_F32 || y.dtype == PL_F32)
    add_parts(&kernel.cost, x.dtype == PL_F32, y.dtype == PL_F32);
  const pl_scratch_spec sums = {.space = PL_ACC,
                                .dtype = x.dtype == PL_INT8 ? PL_INT32 : PL_F32,
                                .shape = PL_SHAPE(chosen.blocks.m, chosen.blocks.n)};
  for (unsigned i = 0; i < shared.sums; i++)
    kernel.scratch[i] = &sums;
  memset(specs, 0, sizeof specs);
  for (unsigned slot = 0; slot < shared.inputs + shared.outputs; slot++) {
    const unsigned number = shared.slot[slot];
    const bool few = number == SCALE || number == BIAS || number > O;
    spec_of(&specs[slot], slot, few ? NULL : &chosen.blocks);
    arrays[slot] = *shared.operand[number].array;
    if (slot < shared.inputs)
      kernel.in[slot] = &specs[slot];
    else
      kernel.out[slot - shared.inputs] = &specs[slot];
  }
  return pl_call(&kernel, (pl_arrays){arrays, shared.inputs},
                 (pl_arrays){arrays + shared.inputs, shared.outputs});
}

/*
 * A block is fetched again whenever a loop that is not the operand's own goes on outside one that is, and
 * that has several blocks. What only the last block of K needs does not see the loop over K.
 */
static uint64_t bytes_of(const struct product *p, unsigned number) {
  const struct operand *o = &p->operand[number];
  uint64_t bytes, times = 1;
  unsigned innermost = 0; /* behind the innermost loop of its own with several blocks */

  if (o->array == NULL)
    return 0;
  bytes = pl_dtype_bytes(o->array->dtype);
  for (unsigned d = 0; d < o->array->rank; d++) {
    const unsigned loop = o->loop[d];
    bytes *= (uint32_t)(number < O ? p->count[loop] * p->block[loop] : p->size[loop]);
    if (p->count[loop] > 1 && p->axis[loop] != PL_MAX_GRID && p->axis[loop] >= innermost)
      innermost = p->axis[loop] + 1u;
  }
  for (unsigned i = 0; i < innermost; i++) {
    bool own = p->loop[i] == LOOP_DEPTH && number > Y;
    for (unsigned d = 0; d < o->array->rank; d++)
      own = own || o->axis[d] == i;
    times *= own ? 1u : (uint32_t)p->count[p->loop[i]];
  }
  return bytes * times;
}

pl_status matmul_traffic(pl_array x, pl_array y, pl_array o, const struct matmul_options *options,
                         struct matmul_traffic *traffic) {
  struct product p;
  const struct matmul_options chosen = chosen_options(&x, &o, options);
  const pl_status status = describe(&p, &x, &y, &o, &chosen);

  if (status != PL_OK)
    return status;
  *traffic = (struct matmul_traffic){.x = bytes_of(&p, X), .y = bytes_of(&p, Y), .o = bytes_of(&p, O)};
  for (unsigned i = SCALE; i < OPERANDS; i++)
    traffic->epilogue += i == O ? 0 : bytes_of(&p, i);
  return PL_OK;
}
