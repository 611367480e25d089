/* SPDX-License-Identifier: MIT */
/* Scalar loads and stores by the scalar core, through the windows on SMEM and VMEM. */
#include "internal.h"

/* Where the scalar core sees the memory that a view is in. */
static uintptr_t window(const struct pl_view *v) {
  return (uintptr_t)PEPLOS_TPU_BASE + (v->space == PL_SMEM ? TPU_WINDOW_SMEM : TPU_WINDOW_VMEM);
}

bool pl_element(const struct pl_view *v, const int32_t *index, unsigned n, const char *who,
                uint32_t *offset) {
  uint32_t bytes = 0;

  if (n != v->rank) {
    pl_fail(PL_ERROR_ARGUMENT, "%s: %u indices for %pV of rank %u", who, n, v, (unsigned)v->rank);
    return false;
  }
  if (index == NULL && n != 0 && pl_is_null(index, who))
    return false;
  for (unsigned d = 0; d < n; d++) {
    if ((uint32_t)index[d] >= (uint32_t)v->shape[d]) {
      pl_fail(PL_ERROR_REF, "%s: index %d in dimension %u is outside %pV %pS", who, (int)index[d], d, v, v);
      return false;
    }
    bytes += (uint32_t)index[d] * (uint32_t)v->stride[d];
  }
  *offset = bytes;
  return true;
}

/* Address of an element in the scalar core's map; 0 with a sticky error. */
static uintptr_t element(const struct pl_view *v, const int32_t *index, unsigned n, const char *who) {
  uint32_t offset;

  if (v->space != PL_SMEM && v->space != PL_VMEM) {
    pl_fail(PL_ERROR_REF, "%s: %pV is in %pM; scalars are in SMEM or VMEM, use a copy", who, v, v);
    return 0;
  }
  return pl_element(v, index, n, who, &offset) ? window(v) + v->buffer->address + v->offset + offset : 0;
}

static int32_t read_at(const struct pl_view *v, uintptr_t address) {
  switch (v->dtype) {
  case PL_BF16:
    return (int32_t)((uint32_t)mmio_read16(address) << 16);
  case PL_INT8:
    return (int8_t)mmio_read8(address);
  case PL_UINT8:
    return mmio_read8(address);
  default:
    return (int32_t)mmio_read32(address);
  }
}

/* What follows a pl_wait() is held back until it succeeds: also the scalar core's own accesses. */
static bool pass_fence(struct pl_context *c) {
  if (!c->fenced)
    return true;
  c->fenced = false;
  return pl_wait_ticket(c, TPU_QUEUE_SYNC, c->fence);
}

static bool written(struct pl_context *c, const struct pl_view *v) {
  if (!pass_fence(c))
    return false;
  return v->buffer->writer == PL_NOBODY || pl_wait_ticket(c, v->buffer->writer, v->buffer->write_ticket);
}

int32_t pl_get_at(pl_ref ref, const int32_t *index, unsigned n) {
  struct pl_context *c = pl_self();
  struct pl_view *v = pl_look(c, ref);

  if (v == NULL)
    return 0;
  const uintptr_t address = element(v, index, n, "pl_get");
  return address != 0 && written(c, v) ? read_at(v, address) : 0;
}

bool pl_scalars_ready(struct pl_context *c, const struct pl_view *v, const char *who) {
  if (v->space < PL_HBM || v->space > PL_SMEM) {
    pl_fail(PL_ERROR_REF, "%s: %pV is in %pM, which the scalar core does not reach; copy it to VMEM", who, v,
            v);
    return false;
  }
  return written(c, v);
}

int32_t pl_read_element(const struct pl_view *v, const int32_t *index) {
  uint32_t offset = v->buffer->address + v->offset;
  for (unsigned d = 0; d < v->rank; d++)
    offset += (uint32_t)index[d] * (uint32_t)v->stride[d];
  if (v->space != PL_HBM)
    return read_at(v, window(v) + offset);
  const uint8_t *p = cpu_hbm(offset);
  uint32_t bits = 0;
  for (unsigned i = 0; i < pl_dtype_bytes(v->dtype); i++) /* an HBM array may start anywhere */
    bits |= (uint32_t)p[i] << 8 * i;
  return v->dtype == PL_BF16 ? (int32_t)(bits << 16) : v->dtype == PL_INT8 ? (int8_t)bits : (int32_t)bits;
}

/* f32 bits to bf16 bits, nearest even; NaN stays NaN. */
uint16_t pl_bf16_bits(uint32_t bits) {
  if ((bits & 0x7fffffffu) > 0x7f800000u)
    return 0x7fc0;
  return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

void pl_put_at(pl_ref ref, int32_t value, const int32_t *index, unsigned n) {
  struct pl_context *c = pl_self();
  struct pl_view *v = pl_use(c, ref);
  struct pl_deps deps;

  if (v == NULL)
    return;
  if (v->flags & PL_VIEW_READ_ONLY) {
    pl_fail(PL_ERROR_REF, "pl_put: %pV would be written", v);
    return;
  }
  const uintptr_t address = element(v, index, n, "pl_put");
  if (address == 0 || !pass_fence(c))
    return;
  deps.mask = 0;
  pl_write_deps(&deps, v->buffer, TPU_QUEUE_SCALAR);
  for (uint32_t r = 0; r < PL_QUEUES; r++)
    if ((deps.mask >> r & 1) && !pl_wait_ticket(c, r, deps.ticket[r]))
      return;
  switch (v->dtype) {
  case PL_BF16:
    mmio_write16(address, pl_bf16_bits((uint32_t)value));
    break;
  case PL_INT8:
  case PL_UINT8:
    mmio_write8(address, (uint8_t)value);
    break;
  default:
    mmio_write32(address, (uint32_t)value);
  }
}
