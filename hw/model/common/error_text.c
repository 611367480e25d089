/* SPDX-License-Identifier: MIT */
/* Texts of errors: what went wrong, in which command, at which place, and what would be right. */
#include "hang_report.h"
#include "text.h"

#include <string.h>

const char *tpu_queue_name(uint32_t queue) {
#define NAME(name, value, description) [value] = #name,
  static const char *const names[] = {TPU_QUEUE_LIST(NAME)};
#undef NAME
  if (queue == TPU_QUEUE_SCALAR)
    return "scalar core";
  return queue < sizeof names / sizeof names[0] ? names[queue] : "?";
}

static const char *error_name(uint32_t code) {
#define NAME(name, value, description) [value] = #name,
  static const char *const names[] = {TPU_ERROR_LIST(NAME)};
#undef NAME
  return code < sizeof names / sizeof names[0] && names[code] ? names[code] : "?";
}

static const char *space_name(uint32_t space) {
#define NAME(name, value, description) [value] = #name,
  static const char *const names[] = {TPU_SPACE_LIST(NAME)};
#undef NAME
  return space < sizeof names / sizeof names[0] ? names[space] : "?";
}

/* A register of a queue's block by its offset; "" if it has no name here. */
static const char *field_name(uint32_t queue, uint32_t offset) {
  static const struct {
    uint32_t first, last, offset;
    const char *name;
  } field[] = {
      {0, 7, TPU_Q_WAITS, "WAITS"},
      {0, 7, TPU_Q_SIGNALS, "SIGNALS"},
      {0, 3, TPU_DMA_MODE, "MODE"},
      {0, 3, TPU_DMA_COUNT2, "COUNT2"},
      {0, 3, TPU_DMA_VALID_ROW, "VALID_ROW"},
      {0, 3, TPU_DMA_VALID01, "VALID01"},
      {0, 3, TPU_DMA_VALID2, "VALID2"},
      {0, 3, TPU_DMA_INDEX, "INDEX"},
      {0, 3, TPU_DMA_BOUND, "BOUND"},
      {4, 4, TPU_MXU_A, "A"},
      {4, 4, TPU_MXU_B, "B"},
      {4, 4, TPU_MXU_A_PITCH, "A_PITCH"},
      {4, 4, TPU_MXU_B_PITCH, "B_PITCH"},
      {4, 4, TPU_MXU_C_PITCH, "C_PITCH"},
      {4, 4, TPU_MXU_M, "M"},
      {4, 4, TPU_MXU_N, "N"},
      {4, 4, TPU_MXU_K, "K"},
      {4, 4, TPU_MXU_MODE, "MODE"},
  };
  for (size_t i = 0; i < sizeof field / sizeof field[0]; i++)
    if (field[i].offset == offset && queue >= field[i].first && queue <= field[i].last)
      return field[i].name;
  return "";
}

static uint64_t space_size(const struct tpu_config *c, uint32_t space) {
  switch (space) {
  case TPU_SPACE_HBM:
    return c->hbm_bytes;
  case TPU_SPACE_VMEM:
    return c->vmem_bytes;
  case TPU_SPACE_SMEM:
    return c->smem_bytes;
  default:
    return c->acc_rows;
  }
}

static void add_bounds(struct text *t, const struct tpu_config *c, uint32_t space) {
  text_add(t, "%s has %s 0 .. 0x%llx", space_name(space), space == TPU_SPACE_ACC ? "rows" : "bytes",
           (unsigned long long)space_size(c, space) - 1);
}

static void add_range(struct text *t, uint32_t queue, uint32_t d0, uint32_t d1, const struct tpu_config *c) {
  static const char *const dma_operand[] = {"source", "destination", "index list"};
  static const char *const mxu_operand[] = {"A", "B", "C"};
  uint32_t operand = d0 & 0xff, space = d0 >> 8 & 0xff;
  if (queue == TPU_QUEUE_VPU || queue == TPU_QUEUE_SCALAR) {
    space = queue == TPU_QUEUE_VPU ? d0 >> 24 : space;
    if (queue == TPU_QUEUE_VPU && (d0 & 0xffff) == 0xffff)
      text_add(t, "scalar %u from ", d0 >> 16 & 0xff);
    else if (queue == TPU_QUEUE_VPU)
      text_add(t, "instruction %u, sublane %u: ", d0 & 0xffff, d0 >> 16 & 0xff);
    text_add(t, "%s 0x%x is outside; ", space == TPU_SPACE_ACC ? "ACC row" : "address", d1);
    add_bounds(t, c, space);
    return;
  }
  const char *name = "operand";
  if (queue == TPU_QUEUE_MXU && operand < 3)
    name = mxu_operand[operand];
  else if (queue < TPU_QUEUE_MXU && operand < 3)
    name = dma_operand[operand];
  if ((int32_t)d1 < 0)
    text_add(t, "%s in %s reaches from -0x%x (below 0) or to 0x%x; ", name, space_name(space), 0u - d1, d1);
  else
    text_add(t, "%s in %s would end before 0x%x; ", name, space_name(space), d1);
  add_bounds(t, c, space);
  text_add(t, "; nothing was moved");
}

static void add_align(struct text *t, uint32_t queue, uint32_t d0, uint32_t d1, const struct tpu_config *c) {
  if (queue == TPU_QUEUE_MXU) {
    text_add(t, "%s is 0x%x; must be a multiple of %u elements (DIM)", field_name(queue, d0), d1, c->dim);
    return;
  }
  if (queue < TPU_QUEUE_MXU) {
    text_add(t, "%s is 0x%x; must be a multiple of 4; nothing was moved", field_name(queue, d0), d1);
    return;
  }
  if ((d0 & 0xffff) == 0xffff)
    text_add(t, "scalar %u: SMEM address 0x%x; must be a multiple of 4", d0 >> 16 & 0xff, d1);
  else
    text_add(t,
             "instruction %u, sublane %u: %s address 0x%x; rows must be multiples of %u elements (LANES), "
             "column accesses of the element",
             d0 & 0xffff, d0 >> 16 & 0xff, space_name(d0 >> 24), d1, c->lanes);
}

static void add_details(struct text *t, uint32_t code, uint32_t queue, uint32_t d0, uint32_t d1,
                        const struct tpu_config *c) {
  switch (code) {
  case TPU_ERROR_QUEUE_FULL:
    text_add(t, "GO on a full queue (%u commands wait); the command was not queued", c->queue_depth);
    break;
  case TPU_ERROR_BAD_ACCESS:
    text_add(t,
             "no such access at offset 0x%x (data 0x%x): registers take aligned 32-bit accesses of their "
             "direction, SEM_TAKE a COUNT semaphore",
             d0, d1);
    break;
  case TPU_ERROR_UNIT_ABSENT:
    text_add(t, "configuration %s lacks what offset 0x%x with 0x%x would use", c->name, d0, d1);
    break;
  case TPU_ERROR_BAD_FIELD:
    text_add(t, "register %s (offset 0x%x) holds 0x%x, which is out of range or sets reserved bits",
             field_name(queue, d0), d0, d1);
    break;
  case TPU_ERROR_ALIGN:
    add_align(t, queue, d0, d1, c);
    break;
  case TPU_ERROR_RANGE:
    add_range(t, queue, d0, d1, c);
    break;
  case TPU_ERROR_BUS:
    text_add(t, "HBM answered the %s of the burst at 0x%x with an error", d0 ? "write" : "read", d1);
    break;
  case TPU_ERROR_SEM_OVERFLOW:
    text_add(t, "semaphore %u would pass 2^31-1; its value %u was kept", d0, d1);
    break;
  case TPU_ERROR_SEM_UNDERFLOW:
    text_add(t, "SEM_TAKE of more than semaphore %u has; its value %u was kept", d0, d1);
    break;
  case TPU_ERROR_SEM_DUPLICATE:
    text_add(t, "semaphore %u appears twice in the waits of the command; it was not queued", d0);
    break;
  case TPU_ERROR_VPU_ILLEGAL:
    text_add(t, "illegal vector instruction %u (low word 0x%08x)", d0, d1);
    break;
  case TPU_ERROR_VPU_PC:
    text_add(t, "the vector program ran to instruction %u; the program memory has %u", d0, c->vpu_program);
    break;
  case TPU_ERROR_SEM_BUSY:
    text_add(t, "semaphore values and modes are written only while the device is idle (offset 0x%x, 0x%x)",
             d0, d1);
    break;
  case TPU_ERROR_INDEX:
    text_add(t, "entry %u of the index list is %u (0x%x); indices must be below BOUND; nothing was moved", d0,
             d1, d1);
    break;
  default:
    text_add(t, "details 0x%x 0x%x", d0, d1);
  }
}

size_t tpu_error_text(uint32_t code, uint32_t queue, uint32_t tag, uint32_t detail0, uint32_t detail1,
                      const struct tpu_config *config, char *text, size_t size) {
  struct text t = {.at = text, .size = size};
  text_add(&t, "%s, %s", error_name(code), tpu_queue_name(queue));
  if (queue != TPU_QUEUE_SCALAR)
    text_add(&t, " tag 0x%08x", tag);
  text_add(&t, ": ");
  add_details(&t, code, queue, detail0, detail1, config);
  return t.used;
}
