/* SPDX-License-Identifier: MIT */
/* Every error that is always checked: its status, the words that tell the cause, and that the next call
 * works. */
#include "suite.h"

#include "mmio.h"
#include "tpu_memmap.h"

#include <string.h>

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void identity(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}
static void elements(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] * 16;
  b[1].start = 0;
}
static void zigzag(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] % 2;
  b[1].start = 0;
}
static void negative(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0] - 1;
  b[1].start = 0;
}

static pl_ref kept;
static int32_t kept_step;

static void stale_body(void) {
  if (pl_program_id(0) == 0)
    kept = pl_input(0);
  pl_copy(pl_output(0), kept);
  kept_step = pl_program_id(0);
}

static pl_array mine;

static void inner_alloc_body(void) {
  pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(16, 40), &mine);
}
static int which;
static void misuse_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  switch (which) {
  case 0:
    pl_copy(x, o);
    break;
  case 1:
    pl_dot(o, x, x, PL_OVERWRITE);
    break;
  case 2:
    pl_input(3);
    break;
  case 3:
    pl_program_id(2);
    break;
  case 4:
    pl_at(x, PL_DS(10, 7));
    break;
  case 5:
    pl_add(o, x, pl_at(x, PL_DS(0, 4)));
    break;
  case 6:
    pl_get(x, 16, 0);
    break;
  case 7:
    pl_get(x, 0);
    break;
  case 8:
    pl_put(x, 1, 0, 0);
    break;
  case 9:
    pl_dot(pl_scratch(0), x, x, PL_OVERWRITE);
    break;
  case 10:
    pl_semaphore_signal(x, 1);
    break;
  case 11:
    pl_copy(o, pl_at(x, PL_ALL, PL_DS(0, 4)));
    break;
  case 12:
    pl_iota(o, 2);
    break;
  case 13:
    pl_argmax(o, x);
    break;
  case 14: {
    const pl_kernel inner = {.name = "inner", .body = copy_body};
    pl_call(&inner, PL_ARGS(), PL_RESULTS());
    break;
  }
  case 15:
    pl_relu(pl_at(o, PL_DS(0, 0)), x, PL_NO_REF);
    break;
  case 16:
    pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(16, 40), &mine);
    break;
  case 20: { /* the memory of a pipeline in a body lies behind the kernel's */
    const pl_kernel inner = {.name = "inner", .body = inner_alloc_body, .grid = PL_GRID(2)};
    pl_emit_pipeline(&inner, (pl_refs){0}, (pl_refs){0});
    break;
  }
  case 17:
    pl_alloc(PL_SMEM, PL_F32, PL_SHAPE(4), &mine);
    break;
  case 18:
    pl_alloc(PL_ACC, PL_F32, PL_SHAPE(16, 16), &mine);
    break;
  case 19:
    if (pl_alloc(PL_HBM, PL_F32, PL_SHAPE(16, 40), &mine) == PL_OK)
      pl_free(&mine);
    break;
  }
}

static pl_array x, o;

static pl_status misuse(int n) {
  const pl_kernel kernel = {.name = "misuse",
                            .body = misuse_body,
                            .grid = PL_GRID(4),
                            .in = {PL_BLOCK(identity, 16, 40)},
                            .out = {PL_BLOCK(identity, 16, 40)},
                            .scratch = {PL_ACC(PL_F32, 16, 16)}};
  which = n;
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static pl_status simple(pl_map in, pl_map out, int32_t steps, int32_t rows, int32_t columns) {
  const pl_kernel kernel = {.name = "simple",
                            .body = copy_body,
                            .grid = PL_GRID(steps),
                            .in = {PL_BLOCK(in, rows, columns)},
                            .out = {PL_BLOCK(out, rows, columns)}};
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

/* After any failure the next call works. */
static void still_works(const char *after) {
  memset(pl_hbm_pointer(&o), 0, pl_array_bytes(&o));
  bool ok = simple(identity, identity, 4, 16, 40) == PL_OK &&
            memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0;
  check(ok, "errors: the device is usable after %s%s%s", after, ok ? "" : ": ", ok ? "" : pl_error_message());
}

static void test_specs(void) {
  suite_fails(simple(elements, identity, 4, 16, 40), PL_ERROR_BLOCK_INDEX,
              "errors: element offsets for block indices", "kernel simple", "input 0", "[16, 0]", "(1)",
              "), outside the array [64, 40] of blocks [16, 40]", "did you mean the block index", NULL);
  still_works("a bad block index");
  suite_fails(simple(identity, identity, 5, 16, 40), PL_ERROR_BLOCK_INDEX, "errors: a block past the end",
              "[4, 0]", "(4)", NULL);
  /* Input and output are both past the end: one error, told once. */
  const char *outside = strstr(pl_error_message(), "outside the array");
  check(outside != NULL && strstr(outside + 1, "outside the array") == NULL,
        "errors: the second of two bad maps adds nothing: %s", pl_error_message());
  suite_fails(simple(identity, identity, 2, 64, 40), PL_ERROR_BLOCK_INDEX,
              "errors: another block of an array that is one", "step 1", "[1, 0]", "(1)", NULL);
  suite_fails(simple(negative, identity, 2, 16, 40), PL_ERROR_BLOCK_INDEX, "errors: a negative block",
              "[-1, 0]", NULL);
  suite_fails(simple(identity, zigzag, 3, 16, 40), PL_ERROR_REVISIT,
              "errors: an output block is come back to", "output 0", "[0, 0]", NULL);
  still_works("a revisit");
  suite_fails(simple(identity, identity, 0, 16, 40), PL_ERROR_SPEC, "errors: a static extent of 0",
              "grid dimension 0", NULL);
  suite_fails(simple(identity, identity, 4, 0, 40), PL_ERROR_SPEC, "errors: a block of 0 rows",
              "block dimension 0", NULL);
  suite_ok(simple(identity, identity, pl_dyn(0), 16, 40), "errors: a run-time extent of 0 is none");

  const pl_kernel rank = {
      .name = "rank", .body = copy_body, .grid = PL_GRID(4), .in = {PL_BLOCK(identity, 16)}};
  suite_fails(pl_call(&rank, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC,
              "errors: block and array of different rank", "input 0", "[16]", "[64, 40]", NULL);
  const pl_kernel order = {.name = "order",
                           .body = copy_body,
                           .grid = PL_GRID(2, 2),
                           .dimension_semantics = {PL_ARBITRARY, PL_PARALLEL}};
  suite_fails(pl_call(&order, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_SPEC, "errors: parallel behind arbitrary",
              "grid dimension 1", NULL);
  const pl_kernel bodyless = {.name = "bodyless"};
  suite_fails(pl_call(&bodyless, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT, "errors: no body", "body",
              NULL);
  const pl_kernel more = {.name = "more", .body = copy_body, .in = {PL_WHOLE, PL_WHOLE}};
  suite_fails(pl_call(&more, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT, "errors: more specs than arrays",
              "1 inputs", NULL);
  const pl_kernel same = {.name = "same",
                          .body = copy_body,
                          .grid = PL_GRID(4),
                          .in = {PL_BLOCK(identity, 16, 40)},
                          .out = {PL_BLOCK(identity, 16, 40)}};
  suite_fails(pl_call(&same, PL_ARGS(x), PL_RESULTS(x)), PL_ERROR_ARGUMENT,
              "errors: output and input share memory", "output 0", "input 0", NULL);
  pl_array far = pl_hbm_array(0x3ffff00, PL_F32, PL_SHAPE(64, 40));
  suite_fails(pl_call(&same, PL_ARGS(far), PL_RESULTS(o)), PL_ERROR_ARGUMENT,
              "errors: an array past the end of HBM", "input 0", "0x4002700", NULL);
  const pl_kernel buffers = {
      .name = "buffers", .body = copy_body, .grid = PL_GRID(4), .in = {PL_BUFFERED(33, identity, 16, 40)}};
  suite_fails(pl_call(&buffers, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_LIMIT, "errors: too many buffers",
              "PL_MAX_BUFFERS", NULL);
  pl_array many[17];
  for (int i = 0; i < 17; i++)
    many[i] = x;
  suite_fails(pl_call(&same, (pl_arrays){many, 16}, PL_RESULTS(o)), PL_ERROR_LIMIT,
              "errors: too many operands", "PL_MAX_OPERANDS", NULL);
  suite_fails(pl_call(NULL, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_ARGUMENT, "errors: no kernel",
              "pl_call: NULL", NULL);
}

static void test_budget(void) {
  pl_array big = suite_array(PL_F32, PL_SHAPE(4096, 256)), result = suite_array(PL_F32, PL_SHAPE(4096, 256));
  const pl_kernel two = {.name = "two",
                         .body = copy_body,
                         .grid = PL_GRID(40),
                         .in = {PL_BLOCK(identity, 104, 256)},
                         .out = {PL_BLOCK(identity, 104, 256)}};
  const pl_kernel huge = {.name = "huge",
                          .body = copy_body,
                          .grid = PL_GRID(1),
                          .in = {PL_BLOCK(identity, 4096, 256)},
                          .out = {PL_BUFFERED(1, identity, 16, 256)}};
  const pl_kernel acc = {.name = "acc", .body = copy_body, .scratch = {PL_ACC(PL_F32, 20000, 256)}};
  const pl_kernel sems = {.name = "sems", .body = copy_body, .scratch = {PL_SEMAPHORES(60)}};
  const pl_kernel smem = {.name = "smem", .body = copy_body, .scratch = {PL_SMEM(PL_INT32, 5000)}};

  if (suite.dim != 8 || suite.bf16) { /* with 512 KiB of VMEM */
    suite_ok(pl_call(&two, PL_ARGS(big), PL_RESULTS(result)), "errors: 416 KiB fit into 512");
    pl_array taken;
    suite_ok(pl_alloc(PL_VMEM, PL_F32, PL_SHAPE(512, 64), &taken), "errors: 128 KiB allocated");
    suite_fails(pl_call(&two, PL_ARGS(big), PL_RESULTS(result)), PL_ERROR_BUDGET,
                "errors: a cached plan counts allocations", "VMEM: 425984 bytes wanted, 393216 there",
                "131072 of them in pl_alloc()", "2 x   106496 =    212992",
                "with at most 1 buffer an operand it fits", NULL);
    suite_ok(pl_free(&taken), "errors: freed");
    suite_ok(pl_call(&two, PL_ARGS(big), PL_RESULTS(result)), "errors: and it fits again");
    suite_fails(pl_free(&taken), PL_ERROR_ARGUMENT, "errors: freed twice", "pl_free", NULL);
  }
  suite_fails(pl_call(&huge, PL_ARGS(big), PL_RESULTS(result)), PL_ERROR_BUDGET,
              "errors: a block that cannot fit", "input 0", "4194304",
              suite.dim == 8 && !suite.bf16 ? "at most 112 rows of 256" : "at most 496 rows of 256", NULL);
  suite_fails(pl_call(&acc, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_BUDGET, "errors: too much ACC", "ACC",
              "scratch 0", "rows", NULL);
  suite_fails(pl_call(&sems, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_BUDGET, "errors: too many semaphores",
              "60 semaphores", NULL);
  suite_fails(pl_call(&smem, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_BUDGET, "errors: too much SMEM",
              "20032 bytes wanted, 16384 there", NULL);
}

static void part_body(void) {
  if (kept.view == NULL)
    kept = pl_at(pl_input(0), PL_DS(0, 8));
  pl_copy(pl_at(pl_output(0), PL_DS(0, 8)), kept);
}

/* A part that was made in an earlier call, in a step of the same number. */
static void test_kept_part(void) {
  const pl_kernel kernel = {.name = "part",
                            .body = part_body,
                            .in = {PL_BLOCK(identity, 16, 40)},
                            .out = {PL_BLOCK(identity, 16, 40)}};
  kept = (pl_ref){0};
  suite_ok(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), "errors: a part is used where it was made");
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_REF, "errors: a part of an earlier call",
              "kernel part, step 0", "in another step or call", NULL);
  still_works("a part of an earlier call");
}

static void test_misuse(void) {
  const struct {
    pl_status status;
    const char *name, *word;
  } cases[] = {
      {PL_ERROR_REF, "an input is written", "input 0 would be written"},
      {PL_ERROR_REF, "a dot into VMEM", "must be in ACC"},
      {PL_ERROR_ARGUMENT, "an input that is not there", "pl_input(3): the kernel has 1"},
      {PL_ERROR_ARGUMENT, "a grid axis that is not there", "grid axis 2"},
      {PL_ERROR_REF, "a slice outside", "start 10, size 7"},
      {PL_ERROR_SHAPE, "shapes that do not fit", "[4, 40]"},
      {PL_ERROR_REF, "a scalar outside", "index 16 in dimension 0"},
      {PL_ERROR_ARGUMENT, "too few indices", "1 indices"},
      {PL_ERROR_REF, "a scalar stored to an input", "would be written"},
      {suite.bf16 ? PL_ERROR_SHAPE : PL_ERROR_UNSUPPORTED, "a dot of f32 that does not fit",
       suite.bf16 ? "pl_dot: [16, 40] x [16, 40] does not give [16, 16]" : "MXU does not multiply f32"},
      {PL_ERROR_REF, "a semaphore that is none", "a semaphore is needed"},
      {PL_ERROR_SHAPE, "a copy to another shape", "[16, 4]"},
      {PL_ERROR_ARGUMENT, "a dimension that is not there", "pl_iota: dimension 2 of [16, 40]"},
      {PL_ERROR_SHAPE, "argmax into floats", "int32"},
      {PL_ERROR_ARGUMENT, "a call inside a body", "inside a kernel body"},
      {PL_ERROR_SHAPE, "a vector operation on nothing", "empty"},
      {PL_ERROR_ARGUMENT, "VMEM allocated in a body", "VMEM belongs to the running plan"},
      {PL_ERROR_ARGUMENT, "SMEM allocated in a body", "SMEM belongs to the running plan"},
      {PL_ERROR_ARGUMENT, "ACC allocated in a body", "ACC belongs to the running plan"},
      {PL_ERROR_ARGUMENT, "an array freed in a body", "pl_free inside a kernel body"},
  };
  for (int i = 0; i < (int)(sizeof cases / sizeof cases[0]); i++) {
    char name[96];
    snprintf(name, sizeof name, "errors: %s", cases[i].name);
    suite_fails(misuse(i), cases[i].status, name, "kernel misuse, step 0 (0)", cases[i].word, NULL);
    still_works(cases[i].name);
  }
  suite_ok(pl_free(&mine), "errors: HBM may be allocated in a body");
  suite_fails(misuse(20), PL_ERROR_ARGUMENT, "errors: VMEM allocated in a pipeline of a body", "inner",
              "VMEM belongs to the running plan", NULL);
  still_works("VMEM allocated in a pipeline of a body");
  const pl_kernel stale = {.name = "stale",
                           .body = stale_body,
                           .grid = PL_GRID(4),
                           .in = {PL_BLOCK(identity, 16, 40)},
                           .out = {PL_BLOCK(identity, 16, 40)}};
  kept_step = -1;
  suite_fails(pl_call(&stale, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_REF, "errors: a ref of an earlier step",
              ", step 1 (1): ", "another step", NULL);
  check(kept_step == 1, "errors: later steps do not run (%d)", (int)kept_step);
  test_kept_part();
  pl_copy(kept, kept);
  suite_fails(PL_ERROR_REF, PL_ERROR_REF, "errors: an operation outside a body", "outside a kernel body",
              NULL);
  still_works("an operation outside a body");
}

/* An error of the device, here by an access of a program that has nothing to do with the runtime. */
static void test_device_error(void) {
  const pl_kernel kernel = {.name = "device",
                            .body = copy_body,
                            .grid = PL_GRID(4),
                            .in = {PL_BLOCK(identity, 16, 40)},
                            .out = {PL_BLOCK(identity, 16, 40)}};
  /* A write to a register that is not there is a real error: the next command is refused. */
  mmio_write32(PEPLOS_TPU_BASE + 0xfff0u, 1);
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_DEVICE,
              "errors: the device's error in words", "BAD_ACCESS on SCALAR", "0xfff0", NULL);
  still_works("a device error");
}

static void two_errors_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  mmio_write32(PEPLOS_TPU_BASE + 0xfff0u, 1);
  pl_copy(pl_input(0), pl_output(0));
}

/* What goes wrong while a failed call drains does not hide why it failed. */
static void test_first_error(void) {
  const pl_kernel kernel = {.name = "two errors",
                            .body = two_errors_body,
                            .grid = PL_GRID(4),
                            .in = {PL_BLOCK(identity, 16, 40)},
                            .out = {PL_BLOCK(identity, 16, 40)}};
  suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), PL_ERROR_REF, "errors: the first of two errors",
              "kernel two errors, step 0 (0): pl_copy: input 0 would be written", NULL);
  still_works("two errors");
}

void suite_errors(void) {
  x = suite_array(PL_F32, PL_SHAPE(64, 40));
  o = suite_array(PL_F32, PL_SHAPE(64, 40));
  suite_fill(&x);
  test_specs();
  test_budget();
  test_misuse();
  check(host_logged() == 0, "errors: the model logged nothing");
  test_device_error();
  test_first_error();
  check(host_logged() != 0, "errors: the model logged the device error");
}
