/* SPDX-License-Identifier: MIT */
/* Scalars in every memory and dtype; and what shows a kernel's inside: printing, checks, trace, poison. */
#include "suite.h"

#include "tpu_regs.h"

#include <string.h>

static char text[8192];
static void take_text(const char *line) {
  strncat(text, line, sizeof text - strlen(text) - 1);
}

/* ---- scalars ---- */

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
}

/* Blocks in SMEM, and a detour over VMEM. */
static void scalar_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0);
  const int32_t rows = pl_ref_extent(x, 0), columns = pl_ref_extent(x, 1);
  pl_ref part = pl_at(v, PL_DS_STRIDED(1, rows, 2), PL_DS(3, columns));

  for (int32_t i = 0; i < rows; i++)
    for (int32_t k = 0; k < columns; k++)
      pl_put(part, pl_get(x, i, k), i, k);
  for (int32_t i = 0; i < rows; i++)
    for (int32_t k = 0; k < columns; k++)
      pl_put(o, pl_get(pl_at(part, PL_INDEX(i)), k), i, k);
}

static void float_body(void) {
  pl_ref o = pl_output(0);
  for (int32_t i = 0; i < 4; i++)
    pl_put_float(o, pl_get_float(pl_input(0), i) * 0.5f + 1.0f, i);
}

static void test_scalars(void) {
  static const uint8_t dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};
  for (unsigned d = 0; d < 5; d++) {
    const pl_dtype dtype = (pl_dtype)dtypes[d];
    pl_array x = suite_array(dtype, PL_SHAPE(11, 5)), o = suite_array(dtype, PL_SHAPE(11, 5));
    const pl_kernel kernel = {.name = "scalars",
                              .body = scalar_body,
                              .grid = PL_GRID(6),
                              .in = {PL_SMEM_BLOCK(row_map, 2, 5)},
                              .out = {PL_SMEM_BLOCK(row_map, 2, 5)},
                              .scratch = {PL_VMEM(dtype, 5, 9)}};
    suite_fill(&x);
    suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "debug: scalars of %s", pl_dtype_name(dtype));
    check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0,
          "debug: scalars of %s, contents", pl_dtype_name(dtype));
    pl_stats stats;
    pl_get_stats(&stats);
    check(stats.copies[0] == 6 && stats.copies[1] == 6, "debug: blocks in SMEM, 6 copies each way: %u, %u",
          stats.copies[0], stats.copies[1]);
  }
  const pl_kernel kernel = {.name = "floats",
                            .body = float_body,
                            .in = {PL_SPEC(.space = PL_SMEM)},
                            .out = {PL_SPEC(.space = PL_SMEM)}};
  pl_array x = suite_array(PL_BF16, PL_SHAPE(4)), o = suite_array(PL_BF16, PL_SHAPE(4));
  suite_fill(&x);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "debug: floats");
  for (uint32_t i = 0; i < 4; i++)
    check(suite_get(&o, i) == suite_get(&x, i) * 0.5 + 1, "debug: float %u is %g", i, suite_get(&o, i));
}

/* ---- printing, checks ---- */

static int32_t evaluated;
static int32_t count_it(int32_t value) {
  evaluated++;
  return value;
}

static void print_body(void) {
  pl_ref x = pl_input(0), v = pl_scratch(0);
  pl_copy(v, x);
  pl_debug_print("row %d of %s", (int)pl_program_id(0), "x");
  pl_debug_print_ref("v", pl_at(v, PL_DS(0, 2), PL_DS(0, 4)));
  pl_debug_check(count_it(pl_program_id(0)) < 1, "row %d is too many", (int)pl_program_id(0));
  pl_copy(pl_output(0), v);
}

static void test_print(void) {
  static const float shown[] = {0.0f, -1.0f, 3.25f, 100000.0f, 0.1f, 1e20f, -2.5e-8f, 1234567.0f};
  pl_array x = suite_array(PL_F32, PL_SHAPE(2, 8)), o = suite_array(PL_F32, PL_SHAPE(2, 8));
  const pl_kernel kernel = {.name = "print",
                            .body = print_body,
                            .grid = PL_GRID(2),
                            .in = {PL_WHOLE},
                            .out = {PL_WHOLE},
                            .scratch = {PL_VMEM(PL_F32, 2, 8)}};
  for (uint32_t i = 0; i < 8; i++) {
    suite_put(&x, i, shown[i]);
    suite_put(&x, 8 + i, shown[7 - i]);
  }
  pl_debug_output(take_text);
  text[0] = '\0';
  pl_debug_set(PL_DEBUG_PRINT);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "debug: checks that are off");
  check(evaluated == 0, "debug: a check that is off evaluates nothing");
  static const char wanted[] = "print, step 0 (0): row 0 of x\n"
                               "print, step 0 (0): v = scratch 0 f32 [2, 4] in VMEM\n"
                               "  [0, -1, 3.25, 100000]\n"
                               "  [1234570, -2.5e-8, 1e20, 0.1]\n"
                               "print, step 1 (1): row 1 of x\n";
  check(strncmp(text, wanted, sizeof wanted - 1) == 0, "debug: what is printed: %s", text);
  text[0] = '\0';
  pl_debug_set(PL_DEBUG_CHECKS);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_CHECK, "debug: a check that fails",
              "kernel print, step 1 (1): check failed: row 1 is too many", NULL);
  check(text[0] == '\0' && evaluated == 2, "debug: printing that is off: %s", text);
  pl_debug_output(NULL);
  pl_debug_set(PL_DEBUG_PRINT);
}

/* ---- trace ---- */

static const char scope_name[] = "half";
static void trace_body(void) {
  PL_NAMED_SCOPE(scope_name) {
    pl_copy(pl_output(0), pl_input(0));
  }
  pl_trace_value(scope_name, -5);
}

static void test_trace(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(2, 8)), o = suite_array(PL_F32, PL_SHAPE(2, 8));
  const pl_kernel kernel = {.name = "trace", .body = trace_body};
  const uint32_t name = (uint32_t)(uintptr_t)scope_name & 0xffffffu;
  const uint32_t wanted[] = {(uint32_t)TPU_MARK_SCOPE_BEGIN << 24 | name,
                             (uint32_t)TPU_MARK_SCOPE_END << 24 | name, (uint32_t)TPU_MARK_NOTE << 24 | name,
                             (uint32_t)TPU_MARK_NOTE << 24 | 0xfffffbu,
                             (uint32_t)TPU_MARK_NOTE << 24 | 0xffu};
  uint32_t n, found = 0;

  (void)host_trace(&n);
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "debug: trace scopes");
  const struct {
    uint64_t head;
    uint32_t tag, arg;
  } *record = host_trace(&n);
  for (uint32_t i = 0; i < n && found < 5; i++)
    if ((record[i].head >> 48 & 255) == TPU_EVENT_MARK && record[i].tag == wanted[found])
      found++;
  check(found == 5, "debug: scope and value in the trace: %u of 5 marks in %u records", found, n);
}

/* ---- poison ---- */

static bool is_poison(const pl_array *a, uint32_t i) {
  const uint8_t *p = (const uint8_t *)pl_hbm_pointer(a) + (size_t)i * pl_dtype_bytes(a->dtype);
  uint32_t bits = 0;
  memcpy(&bits, p, pl_dtype_bytes(a->dtype));
  return a->dtype == PL_F32     ? (bits & 0x7fffffffu) > 0x7f800000u
         : a->dtype == PL_BF16  ? (bits & 0x7fffu) > 0x7f80u
         : a->dtype == PL_INT32 ? bits == 0x80000000u
                                : bits == 0x80u;
}

static void first_rows_body(void) {
  pl_ref x = pl_input(0);
  pl_copy(pl_at(pl_output(0), PL_DS(0, 2)), pl_at(x, PL_DS(0, 2)));
  pl_copy(pl_output(1), pl_scratch(0)); /* nobody wrote it before step 1 */
  pl_copy(pl_scratch(0), x);
}

static void test_poison(void) {
  static const uint8_t dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};
  pl_debug_set(PL_DEBUG_POISON);
  for (unsigned d = 0; d < 5; d++)
    for (unsigned buffers = 1; buffers <= 3; buffers++) {
      const pl_dtype dtype = (pl_dtype)dtypes[d];
      pl_array x = suite_array(dtype, PL_SHAPE(18, 20)), o = suite_array(dtype, PL_SHAPE(18, 20)),
               s = suite_array(dtype, PL_SHAPE(18, 20));
      const pl_kernel kernel = {
          .name = "poison",
          .body = first_rows_body,
          .grid = PL_GRID(5),
          .in = {PL_SPEC(PL_DIMS(4, 20), .map = row_map)},
          .out = {PL_SPEC(PL_DIMS(4, 20), .map = row_map, .buffer_count = (uint8_t)buffers),
                  PL_SPEC(PL_DIMS(4, 20), .map = row_map, .buffer_count = (uint8_t)buffers)},
          .scratch = {PL_VMEM(dtype, 4, 20)}};
      uint32_t wrong = 0;
      suite_fill(&x);
      suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o, s)), "debug: poison in %u buffers of %s", buffers,
               pl_dtype_name(dtype));
      for (uint32_t i = 0; i < 18 * 20; i++) {
        const uint32_t row = i / 20;
        wrong += row % 4 < 2 ? suite_get(&o, i) != suite_get(&x, i) : !is_poison(&o, i);
        wrong += row < 4 ? !is_poison(&s, i) : suite_get(&s, i) != suite_get(&x, i - 4 * 20);
      }
      check(wrong == 0, "debug: poison in %u buffers of %s: %u wrong", buffers, pl_dtype_name(dtype), wrong);
    }
  pl_debug_set(PL_DEBUG_PRINT);
}

void suite_debug(void) {
  const unsigned flags = pl_debug_get();
  test_scalars();
  test_print();
  test_trace();
  test_poison();
  pl_debug_set(flags);
  check(host_logged() == 0, "debug: the model logged nothing");
}
