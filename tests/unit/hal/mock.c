/* SPDX-License-Identifier: MIT */
#include "mock.h"
#include "mmio.h"

#include <stdio.h>

enum { MAX_ACCESSES = 4096 };

static struct {
  bool write;
  uintptr_t address;
  uint32_t value;
} expected[MAX_ACCESSES];
static unsigned expected_count, seen_count;
static char difference[160];

static void expect(bool write, uintptr_t address, uint32_t value) {
  if (expected_count < MAX_ACCESSES) {
    expected[expected_count].write = write;
    expected[expected_count].address = address;
    expected[expected_count].value = value;
  }
  expected_count++;
}

void mock_read(uintptr_t address, uint32_t value) {
  expect(false, address, value);
}
void mock_write(uintptr_t address, uint32_t value) {
  expect(true, address, value);
}
void mock_reads(uintptr_t address, uint32_t value, unsigned n) {
  while (n-- > 0)
    mock_read(address, value);
}

static void differ(const char *what, unsigned at, uintptr_t address, uint32_t value) {
  if (difference[0] == '\0')
    snprintf(difference, sizeof difference, "access %u: %s at %#lx value %#x", at, what,
             (unsigned long)address, value);
}

static uint32_t access(bool write, uintptr_t address, uint32_t value) {
  unsigned at = seen_count++;
  if (at >= expected_count || at >= MAX_ACCESSES) {
    differ(write ? "unexpected write" : "unexpected read", at, address, value);
    return 0;
  }
  if (expected[at].write != write || expected[at].address != address ||
      (write && expected[at].value != value))
    differ(write ? "wrong write" : "wrong read", at, address, value);
  return expected[at].value;
}

bool mock_done(void) {
  bool ok = difference[0] == '\0' && seen_count == expected_count;
  if (difference[0] == '\0' && seen_count < expected_count)
    differ("missing access", seen_count, expected[seen_count].address, expected[seen_count].value);
  seen_count = expected_count = 0;
  if (ok)
    difference[0] = '\0';
  return ok;
}

const char *mock_text(void) {
  static char text[sizeof difference];
  snprintf(text, sizeof text, "%s", difference);
  difference[0] = '\0';
  return text;
}

uint32_t mmio_read32(uintptr_t address) {
  return access(false, address, 0);
}
void mmio_write32(uintptr_t address, uint32_t value) {
  access(true, address, value);
}
