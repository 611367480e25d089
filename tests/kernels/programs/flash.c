/* SPDX-License-Identifier: MIT */
/*
 * Flash attention against the definition: all scores of a row, weights, weighted mean. Any heads, rows,
 * columns and blocks, causal and not, errors.
 *
 * q, k and v are small whole numbers and the scale is ln 2, so that weights are powers of two, relative to
 * the greatest of the row: the reference is computed in whole numbers, and rounding of the weights to bf16
 * costs nothing. What is left is f32 rounding and the transcendental pipe, far below the error that one wrong
 * row or column makes.
 */
#include "flash.h"
#include "attention_check.h"

static bool right_row(const struct operand *q, const struct operand *k, const struct operand *v,
                      const pl_array *o, int32_t head, int32_t row, bool causal) {
  const int32_t rows = o->shape[1], columns = o->shape[2], all = k->bytes.shape[1],
                group = o->shape[0] / k->bytes.shape[0], first = (head * rows + row) * columns,
                keys = causal && row + 1 < all ? row + 1 : all;
  const int8_t *const values = (const int8_t *)pl_hbm_pointer(&v->bytes) + head / group * all * columns;
  uint32_t weight[MAX_KEYS];
  const uint32_t sum = weights_of((const int8_t *)pl_hbm_pointer(&q->bytes) + first,
                                  (const int8_t *)pl_hbm_pointer(&k->bytes) + head / group * all * columns,
                                  keys, columns, weight);

  for (int32_t i = 0; i < columns; i++)
    if (!right_mean("flash", o, first + i, weight, sum, keys, values + i, columns))
      return false;
  return true;
}

static bool attention(int32_t heads, int32_t group, int32_t rows, int32_t keys, int32_t columns,
                      pl_dtype type, const struct flash_options *options) {
  const struct operand q = operand(heads * group, rows, columns, 1), k = operand(heads, keys, columns, 1),
                       v = operand(heads, keys, columns, 4);
  const pl_array o = check_array(type, PL_SHAPE(heads * group, rows, columns), -77, -77);
  bool ok = true;

  for (int call = 0; ok && call < 2; call++) { /* the second one has its plan already */
    ok = check_works("flash", kernel_flash(q.bf16, k.bf16, v.bf16, o, options));
    for (int32_t h = 0; ok && h < heads * group; h++)
      for (int32_t r = 0; ok && r < rows; r++)
        ok = right_row(&q, &k, &v, &o, h, r, options->causal);
  }
  if (!ok)
    printf("%d x %d heads, %d queries, %d keys, %d columns, blocks of %d and %d%s\n", (int)heads, (int)group,
           (int)rows, (int)keys, (int)columns, (int)options->q, (int)options->kv,
           options->causal ? ", causal" : "");
  check_that(ok, "attention is right");
  check_free();
  return ok;
}

static void random_shape(void) {
  const struct flash_options options = {.causal = check_random(0, 1),
                                        .scale = LN2,
                                        .q = check_random(0, 3) * 16,
                                        .kv = check_random(0, 3) * 16};
  attention(check_random(1, 2), check_random(1, 2), check_random(1, 70), check_random(1, 70),
            check_random(1, 40), check_random(0, 1) ? PL_BF16 : PL_F32, &options);
}

/* The blocks that the kernel chooses, heads of 64 and 128, several blocks of each. */
static void heads(void) {
  static const struct flash_options plain = {.scale = LN2}, causal = {.causal = true, .scale = LN2};
  attention(1, 1, 72, 290, 128, PL_BF16, &plain);
  attention(1, 1, 200, 200, 128, PL_BF16, &causal);
  attention(1, 1, 130, 290, 64, PL_BF16, &plain);
  attention(1, 2, 150, 150, 64, PL_F32, &causal);
  check_end("flash: heads of 64 and 128 columns");
}

static void errors(void) {
  const struct flash_options none = {.causal = false}, odd = {.q = 20}, thin = {.kv = 6},
                             negative = {.scale = -1.0f};
  const pl_array q = check_array(PL_BF16, PL_SHAPE(4, 20, 16), 0, 0),
                 k = check_array(PL_BF16, PL_SHAPE(2, 24, 16), 0, 0),
                 o = check_array(PL_F32, PL_SHAPE(4, 20, 16), 5, 5),
                 three = check_array(PL_BF16, PL_SHAPE(3, 24, 16), 0, 0),
                 flat = check_array(PL_BF16, PL_SHAPE(20, 16), 0, 0),
                 wide = check_array(PL_BF16, PL_SHAPE(2, 24, 32), 0, 0);

  pl_array elsewhere = o;
  elsewhere.space = PL_VMEM;
  const struct {
    const pl_array *q, *k, *v, *o;
    const struct flash_options *options;
    const char *text;
  } wrong[] = {
      {&flat, &k, &k, &o, &none, "q has rank 2"},
      {&q, &three, &three, &o, &none, "q has 4 heads of 16 columns, k 3"},
      {&q, &wide, &wide, &o, &none, "k 2 of 32"},
      {&q, &k, &wide, &o, &none, "dimension 2 of k is 16 and of v 32"},
      {&q, &k, &k, &three, &none, "dimension 0"},
      {&o, &k, &k, &o, &none, "q is f32; bf16 is right"},
      {&q, &k, &k, &o, &odd, "blocks of 20 queries"},
      {&q, &k, &k, &o, &thin, "0 queries and 6 keys"},
      {&q, &k, &k, &o, &negative, "scale 0xbf800000"},
      {&q, &k, &k, &elsewhere, &none, "flash: o must be in HBM"},
  };
  for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    check_fails(kernel_flash(*wrong[i].q, *wrong[i].k, *wrong[i].v, *wrong[i].o, wrong[i].options),
                i < 6 ? PL_ERROR_SHAPE : PL_ERROR_ARGUMENT, wrong[i].text);
  check_works("flash after errors", kernel_flash(q, k, k, o, &none));
  check_element("flash", &o, 0, 0);
  check_free();
  check_end("flash: errors");
}

int main(int argc, char **argv) {
  check_begin(argc, argv);
  check_random_shapes("flash", random_shape);
  heads();
  errors();
  return check_status();
}
