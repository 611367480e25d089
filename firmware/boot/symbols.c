/* SPDX-License-Identifier: MIT */
/*
 * Names for addresses. The table is made by symbols.py from a first link and put behind everything
 * else by the second: count, then {address, offset of its name in the table} in ascending order,
 * then the names. The first link has an empty one.
 */
#include "boot.h"

/* Where the linker script puts the table, and where it ends. */
extern const uint32_t __symbols[], __image_end[];

const char *boot_symbol(uint32_t address, uint32_t *offset) {
  *offset = 0;
  const uint32_t *table = __symbols;
  if (table == __image_end || table[0] == 0 || address < table[1])
    return "?";
  uint32_t low = 0, high = table[0];
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    if (table[1 + 2 * middle] <= address)
      low = middle;
    else
      high = middle;
  }
  const char *name = (const char *)table + table[2 + 2 * low];
  *offset = address - table[1 + 2 * low];
  /* The last entry is the end of the code and has an empty name. */
  return *name == '\0' ? "?" : name;
}
