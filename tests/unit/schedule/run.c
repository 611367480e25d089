/* SPDX-License-Identifier: MIT */
/* Runs a pipeline through pl_call(), or pl_emit_pipeline() in a body. */
#include "run.h"

#include <string.h>

enum { FIRST_OFFSET = 4096 };

struct running running;
pl_array array[MAX_OPERANDS], cells;

/* ---- maps and body ----------------------------------------------------------------------------------------
 */

static void map(unsigned o, const pl_grid *g, pl_index *index) {
  struct running *r = g->user;
  const struct operand *op = &r->p->operand[o];
  int32_t step = 0, block;
  for (uint32_t d = 0; d < g->rank; d++)
    step = step * g->extent[d] + g->id[d];
  r->out_of_order |= r->asked[o][step].times == 0 && step != r->last_asked[o] + 1;
  r->last_asked[o] = step;
  r->asked[o][step].times++;
  r->asked[o][step].at = r->returned;
  block = op->block[step];
  if (op->steered) {
    block += pl_get(pl_prefetch(0), (int32_t)o);
    block %= blocks_of(r->p, op);
  }
  for (int d = (int)r->p->rank - 1; d >= 0; d--) {
    const int32_t blocks = blocks_along(r->p, op, (unsigned)d);
    index[d].start = block % blocks;
    block /= blocks;
  }
}

#define MAP(n)                                                                                               \
  static void map##n(const pl_grid *g, pl_index *index) {                                                    \
    map(n, g, index);                                                                                        \
  }
MAP(0) MAP(1) MAP(2) MAP(3) MAP(4) static const pl_map maps[MAX_OPERANDS] = {map0, map1, map2, map3, map4};

static pl_ref ref_of(unsigned o) {
  const struct pipeline *p = running.p;
  return o < p->inputs ? pl_input((int)o) : pl_output((int)(o - p->inputs));
}

/*
 * Products that take the quick way: of the same three refs every time, the bytes written by one channel of
 * DMA and the matrix by the scalar core.
 */
static void dot_again(const struct action *a, int32_t *got) {
  const pl_ref acc = pl_scratch(2), bytes = pl_scratch(3), matrix = pl_scratch(4), out = pl_scratch(5);
  struct running *r = &running;
  const int32_t words = row_elements(r->p), rows = block_rows(r->p);
  if (!r->matrix_made || (a->value & DOT_CHANGES)) {
    const pl_ref as_words = pl_bitcast(matrix, PL_INT32);
    for (int32_t i = 0; i < rows * words && !r->matrix_made; i++)
      pl_put(as_words, matrix_word((uint32_t)i), i / words, i % words);
    if (a->value & DOT_CHANGES)
      pl_put(as_words, a->value, (int32_t)a->element / words, (int32_t)a->element % words);
    r->matrix_made = true;
  }
  if (!r->bytes_copied || !(a->value & DOT_REPEATS))
    pl_sync_copy(pl_reshape(pl_bitcast(ref_of(a->other), PL_INT8), PL_SHAPE(rows, 4 * words)), bytes);
  pl_dot(acc, matrix_first(r->p) ? matrix : bytes, matrix_first(r->p) ? bytes : matrix,
         PL_TRANSPOSED | (r->dotted && (a->value & DOT_ACCUMULATES) ? PL_ACCUMULATE : 0));
  r->bytes_copied = r->dotted = true;
  if (a->value & DOT_COPIES_OUT)
    pl_copy(out, acc);
  r->copied_out = r->copied_out || (a->value & DOT_COPIES_OUT);
  if (r->copied_out && (a->value & DOT_LOOKS))
    *got = pl_get(out, (int32_t)a->element / words, (int32_t)a->element % rows);
}

static void act(const struct action *a, int32_t *got) {
  int32_t index[MAX_RANK];
  uint32_t left = a->element;
  for (int d = (int)running.p->rank - 1; d >= 0; d--) {
    index[d] = (int32_t)(left % (uint32_t)running.p->block_shape[d]);
    left /= (uint32_t)running.p->block_shape[d];
  }
  switch (a->kind) {
  case COPY_DMA:
    pl_sync_copy(ref_of(a->other), ref_of(a->operand));
    break;
  case COPY_VPU:
    pl_copy(ref_of(a->operand), ref_of(a->other));
    break;
  case ADD_VPU:
    pl_add(ref_of(a->operand), ref_of(a->operand), ref_of(a->other));
    break;
  case DOT_MXU: {
    pl_ref bytes = pl_bitcast(ref_of(a->other), PL_INT8);
    pl_dot(pl_scratch(0), bytes, bytes, PL_OVERWRITE | PL_TRANSPOSED);
    if (a->value & 1) {
      pl_copy(pl_scratch(1), pl_scratch(0));
      *got = pl_get(pl_scratch(1), (int32_t)a->element / row_elements(running.p), 0);
    }
    break;
  }
  case DOT_AGAIN:
    dot_again(a, got);
    break;
  case GET:
    *got = pl_get_at(ref_of(a->operand), index, running.p->rank);
    break;
  case PUT:
    pl_put_at(ref_of(a->operand), a->value, index, running.p->rank);
    break;
  case STEER:
    pl_put(pl_prefetch(0), a->value, a->operand);
    break;
  }
}

static void body(void) {
  const uint32_t s = running.returned;
  host_note(BODY_BEGINS);
  for (unsigned i = 0; i < running.p->actions[s]; i++)
    act(&running.p->action[s][i], &running.got[s][i]);
  running.returned++;
  host_note(BODY_RETURNS);
}

/* ---- arrays -----------------------------------------------------------------------------------------------
 */

static void make_arrays(const struct pipeline *p, int32_t (*contents)[MAX_ARRAY]) {
  struct check_random r = {p->seed + 77};
  uint32_t offset = FIRST_OFFSET;
  for (unsigned o = 0; o < operands_of(p); o++) {
    pl_shape shape = {.rank = (uint8_t)p->rank};
    const unsigned alias = p->operand[o].alias;
    if (alias != 0) {
      array[o] = array[alias - 1];
      memcpy(contents[o], contents[alias - 1], sizeof contents[o]);
      continue;
    }
    for (unsigned d = 0; d < p->rank; d++)
      shape.extent[d] = p->operand[o].shape[d];
    array[o] = pl_hbm_array(offset, PL_INT32, shape);
    const uint32_t bytes = pl_array_bytes(&array[o]);
    for (uint32_t i = 0; i < bytes / 4; i++)
      contents[o][i] = (int32_t)check_random32(&r);
    memset(host_hbm() + offset + bytes, GUARD, GAP);
    offset += bytes + GAP;
  }
  cells = pl_hbm_array(offset, PL_INT32, PL_SHAPE(MAX_INPUTS));
}

static void fill_arrays(const struct pipeline *p, int32_t (*contents)[MAX_ARRAY]) {
  for (unsigned o = 0; o < operands_of(p); o++)
    memcpy(pl_hbm_pointer(&array[o]), contents[o], pl_array_bytes(&array[o]));
  memcpy(pl_hbm_pointer(&cells), p->cell, sizeof p->cell);
}

/* ---- a call -----------------------------------------------------------------------------------------------
 */

static pl_kernel kernel; /* of the pipeline */
static pl_block_spec spec[MAX_OPERANDS];
static pl_scratch_spec
    sums[6]; /* of the matrix unit, and where the scalar core sees them; of those repeated */

/* Forgets what has happened so far. */
static void start_over(const struct pipeline *p) {
  uint32_t dropped;
  memset(&running, 0, sizeof running);
  running.p = p;
  for (unsigned o = 0; o < MAX_OPERANDS; o++)
    running.last_asked[o] = -1;
  (void)host_events(&dropped);
}

/* Between two runs in a body, a corner of an output goes to an input: the common part of their shapes. */
static unsigned fed_input(const struct pipeline *p) {
  return (unsigned)(p->seed % p->inputs);
}
static unsigned fed_output(const struct pipeline *p) {
  return p->inputs + (unsigned)(p->seed / 7 % p->outputs);
}
/* Not if that is one array. */
static bool feeds(const struct pipeline *p) {
  return p->operand[fed_output(p)].alias != fed_input(p) + 1;
}
static int32_t common(const struct pipeline *p, unsigned d) {
  const int32_t a = p->operand[fed_input(p)].shape[d], b = p->operand[fed_output(p)].shape[d];
  return a < b ? a : b;
}

static void corner_map(const pl_grid *g, pl_index *index) {
  for (unsigned d = 0; d < running.p->rank; d++)
    index[d].start = g->id[d];
}
static void corner_body(void) {
  pl_sync_copy(pl_input(0), pl_output(0));
}

/* By one copy, or by another pipeline, so that two of them take turns in the body. */
static void feed_back(const struct pipeline *p, const pl_ref *ref) {
  pl_slice corner[MAX_RANK];
  for (unsigned d = 0; d < p->rank; d++)
    corner[d] = PL_DS(0, common(p, d));
  pl_ref from = pl_at_slices(ref[fed_output(p)], corner, p->rank);
  pl_ref to = pl_at_slices(ref[fed_input(p)], corner, p->rank);
  if (p->seed / 3 % 2 == 0) {
    pl_sync_copy(from, to);
    return;
  }
  pl_block_spec block = {
      .map = corner_map, .rank = (uint8_t)p->rank, .buffer_count = (uint8_t)(1 + p->seed % 3)};
  pl_kernel feed = {.name = "feed", .body = corner_body, .in = {&block}, .out = {&block}};
  memcpy(block.shape, p->block_shape, sizeof p->block_shape);
  feed.grid.rank = (uint8_t)p->rank;
  for (unsigned d = 0; d < p->rank; d++)
    feed.grid.extent[d] = pl_cdiv(common(p, d), p->block_shape[d]);
  pl_emit_pipeline(&feed, (pl_refs){&from, 1}, (pl_refs){&to, 1});
}

/* The same in the golden model's arrays. */
static void feed_back_elements(const struct pipeline *p, struct element (*contents)[MAX_ARRAY]) {
  const struct operand *from = &p->operand[fed_output(p)], *to = &p->operand[fed_input(p)];
  int32_t index[MAX_RANK] = {0};
  for (unsigned d = p->rank; d > 0;) {
    uint32_t a = 0, b = 0;
    for (unsigned k = 0; k < p->rank; k++) {
      a = a * (uint32_t)from->shape[k] + (uint32_t)index[k];
      b = b * (uint32_t)to->shape[k] + (uint32_t)index[k];
    }
    contents[fed_input(p)][b] = contents[fed_output(p)][a];
    for (d = p->rank; d > 0 && ++index[d - 1] == common(p, d - 1); d--)
      index[d - 1] = 0;
  }
}

/* A body that runs the pipeline over its own refs, which all may be written. */
static void outer_body(void) {
  const struct pipeline *p = running.p;
  pl_ref ref[MAX_OPERANDS];
  pl_allocations buffers = {0};
  int scratch = 0;
  int own = 0; /* arrays that are not another operand's */
  for (unsigned o = 0; o < operands_of(p); o++) {
    ref[o] = p->operand[o].alias != 0 ? ref[p->operand[o].alias - 1] : pl_output(own++);
    if (p->operand[o].owned)
      *(o < p->inputs ? &buffers.in[o] : &buffers.out[o - p->inputs]) = pl_scratch(scratch++);
  }
  for (unsigned i = 0; i < p->nested; i++) {
    if (i > 0 && feeds(p))
      feed_back(p, ref);
    start_over(p); /* what is compared is the last time, and the arrays */
    pl_emit_pipeline_with_allocations(&kernel, (pl_refs){ref, p->inputs},
                                      (pl_refs){ref + p->inputs, p->outputs}, &buffers);
  }
}

static pl_status call_outer(const struct pipeline *p) {
  static const pl_block_spec in_hbm = {.space = PL_HBM};
  static pl_scratch_spec window[MAX_OPERANDS];
  pl_kernel outer = {.name = "outer", .body = outer_body, .user = &running};
  pl_array own[MAX_OPERANDS];
  unsigned windows = 0, owned = 0;
  for (unsigned o = 0; o < operands_of(p); o++) {
    const struct operand *op = &p->operand[o];
    if (op->alias == 0) {
      outer.out[owned] = &in_hbm;
      own[owned++] = array[o];
    }
    if (!op->owned)
      continue;
    pl_shape shape = {.rank = (uint8_t)(p->rank + 1), .extent = {op->buffers}};
    memcpy(shape.extent + 1, p->block_shape, p->rank * sizeof shape.extent[0]);
    window[windows] =
        (pl_scratch_spec){.space = op->smem ? PL_SMEM : PL_VMEM, .dtype = PL_INT32, .shape = shape};
    outer.scratch[windows] = &window[windows];
    windows++;
  }
  return pl_call(&outer, (pl_arrays){array, 0}, (pl_arrays){own, owned});
}

static pl_status call(const struct pipeline *p) {
  pl_array args[1 + MAX_INPUTS] = {cells};
  const uint32_t first = has_cells(p);
  kernel = (pl_kernel){.name = "schedule", .body = body, .user = &running};
  kernel.grid.rank = (uint8_t)p->grid_rank;
  for (unsigned d = 0; d < p->grid_rank; d++)
    kernel.grid.extent[d] = p->steps == 0 ? PL_DYN(p->extent[d]) : p->extent[d];
  if (has_dots(p)) {
    for (unsigned i = 0; i < 6; i++) {
      const bool bytes = i == 3 || i == 4;
      sums[i] =
          (pl_scratch_spec){.space = i == 0 || i == 2 ? PL_ACC : PL_VMEM,
                            .dtype = bytes ? PL_INT8 : PL_INT32,
                            .shape = PL_SHAPE(block_rows(p), bytes ? 4 * row_elements(p) : block_rows(p))};
      kernel.scratch[i] = &sums[i];
    }
  }
  for (unsigned o = 0; o < operands_of(p); o++) {
    const struct operand *op = &p->operand[o];
    spec[o] = (pl_block_spec){.space = op->smem ? PL_SMEM : PL_DEFAULT, .buffer_count = op->buffers};
    if (!op->whole) {
      spec[o].map = maps[o];
      spec[o].rank = (uint8_t)p->rank;
      memcpy(spec[o].shape, p->block_shape, sizeof p->block_shape);
      spec[o].lookahead = op->lookahead;
      spec[o].inout = op->inout;
      spec[o].revisit_any = op->revisit_any;
      spec[o].alias = op->alias;
    }
    if (o < p->inputs)
      args[first + o] = array[o], kernel.in[o] = &spec[o];
    else
      kernel.out[o - p->inputs] = &spec[o];
  }
  if (p->nested)
    return call_outer(p);
  kernel.num_scalar_prefetch = first;
  return pl_call(&kernel, (pl_arrays){args, first + p->inputs}, (pl_arrays){array + p->inputs, p->outputs});
}

/* What must come of it: as often as it runs in a body, each time from what the time before left. */
static void expect(const struct pipeline *p, int32_t (*contents)[MAX_ARRAY], struct expected *e) {
  static struct element initial[MAX_OPERANDS][MAX_ARRAY];
  for (unsigned o = 0; o < operands_of(p); o++)
    for (uint32_t i = 0; i < array_elements(p, &p->operand[o]); i++)
      initial[o][i] = (struct element){contents[o][i], true};
  golden(p, initial, e);
  for (unsigned i = 1; i < p->nested; i++) {
    for (unsigned o = 0; o < operands_of(p); o++)
      memcpy(initial[o], e->array[o], array_elements(p, &p->operand[o]) * sizeof initial[o][0]);
    if (feeds(p))
      feed_back_elements(p, initial);
    for (unsigned o = p->inputs; o < operands_of(p); o++)
      if (p->operand[o].alias != 0)
        memcpy(initial[o], initial[p->operand[o].alias - 1], sizeof initial[o]);
    golden(p, initial, e);
  }
  if (spoil != NULL)
    spoil_expectation(p, e);
}

bool run_pipeline(const struct pipeline *p, unsigned calls, bool loud) {
  static struct expected e;
  static int32_t contents[MAX_OPERANDS][MAX_ARRAY];
  bool right = true;

  make_arrays(p, contents);
  expect(p, contents, &e);
  for (unsigned i = 0; i < calls && right; i++) {
    fill_arrays(p, contents);
    start_over(p);
    const pl_status status = call(p);
    right = status == PL_OK && compare(p, &e, loud);
    if (status != PL_OK && loud)
      printf("  pl_call: %s: %s\n", pl_status_name(status), pl_error_message());
  }
  return right;
}
