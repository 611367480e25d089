/* SPDX-License-Identifier: MIT */
/* Makes race-free random streams; see stream.h. */
#include "stream.h"

#include <string.h>

enum { HBM_REGIONS = 24, VMEM_REGIONS = 24, SMEM_REGIONS = 6, ACC_REGIONS = 8 };
enum { FIRST_HBM = 0, FIRST_VMEM = 24, FIRST_SMEM = 48, FIRST_LIST = 54, FIRST_ACC = 56, REGIONS = 64 };

#define REGION_BYTES      4096u
#define SMEM_REGION_BYTES 2048u
#define HBM_REGION_BASE   2048u  /* so that pages end inside of regions */
#define TICKETS           QUEUES /* semaphores 0..6 */
#define FIRST_TOKEN       8u
#define LOOSE_SEMS        4u /* the last ones: signalled, never waited on */

struct gen {
  struct stream *s;
  const struct tpu_config *config;
  struct check_random r;
  uint32_t kinds;
  bool forget;
  uint32_t issued[QUEUES];             /* commands of a queue so far */
  uint32_t known[QUEUES][QUEUES];      /* queue a starts nothing more before queue b has completed so many */
  uint32_t step_of[QUEUES][MAX_STEPS]; /* step of the queue's n-th command, from 1 */
  struct {
    uint32_t writer_queue, writer; /* last writer, as a count of its queue; 0 = none */
    uint32_t reader[QUEUES];       /* last readers since */
  } region[REGIONS];
  uint32_t next_token;
};

static uint32_t below(struct gen *g, uint32_t bound) {
  return check_random_below(&g->r, bound);
}

/* ---- dependencies -----------------------------------------------------------------------------------------
 */

struct needs {
  uint32_t ticket[QUEUES];
};

static void need(struct needs *n, uint32_t queue, uint32_t ticket) {
  if (ticket > n->ticket[queue])
    n->ticket[queue] = ticket;
}

/* What an access of `agent` (QUEUES: the scalar core) to a region must wait for. */
static void need_region(struct gen *g, struct needs *n, uint32_t agent, uint32_t region, bool write) {
  uint32_t writer = g->region[region].writer_queue;
  bool in_order = writer == agent && (agent >= TPU_QUEUE_MXU || write);
  if (g->region[region].writer != 0 && !in_order)
    need(n, writer, g->region[region].writer);
  for (uint32_t q = 0; q < QUEUES && write; q++)
    if (q != agent)
      need(n, q, g->region[region].reader[q]);
}

static void touch(struct gen *g, uint32_t queue, uint32_t region, bool write) {
  if (write) {
    memset(&g->region[region], 0, sizeof g->region[region]);
    g->region[region].writer_queue = queue;
    g->region[region].writer = g->issued[queue];
  } else {
    g->region[region].reader[queue] = g->issued[queue];
  }
}

/* A semaphore that this stream has not used, or 0. */
static uint32_t new_token(struct gen *g) {
  return g->next_token + LOOSE_SEMS < g->config->semaphores ? g->next_token++ : 0;
}

/* Lets the producer signal a token for one wait; false if it has no signal to spare. */
static bool token_wait(struct gen *g, struct host_wait *w, uint32_t queue, uint32_t ticket) {
  struct step *p = &g->s->step[g->step_of[queue][ticket]];
  uint32_t token;
  if (p->head.signals >= 2 || below(g, 2) || (token = new_token(g)) == 0)
    return false;
  uint32_t bytes = p->dma.row_bytes * p->dma.count[0] * p->dma.count[1] * p->dma.count[2];
  bool by_bytes = queue < TPU_QUEUE_MXU && bytes > 0 && below(g, 3) == 0;
  uint32_t amount = by_bytes ? bytes : 1 + below(g, 100);
  p->head.signal[p->head.signals++] = (struct host_signal){token, amount, by_bytes};
  *w = (struct host_wait){token, amount, true};
  return true;
}

static void add_wait(struct gen *g, struct step *p, uint32_t queue, uint32_t ticket) {
  struct host_wait *w = &p->head.wait[p->head.waits++];
  if (!token_wait(g, w, queue, ticket))
    *w = (struct host_wait){queue, g->s->ticket_start[queue] + ticket,
                            below(g, 8) == 0}; /* consume is ignored */
  if (g->known[p->queue][queue] < ticket)
    g->known[p->queue][queue] = ticket;
}

/* ---- steps ------------------------------------------------------------------------------------------------
 */

static struct step *new_step(struct gen *g, enum step_kind kind) {
  struct step *p = &g->s->step[g->s->steps++];
  memset(p, 0, sizeof *p);
  p->kind = kind;
  return p;
}

static struct step *new_command(struct gen *g, uint32_t queue) {
  struct step *p = new_step(g, STEP_COMMAND);
  p->queue = queue;
  p->tag = queue << 16 | ++g->issued[queue];
  g->step_of[queue][g->issued[queue]] = g->s->steps - 1;
  p->head.signals = 1;
  p->head.signal[0] = (struct host_signal){queue, 1, false}; /* the ticket */
  p->head.irq = below(g, 4) == 0;
  p->head.priority = queue < TPU_QUEUE_MXU ? below(g, 4) : 0;
  return p;
}

static bool room_for(const struct gen *g, uint32_t steps) {
  return g->s->steps + steps < MAX_STEPS;
}

/* Joins waits in SYNC commands until `limit` are left. */
static void join(struct gen *g, struct needs *n, uint32_t limit) {
  for (;;) {
    uint32_t count = 0;
    for (uint32_t q = 0; q < QUEUES; q++)
      count += n->ticket[q] != 0;
    if (count <= limit)
      return;
    struct step *p = new_command(g, TPU_QUEUE_SYNC);
    for (uint32_t q = 0; q < TPU_QUEUE_SYNC && p->head.waits < g->config->waits; q++)
      if (n->ticket[q] != 0) {
        add_wait(g, p, q, n->ticket[q]);
        n->ticket[q] = 0;
      }
    n->ticket[TPU_QUEUE_SYNC] = g->issued[TPU_QUEUE_SYNC];
  }
}

/* Begins a command that accesses regions; its step is complete but for its own fields. */
static struct step *begin(struct gen *g, uint32_t queue, struct needs *n) {
  bool scalar = below(g, 6) == 0;
  uint32_t token = 0;
  for (uint32_t q = 0; q < QUEUES; q++) {
    if (below(g, 16) == 0 && q != queue)
      need(n, q, below(g, g->issued[q] + 1)); /* a wait that is not needed */
    if (n->ticket[q] <= g->known[queue][q] || g->forget)
      n->ticket[q] = 0;
  }
  if (scalar)
    token = new_token(g);
  join(g, n, g->config->waits - (token != 0));
  struct step *p = new_command(g, queue);
  for (uint32_t q = 0; q < QUEUES; q++)
    if (n->ticket[q] != 0)
      add_wait(g, p, q, n->ticket[q]);
  if (token != 0) {
    p->scalar.sem = token;
    p->scalar.amount = 1 + below(g, 1000);
    p->scalar.delay = below(g, 4);
    p->head.wait[p->head.waits++] = (struct host_wait){token, p->scalar.amount, true};
  } else if (below(g, 4) == 0) {
    p->head.signal[p->head.signals++] =
        (struct host_signal){g->config->semaphores - 1 - below(g, LOOSE_SEMS), below(g, 1000), below(g, 2)};
  }
  return p;
}

/* ---- DMA --------------------------------------------------------------------------------------------------
 */

static uint32_t random_region(struct gen *g, uint32_t *space) {
  switch (below(g, 5)) {
  case 0:
  case 1:
    *space = TPU_SPACE_HBM;
    return FIRST_HBM + below(g, HBM_REGIONS);
  case 2:
  case 3:
    *space = TPU_SPACE_VMEM;
    return FIRST_VMEM + below(g, VMEM_REGIONS);
  default:
    *space = TPU_SPACE_SMEM;
    return FIRST_SMEM + below(g, SMEM_REGIONS);
  }
}

static uint32_t region_base(uint32_t region) {
  if (region < FIRST_VMEM)
    return HBM_REGION_BASE + region * REGION_BYTES;
  return region < FIRST_SMEM ? (region - FIRST_VMEM) * REGION_BYTES
                             : (region - FIRST_SMEM) * SMEM_REGION_BYTES;
}

static uint32_t region_bytes(uint32_t region) {
  return region < FIRST_SMEM ? REGION_BYTES : SMEM_REGION_BYTES;
}

/* Rows that a side may reach in a dimension. */
static uint32_t reach(const struct host_dma *d, uint32_t k, bool write) {
  return k == 0 && d->gather == (write ? 2u : 1u) ? d->bound : d->count[k];
}

/* Strides of rows that do not overlap (or, for a source, may); returns the span. */
static uint32_t random_strides(struct gen *g, const struct host_dma *d, int32_t *stride, bool write) {
  uint32_t span = d->row_bytes, first = below(g, 3);
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t k = (first + i) % 3, s = span + (below(g, 2) ? 0 : below(g, 40));
    if (!write && below(g, 4) == 0)
      s = 0;
    stride[k] = (int32_t)s;
    span += s * (reach(d, k, write) - 1);
  }
  return span;
}

/* Places one side inside its region; some strides become negative. */
static uint32_t place(struct gen *g, const struct host_dma *d, bool write, uint32_t span, uint32_t region) {
  int32_t *stride = write ? (int32_t *)d->dst_stride : (int32_t *)d->src_stride;
  uint32_t base = region_base(region) + below(g, region_bytes(region) - span + 1);
  for (int k = 0; k < 3; k++)
    if (below(g, 4) == 0) {
      base += (uint32_t)stride[k] * (reach(d, (uint32_t)k, write) - 1);
      stride[k] = -stride[k];
    }
  return base;
}

static void random_shape(struct gen *g, struct host_dma *d) {
  bool flat = below(g, 3) == 0;
  d->row_bytes = flat ? below(g, 1500) : below(g, 2) ? 4 * below(g, 40) : below(g, 130);
  for (int k = 0; k < 3; k++)
    d->count[k] = flat ? 1 : 1 + below(g, 5);
  d->fill = below(g, 3) == 0;
  d->pattern = check_random32(&g->r);
  d->valid_row = below(g, d->row_bytes + 1);
  for (int k = 0; k < 3; k++)
    d->valid[k] = below(g, 3) ? d->count[k] : below(g, d->count[k] + 1);
}

/* Dimension 0 of one side by a list; which region the list is in. */
static uint32_t by_list(struct gen *g, struct host_dma *d) {
  uint32_t region = FIRST_LIST + below(g, 2);
  d->gather = 1 + below(g, 2);
  d->bound = LIST_INDICES + below(g, 3);
  d->count[0] = d->valid[0] = 1 + below(g, 20);
  if (below(g, 3) == 0)
    d->valid[0] = below(g, d->count[0] + 1);
  d->list = region_base(region) + 4 * below(g, LIST_BYTES / 4 - d->count[0] + 1);
  return region;
}

/* A list for later commands. */
static void add_list(struct gen *g, uint32_t queue) {
  const uint32_t words = 1 + below(g, 60), from = below(g, LIST_BYTES / 4 - words),
                 to = below(g, LIST_BYTES / 4 - words);
  struct needs n = {0};
  need_region(g, &n, queue, FIRST_LIST + 1, true);
  struct step *p = begin(g, queue, &n);
  p->dma = (struct host_dma){.src_space = TPU_SPACE_SMEM,
                             .dst_space = TPU_SPACE_SMEM,
                             .src = region_base(FIRST_LIST) + 4 * from,
                             .dst = region_base(FIRST_LIST + 1) + 4 * to,
                             .row_bytes = 4 * words,
                             .count = {1, 1, 1}};
  touch(g, queue, FIRST_LIST, false);
  touch(g, queue, FIRST_LIST + 1, true);
}

static void add_dma(struct gen *g, uint32_t queue) {
  struct host_dma d = {0};
  struct needs n = {0};
  uint32_t from = random_region(g, &d.src_space), to = random_region(g, &d.dst_space), src, dst, list = 0;
  if (from == to)
    return;
  if (below(g, 16) == 0) {
    add_list(g, queue);
    return;
  }
  const bool listed = below(g, 4) == 0;
  do {
    random_shape(g, &d);
    if (listed)
      list = by_list(g, &d);
    src = random_strides(g, &d, d.src_stride, false);
    dst = random_strides(g, &d, d.dst_stride, true);
  } while (src > region_bytes(from) || dst > region_bytes(to));
  d.src = place(g, &d, false, src, from);
  d.dst = place(g, &d, true, dst, to);
  if (below(g, 20) == 0)
    d.count[below(g, 3)] = 0;
  if (d.count[0] * d.count[1] * d.count[2] == 0)
    memcpy(d.valid, d.count, sizeof d.valid);
  need_region(g, &n, queue, from, false);
  need_region(g, &n, queue, to, true);
  if (listed)
    need_region(g, &n, queue, list, false);
  struct step *p = begin(g, queue, &n);
  p->dma = d;
  touch(g, queue, from, false);
  if (listed)
    touch(g, queue, list, false);
  touch(g, queue, to, true);
}

/* ---- MXU --------------------------------------------------------------------------------------------------
 */

static uint32_t acc_region_rows(const struct gen *g) {
  uint32_t rows = g->config->acc_rows < ACC_ROWS_AREA ? g->config->acc_rows : ACC_ROWS_AREA;
  return rows / ACC_REGIONS;
}

static uint32_t ceil_div(uint32_t a, uint32_t b) {
  return (a + b - 1) / b;
}

static void add_mxu(struct gen *g) {
  uint32_t dim = g->config->dim, rows = acc_region_rows(g);
  struct host_mxu x = {
      .bf16 = g->config->mxu_bf16 && below(g, 2), .transpose_b = below(g, 2), .accumulate = below(g, 2)};
  struct needs n = {0};
  uint32_t a = FIRST_VMEM + below(g, VMEM_REGIONS), b = FIRST_VMEM + below(g, VMEM_REGIONS);
  uint32_t c = FIRST_ACC + below(g, ACC_REGIONS), size = x.bf16 ? 2 : 1, unit = dim * size, last;
  do {
    x.m = below(g, 3) ? below(g, 34) : below(g, rows + 1);
    x.n = below(g, 3 * dim + 2);
    x.k = below(g, 3 * dim + 2);
    x.a_pitch = (ceil_div(x.k, dim) + below(g, 2)) * unit;
    x.b_pitch = (ceil_div(x.transpose_b ? x.k : x.n, dim) + below(g, 2)) * unit;
    x.c_pitch = x.m + below(g, 5);
    last = (ceil_div(x.n, dim) + (x.n == 0)) - 1;
  } while (x.m * x.a_pitch > REGION_BYTES || (x.transpose_b ? x.n : x.k) * x.b_pitch > REGION_BYTES ||
           last * x.c_pitch + x.m > rows);
  x.a = region_base(a) + below(g, (REGION_BYTES - x.m * x.a_pitch) / unit + 1) * unit;
  x.b = region_base(b) + below(g, (REGION_BYTES - (x.transpose_b ? x.n : x.k) * x.b_pitch) / unit + 1) * unit;
  x.c = (c - FIRST_ACC) * rows + below(g, rows - (last * x.c_pitch + x.m) + 1);
  need_region(g, &n, TPU_QUEUE_MXU, a, false);
  need_region(g, &n, TPU_QUEUE_MXU, b, false);
  need_region(g, &n, TPU_QUEUE_MXU, c, true);
  struct step *p = begin(g, TPU_QUEUE_MXU, &n);
  p->mxu = x;
  touch(g, TPU_QUEUE_MXU, a, false);
  touch(g, TPU_QUEUE_MXU, b, false);
  touch(g, TPU_QUEUE_MXU, c, true);
}

/* ---- VPU --------------------------------------------------------------------------------------------------
 */

static void add_vpu(struct gen *g) {
  uint32_t rows = acc_region_rows(g), region[5];
  struct needs n = {0};
  if (g->s->program_words + 120 > g->config->vpu_program)
    return;
  region[0] = FIRST_VMEM + below(g, VMEM_REGIONS);
  region[1] = FIRST_ACC + below(g, ACC_REGIONS);
  region[2] = FIRST_SMEM + below(g, SMEM_REGIONS);
  region[3] = FIRST_VMEM + below(g, VMEM_REGIONS);
  region[4] = FIRST_ACC + below(g, ACC_REGIONS);
  struct vpu_ranges ranges = {.read_vmem = region_base(region[0]),
                              .write_vmem = region_base(region[3]),
                              .vmem_bytes = REGION_BYTES,
                              .read_acc = (region[1] - FIRST_ACC) * rows,
                              .write_acc = (region[4] - FIRST_ACC) * rows,
                              .acc_rows = rows,
                              .smem = region_base(region[2]),
                              .smem_bytes = SMEM_REGION_BYTES};
  for (int i = 0; i < 5; i++)
    need_region(g, &n, TPU_QUEUE_VPU, region[i], i >= 3);
  struct step *p = begin(g, TPU_QUEUE_VPU, &n);
  make_vector_command(&g->r, g->config, &ranges, g->s->program, &g->s->program_words, p->vpu);
  for (int i = 0; i < 5; i++)
    touch(g, TPU_QUEUE_VPU, region[i], i >= 3);
}

/* ---- SYNC and the scalar core -----------------------------------------------------------------------------
 */

static void add_sync(struct gen *g) {
  struct needs n = {0};
  for (uint32_t q = 0; q < QUEUES; q++)
    if (below(g, 3) == 0)
      need(&n, q, below(g, g->issued[q] + 1));
  begin(g, TPU_QUEUE_SYNC, &n);
}

/* An access to a window, after the commands that it depends on. */
static void add_access(struct gen *g) {
  bool vmem = below(g, 2), write = below(g, 2);
  uint32_t region = vmem ? FIRST_VMEM + below(g, VMEM_REGIONS) : FIRST_SMEM + below(g, SMEM_REGIONS);
  struct needs n = {0};
  need_region(g, &n, QUEUES, region, write);
  struct step *p = new_step(g, write ? STEP_WRITE : STEP_READ);
  p->size = 1u << below(g, 3);
  p->offset = (vmem ? TPU_WINDOW_VMEM : TPU_WINDOW_SMEM) + region_base(region) +
              below(g, region_bytes(region) / p->size) * p->size;
  p->value = check_random32(&g->r) >> (32 - 8 * p->size);
  for (uint32_t q = 0; q < QUEUES; q++)
    if (n.ticket[q] != 0)
      p->poll[p->polls++] = (struct poll){q, g->s->ticket_start[q] + n.ticket[q]};
  if (write) /* complete before anything that is queued after it */
    memset(&g->region[region], 0, sizeof g->region[region]);
}

/* A last command whose start checks fail. */
static void add_failing(struct gen *g) {
  struct needs n = {0};
  bool mxu = g->kinds >> TPU_QUEUE_MXU & 1 && below(g, 2);
  struct step *p = begin(g, mxu ? TPU_QUEUE_MXU : below(g, 4), &n);
  p->fails = true;
  p->mxu = (struct host_mxu){.a = 1 + below(g, 3), .m = 1, .n = 1, .k = 1};
  p->dma = (struct host_dma){.src = 0xffffff00u + below(g, 256),
                             .dst_space = TPU_SPACE_VMEM,
                             .row_bytes = 300 + below(g, 300),
                             .count = {1, 1, 1}};
  if (below(g, 2)) /* an index out of bounds */
    p->dma = (struct host_dma){.dst_space = TPU_SPACE_VMEM,
                               .row_bytes = 16,
                               .count = {100, 1, 1},
                               .src_stride = {16},
                               .dst_stride = {16},
                               .gather = 1 + below(g, 2),
                               .list = region_base(FIRST_LIST) + 4 * below(g, 100),
                               .bound = LIST_INDICES - 1};
}

/* ---- the whole --------------------------------------------------------------------------------------------
 */

static void add_random(struct gen *g) {
  static const uint8_t queue[] = {0, 1, 2, 3, 0, 1, 2, 3, 4, 4, 4, 5, 5, 5, 6, 7};
  uint32_t q = queue[below(g, sizeof queue)];
  if (q == QUEUES)
    add_access(g);
  else if (!(g->kinds >> q & 1))
    return;
  else if (q == TPU_QUEUE_SYNC)
    add_sync(g);
  else if (q == TPU_QUEUE_VPU)
    add_vpu(g);
  else if (q == TPU_QUEUE_MXU)
    add_mxu(g);
  else
    add_dma(g, q);
}

void make_stream(struct stream *s, const struct tpu_config *config, uint64_t seed, uint32_t kinds,
                 bool forget) {
  static struct gen g;
  memset(s, 0, sizeof *s);
  memset(&g, 0, sizeof g);
  s->seed = seed;
  g.s = s;
  g.config = config;
  g.kinds = kinds;
  g.forget = forget;
  g.r.state = seed;
  g.next_token = FIRST_TOKEN;
  for (uint32_t q = 0; q < TICKETS; q++) {
    uint32_t kind = below(&g, 3);
    s->ticket_start[q] = kind == 0 ? 0 : kind == 1 ? 0xfffffff0 : check_random32(&g.r);
  }
  for (uint32_t i = 0; i < LIST_BYTES / 4; i++)
    s->list[i] = below(&g, LIST_INDICES);
  uint32_t length = 4 + below(&g, below(&g, 4) ? 20 : 60);
  while (s->steps < length && room_for(&g, 8))
    add_random(&g);
  if (below(&g, 8) == 0)
    add_failing(&g);
}

/* ---- printing ---------------------------------------------------------------------------------------------
 */

static void print_command(const struct step *p) {
  const struct host_dma *d = &p->dma;
  const struct host_mxu *x = &p->mxu;
  printf("%s tag 0x%x", p->queue == TPU_QUEUE_SYNC ? "SYNC" : "queue", p->tag);
  for (uint32_t i = 0; i < p->head.waits; i++)
    printf(" wait %u>=0x%x%s", p->head.wait[i].sem, p->head.wait[i].amount,
           p->head.wait[i].consume ? "-" : "");
  for (uint32_t i = 0; i < p->head.signals; i++)
    printf(" signal %u+%u%s", p->head.signal[i].sem, p->head.signal[i].amount,
           p->head.signal[i].bytes ? "bytes" : "");
  if (p->scalar.amount)
    printf(" (scalar signals %u+%u after %u)", p->scalar.sem, p->scalar.amount, p->scalar.delay);
  if (p->queue < TPU_QUEUE_MXU)
    printf("\n    %u:0x%x -> %u:0x%x %u bytes x %u %u %u, strides %d %d %d -> %d %d %d, fill %d valid %u x "
           "%u %u %u "
           "list %u:0x%x < %u prio %u",
           d->src_space, d->src, d->dst_space, d->dst, d->row_bytes, d->count[0], d->count[1], d->count[2],
           d->src_stride[0], d->src_stride[1], d->src_stride[2], d->dst_stride[0], d->dst_stride[1],
           d->dst_stride[2], d->fill, d->valid_row, d->valid[0], d->valid[1], d->valid[2], d->gather, d->list,
           d->bound, p->head.priority);
  if (p->queue == TPU_QUEUE_MXU)
    printf("\n    A 0x%x/%u B 0x%x/%u C %u/%u M %u N %u K %u bf16 %d transposed %d accumulate %d", x->a,
           x->a_pitch, x->b, x->b_pitch, x->c, x->c_pitch, x->m, x->n, x->k, x->bf16, x->transpose_b,
           x->accumulate);
  if (p->queue == TPU_QUEUE_VPU)
    printf("\n    program at %u", p->vpu[0]);
}

void print_stream(const struct stream *s) {
  printf("stream of seed %llu\n", (unsigned long long)s->seed);
  for (uint32_t i = 0; i < s->steps; i++) {
    const struct step *p = &s->step[i];
    printf("  %u: ", i);
    if (p->kind == STEP_COMMAND)
      print_command(p);
    else
      printf("%s 0x%x, %u bytes, 0x%x", p->kind == STEP_READ ? "read" : "write", p->offset, p->size,
             p->value);
    printf("\n");
  }
}
