/* SPDX-License-Identifier: MIT */
/* Paged attention: any heads, pages, lengths; pages that several sequences share; errors. */
#include "attention_check.h"
#include "paged.h"

#include <string.h>

enum { MOST_COLUMNS = 40 };
static pl_array gathered; /* keys and values of a sequence and head: RAM has no room for them */

/* Pages as an array [P,G,page,D]. */
static pl_array pages(pl_array heads, int32_t g, int32_t page, int32_t columns) {
  heads.rank = 4;
  heads.shape[0] /= g;
  heads.shape[1] = g;
  heads.shape[2] = page;
  heads.shape[3] = columns;
  return heads;
}

/* The keys or values of a sequence and head, one below the other. */
static void gather(const struct operand *x, const int32_t *table, int32_t g, int32_t heads_kv, int32_t page,
                   int32_t columns, int32_t length, int8_t *to) {
  const int8_t *const from = pl_hbm_pointer(&x->bytes);
  for (int32_t i = 0; i < length; i++)
    memcpy(to + i * columns, from + ((table[i / page] * heads_kv + g) * page + i % page) * columns,
           (size_t)columns);
}

struct shape {
  int32_t sequences, heads_kv, share, page, listed, pages, columns;
};

static bool right(const struct shape *s, const struct operand *q, const struct operand *k,
                  const struct operand *v, const pl_array *table, const pl_array *lengths,
                  const pl_array *o) {
  int8_t *const keys = pl_hbm_pointer(&gathered), *const values = keys + MAX_KEYS * MOST_COLUMNS;
  static uint32_t weight[MAX_KEYS];
  const int32_t heads = s->heads_kv * s->share;

  for (int32_t b = 0; b < s->sequences; b++) {
    const int32_t *const list = (const int32_t *)pl_hbm_pointer(table) + b * s->listed;
    const int32_t length = check_get(lengths, b);
    for (int32_t h = 0; h < heads; h++) {
      const int32_t first = (b * heads + h) * s->columns;
      gather(k, list, h / s->share, s->heads_kv, s->page, s->columns, length, keys);
      gather(v, list, h / s->share, s->heads_kv, s->page, s->columns, length, values);
      const uint32_t sum =
          weights_of((const int8_t *)pl_hbm_pointer(&q->bytes) + first, keys, length, s->columns, weight);
      for (int32_t i = 0; i < s->columns; i++)
        if (!right_mean("paged", o, first + i, weight, sum, length, values + i, s->columns))
          return false;
    }
  }
  return true;
}

/* NaN in every place of the pages that no sequence reaches. */
static void spoil(const struct shape *s, const pl_array *table, const pl_array *lengths,
                  const struct operand *x) {
  const int8_t *const value = pl_hbm_pointer(&x->bytes);

  for (int32_t i = 0; i < s->pages * s->heads_kv * s->page * s->columns; i++)
    check_put_bits(&x->bf16, i, 0x7fc00000);
  for (int32_t b = 0; b < s->sequences; b++)
    for (int32_t p = 0; p < check_get(lengths, b) * s->heads_kv; p++) {
      const int32_t place = check_get(table, b * s->listed + p / s->heads_kv / s->page) * s->heads_kv;
      const int32_t first = ((place + p % s->heads_kv) * s->page + p / s->heads_kv % s->page) * s->columns;
      for (int32_t i = first; i < first + s->columns; i++)
        check_put(&x->bf16, i, value[i]);
    }
}

static void attention(const struct shape *s, pl_dtype type) {
  const int32_t heads = s->heads_kv * s->share;
  const struct operand q = operand(s->sequences, heads, s->columns, 1),
                       k = operand(s->pages * s->heads_kv, s->page, s->columns, 1),
                       v = operand(s->pages * s->heads_kv, s->page, s->columns, 4);
  const pl_array table = check_array(PL_INT32, PL_SHAPE(s->sequences, s->listed), 0, s->pages - 1),
                 lengths = check_array(PL_INT32, PL_SHAPE(s->sequences), 1, s->listed * s->page),
                 o = check_array(type, PL_SHAPE(s->sequences, heads, s->columns), -77, -77);
  bool ok = true;

  /* Behind the last page that is needed the table may hold anything. */
  for (int32_t b = 0; b < s->sequences; b++)
    for (int32_t i = pl_cdiv(check_get(&lengths, b), s->page); i < s->listed; i++)
      check_put(&table, b * s->listed + i, -5);
  spoil(s, &table, &lengths, &k);
  spoil(s, &table, &lengths, &v);
  for (int call = 0; ok && call < 2; call++) /* the second one has its plan already */
    ok = check_works("paged", kernel_paged_attention(q.bf16, pages(k.bf16, s->heads_kv, s->page, s->columns),
                                                     pages(v.bf16, s->heads_kv, s->page, s->columns), table,
                                                     lengths, o, LN2)) &&
         right(s, &q, &k, &v, &table, &lengths, &o);
  if (!ok)
    printf("%d sequences, %d x %d heads, %d pages of %d, %d listed, %d columns\n", (int)s->sequences,
           (int)s->heads_kv, (int)s->share, (int)s->pages, (int)s->page, (int)s->listed, (int)s->columns);
  check_that(ok, "attention is right");
  check_free();
}

static void random_shape(void) {
  const struct shape s = {.sequences = check_random(1, 4),
                          .heads_kv = check_random(1, 4),
                          .share = check_random(1, 5),
                          .page = check_random(1, 24),
                          .listed = check_random(1, 6),
                          .pages = check_random(1, 9),
                          .columns = check_random(1, MOST_COLUMNS)};
  attention(&s, check_random(0, 1) ? PL_BF16 : PL_F32);
}

static void errors(void) {
  const pl_array q = check_array(PL_BF16, PL_SHAPE(2, 6, 16), 0, 1),
                 k = check_array(PL_BF16, PL_SHAPE(5, 2, 8, 16), 0, 1),
                 odd = check_array(PL_BF16, PL_SHAPE(5, 4, 8, 16), 0, 1),
                 table = check_array(PL_INT32, PL_SHAPE(2, 3), 0, 4),
                 lengths = check_array(PL_INT32, PL_SHAPE(2), 20, 20),
                 three = check_array(PL_INT32, PL_SHAPE(3), 20, 20),
                 o = check_array(PL_F32, PL_SHAPE(2, 6, 16), 0, 0),
                 ints = check_array(PL_INT32, PL_SHAPE(2, 6, 16), 0, 0);
  pl_array elsewhere = table;
  elsewhere.space = PL_VMEM;

  check_fails(kernel_paged_attention(q, q, k, table, lengths, o, 0), PL_ERROR_SHAPE,
              "ranks are 3, 3, 3, 4, 2, 1");
  check_fails(kernel_paged_attention(q, k, odd, table, lengths, o, 0), PL_ERROR_SHAPE,
              "k and v, or q and o, differ in dimension 1");
  check_fails(kernel_paged_attention(q, odd, odd, table, lengths, o, 0), PL_ERROR_SHAPE,
              "2 sequences of 6 heads of 16 columns, k 4 heads of 16");
  check_fails(kernel_paged_attention(q, k, k, table, three, o, 0), PL_ERROR_SHAPE, "lengths 3");
  check_fails(kernel_paged_attention(q, k, k, lengths, table, o, 0), PL_ERROR_SHAPE,
              "ranks are 3, 3, 4, 4, 1, 2");
  check_fails(kernel_paged_attention(q, k, k, table, lengths, q, -1.0f), PL_ERROR_ARGUMENT,
              "paged attention: scale 0xbf800000");
  check_fails(
      kernel_paged_attention(q, k, k, table, lengths, ints, 0), PL_ERROR_SHAPE,
      "paged attention: q is bf16, k bf16, v bf16, o int32, table int32, lengths int32; bf16 three times");
  check_fails(kernel_paged_attention(q, k, k, elsewhere, lengths, o, 0), PL_ERROR_ARGUMENT,
              "paged attention: table and lengths must be in HBM");
  check_put(&lengths, 1, 25);
  check_fails(kernel_paged_attention(q, k, k, table, lengths, o, 0), PL_ERROR_ARGUMENT,
              "sequence 1 has length 25; 1 to 24, its 3 pages of 8");
  check_put(&lengths, 1, 0);
  check_fails(kernel_paged_attention(q, k, k, table, lengths, o, 0), PL_ERROR_ARGUMENT,
              "sequence 1 has length 0");
  check_put(&lengths, 1, 17);
  check_put(&table, 5, 5);
  check_fails(kernel_paged_attention(q, k, k, table, lengths, o, 0), PL_ERROR_ARGUMENT,
              "page 2 of sequence 1 is number 5; there are 5");
  check_put(&table, 5, 4);
  check_works("paged after errors", kernel_paged_attention(q, k, k, table, lengths, o, 0));
  check_free();
  check_end("paged: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_works("an array", pl_alloc(PL_HBM, PL_INT8, PL_SHAPE(2 * MAX_KEYS, MOST_COLUMNS), &gathered));
  check_random_shapes("paged", random_shape);
  errors();
  return check_status();
}
