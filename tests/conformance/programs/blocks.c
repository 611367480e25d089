/* SPDX-License-Identifier: MIT */
/* Block specs: kinds of dimensions, edges, whole arrays, what must be refused. Twins: twins/blocks.py. */
#include "case.h"

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

/* o = x + 1, in refs of any rank and dtype; scratch 0 is one element. */
static void plus_one_body(void) {
  const uint32_t one = pl_ref_dtype(pl_input(0)) == PL_F32 ? 0x3f800000u : 1;
  const unsigned planes = pl_ref_rank(pl_input(0)) == 3 ? (unsigned)pl_ref_extent(pl_input(0), 0) : 0;

  pl_fill(pl_scratch(0), one);
  if (planes == 0)
    pl_add(pl_output(0), pl_input(0), pl_scratch(0));
  for (unsigned i = 0; i < planes; i++)
    pl_add(pl_at(pl_output(0), PL_INDEX((int32_t)i)), pl_at(pl_input(0), PL_INDEX((int32_t)i)),
           pl_scratch(0));
}

static void run(const char *x_name, const char *o_name, pl_kernel kernel) {
  const pl_array x = case_input(x_name), o = case_output(o_name, NULL);
  kernel.name = kernel.name != NULL ? kernel.name : x_name;
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

#define MAP(name_, ...)                                                                                      \
  static void name_(const pl_grid *g, pl_index *b) {                                                         \
    const int32_t id[3] = {g->id[0], g->id[1], g->id[2]}, start[] = {__VA_ARGS__};                           \
    (void)id;                                                                                                \
    for (unsigned d = 0; d < sizeof start / sizeof start[0]; d++)                                            \
      b[d].start = start[d];                                                                                 \
  }

MAP(rows_map, id[0], 0)
MAP(first_map, id[0])
MAP(columns_map, 0, id[0])
MAP(ij_map, id[0], id[1])
MAP(ij0_map, id[0], id[1], 0)
MAP(ijk_map, id[0], id[1], id[2])
MAP(ji0_map, id[1], id[0], 0)
MAP(i00_map, id[0], 0, 0)
MAP(middle_map, 0, id[0], 0)
MAP(fourth_rows_map, 4 * id[0], 0)
MAP(eighth_rows_map, 8 * id[0], 0)
MAP(skewed_map, id[0], 7 * id[0] + 1)
MAP(second_block_map, id[0], 1, 0)
MAP(eighth_row_map, id[0], 8, 0)

#define ONE .scratch = {PL_VMEM(PL_INT32, 1, 1)}

static void block_squeezed(void) {
  const pl_block_spec *spec = PL_SPEC(PL_DIMS(1, 8, 128), .map = ji0_map, .kind = {PL_SQUEEZED});
  run("x", "o", (pl_kernel){.body = plus_one_body, .grid = PL_GRID(2, 4), .in = {spec}, .out = {spec}, ONE});
}

static void block_squeezed_middle(void) {
  run("x", "o",
      (pl_kernel){.body = plus_one_body,
                  .grid = PL_GRID(3),
                  .in = {PL_SPEC(PL_DIMS(8, 1, 128), .map = middle_map, .kind = {PL_BLOCKED, PL_SQUEEZED})},
                  .out = {PL_SPEC(PL_DIMS(1, 8, 128), .map = i00_map, .kind = {PL_SQUEEZED})},
                  ONE});
}

static void block_leading(void) {
  const pl_block_spec *spec = PL_BLOCK(ij0_map, 2, 8, 128);
  run("x", "o", (pl_kernel){.body = plus_one_body, .grid = PL_GRID(2, 2), .in = {spec}, .out = {spec}, ONE});
}

static void block_element(void) {
  run("x", "o",
      (pl_kernel){.body = copy_body,
                  .grid = PL_GRID(5),
                  .in = {PL_SPEC(PL_DIMS(8, 128), .map = fourth_rows_map, .kind = {PL_ELEMENT, PL_ELEMENT})},
                  .out = {PL_BLOCK(rows_map, 8, 128)}});
}

static void block_element_out(void) {
  run("x", "o",
      (pl_kernel){
          .body = copy_body,
          .grid = PL_GRID(4),
          .in = {PL_BLOCK(rows_map, 8, 128)},
          .out = {PL_SPEC(PL_DIMS(8, 128), .map = fourth_rows_map, .kind = {PL_ELEMENT, PL_ELEMENT})}});
}

static void block_element_columns(void) {
  run("x", "o",
      (pl_kernel){.body = copy_body,
                  .grid = PL_GRID(3),
                  .in = {PL_SPEC(PL_DIMS(8, 32), .map = skewed_map, .kind = {PL_ELEMENT, PL_ELEMENT})},
                  .out = {PL_BLOCK(rows_map, 8, 32)}});
}

static void block_element_pad(void) {
  run("x", "o",
      (pl_kernel){.body = copy_body,
                  .grid = PL_GRID(3),
                  .in = {PL_SPEC(PL_DIMS(8, 128), .map = eighth_rows_map, .kind = {PL_ELEMENT, PL_ELEMENT},
                                 .pad_high = {4})},
                  .out = {PL_BLOCK(rows_map, 8, 128)}});
}

static void block_mixed(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  pl_kernel kernel = {.name = "blocked",
                      .body = plus_one_body,
                      .grid = PL_GRID(3),
                      .in = {PL_SPEC(PL_DIMS(1, 8, 256), .map = second_block_map, .kind = {PL_SQUEEZED})},
                      .out = {PL_BLOCK(rows_map, 8, 256)},
                      ONE};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  kernel.name = "element";
  kernel.in[0] =
      PL_SPEC(PL_DIMS(1, 8, 256), .map = eighth_row_map, .kind = {PL_SQUEEZED, PL_ELEMENT, PL_ELEMENT});
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(p));
}

static void four_to_eleven_map(const pl_grid *g, pl_index *b) {
  (void)g;
  b[0].start = 4, b[0].size = 8;
  b[1].start = b[2].start = 0;
}

static void block_bounded_static(void) {
  const pl_block_spec *spec = PL_SPEC(PL_DIMS(16, 8, 128), .map = four_to_eleven_map, .kind = {PL_BOUNDED});
  run("x", "o", (pl_kernel){.body = copy_body, .grid = PL_GRID(1), .in = {spec}, .out = {spec}});
}

static void table_map(const pl_grid *g, pl_index *b) {
  const int32_t start = pl_get(pl_prefetch(0), g->id[0], 0);
  b[0].start = start, b[0].size = pl_get(pl_prefetch(0), g->id[0], 1) - start;
  b[1].start = b[2].start = 0;
}

static void block_bounded_table(void) {
  const pl_array x = case_input("x"), table = case_input("table"), o = case_output("o", NULL);
  const pl_block_spec *spec = PL_SPEC(PL_DIMS(16, 8, 128), .map = table_map, .kind = {PL_BOUNDED});
  const pl_kernel kernel = {.name = "bounded",
                            .body = copy_body,
                            .grid = PL_GRID(4),
                            .num_scalar_prefetch = 1,
                            .in = {spec},
                            .out = {spec}};
  case_call(&kernel, PL_ARGS(table, x), PL_RESULTS(o));
}

static void block_whole(void) {
  run("x", "o", (pl_kernel){.body = plus_one_body, .in = {PL_WHOLE}, .out = {PL_WHOLE}, ONE});
}

static void block_rank1(void) {
  run("x", "o",
      (pl_kernel){.body = plus_one_body,
                  .grid = PL_GRID(4),
                  .in = {PL_BLOCK(first_map, 256)},
                  .out = {PL_BLOCK(first_map, 256)},
                  ONE});
}

static void hbm_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0);
  pl_sync_copy(pl_at(x, PL_DS(8, 8)), v);
  pl_sync_copy(v, pl_at(o, PL_DS(0, 8)));
  pl_sync_copy(pl_at(x, PL_DS(0, 8)), pl_at(o, PL_DS(8, 8)));
}

static void block_in_hbm(void) {
  run("x", "o",
      (pl_kernel){
          .body = hbm_body, .in = {PL_IN_HBM}, .out = {PL_IN_HBM}, .scratch = {PL_VMEM(PL_INT32, 8, 128)}});
}

static void block_dtypes(void) {
  static const char *const names[][2] = {
      {"f32", "o_f32"}, {"bf16", "o_bf16"}, {"int32", "o_int32"}, {"int8", "o_int8"}, {"uint8", "o_uint8"}};
  const pl_block_spec *spec = PL_BLOCK(ij_map, 32, 128);
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
    run(names[i][0], names[i][1],
        (pl_kernel){.body = copy_body, .grid = PL_GRID(3, 2), .in = {spec}, .out = {spec}});
}

static void block_uneven(void) {
  const pl_block_spec *spec = PL_BLOCK(ijk_map, 2, 16, 128);
  run("x", "o",
      (pl_kernel){.body = plus_one_body,
                  .grid = PL_GRID(3, 3, 2),
                  .in = {spec},
                  .out = {spec},
                  .scratch = {PL_VMEM(PL_F32, 1, 1)}});
}

static void block_rows_601(void) {
  const pl_block_spec *spec = PL_BLOCK(rows_map, 256, 128);
  run("x", "o", (pl_kernel){.body = copy_body, .grid = PL_GRID(3), .in = {spec}, .out = {spec}});
}

/* The output's blocks are not ragged, so that what the input's hold behind the edge is seen. */
static void block_ragged_fill(void) {
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  pl_kernel kernel = {.name = "zero",
                      .body = copy_body,
                      .grid = PL_GRID(2, 2),
                      .in = {PL_BLOCK(ij_map, 12, 128)},
                      .out = {PL_BLOCK(ij_map, 12, 128)}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  kernel.name = "value";
  kernel.in[0] = PL_SPEC(PL_DIMS(12, 128), .map = ij_map, .pad_value = 0xc0200000u); /* -2.5 */
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(p));
}

/* The padding is zero on both sides, which is what the twin's masks make of it. */
static void dot_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), pl_program_id(0) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(0) == pl_num_programs(0) - 1)
    pl_copy(pl_output(0), pl_scratch(0));
}
MAP(origin_map, 0, 0)

static void block_ragged_reduction(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "reduction",
                            .body = dot_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(columns_map, 24, 32), PL_BLOCK(rows_map, 32, 48)},
                            .out = {PL_BLOCK(origin_map, 24, 48)},
                            .scratch = {PL_ACC(PL_F32, 24, 48)}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

static void smem_body(void) {
  for (int32_t i = 0; i < 4; i++)
    pl_put(pl_output(0), 2 * pl_get(pl_input(0), 0, i) + 1, 0, i);
}
static void block_smem(void) {
  run("x", "o",
      (pl_kernel){.body = smem_body,
                  .grid = PL_GRID(6),
                  .in = {PL_SMEM_BLOCK(rows_map, 1, 4)},
                  .out = {PL_SMEM_BLOCK(rows_map, 1, 4)}});
}

MAP(ijk00_map, id[0], id[1], id[2], 0, 0)
static void block_rank5(void) {
  const pl_block_spec *spec =
      PL_SPEC(PL_DIMS(1, 2, 1, 8, 32), .map = ijk00_map, .kind = {PL_SQUEEZED, PL_BLOCKED, PL_SQUEEZED});
  run("x", "o",
      (pl_kernel){.body = plus_one_body, .grid = PL_GRID(2, 2, 3), .in = {spec}, .out = {spec}, ONE});
}

MAP(shifted_0_map, id[0] % 4, 0)
MAP(shifted_1_map, (id[0] + 1) % 4, 0)
MAP(shifted_2_map, (id[0] + 2) % 4, 0)
MAP(shifted_3_map, (id[0] + 3) % 4, 0)
static void many_body(void) {
  pl_ref o = pl_output(0);
  pl_add(o, pl_input(0), pl_input(1));
  for (int n = 2; n < 14; n++)
    pl_add(o, o, pl_input(n));
  pl_copy(pl_output(1), pl_input(0));
}
static void block_many(void) {
  static void (*const maps[4])(const pl_grid *, pl_index *) = {shifted_0_map, shifted_1_map, shifted_2_map,
                                                               shifted_3_map};
  const pl_array x = case_input("x"), o = case_output("o", NULL), p = case_output("p", NULL);
  pl_kernel kernel = {.name = "many", .body = many_body, .grid = PL_GRID(4)};
  pl_block_spec spec[4];
  pl_array args[14];

  for (int n = 0; n < 4; n++)
    spec[n] = *PL_BLOCK(maps[n], 8, 32);
  for (int n = 0; n < 14; n++) {
    kernel.in[n] = &spec[n % 4];
    args[n] = x;
  }
  kernel.out[0] = kernel.out[1] = PL_BLOCK(rows_map, 8, 32);
  case_call(&kernel, (pl_arrays){args, 14}, PL_RESULTS(o, p));
}

const struct conformance_case conformance_cases[] = {
    CASE(block_squeezed),       CASE(block_squeezed_middle),
    CASE(block_leading),        CASE(block_element),
    CASE(block_element_out),    CASE(block_element_columns),
    CASE(block_element_pad),    CASE(block_mixed),
    CASE(block_bounded_static), CASE(block_bounded_table),
    CASE(block_whole),          CASE(block_rank1),
    CASE(block_in_hbm),         CASE(block_dtypes),
    CASE(block_uneven),         CASE(block_rows_601),
    CASE(block_ragged_fill),    CASE(block_ragged_reduction),
    CASE(block_smem),           CASE(block_rank5),
    CASE(block_many),           CASE_END,
};
