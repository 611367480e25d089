/* SPDX-License-Identifier: MIT */
/*
 * First error, log lines and trace records.
 *
 * Records of one cycle are collected and sorted before they leave, because the contract fixes their order
 * (queue number, then event code) while the model works in the order that suits it.
 */
#include "model.h"

#include <stdio.h>

static void log_line(struct tpu_model *m, tpu_log_class cls, const char *text) {
  if (m->host.log)
    m->host.log(m->host.opaque, cls, text);
}

void func_error(struct tpu_model *m, uint32_t code, uint32_t queue, uint32_t tag, uint32_t detail0,
                uint32_t detail1) {
  struct error_state *e = &m->state.error;
  char text[320];
  if (e->valid)
    return; /* the registers keep the first, and so does the log, as the RTL's can */
  int n = snprintf(text, sizeof text, "cycle %llu: ", (unsigned long long)m->state.cycle);
  tpu_error_text(code, queue, tag, detail0, detail1, m->config, text + n, sizeof text - (size_t)n);
  log_line(m, TPU_LOG_GUEST_ERROR, text);
  *e = (struct error_state){
      .valid = true, .code = code, .queue = queue, .tag = tag, .detail0 = detail0, .detail1 = detail1};
  m->state.intr_state |= TPU_REG_INTR_STATE_ERROR_MASK;
  func_event(m, TPU_EVENT_ERROR, queue, tag, code);
}

void func_unpredictable(struct tpu_model *m, uint32_t queue, uint32_t tag, const char *what) {
  char text[256];
  snprintf(text, sizeof text, "cycle %llu: %s tag 0x%08x: %s", (unsigned long long)m->state.cycle,
           tpu_queue_name(queue), tag, what);
  log_line(m, TPU_LOG_UNPREDICTABLE, text);
}

void func_bug(struct tpu_model *m, const char *what) {
  char text[256];
  snprintf(text, sizeof text, "cycle %llu: functional model: %s", (unsigned long long)m->state.cycle, what);
  m->state.dead = true;
  log_line(m, TPU_LOG_MODEL_BUG, text);
}

void func_event(struct tpu_model *m, uint32_t event, uint32_t queue, uint32_t tag, uint32_t arg) {
  if (m->event_count == CYCLE_EVENTS) {
    func_bug(m, "more trace records in one cycle than there is room for");
    return;
  }
  m->events[m->event_count++] = tpu_trace_make(m->state.cycle, event, queue, tag, arg);
}

static uint32_t order(const tpu_trace_record *r) {
  return tpu_trace_queue(r) << 8 | tpu_trace_event(r);
}

void func_flush_events(struct tpu_model *m) {
  tpu_trace_record *e = m->events;
  for (uint32_t i = 1; i < m->event_count; i++) { /* insertion sort: stable, and mostly sorted already */
    tpu_trace_record r = e[i];
    uint32_t j = i;
    for (; j > 0 && order(&e[j - 1]) > order(&r); j--)
      e[j] = e[j - 1];
    e[j] = r;
  }
  for (uint32_t i = 0; i < m->event_count; i++) {
    tpu_hang_event(&m->state.hang, &e[i]);
    if (m->trace_on && m->ring_count < m->ring_size)
      m->ring[(m->ring_head + m->ring_count++) % m->ring_size] = e[i];
  }
  m->event_count = 0;
}
