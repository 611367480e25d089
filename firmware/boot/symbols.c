/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses. The table is made by symbols.py from a first link and put behind everything
 * else by the second: count, address of the first function, then how far each function begins behind the
 * first, in halfwords, in ascending order, then the names. It is small rather than quick to search: a trap
 * looks a name up. The first link has an empty one.
 */
#include "boot.h"

#include <string.h>

/* Where the linker script puts the table, and where it ends. */
extern const uint32_t __symbols[], __image_end[];

const char *boot_symbol(uint32_t address, uint32_t *offset) {
  const uint32_t *const table = __symbols;

  *offset = 0;
  if (table == __image_end || table[0] == 0 || address < table[1])
    return "?";
  const uint16_t *const begin = (const uint16_t *)&table[2];
  const uint32_t distance = address - table[1];
  uint32_t at = 0;
  while (at + 1 < table[0] && 2u * begin[at + 1] <= distance)
    at++;
  *offset = distance - 2u * begin[at];
  const char *name = (const char *)&begin[table[0]];
  while (at-- > 0)
    name += strlen(name) + 1;
  /* The last entry is the end of the code and has an empty name. */
  return *name == '\0' ? "?" : name;
}
