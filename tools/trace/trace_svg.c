/* SPDX-License-Identifier: MIT */
/*
 * The timeline as SVG: one lane an engine, work filled, waits hatched thin bars in the colour of the unit
 * that ended them, grid steps as ticks on top. Intervals below a quarter of a pixel are merged with their
 * neighbour, so that long runs stay small files.
 */
#include <inttypes.h>
#include <string.h>

#include "tpu_regs.h"
#include "trace.h"

#define WIDTH       1200.0
#define LEFT        74.0
#define RIGHT       16.0
#define TOP         64.0
#define LANE        34.0
#define WORK_HEIGHT 11.0
#define WAIT_HEIGHT 5.0

static const char *const colour[TRACE_LANES] = {"#4477aa", "#66a0d0", "#88c0e8", "#aa3377",
                                                "#228833", "#ee8833", "#888888", "#bb4444"};

static double x_of(uint64_t cycle, uint64_t from, uint64_t to) {
  return LEFT + (WIDTH - LEFT - RIGHT) * (double)(cycle - from) / (double)(to - from);
}

static uint64_t clamp(uint64_t v, uint64_t low, uint64_t high) {
  return v < low ? low : v > high ? high : v;
}

static void axis(FILE *out, uint64_t from, uint64_t to, double bottom) {
  uint64_t step = 1;
  while ((to - from) / step > 12) {
    step *= 2;
    if ((to - from) / step > 12)
      step = step / 2 * 5;
    if ((to - from) / step > 12)
      step *= 2;
  }
  for (uint64_t c = (from + step - 1) / step * step; c <= to; c += step) {
    const double x = x_of(c, from, to);
    fprintf(out, "<line x1='%.1f' y1='%.1f' x2='%.1f' y2='%.1f' stroke='#ddd'/>", x, TOP - 6, x, bottom);
    fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='middle' class='s'>%" PRIu64 "</text>\n", x,
            bottom + 14, c);
  }
  fprintf(out, "<text x='%.1f' y='%.1f' text-anchor='end' class='s'>cycles</text>\n", WIDTH - RIGHT,
          bottom + 28);
}

static void draw_interval(FILE *out, const struct trace_interval *i, double x0, double x1) {
  const double y = TOP + LANE * i->lane;
  if (i->kind == TRACE_WORK) {
    fprintf(out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='%s'", x0,
            y + 4 + i->row * WORK_HEIGHT, x1 - x0, WORK_HEIGHT - 1, colour[i->lane]);
    fprintf(out, "><title>%s tag 0x%" PRIx32 ": cycles %" PRIu64 " to %" PRIu64 "</title></rect>\n",
            trace_lane_name(i->lane), i->tag, i->begin, i->end);
  } else {
    const char *fill = i->cause < TRACE_LANES ? colour[i->cause] : "#bbb";
    fprintf(out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='%s' fill-opacity='0.55'", x0,
            y + 4 + 2 * WORK_HEIGHT, x1 - x0, WAIT_HEIGHT, fill);
    if (i->lane == TPU_QUEUE_SCALAR) {
      fprintf(out, "><title>scalar core waits: cycles %" PRIu64 " to %" PRIu64 "</title></rect>\n", i->begin,
              i->end);
    } else {
      fprintf(out, "><title>%s waits for semaphore %u, signalled by %s: %" PRIu64 " cycles</title></rect>\n",
              trace_lane_name(i->lane), i->semaphore,
              i->cause < TRACE_LANES ? trace_lane_name(i->cause) : "nobody", i->end - i->begin);
    }
  }
}

static void intervals(const struct trace *t, FILE *out, uint64_t from, uint64_t to) {
  double reached[TRACE_LANES][2][2];
  for (unsigned l = 0; l < TRACE_LANES; ++l) {
    for (unsigned k = 0; k < 4; ++k)
      reached[l][k / 2][k % 2] = 0;
  }
  for (size_t n = 0; n < t->intervals; ++n) {
    const struct trace_interval *i = &t->interval[n];
    if (i->end <= from || i->begin >= to || i->end == i->begin)
      continue;
    const double x0 = x_of(clamp(i->begin, from, to), from, to);
    double x1 = x_of(clamp(i->end, from, to), from, to);
    double *last = &reached[i->lane][i->kind][i->row & 1];
    if (x1 < *last + 0.25)
      continue;
    if (x1 - x0 < 0.25)
      x1 = x0 + 0.25;
    *last = x1;
    draw_interval(out, i, x0, x1);
  }
}

static void steps(const struct trace *t, FILE *out, uint64_t from, uint64_t to) {
  double last = -100;
  for (size_t n = 0; n < t->marks; ++n) {
    const struct trace_mark *m = &t->mark[n];
    if (m->kind != TPU_MARK_STEP || m->cycle < from || m->cycle >= to)
      continue;
    const double x = x_of(m->cycle, from, to);
    fprintf(out, "<line x1='%.2f' y1='%.1f' x2='%.2f' y2='%.1f' stroke='#444' stroke-width='0.5'/>", x,
            TOP - 6, x, TOP);
    if (x - last > 40) {
      fprintf(out, "<text x='%.1f' y='%.1f' class='s'>step %" PRIu32 "</text>\n", x, TOP - 9, m->value);
      last = x;
    }
  }
}

struct drawing {
  FILE *out;
  uint64_t from, to;
  double last[2];
};

static void draw_scope(void *opaque, const char *name, unsigned depth, uint64_t begin, uint64_t end) {
  struct drawing *d = opaque;
  const unsigned row = depth & 1;
  if (end <= d->from || begin >= d->to)
    return;
  const double x0 = x_of(clamp(begin, d->from, d->to), d->from, d->to);
  double x1 = x_of(clamp(end, d->from, d->to), d->from, d->to);
  if (x1 < d->last[row] + 0.25)
    return;
  if (x1 - x0 < 0.25)
    x1 = x0 + 0.25;
  d->last[row] = x1;
  const double y = TOP + LANE * TPU_QUEUE_SCALAR + 4 + row * WORK_HEIGHT;
  fprintf(d->out, "<rect x='%.2f' y='%.1f' width='%.2f' height='%.1f' fill='%s' fill-opacity='0.35'", x0, y,
          x1 - x0, WORK_HEIGHT - 1, colour[TPU_QUEUE_SCALAR]);
  fprintf(d->out, "><title>scope %s: cycles %" PRIu64 " to %" PRIu64 "</title></rect>", name, begin, end);
  if (x1 - x0 > 6.0 * (double)strlen(name))
    fprintf(d->out, "<text x='%.1f' y='%.1f' class='s'>%s</text>", x0 + 2, y + 9, name);
  fputc('\n', d->out);
}

static void draw_value(void *opaque, const char *name, int32_t value, uint64_t cycle) {
  const struct drawing *d = opaque;
  if (cycle < d->from || cycle >= d->to)
    return;
  const double x = x_of(cycle, d->from, d->to), y = TOP + LANE * TPU_QUEUE_SCALAR;
  fprintf(d->out,
          "<line x1='%.2f' y1='%.1f' x2='%.2f' y2='%.1f' stroke='#222'><title>%s = %" PRId32
          ", cycle %" PRIu64 "</title></line>\n",
          x, y + 2, x, y + LANE - 4, name, value, cycle);
}

void trace_write_svg(const struct trace *t, FILE *out, uint64_t from, uint64_t to, const char *title) {
  const double bottom = TOP + LANE * TRACE_LANES, height = bottom + 56;
  if (to <= from)
    to = from + 1;
  fprintf(out, "<?xml version='1.0' encoding='UTF-8'?>\n<!-- SPDX-License-Identifier: MIT -->\n");
  fprintf(out,
          "<svg xmlns='http://www.w3.org/2000/svg' width='%.0f' height='%.0f' viewBox='0 0 %.0f %.0f'>\n",
          WIDTH, height, WIDTH, height);
  fprintf(
      out,
      "<style>text{font:12px sans-serif;fill:#222}.s{font-size:10px;fill:#555}.t{font-size:15px}</style>\n");
  fprintf(out, "<rect width='100%%' height='100%%' fill='white'/>\n<text x='%.0f' y='22' class='t'>", LEFT);
  for (const char *c = title; *c; ++c) {
    if (*c == '&' || *c == '<')
      fputs(*c == '&' ? "&amp;" : "&lt;", out);
    else
      fputc(*c, out);
  }
  const double span = (double)(to - from);
  fprintf(out,
          "</text>\n<text x='%.0f' y='38' class='s'>%" PRIu64
          " cycles; MXU busy %.1f %%, VPU busy %.1f %%</text>\n",
          LEFT, to - from, 100.0 * (double)trace_covered(t, TPU_QUEUE_MXU, TRACE_WORK, from, to) / span,
          100.0 * (double)trace_covered(t, TPU_QUEUE_VPU, TRACE_WORK, from, to) / span);
  for (unsigned lane = 0; lane < TRACE_LANES; ++lane) {
    const double y = TOP + LANE * lane;
    if (lane % 2 == 0)
      fprintf(out, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#f6f6f6'/>\n", LEFT, y,
              WIDTH - LEFT - RIGHT, LANE);
    fprintf(out, "<text x='8' y='%.1f'>%s</text>\n", y + 20,
            lane == TPU_QUEUE_SCALAR ? "scalar" : trace_lane_name(lane));
  }
  axis(out, from, to, bottom);
  intervals(t, out, from, to);
  steps(t, out, from, to);
  struct drawing drawing = {.out = out, .from = from, .to = to};
  trace_each_scope(t, draw_scope, draw_value, &drawing);
  fprintf(out,
          "<text x='%.0f' y='%.1f' class='s'>upper bars: commands in the engine; thin bars: the head of the "
          "queue "
          "waits, in the colour of the unit it waited for</text>\n</svg>\n",
          LEFT, bottom + 44);
}
