/* SPDX-License-Identifier: MIT */
/* Lookup of embeddings and its gradient: any shapes and ids, lists of several calls, none, errors. */
#include "embedding.h"
#include "check.h"

#include <stdio.h>
#include <string.h>

static const pl_dtype types[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};

/* Many short rows, so that several calls are needed, a few wide ones, so that their columns are cut, or
 * neither. */
static void choose(int32_t *n, int32_t *rows, int32_t *columns, int32_t wide) {
  const int32_t way = check_random(0, 5);
  *n = way == 0 ? check_random(2000, 4200) : way == 1 ? check_random(1, 30) : check_random(1, 150);
  *columns = way == 0 ? check_random(1, 6) : way == 1 ? check_random(wide, 3 * wide) : check_random(1, 70);
  *rows = way == 1 ? check_random(1, 9) : check_random(1, 90);
}

static bool looked_up(const pl_array *ids, const pl_array *table, const pl_array *out) {
  const int32_t columns = table->shape[1];

  for (int32_t i = 0; i < out->shape[0]; i++)
    for (int32_t c = 0; c < columns; c++)
      if (!check_element("embedding", out, i * columns + c,
                         check_get(table, check_get(ids, i) * columns + c)))
        return false;
  return true;
}

static void random_lookup(void) {
  const pl_dtype type = types[check_random(0, 4)];
  int32_t n, rows, columns;
  choose(&n, &rows, &columns, type == PL_F32 ? 900 : 600);
  const pl_array ids = check_array(PL_INT32, PL_SHAPE(n), 0, rows - 1),
                 table = check_array(type, PL_SHAPE(rows, columns), type == PL_UINT8 ? 0 : -100, 100),
                 out = check_array(type, PL_SHAPE(n, columns), 0, 0);
  bool ok = true;

  for (int call = 0; ok && call < 2; call++) {
    ok = check_works("embedding", kernel_embedding(ids, table, out)) && looked_up(&ids, &table, &out);
    for (int32_t i = 0; i < n; i++)
      check_put(&ids, i, check_random(0, rows - 1));
  }
  if (!ok)
    printf("%s, %d of %d x %d\n", pl_dtype_name(type), (int)n, (int)rows, (int)columns);
  check_free();
}

/* ---- the gradient ---- */

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* a + b, rounded to the dtype; the nearest, of two the even one. */
static uint32_t sum(pl_dtype dtype, uint32_t a, uint32_t b) {
  const float value = float_of(a) + float_of(b);
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return dtype == PL_BF16 ? (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000 : bits;
}

/* Numbers of such sizes that a sum depends on the order of its additions. */
static pl_array reals(pl_dtype dtype, pl_shape shape) {
  const pl_array a = check_array(dtype, shape, 0, 0);
  const int32_t n = (int32_t)(pl_array_bytes(&a) / pl_dtype_bytes(dtype));
  for (int32_t i = 0; i < n; i++)
    check_put_bits(&a, i,
                   (uint32_t)check_random(0, 1) << 31 | (uint32_t)check_random(120, 136) << 23 |
                       (uint32_t)check_random(0, 0x7fffff));
  return a;
}

/* The plain loop. */
static void add_rows(const pl_array *ids, const pl_array *grad, const pl_array *want) {
  const int32_t columns = grad->shape[1];

  for (int32_t i = 0; i < grad->shape[0]; i++)
    for (int32_t c = 0; c < columns; c++) {
      const int32_t at = check_get(ids, i) * columns + c;
      check_put_bits(want, at,
                     sum(grad->dtype, check_get_bits(want, at), check_get_bits(grad, i * columns + c)));
    }
}

static bool same(const pl_array *got, const pl_array *want) {
  const int32_t n = got->shape[0] * got->shape[1];

  for (int32_t i = 0; i < n; i++)
    if (check_get_bits(got, i) != check_get_bits(want, i)) {
      printf("embedding_grad: element %d is 0x%x, not 0x%x\n", (int)i, (unsigned)check_get_bits(got, i),
             (unsigned)check_get_bits(want, i));
      check_that(false, "the gradient is that of the plain loop");
      return false;
    }
  return true;
}

static void random_grad(void) {
  const pl_dtype type = types[check_random(0, 1)];
  int32_t n, rows, columns;
  choose(&n, &rows, &columns, type == PL_F32 ? 200 : 300);
  const int32_t used = check_random(1, rows); /* few rows: each is named again and again */
  const pl_array ids = check_array(PL_INT32, PL_SHAPE(n), 0, used - 1),
                 grad = reals(type, PL_SHAPE(n, columns)), table = reals(type, PL_SHAPE(rows, columns)),
                 want = check_array(type, PL_SHAPE(rows, columns), 0, 0);
  bool ok = true;

  memcpy(pl_hbm_pointer(&want), pl_hbm_pointer(&table), pl_array_bytes(&table));
  for (int call = 0; ok && call < 2; call++) {
    add_rows(&ids, &grad, &want);
    ok = check_works("embedding_grad", kernel_embedding_grad(ids, grad, table)) && same(&table, &want);
  }
  if (!ok)
    printf("%s, %d to %d of %d x %d\n", pl_dtype_name(type), (int)n, (int)used, (int)rows, (int)columns);
  check_free();
}

/* ---- edges ---- */

static void no_ids(void) {
  const pl_array ids = pl_hbm_array(0, PL_INT32, PL_SHAPE(0)),
                 none = pl_hbm_array(0, PL_F32, PL_SHAPE(0, 20)),
                 table = check_array(PL_F32, PL_SHAPE(7, 20), -9, 9),
                 before = check_array(PL_F32, PL_SHAPE(7, 20), 0, 0);

  memcpy(pl_hbm_pointer(&before), pl_hbm_pointer(&table), pl_array_bytes(&table));
  check_works("embedding of nothing", kernel_embedding(ids, table, none));
  check_works("embedding_grad of nothing", kernel_embedding_grad(ids, none, table));
  same(&table, &before);
  check_free();
  check_end("embedding: no ids");
}

/* The first one, one in a later call's part, the least and the greatest integer. */
static void bad_ids(void) {
  enum { N = 2100, ROWS = 24, COLUMNS = 5 };
  static const struct {
    int32_t at, id;
    const char *text;
  } bad[] = {
      {0, ROWS, ": ids[0] is 24, and the table has 24 rows"},
      {2099, -1, ": ids[2099] is -1, and the table has 24 rows"},
      {70, INT32_MIN, ": ids[70] is -2147483648, and the table has 24 rows"},
      {2060, INT32_MAX, ": ids[2060] is 2147483647, and the table has 24 rows"},
  };
  const pl_array ids = check_array(PL_INT32, PL_SHAPE(N), 0, ROWS - 1),
                 table = reals(PL_F32, PL_SHAPE(ROWS, COLUMNS)),
                 rows = check_array(PL_F32, PL_SHAPE(N, COLUMNS), 0, 0),
                 whole = check_array(PL_F32, PL_SHAPE(ROWS, COLUMNS), -9, 9),
                 want = check_array(PL_F32, PL_SHAPE(ROWS, COLUMNS), 0, 0);

  memcpy(pl_hbm_pointer(&want), pl_hbm_pointer(&table), pl_array_bytes(&table));
  for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const int32_t good = check_get(&ids, bad[i].at);
    char text[80];
    check_put(&ids, bad[i].at, bad[i].id);
    snprintf(text, sizeof text, "embedding%s", bad[i].text);
    check_fails(kernel_embedding(ids, whole, rows), PL_ERROR_ARGUMENT, text);
    snprintf(text, sizeof text, "embedding_grad%s", bad[i].text);
    check_fails(kernel_embedding_grad(ids, rows, table), PL_ERROR_ARGUMENT, text);
    check_put(&ids, bad[i].at, good);
    check_works("embedding after a bad id", kernel_embedding(ids, whole, rows));
    looked_up(&ids, &whole, &rows);
  }
  same(&table, &want);
  add_rows(&ids, &rows, &want);
  check_works("embedding_grad after bad ids", kernel_embedding_grad(ids, rows, table));
  same(&table, &want);
  check_free();
  check_end("embedding: ids that are no rows");
}

static void errors(void) {
  const pl_array ids = check_array(PL_INT32, PL_SHAPE(6), 0, 3),
                 table = check_array(PL_F32, PL_SHAPE(4, 20), -9, 9),
                 out = check_array(PL_F32, PL_SHAPE(6, 20), 0, 0),
                 narrow = check_array(PL_F32, PL_SHAPE(6, 19), 0, 0),
                 many = check_array(PL_F32, PL_SHAPE(7, 20), 0, 0),
                 halves = check_array(PL_BF16, PL_SHAPE(6, 20), 0, 0),
                 ints = check_array(PL_INT32, PL_SHAPE(6, 20), 0, 0),
                 int_table = check_array(PL_INT32, PL_SHAPE(4, 20), 0, 0),
                 real_ids = check_array(PL_F32, PL_SHAPE(6), 0, 0),
                 table_of_none = pl_hbm_array(0, PL_F32, PL_SHAPE(0, 20));
  pl_array elsewhere = out, part_ids = ids;
  part_ids.shape[0] = 4;
  elsewhere.space = PL_VMEM;

  check_fails(
      kernel_embedding(ids, table, narrow), PL_ERROR_SHAPE,
      "embedding: ids [N], out [N,D] and table [R,D] are needed; ranks 1, 2 and 2, 6 ids, out 6 x 19, "
      "table 4 x 20");
  check_fails(kernel_embedding(ids, table, many), PL_ERROR_SHAPE, "6 ids, out 7 x 20, table 4 x 20");
  check_fails(kernel_embedding(table, table, out), PL_ERROR_SHAPE, "ranks 2, 2 and 2");
  check_fails(kernel_embedding(real_ids, table, out), PL_ERROR_SHAPE,
              "embedding: ids are f32, out f32, table");
  check_fails(kernel_embedding(ids, table, halves), PL_ERROR_SHAPE, "ids are int32, out bf16, table f32");
  check_fails(kernel_embedding(ids, table, elsewhere), PL_ERROR_ARGUMENT,
              "embedding: ids, out and table must be in HBM");
  check_fails(kernel_embedding(ids, table_of_none, out), PL_ERROR_ARGUMENT, "and the table has 0 rows");
  check_fails(kernel_embedding(part_ids, table, table), PL_ERROR_ARGUMENT,
              "kernel embedding: output 0: shares HBM from");
  check_fails(kernel_embedding_grad(part_ids, table, table), PL_ERROR_ARGUMENT,
              "kernel embedding_grad: output 0: shares HBM from");
  check_works("embedding after errors", kernel_embedding(ids, table, out));
  looked_up(&ids, &table, &out);
  check_fails(kernel_embedding_grad(ids, narrow, table), PL_ERROR_SHAPE,
              "embedding_grad: ids [N], grad [N,D] and table_grad [R,D] are needed");
  check_fails(kernel_embedding_grad(ids, halves, table), PL_ERROR_SHAPE, "grad bf16, table_grad f32");
  check_fails(kernel_embedding_grad(ids, ints, int_table), PL_ERROR_SHAPE,
              "embedding_grad: grad and table_grad are int32; f32 or bf16 are right");
  check_fails(kernel_embedding_grad(ids, elsewhere, table), PL_ERROR_ARGUMENT,
              "embedding_grad: ids, grad and table_grad must be in HBM");
  check_works("embedding_grad after errors", kernel_embedding_grad(ids, out, table));
  check_free();
  check_end("embedding: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("embedding", random_lookup);
  check_random_shapes("embedding_grad", random_grad);
  no_ids();
  bad_ids();
  errors();
  return check_status();
}
