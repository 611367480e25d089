/* SPDX-License-Identifier: MIT */
#include "blocks.h"

pl_status blocks_rows(const char *kernel, int32_t *rows, int32_t fitting, int32_t least, int32_t most) {
  if (*rows < 0)
    return pl_error(PL_ERROR_ARGUMENT, "%s: blocks of %d rows; 1 or more, or 0 for the default, are right",
                    kernel, (int)*rows);
  if (*rows == 0)
    *rows = fitting;
  if (*rows > most)
    *rows = most;
  if (*rows < least)
    *rows = least;
  return PL_OK;
}

void blocks_forget(struct blocks_kept *kept) {
  for (unsigned i = 0; i < BLOCKS_KEPT; i++)
    kept->entry[i].number = -1;
}

void blocks_read(struct blocks_entry *entry, int32_t number, int32_t words) {
  const pl_ref list = pl_prefetch(0);
  entry->number = number;
  for (int32_t i = 0; i < words; i++)
    entry->word[i] = pl_get(list, number, i);
}
