/* SPDX-License-Identifier: MIT */
/* What an operand is: from a block spec and an array to blocks, strides and the words of its copies. */
#include "internal.h"

static pl_status choose_kind(struct pl_operand *op, const pl_block_spec *spec, const pl_array *array) {
  unsigned wanted = spec != NULL ? spec->space : PL_DEFAULT;

  if (array->space != PL_HBM) {
    if (array->space < PL_VMEM || array->space > PL_ACC)
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array is in space %u", array->space);
    if (wanted != PL_DEFAULT && wanted != array->space)
      return pl_fail_operand(PL_ERROR_SPEC, op, "the array is in %s, its spec wants %s; copy it in the body",
                             pl_space_name(array->space), pl_space_name(wanted));
    op->kind = PL_OPERAND_DIRECT;
    op->space = array->space;
    return PL_OK;
  }
  if (wanted == PL_HBM) {
    if (spec->map != NULL || spec->rank != 0)
      return pl_fail_operand(PL_ERROR_SPEC, op, "a spec in HBM takes the whole array: no shape and no map");
    op->kind = PL_OPERAND_HBM;
    op->space = PL_HBM;
    return PL_OK;
  }
  op->kind = PL_OPERAND_BLOCKED;
  op->space = (uint8_t)(wanted == PL_DEFAULT ? PL_VMEM : wanted);
  if (op->space != PL_VMEM && op->space != PL_SMEM)
    return pl_fail_operand(PL_ERROR_SPEC, op, "blocks cannot be moved to %s; use VMEM and copy in the body",
                           pl_space_name(op->space));
  return PL_OK;
}

static pl_status check_array(const struct pl_operand *op, const pl_array *array) {
  if (array->rank > PL_MAX_RANK || pl_dtype_bytes(array->dtype) == 0)
    return pl_fail_operand(PL_ERROR_ARGUMENT, op, "an array of rank %u (PL_MAX_RANK is %d), dtype %u",
                           (unsigned)array->rank, PL_MAX_RANK, (unsigned)array->dtype);
  for (unsigned d = 0; d < array->rank; d++)
    if (array->shape[d] <= 0)
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array's dimension %u has extent %d", d,
                             (int)array->shape[d]);
  return PL_OK;
}

/* Bytes between neighbours in dimension d of an array; rows in ACC, whose last dimension has none. */
static uint32_t array_stride(const pl_array *array, unsigned d) {
  if (d + 1 == array->rank)
    return array->space == PL_ACC ? 0 : pl_dtype_bytes(array->dtype);
  uint32_t stride = array->space == PL_ACC ? 1 : array->pitch;
  for (unsigned i = array->rank - 2; i > d; i--)
    stride *= (uint32_t)array->shape[i];
  return stride;
}

static pl_status plan_dimension(struct pl_operand *op, unsigned d, int32_t block, const pl_array *array) {
  struct pl_dim *dim = &op->dim[d];
  char text[64];

  dim->block = block;
  dim->extent = array->shape[d];
  if (block <= 0)
    return pl_fail_operand(PL_ERROR_SPEC, op, "block dimension %u has extent %d", d, (int)block);
  dim->blocks = (uint32_t)pl_cdiv(dim->extent, block);
  dim->full = (uint32_t)(dim->extent / block);
  dim->stride = array_stride(array, d) * (uint32_t)block;
  if (op->kind != PL_OPERAND_DIRECT)
    return PL_OK;
  if (dim->blocks != dim->full) {
    pl_shape_text(array->shape, array->rank, text);
    return pl_fail_operand(
        PL_ERROR_SPEC, op,
        "an array that is used in place must be cut evenly: dimension %u of %s by blocks of %d", d, text,
        (int)block);
  }
  if (array->space == PL_VMEM && d + 1 == array->rank && dim->blocks > 1 &&
      (uint32_t)block % pl_context.lanes != 0)
    return pl_fail_operand(PL_ERROR_SPEC, op, "blocks of %d columns in place; a multiple of %u is needed",
                           (int)block, (unsigned)pl_context.lanes);
  if (array->space == PL_ACC && d + 1 == array->rank) {
    if (dim->blocks > 1 && (uint32_t)block % pl_context.dim != 0)
      return pl_fail_operand(PL_ERROR_SPEC, op, "blocks of %d columns in ACC; a multiple of %u is needed",
                             (int)block, (unsigned)pl_context.dim);
    dim->stride = (uint32_t)block / pl_context.dim * array->pitch;
  }
  return PL_OK;
}

static pl_status plan_view(struct pl_operand *op, const pl_array *array) {
  struct pl_view *v = &op->view;
  uint64_t bytes = 1;

  v->space = op->space;
  v->dtype = array->dtype;
  v->rank = array->rank;
  v->index = (uint8_t)op->number;
  v->kind = op->output ? PL_VIEW_OUTPUT : PL_VIEW_INPUT;
  v->flags = op->output ? 0 : PL_VIEW_READ_ONLY;
  v->dot = &pl_no_dot;
  for (unsigned d = 0; d < v->rank; d++)
    v->shape[d] = op->dim[d].block;
  if (op->kind == PL_OPERAND_BLOCKED) {
    v->pitch = pl_row_pitch(op->space, v->dtype, v->rank > 0 ? v->shape[v->rank - 1] : 1);
    pl_view_strides(v);
    bytes = v->pitch;
    for (int d = 0; d + 1 < v->rank; d++) {
      bytes *= (uint32_t)v->shape[d];
      if (bytes > INT32_MAX)
        return pl_fail_operand(PL_ERROR_BUDGET, op, "a block of more than 2^31 bytes");
    }
    op->slot_bytes = (uint32_t)((bytes + PL_ALIGN - 1) / PL_ALIGN * PL_ALIGN);
  } else { /* a part of the array, with the array's strides */
    v->pitch = array->pitch;
    for (unsigned d = 0; d < v->rank; d++)
      v->stride[d] = (int32_t)array_stride(array, d);
  }
  return PL_OK;
}

/* What the header has and this version has not. */
static pl_status check_supported(const struct pl_operand *op, const pl_block_spec *spec) {
  static const char *const kinds[] = {"BLOCKED", "SQUEEZED", "ELEMENT", "BOUNDED", "INDIRECT"};
  for (unsigned d = 0; d < PL_MAX_RANK; d++) {
    if (spec->kind[d] > PL_INDIRECT)
      return pl_fail_operand(PL_ERROR_SPEC, op,
                             "block dimension %u is of kind %u; PL_INDIRECT (%d) is the last", d,
                             (unsigned)spec->kind[d], PL_INDIRECT);
    if (spec->kind[d] != PL_BLOCKED)
      return pl_fail_operand(PL_ERROR_UNSUPPORTED, op,
                             "block dimension %u is %s, which is not in this version", d,
                             kinds[spec->kind[d]]);
  }
  if (spec->fill != 0 || spec->pad_value != 0)
    return pl_fail_operand(PL_ERROR_UNSUPPORTED, op, "fill and pad_value are not in this version");
  if (spec->lookahead || spec->revisit_any || spec->inout || spec->alias || spec->prefetched)
    return pl_fail_operand(PL_ERROR_UNSUPPORTED, op,
                           "lookahead, revisit_any, inout, alias and prefetched are not in this version");
  return PL_OK;
}

pl_status pl_operand_plan(struct pl_operand *op, const pl_block_spec *spec, const pl_array *array) {
  char block[64], shape[64];

  op->group.readers = 0;
  op->wait_queue = PL_NOBODY;
  if (check_array(op, array) != PL_OK || (spec != NULL && check_supported(op, spec) != PL_OK) ||
      choose_kind(op, spec, array) != PL_OK)
    return pl_context.status;
  op->rank = array->rank;
  op->dtype = array->dtype;
  bool whole = spec == NULL || spec->rank == 0;
  if (!whole && spec->rank != array->rank) {
    pl_shape_text(spec->shape, spec->rank < PL_MAX_RANK ? spec->rank : PL_MAX_RANK, block);
    pl_shape_text(array->shape, array->rank, shape);
    return pl_fail_operand(PL_ERROR_SPEC, op, "the block %s has rank %u, the array %s has rank %u", block,
                           (unsigned)spec->rank, shape, (unsigned)array->rank);
  }
  uint64_t blocks = 1;
  for (unsigned d = 0; d < op->rank; d++) {
    if (plan_dimension(op, d, whole ? array->shape[d] : spec->shape[d], array) != PL_OK)
      return pl_context.status;
    blocks *= op->dim[d].blocks;
  }
  op->map = spec != NULL ? spec->map : NULL;
  op->moves = op->map != NULL && blocks > 1;
  op->buffers = !op->moves ? 1 : spec->buffer_count == 0 ? 2 : spec->buffer_count;
  if (op->buffers > PL_MAX_BUFFERS)
    return pl_fail_operand(PL_ERROR_LIMIT, op, "%u buffers; PL_MAX_BUFFERS is %d", (unsigned)op->buffers,
                           PL_MAX_BUFFERS);
  if (plan_view(op, array) != PL_OK)
    return pl_context.status;
  if (array->space == PL_HBM) {
    uint64_t bytes = pl_dtype_bytes(array->dtype);
    if (op->rank > 0)
      bytes = (uint64_t)array_stride(array, 0) * (uint32_t)array->shape[0];
    if (bytes > INT32_MAX)
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "an array of more than 2^31 bytes");
    op->hbm_bytes = (uint32_t)bytes;
  }
  if (op->kind != PL_OPERAND_BLOCKED)
    return PL_OK;
  if (op->output && op->moves && blocks <= PL_MAX_REVISIT_BLOCKS) {
    op->visited_words = (uint32_t)(blocks + 31) / 32;
    op->visited = pl_arena_take(op->visited_words * 4);
    if (op->visited == NULL)
      return pl_context.status;
  }
  return pl_transfer_plan(op, array);
}

pl_status pl_operand_bind(struct pl_operand *op, const pl_array *array) {
  op->base = array->address;
  if (array->space == PL_HBM) {
    uint64_t end = (uint64_t)array->address + op->hbm_bytes;
    if (end > pl_context.params.value[TPU_PARAM_HBM_BYTES])
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array ends at 0x%lx, HBM has 0x%x bytes",
                             (unsigned long)end, (unsigned)pl_context.params.value[TPU_PARAM_HBM_BYTES]);
    if (op->kind == PL_OPERAND_HBM) {
      op->view.buffer = op->buffer;
      op->buffer->address = array->address;
    }
    return PL_OK;
  }
  struct pl_buffer *buffer = pl_resident_buffer(array);
  if (buffer == NULL)
    return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array at 0x%x of %s is not one of pl_alloc()",
                           (unsigned)array->address, pl_space_name(array->space));
  op->view.buffer = buffer;
  op->base = array->address - buffer->address;
  op->view.offset = op->base;
  return PL_OK;
}
