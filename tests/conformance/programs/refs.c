/* SPDX-License-Identifier: MIT */
/* Products, views and scalars. Twins: twins/refs.py. */
#include "case.h"
#include "maps.h"

/* A kernel of one step over whole arrays in VMEM. */
static void run(const char *name, void (*body)(void), pl_arrays args, pl_arrays results) {
  const pl_kernel kernel = {.name = name, .body = body};
  case_call(&kernel, args, results);
}

/* ---- products; the result's shape is that of output 0 ---- */

static void product(const char *name, void (*body)(void), pl_dtype dtype, pl_arrays args, pl_array o) {
  const pl_kernel kernel = {.name = name, .body = body, .scratch = {PL_ACC(dtype, o.shape[0], o.shape[1])}};
  case_call(&kernel, args, PL_RESULTS(o));
}

static void dot_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_OVERWRITE);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void dot_of(const char *x_name, const char *y_name, const char *o_name, void (*body)(void),
                   pl_dtype dtype) {
  const pl_array x = case_input(x_name), y = case_input(y_name), o = case_output(o_name, NULL);
  product(x_name, body, dtype, PL_ARGS(x, y), o);
}
static void dot_bf16(void) {
  dot_of("x", "y", "o", dot_body, PL_F32);
}
static void dot_int8(void) {
  dot_of("x", "y", "o", dot_body, PL_INT32);
}
static void dot_real(void) {
  dot_of("x", "y", "o", dot_body, PL_F32);
}
static void dot_to_bf16(void) {
  dot_of("x", "y", "o", dot_body, PL_F32);
}

static void transposed_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_OVERWRITE | PL_TRANSPOSED);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void dot_transposed(void) {
  dot_of("x", "y", "o", transposed_body, PL_F32);
  dot_of("a", "b", "p", transposed_body, PL_INT32);
}

static void accumulate_body(void) {
  for (int i = 0; i < 4; i++)
    pl_dot(pl_scratch(0), pl_input(0), pl_input(1 + i % 2), i == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void dot_accumulate(void) {
  const pl_array x = case_input("x"), y = case_input("y"), z = case_input("z"), o = case_output("o", NULL);
  product("accumulate", accumulate_body, PL_F32, PL_ARGS(x, y, z), o);
}

#define PART(ref_, row_, rows_, column_, columns_)                                                           \
  pl_at((ref_), PL_DS((row_), (rows_)), PL_DS((column_), (columns_)))

static void parts_body(void) {
  pl_ref acc = pl_scratch(0);
  pl_fill(acc, 0);
  pl_dot(PART(acc, 8, 16, 16, 32), PART(pl_input(0), 8, 16, 16, 32), PART(pl_input(1), 16, 32, 0, 32),
         PL_OVERWRITE);
  pl_copy(pl_output(0), acc);
}
static void dot_parts(void) {
  dot_of("x", "y", "o", parts_body, PL_F32);
}

static void ragged_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), pl_program_id(2) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(2) == pl_num_programs(2) - 1)
    pl_copy(pl_output(0), pl_scratch(0));
}

/* The padding of k is zero in both operands, which is what the twin's masks make of it. */
static void matmul_ragged(void) {
  static const char *const names[2][3] = {{"x", "y", "o"}, {"a", "b", "p"}};
  for (int i = 0; i < 2; i++) {
    const pl_array x = case_input(names[i][0]), y = case_input(names[i][1]),
                   o = case_output(names[i][2], NULL);
    const pl_kernel kernel = {
        .name = "ragged",
        .body = ragged_body,
        .grid = PL_GRID(pl_cdiv(o.shape[0], 32), pl_cdiv(o.shape[1], 64), pl_cdiv(x.shape[1], 48)),
        .in = {PL_BLOCK(ik_map, 32, 48), PL_BLOCK(kj_map, 48, 64)},
        .out = {PL_BLOCK(ij_map, 32, 64)},
        .scratch = {i == 0 ? PL_ACC(PL_F32, 32, 64) : PL_ACC(PL_INT32, 32, 64)}};
    case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
  }
}

/* Unsigned operands, and a result of the wrong type. */
static void dot_errors(void) {
  const pl_array x = case_input("x"), u = case_input("u");
  pl_array o;
  pl_kernel kernel = {.name = "unsigned", .body = dot_body, .scratch = {PL_ACC(PL_INT32, 16, 16)}};
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(16, 16), &o)))
    return;
  case_fails(pl_call(&kernel, PL_ARGS(u, u), PL_RESULTS(o)));
  kernel.name = "result";
  case_fails(pl_call(&kernel, PL_ARGS(x, x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void high_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_OVERWRITE | PL_PRECISION_HIGH);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void highest_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_OVERWRITE | PL_PRECISION_HIGHEST);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void dot_f32(void) {
  const pl_array x = case_input("x"), y = case_input("y"), z = case_input("z");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL);
  product("f32", dot_body, PL_F32, PL_ARGS(x, y), o);
  product("f32_bf16", dot_body, PL_F32, PL_ARGS(x, z), p);
}
static void dot_f32_high(void) {
  dot_of("x", "y", "o", high_body, PL_F32);
}
static void dot_f32_highest(void) {
  dot_of("x", "y", "o", highest_body, PL_F32);
}

/* ---- views ---- */

static void view(const char *name, void (*body)(void)) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  run(name, body, PL_ARGS(x), PL_RESULTS(o));
}

static void slices_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_fill(o, 0);
  pl_copy(PART(o, 2, 5, 16, 32), PART(x, 9, 5, 0, 32));
  pl_add(pl_at(o, PL_DS(10, 2)), pl_at(x, PL_DS(3, 2)), pl_at(x, PL_DS(20, 2)));
  pl_copy(PART(o, 16, 4, 32, 32), PART(PART(x, 8, 8, 16, 48), 2, 4, 16, 32));
}
static void view_slices(void) {
  view("slices", slices_body);
}

static void columns_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_fill(o, 0);
  pl_copy(pl_at(o, PL_ALL, PL_DS(3, 19)), pl_at(x, PL_ALL, PL_DS(7, 19)));
  pl_copy(PART(o, 4, 2, 33, 1), PART(x, 9, 2, 1, 1));
}
static void view_columns(void) {
  view("columns", columns_body);
}

static void strided_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_fill(o, 0);
  pl_copy(pl_at(o, PL_DS(0, 8)), pl_at(x, PL_DS_STRIDED(1, 8, 3)));
  pl_copy(pl_at(o, PL_DS_STRIDED(9, 6, 2)), pl_at(x, PL_DS(0, 6)));
}
static void view_strided(void) {
  view("strided", strided_body);
}

static void index_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_copy(pl_at(o, PL_INDEX(0)), pl_at(x, PL_INDEX(1), PL_INDEX(2)));
  pl_add(pl_at(o, PL_INDEX(1)), pl_at(x, PL_INDEX(0), PL_INDEX(0)), pl_at(x, PL_INDEX(1), PL_INDEX(1)));
}
static void view_index(void) {
  view("index", index_body);
}

static void reshape_body(void) {
  pl_ref part = pl_at(pl_reshape(pl_input(0), PL_SHAPE(4, 6, 32)), PL_INDEX(2));
  pl_add(pl_output(0), part, part);
}
static void view_reshape(void) {
  view("reshape", reshape_body);
}

static void bitcast_body(void) {
  pl_copy(pl_output(0), pl_bitcast(pl_input(0), PL_INT32));
}
static void view_bitcast(void) {
  view("bitcast", bitcast_body);
}

static void select_body(void) {
  pl_copy(pl_output(0), pl_program_id(0) % 3 == 1 ? pl_input(0) : pl_input(1));
}
static void ref_select(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  const pl_block_spec *spec = PL_BLOCK(rows_map, 8, 64);
  const pl_kernel kernel = {
      .name = "select", .body = select_body, .grid = PL_GRID(4), .in = {spec, spec}, .out = {spec}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

/* ---- scalars ---- */

static void vmem_body(void) {
  pl_ref f32 = pl_input(0), bf16 = pl_input(1), int32 = pl_input(2), int8 = pl_input(3), uint8 = pl_input(4);
  pl_put(pl_output(0), pl_get(int32, 1, 2), 0);
  pl_put(pl_output(0), pl_get(int8, 3, 39), 1);
  pl_put(pl_output(0), pl_get(uint8, 23, 0), 2);
  pl_put(pl_output(0), pl_get(int32, 0, 0) + pl_get(int8, 0, 1), 3);
  pl_put_float(pl_output(1), pl_get_float(f32, 4, 17), 0);
  pl_put_float(pl_output(1), pl_get_float(bf16, 5, 6), 1);
}
static void scalar_vmem(void) {
  const pl_array f32 = case_input("f32"), bf16 = case_input("bf16"), int32 = case_input("int32");
  const pl_array int8 = case_input("int8"), uint8 = case_input("uint8");
  const pl_array o = case_output("o", NULL), p = case_output("p", NULL);
  run("vmem", vmem_body, PL_ARGS(f32, bf16, int32, int8, uint8), PL_RESULTS(o, p));
}

static void store_body(void) {
  static const int32_t at[3][2] = {{0, 0}, {3, 17}, {23, 39}};
  pl_ref o = pl_output(0);
  pl_copy(o, pl_input(0));
  for (int i = 0; i < 3; i++)
    switch (pl_ref_dtype(o)) {
    case PL_F32:
      pl_put_float(o, -2.5f, at[i][0], at[i][1]);
      break;
    case PL_BF16:
      pl_put_float(o, 1.5f, at[i][0], at[i][1]);
      break;
    case PL_INT32:
      pl_put(o, -70000, at[i][0], at[i][1]);
      break;
    case PL_INT8:
      pl_put(o, -3, at[i][0], at[i][1]);
      break;
    default:
      pl_put(o, 250, at[i][0], at[i][1]);
      break;
    }
}
static void scalar_store(void) {
  static const char *const names[][2] = {
      {"f32", "o_f32"}, {"bf16", "o_bf16"}, {"int32", "o_int32"}, {"int8", "o_int8"}, {"uint8", "o_uint8"}};
  for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
    const pl_array x = case_input(names[i][0]), o = case_output(names[i][1], NULL);
    run("store", store_body, PL_ARGS(x), PL_RESULTS(o));
  }
}

static void smem_body(void) {
  pl_ref s = pl_scratch(0);
  pl_put(s, 1, 0, 0);
  pl_put(s, 1, 0, 1);
  for (int32_t i = 2; i < 16; i++)
    pl_put(s, pl_get(s, (i - 1) / 8, (i - 1) % 8) + pl_get(s, (i - 2) / 8, (i - 2) % 8), i / 8, i % 8);
  for (int32_t i = 0; i < 16; i++)
    pl_put(pl_output(0), pl_get(s, i / 8, i % 8), i / 8, i % 8);
}
static void scalar_smem(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "smem",
                            .body = smem_body,
                            .out = {PL_SPEC(.space = PL_SMEM)},
                            .scratch = {PL_SMEM(PL_INT32, 2, 8)}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

const struct conformance_case conformance_cases[] = {
    CASE(dot_bf16),
    CASE(dot_int8),
    CASE(dot_transposed),
    CASE(dot_real),
    CASE(dot_accumulate),
    CASE(dot_to_bf16),
    CASE(dot_parts),
    CASE(view_slices),
    CASE(view_columns),
    CASE(view_strided),
    CASE(view_index),
    CASE(view_reshape),
    CASE(view_bitcast),
    CASE(scalar_vmem),
    CASE(scalar_store),
    CASE(scalar_smem),
    CASE(matmul_ragged),
    CASE(dot_errors),
    CASE(dot_f32),
    CASE(dot_f32_high),
    CASE(dot_f32_highest),
    CASE(ref_select),
    CASE_END,
};
