/* SPDX-License-Identifier: MIT */
#include "paged.h"

#include "attention.h"

/* A page of a sequence. */
struct step {
  int32_t number;
  int32_t sequence, page;
  int32_t left;  /* positions of the sequence from this page on */
  int32_t place; /* of the page in k and v */
};

/*
 * What maps and body share. The maps run ahead of the body by a few steps, so that those near one another are
 * kept; each is found from the one before it.
 */
enum { KEPT = 8 };
static struct {
  struct step kept[KEPT];
  int32_t steps; /* of the call without the one that is behind */
  int32_t page, heads, heads_kv;
  pl_scalar scale;
} shared;

static void read_tables(struct step *s) {
  if (s->page == 0)
    s->left = pl_get(pl_prefetch(1), s->sequence);
  s->place = pl_get(pl_prefetch(0), s->sequence, s->page);
}

static const struct step *step_at(int32_t number) {
  struct step *const s = &shared.kept[(uint32_t)number % KEPT];

  if (s->number == number)
    return s;
  if (number == 0) {
    *s = (struct step){.number = 0};
  } else {
    *s = *step_at(number - 1);
    s->number = number;
    s->page++;
    s->left -= shared.page;
    if (s->left <= 0) {
      s->page = 0;
      s->sequence++;
    }
  }
  read_tables(s);
  return s;
}

static bool is_last(const struct step *s) {
  return s->left <= shared.page;
}

/* The step whose scores a step of the call computes, and the one whose weights it multiplies with v. */
static const struct step *scores_of(const pl_grid *g) {
  return step_at(g->id[0] < shared.steps ? g->id[0] : shared.steps - 1);
}
static const struct step *weights_of(const pl_grid *g) {
  return step_at(g->id[0] > 0 ? g->id[0] - 1 : 0);
}

static void q_map(const pl_grid *g, pl_index *b) {
  b[0].start = scores_of(g)->sequence;
}
static void k_map(const pl_grid *g, pl_index *b) {
  b[0].start = scores_of(g)->place;
}
static void v_map(const pl_grid *g, pl_index *b) {
  b[0].start = weights_of(g)->place;
}
static void o_map(const pl_grid *g, pl_index *b) {
  b[0].start = weights_of(g)->sequence;
}

/*
 * Softmax of a page, to go on with: as in flash attention, with a mask that is added (own), and in a
 * sequence's last page one by position. Scalars: scale, whether it is not the first page, positions that
 * count.
 */
static void softmax(bool last_page) {
  const pl_vref scores = PL_REF(0), own = PL_REF(1), weights = PL_REF(2), greatest = PL_REF(3),
                total = PL_REF(4), alphas = PL_REF(5), positions = PL_REF(6);
  const pl_v scale = pl_vmul(pl_vscalar(0), pl_vconst(ATTENTION_LOG2_E)), never = attention_never();
  pl_v most = never, sum = pl_vzero();

  PL_FOR_LANES(&most) {
    pl_v s = pl_vfma(pl_vload(scores), scale, pl_vload(own));
    if (last_page)
      s = pl_vselect(pl_vlt(pl_vload(positions), pl_vscalar(2)), s, never);
    pl_vstore(scores, s);
    most = pl_vmax(most, s);
  }
  const pl_v old = pl_vselect(pl_vscalar(1), pl_vload(greatest), pl_vneg(never)),
             old_sum = pl_vselect(pl_vscalar(1), pl_vload(total), pl_vzero()),
             shift = pl_vmin(old, pl_vneg(pl_vmax_lanes(most))), alpha = pl_vexp2(pl_vsub(shift, old));
  pl_vstore(greatest, shift);
  pl_vstore(alphas, alpha);
  PL_FOR_LANES(&sum) {
    const pl_v p = pl_vexp2(pl_vadd(pl_vload(scores), shift));
    sum = pl_vadd(sum, p);
    pl_vstore(weights, p);
  }
  pl_vstore(total, pl_vfma(old_sum, alpha, pl_vsum_lanes(sum)));
}
PL_VECTOR_FN(softmax_page, 6, 2) {
  softmax(false);
}
PL_VECTOR_FN(softmax_last_page, 7, 3) {
  softmax(true);
}

/* Scratch; what is there twice takes turns. Those whose accumulators the runtime may rename come first. */
enum {
  SUM,
  PRODUCT,
  SCORES,
  OWN = SCORES + 2,
  POSITIONS,
  WEIGHTS,
  GREATEST = WEIGHTS + 2,
  TOTAL,
  ALPHA = TOTAL + 2
};

/* The masks: -infinity where a column is not of the row's head; a column's position in the page. */
static void make_masks(void) {
  const int32_t share = shared.heads / shared.heads_kv;

  pl_fill(pl_scratch(OWN), pl_float_bits(-__builtin_inff()));
  for (int32_t g = 0; g < shared.heads_kv; g++) {
    const pl_slice columns = PL_DS(g * shared.page, shared.page);
    pl_fill(pl_at(pl_scratch(OWN), PL_DS(g * share, share), columns), 0);
    pl_iota(pl_at(pl_scratch(POSITIONS), PL_ALL, columns), 1);
  }
}

static void queue_softmax(const struct step *s) {
  const int32_t slot = s->number & 1;
  const pl_ref scores = pl_scratch(SCORES + slot), own = pl_scratch(OWN),
               weights = pl_scratch(WEIGHTS + slot), greatest = pl_scratch(GREATEST),
               total = pl_scratch(TOTAL + (s->sequence & 1)), alpha = pl_scratch(ALPHA + slot);

  if (s->left < shared.page)
    pl_vrun(softmax_last_page, PL_REFS(scores, own, weights, greatest, total, alpha, pl_scratch(POSITIONS)),
            PL_SCALARS(shared.scale, pl_int(s->page), pl_int(s->left)));
  else
    pl_vrun(softmax_page, PL_REFS(scores, own, weights, greatest, total, alpha),
            PL_SCALARS(shared.scale, pl_int(s->page)));
}

/*
 * P . V of a page that the sequence ends in, head by head, because what stands behind its positions does not
 * count: it may be NaN, of which a weight of 0 makes NaN.
 */
static __attribute__((noinline)) void queue_part(const struct step *s, pl_ref product) {
  const int32_t share = shared.heads / shared.heads_kv;

  for (int32_t g = 0; g < shared.heads_kv; g++) {
    const pl_slice rows = PL_DS(g * share, share), positions = PL_DS(g * shared.page, s->left);
    pl_dot(pl_at(product, rows), pl_at(pl_scratch(WEIGHTS + (s->number & 1)), rows, positions),
           pl_at(pl_input(2), positions), PL_OVERWRITE);
  }
}

static void body(void) {
  const int32_t number = pl_program_id(0);

  if (number == 0)
    make_masks();
  if (number < shared.steps)
    pl_dot(pl_scratch(SCORES + (number & 1)), pl_input(0), pl_input(1), PL_TRANSPOSED);
  if (number > 0) {
    const struct step *const s = step_at(number - 1);
    const pl_ref product = pl_scratch(s->page == 0 ? SUM : PRODUCT);
    if (s->left < shared.page)
      queue_part(s, product);
    else
      pl_dot(product, pl_scratch(WEIGHTS + (s->number & 1)), pl_input(2), PL_OVERWRITE);
  }
  if (number < shared.steps)
    queue_softmax(step_at(number));
  if (number > 0) {
    const struct step *const s = step_at(number - 1);
    attention_update(&(struct attention_update){.first = s->page == 0,
                                                .last = is_last(s),
                                                .o = pl_output(0),
                                                .sum = pl_scratch(SUM),
                                                .product = pl_scratch(PRODUCT),
                                                .alpha = pl_scratch(ALPHA + (s->number & 1)),
                                                .total = pl_scratch(TOTAL + (s->sequence & 1))});
  }
}

static pl_status check_shapes(const pl_array *q, const pl_array *k, const pl_array *v, const pl_array *table,
                              const pl_array *lengths, const pl_array *o) {
  if (q->rank != 3 || o->rank != 3 || k->rank != 4 || v->rank != 4 || table->rank != 2 || lengths->rank != 1)
    return pl_error(
        PL_ERROR_SHAPE,
        "paged attention: q, o [B,H,D], k, v [P,G,page,D], table [B,N] and lengths [B] are needed; "
        "ranks are %d, %d, %d, %d, %d, %d",
        q->rank, o->rank, k->rank, v->rank, table->rank, lengths->rank);
  for (unsigned d = 0; d < 4; d++)
    if (k->shape[d] != v->shape[d] || (d < 3 && q->shape[d] != o->shape[d]))
      return pl_error(PL_ERROR_SHAPE, "paged attention: k and v, or q and o, differ in dimension %u", d);
  if (q->shape[2] != k->shape[3] || q->shape[1] % k->shape[1] != 0 || table->shape[0] != q->shape[0] ||
      lengths->shape[0] != q->shape[0])
    return pl_error(
        PL_ERROR_SHAPE,
        "paged attention: q has %d sequences of %d heads of %d columns, k %d heads of %d, the table "
        "%d sequences, lengths %d; q's heads must be a multiple of k's, the others equal",
        (int)q->shape[0], (int)q->shape[1], (int)q->shape[2], (int)k->shape[1], (int)k->shape[3],
        (int)table->shape[0], (int)lengths->shape[0]);
  if (q->dtype != PL_BF16 || k->dtype != PL_BF16 || v->dtype != PL_BF16 ||
      (o->dtype != PL_BF16 && o->dtype != PL_F32) || table->dtype != PL_INT32 || lengths->dtype != PL_INT32)
    return pl_error(
        PL_ERROR_SHAPE,
        "paged attention: q is %s, k %s, v %s, o %s, table %s, lengths %s; bf16 three times, bf16 or "
        "f32, int32 twice are right",
        pl_dtype_name(q->dtype), pl_dtype_name(k->dtype), pl_dtype_name(v->dtype), pl_dtype_name(o->dtype),
        pl_dtype_name(table->dtype), pl_dtype_name(lengths->dtype));
  if (table->space != PL_HBM || lengths->space != PL_HBM)
    return pl_error(PL_ERROR_ARGUMENT, "paged attention: table and lengths must be in HBM");
  return PL_OK;
}

/* Lengths, and the pages that they reach; counts the steps. */
static pl_status check_pages(const pl_array *k, const pl_array *table, const pl_array *lengths) {
  const int32_t *const pages = pl_hbm_pointer(table), *const length = pl_hbm_pointer(lengths),
                       listed = table->shape[1], page = k->shape[2];

  shared.steps = 0;
  for (int32_t b = 0; b < table->shape[0]; b++) {
    if (length[b] < 1 || pl_cdiv(length[b], page) > listed)
      return pl_error(PL_ERROR_ARGUMENT,
                      "paged attention: sequence %d has length %d; 1 to %d, its %d pages of %d, are right",
                      (int)b, (int)length[b], (int)(listed * page), (int)listed, (int)page);
    for (int32_t i = 0; i < pl_cdiv(length[b], page); i++, shared.steps++)
      if (pages[b * listed + i] < 0 || pages[b * listed + i] >= k->shape[0])
        return pl_error(PL_ERROR_ARGUMENT,
                        "paged attention: page %d of sequence %d is number %d; there are %d", (int)i, (int)b,
                        (int)pages[b * listed + i], (int)k->shape[0]);
  }
  return PL_OK;
}

pl_status kernel_paged_attention(pl_array q, pl_array k, pl_array v, pl_array table, pl_array lengths,
                                 pl_array o, float scale) {
  pl_status status = check_shapes(&q, &k, &v, &table, &lengths, &o);

  if (status == PL_OK)
    status = attention_scale("paged attention", scale, q.shape[2], &shared.scale);
  if (status == PL_OK)
    status = check_pages(&k, &table, &lengths);
  if (status != PL_OK)
    return status;
  const int32_t heads = q.shape[1], columns = k.shape[1] * k.shape[2], d = q.shape[2];
  shared.page = k.shape[2];
  shared.heads = heads;
  shared.heads_kv = k.shape[1];
  for (unsigned i = 0; i < KEPT; i++)
    shared.kept[i].number = -1;
  /* A page's heads, one below the other. */
  k.rank = v.rank = 3;
  k.shape[1] = v.shape[1] = columns;
  k.shape[2] = v.shape[2] = d;
  k.shape[3] = v.shape[3] = 0;
#define PAGED_SPEC(map_, rows_, ...)                                                                         \
  PL_SPEC(PL_DIMS(1, (rows_), d), .map = (map_), .kind = {PL_SQUEEZED}, ##__VA_ARGS__)
  const pl_kernel kernel = {
      .name = "paged attention",
      .body = body,
      .grid = PL_GRID(pl_dyn(shared.steps + 1)),
      .num_scalar_prefetch = 2,
      .in = {PAGED_SPEC(q_map, heads), PAGED_SPEC(k_map, columns, .buffer_count = 3, .lookahead = 1),
             PAGED_SPEC(v_map, columns, .buffer_count = 3, .lookahead = 1)},
      .out = {PAGED_SPEC(o_map, heads)},
      .scratch = {[SUM] = PL_ACC(PL_F32, heads, d),
                  [PRODUCT] = PL_ACC(PL_F32, heads, d),
                  [SCORES] = PL_ACC(PL_F32, heads, columns),
                  [SCORES + 1] = PL_ACC(PL_F32, heads, columns),
                  [OWN] = PL_VMEM(PL_F32, heads, columns),
                  [POSITIONS] = PL_VMEM(PL_INT32, 1, columns),
                  [WEIGHTS] = PL_VMEM(PL_BF16, heads, columns),
                  [WEIGHTS + 1] = PL_VMEM(PL_BF16, heads, columns),
                  [GREATEST] = PL_VMEM(PL_F32, heads, 1),
                  [TOTAL] = PL_VMEM(PL_F32, heads, 1),
                  [TOTAL + 1] = PL_VMEM(PL_F32, heads, 1),
                  [ALPHA] = PL_VMEM(PL_F32, heads, 1),
                  [ALPHA + 1] = PL_VMEM(PL_F32, heads, 1)},
      .cost = {.macs = 2 * (uint64_t)shared.steps * (uint32_t)(heads * columns) * (uint32_t)d,
               .vector_elements = 8 * (uint64_t)shared.steps * (uint32_t)(heads * columns)},
  };
  return pl_call(&kernel, PL_ARGS(table, lengths, q, k, v), PL_RESULTS(o));
}
