/* SPDX-License-Identifier: MIT */
/* Sticky errors and their messages. The first error of a call is kept; what follows from it is not told. */
#include "internal.h"

#include <stdarg.h>

static char message[PL_MESSAGE_BYTES];
static size_t message_length;
static bool kept; /* the message is of an error that came before */

const char *pl_error_message(void) {
  return message;
}

const char *pl_status_name(pl_status status) {
  static const char *const names[] = {
      "OK",           "ERROR_ARGUMENT",    "ERROR_SPEC",
      "ERROR_BUDGET", "ERROR_BLOCK_INDEX", "ERROR_REVISIT",
      "ERROR_REF",    "ERROR_SHAPE",       "ERROR_UNSUPPORTED",
      "ERROR_LIMIT",  "ERROR_SEMAPHORE",   "ERROR_DEADLOCK",
      "ERROR_DEVICE", "ERROR_DATA",        "ERROR_CHECK",
  };
  return (unsigned)status < sizeof names / sizeof names[0] ? names[status] : "?";
}

uint32_t pl_dtype_bytes(pl_dtype dtype) {
  static const uint8_t bytes[] = {4, 2, 4, 1, 1};
  return (unsigned)dtype < sizeof bytes ? bytes[dtype] : 0;
}

const char *pl_dtype_name(pl_dtype dtype) {
  static const char *const names[] = {"f32", "bf16", "int32", "int8", "uint8"};
  return (unsigned)dtype < sizeof names / sizeof names[0] ? names[dtype] : "?";
}

const char *pl_space_name(unsigned space) {
  static const char *const names[] = {"default", "HBM", "VMEM", "SMEM", "ACC", "SEMAPHORE"};
  return space < sizeof names / sizeof names[0] ? names[space] : "?";
}

size_t pl_shape_text(const int32_t *shape, uint32_t rank, char text[64]) {
  size_t at = 0;
  text[at++] = '[';
  for (uint32_t d = 0; d < rank && at < 50; d++)
    at += (size_t)snprintf(text + at, 64 - at, d ? ", %d" : "%d", (int)shape[d]);
  text[at++] = ']';
  text[at] = '\0';
  return at;
}

const char *pl_view_name(const struct pl_view *view, char text[24]) {
  static const char *const kinds[] = {"input", "output", "scratch", "scoped item", "prefetch"};
  snprintf(text, 24, "%s %u", kinds[view->kind], (unsigned)view->index);
  return text;
}

/* Adds to the message. */
static void put(const char *text) {
  /* Nothing is cut silently. */
  static const char cut[] = "... (message cut)";
  size_t at = message_length;

  while (at < sizeof message - 1 && *text != '\0')
    message[at++] = *text++;
  message[at] = '\0';
  message_length = at;
  for (size_t i = 0; *text != '\0' && i < sizeof cut; i++)
    message[sizeof message - sizeof cut + i] = cut[i];
}

/* Of a caller's: all that printf knows. */
static void add_any(const char *format, va_list args) {
  const size_t room = sizeof message - message_length;
  const int n = vsnprintf(message + message_length, room, format, args);
  if (n < 0)
    return;
  message_length += (size_t)n < room ? (size_t)n : room - 1;
  if ((size_t)n >= room)
    put("?"); /* there is no place for it, which is said */
}

/* ---- formats ---- */

enum { TEXT_BYTES = 96 };

/* What %p and a letter mean; see pl_format(). */
static void describe(char letter, const void *what, char text[TEXT_BYTES]) {
  const struct pl_view *v = what;
  const pl_array *a = what;
  const bool array = letter == 'A' || letter == 'H' || letter == 'N';
  const unsigned dtype = array ? a->dtype : v->dtype, space = array ? a->space : v->space;
  size_t n = 0;

  switch (letter) {
  case 'V':
    pl_view_name(v, text);
    return;
  case 'E':
    pl_shape_text(((const pl_shape *)what)->extent, ((const pl_shape *)what)->rank, text);
    return;
  case 'T':
  case 'D':
  case 'A':
    n = (size_t)snprintf(text, TEXT_BYTES, letter == 'T' ? "%s" : "%s ", pl_dtype_name(dtype));
    if (letter == 'T')
      return;
    break;
  default:;
  }
  if (letter != 'M' && letter != 'N')
    n += pl_shape_text(array ? a->shape : v->shape, array ? a->rank : v->rank, text + n);
  if (letter != 'S' && letter != 'H')
    snprintf(text + n, TEXT_BYTES - n, n == 0 ? "%s" : " in %s", pl_space_name(space));
}

void pl_format(void (*out)(const char *text), const char *format, va_list args) {
  char text[TEXT_BYTES], piece[TEXT_BYTES], spec[12];

  while (*format != '\0') {
    size_t n = 0;
    bool wide = false;
    if (*format != '%') {
      while (*format != '\0' && *format != '%' && n < sizeof piece - 1)
        piece[n++] = *format++;
      piece[n] = '\0';
      out(piece);
      continue;
    }
    do {
      wide = wide || *format == 'l';
      spec[n++] = *format++;
    } while (spec[n - 1] == '%' || spec[n - 1] == 'l' || spec[n - 1] < 'A');
    spec[n] = '\0';
    const char kind = spec[n - 1];
    if (kind == 'p') {
      describe(*format++, va_arg(args, const void *), text);
      spec[n - 1] = 's';
      snprintf(piece, sizeof piece, spec, text);
    } else if (kind == 's') {
      const char *string = va_arg(args, const char *);
      if (string == NULL)
        string = "(null)";
      if (n == 2) { /* of any length */
        out(string);
        continue;
      }
      snprintf(piece, sizeof piece, spec, string);
    } else if (wide) {
      snprintf(piece, sizeof piece, spec, va_arg(args, unsigned long));
    } else {
      snprintf(piece, sizeof piece, spec, va_arg(args, unsigned));
    }
    out(piece);
  }
}

void pl_message_clear(void) {
  message_length = 0;
  message[0] = '\0';
}

void pl_message_add(const char *format, ...) {
  va_list args;
  if (kept)
    return;
  va_start(args, format);
  pl_format(put, format, args);
  va_end(args);
}

static void put_place(const pl_kernel *kernel, const pl_grid *grid, uint32_t step, bool in_step) {
  pl_message_add("%s", kernel->name ? kernel->name : "(no name)");
  if (!in_step)
    return;
  pl_message_add(", step %u (", (unsigned)step);
  for (uint32_t d = 0; d < grid->rank; d++)
    pl_message_add(d ? ", %d" : "%d", (int)grid->id[d]);
  pl_message_add(")");
}

/* Kernels and pipelines around the running one, outermost first. */
static void put_frames(const struct pl_frame *frame) {
  if (frame->outer != NULL)
    put_frames(frame->outer);
  put_place(frame->kernel, &frame->head.grid, frame->step, !frame->in_prologue);
  pl_message_add(", pipeline ");
}

/* Who and where: as much as is known at this moment. */
static void begin(void) {
  struct pl_context *c = &pl_context;
  pl_message_clear();
  if (c->kernel == NULL)
    return;
  pl_message_add("kernel ");
  if (c->frame != NULL)
    put_frames(c->frame);
  put_place(c->kernel, &c->head.grid, c->step, c->plan != NULL && !c->in_prologue);
  pl_message_add(": ");
}

/* Hot paths do not look at the status: they are closed by taking the queues from their owners. */
static void become(struct pl_context *c, pl_status status) {
  c->status = status;
  c->sight++;
  for (unsigned q = 0; q < PL_QUEUES; q++)
    c->queue[q].owner = NULL;
}

const char *pl_recording;

bool pl_message_keep(bool keep) {
  const bool before = kept;
  kept = keep;
  return before;
}

/* On the host, which message is told: tests hold the list of all of them against the messages they provoke.
 */
#ifdef TPU_HOST
const char *pl_message_told;
#define TELL(format) (pl_message_told = (format))
#else
#define TELL(format) ((void)0)
#endif

/* Makes the status the call's, if it is its first error, and begins the message; true: the rest is wanted. */
static bool start(pl_status status, const struct pl_operand *op) {
  struct pl_context *c = &pl_context;
  if (c->status != PL_OK)
    return false;
  become(c, status);
  if (kept)
    return false;
  begin();
  if (pl_recording != NULL)
    pl_message_add("%s, while its body is recorded, which may use pl_v functions only: ", pl_recording);
  if (op != NULL)
    pl_message_add("%pV: ", &op->view);
  return true;
}

pl_status pl_fail(pl_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (start(status, NULL)) {
    TELL(format);
    pl_format(put, format, args);
  }
  va_end(args);
  return pl_context.status;
}

bool pl_is_null(const void *pointer, const char *who) {
  if (pointer != NULL)
    return false;
  if (pl_context.plan == NULL)
    pl_context.status = PL_OK;
  pl_fail(PL_ERROR_ARGUMENT, "%s: NULL where something must be", who);
  return true;
}

bool pl_outside(const char *who) {
  struct pl_context *c = &pl_context;
  if (pl_init() != PL_OK)
    return false;
  if (c->plan != NULL) {
    pl_fail(PL_ERROR_ARGUMENT, "%s inside a kernel body", who);
    return false;
  }
  c->status = PL_OK;
  return true;
}

pl_status pl_error(pl_status status, const char *format, ...) {
  va_list args;
  if (pl_context.plan == NULL)
    pl_context.status = PL_OK;
  va_start(args, format);
  if (start(status, NULL)) {
    TELL(format);
    add_any(format, args);
  }
  va_end(args);
  return pl_context.status;
}

pl_status pl_fail_operand(pl_status status, const struct pl_operand *op, const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (start(status, op)) {
    TELL(format);
    pl_format(put, format, args);
  }
  va_end(args);
  return pl_context.status;
}
