/* SPDX-License-Identifier: MIT */
/* Moves across lanes and rows of a tile, and random bits, in vector functions. */
#include "vector_fn_float.h"
#include "device.h"

static void run(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {.name = name,
                            .body = body,
                            .scratch = {PL_VMEM(PL_F32, ROWS, COLUMNS), PL_VMEM(PL_BF16, ROWS, COLUMNS),
                                        PL_ACC(PL_F32, ROWS, COLUMNS)}};
  call(&kernel);
}

PL_VECTOR_FN(moves, 2, 0) {
  pl_v v = pl_vload(PL_REF(0));
  v = pl_vsub(pl_vrotate_rows(pl_vrotate_lanes(v, 3), 2), pl_vrow(pl_vlane(v, 1), 5));
  pl_vstore(PL_REF(1), v);
}
static void moves_body(void) {
  pl_vrun(moves, PL_REFS(pl_input(0), pl_output(0)), PL_NO_SCALARS);
}
PL_VECTOR_FN(bits, 1, 4) {
  pl_vstore(PL_REF(0), pl_vbits_float(pl_vand(pl_vrandom(0, 2), pl_vconst_int(0x3fffffff))));
}
static void bits_body(void) { /* the lower half apart, which must be the same */
  pl_ref all = pl_output(0), half = pl_scratch(0);
  pl_vrun(bits, PL_REFS(all), PL_SCALARS(pl_int(11), pl_int(12), pl_int(0), pl_int(0)));
  pl_vrun(bits, PL_REFS(pl_at(half, PL_DS(ROWS / 2, ROWS / 2), PL_ALL)),
          PL_SCALARS(pl_int(11), pl_int(12), pl_int(ROWS / 2), pl_int(0)));
  pl_ref low = pl_at(all, PL_DS(ROWS / 2, ROWS / 2), PL_ALL);
  pl_sub(low, low, pl_at(half, PL_DS(ROWS / 2, ROWS / 2), PL_ALL));
}

int main(void) {
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES];
  arrays();

  fill(0, 1);
  run("moves", moves_body);
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++) {
      const int l = (int)lanes, tile = c / l * l, group = r / 8 * 8;
      const float want = *x_of((group + (r + 6) % 8) * COLUMNS + tile + (c - tile + l - 3) % l) -
                         *x_of((group + 5) * COLUMNS + tile + 1);
      check("moves", r * COLUMNS + c, *o_of(r * COLUMNS + c) == want);
    }
  run("random bits", bits_body);
  int same = 0;
  for (int i = 0; i < ROWS * COLUMNS / 2; i++)
    same += i > 0 && *o_of(i) == *o_of(i - 1);
  check("random bits differ", 0, same == 0);
  for (int i = ROWS * COLUMNS / 2; i < ROWS * COLUMNS; i++)
    check("random bits of a part", i, *o_of(i) == 0);
  return verdict("moves and random bits");
}
