/* SPDX-License-Identifier: MIT */
/*
 * A checked vector operation as loops, pitches and strides of one command; a record of the result's view
 * keeps them for the next time (vector_queue.c).
 */
#include "vector.h"

void pl_set_address(struct pl_vector_record *r, unsigned areg, unsigned operand, uint32_t offset,
                    int32_t pitch, int32_t stride0, int32_t stride1) {
  r->operand[areg] = (uint8_t)operand;
  r->offset[areg] = offset;
  r->pitch[areg] = pitch;
  r->stride[areg][0] = stride0;
  r->stride[areg][1] = stride1;
  r->stride[areg][2] = 0;
}

static int32_t tile_step(const struct pl_view *v) {
  return v->space == PL_ACC ? (int32_t)v->pitch : (int32_t)(pl_context.lanes * pl_dtype_bytes(v->dtype));
}

static void describe_elementwise(struct pl_vector_record *r, const struct pl_vector_call *call,
                                 const struct pl_signature *s, const struct pl_program *p) {
  const struct pl_plane *o = &call->plane[0];
  const uint32_t lanes = pl_context.lanes, step = 8u * s->groups;
  const int32_t passes = (int32_t)(((uint32_t)o->rows + step - 1) / step);

  r->loop[0] = ((uint32_t)o->columns + lanes - 1) / lanes;
  r->loop[1] = (uint32_t)passes;
  r->edge = 1u << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | 0u << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            (uint32_t)s->groups << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  for (unsigned i = 0; i <= s->sources; i++) {
    const struct pl_side *side = &s->side[i];
    const int32_t pitch = call->plane[i].pitch, down = (int32_t)step * pitch,
                  across = tile_step(call->view[i]);
    switch (side->broadcast) {
    case PL_BROADCAST_ROW:
      pl_set_address(r, p->areg[i], i, 0, 0, across, 0);
      break;
    case PL_BROADCAST_ELEMENT:
      pl_set_address(r, p->areg[i], i, 0, 0, 0, 0);
      break;
    default:
      for (unsigned g = 0; g < (pl_one_register(side) ? 1u : s->groups); g++)
        pl_set_address(r, p->areg[i] + g, i, (uint32_t)(8 * (int32_t)g * pitch), pitch,
                       (side->broadcast == PL_BROADCAST_COLUMN ? 0 : across) - passes * down, down);
    }
  }
}

/* Argmax and reductions. Over rows the outer loop goes over columns, else over rows. */
static void describe_reduction(struct pl_vector_record *r, const struct pl_vector_call *call,
                               const struct pl_program *p) {
  const struct pl_plane *x = &call->plane[1], *o = &call->plane[0];
  const unsigned over =
      call->operation < PL_OP_REDUCE ? (unsigned)PL_OVER_COLUMNS : (call->operation - PL_OP_REDUCE) / 3;
  const uint32_t lanes = pl_context.lanes, row_level = over == PL_OVER_ROWS;
  const int32_t tiles = (int32_t)(((uint32_t)x->columns + lanes - 1) / lanes), groups = (x->rows + 7) / 8;
  const int32_t across = tile_step(call->view[1]), down = 8 * x->pitch;
  /* One element a row: down a column, or along a row. */
  const int32_t next =
      o->rows == x->rows && o->columns == 1 ? o->pitch : (int32_t)pl_dtype_bytes(call->view[0]->dtype);

  r->loop[row_level] = (uint32_t)groups;
  r->loop[1 - row_level] = (uint32_t)tiles;
  r->edge = row_level << TPU_VPU_EDGE_ROW_LEVEL_SHIFT | (1 - row_level) << TPU_VPU_EDGE_COL_LEVEL_SHIFT |
            1u << TPU_VPU_EDGE_ROW_STEP_SHIFT | 1u << TPU_VPU_EDGE_COL_STEP_SHIFT;
  r->rows = (uint32_t)x->rows;
  r->columns = (uint32_t)x->columns;
  const bool peeled = call->operation >= PL_OP_REDUCE; /* the last tile of the inner loop (reduce.c) */
  r->loop[1] -= peeled;
  if (over == PL_OVER_ROWS) {
    pl_set_address(r, p->areg[1], 1, 0, x->pitch, across - (groups - 1) * down, down);
    pl_set_address(r, p->areg[0], 0, 0, 0, tile_step(call->view[0]), 0);
  } else {
    pl_set_address(r, p->areg[1], 1, 0, x->pitch, down - (tiles - peeled) * across, across);
    pl_set_address(r, p->areg[0], 0, 0, over == PL_OVER_ALL ? 0 : next, over == PL_OVER_ALL ? 0 : 8 * next,
                   0);
  }
}

static bool make_record(struct pl_context *c, struct pl_vector_record *r, const struct pl_vector_call *call,
                        struct pl_signature *s) {
  struct pl_program p;

  s->operation = (uint8_t)call->operation;
  s->sources = (uint8_t)call->sources;
  const uint32_t rows = (uint32_t)call->plane[call->operation >= PL_OP_ARGMAX ? 1 : 0].rows;
  pl_assign_registers(s, &p, (rows + 7) / 8);
  if (!pl_load_program(c, s, &p, &r->entry, call->maker))
    return false;
  r->addresses = p.aregs;
  r->rows = (uint32_t)call->plane[0].rows;
  r->columns = (uint32_t)call->plane[0].columns;
  if (call->maker != NULL && call->maker->describe != NULL)
    call->maker->describe(r, call, &p);
  else if (call->operation >= PL_OP_ARGMAX)
    describe_reduction(r, call, &p);
  else
    describe_elementwise(r, call, s, &p);
  if (call->bounded) {
    r->rows = (uint32_t)call->rows;
    r->columns = (uint32_t)call->columns;
  }
  r->operation = (uint8_t)call->operation;
  r->sources = (uint8_t)call->sources;
  r->programs = pl_programs_generation;
  for (unsigned i = 0; i < PL_VECTOR_SOURCES; i++)
    r->source[i] =
        i < call->sources && !(call->view[1 + i]->flags & PL_VIEW_POOLED) ? call->view[1 + i] : NULL;
  return true;
}

void pl_vector_run(struct pl_context *c, struct pl_vector_call *call, struct pl_signature *s) {
  struct pl_vector_record local, *r = call->view[0]->vector;

  if (!c->params.value[TPU_PARAM_VPU_PRESENT]) {
    pl_fail(PL_ERROR_UNSUPPORTED, "%s: this configuration has no vector unit",
            pl_operation_name(call->operation));
    return;
  }
  for (unsigned i = 0; i <= call->sources; i++) {
    s->side[i].dtype = call->view[i]->dtype;
    s->side[i].acc = call->view[i]->space == PL_ACC;
  }
  if (r == NULL || call->bounded)
    r = &local;
  c->queue[TPU_QUEUE_VPU].owner = NULL;
  if (!make_record(c, r, call, s))
    return;
  pl_vector_queue(c, r, call->view, call->scalar);
  if (r == &local) /* which ends here */
    c->queue[TPU_QUEUE_VPU].owner = NULL;
  if (call->written != NULL)
    pl_queue_copy(c, call->view[0], call->written);
}
