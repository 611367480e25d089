/* SPDX-License-Identifier: MIT */
/* The hang zoo's kernels: what the runtime must diagnose, and faults inside a body. */
#include "boot.h"
#include "mmio.h"
#include "tpu_memmap.h"
#include "tpu_regs.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static void row_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = 0;
}

static void copy_body(void) {
  pl_copy(pl_output(0), pl_input(0));
}

static void in_flight_body(void) {
  copy_body();
  if (pl_program_id(0) == 2)
    pl_async_copy(pl_input(0), pl_scratch(0), pl_at(pl_scratch(1), PL_DS(1, 1)));
}

static void left_body(void) {
  copy_body();
  if (pl_program_id(0) == 1)
    pl_semaphore_signal(pl_at(pl_scratch(1), PL_DS(0, 1)), 3);
}

static void never_body(void) {
  copy_body();
  if (pl_program_id(0) == 3)
    pl_semaphore_wait(pl_at(pl_scratch(1), PL_DS(0, 1)), 1);
}

static void trap_body(void) {
  copy_body();
  if (pl_program_id(0) == 2)
    *(volatile uint32_t *)0x70000000 = 1;
}

static __attribute__((noinline)) uint32_t recurse(uint32_t level, const volatile uint32_t *above) {
  volatile uint32_t here[2] = {level, above[0]};
  return level == 0 ? here[0] : recurse(level - 1, here) + here[level % 2];
}

static void recursion_body(void) {
  const volatile uint32_t top = 0;
  copy_body();
  if (pl_program_id(0) == 1)
    printf("%u\n", (unsigned)recurse(1000000, &top));
}

/* A signal that another agent takes away: the runtime's own count is right, and still nothing comes. */
static void stolen_body(void) {
  pl_ref one = pl_at(pl_scratch(1), PL_DS(0, 1));
  copy_body();
  if (pl_program_id(0) != 1)
    return;
  pl_semaphore_signal(one, 1);
  (void)pl_semaphore_read(one);
  mmio_write32(PEPLOS_TPU_BASE + TPU_REG_SEM_TAKE(7), 1);
  pl_semaphore_wait(one, 1);
}

/* Races: what is between the start of a copy and its wait is not ordered. */
static void destination_body(void) {
  copy_body();
  if (pl_program_id(0) != 2)
    return;
  pl_copy_handle copy = pl_async_copy(pl_input(0), pl_scratch(0), pl_at(pl_scratch(1), PL_DS(0, 1)));
  pl_add(pl_output(0), pl_scratch(0), pl_scratch(0));
  pl_wait(&copy);
  copy_body();
}

static void source_body(void) {
  copy_body();
  if (pl_program_id(0) != 1)
    return;
  pl_fill(pl_scratch(0), 0);
  pl_copy_handle copy = pl_async_copy(pl_scratch(0), pl_output(1), pl_at(pl_scratch(1), PL_DS(0, 1)));
  pl_fill(pl_scratch(0), 1);
  pl_wait(&copy);
}

static void value_body(void) {
  copy_body();
  if (pl_program_id(0) != 3)
    return;
  pl_copy_handle copy = pl_async_copy(pl_input(0), pl_scratch(0), pl_at(pl_scratch(1), PL_DS(1, 1)));
  (void)pl_get(pl_scratch(0), 4, 5);
  pl_wait(&copy);
}

/* A pipeline of three steps in the body, over what was given for it. */
static void run_pipeline(void (*body)(void), void *user) {
  const pl_kernel inner = {.name = "inner",
                           .body = body,
                           .grid = PL_GRID(3),
                           .in = {PL_BLOCK(row_map, 16, 32)},
                           .out = {PL_BLOCK(row_map, 16, 32)},
                           .user = user};
  pl_emit_pipeline(&inner, PL_REFS(pl_input(1)), PL_REFS(pl_output(2)));
}

/* Behind a pipeline a report is of this step, not of the pipeline's last. */
static void behind_body(void) {
  if (pl_program_id(0) == 2)
    run_pipeline(copy_body, NULL);
  destination_body();
}

static void inside_body(void) {
  copy_body();
  if (pl_program_id(0) != 1)
    return;
  pl_ref *outer = pl_user();
  pl_copy_handle copy = pl_async_copy(pl_input(0), outer[0], pl_at(outer[1], PL_DS(0, 1)));
  pl_add(pl_output(0), outer[0], outer[0]);
  pl_wait(&copy);
  copy_body();
}

static void around_body(void) {
  static pl_ref outer[2];
  copy_body();
  if (pl_program_id(0) != 2)
    return;
  outer[0] = pl_scratch(0);
  outer[1] = pl_scratch(1);
  run_pipeline(inside_body, outer);
}

/* Five races a step. */
static void many_body(void) {
  copy_body();
  pl_copy_handle copy = pl_async_copy(pl_input(0), pl_scratch(0), pl_at(pl_scratch(1), PL_DS(0, 1)));
  for (int i = 0; i < 5; i++)
    pl_add(pl_output(0), pl_scratch(0), pl_scratch(0));
  pl_wait(&copy);
  copy_body();
}

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*body)(void);
  } zoo[] = {{"good", copy_body},
             {"in_flight", in_flight_body},
             {"left", left_body},
             {"never", never_body},
             {"trap", trap_body},
             {"stolen", stolen_body},
             {"source", source_body},
             {"value", value_body},
             {"destination", destination_body},
             {"recursion", recursion_body},
             {"behind", behind_body},
             {"inside", around_body},
             {"many", many_body}};
  const pl_array x = pl_hbm_array(0, PL_F32, PL_SHAPE(64, 32)),
                 o = pl_hbm_array(65536, PL_F32, PL_SHAPE(64, 32)),
                 y = pl_hbm_array(131072, PL_F32, PL_SHAPE(16, 32)),
                 z = pl_hbm_array(196608, PL_F32, PL_SHAPE(64, 32));
  int status = BOOT_EXIT_USAGE;

  for (unsigned i = 0; i < sizeof zoo / sizeof zoo[0]; i++) {
    if (argc != 2 || strcmp(argv[1], zoo[i].name) != 0)
      continue;
    const pl_kernel kernel = {.name = zoo[i].name,
                              .body = zoo[i].body,
                              .grid = PL_GRID(4),
                              .in = {PL_BLOCK(row_map, 16, 32), PL_IN_HBM},
                              .out = {PL_BLOCK(row_map, 16, 32), PL_IN_HBM, PL_IN_HBM},
                              .scratch = {PL_VMEM(PL_F32, 16, 32), PL_SEMAPHORES(8)}};
    pl_kernel good = kernel;
    good.name = "good";
    good.body = copy_body;
    status = BOOT_EXIT_OK;
    if (pl_call(&kernel, PL_ARGS(x, x), PL_RESULTS(o, y, z)) != PL_OK) {
      printf("%s\n", pl_error_message());
      status = BOOT_EXIT_KERNEL;
    }
    /* Whatever it was, the device can be used. */
    if (pl_call(&good, PL_ARGS(x, x), PL_RESULTS(o, y, z)) == PL_OK &&
        memcmp(pl_hbm_pointer(&x), pl_hbm_pointer(&o), pl_array_bytes(&x)) == 0)
      printf("the next call works\n");
  }
  return status;
}
