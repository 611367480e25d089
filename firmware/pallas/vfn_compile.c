/* SPDX-License-Identifier: MIT */
/*
 * From a recording to a program: what is needed at all, what belongs to which loop, where values end.
 *
 * Values that are the same for every element come before all loops; in functions without loops those that
 * depend on the column only come before the loop over rows. Everything else stays in its place. Up to four
 * groups of tiles are worked on at a time, each instruction for all of them before the next one, so that a
 * group's latency is hidden by the others; there are as many as registers and address registers allow.
 *
 * A masked access outside the inner loops would see their count as its position, which is past the edge.
 * So the last iteration of inner loops is apart if there are such accesses: the count is its number then.
 */
#include "vfn.h"

static bool is_reduction(unsigned op) {
  return op >= TPU_VOP_RL_FSUM && op <= TPU_VOP_RS_IARGMAX;
}

static bool fail_at(const struct vfn_node *n, const char *what) {
  if (vfn_fail(PL_ERROR_SHAPE, n->line))
    pl_message_add("%s", what);
  return false;
}

static bool find_mode(struct vfn_recording *r, struct vfn_program *p) {
  p->mode = VFN_ELEMENTS;
  p->inner = r->loops;
  for (unsigned i = 1; i <= r->loops; i++)
    if (r->loop_of[i].parent != 0)
      p->mode = VFN_BOTH;
  for (unsigned i = 1; i <= r->loops; i++) {
    const struct vfn_loop *loop = &r->loop_of[i];
    const unsigned mode = loop->axis == PL_VAXIS_LANES ? VFN_LANES : VFN_ROWS;
    if (p->mode == VFN_BOTH && loop->parent == 0 && i > 1)
      return fail_at(&r->node[loop->node],
                     "a loop behind a PL_FOR_ROWS with loops in it, which must be the only one");
    if (p->mode == VFN_BOTH)
      continue;
    if (p->mode != VFN_ELEMENTS && p->mode != mode)
      return fail_at(&r->node[loop->node], "PL_FOR_LANES and PL_FOR_ROWS side by side");
    p->mode = (uint8_t)mode;
  }
  if (p->mode == VFN_BOTH)
    p->inner--;
  return true;
}

/* Looks through other names, and finds what stores and loops need. */
static void find_live(struct vfn_recording *r) {
  for (unsigned i = 1; i < r->nodes; i++) {
    uint8_t *const operand[3] = {&r->node[i].a, &r->node[i].b, &r->node[i].c};
    for (unsigned k = 0; k < 3; k++)
      if (r->node[*operand[k]].op == VFN_ALIAS)
        *operand[k] = r->node[*operand[k]].a;
  }
  for (bool more = true; more;) {
    more = false;
    for (unsigned i = r->nodes; i-- > 1;) {
      const struct vfn_node *n = &r->node[i];
      const uint8_t operand[3] = {n->a, n->b, n->c};
      if (!(n->flags & VFN_FLAG_LIVE))
        continue;
      for (unsigned k = 0; k < 3; k++)
        if (operand[k] != 0 && !(r->node[operand[k]].flags & VFN_FLAG_LIVE)) {
          r->node[operand[k]].flags |= VFN_FLAG_LIVE;
          more = more || operand[k] > i; /* what a loop carries comes later in the list */
        }
    }
  }
}

static void find_varies(struct vfn_recording *r, const struct vfn_program *p) {
  const unsigned both = VFN_ALONG_ROWS | VFN_ALONG_COLUMNS;
  bool stored = false;

  r->node[0].varies = 0;
  for (unsigned i = 1; i < r->nodes; i++) {
    struct vfn_node *n = &r->node[i];
    /* Along what one element counts for all; what is as short as the shape itself has edges like others. */
    const unsigned extent = p->key.side[n->value & 7].extent & ~p->key.shape;
    switch (n->op) {
    case TPU_VOP_CONST:
    case VFN_SCALAR:
      n->varies = 0;
      break;
    case TPU_VOP_LD: /* not moved across stores: they may be of the same memory */
      n->varies = (uint8_t)(stored || p->mode == VFN_BOTH ? both : both & ~extent);
      break;
    case TPU_VOP_ST:
      stored = true;
      n->varies = (uint8_t)both;
      break;
    case TPU_VOP_IOTA_SUB:
      n->varies = VFN_ALONG_ROWS;
      break;
    case TPU_VOP_IOTA_LANE:
      n->varies = VFN_ALONG_COLUMNS;
      break;
    case TPU_VOP_MOV:
    case TPU_VOP_SELM:
    case TPU_VOP_RAND:
    case VFN_PHI:
      n->varies = (uint8_t)both;
      break;
    default:
      n->varies = r->node[n->a].varies | r->node[n->b].varies | r->node[n->c].varies;
      if (is_reduction(n->op))
        n->varies = (uint8_t)both;
    }
  }
}

/* Accesses, masks and reductions where they mean something. */
static bool check_place(struct vfn_program *p, struct vfn_node *n) {
  const unsigned extent = p->key.side[n->value & 7].extent, shape = p->key.shape & 3;
  const bool memory = n->op == TPU_VOP_LD || n->op == TPU_VOP_ST;
  const bool outer = p->mode == VFN_BOTH ? n->loop == 1 : p->mode != VFN_ELEMENTS && n->loop == 0;
  const bool root = p->mode == VFN_BOTH && n->loop == 0;
  const unsigned one = p->mode == VFN_ROWS ? VFN_ONE_ROW : VFN_ONE_COLUMN;

  if (n->op == TPU_VOP_ST && p->mode == VFN_ELEMENTS && (extent & ~shape) != 0)
    return fail_at(n,
                   "a store to a ref with one row or one column belongs behind PL_FOR_ROWS or PL_FOR_LANES");
  if (memory && n->varies != 0) {
    if ((outer && !(extent & one)) || (root && extent != 3))
      return fail_at(n, root ? "outside of all loops only refs of one element are loaded and stored"
                        : one == VFN_ONE_ROW
                            ? "outside of PL_FOR_ROWS only refs with one row are loaded and stored"
                            : "outside of PL_FOR_LANES only refs with one column are loaded and stored");
    if (n->op == TPU_VOP_ST && !root && (extent & ~shape & (outer ? 3 ^ one : 3)) != 0)
      return fail_at(n,
                     "a store to one place for all rows, all columns or both belongs outside of their loop");
    const bool row_load = n->op == TPU_VOP_LD && (extent & VFN_ONE_ROW) &&
                          (outer || (p->mode == VFN_ELEMENTS && !(shape & VFN_ONE_ROW)));
    if (!root && !row_load) {
      n->flags |= VFN_FLAG_MASKED;
      p->peeled = p->peeled || outer;
      /* The mask is that of the inner loop's last tile: of a ragged one some lanes would get the fill. */
      if (n->op == TPU_VOP_LD && outer && one == VFN_ONE_COLUMN) {
        p->matters |= VFN_SHAPE_RAGGED_COLUMNS;
        if (p->key.shape & VFN_SHAPE_RAGGED_COLUMNS)
          n->flags |= VFN_FLAG_SPREAD;
      }
    }
  }
  const bool lanes = n->op >= TPU_VOP_RL_FSUM && n->op <= TPU_VOP_RL_IARGMAX;
  if (is_reduction(n->op)) {
    if (p->mode == VFN_ELEMENTS || p->mode == (lanes ? VFN_ROWS : VFN_LANES))
      return fail_at(n, lanes ? "a reduction over lanes needs a PL_FOR_LANES"
                              : "a reduction over rows needs a PL_FOR_ROWS");
    if (!lanes && p->mode == VFN_BOTH && outer)
      return fail_at(n, "a reduction over rows belongs behind PL_FOR_ROWS or into the loop inside it");
    if (!outer && !root)
      n->flags |= VFN_FLAG_MASKED;
  }
  const bool spread = n->op == TPU_VOP_SELM && (n->flags & VFN_FLAG_SPREAD);
  p->peeled = p->peeled || spread;
  if ((((n->op == TPU_VOP_SELM && !spread) || n->op == TPU_VOP_RAND) && (outer || root)) ||
      (n->op == TPU_VOP_IOTA_LANE && (root || (outer && one == VFN_ONE_COLUMN))) ||
      (n->op == TPU_VOP_IOTA_SUB && (root || (outer && one == VFN_ONE_ROW))))
    return fail_at(n, "there is no position here: it belongs into a loop");
  return true;
}

bool vfn_in_groups(const struct vfn_program *p, const struct vfn_node *n) {
  const unsigned axis = p->mode == VFN_ROWS ? VFN_ALONG_COLUMNS : VFN_ALONG_ROWS;
  if (n->op == TPU_VOP_ST || n->op == TPU_VOP_LD)
    return p->groups > 1 && !(p->key.side[n->value].extent & axis);
  return p->groups > 1 && (n->varies & axis);
}

bool vfn_in_register(const struct vfn_node *n) {
  return (n->flags & VFN_FLAG_LIVE) && n->op != TPU_VOP_ST && n->op != VFN_SCALAR && n->op != TPU_VOP_LOOP &&
         n->op != TPU_VOP_END && n->op != VFN_ALIAS && !(n->flags & VFN_FLAG_SLOT);
}

/* Constants that are no more than starts of carried values need no place; some others go into scalars. */
static void place_constants(struct vfn_recording *r, struct vfn_program *p) {
  const unsigned room = PL_MAX_VECTOR_SCALARS - p->key.fn->scalars;

  p->constants = 0;
  for (unsigned i = 1; i < r->nodes; i++) {
    struct vfn_node *n = &r->node[i];
    if (n->op != TPU_VOP_CONST || !(n->flags & VFN_FLAG_LIVE))
      continue;
    bool used = false;
    for (unsigned k = 1; k < r->nodes && !used; k++) {
      const struct vfn_node *by = &r->node[k];
      used = (by->flags & VFN_FLAG_LIVE) && ((by->a == i && by->op != VFN_PHI) || by->b == i || by->c == i);
    }
    if (!used || (p->constants < VFN_CONSTANTS && p->constants < room)) {
      n->flags |= VFN_FLAG_SLOT;
      if (used) {
        p->constant[p->constants] = n->value;
        n->c = p->constants++;
      }
    }
  }
}

/* ---- order ---- */

static void put(struct vfn_recording *r, unsigned entry) {
  r->order[r->ordered++] = (uint8_t)entry;
}

/* In which part of a program without loops a node belongs: before, in the outer loop, in the inner one. */
static unsigned part_of(const struct vfn_node *n) {
  return n->op == TPU_VOP_ST || (n->varies & VFN_ALONG_ROWS) ? 2 : n->varies != 0;
}

static bool emits(const struct vfn_node *n) {
  return vfn_in_register(n) || n->op == TPU_VOP_ST;
}

static void order_elements(struct vfn_recording *r) {
  for (unsigned part = 0; part < 3; part++) {
    if (part > 0)
      put(r, VFN_MARK_LOOP + part - 1);
    for (unsigned i = 1; i < r->nodes; i++)
      if (emits(&r->node[i]) && part_of(&r->node[i]) == part)
        put(r, i);
  }
  put(r, VFN_MARK_END + 1);
  put(r, VFN_MARK_END);
}

static void order_loops(struct vfn_recording *r, const struct vfn_program *p) {
  const bool both = p->mode == VFN_BOTH;

  for (unsigned i = 1; i < r->nodes; i++)
    if (emits(&r->node[i]) && r->node[i].varies == 0)
      put(r, i);
  if (!both)
    put(r, VFN_MARK_LOOP);
  for (unsigned i = 1; i < r->nodes; i++) {
    const struct vfn_node *n = &r->node[i];
    if (n->op == TPU_VOP_LOOP || n->op == TPU_VOP_END) {
      struct vfn_loop *loop = &r->loop_of[n->value];
      const unsigned level = both && loop->parent == 0 ? 0 : 1;
      if (n->op == TPU_VOP_LOOP) {
        loop->begin = r->ordered;
        put(r, VFN_MARK_LOOP + level);
      } else {
        loop->end = r->ordered;
        put(r, VFN_MARK_END + level);
        if (level == 1 && n->value < r->loops)
          put(r, VFN_MARK_REWIND);
      }
    } else if (emits(n) && n->varies != 0) {
      put(r, i);
    }
  }
  if (!both)
    put(r, VFN_MARK_END);
}

/* The loops around a position, outermost first. */
struct nest {
  uint8_t depth, begin[2], end[2];
};

static bool is_loop(unsigned entry) {
  return entry >= VFN_MARK_LOOP && entry < VFN_MARK_END;
}

static bool is_end(unsigned entry) {
  return entry >= VFN_MARK_END && entry < VFN_MARK_REWIND;
}

static void enter_loop(const struct vfn_recording *r, struct nest *nest, unsigned position) {
  unsigned end = position + 1;
  for (unsigned open = 1;; end++) {
    open += is_loop(r->order[end]);
    open -= is_end(r->order[end]);
    if (open == 0)
      break;
  }
  nest->begin[nest->depth] = (uint8_t)position;
  nest->end[nest->depth++] = (uint8_t)end;
}

/* A value from before a loop is used until the loop's end. */
static void used_at(struct vfn_recording *r, const struct nest *nest, unsigned node, unsigned position) {
  struct vfn_node *n = &r->node[node];
  if (node == 0)
    return;
  for (unsigned i = nest->depth; i-- > 0;)
    if (n->at < nest->begin[i])
      position = nest->end[i];
  if (position > n->last)
    n->last = (uint8_t)position;
}

/* A carried value's registers are those of what it becomes, if nothing needs the old one behind that. */
static void find_becomes(struct vfn_recording *r, const struct vfn_program *p, const struct vfn_loop *loop) {
  for (unsigned f = loop->first; f < (unsigned)loop->first + loop->carried; f++) {
    const struct vfn_node *phi = &r->node[f];
    const unsigned next = phi->b;
    if (!(phi->flags & VFN_FLAG_LIVE) || next == 0 || next == f || !vfn_in_register(&r->node[next]) ||
        (r->node[next].op == VFN_PHI && r->node[next].a != f) || r->node[next].at < loop->begin ||
        r->becomes[next] != 0 || vfn_in_groups(p, &r->node[next]) != vfn_in_groups(p, phi))
      continue;
    bool later = false;
    for (unsigned i = r->node[next].at + 1u; i < loop->end; i++)
      if (r->order[i] < VFN_MARK_LOOP) {
        const struct vfn_node *by = &r->node[r->order[i]];
        later = later || by->a == f || by->b == f || by->c == f;
      }
    if (!later)
      r->becomes[next] = (uint8_t)f;
  }
}

static void find_ends(struct vfn_recording *r, const struct vfn_program *p) {
  struct nest nest = {.depth = 0};

  for (unsigned i = 0; i < VFN_MAX_NODES; i++)
    r->node[i].at = r->node[i].last = r->becomes[i] = 0;
  for (unsigned i = 0; i < r->ordered; i++)
    if (r->order[i] < VFN_MARK_LOOP)
      r->node[r->order[i]].at = r->node[r->order[i]].last = (uint8_t)i;
  for (unsigned i = 0; i < r->ordered; i++) {
    const unsigned entry = r->order[i];
    if (is_loop(entry)) {
      enter_loop(r, &nest, i);
    } else if (is_end(entry)) {
      nest.depth--;
      for (unsigned k = 1; k <= r->loops; k++)
        if (r->loop_of[k].end == i)
          for (unsigned f = r->loop_of[k].first, e = f + r->loop_of[k].carried; f < e; f++)
            if (r->node[f].flags & VFN_FLAG_LIVE) {
              used_at(r, &nest, r->node[f].b, i);
              used_at(r, &nest, f, i);
            }
    } else if (entry < VFN_MARK_LOOP) {
      const struct vfn_node *n = &r->node[entry];
      used_at(r, &nest, n->a, i);
      used_at(r, &nest, n->op == VFN_PHI ? 0 : n->b, i); /* what it becomes is used at the loop's end */
      used_at(r, &nest, n->c, i);
    }
  }
  for (unsigned i = 1; i <= r->loops; i++)
    find_becomes(r, p, &r->loop_of[i]);
}

/* ---- groups and address registers ---- */

static bool assign_addresses(struct vfn_program *p) {
  const unsigned axis = p->mode == VFN_ROWS ? VFN_ALONG_COLUMNS : VFN_ALONG_ROWS;

  p->addresses = p->apart = 0;
  for (unsigned i = 0; i < p->key.fn->refs; i++) {
    const struct vfn_side *side = &p->key.side[i];
    if (!((p->loads | p->stores) >> i & 1))
      continue;
    p->areg[i] = p->addresses;
    /* The distance of groups fits into instructions: in ACC along rows, in VMEM along columns, and with
       short rows along rows. */
    const bool fits =
        p->mode == VFN_ROWS ? !side->acc : side->acc || (side->pitch != 0 && side->pitch * p->groups <= 8192);
    if (p->groups > 1 && !(side->extent & axis) && !fits) {
      p->apart |= (uint8_t)(1u << i);
      p->addresses = (uint8_t)(p->addresses + p->groups);
    } else {
      p->addresses++;
    }
  }
  return p->addresses <= VFN_ADDRESSES;
}

static void fail_registers(const struct vfn_recording *r, unsigned at) {
  unsigned count = 0;
  const unsigned node = r->order[at];

  for (unsigned i = 1; i < r->nodes; i++)
    if (vfn_in_register(&r->node[i]) && r->node[i].at <= at && r->node[i].last >= at && r->becomes[i] == 0)
      count++;
  if (!vfn_fail(PL_ERROR_UNSUPPORTED, node < VFN_MARK_LOOP ? r->node[node].line : 0))
    return;
  pl_message_add("%u values are needed at a time, there are %d registers; values of lines", count, VFN_VREGS);
  for (unsigned i = 1; i < r->nodes; i++) {
    const struct vfn_node *n = &r->node[i];
    if (!vfn_in_register(n) || n->at > at || n->last < at || r->becomes[i] != 0)
      continue;
    pl_message_add(" %u", n->line);
    if (n->op == TPU_VOP_LD)
      pl_message_add(" (load of PL_REF(%u))", (unsigned)n->value);
    else if (n->op == VFN_PHI)
      pl_message_add(" (carried)");
  }
}

bool vfn_compile(struct pl_context *c, struct vfn_program *p) {
  struct vfn_recording *r = &vfn_recording;
  unsigned at = 0;

  p->matters = (uint8_t)(3 | r->matters);
  p->loads = r->loads;
  p->stores = r->stores;
  p->peeled = false;
  if (!find_mode(r, p))
    return false;
  find_live(r);
  find_varies(r, p);
  for (unsigned i = 1; i < r->nodes; i++)
    if ((r->node[i].flags & VFN_FLAG_LIVE) && !check_place(p, &r->node[i]))
      return false;
  place_constants(r, p);
  const unsigned shift = p->mode == VFN_ROWS ? VFN_SHAPE_COLUMNS_SHIFT : VFN_SHAPE_ROWS_SHIFT;
  p->groups = 1;
  if (p->mode != VFN_BOTH) {
    p->matters |= (uint8_t)(3u << shift);
    p->groups = (uint8_t)(1u << ((p->key.shape >> shift & 3) - 1));
  }
  for (;; p->groups /= 2) {
    const bool addressed = assign_addresses(p);
    r->ordered = 0;
    if (p->mode == VFN_ELEMENTS)
      order_elements(r);
    else
      order_loops(r, p);
    find_ends(r, p);
    p->words = addressed ? (uint16_t)vfn_emit(c, p, false, &at) : 0;
    if (p->words != 0 || p->groups == 1)
      break;
  }
  if (p->words == 0)
    fail_registers(r, at);
  return p->words != 0;
}
