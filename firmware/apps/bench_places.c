/* SPDX-License-Identifier: MIT */
/*
 * bench_places: the figures of docs/timings.md of the kernels that move and choose (rotary embedding,
 * pooling, top-k, argmax, paged attention), of sums and iota. Their bound is what takes longest alone: the
 * port in either direction, or the vector ALU with the operations that the kernel's header counts.
 */
#include "argmax.h"
#include "bench.h"
#include "boot.h"
#include "device.h"
#include "elementwise.h"
#include "paged.h"
#include "pool.h"
#include "rotary.h"
#include "topk.h"

enum { ARRAYS = 6 };

struct work {
  const char *name;
  pl_array array[ARRAYS];
  pl_status (*call)(const pl_array *array);
  bool (*right)(const pl_array *array);
  uint32_t in, out, alu; /* bytes fetched, bytes written back, operations */
};

static pl_array array(pl_dtype dtype, pl_shape shape) {
  pl_array a = {0};
  if (pl_alloc(PL_HBM, dtype, shape, &a) != PL_OK)
    bench_fail("places", pl_error_message());
  return a;
}

static uint32_t elements(const pl_array *a) {
  return pl_array_bytes(a) / pl_dtype_bytes(a->dtype);
}

/* Every element of a bf16 array is a number by its place. */
static void fill(const pl_array *a, uint32_t first, uint32_t cycle) {
  uint16_t *at = pl_hbm_pointer(a);
  for (uint32_t i = 0; i < elements(a); i++)
    at[i] = bench_bf16(first + i % cycle);
}

static bool measure(const struct work *w) {
  const uint32_t lanes = boot_params.value[TPU_PARAM_LANES],
                 port = boot_params.value[TPU_PARAM_HBM_PORT_BYTES];
  const uint32_t part[] = {w->in / port, w->out / port, w->alu / lanes};
  uint32_t bound = 0;
  pl_stats stats;

  /* The first call records vector functions; if the program memory is full the others go, those of its first
     step among them, and the second call records these anew. */
  for (int call = 0; call < 3; call++)
    if (w->call(w->array) != PL_OK) {
      bench_fail(w->name, pl_error_message());
      return false;
    }
  pl_get_stats(&stats);
  bench_plan_begin();
  (void)!w->call(w->array);
  bench_plan_end(w->name);
  for (int i = 0; i < 3; i++)
    bound = part[i] > bound ? part[i] : bound;
  bench_percent(w->name, "bound", bound, stats.cycles);
  bench_cycles(w->name, "cycles", stats.cycles);
  return true;
}

static void run(const struct work *w) {
  if (measure(w) && !w->right(w->array))
    bench_fail(w->name, "the result is wrong");
  for (unsigned i = 0; i < ARRAYS; i++)
    if (w->array[i].rank != 0 && pl_free(&w->array[i]) != PL_OK)
      bench_fail(w->name, pl_error_message());
}

/* ---- points (1, 1) turned by cos 2 and sin 1: (1, 3) ---- */

static pl_status rotary_call(const pl_array *a) {
  return kernel_rotary(a[0], a[1], a[2], a[3], 0);
}

static bool rotary_right(const pl_array *a) {
  const uint32_t size = (uint32_t)a[3].shape[2];
  const uint16_t *at = pl_hbm_pointer(&a[3]);
  for (uint32_t i = 0; i < elements(&a[3]); i++)
    if (at[i] != bench_bf16(i % size < size / 2 ? 1 : 3))
      return false;
  return true;
}

static void rotary(void) {
  enum { HEADS = 8, POSITIONS = 512, SIZE = 128 };
  struct work w = {.name = "rotary_8x512x128_bf16",
                   .array = {array(PL_BF16, PL_SHAPE(HEADS, POSITIONS, SIZE)),
                             array(PL_BF16, PL_SHAPE(POSITIONS, SIZE / 2)),
                             array(PL_BF16, PL_SHAPE(POSITIONS, SIZE / 2)),
                             array(PL_BF16, PL_SHAPE(HEADS, POSITIONS, SIZE))},
                   .call = rotary_call,
                   .right = rotary_right};
  fill(&w.array[0], 1, 1);
  fill(&w.array[1], 2, 1);
  fill(&w.array[2], 1, 1);
  w.in = pl_array_bytes(&w.array[0]) + 2 * pl_array_bytes(&w.array[1]);
  w.out = pl_array_bytes(&w.array[3]);
  w.alu = 3 * elements(&w.array[0]);
  run(&w);
}

/* ---- elements that rise along the rows of an image: the window's last column is the largest ---- */

enum { IMAGE = 112, CHANNELS = 64, RESULT = IMAGE / 2 };

static pl_status pool_call(const pl_array *a) {
  const struct pool pool = {POOL_MAX, {3, 3}, {2, 2}, {1, 1}, 0};
  return kernel_pool(a[0], a[1], &pool);
}

static bool pool_right(const pl_array *a) {
  const uint16_t *at = pl_hbm_pointer(&a[1]);
  for (uint32_t i = 0; i < elements(&a[1]); i++)
    if (at[i] != bench_bf16(2 * (i / CHANNELS % RESULT) + 1 + i % 8))
      return false;
  return true;
}

static void pool(void) {
  struct work w = {.name = "maxpool_112x112x64_bf16",
                   .array = {array(PL_BF16, PL_SHAPE(1, IMAGE, IMAGE, CHANNELS)),
                             array(PL_BF16, PL_SHAPE(1, RESULT, RESULT, CHANNELS))},
                   .call = pool_call,
                   .right = pool_right};
  uint16_t *at = pl_hbm_pointer(&w.array[0]);
  for (uint32_t i = 0; i < elements(&w.array[0]); i++)
    at[i] = bench_bf16(i / CHANNELS % IMAGE + i % 8);
  w.in = pl_array_bytes(&w.array[0]);
  w.out = pl_array_bytes(&w.array[1]);
  /* Two operations on each row that a window reaches, two on each pixel of the result. */
  w.alu = (2 * RESULT * IMAGE + 2 * RESULT * RESULT) * CHANNELS;
  run(&w);
}

/* ---- rows of the numbers 0 to 1023, each in another order ---- */

enum { COLUMNS = 1024, K = 8, STEP = 37 };

/* Those numbers on top of `least`. */
static void put_rows(const pl_array *a, int32_t least) {
  int32_t *at = pl_hbm_pointer(a);
  for (int32_t r = 0; r < a->shape[0]; r++)
    for (int32_t c = 0; c < COLUMNS; c++)
      *at++ = least + (c * STEP + r) % COLUMNS;
}

/* The kernel for floats: as bits of f32 the numbers are 0 and subnormals, which compare all the same. */
static pl_array as_f32(pl_array a) {
  a.dtype = PL_F32;
  return a;
}

static pl_status topk_call(const pl_array *a) {
  return kernel_topk(as_f32(a[0]), as_f32(a[1]), a[2], 0);
}

static bool topk_right(const pl_array *a) {
  const int32_t *value = pl_hbm_pointer(&a[1]), *index = pl_hbm_pointer(&a[2]);
  for (int32_t i = 0; i < (int32_t)elements(&a[1]); i++)
    if (value[i] != COLUMNS - 1 - i % K || (index[i] * STEP + i / K) % COLUMNS != value[i])
      return false;
  return true;
}

static void topk(void) {
  enum { ROWS = 256 };
  struct work w = {.name = "topk_256x1024_k8_f32",
                   .array = {array(PL_INT32, PL_SHAPE(ROWS, COLUMNS)), array(PL_INT32, PL_SHAPE(ROWS, K)),
                             array(PL_INT32, PL_SHAPE(ROWS, K))},
                   .call = topk_call,
                   .right = topk_right};
  put_rows(&w.array[0], 0);
  w.in = pl_array_bytes(&w.array[0]);
  w.out = 2 * pl_array_bytes(&w.array[1]);
  w.alu = ROWS * COLUMNS * (8 * K + 5);
  run(&w);
}

/* ---- 1 and small numbers like these: where the largest of a row is, sums, indices ---- */

enum { MANY_ROWS = 512, ONE = 0x3f800000 /* in f32; numbers added to it are those next to 1 */ };

static pl_status argmax_call(const pl_array *a) {
  return kernel_argmax(as_f32(a[0]), a[1], 0);
}

static bool argmax_right(const pl_array *a) {
  const int32_t *index = pl_hbm_pointer(&a[1]);
  for (int32_t r = 0; r < MANY_ROWS; r++)
    if ((index[r] * STEP + r) % COLUMNS != COLUMNS - 1)
      return false;
  return true;
}

static void argmax(void) {
  struct work w = {
      .name = "argmax_512x1024_f32",
      .array = {array(PL_INT32, PL_SHAPE(MANY_ROWS, COLUMNS)), array(PL_INT32, PL_SHAPE(MANY_ROWS))},
      .call = argmax_call,
      .right = argmax_right};
  put_rows(&w.array[0], ONE);
  w.in = pl_array_bytes(&w.array[0]);
  w.out = pl_array_bytes(&w.array[1]);
  w.alu = 8 * MANY_ROWS * COLUMNS;
  run(&w);
}

static pl_status add_call(const pl_array *a) {
  return kernel_add(a[0], a[1], a[2], 0);
}

static bool add_right(const pl_array *a) {
  const int32_t *x = pl_hbm_pointer(&a[0]), *o = pl_hbm_pointer(&a[2]);
  for (uint32_t i = 0; i < elements(&a[2]); i++)
    if ((uint32_t)o[i] != 2 * (uint32_t)x[i])
      return false;
  return true;
}

static void add(void) {
  const pl_shape shape = PL_SHAPE(MANY_ROWS, COLUMNS);
  struct work w = {.name = "add_512x1024_int32",
                   .array = {array(PL_INT32, shape), array(PL_INT32, shape), array(PL_INT32, shape)},
                   .call = add_call,
                   .right = add_right};
  put_rows(&w.array[0], ONE);
  put_rows(&w.array[1], ONE);
  w.in = 2 * pl_array_bytes(&w.array[0]);
  w.out = pl_array_bytes(&w.array[2]);
  w.alu = MANY_ROWS * COLUMNS;
  run(&w);
}

static pl_status iota_call(const pl_array *a) {
  return kernel_iota(a[0], 0, 0);
}

static bool iota_right(const pl_array *a) {
  const int32_t *o = pl_hbm_pointer(&a[0]);
  for (uint32_t i = 0; i < elements(&a[0]); i++)
    if (o[i] != (int32_t)(i / COLUMNS))
      return false;
  return true;
}

static void iota(void) {
  struct work w = {.name = "iota_512x1024_int32",
                   .array = {array(PL_INT32, PL_SHAPE(MANY_ROWS, COLUMNS))},
                   .call = iota_call,
                   .right = iota_right};
  w.out = pl_array_bytes(&w.array[0]);
  w.alu = MANY_ROWS * COLUMNS;
  run(&w);
}

/* ---- queries of zeros: the mean of a sequence's values, which are 1 in its pages and 2 in others' ---- */

enum { SEQUENCES = 4, HEADS = 32, HEADS_KV = 8, PAGE = 16, LISTED = 16, SIZE = 128, UNUSED = 8 };

static pl_status paged_call(const pl_array *a) {
  return kernel_paged_attention(a[0], a[1], a[2], a[3], a[4], a[5], 0);
}

static bool paged_right(const pl_array *a) {
  const uint16_t *at = pl_hbm_pointer(&a[5]);
  for (uint32_t i = 0; i < elements(&a[5]); i++)
    if (at[i] != bench_bf16(1))
      return false;
  return true;
}

static void paged(void) {
  enum { PAGES = SEQUENCES * LISTED + UNUSED };
  const pl_shape queries = PL_SHAPE(SEQUENCES, HEADS, SIZE), pages = PL_SHAPE(PAGES, HEADS_KV, PAGE, SIZE);
  struct work w = {.name = "paged_4x256_32_8_d128",
                   .array = {array(PL_BF16, queries), array(PL_BF16, pages), array(PL_BF16, pages),
                             array(PL_INT32, PL_SHAPE(SEQUENCES, LISTED)),
                             array(PL_INT32, PL_SHAPE(SEQUENCES)), array(PL_BF16, queries)},
                   .call = paged_call,
                   .right = paged_right};
  int32_t *table = pl_hbm_pointer(&w.array[3]), *length = pl_hbm_pointer(&w.array[4]);
  uint16_t *value = pl_hbm_pointer(&w.array[2]);

  fill(&w.array[0], 0, 1);
  fill(&w.array[1], 1, 8);
  fill(&w.array[2], 2, 1);
  for (uint32_t i = 0; i < SEQUENCES * LISTED; i++) {
    table[i] = (int32_t)(i * 29 % PAGES); /* any order; some pages are nobody's */
    for (uint32_t k = 0; k < HEADS_KV * PAGE * SIZE; k++)
      value[(uint32_t)table[i] * HEADS_KV * PAGE * SIZE + k] = bench_bf16(1);
  }
  for (uint32_t b = 0; b < SEQUENCES; b++)
    length[b] = LISTED * PAGE;
  w.in = 2 * SEQUENCES * LISTED * HEADS_KV * PAGE * SIZE * 2;
  w.out = pl_array_bytes(&w.array[5]);
  run(&w);
}

int main(void) {
  rotary();
  pool();
  topk();
  paged();
  argmax();
  add();
  iota();
  return bench_failed() ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
