/* SPDX-License-Identifier: MIT */
/* Random pipelines, and smaller ones when one fails. */
#include "schedule.h"

#include <string.h>

struct gen {
  struct check_random r;
  struct pipeline *p;
};

static uint32_t below(struct gen *g, uint32_t n) {
  return check_random_below(&g->r, n);
}

/* ---- shapes -----------------------------------------------------------------------------------------------
 */

static void random_grid(struct gen *g) {
  struct pipeline *p = g->p;
  p->grid_rank = below(g, 20) == 0 ? 0 : 1 + below(g, 3);
  p->steps = 1;
  for (unsigned d = 0; d < p->grid_rank; d++) {
    const uint32_t most = (uint32_t)(MAX_STEPS / p->steps);
    p->extent[d] = 1 + (int32_t)below(g, d + 1 == p->grid_rank ? most : most < 3 ? most : 3);
    p->steps *= p->extent[d];
  }
  if (p->grid_rank > 0 && below(g, 50) == 0) {
    p->extent[below(g, p->grid_rank)] = 0;
    p->steps = 0;
  }
}

static void random_array(struct gen *g, struct operand *op) {
  struct pipeline *p = g->p;
  for (unsigned d = 0; d < p->rank; d++) {
    const int32_t block = p->block_shape[d];
    op->shape[d] = block * (1 + (int32_t)below(g, d == 0 ? 5 : 3));
    if (block > 1 && below(g, 3) == 0)
      op->shape[d] -= 1 + (int32_t)below(g, (uint32_t)block - 1);
    if (op->whole)
      op->shape[d] = block;
  }
}

/*
 * A table of blocks with repeats. Only an operand that may come back to a block does so, unless there are
 * more runs than blocks; then the last one stays.
 */
static void random_table(struct gen *g, struct operand *op, bool comes_back) {
  const uint32_t blocks = (uint32_t)blocks_of(g->p, op), changes = 1 + below(g, 4);
  bool used[MAX_ARRAY] = {false};
  int32_t current = (int32_t)below(g, blocks);
  uint32_t left = blocks - 1;
  used[current] = true;
  for (int32_t s = 0; s < g->p->steps; s++) {
    op->block[s] = current;
    if (below(g, 4) >= changes)
      continue;
    if (comes_back)
      current = below(g, 3) == 0 && s > 0 ? op->block[below(g, (uint32_t)s)] : (int32_t)below(g, blocks);
    else if (left > 0) {
      while (used[current])
        current = (current + 1 + (int32_t)below(g, blocks)) % (int32_t)blocks;
      used[current] = true;
      left--;
    }
  }
}

static void random_operand(struct gen *g, struct operand *op, bool output) {
  *op = (struct operand){.output = output, .buffers = (uint8_t)(1 + below(g, 5))};
  op->whole = below(g, 12) == 0;
  op->smem = below(g, 8) == 0;
  if (!op->whole && features.lookahead && !output)
    op->lookahead = below(g, 3) == 0;
  if (!op->whole && features.steered && !g->p->nested && !output && !op->lookahead)
    op->steered = below(g, 5) == 0;
  if (!op->whole && features.inout && output && below(g, 3) == 0)
    op->inout = true;
  else if (!op->whole && features.revisit_any && output && below(g, 2) == 0)
    op->revisit_any = true;
  random_array(g, op);
  if (g->p->nested && !op->whole && blocks_of(g->p, op) > 1)
    op->owned = below(g, 3) == 0;
  random_table(g, op, !output || op->inout || op->revisit_any);
}

/*
 * An output that is an input's memory: the same array, and in every step the same block, so that no block is
 * read after it was written.
 */
static void random_alias(struct gen *g) {
  struct pipeline *p = g->p;
  const unsigned i = below(g, p->inputs), o = p->inputs + below(g, p->outputs);
  struct operand *in = &p->operand[i], *out = &p->operand[o];
  if (in->whole || out->whole || in->steered || out->inout || out->revisit_any)
    return;
  memcpy(in->shape, out->shape, sizeof in->shape);
  memcpy(in->block, out->block, sizeof in->block);
  in->owned = in->owned && blocks_of(p, in) > 1;
  out->alias = (uint8_t)(i + 1);
}

/* ---- bodies -----------------------------------------------------------------------------------------------
 */

static void random_action(struct gen *g, struct action *a) {
  const struct pipeline *p = g->p;
  const unsigned output = p->inputs + below(g, p->outputs);
  unsigned from = below(g, operands_of(p)); /* outputs are read as well as inputs */
  if (from == output)
    from = below(g, p->inputs);
  const bool vector = !p->operand[output].smem && !p->operand[from].smem;
  *a = (struct action){.operand = (uint8_t)output,
                       .other = (uint8_t)from,
                       .element = below(g, block_elements(p)),
                       .value = (int32_t)check_random32(&g->r)};
  const unsigned steered = below(g, p->inputs);
  if (p->operand[steered].steered && below(g, 2)) {
    a->kind = STEER;
    a->operand = a->other = (uint8_t)steered;
    a->value &= 7;
    return;
  }
  switch (below(g, 10)) {
  case 9:
  case 8: {
    const unsigned read = below(g, operands_of(p));
    a->kind = COPY_DMA;
    if (p->rank != 2 || p->operand[read].smem || block_rows(p) > MAX_DOT_ROWS || row_elements(p) % 4 != 0)
      break;
    a->kind = below(g, 3) == 0 ? DOT_MXU : DOT_AGAIN;
    a->operand = a->other = (uint8_t)read;
    break;
  }
  case 0:
    a->kind = GET;
    a->operand = (uint8_t)below(g, operands_of(p));
    break;
  case 1:
    a->kind = PUT;
    break;
  case 2:
  case 3:
    a->kind = vector ? ADD_VPU : COPY_DMA;
    break;
  case 4:
  case 5:
    a->kind = vector ? COPY_VPU : COPY_DMA;
    break;
  default:
    a->kind = COPY_DMA;
  }
}

void make_pipeline(struct pipeline *p, uint64_t seed) {
  static const int32_t inner[] = {1, 4, 8, 5};
  struct gen g = {.r = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1}, .p = p};
  memset(p, 0, sizeof *p);
  p->seed = seed;
  p->nested = features.nested && below(&g, 4) == 0 ? 1 + below(&g, 3) : 0;
  random_grid(&g);
  p->rank = 1 + below(&g, MAX_RANK);
  for (unsigned d = 0; d < p->rank; d++)
    p->block_shape[d] = d + 1 == p->rank ? inner[below(&g, 4)] : 1 + (int32_t)below(&g, d == 0 ? 3 : 2);
  p->inputs = 1 + below(&g, MAX_INPUTS);
  p->outputs = 1 + below(&g, MAX_OUTPUTS);
  for (unsigned o = 0; o < operands_of(p); o++)
    random_operand(&g, &p->operand[o], o >= p->inputs);
  if (below(&g, 3) == 0)
    random_alias(&g);
  for (unsigned o = 0; o < MAX_INPUTS; o++)
    p->cell[o] = (int32_t)below(&g, 8);
  for (int32_t s = 0; s < p->steps; s++) {
    p->actions[s] = below(&g, MAX_ACTIONS + 1);
    for (unsigned i = 0; i < p->actions[s]; i++)
      random_action(&g, &p->action[s][i]);
  }
}

/* ---- a failing one ----------------------------------------------------------------------------------------
 */

void print_pipeline(const struct pipeline *p) {
  static const char *const kinds[] = {"copy by DMA",    "copy by VPU", "add by VPU", "multiply by MXU",
                                      "multiply again", "get",         "put",        "steer"};
  printf("  grid (");
  for (unsigned d = 0; d < p->grid_rank; d++)
    printf(d ? ", %d" : "%d", p->extent[d]);
  printf("): %d steps", p->steps);
  if (p->nested != 0)
    printf(", %u times in a body", p->nested);
  printf("; blocks (");
  for (unsigned d = 0; d < p->rank; d++)
    printf(d ? ", %d" : "%d", p->block_shape[d]);
  printf(")\n");
  for (unsigned o = 0; o < operands_of(p); o++) {
    const struct operand *op = &p->operand[o];
    printf("  %u: %s%s%s%s%s%s%s%s, %u buffers, array (", o, op->output ? "output" : "input",
           op->whole ? ", whole" : "", op->smem ? ", SMEM" : "", op->lookahead ? ", lookahead" : "",
           op->steered ? ", steered" : "", op->inout ? ", inout" : "", op->revisit_any ? ", revisit_any" : "",
           op->owned ? ", the caller's" : "", op->buffers);
    for (unsigned d = 0; d < p->rank; d++)
      printf(d ? ", %d" : "%d", op->shape[d]);
    printf("), ");
    if (op->alias != 0)
      printf("alias of %u, ", op->alias - 1u);
    printf("blocks");
    for (int32_t s = 0; s < p->steps; s++)
      printf(" %d", op->block[s]);
    printf("\n");
  }
  for (int32_t s = 0; s < p->steps; s++)
    for (unsigned i = 0; i < p->actions[s]; i++) {
      const struct action *a = &p->action[s][i];
      printf("  step %d: %s, operand %u", s, kinds[a->kind], a->operand);
      printf(a->kind < GET      ? " from %u\n"
             : a->kind == STEER ? ", value %u\n"
                                : ", element %u\n",
             a->kind < GET      ? a->other
             : a->kind == STEER ? (unsigned)a->value
                                : a->element);
    }
}

/* Takes an operand and what the body does with it out; false if it is the last of its kind. */
static bool drop_operand(struct pipeline *p, unsigned o) {
  unsigned *kind = o < p->inputs ? &p->inputs : &p->outputs;
  if (*kind == 1)
    return false;
  for (unsigned i = p->inputs; i < operands_of(p); i++)
    if (p->operand[i].alias > o)
      p->operand[i].alias = (uint8_t)(p->operand[i].alias == o + 1 ? 0 : p->operand[i].alias - 1);
  for (unsigned i = o; i + 1 < p->inputs; i++)
    p->cell[i] = p->cell[i + 1];
  for (unsigned i = o; i + 1 < operands_of(p); i++)
    p->operand[i] = p->operand[i + 1];
  --*kind;
  for (int32_t s = 0; s < p->steps; s++) {
    unsigned kept = 0;
    for (unsigned i = 0; i < p->actions[s]; i++) {
      struct action a = p->action[s][i];
      if (a.operand == o || (a.kind < GET && a.other == o))
        continue;
      a.operand -= a.operand > o;
      a.other -= a.other > o;
      p->action[s][kept++] = a;
    }
    p->actions[s] = kept;
  }
  return true;
}

/* Takes a step out; the grid gets one dimension. */
static void drop_step(struct pipeline *p, int32_t step) {
  for (int32_t s = step; s + 1 < p->steps; s++) {
    for (unsigned o = 0; o < operands_of(p); o++)
      p->operand[o].block[s] = p->operand[o].block[s + 1];
    p->actions[s] = p->actions[s + 1];
    memcpy(p->action[s], p->action[s + 1], sizeof p->action[s]);
  }
  p->steps--;
  p->grid_rank = 1;
  p->extent[0] = p->steps;
}

/* One operand: the n-th simplification. Each makes it smaller, so that shrinking ends. */
static void simplify(struct operand *op, unsigned n) {
  switch (n) {
  case 0:
    op->lookahead = op->steered = op->owned = false;
    break;
  case 1:
    op->smem = false;
    break;
  case 2:
    op->buffers = op->buffers > 2 ? 2 : op->buffers;
    break;
  default:
    op->buffers = op->buffers > 1 ? op->buffers - 1 : 1;
  }
}

bool smaller_pipeline(const struct pipeline *p, unsigned n, struct pipeline *smaller, bool *same) {
  enum { SIMPLER = 4 };
  const unsigned operands = operands_of(p), steps = (unsigned)p->steps;
  *smaller = *p;
  *same = false;
  if (n < operands) {
    *same = !drop_operand(smaller, n);
    return true;
  }
  n -= operands;
  if (n < steps) {
    if (steps > 1)
      drop_step(smaller, (int32_t)n);
    *same = steps <= 1;
    return true;
  }
  n -= steps;
  if (n < steps * MAX_ACTIONS) {
    const unsigned s = n / MAX_ACTIONS, i = n % MAX_ACTIONS;
    *same = i >= p->actions[s];
    for (unsigned k = i; !*same && k + 1 < p->actions[s]; k++)
      smaller->action[s][k] = p->action[s][k + 1];
    smaller->actions[s] -= !*same;
    return true;
  }
  n -= steps * MAX_ACTIONS;
  if (n >= operands * SIMPLER)
    return false;
  simplify(&smaller->operand[n / SIMPLER], n % SIMPLER);
  *same = memcmp(smaller, p, sizeof *p) == 0;
  return true;
}
