/* SPDX-License-Identifier: MIT */
/*
 * Makes the data file of the app matmul: random x and y and the product by a plain C reference, in the
 * order of additions that the array uses (docs/contract.md sections 5 and 7).
 *
 *   matmul-data M N K [--type bf16|int8] [--dim 16] [--seed 1] -o FILE [app arguments are ignored]
 *
 * The values are such that no intermediate result is subnormal, infinite or NaN, so that the float
 * arithmetic of the host is the machine's; it is built with -ffp-contract=off.
 */
#define _POSIX_C_SOURCE 200809L
#include "tpu_memmap.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BF16 = 1, INT32 = 2, INT8 = 3 }; /* dtype codes, docs/data-format.md */

struct array {
  const char *name;
  uint32_t dtype, rows, columns, size;
  void *data;
  uint32_t offset;
};

struct options {
  long m, n, k, dim, seed;
  bool int8;
  const char *out;
};

static void die(const char *text, const char *what) {
  fprintf(stderr, "matmul-data: %s%s\n", text, what);
  exit(2);
}

/* Wrong arguments: what is wrong, then what would be right. */
static void die_usage(const char *text, const char *what) {
  fprintf(stderr,
          "matmul-data: %s%s\n"
          "usage: matmul [M N K] [--block B] [--block-m B] [--block-n B] [--block-k B] [--buffers N] "
          "[--type bf16|int8] [--calls N]\n",
          text, what);
  exit(2);
}

static uint32_t crc32_of(uint32_t crc, const void *data, size_t n) {
  const uint8_t *p = data;
  crc = ~crc;
  while (n--) {
    crc ^= *p++;
    for (int i = 0; i < 8; ++i)
      crc = crc >> 1 ^ (0xedb88320u & -(crc & 1u));
  }
  return ~crc;
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005ull + 1442695040888963407ull;
  return (uint32_t)(*state >> 33);
}

/* Eighths from -2 to 2: exact in bf16, products exact, sums far from every limit. */
static uint16_t random_bf16(uint64_t *state) {
  const float f =
      (float)((int)(next_random(state) % 33) - 16) / 8.0f * (1.0f + (float)(next_random(state) % 8) / 8.0f);
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (uint16_t)(bits >> 16);
}

static float widen(uint16_t b) {
  const uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

static uint16_t narrow(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* One row: k tiles of dim products, summed in order, each tile's sum added to what is there. Columns are the
 * inner loop, so that the compiler can take several at once; part and sum have n elements. Products past k
 * are +0, and added. */
static void row_bf16(const uint16_t *x, const float *y, const struct options *o, float *restrict part,
                     float *restrict sum) {
  for (long tile = 0; tile < o->k; tile += o->dim) {
    for (long i = 0; i < o->dim; ++i) {
      const bool inside = tile + i < o->k;
      const float a = inside ? widen(x[tile + i]) : 0.0f;
      const float *b = inside ? y + (tile + i) * o->n : NULL;
      for (long c = 0; c < o->n; ++c)
        part[c] = i == 0 ? a * b[c] : part[c] + (inside ? a * b[c] : 0.0f);
    }
    for (long c = 0; c < o->n; ++c)
      sum[c] = tile == 0 ? part[c] : sum[c] + part[c];
  }
}

static void row_int8(const int8_t *x, const int8_t *y, const struct options *o, uint32_t *sum) {
  for (long c = 0; c < o->n; ++c)
    sum[c] = 0;
  for (long k = 0; k < o->k; ++k)
    for (long c = 0; c < o->n; ++c)
      sum[c] += (uint32_t)(x[k] * y[k * o->n + c]);
}

static void *allocate(size_t n) {
  void *p = calloc(n ? n : 1, 1);
  if (!p)
    die("out of memory", "");
  return p;
}

static void put32(uint8_t *p, uint32_t v) {
  for (int i = 0; i < 4; ++i)
    p[i] = (uint8_t)(v >> 8 * i);
}

/* Under another name first: whoever reads the file meanwhile has all of the old one or all of the new one. */
static void write_file(struct array *a, unsigned count, const char *path) {
  const uint32_t head_bytes = 64 + 64 * count;
  uint8_t *head = allocate(head_bytes);
  uint32_t at = head_bytes;
  for (unsigned i = 0; i < count; ++i) {
    uint8_t *e = head + 64 + 64 * i;
    const uint32_t bytes = a[i].rows * a[i].columns * a[i].size;
    a[i].offset = at;
    at = (at + bytes + 63) / 64 * 64;
    memcpy(e, a[i].name, strlen(a[i].name));
    put32(e + 16, a[i].dtype);
    put32(e + 20, 2);
    put32(e + 24, a[i].rows);
    put32(e + 28, a[i].columns);
    put32(e + 44, a[i].offset);
    put32(e + 48, bytes);
    put32(e + 52, crc32_of(0, a[i].data, bytes));
  }
  memcpy(head, "PEPLDATA", 8);
  put32(head + 8, 1);
  put32(head + 12, count);
  put32(head + 16, at);
  put32(head + 20, crc32_of(0, head, head_bytes));
  char *temporary = allocate(strlen(path) + 32);
  sprintf(temporary, "%s.%ld.tmp", path, (long)getpid());
  FILE *f = fopen(temporary, "wb");
  if (!f) {
    fprintf(stderr, "matmul-data: %s: cannot be written: %s\n", path, strerror(errno));
    exit(2);
  }
  bool ok = fwrite(head, head_bytes, 1, f) == 1;
  uint32_t written = head_bytes;
  for (unsigned i = 0; i < count && ok; ++i) {
    const uint32_t bytes = a[i].rows * a[i].columns * a[i].size;
    ok = fwrite(a[i].data, 1, bytes, f) == bytes;
    written += bytes;
    static const uint8_t zero[64];
    const uint32_t gap = (64 - written % 64) % 64;
    ok = ok && fwrite(zero, 1, gap, f) == gap;
    written += gap;
  }
  if (fclose(f) != 0 || !ok || rename(temporary, path) != 0) {
    const int why = errno;
    remove(temporary);
    fprintf(stderr, "matmul-data: %s: cannot be written: %s\n", path, strerror(why));
    exit(2);
  }
  free(temporary);
  free(head);
}

static void make(const struct options *o) {
  const size_t xs = (size_t)o->m * (size_t)o->k, ys = (size_t)o->k * (size_t)o->n,
               os = (size_t)o->m * (size_t)o->n;
  uint64_t state = (uint64_t)o->seed * 0x9e3779b97f4a7c15ull + 1;
  const uint32_t in = o->int8 ? 1 : 2, out = o->int8 ? 4 : 2;
  uint8_t *x = allocate(xs * in), *y = allocate(ys * in), *r = allocate(os * out);
  for (size_t i = 0; i < xs + ys; ++i) {
    uint8_t *p = i < xs ? x + i * in : y + (i - xs) * in;
    if (o->int8)
      *p = (uint8_t)next_random(&state);
    else
      memcpy(p, &(uint16_t){random_bf16(&state)}, 2);
  }
  const size_t n = (size_t)o->n, k = (size_t)o->k;
  if (os * k > 2000000000u)
    fprintf(stderr, "matmul-data: the reference result of %ld x %ld x %ld takes some %zu s\n", o->m, o->n,
            o->k, os * k / 500000000u);
  float *wide = allocate(o->int8 ? 0 : ys * 4), *part = allocate(n * 4), *sum = allocate(n * 4);
  for (size_t i = 0; i < ys && !o->int8; ++i)
    wide[i] = widen(((uint16_t *)y)[i]);
  for (size_t row = 0; row < (size_t)o->m; ++row) {
    if (o->int8) {
      row_int8((int8_t *)x + row * k, (int8_t *)y, o, (uint32_t *)r + row * n);
      continue;
    }
    row_bf16((uint16_t *)x + row * k, wide, o, part, sum);
    for (size_t c = 0; c < n; ++c)
      ((uint16_t *)r)[row * n + c] = narrow(sum[c]);
  }
  free(wide);
  free(part);
  free(sum);
  struct array arrays[] = {
      {"x", o->int8 ? INT8 : BF16, (uint32_t)o->m, (uint32_t)o->k, in, x, 0},
      {"y", o->int8 ? INT8 : BF16, (uint32_t)o->k, (uint32_t)o->n, in, y, 0},
      {"ref", o->int8 ? INT32 : BF16, (uint32_t)o->m, (uint32_t)o->n, out, r, 0},
  };
  write_file(arrays, 3, o->out);
  free(x);
  free(y);
  free(r);
}

static long parse(const char *what, const char *text, long low, long high) {
  char *end;
  errno = 0;
  const long v = strtol(text, &end, 10);
  if (errno || end == text || *end || v < low || v > high) {
    fprintf(stderr, "matmul-data: %s: '%s' is not a number from %ld to %ld\n", what, text, low, high);
    exit(2);
  }
  return v;
}

/* Before any work: a product that does not fit would take minutes. */
static void check_size(const struct options *o) {
  const uint64_t x = (uint64_t)o->m * (uint64_t)o->k, y = (uint64_t)o->k * (uint64_t)o->n,
                 r = (uint64_t)o->m * (uint64_t)o->n;
  const uint64_t bytes = o->int8 ? x + y + 4 * r : 2 * (x + y + r);
  if (bytes + 4096 <= PEPLOS_HBM_SIZE)
    return;
  fprintf(
      stderr,
      "matmul-data: x, y and their product have %llu bytes; HBM has %llu, 4096 of them for the directory\n",
      (unsigned long long)bytes, (unsigned long long)PEPLOS_HBM_SIZE);
  exit(2);
}

int main(int argc, char **argv) {
  struct options o = {.m = 256, .n = 256, .k = 256, .dim = 16, .seed = 1};
  long *const size[3] = {&o.m, &o.n, &o.k};
  int sizes = 0;
  for (int i = 1; i < argc; ++i) {
    const char *a = argv[i];
    if (a[0] != '-' || (a[1] >= '0' && a[1] <= '9')) {
      if (sizes == 3)
        die_usage("more than three sizes: ", a);
      static const char *const name[3] = {"M", "N", "K"};
      *size[sizes] = parse(name[sizes], a, 1, 8192);
      ++sizes;
      continue;
    }
    if (!strcmp(a, "--help"))
      die_usage("arguments of the app matmul:", "");
    if (i + 1 == argc)
      die_usage(a, " needs a value");
    const char *v = argv[++i];
    if (!strncmp(v, "--", 2) || !strcmp(v, "-o"))
      die_usage(a, " needs a value");
    if (!strcmp(a, "--type")) {
      if (strcmp(v, "bf16") && strcmp(v, "int8"))
        die("--type is bf16 or int8, not ", v);
      o.int8 = !strcmp(v, "int8");
    } else if (!strcmp(a, "--dim"))
      o.dim = parse(a, v, 1, 256);
    else if (!strcmp(a, "--seed"))
      o.seed = parse(a, v, 0, 1 << 30);
    else if (!strcmp(a, "-o"))
      o.out = v;
    else if (strncmp(a, "--b", 3) && strcmp(a, "--calls"))
      die_usage("unknown argument ", a); /* --block.., --buffers, --calls are the app's */
  }
  if (sizes != 0 && sizes != 3)
    die_usage("give all of M N K or none", "");
  if (!o.out)
    die("-o FILE is needed", "");
  check_size(&o);
  make(&o);
  return 0;
}
