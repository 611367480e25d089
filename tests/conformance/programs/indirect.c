/* SPDX-License-Identifier: MIT */
/* Block dimensions that go by lists of indices. Twins: twins/indirect.py. */
#include "case.h"

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void double_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(0));
}

/* Entries n * id[0] on, the last list shorter if there are not enough. */
static void part_of(pl_index *b, pl_ref all, int32_t i, int32_t n) {
  const int32_t left = pl_ref_extent(all, 0) - i * n;
  b->list = pl_at(all, PL_DS(i * n, left < n ? left : n));
}

static void run(const pl_kernel *kernel, const char *initial) {
  const pl_array list = case_input("list"), x = case_input("x"), o = case_output("o", initial);
  case_call(kernel, PL_ARGS(list, x), PL_RESULTS(o));
}

/* Rows in blocks of columns, too; what the last list is too short for is filled with 7. */
static void rows8(const pl_grid *g, pl_index *b) {
  part_of(&b[0], pl_prefetch(0), g->id[0], 8);
  b[1].start = g->id[1];
}
static void in_order(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}
static void indirect_gather(void) {
  const pl_kernel kernel = {.name = "gather",
                            .body = double_body,
                            .grid = PL_GRID(6, 2),
                            .num_scalar_prefetch = 1,
                            .in = {PL_SPEC(PL_DIMS(8, 64), .map = rows8, .kind = {PL_INDIRECT},
                                           .buffer_count = 3, .pad_value = 0x40e00000)},
                            .out = {PL_BLOCK(in_order, 8, 64)}};
  run(&kernel, NULL);
}

/* Of rows that go to one place the last one stays, within a list and from step to step. */
static void rows5(const pl_grid *g, pl_index *b) {
  part_of(&b[0], pl_prefetch(0), g->id[0], 5);
}
static void indirect_scatter(void) {
  const pl_kernel kernel = {.name = "scatter",
                            .body = copy_body,
                            .grid = PL_GRID(4),
                            .num_scalar_prefetch = 1,
                            .in = {PL_BLOCK(in_order, 5, 100)},
                            .out = {PL_SPEC(PL_DIMS(5, 100), .map = rows5, .kind = {PL_INDIRECT})}};
  run(&kernel, "z");
}

/* Input and output by lists of their own: rows to places, with lookahead. */
static void from(const pl_grid *g, pl_index *b) {
  part_of(&b[0], pl_prefetch(0), g->id[0], 4);
}
static void to(const pl_grid *g, pl_index *b) {
  part_of(&b[0], pl_prefetch(1), g->id[0], 4);
}
static void indirect_both(void) {
  const pl_array list = case_input("list"), places = case_input("places"), x = case_input("x");
  const pl_array o = case_output("o", "z");
  const pl_kernel kernel = {
      .name = "both",
      .body = double_body,
      .grid = PL_GRID(6),
      .num_scalar_prefetch = 2,
      .in = {PL_SPEC(PL_DIMS(4, 128), .map = from, .kind = {PL_INDIRECT}, .buffer_count = 4, .lookahead = 1)},
      .out = {PL_SPEC(PL_DIMS(4, 128), .map = to, .kind = {PL_INDIRECT}, .buffer_count = 3)}};
  case_call(&kernel, PL_ARGS(list, places, x), PL_RESULTS(o));
}

/* The middle dimension of three, and the other two in blocks with an edge. */
static void middle(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  part_of(&b[1], pl_prefetch(0), g->id[1], 4);
  b[2].start = g->id[2];
}
static void middle_in_order(const pl_grid *g, pl_index *b) {
  for (int d = 0; d < 3; d++)
    b[d].start = g->id[d];
}
static void indirect_middle(void) {
  const pl_kernel kernel = {
      .name = "middle",
      .body = copy_body,
      .grid = PL_GRID(2, 3, 2),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(2, 4, 32), .map = middle, .kind = {PL_BLOCKED, PL_INDIRECT})},
      .out = {PL_BLOCK(middle_in_order, 2, 4, 32)}};
  run(&kernel, NULL);
}

/* Columns; a squeezed dimension in front. */
static void columns(const pl_grid *g, pl_index *b) {
  b[0].start = 1;
  b[1].start = 0;
  part_of(&b[2], pl_prefetch(0), g->id[0], 16);
}
static void columns_in_order(const pl_grid *g, pl_index *b) {
  b[0].start = 0;
  b[1].start = g->id[0];
}
static void indirect_columns(void) {
  const pl_kernel kernel = {
      .name = "columns",
      .body = copy_body,
      .grid = PL_GRID(3),
      .num_scalar_prefetch = 1,
      .in = {PL_SPEC(PL_DIMS(0, 9, 16), .map = columns, .kind = {PL_SQUEEZED, PL_BLOCKED, PL_INDIRECT})},
      .out = {PL_BLOCK(columns_in_order, 9, 16)}};
  run(&kernel, NULL);
}

/* Lists of any length, 0 among them: groups that begin where the second prefetch argument says. */
static void group(const pl_grid *g, pl_index *b) {
  const int32_t begin = pl_get(pl_prefetch(1), g->id[0]), end = pl_get(pl_prefetch(1), g->id[0] + 1);
  b[0].list = pl_at(pl_prefetch(0), PL_DS(begin, end - begin));
}
static void indirect_groups(void) {
  const pl_array list = case_input("list"), begins = case_input("begins"), x = case_input("x");
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {
      .name = "groups",
      .body = copy_body,
      .grid = PL_GRID(6),
      .num_scalar_prefetch = 2,
      .in = {PL_SPEC(PL_DIMS(8, 64), .map = group, .kind = {PL_INDIRECT}, .pad_value = (uint32_t)-1)},
      .out = {PL_BLOCK(in_order, 8, 64)}};
  case_call(&kernel, PL_ARGS(list, begins, x), PL_RESULTS(o));
}

/* A list in blocks of SMEM, and a pipeline inside that goes by parts of each. */
static void of_outer(const pl_grid *g, pl_index *b) {
  part_of(&b[0], *(pl_ref *)g->user, g->id[0], 8);
}
static void nested_body(void) {
  pl_ref list = pl_input(0);
  const int32_t first = pl_program_id(0) * 16;
  const pl_kernel inner = {.name = "inner",
                           .body = copy_body,
                           .user = &list,
                           .grid = PL_GRID(2),
                           .in = {PL_SPEC(PL_DIMS(8, 64), .map = of_outer, .kind = {PL_INDIRECT})},
                           .out = {PL_BLOCK(in_order, 8, 64)}};
  pl_emit_pipeline(&inner, PL_REFS(pl_input(1)), PL_REFS(pl_at(pl_output(0), PL_DS(first, 16))));
}
static void indirect_nested(void) {
  const pl_array list = case_input("list"), x = case_input("x"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "nested",
                            .body = nested_body,
                            .grid = PL_GRID(3),
                            .in = {PL_SMEM_BLOCK(in_order, 16), PL_IN_HBM},
                            .out = {PL_IN_HBM}};
  case_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o));
}

/* What is no list or no row says so, and the next call works. */
static void too_long(const pl_grid *g, pl_index *b) {
  part_of(&b[0], pl_prefetch(0), g->id[0], 8);
}
static void no_list(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void indirect_errors(void) {
  static const pl_map maps[] = {too_long, no_list, from};
  const pl_array list = case_input("list"), x = case_input("x"), o = case_output("o", NULL);
  for (unsigned i = 0; i < 4; i++) {
    const pl_kernel kernel = {.name = "rows",
                              .body = copy_body,
                              .grid = PL_GRID(2),
                              .num_scalar_prefetch = 1,
                              .in = {PL_SPEC(PL_DIMS(4, 64), .map = maps[i < 2 ? i : 2],
                                             .kind = {PL_INDIRECT, i == 2 ? PL_INDIRECT : PL_BLOCKED})},
                              .out = {PL_BLOCK(in_order, 4, 64)}};
    if (i < 3)
      case_fails(pl_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o)));
    else
      case_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o));
  }
}

const struct conformance_case conformance_cases[] = {
    CASE(indirect_gather), CASE(indirect_scatter), CASE(indirect_both),
    CASE(indirect_middle), CASE(indirect_columns), CASE(indirect_groups),
    CASE(indirect_nested), CASE(indirect_errors),  CASE_END,
};
