/* SPDX-License-Identifier: MIT */
/*
 * pl_scatter_add(): rows added to the rows that a list names. The DMA has no adder (rtl/dma/README.md says
 * why); this gathers rows, lets the vector unit add, and scatters them, a part of the list at a time, each
 * row once in each direction.
 *
 * A row that a part names several times is gathered once. The rows of a part are sorted so that those named
 * most often come first; then those that are named for the k-th time are the first n_k rows, and one vector
 * addition of n_k rows does for each k. What is added then is brought into that order by a gather in VMEM.
 * So the additions to a row come in the order of the list, whatever repeats, and a part without
 * repetitions costs one gather, one addition and one scatter.
 */
#include "list.h"

enum {
  PART = 64,   /* entries of a part: its tables are on the stack */
  TABLE = 128, /* of a hash table of PART entries; a power of two */
  NONE = 0xff,
};

struct job {
  struct pl_view *dst, *src, *list;
  uint32_t part; /* entries at a time */
};

/* What a part of the list names. */
struct part {
  uint32_t rows, rounds;
  int32_t row[PART];         /* each row once, most often named first */
  int32_t entry[PART];       /* entries in the order of their additions, round after round */
  uint32_t round_rows[PART]; /* rows that a round adds to */
};

/* Rows first .. first + n - 1 of a view. */
static struct pl_view rows_of(const struct pl_view *v, uint32_t first, uint32_t n) {
  struct pl_view part = *v;
  part.flags = (uint8_t)(part.flags & ~PL_VIEW_WHOLE);
  part.offset += first * (uint32_t)v->stride[0];
  part.shape[0] = (int32_t)n;
  part.dot = &pl_no_dot;
  part.form = 0;
  return part;
}

/*
 * Such a view's ref. It ends with the caller's frame, so nothing may remember it: it counts as one of the
 * pool.
 */
static pl_ref ref_of(struct pl_context *c, struct pl_view *v) {
  v->flags |= PL_VIEW_POOLED;
  v->generation = ++c->view_generation;
  v->step = c->step;
  v->scope = c->scope;
  return (pl_ref){v, v->generation};
}

/* A list's first entry for the scalar core. */
static uintptr_t entries_of(const struct pl_view *list) {
  return (uintptr_t)PEPLOS_TPU_BASE + TPU_WINDOW_SMEM + list->buffer->address + list->offset;
}

/* Reads n entries from `first` on; false with a sticky error if one is no row of dst. */
static bool read_entries(const struct job *j, uint32_t first, uint32_t n, int32_t *index) {
  const uintptr_t at = entries_of(j->list) + 4 * first;
  const uint32_t rows = (uint32_t)j->dst->shape[0];

  for (uint32_t i = 0; i < n; i++) {
    index[i] = (int32_t)mmio_read32(at + 4 * i);
    if ((uint32_t)index[i] < rows)
      continue;
    pl_fail(PL_ERROR_REF, "pl_scatter_add: entry %d of the list is %d; rows 0 to %d are there",
            (int)(first + i), (int)index[i], (int)rows - 1);
    return false;
  }
  return true;
}

/*
 * Finds the rows, how often each is named, and the order of the additions; of rows that are named once each,
 * only that they are.
 */
static void sort_part(struct part *p, const int32_t *index, uint32_t n) {
  uint8_t table[TABLE], slot[PART], round[PART], count[PART] = {0}, place[PART];
  int32_t row[PART];
  uint32_t first[PART + 1] = {0};

  p->rows = p->rounds = 0;
  for (uint32_t i = 0; i < TABLE; i++)
    table[i] = NONE;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t at = (uint32_t)index[i] % TABLE;
    while (table[at] != NONE && row[table[at]] != index[i])
      at = (at + 1) % TABLE;
    if (table[at] == NONE) {
      table[at] = (uint8_t)p->rows;
      row[p->rows++] = index[i];
    }
    slot[i] = table[at];
    round[i] = count[slot[i]]++;
    if (round[i] + 1u > p->rounds)
      p->rounds = round[i] + 1u;
  }
  if (p->rows == n) {
    p->round_rows[0] = n;
    return;
  }
  uint32_t sorted = 0;
  for (uint32_t often = p->rounds; often > 0; often--) {
    for (uint32_t s = 0; s < p->rows; s++)
      if (count[s] == often) {
        place[s] = (uint8_t)sorted;
        p->row[sorted++] = row[s];
      }
    p->round_rows[often - 1] = sorted;
  }
  for (uint32_t k = 0; k < p->rounds; k++)
    first[k + 1] = first[k] + p->round_rows[k];
  for (uint32_t i = 0; i < n; i++)
    p->entry[first[round[i]] + place[slot[i]]] = (int32_t)i;
}

/* Writes a list of the runtime's own; waits for who still reads the one before. */
static bool write_list(struct pl_context *c, const struct pl_view *list, const int32_t *index, uint32_t n) {
  struct pl_deps deps = {0};

  if (!pl_scalars_ready(c, list, "pl_scatter_add"))
    return false;
  pl_write_deps(&deps, list->buffer, TPU_QUEUE_SCALAR);
  for (uint32_t r = 0; r < PL_QUEUES; r++)
    if ((deps.mask >> r & 1) && !pl_wait_ticket(c, r, deps.ticket[r]))
      return false;
  const uintptr_t at = entries_of(list);
  for (uint32_t i = 0; i < n; i++)
    mmio_write32(at + 4 * i, (uint32_t)index[i]);
  return true;
}

static bool add_rows(struct pl_context *c, struct pl_view *sum, struct pl_view *more) {
  const pl_ref o = ref_of(c, sum), x = ref_of(c, more);
  pl_add(o, o, x);
  return c->status == PL_OK;
}

/* One part; scratch: rows of dst, rows of src, two lists. */
static bool add_part(struct pl_context *c, const struct job *j, uint32_t first, uint32_t n,
                     const pl_ref *scratch) {
  struct pl_view *sums = scratch[0].view, *more = scratch[1].view;
  struct pl_view rows = rows_of(j->list, first, n), entries, src = rows_of(j->src, first, n);
  int32_t index[PART];
  struct part p;

  if (!read_entries(j, first, n, index))
    return false;
  sort_part(&p, index, n);
  if (p.rows < n) {
    rows = rows_of(scratch[2].view, 0, p.rows);
    if (!write_list(c, &rows, p.row, p.rows) || !write_list(c, scratch[3].view, p.entry, n))
      return false;
  }
  struct pl_view sum = rows_of(sums, 0, p.rows);
  if (!pl_list_copy(c, &sum, j->dst, &rows, false))
    return false;
  for (uint32_t k = 0, at = 0; k < p.rounds; at += p.round_rows[k], k++) {
    struct pl_view to = rows_of(sums, 0, p.round_rows[k]), from = rows_of(more, 0, p.round_rows[k]);
    if (p.rows < n) {
      entries = rows_of(scratch[3].view, at, p.round_rows[k]);
      if (!pl_list_copy(c, &from, &src, &entries, false))
        return false;
    } else if (src.space == PL_VMEM) {
      from = src;
    } else if (!pl_queue_copy(c, &src, &from)) {
      return false;
    }
    if (!add_rows(c, &to, &from))
      return false;
  }
  return pl_list_copy(c, j->dst, &sum, &rows, true);
}

static void all_parts(const pl_ref *scratch, void *user) {
  struct pl_context *c = pl_self();
  const struct job *j = user;
  const uint32_t n = (uint32_t)j->list->shape[0];

  for (uint32_t first = 0; first < n; first += j->part)
    if (!add_part(c, j, first, n - first < j->part ? n - first : j->part, scratch))
      return;
}

/* Entries at a time: what fits into the body's room, twice. */
static uint32_t part_size(struct pl_context *c, const struct pl_view *src) {
  uint32_t row = pl_row_pitch(PL_VMEM, src->dtype, src->shape[src->rank - 1]);
  const uint32_t room = pl_body_room(c, PL_VMEM) - pl_body_room(c, PL_VMEM) % PL_ALIGN;
  uint32_t part = (uint32_t)src->shape[0] < PART ? (uint32_t)src->shape[0] : PART;
  char shape[64];

  if (src->rank == 1)
    row = pl_dtype_bytes(src->dtype);
  for (unsigned d = 1; d + 1 < src->rank; d++)
    row *= (uint32_t)src->shape[d];
  while (part > 0 && 2 * ((uint64_t)part * row + PL_ALIGN) > room)
    part--;
  if (part == 0) {
    pl_shape_text(src->shape, src->rank, shape);
    pl_fail(PL_ERROR_BUDGET, "pl_scatter_add of %s %s needs VMEM for two rows of %lu bytes; %lu are free",
            pl_dtype_name(src->dtype), shape, (unsigned long)row, (unsigned long)room);
  }
  return part;
}

void pl_scatter_add(pl_ref dst_ref, pl_ref src_ref, pl_ref list_ref) {
  struct pl_context *c = pl_self();
  struct job j = {pl_use(c, dst_ref), pl_use(c, src_ref), pl_use(c, list_ref), 0};

  if (j.dst == NULL || j.src == NULL || j.list == NULL ||
      !pl_list_check(j.dst, j.src, j.list, true, "pl_scatter_add") || j.list->shape[0] == 0)
    return;
  if (!pl_scalars_ready(c, j.list, "pl_scatter_add"))
    return;
  if ((j.part = part_size(c, j.src)) == 0)
    return;
  pl_scratch_spec rows = {.space = PL_VMEM, .dtype = j.src->dtype, .shape = {.rank = j.src->rank}};
  for (unsigned d = 0; d < j.src->rank; d++)
    rows.shape.extent[d] = d == 0 ? (int32_t)j.part : j.src->shape[d];
  const pl_scratch_spec list = {
      .space = PL_SMEM, .dtype = PL_INT32, .shape = {.extent = {(int32_t)j.part}, .rank = 1}};
  pl_run_scoped_specs(all_parts, &j, (const pl_scratch_spec *const[]){&rows, &rows, &list, &list}, 4);
}
