/* SPDX-License-Identifier: MIT */
/*
 * Named scopes and values in the scalar core's lane. A mark has room for 24 bits, which are the low bits of
 * the name's address: the name is looked up in the program's ELF file, in whatever segment has a string
 * there. Without the file, or if there is none, the address is the name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tpu_regs.h"
#include "trace.h"

enum { MOST_NAME = 48, MOST_DEPTH = 16 };

static uint8_t *elf;
static size_t elf_bytes;

static uint32_t word(size_t at) {
  uint32_t value = 0;
  if (at + 4 <= elf_bytes)
    memcpy(&value, elf + at, 4);
  return value;
}

static uint32_t half(size_t at) {
  return word(at) & 0xffff;
}

const char *trace_names_load(const char *path) {
  FILE *in = fopen(path, "rb");
  if (!in)
    return "cannot read the ELF file";
  size_t capacity = 0;
  for (size_t n = 1; n > 0; elf_bytes += n) {
    if (elf_bytes == capacity) {
      capacity = capacity ? 2 * capacity : 1 << 16;
      uint8_t *bigger = realloc(elf, capacity);
      if (!bigger)
        exit(2);
      elf = bigger;
    }
    n = fread(elf + elf_bytes, 1, capacity - elf_bytes, in);
  }
  fclose(in);
  return elf_bytes >= 52 && !memcmp(elf, "\177ELF\1\1", 6) ? NULL : "no 32-bit little-endian ELF file";
}

/* A string that begins at this place of the file. */
static bool string_at(size_t at, char name[MOST_NAME]) {
  size_t n = 0;
  for (; at + n < elf_bytes && elf[at + n] >= 32 && elf[at + n] < 127 && n + 1 < MOST_NAME; ++n) {
    const char c = (char)elf[at + n];
    name[n] = strchr("&<>'\"\\", c) ? '_' : c; /* it goes into SVG and JSON */
  }
  name[n] = '\0';
  return n > 0 && at + n < elf_bytes && elf[at + n] == 0;
}

static bool find_name(uint32_t value, char name[MOST_NAME]) {
  const uint32_t table = word(28), size = half(42), count = half(44);
  for (uint32_t i = 0; elf && i < count; ++i) {
    const size_t head = table + (size_t)i * size;
    const uint32_t offset = word(head + 4), address = word(head + 8), bytes = word(head + 16);
    const uint32_t at = (value - address) & 0xffffff;
    if (word(head) == 1 && at < bytes && string_at((size_t)offset + at, name))
      return true;
  }
  snprintf(name, MOST_NAME, "0x%06" PRIx32, value);
  return false;
}

/* pl_trace_value() is three notes: label, low 24 bits, high 8 bits. */
static bool value_at(const struct trace *t, size_t n, char name[MOST_NAME], int32_t *value) {
  const struct trace_mark *m = &t->mark[n];
  if (n + 2 >= t->marks || m[0].kind != TPU_MARK_NOTE || m[1].kind != TPU_MARK_NOTE ||
      m[2].kind != TPU_MARK_NOTE || m[2].value > 0xff || !find_name(m[0].value, name))
    return false;
  *value = (int32_t)(m[1].value | m[2].value << 24);
  return true;
}

void trace_each_scope(const struct trace *t, trace_scope_fn *scope, trace_value_fn *value, void *opaque) {
  const struct trace_mark *open[MOST_DEPTH];
  unsigned depth = 0;
  char name[MOST_NAME];
  int32_t number;
  for (size_t n = 0; n < t->marks; ++n) {
    const struct trace_mark *m = &t->mark[n];
    if (m->kind == TPU_MARK_SCOPE_BEGIN && depth < MOST_DEPTH) {
      open[depth++] = m;
    } else if (m->kind == TPU_MARK_SCOPE_END && depth > 0 && open[depth - 1]->value == m->value) {
      find_name(m->value, name);
      --depth;
      scope(opaque, name, depth, open[depth]->cycle, m->cycle);
    } else if (m->kind == TPU_MARK_CALL_END) {
      depth = 0; /* a scope that an error left open */
    } else if (value_at(t, n, name, &number)) {
      value(opaque, name, number, m->cycle);
      n += 2;
    }
  }
}
