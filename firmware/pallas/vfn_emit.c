/* SPDX-License-Identifier: MIT */
/*
 * Registers and instructions of a vector program, in the order that vfn_compile.c found.
 *
 * A register that ended longest ago is taken first: a new value then seldom waits for readers of the old one.
 * What a loop carries keeps its registers over the loop, and what it becomes is computed into them.
 */
#include "emit.h"

enum tpu_vmem_dtype vfn_memory_dtype(unsigned dtype) {
  static const uint8_t map[] = {TPU_VMEM_DTYPE_W32, TPU_VMEM_DTYPE_BF16, TPU_VMEM_DTYPE_W32,
                                TPU_VMEM_DTYPE_INT8, TPU_VMEM_DTYPE_UINT8};
  return (enum tpu_vmem_dtype)map[dtype];
}

void vfn_put_word(struct pl_context *c, const struct vfn_program *p, uint32_t number, uint64_t word) {
  const uintptr_t at = c->ctrl.base + TPU_REG_VPROG(2 * (p->entry + number));
  mmio_write32(at, (uint32_t)word);
  mmio_write32(at + 4, (uint32_t)(word >> 32));
}

struct maker {
  struct pl_context *c;
  struct vfn_recording *r;
  const struct vfn_program *p;
  bool write;
  uint32_t words;
  uint32_t loop[2]; /* where the running loops are */
  uint8_t free[VFN_VREGS], first, count;
};

static void put(struct maker *m, uint64_t word) {
  if (m->write)
    vfn_put_word(m->c, m->p, m->words, word);
  m->words++;
}

/* Again what stands there. */
static void repeat(struct maker *m, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    const uintptr_t at = m->c->ctrl.base + TPU_REG_VPROG(2 * (m->p->entry + i));
    put(m, m->write ? mmio_read32(at) | (uint64_t)mmio_read32(at + 4) << 32 : 0);
  }
}

static void give_back(struct maker *m, unsigned reg) {
  m->free[(m->first + m->count++) % VFN_VREGS] = (uint8_t)reg;
}

static bool take(struct maker *m, uint8_t *reg) {
  if (m->count == 0)
    return false;
  *reg = m->free[m->first];
  m->first = (uint8_t)((m->first + 1) % VFN_VREGS);
  m->count--;
  return true;
}

static unsigned groups_of(const struct maker *m, unsigned node) {
  return vfn_in_groups(m->p, &m->r->node[node]) ? m->p->groups : 1;
}

static tpu_vasm_source operand(const struct maker *m, unsigned node, unsigned group) {
  const struct vfn_node *n = &m->r->node[node];
  if (n->op == VFN_SCALAR)
    return TPU_S(n->value);
  if (n->flags & VFN_FLAG_SLOT)
    return TPU_S(PL_MAX_VECTOR_SCALARS - m->p->constants + n->c);
  return TPU_V(node == 0 ? 0 : m->r->reg[node][groups_of(m, node) > 1 ? group : 0]);
}

static struct tpu_vasm_memory memory(const struct maker *m, const struct vfn_node *n, unsigned group) {
  const struct vfn_program *p = m->p;
  const struct vfn_side *side = &p->key.side[n->value];
  const bool rows = p->mode != VFN_ROWS, apart = p->apart >> n->value & 1;
  int step = 0; /* from group to group */
  unsigned first = 0;

  if (vfn_in_groups(p, n) && !apart) {
    if (!rows)
      step = (int)(m->c->lanes * pl_dtype_bytes((pl_dtype)side->dtype));
    else if (side->acc)
      step = 8;
    else
      step = 8 * (int)side->pitch, first = p->groups / 2;
  }
  return (struct tpu_vasm_memory){
      .areg = p->areg[n->value] + (apart && vfn_in_groups(p, n) ? group : 0),
      .offset = ((int)group - (int)first) * step,
      .dtype = vfn_memory_dtype(side->dtype),
      .i32 = (n->flags & VFN_FLAG_INT) != 0,
      .column = (side->extent & VFN_ONE_COLUMN) != 0,
      .acc = side->acc,
      .masked = (n->flags & VFN_FLAG_MASKED) != 0,
      .fill = (enum tpu_fill)(n->op == TPU_VOP_LD ? n->flags / VFN_FLAG_FILL & 3 : 0),
      .rgrp = rows ? group : 0,
      .cgrp = rows ? 0 : group,
  };
}

static uint64_t instruction(const struct maker *m, unsigned node, unsigned group) {
  const struct vfn_node *n = &m->r->node[node];
  const unsigned vd = m->r->reg[node][group];
  const bool rows = m->p->mode != VFN_ROWS;
  const struct tpu_vasm_mask mask = {
      .masked = (n->flags & VFN_FLAG_MASKED) != 0, .rgrp = rows ? group : 0, .cgrp = rows ? 0 : group};
  const tpu_vasm_source a = operand(m, n->a, group), b = operand(m, n->b, group), c = operand(m, n->c, group);

  switch (n->op) {
  case TPU_VOP_LD:
    return tpu_vasm_ld(vd, memory(m, n, group));
  case TPU_VOP_ST:
    return tpu_vasm_st(a, memory(m, n, group));
  case TPU_VOP_CONST:
    return tpu_vasm_const(vd, n->value);
  case TPU_VOP_IOTA_LANE:
    return tpu_vasm_iota_lane(vd, mask);
  case TPU_VOP_IOTA_SUB:
    return tpu_vasm_iota_sub(vd, mask);
  case TPU_VOP_SELM:
    return tpu_vasm_selm(vd, a, b, mask);
  case TPU_VOP_ROT_LANE:
  case TPU_VOP_ROT_SUB:
  case TPU_VOP_BC_LANE:
  case TPU_VOP_BC_SUB:
    return tpu_vasm_move((enum tpu_vop)n->op, vd, a, n->value);
  case TPU_VOP_RAND:
    return tpu_vasm_rand(vd, n->value & 7, (n->value & 7) + 1, (int)(n->value >> 8) - 1, mask);
  default:
    if (n->op >= TPU_VOP_RL_FSUM && n->op <= TPU_VOP_RS_IARGMAX)
      return tpu_vasm_reduce((enum tpu_vop)n->op, vd, a, mask);
    return tpu_vasm_op((enum tpu_vop)n->op, vd, a, b, c);
  }
}

/* Gives registers back that nothing at or behind this position needs. */
static void release(struct maker *m, unsigned node, unsigned group, unsigned position) {
  const struct vfn_node *n = &m->r->node[node];
  if (node == 0 || !vfn_in_register(n) || n->last != position || m->r->becomes[node] != 0)
    return;
  const unsigned groups = groups_of(m, node);
  if (groups > 1)
    give_back(m, m->r->reg[node][group]);
  else if (group + 1 == m->p->groups) /* the last reader of one for all groups */
    give_back(m, m->r->reg[node][0]);
}

/* A carried value starts: in the registers of its start if that ends here. */
static bool begin_carried(struct maker *m, unsigned node, unsigned position) {
  struct vfn_recording *r = m->r;
  const struct vfn_node *n = &r->node[node], *start = &r->node[n->a];
  const unsigned groups = groups_of(m, node);

  if (r->becomes[node] == n->a && n->a != 0) { /* a loop in a loop goes on with what that one carries */
    for (unsigned g = 0; g < groups; g++)
      r->reg[node][g] = r->reg[n->a][g];
    return true;
  }
  if (vfn_in_register(start) && start->last == position && groups_of(m, n->a) == groups &&
      r->becomes[n->a] == 0) {
    for (unsigned g = 0; g < groups; g++)
      r->reg[node][g] = r->reg[n->a][g];
    return true;
  }
  for (unsigned g = 0; g < groups; g++) {
    if (!take(m, &r->reg[node][g]))
      return false;
    const unsigned vd = r->reg[node][g];
    put(m, start->op == TPU_VOP_CONST ? tpu_vasm_const(vd, start->value)
                                      : tpu_vasm_mov(vd, operand(m, n->a, g)));
  }
  for (unsigned g = 0; g < m->p->groups; g++)
    release(m, n->a, g, position);
  return true;
}

/* The instruction of a node for one group; of a node that is one for all groups, with the first. */
static bool compute_group(struct maker *m, unsigned node, unsigned position, unsigned g) {
  struct vfn_recording *r = m->r;
  const struct vfn_node *n = &r->node[node];
  const unsigned groups = groups_of(m, node), into = r->becomes[node];
  const uint8_t a = n->a, b = n->b != a ? n->b : 0, c = n->c != a && n->c != n->b ? n->c : 0;
  const bool value = vfn_in_register(n);

  if (g < groups || groups == 1) {
    release(m, a, g, position);
    release(m, b, g, position);
    release(m, c, g, position);
  }
  if (g >= groups)
    return true;
  if (value && into != 0)
    r->reg[node][g] = r->reg[into][g];
  else if (value && !take(m, &r->reg[node][g]))
    return false;
  put(m, instruction(m, node, g));
  if (n->flags & VFN_FLAG_SPREAD)
    put(m, tpu_vasm_move(TPU_VOP_BC_LANE, r->reg[node][g], TPU_V(r->reg[node][g]), 0));
  return true;
}

/* Gives back what nobody reads. */
static void end_unread(struct maker *m, unsigned node, unsigned position) {
  const struct vfn_node *n = &m->r->node[node];
  if (vfn_in_register(n) && m->r->becomes[node] == 0 && n->last == position)
    for (unsigned g = 0; g < groups_of(m, node); g++)
      give_back(m, m->r->reg[node][g]);
}

static bool compute(struct maker *m, unsigned node, unsigned position) {
  for (unsigned g = 0; g < m->p->groups; g++)
    if (!compute_group(m, node, position, g))
      return false;
  end_unread(m, node, position);
  return true;
}

/*
 * Whether the inner loop of a program without loops of its own, from this position on, is loads, at most
 * one operation and stores: then there is little latency to hide, and what counts is that the pipes of loads
 * and stores work at the same time. `end`: the position of the loop's end.
 */
static bool is_short(const struct maker *m, unsigned from, unsigned *end) {
  unsigned operations = 0, i = from;
  bool stored = false;

  if (m->p->mode != VFN_ELEMENTS || m->p->groups == 1)
    return false;
  for (; m->r->order[i] < VFN_MARK_LOOP; i++) {
    const struct vfn_node *n = &m->r->node[m->r->order[i]];
    if (!vfn_in_groups(m->p, n) || (stored && n->op != TPU_VOP_ST))
      return false;
    stored = stored || n->op == TPU_VOP_ST;
    operations += n->op != TPU_VOP_ST && n->op != TPU_VOP_LD;
  }
  *end = i;
  return operations <= 1;
}

/* Such a loop, group by group, with each group's loads before what comes behind the loads of the one before.
 */
static bool compute_short(struct maker *m, unsigned from, unsigned end) {
  for (unsigned g = 0; g <= m->p->groups; g++)
    for (unsigned pass = 0; pass < 2; pass++)
      for (unsigned i = from; i < end; i++) {
        const unsigned node = m->r->order[i], group = g - pass;
        if ((m->r->node[node].op != TPU_VOP_LD) == pass && group < m->p->groups &&
            !compute_group(m, node, i, group))
          return false;
      }
  for (unsigned i = from; i < end; i++)
    end_unread(m, m->r->order[i], i);
  return true;
}

/* Values that end with a loop. */
static void end_values(struct maker *m, unsigned position) {
  for (unsigned i = 1; i < m->r->nodes; i++) {
    const struct vfn_node *n = &m->r->node[i];
    if (vfn_in_register(n) && n->last == position && n->at < position)
      for (unsigned g = 0; g < m->p->groups; g++)
        release(m, i, g, position);
  }
}

static void end_loop(struct maker *m, unsigned level, unsigned position) {
  struct vfn_recording *r = m->r;

  for (unsigned i = 1; i <= r->loops; i++) {
    const struct vfn_loop *loop = &r->loop_of[i];
    if (loop->end != position)
      continue;
    for (unsigned f = loop->first; f < (unsigned)loop->first + loop->carried; f++) {
      const unsigned next = r->node[f].b;
      if (!(r->node[f].flags & VFN_FLAG_LIVE) || next == f || next == 0 || r->becomes[next] == f)
        continue;
      for (unsigned g = 0; g < groups_of(m, f); g++)
        put(m, tpu_vasm_mov(r->reg[f][g], operand(m, next, g)));
    }
  }
  const uint32_t begin = m->loop[level];
  put(m, tpu_vasm_end(level));
  if (m->write) {
    const uint32_t words = m->words;
    m->words = begin;
    put(m, tpu_vasm_loop(level, m->p->entry + words));
    m->words = words;
  }
  if (level == 1 && m->p->peeled)
    repeat(m, begin + 1, m->words - 1);
  end_values(m, position);
}

uint32_t vfn_emit(struct pl_context *c, const struct vfn_program *p, bool write, unsigned *at) {
  struct maker m = {.c = c, .r = &vfn_recording, .p = p, .write = write};

  for (unsigned i = 0; i < VFN_VREGS; i++)
    give_back(&m, i);
  for (unsigned i = 0; i < m.r->ordered; i++) {
    const unsigned entry = m.r->order[i];
    *at = i;
    if (entry >= VFN_MARK_REWIND) {
      put(&m, tpu_vasm_loop(2, 0));
      put(&m, tpu_vasm_end(2));
    } else if (entry >= VFN_MARK_END) {
      end_loop(&m, entry - VFN_MARK_END, i);
    } else if (entry >= VFN_MARK_LOOP) {
      unsigned end;
      m.loop[entry - VFN_MARK_LOOP] = m.words;
      put(&m, tpu_vasm_loop(entry - VFN_MARK_LOOP, 0));
      if (entry == VFN_MARK_LOOP + 1 && is_short(&m, i + 1, &end)) {
        if (!compute_short(&m, i + 1, end))
          return 0;
        i = end - 1;
      }
    } else if (m.r->node[entry].op == VFN_PHI ? !begin_carried(&m, entry, i) : !compute(&m, entry, i)) {
      return 0;
    }
  }
  put(&m, tpu_vasm_halt());
  return m.words;
}
