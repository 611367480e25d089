/* SPDX-License-Identifier: MIT */
/*
 * Cores. There is one, so that a barrier is passed at once and every other core is an error; the epoch is
 * counted as it will be with several: one ticket semaphore a core, raised by one for every core that
 * arrives and never reset, so that the n-th barrier is passed at n x (cores - 1).
 */
#include "internal.h"

static uint32_t barrier_epoch;

uint32_t pl_core_barrier(void) {
  const struct pl_context *c = pl_self();
  if (c->status != PL_OK)
    return barrier_epoch;
  if (!pl_in_body("pl_core_barrier"))
    return barrier_epoch;
  return ++barrier_epoch;
}

/* Whether a core is there; false with a sticky error. */
static bool check_core(const char *who, uint32_t core) {
  if (core < (uint32_t)pl_num_cores())
    return true;
  pl_fail(PL_ERROR_UNSUPPORTED, "%s: core %u; this device has %u (core %u)", who, (unsigned)core,
          (unsigned)pl_num_cores(), (unsigned)pl_core_index());
  return false;
}

void pl_semaphore_signal_core(pl_ref semaphore, uint32_t amount, uint32_t core) {
  if (check_core("pl_semaphore_signal_core", core))
    pl_semaphore_signal(semaphore, amount);
}

pl_copy_handle pl_make_async_remote_copy(pl_ref src, pl_ref dst, pl_ref send_semaphore,
                                         pl_ref receive_semaphore, uint32_t core) {
  (void)send_semaphore;
  (void)receive_semaphore;
  if (check_core("pl_make_async_remote_copy", core))
    pl_fail(PL_ERROR_UNSUPPORTED, "pl_make_async_remote_copy to this core: pl_make_async_copy does it");
  return (pl_copy_handle){src, dst, 0, 0, 0};
}
