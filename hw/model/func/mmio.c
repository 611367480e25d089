/* SPDX-License-Identifier: MIT */
/*
 * The scalar core's window: registers, staging, program memory, and the windows on SMEM and VMEM.
 *
 * An access of cycle t sees the state that the cycles before t left and takes effect in the run of t.
 * Everything that the contract's section 1 forbids ends in reject(): the sticky error is set, nothing is
 * stored, a read returns 0.
 */
#include "mmio.h"

#include <string.h>

/* ---- control registers ------------------------------------------------------------------------------------
 */

uint32_t func_status(const struct tpu_model *m) {
  const struct state *s = &m->state;
  uint32_t v = 0;
  if (func_idle(m))
    v |= TPU_REG_STATUS_IDLE_MASK;
  if (func_blocked(m))
    v |= TPU_REG_STATUS_BLOCKED_MASK;
  if (s->aborting)
    v |= TPU_REG_STATUS_ABORTING_MASK;
  if (s->error.valid)
    v |= TPU_REG_STATUS_ERROR_MASK;
  for (uint32_t i = 0; i < QUEUES; i++) {
    const struct queue *q = &s->queue[i];
    v |= (uint32_t)(q->count > 0 || q->fly_count > 0) << (TPU_REG_STATUS_BUSY_SHIFT + i);
    v |= (uint32_t)q->waiting << (TPU_REG_STATUS_WAITING_SHIFT + i);
    v |= (uint32_t)q->halted << (TPU_REG_STATUS_HALTED_SHIFT + i);
  }
  return v;
}

uint32_t func_intr_state(const struct tpu_model *m) {
  uint32_t v = m->state.intr_state;
  for (uint32_t i = 0; i < QUEUES; i++) {
    uint32_t threshold = m->state.intr_space >> (4 * i) & 0xf;
    if (threshold != 0 && func_free_slots(m, i) >= threshold)
      v |= TPU_REG_INTR_STATE_SPACE_MASK;
  }
  return v;
}

static uint32_t features(const struct tpu_config *c) {
  return c->mxu_int8 << TPU_REG_FEATURES_MXU_INT8_SHIFT | c->mxu_bf16 << TPU_REG_FEATURES_MXU_BF16_SHIFT |
         c->vpu_present << TPU_REG_FEATURES_VPU_SHIFT |
         (uint32_t)(c->eup_lanes > 0) << TPU_REG_FEATURES_EUP_SHIFT |
         c->vpu_present << TPU_REG_FEATURES_XLU_SHIFT | TPU_REG_FEATURES_GATHER_MASK;
}

void func_reset_registers(struct tpu_model *m) {
  struct state *s = &m->state;
  memset(s->stage, 0, sizeof s->stage);
  s->intr_state = s->intr_enable = s->intr_space = 0;
  s->trace_mark = s->scratch = s->cycle_high = 0;
  s->hbm_latency = m->reset_latency;
  s->program_low = 0;
  s->sem_ticket = 0;
  memset(s->counter, 0, sizeof s->counter);
  memset(s->latched, 0, sizeof s->latched);
  s->counted = s->cycle;
  tpu_hang_soft_reset(&s->hang);
}

static bool control_read(struct tpu_model *m, struct access *a) {
  struct state *s = &m->state;
  const struct error_state *e = &s->error;
  switch (a->offset) {
  case TPU_REG_ID:
    a->value = 0x4c504550;
    return true;
  case TPU_REG_VERSION:
    a->value = 1 << TPU_REG_VERSION_MAJOR_SHIFT | 1 << TPU_REG_VERSION_MINOR_SHIFT;
    return true;
  case TPU_REG_ABI_HASH:
    a->value = TPU_ABI_HASH;
    return true;
  case TPU_REG_FEATURES:
    a->value = features(m->config);
    return true;
  case TPU_REG_CTRL: /* "reads 0" */
    a->value = 0;
    return true;
  case TPU_REG_STATUS:
    func_late_any(m);
    a->value = func_status(m);
    if (m->race)
      func_race_status(m, a->value);
    return true;
  case TPU_REG_INTR_STATE:
    func_late_any(m);
    a->value = func_intr_state(m);
    if (m->race)
      func_race_intr_state(m, a->value);
    return true;
  case TPU_REG_INTR_ENABLE:
    a->value = s->intr_enable;
    return true;
  case TPU_REG_INTR_SPACE:
    a->value = s->intr_space;
    return true;
  case TPU_REG_CYCLE_LO:
    s->cycle_high = (uint32_t)(s->cycle >> 32);
    a->value = (uint32_t)s->cycle;
    return true;
  case TPU_REG_CYCLE_HI:
    a->value = s->cycle_high;
    return true;
  case TPU_REG_ERROR:
    if (e->valid)
      a->value = e->code << TPU_REG_ERROR_CODE_SHIFT | e->queue << TPU_REG_ERROR_QUEUE_SHIFT |
                 TPU_REG_ERROR_VALID_MASK;
    return true;
  case TPU_REG_ERROR_TAG:
    a->value = e->tag;
    return true;
  case TPU_REG_ERROR_DETAIL0:
    a->value = e->detail0;
    return true;
  case TPU_REG_ERROR_DETAIL1:
    a->value = e->detail1;
    return true;
  case TPU_REG_TRACE_MARK:
    a->value = s->trace_mark;
    return true;
  case TPU_REG_SCRATCH:
    a->value = s->scratch;
    return true;
  case TPU_REG_HBM_LATENCY:
    a->value = s->hbm_latency;
    return true;
  default:
    return bad_access(m, a);
  }
}

#define INTR_LATCHED                                                                                         \
  (TPU_REG_INTR_STATE_DONE_MASK | TPU_REG_INTR_STATE_ERROR_MASK | TPU_REG_INTR_STATE_BLOCKED_MASK)
#define INTR_ALL (INTR_LATCHED | TPU_REG_INTR_STATE_SPACE_MASK)

static void control(struct tpu_model *m, uint32_t value) {
  struct state *s = &m->state;
  func_count(m);
  if (value & TPU_REG_CTRL_LATCH_COUNTERS_MASK)
    memcpy(s->latched, s->counter, sizeof s->latched);
  if (value & TPU_REG_CTRL_CLEAR_COUNTERS_MASK)
    memset(s->counter, 0, sizeof s->counter);
  if (value & (TPU_REG_CTRL_ABORT_MASK | TPU_REG_CTRL_SOFT_RESET_MASK))
    func_abort(m, value & TPU_REG_CTRL_SOFT_RESET_MASK);
}

static bool control_write(struct tpu_model *m, struct access *a) {
  struct state *s = &m->state;
  switch (a->offset) {
  case TPU_REG_CTRL:
    control(m, a->value);
    return true;
  case TPU_REG_INTR_STATE: /* write one to clear */
    s->intr_state &= ~(a->value & INTR_LATCHED);
    return true;
  case TPU_REG_INTR_ENABLE:
    s->intr_enable = a->value & INTR_ALL;
    return true;
  case TPU_REG_INTR_TEST:
    s->intr_state |= a->value & INTR_LATCHED;
    return true;
  case TPU_REG_INTR_SPACE:
    s->intr_space = a->value & 0x0fffffff;
    return true;
  case TPU_REG_TRACE_MARK:
    s->trace_mark = a->value;
    if (m->race)
      func_race_mark(m, a->value);
    func_event(m, TPU_EVENT_MARK, TPU_QUEUE_SCALAR, a->value, 0);
    return true;
  case TPU_REG_SCRATCH:
    s->scratch = a->value;
    return true;
  case TPU_REG_HBM_LATENCY:
    s->hbm_latency = a->value & TPU_REG_HBM_LATENCY_CYCLES_MASK;
    return true;
  default:
    return bad_access(m, a);
  }
}

/* ---- parameter ROM and counters ---------------------------------------------------------------------------
 */

static uint32_t parameter(const struct tpu_config *c, uint32_t entry, bool value) {
#define ENTRY(member, id) {id, c->member},
  const struct { uint32_t id, value; } rom[] = {TPU_CONFIG_PARAMS(ENTRY)};
#undef ENTRY
  if (entry >= sizeof rom / sizeof rom[0])
    return 0;
  return value ? rom[entry].value : rom[entry].id;
}

static uint32_t counter_word(const struct tpu_model *m, uint32_t offset) {
  uint32_t queue = offset / 64, word = offset % 64 / 4;
  if (word / 2 >= COUNTERS)
    return 0; /* reserved */
  return (uint32_t)(m->state.latched[queue][word / 2] >> (32 * (word % 2)));
}

/* ---- vector program ---------------------------------------------------------------------------------------
 */

static bool program_access(struct tpu_model *m, struct access *a) {
  uint32_t word = (a->offset - TPU_REG_VPROG(0)) / 4;
  if (word / 2 >= m->config->vpu_program || !m->config->vpu_present)
    return bad_access(m, a);
  uint64_t *instruction = &m->program[word / 2];
  if (m->race && !(a->write && word % 2 == 0)) /* the low word is kept until the high one comes */
    func_race_window(m, FUNC_RACE_PROGRAM, word / 2 * 8, 8, a->write);
  if (!a->write) {
    a->value = (uint32_t)(*instruction >> (32 * (word % 2)));
    a->cycles = TIME_READ_MEMORY;
  } else if (word % 2 == 0) {
    m->state.program_low = a->value;
  } else {
    *instruction = (uint64_t)a->value << 32 | m->state.program_low;
  }
  return true;
}

#define SEM_END (TPU_REG_SEM_MODE(0) + 4u * TPU_REG_SEM_MODE_COUNT)

/* ---- decode -----------------------------------------------------------------------------------------------
 */

static bool register_access(struct tpu_model *m, struct access *a, unsigned size) {
  uint32_t o = a->offset;
  if (size != 4 || o % 4 != 0)
    return bad_access(m, a);
  if (o >= TPU_REG_VPROG(0))
    return o < TPU_REG_VPROG(TPU_REG_VPROG_COUNT) ? program_access(m, a) : bad_access(m, a);
  if (o >= TPU_QUEUE_BASE(0))
    return func_stage_access(m, a);
  if (o >= TPU_REG_SEM_VALUE(0))
    return o < SEM_END ? func_sem_access(m, a) : bad_access(m, a);
  if (o >= TPU_REG_PARAM_ID(0)) {
    bool parameters = o < TPU_REG_PARAM_ID(TPU_REG_PARAM_COUNT);
    bool counters = o >= TPU_REG_COUNTER(0, 0, 0) && o < TPU_REG_COUNTER(QUEUES, 0, 0);
    if (a->write || !(parameters || counters))
      return bad_access(m, a);
    uint32_t entry = (o - TPU_REG_PARAM_ID(0)) / 8;
    a->value =
        parameters ? parameter(m->config, entry, o % 8 != 0) : counter_word(m, o - TPU_REG_COUNTER(0, 0, 0));
    return true;
  }
  return a->write ? control_write(m, a) : control_read(m, a);
}

static bool memory_access(struct tpu_model *m, struct access *a, unsigned size) {
  bool vmem = a->offset >= TPU_WINDOW_VMEM;
  uint32_t address = a->offset - (vmem ? TPU_WINDOW_VMEM : TPU_WINDOW_SMEM);
  uint32_t bytes = vmem ? m->config->vmem_bytes : m->config->smem_bytes;
  uint8_t *memory = vmem ? m->memory.vmem : m->memory.smem;
  uint32_t space = vmem ? TPU_SPACE_VMEM : TPU_SPACE_SMEM;
  if (a->offset % size != 0)
    return bad_access(m, a);
  if (address >= bytes)
    return reject(m, TPU_ERROR_RANGE, space << 8, address);
  a->cycles = a->write ? TIME_WRITE : TIME_READ_MEMORY;
  if (m->race)
    func_race_window(m, space, address, size, a->write);
  for (unsigned i = 0; i < size; i++) { /* little-endian on any host */
    if (a->write)
      memory[address + i] = (uint8_t)(a->value >> (8 * i));
    else
      a->value |= (uint32_t)memory[address + i] << (8 * i);
  }
  return true;
}

static tpu_status mmio(struct tpu_model *m, struct access *a, unsigned size) {
  bool ok;
  if ((size != 1 && size != 2 && size != 4) || a->offset >= TPU_WINDOW_SIZE)
    return TPU_EINVAL;
  if (m->state.dead)
    return TPU_EFAULT;
  a->cycles = a->write ? TIME_WRITE : TIME_READ_REGISTER;
  if (!a->write)
    func_run_cycles(m, TIME_READ_BEFORE);
  if (a->offset < PEPLOS_TPU_SIZE) {
    ok = register_access(m, a, size);
    if (ok && a->write) /* its trace records leave when the cycle is run */
      tpu_hang_write(&m->state.hang, m->state.cycle, a->offset, a->value);
    else if (ok)
      tpu_hang_read(&m->state.hang, m->state.cycle, a->offset, a->value);
  } else {
    ok = a->offset >= TPU_WINDOW_SMEM ? memory_access(m, a, size) : bad_access(m, a);
  }
  if (!ok)
    a->value = 0;
  func_run_cycles(m, a->cycles);
  return m->state.dead ? TPU_EFAULT : TPU_OK;
}

tpu_status func_mmio_read(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t *value) {
  struct access a = {.offset = offset};
  tpu_status status = mmio(m, &a, size);
  *value = a.value;
  return status;
}

tpu_status func_mmio_write(struct tpu_model *m, uint32_t offset, unsigned size, uint32_t value) {
  struct access a = {.offset = offset, .write = true, .value = value};
  if (size < 4)
    a.value &= (1u << (8 * size)) - 1;
  return mmio(m, &a, size);
}
