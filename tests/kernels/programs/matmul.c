/* SPDX-License-Identifier: MIT */
/* Matrix products with an order of loops, a batch, a transposed operand and an epilogue; HBM traffic; errors.
 */
#include "matmul_general.h"
#include "check.h"
#include "reference.h"

#include <stdio.h>

/* A random call and its operands. */
struct call {
  struct matmul_options options;
  int32_t batch, m, n, k; /* batch 0: none */
  pl_array x, y, o, scale, bias, residual, sums, squares;
};

/* scale or bias: whole, or one row or one column of it. */
static int32_t part_of(const pl_array *a, int32_t m, int32_t n) {
  return check_get(a, (a->shape[0] == 1 ? 0 : m) * a->shape[1] + (a->shape[1] == 1 ? 0 : n));
}

/* Element i = (b, m, n) before the activation. */
static int32_t linear(const struct call *c, int32_t b, int32_t m, int32_t n) {
  const struct matmul_epilogue *e = &c->options.epilogue;
  const int32_t matrix = c->y.rank == 3 ? b * c->k * c->n : 0;
  int32_t v = check_dot(&c->x, (b * c->m + m) * c->k, &c->y, matrix + (c->options.transposed ? n * c->k : n),
                        c->options.transposed ? 1 : c->n, c->k);
  if (e->scale != NULL)
    v *= part_of(e->scale, m, n);
  return e->bias != NULL ? v + part_of(e->bias, m, n) : v;
}

static int32_t residual(const struct call *c, int32_t i) {
  return c->options.epilogue.residual != NULL ? check_get(&c->residual, i) : 0;
}

static int32_t magnitude(int32_t v) {
  return v < 0 ? -v : v;
}

/* What a transcendental activation gives is right to within a rounding. */
static bool close(const struct call *c, int32_t i, int32_t v) {
  const bool gelu = c->options.epilogue.activation == MATMUL_GELU;
  const int32_t want =
      (gelu ? reference_gelu : reference_silu)(v * REFERENCE_ONE) + residual(c, i) * REFERENCE_ONE;
  int32_t got, margin = 4;

  if (c->o.dtype == PL_INT8) {
    got = check_get(&c->o, i) * REFERENCE_ONE;
    margin += REFERENCE_ONE / 2;
    if (magnitude(want) > 127 * REFERENCE_ONE) /* saturates */
      return got == (want > 0 ? 127 : -128) * REFERENCE_ONE || magnitude(got - want) <= margin;
  } else if (c->o.dtype == PL_BF16) {
    got = reference_fixed((uint32_t)((const uint16_t *)pl_hbm_pointer(&c->o))[i] << 16);
    margin += magnitude(want) >> 8;
  } else {
    got = reference_fixed(((const uint32_t *)pl_hbm_pointer(&c->o))[i]);
    margin += magnitude(want) >> 20;
  }
  if (magnitude(got - want) <= margin)
    return true;
  printf("element %d is %d / 2^20, not %d / 2^20 (sum with scale and bias: %d)\n", (int)i, (int)got,
         (int)want, (int)v);
  check_that(false, "the activation is right");
  return false;
}

static bool right(const struct call *c) {
  const struct matmul_epilogue *e = &c->options.epilogue;

  for (int32_t row = 0; row < (c->batch == 0 ? 1 : c->batch) * c->m; row++) {
    int32_t sum = 0, squares = 0;
    for (int32_t n = 0; n < c->n; n++) {
      const int32_t i = row * c->n + n;
      int32_t v = linear(c, row / c->m, row % c->m, n);
      if (e->activation >= MATMUL_GELU) {
        if (!close(c, i, v))
          return false;
        continue;
      }
      if (e->activation == MATMUL_RELU && v < 0)
        v = 0;
      v += residual(c, i);
      sum += v;
      squares += v * v;
      if (e->quantise != 0) /* half of it, to nearest even */
        v = (v >> 1) + (v & (v >> 1) & 1);
      if (c->o.dtype == PL_INT8)
        v = v > 127 ? 127 : v < -128 ? -128 : v;
      if (!check_element("o", &c->o, i, v))
        return false;
    }
    if (e->row_sums != NULL && (!check_element("row_sums", e->row_sums, row, sum) ||
                                !check_element("row_squares", e->row_squares, row, squares)))
      return false;
  }
  return true;
}

static pl_array rows(const struct call *c, pl_dtype dtype, int32_t m, int32_t n, int32_t low, int32_t high) {
  return check_array(dtype, c->batch != 0 ? PL_SHAPE(c->batch, m, n) : PL_SHAPE(m, n), low, high);
}

static void random_epilogue(struct call *c) {
  static const pl_dtype results[] = {PL_F32, PL_BF16, PL_INT8};
  struct matmul_epilogue *e = &c->options.epilogue;
  const pl_array *no = NULL;
  const pl_dtype type = check_random(0, 1) ? PL_F32 : PL_BF16;

  e->activation = (uint8_t)check_random(MATMUL_LINEAR, MATMUL_SILU);
  c->scale = check_array(type, PL_SHAPE(check_random(0, 1) ? c->m : 1, check_random(0, 2) ? c->n : 1), 1,
                         3) /* no -0 */;
  c->bias = check_array(type, PL_SHAPE(check_random(0, 2) ? 1 : c->m, check_random(0, 2) ? c->n : 1), -4, 4);
  c->residual = rows(c, type, c->m, c->n, -4, 4);
  e->scale = check_random(0, 1) ? &c->scale : no;
  e->bias = check_random(0, 2) ? &c->bias : no;
  e->residual = check_random(0, 2) ? no : &c->residual;
  c->o = rows(c, results[check_random(0, 2)], c->m, c->n, -77, -77);
  if (e->activation >= MATMUL_GELU)
    return;
  if (c->o.dtype == PL_INT8 && check_random(0, 1))
    e->quantise = 0.5f;
  if ((c->options.order == MATMUL_MNK || c->options.order == MATMUL_MKN) && check_random(0, 1)) {
    c->sums = rows(c, PL_F32, c->m, 1, -77, -77);
    c->squares = rows(c, PL_F32, c->m, 1, -77, -77);
    e->row_sums = &c->sums;
    e->row_squares = &c->squares;
  }
}

/* The bytes moved are those that matmul_traffic() says. */
static void check_traffic(const struct call *c) {
  struct matmul_traffic t;
  pl_stats stats;
  uint64_t moved = 0;

  pl_get_stats(&stats);
  for (unsigned q = TPU_QUEUE_DMA0; q <= TPU_QUEUE_DMA3; q++)
    moved += stats.queue[q].bytes;
  if (!check_works("matmul_traffic", matmul_traffic(c->x, c->y, c->o, &c->options, &t)))
    return;
  const uint64_t said = t.x + t.y + t.epilogue + t.o;
  if (said != moved) {
    printf("traffic: %u bytes moved, %u said: x %u, y %u, epilogue %u, o %u\n", (unsigned)moved,
           (unsigned)said, (unsigned)t.x, (unsigned)t.y, (unsigned)t.epilogue, (unsigned)t.o);
    check_that(false, "matmul_traffic() says what is moved");
  }
}

static void random_call(void) {
  struct call c = {.options = {.blocks = {check_random(5, 40), check_random(1, 3) * 16, check_random(1, 48),
                                          (uint8_t)check_random(0, 3), check_random(0, 1) != 0},
                               .order = (uint8_t)check_random(0, MATMUL_ORDERS - 1),
                               .transposed = check_random(0, 2) == 0},
                   .batch = check_random(-2, 3),
                   .m = check_random(1, 60),
                   .n = check_random(1, 60),
                   .k = check_random(1, 50)};
  static const pl_dtype types[] = {PL_BF16, PL_BF16, PL_INT8, PL_F32};
  const pl_dtype type = types[check_random(0, 3)];
  if (check_random(0, 4) == 0) /* the kernel's own */
    c.options.blocks = (struct matmul_blocks){0};
  if (type == PL_F32) /* small numbers are exact however it is done */
    c.options.precision = (uint8_t)(check_random(0, 2) * PL_PRECISION_HIGH);
  const int32_t y_rows = c.options.transposed ? c.n : c.k, y_columns = c.options.transposed ? c.k : c.n;

  c.batch = c.batch < 0 ? 0 : c.batch;
  c.x = rows(&c, type, c.m, c.k, -1, 1);
  c.y = check_random(0, 1) ? rows(&c, type, y_rows, y_columns, -1, 1)
                           : check_array(type, PL_SHAPE(y_rows, y_columns), -1, 1);
  if (check_random(0, 3))
    random_epilogue(&c);
  else
    c.o = rows(&c, type == PL_INT8 ? PL_INT32 : check_random(0, 1) ? PL_F32 : PL_BF16, c.m, c.n, -77, -77);
  bool ok = true;
  for (int call = 0; ok && call < 2; call++) /* the second one has its plan already */
    ok = check_works("matmul", kernel_matmul_general(c.x, c.y, c.o, &c.options)) && right(&c);
  if (ok)
    check_traffic(&c);
  else
    printf("batch %d, %d x %d x %d, blocks %d %d %d, buffers %d, order %d, transposed %d, %s to %s, "
           "activation %d\n",
           (int)c.batch, (int)c.m, (int)c.n, (int)c.k, (int)c.options.blocks.m, (int)c.options.blocks.n,
           (int)c.options.blocks.k, c.options.blocks.buffers, c.options.order, c.options.transposed,
           pl_dtype_name(type), pl_dtype_name(c.o.dtype), c.options.epilogue.activation);
  check_free();
}

/* Numbers that bf16 cannot hold: of 12 bits in two parts, of 20 in three. */
static void precision(void) {
  static const struct {
    uint8_t precision;
    int32_t most;
  } how[] = {{PL_PRECISION_HIGH, 4000}, {PL_PRECISION_HIGHEST, 1000000}};

  for (unsigned i = 0; i < sizeof how / sizeof how[0]; i++) {
    struct call c = {.options = {.precision = how[i].precision, .transposed = i != 0},
                     .m = check_random(50, 90),
                     .n = check_random(50, 90),
                     .k = check_random(130, 150)};
    const int32_t y_rows = i != 0 ? c.n : c.k, y_columns = i != 0 ? c.k : c.n;
    c.x = rows(&c, PL_F32, c.m, c.k, -how[i].most, how[i].most);
    c.y = rows(&c, PL_F32, y_rows, y_columns, 0, 0);
    for (int32_t n = 0; n < c.n; n++) /* a few ones: every sum is exact */
      for (int32_t k = check_random(0, 20); k < c.k; k += check_random(20, 40))
        check_put(&c.y, i != 0 ? n * c.k + k : k * c.n + n, check_random(0, 1) ? 1 : -1);
    c.o = rows(&c, PL_F32, c.m, c.n, 0, 0);
    if (check_works("matmul of f32", kernel_matmul_general(c.x, c.y, c.o, &c.options)))
      check_that(right(&c), "a product of f32 has the bits that its precision promises");
    check_free();
  }
  check_end("matmul: f32 in three and six passes");
}

static void errors(void) {
  const pl_array x = check_array(PL_BF16, PL_SHAPE(20, 16), 0, 1),
                 y = check_array(PL_BF16, PL_SHAPE(16, 24), 0, 1),
                 o = check_array(PL_F32, PL_SHAPE(20, 24), 0, 0),
                 ints = check_array(PL_INT32, PL_SHAPE(1, 24), 0, 0),
                 one = check_array(PL_F32, PL_SHAPE(20, 1), 1, 1),
                 row = check_array(PL_F32, PL_SHAPE(1, 24), 1, 1),
                 sums = check_array(PL_INT32, PL_SHAPE(20, 24), 0, 0),
                 int_rows = check_array(PL_INT32, PL_SHAPE(20, 1), 0, 0);
  struct matmul_options good = {.blocks = {4, 16, 16, 2}}, bad = good;

  bad.transposed = true;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_SHAPE, "y [N,K]");
  check_fails(kernel_matmul_general(x, o, y, &good), PL_ERROR_SHAPE, "y 2 [20,24,0]");
  check_fails(kernel_matmul_general(x, o, y, &good), PL_ERROR_SHAPE,
              "matmul: x [M,K], y [K,N] and o [M,N] are needed, all or x and o with a batch in front");
  check_fails(kernel_matmul(x, o, y, NULL), PL_ERROR_SHAPE,
              "matmul: x [M,K], y [K,N] and o [M,N] are needed; x has 16 columns, y 20 rows");
  bad = good;
  bad.blocks.n = 0;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "blocks of 4 x 0 x 16");
  bad = good;
  bad.precision = PL_PRECISION_HIGH | PL_PRECISION_HIGHEST;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "matmul: precision 24; 0,");
  bad = good;
  bad.order = MATMUL_ORDERS;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "order 4; 0 to 3");
  bad.order = MATMUL_NKM;
  bad.blocks.m = 1;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_LIMIT, "a loop of 20 blocks");
  bad = good;
  bad.epilogue.bias = &ints;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_SHAPE,
              "matmul epilogue: bias is int32; f32 or bf16 are possible");
  bad.epilogue = (struct matmul_epilogue){.row_sums = &int_rows, .row_squares = &int_rows};
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_SHAPE,
              "matmul epilogue: row_sums and row_squares must be f32");
  bad.epilogue = (struct matmul_epilogue){.bias = &row};
  check_fails(kernel_matmul_general(x, y, sums, &bad), PL_ERROR_SHAPE,
              "matmul epilogue: o is int32; f32, bf16 or int8 are possible");
  bad.epilogue.bias = &y;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_SHAPE,
              "bias is of rank 2 [16,24]; for this product [20 or 1,24 or 1]");
  bad.epilogue = (struct matmul_epilogue){.residual = &one};
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_SHAPE, "residual is of rank 2 [20,1]");
  bad.epilogue = (struct matmul_epilogue){.row_sums = &one};
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "come both or not at all");
  bad.epilogue.row_squares = &one;
  bad.order = MATMUL_NMK;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "N as the outer loop");
  bad = good;
  bad.epilogue.activation = 9;
  check_fails(kernel_matmul_general(x, y, o, &bad), PL_ERROR_ARGUMENT, "activation 9");
  check_works("matmul after errors", kernel_matmul_general(x, y, o, &good));
  check_free();
  check_end("matmul: errors");
}

int main(int argc, char **argv) {
  char text[48];
  check_begin(argc, argv);
  for (int32_t i = 0; i < check_shapes; i++)
    random_call();
  snprintf(text, sizeof text, "matmul: %d random calls", (int)check_shapes);
  check_end(text);
  precision();
  errors();
  return check_status();
}
