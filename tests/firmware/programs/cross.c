/* SPDX-License-Identifier: MIT */
/*
 * pl_roll, pl_transpose, pl_random_bits and pl_stochastic_round against plain C: ragged extents, every dtype,
 * views, ACC, in place, blocks of different sizes, and errors.
 */
#include "boot.h"
#include "pallas.h"

#include <stdio.h>
#include <string.h>

static unsigned failures, checks;
static struct {
  const char *name;
  int32_t rows, columns, shift;
  unsigned dimension;
  pl_dtype dtype;
} job;
static pl_array xs, os;

static void check(int i, uint32_t got, uint32_t want) {
  checks++;
  if (got != want && failures++ < 10)
    printf("FAIL %s %dx%d dtype %d shift %d at %d: %08x, should be %08x\n", job.name, (int)job.rows,
           (int)job.columns, (int)job.dtype, (int)job.shift, i, (unsigned)got, (unsigned)want);
}

static uint32_t bytes_of(pl_dtype dtype) {
  return dtype == PL_F32 || dtype == PL_INT32 ? 4 : dtype == PL_BF16 ? 2 : 1;
}

static uint32_t element(const pl_array *a, int i) {
  const uint8_t *p = (const uint8_t *)pl_hbm_pointer(a) + (uint32_t)i * bytes_of(a->dtype);
  uint32_t value = 0;
  memcpy(&value, p, bytes_of(a->dtype));
  return value;
}

/* Bytes of all values; as bf16 and f32 they are normal numbers. */
static void setup(pl_shape to) {
  uint32_t seed = (uint32_t)(job.rows * 131 + job.columns * 7 + job.shift);
  xs = pl_hbm_array(1 << 20, job.dtype, PL_SHAPE(job.rows, job.columns));
  os = pl_hbm_array(2 << 20, job.dtype, to);
  const uint32_t n = (uint32_t)(job.rows * job.columns) * bytes_of(job.dtype);
  for (uint32_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    const bool real = job.dtype == PL_F32 || job.dtype == PL_BF16;
    ((uint8_t *)pl_hbm_pointer(&xs))[i] = (uint8_t)(real ? (seed >> 24 & 0xbf) | 1 : seed >> 24);
  }
  memset(pl_hbm_pointer(&os), 0x5a, n);
}

static bool call(const char *name, void (*body)(void)) {
  const pl_kernel kernel = {.name = name, .body = body};
  job.name = name;
  if (pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os)) == PL_OK)
    return true;
  failures++;
  printf("FAIL %s: %s\n", name, pl_error_message());
  return false;
}

/* ---- transpose ---- */

static void transpose_body(void) {
  pl_transpose(pl_output(0), pl_input(0));
}

static void test_transpose(void) {
  setup(PL_SHAPE(job.columns, job.rows));
  if (call("transpose", transpose_body))
    for (int r = 0; r < job.rows; r++)
      for (int c = 0; c < job.columns; c++)
        check(r * job.columns + c, element(&os, c * job.rows + r), element(&xs, r * job.columns + c));
}

static void part_body(void) { /* a part that begins in the middle, into the middle */
  pl_transpose(pl_at(pl_output(0), PL_DS(1, 7), PL_DS(5, 13)), pl_at(pl_input(0), PL_DS(3, 13), PL_DS(2, 7)));
}

static void test_part(void) {
  job.rows = 20;
  job.columns = 24;
  job.dtype = PL_F32;
  setup(PL_SHAPE(20, 24));
  if (call("transpose of a part", part_body))
    for (int j = 0; j < 7; j++)
      for (int i = 0; i < 13; i++)
        check(j * 13 + i, element(&os, (j + 1) * 24 + i + 5), element(&xs, (i + 3) * 24 + j + 2));
}

static void from_acc_body(void) {
  pl_copy(pl_scratch(0), pl_input(0));
  pl_transpose(pl_scratch(1), pl_scratch(0));
  pl_transpose(pl_scratch(1), pl_scratch(1)); /* square: in place */
  pl_transpose(pl_output(0), pl_scratch(1));
}

static void test_acc(int32_t n) {
  const pl_kernel kernel = {.name = "transpose from ACC",
                            .body = from_acc_body,
                            .scratch = {PL_ACC(PL_F32, n, n), PL_VMEM(PL_F32, n, n)}};
  job.name = kernel.name;
  job.rows = job.columns = n;
  job.dtype = PL_F32;
  setup(PL_SHAPE(n, n));
  if (pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os)) != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", kernel.name, pl_error_message());
    return;
  }
  for (int r = 0; r < n; r++)
    for (int c = 0; c < n; c++)
      check(r * n + c, element(&os, c * n + r), element(&xs, r * n + c));
}

/* ---- roll ---- */

static void roll_body(void) {
  pl_roll(pl_output(0), pl_input(0), job.shift, job.dimension);
}

static void test_roll(void) {
  const int n[2] = {(int)job.rows, (int)job.columns};
  setup(PL_SHAPE(job.rows, job.columns));
  if (!call("roll", roll_body))
    return;
  for (int r = 0; r < n[0]; r++)
    for (int c = 0; c < n[1]; c++) {
      int at[2] = {r, c}, k = (int)job.dimension;
      at[k] = ((at[k] + (int)job.shift) % n[k] + n[k]) % n[k];
      check(r * n[1] + c, element(&os, at[0] * n[1] + at[1]), element(&xs, r * n[1] + c));
    }
}

/* ---- random bits ---- */

static const uint32_t key[2] = {0x1234, 77};

static uint32_t threefry(uint32_t x0, uint32_t x1) {
  static const uint8_t turns[8] = {13, 15, 26, 6, 17, 29, 16, 24};
  const uint32_t k[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1bd11bda};
  x0 += k[0];
  x1 += k[1];
  for (uint32_t i = 0; i < 20; i++) {
    const uint32_t n = turns[i % 8];
    x0 += x1;
    x1 = (x1 << n | x1 >> (32 - n)) ^ x0;
    if (i % 4 == 3) {
      x0 += k[(i / 4 + 1) % 3];
      x1 += k[(i / 4 + 2) % 3] + i / 4 + 1;
    }
  }
  return x0 ^ x1;
}

static void grid_map(const pl_grid *g, pl_index *b) {
  b[0].start = g->id[0];
  b[1].start = g->id[1];
}

static void random_body(void) {
  const pl_ref o = pl_output(0);
  pl_random_bits(o, key, (uint32_t)(pl_program_id(0) * pl_ref_extent(o, 0)),
                 (uint32_t)(pl_program_id(1) * pl_ref_extent(o, 1)));
}

/* The same bits whatever the blocks are. */
static void test_random(int32_t block_rows, int32_t block_columns) {
  const pl_kernel kernel = {.name = "random bits",
                            .body = random_body,
                            .grid =
                                PL_GRID(pl_cdiv(job.rows, block_rows), pl_cdiv(job.columns, block_columns)),
                            .out = {PL_BLOCK(grid_map, block_rows, block_columns)}};
  job.name = kernel.name;
  job.dtype = PL_INT32;
  setup(PL_SHAPE(job.rows, job.columns));
  if (pl_call(&kernel, ((pl_arrays){NULL, 0}), PL_RESULTS(os)) != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", kernel.name, pl_error_message());
    return;
  }
  for (int r = 0; r < job.rows; r++)
    for (int c = 0; c < job.columns; c++)
      check(r * (int)job.columns + c, element(&os, r * (int)job.columns + c),
            threefry((uint32_t)r, (uint32_t)c));
}

/* ---- stochastic rounding ---- */

static void round_body(void) {
  pl_random_bits(pl_scratch(0), key, 0, 0);
  pl_stochastic_round(pl_output(0), pl_input(0), pl_scratch(0));
}

static void test_round(int32_t rows, int32_t columns) {
  static const uint32_t special[] = {0x7f800000, 0xff800000, 0x7fc12345, 0x3f800000,
                                     0x3f808000, 0x7f7fffff, 0,          0x80000000};
  const pl_kernel kernel = {
      .name = "stochastic round", .body = round_body, .scratch = {PL_VMEM(PL_INT32, rows, columns)}};
  uint32_t up = 0, between = 0;
  job.name = kernel.name;
  job.rows = rows;
  job.columns = columns;
  job.dtype = PL_F32;
  setup(PL_SHAPE(rows, columns));
  os = pl_hbm_array(2 << 20, PL_BF16, PL_SHAPE(rows, columns));
  memcpy(pl_hbm_pointer(&xs), special, sizeof special);
  if (pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os)) != PL_OK) {
    failures++;
    printf("FAIL %s: %s\n", kernel.name, pl_error_message());
    return;
  }
  for (int i = 0; i < rows * columns; i++) {
    const uint32_t x = element(&xs, i), bits = threefry((uint32_t)(i / columns), (uint32_t)(i % columns));
    uint32_t want = (x + (bits & 0xffff)) >> 16;
    if ((x & 0x7f800000) == 0x7f800000)
      want = x & 0x7fffff ? 0x7fc0 : x >> 16;
    else if (i >= 8) {
      between += x & 0xffff;
      up += want != x >> 16 ? 0x10000 : 0;
    }
    check(i, element(&os, i), want);
  }
  /* As often up as the parts that are cut off say, on the whole. */
  const int32_t off = (int32_t)(up / 65536) - (int32_t)(between / 65536);
  check(-1, off < 40 && off > -40, 1);
}

/* ---- errors ---- */

static void round_wrong_body(void) {
  pl_stochastic_round(pl_output(0), pl_input(0), pl_input(0));
}
static void random_wrong_body(void) {
  pl_random_bits(pl_output(0), key, 0, 0);
}

static void test_error(const char *name, void (*body)(void), pl_shape to, const char *text) {
  const pl_kernel kernel = {.name = name, .body = body};
  job.name = name;
  setup(to);
  const pl_status status = pl_call(&kernel, PL_ARGS(xs), PL_RESULTS(os));
  checks++;
  if (status == PL_OK || strstr(pl_error_message(), text) == NULL) {
    failures++;
    printf("FAIL error %s: status %d, %s\n", name, (int)status, pl_error_message());
  }
}

static void test_errors(void) {
  job.rows = 8;
  job.columns = 24;
  job.shift = 1;
  job.dtype = PL_F32;
  test_error("transpose", transpose_body, PL_SHAPE(8, 24),
             "pl_transpose: f32 [8, 24] does not go into f32 [8, 24]");
  test_error("roll", roll_body, PL_SHAPE(24, 8), "pl_roll: f32 [8, 24] does not go into f32 [24, 8]");
  job.dimension = 2;
  test_error("roll", roll_body, PL_SHAPE(8, 24), "pl_roll: dimension 2; the rank is 2");
  test_error("random", random_wrong_body, PL_SHAPE(8, 24),
             "pl_random_bits: the result is f32; it must be int32");
  test_error("round", round_wrong_body, PL_SHAPE(8, 24), "pl_stochastic_round: f32 with bits f32 to f32");
}

int main(void) {
  static const uint8_t shapes[][2] = {{16, 16}, {32, 48}, {8, 8},   {1, 1},  {1, 37},
                                      {37, 1},  {13, 21}, {64, 24}, {33, 80}};
  static const int16_t shifts[] = {0, 1, -1, 5, 17, -300};
  static const uint8_t dtypes[] = {PL_F32, PL_BF16, PL_INT32, PL_INT8, PL_UINT8};
  for (unsigned i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    job.rows = shapes[i][0];
    job.columns = shapes[i][1];
    for (unsigned d = 0; d < sizeof dtypes; d++) {
      job.dtype = (pl_dtype)dtypes[d];
      test_transpose();
    }
    for (unsigned k = 0; k < sizeof shifts / sizeof shifts[0]; k++) {
      job.shift = shifts[k];
      job.dimension = k % 2;
      job.dtype = (pl_dtype)dtypes[k % sizeof dtypes];
      test_roll();
      job.dimension = 1 - job.dimension;
      test_roll();
    }
  }
  test_part();
  test_acc(32);
  test_acc(21);
  job.rows = 40;
  job.columns = 70;
  test_random(40, 70);
  test_random(16, 32);
  test_random(8, 16);
  test_round(24, 64);
  test_round(5, 19);
  test_errors();
  printf("%s cross: %u checks, %u failures\n", failures ? "FAIL" : "PASS", checks, failures);
  return failures ? BOOT_EXIT_FAILURE : BOOT_EXIT_OK;
}
