/* SPDX-License-Identifier: MIT */
/*
 * Views: random chains of pl_at, pl_reshape, pl_bitcast and pl_squeeze in every space that DMA reaches,
 * against a model that keeps the byte offset of every element; and what must be refused.
 */
#include "suite.h"

#include <string.h>

enum { MOST = 4096, MOST_OPS = 5 };

enum kind { AT, RESHAPE, BITCAST, SQUEEZE };
struct operation {
  enum kind kind;
  pl_slice slice[PL_MAX_RANK];
  unsigned n; /* slices, dimension of SQUEEZE, dtype of BITCAST */
  pl_shape shape;
};

/* The model: where every element is, row-major. */
struct model {
  uint32_t offset[MOST];
  int32_t shape[PL_MAX_RANK];
  unsigned rank, dtype;
};

static struct {
  struct operation op[MOST_OPS];
  unsigned ops;
  pl_space space;
} chain;

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

static uint32_t count(const int32_t *shape, unsigned rank) {
  uint32_t n = 1;
  for (unsigned d = 0; d < rank; d++)
    n *= (uint32_t)shape[d];
  return n;
}

static void model_at(struct model *m, const struct operation *op) {
  static struct model from;
  int32_t index[PL_MAX_RANK] = {0}, size[PL_MAX_RANK], stride[PL_MAX_RANK];
  unsigned rank = 0;

  from = *m;
  for (unsigned d = 0; d < from.rank; d++) {
    const pl_slice s = d < op->n ? op->slice[d] : PL_ALL;
    stride[d] = s.stride;
    size[d] = s.size == PL_SIZE_DROPPED ? 1
              : s.size == PL_SIZE_REST  ? (from.shape[d] - s.start + s.stride - 1) / s.stride
                                        : s.size;
    if (s.size != PL_SIZE_DROPPED)
      m->shape[rank++] = size[d];
  }
  m->rank = rank;
  const uint32_t n = count(size, from.rank);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = 0;
    for (unsigned d = 0; d < from.rank; d++)
      at = at * (uint32_t)from.shape[d] +
           (uint32_t)((d < op->n ? op->slice[d].start : 0) + index[d] * stride[d]);
    m->offset[i] = from.offset[at];
    for (int d = (int)from.rank - 1; d >= 0 && ++index[d] == size[d]; d--)
      index[d] = 0;
  }
}

static void model_bitcast(struct model *m, unsigned dtype) {
  const uint32_t from = pl_dtype_bytes(m->dtype), to = pl_dtype_bytes(dtype), n = count(m->shape, m->rank);
  uint32_t made = 0;

  m->dtype = dtype;
  if (from == to)
    return;
  m->shape[m->rank - 1] = m->shape[m->rank - 1] * (int32_t)from / (int32_t)to;
  if (from < to) {
    for (uint32_t i = 0; i < n; i += to / from)
      m->offset[made++] = m->offset[i];
  } else {
    static uint32_t old[MOST];
    memcpy(old, m->offset, sizeof old);
    for (uint32_t i = 0; i < n; i++)
      for (uint32_t k = 0; k < from / to; k++)
        m->offset[made++] = old[i] + k * to;
  }
}

/* Is there a stride for every dimension that gives all offsets? */
static bool affine(const struct model *m) {
  int32_t stride[PL_MAX_RANK], index[PL_MAX_RANK] = {0};
  uint32_t step = 1;
  for (int d = (int)m->rank - 1; d >= 0; d--) {
    stride[d] = m->shape[d] > 1 ? (int32_t)(m->offset[step] - m->offset[0]) : 0;
    step *= (uint32_t)m->shape[d];
  }
  for (uint32_t i = 0; i < step; i++) {
    int64_t at = m->offset[0];
    for (unsigned d = 0; d < m->rank; d++)
      at += (int64_t)index[d] * stride[d];
    if (at != m->offset[i])
      return false;
    for (int d = (int)m->rank - 1; d >= 0 && ++index[d] == m->shape[d]; d--)
      index[d] = 0;
  }
  return true;
}

static pl_shape random_shape(uint32_t n) {
  pl_shape s = {.rank = 0};
  while (n > 1 && s.rank < PL_MAX_RANK - 1) {
    uint32_t f = 2 + below(6);
    if (f > n)
      f = n;
    while (n % f != 0)
      f++;
    s.extent[s.rank++] = (int32_t)f;
    n /= f;
  }
  if (n > 1 || s.rank == 0)
    s.extent[s.rank++] = (int32_t)n;
  if (s.rank < PL_MAX_RANK && below(3) == 0)
    s.extent[s.rank++] = 1;
  return s;
}

static struct operation random_operation(const struct model *m) {
  struct operation op = {.kind = (enum kind)below(4)};
  static const uint8_t dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};

  if (op.kind == SQUEEZE) {
    for (unsigned d = 0; d < m->rank; d++)
      if (m->shape[d] == 1) {
        op.n = d;
        return op;
      }
    op.kind = AT;
  }
  if (op.kind == RESHAPE) {
    op.shape = random_shape(count(m->shape, m->rank));
    return op;
  }
  if (op.kind == BITCAST) {
    op.n = dtypes[below(5)];
    const uint32_t to = pl_dtype_bytes(op.n), from = pl_dtype_bytes(m->dtype);
    if (m->rank > 0 && (uint32_t)m->shape[m->rank - 1] * from % to == 0 &&
        count(m->shape, m->rank) * from / to <= MOST)
      return op;
    op.kind = AT;
  }
  op.n = below(m->rank + 1);
  for (unsigned d = 0; d < op.n; d++) {
    const int32_t extent = m->shape[d], start = (int32_t)below((uint32_t)extent);
    const int32_t stride = 1 + (int32_t)below(3), most = (extent - start + stride - 1) / stride;
    switch (below(4)) {
    case 0:
      op.slice[d] = PL_INDEX(start);
      break;
    case 1:
      op.slice[d] = PL_ALL;
      break;
    default:
      op.slice[d] =
          (pl_slice){start, below(4) == 0 ? PL_SIZE_REST : 1 + (int32_t)below((uint32_t)most), stride};
    }
  }
  return op;
}

static pl_ref apply(pl_ref ref) {
  for (unsigned i = 0; i < chain.ops; i++) {
    const struct operation *op = &chain.op[i];
    switch (op->kind) {
    case AT:
      ref = pl_at_slices(ref, op->slice, op->n);
      break;
    case RESHAPE:
      ref = pl_reshape(ref, op->shape);
      break;
    case BITCAST:
      ref = pl_bitcast(ref, (pl_dtype)op->n);
      break;
    case SQUEEZE:
      ref = pl_squeeze(ref, op->n);
      break;
    }
  }
  return ref;
}

static void chain_body(void) {
  pl_ref x = pl_input(0);
  if (chain.space != PL_HBM) {
    pl_sync_copy(x, pl_scratch(0));
    x = pl_scratch(0);
  }
  pl_sync_copy(apply(x), pl_output(0));
}

static uint32_t random_chain(struct model *m, const pl_array *x, uint32_t pitch) {
  uint32_t n = 0;
  memset(m, 0, sizeof *m);
  m->rank = x->rank;
  m->dtype = x->dtype;
  memcpy(m->shape, x->shape, sizeof m->shape);
  const uint32_t columns = (uint32_t)x->shape[x->rank - 1], bytes = pl_dtype_bytes(x->dtype);
  for (uint32_t row = 0; n < suite_elements(x); row++)
    for (uint32_t i = 0; i < columns; i++)
      m->offset[n++] = row * pitch + i * bytes;
  chain.ops = 1 + below(MOST_OPS);
  return n;
}

/* One chain. The model says whether every step can be a view, and what is in it. */
static void one_chain(uint32_t number) {
  static const pl_space spaces[] = {PL_HBM, PL_VMEM, PL_SMEM};
  static const uint8_t dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};
  static struct model m;
  const unsigned dtype = dtypes[below(5)];
  bool possible = true;

  suite_release();
  pl_array x =
      suite_array((pl_dtype)dtype, PL_SHAPE(2 + (int)below(3), 1 + (int)below(4), 2 + (int)below(30)));
  suite_fill(&x);
  chain.space = spaces[below(3)];
  const uint32_t bytes = pl_dtype_bytes(dtype), columns = (uint32_t)x.shape[2];
  const uint32_t pitch =
      (chain.space == PL_VMEM ? (columns + suite.dim - 1) / suite.dim * suite.dim : columns) * bytes;
  random_chain(&m, &x, pitch);
  for (unsigned i = 0; i < chain.ops && possible; i++) {
    struct operation *op = &chain.op[i];
    *op = random_operation(&m);
    if (op->kind == AT)
      model_at(&m, op);
    else if (op->kind == BITCAST) {
      /* neighbours, and aligned rows, or it is refused */
      const uint32_t from = pl_dtype_bytes(m.dtype), to = pl_dtype_bytes(op->n), n = count(m.shape, m.rank);
      const int32_t last = m.shape[m.rank - 1];
      for (uint32_t k = 0; k + 1 < n && from != to; k++)
        possible =
            possible && ((int32_t)(k % (uint32_t)last) == last - 1 || m.offset[k + 1] == m.offset[k] + from);
      for (uint32_t k = 0; k < n && to > from; k += (uint32_t)last)
        possible = possible && m.offset[k] % to == 0;
      if (last == 1 && from != to)
        chain.ops = i; /* one element a row: what a stride is cannot be seen, so leave it out */
      else if (possible)
        model_bitcast(&m, op->n);
    } else if (op->kind == RESHAPE) {
      memcpy(m.shape, op->shape.extent, sizeof m.shape);
      m.rank = op->shape.rank;
      possible = affine(&m);
    } else {
      for (unsigned d = op->n; d + 1 < m.rank; d++)
        m.shape[d] = m.shape[d + 1];
      m.rank--;
    }
  }
  pl_shape shape = {.rank = (uint8_t)m.rank};
  memcpy(shape.extent, m.shape, sizeof shape.extent);
  pl_array o = suite_array((pl_dtype)m.dtype, shape);
  const pl_kernel kernel = {.name = "chain",
                            .body = chain_body,
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {chain.space == PL_SMEM
                                            ? PL_SMEM((pl_dtype)dtype, x.shape[0], x.shape[1], x.shape[2])
                                            : PL_VMEM((pl_dtype)dtype, x.shape[0], x.shape[1], x.shape[2])}};
  const pl_status status = pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o));
  if (!possible) {
    if (status != PL_ERROR_REF && status != PL_ERROR_SHAPE)
      check(false, "views: chain %u: %s, though there are no strides for it: %s", number,
            pl_status_name(status), pl_error_message());
    return;
  }
  if (status != PL_OK) {
    check(false, "views: chain %u: %s", number, pl_error_message());
    return;
  }
  const uint8_t *from = pl_hbm_pointer(&x), *to = pl_hbm_pointer(&o);
  const uint32_t size = pl_dtype_bytes(m.dtype);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < count(m.shape, m.rank); i++)
    for (uint32_t k = 0; k < size; k++) {
      const uint32_t at = m.offset[i] + k;
      wrong += to[i * size + k] != from[at / pitch * (columns * bytes) + at % pitch];
    }
  if (wrong != 0)
    check(false, "views: chain %u: %u wrong bytes", number, wrong);
}

static void test_chains(void) {
  for (uint32_t i = 0; i < suite.cases * 2; i++)
    one_chain(i);
  check(true, "views: %u random chains", suite.cases * 2);
}

/* ---- what must be refused ---- */

static int which;
static void refused_body(void) {
  pl_ref x = pl_input(0), v = pl_scratch(0), acc = pl_scratch(1), sem = pl_scratch(2);
  pl_shape shape = PL_SHAPE(2, 2, 2, 2, 25);
  switch (which) {
  case 0:
    pl_at(x, PL_DS_STRIDED(1, 3, 7));
    break;
  case 1:
    pl_at(x, PL_INDEX(16));
    break;
  case 2:
    pl_at(x, PL_DS_STRIDED(0, 2, -1));
    break;
  case 3:
    pl_at(pl_at(x, PL_INDEX(1)), PL_ALL, PL_ALL);
    break;
  case 4:
    pl_reshape(x, PL_SHAPE(16, 26));
    break;
  case 5:
    pl_reshape(pl_at(v, PL_ALL, PL_DS(0, 37)), PL_SHAPE(370));
    break;
  case 6:
    pl_reshape(pl_at(x, PL_ALL, PL_DS(0, 12)), PL_SHAPE(120));
    break;
  case 7:
    pl_bitcast(pl_at(x, PL_ALL, PL_DS_STRIDED(0, 12, 2)), PL_BF16);
    break;
  case 8:
    pl_bitcast(pl_at(pl_bitcast(x, PL_INT8), PL_ALL, PL_DS(2, 8)), PL_INT32);
    break;
  case 9:
    pl_bitcast(acc, PL_BF16);
    break;
  case 10:
    pl_squeeze(x, 0);
    break;
  case 11:
    pl_squeeze(x, 2);
    break;
  case 12:
    pl_at(acc, PL_ALL, PL_INDEX(0));
    break;
  case 13:
    pl_add(v, v, x);
    break;
  case 14:
    pl_get(x, 0, 0);
    break;
  case 15:
    pl_put(x, 1, 0, 0);
    break;
  case 16:
    pl_semaphore_signal(sem, 1);
    break;
  case 17:
    pl_semaphore_signal(pl_at(sem, PL_INDEX(2), PL_INDEX(4)), 1);
    break;
  case 18:
    pl_sync_copy(v, pl_bitcast(v, PL_INT32));
    break;
  case 19:
    pl_sync_copy(acc, pl_at(pl_output(0), PL_DS(0, 8), PL_DS(0, 16)));
    break;
  case 20:
    shape.rank = 6;
    pl_reshape(x, shape);
    break;
  }
}

static void test_refused(void) {
  static const struct {
    pl_status status;
    const char *name, *words[4];
  } cases[] = {
      {PL_ERROR_REF,
       "a stride past the end",
       {"pl_at: dimension 0 of input 0", "extent 10", "stride 7", "0 to 9"}},
      {PL_ERROR_REF, "an index past the end", {"dimension 0 of input 0", "start 16", "0 to 9"}},
      {PL_ERROR_REF, "a negative stride", {"stride -1", "at least 1"}},
      {PL_ERROR_ARGUMENT, "more slices than dimensions", {"2 slices of input 0, whose rank is 1"}},
      {PL_ERROR_SHAPE, "a reshape to more elements", {"input 0 [10, 40] has 400 elements, [16, 26] has 416"}},
      {PL_ERROR_REF, "a reshape over padding", {"scratch 0 [10, 37]", "[370]", "VMEM", "dimension 1"}},
      {PL_ERROR_REF, "a reshape over a gap", {"input 0 [10, 12]", "[120]"}},
      {PL_ERROR_SHAPE,
       "a bitcast of elements apart",
       {"pl_bitcast: input 0 f32 [10, 12] in HBM as bf16", "neighbours"}},
      {PL_ERROR_SHAPE, "a bitcast of an odd place", {"int8 [10, 8] in HBM as int32", "multiples of 4 bytes"}},
      {PL_ERROR_SHAPE, "a bitcast in ACC", {"scratch 1 f32 [8, 16] in ACC as bf16"}},
      {PL_ERROR_SHAPE, "a squeeze of more than one", {"dimension 0 of input 0 [10, 40] has not extent 1"}},
      {PL_ERROR_SHAPE, "a squeeze of what is not there", {"dimension 2 of input 0", "rank is less"}},
      {PL_ERROR_REF, "one column of ACC", {"dimension 1 of scratch 1 are columns in ACC", "PL_DS(i, 1)"}},
      {PL_ERROR_REF, "a vector operation on HBM", {"input 0 is in HBM", "use a copy"}},
      {PL_ERROR_REF, "a scalar load from HBM", {"pl_get: input 0 is in HBM", "use a copy"}},
      {PL_ERROR_REF, "a scalar store to HBM", {"pl_put: input 0 would be written"}},
      {PL_ERROR_REF, "an array of semaphores", {"scratch 2 is an array [3, 4] of semaphores", "PL_INDEX"}},
      {PL_ERROR_REF, "a semaphore that is not there", {"dimension 1 of scratch 2 has extent 4; start 4"}},
      {PL_ERROR_SHAPE, "a copy to another type", {"f32 [10, 40] in VMEM to int32 [10, 40] in VMEM"}},
      {PL_ERROR_REF, "a copy from ACC", {"does not reach ACC (scratch 1)"}},
      {PL_ERROR_LIMIT, "a reshape to rank 6", {"rank 6 is more than PL_MAX_RANK (5)"}},
  };
  pl_array x = suite_array(PL_F32, PL_SHAPE(10, 40)), o = suite_array(PL_F32, PL_SHAPE(10, 40));
  const pl_kernel kernel = {.name = "refused",
                            .body = refused_body,
                            .grid = PL_GRID(2),
                            .in = {PL_IN_HBM},
                            .out = {PL_IN_HBM},
                            .scratch = {PL_VMEM(PL_F32, 10, 40), PL_ACC(PL_F32, 8, 16), PL_SEMAPHORES(3, 4)}};
  suite_fill(&x);
  for (which = 0; which < (int)(sizeof cases / sizeof cases[0]); which++) {
    char name[96];
    snprintf(name, sizeof name, "views: %s", cases[which].name);
    const char *const *w = cases[which].words;
    suite_fails(pl_call(&kernel, PL_ARGS(x), PL_RESULTS(o)), cases[which].status, name,
                "kernel refused, step 0 (0): ", w[0], w[1], w[2], w[3], NULL);
  }
}

void suite_views(void) {
  test_chains();
  test_refused();
  check(host_logged() == 0, "views: the model logged nothing");
}
