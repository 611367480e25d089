/* SPDX-License-Identifier: MIT */
/*
 * Arrays that live longer than a call.
 *
 * On-chip allocations are taken from the top of a space, so that what is left for plans is one piece
 * from 0 on. HBM is taken from the top too, down to the end of the data file.
 */
#include "internal.h"

struct allocation {
  bool used;
  uint8_t space;
  uint32_t address, size; /* bytes; rows in ACC */
  struct pl_buffer buffer;
  struct pl_group group;
};

static struct allocation allocations[PL_MAX_ALLOCATIONS];
static uint32_t space_size(unsigned space) {
  const uint32_t *p = pl_context.params.value;
  switch (space) {
  case PL_HBM:
    return p[TPU_PARAM_HBM_BYTES];
  case PL_VMEM:
    return p[TPU_PARAM_VMEM_BYTES];
  case PL_SMEM:
    return p[TPU_PARAM_SMEM_BYTES];
  case PL_ACC:
    return p[TPU_PARAM_ACC_ROWS];
  default:
    return 0;
  }
}

/* Recomputed when an allocation comes or goes: every call looks at it. */
static uint32_t taken_from[PL_SEMAPHORE]; /* distance of the lowest allocation from the space's end */

uint32_t pl_allocation_version;

uint32_t pl_plan_space(unsigned space) {
  return space_size(space) - taken_from[space];
}

static void update_plan_space(unsigned space) {
  const uint32_t size = space_size(space);
  uint32_t end = size;
  for (int i = 0; i < PL_MAX_ALLOCATIONS; i++)
    if (allocations[i].used && allocations[i].space == space && allocations[i].address < end)
      end = allocations[i].address;
  taken_from[space] = size - end;
  pl_allocation_version++;
}

uint32_t pl_row_pitch(unsigned space, unsigned dtype, int32_t columns) {
  uint32_t bytes = pl_dtype_bytes(dtype), lanes = pl_context.lanes;
  if (space == PL_VMEM) /* what vector rows and MXU rows must be a multiple of */
    return ((uint32_t)columns + lanes - 1) / lanes * lanes * bytes;
  return (uint32_t)columns * bytes;
}

/* Bytes (rows in ACC) that an array takes. */
static uint64_t footprint(const pl_array *a) {
  uint64_t rows = 1;
  for (int d = 0; d + 1 < a->rank; d++)
    rows *= (uint32_t)a->shape[d];
  if (a->space == PL_ACC) {
    uint32_t dim = pl_context.dim, columns = a->rank > 0 ? (uint32_t)a->shape[a->rank - 1] : 1;
    return rows * ((columns + dim - 1) / dim);
  }
  return rows * a->pitch;
}

/* The highest free place of this size above `floor`; false if there is none. */
static bool find_place(unsigned space, uint32_t size, uint32_t align, uint32_t floor, uint32_t *address) {
  uint32_t end = space_size(space);
  for (;;) {
    if (end < size || end - size < floor)
      return false;
    uint32_t start = (end - size) & ~(align - 1);
    const struct allocation *hit = NULL;
    for (int i = 0; i < PL_MAX_ALLOCATIONS; i++) {
      const struct allocation *a = &allocations[i];
      if (a->used && a->space == space && a->address < start + size && start < a->address + a->size)
        hit = a;
    }
    if (start < floor)
      return false;
    if (hit == NULL) {
      *address = start;
      return true;
    }
    end = hit->address;
  }
}

pl_status pl_check_shape(const pl_shape *shape, unsigned dtype) {
  uint64_t elements = 1;
  if (shape->rank > PL_MAX_RANK)
    return pl_fail(PL_ERROR_LIMIT, "rank %u is more than PL_MAX_RANK (%d)", (unsigned)shape->rank,
                   PL_MAX_RANK);
  if (pl_dtype_bytes(dtype) == 0)
    return pl_fail(PL_ERROR_ARGUMENT, "there is no dtype %u", dtype);
  for (int d = 0; d < shape->rank; d++) {
    if (shape->extent[d] <= 0)
      return pl_fail(PL_ERROR_ARGUMENT, "extent %d of dimension %d", (int)shape->extent[d], d);
    elements *= (uint32_t)shape->extent[d];
    if (elements > INT32_MAX)
      return pl_fail(PL_ERROR_ARGUMENT, "an array of more than 2^31 elements");
  }
  return PL_OK;
}

pl_array pl_hbm_array(uint32_t offset, pl_dtype dtype, pl_shape shape) {
  pl_array a = {.address = offset, .rank = shape.rank, .dtype = (uint8_t)dtype, .space = PL_HBM};
  for (int d = 0; d < shape.rank && d < PL_MAX_RANK; d++)
    a.shape[d] = shape.extent[d];
  a.pitch = (a.rank > 0 ? (uint32_t)a.shape[a.rank - 1] : 1) * pl_dtype_bytes(dtype);
  return a;
}

uint32_t pl_array_bytes(const pl_array *array) {
  if (pl_is_null(array, "pl_array_bytes"))
    return 0;
  uint32_t bytes = pl_dtype_bytes(array->dtype);
  for (int d = 0; d < array->rank; d++)
    bytes *= (uint32_t)array->shape[d];
  return bytes;
}

void *pl_hbm_pointer(const pl_array *array) {
  return !pl_is_null(array, "pl_hbm_pointer") && array->space == PL_HBM ? cpu_hbm(array->address) : NULL;
}

pl_status pl_alloc(pl_space space, pl_dtype dtype, pl_shape shape, pl_array *array) {
  struct pl_context *c = &pl_context;
  struct allocation *slot = NULL;
  uint32_t address = 0;

  if (pl_init() != PL_OK)
    return c->status;
  if (c->plan == NULL)
    c->status = PL_OK;
  if (pl_is_null(array, "pl_alloc"))
    return c->status;
  if (space < PL_HBM || space > PL_ACC)
    return pl_fail(PL_ERROR_ARGUMENT, "pl_alloc: space %s", pl_space_name(space));
  if (c->plan != NULL && space != PL_HBM)
    return pl_fail(
        PL_ERROR_ARGUMENT,
        "pl_alloc inside a kernel: %s belongs to the running plan; use scratch or pl_run_scoped(), "
        "or allocate before the call",
        pl_space_name(space));
  if (pl_check_shape(&shape, dtype) != PL_OK)
    return c->status;
  for (int i = 0; i < PL_MAX_ALLOCATIONS && slot == NULL; i++)
    if (!allocations[i].used)
      slot = &allocations[i];
  if (slot == NULL)
    return pl_fail(PL_ERROR_LIMIT, "more than PL_MAX_ALLOCATIONS (%d) live arrays", PL_MAX_ALLOCATIONS);

  pl_array a = pl_hbm_array(0, dtype, shape);
  a.space = (uint8_t)space;
  int32_t columns = a.rank > 0 ? a.shape[a.rank - 1] : 1;
  if (space == PL_ACC) {
    if (a.rank > 2 || pl_dtype_bytes(dtype) != 4)
      return pl_fail(PL_ERROR_ARGUMENT, "pl_alloc: ACC holds f32 or int32 of rank 2 at most");
    a.pitch = a.rank == 2 ? (uint32_t)a.shape[0] : 1;
  } else {
    a.pitch = pl_row_pitch(space, dtype, columns);
  }
  uint64_t size = footprint(&a);
  uint32_t align = space == PL_ACC ? 1 : PL_ALIGN;
  size = (size + align - 1) & ~(uint64_t)(align - 1);
  if (size > UINT32_MAX ||
      !find_place(space, (uint32_t)size, align, space == PL_HBM ? pl_data_end : 0, &address))
    return pl_fail(
        PL_ERROR_BUDGET, "pl_alloc: no room for %lu %s in %s: %u in one piece below what is taken of %u",
        (unsigned long)size, space == PL_ACC ? "rows" : "bytes", pl_space_name(space),
        (unsigned)(pl_plan_space(space) - (space == PL_HBM ? pl_data_end : 0)), (unsigned)space_size(space));
  a.address = address;
  slot->used = true;
  slot->space = (uint8_t)space;
  slot->address = address;
  slot->size = (uint32_t)size;
  slot->group.readers = 0;
  slot->buffer = (struct pl_buffer){.address = address, .group = &slot->group, .writer = PL_NOBODY};
  slot->buffer.next = &slot->buffer;
  *array = a;
  update_plan_space(space);
  return PL_OK;
}

pl_status pl_free(const pl_array *array) {
  struct pl_context *c = &pl_context;
  if (!pl_outside("pl_free") || pl_is_null(array, "pl_free"))
    return c->status;
  for (int i = 0; i < PL_MAX_ALLOCATIONS; i++)
    if (allocations[i].used && allocations[i].space == array->space &&
        allocations[i].address == array->address) {
      allocations[i].used = false;
      update_plan_space(array->space);
      return PL_OK;
    }
  return pl_fail(PL_ERROR_ARGUMENT, "pl_free: nothing was allocated at 0x%x of %pN", (unsigned)array->address,
                 array);
}

void pl_residents_settle(void) {
  for (int i = 0; i < PL_MAX_ALLOCATIONS; i++) {
    struct pl_buffer *b = &allocations[i].buffer;
    b->writer = PL_NOBODY;
    for (unsigned r = 0; r < PL_QUEUES; r++)
      b->read_ticket[r] = pl_context.done[r];
  }
}

struct pl_buffer *pl_resident_buffer(const pl_array *array) {
  for (int i = 0; i < PL_MAX_ALLOCATIONS; i++) {
    struct allocation *a = &allocations[i];
    if (a->used && a->space == array->space && array->address >= a->address &&
        array->address - a->address + footprint(array) <= a->size)
      return &a->buffer;
  }
  return NULL;
}
