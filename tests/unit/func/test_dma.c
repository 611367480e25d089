/* SPDX-License-Identifier: MIT */
/*
 * DMA against a reference of its own: one loop over bytes, from the contract. All pairs of spaces, alignments
 * and lengths around 4 KiB, strides, fill, empty commands, lists of indices; random descriptors, valid or
 * not, with the error that the contract's order of checks gives.
 */
#include "func_test.h"

#include <string.h>

#define AREA 16384u /* bytes of each memory that the tests use; SMEM has no more */

/* ---- reference --------------------------------------------------------------------------------------------
 */

struct image {
  uint8_t *bytes[3]; /* HBM, VMEM, SMEM */
  uint32_t size[3];
};

static int64_t address(uint32_t base, const int32_t *stride, const uint32_t *index) {
  int64_t a = base;
  for (int d = 0; d < 3; d++)
    a += (int64_t)stride[d] * index[d];
  return a;
}

static uint32_t listed(const struct image *m, const struct host_dma *d, uint32_t i0) {
  uint32_t index;
  memcpy(&index, m->bytes[2] + d->list + 4 * i0, sizeof index);
  return index;
}

static void reference_copy(struct image *m, const struct host_dma *d) {
  uint32_t i[3];
  for (i[2] = 0; i[2] < d->count[2]; i[2]++)
    for (i[1] = 0; i[1] < d->count[1]; i[1]++)
      for (i[0] = 0; i[0] < d->count[0]; i[0]++) {
        const bool inside = !d->fill || (i[0] < d->valid[0] && i[1] < d->valid[1] && i[2] < d->valid[2]);
        const bool gathered = d->gather == 1 && inside && (!d->fill || d->valid_row > 0);
        uint32_t from[3] = {gathered ? listed(m, d, i[0]) : i[0], i[1], i[2]};
        uint32_t to[3] = {d->gather == 2 ? listed(m, d, i[0]) : i[0], i[1], i[2]};
        int64_t src = address(d->src, d->src_stride, from), dst = address(d->dst, d->dst_stride, to);
        for (uint32_t b = 0; b < d->row_bytes; b++) {
          bool valid = inside && (!d->fill || b < d->valid_row);
          m->bytes[d->dst_space][dst + b] =
              valid ? m->bytes[d->src_space][src + b] : (uint8_t)(d->pattern >> 8 * (b % 4));
        }
      }
}

/* Error of a range, or none. */
static struct host_error range_error(const struct image *m, uint32_t operand, uint32_t space, uint32_t base,
                                     const int32_t *stride, const uint32_t *count, uint32_t row) {
  int64_t low = base, high = base;
  for (int d = 0; d < 3; d++) {
    int64_t span = (int64_t)stride[d] * ((int64_t)count[d] - 1);
    low += span < 0 ? span : 0;
    high += span > 0 ? span : 0;
  }
  high += row;
  struct host_error e = {TPU_ERROR_RANGE, 0, 0, operand | space << 8, (uint32_t)(low < 0 ? low : high)};
  return low < 0 || high > m->size[space] ? e : (struct host_error){0};
}

static struct host_error reference_check(const struct image *m, const struct host_dma *d) {
  uint32_t mode = d->src_space | d->dst_space << 2 | (uint32_t)d->fill << 4 | d->gather << 5;
  if (d->src_space > 2 || d->dst_space > 2 || d->gather > 2)
    return (struct host_error){TPU_ERROR_BAD_FIELD, 0, 0, TPU_DMA_MODE, mode};
  if (d->fill) {
    if (d->valid_row > d->row_bytes)
      return (struct host_error){TPU_ERROR_BAD_FIELD, 0, 0, TPU_DMA_VALID_ROW, d->valid_row};
    if (d->valid[0] > d->count[0] || d->valid[1] > d->count[1])
      return (struct host_error){TPU_ERROR_BAD_FIELD, 0, 0, TPU_DMA_VALID01, d->valid[1] << 16 | d->valid[0]};
    if (d->valid[2] > d->count[2])
      return (struct host_error){TPU_ERROR_BAD_FIELD, 0, 0, TPU_DMA_VALID2, d->valid[2]};
  }
  if (d->row_bytes == 0 || d->count[0] == 0 || d->count[1] == 0 || d->count[2] == 0)
    return (struct host_error){0};
  const uint32_t *valid = d->fill ? d->valid : d->count;
  uint32_t valid_row = d->fill ? d->valid_row : d->row_bytes;
  bool reads = valid_row != 0 && valid[0] != 0 && valid[1] != 0 && valid[2] != 0;
  uint32_t from[3] = {d->gather == 1 ? d->bound : valid[0], valid[1], valid[2]};
  uint32_t to[3] = {d->gather == 2 ? d->bound : d->count[0], d->count[1], d->count[2]};
  uint32_t entries = d->gather == 2 ? d->count[0] : d->gather == 1 && reads ? valid[0] : 0;
  struct host_error e = {0};
  if (entries != 0 && d->bound == 0)
    return (struct host_error){TPU_ERROR_BAD_FIELD, 0, 0, TPU_DMA_BOUND, 0};
  if (reads)
    e = range_error(m, 0, d->src_space, d->src, d->src_stride, from, valid_row);
  if (e.code == 0)
    e = range_error(m, 1, d->dst_space, d->dst, d->dst_stride, to, d->row_bytes);
  if (e.code != 0 || entries == 0)
    return e;
  if (d->list % 4 != 0)
    return (struct host_error){TPU_ERROR_ALIGN, 0, 0, TPU_DMA_INDEX, d->list};
  if ((uint64_t)d->list + 4 * entries > m->size[2])
    return (struct host_error){TPU_ERROR_RANGE, 0, 0, 2 | 2 << 8, d->list + 4 * entries};
  for (uint32_t i = 0; i < entries; i++)
    if (listed(m, d, i) >= d->bound)
      return (struct host_error){TPU_ERROR_INDEX, 0, 0, i, listed(m, d, i)};
  return e;
}

/* Lists of indices below LISTED, at the begin of SMEM. */
enum { LISTED = 12, LISTS = 64, LISTS_END = 1024 };

/* ---- bench ------------------------------------------------------------------------------------------------
 */

struct bench {
  struct host h;
  struct image image; /* what the memories must hold; the first AREA bytes of each */
  uint8_t copy[3][AREA];
  struct check_random random;
  unsigned run, wrong;
  uint64_t bytes[4]; /* a channel */
  char first[256];
};

static void open_bench(struct bench *b, uint32_t salt) {
  memset(b, 0, sizeof *b);
  open_model(&b->h, 0);
  b->random.state = options.seed + salt;
  b->image.size[0] = b->h.hbm_bytes;
  b->image.size[1] = host_parameter(&b->h, TPU_PARAM_VMEM_BYTES);
  b->image.size[2] = host_parameter(&b->h, TPU_PARAM_SMEM_BYTES);
  for (int s = 0; s < 3; s++) {
    b->image.bytes[s] = b->copy[s];
    for (uint32_t i = 0; i < AREA; i++)
      b->copy[s][i] = (uint8_t)check_random32(&b->random);
  }
  for (uint32_t i = LISTS; i < LISTS_END; i += 4)
    memcpy(b->copy[2] + i, &(uint32_t){check_random_below(&b->random, LISTED)}, 4);
  memcpy(b->h.hbm, b->copy[0], AREA);
  host_poke(&b->h, TPU_SPACE_VMEM, 0, b->copy[1], AREA);
  host_poke(&b->h, TPU_SPACE_SMEM, 0, b->copy[2], AREA);
}

static bool memories_agree(struct bench *b) {
  static uint8_t now[AREA];
  bool ok = memcmp(b->h.hbm, b->copy[0], AREA) == 0;
  host_peek(&b->h, TPU_SPACE_VMEM, 0, now, AREA);
  ok &= memcmp(now, b->copy[1], AREA) == 0;
  host_peek(&b->h, TPU_SPACE_SMEM, 0, now, AREA);
  return ok && memcmp(now, b->copy[2], AREA) == 0;
}

static void note(struct bench *b, const struct host_dma *d, const char *why) {
  if (b->wrong++ == 0)
    snprintf(
        b->first, sizeof b->first,
        "%s; spaces %u to %u, 0x%x to 0x%x, %u bytes, counts %u %u %u, strides %d %d %d / %d %d %d, fill %d",
        why, d->src_space, d->dst_space, d->src, d->dst, d->row_bytes, d->count[0], d->count[1], d->count[2],
        d->src_stride[0], d->src_stride[1], d->src_stride[2], d->dst_stride[0], d->dst_stride[1],
        d->dst_stride[2], d->fill);
}

/* Runs a valid command on a random channel; memories are compared by the caller, now and then. */
static void run_valid(struct bench *b, const struct host_dma *d) {
  struct host *h = &b->h;
  uint32_t channel = check_random_below(&b->random, 4);
  uint64_t bytes = (uint64_t)d->row_bytes * d->count[0] * d->count[1] * d->count[2];
  struct host_head head = {.signals = 2, .signal = {{1, 0, true}, {2, 1, false}}};
  head.priority = check_random_below(&b->random, 4);
  b->run++;
  b->bytes[channel] += bytes;
  reference_copy(&b->image, d);
  host_dma(h, channel, b->run, &head, d);
  if (host_run(h, LIMIT) != TPU_STOP_IDLE || host_error(h).code != 0) {
    note(b, d, "error or hang");
    host_abort(h, LIMIT);
    return;
  }
  if (sem_value(h, 1) != (uint32_t)bytes || sem_value(h, 2) != 1)
    note(b, d, "wrong signals");
  host_write(h, TPU_REG_SEM_VALUE(1), 0);
  host_write(h, TPU_REG_SEM_VALUE(2), 0);
}

static void close_bench(struct bench *b, const char *what) {
  unsigned counters = 0;
  for (uint32_t c = 0; c < 4; c++)
    counters += host_counter(&b->h, c, TPU_COUNTER_BYTES) != b->bytes[c];
  check(b->wrong == 0 && counters == 0, "dma: %s, %u commands (%u wrong%s%s; %u counters of bytes wrong)",
        what, b->run, b->wrong, b->wrong ? ": " : "", b->first, counters);
  close_model(&b->h, what);
}

/* ---- the matrix -------------------------------------------------------------------------------------------
 */

static struct bench bench;

static struct host_dma row(uint32_t src_space, uint32_t dst_space, uint32_t src, uint32_t dst,
                           uint32_t bytes) {
  return (struct host_dma){.src_space = src_space,
                           .dst_space = dst_space,
                           .src = src,
                           .dst = dst,
                           .row_bytes = bytes,
                           .count = {1, 1, 1}};
}

/* One row at every alignment and length, before, on and across a 4 KiB boundary. */
static void test_matrix(uint32_t src_space, uint32_t dst_space) {
  char what[80];
  unsigned step = options.full ? 1 : 97;
  open_bench(&bench, src_space * 16 + dst_space);
  unsigned cases = 36 * 36 * 301;
  for (unsigned i = check_random_below(&bench.random, step); i < cases; i += step) {
    uint32_t a = i % 36, b = i / 36 % 36, length = i / (36 * 36);
    uint32_t shift = check_random_below(&bench.random, 3) * (check_random_below(&bench.random, 300) + 1);
    struct host_dma d =
        row(src_space, dst_space, 4096 + a - (length < shift ? length : shift), 8192 + 1024 + b, length);
    if (check_random_below(&bench.random, 2)) /* the destination crosses a boundary, too */
      d.dst = 12288 + b - check_random_below(&bench.random, length + 1);
    run_valid(&bench, &d);
    if (i / step % 64 == 0 && !memories_agree(&bench)) {
      note(&bench, &d, "memories differ (in the last 64)");
      break;
    }
  }
  if (!memories_agree(&bench))
    note(&bench, &(struct host_dma){0}, "memories differ at the end");
  snprintf(what, sizeof what, "alignments 0..35 x lengths 0..300, space %u to %u", src_space, dst_space);
  close_bench(&bench, what);
}

/* ---- random valid descriptors -----------------------------------------------------------------------------
 */

/*
 * Dimensions in a random order, so that strides may be larger inside than outside; each stride at least spans
 * what lies inside it, hence rows do not overlap. Returns the span in bytes.
 */
static uint32_t random_strides(struct bench *b, const struct host_dma *d, const uint32_t *count,
                               int32_t *stride, bool disjoint) {
  uint32_t order[3] = {0, 1, 2}, span = d->row_bytes;
  for (uint32_t i = 2; i > 0; i--) {
    uint32_t j = check_random_below(&b->random, i + 1), t = order[i];
    order[i] = order[j];
    order[j] = t;
  }
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t k = order[i], s = span + check_random_below(&b->random, 20);
    if (!disjoint && check_random_below(&b->random, 3) == 0)
      s = 0; /* broadcast */
    stride[k] = (int32_t)s;
    if (count[k] > 1)
      span += s * (count[k] - 1);
    if (check_random_below(&b->random, 3) == 0)
      stride[k] = -stride[k];
  }
  return span;
}

static uint32_t base_for(struct bench *b, const uint32_t *count, const int32_t *stride, uint32_t span,
                         uint32_t low, uint32_t high) {
  uint32_t base = low + check_random_below(&b->random, high - low - span + 1);
  for (int k = 0; k < 3; k++)
    if (stride[k] < 0 && count[k] > 0)
      base += (uint32_t)-stride[k] * (count[k] - 1);
  return base;
}

static bool random_valid(struct bench *b, struct host_dma *d) {
  memset(d, 0, sizeof *d);
  d->src_space = check_random_below(&b->random, 3);
  d->dst_space = check_random_below(&b->random, 3);
  d->row_bytes = check_random_below(&b->random, check_random_below(&b->random, 4) ? 40 : 600);
  for (int k = 0; k < 3; k++)
    d->count[k] = check_random_below(&b->random, check_random_below(&b->random, 8) ? 5 : 12) + 1;
  if (check_random_below(&b->random, 12) == 0)
    d->count[check_random_below(&b->random, 3)] = 0;
  d->fill = check_random_below(&b->random, 2);
  d->pattern = check_random32(&b->random);
  d->valid_row = check_random_below(&b->random, d->row_bytes + 1);
  for (int k = 0; k < 3; k++)
    d->valid[k] =
        check_random_below(&b->random, 3) ? d->count[k] : check_random_below(&b->random, d->count[k] + 1);
  uint32_t from[3], to[3];
  if (check_random_below(&b->random, 3) == 0) {
    d->gather = 1 + check_random_below(&b->random, 2);
    d->bound = 1 + check_random_below(&b->random, LISTED);
    d->list = LISTS + 4 * check_random_below(&b->random, (LISTS_END - LISTS) / 4 - d->count[0] + 1);
  }
  memcpy(from, d->count, sizeof from);
  memcpy(to, d->count, sizeof to);
  if (d->gather != 0)
    (d->gather == 1 ? from : to)[0] = d->bound;
  uint32_t src = random_strides(b, d, from, d->src_stride, false);
  uint32_t dst = random_strides(b, d, to, d->dst_stride, true);
  if (src > AREA / 2 - LISTS_END || dst > AREA / 2)
    return false;
  /* Source, lists and destination never overlap. */
  d->src = base_for(b, from, d->src_stride, src, LISTS_END, AREA / 2);
  d->dst = base_for(b, to, d->dst_stride, dst, AREA / 2, AREA);
  return reference_check(&b->image, d).code == 0;
}

static void test_random_valid(void) {
  unsigned count = options.full ? 50000 : 1500;
  open_bench(&bench, 1000);
  for (unsigned i = 0; i < count && bench.wrong == 0;) {
    struct host_dma d;
    if (!random_valid(&bench, &d))
      continue;
    i++;
    run_valid(&bench, &d);
    if (!memories_agree(&bench))
      note(&bench, &d, "memories differ");
  }
  close_bench(&bench, "random counts, strides and fill");
}

/* ---- random invalid descriptors ---------------------------------------------------------------------------
 */

static uint32_t wild(struct check_random *r) {
  static const uint32_t edges[] = {0,          1,     0x7fffffff, 0x80000000, 0xffffffff,
                                   0xfffffff0, 16384, 16383,      524288};
  uint32_t n = sizeof edges / sizeof edges[0];
  switch (check_random_below(r, 4)) {
  case 0:
    return edges[check_random_below(r, n)];
  case 1:
    return check_random32(r);
  default:
    return check_random_below(r, 600);
  }
}

static void random_wild(struct bench *b, struct host_dma *d) {
  struct check_random *r = &b->random;
  *d = (struct host_dma){.src_space = check_random_below(r, 20) ? check_random_below(r, 3) : 3,
                         .dst_space = check_random_below(r, 20) ? check_random_below(r, 3) : 3,
                         .src = wild(r),
                         .dst = wild(r),
                         .row_bytes = wild(r),
                         .fill = check_random_below(r, 2),
                         .valid_row = check_random_below(r, 4) ? 0 : wild(r),
                         .pattern = check_random32(r)};
  for (int k = 0; k < 3; k++) {
    d->count[k] = check_random_below(r, 3) ? 1 + check_random_below(r, 4) : wild(r) & 0xffff;
    d->valid[k] = check_random_below(r, 8) ? check_random_below(r, d->count[k] + 1) : wild(r) & 0xffff;
    d->src_stride[k] = (int32_t)wild(r);
    d->dst_stride[k] = (int32_t)wild(r);
  }
  if (check_random_below(r, 4) != 0)
    return;
  d->gather = check_random_below(r, 8) ? 1 + check_random_below(r, 2) : 3;
  d->list = check_random_below(r, 8) ? LISTS / 2 + 4 * check_random_below(r, 200) : wild(r);
  d->bound = check_random_below(r, 8) ? check_random_below(r, LISTED + 2) : wild(r) & 0xffffff;
  if (check_random_below(r, 2)) { /* nothing else is wrong with it */
    *d = (struct host_dma){.src_space = d->src_space % 3,
                           .dst_space = d->dst_space % 3,
                           .src = 1024,
                           .dst = 8192,
                           .row_bytes = 16,
                           .count = {1 + check_random_below(r, 300), 1, 1},
                           .src_stride = {16},
                           .dst_stride = {16},
                           .gather = d->gather,
                           .list = d->list,
                           .bound = d->bound};
  }
}

static void test_random_errors(void) {
  unsigned count = options.full ? 200000 : 5000, kinds[16] = {0};
  open_bench(&bench, 2000);
  for (unsigned i = 0; i < count;) {
    struct host_dma d;
    struct host_head head = {.signals = 1, .signal = {{1, 1, false}}};
    uint32_t channel = check_random_below(&bench.random, 4);
    random_wild(&bench, &d);
    struct host_error want = reference_check(&bench.image, &d);
    if (want.code == 0)
      continue; /* the other test's */
    want.queue = channel;
    want.tag = i++;
    kinds[want.code]++;
    bench.run++;
    host_dma(&bench.h, channel, want.tag, &head, &d);
    host_run(&bench.h, LIMIT);
    struct host_error e = host_error(&bench.h);
    uint32_t halted = host_read(&bench.h, TPU_REG_STATUS) >> TPU_REG_STATUS_HALTED_SHIFT & 0x7f;
    if (!same_error(e, want) || sem_value(&bench.h, 1) != 0 || halted != 1u << channel)
      note(&bench, &d, "wrong error, signalled or not halted");
    host_abort(&bench.h, LIMIT);
  }
  check(kinds[TPU_ERROR_RANGE] > count / 4 && kinds[TPU_ERROR_BAD_FIELD] > count / 20,
        "dma: the random commands have %u RANGE and %u BAD_FIELD errors", kinds[TPU_ERROR_RANGE],
        kinds[TPU_ERROR_BAD_FIELD]);
  check(kinds[TPU_ERROR_INDEX] > count / 50 && kinds[TPU_ERROR_ALIGN] > 0,
        "dma: %u of them have an INDEX error, %u lists are not aligned", kinds[TPU_ERROR_INDEX],
        kinds[TPU_ERROR_ALIGN]);
  if (!memories_agree(&bench))
    note(&bench, &(struct host_dma){0}, "something was moved");
  close_bench(&bench, "random commands that must fail");
}

/* Ranges that touch the ends of the memories exactly. */
static void test_ends(void) {
  open_bench(&bench, 3000);
  for (uint32_t s = 0; s < 3; s++) {
    uint32_t size = bench.image.size[s];
    uint8_t tail[64], got[64];
    struct host_dma d = row(TPU_SPACE_VMEM, s, 0, size - 64, 64);
    host_peek(&bench.h, TPU_SPACE_VMEM, 0, tail, 64);
    host_dma(&bench.h, 0, 1, NULL, &d);
    host_run(&bench.h, LIMIT);
    if (s == TPU_SPACE_HBM)
      memcpy(got, bench.h.hbm + size - 64, 64);
    else
      host_peek(&bench.h, s, size - 64, got, 64);
    check(memcmp(tail, got, 64) == 0, "dma: the last 64 bytes of space %u can be written", s);
    expect_no_error(&bench.h, "at the end");
    d.dst++;
    host_dma(&bench.h, 0, 2, NULL, &d);
    host_run(&bench.h, LIMIT);
    expect_error(&bench.h, "one byte past the end",
                 (struct host_error){TPU_ERROR_RANGE, 0, 2, 1 | s << 8, size + 1});
  }
  close_model(&bench.h, "ends");
}

/* A channel's writes land in order, and commands of several channels do not disturb each other. */
static void test_overlap(void) {
  open_bench(&bench, 4000);
  for (unsigned round = 0; round < 60 && bench.wrong == 0; round++) {
    for (uint32_t i = 0; i < 6; i++)
      for (uint32_t c = 0; c < 4; c++) {
        /* Channel c writes its own quarter of the upper half of each memory, again and again. */
        struct host_dma d =
            row(check_random_below(&bench.random, 3), check_random_below(&bench.random, 3),
                check_random_below(&bench.random, AREA / 2 - 300), 0, check_random_below(&bench.random, 300));
        d.dst = AREA / 2 + c * AREA / 8 + check_random_below(&bench.random, AREA / 8 - 300);
        struct host_head head = {
            .signals = 1, .signal = {{1, 1, false}}, .priority = check_random_below(&bench.random, 4)};
        reference_copy(&bench.image, &d);
        bench.run++;
        bench.bytes[c] += d.row_bytes;
        host_dma(&bench.h, c, bench.run, &head, &d);
      }
    if (host_run(&bench.h, LIMIT) != TPU_STOP_IDLE || sem_value(&bench.h, 1) != 24 * (round + 1) ||
        !memories_agree(&bench))
      note(&bench, &(struct host_dma){0}, "four channels at once");
  }
  close_bench(&bench, "four channels, writes of a channel in order");
}

/* A copy onto itself is reported; one that only interleaves with its source is not. */
static void test_overwrites(void) {
  static const struct {
    int32_t src, dst, stride, count, bytes;
    bool warns;
  } cases[] = {{0, 0, 64, 4, 64, true},        {0, 100, 0, 1, 100, false}, {0, 99, 0, 1, 100, true},
               {0, 32, 64, 9, 32, false},      {0, 31, 64, 9, 32, true},   {2000, 1968, -64, 9, 32, false},
               {2000, 1968, -64, 9, 33, true}, {100, 0, 0, 1, 100, false}, {99, 0, 0, 1, 100, true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct host_dma d = row(TPU_SPACE_VMEM, TPU_SPACE_VMEM, (uint32_t)cases[i].src, (uint32_t)cases[i].dst,
                            (uint32_t)cases[i].bytes);
    struct host *h = &bench.h;
    open_bench(&bench, 5000);
    d.count[0] = (uint32_t)cases[i].count;
    d.src_stride[0] = d.dst_stride[0] = cases[i].stride;
    host_dma(h, 0, 1, NULL, &d);
    host_run(h, LIMIT);
    bool func = strcmp(h->api->name, "func") == 0; /* only the functional model looks for it */
    check(h->log_lines[TPU_LOG_UNPREDICTABLE] == (func && cases[i].warns),
          "dma: %d bytes from %d to %d, stride %d: %sUNPREDICTABLE", cases[i].bytes, cases[i].src,
          cases[i].dst, cases[i].stride, cases[i].warns ? "" : "not ");
    expect_no_error(h, "overwrites");
    close_model(h, "overwrites");
  }
}

void test_dma(void) {
  for (uint32_t src = 0; src < 3; src++)
    for (uint32_t dst = 0; dst < 3; dst++)
      test_matrix(src, dst);
  test_random_valid();
  test_random_errors();
  test_ends();
  test_overlap();
  test_overwrites();
  add_results(&check_state);
}
