/* SPDX-License-Identifier: MIT */
/* Instructions that launches of vector functions and whole-ref operations cost the scalar core, with
 * arguments. */
#include "cost.h"

enum { STEPS = 12, ROWS = 32, COLUMNS = 64 };

PL_VECTOR_FN(doubled, 2, 0) {
  const pl_v x = pl_vload(PL_REF(0));
  pl_vstore(PL_REF(1), pl_vadd(x, x));
}
PL_VECTOR_FN(scaled, 3, 1) {
  pl_vstore(PL_REF(2), pl_vfma(pl_vload(PL_REF(0)), pl_vscalar(0), pl_vload(PL_REF(1))));
}
/* Several results. */
PL_VECTOR_FN(both, 4, 0) {
  const pl_v x = pl_vload(PL_REF(0)), y = pl_vload(PL_REF(1));
  pl_vstore(PL_REF(2), pl_vadd(x, y));
  pl_vstore(PL_REF(3), pl_vsub(x, y));
}

static struct cost same = {"vector_launch", 200, 0}, other = {"vector_launch.after_another", 260, 0},
                   more = {"vector_launch.3_refs_1_scalar", 260, 0},
                   several = {"vector_launch.4_refs_2_results", 310, 0},
                   element = {"vector_launch.smem_scalar", 340, 0}, parts = {"vector_launch.parts", 440, 0},
                   sizes = {"vector_launch.parts_of_other_sizes", 780, 0};
static struct cost again = {"whole_ref.again", 270, 0}, after = {"whole_ref.after_another", 310, 0};

static void body(void) {
  const pl_ref x = pl_input(0), o = pl_output(0), s = pl_scratch(0), t = pl_scratch(1);
  /* Of run-time values, as parts in bodies mostly are. */
  const int32_t rows = ROWS / 2 + 8 * (pl_program_id(0) & 1);

  pl_vrun(doubled, PL_REFS(x, o), PL_NO_SCALARS);
  COST(same, pl_vrun(doubled, PL_REFS(x, o), PL_NO_SCALARS));
  pl_vrun(scaled, PL_REFS(x, o, s), PL_SCALARS(pl_float(0.5f)));
  COST(more, pl_vrun(scaled, PL_REFS(x, o, s), PL_SCALARS(pl_float(0.5f))));
  COST(other, pl_vrun(doubled, PL_REFS(x, o), PL_NO_SCALARS));
  pl_vrun(both, PL_REFS(x, x, o, s), PL_NO_SCALARS);
  COST(several, pl_vrun(both, PL_REFS(x, x, o, s), PL_NO_SCALARS));
  const pl_scalar at = PL_SCALAR_AT(t, 1);
  pl_vrun(scaled, PL_REFS(x, o, s), PL_SCALARS(at));
  COST(element, pl_vrun(scaled, PL_REFS(x, o, s), PL_SCALARS(at)));
  const int32_t first = rows - ROWS / 2;
  const pl_ref from = pl_at(x, PL_DS(first, 8)), to = pl_at(o, PL_DS(first, 8));
  pl_vrun(doubled, PL_REFS(from, to), PL_NO_SCALARS);
  const pl_ref next = pl_at(x, PL_DS(first + 8, 8)), next_to = pl_at(o, PL_DS(first + 8, 8));
  COST(parts, pl_vrun(doubled, PL_REFS(next, next_to), PL_NO_SCALARS));
  const pl_ref sized = pl_at(x, PL_DS(8, rows)), sized_to = pl_at(o, PL_DS(8, rows));
  COST(sizes, pl_vrun(doubled, PL_REFS(sized, sized_to), PL_NO_SCALARS));
}

static void whole_body(void) {
  const pl_ref x = pl_input(0), o = pl_output(0), s = pl_scratch(0);

  pl_copy(s, x);
  pl_add(o, x, s);
  COST(again, pl_add(o, x, s));
  COST(after, pl_copy(s, x));
}

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

int main(void) {
  const pl_array x = pl_hbm_array(1 << 20, PL_F32, PL_SHAPE(STEPS * ROWS, COLUMNS)),
                 o = pl_hbm_array(4 << 20, PL_F32, PL_SHAPE(STEPS * ROWS, COLUMNS));
  pl_kernel kernel = {.name = "launch cost",
                      .body = body,
                      .grid = PL_GRID(STEPS),
                      .in = {PL_BLOCK(row_map, ROWS, COLUMNS)},
                      .out = {PL_BLOCK(row_map, ROWS, COLUMNS)},
                      .scratch = {PL_VMEM(PL_F32, ROWS, COLUMNS), PL_SMEM(PL_F32, 4)}};

  for (int call = 0; call < 4; call++) {
    kernel.body = call < 2 ? body : whole_body;
    if (pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK) {
      printf("launch_cost: %s\n", pl_error_message());
      return BOOT_EXIT_KERNEL;
    }
  }
  const struct cost costs[] = {same, other, more, several, element, parts, sizes, again, after};
  return cost_report(costs, sizeof costs / sizeof costs[0]);
}
