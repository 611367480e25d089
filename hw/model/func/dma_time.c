/* SPDX-License-Identifier: MIT */
/*
 * DMA with annotated timing, after the structure of the engine (rtl/dma):
 *
 *   channels -> walker -> segments -> mover of HBM sources -----> HBM write port
 *               one a cycle      +--> mover of other sources -+-> local write ports
 *
 * The walker issues segments of all channels, by priority, then round robin, as long as the mover behind has
 * room: beats of the return buffer and outstanding bursts for HBM, a short queue otherwise; so bandwidth
 * falls with latency as in hardware. A mover takes segments in the order of issue, a beat a cycle, when their
 * data arrive. Within a channel writes land in the order of the descriptors.
 */
#include "dma.h"

static uint64_t later(uint64_t a, uint64_t b) {
  return a > b ? a : b;
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* ---- commands of a channel --------------------------------------------------------------------------------
 */

static struct queue *queue_of(struct tpu_model *m, uint32_t channel) {
  return &m->state.queue[channel];
}

static uint32_t mover_of(const struct dma_job *j) {
  return j->src_space == TPU_SPACE_HBM ? MOVER_HBM : MOVER_LOCAL;
}

static bool landed(const struct dma_job *j) {
  return j->walked && j->segments == 0;
}

static struct flying *command_of(struct tpu_model *m, const struct dma_segment *s) {
  return &queue_of(m, s->channel)->flying[s->slot];
}

/*
 * The command that the channel's walk is in, or NULL. It never passes a command that failed, and does not
 * begin one with a local source while one from HBM has not landed.
 */
static struct flying *walking(struct tpu_model *m, uint32_t channel) {
  struct queue *q = queue_of(m, channel);
  bool hbm_pending = false;
  for (uint32_t i = 0; i < q->fly_count; i++) {
    struct flying *f = func_flying(q, i);
    if (f->fault.code != TPU_ERROR_NONE)
      return NULL;
    if (!f->dma.walked)
      return hbm_pending && mover_of(&f->dma) == MOVER_LOCAL ? NULL : f;
    hbm_pending |= mover_of(&f->dma) == MOVER_HBM && !landed(&f->dma);
  }
  return NULL;
}

/* An older command of the channel, which the other mover serves, has not landed. */
static bool held_back(struct tpu_model *m, const struct dma_segment *s) {
  struct queue *q = queue_of(m, s->channel);
  struct flying *mine = command_of(m, s);
  for (uint32_t i = 0; func_flying(q, i) != mine; i++) {
    struct dma_job *j = &func_flying(q, i)->dma;
    if (mover_of(j) != mover_of(&mine->dma) && !landed(j))
      return true;
  }
  return false;
}

/* Beats in which a command's list of indices lies. */
static uint64_t list_beats(const struct tpu_model *m, const struct dma_job *j) {
  const uint32_t beat = m->config->hbm_port_bytes;
  return ((uint64_t)j->list % beat + 4ull * j->listed + beat - 1) / beat;
}

/* From the end of the checks, or of the command before, to the first segment. */
static uint64_t load_time(const struct dma_job *j) {
  return TIME_DMA_LOAD + (j->listed != 0 ? TIME_DMA_LIST_LOAD : 0);
}

void func_dma_start(struct tpu_model *m, struct flying *f) {
  static const uint64_t check = TIME_DMA_CHECK;
  struct dma_job *j = &f->dma;
  uint64_t terms = 0;
  for (uint32_t d = 0; d < 3; d++)
    terms += ((d == 0 && func_dma_by_list(j, true) ? j->bound : j->count[d]) != 1) +
             ((d == 0 && func_dma_by_list(j, false) ? j->bound : j->valid[d]) != 1);
  if (j->listed != 0 && f->fault.code == TPU_ERROR_NONE)
    terms += TIME_DMA_LIST_CHECK + list_beats(m, j);
  j->checked_at = m->state.cycle + check + (j->walked ? 0 : terms);
  j->ready_at = j->checked_at + load_time(j);
  if (f->fault.code != TPU_ERROR_NONE || j->walked)
    f->done_at = j->ready_at + 1;
  m->state.dma.next = earlier(m->state.dma.next, j->ready_at);
}

/* ---- movers -----------------------------------------------------------------------------------------------
 */

static struct dma_segment *oldest(struct dma_mover *v) {
  return &v->segment[v->head];
}

static void pop(struct tpu_model *m, struct dma_mover *v) {
  struct dma_segment *s = oldest(v);
  if (v == &m->state.dma.mover[MOVER_HBM])
    m->state.dma.reserved_beats -= s->src_beats;
  v->head = (v->head + 1) % MOVER_SEGMENTS;
  v->count--;
  v->moving = false;
}

/* Beats of the return buffer that the segment being moved has given back. */
static uint32_t taken_beats(const struct dma_mover *v, uint64_t now) {
  if (!v->moving || now < v->begin)
    return 0;
  uint32_t n = v->segment[v->head].src_beats;
  return now - v->begin >= n ? n : (uint32_t)(now - v->begin);
}

static bool is_dead(struct tpu_model *m, const struct dma_segment *s) {
  struct queue *q = queue_of(m, s->channel);
  for (uint32_t i = 0; i < q->fly_count; i++)
    if (func_flying(q, i)->fault.code == TPU_ERROR_BUS)
      return true;
  return q->halted;
}

static void finish_move(struct tpu_model *m, struct dma_mover *v) {
  struct dma_segment *s = oldest(v);
  if (!is_dead(m, s)) {
    struct flying *f = command_of(m, s);
    struct tpu_fault fault;
    uint64_t done =
        m->state.cycle + (f->dma.dst_space == TPU_SPACE_HBM ? TIME_DMA_HBM_DONE : TIME_DMA_LOCAL_DONE);
    f->dma.segments--;
    if (!func_dma_write(m, &f->dma, s, &fault)) {
      f->fault = fault;
      f->done_at = done;
    } else if (landed(&f->dma)) {
      f->done_at = done;
    }
  }
  pop(m, v);
}

/* Starts the oldest segment if it can; returns when to look again. */
static uint64_t serve_mover(struct tpu_model *m, uint32_t which) {
  struct dma *d = &m->state.dma;
  struct dma_mover *v = &d->mover[which];
  uint64_t now = m->state.cycle;
  if (v->moving || v->count == 0)
    return v->moving ? v->end : NEVER;
  struct dma_segment *s = oldest(v);
  bool to_hbm = command_of(m, s)->dma.dst_space == TPU_SPACE_HBM;
  uint64_t at = s->first_data;
  if (is_dead(m, s))
    to_hbm = false;
  else if (held_back(m, s))
    return NEVER; /* the other mover's landing brings the next look */
  if (to_hbm)     /* a burst begins when all its data are there */
    at = later(which == MOVER_HBM ? s->last_data : at, d->write_free);
  if (at > now)
    return at;
  v->moving = true;
  v->begin = now;
  v->end = later(now + s->move_cycles, s->last_data + 1);
  if (to_hbm)
    d->write_free = v->end;
  if (to_hbm && m->config->hbm_shared_bus)
    d->read_free[MOVER_HBM] = later(d->read_free[MOVER_HBM], v->end);
  return v->end;
}

/* ---- walker -----------------------------------------------------------------------------------------------
 */

/* Beats of so many bytes; the port's width is a power of two. */
static uint32_t whole_beats(const struct tpu_model *m, uint32_t bytes) {
  return bytes >> __builtin_ctz(m->config->hbm_port_bytes);
}

/*
 * Beats of a segment on its source side, and cycles of its move: a source beat and a destination beat a
 * cycle. Bytes that do not fill the last destination beat go with the row's next segment, if there is one;
 * and where the row's first bytes lie lower in the destination beat than in the source beat, the first source
 * beat completes nothing.
 */
static void count_beats(const struct tpu_model *m, const struct dma_job *j, struct dma_segment *s) {
  uint32_t beat = m->config->hbm_port_bytes;
  uint32_t src = s->src & (beat - 1), dst = s->dst & (beat - 1);
  uint32_t end = s->fill ? j->row_bytes : j->valid_row;
  bool flush = s->phase + s->bytes == end;
  uint32_t src_beats = s->fill ? 0 : whole_beats(m, src + s->bytes + beat - 1);
  uint32_t dst_beats = whole_beats(m, dst + s->bytes + (flush ? beat - 1 : 0));
  bool prime = !s->fill && s->phase == 0 && dst < src && !(flush && src_beats == 1);
  s->src_beats = src_beats;
  s->move_cycles =
      prime ? 1 + (uint32_t)later(src_beats - 1, dst_beats) : (uint32_t)later(src_beats, dst_beats);
  if (!s->fill && j->src_space == TPU_SPACE_SMEM && j->dst_space == TPU_SPACE_SMEM)
    s->move_cycles = src_beats + dst_beats; /* one port for both */
  if (s->move_cycles == 0)
    s->move_cycles = 1;
}

/* When the mover has room for another segment; NEVER if only a landing makes room. */
static uint64_t room_at(const struct tpu_model *m, uint32_t which) {
  const struct dma *d = &m->state.dma;
  const struct dma_mover *v = &d->mover[which];
  uint64_t now = m->state.cycle;
  if (which == MOVER_LOCAL)
    return v->count < DMA_LOCAL_SEGMENTS ? now : NEVER;
  if (v->count >= m->config->dma_outstanding || v->count >= MOVER_SEGMENTS)
    return NEVER;
  uint32_t want =
      d->reserved_beats + whole_beats(m, DMA_BURST_BYTES); /* room for a whole burst is asked for */
  uint32_t have = whole_beats(m, m->config->dma_buffer_bytes) + taken_beats(v, now);
  if (want <= have)
    return now;
  uint64_t at = now + (want - have);
  return v->moving && at < v->end ? at : NEVER;
}

static void issue(struct tpu_model *m, uint32_t channel, struct flying *f) {
  struct dma *d = &m->state.dma;
  uint32_t which = mover_of(&f->dma);
  struct dma_mover *v = &d->mover[which];
  struct dma_segment *s = &v->segment[(v->head + v->count++) % MOVER_SEGMENTS];
  uint64_t now = m->state.cycle;
  func_dma_segment(m, &f->dma, s);
  func_dma_read(m, &f->dma, s);
  s->channel = (uint8_t)channel;
  s->slot = (uint8_t)(f - queue_of(m, channel)->flying);
  count_beats(m, &f->dma, s);
  s->first_data = s->last_data = now + TIME_DMA_LOCAL_READ;
  if (!s->fill) {
    uint64_t latency = which == MOVER_HBM ? m->state.hbm_latency + TIME_DMA_HBM_READ : TIME_DMA_LOCAL_READ;
    s->first_data = later(now + latency, d->read_free[which]);
    s->last_data = s->first_data + s->src_beats - 1;
    d->read_free[which] = s->last_data + 1;
    if (which == MOVER_HBM && m->config->hbm_shared_bus)
      d->write_free = later(d->write_free, d->read_free[which]);
  }
  if (which == MOVER_HBM)
    d->reserved_beats += s->src_beats;
  func_dma_step(&f->dma, s->bytes);
  if (f->dma.offset == 0 && f->dma.index[0] < f->dma.listed)
    f->dma.ready_at = now + 1 + TIME_DMA_LIST_ROW;
  f->dma.segments++;
  d->last_channel = channel;
  d->issue_at = now + 1;
}

static uint32_t priority(const struct flying *f) {
  return FIELD_OF(f->command.signals, TPU_Q_SIGNALS_PRIORITY);
}

/* Issues a segment if one can go; returns when to look again. */
static uint64_t serve_walker(struct tpu_model *m) {
  struct dma *d = &m->state.dma;
  uint64_t now = m->state.cycle, first = NEVER;
  struct flying *best = NULL;
  uint32_t winner = 0;
  for (uint32_t k = 1; k <= CHANNELS; k++) {
    uint32_t channel = (d->last_channel + k) % CHANNELS;
    struct flying *f = walking(m, channel);
    if (!f)
      continue;
    uint64_t room = room_at(m, mover_of(&f->dma));
    uint64_t at = room == NEVER ? NEVER : later(later(f->dma.ready_at, d->issue_at), room);
    first = earlier(first, at);
    if (at <= now && (!best || priority(f) > priority(best))) {
      best = f;
      winner = channel;
    }
  }
  if (!best)
    return first;
  issue(m, winner, best);
  if (best->dma.walked) { /* its successor is loaded behind it */
    struct flying *next = walking(m, winner);
    if (next)
      next->dma.ready_at = later(next->dma.ready_at, now + load_time(&next->dma));
  }
  return now + 1;
}

void func_dma_run(struct tpu_model *m) {
  struct dma *d = &m->state.dma;
  for (uint32_t i = 0; i < MOVERS; i++)
    if (d->mover[i].moving && d->mover[i].end <= m->state.cycle)
      finish_move(m, &d->mover[i]);
  for (uint32_t i = 0; i < MOVERS; i++)
    serve_mover(m, i); /* first: a move gives room to the walker */
  uint64_t next = serve_walker(m);
  for (uint32_t i = 0; i < MOVERS; i++)
    next = earlier(next, serve_mover(m, i));
  d->next = later(next, m->state.cycle + 1);
}

/* ---- abort ------------------------------------------------------------------------------------- */

uint64_t func_dma_drain(struct tpu_model *m) {
  struct dma *d = &m->state.dma;
  uint64_t end = m->state.cycle;
  for (uint32_t i = 0; i < MOVERS; i++) {
    struct dma_mover *v = &d->mover[i];
    while (v->count > 0) {
      struct dma_segment *s = oldest(v);
      struct dma_job *j = &command_of(m, s)->dma;
      struct tpu_fault fault;
      if (v->moving && j->dst_space == TPU_SPACE_HBM && !is_dead(m, s)) { /* the burst is on the bus */
        func_dma_write(m, j, s, &fault);
        end = later(end, v->end + TIME_DMA_HBM_DONE);
      }
      end = later(end, s->last_data);
      pop(m, v);
    }
  }
  d->next = NEVER;
  return end;
}
