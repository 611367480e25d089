/* SPDX-License-Identifier: MIT */
/* Variants of what blocks, buffers and state have, together. Twins: twins/variants.py. */
#include "case.h"

#define MAP(name_, ...)                                                                                      \
  static void name_(const pl_grid *g, pl_index *b) {                                                         \
    const int32_t i = g->id[0], j = g->id[1], k = g->id[2], start[] = {__VA_ARGS__};                         \
    (void)i, (void)j, (void)k;                                                                               \
    for (unsigned d = 0; d < sizeof start / sizeof start[0]; d++)                                            \
      b[d].start = start[d];                                                                                 \
  }

MAP(rows_map, i, 0)
MAP(ij_map, i, j)
MAP(ijk_map, i, j, k)

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static int32_t table(unsigned n, int32_t i) {
  return pl_get(pl_prefetch(n), i);
}
static void first_table_map(const pl_grid *g, pl_index *b) {
  b[0].start = table(0, g->id[0]), b[1].start = 0;
}
static void second_table_map(const pl_grid *g, pl_index *b) {
  b[0].start = table(1, g->id[0]), b[1].start = 0;
}

/* x to o; a prefetch argument comes first if there is one. */
static void run(pl_kernel kernel, const char *prefetch) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  kernel.name = "variant";
  if (prefetch == NULL) {
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
    return;
  }
  const pl_array s = case_input(prefetch);
  kernel.num_scalar_prefetch = 1;
  case_call(&kernel, PL_ARGS(s, x), PL_RESULTS(o));
}
#define ROWS PL_BLOCK(rows_map, 8, 128)

/* ---- edges and kinds ---- */

static void ragged_three(void) {
  const pl_block_spec *spec = PL_BLOCK(ijk_map, 2, 16, 48);
  run((pl_kernel){.body = copy_body, .grid = PL_GRID(3, 3, 3), .in = {spec}, .out = {spec}}, NULL);
}

static void mixed_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  pl_copy(pl_output(1), pl_input(1));
}
static void ragged_mixed(void) {
  const pl_array x = case_input("x"), y = case_input("y");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL);
  const pl_kernel kernel = {.name = "mixed",
                            .body = mixed_body,
                            .grid = PL_GRID(3, 2),
                            .in = {PL_BLOCK(ij_map, 24, 40), PL_BLOCK(ij_map, 16, 20)},
                            .out = {PL_BLOCK(ij_map, 24, 40), PL_BLOCK(ij_map, 16, 20)}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o, p));
}

MAP(ikj0_map, i, k, j, 0)
MAP(third_map, 3 * i + j, k, 0)
static void squeezed_two(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(2, 3, 2),
                  .in = {PL_SPEC(PL_DIMS(1, 8, 1, 32), .map = ikj0_map,
                                 .kind = {PL_SQUEEZED, 0, PL_SQUEEZED})},
                  .out = {PL_SPEC(PL_DIMS(1, 8, 32), .map = third_map, .kind = {PL_SQUEEZED})}},
      NULL);
}

MAP(j0i_map, j, 0, i)
MAP(ij0_map, i, j, 0)
static void squeezed_last(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(3, 2),
                  .in = {PL_SPEC(PL_DIMS(8, 32, 1), .map = j0i_map, .kind = {0, 0, PL_SQUEEZED})},
                  .out = {PL_SPEC(PL_DIMS(1, 8, 32), .map = ij0_map, .kind = {PL_SQUEEZED})}},
      NULL);
}

MAP(windows_map, 3 * i, 5 * j)
static void element_both(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(4, 3),
                  .in = {PL_SPEC(PL_DIMS(8, 16), .map = windows_map, .kind = {PL_ELEMENT, PL_ELEMENT})},
                  .out = {PL_BLOCK(ij_map, 8, 16)}},
      NULL);
}

static void element_backwards(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(8),
                  .in = {PL_SPEC(PL_DIMS(8, 128), .map = first_table_map, .kind = {PL_ELEMENT, PL_ELEMENT})},
                  .out = {ROWS}},
      "table");
}

MAP(gaps_map, 11 * i + 2, 0)
static void element_out_gaps(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(4),
                  .in = {ROWS},
                  .out = {PL_SPEC(PL_DIMS(8, 128), .map = gaps_map, .kind = {PL_ELEMENT, PL_ELEMENT})}},
      NULL);
}

static void bounded_map(const pl_grid *g, pl_index *b) {
  b[0].start = pl_get(pl_prefetch(0), g->id[0], 0), b[0].size = pl_get(pl_prefetch(0), g->id[0], 1);
  b[1].start = b[2].start = 0;
}
static void bounded_zero(void) {
  const pl_block_spec *spec = PL_SPEC(PL_DIMS(8, 8, 128), .map = bounded_map, .kind = {PL_BOUNDED});
  run((pl_kernel){.body = copy_body, .grid = PL_GRID(5), .in = {spec}, .out = {spec}}, "table");
}

static void starts_map(const pl_grid *g, pl_index *b) {
  b[0].start = table(0, g->id[0]), b[0].size = table(0, g->id[0] + 1) - b[0].start;
  b[1].start = g->id[1], b[2].start = 0;
}
static void bounded_and_blocked(void) {
  const pl_block_spec *spec = PL_SPEC(PL_DIMS(6, 8, 128), .map = starts_map, .kind = {PL_BOUNDED});
  run((pl_kernel){.body = copy_body, .grid = PL_GRID(3, 2), .in = {spec}, .out = {spec}}, "starts");
}

/* ---- buffers ---- */

static void every_buffer_count(void) {
  const pl_array x = case_input("x"), s = case_input("table"), o = case_output("o", NULL);
  for (uint8_t in = 1; in <= 5; in++)
    for (uint8_t out = 1; out <= 5; out++) {
      const pl_kernel kernel = {.name = "buffers",
                                .body = copy_body,
                                .grid = PL_GRID(7),
                                .num_scalar_prefetch = 1,
                                .in = {PL_BUFFERED(in, first_table_map, 8, 128)},
                                .out = {PL_BUFFERED(out, rows_map, 8, 128)}};
      case_call(&kernel, PL_ARGS(s, x), PL_RESULTS(o));
    }
}

static void difference_body(void) {
  pl_sub(pl_output(0), pl_input(0), pl_input(1));
}
static void lookahead_one_of_two(void) {
  static const uint8_t buffers[] = {2, 3, 5};
  const pl_array x = case_input("x"), y = case_input("y"), s = case_input("first"), u = case_input("second"),
                 o = case_output("o", NULL);
  for (unsigned n = 0; n < 3; n++) {
    const pl_kernel kernel = {
        .name = "lookahead",
        .body = difference_body,
        .grid = PL_GRID(9),
        .num_scalar_prefetch = 2,
        .in = {PL_SPEC(PL_DIMS(8, 128), .map = first_table_map, .buffer_count = buffers[n], .lookahead = 1),
               PL_BUFFERED(2, second_table_map, 8, 128)},
        .out = {ROWS}};
    case_call(&kernel, PL_ARGS(s, u, x, y), PL_RESULTS(o));
  }
}

MAP(fourth_map, 4 * i + j, 0)
static void two_body(void) {
  if (pl_program_id(1) == 0)
    pl_fill(pl_output(1), 0);
  pl_add(pl_output(1), pl_output(1), pl_input(0));
  pl_mul(pl_output(0), pl_input(0), pl_input(0));
}
static void two_outputs(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  const pl_kernel kernel = {.name = "two",
                            .body = two_body,
                            .grid = PL_GRID(3, 4),
                            .in = {PL_BLOCK(fourth_map, 8, 128)},
                            .out = {PL_BLOCK(fourth_map, 8, 128), ROWS}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o, p));
}

static void runs_body(void) {
  const int32_t i = pl_program_id(0);
  if (i == 0 || table(0, i - 1) != table(0, i))
    pl_fill(pl_output(0), 0);
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void sum_over_runs(void) {
  run(
      (pl_kernel){
          .body = runs_body, .grid = PL_GRID(7), .in = {ROWS}, .out = {PL_BLOCK(first_table_map, 8, 128)}},
      "table");
}

MAP(half_map, 2 * i + j, 0)
MAP(down_map, 2 - i, 0)
static void inout_body(void) {
  pl_add(pl_output(0), pl_output(0), pl_output(0));
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void inout_runs(void) {
  const pl_array x = case_input("x"), o = case_output("o", "z");
  const pl_kernel kernel = {.name = "inout",
                            .body = inout_body,
                            .grid = PL_GRID(3, 2),
                            .in = {PL_BLOCK(half_map, 8, 128)},
                            .out = {PL_INOUT(down_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

MAP(kij_map, 2 * i + j, k)
MAP(jk_map, j, k)
static void revisit_body(void) {
  if (pl_program_id(0) == 0)
    pl_fill(pl_output(0), 0);
  pl_add(pl_output(0), pl_output(0), pl_input(0));
}
static void revisit_two(void) {
  run((pl_kernel){.body = revisit_body,
                  .grid = PL_GRID(3, 2, 2),
                  .in = {PL_BLOCK(kij_map, 8, 128)},
                  .out = {PL_SPEC(PL_DIMS(8, 128), .map = jk_map, .buffer_count = 3, .revisit_any = 1)}},
      NULL);
}

/* ---- aliasing ---- */

MAP(every_second_map, i, 2 * j)
static void less_body(void) {
  pl_put(pl_scratch(0), -7, 0, 0);
  pl_add(pl_output(0), pl_input(0), pl_scratch(0));
}
static void alias_ragged(void) {
  const pl_array o = case_output("o", "x");
  const pl_kernel kernel = {.name = "ragged",
                            .body = less_body,
                            .grid = PL_GRID(3, 2),
                            .in = {PL_BLOCK(every_second_map, 8, 48)},
                            .out = {PL_SPEC(PL_DIMS(8, 48), .map = every_second_map, .alias = PL_ALIAS(0))},
                            .scratch = {PL_VMEM(PL_INT32, 1, 1)}};
  case_call(&kernel, PL_ARGS(o), PL_RESULTS(o));
}

static void crossed_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
  pl_sub(pl_output(1), pl_input(0), pl_input(1));
}
static void alias_crossed(void) {
  const pl_array o = case_output("o", "y"), p = case_output("p", "x");
  const pl_kernel kernel = {.name = "crossed",
                            .body = crossed_body,
                            .grid = PL_GRID(3),
                            .in = {ROWS, ROWS},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = rows_map, .alias = PL_ALIAS(1)),
                                    PL_SPEC(PL_DIMS(8, 128), .map = rows_map, .alias = PL_ALIAS(0))}};
  case_call(&kernel, PL_ARGS(p, o), PL_RESULTS(o, p));
}

static void alias_scatter(void) {
  const pl_array s = case_input("table"), x = case_input("x"), o = case_output("o", "z");
  const pl_kernel kernel = {.name = "scatter",
                            .body = copy_body,
                            .grid = PL_GRID(3),
                            .num_scalar_prefetch = 1,
                            .in = {ROWS, PL_IN_HBM},
                            .out = {PL_SPEC(PL_DIMS(8, 128), .map = first_table_map, .alias = PL_ALIAS(1))}};
  case_call(&kernel, PL_ARGS(s, x, o), PL_RESULTS(o));
}

/* ---- maps and grids ---- */

static void three_tables_map(const pl_grid *g, pl_index *b) {
  const int32_t i = g->id[0], j = g->id[1];
  b[0].start = table(0, i) + pl_get(pl_prefetch(1), i, j) + pl_get(pl_prefetch(2), j, 0, i);
  b[1].start = 0;
}
static void prefetch_three(void) {
  const pl_array x = case_input("x"), a = case_input("a"), b = case_input("b"), c = case_input("c"),
                 o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "tables",
                            .body = copy_body,
                            .grid = PL_GRID(3, 2),
                            .num_scalar_prefetch = 3,
                            .in = {PL_BLOCK(three_tables_map, 8, 128)},
                            .out = {PL_BLOCK(half_map, 8, 128)}};
  case_call(&kernel, PL_ARGS(a, b, c, x), PL_RESULTS(o));
}

MAP(arithmetic_map, i<j ? i : j, j> i ? 3 - j : (i + j) % 4)
MAP(folded_map, 2 * i + j / 2, j)
static void maps_with_arithmetic(void) {
  run((pl_kernel){.body = copy_body,
                  .grid = PL_GRID(4, 4),
                  .in = {PL_BLOCK(arithmetic_map, 8, 64)},
                  .out = {PL_BLOCK(folded_map, 8, 64)}},
      NULL);
}

static void from_the_end_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->extent[0] - 1 - g->id[0], b[1].start = 0;
}
static void count_body(void) {
  if (pl_program_id(1) == 0 && pl_program_id(2) == 0)
    pl_copy(pl_output(0), pl_input(0));
  pl_put(pl_scratch(0), 10 * pl_num_programs(1) + pl_program_id(2), 0, 0);
  pl_add(pl_output(0), pl_output(0), pl_scratch(0));
}
static void dynamic_mixed(void) {
  static const struct {
    const char *name;
    int32_t n;
  } runs[] = {{"o", 3}, {"p", 1}};
  const pl_array x = case_input("x");
  for (int r = 0; r < 2; r++) {
    const pl_array o = case_output(runs[r].name, NULL);
    const pl_kernel kernel = {.name = "dynamic",
                              .body = count_body,
                              .grid = PL_GRID(2, PL_DYN(runs[r].n), 2),
                              .in = {ROWS},
                              .out = {PL_BLOCK(from_the_end_map, 8, 128)},
                              .scratch = {PL_VMEM(PL_INT32, 1, 1)}};
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  }
}

MAP(second_map, 1, 0)
static void whole_body(void) {
  pl_put(pl_scratch(0), pl_get(pl_input(2), 0, pl_program_id(0)), 0, 0);
  pl_mul(pl_output(0), pl_input(3), pl_scratch(0));
  pl_add(pl_output(0), pl_output(0), pl_input(1));
  pl_add(pl_output(0), pl_output(0), pl_at(pl_input(0), PL_DS(0, 1)));
}
static void whole_and_blocks(void) {
  const pl_array w = case_input("w"), c = case_input("c"), s = case_input("s"), x = case_input("x"),
                 o = case_output("o", NULL);
  const pl_kernel kernel = {
      .name = "whole",
      .body = whole_body,
      .grid = PL_GRID(4),
      .in = {PL_WHOLE, PL_BLOCK(second_map, 8, 128), PL_SPEC(.rank = 0, .space = PL_SMEM), ROWS},
      .out = {ROWS},
      .scratch = {PL_VMEM(PL_INT32, 1, 1)}};
  case_call(&kernel, PL_ARGS(w, c, s, x), PL_RESULTS(o));
}

static void one_element(void) {
  const pl_array x = case_input("x");
  const pl_block_spec *specs[] = {PL_BLOCK(ij_map, 1, 1), PL_BLOCK(ij_map, 1, 5), PL_BLOCK(ij_map, 3, 1)};
  static const char *const names[] = {"o", "p", "q"};
  const pl_grid_spec grids[] = {PL_GRID(3, 5), PL_GRID(3, 1), PL_GRID(1, 5)};
  for (int i = 0; i < 3; i++) {
    const pl_array o = case_output(names[i], NULL);
    pl_kernel kernel = {.name = "element", .body = copy_body, .in = {specs[i]}, .out = {specs[i]}};
    kernel.grid = grids[i];
    case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  }
}

const struct conformance_case conformance_cases[] = {
    CASE(ragged_three),       CASE(ragged_mixed),         CASE(squeezed_two),
    CASE(squeezed_last),      CASE(element_both),         CASE(element_backwards),
    CASE(element_out_gaps),   CASE(bounded_zero),         CASE(bounded_and_blocked),
    CASE(every_buffer_count), CASE(lookahead_one_of_two), CASE(two_outputs),
    CASE(sum_over_runs),      CASE(inout_runs),           CASE(revisit_two),
    CASE(alias_ragged),       CASE(alias_crossed),        CASE(alias_scatter),
    CASE(prefetch_three),     CASE(maps_with_arithmetic), CASE(dynamic_mixed),
    CASE(whole_and_blocks),   CASE(one_element),          CASE_END,
};
