/* SPDX-License-Identifier: MIT */
/*
 * Sets of bytes: how a command's accesses become few of them, and whether two commands meet.
 *
 * Exact to the byte, or two commands that share a row but no byte of it would be reported. A set is a box of
 * rows with up to three strides, so a block of a matrix is one set, whatever made it: a descriptor says it,
 * and the accesses of a vector program are marked in a bit map first and then read out in order.
 */
#include "race.h"

#define MEET_WORK 65536u /* boxes compared before a pair is taken to be disjoint */

/* ---- making sets ------------------------------------------------------------------------------------------
 */

/* Bytes from the first to behind the last of the innermost `dims` dimensions. */
static uint64_t span(const struct race_set *s, uint32_t dims) {
  uint64_t bytes = s->row;
  for (uint32_t d = 0; d < dims; d++)
    bytes += (uint64_t)(s->count[d] - 1) * s->stride[d];
  return bytes;
}

/* A dimension; the smaller strides come first. */
static void add_dimension(struct race_set *s, uint32_t count, int32_t stride) {
  uint32_t step = stride < 0 ? 0u - (uint32_t)stride : (uint32_t)stride, d = s->dims;
  if (count <= 1 || stride == 0)
    return; /* the same bytes again */
  if (stride < 0)
    s->low -= step * (count - 1);
  for (; d > 0 && s->stride[d - 1] > step; d--) {
    s->count[d] = s->count[d - 1];
    s->stride[d] = s->stride[d - 1];
  }
  s->count[d] = count;
  s->stride[d] = step;
  s->dims++;
}

/* Dimensions without a gap inside become part of the row. */
static void join_rows(struct race_set *s) {
  while (s->dims > 0 && s->stride[0] <= s->row) {
    s->row += (s->count[0] - 1) * s->stride[0];
    s->dims--;
    for (uint32_t d = 0; d < s->dims; d++) {
      s->count[d] = s->count[d + 1];
      s->stride[d] = s->stride[d + 1];
    }
  }
}

static bool same_shape(const struct race_set *a, const struct race_set *b, uint32_t dims) {
  for (uint32_t d = 0; d < dims; d++)
    if (a->count[d] != b->count[d] || a->stride[d] != b->stride[d])
      return false;
  return true;
}

/* Makes *old larger by *s, if the two are one set. */
static bool extend(struct race_set *old, const struct race_set *s) {
  if (old->space != s->space || old->write != s->write)
    return false;
  if (old->dims == 0 && s->dims == 0) { /* rows that touch or overlap */
    uint32_t old_end = old->low + old->row, end = s->low + s->row;
    if (s->low >= old->low && s->low <= old_end) {
      old->row = (end > old_end ? end : old_end) - old->low;
      return true;
    }
  }
  if (old->row != s->row || s->low < old->low || !same_shape(old, s, s->dims))
    return false;
  if (old->dims == s->dims && s->low == old->low)
    return true;
  if (old->dims == s->dims && s->dims < 3 && s->low - old->low >= span(s, s->dims)) {
    old->count[old->dims] = 2;
    old->stride[old->dims++] = s->low - old->low;
    join_rows(old);
    return true;
  }
  uint32_t outer = s->dims;
  if (old->dims == outer + 1 && s->low == old->low + old->count[outer] * old->stride[outer]) {
    old->count[outer]++;
    return true;
  }
  return false;
}

static void add_set(struct race *r, struct race_command *c, struct race_set *s) {
  enum { LOOK_BACK = 4 }; /* accesses of a few operands alternate */
  join_rows(s);
  for (uint32_t i = 0; i < LOOK_BACK && i < c->sets; i++)
    if (extend(&r->set[(r->made - 1 - i) % RACE_SETS], s))
      return;
  if (c->sets == RACE_MOST)
    return;
  r->set[r->made++ % RACE_SETS] = *s;
  c->sets++;
}

void race_add(struct race *r, struct race_command *c, const struct tpu_access *access) {
  struct race_set s = {
      .space = (uint8_t)access->space, .write = access->write, .low = access->base, .row = access->row_bytes};
  if (access->row_bytes == 0 || access->rows == 0)
    return;
  add_dimension(&s, access->rows, access->pitch);
  add_set(r, c, &s);
}

void race_add_range(struct race *r, struct race_command *c, uint32_t space, bool write, uint32_t low,
                    uint32_t bytes) {
  struct race_set s = {.space = (uint8_t)space, .write = write, .low = low, .row = bytes};
  add_set(r, c, &s);
}

static void add_side(const struct tpu_model *m, struct race *r, struct race_command *c,
                     const struct dma_job *j, bool write) {
  const uint32_t *count = write ? j->count : j->valid;
  const int32_t *stride = write ? j->dst_stride : j->src_stride;
  struct race_set s = {.space = (uint8_t)(write ? j->dst_space : j->src_space),
                       .write = write,
                       .low = write ? j->dst : j->src,
                       .row = write ? j->row_bytes : j->valid_row};
  if (s.row == 0 || count[0] == 0 || count[1] == 0 || count[2] == 0)
    return;
  const bool by_list = func_dma_by_list(j, write);
  for (uint32_t d = by_list; d < 3; d++)
    add_dimension(&s, count[d], stride[d]);
  if (!by_list) {
    add_set(r, c, &s);
    return;
  }
  for (uint32_t i = 0; i < count[0]; i++) {
    struct race_set row = s;
    row.low += (uint32_t)stride[0] * func_dma_index(m, j, i);
    add_set(r, c, &row);
  }
}

void race_add_dma(const struct tpu_model *m, struct race *r, struct race_command *c,
                  const struct dma_job *job) {
  if (job->walked)
    return; /* it moves nothing */
  if (job->listed != 0)
    race_add_range(r, c, TPU_SPACE_SMEM, false, job->list, 4 * job->listed);
  add_side(m, r, c, job, false);
  add_side(m, r, c, job, true);
}

/* ---- marks of a vector program ----------------------------------------------------------------------------
 */

static void mark_row(struct race_marks *k, uint32_t low, uint32_t bytes) {
  uint32_t end = low + bytes;
  if (low / 64 < k->low)
    k->low = low / 64;
  if ((end - 1) / 64 + 1 > k->high)
    k->high = (end - 1) / 64 + 1;
  while (low < end) {
    uint32_t at = low % 64, n = end - low < 64 - at ? end - low : 64 - at;
    k->word[low / 64] |= (n == 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1) << at;
    low += n;
  }
}

void race_mark(struct race *r, const struct tpu_access *access) {
  struct race_marks *k = &r->marks[access->space][access->write];
  for (uint32_t i = 0; i < access->rows; i++)
    mark_row(k, access->base + (uint32_t)access->pitch * i, access->row_bytes);
}

/* The first byte at or behind `from` whose mark is `marked`; `high` words are looked at. */
static uint32_t next_mark(const struct race_marks *k, uint32_t from, bool marked) {
  uint32_t w = from / 64;
  uint64_t flip = marked ? 0 : UINT64_MAX, bits;
  if (w >= k->high)
    return k->high * 64;
  for (bits = (k->word[w] ^ flip) & (UINT64_MAX << from % 64); bits == 0; bits = k->word[w] ^ flip)
    if (++w == k->high)
      return w * 64;
  return w * 64 + (uint32_t)__builtin_ctzll(bits);
}

void race_add_marks(struct race *r, struct race_command *c) {
  for (uint32_t space = 0; space < RACE_SPACES; space++)
    for (uint32_t write = 0; write < 2; write++) {
      const struct race_marks *k = &r->marks[space][write];
      for (uint32_t low = next_mark(k, k->low * 64, true), end; low < k->high * 64;
           low = next_mark(k, end, true)) {
        end = next_mark(k, low, false);
        struct race_set s = {.space = (uint8_t)space, .write = write, .low = low, .row = end - low};
        add_set(r, c, &s);
      }
    }
  race_clear_marks(r);
}

void race_clear_marks(struct race *r) {
  for (uint32_t space = 0; space < RACE_SPACES; space++)
    for (uint32_t write = 0; write < 2; write++) {
      struct race_marks *k = &r->marks[space][write];
      for (uint32_t w = k->low; w < k->high; w++)
        k->word[w] = 0;
      k->low = RACE_WORDS;
      k->high = 0;
    }
}

/* ---- meeting ----------------------------------------------------------------------------------------------
 */

/* The innermost dims dimensions of a set, at another place. */
struct box {
  const struct race_set *set;
  uint32_t dims, low;
  uint64_t end;
};

static struct box box_at(const struct race_set *s, uint32_t dims, uint32_t low) {
  return (struct box){s, dims, low, low + span(s, dims)};
}

/* Takes the box with the longer stride apart, as far as it reaches into the other. */
static bool boxes_meet(struct box a, struct box b, uint32_t *work, uint32_t *address) {
  if (a.low >= b.end || b.low >= a.end || *work == 0)
    return false;
  --*work;
  if (a.dims == 0 && b.dims == 0) {
    *address = a.low > b.low ? a.low : b.low;
    return true;
  }
  if (a.dims == 0 || (b.dims > 0 && b.set->stride[b.dims - 1] > a.set->stride[a.dims - 1])) {
    struct box t = a;
    a = b;
    b = t;
  }
  uint32_t d = a.dims - 1, stride = a.set->stride[d];
  uint64_t inner = span(a.set, d);
  uint64_t first = b.low < a.low + inner ? 0 : (b.low - a.low - inner) / stride + 1;
  uint64_t last = (b.end - 1 - a.low) / stride;
  for (uint64_t i = first; i <= last && i < a.set->count[d]; i++)
    if (boxes_meet(box_at(a.set, d, a.low + (uint32_t)(i * stride)), b, work, address))
      return true;
  return false;
}

static bool remembered(const struct race *r, const struct race_command *c) {
  return r->made - c->first < RACE_SETS;
}

bool race_meet(const struct race *r, const struct race_command *mine, const struct race_command *other,
               bool passing, struct race_meeting *meeting) {
  uint32_t work = MEET_WORK;
  if (!remembered(r, other))
    return false;
  for (uint32_t i = 0; i < mine->sets; i++)
    for (uint32_t j = 0; j < other->sets; j++) {
      const struct race_set *a = &r->set[(mine->first + i) % RACE_SETS];
      const struct race_set *b = &r->set[(other->first + j) % RACE_SETS];
      if (a->space != b->space || (passing ? a->write || !b->write : !a->write && !b->write))
        continue;
      if (boxes_meet(box_at(a, a->dims, a->low), box_at(b, b->dims, b->low), &work, &meeting->address)) {
        meeting->mine = a;
        meeting->other = b;
        return true;
      }
    }
  return false;
}
