/* SPDX-License-Identifier: MIT */
/* Vector instructions as text; see vpu_disasm.h. */
#include "vpu_disasm.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tpu_regs.h"

#define FIELD(instruction, name)                                                                             \
  ((unsigned)(((instruction)&TPU_VINSTR_##name##_MASK) >> TPU_VINSTR_##name##_SHIFT))

struct text {
  char *to;
  size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...) {
  char piece[48];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(piece, sizeof piece, format, args);
  va_end(args);
  for (int i = 0; i < n; i++, text->length++)
    if (text->length + 1 < text->size)
      text->to[text->length] = piece[i];
}

struct name {
  const char *text;
  unsigned value;
};
#define NAME(name, value, description) {#name, value},
static const struct name operations[] = {TPU_VOP_LIST(NAME)};
static const struct name types[] = {TPU_VMEM_DTYPE_LIST(NAME)};
static const struct name fills[] = {TPU_FILL_LIST(NAME)};
#define COUNT(list) (sizeof(list) / sizeof(list)[0])

static const char *find(const struct name *list, size_t count, unsigned value) {
  for (size_t i = 0; i < count; i++)
    if (list[i].value == value)
      return list[i].text;
  return NULL;
}

static void put_lower(struct text *text, const char *name) {
  for (; *name != '\0'; name++)
    put(text, "%c", *name >= 'A' && *name <= 'Z' ? *name - 'A' + 'a' : *name);
}

static void put_source(struct text *text, unsigned number, bool scalar) {
  put(text, ", %c%u", scalar ? 's' : 'v', scalar ? number & 7 : number);
}

static void put_a(struct text *text, uint64_t i) {
  put_source(text, FIELD(i, VA), FIELD(i, ASEL));
}
static void put_b(struct text *text, uint64_t i) {
  put_source(text, FIELD(i, VB), FIELD(i, BSEL));
}
static void put_c(struct text *text, uint64_t i) {
  put_source(text, FIELD(i, VC), FIELD(i, CSEL));
}

static void put_position(struct text *text, uint64_t i) {
  if (FIELD(i, RGRP) != 0)
    put(text, " rows %u", FIELD(i, RGRP));
  if (FIELD(i, CGRP) != 0)
    put(text, " columns %u", FIELD(i, CGRP));
}

static void put_mask(struct text *text, uint64_t i) {
  if (FIELD(i, MASKED) == 0)
    return;
  put(text, " masked");
  put_position(text, i);
}

static void put_address(struct text *text, uint64_t i) {
  int offset = (int16_t)FIELD(i, OFFSET);
  put(text, "%s[a%u", FIELD(i, ACC) ? "acc" : "vmem", FIELD(i, AREG));
  if (offset != 0)
    put(text, " %c %d", offset < 0 ? '-' : '+', offset < 0 ? -offset : offset);
  put(text, "]%s", FIELD(i, COL) ? " column" : "");
}

/* Type in memory and in the register, where the type says something. */
static void put_type(struct text *text, uint64_t i) {
  unsigned dtype = FIELD(i, DTYPE);
  if (dtype != TPU_VMEM_DTYPE_W32) {
    put(text, " ");
    put_lower(text, find(types, COUNT(types), dtype));
  }
  if (FIELD(i, ITYPE))
    put(text, " i32");
}

static void put_memory(struct text *text, uint64_t i) {
  if (FIELD(i, OP) == TPU_VOP_LD) {
    put(text, " v%u, ", FIELD(i, VD));
    put_address(text, i);
    put_type(text, i);
    put_mask(text, i);
    if (FIELD(i, MASKED) && FIELD(i, FILL) != TPU_FILL_ZERO) {
      put(text, " fill ");
      put_lower(text, find(fills, COUNT(fills), FIELD(i, FILL)));
    }
    return;
  }
  put(text, " ");
  put_address(text, i);
  put_a(text, i);
  put_type(text, i);
  put_mask(text, i);
}

/* Moves across lanes by a number or a scalar; transposition; random bits. */
static void put_cross(struct text *text, uint64_t i) {
  unsigned op = FIELD(i, OP);
  put(text, " v%u", FIELD(i, VD));
  put_a(text, i);
  if (op == TPU_VOP_RAND) {
    put_b(text, i);
    if (FIELD(i, CSEL))
      put_c(text, i);
    put_position(text, i);
  } else if (op != TPU_VOP_TRANSPOSE) {
    if (FIELD(i, BSEL))
      put_b(text, i);
    else
      put(text, ", %u", FIELD(i, VB));
  }
}

static void put_operands(struct text *text, uint64_t i) {
  unsigned op = FIELD(i, OP);
  if ((op >= TPU_VOP_ROT_LANE && op <= TPU_VOP_TRANSPOSE) || op == TPU_VOP_RAND) {
    put_cross(text, i);
    return;
  }
  bool reduction = op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_RS_IARGMAX;
  bool unary = op == TPU_VOP_MOV || (op >= TPU_VOP_I2F && op <= TPU_VOP_F2BF) || reduction ||
               (op >= TPU_VOP_EXP2 && op <= TPU_VOP_SIGMOID);
  bool ternary = op == TPU_VOP_SEL || op == TPU_VOP_FMA;
  put(text, " v%u", FIELD(i, VD));
  if (op == TPU_VOP_CONST) {
    put(text, ", 0x%08x", (unsigned)(i >> 32));
    return;
  }
  if (op == TPU_VOP_IOTA_LANE || op == TPU_VOP_IOTA_SUB) {
    put_position(text, i);
    return;
  }
  put_a(text, i);
  if (!unary)
    put_b(text, i);
  if (ternary)
    put_c(text, i);
  if (op == TPU_VOP_SELM)
    put_position(text, i);
  if (reduction)
    put_mask(text, i);
}

size_t tpu_vpu_disassemble(uint64_t instruction, char *text, size_t size) {
  struct text out = {.to = text, .size = size, .length = 0};
  unsigned op = FIELD(instruction, OP);
  const char *name = find(operations, COUNT(operations), op);
  if (name == NULL) {
    put(&out, ".quad 0x%016llx", (unsigned long long)instruction);
  } else {
    put_lower(&out, name);
    if (op == TPU_VOP_LOOP)
      put(&out, " %u, to %u if empty", FIELD(instruction, AREG) & 3, FIELD(instruction, OFFSET));
    else if (op == TPU_VOP_END)
      put(&out, " %u", FIELD(instruction, AREG) & 3);
    else if (op == TPU_VOP_LD || op == TPU_VOP_ST)
      put_memory(&out, instruction);
    else if (op != TPU_VOP_HALT)
      put_operands(&out, instruction);
  }
  if (size > 0)
    text[out.length < size ? out.length : size - 1] = '\0';
  return out.length;
}
