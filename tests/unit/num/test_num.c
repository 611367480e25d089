/* SPDX-License-Identifier: MIT */
/*
 * The numbers of the machine: num_ref (integer arithmetic) against the host's plain IEEE
 * arithmetic and against written-out facts, then every num_vec loop against num_ref on all pairs
 * of special values and on random ones. `test_num [vectors [seed]]`.
 *
 * Built several times (see the Makefile): with run-time selection, for plain x86-64, for AVX2 with
 * FMA (where a fused multiply-add would be caught) and portable.
 */
#include "../check.h"
#include "f32_values.h"
#include "num.h"

#include <math.h>
#include <string.h>

#define BATCH 4096

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

static uint32_t as_bits(float f) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  return bits;
}

/* ---- num_ref against the host without flushing -------------------------------------------- */

static uint32_t canonical(float r) {
  return isnan(r) ? NUM_NAN_F32 : num_ref_flush(as_bits(r));
}

static uint32_t host_add(uint32_t a, uint32_t b) {
  return canonical(as_float(num_ref_flush(a)) + as_float(num_ref_flush(b)));
}

static uint32_t host_mul(uint32_t a, uint32_t b) {
  double x = as_float(num_ref_flush(a)), y = as_float(num_ref_flush(b));
  double exact = x * y;         /* 48 bits fit */
  if (fabs(exact) < 0x1p-100) { /* round far from the subnormals, then look */
    float scaled = (float)(exact * 0x1p64);
    if (fabsf(scaled) < 0x1p-62f)
      return signbit(scaled) ? 0x80000000 : 0;
    return as_bits((float)(scaled * 0x1p-64));
  }
  return canonical((float)exact);
}

static int32_t host_to_i32(uint32_t a, bool nearest) {
  double x = as_float(num_ref_flush(a));
  if (isnan(x))
    return 0;
  x = nearest ? nearbyint(x) : trunc(x);
  return x >= 2147483647.0 ? INT32_MAX : x <= -2147483648.0 ? INT32_MIN : (int32_t)x;
}

/* Nearest bf16 by looking at both neighbours. */
static uint16_t host_to_bf16(uint32_t a) {
  double x = as_float(num_ref_flush(a));
  if (isnan(x))
    return NUM_NAN_BF16;
  uint16_t low = (uint16_t)(num_ref_flush(a) >> 16); /* toward zero */
  if (isinf(x))
    return low;
  double down = as_float((uint32_t)low << 16);
  double up = (low & 0x7fff) == 0x7f7f ? (signbit(x) ? -0x1p128 : 0x1p128)
                                       : (double)as_float((uint32_t)(low + 1) << 16);
  double to_down = fabs(x - down), to_up = fabs(up - x);
  return (uint16_t)(to_up < to_down || (to_up == to_down && (low & 1)) ? low + 1 : low);
}

static uint64_t ref_mismatches(uint32_t a, uint32_t b) {
  uint64_t bad = 0;
  int32_t i = (int32_t)b;
  float x = as_float(num_ref_flush(a)), y = as_float(num_ref_flush(b));
  bad += num_ref_add(a, b) != host_add(a, b);
  bad += num_ref_sub(a, b) != host_add(a, b ^ 0x80000000);
  bad += num_ref_mul(a, b) != host_mul(a, b);
  bad += num_ref_eq(a, b) != (x == y);
  bad += num_ref_lt(a, b) != (x < y);
  bad += num_ref_le(a, b) != (x <= y);
  bad += num_ref_to_i32_rne(a) != host_to_i32(a, true);
  bad += num_ref_to_i32_rtz(a) != host_to_i32(a, false);
  bad += num_ref_to_bf16_rne(a) != host_to_bf16(a);
  bad += num_ref_from_i32_rne(i) != as_bits((float)i);
  if (isnan(x) || isnan(y)) {
    bad += num_ref_min(a, b) != NUM_NAN_F32 || num_ref_max(a, b) != NUM_NAN_F32;
  } else if (x == y && x == 0) {
    bad += num_ref_min(a, b) != ((as_bits(x) | as_bits(y)) & 0x80000000);
    bad += num_ref_max(a, b) != (as_bits(x) & as_bits(y) & 0x80000000);
  } else {
    bad += num_ref_min(a, b) != as_bits(fminf(x, y));
    bad += num_ref_max(a, b) != as_bits(fmaxf(x, y));
  }
  return bad;
}

static void test_ref(uint64_t vectors, uint64_t seed) {
  struct check_random r = {seed};
  uint64_t bad = 0;
  for (uint32_t i = 0; i < F32_SPECIALS; i++)
    for (uint32_t j = 0; j < F32_SPECIALS; j++)
      bad += ref_mismatches(f32_special(i), f32_special(j));
  check(bad == 0, "num_ref: all %zu pairs of special values equal the host's (%llu differ)",
        F32_SPECIALS * F32_SPECIALS, (unsigned long long)bad);
  bad = 0;
  for (uint64_t i = 0; i < vectors; i++) {
    uint32_t a = f32_random(&r);
    bad += ref_mismatches(a, f32_random_partner(&r, a));
  }
  check(bad == 0, "num_ref: %llu random pairs equal the host's, seed %llu (%llu differ)",
        (unsigned long long)vectors, (unsigned long long)seed, (unsigned long long)bad);
}

/* Facts that are easy to get wrong, written out. */
static void test_facts(void) {
  check(num_ref_mul(0x7f800000, 0x00000001) == NUM_NAN_F32, "infinity x subnormal is NaN");
  check(num_ref_add(0x00800000, 0x80800001) == 0x80000000, "a tiny difference is a signed zero");
  check(num_ref_add(0x3f800000, 0xbf800000) == 0, "x - x is +0");
  check(num_ref_add(0x80000000, 0x80000000) == 0x80000000, "-0 + -0 is -0");
  check(num_ref_add(0x00000001, 0x80000001) == 0, "subnormals cancel to +0");
  check(num_ref_mul(0x3f7fffff, 0x00800000) == 0, "just below the least normal is zero");
  check(num_ref_mul(0x3f7fffff, 0x00800001) == 0x00800000, "tiny is decided after rounding to 24 bits");
  check(num_ref_min(0, 0x80000000) == 0x80000000 && num_ref_max(0x80000000, 0) == 0,
        "min and max order -0 below +0");
  check(num_ref_max(0x80000001, 0x80000000) == 0x80000000, "max reads a subnormal as its zero");
  check(num_ref_to_bf16_rne(0x007fffff) == 0, "f32 to bf16: a subnormal is zero, not rounded up");
  check(num_ref_to_bf16_rne(0x7f7fffff) == 0x7f80, "f32 to bf16: the largest f32 is infinity");
  check(num_ref_to_bf16_rtz(0x7f7fffff) == 0x7f7f, "f32 to bf16 toward zero stays finite");
  check(num_ref_to_bf16_rne(0xff800001) == 0x7fc0, "f32 to bf16: one NaN");
  check(num_ref_to_i32_rne(0x7fc00000) == 0, "NaN to int32 is 0");
  check(num_ref_to_i32_rne(0x40200000) == 2 && num_ref_to_i32_rne(0x40600000) == 4, "2.5 to 2, 3.5 to 4");
  check(num_ref_to_i8(-129) == -128 && num_ref_to_u8(-1) == 0 && num_ref_to_u8(256) == 255,
        "8-bit stores saturate");
  uint32_t product = num_ref_mul(0x3f800001, 0x3f7ffffe);
  check(num_ref_add(product, 0xbf800000) == 0 && num_ref_mul(0x3f800001, 0x3f7ffffe) == 0x3f800000,
        "multiply-add rounds twice");
}

/* ---- num_vec against num_ref ---------------------------------------------------------------- */

enum {
  ADD,
  SUB,
  MUL,
  MUL_ADD,
  MIN,
  MAX,
  EQ,
  LT,
  LE,
  TO_I32_RNE,
  TO_I32_RTZ,
  FROM_I32,
  FROM_BF16,
  TO_BF16_RNE,
  TO_BF16_RTZ,
  TO_I8,
  TO_U8,
  OPERATIONS
};

static const char *const operation_names[OPERATIONS] = {
    "add",        "sub",        "mul",      "mul_add",   "min",         "max",         "eq",    "lt",    "le",
    "to_i32_rne", "to_i32_rtz", "from_i32", "from_bf16", "to_bf16_rne", "to_bf16_rtz", "to_i8", "to_u8",
};

static uint32_t reference(int operation, uint32_t a, uint32_t b, uint32_t c) {
  switch (operation) {
  case ADD:
    return num_ref_add(a, b);
  case SUB:
    return num_ref_sub(a, b);
  case MUL:
    return num_ref_mul(a, b);
  case MUL_ADD:
    return num_ref_add(num_ref_mul(a, b), c);
  case MIN:
    return num_ref_min(a, b);
  case MAX:
    return num_ref_max(a, b);
  case EQ:
    return num_ref_eq(a, b) ? UINT32_MAX : 0;
  case LT:
    return num_ref_lt(a, b) ? UINT32_MAX : 0;
  case LE:
    return num_ref_le(a, b) ? UINT32_MAX : 0;
  case TO_I32_RNE:
    return (uint32_t)num_ref_to_i32_rne(a);
  case TO_I32_RTZ:
    return (uint32_t)num_ref_to_i32_rtz(a);
  case FROM_I32:
    return num_ref_from_i32_rne((int32_t)a);
  case FROM_BF16:
    return num_ref_from_bf16((uint16_t)a);
  case TO_BF16_RNE:
    return num_ref_to_bf16_rne(a);
  case TO_BF16_RTZ:
    return num_ref_to_bf16_rtz(a);
  case TO_I8:
    return (uint8_t)num_ref_to_i8((int32_t)a);
  default:
    return num_ref_to_u8((int32_t)a);
  }
}

static uint32_t d[BATCH], a[BATCH], b[BATCH], c[BATCH];
static uint16_t h[BATCH];
static uint8_t bytes[BATCH];

/* Runs one loop; the result, widened, is in d. */
static void run(int operation, uint32_t n) {
  switch (operation) {
  case ADD:
    num_vec_add(d, a, b, n);
    return;
  case SUB:
    num_vec_sub(d, a, b, n);
    return;
  case MUL:
    num_vec_mul(d, a, b, n);
    return;
  case MUL_ADD:
    num_vec_mul_add(d, a, b, c, n);
    return;
  case MIN:
    num_vec_min(d, a, b, n);
    return;
  case MAX:
    num_vec_max(d, a, b, n);
    return;
  case EQ:
    num_vec_eq(d, a, b, n);
    return;
  case LT:
    num_vec_lt(d, a, b, n);
    return;
  case LE:
    num_vec_le(d, a, b, n);
    return;
  case TO_I32_RNE:
    num_vec_to_i32_rne(d, a, n);
    return;
  case TO_I32_RTZ:
    num_vec_to_i32_rtz(d, a, n);
    return;
  case FROM_I32:
    num_vec_from_i32_rne(d, a, n);
    return;
  case FROM_BF16:
    for (uint32_t i = 0; i < n; i++)
      h[i] = (uint16_t)a[i];
    num_vec_from_bf16(d, h, n);
    return;
  case TO_BF16_RNE:
    num_vec_to_bf16_rne(h, a, n);
    break;
  case TO_BF16_RTZ:
    num_vec_to_bf16_rtz(h, a, n);
    break;
  case TO_I8:
    num_vec_to_i8((int8_t *)bytes, a, n);
    break;
  default:
    num_vec_to_u8(bytes, a, n);
    break;
  }
  for (uint32_t i = 0; i < n; i++)
    d[i] = operation == TO_BF16_RNE || operation == TO_BF16_RTZ ? h[i] : bytes[i];
}

static uint64_t mismatches(int operation, uint32_t n) {
  uint64_t bad = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t want = reference(operation, a[i], b[i], c[i]);
    if (d[i] != want && bad++ == 0)
      printf("  %s(%08x, %08x, %08x) = %08x, should be %08x\n", operation_names[operation], a[i], b[i], c[i],
             d[i], want);
  }
  return bad;
}

/* Fills the batch with the next pairs of special values; returns how many. */
static uint32_t fill_special(uint32_t *next) {
  uint32_t n = 0;
  for (; n < BATCH && *next < F32_SPECIALS * F32_SPECIALS; n++, ++*next) {
    a[n] = f32_special(*next / F32_SPECIALS);
    b[n] = f32_special(*next % F32_SPECIALS);
    c[n] = f32_special((*next * 7 + *next / F32_SPECIALS) % F32_SPECIALS);
  }
  return n;
}

static void fill_random(struct check_random *r) {
  for (uint32_t i = 0; i < BATCH; i++) {
    a[i] = f32_random(r);
    b[i] = f32_random_partner(r, a[i]);
    c[i] = check_random_below(r, 2) ? num_ref_mul(a[i], b[i]) ^ 0x80000000 : f32_random(r);
  }
}

static void test_vec(uint64_t vectors, uint64_t seed) {
  for (int operation = 0; operation < OPERATIONS; operation++) {
    struct check_random r = {seed + (uint64_t)operation};
    uint64_t bad = 0, done = 0;
    uint32_t next = 0, n;
    while ((n = fill_special(&next)) > 0) {
      num_env env = num_env_enter();
      run(operation, n);
      num_env_leave(env);
      bad += mismatches(operation, n);
      done += n;
    }
    for (uint64_t i = 0; i < vectors; i += BATCH) {
      fill_random(&r);
      num_env env = num_env_enter();
      run(operation, BATCH);
      num_env_leave(env);
      bad += mismatches(operation, BATCH);
      done += BATCH;
    }
    check(bad == 0, "num_vec_%s: %llu vectors equal num_ref (%llu differ)", operation_names[operation],
          (unsigned long long)done, (unsigned long long)bad);
  }
}

/* In place, and with lengths that are not a multiple of any vector. */
static void test_shapes(void) {
  struct check_random r = {99};
  uint64_t bad = 0;
  num_env env = num_env_enter();
  for (uint32_t n = 0; n < 70; n++) {
    fill_random(&r);
    memcpy(d, a, sizeof d);
    num_vec_add(d, d, b, n);
    for (uint32_t i = 0; i < BATCH; i++)
      bad += d[i] != (i < n ? num_ref_add(a[i], b[i]) : a[i]);
    memcpy(d, b, sizeof d);
    num_vec_mul_add(d, a, d, c, n);
    for (uint32_t i = 0; i < BATCH; i++)
      bad += d[i] != (i < n ? num_ref_add(num_ref_mul(a[i], b[i]), c[i]) : b[i]);
  }
  num_env_leave(env);
  check(bad == 0, "num_vec: in place, any length, nothing past the end (%llu differ)",
        (unsigned long long)bad);
}

#if NUM_HOST_FLUSHES
/* Results do not depend on the host's mode, and the host's mode comes back. */
static void test_environment(void) {
  struct check_random r = {7};
  uint32_t host = _mm_getcsr(), after = 0;
  uint64_t bad = 0;
  for (uint32_t rounding = 0; rounding < 4; rounding++) {
    _mm_setcsr((host & ~UINT32_C(0x6000)) | rounding << 13 | 0x21);
    uint32_t before = _mm_getcsr();
    fill_random(&r);
    num_env env = num_env_enter();
    run(ADD, BATCH);
    bad += mismatches(ADD, BATCH);
    run(MUL, BATCH);
    bad += mismatches(MUL, BATCH);
    run(FROM_I32, BATCH);
    bad += mismatches(FROM_I32, BATCH);
    num_env_leave(env);
    after |= _mm_getcsr() ^ before;
  }
  _mm_setcsr(host);
  check(bad == 0, "results are the same in all four host rounding modes");
  check(after == 0, "the host's control register is as before");
}

/* The comparison itself can fail: without the environment the loops must be caught. */
static void test_checker(void) {
  uint32_t next = 0, n, host = _mm_getcsr();
  uint64_t no_flush = 0, round_up = 0;
  while ((n = fill_special(&next)) > 0) {
    run(MUL, n);
    for (uint32_t i = 0; i < n; i++)
      no_flush += d[i] != num_ref_mul(a[i], b[i]);
    _mm_setcsr(NUM_MXCSR | 0x4000);
    run(ADD, n);
    _mm_setcsr(host);
    for (uint32_t i = 0; i < n; i++)
      round_up += d[i] != num_ref_add(a[i], b[i]);
  }
  check(no_flush > 0, "a multiply that does not flush is caught (%llu times)", (unsigned long long)no_flush);
  check(round_up > 0, "an add that rounds up is caught (%llu times)", (unsigned long long)round_up);
}
#endif

int main(int argc, char **argv) {
  uint64_t vectors = argc > 1 ? strtoull(argv[1], NULL, 0) : 200000;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
  test_facts();
  test_ref(vectors, seed);
  test_vec(vectors, seed);
  test_shapes();
#if NUM_HOST_FLUSHES
  test_environment();
  test_checker();
#endif
  return check_result(argv[0]);
}
