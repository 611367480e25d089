/* SPDX-License-Identifier: MIT */
#include "flash.h"

#include "attention.h"
#include "boot.h"
#include "device.h"
#include "tuned.h"

#include <string.h>

/* ---- the list of steps ---- */

/* A block of scores: head, block of queries, block of keys. */
struct step {
  int32_t number;
  int32_t head, q, kv;
  int32_t last; /* kv of the queries' last block */
  int32_t turn; /* blocks of queries before this one, all heads */
};

/*
 * What maps and body share. A step is found from the one before it, or from its number; the maps run ahead of
 * the body by a few steps, so that those near one another are kept.
 */
enum { KEPT = 8 };
static struct {
  struct step kept[KEPT];
  int32_t steps, head_steps; /* of the call without the one that is behind; of a head */
  int32_t q_blocks, kv_blocks, group;
  int32_t block_q, block_kv, rows_kv;
  int32_t dim;
  uint8_t buffers; /* of keys and of values */
  bool causal, descending;
  pl_scalar scale; /* bits of f32 */
} shared;

static inline int32_t least(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* The last block of keys that a block of queries attends to. */
static int32_t last_of(int32_t q) {
  const int32_t last = shared.kv_blocks - 1;
  return shared.causal ? least(last, ((q + 1) * shared.block_q - 1) / shared.block_kv) : last;
}

/*
 * Number i of a head's blocks of queries. If causal they come in descending order: the first ones have a long
 * way to go, on which the scalar core gets ahead, and the last product that nothing runs beside is a small
 * one.
 */
static int32_t q_of(int32_t i) {
  return shared.descending ? shared.q_blocks - 1 - i : i;
}

static void find_step(struct step *s, int32_t number) {
  int32_t turn = 0, left = number % shared.head_steps;

  while (left > last_of(q_of(turn)))
    left -= last_of(q_of(turn++)) + 1;
  const int32_t head = number / shared.head_steps;
  *s = (struct step){.number = number,
                     .head = head,
                     .q = q_of(turn),
                     .kv = left,
                     .last = last_of(q_of(turn)),
                     .turn = head * shared.q_blocks + turn};
}

static const struct step *step_at(int32_t number) {
  struct step *const s = &shared.kept[(uint32_t)number % KEPT];
  const struct step *const before = &shared.kept[(uint32_t)(number - 1) % KEPT];

  if (s->number == number)
    return s;
  if (before->number != number - 1) {
    find_step(s, number);
    return s;
  }
  *s = *before;
  s->number = number;
  if (s->kv++ < s->last)
    return s;
  s->kv = 0;
  s->turn++;
  s->q += shared.descending ? -1 : 1;
  if ((uint32_t)s->q >= (uint32_t)shared.q_blocks) {
    s->q = q_of(0);
    s->head++;
  }
  s->last = last_of(s->q);
  return s;
}

/* The step whose scores a step of the call computes, and the one whose weights it multiplies with V. */
static const struct step *scores_of(const pl_grid *g) {
  return step_at(least(g->id[0], shared.steps - 1));
}
static const struct step *weights_of(const pl_grid *g) {
  return step_at(g->id[0] > 0 ? g->id[0] - 1 : 0);
}

static void q_map(const pl_grid *g, pl_index *b) {
  const struct step *s = scores_of(g);
  b[0].start = s->head;
  b[1].start = s->q;
}
static void k_map(const pl_grid *g, pl_index *b) {
  const struct step *s = scores_of(g);
  b[0].start = s->head / shared.group;
  b[1].start = s->kv;
}
static void v_map(const pl_grid *g, pl_index *b) {
  const struct step *s = weights_of(g);
  b[0].start = s->head / shared.group;
  b[1].start = s->kv;
}
static void o_map(const pl_grid *g, pl_index *b) {
  const struct step *s = weights_of(g);
  b[0].start = s->head;
  b[1].start = s->q;
}

/* ---- vector functions ---- */

/*
 * Softmax of a block's rows, to go on with: weights p = 2^(scale s - m), their sum l, and m, the greatest
 * scaled score so far, kept as -m. Blocks behind the first: alpha = 2^(old m - m), which the old sum is
 * multiplied with. MASKED is for blocks in which not all columns count, and for the first one and others
 * alike: there are few of them, and the program memory is small. The columns of row r end with scalar 2
 * there, or r + scalar 1 if that is less; scalar 3 is 0 in the first block.
 */
enum kind { FIRST, NEXT, MASKED };

static void softmax(enum kind kind) {
  const pl_vref scores = PL_REF(0), weights = PL_REF(1), greatest = PL_REF(2), total = PL_REF(3);
  const pl_v scale = pl_vmul(pl_vscalar(0), pl_vconst(ATTENTION_LOG2_E)), never = attention_never();
  pl_v most = never, sum = pl_vzero(), last = never, old_sum = never, alpha = never;

  if (kind == MASKED)
    last = pl_vmin(pl_vadd(pl_viota_rows(), pl_vscalar(1)), pl_vscalar(2));
  PL_FOR_LANES(&most) {
    pl_v s = pl_vload(scores);
    if (kind == MASKED) {
      s = pl_vselect(pl_vle(pl_viota_columns(), last), s, never);
      pl_vstore(scores, s);
    }
    most = pl_vmax(most, s);
  }
  pl_v shift = pl_vneg(pl_vmul(pl_vmax_lanes(most), scale));
  if (kind != FIRST) {
    pl_v old = pl_vload(greatest);
    old_sum = pl_vload(total);
    if (kind == MASKED) {
      old = pl_vselect(pl_vscalar(3), old, pl_vneg(never));
      old_sum = pl_vselect(pl_vscalar(3), old_sum, pl_vzero());
    }
    shift = pl_vmin(old, shift);
    alpha = pl_vexp2(pl_vsub(shift, old));
    pl_vstore(PL_REF(4), alpha);
  }
  pl_vstore(greatest, shift);
  PL_FOR_LANES(&sum) {
    const pl_v p = pl_vexp2(pl_vfma(pl_vload(scores), scale, shift));
    sum = pl_vadd(sum, p);
    pl_vstore(weights, p);
  }
  sum = pl_vsum_lanes(sum);
  pl_vstore(total, kind == FIRST ? sum : pl_vfma(old_sum, alpha, sum));
}

PL_VECTOR_FN(softmax_first, 4, 1) {
  softmax(FIRST);
}
PL_VECTOR_FN(softmax_next, 5, 1) {
  softmax(NEXT);
}
PL_VECTOR_FN(softmax_masked, 5, 4) {
  softmax(MASKED);
}

/* ---- the body ---- */

/* Scratch; what is there twice takes turns. Those whose accumulators the runtime may rename come first. */
enum {
  SUM,
  PRODUCT,
  SCORES,
  WEIGHTS = SCORES + 2,
  GREATEST = WEIGHTS + 2,
  TOTAL,
  ALPHA = TOTAL + 2,
  SCRATCHES = ALPHA + 2
};

/*
 * Columns of a block that are not skipped, up to a multiple of the matrix unit's: inside k, and not behind
 * the last row's.
 */
static int32_t columns_of(const struct step *s) {
  const int32_t first = s->kv * shared.block_kv;
  int32_t n = shared.rows_kv - first;

  if (shared.causal)
    n = least(n, (s->q + 1) * shared.block_q - first);
  return least(shared.block_kv, (n + shared.dim - 1) / shared.dim * shared.dim);
}

static pl_ref columns(pl_ref ref, int32_t n) {
  return n == shared.block_kv ? ref : pl_at(ref, PL_ALL, PL_DS(0, n));
}
static pl_ref rows(pl_ref ref, int32_t n) {
  return n == shared.block_kv ? ref : pl_at(ref, PL_DS(0, n));
}

static void queue_softmax(const struct step *s) {
  const int32_t slot = s->number & 1, n = columns_of(s), inside = shared.rows_kv - s->kv * shared.block_kv,
                diagonal = shared.causal ? s->q * shared.block_q - s->kv * shared.block_kv : n;
  const pl_ref scores = columns(pl_scratch(SCORES + slot), n),
               weights = columns(pl_scratch(WEIGHTS + slot), n), greatest = pl_scratch(GREATEST),
               total = pl_scratch(TOTAL + (s->turn & 1)), alpha = pl_scratch(ALPHA + slot);

  if (diagonal < n - 1 || inside < n)
    pl_vrun(softmax_masked, PL_REFS(scores, weights, greatest, total, alpha),
            PL_SCALARS(shared.scale, pl_int(diagonal), pl_int(inside - 1), pl_int(s->kv)));
  else if (s->kv == 0)
    pl_vrun(softmax_first, PL_REFS(scores, weights, greatest, total), PL_SCALARS(shared.scale));
  else
    pl_vrun(softmax_next, PL_REFS(scores, weights, greatest, total, alpha), PL_SCALARS(shared.scale));
}

static void queue_update(const struct step *s) {
  attention_update(&(struct attention_update){.first = s->kv == 0,
                                              .last = s->kv == s->last,
                                              .o = pl_output(0),
                                              .sum = pl_scratch(SUM),
                                              .product = pl_scratch(PRODUCT),
                                              .alpha = pl_scratch(ALPHA + (s->number & 1)),
                                              .total = pl_scratch(TOTAL + (s->turn & 1))});
}

static void body(void) {
  const int32_t number = pl_program_id(0);
  const struct step *const now = number < shared.steps ? step_at(number) : NULL, *const before =
                                                                                     number > 0
                                                                                         ? step_at(number - 1)
                                                                                         : NULL;

  if (now != NULL) {
    const int32_t n = columns_of(now);
    pl_dot(columns(pl_scratch(SCORES + (number & 1)), n), pl_input(0), rows(pl_input(1), n), PL_TRANSPOSED);
  }
  if (before != NULL) {
    const int32_t n = columns_of(before);
    pl_dot(pl_scratch(before->kv == 0 ? SUM : PRODUCT),
           columns(pl_scratch(WEIGHTS + (before->number & 1)), n), rows(pl_input(2), n), PL_OVERWRITE);
  }
  if (now != NULL)
    queue_softmax(now);
  if (before != NULL)
    queue_update(before);
}

/* ---- the call ---- */

enum {
  ROW_TILE = 8,            /* rows of a vector register */
  BODY_INSTRUCTIONS = 5000 /* of a step, for predictions */
};

static pl_status check(const pl_array *q, const pl_array *k, const pl_array *v, const pl_array *o,
                       const struct flash_options *options) {
  const pl_array *const all[] = {q, k, v, o};

  for (unsigned i = 0; i < 4; i++) {
    if (all[i]->rank != 3)
      return pl_error(PL_ERROR_SHAPE, "flash: %c has rank %u; [heads, rows, columns] is right", "qkvo"[i],
                      (unsigned)all[i] -> rank);
    if (all[i]->space != PL_HBM)
      return pl_error(PL_ERROR_ARGUMENT, "flash: %c must be in HBM", "qkvo"[i]);
    if (all[i]->dtype != PL_BF16 && !(i == 3 && o->dtype == PL_F32))
      return pl_error(PL_ERROR_SHAPE, "flash: %c is %s; bf16 is right%s", "qkvo"[i],
                      pl_dtype_name((pl_dtype)all[i]->dtype), i == 3 ? ", or f32" : "");
  }
  for (unsigned d = 0; d < 3; d++)
    if (k->shape[d] != v->shape[d] || q->shape[d] != o->shape[d])
      return pl_error(PL_ERROR_SHAPE, "flash: dimension %u of k is %d and of v %d, of q %d and of o %d", d,
                      (int)k->shape[d], (int)v->shape[d], (int)q->shape[d], (int)o->shape[d]);
  if (q->shape[2] != k->shape[2] || q->shape[0] % k->shape[0] != 0)
    return pl_error(PL_ERROR_SHAPE,
                    "flash: q has %d heads of %d columns, k %d of %d; columns must be equal, and q's heads a "
                    "multiple of k's",
                    (int)q->shape[0], (int)q->shape[2], (int)k->shape[0], (int)k->shape[2]);
  const int32_t dim = (int32_t)boot_params.value[TPU_PARAM_DIM];
  if (options->q < 0 || options->q % ROW_TILE != 0 || options->kv < 0 || options->kv % dim != 0)
    return pl_error(PL_ERROR_ARGUMENT,
                    "flash: blocks of %d queries and %d keys; multiples of %d and %d are right, or 0",
                    (int)options->q, (int)options->kv, ROW_TILE, (int)dim);
  return attention_scale("flash", options->scale, q->shape[2], &shared.scale);
}

static void describe(const pl_array *q, const pl_array *k, const struct flash_options *options) {
  const int32_t dim = (int32_t)boot_params.value[TPU_PARAM_DIM], columns_q = q->shape[2];

  shared.dim = dim;
  shared.causal = options->causal;
  shared.group = q->shape[0] / k->shape[0];
  shared.rows_kv = k->shape[1];
  const uint16_t *tuned = options->q == 0 && options->kv == 0
                              ? tuned_find(options->causal ? TUNED_FLASH_CAUSAL : TUNED_FLASH, q->dtype,
                                           PL_SHAPE(q->shape[0], q->shape[1], k->shape[1], columns_q))
                              : NULL;
  /* A block of queries must leave time for the softmax; accumulators hold 2 (Mk + D) columns of its rows. */
  shared.block_q = options->q != 0
                       ? options->q
                       : least(columns_q <= 64 ? 128 : 64, pl_cdiv(q->shape[1], ROW_TILE) * ROW_TILE);
  shared.block_kv = options->kv != 0 ? options->kv : least(128, pl_cdiv(k->shape[1], dim) * dim);
  shared.buffers = 3;
  if (tuned != NULL) {
    shared.block_q = tuned[0];
    shared.block_kv = tuned[1];
    shared.buffers = (uint8_t)tuned[2];
  }
  shared.q_blocks = pl_cdiv(q->shape[1], shared.block_q);
  shared.kv_blocks = pl_cdiv(k->shape[1], shared.block_kv);
  /* Of more blocks of a result the runtime wants ascending order. */
  shared.descending = options->causal && shared.q_blocks <= PL_MAX_REVISIT_BLOCKS / q->shape[0];
  shared.head_steps = 0;
  for (int32_t i = 0; i < shared.q_blocks; i++)
    shared.head_steps += last_of(i) + 1;
  shared.steps = shared.head_steps * q->shape[0];
  for (unsigned i = 0; i < KEPT; i++)
    shared.kept[i].number = -2;
}

/* Elements of all scores that are not skipped. */
static uint64_t scores(const pl_array *q) {
  uint64_t n = 0;

  for (struct step s = {.q = 0}; s.q < shared.q_blocks; s.q++) {
    s.kv = last_of(s.q); /* those before it count whole */
    n += (uint64_t)(uint32_t)(s.kv * shared.block_kv + columns_of(&s)) *
         (uint32_t)least(shared.block_q, q->shape[1] - s.q * shared.block_q);
  }
  return n * (uint32_t)q->shape[0];
}

/* The kernel of the last call and what it was made for: a call like the last one need not make it again. */
static struct {
  pl_array q, k;
  uint8_t o; /* dtype */
  struct flash_options options;
  uint32_t changes; /* of tuned choices */
  pl_kernel kernel;
  pl_block_spec spec[4];
  pl_scratch_spec scratch[SCRATCHES];
} made;

static bool is_made(const pl_array *q, const pl_array *k, const pl_array *o,
                    const struct flash_options *options) {
  return made.kernel.body != NULL && made.changes == tuned_changes && made.o == o->dtype &&
         memcmp(made.q.shape, q->shape, sizeof q->shape) == 0 &&
         memcmp(made.k.shape, k->shape, sizeof k->shape) == 0 && made.options.causal == options->causal &&
         made.options.q == options->q && made.options.kv == options->kv &&
         pl_float_bits(made.options.scale) == pl_float_bits(options->scale);
}

static void make_specs(int32_t d) {
  const pl_map map[] = {q_map, k_map, v_map, o_map};
  for (unsigned i = 0; i < 4; i++) {
    const bool kv = i == 1 || i == 2;
    made.spec[i] = (pl_block_spec){PL_DIMS(1, kv ? shared.block_kv : shared.block_q, d), .map = map[i],
                                   .kind = {PL_SQUEEZED}, .buffer_count = kv ? shared.buffers : 0};
  }
}

static void make_scratch(int32_t d) {
  const int32_t m = shared.block_q, n = shared.block_kv;
  for (unsigned i = 0; i < SCRATCHES; i++)
    made.scratch[i] = i <= PRODUCT   ? *PL_ACC(PL_F32, m, d)
                      : i < WEIGHTS  ? *PL_ACC(PL_F32, m, n)
                      : i < GREATEST ? *PL_VMEM(PL_BF16, m, n)
                                     : *PL_VMEM(PL_F32, m, 1);
}

static void make_kernel(const pl_array *q, const pl_array *k, const pl_array *o,
                        const struct flash_options *options) {
  describe(q, k, options);
  const uint64_t elements = scores(q);
  const int32_t d = q->shape[2];
  made.q = *q;
  made.k = *k;
  made.o = o->dtype;
  made.options = *options;
  made.changes = tuned_changes;
  make_specs(d);
  make_scratch(d);
  made.kernel = (pl_kernel){
      .name = "flash",
      .body = body,
      .grid = PL_GRID(shared.steps + 1),
      .in = {&made.spec[0], &made.spec[1], &made.spec[2]},
      .out = {&made.spec[3]},
      /* The softmax takes 3.6 cycles for LANES scores, the update 2 for LANES elements of O. */
      .cost = {.macs = 2 * elements * (uint32_t)d,
               .vector_elements =
                   elements * 29 / 8 + (uint64_t)(uint32_t)shared.steps * (uint32_t)(2 * shared.block_q * d),
               .vector_steps = true,
               .instructions = (uint64_t)(uint32_t)shared.steps * BODY_INSTRUCTIONS},
  };
  for (unsigned i = 0; i < SCRATCHES; i++)
    made.kernel.scratch[i] = &made.scratch[i];
}

pl_status kernel_flash(pl_array q, pl_array k, pl_array v, pl_array o, const struct flash_options *options) {
  const pl_status status = check(&q, &k, &v, &o, options);

  if (status != PL_OK)
    return status;
  if (!is_made(&q, &k, &o, options))
    make_kernel(&q, &k, &o, options);
  return pl_call(&made.kernel, PL_ARGS(q, k, v), PL_RESULTS(o));
}

uint64_t kernel_flash_macs(pl_array q, pl_array k, const struct flash_options *options) {
  made.kernel.body = NULL; /* what is shared is another kernel's now */
  describe(&q, &k, options);
  return 2 * scores(&q) * (uint32_t)q.shape[2];
}
