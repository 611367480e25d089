/* SPDX-License-Identifier: MIT */
/* Arrays that stay on the chip, constant blocks, plans that come and go, and data files. */
#include "suite.h"

#include "internal.h"

#include <string.h>

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}
static void rows(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0], b[1].start = 0;
}
static void columns(const pl_grid *g, pl_index *b) {
  b[0].start = 0, b[1].start = g->id[0];
}
static void origin(const pl_grid *g, pl_index *b) {
  (void)g, b[0].start = b[1].start = 0;
}
static void nowhere(const pl_grid *g, pl_index *b) {
  (void)g, b[0].start = 1, b[1].start = 0;
}

static void dot_body(void) {
  pl_dot(pl_output(0), pl_input(0), pl_input(1), PL_OVERWRITE);
}

static void test_spaces(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(64, 48)), o = suite_array(PL_F32, PL_SHAPE(64, 48)), v, a;
  pl_stats stats;

  suite_fill(&x);
  suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(64, 48), &v), "resident: VMEM");
  suite_ok(pl_alloc(PL_ACC, PL_F32, PL_SHAPE(64, 48), &a), "resident: ACC");
  const pl_kernel by_rows = {.name = "rows",
                             .body = copy_body,
                             .grid = PL_GRID(4),
                             .in = {PL_BLOCK(rows, 16, 48)},
                             .out = {PL_BLOCK(rows, 16, 48)}};
  const pl_kernel by_columns = {.name = "columns",
                                .body = copy_body,
                                .grid = PL_GRID(3),
                                .in = {PL_BLOCK(columns, 64, 16)},
                                .out = {PL_BLOCK(columns, 64, 16)}};
  suite_ok(pl_call(&by_rows, PL_ARGS(x), PL_RESULTS(v)), "resident: HBM to VMEM");
  suite_ok(pl_call(&by_columns, PL_ARGS(v), PL_RESULTS(a)), "resident: VMEM to ACC, blocks in place");
  pl_get_stats(&stats);
  check(stats.copies[0] == 0 && stats.copies[1] == 0 && stats.queue[0].commands == 0,
        "resident: in place is without copies");
  suite_ok(pl_call(&by_rows, PL_ARGS(a), PL_RESULTS(o)), "resident: ACC to HBM");
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0,
        "resident: contents after the round");
  const pl_kernel narrow = {.name = "narrow",
                            .body = copy_body,
                            .grid = PL_GRID(24),
                            .in = {PL_BLOCK(columns, 64, 2)},
                            .out = {PL_BLOCK(columns, 64, 2)}};
  suite_fails(pl_call(&narrow, PL_ARGS(v), PL_RESULTS(o)), PL_ERROR_SPEC, "resident: narrow blocks in place",
              "2 columns in place", NULL);
  const pl_kernel uneven = {.name = "uneven",
                            .body = copy_body,
                            .grid = PL_GRID(3),
                            .in = {PL_BLOCK(rows, 24, 48)},
                            .out = {PL_BLOCK(rows, 24, 48)}};
  suite_fails(pl_call(&uneven, PL_ARGS(v), PL_RESULTS(o)), PL_ERROR_SPEC,
              "resident: blocks in place must be even", "input 0", "evenly", NULL);
  pl_array other = v;
  other.address = 0;
  suite_fails(pl_call(&by_rows, PL_ARGS(other), PL_RESULTS(o)), PL_ERROR_ARGUMENT,
              "resident: memory of nobody", "pl_alloc", NULL);
  pl_free(&v);
  pl_free(&a);
}

/* A part of an array on the chip whose offset, taken as an address of HBM, lies in the output. */
static void test_no_alias(void) {
  pl_array x = suite_array(PL_F32, PL_SHAPE(64, 48)), o = suite_array(PL_F32, PL_SHAPE(64, 48)), v;
  const pl_kernel copy = {.name = "copy", .body = copy_body};

  suite_fill(&x);
  suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(448, 48), &v), "resident: most of VMEM");
  pl_array part = v;
  part.shape[0] = 64;
  part.address += (o.address + v.pitch - 1) / v.pitch * v.pitch;
  suite_ok(pl_call(&copy, PL_ARGS(x), PL_RESULTS(part)), "resident: into a part of an array in VMEM");
  suite_ok(pl_call(&copy, PL_ARGS(part), PL_RESULTS(o)), "resident: an offset in VMEM is no address of HBM");
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0,
        "resident: part of an array in VMEM, contents");
  pl_free(&v);
}

static void test_dot_in_place(void) {
  const pl_dtype dtype = suite.bf16 ? PL_BF16 : PL_INT8;
  pl_array hx = suite_array(dtype, PL_SHAPE(64, 64)), hy = suite_array(dtype, PL_SHAPE(64, 64)), x, y, acc;
  pl_array o = suite_array(suite.bf16 ? PL_F32 : PL_INT32, PL_SHAPE(64, 64));
  uint32_t wrong = 0;

  suite_fill(&hx);
  suite_fill(&hy);
  suite_ok(pl_alloc(PL_VMEM, dtype, PL_SHAPE(64, 64), &x), "resident: x");
  suite_ok(pl_alloc(PL_VMEM, dtype, PL_SHAPE(64, 64), &y), "resident: y");
  suite_ok(pl_alloc(PL_ACC, (pl_dtype)o.dtype, PL_SHAPE(64, 64), &acc), "resident: acc");
  const pl_kernel copy = {.name = "load", .body = copy_body};
  const pl_kernel dot = {.name = "dot", .body = dot_body};
  suite_ok(pl_call(&copy, PL_ARGS(hx), PL_RESULTS(x)), "resident: load x");
  suite_ok(pl_call(&copy, PL_ARGS(hy), PL_RESULTS(y)), "resident: load y");
  for (int call = 0; call < 3; call++)
    suite_ok(pl_call(&dot, PL_ARGS(x, y), PL_RESULTS(acc)), "resident: dot, call %d", call);
  suite_ok(pl_call(&copy, PL_ARGS(acc), PL_RESULTS(o)), "resident: unload");
  for (int32_t i = 0; i < 64; i++)
    for (int32_t j = 0; j < 64; j++) {
      double sum = 0;
      for (int32_t k = 0; k < 64; k++)
        sum += suite_get(&hx, (uint32_t)(i * 64 + k)) * suite_get(&hy, (uint32_t)(k * 64 + j));
      wrong += sum != suite_get(&o, (uint32_t)(i * 64 + j));
    }
  check(wrong == 0, "resident: result of the dot");
  pl_free(&x);
  pl_free(&y);
  pl_free(&acc);
}

static void test_constant(void) {
  pl_array x = suite_array(PL_INT32, PL_SHAPE(20, 12)), o = suite_array(PL_INT32, PL_SHAPE(20, 12));
  pl_stats stats;

  suite_fill(&x);
  const pl_kernel whole = {.name = "whole",
                           .body = copy_body,
                           .grid = PL_GRID(5),
                           .in = {PL_WHOLE},
                           .out = {PL_BLOCK(origin, 20, 12)}};
  suite_ok(pl_call(&whole, PL_ARGS(x), PL_RESULTS(o)), "resident: whole arrays");
  pl_get_stats(&stats);
  check(stats.copies[0] == 1 && stats.copies[1] == 1 && stats.steps == 5,
        "resident: a whole array is copied once");
  check(memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0,
        "resident: whole arrays, contents");
  const pl_kernel wrong = {
      .name = "wrong", .body = copy_body, .grid = PL_GRID(5), .in = {PL_BLOCK(nowhere, 20, 12)}};
  suite_fails(pl_call(&wrong, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_BLOCK_INDEX,
              "resident: a bad map of a whole array", "[1, 0]", NULL);
  const pl_kernel unmapped = {.name = "unmapped",
                              .body = copy_body,
                              .grid = PL_GRID(2),
                              .in = {PL_BLOCK(NULL, 8, 8)},
                              .out = {PL_BLOCK(NULL, 8, 8)}};
  memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
  suite_ok(pl_call(&unmapped, PL_ARGS(x), PL_RESULTS(o)), "resident: block 0 without a map");
  uint32_t bad = 0;
  for (int32_t i = 0; i < 20; i++)
    for (int32_t j = 0; j < 12; j++)
      bad += suite_get(&o, (uint32_t)(i * 12 + j)) !=
             (i < 8 && j < 8 ? suite_get(&x, (uint32_t)(i * 12 + j)) : 0);
  check(bad == 0, "resident: block 0 without a map, contents");
  const pl_kernel scalar = {.name = "scalar", .body = copy_body};
  pl_array s = suite_array(PL_F32, PL_SHAPE()), t = suite_array(PL_F32, PL_SHAPE());
  suite_put(&s, 0, 42);
  suite_ok(pl_call(&scalar, PL_ARGS(s), PL_RESULTS(t)), "resident: arrays of rank 0");
  check(suite_get(&t, 0) == 42, "resident: arrays of rank 0, contents");
}

/* More plans than the arena holds: old ones go, results stay right. */
static void test_many_plans(void) {
  pl_array x = suite_array(PL_INT8, PL_SHAPE(96, 64)), o = suite_array(PL_INT8, PL_SHAPE(96, 64));
  uint32_t wrong = 0, failed = 0;

  suite_fill(&x);
  for (int32_t n = 1; n <= 96; n++) {
    const pl_kernel kernel = {.name = "many",
                              .body = copy_body,
                              .grid = PL_GRID(pl_cdiv(96, n)),
                              .in = {PL_BLOCK(rows, n, 64)},
                              .out = {PL_BLOCK(rows, n, 64)}};
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    failed += pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)) != PL_OK;
    wrong += memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) != 0;
  }
  check(failed == 0 && wrong == 0, "resident: 96 plans (%u failed, %u wrong) %s", failed, wrong,
        failed ? pl_error_message() : "");
}

/* As if a thousand million commands had been queued since the last call. */
static void age(uint32_t commands) {
  for (unsigned q = 0; q < PL_QUEUES; q++) {
    struct pl_queue *queue = &pl_context.queue[q];
    queue->issued += commands;
    queue->limit = queue->issued;
    pl_context.done[q] = queue->issued;
    mmio_write32(PEPLOS_TPU_BASE + TPU_REG_SEM_VALUE(q), queue->issued);
    for (unsigned r = 0; r < PL_QUEUES; r++)
      queue->observed[r] += commands;
  }
}

static void test_age(void) {
  pl_array x = suite_array(PL_INT8, PL_SHAPE(96, 64)), o = suite_array(PL_INT8, PL_SHAPE(96, 64)), v;
  uint32_t wrong = 0;

  suite_fill(&x);
  suite_ok(pl_alloc(PL_VMEM, PL_INT8, PL_SHAPE(96, 64), &v), "resident: VMEM for old tickets");
  const pl_kernel kernel = {.name = "old",
                            .body = copy_body,
                            .grid = PL_GRID(6),
                            .in = {PL_BLOCK(rows, 16, 64)},
                            .out = {PL_BLOCK(rows, 16, 64)}};
  pl_kernel other = kernel; /* runs while the first one's tickets grow old */
  const pl_block_spec half = {.map = rows, .shape = {48, 64}, .rank = 2};
  other.grid.extent[0] = 2;
  other.in[0] = other.out[0] = &half;
  for (int round = 0; round < 3; round++) {
    memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
    wrong += pl_call(&kernel, PL_ARGS(x), PL_RESULTS(v)) != PL_OK;
    wrong += pl_call(&kernel, PL_ARGS(v), PL_RESULTS(o)) != PL_OK;
    wrong += memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) != 0;
    for (int call = 0; call < 10 + 3 * round; call++) {
      age(0x10000000);
      wrong += pl_call(&other, PL_ARGS(x), PL_RESULTS(o)) != PL_OK;
    }
  }
  check(wrong == 0, "resident: tickets go round several times");
  pl_free(&v);
}

static void test_data(void) {
  uint8_t *hbm = host_hbm();
  pl_array a;

  memset(hbm, 0, 4096);
  suite_fails(pl_data_open(), PL_ERROR_DATA, "resident: no data file", "DATA=file", NULL);
  memcpy(hbm, "PEPLDATA", 8);
  hbm[8] = 2;
  suite_fails(pl_data_open(), PL_ERROR_DATA, "resident: a data file of another version", "version 2", NULL);
  hbm[8] = 1;
  hbm[16] = 64;
  suite_fails(pl_data_open(), PL_ERROR_DATA, "resident: a damaged data file", "CRC", NULL);
  suite_fails(pl_data_find("x", &a), PL_ERROR_DATA, "resident: an array of a file that is not open",
              "pl_data_open", NULL);
}

void suite_resident(void) {
  test_spaces();
  test_no_alias();
  test_dot_in_place();
  test_constant();
  test_many_plans();
  test_age();
  check(host_logged() == 0, "resident: the model logged nothing");
  test_data();
}
