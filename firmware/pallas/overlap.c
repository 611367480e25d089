/* SPDX-License-Identifier: MIT */
/*
 * Whether two views have an element in common: exactly, so that the left and the right columns of one array
 * are apart, though each lies between the rows of the other.
 *
 * The bytes of a view are at sums of k[d] stride[d], 0 <= k[d] < shape[d], with the bytes of an element as
 * one more dimension. If those of one view are counted from its last one backwards, two bytes meet where a
 * sum over the dimensions of both views is the distance between one's first and the other's last. Larger
 * strides are tried first: of each only those few multiples are left that the smaller ones can make up for.
 */
#include "internal.h"

/* More are needed only if strides of one view are no multiples of the other's; such views are taken to share.
 */
enum { MOST_TRIES = 1000 };

struct term {
  int32_t stride, last; /* the largest k */
};

struct sums {
  struct term term[2 * (PL_MAX_RANK + 1)]; /* strides rise */
  unsigned terms, tries;
  bool empty; /* a dimension has no elements: there are no sums */
};

/* One more dimension; with a stride that is there already it makes that one longer. Returns its last
 * element's place. */
static int32_t add(struct sums *s, int32_t stride, int32_t last) {
  struct term *t = s->term + s->terms, *end = t;

  while (t > s->term && t[-1].stride > stride)
    t--;
  if (t > s->term && t[-1].stride == stride) {
    t[-1].last += last;
  } else {
    s->terms++;
    for (; end > t; end--)
      *end = end[-1];
    *t = (struct term){stride, last};
  }
  return stride * last;
}

static void begin(struct sums *s) {
  s->terms = s->tries = 0;
  s->empty = false;
}

/*
 * Dimensions whose extents and strides are each `apart` words from the next one's. Returns the last byte's
 * place.
 */
static int32_t add_all(struct sums *s, unsigned dtype, unsigned rank, const int32_t *extent,
                       const int32_t *stride, unsigned apart) {
  int32_t end = add(s, 1, (int32_t)pl_dtype_bytes((pl_dtype)dtype) - 1);

  for (; rank > 0; rank--, extent += apart, stride += apart)
    if (*extent == 0)
      s->empty = true;
    else if (*extent != 1)
      end += add(s, *stride, *extent - 1);
  return end;
}

/* Is there a sum of the first n terms, of which most is the largest, that is what is wanted? */
static bool reach(struct sums *s, unsigned n, int32_t most, int32_t wanted) {
  if (n == 0)
    return wanted == 0;
  const struct term t = s->term[--n];
  most -= t.stride * t.last;
  int32_t k = wanted > most ? (wanted - most - 1) / t.stride + 1 : 0;
  for (wanted -= k * t.stride; k <= t.last && wanted >= 0; k++, wanted -= t.stride)
    if (++s->tries > MOST_TRIES || reach(s, n, most, wanted))
      return true;
  return false;
}

/* distance: of the second one's first byte from the first one's. */
static __attribute__((noinline)) bool meet(struct sums *s, int32_t end_a, int32_t end_b, uint32_t distance) {
  return !s->empty && reach(s, s->terms, end_a + end_b, (int32_t)distance + end_b);
}

bool pl_share_elements(const struct pl_view *a, const struct pl_view *b) {
  struct sums s;

  if (a->buffer != b->buffer)
    return false;
  begin(&s);
  const int32_t end_a = add_all(&s, a->dtype, a->rank, a->shape, a->stride, 1),
                end_b = add_all(&s, b->dtype, b->rank, b->shape, b->stride, 1);
  return meet(&s, end_a, end_b, b->offset - a->offset);
}

static int32_t add_array(struct sums *s, const struct pl_operand *op) {
  return add_all(s, op->dtype, op->rank, &op->dim[0].extent, (const int32_t *)&op->dim[0].memory,
                 sizeof op->dim[0] / sizeof(int32_t));
}

bool pl_share_memory(const struct pl_operand *a, const struct pl_operand *b) {
  struct sums s;

  if (a->hbm_bytes == 0 || b->hbm_bytes == 0)
    return false;
  begin(&s);
  const int32_t end_a = add_array(&s, a), end_b = add_array(&s, b);
  return meet(&s, end_a, end_b, b->base - a->base);
}
