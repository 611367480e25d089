/* SPDX-License-Identifier: MIT */
/*
 * Memory that two operands of a pipeline in a body would share, and copies onto a part of their source:
 * reported if and only if an element is in both. Random parts are compared with a count of bytes.
 */
#include "suite.h"

#include <string.h>

enum { PLANES = 3, ROWS = 12, COLUMNS = 24, BLOCK = 4, CASES = 200 };

static pl_array x, o;

static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}
static void empty_body(void) {}

/* ---- random parts of one array ---- */

struct part {
  int32_t start[3], size[3], step[3];
  bool dropped;
};

static void choose(struct part *p, const int32_t *extent, bool may_be_empty) {
  for (unsigned d = 0; d < 3; d++) {
    const uint32_t steps = d == 0 ? 1 : 3;
    p->step[d] = 1 + (int32_t)check_random_below(&suite.random, steps);
    p->start[d] = (int32_t)check_random_below(&suite.random, (uint32_t)extent[d] * 2 / 3);
    const int32_t most = (extent[d] - p->start[d] - 1) / p->step[d] + 1;
    p->size[d] = 1 + (int32_t)check_random_below(&suite.random, (uint32_t)most);
    if (may_be_empty && check_random_below(&suite.random, 30) == 0)
      p->size[d] = 0;
  }
  p->dropped = check_random_below(&suite.random, 3) == 0;
}

static pl_ref take(pl_ref ref, const struct part *p) {
  const pl_slice first = {p->start[0], p->size[0], 1}, one = PL_INDEX(p->start[0]);
  const pl_slice others[2] = {PL_DS_STRIDED(p->start[1], p->size[1], p->step[1]),
                              PL_DS_STRIDED(p->start[2], p->size[2], p->step[2])};
  return p->dropped ? pl_at(ref, one, others[0], others[1]) : pl_at(ref, first, others[0], others[1]);
}

static void touch(uint8_t *seen, const struct part *p, uint8_t bit) {
  const int32_t planes = p->dropped ? 1 : p->size[0];
  for (int32_t i = 0; i < planes; i++)
    for (int32_t j = 0; j < p->size[1]; j++)
      for (int32_t k = 0; k < p->size[2]; k++)
        seen[((p->start[0] + i) * ROWS + p->start[1] + j * p->step[1]) * COLUMNS + p->start[2] +
             k * p->step[2]] |= bit;
}

static struct part parts[2];

static void parts_body(void) {
  static const pl_block_spec in_hbm = {.space = PL_HBM};
  const pl_kernel inner = {.name = "inner", .body = empty_body, .out = {&in_hbm, &in_hbm}};
  pl_emit_pipeline(&inner, (pl_refs){0},
                   PL_REFS(take(pl_output(0), &parts[0]), take(pl_output(0), &parts[1])));
}
static void copy_body(void) {
  pl_sync_copy(take(pl_scratch(0), &parts[0]), take(pl_scratch(0), &parts[1]));
}

static void test_parts(void) {
  static const int32_t extent[3] = {PLANES, ROWS, COLUMNS};
  const pl_array three = suite_array(PL_INT32, PL_SHAPE(PLANES, ROWS, COLUMNS));
  uint32_t shared = 0, wrong = 0;

  for (uint32_t i = 0; i < CASES; i++) {
    uint8_t seen[PLANES * ROWS * COLUMNS] = {0};
    bool both = false;
    const bool copies = i % 2 != 0;
    choose(&parts[0], extent, copies);
    choose(&parts[1], extent, copies);
    if (copies) { /* of one shape */
      parts[1].dropped = parts[0].dropped;
      for (unsigned d = 0; d < 3; d++) {
        const int32_t most = (extent[d] - parts[1].start[d] - 1) / parts[1].step[d] + 1;
        if (parts[0].size[d] > most)
          parts[0].size[d] = most;
        parts[1].size[d] = parts[0].size[d];
      }
    }
    touch(seen, &parts[0], 1);
    touch(seen, &parts[1], 2);
    for (uint32_t k = 0; k < sizeof seen; k++)
      both = both || seen[k] == 3;
    const pl_kernel kernel = {.name = "parts",
                              .body = copies ? copy_body : parts_body,
                              .out = {PL_IN_HBM},
                              .scratch = {PL_VMEM(PL_INT32, PLANES, ROWS, COLUMNS)}};
    const pl_status status = pl_call(&kernel, (pl_arrays){0}, PL_RESULTS(three));
    shared += both;
    wrong += status != (both ? PL_ERROR_REF : PL_OK);
  }
  check(wrong == 0 && shared > CASES / 20 && shared < CASES,
        "overlap: random parts of one array (%u of %u share elements, %u wrong)", shared, CASES, wrong);
}

/* ---- outputs and buffers ---- */

static int which;
static void two_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  pl_add(pl_output(1), pl_input(0), pl_input(0));
}

static void pipeline_body(void) {
  const pl_block_spec *const half = PL_BLOCK(rows, BLOCK, COLUMNS / 2);
  const pl_kernel inner = {
      .name = "inner", .body = two_body, .grid = PL_GRID(ROWS / BLOCK), .in = {half}, .out = {half, half}};
  const pl_ref in = pl_input(0), out = pl_output(0), slots = pl_scratch(0);
  const pl_ref left = pl_at(out, PL_ALL, PL_DS(0, COLUMNS / 2)),
               right = pl_at(out, PL_ALL, PL_DS(COLUMNS / 2, COLUMNS / 2)),
               across = pl_at(out, PL_ALL, PL_DS(COLUMNS / 2 - 1, COLUMNS / 2)),
               source = pl_at(in, PL_ALL, PL_DS(0, COLUMNS / 2));
  const pl_ref even = pl_at(slots, PL_DS_STRIDED(0, 2, 2)), odd = pl_at(slots, PL_DS_STRIDED(1, 2, 2)),
               low = pl_at(slots, PL_DS(0, 2)), high = pl_at(slots, PL_DS(2, 2));
  const pl_allocations interleaved = {.in = {even}, .out = {odd}},
                       apart = {.in = {low}, .out = {PL_NO_REF, high}},
                       shared = {.in = {low}, .out = {PL_NO_REF, even}};

  switch (which) {
  case 0:
    pl_emit_pipeline(&inner, PL_REFS(source), PL_REFS(left, right));
    break;
  case 1:
    pl_emit_pipeline_with_allocations(&inner, PL_REFS(source), PL_REFS(left, right), &interleaved);
    break;
  case 2:
    pl_emit_pipeline_with_allocations(&inner, PL_REFS(source), PL_REFS(left, right), &apart);
    break;
  case 3:
    pl_emit_pipeline(&inner, PL_REFS(source), PL_REFS(left, across));
    break;
  case 4:
    pl_emit_pipeline_with_allocations(&inner, PL_REFS(source), PL_REFS(left, right), &shared);
    break;
  case 5: { /* an array that is used in place */
    const pl_ref rest = pl_at(slots, PL_INDEX(1));
    const pl_kernel one = {.name = "inner",
                           .body = empty_body,
                           .grid = PL_GRID(1),
                           .in = {PL_SPEC(PL_DIMS(BLOCK, COLUMNS / 2), .map = rows)},
                           .out = {NULL}};
    pl_emit_pipeline_with_allocations(&one, PL_REFS(source), PL_REFS(rest), &apart);
    break;
  }
  }
}

static pl_status call(int n) {
  const pl_kernel kernel = {.name = "overlap",
                            .body = pipeline_body,
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_INT32, 4, BLOCK, COLUMNS / 2)}};
  which = n;
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void test_pipelines(void) {
  static const char *const right[] = {"halves of one array as outputs", "slots that alternate",
                                      "slots behind one another"};
  static const struct {
    const char *name, *text;
  } bad[] = {
      {"outputs with a column in common",
       "pl_emit_pipeline: elements of output 0 are shared by output 0 and output 1"},
      {"buffers with a slot in common",
       "pl_emit_pipeline: elements of scratch 0 are shared by buffers of input 0 and buffers of output 1"},
      {"buffers that are an output",
       "pl_emit_pipeline: elements of scratch 0 are shared by output 0 and buffers of "
       "input 0"},
  };
  for (int n = 0; n < 3; n++) {
    uint32_t wrong = 0;
    suite_fill(&x);
    suite_ok(call(n), "overlap: %s", right[n]);
    for (int32_t i = 0; i < ROWS; i++)
      for (int32_t j = 0; j < COLUMNS; j++)
        wrong += suite_get(&o, (uint32_t)(i * COLUMNS + j)) !=
                 suite_get(&x, (uint32_t)(i * COLUMNS + j % (COLUMNS / 2))) * (j < COLUMNS / 2 ? 1 : 2);
    check(wrong == 0, "overlap: %s, contents (%u wrong)", right[n], wrong);
  }
  for (int n = 0; n < 3; n++) {
    char name[96];
    snprintf(name, sizeof name, "overlap: %s", bad[n].name);
    suite_fails(call(3 + n), PL_ERROR_REF, name, "kernel overlap, step 0 (): ", bad[n].text, NULL);
  }
  suite_ok(call(0), "overlap: the next call works");
}

void suite_overlap(void) {
  x = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  o = suite_array(PL_INT32, PL_SHAPE(ROWS, COLUMNS));
  test_parts();
  test_pipelines();
  check(host_logged() == 0, "overlap: the model logged nothing");
}
