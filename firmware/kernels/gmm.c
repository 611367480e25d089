/* SPDX-License-Identifier: MIT */
#include "gmm.h"

#include "blocks.h"
#include "boot.h"
#include "device.h"
#include "tuned.h"

/* A tile as it stands in the list: rows of one group. */
struct tile {
  int32_t group, start, rows;
};
/* For predictions: what the body takes beside a dot and a vector operation. */
enum { STEP_INSTRUCTIONS = 200, BLOCK_INSTRUCTIONS = 2000 };
enum { TILE_WORDS = sizeof(struct tile) / sizeof(int32_t) };

/* What maps and body share: the tiles that were read last, which stay for many steps. */
static struct {
  struct blocks_kept kept;
  int32_t columns; /* of a block */
  bool one;        /* y has one matrix, for all groups */
} shared;

static const struct tile *tile_at(int32_t number) {
  return (const struct tile *)blocks_entry(&shared.kept, number, TILE_WORDS);
}

static void x_map(const pl_grid *g, pl_index *b) {
  const struct tile *tile = tile_at(g->id[0]);
  b[0].start = tile->start;
  b[0].size = tile->rows;
  b[1].start = g->id[2];
}

static void y_map(const pl_grid *g, pl_index *b) {
  b[0].start = shared.one ? 0 : tile_at(g->id[0])->group;
  b[1].start = g->id[2];
  b[2].start = g->id[1];
}

/* Accumulators and blocks of the result take turns: one is drained while the next is filled. */
static void body(void) {
  const struct tile *tile = tile_at(pl_program_id(0));
  const int32_t n = pl_program_id(1), k = pl_program_id(2);
  const pl_slice rows = PL_DS(0, tile->rows);
  const pl_ref acc = pl_scratch(n & 1);

  pl_dot(pl_at(acc, rows), pl_at(pl_input(0), rows), pl_input(1), k == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (k != pl_num_programs(2) - 1)
    return;
  const pl_ref o = pl_output(0), block = pl_scratch(2 + (n & 1));
  const int32_t first = n * shared.columns, left = pl_ref_extent(o, 1) - first;
  const pl_slice columns = PL_DS(0, left < shared.columns ? left : shared.columns);

  pl_copy(block, acc);
  pl_copy(pl_at(o, PL_DS(tile->start, tile->rows), PL_DS(first, columns.size)), pl_at(block, rows, columns));
}

/* ---- the list of tiles ---- */

/* The tiles of the groups from one on, in order. */
struct cursor {
  const int32_t *size;
  int32_t groups, rows;     /* number of groups; most rows of a tile */
  int32_t pitch;            /* rows from group to group; 0: they follow one another */
  int32_t group, row, done; /* the group, its first row, its rows that earlier tiles have */
  int32_t part;             /* of the group */
};

static bool next_tile(struct cursor *c, struct tile *tile) {
  while (c->group < c->groups && c->done == c->size[c->group]) {
    c->row += c->pitch != 0 ? c->pitch : c->done;
    c->done = c->part = 0;
    c->group++;
  }
  if (c->group == c->groups)
    return false;
  const int32_t left = c->size[c->group] - c->done;
  const int32_t rows = left / pl_cdiv(left, c->rows);
  *tile = (struct tile){c->group, c->row + c->done, rows};
  return true;
}

/* What decides about the order, in cycles of the matrix unit for one 16 x 16 piece of a tile's weights. */
struct balance {
  int32_t least;   /* rows below which a tile gets no cheaper */
  int32_t weights; /* the port's time for the piece */
  int32_t columns; /* of y: a row of x is fetched once for all of them */
  int32_t ahead;   /* the port's time that the buffers of y hold, in parts of a tile's `weights` */
};

/* The time that a tile leaves to the port for others; negative: it takes more than it gives. */
static int32_t surplus(const struct balance *b, const struct tile *tile) {
  const int32_t busy = tile->rows < b->least ? b->least : tile->rows;
  return busy - b->weights - tile->rows * b->weights / b->columns;
}

/* The next tile that gives time to the port (or takes it: poor). */
static bool next_of(struct cursor *c, const struct balance *b, bool poor, struct tile *tile) {
  while (next_tile(c, tile)) {
    c->done += tile->rows;
    if ((surplus(b, tile) < 0) == poor)
      return true;
  }
  return false;
}

/*
 * Writes the tiles in the order of the computation and returns how many there are. The port is ahead by
 * `saved`, at most by what the buffers hold. A tile that takes time comes as soon as it is there; the last of
 * them ends the list, because there is the less to do behind the matrix unit the smaller the last tile is.
 * busy: rows that the matrix unit is busy for.
 */
static int32_t list_tiles(const struct cursor *groups, const struct balance *b, struct tile *list,
                          uint32_t *busy) {
  struct cursor rich = *groups, poor = *groups, count = *groups;
  struct tile next_rich, next_poor;
  int32_t tiles = 0, saved = 0, poor_left = 0;

  *busy = 0;
  while (next_of(&count, b, true, &next_poor))
    poor_left++;
  bool is_rich = next_of(&rich, b, false, &next_rich), is_poor = next_of(&poor, b, true, &next_poor);
  while (is_rich || is_poor) {
    const bool take = !is_rich || (poor_left > 1 && saved + surplus(b, &next_poor) >= 0);
    saved += surplus(b, take ? &next_poor : &next_rich);
    if (saved > b->ahead)
      saved = b->ahead;
    const struct tile *tile = take ? &next_poor : &next_rich;
    *busy += (uint32_t)(tile->rows < b->least ? b->least : tile->rows);
    list[tiles++] = *tile;
    if (take) {
      is_poor = next_of(&poor, b, true, &next_poor);
      poor_left--;
    } else {
      is_rich = next_of(&rich, b, false, &next_rich);
    }
  }
  return tiles;
}

static pl_status check(const pl_array *x, const pl_array *y, const pl_array *sizes, const pl_array *o,
                       const struct gmm_blocks *blocks) {
  int64_t sum = 0;

  if (x->rank != 2 || y->rank != 3 || o->rank != 2 || sizes->rank != 1 || sizes->dtype != PL_INT32 ||
      x->shape[1] != y->shape[1] || o->shape[0] != x->shape[0] || o->shape[1] != y->shape[2] ||
      sizes->shape[0] != y->shape[0])
    return pl_error(PL_ERROR_SHAPE,
                    "gmm: x [M,K], y [G,K,N], sizes int32 [G] and o [M,N] are needed; x has %d columns, y %d "
                    "matrices of %d x %d, sizes %d elements, o %d x %d",
                    (int)x->shape[1], (int)y->shape[0], (int)y->shape[1], (int)y->shape[2],
                    (int)sizes->shape[0], (int)o->shape[0], (int)o->shape[1]);
  if (sizes->space != PL_HBM || o->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "gmm: sizes and o must be in HBM");
  if (blocks->m <= 0 || blocks->n <= 0 || blocks->k <= 0)
    return pl_error(PL_ERROR_ARGUMENT, "gmm: blocks of %d x %d x %d; each must be at least 1", (int)blocks->m,
                    (int)blocks->n, (int)blocks->k);
  const int32_t *size = pl_hbm_pointer(sizes);
  for (int32_t g = 0; g < sizes->shape[0]; g++) {
    sum += size[g];
    if (size[g] < 0 || sum > x->shape[0])
      return pl_error(
          PL_ERROR_ARGUMENT,
          "gmm: group %d has %d rows, %d in all up to it; 0 or more each and at most x's %d in all "
          "are right",
          (int)g, (int)size[g], (int)sum, (int)x->shape[0]);
  }
  return PL_OK;
}

static struct gmm_blocks chosen_blocks(const pl_array *x, const pl_array *y, const pl_array *o) {
  const uint16_t *tuned =
      tuned_find(TUNED_GMM, x->dtype, PL_SHAPE(y->shape[0], x->shape[0], x->shape[1], o->shape[1]));

  if (tuned == NULL)
    return (struct gmm_blocks){96, 128, x->shape[1] < 256 ? x->shape[1] : 256, o->dtype == PL_F32 ? 4 : 5};
  return (struct gmm_blocks){tuned[0], tuned[1], tuned[2], (uint8_t)tuned[3]};
}

/* x [M,K], y [G,K,N] or [1,K,N], o [M,N], checked. pitch: see struct cursor. */
static pl_status run(const char *name, pl_array x, pl_array y, pl_array sizes, pl_array o,
                     const struct gmm_blocks *chosen, int32_t pitch) {
  pl_array list;
  const int32_t bm = chosen->m, bn = chosen->n, bk = chosen->k, columns = pl_cdiv(o.shape[1], bn),
                depth = pl_cdiv(x.shape[1], bk), buffers = chosen->buffers != 0 ? chosen->buffers : 3,
                dim = (int32_t)boot_params.value[TPU_PARAM_DIM];
  /* A group has at most one tile more than its rows fill: the shape does not depend on the sizes. */
  pl_status status =
      pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(x.shape[0] / bm + sizes.shape[0], TILE_WORDS), &list);
  if (status != PL_OK)
    return status;
  const struct cursor groups = {
      .size = pl_hbm_pointer(&sizes), .groups = sizes.shape[0], .rows = bm, .pitch = pitch};
  struct balance balance = {.least = dim + 1, .columns = o.shape[1]};
  balance.weights =
      dim * dim * (int32_t)pl_dtype_bytes(y.dtype) / (int32_t)boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
  balance.ahead = balance.weights * (buffers - 1) / (columns * depth);
  uint32_t busy;
  const int32_t tiles = list_tiles(&groups, &balance, pl_hbm_pointer(&list), &busy);
  const pl_dtype sum = x.dtype == PL_INT8 ? PL_INT32 : PL_F32;
  /* Behind x's last column there must be zeros, as there are behind y's last row: 0 x NaN is no 0. */
  const unsigned fill = x.shape[1] % bk != 0 ? PL_FILL_VALUE : PL_FILL_UNSPECIFIED;
  const pl_kernel kernel = {
      .name = name,
      .body = body,
      .grid = PL_GRID(pl_dyn(tiles), columns, depth),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(bm, bk), .map = x_map, .kind = {PL_BOUNDED}, .fill = fill),
             PL_SPEC(PL_DIMS(1, bk, bn), .map = y_map, .kind = {PL_SQUEEZED},
                     .buffer_count = (uint8_t)buffers, .lookahead = 1)},
      .out = {PL_IN_HBM},
      .scratch = {PL_ACC(sum, bm, bn), PL_ACC(sum, bm, bn), PL_VMEM(o.dtype, bm, bn),
                  PL_VMEM(o.dtype, bm, bn)},
      .cost = {.macs = (uint64_t)busy * (uint32_t)o.shape[1] * (uint32_t)x.shape[1],
               .vector_elements = (uint64_t)o.shape[0] * (uint32_t)o.shape[1],
               .instructions = (uint64_t)(uint32_t)tiles * (uint32_t)columns *
                               ((uint32_t)depth * STEP_INSTRUCTIONS + BLOCK_INSTRUCTIONS)},
  };
  shared.columns = bn;
  shared.one = y.shape[0] == 1;
  blocks_forget(&shared.kept);
  status = pl_call(&kernel, PL_ARGS(list, x, y), PL_RESULTS(o));
  const pl_status freed = pl_free(&list);
  return status != PL_OK ? status : freed;
}

pl_status kernel_gmm(pl_array x, pl_array y, pl_array sizes, pl_array o, const struct gmm_blocks *blocks) {
  const struct gmm_blocks chosen = blocks != NULL ? *blocks : chosen_blocks(&x, &y, &o);
  const pl_status status = check(&x, &y, &sizes, &o, &chosen);

  return status != PL_OK ? status : run("gmm", x, y, sizes, o, &chosen, 0);
}

static pl_status check_ragged(const pl_array *x, const pl_array *y, const pl_array *rows, const pl_array *o,
                              const struct gmm_blocks *blocks) {
  if (x->rank != 3 || (y->rank != 2 && y->rank != 3) || o->rank != 3 || rows->rank != 1 ||
      rows->dtype != PL_INT32 || (y->rank == 3 && y->shape[0] != x->shape[0]) ||
      y->shape[y->rank - 2] != x->shape[2] || o->shape[0] != x->shape[0] || o->shape[1] != x->shape[1] ||
      o->shape[2] != y->shape[y->rank - 1] || rows->shape[0] != x->shape[0])
    return pl_error(PL_ERROR_SHAPE,
                    "ragged matmul: x [B,M,K], y [B,K,N] or [K,N], rows int32 [B] and o [B,M,N] are needed; "
                    "x is of rank %d "
                    "[%d,%d,%d], y of rank %d [%d,%d], rows has %d elements, o [%d,%d,%d]",
                    x->rank, (int)x->shape[0], (int)x->shape[1], (int)x->shape[2], y->rank,
                    (int)y->shape[y->rank == 3], (int)y->shape[y->rank == 3 ? 2 : 1], (int)rows->shape[0],
                    (int)o->shape[0], (int)o->shape[1], (int)o->shape[2]);
  if (rows->space != PL_HBM || x->space != PL_HBM || o->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "ragged matmul: x, rows and o must be in HBM");
  if (blocks->m <= 0 || blocks->n <= 0 || blocks->k <= 0)
    return pl_error(PL_ERROR_ARGUMENT, "ragged matmul: blocks of %d x %d x %d; each must be at least 1",
                    (int)blocks->m, (int)blocks->n, (int)blocks->k);
  const int32_t *size = pl_hbm_pointer(rows);
  for (int32_t b = 0; b < rows->shape[0]; b++)
    if (size[b] < 0 || size[b] > x->shape[1])
      return pl_error(PL_ERROR_ARGUMENT, "ragged matmul: batch %d has %d rows; 0 to %d are right", (int)b,
                      (int)size[b], (int)x->shape[1]);
  return PL_OK;
}

/* The matrices of a batch one above the other; y alone: a batch of one. */
static void flatten(pl_array *a) {
  a->shape[0] *= a->shape[1];
  a->shape[1] = a->shape[2];
  a->shape[2] = 0;
  a->rank = 2;
}

pl_status kernel_ragged_matmul(pl_array x, pl_array y, pl_array rows, pl_array o,
                               const struct gmm_blocks *blocks) {
  const pl_status status = check_ragged(&x, &y, &rows, &o, blocks);

  if (status != PL_OK)
    return status;
  const int32_t pitch = x.shape[1];
  flatten(&x);
  flatten(&o);
  if (y.rank == 2) {
    y.shape[2] = y.shape[1];
    y.shape[1] = y.shape[0];
    y.shape[0] = 1;
    y.rank = 3;
  }
  return run("ragged matmul", x, y, rows, o, blocks, pitch);
}
