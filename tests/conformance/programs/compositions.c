/* SPDX-License-Identifier: MIT */
/* Scratch, copies, semaphores and views, several at once. Twins: twins/compositions.py. */
#include "outer.h"

#define BLOCK     PL_VMEM(PL_INT32, 8, 128)
#define BLOCKS(n) PL_VMEM(PL_INT32, (n), 8, 128)

/* A kernel over blocks of 8 rows. */
#define OVER_ROWS(...) (&(const pl_kernel){.in = {ROWS}, .out = {ROWS}, __VA_ARGS__})

static pl_ref slot(pl_ref ring, int32_t i) {
  return pl_at(ring, PL_INDEX(i));
}
static pl_ref semaphore(pl_ref array, int32_t i) {
  return pl_at(array, PL_DS(i, 1));
}
static void move(pl_ref from, pl_ref to, pl_ref sem) {
  const pl_copy_handle copy = pl_async_copy(from, to, sem);
  pl_wait(&copy);
}

/* ---- scratch ---- */

static void history_body(void) {
  const int32_t s = pl_program_id(0);
  pl_copy(slot(pl_scratch(0), s % 3), pl_input(0));
  if (s < 2)
    pl_copy(pl_output(0), pl_input(0));
  else
    pl_add(pl_output(0), pl_input(0), slot(pl_scratch(0), (s - 2) % 3));
}
static void scratch_history(void) {
  run(OVER_ROWS(.name = "history", .body = history_body, .grid = PL_GRID(7), .scratch = {BLOCKS(3)}));
}

static void choice_body(void) {
  pl_ref most = pl_scratch(0), zero = pl_scratch(1);
  if (pl_program_id(0) == 0)
    pl_put(most, -1000, 0);
  const int32_t v = pl_get(pl_input(0), 0, 0);
  if (v > pl_get(most, 0)) {
    pl_put(most, v, 0);
    pl_copy(pl_output(0), pl_input(0));
    return;
  }
  pl_fill(zero, 0);
  pl_sub(pl_output(0), zero, pl_input(0));
}
static void scratch_choice(void) {
  run(OVER_ROWS(.name = "choice", .body = choice_body, .grid = PL_GRID(6),
                .scratch = {PL_SMEM(PL_INT32, 1), BLOCK}));
}

/* ---- copies and semaphores ---- */

static pl_copy_handle ring_fetch(int32_t i) {
  return pl_make_async_copy(PART(pl_input(0), i, 8), slot(pl_scratch(0), i % 3),
                            semaphore(pl_scratch(2), i % 3));
}
static void start(pl_copy_handle copy) {
  pl_start(&copy);
}
static void ring_body(void) {
  const int32_t s = pl_program_id(0), steps = pl_num_programs(0);
  pl_ref w = pl_scratch(1);
  if (s == 0) {
    start(ring_fetch(0));
    start(ring_fetch(1));
  }
  if (s + 2 < steps)
    start(ring_fetch(s + 2));
  const pl_copy_handle copy = ring_fetch(s);
  pl_wait(&copy);
  pl_add(w, slot(pl_scratch(0), s % 3), slot(pl_scratch(0), s % 3));
  pl_add(w, w, slot(pl_scratch(0), s % 3));
  pl_sync_copy(w, PART(pl_output(0), steps - 1 - s, 8));
}
static void copy_ring(void) {
  run(KERNEL(.name = "ring", .body = ring_body, .grid = PL_GRID(6),
             .scratch = {BLOCKS(3), BLOCK, PL_SEMAPHORES(3)}));
}

static void reverse_body(void) {
  static const struct { int32_t from, to, rows; } parts[] = {{0, 15, 1}, {1, 0, 3}, {4, 3, 5}, {9, 8, 7}};
  pl_ref x = pl_input(0), v = pl_scratch(0), sem = pl_scratch(1);
  pl_copy_handle copies[4];
  for (int i = 0; i < 4; i++)
    copies[i] = pl_async_copy(pl_at(x, PL_DS(parts[i].from, parts[i].rows)),
                              pl_at(v, PL_DS(parts[i].to, parts[i].rows)), semaphore(sem, i));
  for (int i = 4; i-- > 0;)
    pl_wait(&copies[i]);
  move(v, pl_output(0), semaphore(sem, 2));
}
static void copy_reverse(void) {
  run(KERNEL(.name = "reverse", .body = reverse_body,
             .scratch = {PL_VMEM(PL_INT32, 16, 128), PL_SEMAPHORES(4)}));
}

static void middle_body(void) {
  for (int32_t k = 0; k < 3; k++) {
    move(pl_at(pl_input(0), PL_DS(1, 2), PL_INDEX(k)), pl_scratch(0), pl_scratch(1));
    move(pl_scratch(0), pl_at(pl_output(0), PL_DS(0, 2), PL_INDEX(2 - k)), pl_scratch(1));
  }
}
static void copy_middle_index(void) {
  run(KERNEL(.name = "middle", .body = middle_body, .scratch = {BLOCKS(2), PL_SEMAPHORES(1)}));
}

static void handover_body(void) {
  const int32_t s = pl_program_id(0);
  if (s > 0)
    pl_semaphore_wait(semaphore(pl_scratch(0), (s - 1) % 2), (uint32_t)s);
  add_number(pl_output(0), pl_input(0), s, pl_scratch(1));
  if (s + 1 < pl_num_programs(0))
    pl_semaphore_signal(semaphore(pl_scratch(0), s % 2), (uint32_t)s + 1);
}
static void semaphore_handover(void) {
  run(OVER_ROWS(.name = "handover", .body = handover_body, .grid = PL_GRID(5),
                .scratch = {PL_SEMAPHORES(2), NUMBER}));
}

static void scoped_inner(const pl_ref *refs, void *user) {
  const pl_ref *outer = user;
  pl_add(refs[0], outer[0], outer[0]);
  move(refs[0], outer[0], outer[1]);
}
static void scoped_outer(const pl_ref *refs, void *user) {
  pl_ref outer[2] = {refs[0], refs[1]};
  (void)user;
  move(pl_input(0), outer[0], outer[1]);
  pl_run_scoped(scoped_inner, outer, BLOCK);
  add_number(pl_output(0), outer[0], 1, pl_scratch(0));
}
static void scoped_body(void) {
  pl_run_scoped(scoped_outer, NULL, BLOCK, PL_SEMAPHORES(1));
}
static void scoped_nested(void) {
  run(OVER_ROWS(.name = "scoped", .body = scoped_body, .grid = PL_GRID(3), .scratch = {NUMBER}));
}

/* ---- kernels without a grid, views, types ---- */

static void permute_body(void) {
  pl_ref x = pl_arg(0), table = pl_scratch(0), v = pl_scratch(1);
  pl_sync_copy(pl_arg(1), table);
  pl_sync_copy(x, v);
  for (int32_t i = 0; i < 4; i++)
    pl_sync_copy(PART(v, i, 8), PART(x, pl_get(table, i), 8));
}
static void kernel_permute(void) {
  const pl_array s = case_input("table"), o = case_output("o", "x");
  const pl_kernel kernel = {
      .name = "permute", .body = permute_body, .scratch = {PL_SMEM(PL_INT32, 4), PL_VMEM(PL_INT32, 32, 128)}};
  case_done(pl_kernel_call(&kernel, PL_ARGS(o, s)));
}

static void views_body(void) {
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_fill(o, 0);
  pl_ref to = pl_at(pl_at(pl_at(o, PL_DS(2, 12)), PL_DS(1, 4)), PL_ALL, PL_DS(16, 32));
  pl_ref from = pl_at(pl_at(pl_at(pl_at(x, PL_INDEX(1)), PL_DS(3, 9)), PL_DS(2, 4)), PL_ALL, PL_DS(7, 32));
  pl_copy(to, from);
  pl_copy(pl_at(pl_at(o, PL_DS(8, 8)), PL_DS_STRIDED(0, 4, 2)),
          pl_at(pl_at(x, PL_INDEX(0)), PL_DS_STRIDED(1, 4, 3)));
}
static void views_of_views(void) {
  run(&(const pl_kernel){.name = "views", .body = views_body});
}

static void types_body(void) {
  pl_copy(pl_output(0), pl_input(0));
  for (int i = 1; i < 4; i++)
    pl_copy(pl_output(i), pl_output(i - 1));
}
static void types_in_turn(void) {
  const pl_array x = case_input("x"), a = case_output("a", NULL), b = case_output("b", NULL),
                 c = case_output("c", NULL), d = case_output("d", NULL);
  const pl_block_spec *spec = PL_BLOCK(rows_map, 16, 64);
  const pl_kernel kernel = {
      .name = "types", .body = types_body, .grid = PL_GRID(2), .in = {spec}, .out = {spec, spec, spec, spec}};
  case_call(&kernel, PL_ARGS(x), PL_RESULTS(a, b, c, d));
}

const struct conformance_case conformance_cases[] = {
    CASE(scratch_history),
    CASE(scratch_choice),
    CASE(copy_ring),
    CASE(copy_reverse),
    CASE(copy_middle_index),
    CASE(semaphore_handover),
    CASE(scoped_nested),
    CASE(kernel_permute),
    CASE(views_of_views),
    CASE(types_in_turn),
    CASE_END,
};
