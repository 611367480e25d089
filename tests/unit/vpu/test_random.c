/* SPDX-License-Identifier: MIT */
/*
 * Random bits of the vector unit: the published vectors of Threefry-2x32-20, and the quality that kernels
 * rely on.
 *
 * Every statistic is a chi-square or a count with a known distribution; seeds are fixed, so a test passes
 * always or never. The limits are at six standard deviations: with the few hundred statistics here an honest
 * generator passes. That the tests can tell is shown on two bad ones, a counter times an odd constant and
 * Threefry cut to two rounds, which must fail.
 */
#include "../check.h"
#include "vpu_ops.h"

#include <math.h>
#include <string.h>

typedef void generator(uint32_t *d, uint32_t lanes, const uint32_t key[2], uint32_t row, uint32_t column);

#define LANES 16u
#define WORDS (TPU_VPU_SUBLANES * LANES)
#define TILES 512u /* of a sample: 65536 words */
#define SIGMA 6.0

/* ---- the published vectors ---------------------------------------------------------------------------- */

static uint32_t one(const uint32_t key[2], uint32_t row, uint32_t column) {
  uint32_t d[WORDS];
  tpu_vpu_random(d, LANES, key, row, column);
  return d[0];
}

static void test_vectors(void) {
  const uint32_t zero[2] = {0, 0}, ones[2] = {0xffffffff, 0xffffffff}, pi[2] = {0x13198a2e, 0x03707344};
  check(one(zero, 0, 0) == (0x6b200159 ^ 0x99ba4efe), "vector: key and counter 0");
  check(one(ones, 0xffffffff, 0xffffffff) == (0x1cb996fc ^ 0xbb002be7), "vector: all ones");
  check(one(pi, 0x243f6a88, 0x85a308d3) == (0xc4923a9c ^ 0x483df7a0), "vector: digits of pi");
}

/* The same element wherever its tile begins, and however many lanes there are. */
static void test_position(void) {
  const uint32_t key[2] = {3, 4};
  uint32_t whole[WORDS], part[WORDS], bad = 0;
  tpu_vpu_random(whole, 16, key, 40, 32);
  for (uint32_t lanes = 4; lanes <= 16; lanes *= 2)
    for (uint32_t c = 0; c < 16; c += lanes) {
      tpu_vpu_random(part, lanes, key, 40, 32 + c);
      for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++)
        bad += part[i] != whole[i / lanes * 16 + c + i % lanes];
    }
  check(bad == 0, "an element depends on its position alone, not on the tile or the lanes");
}

/* ---- statistics --------------------------------------------------------------------------------------- */

static double worst; /* of the statistics of one property, in standard deviations */

static void note(double value, double mean, double deviation) {
  double off = fabs(value - mean) / deviation;
  worst = off > worst ? off : worst;
}

/* Words of tiles along a row (`down` 0) or a column, of one key. */
static void sample(generator *g, uint32_t *to, uint32_t seed, bool down) {
  const uint32_t key[2] = {0, seed};
  for (uint32_t t = 0; t < TILES; t++)
    g(to + t * WORDS, LANES, key, down ? t * TPU_VPU_SUBLANES : 0, down ? 0 : t * LANES);
}

/* Each bit is 1 half the time, and agrees with every other bit half the time. */
static void balance(const uint32_t *x, uint32_t n) {
  uint32_t count[32] = {0}, pairs[32][32];
  memset(pairs, 0, sizeof pairs);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t b = 0; b < 32; b++) {
      count[b] += x[i] >> b & 1;
      for (uint32_t c = 0; c < b; c++)
        pairs[b][c] += (x[i] >> b ^ x[i] >> c) & 1;
    }
  for (uint32_t b = 0; b < 32; b++) {
    note(count[b], n / 2.0, sqrt(n) / 2);
    for (uint32_t c = 0; c < b; c++)
      note(pairs[b][c], n / 2.0, sqrt(n) / 2);
  }
}

/* Chi-square of each byte's values, and of pairs of high nibbles of words at a distance. */
static void frequencies(const uint32_t *x, uint32_t n, uint32_t distance) {
  uint32_t cells[5][256];
  memset(cells, 0, sizeof cells);
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t b = 0; b < 4; b++)
      cells[b][x[i] >> 8 * b & 255]++;
    cells[4][x[i] >> 28 << 4 | x[(i + distance) % n] >> 28]++;
  }
  for (uint32_t k = 0; k < 5; k++) {
    double chi = 0, mean = n / 256.0;
    for (uint32_t v = 0; v < 256; v++)
      chi += (cells[k][v] - mean) * (cells[k][v] - mean) / mean;
    note(chi, 255, sqrt(2 * 255.0));
  }
}

/* One bit of key, row or column turned: each bit of the result turns half the time. */
static void avalanche(generator *g) {
  enum { TRIES = 4096 };
  for (uint32_t bit = 0; bit < 128; bit++) {
    uint32_t turned[32] = {0};
    for (uint32_t i = 0; i < TRIES; i++) {
      uint32_t in[4] = {i * 7, i, i % 64 * 8, i / 64 * 16}, d[2][WORDS];
      g(d[0], LANES, in, in[2], in[3]);
      in[bit / 32] ^= 1u << bit % 32;
      g(d[1], LANES, in, in[2], in[3]);
      for (uint32_t b = 0; b < 32; b++)
        turned[b] += (d[0][0] ^ d[1][0]) >> b & 1;
    }
    for (uint32_t b = 0; b < 32; b++)
      note(turned[b], TRIES / 2.0, sqrt(TRIES) / 2);
  }
}

/* Two samples, of neighbouring seeds, agree in each bit half the time. */
static void unlike(const uint32_t *x, const uint32_t *y, uint32_t n) {
  for (uint32_t b = 0; b < 32; b++) {
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++)
      same += (x[i] ^ y[i]) >> b & 1;
    note(same, n / 2.0, sqrt(n) / 2);
  }
}

/* How far off the worst statistic of each property is. */
static void measure(generator *g, double off[4]) {
  static uint32_t x[TILES * WORDS], y[TILES * WORDS];
  const uint32_t n = TILES * WORDS;
  memset(off, 0, 4 * sizeof *off);
  for (uint32_t down = 0; down < 2; down++) {
    sample(g, x, 1, down);
    sample(g, y, 2, down);
    worst = 0;
    balance(x, n);
    off[0] = fmax(off[0], worst);
    worst = 0;
    frequencies(x, n, 1);     /* the next lane */
    frequencies(x, n, LANES); /* the next row */
    frequencies(x, n, WORDS); /* the next tile */
    off[1] = fmax(off[1], worst);
    worst = 0;
    unlike(x, y, n);
    off[2] = fmax(off[2], worst);
  }
  worst = 0;
  avalanche(g);
  off[3] = worst;
}

/* ---- bad ones ----------------------------------------------------------------------------------------- */

static void weyl(uint32_t *d, uint32_t lanes, const uint32_t key[2], uint32_t row, uint32_t column) {
  for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++)
    d[i] = key[0] + key[1] + (row + i / lanes) * 0x9e3779b9 + (column + i % lanes) * 0x85ebca6b;
}

static void two_rounds(uint32_t *d, uint32_t lanes, const uint32_t key[2], uint32_t row, uint32_t column) {
  for (uint32_t i = 0; i < TPU_VPU_SUBLANES * lanes; i++) {
    uint32_t x0 = row + i / lanes + key[0], x1 = column + i % lanes + key[1];
    x0 += x1;
    x1 = (x1 << 13 | x1 >> 19) ^ x0;
    x0 += x1;
    x1 = (x1 << 15 | x1 >> 17) ^ x0;
    d[i] = x0 ^ x1;
  }
}

int main(int argc, char **argv) {
  static const char *const names[] = {"balance of bits and of pairs of bits",
                                      "chi-square of bytes and of neighbours", "neighbouring seeds",
                                      "avalanche of 128 input bits"};
  double off[4], bad[4];
  (void)argc;
  test_vectors();
  test_position();
  measure(tpu_vpu_random, off);
  for (int k = 0; k < 4; k++)
    check(off[k] < SIGMA, "%s: worst statistic %.1f standard deviations off", names[k], off[k]);
  measure(weyl, off);
  measure(two_rounds, bad);
  for (int k = 0; k < 4; k++)
    check(off[k] > SIGMA || bad[k] > SIGMA, "%s: a bad generator fails (%.0f, %.0f)", names[k], off[k],
          bad[k]);
  return check_result(argv[0]);
}
