/* SPDX-License-Identifier: MIT */
/* The arrays of the data file at the start of HBM (docs/data-format.md). */
#include "internal.h"

uint32_t pl_data_end;

enum { DATA_HEADER_BYTES = 64, DATA_ENTRY_BYTES = 64, DATA_MAX_ARRAYS = 64, DATA_NAME_BYTES = 16 };

struct data_header {
  char magic[8];
  uint32_t version, count, file_bytes, crc, zero[10];
};

struct data_entry {
  char name[DATA_NAME_BYTES];
  uint32_t dtype, rank, shape[PL_MAX_RANK], offset, bytes, crc, zero[2];
};
_Static_assert(sizeof(struct data_header) == DATA_HEADER_BYTES &&
                   sizeof(struct data_entry) == DATA_ENTRY_BYTES,
               "as docs/data-format.md says");

/* CRC-32 of zlib, four bits at a time: a table of 64 bytes and 12 instructions a byte. */
static uint32_t crc32_add(uint32_t crc, const void *data, uint32_t n) {
  static const uint32_t table[16] = {
      0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
      0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
  };
  const uint8_t *p = data;
  crc = ~crc;
  for (uint32_t i = 0; i < n; i++) {
    crc ^= p[i];
    crc = crc >> 4 ^ table[crc & 15];
    crc = crc >> 4 ^ table[crc & 15];
  }
  return ~crc;
}

pl_status pl_data_open(void) {
  static const char magic[8] = {'P', 'E', 'P', 'L', 'D', 'A', 'T', 'A'};
  const struct data_header *h;

  if (!pl_outside("pl_data_open"))
    return pl_context.status;
  const uint32_t hbm = pl_context.params.value[TPU_PARAM_HBM_BYTES];
  h = cpu_hbm(0);
  for (int i = 0; i < 8; i++)
    if (h->magic[i] != magic[i])
      return pl_fail(PL_ERROR_DATA,
                     "there is no data file in HBM; run with DATA=file (tools/data/pack.py makes one)");
  if (h->version != 1)
    return pl_fail(PL_ERROR_DATA, "data file of version %u, this program reads 1", (unsigned)h->version);
  uint32_t end = DATA_HEADER_BYTES + h->count * DATA_ENTRY_BYTES;
  if (h->count > DATA_MAX_ARRAYS || h->file_bytes < end || h->file_bytes > hbm)
    return pl_fail(PL_ERROR_DATA, "data file of %u arrays and %u bytes, HBM has %u", (unsigned)h->count,
                   (unsigned)h->file_bytes, (unsigned)hbm);
  struct data_header copy = *h;
  copy.crc = 0;
  uint32_t crc = crc32_add(0, &copy, sizeof copy);
  crc = crc32_add(crc, cpu_hbm(DATA_HEADER_BYTES), end - DATA_HEADER_BYTES);
  if (crc != h->crc)
    return pl_fail(PL_ERROR_DATA, "data file: header or directory damaged (CRC %08x, should be %08x)",
                   (unsigned)crc, (unsigned)h->crc);
  pl_data_end = h->file_bytes;
  return PL_OK;
}

static bool same_name(const char *stored, const char *name) {
  for (int i = 0; i < DATA_NAME_BYTES; i++) {
    if (stored[i] != name[i])
      return false;
    if (name[i] == '\0')
      return true;
  }
  return false;
}

bool pl_data_has(const char *name) {
  const struct data_header *h = cpu_hbm(0);
  const struct data_entry *e = cpu_hbm(DATA_HEADER_BYTES);
  for (uint32_t i = 0; pl_data_end != 0 && i < h->count && !pl_is_null(name, "pl_data_has"); i++)
    if (same_name(e[i].name, name))
      return true;
  return false;
}

pl_status pl_data_find(const char *name, pl_array *array) {
  if (!pl_outside("pl_data_find") || pl_is_null(name, "pl_data_find") || pl_is_null(array, "pl_data_find"))
    return pl_context.status;
  if (pl_data_end == 0)
    return pl_fail(PL_ERROR_DATA, "pl_data_open() has not succeeded");
  const struct data_header *h = cpu_hbm(0);
  const struct data_entry *e = cpu_hbm(DATA_HEADER_BYTES);
  for (uint32_t i = 0; i < h->count; i++, e++) {
    if (!same_name(e->name, name))
      continue;
    pl_shape shape = {.rank = (uint8_t)e->rank};
    for (uint32_t d = 0; d < e->rank && d < PL_MAX_RANK; d++)
      shape.extent[d] = (int32_t)e->shape[d];
    if (e->rank > PL_MAX_RANK || pl_check_shape(&shape, e->dtype) != PL_OK || e->offset > pl_data_end ||
        e->bytes > pl_data_end - e->offset)
      return pl_fail(PL_ERROR_DATA, "data file: array %s has a bad directory entry", name);
    *array = pl_hbm_array(e->offset, (pl_dtype)e->dtype, shape);
    if (pl_array_bytes(array) != e->bytes)
      return pl_fail(PL_ERROR_DATA, "data file: array %s has %u bytes, its shape %u", name,
                     (unsigned)e->bytes, (unsigned)pl_array_bytes(array));
    uint32_t crc = crc32_add(0, cpu_hbm(e->offset), e->bytes);
    if (crc != e->crc)
      return pl_fail(PL_ERROR_DATA, "data file: array %s is damaged (CRC %08x, should be %08x)", name,
                     (unsigned)crc, (unsigned)e->crc);
    return PL_OK;
  }
  pl_fail(PL_ERROR_DATA, "data file: there is no array %s; it has", name);
  e = cpu_hbm(DATA_HEADER_BYTES);
  for (uint32_t i = 0; i < h->count; i++, e++)
    pl_message_add(" %.15s", e->name);
  return PL_ERROR_DATA;
}
