/* SPDX-License-Identifier: MIT */
/*
 * The main program of every conformance program:
 *
 *   <program> CASE[,OUTPUT=ULPS/ABS]...      ABS: the bits of an f32, in hexadecimal
 *
 * The n-th argument's arrays in the data file are called n.NAME: inputs, golden vectors of the outputs
 * and, where not every element is to be compared, a mask n.NAME.m of bytes. An output without tolerance
 * is compared bit for bit. One block of lines a case:
 *
 *   CASE name
 *   COPIES 4 2                a line a call that succeeded: what pl_stats says
 *   ERROR STATUS: message     a call that had to fail
 *   WRONG ...                 anything that is not as it must be
 *   END name                  the case ran to its end
 */
#include "boot.h"
#include "case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_INPUTS = 16, MAX_OUTPUTS = 12, GUARD_BYTES = 64, MOST_WRONG = 4 };

struct named {
  const char *name;
  pl_array array, guard, golden;
};

static struct {
  unsigned index;
  const char *tolerances; /* what follows the name in the argument */
  unsigned inputs, outputs, wrong;
  const char *input[MAX_INPUTS];
  struct named output[MAX_OUTPUTS];
} now;

static void wrong(const char *what, const char *detail) {
  printf("WRONG %s%s%s\n", what, detail[0] != '\0' ? ": " : "", detail);
  now.wrong++;
}

void case_check(bool ok, const char *what) {
  if (!ok)
    wrong(what, "");
}

/* n.NAME as it is called in the data file. */
static bool find(const char *name, const char *suffix, pl_array *array) {
  char full[24];
  snprintf(full, sizeof full, "%u.%s%s", now.index, name, suffix);
  return pl_data_find(full, array) == PL_OK;
}

pl_array case_input(const char *name) {
  pl_array array;
  if (now.inputs == MAX_INPUTS || !find(name, "", &array)) {
    wrong(name, now.inputs == MAX_INPUTS ? "too many inputs" : pl_error_message());
    return (pl_array){0};
  }
  now.input[now.inputs++] = name;
  return array;
}

pl_array case_output(const char *name, const char *initial) {
  struct named *n = &now.output[now.outputs];
  pl_array from;
  pl_shape shape = {0}, guard = PL_SHAPE(GUARD_BYTES);

  if (now.outputs == MAX_OUTPUTS || !find(name, "", &n->golden) ||
      (initial != NULL && !find(initial, "", &from))) {
    wrong(name, now.outputs == MAX_OUTPUTS ? "too many outputs" : pl_error_message());
    return (pl_array){0};
  }
  shape.rank = n->golden.rank;
  memcpy(shape.extent, n->golden.shape, sizeof shape.extent);
  if (pl_alloc(PL_HBM, n->golden.dtype, shape, &n->array) != PL_OK ||
      pl_alloc(PL_HBM, PL_INT8, guard, &n->guard) != PL_OK) {
    wrong(name, pl_error_message());
    return (pl_array){0};
  }
  memset(pl_hbm_pointer(&n->array), CASE_PATTERN, pl_array_bytes(&n->array));
  memset(pl_hbm_pointer(&n->guard), CASE_PATTERN, GUARD_BYTES);
  if (initial != NULL)
    memcpy(pl_hbm_pointer(&n->array), pl_hbm_pointer(&from), pl_array_bytes(&n->array));
  n->name = name;
  now.outputs++;
  return n->array;
}

bool case_done(pl_status status) {
  if (status != PL_OK) {
    printf("WRONG %s: %s\n", pl_status_name(status), pl_error_message());
    now.wrong++;
    return false;
  }
  return true;
}

bool case_call(const pl_kernel *kernel, pl_arrays args, pl_arrays results) {
  pl_stats stats;

  if (!case_done(pl_call(kernel, args, results)))
    return false;
  pl_get_stats(&stats);
  printf("COPIES");
  for (unsigned i = 0; i < args.count - kernel->num_scalar_prefetch + results.count; i++)
    printf(" %u", (unsigned)stats.copies[i]);
  printf("\n");
  return true;
}

void case_fails(pl_status status) {
  if (status == PL_OK)
    wrong("a call that must fail has succeeded", "");
  else
    printf("ERROR %s: %s\n", pl_status_name(status), pl_error_message());
}

/* ---- comparison ---- */

struct tolerance {
  uint32_t ulps;
  float absolute;
};

/* The part `,NAME=ULPS/ABS` of the argument; zero if there is none. */
static struct tolerance tolerance_of(const char *name) {
  struct tolerance t = {0, 0};
  const size_t n = strlen(name);

  for (const char *at = now.tolerances; *at == ','; at = strchr(at + 1, ',') ? strchr(at + 1, ',') : "") {
    if (strncmp(at + 1, name, n) == 0 && at[1 + n] == '=') {
      char *end;
      t.ulps = strtoul(at + 2 + n, &end, 10);
      if (*end == '/') {
        const uint32_t bits = strtoul(end + 1, NULL, 16);
        memcpy(&t.absolute, &bits, sizeof bits);
      }
    }
  }
  return t;
}

/* Element i as its bits: floats as an f32's. */
static uint32_t bits_at(const pl_array *a, uint32_t i) {
  const void *p = pl_hbm_pointer(a);
  switch (a->dtype) {
  case PL_BF16:
    return (uint32_t)((const uint16_t *)p)[i] << 16;
  case PL_INT8:
    return (uint32_t)((const int8_t *)p)[i];
  case PL_UINT8:
    return ((const uint8_t *)p)[i];
  default:
    return ((const uint32_t *)p)[i];
  }
}

/* Floats as integers in the order of their values. */
static int32_t ordered(uint32_t bits) {
  return (int32_t)(bits & 0x80000000u ? 0x80000000u - bits : bits);
}

static bool same(const pl_array *a, uint32_t got, uint32_t want, const struct tolerance *t) {
  if (got == want)
    return true;
  if (a->dtype != PL_F32 && a->dtype != PL_BF16)
    return false;
  const bool got_nan = (got << 1) > 0xff000000u, want_nan = (want << 1) > 0xff000000u;
  if (got_nan || want_nan)
    return got_nan && want_nan;
  const uint32_t distance = (uint32_t)abs(ordered(got) - ordered(want)) >> (a->dtype == PL_BF16 ? 16 : 0);
  float x, y;
  memcpy(&x, &got, sizeof x);
  memcpy(&y, &want, sizeof y);
  return distance <= t->ulps || (t->absolute > 0 && x - y <= t->absolute && y - x <= t->absolute);
}

static void place(const pl_array *a, uint32_t i, char text[80]) {
  int32_t index[PL_MAX_RANK];
  for (int d = a->rank - 1; d >= 0; d--) {
    index[d] = (int32_t)(i % (uint32_t)a->shape[d]);
    i /= (uint32_t)a->shape[d];
  }
  text[0] = '\0';
  for (int d = 0; d < a->rank; d++)
    snprintf(text + strlen(text), 80 - strlen(text), "%s%d", d ? "," : "", (int)index[d]);
}

static void compare(const struct named *n) {
  const struct tolerance t = tolerance_of(n->name);
  pl_array mask;
  const uint8_t *compared = find(n->name, ".m", &mask) ? pl_hbm_pointer(&mask) : NULL;
  const uint32_t elements = pl_array_bytes(&n->array) / pl_dtype_bytes(n->array.dtype);
  const uint8_t *guard = pl_hbm_pointer(&n->guard);
  unsigned bad = 0;

  for (uint32_t i = 0; i < elements; i++) {
    const uint32_t got = bits_at(&n->array, i), want = bits_at(&n->golden, i);
    if ((compared != NULL && !compared[i]) || same(&n->array, got, want, &t))
      continue;
    if (bad++ < MOST_WRONG) {
      char at[80];
      place(&n->array, i, at);
      printf("WRONG %s[%s] is 0x%x, not 0x%x\n", n->name, at, (unsigned)got, (unsigned)want);
    }
  }
  if (bad > MOST_WRONG)
    printf("WRONG %s: %u of %u elements\n", n->name, bad, (unsigned)elements);
  now.wrong += bad;
  for (unsigned i = 0; i < GUARD_BYTES; i++)
    if (guard[i] != CASE_PATTERN) {
      wrong(n->name, "something was written behind its end");
      break;
    }
}

/* ---- the run ---- */

static void finish(void) {
  for (unsigned i = 0; i < now.outputs; i++) {
    compare(&now.output[i]);
    if (pl_free(&now.output[i].guard) != PL_OK || pl_free(&now.output[i].array) != PL_OK)
      wrong(now.output[i].name, pl_error_message());
  }
  for (unsigned i = 0; i < now.inputs; i++) {
    pl_array again;
    if (!find(now.input[i], "", &again)) /* checks the CRC */
      wrong("an input has changed", pl_error_message());
  }
}

static bool run(unsigned index, char *argument) {
  const char *comma = strchr(argument, ',');
  const size_t length = comma ? (size_t)(comma - argument) : strlen(argument);

  for (const struct conformance_case *c = conformance_cases; c->name != NULL; c++) {
    if (strlen(c->name) != length || strncmp(c->name, argument, length) != 0)
      continue;
    memset(&now, 0, sizeof now);
    now.index = index;
    now.tolerances = comma ? comma : "";
    printf("CASE %s\n", c->name);
    c->run();
    finish();
    printf("END %s\n", c->name);
    return now.wrong == 0;
  }
  printf("there is no case %.*s in this program\n", (int)length, argument);
  return false;
}

int main(int argc, char **argv) {
  bool good = true;

  if (pl_data_open() != PL_OK) {
    printf("%s\n", pl_error_message());
    return BOOT_EXIT_USAGE;
  }
  for (int i = 1; i < argc; i++)
    good = run((unsigned)i, argv[i]) && good;
  return good ? BOOT_EXIT_OK : BOOT_EXIT_FAILURE;
}
