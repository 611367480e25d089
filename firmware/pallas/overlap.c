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

/* The place of a view's last byte; -1 if there is none. */
static int32_t add_view(struct sums *s, const struct pl_view *v) {
  int32_t end = add(s, 1, (int32_t)pl_dtype_bytes(v->dtype) - 1);

  for (unsigned d = 0; d < v->rank; d++)
    if (v->shape[d] == 0)
      return -1;
    else if (v->shape[d] != 1)
      end += add(s, v->stride[d], v->shape[d] - 1);
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

bool pl_share_elements(const struct pl_view *a, const struct pl_view *b) {
  struct sums s;

  if (a->buffer != b->buffer)
    return false;
  s.terms = s.tries = 0;
  const int32_t end_a = add_view(&s, a), end_b = add_view(&s, b);
  return end_a >= 0 && end_b >= 0 &&
         reach(&s, s.terms, end_a + end_b, (int32_t)(b->offset - a->offset) + end_b);
}
