/* SPDX-License-Identifier: MIT */
/*
 * Recording of vector functions: the body runs once, and each pl_v operation adds a node to a list. A value
 * is the number of its node. Loops are in the list as LOOP and END nodes, and what they carry as PHI nodes
 * in front of them, so that the list is the program's structure already; vfn_compile.c only moves out of
 * loops what does not change in them.
 *
 * While a body runs the kernel around it has no operands, no grid and no refs: what asks for them fails as
 * outside a kernel, and the message says that recording is why.
 */
#include "vfn.h"

struct vfn_recording vfn_recording;

bool vfn_fail(pl_status status, uint32_t line) {
  const char *const running = pl_recording;
  const pl_vector_fn *const fn = vfn_recording.key != NULL ? vfn_recording.key->fn : NULL;
  const bool first = pl_context.status == PL_OK;

  pl_recording = NULL;
  if (fn != NULL && fn->whole != NULL)
    pl_fail(status, "%s: ", fn->name);
  else
    pl_fail(status, "%s, line %u: ", fn != NULL ? fn->name : "vector function (none)", (unsigned)line);
  pl_recording = running;
  return first;
}

static bool fail_line(uint32_t line, const char *what) {
  if (vfn_fail(PL_ERROR_ARGUMENT, line))
    pl_message_add("%s", what);
  return false;
}

static pl_v handle_of(unsigned node) {
  return (pl_v){node != 0 ? vfn_recording.number << 8 | node : 0};
}

static bool is_recording(uint32_t line) {
  if (vfn_recording.fn == NULL)
    fail_line(line, "a pl_v operation outside the body of a vector function");
  return vfn_recording.fn != NULL && pl_context.status == PL_OK;
}

/* A new node, 0 if there is no more room. */
static struct vfn_node *add(unsigned op, unsigned type, uint32_t line, uint32_t value) {
  struct vfn_recording *r = &vfn_recording;
  struct vfn_node *n = &r->node[r->nodes];

  if (r->nodes == VFN_MAX_NODES) {
    if (vfn_fail(PL_ERROR_LIMIT, line))
      pl_message_add("more than PL_MAX_VECTOR_VALUES (%d) values, stores and loops",
                     PL_MAX_VECTOR_VALUES - 1);
    return NULL;
  }
  *n = (struct vfn_node){
      .op = (uint8_t)op, .type = (uint8_t)type, .loop = r->loop, .line = (uint16_t)line, .value = value};
  r->nodes++;
  return n;
}

static pl_v value_of(const struct vfn_node *n) {
  return handle_of(n != NULL ? (unsigned)(n - vfn_recording.node) : 0);
}

/* The node of a value that may be used here, as operand i of an operation; 0 and an error if it may not. */
static unsigned use(pl_v v, unsigned op, unsigned i, uint32_t line) {
  const struct vfn_recording *r = &vfn_recording;
  const unsigned node = v.id & 0xff;

  if (v.id >> 8 != r->number || node == 0 || node >= r->nodes) {
    if (vfn_fail(PL_ERROR_ARGUMENT, line))
      vfn_add_operand(op, i);
    return 0;
  }
  unsigned loop = r->loop;
  while (loop != 0 && loop != r->node[node].loop)
    loop = r->loop_of[loop].parent;
  if (loop != r->node[node].loop) {
    if (vfn_fail(PL_ERROR_ARGUMENT, line))
      pl_message_add("the value of line %u is of a loop that has ended; name its variable in the loop, as in "
                     "PL_FOR_LANES(&v), to carry it out",
                     r->node[node].line);
    return 0;
  }
  return node;
}

pl_v pl_vrecord_const(uint32_t bits, unsigned type, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;

  if (!is_recording(line))
    return PL_VNONE;
  for (unsigned i = 1; i < r->nodes; i++)
    if (r->node[i].op == TPU_VOP_CONST && r->node[i].value == bits && r->node[i].type == type)
      return handle_of(i);
  struct vfn_node *n = add(TPU_VOP_CONST, type, line, bits);
  if (n != NULL)
    n->loop = 0; /* wherever it is first named */
  return value_of(n);
}

pl_v pl_vrecord_scalar(unsigned number, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;

  if (!is_recording(line))
    return PL_VNONE;
  if (number >= r->fn->scalars) {
    if (vfn_fail(PL_ERROR_ARGUMENT, line))
      pl_message_add("scalar %u; the function has %u", number, r->fn->scalars);
    return PL_VNONE;
  }
  struct vfn_node *n = add(VFN_SCALAR, PL_V_ANY, line, number);
  if (n != NULL)
    n->loop = 0;
  return value_of(n);
}

static bool check_ref(uint32_t ref, uint32_t line) {
  if (ref < vfn_recording.fn->refs)
    return true;
  if (vfn_fail(PL_ERROR_ARGUMENT, line))
    pl_message_add("PL_REF(%u); the function has %u refs", (unsigned)ref, vfn_recording.fn->refs);
  return false;
}

static void fail_pair(uint32_t line, const char *what, unsigned type, uint32_t ref) {
  const char *const name = pl_dtype_name((pl_dtype)vfn_recording.key->side[ref].dtype);
  if (vfn_fail(PL_ERROR_SHAPE, line))
    pl_message_add("%s of %s and a ref of %s (PL_REF(%u)); convert with pl_vfloat or pl_vint_", what,
                   type == PL_V_INT ? "int32" : "f32", name, (unsigned)ref);
}

pl_v pl_vrecord_load(uint32_t ref, unsigned fill, bool as_float, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;

  if (!is_recording(line) || !check_ref(ref, line))
    return PL_VNONE;
  const unsigned dtype = r->key->side[ref].dtype;
  const bool real = pl_is_float(dtype) || as_float;
  if (as_float && dtype == PL_INT32) {
    fail_pair(line, "a load", PL_V_FLOAT, ref);
    return PL_VNONE;
  }
  struct vfn_node *n = add(TPU_VOP_LD, real ? PL_V_FLOAT : PL_V_INT, line, ref);
  if (n != NULL)
    n->flags = (uint8_t)((real ? 0 : VFN_FLAG_INT) | fill * VFN_FLAG_FILL);
  r->loads |= (uint8_t)(1u << ref);
  return value_of(n);
}

void pl_vrecord_store(uint32_t ref, pl_v v, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;
  unsigned a;

  if (!is_recording(line) || !check_ref(ref, line) || (a = use(v, TPU_VOP_ST, 0, line)) == 0)
    return;
  const unsigned dtype = r->key->side[ref].dtype;
  unsigned type = r->node[a].type;
  if (type == PL_V_ANY)
    type = pl_is_float(dtype) ? PL_V_FLOAT : PL_V_INT;
  if (pl_dtype_bytes((pl_dtype)dtype) > 1 && (type == PL_V_FLOAT) != pl_is_float(dtype)) {
    fail_pair(line, "a store", type, ref);
    return;
  }
  struct vfn_node *n = add(TPU_VOP_ST, type, line, ref);
  if (n == NULL)
    return;
  n->a = (uint8_t)a;
  n->flags = (uint8_t)(VFN_FLAG_LIVE | (type == PL_V_INT ? VFN_FLAG_INT : 0));
  r->stores |= (uint8_t)(1u << ref);
}

/* The type of operands together, PL_V_ANY if none says; false with an error if they differ. */
static bool join(unsigned *type, const struct vfn_node *n, const struct vfn_node *other, uint32_t line) {
  if (n->type == PL_V_ANY || n->type == *type)
    return true;
  if (*type == PL_V_ANY) {
    *type = n->type;
    return true;
  }
  if (vfn_fail(PL_ERROR_SHAPE, line))
    pl_message_add("f32 meets int32 (values of lines %u and %u); convert one with pl_vfloat, pl_vint_rne or "
                   "pl_vint_rtz",
                   other->line, n->line);
  return false;
}

pl_v pl_vrecord_op(unsigned op, pl_v a, pl_v b, pl_v c, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;
  const pl_v given[3] = {a, b, c};
  uint8_t operand[3] = {0, 0, 0};
  unsigned type = PL_V_ANY;

  if (!is_recording(line))
    return PL_VNONE;
  const bool selects = (op & 0xff) == TPU_VOP_SEL;
  for (unsigned i = 0; i < (op >> 24 & 3); i++) {
    if ((operand[i] = (uint8_t)use(given[i], op, i, line)) == 0)
      return PL_VNONE;
    const struct vfn_node *n = &r->node[operand[i]];
    unsigned mask = PL_V_INT;
    if (!join(selects && i == 2 ? &mask : &type, n, &r->node[operand[0]], line))
      return PL_VNONE;
  }
  if (type == PL_V_ANY)
    type = (op & 0xff) != 0 ? PL_V_FLOAT : PL_V_INT;
  const unsigned code = type == PL_V_FLOAT ? op & 0xff : op >> 8 & 0xff, result = op >> 16 & 0xff;
  if (code == 0) {
    if (vfn_fail(PL_ERROR_SHAPE, line))
      pl_message_add("the operand is %s (value of line %u); this operation is for %s",
                     type == PL_V_FLOAT ? "f32" : "int32", r->node[operand[0]].line,
                     type == PL_V_FLOAT ? "int32" : "f32");
    return PL_VNONE;
  }
  if (code >= TPU_VOP_EXP2 && code <= TPU_VOP_SIGMOID && pl_context.params.value[TPU_PARAM_EUP_LANES] == 0) {
    if (vfn_fail(PL_ERROR_UNSUPPORTED, line))
      pl_message_add("this configuration has no transcendental functions");
    return PL_VNONE;
  }
  struct vfn_node *n = add(code, result != 0 ? result : type, line, 0);
  if (n != NULL) {
    n->a = operand[0];
    n->b = operand[1];
    n->c = operand[2];
  }
  return value_of(n);
}

pl_v pl_vrecord_neg(pl_v a, uint32_t line) {
  if (!is_recording(line))
    return PL_VNONE;
  const unsigned node = use(a, VFN_NEG, 0, line);
  const bool real = node != 0 && vfn_recording.node[node].type != PL_V_INT;
  return pl_vrecord_op(PL_VOP(FSUB, ISUB, PL_VOP_SAME) | PL_VARITY(2),
                       pl_vrecord_const(real ? 0x80000000u : 0, real ? PL_V_FLOAT : PL_V_INT, line), a,
                       PL_VNONE, line);
}

pl_v pl_vrecord_move(unsigned op, pl_v a, unsigned n, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;
  unsigned node;

  if (!is_recording(line) || (node = use(a, op, 0, line)) == 0)
    return PL_VNONE;
  struct vfn_node *move = add(op, r->node[node].type, line, n & 31);
  if (move != NULL)
    move->a = (uint8_t)node;
  return value_of(move);
}

pl_v pl_vrecord_random(unsigned key, int offset, uint32_t line) {
  const int scalars = vfn_recording.fn != NULL ? vfn_recording.fn->scalars : 0;

  if (!is_recording(line))
    return PL_VNONE;
  if ((int)key + 1 >= scalars || offset + 1 >= scalars) {
    fail_line(line, "pl_vrandom: key and offset are each the first of two scalars of the function");
    return PL_VNONE;
  }
  return value_of(add(TPU_VOP_RAND, PL_V_INT, line, key | (uint32_t)(offset + 1) << 8));
}

pl_v pl_vbits(pl_v v, unsigned type, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;

  if (!is_recording(line))
    return PL_VNONE;
  const unsigned a = use(v, VFN_ALIAS + type, 0, line);
  if (a == 0)
    return PL_VNONE;
  /* Another name: vfn_compile.c looks through it. */
  struct vfn_node *n = add(VFN_ALIAS, type, r->node[a].line, 0);
  if (n == NULL)
    return PL_VNONE;
  n->a = r->node[a].op == VFN_ALIAS ? r->node[a].a : (uint8_t)a;
  return value_of(n);
}

/* ---- loops ---- */

pl_vloop pl_vrecord_loop(unsigned axis, pl_v *const *carried, unsigned n, uint32_t line) {
  struct vfn_recording *r = &vfn_recording;
  const pl_vloop none = {0, false};

  if (!is_recording(line))
    return none;
  if (r->loops == VFN_MAX_LOOPS) {
    if (vfn_fail(PL_ERROR_LIMIT, line))
      pl_message_add("more than %d loops", VFN_MAX_LOOPS);
    return none;
  }
  if (r->loop != 0 && (axis != PL_VAXIS_LANES || r->loop_of[r->loop].axis != PL_VAXIS_ROWS)) {
    fail_line(line, "a loop in a loop; only a PL_FOR_ROWS can have others in it, which are PL_FOR_LANES");
    return none;
  }
  if (r->variables + n - 1 > sizeof r->variable / sizeof r->variable[0]) {
    fail_line(line, "loops carry too many variables");
    return none;
  }
  struct vfn_loop *loop = &r->loop_of[r->loops + 1];
  *loop = (struct vfn_loop){
      .axis = (uint8_t)axis, .parent = r->loop, .carried = (uint8_t)(n - 1), .first = r->nodes};
  for (unsigned i = 1; i < n; i++) { /* carried[0] is there so that there is one */
    for (unsigned k = 1; k < i; k++)
      if (carried[k] == carried[i]) {
        fail_line(line, "a loop carries a variable twice");
        return none;
      }
    const unsigned start = use(*carried[i], VFN_FOR + axis, i - 1, line);
    struct vfn_node *phi = start != 0 ? add(VFN_PHI, r->node[start].type, r->node[start].line, 0) : NULL;
    if (phi == NULL)
      return none;
    phi->a = (uint8_t)start;
    r->variable[r->variables++] = carried[i];
    *carried[i] = value_of(phi);
  }
  loop->begin = r->nodes;
  struct vfn_node *begin = add(TPU_VOP_LOOP, 0, line, r->loops + 1u);
  if (begin == NULL)
    return none;
  begin->flags = VFN_FLAG_LIVE;
  r->loop = ++r->loops;
  return (pl_vloop){r->loop, true};
}

/* Whether a value is a carried one as loops inside leave it, which change it inside the shape only. */
static bool from_loops_inside(const struct vfn_recording *r, unsigned value, unsigned phi) {
  while (value != phi && r->node[value].op == VFN_PHI)
    value = r->node[value].a;
  return value == phi;
}

static bool has_loops_inside(const struct vfn_recording *r) {
  for (unsigned i = r->loops; i > 0; i--)
    if (r->loop_of[i].parent == r->loop)
      return true;
  return false;
}

/*
 * Carried values change inside the shape only. In a PL_FOR_ROWS with loops in it the mask is that of their
 * last tile, of which the first column is always inside.
 */
static unsigned inside(struct vfn_recording *r, const struct vfn_loop *loop, unsigned next, unsigned phi,
                       unsigned type, uint32_t line) {
  const unsigned ragged = loop->parent != 0             ? VFN_SHAPE_RAGGED_ROWS | VFN_SHAPE_RAGGED_COLUMNS
                          : loop->axis == PL_VAXIS_ROWS ? VFN_SHAPE_RAGGED_ROWS
                                                        : VFN_SHAPE_RAGGED_COLUMNS;
  if (r->neutral)
    return next;
  const bool outer = has_loops_inside(r);
  r->matters |= (uint8_t)ragged;
  if (!(r->key->shape & ragged))
    return next;
  const unsigned a = outer ? pl_vrecord_const(UINT32_MAX, PL_V_INT, line).id & 0xff : next,
                 b = outer ? pl_vrecord_const(0, PL_V_INT, line).id & 0xff : phi;
  struct vfn_node *n = a != 0 && b != 0 ? add(TPU_VOP_SELM, outer ? PL_V_INT : type, line, 0) : NULL;
  if (n == NULL)
    return 0;
  n->a = (uint8_t)a;
  n->b = (uint8_t)b;
  const unsigned mask = (unsigned)(n - r->node);
  if (!outer)
    return mask;
  n->flags = VFN_FLAG_SPREAD;
  if ((n = add(TPU_VOP_SEL, type, line, 0)) == NULL)
    return 0;
  n->a = (uint8_t)next;
  n->b = (uint8_t)phi;
  n->c = (uint8_t)mask;
  return (unsigned)(n - r->node);
}

void pl_vrecord_end(pl_vloop *handle) {
  struct vfn_recording *r = &vfn_recording;

  handle->open = false;
  if (r->fn == NULL || pl_context.status != PL_OK)
    return;
  struct vfn_loop *loop = &r->loop_of[r->loop];
  for (unsigned i = 0; i < loop->carried; i++) {
    pl_v *const variable = r->variable[r->variables - loop->carried + i];
    const unsigned phi = loop->first + i;
    const uint32_t line = r->node[phi].line;
    unsigned next = use(*variable, VFN_FOR + loop->axis, i, line);
    if (next == 0)
      return;
    unsigned type = r->node[phi].type;
    if (!join(&type, &r->node[next], &r->node[phi], line))
      return;
    if (r->node[next].op == VFN_ALIAS)
      next = r->node[next].a;
    r->node[phi].type = (uint8_t)type;
    if (next != phi) {
      const bool masked = from_loops_inside(r, next, phi);
      if (next >= loop->first && next < (unsigned)loop->first + loop->carried) {
        /* a copy, because all of them change at once */
        struct vfn_node *copy = add(TPU_VOP_MOV, type, line, 0);
        if (copy == NULL)
          return;
        copy->a = (uint8_t)next;
        next = (unsigned)(copy - r->node);
      }
      if (!masked && (next = inside(r, loop, next, phi, type, line)) == 0)
        return;
    }
    r->node[phi].b = (uint8_t)next;
    *variable = handle_of(phi);
  }
  r->variables = (uint8_t)(r->variables - loop->carried);
  struct vfn_node *end = add(TPU_VOP_END, 0, 0, r->loop);
  if (end == NULL)
    return;
  end->flags = VFN_FLAG_LIVE;
  loop->end = (uint8_t)(end - r->node);
  r->loop = loop->parent;
}

/* ---- the body ---- */

bool vfn_record(struct pl_context *c, const struct vfn_key *key) {
  struct vfn_recording *r = &vfn_recording;
  struct pl_context_head *head = &c->head;
  const uint32_t inputs = head->inputs, outputs = head->outputs, scratches = head->scratches,
                 prefetches = head->prefetches, rank = head->grid.rank;
  void *const user = head->grid.user;
  const uint8_t in_body = c->in_body;

  r->fn = key->fn;
  r->key = key;
  r->number++;
  r->neutral = false;
  r->matters = r->stores = r->loads = r->loops = r->loop = r->variables = 0;
  r->nodes = 1;
  head->inputs = head->outputs = head->scratches = head->prefetches = head->grid.rank = 0;
  head->grid.user = NULL;
  c->in_body = false;
  pl_recording = key->fn->name;
  key->fn->body();
  if (r->loop != 0)
    fail_line(r->node[r->loop_of[r->loop].begin].line, "a loop that was left by break, goto or return");
  else if (r->stores == 0)
    fail_line(0, "the body stores nothing");
  pl_recording = NULL;
  r->fn = NULL;
  c->in_body = in_body;
  head->inputs = inputs;
  head->outputs = outputs;
  head->scratches = scratches;
  head->prefetches = prefetches;
  head->grid.rank = rank;
  head->grid.user = user;
  return c->status == PL_OK;
}
