/* SPDX-License-Identifier: MIT */
/*
 * step08_async_copies: guide, step 8: copies and semaphores by hand: what the pipeline does for you.
 *
 * o = x + x over 8 blocks of 64 KiB, which the body fetches itself: with one slot, then with two, three.
 */
#include "step.h"

enum { BLOCKS = 8, ROWS = 128, COLUMNS = 128, SLOTS = 3 };

/* [kernel] */
static void body(void) {
  const int32_t slots = *(const int32_t *)pl_user(), ahead = slots - 1;
  pl_ref x = pl_input(0), o = pl_output(0);
  pl_copy_handle in[SLOTS];

  for (int32_t i = 0; i < BLOCKS + ahead; i++) {
    const int32_t next = i % slots, now = (i + 1) % slots, done = i - ahead;

    if (i < BLOCKS) /* starts when no earlier command uses the slot any more */
      in[next] = pl_async_copy(pl_at(x, PL_DS(i * ROWS, ROWS)), pl_scratch(next), pl_scratch(SLOTS + next));
    if (done >= 0) {
      pl_ref slot = pl_scratch(now);
      pl_wait(&in[now]);
      pl_add(slot, slot, slot);
      pl_sync_copy(slot, pl_at(o, PL_DS(done * ROWS, ROWS)));
    }
  }
}

static pl_status doubled(pl_array x, pl_array o, int32_t slots) {
  const pl_kernel kernel = {
      .name = "doubled",
      .body = body,
      .user = &slots,
      .in = {PL_IN_HBM},
      .out = {PL_IN_HBM},
      .scratch = {PL_VMEM(PL_INT32, ROWS, COLUMNS), PL_VMEM(PL_INT32, ROWS, COLUMNS),
                  PL_VMEM(PL_INT32, ROWS, COLUMNS), PL_SEMAPHORES(1), PL_SEMAPHORES(1), PL_SEMAPHORES(1)},
  };
  return pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
}
/* [end] */

int main(void) {
  pl_array x = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  pl_array o = step_array(PL_INT32, PL_SHAPE(BLOCKS * ROWS, COLUMNS));
  int32_t *px = pl_hbm_pointer(&x), *po = pl_hbm_pointer(&o);

  for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
    px[i] = 5 * i - 77;
  for (int32_t slots = 1; slots <= SLOTS; slots++) {
    for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
      po[i] = -1;
    step_must(doubled(x, o, slots));
    step_must(doubled(x, o, slots)); /* warm: the plan is there */
    for (int32_t i = 0; i < BLOCKS * ROWS * COLUMNS; i++)
      step_equal("element", i, po[i], 2 * px[i]);
    printf("%d slot%s %u cycles\n", (int)slots, slots == 1 ? ": " : "s:", (unsigned)step_stats().cycles);
  }
  return BOOT_EXIT_OK;
}
