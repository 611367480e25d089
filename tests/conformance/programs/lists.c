/* SPDX-License-Identifier: MIT */
/* Gathers and scatters by lists of indices. Twins: twins/lists.py. */
#include "case.h"

/* The list is prefetched; x stays in HBM. */
#define LISTED(name_, body_, ...)                                                                            \
  ((pl_kernel){.name = (name_),                                                                              \
               .body = (body_),                                                                              \
               .num_scalar_prefetch = 1,                                                                     \
               .in = {PL_IN_HBM},                                                                            \
               .out = {PL_IN_HBM},                                                                           \
               .scratch = {__VA_ARGS__}})

static void run(pl_kernel kernel, const char *initial) {
  const pl_array list = case_input("list"), x = case_input("x"), o = case_output("o", initial);
  case_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o));
}

#define AT(ref_, start_, n_) pl_at((ref_), PL_DS((start_), (n_)))

/* To a block in VMEM, which the pipeline writes back. */
static void gather_body(void) {
  pl_gather(pl_output(0), pl_input(0), pl_prefetch(0));
}
static void list_gather(void) {
  pl_kernel kernel = LISTED("gather", gather_body, NULL);
  kernel.out[0] = NULL;
  run(kernel, NULL);
}

/* Some columns only, from VMEM, and from HBM to HBM. */
static void gather_columns_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0), list = pl_prefetch(0);
  pl_sync_copy(x, v);
  pl_gather(pl_at(o, PL_DS(0, 10), PL_DS(0, 40)), pl_at(v, PL_ALL, PL_DS(3, 40)), AT(list, 0, 10));
  pl_gather(pl_at(o, PL_DS(10, 10), PL_DS(0, 40)), pl_at(x, PL_ALL, PL_DS(60, 40)), AT(list, 10, 10));
}
static void list_gather_columns(void) {
  run(LISTED("columns", gather_columns_body, PL_VMEM(PL_BF16, 12, 100)), NULL);
}

/* Whole matrices by the first dimension. */
static void gather_matrices_body(void) {
  pl_gather(pl_at(pl_output(0), PL_ALL, PL_DS(0, 8), PL_DS(16, 32)), pl_at(pl_input(0), PL_ALL, PL_DS(8, 8)),
            pl_prefetch(0));
}
static void list_gather_matrices(void) {
  run(LISTED("matrices", gather_matrices_body, NULL), "z");
}

/* Of rows that go to one place the last one stays. */
static void scatter_body(void) {
  pl_sync_copy(pl_input(0), pl_scratch(0));
  pl_scatter(pl_output(0), pl_scratch(0), pl_prefetch(0));
}
static void list_scatter(void) {
  run(LISTED("scatter", scatter_body, PL_VMEM(PL_INT8, 20, 128)), "z");
}

/* The list is made on the way: half of the prefetched indices. */
static void made_list_body(void) {
  pl_ref list = pl_scratch(0);
  for (int32_t i = 0; i < 12; i++)
    pl_put(list, pl_get(pl_prefetch(0), i) / 2, i);
  pl_gather(pl_output(0), pl_input(0), list);
  for (int32_t i = 0; i < 12; i++) /* after the gather has read it */
    pl_put(list, 0, i);
}
static void list_made(void) {
  pl_kernel kernel = LISTED("made", made_list_body, PL_SMEM(PL_INT32, 12));
  kernel.out[0] = NULL;
  run(kernel, NULL);
}

/* Two gathers under way, each used when it has come. */
static void async_body(void) {
  pl_ref o = pl_output(0), w = pl_scratch(0), sem = pl_scratch(1), list = pl_prefetch(0);
  pl_copy_handle copy[2];
  for (int32_t i = 0; i < 4; i++) {
    const int32_t slot = i % 2;
    copy[slot] = pl_async_gather(pl_at(w, PL_INDEX(slot)), pl_input(0), AT(list, 8 * i, 8), AT(sem, slot, 1));
    if (i == 0)
      continue;
    pl_wait(&copy[!slot]);
    pl_ref done = pl_at(w, PL_INDEX(!slot));
    pl_add(done, done, done);
    pl_sync_copy(done, AT(o, 8 * (i - 1), 8));
  }
  pl_wait(&copy[1]);
  const pl_copy_handle back =
      pl_async_scatter(AT(o, 24, 8), pl_at(w, PL_INDEX(1)), AT(list, 32, 8), AT(sem, 0, 1));
  pl_wait(&back);
}
static void list_async(void) {
  run(LISTED("async", async_body, PL_VMEM(PL_F32, 2, 8, 128), PL_SEMAPHORES(2)), NULL);
}

/* Many repetitions, several parts of the list; rows straight from HBM. */
static void add_body(void) {
  pl_scatter_add(pl_output(0), pl_input(0), pl_prefetch(0));
}
static void list_add(void) {
  run(LISTED("add", add_body, NULL), "z");
}

/* No repetition inside a part; rows of bf16 in VMEM. */
static void add_apart_body(void) {
  pl_sync_copy(pl_input(0), pl_scratch(0));
  pl_scatter_add(pl_output(0), pl_scratch(0), pl_prefetch(0));
}
static void list_add_apart(void) {
  run(LISTED("apart", add_apart_body, PL_VMEM(PL_BF16, 100, 64)), "z");
}

/* Numbers instead of rows, and an accumulator in VMEM: a histogram with weights. */
static void histogram_body(void) {
  pl_ref sums = pl_scratch(0);
  pl_fill(sums, 0);
  pl_scatter_add(sums, pl_input(0), pl_prefetch(0));
  pl_sync_copy(sums, pl_output(0));
}
static void list_histogram(void) {
  run(LISTED("histogram", histogram_body, PL_VMEM(PL_INT32, 10)), NULL);
}

/* What is no row, no list or no match says so, and the next call works. */
static void bad_add_body(void) {
  pl_scatter_add(pl_output(0), pl_scratch(0), pl_prefetch(0));
}
static void bad_space_body(void) {
  pl_gather(pl_scratch(0), pl_input(0), pl_scratch(1));
}
static void bad_shape_body(void) {
  pl_gather(pl_at(pl_scratch(0), PL_DS(0, 5)), pl_input(0), pl_prefetch(0));
}
static void bad_again_body(void) {
  pl_gather(pl_scratch(0), pl_scratch(0), pl_prefetch(0));
}
static void list_errors(void) {
  static void (*const bodies[])(void) = {bad_add_body, bad_space_body, bad_shape_body, bad_again_body};
  const pl_array bad = case_input("bad"), list = case_input("list"), x = case_input("x");
  const pl_array o = case_output("o", NULL);
  for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
    const pl_kernel kernel = LISTED("bad", bodies[i], PL_VMEM(PL_F32, 6, 64), PL_VMEM(PL_INT32, 6));
    case_fails(pl_call(&kernel, PL_ARGS(bad, x), PL_RESULTS(o)));
  }
  pl_kernel kernel = LISTED("good", gather_body, NULL);
  case_call(&kernel, PL_ARGS(list, x), PL_RESULTS(o));
}

const struct conformance_case conformance_cases[] = {
    CASE(list_gather),
    CASE(list_gather_columns),
    CASE(list_gather_matrices),
    CASE(list_scatter),
    CASE(list_made),
    CASE(list_async),
    CASE(list_add),
    CASE(list_add_apart),
    CASE(list_histogram),
    CASE(list_errors),
    CASE_END,
};
