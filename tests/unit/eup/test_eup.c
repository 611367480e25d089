/* SPDX-License-Identifier: MIT */
/*
 * The transcendental pipe's arithmetic against the host's double precision: accuracy, monotonicity, special
 * values and exact cases of docs/contract.md section 7.
 *
 * `test_eup` walks through all 2^23 significands of the binades where a function's table is used in another
 * way, and through every 509st number of all others; `test_eup all` through every f32.
 */
#include "../check.h"
#include "eup.h"

#include <math.h>
#include <string.h>

#define SIGN    UINT32_C(0x80000000)
#define INF     UINT32_C(0x7f800000)
#define NAN_F32 UINT32_C(0x7fc00000)
#define ONE     UINT32_C(0x3f800000)
#define LEAST   UINT32_C(0x00800000)

typedef uint32_t function(uint32_t a);

static uint32_t eup_exp2(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_EXP2, a);
}
static uint32_t eup_log2(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_LOG2, a);
}
static uint32_t eup_rcp(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_RCP, a);
}
static uint32_t eup_rsqrt(uint32_t a) {
  return tpu_eup_step(TPU_EUP_STEP_RSQRT, a);
}

static double exact_rcp(double x) {
  return 1 / x;
}
static double exact_rsqrt(double x) {
  return 1 / sqrt(x);
}
static double exact_sigmoid(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}

/* Binades, as biased exponents, of which every number is tried. */
struct operation {
  const char *name;
  function *eup;
  double (*exact)(double x);
  double ulps;
  bool falls;    /* decreasing, on each side of zero */
  bool positive; /* for positive numbers only */
  uint8_t full[3];
};

static const struct operation operations[] = {
    {"exp2", eup_exp2, exp2, 2, false, false, {126, 133}},
    {"log2", eup_log2, log2, 2, false, true, {126, 127, 128}},
    {"rcp", eup_rcp, exact_rcp, 2, true, false, {127}},
    {"rsqrt", eup_rsqrt, exact_rsqrt, 2, true, true, {127, 128}},
    {"tanh", tpu_eup_tanh, tanh, 4, false, false, {126, 127}},
    {"sigmoid", tpu_eup_sigmoid, exact_sigmoid, 4, false, false, {127, 132}},
};
#define OPERATIONS (sizeof operations / sizeof operations[0])

static double value(uint32_t bits) {
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* Integers in the order of the values. */
static int64_t order(uint32_t bits) {
  return bits & SIGN ? -(int64_t)(bits & ~SIGN) : (int64_t)bits;
}

struct seen {
  double worst;
  uint32_t worst_at;
  uint64_t tried, unordered, out_of_range;
};

/* The error in units of the exact value's last place. */
static void compare(struct seen *seen, uint32_t a, uint32_t y, double exact) {
  double size = fabs(exact), error = 0;
  int exponent;
  seen->tried++;
  if (size >= 0x1p128) {
    seen->out_of_range += (y & ~SIGN) != INF;
  } else if (size < 0x1p-126) { /* zero; at the very edge the least number will do */
    seen->out_of_range += (y & ~SIGN) != 0 && !((y & ~SIGN) == LEAST && size > 0x1.fffff8p-127);
  } else if ((y & ~SIGN) == 0 || (y & ~SIGN) >= INF) {
    seen->out_of_range += !((y & ~SIGN) == 0 && size < 0x1.000008p-126);
  } else {
    frexp(size, &exponent);
    error = fabs(value(y) - exact) / ldexp(1, exponent - 24);
  }
  if (error > seen->worst) {
    seen->worst = error;
    seen->worst_at = a;
  }
}

static bool is_full(const struct operation *op, uint32_t exponent) {
  for (unsigned i = 0; i < sizeof op->full; i++)
    if (op->full[i] == exponent)
      return true;
  return false;
}

/* All normal numbers of one sign, from the smallest on. */
static void walk(const struct operation *op, uint32_t sign, bool all, struct seen *seen) {
  bool rises = op->falls == (sign != 0);
  int64_t before = rises ? INT64_MIN : INT64_MAX;
  uint32_t step = 1;
  for (uint32_t a = LEAST; a < INF; a += step) {
    uint32_t y = op->eup(a | sign);
    int64_t now = order(y);
    seen->unordered += rises ? now < before : now > before;
    before = now;
    compare(seen, a | sign, y, op->exact(value(a | sign)));
    step = all || is_full(op, (a + 1) >> 23) ? 1 : 509;
    if (step > 1 && (a + step) >> 23 != a >> 23 && (a & 0x7fffff) != 0x7fffff)
      step = 0x7fffff - (a & 0x7fffff); /* the last one of every binade, too */
  }
}

static bool good(const struct operation *op, const struct seen *seen) {
  return seen->worst <= op->ulps && seen->unordered == 0 && seen->out_of_range == 0;
}

static void test_accuracy(bool all) {
  for (unsigned i = 0; i < OPERATIONS; i++) {
    const struct operation *op = &operations[i];
    struct seen seen = {0};
    walk(op, 0, all, &seen);
    if (!op->positive)
      walk(op, SIGN, all, &seen);
    check(good(op, &seen),
          "%s: %.3f ulp at most (at %08x), allowed %g; %llu of %llu out of order, %llu out of range",
          op->name, seen.worst, (unsigned)seen.worst_at, op->ulps, (unsigned long long)seen.unordered,
          (unsigned long long)seen.tried, (unsigned long long)seen.out_of_range);
  }
}

/* ---- the checker must notice --------------------------------------------------------------------------- */

static uint32_t too_far(uint32_t a) {
  return a == 0x3fc00123 ? eup_rcp(a) + 3 : eup_rcp(a);
}
static uint32_t out_of_order(uint32_t a) {
  return a == 0x3fc00123 ? eup_rcp(a - 1) + 1 : eup_rcp(a);
}
static uint32_t no_flush(uint32_t a) {
  return a == 0x7f000123 ? 0x00800000 : eup_rcp(a);
}

static void test_mistakes(void) {
  static function *const wrong[] = {too_far, out_of_order, no_flush};
  static const char *const names[] = {"three ulp too far", "one ulp, out of order", "a tiny result kept"};
  for (unsigned i = 0; i < 3; i++) {
    struct operation op = {"rcp", wrong[i], exact_rcp, 2, true, true, {127, 254}};
    struct seen seen = {0};
    walk(&op, 0, false, &seen);
    check(!good(&op, &seen), "noticed: %s", names[i]);
  }
}

/* ---- values that the contract names -------------------------------------------------------------------- */

/* Arguments of all six functions, and what they give. */
static const uint32_t specials[][1 + OPERATIONS] = {
    /* a, exp2, log2, rcp, rsqrt, tanh, sigmoid */
    {0, ONE, INF | SIGN, INF, INF, 0, 0x3f000000},
    {SIGN, ONE, INF | SIGN, INF | SIGN, INF | SIGN, SIGN, 0x3f000000},
    {0x007fffff, ONE, INF | SIGN, INF, INF, 0, 0x3f000000},
    {0x807fffff, ONE, INF | SIGN, INF | SIGN, INF | SIGN, SIGN, 0x3f000000},
    {0x00000001, ONE, INF | SIGN, INF, INF, 0, 0x3f000000},
    {INF, INF, INF, 0, 0, ONE, ONE},
    {INF | SIGN, 0, NAN_F32, SIGN, NAN_F32, ONE | SIGN, 0},
    {0x7f7fffff, INF, 0x43000000, 0, 0x1f800000, ONE, ONE},
    {0xff7fffff, 0, NAN_F32, SIGN, NAN_F32, ONE | SIGN, 0},
    {0x43000000, INF, 0x40e00000, 0x3c000000, 0x3db504f3, ONE, ONE}, /* 128 */
    {0xc3000000, 0, NAN_F32, 0xbc000000, NAN_F32, ONE | SIGN, 0},
    {NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32},
    {0x7f800001, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32},
    {0xffffffff, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32, NAN_F32},
};

static void test_special(void) {
  for (unsigned k = 0; k < OPERATIONS; k++) {
    unsigned bad = 0, count = sizeof specials / sizeof specials[0];
    for (unsigned i = 0; i < count; i++)
      if (operations[k].eup(specials[i][0]) != specials[i][1 + k] && bad++ == 0)
        printf("  %s(%08x) is %08x, should be %08x\n", operations[k].name, (unsigned)specials[i][0],
               (unsigned)operations[k].eup(specials[i][0]), (unsigned)specials[i][1 + k]);
    check(bad == 0, "%s: %u special arguments (%u wrong)", operations[k].name, count, bad);
  }
}

static void test_exact(void) {
  bool rcp = true, rsqrt = true, logs = true, powers = true, odd = true;
  for (uint32_t e = 1; e < 255; e++) {
    uint32_t a = e << 23, k = 254 - e;
    rcp = rcp && eup_rcp(a) == k << 23 && eup_rcp(a | SIGN) == (k << 23 | SIGN);
    logs = logs && value(eup_log2(a)) == (double)e - 127;
    if (e % 2 == 1)
      rsqrt = rsqrt && eup_rsqrt(a) == (190 - e / 2) << 23;
    float n = (float)((int)e - 127);
    uint32_t bits;
    memcpy(&bits, &n, sizeof bits);
    powers = powers && eup_exp2(bits) == e << 23;
  }
  struct check_random r = {1};
  for (int i = 0; i < 1000000; i++) {
    uint32_t a = check_random32(&r);
    odd = odd && ((a & ~SIGN) > INF || tpu_eup_tanh(a ^ SIGN) == (tpu_eup_tanh(a) ^ SIGN));
  }
  check(rcp, "rcp of every power of two is exact; 2^127's is tiny and gives zero");
  check(rsqrt, "rsqrt of every power of four is exact");
  check(logs, "log2 of every power of two is exact");
  check(powers, "exp2 of every integer is exact");
  check(odd, "tanh is odd");
}

int main(int argc, char **argv) {
  test_special();
  test_exact();
  test_mistakes();
  test_accuracy(argc > 1 && strcmp(argv[1], "all") == 0);
  return check_result(argv[0]);
}
