/* SPDX-License-Identifier: MIT */
/* What an operand is: from a block spec and an array to blocks, strides and the words of its copies. */
#include "internal.h"

static pl_status choose_kind(struct pl_operand *op, const pl_block_spec *spec, const pl_array *array) {
  unsigned wanted = spec != NULL ? spec->space : PL_DEFAULT;

  if (array->space != PL_HBM) {
    if (array->space < PL_VMEM || array->space > PL_ACC)
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array is in space %u", array->space);
    if (wanted != PL_DEFAULT && wanted != array->space)
      return pl_fail_operand(PL_ERROR_SPEC, op, "the array is in %pN, its spec wants %s; copy it in the body",
                             array, pl_space_name(wanted));
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
    if (array->shape[d] < (op->view.kind == PL_VIEW_PREFETCH ? 0 : 1))
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

/* How many indices there are, and how many of them are of blocks that lie wholly inside. */
static pl_status count_indices(const struct pl_operand *op, unsigned d, int32_t pad_high) {
  struct pl_dim *dim = (struct pl_dim *)&op->dim[d];
  const int32_t block = dim->block, extent = dim->extent;

  switch (dim->kind) {
  case PL_ELEMENT:
    if (pad_high < 0 || pad_high > INT32_MAX - extent || block > extent + pad_high)
      return pl_fail_operand(PL_ERROR_SPEC, op,
                             "block dimension %u: windows of %d elements, pad_high %d; the array has %d, so "
                             "pad_high must be %d or more",
                             d, (int)block, (int)pad_high, (int)extent,
                             block > extent ? (int)(block - extent) : 0);
    dim->blocks = (uint32_t)(extent + pad_high - block) + 1;
    dim->full = block > extent ? 0 : (uint32_t)(extent - block) + 1;
    return PL_OK;
  case PL_BOUNDED:
    dim->blocks = (uint32_t)extent + 1;
    dim->full = 0;
    return PL_OK;
  case PL_INDIRECT:
    if ((uint32_t)extent > TPU_DMA_BOUND_ROWS_MASK)
      return pl_fail_operand(PL_ERROR_LIMIT, op,
                             "block dimension %u is INDIRECT, and the array has %d there; %u is the most", d,
                             (int)extent, (unsigned)TPU_DMA_BOUND_ROWS_MASK);
    dim->blocks = 1;
    dim->full = 0;
    return PL_OK;
  default:
    dim->blocks = ((uint32_t)extent - 1) / (uint32_t)block + 1;
    dim->full = (uint32_t)(extent / block);
    return PL_OK;
  }
}

/* What an array that is used in place does not allow. */
static pl_status check_in_place(const struct pl_operand *op, unsigned d, const pl_array *array) {
  const struct pl_dim *dim = &op->dim[d];
  const bool columns = d + 1 == array->rank;
  const uint32_t unit = array->space == PL_VMEM ? pl_context.lanes : pl_context.dim;

  if (dim->kind >= PL_BOUNDED || (dim->kind == PL_ELEMENT && dim->full != dim->blocks))
    return pl_fail_operand(
        PL_ERROR_UNSUPPORTED, op,
        "block dimension %u is %s, and the array is used in place in %pN: there is no block "
        "to fill; copy in the body, or use an array in HBM",
        d,
        dim->kind == PL_INDIRECT  ? "INDIRECT"
        : dim->kind == PL_BOUNDED ? "BOUNDED"
                                  : "ELEMENT with pad_high",
        array);
  if (dim->blocks != dim->full)
    return pl_fail_operand(
        PL_ERROR_SPEC, op,
        "an array that is used in place must be cut evenly: dimension %u of %pH by blocks of %d", d, array,
        (int)dim->block);
  const uint32_t row = pl_row_pitch(PL_VMEM, array->dtype, 1);
  if (array->space == PL_VMEM && !columns && dim->blocks > 1 && dim->stride % row != 0)
    return pl_fail_operand(
        PL_ERROR_SPEC, op,
        "blocks along dimension %u are %u bytes apart in place in %pN; a multiple of %u is needed", d,
        (unsigned)dim->stride, array, (unsigned)row);
  if (!columns || array->space == PL_SMEM)
    return PL_OK;
  if (dim->kind == PL_SQUEEZED)
    return pl_fail_operand(
        PL_ERROR_UNSUPPORTED, op,
        "block dimension %u, the last one, is SQUEEZED, and the array is used in place in %pN", d, array);
  if (dim->blocks > 1 && (dim->kind == PL_ELEMENT || (uint32_t)dim->block % unit != 0))
    return pl_fail_operand(
        PL_ERROR_SPEC, op, "%s of %d columns in place in %pN; BLOCKED by a multiple of %u is needed",
        dim->kind == PL_ELEMENT ? "windows" : "blocks", (int)dim->block, array, (unsigned)unit);
  return PL_OK;
}

static pl_status plan_dimension(struct pl_operand *op, unsigned d, const pl_block_spec *spec,
                                const pl_array *array) {
  struct pl_dim *dim = &op->dim[d];
  const bool whole = spec == NULL || spec->rank == 0;
  const bool columns = d + 1 == array->rank;

  dim->kind = whole ? (uint8_t)PL_BLOCKED : spec->kind[d];
  dim->block = whole ? array->shape[d] : spec->shape[d];
  dim->extent = array->shape[d];
  if (dim->kind == PL_SQUEEZED && dim->block == 0)
    dim->block = 1;
  if (dim->block <= 0)
    return pl_fail_operand(PL_ERROR_SPEC, op, "block dimension %u has extent %d", d, (int)dim->block);
  if (dim->kind == PL_SQUEEZED && dim->block != 1)
    return pl_fail_operand(PL_ERROR_SPEC, op, "block dimension %u is SQUEEZED and has extent %d; 1 is right",
                           d, (int)dim->block);
  if (count_indices(op, d, whole ? 0 : spec->pad_high[d]) != PL_OK)
    return pl_context.status;
  const bool elements = dim->kind >= PL_ELEMENT;
  dim->stride = dim->memory * (elements ? 1u : (uint32_t)dim->block);
  op->general = op->general || elements;
  if (op->kind != PL_OPERAND_DIRECT)
    return PL_OK;
  if (check_in_place(op, d, array) != PL_OK)
    return pl_context.status;
  if (array->space == PL_ACC && columns)
    dim->stride = (uint32_t)dim->block / pl_context.dim * array->pitch;
  return PL_OK;
}

/* The ref lacks squeezed dimensions. */
static pl_status plan_view(struct pl_operand *op, const pl_array *array) {
  struct pl_view *v = &op->view;
  uint64_t bytes = 1;
  unsigned n = 0;

  v->space = op->space;
  v->dtype = array->dtype;
  v->flags = v->kind == PL_VIEW_INPUT ? PL_VIEW_READ_ONLY : 0;
  v->dot = &pl_no_dot;
  for (unsigned d = 0; d < op->rank; d++)
    if (op->dim[d].kind != PL_SQUEEZED)
      v->shape[n++] = op->dim[d].block;
  v->rank = (uint8_t)n;
  if (op->kind != PL_OPERAND_BLOCKED) { /* a part of the array, with the array's strides */
    v->pitch = array->pitch;
    for (unsigned d = 0, i = 0; d < op->rank; d++)
      if (op->dim[d].kind != PL_SQUEEZED)
        v->stride[i++] = (int32_t)op->dim[d].memory;
    return PL_OK;
  }
  v->pitch = pl_row_pitch(op->space, v->dtype, v->rank > 0 ? v->shape[v->rank - 1] : 1);
  pl_view_strides(v);
  for (unsigned d = 0, i = 0; d < op->rank; d++)
    op->dim[d].chip = op->dim[d].kind != PL_SQUEEZED ? (uint32_t)v->stride[i++] : 0;
  bytes = v->pitch;
  for (int d = 0; d + 1 < v->rank; d++) {
    bytes *= (uint32_t)v->shape[d];
    if (bytes > INT32_MAX)
      return pl_fail_operand(PL_ERROR_BUDGET, op, "a block of more than 2^31 bytes");
  }
  op->slot_bytes = (uint32_t)((bytes + PL_ALIGN - 1) / PL_ALIGN * PL_ALIGN);
  return PL_OK;
}

/* What the DMA writes where a block lies outside. */
static pl_status plan_fill(struct pl_operand *op, const pl_block_spec *spec) {
  const uint32_t value = spec != NULL ? spec->pad_value : 0;
  const int32_t least = op->dtype == PL_INT8 ? INT8_MIN : 0,
                most = op->dtype == PL_INT8 ? INT8_MAX : UINT8_MAX;

  op->unfilled = spec != NULL && spec->fill == PL_FILL_UNSPECIFIED;
  if (op->unfilled && value != 0)
    return pl_fail_operand(PL_ERROR_SPEC, op, "pad_value 0x%x and PL_FILL_UNSPECIFIED; choose one",
                           (unsigned)value);
  switch (op->dtype) {
  case PL_BF16:
    op->pattern = pl_bf16_bits(value) * 0x10001u;
    return PL_OK;
  case PL_INT8:
  case PL_UINT8:
    if ((int32_t)value < least || (int32_t)value > most)
      return pl_fail_operand(PL_ERROR_SPEC, op, "pad_value %d is no %s", (int)value,
                             pl_dtype_name(op->dtype));
    op->pattern = (value & 0xff) * 0x1010101u;
    return PL_OK;
  default:
    op->pattern = value;
    return PL_OK;
  }
}

/* What the header has and this version has not. */
static pl_status check_supported(struct pl_operand *op, const pl_block_spec *spec) {
  for (unsigned d = 0; d < PL_MAX_RANK; d++) {
    if (spec->kind[d] > PL_INDIRECT)
      return pl_fail_operand(PL_ERROR_SPEC, op,
                             "block dimension %u is of kind %u; PL_INDIRECT (%d) is the last", d,
                             (unsigned)spec->kind[d], PL_INDIRECT);
    if (d >= spec->rank && spec->kind[d] != PL_BLOCKED)
      return pl_fail_operand(PL_ERROR_SPEC, op, "block dimension %u has a kind, and the block has rank %u", d,
                             (unsigned)spec->rank);
    if (spec->pad_high[d] != 0 && spec->kind[d] != PL_ELEMENT)
      return pl_fail_operand(PL_ERROR_SPEC, op,
                             "block dimension %u has pad_high %d, which only ELEMENT dimensions have", d,
                             (int)spec->pad_high[d]);
    if (spec->kind[d] != PL_INDIRECT)
      continue;
    if (op->listed || spec->inout || spec->revisit_any || spec->alias)
      return pl_fail_operand(
          PL_ERROR_UNSUPPORTED, op, "block dimension %u is INDIRECT, and %s", d,
          op->listed
              ? "so is one before; a block goes by one list"
              : "rows of two lists may be the same: no inout, no revisit_any, no alias; gather and scatter "
                "in the body");
    op->listed = true;
  }
  if (!op->output && (spec->revisit_any || spec->inout || spec->alias))
    return pl_fail_operand(PL_ERROR_SPEC, op, "%s is of outputs",
                           spec->inout         ? "inout"
                           : spec->revisit_any ? "revisit_any"
                                               : "alias");
  if (op->output && spec->lookahead)
    return pl_fail_operand(PL_ERROR_SPEC, op, "lookahead is of inputs");
  if (spec->prefetched && (op->output || !op->window))
    return pl_fail_operand(
        PL_ERROR_SPEC, op,
        "prefetched is of inputs of pl_emit_pipeline_with_allocations() with buffers of the caller");
  return PL_OK;
}

pl_status pl_operand_plan(struct pl_operand *op, const pl_block_spec *spec, const pl_array *array,
                          const int32_t *stride, uint32_t steps) {
  char block[64];

  op->group.readers = 0;
  op->wait_queue = PL_NOBODY;
  op->view.index = (uint8_t)op->number;
  op->view.kind = op->output ? PL_VIEW_OUTPUT : PL_VIEW_INPUT;
  if (check_array(op, array) != PL_OK || (spec != NULL && check_supported(op, spec) != PL_OK) ||
      choose_kind(op, spec, array) != PL_OK)
    return pl_context.status;
  op->rank = array->rank;
  op->dtype = array->dtype;
  for (unsigned d = 0; d < op->rank; d++)
    op->dim[d].memory = stride != NULL ? (uint32_t)stride[d] : array_stride(array, d);
  bool whole = spec == NULL || spec->rank == 0;
  if (!whole && spec->rank != array->rank) {
    pl_shape_text(spec->shape, spec->rank < PL_MAX_RANK ? spec->rank : PL_MAX_RANK, block);
    return pl_fail_operand(PL_ERROR_SPEC, op, "the block %s has rank %u, the array %pH has rank %u", block,
                           (unsigned)spec->rank, array, (unsigned)array->rank);
  }
  uint64_t blocks = 1;
  for (unsigned d = 0; d < op->rank; d++) {
    if (plan_dimension(op, d, spec, array) != PL_OK)
      return pl_context.status;
    blocks *=
        (uint64_t)op->dim[d].blocks * (op->dim[d].kind == PL_BOUNDED ? (uint32_t)op->dim[d].block + 1 : 1);
    if (blocks > UINT32_MAX)
      blocks = UINT32_MAX; /* so many are not counted one by one */
  }
  op->map = spec != NULL ? spec->map : NULL;
  for (unsigned d = 0; d < op->rank && op->map == NULL; d++)
    if (op->dim[d].kind >= PL_BOUNDED)
      return pl_fail_operand(PL_ERROR_SPEC, op, "block dimension %u is %s and there is no map to give its %s",
                             d, op->dim[d].kind == PL_BOUNDED ? "BOUNDED" : "INDIRECT",
                             op->dim[d].kind == PL_BOUNDED ? "size" : "list");
  op->moves = op->map != NULL && (blocks > 1 || op->listed);
  op->buffers = !op->moves ? 1 : spec->buffer_count == 0 ? 2 : spec->buffer_count;
  if (op->buffers > PL_MAX_BUFFERS)
    return pl_fail_operand(PL_ERROR_LIMIT, op, "%u buffers; PL_MAX_BUFFERS is %d", (unsigned)op->buffers,
                           PL_MAX_BUFFERS);
  if (plan_view(op, array) != PL_OK || plan_fill(op, spec) != PL_OK)
    return pl_context.status;
  op->prefetched = spec != NULL ? (uint8_t)spec->prefetched : 0;
  if (op->prefetched > (op->moves ? op->buffers - 1 : 1))
    return pl_fail_operand(PL_ERROR_SPEC, op, "%u of %u buffers are prefetched; %u at most",
                           (unsigned)op->prefetched, (unsigned)op->buffers,
                           (unsigned)(op->moves ? op->buffers - 1 : 1));
  op->inout = spec != NULL && spec->inout;
  op->revisit = spec != NULL && spec->revisit_any && !spec->inout && op->moves;
  op->keeps_place = op->inout || op->revisit;
  op->lookahead =
      spec != NULL && spec->lookahead && op->moves && op->buffers > 1 && op->kind == PL_OPERAND_BLOCKED;
  if (array->space == PL_HBM) {
    uint64_t bytes = pl_dtype_bytes(array->dtype);
    for (unsigned d = 0; d < op->rank; d++)
      bytes += (uint64_t)op->dim[d].memory * (uint32_t)(array->shape[d] - 1);
    if (bytes > INT32_MAX)
      return pl_fail_operand(PL_ERROR_ARGUMENT, op, "an array of more than 2^31 bytes");
    op->hbm_bytes = (uint32_t)bytes;
  }
  if (op->kind != PL_OPERAND_BLOCKED)
    return PL_OK;
  op->table = blocks > PL_MAX_REVISIT_BLOCKS;
  if (op->output && op->moves && !op->inout && !op->listed && (!op->table || steps <= PL_MAX_REVISIT_STEPS)) {
    op->visited_words = (uint32_t)(blocks + 31) / 32;
    if (op->table) /* of two words a place, a quarter of them free at least */
      for (op->visited_words = 4; op->visited_words / 8 * 3 < steps;)
        op->visited_words *= 2;
    op->visited = pl_arena_take(op->visited_words * 4);
    if (op->visited == NULL)
      return pl_context.status;
  }
  return pl_transfer_plan(op, array->space);
}

pl_status pl_prefetch_plan(struct pl_operand *op, const pl_array *array) {
  op->wait_queue = PL_NOBODY;
  op->view.index = (uint8_t)op->number;
  op->view.kind = PL_VIEW_PREFETCH;
  if (check_array(op, array) != PL_OK)
    return pl_context.status;
  if (array->space < PL_HBM || array->space > PL_SMEM)
    return pl_fail_operand(PL_ERROR_SPEC, op, "the array is in %pN; HBM, VMEM or SMEM is needed", array);
  op->kind = PL_OPERAND_BLOCKED;
  op->space = PL_SMEM;
  op->rank = array->rank;
  op->dtype = array->dtype;
  op->buffers = 1;
  bool empty = false;
  for (unsigned d = 0; d < op->rank; d++) {
    empty = empty || array->shape[d] == 0;
    op->dim[d].block = array->shape[d];
    op->dim[d].memory = array_stride(array, d);
    if (!empty && plan_dimension(op, d, NULL, array) != PL_OK)
      return pl_context.status;
  }
  if (plan_view(op, array) != PL_OK)
    return pl_context.status;
  op->empty = empty;
  op->hbm_bytes = array->space == PL_HBM && !empty ? pl_array_bytes(array) : 0;
  return empty ? PL_OK : pl_transfer_plan(op, array->space);
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
  if (op->empty)
    return PL_OK;
  struct pl_buffer *buffer = pl_resident_buffer(array);
  if (buffer == NULL)
    return pl_fail_operand(PL_ERROR_ARGUMENT, op, "the array at 0x%x of %pN is not one of pl_alloc()",
                           (unsigned)array->address, array);
  if (op->kind == PL_OPERAND_BLOCKED) { /* a prefetch argument, which is copied */
    op->resident = buffer;
    return PL_OK;
  }
  op->view.buffer = buffer;
  op->base = array->address - buffer->address;
  op->view.offset = op->base;
  return PL_OK;
}
