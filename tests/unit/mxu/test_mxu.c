/* SPDX-License-Identifier: MIT */
/*
 * The functional model's matrix unit against a reference written from docs/contract.md sections 3, 5 and 7:
 * one element at a time, num_ref arithmetic, whole memories compared. `test_mxu [commands [seed]]`.
 */
#include "../check.h"
#include "../num/f32_values.h"
#include "compute.h"
#include "num.h"

#include <string.h>

#define VMEM_MAX      524288
#define ACC_WORDS_MAX 65536

static const struct tpu_config configs[] = {TPU_CONFIG_TABLE};

static uint8_t vmem[VMEM_MAX], vmem_before[VMEM_MAX];
static uint32_t acc[ACC_WORDS_MAX], expected[ACC_WORDS_MAX];
static const struct tpu_memories memories = {.vmem = vmem, .acc = acc, .smem = NULL};

/* ---- the reference ------------------------------------------------------------------------------------ */

/* Ways in which an implementation could be wrong; the tests must notice each. */
enum mutation { CORRECT, REVERSED, SKIPS_PADDING, ONE_LONG_SUM, ACCUMULATOR_FIRST, MUTATIONS };

static uint16_t read_bf16(uint64_t address) {
  return (uint16_t)(vmem[address] | vmem[address + 1] << 8);
}

static uint16_t a_bf16(const struct tpu_mxu_command *c, uint32_t m, uint32_t k) {
  return k < c->k ? read_bf16(c->a + (uint64_t)m * c->a_pitch + 2 * k) : 0;
}

static uint16_t b_bf16(const struct tpu_mxu_command *c, uint32_t k, uint32_t n) {
  if (k >= c->k)
    return 0;
  return c->transpose_b ? read_bf16(c->b + (uint64_t)n * c->b_pitch + 2 * k)
                        : read_bf16(c->b + (uint64_t)k * c->b_pitch + 2 * n);
}

static uint32_t element_bf16(const struct tpu_mxu_command *c, uint32_t dim, uint32_t m, uint32_t n,
                             uint32_t old, enum mutation mutation) {
  bool first = !c->accumulate;
  uint32_t value = old;
  for (uint32_t k0 = 0; k0 < c->k; k0 += dim) {
    uint32_t tile = 0;
    for (uint32_t i = 0; i < dim; i++) {
      uint32_t k = k0 + (mutation == REVERSED ? dim - 1 - i : i);
      uint32_t product = num_ref_mul_bf16(a_bf16(c, m, k), b_bf16(c, k, n));
      if (mutation == SKIPS_PADDING && k >= c->k)
        continue;
      if (mutation == ONE_LONG_SUM || mutation == ACCUMULATOR_FIRST) {
        bool start = mutation == ONE_LONG_SUM ? first && i == 0 : first && k0 == 0 && i == 0;
        value = start ? product : num_ref_add(value, product);
        first = false;
        continue;
      }
      tile = i == 0 ? product : num_ref_add(tile, product);
    }
    if (mutation == ONE_LONG_SUM || mutation == ACCUMULATOR_FIRST)
      continue;
    value = first ? tile : num_ref_add(value, tile);
    first = false;
  }
  return value;
}

static uint32_t element_int8(const struct tpu_mxu_command *c, uint32_t m, uint32_t n, uint32_t old) {
  uint32_t value = c->accumulate ? old : 0;
  for (uint32_t k = 0; k < c->k; k++) {
    int8_t a = (int8_t)vmem[c->a + (uint64_t)m * c->a_pitch + k];
    int8_t b = (int8_t)
        vmem[c->transpose_b ? c->b + (uint64_t)n * c->b_pitch + k : c->b + (uint64_t)k * c->b_pitch + n];
    value += (uint32_t)(a * b);
  }
  return value;
}

/* Updates `expected`, which holds ACC before the command. */
static void reference(const struct tpu_config *config, const struct tpu_mxu_command *c,
                      enum mutation mutation) {
  for (uint32_t m = 0; m < c->m; m++)
    for (uint32_t n = 0; n < c->n; n++) {
      uint64_t row = c->c + (uint64_t)(n / config->dim) * c->c_pitch + m;
      uint32_t *word = &expected[row * config->dim + n % config->dim];
      if (c->k == 0)
        *word = c->accumulate ? *word : 0;
      else if (c->dtype == TPU_MXU_DTYPE_BF16)
        *word = element_bf16(c, config->dim, m, n, *word, mutation);
      else
        *word = element_int8(c, m, n, *word);
    }
}

/* ---- random commands ---------------------------------------------------------------------------------- */

/* Ordinary values, or values of every kind: bf16 halves of f32_random, NaNs and infinities among them. */
static void fill_memories(struct check_random *r, uint32_t dtype, bool wild) {
  for (uint32_t i = 0; i < VMEM_MAX; i += 2) {
    uint32_t bits = check_random32(r);
    uint16_t half = (uint16_t)bits;
    if (dtype == TPU_MXU_DTYPE_BF16)
      half = wild ? (uint16_t)(f32_random(r) >> 16)
                  : (uint16_t)((bits & 0x807f) | (120 + check_random_below(r, 10)) << 7);
    vmem[i] = (uint8_t)half;
    vmem[i + 1] = (uint8_t)(half >> 8);
  }
  for (uint32_t i = 0; i < ACC_WORDS_MAX; i++)
    acc[i] =
        dtype == TPU_MXU_DTYPE_BF16 && !wild ? (check_random32(r) & 0x83ffffff) | 0x3c000000 : f32_random(r);
}

static uint32_t random_extent(struct check_random *r, uint32_t dim, uint32_t most) {
  switch (check_random_below(r, 5)) {
  case 0:
    return check_random_below(r, 3); /* 0, 1, 2 */
  case 1:
    return dim * (1 + check_random_below(r, most / dim));
  case 2:
    return dim - 1 + check_random_below(r, 3);
  default:
    return 1 + check_random_below(r, most);
  }
}

static uint32_t round_up(uint32_t a, uint32_t to) {
  return (a + to - 1) / to * to;
}

/* A command that passes the start checks, often at the very end of the memories. */
static struct tpu_mxu_command random_command(struct check_random *r, const struct tpu_config *config) {
  struct tpu_mxu_command c = {.dtype = config->mxu_bf16 ? (enum tpu_mxu_dtype)check_random_below(r, 2)
                                                        : TPU_MXU_DTYPE_INT8,
                              .accumulate = check_random_below(r, 2),
                              .transpose_b = check_random_below(r, 2)};
  uint32_t dim = config->dim, element = c.dtype == TPU_MXU_DTYPE_BF16 ? 2 : 1, align = dim * element;
  c.m = random_extent(r, dim, 80);
  c.n = random_extent(r, dim, 150);
  c.k = random_extent(r, dim, 80);
  while ((uint64_t)round_up(c.n, dim) / dim * c.m > config->acc_rows)
    c.n -= dim;
  uint32_t b_rows = c.transpose_b ? c.n : c.k, b_columns = c.transpose_b ? c.k : c.n;
  c.a_pitch = round_up(c.k * element, align) + align * check_random_below(r, 3);
  c.b_pitch = round_up(b_columns * element, align) + align * check_random_below(r, 3);
  if (check_random_below(r, 8) == 0)
    c.a_pitch = 0; /* every row of A the same */
  uint32_t a_bytes = c.m * c.a_pitch + c.k * element, b_bytes = b_rows * c.b_pitch + b_columns * element;
  c.a = check_random_below(r, (config->vmem_bytes - a_bytes) / align) * align;
  c.b = check_random_below(r, (config->vmem_bytes - b_bytes) / align) * align;
  uint32_t tiles = round_up(c.n, dim) / dim;
  uint32_t most = tiles > 1 ? (config->acc_rows - c.m) / (tiles - 1) : c.m;
  c.c_pitch = c.m + check_random_below(r, most - c.m + 1);
  uint32_t rows = tiles > 0 ? (tiles - 1) * c.c_pitch + c.m : 0;
  c.c = check_random_below(r, config->acc_rows - rows + 1);
  return c;
}

static uint64_t differences(void) {
  uint64_t bad = 0;
  for (uint32_t i = 0; i < ACC_WORDS_MAX; i++)
    bad += acc[i] != expected[i];
  return bad;
}

static void print_command(const struct tpu_config *config, const struct tpu_mxu_command *c) {
  printf("  %s %s %s%s m %u n %u k %u a %x+%x b %x+%x c %x+%x\n", config->name,
         c->dtype == TPU_MXU_DTYPE_BF16 ? "bf16" : "int8", c->transpose_b ? "B transposed " : "",
         c->accumulate ? "accumulate" : "overwrite", c->m, c->n, c->k, c->a, c->a_pitch, c->b, c->b_pitch,
         c->c, c->c_pitch);
}

static void test_random(const struct tpu_config *config, uint32_t commands, uint64_t seed) {
  struct check_random r = {seed};
  uint64_t bad = 0, macs = 0;
  for (uint32_t i = 0; i < commands; i++) {
    struct tpu_mxu_command c = random_command(&r, config);
    struct tpu_fault fault;
    if (i % 16 == 0 || check_random_below(&r, 16) == 0)
      fill_memories(&r, c.dtype, check_random_below(&r, 2));
    memcpy(expected, acc, sizeof acc);
    memcpy(vmem_before, vmem, sizeof vmem);
    bool ok = tpu_mxu_check(config, &c, &fault);
    if (ok)
      tpu_mxu_execute(config, &memories, &c);
    reference(config, &c, CORRECT);
    if (!ok || differences() > 0 || memcmp(vmem, vmem_before, sizeof vmem) != 0) {
      if (bad++ == 0)
        print_command(config, &c);
      memcpy(acc, expected, sizeof acc);
    }
    macs += (uint64_t)c.m * c.n * c.k;
  }
  check(bad == 0,
        "%s: %u random commands, %llu multiply-accumulates, seed %llu, equal the reference (%llu not)",
        config->name, commands, (unsigned long long)macs, (unsigned long long)seed, (unsigned long long)bad);
}

/* The reference and its data tell a wrong order, skipped padding and a different tree from the right one. */
static void test_mutations(const struct tpu_config *config) {
  static const char *const names[MUTATIONS] = {"correct", "reversed order along k", "padded products skipped",
                                               "no sum per tile", "accumulator added first"};
  for (enum mutation mutation = REVERSED; mutation < MUTATIONS; mutation++) {
    struct check_random r = {3};
    uint64_t caught = 0;
    for (int i = 0; i < 20; i++) {
      struct tpu_mxu_command c = random_command(&r, config);
      c.dtype = TPU_MXU_DTYPE_BF16;
      c.accumulate = mutation == ACCUMULATOR_FIRST;
      c.transpose_b = false;
      c.m = 4, c.n = config->dim, c.k = 2 * config->dim - 1, c.a = 0, c.b = 32768, c.c = 0;
      c.a_pitch = c.b_pitch = 4 * config->dim;
      fill_memories(&r, c.dtype, false);
      if (mutation == SKIPS_PADDING) /* only -0 products can show it */
        for (uint32_t j = 0; j < 65536; j += 2)
          vmem[j] = 0, vmem[j + 1] = j < 32768 ? 0x80 : 0x3f;
      memcpy(expected, acc, sizeof acc);
      tpu_mxu_execute(config, &memories, &c);
      reference(config, &c, mutation);
      caught += differences() > 0;
    }
    check(caught > 0, "%s: %s is noticed (%llu of 20)", config->name, names[mutation],
          (unsigned long long)caught);
  }
}

/* ---- written-out cases -------------------------------------------------------------------------------- */

static bool fault_is(const struct tpu_mxu_command *c, enum tpu_error code, uint32_t detail0,
                     uint32_t detail1) {
  struct tpu_fault fault;
  bool ok = tpu_mxu_check(&configs[0], c, &fault);
  return ok == (code == TPU_ERROR_NONE) && fault.code == code && fault.detail0 == detail0 &&
         fault.detail1 == detail1;
}

static void test_checks(void) {
  const struct tpu_mxu_command good = {.dtype = TPU_MXU_DTYPE_BF16,
                                       .m = 16,
                                       .n = 32,
                                       .k = 64,
                                       .a_pitch = 128,
                                       .b = 65536,
                                       .b_pitch = 64,
                                       .c_pitch = 16};
  struct tpu_mxu_command c;
#define CASE(text, change, code, detail0, detail1)                                                           \
  c = good;                                                                                                  \
  change;                                                                                                    \
  check(fault_is(&c, code, detail0, detail1), "check: %s", text)
  CASE("a correct command passes", , TPU_ERROR_NONE, 0, 0);
  CASE("A not aligned", c.a = 16, TPU_ERROR_ALIGN, TPU_MXU_A, 16);
  CASE("A is aligned to DIM elements, not bytes", (c.dtype = TPU_MXU_DTYPE_INT8, c.a = 16), TPU_ERROR_NONE, 0,
       0);
  CASE("pitch of A not aligned", c.a_pitch = 130, TPU_ERROR_ALIGN, TPU_MXU_A_PITCH, 130);
  CASE("B not aligned", c.b = 65540, TPU_ERROR_ALIGN, TPU_MXU_B, 65540);
  CASE("pitch of B not aligned", c.b_pitch = 8, TPU_ERROR_ALIGN, TPU_MXU_B_PITCH, 8);
  CASE("alignment before C_PITCH before range", (c.b_pitch = 8, c.c_pitch = 1, c.c = 9999), TPU_ERROR_ALIGN,
       TPU_MXU_B_PITCH, 8);
  CASE("column tiles overlap", (c.c_pitch = 15, c.c = 9999), TPU_ERROR_BAD_FIELD, TPU_MXU_C_PITCH, 15);
  CASE("one column tile needs no pitch", (c.n = 16, c.c_pitch = 0), TPU_ERROR_NONE, 0, 0);
  CASE("A past VMEM", c.a = 524288 - 2048 + 32, TPU_ERROR_RANGE, TPU_SPACE_VMEM << 8, 524288 + 32);
  CASE("A up to VMEM's end", c.a = 524288 - 2048, TPU_ERROR_NONE, 0, 0);
  CASE("A far outside", (c.a = 0xffffffe0, c.m = 1), TPU_ERROR_RANGE, TPU_SPACE_VMEM << 8, 0x60);
  CASE("B past VMEM", c.b = 524288 - 4096 + 32, TPU_ERROR_RANGE, 1 | TPU_SPACE_VMEM << 8, 524288 + 32);
  CASE("B transposed has N rows", (c.transpose_b = true, c.b_pitch = 128, c.b = 524288 - 4096),
       TPU_ERROR_NONE, 0, 0);
  CASE("B transposed past VMEM", (c.transpose_b = true, c.b_pitch = 128, c.b = 524288 - 4064),
       TPU_ERROR_RANGE, 1 | TPU_SPACE_VMEM << 8, 524288 + 32);
  CASE("C past ACC", c.c = 4096 - 31, TPU_ERROR_RANGE, 2 | TPU_SPACE_ACC << 8, 4097);
  CASE("C up to ACC's end", c.c = 4096 - 32, TPU_ERROR_NONE, 0, 0);
  CASE("C far outside in 64 bits", (c.c_pitch = 0xffffffff), TPU_ERROR_RANGE, 2 | TPU_SPACE_ACC << 8, 15);
  CASE("M = 0 checks nothing", (c.m = 0, c.a = 1, c.c = 9999), TPU_ERROR_NONE, 0, 0);
  CASE("N = 0 checks nothing", (c.n = 0, c.b = 1), TPU_ERROR_NONE, 0, 0);
  CASE("K = 0 accumulate checks nothing", (c.k = 0, c.accumulate = true, c.c = 9999, c.a = 1), TPU_ERROR_NONE,
       0, 0);
  CASE("K = 0 overwrite does not look at A and B", (c.k = 0, c.a = 1, c.b = 0xffffffff), TPU_ERROR_NONE, 0,
       0);
  CASE("K = 0 overwrite checks C_PITCH", (c.k = 0, c.c_pitch = 3), TPU_ERROR_BAD_FIELD, TPU_MXU_C_PITCH, 3);
  CASE("K = 0 overwrite checks C", (c.k = 0, c.c = 4096), TPU_ERROR_RANGE, 2 | TPU_SPACE_ACC << 8, 4096 + 32);
#undef CASE
}

static void test_decode(void) {
  uint32_t words[TPU_MXU_ARG_WORDS];
  for (uint32_t i = 0; i < TPU_MXU_ARG_WORDS; i++)
    words[i] = 100 + i;
  words[9] = TPU_MXU_MODE_DTYPE_MASK | TPU_MXU_MODE_ACCUMULATE_MASK;
  struct tpu_mxu_command c = tpu_mxu_decode(words);
  check(c.a == 100 && c.b == 101 && c.c == 102 && c.a_pitch == 103 && c.b_pitch == 104 && c.c_pitch == 105 &&
            c.m == 106 && c.n == 107 && c.k == 108 && c.dtype == TPU_MXU_DTYPE_BF16 && c.accumulate &&
            !c.transpose_b,
        "decode: every field from its word");
}

static void test_facts(void) {
  const struct tpu_config *config = &configs[0];
  struct tpu_mxu_command c = {
      .dtype = TPU_MXU_DTYPE_BF16, .m = 1, .n = 1, .k = 1, .a_pitch = 32, .b = 64, .b_pitch = 32};
  memset(vmem, 0xff, sizeof vmem); /* NaN past K */
  memset(acc, 0xa5, sizeof acc);
  vmem[0] = 0x00, vmem[1] = 0x80, vmem[64] = 0x80, vmem[65] = 0x3f; /* -0 x 1 */
  tpu_mxu_execute(config, &memories, &c);
  check(acc[0] == 0, "padding: -0 x 1 + fifteen products of +0 is +0, NaN past K is not seen");
  check(acc[1] == 0xa5a5a5a5 && acc[16] == 0xa5a5a5a5, "lanes past N and rows past M keep their contents");
  vmem[0] = 0x00, vmem[1] = 0xff, vmem[64] = 0xff, vmem[65] = 0xff; /* a NaN with sign and payload */
  tpu_mxu_execute(config, &memories, &c);
  check(acc[0] == NUM_NAN_F32, "a NaN result is canonical");
  acc[0] = 0xa5a5a5a5, c.k = 0;
  tpu_mxu_execute(config, &memories, &c);
  check(acc[0] == 0, "K = 0 overwrites with +0");
  acc[0] = 0xffc12345, c.accumulate = true;
  tpu_mxu_execute(config, &memories, &c);
  check(acc[0] == 0xffc12345, "K = 0 accumulates nothing, not even a canonical NaN");
  memset(vmem, 0x80, sizeof vmem);
  acc[0] = 0x7fffc001;
  c = (struct tpu_mxu_command){
      .dtype = TPU_MXU_DTYPE_INT8, .accumulate = true, .m = 1, .n = 1, .k = 1, .a_pitch = 16, .b_pitch = 16};
  tpu_mxu_execute(config, &memories, &c);
  check(acc[0] == 0x80000001, "int8 accumulation wraps");
  c.m = 128, c.n = 128, c.k = 128;
  check(tpu_mxu_stream_cycles(config, &c) == 8192, "128 x 128 x 128 streams in 8192 cycles");
  c.m = 3, c.n = 17, c.k = 33;
  check(tpu_mxu_stream_cycles(config, &c) == 2 * 3 * 17, "short tiles take DIM + 1 cycles");
}

struct access_log {
  struct tpu_access access[8];
  unsigned count;
};

static void record(void *opaque, const struct tpu_access *access) {
  struct access_log *log = opaque;
  if (log->count < 8)
    log->access[log->count] = *access;
  log->count++;
}

static void test_accesses(void) {
  struct access_log log = {.count = 0};
  struct tpu_mxu_command c = {.dtype = TPU_MXU_DTYPE_BF16,
                              .accumulate = true,
                              .transpose_b = true,
                              .m = 5,
                              .n = 20,
                              .k = 7,
                              .a = 1024,
                              .a_pitch = 64,
                              .b = 4096,
                              .b_pitch = 96,
                              .c = 10,
                              .c_pitch = 8};
  tpu_mxu_accesses(&configs[0], &c, record, &log);
  const struct tpu_access want[] = {
      {TPU_SPACE_VMEM, false, 1024, 14, 5, 64}, {TPU_SPACE_VMEM, false, 4096, 14, 20, 96},
      {TPU_SPACE_ACC, false, 640, 64, 5, 64},   {TPU_SPACE_ACC, true, 640, 64, 5, 64},
      {TPU_SPACE_ACC, false, 1152, 16, 5, 64},  {TPU_SPACE_ACC, true, 1152, 16, 5, 64},
  };
  bool same = log.count == 6;
  for (unsigned i = 0; i < 6 && same; i++)
    same = log.access[i].space == want[i].space && log.access[i].write == want[i].write &&
           log.access[i].base == want[i].base && log.access[i].row_bytes == want[i].row_bytes &&
           log.access[i].rows == want[i].rows && log.access[i].pitch == want[i].pitch;
  check(same, "accesses: A, B as stored, C read and written a column tile at a time");
  log.count = 0, c.m = 0;
  tpu_mxu_accesses(&configs[0], &c, record, &log);
  check(log.count == 0, "accesses: none without work");
}

int main(int argc, char **argv) {
  uint32_t commands = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 0) : 100;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  test_decode();
  test_checks();
  test_facts();
  test_accesses();
  for (unsigned i = 0; i < TPU_CONFIG_COUNT; i++)
    test_random(&configs[i], commands, seed + i);
  for (unsigned i = 0; i < 3; i++)
    test_mutations(&configs[i]);
  return check_result(argv[0]);
}
