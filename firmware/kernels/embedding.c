/* SPDX-License-Identifier: MIT */
#include "embedding.h"

enum {
  IDS = 2048, /* of a call: half of SMEM */
  BLOCK_BYTES = 32 << 10,
  ROW_BYTES = 4 << 10,      /* of a block of a lookup, at most; so it has 8 rows at least */
  MOST_ROWS = 1024,         /* of it, at most: steps enough to hide the first fetch and the last write-back */
  GRAD_ROW_BYTES = 1 << 10, /* pl_scatter_add() needs as much as a block of the gradient twice */
  GRAD_ROWS = 64,           /* what it does at a time */
  BUFFERS = 3,
};

/* Rows and columns of a block of the running call. */
static struct { int32_t rows, columns; } block;

static int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* The part of the ids that a step goes by. */
static pl_ref ids_of_step(int32_t step) {
  const pl_ref ids = pl_prefetch(0);
  const int32_t first = step * block.rows;
  return pl_at(ids, PL_DS(first, least(block.rows, pl_ref_extent(ids, 0) - first)));
}

/* The grid: blocks of columns; inside, blocks of ids. */
static void listed_map(const pl_grid *g, pl_index *b) {
  b[0].list = ids_of_step(g->id[1]);
  b[1].start = g->id[0];
}
static void rows_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1];
  b[1].start = g->id[0];
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* What is behind the edges of grad's blocks is left out. */
static void add_body(void) {
  const pl_ref ids = ids_of_step(pl_program_id(1)), table = pl_output(0);
  const int32_t column = pl_program_id(0) * block.columns,
                columns = least(block.columns, pl_ref_extent(table, 1) - column);
  pl_scatter_add(pl_at(table, PL_ALL, PL_DS(column, columns)),
                 pl_at(pl_input(0), PL_DS(0, pl_ref_extent(ids, 0)), PL_DS(0, columns)), ids);
}

/* Arrays that belong together: `rows` one for each id, `table` what the ids choose from. */
static pl_status check(const char *kernel, const char *rows_name, const pl_array *ids, const pl_array *rows,
                       const char *table_name, const pl_array *table) {
  if (ids->rank != 1 || rows->rank != 2 || table->rank != 2 || rows->shape[0] != ids->shape[0] ||
      rows->shape[1] != table->shape[1])
    return pl_error(PL_ERROR_SHAPE,
                    "%s: ids [N], %s [N,D] and %s [R,D] are needed; ranks %d, %d and %d, %d ids, %s %d x %d, "
                    "%s %d x %d",
                    kernel, rows_name, table_name, ids->rank, rows->rank, table->rank, (int)ids->shape[0],
                    rows_name, (int)rows->shape[0], (int)rows->shape[1], table_name, (int)table->shape[0],
                    (int)table->shape[1]);
  if (ids->dtype != PL_INT32 || rows->dtype != table->dtype)
    return pl_error(PL_ERROR_SHAPE, "%s: ids are %s, %s %s, %s %s; int32, and twice the same, are right",
                    kernel, pl_dtype_name(ids->dtype), rows_name, pl_dtype_name(rows->dtype), table_name,
                    pl_dtype_name(table->dtype));
  if (ids->space != PL_HBM || rows->space != PL_HBM || table->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "%s: ids, %s and %s must be in HBM", kernel, rows_name, table_name);
  return PL_OK;
}

/* An error if an id is no row of the table. */
static pl_status check_ids(const char *kernel, const pl_array *ids, int32_t rows) {
  const int32_t *const id = pl_hbm_pointer(ids);
  for (int32_t i = 0; i < ids->shape[0]; i++)
    if ((uint32_t)id[i] >= (uint32_t)rows)
      return pl_error(PL_ERROR_ARGUMENT, "%s: ids[%d] is %d, and the table has %d rows", kernel, (int)i,
                      (int)id[i], (int)rows);
  return PL_OK;
}

/* Blocks of as many columns as row_bytes has room for; how many there are. */
static int32_t cut_columns(const pl_array *table, int32_t row_bytes) {
  block.columns = least(table->shape[1], row_bytes / (int32_t)pl_dtype_bytes(table->dtype));
  return pl_cdiv(table->shape[1], block.columns);
}

/* Entries first .. first + n - 1 of an array's first dimension. */
static pl_array part(pl_array a, int32_t first, int32_t n) {
  a.address += (uint32_t)first * (a.rank == 1 ? pl_dtype_bytes(a.dtype) : a.pitch);
  a.shape[0] = n;
  return a;
}

pl_status kernel_embedding(pl_array ids, pl_array table, pl_array out) {
  pl_status status = check("embedding", "out", &ids, &out, "table", &table);
  if (status != PL_OK || ids.shape[0] == 0)
    return status;
  const int32_t parts = cut_columns(&table, ROW_BYTES), entries = ids.shape[0];
  /* Rows in VMEM begin at multiples of the lanes. */
  const int32_t fitting = BLOCK_BYTES / (int32_t)pl_dtype_bytes(table.dtype) / ((block.columns + 15) & ~15);
  block.rows = least(least(fitting, MOST_ROWS), entries);
  for (int32_t first = 0; first < entries && status == PL_OK; first += IDS) {
    const int32_t n = least(IDS, entries - first);
    const pl_kernel kernel = {
        .name = "embedding",
        .body = copy_body,
        .grid = PL_GRID(parts, pl_cdiv(n, block.rows)),
        .dimension_semantics = {PL_PARALLEL, PL_PARALLEL},
        .num_scalar_prefetch = 1,
        .in = {PL_SPEC(PL_DIMS(block.rows, block.columns), .map = listed_map, .kind = {PL_INDIRECT},
                       .buffer_count = BUFFERS)},
        .out = {PL_BUFFERED(BUFFERS, rows_map, block.rows, block.columns)},
        .cost = {.vector_elements = (uint64_t)(uint32_t)n * (uint32_t)table.shape[1]},
    };
    status = pl_call(&kernel, PL_ARGS(part(ids, first, n), table), PL_RESULTS(part(out, first, n)));
  }
  if (status == PL_OK)
    return PL_OK;
  const pl_status found = check_ids("embedding", &ids, table.shape[0]); /* the DMA has, in one of the parts */
  return found != PL_OK ? found : status;
}

pl_status kernel_embedding_grad(pl_array ids, pl_array grad, pl_array table_grad) {
  pl_status status = check("embedding_grad", "grad", &ids, &grad, "table_grad", &table_grad);
  if (status != PL_OK)
    return status;
  if (!pl_is_float(grad.dtype))
    return pl_error(PL_ERROR_SHAPE, "embedding_grad: grad and table_grad are %s; f32 or bf16 are right",
                    pl_dtype_name(grad.dtype));
  if ((status = check_ids("embedding_grad", &ids, table_grad.shape[0])) != PL_OK)
    return status;
  const int32_t parts = cut_columns(&table_grad, GRAD_ROW_BYTES), entries = ids.shape[0];
  block.rows = least(GRAD_ROWS, entries);
  for (int32_t first = 0; first < entries && status == PL_OK; first += IDS) {
    const int32_t n = least(IDS, entries - first);
    const pl_kernel kernel = {
        .name = "embedding_grad",
        .body = add_body,
        .grid = PL_GRID(parts, pl_cdiv(n, block.rows)),
        .num_scalar_prefetch = 1,
        .in = {PL_BLOCK(rows_map, block.rows, block.columns)},
        .out = {PL_IN_HBM},
    };
    status = pl_call(&kernel, PL_ARGS(part(ids, first, n), part(grad, first, n)), PL_RESULTS(table_grad));
  }
  return status;
}
