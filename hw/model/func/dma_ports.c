/* SPDX-License-Identifier: MIT */
/*
 * DMA with annotated timing: four channels share the read and the write direction of the HBM port and the
 * ports of the on-chip memories.
 *
 * Reading and writing a segment are two reservations of a port, each made when the port is free and in the
 * order that the hardware arbitrates: priority, then round robin. Data of a read is fetched when its request
 * goes out and waits in the return buffer, whose size (bursts and bytes) bounds what is outstanding; so
 * bandwidth falls with latency as in hardware. A write may begin when the first beat is there. Within a
 * channel writes land in the order of the descriptors; reads run ahead of them, also into the next commands.
 */
#include "dma.h"

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* ---- ports ------------------------------------------------------------------------------------------------
 */

static enum dma_source source_of(const struct dma_job *j) {
  if (func_dma_peek_fill(j))
    return SOURCE_FILL;
  return j->src_space == TPU_SPACE_HBM ? SOURCE_HBM : SOURCE_LOCAL;
}

static enum dma_sink sink_of(const struct dma_job *j) {
  return j->dst_space == TPU_SPACE_HBM ? SINK_HBM : SINK_LOCAL;
}

static uint32_t words(uint32_t address, uint32_t bytes, uint32_t word) {
  return (address % word + bytes + word - 1) / word;
}

/* Cycles on a memory's port: its words, but never more than the datapath's bytes a cycle. */
static uint32_t beats(const struct tpu_config *c, uint32_t space, uint32_t address, uint32_t bytes) {
  uint32_t path = (bytes + c->hbm_port_bytes - 1) / c->hbm_port_bytes;
  uint32_t word = space == TPU_SPACE_VMEM ? c->vmem_word_bytes : c->hbm_port_bytes;
  return (uint32_t)later(words(address, bytes, word), path);
}

/* Room for the segment at the reader's place? */
static bool buffer_has_room(const struct tpu_model *m, enum dma_source source, uint32_t bytes) {
  const struct dma *d = &m->state.dma;
  if (source == SOURCE_FILL)
    return d->source_bursts[source] < DMA_FILL_BURSTS;
  if (source == SOURCE_LOCAL)
    return d->source_bursts[source] < DMA_LOCAL_BURSTS;
  return d->source_bursts[source] < m->config->dma_outstanding &&
         d->source_bytes[source] + bytes <= m->config->dma_buffer_bytes;
}

/* ---- channels ---------------------------------------------------------------------------------------------
 */

static struct queue *queue_of(struct tpu_model *m, uint32_t channel) {
  return &m->state.queue[channel];
}

/* The command that the channel's reader is in, or NULL. It never passes a command that failed. */
static struct flying *reader(struct tpu_model *m, uint32_t channel) {
  struct queue *q = queue_of(m, channel);
  for (uint32_t i = 0; i < q->fly_count; i++) {
    struct flying *f = func_flying(q, i);
    if (f->fault.code != TPU_ERROR_NONE)
      return NULL;
    if (!f->dma.walked)
      return f;
  }
  return NULL;
}

static struct dma_segment *front_segment(struct dma_channel *c) {
  return &c->segment[c->head];
}

static struct flying *segment_command(struct tpu_model *m, uint32_t channel, const struct dma_segment *s) {
  return &queue_of(m, channel)->flying[s->slot];
}

static void release(struct tpu_model *m, const struct dma_job *j, const struct dma_segment *s) {
  struct dma *d = &m->state.dma;
  enum dma_source source = s->fill ? SOURCE_FILL : j->src_space == TPU_SPACE_HBM ? SOURCE_HBM : SOURCE_LOCAL;
  d->source_bursts[source]--;
  d->source_bytes[source] -= s->bytes;
}

static void drop_segments(struct tpu_model *m, uint32_t channel) {
  struct dma_channel *c = &m->state.dma.channel[channel];
  while (c->count > 0) {
    struct dma_segment *s = front_segment(c);
    release(m, &segment_command(m, channel, s)->dma, s);
    c->head = (c->head + 1) % CHANNEL_SEGMENTS;
    c->count--;
  }
}

void func_dma_drop(struct tpu_model *m, uint32_t channel) {
  drop_segments(m, channel);
  if (m->timing == TPU_TIMING_CYCLE)
    m->state.dma.next = m->state.cycle; /* the others have more room now */
}

void func_dma_start(struct tpu_model *m, struct flying *f) {
  uint64_t setup = m->state.cycle + TIME_DMA_SETUP;
  f->dma.ready_at = setup;
  if (f->fault.code != TPU_ERROR_NONE || f->dma.walked)
    f->done_at = setup;
  if (m->state.dma.next > setup)
    m->state.dma.next = setup;
}

uint64_t func_dma_drain(struct tpu_model *m) {
  uint64_t end = m->state.cycle;
  for (uint32_t i = 0; i < CHANNELS; i++) {
    struct dma_channel *c = &m->state.dma.channel[i];
    for (uint32_t k = 0; k < c->count; k++) {
      struct dma_segment *s = &c->segment[(c->head + k) % CHANNEL_SEGMENTS];
      struct dma_job *j = &segment_command(m, i, s)->dma;
      if (s->writing) { /* its beats are on the bus: they finish */
        func_dma_write(m, j, s);
        end = later(end, s->write_end + TIME_DMA_HBM_DONE);
      } else if (!s->fill) {
        end = later(end, s->last_data);
      }
    }
    func_dma_drop(m, i);
  }
  m->state.dma.next = NEVER;
  return end;
}

/* ---- write side -------------------------------------------------------------------------------------------
 */

/* A burst of this command failed. Segments of older commands have landed, later ones never will. */
static void fail_command(struct tpu_model *m, uint32_t channel, struct flying *f, bool write,
                         uint32_t address) {
  f->fault = func_dma_bus_fault(m, write, address);
  f->done_at = m->state.cycle;
  drop_segments(m, channel);
}

/* The channel's oldest segment has been written. */
static void segment_landed(struct tpu_model *m, uint32_t channel) {
  struct dma_channel *c = &m->state.dma.channel[channel];
  struct dma_segment *s = front_segment(c);
  struct flying *f = segment_command(m, channel, s);
  if (!func_dma_write(m, &f->dma, s)) {
    fail_command(m, channel, f, true, s->dst);
    return;
  }
  release(m, &f->dma, s);
  c->head = (c->head + 1) % CHANNEL_SEGMENTS;
  c->count--;
  f->dma.segments--;
  if (f->dma.walked && f->dma.segments == 0)
    f->done_at = m->state.cycle + (sink_of(&f->dma) == SINK_HBM ? TIME_DMA_HBM_DONE : TIME_DMA_LOCAL_DONE);
}

static uint32_t priority(const struct flying *f) {
  return FIELD_OF(f->command.signals, TPU_Q_SIGNALS_PRIORITY);
}

/* When the channel's oldest segment could begin to write to this sink; NEVER if it does not. */
static uint64_t write_wish(struct tpu_model *m, uint32_t channel, enum dma_sink sink) {
  struct dma_channel *c = &m->state.dma.channel[channel];
  if (c->count == 0)
    return NEVER;
  struct dma_segment *s = front_segment(c);
  if (s->writing || sink_of(&segment_command(m, channel, s)->dma) != sink)
    return NEVER;
  return s->first_data;
}

static void begin_write(struct tpu_model *m, uint32_t channel, enum dma_sink sink) {
  struct dma *d = &m->state.dma;
  struct dma_segment *s = front_segment(&d->channel[channel]);
  struct flying *f = segment_command(m, channel, s);
  if (s->error) {
    fail_command(m, channel, f, false, s->src);
    return;
  }
  uint64_t now = m->state.cycle;
  s->writing = true;
  s->write_end = later(now + beats(m->config, f->dma.dst_space, s->dst, s->bytes), s->last_data + 1);
  d->sink_free[sink] = s->write_end;
  d->sink_last[sink] = channel;
  if (sink == SINK_HBM && m->config->hbm_shared_bus)
    d->source_free[SOURCE_HBM] = later(d->source_free[SOURCE_HBM], s->write_end);
}

/* ---- read side --------------------------------------------------------------------------------------------
 */

/* When the channel's reader could ask this source for its next segment; NEVER if it does not. */
static uint64_t read_wish(struct tpu_model *m, uint32_t channel, enum dma_source source) {
  struct flying *f = reader(m, channel);
  struct dma_segment s;
  if (!f || source_of(&f->dma) != source)
    return NEVER;
  func_dma_segment(&f->dma, &s);
  if (m->state.dma.channel[channel].count == CHANNEL_SEGMENTS || !buffer_has_room(m, source, s.bytes))
    return NEVER;
  return f->dma.ready_at;
}

static void begin_read(struct tpu_model *m, uint32_t channel, enum dma_source source) {
  struct dma *d = &m->state.dma;
  struct dma_channel *c = &d->channel[channel];
  struct flying *f = reader(m, channel);
  struct dma_segment *s = &c->segment[(c->head + c->count++) % CHANNEL_SEGMENTS];
  uint64_t now = m->state.cycle;
  func_dma_segment(&f->dma, s);
  func_dma_read(m, &f->dma, s);
  s->slot = (uint8_t)(f - queue_of(m, channel)->flying);
  func_dma_step(&f->dma, s->bytes);
  f->dma.segments++;
  d->source_bursts[source]++;
  d->source_bytes[source] += s->bytes;
  d->source_last[source] = channel;
  uint32_t n = source == SOURCE_FILL ? 1 : beats(m->config, f->dma.src_space, s->src, s->bytes);
  uint64_t latency = source == SOURCE_HBM     ? m->state.hbm_latency + TIME_DMA_HBM_READ
                     : source == SOURCE_LOCAL ? TIME_DMA_LOCAL_READ
                                              : 1;
  s->first_data = now + latency;
  s->last_data = s->first_data + n - 1;
  d->source_free[source] = now + n;
  if (source == SOURCE_HBM && m->config->hbm_shared_bus)
    d->sink_free[SINK_HBM] = later(d->sink_free[SINK_HBM], now + n);
}

/* ---- arbitration ------------------------------------------------------------------------------------------
 */

/* The channel that wins a port in this cycle: priority, then round robin after `last`. CHANNELS = none. */
static uint32_t winner(struct tpu_model *m, const uint64_t *wish, const uint32_t *prio, uint32_t last) {
  uint32_t best = CHANNELS;
  for (uint32_t k = 1; k <= CHANNELS; k++) {
    uint32_t i = (last + k) % CHANNELS;
    if (wish[i] <= m->state.cycle && (best == CHANNELS || prio[i] > prio[best]))
      best = i;
  }
  return best;
}

/* Grants the sink if it is free; returns when there is something to do for it next. */
static uint64_t serve_sink(struct tpu_model *m, enum dma_sink sink) {
  struct dma *d = &m->state.dma;
  uint64_t wish[CHANNELS], first = NEVER;
  uint32_t prio[CHANNELS] = {0};
  for (uint32_t i = 0; i < CHANNELS; i++) {
    wish[i] = write_wish(m, i, sink);
    if (wish[i] != NEVER)
      prio[i] = priority(segment_command(m, i, front_segment(&d->channel[i])));
    first = earlier(first, wish[i]);
  }
  if (first == NEVER)
    return NEVER;
  if (d->sink_free[sink] > m->state.cycle)
    return later(first, d->sink_free[sink]);
  uint32_t i = winner(m, wish, prio, d->sink_last[sink]);
  if (i == CHANNELS)
    return first;
  begin_write(m, i, sink);
  return later(m->state.cycle + 1, d->sink_free[sink]);
}

static uint64_t serve_source(struct tpu_model *m, enum dma_source source) {
  struct dma *d = &m->state.dma;
  uint64_t wish[CHANNELS], first = NEVER;
  uint32_t prio[CHANNELS] = {0};
  for (uint32_t i = 0; i < CHANNELS; i++) {
    wish[i] = read_wish(m, i, source);
    if (wish[i] != NEVER)
      prio[i] = priority(reader(m, i));
    first = earlier(first, wish[i]);
  }
  if (first == NEVER)
    return NEVER;
  if (d->source_free[source] > m->state.cycle)
    return later(first, d->source_free[source]);
  uint32_t i = winner(m, wish, prio, d->source_last[source]);
  if (i == CHANNELS)
    return first;
  begin_read(m, i, source);
  return later(m->state.cycle + 1, d->source_free[source]);
}

void func_dma_run(struct tpu_model *m) {
  struct dma *d = &m->state.dma;
  uint64_t next = NEVER;
  for (uint32_t i = 0; i < CHANNELS; i++) {
    struct dma_channel *c = &d->channel[i];
    if (c->count > 0 && front_segment(c)->writing && front_segment(c)->write_end <= m->state.cycle)
      segment_landed(m, i);
  }
  for (enum dma_sink s = 0; s < SINKS; s++)
    next = earlier(next, serve_sink(m, s));
  for (enum dma_source s = 0; s < SOURCES; s++)
    next = earlier(next, serve_source(m, s));
  for (uint32_t i = 0; i < CHANNELS; i++) {
    struct dma_channel *c = &d->channel[i];
    if (c->count > 0 && front_segment(c)->writing)
      next = earlier(next, front_segment(c)->write_end);
    else if (c->count > 0 && front_segment(c)->first_data > m->state.cycle)
      next = earlier(next, front_segment(c)->first_data);
  }
  d->next = next;
}
