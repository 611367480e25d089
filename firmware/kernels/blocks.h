/* SPDX-License-Identifier: MIT */
/* What kernels with a choice of blocks, or with a list of them, share. */
#ifndef KERNELS_BLOCKS_H
#define KERNELS_BLOCKS_H

#include "pallas.h"

/*
 * Rows of a block: *rows as the caller of a kernel gave them, or `fitting` for 0, but at least `least`, and
 * at most `most` if that is more. PL_ERROR_ARGUMENT if they are negative; `kernel` is its name in the
 * message.
 */
pl_status blocks_rows(const char *kernel, int32_t *rows, int32_t fitting, int32_t least, int32_t most);

/*
 * Entries of the kernel's first prefetched argument, a list of rank 2, that were read last. Maps and body are
 * a few steps apart, so that nearly every entry is read once.
 */
enum { BLOCKS_KEPT = 8, BLOCKS_WORDS = 3 /* of an entry, at most */ };
struct blocks_kept {
  struct blocks_entry {
    int32_t number;
    int32_t word[BLOCKS_WORDS];
  } entry[BLOCKS_KEPT];
};

/* Before a call. */
void blocks_forget(struct blocks_kept *kept);
void blocks_read(struct blocks_entry *entry, int32_t number, int32_t words);

/* The words of an entry. */
static inline const int32_t *blocks_entry(struct blocks_kept *kept, int32_t number, int32_t words) {
  struct blocks_entry *const e = &kept->entry[(uint32_t)number % BLOCKS_KEPT];
  if (e->number != number)
    blocks_read(e, number, words);
  return e->word;
}

#endif
