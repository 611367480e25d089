/* SPDX-License-Identifier: MIT */
/* Printing from bodies, trace scopes and values, and poison. */
#include "internal.h"

#include <stdarg.h>

enum { LINE_BYTES = 256 };

#ifdef DEBUG
unsigned pl_debug_flags = PL_DEBUG_CHECKS | PL_DEBUG_POISON | PL_DEBUG_PRINT | PL_DEBUG_SHUFFLE;
#else
unsigned pl_debug_flags = PL_DEBUG_PRINT;
#endif

static void (*output)(const char *text);

void pl_debug_set(unsigned flags) {
  if (!pl_outside("pl_debug_set"))
    return;
  pl_context.aged = pl_context.aged || (flags ^ pl_debug_flags) & PL_DEBUG_SHUFFLE; /* see pl_debug_seed() */
  pl_debug_flags = flags;
}

unsigned pl_debug_get(void) {
  return pl_debug_flags;
}

void pl_debug_output(void (*write)(const char *text)) {
  output = write;
}

void pl_debug_write(const char *text) {
  if (output != NULL)
    output(text);
  else
    fputs(text, stdout);
}

/* A line, with what is behind its end cut off visibly. */
static void write_line(const char *format, va_list args) {
  char line[LINE_BYTES];
  const int n = vsnprintf(line, sizeof line, format, args);
  pl_debug_write(line);
  if (n >= (int)sizeof line)
    pl_debug_write("... (line cut)");
}

void pl_debug_text(const char *format, ...) {
  va_list args;
  va_start(args, format);
  pl_format(pl_debug_write, format, args);
  va_end(args);
}

static void write_where(const struct pl_context *c) {
  if (c->kernel == NULL)
    return;
  pl_debug_text("%s, step %u (", c->kernel->name ? c->kernel->name : "(no name)", (unsigned)c->step);
  for (uint32_t d = 0; d < c->head.grid.rank; d++)
    pl_debug_text(d ? ", %d" : "%d", (int)c->head.grid.id[d]);
  pl_debug_text("): ");
}

void pl_debug_print(const char *format, ...) {
  struct pl_context *c = pl_self();
  va_list args;
  if (!(pl_debug_flags & PL_DEBUG_PRINT) || c->status != PL_OK)
    return;
  write_where(c);
  va_start(args, format);
  write_line(format, args);
  va_end(args);
  pl_debug_write("\n");
}

/* ---- values ---- */

/* digits x 10^ten as 123, 1.23, 0.0123 or 1.23e20. */
static void write_digits(const char *sign, uint32_t digits, int ten) {
  char text[12];
  const int n = snprintf(text, sizeof text, "%u", (unsigned)digits), point = n + ten;

  if (point > 7 || point < -3) {
    pl_debug_text(n > 1 ? "%s%c.%se%d" : "%s%c%se%d", sign, text[0], text + 1, point - 1);
  } else if (point <= 0) {
    pl_debug_text("%s0.%s%s", sign, &"000"[3 + point], text);
  } else {
    const char next = text[point < n ? point : 0];
    if (point < n)
      text[point] = '\0';
    pl_debug_text(point < n ? "%s%s." : "%s%s", sign, text);
    if (point < n)
      pl_debug_text("%c%s", next, text + point + 1);
    else
      pl_debug_write(&"0000000"[7 - (point - n)]);
  }
}

/* Six significant digits of f32 bits, without the floats of printf. */
static void write_float(uint32_t bits) {
  const char *sign = bits >> 31 ? "-" : "";
  const uint32_t exponent = bits >> 23 & 255;
  uint64_t m = bits & 0x7fffffu;
  int two = (int)exponent - 150, ten = 0;

  if (exponent == 255) {
    pl_debug_text(m != 0 ? "nan" : "%sinf", sign);
    return;
  }
  if (exponent == 0) /* subnormals are zero to the device */
    m = 0;
  else
    m |= 0x800000u;
  if (m == 0) {
    pl_debug_text("%s0", sign);
    return;
  }
  /* value = m x 2^two x 10^ten, with m of about 60 bits while powers of two become powers of ten */
  for (; two > 0; two--) {
    if (m >> 62 != 0) {
      m = (m + 5) / 10;
      ten++;
    }
    m <<= 1;
  }
  for (; two < 0; two++) {
    if (m >> 59 == 0) {
      m *= 10;
      ten--;
    }
    m = (m >> 1) + (m >> 59 != 0 && (m & 1));
  }
  while (m >= 10000000) {
    m /= 10;
    ten++;
  }
  uint32_t digits = (uint32_t)m;
  if (digits >= 1000000) {
    digits = (digits + 5) / 10;
    ten++;
  }
  while (digits % 10 == 0) {
    digits /= 10;
    ten++;
  }
  write_digits(sign, digits, ten);
}

static void write_element(unsigned dtype, int32_t value) {
  if (pl_is_float(dtype))
    write_float((uint32_t)value);
  else
    pl_debug_text("%d", (int)value);
}

/* Elements along the last dimension, one line for each of the others, up to a limit. */
void pl_debug_print_ref(const char *label, pl_ref ref) {
  enum { MOST_LINES = 64, MOST_COLUMNS = 16 };
  struct pl_context *c = pl_self();
  struct pl_view *v;
  int32_t index[PL_MAX_RANK] = {0};

  if (!(pl_debug_flags & PL_DEBUG_PRINT) || (v = pl_use(c, ref)) == NULL || !pl_scalars_ready(c, v, label))
    return;
  write_where(c);
  pl_debug_text("%s = %pV %pD\n", label, v, v);
  for (unsigned d = 0; d < v->rank; d++)
    if (v->shape[d] == 0)
      return;
  const int last = v->rank - 1;
  for (unsigned line = 0;; line++) {
    if (line == MOST_LINES) {
      pl_debug_text("  ... (%d lines shown)\n", MOST_LINES);
      return;
    }
    pl_debug_write("  [");
    const int32_t columns = last >= 0 ? v->shape[last] : 1;
    for (int32_t i = 0; i < columns; i++) {
      if (i == MOST_COLUMNS) {
        pl_debug_text(", ... %d more", (int)(columns - i));
        break;
      }
      if (last >= 0)
        index[last] = i;
      pl_debug_write(i > 0 ? ", " : "");
      write_element(v->dtype, pl_read_element(v, index));
    }
    pl_debug_write("]\n");
    int d = last - 1;
    while (d >= 0 && ++index[d] == v->shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

/* ---- trace ---- */

static void mark(uint32_t kind, uint32_t value) {
  mmio_write32(pl_context.mark,
               kind << TPU_REG_TRACE_MARK_KIND_SHIFT | (value & TPU_REG_TRACE_MARK_VALUE_MASK));
}

void pl_named_scope_begin(const char *name) {
  if (pl_init() == PL_OK)
    mark(TPU_MARK_SCOPE_BEGIN, (uint32_t)(uintptr_t)name);
}

void pl_named_scope_end(const char *name) {
  if (pl_init() == PL_OK)
    mark(TPU_MARK_SCOPE_END, (uint32_t)(uintptr_t)name);
}

void pl_trace_value(const char *label, int32_t value) {
  if (pl_init() != PL_OK)
    return;
  mark(TPU_MARK_NOTE, (uint32_t)(uintptr_t)label);
  mark(TPU_MARK_NOTE, (uint32_t)value);
  mark(TPU_MARK_NOTE, (uint32_t)value >> 24);
}

/* ---- poison ---- */

/* NaN, or the least int; the unsigned type, which has no negative one, gets its bits. */
uint32_t pl_poison_of(unsigned dtype) {
  static const uint32_t patterns[] = {0x7fc00000u, 0x7fc07fc0u, 0x80000000u, 0x80808080u, 0x80808080u};
  return patterns[dtype];
}

/* A DMA that copies nothing and fills the rest. */
static void fill_bytes(struct pl_context *c, const struct pl_view *v, uint32_t bytes) {
  struct pl_queue *q = &c->queue[c->plan->copy_queue];
  struct pl_deps deps = {0};

  tpu_queue_put(q->base, TPU_DMA_MODE,
                TPU_DMA_MODE_FILL_MASK | TPU_SPACE_HBM << TPU_DMA_MODE_SRC_SPACE_SHIFT |
                    (v->space - PL_HBM + (uint32_t)TPU_SPACE_HBM) << TPU_DMA_MODE_DST_SPACE_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_ROW_BYTES, bytes);
  tpu_queue_put(q->base, TPU_DMA_COUNT01, 1 | 1 << TPU_DMA_COUNT01_COUNT1_SHIFT);
  tpu_queue_put(q->base, TPU_DMA_COUNT2, 1);
  tpu_queue_put(q->base, TPU_DMA_VALID_ROW, 0);
  tpu_queue_put(q->base, TPU_DMA_VALID01, 0);
  tpu_queue_put(q->base, TPU_DMA_VALID2, 0);
  tpu_queue_put(q->base, TPU_DMA_PATTERN, pl_poison_of(v->dtype));
  tpu_queue_put(q->base, TPU_DMA_SRC, 0);
  tpu_queue_put(q->base, TPU_DMA_DST, v->buffer->address + v->offset);
  q->owner = NULL;
  pl_write_deps(&deps, v->buffer, q->number);
  if (pl_issue(c, q, &deps, 0, PL_TAG(PL_TAG_COPY, v->index) + c->step))
    pl_has_written(c, v->buffer, q);
}

void pl_poison(struct pl_context *c, struct pl_view *view) {
  if (!(pl_debug_flags & PL_DEBUG_POISON) || c->status != PL_OK || view->space == PL_SEMAPHORE)
    return;
  if (view->space == PL_ACC) {
    if (c->params.value[TPU_PARAM_VPU_PRESENT])
      pl_fill_view(c, view, pl_poison_of(view->dtype));
    return;
  }
  uint32_t bytes = view->rank > 1 ? (uint32_t)view->stride[0] * (uint32_t)view->shape[0] : view->pitch;
  fill_bytes(c, view, bytes);
}

void pl_poison_scratch(struct pl_context *c, struct pl_plan *plan) {
  for (uint32_t i = 0; i < plan->scratches; i++) {
    struct pl_scratch *s = &plan->scratch[i];
    for (uint32_t n = 0; n < s->buffers; n++) /* an ACC scratch takes another buffer with every fill */
      pl_poison(c, &s->view);
  }
}

void pl_poison_outputs(struct pl_context *c, struct pl_plan *plan, uint32_t step) {
  for (uint32_t i = plan->inputs; i < plan->inputs + plan->outputs; i++) {
    struct pl_operand *op = &plan->operand[i];
    if (op->kind == PL_OPERAND_BLOCKED && !op->latch->load &&
        (op->moves ? step == 0 || op->latch->first == step : step == 0))
      pl_poison(c, &op->view);
  }
}
