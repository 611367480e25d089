/* SPDX-License-Identifier: MIT */
/* More vector programs than there is room for: they are made anew, and commands under way are not disturbed.
 */
#include "vector_fn_int.h"
#include "mmio.h"

/* ---- more programs than fit ---- */
#define COPY(n_)                                                                                             \
  PL_VECTOR_FN(add_##n_, 2, 0) {                                                                             \
    pl_v v = pl_vload(PL_REF(0));                                                                            \
    for (int i = 0; i < (n_); i++)                                                                           \
      v = pl_vadd(v, pl_vconst_int(n_));                                                                     \
    pl_vstore(PL_REF(1), v);                                                                                 \
  }
COPY(1)
COPY(2)
COPY(3)
COPY(30)
COPY(60)
COPY(70)
COPY(80)
COPY(90)
COPY(91)
COPY(92)
COPY(93)
COPY(94)
static pl_vector_fn *const many[] = {add_1,  add_2,  add_3,  add_30, add_60, add_70,
                                     add_80, add_90, add_91, add_92, add_93, add_94};
enum { MANY = sizeof many / sizeof many[0] };
static const uint8_t many_n[MANY] = {1, 2, 3, 30, 60, 70, 80, 90, 91, 92, 93, 94};
static void many_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  for (int round = 0; round < 2; round++)
    for (unsigned i = 0; i < MANY; i++)
      pl_vrun(many[i], PL_REFS(pl_output(0), pl_output(0)), PL_NO_SCALARS);
}
static void test_many(void) {
  int32_t sum = 0;
  for (unsigned i = 0; i < MANY; i++)
    for (int k = 0; k < many_n[i]; k++)
      sum += 2 * many_n[i];
  arrays(PL_INT32, PL_INT32, 16, 32);
  run("many", many_body);
  for (int i = 0; i < 16 * 32; i++)
    check("many", i, *o32(i), *x32(i) + sum);
}

/* ---- what a launch costs ---- */
static uint32_t again, fresh;
static void cost_body(void) {
  const pl_ref in = pl_input(0), out = pl_output(0);
  uint32_t before = 0;
  for (int i = 0; i < 4; i++) {
    before = cpu_instret();
    pl_vrun(add_3, PL_REFS(in, out), PL_NO_SCALARS);
    again = cpu_instret() - before;
  }
  for (int i = 0; i < 4; i++) {
    before = cpu_instret();
    pl_vrun(add_3, PL_REFS(pl_at(in, PL_DS(8, 8), PL_ALL), pl_at(out, PL_DS(8, 8), PL_ALL)), PL_NO_SCALARS);
    fresh = cpu_instret() - before;
  }
}
static void test_cost(void) {
  arrays(PL_INT32, PL_INT32, 16, 32);
  run("cost", cost_body);
  printf("FIGURE vector_launch.again %u instructions\n", (unsigned)again);
  printf("FIGURE vector_launch.fresh_views %u instructions\n", (unsigned)fresh);
  check("a repeated launch takes 300 instructions at most", (int)again, again <= 300, 1);
  check("one with two fresh views 2200", (int)fresh, fresh <= 2200, 1);
}

int main(void) {
  test_cost();
  test_many();
  return verdict("many vector functions");
}
