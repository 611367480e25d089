/* SPDX-License-Identifier: MIT */
/*
 * Blocks of many levels: of every rank, cut in every dimension, of arrays and of parts whose elements are not
 * neighbours in any of them. One DMA command has three levels and a row; what has more takes several.
 */
#include "suite.h"

#include <string.h>

enum { PLAIN, INOUT, LOOKAHEAD, WAYS };

struct levels {
  unsigned rank, way;
  int32_t stride, extent[PL_MAX_RANK];
  pl_block_spec in, out;
};

static void ids(const pl_grid *g, pl_index *b) {
  for (unsigned d = 0; d < g->rank; d++)
    b[d].start = g->id[d];
}

static void inner(void) {
  const struct levels *l = pl_user();
  if (l->way == PLAIN)
    pl_copy(pl_output(0), pl_input(0));
  else
    pl_add(pl_output(0), pl_output(0), pl_input(0));
}

/* Elements 1, 1 + stride, .. of every dimension to (or added to) 0, stride, .. */
static void body(void) {
  struct levels *l = pl_user();
  pl_slice from[PL_MAX_RANK], to[PL_MAX_RANK];
  pl_kernel pipeline = {.name = "levels", .body = inner, .user = l, .in = {&l->in}, .out = {&l->out}};

  pipeline.grid.rank = (uint8_t)l->rank;
  for (unsigned d = 0; d < l->rank; d++) {
    from[d] = PL_DS_STRIDED(1, l->extent[d], l->stride);
    to[d] = PL_DS_STRIDED(0, l->extent[d], l->stride);
    pipeline.grid.extent[d] = pl_cdiv(l->extent[d], l->in.shape[d]);
  }
  pl_emit_pipeline(&pipeline, PL_REFS(pl_at_slices(pl_arg(0), from, l->rank)),
                   PL_REFS(pl_at_slices(pl_arg(1), to, l->rank)));
}

/* What must be in the destination. */
static void expect(const struct levels *l, const pl_array *x, const pl_array *o, double *want) {
  int32_t at[PL_MAX_RANK] = {0};
  int d;

  for (uint32_t i = 0; i < suite_elements(o); i++)
    want[i] = suite_get(o, i);
  do {
    uint32_t from = 0, to = 0;
    for (d = 0; d < (int)l->rank; d++) {
      from = from * (uint32_t)x->shape[d] + (uint32_t)(1 + at[d] * l->stride);
      to = to * (uint32_t)o->shape[d] + (uint32_t)(at[d] * l->stride);
    }
    want[to] = (l->way == PLAIN ? 0 : want[to]) + suite_get(x, from);
    for (d = (int)l->rank - 1; d >= 0 && ++at[d] == l->extent[d]; d--)
      at[d] = 0;
  } while (d >= 0);
}

static void choose(struct levels *l, pl_shape *shape) {
  *l = (struct levels){.rank = 3 + check_random_below(&suite.random, 3),
                       .way = check_random_below(&suite.random, WAYS),
                       .stride = 1 + (int32_t)check_random_below(&suite.random, 2)};
  l->in = (pl_block_spec){.map = ids, .rank = (uint8_t)l->rank, .lookahead = l->way == LOOKAHEAD};
  shape->rank = (uint8_t)l->rank;
  for (unsigned d = 0; d < l->rank; d++) {
    l->extent[d] = 1 + (int32_t)check_random_below(&suite.random, 5);
    l->in.shape[d] = 1 + (int32_t)check_random_below(&suite.random, (uint32_t)l->extent[d]);
    shape->extent[d] = 2 + (l->extent[d] - 1) * l->stride;
  }
  l->out = l->in;
  l->out.lookahead = 0;
  l->out.inout = l->way != PLAIN;
  l->in.buffer_count = (uint8_t)check_random_below(&suite.random, 4);
  l->out.buffer_count = (uint8_t)check_random_below(&suite.random, 4);
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* A kernel's own blocks, cut in all five dimensions, with edges in all and in none; copies are counted by
 * blocks, not by commands. */
static void test_rank5(pl_shape shape, uint32_t blocks) {
  const pl_block_spec spec = {.map = ids, .rank = 5, .shape = {2, 3, 2, 4, 12}};
  const pl_array x = suite_array(PL_INT8, shape), o = suite_array(PL_INT8, shape);
  pl_kernel kernel = {.name = "rank5", .body = copy_body, .in = {&spec}, .out = {&spec}};
  pl_stats stats;

  kernel.grid.rank = 5;
  for (unsigned d = 0; d < 5; d++)
    kernel.grid.extent[d] = pl_cdiv(shape.extent[d], spec.shape[d]);
  suite_fill(&x);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "levels: five dimensions, all cut");
  pl_get_stats(&stats);
  check(stats.copies[0] == blocks && stats.copies[1] == blocks, "levels: one copy a block: %u, %u of %u",
        stats.copies[0], stats.copies[1], blocks);
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x) + 64) == 0,
        "levels: five dimensions, all cut, contents");
}

void suite_levels(void) {
  static double want[100000];
  uint32_t bad = 0;

  test_rank5(PL_SHAPE(4, 6, 4, 8, 24), 32);
  test_rank5(PL_SHAPE(3, 5, 3, 6, 37), 64);
  for (uint32_t c = 0; c < suite.cases / 2; c++) {
    struct levels l;
    pl_shape shape = {.rank = 0};
    choose(&l, &shape);
    const pl_dtype dtype = (pl_dtype)check_random_below(&suite.random, 5);
    const pl_array x = suite_array(dtype, shape), o = suite_array(dtype, shape);
    const pl_kernel kernel = {.name = "parts", .body = body, .user = &l};
    suite_fill(&x);
    suite_fill(&o);
    expect(&l, &x, &o, want);
    const pl_status status = pl_kernel_call(&kernel, PL_ARRAYS(x, o));
    uint32_t wrong = 0;
    for (uint32_t i = 0; i < suite_elements(&o); i++)
      wrong += suite_get(&o, i) != want[i];
    if (status != PL_OK || wrong != 0) {
      check(false, "levels: case %u, rank %u, stride %d, way %u: %s %s, %u wrong", c, l.rank, (int)l.stride,
            l.way, pl_status_name(status), status != PL_OK ? pl_error_message() : "", wrong);
      bad++;
    }
    suite_release();
  }
  check(bad == 0, "levels: parts with gaps in every dimension (%u wrong)", bad);
  check(host_logged() == 0, "levels: the model logged nothing");
}
