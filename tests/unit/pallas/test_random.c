/* SPDX-License-Identifier: MIT */
/*
 * Random pipelines: any rank, kinds of dimensions, edges, fills, runs, numbers of buffers and ways to copy,
 * against a plain reference that walks the steps one by one. Contents, and the exact number of copies of each
 * operand.
 */
#include "suite.h"

#include <string.h>

enum { MAX_STEPS = 12, MAX_IN = 4, MAX_OUT = 3, MAX_RANK = 5 };

/* Where a block is in every dimension, as the map says it. */
struct place {
  int32_t start[MAX_RANK], size[MAX_RANK];
};

struct random_case {
  int32_t steps;
  int32_t extent[3];
  unsigned grid_rank, rank, ref_rank, inputs, outputs;
  int32_t block[MAX_RANK];
  pl_block_spec spec[MAX_IN + MAX_OUT]; /* kinds, fill and padding of inputs, then outputs */
  pl_array in[MAX_IN], out[MAX_OUT];
  struct place in_block[MAX_IN][MAX_STEPS], out_block[MAX_OUT][MAX_STEPS];
  /* What the body does in a step for each output: source input, and by which way; -1: nothing. */
  int source[MAX_OUT][MAX_STEPS];
  bool by_dma[MAX_OUT][MAX_STEPS];
  int probe[MAX_STEPS]; /* input whose first element the scalar core reads, or -1 */
  double probed[MAX_STEPS];
  uint32_t at_step;
};

static uint32_t below(uint32_t n) {
  return check_random_below(&suite.random, n);
}

static int32_t step_of(const pl_grid *g) {
  int32_t s = 0;
  for (uint32_t d = 0; d < g->rank; d++)
    s = s * g->extent[d] + g->id[d];
  return s;
}

#define IN_MAP(n)                                                                                            \
  static void in_map##n(const pl_grid *g, pl_index *b) {                                                     \
    const struct random_case *t = g->user;                                                                   \
    for (unsigned d = 0; d < t->rank; d++)                                                                   \
      b[d].start = t->in_block[n][step_of(g)].start[d], b[d].size = t->in_block[n][step_of(g)].size[d];      \
  }
#define OUT_MAP(n)                                                                                           \
  static void out_map##n(const pl_grid *g, pl_index *b) {                                                    \
    const struct random_case *t = g->user;                                                                   \
    for (unsigned d = 0; d < t->rank; d++)                                                                   \
      b[d].start = t->out_block[n][step_of(g)].start[d], b[d].size = t->out_block[n][step_of(g)].size[d];    \
  }
IN_MAP(0)
IN_MAP(1)
IN_MAP(2)
IN_MAP(3)
OUT_MAP(0) OUT_MAP(1) OUT_MAP(2) static const pl_map in_maps[MAX_IN] = {in_map0, in_map1, in_map2, in_map3};
static const pl_map out_maps[MAX_OUT] = {out_map0, out_map1, out_map2};

static void body(void) {
  struct random_case *t = pl_user();
  const uint32_t s = t->at_step++;
  static const int32_t origin[MAX_RANK];

  for (unsigned o = 0; o < t->outputs; o++)
    if (t->source[o][s] >= 0) {
      pl_ref from = pl_input(t->source[o][s]);
      if (t->by_dma[o][s])
        pl_sync_copy(from, pl_output((int)o));
      else
        pl_copy(pl_output((int)o), from);
    }
  if (t->probe[s] >= 0) {
    int32_t bits = pl_get_at(pl_input(t->probe[s]), origin, t->ref_rank);
    float f;
    memcpy(&f, &bits, 4);
    t->probed[s] = t->in[0].dtype <= PL_BF16 ? f : bits;
  }
}

/* How many values a map may return for a dimension. */
static uint32_t indices(const struct random_case *t, const pl_array *a, const pl_block_spec *spec,
                        unsigned d) {
  switch (spec->kind[d]) {
  case PL_ELEMENT:
    return (uint32_t)(a->shape[d] + spec->pad_high[d] - t->block[d]) + 1;
  case PL_BOUNDED:
    return (uint32_t)a->shape[d] + 1;
  default:
    return (uint32_t)pl_cdiv(a->shape[d], t->block[d]);
  }
}

/* A block table: runs of equal blocks; outputs never come back to one. */
static void make_table(struct random_case *t, const pl_array *a, const pl_block_spec *spec,
                       struct place *table, bool distinct) {
  uint32_t blocks = 1, used[MAX_STEPS], n = 0, current = 0;
  for (unsigned d = 0; d < t->rank; d++)
    blocks *= indices(t, a, spec, d);
  for (int32_t s = 0; s < t->steps; s++) {
    bool fresh = s == 0;
    if (s == 0 || below(3) != 0) {
      uint32_t next = below(blocks);
      bool seen = false;
      for (uint32_t i = 0; i < n && distinct; i++)
        seen = seen || used[i] == next;
      fresh = !seen && (s == 0 || next != current);
      if (fresh)
        used[n++] = current = next;
    }
    if (!fresh) {
      table[s] = table[s - 1];
      continue;
    }
    uint32_t left = current;
    for (int d = (int)t->rank - 1; d >= 0; d--) {
      const uint32_t count = indices(t, a, spec, (unsigned)d);
      const int32_t start = (int32_t)(left % count), room = a->shape[d] - start;
      table[s].start[d] = start;
      table[s].size[d] = (int32_t)below((uint32_t)(room < t->block[d] ? room : t->block[d]) + 1);
      if (spec->kind[d] == PL_BOUNDED && below(3) == 0)
        table[s].size[d] = room < t->block[d] ? room : t->block[d];
      left /= count;
    }
  }
}

static bool same_block(const struct random_case *t, const pl_block_spec *spec, const struct place *a,
                       const struct place *b) {
  for (unsigned d = 0; d < t->rank; d++)
    if (a->start[d] != b->start[d] || (spec->kind[d] == PL_BOUNDED && a->size[d] != b->size[d]))
      return false;
  return true;
}

/* Linear element of an array at a block and an offset in it; false if outside. */
static bool locate(const struct random_case *t, const pl_array *a, const pl_block_spec *spec,
                   const struct place *block, const int32_t *offset, uint32_t *at) {
  *at = 0;
  for (unsigned d = 0; d < t->rank; d++) {
    const bool elements = spec->kind[d] == PL_ELEMENT || spec->kind[d] == PL_BOUNDED;
    const int32_t i = block->start[d] * (elements ? 1 : t->block[d]) + offset[d];
    if (i >= a->shape[d] || (spec->kind[d] == PL_BOUNDED && offset[d] >= block->size[d]))
      return false;
    *at = *at * (uint32_t)a->shape[d] + (uint32_t)i;
  }
  return true;
}

/* Copies that a table costs: its runs, without those that move nothing. */
static uint32_t runs(const struct random_case *t, const pl_array *a, const pl_block_spec *spec,
                     const struct place *table) {
  static const int32_t origin[MAX_RANK];
  uint32_t n = 0, at;
  for (int32_t s = 0; s < t->steps; s++)
    n += (s == 0 || !same_block(t, spec, &table[s], &table[s - 1])) &&
         locate(t, a, spec, &table[s], origin, &at); /* no first element, none at all */
  return n;
}

/* What pad_value means for a dtype. */
static double pad_of(const pl_array *a, const pl_block_spec *spec) {
  float f;
  memcpy(&f, &spec->pad_value, 4);
  return a->dtype <= PL_BF16 ? f : (int32_t)spec->pad_value;
}

/* Element of an input's block as the body sees it: the fill past the edge. */
static double input_element(const struct random_case *t, unsigned in, int32_t s, const int32_t *offset) {
  uint32_t at;
  return locate(t, &t->in[in], &t->spec[in], &t->in_block[in][s], offset, &at)
             ? suite_get(&t->in[in], at)
             : pad_of(&t->in[in], &t->spec[in]);
}

static uint32_t wrong_elements(const struct random_case *t, unsigned o, const uint8_t *before) {
  const pl_array *a = &t->out[o];
  const uint32_t bytes = pl_array_bytes(a);
  uint8_t *got = malloc(bytes);
  uint32_t wrong = 0;

  /* The expected contents are built in place; what came out is kept aside. */
  memcpy(got, pl_hbm_pointer(a), bytes);
  memcpy(pl_hbm_pointer(a), before, bytes);
  for (int32_t s = 0; s < t->steps; s++) {
    int32_t offset[MAX_RANK] = {0};
    if (t->source[o][s] < 0)
      continue;
    for (;;) {
      uint32_t at;
      if (locate(t, a, &t->spec[t->inputs + o], &t->out_block[o][s], offset, &at))
        suite_put(a, at, input_element(t, (unsigned)t->source[o][s], s, offset));
      int d = (int)t->rank - 1;
      while (d >= 0 && ++offset[d] == t->block[d])
        offset[d--] = 0;
      if (d < 0)
        break;
    }
  }
  const uint8_t *want = pl_hbm_pointer(a);
  for (uint32_t i = 0; i < bytes; i++)
    wrong += got[i] != want[i];
  /* Nor may anything behind it have been touched. */
  for (uint32_t i = bytes; i < bytes + 64; i++)
    wrong += want[i] != 0xa5;
  free(got);
  return wrong;
}

static void random_shape(struct random_case *t) {
  static const int32_t inner[] = {1, 3, 8, 16, 17, 32, 40};
  t->rank = 1 + below(4);
  for (unsigned d = 0; d < t->rank; d++)
    t->block[d] = d + 1 == t->rank ? inner[below(7)] : 1 + (int32_t)below(d + 2 == t->rank ? 20 : 3);
  t->grid_rank = below(4);
  t->steps = 1;
  for (unsigned d = 0; d < t->grid_rank; d++) {
    t->extent[d] = 1 + (int32_t)below(t->steps > 2 ? 2 : 4);
    if (t->steps * t->extent[d] > MAX_STEPS)
      t->extent[d] = 1;
    t->steps *= t->extent[d];
  }
}

static pl_array random_array(const struct random_case *t, pl_dtype dtype) {
  pl_shape shape = {.rank = (uint8_t)t->rank};
  for (unsigned d = 0; d < t->rank; d++)
    shape.extent[d] =
        t->block[d] * (1 + (int32_t)below(3)) - (below(2) ? (int32_t)below((uint32_t)t->block[d]) : 0);
  return suite_array(dtype, shape);
}

/* Kinds, fill, padding, space and buffers of an operand. Squeezed dimensions are those of all operands. */
static void random_spec(const struct random_case *t, pl_array *a, pl_block_spec *spec, bool output,
                        uint32_t squeezed) {
  *spec = (pl_block_spec){.rank = (uint8_t)t->rank, .buffer_count = (uint8_t)below(6)};
  for (unsigned d = 0; d < t->rank; d++) {
    spec->shape[d] = t->block[d];
    if (squeezed >> d & 1) {
      spec->kind[d] = PL_SQUEEZED;
      spec->shape[d] = (int32_t)below(2);
    } else if (below(3) == 0) {
      spec->kind[d] = (uint8_t)(below(2) ? PL_ELEMENT : PL_BOUNDED);
      const int32_t pad = below(2) ? (int32_t)below((uint32_t)t->block[d] + 3) : 0;
      spec->pad_high[d] = spec->kind[d] == PL_ELEMENT ? pad : 0;
      if (spec->kind[d] == PL_ELEMENT && t->block[d] > a->shape[d] + spec->pad_high[d])
        spec->pad_high[d] = t->block[d] - a->shape[d];
    }
  }
  if (output)
    return;
  const float pad = (float)below(3) - 1;
  if (a->dtype <= PL_BF16)
    memcpy(&spec->pad_value, &pad, 4);
  else
    spec->pad_value = a->dtype == PL_UINT8 ? below(256) : (uint32_t)below(256) - 128;
  spec->space = (uint8_t)(below(6) == 0 ? PL_SMEM : PL_DEFAULT);
}

static void make_case(struct random_case *t) {
  memset(t, 0, sizeof *t);
  random_shape(t);
  const pl_dtype dtype = (pl_dtype)below(5);
  uint32_t squeezed = 0;
  t->inputs = 1 + below(MAX_IN);
  t->outputs = 1 + below(MAX_OUT);
  for (unsigned d = 0; d < t->rank; d++)
    if (t->block[d] == 1 && below(3) == 0)
      squeezed |= 1u << d;
  t->ref_rank = t->rank - (unsigned)__builtin_popcount(squeezed);
  for (unsigned i = 0; i < t->inputs; i++) {
    t->in[i] = random_array(t, dtype);
    random_spec(t, &t->in[i], &t->spec[i], false, squeezed);
    t->spec[i].map = in_maps[i];
    suite_fill(&t->in[i]);
    make_table(t, &t->in[i], &t->spec[i], t->in_block[i], false);
  }
  for (unsigned o = 0; o < t->outputs; o++) {
    pl_block_spec *spec = &t->spec[t->inputs + o];
    t->out[o] = random_array(t, dtype);
    random_spec(t, &t->out[o], spec, true, squeezed);
    spec->map = out_maps[o];
    make_table(t, &t->out[o], spec, t->out_block[o], true);
  }
  for (int32_t s = 0; s < t->steps; s++) {
    for (unsigned o = 0; o < t->outputs; o++) {
      /* In the last step of a run something must be written, or what is written back is undefined. */
      bool last = s + 1 == t->steps ||
                  !same_block(t, &t->spec[t->inputs + o], &t->out_block[o][s], &t->out_block[o][s + 1]);
      t->source[o][s] = last || below(2) ? (int)below(t->inputs) : -1;
      t->by_dma[o][s] = below(3) == 0;
      if (t->source[o][s] >= 0 && t->spec[t->source[o][s]].space == PL_SMEM)
        t->by_dma[o][s] = true;
    }
    t->probe[s] = below(4) == 0 ? (int)below(t->inputs) : -1;
  }
}

static void run_case(unsigned number, bool again) {
  static struct random_case t;
  static uint8_t before[MAX_OUT][1 << 22];
  pl_kernel kernel = {.name = "random", .body = body, .user = &t, .grid = {.rank = 0}};
  const uint64_t seed = suite.random.state;
  pl_stats stats;
  char text[160];

  make_case(&t);
  kernel.grid.rank = (uint8_t)t.grid_rank;
  for (unsigned d = 0; d < t.grid_rank; d++)
    kernel.grid.extent[d] = below(2) ? t.extent[d] : pl_dyn(t.extent[d]);
  for (unsigned i = 0; i < t.inputs + t.outputs; i++)
    *(i >= t.inputs ? &kernel.out[i - t.inputs] : &kernel.in[i]) = &t.spec[i];
  snprintf(text, sizeof text, "random %u (state %#llx): %d steps, rank %u, %s, %u in, %u out", number,
           (unsigned long long)seed, (int)t.steps, t.rank, pl_dtype_name(t.in[0].dtype), t.inputs, t.outputs);
  for (int call = 0; call < (again ? 2 : 1); call++) {
    for (unsigned o = 0; o < t.outputs; o++)
      memcpy(before[o], pl_hbm_pointer(&t.out[o]), pl_array_bytes(&t.out[o]));
    t.at_step = 0;
    pl_status status = pl_call(&kernel, (pl_arrays){t.in, t.inputs}, (pl_arrays){t.out, t.outputs});
    if (status == PL_ERROR_BUDGET)
      break; /* many buffers of large blocks: a right answer, too */
    if (status != PL_OK) {
      suite_ok(status, "%s", text);
      return;
    }
    pl_get_stats(&stats);
    uint32_t wrong = 0, copies = 0, probes = 0;
    for (unsigned i = 0; i < t.inputs; i++)
      copies += stats.copies[i] != runs(&t, &t.in[i], &t.spec[i], t.in_block[i]);
    for (unsigned o = 0; o < t.outputs; o++) {
      copies += stats.copies[t.inputs + o] != runs(&t, &t.out[o], &t.spec[t.inputs + o], t.out_block[o]);
      wrong += wrong_elements(&t, o, before[o]);
    }
    static const int32_t origin[MAX_RANK];
    for (int32_t s = 0; s < t.steps; s++)
      probes += t.probe[s] >= 0 && t.probed[s] != input_element(&t, (unsigned)t.probe[s], s, origin);
    const bool cached = call == 0 || stats.plan_was_cached;
    if (wrong + copies + probes != 0 || !cached || stats.steps != (uint32_t)t.steps) {
      check(false, "%s, call %d: %u bytes wrong, %u operands with wrong copies, %u values, cached %d", text,
            call, wrong, copies, probes, cached);
      return;
    }
  }
}

void suite_random(void) {
  for (unsigned i = 0; i < suite.cases; i++) {
    run_case(i, i % 4 == 0);
    suite_release();
  }
  check(host_logged() == 0, "random: %u pipelines, and the model logged nothing", suite.cases);
}
