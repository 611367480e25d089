/* SPDX-License-Identifier: MIT */
/*
 * Products of other refs than the last time, or with other words staged meanwhile: checked, and queued with
 * all words and waits. The usual ones, parts among them, are checked at once; what is unusual or wrong has
 * its own way, with messages.
 */
#include "waits.h"

static pl_status check_operands(const struct pl_view *acc, const struct pl_view *x, const struct pl_view *y) {
  const bool int8 = x->dtype == PL_INT8;
  const unsigned result = int8 ? PL_INT32 : PL_F32;
  const uint32_t *p = pl_context.params.value;

  if (acc->space != PL_ACC)
    return pl_fail(PL_ERROR_REF,
                   "pl_dot: the result is in %pM; it must be in ACC (a PL_ACC scratch), pl_copy moves it on",
                   acc);
  if (x->space != PL_VMEM || y->space != PL_VMEM)
    return pl_fail(PL_ERROR_REF, "pl_dot: x is in %pM and y in %pM; both must be in VMEM", x, y);
  if (acc->flags & PL_VIEW_READ_ONLY)
    return pl_fail(PL_ERROR_REF, "pl_dot: the result is an input");
  const bool floats =
      (x->dtype == PL_F32 || x->dtype == PL_BF16) && (y->dtype == PL_F32 || y->dtype == PL_BF16);
  if (!(floats || (int8 && y->dtype == PL_INT8)) || acc->dtype != result)
    return pl_fail(
        PL_ERROR_SHAPE,
        "pl_dot: %pT x %pT -> %pT; there are f32 or bf16 x f32 or bf16 -> f32 and int8 x int8 -> int32", x, y,
        acc);
  if (p[int8 ? TPU_PARAM_MXU_INT8 : TPU_PARAM_MXU_BF16] == 0)
    return pl_fail(PL_ERROR_UNSUPPORTED, "pl_dot: this configuration's MXU does not multiply %pT", x);
  if (acc->rank != 2 || x->rank != 2 || y->rank != 2)
    return pl_fail(PL_ERROR_SHAPE, "pl_dot: ranks %u, %u -> %u; all must be 2", (unsigned)x->rank,
                   (unsigned)y->rank, (unsigned)acc->rank);
  return PL_OK;
}

static pl_status check_shapes(const struct pl_view *acc, const struct pl_view *x, const struct pl_view *y,
                              unsigned mode) {
  const bool transposed = (mode & PL_TRANSPOSED) != 0;
  const int32_t k = y->shape[transposed], n = y->shape[!transposed];

  if (x->shape[1] != k || acc->shape[0] != x->shape[0] || acc->shape[1] != n)
    return pl_fail(PL_ERROR_SHAPE, "pl_dot: %pS x %pS%s does not give %pS", x, y,
                   transposed ? " transposed" : "", acc);
  if (acc->shape[0] > 1 && acc->stride[0] != 1)
    return pl_fail(PL_ERROR_REF,
                   "pl_dot: the result is every %d rows of an accumulator; its rows must be neighbours",
                   (int)acc->stride[0]);
  return PL_OK;
}

_Static_assert(PL_ACCUMULATE == TPU_MXU_MODE_ACCUMULATE_MASK &&
                   PL_TRANSPOSED == TPU_MXU_MODE_TRANSPOSE_B_MASK,
               "modes of pl_dot are bits of the MODE register");

static uint32_t dtype_bit(const struct pl_view *x) {
  return (x->dtype == PL_INT8 ? (uint32_t)TPU_MXU_DTYPE_INT8 : TPU_MXU_DTYPE_BF16)
         << TPU_MXU_MODE_DTYPE_SHIFT;
}

/* Bytes from row to row. One row has no pitch: its stride may be anything. */
static uint32_t pitch_of(const struct pl_view *v) {
  return v->shape[0] > 1 ? (uint32_t)v->stride[0] : 0;
}

static void stage_dot(const struct pl_queue *q, const struct pl_view *acc, const struct pl_view *x,
                      const struct pl_view *y, unsigned mode) {
  tpu_queue_put(q->base, TPU_MXU_A_PITCH, pitch_of(x));
  tpu_queue_put(q->base, TPU_MXU_B_PITCH, pitch_of(y));
  tpu_queue_put(q->base, TPU_MXU_C_PITCH, acc->pitch);
  tpu_queue_put(q->base, TPU_MXU_M, (uint32_t)x->shape[0]);
  tpu_queue_put(q->base, TPU_MXU_N, (uint32_t)acc->shape[1]);
  tpu_queue_put(q->base, TPU_MXU_K, (uint32_t)x->shape[1]);
  tpu_queue_put(q->base, TPU_MXU_A, x->buffer->address + x->offset);
  tpu_queue_put(q->base, TPU_MXU_B, y->buffer->address + y->offset);
  tpu_queue_put(q->base, TPU_MXU_C, acc->buffer->address + acc->offset);
  tpu_queue_put(q->base, TPU_MXU_MODE, dtype_bit(x) | mode);
}

static uint32_t wait_byte(uint32_t writer, unsigned i) {
  return writer == PL_NOBODY ? 0 : (TPU_Q_WAITS_EN0_MASK | writer) << 8 * i;
}

/*
 * Stages the fixed waits and lets the record own the queue, if these refs allow it. From then on a dot
 * enters itself by its ticket alone; so every buffer of the accumulator has the MXU as its writer (one
 * that the vector unit wrote is covered by the third wait).
 */
static void own_queue(struct pl_context *c, struct pl_queue *q, struct pl_view *acc, const struct pl_view *x,
                      const struct pl_view *y, unsigned mode) {
  const uint32_t wx = x->buffer->writer, wy = y->buffer->writer;
  struct pl_dot_record *r = acc->dot;

  if (c->waits < 3 || (wx == wy && wx != PL_NOBODY) || wx == TPU_QUEUE_VPU || wy == TPU_QUEUE_VPU)
    return;
  for (struct pl_buffer *b = acc->buffer->next; b != acc->buffer; b = b->next)
    if (b->writer != TPU_QUEUE_MXU) {
      b->writer = TPU_QUEUE_MXU;
      b->write_ticket = q->issued;
    }
  r->x = x;
  r->y = y;
  r->mode = mode | PL_IN_BODY;
  r->tag = PL_TAG(PL_TAG_DOT, acc->index);
  r->dtype = dtype_bit(x);
  tpu_queue_put(q->base, TPU_Q_WAITS, wait_byte(wx, 0) | wait_byte(wy, 1) | wait_byte(TPU_QUEUE_VPU, 2));
  q->owner = r;
}

/* The queue looked full: if it was not, and nothing else is new, the hot path can go on. */
static bool only_room(struct pl_context *c, const struct pl_queue *q, const struct pl_view *acc) {
  return q->owner == acc->dot && q->issued == q->limit && pl_room(c, &c->queue[TPU_QUEUE_MXU]) &&
         q->issued != q->limit;
}

/* The command of operands that fit. */
static void queue_dot(struct pl_context *c, struct pl_view *acc, const struct pl_view *x,
                      const struct pl_view *y, unsigned mode) {
  enum { MXU = TPU_QUEUE_MXU };
  struct pl_queue *const q = &c->queue[MXU];
  const uint32_t ticket = q->issued + 1;

  if (!(mode & PL_ACCUMULATE) && (acc->flags & PL_VIEW_WHOLE))
    acc->buffer = acc->buffer->next;
  q->owner = NULL;
  stage_dot(q, acc, x, y, mode);
  pl_wait_to_read(c, MXU, x->buffer);
  pl_wait_to_read(c, MXU, y->buffer);
  pl_wait_to_write(c, MXU, acc->buffer);
  pl_reads_with(x->buffer, MXU, ticket);
  pl_reads_with(y->buffer, MXU, ticket);
  pl_writes_with(c, acc->buffer, MXU, ticket);
  pl_go(c, MXU, PL_TAG(PL_TAG_DOT, acc->index) + c->step);
  if (!((acc->flags | x->flags | y->flags) & PL_VIEW_POOLED) && c->status == PL_OK)
    own_queue(c, q, acc, x, y, mode);
}

/* The same, with aligned copies of operands that the unit cannot take as they are. */
static PL_COLD void queue_copies(struct pl_context *c, struct pl_view *acc, struct pl_view *x,
                                 struct pl_view *y, unsigned mode) {
  const uint32_t row = c->dim * pl_dtype_bytes(x->dtype), before = c->body_used[PL_VMEM];
  struct pl_temporary aligned_x, aligned_y;

  x = pl_aligned(c, x, row, &aligned_x, "pl_dot");
  y = x != NULL ? pl_aligned(c, y, row, &aligned_y, "pl_dot") : NULL;
  c->body_used[PL_VMEM] = before;
  if (y != NULL)
    queue_dot(c, acc, x, y, mode);
}

/* Of rank 2 in VMEM; as pl_rows_aligned(). */
static inline bool is_aligned(const struct pl_view *v, uint32_t dim, uint32_t bytes) {
  return ((v->offset | pitch_of(v)) & (dim * bytes - 1)) == 0 &&
         (v->shape[1] <= 1 || v->stride[1] == (int32_t)bytes);
}

static inline bool take(struct pl_context *c, struct pl_view *v, uint32_t generation) {
  const pl_ref ref = {v, generation};
  return (c->in_body && pl_usable(c, ref)) || pl_use(c, ref) != NULL;
}

void pl_dot_anew(struct pl_view *acc, uint32_t acc_generation, struct pl_view *x, uint32_t x_generation,
                 struct pl_view *y, uint32_t y_generation, unsigned mode) {
  const unsigned precision = PL_PRECISION_HIGH | PL_PRECISION_HIGHEST;
  struct pl_context *const c = pl_self();

  if (only_room(c, &c->queue[TPU_QUEUE_MXU], acc)) {
    pl_dot_refs(acc, acc_generation, x, x_generation, y, y_generation, mode);
    return;
  }
  if (c->status != PL_OK || !take(c, acc, acc_generation) || !take(c, x, x_generation) ||
      !take(c, y, y_generation))
    return;
  if (mode & ~(precision | PL_ACCUMULATE | PL_TRANSPOSED)) {
    pl_fail(PL_ERROR_ARGUMENT,
            "pl_dot: mode %u is not made of PL_ACCUMULATE, PL_TRANSPOSED and PL_PRECISION_ bits", mode);
    return;
  }
  if (check_operands(acc, x, y) != PL_OK || check_shapes(acc, x, y, mode) != PL_OK)
    return;
  if (x->dtype == PL_F32 || y->dtype == PL_F32) {
    pl_dot_f32((pl_ref){acc, acc_generation}, (pl_ref){x, x_generation}, (pl_ref){y, y_generation}, mode);
    return;
  }
  mode &= ~precision; /* the products of the others are exact */
  const uint32_t bytes = x->dtype == PL_INT8 ? 1 : 2;
  if (is_aligned(x, c->dim, bytes) && is_aligned(y, c->dim, bytes))
    queue_dot(c, acc, x, y, mode);
  else
    queue_copies(c, acc, x, y, mode);
}
