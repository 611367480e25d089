/* SPDX-License-Identifier: MIT */
/* The runtime's hold on the device: start, recovery, and its errors in words. */
#include "pipeline.h"

/* Far more than outstanding x latency + 1000 cycles. */
#define ABORT_POLLS 1000000u
/* Tickets start just before they wrap, so that wrapping is the common case and not a surprise. */
#define FIRST_TICKET 0xfffffff0u

struct pl_context pl_context;
struct pl_semaphore_state pl_semaphores[64];
#ifdef TPU_HOST
_Thread_local struct pl_context_head *pl_running = &pl_context.head;
#endif

static void stage_standard_signals(struct pl_queue *q) {
  tpu_queue_put(q->base, TPU_Q_SIGNALS, TPU_Q_SIGNALS_EN0_MASK | q->number);
  tpu_queue_put(q->base, TPU_Q_SIGNAL_AMOUNT(0), 1);
  tpu_queue_put(q->base, TPU_Q_WAITS, 0);
}

/* Semaphores 0..6 become tickets with the given values; needs an idle device. */
static pl_status set_tickets(struct pl_context *c) {
  for (unsigned i = 0; i < PL_QUEUES; i++) {
    struct pl_queue *q = &c->queue[i];
    if (tpu_sem_set(&c->sem, i, TPU_SEM_MODE_TICKET, q->issued) != HAL_OK)
      return pl_fail(PL_ERROR_DEVICE, "no semaphore %u", i);
    q->limit = q->issued;
    q->owner = NULL;
    q->fenced = false;
    c->done[i] = q->issued;
  }
  for (unsigned i = 0; i < PL_QUEUES; i++)
    for (unsigned r = 0; r < PL_QUEUES; r++)
      c->queue[i].observed[r] = c->queue[r].issued;
  return PL_OK;
}

pl_status pl_init(void) {
  struct pl_context *c = &pl_context;
  tpu_identity id;

  pl_running = &c->head;
  if (c->ready)
    return PL_OK;
  c->status = PL_OK;
  if (tpu_ctrl_init(&c->ctrl, PEPLOS_TPU_BASE) != HAL_OK || tpu_ctrl_identify(&c->ctrl, &id) != HAL_OK)
    return pl_fail(PL_ERROR_DEVICE, "ABI hash %08x, built for %08x", (unsigned)id.abi_hash, TPU_ABI_HASH);
  if (tpu_ctrl_params(&c->ctrl, &c->params) != HAL_OK ||
      tpu_sem_init(&c->sem, PEPLOS_TPU_BASE, c->params.value[TPU_PARAM_SEMAPHORES]) != HAL_OK ||
      tpu_counters_init(&c->counters, PEPLOS_TPU_BASE) != HAL_OK)
    return pl_fail(PL_ERROR_DEVICE, "the parameter ROM makes no sense");
  if (tpu_ctrl_soft_reset(&c->ctrl, ABORT_POLLS) != HAL_OK)
    return pl_fail(PL_ERROR_DEVICE, "the reset does not end");
  c->dim = c->params.value[TPU_PARAM_DIM];
  c->lanes = c->params.value[TPU_PARAM_LANES];
  c->waits = c->params.value[TPU_PARAM_WAITS];
  c->mark = PEPLOS_TPU_BASE + TPU_REG_TRACE_MARK;
  for (unsigned i = 0; i < PL_QUEUES; i++) {
    if (c->queue[i].base == 0) { /* later: plans remember tickets, which go on */
      c->queue[i].issued = FIRST_TICKET;
      c->queue[i].epoch = FIRST_TICKET;
    }
    c->queue[i].number = i;
    c->queue[i].base = PEPLOS_TPU_BASE + TPU_QUEUE_BASE(i);
    stage_standard_signals(&c->queue[i]);
  }
  if (set_tickets(c) != PL_OK)
    return c->status;
  (void)!tpu_ctrl_intr_enable(&c->ctrl, TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK |
                                            TPU_REG_INTR_STATE_BLOCKED_MASK);
  c->ready = true;
  return PL_OK;
}

void pl_device_lost(void) {
  pl_context.ready = false;
}

pl_status pl_recover(void) {
  struct pl_context *c = &pl_context;
  if (tpu_ctrl_abort(&c->ctrl, ABORT_POLLS) != HAL_OK) {
    c->ready = false; /* the next call starts from a reset */
    pl_message_add("; and the abort does not end");
    return PL_ERROR_DEVICE;
  }
  for (unsigned i = 0; i < PL_QUEUES; i++) /* a refused GO may have left other words staged */
    stage_standard_signals(&c->queue[i]);
  return set_tickets(c);
}

static const char *tag_kind(uint32_t tag) {
  static const char *const kinds[] = {"",
                                      "fetch of input",
                                      "write-back of output",
                                      "dot into operand",
                                      "vector operation on operand",
                                      "copy of operand",
                                      "sync",
                                      "copy of prefetch",
                                      "load of output"};
  return tag >> 28 < sizeof kinds / sizeof kinds[0] ? kinds[tag >> 28] : "";
}

static const char *name_of(const char *const *names, size_t n, uint32_t value) {
  return value < n && names[value] != NULL ? names[value] : "?";
}

void pl_device_error(void) {
#define NAME(name, value, text) [value] = #name,
  static const char *const errors[] = {TPU_ERROR_LIST(NAME)};
  static const char *const queues[] = {TPU_QUEUE_LIST(NAME)};
  static const char *const spaces[] = {TPU_SPACE_LIST(NAME)};
#undef NAME
  struct pl_context *c = &pl_context;
  tpu_error_info e;
  (void)!tpu_ctrl_error(&c->ctrl, &e);
  if (!e.valid) {
    pl_fail(PL_ERROR_DEVICE, "error interrupt without an error");
    return;
  }
  if (c->status != PL_OK)
    return;
  pl_fail(PL_ERROR_DEVICE, "device error %s on %s, tag %08x",
          name_of(errors, sizeof errors / sizeof errors[0], e.code),
          name_of(queues, sizeof queues / sizeof queues[0], e.queue), (unsigned)e.tag);
  if (e.queue < TPU_QUEUE_SCALAR)
    pl_message_add(" (%s %u, step %u)", tag_kind(e.tag), (unsigned)(e.tag >> 24 & 15),
                   (unsigned)(e.tag & 0x7fffff));
  if (e.code == TPU_ERROR_RANGE && e.queue <= TPU_QUEUE_MXU)
    pl_message_add(": operand %u ends at 0x%x of %s", (unsigned)(e.detail[0] & 255), (unsigned)e.detail[1],
                   name_of(spaces, sizeof spaces / sizeof spaces[0], e.detail[0] >> 8 & 255));
  else if (e.code == TPU_ERROR_INDEX)
    pl_message_add(": entry %u of the list is %d, no row", (unsigned)e.detail[0], (int)e.detail[1]);
  else if (e.code == TPU_ERROR_SEM_OVERFLOW || e.code == TPU_ERROR_SEM_UNDERFLOW)
    pl_message_add(": semaphore %u keeps %u", (unsigned)e.detail[0], (unsigned)e.detail[1]);
  else
    pl_message_add(": details 0x%x 0x%x", (unsigned)e.detail[0], (unsigned)e.detail[1]);
  if (e.code == TPU_ERROR_INDEX)
    pl_add_entry(c, e.tag, (int32_t)e.detail[0], (int32_t)e.detail[1]);
}

#ifndef TPU_HOST
/* For the trap report: which kernel ran, and how far it was. */
void boot_describe_context(void);
void boot_put(const char *text);
void boot_put_decimal(uint32_t value);
void boot_describe_context(void) {
  const struct pl_context *c = &pl_context;
  if (c->kernel == NULL)
    return;
  boot_put("  in kernel ");
  boot_put(c->kernel->name ? c->kernel->name : "(no name)");
  boot_put(c->in_body ? ", body of grid step " : ", grid step ");
  boot_put_decimal(c->step);
  boot_put("\n");
}
#endif
