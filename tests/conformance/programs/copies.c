/* SPDX-License-Identifier: MIT */
/* Asynchronous copies and semaphores, in kernels that have their arrays in HBM. Twins: twins/copies.py. */
#include "case.h"

/* A kernel over whole arrays in HBM. */
#define KERNEL(name_, body_, ...)                                                                            \
  ((pl_kernel){                                                                                              \
      .name = (name_), .body = (body_), .in = {PL_IN_HBM}, .out = {PL_IN_HBM}, .scratch = {__VA_ARGS__}})

#define BLOCK     PL_VMEM(PL_INT32, 8, 128)
#define BLOCKS(n) PL_VMEM(PL_INT32, (n), 8, 128)
#define ROWS(n)   PL_VMEM(PL_INT32, (n), 128)
#define ONE_SEM   PL_SEMAPHORES(1)

static void run(pl_kernel kernel) {
  const pl_array x = case_input("x"), o = case_output("o", NULL);
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}

static void move(pl_ref from, pl_ref to, pl_ref sem) {
  const pl_copy_handle copy = pl_async_copy(from, to, sem);
  pl_wait(&copy);
}

#define AT(ref_, start_, n_) pl_at((ref_), PL_DS((start_), (n_)))

static void spaces_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0), w = pl_scratch(1), sem = pl_scratch(2);
  move(AT(x, 0, 8), AT(o, 24, 8), sem);
  move(AT(x, 8, 8), v, sem);
  move(v, w, sem);
  move(w, AT(o, 0, 8), sem);
  move(AT(x, 16, 4), AT(v, 4, 4), sem);
  move(v, AT(o, 8, 8), sem);
  move(AT(v, 2, 4), AT(o, 16, 4), sem);
  move(AT(x, 28, 4), AT(o, 20, 4), sem);
}
static void copy_spaces(void) {
  run(KERNEL("spaces", spaces_body, BLOCK, BLOCK, ONE_SEM));
}

static void smem_body(void) {
  pl_ref s = pl_scratch(0), sem = pl_scratch(1);
  move(pl_input(0), s, sem);
  pl_put(s, pl_get(s, 2) + pl_get(s, 0), 2);
  pl_put(s, 17, 0);
  move(s, pl_output(0), sem);
}
static void copy_smem(void) {
  run(KERNEL("smem", smem_body, PL_SMEM(PL_INT32, 16), ONE_SEM));
}

static void shared_body(void) {
  pl_copy_handle copies[3];
  for (int32_t i = 0; i < 3; i++)
    copies[i] = pl_async_copy(AT(pl_input(0), 8 * i, 8), AT(pl_scratch(0), 8 * (2 - i), 8), pl_scratch(1));
  for (int i = 0; i < 3; i++)
    pl_wait(&copies[i]);
  pl_sync_copy(pl_scratch(0), pl_output(0));
}
static void copy_shared_semaphore(void) {
  run(KERNEL("shared", shared_body, ROWS(24), ONE_SEM));
}

static void sum_body(void) {
  pl_ref x = pl_input(0), v = pl_scratch(0), sem = pl_scratch(1);
  pl_async_copy(AT(x, 0, 8), AT(v, 8, 8), sem);
  pl_async_copy(AT(x, 8, 8), AT(v, 0, 8), sem);
  const pl_copy_handle both = pl_make_async_copy(x, v, sem);
  pl_wait(&both);
  pl_sync_copy(v, pl_output(0));
}
static void copy_wait_for_sum(void) {
  run(KERNEL("sum", sum_body, ROWS(16), ONE_SEM));
}

static void priority_body(void) {
  pl_ref x = pl_input(0), v = pl_scratch(0), sem = pl_scratch(1);
  const pl_copy_handle a = pl_make_async_copy(AT(x, 0, 8), AT(v, 0, 8), AT(sem, 0, 1));
  const pl_copy_handle b = pl_make_async_copy(AT(x, 8, 8), AT(v, 8, 8), AT(sem, 1, 1));
  pl_start_priority(&a, 0);
  pl_start_priority(&b, 1);
  pl_wait(&b);
  pl_wait(&a);
  pl_sync_copy(v, pl_output(0));
}
static void copy_priority(void) {
  run(KERNEL("priority", priority_body, ROWS(16), PL_SEMAPHORES(2)));
}

static void dynamic_body(void) {
  pl_ref sizes = pl_scratch(0), sem = pl_scratch(1);
  pl_sync_copy(pl_input(1), sizes);
  for (int32_t i = 0; i < 3; i++) {
    const int32_t n = pl_get(sizes, i);
    move(AT(pl_input(0), 8, n), AT(pl_output(0), 16 * i, n), sem);
  }
}
static void copy_dynamic(void) {
  const pl_array x = case_input("x"), sizes = case_input("sizes"), o = case_output("o", NULL);
  pl_kernel kernel = KERNEL("dynamic", dynamic_body, PL_SMEM(PL_INT32, 3), ONE_SEM);
  kernel.in[1] = PL_IN_HBM;
  case_call(&kernel, PL_ARGS(x, sizes), PL_RESULTS(o));
}

/* Block i into slot i % 2, on that slot's semaphore. */
static pl_copy_handle fetch(int32_t i, pl_ref sem) {
  return pl_make_async_copy(AT(pl_input(0), 8 * i, 8), pl_at(pl_scratch(0), PL_INDEX(i % 2)), sem);
}

static void double_buffer_body(void) {
  pl_ref w = pl_scratch(1), sem = pl_scratch(2);
  pl_copy_handle copy = fetch(0, AT(sem, 0, 1));
  pl_start(&copy);
  for (int32_t i = 0; i < 5; i++) {
    if (i + 1 < 5) {
      copy = fetch(i + 1, AT(sem, (i + 1) % 2, 1));
      pl_start(&copy);
    }
    copy = fetch(i, AT(sem, i % 2, 1));
    pl_wait(&copy);
    pl_ref slot = pl_at(pl_scratch(0), PL_INDEX(i % 2));
    pl_add(w, slot, slot);
    pl_sync_copy(w, AT(pl_output(0), 8 * i, 8));
  }
}
static void copy_double_buffer(void) {
  run(KERNEL("double_buffer", double_buffer_body, BLOCKS(2), BLOCK, PL_SEMAPHORES(2)));
}

static void split_body(void) {
  const int32_t s = pl_program_id(0);
  pl_ref w = pl_scratch(1), sem = pl_scratch(2);
  pl_copy_handle copy = fetch(s, sem);
  if (s == 0)
    pl_start(&copy);
  pl_wait(&copy);
  if (s + 1 < pl_num_programs(0)) {
    copy = fetch(s + 1, sem);
    pl_start(&copy);
  }
  pl_put(pl_scratch(3), 1, 0, 0);
  pl_add(w, pl_at(pl_scratch(0), PL_INDEX(s % 2)), pl_scratch(3));
  pl_sync_copy(w, AT(pl_output(0), 8 * s, 8));
}
static void copy_split_steps(void) {
  pl_kernel kernel = KERNEL("split", split_body, BLOCKS(2), BLOCK, ONE_SEM, PL_VMEM(PL_INT32, 1, 1));
  kernel.grid = (pl_grid_spec)PL_GRID(4);
  run(kernel);
}

static void planes_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0), v = pl_scratch(0), sem = pl_scratch(1);
  move(pl_at(x, PL_INDEX(1), PL_INDEX(2)), v, sem);
  move(v, pl_at(o, PL_INDEX(0)), sem);
  move(pl_at(x, PL_INDEX(0), PL_DS(1, 2)), AT(o, 1, 2), sem);
  move(pl_at(x, PL_INDEX(1), PL_INDEX(0), PL_DS(2, 4), PL_DS(32, 64)),
       pl_at(o, PL_INDEX(3), PL_DS(3, 4), PL_DS(64, 64)), sem);
}
static void copy_planes(void) {
  run(KERNEL("planes", planes_body, BLOCK, ONE_SEM));
}

static void list_body(void) {
  pl_copy_handle copies[2];
  for (int i = 0; i < 2; i++)
    copies[i] = pl_make_async_copy(pl_input(i), pl_output(i), pl_scratch(0));
  pl_start_all(copies, 2);
  pl_wait_all(copies, 2);
}
static void copy_list(void) {
  const pl_array x = case_input("x"), y = case_input("y"), o = case_output("o", NULL),
                 p = case_output("p", NULL);
  pl_kernel kernel = KERNEL("list", list_body, ONE_SEM);
  kernel.in[1] = kernel.out[1] = PL_IN_HBM;
  case_call(&kernel, PL_ARGS(x, y), PL_RESULTS(o, p));
}

/* ---- semaphores ---- */

static void arithmetic_body(void) {
  pl_ref v = pl_scratch(0), sem = pl_scratch(1);
  pl_semaphore_signal(sem, 1);
  pl_semaphore_wait(sem, 1);
  pl_semaphore_signal(sem, 2);
  pl_semaphore_wait(sem, 1);
  pl_semaphore_wait(sem, 1);
  for (int i = 0; i < 3; i++)
    pl_semaphore_signal(sem, 1);
  for (int i = 0; i < 3; i++)
    pl_semaphore_wait(sem, 1);
  pl_sync_copy(pl_input(0), v);
  pl_put(pl_scratch(2), 1, 0, 0);
  pl_add(v, v, pl_scratch(2));
  pl_sync_copy(v, pl_output(0));
}
static void semaphore_arithmetic(void) {
  run(KERNEL("arithmetic", arithmetic_body, BLOCK, ONE_SEM, PL_VMEM(PL_INT32, 1, 1)));
}

static void read_body(void) {
  pl_ref sem = pl_scratch(0);
  for (int32_t v = 0; v < 6; v++) {
    pl_semaphore_signal(sem, (uint32_t)v);
    pl_put(pl_output(0), (int32_t)pl_semaphore_read(sem), 0, v);
    if (v > 0)
      pl_semaphore_wait(sem, (uint32_t)v);
  }
}
static void semaphore_read(void) {
  const pl_array o = case_output("o", NULL);
  const pl_kernel kernel = {.name = "read", .body = read_body, .out = {PL_WHOLE}, .scratch = {ONE_SEM}};
  case_call(&kernel, (pl_arrays){0}, PL_RESULTS(o));
}

static void array_body(void) {
  const int32_t i = pl_program_id(0), j = pl_program_id(1);
  pl_ref sem = pl_at(pl_scratch(1), PL_INDEX(i), PL_INDEX(j));
  pl_semaphore_signal(sem, 2);
  pl_semaphore_wait(sem, 2);
  pl_sync_copy(AT(pl_input(0), 3 * i + j, 1), pl_scratch(0));
  pl_sync_copy(pl_scratch(0), AT(pl_output(0), 11 - 3 * i - j, 1));
}
static void semaphore_array(void) {
  pl_kernel kernel = KERNEL("array", array_body, ROWS(1), PL_SEMAPHORES(4, 3));
  kernel.grid = (pl_grid_spec)PL_GRID(4, 3);
  run(kernel);
}

static void barrier_body(void) {
  const uint32_t first = pl_core_barrier();
  pl_copy(pl_output(0), pl_input(0));
  case_check(pl_core_barrier() == first + 1, "barriers are counted");
}
static void core_barrier(void) {
  run((pl_kernel){.name = "barrier", .body = barrier_body, .in = {PL_WHOLE}, .out = {PL_WHOLE}});
}

/* ---- errors; each is followed by other cases, which must work ---- */

static void fails(pl_kernel kernel) {
  const pl_array x = case_input("x");
  pl_shape shape = PL_SHAPE(x.shape[0], 128);
  pl_array o;
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, shape, &o)))
    return;
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void shapes_body(void) {
  move(AT(pl_input(0), 0, 8), AT(pl_output(0), 0, 4), pl_scratch(0));
}
static void copy_shapes_differ(void) {
  fails(KERNEL("shapes", shapes_body, ONE_SEM));
}

static void past_end_body(void) {
  move(AT(pl_input(0), 12, 8), AT(pl_output(0), 0, 8), pl_scratch(0));
}
static void copy_past_end(void) {
  fails(KERNEL("past_end", past_end_body, ONE_SEM));
}

static void left_body(void) {
  pl_semaphore_signal(pl_scratch(0), 1);
}
static void not_waited_body(void) {
  pl_async_copy(pl_input(0), pl_scratch(1), pl_scratch(0));
}
static void semaphore_left_set(void) {
  const pl_array x = case_input("x");
  pl_kernel kernel = KERNEL("left", left_body, ONE_SEM, BLOCK);
  pl_array o;
  if (!case_done(pl_alloc(PL_HBM, PL_INT32, PL_SHAPE(8, 128), &o)))
    return;
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  kernel.name = "not_waited";
  kernel.body = not_waited_body;
  case_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)));
  case_done(pl_free(&o));
}

static void deadlock_body(void) {
  pl_semaphore_signal(pl_scratch(0), 1);
  pl_semaphore_wait(pl_scratch(0), 2);
}
static void semaphore_deadlock(void) {
  fails(KERNEL("deadlock", deadlock_body, ONE_SEM));
}

const struct conformance_case conformance_cases[] = {
    CASE(copy_spaces),
    CASE(copy_smem),
    CASE(copy_shared_semaphore),
    CASE(copy_wait_for_sum),
    CASE(copy_priority),
    CASE(copy_dynamic),
    CASE(copy_double_buffer),
    CASE(copy_split_steps),
    CASE(copy_planes),
    CASE(copy_list),
    CASE(semaphore_arithmetic),
    CASE(semaphore_read),
    CASE(semaphore_array),
    CASE(core_barrier),
    CASE(copy_shapes_differ),
    CASE(copy_past_end),
    CASE(semaphore_left_set),
    CASE(semaphore_deadlock),
    CASE_END,
};
