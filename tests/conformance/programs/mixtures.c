/* SPDX-License-Identifier: MIT */
/* Several features at once, as kernels in use have them. Twins: twins/mixtures.py. */
#include "mixture.h"

/* ---- edges and ranks ---- */

static void ids_map(const pl_grid *g, pl_index *b) {
  for (unsigned d = 0; d < g->rank; d++)
    b[d].start = g->id[d];
}
static void cut_rank5(void) {
  const pl_block_spec *spec = PL_BLOCK(ids_map, 2, 3, 2, 8, 128);
  run((pl_kernel){.body = copy_body, .grid = PL_GRID(2, 2, 2, 2, 2), .in = {spec}, .out = {spec}});
}
static void cut_rank5_ragged(void) {
  const pl_block_spec *spec = PL_BLOCK(ids_map, 2, 3, 2, 8, 48);
  run((pl_kernel){.body = copy_body, .grid = PL_GRID(2, 2, 2, 2, 3), .in = {spec}, .out = {spec}});
}

static void ji_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = g->id[0];
}
static void transpose_body(void) {
  pl_transpose(pl_output(0), pl_input(0));
}
static void transposed_blocks(void) {
  run((pl_kernel){.body = transpose_body,
                  .grid = PL_GRID(3, 3),
                  .in = {PL_BLOCK(ij_map, 16, 8)},
                  .out = {PL_BLOCK(ji_map, 8, 16)}});
}

static void wrap_body(void) {
  pl_add(pl_output(0), pl_input(0), pl_input(1));
  pl_sub(pl_output(1), pl_input(0), pl_input(1));
  pl_mul(pl_output(2), pl_input(0), pl_input(1));
}
static void wrapping_bytes(void) {
  const pl_block_spec *spec = PL_BLOCK(ij_map, 16, 24);
  const pl_kernel kernel = {.name = "wrap",
                            .body = wrap_body,
                            .grid = PL_GRID(3, 2),
                            .in = {spec, spec},
                            .out = {spec, spec, spec}};
  static const char *const names[2][5] = {{"x_uint8", "y_uint8", "a_uint8", "b_uint8", "c_uint8"},
                                          {"x_int8", "y_int8", "a_int8", "b_int8", "c_int8"}};
  for (unsigned i = 0; i < 2; i++) {
    const pl_array x = case_input(names[i][0]), y = case_input(names[i][1]),
                   a = case_output(names[i][2], NULL), b = case_output(names[i][3], NULL),
                   c = case_output(names[i][4], NULL);
    case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(a, b, c));
  }
}

/* ---- views ---- */

static void window_map(const pl_grid *g, pl_index *b) {
  b[0].start = 8 * g->id[0], b[1].start = 0;
}
static void stencil_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_add(o, pl_at(x, PL_DS(0, 8)), pl_at(x, PL_DS(1, 8)));
  pl_sub(o, o, pl_at(x, PL_DS(2, 8)));
}
static void stencil(void) {
  run((pl_kernel){.body = stencil_body,
                  .grid = PL_GRID(4),
                  .in = {PL_SPEC(PL_DIMS(10, 128), .map = window_map, .kind = {PL_ELEMENT, PL_ELEMENT})},
                  .out = {ROWS}});
}

static void columns_body(void) {
  static const int32_t first[] = {5, 10, 31};
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_copy(o, pl_at(x, PL_ALL, PL_DS(0, 128)));
  for (unsigned k = 0; k < 3; k++)
    pl_add(o, o, pl_at(x, PL_ALL, PL_DS(first[k], 128)));
}
static void shifted_columns(void) {
  run((pl_kernel){.body = columns_body,
                  .grid = PL_GRID(2),
                  .in = {PL_BLOCK(rows_map, 16, 160)},
                  .out = {PL_BLOCK(rows_map, 16, 128)}});
}

static void roll_body(void) {
  const int32_t i = pl_program_id(0);
  pl_roll(pl_scratch(0), pl_input(0), 3 * i, 0);
  pl_roll(pl_output(0), pl_scratch(0), 5 + i, 1);
}
static void roll_by_step(void) {
  run((pl_kernel){.body = roll_body, .grid = PL_GRID(4), .in = {ROWS}, .out = {ROWS}, .scratch = {BLOCK32}});
}

/* ---- products ---- */

static void ij0_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = g->id[1], b[2].start = 0;
}
static void i00_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = b[2].start = 0;
}
static void product_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), PL_TRANSPOSED);
  pl_copy(pl_output(0), pl_scratch(0));
}
static void batched_product(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "batched",
                            .body = product_body,
                            .grid = PL_GRID(3, 2),
                            .dimension_semantics = {PL_PARALLEL, PL_PARALLEL},
                            .in = {PL_SPEC(PL_DIMS(1, 16, 32), .map = ij0_map, .kind = {PL_SQUEEZED}),
                                   PL_SPEC(PL_DIMS(1, 24, 32), .map = i00_map, .kind = {PL_SQUEEZED})},
                            .out = {PL_SPEC(PL_DIMS(1, 16, 24), .map = ij0_map, .kind = {PL_SQUEEZED})},
                            .scratch = {PL_ACC(PL_F32, 16, 24)}};
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o));
}

static void k_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[1], b[1].start = 0;
}
static void bias_body(void) {
  pl_dot(pl_scratch(0), pl_input(0), pl_input(1), pl_program_id(1) == 0 ? PL_OVERWRITE : PL_ACCUMULATE);
  if (pl_program_id(1) == 1)
    pl_relu(pl_output(0), pl_scratch(0), pl_input(2));
}
static void bias_relu_product(void) {
  const pl_array x = case_input("x"), y = case_input("y"), bias = case_input("bias"),
                 o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "bias",
                            .body = bias_body,
                            .grid = PL_GRID(3, 2),
                            .in = {PL_BLOCK(ij_map, 16, 32), PL_BLOCK(k_map, 32, 32), PL_WHOLE},
                            .out = {PL_BLOCK(rows_map, 16, 32)},
                            .scratch = {PL_ACC(PL_INT32, 16, 32)}};
  case_call(&kernel, PL_ARGS(x, y, bias), PL_RESULTS(o));
}

/* ---- sums and carries ---- */

static void j_map(const pl_grid *g, pl_index *b) {
  b[0].start = 0, b[1].start = g->id[0];
}
static void column_sums_body(void) {
  pl_ref o = pl_output(0), part = pl_scratch(0);
  pl_reduce_sum(pl_program_id(1) == 0 ? o : part, pl_input(0), PL_OVER_ROWS);
  if (pl_program_id(1) != 0)
    pl_add(o, o, part);
}
static void column_sums(void) {
  run((pl_kernel){.body = column_sums_body,
                  .grid = PL_GRID(2, 8),
                  .in = {PL_BLOCK(ji_map, 8, 128)},
                  .out = {PL_BLOCK(j_map, 1, 128)},
                  .scratch = {PL_VMEM(PL_INT32, 1, 128)}});
}

static void carry_body(void) {
  pl_ref carry = pl_scratch(0), element = pl_scratch(1);
  const int32_t before = pl_program_id(0) == 0 ? 0 : pl_get(carry, 0);
  pl_add(pl_output(0), pl_input(0), number(element, before));
  pl_reduce_sum(element, pl_input(0), PL_OVER_ALL);
  pl_put(carry, before + pl_get(element, 0, 0), 0);
}
static void carried_sum(void) {
  run((pl_kernel){.body = carry_body,
                  .grid = PL_GRID(5),
                  .in = {ROWS},
                  .out = {ROWS},
                  .scratch = {PL_SMEM(PL_INT32, 1), NUMBER}});
}

static void count_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  for (int32_t k = 0; k < 8; k++)
    pl_put(o, 0, 0, k);
  for (int32_t k = 0; k < 16; k++) {
    const int32_t v = pl_get(x, 0, k);
    pl_put(o, pl_get(o, 0, v) + 1, 0, v);
  }
}
static void counted_values(void) {
  run((pl_kernel){.body = count_body,
                  .grid = PL_GRID(4),
                  .in = {PL_SMEM_BLOCK(rows_map, 1, 16)},
                  .out = {PL_SMEM_BLOCK(rows_map, 1, 8)}});
}

static void part_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void parts_body(void) { /* behind the edge are zeros */
  pl_reduce_sum(pl_scratch(0), pl_input(0), PL_OVER_ALL);
  pl_put(pl_output(0), pl_get(pl_scratch(0), 0), pl_program_id(0));
}
static void sums_of_parts(void) {
  run((pl_kernel){.body = parts_body,
                  .grid = PL_GRID(4),
                  .in = {PL_BLOCK(part_map, 256)},
                  .out = {PL_SPEC(.space = PL_SMEM)},
                  .scratch = {PL_VMEM(PL_INT32, 1)}});
}

/* ---- masks ---- */

static void causal_body(void) {
  pl_ref row = pl_scratch(0), column = pl_scratch(1), element = pl_scratch(2), low = pl_scratch(3);
  pl_iota(row, 0);
  pl_add(row, row, number(element, 16 * pl_program_id(0) - 32 * pl_program_id(1)));
  pl_iota(column, 1);
  pl_less_equal(row, column, row);
  pl_put_float(low, -1000, 0, 0);
  pl_where(pl_output(0), row, pl_input(0), low);
}
static void causal_mask(void) {
  const pl_block_spec *spec = PL_BLOCK(ij_map, 16, 32);
  run((pl_kernel){
      .body = causal_body,
      .grid = PL_GRID(4, 2),
      .in = {spec},
      .out = {spec},
      .scratch = {PL_VMEM(PL_INT32, 16, 32), PL_VMEM(PL_INT32, 16, 32), NUMBER, PL_VMEM(PL_F32, 1, 1)}});
}

static int32_t first_of(int32_t g) {
  return pl_get(pl_prefetch(0), g);
}
static void group_map(const pl_grid *g, pl_index *b) {
  const int32_t block = first_of(g->id[0]) / 8 + g->id[1];
  b[0].start = block < 3 ? block : 3, b[1].start = 0;
}
static void group_body(void) {
  const int32_t g = pl_program_id(0), j = pl_program_id(1), block = first_of(g) / 8 + j;
  pl_ref o = pl_output(0), row = pl_scratch(0), mask = pl_scratch(1), kept = pl_scratch(2),
         part = pl_scratch(3), element = pl_scratch(4);
  if (j == 0)
    pl_fill(o, 0);
  if (block >= 4)
    return;
  pl_iota(row, 0);
  pl_less(mask, row, number(element, first_of(g + 1) - 8 * block)); /* before the group's end */
  pl_where(kept, mask, pl_input(0), number(element, 0));
  pl_less(mask, row, number(element, first_of(g) - 8 * block)); /* before its beginning */
  pl_where(kept, mask, number(element, 0), kept);
  pl_reduce_sum(part, kept, PL_OVER_ROWS);
  pl_add(o, o, part);
}
static void group_sums(void) {
  run_table((pl_kernel){.body = group_body,
                        .grid = PL_GRID(4, 3),
                        .in = {PL_BLOCK(group_map, 8, 128)},
                        .out = {PL_SPEC(PL_DIMS(1, 1, 128), .map = i00_map, .kind = {PL_SQUEEZED})},
                        .scratch = {BLOCK32, BLOCK32, BLOCK32, PL_VMEM(PL_INT32, 1, 128), NUMBER}},
            "first");
}

const struct conformance_case conformance_cases[] = {
    CASE(cut_rank5),       CASE(cut_rank5_ragged), CASE(transposed_blocks), CASE(stencil),
    CASE(shifted_columns), CASE(batched_product),  CASE(bias_relu_product), CASE(column_sums),
    CASE(carried_sum),     CASE(counted_values),   CASE(group_sums),        CASE(causal_mask),
    CASE(wrapping_bytes),  CASE(roll_by_step),     CASE(sums_of_parts),     CASE_END,
};
