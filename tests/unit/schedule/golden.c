/* SPDX-License-Identifier: MIT */
/*
 * What a pipeline must do, written from the rules and not from the runtime.
 *
 * A run is a maximal row of steps with one block. A step is loaded, computed and stored at once here: the
 * programming model says that nothing else can be seen. The times of copies are those of the schedule, as the
 * number of bodies that have returned; what is queued before step 0 and at its start has 0.
 */
#include "schedule.h"

#include <string.h>

struct run {
  int32_t first, last, block;
};

static unsigned runs_of(const struct pipeline *p, const struct operand *op, struct run *run) {
  unsigned n = 0;
  for (int32_t s = 0; s < p->steps; s++) {
    if (s > 0 && op->block[s] == op->block[s - 1])
      run[n - 1].last = s;
    else
      run[n++] = (struct run){s, s, op->block[s]};
  }
  return n;
}

static uint32_t at_least_0(int32_t t) {
  return t > 0 ? (uint32_t)t : 0;
}

/* ---- when -------------------------------------------------------------------------------------------------
 */

/*
 * With n buffers the block of step k is fetched when step k - (n - 1) begins, or before step 0; with one
 * buffer when the step itself begins. An operand with lookahead counts in runs instead of steps.
 */
static uint32_t fetch_time(const struct operand *op, const struct run *run, unsigned j) {
  const int32_t ahead = op->buffers - 1;
  if (ahead > 0 && op->lookahead)
    return (int32_t)j < ahead ? BEFORE : (uint32_t)run[j - (unsigned)ahead].first;
  return at_least_0(run[j].first - ahead);
}

/* Does a run load its block? Inputs and INOUT always, revisit_any if it was stored by an earlier run. */
static bool loads(const struct operand *op, const struct run *run, unsigned j) {
  if (!op->output || op->inout)
    return true;
  for (unsigned i = 0; op->revisit_any && i < j; i++)
    if (run[i].block == run[j].block)
      return true;
  return false;
}

static void times(const struct pipeline *p, unsigned o, struct expected *e) {
  const struct operand *op = &p->operand[o];
  struct run run[MAX_STEPS];
  const unsigned n = runs_of(p, op, run);

  for (unsigned j = 0; j < n; j++) {
    if (loads(op, run, j)) {
      const unsigned f = e->fetches[o]++;
      e->fetch_of[o][f] = run[j].block;
      e->fetch_at[o][f] = fetch_time(op, run, j);
      /* A block that an earlier run still has is fetched when that run's write-back is queued. */
      for (unsigned i = 0; op->output && i < j; i++)
        if (run[i].block == run[j].block && e->fetch_at[o][f] < (uint32_t)run[i].last + 1)
          e->fetch_at[o][f] = (uint32_t)run[i].last + 1;
    }
    if (op->output) {
      e->write_back_of[o][e->write_backs[o]] = run[j].block;
      e->write_back_at[o][e->write_backs[o]++] = (uint32_t)run[j].last + 1;
    }
  }
}

/* Before step 0: steps in order, operands inner. */
static void prologue(const struct pipeline *p, struct expected *e) {
  for (int32_t k = 0; k < p->steps; k++)
    for (unsigned o = 0; o < p->inputs; o++) {
      const struct operand *op = &p->operand[o];
      if (blocks_of(p, op) > 1 && !op->lookahead && k + 1 < op->buffers &&
          (k == 0 || op->block[k] != op->block[k - 1]))
        e->prologue[e->prologue_count++] = (uint8_t)o;
    }
}

/* ---- maps that read what the body writes ------------------------------------------------------------------
 */

/* An input's cell after so many bodies. */
static int32_t cell_after(const struct pipeline *p, unsigned o, uint32_t bodies) {
  int32_t value = p->cell[o];
  for (uint32_t s = 0; s < bodies; s++)
    for (unsigned i = 0; i < p->actions[s]; i++)
      if (p->action[s][i].kind == STEER && p->action[s][i].operand == o)
        value = p->action[s][i].value;
  return value;
}

/* Replaces the tables of steered inputs by what their maps answer at the time when they are asked. */
static void resolve(struct pipeline *p, struct expected *e) {
  for (unsigned o = 0; o < operands_of(p); o++) {
    struct operand *op = &p->operand[o];
    const int32_t lead = op->buffers > 2 ? op->buffers - 1 : 1;
    for (int32_t k = 0; k < p->steps; k++) {
      e->evaluated_at[o][k] = at_least_0(k - lead);
      if (op->steered)
        op->block[k] = (op->block[k] + cell_after(p, o, e->evaluated_at[o][k])) % blocks_of(p, op);
    }
  }
}

/* ---- what -------------------------------------------------------------------------------------------------
 */

bool locate(const struct pipeline *p, const struct operand *op, int32_t block, uint32_t i, uint32_t *at) {
  int32_t index[MAX_RANK];
  for (int d = (int)p->rank - 1; d >= 0; d--) {
    const int32_t blocks = blocks_along(p, op, (unsigned)d), shape = p->block_shape[d];
    index[d] = block % blocks * shape + (int32_t)(i % (uint32_t)shape);
    block /= blocks;
    i /= (uint32_t)shape;
  }
  *at = 0;
  for (unsigned d = 0; d < p->rank; d++) {
    if (index[d] >= op->shape[d])
      return false;
    *at = *at * (uint32_t)op->shape[d] + (uint32_t)index[d];
  }
  return true;
}

static void load(const struct pipeline *p, unsigned o, int32_t block, const struct expected *e,
                 struct element *to) {
  uint32_t at;
  for (uint32_t i = 0; i < block_elements(p); i++)
    to[i] = locate(p, &p->operand[o], block, i, &at) ? e->array[o][at] : (struct element){0, true};
}

static void store(const struct pipeline *p, unsigned o, int32_t block, struct expected *e,
                  const struct element *from) {
  uint32_t at;
  for (uint32_t i = 0; i < block_elements(p); i++)
    if (locate(p, &p->operand[o], block, i, &at))
      e->array[o][at] = from[i];
}

/* Element [i, j] of block x transposed other one, of int8. */
static struct element dot(const struct pipeline *p, const struct element *block, const struct element *other,
                          uint32_t i, uint32_t j) {
  const uint32_t n = (uint32_t)row_elements(p);
  struct element sum = {0, true};
  for (uint32_t k = 0; k < n; k++) {
    const struct element a = block[i * n + k], b = other[j * n + k];
    sum.defined = sum.defined && a.defined && b.defined;
    for (unsigned byte = 0; byte < 32; byte += 8)
      sum.value += (int8_t)((uint32_t)a.value >> byte) * (int8_t)((uint32_t)b.value >> byte);
  }
  return sum;
}

/* What the body keeps for products that are repeated. */
static struct repeated {
  bool copied, dotted, copied_out;
  struct element bytes[MAX_BLOCK], matrix[MAX_BLOCK];
  struct element sum[MAX_DOT_ROWS][MAX_DOT_ROWS], out[MAX_DOT_ROWS][MAX_DOT_ROWS];
} repeated;

static void dot_again(const struct pipeline *p, const struct action *a, const struct element *from,
                      struct element *got) {
  struct repeated *r = &repeated;
  const uint32_t rows = (uint32_t)block_rows(p);
  if (a->value & DOT_CHANGES)
    r->matrix[a->element] = (struct element){a->value, true};
  if (!r->copied || !(a->value & DOT_REPEATS))
    memcpy(r->bytes, from, sizeof r->bytes);
  for (uint32_t i = 0; i < rows; i++)
    for (uint32_t j = 0; j < rows; j++) {
      struct element product =
          matrix_first(p) ? dot(p, r->matrix, r->bytes, i, j) : dot(p, r->bytes, r->matrix, i, j);
      if (r->dotted && (a->value & DOT_ACCUMULATES)) {
        product.value += r->sum[i][j].value;
        product.defined = product.defined && r->sum[i][j].defined;
      }
      r->sum[i][j] = product;
    }
  r->copied = r->dotted = true;
  if (a->value & DOT_COPIES_OUT)
    memcpy(r->out, r->sum, sizeof r->out);
  r->copied_out = r->copied_out || (a->value & DOT_COPIES_OUT);
  if (r->copied_out && (a->value & DOT_LOOKS))
    *got = r->out[a->element / (uint32_t)row_elements(p)][a->element % rows];
}

static void act(const struct pipeline *p, const struct action *a, struct element (*block)[MAX_BLOCK],
                struct element *got) {
  struct element *to = block[a->operand];
  const struct element *from = block[a->other];
  switch (a->kind) {
  case COPY_DMA:
  case COPY_VPU:
    memcpy(to, from, block_elements(p) * sizeof *to);
    break;
  case ADD_VPU:
    for (uint32_t i = 0; i < block_elements(p); i++) {
      to[i].value = (int32_t)((uint32_t)to[i].value + (uint32_t)from[i].value);
      to[i].defined = to[i].defined && from[i].defined;
    }
    break;
  case DOT_MXU:
    if (a->value & 1)
      *got = dot(p, from, from, a->element / (uint32_t)row_elements(p), 0);
    break;
  case DOT_AGAIN:
    dot_again(p, a, from, got);
    break;
  case GET:
    *got = to[a->element];
    break;
  case PUT:
    to[a->element] = (struct element){a->value, true};
    break;
  case STEER:
    break;
  }
}

void golden(const struct pipeline *written, struct element (*initial)[MAX_ARRAY], struct expected *e) {
  static struct element block[MAX_OPERANDS][MAX_BLOCK];
  struct run run[MAX_OPERANDS][MAX_STEPS];
  unsigned at[MAX_OPERANDS] = {0};
  static struct pipeline resolved;
  const struct pipeline *const p = &resolved;

  memset(e, 0, offsetof(struct expected, array));
  resolved = *written;
  resolve(&resolved, e);
  for (unsigned o = 0; o < operands_of(p); o++) {
    for (uint32_t i = 0; i < array_elements(p, &p->operand[o]); i++)
      e->array[o][i] = initial[o][i];
    runs_of(p, &p->operand[o], run[o]);
    times(p, o, e);
  }
  prologue(p, e);
  memset(&repeated, 0, sizeof repeated);
  for (uint32_t i = 0; i < MAX_BLOCK; i++)
    repeated.matrix[i] = (struct element){matrix_word(i), true};
  for (int32_t s = 0; s < p->steps; s++) {
    for (unsigned o = 0; o < operands_of(p); o++) {
      if (run[o][at[o]].first != s)
        continue;
      if (loads(&p->operand[o], run[o], at[o]))
        load(p, o, p->operand[o].block[s], e, block[o]);
      else
        memset(block[o], 0, sizeof block[o]); /* undefined */
    }
    for (unsigned i = 0; i < p->actions[s]; i++)
      act(p, &p->action[s][i], block, &e->got[s][i]);
    for (unsigned o = 0; o < operands_of(p); o++) {
      if (run[o][at[o]].last != s)
        continue;
      if (p->operand[o].output)
        store(p, o, p->operand[o].block[s], e, block[o]);
      at[o]++;
    }
  }
  for (unsigned o = p->inputs; o < operands_of(p); o++)
    if (p->operand[o].alias != 0)
      memcpy(e->array[p->operand[o].alias - 1], e->array[o], sizeof e->array[o]);
}
