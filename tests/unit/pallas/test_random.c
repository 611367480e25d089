/* SPDX-License-Identifier: MIT */
/*
 * Random pipelines: any rank, edges, runs, numbers of buffers and ways to copy, against a plain
 * reference that walks the steps one by one. Contents, and the exact number of copies of each operand.
 */
#include "suite.h"

#include <string.h>

enum { MAX_STEPS = 12, MAX_IN = 4, MAX_OUT = 3, MAX_RANK = 5 };

struct random_case {
  int32_t steps;
  int32_t extent[3];
  unsigned grid_rank, rank, inputs, outputs;
  int32_t block[MAX_RANK];
  pl_array in[MAX_IN], out[MAX_OUT];
  unsigned in_space[MAX_IN];
  int32_t in_block[MAX_IN][MAX_STEPS][MAX_RANK], out_block[MAX_OUT][MAX_STEPS][MAX_RANK];
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
      b[d].start = t->in_block[n][step_of(g)][d];                                                            \
  }
#define OUT_MAP(n)                                                                                           \
  static void out_map##n(const pl_grid *g, pl_index *b) {                                                    \
    const struct random_case *t = g->user;                                                                   \
    for (unsigned d = 0; d < t->rank; d++)                                                                   \
      b[d].start = t->out_block[n][step_of(g)][d];                                                           \
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
    int32_t bits = pl_get_at(pl_input(t->probe[s]), origin, t->rank);
    float f;
    memcpy(&f, &bits, 4);
    t->probed[s] = t->in[0].dtype <= PL_BF16 ? f : bits;
  }
}

/* A block table: runs of equal blocks; outputs never come back to one. False if blocks run out. */
static bool make_table(struct random_case *t, const pl_array *a, int32_t (*table)[MAX_RANK], bool distinct) {
  uint32_t blocks = 1, used[64], n = 0, current = 0;
  for (unsigned d = 0; d < t->rank; d++)
    blocks *= (uint32_t)pl_cdiv(a->shape[d], t->block[d]);
  for (int32_t s = 0; s < t->steps; s++) {
    if (s == 0 || below(3) != 0) {
      uint32_t next = below(blocks);
      if (distinct && s > 0) {
        bool seen = false;
        for (uint32_t i = 0; i < n; i++)
          seen = seen || used[i] == next;
        if (seen)
          next = current;
      }
      if (s == 0 || next != current)
        used[n++] = next;
      current = next;
    }
    uint32_t left = current;
    for (int d = (int)t->rank - 1; d >= 0; d--) {
      uint32_t count = (uint32_t)pl_cdiv(a->shape[d], t->block[d]);
      table[s][d] = (int32_t)(left % count);
      left /= count;
    }
  }
  return true;
}

static bool same_block(const struct random_case *t, const int32_t *a, const int32_t *b) {
  return memcmp(a, b, t->rank * sizeof *a) == 0;
}

static uint32_t runs(const struct random_case *t, int32_t (*table)[MAX_RANK]) {
  uint32_t n = 0;
  for (int32_t s = 0; s < t->steps; s++)
    n += s == 0 || !same_block(t, table[s], table[s - 1]);
  return n;
}

/* Linear element of an array at block index + offset; false if outside. */
static bool locate(const struct random_case *t, const pl_array *a, const int32_t *block,
                   const int32_t *offset, uint32_t *at) {
  *at = 0;
  for (unsigned d = 0; d < t->rank; d++) {
    int32_t i = block[d] * t->block[d] + offset[d];
    if (i >= a->shape[d])
      return false;
    *at = *at * (uint32_t)a->shape[d] + (uint32_t)i;
  }
  return true;
}

/* Element of an input's block as the body sees it: zero past the edge. */
static double input_element(const struct random_case *t, unsigned in, int32_t s, const int32_t *offset) {
  uint32_t at;
  return locate(t, &t->in[in], t->in_block[in][s], offset, &at) ? suite_get(&t->in[in], at) : 0;
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
      if (locate(t, a, t->out_block[o][s], offset, &at))
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

static void make_case(struct random_case *t) {
  memset(t, 0, sizeof *t);
  random_shape(t);
  const pl_dtype dtype = (pl_dtype)below(5);
  t->inputs = 1 + below(MAX_IN);
  t->outputs = 1 + below(MAX_OUT);
  for (unsigned i = 0; i < t->inputs; i++) {
    t->in[i] = random_array(t, dtype);
    t->in_space[i] = below(6) == 0 ? PL_SMEM : PL_DEFAULT;
    suite_fill(&t->in[i]);
    make_table(t, &t->in[i], t->in_block[i], false);
  }
  for (unsigned o = 0; o < t->outputs; o++) {
    t->out[o] = random_array(t, dtype);
    make_table(t, &t->out[o], t->out_block[o], true);
  }
  for (int32_t s = 0; s < t->steps; s++) {
    for (unsigned o = 0; o < t->outputs; o++) {
      /* In the last step of a run something must be written, or what is written back is undefined. */
      bool last = s + 1 == t->steps || !same_block(t, t->out_block[o][s], t->out_block[o][s + 1]);
      t->source[o][s] = last || below(2) ? (int)below(t->inputs) : -1;
      t->by_dma[o][s] = below(3) == 0;
      if (t->source[o][s] >= 0 && t->in_space[t->source[o][s]] == PL_SMEM)
        t->by_dma[o][s] = true;
    }
    t->probe[s] = below(4) == 0 ? (int)below(t->inputs) : -1;
  }
}

static void run_case(unsigned number, bool again) {
  static struct random_case t;
  static uint8_t before[MAX_OUT][1 << 20];
  pl_block_spec spec[MAX_IN + MAX_OUT];
  pl_kernel kernel = {.name = "random", .body = body, .user = &t, .grid = {.rank = 0}};
  const uint64_t seed = suite.random.state;
  pl_stats stats;
  char text[160];

  make_case(&t);
  kernel.grid.rank = (uint8_t)t.grid_rank;
  for (unsigned d = 0; d < t.grid_rank; d++)
    kernel.grid.extent[d] = below(2) ? t.extent[d] : pl_dyn(t.extent[d]);
  for (unsigned i = 0; i < t.inputs + t.outputs; i++) {
    const bool output = i >= t.inputs;
    spec[i] = (pl_block_spec){.map = output ? out_maps[i - t.inputs] : in_maps[i],
                              .rank = (uint8_t)t.rank,
                              .space = (uint8_t)(output ? PL_DEFAULT : t.in_space[i]),
                              .buffer_count = (uint8_t)below(6)};
    memcpy(spec[i].shape, t.block, sizeof t.block);
    *(output ? &kernel.out[i - t.inputs] : &kernel.in[i]) = &spec[i];
  }
  snprintf(text, sizeof text, "random %u (state %#llx): %d steps, rank %u, %s, %u in, %u out", number,
           (unsigned long long)seed, (int)t.steps, t.rank, pl_dtype_name(t.in[0].dtype), t.inputs, t.outputs);
  for (int call = 0; call < (again ? 2 : 1); call++) {
    for (unsigned o = 0; o < t.outputs; o++)
      memcpy(before[o], pl_hbm_pointer(&t.out[o]), pl_array_bytes(&t.out[o]));
    t.at_step = 0;
    pl_status status = pl_call(&kernel, (pl_arrays){t.in, t.inputs}, (pl_arrays){t.out, t.outputs});
    if (status == PL_ERROR_BUDGET) /* many buffers of large blocks: a right answer too */
      break;
    if (status != PL_OK) {
      suite_ok(status, "%s", text);
      return;
    }
    pl_get_stats(&stats);
    uint32_t wrong = 0, copies = 0, probes = 0;
    for (unsigned i = 0; i < t.inputs; i++)
      copies += stats.copies[i] != runs(&t, t.in_block[i]);
    for (unsigned o = 0; o < t.outputs; o++) {
      copies += stats.copies[t.inputs + o] != runs(&t, t.out_block[o]);
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
